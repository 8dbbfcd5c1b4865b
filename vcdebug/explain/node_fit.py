"""Which nodes could take a task: what each lacks, what evictions could free, and what no eviction can change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from vcdebug.explain.amounts import Histogram, histogram
from vcdebug.explain.candidates import SkippedVictim, skip_rule, skipped_victim, victim_filter_of
from vcdebug.explain.job_view import JobView
from vcdebug.explain.room_at import FitKind as FitKind
from vcdebug.explain.room_at import NodeFit as NodeFit
from vcdebug.explain.room_at import fits_by_amounts, objections_kind, tasks_by_node
from vcdebug.explain.searches import iter_refusals
from vcdebug.framework.evictions import CandidateFilter
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.placement import ask_predicates
from vcdebug.framework.record import PredicateEvent
from vcdebug.framework.session import Session
from vcdebug.model.fiterror import ERROR, FitStatus
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.node import NodeInfo
from vcdebug.model.panics import PANICS
from vcdebug.model.task import TaskInfo

SHORTAGE_PREFIX = "Insufficient "
"""How the actions' own resource test begins its reasons."""


class NodeFits:
    """All nodes, at one moment, for one task."""

    def __init__(self, view: JobView, task: TaskInfo, seq: Seq) -> None:
        self.view = view
        self.task = task
        self.seq = seq
        self.state = view.recording.timeline.state_at(seq)
        self._since = view.recording.timeline.earliest_same_seq(seq)
        self._filters: dict[str, CandidateFilter] = {}
        event = view.recording.event_at(seq)
        self.search = event if isinstance(event, PredicateEvent) and event.task == task.key else None
        """The recorded search that is looked at, where the moment is one."""

    @cached_property
    def node_fits(self) -> Sequence[NodeFit]:
        """Every node by name."""
        objections = predicate_objections(self.view.session, self.task)
        objections.update(self._recorded_objections())
        found = fits_by_amounts(self.view.recording, self._since, tuple(self.task.init_resreq.items()))
        if not objections:
            return found
        get, verdicts = objections.get, {said: objections_kind(said) for said in dict.fromkeys(objections.values())}
        return [self._with_refusal(one, said, verdicts[said]) if (said := get(one.name)) else one for one in found]

    def _recorded_objections(self) -> Iterator[tuple[NodeName, tuple[FitStatus, ...]]]:
        """What the recorded search says about the nodes for which it got beyond resources."""
        if self.search is None:
            return
        yield from ((self.view.recording.node_names[row], ()) for row in self.search.feasible.tolist())
        for name, statuses in iter_refusals(self.view.recording, self.search):
            if not all(status.reason.startswith(SHORTAGE_PREFIX) for status in statuses):
                yield name, statuses

    def _with_refusal(self, node: NodeFit, statuses: tuple[FitStatus, ...], said: FitKind) -> NodeFit:
        fit = node.with_objections(statuses, said)
        node_info = self.view.session.nodes[fit.name]
        if fit.kind == "refused" and (card_shortage(node_info, self.task) or npu_parts_request(node_info, self.task)):
            return fit._replace(kind="unresolvable")
        return fit

    def of_kind(self, *kinds: FitKind) -> list[NodeFit]:
        """Nodes that fail in one of these ways."""
        return [node for node in self.node_fits if node.kind in kinds]

    @cached_property
    def _distinct_objections(self) -> dict[tuple[FitStatus, ...], None]:
        """What the predicates say about nodes, each once."""
        return dict.fromkeys(node.statuses for node in self.node_fits)

    def refused_for(self, reason: str) -> list[NodeFit]:
        """Nodes to which the predicates object with words that hold these."""
        saying = {said for said in self._distinct_objections if any(reason in status.reason for status in said)}
        return [node for node in self.node_fits if node.statuses in saying] if saying else []

    @cached_property
    def free_nodes(self) -> list[NodeFit]:
        """Nodes that would take the task at once."""
        return self.of_kind("free")

    @cached_property
    def waiting_nodes(self) -> list[NodeFit]:
        """Nodes that would take the task if some of their pods left."""
        return self.of_kind("pods", "short", "refused")

    @cached_property
    def nearest_node(self) -> NodeFit | None:
        """The suitable node that lacks least."""
        lacking = self.of_kind("short", "pods") or self.of_kind("too small")
        short = [node for node in lacking if node.short]
        return min(short, key=lambda node: (len(node.short), self._relative_lack(node), node.name), default=None)

    def _relative_lack(self, node: NodeFit) -> float:
        request = self.task.init_resreq
        return max(missing / max(request.get(name), 1.0) for name, missing in node.short)

    @cached_property
    def reason_histogram(self) -> Histogram[NodeName]:
        """Reason and its nodes, most frequent first."""
        return histogram((node.name, node.reason) for node in self.node_fits if node.kind != "free")

    # What could leave

    def tasks_on(self, node: NodeName) -> Sequence[TaskInfo]:
        """Tasks on a node at this moment."""
        return tasks_by_node(self.view.recording, self._since).get(node, ())

    def victim_candidates(self, action: str, node: NodeName) -> list[TaskInfo]:
        """Tasks on the node that the action's own filter would accept."""
        recording, spares = self.view.recording, self._victim_filter(action)
        return [task for task in self.tasks_on(node) if not skip_rule(recording, spares, task)]

    def _victim_filter(self, action: str) -> CandidateFilter:
        if action not in self._filters:
            self._filters[action] = victim_filter_of(self.view.recording, action, self.task)
        return self._filters[action]

    def skipped_victim(self, action: str, victim: TaskInfo) -> SkippedVictim | None:
        """Why preempt's or reclaim's own filter leaves a task alone."""
        return skipped_victim(self.view.recording, self._victim_filter(action), victim)

    def fits_without(self, node: NodeName, victims: Sequence[TaskInfo]) -> bool:
        """Whether the node holds the task once these have left."""
        return self.task.init_resreq.less_equal(self.state.nodes[node].future_without(victims))

    def freeable_nodes(self, action: str) -> list[NodeFit]:
        """Suitable nodes on which the action's own candidates hold enough."""
        return [
            node
            for node in self.waiting_nodes
            if (found := self.victim_candidates(action, node.name)) and self.fits_without(node.name, found)
        ]


