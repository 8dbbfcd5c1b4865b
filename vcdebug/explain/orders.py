"""Which of two elements of a priority queue goes first, and what decided: every comparison up to the first difference.

Upstream: framework/session (JobOrderFn and its like, BuildVictimsPriorityQueue). controllers/job/helpers.CompareTask
goes by the indexes of two pods that both have one, else by their ages.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import format_numbers_apart
from vcdebug.explain.plugins import OrderDifference, OrderMoment, explainer_for, iter_differences, smaller_first
from vcdebug.framework.columns import ColumnSequence
from vcdebug.framework.combine import Tiers
from vcdebug.framework.hooks import JOB_ORDER, QUEUE_ORDER, SUB_JOB_ORDER, TASK_ORDER, VICTIM_QUEUE_ORDER, AnyHook
from vcdebug.framework.order import HeapComparisons
from vcdebug.framework.record import Level, PopEvent, Span
from vcdebug.framework.ties import JOB_TIES, QUEUE_TIES, SUB_JOB_TIES, TASK_TIES, TieField, pod_indexes, tie_key
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo
from vcdebug.recording.event_index import Seqs
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import state_before, task_of

ElementKind = Literal["queue", "job", "task", "subjob", "victim"]
ORDERS: Final[Mapping[str, AnyHook]] = {
    "queue": QUEUE_ORDER,
    "job": JOB_ORDER,
    "task": TASK_ORDER,
    "subjob": SUB_JOB_ORDER,
}
NAME_INDEX = "index in the name"


def tie_differences(kind: ElementKind, left: object, right: object) -> Iterator[OrderDifference]:
    """Yields the tie-breaks of the session between two elements that all plugins consider equal."""
    if isinstance(left, TaskInfo) and isinstance(right, TaskInfo) and (indexes := pod_indexes(left, right)):
        yield smaller_first(NAME_INDEX, *indexes)
    key = tie_key(TIES_BY_KIND[kind])
    left_key, right_key = key(left), key(right)
    comparisons = zip((tie.description for tie in TIES_BY_KIND[kind]), left_key, right_key, strict=True)
    yield from iter_differences((left_key > right_key) - (left_key < right_key), comparisons)


TIES_BY_KIND: Final[Mapping[str, tuple[TieField, ...]]] = {
    "queue": QUEUE_TIES,
    "job": JOB_TIES,
    "task": TASK_TIES,
    "subjob": SUB_JOB_TIES,
}


class OrderStep(Struct, frozen=True):
    """One comparison of two elements by a plugin, or by a tie-break of the session."""

    difference: OrderDifference
    point: str = ""
    """The hook by upstream's name; empty for a tie-break of the session."""
    tier: int = 0
    plugin: str = ""
    reverse: bool = False
    """Whether the order is reversed: of one job's victims, the last in task order is evicted first."""

    @property
    def order_sign(self) -> int:
        """-1 if the left element comes first, 1 if the right one does, 0 if they are equal."""
        return -self.difference.sign if self.reverse else self.difference.sign


class OrderComparison(Struct, frozen=True):
    """The comparison of two elements, step by step up to the first difference."""

    kind: ElementKind
    left: str
    right: str
    steps: tuple[OrderStep, ...]

    @property
    def deciding_step(self) -> OrderStep | None:
        """The last step, unless all steps are equal: then None."""
        return self.steps[-1] if self.steps and self.steps[-1].order_sign else None

    @property
    def deciding_words(self) -> str:
        """` (priority 10 before 0)`: what decides, with its numbers; empty where everything is equal."""
        step = self.deciding_step
        if step is None:
            return ""
        left, right = step.difference.left, step.difference.right
        numbers = [value for value in (left, right) if isinstance(value, int | float) and not isinstance(value, bool)]
        figures = format_numbers_apart(*numbers[:: -step.order_sign]) if len(numbers) == 2 else ()
        return f" ({' '.join(filter(None, (step.difference.label, ' before '.join(figures))))})"

    @property
    def order_sign(self) -> int:
        """-1 if the left element goes first, 1 if the right one does, 0 for no difference."""
        step = self.deciding_step
        return 0 if step is None else step.order_sign

    @property
    def is_certain(self) -> bool:
        """False if a plugin compared something that a recording does not keep."""
        return all(step.difference.is_recorded for step in self.steps)


