"""drf: shares of jobs, and of queues in a hierarchy, before and after an exchange. Upstream: plugins/drf."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy

from vcdebug.amount_text import format_number, format_numbers_apart
from vcdebug.explain import plugins
from vcdebug.explain.answer import Advice, Number
from vcdebug.explain.equation import JOB_NOT_IN_SESSION, Equation, Term, victim_equation
from vcdebug.explain.job_view import JobView
from vcdebug.framework.hooks import JOB_ORDER, PREEMPTABLE, QUEUE_ORDER, RECLAIMABLE
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.queue import QueueInfo, ShareTotals
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.drf import DominantShare, Drf, Hierarchy, HierarchyNode, ShareExchange, iter_exchanges, iter_levels
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import job_of, state_before, task_of, tasks_of
from vcdebug.recording.timeline import ClusterState, LazyMap

NAME = "drf"
ADVICE = (
    Advice.for_owner(
        "Request less: drf allows victims only from jobs that keep at least the share this job would have."
    ),
    Advice.cluster_admin("Set enablePreemptable of drf to false."),
)


QUEUE_ADVICE = (
    Advice.cluster_admin(
        "Raise the weight of the job's queue (annotation volcano.sh/hierarchy-weights) at the level that is compared."
    ),
)


def totals_of(state: ClusterState) -> ShareTotals:
    """The cluster's total resources, of which shares are fractions."""
    return ShareTotals(state.plugin_amount(NAME, "", "total"))


def shares_of(recording: Recording, state: ClusterState) -> Mapping[JobId, DominantShare]:
    """The plugin's dominant share of every job in a state."""
    totals = totals_of(state)
    # Lazy: an equation needs a few jobs, and a cluster can have thousands.
    return LazyMap(
        recording.session.jobs, lambda uid: DominantShare(totals, state.plugin_amount(NAME, uid, "allocated").clone())
    )


# A job is compared with each other job of its queue.
@per_recording(most=256)
def _share_after(recording: Recording, seq: Seq, job: JobId) -> DominantShare:
    return shares_of(recording, recording.timeline.state_at(seq))[job]


def hierarchy_of(recording: Recording, state: ClusterState) -> Hierarchy:
    """The tree of shares in a state; the shares of its inner queues are not yet computed."""
    session, shares = recording.session, dict(shares_of(recording, state))
    return Hierarchy(totals_of(state), session.jobs, session.queues, shares)


def hierarchy_at(recording: Recording, seq: Seq) -> HierarchyNode | None:
    """The tree of shares after an event, brought up to date; None where queues have no hierarchy."""
    plugin = recording.session.plugins.get(NAME)
    state = recording.timeline.state_at(seq)
    if not isinstance(plugin, Drf) or plugin.hierarchy is None:
        return None
    tree = hierarchy_of(recording, state)
    # Interior shares are derived, and the plugin computes them only when it compares queues.
    tree.update_hierarchical_share(tree.root, tree.allocated)
    return tree.root


def preemptable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Preemptable: allows tasks whose job keeps at least the share that the preemptor's job would reach."""
    state, preemptor = state_before(recording, seq), task_of(recording, event.task)
    title = f"drf: candidates with a larger share than {preemptor.key} would have"
    formula = "share of the preemptor's job with it ≤ share of the candidate's job without it"
    columns = ("preemptor's share", "candidate's share", "dominant")
    if preemptor.job not in recording.session.jobs:
        absent = [Term(key, (None, None, None), False, "the preemptor's job was removed") for key in event.candidates]
        return victim_equation(title, formula, columns, absent)
    tasks = tasks_of(recording, event.candidates)
    exchanges = iter_exchanges(totals_of(state), shares_of(recording, state), preemptor, tasks)
    note = "every candidate is subtracted from its job's share, even if not chosen"
    return victim_equation(title, formula, columns, [_exchange_term(recording, each) for each in exchanges], note)


