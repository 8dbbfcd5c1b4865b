"""What the own filter of an evicting action makes of pods: its candidates, and why it skips the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple

from vcdebug.framework import action as action_module
from vcdebug.framework.action import Action
from vcdebug.framework.registry import resolve_reference
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.recording.recording import Recording


class NodeCandidates(NamedTuple):
    """What an evicting action could take on a node."""

    tasks: Sequence[TaskInfo]
    room: Resource
    """The node's room once they are gone."""


class JudgedPods(NamedTuple):
    """What the filter says about the pods on some nodes."""

    objections: RankedObjections
    candidates: int
    """How many pods pass it."""
    rooms: Sequence[Resource]
    """Of each node with pods that were the action's to take: its room without those."""


class FilterObjection(NamedTuple):
    """A reason and the pods that the filter skips for it."""

    why: SkippedVictim
    pods: list[TaskInfo]


RankedObjections = Sequence[FilterObjection]
"""The most frequent first."""


def rank_objections(spared: Iterable[tuple[TaskInfo, SkippedVictim]]) -> RankedObjections:
    """By reason, the most frequent first."""
    found = group_by_key((why, task) for task, why in spared)
    return sorted((FilterObjection(*one) for one in found.items()), key=lambda one: (-len(one.pods), one.why.text))


NEVER_CANDIDATE_RULES: Final = (
    action_module.NO_JOB,
    action_module.SAME_QUEUE,
    action_module.OTHER_QUEUE,
    action_module.SAME_JOB,
)
"""Rules about pods that were never the action's to take, whatever their flags."""


class SkippedVictim(NamedTuple):
    """Why a task is left alone."""

    rule: str
    text: str
    """Follows a number of pods: `of the same job`."""

    @property
    def is_never_candidate(self) -> bool:
        """Whether the pod was never the action's to take, whatever its flags and status."""
        return self.rule in NEVER_CANDIDATE_RULES


def victim_filter_of(
    recording: Recording, action: str, asker: TaskInfo, *, within: bool = False
) -> action_module.CandidateFilter:
    """The filter of an action that evicts pod by pod, between jobs or within the asker's own."""
    session = recording.session
    job = session.jobs.get(asker.job)
    if job is None:
        return lambda _: action_module.NO_JOB
    kind: type[Action] = resolve_reference(recording.conf.known[action])
    return kind.victim_filter(session, job, asker, within=within)


def gang_victim_filter(recording: Recording, action: str, job: JobId) -> action_module.CandidateFilter:
    """The filter of gangpreempt or gangreclaim."""
    eviction = resolve_reference(recording.conf.known[action])(recording.conf.arguments_of(action)).eviction
    return partial(eviction.skip_reason, recording.session, recording.session.jobs[job])


def skipped_victim(
    recording: Recording, spares: action_module.CandidateFilter, victim: TaskInfo
) -> SkippedVictim | None:
    """Why a filter skips a task, which the caller passes in its state at that event; None for a candidate."""
    rule = skip_rule(recording, spares, victim)
    job = recording.session.jobs.get(victim.job)
    return SkippedVictim(rule, _rule_text(rule, victim, job.queue if job is not None else "")) if rule else None


def skip_rule(recording: Recording, spares: action_module.CandidateFilter, victim: TaskInfo) -> str:
    """The rule by which a filter skips a task; empty for a candidate."""
    # The filter itself expects a victim whose job is in the session.
    return spares(victim) if victim.job in recording.session.jobs else action_module.NO_JOB


def _rule_text(rule: str, victim: TaskInfo, queue: str) -> str:
    return {
        action_module.NO_JOB: "not managed by Volcano",
        action_module.NOT_RUNNING: f"{victim.status.upstream_name} (only Running pods can be evicted)",
        action_module.NOT_PREEMPTABLE: 'with volcano.sh/preemptable: "false"',
        action_module.ASKS_NOTHING: "that request resources (a best-effort preemptor evicts only best-effort pods)",
        action_module.OTHER_QUEUE: f"in queue {queue}",
        action_module.SAME_QUEUE: "in the same queue",
        action_module.SAME_JOB: "of the same job",
        action_module.OTHER_JOB: "of other jobs",
        action_module.NOT_RECLAIMABLE: f"in queue {queue} (reclaimable: false)",
        action_module.GROUP_NOT_PREEMPTABLE: 'of a PodGroup with volcano.sh/preemptable: "false"',
        action_module.NOT_LOWER: "of jobs with equal or higher priority",
    }[rule]
