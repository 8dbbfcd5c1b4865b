"""Upstream's call stack at an event: cycle, action, its functions, and the function that the event is about.

A row of an action says at which events one of its functions is being run. Rows of functions that the replayed release
does not have are left out, so that one table serves all releases.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from vcdebug.framework import hooks, record
from vcdebug.framework.record import Level
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.releases.scheduling import ALLOCATE_TOPOLOGY_TIERS
from vcdebug.releases.upstream_source import SourceFunction, UpstreamSource, upstream_source


class Frame(NamedTuple):
    """One function on the stack."""

    function: SourceFunction
    level: Level | None
    """Level of the spans that one call fills; None if a call is one event or one question to plugins."""


class StackPlace(NamedTuple):
    """The facts about an event from which an ActionRow decides whether its function is running."""

    key: str
    """A hook's name, an operation, or `pop job`, `best node`, `commit` and the like."""
    level: Level
    """Level of the innermost span around the event."""
    previous: str
    """Key of the preceding event."""
    question: int
    """At job level: number of the question to plugins since the last task, from 0; -1 elsewhere."""
    phase: str
    """In a search of HyperNodes: `sub` while sub jobs are tried, `job` while the job is checked, then `done`."""
    has_old_allocate: bool
    """Whether the release has allocate in its form before v1.14, without allocateForJob."""
    by_domains: bool
    """Whether the action preempts topology-aware or searches HyperNodes."""


class ActionRow(NamedTuple):
    """A function of an action, and at which events it is being run."""

    name: str
    level: Level
    runs: Callable[[StackPlace], bool]

    @property
    def function(self) -> str:
        """Its name in upstream's source."""
        return self.name.rpartition(".")[2]


SUB, JOB, DONE = "sub", "job", "done"
STATEMENT, SESSION, SESSION_PLUGINS = "framework/statement.go", "framework/session.go", "framework/session_plugins.go"
HELPER = "util/scheduler_helper.go"
_UNDONE: Final = (record.UNEVICT_OP, record.UNPIPELINE_OP, record.UNALLOCATE_OP)
_STATEMENT_KEYS: Final = (*_UNDONE, record.BIND_OP, "commit", "discard", "merge", "save", "recover")
_SEARCH_KEYS: Final = (
    hooks.PREEMPTABLE.upstream,
    "pop task",
    *(hook.upstream for hook in hooks.HOOKS if "Simulate" in hook.upstream),
)
_READY: Final = (hooks.SUB_JOB_READY.upstream, hooks.SUB_JOB_PIPELINED.upstream)
_STATEMENT_NAMES: Final[Mapping[str, str]] = {
    "commit": "Commit",
    "discard": "Discard",
    "merge": "Merge",
    "save": "SaveOperations",
    "recover": "RecoverOperations",
    record.EVICT_OP: "Evict",
    record.PIPELINE_OP: "Pipeline",
    record.ALLOCATE_OP: "Allocate",
    record.BIND_OP: record.ALLOCATE_OP,
    record.UNEVICT_OP: "unevict",
    record.UNPIPELINE_OP: "unPipeline",
    record.UNALLOCATE_OP: "unallocate",
}
_LEAVES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "predicate": (("util/predicate_helper.go", "PredicateNodes"),),
    "score": ((HELPER, "PrioritizeNodes"),),
    "best node": ((HELPER, "SelectBestNodeAndScore"),),
    "best hypernode": ((HELPER, "SelectBestHyperNodeAndScore"), (HELPER, "SelectBestHyperNode")),
    "opened": (("framework/framework.go", "OpenSession"),),
    "closed": (("framework/framework.go", "CloseSession"), (SESSION, "closeSession")),
}
_RUNS_TASKS: Final = ("organizeJobWorksheet", "allocateResourcesForTasks", "runSimulateTrialAtHyperNode")
_OTHER_NAMES: Final = ("runOnce", "OpenSession", "InitCycleState", "dispatch", "UnPipeline", "UnAllocate", "Pop")
_FIRST_ASKED: Final[Mapping[tuple[str, str], str]] = {
    **{
        (name, key): f"Sub{key}"
        for name in _RUNS_TASKS
        for key in (hooks.JOB_READY.upstream, hooks.JOB_PIPELINED.upstream)
    },
    **{(name, hooks.PREDICATE.upstream): "PredicateForPreemptAction" for name in ("reclaimForTask", "Execute")},
    ("Execute", hooks.JOB_READY.upstream): "Allocate",
}
"""(function of the action, hook) → the session's function that calls the hook indirectly."""


