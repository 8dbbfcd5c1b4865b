"""A Volcano Job that this cycle admits: its controller creates the pods afterwards."""

from collections.abc import Iterator

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import count_noun, format_resource, join_names
from vcdebug.explain.answer import CauseHeadline, Finding, count, proof_of
from vcdebug.explain.job_view import WAITING_PHASES, JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates.placed import ADMITTED_CAUSE
from vcdebug.explain.plugins.resourcequota import exhausted_quotas, is_quota_count, next_pod_amounts
from vcdebug.model.names import NodeName
from vcdebug.model.pod import Pod
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.manifest import GROUP_ANNOTATION, owners_of

_VOLCANO_JOB = "batch.volcano.sh/"


def admitted(view: JobView) -> Finding | None:
    """The finding if this cycle admits the PodGroup of a Volcano Job without pods; None otherwise."""
    job, end = view.job, len(view.recording)
    phases = view.recording.timeline.opening_phases, view.recording.timeline.state_at(end).phases
    opening_phase, final_phase = (each[job.uid] for each in phases)
    if view.tasks or view.hidden_pods or opening_phase not in WAITING_PHASES or final_phase in WAITING_PHASES:
        return None
    full_quota = next(exhausted_quotas(view.recording, job.namespace, next_pod_amounts(view)), None)
    if full_quota is not None or not _owned_by_volcano_job(view):
        return None
    headline = CauseHeadline(job.uid, "is admitted in this cycle", "its controller creates its pods next")
    evidence = proof_of(view.action_ends(ENQUEUE), "enqueue has set the PodGroup to Inqueue")
    numbers = {"job.minAvailable": count(job.min_available, "pods")}
    return Finding(ADMITTED_CAUSE, headline, numbers, evidence, facts=(_format_fit(view),))


def _owned_by_volcano_job(view: JobView) -> bool:
    owners = owners_of(view.job.pod_group.manifest)
    return any(one.get("kind") == "Job" and str(one.get("apiVersion")).startswith(_VOLCANO_JOB) for one in owners)


def _format_fit(view: JobView) -> str:
    """A sentence: whether minMember pods of the size minResources / minMember would fit when the cycle ends."""
    pods, min_resources = max(view.job.min_available, 1), view.job.get_min_resources()
    pod_request = Resource(min_resources.milli_cpu / pods, min_resources.memory / pods)
    for name, amount in min_resources.items():
        if name not in (CPU, MEMORY) and not is_quota_count(name):
            pod_request.set_scalar(name, amount / pods)
    if pod_request.is_empty():
        return "Its PodGroup has no minResources, so whether the pods would fit is unknown."
    room = dict(_iter_room(view, pod_request))
    size = f"{count_noun(pods, 'pod')} of {format_resource(pod_request)} (minResources / minMember)"
    fitting_pods, node_names = 0, list[NodeName]()
    for name, places in sorted(room.items()):
        if fitting_pods < pods:
            fitting_pods, node_names = fitting_pods + places, [*node_names, name]
    if fitting_pods >= pods:
        return f"{size} would fit on {join_names(node_names)}."
    return f"{size} would not fit now: the nodes have room for {fitting_pods}."


def _iter_room(view: JobView, pod_request: Resource) -> Iterator[tuple[NodeName, int]]:
    """Yields (node, number of pods) for nodes that have room for pods of this size."""
    metadata = {
        "name": f"{view.job.name}-0",
        "namespace": view.job.namespace,
        "annotations": {GROUP_ANNOTATION: view.job.name},
    }
    task = TaskInfo(Pod({"metadata": metadata, "spec": {"containers": [{"name": "main"}]}}), pod_request)
    fits = NodeFits(view, task, len(view.recording))
    for node in fits.free_nodes:
        idle = fits.state.nodes[node.name].idle
        yield node.name, min(int(idle.get(name) / amount + 1e-9) for name, amount in pod_request.items() if amount > 0)
