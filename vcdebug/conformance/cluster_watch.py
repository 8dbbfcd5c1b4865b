"""Watch a cluster capture by capture: what is Pending by cause, evictions, predictions that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vcdebug.conformance.cluster_verification import judge_captures, outcome_between
from vcdebug.conformance.cycle_outcome import GONE
from vcdebug.debugger.expectations import MetReason
from vcdebug.explain.job_view import workload_names
from vcdebug.explain.pending.explanation import SurveyedJob, survey_jobs
from vcdebug.model.names import TaskKey
from vcdebug.model.pod import Pod
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot

MAX_REMEMBERED = 10_000
"""Causes and evicted workloads that are remembered; the oldest is forgotten first."""
UNFORESEEN = "unforeseen"
"""The action of an eviction that the replay did not make."""


class PendingCause(NamedTuple):
    """Why workloads of one queue are Pending."""

    queue: str
    cause: str


@dataclass(slots=True)
class WatchFigures:
    """What has been counted; the metrics and the lines of a cycle are made from it."""

    pending_jobs: Counter[PendingCause] = field(default_factory=Counter)
    pending_pods: Counter[PendingCause] = field(default_factory=Counter)
    evictions: Counter[str] = field(default_factory=Counter)
    """By the action that evicts in the replay, or UNFORESEEN; since the start."""
    mismatches: int = 0
    """Jobs whose predicted decision differed from the scheduler's, since the start."""
    readings: int = 0


class WatchedCycle(NamedTuple):
    """What one capture shows."""

    lines: tuple[str, ...]
    """One for each cause, and for each eviction and failed prediction since the capture before."""
    reasons: tuple[str, ...]
    """Why captures are worth keeping; empty where nothing is new."""
    met: str
    """Why the user's condition has come to hold; empty where it does not, or did before."""
    worth_keeping: tuple[Snapshot, ...]
    """The captures to keep: of a prediction that failed also the one before, whose replay made it."""


class ClusterWatch:
    """Judges captures one after the other; it remembers the last one, and of the others what it counted."""

    def __init__(self, namespace: str = "", condition: MetReason | None = None) -> None:
        """`namespace` limits what is explained and counted; empty for all. `condition` is that of `--on`."""
        self.figures = WatchFigures()
        self._namespace = namespace
        self._condition = condition
        self._was_met = False
        self._before: Snapshot | None = None
        self._foreseen: dict[TaskKey, str] = {}
        """Pod -> the action that evicts it in the replay of the last capture."""
        self._recent: dict[object, None] = {}

    def judge_capture(self, snapshot: Snapshot) -> WatchedCycle:
        """Compare a capture with the one before, replay it, and explain what is Pending."""
        lines, reasons, captures = list[str](), list[str](), list[Snapshot]()
        if self._before is not None and self._judge_changes(self._before, snapshot, lines, reasons):
            captures.append(self._before)
        with disposing(replay_cycle(snapshot)) as recording:
            self._count_pending(recording, lines, reasons)
            met_reason = self._condition(recording) if self._condition is not None else ""
            self._foreseen = {effect.task: effect.action for effect in cycle_effects(recording).evicted}
        newly_met, self._was_met = "" if self._was_met else met_reason, bool(met_reason)
        self._before = snapshot
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
        names = workload_names(recording.snapshot)
        for cause in sorted(jobs):
            example = examples[cause].shown_finding.sentence_about(names)
            lines.append(f"{cause.queue or 'no queue'}, {cause.cause}: {jobs[cause]} Pending, {example}")
            if self._is_new(cause):
                reasons.append(f"new cause {cause.cause} in queue {cause.queue or 'none'}")

    def _judge_changes(self, before: Snapshot, after: Snapshot, lines: list[str], reasons: list[str]) -> bool:
        """Whether a prediction failed between two captures; adds what happened."""
        observed = outcome_between(before, after)
        evicted = [pod for pod in sorted(observed.evicted) if observed.evicted[pod] != GONE or pod in self._foreseen]
        self._count_evictions(before, evicted, lines, reasons)
        # A replay that follows the scheduler's choices costs many cycles: only where the scheduler decided something.
        if not (observed.bound or evicted or observed.nominated):
            return False
        verification = judge_captures(before, after)
        with disposing(verification.recording):
            names = workload_names(before)
            differing = [one.job for one in verification.jobs if one.word == "differs" and self._is_watched(one.job)]
            self.figures.mismatches += len(differing)
            lines.extend(
                f"{names.get(job, job)}: the scheduler decided differently than the replay" for job in differing
            )
            reasons.extend(f"prediction failed for {names.get(job, job)}" for job in differing)
            return bool(differing)

    def _count_evictions(
        self, before: Snapshot, evicted: Sequence[TaskKey], lines: list[str], reasons: list[str]
    ) -> None:
        if not evicted:
            return
        names, workloads = workload_names(before), dict[str, None]()
        jobs = {pod.key: pod.job_id or pod.key for pod in map(Pod, before.objects_of("Pod"))}
        for pod in filter(self._is_watched, evicted):
            action, workload = self._foreseen.get(pod, UNFORESEEN), names.get(jobs[pod], jobs[pod])
            workloads[workload] = None
            self.figures.evictions[action] += 1
            lines.append(f"{pod} of {workload} was evicted ({action})")
        reasons.extend(f"{name} was evicted again" for name in workloads if not self._is_new(("evicted", name)))

    def _is_watched(self, name: str) -> bool:
        return self._namespace in ("", name.partition("/")[0])

    def _is_new(self, key: object) -> bool:
        """Whether it was not there before; it is remembered."""
        is_new = key not in self._recent
        # The ones that are still there are the youngest, so that only what is long gone is forgotten.
        self._recent.pop(key, None)
        self._recent[key] = None
        if len(self._recent) > MAX_REMEMBERED:
            del self._recent[next(iter(self._recent))]
        return is_new