def _in_task(place: StackPlace) -> bool:
    return place.level == Level.NODE or (place.level == Level.TASK and place.key not in _STATEMENT_KEYS)


def _in_dry_run(place: StackPlace) -> bool:
    return place.by_domains and place.level == Level.NODE and place.key in _SEARCH_KEYS


def _is_task_run(place: StackPlace) -> bool:
    if place.key in (hooks.JOB_READY.upstream, hooks.JOB_PIPELINED.upstream) and place.level == Level.JOB:
        pipelined = place.key == hooks.JOB_PIPELINED.upstream and (place.question == 1 or not place.by_domains)
        return place.has_old_allocate or place.question == 0 or pipelined
    return place.level >= Level.TASK or place.key in ("pop task", *_READY) or _ends_task_run(place)


def _in_domains(place: StackPlace) -> bool:
    return place.by_domains and place.level >= Level.JOB and place.key not in ("commit", record.BIND_OP, "pop job")


def _is_recovery(place: StackPlace) -> bool:
    return place.key == "recover" or (place.level == Level.JOB and place.key in record.PLACING_OPS)


def _ends_task_run(place: StackPlace) -> bool:
    if place.key not in ("discard", *_UNDONE):
        return False
    return not place.by_domains or place.previous in (hooks.SUB_JOB_PIPELINED.upstream, hooks.JOB_PIPELINED.upstream)


def _asks(*keys: str, level: Level) -> Callable[[StackPlace], bool]:
    """Whether the place is at one of these keys, directly in a span of the level."""
    return lambda at: at.level == level and at.key in keys


_FITS_ON_NODE: Final = _asks(hooks.ALLOCATABLE.upstream, hooks.PREDICATE.upstream, level=Level.NODE)
_PREEMPT: Final = (
    ActionRow("preempt.preempt", Level.TASK, _in_task),
    ActionRow("taskEligibleToPreempt", Level.TASK, _asks(hooks.PREDICATE.upstream, level=Level.TASK)),
    ActionRow(
        "normalPreempt", Level.TASK, lambda at: not at.by_domains and (at.key == "score" or at.level == Level.NODE)
    ),
    ActionRow("preemptorFitsOnNode", Level.NODE, lambda at: not at.by_domains and _FITS_ON_NODE(at)),
    ActionRow(
        "topologyAwarePreempt", Level.TASK, lambda at: at.by_domains and (at.level == Level.NODE or at.key == "random")
    ),
    ActionRow("findCandidates", Level.TASK, lambda at: _in_dry_run(at) or at.key == "random"),
    ActionRow("GetOffsetAndNumCandidates", Level.TASK, lambda at: at.key == "random"),
    *(ActionRow(name, Level.NODE, _in_dry_run) for name in ("DryRunPreemption", "checkNode", "SelectVictimsOnNode")),
    ActionRow("removeTask", Level.NODE, lambda at: _in_dry_run(at) and at.key == hooks.SIMULATE_REMOVE_TASK.upstream),
    ActionRow("addTask", Level.NODE, lambda at: _in_dry_run(at) and at.key == hooks.SIMULATE_ADD_TASK.upstream),
    ActionRow("prepareCandidate", Level.NODE, lambda at: at.by_domains and _asks("evict", level=Level.NODE)(at)),
)
_WORKSHEET: Final = (hooks.JOB_READY.upstream, hooks.SUB_JOB_READY.upstream)
_JUDGED: Final = (hooks.JOB_READY.upstream, hooks.JOB_PIPELINED.upstream)
_SUB_KEYS: Final = (
    *_READY,
    "pop task",
    hooks.HYPER_NODE_GRADIENT_FOR_SUB_JOB.upstream,
    hooks.HYPER_NODE_ORDER.upstream,
)
_JOB_KEYS: Final = (hooks.HYPER_NODE_GRADIENT_FOR_JOB.upstream, "pop subjob")
_ALLOCATE: Final = (
    ActionRow("buildAllocateContext", Level.ACTION, _asks(hooks.JOB_VALID.upstream, *_WORKSHEET, level=Level.ACTION)),
    ActionRow("pickUpQueuesAndJobs", Level.ACTION, _asks(hooks.JOB_VALID.upstream, level=Level.ACTION)),
    ActionRow("organizeJobWorksheet", Level.ACTION, _asks(*_WORKSHEET, level=Level.ACTION)),
    ActionRow("allocateResources", Level.ACTION, lambda at: at.level > Level.ACTION or at.key == "pop queue"),
    ActionRow("allocateForJob", Level.JOB, lambda at: _in_domains(at) and at.phase != DONE),
    ActionRow(
        "allocateForSubJob", Level.JOB, lambda at: _in_domains(at) and at.phase == SUB and at.key not in _JOB_KEYS
    ),
    ActionRow(
        "allocateResourceForTasksWithTopology",
        Level.JOB,
        lambda at: at.by_domains and at.level >= Level.JOB and at.key not in ("commit", "bind"),
    ),
    ActionRow("selectBestHyperNodeForJob", Level.JOB, lambda at: at.key == "best hypernode" and at.phase == JOB),
    ActionRow(
        "selectBestHyperNodeForSubJob",
        Level.JOB,
        lambda at: at.key == hooks.HYPER_NODE_ORDER.upstream or (at.key == "best hypernode" and at.phase == SUB),
    ),
    ActionRow(
        "selectBestHyperNode",
        Level.JOB,
        lambda at: at.key in (hooks.HYPER_NODE_ORDER.upstream, "best hypernode") or _is_recovery(at),
    ),
    ActionRow("allocateResourcesForTasks", Level.JOB, lambda at: at.level >= Level.JOB and _is_task_run(at)),
    ActionRow("prioritizeNodes", Level.TASK, lambda at: at.key in ("score", "best node")),
    ActionRow("allocateResourcesForTask", Level.TASK, _asks(*record.PLACING_OPS, *_UNDONE, level=Level.TASK)),
)
_GANG_PLAN: Final = (
    hooks.JOB_READY.upstream,
    *_READY,
    "evict",
    *_UNDONE,
    "discard",
    hooks.HYPER_NODE_GRADIENT_FOR_SUB_JOB.upstream,
    "pop subjob",
    "save",
)


