"""NVIDIA cards cut into virtual GPUs: memory, cores and a number of users per card.

Upstream: api/devices/nvidia/vgpu.
Differs: of the device configuration only the names of resources and what is said of MIG mode are in force.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from vcdebug.model.devices.cards import HAMI_CORE, Card, Cards, HamiCore, Sharing
from vcdebug.model.devices.ledger import Released, limit
from vcdebug.model.devices.mig import MIG, Mig, geometries_of
from vcdebug.model.devices.notes import PodNotes
from vcdebug.model.devices.vgpu_held import ASSIGNED, Held, held_cards, plugin_answers
from vcdebug.model.devices.vgpu_request import (
    MODE_ANNOTATION,
    NEWEST_RULES,
    NVIDIA,
    CardFilter,
    CardRules,
    ContainerRequest,
    requests_of,
)
from vcdebug.model.panics import NIL_POINTER, EndsAtOnce, SchedulerPanic
from vcdebug.model.pod import Pod
from vcdebug.snapshot.device_config import BUILT_IN, MigSettings, VgpuNames
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.quantity import value

DEVICE_NAME = "hamivgpu"
REGISTER = "volcano.sh/node-vgpu-register"
ASSIGNED_NODE = "volcano.sh/vgpu-node"
BIND_PHASE = "volcano.sh/bind-phase"
SUCCESS = "success"
OWN_KEYS = (ASSIGNED_NODE, ASSIGNED, BIND_PHASE)
"""What a ledger writes on pods and reads again."""
BINPACK = "binpack"
SPREAD = "spread"

MESSAGE = "hami-vgpuDeviceSharing error"
TOO_FEW_CARDS = "no enough gpu cards on node {}"
NOTHING_FITS = "not enough gpu fitted on this node"
OTHER_MODE = "pod required sharing mode {} is not the same as the node mode {}"

FIELDS = 6
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_UINT = 1 << 64


class Way(NamedTuple):
    """By which policy and rules cards are chosen, and how they are cut."""

    policy: str
    rules: CardRules
    sharing: Sharing


class Choice(NamedTuple):
    """The cards that a pod takes and their score, or why it gets none."""

    held: list[Held]
    score: float
    error: str | None


class VgpuLedger:
    """The cards of a node by their position in its register annotation."""

    __slots__ = ("_given", "_notes", "cards", "last_score", "node", "policy", "rules", "sharing")

    def __init__(
        self, node: str, cards: Cards, sharing: Sharing, policy: str, rules: CardRules, notes: PodNotes | None = None
    ) -> None:
        self.rules = rules
        self.sharing = sharing
        self._notes = PodNotes() if notes is None else notes
        self.node = node
        self.cards = cards
        self.policy = policy
        """The policy that allocation follows, whatever a filter is asked with."""
        self.last_score = 0.0
        """Left by the last pod that passed the filter here, whichever it was."""
        self._given: dict[str, tuple[Held, ...]] = {}
        """What was last allocated in this session, by pod UID."""

    @classmethod
    def of_node(
        cls,
        manifest: JsonObject,
        policy: str,
        rules: CardRules = NEWEST_RULES,
        notes: PodNotes | None = None,
        now: datetime | None = None,
    ) -> VgpuLedger | None:
        """None for a node that registers no cards, or has no allocatable virtual GPUs.
        Upstream: api/devices/nvidia/vgpu/device_info.NewGPUDevices.
        """
        alive = _allocatable(manifest) if now is None or not rules.shakes_hands else plugin_answers(manifest, now)
        cards, mode = _registered(manifest, rules.mig) if alive else ({}, "")
        return cls(manifest["metadata"]["name"], cards, _sharing(mode, rules), policy, rules, notes) if cards else None

    def held_by(self, pod: Pod) -> list[Held]:
        """What the pod's annotations say it holds."""
        return held_cards(self._notes.of(pod), validated=self.rules.validates)

    def add_resource(self, pod: Pod) -> None:
        """Per card only the first entry of a pod counts. Upstream: api/devices/nvidia/vgpu/device_info.AddResource."""
        self._charge(pod, self.held_by(pod))

    def _charge(self, pod: Pod, entries: Iterable[Held]) -> None:
        """Upstream: api/devices/nvidia/vgpu/device_info.addResource."""
        sharing = self.sharing
        for held in entries:
            for card in self._holders(held):
                known = pod.uid in card.pods and not sharing.counts_again
                memory = None if known else sharing.arrives(card, held)
                if memory is not None:
                    card.charge(memory, held.core)
                    card.give(pod, memory, held.core)

    def sub_resource(self, pod: Pod) -> None:
        """Upstream: api/devices/nvidia/vgpu/device_info.SubResource."""
        for held in self.held_by(pod):
            for card in self._holders(held):
                if pod.uid not in card.pods:
                    self._strike(pod, card)
                    continue
                freed = self.sharing.leaves(card, held)
                if freed is not None:
                    card.charge(freed.by_card, held.core, -1)
                    card.give(pod, -freed.by_pod, -held.core)
                    self._strike(pod, card)

    def _strike(self, pod: Pod, card: Card) -> None:
        """Forget the pod; older releases do only where it holds no memory, and count it for that.
        Upstream: api/devices/nvidia/vgpu/metrics.SubPodMetrics.
        """
        usage = card.pods.get(pod.uid)
        if usage is None and self.rules.once:
            raise SchedulerPanic(NIL_POINTER)
        if usage is not None and (not self.rules.leaks or usage.memory == 0):
            del card.pods[pod.uid]

    def has_request(self, pod: Pod) -> bool:
        """Upstream: api/devices/nvidia/vgpu/device_info.HasDeviceRequest."""
        return asks_vgpu(pod, self.rules.names)

    def filter(self, pod: Pod, policy: str) -> str | None:
        """Upstream: api/devices/nvidia/vgpu/device_info.FilterNode."""
        if not self.has_request(pod):
            self.last_score = 0.0
            return None
        cards = {index: card.clone() for index, card in self.cards.items()}
        choice = self._choose(pod, cards, policy)
        if choice.error is not None:
            return MESSAGE
        self.last_score = choice.score
        return None

    def score(self, pod: Pod, policy: str) -> float:
        """Upstream: api/devices/nvidia/vgpu/device_info.ScoreNode."""
        return self.last_score

    def allocate(self, pod: Pod) -> str | None:
        """Choose again, on the ledger itself. Upstream: api/devices/nvidia/vgpu/device_info.Allocate."""
        if self.rules.keeps_assigned and self._assigned_here(pod):
            return None
        choice = self._choose(pod, self.cards, self.policy, keeps_charges=self.rules.leaks)
        if choice.error is not None:
            return choice.error
        self._given[pod.uid] = tuple(choice.held)
        self._note(pod, choice.held)
        if self.rules.on_pods and not self.rules.leaks:
            notes = {ASSIGNED_NODE: self.node, BIND_PHASE: "allocating", **self.reservation(pod)}
            self._notes.write(pod, notes)
        return None

    def _note(self, pod: Pod, chosen: Iterable[Held]) -> None:
        """Upstream: api/devices/nvidia/vgpu/device_info.addToPodMap."""
        if self.rules.charges_twice:
            self._charge(pod, chosen)
            return
        for held in chosen:
            for card in self.cards.values():
                if card.uuid in held.uuid:
                    card.give(pod, held.memory, held.core)

    def _assigned_here(self, pod: Pod) -> bool:
        """Whether the pod already names cards of this node."""
        notes = self._notes.of(pod)
        return notes.get(ASSIGNED_NODE) == self.node and bool(notes.get(ASSIGNED))

    def release(self, pod: Pod) -> Released:
        """Upstream looks for the cards on the pod object, which today an allocation of the session does not change.
        Upstream: api/devices/nvidia/vgpu/device_info.Release.
        """
        if not self.rules.shakes_hands:
            self._give_back(pod)
        usages = [card.pods[pod.uid] for card in self.cards.values() if pod.uid in card.pods]
        kept = any(not self.rules.leaks or usage.memory > 0 or usage.core > 0 for usage in usages)
        return Released.KEPT if kept else Released.FREE

    def _give_back(self, pod: Pod) -> None:
        if not self.rules.leaks:
            self.sub_resource(pod)
        if self.rules.on_pods and self._notes.of(pod).get(BIND_PHASE) != SUCCESS:
            self._notes.erase(pod, OWN_KEYS)

    def reservation(self, pod: Pod) -> Mapping[str, str]:
        """Upstream: api/devices/nvidia/vgpu/utils.encodePodDevices."""
        held = self._given.get(pod.uid, ())
        text = ":".join(f"{one.uuid},{NVIDIA},{one.memory},{one.core}" for one in held)
        return {ASSIGNED: text} if text else {}

    def queue_amounts(self, pod: Pod) -> Mapping[str, float]:
        """Upstream: api/devices/nvidia/vgpu/device_info.AddQueueResource."""
        amounts: dict[str, float] = {}
        names = self.rules.names
        for held in self.held_by(pod):
            for card in self.cards.values():
                if card.uuid in held.uuid:
                    amounts[names.memory] = amounts.get(names.memory, 0.0) + float(held.memory * 1000)
                    amounts[names.cores] = amounts.get(names.cores, 0.0) + float(held.core * 1000)
        return amounts

    def clone(self) -> VgpuLedger:
        """Upstream: api/devices/nvidia/vgpu/device_info.DeepCopy."""
        if self.rules.shared:
            return self
        cards = {index: card.clone() for index, card in self.cards.items()}
        copy = VgpuLedger(self.node, cards, self.sharing, self.policy, self.rules, self._notes)
        copy.last_score = self.last_score
        copy._given = dict(self._given)
        return copy

    def requests(self, pod: Pod, cards: Cards) -> Iterator[ContainerRequest]:
        """What the pod's containers ask for, each as the cards stand when its turn comes."""
        for request in requests_of(pod, self.rules.names):
            yield settled(request, cards) if self.rules.settles else request

    def _holders(self, held: Held) -> list[Card]:
        found = [card for card in self.cards.values() if card.uuid in held.uuid]
        return found if self.rules.once else found[:1]

    def _choose(self, pod: Pod, cards: Cards, policy: str, *, keeps_charges: bool = False) -> Choice:
        """Cards for one container after the other; a shortage gives everything back.
        Upstream: api/devices/nvidia/vgpu/utils.checkNodeGPUSharingPredicateAndScore.
        """
        mode = pod.annotations.get(MODE_ANNOTATION)
        if mode is not None and mode != self.sharing.mode:
            return Choice([], 0.0, OTHER_MODE.format(mode, self.sharing.mode))
        wanted = CardFilter.of_pod(pod, self.rules)
        way = Way(policy, self.rules, self.sharing)
        held: list[Held] = []
        charged: list[tuple[Card, int, int]] = []
        score = 0.0
        for request in self.requests(pod, cards):
            missing, error = request.number, None
            if missing > len(cards):
                error = TOO_FEW_CARDS.format(self.node)
            else:
                missing, score = _serve(request, cards, way, wanted, (held, charged, score))
            if error is not None or missing > 0:
                for card, memory, core in () if keeps_charges else charged:
                    card.uncharge(memory, core)
                return Choice([], 0.0, error or wanted.complaint(cards, self.node) or NOTHING_FITS)
        return Choice(held, score, None)


