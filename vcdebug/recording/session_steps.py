"""How the session opened, step by step: the cluster's snapshot, the topology, the plugins, the pods' CycleStates.

Upstream: cache.Snapshot, cache/event_handlers, framework.OpenSession, framework/session (openSession, InitCycleState).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, Literal

from msgspec import Struct

from vcdebug.amount_text import count_noun
from vcdebug.errors import closest_name
from vcdebug.framework.conf import PluginOption
from vcdebug.framework.hooks import HOOKS, JOB_VALID, AnyHook, all_switches
from vcdebug.framework.record import HookEvent, JobState, StateEvent
from vcdebug.framework.session_close import quantity_texts
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.recording.input_problems import noteworthy_nodes
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.manifest import GROUP_ANNOTATION, key_of, name_of, namespace_of

UNKNOWN_PLUGIN = "no plugin of this name: nothing is opened"


def opening_seq(recording: Recording) -> Seq:
    """The event that shows the open session; 0 where the recording ends before."""
    seqs = recording.index.seqs_of_type(StateEvent)
    return seqs[0] if seqs else 0


@per_recording()
def opening_step(recording: Recording) -> SessionStep:
    """The opening as a whole, with its stages in order."""
    session = recording.session
    sizes = ((session.jobs, "job"), (session.nodes, "node"))
    counts = ", ".join(count_noun(len(members), noun) for members, noun in sizes)
    return SessionStep("session opens", counts, seq=1, make_steps=partial(_opening_stages, recording))


@per_recording()
def _opening_stages(recording: Recording) -> Sequence[SessionStep]:
    words = "JobValid is asked of every job first"
    states = SessionStep(
        "CycleState of each Pending pod", words, seq=1, make_steps=partial(_cycle_state_steps, recording)
    )
    amounts = ", ".join(f"{name} {text}" for name, text in quantity_texts(recording.session.total_resource).items())
    nodes = count_noun(len(recording.session.nodes), "node")
    return (
        _snapshot_step(recording),
        _topology_step(recording),
        SessionStep("TotalResource", f"{amounts}: the sum of what nodes can allocate", seq=1),
        SessionStep("NodeMap and PodLister", f"{nodes} as Kubernetes' checks see them", seq=1),
        _plugins_step(recording),
        states,
    )


# The cluster's snapshot


def _snapshot_step(recording: Recording) -> SessionStep:
    return SessionStep(
        "snapshot of the cluster",
        "copied from the cache; later changes of the cluster wait for the next session",
        seq=1,
        make_steps=partial(_copied_steps, recording),
    )


@per_recording()
def _copied_steps(recording: Recording) -> Sequence[SessionStep]:
    nodes, jobs, pods = (
        tuple(find(recording)) for find in (iter_nodes_left_out, iter_jobs_left_out, iter_pods_left_out)
    )
    session = recording.session
    tasks = sum(len(job.tasks) for job in session.jobs.values())  # exact: ints
    return (
        _kind_step("nodes", len(session.nodes), nodes),
        _kind_step("queues", len(session.queues), ()),
        _kind_step("jobs", len(session.jobs), jobs, (*_job_steps(recording), *jobs)),
        _kind_step("pods of these jobs", tasks, pods, (*_restored_pod_steps(recording), *pods)),
        *_session_lists(recording),
    )


def _session_lists(recording: Recording) -> Iterator[SessionStep]:
    """The session's other lists: revocable zones, CSI drivers, quotas."""
    zoned = [node for node in recording.session.nodes.values() if node.revocable_zone]
    zones = group_by_key((node.revocable_zone, node.name) for node in zoned)
    zone_texts = [f"{zone}: {', '.join(names)}" for zone, names in sorted(zones.items())]
    yield SessionStep("RevocableNodes", "; ".join(zone_texts) or "none: no node has a revocable zone", seq=1)
    drivers = count_noun(len(recording.snapshot.objects_of("CSINode")), "CSINode")
    yield SessionStep("CSINodesStatus", f"{drivers}, by which volumes per node are limited", seq=1)
    quotas = Counter(namespace_of(manifest) for manifest in recording.snapshot.objects_of("ResourceQuota"))
    counted = [f"{name}: {count_noun(number, 'ResourceQuota')}" for name, number in sorted(quotas.items())]
    yield SessionStep("NamespaceInfo", "; ".join(counted) or "no namespace has a ResourceQuota", seq=1)


