"""Checks of nodes: the dry runs of topology-aware preemption, and why each node was refused."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from msgspec import Struct

from vcdebug.actions import PREEMPT
from vcdebug.actions.preempt.topology import TIE_RULES, Candidate, TopologyAwarePreemption, rank_candidate
from vcdebug.explain.decisions.equations import FUTURE_IDLE_FORMULA, room_equation, room_terms
from vcdebug.explain.equation import LESS_EQUAL, Equation, first_failing, judged_equation
from vcdebug.explain.plugins import AskedNode, ExplainRefusals, asked_node_at, explainer_for, is_filter, is_simulation
from vcdebug.explain.plugins.predicates import cached_verdict
from vcdebug.framework import hooks, record
from vcdebug.framework.placement import NOT_IN_SHARD
from vcdebug.model.fit_errors import SHORTAGE_PREFIX, FitStatus
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.plugins import PREDICATES
from vcdebug.plugins.predicates.static_filters import STATUSES as STABLE_STATUSES
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.replay import session_at_event
from vcdebug.recording.state_before import requested_together, task_of, tasks_of

TAKE, PUT_BACK = "take away", "restored"
ONLY_CANDIDATE: Final = "the only candidate"
CANDIDATE: Final = "candidate"
BY_NAME: Final = "the first name"
FOUND_FIRST: Final = "the scheduler found it first"


class TaskTrial(Struct, frozen=True):
    """One step of a dry run: a task is removed or put back, and whether the preemptor then fits."""

    verb: str
    task: TaskKey
    seq: Seq
    fits: bool
    removed_tasks: tuple[TaskKey, ...]
    """Tasks that are removed while the fit is tested."""
    refusal: str
    """The plugin or dimension that refuses the preemptor; empty if the preemptor fits."""
    removal_seq: Seq = 0
    """The event that removes a task again because the preemptor does not fit with it."""

    @property
    def verdict_text(self) -> str:
        """The result of the step in words, such as `a victim: it would not fit`."""
        if self.verb == TAKE:
            return "it fits now" if self.fits else "not enough yet"
        return "protected: it still fits" if self.fits else "a victim: it would not fit"


class NodeDryRun(Struct, frozen=True):
    """The dry run of one node: its candidates, the steps of the simulation, and the victims."""

    node: NodeName
    first_seq: Seq
    last_seq: Seq
    candidates: tuple[TaskKey, ...]
    allowed_victims: tuple[TaskKey, ...]
    """Candidate victims that the plugins allow, if removing all of them makes room."""
    trials: tuple[TaskTrial, ...]
    victims: tuple[TaskKey, ...]
    """Tasks that would be evicted; empty if the node is no candidate."""

    @property
    def outcome_words(self) -> str:
        if self.victims:
            return f"{CANDIDATE}, {len(self.victims)} to go"
        if not self.candidates:
            return "no candidate victim"
        if not self.allowed_victims:
            return "too few victims, or none"
        refusal = next((trial.refusal for trial in reversed(self.trials) if not trial.fits), "")
        return f"no candidate: {refusal}" if refusal else "no candidate"

    def removed_at(self, seq: Seq) -> tuple[TaskKey, ...]:
        """Tasks that the simulation has removed at an event."""
        trial = next((trial for trial in reversed(self.trials) if trial.seq <= seq), None)
        if trial is None:
            return ()
        is_removed = trial.removal_seq and seq >= trial.removal_seq
        return (*trial.removed_tasks, trial.task) if is_removed else trial.removed_tasks


class DryRunSearch(Struct, frozen=True):
    """The search for victims of one task: a dry run per node until enough nodes are candidates."""

    task: TaskKey
    nodes: int
    wanted_candidates: int
    """The number of candidate nodes after which the search ends."""
    runs: tuple[NodeDryRun, ...]
    winner: NodeName
    """The node whose victims were evicted; empty if no node is a candidate."""
    rule: str
    """The rule after which only the winner was left."""


def dry_run_search_at(recording: Recording, seq: Seq) -> DryRunSearch | None:
    """The dry-run search of the task around an event; None outside preempt's dry runs."""
    task, action = (recording.span_tree.span_around(seq, level) for level in (record.Level.TASK, record.Level.ACTION))
    if task is None or action is None or action.name != PREEMPT:
        return None
    return _build_dry_run_search(recording, task.index)


