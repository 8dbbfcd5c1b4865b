"""The outcome of a cycle in one form, from a replay or from the requests that a scheduler sent.

Upstream: api/unschedule_info (WrapInsufficientResourceReason), api/resource_info (LessEqualWithResourcesName).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.conformance.api_server import ApiWrite
from vcdebug.conformance.object_store import key_of
from vcdebug.framework.record import CloseEvent
from vcdebug.framework.topology import ALLOCATED_HYPER_NODE
from vcdebug.kube.listers import SELECTED_NODE, claim_names
from vcdebug.kube.volume_binding import NEW_VOLUME, volume_words
from vcdebug.model.devices.gpushare import GPU_INDEX
from vcdebug.model.devices.hami_ascend_card import ALLOCATED_SUFFIX, decode_container_devices
from vcdebug.model.devices.vgpu_annotations import ASSIGNED_ANNOTATION
from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import WAITING_PHASES, PodGroup
from vcdebug.model.resource import CPU, MEMORY
from vcdebug.recording.effects import committed_evictions, cycle_effects, reserved_claims, reserved_volumes
from vcdebug.recording.recording import Recording
from vcdebug.recording.writes import api_writes, iter_unscheduled_messages, pod_group_changes, pod_status_writes
from vcdebug.releases.scheduling import ALLOCATED_HYPERNODE_ANNOTATION
from vcdebug.snapshot.manifest import JsonObject, annotations_of, metadata_of, namespace_in, spec_of, status_of
from vcdebug.snapshot.quantity import nano_text, nano_value
from vcdebug.snapshot.snapshot import Manifest, Snapshot

GONE = "gone"
PROMISED = re.compile(r" can possibly be assigned to ([^\s,]+)")
"""Finds the node for which a pipelined pod waits in its PodScheduled message."""
PODS, GROUPS, CLAIMS, EVENTS = "pods", "podgroups", "resourceclaims", "events"


class WrittenStatus(NamedTuple):
    """Phase and conditions of a PodGroup's status, without times."""

    phase: str
    conditions: tuple[tuple[str, str, str, str], ...]
    """(type, status, reason, message) of each condition."""

    @property
    def text(self) -> str:
        """The status in one text, without its random parts."""
        conditions = [
            f"{kind}={status} {reason}: {certain_part(message)}" for kind, status, reason, message in self.conditions
        ]
        return "; ".join([self.phase, *conditions])


class CycleOutcome(Struct):
    """Decisions of a cycle, and the statuses and messages written about them."""

    bound: dict[TaskKey, NodeName] = {}
    evicted: dict[TaskKey, str] = {}
    """Evicted pods; the value is GONE for a missing pod whose eviction was not seen."""
    nominated: dict[TaskKey, NodeName] = {}
    groups: dict[JobId, WrittenStatus] = {}
    """PodGroups whose phase or conditions changed."""
    devices: PodDevices = {}
    """Allocated claims and NPU annotations of bound pods."""
    waiting: dict[TaskKey, tuple[str, str]] = {}
    """Reason and message of each PodScheduled=False that was written."""
    panic: str = ""
    statuses: Statuses | None = None
    """Final statuses of Queues and PodGroups; None if unknown, such as between two captures."""
    not_admitted: tuple[JobId, ...] = ()
    """PodGroups that were Pending before the cycle; only known for the replay."""
    opened_gates: dict[TaskKey, str] = {}
    """Pods whose scheduling gate was removed."""
    events: dict[EventSubject, tuple[str, ...]] = {}
    """Subject → the messages of its events."""

    @property
    def admitted(self) -> dict[JobId, str]:
        """Changed PodGroups that are no longer Pending → their phase."""
        return {job: status.phase for job, status in self.groups.items() if status.phase not in WAITING_PHASES}

    @property
    def node_by_pod(self) -> dict[TaskKey, NodeName]:
        """The node where each pod was bound, else nominated, else pipelined by its message."""
        matches = {pod: PROMISED.search(message) for pod, (_, message) in self.waiting.items()}
        pipelined = {pod: match[1] for pod, match in matches.items() if match is not None}
        return {**pipelined, **self.nominated, **self.bound}

    def followed_by(self, later: CycleOutcome) -> CycleOutcome:
        """The combined outcome of this cycle and a later one."""
        bound = {**self.bound, **later.bound}
        return CycleOutcome(
            bound,
            {**self.evicted, **later.evicted},
            {pod: node for pod, node in {**self.nominated, **later.nominated}.items() if pod not in bound},
            {**self.groups, **later.groups},
            {**self.devices, **later.devices},
            {**self.waiting, **later.waiting},
            self.panic or later.panic,
            later.statuses,
            self.not_admitted,
            {**self.opened_gates, **later.opened_gates},
            {**self.events, **{key: (*self.events.get(key, ()), *messages) for key, messages in later.events.items()}},
        )


