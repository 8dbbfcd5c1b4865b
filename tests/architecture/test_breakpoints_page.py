"""Every breakpoint and figure that docs/breakpoints.md shows can be set."""

import re

import pytest

from tests.architecture.source_tree import ROOT
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.figures import FIGURE_KINDS, OWN_PARTS, STATUS_COUNTS, SUMMED_COUNTS

PAGE = (ROOT / "docs" / "breakpoints.md").read_text(encoding="utf-8")
FEWER = tuple(
    part
    for part in (*STATUS_COUNTS, *SUMMED_COUNTS)
    if part not in ("ready", "waiting", "pending", "running", "releasing")
)
"""Counts of a job that the page does not list."""
EXAMPLES = re.findall(r"^(break [a-z]+ .*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_is_a_breakpoint(line: str) -> None:
    assert line == parse_breakpoint(line, 1).command_line()


def test_the_page_shows_every_kind_of_figure_with_its_own_parts() -> None:
    rows = dict(re.findall(r"^\| `(\w+) [^`]+` \| (.*) \|$", PAGE, re.MULTILINE))
    assert list(FIGURE_KINDS) == [kind for kind in rows if kind in FIGURE_KINDS]
    assert [] == [
        part for kind in FIGURE_KINDS for part in OWN_PARTS[kind] if part not in FEWER and part not in rows[kind]
    ]
