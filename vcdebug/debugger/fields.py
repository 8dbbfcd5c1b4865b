"""The named fields of an event that conditions and log texts may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from vcdebug.debugger.expression import AnyOf, Fields, Value
from vcdebug.debugger.field_types import Known, type_of
from vcdebug.framework.record import (
    ActionEvent,
    BestEvent,
    Event,
    HookEvent,
    Level,
    OpEvent,
    PanicEvent,
    PopEvent,
    PredicateEvent,
    ScoreEvent,
    StateEvent,
    StatementEvent,
)
from vcdebug.framework.subject import name_in
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording

Reader = Callable[[Recording, Seq, Event], Value]


def fields_of(recording: Recording, seq: Seq) -> Fields:
    """A look-up of the event's fields; a name that is none has no value."""
    event = recording.event(seq)

    def lookup(name: str) -> Value:
        reader = FIELDS.get(name)
        return None if reader is None else reader(recording, seq, event)

    return lookup


def _around(recording: Recording, seq: Seq, level: Level) -> str | None:
    span = recording.tree.around(seq, level)
    return None if span is None else span.name


def _stated(event: Event, field: str) -> str | None:
    """What the event itself says."""
    if isinstance(event, HookEvent):
        return name_in(event.subject, field) or None
    if isinstance(event, PopEvent):
        return event.name if event.kind == field else None
    value = getattr(event, field, None)
    return value if isinstance(value, str) else None


def _action(recording: Recording, seq: Seq, event: Event) -> Value:
    return event.action if isinstance(event, ActionEvent) else _around(recording, seq, Level.ACTION)


def _task(recording: Recording, seq: Seq, event: Event) -> Value:
    if isinstance(event, StatementEvent):
        return AnyOf(dict.fromkeys(task for _, task, _ in event.ops))
    return _stated(event, "task") or _around(recording, seq, Level.TASK)


def _job(recording: Recording, seq: Seq, event: Event) -> Value:
    owners = recording.owners
    stated = _stated(event, "job")
    if stated is not None:
        return stated
    sub_job = _stated(event, "subjob")
    if sub_job is not None:
        return owners.sub_jobs.get(sub_job)
    task = _stated(event, "task")
    return owners.jobs.get(task) if task else _around(recording, seq, Level.JOB)


def _queue(recording: Recording, seq: Seq, event: Event) -> Value:
    stated = _stated(event, "queue")
    if stated is not None:
        return stated
    job = _job(recording, seq, event)
    if isinstance(job, str):
        return recording.owners.queues.get(job)
    return _around(recording, seq, Level.QUEUE)


def _node(recording: Recording, seq: Seq, event: Event) -> Value:
    if isinstance(event, PredicateEvent):
        return AnyOf(_names(recording, event.failed.tolist()))
    if isinstance(event, ScoreEvent):
        return AnyOf(_names(recording, event.rows.tolist()))
    if isinstance(event, StatementEvent):
        return AnyOf(dict.fromkeys(node for _, _, node in event.ops))
    if isinstance(event, BestEvent):
        return event.name if event.kind == "node" else None
    return _stated(event, "node") or _around(recording, seq, Level.NODE)


def _names(recording: Recording, rows: list[int]) -> tuple[str, ...]:
    names = recording.node_names
    return tuple(names[row] for row in rows)


def _plugin(recording: Recording, seq: Seq, event: Event) -> Value:
    if isinstance(event, HookEvent):
        return event.plugin
    if isinstance(event, PredicateEvent):
        codes = dict.fromkeys(event.codes.tolist())
        return AnyOf(dict.fromkeys(s.plugin for code in codes for s in recording.reasons.statuses(code) if s.plugin))
    if isinstance(event, ScoreEvent):
        return AnyOf(dict.fromkeys(part.partition("/")[0] for part, _ in event.parts))
    return None


def _tier(recording: Recording, seq: Seq, event: Event) -> Value:
    if not isinstance(event, HookEvent):
        return None
    for number, tier in enumerate(recording.conf.tiers, start=1):
        if any(option.name == event.plugin for option in tier):
            return number
    return None


