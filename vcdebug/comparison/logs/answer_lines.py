"""Lines of plugins: those of their hook calls, read from the call's equation, and those of the opening session.

Upstream: plugins gang, priority, drf, proportion (OnSessionOpen); api/job_info (CheckTaskValid); cache.Snapshot;
framework/session (openSession).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from vcdebug.comparison.logs.message import LogCall, LogContext, format_go_value, format_json_text
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.equation import Term
from vcdebug.explain.plugins.proportion import iter_counted_jobs, opening_rounds, shares_by_queue
from vcdebug.framework import hooks
from vcdebug.framework.record import HookEvent
from vcdebug.framework.subject import CallResult
from vcdebug.model.names import JobId, QueueName, Seq
from vcdebug.model.queue import OPEN, ShareTotals
from vcdebug.model.resource import Resource
from vcdebug.plugins import DRF, GANG, PRIORITY, PROPORTION
from vcdebug.plugins.proportion import DealRound, DealtShare, ProportionQueueAttr
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import job_before
from vcdebug.releases.queues import QUEUE_STATE_UNREAD
from vcdebug.releases.scheduling import HYPERNODES_NOT_READY
from vcdebug.snapshot.manifest import JsonObject, metadata_of, spec_of

CallSubject = JsonObject


def lines_of_answer(context: LogContext, event: HookEvent) -> Iterator[LogCall]:
    """The plugin's lines about one hook call; none for most hooks."""
    lines = LINES_BY_CALL.get((event.plugin, event.point))
    return iter(()) if lines is None else lines(context, dict(event.subject), event.result)


def _protected_terms(context: LogContext) -> list[Term]:
    """Candidates of known jobs that the plugin protects."""
    equation = equation_at(context.recording, context.seq)
    terms = equation.terms if equation is not None else ()
    return [term for term in terms if term.is_met is False and term.figures[0] is not None]


