"""Plugins' answers are shown in words, never as program data."""

import math
import re

import pytest

from tests.recorded import GOLDEN, bundled, golden
from vcdebug.framework.record import ScoreEvent
from vcdebug.views.equation import event_equation
from vcdebug.views.event_view import event_view
from vcdebug.views.headline import placing_words
from vcdebug.views.node_grids import score_grid
from vcdebug.views.table import format_table

RAW = re.compile(r"\{'|\['|\bNone\b|\bTrue\b|\bFalse\b| object at |\bnan\b|e\+30")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"s0": 16.666666666666664, "s1": 15.0}, "s0 16.667, s1 15"),
        ({"network-topology-aware": {"s0": 15.0}}, "network-topology-aware (s0 15)"),
        ([["s0", "s1"], ["p0"]], "s0 s1, then p0"),
        ([], "nowhere"),
        ({}, "no scores"),
    ],
)
def test_hypernodes_are_told_in_order_and_with_their_scores(result: object, words: str) -> None:
    assert words == placing_words(result)


@pytest.mark.parametrize("name", GOLDEN[::3])
def test_no_view_shows_python_objects(name: str) -> None:
    recording = golden(name)
    for seq in range(1, len(recording) + 1, 7):
        for view in (event_view, event_equation):
            assert not RAW.search(format_table(view(recording, seq))), f"{view.__name__} at {seq}"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (["n1"], "n1"),
        (("n1", "n2"), "n1, n2"),
        (None, "–"),
        (["n1", None], "n1, –"),
        (1.5, "1.5"),
        ([["a"], ["b"]], "a, then b"),
    ],
)
def test_values_of_a_difference_are_words_and_no_python(value: object, words: str) -> None:
    assert words == placing_words(value)


def test_scores_say_what_put_the_best_node_ahead_and_count_the_parts_below_their_sum() -> None:
    recording = bundled("placed-by-score")
    seq, event = next(recording.events_of_type(ScoreEvent))
    table = score_grid(recording, seq, event)
    head = "".join(piece if isinstance(piece, str) else piece.text for piece in table.header[0])
    assert "4 nodes  node-b1 leads node-b2 by 170.056: affinity +150, image +33, usage −17.5 and 5 more" == head
    leads = {row.cells[0].text: row.cells[3].text for row in table.rows}
    assert ("+170.056", "+149", "+150", "−17.5") == tuple(
        leads[part] for part in ("total", "nodeorder batch", "  affinity", "usage")
    )
    whole = [row for row in table.rows if not row.cells[0].text.startswith((" ", "total"))]
    for column in (1, 2, 4, 5):
        parts = [float(row.cells[column].text) for row in whole]
        assert math.isclose(sum(parts), float(table.rows[0].cells[column].text), abs_tol=0.01)
