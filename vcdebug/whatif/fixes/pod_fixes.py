"""Fixes of pods: smaller requests and fewer constraints of Pending ones, other victims and nodes of placed ones."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from vcdebug.actions import GANG_PREEMPT, LATER_ACTIONS, PREEMPT
from vcdebug.amount_text import count_noun, join_names, lower_first
from vcdebug.explain.answer import Cause, Flaw
from vcdebug.explain.decisions.evictions import Eviction, evictions_by_preemptor, evictions_by_victim
from vcdebug.explain.decisions.votes import unasked_plugins, victim_question_before
from vcdebug.explain.pending.placement_constraints import find_similar_resource
from vcdebug.grouping import group_by_key
from vcdebug.kube.node_affinity import required_node_affinity
from vcdebug.kube.pod_requests import COMPUTE_RESOURCES, GUARANTEED, pod_qos
from vcdebug.kube.ports import host_ports
from vcdebug.kube.taints import Taint, is_tolerated, may_be_lifted, may_be_tolerated, parse_taints, parse_tolerations
from vcdebug.kube.topology_spread import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY
from vcdebug.model.names import NodeName
from vcdebug.model.pod import PREEMPTABLE_KEY, Pod, revocable_zone
from vcdebug.model.pod_claims import csi_drivers, limit_key_function
from vcdebug.model.resource import CPU, Resource
from vcdebug.model.task import TaskStatus
from vcdebug.plugins import DRF, GANG, NUMA_AWARE, PRIORITY, TDM
from vcdebug.plugins.numa_aware import POLICY_ANNOTATION, STATIC_POLICY
from vcdebug.plugins.numa_aware.assignment import NO_POLICY
from vcdebug.releases.release import SUPPORTED_TAGS
from vcdebug.releases.scheduling import TOPOLOGY_PREEMPT_ABSENT
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.go_yaml import load_yaml
from vcdebug.snapshot.manifest import (
    REVOCABLE_ZONE_KEY,
    JsonObject,
    labels_of,
    name_of,
    object_in,
    object_list,
    spec_of,
    status_of,
)
from vcdebug.snapshot.object_checks import is_unknown
from vcdebug.whatif.fixes import FixCauses, fix
from vcdebug.whatif.fixes.job_fixes import propose_reserving_fixes
from vcdebug.whatif.fixes.refusals import is_never_overcommitted

_RULES_ABOUT_PODS: Final = {"podAffinity", "podAntiAffinity", "topologySpreadConstraints"}
"""Fields by which other pods decide where a pod may be placed."""
_SIZE_CAUSES = (
    *FixCauses.NODE,
    *FixCauses.QUEUE,
    *FixCauses.VICTIM,
    *FixCauses.ENQUEUE,
    DRF,
    PRIORITY,
    GANG,
    Cause.NOT_CONFIGURED,
    Cause.PREEMPTIVE,
)
_MAX_LABEL_VALUES: Final = 4
"""With more values of a label than this, none is proposed, since each would be a guess."""
_MAX_EDITED_PODS: Final = 64
"""The maximum number of pods whose requests are edited; more edits are not useful as advice."""


def propose_pod_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on the job's Pending pods."""
    yield from _propose_selector_fixes(situation)
    for change, words, field_path in _NODE_CONDITIONS:
        pods = tuple(pod for pod in situation.pending_pods if _is_stated(pod.spec, field_path))
        if pods:
            # A condition that some node meets is there on purpose: its nodes are full, and the rule is not the fault.
            kind = fix.FixKind.BYPASS if change in _POOL_CONDITIONS and _has_own_nodes(situation, pods[0]) else None
            text = f"Bypass: {lower_first(words)}" if kind else words
            yield fix.job_fix(text, *fix.pod_edits(pods, change), causes=FixCauses.NODE, kind=kind, aspect=change)
    yield from _propose_spread_fixes(situation)
    yield from _propose_port_fixes(situation)
    yield from _propose_numa_fixes(situation)
    yield from _propose_zone_fixes(situation)
    if len(situation.pending_pods) <= _MAX_EDITED_PODS:
        yield from _propose_smaller_request_fixes(situation)
        yield from _propose_request_removal_fixes(situation)


