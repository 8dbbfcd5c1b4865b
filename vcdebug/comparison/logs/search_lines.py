"""Lines about searches for nodes: every node considered, every failure, the candidates and their scores.

Upstream: util/predicate_helper, util/scheduler_helper; nodeorder, binpack, predicates and plugins/usage.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isnan
from typing import NamedTuple

import numpy as np

from vcdebug.comparison.logs import message
from vcdebug.comparison.logs.message import LogCall, LogContext, LogState
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import BATCH_NODE_ORDER, NODE_ORDER, PREDICATE
from vcdebug.framework.record import PredicateEvent, ScoreEvent
from vcdebug.gomath import int_mod
from vcdebug.model.fit_errors import POD_NUMBER_EXCEEDED, SHORTAGE_PREFIX, FitStatus, fit_error_text
from vcdebug.model.names import IntArray, KeptScores, NodeName, Row, TaskKey
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.plugins import BINPACK, NODEORDER, PREDICATES, RESOURCE_STRATEGY_FIT, USAGE
from vcdebug.plugins.nodeorder import BALANCED, IMAGES, LEAST, TAINTS, WEIGHT_KEYS, weights_of
from vcdebug.plugins.usage import MeasuredUsage, Usage
from vcdebug.plugins.usage.load import MEASURED_PERIOD

BATCH_PARTS, CLAIMS = "nodeorder/batch/", "DynamicResources"
"""Prefix of scorers that score all nodes at once, and the one of them that belongs to predicates."""
ALWAYS_ASKED = (BALANCED, LEAST, TAINTS)
"""Scorers of nodeorder that are called even for an empty list of nodes."""


def start_helper(context: LogContext, cache_on: bool) -> Iterator[LogCall]:
    """Note a new search helper, whose error cache is empty; yields no line."""
    context.failed_rows = {} if cache_on else None
    yield from ()


def start_search(context: LogContext, row: Row) -> Iterator[LogCall]:
    """Note the node at which a search begins; yields no line."""
    context.search_start = row
    yield from ()


def lines_of_skips(context: LogContext, task: TaskKey, names: Sequence[str]) -> Iterator[LogCall]:
    """Lines about filters that PreFilter skips for a task; the filter of resource claims logs a line of its own."""
    for name in names:
        if name == CLAIMS and not context.task_of(task).pod.spec.get("resourceClaims"):
            yield "filter.claims", task
        yield "filter.skipped", name, task


def lines_of_search(context: LogContext, event: PredicateEvent) -> Iterator[LogCall]:
    """Lines about each node in visiting order; failures in the error cache are not printed again."""
    task, names, state = context.task_of(event.task), context.recording.node_names, context.current_state
    group = f"{task.job}/{task.task_role}"
    cached = context.failed_rows.setdefault(group, {}) if context.failed_rows is not None and task.task_role else {}
    codes = dict(zip(event.failed.tolist(), event.codes.tolist(), strict=True))
    plugins = _answering_plugins(context, PREDICATE.method)
    for row in _visited_rows(context, event):
        yield "search.node", event.task, names[row], task.resreq, partial(message.idle_of, state, names[row])
        statuses = context.recording.reason_table.statuses_of(codes[row]) if row in codes else ()
        if row not in cached:
            yield from _filter_lines(context, event.task, row, plugins, statuses)
        if statuses and row not in cached:
            yield "search.failed", partial(fit_error_text, event.task, names[row], statuses)
    cached.update(dict.fromkeys(codes))


def _filter_lines(
    context: LogContext, task: TaskKey, row: Row, plugins: Sequence[str], statuses: tuple[FitStatus, ...]
) -> Iterator[LogCall]:
    """Lines of filters about a node, up to the filter that rejects it; none if resources are insufficient."""
    node = context.recording.node_names[row]
    for plugin in _reached_plugins(plugins, statuses):
        if plugin == PREDICATES and any(status.reason == POD_NUMBER_EXCEEDED for status in statuses):
            max_pods = int(context.recording.session.nodes[node].allocatable.max_task_num)
            yield "filter.pods", task, node, max_pods, message.UNKNOWN_TEXT
        elif plugin == USAGE:
            yield from lines_of_filter(context, task, row)
        elif plugin == RESOURCE_STRATEGY_FIT and not any(status.plugin == plugin for status in statuses):
            yield "strategy.pass", task, node


def _reached_plugins(plugins: Sequence[str], statuses: tuple[FitStatus, ...]) -> Sequence[str]:
    """The plugins that were called for a node, inferred from the reasons of its rejection."""
    if not statuses:
        return plugins
    if statuses[0].reason.startswith(SHORTAGE_PREFIX):
        return ()
    refusing = statuses[-1].plugin if statuses[-1].plugin in plugins else PREDICATES
    return plugins[: plugins.index(refusing) + 1] if refusing in plugins else ()


def _visited_rows(context: LogContext, event: PredicateEvent) -> list[Row]:
    # Counted from the start of a search over all nodes: no event names the feasible node at which it stopped early.
    everything = len(context.recording.node_names)
    if event.considered == everything:
        return [int_mod(context.search_start + step, everything) for step in range(event.processed)]
    rows = sorted([*event.feasible.tolist(), *event.failed.tolist()])
    first = rows.index(context.search_start) if context.search_start in rows else 0
    return rows[first:] + rows[:first]


def lines_of_candidates(context: LogContext, name: str, index: int, rows: IntArray) -> Iterator[LogCall]:
    """Lines about one group of feasible nodes: those with idle room, or those with future room."""
    nodes = [context.recording.node_names[row] for row in rows.tolist()]
    if not nodes:
        yield "allocate.no-match", name, index
    for node in nodes:
        amounts = (partial(read, context.current_state, node) for read in (message.idle_of, message.future_idle_of))
        yield "allocate.node", node, *amounts


def no_victims(context: LogContext, node: NodeName, request: Resource, victims: list[TaskKey]) -> Iterator[LogCall]:
    """The line about a node whose victims do not free enough."""
    yield f"{context.action}.no-victims", node, request, partial(_future_with, context.state, node, victims)


def _future_with(log_state: LogState, node: NodeName, victims: list[TaskKey]) -> Resource:
    tasks = log_state.recording.timeline.tasks
    return log_state.state.nodes[node].future_without(tasks[victim] for victim in victims)


def hyper_node_scores(context: LogContext, sub_job: str, scores: dict[str, float]) -> Iterator[LogCall]:
    """Lines about the total scores of a sub job's HyperNodes."""
    yield "score.domains", sub_job, partial(message.format_json_object, scores)


