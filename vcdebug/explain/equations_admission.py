"""The arithmetic of admission outside queues: namespace quotas, and promises on waiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from vcdebug.explain.equation import Equation, Ratio, Term, all_hold, first_failing
from vcdebug.explain.equations_protection import words
from vcdebug.framework.plugin import ABSTAIN, PERMIT, REJECT
from vcdebug.framework.record import HookEvent
from vcdebug.gotime import moment, nanoseconds
from vcdebug.model.names import JobId, Seq
from vcdebug.plugins.resourcequota import Quota, ResourceQuota
from vcdebug.plugins.sla import Sla
from vcdebug.snapshot.quantity import nano_value
from vcdebug.trace.recording import Recording

QUOTA, SLA = "resourcequota", "sla"
NANO = 1e9


def namespace_quota(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Does every ResourceQuota of the namespace hold the job's minimum beside what this cycle has admitted?"""
    uid = event.subject[0][1]
    job, plugin = recording.session.jobs[uid], recording.session.plugins[QUOTA]
    assert isinstance(plugin, ResourceQuota)
    minimum = job.pod_group.min_resource_list
    title = f"resourcequota: does namespace {job.namespace} admit {uid}?"
    formula = "used + admitted in this cycle + min resources ≤ hard, for names that a quota states"
    columns = ("used", "admitted", "min resources", "sum", "hard")
    if minimum is None:
        return Equation(title, formula, columns, "check", (), PERMIT, None, "the PodGroup states no minResources")
    admitted = _admitted(recording, seq, job.namespace)
    terms = tuple(
        _held(quota, number, name, minimum[name], admitted.get(name, 0))
        for number, quota in enumerate(plugin.quotas.get(job.namespace, ()), start=1)
        for name in sorted(minimum)
        if name in quota.hard
    )
    verdict = PERMIT if all_hold(terms) else REJECT
    note = "" if terms else "no quota of the namespace states one of its names"
    return Equation(title, formula, columns, "check", terms, verdict, first_failing(terms), note)


def _held(quota: Quota, number: int, name: str, wanted: object, admitted: int) -> Term:
    used, asked, hard = nano_value(quota.used.get(name)), nano_value(wanted), nano_value(quota.hard[name])
    total = used + admitted + asked
    figures = tuple(Ratio(value / NANO) for value in (used, admitted, asked, total, hard))
    return Term(f"quota {number} {name}", figures, total <= hard)


def _admitted(recording: Recording, seq: Seq, namespace: str) -> dict[str, int]:
    """Minimums of the jobs of the namespace that were admitted before an event, in 10^-9 units."""
    found: dict[str, int] = {}
    for at in recording.index.at_point("JobEnqueued"):
        event = recording.event(at)
        if at >= seq or not isinstance(event, HookEvent) or event.plugin != QUOTA:
            continue
        job = recording.session.jobs[_job(event)]
        if job.namespace == namespace:
            for name, amount in (job.pod_group.min_resource_list or {}).items():
                found[name] = found.get(name, 0) + nano_value(amount)
    return found


def _job(event: HookEvent) -> JobId:
    return str(dict(event.subject)["job"])


def overdue(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """sla: has the job waited as long as it was promised at most?"""
    uid = event.subject[0][1]
    job, plugin = recording.session.jobs[uid], recording.session.plugins[SLA]
    assert isinstance(plugin, Sla)
    deadline, now = plugin.deadline(job), nanoseconds(recording.snapshot.now)
    title = f"sla: has {uid} waited too long?"
    formula = "created + waiting time ≤ now permits; sla never rejects"
    if deadline is None:
        return Equation(title, formula, (), "check", (), ABSTAIN, None, "neither the job nor the plugin states a time")
    created = moment(job.creation_timestamp)
    figures = (words(now - created), words(deadline - created), words(deadline - now))
    late = now >= deadline
    term = Term("waiting", figures, late, "" if late else f"another {figures[2]} to wait")
    columns = ("waited", "promised", "left")
    return Equation(title, formula, columns, "check", (term,), PERMIT if late else ABSTAIN, "waiting")


EQUATIONS: Final[Mapping[tuple[str, str], Callable[[Recording, Seq, HookEvent], Equation]]] = {
    (QUOTA, "JobEnqueueable"): namespace_quota,
    (SLA, "JobEnqueueable"): overdue,
    (SLA, "JobPipelined"): overdue,
}
