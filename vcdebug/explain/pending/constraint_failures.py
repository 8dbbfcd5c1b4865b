"""What an opaque predicate reason means in this snapshot: the node, taint, card, or the pods that hold the resource."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import count_noun, join_named_amounts, join_names, verb_for
from vcdebug.explain.answer import Advice, AdviceHarm
from vcdebug.explain.fit_table import FitRows, NodeFit
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits, ask_predicates_now, label_group, rows_with_devices, tasks_by_domain
from vcdebug.explain.pending import placement_constraints
from vcdebug.explain.pending.room_takers import deadlocked_gangs
from vcdebug.explain.plugins import explainer_for
from vcdebug.explain.predicate_reasons import ConstraintFailure, ConstraintKind
from vcdebug.framework.hooks import PREDICATE
from vcdebug.framework.placement import NOT_IN_SHARD
from vcdebug.grouping import group_by_key
from vcdebug.kube import taints
from vcdebug.kube.affinity_terms import Terms, pod_affinity_terms
from vcdebug.kube.dynamic_resources import ClaimState, DynamicResources
from vcdebug.kube.pod_affinity import ANTI_AFFINITY_REASON, EXISTING_ANTI_AFFINITY_REASON
from vcdebug.kube.ports import NO_FREE_PORTS, host_ports
from vcdebug.model.names import IntArray, NodeName, TaskKey
from vcdebug.model.pod_claims import csi_drivers
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import DEVICESHARE
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.volume_filters import DynamicResourcesFilter
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import requested_together
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import name_of, spec_of
from vcdebug.snapshot.object_checks import is_unknown, supplying_command
from vcdebug.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from vcdebug.kube.devices.allocator import RequestCandidates

CONTROL_PLANE_PREFIX = "node.kubernetes.io/"
"""Prefix of taints that the control plane sets and removes by itself."""
HOLDING_STATUSES = (TaskStatus.RUNNING, TaskStatus.BOUND)


def search_facts(fits: NodeFits) -> Iterator[str | Advice]:
    """Yields what the reasons of a search that found no node mean, and advice with edits about them."""
    for failure in dict.fromkeys(failure for finder in _FAILURE_FINDERS[:-1] for failure in finder(fits)):
        yield f"{failure.text}."
        yield from (advice for advice in failure.advice if advice.edits)


def _taint_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures for untolerated taints: NotReady nodes, then temporary conditions, then other taints."""
    nodes_by_taint = _untolerated_taints(fits, fits.table.not_free)
    for taint, nodes in nodes_by_taint.items():
        if taint.key in taints.UNREADY_TAINTS:
            names = nodes.joined_names
            words = f"Check the kubelet on {names}; the scheduler uses a node again once it is Ready."
            text = f"{names} {verb_for(len(nodes), 'is')} NotReady (taint {format_taint(taint)})"
            yield ConstraintFailure(text, (Advice.cluster_admin(words),), is_temporary=True)
    others = [taint for taint in nodes_by_taint if taint.key not in taints.UNREADY_TAINTS]
    # Conditions first: sorted() keeps the order of the nodes within both kinds.
    for taint in sorted(others, key=lambda taint: not taint.key.startswith(CONTROL_PLANE_PREFIX)):
        text, names = format_taint(taint), nodes_by_taint[taint].joined_names
        if text.startswith(CONTROL_PLANE_PREFIX):
            condition = text.removeprefix(CONTROL_PLANE_PREFIX).partition(":")[0].replace("-", " ")
            yield ConstraintFailure(f"{names}: condition {condition} ({text}), usually temporary", is_temporary=True)
        else:
            yield ConstraintFailure(f"{fits.task.name} does not tolerate taint {text} on {names}")


def _untolerated_taints(fits: NodeFits, nodes: FitRows) -> Mapping[taints.Taint, FitRows]:
    """Taint, except the unschedulable taint → those of the nodes that it keeps the task off, in order of the nodes."""
    tolerations = taints.parse_tolerations(fits.task.pod.spec.get("tolerations"))
    by_taint = _nodes_by_taint(fits.view.recording).items()
    pairs = ((taint, nodes.intersect(rows)) for taint, rows in by_taint if not taints.is_tolerated(taint, tolerations))
    kept_off = [(taint, refusing) for taint, refusing in pairs if refusing]
    return dict(sorted(kept_off, key=lambda one: one[1].rows[0]))