def _exchange_term(recording: Recording, exchange: ShareExchange) -> Term:
    if exchange.own_share is None:
        return Term(exchange.task.key, (exchange.preemptor_share, None, None), False, JOB_NOT_IN_SESSION)
    name = recording.session.jobs[exchange.task.job].name
    kept_text, wanted_text = format_numbers_apart(exchange.own_share, exchange.preemptor_share)
    note = "" if exchange.is_fair else f"{name} would keep a share of {kept_text}, less than {wanted_text}"
    figures = (exchange.preemptor_share, exchange.own_share, exchange.dominant)
    return Term(exchange.task.key, figures, exchange.is_fair, note)


def reclaimable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Reclaimable: allows tasks whose queue would still have a larger weighted share than the reclaimer's."""
    reclaimer, tasks = task_of(recording, event.task), tasks_of(recording, event.candidates)
    differences: dict[TaskKey, float] = {}
    if reclaimer.job in recording.session.jobs:
        exchanged = hierarchy_of(recording, state_before(recording, seq)).iter_exchanges(reclaimer, tasks)
        differences = {task.key: difference for task, difference in exchanged}
    terms = [_order_term(recording, key, differences.get(key)) for key in event.candidates]
    formula = "weighted share with the reclaimer < candidate's without it, at the first level that differs"
    title = f"drf: which candidates are in a queue that stays behind that of {reclaimer.key}?"
    return victim_equation(title, formula, ("candidate's queue", "difference"), terms)


def _order_term(recording: Recording, key: TaskKey, difference: float | None) -> Term:
    job = job_of(recording, key)
    if job is None or difference is None:
        return Term(key, (None, None), False, JOB_NOT_IN_SESSION)
    note = "" if difference < 0 else f"queue {job.queue} would not be behind"
    return Term(key, (job.queue, difference), difference < 0, note)


def explain_veto(view: JobView, task: TaskInfo, protected: Sequence[TaskKey], seq: Seq) -> plugins.VetoReason:
    """The preemptor's job would have a larger dominant share than the victims' jobs would keep; for reclaim, its queue
    would not stay before theirs in the hierarchy.
    """
    event = view.recording.event_at(seq)
    if isinstance(event, HookEvent) and event.point == RECLAIMABLE.upstream:
        return _explain_queue_veto(view, task, protected, seq)
    if not view.detailed:
        return plugins.VetoReason("", {}, ADVICE)
    recording, state, uid = view.recording, state_before(view.recording, seq), view.job.uid
    own, totals = state.plugin_amount(NAME, uid, "allocated").clone(), totals_of(state)
    dominant, own_share = totals.calculate_share(own.add(task.resreq))
    alone: dict[TaskKey, float] = {}
    for victim in tasks_of(recording, protected):
        # Each victim separately: in one call, upstream subtracts every candidate from its job's share, chosen or not.
        in_session = victim.job in recording.session.jobs
        left = state.plugin_amount(NAME, victim.job, "allocated").clone().sub(victim.resreq) if in_session else None
        alone[victim.key] = 0.0 if left is None else totals.calculate_share(left)[1]
    best = max(alone.values(), default=0.0)
    lines = (
        f"{uid} with {task.name}: share {format_number(own_share)} ({dominant})",
        *(f"{recording.owners.jobs[key]} without {key}: share {format_number(share)}" for key, share in alone.items()),
    )
    # Enough digits that the two shares differ in the sentence.
    digits = 1 if round(own_share, 3) != round(best, 3) else 4
    shares = f"{own_share:.{digits}%} ({dominant})", f"{best:.{digits}%} at most"
    left_less = f"every candidate's job would be left with less ({shares[1]})"
    text = f"With {task.name}, {uid} would have a dominant share of {shares[0]}; {left_less}"
    numbers = {"share.preemptor": Number(own_share, "share"), "share.victim": Number(best, "share")}
    return plugins.VetoReason(text, numbers, ADVICE, lines)


