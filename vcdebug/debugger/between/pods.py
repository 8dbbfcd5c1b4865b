"""What becomes of pods: bound, evicted, told why they wait, finished, gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from vcdebug.debugger.between.actors import RUNNING, BetweenCycles
from vcdebug.framework.persistence import AnnotationPatch, annotation_patches
from vcdebug.gotime import api_time_text, parse_time
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.persistence import ANNOTATIONS as OF_TASKS
from vcdebug.model.pod import Pod
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import metadata_of, spec_of, status_of
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.trace.effects import cycle_effects
from vcdebug.trace.recording import Recording
from vcdebug.trace.writes import POD_SCHEDULED, PodStatusWrite, pod_status_writes

DEFAULT_GRACE: Final = 30
"""Kubernetes' default grace period in seconds."""
MAX_GRACE: Final = 10**9
NOMINATED_NODE: Final = "nominatedNodeName"


def next_pods(recording: Recording, between: BetweenCycles, number: int, *, closed: bool) -> list[Manifest]:
    """All pods of the next cycle, in their order."""
    changes = PodChanges(recording, closed=closed)
    before = recording.snapshot.objects_of("Pod")
    after = [changes.apply_to(manifest) for manifest in before]
    now = recording.snapshot.now + between.every
    staying = [pod.key for pod in map(Pod, after) if pod.deleting]
    if between.run_times is not None:
        staying += pods_in_broken_gangs(recording)
    finishing = between.finishing_pods(before, staying, number, now)
    finished = (_finished_pod(one) if Pod(one).key in finishing else one for one in after)
    return [one for manifest in finished for one in _iter_pods_after(manifest, now, between)]


def pods_in_broken_gangs(recording: Recording) -> list[TaskKey]:
    """Pods of jobs that lack others of their gang: they wait for these."""
    jobs = recording.session.jobs.values()
    broken = [job for job in jobs if job.ready_task_num() < job.min_available]
    return [task.key for job in broken for task in job.tasks.values()]


class PodChanges:
    """What a cycle did to pods."""

    def __init__(self, recording: Recording, *, closed: bool) -> None:
        done = cycle_effects(recording)
        jobs = recording.session.jobs.values() if closed else ()
        self.now = recording.snapshot.now
        self._nodes = recording.session.nodes
        taken = recording.snapshot.bound
        self._own = {effect.task: effect.node for effect in done.bound if effect.task not in taken}
        self.bound: Mapping[TaskKey, NodeName] = {**self._own, **taken}
        """The node of every pod that is bound; where another scheduler was quicker, the node that it chose."""
        self.evicted = dict.fromkeys(effect.task for effect in done.evicted)
        self.statuses = {status.pod: status for job in jobs for status in pod_status_writes(job)}
        self.patches = {patch.pod: patch for patch in annotation_patches(recording.session)}

    def apply_to(self, manifest: Manifest) -> Manifest:
        """The pod as the cycle leaves it; the very same one where nothing was done to it."""
        pod = Pod(manifest)
        if pod.key in self.bound:
            given = _with_annotations(manifest, self._device_annotations(pod))
            manifest = _bound_pod(given, self.bound[pod.key], self.now)
        elif pod.key in self.evicted and not pod.deleting:
            manifest = _leaving_pod(manifest, self.now)
        elif pod.key in self.statuses:
            manifest = _unscheduled_pod(manifest, self.statuses[pod.key], self.now)
        patch = self.patches.get(pod.key)
        return manifest if patch is None else _patched_pod(manifest, patch)

    def _device_annotations(self, pod: Pod) -> Mapping[str, str]:
        """What the bind request says of the devices that the pod was given."""
        node = self._nodes.get(self._own.get(pod.key, ""))
        ledgers = node.devices.values() if node is not None else ()
        asked = [ledger.bind_annotations(pod) for ledger in ledgers if ledger.has_device_request(pod)]
        return {key: text for annotations in asked for key, text in annotations.items()}


