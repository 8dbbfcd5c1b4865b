"""Who is next: the order in which queues and jobs that wait would be tried, with what decides between neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from vcdebug.amount_text import number
from vcdebug.causes.subject import NotFoundError
from vcdebug.explain.orders import Compared, Kind, order_of
from vcdebug.grouping import by_key
from vcdebug.model.names import JobId, QueueName, Seq
from vcdebug.model.status import TaskStatus
from vcdebug.questions.reply import Question, Reply, Sheet
from vcdebug.trace.recording import Recording


def who_is_next(recording: Recording, word: str) -> Reply:
    """After the cycle; all queues, or the one that is named."""
    return next_at(recording, len(recording), word)


def next_at(recording: Recording, seq: Seq, word: str = "") -> Reply:
    """The same as it stands after an event."""
    session = recording.session
    if word and word not in session.queues:
        raise NotFoundError("no such queue", f"there are {', '.join(session.queues)}", word)
    queued = [job for job in session.jobs.values() if job.queue in session.queues and word in ("", job.queue)]
    waiting = by_key((job.queue, job.uid) for job in queued if job.count(TaskStatus.PENDING))
    if not waiting:
        return Reply("No job waits.", data={"queues": [], "jobs": []})
    queues = _sorted(recording, seq, "queue", list(waiting))
    jobs = {queue: _sorted(recording, seq, "job", waiting[queue]) for queue in queues}
    sheets = (_queue_sheet(recording, seq, queues), *(_job_sheet(recording, seq, one, jobs[one]) for one in queues))
    first = jobs[queues[0]][0]
    sentence = f"{first} of queue {queues[0]} would be tried first{_why(recording, seq, queues, jobs[queues[0]])}."
    after = "queues come before jobs: a job's priority counts within its queue only" if len(queues) > 1 else ""
    data = {"queues": queues, "jobs": [{"queue": queue, "jobs": jobs[queue]} for queue in queues]}
    return Reply(sentence, (after,) if after else (), sheets, (), data)


def _sorted(recording: Recording, seq: Seq, kind: Kind, names: Sequence[str]) -> list[str]:
    def compared(left: str, right: str) -> int:
        return order_of(recording, seq, kind, left, right).sign

    return sorted(sorted(names), key=cmp_to_key(compared))


def _why(recording: Recording, seq: Seq, queues: Sequence[QueueName], jobs: Sequence[JobId]) -> str:
    parts = []
    if len(queues) > 1:
        parts.append(_between(recording, seq, "queue", queues[0], queues[1]))
    if len(jobs) > 1:
        parts.append(_between(recording, seq, "job", jobs[0], jobs[1]))
    return f": {'; '.join(parts)}" if parts else ""


def _between(recording: Recording, seq: Seq, kind: Kind, left: str, right: str) -> str:
    decided = order_of(recording, seq, kind, left, right).deciding
    return f"{left} before {right} by {_told(decided)}"


def _told(decided: Compared | None) -> str:
    if decided is None:
        return "nothing that is known"
    by = f" ({decided.plugin})" if decided.plugin else ""
    return f"{decided.difference.what}{by}, {_value(decided.difference.left)} to {_value(decided.difference.right)}"


def _value(figure: object) -> str:
    return number(figure) if isinstance(figure, float) else str(figure)


def _queue_sheet(recording: Recording, seq: Seq, queues: Sequence[QueueName]) -> Sheet:
    return Sheet("queues", ("#", "queue", "before the next by"), _rows(recording, seq, "queue", queues))


def _job_sheet(recording: Recording, seq: Seq, queue: QueueName, jobs: Sequence[JobId]) -> Sheet:
    return Sheet(f"jobs of {queue}", ("#", "job", "before the next by"), _rows(recording, seq, "job", jobs))


def _rows(recording: Recording, seq: Seq, kind: Kind, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    following = [*names[1:], ""]
    return tuple(
        (str(place), name, _told(order_of(recording, seq, kind, name, other).deciding) if other else "")
        for place, (name, other) in enumerate(zip(names, following, strict=True), start=1)
    )


NEXT = Question("next", "which job would be tried next", ("queue",), who_is_next)
