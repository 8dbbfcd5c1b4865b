"""NodeInfo, JobInfo and HyperNodes under the names that the scheduler's cache dump gives their fields.

Upstream: cache/dumper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vcdebug.model.hypernode import HyperNodes
from vcdebug.model.job import JobInfo
from vcdebug.model.node import REVOCABLE_ZONE_LABEL, NodeInfo
from vcdebug.model.podgroup import NetworkTopology
from vcdebug.model.resource import Resource
from vcdebug.model.subjob import SubJobInfo
from vcdebug.model.task import TaskInfo

Fields = dict[str, Any]


def resource_fields(resource: Resource) -> Fields:
    """A Resource."""
    return {
        "MilliCPU": resource.milli_cpu,
        "Memory": resource.memory,
        "ScalarResources": dict(resource.scalars or {}),
        "MaxTaskNum": resource.max_task_num,
    }


def node_fields(node: NodeInfo) -> Fields:
    """A NodeInfo with its tasks, and what scheduling reads of its Node."""
    return {
        "Name": node.name,
        "Node": {
            "metadata": {"labels": dict(node.labels)},
            "spec": {"taints": list(node.spec.get("taints") or ()), "unschedulable": node.unschedulable},
        },
        "Releasing": resource_fields(node.releasing),
        "Pipelined": resource_fields(node.pipelined),
        "Idle": resource_fields(node.idle),
        "Used": resource_fields(node.used),
        "Allocatable": resource_fields(node.allocatable),
        "Capacity": resource_fields(node.capability),
        "RevocableZone": node.labels.get(REVOCABLE_ZONE_LABEL, ""),
        "OversubscriptionNode": node.oversubscription_node,
        "OfflineJobEvicting": node.offline_job_evicting,
        "Tasks": {key: task_fields(task) for key, task in node.tasks.items()},
    }


def task_fields(task: TaskInfo) -> Fields:
    """A TaskInfo without its pod."""
    return {
        "UID": task.uid,
        "Job": task.job,
        "Name": task.name,
        "Namespace": task.namespace,
        "TaskRole": task.task_role,
        "Resreq": resource_fields(task.resreq),
        "InitResreq": resource_fields(task.init_resreq),
        "NodeName": task.node_name,
        "EvictionOccurred": task.eviction_occurred,
        "JobAllocatedHyperNode": task.job_allocated_hyper_node,
        "Status": int(task.status),
        "Priority": task.priority,
        "Preemptable": task.preemptable,
        "BestEffort": task.best_effort,
        "HasRestartableInitContainer": task.has_restartable_init_container,
        "SchGated": task.sch_gated,
        "RevocableZone": task.revocable_zone,
    }


def job_fields(job: JobInfo) -> Fields:
    """A JobInfo with its tasks and sub jobs."""
    group = job.pod_group
    return {
        "UID": job.uid,
        "PgUID": group.uid,
        "Name": job.name,
        "Namespace": job.namespace,
        "Queue": job.queue,
        "Priority": job.priority,
        "MinAvailable": job.min_available,
        "AllocatedHyperNode": job.allocated_hyper_node,
        "NetworkTopology": _topology(job.network_topology),
        "SubJobs": {uid: _sub_job_fields(sub_job) for uid, sub_job in job.sub_jobs.items()},
        "TaskToSubJob": dict(job.task_to_sub_job),
        "MinSubJobs": dict(job.min_sub_jobs),
        "TaskStatusIndex": _index(job),
        "Tasks": {uid: task_fields(task) for uid, task in job.tasks.items()},
        "TaskMinAvailable": dict(job.task_min_available),
        "TaskMinAvailableTotal": job.task_min_available_total,
        "Allocated": resource_fields(job.allocated),
        "TotalRequest": resource_fields(job.total_request),
        "CreationTimestamp": job.creation_timestamp,
        "PodGroup": {"spec": {"minMember": group.min_member}, "status": {"phase": group.phase}},
        "Preemptable": job.preemptable,
        "RevocableZone": job.revocable_zone,
    }


def _index(tasks: JobInfo | SubJobInfo) -> Fields:
    """Which tasks have which status: their fields stand in Tasks."""
    index = tasks.task_status_index
    return {str(int(status)): {uid: {"UID": uid} for uid in entries} for status, entries in index.items() if entries}


def _sub_job_fields(sub_job: SubJobInfo) -> Fields:
    return {
        "GID": sub_job.gid,
        "UID": sub_job.uid,
        "Job": sub_job.job,
        "MinAvailable": sub_job.min_available,
        "Priority": sub_job.priority,
        "MatchIndex": sub_job.match_index,
        "Tasks": {uid: {"UID": uid} for uid in sub_job.tasks},
        "TaskStatusIndex": _index(sub_job),
        "AllocatedHyperNode": sub_job.allocated_hyper_node,
        "NominatedHyperNode": sub_job.nominated_hyper_node,
        "NetworkTopology": _topology(sub_job.network_topology),
    }


def _topology(topology: NetworkTopology | None) -> Fields | None:
    if topology is None:
        return None
    return {
        "mode": topology.mode,
        "highestTierAllowed": topology.highest_tier_allowed,
        "highestTierName": topology.highest_tier_name,
    }


def tier_fields(tree: HyperNodes) -> Fields:
    """HyperNodesSetByTier."""
    return {str(tier): {name: {} for name in names} for tier, names in tree.tiers.items() if names}


def real_node_fields(tree: HyperNodes) -> Fields:
    """RealNodesSet."""
    return {name: {node: {} for node in nodes} for name, nodes in tree.real_nodes.items()}


def hyper_node_fields(tree: HyperNodes) -> Mapping[str, Fields]:
    """HyperNodes: parents and children."""
    return {
        name: {"Name": info.name, "Parent": info.parent, "Children": {child: {} for child in info.children}}
        for name, info in tree.by_name.items()
    }
