"""Checks of nodes: the dry runs of topology-aware preemption, and why each node was refused."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from vcdebug.actions import PREEMPT
from vcdebug.actions.preempt.topology import TIE_RULES, Candidate, TopologyAwarePreemption, rank_candidate
from vcdebug.explain.decisions.equations import room_equation, room_terms
from vcdebug.explain.equation import LESS_EQUAL, Equation, Term, first_failing, judged_equation
from vcdebug.explain.plugins import AskedNode, ExplainRefusals, asked_node_at, explainer_for, is_filter, is_simulation
from vcdebug.explain.plugins.predicates import cached_verdict
from vcdebug.framework import hooks, record
from vcdebug.framework.placement import NOT_IN_SHARD
from vcdebug.model.fit_errors import FitStatus
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


@dataclass(frozen=True, slots=True)
class TaskTrial:
    """One step of a dry run: a task is removed or put back; does the preemptor fit then?"""

    verb: str
    task: TaskKey
    seq: Seq
    fits: bool
    away: tuple[TaskKey, ...]
    """Tasks that are removed while the fit is tested."""
    why: str
    """What refuses the preemptor; empty where it fits."""
    left: Seq = 0
    """The event that removes a task again because the preemptor does not fit with it."""

    @property
    def verdict_text(self) -> str:
        """What becomes of the task."""
        if self.verb == TAKE:
            return "it fits now" if self.fits else "not enough yet"
        return "protected: it still fits" if self.fits else "a victim: it would not fit"


@dataclass(frozen=True, slots=True)
class NodeDryRun:
    """One node's simulation."""

    node: NodeName
    first: Seq
    last: Seq
    candidates: tuple[TaskKey, ...]
    offered: tuple[TaskKey, ...]
    """Candidate victims that the plugins allow, if removing all of them makes room."""
    trials: tuple[TaskTrial, ...]
    victims: tuple[TaskKey, ...]
    """Tasks that would be evicted; empty if the node is no candidate."""

    @property
    def outcome_words(self) -> str:
        """How it ended."""
        if self.victims:
            return f"{CANDIDATE}, {len(self.victims)} to go"
        if not self.candidates:
            return "none in reach"
        if not self.offered:
            return "too few victims, or none"
        refused = next((trial.why for trial in reversed(self.trials) if not trial.fits), "")
        return f"no candidate: {refused}" if refused else "no candidate"

    def tasks_away(self, seq: Seq) -> tuple[TaskKey, ...]:
        """Tasks that the simulation has removed at an event."""
        trial = next((trial for trial in reversed(self.trials) if trial.seq <= seq), None)
        if trial is None:
            return ()
        return (*trial.away, trial.task) if trial.left and seq >= trial.left else trial.away


@dataclass(frozen=True, slots=True)
class DryRunSearch:
    """One task's search: a dry run per node until there are enough candidates."""

    task: TaskKey
    nodes: int
    wanted: int
    """How many candidates end the search."""
    runs: tuple[NodeDryRun, ...]
    winner: NodeName
    """Empty if no node is a candidate."""
    rule: str
    """The rule after which only the winner was left."""


def dry_run_search_at(recording: Recording, seq: Seq) -> DryRunSearch | None:
    """The search that an event belongs to; None where nothing is simulated."""
    task, action = (recording.span_tree.span_around(seq, level) for level in (record.Level.TASK, record.Level.ACTION))
    if task is None or action is None or action.name != PREEMPT:
        return None
    return _build_dry_run_search(recording, task.index)


def dry_run_at(recording: Recording, seq: Seq) -> NodeDryRun | None:
    """The simulation that an event belongs to."""
    found = dry_run_search_at(recording, seq)
    runs = found.runs if found is not None else ()
    return next((run for run in runs if run.first <= seq <= run.last), None)


