"""Amounts of pods as a real API server serves them, whatever the manifest says.

Upstream: k8s apimachinery resource (ParseQuantity, CanonicalizeBytes).
"""

from __future__ import annotations

from typing import Final

from vcdebug.snapshot.canonical import BINARY_SUFFIXES, binary_text, nano_text
from vcdebug.snapshot.json_values import Json, JsonObject
from vcdebug.snapshot.quantity import QuantityError, nano_value

AMOUNT_FIELDS: Final = ("requests", "limits", "overhead")
NANO: Final = 1_000_000_000
KIBI: Final = 1024


def canonical_pod(pod: JsonObject) -> JsonObject:
    """The pod with each binary fraction written as a whole number.

    The scheduler keeps a fraction by reference: each time that it sums such a request of a pod as a whole, the pod's
    overhead is added to the pod's own request. No server serves one, so that this is never seen in a cluster.
    """
    found = _canonical_part(pod)
    assert isinstance(found, dict)
    return found


def _canonical_part(part: Json, *, amounts: bool = False) -> Json:
    if isinstance(part, dict):
        return {name: _canonical_part(one, amounts=amounts or name in AMOUNT_FIELDS) for name, one in part.items()}
    if isinstance(part, list):
        return [_canonical_part(one) for one in part]
    if amounts and isinstance(part, str) and "." in part and part.endswith(BINARY_SUFFIXES[1:]):
        return canonical_amount(part)
    return part


def canonical_amount(text: str) -> str:
    """An amount with a binary suffix in whole units of the largest binary suffix, else of the largest decimal one."""
    try:
        nano = nano_value(text)
    except QuantityError:
        return text
    whole, rest = divmod(nano, NANO)  # exact: ints
    return nano_text(nano) if rest or whole < KIBI else binary_text(whole)
