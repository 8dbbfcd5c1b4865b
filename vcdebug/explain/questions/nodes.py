"""Why this node: the scores that put it before the runner-up, and where it was chance."""

from typing import NamedTuple

import numpy as np

from vcdebug.amount_text import count_noun, format_number, format_numbers_apart, verb_for
from vcdebug.explain.answer import Evidence, NamedQuestion, QuestionReply, ReplySheet
from vcdebug.explain.decisions import dry_runs
from vcdebug.explain.decisions.equations import ScorePart, score_parts, scored_row
from vcdebug.explain.equation import Equation, Term, equation_json, format_figures
from vcdebug.explain.questions.victims import find_pod
from vcdebug.framework.record import PLACING_OPS, BestEvent, Level, OpEvent, PredicateEvent, ScoreEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import last_operation
from vcdebug.recording.visits import spans_inside

MAX_SCORED_NODES = 8


class ScoredNode(NamedTuple):
    """A node with its total score and each plugin's summand."""

    node: NodeName
    total: float
    parts: dict[str, float]


class PlacementSearch(NamedTuple):
    """What led to a placement; 0 for an event that is not recorded."""

    pod: TaskKey
    node: NodeName
    action: str
    placed: Seq
    passed: Seq = 0
    """The pass of predicates that found the node."""
    scores: Seq = 0
    choice: Seq = 0
    tried: tuple[NodeName, ...] = ()
    """Nodes that an action that evicts pod by pod tried before, without success."""

    def steps_seen(self, *middle: Evidence) -> tuple[Evidence, ...]:
        """The placement as evidence, after what led to it."""
        return (*(each for each in middle if each.seq), Evidence(self.placed, f"{self.pod} is placed on {self.node}"))


def why_node(recording: Recording, word: str) -> QuestionReply:
    """The last operation that placed the pod, the search that led to it, and its scores or its tie rule."""
    pod = find_pod(recording, word)
    placed = last_operation(recording, pod, len(recording) + 1, *PLACING_OPS)
    if not placed:
        return QuestionReply(f"{pod} is not placed in this cycle.", data={"pod": pod, "node": None})
    found = find_search(recording, placed)
    simulated = dry_runs.dry_run_search_at(recording, found.placed)
    if simulated is not None:
        return _reply_of_dry_runs(found._replace(tried=()), simulated)
    return _reply_with_scores(recording, found) if found.scores else _reply_without_scores(recording, found)


def find_search(recording: Recording, seq: Seq) -> PlacementSearch:
    """From the placement back to the pass of predicates that found its node.

    A plan for a HyperNode is made in a trial and carried out later: then the search is in the trial.
    """
    tree, placement = recording.span_tree, recording.event_at(seq)
    assert isinstance(placement, OpEvent)
    pod, node, task = placement.task, placement.node, tree.span_around(seq, Level.TASK)
    span = task or tree.span_around(seq, Level.ACTION)
    inner = spans_inside(recording, task) if task else ()
    tried = tuple(each.name for each in inner if each.level is Level.NODE and each.last < seq)
    found = PlacementSearch(pod, node, tree.name_around(seq, Level.ACTION), seq, tried=tried)
    choice = 0
    for earlier in range(seq - 1, (span.first if span else 1) - 1, -1):
        event = recording.event_at(earlier)
        if isinstance(event, BestEvent) and event.kind == "node":
            choice = earlier
        elif isinstance(event, ScoreEvent):
            # Several groups of nodes can be scored; the one with the node counts.
            if event.task == pod and not found.scores and scored_row(recording, event, node) is not None:
                found = found._replace(scores=earlier, choice=choice)
            choice = 0
        elif isinstance(event, PredicateEvent) and event.task == pod:
            chosen = recording.event_at(found.choice) if found.choice else None
            nodes = [recording.node_names[row] for row in event.feasible.tolist()]
            if node in nodes and (not isinstance(chosen, BestEvent) or chosen.name == node):
                return found._replace(passed=earlier)
            # Another trial's search: neither its scores nor its choice led to this node.
            found = found._replace(scores=0, choice=0)
    return found._replace(scores=0, choice=0)


def _reply_of_dry_runs(search: PlacementSearch, found: dry_runs.DryRunSearch) -> QuestionReply:
    candidates = [{"node": run.node, "victims": list(run.victims)} for run in found.runs if run.victims]
    rule = (
        f"of {len(candidates)} candidates it wins: {found.rule}" if len(candidates) > 1 else "it is the only candidate"
    )
    data = {**_placement_json(search), "runnerUp": None, "candidates": candidates, "rule": found.rule}
    passed = Evidence(search.passed, f"{count_noun(found.nodes, 'node')} can be simulated")
    text = f"{search.pod} is placed on {search.node}: {search.action} simulates evictions node by node, and {rule}."
    return QuestionReply(text, evidence=search.steps_seen(passed), data=data)


