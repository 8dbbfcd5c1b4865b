"""When is this job placed: first as things stand, then if pods that run end, each under its assumptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from vcdebug.amount_text import span
from vcdebug.causes.subject import Subject, find_subject
from vcdebug.debugger.between import Between
from vcdebug.debugger.between.actors import ASSUMED, RunTimes, endless, runs
from vcdebug.debugger.foresight.course import MOST_CYCLES, Course, Stage
from vcdebug.debugger.foresight.deadlock import Deadlock, deadlock
from vcdebug.debugger.foresight.telling import Foreseen, told
from vcdebug.gotime import time_in
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.questions.reply import Question, Reply
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording

OVERDUE: Final = timedelta(minutes=1)
"""A pod that should have been gone for so long does not leave by itself."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is assumed of the time to come."""

    each: timedelta | None = None
    """How long every pod runs; by default as long again as it has, and an hour if it has only begun."""
    stated: Mapping[JobId | TaskKey, timedelta] = field(default_factory=dict)
    recreate: bool = True
    """Whether a controller makes a pod again that is evicted."""
    cycles: int = MOST_CYCLES


USUAL: Final = Assumptions()


def when(
    recording: Recording,
    word: str,
    assumed: Assumptions = USUAL,
    tell: Callable[[Stage], None] = lambda _: None,
) -> Reply:
    """The answer; raises NotFoundError for a name that nothing has."""
    return told(foresee(recording, find_subject(recording.snapshot, word), assumed, tell))


def foresee(
    recording: Recording, subject: Subject, assumed: Assumptions, tell: Callable[[Stage], None] = lambda _: None
) -> Foreseen:
    """First as if no pod ended by itself; where the job is not placed that way and pods could end, as if all did."""
    between = _between(recording.snapshot, assumed)
    course = _run(Course(recording, subject, between), assumed, tell)
    ending = RunTimes(recording.snapshot.now, assumed.each, assumed.stated)
    ends = [pod.key for pod in map(Pod, recording.snapshot.of("Pod")) if runs(pod) and ending.end(pod) is not None]
    if course.outcome in ("never", "repeats", "unknown") and ends:
        later = Between(recreate=between.recreate, run_times=ending, for_good=between.for_good, stuck=between.stuck)
        course = _run(Course(recording, subject, later), assumed, tell)
        return _foreseen(subject, course, _words(assumed, recording.snapshot), between)
    return _foreseen(subject, course, (), between)


def _run(course: Course, assumed: Assumptions, tell: Callable[[Stage], None]) -> Course:
    for stage in course.run(assumed.cycles):
        tell(stage)
    return course


def _foreseen(subject: Subject, course: Course, words: Sequence[str], between: Between) -> Foreseen:
    stopped = course.outcome in ("never", "repeats")
    found: Deadlock | None = deadlock(course.recording, subject) if stopped else None
    return Foreseen(subject, course, tuple(words), tuple(between.stuck), found)


def _between(snapshot: Snapshot, assumed: Assumptions) -> Between:
    """Pods that are leaving already do not come back, and those that are long overdue do not leave."""
    leaving = [pod for pod in map(Pod, snapshot.of("Pod")) if pod.deleting]
    overdue = [pod.key for pod in leaving if _gone(pod, snapshot)]
    return Between(
        recreate=assumed.recreate,
        for_good=dict.fromkeys(pod.key for pod in leaving),
        stuck=dict.fromkeys(overdue),
    )


def _gone(pod: Pod, snapshot: Snapshot) -> bool:
    time = time_in(metadata_of(pod.manifest).get("deletionTimestamp"))
    return time is not None and time + OVERDUE <= snapshot.now


def _words(assumed: Assumptions, snapshot: Snapshot) -> list[str]:
    """The assumptions that a course with ends rests on."""
    hour = f"{int(ASSUMED.total_seconds()) // 3600}h"  # exact: ints
    words = [f"{name} runs {span(time.total_seconds())}" for name, time in assumed.stated.items()]
    if assumed.each is not None:
        words.append(f"each pod runs {span(assumed.each.total_seconds())} from its start")
    else:
        words.append(f"each pod that runs now runs as long again as it has, each later one {hour} (assumed)")
    services = [pod for pod in map(Pod, snapshot.of("Pod")) if runs(pod) and endless(pod)]
    if services:
        words.append(f"{len(services)} pods that are restarted whenever they end run for ever")
    return words


WHEN = Question("when", "when will it be placed", ("job", "pod"), when)
