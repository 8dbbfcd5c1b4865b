"""Compares two traces event by event, and names the first difference and its plugin or action."""

import gzip
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

Event = Mapping[str, Any]
Steps = tuple[str | int, ...]
"""A path into an event: keys and positions."""

RELATIVE = 1e-12
ABSOLUTE = 1e-9
LABELS = ("seq",)
"""Fields that only number an event; they are not compared."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first event that differs from the expected one."""

    number: int
    steps: Steps
    expected: Event | None
    actual: Event | None

    def __str__(self) -> str:
        return "\n".join(
            [
                f"event {self.number} differs at {' / '.join(map(str, self.steps)) or 'its end'}: {self._subject()}",
                f"  expected {_shown(self.expected, self.steps)}",
                f"  actual   {_shown(self.actual, self.steps)}",
                f"  expected event {_text(self.expected)}",
                f"  actual event   {_text(self.actual)}",
            ]
        )

    def _subject(self) -> str:
        event = self.expected or self.actual or {}
        names = ("ev", "point", "plugin", "action", "op", "what", "when", "job", "task", "queue", "node")
        return " ".join(str(event[name]) for name in names if isinstance(event.get(name), str))


def first_difference(expected: Iterable[Event], actual: Iterable[Event]) -> Difference | None:
    """The first difference between two traces; None if they are equal."""
    for number, (left, right) in enumerate(zip_longest(expected, actual), start=1):
        if left is None or right is None:
            return Difference(number, (), left, right)
        steps = first_step_apart(_decisive(left), _decisive(right))
        if steps is not None:
            return Difference(number, steps, left, right)
    return None


def first_difference_of_lines(expected: Iterable[str], actual: Iterable[str]) -> Difference | None:
    """The first difference between two traces as text; only lines with different text are parsed."""
    for number, (left, right) in enumerate(zip_longest(expected, actual), start=1):
        if left == right:
            continue
        found = first_difference(_events(left), _events(right))
        if found is not None:
            return replace(found, number=number)
    return None


def first_step_apart(left: Any, right: Any) -> Steps | None:
    """The path to the first value that differs, in key order; None if the values are equal."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return _differing_key(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return _differing_item(left, right)
    if _is_number(left) and _is_number(right):
        return None if math.isclose(left, right, rel_tol=RELATIVE, abs_tol=ABSOLUTE) else ()
    return None if type(left) is type(right) and left == right else ()


def read_lines(path: Path) -> list[str]:
    """The events of a .jsonl.gz file as text."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines if line.strip()]


@lru_cache(maxsize=1)
def read_trace(path: Path) -> Sequence[Event]:
    """The events of a .jsonl.gz file, cached for the tests of one case, which run in a row."""
    return tuple([json.loads(line) for line in read_lines(path)])


def _events(line: str | None) -> list[Event]:
    return [] if line is None else [json.loads(line)]


def _differing_key(left: Mapping[str, Any], right: Mapping[str, Any]) -> Steps | None:
    for key in sorted({*left, *right}):
        if key not in left or key not in right:
            return (key,)
        inner = first_step_apart(left[key], right[key])
        if inner is not None:
            return (key, *inner)
    return None


def _differing_item(left: Sequence[Any], right: Sequence[Any]) -> Steps | None:
    for index, (one, other) in enumerate(zip(left, right, strict=False)):
        inner = first_step_apart(one, other)
        if inner is not None:
            return (index, *inner)
    return None if len(left) == len(right) else (min(len(left), len(right)),)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decisive(event: Event) -> Event:
    return {key: value for key, value in event.items() if key not in LABELS}


def _shown(event: Event | None, steps: Steps) -> str:
    value: Any = event
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return f"nothing there, in {_text(value)}"
    return _text(value)


def _text(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= 400 else text[:400] + " ..."
