"""Ascend NPUs shared by HAMi: memory by templates, cores, and users per card. Upstream: api/devices/ascend/hami."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from vcdebug.errors import ProcessExit
from vcdebug.model.devices import ReleaseOutcome, container_limit
from vcdebug.model.devices import hami_ascend_card as npus
from vcdebug.model.devices.cards import HAMI_CORE
from vcdebug.model.devices.vgpu_annotations import OUT_OF_RANGE, ContainerRequest, HeldCard, PodAnnotations, requests_of
from vcdebug.model.fit_errors import ERROR, UNSCHEDULABLE, FitStatus
from vcdebug.model.pod import Pod
from vcdebug.releases import devices as changes
from vcdebug.releases.release import ReleaseRules, rule_of
from vcdebug.snapshot.cycle_inputs import ASCENDING, MapOrder
from vcdebug.snapshot.device_config import NpuConfig, NpuKind, VgpuNames
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.quantity import nano_value

MODE_ANNOTATION = "huawei.com/vnpu-mode"
NODE_MODE_ANNOTATION = "hami-vnpu-core"
NETWORKED_KIND = "Ascend910"
NETWORK_WEIGHT = 10

NO_DEVICE = "no ascend device available"
TOO_FEW_DEVICES = "no enough ascend device available"
PARTIAL_MEMORY = "vNPU does not support partial memory allocation when requesting multiple devices"
NOT_SELECTED = "failed to select ascend devices for pod {}: {}"


class NpuChoice(NamedTuple):
    """The cards of each container, or the error."""

    containers: list[list[HeldCard]]
    error: str | None = None


class HamiAscendLedger:
    """The cards of one kind on one node."""

    __slots__ = ("_core_mode", "_chosen_cards", "_keys", "_notes", "_settings", "cards", "kind", "node", "policy")

    def __init__(
        self, node: str, kind: NpuKind, cards: Mapping[str, npus.Npu], settings: NpuSettings, *, core_mode: bool
    ) -> None:
        self.node = node
        self.kind = kind
        self.cards = dict(cards)
        """Card name → card."""
        self.policy = ""
        """The policy of the last score, which allocations use."""
        self._settings = settings
        self._keys = npus.AnnotationKeys.for_kind(kind.word)
        self._notes = PodAnnotations() if settings.notes is None else settings.notes
        self._core_mode = core_mode
        self._chosen_cards: dict[str, list[list[HeldCard]]] = {}
        """Pod UID → cards per container of its last allocation in this session."""

    @classmethod
    def of_node(cls, manifest: JsonObject, settings: NpuSettings) -> Iterator[HamiAscendLedger]:
        """A ledger per kind of card of the node. Upstream: api/devices/ascend/hami/device_info.NewAscendDevices."""
        metadata, status = manifest["metadata"], manifest.get("status") or {}
        annotations: Mapping[str, str] = metadata.get("annotations") or {}
        amounts = status.get("allocatable") or {}
        by_word: dict[str, HamiAscendLedger] = {}
        for kind in settings.config.kinds:
            if settings.rules.allocatable and not nano_value(amounts.get(kind.resource, 0)):
                continue
            registrations = npus.registered_cards(annotations, npus.AnnotationKeys.for_kind(kind.word))
            cards = {card.uuid: npus.Npu(card) for card in registrations}
            if cards:
                core_mode = annotations.get(NODE_MODE_ANNOTATION, "true" if settings.config.core_mode else "") == "true"
                by_word[kind.word] = cls(metadata["name"], kind, cards, settings, core_mode=core_mode)
        yield from by_word.values()

    @property
    def ignored_devices(self) -> tuple[str, ...]:
        """Resources that the scheduler drops from all amounts after it has read such a node.
        Upstream: api/devices/ascend/hami/device_info.GetIgnoredDevices.
        """
        names = (self.kind.memory_resource, self.kind.core_resource)
        return names if self._settings.rules.cores_known else names[:1]

    def _card_annotation(self, pod: Pod) -> str | None:
        key = self._keys.allocated if self._settings.rules.charges_card_once else self._keys.to_allocate
        return self._notes.annotations_of(pod).get(key)

    def add_resource(self, pod: Pod) -> None:
        """Upstream: api/devices/ascend/hami/device_info.AddResource."""
        self._add_resource(self._card_annotation(pod), pod)

    def _add_resource(self, text: str | None, pod: Pod) -> None:
        """Upstream: api/devices/ascend/hami/device_info.addResource."""
        for held_card in npus.decode_container_devices(text or ""):
            card = self.cards.get(held_card.uuid)
            if card is not None and not (self._settings.rules.charges_card_once and pod.uid in card.pods):
                card.add_resource_usage(pod.uid, held_card.memory, held_card.core)

    def sub_resource(self, pod: Pod) -> None:
        """Upstream: api/devices/ascend/hami/device_info.SubResource."""
        text = self._card_annotation(pod)
        if text is None:
            self._sub_resource_by_uid(pod)
            return
        for held_card in npus.decode_container_devices(text):
            card = self.cards.get(held_card.uuid)
            if card is not None and not (self._settings.rules.charges_card_once and pod.uid not in card.pods):
                card.sub_resource_usage(pod.uid, held_card.memory, held_card.core)

    def _sub_resource_by_uid(self, pod: Pod) -> None:
        """Upstream: api/devices/ascend/hami/device_info.subResourceByUID."""
        for card in () if self._settings.rules.frees_by_annotations else self.cards.values():
            usage = card.pods.get(pod.uid)
            if usage is not None:
                card.sub_resource_usage(pod.uid, usage.memory, usage.cores)

    def has_device_request(self, pod: Pod) -> bool:
        """Upstream: api/devices/ascend/hami/device_info.HasDeviceRequest."""
        names = (self.kind.resource, self.kind.memory_resource)
        return any(container_limit(c, name) is not None for c in pod.spec.get("containers") or () for name in names)

    def is_hami_core_mode(self, pod: Pod) -> bool:
        """Upstream: api/devices/ascend/hami/device_info.isHAMiCoreMode."""
        return self._settings.rules.cores_known and pod.annotations.get(MODE_ANNOTATION) == HAMI_CORE

    def resource_reqs(self, pod: Pod, first: npus.Npu) -> list[ContainerRequest]:
        """Requests of the containers: the first card's whole memory if they state none, else a template's memory.
        Upstream: api/devices/ascend/hami/device_info.ResourceReqs.
        """
        cores = self.kind.core_resource if self._settings.rules.cores_known else ""
        names = VgpuNames(self.kind.resource, self.kind.memory_resource, cores)
        is_core_mode = self.is_hami_core_mode(pod)
        requests = []
        for request in requests_of(pod, names):
            memory = request.memory_on(first.registered.memory)
            trimmed = self.kind.trim_memory(memory)[0] if memory > 0 and not is_core_mode else memory
            requests.append(request._replace(memory=trimmed, percentage=None))
        return requests

    def asks_for_parts(self, pod: Pod, request: ContainerRequest) -> bool:
        """Whether it asks for parts of several cards. Upstream: api/devices/ascend/hami/device_info.verifyReq."""
        if request.number <= 1 or self.is_hami_core_mode(pod):
            return False
        return self.kind.trim_memory(request.memory)[0] != self.kind.allocatable

    def misfit_reason(self, card: npus.Npu, request: ContainerRequest, pod: Pod) -> str:
        """The reason why a card cannot serve a container; empty if it can."""
        by_cores = self.is_hami_core_mode(pod)
        if by_cores and not self._core_mode:
            return "the node does not cut its cards by hami-core"
        return npus.misfit_reason(card, request, request.memory, npus.ALL_CORES if by_cores else card.registered.cores)

    def filter_node(self, pod: Pod, policy: str) -> str | None:
        """The reason of filter_status, or None."""
        verdict = self.filter_status(pod, policy)
        return None if verdict is None else verdict.reason

    def filter_status(self, pod: Pod, policy: str) -> FitStatus | None:
        """A refusal or None: too few cards are unschedulable, which evictions can change; others are errors.
        Upstream: api/devices/ascend/hami/device_info.FilterNode.
        """
        error = self._select_devices(pod, policy).error
        if error is None:
            return None
        return FitStatus(
            UNSCHEDULABLE if error == TOO_FEW_DEVICES and not self._settings.rules.lack_is_error else ERROR, NO_DEVICE
        )

    def score_node(self, pod: Pod, policy: str) -> float:
        """The sum of the scores of each container's first card before the pod is charged.
        Upstream: api/devices/ascend/hami/device_info.ScoreNode.
        """
        self.policy = policy
        choice = self._select_devices(pod, policy)
        if choice.error is not None:
            return 0.0
        if not all(choice.containers):
            raise ProcessExit(OUT_OF_RANGE.format(0))
        cards = [self.cards[container[0].uuid] for container in choice.containers]
        # Added one by one in upstream's order, not by sum(): the last digit decides between nodes.
        score = 0.0
        for card in cards:
            score = score + self._card_score(card, policy)
        if not self.kind.word.startswith(NETWORKED_KIND) or not npus.have_network_id(cards):
            return score
        shared = npus.network_share(cards)
        return 0.0 if shared is None else score + shared * NETWORK_WEIGHT

    def _card_score(self, card: npus.Npu, policy: str) -> float:
        return card.cal_score(policy, spread_idle=self._settings.rules.spread_idle)

    def _select_devices(self, pod: Pod, policy: str) -> NpuChoice:
        """Choose cards container by container, each card at most once, without charging them.
        Upstream: api/devices/ascend/hami/device_info.selectDevices.
        """
        cards = self._get_device_snapshot(pod, policy)
        by_network = self.kind.word.startswith(NETWORKED_KIND) and npus.have_network_id(cards)
        chosen: dict[str, None] = {}
        containers: list[list[HeldCard]] = []
        for request in self.resource_reqs(pod, cards[0]):
            if self.asks_for_parts(pod, request):
                return NpuChoice([], PARTIAL_MEMORY)
            fitting = [card for card in cards if card.uuid not in chosen and not self.misfit_reason(card, request, pod)]
            if len(fitting) < request.number:
                return NpuChoice([], TOO_FEW_DEVICES)
            picked = fitting[: max(request.number, 1)]
            if by_network:
                picked = npus.select_devices_with_topology(request.number, fitting)
            chosen.update(dict.fromkeys(card.uuid for card in picked))
            containers.append([HeldCard(card.uuid, request.memory, request.cores) for card in picked])
        return NpuChoice(containers)

    def _get_device_snapshot(self, pod: Pod, policy: str) -> list[npus.Npu]:
        """The cards, best first; equal ones in the cycle's map order, or as a real scheduler is known to have chosen.
        Upstream: api/devices/ascend/hami/device_info.getDeviceSnapshot.
        """
        names = self._settings.ordering.order_keys(self.cards)
        drawn = [name for name in self._settings.drawn_cards.get(pod.key, "").split(";") if name in self.cards]
        cards = [self.cards[name] for name in dict.fromkeys([*drawn, *names])]
        return sorted(cards, key=lambda card: -self._card_score(card, policy))

    def allocate(self, pod: Pod) -> str | None:
        """Choose cards again by the last score's policy. Upstream: api/devices/ascend/hami/device_info.Allocate."""
        choice = self._select_devices(pod, self.policy)
        if choice.error is not None:
            return NOT_SELECTED.format(pod.name, choice.error)
        self._chosen_cards[pod.uid] = choice.containers
        self._add_resource(npus.encode_pod_single_device(self.kind.word, choice.containers), pod)
        return None

    def release(self, pod: Pod) -> ReleaseOutcome:
        """Upstream: api/devices/ascend/hami/device_info.Release."""
        if self._settings.rules.gives_back:
            self.sub_resource(pod)
            if (
                self._settings.rules.frees_by_annotations
                and self._notes.annotations_of(pod).get(npus.PHASE_ANNOTATION) != npus.SUCCESS
            ):
                self._notes.erase_annotations(pod, self._erased_keys())
        charged = any(pod.uid in card.pods for card in self.cards.values())
        return ReleaseOutcome.KEPT if charged else ReleaseOutcome.FREE

    def _erased_keys(self) -> Iterator[str]:
        yield from npus.COMMON_KEYS
        for kind in self._settings.config.kinds:
            yield from npus.AnnotationKeys.for_kind(kind.word)[1:]

    def bind_annotations(self, pod: Pod) -> Mapping[str, str]:
        """Upstream: api/devices/ascend/hami/device_info.CreateAnnotations."""
        containers = self._chosen_cards.get(pod.uid)
        if containers is None:
            return {}
        text = npus.encode_pod_single_device(self.kind.word, containers)
        all_cards = [card for cards in containers for card in cards]
        runtime = npus.runtime_text(all_cards, None if self.is_hami_core_mode(pod) else self.kind)
        keys = self._keys
        return {keys.to_allocate: text, keys.allocated: text, keys.runtime: runtime, npus.NODE_ANNOTATION: self.node}

    def queue_amounts(self, pod: Pod) -> Mapping[str, float]:
        """None. Upstream: api/devices/ascend/hami/device_info.AddQueueResource."""
        return {}

    def clone(self) -> HamiAscendLedger:
        """Upstream: api/devices/ascend/hami/device_info.DeepCopy."""
        if self._settings.rules.shared:
            return self
        cards = {name: card.clone() for name, card in self.cards.items()}
        copy = HamiAscendLedger(self.node, self.kind, cards, self._settings, core_mode=self._core_mode)
        copy.policy = self.policy
        copy._chosen_cards = dict(self._chosen_cards)
        return copy


