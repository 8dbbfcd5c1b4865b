"""overcommit: whether the enlarged cluster has room for a job's minimum. Upstream: plugins/overcommit."""

from collections.abc import Iterator

from vcdebug import amount_text
from vcdebug.explain import answer, equation, queue_findings, stuck_jobs
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


_AUTOSCALER_ADVICE = answer.Advice.from_outside(
    "For a cluster autoscaler, drop enqueue from actions: it adds nodes for pods, which are created after admission.",
    answer.AdviceHarm.CLUSTER,
)._replace(why_untested="no replay adds nodes")


def admission_check(recording: Recording, seq: Seq, job: JobInfo) -> LimitCheck:
    """The job's minimum against the idle room of the enlarged cluster, as they were before an event."""
    state = state_before(recording, seq)
    inqueue, idle = (state.plugin_amount(NAME, "", figure) for figure in ("inqueue", "idle"))
    return check_admission(inqueue, job.get_min_resources(), idle)


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> equation.Equation:
    """JobEnqueueable: whether the enlarged cluster has room for the job's minimum."""
    job = recording.session.jobs[event.job]
    check, factor = admission_check(recording, seq, job), state_before(recording, seq).plugin_figure(NAME, "", "factor")
    title = f"overcommit: does the cluster, enlarged {amount_text.format_number(factor)} times, admit {job.uid}?"
    formula = "min resources + inqueue ≤ total × factor − used, in the dimensions of the minimum"
    terms = equation.limit_terms(check, equation.all_dimensions(check.request, check.limit))
    minimum_note = equation.NO_MINIMUM if job.pod_group.min_resources is None else ""
    return equation.admission_equation(
        title, formula, equation.limit_columns(check, "overcommitted idle"), terms, free=minimum_note
    )


def explain_rejection(view: JobView, seq: Seq, event: HookEvent) -> answer.Finding:
    """The finding about the missing amounts, or about Inqueue jobs that reserve them without being placed."""
    room = _EnlargedRoom(view, seq)
    lines, stuck = room.arithmetic_lines(), stuck_jobs.find_stuck_jobs(view, seq, same_queue=False)
    # Only if there is room without what these jobs reserve; otherwise their end would not admit the job.
    without_stuck = stuck_jobs.total_without(view, room.check.total, stuck)
    if stuck and room.check._replace(total=without_stuck).is_within_limit:
        return stuck_jobs.stuck_jobs_finding(view, seq, NAME, stuck, lines, room.idle)
    unread = tuple(problem for problem in view.recording.conf.problems_of(NAME) if problem.field == FACTOR_KEY)
    misplaced = _misplaced_factor(view) if unread else None
    facts = tuple(_rejection_facts(view, seq, room, is_factor_misplaced=misplaced is not None))
    missing = " and ".join(room.format_lacks())
    is_in_use = any(room.used.get(each) + room.inqueue.get(each) > 0 for each in room.lacks)
    advice = _overcommit_advice(room.needed, room.total, room.names, missing if is_in_use else "", misplaced)
    if not view.tasks and any(room.minimum.get(each) > room.total.get(each) for each in room.names):
        advice = (*advice, _AUTOSCALER_ADVICE)
    evidence, problems = answer.rejection_evidence(seq, NAME), unread if misplaced is not None else ()
    return view.rejected(
        answer.Cause.OVERCOMMIT, room.rejection_reason(), room.numbers(), evidence, advice, lines, facts, problems
    )


class _EnlargedRoom:
    """The amounts of a rejection: a job's minimum against the room of the cluster, enlarged by the factor."""

    def __init__(self, view: JobView, seq: Seq) -> None:
        state = view.recording.timeline.state_at(seq)
        self.check = admission_check(view.recording, seq, view.job)
        self.minimum, self.idle, self.inqueue = self.check.request, self.check.limit, self.check.sum_without_request
        self.total = state.plugin_amount(NAME, "", "total")
        self.factor = float(state.plugin_figure(NAME, "", "factor") or 0.0)
        # The plugin keeps only the idle room; the difference may be just below 0 by rounding, which Sub would reject.
        self.used = self.total.clone().multi(self.factor).sub_without_assert(self.idle)
        self.needed = self.check.total.clone().add(self.used)
        self.names = self.check.exceeded_dimensions
        self.first_name = max(self.names, key=self._factor_for, default=CPU)
        """The dimension that needs the largest factor: raising the factor for it admits the job in all others."""
        self.lacks = {name: self.check.excess_of(name) for name in self.names or [self.first_name]}

    def _factor_for(self, name: str) -> float:
        return self.needed.get(name) / max(self.total.get(name), 1.0)

    def format_lacks(self, *, without_first: bool = False) -> list[str]:
        """What is missing in each exceeded dimension, with its name."""
        lacks = ((name, lack) for name, lack in self.lacks.items() if not without_first or name != self.first_name)
        return [amount_text.format_named_amount(name, lack) for name, lack in lacks]

    def _texts(self, name: str) -> tuple[str, ...]:
        """The minimum, and what is Inqueue, idle, in total and used, with enough digits to tell them apart."""
        figures = (self.minimum, self.inqueue, self.idle, self.total, self.used)
        return amount_text.format_amounts_apart(name, *(figure.get(name) for figure in figures))

    def arithmetic_lines(self) -> tuple[str, ...]:
        """The comparison in each exceeded dimension, the first one in front."""
        lines, factor = [], amount_text.format_number(self.factor)
        for name in sorted(self.names, key=lambda each: each != self.first_name):
            asks, queued, free, size, used = self._texts(name)
            lines.append(
                f"{name}: minResources {asks} + inqueue {queued} > idle {free} = {size} x {factor} - used {used}"
            )
        return tuple(lines)

    def rejection_reason(self) -> str:
        """The comparison in the first dimension, in words."""
        name, factor = self.first_name, amount_text.format_number(self.factor)
        asks, queued, free, size, used = self._texts(name)
        reserved = f", of which Inqueue jobs reserve {queued}" if self.inqueue.get(name) else ""
        room = f"overcommit allows {free} more ({size} x {factor} - {used} used){reserved}"
        if self.idle.get(name) < 0:
            room = f"overcommit allows no more ({size} x {factor}, less than the {used} used){reserved}"
        elif not self.total.get(name):
            return f"minResources asks {asks} {name}, which no node provides (overcommit)"
        return f"minResources asks {asks} {name}; {room}, {amount_text.format_amount(name, self.lacks[name])} short"

    def numbers(self) -> dict[str, answer.Number]:
        """All amounts of the exceeded dimensions, by name."""
        amounts = {
            "minResources": self.minimum,
            "idle": self.idle,
            "inqueue": self.inqueue,
            "total": self.total,
            "used": self.used,
        }
        numbers = {
            key: number
            for word, amount in amounts.items()
            for key, number in answer.amount_numbers(word, amount, self.names).items()
        }
        lacks = {f"short.{name}": answer.amount_number(name, lack) for name, lack in self.lacks.items()}
        return {**numbers, "factor": answer.Number(self.factor, ""), **lacks}


