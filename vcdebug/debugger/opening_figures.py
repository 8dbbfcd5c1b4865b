"""Figures that the session computes when it opens: amounts of nodes, counts of jobs, shares and limits of queues."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from vcdebug.debugger import facts, figures
from vcdebug.debugger.figures import JOB, NODE, PLUGIN, QUEUE, TASK, Figure
from vcdebug.explain.decisions.queue_figures import (
    capacity_tree,
    counted_queues,
    real_capability,
    reservation_ledger,
    stated_deserved,
)
from vcdebug.explain.queue_index import children_of
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.queue import ROOT_QUEUE
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import OVERCOMMIT
from vcdebug.plugins.overcommit import FACTOR_KEY
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import key_of


def opening_origin(recording: Recording, figure: Figure) -> facts.Origin:
    """The manifest fields that state an opening figure, or the rule by which the session computes it."""
    if figure.name == ROOT_QUEUE and figure.part in ("deserved", "guarantee") and capacity_tree(recording) is not None:
        children = (facts.FigureFact(figure._replace(name=child), 0) for child in children_of(recording, ROOT_QUEUE))
        return facts.first_sources("the sum of its children's", "queue", map(partial(facts.Source, "child"), children))
    fields = facts.field_sources(facts.stated_fields(recording, figure))
    derive = OPENING_RULES.get((figure.kind, figure.part))
    if fields or derive is not None:
        return facts.Origin("", fields) if fields or derive is None else derive(recording, figure)
    if figure.part == "request":
        return facts.Origin("each pod counts as one" if figure.dim == PODS else "no container requests it")
    _, (path, *_) = facts.STATED_FIELDS[figure.kind, figure.part]
    what_holds = UNSTATED.get(f"{figure.kind} {figure.part}", "")
    return facts.Origin(f"{path} {figure.dim}".rstrip() + f" is not stated{what_holds}")


UNSTATED: Final = {
    "queue capability": ": unlimited",
    "queue ancestors": f": queue {ROOT_QUEUE} is above every other queue",
    "task node": ": the pod has no node",
    "task priority": ", nor is spec.priority: it counts as 1",
}
"""Kind and part of a figure that a field states → what holds where the field is missing, if it is not 0."""


NODE_AMOUNTS: Final = {
    "idle": ("allocatable less the requests of the pods on it", ""),
    "used": ("the sum of the requests of the pods on it", ""),
    "releasing": ("the requests of pods that are terminating", TaskStatus.RELEASING),
    "pipelined": ("the requests of pods that are pipelined to this node", TaskStatus.PIPELINED),
}
"""Amount of a node when the session opens → (rule, status of the pods whose requests count; empty for all)."""


def _derive_node_amount(recording: Recording, figure: Figure) -> facts.Origin:
    line, (rule, status) = recording.timeline, NODE_AMOUNTS[figure.part]
    keys = line.opening_on_node.get(figure.name, ())
    counted = (key for key in keys if status in ("", line.opening_tasks[key].status))
    pods = _requests_of([line.tasks[key] for key in counted], figure.dim)
    parts = facts.figure_parts(figure, ("allocatable",), 0) if figure.part == "idle" else ()
    return facts.first_sources(rule, "fact", (*parts, *pods))


def _requests_of(tasks: Iterable[TaskInfo], dim: str) -> Iterator[facts.Source]:
    """Sources for the requests of tasks that request a dimension; of all tasks if `dim` is empty."""
    for task in tasks:
        if not dim or task.resreq.get(dim) > 0:
            yield facts.Source("pod", facts.FigureFact(Figure(TASK, task.key, "request", dim), 0))


def _derive_total_request(recording: Recording, figure: Figure) -> facts.Origin:
    tasks = recording.session.jobs[figure.name].tasks.values()
    return facts.first_sources("the sum of its pods' requests", "pod", _requests_of(tasks, figure.dim))


def _derive_count(recording: Recording, figure: Figure) -> facts.Origin:
    """A job's count of pods in some statuses."""
    counts = recording.timeline.opening_counts[figure.name]
    rule = ", ".join(f"{count} {status.upstream_name}" for status, count in counts.items() if count) or "it has no pods"
    tasks = (task.key for task in recording.session.jobs[figure.name].tasks.values())
    states = (facts.Source("pod", facts.FigureFact(Figure(TASK, key, "status"), 0)) for key in tasks)
    return facts.first_sources(rule, "pod", states)


