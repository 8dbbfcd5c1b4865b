"""The named fields of an event that conditions and log texts may use."""

from collections.abc import Callable, Mapping
from typing import Final

from vcdebug.debugger import figures
from vcdebug.debugger.expression import AnyOf, Fields, FieldType, KnownFields, Value
from vcdebug.framework import record
from vcdebug.framework.subject import name_in
from vcdebug.grouping import group_by_key
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name

FieldReader = Callable[[Recording, Seq, record.Event], Value]


def fields_of(recording: Recording, seq: Seq) -> Fields:
    """A function from a field's name to its value at the event; None for an unknown name."""
    event = recording.event_at(seq)

    def look_up(name: str) -> Value:
        if " " in name:
            return _figure_at(recording, seq, name)
        reader = FIELD_READERS.get(name)
        return None if reader is None else reader(recording, seq, event)

    return look_up


def _figure_at(recording: Recording, seq: Seq, words: str) -> Value:
    """A figure after the event, or before it (`old`), in cores, bytes or pieces; None where the recording has none."""
    figure = figures.find_figure(recording, tuple(words.removeprefix("old ").split()))
    if figure is None:
        return None
    change = figures.figure_history(recording, figure).last_change(seq - words.startswith("old "))
    value = figures.figure_value(recording, figure, 0) if change is None else change.new
    return figures.comparable_value(figure, value)


def _span_name(recording: Recording, seq: Seq, level: record.Level) -> str | None:
    span = recording.span_tree.span_around(seq, level)
    return None if span is None else span.name


def _stated_name(event: record.Event, field: str) -> str | None:
    if isinstance(event, record.HookEvent):
        return name_in(event.subject, field) or None
    if isinstance(event, record.PopEvent):
        return event.name if event.kind == field else None
    value = getattr(event, field, None)
    return value if isinstance(value, str) else None


def _event_action(recording: Recording, seq: Seq, event: record.Event) -> Value:
    return event.action if isinstance(event, record.ActionEvent) else _span_name(recording, seq, record.Level.ACTION)


def _event_task(recording: Recording, seq: Seq, event: record.Event) -> Value:
    if isinstance(event, record.StatementEvent):
        return AnyOf(dict.fromkeys(task for _, task, _ in event.ops))
    return _stated_name(event, "task") or _span_name(recording, seq, record.Level.TASK)


def _event_job(recording: Recording, seq: Seq, event: record.Event) -> Value:
    owners = recording.owners
    job = _stated_name(event, "job")
    if job is not None:
        return job
    sub_job = _stated_name(event, "subjob")
    if sub_job is not None:
        return owners.sub_jobs.get(sub_job)
    task = _stated_name(event, "task")
    return owners.jobs.get(task) if task else _span_name(recording, seq, record.Level.JOB)


def _short_name(name: Value) -> Value:
    """The name without its namespace, as in upstream's field Name."""
    return bare_name(name) if isinstance(name, str) else None


def _event_queue(recording: Recording, seq: Seq, event: record.Event) -> Value:
    queue = _stated_name(event, "queue")
    if queue is not None:
        return queue
    job = _event_job(recording, seq, event)
    if isinstance(job, str):
        return recording.owners.queues.get(job)
    return _span_name(recording, seq, record.Level.QUEUE)


def _event_node(recording: Recording, seq: Seq, event: record.Event) -> Value:
    if isinstance(event, record.PredicateEvent):
        # Only failed nodes: a condition on a node is about why the node was rejected.
        return AnyOf(_names_of_rows(recording, event.failed.tolist()))
    if isinstance(event, record.ScoreEvent):
        return AnyOf(_names_of_rows(recording, event.rows.tolist()))
    if isinstance(event, record.StatementEvent):
        return AnyOf(dict.fromkeys(node for _, _, node in event.ops))
    if isinstance(event, record.BestEvent):
        return event.name if event.kind == "node" else None
    return _stated_name(event, "node") or _span_name(recording, seq, record.Level.NODE)


def _names_of_rows(recording: Recording, rows: list[int]) -> tuple[str, ...]:
    names = recording.node_names
    return tuple(names[row] for row in rows)


def _event_plugin(recording: Recording, seq: Seq, event: record.Event) -> Value:
    if isinstance(event, record.HookEvent):
        return event.plugin
    if isinstance(event, record.PredicateEvent):
        # Per distinct code: thousands of nodes share a few reasons.
        codes = dict.fromkeys(event.codes.tolist())
        return AnyOf(
            dict.fromkeys(s.plugin for code in codes for s in recording.reason_table.statuses_of(code) if s.plugin)
        )
    if isinstance(event, record.ScoreEvent):
        return AnyOf(dict.fromkeys(part.partition("/")[0] for part, _ in event.parts))
    return None


def _event_tier(recording: Recording, seq: Seq, event: record.Event) -> Value:
    if not isinstance(event, record.HookEvent):
        return None
    for number, tier in enumerate(recording.conf.tiers, start=1):
        # A plugin listed in two tiers counts for the first, as an event does not name its tier.
        if any(option.name == event.plugin for option in tier):
            return number
    return None


