"""Compare two outcomes of one cycle, and judge each job."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from vcdebug.conformance.cycle_outcome import GONE, CycleOutcome, certain_part, is_alike, reason_words
from vcdebug.conformance.scheduler_log import format_ranges
from vcdebug.explain.answer import Explanation
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.explain.orders import find_order_circle
from vcdebug.explain.pending.explanation import explain_subject
from vcdebug.framework.chance_draws import parse_ranges
from vcdebug.framework.columns import Level
from vcdebug.framework.record import BestEvent, OpEvent, PredicateEvent, ScoreEvent
from vcdebug.model.names import JobId, NodeName, Row, Seq, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.cycle_inputs import ChanceSettings

VerdictWord = Literal["agreed", "different text", "random choice", "differs", "overtaken"]
NOTHING_DONE = "nothing"
UNCLEAR: Final = ("differs", "overtaken")
MAX_EXPLAINED = 20
"""Maximum number of differing jobs for which the replay's decision is looked up."""
BOUND, EVICTED, NOMINATED, GROUP, CONDITION = "bound", "evicted", "nominated", "PodGroup", "PodScheduled"
DEVICES, STATUS, ADMITTED, GATE, EVENT = "devices", "status", "admitted", "scheduling gate", "event"
Fact = tuple[str, str]
"""The subject and the part of a difference."""
DECISIONS = (BOUND, EVICTED, NOMINATED, DEVICES, STATUS, ADMITTED, GATE)


class OutcomeDifference(NamedTuple):
    """One fact on which replay and scheduler differ."""

    job: JobId
    subject: str
    """The pod that differs, or the job itself."""
    part: str
    """bound, evicted, nominated, devices, admitted, scheduling gate, status (where these are alike); PodGroup,
    PodScheduled, event: words about them.
    """
    predicted: str
    observed: str

    @property
    def fact(self) -> Fact:
        """What differs, whichever values it has."""
        return self.subject, self.part

    @property
    def is_decision(self) -> bool:
        """Whether a decision differs, not only its wording."""
        return self.part in DECISIONS

    @property
    def is_lasting(self) -> bool:
        """Whether later cycles of the replay cannot remove it: they add decisions, and take none back."""
        return self.part in (BOUND, EVICTED, ADMITTED, GATE) and self.predicted != NOTHING_DONE


class ReplayDecision(NamedTuple):
    """The decision of the replay behind a difference: event and words."""

    seq: Seq | None
    text: str


class JobVerdict(Struct, frozen=True):
    """The verdict on one job."""

    job: JobId
    verdict_word: VerdictWord
    differences: tuple[OutcomeDifference, ...] = ()
    decision: ReplayDecision | None = None
    changes: tuple[str, ...] = ()
    """Changes by other clients that alter the job's decision."""


def job_lookup(recording: Recording) -> Callable[[TaskKey], JobId]:
    """A function from a pod to its job, or to the pod itself without one."""
    owners = {
        pod.key: pod.job_id or pod.key for pod in (Pod(manifest) for manifest in recording.snapshot.objects_of("Pod"))
    }
    return lambda pod: owners.get(pod, pod)


def find_differences(
    predicted: CycleOutcome, observed: CycleOutcome, owner: Callable[[TaskKey], JobId]
) -> list[OutcomeDifference]:
    """All differences, decisions first; `owner` names the job of a pod."""
    # Any client may have deleted a missing pod: that confirms a predicted eviction, but never contradicts one.
    victims = [pod for pod, how in observed.evicted.items() if how != GONE or pod in predicted.evicted]
    differences = [
        *_iter_text_differences(BOUND, predicted.bound, observed.bound, owner),
        *_iter_text_differences(EVICTED, dict.fromkeys(predicted.evicted, "yes"), dict.fromkeys(victims, "yes"), owner),
        *_iter_text_differences(NOMINATED, predicted.nominated, observed.nominated, owner),
        *_iter_device_differences(predicted, observed, owner),
        *_iter_admission_differences(predicted, observed),
        *_iter_text_differences(GATE, predicted.opened_gates, observed.opened_gates, owner),
        *_iter_text_differences(GROUP, _group_words(predicted), _group_words(observed), lambda job: job),
        *_iter_text_differences(CONDITION, _pending_messages(predicted), _pending_messages(observed), owner),
        *_iter_event_differences(predicted, observed, owner),
    ]
    # If decisions differ, the statuses that follow from them differ as well, so they are not compared.
    if any(item.is_decision for item in differences):
        return differences
    return [*_iter_status_differences(predicted, observed), *differences]


