"""How the session opened, step by step: the cluster's snapshot, the topology, the plugins, the pods' CycleStates.

Upstream: cache.Snapshot, framework.OpenSession, framework/session (openSession, InitCycleState).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from vcdebug.amount_text import plural
from vcdebug.framework.closing import quantities
from vcdebug.framework.hooks import JOB_VALID
from vcdebug.framework.record import HookEvent, JobState, StateEvent
from vcdebug.grouping import by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq
from vcdebug.model.podgroup import PodGroup
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.trace.left_out import jobs_left_out, nodes_left_out, pods_left_out
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.trace.registrations import Registration, handlers, registrations
from vcdebug.trace.steps import Step

UNREAD = "no plugin of this name: nothing is opened"


def opened_at(recording: Recording) -> Seq:
    """The event that shows the open session; 0 where the recording ends before."""
    seqs = recording.index.of_type(StateEvent)
    return seqs[0] if seqs else 0


@per_recording()
def opening(recording: Recording) -> Step:
    """The opening as a whole, with its stages in order."""
    session = recording.session
    sizes = ((session.jobs, "job"), (session.nodes, "node"))
    said = ", ".join(plural(len(each), noun) for each, noun in sizes)
    return Step("session opens", said, seq=1, parts=partial(_stages, recording))


@per_recording()
def _stages(recording: Recording) -> Sequence[Step]:
    words = "JobValid is asked of every job first"
    states = Step("CycleState of each pod that waits", words, seq=1, parts=partial(_cycle_states, recording))
    before = (_snapshot(recording), _topology(recording), _total(recording), _node_map(recording))
    return (*before, _plugins(recording), states)


# The cluster's snapshot


def _snapshot(recording: Recording) -> Step:
    return Step(
        "snapshot of the cluster",
        "copied from the cache; later changes of the cluster wait for the next session",
        seq=1,
        parts=partial(_copied, recording),
    )


@per_recording()
def _copied(recording: Recording) -> Sequence[Step]:
    nodes, jobs, pods = (tuple(find(recording)) for find in (nodes_left_out, jobs_left_out, pods_left_out))
    session = recording.session
    tasks = sum(len(job.tasks) for job in session.jobs.values())  # exact: ints
    return (
        _kind("nodes", len(session.nodes), nodes),
        _kind("queues", len(session.queues), ()),
        _kind("jobs", len(session.jobs), jobs, (*_jobs(recording), *jobs)),
        _kind("pods of these jobs", tasks, pods, (*_restored(recording), *pods)),
        *_beside(recording),
    )


def _beside(recording: Recording) -> Iterator[Step]:
    """What the session holds beside the objects that are scheduled."""
    zoned = [node for node in recording.session.nodes.values() if node.revocable_zone]
    zones = by_key((node.revocable_zone, node.name) for node in zoned)
    named = [f"{zone}: {', '.join(names)}" for zone, names in sorted(zones.items())]
    yield Step("RevocableNodes", "; ".join(named) or "none: no node has a revocable zone", seq=1)
    drivers = plural(len(recording.snapshot.of("CSINode")), "CSINode")
    yield Step("CSINodesStatus", f"{drivers}, by which volumes per node are limited", seq=1)
    quotas = Counter(metadata_of(one).get("namespace") or "" for one in recording.snapshot.of("ResourceQuota"))
    told = [f"{name}: {plural(number, 'ResourceQuota')}" for name, number in sorted(quotas.items())]
    yield Step("NamespaceInfo", "; ".join(told) or "no namespace has a ResourceQuota", seq=1)


def _kind(what: str, taken: int, left: Sequence[Step], parts: Sequence[Step] = ()) -> Step:
    said = f"{taken} in the session" + (f", {len(left)} with a remark" if left else "")
    listed = parts or left
    return Step(what, said, seq=1, parts=(lambda: listed) if listed else None)


def _jobs(recording: Recording) -> Iterator[Step]:
    """Each job with what the cache adds: its priority, by its class."""
    for job in recording.session.jobs.values():
        group = PodGroup(job.pod_group.manifest)
        by = f" ({group.priority_class_name})" if group.priority_class_name else " (the default)"
        phase = group.phase or "none"
        said = f"queue {job.queue}, priority {job.priority}{by}, minAvailable {job.min_available}, phase {phase}"
        yield Step(f"job {job.uid}", said, seq=1, subject=("job", job.uid))


def _restored(recording: Recording) -> Iterator[Step]:
    """Pods that an earlier cycle pipelined: their annotations win over their phase."""
    cluster = recording.session.cluster
    for job in recording.session.jobs.values():
        for uid in sorted(job.tasks):
            if uid in cluster.restored:
                key = job.tasks[uid].key
                said = f"Pipelined on {cluster.restored[uid]}, restored from its annotations"
                yield Step(f"pod {key}", said, good=True, seq=1, subject=("task", key))


# Topology and the Kubernetes view


def _topology(recording: Recording) -> Step:
    tree = recording.session.hyper_nodes
    real = len(tree.by_name) - 1
    said = f"{plural(real, 'HyperNode')} and a root over all nodes" if tree.ready else tree.problem
    return Step("HyperNodes", said, tree.ready or None, seq=1, parts=partial(_hyper_nodes, recording))


def _hyper_nodes(recording: Recording) -> Sequence[Step]:
    tree = recording.session.hyper_nodes
    return [
        Step(f"tier {info.tier}: {info.name}", plural(len(tree.real_nodes.get(info.name, ())), "node"), seq=1)
        for info in sorted(tree.by_name.values(), key=lambda one: (one.tier, one.name))
    ]


def _node_map(recording: Recording) -> Step:
    nodes = plural(len(recording.session.nodes), "node")
    return Step("NodeMap and PodLister", f"{nodes} as Kubernetes' checks see them", seq=1)


def _total(recording: Recording) -> Step:
    amounts = ", ".join(f"{name} {text}" for name, text in quantities(recording.session.total_resource).items())
    return Step("TotalResource", f"{amounts}: the sum of what nodes can allocate", seq=1)


# Plugins


def _plugins(recording: Recording) -> Step:
    tiers = recording.conf.tiers
    return Step(
        "plugins open, tier by tier",
        f"{plural(len(recording.session.plugins), 'plugin')} in {plural(len(tiers), 'tier')}",
        seq=1,
        parts=partial(_opened, recording),
    )


@per_recording()
def _opened(recording: Recording) -> Sequence[Step]:
    hooks = by_key(((each.tier, each.plugin), each) for each in registrations(recording))
    told = dict(handlers(recording))
    return [
        _plugin(recording, number, option.name, hooks.get((number, option.name), []), told.get(option.name, ""))
        for number, tier in enumerate(recording.conf.tiers, start=1)
        for option in tier
    ]


def _plugin(recording: Recording, tier: int, name: str, hooks: Sequence[Registration], handler: str) -> Step:
    what = f"tier {tier}: {name}"
    if name not in recording.session.plugins:
        return Step(what, UNREAD, good=False, seq=1)
    off = len([each for each in hooks if not each.takes_part])
    said = f"{plural(len(hooks), 'hook')} registered" + (f", {off} switched off" if off else "")
    parts = [_hook(each) for each in hooks]
    if handler:
        parts.append(Step("event handler", handler, good=True, seq=1))
    return Step(what, said + (", an event handler" if handler else ""), seq=1, parts=lambda: parts)


def _hook(each: Registration) -> Step:
    switch = f" ({each.switch})" if each.switch else ""
    wrong = f"; {each.misspelt} is no switch" if each.misspelt else ""
    return Step(each.hook, f"{each.state}{switch}{wrong}", each.takes_part and not wrong, seq=1)


# CycleState


@per_recording()
def _cycle_states(recording: Recording) -> Sequence[Step]:
    """Each job's last answer to JobValid before the session is open, and the pods that get a state."""
    last = opened_at(recording) or len(recording) + 1
    asked: dict[JobId, tuple[Seq, HookEvent]] = {}
    for seq in range(1, last):
        event = recording.event(seq)
        if isinstance(event, HookEvent) and event.point == JOB_VALID.upstream:
            asked[event.job] = (seq, event)
    state = recording.event(last) if last <= len(recording) else None
    jobs = state.jobs if isinstance(state, StateEvent) else {}
    return [_cycle_state(job, asked.get(uid), jobs.get(uid), last) for uid, job in recording.session.jobs.items()]


def _cycle_state(job: JobInfo, asked: tuple[Seq, HookEvent] | None, state: JobState | None, last: Seq) -> Step:
    seq, event = asked if asked is not None else (last, None)
    about = ("job", job.uid)
    if event is not None and event.result is not None and not event.result["pass"]:
        said = f"not valid, {event.result['reason']}: {event.result['message']}; no pod gets a state"
        return Step(f"job {job.uid}", said, False, seq, about)
    gated = len([task for task in job.tasks.values() if task.sch_gated])
    waiting = state.status.get("Pending", 0) - gated if state is not None else 0
    said = f"valid; {plural(max(waiting, 0), 'pending pod')} with a state of its own"
    return Step(f"job {job.uid}", said + (f", {gated} behind a gate" if gated else ""), True, seq, about)
