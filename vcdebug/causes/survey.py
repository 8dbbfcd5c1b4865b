"""Which jobs are not whole when the cycle ends, each with its cause: without anything, or waiting in part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from vcdebug.causes.gates.not_in_session import incomplete
from vcdebug.causes.pending import doubt_of_input, explain_subject
from vcdebug.causes.subject import ExplainSubject, NotFoundError, find_subject
from vcdebug.collector import collector_paused
from vcdebug.errors import VcdebugError
from vcdebug.explain.answer import Explanation, Finding, owner_advice
from vcdebug.model.names import QueueName
from vcdebug.model.status import TaskStatus
from vcdebug.trace.recording import Recording
from vcdebug.trace.standing import WaitingSummary, waiting_summary

FAULT = "fault"
"""The cause of a job whose answer failed."""


class SurveyedJob(NamedTuple):
    """One job, and how much of it waits."""

    explanation: Explanation
    queue: QueueName
    """Empty for a job that names none."""
    pending: int
    """Pods that are Pending when the cycle ends."""

    @property
    def shown_finding(self) -> Finding:
        """What to say about it: of a job that got its minimum, what keeps its other pods waiting."""
        found = self.explanation
        beside = found.contributing if found.scheduled and self.pending else ()
        return beside[0] if beside else found.dominant


@dataclass(frozen=True, slots=True)
class Survey:
    """All jobs of one recording; those that wait are explained."""

    jobs: int
    """Those of the session and those it never sees."""
    explained: tuple[SurveyedJob, ...]
    problems: int
    """Problems of the input, which may falsify it all."""
    named: bool = False
    """Whether somebody asked about one job or pod: the only one that counts, and explained whatever came of it."""
    doubt: str = ""
    """Why every answer may be wrong: the input does not show one moment."""
    incomplete: str = ""
    """What the snapshot lacks without which no job can be explained; empty where it has jobs, or lacks nothing."""

    @property
    def unscheduled_jobs(self) -> list[SurveyedJob]:
        """The jobs that stay unscheduled."""
        return [one for one in self.explained if not one.explanation.scheduled]

    @property
    def partly_waiting_jobs(self) -> list[SurveyedJob]:
        """The jobs that have what they need, but not all of their pods run."""
        return [] if self.named else [one for one in self.explained if one.explanation.scheduled]


def survey_jobs(recording: Recording, tell: Callable[[int, int], object] | None = None) -> Survey:
    """Every job that is not whole after this cycle, in the order of names; `tell` hears how many are explained.

    It explains hundreds of jobs in seconds, so it is kept in the recording.
    """
    kept = recording.answered.get("survey")
    if not isinstance(kept, Survey):
        with collector_paused():
            kept = recording.answered["survey"] = _build_survey(recording, tell or (lambda *_: None))
    return kept


def _build_survey(recording: Recording, tell: Callable[[int, int], object]) -> Survey:
    stands, session = waiting_summary(recording), recording.session.jobs
    subjects = _all_subjects(stands)
    broken = [one for one in subjects if one.job in stands.broken or one.job not in session]
    waiting: list[SurveyedJob] = []
    for one in broken:
        tell(len(waiting), len(broken))
        waiting.append(_survey_subject(recording, one, stands.homeless))
    lacking = "" if subjects else incomplete(recording.snapshot)
    return Survey(
        len(subjects), tuple(waiting), len(recording.own_problems), doubt=doubt_of_input(recording), incomplete=lacking
    )


def survey_one(recording: Recording, word: str) -> Survey:
    """The named job or pod, whatever came of it; nobody where there is none of that name."""
    try:
        subject = find_subject(recording.snapshot, word)
    except NotFoundError:
        return Survey(0, (), len(recording.own_problems), named=True, doubt=doubt_of_input(recording))
    surveyed = _survey_subject(recording, subject, waiting_summary(recording).homeless)
    return Survey(1, (surveyed,), len(recording.own_problems), named=True, doubt=doubt_of_input(recording))


def _all_subjects(stands: WaitingSummary) -> list[ExplainSubject]:
    """Jobs of PodGroups, of pods that name a missing PodGroup, and waiting pods of this scheduler without any."""
    return sorted([*(ExplainSubject("", pod) for pod in stands.lone), *map(ExplainSubject, stands.jobs)])


def _survey_subject(recording: Recording, subject: ExplainSubject, homeless: Mapping[str, int]) -> SurveyedJob:
    explanation = _explain_or_report(recording, subject)
    info = recording.session.jobs.get(subject.job)
    if info is None:
        return SurveyedJob(explanation, "", homeless.get(subject.job or subject.pod or "", 0))
    tasks = [task for task in info.tasks.values() if subject.pod in (None, task.key)]
    return SurveyedJob(explanation, info.queue, len([task for task in tasks if task.status is TaskStatus.PENDING]))


def _explain_or_report(recording: Recording, subject: ExplainSubject) -> Explanation:
    """The answer; where vcdebug fails at it, which fault to report, so that the other jobs keep their answers."""
    try:
        return explain_subject(recording, subject)
    except (VcdebugError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - boundary: a fault in one answer is an answer
        name = subject.pod or subject.job
        sentence = f"vcdebug cannot explain {name}: {type(error).__name__}: {error}; this is a fault of vcdebug."
        advice = owner_advice(
            f"run `vcdebug explain` about {name} alone with VCDEBUG_TRACEBACK=1, and report what it says"
        )
        finding = Finding(FAULT, sentence, {}, (), (advice,))
        return Explanation(subject.job or name or "", subject.pod, False, finding, (), finding.advice, ())