def lines_of_scores(context: LogContext, event: ScoreEvent) -> Iterator[LogCall]:
    """Lines about each plugin's score of each node, each batch, and the totals."""
    names = [context.recording.node_names[row] for row in event.rows.tolist()]
    parts = dict(event.parts)
    yield from _node_by_node(context, event, names, {name: part.tolist() for name, part in parts.items()})
    for plugin in _answering_plugins(context, BATCH_NODE_ORDER.method):
        if plugin in (NODEORDER, PREDICATES):
            for part, scored in _batch_parts(context, plugin, parts):
                yield "score.batch-part", part, event.task, partial(_score_by_node, names, scored)
            yield f"score.{plugin}-batch", event.task, partial(_score_by_node, names, parts.get(f"{plugin}/batch"))
    yield "score.total", event.task, partial(_score_by_node, names, event.total)


def _node_by_node(
    context: LogContext, event: ScoreEvent, names: list[NodeName], parts: Mapping[str, list[float]]
) -> Iterator[LogCall]:
    """Lines about each plugin's score of each node; NaN marks a node that the plugin did not score."""
    plugins = [plugin for plugin in _answering_plugins(context, NODE_ORDER.method) if plugin in parts]
    scorers = _parts_of_nodeorder(context, parts) if NODEORDER in plugins else ()
    for index, node in enumerate(names):
        for plugin in plugins:
            score = parts[plugin][index]
            if plugin == USAGE:
                yield from lines_of_score(context, event.task, node, int(event.rows[index]), score)
            elif not isnan(score) and plugin == NODEORDER:
                yield from _part_lines(event.task, node, scorers, index)
                yield "score.nodeorder", event.task, node, score
            elif not isnan(score) and plugin == BINPACK:
                yield "score.binpack", event.task, node, score


def _batch_parts(
    context: LogContext, plugin: str, parts: Mapping[str, KeptScores]
) -> Iterator[tuple[str, KeptScores | None]]:
    """(scorer, scores) of a batch, ordered by name; without nodes, (scorer, None) for scorers that run anyway."""
    if not parts:
        weighted = (part for part in ALWAYS_ASKED if _scorer_weights(context)[WEIGHT_KEYS[part]])
        yield from ((part, None) for part in ([CLAIMS] if plugin == PREDICATES else weighted))
        return
    for name in sorted(parts):
        part = name.removeprefix(BATCH_PARTS)
        if name.startswith(BATCH_PARTS) and (part == CLAIMS) == (plugin == PREDICATES):
            yield part, parts[name]


def _answering_plugins(context: LogContext, method: str) -> list[str]:
    return [plugin_call.plugin for tier in context.recording.session.plugin_calls[method] for plugin_call in tier]


class _NodeScorer(NamedTuple):
    """A scorer of nodeorder that scores node by node."""

    name: str
    scores: list[float]
    weight: int
    images: str
    """Weight of the image scorer, which releases without normalisation print with each scorer."""


