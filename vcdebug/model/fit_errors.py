"""Why a task does not fit a node: statuses as codes, and upstream's texts. Upstream: api/unschedule_info."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vcdebug.model.names import BoolArray, Codes, IntArray, NodeName, Row

SUCCESS = 0
ERROR = 1
UNSCHEDULABLE = 2
UNSCHEDULABLE_AND_UNRESOLVABLE = 3
WAIT = 4
SKIP = 5

ALL_NODES_UNAVAILABLE = "all nodes are unavailable"
POD_NUMBER_EXCEEDED = "node(s) pod number exceeded"
SHORTAGE_PREFIX = "Insufficient "

_ABORTING = (ERROR, UNSCHEDULABLE_AND_UNRESOLVABLE, WAIT, SKIP)


class FitStatus(NamedTuple):
    """One reason: a framework status code, its text, and the plugin that stamped it (empty for Kubernetes filters)."""

    code: int
    reason: str
    plugin: str = ""


def blocks_preemption(status: FitStatus) -> bool:
    """UnschedulableAndUnresolvable, Error, Skip or Wait: evictions would not help."""
    return status.code in _ABORTING


def wrap_insufficient_resource_reason(name: str) -> tuple[FitStatus, ...]:
    """The status of the actions' own resource check. Upstream: api/unschedule_info.WrapInsufficientResourceReason."""
    return (FitStatus(UNSCHEDULABLE, f"{SHORTAGE_PREFIX}{name}"),)


class ReasonTable:
    """Interns lists of statuses as codes, so that verdicts over nodes are arrays; 0 means that the task fits."""

    __slots__ = ("_codes", "_masks", "_shortages", "_statuses", "blocks_allocate", "blocks_preempt", "unresolvable")

    def __init__(self) -> None:
        self._codes: dict[tuple[FitStatus, ...], int] = {}
        self._shortages: dict[tuple[str, ...], Codes] = {}
        self._statuses: list[tuple[FitStatus, ...]] = [()]
        self.blocks_allocate: list[bool] = [False]
        self.blocks_preempt: list[bool] = [False]
        self.unresolvable: list[bool] = [False]
        self._masks: tuple[BoolArray, BoolArray] | None = None

    def code_of(self, statuses: tuple[FitStatus, ...]) -> int:
        """The code of these statuses, at least 1."""
        code = self._codes.get(statuses)
        if code is not None:
            return code
        number = len(self._statuses)
        self._codes[statuses] = number
        self._masks = None
        self._statuses.append(statuses)
        self.blocks_allocate.append(any(s.code != SUCCESS for s in statuses))
        self.blocks_preempt.append(any(blocks_preemption(s) for s in statuses))
        self.unresolvable.append(any(s.code == UNSCHEDULABLE_AND_UNRESOLVABLE for s in statuses))
        return number

    def blocking_masks(self) -> tuple[BoolArray, BoolArray]:
        """Two arrays: per code, whether it excludes a node in allocate, and whether in preempt."""
        masks = self._masks
        if masks is None:
            allocate, preempt = np.array(self.blocks_allocate), np.array(self.blocks_preempt)
            masks = self._masks = (allocate, preempt)
        return masks

    def shortage_codes(self, names: tuple[str, ...]) -> Codes:
        """The codes of `Insufficient <name>` by the name's position from 1; 0 at 0."""
        code_array = self._shortages.get(names)
        if code_array is None:
            codes = [0, *(self.code_of(wrap_insufficient_resource_reason(name)) for name in names)]
            code_array = self._shortages[names] = np.array(codes, dtype=np.uint16)
        return code_array

    def error_code(self, text: str) -> int:
        """The code of a Go error, which upstream turns into one status Error."""
        return self.code_of((FitStatus(ERROR, text),))

    def adopt_codes(self, other: ReasonTable, code: int) -> bool:
        """Add another table's codes up to `code`, so that its arrays can be reused; returns False if codes differ."""
        checked = len(self._statuses)
        if self._statuses != other._statuses[:checked]:
            return False
        for statuses in other._statuses[checked : code + 1]:
            self.code_of(statuses)
        return True

    def statuses_of(self, code: int) -> tuple[FitStatus, ...]:
        return self._statuses[code]

    def __len__(self) -> int:
        return len(self._statuses)


def fit_error_text(task_key: str, node: NodeName, statuses: Sequence[FitStatus]) -> str:
    """FitError.Error(): `task ns/name on node n fit failed: a, b`."""
    return f"task {task_key} on node {node} fit failed: {', '.join(s.reason for s in statuses if s.reason)}"


class FitErrors:
    """A task's errors: rows of nodes with codes; text on demand. Upstream: api/unschedule_info.NewFitErrors."""

    __slots__ = ("_codes", "_reasons", "_rows", "err", "hyper_node")

    def __init__(self, reasons: ReasonTable, err: str = "") -> None:
        self._reasons = reasons
        self._rows: list[IntArray] = []
        self._codes: list[Codes] = []
        self.err = err
        self.hyper_node = ""

    def set_nodes(self, rows: IntArray, codes: Codes) -> None:
        """Record one code per row; a row recorded again keeps the later code."""
        if len(rows):
            self._rows.append(rows)
            self._codes.append(codes)

    def set_node(self, row: Row, code: int) -> None:
        """Record one node's code. Upstream: api/unschedule_info.SetNodeError."""
        self.set_nodes(np.array([row], dtype=np.int64), np.array([code], dtype=np.uint16))

    def codes_by_row(self) -> dict[Row, int]:
        result: dict[Row, int] = {}
        for rows, codes in zip(self._rows, self._codes, strict=True):
            result.update(zip(rows.tolist(), codes.tolist(), strict=True))
        return result

    def unresolvable_rows(self) -> list[Row]:
        """Rows whose statuses contain UnschedulableAndUnresolvable.
        Upstream: api/unschedule_info.GetUnschedulableAndUnresolvableNodes.
        """
        flags = self._reasons.unresolvable
        return [row for row, code in self.codes_by_row().items() if flags[code]]

    def _count_nodes_by_code(self) -> list[int]:
        """How many nodes have each code."""
        # Later records overwrite earlier ones of the same row, as in upstream's map; then each row counts once.
        last = np.full(max((int(rows.max()) for rows in self._rows), default=-1) + 1, -1, dtype=np.int64)
        for rows, codes in zip(self._rows, self._codes, strict=True):
            last[rows] = codes
        counts: list[int] = np.bincount(last[last >= 0]).tolist()
        return counts

    def _reason_lines(self, node_counts: list[int]) -> list[str]:
        """Upstream: api/unschedule_info.sortReasonsHistogram."""
        counts: dict[str, int] = {}
        for code, count in enumerate(node_counts):
            for status in self._reasons.statuses_of(code) if count else ():
                if status.reason:
                    counts[status.reason] = counts.get(status.reason, 0) + count
        return sorted(f"{count} {reason}" for reason, count in counts.items())

    def error_text(self) -> str:
        """`0/2 nodes are unavailable: 2 Insufficient nvidia.com/gpu.` Upstream: api/unschedule_info.Error."""
        nodes = self._count_nodes_by_code()
        # Upstream memoises the opening: its number of nodes stays even if more are recorded later.
        if not self.err:
            self.err = f"0/{sum(nodes)} nodes are unavailable"  # exact: ints
        if not nodes:
            return self.err
        prefix = f"In hyperNode {self.hyper_node}: " if self.hyper_node else ""
        return f"{prefix}{self.err}: {', '.join(self._reason_lines(nodes))}."
