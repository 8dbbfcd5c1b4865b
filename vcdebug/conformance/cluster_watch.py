"""Watches a cluster capture by capture: Pending workloads by cause, evictions, failed predictions."""

import gc
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct, field

from vcdebug.capture.api_client import ApiRefusal, NoAnswer, TooSlow
from vcdebug.capture.listing import VersionGone
from vcdebug.conformance import cluster_verification
from vcdebug.conformance.cycle_outcome import GONE
from vcdebug.conformance.verdicts import Verification
from vcdebug.debugger.expectations import MetReason
from vcdebug.explain.pending.survey import SurveyedJob, survey_jobs
from vcdebug.model.names import TaskKey
from vcdebug.model.pod import Pod
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.job_names import job_names
from vcdebug.snapshot.manifest import namespace_in
from vcdebug.snapshot.snapshot import Snapshot

MAX_REMEMBERED = 10_000
"""Maximum number of remembered causes and evicted workloads; the oldest is forgotten first."""
UNFORESEEN = "unforeseen"
"""Stands for the action of an eviction that the replay did not predict."""


class PendingCause(NamedTuple):
    """One cause for which workloads of a queue are Pending."""

    queue: str
    cause: str


class WatchFigures(Struct):
    """The counts from which metrics and lines are made."""

    pending_jobs: Counter[PendingCause] = field(default_factory=Counter)
    pending_pods: Counter[PendingCause] = field(default_factory=Counter)
    evictions: Counter[str] = field(default_factory=Counter)
    """Evictions since the start, by the action that evicts in the replay, or UNFORESEEN."""
    mismatches: int = 0
    """Jobs whose predicted decision differed from the scheduler's, since the start."""
    readings: int = 0


class WatchedCycle(NamedTuple):
    """The result of one capture."""

    lines: tuple[str, ...]
    """A line per cause, and per eviction and failed prediction since the previous capture."""
    reasons: tuple[str, ...]
    """Reasons to keep captures; empty if nothing is new."""
    met_condition: str
    """Why the user's condition is newly met; empty if it is not met, or was met before."""
    captures_to_keep: tuple[Snapshot, ...]
    """Captures to keep; for a failed prediction, also the state whose replay made it."""


