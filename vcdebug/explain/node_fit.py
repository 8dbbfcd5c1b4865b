"""Which nodes fit a task: what each node lacks, what evictions could free, and what no eviction can change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Final, Literal, NamedTuple

import numpy as np
from msgspec import Struct

from vcdebug.errors import PANICS
from vcdebug.explain.job_view import JobView
from vcdebug.explain.predicate_reasons import iter_refusals, reasons_text
from vcdebug.explain.victim_candidates import JudgedNode, SkippedVictim, judge_node, skipped_victim, victim_filter_of
from vcdebug.framework import action as action_module
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.placement import ask_predicates
from vcdebug.framework.record import PredicateEvent
from vcdebug.framework.session import Session
from vcdebug.grouping import Histogram, histogram
from vcdebug.kube.node_view import CycleState
from vcdebug.model.fit_errors import ERROR, POD_NUMBER_EXCEEDED, SHORTAGE_PREFIX, FitStatus, blocks_preemption
from vcdebug.model.names import FloatArray, NodeName, Seq, TaskKey
from vcdebug.model.node import NodeAmounts, NodeInfo
from vcdebug.model.resource import MIN_RESOURCE, PODS, Resource
from vcdebug.model.task import ENDED_STATUSES, TaskInfo
from vcdebug.recording.event_index import NODE, TASK
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.timeline import TaskState

MAX_KNOWN_NODES = 20_000


@per_recording(most=8)
def _judged_nodes(recording: Recording, seq: Seq) -> dict[tuple[str, tuple[str, bool, str], NodeName], JudgedNode]:
    """A cache of verdicts on nodes after an event: (action, kind of preemptor, node) → verdict."""
    return {}


class NodeFits:
    """The fit of one task on every node, in the state before event `seq`."""

    without: Collection[TaskKey] = ()
    """Tasks that count on no node, such as those that leave."""

    def __init__(self, view: JobView, task: TaskInfo, seq: Seq, within: Collection[NodeName] | None = None) -> None:
        self.view = view
        self._within = within
        """The only nodes that count, such as those of a HyperNode; None for all."""
        self.task = task
        self.seq = seq
        self.state = view.recording.timeline.state_at(seq)
        self.earliest_seq = view.recording.timeline.earliest_same_seq(seq)
        """The first event with this state: the key of caches, so that neighbouring events share their entries."""
        self._filters: dict[str, action_module.CandidateFilter] = {}
        event = view.recording.event_at(seq)
        self.search = event if isinstance(event, PredicateEvent) and event.task == task.key else None
        """The recorded search at `seq`; None if the event is no search for this task."""

    def for_task(self, task: TaskInfo) -> NodeFits:
        """The fit of another task of the job in the same state."""
        return self if task is self.task else NodeFits(self.view, task, self.seq)

    @property
    def node_fits(self) -> Sequence[NodeFit]:
        """Every node by name."""
        return self._table.nodes

    @cached_property
    def _table(self) -> FitTable:
        objections = {**ask_predicates_now(self.view.recording, self.task)[0]}
        # A predicate called now sees the end of the cycle; the recorded reasons of the search are exact and replace it.
        objections.update(self._recorded_objections())
        table = fits_by_amounts(self.view.recording, self.earliest_seq, tuple(self.task.init_resreq.items()))
        if self._within is not None:
            table = FitTable([node for node in table.nodes if node.name in self._within], table.request)
        if not objections:
            return table
        verdicts = {refusal: objections_kind(refusal) for refusal in dict.fromkeys(objections.values())}
        refusals = ((fit, objections.get(fit.name)) for fit in table.nodes)
        nodes = [self._with_refusal(fit, refusal, verdicts[refusal]) if refusal else fit for fit, refusal in refusals]
        return FitTable(nodes, table.request)

    def _recorded_objections(self) -> Iterator[tuple[NodeName, tuple[FitStatus, ...]]]:
        """(node, reasons) of the recorded search, for nodes that passed the resource check."""
        if self.search is None:
            return
        yield from ((self.view.recording.node_names[row], ()) for row in self.search.feasible.tolist())
        for name, statuses in iter_refusals(self.view.recording, self.search):
            if not all(status.reason.startswith(SHORTAGE_PREFIX) for status in statuses):
                yield name, statuses

    def _with_refusal(self, node: NodeFit, statuses: tuple[FitStatus, ...], kind: FitKind) -> NodeFit:
        """The fit with the predicates' reasons and the kind of misfit that follows from them."""
        kind = kind if kind == "unresolvable" or node.kind == "free" else node.kind
        node_info = self.view.session.nodes[node.name]
        if kind == "refused" and (card_shortage(node_info, self.task) or npu_parts_request(node_info, self.task)):
            kind = "unresolvable"
        return NodeFit(node.name, kind, statuses, node.future_idle, node.allocatable, node.short)

    def of_kind(self, *kinds: FitKind) -> Sequence[NodeFit]:
        """Nodes that fail in one of these ways."""
        return self._table.of_kind(kinds)

    @cached_property
    def _distinct_objections(self) -> dict[tuple[FitStatus, ...], None]:
        """The distinct tuples of reasons over all nodes."""
        # Thousands of nodes share a few tuples of reasons: texts are searched once per tuple, not once per node.
        return dict.fromkeys(node.statuses for node in self.node_fits)

    def refused_for(self, reason: str) -> list[NodeFit]:
        """Nodes that predicates refuse with a reason that contains this text."""
        distinct = self._distinct_objections
        matching = {refusal for refusal in distinct if any(reason in status.reason for status in refusal)}
        return [node for node in self.node_fits if node.statuses in matching] if matching else []

    @property
    def free_nodes(self) -> Sequence[NodeFit]:
        """Nodes that fit the task now."""
        return self.of_kind("free")

    @property
    def waiting_nodes(self) -> Sequence[NodeFit]:
        """Nodes that would fit the task if some of their pods were evicted or finished."""
        return self.of_kind("pods", "short", "refused")

    @property
    def nearest_node(self) -> NodeFit | None:
        """The suitable node that lacks least."""
        return self._table.nearest_node

    @property
    def reason_histogram(self) -> Histogram[NodeName]:
        """Reason and its nodes, most frequent first, but nodes without the resource at all last."""
        return self._table.reason_histogram

    def tasks_on(self, node: NodeName) -> Sequence[TaskInfo]:
        """Tasks on a node in this state."""
        tasks = tasks_by_node(self.view.recording, self.earliest_seq).get(node, ())
        return [task for task in tasks if task.key not in self.without] if self.without else tasks

    def judge_node(self, action: str, node: NodeName) -> JudgedNode:
        """The verdict of the action's own filter on every pod of the node."""
        recording = self.view.recording
        key, cache = (action, self._asker_kind, node), _judged_nodes(recording, self.earliest_seq)
        # Cached, since each of a thousand similar Pending jobs would check every pod of the cluster.
        if key not in cache:
            if len(cache) >= MAX_KNOWN_NODES:
                cache.clear()
            victim_filter, amounts = self._victim_filter(action), self.state.nodes[node]
            cache[key] = judge_node(recording, victim_filter, self.tasks_on(node), amounts)
        return cache[key]

    @cached_property
    def _asker_kind(self) -> tuple[str, bool, str]:
        """What victim filters read of the preemptor: (queue, best-effort, job if it has pods on nodes, else empty)."""
        job, opening = self.view.job, self.view.recording.timeline.opening_tasks
        placed = any(task.node_name or (task.key in opening and opening[task.key].node) for task in job.tasks.values())
        return job.queue, self.task.best_effort, job.uid if placed else ""

    def _victim_filter(self, action: str) -> action_module.CandidateFilter:
        if action not in self._filters:
            self._filters[action] = victim_filter_of(self.view.recording, action, self.task)
        return self._filters[action]

    def skipped_victim(self, action: str, victim: TaskInfo) -> SkippedVictim | None:
        """Why the own filter of an evicting action skips a task; None for a candidate."""
        return skipped_victim(self.view.recording, self._victim_filter(action), victim)

    def freeable_nodes(self, action: str) -> list[NodeFit]:
        """Nodes on which evicting all candidates of the action's own filter would make room for the task."""
        return [
            node
            for node in self.waiting_nodes
            if (judged := self.judge_node(action, node.name)).candidates
            and self.task.init_resreq.less_equal(judged.future_idle)
        ]


