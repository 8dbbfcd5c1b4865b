"""GPU cards shared by memory, or taken by number.

Upstream: api/devices/nvidia/gpushare, api/node_info.setNodeOthersResource, api/shared_device_pool.IsNilDevice.
Differs: whole cards are taken lowest index first, where upstream reads a map, or as a real scheduler took them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from vcdebug.errors import NIL_POINTER_TEXT, ProcessExit, SchedulerPanic, blame_objects
from vcdebug.gomath import SHORT_INTEGER, int_div
from vcdebug.model.devices import ReleaseOutcome, whole_limit
from vcdebug.model.devices.vgpu import DEVICE_NAME as VGPU
from vcdebug.model.devices.vgpu import asks_vgpu
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.releases import devices as changes
from vcdebug.releases.release import ReleaseRules, rule_of
from vcdebug.snapshot.cycle_inputs import ASCENDING, MapOrder
from vcdebug.snapshot.device_config import VgpuNames
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.quantity import whole_value

MOST_CARDS = 100_000
"""Maximum number of replayed cards per node: a wrong capacity must not exhaust the memory."""
DEVICE_NAME = "GpuShare"
GPU_MEMORY = "volcano.sh/gpu-memory"
GPU_NUMBER = "volcano.sh/gpu-number"
GPU_INDEX = "volcano.sh/gpu-index"
UNHEALTHY_ANNOTATION = "volcano.sh/gpu-unhealthy-ids"

_UINT64 = 1 << 64


@dataclass(frozen=True, slots=True)
class ShareRules(ReleaseRules):
    """How cards are charged."""

    wraps_free_memory: bool = rule_of(changes.GPUSHARE_IDLE_WRAPS)
    """Free memory of an overcommitted card wraps around to nearly 2^64."""
    by_index: bool = rule_of(changes.GPUSHARE_RELEASE_BY_INDEX)
    """A release frees only cards that the pod's own annotation names, not those chosen in this session."""
    shared: bool = rule_of(changes.DEVICES_SHARED_WITH_CACHE)
    """Copies of a node share one ledger."""
    takes_both: bool = rule_of(changes.GPUSHARE_MEMORY_AND_NUMBER)
    """A pod that asks for memory and for whole cards gets both."""
    charges_memory_only: bool = rule_of(changes.GPUSHARE_NUMBER_UNCHARGED)
    """A pod that requests whole cards is no longer charged once it is on its node."""
    ordering: MapOrder = ASCENDING
    drawn: Mapping[str, str] = field(default_factory=dict)
    """Pod → the cards that a real scheduler gave it, separated by semicolons."""


NEWEST_SHARE_RULES = ShareRules()