_NODE_CONDITIONS: Final = (
    ("spec.nodeSelector-", "Remove nodeSelector from the pod template", ("nodeSelector",)),
    ("spec.affinity.nodeAffinity-", "Remove nodeAffinity from the pod template", ("affinity", "nodeAffinity")),
    ("spec.affinity.podAffinity-", "Remove podAffinity from the pod template", ("affinity", "podAffinity")),
    ("spec.affinity.podAntiAffinity-", "Remove podAntiAffinity from the pod template", ("affinity", "podAntiAffinity")),
)
_POOL_CONDITIONS: Final = ("spec.nodeSelector-", "spec.affinity.nodeAffinity-")


def _has_own_nodes(situation: fix.FixSituation, pod: Pod) -> bool:
    """Whether some node meets the pod's nodeSelector and required node affinity."""
    required, nodes = required_node_affinity(pod.spec), situation.snapshot.objects_of("Node")
    return any(required.matches_group(labels_of(node), name_of(node)) for node in nodes)


def _propose_spread_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to make hard topology spread constraints preferences."""
    edits = [
        f"Pod/{pod.key}:spec.topologySpreadConstraints[{at}].whenUnsatisfiable={SCHEDULE_ANYWAY}"
        for pod in situation.pending_pods
        for at, constraint in enumerate(pod.spec.get("topologySpreadConstraints") or ())
        if constraint.get("whenUnsatisfiable") == DO_NOT_SCHEDULE
    ]
    if edits:
        words = f"topologySpreadConstraints: whenUnsatisfiable {DO_NOT_SCHEDULE} -> {SCHEDULE_ANYWAY}"
        yield fix.job_fix(words, *edits, causes=FixCauses.NODE, aspect="spread")


def _propose_selector_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes node selector values that nodes have, if no node has the requested value."""
    for pod in situation.pending_pods[:1]:
        for key, selected in (pod.spec.get("nodeSelector") or {}).items():
            node_values = dict.fromkeys(labels_of(node).get(key) for node in situation.snapshot.objects_of("Node"))
            values = [value for value in node_values if value is not None]
            if selected in values or len(values) > _MAX_LABEL_VALUES:
                continue
            for value in values:
                edits = fix.pod_edits(situation.pending_pods, f'spec.nodeSelector[{key}]="{value}"')
                words = f"nodeSelector {key}: {selected} -> {value}, if that is what the pods need"
                yield fix.job_fix(words, *edits, causes=FixCauses.NODE, aspect=f"selector {key}")


def _is_stated(spec: object, path: tuple[str, ...]) -> bool:
    for step in path:
        spec = spec.get(step) if isinstance(spec, Mapping) else None
    return bool(spec)


def _propose_smaller_request_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """One fix per group of pods with equal requests: a smaller request in the container that asks most."""
    for resource in fix.resources_of(situation.pending_pods):
        if is_offered_nowhere(situation, resource):
            continue
        asking = ((_largest_request(pod, resource), pod) for pod in situation.pending_pods)
        pods_by_request = group_by_key((request, pod) for request, pod in asking if request.amount)
        for (containers, container, present), pods in pods_by_request.items():
            if (amount := fix.smaller_amount(resource, present)) is None:
                continue
            subject = pods[0].name if len(pods) == 1 else count_noun(len(pods), "pod")
            subject += _container_words(pods[0], containers, container, resource)
            fields = [
                (pod, part)
                for pod in pods
                for part in _request_parts(situation, pod, pod.spec[containers][container], resource)
            ]
            parts = dict.fromkeys(part for _, part in fields)
            field = f"{' and '.join(parts)} of {resource}" if len(parts) > 1 else f"{''.join(parts)}.{resource}"
            words = f"{subject}: {field} {amount.format_amount(present)} -> {fix.AMOUNT_BLANK}"
            path, end = f"spec.{containers}[{container}].resources", f"{field_step(resource)}={fix.AMOUNT_BLANK}"
            edits = (f"Pod/{pod.key}:{path}.{part}{end}" for pod, part in fields)
            kind, aspect = fix.FixKind.SMALLER, f"request of {present} {resource} in {containers} {container}"
            yield fix.job_fix(words, *edits, causes=_SIZE_CAUSES, amount=amount, kind=kind, aspect=aspect)


