"""Undone operations: the statement that undoes them, or the refusal, and the same statuses in each panel."""

from collections.abc import Iterator

import pytest

from tests.recorded import BUNDLED, GOLDEN, bundled, golden, recorded, recorded_path
from vcdebug.debugger.facts import EventFact, FigureFact
from vcdebug.debugger.figures import parse_figure_line
from vcdebug.debugger.origins import origin_of
from vcdebug.explain.decisions.equations import operation_equation
from vcdebug.framework.record import OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import state_before
from vcdebug.views.pieces import text_of
from vcdebug.views.statement import operation_table

UNDOING = ("unevict", "unpipeline", "unallocate")
REFUSED_TWICE = "r1-evicted-for-a-job-that-got-nothing"
"""A cluster in which allocate tries pods again whose places gangpreempt has reserved, and the node refuses them."""


def recording_of(name: str) -> Recording:
    if name != REFUSED_TWICE:
        return bundled(name) if name in BUNDLED else golden(name)
    return recorded(recorded_path(f"threads/{name}"))


def undone_by_events(recording: Recording) -> Iterator[tuple[Seq, OpEvent, Seq]]:
    """Each undoing operation, with its statement counted from there: a discard of n operations undoes the next n."""
    owed: list[tuple[str, Seq]] = []
    for seq, event in enumerate(recording.events, 1):
        if isinstance(event, StatementEvent):
            owed = [(task, seq) for _, task, _ in event.ops] if event.what in ("discard", "commit") else []
        elif isinstance(event, OpEvent) and event.op in UNDOING:
            mine = next((pair for pair in reversed(owed) if pair[0] == event.task), ("", 0))
            yield seq, event, mine[1]
            owed = [pair for pair in owed if pair is not mine]


CASES = [*GOLDEN, *BUNDLED, REFUSED_TWICE]


@pytest.mark.parametrize("name", CASES)
def test_an_operation_is_undone_by_the_statement_that_lists_it_or_by_a_refusal(name: str) -> None:
    recording = recording_of(name)
    for seq, event, statement in undone_by_events(recording):
        origin = origin_of(recording, EventFact(seq))
        told = [source.fact for source in origin.sources if source.role == "statement"]
        assert told == ([EventFact(statement)] if statement else []), seq
        was = state_before(recording, seq).tasks[event.task].status.upstream_name
        in_force = {"unpipeline": "Pipelined", "unallocate": "Allocated", "unevict": "Releasing"}[event.op]
        words = (
            "an operation of this statement"
            if statement
            else "releases the reservation"
            if was == in_force
            else "was refused"
        )
        assert words in origin.rule, seq
        # What is undone is an operation of this cycle, or the place that an earlier cycle left.
        roles = [source.role for source in origin.sources if source.role in ("undoes", "place")]
        assert was == "Pending" or len(roles) == 1, seq


@pytest.mark.parametrize("name", CASES)
def test_each_panel_shows_an_operation_between_the_same_two_statuses(name: str) -> None:
    recording = recording_of(name)
    for seq, event in recording.events_of_type(OpEvent):
        status = FigureFact(parse_figure_line(recording, f"task {event.task} status"), seq)
        before, after = (
            recording.timeline.state_at(at).tasks[event.task].status.upstream_name for at in (seq - 1, seq)
        )
        words = text_of(operation_table(recording, seq, event).header[0])
        chain = words.partition(":")[0].split(" → ")
        assert (before, after) == (chain[0], chain[-1]), seq
        assert before == after or f"{before} → {after}" in origin_of(recording, status).rule, seq
        equation = operation_equation(recording, seq, event) if event.op in UNDOING else None
        assert equation is None or equation.verdict, (seq, equation)


def test_a_pod_whose_place_is_reserved_already_is_refused_by_the_node() -> None:
    recording = recording_of(REFUSED_TWICE)
    refused = [(seq, event) for seq, event, statement in undone_by_events(recording) if not statement]
    assert 4 == len(refused)
    for seq, event in refused:
        rule = origin_of(recording, EventFact(seq)).rule
        assert f"already on node <{event.node}>" in rule
        assert rule in text_of(operation_table(recording, seq, event).header[0])
