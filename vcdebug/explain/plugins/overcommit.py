"""overcommit: whether the enlarged cluster has room for a job's minimum. Upstream: plugins/overcommit."""

from vcdebug import amount_text
from vcdebug.amount_text import format_amount, format_amounts_apart, format_number, join_names
from vcdebug.explain import equation, queue_findings
from vcdebug.explain.answer import Advice, AdviceHarm, Cause, Finding, Number, amount_number, amount_numbers
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins import PluginExplainer, compared_by
from vcdebug.framework.hooks import JOB_ENQUEUEABLE
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.queue import LimitCheck
from vcdebug.model.resource import CPU, Resource
from vcdebug.plugins.overcommit import FACTOR_KEY, check_admission
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import state_before
from vcdebug.snapshot.go_yaml import load_yaml
from vcdebug.snapshot.manifest import Json, object_in, object_list

NAME = "overcommit"
UNREAD = f"{FACTOR_KEY} is set next to arguments, not under it, so the default {{factor}} applies."


_AUTOSCALER_ADVICE = Advice.from_outside(
    "For a cluster autoscaler, drop enqueue from actions: it adds nodes for pods, which are created after admission.",
    AdviceHarm.CLUSTER,
)


def admission_check(recording: Recording, seq: Seq, job: JobInfo) -> LimitCheck:
    """The job's minimum against the idle room of the enlarged cluster, as they were before an event."""
    state = state_before(recording, seq)
    inqueue, idle = (state.plugin_amount(NAME, "", figure) for figure in ("inqueue", "idle"))
    return check_admission(inqueue, job.get_min_resources(), idle)


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """JobEnqueueable: whether the enlarged cluster has room for the job's minimum."""
    job = recording.session.jobs[event.job]
    check, factor = admission_check(recording, seq, job), state_before(recording, seq).plugin_figure(NAME, "", "factor")
    title = f"overcommit: does the cluster, enlarged {format_number(factor)} times, admit {job.uid}?"
    formula = "min resources + inqueue ≤ total × factor − used, in the dimensions of the minimum"
    terms = equation.limit_terms(check, equation.all_dimensions(check.request, check.limit))
    minimum_note = equation.NO_MINIMUM if job.pod_group.min_resources is None else ""
    return equation.admission_equation(
        title, formula, equation.limit_columns(check, "overcommitted idle"), terms, free=minimum_note
    )


def explain_rejection(view: JobView, seq: Seq, event: HookEvent) -> Finding:
    """The finding about the missing amounts, or about Inqueue jobs that reserve them without being placed."""
    state, check = view.recording.timeline.state_at(seq), admission_check(view.recording, seq, view.job)
    total, factor = state.plugin_amount(NAME, "", "total"), float(state.plugin_figure(NAME, "", "factor") or 0.0)
    minimum, idle, inqueue, names = check.request, check.limit, check.sum_without_request, check.exceeded_dimensions
    # The plugin keeps only the idle room; rounding can make the difference slightly negative, which Sub would reject.
    used = total.clone().multi(factor).sub_without_assert(idle)
    figures = (minimum, inqueue, idle, total, used)
    texts = {name: format_amounts_apart(name, *(each.get(name) for each in figures)) for name in names or [CPU]}
    needed = check.total.clone().add(used)
    # The dimension that needs the largest factor: raising the factor for it admits the job in all others.
    name = max(names, key=lambda each: needed.get(each) / max(total.get(each), 1.0), default=CPU)
    lines = tuple(
        f"{each}: minResources {asks} + inqueue {queued} > idle {free} = {size} x {format_number(factor)} - used "
        f"{usage}"
        for each in sorted(names, key=lambda each: each != name)
        for asks, queued, free, size, usage in (texts[each],)
    )
    stuck_jobs = queue_findings.stuck_jobs(view, seq, same_queue=False)
    if stuck_jobs and check._replace(total=queue_findings.total_without(view, check.total, stuck_jobs)).is_within_limit:
        return queue_findings.stuck_jobs_finding(view, seq, NAME, stuck_jobs, lines, idle)
    unread = tuple(problem for problem in view.recording.conf.problems_of(NAME) if problem.field == FACTOR_KEY)
    misplaced = _misplaced_factor(view) if unread else None
    lacks = {each: check.excess_of(each) for each in names or [name]}
    further = join_names(amount_text.format_named_amount(each, value) for each, value in lacks.items() if each != name)
    asks, queued, free, size, usage = texts[name]
    reserved = f", of which Inqueue jobs reserve {queued}" if inqueue.get(name) else ""
    reason = (
        f"minResources asks {asks} {name}; overcommit allows {free} more ({size} x {format_number(factor)} - {usage} "
        f"used){reserved}, {format_amount(name, lacks[name])} short"
    )
    facts = (
        *((UNREAD.format(factor=format_number(factor)),) if misplaced is not None else ()),
        *_beyond_cluster_facts(minimum, total, factor, [name, *names]),
        *queue_findings.earlier_admission_facts(view, seq, name, same_queue=False),
        *((f"Also short: {further}.",) if further else ()),
        *filter(None, (amount_text.capitalize_first(queue_findings.too_early_words(view, seq)),)),
    )
    numbers: dict[str, Number] = {
        **amount_numbers("minResources", minimum, names),
        **amount_numbers("idle", idle, names),
        **amount_numbers("inqueue", inqueue, names),
        **amount_numbers("total", total, names),
        **amount_numbers("used", used, names),
        "factor": Number(factor, ""),
        **{f"short.{each}": amount_number(each, value) for each, value in lacks.items()},
    }
    missing = " and ".join(amount_text.format_named_amount(each, value) for each, value in lacks.items())
    is_in_use = any(used.get(each) + inqueue.get(each) > 0 for each in lacks)
    advice = _overcommit_advice(needed, total, names, missing if is_in_use else "", misplaced)
    if not view.tasks and any(minimum.get(each) > total.get(each) for each in names):
        advice = (*advice, _AUTOSCALER_ADVICE)
    evidence = queue_findings.rejection_evidence(seq, NAME)
    stated_problems = unread if misplaced is not None else ()
    return view.rejected(Cause.OVERCOMMIT, reason, numbers, evidence, advice, lines, facts, stated_problems)


