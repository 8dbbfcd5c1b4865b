"""Why a node was refused: each check of each plugin on it, up to the one that ended it, asked once more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from vcdebug.explain.asked import Asked, asked_at, is_filter, is_simulation, simulated_at
from vcdebug.explain.comparisons import LESS_EQUAL, NOT_STATED
from vcdebug.explain.equation import Equation, Term, all_hold, first_failing
from vcdebug.explain.node_room import node_room
from vcdebug.explain.plugins import words
from vcdebug.explain.plugins.predicates import remembered
from vcdebug.framework.hooks import PREDICATE
from vcdebug.framework.placement import NOT_IN_SHARD
from vcdebug.framework.record import Level, PredicateEvent
from vcdebug.model.fiterror import Status
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.resource import at_most
from vcdebug.plugins.predicates.stable import STATUSES as STABLE_STATUSES
from vcdebug.trace.recording import Recording

SHORT: Final = "Insufficient "
ROOM_FORMULA = "InitResreq ≤ future idle = idle + releasing − pipelined"
SHARD_FORMULA = "the node is in this scheduler's NodeShard"
ROOM_COLUMNS = ("idle", "releasing", "pipelined", "future idle", "InitResreq")
SIMULATED_FORMULA = "InitResreq ≤ future idle = idle + releasing − pipelined + who is away"
SIMULATED_COLUMNS = ("idle", "releasing", "pipelined", "away", "future idle", "InitResreq")
CACHED: Final = STABLE_STATUSES[3]


class Check(NamedTuple):
    """One check of a node."""

    plugin: str
    """Empty for the action's own test of resources."""
    inside: Equation

    @property
    def refuses(self) -> bool:
        """Whether it objects to the node."""
        return self.inside.verdict is False


def checks(recording: Recording, seq: Seq, node: NodeName) -> tuple[Check, ...]:
    """Every check of a node in a pass of predicates; nothing where the session cannot be had again."""
    event = recording.event(seq)
    asked = asked_at(recording, seq, node)
    if not isinstance(event, PredicateEvent) or asked is None:
        return ()
    return tuple(checks_in(asked, statuses_of(recording, event, node)))


def filter_checks(recording: Recording, seq: Seq) -> tuple[Check, ...] | None:
    """What one plugin looked at on the one node that it was asked about outside a search; None as for checks."""
    event = recording.event(seq)
    asked = asked_at(recording, seq, event.node) if is_filter(event) else None
    if not is_filter(event) or asked is None:
        return None
    derive = words(event.plugin).refusals
    if derive is None:
        return ()
    asked.session.record.silent += 1
    found = tuple(Check(event.plugin, one) for one in derive(asked))
    asked.session.record.silent -= 1
    return found


def simulated_checks(recording: Recording, seq: Seq) -> tuple[Check, ...] | None:
    """What a dry run tests by an answer about its copy of a node: room, then what the plugin looks at."""
    event, asked = recording.event(seq), simulated_at(recording, seq)
    if not is_simulation(event) or asked is None:
        return None
    derive = words(event.plugin).simulated
    asked.session.record.silent += 1
    found = tuple(Check(event.plugin, one) for one in derive(asked)) if derive is not None else ()
    asked.session.record.silent -= 1
    return (Check("", simulated_room(recording, seq, asked)), *found)


def simulated_room(recording: Recording, seq: Seq, asked: Asked) -> Equation:
    """The dry run's own test of resources: what is away counts as room."""
    found = node_room(recording, seq, asked.task.key, asked.node.name)
    amounts, freed = found.amounts, found.freed
    terms = tuple(
        Term(
            name,
            (
                *(getattr(amounts, column).get(name) for column in ("idle", "releasing", "pipelined")),
                freed.get(name),
                found.future.get(name),
                amount,
            ),
            at_most(amount, found.future.get(name)),
        )
        for name, amount in found.request.items()
    )
    deciding, title = first_failing(terms), f"room on {asked.node.name}"
    return Equation(
        title, SIMULATED_FORMULA, SIMULATED_COLUMNS, "dimension", terms, all_hold(terms), deciding, "", LESS_EQUAL
    )