class GpuShareLedger:
    """Cards by index, each with the pods on it."""

    __slots__ = ("_cards", "card_memory", "_node", "_number_on", "_patched", "_rules", "_sharing_on")

    def __init__(
        self,
        node: str,
        memory: int,
        indexes: list[int],
        *,
        sharing_on: bool,
        number_on: bool,
        rules: ShareRules = NEWEST_SHARE_RULES,
    ) -> None:
        self._rules = rules
        self._patched: dict[str, list[int]] = {}
        """Pod UID → the cards in the API server's pod, for pods that the session has changed."""
        self._node = node
        self.card_memory = memory
        """Memory of each card."""
        self._sharing_on = sharing_on
        self._number_on = number_on
        self._cards: dict[int, dict[str, Pod]] = {index: {} for index in indexes}

    @classmethod
    def of_node(
        cls, manifest: JsonObject, *, sharing_on: bool, number_on: bool, rules: ShareRules = NEWEST_SHARE_RULES
    ) -> GpuShareLedger | None:
        """None unless the node has both capacities. Upstream: api/devices/nvidia/gpushare/device_info.NewGPUDevices."""
        capacity = (manifest.get("status") or {}).get("capacity") or {}
        if GPU_MEMORY not in capacity or GPU_NUMBER not in capacity:
            return None
        count = min(whole_value(capacity[GPU_NUMBER]), MOST_CARDS)
        if count <= 0:
            return None
        metadata = manifest["metadata"]
        unhealthy = _parse_numbers((metadata.get("annotations") or {}).get(UNHEALTHY_ANNOTATION, ""))
        indexes = [index for index in range(count) if index not in unhealthy]
        memory = int_div(whole_value(capacity[GPU_MEMORY]), whole_value(capacity[GPU_NUMBER]))
        return cls(metadata["name"], memory, indexes, sharing_on=sharing_on, number_on=number_on, rules=rules)

    def add_resource(self, pod: Pod) -> None:
        """Upstream: api/devices/nvidia/gpushare/device_info.AddResource."""
        if self._rules.charges_memory_only and _memory_of(pod) <= 0:
            return
        for index in held_indexes(pod):
            if index in self._cards:
                self._cards[index][pod.uid] = pod

    def sub_resource(self, pod: Pod) -> None:
        """Upstream: api/devices/nvidia/gpushare/device_info.SubResource."""
        if _memory_of(pod) > 0 or (_number_of(pod) > 0 and not self._rules.charges_memory_only):
            self._remove_pod(pod)

    def has_device_request(self, pod: Pod) -> bool:
        """Upstream: api/devices/nvidia/gpushare/device_info.HasDeviceRequest."""
        return (self._sharing_on and _memory_of(pod) > 0) or (self._number_on and _number_of(pod) > 0)

    def filter_node(self, pod: Pod, policy: str) -> str | None:
        """Upstream: api/devices/nvidia/gpushare/device_info.FilterNode."""
        if self._sharing_on and _memory_of(pod) > 0 and not self._find_by_memory(pod):
            return f"GpuShare no enough gpu memory on node {self._node}"
        if self._number_on and _number_of(pod) > 0 and not self._find_idle_cards(pod):
            return f"GpuNumber no enough gpu number on node {self._node}"
        return None

    def score_node(self, pod: Pod, policy: str) -> float:
        """Upstream: api/devices/nvidia/gpushare/device_info.ScoreNode."""
        return 0.0

    def allocate(self, pod: Pod) -> str | None:
        """Memory decides before number, whichever of the two is switched on; once both took their cards.
        Upstream: api/devices/nvidia/gpushare/device_info.Allocate.
        """
        choosers = ((_memory_of(pod), self._find_by_memory), (_number_of(pod), self._find_idle_cards))
        applicable = [choose for amount, choose in choosers if amount > 0]
        for choose in applicable if self._rules.takes_both else applicable[:1]:
            chosen = choose(pod)
            if not chosen:
                return f"the node {pod.node_name} can't place the pod {pod.name} in ns {pod.namespace}"
            for index in chosen:
                self._cards[index][pod.uid] = pod
            self._patched[pod.uid] = chosen
        return None

    def release(self, pod: Pod) -> ReleaseOutcome:
        """Upstream: api/devices/nvidia/gpushare/device_info.Release."""
        if self._rules.by_index and not self._patched.get(pod.uid, GPU_INDEX in pod.annotations):
            return ReleaseOutcome.REFUSED
        self._patched[pod.uid] = []
        self._remove_pod(pod)
        is_kept = self._rules.by_index and any(pod.uid in pods for pods in self._cards.values())
        return ReleaseOutcome.KEPT if is_kept else ReleaseOutcome.FREE

    def _remove_pod(self, pod: Pod) -> None:
        """Remove a pod from the cards in its annotation; without one from all cards, except in older releases."""
        for index in get_gpu_index(pod) or (() if self._rules.by_index else self._cards):
            if index in self._cards:
                self._cards[index].pop(pod.uid, None)

    def bind_annotations(self, pod: Pod) -> Mapping[str, str]:
        """The card indexes of the last choice: where a pod gets both kinds, the second choice overwrites the first.
        Upstream: api/devices/nvidia/gpushare/share.gpuIndexAnnotations.
        """
        card_indexes = [index for index, pods in self._cards.items() if pod.uid in pods]
        cards = self._patched.get(pod.uid) or card_indexes
        return {GPU_INDEX: ",".join(map(str, cards))} if cards else {}

    def queue_amounts(self, pod: Pod) -> Mapping[str, float]:
        """Upstream: api/devices/nvidia/gpushare/device_info.AddQueueResource."""
        return {}

    def clone(self) -> GpuShareLedger:
        """Upstream: api/devices/nvidia/gpushare/device_info.DeepCopy."""
        if self._rules.shared:
            return self
        switches = {"sharing_on": self._sharing_on, "number_on": self._number_on}
        copy = GpuShareLedger(self._node, self.card_memory, [], rules=self._rules, **switches)
        copy._patched = dict(self._patched)
        copy._cards = {index: dict(pods) for index, pods in self._cards.items()}
        return copy

    def free_memory(self, index: int) -> int:
        """Card memory minus the requests of its pods; below 0 it counts as 0, or in old releases as nearly 2^64."""
        used = 0
        for pod in self._cards[index].values():
            used += 0 if pod.phase in ENDED_PHASES else _memory_of(pod)
        free = self.card_memory - used
        return max(free, 0) if free >= 0 or not self._rules.wraps_free_memory else free + _UINT64

    def pods_on(self, index: int) -> list[str]:
        """Names of the pods on a card."""
        return [pod.key for pod in self._cards[index].values()]

    @property
    def card_indexes(self) -> list[int]:
        return list(self._cards)

    def asked_amounts(self, pod: Pod) -> tuple[int, int]:
        """(memory, number of whole cards) that a pod requests; 0 for a kind that is switched off."""
        return (_memory_of(pod) if self._sharing_on else 0), (_number_of(pod) if self._number_on else 0)

    def _find_by_memory(self, pod: Pod) -> list[int]:
        """The first card with as much memory as the pod wants, or none."""
        memory = _memory_of(pod)
        card = next((index for index in self._cards if self.free_memory(index) >= memory), None)
        return [] if card is None else [card]

    def _find_idle_cards(self, pod: Pod) -> list[int]:
        """As many unused cards as wanted, or none. Upstream: api/devices/nvidia/gpushare/share.predicateGPUbyNumber."""
        number = _number_of(pod)
        by_name = {f"{index:06}": index for index, pods in self._cards.items() if not pods}
        idle = [by_name[name] for name in self._rules.ordering.order_keys(by_name)]
        drawn = [index for index in _parse_numbers(self._rules.drawn.get(pod.key, ""), ";") if index in idle]
        return list(dict.fromkeys([*drawn, *idle]))[:number] if len(idle) >= number else []


