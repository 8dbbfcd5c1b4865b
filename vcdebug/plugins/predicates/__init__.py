"""predicates: runs the Kubernetes filters on nodes, and updates the Kubernetes view of nodes as tasks are placed.

Upstream: plugins/predicates.
Differs: devices of deviceshare are charged by that plugin.
"""

from collections.abc import Iterator
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import NodeScores, PluginError, ScoreError
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.kube.dynamic_resources import DynamicResources, DynamicResourcesError
from vcdebug.kube.listers import Listers
from vcdebug.kube.node_affinity import TERMS_CONFLICT
from vcdebug.kube.node_view import CycleState, NodeView
from vcdebug.kube.volume_binding import VolumeBinding
from vcdebug.model.devices import ReleaseOutcome
from vcdebug.model.fit_errors import FitStatus, blocks_preemption
from vcdebug.model.names import Codes, FloatArray, IntArray, NodeName
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.predicates import filters, volume_filters
from vcdebug.plugins.predicates.prefilter_cache import PreFilterCache
from vcdebug.plugins.predicates.proportional import ProportionalFilter, rates_of
from vcdebug.plugins.predicates.static_filters import TEMPLATE_ANNOTATION, EquivalenceCache, StaticFilters
from vcdebug.releases import nodes as node_changes
from vcdebug.releases.scheduling import VOLUMES_AT_ALLOCATION

NODE_AFFINITY = "NodeAffinity"
POD_NUMBER, STABLE = "NodePodNumber", "stable filters"
LATER_PRE_FILTERS = (volume_filters.NodeVolumeLimitsFilter.name, volume_filters.VolumeZoneFilter.name)
"""Filters that have no PreFilter in older releases; neither has node affinity there."""
DRA_PART = "nodeorder/batch/DynamicResources"
NO_SIDECARS = "pod has a restartable init container and the SidecarContainers feature is disabled"


class _Named(Protocol):
    name: str


T = TypeVar("T", bound=_Named)


