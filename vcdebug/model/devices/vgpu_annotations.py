"""Virtual GPUs in pods and annotations: requests, accepted cards, cards that pods hold, and the plugin's handshake.

Upstream: api/devices (ExtractResourceRequest), api/devices/nvidia/vgpu (checkType, gpuUUIDFilter,
decodeContainerDevices, NewGPUDevices), api/devices/nvidia/vgpu/device_info (Allocate, Release).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from vcdebug.errors import SchedulerPanic
from vcdebug.model.devices import container_limit, exact_integer
from vcdebug.model.pod import Pod
from vcdebug.releases import devices as changes
from vcdebug.releases.release import ReleaseRules, rule_of
from vcdebug.snapshot.device_config import BUILT_IN_MIG, BUILT_IN_NAMES, MigSettings, VgpuNames
from vcdebug.snapshot.manifest import GROUP_ANNOTATION, JsonObject

MEMORY_SHORT = "its memory is short"
WHOLE_CARD = 100
NO_PERCENTAGE = 101
"""Upstream's value for no percentage."""
VOLCANO_GROUP_ANNOTATION = "scheduling.volcano.sh/group-name"
MODE_ANNOTATION = "volcano.sh/vgpu-mode"
GROUP_POLICY_ANNOTATION = "volcano.sh/vgpu-podgroup-policy"
USE_UUID = "volcano.sh/vgpu-use-gpuuuid"
NO_USE_UUID = "volcano.sh/vgpu-nouse-gpuuuid"
USE_TYPE = "nvidia.com/use-gputype"
NO_USE_TYPE = "nvidia.com/nouse-gputype"
NVIDIA = "NVIDIA"
NO_UUID_MATCHES = 'no GPU matches UUID constraints {}="{}", {}="{}" on node {}'


