"""The part of the Common Expression Language in which device selectors are written.

Upstream: k8s apiserver cel (Quantity, Semver), k8s dynamic-resource-allocation cel.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vcdebug.gomath import MAX_INT64, MIN_INT64
from vcdebug.snapshot.quantity import NANO_PER_UNIT, QuantityError, nano_value

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


class CelError(Exception):
    """A runtime error of the expression; the text is upstream's."""


class DefaultMap(dict[str, object]):
    """A map that gives an empty map for a missing key."""


class DeclaredFields(dict[str, object]):
    """An object with declared fields: an expression that names another field does not compile."""


class Quantity(NamedTuple):
    """An amount in 10^-9 units."""

    nano: int

    @classmethod
    def from_text(cls, text: object) -> Quantity:
        """Parse; raises Undecided."""
        try:
            return cls(nano_value(text))
        except QuantityError as error:
            raise Undecided(str(error)) from error

    def add_signed(self, other: Quantity | int, sign: int = 1) -> Quantity:
        """Add the amount (sign 1) or subtract it (sign -1)."""
        return Quantity(self.nano + sign * (other.nano if isinstance(other, Quantity) else other * NANO_PER_UNIT))

    @property
    def is_whole(self) -> bool:
        """Whether the amount is a whole number of units within int64."""
        return self.nano % NANO_PER_UNIT == 0 and MIN_INT64 <= self.nano // NANO_PER_UNIT <= MAX_INT64  # exact: ints


class Semver(NamedTuple):
    """A semantic version without its build metadata, which comparisons ignore."""

    major: int
    minor: int
    patch: int
    release: bool
    """False for a pre-release: sorts before True, as a pre-release does."""
    parts: tuple[tuple[bool, int, str], ...] = ()
    """Parts of a pre-release as (is a word, number, word): tuples sort numbers before words."""

    @classmethod
    def from_text(cls, text: str, *, normalize: bool = False) -> Semver:
        """Parse; raises Undecided."""
        match = _VERSION.fullmatch(_normalize_version(text) if normalize else text)
        if match is None:
            raise Undecided(f"{text!r} is not a version")
        major, minor, patch, suffix = match.groups()
        texts = suffix.split(".") if suffix else []
        parts = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in texts)
        return cls(int(major), int(minor), int(patch), not parts, parts)


def _normalize_version(text: str) -> str:
    """The text without a leading v, with three numbers, none with leading zeros."""
    numbers, mark, suffix = text.removeprefix("v").partition("-" if "-" in text else "+")
    numbers = ".".join([*numbers.split("."), "0", "0"][:3]) if numbers.count(".") < 2 else numbers
    return _LEADING_ZEROS.sub("", numbers) + mark + suffix


class Undecided(Exception):
    """Raised if the replay cannot tell what the real scheduler would decide; the text says why."""
