"""Every breakpoint and figure that docs/breakpoints.md shows can be set."""

import re

import pytest

from tests.architecture.source_tree import ROOT
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.debugger.figures import KINDS, OWN_PARTS
from vcdebug.explain.invariants import RULES

PAGE = (ROOT / "docs" / "breakpoints.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^(break [a-z]+ .*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_is_a_breakpoint(line: str) -> None:
    assert line == parse_breakpoint(line, 1).line()


def test_the_page_shows_every_kind_of_figure_with_its_own_parts() -> None:
    rows = {kind: parts for kind, parts in re.findall(r"^\| `(\w+) [^`]+` \| (.*) \|$", PAGE, re.MULTILINE)}
    assert list(KINDS) == [kind for kind in rows if kind in KINDS]
    counts = ("total", "allocated-tasks", "binding", "bound", "succeeded", "failed", "unknown", "pipelined")
    missing = [
        (kind, part) for kind, parts in OWN_PARTS.items() for part in parts if part not in rows[kind] + str(counts)
    ]
    assert [] == missing
    assert len(RULES) == 4
