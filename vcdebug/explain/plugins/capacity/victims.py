"""capacity's victims: pods of queues that exceed what they deserve and keep their guarantee.

Upstream: plugins/capacity (Reclaimable, UnifiedEvictable).
"""

from collections.abc import Sequence

from vcdebug import amount_text
from vcdebug.amount_text import count_noun, format_amounts_apart, join_names
from vcdebug.explain.answer import Advice, reason_lines
from vcdebug.explain.equation import JOB_NOT_IN_SESSION, DimensionAmount, Equation, Term, TermFigure, victim_equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.orders import order_of
from vcdebug.explain.plugins import VetoReason
from vcdebug.explain.queue_findings import too_small_words
from vcdebug.explain.queue_index import not_above_share, victim_queues
from vcdebug.framework.order import PriorityQueue
from vcdebug.framework.record import HookEvent, Level, Record
from vcdebug.grouping import histogram
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.resource import CPU, PODS
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.capacity import Capacity, reclaim
from vcdebug.plugins.capacity.queue_attr import CapacityQueueAttr, shared_dimensions, short_of_guarantee, with_figures
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import job_of, state_before, task_of
from vcdebug.recording.timeline import ClusterState

NAME = "capacity"
VICTIMS_FORMULA = "the queue keeps its guarantee, and holds more than it deserves in a dimension of the candidate"
VICTIMS_WHOLE_FORMULA = "the queue keeps its guarantee, and holds more than it deserves in any dimension that it states"
BROKEN_TREE = "the tree of queues is broken: capacity refuses everything"


def attr_of(recording: Recording, state: ClusterState, queue: QueueName) -> CapacityQueueAttr:
    """The plugin's figures of a queue in a state."""
    return with_figures(recording.session.plugin_of_class(Capacity).queues[queue], state.books[NAME][queue])


def attrs_of(recording: Recording, state: ClusterState) -> dict[QueueName, CapacityQueueAttr]:
    """The plugin's figures of all its queues in a state."""
    return {queue: attr_of(recording, state, queue) for queue in state.books[NAME] if queue}


VICTIM_COLUMNS = ("queue", "dimension", "held", "deserved", "guarantee")
NO_FIGURES: tuple[TermFigure, ...] = (None,) * len(VICTIM_COLUMNS)


def reclaimable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Reclaimable: candidates in eviction order whose queues hold more than they deserve."""
    plugin, title = recording.session.plugin_of_class(Capacity), f"capacity: which candidates can {event.task} reclaim?"
    job, attrs = job_of(recording, event.task), attrs_of(recording, state_before(recording, seq))
    asking = attrs.get(job.queue) if job is not None else None
    if not plugin.ready or asking is None:
        return Equation(
            title, VICTIMS_FORMULA, (), "task", (), (), None, BROKEN_TREE if asking is not None else JOB_NOT_IN_SESSION
        )
    asker = reclaim.ReclaimAsker(task_of(recording, event.task), asking, plugin.reclaims_whole)
    call = plugin.reclaim(attrs, plugin.ancestor_level, asker)
    formula = VICTIMS_WHOLE_FORMULA if plugin.reclaim is reclaim.WholeReclaimCall else VICTIMS_FORMULA
    if plugin.takes_as_listed:
        terms = [_judge_victim(recording, call, attrs, key) for key in event.candidates]
        return victim_equation(title, formula, VICTIM_COLUMNS, terms, "one after the other, in node order")
    # Each victim lowers its queue's allocation for the next one, so the order decides which are allowed.
    ordered = _by_eviction(recording, seq, event.candidates, event.task)
    terms = [_judge_victim(recording, call, attrs, key) for key in ordered]
    return victim_equation(title, formula, VICTIM_COLUMNS, terms, "one after the other in the order of eviction")


def _by_eviction(recording: Recording, seq: Seq, candidates: Sequence[TaskKey], reclaimer: TaskKey) -> list[TaskKey]:
    """The candidates in the order of the plugin's victim heap, replayed with the figures before the event."""

    def goes_first(left: TaskKey, right: TaskKey) -> bool:
        return order_of(recording, seq, "victim", left, right, reclaimer).order_sign < 0

    # Go's heap algorithm, not sorted(): for an order that is not transitive the two differ. The record is discarded.
    heap: PriorityQueue[TaskKey] = PriorityQueue(goes_first, "task", str, Record()).extend(candidates)
    return [heap.pop() for _ in range(len(candidates))]


