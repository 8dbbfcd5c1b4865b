"""Searches for feasible nodes: visiting order, early stop, the error cache, and the recorded events.

Upstream: util/predicate_helper, util/scheduler_helper, framework (PredicateFor...Action).
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from vcdebug.framework.hooks import PREDICATE
from vcdebug.framework.node_verdict_cache import ALLOCATE, PREEMPT, NodeQuestion
from vcdebug.framework.quirks import SEARCH_SAMPLED
from vcdebug.framework.record import HookEvent, PredicateEvent, SearchHelper, fast_tuple
from vcdebug.framework.reuse import HelperStep
from vcdebug.framework.session import Session
from vcdebug.gomath import int_div
from vcdebug.model.fit_errors import FitErrors
from vcdebug.model.names import BoolArray, Codes, IntArray
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo
from vcdebug.releases.scheduling import NO_SHARDS
from vcdebug.snapshot.snapshot import SchedulerFlags

NodeJudge = Callable[[Session, TaskInfo, NodeRows], Codes]
"""Function that returns a code per row: 0 where the node is feasible."""

NOT_IN_SHARD = "node isn't in scheduler node shard"
PARALLEL_WORKERS = 16
"""Number of workers that check nodes in parallel. Upstream: util/predicate_helper.PredicateNodes."""
MIN_CHUNK_ROWS = 1024
"""Minimum rows per check: for fewer rows the cost is in the number of array operations, not in the rows."""
_count_codes = np.count_nonzero


def num_feasible_nodes_to_find(flags: SchedulerFlags, nodes: int) -> int:
    """How many feasible nodes end such a search. Upstream: util/scheduler_helper.CalculateNumOfFeasibleNodesToFind."""
    if nodes <= flags.minimum_feasible_nodes or flags.percentage_nodes_to_find >= 100:
        return nodes
    percentage = flags.percentage_nodes_to_find
    if percentage <= 0:
        percentage = max(50 - int_div(nodes, 125), flags.minimum_percentage_nodes_to_find)
    return max(int_div(nodes * percentage, 100), flags.minimum_feasible_nodes)


def ask_predicates(ssn: Session, task: TaskInfo, nodes: NodeRows) -> Codes:
    """PredicateFn for every row: the code of the first plugin that rejects it, or 0. Later plugins are not asked.
    Upstream: framework/session_plugins.PredicateFn.
    """
    cache = ssn.verdict_cache if len(nodes.rows) > 1 else None
    cached_codes = None if cache is None else cache.plugin_codes(task)
    if cached_codes is not None:
        node_codes: Codes = cached_codes[nodes.rows]
        return node_codes
    codes: Codes | None = None
    for tier in ssn.plugin_calls[PREDICATE.method]:
        for plugin_call in tier:
            if codes is None:
                codes = plugin_call.call(task, nodes)
                continue
            alive = np.flatnonzero(codes == 0)
            if not len(alive):
                return codes
            # A plugin may return an array that it keeps for other tasks; such arrays are read-only.
            if not codes.flags.writeable:
                codes = codes.copy()
            codes[alive] = plugin_call.call(task, NodeRows(nodes.table, nodes.rows[alive]))
    return np.zeros(len(nodes), dtype=np.uint16) if codes is None else codes


def _drop_passing_codes(ssn: Session, codes: Codes, action: int) -> Codes:
    """Set to 0 the codes that the action's wrapper lets pass."""
    if not _count_codes(codes):
        return codes
    result: Codes = codes * ssn.reasons.blocking_masks()[action][codes]
    return result


def predicate_for_allocate_action(ssn: Session, task: TaskInfo, nodes: NodeRows) -> Codes:
    """Any status but Success rejects the node. Upstream: framework/session.PredicateForAllocateAction."""
    return _drop_passing_codes(ssn, ask_predicates(ssn, task, nodes), ALLOCATE)


def predicate_for_preempt_action(ssn: Session, task: TaskInfo, nodes: NodeRows) -> Codes:
    """As above, but Unschedulable alone passes. Upstream: framework/session.PredicateForPreemptAction."""
    return _drop_passing_codes(ssn, ask_predicates(ssn, task, nodes), PREEMPT)


def shortage_codes(ssn: Session, task: TaskInfo, nodes: NodeRows) -> Codes:
    """Per node, the code `Insufficient <name>` of the first dimension of InitResreq that FutureIdle lacks, else 0."""
    table, request = nodes.table, task.init_resreq
    dimensions = table.lacking_dimensions(request, "future")[nodes.rows]
    codes: Codes = ssn.reasons.shortage_codes(tuple([name for name, _ in table.request_amounts(request)]))[dimensions]
    return codes