def dry_run_at(recording: Recording, seq: Seq) -> NodeDryRun | None:
    """The dry run of one node that contains an event; None outside a dry run."""
    search = dry_run_search_at(recording, seq)
    runs = search.runs if search is not None else ()
    return next((run for run in runs if run.first_seq <= seq <= run.last_seq), None)


@per_recording(most=256)
def _build_dry_run_search(recording: Recording, index: int) -> DryRunSearch | None:
    span = recording.spans[index]
    lines = [line for line in recording.record.lines if span.first - 1 <= line.seq <= span.last]
    count_line = next((line for line in lines if line.key == "count"), None)
    if count_line is None:
        return None
    nodes = [child for child in recording.span_tree.children_of(span) if child.level is record.Level.NODE]
    groups = _lines_by_node(lines[lines.index(count_line) + 1 :])
    runs = tuple(_build_dry_run(recording, span.name, node, group) for node, group in zip(nodes, groups, strict=False))
    mode = TopologyAwarePreemption(recording.conf.arguments_of(PREEMPT))
    # The recording keeps the number of nodes only; the number of candidates follows from the action's arguments.
    num_candidates = mode.calculate_num_candidates(count_line.values[0])
    winner, rule = _find_winner(recording, span, runs)
    return DryRunSearch(span.name, count_line.values[0], num_candidates, runs, winner, rule)


def _lines_by_node(lines: Sequence[record.LogPoint]) -> list[list[record.LogPoint]]:
    """The log lines of each node's simulation, up to the line with the chosen victims."""
    groups: list[list[record.LogPoint]] = []
    for line in takewhile(lambda line: line.key != "victim", lines):
        if line.key == "candidates" or not groups:
            groups.append([])
        groups[-1].append(line)
    return groups


def _build_dry_run(
    recording: Recording, task: TaskKey, span: record.Span, lines: Sequence[record.LogPoint]
) -> NodeDryRun:
    logged = {line.key: line.values for line in lines}
    removal_trials = list(_removal_trials(recording, task, span, "enough" in logged))
    removed_tasks = tuple(trial.task for trial in removal_trials)
    put_back_order = logged["potential"][0] if "potential" in logged else ()
    verdicts = [line for line in lines if line.key == "reprieve"]
    victims = tuple(logged["chosen"][0]) if "chosen" in logged else ()
    allowed = tuple(logged["victims"][0]) if "victims" in logged else ()
    trials = (*removal_trials, *_restoring_trials(recording, task, span, removed_tasks, put_back_order, verdicts))
    return NodeDryRun(span.name, span.first, span.last, tuple(logged["candidates"][0]), allowed, trials, victims)


def _removal_trials(recording: Recording, task: TaskKey, span: record.Span, fits_last: bool) -> Iterator[TaskTrial]:
    """Yields one trial per removed task; if `fits_last`, the preemptor fits after the last removal."""
    pops = [(seq, event.name) for seq, event in recording.filter_events(record.PopEvent, span.seq_range)]
    put_back_calls = _calls_by_other(recording, span.seq_range, hooks.SIMULATE_ADD_TASK.upstream)
    ends = [*(seq for seq, _ in pops[1:]), next((seq for seq, _ in put_back_calls), span.last + 1)]
    removed: tuple[TaskKey, ...] = ()
    for index, ((seq, victim), end) in enumerate(zip(pops, ends, strict=False)):
        removed = (*removed, victim)
        fits = fits_last and index == len(pops) - 1
        refusal = "" if fits else _refusal_text(recording, range(seq, end), task, span.name, removed)
        yield TaskTrial(TAKE, victim, seq, fits, removed, refusal)