def predicted_outcome(recording: Recording) -> CycleOutcome:
    """The outcome of the replayed cycle."""
    effects = cycle_effects(recording)
    outcome = CycleOutcome(bound={effect.task: effect.node for effect in effects.bound}, panic=effects.panic or "")
    outcome.devices = allocated_devices(recording, outcome.bound)
    for pod, cards in bound_npus(recording, outcome.bound).items():
        outcome.devices.setdefault(pod, {}).update(cards)
    for pod, volumes in claimed_volumes(recording.snapshot, reserved_volumes(recording), outcome.bound).items():
        outcome.devices.setdefault(pod, {}).update(volumes)
    outcome.evicted = {write.object: "" for write in api_writes(recording) if write.verb == "evict"}
    outcome.opened_gates = dict.fromkeys(recording.session.opened_gates, "yes")
    groups = map(PodGroup, recording.snapshot.objects_of("PodGroup"))
    outcome.not_admitted = tuple(f"{group.namespace}/{group.name}" for group in groups if group.phase in WAITING_PHASES)
    outcome.events = predicted_events(recording, outcome.bound)
    if recording.session.close is None:
        return outcome
    outcome.statuses = predicted_statuses(recording, recording.session.close)
    pods = {key_of(pod): pod for pod in recording.snapshot.objects_of("Pod")}
    for uid, job in recording.session.jobs.items():
        if pod_group_changes(job) and is_new_status(PodGroup(job.pod_group.manifest), job.pod_group):
            outcome.groups[uid] = group_status(job.pod_group)
        for status in pod_status_writes(job):
            if is_new_condition((status.reason, status.message), pods[status.pod]):
                outcome.waiting[status.pod] = (status.reason, status.message)
            add_event(outcome.events, "Pod", status.pod, FAILED, status.message)
            if status.nominated:
                outcome.nominated[status.pod] = status.nominated
    return outcome


def group_status(group: PodGroup) -> WrittenStatus:
    """A PodGroup's phase and conditions without times and session."""
    return WrittenStatus(
        group.phase, tuple((one.type, one.status, one.reason, one.message) for one in group.conditions)
    )


def is_new_status(before: PodGroup, after: PodGroup) -> bool:
    """Whether phase or conditions differ, apart from random parts."""
    return not is_alike(group_status(before).text, group_status(after).text)


def is_new_condition(condition: tuple[str, str], pod: Manifest) -> bool:
    """Whether the pod's status does not state this yet, apart from random parts."""
    return not any(is_alike(reason_words(old), reason_words(condition)) for old in iter_unscheduled_messages(pod))


def reason_words(condition: tuple[str, str]) -> str:
    """Reason and message in one text, without random parts."""
    return f"{condition[0]}: {certain_part(condition[1])}"


def observed_outcome(written: Iterable[ApiWrite], before: Snapshot) -> CycleOutcome:
    """The outcome of a scheduler's requests; `before` are the objects that they changed."""
    pods, groups = ({key_of(body): body for body in before.objects_of(kind)} for kind in ("Pod", "PodGroup"))
    outcome, bodies, volumes = CycleOutcome(), dict[str, list[Manifest]](), dict[str, str]()
    for write in written:
        bodies.setdefault(write.address.plural, []).append(write.body)
        if write.address.plural in VOLUME_PLURALS:
            volumes.update(_volume_choice(write.body))
        else:
            _note_write(outcome, write, pods)
    for pod, claims in claimed_volumes(before, volumes, outcome.bound).items():
        outcome.devices.setdefault(pod, {}).update(claims)
    queues, jobs = ([*before.objects_of(kind), *bodies.get(plural, ())] for kind, plural in (QUEUE, POD_GROUP))
    outcome.statuses = stated_statuses(queues, jobs)
    # Upstream also writes a PodGroup whose counts alone have changed.
    for key, group in groups.items():
        if key in outcome.groups and is_alike(group_status(PodGroup(group)).text, outcome.groups[key].text):
            del outcome.groups[key]
    return outcome


