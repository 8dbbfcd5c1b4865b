"""A queue's limit and what would be beside it: as lines of an equation, as words, and as numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from vcdebug import amount_text
from vcdebug.amount_text import digits_apart
from vcdebug.explain import amounts
from vcdebug.explain.answer import Number
from vcdebug.explain.equation import Equation, Term, TermKind, all_hold, first_failing
from vcdebug.framework.hooks import ALLOCATABLE, PRE_PREDICATE, SIMULATE_ADD_TASK, SIMULATE_REMOVE_TASK
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.record import CHARGING_OPS, RELEASING_OPS, HookEvent, Level, OpEvent
from vcdebug.framework.session import Session
from vcdebug.model.limits import ELASTIC, MINIMUM, REQUEST, LimitCheck
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import CAPACITY
from vcdebug.recording.event_index import TASK
from vcdebug.recording.event_index import seq_before as before_seq
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import state_before, task_of

if TYPE_CHECKING:
    from vcdebug.plugins.capacity.limits import Reservations


NOT_REQUESTED = "not asked for"
NO_MINIMUM = "the PodGroup states no minResources"
PODS_IGNORED = "pods are not compared here"


def all_dimensions(*resources: Resource) -> list[str]:
    """cpu, memory, and the scalars of any of them."""
    scalars = [name for resource in resources for name in resource.scalars or ()]
    return [CPU, MEMORY, *sorted(dict.fromkeys(scalars))]


def limit_terms(check: LimitCheck, names: Iterable[str], prefix: str = "") -> Iterator[Term]:
    """One line per dimension, judged as the plugin judges."""
    judged, exceeded = check.judged_dimensions, check.exceeded_dimensions
    for name in names:
        if name in judged:
            yield Term(prefix + name, check.figures_of(name), name not in exceeded)
        else:
            why = PODS_IGNORED if name == PODS and check.asked.get(name) > 0 else NOT_REQUESTED
            yield Term(prefix + name, check.figures_of(name), None, why)


def limit_columns(check: LimitCheck, limit: str) -> tuple[str, ...]:
    """What the figures of such lines are."""
    return (*(name for name, _ in check.parts), "sum", limit)


def admission_equation(
    title: str,
    formula: str,
    columns: tuple[str, ...],
    terms: Iterable[Term],
    objection: str = "",
    free: str = "",
    kind: TermKind = "dimension",
) -> Equation:
    """Whether a PodGroup is admitted: no line speaks against it, and nothing that counts before any arithmetic does;
    `free` says why no line counts.
    """
    lines = tuple(terms)
    verdict = PERMIT if not objection and (free or all_hold(lines)) else REJECT
    return Equation(title, formula, columns, kind, lines, verdict, first_failing(lines), objection or free)


def not_open_reason(session: Session, queue: QueueName) -> str:
    """In words, that a queue's state refuses everything; empty for an open one."""
    state = session.queues[queue].state
    return "" if state == OPEN else f"the queue's state is {state or 'not set'}, not {OPEN}"


class QueueCheck(NamedTuple):
    """A queue, or an ancestor of it, with the question that its plugin asked about it."""

    queue: QueueName
    figure: str
    """What sets the limit: deserved or realCapability."""
    check: LimitCheck
    capability: Resource | None = None
    """The queue's own, where it states any."""

    @classmethod
    def for_queue(cls, session: Session, queue: QueueName, figure: str, check: LimitCheck) -> QueueCheck:
        """A check of a queue of the session, or of the root above them."""
        info = session.queues.get(queue)
        own = info.capability if info is not None else None
        return cls(queue, figure, check, Resource.from_list(own) if own else None)

    def without_amounts(self) -> QueueCheck:
        """The same where the answer does not depend on amounts."""
        return self._replace(check=self.check._replace(asked=Resource()))

    @property
    def exceeded_dimensions(self) -> list[str]:
        """Dimensions in which the request is too much; empty where the plugin refuses for another reason."""
        return self.check.exceeded_dimensions

    @property
    def first_dimension(self) -> str:
        """The dimension to speak of."""
        return next(iter(self.exceeded_dimensions), CPU)

    @property
    def is_capability(self) -> bool:
        """Whether the queue's own capability is what limits this dimension."""
        name = next(iter(self.exceeded_dimensions), PODS)
        return self.capability is not None and self.capability.get(name) == self.check.limit.get(name)

    def format_limit(self, name: str) -> str:
        """`8 cpu`."""
        return f"{self._written(name, self.check.limit)} {name}"

    def format_taken(self, name: str) -> str:
        """`4`."""
        return self._written(name, self.check.counted_already)

    def request_of(self, name: str) -> str:
        """`2`."""
        return self._written(name, self.check.request)

    def total_of(self, name: str) -> str:
        """What would be taken with the request: `6`."""
        return self._written(name, self.check.total)

    def _written(self, name: str, what: Resource) -> str:
        """An amount in enough digits to differ from the limit that it is compared with."""
        compared = (self.check.request, self.check.counted_already, self.check.total, self.check.limit)
        return amount_text.format_amount(
            name, what.get(name), digits_apart(name, (each.get(name) for each in compared))
        )

    def format_excess(self, name: str) -> str:
        """By how much the limit would be exceeded."""
        return amount_text.format_amount(name, self.check.excess_of(name))

    def others_exceeded_words(self) -> str:
        """The other dimensions in which it is too much, to be said after the first."""
        others = [name for name in self.exceeded_dimensions if name != self.first_dimension]
        return f" ({amount_text.join_names(others)} exceeded too)" if others else ""

    def arithmetic_lines(self) -> tuple[str, ...]:
        """The arithmetic, dimension by dimension."""
        return tuple(self._arithmetic_line(name) for name in self.exceeded_dimensions)

    def _arithmetic_line(self, name: str) -> str:
        parts = " ".join(
            f"{'-' if part == ELASTIC else '+'} {part} {self._written(name, amount)}"
            for part, amount in self.check.parts
            if part not in (REQUEST, MINIMUM)
        )
        asked, limit = self.request_of(name), self._written(name, self.check.limit)
        return f"queue {self.queue}, {name}: request {asked} {parts} > {self.figure} {limit}"

    def excess_numbers(self) -> dict[str, Number]:
        """By how much, for programs."""
        return {f"short.{name}": amounts.number(name, self.check.excess_of(name)) for name in self.exceeded_dimensions}

    def limit_numbers(self) -> dict[str, Number]:
        """The same as the lines."""
        return {
            **amounts.numbers("queue.taken", self.check.counted_already, self.exceeded_dimensions),
            **amounts.numbers("queue.limit", self.check.limit, self.exceeded_dimensions),
            **self.excess_numbers(),
        }


