"""Amounts as plain numbers in one array: a Resource is made again only when somebody looks."""

from __future__ import annotations

from array import array

from vcdebug.model.resource import Resource

Place = int
"""Where in the array something begins."""
Shape = tuple[int, tuple[str, ...] | None]
"""What of a Resource is no amount: its largest number of tasks, and the names of its scalars (None for a nil map)."""


class AmountLog:
    """Amounts written one after the other; each begins with the number of its shape."""

    __slots__ = ("_shape_of", "_shapes", "numbers")

    def __init__(self) -> None:
        self.numbers = array("d")
        self._shapes: list[Shape] = []
        self._shape_of: dict[Shape, int] = {}

    def write(self, resource: Resource) -> Place:
        """Keep an amount as it is now."""
        numbers, scalars = self.numbers, resource.scalars
        place = len(numbers)
        if scalars:
            shape = self._number_of((resource.max_task_num, (*scalars,)))
            numbers.extend((shape, resource.milli_cpu, resource.memory, *scalars.values()))
        else:
            shape = self._number_of((resource.max_task_num, None if scalars is None else ()))
            numbers.extend((shape, resource.milli_cpu, resource.memory))
        return place

    def _number_of(self, shape: Shape) -> int:
        number = self._shape_of.get(shape)
        if number is None:
            number = self._shape_of[shape] = len(self._shapes)
            self._shapes.append(shape)
        return number

    def read(self, place: Place) -> Resource:
        """The amount that was written at a place: a new Resource each time."""
        numbers = self.numbers
        most, names = self._shapes[int(numbers[place])]
        scalars = None if names is None else dict(zip(names, numbers[place + 3 : place + 3 + len(names)], strict=True))
        return Resource(numbers[place + 1], numbers[place + 2], scalars, most)