def _restoring_trials(
    recording: Recording,
    task: TaskKey,
    span: record.Span,
    removed_tasks: tuple[TaskKey, ...],
    order: Sequence[TaskKey],
    verdicts: Sequence[record.LogPoint],
) -> Iterator[TaskTrial]:
    """Yields one trial per attempt to put a task back; tasks that had to be removed again stay in `removed`."""
    removed, first = removed_tasks, span.first
    for line in verdicts:
        name, fits = line.values
        # Upstream logs the pod's name without its namespace.
        victim = next(key for key in order if key.endswith(f"/{name}"))
        seqs = range(first, line.seq + 1)
        added = _calls_by_other(recording, seqs, hooks.SIMULATE_ADD_TASK.upstream)
        start = next((seq for seq, other in added if other == victim), line.seq)
        still_removed = tuple(removed_task for removed_task in removed if removed_task != victim)
        refusal = "" if fits else _refusal_text(recording, range(start, line.seq + 1), task, span.name, still_removed)
        remove_calls = _calls_by_other(recording, range(start + 1, line.seq + 1), hooks.SIMULATE_REMOVE_TASK.upstream)
        removed_again = next((seq for seq, other in remove_calls if other == victim), 0)
        yield TaskTrial(PUT_BACK, victim, start, bool(fits), still_removed, refusal, removed_again)
        removed = still_removed if fits else removed
        first = line.seq + 1


def _refusal_text(recording: Recording, seqs: range, task: TaskKey, node: NodeName, removed: Sequence[TaskKey]) -> str:
    """The first check that refuses the preemptor, in words: queue limit, room, then predicates; empty for none."""
    for _, event in recording.filter_events(record.HookEvent, seqs):
        if event.point == hooks.SIMULATE_ALLOCATABLE.upstream and not event.result:
            return f"{event.plugin}: above the limit of the queue"
    # In the order of upstream's checks: queue, resources, predicates. A later one is never reached after a refusal.
    room = room_equation(recording, seqs.start, task, node, removed)
    if not room.verdict:
        return f"{room.deciding_name} is short"
    for _, event in recording.filter_events(record.HookEvent, seqs):
        if event.point == hooks.SIMULATE_PREDICATE.upstream and event.result is not None:
            return f"{event.plugin}: its simulated predicate refuses"
    return ""


def _find_winner(recording: Recording, span: record.Span, runs: Sequence[NodeDryRun]) -> tuple[NodeName, str]:
    """(node whose victims were evicted, rule that ranked it first); two empty strings if no victim was evicted."""
    operations = recording.filter_events(record.OpEvent, span.seq_range)
    name = next((event.node for _, event in operations if event.op == record.EVICT_OP), "")
    nodes, with_victims = recording.session.nodes, [run for run in runs if run.victims]
    ranks = {
        run.node: rank_candidate(Candidate(nodes[run.node], tasks_of(recording, run.victims))) for run in with_victims
    }
    if name not in ranks:
        return "", ""
    rank = ranks.pop(name)
    if not ranks:
        return name, ONLY_CANDIDATE
    best, first = min((other, node) for node, other in ranks.items())
    if (best, first) < (rank, name):
        return name, FOUND_FIRST
    return name, next((words for words, one, other in zip(TIE_RULES, rank, best, strict=True) if one != other), BY_NAME)


def _calls_by_other(recording: Recording, seqs: range, point: str) -> Iterator[tuple[Seq, TaskKey]]:
    """Yields (event, task) of each simulated AddTask or RemoveTask call in a range of events."""
    calls = recording.filter_events(record.HookEvent, seqs)
    return ((seq, event.other) for seq, event in calls if event.point == point)


class NodeRoom(Struct, frozen=True):
    """The room of a node, and the request of a task."""

    request: Resource
    amounts: record.NodeAmounts
    removed_tasks: tuple[TaskKey, ...]
    """Tasks that a dry run has removed."""
    freed_amounts: Resource
    future_idle: Resource
    placed_seq: Seq
    """The event that placed the task here; the amounts are those before it. 0 if the task is not on the node."""


def node_room(recording: Recording, seq: Seq, task: TaskKey, node: NodeName) -> NodeRoom:
    """The node's future idle after an event, not counting the task's own placement."""
    placed_seq = _placing_seq(recording, seq, task, node)
    amounts = recording.timeline.state_at(placed_seq - 1 if placed_seq else seq).nodes[node]
    run = dry_run_at(recording, seq)
    removed = run.removed_at(seq) if run is not None and run.node == node else ()
    freed = requested_together(recording, removed)
    future = amounts.future_idle().add(freed)
    return NodeRoom(task_of(recording, task).init_resreq, amounts, removed, freed, future, placed_seq)