def _minimum_fields(recording: Recording, jobs: Iterable[JobId], dim: str) -> Iterator[facts.Source]:
    """Sources for the field minResources of the jobs' PodGroups."""
    groups = {key_of(group): group for group in recording.snapshot.objects_of("PodGroup")}
    for job in jobs:
        field = facts.read_field("PodGroup", groups.get(job, {}), "spec", "minResources", *((dim,) if dim else ()))
        if field is not None:
            yield facts.Source("job", field)


def _jobs_of(recording: Recording, figure: Figure) -> list[JobInfo]:
    """The job of the figure, or all jobs that count for its queue."""
    if figure.kind == JOB:
        return [recording.session.jobs[figure.name]]
    family = counted_queues(recording, figure.name)
    return [job for job in recording.session.jobs.values() if job.queue in family]


def _derive_elastic(recording: Recording, figure: Figure) -> facts.Origin:
    """What the queue's jobs have above their minResources; jobs without a pod on a node have nothing."""
    opening = recording.timeline.opening_tasks
    jobs = _jobs_of(recording, figure)
    placed = [job.uid for job in jobs if any(opening[task.key].node for task in job.tasks.values())]
    allocated = facts.figure_parts(figure, ("allocated",), 0)
    minimums = _minimum_fields(recording, placed, figure.dim)
    return facts.first_sources("allocated of its jobs above their minResources", "fact", (*allocated, *minimums))


def _derive_requests(recording: Recording, figure: Figure) -> facts.Origin:
    """A sum of requests of the pods of a job or queue: of all pods (`request`) or of those with a node."""
    opening, of_queue = recording.timeline.opening_tasks, figure.kind == QUEUE
    tasks = [task for job in _jobs_of(recording, figure) for task in job.tasks.values()]
    summed = [task for task in tasks if figure.part == "request" or opening[task.key].node]
    state = "are Pending or have a node" if figure.part == "request" else "have a node"
    pods = "its jobs' pods" if of_queue else "its pods"
    rule = f"the sum of the requests of {pods} that {state}"
    return facts.first_sources(rule, "pod", _requests_of(summed, figure.dim))


def _derive_job_share(recording: Recording, figure: Figure) -> facts.Origin:
    """A job's share of the cluster, and the resource that decides it."""
    rule = "the largest of allocated / total of the cluster, over all resources"
    total = facts.figure_parts(Figure(PLUGIN, figure.plugin, "", "", figure.plugin), ("total",), 0)
    return facts.Origin(rule, (*facts.figure_parts(figure, ("allocated",), 0), *total))


def _derive_reserved(recording: Recording, figure: Figure) -> facts.Origin:
    """The minResources that admitted jobs reserve, in a queue or in all queues."""
    entries = reservation_ledger(recording, 0, figure.name if figure.kind == QUEUE else "")
    reserving = [entry.job for entry in entries if entry.reserved is not None and _counts(entry.reserved, figure.dim)]
    if not reserving:
        return facts.Origin("no admitted job without running pods reserves any")
    minimums = _minimum_fields(recording, reserving, figure.dim)
    return facts.first_sources("the sum of what admitted jobs reserve", "job", minimums)


def _counts(amount: Resource, dim: str) -> bool:
    return amount.get(dim) > 0 if dim else not amount.is_empty()