@dataclass(frozen=True, slots=True)
class NpuRules(ReleaseRules):
    """How a release counts, chooses and frees Ascend NPUs; the defaults are the latest rules."""

    lack_is_error: bool = rule_of(changes.HAMI_ASCEND)
    """Too few cards are an error, as is a request that no card can ever serve."""
    cores_known: bool = rule_of(changes.HAMI_ASCEND_CORE_MODE, newest=True)
    """Pods can request cores, and cards can be divided by hami-core."""
    spread_idle: bool = rule_of(changes.HAMI_ASCEND_SPREAD_SCORE, newest=True)
    """The policy spread favours cards without users; else those with one."""
    frees_by_annotations: bool = rule_of(changes.HAMI_ASCEND_RELEASE_LEAKS)
    """A charge is freed only by the pod's annotations."""
    charges_card_once: bool = rule_of(changes.HAMI_ASCEND_LEDGER, newest=True)
    """A pod is charged once per card, by its allocated devices; else for each entry of the devices to allocate."""
    allocatable: bool = rule_of(changes.HAMI_ASCEND_UNALLOCATABLE, newest=True)
    """Cards count only while some are allocatable."""
    gives_back: bool = rule_of(changes.HAMI_ASCEND_NO_RELEASE, newest=True)
    """A release frees the cards; with `frees_by_annotations` it also erases the pod's annotations."""
    shared: bool = rule_of(changes.DEVICES_SHARED_WITH_CACHE)
    """Copies of a node share one ledger."""
    list_only: bool = rule_of(changes.VNPUS_WRAPPER)
    """The NPU section of a device configuration must be a list."""


NEWEST_NPU_RULES = NpuRules()


class NpuSettings(NamedTuple):
    """Settings that all nodes of a session share."""

    config: NpuConfig
    rules: NpuRules = NEWEST_NPU_RULES
    notes: PodAnnotations | None = None
    ordering: MapOrder = ASCENDING
    drawn_cards: Mapping[str, str] = {}
    """Pod → the cards that a real scheduler gave it, separated by semicolons."""
