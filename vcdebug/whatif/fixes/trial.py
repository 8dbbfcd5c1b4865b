"""One trial: apply edits, replay the cycle, and compare the job and all other jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from functools import cached_property
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun, format_amount, is_quota_count, join_names, verb_for
from vcdebug.explain.answer import Cause, CauseHeadline, Explanation, Flaw
from vcdebug.explain.decisions.evictions import evictions_by_preemptor
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.gates.admission import has_all_pods
from vcdebug.explain.pending.gates.placed import HAS_CAUSES
from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.task import ENDED_STATUSES, TaskStatus
from vcdebug.recording.effects import Effect, cycle_effects
from vcdebug.recording.recording import Recording, disposing, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.state_before import sum_resources
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.manifest import key_of, name_of, spec_of
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.fixes import pod_fixes
from vcdebug.whatif.fixes.configuration_fixes import propose_configuration_fixes
from vcdebug.whatif.fixes.fix import (
    Fix,
    FixKind,
    FixSituation,
    PlaceholderSize,
    are_about_placeholders,
    format_units,
    known_amounts,
    placeholder_pods,
    unit_of,
    without_placeholder_names,
)
from vcdebug.whatif.fixes.job_fixes import propose_job_fixes
from vcdebug.whatif.fixes.node_fixes import propose_node_fixes
from vcdebug.whatif.fixes.queue_fixes import propose_queue_fixes
from vcdebug.whatif.fixes.refusals import BrokenRule, find_refusal

EditTexts = tuple[str, ...]


class AssumedPods(Struct, frozen=True):
    """Assumed pods, which a controller would create once the job is admitted, and whether they would be placed."""

    size: PlaceholderSize
    scheduled: bool
    nodes: tuple[NodeName, ...]
    answer: CauseHeadline | BrokenRule
    """The first line of the answer about the pods, or why the cluster would refuse them."""

    @property
    def reason(self) -> str:
        """Why the assumed pods would stay Pending, without their made-up names."""
        return without_placeholder_names(self.answer.reason)


class CostKind(IntEnum):
    """What a plan costs other jobs, in rising order of harm."""

    DELAY = 0
    """Pods are placed later, or are deleted before they have done any work."""
    EVICTION = 1
    """The scheduler evicts pods, whether or not it would evict them without the plan: they lose their work."""
    END = 2
    """Running pods are ended by hand."""


class Cost(NamedTuple):
    """One effect of a plan on other jobs."""

    kind: CostKind
    text: str


class TrialOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of one trial; plain values, since processes exchange it."""

    is_reached: bool
    """Whether the trial places the job, or the pods that would be created for it."""
    scheduled: bool
    """Whether the job then counts as scheduled."""
    placed: int
    """The number of the job's pods that this cycle binds or pipelines."""
    nodes: tuple[NodeName, ...] = ()
    cause: str
    """The cause code of the job after the trial."""
    headline: CauseHeadline
    """The first line of the answer after the trial."""
    costs: tuple[Cost, ...] = ()
    fixes: tuple[Fix, ...] = ()
    """Fixes that may be tried in addition, if the job is now Pending for another cause."""
    admitted: bool = False
    """Whether the job is admitted, and has no pods yet."""
    reserved: str = ""
    """What minResources still reserves for missing pods, after an edit of minResources."""
    starts_only_a_part: bool = False
    """Whether these missing pods would not all have room."""
    assumed: AssumedPods | None = None
    """The pods assumed for an admitted job without pods; None if their size is unknown."""
    other_pods_on_added_nodes: str = ""
    """The pods of other jobs on added nodes without pods of the job, in words, which explains extra nodes."""
    only_reserves: bool = False
    """Whether the cycle pipelines all of its placed pods, and binds none."""
    pending_count: int = 0
    """The number of the job's pods that are still Pending."""
    has_flaw: bool = False
    """Whether a flaw that the answer names remains."""
    keeps: str = ""
    """Pods that are no longer evicted for the job, in words."""


