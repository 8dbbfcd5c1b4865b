"""Rebuilds the bundles of gang actions, and checks that they hold the recorded candidates."""

from vcdebug.explain.decisions.victim_funnel import UNIFIED_POINT, bundles_at
from vcdebug.framework.record import HookEvent, Level, OpEvent
from vcdebug.recording.recording import Recording


def asked(recording: Recording) -> list[int]:
    """Numbers of the events at which plugins answer about bundles."""
    seqs = recording.index.seqs_of_type(HookEvent)
    return [seq for seq in seqs if getattr(recording.event_at(seq), "point", "") == UNIFIED_POINT]


def check_bundles(recording: Recording) -> None:
    """Check that the bundles hold the recorded candidates, and that each evicted task was kept in one of them."""
    left: dict[int, dict[str, None]] = {}
    for seq in asked(recording):
        event, span, found = (
            recording.event_at(seq),
            recording.span_tree.span_around(seq, Level.JOB),
            bundles_at(recording, seq),
        )
        assert isinstance(event, HookEvent)
        assert span is not None
        assert found is not None
        assert [*event.candidates] == [task for bundle in found.bundles for task in bundle.tasks]
        left.setdefault(span.index, {}).update(dict.fromkeys(task for each in found.bundles for task in each.allowed))
    for index, tasks in left.items():
        span = recording.spans[index]
        events = [recording.event_at(seq) for seq in range(span.first, span.last + 1)]
        gone = [event.task for event in events if isinstance(event, OpEvent) and event.op == "evict"]
        assert [] == [task for task in gone if task not in tasks]
