"""One scheduling cycle: open, run the actions in order, close.

Upstream: scheduler.go (runOnce), framework/framework (OpenSession, CloseSession), api/shared_device_pool
(IgnoredDevicesList).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from types import FrameType
from typing import ClassVar, Final, Protocol

import numpy as np

from vcdebug.errors import PANICS, ProcessExit, SchedulerPanic, blame_objects
from vcdebug.framework import hooks
from vcdebug.framework.arguments import Arguments, release_arguments
from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.forced_answers import ForcedAnswers, with_forced_calls
from vcdebug.framework.node_verdict_cache import NodeVerdictCache
from vcdebug.framework.quirks import PLUGIN_TWICE, SWITCH_MISSPELT
from vcdebug.framework.record import ActionEvent, CutEvent, JobState, Level, PanicEvent, Record, StateEvent
from vcdebug.framework.recorded_calls import build_plugin_calls, register_hooks
from vcdebug.framework.registry import Registry, resolve_reference
from vcdebug.framework.replay_options import AskExtender, RecordFullError
from vcdebug.framework.reuse import POD, ActionStep, PreviousCycle, search_inputs
from vcdebug.framework.session import Plugin, Session
from vcdebug.framework.session_close import close_after_panic, close_session
from vcdebug.framework.topology import open_topology
from vcdebug.model.cluster import ClusterInfo, ReusableCluster
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource_list import ignored_names
from vcdebug.model.task import TaskInfo
from vcdebug.releases.change import Change
from vcdebug.snapshot.snapshot import Snapshot

StageCallback = Callable[[str], None]
"""Function that is called with the name of each stage when the stage ends, e.g. to measure time."""


class CycleAction(Protocol):
    """An action class as `run_session` uses it."""

    name: str
    later_arguments: ClassVar[Mapping[str, Change]]

    def __init__(self, arguments: Arguments) -> None: ...

    def execute(self, ssn: Session) -> None:
        """Run the action on the session."""
        ...


def run_cycle(
    snapshot: Snapshot,
    conf: SchedulerConf,
    record: Record,
    *,
    plugins: Registry,
    actions: Registry,
    tick: StageCallback = lambda _stage: None,
    ask_extender: AskExtender | None = None,
    reuse_from: Session | None = None,
) -> Session:
    """Run the cycle and record it. A panic of the real scheduler or a full record ends the cycle with an event.

    `reuse_from` is the session of an earlier cycle on nearly the same objects.
    Upstream: framework.OpenSession.
    """
    cluster = read_cluster(snapshot, conf, plugins, reuse_from)
    tick("read")
    ssn = Session(cluster, conf, record, reuse_from=reuse_from)
    ssn.ask_extender = ask_extender
    run_session(ssn, plugins=plugins, actions=actions, tick=tick, reuse_from=reuse_from)
    return ssn


def read_cluster(
    snapshot: Snapshot, conf: SchedulerConf, plugins: Registry, reuse_from: Session | None = None
) -> ClusterInfo:
    """The contents of the scheduler's cache before the cycle; `reuse_from` is an earlier session, as in `run_cycle`."""
    earlier = (None, None) if reuse_from is None else (reuse_from.cluster, _reusable_cluster(reuse_from, conf))
    ignored = ignored_resources(snapshot, conf, plugins)
    return ClusterInfo(snapshot, *earlier, running_tasks_are_read_only=_evicts_only_copies(conf), ignored=ignored)


def _evicts_only_copies(conf: SchedulerConf) -> bool:
    """Whether no configured action changes tasks that are already on a node: actions evict copies or do not evict."""
    facts = map(conf.facts_of, conf.actions)
    return all(action.evicts_copies or not action.evicts for action in facts)


def _reusable_cluster(old: Session, conf: SchedulerConf) -> ReusableCluster | None:
    """The earlier cycle's cluster for reuse; None if either cycle may change its initial tasks, or it never opened."""
    if not (_evicts_only_copies(old.conf) and _evicts_only_copies(conf)):
        return None
    opened = next((event for event in old.record.events if isinstance(event, StateEvent)), None)
    if opened is None:
        return None
    return ReusableCluster(old.cluster, dict(zip(old.node_table.names, opened.nodes, strict=True)))


