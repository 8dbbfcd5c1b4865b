"""predicates: runs the Kubernetes filters for a task over nodes and keeps the Kubernetes node view in step.

Upstream: plugins/predicates.
Differs: devices of deviceshare are charged by that plugin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin import Event, NodeScores, Plugin, PluginError, ScoreError
from vcdebug.framework.session import Session
from vcdebug.kube.cycle_state import CycleState
from vcdebug.kube.dynamic_resources import DynamicResources, DynamicResourcesError
from vcdebug.kube.listers import Listers
from vcdebug.kube.node_affinity import TERMS_CONFLICT
from vcdebug.kube.nodeview import NodeView
from vcdebug.model.devices.ledger import Released
from vcdebug.model.fiterror import Status, aborts
from vcdebug.model.names import Codes, FloatArray, IntArray, NodeName
from vcdebug.model.node import NodeInfo
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.predicates import quirks
from vcdebug.plugins.predicates.filters import (
    Filter,
    InterPodAffinityFilter,
    NodePortsFilter,
    PodTopologySpreadFilter,
    PreFilterError,
    run,
)
from vcdebug.plugins.predicates.foretelling import Foretelling
from vcdebug.plugins.predicates.proportional import ProportionalFilter, rates_of
from vcdebug.plugins.predicates.stable import (
    TEMPLATE_ANNOTATION,
    EquivalenceCache,
    StableFilters,
)
from vcdebug.plugins.predicates.verdicts import TOO_MANY_PODS, Chain, Verdict, alone, where
from vcdebug.plugins.predicates.volume_filters import (
    DynamicResourcesFilter,
    NodeVolumeLimitsFilter,
    VolumeBindingFilter,
    VolumeZoneFilter,
)
from vcdebug.releases.nodes import (
    DRA_PREDICATE_SWITCH,
    DRA_SCORE,
    PREDICATE_ORDER,
    PREDICATES_BATCH_ALL_NODES,
    PREFILTER_REGISTRATIONS,
    PROPORTIONAL_PREDICATE,
    RESERVE_FAILURE_CONTINUES,
    SIMULATE_WITHOUT_DEVICES,
    TAINT_TEXT,
)

NODE_AFFINITY = "NodeAffinity"
POD_NUMBER, STABLE = "NodePodNumber", "stable filters"
LATER_PRE_FILTERS = (NodeVolumeLimitsFilter.name, VolumeZoneFilter.name)
"""Filters that once had no PreFilter, beside node affinity."""
DRA_PART = "nodeorder/batch/DynamicResources"
NO_SIDECARS = "pod has a restartable init container and the SidecarContainers feature is disabled"


class _Named(Protocol):
    name: str


T = TypeVar("T", bound=_Named)


class Predicates(Plugin):
    """The Kubernetes in-tree filters, their PreFilter states, and the node view's events."""

    name: ClassVar[str] = "predicates"
    judges_by_pod: ClassVar[bool] = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._affinity_on = self._on("NodeAffinity")
        self._taints_on = self._on("TaintToleration")
        self.remembers_rows = arguments.get_bool("predicate.CacheEnable", default=False)

    def _on(self, filter_name: str) -> bool:
        return self.arguments.get_bool(f"predicate.{filter_name}Enable", default=True)

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/predicates.OnSessionOpen."""
        listers = Listers(ssn.snapshot)
        self._ssn = ssn
        self._view: NodeView = ssn.view
        has = ssn.release.has
        self._by_name = has(PREDICATE_ORDER)
        self._stable = StableFilters(
            self._view,
            affinity_on=self._affinity_on,
            taints_on=self._taints_on,
            taints_named=has(TAINT_TEXT),
            affinity_first=self._by_name,
        )
        self._scores_claims = not has(DRA_SCORE)
        self._names_all_nodes = has(PREDICATES_BATCH_ALL_NODES)
        self._simulates_without_devices = has(SIMULATE_WITHOUT_DEVICES)
        self._continues_refused = has(RESERVE_FAILURE_CONTINUES)
        self._skips: dict[tuple[str, ...], tuple[str, ...]] = {}
        """Names of filters that some task skips, once."""
        self._cache = EquivalenceCache(len(self._view)) if self.remembers_rows else None
        self._max_pods: IntArray = np.array(
            [ssn.nodes[name].allocatable.max_task_num for name in self._view.names], dtype=np.int64
        )
        self._affinity = InterPodAffinityFilter(self._view, listers) if self._on("PodAffinity") else None
        self._volumes = VolumeBindingFilter(self._view, listers) if self._on("VolumeBinding") else None
        self._claims = DynamicResourcesFilter(ssn, self._view, listers) if self._claims_on(ssn) else None
        rates = rates_of(self.arguments) if has(PROPORTIONAL_PREDICATE) else None
        self._proportional = None if rates is None else ProportionalFilter(ssn, rates)
        self._filters = self._in_order(listers)
        self._foretelling = None if self._cache is not None else self._foretells(ssn)
        self._by_filter = [(one.name, one) for one in self._filters]
        self._reserving: tuple[VolumeBindingFilter | DynamicResourcesFilter, ...]
        self._reserving = self._in_their_order(self._volumes, self._claims)
        self._giving_back = [one for one in (self._claims, self._volumes) if one is not None]
        self._affinity_prepares = self._affinity_on and not has(PREFILTER_REGISTRATIONS)
        without = LATER_PRE_FILTERS if has(PREFILTER_REGISTRATIONS) else ()
        self._preparing = tuple(one for one in self._filters if one.name not in without)

    def _foretells(self, ssn: Session) -> Foretelling:
        return Foretelling(self._view, ssn.reasons, self._stable, self._max_pods, self._filters)

    def _claims_on(self, ssn: Session) -> bool:
        """By the gate; once by an argument, too."""
        if ssn.release.has(DRA_PREDICATE_SWITCH):
            asked = self.arguments.get_bool("predicate.DynamicResourceAllocationEnable", default=False)
            return asked and ssn.flags.gate("DynamicResourceAllocation")
        return ssn.flags.gate("DynamicResourceAllocation")

    def _in_order(self, listers: Listers) -> tuple[Filter, ...]:
        """Filters after the stable ones, in upstream's order."""
        view = self._view
        return self._in_their_order(
            NodePortsFilter(view) if self._on("NodePorts") else None,
            self._affinity,
            NodeVolumeLimitsFilter(view, listers) if self._on("NodeVolumeLimits") else None,
            VolumeZoneFilter(view, listers) if self._on("VolumeZone") else None,
            PodTopologySpreadFilter(view, listers) if self._on("PodTopologySpread") else None,
            self._proportional,
            self._volumes,
            self._claims,
        )

    def _in_their_order(self, *candidates: T | None) -> tuple[T, ...]:
        """Those that take part; by name where upstream once had them in a map."""
        present = [one for one in candidates if one is not None]
        return tuple(sorted(present, key=lambda one: one.name) if self._by_name else present)

    # Before filtering

    def pre_predicate(self, task: TaskInfo) -> PluginError | None:
        """Upstream: plugins/predicates.PrePredicate."""
        pod = task.pod
        if pod.has_restartable_init_container and not self._ssn.flags.gate("SidecarContainers"):
            return PluginError(NO_SIDECARS)
        state = self._ssn.cycle_state(task)
        if self._foretelling is not None:
            self._foretelling.forget()
        skipped: list[str] = []
        error = self._prepare(task, state, skipped)
        state.skip.update(dict.fromkeys(skipped))
        names = tuple(skipped)
        self._ssn.log("filter.skips", task.key, self._skips.setdefault(names, names))
        return error

    def _prepare(self, task: TaskInfo, state: CycleState, skipped: list[str]) -> PluginError | None:
        """Filters enter `skipped` that have nothing to say about the task, now and for the rest of the session."""
        pod = task.pod
        if self._affinity_prepares:
            placement = self._view.shapes.placement(pod)
            if placement.asks_nothing:
                skipped.append(NODE_AFFINITY)
            elif placement.names_conflict:
                return _refused(NODE_AFFINITY, TERMS_CONFLICT)
        for candidate in self._preparing:
            try:
                wanted = candidate.pre_filter(pod, state)
            except PreFilterError as error:
                return _refused(candidate.name, str(error))
            if not wanted:
                skipped.append(candidate.name)
            elif candidate.name in state.skip:
                quirks.stays_skipped(self._ssn, task, candidate.name)
        return None

    # Filtering

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        """Upstream: plugins/predicates.Predicate."""
        rows, pod = nodes.rows, task.pod
        state = self._ssn.cycle_state(task)
        foretelling = self._foretelling
        foretold = None if foretelling is None else foretelling.of(pod, state)
        if foretelling is not None and foretold is not None:
            if len(rows) == 1:
                return alone(foretelling.code(foretold, rows.item()))
            codes: Codes = foretelling.everywhere(foretold)[rows]
            return codes
        if len(rows) == 1:
            return alone(self._predicate_one(pod, state, rows))
        chain = Chain(self._ssn.reasons, self._first_codes(pod, rows))
        for candidate in self._filters:
            if candidate.name not in state.skip and not chain.ended:
                run(candidate, chain, pod, state, rows)
        return chain.codes()

    def standing_codes(self, task: TaskInfo) -> Codes | None:
        """Where every filter that has something to say has said it in PreFilter."""
        if self._foretelling is None:
            return None
        foretold = self._foretelling.of(task.pod, self._ssn.cycle_state(task))
        return None if foretold is None else self._foretelling.everywhere(foretold)

    def _first_codes(self, pod: Pod, rows: IntArray) -> Codes:
        """Nodes that have all the pods that they may have, then the stable filters.
        Upstream: plugins/predicates.predicateByStablefilter.
        """
        chain = Chain(self._ssn.reasons, np.zeros(len(rows), dtype=np.uint16))
        chain.add(where(TOO_MANY_PODS, self._max_pods[rows] <= self._view.pod_count[rows]))
        index = self._stable_index(pod, rows)  # which may add to the statuses
        chain.add(Verdict(self._stable.statuses, index))
        return chain.codes()

    def _predicate_one(self, pod: Pod, state: CycleState, rows: IntArray) -> int:
        """As predicate, for one node that has to be looked at."""
        if self._cache is None:
            index = self._stable.index(self._view.shapes.placement(pod)).item(rows.item(0))
        else:
            index = self._stable_index(pod, rows).item(0)
        statuses = tuple([status for _, status in self._judged(pod, state, rows, index) if status is not None])
        return self._ssn.reasons.code(statuses) if statuses else 0

    def _judged(self, pod: Pod, state: CycleState, rows: IntArray, stable: int) -> list[tuple[str, Status | None]]:
        """Each filter that is asked about one node and what it objects to, up to an objection that ends it."""
        row = rows.item(0)
        full = self._max_pods.item(row) <= self._view.pod_count.item(row)
        status = self._stable.statuses[stable - 1] if stable else None
        found = [(POD_NUMBER, TOO_MANY_PODS if full else None), (STABLE, status)]
        if status is not None and aborts(status):
            return found
        skip = state.skip
        for name, candidate in self._by_filter:
            if name not in skip:
                verdict = candidate.filter(pod, state, rows)
                failing = verdict.failing.item(0)
                status = verdict.statuses[failing - 1] if failing else None
                found.append((name, status))
                if status is not None and aborts(status):
                    return found
        return found

    def judged(self, task: TaskInfo, node: NodeName) -> list[tuple[str, Status | None]]:
        """Each filter and what it objects to on one node; the equivalence cache is neither asked nor told."""
        row = self._view.row_of[node]
        index = int(self._stable.index(self._view.shapes.placement(task.pod))[row])
        return self._judged(task.pod, self._ssn.cycle_state(task), np.array([row], dtype=np.int64), index)

    def remembered(self, task: TaskInfo, node: NodeName) -> tuple[str, int] | None:
        """(template, what the equivalence cache remembers of it on a node); None without the cache or a template."""
        template = task.pod.annotations.get(TEMPLATE_ANNOTATION, "")
        if self._cache is None or not template:
            return None
        return template, self._cache.remembered(template, self._view.row_of[node])

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The filters after the stable ones, in the order in which they are asked."""
        return self._filters

    @property
    def claims(self) -> DynamicResources | None:
        """What judges resource claims, where anything does."""
        return None if self._claims is None else self._claims.check

    @property
    def view(self) -> NodeView:
        """The nodes as the filters see them."""
        return self._view

    def pod_numbers(self, node: NodeName) -> tuple[int, int]:
        """(pods on the node, the most that it may have)."""
        row = self._view.row_of[node]
        return int(self._view.pod_count[row]), int(self._max_pods[row])

    @property
    def stable(self) -> StableFilters:
        """The filters that are decided once."""
        return self._stable

    def _stable_index(self, pod: Pod, rows: IntArray) -> IntArray:
        index = self._stable.index(self._view.shapes.placement(pod))[rows]
        if self._cache is None:
            return index
        return self._cache.through(pod.annotations.get(TEMPLATE_ANNOTATION, ""), rows, index)

    # Scoring

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores | None:
        """Only scoring a node can fail: over no nodes there is nothing that fails.
        Upstream: plugins/predicates.BatchNodeOrder.
        """
        if not self._scores_claims:
            return None if self._volumes is None else NodeScores(nodes.zeros(), everywhere=self._names_all_nodes)
        if self._claims is None:
            return None
        scores = self._claim_scores(self._claims, task, nodes)
        return NodeScores(scores, ((DRA_PART, scores),))

    def _claim_scores(self, claims: DynamicResourcesFilter, task: TaskInfo, nodes: NodeRows) -> FloatArray:
        """A pod without claims asks for nothing; one that PreFilter never saw cannot be scored."""
        state = self._ssn.cycle_state(task)
        if not len(nodes) or (claims.STATE in state.data and not task.pod.spec.get("resourceClaims")):
            return nodes.zeros()
        try:
            return claims.scores(state, nodes.names).astype(np.float64)
        except DynamicResourcesError as error:
            raise ScoreError(f"calculate DynamicResources priority failed {error}") from error

    # Simulation

    def simulate_add_task(self, state: CycleState, task: TaskInfo, other: TaskInfo, node: NodeInfo) -> str | None:
        error = self._simulate(state, other, node, 1)
        return None if error is None else f"failed to add pod to node {node.name}: {error}"

    def simulate_remove_task(self, state: CycleState, task: TaskInfo, other: TaskInfo, node: NodeInfo) -> str | None:
        error = self._simulate(state, other, node, -1)
        return None if error is None else f"failed to remove pod from node {node.name}: {error}"

    def _simulate(self, state: CycleState, other: TaskInfo, node: NodeInfo, sign: int) -> str | None:
        if self._affinity is None or self._affinity.name in state.skip:
            return None
        return self._affinity.simulate(state, other.pod, self._view.row_of[node.name], sign)

    def simulate_predicate(self, state: CycleState, task: TaskInfo, node: NodeInfo) -> str | None:
        return next((text for _, text in self.simulated(state, task, node) if text is not None), None)

    def simulated(self, state: CycleState, task: TaskInfo, node: NodeInfo) -> Iterator[tuple[str, str | None]]:
        """Each check of a dry run and what it objects to: affinity between pods, then the devices of the copy."""
        if self._affinity is not None and self._affinity.name not in state.skip:
            row = np.array([self._view.row_of[node.name]], dtype=np.int64)
            verdict = self._affinity.filter(task.pod, state, row)
            reason = verdict.statuses[verdict.failing[0] - 1].reason if verdict.failing[0] else None
            yield self._affinity.name, None if reason is None else f"failed to filter pod on node {node.name}: {reason}"
        if self._simulates_without_devices:
            return
        for name, ledger in node.devices.items():
            if ledger.has_request(task.pod):
                reason = ledger.filter(task.pod, "")
                where = f"device {name} cannot fit task {task.namespace}/{task.name} on node {node.name}"
                yield name, None if reason is None else f"{where}: {reason}"

    # Events

    def allocate_func(self, event: Event) -> None:
        """Reserve volumes and claims, then show the pod on its node; a refused reservation leaves the pod out.
        Upstream: plugins/predicates.runReservePlugins.
        """
        task = event.task
        row = self._view.row_of.get(task.node_name)
        if row is None:
            return
        state = self._ssn.cycle_state(task)
        for reserving in self._reserving:
            error = reserving.reserve(state, task.pod.node_name)
            if error is not None:
                event.err = error
                quirks.refused(self._ssn, task, error)
                if self._continues_refused:
                    break
                quirks.not_restored(self._ssn, task, error)
                return
        if self._charge_devices(event):
            return
        self._view.add_pod(row, task.pod)
        if self._affinity is not None and self._affinity.overlooks(task.pod, row):
            quirks.anti_affinity_overlooked(self._ssn, task)

    def _charge_devices(self, event: Event) -> bool:
        """Whether a ledger that deviceshare keeps refuses the pod."""
        for ledger in self._ssn.nodes[event.task.node_name].devices.values():
            if ledger.has_request(event.task.pod):
                error = ledger.allocate(event.task.pod)
                if error is not None:
                    event.err = event.err if self._continues_refused else error
                    return True
        return False

    def _release_devices(self, task: TaskInfo) -> bool:
        """Whether the handler goes on."""
        for name, ledger in self._ssn.nodes[task.node_name].devices.items():
            released = ledger.release(task.pod) if ledger.has_request(task.pod) else Released.FREE
            if released is Released.REFUSED:
                return False
            if released is Released.KEPT:
                quirks.device_stays_charged(self._ssn, task, name)
        return True

    def deallocate_func(self, event: Event) -> None:
        """Give reservations back and take the pod off its node. Upstream: plugins/predicates.runUnReservePlugins."""
        task = event.task
        row = self._view.row_of.get(task.node_name)
        if row is None:
            return
        state = self._ssn.cycle_state(task)
        for reserving in self._giving_back:
            reserving.unreserve(state, task.pod.node_name)
        if self._release_devices(task):
            self._view.remove_pod(row, task.pod.uid)


def _refused(filter_name: str, message: str) -> PluginError:
    return PluginError(f"plugin {filter_name} pre-predicates failed {message}")
