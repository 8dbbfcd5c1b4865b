"""When is this job placed: first as things stand, then if pods that run end, each under its assumptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from vcdebug.amount_text import format_duration
from vcdebug.causes.subject import ExplainSubject, find_subject
from vcdebug.debugger.between import BetweenCycles
from vcdebug.debugger.between.actors import DEFAULT_RUN_TIME, RunTimes, is_endless, is_running
from vcdebug.debugger.foresight.course import MAX_CYCLES, ForecastCycle, JobCourse
from vcdebug.debugger.foresight.deadlock import Deadlock, find_deadlock
from vcdebug.debugger.foresight.telling import JobForecast, forecast_reply
from vcdebug.gotime import parse_time
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.questions.reply import NamedQuestion, QuestionReply
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording

OVERDUE_AFTER: Final = timedelta(minutes=1)
"""A pod that should have been gone for so long does not leave by itself."""


@dataclass(frozen=True, slots=True)
class ForecastAssumptions:
    """What is assumed of the time to come."""

    each: timedelta | None = None
    """How long every pod runs; by default as long again as it has, and an hour if it has only begun."""
    stated: Mapping[JobId | TaskKey, timedelta] = field(default_factory=dict)
    recreate: bool = True
    """Whether a controller makes a pod again that is evicted."""
    cycles: int = MAX_CYCLES


DEFAULT_ASSUMPTIONS: Final = ForecastAssumptions()


def forecast_job(
    recording: Recording,
    word: str,
    assumed: ForecastAssumptions = DEFAULT_ASSUMPTIONS,
    tell: Callable[[ForecastCycle], None] = lambda _: None,
) -> QuestionReply:
    """The answer; raises NotFoundError for a name that nothing has."""
    return forecast_reply(run_forecast(recording, find_subject(recording.snapshot, word), assumed, tell))


def run_forecast(
    recording: Recording,
    subject: ExplainSubject,
    assumed: ForecastAssumptions,
    tell: Callable[[ForecastCycle], None] = lambda _: None,
) -> JobForecast:
    """First as if no pod ended by itself; where the job is not placed that way and pods could end, as if all did."""
    between = _assumed_interval(recording.snapshot, assumed)
    course = _run_course(JobCourse(recording, subject, between), assumed, tell)
    ending = RunTimes(recording.snapshot.now, assumed.each, assumed.stated)
    ends = [
        pod.key
        for pod in map(Pod, recording.snapshot.objects_of("Pod"))
        if is_running(pod) and ending.end_time(pod) is not None
    ]
    if course.outcome in ("never", "repeats", "unknown") and ends:
        later = BetweenCycles(
            recreate=between.recreate, run_times=ending, for_good=between.for_good, stuck=between.stuck
        )
        course = _run_course(JobCourse(recording, subject, later), assumed, tell)
        return _build_forecast(subject, course, _assumption_words(assumed, recording.snapshot), between)
    return _build_forecast(subject, course, (), between)


def _run_course(course: JobCourse, assumed: ForecastAssumptions, tell: Callable[[ForecastCycle], None]) -> JobCourse:
    for stage in course.run_cycles(assumed.cycles):
        tell(stage)
    return course


def _build_forecast(
    subject: ExplainSubject, course: JobCourse, words: Sequence[str], between: BetweenCycles
) -> JobForecast:
    stopped = course.outcome in ("never", "repeats")
    found: Deadlock | None = find_deadlock(course.recording, subject) if stopped else None
    return JobForecast(subject, course, tuple(words), tuple(between.stuck), found)


def _assumed_interval(snapshot: Snapshot, assumed: ForecastAssumptions) -> BetweenCycles:
    """Pods that are leaving already do not come back, and those that are long overdue do not leave."""
    leaving = [pod for pod in map(Pod, snapshot.objects_of("Pod")) if pod.deleting]
    overdue = [pod.key for pod in leaving if _is_overdue(pod, snapshot)]
    return BetweenCycles(
        recreate=assumed.recreate,
        for_good=dict.fromkeys(pod.key for pod in leaving),
        stuck=dict.fromkeys(overdue),
    )


def _is_overdue(pod: Pod, snapshot: Snapshot) -> bool:
    time = parse_time(metadata_of(pod.manifest).get("deletionTimestamp"))
    return time is not None and time + OVERDUE_AFTER <= snapshot.now


def _assumption_words(assumed: ForecastAssumptions, snapshot: Snapshot) -> list[str]:
    """The assumptions that a course with ends rests on."""
    hour = f"{int(DEFAULT_RUN_TIME.total_seconds()) // 3600}h"  # exact: ints
    words = [f"{name} runs {format_duration(time.total_seconds())}" for name, time in assumed.stated.items()]
    if assumed.each is not None:
        words.append(f"each pod runs {format_duration(assumed.each.total_seconds())} from its start")
    else:
        words.append(f"each pod that runs now runs as long again as it has, each later one {hour} (assumed)")
    services = [pod for pod in map(Pod, snapshot.objects_of("Pod")) if is_running(pod) and is_endless(pod)]
    if services:
        words.append(f"{len(services)} pods that are restarted whenever they end run for ever")
    return words


WHEN_QUESTION = NamedQuestion("when", "when will it be placed", ("job", "pod"), forecast_job)
