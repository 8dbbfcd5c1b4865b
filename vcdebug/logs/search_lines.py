"""Lines about searches for nodes: every node considered, every failure, the candidates and their scores.

Upstream: util/predicate_helper, util/scheduler_helper; scores of nodeorder, binpack and predicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isnan
from typing import NamedTuple

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import BATCH_NODE_ORDER, NODE_ORDER, PREDICATE
from vcdebug.framework.record import PredicateEvent, ScoreEvent
from vcdebug.gomath import mod
from vcdebug.logs import usage_lines
from vcdebug.logs.context import Context, Present, Said, future_idle, idle
from vcdebug.logs.gotext import json_object
from vcdebug.logs.message import UNKNOWN
from vcdebug.model.fiterror import POD_NUMBER_EXCEEDED, Status, fit_error_text
from vcdebug.model.names import IntArray, KeptScores, NodeName, Row, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.plugins import BINPACK, NODEORDER, PREDICATES, RESOURCE_STRATEGY_FIT, USAGE
from vcdebug.plugins.nodeorder import BALANCED, IMAGES, KEYS, LEAST, TAINTS, weights_of

SHORT = "Insufficient "
"""Room is tested before any filter is asked."""
BATCH_PARTS, CLAIMS = "nodeorder/batch/", "DynamicResources"
"""Before the names of scorers that look at all nodes at once, and the one of them that is predicates' own."""
ALWAYS = (BALANCED, LEAST, TAINTS)
"""Those of nodeorder that do not skip where there is no node."""


def helper(at: Context, cache_on: bool) -> Iterator[Said]:
    """A search helper is made: its error cache is empty."""
    at.failed = {} if cache_on else None
    yield from ()


def start(at: Context, row: Row) -> Iterator[Said]:
    """A search begins at a node."""
    at.search_start = row
    yield from ()


def skips(at: Context, task: TaskKey, names: Sequence[str]) -> Iterator[Said]:
    """Filters that have nothing to say about a task; the one about claims says so itself."""
    for name in names:
        if name == CLAIMS and not at.task(task).pod.spec.get("resourceClaims"):
            yield "filter.claims", task
        yield "filter.skipped", name, task


def search(at: Context, event: PredicateEvent) -> Iterator[Said]:
    """Every node in visiting order; what the error cache knew is not printed again."""
    task, names, state = at.task(event.task), at.recording.node_names, at.state
    group = f"{task.job}/{task.task_role}"
    known = at.failed.setdefault(group, {}) if at.failed is not None and task.task_role else {}
    codes = dict(zip(event.failed.tolist(), event.codes.tolist(), strict=True))
    asked = _answering(at, PREDICATE.method)
    for row in _visited(at, event):
        yield "search.node", event.task, names[row], task.resreq, partial(idle, state, names[row])
        statuses = at.recording.reasons.statuses(codes[row]) if row in codes else ()
        if row not in known:
            yield from _filtered(at, event.task, row, asked, statuses)
        if statuses and row not in known:
            yield "search.failed", partial(fit_error_text, event.task, names[row], statuses)
    known.update(dict.fromkeys(codes))


def _filtered(
    at: Context, task: TaskKey, row: Row, asked: Sequence[str], statuses: tuple[Status, ...]
) -> Iterator[Said]:
    """What filters print of a node; those behind the one that refuses it are not asked, nor any where room is short."""
    node = at.recording.node_names[row]
    for plugin in _reached(asked, statuses):
        if plugin == PREDICATES and any(status.reason == POD_NUMBER_EXCEEDED for status in statuses):
            most = int(at.recording.session.nodes[node].allocatable.max_task_num)
            yield "filter.pods", task, node, most, UNKNOWN
        elif plugin == USAGE:
            yield from usage_lines.filtered(at, task, row)
        elif plugin == RESOURCE_STRATEGY_FIT and not any(status.plugin == plugin for status in statuses):
            yield "strategy.pass", task, node


def _reached(asked: Sequence[str], statuses: tuple[Status, ...]) -> Sequence[str]:
    """The plugins that are asked about a node, by what it was refused with."""
    if not statuses:
        return asked
    if statuses[0].reason.startswith(SHORT):
        return ()
    by = statuses[-1].plugin if statuses[-1].plugin in asked else PREDICATES
    return asked[: asked.index(by) + 1] if by in asked else ()


def _visited(at: Context, event: PredicateEvent) -> list[Row]:
    """Rows in visiting order; over all nodes with the feasible one that ended an early stop, which no event names."""
    everything = len(at.recording.node_names)
    if event.considered == everything:
        return [mod(at.search_start + step, everything) for step in range(event.processed)]
    rows = sorted([*event.feasible.tolist(), *event.failed.tolist()])
    first = rows.index(at.search_start) if at.search_start in rows else 0
    return rows[first:] + rows[:first]