def pop_kind(recording: Recording, seq: Seq) -> ElementKind | None:
    """The kind of element that an event popped; tasks popped inside a node's turn are victims. None for no pop."""
    event, tree = recording.event_at(seq), recording.span_tree
    if not isinstance(event, PopEvent) or event.kind not in ORDERS:
        return None
    span, action = tree.innermost_span(seq), tree.span_around(seq, Level.ACTION)
    on_node = span is not None and span.level is Level.NODE and action is not None
    # Victims are popped from a queue of tasks as well; only the enclosing node span tells the two apart.
    if event.kind == "task" and on_node and action and recording.conf.facts_of(action.name).evicts_by_pod:
        return "victim"
    return event.kind  # type: ignore[return-value]


HeapKey = tuple[int, str, str]
"""The key of a priority queue: span in which it exists, kind of its elements, and their owner."""


@per_recording(most=8)
def _pops_by_heap(recording: Recording, index: int) -> Mapping[HeapKey, Seqs]:
    """Priority queue → its pops, in one action."""
    span, pops = recording.spans[index], recording.index.seqs_of_type(PopEvent)
    by_heap: dict[HeapKey, array[int]] = {}
    for seq in pops[bisect_left(pops, span.first) : bisect_right(pops, span.last)]:
        by_heap.setdefault(heap_key(recording, seq), array("I")).append(seq)
    return by_heap


def heap_key(recording: Recording, seq: Seq) -> HeapKey:
    """The priority queue of a pop: jobs of one queue in all its turns, tasks of one job, or victims on one node.

    Actions that only place keep a job's queue of tasks from one visit to the next.
    """
    event, span = recording.event_at(seq), recording.span_tree.innermost_span(seq)
    action, kind = recording.span_tree.span_around(seq, Level.ACTION), getattr(event, "kind", "")
    if action is None or span is None:
        return -1, kind, ""
    if kind in ("queue", "job"):
        return action.index, kind, recording.span_tree.name_around(seq, Level.QUEUE) if kind == "job" else ""
    facts = recording.conf.facts_of(action.name)
    if span.level is Level.JOB and facts.places and not facts.evicts:
        return action.index, kind, span.name
    return span.index, kind, ""


def sibling_pops(recording: Recording, seq: Seq) -> Seqs:
    """Events that popped from the priority queue of the pop at `seq`."""
    action = recording.span_tree.span_around(seq, Level.ACTION)
    return _pops_by_heap(recording, action.index).get(heap_key(recording, seq), ()) if action is not None else ()


def heaps_around(recording: Recording, seq: Seq) -> Iterator[tuple[Span, str, Seqs]]:
    """(span, kind, pops) of every queue of elements that is open around an event, the widest first."""
    path = recording.span_tree.path_to(seq)[1:]
    heaps = _pops_by_heap(recording, path[0].index) if path else {}
    for span in path:
        for heap in _heap_keys(path[0].index, span):
            if heap in heaps:
                yield span, heap[1], heaps[heap]


def _heap_keys(action: int, span: Span) -> Iterator[HeapKey]:
    """Yields the keys of the priority queues that belong to a span."""
    if span.level is Level.ACTION:
        yield action, "queue", ""
    if span.level is Level.QUEUE:
        yield action, "job", span.name
    for kind in ("subjob", "task"):
        yield span.index, kind, ""
        if span.level is Level.JOB:
            yield action, kind, span.name


def next_rival(recording: Recording, seq: Seq) -> PopEvent | None:
    """The next pop from the same priority queue that is another element; None if there is none."""
    event, pops = recording.event_at(seq), sibling_pops(recording, seq)
    rivals = recording.filter_events(PopEvent, pops[bisect_right(pops, seq) :])
    return next((rival for _, rival in rivals if isinstance(event, PopEvent) and rival.name != event.name), None)


def order_at(recording: Recording, seq: Seq, other: str) -> OrderComparison | None:
    """Compare the element popped at an event with another one, in the state before that event."""
    event, kind = recording.event_at(seq), pop_kind(recording, seq)
    if not isinstance(event, PopEvent) or kind is None:
        return None
    return order_of(recording, seq, kind, event.name, other, recording.span_tree.name_around(seq, Level.TASK))