# A task is examined at several events in a row, and the predicates answer the same at each of them.
@per_recording(most=8)
def ask_predicates_now(
    recording: Recording, task: TaskInfo
) -> tuple[Mapping[NodeName, tuple[FitStatus, ...]], CycleState]:
    """(node → reasons why the predicates refuse the task, resources aside; its CycleState); no event is recorded.

    No reasons if the call, which the cycle itself never made, would panic, or if no plugin was ever open.
    """
    session = recording.session
    if not session.plugin_calls:
        return {}, CycleState()
    with _separate_cycle_state(session, task) as state:
        try:
            error = session.ask_plugins(PRE_PREDICATE, task)
            if error is not None:
                statuses = error.statuses or (FitStatus(ERROR, error.text),)
                return dict.fromkeys(session.nodes, statuses), state
            codes = ask_predicates(session, task, session.all_rows())
        except PANICS:
            return {}, state
    names, statuses_of = session.node_table.names, session.reasons.statuses_of
    return {names[row]: statuses_of(codes.item(row)) for row in np.flatnonzero(codes).tolist()}, state


@contextmanager
def _separate_cycle_state(session: Session, task: TaskInfo) -> Iterator[CycleState]:
    """A CycleState for calls outside the cycle: they record no events and leave the state of the task as it was."""
    recorded_state = session.cycle_states.get(task.uid)
    state = CycleState() if recorded_state is None else recorded_state.clone()
    if recorded_state is not None:
        state.skip = dict(recorded_state.skip)  # clones share the skip set
    session.cycle_states[task.uid] = state
    try:
        with session.record.silence_recording():
            yield state
    finally:
        del session.cycle_states[task.uid]
        if recorded_state is not None:
            session.cycle_states[task.uid] = recorded_state


