"""A card that several pods share, by HAMi-core or in MIG mode.

Upstream: api/devices/nvidia/vgpu (device_info, sharing_factory, hamicore, mig), api/devices/config/vgpu (MigInUse,
MigTemplateUsage).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from vcdebug.errors import SchedulerPanic
from vcdebug.gomath import SHORT_INTEGER, int_div
from vcdebug.grouping import split_names
from vcdebug.model.devices.vgpu_annotations import HeldCard, pod_group_key
from vcdebug.model.pod import Pod
from vcdebug.snapshot.device_config import Geometries, Geometry, MigSettings, MigTemplate

HAMI_CORE = "hami-core"
UINT_SIZE = 1 << 64


class CardUsage:
    """Memory and cores of one pod on one card."""

    __slots__ = ("core", "group", "memory")

    def __init__(self, memory: int, core: int, group: str) -> None:
        self.memory = memory
        self.core = core
        self.group = group


class Card:
    """One physical card."""

    __slots__ = split_names("geometries kind memory mig number pods used_core used_memory used_number uuid")

    def __init__(self, uuid: str, number: int, memory: int, kind: str, geometries: Geometries = ()) -> None:
        self.uuid = uuid
        self.number = number
        self.memory = memory
        self.kind = kind
        self.used_number = self.used_memory = self.used_core = 0
        self.pods: dict[str, CardUsage] = {}
        self.geometries = geometries
        """The ways to divide the card in MIG mode."""
        self.mig = MigUse()

    def change_usage(self, memory: int, core: int, sign: int = 1) -> None:
        """Add a user with its memory and cores, or with sign -1 remove one."""
        self.used_number += sign
        self.used_memory += sign * memory
        self.used_core += sign * core

    def undo_charge(self, memory: int, core: int) -> None:
        """Undo a charge, never below 0; a count that has wrapped around is a large number.
        Upstream: api/devices/nvidia/vgpu/utils.checkNodeGPUSharingPredicateAndScore.
        """
        # Upstream's counts are uint: what is below 0 here is nearly 2^64 there, and stays above 0.
        self.used_number = max(self.used_number % UINT_SIZE - 1, 0)  # exact: ints
        self.used_memory = max(self.used_memory % UINT_SIZE - memory, 0)  # exact: ints
        self.used_core = max(self.used_core % UINT_SIZE - core, 0)  # exact: ints

    def add_pod_usage(self, pod: Pod, memory: int, core: int) -> None:
        usage = self.pods.setdefault(pod.uid, CardUsage(0, 0, ""))
        usage.memory += memory
        usage.core += core
        usage.group = pod_group_key(pod)

    def clone(self) -> Card:
        copy = Card(self.uuid, self.number, self.memory, self.kind, self.geometries)
        copy.change_usage(self.used_memory, self.used_core)
        copy.used_number = self.used_number
        copy.pods = {uid: CardUsage(usage.memory, usage.core, usage.group) for uid, usage in self.pods.items()}
        copy.mig = self.mig.clone()
        return copy


Cards = dict[int, Card]


class CardPart(NamedTuple):
    """The part of a card that a pod would get."""

    name: str
    """The part's name in the pod's annotation."""
    memory: int
    """The memory that the card is charged."""


class FreedMemory(NamedTuple):
    """Memory that is freed when a pod is removed."""

    by_card: int
    by_pod: int
    """The memory that is subtracted from the pod's own usage."""


class CardSharing(Protocol):
    """How the cards of a node are divided. Upstream: api/devices/nvidia/vgpu/sharing_factory (SharingFactory)."""

    mode: str
    counts_again: bool
    """Whether a pod that is already on a card is charged again."""

    def try_add_pod(self, card: Card, memory: int) -> CardPart | None:
        """The part of the card for a request of this memory; None if no part fits."""

    def add_pod(self, card: Card, held_card: HeldCard) -> int | None:
        """Take the part that an entry of a pod's annotation names, and return its memory; None for no valid part."""

    def sub_pod(self, card: Card, held_card: HeldCard) -> FreedMemory | None:
        """Free the part that an entry names; None for no valid part."""


class HamiCore:
    """HAMi-core divides cards into any amounts. Upstream: api/devices/nvidia/vgpu/hamicore."""

    __slots__ = ("counts_again", "mode")

    def __init__(self, *, counts_again: bool) -> None:
        self.mode = HAMI_CORE
        self.counts_again = counts_again

    def try_add_pod(self, card: Card, memory: int) -> CardPart:
        """Any amount. Upstream: api/devices/nvidia/vgpu/hamicore.TryAddPod."""
        return CardPart(card.uuid, memory)

    def add_pod(self, card: Card, held_card: HeldCard) -> int:
        """Upstream: api/devices/nvidia/vgpu/hamicore.AddPod."""
        return held_card.memory

    def sub_pod(self, card: Card, held_card: HeldCard) -> FreedMemory:
        """Upstream: api/devices/nvidia/vgpu/hamicore.SubPod."""
        return FreedMemory(held_card.memory, held_card.memory)


class UsedInstances:
    """The used instances of one name by number, ascending."""

    __slots__ = ("memory", "name", "numbers")

    def __init__(self, name: str, memory: int, numbers: list[int]) -> None:
        self.name = name
        self.memory = memory
        self.numbers = numbers

    def take_number(self, number: int) -> None:
        """Add a number unless it is used already. Upstream: api/devices/nvidia/vgpu/mig.insert."""
        if number not in self.numbers:
            insort(self.numbers, number)

    def free_number(self, number: int) -> None:
        """Upstream: api/devices/nvidia/vgpu/mig.remove."""
        if number in self.numbers:
            self.numbers.remove(number)


