"""What can be changed about the volumes of a job: its claims, and the drivers that nodes run."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import plural
from vcdebug.debugger.remedies.lever import Lever, Situation
from vcdebug.explain.answer import Harm
from vcdebug.grouping import by_key
from vcdebug.model.csi import LIMIT_PREFIX
from vcdebug.model.pod import Pod
from vcdebug.snapshot.manifest import name_of

_VOLUMES = ("predicates-*", "larger-than-any-node", "gang-discard", "queue-not-allocatable")
_MOST_NODES = 8
_COUNT = 32


def of_volumes(situation: Situation) -> Iterator[Lever]:
    """Levers on claims and on drivers."""
    yield from _without_claims(situation)
    yield from _drivers(situation)


def _without_claims(situation: Situation) -> Iterator[Lever]:
    """Room on the node itself in place of a claim."""
    edits = by_key(
        (claim, f"Pod/{pod.key}:spec.volumes[{at}]={{name: {name}, emptyDir: {{}}}}")
        for pod in situation.waiting
        for at, name, claim in _claims(pod)
    )
    names = [name_of(m) for m in situation.snapshot.of("PersistentVolumeClaim")]
    for claim, changes in edits.items():
        missing = "" if claim in names else ", which does not exist"
        words = f"mount an emptyDir in place of claim {claim}{missing} ({plural(len(changes), 'pod')})"
        yield Lever(words, tuple(changes), Harm.JOB, _VOLUMES, less=True, aspect=f"claim {claim}")


def _claims(pod: Pod) -> Iterator[tuple[int, str, str]]:
    """(place, volume, claim)."""
    for at, volume in enumerate(pod.spec.get("volumes") or ()):
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim:
            yield at, volume["name"], claim


def _drivers(situation: Situation) -> Iterator[Lever]:
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
    known = {name_of(m) for m in situation.snapshot.of("CSINode")}
    for driver in asked:
        if any(node.allocatable.get(LIMIT_PREFIX + driver) > 0 for node in nodes.values()):
            continue
        entry = f"{{name: {driver}, nodeID: n, allocatable: {{count: {_COUNT}}}}}"
        places = list(nodes)[:_MOST_NODES]
        edits = tuple(
            f"CSINode/{name}:spec.drivers[+]={entry}" if name in known else _new(name, entry) for name in places
        )
        words = f"run the volume driver {driver} on {plural(len(places), 'node')}"
        yield Lever(words, edits, Harm.CLUSTER, _VOLUMES, aspect=f"driver {driver}")


def _new(node: str, entry: str) -> str:
    return f"CSINode/{node}:+={{apiVersion: storage.k8s.io/v1, spec: {{drivers: [{entry}]}}}}"
