"""What would help where no node takes a task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug.amount_text import join_named_amounts, join_names
from vcdebug.causes.devices_wanted import is_pool_unsettled
from vcdebug.causes.obstacles import format_taint, untolerated_taints
from vcdebug.causes.volumes_wanted import VOLUME_ELSEWHERE_REASONS
from vcdebug.causes.wishes import ConstraintFailure
from vcdebug.explain.answer import (
    ADD_NODES_ADVICE,
    Advice,
    AdviceHarm,
    cluster_admin_advice,
    owner_advice,
    queue_admin_advice,
)
from vcdebug.explain.node_fit import NodeFits
from vcdebug.kube.fitness import may_be_lifted, may_be_tolerated
from vcdebug.kube.taints import Taint

CSI = "attachable-volumes-csi-"
_CHANGE_REQUEST = owner_advice("change what the pod asks for")
_GENERAL_ADVICE = (_CHANGE_REQUEST,)
"""Advice for want of better."""


def advice_for_larger(nowhere: list[str]) -> tuple[Advice, ...]:
    """What is larger than any node in all, or asks for what no node has."""
    drivers = [name.removeprefix(CSI) for name in nowhere if name.startswith(CSI)]
    if drivers:
        return (
            cluster_admin_advice(
                f"no CSINode names the driver {join_names(drivers)}: look whether it runs on the nodes"
            ),
        )
    if nowhere:
        device = "; for a device, look whether its plugin runs on the nodes"
        return (cluster_admin_advice(f"add a node that has {join_names(nowhere)}{device}"),)
    return (owner_advice("split the task into smaller ones"), cluster_admin_advice("add a node of that size"))


def merge_advice(ways: Sequence[ConstraintFailure], general: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """What helps against what is named, then the general advice that is not void beside it."""
    own = [line for way in ways for line in way.advice]
    void = [way.replaces for way in ways if way.replaces]
    kept = [
        line
        for line in general
        if not any(word in line.text for word in void) and not (own and line in _GENERAL_ADVICE)
    ]
    return tuple(dict.fromkeys((*own, *kept)))


def advice_for_unresolvable(room: NodeFits, reasons: list[str]) -> tuple[Advice, ...]:
    """What no node takes as it is, by the reasons of nodes."""
    advice: list[Advice] = []
    text = " ".join(reasons).replace("PersistentVolume", "persistentvolume")
    for volumes in VOLUME_ELSEWHERE_REASONS:
        text = text.replace(volumes, "volume")
    if "node group" in text:
        advice.append(queue_admin_advice(f"change spec.affinity of queue {room.view.queue.name}"))
        advice.append(cluster_admin_advice("label a node with the node group of the queue"))
        text = text.replace("node group affinity", "")
    if "affinity" in text or "selector" in text:
        advice.append(owner_advice("change the pod's nodeSelector or affinity"))
        advice.append(cluster_admin_advice("label a node accordingly"))
    if "taint" in text:
        advice.extend(_taint_advice(room))
    if "unschedulable" in text:
        advice.append(cluster_admin_advice("uncordon a node, once what it was cordoned for is over"))
    if "numa" in text or "manager policy" in text or "topology policy" in text:
        advice.append(
            cluster_admin_advice(
                "look at the kubelets' cpu and topology manager policies, and at the Numatopology of the nodes"
            )
        )
    if "load of the node" in text:
        advice.append(owner_advice("wait until the load falls"))
        advice.append(cluster_admin_advice("raise the thresholds of the usage plugin"))
    if is_pool_unsettled(reasons):
        advice.append(
            cluster_admin_advice(
                "look at the driver's ResourceSlices: as many as each says, and each device in one of them"
            )
        )
    if "volume" in text or "persistentvolume" in text:
        advice.append(owner_advice("look at the pod's claims and at the zones of their volumes"))
    return tuple(advice) or (_CHANGE_REQUEST,)


def _taint_advice(room: NodeFits) -> Iterator[Advice]:
    """What can be done about taints that somebody set on nodes in order; of any other the node has to be mended."""
    lifted, accepted = dict[str, Taint](), dict[str, Taint]()
    for node in room.of_kind("unresolvable"):
        manifest = room.view.session.nodes[node.name].manifest if node.name in room.view.session.nodes else {}
        for taint in untolerated_taints(room, node):
            lifted.update({format_taint(taint): taint} if may_be_lifted(taint, manifest) else {})
            accepted.update({format_taint(taint): taint} if may_be_tolerated(taint, manifest) else {})
    yield ADD_NODES_ADVICE
    if lifted:
        words = f"remove taint {join_names(lifted)}, once what it was set for is over"
        yield Advice(words, AdviceHarm.CLUSTER, risky=True)
    if accepted:
        words = f"add a toleration to the pod for {join_names(accepted)}, if whoever set it agrees: it keeps pods away"
        yield Advice(words, AdviceHarm.CLUSTER, risky=True)


def advice_for_mixed(room: NodeFits) -> tuple[Advice, ...]:
    """What some nodes lack room for, and others refuse for other reasons."""
    advice: list[Advice] = []
    if room.nearest_node is not None and room.nearest_node.short:
        advice += [
            queue_admin_advice(f"free {join_named_amounts(room.nearest_node.short)} on {room.nearest_node.name}"),
            ADD_NODES_ADVICE,
        ]
    refusals = [reason for node in room.of_kind("unresolvable") for reason in [node.reason]]
    if refusals:
        advice.extend(advice_for_unresolvable(room, refusals))
    return tuple(advice) or (ADD_NODES_ADVICE,)
