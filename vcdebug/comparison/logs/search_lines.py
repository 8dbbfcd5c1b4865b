"""Lines about searches for nodes: every node considered, every failure, the candidates and their scores.

Upstream: util/predicate_helper, util/scheduler_helper; nodeorder, binpack, predicates and plugins/usage.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isnan
from typing import NamedTuple

import numpy as np

from vcdebug.comparison.logs import message
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import BATCH_NODE_ORDER, NODE_ORDER, PREDICATE
from vcdebug.framework.record import PredicateEvent, ScoreEvent
from vcdebug.gomath import int_mod
from vcdebug.model.fit_errors import POD_NUMBER_EXCEEDED, FitStatus, fit_error_text
from vcdebug.model.names import IntArray, KeptScores, NodeName, Row, TaskKey
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.plugins import BINPACK, NODEORDER, PREDICATES, RESOURCE_STRATEGY_FIT, USAGE
from vcdebug.plugins.nodeorder import BALANCED, IMAGES, LEAST, TAINTS, WEIGHT_KEYS, weights_of
from vcdebug.plugins.usage import MeasuredUsage, Usage
from vcdebug.plugins.usage.load import MEASURED_PERIOD

SHORTAGE_PREFIX = "Insufficient "
"""Start of a reason given before any filter is asked."""
BATCH_PARTS, CLAIMS = "nodeorder/batch/", "DynamicResources"
"""Prefix of scorers that see all nodes at once, and the scorer among them that belongs to predicates."""
ALWAYS_ASKED = (BALANCED, LEAST, TAINTS)
"""Scorers of nodeorder that do not skip over an empty list of nodes."""


def start_helper(at: message.LogContext, cache_on: bool) -> Iterator[message.LogCall]:
    """A search helper is made: its error cache is empty."""
    at.failed = {} if cache_on else None
    yield from ()


def start_search(at: message.LogContext, row: Row) -> Iterator[message.LogCall]:
    """A search begins at a node."""
    at.search_start = row
    yield from ()


def lines_of_skips(at: message.LogContext, task: TaskKey, names: Sequence[str]) -> Iterator[message.LogCall]:
    """Filters that PreFilter skips for a task; the filter of resource claims logs it itself."""
    for name in names:
        if name == CLAIMS and not at.task_of(task).pod.spec.get("resourceClaims"):
            yield "filter.claims", task
        yield "filter.skipped", name, task


def lines_of_search(at: message.LogContext, event: PredicateEvent) -> Iterator[message.LogCall]:
    """Every node in visiting order; a failure that the error cache holds is not printed again."""
    task, names, state = at.task_of(event.task), at.recording.node_names, at.current_state
    group = f"{task.job}/{task.task_role}"
    known = at.failed.setdefault(group, {}) if at.failed is not None and task.task_role else {}
    codes = dict(zip(event.failed.tolist(), event.codes.tolist(), strict=True))
    asked = _answering_plugins(at, PREDICATE.method)
    for row in _visited_rows(at, event):
        yield "search.node", event.task, names[row], task.resreq, partial(message.idle_of, state, names[row])
        statuses = at.recording.reason_table.statuses_of(codes[row]) if row in codes else ()
        if row not in known:
            yield from _filter_lines(at, event.task, row, asked, statuses)
        if statuses and row not in known:
            yield "search.failed", partial(fit_error_text, event.task, names[row], statuses)
    known.update(dict.fromkeys(codes))


def _filter_lines(
    at: message.LogContext, task: TaskKey, row: Row, asked: Sequence[str], statuses: tuple[FitStatus, ...]
) -> Iterator[message.LogCall]:
    """The filters' lines about a node: none after the filter that refuses it, and none where resources are short."""
    node = at.recording.node_names[row]
    for plugin in _reached_plugins(asked, statuses):
        if plugin == PREDICATES and any(status.reason == POD_NUMBER_EXCEEDED for status in statuses):
            most = int(at.recording.session.nodes[node].allocatable.max_task_num)
            yield "filter.pods", task, node, most, message.UNKNOWN_TEXT
        elif plugin == USAGE:
            yield from lines_of_filter(at, task, row)
        elif plugin == RESOURCE_STRATEGY_FIT and not any(status.plugin == plugin for status in statuses):
            yield "strategy.pass", task, node


def _reached_plugins(asked: Sequence[str], statuses: tuple[FitStatus, ...]) -> Sequence[str]:
    """The plugins that were asked about a node, judged by the reasons of its refusal."""
    if not statuses:
        return asked
    if statuses[0].reason.startswith(SHORTAGE_PREFIX):
        return ()
    by = statuses[-1].plugin if statuses[-1].plugin in asked else PREDICATES
    return asked[: asked.index(by) + 1] if by in asked else ()


