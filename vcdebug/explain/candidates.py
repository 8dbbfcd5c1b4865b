"""Whom an evicting action's own filter leaves alone: the action's rule, asked again and told in words."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from vcdebug.framework.action import Action
from vcdebug.framework.evictions import (
    ASKS_NOTHING,
    GROUP_NOT_PREEMPTABLE,
    NO_JOB,
    NOT_LOWER,
    NOT_PREEMPTABLE,
    NOT_RECLAIMABLE,
    NOT_RUNNING,
    OTHER_JOB,
    OTHER_QUEUE,
    SAME_JOB,
    SAME_QUEUE,
    CandidateFilter,
)
from vcdebug.framework.registry import resolve_reference
from vcdebug.model.names import JobId
from vcdebug.model.task import TaskInfo
from vcdebug.trace.recording import Recording

NEVER_CANDIDATE_RULES: Final = (NO_JOB, SAME_QUEUE, OTHER_QUEUE, SAME_JOB)
"""Rules about pods that were never the action's to take, whatever their flags."""


class SkippedVictim(NamedTuple):
    """Why a task is left alone."""

    rule: str
    text: str
    """To be said behind a number of pods."""


def victim_filter_of(recording: Recording, action: str, asker: TaskInfo, *, within: bool = False) -> CandidateFilter:
    """The filter of an action that evicts pod by pod, between jobs or within the asker's own."""
    session = recording.session
    job = session.jobs.get(asker.job)
    if job is None:
        return lambda _: NO_JOB
    kind: type[Action] = resolve_reference(recording.conf.known[action])
    return kind.victim_filter(session, job, asker, within=within)


def gang_victim_filter(recording: Recording, action: str, job: JobId) -> CandidateFilter:
    """The filter of gangpreempt or gangreclaim."""
    eviction = resolve_reference(recording.conf.known[action])(recording.conf.arguments_of(action)).eviction
    return partial(eviction.spares, recording.session, recording.session.jobs[job])


def skipped_victim(recording: Recording, spares: CandidateFilter, victim: TaskInfo) -> SkippedVictim | None:
    """Why a filter leaves a task alone, which is given with the status of the moment; None for a candidate."""
    rule = skip_rule(recording, spares, victim)
    job = recording.session.jobs.get(victim.job)
    return SkippedVictim(rule, _rule_text(rule, victim, job.queue if job is not None else "")) if rule else None


def skip_rule(recording: Recording, spares: CandidateFilter, victim: TaskInfo) -> str:
    """The rule by which a filter leaves a task alone; empty for a candidate."""
    return spares(victim) if victim.job in recording.session.jobs else NO_JOB


def _rule_text(rule: str, victim: TaskInfo, queue: str) -> str:
    return {
        NO_JOB: "outside Volcano",
        NOT_RUNNING: f"{victim.status.upstream_name}, not Running",
        NOT_PREEMPTABLE: "with volcano.sh/preemptable false",
        ASKS_NOTHING: "that request resources, as the preemptor does not",
        OTHER_QUEUE: f"in queue {queue}",
        SAME_QUEUE: "in the same queue",
        SAME_JOB: "of the same job",
        OTHER_JOB: "of other jobs",
        NOT_RECLAIMABLE: f"in queue {queue}, which is not reclaimable",
        GROUP_NOT_PREEMPTABLE: "of a PodGroup with volcano.sh/preemptable false",
        NOT_LOWER: "of jobs whose priority is not lower",
    }[rule]
