"""overcommit: whether the enlarged cluster has room for a job's minimum.

Upstream: plugins/overcommit.
"""

from __future__ import annotations

from vcdebug import amount_text
from vcdebug.amount_text import amount, amounts_apart, listed, number
from vcdebug.explain import amounts
from vcdebug.explain.answer import MORE_NODES, Advice, Finding, Number, cluster, owner, sharers
from vcdebug.explain.comparisons import WITH_DIMENSION
from vcdebug.explain.equation import Equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.limits import NO_MINIMUM, admits, dimensions, limit_columns, limit_terms
from vcdebug.explain.plugin import PluginWords
from vcdebug.explain.queue_admission import held_by_stuck, not_admitted, stuck_jobs, without
from vcdebug.framework.hooks import JOB_ENQUEUEABLE
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.limitcheck import LimitCheck
from vcdebug.model.names import Seq
from vcdebug.model.resource import CPU, Resource
from vcdebug.plugins.overcommit import FACTOR_KEY, admission
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import before

NAME, CAUSE = "overcommit", "enqueue-overcommit"
UNREAD = f"; {FACTOR_KEY} is set beside arguments and not under it, so {{factor}} applies"


def admission_check(recording: Recording, seq: Seq, job: JobInfo) -> LimitCheck:
    """The job's minimum against the idle room of the enlarged cluster, as they were before an event."""
    state = before(recording, seq)
    inqueue, idle = (state.amount(NAME, "", figure) for figure in ("inqueue", "idle"))
    return admission(inqueue, job.get_min_resources(), idle)


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Does the enlarged cluster hold the job's minimum?"""
    job = recording.session.jobs[event.job]
    check, factor = admission_check(recording, seq, job), before(recording, seq).figure(NAME, "", "factor")
    title = f"overcommit: does the cluster, enlarged {number(factor)} times, admit {job.uid}?"
    formula = "min resources + inqueue ≤ total × factor − used, in the dimensions of the minimum"
    terms = limit_terms(check, dimensions(check.request, check.limit))
    free = NO_MINIMUM if job.pod_group.min_resources is None else ""
    return admits(title, formula, limit_columns(check, "overcommitted idle"), terms, free=free)


def rejected(view: JobView, seq: Seq, event: HookEvent) -> Finding:
    """What is lacking, or who holds it without being placed."""
    state, check = view.recording.timeline.state_at(seq), admission_check(view.recording, seq, view.job)
    total, factor = state.amount(NAME, "", "total"), float(state.figure(NAME, "", "factor") or 0.0)
    minimum, idle, inqueue, names = check.request, check.limit, check.taken, check.exceeded
    used = total.clone().multi(factor).sub_without_assert(idle)
    compared = (minimum, inqueue, idle, total, used)
    written = {name: amounts_apart(name, *(each.get(name) for each in compared)) for name in names or [CPU]}
    lines = tuple(
        f"{name}: minResources {asked} + inqueue {promised} > idle {free} = {most} x {number(factor)} - used {taken}"
        for name, (asked, promised, free, most, taken) in written.items()
        if name in names
    )
    stuck = stuck_jobs(view, seq, same_queue=False)
    if stuck and check._replace(total=without(view, check.total, stuck)).fits:
        return held_by_stuck(view, seq, NAME, stuck, lines, idle)
    wanted = check.total.clone().add(used)
    name = max(names, key=lambda each: wanted.get(each) / max(total.get(each), 1.0), default=CPU)
    unread = any(problem.field == FACTOR_KEY for problem in view.recording.conf.unread_keys(NAME))
    short = {each: check.over(each) for each in names or [name]}
    others = ", ".join(amount_text.named(each, value) for each, value in short.items() if each != name)
    asked, promised, free, most, taken = written[name]
    sentence = (
        f"{view.job.uid} is not admitted: it asks {asked} {name} as minResources, overcommit "
        f"has {free} to give ({most} x {number(factor)} - {taken} used) with {promised} promised to "
        f"Inqueue jobs, short by {amount(name, short[name])}{f' (and by {others})' if others else ''}"
        f"{_whole(minimum, total, names)}{UNREAD.format(factor=number(factor)) if unread else ''}."
    )
    numbers: dict[str, Number] = {
        **amounts.numbers("minResources", minimum, names),
        **amounts.numbers("idle", idle, names),
        **amounts.numbers("inqueue", inqueue, names),
        **amounts.numbers("total", total, names),
        **amounts.numbers("used", used, names),
        "factor": Number(factor, ""),
        **{f"short.{each}": amounts.number(each, value) for each, value in short.items()},
    }
    missing = " and ".join(amount_text.named(each, value) for each, value in short.items())
    held = any(used.get(each) + inqueue.get(each) > 0 for each in short)
    advice = _advice(wanted, total, names, missing if held else "", unread=unread)
    return Finding(CAUSE, sentence, numbers, not_admitted(seq, NAME), advice, lines)


def _whole(minimum: Resource, total: Resource, names: list[str]) -> str:
    """Where the minimum is more than all nodes have together, no job's end can help."""
    beyond = [name for name in names if 0 < total.get(name) < minimum.get(name)]
    has = listed(amount_text.named(name, total.get(name)) for name in beyond)
    return f"; that is more than the whole cluster has ({has}), so waiting cannot help" if beyond else ""


def _advice(wanted: Resource, total: Resource, names: list[str], missing: str, *, unread: bool) -> tuple[Advice, ...]:
    nowhere = listed(name for name in names if total.get(name) <= 0)
    if nowhere:
        none = owner(f"ask for no {nowhere} in spec.minResources: no node has any")
        return none, cluster(f"add a node that has {nowhere}")
    factor = max((wanted.get(name) / total.get(name) for name in names), default=1.0)
    free = (sharers(f"free {missing}"),) if missing else ()
    if unread:
        words = f"indent {FACTOR_KEY} under arguments of overcommit, where it is read, and set it above {factor:.2f}"
    else:
        words = f"raise {FACTOR_KEY} above {factor:.2f}"
    return (owner("ask for less in spec.minResources"), *free, MORE_NODES, cluster(words))


WORDS = PluginWords(
    equations={JOB_ENQUEUEABLE.upstream: job_enqueueable},
    compared={JOB_ENQUEUEABLE.upstream: WITH_DIMENSION},
    rejected=rejected,
)