def predicate_objections(session: Session, task: TaskInfo) -> dict[NodeName, tuple[FitStatus, ...]]:
    """What the predicates say about every node, asked once more without a trace; resources are not their matter.

    Nothing where the question itself would end the scheduler's process: the cycle never asked it for this task.
    """
    session.record.silent += 1
    try:
        error = session.ask_plugins(PRE_PREDICATE, task)
        if error is not None:
            statuses = error.statuses or (FitStatus(ERROR, error.text),)
            return dict.fromkeys(session.nodes, statuses)
        codes = ask_predicates(session, task, session.all_rows())
    except PANICS:
        return {}
    finally:
        session.record.silent -= 1
    return dict(_iter_statuses(session, codes.tolist()))


def _iter_statuses(session: Session, codes: Sequence[int]) -> Iterator[tuple[NodeName, tuple[FitStatus, ...]]]:
    statuses = session.reasons.statuses_of
    for name, code in zip(session.node_table.names, codes, strict=True):
        if code:
            yield name, statuses(code)


class CardShortage(NamedTuple):
    """Cards of a node, and cards that have to be different ones."""

    have: int
    asked: int
    who: str
    """Who takes each of them from another card."""


def card_shortage(node: NodeInfo, task: TaskInfo) -> CardShortage | None:
    """Where a node has fewer cards than are asked for, however free they are."""
    if not node.devices:
        return None
    found = _npu_shortage(node, task) or _virtual_gpu_shortage(node, task)
    return found if found is not None and found.asked > found.have else None


def _virtual_gpu_shortage(node: NodeInfo, task: TaskInfo) -> CardShortage | None:
    from vcdebug.model.devices.vgpu import VgpuLedger
    from vcdebug.model.devices.vgpu_request import requests_of

    ledgers = [ledger for ledger in node.devices.values() if isinstance(ledger, VgpuLedger)]
    if not ledgers:
        return None
    asked = max((request.number for request in requests_of(task.pod, ledgers[0].rules.names)), default=0)
    return CardShortage(
        max(len(ledger.cards) for ledger in ledgers), asked, "a container takes each of its virtual GPUs"
    )


def _npu_shortage(node: NodeInfo, task: TaskInfo) -> CardShortage | None:
    """Of the kind of which most are missing."""
    from vcdebug.model.devices.hami_ascend import HamiAscendLedger

    ledgers = [ledger for ledger in node.devices.values() if isinstance(ledger, HamiAscendLedger)]
    found = []
    for ledger in ledgers:
        requests = ledger.resource_reqs(task.pod, next(iter(ledger.cards.values())))
        asked = sum(max(request.number, 1) for request in requests)
        found.append(CardShortage(len(ledger.cards), asked, "a pod takes each of its NPUs"))
    return max(found, key=lambda one: one.asked - one.have, default=None)


def npu_parts_request(node: NodeInfo, task: TaskInfo) -> tuple[int, int] | None:
    """(how many, memory of each) where a container asks for parts of several NPUs, which nobody is given."""
    if not node.devices:
        return None
    from vcdebug.model.devices.hami_ascend import HamiAscendLedger

    for ledger in node.devices.values():
        if isinstance(ledger, HamiAscendLedger) and ledger.has_device_request(task.pod):
            for request in ledger.resource_reqs(task.pod, next(iter(ledger.cards.values()))):
                if ledger.asks_for_parts(task.pod, request):
                    return request.number, request.memory
    return None