def _note_write(outcome: CycleOutcome, write: ApiWrite, pods: Mapping[str, Manifest]) -> None:
    """Add what one request decides; `pods`: the pods before it, by key."""
    key, plural, body = key_of(write.body), write.address.plural, write.body
    if plural == PODS:
        note_npus(outcome.devices, key, body)
    if write.verb == "bind":
        outcome.bound[key] = str(spec_of(body).get("nodeName") or "")
    elif plural == PODS and write.verb in ("delete", "evict"):
        outcome.evicted[key] = ""
    elif plural == PODS:
        note_pod_status(outcome, key, pods.get(key, {}), body)
    elif plural == CLAIMS:
        note_devices(outcome.devices, key, body)
    elif plural == EVENTS:
        target = body.get("involvedObject") or body.get("regarding") or {}
        subject = f"{target.get('namespace') or ''}/{target.get('name')}"
        message = str(body.get("message") or body.get("note") or "")
        add_event(outcome.events, str(target.get("kind")), subject, str(body.get("reason")), message)
    elif plural == GROUPS:
        outcome.groups[key] = group_status(PodGroup(body))


def note_pod_status(outcome: CycleOutcome, key: TaskKey, before: Manifest, pod: Manifest) -> None:
    """Add a pod's new status to the outcome, and the scheduling gate that was removed."""
    status = status_of(pod)
    node = str(status.get("nominatedNodeName") or "")
    if node and node != str(status_of(before).get("nominatedNodeName") or ""):
        outcome.nominated[key] = node
    if spec_of(before).get("schedulingGates") and not spec_of(pod).get("schedulingGates"):
        outcome.opened_gates[key] = "yes"
    for words in iter_unscheduled_messages(pod):
        if is_new_condition(words, before):
            outcome.waiting[key] = words


# Messages are compared without the parts that upstream takes from a map in random order.

EXAMPLE_MARK: Final = " Origin reason is "
INSUFFICIENT: Final = re.compile(r"(\d+) Insufficient (\S*\w)")
MESSAGE_PARTS: Final = re.compile(r"[,:;] |\.(?= |$)")


def certain_part(message: str) -> str:
    """The message without the example pod, which upstream takes from a map in random order."""
    return message.partition(EXAMPLE_MARK)[0]


def is_alike(left: str, right: str) -> bool:
    """Whether two messages are equal apart from the scalar resource that they name.

    Of a node that lacks several, upstream names cpu, memory, else the first one that iterating a map gives.
    """
    return left == right or (INSUFFICIENT.search(left) is not None and _count_parts(left) == _count_parts(right))


def _count_parts(message: str) -> tuple[list[str], int]:
    """(other parts in order, number of nodes short of a scalar resource)."""
    other_parts, short = [], 0
    for part in MESSAGE_PARTS.split(message):
        match = INSUFFICIENT.fullmatch(part)
        if match is not None and match[2] not in (CPU, MEMORY):
            short += int(match[1])
        else:
            other_parts.append(part)
    return other_parts, short


EventSubject = tuple[str, str, str]
"""Kind and name of the object, and the event's reason."""
FAILED, SCHEDULED = "FailedScheduling", "Scheduled"


def add_event(events: dict[EventSubject, tuple[str, ...]], kind: str, name: str, reason: str, message: str) -> None:
    """Add one event's message."""
    events[kind, name, reason] = (*events.get((kind, name, reason), ()), message)


