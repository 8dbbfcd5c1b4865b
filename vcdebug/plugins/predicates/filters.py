"""The Kubernetes filters as the predicates plugin runs them: PreFilter, Filter, and their messages.

Upstream: plugins/predicates (predicateFn), k8s framework plugins.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from vcdebug.framework import quirks
from vcdebug.framework.session import Session
from vcdebug.gomath import int_div, int_mod
from vcdebug.kube import pod_affinity, topology_spread
from vcdebug.kube.dynamic_resources import NO_ALLOCATION
from vcdebug.kube.listers import Listers
from vcdebug.kube.node_view import CycleState, NodeView
from vcdebug.kube.ports import NO_FREE_PORTS
from vcdebug.kube.selector import SelectorError
from vcdebug.model import fit_errors
from vcdebug.model.names import BoolArray, Codes, IntArray
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases.nodes import POD_AFFINITY_UNRESOLVABLE


class PreFilterError(Exception):
    """Raised when PreFilter fails; the text is upstream's message."""


class KubernetesFilter(Protocol):
    """PreFilter and Filter of one Kubernetes plugin."""

    name: str
    decides_every_node: bool
    """Whether PreFilter decides the verdict of every node, whatever is placed there later."""

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        """Prepare the pod's state; False means Skip. Raises PreFilterError."""
        ...

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        """The filter's verdict for these rows."""
        ...


def run_filter(candidate: KubernetesFilter, chain: VerdictChain, pod: Pod, state: CycleState, rows: IntArray) -> None:
    """Run a filter on the rows that are still undecided."""
    alive = chain.alive_rows
    if np.count_nonzero(alive) == len(rows):
        chain.add_verdict(candidate.filter(pod, state, rows))
        return
    alive = alive.copy()
    verdict = candidate.filter(pod, state, rows[alive])
    index = np.zeros(len(rows), dtype=np.int64)
    index[alive] = verdict.failing_rows
    chain.add_verdict(verdict._replace(failing_rows=index))


class NodePortsFilter:
    """Rejects nodes whose host ports are taken."""

    name = "NodePorts"
    decides_every_node = False
    STATE = "PreFilterNodePorts"
    FAILED = fit_errors.FitStatus(fit_errors.UNSCHEDULABLE, NO_FREE_PORTS)

    def __init__(self, view: NodeView) -> None:
        self._view = view

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        ports = self._view.shapes.pod_shape(pod).ports
        if ports:
            state.data[self.STATE] = ports
        return bool(ports)

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        ports = state.data.get(self.STATE)
        if not isinstance(ports, tuple):
            return fail_all(
                fit_errors.FitStatus(fit_errors.ERROR, f'reading "{self.STATE}" from cycleState: not found'), len(rows)
            )
        conflicts = list(self._view.ports.conflicting_rows(ports))
        return fail_where(self.FAILED, np.isin(rows, conflicts))


class InterPodAffinityFilter:
    """Checks affinity and anti-affinity of the pod, and anti-affinity of pods already placed."""

    name = "InterPodAffinity"
    decides_every_node = True
    STATE = "PreFilterInterPodAffinity"
    MISSING = f'error reading "{STATE}" from cycleState: not found'
    STATUSES = (
        fit_errors.FitStatus(fit_errors.UNSCHEDULABLE_AND_UNRESOLVABLE, pod_affinity.AFFINITY_REASON),
        fit_errors.FitStatus(fit_errors.UNSCHEDULABLE, pod_affinity.ANTI_AFFINITY_REASON),
        fit_errors.FitStatus(fit_errors.UNSCHEDULABLE, pod_affinity.EXISTING_ANTI_AFFINITY_REASON),
    )
    UNRESOLVABLE = tuple(status._replace(code=fit_errors.UNSCHEDULABLE_AND_UNRESOLVABLE) for status in STATUSES)

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        final = listers.flags.release.has_older_form(POD_AFFINITY_UNRESOLVABLE)
        self._statuses = self.UNRESOLVABLE if final else self.STATUSES
        self._missing_code = fit_errors.UNSCHEDULABLE_AND_UNRESOLVABLE if final else fit_errors.ERROR
        self._check = pod_affinity.InterPodAffinity(view, pod_affinity.IncomingTermsTable(listers.namespace_labels))

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        shape = self._view.shapes.pod_shape(pod)
        if shape.affinity.error:
            raise PreFilterError(f"parsing pod: {shape.affinity.error}")
        counted = self._check.pre_filter(shape)
        if counted is None:
            return False
        state.data[self.STATE] = counted
        return True

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        counted = state.data.get(self.STATE)
        if not isinstance(counted, pod_affinity.AffinityState):
            return fail_all(fit_errors.FitStatus(self._missing_code, self.MISSING), len(rows))
        return FilterVerdict(self._statuses, self._check.filter(counted, rows))

    def overlooks_anti_affinity(self, pod: Pod, row: int) -> bool:
        """Whether later pods will not see the required anti-affinity of this pod on the node."""
        return self._check.overlooks_anti_affinity(self._view.shapes.pod_shape(pod), row)

    def simulate_pod(self, state: CycleState, other: Pod, row: int, sign: int) -> str | None:
        """Add another pod (sign 1) or remove it (-1) in a simulation; returns an error if the state is missing."""
        counted = state.data.get(self.STATE)
        if not isinstance(counted, pod_affinity.AffinityState):
            return self.MISSING
        self._check.update_counts(counted, self._view.shapes.pod_shape(other), row, sign)
        return None


