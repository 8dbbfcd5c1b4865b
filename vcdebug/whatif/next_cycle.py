"""What happens between two cycles: one section per rule, and `next_snapshot`, which applies them in order.

Differs: of the cluster's other actors only those act that a cycle itself sets going, or that `BetweenCycles` names. No
volume is provisioned, binds and evictions always succeed.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from vcdebug.framework.persistence import annotation_patches
from vcdebug.framework.record import CloseEvent
from vcdebug.framework.session import Session
from vcdebug.framework.session_close import process_after
from vcdebug.gotime import MICROSECOND, api_time_text, parse_duration, parse_time
from vcdebug.kube.dynamic_resources import ReservedClaim, users_of
from vcdebug.model.go_fields import condition_fields
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.model.pod import ANNOTATIONS as OF_TASKS
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.recording.effects import cycle_effects, reserved_claims
from vcdebug.recording.recording import Recording
from vcdebug.recording.writes import POD_SCHEDULED, PodStatusWrite, pod_group_changes, pod_status_writes
from vcdebug.snapshot.cycle_inputs import ClaimReservation, SchedulerProcess
from vcdebug.snapshot.gathered_objects import Arrivals, with_arrivals
from vcdebug.snapshot.manifest import JsonDict, JsonObject, key_of, metadata_of, name_of, owners_of, spec_of, status_of
from vcdebug.snapshot.provenance import LATEST_CLOCK, bounded_clock
from vcdebug.snapshot.snapshot import Manifest, Snapshot

DEFAULT_RUN_TIME: Final = timedelta(hours=1)
"""The run time of a pod whose start is unknown or just now."""
SERVICE_OWNERS: Final = ("ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController")
"""Owners whose pods run until they are deleted."""
ONE_SECOND: Final = timedelta(seconds=1)
"""Upstream's --schedule-period."""


class RunTimes(Struct, frozen=True):
    """The assumed times at which running pods finish."""

    now: datetime
    """The start of the forecast; a pod whose assumed end is earlier finishes one second after it."""
    default_run_time: timedelta | None = None
    """The run time of every pod from its start; None to assume twice the pod's age."""
    stated_run_times: Mapping[JobId | TaskKey, timedelta] = field(default_factory=dict)
    """Stated run times per job or pod."""

    def end_time(self, pod: Pod) -> datetime | None:
        """When a running pod ends; None for one that never does."""
        stated_time = self.stated_run_times.get(pod.key, self.stated_run_times.get(pod.job_id))
        if stated_time is None and is_endless(pod):
            return None
        start = bounded_clock(start_time(pod) or self.now)
        run_time = stated_time or self.default_run_time or self._assumed_time(start)
        limit = pod.spec.get("activeDeadlineSeconds")
        if stated_time is None and isinstance(limit, int):
            run_time = min(run_time, timedelta(seconds=min(max(limit, 0), MAX_GRACE)))
        # A pod that outlived its estimate would otherwise end in the past, a time that no cycle reaches.
        return max(start + min(run_time, LATEST_CLOCK - start), self.now + ONE_SECOND)

    def _assumed_time(self, start: datetime) -> timedelta:
        """Twice the pod's age, or DEFAULT_RUN_TIME if it has only just begun."""
        age = self.now - start
        return 2 * age if age >= ONE_SECOND else DEFAULT_RUN_TIME


def is_endless(pod: Pod) -> bool:
    """Whether the pod never finishes: its owner is a service, or it is restarted whenever it ends."""
    owners = owners_of(pod.manifest)
    return pod.spec.get("restartPolicy") == "Always" or any(owner.get("kind") in SERVICE_OWNERS for owner in owners)


def start_time(pod: Pod) -> datetime | None:
    """When the pod began to run, from its status; None if unknown."""
    conditions = pod.status.get("conditions") or ()
    scheduled = [raw for raw in conditions if raw.get("type") == "PodScheduled" and raw.get("status") == "True"]
    times = (pod.status.get("startTime"), *(raw.get("lastTransitionTime") for raw in scheduled), pod.creation_timestamp)
    return next((parse_time(time) for time in times if time), None)


FinishRule = Literal["none", "thirds"]
RUNNING: Final = "Running"
_PLAIN_NUMBER: Final = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_MAX_NANOSECONDS: Final = 10**18
"""Nanoseconds: some thirty years."""


