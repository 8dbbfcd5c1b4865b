"""Events as JSON lines: the trace schema."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatch
from hashlib import sha256
from itertools import islice
from types import NoneType
from typing import TextIO

import numpy as np

from vcdebug.framework import record
from vcdebug.framework.hooks import status_documents
from vcdebug.framework.subject import CallResult
from vcdebug.model.names import KeptScores, NodeName, Seq
from vcdebug.model.resource import CPU, MAX_FLOAT64, MEMORY, Resource
from vcdebug.plugins import DRF
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import JsonDict

UNWRITTEN_FIGURES = ((DRF, "allocated"),)
"""(plugin, figure) of operations that time travel needs and the schema does not have."""

EVENTS_PER_DIGEST_PART = 500
"""Number of events that are encoded together for the digest."""
_MAX_EXACT = 2.0**53
"""Below it a number without a fraction is an int64."""
_PLAIN_TYPES = (str, bool, int, NoneType)

_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def write_jsonl(recording: Recording, file: TextIO) -> None:
    """One event per line, in order."""
    _write_events(recording, file, 0)


def trace_digest(recording: Recording) -> bytes:
    """32 bytes that are equal for recordings with the same trace."""
    encoder, total, events = EventEncoder(recording), sha256(), iter(recording.events)
    while part := [encoder.encode_event(event) for event in islice(events, EVENTS_PER_DIGEST_PART)]:
        total.update(_encode_json(part).encode())
    return total.digest()


def write_cycles(recordings: Iterable[Recording], file: TextIO) -> None:
    """Write several cycles of one process, each behind a `cycle` event; event numbers run on."""
    written = 0
    for number, recording in enumerate(recordings, start=1):
        written += 1
        now = recording.snapshot.now.isoformat().replace("+00:00", "Z")
        _write_line({"ev": "cycle", "n": number, "now": now, "seq": written}, file)
        written = _write_events(recording, file, written)


def _write_events(recording: Recording, file: TextIO, written: int) -> int:
    """Write all events behind `written` earlier ones; returns the number of the last."""
    encoder = EventEncoder(recording)
    for event in recording.events:
        written += 1
        body = encoder.encode_event(event)
        body["seq"] = written
        _write_line(body, file)
    return written


def _write_line(body: JsonDict, file: TextIO) -> None:
    file.write(_encode_json(body))
    file.write("\n")


def event_json(recording: Recording, seq: Seq) -> JsonDict:
    """One event as the trace writes it."""
    body = EventEncoder(recording).encode_event(recording.event_at(seq))
    body["seq"] = seq
    return body


def json_number(amount: float) -> int | float | str:
    """Infinity and the largest float64 as text, whole numbers without a fraction."""
    if -MAX_FLOAT64 < amount < MAX_FLOAT64:
        whole = int(amount)
        return whole if whole == amount else amount
    if amount >= MAX_FLOAT64:
        return "inf"
    return "-inf" if amount <= -MAX_FLOAT64 else amount


def resource_json(resource: Resource) -> JsonDict:
    """cpu and memory always, scalars only where the resource has them."""
    body: JsonDict = {CPU: json_number(resource.milli_cpu), MEMORY: json_number(resource.memory)}
    if resource.scalars:
        body.update((name, json_number(amount)) for name, amount in sorted(resource.scalars.items()))
    return body


def plain_json(value: CallResult) -> CallResult:
    """Figures of a plugin as JSON data."""
    kind = type(value)
    if kind is float:
        return json_number(value)
    if kind in _PLAIN_TYPES:
        return value
    if kind is Resource:
        return resource_json(value)
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(item) for item in value]
    return json_number(value) if isinstance(value, float) else value


def _node_amounts_json(amounts: record.NodeAmounts) -> JsonDict:
    return dict(zip(record.NodeAmounts._fields, map(resource_json, amounts), strict=True))


def _nodes_json(names: Sequence[NodeName], amounts: Iterable[record.NodeAmounts]) -> JsonDict:
    return {name: _node_amounts_json(amount) for name, amount in zip(names, amounts, strict=True)}


def _operation_books_json(books: record.Books) -> JsonDict:
    return {
        plugin: {name: plain_json(value) for name, value in figures.items() if (plugin, name) not in UNWRITTEN_FIGURES}
        for plugin, figures in books
    }


def _scores_json(names: list[NodeName], scores: KeptScores) -> JsonDict:
    """Node → score as JSON; nodes whose score is NaN have no entry and are left out."""
    if not (np.abs(scores) < _MAX_EXACT).all():
        return {name: json_number(score) for name, score in zip(names, scores.tolist(), strict=True) if score == score}
    # All at once: most numbers of a trace are scores.
    numbers = scores.astype(object)
    is_whole = np.trunc(scores) == scores
    numbers[is_whole] = scores[is_whole].astype(np.int64)
    return dict(zip(names, numbers.tolist(), strict=True))


def _job_close_json(job: record.JobClose) -> JsonDict:
    conditions = [
        {"type": c.type, "status": c.status, "reason": c.reason, "message": c.message} for c in job.conditions
    ]
    return {
        "phase": job.phase,
        "conditions": conditions,
        "fitError": job.fit_error,
        "jobFitErrors": job.job_fit_errors,
        "tasks": {key: _task_close_json(task) for key, task in job.tasks.items()},
    }


def _task_close_json(task: record.TaskClose) -> JsonDict:
    body: JsonDict = {"status": task.status.upstream_name, "node": task.node}
    optional = {"reason": task.reason, "message": task.message, "nominated": task.nominated}
    body.update((field, value) for field, value in optional.items() if value is not None)
    return body


EventForm = Callable[[object, "EventEncoder"], JsonDict]


class EventEncoder:
    """Turns events into JSON objects; the statuses of a reason code are built once."""

    def __init__(self, recording: Recording) -> None:
        self.names = recording.node_names
        self._reasons = recording.reason_table
        self._statuses: dict[int, list[dict[str, object]]] = {}
        self._forms: dict[type, EventForm] = {}

    def encode_event(self, event: object) -> JsonDict:
        """One event without its number."""
        kind = type(event)
        form = self._forms.get(kind)
        if form is None:
            form = self._forms[kind] = _event_body.dispatch(kind)
        return form(event, self)

    def statuses_of_code(self, code: int) -> list[dict[str, object]]:
        """The statuses of a predicate event's reason code."""
        if code not in self._statuses:
            self._statuses[code] = status_documents(self._reasons.statuses_of(code))
        return self._statuses[code]


