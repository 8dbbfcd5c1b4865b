"""A course in words: the answer in one sentence, what it rests on, and cycle by cycle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vcdebug.amount_text import count_noun, format_duration, join_names
from vcdebug.causes.gates.placed import PIPELINED_CAUSE
from vcdebug.causes.subject import ExplainSubject
from vcdebug.debugger.foresight.course import ForecastCycle, JobCourse
from vcdebug.debugger.foresight.deadlock import Deadlock, describe_holding
from vcdebug.model.names import TaskKey
from vcdebug.questions.reply import QuestionReply, ReplySheet

_ENDED = " ended"


class JobForecast(NamedTuple):
    """What was foreseen for one job."""

    subject: ExplainSubject
    course: JobCourse
    assumed: tuple[str, ...]
    """What the course rests on; nothing where nobody has to end."""
    stuck: tuple[TaskKey, ...]
    """Pods that should have been gone for long."""
    deadlock: Deadlock | None


def forecast_reply(found: JobForecast) -> QuestionReply:
    """The answer."""
    return QuestionReply(
        _answer_sentence(found),
        tuple(_iter_answer_lines(found)),
        (_cycle_sheet(found.course),),
        (),
        _forecast_data(found),
    )


def _answer_sentence(found: JobForecast) -> str:
    course, who = found.course, found.subject.pod or found.subject.job
    last = course.stages[-1]
    why = last.explanation.sentence
    if course.outcome in ("placed", "admitted"):
        return _placed_sentence(found, who, last)
    if course.outcome == "panic":
        return f"{who} is not placed before the scheduler panics in cycle {last.cycle}: {why}"
    if found.deadlock is not None:
        return _deadlock_sentence(found, who, found.deadlock)
    if course.outcome == "unknown":
        return f"{who} is not placed within {count_noun(last.cycle, 'cycle')}, {format_duration(last.after.total_seconds())}: {why}"
    if course.loop is not None:
        loop = course.loop
        return (
            f"{who} is never placed as things stand: cycles {loop.first} to {loop.last} come again for ever, with "
            f"{join_names(loop.evicted)} evicted each time. {why}"
        )
    if found.stuck and last.explanation.cause_code == PIPELINED_CAUSE:
        verb = "is" if len(found.stuck) == 1 else "are"
        return (
            f"Nobody can say when {who} is placed: it waits for {join_names(found.stuck)}, which should have been gone for "
            f"long and {verb} not expected to leave without help: look at the node and at finalizers. {why}"
        )
    if not any(_ENDED in words for stage in course.stages for words in stage.before):
        return f"{who} is never placed by waiting: nothing is under way that could change what stops it. {why}"
    after = format_duration(last.after.total_seconds())
    return f"{who} is never placed by waiting, even when all that can end has ended ({after}). {why}"


def _placed_sentence(found: JobForecast, who: str, last: ForecastCycle) -> str:
    what = "admitted" if found.course.outcome == "admitted" else "placed"
    where = f" ({join_names(found.course.final_nodes)})" if found.course.final_nodes else ""
    if last.cycle == 1:
        return f"{who} is {what} in this very cycle{where}: it need not wait."
    time = f"{format_duration(last.after.total_seconds())} from now, in cycle {last.cycle}"
    causes = [event for stage in found.course.stages for event in stage.before]
    after = f", once {causes[-1]}" if causes else ""
    if found.assumed:
        return (
            f"{who} is {what} {time}{where}{after}, if run times are as assumed; without that nothing brings it there."
        )
    lost = dict.fromkeys(task for stage in found.course.stages for task in stage.evicted)
    cost = f"{count_noun(len(lost), 'pod')} evicted on the way" if lost else "nobody has to end or to be evicted for it"
    return f"{who} is {what} {time}{where}{after}; {cost}."


def _deadlock_sentence(found: JobForecast, who: str, lock: Deadlock) -> str:
    jobs = found.course.recording.session.jobs
    holders = ", ".join(f"{job} holds {describe_holding(jobs[job])}" for job in lock.holders)
    gone = "them" if len(lock.holders) > 1 else lock.holders[0]
    rest = "waits for the rest" if len(lock.holders) == 1 else "wait for the rest"
    if lock.mutual:
        own = describe_holding(jobs[found.subject.job])
        return (
            f"{who} and {join_names(lock.holders)} are in a deadlock: {who} holds {own}, {holders}, each needs what the "
            f"other holds, and neither ends before it is whole. Without {gone} {who} is placed."
        )
    never = f"{who} is never placed by waiting: {holders} and {rest}, so that it never ends"
    return f"{never}; without {gone} {who} is placed."


def _iter_answer_lines(found: JobForecast) -> Iterator[str]:
    yield from (f"assumed: {words}" for words in found.assumed)
    if found.stuck:
        who = join_names(found.stuck)
        yield f"{who} should have been gone for long: not expected to leave (its node, or a finalizer, holds it)"
    if found.deadlock is not None:
        yield f"to break it: {' '.join(f'--set {edit}' for edit in found.deadlock.edits[:4])}"


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
    return ReplySheet("cycles", ("#", "after", "happened before", "others", "the job"), tuple(rows))


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