class BetweenCycles(Struct, frozen=True):
    """Changes between cycles that no cycle causes itself."""

    interval: timedelta = ONE_SECOND
    """The interval between two cycles."""
    recreate: bool = False
    """Whether controllers recreate pods that are gone."""
    finish_rule: FinishRule = "none"
    """Which running pods succeed: none, or every third one, another third before each cycle."""
    arrivals: Arrivals = field(default_factory=dict)
    run_times: RunTimes | None = None
    """When running pods succeed; pods of an incomplete gang make no progress and keep running."""
    for_good: Mapping[TaskKey, None] = field(default_factory=dict)
    """Pods that no controller recreates."""
    stuck: Mapping[TaskKey, None] = field(default_factory=dict)
    """Pods that stay although their deletion is due."""
    measures_again: bool = False
    """Whether the load of nodes is measured again, with the same values; else it is soon too old to reject pods."""

    def clock_after(self, now: datetime) -> datetime:
        """The clock of the cycle that follows one at the time `now`."""
        return bounded_clock(now + self.interval)

    def iter_arrivals_before(self, number: int) -> Iterator[tuple[str, Sequence[Manifest]]]:
        """Yields (kind, manifests) of objects that arrive before cycle `number`."""
        yield from self.arrivals.get(number, {}).items()

    def finishing_pods(
        self, before: Iterable[Manifest], leaving: Iterable[TaskKey], number: int, now: datetime
    ) -> dict[TaskKey, None]:
        """Pods that succeed before cycle `number`, among those that ran in the cycle before, in order of names."""
        if self.finish_rule == "none" and self.run_times is None:
            return {}
        leaving_keys = dict.fromkeys(leaving)
        running = {pod.key: pod for pod in map(Pod, before) if is_running(pod) and pod.key not in leaving_keys}
        by_thirds = self.finish_rule == "thirds"
        return dict.fromkeys(
            key
            for index, key in enumerate(sorted(running))
            if (by_thirds and index % 3 == number % 3) or self._is_over(running[key], now)  # exact: ints
        )

    def _is_over(self, pod: Pod, now: datetime) -> bool:
        end = None if self.run_times is None else self.run_times.end_time(pod)
        return end is not None and end <= now


NO_CHANGES: Final = BetweenCycles()