def _in_gang_plan(place: StackPlace) -> bool:
    return place.level >= Level.TASK or (place.level == Level.JOB and place.key in (*_GANG_PLAN, "pop task"))


def _gang_rows(job_function: str) -> tuple[ActionRow, ...]:
    """Rows shared by gangpreempt and gangreclaim, whose functions differ only in the name `job_function`."""
    ends = (hooks.JOB_PIPELINED.upstream, hooks.JOB_STARVING.upstream, "commit", "bind", "pop job")
    return (
        ActionRow(job_function, Level.JOB, lambda at: at.level >= Level.JOB and at.key not in ends),
        ActionRow("GetCandidateDomains", Level.JOB, lambda at: at.key == hooks.HYPER_NODE_GRADIENT_FOR_JOB.upstream),
        ActionRow("selectDomainBundles", Level.JOB, lambda at: at.key == hooks.UNIFIED_EVICTABLE.upstream),
        ActionRow("BuildNominationPlanInDomain", Level.JOB, _in_gang_plan),
        ActionRow("runSimulateTrialAtHyperNode", Level.TASK, lambda at: at.level >= Level.TASK),
        ActionRow("prioritizeNodesForSimulate", Level.TASK, lambda at: at.key in ("score", "best node")),
    )


ROWS: Final[Mapping[str, tuple[ActionRow, ...]]] = {
    "actions/allocate": _ALLOCATE,
    "actions/backfill": (
        ActionRow("pickUpPendingTasks", Level.ACTION, lambda at: at.level == Level.ACTION and at.key != "end backfill"),
    ),
    "actions/preempt": _PREEMPT,
    "actions/reclaim": (
        ActionRow(
            "reclaimForTask",
            Level.TASK,
            lambda at: _in_task(at) and at.key not in (hooks.PRE_PREDICATE.upstream, hooks.PREEMPTIVE.upstream),
        ),
    ),
    "actions/gangpreempt": _gang_rows("preemptJobInDomains"),
    "actions/gangreclaim": _gang_rows("reclaimJobInDomains"),
}
"""The functions of each action below Execute, from the outermost to the innermost."""


def event_key(event: record.Event) -> str:
    """The event's kind as the rows of ROWS name it, such as `pop job` or `commit`."""
    match event:
        case record.HookEvent():
            return event.point
        case record.OpEvent():
            return event.op
        case record.PopEvent():
            return f"pop {event.kind}"
        case record.BestEvent():
            return f"best {event.kind}"
        case record.StatementEvent():
            return event.what
        case record.ActionEvent():
            return f"{event.what} {event.action}"
        case record.StateEvent():
            return "opened" if event.when == "open" else "state"
        case record.CloseEvent():
            return "closed"
    return type(event).__name__.removesuffix("Event").lower()


