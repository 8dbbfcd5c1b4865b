"""Invariants of the replay's state, and the events from which on one is violated, with the upstream quirk behind it."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import Final, NamedTuple

from vcdebug.amount_text import format_resource
from vcdebug.framework import quirks
from vcdebug.framework.record import PLANNED_OPS, ActionEvent, OpEvent, StatementEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import NodeName, QueueName, Seq, TaskKey
from vcdebug.model.resource import MIN_RESOURCE, Resource
from vcdebug.model.task import TaskStatus, is_allocated_status
from vcdebug.plugins import CAPACITY, DRF, PROPORTION
from vcdebug.recording import event_index
from vcdebug.recording.recording import Recording, per_recording

NODE, QUEUE, JOB, STATEMENT = "node", "queue", "job", "statement"
RULE_TEXTS: Final[Mapping[str, str]] = {
    NODE: "node: idle + used = allocatable",
    QUEUE: "queue: allocated = sum of its tasks",
    JOB: "job: allocated = sum of its tasks",
    STATEMENT: "no statement is open when an action ends",
}
QUIRKS_BY_RULE: Final[Mapping[str, tuple[str, ...]]] = {
    NODE: (quirks.DEVICE_STAYS_CHARGED,),
    QUEUE: (quirks.BOOKS_CLAMPED, quirks.PLUGIN_TWICE, quirks.QUEUE_TREE_BROKEN, quirks.ANCESTORS_OVERWRITTEN),
    JOB: (quirks.BOOKS_CLAMPED, quirks.PLUGIN_TWICE),
    STATEMENT: (quirks.STATEMENT_LEFT_OPEN,),
}
"""Rule → quirks of upstream that break it."""
SUMMED_BOOKS: Final = ((PROPORTION, QUEUE), (CAPACITY, QUEUE), (DRF, JOB))
"""(plugin, kind): plugins whose figure `allocated` is a sum over the tasks of each object of the kind."""


class InvariantViolation(NamedTuple):
    """An event from which on an invariant is violated."""

    seq: Seq
    rule: str
    name: str
    """The node, queue, job or action."""
    text: str
    quirk: str = ""
    """Code of the quirk that causes the violation; empty if no note names one."""

    @property
    def violation_line(self) -> str:
        """The rule and how it is violated, in one line."""
        behind = f" (quirk {self.quirk})" if self.quirk else ""
        return f"{RULE_TEXTS[self.rule]}, but {self.text}{behind}"


@per_recording()
def find_violations(recording: Recording) -> tuple[InvariantViolation, ...]:
    """Every event at which an invariant begins to be violated, or is violated in another way than before."""
    violations = [*_node_violations(recording), *_book_violations(recording), *_statement_violations(recording)]
    explained = (violation._replace(quirk=_quirk_of_violation(recording, violation)) for violation in violations)
    return tuple(sorted(explained, key=lambda violation: (violation.seq, violation.rule, violation.name)))


def _quirk_of_violation(recording: Recording, violation: InvariantViolation) -> str:
    codes = QUIRKS_BY_RULE[violation.rule]
    notes = (note.code for note in recording.notes if note.seq <= violation.seq and note.code in codes)
    return next(notes, "")


# Nodes


def _node_violations(recording: Recording) -> Iterator[InvariantViolation]:
    for name, node in recording.session.nodes.items():
        allocatable = node.allocatable
        seqs = (1, *_seqs_within(recording, recording.timeline.seqs_written(event_index.NODE, name)))
        shares = ((seq, _idle_and_used(recording, name, seq)) for seq in seqs)
        for seq, total in _first_differing(shares, allocatable):
            text = f"{name} has {format_resource(total)} of {format_resource(allocatable)}"
            yield InvariantViolation(seq, NODE, name, text)


def _idle_and_used(recording: Recording, name: NodeName, seq: Seq) -> Resource:
    amounts = recording.timeline.state_at(seq).nodes[name]
    return amounts.idle.clone().add(amounts.used)


def _first_differing(values: Iterable[tuple[Seq, Resource]], expected: Resource) -> Iterator[tuple[Seq, Resource]]:
    """(event, value) at each event where the value begins to differ from the expected one or differs anew."""
    last = ""
    for seq, value in values:
        wrong = "" if _are_equal(value, expected) else str(value)
        if wrong and wrong != last:
            yield seq, value
        last = wrong


def _are_equal(left: Resource, right: Resource) -> bool:
    names = dict.fromkeys(name for amounts in (left, right) for name, _ in amounts.items())
    return all(abs(left.get(name) - right.get(name)) < MIN_RESOURCE for name in names)


def _seqs_within(recording: Recording, seqs: Iterable[Seq]) -> Iterator[Seq]:
    return (seq for seq in dict.fromkeys(seqs) if 1 < seq <= len(recording))


# Accounting


def _book_violations(recording: Recording) -> Iterator[InvariantViolation]:
    for plugin, rule in SUMMED_BOOKS:
        for name, figures in recording.timeline.figures.get(plugin, {}).items():
            if name and "allocated" in figures:
                yield from _violations_of_book(recording, plugin, rule, name)


def _violations_of_book(recording: Recording, plugin: str, rule: str, name: str) -> Iterator[InvariantViolation]:
    """Compares a plugin's `allocated` with the sum over tasks after each event that changes either."""
    jobs = list(_jobs_of_book(recording, rule, name))
    moves = sorted(_task_moves(recording, jobs), key=lambda move: move[0])
    total, passed, last = _requests_at_opening(recording, jobs), 0, ""
    written = _seqs_within(recording, recording.timeline.seqs_written(event_index.BOOK, (plugin, name, "allocated")))
    for seq in dict.fromkeys(merge((1,), written, (seq for seq, _, _ in moves))):
        upto = bisect_right(moves, seq, key=lambda move: move[0])
        for _, sign, request in moves[passed:upto]:
            # Without upstream's assertion, which would raise: a wrong sum must be reported instead.
            total = total.add(request) if sign > 0 else total.sub_without_assert(request)
        passed = upto
        booked = recording.timeline.state_at(seq).plugin_amount(plugin, name, "allocated")
        wrong = "" if _are_equal(booked, total) else f"{booked} {total}"
        if wrong and wrong != last:
            text = f"{plugin} has {format_resource(booked)} for {name}, its tasks {format_resource(total)}"
            yield InvariantViolation(seq, rule, name, text)
        last = wrong


