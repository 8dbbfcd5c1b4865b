"""What should hold after every event, and where it does not: computed from histories when somebody asks.

Upstream's own bugs break some of these; where a note names the quirk behind it, so does the violation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import Final, NamedTuple

from vcdebug.amount_text import resource
from vcdebug.framework import quirks
from vcdebug.framework.record import PLANNED_OPS, ActionEvent, OpEvent, StatementEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import NodeName, QueueName, Seq, TaskKey
from vcdebug.model.resource import MIN_RESOURCE, Resource
from vcdebug.model.status import TaskStatus, allocated_status
from vcdebug.plugins import CAPACITY, DRF, PROPORTION
from vcdebug.trace import change_index
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

NODE, QUEUE, JOB, STATEMENT = "node", "queue", "job", "statement"
RULES: Final[Mapping[str, str]] = {
    NODE: "a node's idle and used make up what it can allocate",
    QUEUE: "what a queue has allocated is what its tasks hold",
    JOB: "what a job has allocated is what its tasks hold",
    STATEMENT: "when an action ends, every statement is committed or discarded",
}
QUIRKS: Final[Mapping[str, tuple[str, ...]]] = {
    NODE: (quirks.DEVICE_STAYS_CHARGED,),
    QUEUE: (quirks.BOOKS_CLAMPED, quirks.PLUGIN_TWICE, quirks.QUEUE_TREE_BROKEN, quirks.ANCESTORS_OVERWRITTEN),
    JOB: (quirks.BOOKS_CLAMPED, quirks.PLUGIN_TWICE),
    STATEMENT: (quirks.STATEMENT_LEFT_OPEN,),
}
"""Rule → quirks of upstream that break it."""
BOOKS: Final = ((PROPORTION, QUEUE), (CAPACITY, QUEUE), (DRF, JOB))
"""Plugins whose `allocated` is a sum over tasks, and by what they keep it."""


class Violation(NamedTuple):
    """A rule that does not hold from an event on."""

    seq: Seq
    rule: str
    name: str
    """The node, queue, job or action."""
    text: str
    quirk: str = ""
    """The code of the quirk behind it, where a note names one."""

    @property
    def line(self) -> str:
        """In one line."""
        behind = f" (quirk {self.quirk})" if self.quirk else ""
        return f"{RULES[self.rule]}, but {self.text}{behind}"


@per_recording()
def violations(recording: Recording) -> tuple[Violation, ...]:
    """Every event from which on a rule does not hold, or fails in another way than before."""
    found = [*_nodes(recording), *_books(recording), *_statements(recording)]
    named = (violation._replace(quirk=_quirk(recording, violation)) for violation in found)
    return tuple(sorted(named, key=lambda violation: (violation.seq, violation.rule, violation.name)))


def _quirk(recording: Recording, violation: Violation) -> str:
    codes = QUIRKS[violation.rule]
    notes = (note.code for note in recording.notes if note.seq <= violation.seq and note.code in codes)
    return next(notes, "")


# Nodes


def _nodes(recording: Recording) -> Iterator[Violation]:
    for name, node in recording.session.nodes.items():
        allocatable = node.allocatable
        seqs = (1, *_within(recording, recording.timeline.written(change_index.NODE, name)))
        shares = ((seq, _both(recording, name, seq)) for seq in seqs)
        for seq, both in _differing(shares, allocatable):
            text = f"{name} has {resource(both)} of {resource(allocatable)}"
            yield Violation(seq, NODE, name, text)


def _both(recording: Recording, name: NodeName, seq: Seq) -> Resource:
    amounts = recording.timeline.state_at(seq).nodes[name]
    return amounts.idle.clone().add(amounts.used)


def _differing(values: Iterable[tuple[Seq, Resource]], expected: Resource) -> Iterator[tuple[Seq, Resource]]:
    """Where a value begins to differ from what it should be, or differs in another way."""
    last = ""
    for seq, value in values:
        wrong = "" if _equal(value, expected) else str(value)
        if wrong and wrong != last:
            yield seq, value
        last = wrong


def _equal(left: Resource, right: Resource) -> bool:
    names = dict.fromkeys(name for amounts in (left, right) for name, _ in amounts.items())
    return all(abs(left.get(name) - right.get(name)) < MIN_RESOURCE for name in names)


def _within(recording: Recording, seqs: Iterable[Seq]) -> Iterator[Seq]:
    return (seq for seq in dict.fromkeys(seqs) if 1 < seq <= len(recording))


# Books


def _books(recording: Recording) -> Iterator[Violation]:
    for plugin, rule in BOOKS:
        for name, figures in recording.timeline.figures.get(plugin, {}).items():
            if name and "allocated" in figures:
                yield from _book(recording, plugin, rule, name)


def _book(recording: Recording, plugin: str, rule: str, name: str) -> Iterator[Violation]:
    """Follows the book and the tasks together, and compares wherever one of them moved."""
    jobs = list(_jobs(recording, rule, name))
    moves = sorted(_moves(recording, jobs), key=lambda move: move[0])
    held, passed, last = _held_at_opening(recording, jobs), 0, ""
    written = _within(recording, recording.timeline.written(change_index.BOOK, (plugin, name, "allocated")))
    for seq in dict.fromkeys(merge((1,), written, (seq for seq, _, _ in moves))):
        upto = bisect_right(moves, seq, key=lambda move: move[0])
        for _, sign, request in moves[passed:upto]:
            held = held.add(request) if sign > 0 else held.sub_without_assert(request)
        passed = upto
        booked = recording.timeline.state_at(seq).amount(plugin, name, "allocated")
        wrong = "" if _equal(booked, held) else f"{booked} {held}"
        if wrong and wrong != last:
            yield Violation(seq, rule, name, f"{plugin} has {resource(booked)} for {name}, its tasks {resource(held)}")
        last = wrong


def _jobs(recording: Recording, rule: str, name: str) -> Iterator[JobInfo]:
    jobs = recording.session.jobs
    if rule == JOB:
        yield jobs[name]
        return
    below = dict.fromkeys(_below(recording, name))
    yield from (job for job in jobs.values() if job.queue in below)


def _below(recording: Recording, name: QueueName) -> Iterator[QueueName]:
    """The queue and, where queues form a tree, those below it."""
    for queue in recording.session.queues:
        ancestors = recording.timeline.opening_books.get((CAPACITY, queue, "ancestors")) or ()
        if queue == name or name in ancestors:
            yield queue


def _held_at_opening(recording: Recording, jobs: Iterable[JobInfo]) -> Resource:
    held = Resource()
    opening = recording.timeline.opening_tasks
    for job in jobs:
        for task in job.tasks.values():
            if _holds(opening[task.key].status):
                held.add(task.resreq)
    return held


def _moves(recording: Recording, jobs: Iterable[JobInfo]) -> Iterator[tuple[Seq, int, Resource]]:
    """(event, 1 or -1, request): a task begins or ceases to hold room."""
    for job in jobs:
        for key in recording.timeline.touched.get(job.uid, ()):
            before = _holds(recording.timeline.opening_tasks[key].status)
            for seq in _within(recording, recording.timeline.written(change_index.TASK, key)):
                now = _holds(recording.timeline.state_at(seq).tasks[key].status)
                if now != before:
                    yield seq, 1 if now else -1, recording.timeline.tasks[key].resreq
                before = now


def _holds(status: TaskStatus) -> bool:
    return allocated_status(status) or status is TaskStatus.PIPELINED


# Statements


def _statements(recording: Recording) -> Iterator[Violation]:
    """Operations that are neither committed nor taken back when their action ends."""
    kinds = (OpEvent, StatementEvent, ActionEvent)
    unsettled: dict[TaskKey, Seq] = {}
    for seq in merge(*(recording.index.of_type(kind) for kind in kinds)):
        event = recording.event(int(seq))
        if isinstance(event, OpEvent):
            _operate(unsettled, int(seq), event)
        elif isinstance(event, StatementEvent) and event.what == "commit":
            for _, task, _ in event.ops:
                unsettled.pop(task, None)
        elif isinstance(event, ActionEvent) and event.what == "end" and unsettled:
            listed = ", ".join(f"{task} at {at}" for task, at in list(unsettled.items())[:3])
            more = f" and {len(unsettled) - 3} more" if len(unsettled) > 3 else ""
            yield Violation(int(seq), STATEMENT, event.action, f"{event.action} leaves open: {listed}{more}")
            unsettled.clear()


def _operate(unsettled: dict[TaskKey, Seq], seq: Seq, event: OpEvent) -> None:
    if event.via is None and event.op in PLANNED_OPS:
        unsettled[event.task] = seq
    elif event.op.startswith("un"):
        unsettled.pop(event.task, None)