def _placing_seq(recording: Recording, seq: Seq, task: TaskKey, node: NodeName) -> Seq:
    """The operation of this try that placed the task on the node; 0 if the task is not placed there."""
    span = recording.span_tree.span_around(seq, record.Level.NODE)
    if span is None or recording.timeline.state_at(seq).tasks[task].node != node:
        return 0
    # Backward, since a task can be placed and undone several times in one try.
    earlier = recording.filter_events(record.OpEvent, range(seq, span.first - 1, -1))
    return next((op_seq for op_seq, event in earlier if event.task == task and event.op in record.PLACING_OPS), 0)


ROOM_FORMULA = f"InitResreq ≤ {FUTURE_IDLE_FORMULA}"
ROOM_COLUMNS = ("idle", "releasing", "pipelined", "future idle", "InitResreq")
SIMULATED_FORMULA = f"{ROOM_FORMULA} + removed pods"
SIMULATED_COLUMNS = ("idle", "releasing", "pipelined", "away", "future idle", "InitResreq")
CACHED_STATUS: Final = STABLE_STATUSES[3]


class NodeCheck(Struct, frozen=True):
    """One plugin's check of a node, or the action's own, as an equation."""

    plugin: str
    """The plugin that checks; empty for the action's own resource test."""
    equation: Equation

    @property
    def is_refused(self) -> bool:
        return self.equation.verdict is False


def checks_of_node(recording: Recording, seq: Seq, node: NodeName) -> tuple[NodeCheck, ...]:
    """Every check of a node in a pass of predicates; nothing where the session cannot be rebuilt."""
    event = recording.event_at(seq)
    asked_node = asked_node_at(recording, seq, node)
    if not isinstance(event, record.PredicateEvent) or asked_node is None:
        return ()
    return tuple(node_checks_in(asked_node, statuses_of(recording, event, node)))


def filter_checks(recording: Recording, seq: Seq) -> tuple[NodeCheck, ...] | None:
    """One plugin's checks of the single node of a predicate event; None elsewhere, or if the session is not rebuilt."""
    event = recording.event_at(seq)
    asked_node = asked_node_at(recording, seq, event.node) if is_filter(event) else None
    if not is_filter(event) or asked_node is None:
        return None
    return _plugin_checks(event.plugin, explainer_for(event.plugin).refusals, asked_node)


def simulated_checks(recording: Recording, seq: Seq) -> tuple[NodeCheck, ...] | None:
    """The dry run's resource test and the checks of the plugin that answers at an event; None outside dry runs."""
    event, run = recording.event_at(seq), dry_run_at(recording, seq)
    session = session_at_event(recording, seq) if is_simulation(event) and run is not None else None
    simulated = None if session is None else session.simulated
    if not is_simulation(event) or run is None or session is None or simulated is None:
        return None
    if simulated.task.key != event.task:
        return None
    row = session.node_table.row_of[run.node]
    node_rows = session.node_table.single_row(row)
    asked_node = AskedNode(session, simulated.task, node_rows, row, simulated, run.removed_at(seq))
    room = node_room(recording, seq, asked_node.task.key, asked_node.node.name)
    parts = (room.amounts.idle, room.amounts.releasing, room.amounts.pipelined, room.freed_amounts)
    # The requests of removed tasks count as room.
    terms = room_terms(room.request, room.future_idle, parts)
    title = f"room on {asked_node.node.name}"
    room_check = judged_equation(title, SIMULATED_FORMULA, SIMULATED_COLUMNS, terms, "", LESS_EQUAL)
    plugin_checks = _plugin_checks(event.plugin, explainer_for(event.plugin).simulated, asked_node)
    return (NodeCheck("", room_check), *plugin_checks)


