"""The arithmetic of victims: which candidates a plugin lets go, one line per candidate in the order asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.equations_queues import PROPORTION, at_most
from vcdebug.explain.past import before, job_at, job_of, task_of, tree_of_shares
from vcdebug.framework.record import HookEvent, Level
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.plugins.conformance import is_critical
from vcdebug.plugins.drf import SHARE_DELTA
from vcdebug.plugins.drf.hierarchy import compare
from vcdebug.plugins.drf.share import Share, Totals
from vcdebug.trace.recording import Recording

DRF, GANG_RECLAIM = "drf", "gangreclaim"
NO_JOB = "its job is not in the session"


def gang_surplus(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """As many as the job has beyond its minimum, first come first served."""
    ready: dict[JobId, int] = {}
    terms: list[Term] = []
    for key in _candidates(event):
        job = job_of(recording, key)
        if job is None:
            terms.append(Term(key, (None, None), False, NO_JOB))
            continue
        if job.uid not in ready:
            ready[job.uid] = job_at(recording, job.uid, seq).ready_task_num()
        have = ready[job.uid]
        taken = have > job.min_available
        if taken:
            ready[job.uid] -= 1
        note = "" if taken else f"{job.name} has {have} ready and needs {job.min_available}: it would break the gang"
        terms.append(Term(key, (have, job.min_available), taken, note))
    title = f"gang: who can {_asker(event)} take without breaking a gang?"
    return _choice(title, "ready > min available, less those already taken", ("ready", "min"), terms)


def priority_preemptable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Jobs of lower priority; inside the preemptor's own job, tasks of lower priority."""
    preemptor = task_of(recording, _asker(event))
    own = job_of(recording, preemptor.key)
    terms: list[Term] = []
    for key in _candidates(event):
        task, job = task_of(recording, key), job_of(recording, key)
        if own is None or job is None:
            terms.append(Term(key, (None, None), False, NO_JOB if job is None else "the preemptor's job is gone"))
        elif job.uid == own.uid:
            terms.append(_lower("task", key, task.priority, preemptor.priority))
        else:
            terms.append(_lower("job", key, job.priority, own.priority))
    title = f"priority: who is of lower priority than {preemptor.key}?"
    return _choice(title, "candidate's priority < preemptor's priority", ("candidate", "preemptor"), terms)


def _lower(whose: str, key: TaskKey, candidate: int, preemptor: int) -> Term:
    taken = candidate < preemptor
    note = "" if taken else f"{whose} priority {candidate} is not lower than {preemptor}"
    return Term(key, (candidate, preemptor), taken, note)


