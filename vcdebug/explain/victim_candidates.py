"""The own filter of an evicting action: which pods are candidate victims, and why others are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct

from vcdebug.errors import PANICS
from vcdebug.framework import action as action_module
from vcdebug.framework.action import Action
from vcdebug.framework.hooks import PREEMPTABLE
from vcdebug.framework.registry import resolve_reference
from vcdebug.grouping import group_by_key
from vcdebug.model.names import FloatArray, IntArray, JobId, NodeName, QueueName
from vcdebug.model.node import NodeAmounts
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording, per_recording


class JudgedNode:
    """The verdict of an evicting action's own filter on the pods of one node."""

    def __init__(self, recording: Recording, verdicts: Sequence[tuple[TaskInfo, str]], amounts: NodeAmounts) -> None:
        self._recording = recording
        self._verdicts = verdicts
        self._amounts = amounts
        self.candidates = [task for task, rule in verdicts if not rule]

    # Of thousands of nodes, only those that an answer names are asked for the rest.

    @property
    def objections(self) -> Mapping[SkippedVictim, Sequence[TaskInfo]]:
        """Reason → the pods that the filter skips for it."""
        return group_by_key((_skip_of(self._recording, task, rule), task) for task, rule in self._verdicts if rule)

    @property
    def domain(self) -> Resource | None:
        """The node's room without all pods that the action could evict if flags and statuses allowed it, if any."""
        pods = [task for task, rule in self._verdicts if rule not in NEVER_CANDIDATE_RULES]
        return self._amounts.future_without(pods) if pods else None


class PlacedPods:
    """The pods on nodes in one state, as columns with an entry per pod: its node's row, its kind and its request."""

    def __init__(self, recording: Recording, by_node: Mapping[NodeName, Sequence[TaskInfo]]) -> None:
        row_of = recording.session.node_table.row_of
        pods = [(row_of[name], task) for name, tasks in by_node.items() if name in row_of for task in tasks]
        self._tasks = [task for _, task in pods]
        self._rows = np.array([row for row, _ in pods], dtype=np.int64)
        # What victim filters read of a victim: one verdict holds for all pods that agree in this.
        keys = [(task.job, task.status, task.preemptable, task.best_effort) for task in self._tasks]
        self._examples = dict(zip(keys, self._tasks, strict=True))
        number_of = {key: number for number, key in enumerate(self._examples)}
        self._kind_numbers = np.array([number_of[key] for key in keys], dtype=np.int64)
        self._requests: dict[str, FloatArray] = {}

    def select_pods(self, is_selected: Callable[[TaskInfo], bool]) -> IntArray:
        """The positions of pods, for a condition that is the same for all pods of a kind."""
        selected = np.array([is_selected(example) for example in self._examples.values()], dtype=bool)
        return np.flatnonzero(selected[self._kind_numbers])

    def add_requests(self, room: FloatArray, name: str, pods: IntArray) -> FloatArray:
        """The room per node with the requests of some pods added; -inf on nodes without such pods."""
        if name not in self._requests:
            self._requests[name] = np.array([task.resreq.get(name) for task in self._tasks], dtype=np.float64)
        room, has_pods = room.copy(), np.zeros(len(room), dtype=bool)
        # In the order of the pods, as upstream adds them: the last bit of a sum depends on it.
        np.add.at(room, self._rows[pods], self._requests[name][pods])
        has_pods[self._rows[pods]] = True
        return np.where(has_pods, room, -np.inf)


class NodesWithoutVictims:
    """The future idle of each node if all candidates of one filter were evicted, in one state."""

    def __init__(self, recording: Recording, pods: PlacedPods, victim_filter: action_module.CandidateFilter) -> None:
        self._pods = pods
        self._candidates = pods.select_pods(lambda task: not _skip_rule(recording, victim_filter, task))
        self._columns: dict[str, FloatArray] = {}

    def room_column(self, name: str, future_idle: FloatArray) -> FloatArray:
        """One dimension per node, from its future idle with all pods; -inf on nodes without candidates."""
        if name not in self._columns:
            self._columns[name] = self._pods.add_requests(future_idle, name, self._candidates)
        return self._columns[name]


class FilterObjection(NamedTuple):
    """A reason and the pods that the filter skips for it."""

    skipped_victim: SkippedVictim
    pods: list[TaskInfo]


RankedObjections = Sequence[FilterObjection]
"""The most frequent first."""


def rank_objections(skipped: Iterable[tuple[SkippedVictim, Sequence[TaskInfo]]]) -> RankedObjections:
    """Group skipped pods by reason, the most frequent reason first."""
    by_skip: dict[SkippedVictim, list[TaskInfo]] = {}
    for skip, pods in skipped:
        by_skip.setdefault(skip, []).extend(pods)
    return sorted(
        (FilterObjection(*objection) for objection in by_skip.items()),
        key=lambda objection: (-len(objection.pods), objection.skipped_victim.text),
    )


NEVER_CANDIDATE_RULES: Final = (
    action_module.NO_JOB,
    action_module.SAME_QUEUE,
    action_module.OTHER_QUEUE,
    action_module.SAME_JOB,
)
"""Rules for pods that the action could never evict, whatever their flags."""


