"""NVIDIA cards that are divided into virtual GPUs: memory, cores and a number of users per card.

Upstream: api/devices/nvidia/vgpu.
Differs: of the device configuration only the names of resources and the settings of MIG mode are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from vcdebug.errors import NIL_POINTER_TEXT, ProcessExit, SchedulerPanic
from vcdebug.gomath import SHORT_INTEGER
from vcdebug.model.devices import ReleaseOutcome, container_limit
from vcdebug.model.devices.cards import (
    HAMI_CORE,
    MIG_MODE,
    UINT_SIZE,
    Card,
    Cards,
    CardSharing,
    HamiCore,
    MigSharing,
    geometries_of,
)
from vcdebug.model.devices.vgpu_annotations import (
    ASSIGNED_ANNOTATION,
    MEMORY_SHORT,
    MODE_ANNOTATION,
    NEWEST_CARD_RULES,
    NVIDIA,
    OUT_OF_RANGE,
    CardFilter,
    CardRules,
    ContainerRequest,
    HeldCard,
    PodAnnotations,
    held_cards,
    is_plugin_alive,
    requests_of,
)
from vcdebug.model.pod import Pod
from vcdebug.snapshot.device_config import BUILT_IN_NAMES, VgpuNames
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.quantity import whole_value

DEVICE_NAME = "hamivgpu"
REGISTER_ANNOTATION = "volcano.sh/node-vgpu-register"
ASSIGNED_NODE_ANNOTATION = "volcano.sh/vgpu-node"
BIND_PHASE_ANNOTATION = "volcano.sh/bind-phase"
SUCCESS = "success"
OWN_KEYS = (ASSIGNED_NODE_ANNOTATION, ASSIGNED_ANNOTATION, BIND_PHASE_ANNOTATION)
"""Annotations that a ledger writes on pods and reads again."""
BINPACK = "binpack"
SPREAD = "spread"

FILTER_MESSAGE = "hami-vgpuDeviceSharing error"
REASON_MESSAGE = "hami-vgpuDeviceSharing {}"
TOO_FEW_CARDS = "no enough gpu cards on node {}"
NOTHING_FITS = "not enough gpu fitted on this node"
OTHER_MODE = "pod required sharing mode {} is not the same as the node mode {}"

REGISTER_FIELDS = 6
FIELDS_WITHOUT_MODE = 5


class CardPolicy(NamedTuple):
    """Policy and rules by which cards are chosen, and how they are divided."""

    policy: str
    rules: CardRules
    sharing: CardSharing


class VgpuChoice(NamedTuple):
    """The cards for a pod and their score, or the error."""

    chosen_cards: list[HeldCard]
    score: float
    error: str | None


class VgpuLedger:
    """The cards of a node by their position in its register annotation."""

    __slots__ = ("_chosen_cards", "_notes", "cards", "last_score", "node", "policy", "rules", "sharing")

    def __init__(
        self,
        node: str,
        cards: Cards,
        sharing: CardSharing,
        policy: str,
        rules: CardRules,
        notes: PodAnnotations | None = None,
    ) -> None:
        self.rules = rules
        self.sharing = sharing
        self._notes = PodAnnotations() if notes is None else notes
        self.node = node
        self.cards = cards
        self.policy = policy
        """The policy of allocations; a filter gets its policy as an argument."""
        self.last_score = 0.0
        """The score of the last pod that passed the filter on this node: upstream keeps it on the node, not per pod."""
        self._chosen_cards = self._notes.patched_cards if rules.shared else {}
        """Pod UID → cards of its last allocation in this session; on any node where allocations are patched at once."""

    @classmethod
    def of_node(
        cls,
        manifest: JsonObject,
        policy: str,
        rules: CardRules = NEWEST_CARD_RULES,
        notes: PodAnnotations | None = None,
        now: datetime | None = None,
    ) -> VgpuLedger | None:
        """None for a node that registers no cards, or has no allocatable virtual GPUs.
        Upstream: api/devices/nvidia/vgpu/device_info.NewGPUDevices.
        """
        if now is not None and rules.shakes_hands:
            alive = is_plugin_alive(manifest, now)
        else:
            alive = _has_allocatable_vgpus(manifest)
        cards, mode = _decode_node_devices(manifest, rules) if alive else ({}, "")
        if not cards:
            return None
        return cls(manifest["metadata"]["name"], cards, _get_sharing_handler(mode, rules), policy, rules, notes)

    def held_by(self, pod: Pod) -> list[HeldCard]:
        """The cards in the pod's annotations."""
        return held_cards(self._notes.annotations_of(pod), validated=self.rules.validates)

    def add_resource(self, pod: Pod) -> None:
        """Charge a pod for its cards, once per card. Upstream: api/devices/nvidia/vgpu/device_info.AddResource."""
        self._add_resource(pod, self.held_by(pod))

    def _add_resource(self, pod: Pod, entries: Iterable[HeldCard]) -> None:
        """Upstream: api/devices/nvidia/vgpu/device_info.addResource."""
        sharing = self.sharing
        for held_card in entries:
            for card in self._cards_of(held_card):
                is_counted = pod.uid in card.pods and not sharing.counts_again
                memory = None if is_counted else sharing.add_pod(card, held_card)
                if memory is not None:
                    card.change_usage(memory, held_card.core)
                    card.add_pod_usage(pod, memory, held_card.core)

    def sub_resource(self, pod: Pod) -> None:
        """Upstream: api/devices/nvidia/vgpu/device_info.SubResource."""
        for held_card in self.held_by(pod):
            for card in self._cards_of(held_card):
                if pod.uid not in card.pods:
                    self._sub_pod_metrics(pod, card)
                    continue
                freed = self.sharing.sub_pod(card, held_card)
                if freed is not None:
                    card.change_usage(freed.by_card, held_card.core, -1)
                    card.add_pod_usage(pod, -freed.by_pod, -held_card.core)
                    self._sub_pod_metrics(pod, card)

    def _sub_pod_metrics(self, pod: Pod, card: Card) -> None:
        """Remove the pod from the card; older releases do so only if it holds no memory.
        Upstream: api/devices/nvidia/vgpu/metrics.SubPodMetrics.
        """
        usage = card.pods.get(pod.uid)
        if usage is None and (self.rules.charges_card_once or self.rules.plain):
            raise SchedulerPanic(NIL_POINTER_TEXT)
        if usage is not None and (not self.rules.frees_by_annotations or usage.memory == 0):
            del card.pods[pod.uid]

    def has_device_request(self, pod: Pod) -> bool:
        """Upstream: api/devices/nvidia/vgpu/device_info.HasDeviceRequest."""
        return asks_vgpu(pod, self.rules.names)

    def filter_node(self, pod: Pod, policy: str) -> str | None:
        """Upstream: api/devices/nvidia/vgpu/device_info.FilterNode."""
        if not self.has_device_request(pod):
            self.last_score = 0.0
            return None
        # A filter tries on copies; allocate then chooses again on the ledger, possibly other cards.
        cards = {index: card.clone() for index, card in self.cards.items()}
        choice = self._choose_cards(pod, cards, policy)
        if choice.error is not None:
            return REASON_MESSAGE.format(choice.error) if self.rules.says_reason else FILTER_MESSAGE
        self.last_score = choice.score
        return None

    def score_node(self, pod: Pod, policy: str) -> float:
        """Upstream: api/devices/nvidia/vgpu/device_info.ScoreNode."""
        return self.last_score

    def allocate(self, pod: Pod) -> str | None:
        """Choose cards again, in the ledger itself. Upstream: api/devices/nvidia/vgpu/device_info.Allocate."""
        if self.rules.keeps_assigned and self._is_assigned_here(pod):
            return None
        choice = self._choose_cards(pod, self.cards, self.policy, keeps_charges=self.rules.frees_by_annotations)
        if choice.error is not None:
            return choice.error
        self._chosen_cards[pod.uid] = tuple(choice.chosen_cards)
        self._add_to_pod_map(pod, choice.chosen_cards)
        if self.rules.on_pods and not self.rules.frees_by_annotations:
            notes = {
                ASSIGNED_NODE_ANNOTATION: self.node,
                BIND_PHASE_ANNOTATION: "allocating",
                **self.bind_annotations(pod),
            }
            self._notes.write_annotations(pod, notes)
        return None

    def _add_to_pod_map(self, pod: Pod, chosen: Iterable[HeldCard]) -> None:
        """Upstream: api/devices/nvidia/vgpu/device_info.addToPodMap."""
        if self.rules.plain:
            return
        if self.rules.charges_twice:
            self._add_resource(pod, chosen)
            return
        for held_card in chosen:
            for card in self.cards.values():
                if card.uuid in held_card.uuid:
                    card.add_pod_usage(pod, held_card.memory, held_card.core)

    def charge_bound(self, pod: Pod, *, has_news: bool) -> None:
        """Charge a bound pod again: the cache shares the ledger with sessions, and counts annotations as well."""
        if self.rules.counts_news or (has_news and self.rules.shared):
            self._add_resource(pod, self._chosen_cards.get(pod.uid, ()))

    def _is_assigned_here(self, pod: Pod) -> bool:
        """Whether the pod's annotations already name cards of this node."""
        notes = self._notes.annotations_of(pod)
        return notes.get(ASSIGNED_NODE_ANNOTATION) == self.node and bool(notes.get(ASSIGNED_ANNOTATION))

    def release(self, pod: Pod) -> ReleaseOutcome:
        """Release the pod. Upstream reads its cards from the pod object, which sessions of new releases do not change.
        Upstream: api/devices/nvidia/vgpu/device_info.Release.
        """
        if not self.rules.shakes_hands:
            if not self.rules.frees_by_annotations:
                self.sub_resource(pod)
            if self.rules.on_pods and self._notes.annotations_of(pod).get(BIND_PHASE_ANNOTATION) != SUCCESS:
                self._notes.erase_annotations(pod, OWN_KEYS)
        usages = [card.pods[pod.uid] for card in self.cards.values() if pod.uid in card.pods]
        is_kept = any(not self.rules.frees_by_annotations or usage.memory > 0 or usage.core > 0 for usage in usages)
        return ReleaseOutcome.KEPT if is_kept else ReleaseOutcome.FREE

    def bind_annotations(self, pod: Pod) -> Mapping[str, str]:
        """Upstream: api/devices/nvidia/vgpu/utils.encodePodDevices."""
        held_cards = self._chosen_cards.get(pod.uid, ())
        text = ":".join(f"{card.uuid},{NVIDIA},{card.memory},{card.core}" for card in held_cards)
        return {ASSIGNED_ANNOTATION: text} if text else {}

    def queue_amounts(self, pod: Pod) -> Mapping[str, float]:
        """Upstream: api/devices/nvidia/vgpu/device_info.AddQueueResource."""
        amounts: dict[str, float] = {}
        names = self.rules.names
        # Not those that the session has written: they are on its own copy of the pod, and the status is of the cache's.
        for held_card in held_cards(pod.annotations, validated=self.rules.validates):
            for card in self.cards.values():
                if card.uuid in held_card.uuid:
                    amounts[names.memory] = amounts.get(names.memory, 0.0) + float(held_card.memory * 1000)
                    amounts[names.cores] = amounts.get(names.cores, 0.0) + float(held_card.core * 1000)
        return amounts

    def clone(self) -> VgpuLedger:
        """Upstream: api/devices/nvidia/vgpu/device_info.DeepCopy."""
        if self.rules.shared:
            return self
        cards = {index: card.clone() for index, card in self.cards.items()}
        copy = VgpuLedger(self.node, cards, self.sharing, self.policy, self.rules, self._notes)
        copy.last_score = self.last_score
        copy._chosen_cards = dict(self._chosen_cards)
        return copy

    def resource_reqs(self, pod: Pod, cards: Cards) -> Iterator[ContainerRequest]:
        """The requests of the pod's containers; lazily, since old releases settle each by the cards' current state."""
        for request in requests_of(pod, self.rules.names):
            yield settle_request(request, cards) if self.rules.first_card_sets_memory else request

    def _cards_of(self, held_card: HeldCard) -> list[Card]:
        if self.rules.plain:
            return [card for card in self.cards.values() if card.uuid == held_card.uuid]
        cards = [card for card in self.cards.values() if card.uuid in held_card.uuid]
        return cards if self.rules.charges_card_once else cards[:1]

    def unmet_mode(self, pod: Pod) -> str | None:
        """The mode that the pod asks for by annotation, if the node's cards are shared in another one; else None."""
        mode = pod.annotations.get(MODE_ANNOTATION)
        return None if mode == self.sharing.mode or self.rules.plain else mode

    def _choose_cards(self, pod: Pod, cards: Cards, policy: str, *, keeps_charges: bool = False) -> VgpuChoice:
        """Choose and charge cards container by container; a shortage undoes all charges unless `keeps_charges`.
        Upstream: api/devices/nvidia/vgpu/utils.checkNodeGPUSharingPredicateAndScore.
        """
        if (mode := self.unmet_mode(pod)) is not None:
            return VgpuChoice([], 0.0, OTHER_MODE.format(mode, self.sharing.mode))
        criteria = CardFilter.of_pod(pod, self.rules)
        card_policy = CardPolicy(policy, self.rules, self.sharing)
        held_cards: list[HeldCard] = []
        charged: list[tuple[Card, int, int]] = []
        score = 0.0
        for request in self.resource_reqs(pod, cards):
            missing, error = request.number, None
            if missing > len(cards):
                error = TOO_FEW_CARDS.format(self.node)
            else:
                missing, score = _serve_container(request, cards, card_policy, criteria, (held_cards, charged, score))
            if error is not None or missing > 0:
                for card, memory, core in () if keeps_charges else charged:
                    card.undo_charge(memory, core)
                mismatch = criteria.uuid_mismatch_error((card.uuid for card in cards.values()), self.node)
                return VgpuChoice([], 0.0, error or mismatch or NOTHING_FITS)
        return VgpuChoice(held_cards, score, None)