class PodTopologySpreadFilter:
    """Checks hard topology spread constraints."""

    name = "PodTopologySpread"
    decides_every_node = True
    STATE = "PreFilterPodTopologySpread"
    STATUSES = (
        fit_errors.FitStatus(fit_errors.UNSCHEDULABLE_AND_UNRESOLVABLE, topology_spread.MISSING_LABEL_REASON),
        fit_errors.FitStatus(fit_errors.UNSCHEDULABLE, topology_spread.SKEWED_REASON),
    )

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self._gate = listers.flags.is_gate_on

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        try:
            constraints = self.hard_constraints(pod)
        except SelectorError as error:
            text = f"get constraints from pod: obtaining pod's hard topology spread constraints: {error}"
            raise PreFilterError(text) from error
        if not constraints:
            return False
        shapes = self._view.shapes
        state.data[self.STATE] = topology_spread.spread_verdicts(
            self._view, constraints, shapes.label_group(pod), shapes.node_constraints(pod)
        )
        return True

    def hard_constraints(self, pod: Pod) -> topology_spread.Constraints:
        """The pod's hard constraints; raises SelectorError."""
        return topology_spread.constraints_of(pod.spec, pod.labels, topology_spread.DO_NOT_SCHEDULE, self._gate)

    def domains_of(self, pod: Pod) -> Iterator[tuple[topology_spread.SpreadConstraint, topology_spread.SpreadDomains]]:
        """Yields the pod's hard constraints with their present domains."""
        constraints, shapes = self.hard_constraints(pod), self._view.shapes
        labelled = topology_spread.rows_with_all_keys(self._view, constraints)
        group, placement = shapes.label_group(pod), shapes.node_constraints(pod)
        for constraint in constraints:
            yield constraint, topology_spread.spread_domains(self._view, constraint, labelled, group, placement)

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        verdicts = state.data.get(self.STATE)
        if not isinstance(verdicts, np.ndarray):
            return fail_all(
                fit_errors.FitStatus(fit_errors.ERROR, f'reading "{self.STATE}" from cycleState: not found'), len(rows)
            )
        return FilterVerdict(self.STATUSES, verdicts[rows])


# Filter verdicts per row, and their combination into the codes of one predicate call.

INDEX_DTYPE = np.int64
TOO_MANY_PODS = fit_errors.FitStatus(fit_errors.UNSCHEDULABLE, fit_errors.POD_NUMBER_EXCEEDED, "predicates")


class FilterVerdict(NamedTuple):
    """A filter's verdict: per row 0 for success, or the number (from 1) of a status."""

    statuses: tuple[fit_errors.FitStatus, ...]
    failing_rows: IntArray


def fail_all(status: fit_errors.FitStatus, size: int) -> FilterVerdict:
    """A verdict with the same failure for every row."""
    return FilterVerdict((status,), np.ones(size, dtype=INDEX_DTYPE))


def fail_where(status: fit_errors.FitStatus, failing: BoolArray) -> FilterVerdict:
    """A verdict with the failure for the marked rows."""
    return FilterVerdict((status,), failing.astype(INDEX_DTYPE))


@cache
def single_code(code: int) -> Codes:
    """A read-only array with this one code, cached per code."""
    # Actions mostly ask about single nodes, and a new array would cost more than the rest of the call.
    codes: Codes = np.array([code], dtype=np.uint16)
    codes.flags.writeable = False
    return codes