def _explain_queue_veto(view: JobView, task: TaskInfo, protected: Sequence[TaskKey], seq: Seq) -> plugins.VetoReason:
    """The first level at which the job's queue, with the task, would not come before the first victim's without it."""
    state, jobs = state_before(view.recording, seq), view.recording.session.jobs
    victim = next((one for one in tasks_of(view.recording, protected) if one.job in jobs), None)
    if victim is None or not view.detailed:
        return plugins.VetoReason("", {}, QUEUE_ADVICE)
    tree, shares, loser = hierarchy_of(view.recording, state), shares_of(view.recording, state), jobs[victim.job]
    own, left = shares[view.job.uid].allocated.clone(), shares[loser.uid].allocated.clone()
    for job, amount in ((view.job, own.add(task.resreq)), (loser, left.sub(victim.resreq))):
        tree.place_job(tree.root, job, DominantShare(tree.totals, amount))
    tree.update_hierarchical_share(tree.root, tree.allocated.add(task.resreq).sub(victim.resreq))
    queue = view.session.queues[loser.queue]
    words = _losing_level(iter_levels(tree.root, view.queue, queue))
    exchange = f"With {task.name} in place of {victim.key}, queue {view.queue.name} would not come before {queue.name}"
    return plugins.VetoReason(f"{exchange} in the hierarchy: {words}", {}, QUEUE_ADVICE)


def _losing_level(levels: Iterable[tuple[str, str, HierarchyNode, HierarchyNode]]) -> str:
    for own_name, other_name, own, other in levels:
        if own.saturated != other.saturated:
            return f"{own_name} is saturated, {other_name} is not"
        if own.weighted_share() != other.weighted_share():
            texts = format_numbers_apart(own.weighted_share(), other.weighted_share())
            return f"the weighted share of {own_name} would be {texts[0]}, that of {other_name} {texts[1]}"
    return "both have the same weighted shares"


def job_order(moment: plugins.OrderMoment, left: JobInfo, right: JobInfo) -> Iterator[plugins.OrderDifference]:
    """Yields the comparison of the jobs' dominant shares in the state of `moment`."""
    # A copy with the shares of that event: the session's plugin has those of the cycle's end.
    plugin = copy(moment.recording.session.plugin_of_class(Drf))
    plugin.shares = {job.uid: _share_after(moment.recording, moment.seq, job.uid) for job in (left, right)}
    comparison = ("drf share", plugin.shares[left.uid].value, plugin.shares[right.uid].value)
    return plugins.iter_differences(plugin.job_order(left, right), [comparison])


def queue_order(moment: plugins.OrderMoment, left: QueueInfo, right: QueueInfo) -> Iterator[plugins.OrderDifference]:
    """Yields comparisons per level of the queue tree: unsaturated before saturated, then the smaller share."""
    plugin = copy(moment.recording.session.plugin_of_class(Drf))
    plugin.hierarchy = tree = hierarchy_of(moment.recording, moment.state)
    sign = plugin.queue_order(left, right)
    return plugins.iter_differences(sign, _compared_levels(iter_levels(tree.root, left, right)))


def _compared_levels(pairs: Iterable[tuple[str, str, HierarchyNode, HierarchyNode]]) -> Iterator[plugins.ComparedValue]:
    """Yields two comparisons per level: saturation, and weighted share."""
    for left_name, right_name, left, right in pairs:
        yield f"saturated at {left_name}", left.saturated, right.saturated
        yield f"weighted share of {left_name} and {right_name}", left.weighted_share(), right.weighted_share()


EXPLAINER = plugins.PluginExplainer(
    equations={PREEMPTABLE.upstream: preemptable_equation, RECLAIMABLE.upstream: reclaimable_equation},
    comparators={JOB_ORDER.method: job_order, QUEUE_ORDER.method: queue_order},
    explain_veto=explain_veto,
)
