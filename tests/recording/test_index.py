from itertools import pairwise

import pytest

from tests.recorded import GOLDEN, bundled, golden
from tests.recording.scan import subjects
from vcdebug.framework.record import HookEvent, Level, OpEvent, Record, Span, StatementEvent
from vcdebug.recording.event_index import EventIndex, seq_after, seq_before
from vcdebug.recording.recording import SpanTree


@pytest.mark.parametrize("name", GOLDEN[::3])
def test_the_index_lists_the_events_that_a_scan_would_find(name: str) -> None:
    recording = golden(name)
    events = list(enumerate(recording.events, start=1))
    index = recording.index
    assert [seq for seq, e in events if isinstance(e, OpEvent)] == list(index.seqs_of_type(OpEvent))
    assert [s for s, e in events if isinstance(e, HookEvent) and e.point == "JobReady"] == list(
        index.seqs_at_point("JobReady")
    )
    assert [s for s, e in events if isinstance(e, HookEvent) and e.plugin == "gang"] == list(
        index.seqs_about("plugin", "gang")
    )


@pytest.mark.parametrize("name", GOLDEN)
def test_every_subject_has_the_events_that_speak_of_it(name: str) -> None:
    recording = golden(name)
    scanned: dict[tuple[str, str], dict[int, None]] = {}
    for seq, event in enumerate(recording.events, start=1):
        for key in subjects(event, recording.owners):
            scanned.setdefault(key, {})[seq] = None
    index = recording.index
    assert {key: list(seqs) for key, seqs in scanned.items()} == {key: list(index.seqs_about(*key)) for key in scanned}


def test_an_index_prepared_ahead_answers_the_same() -> None:
    recording = bundled()
    ahead = EventIndex(recording.record, recording.owners)
    ahead.build_all()
    for seq, event in enumerate(recording.events, start=1):
        for key in subjects(event, recording.owners):
            assert seq in ahead.seqs_about(*key)
            assert list(recording.index.seqs_about(*key)) == list(ahead.seqs_about(*key))


def test_a_recording_without_events_has_an_empty_index() -> None:
    index = EventIndex(Record(), bundled().owners)
    index.build_all()
    assert [] == list(index.seqs_about("job", "ns/a"))


def test_a_statement_concerns_its_tasks_their_jobs_and_nodes() -> None:
    recording = bundled()
    seq, event = next(
        (seq, e)
        for seq, e in enumerate(recording.events, start=1)
        if isinstance(e, StatementEvent) and e.what == "discard" and len(e.ops) == 2
    )
    for _, task, node in event.ops:
        assert seq in recording.index.seqs_about("task", task)
        assert seq in recording.index.seqs_about("job", recording.owners.jobs[task])
        assert seq in recording.index.seqs_about("node", node)


def test_index_of_an_unknown_subject_is_empty() -> None:
    assert [] == list(bundled().index.seqs_about("job", "no/such"))
    assert [] == list(bundled().index.seqs_at_point("BestNode"))
    assert (None, None) == (seq_after([], 1), seq_before([], 1))


def test_neighbours_in_a_list_lie_strictly_beyond() -> None:
    assert [2, 5, 5, None] == [seq_after([2, 5], seq) for seq in (1, 2, 4, 5)]
    assert [None, 2, 2, 5] == [seq_before([2, 5], seq) for seq in (2, 3, 5, 9)]


@pytest.mark.parametrize("name", GOLDEN[::3])
def test_spans_lie_within_each_other(name: str) -> None:
    tree = golden(name).span_tree
    for seq in range(1, len(golden(name)) + 1):
        path = tree.path_to(seq)
        assert Level.CYCLE == path[0].level
        assert all(o.first <= i.first <= seq <= i.last <= o.last for o, i in pairwise(path))


def test_first_event_of_several_spans_starts_the_largest() -> None:
    tree = SpanTree(nested((Level.CYCLE, 1, 6), (Level.ACTION, 2, 5), (Level.QUEUE, 2, 4), (Level.JOB, 3, 3)), 6)
    head = tree.span_starting_at(2)
    assert head is not None
    assert Level.ACTION == head.level
    assert tree.enclosing_span(2) is None
    assert [Level.CYCLE, Level.ACTION, Level.QUEUE, Level.JOB] == [span.level for span in tree.path_to(3)]


def test_a_span_without_events_is_left_out() -> None:
    tree = SpanTree(nested((Level.CYCLE, 1, 2), (Level.ACTION, 2, 1)), 2)
    assert tree.span_starting_at(2) is None
    assert [] == list(tree.children_of(None))


def nested(*ranges: tuple[Level, int, int]) -> list[Span]:
    """Nested spans."""
    made = []
    for index, (level, first, last) in enumerate(ranges):
        span = Span(index, level, level.name.lower(), first, index - 1)
        span.last = last
        made.append(span)
    return made