def frames_at(recording: Recording, seq: Seq) -> tuple[Frame, ...]:
    """The stack at an event, outermost function first; the last one is the function that the event is about."""
    source, event = source_of(recording), recording.event_at(seq)
    around = recording.span_tree.name_around(seq, Level.ACTION)
    name = event.action if isinstance(event, record.ActionEvent) else around
    outer = [(source.find_function("scheduler.go", "runOnce"), Level.CYCLE)]
    if name:
        outer.append((source.find_function(f"actions/{name}", "Execute"), Level.ACTION))
        for row in _rows_that_run(recording, seq, name):
            found = source.find_function(f"actions/{name}", row.function)
            outer.append((found or source.find_function("actions/utils", row.function), row.level))
    else:
        outer += _opening_frames(source, event)
    frames = [Frame(function, level) for function, level in outer if function is not None]
    place = EventPlace(frames[-1].function.name, level_of(recording, seq), key_before(recording, seq))
    called = _event_functions(source, event, place)
    return *frames, *(Frame(function, None) for function in called if function is not None)


def source_of(recording: Recording) -> UpstreamSource:
    """The source of the release that a recording replays."""
    return upstream_source(recording.session.release.name)


def function_names(source: UpstreamSource, file: str) -> set[str]:
    """Names of the functions in a source file to which events can belong."""
    folder, _, subpath = file.partition("/")
    if folder == "plugins":
        # The trace lists no calls of hooks without a `show` form, except predicates for a single node.
        traced_hooks = {hook.upstream for hook in hooks.HOOKS if hook.show is not None} | {hooks.PREDICATE.upstream}
        plugin = subpath.partition("/")[0]
        return {
            name
            for (hook, registering_plugin), names in source.registered.items()
            if registering_plugin == plugin and hook in traced_hooks
            for name in names
        }
    if folder == "actions":
        rows = (
            row.function
            for name, rows in ROWS.items()
            if f"{file}/".startswith((name, "actions/utils"))
            for row in rows
        )
        return {"Execute", *rows}
    if folder not in ("framework", "util", "scheduler.go"):
        return set()
    leaves = (name for called in _LEAVES.values() for _, name in called)
    asking = (name for names in source.asking.values() for name in names)
    return {*asking, *leaves, *_FIRST_ASKED.values(), *_STATEMENT_NAMES.values(), *_OTHER_NAMES}


def function_at(recording: Recording, seq: Seq) -> SourceFunction:
    """The function that the event is about."""
    return frames_at(recording, seq)[-1].function


def _opening_frames(source: UpstreamSource, event: record.Event) -> list[tuple[SourceFunction | None, Level]]:
    """The functions around a hook call outside actions: the session calls plugins while it opens."""
    if not isinstance(event, record.HookEvent):
        return []
    # Before v1.13, which brought simulations, openSession called InitCycleState.
    between = () if hooks.SIMULATE_PREDICATE.upstream in source.asking else ("openSession",)
    names = ("OpenSession", *between, "InitCycleState")
    return [(source.find_function("framework", name), Level.CYCLE) for name in names]


def _rows_that_run(recording: Recording, seq: Seq, action: str) -> list[ActionRow]:
    event = recording.event_at(seq)
    if isinstance(event, record.ActionEvent | record.StateEvent):
        return []
    before, level = key_before(recording, seq), level_of(recording, seq)
    older = source_of(recording).find_function("actions/allocate", "allocateForJob") is None
    question = _question_since_task(recording, seq) if level is Level.JOB else -1
    by_domains = _tries_domains(recording, seq, action)
    phase = domain_phase(recording, seq) if by_domains and level is Level.JOB else SUB
    place = StackPlace(event_key(event), level, before, question, phase, older, by_domains)
    return [row for row in ROWS.get(f"actions/{action}", ()) if row.runs(place)]


def _question_since_task(recording: Recording, seq: Seq) -> int:
    """Number of the event's question to plugins since the end of the preceding task, from 0; -1 without one."""
    number, last_question = -1, None
    first = seq
    while first > 1 and isinstance(recording.event_at(first), record.HookEvent) and not _is_in_task(recording, first):
        first -= 1
    if not _is_in_task(recording, first):
        return -1
    for event in (recording.event_at(number_of_event) for number_of_event in range(first + 1, seq + 1)):
        assert isinstance(event, record.HookEvent)
        # Plugins are asked the same question one after the other; the same plugin again is another question.
        number += last_question is None or last_question[0] != event.point or last_question[1] == event.plugin
        last_question = event.point, event.plugin
    return number