PLAIN_EVENTS: Mapping[type, str] = {
    record.RandomEvent: "random n",
    record.ActionEvent: "action what action",
    record.PanicEvent: "panic message",
    record.CutEvent: "cut bound",
}
"""Event type → the name and the fields of an event that is written as it is."""


@singledispatch
def _event_body(event: object, encoder: EventEncoder) -> JsonDict:
    event_name, *fields = PLAIN_EVENTS[type(event)].split()
    return {"ev": event_name} | {field: getattr(event, field) for field in fields}


@_event_body.register
def _hook_body(event: record.HookEvent, encoder: EventEncoder) -> JsonDict:
    body: JsonDict = {"ev": "hook", "point": event.point, "plugin": event.plugin, "result": plain_json(event.result)}
    for field, value in event.subject:
        body[field] = plain_json(value)
    return body


@_event_body.register
def _pop_body(event: record.PopEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "pop", event.kind: event.name, "left": event.left}


@_event_body.register
def _predicate_body(event: record.PredicateEvent, encoder: EventEncoder) -> JsonDict:
    names = encoder.names
    return {
        "ev": "predicate",
        "task": event.task,
        "considered": event.considered,
        "processed": event.processed,
        "feasible": [names[row] for row in event.feasible.tolist()],
        "failed": {
            names[row]: encoder.statuses_of_code(code)
            for row, code in zip(event.failed.tolist(), event.codes.tolist(), strict=True)
        },
    }


@_event_body.register
def _score_body(event: record.ScoreEvent, encoder: EventEncoder) -> JsonDict:
    names = [encoder.names[row] for row in event.rows.tolist()]
    return {
        "ev": "score",
        "task": event.task,
        "plugins": {part: _scores_json(names, scores) for part, scores in event.parts}
        | {part: dict.fromkeys(encoder.names, 0) for part in event.everywhere},
        "total": _scores_json(names, event.total),
    }


@_event_body.register
def _best_body(event: record.BestEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "best", event.kind: event.name, "score": json_number(event.score), "tied": list(event.tied)}


@_event_body.register
def _operation_body(event: record.OpEvent, encoder: EventEncoder) -> JsonDict:
    body: JsonDict = {
        "ev": "op",
        "op": event.op,
        "task": event.task,
        "node": event.node,
        "plugins": _operation_books_json(event.books),
    }
    after = event.after
    if after is not None:
        body["after"] = _node_amounts_json(after)
    optional = {"reason": event.reason, "eviction": event.eviction, "via": event.via}
    body.update((field, value) for field, value in optional.items() if value is not None)
    return body


@_event_body.register
def _statement_body(event: record.StatementEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "statement", "what": event.what, "ops": [list(op) for op in event.ops]}


@_event_body.register
def _state_body(event: record.StateEvent, encoder: EventEncoder) -> JsonDict:
    jobs = {
        uid: {
            "queue": job.queue,
            "priority": job.priority,
            "minAvailable": job.min_available,
            "phase": job.phase,
            "status": dict(job.status),
        }
        for uid, job in event.jobs.items()
    }
    nodes = _nodes_json(encoder.names, event.nodes)
    books = {plugin: plain_json(figures) for plugin, figures in event.books}
    return {"ev": "state", "when": event.when, "nodes": nodes, "jobs": jobs, "plugins": books}


@_event_body.register
def _close_body(event: record.CloseEvent, encoder: EventEncoder) -> JsonDict:
    return {
        "ev": "close",
        "jobs": {uid: _job_close_json(job) for uid, job in event.jobs.items()},
        "queues": {name: dict(amounts) for name, amounts in event.queues.items()},
        "nodes": _nodes_json(encoder.names, event.nodes),
    }