class FixTrials:
    """Runs one cycle per trial, reusing an earlier recording; can be pickled and sent to another process."""

    def __init__(self, snapshot: Snapshot, word: str, cause: str, before: PodPlaces, flaws: Sequence[Flaw]) -> None:
        self._snapshot = snapshot
        self._subject_name = word
        self._cause = cause
        """The cause code of the job without any change."""
        self._flaws = flaws
        """What the cycle does without any change, and a fix avoids."""
        self._base_waiting = before
        self._latest_recording: Recording | None = None
        """A recording of a similar snapshot, whose parsed objects are reused."""

    @classmethod
    def of_recording(cls, recording: Recording, explanation: Explanation) -> FixTrials:
        """Trials for one job, reusing its recording."""
        word = explanation.subject_name
        before, flaws = PodPlaces.at_end(recording), explanation.dominant.flaws
        trials = cls(recording.snapshot, word, explanation.cause_code, before, flaws)
        trials._base_recording = trials._latest_recording = recording
        return trials

    def under(self, snapshot: Snapshot) -> FixTrials:
        """Trials of the same job, compared with the same cycle, on another form of the snapshot."""
        return FixTrials(snapshot, self._subject_name, self._cause, self._base_waiting, self._flaws)

    def __reduce__(self) -> tuple[type[FixTrials], tuple[Snapshot, str, str, PodPlaces, Sequence[Flaw]]]:
        """Pickle without the recording; another process reuses the recording of its own first trial."""
        return FixTrials, (self._snapshot, self._subject_name, self._cause, self._base_waiting, self._flaws)

    def __call__(self, edits: EditTexts) -> TrialOutcome | None:
        """Run one trial; None for edits that fail, that the cluster would refuse, or that make the scheduler panic."""
        try:
            changed = edited_snapshot(self._snapshot, [parse_edit(text) for text in edits])
        except EditError:
            return None
        if find_refusal(self._snapshot, changed):
            return None
        with self._replay_changed(changed) as recording:
            return self._judge_recording(changed, recording, edits)

    def _judge_recording(self, changed: Snapshot, recording: Recording, edits: EditTexts) -> TrialOutcome | None:
        explanation = explain_by_name(recording, self._subject_name, detailed=False)
        if explanation.cause_code == Cause.PANIC:
            return None
        situation = FixSituation(recording, explanation)
        # A job that lacks pods only gets further once its controller can create them.
        without_pods = (Cause.ADMITTED,) if self._cause == Cause.NOT_ENOUGH else (Cause.NOT_ENOUGH, Cause.ADMITTED)
        if explanation.cause_code in without_pods and not situation.own_pods:
            return self._with_pods(changed, recording, explanation)
        # For a placed job only changes of its placement are tried, not what another cause needs.
        has_new_cause = not explanation.scheduled and self._cause not in (explanation.cause_code, *HAS_CAUSES)
        outcome = self._build_outcome(recording, explanation, reached=explanation.scheduled)
        outcome = replace(outcome, is_reached=outcome.is_reached and not outcome.has_flaw)
        missing_words, is_part = "", False
        if explanation.scheduled and any("spec.minResources" in edit for edit in edits):
            base = FixSituation(self._base_recording, self._base_explanation)
            missing_words, is_part = describe_missing_pods(recording, base)
        proposed = tuple(propose_fixes(situation)) if has_new_cause else ()
        return replace(outcome, fixes=proposed, reserved=missing_words, starts_only_a_part=is_part)

    @contextmanager
    def _replay_changed(self, changed: Snapshot) -> Iterator[Recording]:
        """Replay the changed snapshot; the first recording is kept and reused by later trials."""
        recording = replay_cycle(changed, reuse_from=self._latest_recording)
        if self._latest_recording is None:
            self._latest_recording = require_complete(recording)
            yield recording
            return
        with disposing(recording):
            yield require_complete(recording)

    def _build_outcome(self, recording: Recording, explanation: Explanation, *, reached: bool) -> TrialOutcome:
        after = PodPlaces.at_end(recording)
        placed, job = after.placed_pods_of(explanation.job), recording.session.jobs.get(explanation.job)
        evicted_before = self._base_waiting.evicted if self._flaws else {}
        kept = [job for task, job in evicted_before.items() if task not in after.evicted]
        has_flaw = not {*self._flaws, Flaw.REFUSED_LATER}.isdisjoint(explanation.dominant.flaws)
        if not {Flaw.MILDER_VICTIM, Flaw.MANY_VICTIMS}.isdisjoint(self._flaws):
            has_flaw = has_flaw or len(after.evicted) > len(evicted_before)
        if Flaw.LOSES_PODS in self._flaws:
            lost = [
                [each.evicted.get(explanation.pod)] if explanation.pod else [*each.evicted.values()]
                for each in (self._base_waiting, after)
            ]
            has_flaw = lost[1].count(explanation.job) >= lost[0].count(explanation.job)
        return TrialOutcome(
            is_reached=reached,
            scheduled=explanation.scheduled,
            placed=len(placed),
            nodes=tuple(dict.fromkeys(placed.values())),
            cause=explanation.cause_code,
            headline=explanation.dominant.headline,
            costs=tuple(_iter_costs(explanation.job, self._base_waiting, after)),
            has_flaw=has_flaw,
            keeps=f"{_pods_by_job(kept, 'pod')} {verb_for(len(kept), 'is')} then not evicted" if kept else "",
            pending_count=job.count_tasks(TaskStatus.PENDING) if job is not None else 0,
            only_reserves=after.bound.isdisjoint(placed),
            other_pods_on_added_nodes=_other_pods_on_added_nodes(after, self._node_names, {*placed.values()}),
        )

    def _with_pods(self, changed: Snapshot, recording: Recording, explanation: Explanation) -> TrialOutcome:
        """Replay the cycle after the admission with placeholder pods, and return the outcome for them."""
        outcome = replace(self._build_outcome(recording, explanation, reached=True), admitted=True)
        pods = placeholder_pods(self._snapshot, changed, explanation.job)
        if pods is None:
            return outcome
        with_pods = edited_snapshot(changed, map(parse_edit, pods.edits))
        if refusal := find_refusal(changed, with_pods):
            assumed = AssumedPods(pods.size, scheduled=False, nodes=(), answer=refusal)
            return replace(outcome, is_reached=False, assumed=assumed)
        with self._replay_changed(with_pods) as later_recording:
            # Read before the end of the block, which disposes of the recording.
            verdict = explain_by_name(later_recording, explanation.job, detailed=False)
            after = PodPlaces.at_end(later_recording)
            proposed = () if verdict.scheduled else propose_fixes(FixSituation(later_recording, verdict))
        nodes = tuple(dict.fromkeys(after.placed_pods_of(explanation.job).values()))
        return replace(
            outcome,
            is_reached=verdict.scheduled,
            assumed=AssumedPods(pods.size, verdict.scheduled, nodes, verdict.dominant.headline),
            costs=tuple(_iter_costs(explanation.job, self._base_waiting, after)),
            fixes=tuple(fix for fix in proposed if not are_about_placeholders(fix.at_widest.edits, explanation.job)),
        )

    @cached_property
    def _node_names(self) -> frozenset[NodeName]:
        """The nodes that no trial added."""
        return frozenset(map(name_of, self._snapshot.objects_of("Node")))

    @cached_property
    def _base_explanation(self) -> Explanation:
        return explain_by_name(self._base_recording, self._subject_name)

    @cached_property
    def _base_recording(self) -> Recording:
        return require_complete(replay_cycle(self._snapshot))