def ignored_resources(snapshot: Snapshot, conf: SchedulerConf, plugins: Registry) -> tuple[str, ...]:
    """Names of ignored resources: those of the release, then those of the configured plugins."""
    names = dict.fromkeys(ignored_names(snapshot.release))
    for tier in conf.tiers:
        for option in tier:
            kind: type[Plugin] = resolve_reference(plugins[option.name]) if option.name in plugins else Plugin
            if kind.ignored_resources is not Plugin.ignored_resources:
                arguments = release_arguments(snapshot.release, option.arguments, kind.later_arguments)
                names.update(dict.fromkeys(kind.ignored_resources(arguments, snapshot)))
    return tuple(names)


@np.errstate(all="ignore")  # Go reports neither float overflows nor NaN.
def run_session(
    ssn: Session,
    *,
    plugins: Registry,
    actions: Registry,
    tick: StageCallback = lambda _stage: None,
    reuse_from: Session | None = None,
) -> None:
    """Open the session, run its actions and close it; the session must not be open yet."""
    record = ssn.record
    record.node_names = ssn.node_table.names
    forced = ForcedAnswers(ssn.snapshot.answers, record)
    in_action = False
    with record.open_span(Level.CYCLE, "cycle"):
        try:
            _raise_cache_panic(ssn)
            _open_session(ssn, plugins, forced)
            ssn.previous_cycle = None if reuse_from is None else find_previous_cycle(reuse_from, ssn)
            tick("open")
            in_action = True
            for name in ssn.conf.actions:
                if name in actions:
                    _run_action(ssn, name, actions)
                    tick(name)
            in_action = False
            close_session(ssn)
            tick("close")
        except PANICS as panic:
            record.running_call_count = 0
            record.append(panic_event(panic))
            # Upstream defers the close only after the session is open.
            if in_action and isinstance(panic, SchedulerPanic):
                close_after_panic(ssn)
        except RecordFullError as full:
            record.running_call_count = 0
            record.append(CutEvent(str(full)))
            return
        finally:
            ssn.previous_cycle = None
            record.lines.close_log()
    forced.check_all_given()


def _raise_cache_panic(ssn: Session) -> None:
    """Raise the panic of the scheduler's cache, if any: the cache reads pods before the first cycle."""
    if ssn.cluster.panic is not None:
        message, pod = ssn.cluster.panic
        raise blame_objects(SchedulerPanic(message), (("Pod", pod),))


def _open_session(ssn: Session, plugins: Registry, forced: ForcedAnswers) -> None:
    """Upstream: framework/session.openSession."""
    open_topology(ssn)
    open_plugins(ssn, plugins)
    if ssn.snapshot.answers:
        ssn.plugin_calls = with_forced_calls(ssn.plugin_calls, forced, ssn.record)
    else:
        ssn.verdict_cache = _new_verdict_cache(ssn)
    for job in ssn.jobs.values():
        ssn.ask_plugins(hooks.JOB_VALID, job)
    record_state(ssn, "open")


def _new_verdict_cache(ssn: Session) -> NodeVerdictCache | None:
    judges = [call.plugin for tier in ssn.plugin_calls[hooks.PREDICATE.method] for call in tier]
    if len(judges) != 1:
        return None
    return NodeVerdictCache(ssn.node_table, ssn.reasons, ssn.plugins[judges[0]].precomputed_codes)