class PopComparisons(ColumnSequence[OrderComparison]):
    """The comparisons before a pop; each is explained when it is read, since there may be thousands."""

    def __init__(self, recording: Recording, seq: Seq, kind: ElementKind, heap: HeapComparisons) -> None:
        self._recording, self._kind, self._heap = recording, kind, heap
        self._numbers = heap.ranges[seq]
        self._asker = recording.span_tree.name_around(seq, Level.TASK)

    def __len__(self) -> int:
        return len(self._numbers)

    def _make_element(self, index: int) -> OrderComparison:
        heap, number = self._heap, self._numbers[index]
        names = heap.first_names[number], heap.second_names[number]
        return order_of(self._recording, heap.seqs[number], self._kind, *names, self._asker)


def comparisons_at(recording: Recording, seq: Seq) -> Sequence[OrderComparison]:
    """The comparisons that the priority queue made until the popped element was first, and in the pop, in call order.

    The element that goes first is the left one.
    """
    kind = pop_kind(recording, seq)
    if kind is None:
        return ()
    heap = recording.record.heap_log.heap_popped_at(seq)
    return PopComparisons(recording, seq, kind, _heap_comparisons(recording, heap))


@per_recording(most=4)
def _heap_comparisons(recording: Recording, heap: int) -> HeapComparisons:
    return HeapComparisons(recording.record.heap_log, heap)


def pops_of_hook(recording: Recording, hook: str) -> Iterator[Seq]:
    """The pops of elements that a comparison hook orders; none for other hooks."""
    orders = [*ORDERS.items(), *(("victim", order) for order in _VICTIM_ORDERS)]
    kinds = [kind for kind, order in orders if order.upstream == hook]
    return (seq for seq in recording.index.seqs_of_type(PopEvent) if kinds and pop_kind(recording, seq) in kinds)


_VICTIM_ORDERS: Final = (VICTIM_QUEUE_ORDER, JOB_ORDER, TASK_ORDER)


def order_of(
    recording: Recording, seq: Seq, kind: ElementKind, left: str, right: str, asker: TaskKey = ""
) -> OrderComparison:
    """Compare two named elements in the state before an event; `asker` is the preemptor if they are victims."""
    moment = OrderMoment(recording, seq - 1, state_before(recording, seq))
    if kind == "victim":
        steps = _victim_steps(moment, left, right, asker)
    else:
        first, second = (_element_named(recording, kind, name) for name in (left, right))
        steps = _compare_steps(moment, kind, first, second)
    return OrderComparison(kind, left, right, tuple(_until_difference(steps)))


# A generator, since upstream's order functions return at the first difference: later plugins are not called.
def _until_difference(steps: Iterator[OrderStep]) -> Iterator[OrderStep]:
    for step in steps:
        yield step
        if step.order_sign:
            return


def _element_named(recording: Recording, kind: ElementKind, name: str) -> object:
    session = recording.session
    if kind == "job":
        return session.jobs[name]
    if kind == "queue":
        return session.queues[name]
    if kind == "subjob":
        return session.jobs[recording.owners.sub_jobs[name]].sub_jobs[name]
    return task_of(recording, name)


def _compare_steps(moment: OrderMoment, kind: ElementKind, left: object, right: object) -> Iterator[OrderStep]:
    """The plugins' comparisons tier by tier, then the tie-breaks of the session."""
    yield from _plugin_steps(moment, ORDERS[kind], left, right)
    yield from map(OrderStep, tie_differences(kind, left, right))


def _plugin_steps(moment: OrderMoment, hook: AnyHook, left: object, right: object) -> Iterator[OrderStep]:
    """The comparison of each plugin; one without an explainer leaves an unknown step."""
    for tier, plugin in _asked_plugins(moment, hook):
        unknown = OrderDifference(f"{plugin}'s own order", None, None, 0, is_recorded=False)
        comparator = explainer_for(plugin).comparators.get(hook.method)
        for difference in comparator(moment, left, right) if comparator is not None else (unknown,):
            yield OrderStep(difference, hook.upstream, tier, plugin)


def _asked_plugins(moment: OrderMoment, hook: AnyHook) -> Iterator[tuple[int, str]]:
    """(tier, plugin) of each enabled plugin of a hook."""
    tiers = moment.recording.session.plugin_calls.get(hook.method, Tiers())
    return ((tier, call.plugin) for tier, plugin_calls in enumerate(tiers, start=1) for call in plugin_calls)


