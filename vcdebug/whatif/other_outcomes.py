"""Other outcomes of one job: with other random choices, and under other releases if the snapshot names none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec.structs import replace

from vcdebug.amount_text import capitalize_first, join_names, verb_for
from vcdebug.explain.answer import NO_OTHER_OUTCOMES, OtherOutcomes
from vcdebug.explain.decisions.evictions import evictions_by_preemptor, evictions_by_victim, planned_evictions
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId
from vcdebug.recording.recording import Recording, cut_off_error, disposing, per_recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.change import Tag
from vcdebug.releases.release import SUPPORTED_TAGS, ListeningRelease, Release, release_at_tag
from vcdebug.snapshot.object_checks import missing_kinds
from vcdebug.whatif.fixes.plan import describe_short_plan
from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
from vcdebug.whatif.odds import CycleDraw, cycle_draw, replay_with_seed, tie_before

RUNS_OF_AN_ANSWER, FIRST_RUNS = 12, 3
NEWEST_PATCHES: Final = tuple(next(tags) for _, tags in groupby(SUPPORTED_TAGS, attrgetter("release_line")))
_OLDEST = "v{}.{}".format(*SUPPORTED_TAGS[-1].release_line)
AGREEMENT: Final = f"The newest patch of each release from {_OLDEST} on gives the same outcome."
SCHEDULED, PENDING, CRASHES = "it is scheduled", "it stays Pending", "the scheduler crashes"
OTHERWISE_PENDING: Final = "it is Pending for another reason"
MAX_EVENTS: Final = 2500
"""Events of a cycle whose replays, a dozen with other choices and about as many releases, an answer can wait for."""


def other_outcomes(recording: Recording, job: JobId) -> OtherOutcomes:
    """The other outcomes of a job, found once; empty if it is unknown, or the snapshot too large for these replays
    or without a kind of object that decides.
    """
    known = _known_outcomes(recording)
    if job not in known:
        known[job] = _find_outcomes(recording, job) if job in recording.session.jobs else NO_OTHER_OUTCOMES
    return known[job]


@per_recording()
def _known_outcomes(recording: Recording) -> dict[JobId, OtherOutcomes]:
    """The outcomes found so far."""
    return {}


def _find_outcomes(recording: Recording, job: JobId) -> OtherOutcomes:
    if len(recording) > MAX_EVENTS or cut_off_error(recording) is not None or missing_kinds(recording.snapshot):
        return NO_OTHER_OUTCOMES
    chance = _chance_sentence(recording, job)
    if not recording.snapshot.release.is_assumed:
        return OtherOutcomes(chance)
    newest = _draws_under(recording, NEWEST_PATCHES)
    if _indices_by_difference(recording, newest, job):
        return OtherOutcomes(chance, _release_sentence(recording, job), fix=_fix_of_older(recording, job))
    return OtherOutcomes(chance, agreement=AGREEMENT if None not in newest else "")


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
    for words, indices in _indices_by_difference(recording, _draws_of_answer(recording), job).items():
        clauses.append(f"in {len(indices)} of {RUNS_OF_AN_ANSWER}{'' if clauses else runs} {words}")
    return capitalize_first(f"{join_names(clauses)}: see vcdebug odds.") if clauses else ""


def _indices_by_difference(recording: Recording, draws: Sequence[CycleDraw | None], job: JobId) -> dict[str, list[int]]:
    """The other outcome of the job, in words → indices of the draws that have it."""
    base = cycle_draw(recording)
    # Other evictions matter to a job only if some are made for it, or of its own pods.
    has_evictions = bool(evictions_by_preemptor(recording).get(job) or evictions_by_victim(recording).get(job))
    words = (
        (_difference_words(recording, base, draw, job, has_evictions=has_evictions), index)
        for index, draw in enumerate(draws)
        if draw is not None
    )
    return group_by_key((text, index) for text, index in words if text)


def _difference_words(
    recording: Recording, base: CycleDraw, draw: CycleDraw, job: JobId, *, has_evictions: bool
) -> str:
    """The outcome of the job where it is not that of the replayed cycle; empty if it has the same."""
    if draw.panic and not base.panic:
        return CRASHES
    is_placed = job in draw.placed_jobs
    if is_placed != (job in base.placed_jobs):
        return SCHEDULED if is_placed else PENDING
    own, others = _victim_jobs(recording, base), _victim_jobs(recording, draw)
    # Of several victims, that some are other pods of the same jobs is of no consequence.
    if own == others and has_evictions and {*draw.evicted}.isdisjoint(base.evicted):
        pods = "another pod" if len(draw.evicted) == 1 else "other pods"
        return f"{pods} of {join_names(sorted(own), 3)} {verb_for(len(draw.evicted), 'is')} evicted"
    if own == others or not has_evictions:
        return ""
    if new := sorted(others - own):
        return f"pods of {join_names(new, 3)} are evicted"
    return "fewer pods are evicted" if others else "no pods are evicted"


def _victim_jobs(recording: Recording, draw: CycleDraw) -> set[str]:
    """The jobs of the evicted pods; a pod without a job stands for itself."""
    return {recording.owners.jobs.get(pod, pod) for pod in draw.evicted}


class _ReleaseRun(NamedTuple):
    """The outcome of a cycle under one release, and the changes that its rules consulted."""

    release: Release
    consulted_changes: tuple[str, ...]
    draw: CycleDraw | None
    """None if the replay failed."""

    def has_rules_of(self, release: Release) -> bool:
        """Whether the release has the same form of every consulted change, so that it gives the same recording."""
        return (release.older_forms ^ self.release.older_forms).isdisjoint(self.consulted_changes)


def _draws_under(recording: Recording, tags: Iterable[Tag]) -> list[CycleDraw | None]:
    """The outcome under each tag, replayed once for tags whose consulted changes agree; None for a failed replay."""
    runs, draws = _release_runs(recording), list[CycleDraw | None]()
    for release in map(release_at_tag, tags):
        run = next((run for run in runs if run.has_rules_of(release)), None)
        if run is None:
            runs.append(run := _replay_release(recording, release))
        draws.append(run.draw)
    return draws


@per_recording()
def _release_runs(recording: Recording) -> list[_ReleaseRun]:
    """The replays under other releases so far."""
    return []


def _replay_under(recording: Recording, release: Release) -> Recording:
    return replay_cycle(replace(recording.snapshot, flags=replace(recording.snapshot.flags, release=release)))


def _replay_release(recording: Recording, release: Release) -> _ReleaseRun:
    listener = ListeningRelease.replayed_at(release)
    with disposing(_replay_under(recording, listener)) as run:
        draw = cycle_draw(run) if cut_off_error(run) is None else None
        return _ReleaseRun(release, tuple(listener.consulted_changes), draw)


class _AnswerUnder(NamedTuple):
    """What the answer under one release says of another outcome of the job."""

    outcome: str
    """The outcome in words, with its reason."""
    fact: str = ""
    """The first fact, where it says more than the reason."""
    cause: str = ""
    """The cause; empty where no reason is told."""
    rejection: str = ""
    """Why the release rejects the configuration; empty if it does not."""


def _release_sentence(recording: Recording, job: JobId) -> str:
    """Under which releases the job has another outcome than by the latest rules, and why."""
    indices = _indices_by_difference(recording, _draws_under(recording, SUPPORTED_TAGS), job)
    answers = {tag: _answer_under(recording, tag, job, words) for words, tags in indices.items() for tag in tags}
    by_cause = group_by_key(
        ((words, answers[tag].cause, answers[tag].rejection), tag) for words, tags in indices.items() for tag in tags
    )
    clauses = list[str]()
    for tags in by_cause.values():
        told = answers[tags[0]]
        facts = [told.fact] if told.fact and (told.rejection or len(by_cause) == 1) else []
        clauses.append(f"under {' and under '.join(_tag_ranges(tags))} {'. '.join((told.outcome, *facts))}")
    return f"{capitalize_first('; '.join(clauses))}. Name yours with --release."


def _answer_under(recording: Recording, index: int, job: JobId, words: str) -> _AnswerUnder:
    """The answer under a supported tag that has the outcome `words`, made once for tags of the same recording."""
    release, known = release_at_tag(SUPPORTED_TAGS[index]), _known_answers(recording)
    same = next(run.release for run in _release_runs(recording) if run.has_rules_of(release))
    key = same.display_name(), job, words
    if key not in known:
        with disposing(_replay_under(recording, same)) as run:
            is_known = cut_off_error(run) is None and job in run.session.jobs
            known[key] = _describe_answer(recording, run, job, words) if is_known else _AnswerUnder(words)
    return known[key]


@per_recording()
def _known_answers(recording: Recording) -> dict[tuple[str, JobId, str], _AnswerUnder]:
    """(Release, job, its outcome) → answer, as made so far."""
    return {}


def _describe_answer(recording: Recording, run: Recording, job: JobId, words: str) -> _AnswerUnder:
    answer, rejection = explain_by_name(run, job), run.conf.rejection
    fact, reason = next(iter(answer.dominant.facts), "").removesuffix("."), answer.dominant.reason
    if words in (SCHEDULED, PENDING):
        # A reservation that is never bound counts as a place in the cycle, but not in the answer.
        pending = PENDING if explain_by_name(recording, job).scheduled else OTHERWISE_PENDING
        outcome = f"{SCHEDULED if answer.scheduled else pending}: {reason}"
        says_more = not answer.scheduled or answer.dominant.flaws or rejection
        return _AnswerUnder(outcome, fact if says_more else "", answer.cause_code, rejection)
    if answer.scheduled:
        return _AnswerUnder(words)
    reason = fact if rejection else reason
    return _AnswerUnder(f"{words}: {reason[0].lower()}{reason[1:]}", "", answer.cause_code, rejection)


def _fix_of_older(recording: Recording, job: JobId) -> str:
    """The first fix of a placed job under the newest release that leaves it Pending; empty if none is found."""
    pending = _indices_by_difference(recording, _draws_under(recording, SUPPORTED_TAGS), job).get(PENDING)
    if not pending or not explain_by_name(recording, job).scheduled:
        return ""
    release = release_at_tag(SUPPORTED_TAGS[pending[0]])
    with disposing(_replay_under(recording, release)) as run:
        search = search_few_fixes(run, explain_by_name(run, job))
        proven = [plan for plan in short_plans(search) if plan.is_proven] if search is not None else []
        return f"Tested under {release.display_name()}: {describe_short_plan(proven[0])}" if proven else ""


def _tag_ranges(indices: Sequence[int]) -> Iterator[str]:
    """Runs of adjacent tags, which stand from newer to older: `v1.15.0`, `v1.13.3 and older`."""
    for _, run in groupby(enumerate(indices), lambda pair: pair[1] - pair[0]):
        tags = [SUPPORTED_TAGS[index] for _, index in run]
        if tags[-1] == SUPPORTED_TAGS[-1]:
            yield f"{tags[0]} and older" if len(tags) > 1 else str(tags[0])
        else:
            yield f"{tags[-1]} to {tags[0]}" if len(tags) > 1 else str(tags[0])
