"""Makes tasks from pods; a pod is parsed once, by the first of several cycles on nearly the same objects.

Each scheduler process reads its pods once, too.

Upstream: cache (WaitForCacheSync before the workers that read nodes), api/shared_device_pool (IgnoredDevicesList).
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from vcdebug.errors import SchedulerPanic
from vcdebug.gotime import parse_time
from vcdebug.model.names import TaskKey
from vcdebug.model.pod import Pod, PodAttributes
from vcdebug.model.pod_claims import ClaimMissingError, ClaimPendingError, CsiVolumes, DeviceClaims, VolumeLookupError
from vcdebug.model.pod_resources import PodRequestCache
from vcdebug.model.task import TaskInfo
from vcdebug.releases.devices import VGPU_SCALARS_TILL_FIRST_HELD
from vcdebug.releases.queues import DRA_QUOTA
from vcdebug.releases.scheduling import ADD_POD_ON_ERROR, PREEMPTION_POLICY_UNREAD, QUEUE_ALLOCATION_GATE
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.manifest import key_of, spec_of
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

VOLUME_KINDS: Final = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
"""Kinds, besides Pod, on which the requests of pods with volumes depend."""
CLAIM_KIND: Final = "ResourceClaim"
"""Kind, besides Pod, that decides whether a pod with resource claims is read."""


class PodInputs(NamedTuple):
    """Inputs of a task besides its pod and the pod's volumes and claims."""

    flags: SchedulerFlags
    ignored: tuple[str, ...]
    """Names of resources that are dropped from requests."""
    started: datetime | None
    """Pods without a change since then were read before the first node, and keep what is ignored; None: all were, or
    nothing is ignored."""
    last_restored_pod: TaskKey | None = None
    """The last pod by name that keeps ignored resources; None if all of them do."""


def pod_inputs(snapshot: Snapshot, ignored: tuple[str, ...]) -> PodInputs:
    """The task inputs of a cycle on a snapshot."""
    process = snapshot.process
    all_at_start = not ignored or process.is_first_cycle(snapshot.now)
    last_kept = None
    if ignored and snapshot.release.has_older_form(VGPU_SCALARS_TILL_FIRST_HELD):
        # A pod on an unknown node creates the node, which sets the ignored resources.
        last_kept = min(
            (key_of(pod) for pod in snapshot.objects_of("Pod") if spec_of(pod).get("nodeName")), default=None
        )
    return PodInputs(snapshot.flags, ignored, None if all_at_start else process.started, last_kept)


class EarlierTasks(NamedTuple):
    """The tasks that an earlier cycle read, for reuse."""

    snapshot: Snapshot
    inputs: PodInputs
    by_manifest: Mapping[int, TaskInfo]
    """Identity of the pod's manifest → its task."""