def _kind_step(kind: str, count: int, remarks: Sequence[SessionStep], parts: Sequence[SessionStep] = ()) -> SessionStep:
    text = f"{count} in the session" + (f", {len(remarks)} with a remark" if remarks else "")
    listed = parts or remarks
    return SessionStep(kind, text, seq=1, make_steps=(lambda: listed) if listed else None)


def _job_steps(recording: Recording) -> Iterator[SessionStep]:
    """A step per job: its queue, priority (from its PriorityClass), minAvailable and phase."""
    for job in recording.session.jobs.values():
        group = PodGroup(job.pod_group.manifest)
        note = f" ({group.priority_class_name})" if group.priority_class_name else " (the default)"
        phase = group.phase or "none"
        text = f"queue {job.queue}, priority {job.priority}{note}, minAvailable {job.min_available}, phase {phase}"
        yield SessionStep(f"job {job.uid}", text, seq=1, subject=("job", job.uid))


def _restored_pod_steps(recording: Recording) -> Iterator[SessionStep]:
    """A step per pod that an earlier cycle pipelined; its annotations take precedence over its phase."""
    cluster = recording.session.cluster
    for job in recording.session.jobs.values():
        for uid in sorted(job.tasks):
            if uid in cluster.restored:
                key = job.tasks[uid].key
                text = f"Pipelined on {cluster.restored[uid]}, restored from its annotations"
                yield SessionStep(f"pod {key}", text, is_successful=True, seq=1, subject=("task", key))


# Topology and the Kubernetes view


def _topology_step(recording: Recording) -> SessionStep:
    tree = recording.session.hyper_nodes
    real = len(tree.by_name) - 1
    text = f"{count_noun(real, 'HyperNode')} and a root over all nodes" if tree.ready else tree.problem
    return SessionStep("HyperNodes", text, tree.ready or None, seq=1, make_steps=partial(_hyper_node_steps, recording))


def _hyper_node_steps(recording: Recording) -> Sequence[SessionStep]:
    tree = recording.session.hyper_nodes
    return [
        SessionStep(
            f"tier {info.tier}: {info.name}", count_noun(len(tree.real_nodes.get(info.name, ())), "node"), seq=1
        )
        for info in sorted(tree.by_name.values(), key=lambda hyper_node: (hyper_node.tier, hyper_node.name))
    ]


# Plugins


def _plugins_step(recording: Recording) -> SessionStep:
    tiers = recording.conf.tiers
    return SessionStep(
        "plugins open, tier by tier",
        f"{count_noun(len(recording.session.plugins), 'plugin')} in {count_noun(len(tiers), 'tier')}",
        seq=1,
        make_steps=partial(_opened_plugins, recording),
    )


@per_recording()
def _opened_plugins(recording: Recording) -> Sequence[SessionStep]:
    hooks = group_by_key(
        ((registration.tier, registration.plugin), registration) for registration in iter_registrations(recording)
    )
    handlers = dict(event_handlers(recording))
    return [
        _plugin_step(
            recording, number, option.name, hooks.get((number, option.name), []), handlers.get(option.name, "")
        )
        for number, tier in enumerate(recording.conf.tiers, start=1)
        for option in tier
    ]


def _plugin_step(
    recording: Recording, tier: int, name: str, hooks: Sequence[HookRegistration], handler: str
) -> SessionStep:
    title = f"tier {tier}: {name}"
    if name not in recording.session.plugins:
        return SessionStep(title, UNKNOWN_PLUGIN, is_successful=False, seq=1)
    off = len([hook for hook in hooks if not hook.takes_part])
    text = f"{count_noun(len(hooks), 'hook')} registered" + (f", {off} switched off" if off else "")
    parts = [_hook_step(hook) for hook in hooks]
    if handler:
        parts.append(SessionStep("event handler", handler, is_successful=True, seq=1))
    return SessionStep(title, text + (", an event handler" if handler else ""), seq=1, make_steps=lambda: parts)


def _hook_step(hook: HookRegistration) -> SessionStep:
    switch = f" ({hook.switch})" if hook.switch else ""
    wrong = f"; {hook.misspelt_switch} is not a switch" if hook.misspelt_switch else ""
    return SessionStep(hook.hook, f"{hook.state}{switch}{wrong}", hook.takes_part and not wrong, seq=1)