def parse_interval(text: str) -> timedelta | None:
    """A time between two cycles: seconds, or a duration as Go writes it, to the microsecond; None for other text."""
    nanoseconds = parse_duration(f"{text}s" if _PLAIN_NUMBER.fullmatch(text) else text)
    if nanoseconds is None or not MICROSECOND <= nanoseconds <= _MAX_NANOSECONDS:
        return None
    return timedelta(microseconds=nanoseconds // MICROSECOND)  # exact: ints


def is_running(pod: Pod) -> bool:
    """Whether the pod has a node, is Running, and is not being deleted."""
    return bool(pod.node_name) and pod.phase == RUNNING and not pod.deleting


def next_snapshot(recording: Recording, between: BetweenCycles = NO_CHANGES, number: int = 2) -> Snapshot:
    """The snapshot from which cycle `number` starts, with the state that the process keeps from earlier cycles.

    After a panic another process starts: it finds what was bound and evicted before, and what the close has written.
    """
    snapshot = recording.snapshot
    closed = recording.session.close is not None
    # Without a close event the process panicked, and its memory (error cache, counters) is gone.
    process_lives = isinstance(recording.last_event, CloseEvent)
    objects = dict(snapshot.objects)
    if closed:
        objects["PodGroup"] = [
            _written_group(manifest, recording.session) for manifest in recording.snapshot.objects_of("PodGroup")
        ]
        objects["Queue"] = next_queues(recording)
    objects["Pod"] = next_pods(recording, between, number, closed=closed)
    if snapshot.objects_of("ResourceClaim"):
        objects["ResourceClaim"] = next_claims(recording, objects["Pod"])
    for kind, manifests in between.iter_arrivals_before(number):
        objects[kind] = with_arrivals(objects.get(kind, []), manifests)
    return replace(
        snapshot,
        objects=objects,
        now=between.clock_after(snapshot.now),
        usage=_next_usage(snapshot, between),
        answers=(),
        bound={},
        persistence="on" if recording.session.persistence.is_on else snapshot.persistence,
        chance=replace(snapshot.chance, search_start=recording.session.node_search_start if process_lives else 0),
        process=_next_process(recording, objects["Pod"]) if process_lives else SchedulerProcess(),
    )


def _next_usage(snapshot: Snapshot, between: BetweenCycles) -> Mapping[str, object]:
    """The measured load of nodes in the next cycle, perhaps of a later time."""
    if not between.measures_again:
        return snapshot.usage
    passed = between.clock_after(snapshot.now) - snapshot.now
    times = {name: parse_time(each.get("time")) for name, each in snapshot.usage.items() if isinstance(each, dict)}
    later = {name: api_time_text(time + passed) for name, time in times.items() if time is not None}
    return {name: {**each, "time": later[name]} if name in later else each for name, each in snapshot.usage.items()}


def _next_process(recording: Recording, pods: Iterable[Manifest]) -> SchedulerProcess:
    """The state of the next scheduler process: a deleted pod keeps its CPUs only on the node where it was bound."""
    process = replace(process_after(recording.session), reserved_claims=tuple(_kept_claims(recording, pods)))
    if not process.reserved_cpus:
        return process
    uids = dict.fromkeys(Pod(manifest).uid for manifest in pods)
    nodes = {pod.uid: pod.node_name for pod in map(Pod, recording.snapshot.objects_of("Pod")) if pod.uid not in uids}
    reserved_cpus = tuple(cpus for cpus in process.reserved_cpus if nodes.get(cpus.uid) != cpus.node)
    return replace(process, reserved_cpus=reserved_cpus)


def _kept_claims(recording: Recording, pods: Iterable[Manifest]) -> Iterator[ClaimReservation]:
    """The claims that are reserved for pods which the cycle did not bind, such as pipelined ones."""
    reserved = reserved_claims(recording)
    bound = {pod.key for pod in map(Pod, pods) if pod.node_name} if reserved else set()
    for key, claim in sorted(reserved.items()):
        if claim.pod not in bound:
            devices = None if claim.allocation is None else claim.allocation.results
            yield ClaimReservation(key, claim.pod, claim.node, devices)


def next_claims(recording: Recording, pods: Iterable[Manifest]) -> list[Manifest]:
    """All resource claims of the next cycle; the same list object if none changed."""
    reserved = reserved_claims(recording)
    pods_by_key = {pod.key: pod for pod in map(Pod, pods) if pod.phase not in ENDED_PHASES}
    uids = {pod.uid for pod in pods_by_key.values()}
    before = recording.snapshot.objects_of("ResourceClaim")
    after = [_next_claim(claim, reserved.get(key_of(claim)), pods_by_key, uids) for claim in before]
    # The same list object lets the next replay reuse the parsed claims.
    return after if any(new is not old for new, old in zip(after, before, strict=True)) else before


def _next_claim(
    claim: Manifest, reserved: ReservedClaim | None, pods_by_key: Mapping[TaskKey, Pod], uids: Collection[str]
) -> Manifest:
    if reserved is not None and reserved.allocation is not None:
        pod = pods_by_key.get(reserved.pod)
        return _allocated_claim(claim, reserved, pod) if pod is not None and pod.node_name else claim
    return freed_claim(claim, uids)


def freed_claim(claim: Manifest, uids: Collection[str]) -> Manifest:
    """The claim, without its devices if every pod that held it is gone."""
    users = users_of(claim)
    # By UID, since a recreated pod has the same name and does not hold the claim.
    return {**claim, "status": {}} if users and not any(user.get("uid") in uids for user in users) else claim


def _allocated_claim(claim: Manifest, reserved: ReservedClaim, pod: Pod) -> Manifest:
    """The claim as PreBind writes it. Upstream: k8s plugin dynamicresources.bindClaim."""
    assert reserved.allocation is not None
    allocation: JsonDict = {"devices": {"results": list(reserved.allocation.results)}}
    if reserved.allocation.selector is not None:
        allocation["nodeSelector"] = reserved.allocation.selector
    status: JsonObject = status_of(claim)
    users = [*users_of(claim), {"resource": "pods", "name": pod.name, "uid": pod.uid}]
    return {**claim, "status": {**status, "allocation": allocation, "reservedFor": users}}


def _written_group(manifest: Manifest, ssn: Session) -> Manifest:
    group = PodGroup(manifest)
    job = ssn.jobs.get(JobId(f"{group.namespace}/{group.name}"))
    return manifest if job is None or not pod_group_changes(job) else {**manifest, "status": _group_status(job, ssn)}


def _group_status(job: JobInfo, ssn: Session) -> Manifest:
    manifest, group = job.pod_group.manifest, job.pod_group
    times = {
        (raw.get("type"), raw.get("transitionID") or ""): raw.get("lastTransitionTime")
        for raw in status_of(manifest).get("conditions") or ()
    }
    now = api_time_text(ssn.snapshot.now)
    return {
        **status_of(manifest),
        "phase": group.phase,
        "running": group.running,
        "succeeded": group.succeeded,
        "failed": group.failed,
        "conditions": [
            # Without a time of its own, a condition has the session's time as its transition time.
            {**condition_fields(one), "lastTransitionTime": times.get((one.type, one.transition_id)) or now}
            for one in group.conditions
        ],
    }


def next_queues(recording: Recording) -> list[Manifest]:
    """All queues of the next cycle, in their order."""
    close = recording.session.close
    assert close is not None
    return [
        {**manifest, "status": {**status_of(manifest), "allocated": dict(close.queues[name_of(manifest)])}}
        if name_of(manifest) in close.queues
        else manifest
        for manifest in recording.snapshot.objects_of("Queue")
    ]


DEFAULT_GRACE: Final = 30
"""Kubernetes' default grace period in seconds."""
MAX_GRACE: Final = 10**9
NOMINATED_NODE: Final = "nominatedNodeName"


def next_pods(recording: Recording, between: BetweenCycles, number: int, *, closed: bool) -> list[Manifest]:
    """All pods of the next cycle, in their order."""
    changes = PodChanges(recording, closed=closed)
    before = recording.snapshot.objects_of("Pod")
    after = [changes.apply_to(manifest) for manifest in before]
    now = between.clock_after(recording.snapshot.now)
    staying = [pod.key for pod in map(Pod, after) if pod.deleting]
    if between.run_times is not None:
        staying += pods_in_broken_gangs(recording)
    finishing = between.finishing_pods(before, staying, number, now)
    return [raw for manifest in after for raw in iter_pods_after(manifest, finishing, now, between)]


def pods_in_broken_gangs(recording: Recording) -> list[TaskKey]:
    """Pods of incomplete gangs, which do not finish while they wait for the others."""
    jobs = recording.session.jobs.values()
    broken = [job for job in jobs if job.ready_task_num() < job.min_available]
    return [task.key for job in broken for task in job.tasks.values()]


class PodChanges:
    """The changes of a cycle to pods: binds, evictions, conditions."""

    def __init__(self, recording: Recording, *, closed: bool) -> None:
        effects = cycle_effects(recording)
        jobs = recording.session.jobs.values() if closed else ()
        self.now = recording.snapshot.now
        self._nodes = recording.session.nodes
        # Another scheduler bound these pods first, so its node counts and not this cycle's.
        bound_elsewhere = recording.snapshot.bound
        self._bound_by_cycle = {each.task: each.node for each in effects.bound if each.task not in bound_elsewhere}
        self.bound_nodes: Mapping[TaskKey, NodeName] = {**self._bound_by_cycle, **bound_elsewhere}
        """Pod → node of every bind; if another scheduler bound the pod first, the node it chose."""
        self.evicted = dict.fromkeys(effect.task for effect in effects.evicted)
        self.statuses = {status.pod: status for job in jobs for status in pod_status_writes(job)}
        self.patches = {patch.pod: patch for patch in annotation_patches(recording.session)}

    def apply_to(self, manifest: Manifest) -> Manifest:
        """The pod's manifest after the cycle; the same object if the cycle did not change it."""
        pod = Pod(manifest)
        if pod.key in self.bound_nodes:
            annotated = _annotated_pod(manifest, self._device_annotations(pod))
            manifest = bound_pod(annotated, self.bound_nodes[pod.key], self.now)
        elif pod.key in self.evicted and not pod.deleting:
            manifest = mark_deleted(manifest, self.now)
        elif pod.key in self.statuses:
            manifest = _unscheduled_pod(manifest, self.statuses[pod.key], self.now)
        patch = self.patches.get(pod.key)
        return manifest if patch is None else _annotated_pod(manifest, patch.set, patch.remove)

    def _device_annotations(self, pod: Pod) -> Mapping[str, str]:
        node = self._nodes.get(self._bound_by_cycle.get(pod.key, ""))
        ledgers = node.devices.values() if node is not None else ()
        annotation_sets = [ledger.bind_annotations(pod) for ledger in ledgers if ledger.has_device_request(pod)]
        return {key: text for annotations in annotation_sets for key, text in annotations.items()}


def _annotated_pod(manifest: Manifest, added: Mapping[str, str], removed: Collection[str] = ()) -> Manifest:
    if not added and not removed:
        return manifest
    metadata = metadata_of(manifest)
    annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if key not in removed}
    return {**manifest, "metadata": {**metadata, "annotations": {**annotations, **added}}}


