"""Verify against a live cluster: capture it, wait for its scheduler, capture again, compare with the replay."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.capture import CaptureOptions, capture_cluster, listing
from vcdebug.capture.api_client import Api, Transport
from vcdebug.capture.cluster import connect_transport
from vcdebug.capture.pod_history import decision_stamps, is_evicted, iter_reported_evictions
from vcdebug.conformance import cycle_outcome
from vcdebug.conformance.nearest_replay import chance_edits, follow_scheduler, ignore_progress
from vcdebug.conformance.object_store import key_of
from vcdebug.conformance.verdicts import UNCLEAR, JobVerdict, Verification, find_differences, job_lookup, judge_jobs
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import find_condition, metadata_of, status_of
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.snapshot import Manifest, Snapshot

MAX_CYCLES = 3
"""Maximum number of cycles that the scheduler may have run between two captures."""
MAX_CHANGES = 8
UNSEEN: Final = (0, 1, 2, 4, 8)
"""Numbers of versions before a cycle's first write that the cycle may not have seen."""


class Patience(Struct, frozen=True):
    """How long to wait for the scheduler."""

    max_seconds: float = 60.0
    """Maximum number of seconds before the second capture."""
    pause: float = 1.0
    """Seconds between two polls."""


class ClusterReader(Struct, frozen=True):
    """Reads one cluster, now or as it was; `sleep` and `clock` are replaced in tests."""

    options: CaptureOptions
    transport: Callable[[], Transport] | None = None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def connect(self) -> Api:
        """A connection, which has the deadline of one capture."""
        return Api(self._reach(), self.options, self.sleep, self.clock)

    def capture(
        self, earlier: listing.EarlierState = listing.PRESENT, announce: Callable[[Provenance], None] | None = None
    ) -> Snapshot:
        """The cluster, or an earlier state of it; raises the errors of capture_cluster."""
        return capture_cluster(
            self.options,
            transport=self._reach(),
            sleep=self.sleep,
            clock=self.clock,
            announce=announce,
            earlier=earlier,
        )

    def follow_changes(self, snapshot: Snapshot) -> listing.FollowedObjects:
        """The pods and PodGroups of a capture, to follow their changes."""
        versions = snapshot.provenance.resource_versions if snapshot.provenance is not None else {}
        return listing.FollowedObjects(self.options, snapshot.objects, versions)

    def _reach(self) -> Transport:
        return self.transport() if self.transport is not None else connect_transport(self.options)