def _placement_json(search: PlacementSearch) -> dict[str, object]:
    tried = list(search.tried)
    return {"pod": search.pod, "node": search.node, "action": search.action, "triedBefore": tried}


def _reply_without_scores(recording: Recording, search: PlacementSearch) -> QuestionReply:
    event = _search_event(recording, search.passed) if search.passed else None
    feasible = None if event is None else len(event.feasible)
    if recording.conf.facts_of(search.action).evicts_by_pod:
        first = "takes the first node where evictions make room"
        why = f"{search.action} asks no scores and {first}{_tried_words(search)}"
    elif event is not None and event.considered == 1 < len(recording.node_names):
        why = "it was the only node that was searched"
    elif feasible == 1:
        why = "it was the only node that fits"
    elif feasible is None:
        why = "no search is recorded"
    else:
        why = f"it was alone in its group of the {feasible} nodes that fit (idle room comes before future room)"
    data = {**_placement_json(search), "feasible": feasible, "runnerUp": None}
    evidence = search.steps_seen(Evidence(search.passed, f"the search finds {feasible} feasible"))
    return QuestionReply(f"{search.pod} is placed on {search.node}: {why}.", evidence=evidence, data=data)


def _reply_with_scores(recording: Recording, search: PlacementSearch) -> QuestionReply:
    pod, node, scores = search.pod, search.node, search.scores
    ranked, chosen = rank_nodes(recording, scores), recording.event_at(search.choice) if search.choice else None
    mine = next(one for one in ranked if one.node == node)
    # What was tried before without success is no runner-up: it comes before the node.
    other = next((one for one in ranked if one.node not in (node, *search.tried)), None)
    tied = chosen.tied if isinstance(chosen, BestEvent) else tuple(o.node for o in ranked if o.total == mine.total)
    insides = _score_comparisons(recording, scores, mine, other)
    data = {
        **_placement_json(search),
        "score": mine.total,
        "tied": list(tied),
        "runnerUp": other.node if other else None,
        "difference": mine.total - other.total if other else None,
        "parts": [each.comparison_json() for each in insides],
    }
    evidence = search.steps_seen(
        Evidence(scores, f"{len(ranked)} nodes are scored"), Evidence(search.choice, f"best is {node}")
    )
    compared = (each.comparison_sheet(mine, other) for each in insides if each.nodes_differ)
    in_turn = recording.conf.facts_of(search.action).evicts_by_pod
    text = _turn_sentence(search, mine, len(tied)) if in_turn else _choice_sentence(pod, mine, other, len(tied))
    return QuestionReply(text, (), (_scores_sheet(ranked, mine), *compared), evidence, data)


def _turn_sentence(search: PlacementSearch, mine: ScoredNode, tied: int) -> str:
    """For an action that tries the nodes one after the other."""
    chance = f" {tied} nodes share this score: the real scheduler may try them in another order." if tied > 1 else ""
    order = f"{search.action} tries nodes from the highest score down and takes the first where evictions make room"
    placed = f"{search.pod} is placed on {mine.node} (score {format_number(mine.total)})"
    return f"{placed}: {order}{_tried_words(search)}.{chance}"


def _tried_words(search: PlacementSearch) -> str:
    """`; evictions on 2 nodes before it were not enough`."""
    return f"; evictions on {count_noun(len(search.tried), 'node')} before it were not enough" if search.tried else ""


class ScoreComparison(NamedTuple):
    """How a summand was computed, on the node and on the runner-up."""

    mine: ScorePart
    against: ScorePart | None

    @property
    def nodes_differ(self) -> bool:
        """Whether the two differ in it."""
        one, other = self.mine.inside, self.against.inside if self.against is not None else None
        return one is not None and other is not None and one.verdict != other.verdict

    def comparison_sheet(self, mine: ScoredNode, other: ScoredNode | None) -> ReplySheet:
        """A line per term, each with both nodes' figures."""
        found = [each.inside for each in self if each is not None and each.inside is not None]
        names = dict.fromkeys(term.name for each in found for term in each.terms)
        heads = ("", mine.node, other.node if other is not None else "")
        rows = tuple((name, *(_format_term(each, name) for each in found)) for name in names)
        return ReplySheet(
            f"{self.mine.name}: {found[0].formula}", heads, (*rows, ("=", *(each.note for each in found)))
        )

    def comparison_json(self) -> dict[str, object]:
        """For programs."""
        keys = ("score", "inside", "runnerUpScore", "runnerUpInside")
        figures = (*_part_json(self.mine), *_part_json(self.against))
        return {"name": self.mine.name, **dict(zip(keys, figures, strict=True))}


