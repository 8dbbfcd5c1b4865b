"""A browser for tests that `make browser` and `.ci/run` start; other runs do not collect them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tests.browser.found import find_browser

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 800}
collect_ignore_glob = [] if find_browser() and all(map(find_spec, ("playwright", "viztracer"))) else ["test_*.py"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's browser, since playwright's own is not installed."""
    from playwright.sync_api import sync_playwright

    # Chromium's sandbox refuses to start for root, which containers run as.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=find_browser(), args=options)
        yield opened
        opened.close()