def _iter_status_differences(predicted: CycleOutcome, observed: CycleOutcome) -> Iterator[OutcomeDifference]:
    """Differences between final statuses of Queues and PodGroups."""
    for (kind, key), numbers in sorted((predicted.statuses or {}).items()):
        written = (observed.statuses or {}).get((kind, key), numbers)
        names = sorted({**numbers, **written})
        left, right = (
            ", ".join(f"{name} {status[name]}" for name in names if name in status) for status in (numbers, written)
        )
        if left != right:
            subject = f"{kind} {key}"
            yield OutcomeDifference(key if kind == GROUP else subject, subject, STATUS, left, right)


def _iter_text_differences(
    aspect: str, predicted: Mapping[str, str], observed: Mapping[str, str], owner: Callable[[TaskKey], JobId]
) -> Iterator[OutcomeDifference]:
    for name in sorted({**predicted, **observed}):
        left, right = predicted.get(name, NOTHING_DONE), observed.get(name, NOTHING_DONE)
        if not is_alike(left, right):
            yield OutcomeDifference(owner(name), name, aspect, left, right)


def _iter_admission_differences(predicted: CycleOutcome, observed: CycleOutcome) -> Iterator[OutcomeDifference]:
    """Differences in admission: PodGroups that were Pending, and that only one side admits."""
    replayed, scheduled = (
        {job: "yes" for job in outcome.admitted if job in predicted.not_admitted} for outcome in (predicted, observed)
    )
    return _iter_text_differences(ADMITTED, replayed, scheduled, lambda job: job)


def _iter_event_differences(
    predicted: CycleOutcome, observed: CycleOutcome, owner: Callable[[TaskKey], JobId]
) -> Iterator[OutcomeDifference]:
    """Differing messages of events that both sides have, and reasons that no event of the scheduler has.

    A single missing event does not count: its client may have held it back.
    """
    sent = {reason for _, _, reason in observed.events}
    unsent = {subject[2]: subject for subject in sorted(predicted.events) if sent and subject[2] not in sent}
    for reason, (kind, name, _) in unsent.items():
        about = predicted.events[kind, name, reason][-1]
        yield OutcomeDifference(_job_of(kind, name, owner), f"{kind} {name}", f"{EVENT} {reason}", about, NOTHING_DONE)
    for (kind, name, reason), texts in sorted(observed.events.items()):
        ours = predicted.events.get((kind, name, reason), ())
        odd = [text for text in texts if not any(is_alike(certain_part(one), certain_part(text)) for one in ours)]
        if ours and odd:
            job = _job_of(kind, name, owner)
            yield OutcomeDifference(job, f"{kind} {name}", f"{EVENT} {reason}", ours[-1], odd[-1])


def _job_of(kind: str, name: str, owner: Callable[[TaskKey], JobId]) -> JobId:
    return owner(name) if kind == "Pod" else name


def _iter_device_differences(
    predicted: CycleOutcome, observed: CycleOutcome, owner: Callable[[TaskKey], JobId]
) -> Iterator[OutcomeDifference]:
    """Differences in devices of pods that both sides bind to the same node; on other nodes, devices differ anyway."""
    for pod, claims in sorted(predicted.devices.items()):
        observed_claims = observed.devices.get(pod, {})
        # Between two captures, what is missing may not have been looked for.
        common = sorted(claim for claim in claims if claim in observed_claims or observed.statuses is not None)
        if predicted.bound.get(pod) == observed.bound.get(pod):
            replayed, written = (
                "; ".join(words.get(claim, NOTHING_DONE) for claim in common) for words in (claims, observed_claims)
            )
            yield from _iter_text_differences(DEVICES, {pod: replayed}, {pod: written}, owner)


def _group_words(outcome: CycleOutcome) -> dict[JobId, str]:
    return {job: status.text for job, status in outcome.groups.items()}


def _pending_messages(outcome: CycleOutcome) -> dict[TaskKey, str]:
    return {pod: reason_words(condition) for pod, condition in outcome.waiting.items()}


OTHER_DRAWS = (
    "other replays with the scheduler's decisions give its texts; which node a pod waits for, and why, is drawn"
)


def judge_jobs(
    recording: Recording, differences: list[OutcomeDifference], said_elsewhere: Container[Fact] = ()
) -> tuple[JobVerdict, ...]:
    """A verdict per job of the session, and per other job or pod that differs, sorted by name.

    `said_elsewhere` are facts that another replay with the same decisions has as the scheduler has them.
    """
    sampled = last_samples(recording, (each.subject for each in differences if _is_elsewhere(each)))
    by_job: dict[JobId, list[OutcomeDifference]] = {job: [] for job in recording.session.jobs}
    for difference in differences:
        by_job.setdefault(difference.job, []).append(difference)
    judged = [_judge_job(recording, job, by_job[job], sampled, said_elsewhere) for job in sorted(by_job)]
    differing = [place for place, verdict in enumerate(judged) if verdict.verdict_word == "differs"]
    for place in differing[:MAX_EXPLAINED]:
        first = next(each for each in judged[place].differences if each.is_decision)
        judged[place] = replace(judged[place], decision=find_decision(recording, first))
    return tuple(judged)


