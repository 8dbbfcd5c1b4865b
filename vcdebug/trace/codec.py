"""Events as JSON lines: the trace schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatch
from hashlib import sha256
from itertools import islice
from types import NoneType
from typing import TextIO

from vcdebug.framework.record import (
    ActionEvent,
    BestEvent,
    Books,
    CloseEvent,
    CutEvent,
    HookEvent,
    JobClose,
    NodeAmounts,
    OpEvent,
    PanicEvent,
    PopEvent,
    PredicateEvent,
    RandomEvent,
    ScoreEvent,
    StateEvent,
    StatementEvent,
    TaskClose,
)
from vcdebug.framework.subject import Result
from vcdebug.framework.trace_form import statuses
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.resource import CPU, MAX_FLOAT64, MEMORY, Resource
from vcdebug.plugins import DRF
from vcdebug.snapshot.json_values import JsonDict
from vcdebug.trace.recording import Recording

UNWRITTEN = ((DRF, "allocated"),)
"""(plugin, figure) of operations that time travel needs and the schema does not have."""

AT_ONCE = 500
"""Events that are spelt together where nobody reads them one by one."""
_AS_THEY_ARE = (str, bool, int, NoneType)

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def write_jsonl(recording: Recording, file: TextIO) -> None:
    """One event per line, in order."""
    _write_events(recording, file, 0)


def digest(recording: Recording) -> bytes:
    """The same for recordings that would be written alike."""
    encoder, total, events = EventEncoder(recording), sha256(), iter(recording.events)
    while part := [encoder.encode(event) for event in islice(events, AT_ONCE)]:
        total.update(_encode(part).encode())
    return total.digest()


def write_cycles(recordings: Iterable[Recording], file: TextIO) -> None:
    """Several cycles of one process, each behind an event that says which; the numbers of events run on."""
    written = 0
    for number, recording in enumerate(recordings, start=1):
        written += 1
        now = recording.snapshot.now.isoformat().replace("+00:00", "Z")
        _write_line({"ev": "cycle", "n": number, "now": now, "seq": written}, file)
        written = _write_events(recording, file, written)


def _write_events(recording: Recording, file: TextIO, written: int) -> int:
    """The number of the last event, where so many were written before."""
    encoder = EventEncoder(recording)
    for event in recording.events:
        written += 1
        body = encoder.encode(event)
        body["seq"] = written
        _write_line(body, file)
    return written


def _write_line(body: JsonDict, file: TextIO) -> None:
    file.write(_encode(body))
    file.write("\n")


def event_json(recording: Recording, seq: Seq) -> JsonDict:
    """One event as the trace writes it."""
    body = EventEncoder(recording).encode(recording.event(seq))
    body["seq"] = seq
    return body


def number(amount: float) -> int | float | str:
    """Infinity and the largest float64 as text, whole numbers without a fraction."""
    if -MAX_FLOAT64 < amount < MAX_FLOAT64:
        whole = int(amount)
        return whole if whole == amount else amount
    if amount >= MAX_FLOAT64:
        return "inf"
    return "-inf" if amount <= -MAX_FLOAT64 else amount


def resource_json(resource: Resource) -> JsonDict:
    """cpu and memory always, scalars only where the resource has them."""
    body: JsonDict = {CPU: number(resource.milli_cpu), MEMORY: number(resource.memory)}
    if resource.scalars:
        body.update((name, number(amount)) for name, amount in sorted(resource.scalars.items()))
    return body


def plain(value: Result) -> Result:
    """Figures of a plugin as JSON data."""
    kind = type(value)
    if kind is float:
        return number(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is Resource:
        return resource_json(value)
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return number(value) if isinstance(value, float) else value


def _amounts(amounts: NodeAmounts) -> JsonDict:
    return dict(zip(NodeAmounts._fields, map(resource_json, amounts), strict=True))


def _nodes(names: Sequence[NodeName], amounts: Iterable[NodeAmounts]) -> JsonDict:
    return {name: _amounts(one) for name, one in zip(names, amounts, strict=True)}


def _books(books: Books) -> JsonDict:
    return {plugin: plain(figures) for plugin, figures in books}


def _ledgers(books: Books) -> JsonDict:
    return {
        plugin: {name: plain(value) for name, value in figures.items() if (plugin, name) not in UNWRITTEN}
        for plugin, figures in books
    }


def _scores(names: list[NodeName], scores: list[float]) -> JsonDict:
    """A NaN marks a node without an entry."""
    return {name: number(score) for name, score in zip(names, scores, strict=True) if score == score}


def _job_close(job: JobClose) -> JsonDict:
    conditions = [
        {"type": c.type, "status": c.status, "reason": c.reason, "message": c.message} for c in job.conditions
    ]
    return {
        "phase": job.phase,
        "conditions": conditions,
        "fitError": job.fit_error,
        "jobFitErrors": job.job_fit_errors,
        "tasks": {key: _task_close(task) for key, task in job.tasks.items()},
    }


def _task_close(task: TaskClose) -> JsonDict:
    body: JsonDict = {"status": task.status.label, "node": task.node}
    optional = {"reason": task.reason, "message": task.message, "nominated": task.nominated}
    body.update((field, value) for field, value in optional.items() if value is not None)
    return body


Form = Callable[[object, "EventEncoder"], JsonDict]


class EventEncoder:
    """Turns events into what the trace writes; a code's statuses are spelt out once."""

    def __init__(self, recording: Recording) -> None:
        self.names = recording.node_names
        self._reasons = recording.reasons
        self._statuses: dict[int, list[dict[str, object]]] = {}
        self._forms: dict[type, Form] = {}

    def encode(self, event: object) -> JsonDict:
        """One event without its number."""
        kind = type(event)
        form = self._forms.get(kind)
        if form is None:
            form = self._forms[kind] = _form.dispatch(kind)
        return form(event, self)

    def statuses_of(self, code: int) -> list[dict[str, object]]:
        """What a code of a predicate event stands for."""
        if code not in self._statuses:
            self._statuses[code] = statuses(self._reasons.statuses(code))
        return self._statuses[code]