def _misplaced_factor(view: JobView) -> Json:
    """The factor that stands next to arguments, where upstream does not read it; None if it has no value."""
    conf = object_in(load_yaml(view.recording.snapshot.scheduler_conf or ""))
    plugins = [plugin for tier in object_list(conf.get("tiers")) for plugin in object_list(tier.get("plugins"))]
    return next((one[FACTOR_KEY] for one in plugins if one.get("name") == NAME and FACTOR_KEY in one), None)


def _beyond_cluster_facts(minimum: Resource, total: Resource, factor: float, names: list[str]) -> tuple[str, ...]:
    """A sentence if the minimum exceeds the whole cluster, enlarged by the factor or not; else empty."""
    for name in names:
        request, capacity = minimum.get(name), total.get(name)
        enlarged, cluster = (amount_text.format_named_amount(name, each) for each in (capacity * factor, capacity))
        if 0 < capacity * factor < request:
            reason = f"That is more than the whole cluster's {cluster} x {format_number(factor)} = {enlarged}"
            return (f"{reason}: waiting cannot help.",)
        if 0 < capacity < request:
            return (f"It is more than the whole cluster has ({cluster}), so not all of it can run at the same time.",)
    return ()


def _overcommit_advice(
    needed: Resource, total: Resource, names: list[str], missing: str, misplaced: Json
) -> tuple[Advice, ...]:
    unprovided = join_names(name for name in names if total.get(name) <= 0)
    if unprovided:
        remove_advice = Advice.for_owner(f"Remove {unprovided} from spec.minResources; no node provides it.")
        return remove_advice, Advice.cluster_admin(f"Add a node that provides {unprovided}.")
    factor = max((needed.get(name) / total.get(name) for name in names), default=1.0)
    free = (Advice.queue_admin(f"Free {missing}."),) if missing else ()
    raise_advice = Advice.cluster_admin(f"Set {FACTOR_KEY} above {factor:.2f}.")
    if misplaced is not None:
        words = f"Move {FACTOR_KEY} ({misplaced}) under arguments of overcommit, where it is read."
        edit = f"conf:plugins.{NAME}.arguments.{FACTOR_KEY}={misplaced}"
        raise_advice = Advice.cluster_admin(words, edit)._replace(repairs=True)
    return queue_findings.LESS_MINIMUM_ADVICE, *free, Advice.add_nodes(), raise_advice


EXPLAINER = PluginExplainer(
    equations={JOB_ENQUEUEABLE.upstream: compared_by(equation.WITH_DIMENSION, job_enqueueable)},
    rejected=explain_rejection,
)
