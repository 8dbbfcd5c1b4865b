"""Which instances of a card in MIG mode are taken.

Upstream: api/devices/config/vgpu (MigInUse, MigTemplateUsage).
"""

from __future__ import annotations

from bisect import insort


class UsedInstances:
    """The instances of one name that are taken, by their numbers, ascending."""

    __slots__ = ("memory", "name", "numbers")

    def __init__(self, name: str, memory: int, numbers: list[int]) -> None:
        self.name = name
        self.memory = memory
        self.numbers = numbers

    def take_number(self, number: int) -> None:
        """One that is taken already is not taken twice. Upstream: api/devices/nvidia/vgpu/mig.insert."""
        if number not in self.numbers:
            insort(self.numbers, number)

    def free_number(self, number: int) -> None:
        """Upstream: api/devices/nvidia/vgpu/mig.remove."""
        if number in self.numbers:
            self.numbers.remove(number)


class MigUse:
    """The geometry that a card is cut by, and what is taken of it."""

    __slots__ = ("geometry", "used")

    def __init__(self, geometry: int = -1, used: list[UsedInstances] | None = None) -> None:
        self.geometry = geometry
        """Position among the card's geometries; -1 before the first pod. It stays when the last pod leaves."""
        self.used = [] if used is None else used

    def find_used(self, name: str) -> UsedInstances | None:
        """What is taken of the instances of a name."""
        return next((one for one in self.used if one.name == name), None)

    def clone(self) -> MigUse:
        """Upstream: api/devices/nvidia/vgpu/utils.deepCopyMigInUse."""
        return MigUse(self.geometry, [UsedInstances(one.name, one.memory, list(one.numbers)) for one in self.used])