def _container_words(pod: Pod, field: str, position: int, resource: str) -> str:
    """`, container main`; empty for the only container that asks the resource."""
    is_only = field != fix.INIT_CONTAINERS and sum(_requested_units(one, resource) > 0 for one in pod.spec[field]) == 1
    kind, name = "container" if field == "containers" else "init container", pod.spec[field][position].get("name")
    return "" if is_only else f", {kind} {name}"


class _ContainerRequest(NamedTuple):
    """The request of one container in units; 0 for none."""

    containers: str
    """The field of the pod's spec that lists the container."""
    position: int
    amount: int


def _largest_request(pod: Pod, resource: str) -> _ContainerRequest:
    """The request of the largest container, or of the init container that alone asks more than all containers."""
    requests, before = (
        [
            _ContainerRequest(field, index, _requested_units(container, resource))
            for index, container in enumerate(pod.spec.get(field) or ())
        ]
        for field in ("containers", fix.INIT_CONTAINERS)
    )
    first = max(before, key=lambda request: request.amount, default=None)
    if first is not None and first.amount > sum(request.amount for request in requests):  # exact: ints
        return first
    return max(requests, key=lambda request: request.amount, default=_ContainerRequest("", 0, 0))


def _requested_units(container: JsonObject, resource: str) -> int:
    resources = container.get("resources") or {}
    # Kubernetes defaults a missing request to the limit.
    quantity = (resources.get("requests") or {}).get(resource, (resources.get("limits") or {}).get(resource))
    return 0 if quantity is None else fix.count_units(resource, quantity)


def is_offered_nowhere(situation: fix.FixSituation, resource: str) -> bool:
    """Whether no node of the session states any of a resource, of which the scheduler may count none."""
    nodes = (one for one in situation.snapshot.objects_of("Node") if name_of(one) in situation.recording.session.nodes)
    return not any(fix.known_amounts(status_of(node).get("allocatable")).get(resource, 0) > 0 for node in nodes)


def _propose_request_removal_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes that rename or drop a request for a resource that no node has."""
    asked = fix.resources_of(situation.pending_pods)
    for resource in (one for one in asked if is_offered_nowhere(situation, one)):
        pods = [pod for pod in situation.pending_pods if situation.total_request([pod], resource)]
        stated = {
            f"Pod/{pod.key}:spec.{field}[{index}].resources.{part}": amounts[resource]
            for pod in pods
            for field in ("containers", fix.INIT_CONTAINERS)
            for index, container in enumerate(pod.spec.get(field) or ())
            for part in ("requests", "limits")
            if resource in (amounts := (container.get("resources") or {}).get(part) or {})
        }
        group = situation.pod_group
        if group is not None and resource in (group.min_resource_list or ()):
            stated[f"{situation.group_path}:spec.minResources"] = (group.min_resource_list or {})[resource]
        edits = [f"{path}{field_step(resource)}-" for path in stated]
        similar, node = find_similar_resource(situation.recording, resource, tuple(asked))
        if similar:
            renamed = [f'{path}{field_step(similar)}="{amount}"' for path, amount in stated.items()]
            words = f"{count_noun(len(pods), 'pod')}: request {similar} instead of {resource} ({node} provides it)"
            kind, aspect = fix.FixKind.REPAIR, f"no {resource}"
            yield fix.job_fix(words, *edits, *renamed, causes=_SIZE_CAUSES, kind=kind, aspect=aspect)
        words = f"{count_noun(len(pods), 'pod')}: remove request {resource} (no node provides it)"
        # Without the device that it meant to request, a pod has little use for its place.
        kind, aspect = fix.FixKind.BYPASS if similar else fix.FixKind.SMALLER, f"no {resource}"
        yield fix.job_fix(words, *edits, causes=_SIZE_CAUSES, kind=kind, aspect=aspect)


def _request_parts(situation: fix.FixSituation, pod: Pod, container: JsonObject, resource: str) -> tuple[str, ...]:
    """Where a container's request is stated, with its limit if both have to be equal: requests, limits."""
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    # Devices cannot be overcommitted, and a Guaranteed pod that keeps its limit loses its exclusive CPUs.
    guaranteed = resource in COMPUTE_RESOURCES and pod_qos(pod, situation.snapshot.flags) == GUARANTEED
    limit_follows = guaranteed or is_never_overcommitted(resource)
    return tuple(
        part
        for part, amounts in (("requests", requests), ("limits", limits))
        if resource in amounts and (part == "requests" or limit_follows or resource not in requests)
    )


