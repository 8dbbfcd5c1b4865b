"""Which nodes could take a task: what each lacks, what evictions could free, and what no eviction can change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from vcdebug.explain.amounts import Histogram, histogram
from vcdebug.explain.candidates import Spared, filter_of, spared, sparing_rule
from vcdebug.explain.job_view import JobView
from vcdebug.explain.room_at import Kind as Kind
from vcdebug.explain.room_at import NodeFit as NodeFit
from vcdebug.explain.room_at import tasks_by_node, unasked, verdict
from vcdebug.explain.searches import refusals
from vcdebug.framework.evictions import Filter
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.placement import ask_predicates
from vcdebug.framework.record import PredicateEvent
from vcdebug.framework.session import Session
from vcdebug.model.fiterror import ERROR, Status
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.node import NodeInfo
from vcdebug.model.panics import PANICS
from vcdebug.model.task import TaskInfo

SHORTAGE = "Insufficient "
"""How the actions' own resource test begins its reasons."""


class NodeFits:
    """All nodes, at one moment, for one task."""

    def __init__(self, view: JobView, task: TaskInfo, seq: Seq) -> None:
        self.view = view
        self.task = task
        self.seq = seq
        self.state = view.recording.timeline.state_at(seq)
        self._since = view.recording.timeline.same_as(seq)
        self._filters: dict[str, Filter] = {}
        event = view.recording.event(seq)
        self.search = event if isinstance(event, PredicateEvent) and event.task == task.key else None
        """The recorded search that is looked at, where the moment is one."""

    @cached_property
    def nodes(self) -> Sequence[NodeFit]:
        """Every node by name."""
        objections = predicate_objections(self.view.session, self.task)
        objections.update(self._recorded())
        found = unasked(self.view.recording, self._since, tuple(self.task.init_resreq.items()))
        if not objections:
            return found
        get, verdicts = objections.get, {said: verdict(said) for said in dict.fromkeys(objections.values())}
        return [self._refused(one, said, verdicts[said]) if (said := get(one.name)) else one for one in found]

    def _recorded(self) -> Iterator[tuple[NodeName, tuple[Status, ...]]]:
        """What the recorded search says about the nodes for which it got beyond resources."""
        if self.search is None:
            return
        yield from ((self.view.recording.node_names[row], ()) for row in self.search.feasible.tolist())
        for name, statuses in refusals(self.view.recording, self.search):
            if not all(status.reason.startswith(SHORTAGE) for status in statuses):
                yield name, statuses

    def _refused(self, node: NodeFit, statuses: tuple[Status, ...], said: Kind) -> NodeFit:
        fit = node.with_objections(statuses, said)
        node_info = self.view.session.nodes[fit.name]
        if fit.kind == "refused" and (cards_short(node_info, self.task) or npu_parts(node_info, self.task)):
            return fit._replace(kind="unresolvable")
        return fit

    def of_kind(self, *kinds: Kind) -> list[NodeFit]:
        """Nodes that fail in one of these ways."""
        return [node for node in self.nodes if node.kind in kinds]

    @cached_property
    def _objections(self) -> dict[tuple[Status, ...], None]:
        """What the predicates say about nodes, each once."""
        return dict.fromkeys(node.statuses for node in self.nodes)

    def refused_for(self, reason: str) -> list[NodeFit]:
        """Nodes to which the predicates object with words that hold these."""
        saying = {said for said in self._objections if any(reason in status.reason for status in said)}
        return [node for node in self.nodes if node.statuses in saying] if saying else []

    @cached_property
    def free(self) -> list[NodeFit]:
        """Nodes that would take the task at once."""
        return self.of_kind("free")

    @cached_property
    def waiting(self) -> list[NodeFit]:
        """Nodes that would take the task if some of their pods left."""
        return self.of_kind("pods", "short", "refused")

    @cached_property
    def nearest(self) -> NodeFit | None:
        """The suitable node that lacks least."""
        lacking = self.of_kind("short", "pods") or self.of_kind("too small")
        short = [node for node in lacking if node.short]
        return min(short, key=lambda node: (len(node.short), self._lack(node), node.name), default=None)

    def _lack(self, node: NodeFit) -> float:
        request = self.task.init_resreq
        return max(missing / max(request.get(name), 1.0) for name, missing in node.short)

    @cached_property
    def histogram(self) -> Histogram[NodeName]:
        """Reason and its nodes, most frequent first."""
        return histogram((node.name, node.reason) for node in self.nodes if node.kind != "free")

    # What could leave

    def tasks_on(self, node: NodeName) -> Sequence[TaskInfo]:
        """Tasks on a node at this moment."""
        return tasks_by_node(self.view.recording, self._since).get(node, ())

    def candidates(self, action: str, node: NodeName) -> list[TaskInfo]:
        """Tasks on the node that the action's own filter would accept."""
        recording, spares = self.view.recording, self._filter(action)
        return [task for task in self.tasks_on(node) if not sparing_rule(recording, spares, task)]

    def _filter(self, action: str) -> Filter:
        if action not in self._filters:
            self._filters[action] = filter_of(self.view.recording, action, self.task)
        return self._filters[action]

    def spared(self, action: str, victim: TaskInfo) -> Spared | None:
        """Why preempt's or reclaim's own filter leaves a task alone."""
        return spared(self.view.recording, self._filter(action), victim)

    def fits_without(self, node: NodeName, victims: Sequence[TaskInfo]) -> bool:
        """Whether the node holds the task once these have left."""
        return self.task.init_resreq.less_equal(self.state.nodes[node].future_without(victims))

    def could_free(self, action: str) -> list[NodeFit]:
        """Suitable nodes on which the action's own candidates hold enough."""
        return [
            node
            for node in self.waiting
            if (found := self.candidates(action, node.name)) and self.fits_without(node.name, found)
        ]


