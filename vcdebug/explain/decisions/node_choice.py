"""How a pod came to its node: the search that led to the placement, the scores, and the sentence that compares them."""

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from vcdebug.amount_text import count_noun, format_number, format_numbers_apart, join_names
from vcdebug.explain.answer import Evidence
from vcdebug.explain.decisions import dry_runs
from vcdebug.explain.decisions.equations import scored_row
from vcdebug.framework.record import PLACING_OPS, BestEvent, Level, OpEvent, PredicateEvent, ScoreEvent
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import last_operation
from vcdebug.recording.visits import spans_inside


class ScoredNode(Struct, frozen=True):
    """A node with its total score and the named parts of the score."""

    node: NodeName
    total: float
    parts: dict[str, float]


class PlacementSearch(NamedTuple):
    """The events that led to a placement: predicates, scores and choice; 0 for an event that is not recorded."""

    pod: TaskKey
    node: NodeName
    action: str
    placed_seq: Seq
    predicate_seq: Seq = 0
    """The pass of predicates that found the node."""
    scores: Seq = 0
    choice: Seq = 0
    tried_nodes: tuple[NodeName, ...] = ()
    """Nodes on which an evicting action failed before it tried this one."""

    def evidence_with(self, *middle: Evidence) -> tuple[Evidence, ...]:
        """The evidence in order: the recorded events of `middle`, then the placement."""
        return (
            *(step for step in middle if step.seq),
            Evidence(self.placed_seq, f"{self.pod} is placed on {self.node}"),
        )


def find_search(recording: Recording, seq: Seq) -> PlacementSearch:
    """The predicates, scores and choice that led to a placement, searched backwards from it.

    A plan for a HyperNode is made in a trial and carried out later: then the search is in the trial.
    """
    tree, placement = recording.span_tree, recording.event_at(seq)
    assert isinstance(placement, OpEvent)
    pod, node, task = placement.task, placement.node, tree.span_around(seq, Level.TASK)
    span = task or tree.span_around(seq, Level.ACTION)
    children = spans_inside(recording, task) if task else ()
    tried = tuple(child.name for child in children if child.level is Level.NODE and child.last < seq)
    search = PlacementSearch(pod, node, tree.name_around(seq, Level.ACTION), seq, tried_nodes=tried)
    choice_seq = 0
    for earlier in range(seq - 1, (span.first if span else 1) - 1, -1):
        event = recording.event_at(earlier)
        if isinstance(event, BestEvent) and event.kind == "node":
            choice_seq = earlier
        elif isinstance(event, ScoreEvent):
            # Several groups of nodes can be scored; the one with the node counts.
            if event.task == pod and not search.scores and scored_row(recording, event, node) is not None:
                search = search._replace(scores=earlier, choice=choice_seq)
            choice_seq = 0
        elif isinstance(event, PredicateEvent) and event.task == pod:
            best_event = recording.event_at(search.choice) if search.choice else None
            nodes = [recording.node_names[row] for row in event.feasible.tolist()]
            if node in nodes and (not isinstance(best_event, BestEvent) or best_event.name == node):
                return search._replace(predicate_seq=earlier)
            # Another trial's search: neither its scores nor its choice led to this node.
            search = search._replace(scores=0, choice=0)
    return search._replace(scores=0, choice=0)


def placement_sentence(recording: Recording, pod: TaskKey) -> str:
    """Why the pod is on its node and not on the runner-up; empty where no scores decided."""
    placed = last_operation(recording, pod, len(recording) + 1, *PLACING_OPS)
    search = find_search(recording, placed) if placed else None
    if search is None or not search.scores or dry_runs.dry_run_search_at(recording, search.placed_seq):
        return ""
    choice = rank_choice(recording, search)
    if choice.rival is None or recording.conf.facts_of(search.action).evicts_by_pod:
        return ""
    return choice_sentence(pod, choice)


class RankedChoice(NamedTuple):
    """The scored nodes, the best first, with the chosen one, the runner-up and those that share the best score."""

    ranked: list[ScoredNode]
    winner: ScoredNode
    rival: ScoredNode | None
    """None if no other node was scored; nodes tried before without success are no runners-up: they score higher."""
    tied: tuple[NodeName, ...]
    is_next_best: bool = True
    """Whether the rival is the runner-up, not a node that the question names."""


def is_scored(recording: Recording, search: PlacementSearch, node: NodeName) -> bool:
    """Whether the node has a score in the search that led to the placement."""
    event = recording.event_at(search.scores) if search.scores else None
    return isinstance(event, ScoreEvent) and scored_row(recording, event, node) is not None