def settled(request: ContainerRequest, cards: Cards) -> ContainerRequest:
    """By the first card, from the last one back, that has a user left."""
    open_ones = (cards[index].memory for index in _visiting_order(cards, "") if _has_user_left(cards[index]))
    return request.settled(next(filter(None, open_ones), 0))


def _serve(
    request: ContainerRequest,
    cards: Cards,
    way: Way,
    wanted: CardFilter,
    so_far: tuple[list[Held], list[tuple[Card, int, int]], float],
) -> tuple[int, float]:
    """(cards still missing, score): a request for no card still charges the first one that fits."""
    held, charged, score = so_far
    missing = request.number
    for index in _visiting_order(cards, "" if way.rules.last_first else way.policy):
        card = cards[index]
        memory = request.memory_on(card.memory)
        accepted = wanted.accepts(card.uuid, card.kind) and not misfit(card, request, memory, wanted.group)
        part = way.sharing.part(card, memory) if accepted else None
        if part is None:
            continue
        card.charge(part.memory, request.cores)
        charged.append((card, memory, request.cores))
        if missing > 0:
            missing -= 1
            held.append(Held(part.name, memory, request.cores))
            score = score + _card_score(card, way)
        if missing == 0:
            break
    return missing, score


def misfit(card: Card, request: ContainerRequest, memory: int, group: str) -> str:
    """Why a card cannot serve a container; empty where it can."""
    if not _has_user_left(card):
        return "it has no user left"
    if card.memory - card.used_memory < memory:
        return "its memory is short"
    if group and any(u.group == group and (u.memory > 0 or u.core > 0) for u in card.pods.values()):
        return "a pod of the same group is on it"
    if (card.used_core + request.cores) % _UINT > 100:  # exact: ints
        return "its cores are short"
    if request.cores == 100 and card.used_number != 0:
        return "all of its cores are asked for, and somebody uses it"
    return "all of its cores are taken" if card.used_core == 100 and request.cores == 0 else ""


