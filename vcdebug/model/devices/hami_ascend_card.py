"""Ascend NPUs as HAMi's device plugin registers them, with the usage of pods and the annotations.

Upstream: api/devices/device_info, api/devices/ascend/hami.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vcdebug.errors import NIL_POINTER_TEXT, SchedulerPanic
from vcdebug.gomath import MAX_FLOAT64
from vcdebug.grouping import group_by_key
from vcdebug.model.devices.vgpu_annotations import MEMORY_SHORT, ContainerRequest, HeldCard, parse_int32
from vcdebug.snapshot.device_config import NpuKind
from vcdebug.snapshot.manifest import Json, JsonObject

ANNOTATION_PREFIX = "hami.io"
BINPACK = "binpack"
SPREAD = "spread"
ALL_CORES = 100
ENTRY_FIELDS = 4
NETWORK_FIELD = "NetworkID"
ALLOCATED_SUFFIX = "-devices-allocated"
"""Suffix of the annotation by which a pod is charged."""
_INT32, _INT64, _UINT64 = (-(1 << 31), 1 << 31), (-(1 << 63), 1 << 63), (0, 1 << 64)
_NUMBER_BOUNDS = {"index": _UINT64, "count": _INT32, "devmem": _INT32, "devcore": _INT32, "numa": _INT64}
_TEXT_FIELDS = ("id", "type", "mode", "devicevendor")


class NpuRegistration(NamedTuple):
    """One card as the device plugin registers it."""

    uuid: str
    users: int
    """The number of pods that can use it."""
    memory: int
    cores: int
    networked: bool = False
    """Whether a network ID is stated."""
    network: int | None = None
    """The network ID; None if it is no number."""


class NpuUsage(NamedTuple):
    """Memory and cores of one pod on one card."""

    memory: int
    cores: int


class Npu:
    """One card with its pods."""

    __slots__ = ("pods", "registered", "used_cores", "used_memory", "used_number")

    def __init__(self, registered: NpuRegistration) -> None:
        self.registered = registered
        self.used_number = self.used_memory = self.used_cores = 0
        self.pods: dict[str, NpuUsage] = {}
        """Pod UID → the pod's usage."""

    @property
    def uuid(self) -> str:
        return self.registered.uuid

    def add_resource_usage(self, uid: str, memory: int, cores: int) -> None:
        """Add a pod. Upstream: api/devices/ascend/hami/device_info.AddResourceUsage."""
        self.pods[uid] = NpuUsage(memory, cores)
        self.used_number += 1
        self.used_memory += memory
        self.used_cores += cores

    def sub_resource_usage(self, uid: str, memory: int, cores: int) -> None:
        """Remove a pod with these amounts. Upstream: api/devices/ascend/hami/device_info.SubResourceUsage."""
        self.pods.pop(uid, None)
        self.used_number -= 1
        self.used_memory -= memory
        self.used_cores -= cores

    def clone(self) -> Npu:
        copy = Npu(self.registered)
        copy.used_number, copy.used_memory, copy.used_cores = self.used_number, self.used_memory, self.used_cores
        copy.pods = dict(self.pods)
        return copy

    def cal_score(self, policy: str, *, spread_idle: bool) -> float:
        """The card's score under the policy. Upstream: api/devices/ascend/hami/device_info.CalScore."""
        size = self.registered.memory
        if size == 0 and spread_idle:
            return 0.0
        if policy == SPREAD:
            return 100.0 if self.used_number == (0 if spread_idle else 1) else 0.0
        if policy != BINPACK:
            return 0.0
        # Go's division by a float 0 gives infinity or NaN, where Python raises.
        if size == 0:
            return math.copysign(math.inf, self.used_memory) if self.used_memory else math.nan
        return 100 * (float(self.used_memory) / float(size))


def misfit_reason(card: Npu, request: ContainerRequest, memory: int, cores: int) -> str:
    """Why a card of so many cores cannot serve; empty if it can. Upstream: api/devices/ascend/hami/device_info.fit."""
    if card.registered.users <= card.used_number:
        return "it has no user left"
    if card.registered.memory - card.used_memory < memory:
        return MEMORY_SHORT
    if cores - card.used_cores < request.cores:
        return "its cores are short"
    if cores == ALL_CORES and request.cores == ALL_CORES and card.used_number > 0:
        return "all of its cores are asked for, and a pod uses it"
    return "all of its cores are taken" if cores != 0 and card.used_cores == cores and request.cores == 0 else ""


def select_devices_with_topology(number: int, cards: Sequence[Npu]) -> list[Npu]:
    """At most `number` cards, beginning with the network that has most of them; without cards that have no network.
    Upstream: api/devices/ascend/hami/device_info.selectDevicesWithTopology.
    """
    numbered = ((card.registered.network, card) for card in cards)
    networks = group_by_key((network, card) for network, card in numbered if network is not None)
    selected: list[Npu] = []
    for members in sorted(networks.values(), key=len, reverse=True):
        for card in members:
            selected.append(card)
            if len(selected) == number:
                return selected
    return selected


def have_network_id(cards: Iterable[Npu]) -> bool:
    """Upstream: api/devices/ascend/hami/device_info.hasNetworkID."""
    return all(card.registered.networked for card in cards)


