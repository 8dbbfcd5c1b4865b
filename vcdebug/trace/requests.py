"""Where a task's request comes from: containers, init containers and sidecars, overhead, pod-level resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.model.names import TaskKey
from vcdebug.model.podrequest import request_parts
from vcdebug.model.resource import Resource
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import task_of

PART_EFFECTS = {
    "container": "added",
    "sidecar": "added: it runs beside the containers",
    "initialisation": "at least this much: the largest step, with the sidecars started before it",
    "overhead": "added",
    "pod level": "replaces what the containers come to",
}


class RequestLine(NamedTuple):
    """One part and how it counts."""

    part: str
    name: str
    amount: Resource
    counts: str


def request_lines(recording: Recording, task: TaskKey) -> Iterator[RequestLine]:
    """The parts of the pod's request, then what the scheduler makes of them."""
    found = task_of(recording, task)
    for part, name, amount in request_parts(found.pod, recording.snapshot.flags):
        yield RequestLine(part, name, amount, PART_EFFECTS[part])
    yield RequestLine("Resreq", "", found.resreq, "what it takes from a node and a queue; one pod is added")
    yield RequestLine("InitResreq", "", found.init_resreq, _init_request_words(found.init_resreq == found.resreq))


def _init_request_words(same: bool) -> str:
    return "what must fit on a node when it starts" + ("; the same: Resreq counts initialisation too" if same else "")
