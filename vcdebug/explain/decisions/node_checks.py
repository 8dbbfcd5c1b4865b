"""Why a node was refused: each check of each plugin on it, up to the one that ended it, asked once more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from vcdebug.explain.decisions.dry_runs import node_room, simulated_at
from vcdebug.explain.decisions.equations import room_terms
from vcdebug.explain.equation import LESS_EQUAL, Equation, Term, all_hold, first_failing
from vcdebug.explain.plugin_explainer import AskedNode, ExplainRefusals, asked_node_at, is_filter, is_simulation
from vcdebug.explain.plugins import explainer_for
from vcdebug.explain.plugins.predicates import cached_verdict
from vcdebug.framework.hooks import PREDICATE
from vcdebug.framework.placement import NOT_IN_SHARD
from vcdebug.framework.record import Level, PredicateEvent
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import NodeName, Seq
from vcdebug.plugins import PREDICATES
from vcdebug.plugins.predicates.static_filters import STATUSES as STABLE_STATUSES
from vcdebug.recording.recording import Recording

SHORTAGE_PREFIX: Final = "Insufficient "
ROOM_FORMULA = "InitResreq ≤ future idle = idle + releasing − pipelined"
ROOM_COLUMNS = ("idle", "releasing", "pipelined", "future idle", "InitResreq")
SIMULATED_FORMULA = "InitResreq ≤ future idle = idle + releasing − pipelined + who is away"
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
    if not isinstance(event, PredicateEvent) or asked is None:
        return ()
    return tuple(node_checks_in(asked, statuses_of(recording, event, node)))


def filter_checks(recording: Recording, seq: Seq) -> tuple[NodeCheck, ...] | None:
    """What one plugin looked at on the one node that it was asked about outside a search; None as for checks."""
    event = recording.event_at(seq)
    asked = asked_node_at(recording, seq, event.node) if is_filter(event) else None
    if not is_filter(event) or asked is None:
        return None
    return _plugin_checks(event.plugin, explainer_for(event.plugin).refusals, asked)


def simulated_checks(recording: Recording, seq: Seq) -> tuple[NodeCheck, ...] | None:
    """What a dry run tests by an answer about its copy of a node: room, then what the plugin looks at."""
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


def statuses_of(recording: Recording, event: PredicateEvent, node: NodeName) -> tuple[FitStatus, ...]:
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
    for plugin in (plugin_call.plugin for tier in asked.session.plugin_calls[PREDICATE.method] for plugin_call in tier):
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
    title, verdict, deciding = f"room on {asked.node.name}", all_hold(terms), first_failing(terms)
    return Equation(title, formula, columns, "dimension", terms, verdict, deciding, note, LESS_EQUAL)


class CacheHit(NamedTuple):
    """A node that an earlier search of the same action refused, so that nobody was asked again."""

    node: NodeName
    key: str
    """job/role."""
    seq: Seq
    """The search that asked."""


def cache_hits(recording: Recording, seq: Seq) -> dict[NodeName, CacheHit]:
    """The error cache's part in a search: nodes refused by what an earlier one found for the same job and role."""
    event = recording.event_at(seq)
    if not isinstance(event, PredicateEvent):
        return {}
    key = cache_key(recording, event)
    failed, names = dict.fromkeys(event.failed.tolist()), recording.node_names
    hits: dict[NodeName, CacheHit] = {}
    for earlier, before in _searches_with_cache(recording, seq) if key else ():
        for row in before.failed.tolist() if cache_key(recording, before) == key else ():
            if row in failed:
                hits.setdefault(names[row], CacheHit(names[row], key, earlier))
    return hits


def cache_key(recording: Recording, event: PredicateEvent) -> str:
    """Under which refusals are kept; empty for a task without a role, of which nothing is kept."""
    task = recording.timeline.tasks[event.task]
    return f"{task.job}/{task.task_role}" if task.task_role else ""


def _searches_with_cache(recording: Recording, seq: Seq) -> Iterator[tuple[Seq, PredicateEvent]]:
    """Earlier searches that share their cache with one; none where the cache is off."""
    helper = next((one for one in reversed(recording.record.search_helpers) if one.seq < seq), None)
    if helper is None or not helper.cache_on:
        return
    action = recording.span_tree.span_around(seq, Level.ACTION)
    first = max(helper.seq, action.first if action is not None else 1)
    yield from ((one, event) for one, event in recording.events_of_type(PredicateEvent) if first <= one < seq)