class VerdictChain:
    """Appends statuses to the given codes, row by row; a status that aborts filtering closes its row."""

    def __init__(self, reasons: fit_errors.ReasonTable, codes: Codes, *, ends_at_first: bool = False) -> None:
        """With `ends_at_first` every status closes its row, but TOO_MANY_PODS counts only beside another one."""
        self._reasons = reasons
        self._ends_at_first = ends_at_first
        self._too_many_pods_code = reasons.code_of((TOO_MANY_PODS,)) if ends_at_first else 0
        self._codes: IntArray = codes.astype(INDEX_DTYPE)
        self.alive_rows: BoolArray = ~reasons.blocking_masks()[1][codes]
        """Mask of the rows that further filters check."""
        if ends_at_first:
            self.alive_rows = (codes == 0) | (codes == self._too_many_pods_code)

    @property
    def is_ended(self) -> bool:
        """Whether all rows are closed."""
        return not np.count_nonzero(self.alive_rows)

    def add_verdict(self, verdict: FilterVerdict) -> None:
        """Append the status of each failing row."""
        failing = self.alive_rows & (verdict.failing_rows > 0)
        if not np.count_nonzero(failing):
            return
        width = len(verdict.statuses) + 1
        pairs = self._codes[failing] * width + verdict.failing_rows[failing]
        # A shortcut for the common case that all rows fail alike: np.unique sorts.
        if np.count_nonzero(pairs == pairs[0]) == len(pairs):
            self._codes[failing], self.alive_rows[failing] = self._extend_code(int(pairs[0]), width, verdict)
            return
        distinct, inverse = np.unique(pairs, return_inverse=True)
        extended = [self._extend_code(pair, width, verdict) for pair in distinct.tolist()]
        self._codes[failing] = np.array([code for code, _ in extended], dtype=INDEX_DTYPE)[inverse]
        self.alive_rows[failing] = np.array([alive for _, alive in extended], dtype=np.bool_)[inverse]

    def _extend_code(self, pair: int, width: int, verdict: FilterVerdict) -> tuple[int, bool]:
        """(code with the new status appended, whether the row stays open)."""
        status = verdict.statuses[int_mod(pair, width) - 1]
        goes_on = status is TOO_MANY_PODS if self._ends_at_first else not fit_errors.blocks_preemption(status)
        return self._reasons.code_of((*self._reasons.statuses_of(int_div(pair, width)), status)), goes_on

    def row_codes(self) -> Codes:
        """The code of each row in the session's ReasonTable."""
        return self._codes.astype(np.uint16)


# Notes about upstream's quirks in predicates, added at the event where they take effect.

LOST_POD_TEXT = (
    "{} is back on {}, but the Kubernetes filters do not see it there until the session closes: Reserve answered `{}`"
)
PROMISED_TEXT = (
    "{} cannot be pipelined on {}: the pod does not say the node yet, so Reserve does not find the devices of its "
    "resource claims (`{}`)"
)


def note_refused(ssn: Session, task: TaskInfo, error: str) -> None:
    """Note that Reserve failed for a pipelined pod because the pod does not name its node yet."""
    if task.status is TaskStatus.PIPELINED and error == NO_ALLOCATION and task.pod.node_name != task.node_name:
        ssn.note_quirk(quirks.PROMISE_WITHOUT_NODE, PROMISED_TEXT, task.key, task.node_name, error)


def note_not_restored(ssn: Session, task: TaskInfo, error: str) -> None:
    """Note that Reserve failed when an eviction was undone: the pod is missing from the node view."""
    if task.status is TaskStatus.RUNNING:
        ssn.note_quirk(quirks.VIEW_LOST_POD, LOST_POD_TEXT, task.key, task.node_name, error)


def note_stays_skipped(ssn: Session, task: TaskInfo, filter_name: str) -> None:
    """Note that a filter applies to the task but stays skipped because it skipped the task before."""
    ssn.note_quirk(
        quirks.FILTER_STAYS_SKIPPED, f"{filter_name} was skipped once for {task.key} and stays skipped in this session"
    )


def note_overlooked_anti_affinity(ssn: Session, task: TaskInfo) -> None:
    """Note that later pods do not see the anti-affinity of this placed pod."""
    ssn.note_quirk(
        quirks.ANTI_AFFINITY_MISSED,
        f"required anti-affinity of {task.key} is not seen by later pods: {task.node_name} held no such pod when the "
        "session opened",
    )


def note_device_charged(ssn: Session, task: TaskInfo, device: str) -> None:
    """Note that undoing a placement does not free its cards."""
    ssn.note_quirk(
        quirks.DEVICE_STAYS_CHARGED,
        f"cards ({device}) on {task.node_name} stay charged for {task.key} until the session ends: they are looked up "
        "on the pod, which does not name them yet",
    )


def note_undecided_claims(ssn: Session, pod: Pod, cause: str) -> None:
    """Note that the replay cannot know which devices the pod's claims get."""
    ssn.note_quirk(
        quirks.CLAIMS_UNDECIDED,
        f"{pod.key} has resource claims that the scheduler would allocate now: "
        f"the replay lets every node pass ({cause})",
    )
