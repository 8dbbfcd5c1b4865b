"""What of a snapshot the session never sees, and why.

Upstream: cache/event_handlers, cache.Snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.model.names import JobId
from vcdebug.model.pod import GROUP_ANNOTATION, Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.snapshot.manifest import name_of
from vcdebug.trace.odd_nodes import noteworthy_nodes
from vcdebug.trace.recording import Recording
from vcdebug.trace.steps import SessionStep


def iter_nodes_left_out(recording: Recording) -> Iterator[SessionStep]:
    """Nodes that the scheduler's node selector does not take, and those that take part although they are not Ready."""
    for manifest in recording.snapshot.objects_of("Node"):
        name = name_of(manifest)
        if name not in recording.session.nodes:
            yield SessionStep(f"node {name}", "left out: --node-selector does not take it", good=False)
        elif ready := noteworthy_nodes(recording).get(name, ""):
            said = f"in the session: the condition Ready is {ready}, but only taints keep pods away"
            yield SessionStep(f"node {name}", said, subject=("node", name))


def iter_jobs_left_out(recording: Recording) -> Iterator[SessionStep]:
    """PodGroups of queues that do not exist, and pods that name a PodGroup that does not."""
    known: dict[JobId, None] = {}
    for manifest in recording.snapshot.objects_of("PodGroup"):
        group = PodGroup(manifest)
        job = f"{group.namespace}/{group.name}"
        known[job] = None
        if job not in recording.session.jobs:
            queue = group.queue or recording.snapshot.flags.default_queue
            why = f"queue {queue} does not exist" if queue not in recording.session.queues else "it cannot be read"
            yield SessionStep(f"job {job}", f"left out: {why}", good=False)
    missing = (task.job for task in recording.session.cluster.orphans if task.job not in known)
    for job in dict.fromkeys(missing):
        yield SessionStep(f"job {job}", "left out: there is no such PodGroup", good=False)


def iter_pods_left_out(recording: Recording) -> Iterator[SessionStep]:
    """Pods that no job of the session has, with what still counts of them."""
    session = recording.session
    tasks = dict.fromkeys(task.key for job in session.jobs.values() for task in job.tasks.values())
    for manifest in recording.snapshot.objects_of("Pod"):
        pod = Pod(manifest)
        if pod.key in tasks:
            if pod.node_name and pod.node_name not in session.nodes:
                about = ("task", pod.key)
                yield SessionStep(
                    f"pod {pod.key}", f"on {pod.node_name}, which the session does not have", subject=about
                )
            continue
        yield SessionStep(f"pod {pod.key}", f"left out: {_pod_left_out_reason(recording, pod)}", good=False)


def _pod_left_out_reason(recording: Recording, pod: Pod) -> str:
    flags = recording.snapshot.flags
    if not pod.node_name and pod.scheduler_name not in flags.scheduler_names:
        return f"it has no node, and names scheduler {pod.scheduler_name or 'none'}"
    held = f"; it takes room on {pod.node_name}" if pod.node_name in recording.session.nodes else ""
    if pod.node_name and pod.node_name not in recording.session.nodes:
        held = f"; its node {pod.node_name} is not in the session"
    if not pod.job_id:
        return f"no annotation {GROUP_ANNOTATION}, so that it belongs to no job{held}"
    if pod.job_id not in recording.session.jobs:
        return f"its job {pod.job_id} is not in the session{held}"
    return "its volumes cannot be read, or another pod has its uid"
