"""Bodies of the requests, under the names that upstream's structs give their fields.

Upstream: plugins/extender (argument), api.
Differs: a node's ledgers of devices, NUMA topology, images and measured usage are sent empty, claims as null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.framework.session import Session
from vcdebug.gotime import parse_duration
from vcdebug.model.go_fields import (
    condition_fields,
    job_fields,
    node_fields,
    resource_fields,
    task_fields,
    transaction_fields,
)
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo, oversubscribed_amounts
from vcdebug.model.pod_group import PodGroup
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.manifest import status_of

Body = dict[str, object]

MANIFEST_PARTS = ("metadata", "spec", "status")
READY_STATE = {"Phase": 1, "Reason": ""}
NO_USAGE = {"MetricsTime": "0001-01-01T00:00:00Z", "CPUUsageAvg": {}, "MEMUsageAvg": {}}
NUMA_POLICY = "volcano.sh/numa-topology-policy"
WAITING_TIMES = ("volcano.sh/sla-waiting-time", "sla-waiting-time")
MIN_AVAILABLE = "volcano.sh/jdb-min-available"
MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
POD_GROUP_VERSION = "v1beta1"


# Requests


def opening_body(ssn: Session) -> Body:
    """OnSessionOpenRequest."""
    nodes = {name: node_info(node) for name, node in ssn.nodes.items()}
    return {
        "Jobs": {uid: job_info(job) for uid, job in ssn.jobs.items()},
        "Nodes": nodes,
        "Queues": {name: queue_info(queue) for name, queue in ssn.queues.items()},
        "NamespaceInfo": _namespace_bodies(ssn),
        "RevocableNodes": {name: nodes[name] for name, node in ssn.nodes.items() if node.revocable_zone},
        "NodeList": None,
    }


def predicate_body(task: TaskInfo, node: NodeInfo) -> Body:
    """PredicateRequest."""
    return {"task": task_info(task), "node": node_info(node)}


def prioritize_body(task: TaskInfo, nodes: Iterable[NodeInfo]) -> Body:
    """PrioritizeRequest."""
    return {"task": task_info(task), "nodes": [node_info(node) for node in nodes]}


def victims_body(evictor: TaskInfo, evictees: Iterable[TaskInfo]) -> Body:
    """PreemptableRequest and ReclaimableRequest."""
    return {"evictor": task_info(evictor), "evictees": [task_info(task) for task in evictees]}


def job_body(job: JobInfo) -> Body:
    """JobEnqueueableRequest, JobEnqueuedRequest and JobReadyRequest."""
    return {"job": job_info(job)}


def queue_body(queue: QueueInfo) -> Body:
    """QueueOverusedRequest."""
    return {"queue": queue_info(queue)}


def task_body(task: TaskInfo) -> Body:
    """EventHandlerRequest."""
    return {"task": task_info(task)}


# Structs


def task_info(task: TaskInfo) -> Body:
    """A TaskInfo with its pod."""
    last = task.last_transaction
    return {
        **task_fields(task),
        "DRAResreq": None,
        "ResourceClaimKeys": None,
        "ResourceClaimDRAResreq": None,
        "LastTransaction": None if last is None else transaction_fields(*last),
        "VolumeReady": False,
        "NumaInfo": {"Policy": task.pod.annotations.get(NUMA_POLICY, ""), "ResMap": {}},
        "Pod": _pod_body(task),
        "PodAnnotations": dict(task.pod.annotations) or None,
        "CustomBindErrHandlerSucceeded": False,
    }


def node_info(node: NodeInfo) -> Body:
    """A NodeInfo with its node and its tasks."""
    return {
        **node_fields(node, task_info),
        "Node": _manifest_parts(node.manifest),
        "State": READY_STATE,
        "ResourceUsage": NO_USAGE,
        "NumaInfo": None,
        "UnassignedNumaPods": None,
        "NumaSchedulerInfo": None,
        "Others": {},
        "OversubscriptionResource": resource_fields(oversubscribed_amounts(node.annotations)),
        "ImageStates": {},
        "Generation": 0,
        "BindGeneration": 0,
    }


def job_info(job: JobInfo) -> Body:
    """A JobInfo with its PodGroup, tasks and sub jobs."""
    annotations = job.pod_group.annotations
    least = annotations.get(MIN_AVAILABLE)
    most = annotations.get(MAX_UNAVAILABLE, "") if least is None else ""
    return {
        **job_fields(job, task_info, task_info),
        "WaitingTime": _waiting_time(annotations),
        "JobFitErrors": job.job_fit_errors,
        "NodesFitErrors": {uid: {} for uid in job.nodes_fit_errors},
        "PodGroup": _pod_group(job.pod_group),
        "ScheduleStartTimestamp": None,
        "Budget": {"MinAvailable": least or "", "MaxUnavailable": most},
    }


def queue_info(queue: QueueInfo) -> Body:
    """A QueueInfo with its Queue."""
    return {
        "UID": queue.uid,
        "Name": queue.name,
        "Weight": queue.weight,
        "Weights": queue.weights,
        "Hierarchy": queue.hierarchy,
        "Queue": _manifest_parts(queue.manifest),
    }


# Parts


def _manifest_parts(manifest: Mapping[str, object]) -> Body:
    """An object as an informer holds it: without kind and apiVersion."""
    return {part: manifest[part] for part in MANIFEST_PARTS if manifest.get(part) is not None}


def _pod_body(task: TaskInfo) -> Body:
    pod = task.pod
    spec = {**pod.spec, "nodeName": pod.node_name} if pod.node_name else pod.spec
    return {**_manifest_parts(pod.manifest), "spec": spec}


def _pod_group(group: PodGroup) -> Body:
    """With the phase and the conditions that the session has come to."""
    raw = status_of(group.manifest)
    status = {**raw, "phase": group.phase}
    if group.conditions:
        status["conditions"] = [condition_fields(condition) for condition in group.conditions]
    return {**_manifest_parts(group.manifest), "status": status, "Version": POD_GROUP_VERSION}


def _waiting_time(annotations: Mapping[str, str]) -> int | None:
    for key in WAITING_TIMES:
        waiting = parse_duration(annotations.get(key, ""))
        if waiting is not None and waiting > 0:
            return waiting
    return None


def _namespace_bodies(ssn: Session) -> Body:
    quotas: dict[str, dict[str, object]] = {}
    for manifest in ssn.snapshot.objects_of("ResourceQuota"):
        metadata = manifest["metadata"]
        quotas.setdefault(metadata.get("namespace") or "", {})[metadata["name"]] = status_of(manifest)
    return {name: {"Name": name, "QuotaStatus": by_name} for name, by_name in quotas.items()}
