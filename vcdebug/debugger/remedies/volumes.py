"""What can be changed about the volumes of a job: its claims, and the drivers that nodes run."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import count_noun
from vcdebug.debugger.remedies.lever import Fix, FixSituation
from vcdebug.explain.answer import AdviceHarm
from vcdebug.grouping import group_by_key
from vcdebug.model.csi import LIMIT_PREFIX
from vcdebug.model.pod import Pod
from vcdebug.snapshot.manifest import name_of

_VOLUME_CAUSES = ("predicates-*", "larger-than-any-node", "gang-discard", "queue-not-allocatable")
_MAX_DRIVER_NODES = 8
_DRIVER_COUNT = 32


def propose_volume_fixes(situation: FixSituation) -> Iterator[Fix]:
    """Levers on claims and on drivers."""
    yield from _propose_claim_fixes(situation)
    yield from _propose_driver_fixes(situation)


def _propose_claim_fixes(situation: FixSituation) -> Iterator[Fix]:
    """Room on the node itself in place of a claim."""
    edits = group_by_key(
        (claim, f"Pod/{pod.key}:spec.volumes[{at}]={{name: {name}, emptyDir: {{}}}}")
        for pod in situation.pending_pods
        for at, name, claim in _iter_volume_claims(pod)
    )
    names = [name_of(m) for m in situation.snapshot.objects_of("PersistentVolumeClaim")]
    for claim, changes in edits.items():
        missing = "" if claim in names else ", which does not exist"
        words = f"mount an emptyDir in place of claim {claim}{missing} ({count_noun(len(changes), 'pod')})"
        yield Fix(words, tuple(changes), AdviceHarm.JOB, _VOLUME_CAUSES, less=True, aspect=f"claim {claim}")


def _iter_volume_claims(pod: Pod) -> Iterator[tuple[int, str, str]]:
    """(place, volume, claim)."""
    for at, volume in enumerate(pod.spec.get("volumes") or ()):
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim:
            yield at, volume["name"], claim


def _propose_driver_fixes(situation: FixSituation) -> Iterator[Fix]:
    """A driver that a claim needs and that no node runs."""
    if situation.job is None:
        return
    asked = dict.fromkeys(
        name.removeprefix(LIMIT_PREFIX)
        for task in situation.job.tasks.values()
        for name in task.init_resreq.resource_names()
        if name.startswith(LIMIT_PREFIX)
    )
    nodes = situation.recording.session.nodes
    known = {name_of(m) for m in situation.snapshot.objects_of("CSINode")}
    for driver in asked:
        if any(node.allocatable.get(LIMIT_PREFIX + driver) > 0 for node in nodes.values()):
            continue
        entry = f"{{name: {driver}, nodeID: n, allocatable: {{count: {_DRIVER_COUNT}}}}}"
        places = list(nodes)[:_MAX_DRIVER_NODES]
        edits = tuple(
            f"CSINode/{name}:spec.drivers[+]={entry}" if name in known else _csi_node_edit(name, entry)
            for name in places
        )
        words = f"run the volume driver {driver} on {count_noun(len(places), 'node')}"
        yield Fix(words, edits, AdviceHarm.CLUSTER, _VOLUME_CAUSES, aspect=f"driver {driver}")


def _csi_node_edit(node: str, entry: str) -> str:
    return f"CSINode/{node}:+={{apiVersion: storage.k8s.io/v1, spec: {{drivers: [{entry}]}}}}"