def open_plugins(ssn: Session, plugins: Registry) -> None:
    """Open every configured plugin that the release has, tier by tier, and resolve the plugins of each hook."""
    for problem in ssn.conf.problems:
        if problem.field and not ssn.conf.built_in:
            ssn.note_quirk(SWITCH_MISSPELT, f"{problem.object}: {problem.field}: {problem.what}")
    for tier in ssn.conf.tiers:
        for option in tier:
            if option.name in ssn.plugins:
                ssn.note_quirk(
                    PLUGIN_TWICE, f"{option.name} is listed twice; its second instance answers at both positions"
                )
            if option.name in plugins:
                _open_plugin(ssn, resolve_reference(plugins[option.name]), option.arguments)
    ssn.plugin_calls = build_plugin_calls(ssn.conf, ssn.functions, ssn.record, ssn.release)
    _drop_later_predicates(ssn)


def _drop_later_predicates(ssn: Session) -> None:
    """Drop the predicates of all plugins after one with `judges_last`, in releases where that one ends the search."""
    release = ssn.release
    last_judges = [
        name
        for name, plugin in ssn.plugins.items()
        if plugin.judges_last and release.has_older_form(plugin.judges_last)
    ]
    is_asked = True
    for tier in ssn.plugin_calls[hooks.PREDICATE.method] if last_judges else ():
        end = next((place for place, call in enumerate(tier, start=1) if call.plugin in last_judges), len(tier) + 1)
        del tier[end if is_asked else 0 :]
        is_asked = is_asked and end > len(tier)


def _open_plugin(ssn: Session, kind: type[Plugin], arguments: Mapping[object, object]) -> None:
    """Open one plugin instance, without the arguments, hooks and handlers that the release lacks."""
    release = ssn.release
    plugin = kind(release_arguments(release, arguments, kind.later_arguments))
    ssn.plugins[plugin.name] = plugin
    ssn.withdrawn = {method: None for method, change in kind.later_methods.items() if release.has_older_form(change)}
    plugin.on_session_open(ssn)
    absent = [hook.method for hook, change in _LATER_HOOKS if release.has_older_form(change)]
    register_hooks(ssn.functions, plugin, {**ssn.withdrawn, **dict.fromkeys(absent)})
    for method, handlers in (("allocate_func", ssn.allocate_handlers), ("deallocate_func", ssn.deallocate_handlers)):
        if method not in ssn.withdrawn and hasattr(plugin, method):
            handlers.append(getattr(plugin, method))


_LATER_HOOKS = [(hook, hook.added_by) for hook in hooks.HOOKS if hook.added_by is not None]
_NODE_HOOKS = (hooks.PREDICATE, hooks.NODE_ORDER, hooks.BATCH_NODE_ORDER, hooks.BEST_NODE)


def find_previous_cycle(old: Session, new: Session) -> PreviousCycle | None:
    """The recorded searches of session `old`, for reuse in `new`, whose plugins must be open; None if inputs differ."""
    if old.snapshot.answers or new.persistence.is_on or not _judges_by_pod(new):
        return None
    pods, new_pods = old.snapshot.objects_of(POD), new.snapshot.objects_of(POD)
    same_pods = pods is new_pods
    inputs = [
        search_inputs(ssn.snapshot, ssn.conf, restores=ssn.persistence.is_on, same_pods=same_pods) for ssn in (old, new)
    ]
    if inputs[0] != inputs[1]:
        return None
    return PreviousCycle(old.record, new.record, new.conf, None if same_pods else {id(pod): pod for pod in pods})


def _judges_by_pod(ssn: Session) -> bool:
    """Whether every plugin that filters or scores nodes depends only on the pod and on what is on the nodes."""
    tiers = chain.from_iterable(ssn.plugin_calls[hook.method] for hook in _NODE_HOOKS)
    plugins = (ssn.plugins[call.plugin] for call in chain.from_iterable(tiers))
    return all(plugin.judges_by_pod and not plugin.remembers_rows for plugin in plugins)


def _run_action(ssn: Session, name: str, actions: Registry) -> None:
    kind: type[CycleAction] = resolve_reference(actions[name])
    arguments = ssn.conf.arguments_of(name, ssn.release, kind.later_arguments)
    ssn.action_arguments[name] = arguments
    action = kind(arguments)
    with ssn.open_span(Level.ACTION, name):
        ssn.record.append(ActionEvent("start", name))
        if ssn.previous_cycle is not None:
            ssn.previous_cycle.repeat_step(ActionStep(name))
        action.execute(ssn)
        ssn.record.append(ActionEvent("end", name))
    record_state(ssn, f"after {name}")


