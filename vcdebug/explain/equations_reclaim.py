"""The arithmetic of capacity's victims: which candidates a queue must give back, one line per candidate as asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from vcdebug.explain.equation import Equation, Figure, Term
from vcdebug.explain.equations_capacity import SPOILT, plugin_of
from vcdebug.explain.orders import order_of
from vcdebug.explain.past import before, job_of, task_of
from vcdebug.explain.queues import CAPACITY
from vcdebug.framework.order import PriorityQueue
from vcdebug.framework.record import HookEvent, Level, Record
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.queue import ROOT_QUEUE
from vcdebug.model.resource import CPU, MEMORY, MIN_RESOURCE, PODS, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.capacity import Capacity
from vcdebug.plugins.capacity.attr import QueueAttr, concerned, exceeds_deserved, keeps_guarantee, overlap
from vcdebug.trace.recording import Recording

FORMULA = "the queue keeps its guarantee, and holds more than it deserves in a dimension of the candidate"
COLUMNS = ("queue", "dimension", "held", "deserved", "guarantee")
NO_JOB = "its job is not in the session"
GANG_PREEMPT = "gangpreempt"
NOTHING: tuple[Figure, ...] = (None,) * len(COLUMNS)


class Refusal(NamedTuple):
    """Why a candidate stays, with the dimension that the reason is about."""

    why: str
    dimension: str = ""


class Giving:
    """One question: what queues hold while victims are taken off it, one by one."""

    def __init__(self, recording: Recording, seq: Seq, reclaimer: TaskInfo | None) -> None:
        self.recording = recording
        self.plugin: Capacity = plugin_of(recording)
        self.state = before(recording, seq)
        self.reclaimer = reclaimer
        job = job_of(recording, reclaimer.key) if reclaimer is not None else None
        self.asking = self.plugin.queues.get(job.queue) if job is not None else None
        self._held: dict[QueueName, Resource] = {}

    def held(self, queue: QueueName) -> Resource:
        """What the queue holds without the victims so far."""
        if queue not in self._held:
            self._held[queue] = self.state.amount(CAPACITY, queue, "allocated").clone()
        return self._held[queue]

    def term(self, key: TaskKey) -> Term:
        """One candidate; a victim is taken off its queue and the ancestors that were asked."""
        job = job_of(self.recording, key)
        attr = self.plugin.queues.get(job.queue) if job is not None else None
        if attr is None:
            return Term(key, NOTHING, False, NO_JOB)
        task, asked = task_of(self.recording, key), self._ancestors_asked(attr)
        refused = self._refusal(attr, task, asked)
        figures = self._figures(attr, task, refused)
        if refused is None:
            for name in (attr.name, *asked):
                self.held(name).sub_without_assert(task.resreq)
        return Term(key, figures, refused is None, "" if refused is None else refused.why)

    def _refusal(self, attr: QueueAttr, task: TaskInfo, asked: Sequence[QueueName]) -> Refusal | None:
        held = self.held(attr.name)
        if self.reclaimer is not None and not overlap(task, self.reclaimer):
            return Refusal("it frees nothing that the reclaimer asks for")
        if not keeps_guarantee(attr, held, task):
            short = _first_short(attr, held, task)
            return Refusal(f"queue {attr.name} would fall below its guarantee of {short}", short)
        if self._relatives(attr) and not concerned(task, attr.deserved):
            return Refusal(f"neither {attr.name} nor the reclaimer's queue deserves anything in these dimensions")
        if not exceeds_deserved(attr, held, task):
            return Refusal(f"queue {attr.name} holds no more than it deserves")
        for name in asked:
            ancestor = self.plugin.queues.get(name)
            if ancestor is None or not exceeds_deserved(ancestor, self.held(name), task):
                return Refusal(f"its ancestor {name} holds no more than it deserves")
        return None

    def _relatives(self, attr: QueueAttr) -> bool:
        """Whether an ancestor below the root is near enough to both, and the reclaimer's deserves nothing either."""
        if self.asking is None or self.reclaimer is None or not self.plugin.ancestor_level:
            return False
        near = [list(each.ancestors)[-self.plugin.ancestor_level :] for each in (attr, self.asking)]
        related = any(name != ROOT_QUEUE and name in near[1] for name in near[0])
        return related and not concerned(self.reclaimer, self.asking.deserved)

    def _ancestors_asked(self, attr: QueueAttr) -> list[QueueName]:
        """The nearest ancestors, those left out that are as far from the reclaimer's queue."""
        if self.asking is None:
            return []
        distances = range(1, min(self.plugin.ancestor_level, len(attr.ancestors)) + 1)
        pairs = ((attr.nearest(distance), self.asking.nearest(distance)) for distance in distances)
        names = (name for name, other in pairs if name is not None and name not in (ROOT_QUEUE, other))
        return list(dict.fromkeys(names))

    def _figures(self, attr: QueueAttr, task: TaskInfo, refused: Refusal | None) -> tuple[Figure, ...]:
        held = self.held(attr.name)
        name = (refused.dimension if refused is not None else "") or _telling(attr, held, task)
        return attr.name, name, held.get(name), attr.deserved.get(name), attr.guarantee.get(name)