class SkippedVictim(Struct, frozen=True):
    """Why an action's filter skips a task."""

    rule: str
    text: str
    """The reason as it follows a number of pods: `of the same job`."""


def victim_filter_of(
    recording: Recording, action: str, asker: TaskInfo, *, within: bool = False
) -> action_module.CandidateFilter:
    """The filter of an action that evicts pod by pod, between jobs or within the asker's own."""
    session = recording.session
    job = session.jobs.get(asker.job)
    if job is None:
        return lambda _: action_module.NO_JOB
    kind: type[Action] = resolve_reference(recording.conf.registry[action])
    return kind.victim_filter(session, job, asker, within=within)


def every_victim(candidate_count: int) -> str:
    """All of `candidate_count` candidate victims in words, such as `both candidate victims`."""
    by_count = {1: "the only candidate victim", 2: "both candidate victims"}
    return by_count.get(candidate_count, f"all {candidate_count} candidate victims")


@per_recording()
def _running_by_queue(recording: Recording) -> Mapping[QueueName, Sequence[TaskInfo]]:
    """Queue → its tasks that run when the cycle ends."""
    return group_by_key(
        (job.queue, task)
        for job in recording.session.jobs.values()
        for task in job.task_status_index.get(TaskStatus.RUNNING, {}).values()
    )


MOST_ASKED_VICTIMS = 100


def protecting_plugin(recording: Recording, action: str, asker: TaskInfo) -> tuple[str, Sequence[TaskInfo]]:
    """(plugin, candidates): the plugin that would protect all candidates in the asker's queue; no event is recorded.

    The plugin is empty if some candidate could be evicted, if there is none, or if there are too many to ask about.
    """
    session = recording.session
    excludes = victim_filter_of(recording, action, asker)
    running = _running_by_queue(recording).get(session.jobs[asker.job].queue, ())
    candidates = list(islice((task for task in running if not excludes(task)), MOST_ASKED_VICTIMS + 1))
    if not 0 < len(candidates) <= MOST_ASKED_VICTIMS:
        return "", candidates
    with session.record.silence_recording():
        try:
            if session.ask_plugins(PREEMPTABLE, asker, candidates):
                return "", candidates
            calls = [call for tier in session.plugin_calls[PREEMPTABLE.method] for call in tier]
            answers = ((call.plugin, call.call(asker, candidates)) for call in calls)
            return next((plugin for plugin, (victims, vote) in answers if vote and not victims), ""), candidates
        except PANICS:
            return "", candidates


def gang_victim_filter(recording: Recording, action: str, job: JobId) -> action_module.CandidateFilter:
    """The filter of gangpreempt or gangreclaim."""
    eviction = resolve_reference(recording.conf.registry[action])(recording.conf.arguments_of(action))
    return partial(eviction.skip_reason, recording.session, recording.session.jobs[job])


def judge_node(
    recording: Recording, victim_filter: action_module.CandidateFilter, pods: Sequence[TaskInfo], amounts: NodeAmounts
) -> JudgedNode:
    """Apply a filter to the pods of a node with these amounts."""
    return JudgedNode(recording, [(task, _skip_rule(recording, victim_filter, task)) for task in pods], amounts)


def skipped_victim(
    recording: Recording, victim_filter: action_module.CandidateFilter, victim: TaskInfo
) -> SkippedVictim | None:
    """Why a filter skips a task, given in its state at the event; None for a candidate."""
    rule = _skip_rule(recording, victim_filter, victim)
    return _skip_of(recording, victim, rule) if rule else None


def _skip_rule(recording: Recording, victim_filter: action_module.CandidateFilter, victim: TaskInfo) -> str:
    # The filter itself expects a victim whose job is in the session.
    return victim_filter(victim) if victim.job in recording.session.jobs else action_module.NO_JOB


def _skip_of(recording: Recording, victim: TaskInfo, rule: str) -> SkippedVictim:
    job = recording.session.jobs.get(victim.job)
    if job is None and victim.job:
        return SkippedVictim(rule, "of jobs that are not in the session")
    queue = "" if job is None else job.queue
    return SkippedVictim(rule, _RULE_TEXTS[rule].format(status=victim.status.upstream_name, queue=queue))


_RULE_TEXTS: Final = {
    action_module.NO_JOB: "not managed by Volcano",
    action_module.NOT_RUNNING: "{status} (only Running pods can be evicted)",
    action_module.NOT_PREEMPTABLE: 'with volcano.sh/preemptable: "false"',
    action_module.ASKS_NOTHING: "that request resources (a best-effort preemptor evicts only best-effort pods)",
    action_module.OTHER_QUEUE: "in queue {queue}",
    action_module.SAME_QUEUE: "in the same queue",
    action_module.SAME_JOB: "of the same job",
    action_module.OTHER_JOB: "of other jobs",
    action_module.NOT_RECLAIMABLE: "in queue {queue} (reclaimable: false)",
    action_module.GROUP_NOT_PREEMPTABLE: 'of a PodGroup with volcano.sh/preemptable: "false"',
    action_module.NOT_LOWER: "of jobs with equal or higher priority",
}
