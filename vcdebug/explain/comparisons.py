"""Upstream's comparisons of resources in words: which dimensions count, what a missing one means, the tolerance.

Upstream: api/resource_info.
"""

from __future__ import annotations

from typing import Final

from vcdebug.amount_text import format_number

TOLERANCE_NOTE: Final = "more by less than 0.1 still fits"
LESS_EQUAL: Final = f"LessEqual, Zero: all dimensions; one that is not stated counts as 0; {TOLERANCE_NOTE}"
LESS_EQUAL_NAMES: Final = (
    "LessEqualWithResourcesName, Zero: all dimensions of the left side; one that is not stated counts as 0; "
    f"{TOLERANCE_NOTE}"
)
WITH_DIMENSION: Final = (
    "LessEqualWithDimensionAndResourcesName: dimensions that are asked for, pods left out; one that the limit does not "
    "state counts as 0; no tolerance"
)
LESS_EQUAL_PARTLY: Final = (
    "LessEqualPartlyWithDimensionZeroFiltered: one dimension that is asked for is enough, those left out in which both "
    f"sides hold nothing; {TOLERANCE_NOTE}"
)
GREATER_PARTLY: Final = (
    "GreaterPartlyWithRelevantDimensions: more in one dimension that is asked for and that the limit states; no "
    "tolerance"
)
MINIMUM_INFINITY: Final = (
    "MinDimensionResource, Infinity: a dimension that the capability does not state is not limited by it"
)
WITHIN_LIMIT: Final = f"{WITH_DIMENSION}; the limit itself: {MINIMUM_INFINITY}"
PARTLY_CLAIMED: Final = f"what is deserved: {LESS_EQUAL_PARTLY}; the limit: {WITH_DIMENSION}"
UNLIMITED_CLAIMED: Final = f"what is deserved: {LESS_EQUAL_PARTLY}"
WHOLLY_CLAIMED: Final = f"what is deserved and the limit: {WITH_DIMENSION}"
NOT_STATED: Final = "not stated: it counts as 0 (Zero)"


def tolerance_note(lacks: float) -> str:
    """Why a line holds although something is missing."""
    return f"short by {format_number(lacks)}, less than the tolerance of 0.1"
