"""Which of two elements of a priority queue goes first, and what decided: every comparison up to the first difference.

Upstream: framework/session (JobOrderFn and its like), framework/session (BuildVictimsPriorityQueue).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from vcdebug.explain.plugin import Difference, Then, decided, smaller_first
from vcdebug.explain.plugins import words
from vcdebug.framework.combine import Tiers
from vcdebug.framework.hooks import JOB_ORDER, QUEUE_ORDER, SUB_JOB_ORDER, TASK_ORDER, VICTIM_QUEUE_ORDER, AnyHook
from vcdebug.framework.record import Level, PopEvent, Span
from vcdebug.framework.ties import JOB_TIES, QUEUE_TIES, SUB_JOB_TIES, TASK_TIES, Tie, pod_indexes, tie_key
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo
from vcdebug.trace.index import Seqs
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import before, task_of

Kind = Literal["queue", "job", "task", "subjob", "victim"]
ORDERS: Final[Mapping[str, AnyHook]] = {
    "queue": QUEUE_ORDER,
    "job": JOB_ORDER,
    "task": TASK_ORDER,
    "subjob": SUB_JOB_ORDER,
}
INDEX = "index in the name"


def ties(kind: Kind, left: object, right: object) -> Iterator[Difference]:
    """What decides where no plugin does."""
    if isinstance(left, TaskInfo) and isinstance(right, TaskInfo) and (indexes := pod_indexes(left, right)):
        yield smaller_first(INDEX, *indexes)
    key = tie_key(TIES[kind])
    mine, other = key(left), key(right)
    looked = zip((tie.words for tie in TIES[kind]), mine, other, strict=True)
    yield from decided((mine > other) - (mine < other), looked)


TIES: Final[Mapping[str, tuple[Tie, ...]]] = {
    "queue": QUEUE_TIES,
    "job": JOB_TIES,
    "task": TASK_TIES,
    "subjob": SUB_JOB_TIES,
}


@dataclass(frozen=True, slots=True)
class Compared:
    """One thing that was compared, and on whose behalf."""

    difference: Difference
    point: str = ""
    """The hook by upstream's name; empty for what decides where no plugin does."""
    tier: int = 0
    plugin: str = ""
    reverse: bool = False
    """Victims of one job leave in reverse task order: the one that would go first stays longest."""

    @property
    def sign(self) -> int:
        """-1 puts the left one first."""
        return -self.difference.sign if self.reverse else self.difference.sign


class Order(NamedTuple):
    """Two elements compared: everything up to the first difference."""

    kind: Kind
    left: str
    right: str
    steps: tuple[Compared, ...]

    @property
    def deciding(self) -> Compared | None:
        """The first difference; None where everything is equal."""
        return next((step for step in self.steps if step.sign), None)

    @property
    def sign(self) -> int:
        """-1 where the left one goes first."""
        decided = self.deciding
        return 0 if decided is None else decided.sign

    @property
    def certain(self) -> bool:
        """False where a plugin had a say of which a recording keeps nothing."""
        return all(step.difference.known for step in self.steps)


def kind_of(recording: Recording, seq: Seq) -> Kind | None:
    """What kind of queue a pop left: tasks that leave one inside a node's turn are victims."""
    event = recording.event(seq)
    if not isinstance(event, PopEvent) or event.kind not in ORDERS:
        return None
    if event.kind == "task" and _eviction(recording, seq):
        return "victim"
    return event.kind  # type: ignore[return-value]


def _eviction(recording: Recording, seq: Seq) -> bool:
    span, action = recording.tree.innermost(seq), recording.tree.around(seq, Level.ACTION)
    on_node = span is not None and span.level is Level.NODE
    return on_node and action is not None and recording.conf.facts_of(action.name).evicts_by_pod


Heap = tuple[int, str, str]
"""Which queue of elements: the span in which it lives, the kind of its elements, whose they are."""


@per_recording(most=8)
def _heaps(recording: Recording, index: int) -> Mapping[Heap, Seqs]:
    """The pops of one action by the queue that they left."""
    span, pops = recording.spans[index], recording.index.of_type(PopEvent)
    found: dict[Heap, array[int]] = {}
    for seq in pops[bisect_left(pops, span.first) : bisect_right(pops, span.last)]:
        found.setdefault(heap_of(recording, seq), array("I")).append(seq)
    return found


def heap_of(recording: Recording, seq: Seq) -> Heap:
    """The queue that a pop left: jobs of one queue, over all of its turns; tasks of one job, or victims on one node.

    Actions that only place keep a job's queue of tasks from one visit to the next.
    """
    event, span = recording.event(seq), recording.tree.innermost(seq)
    action, kind = recording.tree.around(seq, Level.ACTION), getattr(event, "kind", "")
    if action is None or span is None:
        return -1, kind, ""
    if kind in ("queue", "job"):
        queue = recording.tree.around(seq, Level.QUEUE) if kind == "job" else None
        return action.index, kind, queue.name if queue is not None else ""
    facts = recording.conf.facts_of(action.name)
    if span.level is Level.JOB and facts.places and not facts.evicts:
        return action.index, kind, span.name
    return span.index, kind, ""


def siblings(recording: Recording, seq: Seq) -> Seqs:
    """The pops of the same queue."""
    action = recording.tree.around(seq, Level.ACTION)
    return _heaps(recording, action.index).get(heap_of(recording, seq), ()) if action is not None else ()