def _asks_devices(fits: NodeFits, node: NodeName, task: TaskInfo) -> bool:
    return any(ledger.has_device_request(task.pod) for ledger in fits.view.session.nodes[node].devices.values())


def _device_node(fits: NodeFits) -> NodeFit | None:
    """The first node with devices of the kind that the task asks and does not get; None without one."""
    nodes = fits.node_fits.intersect(rows_with_devices(fits.view.recording))
    return next((one for one in nodes if one.kind != "free" and _asks_devices(fits, one.name, fits.task)), None)


@per_recording()
def _nodes_by_taint(recording: Recording) -> Mapping[taints.Taint, IntArray]:
    """Taint that keeps pods off → rows of its nodes."""
    rows = group_by_key(
        (taint, row)
        for row, name in enumerate(recording.node_names)
        for taint in taints.parse_taints(recording.session.nodes[name].taints)
        if taint.effect != taints.PREFER_NO_SCHEDULE and taint.key != taints.UNSCHEDULABLE_TAINT_KEY
    )
    return {taint: np.unique(numbers) for taint, numbers in rows.items()}


def format_taint(taint: taints.Taint) -> str:
    """`key=value:effect`."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _port_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    release = fits.view.recording.snapshot.release
    ports = host_ports(fits.task.pod.spec, release)
    refusing_nodes = fits.refused_for(NO_FREE_PORTS) if ports else []
    for port in ports if refusing_nodes else ():
        holders = [
            f"{other.name} on {node.name}"
            for node in refusing_nodes
            for other in fits.tasks_on(node.name)
            if any(port.conflicts_with(used_port) for used_port in host_ports(other.pod.spec, release))
        ]
        if holders:
            other = f"Use a free host port, or remove hostPort {port.port} (a Service does not need it)."
            yield ConstraintFailure(
                f"Host port {port.port} is already used by {join_names(holders, placement_constraints.MAX_HOLDERS)}",
                (Advice.for_owner(other),),
            )


def _anti_affinity_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Pods that the task's anti-affinity excludes, and pods whose anti-affinity excludes the task."""
    conflicts = _excluded_tasks(fits, fits.refused_for(ANTI_AFFINITY_REASON).names)
    if conflicts:
        names = (f"{other.name} on {other.node_name}" for other in conflicts.values())
        yield ConstraintFailure(
            f"Its required podAntiAffinity conflicts with {join_names(names, placement_constraints.MAX_HOLDERS)}",
            (Advice.for_owner("Make the podAntiAffinity preferred, or narrow its labelSelector."),),
            ConstraintKind.POD_AFFINITY,
        )
    own_labels = label_group(fits.task)
    excluding_pods = [
        f"{other.name} on {node.name}"
        for node in fits.refused_for(EXISTING_ANTI_AFFINITY_REASON)
        for other in fits.tasks_on(node.name)
        if any(term.matches_group(own_labels, None) for term in _anti_affinity_terms(other))
    ]
    if excluding_pods:
        yield ConstraintFailure(
            f"podAntiAffinity of {join_names(excluding_pods, placement_constraints.MAX_HOLDERS)} excludes it",
            (),
            ConstraintKind.POD_AFFINITY,
        )


def lasting_failures(
    view: JobView, waiting: Sequence[TaskInfo], leaving: Collection[TaskKey]
) -> Iterator[tuple[TaskInfo, ConstraintFailure]]:
    """Yields each pipelined task with what still refuses it its node once the leaving pods are gone.

    Checked are ports and podAntiAffinity, also among the waiting tasks themselves, which are bound in this order.
    """
    recording, passing = view.recording, _passing_tasks(view.recording)
    for place, task in enumerate(waiting):
        # Most clusters have neither, and a cycle may reserve thousands of nodes.
        if not (host_ports(task.pod.spec, recording.snapshot.release) or _is_anti_affinity_used(recording)):
            continue
        fits = NodeFits(view, task, len(view.recording), (task.node_name,))
        fits.without = passing.union((task.key, *leaving)).difference(earlier.key for earlier in waiting[:place])
        yield from ((task, failure) for find in (_port_failures, _anti_affinity_failures) for failure in find(fits))


