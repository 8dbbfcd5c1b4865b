"""Sends the writes of a replayed cycle to our API server in this process; tests alter the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vcdebug.conformance.api_objects import ApiRequest
from vcdebug.conformance.api_server import ApiServer
from vcdebug.conformance.cycle_outcome import CycleOutcome, observed_outcome
from vcdebug.conformance.nearest_replay import follow_scheduler
from vcdebug.conformance.verdicts import JobVerdict, judge_jobs
from vcdebug.model.pod import VOLCANO_GATE
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import key_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot

MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
CONDITION = ("type", "status", "reason", "message")
HYPER_NODE = "volcano.sh/job-allocated-hypernode"
Body = dict[str, Any]


def judged(snapshot: Snapshot, requests: Iterator[ApiRequest] | list[ApiRequest]) -> tuple[JobVerdict, ...]:
    """The verdicts on a program that sends these requests to a server that holds the snapshot."""
    server = ApiServer()
    for kind, manifests in snapshot.objects.items():
        for manifest in manifests:
            server.store.put_object(KIND_BY_NAME[kind].api_path, manifest)
    for request in requests:
        reply = server.answer_request(request)
        assert reply.status < 300, (request.path, reply.body)
    followed = follow_scheduler(snapshot, observed_outcome(server.writes, snapshot))
    return judge_jobs(followed.recording, followed.differences)


def requests_of(
    snapshot: Snapshot, outcome: CycleOutcome, notes: Mapping[str, Mapping[str, str]] | None = None
) -> Iterator[ApiRequest]:
    """The requests by which a scheduler writes an outcome; `notes` are annotations of pods."""
    for pod in outcome.evicted:
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        yield _patch("Pod", pod, {"status": {"conditions": [condition]}}, "/status")
        yield ApiRequest("DELETE", _path("Pod", pod), {}, {}, None)
    for pod, (reason, message) in outcome.waiting.items():
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        status: Body = {"conditions": [condition]}
        if pod in outcome.nominated:
            status["nominatedNodeName"] = outcome.nominated[pod]
        yield _patch("Pod", pod, {"status": status}, "/status")
    yield from _status_requests(snapshot, outcome)
    for pod, noted in (notes or {}).items():
        yield _patch("Pod", pod, {"metadata": {"annotations": dict(noted)}})
    for pod in outcome.opened_gates:
        gate = {"name": VOLCANO_GATE, "$patch": "delete"}
        yield _patch("Pod", pod, {"spec": {"schedulingGates": [gate]}}, content_type=STRATEGIC)
    for pod, node in outcome.bound.items():
        yield _post(_path("Pod", pod, "/binding"), {"metadata": {}, "target": {"kind": "Node", "name": node}})
    for number, ((kind, name, reason), messages) in enumerate(outcome.events.items()):
        namespace, _, short = name.partition("/")
        about = {"kind": kind, "namespace": namespace, "name": short}
        for message in messages:
            body = {"metadata": {"name": f"e{number}"}, "involvedObject": about, "reason": reason, "message": message}
            yield _post(f"/api/v1/namespaces/{namespace}/events", body)


def _status_requests(snapshot: Snapshot, outcome: CycleOutcome) -> Iterator[ApiRequest]:
    numbers = outcome.statuses or {}
    for (kind, name), said in numbers.items():
        if kind == "Queue":
            yield _patch("Queue", name, {"status": {"allocated": said}}, "/status")
    for group in snapshot.objects_of("PodGroup"):
        job = key_of(group)
        counts = dict(numbers.get(("PodGroup", job), {}))
        hyper_node = counts.pop("hypernode", "")
        counts.pop("phase", "")
        status: Body = {**group.get("status", {}), **{count: int(number) for count, number in counts.items()}}
        if job in outcome.groups:
            phase, conditions = outcome.groups[job]
            stated = [dict(zip(CONDITION, one, strict=True)) for one in conditions]
            status |= {"phase": phase, "conditions": stated}
        noted = {"annotations": {HYPER_NODE: hyper_node}} if hyper_node else {}
        yield ApiRequest("PUT", _path("PodGroup", job), {}, {}, _with_status(group, noted, status))


def _with_status(group: Manifest, noted: Body, status: Body) -> Body:
    return {**group, "metadata": {**group["metadata"], **noted}, "status": status}


def _path(kind: str, name: str, part: str = "") -> str:
    namespace, slash, short = name.partition("/")
    where = KIND_BY_NAME[kind]
    return f"{where.list_path(namespace if slash else '')}/{short if slash else namespace}{part}"


def _patch(kind: str, name: str, body: Body, part: str = "", content_type: str = MERGE) -> ApiRequest:
    return ApiRequest("PATCH", _path(kind, name, part), {}, {"Content-Type": content_type}, body)


def _post(path: str, body: Body) -> ApiRequest:
    return ApiRequest("POST", path, {}, {}, body)