def settle_request(request: ContainerRequest, cards: Cards) -> ContainerRequest:
    """The request settled by the memory of the last card that has a user left."""
    open_ones = (
        cards[index].memory for index in _sorted_device_indices_by_policy(cards, "") if _has_user_left(cards[index])
    )
    return request.settle_memory(next(filter(None, open_ones), 0))


def _serve_container(
    request: ContainerRequest,
    cards: Cards,
    card_policy: CardPolicy,
    criteria: CardFilter,
    so_far: tuple[list[HeldCard], list[tuple[Card, int, int]], float],
) -> tuple[int, float]:
    """(cards still missing, score): a request for no card still charges the first one that fits."""
    held_cards, charged, score = so_far
    missing = request.number
    for index in _sorted_device_indices_by_policy(cards, "" if card_policy.rules.last_first else card_policy.policy):
        card = cards[index]
        memory = request.memory_on(card.memory)
        misfit = misfit_reason(card, request, memory, criteria.group, wraps=card_policy.rules.cores_wrap)
        accepted = criteria.accepts_card(card.uuid, card.kind) and not misfit
        part = card_policy.sharing.try_add_pod(card, memory) if accepted else None
        if part is None:
            continue
        card.change_usage(part.memory, request.cores)
        charged.append((card, memory, request.cores))
        if missing > 0:
            missing -= 1
            held_cards.append(HeldCard(part.name, memory, request.cores))
            score = score + _gpu_score(card, card_policy)
        if missing == 0:
            break
    return missing, score