def candidates(at: Context, name: str, index: int, rows: IntArray) -> Iterator[Said]:
    """One group of feasible nodes: idle ones, then those with room in future."""
    nodes = [at.recording.node_names[row] for row in rows.tolist()]
    if not nodes:
        yield "allocate.no-match", name, index
    for node in nodes:
        yield "allocate.node", node, partial(idle, at.state, node), partial(future_idle, at.state, node)


def no_victims(at: Context, node: NodeName, request: Resource, victims: list[TaskKey]) -> Iterator[Said]:
    """A node's victims do not make enough room."""
    yield f"{at.action}.no-victims", node, request, partial(_future_with, at.now, node, victims)


def _future_with(now: Present, node: NodeName, victims: list[TaskKey]) -> Resource:
    tasks = now.recording.timeline.tasks
    return now.state.nodes[node].future_without(tasks[victim] for victim in victims)


def hyper_node_scores(at: Context, sub_job: str, scores: dict[str, float]) -> Iterator[Said]:
    """Totals of a sub job's hypernodes."""
    yield "score.domains", sub_job, partial(json_object, scores)


def scores(at: Context, event: ScoreEvent) -> Iterator[Said]:
    """Each plugin's score of each node, each batch, and the totals."""
    names = [at.recording.node_names[row] for row in event.rows.tolist()]
    parts = dict(event.parts)
    yield from _node_by_node(at, event, names, {name: part.tolist() for name, part in parts.items()})
    for plugin in _answering(at, BATCH_NODE_ORDER.method):
        if plugin in (NODEORDER, PREDICATES):
            for part, scored in _batch_parts(at, plugin, parts):
                yield "score.batch-part", part, event.task, partial(_by_node, names, scored)
            yield f"score.{plugin}-batch", event.task, partial(_by_node, names, parts.get(f"{plugin}/batch"))
    yield "score.total", event.task, partial(_by_node, names, event.total)


def _node_by_node(
    at: Context, event: ScoreEvent, names: list[NodeName], parts: Mapping[str, list[float]]
) -> Iterator[Said]:
    """What each plugin gave a node, which is nothing (not a number) where it was not asked."""
    asked = [plugin for plugin in _answering(at, NODE_ORDER.method) if plugin in parts]
    own = _parts_of_nodeorder(at, parts) if NODEORDER in asked else ()
    for index, node in enumerate(names):
        for plugin in asked:
            score = parts[plugin][index]
            if plugin == USAGE:
                yield from usage_lines.scored(at, event.task, node, int(event.rows[index]), score)
            elif not isnan(score) and plugin == NODEORDER:
                yield from _parts(event.task, node, own, index)
                yield "score.nodeorder", event.task, node, score
            elif not isnan(score) and plugin == BINPACK:
                yield "score.binpack", event.task, node, score


def _batch_parts(at: Context, plugin: str, parts: Mapping[str, KeptScores]) -> Iterator[tuple[str, KeptScores | None]]:
    """The scorers of a batch by name; over no nodes those that are asked whatever there is."""
    if not parts:
        always = [CLAIMS] if plugin == PREDICATES else [part for part in ALWAYS if _weights(at)[KEYS[part]]]
        yield from ((part, None) for part in always)
        return
    for name in sorted(parts):
        part = name.removeprefix(BATCH_PARTS)
        if name.startswith(BATCH_PARTS) and (part == CLAIMS) == (plugin == PREDICATES):
            yield part, parts[name]


def _answering(at: Context, method: str) -> list[str]:
    return [plugin_call.plugin for tier in at.recording.session.plugin_calls[method] for plugin_call in tier]


class _Part(NamedTuple):
    """A scorer of nodeorder that is asked node by node."""

    name: str
    scores: list[float]
    weight: int
    images: str
    """The weight of images, which releases that do not normalise show beside each scorer."""


def _parts_of_nodeorder(at: Context, parts: Mapping[str, list[float]]) -> tuple[_Part, ...]:
    weights = _weights(at)
    named = ((path.removeprefix("nodeorder/"), scores) for path, scores in parts.items())
    images = str(weights[KEYS[IMAGES]])
    return tuple(_Part(name, scores, weights[KEYS[name]], images) for name, scores in named if name in KEYS)


def _parts(task: TaskKey, node: NodeName, parts: tuple[_Part, ...], index: int) -> Iterator[Said]:
    """Each part with its weight."""
    for part in parts:
        score = part.scores[index]
        if not isnan(score):
            yield "score.scoring", part.name
            yield "score.part", node, task, part.name, part.weight, round(score / part.weight), score, part.images


def _weights(at: Context) -> dict[str, int]:
    option = next(o for tier in at.recording.conf.tiers for o in tier if o.name == NODEORDER)
    return weights_of(Arguments(option.arguments))


def _by_node(names: list[NodeName], scores: KeptScores | None) -> dict[NodeName, float]:
    if scores is None:
        return {}
    return {name: float(score) for name, score in zip(names, scores, strict=True) if not np.isnan(score)}
