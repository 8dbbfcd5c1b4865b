"""Cards in MIG mode: a pod gets one of the instances that its card is cut into.

Upstream: api/devices/nvidia/vgpu/mig.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vcdebug.gomath import int_div
from vcdebug.model.devices.cards import Card, CardPart, FreedMemory
from vcdebug.model.devices.mig_use import UsedInstances
from vcdebug.model.devices.vgpu_held import HeldCard
from vcdebug.model.panics import SchedulerPanic
from vcdebug.snapshot.device_config import Geometries, Geometry, MigSettings, MigTemplate

MIG_MODE = "mig"
NOT_IN_GROUP = "runtime error: index out of range [-1]"
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)


class MigSharing:
    """Cards are cut by what the device configuration knows of their kind."""

    __slots__ = ("_factor", "_frees_requested", "counts_again", "mode")

    def __init__(self, factor: int, *, frees_requested: bool = False) -> None:
        """`factor`: of how much memory one unit of a request stands; `frees_requested`: a card gets back what the
        pod asked for, not what its instance has.
        """
        self.mode = MIG_MODE
        self.counts_again = False
        self._factor = max(factor, 1)
        self._frees_requested = frees_requested

    def try_add_pod(self, card: Card, memory: int) -> CardPart | None:
        """The smallest instance that holds as much; what this session has given away is not known here.
        Upstream: api/devices/nvidia/vgpu/mig.TryAddPod, api/devices/nvidia/vgpu/mig.findMatch.
        """
        wanted = memory * self._factor
        for geometry, used in _candidate_geometries(card):
            found = _pick_from_group(geometry, used, wanted)
            if found is not None:
                position, instance = found
                return CardPart(f"{card.uuid}[{geometry.group}-{position}]", int_div(instance.memory, self._factor))
        return None

    def add_pod(self, card: Card, held: HeldCard) -> int | None:
        """Upstream: api/devices/nvidia/vgpu/mig.AddPod, api/devices/nvidia/vgpu/mig.addMigUsed."""
        named = _decode_mig_id(held.uuid)
        if named is None:
            return None
        geometry = _use_geometry(card, named[0])
        if geometry is None:
            return 0
        instance, number = _find_position(geometry, named[1])
        used = card.mig.find_used(instance.name)
        if used is None:
            used = UsedInstances(instance.name, instance.memory, [])
            card.mig.used.append(used)
        used.take_number(number)
        return int_div(used.memory, self._factor)

    def sub_pod(self, card: Card, held: HeldCard) -> FreedMemory | None:
        """Upstream: api/devices/nvidia/vgpu/mig.SubPod, api/devices/nvidia/vgpu/mig.subMigUsed."""
        named = _decode_mig_id(held.uuid)
        if named is None:
            return None
        memory = int_div(self._free_instance(card, *named), self._factor)
        return FreedMemory(held.memory if self._frees_requested else memory, memory)

    def _free_instance(self, card: Card, group: str, position: int) -> int:
        geometry = _use_geometry(card, group)
        if geometry is None:
            return 0
        instance, number = _find_position(geometry, position)
        used = card.mig.find_used(instance.name)
        if used is None:
            return 0
        used.free_number(number)
        if not used.numbers:
            card.mig.used.remove(used)
        return used.memory


def geometries_of(kind: str, settings: MigSettings) -> Geometries | None:
    """How cards of a kind may be cut; None where the configuration does not know it.
    Upstream: api/devices/nvidia/vgpu/utils.extractGeometryFromType.
    """
    return next((known.geometries for known in settings.known if any(model in kind for model in known.models)), None)


def _candidate_geometries(card: Card) -> Iterator[tuple[Geometry, list[UsedInstances]]]:
    """The geometry that is in use, else each of them, of which nothing is taken."""
    if card.mig.geometry >= 0:
        yield card.geometries[card.mig.geometry], card.mig.used
    else:
        yield from ((geometry, []) for geometry in card.geometries)


def _pick_from_group(geometry: Geometry, used: list[UsedInstances], wanted: int) -> tuple[int, MigTemplate] | None:
    """(position, instance). Once something is taken, only the names of what is taken are looked at.
    Upstream: api/devices/nvidia/vgpu/mig.pickFromGroup.
    """
    for index, instance in sorted(enumerate(geometry.instances), key=lambda one: one[1].memory):
        if instance.memory < wanted:
            continue
        if not used:
            return _get_position(geometry, index, []), instance
        taken = next((one for one in used if one.name == instance.name and instance.number > len(one.numbers)), None)
        if taken is not None:
            return _get_position(geometry, index, taken.numbers), instance
    return None


def _get_position(geometry: Geometry, index: int, taken: list[int]) -> int:
    """The first number that is free, counted over all instances of the geometry.
    Upstream: api/devices/nvidia/vgpu/mig.getPosition.
    """
    before = 0
    for instance in geometry.instances[:index]:
        before += instance.number
    return before + next((number for number in range(geometry.instances[index].number) if number not in taken), 0)


def _find_position(geometry: Geometry, position: int) -> tuple[MigTemplate, int]:
    """The instance at a position, and its number among those of its name.
    Upstream: api/devices/nvidia/vgpu/mig.findPosition.
    """
    before = 0
    for instance in geometry.instances:
        if position < before + instance.number:
            return instance, position - before
        before += instance.number
    raise SchedulerPanic(NOT_IN_GROUP)


def _use_geometry(card: Card, group: str) -> Geometry | None:
    """The geometry of a name, by which the card is cut from now on."""
    for index, geometry in enumerate(card.geometries):
        if geometry.group == group:
            card.mig.geometry = index
            return geometry
    return None


def _decode_mig_id(uuid: str) -> tuple[str, int] | None:
    """(group, position) of `CARD[GROUP-POSITION]`. Upstream: api/devices/nvidia/vgpu/mig.decodeMIGID."""
    start, end = uuid.find("["), uuid.find("]")
    if start < 0 or end < start:
        return None
    parts = uuid[start + 1 : end].split("-")
    if len(parts) != 2 or _WHOLE.fullmatch(parts[1]) is None:
        return None
    return parts[0], int(parts[1])
