"""The choice of the best node: plugins' scores are added in upstream's order, ties are broken by position.

Upstream: util/scheduler_helper (PrioritizeNodes, SelectBestNodeAndScore, SortNodes).
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from msgspec import Struct

from vcdebug.framework.hooks import BATCH_NODE_ORDER, BEST_NODE, NODE_ORDER
from vcdebug.framework.placement import shard_groups
from vcdebug.framework.plugin_answers import NodeScores, ScoreError
from vcdebug.framework.quirks import SCORES_DROPPED
from vcdebug.framework.record import BestEvent, ScoreEvent
from vcdebug.framework.session import Session
from vcdebug.model.names import BoolArray, FloatArray, KeptScores
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows, zero_array
from vcdebug.model.task import TaskInfo
from vcdebug.releases.nodes import BEST_ABOVE_MINUS_ONE

ScoreParts = list[tuple[str, KeptScores]]
NodeAndScore = tuple[NodeInfo | None, float]
"""(best node or None, its total score)."""
NO_NODE: NodeAndScore = (None, 0.0)
ZERO_DIGITS = float.hex(0.0)
HALF_DTYPE = np.dtype(np.float32)
MIN_SHRINK_SIZE = 256
"""Minimum number of scores to shrink: below it, checking costs more time than shrinking saves memory."""
CONSTANT_STRIDES = (0,)
"""Strides of an array that repeats a single number."""


class ScoredNodes(Struct, frozen=True):
    """Nodes with their total scores."""

    nodes: NodeRows
    total: FloatArray


def prioritize_nodes(ssn: Session, task: TaskInfo, nodes: NodeRows) -> ScoredNodes | None:
    """Total scores of all plugins; None if a batch function failed. Upstream: util/scheduler_helper.PrioritizeNodes."""
    ssn.seeking = task
    event = None if ssn.previous_cycle is None else ssn.previous_cycle.find_scores(task, nodes)
    if event is not None:
        ssn.record.append(event)
        return ScoredNodes(nodes, event.total)
    parts: ScoreParts = []
    everywhere: list[str] = []
    ssn.record.running_call_count += 1
    try:
        total = _add_scores(
            _node_order_scores(ssn, task, nodes, parts), _batch_node_order_scores(ssn, task, nodes, parts, everywhere)
        )
    except ScoreError as error:
        ssn.note_quirk(SCORES_DROPPED, f"all scores of {task.key} are lost: {error}", at_last=True)
        return None
    finally:
        ssn.record.running_call_count -= 1
    shrunk_parts = tuple([(name, shrink_scores(scores)) for name, scores in parts]) if len(nodes) else ()
    ssn.record.append(ScoreEvent(task.key, nodes.rows, shrunk_parts, total, tuple(everywhere)))
    return ScoredNodes(nodes, total)


def _add_scores(total: FloatArray, scores: FloatArray) -> FloatArray:
    """The sum. `total` is never -0.0, so that adding the shared array of zeros can be skipped."""
    return total if scores is zero_array(len(scores)) else total + scores


def shrink_scores(scores: KeptScores) -> KeptScores:
    """Shrink scores for storage without losing a bit: to one number if all scores are equal, or to float32 if that
    holds them exactly, e.g. whole numbers.
    """
    if scores is zero_array(len(scores)):
        return _constant_scores(ZERO_DIGITS, len(scores))
    if scores.strides == CONSTANT_STRIDES:
        return scores
    # Comparing bytes takes a fifth of the time of comparing numbers, and tells -0.0 from 0.0.
    raw, width = scores.tobytes(), scores.itemsize
    if raw.endswith(raw[:width]) and raw[width:] == raw[:-width]:
        return _constant_scores(float.hex(scores.item(0)), len(scores))
    if scores.dtype == HALF_DTYPE or len(scores) < MIN_SHRINK_SIZE:
        return scores
    half = scores.astype(HALF_DTYPE)
    return half if half.astype(np.float64).tobytes() == raw else scores


@lru_cache(maxsize=1024)
def _constant_scores(digits: str, size: int) -> FloatArray:
    """A read-only array of one number, given as hex digits so that -0.0 differs from 0.0; cached."""
    return np.broadcast_to(np.array([float.fromhex(digits)]), size)


def _node_order_scores(ssn: Session, task: TaskInfo, nodes: NodeRows, parts: ScoreParts) -> FloatArray:
    """Per-node scores in tier order; none for a failed node. Upstream: framework/session_plugins.NodeOrderMapFn."""
    total = nodes.zero_scores()
    failed: BoolArray | None = None
    for tier in ssn.plugin_calls[NODE_ORDER.method]:
        for plugin_call in tier:
            scores: NodeScores = plugin_call.call(task, nodes)
            plugin_total = scores.total if failed is None else np.where(failed, np.nan, scores.total)
            # The total drops a failed node at the end; the parts keep what each plugin said before the failure.
            if scores.failed_mask is not None:
                before = np.zeros(len(nodes), dtype=np.bool_) if failed is None else failed
                plugin_total = np.where(scores.failed_mask & ~before, 0.0, plugin_total)
                failed = before | scores.failed_mask
            parts.append((plugin_call.plugin, plugin_total))
            parts.extend(scores.parts)
            total = _add_scores(total, scores.total)
    return total if failed is None else np.where(failed, 0.0, total)


def _batch_node_order_scores(
    ssn: Session, task: TaskInfo, nodes: NodeRows, parts: ScoreParts, everywhere: list[str]
) -> FloatArray:
    """Upstream: framework/session_plugins.BatchNodeOrderFn."""
    total = nodes.zero_scores()
    for tier in ssn.plugin_calls[BATCH_NODE_ORDER.method]:
        for plugin_call in tier:
            scores: NodeScores | None = plugin_call.call(task, nodes)
            if scores is not None and scores.zero_everywhere:
                everywhere.append(_batch_part(plugin_call.plugin))
            elif scores is not None:
                parts.append((_batch_part(plugin_call.plugin), scores.total))
                parts.extend(scores.parts)
                total = _add_scores(total, scores.total)
    return total


@lru_cache(maxsize=64)
def _batch_part(plugin: str) -> str:
    """The trace key of a plugin's batch scores; cached, so that records share it."""
    return f"{plugin}/batch"


