"""Why this node: the scores that put it before the runner-up, and where it was chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vcdebug.amount_text import number, numbers_apart
from vcdebug.explain.answer import Evidence
from vcdebug.explain.equation import Equation, equation_document, figure_words
from vcdebug.explain.equations_scores import ScorePart, score_parts, scores_before
from vcdebug.framework.record import PLACING_OPS, BestEvent, Level, OpEvent, PredicateEvent, ScoreEvent
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.questions.evicted import find_pod
from vcdebug.questions.reply import Question, Reply, Sheet
from vcdebug.trace.recording import Recording

MOST_NODES = 8


class Scored(NamedTuple):
    """A node with its total and each plugin's part."""

    node: NodeName
    total: float
    parts: dict[str, float]


def why_node(recording: Recording, word: str) -> Reply:
    """The last operation that placed the pod, and the scores behind it."""
    pod = find_pod(recording, word)
    placed = [seq for seq in recording.index.of_type(OpEvent) if _places(recording, seq, pod)]
    if not placed:
        return Reply(f"{pod} gets no node in this cycle.", data={"pod": pod, "node": None})
    seq = placed[-1]
    operation = recording.event(seq)
    assert isinstance(operation, OpEvent)
    found = _choice(recording, seq, pod, operation.node)
    if found is None:
        return _without_scores(recording, pod, operation.node, seq)
    return _with_scores(recording, pod, operation.node, seq, *found)


def _choice(recording: Recording, seq: Seq, pod: TaskKey, node: NodeName) -> tuple[Seq, Seq] | None:
    """The scores by which the node was best for the pod, and the event that says so.

    A plan for a domain is kept and carried out later: then they lie in the trial that made it.
    """
    tree = recording.tree
    span = tree.owner(seq) if tree.around(seq, Level.TASK) is not None else tree.around(seq, Level.ACTION)
    for best in range(seq, (1 if span is None else span.first) - 1, -1):
        event = recording.event(best)
        if isinstance(event, BestEvent) and (event.kind, event.name) == ("node", node):
            found = scores_before(recording, best)
            if found is not None and found[1].task == pod:
                return found[0], best
    return None


def _places(recording: Recording, seq: Seq, pod: TaskKey) -> bool:
    event = recording.event(seq)
    return isinstance(event, OpEvent) and event.op in PLACING_OPS and event.task == pod


def _before(recording: Recording, seq: Seq, kind: type, pod: TaskKey) -> Seq | None:
    """The last event of a kind in the same attempt that is about the pod, or about nodes."""
    span = recording.tree.owner(seq)
    first = 1 if span is None else span.first
    for earlier in range(seq, first - 1, -1):
        event = recording.event(earlier)
        if isinstance(event, kind) and getattr(event, "task", pod) == pod:
            return earlier
    return None


def _without_scores(recording: Recording, pod: TaskKey, node: NodeName, seq: Seq) -> Reply:
    found = _before(recording, seq, PredicateEvent, pod)
    search = recording.event(found) if found is not None else None
    feasible = len(search.feasible) if isinstance(search, PredicateEvent) else None
    why = (
        "it was the only node that fits" if feasible == 1 else "no scores were asked: the first node that fits is taken"
    )
    evidence = [Evidence(seq, f"{pod} goes to {node}")]
    if found is not None:
        evidence.insert(0, Evidence(found, f"the search finds {feasible} feasible"))
    data = {"pod": pod, "node": node, "feasible": feasible, "runnerUp": None}
    return Reply(f"{pod} goes to {node}: {why}.", evidence=tuple(evidence), data=data)


def _with_scores(recording: Recording, pod: TaskKey, node: NodeName, seq: Seq, scores: Seq, best: Seq) -> Reply:
    ranked, chosen = ranking(recording, scores), recording.event(best)
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
    insides = _insides(recording, scores, mine, other)
    data["parts"] = [each.document() for each in insides]
    sheets = (_sheet(ranked, mine), *(each.sheet(mine, other) for each in insides if each.telling))
    return Reply(_sentence(pod, mine, other, chance), (), sheets, evidence, data)


