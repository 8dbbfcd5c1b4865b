"""Other outcomes of one job: with other random choices, and under other releases if the snapshot names none."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from enum import Enum
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from vcdebug.amount_text import capitalize_first, count_noun, join_names, verb_for
from vcdebug.explain.answer import NO_OTHER_OUTCOMES, Cause, Explanation, Flaw, OtherOutcomes
from vcdebug.explain.decisions.evictions import evictions_by_preemptor, evictions_by_victim, planned_evictions
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId
from vcdebug.model.pod_group import INQUEUE
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording, cut_off_error, disposing, per_recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.change import Tag
from vcdebug.releases.release import SUPPORTED_TAGS, ListeningRelease, Release, release_at_tag
from vcdebug.snapshot.object_checks import missing_kinds
from vcdebug.whatif.fixes.plan import TriedPlan, describe_short_plan
from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
from vcdebug.whatif.fixes.trial import CostKind, FixTrials
from vcdebug.whatif.odds import CycleDraw, cycle_draw, replay_with_seed, tie_before

RUNS_OF_AN_ANSWER, FIRST_RUNS = 12, 3
NEWEST_PATCHES: Final = tuple(next(tags) for _, tags in groupby(SUPPORTED_TAGS, attrgetter("release_line")))
_OLDEST = "v{}.{}".format(*SUPPORTED_TAGS[-1].release_line)
AGREEMENT: Final = f"The newest patch of each release from {_OLDEST} on gives the same outcome."
NAME_RELEASE: Final = "Name yours with --release."
GRACE: Final = timedelta(seconds=31)
"""Time between two cycles in which evicted pods end: 30 seconds, the default grace period, and one more."""
MAX_EVENTS: Final = 2500
"""The largest number of events of a cycle that an answer replays with other random choices and under other releases."""
MAX_ANSWERED_JOBS: Final = 100
"""The largest number of jobs about all of which a replay under another release answers at once."""
_MOST_OUTCOMES: Final = 2


class JobDifference(Enum):
    """How the outcome of a job differs from that of the replayed cycle."""

    SCHEDULED = "it is scheduled"
    PENDING = "it stays Pending"
    OTHERWISE_PENDING = "it is Pending for another reason"
    ADMITTED = "it is admitted"
    CRASH = "the scheduler crashes"
    VICTIMS = "other pods are evicted"
    SPREAD = "its pods are in different HyperNodes"
    TOGETHER = "its pods are in one HyperNode"


class _Difference(NamedTuple):
    """A difference, and the words for it where they depend on the cycle."""

    kind: JobDifference
    words: str = ""

    @property
    def text(self) -> str:
        """What a sentence says of it."""
        return self.words or self.kind.value


def _may_compare(recording: Recording) -> bool:
    """Whether the cycle is small enough for further replays, and no kind of object that decides is missing."""
    return len(recording) <= MAX_EVENTS and not missing_kinds(recording.snapshot)


@per_recording()
def other_outcomes(recording: Recording, job: JobId) -> OtherOutcomes:
    """The other outcomes of a job; empty if it is unknown, or the snapshot too large for these replays or without a
    kind of object that decides.
    """
    if job not in recording.session.jobs or cut_off_error(recording) is not None or not _may_compare(recording):
        return NO_OTHER_OUTCOMES
    chance = " ".join(filter(None, (_chance_sentence(recording, job), _next_cycle_sentence(recording, job))))
    if not recording.snapshot.release.is_assumed:
        return OtherOutcomes(chance)
    newest = _runs_under(recording, NEWEST_PATCHES, job)
    if any(_difference_by_run(recording, newest, job)):
        runs = _runs_under(recording, SUPPORTED_TAGS, job)
        differences = _difference_by_run(recording, runs, job)
        sentence = _release_sentence(recording, job, runs, differences)
        return OtherOutcomes(chance, sentence, NAME_RELEASE, _fix_of_older(recording, job, differences))
    return OtherOutcomes(chance, release_note=AGREEMENT if all(run.draw is not None for run in newest) else "")


@per_recording()
def _draws_of_answer(recording: Recording) -> Sequence[CycleDraw]:
    """The outcomes of runs with other random choices: of a few if these agree and nothing was drawn among equals."""
    base, draws = cycle_draw(recording), list[CycleDraw]()
    for seed in range(1, RUNS_OF_AN_ANSWER + 1):
        with disposing(replay_with_seed(recording, seed)) as run:
            draws.append(cycle_draw(run))
        if seed == FIRST_RUNS and _is_certain(recording, base, draws):
            break
    return draws


def _is_certain(recording: Recording, base: CycleDraw, draws: Sequence[CycleDraw]) -> bool:
    # Actions that evict draw among nodes of equal score without an event that says so.
    is_drawn = tie_before(recording, len(recording)) is not None or bool(planned_evictions(recording))
    return not is_drawn and all(draw.outcome_key == base.outcome_key for draw in draws)


def _chance_sentence(recording: Recording, job: JobId) -> str:
    """In how many of a few runs with other random choices the job has another outcome; empty if in none."""
    runs, clauses = " runs with other random choices", list[str]()
    for difference, indices in _indices_by_difference(recording, _draws_of_answer(recording), job).items():
        clauses.append(f"in {len(indices)} of {RUNS_OF_AN_ANSWER}{'' if clauses else runs} {difference.text}")
    others = count_noun(len(clauses) - MAX_CLAUSES, "other outcome")
    more = f"; {others}" if len(clauses) > MAX_CLAUSES else ""
    return capitalize_first(f"{join_names(clauses[:MAX_CLAUSES])}{more}: see vcdebug odds.") if clauses else ""


MAX_CLAUSES = 3
"""Other outcomes that the sentence about random choices describes."""


def _indices_by_difference(
    recording: Recording, draws: Sequence[CycleDraw | None], job: JobId
) -> dict[_Difference, list[int]]:
    """The other outcome of the job → indices of the draws that have it."""
    base = cycle_draw(recording)
    # Other evictions matter to a job only if some are made for it, or of its own pods.
    has_evictions = bool(evictions_by_preemptor(recording).get(job) or evictions_by_victim(recording).get(job))
    differences = (
        (_draw_difference(recording, base, draw, job, has_evictions=has_evictions), index)
        for index, draw in enumerate(draws)
        if draw is not None
    )
    return group_by_key((difference, index) for difference, index in differences if difference is not None)


def _draw_difference(
    recording: Recording, base: CycleDraw, draw: CycleDraw, job: JobId, *, has_evictions: bool
) -> _Difference | None:
    """The outcome of the job where it is not that of the replayed cycle; None if it has the same."""
    if draw.panic and not base.panic:
        return _Difference(JobDifference.CRASH)
    is_placed = job in draw.placed_jobs
    if is_placed != (job in base.placed_jobs):
        return _Difference(JobDifference.SCHEDULED if is_placed else JobDifference.PENDING)
    if words := _victim_words(recording, base, draw) if has_evictions else "":
        return _Difference(JobDifference.VICTIMS, words)
    is_spread = job in draw.spread_jobs
    if is_spread == (job in base.spread_jobs):
        return None
    if not is_spread:
        return _Difference(JobDifference.TOGETHER)
    from vcdebug.explain.pending.unread_settings import KEEPS, soft_rule

    why = f"since networkTopology is soft and {soft_rule(recording)}; {KEEPS}"
    return _Difference(JobDifference.SPREAD, f"{JobDifference.SPREAD.value}, {why}")


def _victim_words(recording: Recording, base: CycleDraw, draw: CycleDraw) -> str:
    """Which pods are evicted instead of those of the replayed cycle; empty if they are of the same jobs."""
    own, others = _victim_jobs(recording, base), _victim_jobs(recording, draw)
    # Of several victims, some may be other pods of the same jobs: that is no other outcome.
    if own == others and {*draw.evicted}.isdisjoint(base.evicted):
        pods = "another pod" if len(draw.evicted) == 1 else "other pods"
        return f"{pods} of {join_names(sorted(own), 3)} {verb_for(len(draw.evicted), 'is')} evicted"
    if own == others:
        return ""
    if new := sorted(others - own):
        return f"pods of {join_names(new, 3)} are evicted"
    return "fewer pods are evicted" if others else "no pods are evicted"


def _victim_jobs(recording: Recording, draw: CycleDraw) -> set[str]:
    """The jobs of the evicted pods; a pod without a job stands for itself."""
    return {recording.owners.jobs.get(pod, pod) for pod in draw.evicted}


def _next_cycle_sentence(recording: Recording, job: JobId) -> str:
    """Where the next cycle places a job whose reservation this cycle released; empty if it does not."""
    if explain_by_name(recording, job).cause_code != Cause.PLAN_LOST:
        return ""
    # Imported here: few answers need what happens between cycles.
    from vcdebug.whatif.cycles import replay_next_cycle
    from vcdebug.whatif.next_cycle import BetweenCycles

    with disposing(replay_next_cycle(recording, BetweenCycles(interval=GRACE))) as run:
        bound = [effect.node for effect in cycle_effects(run).bound if effect.job == job]
    placed = f"{count_noun(len(bound), 'pod')} of it on {join_names(dict.fromkeys(bound))}"
    return f"Nothing has to change: once the evicted pods have ended, the next cycle binds {placed}." if bound else ""


class _ReleaseAnswer(NamedTuple):
    """What the answer under one release says of a job; empty of a job that is unknown there."""

    cause: str = ""
    state: str = ""
    """Such as `is not admitted`."""
    reason: str = ""
    fact: str = ""
    """The first fact that names the release, else the first one, without its full stop."""
    is_scheduled: bool = False
    flaws: tuple[Flaw, ...] = ()
    is_admitted: bool = False
    """Whether the job has no pods and may now have some."""

    @property
    def reason_key(self) -> tuple[str, str]:
        """A key that is equal for the same reason: behind a colon stand messages, which releases write differently,
        and another pod or node of the same kind is no other reason.
        """
        return self.cause, re.sub(r"-\d+\b", "-0", self.reason.partition(": ")[0])

    @property
    def kind_key(self) -> tuple[str, str]:
        """A key that is equal for the same reason with other figures."""
        return self.cause, re.sub(r"\d+", "0", self.reason)


class _ReleaseRun(NamedTuple):
    """The outcome of a cycle under one release, and the changes that its rules consulted."""

    release: Release
    consulted_changes: tuple[str, ...]
    draw: CycleDraw | None
    """None if the replay failed."""
    rejection: str
    """Why the release rejects the configuration; empty if it does not."""
    answers: dict[JobId, _ReleaseAnswer]
    """The answers about the jobs that were asked for."""

    def has_rules_of(self, release: Release) -> bool:
        """Whether the release has the same form of every consulted change, so that it gives the same recording."""
        return (release.older_forms ^ self.release.older_forms).isdisjoint(self.consulted_changes)


def _runs_under(recording: Recording, tags: Iterable[Tag], job: JobId) -> list[_ReleaseRun]:
    """The run under each tag, replayed once for tags whose consulted changes agree."""
    known, runs = _release_runs(recording), list[_ReleaseRun]()
    for release in map(release_at_tag, tags):
        run = next((run for run in known if run.has_rules_of(release)), None)
        if run is None:
            known.append(run := _replay_release(recording, release, job))
        runs.append(run)
    return runs


@per_recording()
def _release_runs(recording: Recording) -> list[_ReleaseRun]:
    """The replays under other releases so far."""
    return []


def _replay_under(recording: Recording, release: Release) -> Recording:
    return replay_cycle(recording.snapshot.with_release(release))


def _replay_release(recording: Recording, release: Release, job: JobId) -> _ReleaseRun:
    listener = ListeningRelease.replayed_at(release)
    with disposing(_replay_under(recording, listener)) as run:
        draw = cycle_draw(run) if cut_off_error(run) is None else None
        # Taken before the answer, which consults changes for its words.
        consulted = tuple(listener.consulted_changes)
        return _ReleaseRun(release, consulted, draw, run.conf.rejection, {job: _read_answer(run, job)})


def _answer_of(recording: Recording, run: _ReleaseRun, job: JobId) -> _ReleaseAnswer:
    if job not in run.answers:
        # Whoever asks about a second job asks about more: one more replay answers for all, or for all that are Pending.
        jobs: Iterable[JobId] = recording.session.jobs
        if len(recording.session.jobs) > MAX_ANSWERED_JOBS:
            jobs = (surveyed.explanation.job for surveyed in survey_jobs(recording).unscheduled_jobs)
        with disposing(_replay_under(recording, run.release)) as replayed:
            run.answers.update((name, _read_answer(replayed, name)) for name in dict.fromkeys((job, *jobs)))
    return run.answers[job]


def _read_answer(run: Recording, job: JobId) -> _ReleaseAnswer:
    if cut_off_error(run) is not None or job not in run.session.jobs:
        return _ReleaseAnswer()
    answer = explain_by_name(run, job)
    finding, release = answer.dominant, run.snapshot.release.display_name()
    # The first fact of a rejected configuration says why it is rejected.
    of_release = [fact for fact in finding.facts if f" {release} " in f" {fact} " and not run.conf.rejection]
    fact = next(iter((*of_release, *finding.facts)), "").removesuffix(".")
    is_admitted = not run.session.jobs[job].tasks and run.session.jobs[job].pod_group.phase == INQUEUE
    words = finding.cause, finding.headline.state, finding.reason, fact
    return _ReleaseAnswer(*words, answer.scheduled, finding.flaws, is_admitted)


def _difference_by_run(recording: Recording, runs: Sequence[_ReleaseRun], job: JobId) -> list[_Difference | None]:
    """The other outcome of the job in each run, or that it is Pending for another reason; None for the same."""
    by_difference = _indices_by_difference(recording, [run.draw for run in runs], job)
    known = {index: difference for difference, indices in by_difference.items() for index in indices}
    base = _read_answer(recording, job)
    return [
        known.get(index) or _answer_difference(base, _answer_of(recording, run, job)) for index, run in enumerate(runs)
    ]


def _answer_difference(base: _ReleaseAnswer, answer: _ReleaseAnswer) -> _Difference | None:
    """How the answer differs though the cycle has the same outcome: jobs without pods are admitted, never placed."""
    if not answer.cause or (base.is_scheduled and answer.is_scheduled):
        return None
    if answer.is_admitted != base.is_admitted:
        return _Difference(JobDifference.ADMITTED if answer.is_admitted else JobDifference.PENDING)
    # What an action that is missing would do there is said of the fix that adds it.
    is_same = answer.reason_key == base.reason_key or {answer.cause, base.cause} == {Cause.NOT_CONFIGURED, Cause.MIXED}
    return None if is_same else _Difference(JobDifference.OTHERWISE_PENDING)


def _release_sentence(
    recording: Recording, job: JobId, runs: Sequence[_ReleaseRun], differences: Sequence[_Difference | None]
) -> str:
    """Under which releases the job has another outcome than by the latest rules, and why."""
    by_reason = group_by_key(
        ((difference, _reason_key(recording, runs[tag], job, difference.kind)), tag)
        for tag, difference in enumerate(differences)
        if difference is not None
    )
    tags_by_outcome: dict[str, list[int]] = {}
    base, with_fact = _read_answer(recording, job), len(by_reason) == 1
    for (difference, _), tags in by_reason.items():
        answers = ((runs[tag], _answer_of(recording, runs[tag], job)) for tag in tags)
        outcomes = [_describe_outcome(base, run, answer, difference, with_fact=with_fact) for run, answer in answers]
        names = (runs[tag].release.display_name() for tag in tags)
        # The same of each release but for its name.
        texts = group_by_key(
            (text.replace(name, ""), at) for at, (text, name) in enumerate(zip(outcomes, names, strict=True))
        )
        if difference.kind is not JobDifference.SCHEDULED:
            texts = {"": [*range(len(tags))]}
        for indices in texts.values():
            # Releases can place pods on different nodes; of more than two such outcomes, only the difference is stated.
            outcome = outcomes[indices[0]] if len(texts) <= _MOST_OUTCOMES else difference.text
            tags_by_outcome.setdefault(outcome, []).extend(tags[at] for at in indices)
    clauses = [
        f"under {' and under '.join(_tag_ranges(sorted(tags)))} {outcome}" for outcome, tags in tags_by_outcome.items()
    ]
    return f"{capitalize_first('; '.join(clauses))}."


def _reason_key(recording: Recording, run: _ReleaseRun, job: JobId, kind: JobDifference) -> tuple[str, ...]:
    """A key that is equal for runs with the same outcome whose reasons may be merged."""
    answer = _answer_of(recording, run, job)
    if answer.is_scheduled:  # where it is placed is not compared
        has_reasons = kind in (JobDifference.SCHEDULED, JobDifference.PENDING)
        return (answer.cause, run.rejection, *map(str, answer.flaws)) if has_reasons else ()
    return (*answer.reason_key, run.rejection)


def _describe_outcome(
    base: _ReleaseAnswer, run: _ReleaseRun, answer: _ReleaseAnswer, difference: _Difference, *, with_fact: bool
) -> str:
    """The outcome in a run, of another release than the base answer, with its reason; with the first fact if
    `with_fact`.
    """
    is_placed, kind, words = base.is_scheduled, difference.kind, difference.text
    if kind is JobDifference.SCHEDULED and base.cause == Cause.EVICTED:
        return "it keeps its pods"
    if kind in (JobDifference.SCHEDULED, JobDifference.PENDING, JobDifference.OTHERWISE_PENDING):
        # A reservation that is never bound counts as a place in the cycle, but not in the answer.
        is_alike = answer.kind_key == base.kind_key
        otherwise = f"it {answer.state} {'with other figures' if is_alike else 'for another reason'}"
        pending = JobDifference.PENDING.value if is_placed else otherwise
        words = JobDifference.SCHEDULED.value if answer.is_scheduled else pending
    elif answer.is_scheduled or kind is JobDifference.ADMITTED or not answer.cause:
        return words
    reason = f"{answer.fact[:1].lower()}{answer.fact[1:]}" if run.rejection else answer.reason
    is_of_release = run.release.display_name() in answer.fact
    adds_fact = (answer.flaws and is_of_release) or (with_fact and (answer.flaws or is_placed or is_of_release))
    says_more = answer.fact and not run.rejection and adds_fact
    return f"{words}: {reason}. {answer.fact}" if says_more else f"{words}: {reason}"


def _fix_of_older(recording: Recording, job: JobId, differences: Sequence[_Difference | None]) -> str:
    """The first fix of a placed job under the newest release that leaves it Pending; empty if none is found."""
    pending = _Difference(JobDifference.PENDING)
    if not explain_by_name(recording, job).scheduled or pending not in differences:
        return ""
    release = release_at_tag(SUPPORTED_TAGS[differences.index(pending)])
    with disposing(_replay_under(recording, release)) as run:
        search = search_few_fixes(run, explain_by_name(run, job))
        proven = [plan for plan in short_plans(search) if plan.is_proven] if search is not None else []
        return f"Tested under {release.display_name()}: {describe_short_plan(proven[0])}" if proven else ""


def describe_short_plans(recording: Recording, explanation: Explanation, plans: Sequence[TriedPlan]) -> list[str]:
    """Tested plans in words; of the first also under which releases it does not help, if the snapshot names none."""
    first = [describe_short_plan(plan, _releases_without_effect(recording, explanation, plan)) for plan in plans[:1]]
    return [*first, *map(describe_short_plan, plans[1:])]


def _releases_without_effect(recording: Recording, explanation: Explanation, plan: TriedPlan) -> str:
    """Under which releases a job that is Pending there stays so with the plan; empty if under no newest patch."""
    is_stated = not recording.snapshot.release.is_assumed or any(fix.since for fix in plan.plan.fixes)
    if is_stated or explanation.scheduled or not plan.is_proven or not _may_compare(recording):
        return ""
    failing = _tags_without_effect(recording, explanation, plan, NEWEST_PATCHES)
    if not failing:
        return ""
    others = [tag for tag in SUPPORTED_TAGS if tag not in NEWEST_PATCHES]
    failing |= _tags_without_effect(recording, explanation, plan, others)
    tags_by_words = group_by_key(
        ("it evicts pods and does not help" if failing[tag] else "it does not help", index)
        for index, tag in enumerate(SUPPORTED_TAGS)
        if tag in failing
    )
    return "; ".join(f"under {' and under '.join(_tag_ranges(tags))} {words}" for words, tags in tags_by_words.items())


def _tags_without_effect(
    recording: Recording, explanation: Explanation, plan: TriedPlan, tags: Sequence[Tag]
) -> dict[Tag, bool]:
    """Release under which the job is Pending and stays so with the plan → whether pods are then evicted in vain."""
    trials = FixTrials.of_recording(recording, explanation)
    failing: dict[Tag, bool] = {}
    for tag, run in zip(tags, _runs_under(recording, tags, explanation.job), strict=True):
        if run.draw is None or _answer_of(recording, run, explanation.job).is_scheduled:
            continue
        tried = trials.under(recording.snapshot.with_release(release_at_tag(tag)))(plan.plan.all_edits)
        if tried is None or not tried.is_reached:
            failing[tag] = tried is not None and any(cost.kind is CostKind.EVICTION for cost in tried.costs)
    return failing


def _tag_ranges(indices: Sequence[int]) -> Iterator[str]:
    """Runs of adjacent tags, which stand from newer to older: `v1.15.0`, `v1.13.3 and older`."""
    for _, run in groupby(enumerate(indices), lambda pair: pair[1] - pair[0]):
        tags = [SUPPORTED_TAGS[index] for _, index in run]
        if tags[-1] == SUPPORTED_TAGS[-1]:
            yield f"{tags[0]} and older" if len(tags) > 1 else str(tags[0])
        else:
            yield f"{tags[-1]} to {tags[0]}" if len(tags) > 1 else str(tags[0])
