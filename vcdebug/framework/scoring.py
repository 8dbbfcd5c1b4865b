"""Which of several nodes is best: plugins' scores added in upstream's order, ties by position.

Upstream: util/scheduler_helper (PrioritizeNodes, SelectBestNodeAndScore, SortNodes).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from vcdebug.framework.hooks import BATCH_NODE_ORDER, BEST_NODE, NODE_ORDER
from vcdebug.framework.placement import shard_groups
from vcdebug.framework.plugin import NodeScores, ScoreError
from vcdebug.framework.quirks import SCORES_DROPPED
from vcdebug.framework.record import BestEvent, ScoreEvent
from vcdebug.framework.session import Session
from vcdebug.model.names import BoolArray, FloatArray, KeptScores
from vcdebug.model.node import NodeInfo
from vcdebug.model.nodetable import NodeRows, zeros
from vcdebug.model.task import TaskInfo
from vcdebug.releases.nodes import BEST_ABOVE_MINUS_ONE

Parts = list[tuple[str, KeptScores]]
Best = tuple[NodeInfo | None, float]
"""A node, if any, and its total."""
NOBODY: Best = (None, 0.0)
NOTHING = float.hex(0.0)
HALF = np.dtype(np.float32)
MANY = 256
"""Fewer scores are kept as they are: looking whether they could be shorter takes longer than it gains."""
ONE_NUMBER = (0,)
"""Strides of an array that repeats one number."""


class Scored(NamedTuple):
    """Nodes with one total each."""

    nodes: NodeRows
    total: FloatArray


def prioritize_nodes(ssn: Session, task: TaskInfo, nodes: NodeRows) -> Scored | None:
    """Totals of all plugins; None when a batch function failed, which loses every score.
    Upstream: util/scheduler_helper.PrioritizeNodes.
    """
    ssn.seeking = task
    known = None if ssn.past is None else ssn.past.scores(task, nodes)
    if known is not None:
        ssn.record.append(known)
        return Scored(nodes, known.total)
    parts: Parts = []
    everywhere: list[str] = []
    ssn.record.silent += 1
    try:
        total = _plus(_order(ssn, task, nodes, parts), _batch(ssn, task, nodes, parts, everywhere))
    except ScoreError as error:
        ssn.note(SCORES_DROPPED, f"all scores of {task.key} are lost: {error}", at_last=True)
        return None
    finally:
        ssn.record.silent -= 1
    shown = tuple([(name, lean(scores)) for name, scores in parts]) if len(nodes) else ()
    ssn.record.append(ScoreEvent(task.key, nodes.rows, shown, total, tuple(everywhere)))
    return Scored(nodes, total)


def _plus(total: FloatArray, scores: FloatArray) -> FloatArray:
    """The sum, where the total began with 0.0 and thus is never -0.0: adding nothing changes no bit of it."""
    return total if scores is zeros(len(scores)) else total + scores


def lean(scores: KeptScores) -> KeptScores:
    """Scores to keep, to the last bit: one number where all nodes have the same, and half of the bytes where these
    say it all, as of whole numbers.
    """
    if scores is zeros(len(scores)):
        return _constant(NOTHING, len(scores))
    if scores.strides == ONE_NUMBER:
        return scores
    raw, width = scores.tobytes(), scores.itemsize  # compared in a fifth of the time that comparing numbers takes
    if raw.endswith(raw[:width]) and raw[width:] == raw[:-width]:
        return _constant(float.hex(scores.item(0)), len(scores))
    if scores.dtype == HALF or len(scores) < MANY:
        return scores
    half = scores.astype(HALF)
    return half if half.astype(np.float64).tobytes() == raw else scores


@lru_cache(maxsize=1024)
def _constant(digits: str, size: int) -> FloatArray:
    """The number of these digits, which tell -0.0 from 0.0, `size` times: kept once; read only."""
    return np.broadcast_to(np.array([float.fromhex(digits)]), size)


def _order(ssn: Session, task: TaskInfo, nodes: NodeRows, parts: Parts) -> FloatArray:
    """Per-node functions in tier order; a node whose function failed keeps none of them.
    Upstream: framework/session_plugins.NodeOrderMapFn.
    """
    total = nodes.zeros()
    lost: BoolArray | None = None
    for tier in ssn.plugin_calls[NODE_ORDER.method]:
        for plugin_call in tier:
            scores: NodeScores = plugin_call.call(task, nodes)
            own = scores.total if lost is None else np.where(lost, np.nan, scores.total)
            if scores.failed is not None:
                before = np.zeros(len(nodes), dtype=np.bool_) if lost is None else lost
                own = np.where(scores.failed & ~before, 0.0, own)
                lost = before | scores.failed
            parts.append((plugin_call.plugin, own))
            parts.extend(scores.parts)
            total = _plus(total, scores.total)
    return total if lost is None else np.where(lost, 0.0, total)


def _batch(ssn: Session, task: TaskInfo, nodes: NodeRows, parts: Parts, everywhere: list[str]) -> FloatArray:
    """Upstream: framework/session_plugins.BatchNodeOrderFn."""
    total = nodes.zeros()
    for tier in ssn.plugin_calls[BATCH_NODE_ORDER.method]:
        for plugin_call in tier:
            scores: NodeScores | None = plugin_call.call(task, nodes)
            if scores is not None and scores.everywhere:
                everywhere.append(_batch_part(plugin_call.plugin))
            elif scores is not None:
                parts.append((_batch_part(plugin_call.plugin), scores.total))
                parts.extend(scores.parts)
                total = _plus(total, scores.total)
    return total


@lru_cache(maxsize=64)
def _batch_part(plugin: str) -> str:
    """What a plugin's batch scores are called, the same object each time."""
    return f"{plugin}/batch"


