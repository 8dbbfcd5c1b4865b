"""A search for victims keeps nodes without room as candidates: no view says that the pod fits there."""

import pytest

from tests.recorded import bundled
from vcdebug.explain.decisions.equations import NO_ROOM_REQUIRED, search_equation
from vcdebug.explain.predicate_reasons import candidates_without_room
from vcdebug.framework.record import Level, PredicateEvent
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.views.headline import event_headline, fit_piece
from vcdebug.views.inside import inside_table
from vcdebug.views.node_grids import SHORT_OF, node_list, predicate_grid
from vcdebug.views.nodes import node_page
from vcdebug.views.table import Table, format_table

SNAPSHOTS = ("preempt-blocked-by-gang", "preempt-works", "reclaim-across-queues")
CANDIDATE = fit_piece(is_without_room=True).text


def searches(name: str) -> list[tuple[Recording, Seq, PredicateEvent]]:
    recording = bundled(name)
    seqs = recording.index.seqs_of_type(PredicateEvent)
    events = ((seq, recording.event_at(seq)) for seq in seqs)
    return [(recording, seq, event) for seq, event in events if isinstance(event, PredicateEvent)]


def text_of(table: Table | None) -> str:
    assert table is not None
    return format_table(table)


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_a_node_without_room_is_a_candidate_in_every_view(name: str) -> None:
    seen = 0
    for recording, seq, event in searches(name):
        for node in candidates_without_room(recording, seq):
            seen += 1
            row = next(row for row in predicate_grid(recording, seq, event).rows if row.key == node)
            assert CANDIDATE == row.cells[-1].text
            assert "<" in row.cells[-2].text
            assert f"✓ {CANDIDATE}" in text_of(node_page(recording, seq, node))
            assert NO_ROOM_REQUIRED == search_equation(recording, seq, event, node).note
    assert seen


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_only_a_search_for_victims_has_candidates_and_its_equation_decides_nothing(name: str) -> None:
    for recording, seq, event in searches(name):
        span = recording.span_tree.span_around(seq, Level.ACTION)
        assert span is not None
        evicts = span.name in ("preempt", "reclaim")
        assert evicts == event_headline(recording, seq).outcome.text.endswith("candidates")
        equation = search_equation(recording, seq, event)
        if candidates_without_room(recording, seq):
            assert evicts
            assert (None, True) == (equation.deciding_name, equation.note.endswith(NO_ROOM_REQUIRED))


def test_nodes_with_and_without_room_are_two_groups_and_a_list_marks_candidates() -> None:
    kinds: set[tuple[bool, bool]] = set()
    for name in SNAPSHOTS:
        for recording, seq, event in searches(name):
            roomless = candidates_without_room(recording, seq)
            fitting = [recording.node_names[row] for row in event.feasible.tolist()]
            inside = text_of(inside_table(recording, seq))
            assert bool(roomless) == (CANDIDATE in inside)
            kinds.add((bool(roomless), len(roomless) < len(fitting)))
            for row in predicate_grid(recording, seq, event).rows:
                kind, dimension = row.subject
                if kind == SHORT_OF and roomless:
                    assert CANDIDATE in text_of(node_list(recording, seq, kind, dimension))
    assert (True, False) in kinds


def test_evictions_free_only_what_a_node_can_hold() -> None:
    recording = bundled("preempt-blocked-by-gang")
    event = recording.event_at(100)
    assert isinstance(event, PredicateEvent)
    rows = {row.key: [cell.text for cell in row.cells] for row in predicate_grid(recording, 100, event).rows}
    # Two of the eight nodes have no GPU at all.
    assert ["≤ 2 < 4", "evictions may free 6 of 8"] == rows[f"{SHORT_OF} nvidia.com/gpu"][-2:]