def get_gpu_index(pod: Pod) -> list[int] | None:
    """The annotation's cards; None without a proper list. Upstream: api/devices/nvidia/gpushare/share.GetGPUIndex."""
    if GPU_INDEX not in pod.annotations:
        return None
    parts = pod.annotations[GPU_INDEX].split(",")
    return [int(part) for part in parts] if all(SHORT_INTEGER.fullmatch(part) for part in parts) else None


def held_indexes(pod: Pod) -> list[int]:
    """Same as get_gpu_index for a pod that requests shared GPUs; empty for any other pod."""
    return (get_gpu_index(pod) or []) if _memory_of(pod) > 0 or _number_of(pod) > 0 else []


def _parse_numbers(text: str, separator: str = ",") -> dict[int, None]:
    return dict.fromkeys(int(part) for part in text.split(separator) if SHORT_INTEGER.fullmatch(part))


def _memory_of(pod: Pod) -> int:
    return _largest_limit(pod, GPU_MEMORY)


def _number_of(pod: Pod) -> int:
    return _largest_limit(pod, GPU_NUMBER)


def _largest_limit(pod: Pod, name: str) -> int:
    """The sum of the containers' limits, or the largest limit of an init container if that is more."""
    total = 0
    for container in pod.spec.get("containers") or ():
        total += whole_limit(container, name)
    first = [whole_limit(container, name) for container in pod.spec.get("initContainers") or ()]
    return max([total, *first, 0])


