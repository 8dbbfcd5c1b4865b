"""Finds the browser of this machine; as a program, it reports a missing browser and exits with 1."""

import os
import shutil
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "browser suite skipped: no Chromium or Chrome found (Debian: apt-get install chromium; or name one: BROWSER=PATH)"
)


def find_browser() -> str:
    """The path of the browser that BROWSER names, else of the first on the path; empty without one."""
    named = os.environ.get("BROWSER")
    return next(filter(None, map(shutil.which, (named,) if named else NAMES)), "")


if __name__ == "__main__":
    if not find_browser():
        print(MISSING, file=sys.stderr)
        sys.exit(1)