def simulated_at(recording: Recording, seq: Seq) -> AskedNode | None:
    """The node of the dry run that a plugin's answer belongs to, as the dry run has it by then."""
    event, run = recording.event_at(seq), dry_run_at(recording, seq)
    if not is_simulation(event) or run is None:
        return None
    session = session_at_event(recording, seq)
    simulated = None if session is None else session.simulated
    if session is None or simulated is None or simulated.task.key != event.task:
        return None
    row = session.node_table.row_of[run.node]
    return AskedNode(session, simulated.task, session.node_table.single_row(row), row, simulated, run.tasks_away(seq))


@per_recording(most=256)
def _build_dry_run_search(recording: Recording, index: int) -> DryRunSearch | None:
    span = recording.spans[index]
    lines = [line for line in recording.record.lines if span.first - 1 <= line.seq <= span.last]
    counted = next((line for line in lines if line.key == "count"), None)
    if counted is None:
        return None
    nodes = [inner for inner in recording.span_tree.children_of(span) if inner.level is record.Level.NODE]
    groups = list(_lines_by_node(lines[lines.index(counted) + 1 :]))
    runs = tuple(_build_dry_run(recording, span.name, node, group) for node, group in zip(nodes, groups, strict=False))
    mode = TopologyAwarePreemption(recording.conf.arguments_of(PREEMPT))
    # The recording keeps the number of nodes only; the number of candidates follows from the action's arguments.
    wanted = mode.calculate_num_candidates(counted.values[0])
    winner, rule = _find_winner(recording, span, runs)
    return DryRunSearch(span.name, counted.values[0], wanted, runs, winner, rule)


def _lines_by_node(lines: Sequence[record.LogPoint]) -> Iterator[list[record.LogPoint]]:
    """The lines of one node's simulation after the other."""
    group: list[record.LogPoint] = []
    for line in lines:
        if line.key in ("candidates", "victim"):
            if group:
                yield group
            group = []
        if line.key == "victim":
            return
        group.append(line)
    if group:
        yield group


def _build_dry_run(
    recording: Recording, task: TaskKey, span: record.Span, lines: Sequence[record.LogPoint]
) -> NodeDryRun:
    said = {line.key: line.values for line in lines}
    taken = list(_take_away_trials(recording, task, span, "enough" in said))
    gone = tuple(trial.task for trial in taken)
    order = said["potential"][0] if "potential" in said else ()
    verdicts = [line for line in lines if line.key == "reprieve"]
    victims = tuple(said["chosen"][0]) if "chosen" in said else ()
    offered = tuple(said["victims"][0]) if "victims" in said else ()
    trials = (*taken, *_put_back_trials(recording, task, span, gone, order, verdicts))
    return NodeDryRun(span.name, span.first, span.last, tuple(said["candidates"][0]), offered, trials, victims)


def _take_away_trials(recording: Recording, task: TaskKey, span: record.Span, enough: bool) -> Iterator[TaskTrial]:
    """Each pop removes one more task; if the preemptor fits, the last removal ends the loop."""
    pops = [(seq, event.name) for seq, event in recording.filter_events(record.PopEvent, span.seq_range)]
    back = _calls_by_other(recording, span.seq_range, hooks.SIMULATE_ADD_TASK.upstream)
    ends = [*(seq for seq, _ in pops[1:]), next((seq for seq, _ in back), span.last + 1)]
    away: tuple[TaskKey, ...] = ()
    for place, ((seq, victim), end) in enumerate(zip(pops, ends, strict=False)):
        away = (*away, victim)
        fits = enough and place == len(pops) - 1
        why = "" if fits else _refusal_text(recording, range(seq, end), task, span.name, away)
        yield TaskTrial(TAKE, victim, seq, fits, away, why)


