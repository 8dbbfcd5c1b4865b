"""The table of extension points: method, upstream's name, switches, rule that combines answers, and form in the trace.

Upstream: framework/session_plugins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, ParamSpec, TypeVar

from vcdebug.framework import combine
from vcdebug.framework.combine import Answer, Args, CombiningRule, ShowFunction, Tiers
from vcdebug.framework.plugin_answers import EvictionContext, NodeScores, PluginError, ValidateResult
from vcdebug.framework.subject import (
    CANDIDATES,
    HYPER_NODE,
    JOB,
    NODE,
    OTHER,
    PURPOSE,
    QUEUE,
    SUB_JOB,
    TASK,
    VOTE,
    CallResult,
    CandidateTasks,
    TracedCall,
    task_keys,
)
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Codes
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.queue import QueueInfo
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.releases.change import Change
from vcdebug.releases.queues import CAPACITY_TREE_ABSENT
from vcdebug.releases.release import Release
from vcdebug.releases.scheduling import GANG_EVICTION, NTA_NODE_SCORE_ONLY, SUBJOBS_ABSENT

if TYPE_CHECKING:
    from vcdebug.kube.node_view import CycleState


# The form of a hook call in the trace: (subject, result), the subject as names and the result as plain data.

_VOTES = {vote: (VOTE, vote) for vote in (-1, 0, 1)}


def show_first(args: Args, answer: Answer) -> TracedCall:
    """A call about its first argument, a job or a queue."""
    return args[0].subject, answer


def show_job_valid(args: Args, answer: ValidateResult | None) -> TracedCall:
    """JobValid: null, or the failed check as a map."""
    result = answer and {"pass": answer.passed, "reason": answer.reason, "message": answer.message}
    return args[0].subject, result


def show_sub_job(args: Args, answer: Answer) -> TracedCall:
    """A call about a sub job."""
    return ((SUB_JOB, args[1].uid),), answer


def show_queue_task(args: Args, answer: Answer) -> TracedCall:
    """Whether the queue may take the task."""
    return args[0].subject + args[1].pod.subject, answer


def show_state_queue_task(args: Args, answer: Answer) -> TracedCall:
    """As show_queue_task, for a simulated state."""
    return ((QUEUE, args[1].name), (TASK, args[2].key)), answer


def show_queue_candidates(args: Args, answer: Answer) -> TracedCall:
    """Whether the queue may reclaim for these tasks."""
    return ((QUEUE, args[0].name), (CANDIDATES, task_keys(args[1]))), answer


def show_task(args: Args, answer: Answer) -> TracedCall:
    """A call about a task."""
    return args[0].pod.subject, getattr(answer, "name", answer)


def show_victims(args: Args, answer: Answer) -> TracedCall:
    """The candidates that may be evicted for the task, with the vote."""
    (task, candidates), (offered, vote) = args, answer
    field = candidates.trace_field if type(candidates) is CandidateTasks else (CANDIDATES, task_keys(candidates))
    victims = task_keys(offered)
    # If all candidates are allowed, the same tuple is returned, so that a recording stores it once.
    subject = (task.pod.subject[0], field, _VOTES.get(vote) or (VOTE, vote))
    return subject, field[1] if victims == field[1] else victims


def show_unified_victims(args: Args, answer: Answer) -> TracedCall:
    """The candidates that a gang action may evict, with the vote."""
    offered, vote = answer
    return ((CANDIDATES, task_keys(args[1])), (VOTE, vote)), task_keys(offered)


def show_victim_tasks(_args: Args, answer: Answer) -> TracedCall:
    """The tasks that a plugin wants evicted, whatever room is needed."""
    return (), task_keys(answer)


def status_documents(values: Sequence[FitStatus]) -> list[dict[str, object]]:
    """Statuses in the form of the trace."""
    return [{"code": s.code, "reason": s.reason, "plugin": s.plugin} for s in values]


def show_pre_predicate(args: Args, answer: PluginError | None) -> TracedCall:
    """PrePredicate: null, statuses or an error text."""
    result: CallResult = None
    if answer is not None:
        result = status_documents(answer.statuses) if answer.statuses else {"error": answer.text}
    return args[0].pod.subject, result


def show_hyper_node_order(args: Args, answer: Answer) -> TracedCall:
    """The scores of hypernodes for a sub job."""
    return ((SUB_JOB, args[0].uid),), answer


def show_gradient_job(args: Args, answer: Answer) -> TracedCall:
    """The hypernodes to try for a job: rows, best row first."""
    return ((JOB, args[0].uid), (HYPER_NODE, args[1]), (PURPOSE, str(args[2]))), answer


def show_gradient_sub_job(args: Args, answer: Answer) -> TracedCall:
    """The hypernodes to try for a sub job: rows, best row first."""
    return ((SUB_JOB, args[0].uid), (HYPER_NODE, args[1]), (PURPOSE, str(args[2]))), answer


def without_purpose(show: ShowFunction) -> ShowFunction:
    """The same function without the purpose in the subject: older releases have none."""

    def show_without_purpose(args: Args, answer: Answer) -> TracedCall:
        subject, result = show(args, answer)
        return tuple(part for part in subject if part[0] != PURPOSE), result

    return show_without_purpose


def show_state_task_node(args: Args, answer: Answer) -> TracedCall:
    """Whether the task passes the filters on the simulated node: null, or the error."""
    return ((TASK, args[1].key), (NODE, args[2].name)), _error_document(answer)


def show_state_other_task(args: Args, answer: Answer) -> TracedCall:
    """The error of adding another task to the simulated node, or removing it; null without one."""
    return ((TASK, args[1].key), (OTHER, args[2].key), (NODE, args[3].name)), _error_document(answer)


def _error_document(text: str | None) -> dict[str, str] | None:
    return None if text is None else {"error": text}


_WORD_START: Final = re.compile(r"(?<!^)(?=[A-Z])")
P = ParamSpec("P")
R = TypeVar("R")
AnswerForm = (
    Literal["comparison", "truth", "vote", "victims", "tasks", "validity", "error"]
    | Literal["objection", "verdict", "node", "job", "rows", "scores", "nothing"]
)


@dataclass(frozen=True, slots=True)
class Hook(Generic[P, R]):
    """One extension point. P: the arguments of a plugin's method; R: the combined answer."""

    upstream: str
    """The extension point's name in the trace and in upstream's code."""
    switches: tuple[str, ...]
    """Configuration keys, one of which must be on; empty if upstream has no switch."""
    rule: CombiningRule[R]
    answer_form: AnswerForm
    """The form of a plugin's answer."""
    show: ShowFunction | None = None
    """Converts a call to its form in the trace; None if the trace does not list the calls."""
    added_by: Change | None = None
    """The change that introduced the extension point: releases with its older form lack the point."""
    older_form: tuple[Change, ShowFunction] | None = None
    """(change, show) for releases with the older form of the change."""
    rule_of_node: CombiningRule[Any] | None = None  # Any: it is asked about recorded answers only
    """The rule that combines answers about a single node, if the trace lists only these."""
    method: str = field(init=False, repr=False, compare=False)
    """The plugin's method: upstream's name in snake case."""
    combine: Callable[[Tiers, Args], R] = field(init=False, repr=False, compare=False)
    """The rule's combine function, bound here because every question of a cycle calls it."""

    def __post_init__(self) -> None:
        # A frozen dataclass allows no plain assignment.
        object.__setattr__(self, "method", _WORD_START.sub("_", self.upstream).lower())
        object.__setattr__(self, "combine", self.rule.combine)

    @property
    def recorded_rule(self) -> CombiningRule[Any]:  # Any: as above
        """The rule that combines the answers listed in the trace."""
        return self.rule_of_node or self.rule

    def show_for(self, release: Release) -> ShowFunction | None:
        return (
            self.older_form[1]
            if self.older_form is not None and release.has_older_form(self.older_form[0])
            else self.show
        )