def _propose_port_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """A fix with another host port that no pod of the snapshot uses."""
    used_ports = {
        host_port.port
        for pod in map(Pod, situation.snapshot.objects_of("Pod"))
        for host_port in host_ports(pod.spec, situation.snapshot.release)
    }
    requested_ports = [(pod, *location) for pod in situation.pending_pods for location in _iter_host_ports(pod)]
    for port in dict.fromkeys(location[-1] for location in requested_ports):
        free_port = next(number for number in range(port + 1, port + len(used_ports) + 2) if number not in used_ports)
        asking = [location for location in requested_ports if location[-1] == port]
        # With the node's network the API server requires both ports to be equal.
        edits = (
            f"Pod/{pod.key}:spec.containers[{container}].ports[{port_index}].{name}={free_port}"
            for pod, container, port_index, _ in asking
            for name in (("hostPort", "containerPort") if pod.spec.get("hostNetwork") else ("hostPort",))
        )
        fields = "hostPort and containerPort" if any(pod.spec.get("hostNetwork") for pod, *_ in asking) else "hostPort"
        words = f"{join_names(dict.fromkeys(pod.name for pod, *_ in asking))}: {fields} {port} -> {free_port}"
        yield fix.job_fix(words, *edits, causes=FixCauses.NODE, aspect=f"port {port}")
        if len(asking) > 1 and fields == "hostPort":
            # Any port that all pods of a template ask keeps each of them on a node of its own.
            edits = (f"Pod/{pod.key}:spec.containers[{at}].ports[{index}].hostPort-" for pod, at, index, _ in asking)
            words = f"Remove hostPort {port} from the pod template"
            yield fix.job_fix(words, *edits, causes=FixCauses.NODE, aspect=f"port {port}")


def _iter_host_ports(pod: Pod) -> Iterator[tuple[int, int, int]]:
    for container_index, container in enumerate(pod.spec.get("containers") or ()):
        for port_index, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                yield container_index, port_index, int(port["hostPort"])


def _propose_numa_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes the kubelets' NUMA policy for the pods, the pods' policy for kubelets, or no policy."""
    asking = [pod for pod in situation.pending_pods if pod.annotations.get(POLICY_ANNOTATION, NO_POLICY) != NO_POLICY]
    if not asking or NUMA_AWARE not in situation.recording.conf.plugin_names():
        return
    pods, field = tuple(asking), f"metadata.annotations[{POLICY_ANNOTATION}]"
    pod_policy, subject = asking[0].annotations[POLICY_ANNOTATION], count_noun(len(asking), "pod")
    by_node = {name_of(m): object_in(spec_of(m).get("policies")) for m in situation.snapshot.objects_of("Numatopology")}
    static = (
        (spec.get(_TOPOLOGY_POLICY), name) for name, spec in by_node.items() if spec.get(_CPU_POLICY) == STATIC_POLICY
    )
    for policy, names in group_by_key(static).items():
        if policy not in (pod_policy, NO_POLICY, None):
            words = f"{subject}: NUMA policy {pod_policy} -> {policy} (the policy of {join_names(names)})"
            edits = fix.pod_edits(pods, f"{field}={policy}")
            yield fix.job_fix(words, *edits, causes=FixCauses.NODE, aspect="numa")
    target_policies = {_CPU_POLICY: STATIC_POLICY, _TOPOLOGY_POLICY: pod_policy}
    for name, spec in list(by_node.items())[:_MAX_DRIVER_NODES]:
        changed = {key: value for key, value in target_policies.items() if spec.get(key) != value}
        edits = tuple(f"Numatopology/{name}:spec.policies.{key}={value}" for key, value in changed.items())
        change_words = join_names(f"{key} {spec.get(key) or NO_POLICY} -> {value}" for key, value in changed.items())
        if edits:
            words = f"Drain {name}, then configure its kubelet: {change_words}"
            yield fix.cluster_fix(words, *edits, causes=FixCauses.NODE, aspect="kubelet")
    words = f"Bypass: remove the NUMA policy of {subject} ({pod_policy} is then not kept)"
    removed = fix.pod_edits(pods, f"{field}-")
    yield fix.job_fix(words, *removed, causes=FixCauses.NODE, kind=fix.FixKind.BYPASS, aspect="no numa")


def _propose_zone_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to leave the revocable zones, since tdm lets no pod that may use them evict another."""
    zoned = tuple(pod for pod in situation.pending_pods if not pod.preemptable and revocable_zone(pod.annotations))
    if zoned and TDM in situation.cause_codes:
        words = f"{count_noun(len(zoned), 'pod')}: remove {REVOCABLE_ZONE_KEY} (tdm then lets it evict)"
        edits = fix.pod_edits(zoned, f"metadata.annotations[{REVOCABLE_ZONE_KEY}]-")
        yield fix.job_fix(words, *edits, causes=(TDM,), aspect="zone")


