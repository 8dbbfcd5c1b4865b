"""The arithmetic of scores: what each plugin gives a node and made it of, and why one node is best.

Upstream: util/scheduler_helper (PrioritizeNodes, SelectBestNodeAndScore).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Final, NamedTuple

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugin_explainer import AskedNode, asked_node_at
from vcdebug.explain.plugins import explainer_for
from vcdebug.framework.record import BestEvent, ScoreEvent
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.plugins.nodeorder import NodeOrder, TwoKinds
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import task_of

BATCH_SUFFIX = "/batch"
SCORE_COLUMNS = ("raw", "normalised", "weight", "weighted")
SCORE_FORMULA = "weighted = normalised × weight; the total is the sum of them"
BEST_FORMULA = "the highest total is best; of equal ones the real scheduler draws one, the replay takes the first"
EVENTS_LOOKED_BACK: Final = 4
"""A choice follows its scores at once, or after the events of a tie."""


class ScoreSummand(NamedTuple):
    """One line of a node's score."""

    name: str
    value: float
    """NaN where the node has no entry."""
    top: bool
    """Whether it counts itself; otherwise it is part of the one above it."""
    batch: bool


def summands_of(event: ScoreEvent, index: int) -> list[ScoreSummand]:
    """Every part of one node's score, in the order in which they were asked."""
    return [_build_summand(name, float(values[index])) for name, values in event.parts]


def _build_summand(name: str, value: float) -> ScoreSummand:
    plugin, _, rest = name.partition("/")
    top = not rest or name == plugin + BATCH_SUFFIX
    return ScoreSummand(name, value, top, name.endswith(BATCH_SUFFIX) or BATCH_SUFFIX + "/" in name)


def total_score(parts: list[ScoreSummand]) -> float:
    """Per-node functions first, then the batch ones, as upstream adds them."""
    sums = [0.0, 0.0]
    for part in parts:
        if part.top and not isnan(part.value):
            sums[part.batch] = sums[part.batch] + part.value
    return sums[0] + sums[1]


def scored_row(recording: Recording, event: ScoreEvent, node: NodeName) -> int | None:
    """Where a node stands among those scored."""
    rows = event.rows.tolist()
    row = recording.session.node_table.row_of.get(node)
    return rows.index(row) if row in rows else None


def best_scored_row(event: ScoreEvent) -> int | None:
    """The first node with the highest total."""
    real = [(value, -index) for index, value in enumerate(event.total.tolist()) if not isnan(value)]
    return -max(real)[1] if real else None


def node_score(recording: Recording, seq: Seq, event: ScoreEvent, node: NodeName | None = None) -> Equation | None:
    """One node's score, of the best node where none is named."""
    index = best_scored_row(event) if node is None else scored_row(recording, event, node)
    if index is None:
        return None
    name, parts = recording.node_names[int(event.rows[index])], summands_of(event, index)
    total, recorded = total_score(parts), float(event.total[index])
    lost = ""
    if total != recorded:
        total, lost = _total_of_batch(parts), "; a per-node score failed here, and the node keeps none of them"
    terms = tuple(_score_terms(recording, name, event.task, parts))
    title = f"score of {name} for {event.task}"
    return Equation(
        title, SCORE_FORMULA, SCORE_COLUMNS, "check", terms, total, None, f"total {format_number(total)}{lost}"
    )


def _total_of_batch(parts: list[ScoreSummand]) -> float:
    return total_score([part for part in parts if part.batch])


def _score_terms(recording: Recording, node: NodeName, task: TaskKey, parts: list[ScoreSummand]) -> Iterator[Term]:
    """The parts that make a sum stand under it; a part that is the whole sum stands for it."""
    for place, part in enumerate(parts):
        inner = _inner_parts(parts, place)
        if part.top and len(inner) == 1:
            continue
        if isnan(part.value):
            yield Term(part.name, (None, None, None, None), None, "no entry: a function failed on this node")
            continue
        raw, normalised, weight = _scorer_origin(recording, node, task, part) if not inner else (None, None, None)
        yield Term(part.name, (raw, normalised, weight, part.value), None, "sum of those below" if inner else "")


