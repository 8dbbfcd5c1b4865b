"""One event or span in a few words: what happened and its outcome; short names of tasks, plugins' parts and spans."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from vcdebug.amount_text import count_noun, format_count, format_number
from vcdebug.debugger.cursor import steps_inside
from vcdebug.explain.predicate_reasons import seeks_victims
from vcdebug.framework import hooks, record
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ENQUEUED, OVERUSED, PRE_PREDICATE
from vcdebug.framework.record import PLACING_OPS, Event, HookEvent, Level, OpEvent, PredicateEvent, Span, StatementEvent
from vcdebug.framework.session_close import UNSCHEDULABLE_CONDITION
from vcdebug.model.names import Seq
from vcdebug.recording.effects import ActionOutcome, action_outcomes, iter_rejections
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.visits import VICTIM_POINTS
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.pieces import ALLOCATED, COMMIT, DISCARD, EVICT, NO, PATH, RESERVED, YES, Piece, Style, muted_piece

_VOTES = {1: Piece(f"{YES} permit", "good"), 0: Piece("– abstain", "muted"), -1: Piece(f"{NO} reject", "bad")}
_VOTING = (hooks.JOB_PIPELINED.upstream, hooks.SUB_JOB_PIPELINED.upstream, hooks.JOB_ENQUEUEABLE.upstream)
_OVERUSED = hooks.OVERUSED.upstream
_TRUTH_WORDS = {
    hooks.JOB_STARVING.upstream: ("starving", "not starving"),
    hooks.JOB_READY.upstream: ("ready", "not ready"),
}


class Headline(Struct, frozen=True):
    """An event in a few words: what happened, and its outcome."""

    event_text: str
    outcome: Piece


def answer_piece(event: record.HookEvent) -> Piece:
    """A plugin's answer in words."""
    if event.point in VICTIM_POINTS:
        return _victims_piece(event)
    if isinstance(event.result, tuple):
        return Piece(task_list_or(event.result, "– none"), "good" if event.result else "muted")
    if event.point in _VOTING:
        return _VOTES.get(event.result, Piece(str(event.result)))
    if isinstance(event.result, bool):
        return _boolean_piece(event.point, event.result)
    if event.point == hooks.JOB_VALID.upstream:
        return Piece(f"{YES} valid", "good") if event.result is None else Piece(f"{NO} {event.result['reason']}", "bad")
    if event.result is None:
        may_object = "redicate" in event.point or event.point.startswith("Simulate")
        return Piece(f"{YES} no objection", "good") if may_object else muted_piece("notified")
    if isinstance(event.result, dict) and "error" in event.result:
        return Piece(f"{NO} {event.result['error']}", "bad")
    if isinstance(event.result, list) and event.result and isinstance(event.result[0], dict):
        return Piece(f"{NO} " + ", ".join(str(entry["reason"]) for entry in event.result), "bad")
    return Piece(placing_words(event.result))


def placing_words(result: object) -> str:
    """Any hook's result: scores as `s0 16.667, s1 15`, groups as `s0 s1, then p0`, bools as yes/no, None as `–`."""
    if result is None:
        return "–"
    if isinstance(result, bool):
        return "yes" if result else "no"
    if isinstance(result, Mapping):
        return ", ".join(f"{name} {_score_words(score)}" for name, score in result.items()) or "no scores"
    if isinstance(result, (list, tuple)) and result and not any(isinstance(row, (list, tuple)) for row in result):
        return ", ".join(placing_words(entry) for entry in result)
    if isinstance(result, float):
        return format_number(result)
    if isinstance(result, list) and all(isinstance(row, list) for row in result):
        return ", then ".join(" ".join(row) for row in result) or "nowhere"
    return str(result)


def _score_words(score: object) -> str:
    """A number, or a plugin's scores in parentheses."""
    if isinstance(score, Mapping):
        return f"({placing_words(score)})"
    return format_number(score) if isinstance(score, float | int) else str(score)


def _victims_piece(event: record.HookEvent) -> Piece:
    if event.vote == 0:
        return muted_piece("– abstains")
    if not event.victims:
        return Piece(f"{NO} none", "bad")
    return Piece(f"{YES} " + task_list_or(event.victims, ""), "good")


