"""The outcome of a span in a few words: an action's statements, a job's outcome, a task's node, a node's victims."""

from collections.abc import Sequence

from vcdebug.amount_text import count_noun, format_count
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ENQUEUED, OVERUSED, PRE_PREDICATE
from vcdebug.framework.record import PLACING_OPS, Event, HookEvent, Level, OpEvent, PredicateEvent, Span, StatementEvent
from vcdebug.framework.registry import ActionFacts
from vcdebug.recording.effects import ActionOutcome, action_outcomes, iter_rejections
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.views.headline import VICTIM_POINTS, bare_name, task_list_or
from vcdebug.views.pieces import ALLOCATED, COMMIT, DISCARD, EVICT, NO, RESERVED, YES, Piece, Style, muted_piece

_UNDONE = ("unpipeline", "unallocate")
FATE_WORDS: dict[str, tuple[str, Style]] = {
    "commit": ("○ committed", "good"),
    "discard": ("◆ discarded", "bad"),
    "at once": (f"{EVICT} at once", "good"),
    "": ("never decided", "warn"),
}
"""The end of an eviction's statement in words."""


@per_recording(most=20_000)
def span_outcome(recording: Recording, index: int) -> Piece:
    """The outcome of the span with this index in `recording.spans`."""
    span = recording.spans[index]
    if span.level is Level.ACTION:
        return _action_outcome(span, action_outcomes(recording)[index], recording.conf.facts_of(span.name))
    events = recording.events[span.first - 1 : span.last]
    match span.level:
        case Level.QUEUE:
            return _queue_outcome(recording, span, events)
        case Level.JOB:
            return _job_outcome(events)
        case Level.TASK:
            return _task_outcome(events)
        case Level.NODE:
            return _node_outcome(recording, span, events)
    return Piece("")


def _action_outcome(span: Span, came: ActionOutcome, facts: ActionFacts) -> Piece:
    if facts.admits:
        if not came.popped:
            return muted_piece("none to admit")
        return Piece(f"{came.popped - came.rejected} of {came.popped} admitted", "bad" if came.rejected else "good")
    if not came.commits + came.discards:
        return Piece(f"{came.bound} bound", "good") if came.bound else muted_piece("no statement")
    commits, discards = f"{COMMIT} {format_count(came.commits)}", f"{DISCARD} {format_count(came.discards)}"
    if came.commits and came.discards:
        return Piece(f"{commits} {discards}", "warn")
    return Piece(f"{commits} committed", "good") if came.commits else Piece(f"{discards} discarded", "bad")


def _queue_outcome(recording: Recording, span: Span, events: Sequence[Event]) -> Piece:
    # Upstream asks Overused first in a queue's turn.
    for event in events[:3]:
        if isinstance(event, HookEvent) and event.point == OVERUSED.upstream and event.result:
            return Piece(f"{NO} overused", "bad")
    jobs = [child for child in recording.span_tree.children_of(span) if child.level is Level.JOB]
    if len(jobs) == 1:
        return _only_job_outcome(bare_name(jobs[0].name), span_outcome(recording, jobs[0].index))
    return muted_piece(count_noun(len(jobs), "job") if jobs else "no job")


def _only_job_outcome(job: str, came: Piece) -> Piece:
    """The name of the only job of a queue's turn, after the sign of its outcome."""
    sign, space, _ = came.text.partition(" ")
    return Piece(f"{sign} {job}", came.style) if space and not sign.isalnum() else muted_piece(job)


def _job_outcome(events: Sequence[Event]) -> Piece:
    for _, plugin in iter_rejections(events):
        return Piece(f"{NO} {plugin} rejects", "bad")
    asked = {event.point for event in events if isinstance(event, HookEvent)}
    if JOB_ENQUEUEABLE.upstream in asked:
        return Piece(f"{YES} admitted", "good")
    if JOB_ENQUEUED.upstream in asked:
        return Piece(f"{YES} admitted without a vote", "good")
    fates = [event for event in events if isinstance(event, StatementEvent) and event.what in ("commit", "discard")]
    if any(event.what == "commit" and event.ops for event in fates):
        return Piece("○ committed", "good")
    if any(event.ops for event in fates):
        return Piece("◆ discarded", "bad")
    if any(isinstance(event, OpEvent) and event.op == "bind" for event in events):
        return Piece(f"{ALLOCATED} bound", "good")
    return muted_piece("nothing done")


def _task_outcome(events: Sequence[Event]) -> Piece:
    node, op = "", ""
    for event in events:
        if isinstance(event, OpEvent) and event.op in PLACING_OPS:
            node, op = event.node, event.op
        elif isinstance(event, OpEvent) and event.op in _UNDONE:
            node, op = "", ""
    if node:
        return Piece(f"{RESERVED if op == 'pipeline' else ALLOCATED} {node}", "good")
    return Piece(f"{NO} {_task_obstacle(events)}", "bad")


def _task_obstacle(events: Sequence[Event]) -> str:
    """The last check that the task failed, in words; `no place` if unknown."""
    for event in reversed(events):
        if isinstance(event, OpEvent) and event.op in _UNDONE:
            return f"undone on {event.node}"
        if isinstance(event, HookEvent) and event.point in VICTIM_POINTS:
            return "no victims"
        if isinstance(event, HookEvent) and event.result is False:
            return f"{event.point}: {event.plugin}"
        if isinstance(event, HookEvent) and event.point == PRE_PREDICATE.upstream and event.result is not None:
            return f"PrePredicate: {event.plugin}"
        if isinstance(event, PredicateEvent) and not len(event.feasible):
            return f"0/{event.processed} nodes"
    return "no place"


def _node_outcome(recording: Recording, span: Span, events: Sequence[Event]) -> Piece:
    # Imported late: most cycles have no span of a node.
    from vcdebug.explain.decisions.dry_runs import dry_run_at

    run = dry_run_at(recording, span.first)
    if run is None:
        return _tried_outcome(events)
    return Piece(f"{YES} {run.outcome_words}", "good") if run.victims else Piece(f"{NO} {run.outcome_words}", "bad")


def _tried_outcome(events: Sequence[Event]) -> Piece:
    evicted = [event.task for event in events if isinstance(event, OpEvent) and event.op == "evict"]
    if any(isinstance(event, OpEvent) and event.op in _UNDONE for event in events):
        return Piece(f"{NO} undone", "bad")
    if any(isinstance(event, OpEvent) and event.op in PLACING_OPS for event in events):
        return Piece(f"▲ {task_list_or(evicted, 'none')}", "good")
    victim_calls = [event for event in events if isinstance(event, HookEvent) and event.point in VICTIM_POINTS]
    if victim_calls and not any(event.candidates for event in victim_calls):
        return muted_piece("no candidates")
    if victim_calls and not victim_calls[-1].result:
        return Piece(f"{NO} {victim_calls[-1].plugin}", "bad")
    return Piece(f"{NO} not enough" if evicted or victim_calls else "", "bad" if evicted or victim_calls else "")