class CardShortage(NamedTuple):
    """The cards that a node has, and how many different cards the task requests."""

    available: int
    requested: int
    user_names: str
    """The pods that use this resource on the cards, in words."""


def card_shortage(node: NodeInfo, task: TaskInfo) -> CardShortage | None:
    """The shortage of a node that has fewer cards than the task requests, even if all were free; else None."""
    if not node.devices:
        return None
    # Imported here, so that clusters without devices do not load the device ledgers.
    from vcdebug.model.devices.hami_ascend import HamiAscendLedger
    from vcdebug.model.devices.vgpu import VgpuLedger
    from vcdebug.model.devices.vgpu_annotations import requests_of

    ledgers, shortages = node.devices.values(), list[CardShortage]()
    for npus in (ledger for ledger in ledgers if isinstance(ledger, HamiAscendLedger)):
        requests = npus.resource_reqs(task.pod, next(iter(npus.cards.values())))
        requested = sum(max(request.number, 1) for request in requests)
        shortages.append(CardShortage(len(npus.cards), requested, "A pod takes each of its NPUs"))
    gpus = [ledger for ledger in ledgers if isinstance(ledger, VgpuLedger)]
    if gpus and not shortages:
        requested = max((request.number for request in requests_of(task.pod, gpus[0].rules.names)), default=0)
        cards = max(len(ledger.cards) for ledger in gpus)
        shortages.append(CardShortage(cards, requested, "A container takes each of its virtual GPUs"))
    largest = max(shortages, key=lambda shortage: shortage.requested - shortage.available, default=None)
    return largest if largest is not None and largest.requested > largest.available else None


