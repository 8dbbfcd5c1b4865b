"""drf: shares of jobs, and of queues in a hierarchy, before and after an exchange.

Upstream: plugins/drf.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy

from vcdebug.amount_text import format_number, format_numbers_apart
from vcdebug.explain import plugins
from vcdebug.explain.answer import Number, cluster_admin_advice, owner_advice
from vcdebug.explain.equation import JOB_NOT_IN_SESSION, Equation, Term, victim_equation
from vcdebug.explain.job_view import JobView
from vcdebug.framework.hooks import JOB_ORDER, PREEMPTABLE, QUEUE_ORDER, RECLAIMABLE
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.queue import QueueInfo, ShareTotals
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.drf import DominantShare, Drf, Hierarchy, HierarchyNode, ShareExchange, iter_exchanges, iter_levels
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import job_of, plugin_of, state_before, task_of, tasks_of
from vcdebug.recording.timeline import ClusterState, LazyMap

NAME = "drf"
ADVICE = (
    owner_advice("Request less: drf allows victims only from jobs that keep at least the share this job would have."),
    cluster_admin_advice("Set enablePreemptable of drf to false."),
)


def totals_of(state: ClusterState) -> ShareTotals:
    """What shares are fractions of."""
    return ShareTotals(state.plugin_amount(NAME, "", "total"))


def shares_of(recording: Recording, state: ClusterState) -> Mapping[JobId, DominantShare]:
    """The plugin's dominant share of every job in a state."""
    totals = totals_of(state)
    # Lazy: an equation needs a few jobs, and a cluster can have thousands.
    return LazyMap(
        recording.session.jobs, lambda uid: DominantShare(totals, state.plugin_amount(NAME, uid, "allocated").clone())
    )


def hierarchy_of(recording: Recording, state: ClusterState) -> Hierarchy:
    """The hierarchy, its interior shares not yet brought up to date."""
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
    """Jobs that keep at least the share that the preemptor's job would reach."""
    state, preemptor = state_before(recording, seq), task_of(recording, event.task)
    title = f"drf: candidates with a larger share than {preemptor.key} would have"
    formula = "share of the preemptor's job with it ≤ share of the candidate's job without it"
    columns = ("preemptor's share", "candidate's share", "dominant")
    if preemptor.job not in recording.session.jobs:
        absent = [Term(key, (None, None, None), False, "the preemptor's job was removed") for key in event.candidates]
        return victim_equation(title, formula, columns, absent)
    tasks = tasks_of(recording, event.candidates)
    judged = iter_exchanges(totals_of(state), shares_of(recording, state), preemptor, tasks)
    note = "every candidate is subtracted from its job's share, even if not chosen"
    return victim_equation(title, formula, columns, [_exchange_term(recording, each) for each in judged], note)


def _exchange_term(recording: Recording, each: ShareExchange) -> Term:
    if each.kept is None:
        return Term(each.task.key, (each.wanted, None, None), False, JOB_NOT_IN_SESSION)
    name = recording.session.jobs[each.task.job].name
    kept, wanted = format_numbers_apart(each.kept, each.wanted)
    note = "" if each.is_fair else f"{name} would keep {kept}, less than {wanted}"
    return Term(each.task.key, (each.wanted, each.kept, each.dominant), each.is_fair, note)


def reclaimable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Queues that stay behind the reclaimer's in the tree of shares once the exchange is made."""
    reclaimer, tasks = task_of(recording, event.task), tasks_of(recording, event.candidates)
    found: dict[TaskKey, float] = {}
    if reclaimer.job in recording.session.jobs:
        exchanged = hierarchy_of(recording, state_before(recording, seq)).iter_exchanges(reclaimer, tasks)
        found = {task.key: difference for task, difference in exchanged}
    terms = [_behind_term(recording, key, found.get(key)) for key in event.candidates]
    formula = "weighted share with the reclaimer < candidate's without it, at the first level that differs"
    title = f"drf: which candidates are in a queue that stays behind that of {reclaimer.key}?"
    return victim_equation(title, formula, ("candidate's queue", "difference"), terms)


def _behind_term(recording: Recording, key: TaskKey, difference: float | None) -> Term:
    job = job_of(recording, key)
    if job is None or difference is None:
        return Term(key, (None, None), False, JOB_NOT_IN_SESSION)
    note = "" if difference < 0 else f"queue {job.queue} would not be behind"
    return Term(key, (job.queue, difference), difference < 0, note)


def explain_veto(view: JobView, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> plugins.VetoReason:
    """The job would be richer than the victims' jobs."""
    recording, state = view.recording, state_before(view.recording, seq)
    totals, shares = totals_of(state), shares_of(recording, state)
    dominant, own = totals.calculate_share(shares[view.job.uid].allocated.add(task.resreq))
    alone = {
        # Each victim alone: in one exchange, upstream takes every candidate off its job's share, also one not chosen.
        each.key: next(iter_exchanges(totals, shares, task, [each])).kept or 0.0
        for each in tasks_of(recording, refused)
    }
    best = max(alone.values(), default=0.0)
    lines = (
        f"{view.job.uid} with {task.name}: share {format_number(own)} ({dominant})",
        *(f"{recording.owners.jobs[key]} without {key}: share {format_number(share)}" for key, share in alone.items()),
    )
    # Enough digits that the two shares differ in the sentence.
    digits = 1 if round(own, 3) != round(best, 3) else 4
    text = (
        f"With {task.name}, {view.job.uid} would have a dominant share of {own:.{digits}%} ({dominant}); every "
        f"candidate's job would be left with less ({best:.{digits}%} at most)"
    )
    numbers = {"share.preemptor": Number(own, "share"), "share.victim": Number(best, "share")}
    return plugins.VetoReason(text, numbers, ADVICE, lines)


def job_order(then: plugins.OrderMoment, left: JobInfo, right: JobInfo) -> Iterator[plugins.OrderDifference]:
    """The dominant shares."""
    # A copy with past shares: the session's plugin keeps those of the cycle's end.
    plugin, shares = copy(plugin_of(then.recording, Drf)), shares_of(then.recording, then.state)
    plugin.shares = {job.uid: shares[job.uid] for job in (left, right)}
    looked = ("drf share", plugin.shares[left.uid].value, plugin.shares[right.uid].value)
    return plugins.iter_differences(plugin.job_order(left, right), [looked])


def queue_order(then: plugins.OrderMoment, left: QueueInfo, right: QueueInfo) -> Iterator[plugins.OrderDifference]:
    """The first level of the hierarchy at which the paths differ: the unsaturated one, else the smaller share."""
    plugin = copy(plugin_of(then.recording, Drf))
    plugin.hierarchy = tree = hierarchy_of(then.recording, then.state)
    sign = plugin.queue_order(left, right)
    return plugins.iter_differences(sign, _looked_at_levels(iter_levels(tree.root, left, right)))


def _looked_at_levels(pairs: Iterable[tuple[str, str, HierarchyNode, HierarchyNode]]) -> Iterator[plugins.LookedAt]:
    """Level by level: whether both are saturated, and their shares."""
    for one, two, mine, other in pairs:
        yield f"saturated at {one}", mine.saturated, other.saturated
        yield f"weighted share of {one} and {two}", mine.weighted_share(), other.weighted_share()


EXPLAINER = plugins.PluginExplainer(
    equations={PREEMPTABLE.upstream: preemptable_equation, RECLAIMABLE.upstream: reclaimable_equation},
    comparators={JOB_ORDER.method: job_order, QUEUE_ORDER.method: queue_order},
    kept=explain_veto,
)
