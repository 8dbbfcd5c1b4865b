"""What a cycle came to, in the same form whoever tells it: a replay, or the requests that a scheduler sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from vcdebug.conformance.api_server import ApiWrite
from vcdebug.conformance.object_store import key_of
from vcdebug.model.devices.hami_ascend import HamiAscendLedger
from vcdebug.model.devices.hami_ascend_card import ALLOCATED_SUFFIX, decode_container_devices
from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.recording.effects import cycle_effects, reserved_claims
from vcdebug.recording.recording import Recording
from vcdebug.recording.writes import POD_SCHEDULED, api_writes, pod_group_changes, pod_status_writes
from vcdebug.snapshot.manifest import JsonObject, metadata_of, spec_of, status_of
from vcdebug.snapshot.quantity import nano_value
from vcdebug.snapshot.snapshot import Manifest, Snapshot

GONE = "gone"
PROMISED = re.compile(r" can possibly be assigned to ([^\s,]+)")
"""What a pod is told for which a node was found that is not free yet."""
PODS, GROUPS, CLAIMS = "pods", "podgroups", "resourceclaims"


class WrittenStatus(NamedTuple):
    """What is written into a status: of a PodGroup or of a waiting pod."""

    phase: str
    conditions: tuple[tuple[str, str, str, str], ...]
    """Type, status, reason, message."""


@dataclass(slots=True)
class CycleOutcome:
    """Decisions, and what was said about them."""

    bound: dict[TaskKey, NodeName] = field(default_factory=dict)
    evicted: dict[TaskKey, str] = field(default_factory=dict)
    """Victims; the value is GONE where nobody saw who made them go."""
    nominated: dict[TaskKey, NodeName] = field(default_factory=dict)
    groups: dict[JobId, WrittenStatus] = field(default_factory=dict)
    """PodGroups whose phase or conditions were written otherwise than they were; counts are not looked at."""
    devices: PodDevices = field(default_factory=dict)
    """Of claims that were allocated for pods that were bound, and of annotations about NPUs."""
    waiting: dict[TaskKey, tuple[str, str]] = field(default_factory=dict)
    """Reason and message of PodScheduled=False, where it was written."""
    panic: str = ""

    @property
    def node_by_pod(self) -> dict[TaskKey, NodeName]:
        """Where each pod went, is to go, or would go once there is room."""
        told = {pod: PROMISED.search(message) for pod, (_, message) in self.waiting.items()}
        promised = {pod: match[1] for pod, match in told.items() if match is not None}
        return {**promised, **self.nominated, **self.bound}

    def followed_by(self, later: CycleOutcome) -> CycleOutcome:
        """Both, one after the other."""
        bound = {**self.bound, **later.bound}
        return CycleOutcome(
            bound,
            {**self.evicted, **later.evicted},
            {pod: node for pod, node in {**self.nominated, **later.nominated}.items() if pod not in bound},
            {**self.groups, **later.groups},
            {**self.devices, **later.devices},
            {**self.waiting, **later.waiting},
            self.panic or later.panic,
        )


def predicted_outcome(recording: Recording) -> CycleOutcome:
    """What the replay says will be written."""
    done = cycle_effects(recording)
    outcome = CycleOutcome(bound={effect.task: effect.node for effect in done.bound}, panic=done.panic or "")
    outcome.devices = allocated_devices(recording, outcome.bound)
    for pod, cards in given_npus(recording, outcome.bound).items():
        outcome.devices.setdefault(pod, {}).update(cards)
    outcome.evicted = {write.object: "" for write in api_writes(recording) if write.verb == "evict"}
    if recording.session.close is None:
        return outcome
    for uid, job in recording.session.jobs.items():
        if pod_group_changes(job) and group_status(PodGroup(job.pod_group.manifest)) != group_status(job.pod_group):
            outcome.groups[uid] = group_status(job.pod_group)
        for status in pod_status_writes(job):
            outcome.waiting[status.pod] = (status.reason, status.message)
            if status.nominated:
                outcome.nominated[status.pod] = status.nominated
    return outcome


def group_status(group: PodGroup) -> WrittenStatus:
    """A PodGroup's status without times and session."""
    return WrittenStatus(
        group.phase, tuple((one.type, one.status, one.reason, one.message) for one in group.conditions)
    )


def observed_outcome(written: Iterable[ApiWrite], before: Snapshot) -> CycleOutcome:
    """What a scheduler's requests say, beside the objects as they were."""
    pods, groups = ({key_of(one): one for one in before.objects_of(kind)} for kind in ("Pod", "PodGroup"))
    outcome = CycleOutcome()
    for one in written:
        key = key_of(one.body)
        if one.address.plural == PODS:
            note_npus(outcome.devices, key, one.body)
        if one.verb == "bind":
            outcome.bound[key] = str(spec_of(one.body).get("nodeName") or "")
        elif one.address.plural == PODS and one.verb in ("delete", "evict"):
            outcome.evicted[key] = ""
        elif one.address.plural == PODS:
            _pod_status(outcome, key, one.body, pods.get(key, {}))
        elif one.address.plural == CLAIMS:
            note_devices(outcome.devices, key, one.body)
        elif one.address.plural == GROUPS:
            outcome.groups[key] = group_status(PodGroup(one.body))
    unchanged = [
        key for key, one in outcome.groups.items() if key in groups and group_status(PodGroup(groups[key])) == one
    ]
    for key in unchanged:
        del outcome.groups[key]
    return outcome