def _is_elsewhere(difference: OutcomeDifference) -> bool:
    """Whether replay and scheduler chose different nodes for the pod."""
    placed = difference.part in (BOUND, NOMINATED)
    return placed and NOTHING_DONE not in (difference.predicted, difference.observed)


def _judge_job(
    recording: Recording,
    job: JobId,
    differences: list[OutcomeDifference],
    sampled: dict[TaskKey, SearchSample],
    said_elsewhere: Container[Fact],
) -> JobVerdict:
    if not differences:
        return JobVerdict(job, "agreed")
    decided = [difference for difference in differences if difference.is_decision]
    if not decided:
        if all(difference.fact in said_elsewhere for difference in differences):
            return JobVerdict(job, "random choice", tuple(differences), ReplayDecision(None, OTHER_DRAWS))
        return JobVerdict(job, "different text", tuple(differences))
    chance = _sampling_decision(recording, decided, sampled) or _order_decision(recording, decided)
    return JobVerdict(job, "differs" if chance is None else "random choice", tuple(differences), chance)


def _sampling_decision(
    recording: Recording, decided: list[OutcomeDifference], sampled: Mapping[TaskKey, SearchSample]
) -> ReplayDecision | None:
    """The sampled search behind the differences, if only nodes differ and the search found each node; else None."""
    for difference in decided:
        sample = sampled.get(difference.subject)
        if not _is_elsewhere(difference) or sample is None or not is_in_sample(recording, sample, difference.observed):
            return None
    first = decided[0]
    sample = sampled[first.subject]
    looked = f"{sample.search.processed} of {sample.search.considered} nodes"
    text = f"node sampling: {looked} were checked for {first.subject}; {first.observed} also fits"
    return ReplayDecision(sample.seq, text)


def _order_decision(recording: Recording, decided: list[OutcomeDifference]) -> ReplayDecision | None:
    """The circular order of pods behind the differences, if it contains every differing pod; else None."""
    about_pods = all(difference.subject in recording.timeline.tasks for difference in decided)
    circle = find_order_circle(recording, (difference.subject for difference in decided)) if about_pods else ()
    if not circle:
        return None
    first = recording.index.spans_of(Level.TASK, circle[0])
    text = f"the order of its pods is cyclic ({' before '.join(circle)}), so the first ones are random"
    return ReplayDecision(first[0].first if first else None, text)


def find_decision(recording: Recording, difference: OutcomeDifference) -> ReplayDecision:
    """The replay's decision about a pod: its eviction, its node, or why its job stays pending."""
    pod, effects = difference.subject, cycle_effects(recording)
    if difference.part == STATUS:
        return ReplayDecision(len(recording), f"as the session closes, {pod} has {difference.predicted or 'nothing'}")
    if difference.part == EVICTED and difference.predicted != NOTHING_DONE:
        seq = next((effect.seq for effect in effects.evicted if effect.task == pod), None)
        return ReplayDecision(seq, f"the replay evicts {pod}")
    placements = (*effects.bound, *effects.pipelined, *effects.held)
    placed = next((effect for effect in placements if effect.task == pod), None)
    if placed is not None:
        seq, tied = _node_choice(recording, pod, placed.seq, placed.node)
        among = f", one of {tied} equally good ones" if tied > 1 else ""
        return ReplayDecision(seq, f"{pod} goes to {placed.node}{among}")
    explained = explain_subject(recording, ExplainSubject(difference.job))
    return ReplayDecision(_proof_seq(explained), explained.sentence)


def _node_choice(recording: Recording, pod: TaskKey, until: Seq, node: str) -> tuple[Seq, int]:
    """(event of the last choice of the node for the pod, number of tied nodes), up to an event.

    With a single feasible node upstream scores nothing: then the placement's event, and 0.
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


# Sampled searches, which visit only a part of the nodes.


class SearchSample(NamedTuple):
    """A pod's search that visited only a part of the nodes."""

    seq: Seq
    search: PredicateEvent
    number: int
    """Number of earlier searches for the pod."""
    scores: ScoreEvent | None
    """The scores of the nodes that the search found; None if they were not scored."""


def has_samples(recording: Recording) -> bool:
    """Whether any search visited only a part of the nodes."""
    events = (recording.event_at(seq) for seq in range(1, len(recording) + 1))
    return any(isinstance(event, PredicateEvent) and event.processed < event.considered for event in events)