def _boolean_piece(point: str, result: bool) -> Piece:
    if point == _OVERUSED:
        return Piece(f"{NO} overused", "bad") if result else Piece(f"{YES} not overused", "good")
    yes, no = _TRUTH_WORDS.get(point, ("yes", "no"))
    return Piece(f"{YES} {yes}", "good") if result else Piece(f"{NO} {no}", "bad")


def event_headline(recording: Recording, seq: Seq) -> Headline:
    """What happened at an event and its outcome, in a few words."""
    event = recording.event_at(seq)
    if isinstance(event, PredicateEvent):
        return Headline("predicates", passing_piece(recording, seq, event, of_tried=True))
    return _HEADLINES[type(event)](event)


def _hook_headline(event: record.HookEvent) -> Headline:
    said = answer_piece(event)
    return Headline(event.point, Piece(f"{event.plugin} {said.text}", said.style))


def passing_piece(recording: Recording, seq: Seq, event: PredicateEvent, *, of_tried: bool = False) -> Piece:
    """How many nodes pass; in a search for victims they are candidates, which need no free room."""
    passing, of_words = len(event.feasible), f"/{event.processed}" if of_tried else ""
    words = "candidates" if seeks_victims(recording, seq) else "pass"
    return Piece(f"{YES if passing else NO} {passing}{of_words} {words}", "good" if passing else "bad")


def fit_piece(is_without_room: bool) -> Piece:
    """The verdict on a node that passes the predicates; `is_without_room`: of a search that requires no free room."""
    return Piece("candidate: no room needed") if is_without_room else Piece("fits", "good")


def _best_headline(event: record.BestEvent) -> Headline:
    tied = f", {len(event.tied)} tied" if len(event.tied) > 1 else ""
    return Headline(f"best {event.kind}", Piece(f"{event.name} {format_number(event.score)}{tied}", "strong"))


def _operation_headline(event: record.OpEvent) -> Headline:
    style: Style = "warn" if event.op in ("evict", "unpipeline", "unallocate") else "strong"
    return Headline(f"{event.op} {bare_name(event.task)}", Piece(f"@{event.node}" if event.node else "", style))


def _statement_headline(event: record.StatementEvent) -> Headline:
    mark, style = _STATEMENT_MARKS.get(event.what, ("", ""))
    operations = Piece(count_noun(len(event.ops), "operation"), style if event.ops else "muted")
    return Headline(f"{mark}{event.what}", operations)


def _state_headline(event: record.StateEvent) -> Headline:
    words = "session opened" if event.when == "open" else event.when
    return Headline(words, muted_piece(f"{count_noun(len(event.jobs), 'job')}, {count_noun(len(event.nodes), 'node')}"))


_STATEMENT_MARKS: Final[Mapping[str, tuple[str, Style]]] = {
    "commit": (f"{COMMIT} ", "good"),
    "discard": (f"{DISCARD} ", "bad"),
}
_HEADLINES: Final[Mapping[type, Callable[..., Headline]]] = {
    record.HookEvent: _hook_headline,
    record.PopEvent: lambda event: Headline(
        f"pop {event.kind} {bare_name(event.name)}", muted_piece(f"{event.left} left")
    ),
    record.ScoreEvent: lambda event: Headline("scores", muted_piece(count_noun(len(event.rows), "node"))),
    record.BestEvent: _best_headline,
    record.RandomEvent: lambda event: Headline(f"random below {event.n}", muted_piece("0")),
    record.OpEvent: _operation_headline,
    record.StatementEvent: _statement_headline,
    record.ActionEvent: lambda event: Headline(f"{event.action} {event.what}s", Piece("")),
    record.StateEvent: _state_headline,
    record.CloseEvent: lambda event: Headline("session closed", muted_piece(count_noun(len(event.jobs), "job"))),
    record.PanicEvent: lambda event: Headline(f"{NO} panic", Piece(event.message, "bad")),
    record.CutEvent: lambda event: Headline(f"{NO} stopped at the limit", Piece(f"at {event.bound}", "bad")),
}