@singledispatch
def _form(event: object, encoder: EventEncoder) -> JsonDict:
    raise TypeError(f"no schema for {type(event).__name__}")


@_form.register
def _hook(event: HookEvent, encoder: EventEncoder) -> JsonDict:
    body: JsonDict = {"ev": "hook", "point": event.point, "plugin": event.plugin, "result": plain(event.result)}
    for field, value in event.subject:
        body[field] = plain(value)
    return body


@_form.register
def _pop(event: PopEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "pop", event.kind: event.name, "left": event.left}


@_form.register
def _predicate(event: PredicateEvent, encoder: EventEncoder) -> JsonDict:
    names = encoder.names
    return {
        "ev": "predicate",
        "task": event.task,
        "considered": event.considered,
        "processed": event.processed,
        "feasible": [names[row] for row in event.feasible.tolist()],
        "failed": {
            names[row]: encoder.statuses_of(code)
            for row, code in zip(event.failed.tolist(), event.codes.tolist(), strict=True)
        },
    }


@_form.register
def _score(event: ScoreEvent, encoder: EventEncoder) -> JsonDict:
    names = [encoder.names[row] for row in event.rows.tolist()]
    return {
        "ev": "score",
        "task": event.task,
        "plugins": {part: _scores(names, scores.tolist()) for part, scores in event.parts}
        | {part: dict.fromkeys(encoder.names, 0) for part in event.everywhere},
        "total": _scores(names, event.total.tolist()),
    }


@_form.register
def _best(event: BestEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "best", event.kind: event.name, "score": number(event.score), "tied": list(event.tied)}


@_form.register
def _random(event: RandomEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "random", "n": event.n}


@_form.register
def _op(event: OpEvent, encoder: EventEncoder) -> JsonDict:
    body: JsonDict = {
        "ev": "op",
        "op": event.op,
        "task": event.task,
        "node": event.node,
        "plugins": _ledgers(event.books),
    }
    after = event.after
    if after is not None:
        body["after"] = _amounts(after)
    optional = {"reason": event.reason, "eviction": event.eviction, "via": event.via}
    body.update((field, value) for field, value in optional.items() if value is not None)
    return body


@_form.register
def _statement(event: StatementEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "statement", "what": event.what, "ops": [list(op) for op in event.ops]}


@_form.register
def _action(event: ActionEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "action", "what": event.what, "action": event.action}


@_form.register
def _state(event: StateEvent, encoder: EventEncoder) -> JsonDict:
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
    nodes = _nodes(encoder.names, event.nodes)
    return {"ev": "state", "when": event.when, "nodes": nodes, "jobs": jobs, "plugins": _books(event.books)}


@_form.register
def _close(event: CloseEvent, encoder: EventEncoder) -> JsonDict:
    return {
        "ev": "close",
        "jobs": {uid: _job_close(job) for uid, job in event.jobs.items()},
        "queues": {name: dict(amounts) for name, amounts in event.queues.items()},
        "nodes": _nodes(encoder.names, event.nodes),
    }


@_form.register
def _panic(event: PanicEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "panic", "message": event.message}


@_form.register
def _cut(event: CutEvent, encoder: EventEncoder) -> JsonDict:
    return {"ev": "cut", "bound": event.bound}
