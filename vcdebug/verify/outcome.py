"""What a cycle came to, in the same form whoever tells it: a replay, or the requests that a scheduler sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.model.podgroup import PodGroup
from vcdebug.snapshot.manifest import spec_of, status_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.trace.effects import cycle_effects
from vcdebug.trace.recording import Recording
from vcdebug.trace.writes import POD_SCHEDULED, api_writes, pod_group_changes, pod_status_writes
from vcdebug.verify.claims import PodDevices, allocated_devices, note_devices
from vcdebug.verify.npus import given_npus, note_npus
from vcdebug.verify.server import ApiWrite
from vcdebug.verify.store import key_of

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
