"""What events speak of: jobs, tasks, nodes, queues, plugins and hooks, gathered over whole columns of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, compress
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from vcdebug.framework.hooks import VICTIM_TASKS
from vcdebug.framework.record import (
    BestEvent,
    Event,
    HookEvent,
    OpEvent,
    PopEvent,
    PredicateEvent,
    ScoreEvent,
    StatementEvent,
)
from vcdebug.framework.session import Session
from vcdebug.framework.subject import CANDIDATES, JOB, NODE, OTHER, QUEUE, SUB_JOB, TASK, CallResult
from vcdebug.model.names import BoolArray, IntArray, JobId, QueueName, SubJobId, TaskKey
from vcdebug.trace.postings import Mentions, Numbering

PLUGIN, POINT = "plugin", "point"
SUBJECT_FIELDS = {TASK: TASK, OTHER: TASK, JOB: JOB, NODE: NODE, QUEUE: QUEUE, SUB_JOB: SUB_JOB}
"""Field of a hook call's subject → what it names."""


class Owners(NamedTuple):
    """What belongs to what; none of it changes during a cycle."""

    jobs: Mapping[TaskKey, JobId]
    sub_jobs: Mapping[SubJobId, JobId]
    queues: Mapping[JobId, QueueName]

    @classmethod
    def from_session(cls, session: Session) -> Owners:
        """From the jobs of a session."""
        jobs = session.jobs.values()
        return cls(
            {task.key: job.uid for job in jobs for task in job.tasks.values()},
            {uid: job.uid for job in jobs for uid in job.sub_jobs},
            {job.uid: job.queue for job in jobs},
        )


class EventColumns:
    """The events of a recording by type."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        numbers = Numbering[type[Event]]()
        types = numbers.numbers_of(map(type, events), len(events))
        self.seqs: dict[type[Event], IntArray] = {
            kind: np.flatnonzero(types == number) + 1 for kind, number in numbers.items()
        }
        """Event numbers by type."""

    def events_of(self, *kinds: type[Event]) -> Iterator[tuple[IntArray, list[Any]]]:  # Any: of these types
        """Numbers and events of each of these types that occurs."""
        for kind in kinds:
            if kind in self.seqs:
                seqs = self.seqs[kind]
                yield seqs, list(map(self._events.__getitem__, (seqs - 1).tolist()))


class _MentionsByKind(dict[str, Mentions]):
    def __missing__(self, kind: str) -> Mentions:
        mentions = self[kind] = Mentions()
        return mentions


def gather_mentions(columns: EventColumns, owners: Owners) -> Mapping[str, Mentions]:
    """Everything that events speak of, by kind; which nodes a pass visited, its rows say."""
    found = _MentionsByKind()
    for seqs, hooks in columns.events_of(HookEvent):
        _add_hooks(found, seqs, hooks)
    for seqs, events in columns.events_of(PopEvent, BestEvent):
        _add_by_kind(found, seqs, events)
    for seqs, events in columns.events_of(PredicateEvent, ScoreEvent, OpEvent):
        found[TASK].add_names(seqs, map(attrgetter("task"), events))
    for seqs, operations in columns.events_of(OpEvent):
        found[NODE].add_names(seqs, map(attrgetter("node"), operations))
    for seqs, statements in columns.events_of(StatementEvent):
        done = [event.ops for event in statements]
        found[TASK].add_name_lists(seqs, [[task for _, task, _ in ops] for ops in done])
        found[NODE].add_name_lists(seqs, [[node for _, _, node in ops] for ops in done])
    found[JOB].add_owners(found[TASK], owners.jobs)
    found[JOB].add_owners(found[SUB_JOB], owners.sub_jobs)
    return found


def hook_mentions(columns: EventColumns, kind: str) -> Mentions:
    """The plugins or the points of all hook calls."""
    found = Mentions()
    for seqs, hooks in columns.events_of(HookEvent):
        found.add_names(seqs, map(attrgetter(kind), hooks))
    return found


def _add_hooks(found: _MentionsByKind, seqs: IntArray, hooks: Sequence[HookEvent]) -> None:
    subjects = list(map(attrgetter("subject"), hooks))
    lengths = np.fromiter(map(len, subjects), dtype=np.int64, count=len(subjects))
    _add_subjects(found, np.repeat(seqs, lengths), list(chain.from_iterable(subjects)))
    points = map(attrgetter("point"), hooks)
    victims = np.flatnonzero(np.fromiter(map(VICTIM_TASKS.upstream.__eq__, points), dtype=np.bool_, count=len(hooks)))
    found[TASK].add_name_lists(seqs[victims], [hooks[place].result for place in victims.tolist()])


def _add_subjects(found: _MentionsByKind, seqs: IntArray, pairs: Sequence[tuple[str, CallResult]]) -> None:
    """(field, value) pairs with the event of each."""
    for field, chosen in _group_by_word(map(itemgetter(0), pairs), len(pairs)):
        values = map(itemgetter(1), compress(pairs, chosen.tolist()))
        if field == CANDIDATES:
            found[TASK].add_name_lists(seqs[chosen], list(values))
        elif field in SUBJECT_FIELDS:
            found[SUBJECT_FIELDS[field]].add_names(seqs[chosen], values)


def _add_by_kind(found: _MentionsByKind, seqs: IntArray, events: Sequence[PopEvent | BestEvent]) -> None:
    for kind, chosen in _group_by_word(map(attrgetter("kind"), events), len(events)):
        found[kind].add_names(seqs[chosen], map(attrgetter("name"), compress(events, chosen.tolist())))


def _group_by_word(words: Iterator[str], count: int) -> list[tuple[str, BoolArray]]:
    """(word, a mask of where it stands) for each word of a column."""
    numbers = Numbering[str]()
    column = numbers.numbers_of(words, count)
    return [(word, column == number) for word, number in numbers.items()]