def predicted_events(recording: Recording, bound: Mapping[TaskKey, NodeName]) -> dict[EventSubject, tuple[str, ...]]:
    """The events of the cycle about PodGroups, evicted and bound pods."""
    events: dict[EventSubject, tuple[str, ...]] = {}
    for write in api_writes(recording):
        if write.verb == "event":
            prefix, _, message = write.text.partition(": ")
            add_event(events, write.kind, write.object, prefix.partition(" ")[2], message)
    for effect, reason in committed_evictions(recording):
        add_event(events, "Pod", effect.task, "Evict", f"Pod is evicted, because of {reason}")
    for pod, node in bound.items():
        add_event(events, "Pod", pod, SCHEDULED, f"Successfully assigned {pod} to {node}")
    return events


VOLUME_PLURALS = ("persistentvolumes", "persistentvolumeclaims")


def _volume_choice(body: Manifest) -> dict[str, str]:
    """Claim → its volume in words, for a volume with a claim or a claim with a selected node."""
    reference, node = spec_of(body).get("claimRef"), annotations_of(body).get(SELECTED_NODE)
    if reference:
        return {f"{reference.get('namespace')}/{reference.get('name')}": volume_words(body)}
    return {key_of(body): f"{NEW_VOLUME}{node}"} if node else {}


def claimed_volumes(snapshot: Snapshot, chosen: Mapping[str, str], bound: Collection[TaskKey]) -> PodDevices:
    """The volumes chosen for the claims of bound pods."""
    pods = (Pod(manifest) for manifest in snapshot.objects_of("Pod") if key_of(manifest) in bound) if chosen else ()
    claims_of = {pod.key: [f"{pod.namespace}/{claim.name}" for claim in claim_names(pod)] for pod in pods}
    volumes = {pod: {claim: chosen[claim] for claim in claims if claim in chosen} for pod, claims in claims_of.items()}
    return {pod: claims for pod, claims in volumes.items() if claims}


Statuses = dict[tuple[str, str], dict[str, str]]
"""(Queue or PodGroup, name) -> its allocated amounts, or its phase, pod counts by state and HyperNode."""
QUEUE, POD_GROUP = ("Queue", "queues"), ("PodGroup", GROUPS)
HYPER_NODE: Final = "hypernode"
GROUP_FIELDS: Final = {"phase": "", "running": 0, "failed": 0, "succeeded": 0}
"""Compared fields of a PodGroup's status, with their values where they are absent."""


def predicted_statuses(recording: Recording, close: CloseEvent) -> Statuses:
    """The statuses after the replayed cycle."""
    statuses = stated_statuses(*(recording.snapshot.objects_of(kind) for kind, _ in (QUEUE, POD_GROUP)))
    statuses |= {(QUEUE[0], name): _amount_texts(allocated) for name, allocated in close.queues.items()}
    # Newer releases keep the job's HyperNode in the process, and leave the annotation as it is.
    is_written = recording.session.release.has_older_form(ALLOCATED_HYPERNODE_ANNOTATION)
    for uid, job in recording.session.jobs.items():
        status = statuses[POD_GROUP[0], uid]
        if pod_group_changes(job):
            status.update((name, str(getattr(job.pod_group, name))) for name in GROUP_FIELDS)
        if is_written and job.allocated_hyper_node:
            status[HYPER_NODE] = job.allocated_hyper_node
    return statuses


def stated_statuses(queues: Iterable[Manifest], groups: Iterable[Manifest]) -> Statuses:
    """The statuses in manifests; the last one if an object occurs several times."""
    statuses = {(QUEUE[0], key_of(body)): _amount_texts(status_of(body).get("allocated") or {}) for body in queues}
    for body in groups:
        status = {name: str(status_of(body).get(name) or absent) for name, absent in GROUP_FIELDS.items()}
        statuses[POD_GROUP[0], key_of(body)] = status
        if hyper_node := annotations_of(body).get(ALLOCATED_HYPER_NODE):
            status[HYPER_NODE] = hyper_node
    return statuses


def _amount_texts(allocated: Mapping[str, str]) -> dict[str, str]:
    """Amounts in one unit, without zeros.

    A scheduler keeps what its first cycle, which saw no jobs, has written, and writes 0 only once.
    """
    amounts = {name: nano_value(text) for name, text in sorted(allocated.items())}
    return {name: nano_text(amount) for name, amount in amounts.items() if amount}