class PodReader:
    """Makes the tasks that a session begins with."""

    def __init__(self, snapshot: Snapshot, ignored: tuple[str, ...] = (), earlier: EarlierTasks | None = None) -> None:
        """`ignored` are resources that do not count, but for pods that were read at the start; `earlier` are tasks of
        nearly the same objects, which are copied where they are the same.
        """
        self._flags = snapshot.flags
        self._volumes = CsiVolumes(snapshot)
        self._ignored = ignored
        self._requests = PodRequestCache(snapshot.flags, self._ignored)
        self._requests_at_start = PodRequestCache(snapshot.flags)
        self._process, self._now = snapshot.process, snapshot.now
        self._attributes: dict[tuple[str, int, int], tuple[object, object, PodAttributes]] = {}
        """(namespace, identities of annotations and labels) → (annotations, labels, attributes)."""
        self._keeps_unread = snapshot.release.has_older_form(ADD_POD_ON_ERROR)
        self._gate_known = not snapshot.release.has_older_form(QUEUE_ALLOCATION_GATE)
        self._policy_known = not snapshot.release.has_older_form(PREEMPTION_POLICY_UNREAD)
        self._earlier_tasks: Mapping[int, TaskInfo] = {}
        self._same_volumes = self._same_claims = False
        inputs = pod_inputs(snapshot, ignored)
        self._last_kept = inputs.last_restored_pod
        if earlier is not None and earlier.inputs == inputs:
            self._earlier_tasks = earlier.by_manifest
            self._same_volumes = all(snapshot.shares_list(kind, earlier.snapshot) for kind in VOLUME_KINDS)
            self._same_claims = snapshot.shares_list(CLAIM_KIND, earlier.snapshot)
        self._reads_claims = not snapshot.release.has_older_form(DRA_QUOTA)
        self._claims = DeviceClaims({key_of(one): one for one in snapshot.objects_of("ResourceClaim")}, snapshot.flags)
        self.panic: tuple[str, TaskKey] | None = None
        """(message, pod) of the panic while the scheduler reads its pods; None without one."""
        self.unseen: dict[TaskKey, str] = {}
        """Pods that the cache lacks because of an error → the reason."""

    def read_tasks(self, manifests: Iterable[Manifest]) -> Iterator[TaskInfo]:
        """A task for every pod that the cache holds, in the order of the manifests."""
        for manifest in manifests:
            task = (self._copy_known_task(manifest) if self._earlier_tasks else None) or self._read_task(manifest)
            if task is not None:
                yield task

    def _copy_known_task(self, manifest: Manifest) -> TaskInfo | None:
        task = self._earlier_tasks.get(id(manifest))
        if task is None or task.pod.manifest is not manifest:
            return None
        if not self._same_volumes and task.pod.spec.get("volumes"):
            return None
        if not self._same_claims and task.pod.spec.get("resourceClaims"):
            return None
        return task.clone_initial()

    def _read_task(self, manifest: Manifest) -> TaskInfo | None:
        pod = Pod(manifest, volcano_gate_known=self._gate_known, policy_known=self._policy_known)
        if not pod.node_name and pod.scheduler_name not in self._flags.scheduler_names:
            return None
        early = self._ignored and was_read_at_start(pod, self._process, self._now)
        early = early and (self._last_kept is None or pod.key <= self._last_kept)
        requests = self._requests_at_start if early else self._requests
        task = TaskInfo(pod, requests.find_request(pod), self._attributes_of(pod))
        spec = pod.spec
        return None if ("volumes" in spec or "resourceClaims" in spec) and not self._is_kept(task) else task

    def _is_kept(self, task: TaskInfo) -> bool:
        """Whether the pod's volumes and claims can be read; a claim that is still to be created does not matter."""
        spec = task.pod.spec
        try:
            complete = not spec.get("volumes") or self._volumes.add_volume_counts(task)
        except VolumeLookupError as error:
            if not self._keeps_unread:
                self.unseen[task.key] = str(error)
            return self._keeps_unread
        return not (complete and spec.get("resourceClaims") and self._reads_claims) or self._claims_exist(task.pod)

    def _claims_exist(self, pod: Pod) -> bool:
        try:
            self._claims.build_task_dra_info(pod)
        except ClaimMissingError as error:
            self.unseen[pod.key] = str(error)
            return False
        except ClaimPendingError:
            return True
        except SchedulerPanic as panic:
            self.panic = self.panic or (panic.message, pod.key)
        return True

    def _attributes_of(self, pod: Pod) -> PodAttributes:
        annotations, labels = pod.annotations, pod.labels
        key = (pod.namespace, id(annotations), id(labels))
        entry = self._attributes.get(key)
        if entry is None:
            entry = self._attributes[key] = (annotations, labels, PodAttributes.of_pod(pod))
        return entry[2]


# Time at which the scheduler read a pod: at its start, with all others and before any node, or later.


def was_read_at_start(pod: Pod, process: SchedulerProcess, now: datetime) -> bool:
    """Whether the pod existed unchanged at the start of the process; always true in a first cycle.

    The names of resources that are to be ignored come with the first node, so that pods of the start keep them.
    """
    if process.started is None or process.is_first_cycle(now):
        return not process.assumed
    return all(time < process.started for time in _change_times(pod))


def _change_times(pod: Pod) -> Iterator[datetime]:
    texts = [pod.creation_timestamp, pod.status.get("startTime")]
    texts += [condition.get("lastTransitionTime") for condition in pod.status.get("conditions") or ()]
    for text in texts:
        moment = parse_time(text)
        if moment is not None:
            yield moment