def _inner_parts(parts: list[ScoreSummand], place: int) -> list[ScoreSummand]:
    """The parts that follow a sum up to the next one."""
    found: list[ScoreSummand] = []
    for part in parts[place + 1 :] if parts[place].top else ():
        if part.top:
            break
        found.append(part)
    return found


def _scorer_origin(
    recording: Recording, node: NodeName, task: TaskKey, part: ScoreSummand
) -> tuple[float | None, float | None, int | None]:
    """(raw, normalised, weight) of one scorer of nodeorder, as far as the plugin can still tell."""
    plugin = recording.session.plugins.get(NodeOrder.name)
    if not isinstance(plugin, NodeOrder | TwoKinds) or not part.name.startswith(f"{NodeOrder.name}/"):
        return None, None, None
    row, pod = recording.session.node_table.row_of[node], task_of(recording, task).pod
    return plugin.scorers.score_origin(part.name, part.value, pod, row) or (None, None, None)


# The choice


def scores_before(recording: Recording, seq: Seq) -> tuple[Seq, ScoreEvent] | None:
    """The scores that a choice was made from."""
    for earlier in range(seq - 1, max(0, seq - EVENTS_LOOKED_BACK), -1):
        event = recording.event_at(earlier)
        if isinstance(event, ScoreEvent):
            return earlier, event
    return None


def _second_best(scores: ScoreEvent, index: int) -> int | None:
    """The best of the others."""
    others = [(value, -i) for i, value in enumerate(scores.total.tolist()) if i != index and not isnan(value)]
    return -max(others)[1] if others else None


def runner_up(recording: Recording, scores: ScoreEvent, node: NodeName) -> NodeName | None:
    """The best node beside one."""
    index = scored_row(recording, scores, node)
    other = _second_best(scores, index) if index is not None else None
    return None if other is None else recording.node_names[int(scores.rows[other])]


def best_node_equation(recording: Recording, seq: Seq, event: BestEvent) -> Equation | None:
    """Why one node is best: part by part against the best of the others."""
    found = scores_before(recording, seq)
    index = scored_row(recording, found[1], event.name) if found is not None and event.kind == "node" else None
    if found is None or index is None:
        return None
    scores = found[1]
    other = _second_best(scores, index)
    if other is None:
        return node_score(recording, found[0], scores, event.name)
    name = recording.node_names[int(scores.rows[other])]
    mine, against = summands_of(scores, index), summands_of(scores, other)
    terms = tuple(
        Term(part.name, (part.value, rival.value, part.value - rival.value), None)
        for place, (part, rival) in enumerate(zip(mine, against, strict=True))
        if len(_inner_parts(mine, place)) == 0 and not isnan(part.value) and not isnan(rival.value)
    )
    telling = max(terms, key=lambda term: abs(float(str(term.figures[2]))), default=None)
    deciding = telling.name if telling is not None and telling.figures[2] else None
    margin = float(scores.total[index]) - float(scores.total[other])
    words = "the totals are equal" if not margin else f"{event.name} leads by {format_number(margin)}"
    title = f"why {event.name} and not {name}"
    columns = (event.name, name, "difference")
    return Equation(title, BEST_FORMULA, columns, "check", terms, event.score, deciding, words)


# The inside of each part


class ScorePart(NamedTuple):
    """One part of a node's score."""

    name: str
    recorded: float
    """NaN where the node has no entry."""
    inside: Equation | None
    """What it was made of; None where there is nothing more to say."""


def score_parts(recording: Recording, seq: Seq, node: NodeName) -> tuple[ScorePart, ...]:
    """Every part of a node's score, in the order in which they were asked."""
    event = recording.event_at(seq)
    place = scored_row(recording, event, node) if isinstance(event, ScoreEvent) else None
    asked = asked_node_at(recording, seq, node)
    if not isinstance(event, ScoreEvent) or place is None or asked is None:
        return ()
    return tuple(score_parts_in(asked, event, place))


def score_parts_in(asked: AskedNode, event: ScoreEvent, place: int) -> Iterator[ScorePart]:
    """As score_parts, of a node in a session that one has."""
    with asked.session.record.silence_recording():
        for name, values in event.parts:
            recorded = float(values[place])
            derive = explainer_for(name.partition("/")[0]).scores
            yield ScorePart(name, recorded, None if derive is None or isnan(recorded) else derive(asked, name))