def select_best(ssn: Session, task: TaskInfo, scored: Scored | None) -> NodeInfo | None:
    """BestNodeFn's choice, else a node with the highest total (by rule the first); None without scores.
    Upstream: util/scheduler_helper.SelectBestNodeAndScore.
    """
    return select_with_score(ssn, task, scored)[0]


def select_with_score(ssn: Session, task: TaskInfo, scored: Scored | None) -> Best:
    """As `select_best`, with the total; BestNodeFn's choice counts 0."""
    if scored is None:
        return NOBODY
    chosen: NodeInfo | None = ssn.ask(BEST_NODE, task, scored.nodes)
    return (chosen, 0.0) if chosen is not None else _highest(ssn, task, scored)


def _highest(ssn: Session, task: TaskInfo, scored: Scored) -> Best:
    """One of the nodes with the highest total; NaN and minus infinity never win, nor once anything up to -1."""
    total = scored.total
    worst = -1.0 if ssn.release.has(BEST_ABOVE_MINUS_ONE) else -np.inf
    best = float(np.maximum.reduce(total, initial=-np.inf))
    if not best > worst:  # NaN, which hides the others
        best = float(total[total > worst].max(initial=worst))
        if best == worst:
            return NOBODY
    positions = (total == best).nonzero()[0]
    tied: list[int] = scored.nodes.rows[positions].tolist()
    all_names = ssn.node_table.names
    names = tuple([all_names[row] for row in tied])
    chosen = ssn.draws.among(names, task.key)
    ssn.record.append(BestEvent("node", names[chosen], best, names))
    return ssn.node_table.nodes[tied[chosen]], best


def sort_nodes(ssn: Session, task: TaskInfo, scored: Scored | None) -> list[NodeInfo]:
    """Nodes by descending total, equal ones in their order, or in the one that is known; a NaN loses its node.
    Upstream: util/scheduler_helper.SortNodes.
    """
    if scored is None:
        return []
    nodes, kept = scored.nodes.nodes, ~np.isnan(scored.total)
    places = ssn.draws.places(nodes, task.key)
    ranked = (
        np.argsort(-scored.total, kind="stable") if places is None else np.lexsort((np.array(places), -scored.total))
    )
    return [nodes[index] for index in ranked.tolist() if kept[index]]


def best_node(ssn: Session, task: TaskInfo, feasible: NodeRows) -> NodeInfo | None:
    """Nodes with idle room before nodes with future room; a group of one wins without scores.
    Upstream: actions/allocate.prioritizeNodes.
    """
    return best_with_score(ssn, task, feasible)[0]


def best_with_score(ssn: Session, task: TaskInfo, feasible: NodeRows) -> Best:
    """As `best_node`, with the total; the node of a group of one counts 0."""
    for index, group in enumerate(_groups(ssn, task, feasible)):
        ssn.log("group", task.name, index, group.rows)
        if len(group) == 1:
            return group.nodes[0], 0.0
        if len(group) > 1:
            best = select_with_score(ssn, task, prioritize_nodes(ssn, task, group))
            if best[0] is not None:
                return best
    return NOBODY


def _groups(ssn: Session, task: TaskInfo, feasible: NodeRows) -> Iterator[NodeRows]:
    if not feasible.table.coming_and_going:  # what fits once pods have gone fits now
        yield from shard_groups(ssn, feasible)
        return
    idle = feasible.fitting(task.init_resreq, "idle")
    if np.count_nonzero(idle) == len(idle):
        yield from shard_groups(ssn, feasible)
        return
    yield from shard_groups(ssn, feasible.select(idle))
    later = feasible.select(~idle)
    yield from shard_groups(ssn, later.select(later.fitting(task.init_resreq, "future")))
