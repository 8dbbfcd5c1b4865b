"""The next jobs: the order in which queues and Pending jobs would be tried, and what decides between neighbours."""

from collections.abc import Sequence
from functools import cmp_to_key

from vcdebug.amount_text import format_number
from vcdebug.explain.answer import NamedQuestion, QuestionReply, ReplySheet
from vcdebug.explain.job_view import NotFoundError
from vcdebug.explain.orders import ElementKind, OrderStep, order_of
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, QueueName, Seq
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording


def find_next_job(recording: Recording, word: str) -> QuestionReply:
    """The order after the cycle, for one queue or all."""
    return next_at(recording, len(recording), word)


def next_at(recording: Recording, seq: Seq, word: str = "") -> QuestionReply:
    """The order after an event, for a queue or for all queues."""
    session = recording.session
    if word and word not in session.queues:
        raise NotFoundError("no such queue in this snapshot", f"available: {', '.join(session.queues)}", word)
    queued = [job for job in session.jobs.values() if job.queue in session.queues and word in ("", job.queue)]
    pending = group_by_key((job.queue, job.uid) for job in queued if job.count_tasks(TaskStatus.PENDING))
    if not pending:
        return QuestionReply("No Pending jobs.", data={"queues": [], "jobs": []})
    queues = _sort_by_order(recording, seq, "queue", list(pending))
    jobs = {queue: _sort_by_order(recording, seq, "job", pending[queue]) for queue in queues}
    all_sheets = (
        _order_sheet("queues", recording, seq, "queue", queues),
        *(_order_sheet(f"jobs of {queue}", recording, seq, "job", jobs[queue]) for queue in queues),
    )
    sheets = tuple(sheet for sheet in all_sheets if len(sheet.rows) > 1)
    first_job = jobs[queues[0]][0]
    reason = _first_place_words(recording, seq, queues, jobs[queues[0]])
    sentence = f"{first_job} (queue {queues[0]}) is next{reason}."
    order_note = "Queues are ordered first; job priority counts only within a queue." if len(queues) > 1 else ""
    data = {"queues": queues, "jobs": [{"queue": queue, "jobs": jobs[queue]} for queue in queues]}
    return QuestionReply(sentence, (order_note,) if order_note else (), sheets, (), data)


def _sort_by_order(recording: Recording, seq: Seq, kind: ElementKind, names: Sequence[str]) -> list[str]:
    def compare_names(left: str, right: str) -> int:
        return order_of(recording, seq, kind, left, right).order_sign

    # Sorted by name first, since sorted() is stable and full ties must not depend on the order of manifests.
    return sorted(sorted(names), key=cmp_to_key(compare_names))


def _first_place_words(recording: Recording, seq: Seq, queues: Sequence[QueueName], jobs: Sequence[JobId]) -> str:
    neighbours: list[tuple[ElementKind, Sequence[str]]] = [("queue", queues[:2]), ("job", jobs[:2])]
    parts = [
        f"{names[0]} is before {names[1]} by {_format_step(order_of(recording, seq, kind, *names).deciding_step)}"
        for kind, names in neighbours
        if len(names) > 1
    ]
    return f": {'; '.join(parts)}" if parts else ""


def _format_step(step: OrderStep | None) -> str:
    if step is None:
        return "unknown criterion"
    plugin_words = f" ({step.plugin})" if step.plugin else ""
    return (
        f"{step.difference.label}{plugin_words}, {_format_value(step.difference.left)} to "
        f"{_format_value(step.difference.right)}"
    )


def _format_value(figure: object) -> str:
    return format_number(figure) if isinstance(figure, float) else str(figure)


def _order_sheet(title: str, recording: Recording, seq: Seq, kind: ElementKind, names: Sequence[str]) -> ReplySheet:
    rows = (
        (str(rank), name, _format_step(order_of(recording, seq, kind, name, rival).deciding_step) if rival else "")
        for rank, (name, rival) in enumerate(zip(names, [*names[1:], ""], strict=True), start=1)
    )
    return ReplySheet(title, ("#", kind, "ordered by"), tuple(rows))


NEXT_QUESTION = NamedQuestion("next", "Which job is next", ("queue",), find_next_job)
