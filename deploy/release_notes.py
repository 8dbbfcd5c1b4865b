"""Prints the section of CHANGELOG.md about one release, as notes for the release page.

python deploy/release_notes.py [VERSION]

VERSION is a heading of the changelog such as 0.2.0 or Unreleased; without it, the version in vcdebug/__init__.py.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def read_version() -> str:
    """The version of this checkout. The package is not imported: its dependencies may not be installed."""
    text = (ROOT / "vcdebug" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(version)


def cut_section(changelog: str, version: str) -> str:
    """The text under the heading of one version, without the heading; empty where there is no such heading."""
    heading = rf"^## \[{re.escape(version)}\][^\n]*\n"
    found = re.search(heading + r"(.*?)(?=^## |^\[[^\]]+\]: |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found is not None else ""


def main(arguments: list[str]) -> int:
    """Print the notes; 1 where the changelog has no section of that version."""
    version = (arguments[0] if arguments else read_version()).removeprefix("v")
    notes = cut_section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if not notes:
        hint = f"rename [Unreleased] to [{version}] with the date of the release"
        print(f"CHANGELOG.md has no section [{version}]; {hint}", file=sys.stderr)
        return 1
    print(notes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
