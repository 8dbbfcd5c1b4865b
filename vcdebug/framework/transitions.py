"""The state changes that statements and the session make, and undo, each recorded as one operation.

Upstream: framework/statement, framework/session (Allocate, Pipeline, Evict and their opposites).
"""

from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import JOB_READY
from vcdebug.framework.persistence import bind_conflict
from vcdebug.framework.quirks import BOUND_BECOMES_RUNNING, VICTIM_LEAVES_TWICE
from vcdebug.framework.record import ALLOCATE_OP, OpEvent, fast_tuple
from vcdebug.framework.reuse import OperationStep
from vcdebug.framework.session import Session
from vcdebug.model.devices import BoundCharging
from vcdebug.model.node import binding_error
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases.scheduling import PR_5854
from vcdebug.snapshot.cycle_inputs import EARLY_NEWS


def update_status(ssn: Session, task: TaskInfo, status: TaskStatus) -> str | None:
    """Change the task's status in its job; returns an error for a task without a job, whose status stays."""
    job = ssn.jobs.get(task.job)
    if job is None:
        return f"failed to find job {task.job}"
    job.update_task_status(task, status)
    return None


def record_op(
    ssn: Session,
    op: str,
    task: TaskInfo,
    *,
    node: str,
    reason: str | None = None,
    eviction: bool | None = None,
    via: str | None = None,
) -> None:
    """Record an operation that has happened, with the figures that it changed."""
    record = ssn.record
    if record.running_call_count:
        return
    if ssn.previous_cycle is not None:
        ssn.previous_cycle.repeat_step(OperationStep(op, task.key, node))
    place = record.figures.write_row(task, ssn.nodes.get(node), *ssn.open_accounts.changed_by_operation(task))
    record.add_operation(fast_tuple(OpEvent, (op, task.key, node, record.figures, place, reason, eviction, via)))


def _update_node(ssn: Session, task: TaskInfo) -> None:
    node = ssn.nodes.get(task.node_name)
    if node is None:
        return
    error = node.update_task(task)
    if error is not None:
        raise SchedulerPanic(error)


def evict(ssn: Session, task: TaskInfo, reason: str, via: str | None = None) -> None:
    """Running or Bound becomes Releasing; outside a statement (`via`) the cache evicts first, even if the session then
    panics.
    Upstream: framework/statement.Evict, framework/session.Evict.
    """
    ssn.evicting = (task.key, task.node_name, reason) if via is not None else None
    node = ssn.nodes.get(task.node_name)
    if node is not None and node.tasks.get(task.key) is task:
        ssn.note_quirk(
            VICTIM_LEAVES_TWICE,
            "{} is {}'s own object: it is Releasing before the node removes it",
            task.key,
            node.name,
        )
    update_status(ssn, task, TaskStatus.RELEASING)
    _update_node(ssn, task)
    ssn.notify_deallocated(task)
    record_op(ssn, "evict", task, node=task.node_name, reason=reason, via=via)
    ssn.evicting = None


def unevict(ssn: Session, task: TaskInfo) -> None:
    """A Releasing task becomes Running, even if it was Bound before. Upstream: framework/statement.unevict."""
    if task.pod.phase != "Running":
        ssn.note_quirk(BOUND_BECOMES_RUNNING, "{} was Bound and is Running from here on", task.key)
    update_status(ssn, task, TaskStatus.RUNNING)
    _update_node(ssn, task)
    ssn.notify_allocated(task)
    record_op(ssn, "unevict", task, node=task.node_name)


def allocate_volumes(ssn: Session, task: TaskInfo, host: str, *, at_once: bool) -> str | None:
    """Assume the task's volumes on the node, in releases where the cache does so; returns the error, if any."""
    volumes, node = ssn.cache_volumes, ssn.nodes.get(host)
    return None if volumes is None or node is None else volumes.allocate(task.pod, host, node.labels, at_once=at_once)


def revert_volumes(ssn: Session, task: TaskInfo) -> None:
    """Release the task's volumes, in releases where the cache assumes them."""
    if ssn.cache_volumes is not None:
        ssn.cache_volumes.revert(task.pod)


PLACING_STEP = {TaskStatus.ALLOCATED: "allocating", TaskStatus.PIPELINED: "pipeline"}
"""The word for the step in upstream's log."""


def place_task(
    ssn: Session, task: TaskInfo, host: str, status: TaskStatus, *, reads_handlers: bool = True
) -> list[str]:
    """Put the task on the node as Allocated or Pipelined and call the handlers; returns all errors that occurred.

    Only a statement reads, and logs, the handlers' errors.
    Upstream: framework/statement.Allocate, framework/statement.Pipeline.
    """
    ssn.draws.count_placement(task.key)
    errors = [update_status(ssn, task, status)]
    task.node_name = host
    node = ssn.nodes.get(host)
    if node is not None and ssn.restored.get(task.uid) == host:
        # The node was restored: it already holds the task as Pipelined.
        node.remove_task(task)
    errors.append(f"failed to find node {host}" if node is None else node.add_task(task))
    if node is not None and errors[-1] is not None:
        ssn.log("statement.unadded", task.key, host, PLACING_STEP[status], errors[-1])
    refusals = ssn.notify_allocated(task)
    for refusal in refusals if reads_handlers else ():
        ssn.log("statement.refused", task.key, host, PLACING_STEP[status], refusal)
    return [error for error in errors if error is not None] + refusals