def close_message(job: record.JobClose) -> tuple[bool, str]:
    """(whether the job is written as unschedulable, the scheduler's message about it)."""
    stated = (each for each in job.conditions if each.type == UNSCHEDULABLE_CONDITION and each.status == "True")
    unschedulable = next(stated, None)
    return unschedulable is not None, unschedulable.message if unschedulable is not None else job.fit_error


# Short names.


def task_list(keys: Sequence[str]) -> str:
    """`resnet-sweep-worker-{0,1} etl-0`: tasks with a common stem are grouped."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        # A generated suffix such as `x7k2p` is no index, and stays part of the name.
        stem, dash, tail = bare_name(key).rpartition("-")
        if dash and tail.isdigit():
            groups.setdefault(stem + "-", []).append(tail)
        else:
            groups.setdefault(bare_name(key), [])
    return " ".join(_group_text(stem, tails) for stem, tails in groups.items())


def _group_text(stem: str, tails: list[str]) -> str:
    if not tails:
        return stem
    return f"{stem}{tails[0]}" if len(tails) == 1 else f"{stem}{{{','.join(tails)}}}"


def task_list_or(keys: Sequence[str], empty: str) -> str:
    """The tasks as in task_list; `empty` if there are none."""
    return task_list(keys) if keys else empty


_LEVEL_PREFIX = {record.Level.QUEUE: "q "}


def path_words(recording: Recording, seq: Seq, inside: int = 0) -> list[str]:
    """The spans around an event, from the action inwards, and the step inside it: `preempt`, `q research`, `job-13`."""
    spans = recording.span_tree.path_to(seq)[1:]
    words = [f"{_LEVEL_PREFIX.get(span.level, '')}{bare_name(span.name)}" for span in spans]
    return [*words, inner_words(recording, seq, inside)] if inside else words


def event_place(recording: Recording, seq: Seq, job: str = "") -> str:
    """The spans around the event, and the job if no span names it; `between actions` for none."""
    words = path_words(recording, seq)
    return f" {PATH} ".join([*words, job] if job and job not in words else words) or "between actions"


def inner_words(recording: Recording, seq: Seq, inside: int) -> str:
    """`comparison 2 of 5`: a step inside an event."""
    what, count = steps_inside(recording, seq)
    return f"{what} {inside} of {max(count, inside)}"


# The outcome of a span in a few words: an action's statements, a job's outcome, a task's node, a node's victims.


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
        return _action_outcome(recording, span, action_outcomes(recording)[index])
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


def _action_outcome(recording: Recording, span: Span, came: ActionOutcome) -> Piece:
    if recording.conf.facts_of(span.name).admits:
        if not came.popped:
            return muted_piece("none to admit")
        return Piece(f"{came.popped - came.rejected} of {came.popped} admitted", "bad" if came.rejected else "good")
    if not came.commits + came.discards:
        return Piece(f"{came.bound} bound", "good") if came.bound else _fruitless_outcome(recording, span)
    commits, discards = f"{COMMIT} {format_count(came.commits)}", f"{DISCARD} {format_count(came.discards)}"
    if came.commits and came.discards:
        return Piece(f"{commits} {discards}", "warn")
    return Piece(f"{commits} committed", "good") if came.commits else Piece(f"{discards} discarded", "bad")


def _fruitless_outcome(recording: Recording, span: Span) -> Piece:
    """Of an action without a statement or binding: the jobs whose tasks it tried, and the last veto on victims."""
    inner = (one for one in recording.spans[span.index + 1 :] if one.first <= span.last)
    tried = [one for one in inner if one.level is Level.TASK and one.first <= one.last]
    if not tried:
        return muted_piece("no pod tried")
    events = recording.events[span.first - 1 : span.last]
    vetoes = [event for event in events if isinstance(event, HookEvent) and event.point in VICTIM_POINTS]
    reason = f", {NO} {vetoes[-1].plugin}" if vetoes and not vetoes[-1].result else ", none placed"
    return Piece(f"{count_noun(len(dict.fromkeys(one.name for one in tried)), 'pod')} tried{reason}", "bad")


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