def _visited_rows(at: message.LogContext, event: PredicateEvent) -> list[Row]:
    # A search over all nodes is counted out: the feasible node that ended an early stop is named by no event.
    everything = len(at.recording.node_names)
    if event.considered == everything:
        return [int_mod(at.search_start + step, everything) for step in range(event.processed)]
    rows = sorted([*event.feasible.tolist(), *event.failed.tolist()])
    first = rows.index(at.search_start) if at.search_start in rows else 0
    return rows[first:] + rows[:first]


def lines_of_candidates(at: message.LogContext, name: str, index: int, rows: IntArray) -> Iterator[message.LogCall]:
    """One group of feasible nodes: idle ones, then those with room in future."""
    nodes = [at.recording.node_names[row] for row in rows.tolist()]
    if not nodes:
        yield "allocate.no-match", name, index
    for node in nodes:
        yield (
            "allocate.node",
            node,
            partial(message.idle_of, at.current_state, node),
            partial(message.future_idle_of, at.current_state, node),
        )


def no_victims(
    at: message.LogContext, node: NodeName, request: Resource, victims: list[TaskKey]
) -> Iterator[message.LogCall]:
    """The line about a node whose victims do not free enough."""
    yield f"{at.action}.no-victims", node, request, partial(_future_with, at.now, node, victims)


def _future_with(now: message.LogState, node: NodeName, victims: list[TaskKey]) -> Resource:
    tasks = now.recording.timeline.tasks
    return now.state.nodes[node].future_without(tasks[victim] for victim in victims)


def hyper_node_scores(at: message.LogContext, sub_job: str, scores: dict[str, float]) -> Iterator[message.LogCall]:
    """Totals of a sub job's hypernodes."""
    yield "score.domains", sub_job, partial(message.format_json_object, scores)


def lines_of_scores(at: message.LogContext, event: ScoreEvent) -> Iterator[message.LogCall]:
    """Each plugin's score of each node, each batch, and the totals."""
    names = [at.recording.node_names[row] for row in event.rows.tolist()]
    parts = dict(event.parts)
    yield from _node_by_node(at, event, names, {name: part.tolist() for name, part in parts.items()})
    for plugin in _answering_plugins(at, BATCH_NODE_ORDER.method):
        if plugin in (NODEORDER, PREDICATES):
            for part, scored in _batch_parts(at, plugin, parts):
                yield "score.batch-part", part, event.task, partial(_score_by_node, names, scored)
            yield f"score.{plugin}-batch", event.task, partial(_score_by_node, names, parts.get(f"{plugin}/batch"))
    yield "score.total", event.task, partial(_score_by_node, names, event.total)


def _node_by_node(
    at: message.LogContext, event: ScoreEvent, names: list[NodeName], parts: Mapping[str, list[float]]
) -> Iterator[message.LogCall]:
    """Each plugin's score of each node; NaN where the plugin was not asked about the node."""
    asked = [plugin for plugin in _answering_plugins(at, NODE_ORDER.method) if plugin in parts]
    own = _parts_of_nodeorder(at, parts) if NODEORDER in asked else ()
    for index, node in enumerate(names):
        for plugin in asked:
            score = parts[plugin][index]
            if plugin == USAGE:
                yield from lines_of_score(at, event.task, node, int(event.rows[index]), score)
            elif not isnan(score) and plugin == NODEORDER:
                yield from _part_lines(event.task, node, own, index)
                yield "score.nodeorder", event.task, node, score
            elif not isnan(score) and plugin == BINPACK:
                yield "score.binpack", event.task, node, score


def _batch_parts(
    at: message.LogContext, plugin: str, parts: Mapping[str, KeptScores]
) -> Iterator[tuple[str, KeptScores | None]]:
    """(scorer, scores) of a batch by name; over no nodes the scorers that are asked anyway."""
    if not parts:
        always = (
            [CLAIMS]
            if plugin == PREDICATES
            else [part for part in ALWAYS_ASKED if _scorer_weights(at)[WEIGHT_KEYS[part]]]
        )
        yield from ((part, None) for part in always)
        return
    for name in sorted(parts):
        part = name.removeprefix(BATCH_PARTS)
        if name.startswith(BATCH_PARTS) and (part == CLAIMS) == (plugin == PREDICATES):
            yield part, parts[name]


def _answering_plugins(at: message.LogContext, method: str) -> list[str]:
    return [plugin_call.plugin for tier in at.recording.session.plugin_calls[method] for plugin_call in tier]


class _NodeScorer(NamedTuple):
    """A scorer of nodeorder that scores node by node."""

    name: str
    scores: list[float]
    weight: int
    images: str
    """The weight of images, which releases without normalisation print with each scorer."""


