"""What both forms of allocate share: who waits, whose turn it is, and a visit of a job that hypernodes are tried for.

Upstream: actions/allocate.
"""

from __future__ import annotations

from collections.abc import Callable

from vcdebug.actions import ENQUEUE
from vcdebug.actions.allocate.domains import DomainSearch
from vcdebug.framework.action import QueuedJobs
from vcdebug.framework.hooks import JOB_READY, OVERUSED
from vcdebug.framework.order import Worksheet
from vcdebug.framework.quirks import STATEMENT_LEFT_OPEN
from vcdebug.framework.record import Level
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.hyper_nodes import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.pod_group import INQUEUE
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo
from vcdebug.releases.scheduling import QUEUE_ALLOCATION_GATE, SUBGROUP_WITHOUT_HARD


def not_admitted(ssn: Session, job: JobInfo) -> bool:
    """Whether the job waits for the action enqueue; where there is none, it is admitted now."""
    if not job.is_pending():
        return False
    if ENQUEUE in ssn.conf.actions:
        ssn.log("pending", job.uid, job.queue)
        return True
    ssn.log("inqueue", job.uid, job.queue)
    ssn.set_phase(job, INQUEUE)
    return False


def is_placeable(ssn: Session, task: TaskInfo) -> bool:
    """Not best-effort, and behind no gate but Volcano's own."""
    if task.sch_gated and not task.pod.has_only_volcano_gate:
        if not ssn.release.has_older_form(QUEUE_ALLOCATION_GATE):
            ssn.log("gate", task.key)
        return False
    if task.resreq.is_empty():
        ssn.log("best-effort", task.key)
        return False
    return True


def take_turns(ssn: Session, waiting: QueuedJobs, visit: Callable[[QueueInfo], None], turn: str = "") -> None:
    """Pop queues until none has a job left; a visit puts its queue back. `turn` is the line that tells of each."""
    while waiting.queues:
        queue = waiting.queues.pop()
        with ssn.open_span(Level.QUEUE, queue.name):
            if ssn.ask_plugins(OVERUSED, queue):
                ssn.log("overused", queue.name)
                continue
            if turn:
                ssn.log(turn, queue.name)
            if waiting.jobs[queue.name]:
                visit(queue)
            else:
                ssn.log("no-jobs", queue.name)


def goes_by_domains(ssn: Session, job: JobInfo) -> bool:
    """Whether hypernodes are tried for the job."""
    if job.contains_hard_topology():
        return True
    return bool(job.pod_group.sub_group_policies) and not ssn.release.has_older_form(SUBGROUP_WITHOUT_HARD)


def allocate_in_domains(ssn: Session, domains: DomainSearch, job: JobInfo, worksheet: Worksheet) -> bool:
    """Jobs with hard topology or sub groups: True when the job goes back into its queue.
    Upstream: actions/allocate.allocateForJob.
    """
    statement = domains.allocate_job(job, worksheet, TOP_HYPER_NODE)
    if statement is None or not is_ready(ssn, job, statement):
        return False
    statement.commit()
    ssn.mark_job_dirty(job)
    domains.decisions.update_decision_to_job(job)
    return not worksheet.empty


def is_ready(ssn: Session, job: JobInfo, statement: Statement) -> bool:
    """Whether the job's statement may be committed; else it stays open."""
    if ssn.ask_plugins(JOB_READY, job):
        return True
    note_left_open(ssn, job, statement)
    return False


def note_left_open(ssn: Session, job: JobInfo, statement: Statement) -> None:
    """The statement is neither committed nor discarded."""
    if len(statement):
        text = f"{job.uid} keeps {len(statement)} operations uncommitted until the session closes"
        ssn.note_quirk(STATEMENT_LEFT_OPEN, text, at_last=True)