def _has_user_left(card: Card) -> bool:
    """A card that somebody left more often than he came has none: upstream's count wraps around."""
    return card.number > card.used_number % _UINT  # exact: ints


def _visiting_order(cards: Cards, policy: str) -> list[int]:
    """Upstream: api/devices/nvidia/vgpu/utils.sortedDeviceIndicesByPolicy."""
    if policy == BINPACK:
        return sorted(cards, key=lambda index: (-cards[index].used_memory, index))
    if policy == SPREAD:
        return sorted(cards, key=lambda index: (cards[index].used_number, index))
    backward = list(range(len(cards) - 1, -1, -1))
    if any(index not in cards for index in backward):
        raise EndsAtOnce(NIL_POINTER)
    return backward


def _card_score(card: Card, way: Way) -> float:
    """After charging, so that `spread` never sees an idle card and always scores 0.
    Upstream: api/devices/nvidia/vgpu/utils.GPUScore.
    """
    if way.policy == SPREAD and way.rules.favours_unused:
        return 100.0 if card.used_number == 1 else 0.0
    if way.policy != BINPACK:
        return 0.0
    if card.memory == 0:
        return math.nan if card.used_memory == 0 else math.inf
    used = card.used_memory % _UINT  # exact: ints
    return 100 * (float(used) / float(card.memory))