_JOB_STATE_KEY = attrgetter("changes", "pod_group.phase", "priority", "min_available")
"""The attributes of a job that decide its recorded state and may change during a session."""


def record_state(ssn: Session, when: str) -> None:
    """Record the whole state as one event; unchanged jobs share their last JobState, so a recording stores it once."""
    keys = dict(zip(ssn.jobs, map(_JOB_STATE_KEY, ssn.jobs.values()), strict=True))
    # The keys are compared first: usually no job has changed, and building a JobState counts all tasks of the job.
    if keys != ssn.job_state_keys:
        ssn.job_states = {
            uid: ssn.job_states[uid] if ssn.job_state_keys.get(uid) == key else _job_state(ssn, ssn.jobs[uid])
            for uid, key in keys.items()
        }
        ssn.job_state_keys = keys
    ssn.record.append(StateEvent(when, ssn.node_table.node_amounts(), ssn.job_states, ssn.plugin_books()))


def _job_state(ssn: Session, job: JobInfo) -> JobState:
    """The job's summary; the object of the previous state event if both are equal."""
    index, last = job.task_status_index, ssn.job_states.get(job.uid)
    counts = {status.upstream_name: len(index[status]) for status in (sorted(index) if len(index) > 1 else index)}
    state = JobState(job.queue, job.priority, job.min_available, job.pod_group.phase, counts)
    return last if last is not None and state == last else state


# Panics: the upstream calls that led to a panic, and the objects involved.

_UPSTREAM: Final = re.compile(r"Upstream: ([\w/.-]*\w)")

CONSTRUCTOR: Final = "new"
"""Upstream's name, in snake case, of the function that creates a plugin."""


def panic_event(panic: SchedulerPanic | ProcessExit) -> PanicEvent:
    """The event for a caught panic: upstream's functions, innermost first, and the objects to blame.

    Both are read from the traceback: a raise deep in the arithmetic of amounts knows neither the plugin nor the pod.
    """
    frames = list(_traceback_frames(panic))
    calls = dict.fromkeys(name for frame in frames for name in _upstream_names(frame))
    objects: dict[str, str] = {}
    for frame in frames:
        for kind, name in _named_objects(frame):
            objects.setdefault(kind, name)
    return PanicEvent(panic.message, tuple(calls), panic.objects or tuple(objects.items()), panic.change)


def _traceback_frames(panic: BaseException) -> Iterator[FrameType]:
    """The frames of the traceback, innermost first; frames of a panic that this one replaces come before its own."""
    if panic.__cause__ is not None:
        yield from _traceback_frames(panic.__cause__)
    frames = []
    step = panic.__traceback__
    while step is not None:
        frames.append(step.tb_frame)
        step = step.tb_next
    yield from reversed(frames)


def _upstream_names(frame: FrameType) -> list[str]:
    """The upstream functions named in the function's docstring; without any, plugin and hook if it is a plugin hook."""
    # A frame has no reference to its function: the docstring is the first constant of the code object.
    code, owner = frame.f_code, frame.f_locals.get("self")
    names = _UPSTREAM.findall(code.co_consts[0]) if code.co_consts and isinstance(code.co_consts[0], str) else []
    if names or not isinstance(owner, Plugin):
        return names
    name = CONSTRUCTOR if code.co_name == "__init__" else code.co_name
    return [] if name.startswith("_") else [f"plugins/{owner.name}.{name.title().replace('_', '')}"]


def _named_objects(frame: FrameType) -> Iterator[tuple[str, str]]:
    for value in frame.f_locals.values():
        match value:
            case TaskInfo():
                yield "Pod", value.key
            case JobInfo():
                yield "PodGroup", value.uid
            case NodeInfo():
                yield "Node", value.name
            case QueueInfo():
                yield "Queue", value.name