def _put_back_trials(
    recording: Recording,
    task: TaskKey,
    span: record.Span,
    gone: tuple[TaskKey, ...],
    order: Sequence[TaskKey],
    verdicts: Sequence[record.LogPoint],
) -> Iterator[TaskTrial]:
    """Each attempt to put a task back; tasks that had to be removed again stay in `away`."""
    away, first = gone, span.first
    for line in verdicts:
        name, fits = line.values
        # Upstream logs the pod's name without its namespace.
        victim = next(key for key in order if key.endswith(f"/{name}"))
        seqs = range(first, line.seq + 1)
        entering = (
            seq for seq, other in _calls_by_other(recording, seqs, hooks.SIMULATE_ADD_TASK.upstream) if other == victim
        )
        start = next(entering, line.seq)
        without = tuple(each for each in away if each != victim)
        why = "" if fits else _refusal_text(recording, range(start, line.seq + 1), task, span.name, without)
        leaving = _calls_by_other(recording, range(start + 1, line.seq + 1), hooks.SIMULATE_REMOVE_TASK.upstream)
        left = next((seq for seq, other in leaving if other == victim), 0)
        yield TaskTrial(PUT_BACK, victim, start, bool(fits), without, why, left)
        away = without if fits else away
        first = line.seq + 1


def _refusal_text(recording: Recording, seqs: range, task: TaskKey, node: NodeName, away: Sequence[TaskKey]) -> str:
    """Queue, room and predicates are asked in this order; the first no is the answer."""
    for _, event in recording.filter_events(record.HookEvent, seqs):
        if event.point == hooks.SIMULATE_ALLOCATABLE.upstream and not event.result:
            return f"{event.plugin}: above the limit of the queue"
    # In the order of upstream's checks: queue, resources, predicates. A later one is never reached after a refusal.
    room = room_equation(recording, seqs.start, task, node, away)
    if not room.verdict:
        return f"{room.deciding} is short"
    for _, event in recording.filter_events(record.HookEvent, seqs):
        if event.point == hooks.SIMULATE_PREDICATE.upstream and event.result is not None:
            return f"{event.plugin}: its simulated predicate refuses"
    return ""


def _find_winner(recording: Recording, span: record.Span, runs: Sequence[NodeDryRun]) -> tuple[NodeName, str]:
    """(node whose victims were evicted, the rule that ranked it first); empty if none were."""
    name = next(
        (
            event.node
            for _, event in recording.filter_events(record.OpEvent, span.seq_range)
            if event.op == record.EVICT_OP
        ),
        "",
    )
    found = {
        run.node: rank_candidate(Candidate(recording.session.nodes[run.node], tasks_of(recording, run.victims)))
        for run in runs
        if run.victims
    }
    if name not in found:
        return "", ""
    mine = found.pop(name)
    if not found:
        return name, ONLY_CANDIDATE
    best, first = min((other, node) for node, other in found.items())
    if (best, first) < (mine, name):
        return name, FOUND_FIRST
    return name, next((words for words, one, other in zip(TIE_RULES, mine, best, strict=True) if one != other), BY_NAME)


def _calls_by_other(recording: Recording, seqs: range, point: str) -> Iterator[tuple[Seq, TaskKey]]:
    """(event, task) of each AddTask or RemoveTask call of the plugins in the simulation."""
    return (
        (seq, event.other) for seq, event in recording.filter_events(record.HookEvent, seqs) if event.point == point
    )


class NodeRoom(NamedTuple):
    """The room of a node, and the request of a task."""

    request: Resource
    amounts: record.NodeAmounts
    away: tuple[TaskKey, ...]
    """Tasks that a dry run has removed."""
    freed: Resource
    future: Resource
    placed: Seq
    """The event that placed the task here; the amounts are those before it. 0 if the task is not on the node."""


def node_room(recording: Recording, seq: Seq, task: TaskKey, node: NodeName) -> NodeRoom:
    """The node's future idle after an event, not counting the task's own placement."""
    placed = _placing_seq(recording, seq, task, node)
    amounts = recording.timeline.state_at(placed - 1 if placed else seq).nodes[node]
    run = dry_run_at(recording, seq)
    away = run.tasks_away(seq) if run is not None and run.node == node else ()
    freed = requested_together(recording, away)
    future = amounts.future_idle().add(freed)
    return NodeRoom(task_of(recording, task).init_resreq, amounts, away, freed, future, placed)


