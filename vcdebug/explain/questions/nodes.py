"""Why this node: the scores that put it before the runner-up, and where it was chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vcdebug.amount_text import count_noun, format_number, format_numbers_apart
from vcdebug.explain.answer import Evidence, NamedQuestion, QuestionReply, ReplySheet
from vcdebug.explain.decisions.dry_runs import NodeCheck, cache_hits, cache_key, checks_of_node, statuses_of
from vcdebug.explain.decisions.equations import ScorePart, score_parts, scores_before
from vcdebug.explain.equation import Equation, Term, equation_json, format_figures
from vcdebug.explain.questions.victims import find_pod
from vcdebug.framework.record import PLACING_OPS, BestEvent, Level, OpEvent, PredicateEvent, ScoreEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.recording.recording import Recording

MAX_SCORED_NODES = 8


class ScoredNode(NamedTuple):
    """A node with its total score and each plugin's summand."""

    node: NodeName
    total: float
    parts: dict[str, float]


def why_node(recording: Recording, word: str) -> QuestionReply:
    """The last operation that placed the pod, and the scores behind it."""
    pod = find_pod(recording, word)
    placed = [seq for seq in recording.index.seqs_of_type(OpEvent) if _is_placement(recording, seq, pod)]
    if not placed:
        return QuestionReply(f"{pod} gets no node in this cycle.", data={"pod": pod, "node": None})
    seq = placed[-1]
    operation = recording.event_at(seq)
    assert isinstance(operation, OpEvent)
    found = _find_scores(recording, seq, pod, operation.node)
    if found is None:
        return _reply_without_scores(recording, pod, operation.node, seq)
    return _reply_with_scores(recording, pod, operation.node, seq, *found)


def _find_scores(recording: Recording, seq: Seq, pod: TaskKey, node: NodeName) -> tuple[Seq, Seq] | None:
    """(scores, choice): the events that scored the node best for the pod; None if there are none.

    A plan for a HyperNode is made in a trial and carried out later: then both events are in the trial.
    """
    tree = recording.span_tree
    span = (
        tree.enclosing_span(seq)
        if tree.span_around(seq, Level.TASK) is not None
        else tree.span_around(seq, Level.ACTION)
    )
    # Backward: several pods of one span can have been scored, and the nearest choice is the pod's own.
    for best in range(seq, (1 if span is None else span.first) - 1, -1):
        event = recording.event_at(best)
        if isinstance(event, BestEvent) and (event.kind, event.name) == ("node", node):
            found = scores_before(recording, best)
            if found is not None and found[1].task == pod:
                return found[0], best
    return None


def _is_placement(recording: Recording, seq: Seq, pod: TaskKey) -> bool:
    event = recording.event_at(seq)
    return isinstance(event, OpEvent) and event.op in PLACING_OPS and event.task == pod


def _last_event_before(recording: Recording, seq: Seq, kind: type, pod: TaskKey) -> Seq | None:
    """The last event of a type in the same attempt that is about the pod, or about nodes."""
    span = recording.span_tree.enclosing_span(seq)
    first = 1 if span is None else span.first
    for earlier in range(seq, first - 1, -1):
        event = recording.event_at(earlier)
        if isinstance(event, kind) and getattr(event, "task", pod) == pod:
            return earlier
    return None


def _reply_without_scores(recording: Recording, pod: TaskKey, node: NodeName, seq: Seq) -> QuestionReply:
    found = _last_event_before(recording, seq, PredicateEvent, pod)
    search = recording.event_at(found) if found is not None else None
    feasible = len(search.feasible) if isinstance(search, PredicateEvent) else None
    why = (
        "it was the only node that fits" if feasible == 1 else "no scores were asked: the first node that fits is taken"
    )
    evidence = [Evidence(seq, f"{pod} goes to {node}")]
    if found is not None:
        evidence.insert(0, Evidence(found, f"the search finds {feasible} feasible"))
    data = {"pod": pod, "node": node, "feasible": feasible, "runnerUp": None}
    return QuestionReply(f"{pod} goes to {node}: {why}.", evidence=tuple(evidence), data=data)


def _reply_with_scores(
    recording: Recording, pod: TaskKey, node: NodeName, seq: Seq, scores: Seq, best: Seq
) -> QuestionReply:
    ranked, chosen = rank_nodes(recording, scores), recording.event_at(best)
    assert isinstance(chosen, BestEvent)
    mine = next(one for one in ranked if one.node == node)
    other = next((one for one in ranked if one.node != node), None)
    chance = len(chosen.tied)
    data: dict[str, object] = {
        "pod": pod,
        "node": node,
        "score": mine.total,
        "tied": list(chosen.tied),
        "runnerUp": other.node if other else None,
        "difference": mine.total - other.total if other else None,
    }
    evidence = (
        Evidence(scores, f"{len(ranked)} nodes are scored"),
        Evidence(best, f"best is {chosen.name}"),
        Evidence(seq, f"{pod} goes to {node}"),
    )
    insides = _score_comparisons(recording, scores, mine, other)
    data["parts"] = [each.comparison_json() for each in insides]
    sheets = (
        _scores_sheet(ranked, mine),
        *(each.comparison_sheet(mine, other) for each in insides if each.nodes_differ),
    )
    return QuestionReply(_choice_sentence(pod, mine, other, chance), (), sheets, evidence, data)


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
        return {
            "name": self.mine.name,
            "score": _recorded_score(self.mine),
            "inside": _inside_json(self.mine),
            "runnerUpScore": None if self.against is None else _recorded_score(self.against),
            "runnerUpInside": None if self.against is None else _inside_json(self.against),
        }


def _recorded_score(part: ScorePart) -> float | None:
    """The recorded summand; None if the node has no entry."""
    # JSON has no NaN.
    return None if np.isnan(part.recorded) else part.recorded