PodDevices = dict[TaskKey, dict[str, str]]
"""Pod -> claim or annotation -> its devices, in the same words for replay and scheduler."""


def allocated_devices(recording: Recording, bound: Collection[TaskKey]) -> PodDevices:
    """Claims of the bound pods with their devices; left out where upstream's order of slices is random."""
    devices: PodDevices = {}
    for claim, reserved in reserved_claims(recording).items():
        if reserved.allocation is not None and reserved.pod in bound and reserved.allocation.is_order_certain:
            words = _allocation_words(reserved.allocation.results, reserved.allocation.selector)
            devices.setdefault(reserved.pod, {})[claim] = words
    return devices


def note_devices(devices: PodDevices, claim: str, body: JsonObject) -> None:
    """Add the devices of a claim's status, for the pod that reserved it last."""
    status = status_of(body)
    allocation, users = status.get("allocation"), status.get("reservedFor")
    if allocation and users:
        results = (allocation.get("devices") or {}).get("results") or ()
        namespace = namespace_in(claim)
        pod = f"{namespace}/{users[-1].get('name')}"
        devices.setdefault(pod, {})[claim] = _allocation_words(results, allocation.get("nodeSelector"))


def _allocation_words(results: Iterable[JsonObject], selector: JsonObject | None) -> str:
    rules = [
        f"{rule.get('key')} {rule.get('operator')} {','.join(rule.get('values') or ())}"
        for term in (selector or {}).get("nodeSelectorTerms") or ()
        for part in ("matchFields", "matchExpressions")
        for rule in term.get(part) or ()
    ]
    return "; ".join([*map(_device_words, results), *rules])


def _device_words(result: JsonObject) -> str:
    name = "/".join(result.get(part) or "" for part in ("driver", "pool", "device"))
    capacity = sorted((resource, nano_value(text)) for resource, text in (result.get("consumedCapacity") or {}).items())
    amounts = "".join(f" {resource}={nano}n" for resource, nano in capacity)
    return f"{result.get('request')}: {name}{' for an administrator' if result.get('adminAccess') else ''}{amounts}"


RUNTIME_PREFIX = "huawei.com/Ascend"
"""Prefix of the annotations with a pod's parts of cards for the container runtime."""


def bound_npus(recording: Recording, bound: Mapping[TaskKey, NodeName]) -> PodDevices:
    """NPU annotations of the pods that the replay binds: pod -> annotation -> text."""
    nodes, devices = recording.session.nodes, PodDevices()
    for pod in map(Pod, recording.snapshot.objects_of("Pod")):
        if pod.key in bound:
            for ledger in nodes[bound[pod.key]].devices.values():
                note_npus(devices, pod.key, {"metadata": {"annotations": ledger.bind_annotations(pod)}})
    return devices


def note_npus(devices: PodDevices, pod: TaskKey, body: JsonObject) -> None:
    """Add a pod's annotations that name cards; for virtual GPUs, only the cards."""
    for key, text in (metadata_of(body).get("annotations") or {}).items():
        if key == ASSIGNED_ANNOTATION:
            text = " ".join(card.partition(",")[0] for card in re.split("[:;]", text) if card)
        if key.endswith(ALLOCATED_SUFFIX) or key.startswith(RUNTIME_PREFIX) or key in (ASSIGNED_ANNOTATION, GPU_INDEX):
            devices.setdefault(pod, {})[key] = text


def chosen_cards(devices: PodDevices) -> dict[TaskKey, str]:
    """Pod -> its NPUs and whole GPUs in the form of `ChanceSettings.cards`."""
    drawn = {pod: ";".join(_iter_card_ids(annotations)) for pod, annotations in devices.items()}
    return {pod: cards for pod, cards in drawn.items() if cards}


def _iter_card_ids(annotations: Mapping[str, str]) -> Iterator[str]:
    for key, text in annotations.items():
        if key == GPU_INDEX:
            yield from text.split(",")
        if key.endswith(ALLOCATED_SUFFIX):
            yield from (device.uuid for container in text.split(";") for device in decode_container_devices(container))