def conformance(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Everything that is not critical."""
    terms: list[Term] = []
    for key in _candidates(event):
        task = task_of(recording, key)
        critical = is_critical(task)
        note = "critical pods are protected" if critical else ""
        terms.append(Term(key, (task.pod.priority_class_name or None, task.namespace), not critical, note))
    columns = ("priority class", "namespace")
    formula = "no critical priority class, not in kube-system"
    return _choice(f"conformance: who may go for {_asker(event)}?", formula, columns, terms)


def drf_preemptable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Jobs that keep at least the share that the preemptor's job would reach."""
    state = before(recording, seq)
    totals = Totals(state.amount(DRF, "", "total"))
    preemptor = task_of(recording, _asker(event))
    title = f"drf: who has the larger share than {preemptor.key} would have?"
    formula = "share of the preemptor's job with it ≤ share of the candidate's job without it"
    columns = ("preemptor's share", "candidate's share", "dominant")
    if preemptor.job not in recording.session.jobs:
        absent = [Term(key, (None, None, None), False, "the preemptor's job is gone") for key in _candidates(event)]
        return _choice(title, formula, columns, absent)
    held = state.amount(DRF, preemptor.job, "allocated").clone()
    wanted = totals.share(held.add(preemptor.resreq))
    left: dict[JobId, Resource] = {}
    terms: list[Term] = []
    for key in _candidates(event):
        task, job = task_of(recording, key), job_of(recording, key)
        if job is None:
            terms.append(Term(key, (wanted, None, None), False, NO_JOB))
            continue
        rest = left.setdefault(job.uid, state.amount(DRF, job.uid, "allocated").clone())
        dominant, kept = totals.dominant(rest.sub_without_assert(task.resreq))
        taken = wanted < kept or abs(wanted - kept) <= SHARE_DELTA
        note = "" if taken else f"{job.name} would keep {kept:.4g}, less than {wanted:.4g}"
        terms.append(Term(key, (wanted, kept, dominant), taken, note))
    return _choice(title, formula, columns, terms, "every candidate is taken off its job's share, also one not chosen")


def proportion_reclaimable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Queues that hold more than they deserve somewhere, less what has been taken already."""
    state = before(recording, seq)
    left: dict[QueueName, Resource] = {}
    terms: list[Term] = []
    for key in _candidates(event):
        job = job_of(recording, key)
        if job is None:
            terms.append(Term(key, (None, None, None, None), False, NO_JOB))
            continue
        deserved = state.amount(PROPORTION, job.queue, "deserved")
        allocated = left.setdefault(job.queue, state.amount(PROPORTION, job.queue, "allocated").clone())
        terms.append(_above(key, job.queue, allocated, deserved))
        if terms[-1].holds:
            allocated.sub_without_assert(task_of(recording, key).resreq)
    columns = ("queue", "dimension", "allocated", "deserved")
    formula = "allocated > deserved in some dimension, less what is already taken"
    return _choice(f"proportion: from whom can {_asker(event)} reclaim?", formula, columns, terms)


def _above(key: TaskKey, queue: QueueName, allocated: Resource, deserved: Resource) -> Term:
    """The first dimension beyond what is deserved, else the first one."""
    above = [name for name, amount in allocated.items() if not at_most(amount, deserved.get(name))]
    if above:
        return Term(key, (queue, above[0], allocated.get(above[0]), deserved.get(above[0])), True)
    figures = (queue, "cpu", allocated.milli_cpu, deserved.milli_cpu)
    return Term(key, figures, False, f"queue {queue} holds no more than it deserves")


def hierarchy_reclaimable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Queues that stay behind the reclaimer's in the tree of shares once the exchange is made."""
    reclaimer = task_of(recording, _asker(event))
    job = job_of(recording, reclaimer.key)
    terms: list[Term] = []
    for key in _candidates(event):
        owner = job_of(recording, key)
        if job is None or owner is None:
            terms.append(Term(key, (None, None), False, NO_JOB))
        else:
            terms.append(_behind(recording, seq, reclaimer.key, job, key, owner))
    formula = "weighted share with the reclaimer < candidate's without it, at the first level that differs"
    title = f"drf: whose queue stays behind that of {reclaimer.key}?"
    return _choice(title, formula, ("candidate's queue", "difference"), terms)


def _behind(recording: Recording, seq: Seq, reclaimer: TaskKey, job: JobInfo, key: TaskKey, owner: JobInfo) -> Term:
    """One exchange tried on a tree built anew."""
    queues, resreq = recording.session.queues, task_of(recording, reclaimer).resreq
    tree = tree_of_shares(recording, seq)
    tree.allocated.add(resreq)
    tree.place(tree.root, job, Share(tree.totals, tree.shares[job.uid].allocated.clone().add(resreq)))
    gone = task_of(recording, key).resreq
    kept = tree.shares[owner.uid].allocated.clone().sub_without_assert(gone)
    tree.place(tree.root, owner, Share(tree.totals, kept))
    tree.update(tree.root, tree.allocated.sub_without_assert(gone))
    difference = compare(tree.root, queues[job.queue], queues[owner.queue])
    note = "" if difference < 0 else f"queue {owner.queue} would not be behind"
    return Term(key, (owner.queue, difference), difference < 0, note)


def gang_evictable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """All of them: the action itself takes gangs as a whole."""
    terms = [Term(key, (), True) for key in _candidates(event)]
    return _choice(f"gang: who may go for {_asking_job(recording, seq)}?", "every candidate", (), terms)


def priority_evictable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Jobs of lower priority; a reclaim between queues does not look at priority."""
    action, uid = recording.tree.around(seq, Level.ACTION), _asking_job(recording, seq)
    title, columns = f"priority: who is of lower priority than {uid}?", ("candidate", "preemptor")
    own = recording.session.jobs.get(uid)
    if own is None or (action is not None and action.name == GANG_RECLAIM):
        terms = [Term(key, (None, None), True) for key in _candidates(event)]
        return _choice(title, "every candidate: priority does not count between queues", columns, terms)
    priorities = {key: job.priority for key in _candidates(event) if (job := job_of(recording, key)) is not None}
    lower = [_lower("job", key, priority, own.priority) for key, priority in priorities.items()]
    return _choice(title, "candidate's priority < preemptor's priority", columns, lower)


def _asking_job(recording: Recording, seq: Seq) -> JobId:
    span = recording.tree.around(seq, Level.JOB)
    return "" if span is None else span.name


def _asker(event: HookEvent) -> TaskKey:
    return str(dict(event.subject).get("task", "the job"))


def _candidates(event: HookEvent) -> tuple[TaskKey, ...]:
    candidates: tuple[TaskKey, ...] = dict(event.subject)["candidates"]
    return candidates


def _choice(title: str, formula: str, columns: tuple[str, ...], terms: list[Term], note: str = "") -> Equation:
    victims = tuple(term.name for term in terms if term.holds)
    return Equation(title, formula, columns, "task", tuple(terms), victims, None, note)


EQUATIONS: Final[Mapping[tuple[str, str], Callable[[Recording, Seq, HookEvent], Equation]]] = {
    ("gang", "Preemptable"): gang_surplus,
    ("gang", "Reclaimable"): gang_surplus,
    ("priority", "Preemptable"): priority_preemptable,
    ("conformance", "Preemptable"): conformance,
    ("conformance", "Reclaimable"): conformance,
    ("gang", "UnifiedEvictable"): gang_evictable,
    ("priority", "UnifiedEvictable"): priority_evictable,
    ("conformance", "UnifiedEvictable"): conformance,
    (DRF, "Preemptable"): drf_preemptable,
    (DRF, "Reclaimable"): hierarchy_reclaimable,
    (PROPORTION, "Reclaimable"): proportion_reclaimable,
}