def _with_annotations(manifest: Manifest, annotations: Mapping[str, str]) -> Manifest:
    if not annotations:
        return manifest
    metadata = metadata_of(manifest)
    return {**manifest, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}}


def _bound_pod(manifest: Manifest, node: NodeName, now: datetime) -> Manifest:
    """On its node, where it runs at once."""
    status = {key: value for key, value in status_of(manifest).items() if key != NOMINATED_NODE}
    scheduled = {"type": POD_SCHEDULED, "status": "True"}
    return {
        **manifest,
        "spec": {**spec_of(manifest), "nodeName": node},
        "status": {**status, "phase": RUNNING, "conditions": with_condition(status, scheduled, now)},
    }


def _unscheduled_pod(manifest: Manifest, said: PodStatusWrite, now: datetime) -> Manifest:
    """A nominated node is never removed, only replaced."""
    status = dict(status_of(manifest))
    told = {"type": POD_SCHEDULED, "status": "False", "reason": said.reason, "message": said.message}
    status["conditions"] = with_condition(status, told, now)
    if said.nominated:
        status[NOMINATED_NODE] = said.nominated
    return {**manifest, "status": status}


def with_condition(status: JsonObject, condition: JsonObject, now: datetime) -> list[JsonObject]:
    """The conditions with this one in its type's place, or at the end; a time stays while the status does."""
    present: list[JsonObject] = list(status.get("conditions") or ())
    types = [one.get("type") for one in present]
    if condition["type"] not in types:
        return [*present, {**condition, "lastTransitionTime": api_time_text(now)}]
    place = types.index(condition["type"])
    old = present[place]
    same = old.get("status") == condition["status"]
    time = old.get("lastTransitionTime") if same else api_time_text(now)
    return [*present[:place], {**condition, "lastTransitionTime": time}, *present[place + 1 :]]


def _leaving_pod(manifest: Manifest, now: datetime) -> Manifest:
    """Deleted, as the API server marks it: the time at which the grace period ends."""
    grace = spec_of(manifest).get("terminationGracePeriodSeconds")
    grace = DEFAULT_GRACE if grace is None else max(int(grace), 0)
    gone = api_time_text(now + timedelta(seconds=min(grace, MAX_GRACE)))
    return {
        **manifest,
        "metadata": {**manifest["metadata"], "deletionTimestamp": gone, "deletionGracePeriodSeconds": grace},
    }


def _patched_pod(manifest: Manifest, patch: AnnotationPatch) -> Manifest:
    metadata = metadata_of(manifest)
    kept = {key: text for key, text in (metadata.get("annotations") or {}).items() if key not in patch.remove}
    return {**manifest, "metadata": {**metadata, "annotations": {**kept, **patch.set}}}


def _finished_pod(manifest: Manifest) -> Manifest:
    return {**manifest, "status": {**status_of(manifest), "phase": "Succeeded"}}


def _iter_pods_after(manifest: Manifest, now: datetime, between: BetweenCycles) -> Iterator[Manifest]:
    """The pod, its successor, or nothing once its time is over."""
    gone = parse_time(metadata_of(manifest).get("deletionTimestamp"))
    if gone is None or gone > now or Pod(manifest).key in between.stuck:
        yield manifest
    elif between.recreate and Pod(manifest).key not in between.for_good:
        yield _successor_pod(manifest, now)


def _successor_pod(manifest: Manifest, now: datetime) -> Manifest:
    left_out = ("deletionTimestamp", "deletionGracePeriodSeconds")
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in left_out}
    metadata |= {"uid": f"{metadata.get('uid', '')}+", "creationTimestamp": api_time_text(now)}
    if metadata.get("annotations"):
        metadata["annotations"] = {key: text for key, text in metadata["annotations"].items() if key not in OF_TASKS}
    spec = {key: value for key, value in spec_of(manifest).items() if key != "nodeName"}
    return {**manifest, "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