def _rejection_facts(view: JobView, seq: Seq, room: _EnlargedRoom, *, is_factor_misplaced: bool) -> Iterator[str]:
    """Yields sentences about a rejection: an unread factor, what the cluster never has, jobs admitted before."""
    if is_factor_misplaced:
        yield UNREAD.format(factor=amount_text.format_number(room.factor))
    yield from _beyond_cluster_facts(room.minimum, room.total, room.factor, [room.first_name, *room.names])
    yield from stuck_jobs.earlier_admission_facts(view, seq, room.first_name, same_queue=False)
    if further := amount_text.join_names(room.format_lacks(without_first=True)):
        yield f"Also short: {further}."
    if too_early := queue_findings.too_early_words(view, seq):
        yield amount_text.capitalize_first(too_early)


def _misplaced_factor(view: JobView) -> Json:
    """The factor that stands next to arguments, where upstream does not read it; None if it has no value."""
    conf = object_in(load_yaml(view.recording.snapshot.scheduler_conf or ""))
    plugins = [plugin for tier in object_list(conf.get("tiers")) for plugin in object_list(tier.get("plugins"))]
    return next((one[FACTOR_KEY] for one in plugins if one.get("name") == NAME and FACTOR_KEY in one), None)


def _beyond_cluster_facts(minimum: Resource, total: Resource, factor: float, names: list[str]) -> tuple[str, ...]:
    """A sentence if the minimum exceeds the whole cluster, enlarged by the factor or not; else empty."""
    for name in names:
        request, capacity = minimum.get(name), total.get(name)
        asked, enlarged, cluster = (
            amount_text.format_named_amount(name, each) for each in (request, capacity * factor, capacity)
        )
        if 0 < capacity * factor < request:
            reason = (
                f"{asked} is more than the whole cluster's {cluster} x {amount_text.format_number(factor)} = {enlarged}"
            )
            return (f"{reason}: waiting cannot help.",)
        if 0 < capacity < request:
            return (
                f"{asked} is more than the whole cluster has ({cluster}), so not all of it can run at the same time.",
            )
    return ()


def _overcommit_advice(
    needed: Resource, total: Resource, names: list[str], missing: str, misplaced: Json
) -> tuple[answer.Advice, ...]:
    unprovided = amount_text.join_names(name for name in names if total.get(name) <= 0)
    if unprovided:
        remove_advice = answer.Advice.for_owner(f"Remove {unprovided} from spec.minResources; no node provides it.")
        return remove_advice, answer.Advice.cluster_admin(f"Add a node that provides {unprovided}.")
    factor = max((needed.get(name) / total.get(name) for name in names), default=1.0)
    free = (answer.Advice.queue_admin(f"Free {missing}."),) if missing else ()
    raise_advice = answer.Advice.cluster_admin(f"Set {FACTOR_KEY} above {factor:.2f}.")
    if misplaced is not None:
        words = f"Move {FACTOR_KEY} ({misplaced}) under arguments of overcommit, where it is read."
        edit = f"conf:plugins.{NAME}.arguments.{FACTOR_KEY}={misplaced}"
        raise_advice = answer.Advice.cluster_admin(words, edit).as_repair()
    return queue_findings.LESS_MINIMUM_ADVICE, *free, answer.Advice.add_nodes(), raise_advice


EXPLAINER = PluginExplainer(
    equations={JOB_ENQUEUEABLE.upstream: compared_by(equation.WITH_DIMENSION, job_enqueueable)},
    rejected=explain_rejection,
)
