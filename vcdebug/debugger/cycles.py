"""Several cycles: the snapshot that the next cycle would start from, and cycles that repeat themselves.

Differs: of the cluster's other actors only those act that a cycle itself sets going. Bound pods run on their nodes at
once, evicted pods leave when their grace period is over; no volume is provisioned, no pod finishes by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from vcdebug.debugger.recordings import BRANCH, Recordings
from vcdebug.explain.effects import effects
from vcdebug.framework.bound import Bound
from vcdebug.framework.record import CloseEvent, OpEvent
from vcdebug.model.gofields import condition_fields
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import Clock, replay

PERIOD: Final = 1.0
"""Upstream's --schedule-period in seconds."""
GRACE: Final = 30
"""Kubernetes' default grace period in seconds."""
RUNNING: Final = "Running"


class Repeat(NamedTuple):
    """A cycle that does what an earlier one did; both count from 1."""

    earlier: int
    later: int
    evicted: tuple[TaskKey, ...]
    """The pods that leave each time."""
    given_back: tuple[TaskKey, ...]
    """The pods whose eviction is planned each time and given back with the statement."""


def advance(recording: Recording, *, seconds: float = PERIOD, recreate: bool = False) -> Snapshot:
    """The snapshot of the next cycle; with `recreate` a controller makes a new pod for each that has left."""
    snapshot = recording.snapshot
    now = snapshot.now + timedelta(seconds=seconds)
    closed = len(recording) > 0 and isinstance(recording.event(len(recording)), CloseEvent)
    changed = _Changed(recording, closed=closed)
    objects = {**snapshot.objects, "Pod": list(_pods(changed, snapshot, now, recreate=recreate))}
    if closed:
        objects["PodGroup"] = [_pod_group(manifest, recording) for manifest in snapshot.of("PodGroup")]
        objects["Queue"] = [_queue(manifest, recording) for manifest in snapshot.of("Queue")]
    started = (snapshot.process.started or snapshot.now) if closed else None
    return replace(
        snapshot,
        objects=objects,
        now=now,
        answers=(),
        chance=replace(snapshot.chance, search_start=recording.session.node_search_start if closed else 0),
        process=replace(snapshot.process, started=started),
    )


class _Changed:
    """What a cycle did to pods."""

    def __init__(self, recording: Recording, *, closed: bool) -> None:
        done = effects(recording)
        self.bound: Mapping[TaskKey, NodeName] = {effect.task: effect.node for effect in done.bound}
        self.evicted = dict.fromkeys(effect.task for effect in done.evicted)
        jobs = recording.session.jobs.values() if closed else ()
        self.nominated = {key: node for job in jobs for key, node in _nominated(job)}


def _nominated(job: JobInfo) -> Iterator[tuple[TaskKey, NodeName]]:
    for uid, task in job.tasks.items():
        node = job.pod_message(uid)[2] if not task.sch_gated else ""
        if node:
            yield task.key, node


def _pods(changed: _Changed, snapshot: Snapshot, now: datetime, *, recreate: bool) -> Iterator[Manifest]:
    for manifest in snapshot.of("Pod"):
        pod = Pod(manifest)
        key = pod.key
        if key in changed.bound:
            yield _running(manifest, changed.bound[key])
        elif key in changed.evicted and not pod.deleting:
            yield from _present(_leaving(manifest, snapshot.now), now, recreate=recreate)
        elif key in changed.nominated:
            yield {**manifest, "status": {**pod.status, "nominatedNodeName": changed.nominated[key]}}
        else:
            yield from _present(manifest, now, recreate=recreate)


def _running(manifest: Manifest, node: NodeName) -> Manifest:
    status = {key: value for key, value in (manifest.get("status") or {}).items() if key != "nominatedNodeName"}
    return {
        **manifest,
        "spec": {**(manifest.get("spec") or {}), "nodeName": node},
        "status": {**status, "phase": RUNNING},
    }


def _leaving(manifest: Manifest, now: datetime) -> Manifest:
    """Deleted, as the API server marks it: the time at which the grace period ends."""
    grace = (manifest.get("spec") or {}).get("terminationGracePeriodSeconds")
    grace = GRACE if grace is None else max(int(grace), 0)
    gone = _text(now + timedelta(seconds=min(grace, 10**9)))
    return {
        **manifest,
        "metadata": {**manifest["metadata"], "deletionTimestamp": gone, "deletionGracePeriodSeconds": grace},
    }


def _present(manifest: Manifest, now: datetime, *, recreate: bool) -> Iterator[Manifest]:
    """The pod, its successor, or nothing once its time is over."""
    gone = _time((manifest.get("metadata") or {}).get("deletionTimestamp"))
    if gone is None or gone > now:
        yield manifest
    elif recreate:
        yield _successor(manifest, now)