_FIXED: Final = f"{', '.join(changes.NIL_LEDGER_ASKED.fixed_in)}: {changes.NIL_LEDGER_ASKED.pull}"
UNREGISTERED_CHANGE: Final = (
    f"upgrade Volcano ({_FIXED}), or correct what the node's device plugin registers: it has no card"
)


class NilLedger:
    """The nil ledger of a node without cards; most calls panic. Upstream: api/node_info.setNodeOthersResource."""

    __slots__ = ("_is_called", "_refusal")

    def __init__(self, device: str, *, is_called: bool, refuses: bool) -> None:
        self._is_called = is_called
        """Whether the release calls nil ledgers at placements and releases."""
        self._refusal = f"node not initialized with device{device}" if refuses else None

    def add_resource(self, pod: Pod) -> None:
        """Charges nothing."""

    def sub_resource(self, pod: Pod) -> None:
        """Nothing is charged."""

    def filter_node(self, pod: Pod, policy: str) -> str | None:
        """A refusal, or None where the release skips nil ledgers. Upstream: plugins/deviceshare.OnSessionOpen."""
        return self._refusal

    def allocate(self, pod: Pod) -> str | None:
        """Upstream: plugins/predicates.OnSessionOpen."""
        if self._is_called:
            raise blame_objects(SchedulerPanic(NIL_POINTER_TEXT), (), UNREGISTERED_CHANGE)
        return None

    def release(self, pod: Pod) -> ReleaseOutcome:
        """Nothing is charged, so that nothing stays."""
        return ReleaseOutcome.FREE

    def bind_annotations(self, pod: Pod) -> Mapping[str, str]:
        return {}

    def queue_amounts(self, pod: Pod) -> Mapping[str, float]:
        return {}

    def clone(self) -> Self:
        """Itself: a nil ledger has no state."""
        return self


class NilVgpuLedger(NilLedger):
    """A node that registers no virtual GPUs."""

    __slots__ = ("_names",)

    def __init__(self, names: VgpuNames, *, is_called: bool, refuses: bool = False) -> None:
        super().__init__(VGPU, is_called=is_called, refuses=refuses)
        self._names = names

    def has_device_request(self, pod: Pod) -> bool:
        """Upstream: api/devices/nvidia/vgpu/device_info.HasDeviceRequest."""
        return asks_vgpu(pod, self._names)

    def score_node(self, pod: Pod, policy: str) -> float:
        """Panics in a goroutine that nothing recovers. Upstream: api/devices/nvidia/vgpu/device_info.ScoreNode."""
        raise ProcessExit(NIL_POINTER_TEXT)


class NilShareLedger(NilLedger):
    """A node that has no shared GPUs."""

    __slots__ = ("_empty",)

    def __init__(self, *, sharing_on: bool, number_on: bool, is_called: bool, refuses: bool = False) -> None:
        super().__init__(DEVICE_NAME, is_called=is_called, refuses=refuses)
        self._empty = GpuShareLedger("", 0, [], sharing_on=sharing_on, number_on=number_on)

    def has_device_request(self, pod: Pod) -> bool:
        """Upstream: api/devices/nvidia/gpushare/device_info.HasDeviceRequest."""
        return self._empty.has_device_request(pod)

    def add_resource(self, pod: Pod) -> None:
        """Panics for a pod that names cards. Upstream: api/devices/nvidia/gpushare/device_info.AddResource."""
        if held_indexes(pod):
            raise SchedulerPanic(NIL_POINTER_TEXT)

    def sub_resource(self, pod: Pod) -> None:
        """Upstream: api/devices/nvidia/gpushare/device_info.SubResource."""
        self.add_resource(pod)

    def score_node(self, pod: Pod, policy: str) -> float:
        """Upstream: api/devices/nvidia/gpushare/device_info.ScoreNode."""
        return 0.0

    def release(self, pod: Pod) -> ReleaseOutcome:
        """Refused: the pod has no annotation to remove. Upstream: api/devices/nvidia/gpushare/device_info.Release."""
        return ReleaseOutcome.REFUSED if self._is_called else ReleaseOutcome.FREE
