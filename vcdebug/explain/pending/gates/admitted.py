"""A Volcano Job that this cycle admits: its controller creates the pods afterwards."""

from collections.abc import Sequence

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import count_noun, format_resource, join_names
from vcdebug.explain.answer import CauseHeadline, Finding, count, proof_of
from vcdebug.explain.job_view import WAITING_PHASES, JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins.resourcequota import exhausted_quotas, is_quota_count, next_pod_amounts
from vcdebug.model.names import NodeName
from vcdebug.model.pod import Pod
from vcdebug.model.pod_resources import get_pod_resource_request
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.manifest import GROUP_ANNOTATION, owners_of
from vcdebug.snapshot.workloads import next_pods_of

ADMITTED_CAUSE = "admitted"
_VOLCANO_JOB = "batch.volcano.sh/"


def admitted(view: JobView) -> Finding | None:
    """The finding if this cycle admits the PodGroup of a Volcano Job without pods; None otherwise."""
    job, end = view.job, len(view.recording)
    phases = view.recording.timeline.opening_phases, view.recording.timeline.state_at(end).phases
    opening_phase, final_phase = (phase_by_job[job.uid] for phase_by_job in phases)
    if view.tasks or view.hidden_pods or opening_phase not in WAITING_PHASES or final_phase in WAITING_PHASES:
        return None
    owners = owners_of(job.pod_group.manifest)
    owned = any(one.get("kind") == "Job" and str(one.get("apiVersion")).startswith(_VOLCANO_JOB) for one in owners)
    full_quota = next(exhausted_quotas(view.recording, job.namespace, next_pod_amounts(view)), None)
    if full_quota is not None or not owned:
        return None
    headline = CauseHeadline(job.uid, "is admitted in this cycle", "its controller creates its pods next")
    evidence = proof_of(view.action_ends(ENQUEUE), "enqueue has set the PodGroup to Inqueue")
    numbers = {"job.minAvailable": count(job.min_available, "pods")}
    return Finding(ADMITTED_CAUSE, headline, numbers, evidence, facts=(format_fit(view),))


def format_fit(view: JobView) -> str:
    """A sentence: whether the pods that the controller creates next would fit when the cycle ends."""
    tasks, source = _templated_tasks(view), "pod template"
    if not tasks:
        pods, min_resources = max(view.job.min_available, 1), view.job.get_min_resources()
        source = "minResources / minMember"
        pod_request = Resource(min_resources.milli_cpu / pods, min_resources.memory / pods)
        for name, amount in min_resources.items():
            if name not in (CPU, MEMORY) and not is_quota_count(name):
                pod_request.set_scalar(name, amount / pods)
        tasks = [(_nameless_task(view, pod_request), pods)]
    if all(task.resreq.is_empty() for task, _ in tasks):
        return "Its PodGroup has no minResources, so whether the pods would fit is unknown."
    sizes = (f"{count_noun(number, 'pod')} of {format_resource(task.resreq)}" for task, number in tasks)
    return f"{join_names(sizes)} ({source}) {_count_places(view, tasks)}"


def _templated_tasks(view: JobView) -> list[tuple[TaskInfo, int]]:
    """(first pod, number of pods) of each task of the Volcano Job; empty if the snapshot lacks its templates."""
    snapshot = view.recording.snapshot
    pods = [(Pod(each.pod), each.replicas) for each in next_pods_of(snapshot, view.job.pod_group.manifest)]
    return [(TaskInfo(pod, get_pod_resource_request(pod, snapshot.flags)), replicas) for pod, replicas in pods]


def _nameless_task(view: JobView, pod_request: Resource) -> TaskInfo:
    annotations = {GROUP_ANNOTATION: view.job.name}
    metadata = {"name": f"{view.job.name}-0", "namespace": view.job.namespace, "annotations": annotations}
    return TaskInfo(Pod({"metadata": metadata, "spec": {"containers": [{"name": "main"}]}}), pod_request)


def _count_places(view: JobView, tasks: Sequence[tuple[TaskInfo, int]]) -> str:
    """Whether the minimum of pods would fit and where, or how many would; the pods are placed one after another."""
    placed, node_names, taken = 0, dict[NodeName, None](), dict[NodeName, Resource]()
    for task, replicas in tasks:
        fits = NodeFits(view, task, len(view.recording))
        request = [(dimension, amount) for dimension, amount in task.resreq.items() if amount > 0]
        remaining = replicas
        for name in sorted(node.name for node in fits.free_nodes):
            idle, used = fits.state.nodes[name].idle, taken.setdefault(name, Resource())
            rooms = (int((idle.get(dimension) - used.get(dimension)) / amount + 1e-9) for dimension, amount in request)
            count_here = min(remaining, *rooms)
            if count_here > 0:
                used.add(task.resreq.clone().multi(count_here))
                node_names[name] = None
                remaining -= count_here
        placed += replicas - remaining
        if remaining == replicas and fits.reason_histogram:
            reason, nodes = fits.reason_histogram[0]
            return f"would not fit now: {reason} ({count_noun(len(nodes), 'node')})."
    if placed >= view.job.min_available:
        return f"would fit on {join_names(node_names)}."
    return f"would not fit now: the nodes have room for {placed}."
