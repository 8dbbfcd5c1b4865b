"""Taints and cordons of all nodes; nodes with equal taints are decided once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vcdebug.kube.taints import (
    Taint,
    Tolerations,
    count_intolerable_preferences,
    first_untolerated,
    has_untolerated,
    parse_taints,
)
from vcdebug.model.names import BoolArray, IntArray
from vcdebug.snapshot.json_values import JsonObject


class NodeTaints:
    """Every node's taints as an id of a distinct list of taints."""

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
        """(per distinct list of taints the first one that keeps the pod off, the list of each row)."""
        return [first_untolerated(taints, tolerations) for taints in self._distinct], self._ids

    def intolerable_preferences(self, tolerations: Tolerations) -> IntArray:
        """Number of PreferNoSchedule taints per row that are not tolerated."""
        numbers = [count_intolerable_preferences(taints, tolerations) for taints in self._distinct]
        rows: IntArray = np.array(numbers, dtype=np.int64)[self._ids]
        return rows
