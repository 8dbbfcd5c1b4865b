"""Which nodes fit a task: what each node lacks, what evictions could free, and what no eviction can change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vcdebug.errors import PANICS
from vcdebug.explain.fit_table import FitKind, FitRows, FitTable, NodeFit, fit_table, future_column, is_short
from vcdebug.explain.job_view import JobView
from vcdebug.explain.victim_candidates import (
    JudgedNode,
    NodesWithoutVictims,
    PlacedPods,
    SkippedVictim,
    judge_node,
    skipped_victim,
    victim_filter_of,
)
from vcdebug.framework import action as action_module
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.placement import ask_predicates
from vcdebug.framework.record import PredicateEvent
from vcdebug.framework.session import Session
from vcdebug.grouping import Histogram
from vcdebug.kube.affinity_terms import AffinityTerm, LabelGroup
from vcdebug.kube.node_view import CycleState
from vcdebug.kube.selector import Selector
from vcdebug.model.fit_errors import ERROR, SHORTAGE_PREFIX, FitStatus
from vcdebug.model.names import Codes, IntArray, NodeName, Seq, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.task import ENDED_STATUSES, TaskInfo
from vcdebug.recording.event_index import TASK
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.timeline import TaskState

MAX_KNOWN_NODES = 100_000
"""Rooms of nodes that are kept for one state, counted for each kind of preemptor."""


@per_recording(most=8)
def _rooms_by_asker(recording: Recording, seq: Seq) -> dict[tuple[str, tuple[str, bool, str]], NodesWithoutVictims]:
    """A cache of rooms after an event: (action, kind of preemptor) → the nodes without the action's candidates."""
    return {}