class ClusterWatch:
    """Judges captures one after the other; keeps only the last one, and counts."""

    def __init__(
        self, reader: cluster_verification.ClusterReader, namespace: str = "", condition: MetReason | None = None
    ) -> None:
        """`namespace`: the only one that is explained and counted, empty for all. `condition`: that of `--on`."""
        self.figures = WatchFigures()
        self._reader = reader
        self._namespace = namespace
        self._condition = condition
        self._was_met = False
        self._previous: Snapshot | None = None
        self._predicted: dict[TaskKey, str] = {}
        """Pod -> the action that evicts it in the replay of the last capture."""
        self._recent_keys: dict[object, None] = {}

    def judge_capture(self, snapshot: Snapshot) -> WatchedCycle:
        """Compare a capture with the previous one, replay it, and explain Pending workloads."""
        lines, reasons, captures = list[str](), list[str](), list[Snapshot]()
        if self._previous is not None:
            failed = self._judge_changes(self._previous, snapshot, lines, reasons)
            captures += [failed] if failed is not None else []
            gc.collect()  # each replay that was tried holds circles of objects, and a watch goes on for days
        with disposing(replay_cycle(snapshot)) as recording:
            self._count_pending(recording, lines, reasons)
            met_reason = self._condition(recording) if self._condition is not None else ""
            self._predicted = {effect.task: effect.action for effect in cycle_effects(recording).evicted}
        newly_met, self._was_met = "" if self._was_met else met_reason, bool(met_reason)
        self._previous = snapshot
        self.figures.readings += 1
        captures += [snapshot] if reasons or newly_met else []
        return WatchedCycle(tuple(lines), tuple(reasons), newly_met, tuple(captures))

    def _count_pending(self, recording: Recording, lines: list[str], reasons: list[str]) -> None:
        jobs, pods, examples = Counter[PendingCause](), Counter[PendingCause](), dict[PendingCause, SurveyedJob]()
        survey = survey_jobs(recording)
        for job in (*survey.unscheduled_jobs, *survey.partly_waiting_jobs):
            if self._is_watched(job.explanation.pod or job.explanation.job):
                cause = PendingCause(job.queue, job.shown_finding.cause)
                jobs[cause] += 1
                pods[cause] += job.pending
                examples.setdefault(cause, job)
        self.figures.pending_jobs, self.figures.pending_pods = jobs, pods
        for cause in sorted(jobs):
            example = examples[cause].shown_finding.sentence_about(recording.job_names)
            lines.append(f"{cause.queue or 'no queue'}, {cause.cause}: {jobs[cause]} Pending, {example}")
            if self._is_new(cause):
                reasons.append(f"new cause {cause.cause} in queue {cause.queue or 'none'}")

    def _judge_changes(
        self, before: Snapshot, after: Snapshot, lines: list[str], reasons: list[str]
    ) -> Snapshot | None:
        """The state of the cluster for which a prediction failed, None if none did; adds lines and reasons."""
        observed = cluster_verification.outcome_between(before, after)
        evicted = [pod for pod in sorted(observed.evicted) if observed.evicted[pod] != GONE or pod in self._predicted]
        self._count_evictions(before, evicted, lines, reasons)
        # Only if the scheduler decided something: following its choices takes many replays.
        if not (observed.bound or evicted or observed.nominated):
            return None
        differing = self._differing_jobs(cluster_verification.judge_captures(before, after))
        # Reading takes seconds, in which several cycles may run: only a cycle's own first state proves a difference.
        judged = self._judge_cycle(before, after) if differing else None
        if judged is not None:
            differing = self._differing_jobs(judged.verification)
        if judged is None or not judged.is_single:
            lines.extend(f"{job}: not judged, the server does not show how its cycle began" for job in differing)
            return None
        self.figures.mismatches += len(differing)
        lines.extend(f"{job}: the scheduler decided differently than the replay" for job in differing)
        reasons.extend(f"prediction failed for {job}" for job in differing)
        return judged.before if differing else None

    def _judge_cycle(self, before: Snapshot, after: Snapshot) -> cluster_verification.JudgedCycle | None:
        """The verdicts on the first cycle between two captures; None if the server no longer shows its states."""
        pods = after.objects_of("Pod")
        version = after.provenance.resource_versions.get("Pod", "") if after.provenance is not None else ""
        later = cluster_verification.PolledState(
            dict.fromkeys(cluster_verification.terminating_uids(before, pods)), pods, version
        )
        try:
            return cluster_verification.judge_first_cycle(self._reader, before, later)
        except (VersionGone, ApiRefusal, NoAnswer, TooSlow):
            return None

    def _differing_jobs(self, verification: Verification) -> list[str]:
        """The names of watched jobs that the scheduler decided differently; frees the recording."""
        with disposing(verification.recording) as recording:
            return [
                recording.job_names.title_of(judged.job)
                for judged in verification.jobs
                if judged.verdict_word == "differs" and self._is_watched(judged.job)
            ]

    def _count_evictions(
        self, before: Snapshot, evicted: Sequence[TaskKey], lines: list[str], reasons: list[str]
    ) -> None:
        if not evicted:
            return
        names, workloads = job_names(before), dict[str, None]()
        jobs = {pod.key: pod.job_id or pod.key for pod in map(Pod, before.objects_of("Pod"))}
        for pod in filter(self._is_watched, evicted):
            action, workload = self._predicted.get(pod, UNFORESEEN), names.title_of(jobs[pod])
            workloads[workload] = None
            self.figures.evictions[action] += 1
            lines.append(f"{pod} of {workload} was evicted ({action})")
        reasons.extend(f"{name} was evicted again" for name in workloads if not self._is_new(("evicted", name)))

    def _is_watched(self, name: str) -> bool:
        return self._namespace in ("", namespace_in(name))

    def _is_new(self, key: object) -> bool:
        """Whether the key is new; the key is remembered."""
        is_new = key not in self._recent_keys
        # Keys seen again are moved to the end, so that only outdated ones are forgotten.
        self._recent_keys.pop(key, None)
        self._recent_keys[key] = None
        if len(self._recent_keys) > MAX_REMEMBERED:
            del self._recent_keys[next(iter(self._recent_keys))]
        return is_new