def network_share(cards: Iterable[Npu]) -> float | None:
    """The share of cards in the network with most of them; None if no card has a network."""
    counts: dict[int, int] = {}
    total = 0
    for network in (card.registered.network for card in cards):
        if network is not None:
            counts[network] = counts.get(network, 0) + 1
            total += 1
    return float(max(counts.values())) / float(total) if total else None


def unmarshal_node_devices(text: str) -> list[NpuRegistration]:
    """The cards in a node's annotation; none if any value has a wrong type, as Go's decoder then fails.
    Upstream: api/devices/device_info.UnMarshalNodeDevices.
    """
    try:
        cards = json.loads(text, parse_constant=_refuse_constant)
        return [_read_registration(card) for card in _check_type(cards, list) or ()]
    except (ValueError, RecursionError):
        return []


def _read_registration(card: Json) -> NpuRegistration:
    if card is None:
        raise SchedulerPanic(NIL_POINTER_TEXT)
    fields = {key.lower(): value for key, value in _check_type(card, dict).items()}
    texts = {name: _check_type(fields.get(name), str) or "" for name in _TEXT_FIELDS}
    numbers = {name: _check_integer(fields.get(name), *bounds) for name, bounds in _NUMBER_BOUNDS.items()}
    _check_type(fields.get("health"), bool)
    _check_pairs(_check_type(fields.get("devicepairscore"), dict) or {})
    custom: JsonObject = _check_type(fields.get("custominfo"), dict) or {}
    _check_floats(custom)
    network = custom.get(NETWORK_FIELD)
    number = None if isinstance(network, bool) or not isinstance(network, int | float) else int(network)
    network_fields = (NETWORK_FIELD in custom, number)
    return NpuRegistration(texts["id"], numbers["count"], numbers["devmem"], numbers["devcore"], *network_fields)


def _check_pairs(pairs: JsonObject) -> None:
    _check_type(pairs.get("uuid"), str)
    for score in (_check_type(pairs.get("score"), dict) or {}).values():
        _check_integer(score, *_INT64)


def _check_floats(value: Json) -> None:
    """Values without a type of their own: Go reads their numbers as float64, and refuses one beyond it."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _check_floats(part)
    elif isinstance(value, int | float) and not abs(value) <= MAX_FLOAT64:
        raise ValueError


def _check_type(value: Json, kind: type) -> Json:
    if value is not None and not isinstance(value, kind):
        raise ValueError
    return value


def _check_integer(value: Json, minimum: int, beyond: int) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value < beyond:
        raise ValueError
    return value


def _refuse_constant(text: str) -> Json:
    raise ValueError(text)


def encode_pod_single_device(kind: str, containers: Iterable[Iterable[HeldCard]]) -> str:
    """Upstream: api/devices/device_info.EncodePodSingleDevice."""
    return "".join(
        "".join(f"{card.uuid},{kind},{card.memory},{card.core}:" for card in cards) + ";" for cards in containers
    )


def runtime_text(cards: Iterable[HeldCard], kind: NpuKind | None) -> str:
    """The annotation for the container runtime: the cards' templates, or without a kind memory and cores."""
    parts: list[dict[str, str | int]] = []
    for card in cards:
        part: dict[str, str | int] = {"memory": card.memory, "core": card.core}
        fields = {"UUID": card.uuid, **(part if kind is None else {"temp": kind.trim_memory(card.memory)[1]})}
        parts.append({key: value for key, value in fields.items() if value})
    return json.dumps(parts or None, separators=(",", ":"))


def decode_container_devices(text: str) -> list[HeldCard]:
    """Cards of an annotation; a short entry voids all. Upstream: api/devices/device_info.DecodeContainerDevices."""
    # Upstream does not split at `;`, so that the first card of a second container has it in its UUID and is unknown.
    cards: list[HeldCard] = []
    for entry in text.split(":"):
        if "," not in entry:
            continue
        fields = entry.split(",")
        if len(fields) < ENTRY_FIELDS:
            return []
        cards.append(HeldCard(fields[0], parse_int32(fields[2]), parse_int32(fields[3])))
    return cards


class AnnotationKeys(NamedTuple):
    """The annotations of one kind of cards."""

    register: str
    allocated: str
    to_allocate: str
    runtime: str

    @classmethod
    def for_kind(cls, word: str) -> AnnotationKeys:
        """Upstream: api/devices/ascend/hami/device_info.InitDevices."""
        return cls(
            f"{ANNOTATION_PREFIX}/node-register-{word}",
            f"{ANNOTATION_PREFIX}/{word}{ALLOCATED_SUFFIX}",
            f"{ANNOTATION_PREFIX}/{word}-devices-to-allocate",
            f"huawei.com/{word}",
        )


NODE_ANNOTATION = f"{ANNOTATION_PREFIX}/vgpu-node"
PHASE_ANNOTATION = f"{ANNOTATION_PREFIX}/bind-phase"
SUCCESS = "success"
COMMON_KEYS = (
    NODE_ANNOTATION,
    f"{ANNOTATION_PREFIX}/vgpu-time",
    PHASE_ANNOTATION,
    f"{ANNOTATION_PREFIX}/bind-time",
    "predicate-time",
)
"""Annotations of a reservation for any kind of cards."""


def registered_cards(annotations: Mapping[str, str], keys: AnnotationKeys) -> Iterator[NpuRegistration]:
    """The node's cards of one kind; of several with one UUID the last one counts."""
    cards = {card.uuid: card for card in unmarshal_node_devices(annotations.get(keys.register, ""))}
    yield from cards.values()