def _pod_status(outcome: CycleOutcome, key: TaskKey, pod: Manifest, before: Manifest) -> None:
    status = status_of(pod)
    node = str(status.get("nominatedNodeName") or "")
    if node and node != str(status_of(before).get("nominatedNodeName") or ""):
        outcome.nominated[key] = node
    old = dict.fromkeys(iter_unscheduled_messages(before))
    for words in iter_unscheduled_messages(pod):
        if words not in old:
            outcome.waiting[key] = words


def iter_unscheduled_messages(pod: Manifest) -> Iterator[tuple[str, str]]:
    """Reason and message of PodScheduled=False."""
    for condition in status_of(pod).get("conditions") or ():
        if condition.get("type") == POD_SCHEDULED and condition.get("status") == "False":
            yield str(condition.get("reason") or ""), str(condition.get("message") or "")


# The devices that claims get, in the same words whoever tells of them.

PodDevices = dict[TaskKey, dict[str, str]]
"""Pod → claim → its devices."""


def allocated_devices(recording: Recording, bound: Collection[TaskKey]) -> PodDevices:
    """Of pods that the replay binds; where the order of slices is chance, nothing is said."""
    found: PodDevices = {}
    for claim, one in reserved_claims(recording).items():
        if one.allocation is not None and one.pod in bound and one.allocation.certain:
            words = _allocation_words(one.allocation.results, one.allocation.selector)
            found.setdefault(one.pod, {})[claim] = words
    return found


def note_devices(found: PodDevices, claim: str, body: JsonObject) -> None:
    """What a claim's status says of its devices, for the pod that it was reserved for last."""
    status = status_of(body)
    allocation, users = status.get("allocation"), status.get("reservedFor")
    if allocation and users:
        results = (allocation.get("devices") or {}).get("results") or ()
        namespace = claim.partition("/")[0]
        pod = f"{namespace}/{users[-1].get('name')}"
        found.setdefault(pod, {})[claim] = _allocation_words(results, allocation.get("nodeSelector"))


def _allocation_words(results: Iterable[JsonObject], selector: JsonObject | None) -> str:
    where = [
        f"{one.get('key')} {one.get('operator')} {','.join(one.get('values') or ())}"
        for term in (selector or {}).get("nodeSelectorTerms") or ()
        for part in ("matchFields", "matchExpressions")
        for one in term.get(part) or ()
    ]
    return "; ".join([*map(_device_words, results), *where])


def _device_words(one: JsonObject) -> str:
    name = "/".join(one.get(part) or "" for part in ("driver", "pool", "device"))
    capacity = sorted((own, nano_value(text)) for own, text in (one.get("consumedCapacity") or {}).items())
    amounts = "".join(f" {own}={nano}n" for own, nano in capacity)
    return f"{one.get('request')}: {name}{' for an administrator' if one.get('adminAccess') else ''}{amounts}"


# The Ascend NPUs that pods are given, as their annotations say it.

RUNTIME_PREFIX = "huawei.com/Ascend"
"""How annotations begin that tell a container runtime of its parts of cards."""


def given_npus(recording: Recording, bound: Mapping[TaskKey, NodeName]) -> PodDevices:
    """Pod → annotation → its text, of pods that the replay binds."""
    nodes, found = recording.session.nodes, PodDevices()
    for pod in map(Pod, recording.snapshot.objects_of("Pod")):
        if pod.key in bound:
            for ledger in nodes[bound[pod.key]].devices.values():
                if isinstance(ledger, HamiAscendLedger):
                    note_npus(found, pod.key, {"metadata": {"annotations": ledger.bind_annotations(pod)}})
    return found


def note_npus(found: PodDevices, pod: TaskKey, body: JsonObject) -> None:
    """What a pod says of its NPUs."""
    for key, text in (metadata_of(body).get("annotations") or {}).items():
        if key.endswith(ALLOCATED_SUFFIX) or key.startswith(RUNTIME_PREFIX):
            found.setdefault(pod, {})[key] = text


def chosen_npus(devices: PodDevices) -> dict[TaskKey, str]:
    """Pod → its NPUs, as the replay takes it."""
    drawn = {pod: ";".join(_iter_card_ids(annotations)) for pod, annotations in devices.items()}
    return {pod: cards for pod, cards in drawn.items() if cards}


def _iter_card_ids(annotations: Mapping[str, str]) -> Iterator[str]:
    for key, text in annotations.items():
        if key.endswith(ALLOCATED_SUFFIX):
            yield from (held.uuid for container in text.split(";") for held in decode_container_devices(container))