def heaps_around(recording: Recording, seq: Seq) -> Iterator[tuple[Span, str, Seqs]]:
    """(span, kind, pops) of every queue of elements that is open around an event, the widest first."""
    path = recording.tree.path(seq)[1:]
    heaps = _heaps(recording, path[0].index) if path else {}
    for span in path:
        for heap in _keys(path[0].index, span):
            if heap in heaps:
                yield span, heap[1], heaps[heap]


def _keys(action: int, span: Span) -> Iterator[Heap]:
    """The queues of elements that belong to a span."""
    if span.level is Level.ACTION:
        yield action, "queue", ""
    if span.level is Level.QUEUE:
        yield action, "job", span.name
    for kind in ("subjob", "task"):
        yield span.index, kind, ""
        if span.level is Level.JOB:
            yield action, kind, span.name


def rival(recording: Recording, seq: Seq) -> PopEvent | None:
    """What left the same queue next, the same element that came back passed over."""
    event, pops = recording.event(seq), siblings(recording, seq)
    for later in pops[bisect_right(pops, seq) :]:
        other = recording.event(later)
        if isinstance(other, PopEvent) and isinstance(event, PopEvent) and other.name != event.name:
            return other
    return None


def order_at(recording: Recording, seq: Seq, other: str) -> Order | None:
    """The element that was popped at an event against another one, as they stood just before."""
    event, kind = recording.event(seq), kind_of(recording, seq)
    if not isinstance(event, PopEvent) or kind is None:
        return None
    asker = recording.tree.around(seq, Level.TASK)
    return order_of(recording, seq, kind, event.name, other, "" if asker is None else asker.name)


def order_of(recording: Recording, seq: Seq, kind: Kind, left: str, right: str, asker: TaskKey = "") -> Order:
    """Two elements by name before an event; `asker` is the preemptor where they are victims."""
    then = Then(recording, seq - 1, before(recording, seq))
    if kind == "victim":
        steps = _victims(then, left, right, asker)
    else:
        one, two = (_element(recording, kind, name) for name in (left, right))
        steps = _asked(then, kind, one, two)
    return Order(kind, left, right, tuple(_until_difference(steps)))


def _until_difference(steps: Iterator[Compared]) -> Iterator[Compared]:
    for step in steps:
        yield step
        if step.sign:
            return


def _element(recording: Recording, kind: Kind, name: str) -> object:
    session = recording.session
    if kind == "job":
        return session.jobs[name]
    if kind == "queue":
        return session.queues[name]
    if kind == "subjob":
        return session.jobs[recording.owners.sub_jobs[name]].sub_jobs[name]
    return task_of(recording, name)


def _asked(then: Then, kind: Kind, left: object, right: object) -> Iterator[Compared]:
    """Plugins tier by tier, then what decides without them."""
    yield from _plugins(then, ORDERS[kind], left, right)
    yield from map(Compared, ties(kind, left, right))


def _plugins(then: Then, hook: AnyHook, left: object, right: object) -> Iterator[Compared]:
    """What each plugin compares; of one about which nothing is said a recording keeps nothing."""
    for tier, plugin in _in_turn(then, hook):
        unknown = Difference(f"{plugin}'s own order", None, None, 0, known=False)
        comparator = words(plugin).comparators.get(hook.method)
        for difference in comparator(then, left, right) if comparator is not None else (unknown,):
            yield Compared(difference, hook.upstream, tier, plugin)


def _in_turn(then: Then, hook: AnyHook) -> Iterator[tuple[int, str]]:
    """(tier, plugin) of those that are asked."""
    tiers = then.recording.session.plugin_calls.get(hook.method, Tiers())
    return ((tier, one.plugin) for tier, plugin_calls in enumerate(tiers, start=1) for one in plugin_calls)


# Victims


def _victims(then: Then, left: TaskKey, right: TaskKey, asker: TaskKey) -> Iterator[Compared]:
    """Orphans first, then by queue, by reverse job order, by reverse task order."""
    recording = then.recording
    one, two = task_of(recording, left), task_of(recording, right)
    jobs = recording.session.jobs
    mine, other = jobs.get(one.job), jobs.get(two.job)
    if one.job != two.job and (mine is None or other is None):
        absent = Difference("has a job", mine is not None, other is not None, (other is None) - (mine is None))
        yield Compared(absent)
    elif one.job != two.job and mine is not None and other is not None:
        preemptor = jobs.get(task_of(recording, asker).job) if asker else None
        if preemptor is not None and mine.queue != other.queue:
            queues = recording.session.queues
            yield from _victim_queues(then, queues[mine.queue], queues[other.queue], queues[preemptor.queue])
            return
        for step in _plugins(then, JOB_ORDER, mine, other):
            yield replace(step, reverse=True)
    for step in _asked(then, "task", one, two):
        yield replace(step, reverse=True)


def _victim_queues(then: Then, left: QueueInfo, right: QueueInfo, asking: QueueInfo) -> Iterator[Compared]:
    for tier, plugin in _in_turn(then, VICTIM_QUEUE_ORDER):
        compare = words(plugin).victim_queues
        for difference in compare(then, left, right, asking) if compare is not None else ():
            yield Compared(difference, VICTIM_QUEUE_ORDER.upstream, tier, plugin)
    for step in _asked(then, "queue", left, right):
        yield replace(step, reverse=True)