def _judge_with_room(action: int, ssn: Session, task: TaskInfo, nodes: NodeRows) -> Codes:
    """Test resources first, then ask the plugins only about the nodes with room."""
    codes = shortage_codes(ssn, task, nodes)
    shortages = _count_codes(codes)
    if not shortages:
        return _drop_passing_codes(ssn, ask_predicates(ssn, task, nodes), action)
    if shortages < len(codes):
        has_room = codes == 0
        codes[has_room] = _drop_passing_codes(ssn, ask_predicates(ssn, task, nodes.select_where(has_room)), action)
    return codes


allocate_judge: NodeJudge = partial(_judge_with_room, ALLOCATE)
gang_judge: NodeJudge = partial(_judge_with_room, PREEMPT)
QUESTION_OF_JUDGE: dict[NodeJudge, NodeQuestion] = {
    predicate_for_allocate_action: NodeQuestion(ALLOCATE, needs_room=False),
    predicate_for_preempt_action: NodeQuestion(PREEMPT, needs_room=False),
    allocate_judge: NodeQuestion(ALLOCATE, needs_room=True),
    gang_judge: NodeQuestion(PREEMPT, needs_room=True),
}
"""Function that checks nodes → its question to NodeVerdictCache."""


class PredicateHelper:
    """Node searches that share one error cache. Upstream: util/predicate_helper.NewPredicateHelper."""

    __slots__ = ("_cache", "_cache_on", "_remembers_rows", "_flags", "_sampled", "_ssn", "_feasible_counts")

    def __init__(self, ssn: Session, *, cache_on: bool) -> None:
        self._ssn = ssn
        self._flags = ssn.flags
        self._feasible_counts: dict[int, int] = {}
        """Number of nodes → number of feasible nodes that ends a search."""
        self._cache_on = cache_on
        self._sampled = False
        self._remembers_rows = ssn.remembers_rows
        self._cache: dict[str, Codes] = {}
        ssn.log("search.helper", cache_on)
        ssn.record.search_helpers.append(SearchHelper(len(ssn.record.events), cache_on))
        if ssn.previous_cycle is not None:
            ssn.previous_cycle.repeat_step(HelperStep(cache_on))

    def predicate_nodes(self, task: TaskInfo, nodes: NodeRows, judge: NodeJudge) -> tuple[NodeRows, FitErrors]:
        """(feasible nodes as visited, errors of other visited ones). Upstream: util/predicate_helper.PredicateNodes."""
        ssn = self._ssn
        ssn.seeking = task
        errors = FitErrors(ssn.reasons)
        if not len(nodes):
            return nodes, errors
        group = f"{task.job}/{task.task_role}"
        sampled_rows = ssn.samples.next_search_rows(task.key, nodes)
        size = len(nodes.rows)
        start = ssn.node_search_start % size  # exact: ints
        ssn.log("search.start", nodes.rows.item(start))
        event = None if ssn.previous_cycle is None else ssn.previous_cycle.find_search(task, nodes)
        if event is None and sampled_rows is not None:
            event = self._search_as_sampled(task, nodes, sampled_rows, judge, group)
        if event is None:
            event = self._search_from(task, nodes, start, judge, group)
            event = self._search_around_choice(task, nodes, event, judge, group)
        failed, failed_codes = event.failed, event.codes
        ssn.node_search_start = (ssn.node_search_start + event.processed) % size  # exact: ints
        if len(failed):
            if self._cache_on and task.task_role:
                self._error_cache_entry(group)[failed] = failed_codes
            errors.set_nodes(failed, failed_codes)
        ssn.record.append(event)
        if event.processed < size:
            self._note_sample(event.processed, size, start)
        return NodeRows(nodes.table, event.feasible), errors

    def _search_from(self, task: TaskInfo, nodes: NodeRows, start: int, judge: NodeJudge, group: str) -> PredicateEvent:
        codes = self._cached_codes(task, nodes, judge, group)
        if codes is not None:
            return self._search_cached(task, nodes, start, codes)
        order = np.concatenate((nodes.rows[start:], nodes.rows[:start])) if start else nodes.rows
        feasible, codes = self._search_nodes(task, order, self._nodes_to_find(len(order)), judge, group)
        failing, size = codes.nonzero()[0], len(codes)
        if not len(failing) and start + len(feasible) <= len(order):
            # A view of the rows, so that a recording keeps no copy per search.
            feasible = nodes.rows[start : start + len(feasible)]
        return fast_tuple(PredicateEvent, (task.key, len(order), size, feasible, order[failing], codes[failing]))

    def _cached_codes(self, task: TaskInfo, nodes: NodeRows, judge: NodeJudge, group: str) -> Codes | None:
        """The codes of these nodes from NodeVerdictCache; None if the plugins must be asked."""
        cache, question = self._ssn.verdict_cache, QUESTION_OF_JUDGE.get(judge)
        if cache is None or question is None or self._ssn.sharding == "hard":
            return None
        codes = cache.search_codes(task, question)
        if codes is None:
            return None
        cached_errors = self._cached_errors(task, group)
        if cached_errors is not None:
            codes = np.where(cached_errors, cached_errors, codes)
        return codes if nodes.rows is nodes.table.row_numbers else codes[nodes.rows]

    def _search_cached(self, task: TaskInfo, nodes: NodeRows, start: int, codes: Codes) -> PredicateEvent:
        """As _search_from, for known codes of all nodes."""
        size, want = len(codes), self._nodes_to_find(len(codes))
        around = np.concatenate((codes[start:], codes[:start])) if start else codes
        passed = (around == 0).nonzero()[0]
        if len(passed) > want:
            around, passed = around[: passed.item(want) + 1], passed[:want]
        failing = around.nonzero()[0]
        if not len(failing) and start + len(passed) <= size:
            # A view of the rows, as in _search_from.
            feasible = nodes.rows[start : start + len(passed)]
        else:
            feasible = nodes.rows.take(passed + start, mode="wrap")
        failed = nodes.rows.take(failing + start, mode="wrap")
        return fast_tuple(PredicateEvent, (task.key, size, len(around), feasible, failed, around[failing]))

    def _nodes_to_find(self, nodes: int) -> int:
        count = self._feasible_counts.get(nodes)
        if count is None:
            count = self._feasible_counts[nodes] = num_feasible_nodes_to_find(self._flags, nodes)
        return count

    def _search_as_sampled(
        self, task: TaskInfo, nodes: NodeRows, visited: IntArray, judge: NodeJudge, group: str
    ) -> PredicateEvent | None:
        """A search that visits exactly the nodes that a real scheduler visited; None if the real scheduler cannot have.

        Upstream's workers stop one node after the search has enough, so that each may have found one more. Which nodes
        are dropped then is not known, but the node that was chosen is kept.
        """
        want = self._nodes_to_find(len(nodes))
        codes = self._check_nodes(task, visited, judge, self._cached_errors(task, group))
        fitting = visited[codes == 0]
        if not want < len(fitting) <= want + PARALLEL_WORKERS:
            return None
        first = fitting == self._chosen_row(task)
        feasible = np.concatenate((fitting[first], fitting[~first]))[:want]
        failing = codes.nonzero()[0]
        return PredicateEvent(task.key, len(nodes), len(visited), feasible, visited[failing], codes[failing])

    def _search_around_choice(
        self, task: TaskInfo, nodes: NodeRows, event: PredicateEvent, judge: NodeJudge, group: str
    ) -> PredicateEvent:
        """If the search missed the node that a real scheduler chose, a search from that node on, if that finds it."""
        if event.processed == len(nodes) or self._remembers_rows:
            return event
        chosen_row = self._chosen_row(task)
        if chosen_row < 0 or chosen_row in event.feasible:
            return event
        positions = np.flatnonzero(nodes.rows == chosen_row)
        if not len(positions):
            return event
        other = self._search_from(task, nodes, positions.item(0), judge, group)
        return other if chosen_row in other.feasible else event

    def _chosen_row(self, task: TaskInfo) -> int:
        """The row of the node that a real scheduler chose for the task; -1 if unknown."""
        return self._ssn.node_table.row_of.get(self._ssn.draws.known_choice(task.key), -1)

    def _note_sample(self, visited: int, nodes: int, start: int) -> None:
        """Add a note at the helper's first sampled search only: most later ones are sampled too."""
        if not self._sampled:
            self._sampled = True
            text = "search stopped after {} of {} nodes (started at node {})"
            self._ssn.note_quirk(SEARCH_SAMPLED, text, visited, nodes, start, at_last=True)

    def _search_nodes(
        self, task: TaskInfo, order: IntArray, want: int, judge: NodeJudge, group: str
    ) -> tuple[IntArray, Codes]:
        """(rows of the first `want` feasible nodes, codes of the visited rows); one feasible node more ends it."""
        cached_errors = self._cached_errors(task, group)
        parts: list[Codes] = []
        feasible_count = begin = 0
        while begin < len(order):
            # A plugin that remembers rows must not be asked about nodes that upstream does not visit.
            chunk = want - feasible_count + 1 if self._remembers_rows else max(MIN_CHUNK_ROWS, 2 * want)
            codes = self._check_nodes(task, order[begin : begin + chunk], judge, cached_errors)
            begin += chunk
            passed = (codes == 0).nonzero()[0]
            if feasible_count + len(passed) > want:
                parts.append(codes[: int(passed[want - feasible_count]) + 1])
                break
            feasible_count += len(passed)
            parts.append(codes)
        if len(parts) == 1:
            return order[passed[:want]], parts[0]
        codes = np.concatenate(parts)
        return order[: len(codes)][codes == 0][:want], codes

    def _check_nodes(self, task: TaskInfo, rows: IntArray, judge: NodeJudge, cached_errors: Codes | None) -> Codes:
        """Upstream: util/predicate_helper.checkNode."""
        ssn = self._ssn
        # No try/finally around `silent`: run_session resets it after a panic, and this runs for every search.
        if cached_errors is None and self._ssn.sharding != "hard":
            ssn.record.running_call_count += 1
            answer = judge(ssn, task, NodeRows(ssn.node_table, rows))
            ssn.record.running_call_count -= 1
            return answer
        codes: Codes = np.zeros(len(rows), dtype=np.uint16) if cached_errors is None else cached_errors[rows]
        unknown = codes == 0
        if self._ssn.sharding == "hard":
            outside = unknown & ~np.isin(rows, ssn.shard_rows())
            codes[outside] = ssn.reasons.error_code(NOT_IN_SHARD)
            unknown &= ~outside
        ssn.record.running_call_count += 1
        codes[unknown] = judge(ssn, task, NodeRows(ssn.node_table, rows[unknown]))
        ssn.record.running_call_count -= 1
        return codes

    def _cached_errors(self, task: TaskInfo, group: str) -> Codes | None:
        return self._cache.get(group) if self._cache_on and task.task_role else None

    def _error_cache_entry(self, group: str) -> Codes:
        cached = self._cache.get(group)
        if cached is None:
            cached = self._cache[group] = np.zeros(len(self._ssn.node_table), dtype=np.uint16)
        return cached