def _successor(manifest: Manifest, now: datetime) -> Manifest:
    left_out = ("deletionTimestamp", "deletionGracePeriodSeconds")
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in left_out}
    metadata |= {"uid": f"{metadata.get('uid', '')}+", "creationTimestamp": _text(now)}
    spec = {key: value for key, value in (manifest.get("spec") or {}).items() if key != "nodeName"}
    return {**manifest, "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _pod_group(manifest: Manifest, recording: Recording) -> Manifest:
    group = PodGroup(manifest)
    job = recording.session.jobs.get(JobId(f"{group.namespace}/{group.name}"))
    if job is None:
        return manifest
    after = job.pod_group
    status: dict[str, Any] = {
        **(manifest.get("status") or {}),
        "phase": after.phase,
        "running": after.running,
        "succeeded": after.succeeded,
        "failed": after.failed,
        "conditions": [condition_fields(condition) for condition in after.conditions],
    }
    return {**manifest, "status": status}


def _queue(manifest: Manifest, recording: Recording) -> Manifest:
    close = recording.event(len(recording))
    assert isinstance(close, CloseEvent)
    allocated = close.queues.get(manifest["metadata"]["name"])
    if allocated is None:
        return manifest
    return {**manifest, "status": {**(manifest.get("status") or {}), "allocated": dict(allocated)}}


def _text(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _time(text: str | None) -> datetime | None:
    if not text:
        return None
    time = datetime.fromisoformat(text.upper())
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def following(
    recording: Recording,
    *,
    seconds: float = PERIOD,
    recreate: bool = False,
    clock: Clock | None = None,
    bound: Bound | None = None,
) -> Recording:
    """The next cycle, which starts from what this one left."""
    snapshot = advance(recording, seconds=seconds, recreate=recreate)
    return replay(snapshot, clock=clock, ask_extender=recording.session.ask_extender, bound=bound)


class Cycles:
    """A chain of recordings: each cycle starts from what the one before left."""

    def __init__(
        self, first: Recording, *, seconds: float = PERIOD, recreate: bool = False, clock: Clock | None = None
    ) -> None:
        self._recordings = [first]
        self._seconds = seconds
        self._recreate = recreate
        self._clock = clock

    @property
    def recordings(self) -> Sequence[Recording]:
        """Every cycle so far, in order."""
        return tuple(self._recordings)

    def next(self) -> Recording:
        """Run one more cycle."""
        last = self._recordings[-1]
        self._recordings.append(following(last, seconds=self._seconds, recreate=self._recreate, clock=self._clock))
        return self._recordings[-1]

    def repeat(self) -> Repeat | None:
        """The first cycle that does what an earlier one did."""
        return repeat(self._recordings)


class _Deeds(NamedTuple):
    """What a cycle did to pods, in the order of names."""

    evicted: tuple[TaskKey, ...]
    given_back: tuple[TaskKey, ...]
    placed: tuple[str, ...]
    """Pods bound and pipelined, with their nodes."""


def repeat(recordings: Sequence[Recording]) -> Repeat | None:
    """The first cycle that binds, pipelines, evicts and gives back exactly what an earlier one did.

    Cycles in which nobody's eviction is even planned are no repeats: a quiet cluster looks the same every second.
    """
    seen: dict[_Deeds, int] = {}
    for number, recording in enumerate(recordings, start=1):
        deeds = _deeds(recording)
        if (deeds.evicted or deeds.given_back) and deeds in seen:
            return Repeat(seen[deeds], number, deeds.evicted, deeds.given_back)
        seen.setdefault(deeds, number)
    return None


def _deeds(recording: Recording) -> _Deeds:
    done = effects(recording)
    events = (recording.event(seq) for seq in recording.index.of_type(OpEvent))
    given_back = {event.task for event in events if isinstance(event, OpEvent) and event.op == "unevict"}
    placed = sorted(f"{effect.task} {effect.node}" for effect in (*done.bound, *done.pipelined))
    return _Deeds(tuple(sorted(effect.task for effect in done.evicted)), tuple(sorted(given_back)), tuple(placed))


def advanced(open_: Recordings, count: int = 1, *, seconds: float = PERIOD, recreate: bool = False) -> Recordings:
    """The shown side with further cycles after its last one, which is then shown."""
    line = [*open_.line(open_.side)]
    for _ in range(count):
        line.append(following(line[-1], seconds=seconds, recreate=recreate))
    longer = replace(open_, cycle=len(line), found=None)
    if open_.side == BRANCH:
        return replace(longer, branch=tuple(line[open_.start - 1 :]))
    return replace(longer, original=tuple(line))