def _part_json(part: ScorePart | None) -> tuple[float | None, dict[str, object] | None]:
    """(summand, how it was computed); None where the node has no entry, since JSON has no NaN."""
    if part is None:
        return None, None
    return None if np.isnan(part.recorded) else part.recorded, None if part.inside is None else equation_json(
        part.inside
    )


def _format_term(found: Equation, name: str) -> str:
    """`used 4, request 2, allocatable 8`."""
    return next((format_figures(found, term) for term in found.terms if term.name == name), "–")


def _score_comparisons(
    recording: Recording, scores: Seq, mine: ScoredNode, other: ScoredNode | None
) -> list[ScoreComparison]:
    """One comparison per summand; empty if an extender's webhook answered in the cycle."""
    parts = score_parts(recording, scores, mine.node)
    against = {part.name: part for part in score_parts(recording, scores, other.node)} if other is not None else {}
    return [ScoreComparison(part, against.get(part.name)) for part in parts]


def _choice_sentence(pod: TaskKey, mine: ScoredNode, other: ScoredNode | None, tied: int) -> str:
    if other is None:
        return f"{pod} is placed on {mine.node}, the only node that was scored."
    if tied > 1:
        best = format_number(mine.total)
        tie = f"{tied} nodes tie at the top score {best}"
        return f"{pod} is placed on {mine.node}; {tie}. The real scheduler picks one of them at random."
    gaps = {part: mine.parts.get(part, 0.0) - other.parts.get(part, 0.0) for part in {**mine.parts, **other.parts}}
    # The name breaks ties, so that the same recording always gives the same sentence.
    decided = max(gaps, key=lambda part: (gaps[part], part))
    totals = format_numbers_apart(mine.total, other.total)
    left, right = format_numbers_apart(*(one.parts.get(decided, 0.0) for one in (mine, other)))
    scores = f"(score {totals[0]}; next best {other.node}: {totals[1]})"
    return f"{pod} is placed on {mine.node} {scores}. Largest difference: {decided}, {left} against {right}."


def rank_nodes(recording: Recording, seq: Seq) -> list[ScoredNode]:
    """Nodes that were scored, the best first; a node without a total is left out."""
    event = recording.event_at(seq)
    assert isinstance(event, ScoreEvent)
    found = []
    for place, (row, total) in enumerate(zip(event.rows.tolist(), event.total.tolist(), strict=True)):
        # NaN marks a node without a total: the scheduler gave it no score.
        if not np.isnan(total):
            parts = {name: float(scores[place]) for name, scores in event.parts}
            found.append(ScoredNode(recording.node_names[row], total, parts))
    # By name after the score, since the recorded order of nodes follows the node table.
    return sorted(found, key=lambda one: (-one.total, one.node))


def _scores_sheet(ranked: list[ScoredNode], mine: ScoredNode) -> ReplySheet:
    """The table of scores, with only the summands in which some nodes differ."""
    shown = [mine, *(one for one in ranked if one.node != mine.node)][:MAX_SCORED_NODES]
    names = dict.fromkeys(name for one in ranked for name in one.parts)
    telling = [name for name in names if len(dict.fromkeys(one.parts.get(name) for one in ranked)) > 1]
    rows = tuple(
        (
            one.node,
            format_number(one.total),
            *(format_number(one.parts[name]) if name in one.parts else "–" for name in telling),
        )
        for one in shown
    )
    return ReplySheet("scores", ("node", "total#", *(f"{name}#" for name in telling)), rows)


NODE_QUESTION = NamedQuestion("node", "Why this node", ("pod",), why_node)


MAX_REFUSAL_SHEETS = 12