def predicate_node(ssn: Session, task: TaskInfo, node: NodeInfo) -> int:
    """PredicateFn for one node outside a search, recorded per plugin; returns the first rejecting code, or 0."""
    ssn.seeking = task
    row = ssn.node_table.single_row(node.row)
    record, subject = ssn.record, task.pod.subject + node.subject
    for tier in ssn.plugin_calls[PREDICATE.method]:
        for plugin_call in tier:
            record.running_call_count += 1
            code: int = plugin_call.call(task, row).item(0)
            record.running_call_count -= 1
            result = ssn.status_documents_of(code) if code else None
            record.append(fast_tuple(HookEvent, (PREDICATE.upstream, plugin_call.plugin, subject, result)))
            if code:
                return code
    return 0


def filter_out_unresolvable(ssn: Session, task: TaskInfo) -> NodeRows:
    """All nodes except those that an earlier action found UnschedulableAndUnresolvable for this task.
    Upstream: framework/session.FilterOutUnschedulableAndUnresolvableNodesForTask.
    """
    job = ssn.jobs.get(task.job)
    errors = job.nodes_fit_errors.get(task.uid) if job is not None else None
    rows = ssn.all_rows()
    unresolvable = errors.unresolvable_rows() if errors is not None else []
    if not unresolvable:
        return rows
    mask: BoolArray = np.ones(len(rows), dtype=np.bool_)
    mask[unresolvable] = False
    return rows.select_where(mask)


def shard_groups(ssn: Session, nodes: NodeRows) -> tuple[NodeRows, ...]:
    """(nodes of the shard, other nodes): the second is empty unless sharding is soft. One group if there are no shards.
    Upstream: util/predicate_helper.GetPredicatedNodeByShard.
    """
    if ssn.release.has_older_form(NO_SHARDS):
        return (nodes,)
    if ssn.sharding != "soft":
        return nodes, nodes.table.no_rows
    inside = np.isin(nodes.rows, ssn.shard_rows())
    return nodes.select_where(inside), nodes.select_where(~inside)
