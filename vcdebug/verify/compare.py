"""Two outcomes of one cycle beside each other, job by job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from vcdebug.causes.pending import explain_subject
from vcdebug.causes.subject import ExplainSubject
from vcdebug.explain.answer import Explanation
from vcdebug.explain.circles import find_order_circle
from vcdebug.framework.columns import Level
from vcdebug.framework.record import BestEvent, OpEvent
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.trace.effects import cycle_effects
from vcdebug.trace.recording import Recording
from vcdebug.verify.outcome import GONE, CycleOutcome, WrittenStatus
from vcdebug.verify.samples import SearchSample, is_in_sample, last_samples
from vcdebug.verify.wording import certain_part, is_alike

VerdictWord = Literal["agreed", "worded otherwise", "by chance", "differs", "overtaken"]
NOTHING_DONE = "nothing"
MAX_EXPLAINED = 20
"""Of so many jobs that differ the decision behind it is looked for."""
BOUND, EVICTED, NOMINATED, GROUP, CONDITION = "bound", "evicted", "nominated", "PodGroup", "PodScheduled"
DEVICES = "devices"
DECISIONS = (BOUND, EVICTED, NOMINATED, DEVICES)


class OutcomeDifference(NamedTuple):
    """One thing that the replay and the scheduler do not say alike."""

    job: JobId
    subject: str
    """The pod, or the job itself."""
    what: str
    """bound, evicted, nominated, devices; or PodGroup and PodScheduled, which are words about them."""
    predicted: str
    observed: str

    @property
    def is_decision(self) -> bool:
        """Whether it is a decision, not the wording of one."""
        return self.what in DECISIONS


class ReplayDecision(NamedTuple):
    """The first decision of the replay that could explain a difference."""

    seq: Seq | None
    text: str


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """One job: whether what was foreseen came."""

    job: JobId
    word: VerdictWord
    differences: tuple[OutcomeDifference, ...] = ()
    decision: ReplayDecision | None = None
    changes: tuple[str, ...] = ()
    """What others changed meanwhile, which may have overtaken the cycle."""


def job_lookup(recording: Recording) -> Callable[[TaskKey], JobId]:
    """Which job a pod belongs to; the pod itself where it has none."""
    owners = {
        pod.key: pod.job_id or pod.key for pod in (Pod(manifest) for manifest in recording.snapshot.objects_of("Pod"))
    }
    return lambda pod: owners.get(pod, pod)


def find_differences(
    predicted: CycleOutcome, observed: CycleOutcome, owner: Callable[[TaskKey], JobId]
) -> list[OutcomeDifference]:
    """Everything that is not alike: decisions first, then words."""
    victims = [pod for pod, how in observed.evicted.items() if how != GONE or pod in predicted.evicted]
    return [
        *_iter_text_differences(BOUND, predicted.bound, observed.bound, owner),
        *_iter_text_differences(EVICTED, dict.fromkeys(predicted.evicted, "yes"), dict.fromkeys(victims, "yes"), owner),
        *_iter_text_differences(NOMINATED, predicted.nominated, observed.nominated, owner),
        *_iter_device_differences(predicted, observed, owner),
        *_iter_text_differences(GROUP, _group_words(predicted), _group_words(observed), lambda job: job),
        *_iter_text_differences(CONDITION, _pending_messages(predicted), _pending_messages(observed), owner),
    ]


def _iter_text_differences(
    what: str, predicted: Mapping[str, str], observed: Mapping[str, str], owner: Callable[[TaskKey], JobId]
) -> Iterator[OutcomeDifference]:
    for name in sorted({**predicted, **observed}):
        left, right = predicted.get(name, NOTHING_DONE), observed.get(name, NOTHING_DONE)
        if not is_alike(left, right):
            yield OutcomeDifference(owner(name), name, what, left, right)


def _iter_device_differences(
    predicted: CycleOutcome, observed: CycleOutcome, owner: Callable[[TaskKey], JobId]
) -> Iterator[OutcomeDifference]:
    """Of pods that both have bound to one node: another node has other devices, and that is said of the pod."""
    for pod, claims in sorted(predicted.devices.items()):
        seen = observed.devices.get(pod, {})
        known = {claim: words for claim, words in claims.items() if claim in seen}
        if predicted.bound.get(pod) == observed.bound.get(pod):
            ours, theirs = ("; ".join(words[claim] for claim in sorted(known)) for words in (known, seen))
            yield from _iter_text_differences(DEVICES, {pod: ours}, {pod: theirs}, owner)


def _group_words(outcome: CycleOutcome) -> dict[JobId, str]:
    return {job: _status_words(one) for job, one in outcome.groups.items()}


def _status_words(one: WrittenStatus) -> str:
    conditions = [
        f"{kind}={status} {reason}: {certain_part(message)}" for kind, status, reason, message in one.conditions
    ]
    return "; ".join([one.phase, *conditions])


def _pending_messages(outcome: CycleOutcome) -> dict[TaskKey, str]:
    return {pod: f"{reason}: {certain_part(message)}" for pod, (reason, message) in outcome.waiting.items()}


def judge_jobs(recording: Recording, found: list[OutcomeDifference]) -> tuple[JobVerdict, ...]:
    """One per job of the session, and per job or pod beyond it that differs, by name."""
    sampled = last_samples(recording, (one.subject for one in found if _is_elsewhere(one)))
    by_job: dict[JobId, list[OutcomeDifference]] = {job: [] for job in recording.session.jobs}
    for difference in found:
        by_job.setdefault(difference.job, []).append(difference)
    judged = [_judge_job(recording, job, by_job[job], sampled) for job in sorted(by_job)]
    differing = [place for place, one in enumerate(judged) if one.word == "differs"]
    for place in differing[:MAX_EXPLAINED]:
        first = next(one for one in judged[place].differences if one.is_decision)
        judged[place] = replace(judged[place], decision=find_decision(recording, first))
    return tuple(judged)


def _is_elsewhere(one: OutcomeDifference) -> bool:
    """Whether both chose a node for the pod, but not the same."""
    return one.what in (BOUND, NOMINATED) and NOTHING_DONE not in (one.predicted, one.observed)


def _judge_job(
    recording: Recording, job: JobId, found: list[OutcomeDifference], sampled: dict[TaskKey, SearchSample]
) -> JobVerdict:
    if not found:
        return JobVerdict(job, "agreed")
    decided = [one for one in found if one.is_decision]
    if not decided:
        return JobVerdict(job, "worded otherwise", tuple(found))
    chance = _sampling_decision(recording, decided, sampled) or _order_decision(recording, decided)
    return JobVerdict(job, "differs" if chance is None else "by chance", tuple(found), chance)


def _sampling_decision(
    recording: Recording, decided: list[OutcomeDifference], sampled: Mapping[TaskKey, SearchSample]
) -> ReplayDecision | None:
    """Whether only the nodes differ, and each was among those that a search may have looked at."""
    for one in decided:
        search = sampled.get(one.subject)
        if not _is_elsewhere(one) or search is None or not is_in_sample(recording, search, one.observed):
            return None
    first = decided[0]
    sample = sampled[first.subject]
    looked = f"{sample.search.processed} of {sample.search.considered} nodes"
    text = f"sampled search: {looked} were looked at for {first.subject}; {first.observed} fits too"
    return ReplayDecision(sample.seq, text)


def _order_decision(recording: Recording, decided: list[OutcomeDifference]) -> ReplayDecision | None:
    """Whether only pods differ whose order goes round."""
    way = find_order_circle(recording, (one.subject for one in decided))
    if not way:
        return None
    first = recording.index.spans_of(Level.TASK, way[0])
    text = f"the order of its pods goes round: {' before '.join(way)}; which of them come first is chance"
    return ReplayDecision(first[0].first if first else None, text)


def find_decision(recording: Recording, difference: OutcomeDifference) -> ReplayDecision:
    """Where the replay made up its mind about the pod or its job."""
    pod = difference.subject
    if difference.what == EVICTED and difference.predicted != NOTHING_DONE:
        seq = next((one.seq for one in cycle_effects(recording).evicted if one.task == pod), None)
        return ReplayDecision(seq, f"the replay evicts {pod}")
    done = cycle_effects(recording)
    placed = next((one for one in (*done.bound, *done.pipelined, *done.held) if one.task == pod), None)
    if placed is not None:
        seq, tied = _node_choice(recording, pod, placed.seq, placed.node)
        among = f", one of {tied} equally good ones" if tied > 1 else ""
        return ReplayDecision(seq, f"{pod} goes to {placed.node}{among}")
    explained = explain_subject(recording, ExplainSubject(difference.job))
    return ReplayDecision(_proof_seq(explained), explained.sentence)


def _node_choice(recording: Recording, pod: TaskKey, until: Seq, node: str) -> tuple[Seq, int]:
    """Where this node was chosen for the pod the last time before an event, and among how many.

    Where no other was left there is no choice, but only the placement.
    """
    for span in reversed(recording.index.spans_of(Level.TASK, pod)):
        for seq in range(min(span.last, until), span.first - 1, -1):
            event = recording.event_at(seq)
            if isinstance(event, BestEvent) and event.name == node:
                return seq, len(event.tied)
            if isinstance(event, OpEvent) and (event.task, event.node) == (pod, node):
                until = seq
    return until, 0


def _proof_seq(explained: Explanation) -> Seq | None:
    evidence = explained.dominant.evidence
    return evidence[0].seq if evidence else None
