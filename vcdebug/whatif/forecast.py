"""Forecast: cycles from one change to the next, until a job is placed or can never be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct, field, structs

from vcdebug import amount_text
from vcdebug.amount_text import count_noun, format_duration, join_names
from vcdebug.explain.answer import Cause, NamedQuestion, QuestionReply, ReplySheet
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.explain.pending.explanation import explain_subject
from vcdebug.explain.questions import QUESTIONS as OF_ONE_CYCLE
from vcdebug.explain.subject_names import find_subject
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import USAGE
from vcdebug.recording.recording import Recording, disposing, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.job_course import MAX_CYCLES, STATUSES_WITH_NODE, ForecastCycle, JobCourse
from vcdebug.whatif.next_cycle import DEFAULT_RUN_TIME, BetweenCycles, RunTimes, is_endless, is_gone, is_running

OVERDUE_AFTER: Final = timedelta(minutes=1)
"""A terminating pod that is overdue by more than this is assumed to stay."""


class ForecastAssumptions(Struct, frozen=True):
    """The assumptions of a forecast."""

    default_run_time: timedelta | None = None
    """The run time of every pod; by default twice its age, or an hour for a pod that has just started."""
    stated_run_times: Mapping[JobId | TaskKey, timedelta] = field(default_factory=dict)
    recreate: bool = True
    """Whether controllers recreate evicted pods."""
    cycles: int = MAX_CYCLES


DEFAULT_ASSUMPTIONS: Final = ForecastAssumptions()


def forecast_job(
    recording: Recording,
    word: str,
    assumptions: ForecastAssumptions = DEFAULT_ASSUMPTIONS,
    report: Callable[[ForecastCycle], None] = lambda _: None,
) -> QuestionReply:
    """The forecast for a job or pod by name; raises NotFoundError if none has this name."""
    return forecast_reply(run_forecast(recording, find_subject(recording, word), assumptions, report))


def run_forecast(
    recording: Recording,
    subject: ExplainSubject,
    assumptions: ForecastAssumptions,
    report: Callable[[ForecastCycle], None] = lambda _: None,
) -> JobForecast:
    """Forecast without pods that finish; if that does not place the job, forecast again with assumed run times."""
    between = _assumed_interval(recording.snapshot, assumptions)
    course = _run_course(JobCourse(recording, subject, between), assumptions, report)
    run_times = RunTimes(recording.snapshot.now, assumptions.default_run_time, assumptions.stated_run_times)
    # Those that the forecast itself binds end too.
    running = filter(is_running, map(Pod, course.recording.snapshot.objects_of("Pod")))
    # Only if needed: ends of pods are estimates, and a forecast without estimates is more certain.
    if course.outcome in ("never", "repeats", "unknown") and any(run_times.end_time(pod) for pod in running):
        with_run_times = JobCourse(recording, subject, structs.replace(between, run_times=run_times))
        course = _run_course(with_run_times, assumptions, report)
        return _build_forecast(subject, course, _assumption_words(assumptions, recording.snapshot), between)
    return _build_forecast(subject, course, (), between)


def _run_course(course: JobCourse, assumed: ForecastAssumptions, report: Callable[[ForecastCycle], None]) -> JobCourse:
    for stage in course.run_cycles(assumed.cycles):
        report(stage)
    return course


def _build_forecast(
    subject: ExplainSubject, course: JobCourse, assumption_words: Sequence[str], between: BetweenCycles
) -> JobForecast:
    stopped = course.outcome in ("never", "repeats")
    deadlock: Deadlock | None = find_deadlock(course.recording, subject) if stopped else None
    return JobForecast(subject, course, tuple(assumption_words), tuple(between.stuck), deadlock)


def _assumed_interval(snapshot: Snapshot, assumptions: ForecastAssumptions) -> BetweenCycles:
    """Terminating pods are not recreated; pods more than OVERDUE_AFTER past their deletion time stay."""
    leaving = {pod.key: pod for pod in map(Pod, snapshot.objects_of("Pod")) if pod.deleting}
    overdue = [key for key, pod in leaving.items() if is_gone(pod.manifest, snapshot.now - OVERDUE_AFTER)]
    gone, stay = dict.fromkeys(leaving), dict.fromkeys(overdue)
    return BetweenCycles(recreate=assumptions.recreate, for_good=gone, stuck=stay, measures_again=True)


def _assumption_words(assumptions: ForecastAssumptions, snapshot: Snapshot) -> list[str]:
    """The assumptions about run times, in words."""
    default_time = f"{int(DEFAULT_RUN_TIME.total_seconds()) // 3600}h"  # exact: ints
    words = [
        f"{name} runs {format_duration(time.total_seconds())}" for name, time in assumptions.stated_run_times.items()
    ]
    if assumptions.default_run_time is not None:
        words.append(f"each pod runs {format_duration(assumptions.default_run_time.total_seconds())} from its start")
    else:
        words.append(f"each running pod runs for as long as it has already run; each new pod for {default_time}")
    services = [pod for pod in map(Pod, snapshot.objects_of("Pod")) if is_running(pod) and is_endless(pod)]
    if services:
        verb = "never finishes" if len(services) == 1 else "never finish"
        words.append(f"{count_noun(len(services), 'pod')} that its controller or kubelet restarts {verb}")
    return words


WHEN_QUESTION = NamedQuestion("when", "When will it be scheduled", ("job", "pod"), forecast_job)


_ENDED = " ended"
"""How the words about a change end where pods finished."""


class JobForecast(Struct, frozen=True):
    """The forecast of one job."""

    subject: ExplainSubject
    course: JobCourse
    assumed: tuple[str, ...]
    """The assumptions of the forecast; empty if no pod has to finish."""
    stuck: tuple[TaskKey, ...]
    """Terminating pods that are overdue and are assumed to stay."""
    deadlock: Deadlock | None


def forecast_reply(forecast: JobForecast) -> QuestionReply:
    """The answer."""
    answer, *lines = _answer_sentences(forecast)
    return QuestionReply(
        answer, (*lines, *_iter_answer_lines(forecast)), (_cycle_sheet(forecast.course),), (), _forecast_data(forecast)
    )


def _answer_sentences(forecast: JobForecast) -> tuple[str, ...]:
    """The forecast in one sentence, then further sentences such as why the job is still Pending at its end."""
    course, name = forecast.course, forecast.subject.pod or forecast.subject.job
    last_cycle = course.stages[-1]
    cause, elapsed = last_cycle.explanation.sentence, format_duration(last_cycle.elapsed.total_seconds())
    if course.outcome in ("placed", "admitted"):
        return _placed_sentences(forecast, name, last_cycle)
    if course.outcome == "panic":
        return f"Forecast: the scheduler panics in cycle {last_cycle.cycle} before {name} is placed.", cause
    if forecast.deadlock is not None:
        return _deadlock_sentences(forecast, name, forecast.deadlock)
    if course.outcome == "unknown":
        return f"Forecast: {name} is still Pending after {count_noun(last_cycle.cycle, 'cycle')} ({elapsed}).", cause
    if course.loop is not None:
        repeat = f"cycles {course.loop.first} to {course.loop.last} repeat"
        return f"Forecast: {name} stays Pending: {repeat}, evicting {join_names(course.loop.evicted)} each time.", cause
    if forecast.stuck and last_cycle.explanation.cause_code == Cause.PIPELINED:
        waiting = f"{name} is waiting for {join_names(forecast.stuck)} to terminate"
        clause = "which is past its" if len(forecast.stuck) == 1 else "which are past their"
        return f"No forecast: {waiting}, {clause} grace period.", cause
    if not any(_ENDED in words for stage in course.stages for words in stage.changes_before):
        progress = "nothing in progress (terminating pods, timers) removes its blocker"
        return f"Forecast: {name} stays Pending; {progress}.", cause
    finished = f"all running pods that can finish have finished ({elapsed})"
    return f"Forecast: {name} stays Pending even after {finished}.", cause


def _placed_sentences(job_forecast: JobForecast, name: str, last_cycle: ForecastCycle) -> tuple[str, ...]:
    outcome = "admitted" if job_forecast.course.outcome == "admitted" else "placed"
    on_nodes = f" on {join_names(job_forecast.course.final_nodes)}" if job_forecast.course.final_nodes else ""
    if last_cycle.cycle == 1:
        return (f"{name} is {outcome} in this cycle{on_nodes}.",)
    causes = [event for stage in job_forecast.course.stages for event in stage.changes_before]
    condition = f", once {causes[-1]}" if causes else ""
    when = f"in {format_duration(last_cycle.elapsed.total_seconds())} (cycle {last_cycle.cycle})"
    forecast = f"Forecast: {name} is {outcome} {when}{on_nodes}{condition}."
    if job_forecast.assumed:
        return forecast, "This depends on the assumed run times."
    evicted_pods = dict.fromkeys(task for stage in job_forecast.course.stages for task in stage.evicted)
    verb = "is" if len(evicted_pods) == 1 else "are"
    evictions = f"{count_noun(len(evicted_pods), 'pod')} {verb} evicted before that."
    return forecast, evictions if evicted_pods else "No pod has to finish or be evicted."


def _deadlock_sentences(forecast: JobForecast, name: str, lock: Deadlock) -> tuple[str, ...]:
    jobs = forecast.course.recording.session.jobs
    holders = "; ".join(f"{job} holds {describe_holding(jobs[job])}" for job in lock.blockers)
    advice = f"If {join_names(lock.blockers)} {'is' if len(lock.blockers) == 1 else 'are'} deleted, {name} is placed."
    if lock.is_mutual:
        own_holding = describe_holding(jobs[forecast.subject.job])
        summary = f"Deadlock: {name} and {join_names(lock.blockers)} each hold resources that the other needs."
        return summary, f"{name} holds {own_holding}; {holders}.", advice
    own_pods = "its own remaining pods" if len(lock.blockers) == 1 else "their own remaining pods"
    return f"{name} stays Pending: {holders} and cannot finish, because {own_pods} are Pending.", advice


def _iter_answer_lines(forecast: JobForecast) -> Iterator[str]:
    yield from (f"assumed: {words}" for words in forecast.assumed)
    if forecast.course.recording.snapshot.usage and USAGE in forecast.course.recording.conf.plugin_names():
        yield "assumed: the measured load of the nodes does not change"
    if forecast.stuck:
        verb, its = ("is", "its") if len(forecast.stuck) == 1 else ("are", "their")
        expected = f"{verb} past {its} grace period and not expected to terminate without help"
        yield f"{join_names(forecast.stuck)} {expected} (node down, or a finalizer)."
    if forecast.deadlock is not None:
        yield f"Resolve it with: {' '.join(f'--set {edit}' for edit in forecast.deadlock.edits[:4])}"


def _cycle_sheet(course: JobCourse) -> ReplySheet:
    rows = [
        (
            str(stage.cycle),
            format_duration(stage.elapsed.total_seconds()),
            "; ".join(stage.changes_before) or "-",
            "; ".join(stage.other_effects) or "-",
            stage.explanation.cause_code,
        )
        for stage in course.stages
    ]
    return ReplySheet("cycles", ("#", "after", "changes before the cycle", "other jobs", "this job"), tuple(rows))


def _forecast_data(forecast: JobForecast) -> Mapping[str, object]:
    course = forecast.course
    last_cycle = course.stages[-1]
    outcome = "deadlock" if forecast.deadlock is not None else course.outcome
    return {
        "outcome": outcome,
        "cycle": last_cycle.cycle,
        "seconds": last_cycle.elapsed.total_seconds(),
        "nodes": course.final_nodes,
        "assumed": list(forecast.assumed),
        "stuck": list(forecast.stuck),
        "cause": last_cycle.explanation.cause_code,
        "loop": None if course.loop is None else {"first": course.loop.first, "last": course.loop.last},
        "deadlock": None if forecast.deadlock is None else list(forecast.deadlock.blockers),
        "course": [
            {
                "cycle": stage.cycle,
                "seconds": stage.elapsed.total_seconds(),
                "happened": list(stage.changes_before),
                "others": list(stage.other_effects),
                "cause": stage.explanation.cause_code,
            }
            for stage in course.stages
        ],
    }


# Deadlocks: incomplete jobs that hold what another incomplete job needs, so neither can finish.

_MAX_HOLDERS: Final = 6
"""Holders that are tried one by one."""


class Deadlock(Struct, frozen=True):
    """The incomplete jobs that block the job."""

    blockers: tuple[JobId, ...]
    """Deleting these jobs places the job; a single one if that suffices."""
    is_mutual: bool
    """Whether the job itself holds resources that they need."""
    edits: tuple[str, ...]
    """Edits that delete the pods of the holders."""


def find_deadlock(recording: Recording, subject: ExplainSubject) -> Deadlock | None:
    """The deadlock, if the job would be placed without the pods of other incomplete gangs."""
    jobs = recording.session.jobs
    holders = [job for job in jobs.values() if job.uid != subject.job and holds_while_pending(job)]
    if not holders:
        return None
    gang_groups = [*([job] for job in holders[:_MAX_HOLDERS]), *([holders] if len(holders) > 1 else [])]
    for gangs in gang_groups:
        edits = tuple(f"Pod/{task.key}:-" for job in gangs for task in _held_tasks(job))
        edited = edited_snapshot(recording.snapshot, [parse_edit(edit) for edit in edits])
        with disposing(replay_cycle(edited, reuse_from=recording)) as run:
            placed = explain_subject(require_complete(run), subject).scheduled
        if placed:
            target = jobs.get(subject.job)
            return Deadlock(tuple(job.uid for job in gangs), target is not None and holds_while_pending(target), edits)
    return None


def holds_while_pending(job: JobInfo) -> bool:
    """Whether some pods of the gang run and others are Pending."""
    return (
        0 < len(_held_tasks(job)) < job.min_available and job.count_tasks(TaskStatus.PENDING, TaskStatus.PIPELINED) > 0
    )


def describe_holding(job: JobInfo) -> str:
    """What an incomplete gang holds, such as `1 of its 2 gang pods (4 cpu)`."""
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