def why_refused(recording: Recording, word: str) -> QuestionReply:
    """The last search of allocate or backfill for the pod: each set of reasons, with one node's checks.

    Evicting actions also accept nodes without room: their searches are the answer only where there is no other.
    """
    pod = find_pod(recording, word)
    searches, tree = recording.events_of_type(PredicateEvent), recording.span_tree
    lasts = {tree.name_around(seq, Level.ACTION): (seq, each) for seq, each in searches if each.task == pod}
    if not lasts:
        return QuestionReply(f"No node was checked for {pod} in this cycle.", data={"pod": pod, "nodes": []})
    evicts = {action: recording.conf.facts_of(action).evicts for action in lasts}
    strict = [found for action, found in lasts.items() if not evicts[action]]
    seq, event = max(strict or lasts.values(), key=lambda found: found[0])
    answering = tree.name_around(seq, Level.ACTION)
    evicting = [(action, *found) for action, found in lasts.items() if evicts[action] and action != answering]
    refused = [recording.node_names[row] for row in event.failed.tolist()]
    groups = group_by_key(
        # Nodes with equal reasons share one table: on thousands of nodes only a few differ.
        (tuple(status.reason for status in dry_runs.statuses_of(recording, event, name)), name)
        for name in refused
    )
    hits = dry_runs.cache_hits(recording, seq)
    checks = [
        (reasons, nodes, dry_runs.checks_of_node(recording, hits[nodes[0]].seq if nodes[0] in hits else seq, nodes[0]))
        for reasons, nodes in groups.items()
    ]
    data = {
        "pod": pod,
        "event": seq,
        "action": answering,
        "evictingSearches": [
            {"action": action, "event": one, "feasible": len(each.feasible), "refused": len(each.failed)}
            for action, one, each in evicting
        ],
        "feasible": len(event.feasible),
        "cacheKey": dry_runs.cache_key(recording, event),
        "cacheHits": {name: hit.seq for name, hit in hits.items()},
        "nodes": [_refusal_json(reasons, nodes, found) for reasons, nodes, found in checks],
    }
    sheets = tuple(_refusal_sheet(reasons, nodes, found) for reasons, nodes, found in checks[:MAX_REFUSAL_SHEETS])
    lines = tuple(_evicting_search_line(recording, action, each) for action, _, each in evicting)
    shown = ((seq, event), *(found[1:] for found in evicting))
    evidence = tuple(Evidence(one, f"{count_noun(each.processed, 'node')} checked") for one, each in shown)
    own = _evicting_search_line(recording, answering, event)
    sentence = _refusal_sentence(pod, event, len(hits)) if strict else f"{pod}: {own}"
    return QuestionReply(sentence, lines, sheets, evidence, data)


def _evicting_search_line(recording: Recording, action: str, event: PredicateEvent) -> str:
    """What the last search of an evicting action found."""
    fit, refuse = len(event.feasible), len(event.failed)
    checked = f"{action} checked {count_noun(event.processed, 'node')}"
    if recording.conf.facts_of(action).evicts_by_pod:
        rest = f"; {refuse} reject the pod whatever is evicted" if refuse else ""
        return f"{checked} for evictions: they could make room on {fit}{rest}."
    rest = f"; {refuse} reject it" if refuse else ""
    return f"{checked} without its planned victims: {fit} could hold the pod{rest}."


def _search_event(recording: Recording, seq: Seq) -> PredicateEvent:
    event = recording.event_at(seq)
    assert isinstance(event, PredicateEvent)
    return event


def _refusal_sentence(pod: TaskKey, event: PredicateEvent, hits: int) -> str:
    cached = f" ({hits} from the error cache)" if hits else ""
    fits = f"{pod} fits {len(event.feasible) or 'none'} of {count_noun(event.processed, 'node')} checked"
    reject = f"{len(event.failed)} {verb_for(len(event.failed), 'rejects')} it"
    return f"{fits}; {reject}{cached}." if event.failed.size else f"{fits}."


def _refusal_json(
    reasons: tuple[str, ...], nodes: list[NodeName], found: tuple[dry_runs.NodeCheck, ...]
) -> dict[str, object]:
    shown = [{"plugin": each.plugin, **equation_json(each.inside)} for each in found]
    return {"reasons": list(reasons), "nodes": nodes, "checks": shown}


def _refusal_sheet(
    reasons: tuple[str, ...], nodes: list[NodeName], found: tuple[dry_runs.NodeCheck, ...]
) -> ReplySheet:
    """What the refusing checks compared on the first of the nodes."""
    more = f" (and {count_noun(len(nodes) - 1, 'more node')})" if len(nodes) > 1 else ""
    rows = tuple(_check_row(each.inside, term) for each in found if each.is_refused for term in each.inside.terms)
    return ReplySheet(f"{nodes[0]}{more}: {', '.join(reasons)}", ("", "check", "comparison"), rows)


def _check_row(inside: Equation, term: Term) -> tuple[str, ...]:
    mark = "" if term.holds is None else "✓" if term.holds else "✗"
    words = "; ".join(text for text in (format_figures(inside, term), term.note) if text)
    return mark, term.name, words


REFUSED_QUESTION = NamedQuestion("refused", "Why does each node reject this pod", ("pod",), why_refused)