class Inside(NamedTuple):
    """What a part was made of, on the node and on the runner-up."""

    mine: ScorePart
    against: ScorePart | None

    @property
    def telling(self) -> bool:
        """Whether the two differ in it."""
        one, other = self.mine.inside, self.against.inside if self.against is not None else None
        return one is not None and other is not None and one.verdict != other.verdict

    def sheet(self, mine: Scored, other: Scored | None) -> Sheet:
        """A line per term, each with both nodes' figures."""
        found = [each.inside for each in self if each is not None and each.inside is not None]
        names = dict.fromkeys(term.name for each in found for term in each.terms)
        heads = ("", mine.node, other.node if other is not None else "")
        rows = tuple((name, *(_figures(each, name) for each in found)) for name in names)
        return Sheet(f"{self.mine.name}: {found[0].formula}", heads, (*rows, ("=", *(each.note for each in found))))

    def document(self) -> dict[str, object]:
        """For programs."""
        return {
            "name": self.mine.name,
            "score": _score(self.mine),
            "inside": _document(self.mine),
            "runnerUpScore": None if self.against is None else _score(self.against),
            "runnerUpInside": None if self.against is None else _document(self.against),
        }


def _score(part: ScorePart) -> float | None:
    """None where the node has no entry."""
    return None if np.isnan(part.recorded) else part.recorded


def _document(part: ScorePart) -> dict[str, object] | None:
    return None if part.inside is None else equation_document(part.inside)


def _figures(found: Equation, name: str) -> str:
    """`used 4, request 2, allocatable 8`."""
    term = next((term for term in found.terms if term.name == name), None)
    if term is None:
        return "–"
    return figure_words(found, term)


def _insides(recording: Recording, scores: Seq, mine: Scored, other: Scored | None) -> list[Inside]:
    """Part by part; none where a webhook had a say in the cycle."""
    parts = score_parts(recording, scores, mine.node)
    against = {part.name: part for part in score_parts(recording, scores, other.node)} if other is not None else {}
    return [Inside(part, against.get(part.name)) for part in parts]


def _sentence(pod: TaskKey, mine: Scored, other: Scored | None, tied: int) -> str:
    if other is None:
        return f"{pod} goes to {mine.node}, the only node that was scored."
    if tied > 1:
        best = number(mine.total)
        return (
            f"{pod} goes to {mine.node} by chance: {tied} nodes share the best score {best}, and the real "
            f"scheduler draws one of them, this one in 1 of {tied} cycles."
        )
    gaps = {part: mine.parts.get(part, 0.0) - other.parts.get(part, 0.0) for part in {**mine.parts, **other.parts}}
    decided = max(gaps, key=lambda part: (gaps[part], part))
    totals = numbers_apart(mine.total, other.total)
    left, right = numbers_apart(*(one.parts.get(decided, 0.0) for one in (mine, other)))
    return (
        f"{pod} goes to {mine.node} with {totals[0]}; runner-up {other.node} has {totals[1]}. "
        f"{decided} makes the largest difference: {left} to {right}."
    )


def ranking(recording: Recording, seq: Seq) -> list[Scored]:
    """Nodes that were scored, the best first; a node without a total is left out."""
    event = recording.event(seq)
    assert isinstance(event, ScoreEvent)
    found = []
    for place, (row, total) in enumerate(zip(event.rows.tolist(), event.total.tolist(), strict=True)):
        if not np.isnan(total):
            parts = {name: float(scores[place]) for name, scores in event.parts}
            found.append(Scored(recording.node_names[row], total, parts))
    return sorted(found, key=lambda one: (-one.total, one.node))


def _sheet(ranked: list[Scored], mine: Scored) -> Sheet:
    """Only the parts in which some node differs."""
    shown = [mine, *(one for one in ranked if one.node != mine.node)][:MOST_NODES]
    names = dict.fromkeys(name for one in ranked for name in one.parts)
    telling = [name for name in names if len(dict.fromkeys(one.parts.get(name) for one in ranked)) > 1]
    rows = tuple(
        (
            one.node,
            number(one.total),
            *(number(one.parts[name]) if name in one.parts else "–" for name in telling),
        )
        for one in shown
    )
    return Sheet("scores", ("node", "total#", *(f"{name}#" for name in telling)), rows)


NODE = Question("node", "why did this pod get this node", ("pod",), why_node)
