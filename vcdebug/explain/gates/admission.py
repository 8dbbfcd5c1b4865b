"""enqueue: does the PodGroup get in?"""

from __future__ import annotations

from vcdebug.explain import amounts
from vcdebug.explain.answer import Evidence, Finding, Number
from vcdebug.explain.case import Case
from vcdebug.explain.gates.limits import TREE_PLUGIN, Limit, enqueue_limit
from vcdebug.explain.gates.namespace_quota import PLUGIN, namespace_quota
from vcdebug.explain.gates.share import all_taken, open_it, whole_cluster
from vcdebug.explain.gates.spoilt_tree import spoilt_tree
from vcdebug.explain.gates.unseen import opened
from vcdebug.framework.record import HookEvent
from vcdebug.model.inqueue import reserved_resource
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.podgroup import INQUEUE, PENDING
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import Resource
from vcdebug.model.status import TaskStatus

OVERCOMMIT = "enqueue-overcommit"
HELD = "enqueue-held-by-inqueue"
QUOTA = "enqueue-queue-quota"
CAPABILITY = "queue-capability"
CLOSED = "queue-closed"
TOO_LATE = "enqueued-too-late"
NOT_CONFIGURED = "action-not-configured"

WAITING_PHASES = (PENDING, "")
SCHEDULING_ACTIONS = ("allocate", "preempt", "reclaim", "backfill")
QUOTA_PLUGINS = ("proportion", "capacity")


def admission(case: Case) -> Finding | None:
    """None if the PodGroup was Inqueue when the other actions began."""
    start = _first_scheduling(case)
    phase = case.recording.timeline.state_at(len(case.recording) if start is None else start).phases[case.job.uid]
    if phase not in WAITING_PHASES:
        return None
    rejections = [(seq, event) for seq, event in case.hooks("JobEnqueueable") if event.result < 0]
    if rejections:
        return _rejected(case, *rejections[-1])
    if "enqueue" not in case.actions:
        return None if "allocate" in case.actions else _no_enqueue(case)
    return _too_late(case)


def _first_scheduling(case: Case) -> Seq | None:
    starts = (case.action_starts(action) for action in SCHEDULING_ACTIONS)
    return min((start for start in starts if start is not None), default=None)


def _rejected(case: Case, seq: Seq, event: HookEvent) -> Finding:
    if event.plugin in QUOTA_PLUGINS and case.queue.state != OPEN:
        return _closed(case, seq, event.plugin)
    if event.plugin == "overcommit":
        return _overcommit(case, seq)
    if event.plugin in QUOTA_PLUGINS:
        return _quota(case, seq, event.plugin)
    quota = namespace_quota(case, seq) if event.plugin == PLUGIN else None
    return quota or _by_plugin(case, seq, event.plugin)


def _by_plugin(case: Case, seq: Seq, plugin: str) -> Finding:
    """For plugins of which only the answer is known; what it wrote about the PodGroup is its reason."""
    written = _written(case, seq)
    reason = f": {written}" if written else ""
    sentence = f"{case.job.uid} is not admitted: plugin {plugin} rejects it at enqueue{reason}."
    advice = (f"look at plugin {plugin}'s arguments, or switch its enableJobEnqueued off",)
    return Finding(f"enqueue-{plugin}", sentence, {}, _proof(seq, plugin), advice)


def _written(case: Case, seq: Seq) -> str:
    """What the plugins wrote about the PodGroup up to an event; empty if nothing."""
    events = case.recording.record.pod_group_events
    return next((e.message for e in reversed(events) if e.job == case.job.uid and e.seq <= seq), "")


def _proof(seq: Seq, plugin: str) -> tuple[Evidence, ...]:
    return (Evidence(seq, f"{plugin} rejects the PodGroup (JobEnqueueable -1)"),)


def _closed(case: Case, seq: Seq, plugin: str) -> Finding:
    state = case.queue.state or "without a state"
    sentence = (
        f"{case.job.uid} is not admitted: its queue {case.queue.name} is {state}, "
        f"and {plugin} rejects every PodGroup of a queue that is not Open."
    )
    return Finding(CLOSED, sentence, {}, _proof(seq, plugin), open_it(case.queue))


