"""What happens between two cycles: each rule in a part of its own, and `advance`, which applies them in order.

Differs: of the cluster's other actors only those act that a cycle itself sets going, or that `Between` names. No volume
is provisioned, binds and evictions always succeed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vcdebug.debugger.between.actors import ONE_SECOND, BetweenCycles
from vcdebug.debugger.between.claims import next_claims
from vcdebug.debugger.between.closing import next_pod_groups, next_queues
from vcdebug.debugger.between.pods import next_pods
from vcdebug.framework.record import CloseEvent
from vcdebug.framework.remembered import process_after
from vcdebug.model.pod import Pod
from vcdebug.snapshot.arrivals import with_arrivals
from vcdebug.snapshot.process import SchedulerProcess
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.trace.recording import Recording

__all__ = ["ONE_SECOND", "BetweenCycles", "next_snapshot"]


def next_snapshot(recording: Recording, between: BetweenCycles = BetweenCycles(), number: int = 2) -> Snapshot:  # noqa: B008
    """The snapshot from which cycle `number` starts, with what the process remembers of the cycles before it.

    After a panic another process starts: it finds what was bound and evicted before, and what the close has written.
    """
    snapshot = recording.snapshot
    closed = recording.session.close is not None
    lives = len(recording) > 0 and isinstance(recording.event_at(len(recording)), CloseEvent)
    objects = dict(snapshot.objects)
    if closed:
        objects["PodGroup"] = next_pod_groups(recording)
        objects["Queue"] = next_queues(recording)
    objects["Pod"] = next_pods(recording, between, number, closed=closed)
    if snapshot.objects_of("ResourceClaim"):
        objects["ResourceClaim"] = next_claims(recording, objects["Pod"])
    for kind, manifests in between.iter_arrivals_before(number):
        objects[kind] = with_arrivals(objects.get(kind, []), manifests)
    return replace(
        snapshot,
        objects=objects,
        now=snapshot.now + between.every,
        answers=(),
        bound={},
        persistence="on" if recording.session.persistence.on else snapshot.persistence,
        chance=replace(snapshot.chance, search_start=recording.session.node_search_start if lives else 0),
        process=_next_process(recording, objects["Pod"]) if lives else SchedulerProcess(),
    )


def _next_process(recording: Recording, pods: Iterable[Manifest]) -> SchedulerProcess:
    """A pod that is gone leaves its CPUs on the node where it was bound, and there alone."""
    process = process_after(recording.session)
    if not process.reserved_cpus:
        return process
    there = dict.fromkeys(Pod(manifest).uid for manifest in pods)
    bound = {pod.uid: pod.node_name for pod in map(Pod, recording.snapshot.objects_of("Pod")) if pod.uid not in there}
    kept = tuple(one for one in process.reserved_cpus if bound.get(one.uid) != one.node)
    return replace(process, reserved_cpus=kept)