def predicate_objections(session: Session, task: TaskInfo) -> dict[NodeName, tuple[Status, ...]]:
    """What the predicates say about every node, asked once more without a trace; resources are not their matter.

    Nothing where the question itself would end the scheduler's process: the cycle never asked it for this task.
    """
    session.record.silent += 1
    try:
        error = session.ask(PRE_PREDICATE, task)
        if error is not None:
            statuses = error.statuses or (Status(ERROR, error.text),)
            return dict.fromkeys(session.nodes, statuses)
        codes = ask_predicates(session, task, session.all_rows())
    except PANICS:
        return {}
    finally:
        session.record.silent -= 1
    return dict(_statuses(session, codes.tolist()))


def _statuses(session: Session, codes: Sequence[int]) -> Iterator[tuple[NodeName, tuple[Status, ...]]]:
    statuses = session.reasons.statuses
    for name, code in zip(session.node_table.names, codes, strict=True):
        if code:
            yield name, statuses(code)


class Short(NamedTuple):
    """Cards of a node, and cards that have to be different ones."""

    have: int
    asked: int
    who: str
    """Who takes each of them from another card."""


def cards_short(node: NodeInfo, task: TaskInfo) -> Short | None:
    """Where a node has fewer cards than are asked for, however free they are."""
    if not node.devices:
        return None
    found = _npus_short(node, task) or _virtual_short(node, task)
    return found if found is not None and found.asked > found.have else None


def _virtual_short(node: NodeInfo, task: TaskInfo) -> Short | None:
    from vcdebug.model.devices.vgpu import VgpuLedger
    from vcdebug.model.devices.vgpu_request import requests_of

    ledgers = [ledger for ledger in node.devices.values() if isinstance(ledger, VgpuLedger)]
    if not ledgers:
        return None
    asked = max((request.number for request in requests_of(task.pod, ledgers[0].rules.names)), default=0)
    return Short(max(len(ledger.cards) for ledger in ledgers), asked, "a container takes each of its virtual GPUs")


def _npus_short(node: NodeInfo, task: TaskInfo) -> Short | None:
    """Of the kind of which most are missing."""
    from vcdebug.model.devices.hami_ascend import HamiAscendLedger

    ledgers = [ledger for ledger in node.devices.values() if isinstance(ledger, HamiAscendLedger)]
    found = []
    for ledger in ledgers:
        requests = ledger.requests(task.pod, next(iter(ledger.cards.values())))
        asked = sum(max(request.number, 1) for request in requests)
        found.append(Short(len(ledger.cards), asked, "a pod takes each of its NPUs"))
    return max(found, key=lambda one: one.asked - one.have, default=None)


def npu_parts(node: NodeInfo, task: TaskInfo) -> tuple[int, int] | None:
    """(how many, memory of each) where a container asks for parts of several NPUs, which nobody is given."""
    if not node.devices:
        return None
    from vcdebug.model.devices.hami_ascend import HamiAscendLedger

    for ledger in node.devices.values():
        if isinstance(ledger, HamiAscendLedger) and ledger.has_request(task.pod):
            for request in ledger.requests(task.pod, next(iter(ledger.cards.values()))):
                if ledger.asks_for_parts(task.pod, request):
                    return request.number, request.memory
    return None
