"""Why each of many jobs is Pending, and the same by cause: how many jobs and pods, since when, what to do first."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun, format_count
from vcdebug.errors import VcdebugError
from vcdebug.explain.answer import Advice, Cause, CauseHeadline, Explanation, Finding, age_text, seconds_since
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.explain.pending.doubts import doubt_of_input
from vcdebug.explain.pending.explanation import explain_subject
from vcdebug.explain.pending.gates.not_in_session import incomplete
from vcdebug.explain.subject_names import NotFoundError, find_subject
from vcdebug.garbage_collection import collector_paused
from vcdebug.grouping import group_by_key
from vcdebug.model.names import QueueName
from vcdebug.model.task import TaskStatus
from vcdebug.recording.cluster_overview import waiting_summary
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.session_closing import crash_report
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot.manifest import bare_name, key_of, metadata_of
from vcdebug.snapshot.object_checks import jobs_without_group

EVICTED_PODS, PENDING_ABOVE_MINIMUM, RESERVED_PLACES = "evicted pods", "Pending pods above minMember", "reserved places"


class SurveyedJob(Struct, frozen=True):
    """One explained job of a survey, with its queue, Pending pods and age."""

    explanation: Explanation
    queue: QueueName
    """Empty for a job without a queue."""
    pending: int
    """Pods that are Pending when the cycle ends."""
    age: float | None
    """Seconds since the job or pod was created; None where the snapshot does not say."""

    @property
    def lack(self) -> str:
        """What keeps a scheduled job from running whole, as words after `with`; empty for a job that is Pending."""
        if not self.explanation.scheduled:
            return ""
        if self.pending:
            return PENDING_ABOVE_MINIMUM
        return EVICTED_PODS if self.explanation.cause_code == Cause.EVICTED else RESERVED_PLACES

    @property
    def shown_finding(self) -> Finding:
        """The finding to show: the dominant one, or for a job with its minimum why its other pods are Pending."""
        explanation = self.explanation
        contributing = explanation.contributing if explanation.scheduled and self.pending else ()
        return contributing[0] if contributing else explanation.dominant


class Survey(Struct, frozen=True):
    """All jobs of one recording; the Pending ones are explained."""

    jobs: int
    """Number of jobs, including those outside the session and pods without a PodGroup."""
    explained: tuple[SurveyedJob, ...]
    problems: int
    """Number of problems of the input, which may change the answers."""
    named: bool = False
    """Whether the survey is about one named job or pod, which is explained even if it was scheduled."""
    doubt: str = ""
    """Why any answer may be wrong, such as objects that were read at different times; empty for no doubt."""
    release: Release = NEWEST
    """The release that was replayed."""
    incomplete: str = ""
    """Kinds that the snapshot lacks and that jobs need."""
    lone_pods: int = 0
    """How many of the jobs are pods without a PodGroup."""
    panic: tuple[str, ...] = ()
    """The panic that ends the recording, one sentence per line."""
    namespace: str = ""
    """The only namespace that counts; empty for all."""

    @property
    def unscheduled_jobs(self) -> list[SurveyedJob]:
        """The jobs that stay unscheduled."""
        return [job for job in self.explained if not job.explanation.scheduled]

    @property
    def partly_waiting_jobs(self) -> list[SurveyedJob]:
        """The jobs that have their minimum and still have Pending pods."""
        placed = [job for job in self.explained if job.explanation.scheduled and not self.named]
        return [job for job in placed if job.explanation.cause_code != Cause.ADMITTED]

    def count_jobs(self) -> str:
        """The number of jobs, and how many of them are no job of the session: other texts count without those."""
        lone = f" (including {count_noun(self.lone_pods, 'pod')} without a PodGroup)" if self.lone_pods else ""
        return f"{count_noun(self.jobs, 'job')}{lone}{self.place_words}"

    @property
    def place_words(self) -> str:
        """` in namespace team`; empty for all namespaces."""
        return f" in namespace {self.namespace}" if self.namespace else ""

    def describe_partly(self) -> str:
        """The jobs that are scheduled and still lack something: `2 with reserved places, 1 with evicted pods`."""
        lacks = Counter(job.lack for job in self.partly_waiting_jobs)
        return ", ".join(f"{count} with {lack}" for lack, count in sorted(lacks.items()))


def survey_jobs(
    recording: Recording,
    report_progress: Callable[[int, int], object] | None = None,
    *,
    detailed: bool = False,
    namespace: str = "",
) -> Survey:
    """Every job with missing pods after the cycle, by name; `report_progress(done, total)` reports progress.

    Explaining hundreds of jobs takes seconds, so the recording caches the result, and what no list of jobs shows is
    left out unless `detailed`. With a namespace, only its jobs count.
    """
    name = f"{'detailed survey' if detailed else 'survey'}{f' of {namespace}' if namespace else ''}"
    survey = recording.answered.get(name)
    if not isinstance(survey, Survey):
        # Explaining allocates many long-lived objects; a garbage collection in between would free nothing.
        with collector_paused():
            survey = recording.answered[name] = _build_survey(
                recording, report_progress or (lambda *_: None), detailed=detailed, namespace=namespace
            )
    return survey


def is_surveyed(recording: Recording) -> bool:
    """Whether the result of survey_jobs is cached."""
    return "survey" in recording.answered


def _build_survey(
    recording: Recording, report_progress: Callable[[int, int], object], *, detailed: bool, namespace: str
) -> Survey:
    summary, session = waiting_summary(recording), recording.session.jobs
    by_pod, by_job = partial(ExplainSubject, "", detailed=detailed), partial(ExplainSubject, detailed=detailed)
    # Jobs of PodGroups, of pods whose PodGroup is missing, and Pending pods of this scheduler without a PodGroup.
    lone_pods, jobs = (
        [one for one in names if not namespace or one.startswith(f"{namespace}/")]
        for names in (summary.pods_without_job, summary.jobs)
    )
    of_kind = recording.snapshot.objects_of
    unmade = jobs_without_group(of_kind("Job"), of_kind("PodGroup")) if of_kind("PodGroup") else []
    known = dict.fromkeys(jobs)
    jobs += [
        one for one in map(key_of, unmade) if one not in known and (not namespace or one.startswith(f"{namespace}/"))
    ]
    subjects = sorted([*map(by_pod, lone_pods), *map(by_job, jobs)])
    unplaced = [subject for subject in subjects if subject.job in summary.incomplete_jobs or subject.job not in session]
    surveyed: list[SurveyedJob] = []
    for subject in unplaced:
        report_progress(len(surveyed), len(unplaced))
        surveyed.append(_survey_subject(recording, subject))
    survey, missing_words = _make_survey(recording, surveyed, named=False), incomplete(recording.snapshot)
    counts = {"jobs": len(subjects), "lone_pods": len(lone_pods)}
    return replace(survey, incomplete=missing_words, namespace=namespace, **counts)


def _make_survey(recording: Recording, explained: Sequence[SurveyedJob], *, named: bool) -> Survey:
    """The survey of the explained jobs, with the doubt about the input or about the first job that has one."""
    doubt = next((job.explanation.doubt for job in explained if job.explanation.doubt), doubt_of_input(recording))
    problems, release, panic = len(recording.own_problems), recording.snapshot.release, crash_report(recording)
    return Survey(len(explained), tuple(explained), problems, named=named, doubt=doubt, release=release, panic=panic)


def survey_by_name(recording: Recording, word: str) -> Survey:
    """The survey of the named job or pod, scheduled or not; empty if the name is unknown."""
    try:
        subject = find_subject(recording, word)
    except NotFoundError:
        return _make_survey(recording, (), named=True)
    return _make_survey(recording, [_survey_subject(recording, subject)], named=True)


def _survey_subject(recording: Recording, subject: ExplainSubject) -> SurveyedJob:
    explanation = _explain_or_report(recording, subject)
    info = recording.session.jobs.get(subject.job)
    name = subject.job or subject.pod or ""
    if info is None:
        created = _creations_outside_session(recording).get(name)
        pending = waiting_summary(recording).pods_without_node.get(name, 0)
        return SurveyedJob(explanation, "", pending, seconds_since(recording, created))
    tasks = [task for task in info.tasks.values() if subject.pod in (None, task.key)]
    pending = len([task for task in tasks if task.status is TaskStatus.PENDING])
    return SurveyedJob(explanation, info.queue, pending, seconds_since(recording, info.creation_timestamp))


@per_recording()
def _creations_outside_session(recording: Recording) -> dict[str, str]:
    """creationTimestamp of each PodGroup and pod that no job of the session contains, by name."""
    groups = {key_of(group): group for group in recording.snapshot.objects_of("PodGroup")}
    lone_pods = {
        key_of(pod): pod for pod in recording.snapshot.objects_of("Pod") if key_of(pod) not in recording.owners.jobs
    }
    return {name: metadata_of(each).get("creationTimestamp") or "" for name, each in {**lone_pods, **groups}.items()}


def _explain_or_report(recording: Recording, subject: ExplainSubject) -> Explanation:
    """The explanation of a subject; if vcdebug raises, one that names the error, so that other jobs are explained."""
    try:
        return explain_subject(recording, subject)
    except (VcdebugError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - boundary: a fault in one answer is an answer
        name = subject.pod or subject.job
        reason = f"{type(error).__name__}: {error}; this is a bug in vcdebug"
        advice = Advice.for_owner(
            f"Run `vcdebug explain SNAPSHOT {name}` with VCDEBUG_TRACEBACK=1, and report the output."
        )
        headline = CauseHeadline(name or "", "cannot be explained", reason)
        finding = Finding(Cause.FAULT, headline, advice=(advice,))
        return Explanation(subject.job or name or "", subject.pod, False, finding, advised=(advice,))


# Groups of Pending jobs by cause.

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