def select_best(ssn: Session, task: TaskInfo, scored: ScoredNodes | None) -> NodeInfo | None:
    """BestNodeFn's choice, else a node with the highest total (in recordings the first); None without scores.
    Upstream: util/scheduler_helper.SelectBestNodeAndScore.
    """
    return select_with_score(ssn, task, scored)[0]


def select_with_score(ssn: Session, task: TaskInfo, scored: ScoredNodes | None) -> NodeAndScore:
    """As `select_best`, but (node, total); the total of BestNodeFn's choice is 0."""
    if scored is None:
        return NO_NODE
    chosen: NodeInfo | None = ssn.ask_plugins(BEST_NODE, task, scored.nodes)
    return (chosen, 0.0) if chosen is not None else _highest_total(ssn, task, scored)


def _highest_total(ssn: Session, task: TaskInfo, scored: ScoredNodes) -> NodeAndScore:
    """(a node with the highest total, the total). NaN and -inf never win, nor totals up to -1 in older releases."""
    total = scored.total
    threshold = -1.0 if ssn.release.has_older_form(BEST_ABOVE_MINUS_ONE) else -np.inf
    best = float(np.maximum.reduce(total, initial=-np.inf))
    # In Go, NaN > x is false, so NaN never wins; numpy's maximum is NaN if any number is.
    if not best > threshold:
        best = float(total[total > threshold].max(initial=threshold))
        if best == threshold:
            return NO_NODE
    positions = (total == best).nonzero()[0]
    tied: list[int] = scored.nodes.rows[positions].tolist()
    all_names = ssn.node_table.names
    names = tuple([all_names[row] for row in tied])
    chosen = ssn.draws.draw_node(names, task.key)
    ssn.record.append(BestEvent("node", names[chosen], best, names))
    return ssn.node_table.nodes[tied[chosen]], best


def sort_nodes(ssn: Session, task: TaskInfo, scored: ScoredNodes | None) -> list[NodeInfo]:
    """Nodes by descending total; ties keep their order or follow the configured one; nodes with NaN are dropped.
    Upstream: util/scheduler_helper.SortNodes.
    """
    if scored is None:
        return []
    nodes, valid = scored.nodes.node_infos, ~np.isnan(scored.total)
    places = ssn.draws.known_turns(nodes, task.key)
    # Stable: upstream collects equal nodes in one list per score and appends the lists.
    ranked = (
        np.argsort(-scored.total, kind="stable") if places is None else np.lexsort((np.array(places), -scored.total))
    )
    return [nodes[index] for index in ranked.tolist() if valid[index]]


def best_node(ssn: Session, task: TaskInfo, feasible: NodeRows) -> NodeInfo | None:
    """The best node by idle, else by future room; a single one unscored. Upstream: actions/allocate.prioritizeNodes."""
    return best_with_score(ssn, task, feasible)[0]


def best_with_score(ssn: Session, task: TaskInfo, feasible: NodeRows) -> NodeAndScore:
    """As `best_node`, but (node, total); the total of a single candidate is 0."""
    for index, group in enumerate(_room_groups(ssn, task, feasible)):
        ssn.log("group", task.name, index, group.rows)
        if len(group) == 1:
            return group.node_infos[0], 0.0
        if len(group) > 1:
            best = select_with_score(ssn, task, prioritize_nodes(ssn, task, group))
            if best[0] is not None:
                return best
    return NO_NODE


def _room_groups(ssn: Session, task: TaskInfo, feasible: NodeRows) -> Iterator[NodeRows]:
    # If no pod is terminating or pipelined, Idle and FutureIdle are equal.
    if not feasible.table.future_differs:
        yield from shard_groups(ssn, feasible)
        return
    idle = feasible.fits_request(task.init_resreq, "idle")
    if np.count_nonzero(idle) == len(idle):
        yield from shard_groups(ssn, feasible)
        return
    yield from shard_groups(ssn, feasible.select_where(idle))
    without_idle = feasible.select_where(~idle)
    yield from shard_groups(ssn, without_idle.select_where(without_idle.fits_request(task.init_resreq, "future")))
