"""Pending jobs by cause: how many jobs and pods, in which queues, since when, and what to do first."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from vcdebug.amount_text import format_count
from vcdebug.explain.answer import age_text
from vcdebug.explain.pending.explanation import Survey, SurveyedJob, is_surveyed, survey_jobs
from vcdebug.grouping import group_by_key
from vcdebug.model.names import QueueName
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name

MAX_KINDS: Final = 3
"""Kinds of reasons of one cause that have a group of their own; the jobs with rarer reasons are one group."""
MAX_LISTED_JOBS: Final = 10
"""Up to this number, Pending jobs are listed one by one; more are grouped by cause."""
_NAME: Final = re.compile(r"[\w.-]+")
_NUMBER: Final = re.compile(r"(\W*)(\d+)(\W*)")
_PLURALS: Final = {frozenset(("has", "have")): "have", frozenset(("is", "are")): "are"}


class CauseGroup(Struct, frozen=True):
    """The Pending jobs with the same cause, for one kind of reason if there are several."""

    cause: str
    """The code of the cause, as in JSON."""
    text: str
    """The cause in words for all jobs: differing numbers become a range, other differing words an ellipsis."""
    jobs: tuple[SurveyedJob, ...]
    """The jobs, oldest first."""
    scheduled: bool
    """Whether the jobs have their minMember, so that only more pods are missing."""
    pods: int
    """Pods that are Pending when the cycle ends."""
    queues: tuple[QueueName, ...]
    oldest_age: str
    """The age of the oldest job."""
    first_fix: str
    """The first advice, worded for all jobs."""
    kind: int
    """The number of the kind of reason, from 1; 0 if all jobs of the cause have one kind."""


def group_by_cause(survey: Survey) -> list[CauseGroup]:
    """A group per cause and kind of reason: jobs below their minMember first, then the causes of most jobs, then those
    of the oldest.
    """
    jobs = [*survey.unscheduled_jobs, *survey.partly_waiting_jobs]
    jobs.sort(key=lambda job: (job.age is None, -(job.age or 0.0)))
    jobs_by_cause = group_by_key(((job.explanation.scheduled, job.shown_finding.cause), job) for job in jobs)
    ranked = sorted(jobs_by_cause.items(), key=lambda entry: (entry[0][0], -len(entry[1])))
    kinds = ((key, _split_by_reason(jobs)) for key, jobs in ranked)
    return [
        _new_group(*key, jobs, number if len(groups) > 1 else 0)
        for key, groups in kinds
        for number, jobs in enumerate(groups, start=1)
    ]


def _split_by_reason(jobs: Sequence[SurveyedJob]) -> list[Sequence[SurveyedJob]]:
    """The jobs of one cause by kind of reason, the commonest first; those with rarer reasons together and last."""
    kinds = sorted(group_by_key((_kind_of_reason(job), job) for job in jobs).values(), key=len, reverse=True)
    common = [kind for kind in kinds[:MAX_KINDS] if len(kind) > 1]
    listed = {id(job) for kind in common for job in kind}
    rest = [job for job in jobs if id(job) not in listed]
    return [*common, *([rest] if rest else ())]


def _kind_of_reason(job: SurveyedJob) -> tuple[str, ...]:
    """The words of the reason in the singular, with a mark for each that has a digit or the job's own name."""
    own, singular = bare_name(job.explanation.job), {"have": "has", "are": "is"}

    def is_variable(word: str) -> bool:
        # `namespace/name`, or the name of a pod: a job named `a` is not in `has`.
        is_of_pod = any(name.startswith(f"{own}-") for name in _NAME.findall(word))
        return is_of_pod or f"/{own}" in word or any(map(str.isdigit, word))

    words = job.shown_finding.reason.split()
    return tuple("#" if is_variable(word) else singular.get(word, word).removesuffix("s") for word in words)


def list_known_causes(recording: Recording) -> list[str]:
    """The codes of the causes of Pending jobs; empty until the survey of all jobs is cached."""
    groups = group_by_cause(survey_jobs(recording)) if is_surveyed(recording) else []
    return list(dict.fromkeys(group.cause for group in groups))


def _new_group(scheduled: bool, cause: str, jobs: Sequence[SurveyedJob], kind: int) -> CauseGroup:
    first_fixes = [fixes[0] for job in jobs if (fixes := job.explanation.advice_texts)]
    return CauseGroup(
        cause,
        merge_texts([job.shown_finding.reason for job in jobs]),
        tuple(jobs),
        scheduled,
        sum(job.pending for job in jobs),
        tuple(dict.fromkeys(job.queue for job in jobs if job.queue)),
        age_text(jobs[0].age),
        merge_texts(first_fixes) if first_fixes else "",
        kind,
    )


def merge_texts(texts: Sequence[str]) -> str:
    """One text for all: `2 pods have a gate` and `7 pods have a gate` become `2 to 7 pods have a gate`.

    Texts that differ in more than numbers are represented by the first one: `queue a is full (2 similar)`.
    """
    word_lists = [text.split() for text in texts]
    if len({len(words) for words in word_lists}) == 1 and all(
        words := [_merge_words(column) for column in zip(*word_lists, strict=True)]
    ):
        return " ".join(words)
    return f"{texts[0].removesuffix('.')} ({len(texts) - 1} similar)"


def _merge_words(words: Iterable[str]) -> str:
    """The merged word of a column: equal words, a number range, a plural; empty if they cannot be merged."""
    distinct = dict.fromkeys(words)
    if len(distinct) == 1:
        return next(iter(distinct))
    numbers = [_NUMBER.fullmatch(word) for word in distinct]
    values = sorted(int(number[2]) for number in numbers if number)
    edges = {(number[1], number[3]) for number in numbers if number}
    if len(values) == len(distinct) and len(edges) == 1:
        [(prefix, suffix)] = edges
        return f"{prefix}{format_count(values[0])} to {format_count(values[-1])}{suffix}"
    singular = min(distinct, key=len)
    return singular + "s" if {*distinct} == {singular, singular + "s"} else _PLURALS.get(frozenset(distinct), "")