def unified_evictable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """As Reclaimable in the given order, but without dimensions and ancestors; for gangpreempt all candidates."""
    action = recording.span_tree.span_around(seq, Level.ACTION)
    title = "capacity: which candidates are in a queue that holds more than it deserves?"
    if action is not None and not recording.conf.facts_of(action.name).across_queues:
        terms = [Term(key, NO_FIGURES, True) for key in event.candidates]
        return victim_equation(title, VICTIMS_FORMULA, VICTIM_COLUMNS, terms, "inside one queue every candidate may go")
    if not recording.session.plugin_of_class(Capacity).ready:
        return Equation(title, VICTIMS_FORMULA, (), "task", (), (), None, BROKEN_TREE)
    attrs = attrs_of(recording, state_before(recording, seq))
    call = reclaim.ReclaimCall(attrs)
    return victim_equation(
        title, VICTIMS_FORMULA, VICTIM_COLUMNS, [_judge_victim(recording, call, attrs, key) for key in event.candidates]
    )


def _judge_victim(
    recording: Recording, call: reclaim.ReclaimCall, attrs: dict[QueueName, CapacityQueueAttr], key: TaskKey
) -> Term:
    """The term of one candidate, with its queue's figures in the dimension that decides."""
    job, task = job_of(recording, key), task_of(recording, key)
    attr = attrs.get(job.queue) if job is not None else None
    if attr is None:
        return Term(key, NO_FIGURES, False, JOB_NOT_IN_SESSION)
    verdict = call.judge_candidate(task, attr)
    short_dimension = short_of_guarantee(attr, verdict.allocated, task) if verdict.rule == reclaim.GUARANTEE else ""
    name = short_dimension or _telling_dimension(verdict, task)
    sums = [DimensionAmount.from_resource(each, name) for each in (verdict.allocated, attr.deserved, attr.guarantee)]
    figures: tuple[TermFigure, ...] = (attr.name, name, *sums)
    return Term(key, figures, not verdict.rule, _judged_note(verdict, name))


def _judged_note(verdict: reclaim.JudgedCandidate, name: str) -> str:
    queue = verdict.attr.name
    held, deserved = format_amounts_apart(name, verdict.allocated.get(name), verdict.attr.deserved.get(name))
    return {
        "": "",
        reclaim.NO_OVERLAP: "it frees nothing that the reclaimer asks for",
        reclaim.GUARANTEE: f"queue {queue} would fall below its guarantee of {name}",
        reclaim.NOTHING_DESERVED: f"neither {queue} nor the reclaimer's queue deserves anything in these dimensions",
        reclaim.DESERVED: f"queue {queue} holds no more than it deserves: {held} of {deserved} {name}",
        reclaim.TOO_SMALL: f"queue {queue} holds less than the reclaimer asks for",
        reclaim.ANCESTOR: f"its ancestor {verdict.queue} holds no more than it deserves",
    }[verdict.rule]


def _telling_dimension(verdict: reclaim.JudgedCandidate, task: TaskInfo) -> str:
    """The first requested dimension in which the queue exceeds its deserved amount; else the first requested one."""
    allocated, deserved = verdict.allocated, verdict.attr.deserved
    names = [name for name in task.resreq.resource_names() if name != PODS]
    relevant = [name for name in names if deserved.states_dimension(name)]
    exceeded = [name for name in relevant if allocated.get(name) > deserved.get(name)]
    return next(iter(exceeded or relevant or names), CPU)


