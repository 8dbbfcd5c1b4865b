"""One sign has one meaning: every sign of a view is in the table behind the legend."""

import ast
import re

from tests.architecture.source_tree import sources
from vcdebug.tui.screens.pages import help_table
from vcdebug.tui.widgets.bars import LEGEND as TIMELINE_LEGEND
from vcdebug.views.pieces import SIGNS
from vcdebug.views.table import format_table

SHAPES = re.compile(r"[\u25a0-\u25ff\u2591-\u2593\u2605\u2606\u2713\u2717\u203a]")
"""Geometric shapes, shades, stars and ticks."""
IN_TEXT = {"◀": "the deciding line", "◌": "", "▾": ""}


def test_no_view_draws_a_shape_that_the_table_lacks() -> None:
    drawn = {
        shape
        for source in sources()
        if source.path.parts[-2] in ("views", "widgets", "panels", "screens", "main")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for shape in SHAPES.findall(node.value)
    }
    assert set() == drawn - {*SIGNS, *IN_TEXT}


def test_two_signs_never_mean_the_same_and_the_help_names_all() -> None:
    assert len(SIGNS) == len(dict.fromkeys(SIGNS.values()))
    shown = format_table(help_table({}))
    assert [] == [
        sign for sign, meaning in SIGNS.items() if not re.search(rf"{sign} +Sign: {re.escape(meaning)}", shown)
    ]
    assert TIMELINE_LEGEND.startswith(" ● here ○ commit ◆ discard ▲ evict")