def npu_parts_request(node: NodeInfo, task: TaskInfo) -> tuple[int, int] | None:
    """(number, memory of each) if a container asks for parts of several NPUs, which no node provides; else None."""
    if not node.devices:
        return None
    from vcdebug.model.devices.hami_ascend import HamiAscendLedger

    npus = [ledger for ledger in node.devices.values() if isinstance(ledger, HamiAscendLedger)]
    for ledger in (one for one in npus if one.has_device_request(task.pod)):
        for request in ledger.resource_reqs(task.pod, next(iter(ledger.cards.values()))):
            if ledger.asks_for_parts(task.pod, request):
                return request.number, request.memory
    return None


FitKind = Literal["free", "unresolvable", "too small", "pods", "short", "refused"]
"""What keeps the task off a node: nothing, something that no eviction changes, its size, a place for one more pod,
other resources, or a rule about the pods that are there."""
RequestItems = tuple[tuple[str, float], ...]
"""A task's request, as Resource.items returns it."""
MissingItems = tuple[tuple[str, float], ...]
"""Dimensions without enough room, and the missing amounts."""


class NodeFit(NamedTuple):
    """The fit of one task on one node."""

    name: NodeName
    kind: FitKind
    statuses: tuple[FitStatus, ...]
    """The reasons for which the predicates refuse the node."""
    future_idle: Resource
    """The node's future idle: idle + releasing - pipelined."""
    allocatable: Resource
    short: MissingItems

    @property
    def reason(self) -> str:
        """Why the node does not fit, in the scheduler's words; `room` if it does."""
        objections = reasons_text(self.statuses)
        if self.kind in ("unresolvable", "refused") and objections:
            return objections
        unprovided = [name for name, _ in self.short if self.allocatable.get(name) <= 0]
        if unprovided:
            return f"{WITHOUT}{' and '.join(unprovided)}"
        if self.kind == "too small":
            return f"too small ({', '.join(name for name, _ in self.short)})"
        if self.short:
            return f"Insufficient {' and '.join(name for name, _ in self.short)}"
        return objections or "room"


WITHOUT: Final = "without "


class FitTable:
    """The fit of one request on every node; shared by tasks that no predicate refuses."""

    def __init__(self, nodes: Sequence[NodeFit], request: RequestItems) -> None:
        self.nodes = nodes
        self.request = request
        self._by_kinds: dict[tuple[FitKind, ...], Sequence[NodeFit]] = {}

    def of_kind(self, kinds: tuple[FitKind, ...]) -> Sequence[NodeFit]:
        """Nodes that fail in one of these ways."""
        if kinds not in self._by_kinds:
            self._by_kinds[kinds] = [node for node in self.nodes if node.kind in kinds]
        return self._by_kinds[kinds]

    @cached_property
    def nearest_node(self) -> NodeFit | None:
        """The suitable node that lacks least, relative to the request, since cores and bytes have no common unit."""
        suitable, request = self.of_kind(("short", "pods")) or self.of_kind(("too small",)), dict(self.request)
        lacks = [
            # 1.0 only keeps the division defined.
            (len(node.short), max(missing / max(request.get(name, 0.0), 1.0) for name, missing in node.short), node)
            for node in suitable
            if node.short
        ]
        return min(lacks, key=lambda lack: (*lack[:2], lack[2].name), default=(0, 0.0, None))[2]

    @cached_property
    def reason_histogram(self) -> Histogram[NodeName]:
        """Reason and its nodes, most frequent first."""
        reasons = histogram((node.name, node.reason) for node in self.nodes if node.kind != "free")
        # Most nodes of a cluster may have no GPU: why the others do not fit is what a reader looks for.
        return sorted(reasons, key=lambda one: one[0].startswith(WITHOUT))


class NodeIdle(Struct, frozen=True):
    """A node's future idle and allocatable amounts."""

    future_idle: Resource
    allocatable: Resource


@per_recording(most=8)
def room_by_node(recording: Recording, seq: Seq) -> Mapping[NodeName, NodeIdle]:
    """Each node's future idle and allocatable amounts after an event."""
    # Only changed nodes are computed again: most of thousands of nodes are as they were at the opening.
    changed = recording.timeline.changed_up_to(NODE, seq).items()
    return {
        **_rooms_at_opening(recording),
        **{name: _room_after_change(recording, name, position) for name, position in changed},
    }


