"""Taints and tolerations.

Upstream: k8s component-helpers corev1 (tolerations), plugins nodeunschedulable and tainttoleration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vcdebug.snapshot.json_values import JsonObject

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"
UNSCHEDULABLE_TAINT_KEY = "node.kubernetes.io/unschedulable"


class Taint(NamedTuple):
    """A node's taint."""

    key: str
    value: str
    effect: str


class Toleration(NamedTuple):
    """A pod's toleration."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates_taint(self, taint: Taint) -> bool:
        """Whether this toleration accepts the taint; an empty key or effect stands for any."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
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
    """How many PreferNoSchedule taints the pod does not tolerate."""
    return len([taint for taint, accepted in soft_taints(taints, tolerations) if not accepted])


def soft_taints(taints: Sequence[Taint], tolerations: Tolerations) -> Iterator[tuple[Taint, bool]]:
    """Each PreferNoSchedule taint, and whether the pod tolerates it."""
    relevant = tuple(t for t in tolerations if t.effect in ("", PREFER_NO_SCHEDULE))
    for taint in taints:
        if taint.effect == PREFER_NO_SCHEDULE:
            yield taint, is_tolerated(taint, relevant)