def _inside_json(part: ScorePart) -> dict[str, object] | None:
    return None if part.inside is None else equation_json(part.inside)


def _format_term(found: Equation, name: str) -> str:
    """`used 4, request 2, allocatable 8`."""
    term = next((term for term in found.terms if term.name == name), None)
    if term is None:
        return "–"
    return format_figures(found, term)


def _score_comparisons(
    recording: Recording, scores: Seq, mine: ScoredNode, other: ScoredNode | None
) -> list[ScoreComparison]:
    """One comparison per summand; empty if an extender's webhook answered in the cycle."""
    parts = score_parts(recording, scores, mine.node)
    against = {part.name: part for part in score_parts(recording, scores, other.node)} if other is not None else {}
    return [ScoreComparison(part, against.get(part.name)) for part in parts]


def _choice_sentence(pod: TaskKey, mine: ScoredNode, other: ScoredNode | None, tied: int) -> str:
    if other is None:
        return f"{pod} goes to {mine.node}, the only node that was scored."
    if tied > 1:
        best = format_number(mine.total)
        return (
            f"{pod} goes to {mine.node} by chance: {tied} nodes share the best score {best}, and the real "
            f"scheduler draws one of them, this one in 1 of {tied} cycles."
        )
    gaps = {part: mine.parts.get(part, 0.0) - other.parts.get(part, 0.0) for part in {**mine.parts, **other.parts}}
    # The name breaks ties, so that the same recording always gives the same sentence.
    decided = max(gaps, key=lambda part: (gaps[part], part))
    totals = format_numbers_apart(mine.total, other.total)
    left, right = format_numbers_apart(*(one.parts.get(decided, 0.0) for one in (mine, other)))
    return (
        f"{pod} goes to {mine.node} with {totals[0]}; runner-up {other.node} has {totals[1]}. "
        f"{decided} makes the largest difference: {left} to {right}."
    )


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


NODE_QUESTION = NamedQuestion("node", "why did this pod get this node", ("pod",), why_node)


MAX_REFUSAL_SHEETS = 12


def why_refused(recording: Recording, word: str) -> QuestionReply:
    """The last search for the pod: each set of reasons, with one node's checks."""
    pod = find_pod(recording, word)
    seqs = [seq for seq in recording.index.seqs_of_type(PredicateEvent) if _search_event(recording, seq).task == pod]
    if not seqs:
        return QuestionReply(f"No node was tried for {pod} in this cycle.", data={"pod": pod, "nodes": []})
    seq, event = seqs[-1], _search_event(recording, seqs[-1])
    refused = [recording.node_names[row] for row in event.failed.tolist()]
    groups = group_by_key(
        # Nodes with equal reasons share one table: on thousands of nodes only a few differ.
        (tuple(status.reason for status in statuses_of(recording, event, name)), name)
        for name in refused
    )
    hits = cache_hits(recording, seq)
    checks = [
        (reasons, nodes, checks_of_node(recording, _judging_search(recording, seq, nodes[0]), nodes[0]))
        for reasons, nodes in groups.items()
    ]
    data = {
        "pod": pod,
        "event": seq,
        "feasible": len(event.feasible),
        "cacheKey": cache_key(recording, event),
        "cacheHits": {name: hit.seq for name, hit in hits.items()},
        "nodes": [_refusal_json(reasons, nodes, found) for reasons, nodes, found in checks],
    }
    sheets = tuple(_refusal_sheet(reasons, nodes, found) for reasons, nodes, found in checks[:MAX_REFUSAL_SHEETS])
    evidence = (Evidence(seq, f"{event.processed} nodes are tried"),)
    return QuestionReply(_refusal_sentence(pod, event, len(hits)), (), sheets, evidence, data)


def _search_event(recording: Recording, seq: Seq) -> PredicateEvent:
    event = recording.event_at(seq)
    assert isinstance(event, PredicateEvent)
    return event


def _judging_search(recording: Recording, seq: Seq, node: NodeName) -> Seq:
    """The search in which the node was judged: an earlier one where the error cache answered."""
    hit = cache_hits(recording, seq).get(node)
    return seq if hit is None else hit.seq


def _refusal_sentence(pod: TaskKey, event: PredicateEvent, hits: int) -> str:
    cached = f", {hits} of them by what the error cache kept" if hits else ""
    tried = count_noun(event.processed, "node")
    return f"{pod}: of {tried} tried {len(event.feasible)} fit and {len(event.failed)} refuse it{cached}."


def _refusal_json(reasons: tuple[str, ...], nodes: list[NodeName], found: tuple[NodeCheck, ...]) -> dict[str, object]:
    shown = [{"plugin": each.plugin, **equation_json(each.inside)} for each in found]
    return {"reasons": list(reasons), "nodes": nodes, "checks": shown}


def _refusal_sheet(reasons: tuple[str, ...], nodes: list[NodeName], found: tuple[NodeCheck, ...]) -> ReplySheet:
    """What the refusing checks compared on the first of the nodes."""
    more = f" (and {count_noun(len(nodes) - 1, 'more node')})" if len(nodes) > 1 else ""
    rows = tuple(_check_row(each.inside, term) for each in found if each.is_refused for term in each.inside.terms)
    return ReplySheet(f"{nodes[0]}{more}: {', '.join(reasons)}", ("", "check", "what is compared"), rows)


def _check_row(inside: Equation, term: Term) -> tuple[str, ...]:
    mark = "" if term.holds is None else "✓" if term.holds else "✗"
    words = "; ".join(text for text in (format_figures(inside, term), term.note) if text)
    return mark, term.name, words


REFUSED_QUESTION = NamedQuestion("refused", "why does each node refuse this pod", ("pod",), why_refused)