def _victim_steps(moment: OrderMoment, left: TaskKey, right: TaskKey, asker: TaskKey) -> Iterator[OrderStep]:
    """Orphans first, then by queue, by reverse job order, by reverse task order."""
    recording = moment.recording
    left_task, right_task = task_of(recording, left), task_of(recording, right)
    jobs = recording.session.jobs
    # A victim without a job in the session is evicted before all others.
    job, rival = jobs.get(left_task.job), jobs.get(right_task.job)
    if left_task.job != right_task.job and (job is None or rival is None):
        absent = OrderDifference("has a job", job is not None, rival is not None, (rival is None) - (job is None))
        yield OrderStep(absent)
    elif left_task.job != right_task.job and job is not None and rival is not None:
        preemptor = jobs.get(task_of(recording, asker).job) if asker else None
        if preemptor is not None and job.queue != rival.queue:
            queues = recording.session.queues
            yield from _victim_queue_steps(moment, queues[job.queue], queues[rival.queue], queues[preemptor.queue])
            return
        # The victims' heap uses the negated order functions, so that the task placed last is evicted first.
        for step in _plugin_steps(moment, JOB_ORDER, job, rival):
            yield replace(step, reverse=True)
    for step in _compare_steps(moment, "task", left_task, right_task):
        yield replace(step, reverse=True)


def _victim_queue_steps(then: OrderMoment, left: QueueInfo, right: QueueInfo, asking: QueueInfo) -> Iterator[OrderStep]:
    for tier, plugin in _asked_plugins(then, VICTIM_QUEUE_ORDER):
        compare = explainer_for(plugin).victim_queues
        for difference in compare(then, left, right, asking) if compare is not None else ():
            yield OrderStep(difference, VICTIM_QUEUE_ORDER.upstream, tier, plugin)
    for step in _compare_steps(then, "queue", left, right):
        yield replace(step, reverse=True)


# Cyclic task orders: a before b before c before a. The result of a heap then depends on the order of insertion.

MAX_COMPARED_TASKS = 200
"""The maximum number of tasks of one queue that are compared with each other."""


def find_order_circle(recording: Recording, tasks: Iterable[TaskKey]) -> tuple[TaskKey, ...]:
    """The shortest cycle of the task order through the first of these tasks; the first is repeated at its end.

    Empty unless all are in one queue and each comes both before and after the first, directly or over other tasks.
    """
    members = list(dict.fromkeys(tasks))
    pops = recording.events_of_type(PopEvent)
    seq = next((at_seq for at_seq, event in pops if event.kind == "task" and event.name in members), None)
    if seq is None or len(members) < 2 or len({_queue_key(recording, task) for task in members}) > 1:
        return ()
    sibling_tasks = [event.name for _, event in recording.filter_events(PopEvent, sibling_pops(recording, seq))]
    queue = list(dict.fromkeys([*members, *sibling_tasks]))
    if len(queue) > MAX_COMPARED_TASKS:
        return ()
    # An order that is not transitive has no sorted result, so a path in each direction proves the cycle.
    later = _shortest_paths(recording, seq, queue, later=True)
    earlier = _shortest_paths(recording, seq, queue, later=False)
    if any(task not in later or task not in earlier for task in members):
        return ()
    return min(((*later[task], *earlier[task][-2::-1]) for task in members[1:]), key=len)


def _queue_key(recording: Recording, key: TaskKey) -> tuple[str, str, bool, str]:
    """A key that is equal for tasks of one priority queue: job, sub job, whether best-effort, and stated node."""
    task = task_of(recording, key)
    job = recording.session.jobs.get(task.job)
    sub_job = job.task_to_sub_job.get(task.uid, "") if job is not None else ""
    return task.job, sub_job, task.best_effort, task.pod.stated_node


def _shortest_paths(
    recording: Recording, seq: Seq, queue: list[TaskKey], *, later: bool
) -> dict[TaskKey, tuple[TaskKey, ...]]:
    """Task → shortest chain of comparisons from the first task, for tasks after it (`later`) or before it."""
    paths: dict[TaskKey, tuple[TaskKey, ...]] = {queue[0]: (queue[0],)}
    unreached = dict.fromkeys(queue[1:])
    reached = [queue[0]]
    # The list grows while it is iterated: it is the queue of a breadth-first search.
    for task in reached:
        for other in list(unreached):
            order = order_of(recording, seq, "task", *((task, other) if later else (other, task)))
            if order.order_sign < 0 and order.is_certain:
                paths[other] = (*paths[task], other)
                reached.append(other)
                del unreached[other]
    return paths
