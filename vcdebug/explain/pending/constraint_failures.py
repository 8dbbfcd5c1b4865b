"""What an opaque predicate reason means in this snapshot: the node, taint, card, or the pods that hold the resource."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from vcdebug.amount_text import count_noun, join_named_amounts, join_names, verb_for
from vcdebug.explain import answer
from vcdebug.explain.answer import Advice, ConstraintFailure, ConstraintKind
from vcdebug.explain.node_fit import NodeFit, NodeFits
from vcdebug.explain.pending import placement_constraints
from vcdebug.explain.plugins import explainer_for
from vcdebug.kube.affinity_terms import AffinityTerm, LabelGroup, Terms, pod_affinity_terms
from vcdebug.kube.pod_affinity import ANTI_AFFINITY_REASON, EXISTING_ANTI_AFFINITY_REASON
from vcdebug.kube.ports import NO_FREE_PORTS, host_ports
from vcdebug.kube.taints import (
    UNSCHEDULABLE_TAINT_KEY,
    Taint,
    is_tolerated,
    may_be_lifted,
    may_be_tolerated,
    parse_taints,
    parse_tolerations,
)
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import DEVICESHARE, NODEGROUP, NUMA_AWARE, TDM, USAGE
from vcdebug.recording.state_before import requested_together

UNREADY_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
CONTROL_PLANE_PREFIX = "node.kubernetes.io/"
"""Prefix of taints that the control plane sets and removes by itself."""
HOLDING_STATUSES = (TaskStatus.RUNNING, TaskStatus.BOUND)


def find_constraint_failures(room: NodeFits) -> list[ConstraintFailure]:
    """The failures that explain the reasons of the refusing nodes, without duplicates."""
    found = [obstacle for reads in _FAILURE_FINDERS for obstacle in reads(room)]
    # Nodes of one kind fail alike and would repeat the same sentence.
    return list(dict.fromkeys(found))


def _taint_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    """NotReady nodes by name, then conditions that pass, then other taints."""
    unready: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for node in room.node_fits:
        for taint in untolerated_taints(room, node):
            (unready if taint.key in UNREADY_TAINTS else others).setdefault(format_taint(taint), []).append(node.name)
    for text, names in unready.items():
        check = f"Check the kubelet on {join_names(names)}; the scheduler uses a node again once it is Ready."
        yield ConstraintFailure(
            f"{join_names(names)} {verb_for(len(names), 'is')} NotReady (taint {text})",
            (answer.cluster_admin_advice(check),),
        )
    passing = [text for text in others if text.startswith(CONTROL_PLANE_PREFIX)]
    for text in passing:
        names = others[text]
        condition = text.removeprefix(CONTROL_PLANE_PREFIX).partition(":")[0].replace("-", " ")
        yield ConstraintFailure(f"{join_names(names)}: condition {condition} ({text}), usually temporary")
    for text in [text for text in others if text not in passing]:
        yield ConstraintFailure(f"{room.task.name} does not tolerate taint {text} on {join_names(others[text])}")


def untolerated_taints(room: NodeFits, node: NodeFit) -> Iterator[Taint]:
    """Taints that keep the task off a node, but for a cordon."""
    if node.kind == "free" or node.name not in room.view.session.nodes:
        return
    taints = room.view.session.nodes[node.name].taints
    tolerations = parse_tolerations(room.task.pod.spec.get("tolerations")) if taints else ()
    for taint in parse_taints(taints):
        if taint.effect == "PreferNoSchedule" or taint.key == UNSCHEDULABLE_TAINT_KEY:
            continue
        if not is_tolerated(taint, tolerations):
            yield taint


def format_taint(taint: Taint) -> str:
    """`key=value:effect`."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _port_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    release = room.view.recording.snapshot.release
    wanted = host_ports(room.task.pod.spec, release)
    refusing = room.refused_for(NO_FREE_PORTS)
    for port in wanted if refusing else ():
        held = [
            f"{other.name} on {node.name}"
            for node in refusing
            for other in room.tasks_on(node.name)
            if any(port.conflicts_with(theirs) for theirs in host_ports(other.pod.spec, release))
        ]
        if held:
            other = f"Use a free host port, or remove hostPort {port.port} (a Service does not need it)."
            yield ConstraintFailure(
                f"Host port {port.port} is already used by {join_names(held, placement_constraints.MAX_HOLDERS)}",
                (answer.owner_advice(other),),
            )


def _anti_affinity_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Pods that the task's anti-affinity excludes, and pods whose anti-affinity excludes the task."""
    around = [_TasksByDomain(room, term) for term in _anti_affinity_terms(room.task)]
    held = [one.tasks_in_domain(node) for node in room.refused_for(ANTI_AFFINITY_REASON) for one in around]
    found = {other.key: other for others in held for other in others}
    if found:
        names = (f"{other.name} on {other.node_name}" for other in found.values())
        yield ConstraintFailure(
            f"Its required podAntiAffinity conflicts with {join_names(names, placement_constraints.MAX_HOLDERS)}",
            (answer.owner_advice("Make the podAntiAffinity preferred, or narrow its labelSelector."),),
            ConstraintKind.POD_AFFINITY,
        )
    mine = _label_group(room.task)
    objecting = [
        f"{other.name} on {node.name}"
        for node in room.refused_for(EXISTING_ANTI_AFFINITY_REASON)
        for other in room.tasks_on(node.name)
        if any(term.matches_group(mine, None) for term in _anti_affinity_terms(other))
    ]
    if objecting:
        yield ConstraintFailure(
            f"podAntiAffinity of {join_names(objecting, placement_constraints.MAX_HOLDERS)} excludes it",
            (),
            ConstraintKind.POD_AFFINITY,
        )


