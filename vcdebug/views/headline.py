"""One event in a few words: what happened and its outcome; short names of tasks, plugins' parts and spans."""

from collections.abc import Mapping, Sequence
from functools import singledispatch

from msgspec import Struct

from vcdebug.amount_text import count_noun, format_number
from vcdebug.debugger.cursor import steps_inside
from vcdebug.framework import hooks, record
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.views.pieces import NO, YES, Piece, Style, muted_piece

VICTIM_POINTS = (hooks.PREEMPTABLE.upstream, hooks.RECLAIMABLE.upstream, hooks.UNIFIED_EVICTABLE.upstream)
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
        return Piece(f"{YES} no objection", "good") if _is_objection_point(event.point) else muted_piece("notified")
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


def _is_objection_point(point: str) -> bool:
    return "redicate" in point or point.startswith("Simulate")


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


@singledispatch
def event_headline(event: record.Event) -> Headline:
    """What happened at an event and its outcome, in a few words."""
    return Headline(type(event).__name__, Piece(""))


@event_headline.register
def _(event: record.HookEvent) -> Headline:
    said = answer_piece(event)
    return Headline(event.point, Piece(f"{event.plugin} {said.text}", said.style))


@event_headline.register
def _(event: record.PopEvent) -> Headline:
    return Headline(f"pop {event.kind} {bare_name(event.name)}", muted_piece(f"{event.left} left"))


@event_headline.register
def _(event: record.PredicateEvent) -> Headline:
    fitting, tried = len(event.feasible), event.processed
    style: Style = "good" if fitting else "bad"
    return Headline("predicates", Piece(f"{YES if fitting else NO} {fitting}/{tried} pass", style))


@event_headline.register
def _(event: record.ScoreEvent) -> Headline:
    return Headline("scores", muted_piece(count_noun(len(event.rows), "node")))


@event_headline.register
def _(event: record.BestEvent) -> Headline:
    tied = f", {len(event.tied)} tied" if len(event.tied) > 1 else ""
    return Headline(f"best {event.kind}", Piece(f"{event.name} {format_number(event.score)}{tied}", "strong"))


@event_headline.register
def _(event: record.RandomEvent) -> Headline:
    return Headline(f"random below {event.n}", muted_piece("0"))


@event_headline.register
def _(event: record.OpEvent) -> Headline:
    style: Style = "warn" if event.op in ("evict", "unpipeline", "unallocate") else "strong"
    return Headline(f"{event.op} {bare_name(event.task)}", Piece(f"@{event.node}" if event.node else "", style))


@event_headline.register
def _(event: record.StatementEvent) -> Headline:
    style: Style = {"commit": "good", "discard": "bad"}.get(event.what, "")  # type: ignore[assignment]
    mark = {"commit": "○ ", "discard": "◆ "}.get(event.what, "")
    return Headline(
        f"{mark}{event.what}", Piece(count_noun(len(event.ops), "operation"), style if event.ops else "muted")
    )


@event_headline.register
def _(event: record.ActionEvent) -> Headline:
    return Headline(f"{event.action} {event.what}s", Piece(""))


@event_headline.register
def _(event: record.StateEvent) -> Headline:
    words = "session opened" if event.when == "open" else event.when
    return Headline(words, muted_piece(f"{count_noun(len(event.jobs), 'job')}, {count_noun(len(event.nodes), 'node')}"))


@event_headline.register
def _(event: record.CloseEvent) -> Headline:
    return Headline("session closed", muted_piece(count_noun(len(event.jobs), "job")))


@event_headline.register
def _(event: record.PanicEvent) -> Headline:
    return Headline(f"{NO} panic", Piece(event.message, "bad"))


@event_headline.register
def _(event: record.CutEvent) -> Headline:
    return Headline(f"{NO} stopped at the limit", Piece(f"at {event.bound}", "bad"))


# Short names.


def bare_name(name: str) -> str:
    """The name without its namespace."""
    return name.rsplit("/", 1)[-1]


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


_SHORT_PARTS = {
    "NodeResourcesFit_LeastAllocated": "least",
    "NodeResourcesFit_MostAllocated": "most",
    "NodeResourcesBalancedAllocation": "balanced",
    "NodeAffinity": "affinity",
    "InterPodAffinity": "podaffinity",
    "TaintToleration": "taints",
    "PodTopologySpread": "spread",
    "ImageLocality": "image",
    "DynamicResources": "dra",
}


def short_part(name: str) -> str:
    """`nodeorder/batch/NodeAffinity` -> `affinity`; other names stay."""
    tail = name.rsplit("/", 1)[-1]
    return _SHORT_PARTS.get(tail, name.replace("/batch", " batch"))


_LEVEL_PREFIX = {record.Level.QUEUE: "q "}


def path_words(recording: Recording, seq: Seq, inside: int = 0) -> list[str]:
    """The spans around an event, from the action inwards, and the step inside it: `preempt`, `q research`, `job-13`."""
    spans = recording.span_tree.path_to(seq)[1:]
    words = [f"{_LEVEL_PREFIX.get(span.level, '')}{bare_name(span.name)}" for span in spans]
    return [*words, inner_words(recording, seq, inside)] if inside else words


def inner_words(recording: Recording, seq: Seq, inside: int) -> str:
    """`comparison 2 of 5`: a step inside an event."""
    what, count = steps_inside(recording, seq)
    return f"{what} {inside} of {max(count, inside)}"