# CycleState


@per_recording()
def _cycle_state_steps(recording: Recording) -> Sequence[SessionStep]:
    """A step per job: its last JobValid result while the session opens, and how many pods get a CycleState."""
    last = opening_seq(recording) or len(recording) + 1
    votes = {event.job: (seq, event) for seq, event in recording.hook_calls(JOB_VALID.upstream) if seq < last}
    state = recording.event_at(last) if last <= len(recording) else None
    jobs = state.jobs if isinstance(state, StateEvent) else {}
    return [_cycle_state_step(job, votes.get(uid), jobs.get(uid), last) for uid, job in recording.session.jobs.items()]


def _cycle_state_step(
    job: JobInfo, vote: tuple[Seq, HookEvent] | None, state: JobState | None, last: Seq
) -> SessionStep:
    seq, event = vote if vote is not None else (last, None)
    subject = ("job", job.uid)
    if event is not None and event.result is not None and not event.result["pass"]:
        text = f"not valid, {event.result['reason']}: {event.result['message']}; no pod gets a state"
        return SessionStep(f"job {job.uid}", text, False, seq, subject)
    gated = len([task for task in job.tasks.values() if task.sch_gated])
    waiting = state.status.get("Pending", 0) - gated if state is not None else 0
    text = f"valid; {count_noun(max(waiting, 0), 'pending pod')} with a state of its own"
    return SessionStep(f"job {job.uid}", text + (f", {gated} behind a gate" if gated else ""), True, seq, subject)


# A step of a session that leaves no event of its own.


class SessionStep(Struct, frozen=True):
    """One step of the session's opening or closing; steps form a tree."""

    name: str
    result: str = ""
    """The result of the step."""
    is_successful: bool | None = None
    """Whether the step succeeded; None where nothing is judged."""
    seq: Seq = 0
    """The event that shows the step; 0 for none."""
    subject: tuple[str, str] = ("", "")
    """(kind, name) of the job, task, node or queue of the step."""
    make_steps: Callable[[], Sequence[SessionStep]] | None = None
    """Makes the inner steps; called when the step is unfolded."""

    def inner_steps(self) -> Sequence[SessionStep]:
        """The inner steps; empty if there are none."""
        return self.make_steps() if self.make_steps is not None else ()


# Objects of the snapshot that the session leaves out, and why.


def iter_nodes_left_out(recording: Recording) -> Iterator[SessionStep]:
    """A step per node that --node-selector excludes, and per node in the session that is not Ready."""
    for manifest in recording.snapshot.objects_of("Node"):
        name = name_of(manifest)
        if name not in recording.session.nodes:
            yield SessionStep(f"node {name}", "left out: excluded by --node-selector", is_successful=False)
        elif ready := noteworthy_nodes(recording).get(name, ""):
            remark = f"in the session: the condition Ready is {ready}, but only taints keep pods away"
            yield SessionStep(f"node {name}", remark, subject=("node", name))


def iter_jobs_left_out(recording: Recording) -> Iterator[SessionStep]:
    """A step per job that is left out: its queue or PodGroup does not exist, or it cannot be read."""
    pod_group_jobs: dict[JobId, None] = {}
    for manifest in recording.snapshot.objects_of("PodGroup"):
        group = PodGroup(manifest)
        job = f"{group.namespace}/{group.name}"
        pod_group_jobs[job] = None
        if job not in recording.session.jobs:
            queue = group.queue or recording.snapshot.flags.default_queue
            reason = f"queue {queue} does not exist" if queue not in recording.session.queues else "it cannot be read"
            yield SessionStep(f"job {job}", f"left out: {reason}", is_successful=False)
    missing = (task.job for task in recording.session.cluster.orphans if task.job not in pod_group_jobs)
    for job in dict.fromkeys(missing):
        yield SessionStep(f"job {job}", "left out: its PodGroup does not exist", is_successful=False)


def iter_pods_left_out(recording: Recording) -> Iterator[SessionStep]:
    """A step per pod without a job in the session, which says whether the pod still uses room on its node."""
    session = recording.session
    tasks = {task.key: task for job in session.jobs.values() for task in job.tasks.values()}
    for manifest in recording.snapshot.objects_of("Pod"):
        task = tasks.get(key_of(manifest))
        pod = Pod(manifest) if task is None else task.pod
        if task is not None:
            if pod.node_name and pod.node_name not in session.nodes:
                subject = ("task", pod.key)
                yield SessionStep(
                    f"pod {pod.key}", f"on {pod.node_name}, which the session does not have", subject=subject
                )
            continue
        yield SessionStep(f"pod {pod.key}", f"left out: {_pod_left_out_reason(recording, pod)}", is_successful=False)