class PodPlaces(Struct, frozen=True):
    """The node of each pod, and the Pending jobs, after a cycle."""

    evicted: Mapping[TaskKey, JobId]
    waiting: tuple[JobId, ...]
    """Jobs with fewer pods than their minimum."""
    tasks: Mapping[TaskKey, JobId]
    unplaced: frozenset[TaskKey]
    """The tasks without a node when the cycle opens."""
    placements: tuple[Effect, ...]
    """The placements of the cycle, bound or pipelined."""
    bound: frozenset[TaskKey]
    preemptors: Mapping[TaskKey, JobId]
    """Evicted pod → the job that its eviction makes room for."""

    @classmethod
    def at_end(cls, recording: Recording) -> PodPlaces:
        """The evictions, unplaced jobs and placements at the end of a recording."""
        effects = cycle_effects(recording)
        return cls(
            {effect.task: effect.job for effect in effects.evicted},
            tuple(dict.fromkeys(one.job for one in effects.jobs if not one.has_minimum)),
            {
                task.key: uid
                for uid, job in recording.session.jobs.items()
                for task in job.tasks.values()
                if task.status not in ENDED_STATUSES
            },
            frozenset(
                TaskKey(key_of(pod)) for pod in recording.snapshot.objects_of("Pod") if not spec_of(pod).get("nodeName")
            ),
            (*effects.bound, *effects.pipelined),
            frozenset(effect.task for effect in effects.bound),
            {one.victim: job for job, each in evictions_by_preemptor(recording).items() for one in each},
        )

    def placed_pods_of(self, job: JobId) -> dict[TaskKey, NodeName]:
        """Pod of the job → the node to which this cycle bound or pipelined it."""
        return {effect.task: effect.node for effect in self.placements if effect.job == job}


def _other_pods_on_added_nodes(after: PodPlaces, known: Collection[NodeName], own: Collection[NodeName]) -> str:
    """Which added nodes without pods of the job get how many pods of other jobs; empty for none."""
    others = [effect for effect in after.placements if effect.node not in known and effect.node not in own]
    if not others:
        return ""
    count = len({effect.node for effect in others})
    nodes = (
        f"the {'' if {*own} <= {*known} else 'other '}added node{'s' if count > 1 else ''} {verb_for(count, 'gets')}"
    )
    return f"{nodes} {count_noun(len(others), 'pod')} of {join_names(dict.fromkeys(effect.job for effect in others))}"