class NodeFits:
    """The fit of one task on every node, in the state before event `seq`."""

    without: Collection[TaskKey] = ()
    """Tasks that count on no node, such as those that leave; victim filters do not read it."""

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
    def node_fits(self) -> FitRows:
        """Every node."""
        return self.table.nodes

    @cached_property
    def table(self) -> FitTable:
        """The fit on every node; tasks share it for which amounts and predicates are the same."""
        recording, within = self.view.recording, None
        if self._within is not None:
            row_of = recording.session.node_table.row_of
            rows = sorted(row_of[name] for name in self._within if name in row_of)
            within = np.array(rows, dtype=np.int64).tobytes()
        request, codes = tuple(self.task.init_resreq.items()), self._codes
        if not codes.any():
            return fit_table(recording, self.earliest_seq, request, within=within)
        too_few = self._rows_with_too_few_devices(codes).tobytes()
        return fit_table(recording, self.earliest_seq, request, codes.tobytes(), too_few, within)

    @property
    def _codes(self) -> Codes:
        """The code of the predicates' reasons per node, resources aside; 0 for none."""
        codes, search = ask_predicates_now(self.view.recording, self.task)[0], self.search
        if search is None:
            return codes
        # A predicate called now sees the end of the cycle; the recorded reasons of the search are exact and replace it.
        codes, statuses_of = codes.copy(), self.view.recording.reason_table.statuses_of
        shortages = [
            code
            for code in np.unique(search.codes).tolist()
            if all(status.reason.startswith(SHORTAGE_PREFIX) for status in statuses_of(code))
        ]
        codes[search.feasible] = 0
        is_other = ~np.isin(search.codes, shortages)
        codes[search.failed[is_other]] = search.codes[is_other]
        return codes

    def _rows_with_too_few_devices(self, codes: Codes) -> IntArray:
        """Refused nodes with fewer cards than the task requests, or without parts of several NPUs."""
        nodes, task = self.view.session.node_table.nodes, self.task
        refused = [(row, nodes[row]) for row in rows_with_devices(self.view.recording).tolist() if codes[row]]
        lacking = [row for row, node in refused if card_shortage(node, task) or npu_parts_request(node, task)]
        return np.array(lacking, dtype=np.int64)

    def of_kind(self, *kinds: FitKind) -> FitRows:
        """Nodes that fail in one of these ways."""
        return self.table.of_kind(*kinds)

    def refused_for(self, *texts: str) -> FitRows:
        """Nodes that predicates refuse with a reason that contains one of these texts, whatever the case."""
        return self.table.refused_for(*texts)

    @property
    def free_nodes(self) -> FitRows:
        """Nodes that fit the task now."""
        return self.of_kind("free")

    @property
    def waiting_nodes(self) -> FitRows:
        """Nodes that would fit the task if some of their pods were evicted or finished."""
        return self.of_kind("pods", "short", "refused")

    @property
    def nearest_node(self) -> NodeFit | None:
        """The suitable node that lacks least."""
        return self.table.nearest_node

    @property
    def reason_histogram(self) -> Histogram[NodeName]:
        """Reason and its nodes, most frequent first, but nodes without the resource at all last."""
        return self.table.reason_histogram

    def tasks_on(self, node: NodeName) -> Sequence[TaskInfo]:
        """Tasks on a node in this state."""
        tasks = tasks_by_node(self.view.recording, self.earliest_seq).get(node, ())
        return [task for task in tasks if task.key not in self.without] if self.without else tasks

    def judge_node(self, action: str, node: NodeName) -> JudgedNode:
        """The verdict of the action's own filter on every pod of the node."""
        amounts = self.state.nodes[node]
        return judge_node(self.view.recording, self._victim_filter(action), self.tasks_on(node), amounts)

    def _nodes_without_victims(self, action: str) -> NodesWithoutVictims:
        key, cache = (action, self._asker_kind), _rooms_by_asker(self.view.recording, self.earliest_seq)
        # Shared, since each of a thousand similar Pending jobs would check every pod of the cluster.
        if key not in cache:
            if len(cache) >= max(MAX_KNOWN_NODES // max(len(self.view.recording.node_names), 1), 4):
                cache.clear()
            pods = placed_pods(self.view.recording, self.earliest_seq)
            cache[key] = NodesWithoutVictims(self.view.recording, pods, self._victim_filter(action))
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

    def freeable_nodes(self, action: str) -> FitRows:
        """Nodes on which evicting all candidates of the action's own filter would make room for the task."""
        waiting, rooms = self.waiting_nodes, self._nodes_without_victims(action)
        rows = waiting.rows
        for name, amount in self.task.init_resreq.items():
            room = rooms.room_column(name, future_column(self.view.recording, self.earliest_seq, name))
            rows = rows[~is_short(amount, room[rows])]
        return waiting.intersect(rows)


# A task is examined at several events in a row, and the predicates answer the same at each of them.
@per_recording(most=8)
def ask_predicates_now(recording: Recording, task: TaskInfo) -> tuple[Codes, CycleState]:
    """(code per node of the reasons why the predicates refuse the task, its CycleState); no event is recorded.

    The codes are 0 if the call, which the cycle itself never made, would panic, or if no plugin was ever open.
    """
    session, codes = recording.session, np.zeros(len(recording.node_names), dtype=np.uint16)
    if not session.plugin_calls:
        return codes, CycleState()
    with _separate_cycle_state(session, task) as state:
        try:
            error = session.ask_plugins(PRE_PREDICATE, task)
            if error is not None:
                statuses = error.statuses or (FitStatus(ERROR, error.text),)
                codes[:] = session.reasons.code_of(statuses)
            else:
                codes = ask_predicates(session, task, session.all_rows())
        except PANICS:
            pass
    return codes, state


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


@per_recording()
def rows_with_devices(recording: Recording) -> IntArray:
    """The rows of nodes with a ledger of shared devices."""
    return np.flatnonzero([bool(node.devices) for node in recording.session.node_table.nodes])


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


@per_recording(most=8)
def placed_pods(recording: Recording, seq: Seq) -> PlacedPods:
    """The pods on nodes after an event, as columns."""
    return PlacedPods(recording, tasks_by_node(recording, seq))


class TasksByDomain:
    """Tasks that match an affinity term, by topology domain."""

    def __init__(self, recording: Recording, seq: Seq, term: AffinityTerm) -> None:
        self._key = term.topology_key
        self._nodes = recording.session.nodes
        self._on_node: dict[NodeName, list[TaskInfo]] = {}
        self._in_domain: dict[str, list[TaskInfo]] = {}
        by_node = tasks_by_node(recording, seq)
        for name in (name for name in self._nodes if name in by_node):
            matching = [task for task in by_node[name] if term.matches_group(label_group(task), None)]
            self._on_node[name] = matching
            domain = self._nodes[name].labels.get(self._key)
            if matching and domain is not None:
                self._in_domain.setdefault(domain, []).extend(matching)

    def tasks_in_domain(self, name: NodeName) -> Sequence[TaskInfo]:
        """The tasks in a node's domain; a node without the label is a domain of its own."""
        domain = self._nodes[name].labels.get(self._key)
        return self._on_node.get(name, ()) if domain is None else self._in_domain.get(domain, ())

    def tasks_on(self, nodes: FitRows) -> Iterator[TaskInfo]:
        """The tasks on these nodes."""
        return (task for name in nodes.names if name in self._on_node for task in self._on_node[name])


def tasks_by_domain(recording: Recording, seq: Seq, term: AffinityTerm) -> TasksByDomain:
    """The tasks that match a term after an event; shared by the jobs of one template."""
    return _tasks_by_domain(recording, seq, term.topology_key, term.namespaces, term.namespace_selector, term.selector)


@per_recording(most=32)
def _tasks_by_domain(
    recording: Recording, seq: Seq, key: str, namespaces: tuple[str, ...], namespace_selector: Selector, own: Selector
) -> TasksByDomain:
    # Terms are compared by identity, and each pod has its own.
    return TasksByDomain(recording, seq, AffinityTerm(key, namespaces, namespace_selector, own))


def label_group(task: TaskInfo) -> LabelGroup:
    """What affinity terms read of a task."""
    return LabelGroup(task.namespace, task.pod.labels, deleting=False)