def last_samples(recording: Recording, pods: Iterable[TaskKey]) -> dict[TaskKey, SearchSample]:
    """The last search of each pod, if it was sampled."""
    sampled_pods, count = dict.fromkeys(pods), dict[TaskKey, int]()
    samples: dict[TaskKey, SearchSample] = {}
    for seq in range(1, len(recording) + 1) if sampled_pods else ():
        event = recording.event_at(seq)
        if isinstance(event, PredicateEvent) and event.task in sampled_pods:
            number = count[event.task] = count.get(event.task, -1) + 1
            samples[event.task] = SearchSample(seq, event, number, None)
        elif isinstance(event, ScoreEvent) and event.task in samples:
            samples[event.task] = samples[event.task]._replace(scores=event)
    return {pod: sample for pod, sample in samples.items() if sample.search.processed < sample.search.considered}


def is_in_sample(recording: Recording, sample: SearchSample, node: NodeName) -> bool:
    """Whether the search found the node feasible."""
    return any(recording.node_names[row] == node for row in sample.search.feasible.tolist())


def with_drops(recording: Recording, chance: ChanceSettings, chosen: dict[TaskKey, NodeName]) -> ChanceSettings:
    """`chance` with the searches of the `chosen` pods reordered: nodes that outscore the chosen one come last.

    Upstream's parallel workers find more nodes than wanted and drop the last ones: a node that would have won was among
    these.
    """
    searches = dict(chance.searches)
    for pod, sample in last_samples(recording, (pod for pod in chosen if pod in searches)).items():
        texts = searches[pod].split(";")
        rows = dict.fromkeys(_iter_higher_scored(recording, sample, chosen[pod]))
        visited = parse_ranges(texts[sample.number], len(recording.node_names)) if sample.number < len(texts) else None
        if rows and visited is not None:
            reordered = [row for row in visited.tolist() if row not in rows]
            texts[sample.number] = format_ranges([*reordered, *rows])
            searches[pod] = ";".join(texts)
    return replace(chance, searches=searches)


def _iter_higher_scored(recording: Recording, sample: SearchSample, node: NodeName) -> Iterator[Row]:
    if sample.scores is None:
        return
    rows = sample.scores.rows
    places = [place for place, row in enumerate(rows.tolist()) if recording.node_names[row] == node]
    if places:
        yield from rows[np.flatnonzero(sample.scores.total > sample.scores.total[places[0]])].tolist()


class LogDifference(Struct, frozen=True):
    """The first line at which the program's log and the replay's differ."""

    seq: Seq | None
    logged: str
    replayed: str


class Verification(Struct, frozen=True):
    """The result of every form of `vcdebug verify`."""

    recording: Recording
    predicted: CycleOutcome
    observed: CycleOutcome
    jobs: tuple[JobVerdict, ...]
    chance_edits: tuple[str, ...] = ()
    """The scheduler's random choices that the replay follows, as edits."""
    replay_count: int = 1
    """Number of replays that were compared."""
    log_difference: LogDifference | None = None
    early_end: str = ""
    """Why the scheduler did not finish; empty if it did."""
    seconds: float = 0.0
    log: Sequence[str] = ()
    cycles: int = 1
    """Cycles of the replay that were compared."""
    number: int = 1
    """Number of the cycle among the program's cycles with jobs."""
    notes: Sequence[str] = ()
    """Assumptions and omissions of the comparison, in sentences."""

    def count_verdicts(self, word: str) -> int:
        """The number of jobs with this verdict."""
        return len([verdict for verdict in self.jobs if verdict.verdict_word == word])

    @property
    def is_inconclusive(self) -> bool:
        """Whether no verdict is possible: all decisions were overtaken, or neither side decided anything."""
        words = {verdict.job: verdict.verdict_word for verdict in self.jobs}
        judged = any(words.get(job, "overtaken") != "overtaken" for job in self._decided_jobs)
        # A program's cycle was observed, but between two captures of a cluster there may have been no cycle.
        seen_idle = self.observed.statuses is not None and "overtaken" not in words.values()
        return self.is_agreed and not judged and not seen_idle

    @property
    def has_unclear_jobs(self) -> bool:
        """Whether a comparison from another state could say more about a job."""
        return any(verdict.verdict_word in UNCLEAR for verdict in self.jobs)

    @property
    def has_decisions(self) -> bool:
        """Whether replay or scheduler decided anything."""
        return bool(self._decided_jobs)

    @property
    def _decided_jobs(self) -> set[JobId]:
        """Jobs and pods about which replay or scheduler decided or wrote anything."""
        owner, names = job_lookup(self.recording), set[JobId]()
        for side in (self.predicted, self.observed):
            names.update(map(owner, (*side.bound, *side.evicted, *side.nominated, *side.waiting)), side.groups)
        return names

    @property
    def is_agreed(self) -> bool:
        """Whether no job differs, and both or neither of scheduler and replay panicked."""
        same = not any(verdict.verdict_word == "differs" for verdict in self.jobs)
        return same and bool(self.early_end) == bool(self.predicted.panic)