_CPU_POLICY: Final = "CPUManagerPolicy"
_TOPOLOGY_POLICY: Final = "TopologyManagerPolicy"
_VOLUME_CAUSES = (*FixCauses.FILTER, Cause.LARGER, Cause.GANG_DISCARD, Cause.NOT_ALLOCATABLE)
_MAX_DRIVER_NODES = 8
_DRIVER_COUNT = 32


def propose_volume_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on CSI drivers; claims are never replaced, since their data would be lost."""
    # The cluster's CSINodes may list the driver where the snapshot has none of them.
    if situation.job is None or is_unknown(situation.snapshot, "CSINode"):
        return
    tasks = situation.job.tasks.values()
    snapshot, limit_key = situation.snapshot, limit_key_function(situation.snapshot.release)
    drivers = csi_drivers(snapshot, (name for task in tasks for name in task.init_resreq.resource_names()))
    known_drivers, nodes = map(name_of, snapshot.objects_of("CSIDriver")), situation.recording.session.nodes
    provisioners = {one.get("provisioner") for one in snapshot.objects_of("StorageClass")}.difference(known_drivers)
    csi_nodes = {name_of(manifest) for manifest in snapshot.objects_of("CSINode")}
    for driver in drivers:
        if any(node.allocatable.get(limit_key(driver)) > 0 for node in nodes.values()):
            continue
        if driver in provisioners:
            ignored = ",".join((*snapshot.flags.ignored_provisioners, driver))
            words = f"Start the scheduler with --ignored-provisioners={ignored}, since no CSIDriver has this name"
            edit, kind = f"flag:ignored-provisioners={ignored}", fix.FixKind.REPAIR
            yield fix.cluster_fix(words, edit, causes=_VOLUME_CAUSES, kind=kind, aspect="provisioner")
        entry = f"{{name: {driver}, nodeID: n, allocatable: {{count: {_DRIVER_COUNT}}}}}"
        node_names = list(nodes)[:_MAX_DRIVER_NODES]
        created = f"+={{apiVersion: storage.k8s.io/v1, spec: {{drivers: [{entry}]}}}}"
        change = f"spec.drivers[+]={entry}"
        edits = (f"CSINode/{name}:{change if name in csi_nodes else created}" for name in node_names)
        words, aspect = f"Run CSI driver {driver} on {count_noun(len(node_names), 'node')}", f"driver {driver}"
        yield fix.cluster_fix(words, *edits, causes=_VOLUME_CAUSES, kind=fix.FixKind.REPAIR, aspect=aspect)


def propose_taint_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes that remove a taint or tolerate it; none for taints of broken nodes.

    A taint's key does not tell why it is there, so both are ranked after all other fixes that work.
    """
    for taint, nodes in _blocking_taints(situation, may_be_tolerated).items():
        match = f'operator: Equal, value: "{taint.value}"' if taint.value else "operator: Exists"
        change = f"spec.tolerations[+]={{key: {taint.key}, {match}, effect: {taint.effect}}}"
        text = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        words = f"Add a toleration for {text} ({count_noun(len(nodes), 'node')}), if the node's owner agrees"
        edits, kind = fix.pod_edits(situation.pending_pods, change), fix.FixKind.OVERRIDE
        yield fix.cluster_fix(words, *edits, causes=FixCauses.NODE, kind=kind, aspect=f"taint {text}")
    liftable = _blocking_taints(situation, may_be_lifted)
    for key, nodes in group_by_key((taint.key, name) for taint, names in liftable.items() for name in names).items():
        names = [name for name in dict.fromkeys(nodes) if nodes.count(name) == 1]
        lifted = (f"Node/{name}:spec.taints[{key}]-" for name in names)
        words = f"Remove taint {key} from {count_noun(len(names), 'node')} when no longer needed"
        if names:
            yield fix.cluster_fix(words, *lifted, causes=FixCauses.NODE, kind=fix.FixKind.OVERRIDE)