def _telling(attr: QueueAttr, held: Resource, task: TaskInfo) -> str:
    """The dimension of the task that is exceeded, else its first."""
    names = [name for name, amount in task.resreq.items() if amount >= MIN_RESOURCE and name != PODS]
    judged = [name for name in names if _counts(attr, name)]
    exceeded = [name for name in judged if held.get(name) > attr.deserved.get(name)]
    return next(iter(exceeded or judged or names), CPU)


def _counts(attr: QueueAttr, name: str) -> bool:
    return attr.deserved.get(name) >= MIN_RESOURCE if name in (CPU, MEMORY) else attr.deserved.has(name)


def _first_short(attr: QueueAttr, held: Resource, task: TaskInfo) -> str:
    left = held.clone().sub_without_assert(task.resreq)
    return next((name for name, amount in attr.guarantee.items() if amount - left.get(name) >= MIN_RESOURCE), CPU)


def reclaimable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Candidates in the order of eviction whose queues hold more than they deserve."""
    subject = dict(event.subject)
    reclaimer = task_of(recording, subject["task"])
    title = f"capacity: from whom can {reclaimer.key} reclaim?"
    giving = Giving(recording, seq, reclaimer)
    if not giving.plugin.ready or giving.asking is None:
        return Equation(title, FORMULA, (), "task", (), (), None, SPOILT if giving.asking else NO_JOB)
    ordered = _in_order_of_eviction(recording, seq, subject["candidates"], reclaimer.key)
    return _choice(title, [giving.term(key) for key in ordered], "one after the other in the order of eviction")


def _in_order_of_eviction(
    recording: Recording, seq: Seq, candidates: Sequence[TaskKey], reclaimer: TaskKey
) -> list[TaskKey]:
    """As the heap of victims gives them, asked again with the figures of that moment."""

    def less(left: TaskKey, right: TaskKey) -> bool:
        return order_of(recording, seq, "victim", left, right, reclaimer).sign < 0

    heap: PriorityQueue[TaskKey] = PriorityQueue(less, "task", str, Record()).extend(candidates)
    return [heap.pop() for _ in range(len(candidates))]


def unified_evictable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """As Reclaimable in the order given, and without a look at dimensions or ancestors; gangpreempt takes all."""
    candidates: tuple[TaskKey, ...] = dict(event.subject)["candidates"]
    action = recording.tree.around(seq, Level.ACTION)
    title = "capacity: whose queue holds more than it deserves?"
    if action is not None and action.name == GANG_PREEMPT:
        return _choice(
            title, [Term(key, NOTHING, True) for key in candidates], "inside one queue every candidate may go"
        )
    giving = Giving(recording, seq, None)
    if not giving.plugin.ready:
        return Equation(title, FORMULA, (), "task", (), (), None, SPOILT)
    return _choice(title, [giving.term(key) for key in candidates], "")


def _choice(title: str, terms: list[Term], note: str) -> Equation:
    victims = tuple(term.name for term in terms if term.holds)
    return Equation(title, FORMULA, COLUMNS, "task", tuple(terms), victims, None, note)


EQUATIONS: Final[Mapping[tuple[str, str], Callable[[Recording, Seq, HookEvent], Equation]]] = {
    (CAPACITY, "Reclaimable"): reclaimable,
    (CAPACITY, "UnifiedEvictable"): unified_evictable,
}