def _jobs_of_book(recording: Recording, rule: str, name: str) -> Iterator[JobInfo]:
    jobs = recording.session.jobs
    if rule == JOB:
        yield jobs[name]
        return
    below = dict.fromkeys(_queues_below(recording, name))
    yield from (job for job in jobs.values() if job.queue in below)


def _queues_below(recording: Recording, name: QueueName) -> Iterator[QueueName]:
    """The queue and all queues below it in the tree of queues."""
    for queue in recording.session.queues:
        ancestors = recording.timeline.opening_books.get((CAPACITY, queue, "ancestors")) or ()
        if queue == name or name in ancestors:
            yield queue


def _requests_at_opening(recording: Recording, jobs: Iterable[JobInfo]) -> Resource:
    total = Resource()
    opening = recording.timeline.opening_tasks
    for job in jobs:
        for task in job.tasks.values():
            if _occupies_room(opening[task.key].status):
                total.add(task.resreq)
    return total


def _task_moves(recording: Recording, jobs: Iterable[JobInfo]) -> Iterator[tuple[Seq, int, Resource]]:
    """(event, 1 or -1, request) for each task that begins (1) or ceases (-1) to hold room."""
    for job in jobs:
        for key in recording.timeline.touched.get(job.uid, ()):
            before = _occupies_room(recording.timeline.opening_tasks[key].status)
            for seq in _seqs_within(recording, recording.timeline.seqs_written(event_index.TASK, key)):
                after = _occupies_room(recording.timeline.state_at(seq).tasks[key].status)
                if after != before:
                    yield seq, 1 if after else -1, recording.timeline.tasks[key].resreq
                before = after


def _occupies_room(status: TaskStatus) -> bool:
    return is_allocated_status(status) or status is TaskStatus.PIPELINED


# Statements


def _statement_violations(recording: Recording) -> Iterator[InvariantViolation]:
    """A violation per action that ends with operations which are neither committed nor undone."""
    kinds = (OpEvent, StatementEvent, ActionEvent)
    unsettled: dict[TaskKey, Seq] = {}
    for seq in merge(*(recording.index.seqs_of_type(kind) for kind in kinds)):
        event = recording.event_at(int(seq))
        if isinstance(event, OpEvent):
            if event.via is None and event.op in PLANNED_OPS:
                unsettled[event.task] = int(seq)
            elif event.op.startswith("un"):
                unsettled.pop(event.task, None)
        elif isinstance(event, StatementEvent) and event.what == "commit":
            for _, task, _ in event.ops:
                unsettled.pop(task, None)
        elif isinstance(event, ActionEvent) and event.what == "end" and unsettled:
            listed = ", ".join(f"{task} at {since}" for task, since in list(unsettled.items())[:3])
            extra = f" and {len(unsettled) - 3} more" if len(unsettled) > 3 else ""
            yield InvariantViolation(int(seq), STATEMENT, event.action, f"{event.action} leaves open: {listed}{extra}")
            unsettled.clear()