def _allocatable(manifest: JsonObject) -> bool:
    amounts = (manifest.get("status") or {}).get("allocatable") or {}
    return all(name in amounts and value(amounts[name]) for name in BUILT_IN[:3])


def _registered(manifest: JsonObject, settings: MigSettings) -> tuple[Cards, str]:
    """(cards of the register annotation, their mode, which the last one says); one short entry voids them all.
    Upstream: api/devices/nvidia/vgpu/utils.decodeNodeDevices.
    """
    text = ((manifest.get("metadata") or {}).get("annotations") or {}).get(REGISTER, "")
    cards: Cards = {}
    mode = HAMI_CORE
    for index, entry in enumerate(text.split(":") if ":" in text else ()):
        if "," not in entry:
            continue
        fields = entry.split(",")
        if len(fields) < FIELDS:
            return {}, ""
        geometries = geometries_of(fields[3], settings) if fields[5] == MIG else None
        mode = HAMI_CORE if geometries is None else MIG
        cards[index] = Card(fields[0], _atoi(fields[1]), _atoi(fields[2]), fields[3], geometries or ())
    return cards, mode


def _sharing(mode: str, rules: CardRules) -> Sharing:
    """Upstream: api/devices/nvidia/vgpu/sharing_factory.GetSharingHandler."""
    if mode == MIG:
        return Mig(1 if rules.mig_whole else rules.mig.factor, frees_requested=rules.mig_whole)
    return HamiCore(counts_again=rules.leaks and not rules.once)


def asks_vgpu(pod: Pod, names: VgpuNames = BUILT_IN) -> bool:
    """Whether some container has a limit on virtual GPUs or their memory."""
    containers = pod.spec.get("containers") or ()
    return any(limit(c, names.memory) is not None or limit(c, names.number) is not None for c in containers)


def _atoi(text: str) -> int:
    return int(text) if _WHOLE.fullmatch(text) else 0