def _derive_limit(recording: Recording, figure: Figure) -> facts.Origin:
    """A queue's deserved amount or real capability, by the formula of the quota plugin."""
    find_equation = {"deserved": stated_deserved, "realCapability": real_capability}[figure.part]
    equation = find_equation(recording, figure.name)
    parent, rivals = _shared_amount(recording, figure.name)
    nodes = [facts.Source("node", fact) for fact in facts.cluster_total(recording, figure.dim)]
    if equation is None:
        asked = facts.figure_parts(figure, ("request",), 0)
        figures_of = (Figure(QUEUE, queue, "weight") for queue in recording.session.queues)
        weights = (facts.Source("weight", facts.FigureFact(weight, 0)) for weight in figures_of)
        rule = "shared out by weight, no queue gets more than it requests"
        return facts.first_sources(rule, "fact", (*asked, *weights, *nodes))
    fields = facts.field_sources(facts.stated_queue_fields(recording, figure, rivals))
    of_parent = [facts.Source("parent", facts.FigureFact(figure._replace(name=parent), 0))]
    whole = () if figure.part == "deserved" else of_parent if parent else nodes
    return facts.first_sources(equation.formula, "fact", (*fields, *whole))


def _shared_amount(recording: Recording, name: QueueName) -> tuple[QueueName, list[QueueName]]:
    """(parent that limits a queue, empty for the cluster; other queues with guarantees from the same amount)."""
    queues = recording.session.queues
    if capacity_tree(recording) is None:
        return "", [other for other in queues if other != name]
    parents = {queue.name: queue.parent or ROOT_QUEUE for queue in queues.values() if queue.name != ROOT_QUEUE}
    parent = parents.get(name, "")
    rivals = [other for other, of_other in parents.items() if of_other == parent and other != name]
    return "" if parent == ROOT_QUEUE else parent, rivals


def _derive_overcommit(recording: Recording, figure: Figure) -> facts.Origin:
    """What overcommit leaves for admissions, and the cluster's total and the factor from which it follows."""
    if figure.part == "factor":
        factor = figures.format_figure(figure, figures.figure_value(recording, figure, 0))
        setting = facts.FieldFact("scheduler.conf", "", (OVERCOMMIT, FACTOR_KEY), factor)
        return facts.Origin("the argument, or the default", (facts.Source("setting", setting),))
    totals = [fact.figure for fact in facts.cluster_total(recording, figure.dim)]
    if figure.part == "total":
        nodes = (facts.Source("node", facts.FigureFact(total, 0)) for total in totals)
        return facts.first_sources("the sum of what the nodes have", "node", nodes)
    parts = [figure._replace(part="total"), figure._replace(part="factor", dim="")]
    used = (facts.Source("used", facts.FigureFact(total._replace(part="used"), 0)) for total in totals)
    sources = [facts.Source(part.part, facts.FigureFact(part, 0)) for part in parts]
    return facts.first_sources("total × factor − what the pods use", "fact", (*sources, *used))


def _derive_task_queue(recording: Recording, figure: Figure) -> facts.Origin:
    group = facts.find_manifest(recording, "PodGroup", recording.owners.jobs.get(figure.name, ""))
    field = None if group is None else facts.read_field("PodGroup", group, "spec", "queue")
    return facts.Origin("the queue of its PodGroup", facts.field_sources([field] if field is not None else []))


OPENING_RULES: Final[Mapping[tuple[str, str], Callable[[Recording, Figure], facts.Origin]]] = {
    **{(NODE, part): _derive_node_amount for part in NODE_AMOUNTS},
    (JOB, figures.TOTAL_REQUEST): _derive_total_request,
    (QUEUE, "allocated"): _derive_requests,
    (QUEUE, "request"): _derive_requests,
    (JOB, "allocated"): _derive_requests,
    **dict.fromkeys(((JOB, "share"), (JOB, "dominant")), _derive_job_share),
    (QUEUE, "inqueue"): _derive_reserved,
    (QUEUE, "elastic"): _derive_elastic,
    **{(JOB, part): _derive_count for part in (*figures.SUMMED_COUNTS, *figures.STATUS_COUNTS)},
    (PLUGIN, "inqueue"): _derive_reserved,
    **dict.fromkeys(((PLUGIN, "idle"), (PLUGIN, "total"), (PLUGIN, "factor")), _derive_overcommit),
    (TASK, QUEUE): _derive_task_queue,
    (QUEUE, "deserved"): _derive_limit,
    (QUEUE, "realCapability"): _derive_limit,
}
"""(kind, part) → function that derives the figure's opening value."""
