"""Rules of task state persistence: leaving a restored node, guarded subtraction, and the annotations to write.

Upstream: none; the design is "task state persistence across sessions".
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from vcdebug.framework.quirks import BOOKS_CLAMPED, BOUND_ALREADY, BOUND_ELSEWHERE
from vcdebug.framework.session import Session
from vcdebug.model.names import QueueName, TaskKey
from vcdebug.model.pod import ANNOTATIONS, EVICTION_ANNOTATION, NODE_ANNOTATION, STATUS_ANNOTATION, TRUE
from vcdebug.model.queue import ROOT_QUEUE, QueueInfo
from vcdebug.model.resource import Resource, set_amount
from vcdebug.model.task import TaskInfo, TaskStatus


class AnnotationPatch(Struct, frozen=True):
    """The changes that the cycle would make to one pod's annotations."""

    pod: TaskKey
    set: Mapping[str, str]
    remove: tuple[str, ...]


def clamp_request(ssn: Session, plugin: str, holder: str, holdings: Resource, request: Resource) -> Resource:
    """The request with each amount limited to what the holder has; unchanged if persistence is off."""
    if not ssn.persistence.is_on:
        return request
    names = [name for name, amount in request.items() if holdings.get(name) < amount]
    if not names:
        return request
    ssn.note_quirk(BOOKS_CLAMPED, f"{plugin}: {holder} has less {', '.join(names)} than is released; it stays at 0")
    cut = request.clone()
    for name in names:
        set_amount(cut, name, max(holdings.get(name), 0.0))
    return cut


def counted_request(ssn: Session, queue: QueueName, request: Resource) -> Resource:
    """The part of a request that counts for the queue's limits; with persistence, only configured scalars."""
    info = ssn.queues.get(queue)
    if not ssn.persistence.is_on or info is None:
        return request
    configured = {**(info.capability or {}), **(info.deserved or {}), **(info.guarantee or {})}
    scalars = {name: amount for name, amount in (request.scalars or {}).items() if name in configured}
    return Resource(request.milli_cpu, request.memory, scalars, request.max_task_num)


def limiting_queues(ssn: Session) -> dict[QueueName, QueueInfo]:
    """The session's queues; with persistence, the root queue comes without its own limits."""
    root = ssn.queues.get(ROOT_QUEUE)
    if not ssn.persistence.is_on or root is None:
        return ssn.queues
    spec = {key: value for key, value in root.spec.items() if key not in ("capability", "deserved", "guarantee")}
    return {**ssn.queues, ROOT_QUEUE: QueueInfo({**root.manifest, "spec": spec})}


def bind_conflict(ssn: Session, task: TaskInfo, host: str) -> str | None:
    """The error of binding the pod if it is already bound to another node; None if bound to `host`, or not bound."""
    bound = ssn.snapshot.bound.get(task.key, "") if ssn.persistence.is_on else ""
    if not bound:
        return None
    if bound == host:
        ssn.note_quirk(BOUND_ALREADY, f"{task.key} is bound to {host} already: the bind succeeds", at_last=True)
        return None
    ssn.note_quirk(
        BOUND_ELSEWHERE, f"{task.key} is bound to {bound} already, not to {host}: the bind fails", at_last=True
    )
    return f"pod {task.key} is already bound to {bound}, not to {host}"


def annotation_patches(ssn: Session) -> tuple[AnnotationPatch, ...]:
    """One patch per pod whose annotations would change; empty if persistence is off."""
    if not ssn.persistence.is_on:
        return ()
    return tuple(patch for task in _iter_tasks(ssn) if (patch := _task_patch(ssn, task)) is not None)


def _iter_tasks(ssn: Session) -> Iterator[TaskInfo]:
    for job in ssn.jobs.values():
        for uid in sorted(job.tasks):
            yield job.tasks[uid]


def _task_patch(ssn: Session, task: TaskInfo) -> AnnotationPatch | None:
    """Annotate pipelined tasks; remove the annotations of bound tasks and of those that lost their restored node.

    A restored task that was allocated and never committed keeps its annotations.
    """
    present = task.pod.annotations
    annotations: dict[str, str] = {}
    obsolete: tuple[str, ...] = ()
    if task.status is TaskStatus.PIPELINED:
        annotations = {STATUS_ANNOTATION: TRUE, NODE_ANNOTATION: task.node_name}
        if task.eviction_occurred:
            annotations[EVICTION_ANNOTATION] = TRUE
        else:
            obsolete = (EVICTION_ANNOTATION,)
    elif task.status is TaskStatus.BINDING or (task.uid in ssn.cluster.restored and task.uid not in ssn.restored):
        obsolete = ANNOTATIONS
    remove = tuple(name for name in obsolete if name in present)
    changed = {name: text for name, text in annotations.items() if present.get(name) != text}
    return AnnotationPatch(task.key, changed, remove) if changed or remove else None
