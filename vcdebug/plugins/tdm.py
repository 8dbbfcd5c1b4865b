"""tdm: allows revocable nodes in time windows, and evicts preemptable tasks outside them. Upstream: plugins/tdm."""

import math
from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from vcdebug.framework.arguments import AS_TEXT, Arguments, wrong_argument
from vcdebug.framework.plugin_answers import PERMIT, REJECT, NodeScores, VictimAnswer
from vcdebug.framework.session import Plugin, Session
from vcdebug.gotime import MINUTE, ClockError, clock_minutes, clock_time, parse_duration, unix_nanoseconds, unix_seconds
from vcdebug.grouping import group_by_key
from vcdebug.kube.selector import parse_int64
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Codes, JobId
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import ANNOTATIONS

ZONE_KEY = "tdm.revocable-zone."
PERIOD_KEY = "tdm.evict.period"
MIN_AVAILABLE_KEY, MAX_UNAVAILABLE_KEY = ANNOTATIONS["tdm"]
DEFAULT_EVICTIONS = 1
MAX_SCORE = 100.0

NOT_SUPPORTED = "revocable zone {zone} not support"
BAD_FORMAT = "revocable zone {window} format error"
OUT_OF_WINDOW = "current time beyond revocable zone {zone}:{window}"
NOT_ALLOWED = "not allow to dispatch to revocable node"
NOT_PREEMPTABLE, NOT_RUNNING, NO_NODE, REVOCABLE = "not preemptable", "not running", "no node", "revocable"
NOT_A_STRING = "interface conversion: interface {{}} is {kind}, not string"
GO_KINDS = {"float": "float64", "NoneType": "nil", "list": "[]interface {}", "dict": "map[interface {}]interface {}"}


class RevocableZones(NamedTuple):
    """The time window of each zone, and the current time."""

    windows: dict[str, str]
    now: datetime

    def zone_error(self, zone: str) -> str | None:
        """Why the zone cannot be used; None if its window is open. Upstream: plugins/tdm.availableRevocableZone."""
        window = self.windows.get(zone)
        if window is None:
            return NOT_SUPPORTED.format(zone=zone)
        ends = window.strip().split("-")
        if len(ends) != 2:
            return BAD_FORMAT.format(window=window)
        try:
            start, end = clock_minutes(ends[0]), clock_minutes(ends[1])
        except ClockError as error:
            return str(error)
        # Whole seconds, both ends included. A window over midnight ends on the next day; it never began the day before.
        opens, closes = clock_time(self.now, start), clock_time(self.now, end, days=int(start >= end))
        if unix_seconds(opens) <= unix_seconds(self.now) <= unix_seconds(closes):
            return None
        return OUT_OF_WINDOW.format(zone=zone, window=window)

    def next_opening(self, zone: str) -> datetime | None:
        """When a zone with a closed window opens next; None for a zone without a window that can be read."""
        window = self.windows.get(zone, "")
        if self.zone_error(zone) != OUT_OF_WINDOW.format(zone=zone, window=window):
            return None
        opens = clock_time(self.now, clock_minutes(window.strip().split("-")[0]))
        return opens if opens > self.now else opens + timedelta(days=1)