def _anti_affinity_terms(task: TaskInfo) -> Terms:
    return pod_affinity_terms(task.pod.spec.get("affinity") or {}, task.namespace).required_anti_affinity


class _TasksByDomain:
    """Tasks that match an affinity term, by topology domain."""

    def __init__(self, room: NodeFits, term: AffinityTerm) -> None:
        self._key = term.topology_key
        self._nodes = room.view.session.nodes
        self._on_node: dict[str, list[TaskInfo]] = {}
        self._in_domain: dict[str, list[TaskInfo]] = {}
        for name, node in self._nodes.items():
            found = [task for task in room.tasks_on(name) if term.matches_group(_label_group(task), None)]
            self._on_node[name] = found
            domain = node.labels.get(self._key)
            if found and domain is not None:
                self._in_domain.setdefault(domain, []).extend(found)

    def tasks_in_domain(self, node: NodeFit) -> Sequence[TaskInfo]:
        """The tasks in a node's domain; a node without the label is a domain of its own."""
        domain = self._nodes[node.name].labels.get(self._key)
        return self._on_node[node.name] if domain is None else self._in_domain.get(domain, ())


def _label_group(task: TaskInfo) -> LabelGroup:
    return LabelGroup(task.namespace, task.pod.labels, deleting=False)


def waiting_holder_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Jobs on the nearest node that hold what the task lacks and are themselves incomplete: a mutual wait."""
    near = room.nearest_node
    if near is None or near.kind != "short":
        return
    own = [task for task in room.view.job.tasks.values() if task.status in HOLDING_STATUSES]
    if not own:
        return
    others = [task for task in room.tasks_on(near.name) if task.status in HOLDING_STATUSES and _has_pending(room, task)]
    theirs = [task for task in others if task.job != room.view.job.uid]
    held = requested_together(room.view.recording, (task.key for task in theirs))
    if not theirs or not all(held.get(name) >= lack for name, lack in near.short):
        return
    jobs = join_names(dict.fromkeys(task.job for task in theirs))
    pods = join_names((task.name for task in theirs), placement_constraints.MAX_HOLDERS)
    both = f"{jobs} and this job ({count_noun(len(own), 'running pod')}) all have Pending pods"
    fewer = "start fewer jobs at once (set minMember or minResources for the whole job)"
    yield ConstraintFailure(
        f"Possible deadlock: {near.name} is in use by {pods} of {jobs}; {both}",
        (answer.queue_admin_advice(f"Delete {jobs} or this job, and {fewer}."),),
    )


def _has_pending(room: NodeFits, task: TaskInfo) -> bool:
    job = room.view.session.jobs.get(task.job)
    return job is not None and job.count_tasks(TaskStatus.PENDING) > 0


def plugin_failures(plugin: str, room: NodeFits) -> Iterator[ConstraintFailure]:
    """What the plugin's explainer finds behind its own refusals; nothing if the session does not have the plugin."""
    find = explainer_for(plugin).failures if plugin in room.view.session.plugins else None
    return find(room) if find is not None else iter(())


def _card_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    # Older releases check devices in predicates, without the plugin deviceshare: the ledgers decide, not the plugin.
    has_devices = any(room.view.session.nodes[node.name].devices for node in room.node_fits)
    find = explainer_for(DEVICESHARE).failures if has_devices else None
    return find(room) if find is not None else iter(())


_FAILURE_FINDERS: tuple[Callable[[NodeFits], Iterator[ConstraintFailure]], ...] = (
    placement_constraints.find_label_failures,
    _taint_failures,
    _port_failures,
    placement_constraints.find_affinity_failures,
    _anti_affinity_failures,
    partial(plugin_failures, NODEGROUP),
    _card_failures,
    placement_constraints.find_volume_shortages,
    placement_constraints.find_device_shortages,
    partial(plugin_failures, TDM),
    partial(plugin_failures, NUMA_AWARE),
    partial(plugin_failures, USAGE),
    waiting_holder_failures,
)


_CLUSTER = answer.AdviceHarm.CLUSTER
CSI = "attachable-volumes-csi-"
_CHANGE_REQUEST = answer.owner_advice("Change the pod's nodeSelector, affinity, tolerations or requests.")


