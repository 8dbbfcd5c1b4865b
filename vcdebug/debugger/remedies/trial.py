"""One trial: edits made, the cycle run again, and what became of the job and of everybody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import NamedTuple

from vcdebug.amount_text import count_noun
from vcdebug.causes.gates.validity import NOT_ENOUGH
from vcdebug.causes.pending import PANIC_CAUSE, explain_by_name
from vcdebug.debugger.remedies.lever import Fix, FixSituation
from vcdebug.debugger.remedies.proposals import propose_fixes
from vcdebug.debugger.remedies.stand_ins import are_about_placeholders, describe_missing_pods, placeholder_pods
from vcdebug.debugger.what_if import edited_snapshot
from vcdebug.explain.answer import Explanation
from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.cut import require_whole
from vcdebug.trace.effects import Effect, cycle_effects
from vcdebug.trace.passing import disposing
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay_cycle

EditTexts = tuple[str, ...]


class AssumedPods(NamedTuple):
    """What becomes of pods that are made only once the job is admitted."""

    words: str
    """The pods, and what tells of them."""
    scheduled: bool
    nodes: tuple[NodeName, ...]
    cause: str
    sentence: str


class TrialOutcome(NamedTuple):
    """What came of one trial; plain values, so that it travels between processes."""

    reached: bool
    """Whether the job gets what it waits for: its places, where it has no pods yet those of the pods to come."""
    scheduled: bool
    """Whether the job then counts as scheduled."""
    places: int
    """Pods of the job that get a place in this cycle."""
    nodes: tuple[NodeName, ...]
    cause: str
    """What the job then waits for; how it is placed, where it is."""
    sentence: str
    costs: tuple[str, ...]
    """Who else fares otherwise, and how."""
    levers: tuple[Fix, ...]
    """What could be tried on top, where the job waits for something else now."""
    admitted: bool = False
    """Whether the job is admitted, and has no pods yet."""
    later: str = ""
    """What minResources counted for pods that are not there yet, where it is not what it was."""
    assumed: AssumedPods | None = None
    """Of a job that is admitted: None where nothing tells how large its pods will be."""


class FixTrials:
    """A function of edits that travels between processes: a cycle per trial, beside one that was run before."""

    def __init__(self, snapshot: Snapshot, word: str, cause: str, before: PodPlaces) -> None:
        self._snapshot = snapshot
        self._word = word
        self._cause = cause
        """What the job waits for without any change."""
        self._before = before
        self._near: Recording | None = None
        """A cycle of nearly the same snapshot: what it has read is not read again."""

    @classmethod
    def of_recording(cls, recording: Recording, explanation: Explanation) -> FixTrials:
        """About one job, beside a recording that is there."""
        word = explanation.pod or explanation.job
        trials = cls(recording.snapshot, word, explanation.cause_code, PodPlaces.at_end(recording))
        trials._base_recording = trials._near = recording
        return trials

    def __reduce__(self) -> tuple[type[FixTrials], tuple[Snapshot, str, str, PodPlaces]]:
        """Pickled without its recording: elsewhere the others are run beside the first trial."""
        return FixTrials, (self._snapshot, self._word, self._cause, self._before)

    def __call__(self, edits: EditTexts) -> TrialOutcome | None:
        """None for edits that cannot be made here, or that make the scheduler panic."""
        try:
            changed = edited_snapshot(self._snapshot, [parse_edit(text) for text in edits])
        except EditError:
            return None
        with self._replay_changed(changed) as recording:
            return self._judge_recording(changed, recording, edits)

    def _judge_recording(self, changed: Snapshot, recording: Recording, edits: EditTexts) -> TrialOutcome | None:
        explanation = explain_by_name(recording, self._word)
        if explanation.cause_code == PANIC_CAUSE:
            return None
        situation = FixSituation(recording, explanation)
        if self._cause != NOT_ENOUGH and explanation.cause_code == NOT_ENOUGH and not situation.has_pods:
            return self._with_pods(changed, recording, explanation)
        further = not explanation.scheduled and explanation.cause_code != self._cause
        outcome = self._build_outcome(recording, explanation, reached=explanation.scheduled)
        counted = any("spec.minResources" in edit for edit in edits)
        later = (
            describe_missing_pods(recording, FixSituation(self._base_recording, self._base_explanation))
            if counted and explanation.scheduled
            else ""
        )
        return outcome._replace(levers=tuple(propose_fixes(situation)) if further else (), later=later)

    @contextmanager
    def _replay_changed(self, changed: Snapshot) -> Iterator[Recording]:
        """The first one stays: the others are run beside it."""
        recording = replay_cycle(changed, beside=self._near)
        if self._near is None:
            self._near = require_whole(recording)
            yield recording
            return
        with disposing(recording):
            yield require_whole(recording)

    def _build_outcome(self, recording: Recording, explanation: Explanation, *, reached: bool) -> TrialOutcome:
        after = PodPlaces.at_end(recording)
        placed = after.placed_pods_of(explanation.job)
        return TrialOutcome(
            reached,
            explanation.scheduled,
            len(placed),
            tuple(dict.fromkeys(placed.values())),
            explanation.cause_code,
            explanation.sentence,
            tuple(_iter_cost_words(explanation.job, self._before, after)),
            (),
        )

    def _with_pods(self, changed: Snapshot, recording: Recording, explanation: Explanation) -> TrialOutcome:
        """The cycle after the one that admits the job, with the pods that are made in between."""
        outcome = self._build_outcome(recording, explanation, reached=True)._replace(admitted=True)
        pods = placeholder_pods(self._snapshot, changed, explanation.job)
        if pods is None:
            return outcome
        with self._replay_changed(edited_snapshot(changed, map(parse_edit, pods.edits))) as later:
            then, after = explain_by_name(later, explanation.job), PodPlaces.at_end(later)
            proposed = () if then.scheduled else propose_fixes(FixSituation(later, then))
        nodes = tuple(dict.fromkeys(after.placed_pods_of(explanation.job).values()))
        return outcome._replace(
            reached=then.scheduled,
            assumed=AssumedPods(pods.words, then.scheduled, nodes, then.cause_code, then.sentence),
            costs=tuple(_iter_cost_words(explanation.job, self._before, after)),
            levers=tuple(one for one in proposed if not are_about_placeholders(one.at_widest.edits, explanation.job)),
        )

    @cached_property
    def _base_explanation(self) -> Explanation:
        """What is said of the job without any change."""
        return explain_by_name(self._base_recording, self._word)

    @cached_property
    def _base_recording(self) -> Recording:
        return require_whole(replay_cycle(self._snapshot))


class PodPlaces(NamedTuple):
    """Who is where after a cycle."""

    evicted: Mapping[TaskKey, JobId]
    waiting: tuple[JobId, ...]
    """Jobs that lack a part of their minimum."""
    tasks: Mapping[TaskKey, JobId]
    moved: tuple[Effect, ...]
    """Tasks that got a place."""

    @classmethod
    def at_end(cls, recording: Recording) -> PodPlaces:
        """As a recording ends."""
        done = cycle_effects(recording)
        return cls(
            {effect.task: effect.job for effect in done.evicted},
            tuple(dict.fromkeys(one.job for one in done.jobs if one.ready + one.waiting < one.min_available)),
            {task.key: uid for uid, job in recording.session.jobs.items() for task in job.tasks.values()},
            (*done.bound, *done.pipelined),
        )

    def placed_pods_of(self, job: JobId) -> dict[TaskKey, NodeName]:
        """Pods of the job that this cycle bound or pipelined, and where."""
        return {effect.task: effect.node for effect in self.moved if effect.job == job}


def _iter_cost_words(job: JobId, before: PodPlaces, after: PodPlaces) -> Iterator[str]:
    """What others pay, by job."""
    for verb, lost in (
        ("evicts", {task: owner for task, owner in after.evicted.items() if task not in before.evicted}),
        ("ends", {task: owner for task, owner in before.tasks.items() if task not in after.tasks}),
    ):
        owners = Counter(lost.values())
        yield from (f"{verb} {count_noun(count, 'pod')} of {owner}" for owner, count in owners.items() if owner != job)
    there_before, there_after = dict.fromkeys(before.tasks.values()), dict.fromkeys(after.tasks.values())
    for one in after.waiting:
        if one not in before.waiting and one != job and one in there_before and one in there_after:
            yield f"delays {one}"
