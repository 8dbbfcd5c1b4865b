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
    """None unless this cycle admits the PodGroup of a Volcano Job that has no pods yet."""
    job, end = view.job, len(view.recording)
    phases = view.recording.timeline.opening_phases, view.recording.timeline.state_at(end).phases
    was, now = (each[job.uid] for each in phases)
    if view.tasks or view.hidden_pods or was not in WAITING_PHASES or now in WAITING_PHASES:
        return None
    full = next(exhausted_quotas(view.recording, job.namespace, next_pod_amounts(view)), None)
    if full is not None or not _owned_by_volcano_job(view):
        return None
    headline = CauseHeadline(job.uid, "is admitted in this cycle", "its controller creates its pods next")
    evidence = proof_of(view.action_ends(ENQUEUE), "enqueue has set the PodGroup to Inqueue")
    numbers = {"job.minAvailable": count(job.min_available, "pods")}
    return Finding(ADMITTED_CAUSE, headline, numbers, evidence, facts=(_format_fit(view),))


def _owned_by_volcano_job(view: JobView) -> bool:
    owners = owners_of(view.job.pod_group.manifest)
    return any(one.get("kind") == "Job" and str(one.get("apiVersion")).startswith(_VOLCANO_JOB) for one in owners)


def _format_fit(view: JobView) -> str:
    """Whether pods of the size that minResources and minMember state would fit when the cycle ends."""
    pods, total = max(view.job.min_available, 1), view.job.get_min_resources()
    each = Resource(total.milli_cpu / pods, total.memory / pods)
    for name, amount in total.items():
        if name not in (CPU, MEMORY) and not is_quota_count(name):
            each.set_scalar(name, amount / pods)
    if each.is_empty():
        return "Its PodGroup has no minResources, so whether the pods would fit is unknown."
    room = dict(_iter_room(view, each))
    size = f"{count_noun(pods, 'pod')} of {format_resource(each)} (minResources / minMember)"
    found, taking = 0, list[NodeName]()
    for name, places in sorted(room.items()):
        if found < pods:
            found, taking = found + places, [*taking, name]
    if found >= pods:
        return f"{size} would fit on {join_names(taking)}."
    return f"{size} would not fit now: the nodes have room for {found}."


def _iter_room(view: JobView, each: Resource) -> Iterator[tuple[NodeName, int]]:
    """The nodes that would take such a pod, and how many of them."""
    metadata = {
        "name": f"{view.job.name}-0",
        "namespace": view.job.namespace,
        "annotations": {GROUP_ANNOTATION: view.job.name},
    }
    task = TaskInfo(Pod({"metadata": metadata, "spec": {"containers": [{"name": "main"}]}}), each)
    fits = NodeFits(view, task, len(view.recording))
    for node in fits.free_nodes:
        idle = fits.state.nodes[node.name].idle
        yield node.name, min(int(idle.get(name) / amount + 1e-9) for name, amount in each.items() if amount > 0)
