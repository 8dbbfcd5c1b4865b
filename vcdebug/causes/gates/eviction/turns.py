"""reclaim of older releases serves one task per turn of a queue: the first that may not reclaim ends all turns."""

from __future__ import annotations

from vcdebug.explain import amounts
from vcdebug.explain.advice import owner
from vcdebug.explain.answer import Finding, proof
from vcdebug.explain.job_view import JobView
from vcdebug.framework.record import Level
from vcdebug.model.names import JobId, Seq
from vcdebug.model.task import TaskInfo
from vcdebug.trace.visits import inside

TURNS_ENDED = "queue-turns-ended"


def turns_ended(view: JobView, action: str, task: TaskInfo) -> Finding | None:
    """None unless the job starves and its queue gave up its turns at another one."""
    if not any(event.result for _, event in view.during(action, "JobStarving")):
        return None
    other, seq = _last_of_queue(view, action)
    if not other or other == view.job.uid:
        return None
    queue = view.queue.name
    sentence = (
        f"{action} never turned to {view.job.uid}: {other} came before it in queue {queue}, and once a job there may "
        f"not reclaim any more this release ends the queue's turns; no node has room for {task.name} "
        f"({amounts.resource(task.init_resreq)})."
    )
    advice = (owner(f"give {view.job.uid} a higher priority than {other}, or use another queue"),)
    numbers = amounts.numbers("request", task.init_resreq)
    return Finding(
        TURNS_ENDED, sentence, numbers, proof(seq, f"the last turn of queue {queue} goes to {other}"), advice
    )


def _last_of_queue(view: JobView, action: str) -> tuple[JobId, Seq]:
    """The job to which the queue's last turn went while the action ran, and the first event of that."""
    start, end = view.action_starts(action) or 0, view.action_ends(action) or len(view.recording)
    turns = view.recording.index.spans_of(Level.QUEUE, view.queue.name)
    own = [turn for turn in turns if start < turn.first <= end]
    jobs = [inner for turn in own for inner in inside(view.recording, turn) if inner.level is Level.JOB]
    return (jobs[-1].name, jobs[-1].first) if jobs else ("", 0)