class Tdm(Plugin):
    """Keeps tasks without a revocable zone off revocable nodes; a window over midnight is closed after midnight."""

    name = "tdm"
    ssn: Session
    zones: RevocableZones

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        keys = sorted(str(key) for key in arguments.raw)
        self.windows = {key.replace(ZONE_KEY, "", 1): text_argument(arguments, key) for key in keys if ZONE_KEY in key}
        period = parse_duration(text_argument(arguments, PERIOD_KEY)) if PERIOD_KEY in arguments.raw else None
        self.evict_period = MINUTE if period is None else period

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/tdm.OnSessionOpen."""
        self.ssn = ssn
        self.zones = RevocableZones(self.windows, ssn.snapshot.now)
        self._errors = {
            zone: self.zones.zone_error(zone)
            for zone in dict.fromkeys(node.revocable_zone for node in ssn.nodes.values())
            if zone
        }

    # Nodes

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        """Upstream: plugins/tdm.predicateFn."""
        codes = {zone: self.refusal_code(task, error) for zone, error in self._errors.items()}
        codes[""] = 0
        return np.array([codes[node.revocable_zone] for node in nodes.node_infos], dtype=np.uint16)

    def refusal_code(self, task: TaskInfo, error: str | None) -> int:
        """The code for nodes of a zone with this error; 0 if the task may use them."""
        reason = error if error is not None else "" if task.revocable_zone else NOT_ALLOWED
        if not reason:
            return 0
        return self.ssn.reasons.code_of((FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, reason, self.name),))

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Revocable nodes first; nodes of closed zones fail. Upstream: plugins/tdm.nodeOrderFn."""
        zones = [node.revocable_zone for node in nodes.node_infos]
        is_shut = np.array([self._errors.get(zone) is not None for zone in zones], dtype=np.bool_)
        usable = np.array([bool(zone) for zone in zones], dtype=np.bool_) & ~is_shut & bool(task.revocable_zone)
        return NodeScores(np.where(usable, MAX_SCORE, 0.0), failed_mask=is_shut if is_shut.any() else None)

    # Victims

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Victims for preemptors that are not preemptable themselves. Upstream: plugins/tdm.preemptableFn."""
        if preemptor.preemptable or preemptor.revocable_zone:
            return [], REJECT
        # Grouped by job first: upstream applies each job's disruption budget to its whole list.
        evictable = group_by_key((task.job, task) for task in candidates if not self.bar_reason(task))
        return self.within_budgets(evictable), PERMIT

    def bar_reason(self, task: TaskInfo) -> str:
        """The rule that protects a candidate, whatever its job's budget is; empty if none does."""
        if not is_evictable(task):
            return NOT_RUNNING if task.preemptable else NOT_PREEMPTABLE
        node = self.ssn.nodes.get(task.node_name)
        if node is None:
            return NO_NODE
        return REVOCABLE if node.revocable_zone else ""

    def victim_tasks(self, tasks: list[TaskInfo]) -> list[TaskInfo]:
        """Preemptable tasks on nodes of closed zones, once per period. Upstream: plugins/tdm.victimsFn."""
        now, last = self.zones.now, self.ssn.process.last_eviction
        if last is not None and unix_nanoseconds(last) + self.evict_period > unix_nanoseconds(now):
            return []
        victims = []
        for zone in sorted(self.windows):
            if self.zones.zone_error(zone) is not None:
                victims += self.within_budgets(self.evictable_in(zone))
        # Set even without victims: the period starts when the zones were checked.
        self.ssn.process = replace(self.ssn.process, last_eviction=now)
        return victims

    def evictable_in(self, zone: str) -> dict[JobId, list[TaskInfo]]:
        """The tasks on the zone's nodes that may be evicted, by job."""
        nodes = (node for node in self.ssn.nodes.values() if node.revocable_zone and node.revocable_zone == zone)
        tasks = (task for node in nodes for task in node.tasks_in_order())
        return group_by_key((task.job, task) for task in tasks if is_evictable(task))

    def within_budgets(self, tasks_by_job: dict[JobId, list[TaskInfo]]) -> list[TaskInfo]:
        """The first tasks of each job, within its disruption budget. Upstream: plugins/tdm.maxVictims."""
        jobs = ((self.ssn.jobs[uid], tasks_by_job[uid]) for uid in sorted(tasks_by_job) if uid in self.ssn.jobs)
        return [task for job, tasks in jobs for task in tasks[: max_evictions(job)]]

    # Jobs

    def job_order(self, left: JobInfo, right: JobInfo) -> int:
        """Jobs that are not preemptable go first. Upstream: plugins/tdm.jobOrderFn."""
        return int(left.preemptable) - int(right.preemptable)

    def job_pipelined(self, job: JobInfo) -> int:
        """Upstream: plugins/tdm.jobPipelinedFn."""
        return PERMIT if job.is_pipelined() else REJECT

    def job_starving(self, job: JobInfo) -> bool:
        """Upstream: plugins/tdm.jobStarvingFn."""
        return not job.preemptable and job.has_pending_tasks()


def text_argument(arguments: Arguments, key: str) -> str:
    """An argument as text; panics if it is not a string, as upstream's unchecked conversion does."""
    value = arguments.raw[key]
    if not isinstance(value, str):
        kind = type(value).__name__
        raise wrong_argument(NOT_A_STRING.format(kind=GO_KINDS.get(kind, kind)), key, AS_TEXT)
    return value


def is_evictable(task: TaskInfo) -> bool:
    """Whether the task is preemptable and Running. Upstream: plugins/tdm.revocableNodePreemptableTask."""
    return task.preemptable and task.status is TaskStatus.RUNNING


def max_evictions(job: JobInfo) -> int:
    """The number of tasks that the job's budget allows to evict; minAvailable overrides maxUnavailable.
    Upstream: plugins/tdm.getMaxPodEvictNum.
    """
    annotations, total, running = job.pod_group.annotations, len(job.tasks), job.count_tasks(TaskStatus.RUNNING)
    if MIN_AVAILABLE_KEY in annotations:
        min_available = annotations[MIN_AVAILABLE_KEY]
        if min_available and running >= parse_amount(min_available, total):
            return running - parse_amount(min_available, total)
        return DEFAULT_EVICTIONS
    max_unavailable = annotations.get(MAX_UNAVAILABLE_KEY)
    if not max_unavailable:
        return DEFAULT_EVICTIONS
    unavailable = total - job.count_tasks(TaskStatus.SUCCEEDED, TaskStatus.FAILED) - running
    return max(parse_amount(max_unavailable, total) - unavailable, 0)


def parse_amount(text: str, total: int) -> int:
    """The number in the text, or a percentage of the total, rounded up; else 0. Upstream: plugins/tdm.parseIntStr."""
    number = parse_int64(text)
    if number is not None and -(2**31) <= number < 2**31:
        return number
    percent = parse_int64(text[:-1]) if text.endswith("%") else None
    return 0 if percent is None else math.ceil(float(percent) * float(total) / 100)