def _event_result(recording: Recording, seq: Seq, event: record.Event) -> Value:
    if not isinstance(event, record.HookEvent):
        return None
    if isinstance(event.result, tuple):
        return tuple(str(item) for item in event.result)
    if isinstance(event.result, bool | int | float | str):
        return event.result
    return None if event.result is None else str(event.result)


def _event_vote(recording: Recording, seq: Seq, event: record.Event) -> Value:
    if not isinstance(event, record.HookEvent):
        return None
    if event.vote is not None:
        return event.vote
    return event.result if isinstance(event.result, int) and not isinstance(event.result, bool) else None


def _event_candidates(recording: Recording, seq: Seq, event: record.Event) -> Value:
    return event.candidates if isinstance(event, record.HookEvent) and event.offers else None


def _event_victims(recording: Recording, seq: Seq, event: record.Event) -> Value:
    if isinstance(event, record.HookEvent) and isinstance(event.result, tuple):
        return tuple(str(task) for task in event.result)
    if isinstance(event, record.StatementEvent):
        return tuple(task for kind, task, _ in event.ops if kind == "evict")
    if isinstance(event, record.OpEvent) and event.op == "evict":
        return (event.task,)
    return None


def _event_reason(recording: Recording, seq: Seq, event: record.Event) -> Value:
    if isinstance(event, record.PredicateEvent):
        codes = dict.fromkeys(event.codes.tolist())
        return AnyOf(dict.fromkeys(s.reason for code in codes for s in recording.reason_table.statuses_of(code)))
    if isinstance(event, record.HookEvent):
        return _hook_reason(event.result)
    if isinstance(event, record.PanicEvent):
        return event.message
    return event.reason if isinstance(event, record.OpEvent) else None


def _hook_reason(result: object) -> Value:
    if isinstance(result, dict):
        return str(result.get("reason") or result.get("error") or "")
    if isinstance(result, list):
        return AnyOf(str(status.get("reason")) for status in result if isinstance(status, dict))
    return None


def _attribute_reader(kind: type, name: str) -> FieldReader:
    """Reads an attribute that only one event type has."""

    def read_attribute(recording: Recording, seq: Seq, event: record.Event) -> Value:
        value: Value = getattr(event, name) if isinstance(event, kind) else None
        return value

    return read_attribute


def _length_reader(kind: type, name: str) -> FieldReader:

    def read_length(recording: Recording, seq: Seq, event: record.Event) -> Value:
        return len(getattr(event, name)) if isinstance(event, kind) else None

    return read_length


def _event_what(recording: Recording, seq: Seq, event: record.Event) -> Value:
    if isinstance(event, record.StateEvent):
        return event.when
    return event.what if isinstance(event, record.StatementEvent | record.ActionEvent) else None


COUNT_FIELDS: Final = ("ops", "considered", "processed", "feasible", "failed", "scored", "tied", "left")
NUMBER_FIELDS: Final = ("seq", "tier", "vote", "score", *COUNT_FIELDS)
LIST_FIELDS: Final = ("candidates", "victims")


def field_type(field: str) -> FieldType:
    """The type of a field that every event may have."""
    if field in NUMBER_FIELDS:
        return "number"
    if field in LIST_FIELDS:
        return "list"
    if field == "eviction":
        return "yes or no"
    return "any" if field == "result" else "text"


FIELD_READERS: Final[Mapping[str, FieldReader]] = {
    "seq": lambda _, seq, __: seq,
    "event": lambda _, __, event: type(event).__name__.removesuffix("Event").lower(),
    "action": _event_action,
    "queue": _event_queue,
    "job": _event_job,
    "job.Name": lambda recording, seq, event: _short_name(_event_job(recording, seq, event)),
    "task": _event_task,
    "node": _event_node,
    "plugin": _event_plugin,
    "tier": _event_tier,
    "point": _attribute_reader(record.HookEvent, "point"),
    "result": _event_result,
    "vote": _event_vote,
    "candidates": _event_candidates,
    "victims": _event_victims,
    "reason": _event_reason,
    "op": _attribute_reader(record.OpEvent, "op"),
    "eviction": _attribute_reader(record.OpEvent, "eviction"),
    "what": _event_what,
    "ops": _length_reader(record.StatementEvent, "ops"),
    "considered": _attribute_reader(record.PredicateEvent, "considered"),
    "processed": _attribute_reader(record.PredicateEvent, "processed"),
    "feasible": _length_reader(record.PredicateEvent, "feasible"),
    "failed": _length_reader(record.PredicateEvent, "failed"),
    "scored": _length_reader(record.ScoreEvent, "rows"),
    "score": _attribute_reader(record.BestEvent, "score"),
    "tied": _length_reader(record.BestEvent, "tied"),
    "left": _attribute_reader(record.PopEvent, "left"),
    "quirk": lambda recording, seq, _: AnyOf(note.code for note in recording.notes_at(seq)),
}
"""Field → function that reads it; the function returns None for an event without the field."""

FIELD_NAMES: Final = tuple(FIELD_READERS)
FIELD_TYPES: Final[KnownFields] = {name: field_type(name) for name in FIELD_READERS}
"""Field → type of its value in events that have it."""


def describe_fields() -> str:
    """Field names grouped by type, for a help text: `number: seq, tier`."""
    names_by_type = group_by_key((kind, name) for name, kind in FIELD_TYPES.items())
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in names_by_type.items())