class MigUse:
    """The geometry of a card in MIG mode, and its used instances."""

    __slots__ = ("geometry", "used")

    def __init__(self, geometry: int = -1, used: list[UsedInstances] | None = None) -> None:
        self.geometry = geometry
        """Index in the card's geometries; -1 before the first pod. As upstream's, it is never reset."""
        self.used = [] if used is None else used

    def find_used(self, name: str) -> UsedInstances | None:
        return next((used for used in self.used if used.name == name), None)

    def clone(self) -> MigUse:
        """Upstream: api/devices/nvidia/vgpu/utils.deepCopyMigInUse."""
        return MigUse(self.geometry, [UsedInstances(used.name, used.memory, list(used.numbers)) for used in self.used])


MIG_MODE = "mig"
NOT_IN_GROUP = "runtime error: index out of range [-1]"


class MigSharing:
    """Cards in MIG mode: a pod gets one instance of a geometry that the device configuration lists."""

    __slots__ = ("_factor", "_frees_requested", "counts_again", "mode")

    def __init__(self, factor: int, *, frees_requested: bool = False) -> None:
        """`factor`: units per requested one; `frees_requested`: a release frees the request, not the instance."""
        self.mode = MIG_MODE
        self.counts_again = False
        self._factor = max(factor, 1)
        self._frees_requested = frees_requested

    def try_add_pod(self, card: Card, memory: int) -> CardPart | None:
        """The smallest free instance with enough memory; as upstream it ignores allocations of this session.
        Upstream: api/devices/nvidia/vgpu/mig.TryAddPod, api/devices/nvidia/vgpu/mig.findMatch.
        """
        min_memory = memory * self._factor
        for geometry, used in _candidate_geometries(card):
            match = _pick_from_group(geometry, used, min_memory)
            if match is not None:
                position, instance = match
                return CardPart(f"{card.uuid}[{geometry.group}-{position}]", int_div(instance.memory, self._factor))
        return None

    def add_pod(self, card: Card, held_card: HeldCard) -> int | None:
        """Upstream: api/devices/nvidia/vgpu/mig.AddPod, api/devices/nvidia/vgpu/mig.addMigUsed."""
        mig_id = _decode_mig_id(held_card.uuid)
        if mig_id is None:
            return None
        geometry = _use_geometry(card, mig_id[0])
        if geometry is None:
            return 0
        instance, number = _find_position(geometry, mig_id[1])
        used = card.mig.find_used(instance.name)
        if used is None:
            used = UsedInstances(instance.name, instance.memory, [])
            card.mig.used.append(used)
        used.take_number(number)
        return int_div(used.memory, self._factor)

    def sub_pod(self, card: Card, held_card: HeldCard) -> FreedMemory | None:
        """Upstream: api/devices/nvidia/vgpu/mig.SubPod, api/devices/nvidia/vgpu/mig.subMigUsed."""
        mig_id = _decode_mig_id(held_card.uuid)
        if mig_id is None:
            return None
        memory = int_div(self._free_instance(card, *mig_id), self._factor)
        return FreedMemory(held_card.memory if self._frees_requested else memory, memory)

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
    """The geometries of a kind of cards; None if the configuration does not list it.
    Upstream: api/devices/nvidia/vgpu/utils.extractGeometryFromType.
    """
    return next((entry.geometries for entry in settings.cards if any(model in kind for model in entry.models)), None)


def _candidate_geometries(card: Card) -> Iterator[tuple[Geometry, list[UsedInstances]]]:
    """(geometry, used instances): only the current geometry once there is one, else each as unused."""
    if card.mig.geometry >= 0:
        yield card.geometries[card.mig.geometry], card.mig.used
    else:
        yield from ((geometry, []) for geometry in card.geometries)


def _pick_from_group(geometry: Geometry, used: list[UsedInstances], min_memory: int) -> tuple[int, MigTemplate] | None:
    """(position, instance) of a free instance; if any is used, upstream considers only names that are in use.
    Upstream: api/devices/nvidia/vgpu/mig.pickFromGroup.
    """
    for index, instance in sorted(enumerate(geometry.instances), key=lambda pair: pair[1].memory):
        if instance.memory < min_memory:
            continue
        if not used:
            return _get_position(geometry, index, []), instance
        in_use = next(
            (
                used_instances
                for used_instances in used
                if used_instances.name == instance.name and instance.number > len(used_instances.numbers)
            ),
            None,
        )
        if in_use is not None:
            return _get_position(geometry, index, in_use.numbers), instance
    return None


def _get_position(geometry: Geometry, index: int, used_numbers: list[int]) -> int:
    """The position of the first free number of an instance, counted over all instances of the geometry.
    Upstream: api/devices/nvidia/vgpu/mig.getPosition.
    """
    offset = 0
    for instance in geometry.instances[:index]:
        offset += instance.number
    numbers = range(geometry.instances[index].number)
    return offset + next((number for number in numbers if number not in used_numbers), 0)


def _find_position(geometry: Geometry, position: int) -> tuple[MigTemplate, int]:
    """The instance at a position, and its number by name. Upstream: api/devices/nvidia/vgpu/mig.findPosition."""
    offset = 0
    for instance in geometry.instances:
        if position < offset + instance.number:
            return instance, position - offset
        offset += instance.number
    raise SchedulerPanic(NOT_IN_GROUP)


def _use_geometry(card: Card, group: str) -> Geometry | None:
    """Set and return the card's geometry by name; None for an unknown one."""
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
    if len(parts) != 2 or SHORT_INTEGER.fullmatch(parts[1]) is None:
        return None
    return parts[0], int(parts[1])