@per_recording()
def _passing_tasks(recording: Recording) -> frozenset[TaskKey]:
    """Terminating tasks, which leave their node, and pipelined ones, which have none yet."""
    passing = (TaskStatus.RELEASING, TaskStatus.PIPELINED)
    return frozenset(key for key, task in recording.timeline.tasks.items() if task.status in passing)


@per_recording()
def _is_anti_affinity_used(recording: Recording) -> bool:
    return any(_anti_affinity_terms(task) for task in recording.timeline.tasks.values() if "affinity" in task.pod.spec)


def excluded_beside(fits: NodeFits, tasks: Sequence[TaskInfo]) -> Iterator[tuple[TaskInfo, Sequence[TaskInfo]]]:
    """Yields each running pod of one template with the pods in its node's domain that its podAntiAffinity excludes."""
    for task in tasks if _anti_affinity_terms(fits.task) else ():
        if task.node_name in fits.view.session.nodes:
            beside = _excluded_tasks(fits, (task.node_name,))
            if others := [one for one in beside.values() if one.key != task.key]:
                yield task, others


def _excluded_tasks(fits: NodeFits, nodes: Iterable[NodeName]) -> dict[TaskKey, TaskInfo]:
    """The tasks in the domains of these nodes that the podAntiAffinity of the task excludes."""
    terms = _anti_affinity_terms(fits.task)
    indexes = [tasks_by_domain(fits.view.recording, fits.earliest_seq, term) for term in terms]
    groups = {id(tasks): tasks for node in nodes for index in indexes if (tasks := index.tasks_in_domain(node))}
    return {one.key: one for tasks in groups.values() for one in tasks if one.key not in fits.without}


def _anti_affinity_terms(task: TaskInfo) -> Terms:
    return pod_affinity_terms(task.pod.spec.get("affinity") or {}, task.namespace).required_anti_affinity


def _shard_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes of other schedulers' shards, which hard sharding keeps this scheduler from."""
    snapshot, outside = fits.view.recording.snapshot, [node.name for node in fits.refused_for(NOT_IN_SHARD)]
    if not outside:
        return
    shards = {name_of(one): spec_of(one).get("nodesDesired") or () for one in snapshot.objects_of("NodeShard")}
    by_owner = group_by_key((next((name for name in shards if node in shards[name]), ""), node) for node in outside)
    places = join_names(
        f"{join_names(nodes)} {verb_for(len(nodes), 'is')} in {f'shard {owner}' if owner else 'no shard'}"
        for owner, nodes in by_owner.items()
    )
    own = snapshot.flags.sharding_name
    words = "Set --scheduler-sharding-mode=soft: with a full shard it then uses nodes outside it."
    soft = Advice.cluster_admin(words, "flag:sharding_mode=soft")
    more = Advice.cluster_admin(f"Let the sharding controller give shard {own} more nodes.")
    yield ConstraintFailure(f"{places}; in hard mode this scheduler uses only shard {own}", (soft, more))


