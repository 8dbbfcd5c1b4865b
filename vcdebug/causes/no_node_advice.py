"""What would help where no node takes a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug.amount_text import all_named, listed
from vcdebug.causes.devices_wanted import pools_unsettled
from vcdebug.causes.obstacles import untolerated_taints, written
from vcdebug.causes.volumes_wanted import ELSEWHERE
from vcdebug.causes.wishes import Obstacle
from vcdebug.explain.answer import MORE_NODES, Advice, Harm, cluster, owner, sharers
from vcdebug.explain.node_fit import NodeFits
from vcdebug.kube.fitness import may_be_lifted, may_be_tolerated
from vcdebug.kube.taints import Taint

CSI = "attachable-volumes-csi-"
_CHANGE = owner("change what the pod asks for")
_GENERAL = (_CHANGE,)
"""Advice for want of better."""


def for_larger(nowhere: list[str]) -> tuple[Advice, ...]:
    """What is larger than any node in all, or asks for what no node has."""
    drivers = [name.removeprefix(CSI) for name in nowhere if name.startswith(CSI)]
    if drivers:
        return (cluster(f"no CSINode names the driver {listed(drivers)}: look whether it runs on the nodes"),)
    if nowhere:
        device = "; for a device, look whether its plugin runs on the nodes"
        return (cluster(f"add a node that has {listed(nowhere)}{device}"),)
    return (owner("split the task into smaller ones"), cluster("add a node of that size"))


def with_obstacles(ways: Sequence[Obstacle], general: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """What helps against what is named, then the general advice that is not void beside it."""
    own = [line for way in ways for line in way.advice]
    void = [way.replaces for way in ways if way.replaces]
    kept = [line for line in general if not any(word in line.text for word in void) and not (own and line in _GENERAL)]
    return tuple(dict.fromkeys((*own, *kept)))


def for_unresolvable(room: NodeFits, reasons: list[str]) -> tuple[Advice, ...]:
    """What no node takes as it is, by the reasons of nodes."""
    advice: list[Advice] = []
    text = " ".join(reasons).replace("PersistentVolume", "persistentvolume")
    for volumes in ELSEWHERE:
        text = text.replace(volumes, "volume")
    if "node group" in text:
        advice.append(sharers(f"change spec.affinity of queue {room.view.queue.name}"))
        advice.append(cluster("label a node with the node group of the queue"))
        text = text.replace("node group affinity", "")
    if "affinity" in text or "selector" in text:
        advice.append(owner("change the pod's nodeSelector or affinity"))
        advice.append(cluster("label a node accordingly"))
    if "taint" in text:
        advice.extend(_despite_taints(room))
    if "unschedulable" in text:
        advice.append(cluster("uncordon a node, once what it was cordoned for is over"))
    if "numa" in text or "manager policy" in text or "topology policy" in text:
        advice.append(
            cluster("look at the kubelets' cpu and topology manager policies, and at the Numatopology of the nodes")
        )
    if "load of the node" in text:
        advice.append(owner("wait until the load falls"))
        advice.append(cluster("raise the thresholds of the usage plugin"))
    if pools_unsettled(reasons):
        advice.append(
            cluster("look at the driver's ResourceSlices: as many as each says, and each device in one of them")
        )
    if "volume" in text or "persistentvolume" in text:
        advice.append(owner("look at the pod's claims and at the zones of their volumes"))
    return tuple(advice) or (_CHANGE,)


def _despite_taints(room: NodeFits) -> Iterator[Advice]:
    """What can be done about taints that somebody set on nodes in order; of any other the node has to be mended."""
    lifted, accepted = dict[str, Taint](), dict[str, Taint]()
    for node in room.of_kind("unresolvable"):
        manifest = room.view.session.nodes[node.name].manifest if node.name in room.view.session.nodes else {}
        for taint in untolerated_taints(room, node):
            lifted.update({written(taint): taint} if may_be_lifted(taint, manifest) else {})
            accepted.update({written(taint): taint} if may_be_tolerated(taint, manifest) else {})
    yield MORE_NODES
    if lifted:
        words = f"remove taint {listed(lifted)}, once what it was set for is over"
        yield Advice(words, Harm.CLUSTER, risky=True)
    if accepted:
        words = f"add a toleration to the pod for {listed(accepted)}, if whoever set it agrees: it keeps pods away"
        yield Advice(words, Harm.CLUSTER, risky=True)


def for_mixed(room: NodeFits) -> tuple[Advice, ...]:
    """What some nodes lack room for, and others refuse for other reasons."""
    advice: list[Advice] = []
    if room.nearest is not None and room.nearest.short:
        advice += [sharers(f"free {all_named(room.nearest.short)} on {room.nearest.name}"), MORE_NODES]
    refusals = [reason for node in room.of_kind("unresolvable") for reason in [node.reason]]
    if refusals:
        advice.extend(for_unresolvable(room, refusals))
    return tuple(advice) or (MORE_NODES,)