def bound_pod(manifest: Manifest, node: NodeName, now: datetime) -> Manifest:
    """The manifest of a bound pod, which is assumed to run at once."""
    status = {key: value for key, value in status_of(manifest).items() if key != NOMINATED_NODE}
    scheduled = {"type": POD_SCHEDULED, "status": "True"}
    return {
        **manifest,
        "spec": {**spec_of(manifest), "nodeName": node},
        "status": {**status, "phase": RUNNING, "conditions": with_condition(status, scheduled, now)},
    }


def _unscheduled_pod(manifest: Manifest, write: PodStatusWrite, now: datetime) -> Manifest:
    """The manifest of a pod that was not placed; a nominated node is replaced but never removed."""
    status = dict(status_of(manifest))
    condition = {"type": POD_SCHEDULED, "status": "False", "reason": write.reason, "message": write.message}
    status["conditions"] = with_condition(status, condition, now)
    if write.nominated:
        status[NOMINATED_NODE] = write.nominated
    return {**manifest, "status": status}


def with_condition(status: JsonObject, condition: JsonObject, now: datetime) -> list[JsonObject]:
    """The conditions with this one replaced by type or appended; the transition time stays if the status does."""
    present: list[JsonObject] = list(status.get("conditions") or ())
    same_type = (at for at, entry in enumerate(present) if entry.get("type") == condition["type"])
    index = next(same_type, len(present))
    is_same_status = any(entry.get("status") == condition["status"] for entry in present[index : index + 1])
    time = present[index].get("lastTransitionTime") if is_same_status else api_time_text(now)
    return [*present[:index], {**condition, "lastTransitionTime": time}, *present[index + 1 :]]