def _parts_of_nodeorder(at: message.LogContext, parts: Mapping[str, list[float]]) -> tuple[_NodeScorer, ...]:
    weights = _scorer_weights(at)
    named = ((path.removeprefix("nodeorder/"), scores) for path, scores in parts.items())
    images = str(weights[WEIGHT_KEYS[IMAGES]])
    return tuple(
        _NodeScorer(name, scores, weights[WEIGHT_KEYS[name]], images) for name, scores in named if name in WEIGHT_KEYS
    )


def _part_lines(task: TaskKey, node: NodeName, parts: tuple[_NodeScorer, ...], index: int) -> Iterator[message.LogCall]:
    for part in parts:
        score = part.scores[index]
        if not isnan(score):
            yield "score.scoring", part.name
            yield "score.part", node, task, part.name, part.weight, round(score / part.weight), score, part.images


def _scorer_weights(at: message.LogContext) -> dict[str, int]:
    return weights_of(Arguments(at.recording.conf.options_of(NODEORDER)[0].arguments))


def _score_by_node(names: list[NodeName], scores: KeptScores | None) -> dict[NodeName, float]:
    if scores is None:
        return {}
    return {name: float(score) for name, score in zip(names, scores, strict=True) if not np.isnan(score)}


# Lines of the plugin usage: its settings, what was measured, and why a node is refused, passed or scored.

AnyUsage = Usage | MeasuredUsage


def plugin_of(at: message.LogContext) -> AnyUsage | None:
    """The plugin, where it is configured."""
    found = at.recording.session.plugins.get(Usage.name)
    return found if isinstance(found, AnyUsage) else None


def lines_of_settings(at: message.LogContext) -> Iterator[message.LogCall]:
    """What its arguments come to."""
    plugin = plugin_of(at)
    if not isinstance(plugin, Usage):
        return
    stated = plugin.usage_settings
    ratios = (stated.request_ratio, stated.burst_ratio, stated.risk_threshold, stated.risk_factor)
    yield "load.estimator", *ratios, stated.best_effort_cpu, stated.best_effort_memory
    yield "load.thresholds", stated.cpu_threshold, stated.memory_threshold


def lines_of_measurements(
    at: message.LogContext, cpu: Mapping[NodeName, float], memory: Mapping[NodeName, float]
) -> Iterator[message.LogCall]:
    """Every node's measurements, with what is estimated of pods that none has seen."""
    usage = at.recording.snapshot.usage
    for node in at.recording.node_names:
        entry = usage.get(node) or {}
        parts = (entry.get("cpu") or {}, entry.get("mem") or {})
        yield "load.measured", node, *parts, message.UNKNOWN_TEXT, cpu.get(node, 0.0), memory.get(node, 0.0)


def lines_of_filter(at: message.LogContext, task: TaskKey, row: Row) -> Iterator[message.LogCall]:
    """A node that the plugin is asked about."""
    plugin, node = plugin_of(at), at.recording.node_names[row]
    if plugin is None:
        return
    if not plugin.node_measurements.fresh[row]:
        yield "load.stale", task, node, message.UNKNOWN_TEXT
        return
    limits = plugin.load_thresholds
    yield "load.limits", *limits
    for key, percent, limit in zip(
        ("cpu", "memory"), plugin.node_measurements.measured_percents(row), limits, strict=True
    ):
        if percent > limit:
            yield f"load.{key}", node, percent, limit
            return
    yield "load.pass", task, node


def lines_of_score(
    at: message.LogContext, task: TaskKey, node: NodeName, row: Row, score: float
) -> Iterator[message.LogCall]:
    """A node that the plugin scores."""
    plugin = plugin_of(at)
    if plugin is None:
        return
    cpu, memory = plugin.node_measurements.measured_percents(row)
    if isinstance(plugin, Usage):
        if plugin.node_measurements.fresh[row]:
            capacity = at.recording.session.nodes[node].capability
            yield "load.score", node, cpu, memory, capacity.get(CPU), capacity.get(MEMORY), score
    elif not plugin.node_measurements.fresh[row]:
        yield "load.unscored", task, node, message.UNKNOWN_TEXT
    else:
        yield from _as_measured(at, task, node, (cpu, memory), score)


def _as_measured(
    at: message.LogContext, task: TaskKey, node: NodeName, percents: tuple[float, float], score: float
) -> Iterator[message.LogCall]:
    """The measurements in order, up to the first missing one."""
    entry = at.recording.snapshot.usage.get(node) or {}
    for key, part, percent in zip(("cpu-usage", "memory-usage"), ("cpu", "mem"), percents, strict=True):
        yield f"load.{key}", node, percent
        if MEASURED_PERIOD not in (entry.get(part) or {}):
            return
    yield "load.task-score", node, at.task_of(task).name, score
