"""Filter verdicts per row, and how they add up to the codes of one predicate call.

Upstream: plugins/predicates (predicateFn).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from vcdebug.gomath import int_div, int_mod
from vcdebug.model.fiterror import POD_NUMBER_EXCEEDED, UNSCHEDULABLE, FitStatus, ReasonTable, blocks_preemption
from vcdebug.model.names import BoolArray, Codes, IntArray

INDEX_DTYPE = np.int64
TOO_MANY_PODS = FitStatus(UNSCHEDULABLE, POD_NUMBER_EXCEEDED, "predicates")


class FilterVerdict(NamedTuple):
    """One filter's answer: per row 0 for success, or the position (from 1) of a status."""

    statuses: tuple[FitStatus, ...]
    failing: IntArray


def fail_all(status: FitStatus, size: int) -> FilterVerdict:
    """The same failure on every row."""
    return FilterVerdict((status,), np.ones(size, dtype=INDEX_DTYPE))


def fail_where(status: FitStatus, failing: BoolArray) -> FilterVerdict:
    """The failure on some rows."""
    return FilterVerdict((status,), failing.astype(INDEX_DTYPE))


@cache
def single_code(code: int) -> Codes:
    """The answer for one node, kept once; read only."""
    codes: Codes = np.array([code], dtype=np.uint16)
    codes.flags.writeable = False
    return codes


class VerdictChain:
    """Collects statuses per row, going on from the codes given; a row whose last status aborts takes no more."""

    def __init__(self, reasons: ReasonTable, codes: Codes) -> None:
        self._reasons = reasons
        self._codes: IntArray = codes.astype(INDEX_DTYPE)
        self._alive: BoolArray = ~reasons.blocking_masks()[1][codes]

    @property
    def alive_rows(self) -> BoolArray:
        """Rows that further filters are asked about."""
        return self._alive

    @property
    def is_ended(self) -> bool:
        """Whether no row is left."""
        return not np.count_nonzero(self._alive)

    def add_verdict(self, verdict: FilterVerdict) -> None:
        """Append each failing row's status."""
        failing = self._alive & (verdict.failing > 0)
        if not np.count_nonzero(failing):
            return
        width = len(verdict.statuses) + 1
        pairs = self._codes[failing] * width + verdict.failing[failing]
        if np.count_nonzero(pairs == pairs[0]) == len(pairs):
            self._codes[failing], self._alive[failing] = self._extend_code(int(pairs[0]), width, verdict)
            return
        distinct, inverse = np.unique(pairs, return_inverse=True)
        extended = [self._extend_code(pair, width, verdict) for pair in distinct.tolist()]
        self._codes[failing] = np.array([code for code, _ in extended], dtype=INDEX_DTYPE)[inverse]
        self._alive[failing] = np.array([alive for _, alive in extended], dtype=np.bool_)[inverse]

    def _extend_code(self, pair: int, width: int, verdict: FilterVerdict) -> tuple[int, bool]:
        """(code with the new status appended, whether the row goes on)."""
        status = verdict.statuses[int_mod(pair, width) - 1]
        return self._reasons.code_of((*self._reasons.statuses_of(int_div(pair, width)), status)), not blocks_preemption(
            status
        )

    def row_codes(self) -> Codes:
        """One code of the session's ReasonTable per row."""
        return self._codes.astype(np.uint16)
