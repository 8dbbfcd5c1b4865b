"""Forecast: cycles from one change to the next, until a job is placed or can never be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, NamedTuple

from vcdebug import amount_text
from vcdebug.amount_text import count_noun, format_duration, join_names
from vcdebug.explain.answer import NamedQuestion, QuestionReply, ReplySheet
from vcdebug.explain.job_view import ExplainSubject, find_subject
from vcdebug.explain.pending.explanation import explain_subject
from vcdebug.explain.pending.gates.placed import PIPELINED_CAUSE
from vcdebug.explain.questions import QUESTIONS as OF_ONE_CYCLE
from vcdebug.gotime import parse_time
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording, disposing, require_whole
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.job_course import MAX_CYCLES, STATUSES_WITH_NODE, ForecastCycle, JobCourse
from vcdebug.whatif.next_cycle import DEFAULT_RUN_TIME, BetweenCycles, RunTimes, is_endless, is_running

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
    """Forecast without pods that finish; if that does not place the job, forecast again with assumed run times."""
    between = _assumed_interval(recording.snapshot, assumed)
    course = _run_course(JobCourse(recording, subject, between), assumed, tell)
    ending = RunTimes(recording.snapshot.now, assumed.each, assumed.stated)
    ends = [
        pod.key
        for pod in map(Pod, recording.snapshot.objects_of("Pod"))
        if is_running(pod) and ending.end_time(pod) is not None
    ]
    # Only then: ends of pods are estimates, and an answer without estimates is better if there is one.
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
    """Terminating pods are not recreated; pods more than OVERDUE_AFTER past their deletion time stay."""
    leaving = [pod for pod in map(Pod, snapshot.objects_of("Pod")) if pod.deleting]
    overdue = [pod.key for pod in leaving if _is_overdue(pod, snapshot)]
    return BetweenCycles(
        recreate=assumed.recreate, for_good=dict.fromkeys(pod.key for pod in leaving), stuck=dict.fromkeys(overdue)
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
        words.append(f"each running pod runs for as long as it has already run; each new pod for {hour}")
    services = [pod for pod in map(Pod, snapshot.objects_of("Pod")) if is_running(pod) and is_endless(pod)]
    if services:
        finish = "never finishes" if len(services) == 1 else "never finish"
        words.append(f"{count_noun(len(services), 'pod')} that its controller or kubelet restarts {finish}")
    return words


WHEN_QUESTION = NamedQuestion("when", "When will it be scheduled", ("job", "pod"), forecast_job)


_ENDED = " ended"
"""How the words about a change end where pods finished."""


class JobForecast(NamedTuple):
    """The forecast of one job."""

    subject: ExplainSubject
    course: JobCourse
    assumed: tuple[str, ...]
    """The assumptions of the forecast; empty if no pod has to finish."""
    stuck: tuple[TaskKey, ...]
    """Pods that should have been gone for long."""
    deadlock: Deadlock | None


def forecast_reply(found: JobForecast) -> QuestionReply:
    """The answer."""
    sentence, *lines = _answer_sentences(found)
    return QuestionReply(
        sentence, (*lines, *_iter_answer_lines(found)), (_cycle_sheet(found.course),), (), _forecast_data(found)
    )


def _answer_sentences(found: JobForecast) -> tuple[str, ...]:
    """The forecast in one sentence, then what it rests on and why the job is Pending at its end."""
    course, who = found.course, found.subject.pod or found.subject.job
    last = course.stages[-1]
    why, after = last.explanation.sentence, format_duration(last.after.total_seconds())
    if course.outcome in ("placed", "admitted"):
        return _placed_sentences(found, who, last)
    if course.outcome == "panic":
        return f"Forecast: the scheduler panics in cycle {last.cycle} before {who} is placed.", why
    if found.deadlock is not None:
        return _deadlock_sentences(found, who, found.deadlock)
    if course.outcome == "unknown":
        return f"Forecast: {who} is still Pending after {count_noun(last.cycle, 'cycle')} ({after}).", why
    if course.loop is not None:
        repeat = f"cycles {course.loop.first} to {course.loop.last} repeat"
        return f"Forecast: {who} stays Pending: {repeat}, evicting {join_names(course.loop.evicted)} each time.", why
    if found.stuck and last.explanation.cause_code == PIPELINED_CAUSE:
        waits = f"{who} is waiting for {join_names(found.stuck)} to terminate"
        past = "which is past its" if len(found.stuck) == 1 else "which are past their"
        return f"No forecast: {waits}, {past} grace period.", why
    if not any(_ENDED in words for stage in course.stages for words in stage.before):
        progress = "nothing in progress (terminating pods, timers) removes its blocker"
        return f"Forecast: {who} stays Pending; {progress}.", why
    finished = f"all running pods that can finish have finished ({after})"
    return f"Forecast: {who} stays Pending even after {finished}.", why


def _placed_sentences(found: JobForecast, who: str, last: ForecastCycle) -> tuple[str, ...]:
    what = "admitted" if found.course.outcome == "admitted" else "placed"
    where = f" on {join_names(found.course.final_nodes)}" if found.course.final_nodes else ""
    if last.cycle == 1:
        return (f"{who} is {what} in this cycle{where}.",)
    causes = [event for stage in found.course.stages for event in stage.before]
    once = f", once {causes[-1]}" if causes else ""
    time = f"in {format_duration(last.after.total_seconds())} (cycle {last.cycle})"
    forecast = f"Forecast: {who} is {what} {time}{where}{once}."
    if found.assumed:
        return forecast, "This depends on the assumed run times."
    lost = dict.fromkeys(task for stage in found.course.stages for task in stage.evicted)
    are = "is" if len(lost) == 1 else "are"
    evicted = f"{count_noun(len(lost), 'pod')} {are} evicted before that."
    return forecast, evicted if lost else "No pod has to finish or be evicted."


def _deadlock_sentences(found: JobForecast, who: str, lock: Deadlock) -> tuple[str, ...]:
    jobs = found.course.recording.session.jobs
    holders = "; ".join(f"{job} holds {describe_holding(jobs[job])}" for job in lock.holders)
    gone = f"If {join_names(lock.holders)} {'is' if len(lock.holders) == 1 else 'are'} deleted, {who} is placed."
    if lock.mutual:
        own = describe_holding(jobs[found.subject.job])
        locked = f"Deadlock: {who} and {join_names(lock.holders)} each hold resources that the other needs."
        return locked, f"{who} holds {own}; {holders}.", gone
    own_pods = "its own remaining pods" if len(lock.holders) == 1 else "their own remaining pods"
    return f"{who} stays Pending: {holders} and cannot finish, because {own_pods} are Pending.", gone


def _iter_answer_lines(found: JobForecast) -> Iterator[str]:
    yield from (f"assumed: {words}" for words in found.assumed)
    if found.stuck:
        are, its = ("is", "its") if len(found.stuck) == 1 else ("are", "their")
        expected = f"{are} past {its} grace period and not expected to terminate without help"
        yield f"{join_names(found.stuck)} {expected} (node down, or a finalizer)."
    if found.deadlock is not None:
        yield f"Resolve it with: {' '.join(f'--set {edit}' for edit in found.deadlock.edits[:4])}"


def _cycle_sheet(course: JobCourse) -> ReplySheet:
    rows = [
        (
            str(stage.cycle),
            format_duration(stage.after.total_seconds()),
            "; ".join(stage.before) or "-",
            "; ".join(stage.done) or "-",
            stage.explanation.cause_code,
        )
        for stage in course.stages
    ]
    return ReplySheet("cycles", ("#", "after", "changes before the cycle", "other jobs", "this job"), tuple(rows))


def _forecast_data(found: JobForecast) -> Mapping[str, object]:
    course = found.course
    last = course.stages[-1]
    outcome = "deadlock" if found.deadlock is not None else course.outcome
    return {
        "outcome": outcome,
        "cycle": last.cycle,
        "seconds": last.after.total_seconds(),
        "nodes": course.final_nodes,
        "assumed": list(found.assumed),
        "stuck": list(found.stuck),
        "cause": last.explanation.cause_code,
        "loop": None if course.loop is None else {"first": course.loop.first, "last": course.loop.last},
        "deadlock": None if found.deadlock is None else list(found.deadlock.holders),
        "course": [
            {
                "cycle": stage.cycle,
                "seconds": stage.after.total_seconds(),
                "happened": list(stage.before),
                "others": list(stage.done),
                "cause": stage.explanation.cause_code,
            }
            for stage in course.stages
        ],
    }


# Deadlocks: incomplete jobs that hold what another incomplete job needs, so neither can finish.

_MAX_HOLDERS: Final = 6
"""Holders that are tried one by one."""


class Deadlock(NamedTuple):
    """The incomplete jobs that block the job."""

    holders: tuple[JobId, ...]
    """Deleting these jobs places the job; a single one if that suffices."""
    mutual: bool
    """Whether the job itself holds resources that they need."""
    edits: tuple[str, ...]
    """Edits that delete the pods of the holders."""


def find_deadlock(recording: Recording, subject: ExplainSubject) -> Deadlock | None:
    """The deadlock, if the job would be placed without the pods of other incomplete gangs."""
    jobs = recording.session.jobs
    holders = [job for job in jobs.values() if job.uid != subject.job and holds_while_pending(job)]
    if not holders:
        return None
    groups = [*([job] for job in holders[:_MAX_HOLDERS]), *([holders] if len(holders) > 1 else [])]
    for group in groups:
        edits = tuple(f"Pod/{task.key}:-" for job in group for task in _held_tasks(job))
        changed = edited_snapshot(recording.snapshot, [parse_edit(edit) for edit in edits])
        with disposing(replay_cycle(changed, reuse_from=recording)) as run:
            placed = explain_subject(require_whole(run), subject).scheduled
        if placed:
            own = jobs.get(subject.job)
            return Deadlock(tuple(job.uid for job in group), own is not None and holds_while_pending(own), edits)
    return None


def holds_while_pending(job: JobInfo) -> bool:
    """Whether some pods of the gang run and others are Pending."""
    return (
        0 < len(_held_tasks(job)) < job.min_available and job.count_tasks(TaskStatus.PENDING, TaskStatus.PIPELINED) > 0
    )


def describe_holding(job: JobInfo) -> str:
    """`1 of its 2 gang pods (4 cpu)`."""
    return (
        f"{len(_held_tasks(job))} of its {job.min_available} gang pods ({amount_text.format_resource(job.allocated)})"
    )


def _held_tasks(job: JobInfo) -> list[TaskInfo]:
    return [
        task
        for task in job.tasks.values()
        if task.status in STATUSES_WITH_NODE and task.status is not TaskStatus.SUCCEEDED
    ]


QUESTIONS: Final[tuple[NamedQuestion, ...]] = (*OF_ONE_CYCLE, WHEN_QUESTION)
