"""Bodies of the requests, under the names that upstream's structs give their fields.

Upstream: plugins/extender (argument), api.
Differs: a node's ledgers of devices, NUMA topology, images and measured usage are sent empty, claims as null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.framework.session import Session
from vcdebug.gotime import parse_duration
from vcdebug.model.job import JobInfo
from vcdebug.model.names import TaskId
from vcdebug.model.node import NodeInfo, oversubscription
from vcdebug.model.podgroup import NetworkTopology, PodGroup
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.subjob import SubJobInfo
from vcdebug.model.task import TaskInfo

Body = dict[str, object]

PARTS = ("metadata", "spec", "status")
READY = {"Phase": 1, "Reason": ""}
NO_USAGE = {"MetricsTime": "0001-01-01T00:00:00Z", "CPUUsageAvg": {}, "MEMUsageAvg": {}}
NUMA_POLICY = "volcano.sh/numa-topology-policy"
WAITING_TIMES = ("volcano.sh/sla-waiting-time", "sla-waiting-time")
MIN_AVAILABLE = "volcano.sh/jdb-min-available"
MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
POD_GROUP_VERSION = "v1beta1"


# Requests


def opening(ssn: Session) -> Body:
    """OnSessionOpenRequest."""
    nodes = {name: node_info(node) for name, node in ssn.nodes.items()}
    return {
        "Jobs": {uid: job_info(job) for uid, job in ssn.jobs.items()},
        "Nodes": nodes,
        "Queues": {name: queue_info(queue) for name, queue in ssn.queues.items()},
        "NamespaceInfo": _namespaces(ssn),
        "RevocableNodes": {name: nodes[name] for name, node in ssn.nodes.items() if node.revocable_zone},
        "NodeList": None,
    }


def predicate(task: TaskInfo, node: NodeInfo) -> Body:
    """PredicateRequest."""
    return {"task": task_info(task), "node": node_info(node)}


def prioritize(task: TaskInfo, nodes: Iterable[NodeInfo]) -> Body:
    """PrioritizeRequest."""
    return {"task": task_info(task), "nodes": [node_info(node) for node in nodes]}


def victims(evictor: TaskInfo, evictees: Iterable[TaskInfo]) -> Body:
    """PreemptableRequest and ReclaimableRequest."""
    return {"evictor": task_info(evictor), "evictees": [task_info(task) for task in evictees]}


def about_job(job: JobInfo) -> Body:
    """JobEnqueueableRequest, JobEnqueuedRequest and JobReadyRequest."""
    return {"job": job_info(job)}


def about_queue(queue: QueueInfo) -> Body:
    """QueueOverusedRequest."""
    return {"queue": queue_info(queue)}


def about_task(task: TaskInfo) -> Body:
    """EventHandlerRequest."""
    return {"task": task_info(task)}


# Structs


def resource(amount: Resource) -> Body:
    """A Resource."""
    scalars = amount.scalars
    return {
        "MilliCPU": _number(amount.milli_cpu),
        "Memory": _number(amount.memory),
        "ScalarResources": None if scalars is None else {name: _number(scalars[name]) for name in sorted(scalars)},
        "MaxTaskNum": amount.max_task_num,
    }


def task_info(task: TaskInfo) -> Body:
    """A TaskInfo with its pod."""
    last = task.last_transaction
    return {
        "UID": task.uid,
        "Job": task.job,
        "Name": task.name,
        "Namespace": task.namespace,
        "TaskRole": task.task_role,
        "Resreq": resource(task.resreq),
        "InitResreq": resource(task.init_resreq),
        "DRAResreq": None,
        "ResourceClaimKeys": None,
        "ResourceClaimDRAResreq": None,
        **_transaction(*task.transaction()),
        "LastTransaction": None if last is None else _transaction(*last),
        "Priority": task.priority,
        "VolumeReady": False,
        "Preemptable": task.preemptable,
        "BestEffort": task.best_effort,
        "HasRestartableInitContainer": task.has_restartable_init_container,
        "SchGated": task.sch_gated,
        "RevocableZone": task.revocable_zone,
        "NumaInfo": {"Policy": task.pod.annotations.get(NUMA_POLICY, ""), "ResMap": {}},
        "Pod": _pod(task),
        "PodAnnotations": dict(task.pod.annotations) or None,
        "CustomBindErrHandlerSucceeded": False,
    }


def node_info(node: NodeInfo) -> Body:
    """A NodeInfo with its node and its tasks."""
    return {
        "Name": node.name,
        "Node": _parts(node.manifest),
        "State": READY,
        "Releasing": resource(node.releasing),
        "Pipelined": resource(node.pipelined),
        "Idle": resource(node.idle),
        "Used": resource(node.used),
        "Allocatable": resource(node.allocatable),
        "Capacity": resource(node.capability),
        "ResourceUsage": NO_USAGE,
        "Tasks": {task.key: task_info(task) for task in node.tasks_in_order()},
        "NumaInfo": None,
        "UnassignedNumaPods": None,
        "NumaSchedulerInfo": None,
        "RevocableZone": node.revocable_zone,
        "Others": {},
        "OversubscriptionNode": node.oversubscription_node,
        "OfflineJobEvicting": node.offline_job_evicting,
        "OversubscriptionResource": resource(oversubscription(node.annotations)),
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
        "UID": job.uid,
        "PgUID": job.pod_group.uid,
        "Name": job.name,
        "Namespace": job.namespace,
        "Queue": job.queue,
        "Priority": job.priority,
        "MinAvailable": job.min_available,
        "WaitingTime": _waiting_time(annotations),
        "JobFitErrors": job.job_fit_errors,
        "NodesFitErrors": {uid: {} for uid in job.nodes_fit_errors},
        "AllocatedHyperNode": job.allocated_hyper_node,
        "NetworkTopology": _topology(job.network_topology),
        "SubJobs": {uid: _sub_job(sub_job) for uid, sub_job in job.sub_jobs.items()},
        "TaskToSubJob": dict(job.task_to_sub_job),
        "MinSubJobs": dict(job.min_sub_jobs),
        "TaskStatusIndex": _index(job),
        "Tasks": _tasks(job.tasks),
        "TaskMinAvailable": dict(job.task_min_available),
        "TaskMinAvailableTotal": job.task_min_available_total,
        "Allocated": resource(job.allocated),
        "TotalRequest": resource(job.total_request),
        "CreationTimestamp": job.creation_timestamp or None,
        "PodGroup": _pod_group(job.pod_group),
        "ScheduleStartTimestamp": None,
        "Preemptable": job.preemptable,
        "RevocableZone": job.revocable_zone,
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
        "Queue": _parts(queue.manifest),
    }


# Parts


def _number(amount: float) -> float | int:
    """Go writes whole floats without a point."""
    return int(amount) if amount.is_integer() and abs(amount) < 1e21 else amount


def _parts(manifest: Mapping[str, object]) -> Body:
    """An object as an informer holds it: without kind and apiVersion."""
    return {part: manifest[part] for part in PARTS if manifest.get(part) is not None}


def _pod(task: TaskInfo) -> Body:
    pod = task.pod
    spec = {**pod.spec, "nodeName": pod.node_name} if pod.node_name else pod.spec
    return {**_parts(pod.manifest), "spec": spec}


def _pod_group(group: PodGroup) -> Body:
    """With the phase and the conditions that the session has come to."""
    raw = group.manifest.get("status") or {}
    status = {**raw, "phase": group.phase}
    if group.conditions:
        status["conditions"] = [
            {
                "type": c.type,
                "status": c.status,
                "reason": c.reason,
                "message": c.message,
                "transitionID": c.transition_id,
            }
            for c in group.conditions
        ]
    return {**_parts(group.manifest), "status": status, "Version": POD_GROUP_VERSION}


def _transaction(node: str, evicted: bool, hyper_node: str, status: int) -> Body:
    return {
        "NodeName": node,
        "EvictionOccurred": evicted,
        "JobAllocatedHyperNode": hyper_node,
        "Status": int(status),
    }


def _tasks(tasks: Mapping[TaskId, TaskInfo]) -> Body:
    return {uid: task_info(task) for uid, task in tasks.items()}


def _index(tasks: JobInfo | SubJobInfo) -> Body:
    return {str(int(status)): _tasks(entries) for status, entries in tasks.task_status_index.items()}


def _sub_job(sub_job: SubJobInfo) -> Body:
    return {
        "GID": sub_job.gid,
        "UID": sub_job.uid,
        "Job": sub_job.job,
        "MinAvailable": sub_job.min_available,
        "Priority": sub_job.priority,
        "MatchIndex": sub_job.match_index,
        "Tasks": _tasks(sub_job.tasks),
        "TaskStatusIndex": _index(sub_job),
        "AllocatedHyperNode": sub_job.allocated_hyper_node,
        "NominatedHyperNode": sub_job.nominated_hyper_node,
        "NetworkTopology": _topology(sub_job.network_topology),
    }


def _topology(topology: NetworkTopology | None) -> Body | None:
    if topology is None:
        return None
    stated = {
        "mode": topology.mode or None,
        "highestTierAllowed": topology.highest_tier_allowed,
        "highestTierName": topology.highest_tier_name or None,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _waiting_time(annotations: Mapping[str, str]) -> int | None:
    for key in WAITING_TIMES:
        waiting = parse_duration(annotations.get(key, ""))
        if waiting is not None and waiting > 0:
            return waiting
    return None


def _namespaces(ssn: Session) -> Body:
    quotas: dict[str, dict[str, object]] = {}
    for manifest in ssn.snapshot.of("ResourceQuota"):
        metadata = manifest["metadata"]
        quotas.setdefault(metadata.get("namespace") or "", {})[metadata["name"]] = manifest.get("status") or {}
    return {name: {"Name": name, "QuotaStatus": by_name} for name, by_name in quotas.items()}