def domain_phase(recording: Recording, seq: Seq) -> str:
    """Phase of the search of HyperNodes for a job at an event: SUB, JOB or DONE."""
    for earlier in range(seq, 0, -1):
        key = event_key(recording.event_at(earlier))
        if key in _SUB_KEYS or _is_in_task(recording, earlier):
            return SUB
        if key in _JOB_KEYS:
            return JOB
        if key in _JUDGED:
            question = _question_since_task(recording, earlier)
            if question == 0 or (question == 1 and key == hooks.JOB_PIPELINED.upstream):
                return SUB
            return DONE if _after_recovery(recording, earlier) else JOB
    return JOB


def _after_recovery(recording: Recording, seq: Seq) -> bool:
    """Whether the job's best solution was recovered just before the event, the last step before its judgement."""
    while seq > 1 and event_key(recording.event_at(seq - 1)) in (*record.PLACING_OPS, hooks.JOB_READY.upstream):
        seq -= 1
    return event_key(recording.event_at(seq - 1)) == "recover" and domain_phase(recording, seq - 1) == JOB


def _is_in_task(recording: Recording, seq: Seq) -> bool:
    return level_of(recording, seq) >= Level.TASK


def level_of(recording: Recording, seq: Seq) -> Level:
    """The level of the innermost span around an event."""
    span = recording.span_tree.innermost_span(seq)
    return span.level if span is not None else Level.CYCLE


def key_before(recording: Recording, seq: Seq) -> str:
    """The key of the event before; empty at the first one."""
    return event_key(recording.event_at(seq - 1)) if seq > 1 else ""


def _tries_domains(recording: Recording, seq: Seq, action: str) -> bool:
    """Whether preempt is topology-aware, or allocate tries HyperNodes for the job."""
    from vcdebug.actions.allocate.domains import tries_hyper_nodes
    from vcdebug.actions.preempt import TOPOLOGY_AWARE_KEY, Preempt

    session = recording.session
    if action == Preempt.name:
        arguments = recording.conf.arguments_of(action, session.release, Preempt.later_arguments)
        return arguments.get_bool(TOPOLOGY_AWARE_KEY, default=False)
    job = session.jobs.get(recording.span_tree.name_around(seq, Level.JOB))
    if job is None:
        return False
    by_tiers = session.release.has_older_form(ALLOCATE_TOPOLOGY_TIERS)
    return job.contains_hard_topology() if by_tiers else tries_hyper_nodes(session, job)


class EventPlace(NamedTuple):
    """Place of an event in its action, which decides the functions below the action's."""

    innermost_function: str
    """The innermost function of the action."""
    level: Level
    previous: str


def _event_functions(source: UpstreamSource, event: record.Event, place: EventPlace) -> list[SourceFunction | None]:
    """Functions that the event itself calls: the session's and the plugin's, or a statement's operation."""
    key = event_key(event)
    if isinstance(event, record.HookEvent):
        names = (_FIRST_ASKED.get((place.innermost_function, key), ""), *source.asking.get(key, ())[-1:])
        called = [source.find_function(SESSION, name) or source.find_function(SESSION_PLUGINS, name) for name in names]
        return [*called, source.find_plugin_function(key, event.plugin)]
    if isinstance(event, record.PopEvent):
        return [source.find_function("util/priority_queue.go", "Pop")]
    if isinstance(event, record.OpEvent) and event.via == "session":
        names = ("Allocate", "dispatch") if key == record.BIND_OP else (key.capitalize(),)
        return [source.find_function(SESSION, name) for name in names]
    if isinstance(event, record.OpEvent | record.StatementEvent):
        undoes = source.find_function(STATEMENT, "unPipeline") is not None
        outer = _outer_operation(key, place, undoes_itself=undoes)
        return [source.find_function(STATEMENT, name) for name in (outer, _STATEMENT_NAMES[key])]
    return [source.find_function(file, name) for file, name in _LEAVES.get(key, ())]


def _outer_operation(key: str, place: EventPlace, *, undoes_itself: bool) -> str:
    """The statement's function that calls an operation; empty where the action calls it."""
    if key == record.BIND_OP:
        return "Commit"
    if key in _UNDONE and (place.previous in ("discard", *_UNDONE) or place.level <= Level.JOB):
        return "Discard"
    if key in record.PLACING_OPS and place.level == Level.JOB:
        return "RecoverOperations"
    # A statement undoes its own failed operation since it has an unexported function for that.
    undoing = {record.UNPIPELINE_OP: ("UnPipeline", "Pipeline"), record.UNALLOCATE_OP: ("UnAllocate", "Allocate")}
    return undoing[key][undoes_itself] if key in undoing else ""