def statuses_of(recording: Recording, event: PredicateEvent, node: NodeName) -> tuple[Status, ...]:
    """What the pass recorded against a node."""
    failed = event.failed.tolist()
    row = recording.session.node_table.row_of[node]
    return recording.reasons.statuses(int(event.codes[failed.index(row)])) if row in failed else ()


def checks_in(asked: Asked, recorded: tuple[Status, ...]) -> Iterator[Check]:
    """As checks, in a session that one has, for a node with these statuses."""
    reasons = [status.reason for status in recorded]
    if reasons == [NOT_IN_SHARD]:
        yield Check(
            "", Equation(f"shard of {asked.node.name}", NOT_IN_SHARD, (), "check", (), False, None, NOT_IN_SHARD)
        )
        return
    short = reasons[:1] and reasons[0].startswith(SHORT)
    if short:
        yield Check("", room(asked))
        return
    asked.session.record.silent += 1
    for tier in asked.session.plugin_calls[PREDICATE.method]:
        for plugin_call in tier:
            derive = words(plugin_call.plugin).refusals
            found = [Check(plugin_call.plugin, one) for one in derive(asked)] if derive is not None else []
            yield from found
            if CACHED in recorded and plugin_call.plugin == "predicates":
                known = remembered(asked)
                yield from () if known is None else (Check("predicates", known),)
            if any(one.refuses for one in found):
                asked.session.record.silent -= 1
                return
    asked.session.record.silent -= 1


def room(asked: Asked) -> Equation:
    """The action's own test: the first dimension that does not hold is the reason."""
    node, request = asked.node, asked.task.init_resreq
    future = node.future_idle()
    terms = tuple(
        Term(
            name,
            (node.idle.get(name), node.releasing.get(name), node.pipelined.get(name), future.get(name), amount),
            at_most(amount, future.get(name)),
            "" if future.has(name) else NOT_STATED,
        )
        for name, amount in request.items()
    )
    deciding, title = first_failing(terms), f"room on {node.name}"
    note = f"{SHORT}{deciding}" if deciding else ""
    return Equation(title, ROOM_FORMULA, ROOM_COLUMNS, "dimension", terms, all_hold(terms), deciding, note, LESS_EQUAL)


class CacheHit(NamedTuple):
    """A node that an earlier search of the same action refused, so that nobody was asked again."""

    node: NodeName
    key: str
    """job/role."""
    seq: Seq
    """The search that asked."""


def cache_hits(recording: Recording, seq: Seq) -> dict[NodeName, CacheHit]:
    """The error cache's part in a search: nodes refused by what an earlier one found for the same job and role."""
    event = recording.event(seq)
    if not isinstance(event, PredicateEvent):
        return {}
    key = cache_key(recording, event)
    failed, names = dict.fromkeys(event.failed.tolist()), recording.node_names
    hits: dict[NodeName, CacheHit] = {}
    for earlier in _since_helper(recording, seq):
        before = recording.event(earlier)
        if isinstance(before, PredicateEvent) and key and cache_key(recording, before) == key:
            for row in before.failed.tolist():
                if row in failed:
                    hits.setdefault(names[row], CacheHit(names[row], key, earlier))
    return hits


def cache_key(recording: Recording, event: PredicateEvent) -> str:
    """Under which refusals are kept; empty for a task without a role, of which nothing is kept."""
    task = recording.timeline.tasks[event.task]
    return f"{task.job}/{task.task_role}" if task.task_role else ""


def _since_helper(recording: Recording, seq: Seq) -> list[Seq]:
    """Earlier searches that share their cache with one; none where the cache is off."""
    helpers = [line for line in recording.record.lines if line.key == "search.helper" and line.seq < seq]
    if not helpers or not helpers[-1].values[0]:
        return []
    action = recording.tree.around(seq, Level.ACTION)
    first = max(helpers[-1].seq, action.first if action is not None else 1)
    return [one for one in recording.index.of_type(PredicateEvent) if first <= one < seq]