AnyHook = Hook[Any, Any]  # Any: the table has hooks of each form
"""A hook of any form, for code that only passes arguments and answers on."""
HyperNodeRows = list[list[str]]

JOB_ORDER: Hook[[JobInfo, JobInfo], int] = Hook("JobOrder", ("enableJobOrder",), combine.FIRST_DIFFERENCE, "comparison")
QUEUE_ORDER: Hook[[QueueInfo, QueueInfo], int] = Hook(
    "QueueOrder", ("enableQueueOrder",), combine.FIRST_DIFFERENCE, "comparison"
)
VICTIM_QUEUE_ORDER: Hook[[QueueInfo, QueueInfo, QueueInfo], int] = Hook(
    "VictimQueueOrder", (), combine.FIRST_DIFFERENCE, "comparison", added_by=CAPACITY_TREE_ABSENT
)
TASK_ORDER: Hook[[TaskInfo, TaskInfo], int] = Hook(
    "TaskOrder", ("enableTaskOrder",), combine.FIRST_DIFFERENCE, "comparison"
)
SUB_JOB_ORDER: Hook[[SubJobInfo, SubJobInfo], int] = Hook(
    "SubJobOrder", ("enabledSubJobOrder",), combine.FIRST_DIFFERENCE, "comparison", added_by=SUBJOBS_ABSENT
)
CLUSTER_ORDER: Hook[[str, str], int] = Hook(
    "ClusterOrder", ("enabledClusterOrder",), combine.FIRST_DIFFERENCE, "comparison"
)
JOB_VALID: Hook[[JobInfo], ValidateResult | None] = Hook(
    "JobValid", (), combine.FIRST_FAILURE, "validity", show_job_valid
)
JOB_READY: Hook[[JobInfo], bool] = Hook("JobReady", ("enableJobReady",), combine.ALL_TRUE, "truth", show_first)
SUB_JOB_READY: Hook[[JobInfo, SubJobInfo], bool] = Hook(
    "SubJobReady", ("enabledSubJobReady",), combine.ALL_TRUE, "truth", show_sub_job, SUBJOBS_ABSENT
)
JOB_PIPELINED: Hook[[JobInfo], bool] = Hook("JobPipelined", ("enableJobPipelined",), combine.VOTE, "vote", show_first)
SUB_JOB_PIPELINED: Hook[[JobInfo, SubJobInfo], bool] = Hook(
    "SubJobPipelined", ("enabledSubJobPipelined",), combine.VOTE, "vote", show_sub_job, SUBJOBS_ABSENT
)
JOB_ENQUEUEABLE: Hook[[JobInfo], bool] = Hook(
    "JobEnqueueable", ("enableJobEnqueued",), combine.VOTE, "vote", show_first
)
JOB_ENQUEUED: Hook[[JobInfo], None] = Hook(
    "JobEnqueued", ("enableJobEnqueued",), combine.CALL_ALL, "nothing", show_first
)
JOB_STARVING: Hook[[JobInfo], bool] = Hook(
    "JobStarving", ("enableJobStarving",), combine.FIRST_TIER_ALL, "truth", show_first
)
OVERUSED: Hook[[QueueInfo], bool] = Hook("Overused", ("enabledOverused",), combine.ANY_TRUE, "truth", show_first)
PREEMPTIVE: Hook[[QueueInfo, list[TaskInfo]], bool] = Hook(
    "Preemptive", ("enablePreemptive",), combine.ALL_TRUE, "truth", show_queue_candidates
)
ALLOCATABLE: Hook[[QueueInfo, TaskInfo], bool] = Hook(
    "Allocatable", ("enabledAllocatable",), combine.ALL_TRUE, "truth", show_queue_task
)
PREEMPTABLE: Hook[[TaskInfo, list[TaskInfo]], list[TaskInfo] | None] = Hook(
    "Preemptable", ("enablePreemptable",), combine.TIER_INTERSECTION, "victims", show_victims
)
RECLAIMABLE: Hook[[TaskInfo, list[TaskInfo]], list[TaskInfo] | None] = Hook(
    "Reclaimable", ("enableReclaimable",), combine.TIER_INTERSECTION, "victims", show_victims
)
UNIFIED_EVICTABLE: Hook[[EvictionContext, list[TaskInfo]], list[TaskInfo] | None] = Hook(
    "UnifiedEvictable", (), combine.TIER_INTERSECTION, "victims", show_unified_victims, GANG_EVICTION
)
VICTIM_TASKS: Hook[[list[TaskInfo]], list[TaskInfo]] = Hook(
    "VictimTasks", ("enabledVictim",), combine.FIRST_UNION, "tasks", show_victim_tasks
)
PRE_PREDICATE: Hook[[TaskInfo], PluginError | None] = Hook(
    "PrePredicate", ("enablePredicate",), combine.FIRST_ERROR, "error", show_pre_predicate
)
PREDICATE: Hook[[TaskInfo, NodeRows], dict[str, Codes]] = Hook(
    "Predicate", ("enablePredicate",), combine.EACH_ANSWER, "verdict", rule_of_node=combine.FIRST_OBJECTION
)
"""Vectorised: framework/placement narrows the rows itself and records single-node calls."""
NODE_ORDER: Hook[[TaskInfo, NodeRows], dict[str, NodeScores]] = Hook(
    "NodeOrder", ("enableNodeOrder",), combine.EACH_ANSWER, "scores"
)
BATCH_NODE_ORDER: Hook[[TaskInfo, NodeRows], dict[str, NodeScores | None]] = Hook(
    "BatchNodeOrder", ("enableNodeOrder",), combine.EACH_ANSWER, "scores"
)
BEST_NODE: Hook[[TaskInfo, NodeRows], NodeInfo | None] = Hook(
    "BestNode", ("enableBestNode",), combine.FIRST_NODE, "node", show_task
)
HYPER_NODE_ORDER: Hook[[SubJobInfo, dict[str, list[str]]], dict[str, dict[str, float]]] = Hook(
    "HyperNodeOrder", ("enabledHyperNodeOrder",), combine.EACH_ANSWER, "scores", show_hyper_node_order
)
HYPER_NODE_GRADIENT_FOR_JOB: Hook[[JobInfo, str, int], HyperNodeRows | None] = Hook(
    "HyperNodeGradientForJob",
    ("enabledHyperNodeGradient",),
    combine.FIRST_ANSWER,
    "rows",
    show_gradient_job,
    NTA_NODE_SCORE_ONLY,
    older_form=(GANG_EVICTION, without_purpose(show_gradient_job)),
)
HYPER_NODE_GRADIENT_FOR_SUB_JOB: Hook[[SubJobInfo, str, int], HyperNodeRows | None] = Hook(
    "HyperNodeGradientForSubJob",
    ("enabledHyperNodeGradient",),
    combine.FIRST_ANSWER,
    "rows",
    show_gradient_sub_job,
    NTA_NODE_SCORE_ONLY,
    older_form=(GANG_EVICTION, without_purpose(show_gradient_sub_job)),
)
TARGET_JOB: Hook[[list[JobInfo]], JobInfo | None] = Hook("TargetJob", ("enableTargetJob",), combine.FIRST_ANSWER, "job")
RESERVED_NODES: Hook[[], None] = Hook("ReservedNodes", ("enableReservedNodes",), combine.CALL_ALL, "nothing")
SIMULATE_ALLOCATABLE: Hook[[CycleState, QueueInfo, TaskInfo], bool] = Hook(
    "SimulateAllocatable", ("enabledAllocatable",), combine.ALL_TRUE, "truth", show_state_queue_task
)
SIMULATE_PREDICATE: Hook[[CycleState, TaskInfo, NodeInfo], str | None] = Hook(
    "SimulatePredicate", ("enablePredicate",), combine.FIRST_OBJECTION, "objection", show_state_task_node
)
SIMULATE_ADD_TASK: Hook[[CycleState, TaskInfo, TaskInfo, NodeInfo], str | None] = Hook(
    "SimulateAddTask",
    ("enablePreemptable", "enabledAllocatable"),
    combine.FIRST_OBJECTION,
    "objection",
    show_state_other_task,
)
SIMULATE_REMOVE_TASK: Hook[[CycleState, TaskInfo, TaskInfo, NodeInfo], str | None] = Hook(
    "SimulateRemoveTask",
    ("enablePreemptable", "enabledAllocatable"),
    combine.FIRST_OBJECTION,
    "objection",
    show_state_other_task,
)

HOOKS: tuple[AnyHook, ...] = tuple(value for value in globals().values() if isinstance(value, Hook))
"""All extension points, in the order above."""

HIERARCHY_SWITCH = "enableHierarchy"
OFF_BY_DEFAULT = (HIERARCHY_SWITCH, "enabledClusterOrder")


def all_switches() -> Iterable[str]:
    """All configuration switches of plugin entries, without repeats."""
    return dict.fromkeys([HIERARCHY_SWITCH, *(name for hook in HOOKS for name in hook.switches)])