def waiting_holder_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures about incomplete jobs that hold what the task lacks, while they wait too: on the nearest node, or
    on one with devices that refuse it.
    """
    near, job, in_session = fits.nearest_node, fits.view.job, fits.view.session.jobs
    running = [task for task in job.tasks.values() if task.status in HOLDING_STATUSES]
    if not running:
        return
    if near is None or near.kind != "short":
        near = _device_node(fits)
    # Two incomplete gangs are the clearer case, and have a sentence of their own.
    if near is None or any(deadlocked_gangs(fits)):
        return
    holding = [task for task in fits.tasks_on(near.name) if task.status in HOLDING_STATUSES and task.job != job.uid]
    if near.kind != "short":
        holding = [task for task in holding if _asks_devices(fits, near.name, task)]
    tasks = [one for one in holding if one.job in in_session and in_session[one.job].count_tasks(TaskStatus.PENDING)]
    their_request = requested_together(fits.view.recording, (task.key for task in tasks))
    if not tasks or not all(their_request.get(name) >= shortage for name, shortage in near.short):
        return
    owners = [*dict.fromkeys(task.job for task in tasks)]
    jobs, most = join_names(owners), placement_constraints.MAX_HOLDERS
    pods = join_names(task.name for task in tasks) if len(tasks) <= most else count_noun(len(tasks), "pod")
    those = "that job" if len(owners) == 1 else "those jobs"
    both_jobs = f"{those} and this one ({count_noun(len(running), 'running pod')}) all have Pending pods"
    fewer = "start fewer jobs at once (set minMember or minResources for the whole job)"
    # Even a job whose minResources cover all its pods is admitted by room that its pods cannot use.
    admitted_by_all = ENQUEUE in fits.view.actions and fits.of_kind("unresolvable")
    counts = f"; {ENQUEUE} counts all nodes, not only those that the pods can use" if admitted_by_all else ""
    text = f"Possible deadlock: {near.name} is in use by {pods} of {jobs}; {both_jobs}{counts}"
    yield ConstraintFailure(text, (Advice.from_outside(f"Delete {jobs} or this job, and {fewer}.", AdviceHarm.QUEUE),))


def _plugin_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """What the refusals of nodes mean to the session's plugins, from their explainers."""
    # Older releases check devices in predicates, without the plugin deviceshare: the ledgers decide, not the plugin.
    has_devices = bool(fits.node_fits.intersect(rows_with_devices(fits.view.recording)))
    for plugin in dict.fromkeys((*([DEVICESHARE] if has_devices else ()), *fits.view.session.plugins)):
        find, options = explainer_for(plugin).failures, fits.view.recording.conf.options_of(plugin)
        if find and (not options or any(option.is_enabled(PREDICATE.switches) for option in options)):
            yield from find(fits)