class ContainerRequest(NamedTuple):
    """Virtual GPUs of one container: how many cards, and memory and cores on each."""

    number: int
    memory: int
    cores: int
    percentage: int | None = None
    """Memory as percent of each card, instead of `memory`."""

    def memory_on(self, card_memory: int) -> int:
        """The memory that is requested of a card of this size."""
        return self.memory if self.percentage is None else card_memory * self.percentage // 100  # exact: ints

    def settle_memory(self, card_memory: int) -> ContainerRequest:
        """The request as older releases settle it: a percentage becomes whole multiples of the first card's memory."""
        if self.memory or self.percentage is None:
            return self._replace(percentage=None)
        return self._replace(memory=card_memory * (self.percentage // 100), percentage=None)  # exact: ints


def requests_of(pod: Pod, names: VgpuNames = BUILT_IN_NAMES) -> list[ContainerRequest]:
    """Regular containers that name a number or memory as limit; memory alone asks for one card.
    Upstream: api/devices/nvidia/vgpu/utils.resourcereqs.
    """
    requests: list[ContainerRequest] = []
    for container in pod.spec.get("containers") or ():
        number = container_limit(container, names.number)
        if number is None and container_limit(container, names.memory) is None:
            continue
        count = 1 if number is None else exact_integer(number)
        memory, cores, part = (exact_integer(_limit_or_request(container, name)) for name in names[1:])
        has_percentage = _limit_or_request(container, names.percentage) is not None and part != NO_PERCENTAGE
        default = None if memory else WHOLE_CARD
        requests.append(ContainerRequest(count, memory, cores, part if has_percentage else default))
    return requests


def _limit_or_request(container: JsonObject, name: str) -> object | None:
    limit = container_limit(container, name)
    return ((container.get("resources") or {}).get("requests") or {}).get(name) if limit is None else limit


def pod_group_key(pod: Pod) -> str:
    """`namespace/group`, empty without a group. Upstream: api/devices/nvidia/vgpu/utils.getPodGroupKey."""
    group = pod.annotations.get(GROUP_ANNOTATION) or pod.annotations.get(VOLCANO_GROUP_ANNOTATION)
    return f"{pod.namespace}/{group}" if group else ""


@dataclass(frozen=True, slots=True)
class CardRules(ReleaseRules):
    """How a release chooses, scores and charges cards."""

    heeds_uuids: bool = rule_of(changes.VGPU_UUID_LISTS, newest=True)
    """Whether lists of wanted and unwanted UUIDs are applied."""
    heeds_groups: bool = rule_of(changes.VGPU_PODGROUP_SPREAD, newest=True)
    """Whether the policy of a PodGroup is applied."""
    last_first: bool = rule_of(changes.VGPU_DEVICE_ORDER)
    """Cards are tried from the last to the first, whatever the policy."""
    favours_unused: bool = rule_of(changes.VGPU_SPREAD_SCORE)
    """The policy spread gives points to cards that were unused."""
    on_pods: bool = rule_of(changes.DEVICE_ANNOTATIONS_ON_POD)
    """A session changes the annotations of the pod object itself."""
    keeps_assigned: bool = rule_of(changes.VGPU_DUPLICATE_ALLOCATE)
    """Whether a pod whose annotations name cards of the node keeps these."""
    frees_by_annotations: bool = rule_of(changes.VGPU_LEDGER_LEAKS)
    """A charge is freed only for a removed pod with annotations; a failed choice keeps its first containers charged."""
    shared: bool = rule_of(changes.DEVICES_SHARED_WITH_CACHE)
    """Copies of a node share one ledger."""
    shakes_hands: bool = rule_of(changes.VGPU_HANDSHAKE)
    """Cards count only while the device plugin answers; a release frees nothing."""
    validates: bool = rule_of(changes.VGPU_IDS_VALIDATION, newest=True)
    """Unreadable entries are skipped."""
    first_card_sets_memory: bool = rule_of(changes.VGPU_MEMORY_PERCENTAGE)
    """The first card settles the memory that a container requests of all cards."""
    charges_twice: bool = rule_of(changes.VGPU_CHARGED_TWICE)
    """A pod is charged when its cards are chosen and again when they are recorded."""
    charges_card_once: bool = rule_of(changes.VGPU_SECOND_CONTAINER_FREE)
    """A pod is charged once per card. An entry counts for every card whose UUID it contains, and ends the process if
    its pod is not on the card.
    """
    names: VgpuNames = BUILT_IN_NAMES
    """The resources that pods request."""
    mig: MigSettings = BUILT_IN_MIG
    """The geometries of cards in MIG mode."""
    mig_whole: bool = rule_of(changes.MIG_MEMORY_FACTOR)
    """The memory of instances is not divided by a factor, and a release frees the requested memory."""
    plain: bool = rule_of(changes.VGPU_MODES_ABSENT)
    """There are no sharing modes, entries count only for the card with their UUID, and choices are not recorded."""
    counts_news: bool = rule_of(changes.VGPU_CHARGED_BY_NEWS)
    """A pod is charged once more when it is bound."""
    one_unwanted_ignored: bool = rule_of(changes.VGPU_UNWANTED_TYPE_IGNORED)
    """A list of unwanted types applies only if it has several entries."""
    says_reason: bool = rule_of(changes.VGPU_REASON_SAID)
    """A rejection states its reason."""
    cores_wrap: bool = rule_of(changes.VGPU_CORES_WRAP)
    """A card with more than all of its cores in use has nearly 2^64 left."""


NEWEST_CARD_RULES = CardRules()


class CardFilter(NamedTuple):
    """The cards that a pod's annotations accept."""

    allowed: tuple[str, ...]
    denied: tuple[str, ...]
    use_types: tuple[str, ...] | None
    avoid_types: tuple[str, ...] | None
    group: str
    """Pods of this group must not share a card; empty for no such rule."""
    annotations: Mapping[str, str]

    @classmethod
    def of_pod(cls, pod: Pod, rules: CardRules = NEWEST_CARD_RULES) -> CardFilter:
        """Upstream: api/devices/nvidia/vgpu/utils.newGPUUUIDFilter."""
        notes = pod.annotations
        unwanted = _split_types(notes.get(NO_USE_TYPE))
        if rules.one_unwanted_ignored and unwanted is not None and len(unwanted) == 1:
            unwanted = None
        spread = rules.heeds_groups and notes.get(GROUP_POLICY_ANNOTATION) == "spread"
        return cls(
            _split_names(notes.get(USE_UUID, "")) if rules.heeds_uuids else (),
            _split_names(notes.get(NO_USE_UUID, "")) if rules.heeds_uuids else (),
            _split_types(notes.get(USE_TYPE)),
            unwanted,
            pod_group_key(pod) if spread else "",
            notes,
        )

    def accepts_card(self, uuid: str, kind: str) -> bool:
        """Whether the pod accepts a card, by UUID and then by type; wanted types override unwanted ones.
        Upstream: api/devices/nvidia/vgpu/utils.checkType.
        """
        if not self.accepts_uuid(uuid) or NVIDIA not in kind:
            return False
        upper = kind.upper()
        if self.use_types is not None:
            return any(name in upper for name in self.use_types)
        return not any(name in upper for name in self.avoid_types or ())

    def accepts_uuid(self, uuid: str) -> bool:
        """Whether the UUID is on the list of allowed cards, if there is one, and not on the list of denied ones.
        Upstream: api/devices/nvidia/vgpu/utils.matches.
        """
        if not uuid and (self.allowed or self.denied):
            return False
        return (not self.allowed or uuid in self.allowed) and uuid not in self.denied

    def uuid_mismatch_error(self, uuids: Iterable[str], node: str) -> str | None:
        """Upstream's error when no card of the node has an accepted UUID."""
        if not (self.allowed or self.denied) or any(map(self.accepts_uuid, uuids)):
            return None
        allowed, denied = self.annotations.get(USE_UUID, ""), self.annotations.get(NO_USE_UUID, "")
        return NO_UUID_MATCHES.format(USE_UUID, allowed, NO_USE_UUID, denied, node)


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _split_types(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.upper() for name in text.split(","))


ASSIGNED_ANNOTATION = "volcano.sh/vgpu-ids-new"
HANDSHAKE_ANNOTATION = "volcano.sh/node-vgpu-handshake"
OUT_OF_RANGE = "runtime error: index out of range [{0}] with length {0}"
HANDSHAKE_TIMEOUT = timedelta(seconds=60)
HELD_FIELDS = 4
_UINT32 = re.compile(r"[0-9]{1,10}", re.ASCII)
_INT = re.compile(r"[+-]?[0-9]+", re.ASCII)
REQUESTING, DELETED = "Requesting", "Deleted"
HANDSHAKE_TIME_FORMAT = "%Y.%m.%d %H:%M:%S"


class HeldCard(NamedTuple):
    """One card in a pod's annotation."""

    uuid: str
    memory: int
    core: int


def held_cards(annotations: Mapping[str, str], *, validated: bool = True) -> list[HeldCard]:
    """The cards in a pod's annotation; unreadable entries are skipped, or panic unless `validated`."""
    if not validated:
        return list(_unvalidated_cards(annotations))
    return [
        HeldCard(fields[0], int(fields[2]), int(fields[3]))
        for fields in _split_entries(annotations)
        if len(fields) >= HELD_FIELDS and _is_uint32(fields[2]) and _is_uint32(fields[3])
    ]


def _unvalidated_cards(annotations: Mapping[str, str]) -> Iterator[HeldCard]:
    """Entries without validation: a short entry raises SchedulerPanic, and text that is no number counts as 0."""
    for fields in _split_entries(annotations):
        if len(fields) == 1:
            continue
        if len(fields) < HELD_FIELDS:
            raise SchedulerPanic(OUT_OF_RANGE.format(len(fields)))
        yield HeldCard(fields[0], parse_int32(fields[2]), parse_int32(fields[3]))


def _split_entries(annotations: Mapping[str, str]) -> Iterator[list[str]]:
    for container in annotations.get(ASSIGNED_ANNOTATION, "").split(";"):
        for entry in container.split(":"):
            yield entry.split(",")


def _is_uint32(text: str) -> bool:
    return _UINT32.fullmatch(text) is not None and int(text) < 1 << 32


def parse_int32(text: str) -> int:
    """Go's ParseInt for 32 bits, its error dropped: the nearest number in range, or 0."""
    if _INT.fullmatch(text) is None:
        return 0
    return max(min(int(text[:20]), (1 << 31) - 1), -(1 << 31))


def is_plugin_alive(manifest: JsonObject, now: datetime) -> bool:
    """Whether the node's device plugin has answered the handshake, or was asked within HANDSHAKE_TIMEOUT."""
    handshake = ((manifest.get("metadata") or {}).get("annotations") or {}).get(HANDSHAKE_ANNOTATION)
    if handshake is None:
        return False
    if REQUESTING not in handshake:
        return DELETED not in handshake
    _, underscore, time_text = handshake.partition("_")
    if not underscore:
        raise SchedulerPanic(OUT_OF_RANGE.format(1))
    moment = parse_handshake_time(time_text.partition("_")[0])
    return moment is not None and now <= moment + HANDSHAKE_TIMEOUT


def parse_handshake_time(text: str) -> datetime | None:
    """The time of the last request to the device plugin; None for an invalid one, which counts as long ago."""
    try:
        return datetime.strptime(text, HANDSHAKE_TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None


class PodAnnotations:
    """Annotations that a session changes. Upstream changes the pod object itself; the manifest stays unchanged here."""

    __slots__ = ("_changed", "patched_cards")

    def __init__(self) -> None:
        self._changed: dict[str, Mapping[str, str]] = {}
        self.patched_cards: dict[str, tuple[HeldCard, ...]] = {}
        """Pod UID → cards in the annotation on the API server, of its last successful allocation on any node."""

    def annotations_of(self, pod: Pod) -> Mapping[str, str]:
        """The pod's current annotations."""
        return self._changed.get(pod.uid, pod.annotations)

    def write_annotations(self, pod: Pod, notes: Mapping[str, str]) -> None:
        """Add or replace annotations of the pod."""
        self._changed[pod.uid] = {**self.annotations_of(pod), **notes}

    def erase_annotations(self, pod: Pod, keys: Iterable[str]) -> None:
        erased = dict.fromkeys(keys)
        self._changed[pod.uid] = {key: text for key, text in self.annotations_of(pod).items() if key not in erased}
