"""Resource, TaskInfo, NodeInfo and JobInfo as JSON objects with the field names of upstream's structs.

Only fields that the model knows; a caller that writes a whole struct adds the others.
Upstream: api.
"""

from collections.abc import Callable, Mapping

from vcdebug.grouping import named_attributes
from vcdebug.model.job import JobInfo
from vcdebug.model.names import TaskId
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod_group import Condition, NetworkTopology
from vcdebug.model.resource import Resource
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo

GoFields = dict[str, object]
FormatTask = Callable[[TaskInfo], GoFields]
"""Formats a task inside another struct."""


def resource_fields(amount: Resource) -> GoFields:
    """A Resource: millicores, bytes, and the scalars or null."""
    scalars = amount.scalars
    return {
        "MilliCPU": _go_number(amount.milli_cpu),
        "Memory": _go_number(amount.memory),
        "ScalarResources": None if scalars is None else {name: _go_number(scalars[name]) for name in sorted(scalars)},
        "MaxTaskNum": amount.max_task_num,
    }


def _go_number(amount: float) -> float | int:
    """A float that Go's encoder would write without a point becomes an int; from 1e21 on Go writes an exponent."""
    return int(amount) if amount.is_integer() and abs(amount) < 1e21 else amount


def task_fields(task: TaskInfo) -> GoFields:
    """A TaskInfo without its pod."""
    return {
        **named_attributes(task, "UID=uid Job=job Name=name Namespace=namespace TaskRole=task_role"),
        "Resreq": resource_fields(task.resreq),
        "InitResreq": resource_fields(task.init_resreq),
        **transaction_fields(*task.transaction_context()),
        "Priority": task.priority,
        "Preemptable": task.preemptable,
        "BestEffort": task.best_effort,
        "HasRestartableInitContainer": task.has_restartable_init_container,
        "SchGated": task.sch_gated,
        "RevocableZone": task.revocable_zone,
    }


def transaction_fields(node: str, evicted: bool, hyper_node: str, status: int) -> GoFields:
    """A TransactionContext, which TaskInfo embeds."""
    return {"NodeName": node, "EvictionOccurred": evicted, "JobAllocatedHyperNode": hyper_node, "Status": int(status)}


def node_fields(node: NodeInfo, show_task: FormatTask = task_fields) -> GoFields:
    """A NodeInfo with its tasks, without its Node."""
    amounts = named_attributes(
        node, "Releasing=releasing Pipelined=pipelined Idle=idle Used=used Allocatable=allocatable Capacity=capability"
    )
    return {
        "Name": node.name,
        **{name: resource_fields(amount) for name, amount in amounts.items()},
        "RevocableZone": node.revocable_zone,
        "OversubscriptionNode": node.oversubscription_node,
        "OfflineJobEvicting": node.offline_job_evicting,
        "Tasks": {task.key: show_task(task) for task in node.tasks_in_order()},
    }


def job_fields(job: JobInfo, show_task: FormatTask = task_fields, show_indexed: FormatTask = task_fields) -> GoFields:
    """A JobInfo with its sub jobs, without its PodGroup; `show_indexed` formats the tasks of status indexes."""
    names = (
        "UID=uid PgUID=pod_group.uid Name=name Namespace=namespace Queue=queue Priority=priority "
        "MinAvailable=min_available AllocatedHyperNode=allocated_hyper_node"
    )
    return {
        **named_attributes(job, names),
        "NetworkTopology": topology_fields(job.network_topology),
        "SubJobs": {uid: sub_job_fields(sub_job, show_indexed) for uid, sub_job in job.sub_jobs.items()},
        "TaskToSubJob": dict(job.task_to_sub_job),
        "MinSubJobs": dict(job.min_sub_jobs),
        "TaskStatusIndex": _status_index_fields(job, show_indexed),
        "Tasks": _tasks_by_uid(job.tasks, show_task),
        "TaskMinAvailable": dict(job.task_min_available),
        "TaskMinAvailableTotal": job.task_min_available_total,
        "Allocated": resource_fields(job.allocated),
        "TotalRequest": resource_fields(job.total_request),
        "CreationTimestamp": job.creation_timestamp or None,
        "Preemptable": job.preemptable,
        "RevocableZone": job.revocable_zone,
    }


def sub_job_fields(sub_job: SubJobInfo, show_task: FormatTask = task_fields) -> GoFields:
    """A SubJobInfo."""
    names = "GID=gid UID=uid Job=job MinAvailable=min_available Priority=priority MatchIndex=match_index"
    return {
        **named_attributes(sub_job, names),
        "Tasks": _tasks_by_uid(sub_job.tasks, show_task),
        "TaskStatusIndex": _status_index_fields(sub_job, show_task),
        "AllocatedHyperNode": sub_job.allocated_hyper_node,
        "NominatedHyperNode": sub_job.nominated_hyper_node,
        "NetworkTopology": topology_fields(sub_job.network_topology),
    }


def topology_fields(topology: NetworkTopology | None) -> GoFields | None:
    """A NetworkTopologySpec; what is not stated is left out."""
    if topology is None:
        return None
    fields = {
        "mode": topology.mode or None,
        "highestTierAllowed": topology.highest_tier_allowed,
        "highestTierName": topology.highest_tier_name or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def condition_fields(condition: Condition) -> GoFields:
    """A PodGroupCondition without its time."""
    return named_attributes(condition, "type status reason message transitionID=transition_id")


def _tasks_by_uid(tasks: Mapping[TaskId, TaskInfo], show_task: FormatTask) -> GoFields:
    return {uid: show_task(task) for uid, task in tasks.items()}


def _status_index_fields(tasks: JobInfo | SubJobInfo, show_task: FormatTask) -> GoFields:
    index = tasks.task_status_index
    return {str(int(status)): _tasks_by_uid(entries, show_task) for status, entries in index.items() if entries}