def _overcommit(case: Case, seq: Seq) -> Finding:
    state = case.recording.timeline.state_at(seq)
    total, idle, inqueue = (state.amount("overcommit", "", name) for name in ("total", "idle", "inqueue"))
    factor = float(state.figure("overcommit", "", "factor") or 0.0)
    minimum = case.job.get_min_resources()
    names = _exceeding(inqueue.clone().add(minimum), idle, minimum)
    used = total.clone().multi(factor).sub_without_assert(idle)
    lines = tuple(
        f"{name}: minResources {amounts.amount(name, minimum.get(name))} + inqueue "
        f"{amounts.amount(name, inqueue.get(name))} > idle {amounts.amount(name, idle.get(name))}"
        f" = {amounts.amount(name, total.get(name))} x {factor:g} - used {amounts.amount(name, used.get(name))}"
        for name in names
    )
    stuck = _stuck_jobs(case, seq, same_queue=False)
    if stuck and not _exceeding(_without(inqueue, stuck).add(minimum), idle, minimum):
        return _held(case, seq, "overcommit", stuck, lines, idle)
    wanted = inqueue.clone().add(minimum).add(used)
    name = _scarcest(wanted, total, names)
    short = {each: inqueue.get(each) + minimum.get(each) - idle.get(each) for each in names or [name]}
    others = ", ".join(amounts.named(each, value) for each, value in short.items() if each != name)
    sentence = (
        f"{case.job.uid} is not admitted: it asks {amounts.named(name, minimum.get(name))} as minResources, overcommit "
        f"has {amounts.amount(name, idle.get(name))} to give ({amounts.amount(name, total.get(name))} x {factor:g} - "
        f"{amounts.amount(name, used.get(name))} used) with {amounts.amount(name, inqueue.get(name))} promised to "
        f"Inqueue jobs, short by {amounts.amount(name, short[name])}{f' (and by {others})' if others else ''}."
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
    missing = " and ".join(amounts.named(each, value) for each, value in short.items())
    held = any(used.get(each) + inqueue.get(each) > 0 for each in short)
    advice = _overcommit_advice(wanted, total, names, f"free {missing}, ask" if held else "ask")
    return Finding(OVERCOMMIT, sentence, numbers, _proof(seq, "overcommit"), advice, lines)


def _scarcest(wanted: Resource, total: Resource, names: list[str]) -> str:
    """The dimension that is enlarged least compared with what is wanted."""
    return max(names, key=lambda name: wanted.get(name) / max(total.get(name), 1.0), default="cpu")


def _overcommit_advice(wanted: Resource, total: Resource, names: list[str], begin: str) -> tuple[str, ...]:
    nowhere = [name for name in names if total.get(name) <= 0]
    if nowhere:
        return (f"no node has any {amounts.listed(nowhere)}: add one that has, or ask for none in spec.minResources",)
    factor = max((wanted.get(name) / total.get(name) for name in names), default=1.0)
    return (
        f"{begin} for less in spec.minResources, or add nodes",
        f"or raise overcommit-factor above {factor:.2f}",
    )


def _quota(case: Case, seq: Seq, plugin: str) -> Finding:
    spoilt = spoilt_tree(case, seq, plugin) if not _children(case) else None
    if spoilt is not None:
        return spoilt
    limit = enqueue_limit(case, plugin, seq)
    if not limit.exceeded or (plugin == TREE_PLUGIN and _children(case) and case.session.hierarchy_enabled(plugin)):
        return _unspecified(case, seq, plugin)
    minimum, name = limit.request, limit.first
    stuck = _stuck_jobs(case, seq, same_queue=True)
    if stuck and not _exceeding(_without(limit.taken, stuck).add(minimum), limit.limit, minimum):
        return _held(case, seq, plugin, stuck, limit.lines(), limit.limit)
    source = _source(case, plugin, limit)
    counted = amounts.amount(name, limit.taken.get(name))
    sentence = (
        f"{case.job.uid} is not admitted: queue {limit.queue} already counts {counted} of "
        f"{amounts.named(name, limit.limit.get(name))} ({source}), and minResources of "
        f"{amounts.amount(name, minimum.get(name))} more exceeds that by {amounts.amount(name, limit.over(name))}"
        f"{limit.beside()}."
    )
    numbers = {**amounts.numbers("minResources", minimum, limit.exceeded), **limit.numbers()}
    advice = (_more_room(case, limit), "or ask for less in spec.minResources")
    cause = CAPABILITY if plugin == TREE_PLUGIN and limit.hard else QUOTA
    return Finding(cause, sentence, numbers, _proof(seq, plugin), advice, limit.lines())


def _source(case: Case, plugin: str, limit: Limit) -> str:
    """Whose limit it is."""
    if limit.hard:
        return "its capability"
    if case.session.total_resource.get(limit.first) <= 0:
        return "no node has any"
    parent = case.session.queues[limit.queue].parent if limit.queue in case.session.queues else ""
    if plugin == TREE_PLUGIN and parent and case.session.hierarchy_enabled(plugin):
        return f"what its parent {parent} and the guarantees of others leave it"
    return "what the cluster and guarantees leave it"


def _more_room(case: Case, limit: Limit) -> str:
    name = limit.first
    if limit.hard:
        more = amounts.named(name, limit.over(name))
        return f"raise the capability of queue {limit.queue} by {more}, or wait until its jobs end"
    if whole_cluster(case, limit.limit, name):
        return all_taken(case, limit.queue, name)
    return f"lower the guarantees of other queues, or wait until jobs of queue {limit.queue} end"


def _unspecified(case: Case, seq: Seq, plugin: str) -> Finding:
    """Rejected without regard to amounts: a queue that is no leaf, devices, a tree that cannot be read."""
    children = _children(case)
    written = _written(case, seq)
    amounts_hold = f"none of its amounts is exceeded{f': {written}' if written else ''}"
    reason = f"it is no leaf (children: {amounts.listed(children)})" if children else amounts_hold
    sentence = f"{case.job.uid} is not admitted: {plugin} rejects it in queue {case.queue.name}, and {reason}."
    advice = ("put the job into a leaf queue",) if children else ("look at the plugin's arguments and at devices",)
    return Finding(QUOTA, sentence, {}, _proof(seq, plugin), advice)


def _children(case: Case) -> list[str]:
    return [queue.name for queue in case.session.queues.values() if queue.parent == case.queue.name]


def _exceeding(wanted: Resource, limit: Resource, request: Resource) -> list[str]:
    return wanted.less_equal_with_dimension_and_resources_name(limit, request)[1]


def _stuck_jobs(case: Case, seq: Seq, *, same_queue: bool) -> list[JobInfo]:
    """Other jobs that were Inqueue at this moment and end the cycle without a place."""
    phases = case.recording.timeline.state_at(seq).phases
    return [
        job
        for uid, job in case.session.jobs.items()
        if uid != case.job.uid
        and phases[uid] == INQUEUE
        and job.pod_group.min_resources is not None
        and (not same_queue or job.queue == case.job.queue)
        and not job.count(TaskStatus.BINDING, TaskStatus.PIPELINED)
        and not job.is_ready()
    ]


def _reserved(job: JobInfo) -> Resource:
    reserved = reserved_resource(job)
    return reserved if reserved is not None else job.deduct_sch_gated_resources(job.get_min_resources())


def _without(total: Resource, stuck: list[JobInfo]) -> Resource:
    result = total.clone()
    for job in stuck:
        result.sub_without_assert(_reserved(job))
    return result


def _held(case: Case, seq: Seq, plugin: str, stuck: list[JobInfo], lines: tuple[str, ...], limit: Resource) -> Finding:
    held, minimum = Resource(), case.job.get_min_resources()
    for job in stuck:
        held.add(_reserved(job))
    names = [name for name, value in minimum.items() if value > 0 and held.get(name) > 0 and name != "pods"]
    who = amounts.listed(job.uid for job in stuck)
    holds = "holds" if len(stuck) == 1 else "hold"
    sentence = (
        f"{case.job.uid} is not admitted: it asks {amounts.resource(minimum)} as minResources and would fit, but {who} "
        f"{holds} {amounts.resource(held, names)} as Inqueue without being placed, so {plugin} rejects."
    )
    numbers = {
        **amounts.numbers("minResources", minimum, names),
        **amounts.numbers("held", held, names),
        **amounts.numbers("limit", limit, names),
        "jobs.holding": amounts.count(len(stuck), "jobs"),
    }
    advice = (
        f"find out why {stuck[0].uid} cannot be placed (vcdebug explain)",
        f"or delete it: that gives back {amounts.resource(_reserved(stuck[0]), names)}",
    )
    more = tuple(f"{job.uid}: Inqueue, reserves {amounts.resource(_reserved(job), names)}" for job in stuck)
    return Finding(HELD, sentence, numbers, _proof(seq, plugin), advice, (*lines, *more))


def _no_enqueue(case: Case) -> Finding:
    sentence = (
        f"{case.job.uid} stays Pending: neither enqueue nor allocate is among the actions "
        f"({', '.join(case.actions)}), so nothing admits its PodGroup."
    )
    evidence = opened(case.recording, "the session opens with the PodGroup Pending")
    return Finding(NOT_CONFIGURED, sentence, {}, evidence, ('put "enqueue, allocate" into actions',))


def _too_late(case: Case) -> Finding:
    end, start = case.action_ends("enqueue"), _first_scheduling(case)
    seqs = tuple(Evidence(seq, "an action begins or ends") for seq in (start, end) if seq is not None)
    sentence = (
        f"{case.job.uid} was still Pending when {case.actions[0]} began: enqueue comes later in the actions "
        f"({', '.join(case.actions)}), so it takes one more cycle."
    )
    return Finding(TOO_LATE, sentence, {}, tuple(sorted(seqs)), ("put enqueue first in actions",))