def _result(recording: Recording, seq: Seq, event: Event) -> Value:
    if not isinstance(event, HookEvent):
        return None
    if isinstance(event.result, tuple):
        return tuple(str(item) for item in event.result)
    if isinstance(event.result, bool | int | float | str):
        return event.result
    return None if event.result is None else str(event.result)


def _vote(recording: Recording, seq: Seq, event: Event) -> Value:
    if not isinstance(event, HookEvent):
        return None
    if event.vote is not None:
        return event.vote
    return event.result if isinstance(event.result, int) else None


def _candidates(recording: Recording, seq: Seq, event: Event) -> Value:
    return event.candidates if isinstance(event, HookEvent) and event.offers else None


def _victims(recording: Recording, seq: Seq, event: Event) -> Value:
    if isinstance(event, HookEvent) and isinstance(event.result, tuple):
        return tuple(str(task) for task in event.result)
    if isinstance(event, StatementEvent):
        return tuple(task for kind, task, _ in event.ops if kind == "evict")
    if isinstance(event, OpEvent) and event.op == "evict":
        return (event.task,)
    return None


def _reason(recording: Recording, seq: Seq, event: Event) -> Value:
    if isinstance(event, PredicateEvent):
        codes = dict.fromkeys(event.codes.tolist())
        return AnyOf(dict.fromkeys(s.reason for code in codes for s in recording.reasons.statuses(code)))
    if isinstance(event, HookEvent):
        return _hook_reason(event.result)
    if isinstance(event, PanicEvent):
        return event.message
    return event.reason if isinstance(event, OpEvent) else None


def _hook_reason(result: object) -> Value:
    if isinstance(result, dict):
        return str(result.get("reason") or result.get("error") or "")
    if isinstance(result, list):
        return AnyOf(str(status.get("reason")) for status in result if isinstance(status, dict))
    return None


def _attribute(kind: type, name: str) -> Reader:
    """A number or word that only one type of event has."""

    def read(recording: Recording, seq: Seq, event: Event) -> Value:
        value: Value = getattr(event, name) if isinstance(event, kind) else None
        return value

    return read


def _length(kind: type, name: str) -> Reader:
    """How many entries a part of one type of event has."""

    def read(recording: Recording, seq: Seq, event: Event) -> Value:
        return len(getattr(event, name)) if isinstance(event, kind) else None

    return read


def _what(recording: Recording, seq: Seq, event: Event) -> Value:
    if isinstance(event, StateEvent):
        return event.when
    return event.what if isinstance(event, StatementEvent | ActionEvent) else None


FIELDS: Final[Mapping[str, Reader]] = {
    "seq": lambda _, seq, __: seq,
    "event": lambda _, __, event: type(event).__name__.removesuffix("Event").lower(),
    "action": _action,
    "queue": _queue,
    "job": _job,
    "task": _task,
    "node": _node,
    "plugin": _plugin,
    "tier": _tier,
    "point": _attribute(HookEvent, "point"),
    "result": _result,
    "vote": _vote,
    "candidates": _candidates,
    "victims": _victims,
    "reason": _reason,
    "op": _attribute(OpEvent, "op"),
    "eviction": _attribute(OpEvent, "eviction"),
    "what": _what,
    "ops": _length(StatementEvent, "ops"),
    "considered": _attribute(PredicateEvent, "considered"),
    "processed": _attribute(PredicateEvent, "processed"),
    "feasible": _length(PredicateEvent, "feasible"),
    "failed": _length(PredicateEvent, "failed"),
    "scored": _length(ScoreEvent, "rows"),
    "score": _attribute(BestEvent, "score"),
    "tied": _length(BestEvent, "tied"),
    "left": _attribute(PopEvent, "left"),
    "quirk": lambda recording, seq, _: AnyOf(note.code for note in recording.notes_at(seq)),
}
"""Field → how it is read; an event without the field gives None."""

FIELD_NAMES: Final = tuple(FIELDS)
FIELD_TYPES: Final[Known] = {name: type_of(name) for name in FIELDS}
"""Field → what it holds where an event has it."""