def rank_choice(recording: Recording, search: PlacementSearch, other: NodeName = "") -> RankedChoice:
    """The scores behind a placement, which must have some; `other` is a rival to use in place of the runner-up."""
    ranked, chosen = rank_nodes(recording, search.scores), recording.event_at(search.choice) if search.choice else None
    winner = next(scored_node for scored_node in ranked if scored_node.node == search.node)
    next_best = next((one for one in ranked if one.node not in (search.node, *search.tried_nodes)), None)
    rival = next((one for one in ranked if one.node == other != search.node), next_best)
    best = tuple(other.node for other in ranked if other.total == winner.total)
    tied = chosen.tied if isinstance(chosen, BestEvent) else best
    return RankedChoice(ranked, winner, rival, tied, rival is next_best)


def turn_sentence(search: PlacementSearch, winner: ScoredNode, tied: int) -> str:
    """The sentence for an action that tries nodes one by one from the highest score down."""
    chance = f" {tied} nodes share this score: the real scheduler may try them in another order." if tied > 1 else ""
    rule = f"{search.action} tries nodes from the highest score down and takes the first where evictions make room"
    placed = f"{search.pod} is placed on {winner.node} (score {format_number(winner.total)})"
    return f"{placed}: {rule}{tried_words(search)}.{chance}"


def tried_words(search: PlacementSearch) -> str:
    """A clause about nodes tried before, such as `; evictions on 2 nodes before it were not enough`; or empty."""
    tried = count_noun(len(search.tried_nodes), "node")
    return f"; evictions on {tried} before it were not enough" if search.tried_nodes else ""


def choice_sentence(pod: TaskKey, choice: RankedChoice) -> str:
    """Why the node was chosen: its score and the runner-up's, and which parts speak most for each of them."""
    winner, rival, tied = choice.winner, choice.rival, choice.tied
    if rival is None:
        return f"{pod} is placed on {winner.node}, the only node that was scored."
    gaps = {part: winner.parts.get(part, 0.0) - rival.parts.get(part, 0.0) for part in _smallest_parts(winner, rival)}
    # The name breaks ties, so that the same recording always gives the same sentence.
    deciding_part, opposing_part = (pick(gaps, key=lambda part: (gaps[part], part), default="") for pick in (max, min))
    if len(tied) > 1 and (choice.is_next_best or rival.node in tied):
        tie = f"{len(tied)} nodes tie at the top score {format_number(winner.total)} ({join_names(sorted(tied))})"
        chance = "The real scheduler picks one of them at random"
        if gaps.get(deciding_part, 0.0) > 0 and rival.total == winner.total:
            unequal = sorted((part for part in gaps if gaps[part]), key=lambda part: (-gaps[part], part))
            parts = " and ".join(_part_words(part, winner, rival) for part in unequal)
            tie += f", since {parts} of {rival.node} cancel out"
            chance += f"; without {deciding_part} {rival.node} would score higher than {winner.node}"
        return f"{pod} is placed on {winner.node}; {tie}. {chance}."
    totals = format_numbers_apart(winner.total, rival.total)
    scores = f"(score {totals[0]}; {'next best ' if choice.is_next_best else ''}{rival.node}: {totals[1]})"
    difference = f"Largest difference: {_part_words(deciding_part, winner, rival)}."
    better = f" {rival.node} is better in {_part_words(opposing_part, rival, winner)}."
    return f"{pod} is placed on {winner.node} {scores}. {difference}{better if gaps[opposing_part] < 0 else ''}"


def _smallest_parts(one: ScoredNode, other: ScoredNode) -> list[str]:
    """The parts of both scores; of a sum, such as nodeorder/batch, only its summands."""
    names = {**one.parts, **other.parts}
    return [part for part in names if not any(name.startswith(f"{part}/") for name in names)]


def _part_words(part: str, one: ScoredNode, other: ScoredNode) -> str:
    left, right = format_numbers_apart(*(each.parts.get(part, 0.0) for each in (one, other)))
    return f"{part}, {left} against {right}"


def rank_nodes(recording: Recording, seq: Seq) -> list[ScoredNode]:
    """Nodes that were scored, the best first; a node without a total is left out."""
    event = recording.event_at(seq)
    assert isinstance(event, ScoreEvent)
    ranked = []
    for index, (row, total) in enumerate(zip(event.rows.tolist(), event.total.tolist(), strict=True)):
        # NaN marks a node without a total: the scheduler gave it no score.
        if not np.isnan(total):
            parts = {name: float(scores[index]) for name, scores in event.parts}
            ranked.append(ScoredNode(recording.node_names[row], total, parts))
    # By name after the score, since the recorded order of nodes follows the node table.
    return sorted(ranked, key=lambda scored: (-scored.total, scored.node))