def _placing_seq(recording: Recording, seq: Seq, task: TaskKey, node: NodeName) -> Seq:
    """The operation of this try that placed the task here, where that is still so."""
    span = recording.span_tree.span_around(seq, record.Level.NODE)
    if span is None or recording.timeline.state_at(seq).tasks[task].node != node:
        return 0
    # Backward, since a task can be placed and undone several times in one try.
    earlier = recording.filter_events(record.OpEvent, range(seq, span.first - 1, -1))
    return next((at for at, event in earlier if event.task == task and event.op in record.PLACING_OPS), 0)


SHORTAGE_PREFIX: Final = "Insufficient "
ROOM_FORMULA = "InitResreq ≤ future idle = idle + releasing − pipelined"
ROOM_COLUMNS = ("idle", "releasing", "pipelined", "future idle", "InitResreq")
SIMULATED_FORMULA = "InitResreq ≤ future idle = idle + releasing − pipelined + removed pods"
SIMULATED_COLUMNS = ("idle", "releasing", "pipelined", "away", "future idle", "InitResreq")
CACHED_STATUS: Final = STABLE_STATUSES[3]


class NodeCheck(NamedTuple):
    """One check of a node."""

    plugin: str
    """Empty for the action's own test of resources."""
    inside: Equation

    @property
    def is_refused(self) -> bool:
        """Whether it objects to the node."""
        return self.inside.verdict is False


def checks_of_node(recording: Recording, seq: Seq, node: NodeName) -> tuple[NodeCheck, ...]:
    """Every check of a node in a pass of predicates; nothing where the session cannot be had again."""
    event = recording.event_at(seq)
    asked = asked_node_at(recording, seq, node)
    if not isinstance(event, record.PredicateEvent) or asked is None:
        return ()
    return tuple(node_checks_in(asked, statuses_of(recording, event, node)))


def filter_checks(recording: Recording, seq: Seq) -> tuple[NodeCheck, ...] | None:
    """What one plugin checked on the one node that it was asked about outside a search; None as for checks."""
    event = recording.event_at(seq)
    asked = asked_node_at(recording, seq, event.node) if is_filter(event) else None
    if not is_filter(event) or asked is None:
        return None
    return _plugin_checks(event.plugin, explainer_for(event.plugin).refusals, asked)


def simulated_checks(recording: Recording, seq: Seq) -> tuple[NodeCheck, ...] | None:
    """What a dry run tests by an answer about its copy of a node: room, then what the plugin checks."""
    event, asked = recording.event_at(seq), simulated_at(recording, seq)
    if not is_simulation(event) or asked is None:
        return None
    own = NodeCheck("", simulated_room(recording, seq, asked))
    return (own, *_plugin_checks(event.plugin, explainer_for(event.plugin).simulated, asked))


def _plugin_checks(plugin: str, derive: ExplainRefusals | None, asked: AskedNode) -> tuple[NodeCheck, ...]:
    """The plugin's checks, asked without a trace."""
    if derive is None:
        return ()
    with asked.session.record.silence_recording():
        return tuple(NodeCheck(plugin, one) for one in derive(asked))


def simulated_room(recording: Recording, seq: Seq, asked: AskedNode) -> Equation:
    """The dry run's own test of resources: what is away counts as room."""
    found = node_room(recording, seq, asked.task.key, asked.node.name)
    now = found.amounts
    terms = room_terms(found.request, found.future, (now.idle, now.releasing, now.pipelined, found.freed))
    return _room_equation(asked, SIMULATED_FORMULA, SIMULATED_COLUMNS, terms)