def misfit_reason(card: Card, request: ContainerRequest, memory: int, group: str, *, wraps: bool = False) -> str:
    """The reason why a card cannot serve a container; empty if it can."""
    if not _has_user_left(card):
        return "it has no user left"
    if card.memory - card.used_memory < memory:
        return MEMORY_SHORT
    if group and any(u.group == group and (u.memory > 0 or u.core > 0) for u in card.pods.values()):
        return "a pod of the same group is on it"
    if (card.used_core + request.cores) % UINT_SIZE > 100 and not (wraps and card.used_core > 100):  # exact: ints
        return "its cores are short"
    if request.cores == 100 and card.used_number != 0:
        return "all of its cores are asked for, and a pod uses it"
    return "all of its cores are taken" if card.used_core == 100 and request.cores == 0 else ""


def _has_user_left(card: Card) -> bool:
    """Whether the card has a free place for a user; below 0 upstream's unsigned count wraps around to a full card."""
    return card.number > card.used_number % UINT_SIZE  # exact: ints


def _sorted_device_indices_by_policy(cards: Cards, policy: str) -> list[int]:
    """Upstream: api/devices/nvidia/vgpu/utils.sortedDeviceIndicesByPolicy."""
    if policy == BINPACK:
        return sorted(cards, key=lambda index: (-cards[index].used_memory, index))
    if policy == SPREAD:
        return sorted(cards, key=lambda index: (cards[index].used_number, index))
    backward = list(range(len(cards) - 1, -1, -1))
    if any(index not in cards for index in backward):
        raise ProcessExit(NIL_POINTER_TEXT)
    return backward