@per_recording()
def _rooms_at_opening(recording: Recording) -> Mapping[NodeName, NodeIdle]:
    amounts = recording.timeline.opening_nodes
    return {
        name: NodeIdle(amounts[name].future_idle(), node.allocatable) for name, node in recording.session.nodes.items()
    }


@per_recording(most=10_000)
def _room_after_change(recording: Recording, name: NodeName, position: int) -> NodeIdle:
    amounts: NodeAmounts = recording.timeline.value_written_at(position, NODE, name)
    return NodeIdle(amounts.future_idle(), recording.session.nodes[name].allocatable)


@per_recording(most=32)
def fits_by_amounts(recording: Recording, seq: Seq, request: RequestItems) -> FitTable:
    """The fit of a request on every node by amounts alone, without predicates."""
    requested = tuple((name, amount) for name, amount in request if amount > 0)
    rooms = room_by_node(recording, seq)
    size_lacks = _lacks_by_node(requested, [_allocatable_column(recording, name) for name, _ in requested], len(rooms))
    idle_lacks = _lacks_by_node(requested, [_future_column(recording, seq, name) for name, _ in requested], len(rooms))
    nodes = [
        NodeFit(name, _fit_kind(small, short), (), room.future_idle, room.allocatable, small or short)
        for (name, room), small, short in zip(rooms.items(), size_lacks, idle_lacks, strict=True)
    ]
    return FitTable(nodes, request)


def _lacks_by_node(requested: RequestItems, columns: Sequence[FloatArray], nodes: int) -> list[MissingItems]:
    """Per node the missing amounts of a request; `columns` has one array per dimension, compared like at_most."""
    lacks: list[MissingItems] = [()] * nodes
    for (name, amount), column in zip(requested, columns, strict=True):
        missing = (amount - column).tolist()
        # Fits if l < r or |l - r| < 0.1, like LessEqual; a plain `>=` would refuse amounts within upstream's tolerance.
        for row in np.flatnonzero(~(column - amount > -MIN_RESOURCE)).tolist():
            lacks[row] += ((name, missing[row]),)
    return lacks


@per_recording(most=64)
def _allocatable_column(recording: Recording, name: str) -> FloatArray:
    return np.array([node.allocatable.get(name) for node in recording.session.nodes.values()], dtype=np.float64)


@per_recording(most=64)
def _future_column(recording: Recording, seq: Seq, name: str) -> FloatArray:
    return np.array([room.future_idle.get(name) for room in room_by_node(recording, seq).values()], dtype=np.float64)


@per_recording(most=8)
def tasks_by_node(recording: Recording, seq: Seq) -> Mapping[NodeName, Sequence[TaskInfo]]:
    """Tasks with the status and node that they have after an event, by that node; a pod that has ended uses none."""
    timeline = recording.timeline
    opening, changed = timeline.opening_tasks, timeline.changed_up_to(TASK, seq)
    by_node: dict[NodeName, list[TaskInfo]] = {}
    for key, task in timeline.tasks.items():
        position = changed.get(key)
        state = opening[key] if position is None else TaskState(*timeline.value_written_at(position, TASK, key))
        if state.node and state.status not in ENDED_STATUSES:
            is_current = state == (task.status, task.node_name)
            if not is_current:
                # A copy: the session's tasks have their final status, and all other findings share them.
                task = task.clone()
                task.status, task.node_name = state
            by_node.setdefault(state.node, []).append(task)
    return by_node


def _fit_kind(small: MissingItems, short: MissingItems) -> FitKind:
    if small:
        return "too small"
    if short:
        return "pods" if len(short) == 1 and short[0][0] == PODS else "short"
    return "free"


def objections_kind(statuses: tuple[FitStatus, ...]) -> FitKind:
    """The kind of misfit that follows from the predicates' reasons alone."""
    if any(blocks_preemption(status) for status in statuses):
        return "unresolvable"
    if not statuses:
        return "free"
    return "pods" if any(status.reason == POD_NUMBER_EXCEEDED for status in statuses) else "refused"