def _blocking_taints(
    situation: fix.FixSituation, may_be_changed: Callable[[Taint, JsonObject], bool]
) -> dict[Taint, list[NodeName]]:
    """Taint → nodes, for allowed taints that some Pending pod of the job does not tolerate."""
    tolerations = [parse_tolerations(pod.spec.get("tolerations")) for pod in situation.pending_pods]
    return group_by_key(
        (taint, NodeName(name_of(node)))
        for node in situation.snapshot.objects_of("Node")
        for taint in parse_taints(spec_of(node).get("taints"))
        if may_be_changed(taint, node) and not all(is_tolerated(taint, entries) for entries in tolerations)
    )


def select_useful_nodes(situation: fix.FixSituation, names: Collection[NodeName]) -> list[NodeName]:
    """Nodes that a Pending pod selects (all, if none), first those with room for each Pending pod, then by free cpu."""
    nodes, tasks = situation.recording.session.nodes, situation.job.tasks.values() if situation.job is not None else ()
    pending = [task.init_resreq for task in tasks if task.status is TaskStatus.PENDING]
    # Pods of a job are mostly alike: each distinct request and selector is compared with the nodes once.
    requests = {tuple(request.items()): request for request in pending}.values()
    specs = [pod.spec for pod in situation.pending_pods]
    distinct = {str((spec.get("nodeSelector"), spec.get("affinity"))): spec for spec in specs}.values()
    affinities = [required_node_affinity(spec) for spec in distinct]

    def room_key(name: NodeName) -> tuple[bool, float]:
        idle = nodes[name].future_idle() if name in nodes else Resource()
        return not all(request.less_equal(idle) for request in requests), -idle.get(CPU)

    labels = {name_of(node): labels_of(node) for node in situation.snapshot.objects_of("Node")}
    selected = [name for name in names if any(one.matches_group(labels[name], name) for one in affinities)]
    return sorted(selected or names, key=room_key)


# Flaws: fewer or other victims, a topology that is kept, and room that later jobs do not take.


def propose_placement_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes of the flaws that the answer names, most of them of placed jobs."""
    flaws = situation.explanation.dominant.flaws
    of_jobs = evictions_by_victim if Flaw.LOSES_PODS in flaws else evictions_by_preemptor
    evictions = of_jobs(situation.recording).get(situation.explanation.job, ()) if flaws else ()
    if evictions:
        yield from _propose_other_action_fixes(situation, evictions[0])
        yield from _propose_protection_fixes(situation, evictions)
        yield from _propose_deciding_tier_fixes(situation, evictions[0])
    if Flaw.TOPOLOGY_BROKEN in flaws:
        yield from _propose_gang_action_fixes(situation)
    if Flaw.PASSED in flaws:
        yield from propose_reserving_fixes(situation)
    yield from _propose_dry_run_fixes(situation)


def _propose_dry_run_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes preempt's dry runs, in which predicates is asked without the victims, for pods with rules about pods."""
    conf, release = situation.recording.conf, situation.recording.snapshot.release
    ruled = [
        pod for pod in situation.pending_pods if _RULES_ABOUT_PODS & {*pod.spec, *object_in(pod.spec.get("affinity"))}
    ]
    if PREEMPT not in conf.actions or not ruled or release.has_older_form(TOPOLOGY_PREEMPT_ABSENT):
        return
    from vcdebug.actions.preempt import TOPOLOGY_AWARE_KEY  # loaded already where preempt is configured

    entries = object_list(object_in(load_yaml(conf.text)).get("configurations"))
    own = next((entry for entry in entries if entry.get("name") == PREEMPT), {"name": PREEMPT})
    arguments = {**object_in(own.get("arguments")), TOPOLOGY_AWARE_KEY: True}
    changed = [*(entry for entry in entries if entry is not own), {**own, "arguments": arguments}]
    since = fix.since_words(release, TOPOLOGY_PREEMPT_ABSENT)
    words = f"{PREEMPT}: {TOPOLOGY_AWARE_KEY} -> true (predicates is then asked without the victims{since})"
    edit, kind = f"conf:configurations={json.dumps(changed)}", fix.FixKind.ENTITLEMENT
    if arguments != own.get("arguments"):
        yield fix.cluster_fix(words, edit, causes=(Cause.PHANTOM, *FixCauses.FILTER), kind=kind, since=since)