def _gpu_score(card: Card, card_policy: CardPolicy) -> float:
    """After charging, so that `spread` scores 0. Upstream: api/devices/nvidia/vgpu/utils.GPUScore."""
    if card_policy.policy == SPREAD and card_policy.rules.favours_unused:
        return 100.0 if card.used_number == 1 else 0.0
    if card_policy.policy != BINPACK:
        return 0.0
    if card.memory == 0:
        return math.nan if card.used_memory == 0 else math.inf
    used = card.used_memory % UINT_SIZE  # exact: ints
    return 100 * (float(used) / float(card.memory))


def _has_allocatable_vgpus(manifest: JsonObject) -> bool:
    amounts = (manifest.get("status") or {}).get("allocatable") or {}
    return all(name in amounts and whole_value(amounts[name]) for name in BUILT_IN_NAMES[:3])


def _decode_node_devices(manifest: JsonObject, rules: CardRules) -> tuple[Cards, str]:
    """(cards of the register annotation, sharing mode of the last one); one short entry voids them all.
    Upstream: api/devices/nvidia/vgpu/utils.decodeNodeDevices.
    """
    text = ((manifest.get("metadata") or {}).get("annotations") or {}).get(REGISTER_ANNOTATION, "")
    cards: Cards = {}
    mode = HAMI_CORE
    for index, entry in enumerate(text.split(":") if ":" in text else ()):
        if "," not in entry:
            continue
        fields = entry.split(",")
        if rules.plain and len(fields) < FIELDS_WITHOUT_MODE:
            raise SchedulerPanic(OUT_OF_RANGE.format(len(fields)))
        if not rules.plain and len(fields) < REGISTER_FIELDS:
            return {}, ""
        is_mig = not rules.plain and fields[5] == MIG_MODE
        geometries = geometries_of(fields[3], rules.mig) if is_mig else None
        mode = HAMI_CORE if geometries is None else MIG_MODE
        cards[index] = Card(
            fields[0], _integer_or_zero(fields[1]), _integer_or_zero(fields[2]), fields[3], geometries or ()
        )
    return cards, mode


def _get_sharing_handler(mode: str, rules: CardRules) -> CardSharing:
    """Upstream: api/devices/nvidia/vgpu/sharing_factory.GetSharingHandler."""
    if mode == MIG_MODE:
        return MigSharing(1 if rules.mig_whole else rules.mig.factor, frees_requested=rules.mig_whole)
    return HamiCore(counts_again=rules.frees_by_annotations and not rules.charges_card_once)


def asks_vgpu(pod: Pod, names: VgpuNames = BUILT_IN_NAMES) -> bool:
    """Whether some container has a limit on virtual GPUs or their memory."""
    containers = pod.spec.get("containers") or ()
    return any(
        container_limit(c, names.memory) is not None or container_limit(c, names.number) is not None for c in containers
    )


def _integer_or_zero(text: str) -> int:
    return int(text) if SHORT_INTEGER.fullmatch(text) else 0