def unplace_task(ssn: Session, task: TaskInfo, op: str) -> None:
    """Set the task back to Pending; unpipeline and unallocate take the same steps.

    A task that an earlier cycle pipelined goes back to that place from an allocation. Leaving that place calls no
    handler, since taking it called none.
    Upstream: framework/statement.unPipeline, framework/statement.unallocate.
    """
    if op == "unallocate":
        revert_volumes(ssn, task)
    if task.uid in ssn.restored:
        if op == "unallocate":
            _restore_pipelined(ssn, task)
        else:
            _release_restored(ssn, task)
        return
    update_status(ssn, task, TaskStatus.PENDING)
    host = task.node_name
    node = ssn.nodes.get(host)
    if node is not None:
        node.remove_task(task)
    ssn.notify_deallocated(task)
    task.node_name = ""
    task.job_allocated_hyper_node = ""
    if op == "unallocate" and ssn.release.has_older_form(PR_5854):
        task.pod.node_name = ""
    record_op(ssn, op, task, node=host)


def _restore_pipelined(ssn: Session, task: TaskInfo) -> None:
    """Turn the allocation back into the pipelined state that the earlier cycle left."""
    update_status(ssn, task, TaskStatus.PIPELINED)
    host = task.node_name
    node = ssn.nodes[host]
    node.remove_task(task)
    ssn.notify_deallocated(task)
    task.job_allocated_hyper_node = ""
    node.add_task(task)
    record_op(ssn, "unallocate", task, node=host)


def _release_restored(ssn: Session, task: TaskInfo) -> None:
    """Remove the task from the node on which an earlier cycle pipelined it."""
    host = ssn.restored.pop(task.uid)
    update_status(ssn, task, TaskStatus.PENDING)
    ssn.nodes[host].remove_task(task)
    task.node_name = ""
    record_op(ssn, "unpipeline", task, node=host)


def add_bind_task(ssn: Session, task: TaskInfo) -> str | None:
    """Hand the bind to the cache; returns an error if it is bound or does not fit. Upstream: cache.AddBindTask."""
    idle = ssn.cached_idle.get(task.node_name)
    if idle is None:
        return f"failed to bind Task {task.uid} to host {task.node_name}, host does not exist"
    if (conflict := bind_conflict(ssn, task, task.node_name)) is not None:
        return conflict
    if (bound_node := ssn.given_to_cache.get(task.key)) is not None:
        place = "node" if bound_node == task.node_name else "different node"
        return f"task <{task.key}> already on {place} <{bound_node}>"
    fits, names = task.resreq.less_equal_with_resources_name(idle)
    if not fits:
        return binding_error(task.node_name, task, names, idle)
    idle.sub_without_assert(task.resreq)
    ssn.given_to_cache[task.key] = task.node_name
    for ledger in ssn.nodes[task.node_name].devices.values():
        if isinstance(ledger, BoundCharging):
            ledger.charge_bound(task.pod, has_news=ssn.snapshot.chance.card_news.get(task.key) == EARLY_NEWS)
    return None


def dispatch(ssn: Session, task: TaskInfo) -> None:
    """Set Allocated to Binding; the node's copy stays Allocated. Upstream: framework/session.dispatch."""
    ssn.restored.pop(task.uid, None)
    update_status(ssn, task, TaskStatus.BINDING)
    ssn.record.add_change("task", task.key, (task.status, task.node_name))


def pipeline(ssn: Session, task: TaskInfo, host: str) -> None:
    """Pipeline a task without a statement; handlers' errors are ignored. Upstream: framework/session.Pipeline."""
    place_task(ssn, task, host, TaskStatus.PIPELINED, reads_handlers=False)
    record_op(ssn, "pipeline", task, node=host, eviction=False, via="session")


def allocate(ssn: Session, task: TaskInfo, host: str) -> str | None:
    """Allocate without rollback; a ready job's Allocated tasks are bound. Upstream: framework/session.Allocate."""
    job = ssn.jobs.get(task.job)
    if job is None:
        return f"failed to find job {task.job}"
    if (refused := allocate_volumes(ssn, task, host, at_once=True)) is not None:
        return refused
    ssn.draws.count_placement(task.key)
    task.pod.node_name = host
    job.update_task_status(task, TaskStatus.ALLOCATED)
    task.node_name = host
    node = ssn.nodes.get(host)
    error = f"failed to find node {host}" if node is None else node.add_task(task)
    if error is not None:
        ssn.record.add_change("task", task.key, (task.status, task.node_name))
        return error
    ssn.notify_allocated(task)
    record_op(ssn, ALLOCATE_OP, task, node=host, via="session")
    if not ssn.ask_plugins(JOB_READY, job):
        revert_volumes(ssn, task)
        return None
    for allocated in job.tasks_with_status(TaskStatus.ALLOCATED):
        error = add_bind_task(ssn, allocated)
        if error is not None:
            ssn.log("session.undispatched", allocated.key, error)
            return error
        dispatch(ssn, allocated)
        record_op(ssn, "bind", allocated, node=allocated.node_name, via="session")
    return None
