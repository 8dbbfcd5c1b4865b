"""Filter verdicts per row, and how they add up to the codes of one predicate call.

Upstream: plugins/predicates (predicateFn).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from vcdebug.gomath import div, mod
from vcdebug.model.fiterror import POD_NUMBER_EXCEEDED, UNSCHEDULABLE, ReasonTable, Status, aborts
from vcdebug.model.names import BoolArray, Codes, IntArray

INDEX = np.int64
TOO_MANY_PODS = Status(UNSCHEDULABLE, POD_NUMBER_EXCEEDED, "predicates")


class Verdict(NamedTuple):
    """One filter's answer: per row 0 for success, or the position (from 1) of a status."""

    statuses: tuple[Status, ...]
    failing: IntArray


def everywhere(status: Status, size: int) -> Verdict:
    """The same failure on every row."""
    return Verdict((status,), np.ones(size, dtype=INDEX))


def where(status: Status, failing: BoolArray) -> Verdict:
    """The failure on some rows."""
    return Verdict((status,), failing.astype(INDEX))


@cache
def alone(code: int) -> Codes:
    """The answer for one node, kept once; read only."""
    codes: Codes = np.array([code], dtype=np.uint16)
    codes.flags.writeable = False
    return codes


class Chain:
    """Collects statuses per row, going on from the codes given; a row whose last status aborts takes no more."""

    def __init__(self, reasons: ReasonTable, codes: Codes) -> None:
        self._reasons = reasons
        self._codes: IntArray = codes.astype(INDEX)
        self._alive: BoolArray = ~reasons.blocking()[1][codes]

    @property
    def alive(self) -> BoolArray:
        """Rows that further filters are asked about."""
        return self._alive

    @property
    def ended(self) -> bool:
        """Whether no row is left."""
        return not np.count_nonzero(self._alive)

    def add(self, verdict: Verdict) -> None:
        """Append each failing row's status."""
        failing = self._alive & (verdict.failing > 0)
        if not np.count_nonzero(failing):
            return
        width = len(verdict.statuses) + 1
        pairs = self._codes[failing] * width + verdict.failing[failing]
        if np.count_nonzero(pairs == pairs[0]) == len(pairs):
            self._codes[failing], self._alive[failing] = self._extend(int(pairs[0]), width, verdict)
            return
        distinct, inverse = np.unique(pairs, return_inverse=True)
        extended = [self._extend(pair, width, verdict) for pair in distinct.tolist()]
        self._codes[failing] = np.array([code for code, _ in extended], dtype=INDEX)[inverse]
        self._alive[failing] = np.array([alive for _, alive in extended], dtype=np.bool_)[inverse]

    def _extend(self, pair: int, width: int, verdict: Verdict) -> tuple[int, bool]:
        """(code with the new status appended, whether the row goes on)."""
        status = verdict.statuses[mod(pair, width) - 1]
        return self._reasons.code((*self._reasons.statuses(div(pair, width)), status)), not aborts(status)

    def codes(self) -> Codes:
        """One code of the session's ReasonTable per row."""
        return self._codes.astype(np.uint16)
