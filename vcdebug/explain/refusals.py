"""A node's and a queue's own view: which jobs they refused in the cycle, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from vcdebug.explain.funnel import PLACED, funnels_around
from vcdebug.framework.hooks import ALLOCATABLE, JOB_ENQUEUEABLE, PREEMPTIVE, SIMULATE_ALLOCATABLE
from vcdebug.framework.plugin import REJECT
from vcdebug.framework.record import ActionEvent, HookEvent, Level, PredicateEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
from vcdebug.trace.recording import Recording

QUEUE_POINTS: Final = (
    JOB_ENQUEUEABLE.upstream,
    ALLOCATABLE.upstream,
    SIMULATE_ALLOCATABLE.upstream,
    PREEMPTIVE.upstream,
)
"""Hooks that answer for a queue."""


class Refusal(NamedTuple):
    """Why tasks of one job were not taken in one action."""

    job: JobId
    action: str
    why: str
    tasks: tuple[TaskKey, ...]
    seq: Seq
    """The first time."""


RefusalGroups = dict[tuple[JobId, str, str], list[tuple[Seq, TaskKey]]]
"""Job, action and reason → when, and for which task; no task where the job as a whole was refused."""


def node_refusals(recording: Recording, node: NodeName) -> tuple[Refusal, ...]:
    """By the predicates, and where victims were looked for in vain; in the order of the first time."""
    jobs, refused = (
        recording.owners.jobs,
        (*_predicate_refusals(recording, node), *_victim_search_refusals(recording, node)),
    )
    return _build_refusals(
        group_by_key(((jobs.get(task, ""), action, why), (seq, task)) for seq, task, action, why in refused)
    )


def queue_refusals(recording: Recording, queue: QueueName) -> tuple[Refusal, ...]:
    """What was refused for a queue: admission, room for tasks, reclaiming; each plugin and hook once per job."""
    together: RefusalGroups = {}
    for point in QUEUE_POINTS:
        for seq, event in recording.hook_calls(point):
            if event.result is not False and event.result != REJECT:
                continue
            job, tasks = _job_and_tasks(recording, event)
            if recording.owners.queues.get(job) == queue:
                key = (job, recording.span_tree.name_around(seq, Level.ACTION), f"{event.plugin} says no to {point}")
                together.setdefault(key, []).extend((seq, task) for task in tasks or ("",))
    return _build_refusals(together)


def _build_refusals(together: RefusalGroups) -> tuple[Refusal, ...]:
    found = [
        Refusal(job, action, why, tuple(dict.fromkeys(task for _, task in entries if task)), entries[0][0])
        for (job, action, why), entries in together.items()
    ]
    return tuple(sorted(found, key=lambda refusal: refusal.seq))


def _job_and_tasks(recording: Recording, event: HookEvent) -> tuple[JobId, tuple[TaskKey, ...]]:
    """(job, its tasks) that a queue was asked about."""
    tasks = event.candidates or ((event.task,) if event.task else ())
    return event.job or (recording.owners.jobs.get(tasks[0], "") if tasks else ""), tasks


def _predicate_refusals(recording: Recording, node: NodeName) -> Iterator[tuple[Seq, TaskKey, str, str]]:
    row = recording.session.node_table.row_of[node]
    for seq, event in recording.events_of_type(PredicateEvent):
        places = np.flatnonzero(event.failed == row)
        if len(places):
            statuses = recording.reason_table.statuses_of(int(event.codes[int(places[0])]))
            why = ", ".join(status.reason for status in statuses)
            yield seq, event.task, recording.span_tree.name_around(seq, Level.ACTION), why


def _victim_search_refusals(recording: Recording, node: NodeName) -> Iterator[tuple[Seq, TaskKey, str, str]]:
    starts = (seq for seq, event in recording.events_of_type(ActionEvent) if event.what == "start")
    for search in (search for seq in starts for search in funnels_around(recording, seq)):
        for turn in search.tried:
            if turn.node == node and turn.outcome != PLACED:
                yield turn.first, search.task, search.action, turn.outcome_words
