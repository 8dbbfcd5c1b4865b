"""What somebody sets one after the other and calls by numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Generic, TypeVar

from vcdebug.errors import VcdebugError

Thing = TypeVar("Thing")


class NumberedList(Generic[Thing]):
    """Things by number; numbers are never used twice."""

    WHAT: ClassVar[str]
    MISSING: ClassVar[type[VcdebugError]]
    """What is raised for a number that nothing has."""

    def __init__(self) -> None:
        self._things: dict[int, Thing] = {}
        self._last = 0

    def __iter__(self) -> Iterator[Thing]:
        return iter(self._things.values())

    def __len__(self) -> int:
        return len(self._things)

    def __getitem__(self, number: int) -> Thing:
        if number not in self._things:
            raise self.MISSING(f"no {self.WHAT} {number}")
        return self._things[number]

    def remove(self, number: int) -> Thing:
        """Forget one."""
        thing = self[number]
        del self._things[number]
        return thing

    def clear(self) -> None:
        """Forget all."""
        self._things.clear()