def mark_deleted(manifest: Manifest, now: datetime) -> Manifest:
    """The pod as the API server marks it when it is deleted: with the time at which its grace period ends."""
    if metadata_of(manifest).get("deletionTimestamp"):
        return manifest
    grace = spec_of(manifest).get("terminationGracePeriodSeconds")
    grace = DEFAULT_GRACE if grace is None else max(int(grace), 0)
    deletion_time = api_time_text(now + timedelta(seconds=min(grace, MAX_GRACE)))
    return {
        **manifest,
        "metadata": {**manifest["metadata"], "deletionTimestamp": deletion_time, "deletionGracePeriodSeconds": grace},
    }


def is_gone(manifest: JsonObject, now: datetime) -> bool:
    """Whether the pod is being deleted and its grace period is over."""
    deletion_time = parse_time(metadata_of(manifest).get("deletionTimestamp"))
    return deletion_time is not None and deletion_time <= now


def iter_pods_after(
    manifest: Manifest, finishing: Collection[TaskKey], now: datetime, between: BetweenCycles
) -> Iterator[Manifest]:
    """Yields the pod, which succeeds if finishing; after its grace period its successor, or nothing."""
    if not is_gone(manifest, now) or Pod(manifest).key in between.stuck:
        is_finished = Pod(manifest).key in finishing
        yield {**manifest, "status": {**status_of(manifest), "phase": "Succeeded"}} if is_finished else manifest
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