def statuses_of(recording: Recording, event: record.PredicateEvent, node: NodeName) -> tuple[FitStatus, ...]:
    """What the pass recorded against a node."""
    failed = event.failed.tolist()
    row = recording.session.node_table.row_of[node]
    return recording.reason_table.statuses_of(int(event.codes[failed.index(row)])) if row in failed else ()


def node_checks_in(asked: AskedNode, recorded: tuple[FitStatus, ...]) -> Iterator[NodeCheck]:
    """As checks, in a session that one has, for a node with these statuses."""
    reasons = [status.reason for status in recorded]
    if reasons == [NOT_IN_SHARD]:
        yield NodeCheck(
            "", Equation(f"shard of {asked.node.name}", NOT_IN_SHARD, (), "check", (), False, None, NOT_IN_SHARD)
        )
        return
    if reasons and reasons[0].startswith(SHORTAGE_PREFIX):
        yield NodeCheck("", action_room_check(asked))
        return
    for plugin in (
        plugin_call.plugin for tier in asked.session.plugin_calls[hooks.PREDICATE.method] for plugin_call in tier
    ):
        found = _plugin_checks(plugin, explainer_for(plugin).refusals, asked)
        yield from found
        if CACHED_STATUS in recorded and plugin == PREDICATES:
            known = cached_verdict(asked)
            yield from () if known is None else (NodeCheck(plugin, known),)
        if any(one.is_refused for one in found):
            return


def action_room_check(asked: AskedNode) -> Equation:
    """The action's own test: the first dimension that does not hold is the reason."""
    node, future = asked.node, asked.node.future_idle()
    terms = room_terms(asked.task.init_resreq, future, (node.idle, node.releasing, node.pipelined))
    short = first_failing(terms)
    return _room_equation(asked, ROOM_FORMULA, ROOM_COLUMNS, terms, f"{SHORTAGE_PREFIX}{short}" if short else "")


def _room_equation(
    asked: AskedNode, formula: str, columns: tuple[str, ...], terms: tuple[Term, ...], note: str = ""
) -> Equation:
    return judged_equation(f"room on {asked.node.name}", formula, columns, terms, note, LESS_EQUAL)


class CacheHit(NamedTuple):
    """A node that an earlier search of the same action refused, so no plugin was asked again."""

    node: NodeName
    key: str
    """job/role."""
    seq: Seq
    """The search that asked."""


def cache_hits(recording: Recording, seq: Seq) -> dict[NodeName, CacheHit]:
    """Nodes that a search skipped by the error cache: an earlier search for the same job and role refused them."""
    event = recording.event_at(seq)
    if not isinstance(event, record.PredicateEvent):
        return {}
    key = cache_key(recording, event)
    failed, names = dict.fromkeys(event.failed.tolist()), recording.node_names
    hits: dict[NodeName, CacheHit] = {}
    for earlier, before in _searches_with_cache(recording, seq) if key else ():
        for row in before.failed.tolist() if cache_key(recording, before) == key else ():
            if row in failed:
                hits.setdefault(names[row], CacheHit(names[row], key, earlier))
    return hits


def cache_key(recording: Recording, event: record.PredicateEvent) -> str:
    """The key of the error cache; empty for a task without a role, which upstream does not cache."""
    task = recording.timeline.tasks[event.task]
    return f"{task.job}/{task.task_role}" if task.task_role else ""


def _searches_with_cache(recording: Recording, seq: Seq) -> Iterator[tuple[Seq, record.PredicateEvent]]:
    """Earlier searches that share their cache with one; none where the cache is off."""
    helper = next((one for one in reversed(recording.record.search_helpers) if one.seq < seq), None)
    if helper is None or not helper.cache_on:
        return
    action = recording.span_tree.span_around(seq, record.Level.ACTION)
    first = max(helper.seq, action.first if action is not None else 1)
    yield from ((one, event) for one, event in recording.events_of_type(record.PredicateEvent) if first <= one < seq)