def find_device_shortages(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Each request of a claim that no node has enough free devices for, and the node that has most."""
    check, unmet = _unmet_claims(fits)
    for request, node in unmet:
        yield _device_failure(request, node, check.device_holders(request.busy_devices) if check is not None else [])


def users_of_devices(fits: NodeFits) -> Mapping[TaskKey, str]:
    """Pods that hold the devices which the task's claims lack → the claim and its request, in words."""
    check, unmet = _unmet_claims(fits)
    users = ((request, check.device_holders(request.busy_devices)) for request, _ in unmet if check is not None)
    return {key: f"devices for {one.claim} (request {one.request})" for one, keys in users for key in keys}


def are_devices_held(fits: NodeFits) -> bool:
    """Whether a claim lacks only devices that other claims hold, which are freed when their pods end."""
    _, unmet = _unmet_claims(fits)
    return bool(unmet) and all(request.matching_count >= _required_count(request) for request, _ in unmet)


def _unmet_requests(
    fits: NodeFits, check: DynamicResources, state: ClaimState
) -> list[tuple[RequestCandidates, NodeName]]:
    """The requests that no node has enough free devices for, each with the node that has most."""
    best: dict[str, tuple[RequestCandidates, NodeName]] = {}
    for node in (one.name for one in fits.node_fits):
        for request in check.request_candidates(state, fits.view.session.nodes[node].labels, node):
            name = f"{request.claim} {request.request}"
            if name not in best or _device_rank(request) > _device_rank(best[name][0]):
                best[name] = request, node
    return [(request, node) for request, node in best.values() if request.free_count < _required_count(request)]


def _device_rank(request: RequestCandidates) -> tuple[bool, int, int]:
    """A node is better with enough matching devices, then with more free ones, then with more matching ones."""
    return request.matching_count >= _required_count(request), request.free_count, request.matching_count


def _required_count(request: RequestCandidates) -> int:
    return request.requested_count or 1


def _device_failure(request: RequestCandidates, node: NodeName, holders: Sequence[TaskKey]) -> ConstraintFailure:
    device_words = "all devices" if request.requested_count is None else count_noun(request.requested_count, "device")
    asks = f"ResourceClaim {request.claim} requests {device_words} (request {request.request})"
    matching = request.matching_count
    if not matching:
        check = "Check the selectors of the claim and its DeviceClass, and the nodes' ResourceSlices."
        return ConstraintFailure(f"{asks}; no node has a matching device", (Advice.for_owner(check),))
    if matching < _required_count(request):
        maximum = f"the most matching devices on one node is {matching} ({node})"
        reduce = Advice.for_owner(f"Request {count_noun(matching, 'device')} at most, or devices of another class.")
        add = Advice.cluster_admin(f"Add matching devices to {node} or to another node.")
        return ConstraintFailure(f"{asks}; {maximum}", (reduce, add))
    use, by = (f" (in use: {join_names(holders)})", f", in use by {join_names(holders)}") if holders else ("", "")
    most_free = f"{node} has the most free: {request.free_count} of {matching} matching devices{use}"
    return ConstraintFailure(f"{asks}; {most_free}", (Advice.queue_admin(f"Free devices on {node}{by}."),))


def _unmet_claims(fits: NodeFits) -> tuple[DynamicResources | None, list[tuple[RequestCandidates, NodeName]]]:
    """(check of resource claims, requests that no node has enough free devices for); None if the task has no claims."""
    plugin = fits.view.session.plugins.get(Predicates.name)
    if not isinstance(plugin, Predicates) or not fits.task.pod.spec.get("resourceClaims"):
        return None, []
    state = ask_predicates_now(fits.view.recording, fits.task)[1].data.get(DynamicResourcesFilter.STATE)
    check = plugin.claim_filter
    if check is None or not isinstance(state, ClaimState):
        return None, []
    return check, _unmet_requests(fits, check, state)


def find_constraint_failures(fits: NodeFits) -> list[ConstraintFailure]:
    """What the reasons of the refusing nodes mean in this snapshot, without duplicates."""
    failures = [failure for finder in _FAILURE_FINDERS for failure in finder(fits)]
    # Nodes of one kind fail alike and would repeat the same sentence.
    return list(dict.fromkeys(failures))


_FAILURE_FINDERS: tuple[Callable[[NodeFits], Iterator[ConstraintFailure]], ...] = (
    placement_constraints.find_label_failures,
    _taint_failures,
    _port_failures,
    placement_constraints.find_affinity_failures,
    _anti_affinity_failures,
    placement_constraints.find_spread_failures,
    _shard_failures,
    _plugin_failures,
    placement_constraints.find_volume_shortages,
    placement_constraints.find_shared_claims,
    find_device_shortages,
    placement_constraints.find_reserved_claims,
    waiting_holder_failures,
)


_CLUSTER = AdviceHarm.CLUSTER
_CHANGE_REQUEST = Advice.for_owner("Change the pod's nodeSelector, affinity, tolerations or requests.")


def advice_for_larger(snapshot: Snapshot, unprovided: list[str]) -> tuple[Advice, ...]:
    """Advice for a task larger than every node, or one that requests a resource of no node."""
    if drivers := csi_drivers(snapshot, unprovided):
        if is_unknown(snapshot, "CSINode"):
            kinds = (KIND_BY_NAME["CSINode"],)
            add = Advice.from_outside(f"Add the output of `{supplying_command(kinds)}` to the snapshot.")
            return (add.as_first_step("the snapshot has no CSINode"),)
        words = f"No CSINode lists driver {join_names(drivers)}; check that it runs on the nodes."
        return (Advice.cluster_admin(words),)
    if unprovided:
        device = "; for a device, check that its device plugin runs on the nodes"
        return (Advice.cluster_admin(f"Add a node that provides {join_names(unprovided)}{device}."),)
    return (Advice.for_owner("Split the pod into smaller ones."), Advice.cluster_admin("Add a node of that size."))


def merge_advice(fits: NodeFits, failures: Sequence[ConstraintFailure], reasons: Collection[str]) -> tuple[Advice, ...]:
    """The advice of each failure, then the general advice about the kinds of these reasons that no failure replaces."""
    failure_advice = [line for failure in failures for line in failure.advice]
    replaced_kinds = [failure.replaces for failure in failures]
    kinds = [kind for kind in ConstraintKind if any(kind.is_about(reason) for reason in reasons)]
    open_kinds = [kind for kind in kinds if kind not in replaced_kinds]
    node_advice = (line for kind in open_kinds if kind in _ADVICE_ON_NODES for line in _ADVICE_ON_NODES[kind](fits))
    general_advice = (line for kind in open_kinds for line in _GENERAL_ADVICE.get(kind, ()))
    return tuple(dict.fromkeys((*failure_advice, *general_advice, *node_advice)))


def _cordon_advice(fits: NodeFits) -> Iterator[Advice]:
    cordoned = fits.of_kind("unresolvable").intersect(fits.refused_for(*ConstraintKind.CORDON.value).rows)
    yield Advice.cluster_admin(f"Uncordon {cordoned.joined_names} when the maintenance is done.")


def _taint_advice(fits: NodeFits) -> Iterator[Advice]:
    """Advice about taints of Ready nodes; for a condition taint the node itself has to be repaired."""
    in_session, removable, tolerable = fits.view.session.nodes, dict[str, None](), dict[str, None]()
    for taint, nodes in _untolerated_taints(fits, fits.of_kind("unresolvable")).items():
        if any(taints.may_be_lifted(taint, in_session[name].manifest) for name in nodes.names):
            removable[format_taint(taint)] = None
        if any(taints.may_be_tolerated(taint, in_session[name].manifest) for name in nodes.names):
            tolerable[format_taint(taint)] = None
    yield Advice.add_nodes(fits.task.init_resreq)
    if removable:
        words = f"Remove taint {join_names(removable)} when it is no longer needed."
        yield Advice(words, AdviceHarm.CLUSTER, is_risky=True)
    if tolerable:
        words = f"Add a toleration for {join_names(tolerable)}, if the node's owner agrees."
        yield Advice(words, AdviceHarm.CLUSTER, is_risky=True)


_GENERAL_ADVICE: Mapping[ConstraintKind, tuple[Advice, ...]] = {
    ConstraintKind.NODE_GROUP: (
        Advice.queue_admin("Change spec.affinity of the queue."),
        Advice.cluster_admin("Label a node with the node group of the queue."),
    ),
    ConstraintKind.LABELS: (
        Advice.for_owner("Change the pod's nodeSelector or affinity."),
        Advice.cluster_admin("Label a node accordingly."),
    ),
    ConstraintKind.POD_AFFINITY: (Advice.for_owner("Change the podAffinity or podAntiAffinity of the pod."),),
    ConstraintKind.NUMA: (
        Advice.from_outside("Check the kubelets' CPU and topology policies and the Numatopology objects.", _CLUSTER),
    ),
    ConstraintKind.LOAD: (
        Advice.for_owner("Wait until the load of the nodes falls."),
        Advice.cluster_admin("Raise the thresholds of plugin usage."),
    ),
    ConstraintKind.DEVICE_CLASS: (
        Advice.cluster_admin("Create the DeviceClass (its driver's chart does), or name an existing one in the claim."),
    ),
    ConstraintKind.DEVICE_POOL: (
        Advice.from_outside("Check the driver's ResourceSlices: pools must be complete, devices unique.", _CLUSTER),
    ),
    ConstraintKind.VOLUME: (
        Advice.for_owner("Check the pod's PersistentVolumeClaims and the zones of their volumes."),
    ),
}
_ADVICE_ON_NODES: Mapping[ConstraintKind, Callable[[NodeFits], Iterator[Advice]]] = {
    ConstraintKind.TAINT: _taint_advice,
    ConstraintKind.CORDON: _cordon_advice,
}


def advice_for_unresolvable(fits: NodeFits, failures: Sequence[ConstraintFailure]) -> tuple[Advice, ...]:
    """Advice for a task that fits no node even without evictable pods."""
    return merge_advice(fits, failures, [reason for reason, _ in fits.reason_histogram]) or (_CHANGE_REQUEST,)


def advice_for_mixed(fits: NodeFits, failures: Sequence[ConstraintFailure]) -> tuple[Advice, ...]:
    """Advice if some nodes lack room and others refuse for other reasons."""
    refusal_advice = merge_advice(fits, failures, fits.table.reasons_of("unresolvable"))
    nearest, add_nodes = fits.nearest_node, Advice.add_nodes(fits.task.init_resreq)
    if nearest is None or not nearest.short:
        return refusal_advice or (add_nodes,)
    # What is freed where room is reserved for another pod of the job goes to that pod.
    pipelined = (task.node_name for task in fits.view.placed_tasks if task.status is TaskStatus.PIPELINED)
    amounts = join_named_amounts(nearest.short)
    free = [] if nearest.name in pipelined else [Advice.queue_admin(f"Free {amounts} on {nearest.name}.")]
    of_failures = (line for failure in failures for line in failure.advice)
    return tuple(dict.fromkeys((*of_failures, *free, add_nodes, *refusal_advice)))
