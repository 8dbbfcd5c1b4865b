"""Sub jobs: the groups that a PodGroup's subGroupPolicy makes of its pods; without a policy there is one.

Upstream: api/sub_job_info.
"""

from __future__ import annotations

import re

from vcdebug.model.names import JobId, SubJobId
from vcdebug.model.ordering import ASCENDING, MapOrder
from vcdebug.model.podgroup import NetworkTopology, PodGroup, SubGroupPolicy
from vcdebug.model.resource import Resource
from vcdebug.model.selector import label_selector_matches
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo
from vcdebug.model.taskset import TaskSet

_MAX_ID_BYTES = 128
_SAFE_ENCODE_CHARS = "bcdfghjklmnpqrstvwxz2456789"
_INTEGER = re.compile(r"[+-]?[0-9]+")


class SubJobInfo(TaskSet):
    """One group of tasks with its own minimum and topology; its status index keeps upstream's ghosts."""

    __slots__ = (
        "allocated_hyper_node",
        "gid",
        "job",
        "match_index",
        "network_topology",
        "nominated_hyper_node",
        "priority",
        "uid",
    )

    def __init__(
        self,
        uid: SubJobId,
        gid: str,
        job: JobId,
        min_available: int,
        topology: NetworkTopology | None,
        match: str = "",
        ordering: MapOrder = ASCENDING,
    ) -> None:
        super().__init__(min_available, ordering)
        self.uid = uid
        self.gid = gid
        self.job = job
        self.priority = 0
        self.match_index = int(match) if match and _INTEGER.fullmatch(match) else 0
        self.network_topology = topology.clone() if topology else None
        self.allocated_hyper_node = ""
        self.nominated_hyper_node = ""

    def add_task(self, task: TaskInfo) -> None:
        """Enter a task; the priority only ever grows. Upstream: api/sub_job_info.addTask."""
        self.tasks[task.uid] = task
        self.index_task(task)
        if task.priority > self.priority:
            self.priority = task.priority

    def delete_task(self, task: TaskInfo) -> None:
        """Remove by the status of the object passed in, which need not be the stored one.
        Upstream: api/sub_job_info.deleteTask.
        """
        self.tasks.pop(task.uid, None)
        self.unindex_task(task.uid, task.status)

    def exchange_task(self, task: TaskInfo, before: TaskStatus) -> None:
        """delete_task and add_task in one, where the task had the status `before` when it was deleted."""
        tasks, uid = self.tasks, task.uid
        tasks.pop(uid, None)
        tasks[uid] = task
        self.reindex_task(task, before)
        if task.priority > self.priority:
            self.priority = task.priority

    def get_min_resources(self) -> Resource:
        """Requests of the tasks indexed as Pending, stale entries included.
        Upstream: api/sub_job_info.GetMinResources.
        """
        total = Resource()
        for task in self.tasks_with_status(TaskStatus.PENDING):
            total.add(task.init_resreq)
        return total

    def with_network_topology(self) -> bool:
        """Whether this sub job states a topology. Upstream: api/sub_job_info.WithNetworkTopology."""
        return self.network_topology is not None


def match_sub_group(job: JobId, group: PodGroup, task: TaskInfo) -> tuple[SubGroupPolicy, SubJobId, str] | None:
    """(policy, sub job id, first match value) of the first policy that matches the task.
    Upstream: api/sub_job_info.getSubJobGID, api/sub_job_info.getSubJobID.
    """
    for policy in group.sub_group_policies:
        values = _match_values(policy, task)
        if values:
            return policy, f"{job}/{policy.name}-{_join_match_values(values)}", values[0]
    return None


def _match_values(policy: SubGroupPolicy, task: TaskInfo) -> list[str]:
    """Upstream: api/sub_job_info.getSubJobMatchValues."""
    labels = task.pod.labels
    if policy.label_selector is not None and not label_selector_matches(policy.label_selector, labels):
        return []
    values = [labels.get(key, "") for key in policy.match_label_keys]
    return values if all(values) else []


def _join_match_values(values: list[str]) -> str:
    text = "-".join(values)
    if len(text.encode()) <= _MAX_ID_BYTES:
        return text
    number = 0x811C9DC5
    for byte in text.encode():
        number = ((number ^ byte) * 0x01000193) & 0xFFFFFFFF
    return "".join(_SAFE_ENCODE_CHARS[ord(digit) % len(_SAFE_ENCODE_CHARS)] for digit in str(number))  # exact: ints