class Predicates(Plugin):
    """Runs the Kubernetes in-tree filters; keeps their PreFilter states and the node view up to date."""

    name: ClassVar[str] = "predicates"
    judges_by_pod: ClassVar[bool] = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._affinity_on = self._filter_enabled("NodeAffinity")
        self._taints_on = self._filter_enabled("TaintToleration")
        self.remembers_rows = arguments.get_bool("predicate.CacheEnable", default=False)

    def _filter_enabled(self, filter_name: str) -> bool:
        return self.arguments.get_bool(f"predicate.{filter_name}Enable", default=True)

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/predicates.OnSessionOpen."""
        listers = Listers(ssn.snapshot)
        self._ssn = ssn
        self.view: NodeView = ssn.view
        """The Kubernetes view of the nodes, which the filters read."""
        has_older_form = ssn.release.has_older_form
        self._by_name = has_older_form(node_changes.PREDICATE_ORDER)
        self.stable = StaticFilters(
            self.view,
            affinity_on=self._affinity_on,
            taints_on=self._taints_on,
            taints_named=has_older_form(node_changes.TAINT_TEXT),
            affinity_first=self._by_name,
        )
        """The stable filters, whose verdicts hold for the whole session."""
        self._ends_at_first = has_older_form(node_changes.FILTERS_END_AT_FIRST)
        self._scores_claims = not has_older_form(node_changes.DRA_SCORE)
        self._names_all_nodes = has_older_form(node_changes.PREDICATES_BATCH_ALL_NODES)
        self._simulates_without_devices = has_older_form(node_changes.SIMULATE_WITHOUT_DEVICES)
        self._continues_refused = has_older_form(node_changes.RESERVE_FAILURE_CONTINUES)
        self._skips: dict[tuple[str, ...], tuple[str, ...]] = {}
        """The combinations of filters that tasks skip; each combination is stored once."""
        self._cache = EquivalenceCache(len(self.view)) if self.remembers_rows else None
        self._max_pods: IntArray = np.array(
            [ssn.nodes[name].allocatable.max_task_num for name in self.view.names], dtype=np.int64
        )
        self._affinity = (
            filters.InterPodAffinityFilter(self.view, listers) if self._filter_enabled("PodAffinity") else None
        )
        reads_volumes = self._filter_enabled("VolumeBinding") and not has_older_form(VOLUMES_AT_ALLOCATION)
        self._volumes = volume_filters.VolumeBindingFilter(self.view, listers) if reads_volumes else None
        self._claims = volume_filters.DynamicResourcesFilter(ssn, self.view, listers) if self._claims_on(ssn) else None
        rates = rates_of(self.arguments) if has_older_form(node_changes.PROPORTIONAL_PREDICATE) else None
        self._proportional = None if rates is None else ProportionalFilter(ssn, rates)
        self.filters = self._build_filters(listers)
        """The filters that run after the stable filters, in order."""
        self._prefilter_cache: PreFilterCache | None = None
        if self._cache is None and not self._ends_at_first:
            self._prefilter_cache = PreFilterCache(self.view, ssn.reasons, self.stable, self._max_pods, self.filters)
        self._by_filter = [(candidate.name, candidate) for candidate in self.filters]
        self._reserving: tuple[volume_filters.VolumeBindingFilter | volume_filters.DynamicResourcesFilter, ...]
        self._reserving = self._ordered_filters(self._volumes, self._claims)
        self._unreserving = [candidate for candidate in (self._claims, self._volumes) if candidate is not None]
        self._affinity_prepares = self._affinity_on and not has_older_form(node_changes.PREFILTER_REGISTRATIONS)
        without = LATER_PRE_FILTERS if has_older_form(node_changes.PREFILTER_REGISTRATIONS) else ()
        self._pre_filtering = tuple(candidate for candidate in self.filters if candidate.name not in without)

    def _claims_on(self, ssn: Session) -> bool:
        """Whether resource claims are filtered: depends on the feature gate, in older releases also on an argument."""
        if ssn.release.has_older_form(node_changes.DRA_ABSENT):
            return False
        if ssn.release.has_older_form(node_changes.DRA_PREDICATE_SWITCH):
            switched_on = self.arguments.get_bool("predicate.DynamicResourceAllocationEnable", default=False)
            return switched_on and ssn.flags.is_gate_on("DynamicResourceAllocation")
        return ssn.flags.is_gate_on("DynamicResourceAllocation")

    def _build_filters(self, listers: Listers) -> tuple[filters.KubernetesFilter, ...]:
        """The filters that run after the stable filters, in upstream's order."""
        view = self.view
        return self._ordered_filters(
            filters.NodePortsFilter(view) if self._filter_enabled("NodePorts") else None,
            self._affinity,
            volume_filters.NodeVolumeLimitsFilter(view, listers) if self._filter_enabled("NodeVolumeLimits") else None,
            volume_filters.VolumeZoneFilter(view, listers) if self._filter_enabled("VolumeZone") else None,
            filters.PodTopologySpreadFilter(view, listers) if self._filter_enabled("PodTopologySpread") else None,
            self._proportional,
            self._volumes,
            self._claims,
        )

    def _ordered_filters(self, *candidates: T | None) -> tuple[T, ...]:
        """The filters that are not None, in order; sorted by name in releases that keep filters in a map."""
        present = [candidate for candidate in candidates if candidate is not None]
        return tuple(sorted(present, key=lambda candidate: candidate.name) if self._by_name else present)

    # PreFilter

    def pre_predicate(self, task: TaskInfo) -> PluginError | None:
        """Upstream: plugins/predicates.PrePredicate."""
        pod = task.pod
        if pod.has_restartable_init_container and not self._ssn.flags.is_gate_on("SidecarContainers"):
            return PluginError(NO_SIDECARS)
        state = self._ssn.cycle_state(task)
        if self._prefilter_cache is not None:
            self._prefilter_cache.clear_last()
        skipped: list[str] = []
        error = self._run_pre_filters(task, state, skipped)
        # Only added to, as upstream does: a filter that skips a task once stays skipped for it in this session.
        state.skip.update(dict.fromkeys(skipped))
        # One tuple per combination: a session logs the same few combinations for thousands of tasks.
        names = tuple(skipped)
        self._ssn.log("filter.skips", task.key, self._skips.setdefault(names, names))
        return error

    def _run_pre_filters(self, task: TaskInfo, state: CycleState, skipped: list[str]) -> PluginError | None:
        """Run the PreFilter of each filter and collect those that skip the task in `skipped`; returns an error."""
        pod = task.pod
        if self._affinity_prepares:
            placement = self.view.shapes.node_constraints(pod)
            if placement.asks_nothing:
                skipped.append(NODE_AFFINITY)
            elif placement.names_conflict:
                return _pre_predicate_error(NODE_AFFINITY, TERMS_CONFLICT)
        for candidate in self._pre_filtering:
            try:
                applies = candidate.pre_filter(pod, state)
            except filters.PreFilterError as error:
                return _pre_predicate_error(candidate.name, str(error))
            if not applies:
                skipped.append(candidate.name)
            elif candidate.name in state.skip:
                filters.note_stays_skipped(self._ssn, task, candidate.name)
        return None

    # Filter

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        """Upstream: plugins/predicates.Predicate."""
        rows, pod = nodes.rows, task.pod
        state = self._ssn.cycle_state(task)
        cache = self._prefilter_cache
        verdicts = None if cache is None else cache.verdicts_for(pod, state)
        if cache is not None and verdicts is not None:
            if len(rows) == 1:
                return filters.single_code(cache.code_of_row(verdicts, rows.item()))
            codes: Codes = cache.codes_of_all(verdicts)[rows]
            return codes
        if len(rows) == 1:
            return filters.single_code(self._predicate_node(pod, state, rows))
        chain = self._new_chain(self._first_codes(pod, rows))
        for candidate in self.filters:
            if candidate.name not in state.skip and not chain.is_ended:
                filters.run_filter(candidate, chain, pod, state, rows)
        return self._drop_full(chain.row_codes())

    def _new_chain(self, codes: Codes) -> filters.VerdictChain:
        return filters.VerdictChain(self._ssn.reasons, codes, ends_at_first=self._ends_at_first)

    def _drop_full(self, codes: Codes) -> Codes:
        """Set rows that only have too many pods to 0, in releases where that does not reject a node."""
        if self._ends_at_first:
            codes[codes == self._ssn.reasons.code_of((filters.TOO_MANY_PODS,))] = 0
        return codes

    def precomputed_codes(self, task: TaskInfo) -> Codes | None:
        """The codes of all nodes if PreFilter alone decided every filter's answer, else None."""
        if self._prefilter_cache is None:
            return None
        verdicts = self._prefilter_cache.verdicts_for(task.pod, self._ssn.cycle_state(task))
        return None if verdicts is None else self._prefilter_cache.codes_of_all(verdicts)

    def _first_codes(self, pod: Pod, rows: IntArray) -> Codes:
        """Codes of the pod limit, then of the stable filters. Upstream: plugins/predicates.predicateByStablefilter."""
        chain = self._new_chain(np.zeros(len(rows), dtype=np.uint16))
        chain.add_verdict(filters.fail_where(filters.TOO_MANY_PODS, self._max_pods[rows] <= self.view.pod_count[rows]))
        index = self._stable_index(pod, rows)  # may extend the statuses
        chain.add_verdict(filters.FilterVerdict(self.stable.statuses, index))
        return chain.row_codes()

    def _predicate_node(self, pod: Pod, state: CycleState, rows: IntArray) -> int:
        """The code of one node, after running the filters on it."""
        if self._cache is None:
            index = self.stable.verdict_index(self.view.shapes.node_constraints(pod)).item(rows.item(0))
        else:
            index = self._stable_index(pod, rows).item(0)
        statuses = tuple([status for _, status in self._judge_row(pod, state, rows, index) if status is not None])
        alone = statuses == (filters.TOO_MANY_PODS,) and self._ends_at_first
        return self._ssn.reasons.code_of(statuses) if statuses and not alone else 0

    def _judge_row(
        self, pod: Pod, state: CycleState, rows: IntArray, stable: int
    ) -> list[tuple[str, FitStatus | None]]:
        """(filter, status or None) for one node, up to the status that ends filtering."""
        row = rows.item(0)
        full = self._max_pods.item(row) <= self.view.pod_count.item(row)
        status = self.stable.statuses[stable - 1] if stable else None
        checks = [(POD_NUMBER, filters.TOO_MANY_PODS if full else None), (STABLE, status)]
        if status is not None and self._ends_filtering(status):
            return checks
        skip = state.skip
        for name, candidate in self._by_filter:
            if name not in skip:
                verdict = candidate.filter(pod, state, rows)
                failing = verdict.failing_rows.item(0)
                status = verdict.statuses[failing - 1] if failing else None
                checks.append((name, status))
                if status is not None and self._ends_filtering(status):
                    return checks
        return checks

    def _ends_filtering(self, status: FitStatus) -> bool:
        return self._ends_at_first or blocks_preemption(status)

    def judge_node(self, task: TaskInfo, node: NodeName) -> list[tuple[str, FitStatus | None]]:
        """(filter, status or None) for one node, without using the equivalence cache."""
        row = self.view.row_of[node]
        index = int(self.stable.verdict_index(self.view.shapes.node_constraints(task.pod))[row])
        return self._judge_row(task.pod, self._ssn.cycle_state(task), np.array([row], dtype=np.int64), index)

    def cached_template(self, task: TaskInfo, node: NodeName) -> tuple[str, int] | None:
        """(pod template, its cached verdict on the node); None without the cache or a template."""
        template = task.pod.annotations.get(TEMPLATE_ANNOTATION, "")
        if self._cache is None or not template:
            return None
        return template, self._cache.cached_verdict(template, self.view.row_of[node])

    @property
    def claim_filter(self) -> DynamicResources | None:
        """The filter of resource claims; None if it is off."""
        return None if self._claims is None else self._claims.check

    @property
    def volume_filter(self) -> VolumeBinding | None:
        """The filter of volumes; None if it is off."""
        return None if self._volumes is None else self._volumes.check

    def pod_numbers(self, node: NodeName) -> tuple[int, int]:
        """(number of pods on the node, its maximum)."""
        row = self.view.row_of[node]
        return int(self.view.pod_count[row]), int(self._max_pods[row])

    def _stable_index(self, pod: Pod, rows: IntArray) -> IntArray:
        index = self.stable.verdict_index(self.view.shapes.node_constraints(pod))[rows]
        if self._cache is None:
            return index
        return self._cache.predicate_with_cache(pod.annotations.get(TEMPLATE_ANNOTATION, ""), rows, index)

    # Scoring

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores | None:
        """Scores of resource claims, 0 in older releases. Upstream: plugins/predicates.BatchNodeOrder."""
        if not self._scores_claims:
            return (
                None
                if self._volumes is None
                else NodeScores(nodes.zero_scores(), zero_everywhere=self._names_all_nodes)
            )
        if self._claims is None:
            return None
        scores = self._claim_scores(self._claims, task, nodes)
        return NodeScores(scores, ((DRA_PART, scores),))

    def _claim_scores(
        self, claims: volume_filters.DynamicResourcesFilter, task: TaskInfo, nodes: NodeRows
    ) -> FloatArray:
        """Scores by resource claims; raises ScoreError if PreFilter did not run for the pod."""
        state = self._ssn.cycle_state(task)
        if not len(nodes) or (claims.STATE in state.data and not task.pod.spec.get("resourceClaims")):
            return nodes.zero_scores()
        try:
            return claims.score_nodes(state, nodes.node_names).astype(np.float64)
        except DynamicResourcesError as error:
            raise ScoreError(f"calculate DynamicResources priority failed {error}") from error

    # Simulation

    def simulate_add_task(self, state: CycleState, task: TaskInfo, other: TaskInfo, node: NodeInfo) -> str | None:
        error = self._simulate_affinity(state, other, node, 1)
        return None if error is None else f"failed to add pod to node {node.name}: {error}"

    def simulate_remove_task(self, state: CycleState, task: TaskInfo, other: TaskInfo, node: NodeInfo) -> str | None:
        error = self._simulate_affinity(state, other, node, -1)
        return None if error is None else f"failed to remove pod from node {node.name}: {error}"

    def _simulate_affinity(self, state: CycleState, other: TaskInfo, node: NodeInfo, sign: int) -> str | None:
        if self._affinity is None or self._affinity.name in state.skip:
            return None
        return self._affinity.simulate_pod(state, other.pod, self.view.row_of[node.name], sign)

    def simulate_predicate(self, state: CycleState, task: TaskInfo, node: NodeInfo) -> str | None:
        return next((text for _, text in self.simulated_checks(state, task, node) if text is not None), None)

    def simulated_checks(self, state: CycleState, task: TaskInfo, node: NodeInfo) -> Iterator[tuple[str, str | None]]:
        """Yield (check, error or None) of a dry run: inter-pod affinity, then the devices of the copied node."""
        if self._affinity is not None and self._affinity.name not in state.skip:
            row = np.array([self.view.row_of[node.name]], dtype=np.int64)
            verdict = self._affinity.filter(task.pod, state, row)
            reason = verdict.statuses[verdict.failing_rows[0] - 1].reason if verdict.failing_rows[0] else None
            yield self._affinity.name, None if reason is None else f"failed to filter pod on node {node.name}: {reason}"
        if self._simulates_without_devices:
            return
        for name, ledger in node.devices.items():
            if ledger.has_device_request(task.pod):
                reason = ledger.filter_node(task.pod, "")
                prefix = f"device {name} cannot fit task {task.namespace}/{task.name} on node {node.name}"
                yield name, None if reason is None else f"{prefix}: {reason}"

    # Events

    def allocate_func(self, event: Event) -> None:
        """Reserve volumes and claims; if that works, add the pod. Upstream: plugins/predicates.runReservePlugins."""
        task = event.task
        row = self.view.row_of.get(task.node_name)
        if row is None:
            return
        state = self._ssn.cycle_state(task)
        for reserving in self._reserving:
            error = reserving.reserve(state, task.pod.node_name)
            if error is not None:
                event.err = error
                filters.note_refused(self._ssn, task, error)
                if self._continues_refused:
                    break
                filters.note_not_restored(self._ssn, task, error)
                return
        if self._charge_devices(event):
            return
        self.view.add_pod(row, task.pod)
        if self._affinity is not None and self._affinity.overlooks_anti_affinity(task.pod, row):
            filters.note_overlooked_anti_affinity(self._ssn, task)

    def _charge_devices(self, event: Event) -> bool:
        """Charge the pod to the node's device ledgers; returns whether a ledger rejects the pod."""
        for ledger in self._ssn.nodes[event.task.node_name].devices.values():
            if ledger.has_device_request(event.task.pod):
                error = ledger.allocate(event.task.pod)
                if error is not None:
                    event.err = event.err if self._continues_refused else error
                    return True
        return False

    def _release_devices(self, task: TaskInfo) -> bool:
        """Release the pod's devices; returns whether the event handler continues."""
        for name, ledger in self._ssn.nodes[task.node_name].devices.items():
            released = ledger.release(task.pod) if ledger.has_device_request(task.pod) else ReleaseOutcome.FREE
            if released is ReleaseOutcome.REFUSED:
                return False
            if released is ReleaseOutcome.KEPT:
                filters.note_device_charged(self._ssn, task, name)
        return True

    def deallocate_func(self, event: Event) -> None:
        """Release reservations and remove the pod from the view. Upstream: plugins/predicates.runUnReservePlugins."""
        task = event.task
        row = self.view.row_of.get(task.node_name)
        if row is None:
            return
        state = self._ssn.cycle_state(task)
        for reserving in self._unreserving:
            reserving.unreserve(state, task.pod.node_name)
        if self._release_devices(task):
            self.view.remove_pod(row, task.pod.uid)


def _pre_predicate_error(filter_name: str, message: str) -> PluginError:
    return PluginError(f"plugin {filter_name} pre-predicates failed {message}")