def explain_veto(view: JobView, task: TaskInfo, protected: Sequence[TaskKey], seq: Seq) -> VetoReason:
    """Why capacity protects these pods from the task, by the first rule that applies."""
    plugin, attrs = view.session.plugin_of_class(Capacity), attrs_of(view.recording, state_before(view.recording, seq))
    if not plugin.ready:
        return not_above_share(view, NAME, protected, seq, smaller_share_advice)
    reasons = histogram((key, _veto_reason(view.recording, plugin, attrs, task, key)) for key in protected)
    queues = victim_queues(view, protected)
    pods = "; ".join(f"{count_noun(len(keys), 'pod')} {reason}" for reason, keys in reasons[:2])
    numbers = not_above_share(view, NAME, protected, seq, smaller_share_advice).numbers
    return VetoReason(f"{NAME} protects {pods}", numbers, (_veto_advice(attrs, queues),), reason_lines(reasons))


def _veto_reason(
    recording: Recording, plugin: Capacity, attrs: dict[QueueName, CapacityQueueAttr], task: TaskInfo, key: TaskKey
) -> str:
    """The first rule of capacity that protects the pod, judged as if the pod were the first victim."""
    victim, job, asker = task_of(recording, key), job_of(recording, key), job_of(recording, task.key)
    attr = attrs[job.queue if job is not None else ""]
    asker_attr = attrs.get(asker.queue) if asker is not None else None
    reclaim_asker = reclaim.ReclaimAsker(task, asker_attr, plugin.reclaims_whole) if asker_attr is not None else None
    verdict = plugin.reclaim(attrs, plugin.ancestor_level, reclaim_asker).judge_candidate(victim, attr)
    of_queue, guaranteed = f"of queue {attr.name}", amount_text.format_resource(attr.guarantee)
    nothing = f"neither it nor {task.name}'s queue deserves anything in these dimensions"
    if verdict.rule == reclaim.ANCESTOR and verdict.queue in attrs:
        return f"below queue {verdict.queue}, which uses {_format_share(attrs[verdict.queue], victim)}"
    return {
        reclaim.NO_OVERLAP: f"that free nothing {task.name} asks for",
        reclaim.GUARANTEE: f"{of_queue}, which would fall below its guarantee ({guaranteed})",
        reclaim.NOTHING_DESERVED: f"{of_queue}: {nothing}",
        reclaim.TOO_SMALL: f"{of_queue}, which {too_small_words(recording, verdict.allocated, task)}",
        reclaim.DESERVED: f"{of_queue}, which uses {_format_share(attr, victim)}",
        # Allowed as the only victim, so the victims before it must be the reason.
    }.get(verdict.rule, f"{of_queue}, once the victims before them are evicted")


def _format_share(attr: CapacityQueueAttr, victim: TaskInfo) -> str:
    """The queue's usage in the pod's dimensions, such as `4 of the 8 cpu that it deserves`."""
    names = [name for name in shared_dimensions(victim.resreq, attr.deserved) if name != PODS]
    parts = (
        f"{used} of {share} {name}"
        for name in names
        for used, share in [format_amounts_apart(name, attr.allocated.get(name), attr.deserved.get(name))]
    )
    return f"{' and '.join(parts) or 'nothing'} that it deserves"


def _veto_advice(attrs: dict[QueueName, CapacityQueueAttr], queues: Sequence[QueueName]) -> Advice:
    guaranteed = [queue for queue in queues if not attrs[queue].guarantee.is_empty()]
    extra = f", or its spec.guarantee where that is what holds them ({join_names(guaranteed)})" if guaranteed else ""
    return Advice.queue_admin(f"Queue {join_names(queues)}: lower spec.deserved{extra}; reclaim never goes below it.")


def smaller_share_advice(_: JobView, queues: Sequence[QueueName]) -> Advice:
    """Advice after which the victims' queues deserve less."""
    return Advice.queue_admin(f"Queue {join_names(queues)}: lower spec.deserved.")
