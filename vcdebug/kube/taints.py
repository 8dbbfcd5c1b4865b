"""Taints and tolerations.

Upstream: k8s component-helpers corev1 (tolerations), plugins nodeunschedulable and tainttoleration.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from vcdebug.model.names import BoolArray, IntArray
from vcdebug.snapshot.manifest import JsonObject, spec_of, status_of

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"
UNSCHEDULABLE_TAINT_KEY = "node.kubernetes.io/unschedulable"
UNREADY_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class Taint(Struct, frozen=True):
    """A node's taint."""

    key: str
    value: str
    effect: str


class Toleration(Struct, frozen=True):
    """A pod's toleration."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates_taint(self, taint: Taint) -> bool:
        """Whether this toleration accepts the taint; an empty key or effect matches any."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        # An empty key with Equal compares values only, as upstream does; validation excludes it.
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


Tolerations = tuple[Toleration, ...]

UNSCHEDULABLE_TAINT = Taint(UNSCHEDULABLE_TAINT_KEY, "", NO_SCHEDULE)


def parse_taints(raw: Sequence[JsonObject] | None) -> tuple[Taint, ...]:
    """spec.taints of a node."""
    return tuple(Taint(t.get("key") or "", t.get("value") or "", t.get("effect") or "") for t in raw or ())


def parse_tolerations(raw: Sequence[JsonObject] | None) -> Tolerations:
    """spec.tolerations of a pod."""
    return tuple(
        Toleration(t.get("key") or "", t.get("operator") or "", t.get("value") or "", t.get("effect") or "")
        for t in raw or ()
    )


def is_tolerated(taint: Taint, tolerations: Tolerations) -> bool:
    """Whether some toleration accepts the taint."""
    return any(toleration.tolerates_taint(taint) for toleration in tolerations)


def tolerates_cordon(tolerations: Tolerations) -> bool:
    """Whether a pod may go to a cordoned node."""
    return is_tolerated(UNSCHEDULABLE_TAINT, tolerations)


def has_untolerated(taints: Sequence[Taint], tolerations: Tolerations) -> bool:
    """Whether some NoSchedule or NoExecute taint is not tolerated."""
    return any(taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not is_tolerated(taint, tolerations) for taint in taints)


def first_untolerated(taints: Sequence[Taint], tolerations: Tolerations) -> Taint | None:
    """The first NoSchedule or NoExecute taint that is not tolerated."""
    keeping = (taint for taint in taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE))
    return next((taint for taint in keeping if not is_tolerated(taint, tolerations)), None)


def count_intolerable_preferences(taints: Sequence[Taint], tolerations: Tolerations) -> int:
    """The number of PreferNoSchedule taints that the pod does not tolerate."""
    return len([taint for taint, accepted in soft_taints(taints, tolerations) if not accepted])


def soft_taints(taints: Sequence[Taint], tolerations: Tolerations) -> Iterator[tuple[Taint, bool]]:
    """Yield (taint, whether the pod tolerates it) for each PreferNoSchedule taint."""
    # Upstream filters the tolerations first: one for NoSchedule never accepts a soft taint.
    relevant = tuple(t for t in tolerations if t.effect in ("", PREFER_NO_SCHEDULE))
    for taint in taints:
        if taint.effect == PREFER_NO_SCHEDULE:
            yield taint, is_tolerated(taint, relevant)


# For fixes: no fix may move a pod to a node that is cordoned or reports trouble.

CONTROL_PLANE_PREFIXES: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Prefixes of taints that the control plane sets and removes itself."""


def is_unfit(node: JsonObject) -> bool:
    """Whether the node is cordoned, not Ready, or reports trouble."""
    conditions = status_of(node).get("conditions") or ()
    return bool(spec_of(node).get("unschedulable")) or any(_is_unhealthy(condition) for condition in conditions)


def _is_unhealthy(condition: JsonObject) -> bool:
    """Whether a node condition reports trouble: Ready that is not True, or any other condition that is True."""
    return (condition.get("status") == "True") == (condition.get("type") != "Ready")


def may_be_lifted(taint: Taint, node: JsonObject) -> bool:
    """Whether a fix may remove the taint: it was set by hand, and the node reports no trouble."""
    by_hand = bool(taint.key) and not taint.key.startswith(CONTROL_PLANE_PREFIXES)
    return by_hand and taint.effect != PREFER_NO_SCHEDULE and not is_unfit(node)


def may_be_tolerated(taint: Taint, node: JsonObject) -> bool:
    """Whether a fix may add a toleration: as may_be_lifted, but never for NoExecute taints."""
    return may_be_lifted(taint, node) and taint.effect != NO_EXECUTE


class NodeTaints:
    """Taints and cordons of all nodes; nodes with equal taints share an id, for which checks run once."""

    def __init__(self, specs: Sequence[JsonObject]) -> None:
        self.cordoned: BoolArray = np.array([bool(spec.get("unschedulable")) for spec in specs], dtype=np.bool_)
        id_of: dict[tuple[Taint, ...], int] = {}
        ids = [id_of.setdefault(parse_taints(spec.get("taints")), len(id_of)) for spec in specs]
        self._ids: IntArray = np.array(ids, dtype=np.int64)
        self._distinct = tuple(id_of)

    def untolerated_rows(self, tolerations: Tolerations) -> BoolArray:
        """Rows with a NoSchedule or NoExecute taint that is not tolerated."""
        verdicts = [has_untolerated(taints, tolerations) for taints in self._distinct]
        rows: BoolArray = np.array(verdicts, dtype=np.bool_)[self._ids]
        return rows

    def first_untolerated(self, tolerations: Tolerations) -> tuple[list[Taint | None], IntArray]:
        """(first untolerated taint per distinct list of taints, id of each row's list)."""
        return [first_untolerated(taints, tolerations) for taints in self._distinct], self._ids

    def intolerable_preferences(self, tolerations: Tolerations) -> IntArray:
        """Number of PreferNoSchedule taints per row that are not tolerated."""
        numbers = [count_intolerable_preferences(taints, tolerations) for taints in self._distinct]
        rows: IntArray = np.array(numbers, dtype=np.int64)[self._ids]
        return rows