def gang_valid(context: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """The usable pods per role; no line where the roles' minima exceed the job's."""
    if subject["job"] not in context.recording.session.jobs:
        return
    job = context.recording.session.jobs[subject["job"]]
    if not job.are_roles_unchecked():
        usable = partial(_usable_by_role, context.recording, job.uid, context.seq)
        yield "job.valid", job.name, job.namespace, usable, job.task_min_available


def _usable_by_role(recording: Recording, job: JobId, seq: Seq) -> Mapping[str, int]:
    return job_before(recording, job, seq).usable_by_role()


def gang_victims(context: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """gang's lines: each candidate that its gang needs, then the victims."""
    for term in _protected_terms(context):
        job = context.recording.session.jobs[context.task_of(term.name).job]
        yield "gang.kept", term.name, job.name, *term.figures
    yield "gang.victims", list(result), partial(context.state.task_text, subject["task"])


def priority_victims(context: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """priority's lines: each candidate without lower priority, then the victims."""
    preemptor = context.task_of(subject["task"])
    if preemptor.job not in context.recording.session.jobs:
        return
    for term in _protected_terms(context):
        is_own = context.task_of(term.name).job == preemptor.job
        yield "priority.task" if is_own else "priority.job", term.name, *term.figures
    yield "priority.victims", list(result)


def drf_victims(context: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """The victims; no line where the preemptor's job is gone."""
    if context.task_of(subject["task"]).job in context.recording.session.jobs:
        yield "drf.victims", list(result)


def proportion_victims(context: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """proportion's line about its victims."""
    yield "proportion.victims", list(result)


def proportion_overused(context: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """proportion's line about an overused queue, with the queue's amounts."""
    if result:
        figures = (
            context.current_state.plugin_figure(PROPORTION, subject["queue"], name)
            for name in ("deserved", "allocated", "share")
        )
        yield "proportion.overused", subject["queue"], *figures


def proportion_refused(context: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """proportion's line about a request that its queue rejects: a state that is not open, else the amounts."""
    queue, session = subject["queue"], context.recording.session
    if result:
        return
    request = Resource()
    candidates = [context.task_of(key) for key in ([subject["task"]] if "task" in subject else subject["candidates"])]
    state = session.queues[queue].state
    if state != OPEN and not session.release.has_older_form(QUEUE_STATE_UNREAD):
        yield "proportion.closed", queue, state, candidates[0].name
        return
    for task in candidates:
        request.add(task.resreq)
    figures = (context.current_state.plugin_figure(PROPORTION, queue, name) for name in ("deserved", "allocated"))
    yield "proportion.refused", queue, *figures, request, candidates[0].name


LINES_BY_CALL: Mapping[tuple[str, str], Callable[[LogContext, CallSubject, CallResult], Iterator[LogCall]]] = {
    (GANG, hooks.JOB_VALID.upstream): gang_valid,
    (GANG, hooks.PREEMPTABLE.upstream): gang_victims,
    (GANG, hooks.RECLAIMABLE.upstream): gang_victims,
    (PRIORITY, hooks.PREEMPTABLE.upstream): priority_victims,
    (PRIORITY, hooks.UNIFIED_EVICTABLE.upstream): lambda _, __, result: iter([("priority.unified", list(result))]),
    (DRF, hooks.PREEMPTABLE.upstream): drf_victims,
    (PROPORTION, hooks.RECLAIMABLE.upstream): proportion_victims,
    (PROPORTION, hooks.OVERUSED.upstream): proportion_overused,
    (PROPORTION, hooks.ALLOCATABLE.upstream): proportion_refused,
    (PROPORTION, hooks.PREEMPTIVE.upstream): proportion_refused,
}
"""(plugin, hook) → the lines about an answer."""


# Lines of the opening session: the cluster's snapshot, the topology, and proportion's rounds.


def lines_of_session(recording: Recording) -> Iterator[LogCall]:
    """The snapshot, its HyperNodes, and the open session."""
    session = recording.session
    yield from _snapshot_lines(recording)
    unnamed = session.release.has_older_form(HYPERNODES_NOT_READY)
    for name, info in () if unnamed else sorted(session.hyper_nodes.by_name.items()):
        children = ",".join(f"{format_json_text(child)}:{{}}" for child in sorted(info.children))
        yield "session.hypernode", name, info.tier, info.parent, f"{{{children}}}"
    yield "session.open", len(session.jobs), len(session.queues), format_go_value(session.hyper_nodes.ready)


def _snapshot_lines(recording: Recording) -> Iterator[LogCall]:
    """Lines about jobs that are left out, the priorities of the others, and the numbers of objects."""
    session = recording.session
    for job in dict.fromkeys(task.job for task in session.cluster.orphans):
        if job not in _queue_by_group(recording):
            yield "cache.no-group", job, job
    for job, queue in _queue_by_group(recording).items():
        if job not in session.jobs and queue not in session.queues:
            yield "cache.no-queue", queue, job
    for info in session.jobs.values():
        yield "cache.priority", info.uid, info.pod_group.priority_class_name, info.priority
    yield "cache.snapshot", len(session.jobs), len(session.queues), len(session.nodes)


def _queue_by_group(recording: Recording) -> Mapping[str, QueueName]:
    """PodGroup of the snapshot -> its queue, or the default queue."""
    queues: dict[str, QueueName] = {}
    for manifest in recording.snapshot.objects_of("PodGroup"):
        metadata, spec = metadata_of(manifest), spec_of(manifest)
        job = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        queues[job] = spec.get("queue") or recording.snapshot.flags.default_queue
    return queues


def jobs_of_proportion(context: LogContext) -> Iterator[LogCall]:
    """Each job that proportion adds to its queue, and the queue's sums after it."""
    queues: dict[QueueName, None] = {}
    for job, attr in iter_counted_jobs(context.recording):
        yield "proportion.job", job.uid
        if job.queue not in queues:
            queues[job.queue] = None
            yield "proportion.added", job.queue
        yield "proportion.sums", job.queue, *(part.clone() for part in attr.job_sums())


def rounds_of_proportion(context: LogContext) -> Iterator[LogCall]:
    """proportion's lines about each round that divides the cluster; satisfied queues are only named."""
    division = opening_rounds(context.recording)
    for number, deal in division.rounds:
        yield from _round_lines(deal, division.attrs)
        if not deal.is_last and number == len(division.rounds):
            yield ("proportion.no-weight",)
    if not division.rounds:
        yield ("proportion.no-weight",)


def _round_lines(deal: DealRound, attrs: Mapping[QueueName, ProportionQueueAttr]) -> Iterator[LogCall]:
    shares = shares_by_queue(deal, attrs)
    for name, attr in attrs.items():
        yield "proportion.queue", name, attr.weight, deal.weight
        if name in shares:
            yield from _queue_lines(name, shares[name])
    yield "proportion.remaining", deal.remaining_amount
    if deal.is_last:
        yield "proportion.done", deal.remaining_amount


def _queue_lines(name: QueueName, dealt: DealtShare) -> Iterator[LogCall]:
    attr, deserved = dealt.attr, dealt.deserved
    yield "proportion.deserved", name, deserved
    if dealt.satisfied:
        yield "proportion.meet" if attr.request.less_equal(deserved) else "proportion.capped", name
    share = ShareTotals(deserved).calculate_share(attr.allocated)[1]
    amounts = (attr.real_capability, attr.allocated, attr.request, attr.elastic)
    yield "proportion.attributes", name, deserved, *amounts, share