def _plugin_checks(plugin: str, derive: ExplainRefusals | None, asked_node: AskedNode) -> tuple[NodeCheck, ...]:
    """The plugin's checks of a node, computed without recording events."""
    if derive is None:
        return ()
    with asked_node.session.record.silence_recording():
        return tuple(NodeCheck(plugin, equation) for equation in derive(asked_node))


def statuses_of(recording: Recording, event: record.PredicateEvent, node: NodeName) -> tuple[FitStatus, ...]:
    """The reasons for which a pass of predicates refused a node; empty if it did not."""
    failed = event.failed.tolist()
    row = recording.session.node_table.row_of[node]
    return recording.reason_table.statuses_of(int(event.codes[failed.index(row)])) if row in failed else ()


def node_checks_in(asked_node: AskedNode, statuses: tuple[FitStatus, ...]) -> Iterator[NodeCheck]:
    """As checks, in the given session, for a node with these statuses."""
    reasons = [status.reason for status in statuses]
    if reasons == [NOT_IN_SHARD]:
        title = f"shard of {asked_node.node.name}"
        yield NodeCheck("", Equation(title, NOT_IN_SHARD, (), "check", (), False, None, NOT_IN_SHARD))
        return
    if reasons and reasons[0].startswith(SHORTAGE_PREFIX):
        yield NodeCheck("", _action_room_check(asked_node))
        return
    for plugin in (call.plugin for tier in asked_node.session.plugin_calls[hooks.PREDICATE.method] for call in tier):
        checks = _plugin_checks(plugin, explainer_for(plugin).refusals, asked_node)
        yield from checks
        if CACHED_STATUS in statuses and plugin == PREDICATES and (cached := cached_verdict(asked_node)) is not None:
            yield NodeCheck(plugin, cached)
        if any(check.is_refused for check in checks):
            return


def _action_room_check(asked_node: AskedNode) -> Equation:
    """The action's own resource test; its reason names the first dimension without enough room."""
    node, future = asked_node.node, asked_node.node.future_idle()
    terms = room_terms(asked_node.task.init_resreq, future, (node.idle, node.releasing, node.pipelined))
    short = first_failing(terms)
    note = f"{SHORTAGE_PREFIX}{short}" if short else ""
    return judged_equation(f"room on {node.name}", ROOM_FORMULA, ROOM_COLUMNS, terms, note, LESS_EQUAL)


class CacheHit(Struct, frozen=True):
    """A node that an earlier search of the same action refused, so no plugin was asked again."""

    node: NodeName
    key: str
    """The key of the error cache: `job/role`."""
    seq: Seq
    """The event of the earlier search, in which the plugins refused the node."""


def cache_hits(recording: Recording, seq: Seq) -> dict[NodeName, CacheHit]:
    """Nodes that a search skipped by the error cache: an earlier search for the same job and role refused them."""
    event = recording.event_at(seq)
    if not isinstance(event, record.PredicateEvent):
        return {}
    key = cache_key(recording, event)
    failed, names = dict.fromkeys(event.failed.tolist()), recording.node_names
    hits: dict[NodeName, CacheHit] = {}
    for earlier_seq, search in _searches_with_cache(recording, seq) if key else ():
        for row in search.failed.tolist() if cache_key(recording, search) == key else ():
            if row in failed:
                hits.setdefault(names[row], CacheHit(names[row], key, earlier_seq))
    return hits


def cache_key(recording: Recording, event: record.PredicateEvent) -> str:
    """The key of the error cache; empty for a task without a role, which upstream does not cache."""
    task = recording.timeline.tasks[event.task]
    return f"{task.job}/{task.task_role}" if task.task_role else ""


def _searches_with_cache(recording: Recording, seq: Seq) -> Iterator[tuple[Seq, record.PredicateEvent]]:
    """Yields earlier searches that use the same error cache as the search at `seq`; none if the cache is off."""
    helper = next((at_seq for at_seq in reversed(recording.record.search_helpers) if at_seq.seq < seq), None)
    if helper is None or not helper.cache_on:
        return
    action = recording.span_tree.span_around(seq, record.Level.ACTION)
    first = max(helper.seq, action.first if action is not None else 1)
    yield from ((at, event) for at, event in recording.events_of_type(record.PredicateEvent) if first <= at < seq)