def verify_cluster(
    reader: ClusterReader,
    patience: Patience,
    *,
    announce: Callable[[Provenance], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Iterator[Verification]:
    """Capture, wait until the scheduler has written something, capture again, compare; and again, without end.

    `announce` gets the cluster's identity before it is read; `tell` gets each stage in words. Raises CaptureError.
    """
    tell = tell or ignore_progress
    start = reader.clock()
    tell("first capture")
    before = reader.capture(announce=announce)
    while True:
        tell("waiting for the scheduler")
        polled = _wait_for_scheduler(before, reader, patience)
        tell("second capture")
        judged = None
        try:
            judged = judge_first_cycle(reader, before, polled) if polled.version else None
        except listing.VersionGone as lost:
            tell(f"{lost.message}; the capture before it counts")
        if judged is None:
            judged = _compare_with_present(reader, before, polled)
        verification, after = judged.verification, judged.after
        yield replace(verification, seconds=reader.clock() - start)
        before, start = after, reader.clock()


class PolledState(NamedTuple):
    """Observations while waiting for the scheduler."""

    evicted: dict[str, None]
    """UIDs of pods that the scheduler began to evict; they may no longer exist in the second capture."""
    pods: list[Manifest]
    """The pods of the last poll."""
    version: str
    """Resource version at which a write of the scheduler was first seen; empty if none was seen."""


class JudgedCycle(NamedTuple):
    """The verdicts on one cycle, compared from its own first state."""

    verification: Verification
    before: Snapshot
    after: Snapshot
    is_single: bool
    """Whether the times of decisions tell the cycle from later ones."""


def _compare_with_present(reader: ClusterReader, before: Snapshot, polled: PolledState) -> JudgedCycle:
    after = reader.capture()
    reported = iter_reported_evictions(reader.connect(), reader.options, deleted_uids(before, after))
    verification = judge_captures(before, after, [*polled.evicted, *reported], polled.pods)
    return JudgedCycle(verification, before, after, is_single=False)


def judge_first_cycle(reader: ClusterReader, before: Snapshot, later: PolledState) -> JudgedCycle:
    """Judge the scheduler's first cycle between a capture and a later state; raises VersionGone."""
    api = reader.connect()
    evicted, states = dict(later.evicted), dict[listing.EarlierState, Snapshot]()
    deleted = deleted_uids(before, replace(before, objects={"Pod": later.pods}))
    evicted |= dict.fromkeys(iter_reported_evictions(api, reader.options, deleted))
    windows = _find_windows(before, api, reader.options, later.version, evicted)
    verification: Verification | None = None
    for window in windows:
        states |= {state: reader.capture(state) for state in window if state not in states}
        start, after = (states[state] for state in window)
        evicted |= dict.fromkeys(iter_reported_evictions(api, reader.options, deleted_uids(start, after)))
        # Between two versions, the first state says all that other clients did before the scheduler acted.
        judged = judge_captures(start, after, evicted)
        if int(window[0].version) < int(_version_of(before)) and judged.has_unclear_jobs:
            # A start before the capture explains the whole cycle or nothing: it lacks what was made in between.
            with disposing(judged.recording):
                continue
        verification = _merge_verdicts(verification, judged) if verification is not None else judged
        if not verification.has_unclear_jobs:
            break
    assert verification is not None
    begin, end = windows[0]
    return JudgedCycle(verification, states[begin], after, end.time is not None)


def _version_of(capture: Snapshot) -> str:
    """The resource version at which the pods were listed; empty if unknown."""
    return capture.provenance.resource_versions.get("Pod", "") if capture.provenance is not None else ""


def _merge_verdicts(verification: Verification, other: Verification) -> Verification:
    """The first comparison, with the other one's verdicts on jobs about which only that one is clear."""
    with disposing(other.recording):
        clear = {verdict.job: verdict for verdict in other.jobs if verdict.verdict_word not in UNCLEAR}
        jobs = [clear.get(one.job, one) if one.verdict_word in UNCLEAR else one for one in verification.jobs]
        return replace(verification, jobs=tuple(jobs), replay_count=verification.replay_count + other.replay_count)


def _wait_for_scheduler(before: Snapshot, reader: ClusterReader, patience: Patience) -> PolledState:
    """Follow the changes until the scheduler has written something, or until `patience.longest` has passed."""
    api, followed = reader.connect(), reader.follow_changes(before)
    waited, evicted = 0.0, dict[str, None]()
    while waited < patience.max_seconds:
        begun = reader.clock()
        if followed.read_changes(api):
            objects = followed.current_objects
            evicted |= dict.fromkeys(terminating_uids(before, objects["Pod"]))
            if _has_decided(before, objects):
                # One more pause, because the first write of a cycle is seen before the last one is made.
                reader.sleep(patience.pause)
                return PolledState(evicted, objects["Pod"], followed.latest_version)
        # A watch lasts as long as the pause; a list, or a watch that breaks off, does not.
        taken = reader.clock() - begun
        reader.sleep(max(patience.pause - taken, 0.0))
        waited += max(patience.pause, taken)
    return PolledState(evicted, followed.current_objects["Pod"], "")


def _has_decided(before: Snapshot, objects: Mapping[str, list[Manifest]], evicted: Collection[str] = ()) -> bool:
    """Whether the scheduler has written something; a missing pod may have ended or been deleted by a client."""
    outcome = outcome_between(before, replace(before, objects={**before.objects, **objects}), evicted)
    outcome.evicted = {pod: how for pod, how in outcome.evicted.items() if how != cycle_outcome.GONE}
    return outcome != cycle_outcome.CycleOutcome()


def _find_windows(
    before: Snapshot, api: Api, options: CaptureOptions, decided: str, evicted: Collection[str]
) -> list[tuple[listing.EarlierState, listing.EarlierState]]:
    """States between which the first cycle since a capture may lie, the likeliest first; raises VersionGone.

    A scheduler waits for a second between two cycles, and the server notes the second of each bind: a cycle ends with
    the last decision of its second, or of the next one. It begins before its first write, and does not see what other
    clients change in between.
    """
    captured = _version_of(before)
    if not (captured.isdecimal() and decided.isdecimal()):
        raise listing.VersionGone(captured or "unknown", api.server)

    def lists_at(version: int) -> dict[str, list[Manifest]]:
        return {
            kind: listing.list_at_version(api, KIND_BY_NAME[kind], options, str(version))
            for kind in listing.FOLLOWED_KINDS
        }

    names = before.flags.scheduler_names
    known = decision_stamps(before.objects_of("Pod"), names)

    def stamps_at(version: int) -> set[tuple[object, datetime]]:
        return decision_stamps(listing.list_at_version(api, KIND_BY_NAME["Pod"], options, str(version)), names)

    def times_at(version: int) -> list[datetime]:
        return [time for _, time in stamps_at(version) - known]

    last = int(decided)
    first = listing.first_version(lambda version: _has_decided(before, lists_at(version), evicted), int(captured), last)
    begun = min(times_at(first) or times_at(last), default=None)
    ends = [last]
    if begun is not None:
        longer = _last_before(begun + timedelta(seconds=2), times_at, first, last)
        ends = list(dict.fromkeys([_last_before(begun + timedelta(seconds=1), times_at, first, longer), longer]))

    def may_begin_at(start: int) -> bool:
        """Whether the scheduler has decided nothing between this version and the capture."""
        with suppress(listing.VersionGone):
            return start >= int(captured) or known <= stamps_at(start)
        return False

    # A cycle may begin before the capture and write after it, but not before the last decision of an earlier cycle.
    starts = [max(first - 1, int(captured)), *filter(may_begin_at, (max(first - 1 - back, 1) for back in UNSEEN))]
    pairs = dict.fromkeys([*((starts[0], end) for end in ends), *((start, ends[0]) for start in starts)])
    return [(listing.EarlierState(str(start), begun), listing.EarlierState(str(end), begun)) for start, end in pairs]


def _last_before(end: datetime, times_at: Callable[[int], list[datetime]], first: int, last: int) -> int:
    """The last version of a range in which nothing is decided at the time `end` or later."""

    def is_over(version: int) -> bool:
        return any(time >= end for time in times_at(version))

    return listing.first_version(is_over, first, last) - 1 if is_over(last) else last


def judge_captures(
    before: Snapshot, after: Snapshot, evicted: Collection[str] = (), meanwhile: Collection[Manifest] = ()
) -> Verification:
    """Compare the second capture with the replay of the first one.

    `evicted` are uids of pods whose eviction by the scheduler was seen, `meanwhile` all pods of a moment in between.
    """
    observed = outcome_between(before, after, evicted)
    followed = follow_scheduler(before, observed, cycles=MAX_CYCLES)
    confirmed = {pod: how for pod, how in observed.evicted.items() if how != cycle_outcome.GONE}
    expected = {**followed.outcome.evicted, **confirmed}
    changes = foreign_changes(before, after, expected)
    # Changes by other clients until the scheduler acted; some may be undone again in the second capture.
    polled = replace(before, objects={**before.objects, "Pod": list(meanwhile)})
    early = list(_iter_changed_pods(before, polled, expected)) if meanwhile else []
    judged = judge_jobs(followed.recording, followed.differences, followed.said_elsewhere)
    victims = {
        pod: how
        for pod, how in observed.evicted.items()
        if how != cycle_outcome.GONE or pod in followed.outcome.evicted
    }
    return Verification(
        followed.recording,
        followed.outcome,
        replace(observed, evicted=victims),
        _excuse_overtaken(followed.recording, judged, after, changes, early),
        tuple(chance_edits(followed.recording.snapshot.chance)),
        followed.replay_count,
        cycles=followed.cycles,
    )


class ForeignChange(NamedTuple):
    """A change between two captures that the scheduler did not make."""

    text: str
    kind: str = ""
    """Kind of the object; empty for the configuration."""
    before: Manifest | None = None
    after: Manifest | None = None


def _excuse_overtaken(
    recording: Recording,
    judged: tuple[JobVerdict, ...],
    after: Snapshot,
    changes: list[ForeignChange],
    early: list[ForeignChange],
) -> tuple[JobVerdict, ...]:
    """Verdicts with `overtaken` instead of `differs` for jobs whose replayed decision the changes alter."""
    if not (changes or early) or not any(verdict.verdict_word == "differs" for verdict in judged):
        return judged
    # A busy cluster changes all the time: only changes that alter a job's decision count for the job.
    predicted, job_of = cycle_outcome.predicted_outcome(recording), job_lookup(recording)

    def jobs_affected(foreign: Iterable[ForeignChange]) -> set[JobId]:
        """The jobs whose decisions change if the replay starts with these changes."""
        with disposing(replay_cycle(_with_changes(recording.snapshot, after, foreign), reuse_from=recording)) as other:
            differences = find_differences(predicted, cycle_outcome.predicted_outcome(other), job_of)
            return {item.job for item in differences if item.is_decision}

    alone = [(change, jobs_affected([change])) for change in changes[:MAX_CHANGES]]
    together = [(foreign, jobs_affected(foreign)) for foreign in (early, changes) if foreign]
    verdicts = []
    for verdict in judged:
        own_changes = [change.text for change, jobs in alone if verdict.job in jobs]
        shared_changes = next((foreign for foreign, jobs in together if verdict.job in jobs), [])
        if verdict.verdict_word == "differs" and (own_changes or shared_changes):
            texts = own_changes or [change.text for change in shared_changes[:MAX_CHANGES]]
            verdict = replace(verdict, verdict_word="overtaken", changes=tuple(texts))
        verdicts.append(verdict)
    return tuple(verdicts)


def _with_changes(before: Snapshot, after: Snapshot, changes: Iterable[ForeignChange]) -> Snapshot:
    objects, conf = dict(before.objects), before.scheduler_conf
    for change in changes:
        if not change.kind:
            conf = after.scheduler_conf
            continue
        manifests = objects.get(change.kind, [])
        if change.before is None:
            objects[change.kind] = [*manifests, *_as_created(change, before)]
        else:
            key = key_of(change.before)
            objects[change.kind] = [
                new for old in manifests for new in ([old] if key_of(old) != key else _as_created(change, before))
            ]
    return replace(before, objects=objects, scheduler_conf=conf)


def _as_created(change: ForeignChange, snapshot: Snapshot) -> list[Manifest]:
    """The object as another client left it, without the scheduler's own writes; empty if it was deleted."""
    body = change.after
    if body is None:
        return []
    if change.kind == "PodGroup":
        return [{**body, "status": change.before.get("status") or {} if change.before is not None else {}}]
    if change.kind == "Pod" and change.before is None and Pod(body).scheduler_name in snapshot.flags.scheduler_names:
        spec = {key: value for key, value in (body.get("spec") or {}).items() if key != "nodeName"}
        return [{**body, "spec": spec, "status": {"phase": "Pending"}}]
    return [body]


# The difference of two captures: writes of the scheduler, and changes by anything else.

DECIDING_PARTS: Final[Mapping[str, Callable[[Manifest], object]]] = {
    "Node": lambda body: (
        body.get("spec"),
        metadata_of(body).get("labels"),
        status_of(body).get("allocatable"),
        find_condition(status_of(body), "Ready").get("status"),
    ),
    "Queue": lambda body: (body.get("spec"), status_of(body).get("state")),
    "PodGroup": lambda body: body.get("spec"),
    "PriorityClass": lambda body: body.get("value"),
    "ResourceQuota": lambda body: (body.get("spec"), status_of(body).get("hard")),
    "PodDisruptionBudget": lambda body: body.get("spec"),
    "HyperNode": lambda body: body.get("spec"),
    "Numatopology": lambda body: body.get("spec"),
}
"""Kind → function that returns the parts which affect decisions and which no scheduler writes."""


def outcome_between(before: Snapshot, after: Snapshot, evicted: Collection[str] = ()) -> cycle_outcome.CycleOutcome:
    """The scheduler's outcome between two captures; `evicted` are UIDs of pods whose eviction was seen."""
    outcome = cycle_outcome.CycleOutcome()
    # A pod of the same name with another uid is a new one: its controller has replaced the old one.
    later = {(key, _uid_of(pod)): pod for key, pod in _by_key(after, "Pod").items()}
    for key, pod in _by_key(before, "Pod").items():
        later_pod = later.get((key, _uid_of(pod)))
        if later_pod is None or _starts_terminating(pod, later_pod):
            if not _is_terminating(pod) and (later_pod is None or is_evicted(later_pod)):
                outcome.evicted[key] = "" if later_pod is not None or _uid_of(pod) in evicted else cycle_outcome.GONE
        else:
            _note_pod(outcome, key, pod, later_pod)
    groups = _by_key(after, "PodGroup")
    for key, group in _by_key(before, "PodGroup").items():
        if key in groups and cycle_outcome.is_new_status(PodGroup(group), PodGroup(groups[key])):
            outcome.groups[key] = cycle_outcome.group_status(PodGroup(groups[key]))
    return outcome


def _note_pod(outcome: cycle_outcome.CycleOutcome, key: TaskKey, before: Manifest, after: Manifest) -> None:
    bound_to = Pod(after).node_name
    if bound_to and not Pod(before).node_name:
        outcome.bound[key] = bound_to
    else:
        cycle_outcome.note_pod_status(outcome, key, before, after)


def terminating_uids(before: Snapshot, pods: Iterable[Manifest]) -> list[str]:
    """UIDs of pods that the scheduler has begun to evict since a capture."""
    old = _by_key(before, "Pod")
    pairs = [(old.get(key_of(pod)), pod) for pod in pods]
    return [
        str(_uid_of(pod))
        for was, pod in pairs
        if was is not None and _uid_of(was) == _uid_of(pod) and _starts_terminating(was, pod) and is_evicted(pod)
    ]


def deleted_uids(before: Snapshot, after: Snapshot) -> list[str]:
    """UIDs of pods that no longer exist."""
    existing = {_uid_of(pod) for pod in after.objects_of("Pod")}
    return [str(_uid_of(pod)) for pod in before.objects_of("Pod") if _uid_of(pod) not in existing]


def foreign_changes(before: Snapshot, after: Snapshot, expected: Mapping[TaskKey, str]) -> list[ForeignChange]:
    """Changes that the scheduler did not make; the deletion of a pod in `expected` does not count."""
    changes = []
    if before.scheduler_conf != after.scheduler_conf:
        changes.append(ForeignChange("scheduler configuration changed"))
    changes += _iter_changed_pods(before, after, expected)
    for kind, part in DECIDING_PARTS.items():
        old, new = _by_key(before, kind), _by_key(after, kind)
        for key in sorted({**old, **new}):
            if key in old and key in new and part(old[key]) == part(new[key]):
                continue
            word = "was added" if key not in old else "was removed" if key not in new else "changed"
            changes.append(ForeignChange(f"{kind} {key} {word}", kind, old.get(key), new.get(key)))
    return changes


def _iter_changed_pods(before: Snapshot, after: Snapshot, expected: Mapping[TaskKey, str]) -> Iterator[ForeignChange]:
    old, new = _by_key(before, "Pod"), _by_key(after, "Pod")
    for key in sorted({**old, **new}):
        old_pod, new_pod = old.get(key), new.get(key)
        if words := _pod_change(old_pod, new_pod, is_expected=key in expected):
            yield ForeignChange(f"Pod {key} {words}", "Pod", old_pod, new_pod)


def _pod_change(old_pod: Manifest | None, new_pod: Manifest | None, *, is_expected: bool) -> str:
    """Another client's change of a pod, in words; empty for none."""
    if old_pod is None or (new_pod is not None and _uid_of(new_pod) != _uid_of(old_pod)):
        return "was created"
    if new_pod is None:
        return "" if is_expected else "disappeared"
    if _starts_terminating(old_pod, new_pod) and not is_evicted(new_pod):
        return "is being deleted"
    phase = status_of(new_pod).get("phase")
    return f"finished: {phase}" if phase in ENDED_PHASES and phase != status_of(old_pod).get("phase") else ""


def _by_key(snapshot: Snapshot, kind: str) -> dict[str, Manifest]:
    return {key_of(manifest): manifest for manifest in snapshot.objects_of(kind)}


def _uid_of(manifest: Manifest) -> object:
    return metadata_of(manifest).get("uid")


def _is_terminating(pod: Manifest) -> bool:
    return bool(metadata_of(pod).get("deletionTimestamp"))


def _starts_terminating(before: Manifest, after: Manifest) -> bool:
    return _is_terminating(after) and not _is_terminating(before)