def _parts_of_nodeorder(context: LogContext, parts: Mapping[str, list[float]]) -> tuple[_NodeScorer, ...]:
    weights = _scorer_weights(context)
    pairs = ((path.removeprefix("nodeorder/"), scores) for path, scores in parts.items())
    images = str(weights[WEIGHT_KEYS[IMAGES]])
    return tuple(
        _NodeScorer(name, scores, weights[WEIGHT_KEYS[name]], images) for name, scores in pairs if name in WEIGHT_KEYS
    )


def _part_lines(task: TaskKey, node: NodeName, parts: tuple[_NodeScorer, ...], index: int) -> Iterator[LogCall]:
    for part in parts:
        score = part.scores[index]
        if not isnan(score):
            yield "score.scoring", part.name
            yield "score.part", node, task, part.name, part.weight, round(score / part.weight), score, part.images


def _scorer_weights(context: LogContext) -> dict[str, int]:
    return weights_of(Arguments(context.recording.conf.options_of(NODEORDER)[0].arguments))


def _score_by_node(names: list[NodeName], scores: KeptScores | None) -> dict[NodeName, float]:
    if scores is None:
        return {}
    return {name: float(score) for name, score in zip(names, scores, strict=True) if not np.isnan(score)}


# Lines of the plugin usage: its settings, its measurements, and why a node is rejected, passed or scored.

AnyUsage = Usage | MeasuredUsage


def plugin_of(context: LogContext) -> AnyUsage | None:
    """The plugin usage; None if it is not configured."""
    plugin = context.recording.session.plugins.get(Usage.name)
    return plugin if isinstance(plugin, AnyUsage) else None


def lines_of_settings(context: LogContext) -> Iterator[LogCall]:
    """Lines about the plugin's settings; none for its older form, MeasuredUsage."""
    plugin = plugin_of(context)
    if not isinstance(plugin, Usage):
        return
    settings = plugin.settings
    ratios = (settings.request_ratio, settings.burst_ratio, settings.risk_threshold, settings.risk_factor)
    yield "load.estimator", *ratios, settings.best_effort_cpu, settings.best_effort_memory
    yield "load.thresholds", settings.cpu_threshold, settings.memory_threshold


def lines_of_measurements(
    context: LogContext, cpu: Mapping[NodeName, float], memory: Mapping[NodeName, float]
) -> Iterator[LogCall]:
    """Lines about each node's measurements, with the estimated usage of pods that are not measured yet."""
    usage = context.recording.snapshot.usage
    for node in context.recording.node_names:
        entry = usage.get(node) or {}
        parts = (entry.get("cpu") or {}, entry.get("mem") or {})
        yield "load.measured", node, *parts, message.UNKNOWN_TEXT, cpu.get(node, 0.0), memory.get(node, 0.0)


def lines_of_filter(context: LogContext, task: TaskKey, row: Row) -> Iterator[LogCall]:
    """Lines about one node in the plugin's filter."""
    plugin, node = plugin_of(context), context.recording.node_names[row]
    if plugin is None:
        return
    if not plugin.measured.recent_mask[row]:
        yield "load.stale", task, node, message.UNKNOWN_TEXT
        return
    limits = plugin.load_thresholds
    yield "load.limits", *limits
    for key, percent, limit in zip(("cpu", "memory"), plugin.measured.measured_percents(row), limits, strict=True):
        if percent > limit:
            yield f"load.{key}", node, percent, limit
            return
    yield "load.pass", task, node


def lines_of_score(context: LogContext, task: TaskKey, node: NodeName, row: Row, score: float) -> Iterator[LogCall]:
    """Lines about one node in the plugin's scoring."""
    plugin = plugin_of(context)
    if plugin is None:
        return
    cpu, memory = plugin.measured.measured_percents(row)
    if isinstance(plugin, Usage):
        if plugin.measured.recent_mask[row]:
            capacity = context.recording.session.nodes[node].capability
            yield "load.score", node, cpu, memory, capacity.get(CPU), capacity.get(MEMORY), score
    elif not plugin.measured.recent_mask[row]:
        yield "load.unscored", task, node, message.UNKNOWN_TEXT
    else:
        yield from _as_measured(context, task, node, (cpu, memory), score)


def _as_measured(
    context: LogContext, task: TaskKey, node: NodeName, percents: tuple[float, float], score: float
) -> Iterator[LogCall]:
    """Lines about the measurements in order, up to the first missing one, then the score."""
    entry = context.recording.snapshot.usage.get(node) or {}
    for key, part, percent in zip(("cpu-usage", "memory-usage"), ("cpu", "mem"), percents, strict=True):
        yield f"load.{key}", node, percent
        if MEASURED_PERIOD not in (entry.get(part) or {}):
            return
    yield "load.task-score", node, context.task_of(task).name, score