def first_exceeded(checks: list[QueueCheck]) -> QueueCheck:
    """The queue, or the nearest ancestor, that is full; the queue where none is."""
    return next((each for each in checks if each.exceeded_dimensions), checks[0])


# What queues hold while evictions are simulated, and what they keep for gated pods: the plugin's books, kept again.

SIMULATED_EXCHANGES = {SIMULATE_ADD_TASK.upstream: True, SIMULATE_REMOVE_TASK.upstream: False}


def dry_run_start(recording: Recording, seq: Seq, plugin: str, task: TaskKey) -> Seq | None:
    """The PrePredicate that a plugin's simulations for the task start from."""
    about = recording.index.seqs_about(TASK, task)
    earlier = before_seq(about, seq)
    while earlier is not None:
        event = recording.event_at(earlier)
        if isinstance(event, HookEvent) and (event.plugin, event.point) == (plugin, PRE_PREDICATE.upstream):
            return earlier
        earlier = before_seq(about, earlier)
    return None


def simulated_allocation(
    recording: Recording, start: Seq, seq: Seq, plugin: str, queue: QueueName, family: Collection[QueueName]
) -> Resource:
    """What a queue holds with the dry run's additions and removals; `family` are the queues whose tasks count."""
    held = state_before(recording, start).plugin_amount(plugin, queue, "allocated").clone()
    span = recording.span_tree.span_around(seq, Level.NODE)
    for _, event in recording.filter_events(HookEvent, range(seq if span is None else span.first, seq)):
        if event.plugin == plugin and event.result is None and event.point in SIMULATED_EXCHANGES:
            task = task_of(recording, event.other)
            if recording.owners.queues.get(task.job) in family:
                held = held.add(task.resreq) if SIMULATED_EXCHANGES[event.point] else held.sub(task.resreq)
    return held


def reserved_for_others(recording: Recording, seq: Seq, queue: QueueName, task: TaskInfo) -> Resource | None:
    """What the queue keeps for other tasks before an event; None where nothing is kept for anybody."""
    plugin = recording.session.plugins.get(CAPACITY)
    if plugin is None:
        return None
    from vcdebug.plugins.capacity import Capacity

    if not isinstance(plugin, Capacity) or plugin.limits.reservations is None:
        return None
    return _reservations_before(recording, seq).reserved_for_others(queue, task)


@per_recording(most=16)
def _reservations_before(recording: Recording, seq: Seq) -> Reservations:
    from vcdebug.plugins.capacity.limits import Reservations

    timeline, owners = recording.timeline, recording.owners
    tasks = ((job.queue, task) for job in recording.session.jobs.values() for task in job.tasks.values())
    opening = (entry for entry in tasks if timeline.opening_tasks[entry[1].key].status is TaskStatus.PENDING)
    kept = Reservations(opening)
    for number in range(1, seq):
        event = recording.event_at(number)
        if isinstance(event, HookEvent) and (event.plugin, event.point) == (CAPACITY, ALLOCATABLE.upstream):
            if event.result:
                kept.add_task(event.queue, timeline.tasks[event.task])
        elif isinstance(event, OpEvent) and event.op in CHARGING_OPS:
            kept.remove_task(timeline.tasks[event.task].uid)
        elif isinstance(event, OpEvent) and event.op in RELEASING_OPS and event.task in owners.jobs:
            kept.add_task(owners.queues[owners.jobs[event.task]], timeline.tasks[event.task])
    return kept