def advice_for_larger(nowhere: list[str]) -> tuple[Advice, ...]:
    """Advice for a task larger than every node, or one that requests a resource of no node."""
    drivers = [name.removeprefix(CSI) for name in nowhere if name.startswith(CSI)]
    if drivers:
        return (
            answer.cluster_admin_advice(
                f"No CSINode lists driver {join_names(drivers)}; check that it runs on the nodes."
            ),
        )
    if nowhere:
        device = "; for a device, check that its device plugin runs on the nodes"
        return (answer.cluster_admin_advice(f"Add a node that provides {join_names(nowhere)}{device}."),)
    return (
        answer.owner_advice("Split the pod into smaller ones."),
        answer.cluster_admin_advice("Add a node of that size."),
    )


def merge_advice(room: NodeFits, ways: Sequence[ConstraintFailure], reasons: Sequence[str]) -> tuple[Advice, ...]:
    """The advice of each failure, then the general advice about the kinds of these reasons that no failure replaces."""
    own = [line for way in ways for line in way.advice]
    void = [way.replaces for way in ways]
    kinds = [kind for kind in ConstraintKind if any(kind.is_about(reason) for reason in reasons)]
    open_ = [kind for kind in kinds if kind not in void]
    named = (line for kind in open_ if kind in _ADVICE_ON_NODES for line in _ADVICE_ON_NODES[kind](room))
    general = (line for kind in open_ for line in _GENERAL_ADVICE.get(kind, ()))
    return tuple(dict.fromkeys((*own, *general, *named)))


def _cordon_advice(room: NodeFits) -> Iterator[Advice]:
    cordoned = (node.name for node in room.of_kind("unresolvable") if ConstraintKind.CORDON.is_about(node.reason))
    yield answer.cluster_admin_advice(f"Uncordon {join_names(cordoned)} when the maintenance is done.")


def _taint_advice(room: NodeFits) -> Iterator[Advice]:
    """Advice about taints of Ready nodes; for a condition taint the node itself has to be repaired."""
    lifted, accepted = dict[str, Taint](), dict[str, Taint]()
    for node in room.of_kind("unresolvable"):
        manifest = room.view.session.nodes[node.name].manifest if node.name in room.view.session.nodes else {}
        for taint in untolerated_taints(room, node):
            lifted.update({format_taint(taint): taint} if may_be_lifted(taint, manifest) else {})
            accepted.update({format_taint(taint): taint} if may_be_tolerated(taint, manifest) else {})
    yield answer.add_nodes_advice(room.task.init_resreq)
    if lifted:
        words = f"Remove taint {join_names(lifted)} when it is no longer needed."
        yield answer.Advice(words, answer.AdviceHarm.CLUSTER, risky=True)
    if accepted:
        words = f"Add a toleration for {join_names(accepted)}, if the node's owner agrees."
        yield answer.Advice(words, answer.AdviceHarm.CLUSTER, risky=True)


_GENERAL_ADVICE: Mapping[ConstraintKind, tuple[Advice, ...]] = {
    ConstraintKind.NODE_GROUP: (
        answer.queue_admin_advice("Change spec.affinity of the queue."),
        answer.cluster_admin_advice("Label a node with the node group of the queue."),
    ),
    ConstraintKind.LABELS: (
        answer.owner_advice("Change the pod's nodeSelector or affinity."),
        answer.cluster_admin_advice("Label a node accordingly."),
    ),
    ConstraintKind.POD_AFFINITY: (answer.owner_advice("Change the podAffinity or podAntiAffinity of the pod."),),
    ConstraintKind.NUMA: (
        answer.outside_advice("Check the kubelets' CPU and topology policies and the Numatopology objects.", _CLUSTER),
    ),
    ConstraintKind.LOAD: (
        answer.owner_advice("Wait until the load of the nodes falls."),
        answer.cluster_admin_advice("Raise the thresholds of plugin usage."),
    ),
    ConstraintKind.DEVICE_POOL: (
        answer.outside_advice("Check the driver's ResourceSlices: pools must be complete, devices unique.", _CLUSTER),
    ),
    ConstraintKind.VOLUME: (
        answer.owner_advice("Check the pod's PersistentVolumeClaims and the zones of their volumes."),
    ),
}
_ADVICE_ON_NODES: Mapping[ConstraintKind, Callable[[NodeFits], Iterator[Advice]]] = {
    ConstraintKind.TAINT: _taint_advice,
    ConstraintKind.CORDON: _cordon_advice,
}


def advice_for_unresolvable(room: NodeFits, ways: Sequence[ConstraintFailure]) -> tuple[Advice, ...]:
    """Advice for a task that no node can take."""
    return merge_advice(room, ways, [reason for reason, _ in room.reason_histogram]) or (_CHANGE_REQUEST,)


def advice_for_mixed(room: NodeFits, ways: Sequence[ConstraintFailure]) -> tuple[Advice, ...]:
    """Advice if some nodes lack room and others refuse for other reasons."""
    refused = merge_advice(room, ways, [node.reason for node in room.of_kind("unresolvable")])
    near, more = room.nearest_node, answer.add_nodes_advice(room.task.init_resreq)
    if near is not None and near.short:
        free = answer.queue_admin_advice(f"Free {join_named_amounts(near.short)} on {near.name}.")
        return tuple(dict.fromkeys((*(line for way in ways for line in way.advice), free, more, *refused)))
    return refused or (more,)