def _pod_left_out_reason(recording: Recording, pod: Pod) -> str:
    flags = recording.snapshot.flags
    if not pod.node_name and pod.scheduler_name not in flags.scheduler_names:
        return f"it has no node, and names scheduler {pod.scheduler_name or 'none'}"
    usage_note = f"; it uses room on {pod.node_name}" if pod.node_name in recording.session.nodes else ""
    if pod.node_name and pod.node_name not in recording.session.nodes:
        usage_note = f"; its node {pod.node_name} is not in the session"
    if not pod.job_id:
        return f"no annotation {GROUP_ANNOTATION}, so that it belongs to no job{usage_note}"
    if pod.job_id not in recording.session.jobs:
        return f"its job {pod.job_id} is not in the session{usage_note}"
    return "its volumes cannot be read, or another pod has its uid"


# What each plugin registered when the session opened, and whether the configuration lets it take part.

SwitchState = Literal["on", "on by default", "off", "off by default", "no switch"]
ALLOCATION_EVENTS: Final = "placements"
NEVER_REGISTERED: Final = ("NodeMap", "NodeReduce")
"""Scoring hooks that no plugin of upstream registers."""
DEALLOCATION_EVENTS: Final = "evictions and undone placements"


class HookRegistration(Struct, frozen=True):
    """One hook of one plugin at its place in the configuration."""

    tier: int
    plugin: str
    hook: str
    switch: str
    state: SwitchState
    misspelt_switch: str
    """An unknown switch in the configuration that is closest to this hook's."""

    @property
    def takes_part(self) -> bool:
        """Whether the session calls the hook."""
        return self.state in ("on", "on by default", "no switch")


def iter_registrations(recording: Recording) -> Iterator[HookRegistration]:
    """Every hook, plugin by plugin in configuration order."""
    functions = recording.session.functions
    for number, tier in enumerate(recording.conf.tiers, start=1):
        for option in tier:
            for hook in HOOKS:
                if option.name in functions.get(hook.method, ()):
                    yield _build_registration(recording, number, option, hook)


def unregistered_points(recording: Recording) -> list[str]:
    """Extension points of the release that no plugin of the session registered."""
    release, registered = recording.snapshot.release, recording.session.functions
    release_hooks = [hook for hook in HOOKS if hook.added_by is None or not release.has_older_form(hook.added_by)]
    return [hook.upstream for hook in release_hooks if hook.method not in registered]


def _build_registration(recording: Recording, tier: int, option: PluginOption, hook: AnyHook) -> HookRegistration:
    unread_keys = [problem.field for problem in option.problems]
    misspelt = next((key for key in unread_keys if closest_name(key, all_switches()) in hook.switches), "")
    switch = " or ".join(hook.switches)
    return HookRegistration(tier, option.name, hook.upstream, switch, switch_state(option, hook), misspelt)


def switch_state(option: PluginOption, hook: AnyHook) -> SwitchState:
    """The state of the hook's switches in the configuration, or their default."""
    if not hook.switches:
        return "no switch"
    is_set = any(name in option.switches for name in hook.switches)
    if option.is_enabled(hook.switches):
        return "on" if is_set and all(option.switches.get(name, True) for name in hook.switches) else "on by default"
    return "off" if is_set else "off by default"


def handler_subjects(recording: Recording) -> Iterator[tuple[str, str]]:
    """(plugin, events that its handler gets), in the order of the calls."""
    session = recording.session
    for words, listed in (
        (ALLOCATION_EVENTS, session.allocate_handlers),
        (DEALLOCATION_EVENTS, session.deallocate_handlers),
    ):
        for name, plugin in session.plugins.items():
            if any(getattr(handler, "__self__", None) is plugin for handler in listed):
                yield name, words


def event_handlers(recording: Recording) -> Iterator[tuple[str, str]]:
    """(plugin, text about the events that its handler gets), in the order of the calls."""
    for name, event_kinds in group_by_key(handler_subjects(recording)).items():
        yield name, f"notified of {' and '.join(event_kinds)}"