def _propose_other_action_fixes(situation: fix.FixSituation, eviction: Eviction) -> Iterator[fix.Fix]:
    """Proposes the action that seeks victims for a whole gang instead of the one for single pods, or the reverse."""
    conf, causes = situation.recording.conf, (Flaw.MILDER_VICTIM.value, Flaw.MANY_VICTIMS.value)
    facts = conf.facts_of(eviction.action)
    for name in conf.registry:
        other = conf.facts_of(name)
        is_twin = other.evicts and other.places and other.across_queues == facts.across_queues
        if is_twin and other.by_gang != facts.by_gang and name not in conf.actions:
            actions = [name if each == eviction.action else each for each in conf.actions]
            since = fix.since_words(situation.recording.snapshot.release, LATER_ACTIONS.get(name))
            change = fix.actions_change(actions, f"{name} instead of {eviction.action}{since}")
            kind = fix.FixKind.ENTITLEMENT
            yield fix.cluster_fix(*change, causes=causes, kind=kind, aspect="actions", since=since)


def _propose_protection_fixes(situation: fix.FixSituation, evictions: Sequence[Eviction]) -> Iterator[fix.Fix]:
    """Proposes to protect the job of the first victim, so that one of lower priority is evicted."""
    job = situation.recording.session.jobs.get(evictions[0].job)
    if job is not None:
        paths = (f"PodGroup/{job.uid}", *(f"Pod/{task.key}" for task in job.tasks.values()))
        edits = (f'{path}:metadata.annotations[{PREEMPTABLE_KEY}]="false"' for path in paths)
        words, causes = f'{job.uid}: {PREEMPTABLE_KEY} -> "false" (protects it)', (Flaw.MILDER_VICTIM.value,)
        yield fix.queue_fix(words, *edits, causes=causes, kind=fix.FixKind.OTHER_PODS)


def _propose_deciding_tier_fixes(situation: fix.FixSituation, eviction: Eviction) -> Iterator[fix.Fix]:
    """Proposes to move the plugins that would protect the victim to the tier that decides."""
    question = victim_question_before(situation.recording, eviction.seq)
    tiers = situation.recording.conf.stated_tiers()
    if question is None or eviction.tier is None or len(tiers) < eviction.tier:
        return
    unasked = unasked_plugins(situation.recording, question, eviction.seq)
    names = [one.vote.plugin for one in unasked if one.protects and one.vote.state == "not asked"]
    moved = [plugin for tier in tiers for plugin in tier if plugin.get("name") in names]
    kept = [[plugin for plugin in tier if plugin.get("name") not in names] for tier in tiers]
    kept[eviction.tier - 1] += moved
    if moved:
        words = f"Move {join_names(names)} to tier {eviction.tier}, which decides on victims"
        edit = f"conf:tiers={json.dumps([{'plugins': tier} for tier in kept if tier])}"
        causes, kind = (Flaw.BELOW_DESERVED.value,), fix.FixKind.REPAIR
        yield replace(fix.cluster_fix(words, edit, causes=causes, kind=kind), corrects=True)


def _propose_gang_action_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes the action that checks HyperNodes, with an upgrade to a release that has it."""
    conf, release = situation.recording.conf, situation.snapshot.release
    if GANG_PREEMPT in conf.registry:
        return
    # Behind the actions for single pods, which skip jobs with a topology in such a release.
    actions, newest = ", ".join((*conf.actions, GANG_PREEMPT)), SUPPORTED_TAGS[0]
    words = f'Upgrade Volcano {release.name} -> {newest}; actions -> "{actions}" ({GANG_PREEMPT} checks HyperNodes)'
    edits, causes = (f"flag:release={newest}", f'conf:actions="{actions}"'), (Flaw.TOPOLOGY_BROKEN.value,)
    yield fix.cluster_fix(words, *edits, causes=causes, kind=fix.FixKind.REPAIR, aspect="release")