def _iter_costs(job: JobId, before: PodPlaces, after: PodPlaces) -> Iterator[Cost]:
    still_evicted = {task: owner for task, owner in after.evicted.items() if task in before.evicted}
    ended = {task: owner for task, owner in before.tasks.items() if task not in after.tasks and owner != job}
    for kind, verb, noun, owners in (
        (
            CostKind.EVICTION,
            "still evicts",
            "pod",
            [own for task, own in still_evicted.items() if after.preemptors.get(task) == job != own],
        ),
        (CostKind.EVICTION, "evicts", "pod", [own for pod, own in after.evicted.items() if pod not in before.evicted]),
        (CostKind.END, "ends", "pod", [own for task, own in ended.items() if task not in before.unplaced]),
        (CostKind.DELAY, "deletes", "Pending pod", [own for task, own in ended.items() if task in before.unplaced]),
    ):
        if owners:
            yield Cost(kind, f"{verb} {_pods_by_job(owners, noun)}")
    jobs_before, jobs_after = dict.fromkeys(before.tasks.values()), dict.fromkeys(after.tasks.values())
    # Jobs that an edit adds or removes do not count as delayed.
    delayed = [uid for uid in after.waiting if uid not in before.waiting and uid in jobs_before and uid in jobs_after]
    running = {owner for task, owner in before.tasks.items() if task not in before.unplaced}
    if harmed := [uid for uid in delayed if uid != job and uid in running]:
        yield Cost(CostKind.DELAY, f"leaves {join_names(harmed)} below minMember")
    if waiting := [uid for uid in delayed if uid != job and uid not in running]:
        yield Cost(CostKind.DELAY, f"{join_names(waiting)} then {verb_for(len(waiting), 'stays')} Pending")


def _pods_by_job(owners: Sequence[JobId], noun: str) -> str:
    """`2 pods of a`, `1 pod each of a, b`, `3 pods (2 of a, 1 of b)`: the job of each pod, counted."""
    counts = Counter(owners)
    if len(counts) > 1 and len({*counts.values()}) == 1:
        return f"{count_noun(counts[owners[0]], noun)} each of {join_names(counts)}"
    by_job = f"({join_names(f'{count} of {job}' for job, count in counts.items())})"
    return f"{count_noun(len(owners), noun)} {by_job if len(counts) > 1 else f'of {owners[0]}'}"


def describe_missing_pods(recording: Recording, situation: FixSituation) -> tuple[str, bool]:
    """What minResources still reserves for missing pods, empty for nothing, and whether they would lack room."""
    group, job = situation.pod_group, situation.job
    if group is None or not situation.own_pods or group.is_made_for_pods() or (job and has_all_pods(recording, job)):
        return "", False
    pods = [pod for pod in map(Pod, situation.snapshot.objects_of("Pod")) if pod.job_id == situation.explanation.job]
    parts, is_short = [], False
    for name, minimum in known_amounts(group.min_resource_list).items():
        lack = minimum - situation.total_request(pods, name)
        if lack <= 0 or is_quota_count(name):
            continue
        free = max(sum_resources(node.idle for node in recording.session.nodes.values()).get(name), 0.0)
        is_short = is_short or lack * (1000 if unit_of(name) == "count" else 1) > free
        text, idle = format_units(name, lack), format_amount(name, free)
        parts.append(f"{text} {name} ({idle} would be free)")
    rest = ", so not all of them start" if is_short else ""
    return (f"its pods that are not there yet ask {join_names(parts)}{rest}" if parts else ""), is_short


FIX_SOURCES: Final[tuple[Callable[[FixSituation], Iterator[Fix]], ...]] = (
    propose_job_fixes,
    pod_fixes.propose_pod_fixes,
    pod_fixes.propose_volume_fixes,
    propose_queue_fixes,
    propose_node_fixes,
    propose_configuration_fixes,
    pod_fixes.propose_taint_fixes,
    pod_fixes.propose_placement_fixes,
)
"""The functions that propose fixes, one line each."""


def propose_fixes(situation: FixSituation) -> list[Fix]:
    """All fixes to try, those for the dominant cause first."""
    proposed = [fix for propose in FIX_SOURCES for fix in propose(situation)]
    return situation.rank_fixes(iter([*proposed, *_propose_advised_fixes(situation, proposed)]))


def _propose_advised_fixes(situation: FixSituation, proposed: Sequence[Fix]) -> Iterator[Fix]:
    """Yields fixes made from advice with edits, unless a proposed fix changes the same fields."""
    changed_fields = [{edit.partition("=")[0] for edit in fix.edits} for fix in proposed]
    for line in situation.explanation.advised:
        if line.edits and (line.repairs or {edit.partition("=")[0] for edit in line.edits} not in changed_fields):
            words, causes = line.text.removesuffix("."), situation.cause_codes[:1]
            kind = FixKind.REPAIR if line.repairs else None
            yield Fix(words, line.edits, line.harm, causes, stated_kind=kind, corrects=line.repairs)
