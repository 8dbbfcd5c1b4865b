"""reclaim of older releases evicts at once, one task per turn of a queue: what that costs, and who ends the turns."""

from __future__ import annotations

from vcdebug import amount_text
from vcdebug.actions import RECLAIM
from vcdebug.amount_text import join_names
from vcdebug.explain import amounts
from vcdebug.explain.answer import Evidence, Finding, cluster_admin_advice, owner_advice, proof_of
from vcdebug.explain.job_view import JobView
from vcdebug.framework.hooks import JOB_STARVING
from vcdebug.framework.record import Level
from vcdebug.model.names import JobId, Seq
from vcdebug.model.task import TaskInfo
from vcdebug.recording.state_before import requested_together
from vcdebug.recording.visits import NodeTry, TaskTry, spans_inside
from vcdebug.releases.scheduling import RECLAIM_IMMEDIATE

TURNS_ENDED = "queue-turns-ended"
FREED_TOO_LITTLE = "freed-too-little"


def evicts_at_once(view: JobView, action: str) -> bool:
    """Whether this is the action, and a release in which it evicts without a statement."""
    return action == RECLAIM and view.recording.snapshot.release.has_older_form(RECLAIM_IMMEDIATE)


def freed_too_little_finding(view: JobView, attempt: TaskTry, node: NodeTry) -> Finding:
    """Pods of a node were evicted that free less than the task asks for."""
    task, gone = view.tasks[attempt.task], node.evicted_tasks
    freed = requested_together(view.recording, gone)
    short = task.init_resreq.less_equal_with_resources_name(freed)[1]
    parts = [
        f"{less} of {asked} {name}"
        for name in short
        for less, asked in [amount_text.format_amounts_apart(name, freed.get(name), task.init_resreq.get(name))]
    ]
    sentence = (
        f"{attempt.action} evicted {join_names(gone)} on {node.node} for {task.name} and keeps no place for it: that "
        "frees "
        f"{join_names(parts)}, and this release does not count what is free there."
    )
    numbers = {**amounts.numbers("request", task.init_resreq, short), **amounts.numbers("freed", freed, short)}
    evidence = tuple(Evidence(seq, f"{key} is evicted on {node.node}") for key, seq in gone.items())
    return Finding(
        FREED_TOO_LITTLE, sentence, numbers, evidence, (cluster_admin_advice("use a newer release of Volcano"),)
    )


def turns_ended_finding(view: JobView, action: str, task: TaskInfo) -> Finding | None:
    """None unless the job starves and its queue gave up its turns at another one."""
    starves = [event.result for _, event in view.calls_during(action, JOB_STARVING.upstream)]
    if not evicts_at_once(view, action) or not starves or not all(starves):
        return None
    other, seq = _last_turn_of_queue(view, action)
    if not other or other == view.job.uid:
        return None
    queue = view.queue.name
    sentence = (
        f"{action} never turned to {view.job.uid}: {other} came before it in queue {queue}, and once a job there may "
        f"not reclaim any more this release ends the queue's turns; no node has room for {task.name} "
        f"({amount_text.format_resource(task.init_resreq)})."
    )
    advice = (owner_advice(f"give {view.job.uid} a higher priority than {other}, or use another queue"),)
    numbers = amounts.numbers("request", task.init_resreq)
    return Finding(
        TURNS_ENDED, sentence, numbers, proof_of(seq, f"the last turn of queue {queue} goes to {other}"), advice
    )


def _last_turn_of_queue(view: JobView, action: str) -> tuple[JobId, Seq]:
    """The job to which the queue's last turn went while the action ran, and the first event of that."""
    start, end = view.action_starts(action) or 0, view.action_ends(action) or len(view.recording)
    turns = view.recording.index.spans_of(Level.QUEUE, view.queue.name)
    own = [turn for turn in turns if start < turn.first <= end]
    jobs = [inner for turn in own for inner in spans_inside(view.recording, turn) if inner.level is Level.JOB]
    return (jobs[-1].name, jobs[-1].first) if jobs else ("", 0)
