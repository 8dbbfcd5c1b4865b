"""Fixes of the job owner: smaller requests and fewer constraints of the pods."""

from collections.abc import Iterator, Mapping
from typing import Final

from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain.answer import AdviceHarm
from vcdebug.grouping import group_by_key
from vcdebug.kube.pod_requests import COMPUTE_RESOURCES, GUARANTEED, pod_qos
from vcdebug.kube.ports import host_ports
from vcdebug.model.pod import Pod
from vcdebug.model.pod_claims import LIMIT_PREFIX
from vcdebug.plugins import DRF, GANG, NUMA_AWARE, PRIORITY
from vcdebug.plugins.numa_aware import POLICY_ANNOTATION, STATIC_POLICY
from vcdebug.plugins.numa_aware.assignment import NO_POLICY
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import labels_of, name_of, object_in, spec_of
from vcdebug.whatif.fixes import fix
from vcdebug.whatif.fixes.refusals import is_never_overcommitted

_NODE_CAUSES = ("predicates-*", "gang-discard", "larger-than-any-node", "pod-count", "no-hypernode")
_SIZE_CAUSES = (
    *_NODE_CAUSES,
    "queue-*",
    DRF,
    PRIORITY,
    GANG,
    "action-not-configured",
    "victims-*",
    "enqueue-*",
    "preemptive",
)
_MAX_LABEL_VALUES: Final = 4
"""Values of one label beyond which none is proposed: a guess among many is no advice."""
_MAX_EDITED_PODS: Final = 64
"""Pods of one job up to which requests are edited: beyond, the edits are no advice for a person any more."""


def propose_pod_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on the pods that wait."""
    yield from _propose_selector_fixes(situation)
    for change, words, concerned in _NODE_CONDITIONS:
        pods = tuple(pod for pod in situation.pending_pods if _is_stated(pod.spec, concerned))
        if pods:
            yield fix.Fix(words, fix.pod_edits(pods, change), AdviceHarm.JOB, _NODE_CAUSES, aspect=change)
    yield from _propose_port_fixes(situation)
    yield from _propose_numa_fixes(situation)
    if len(situation.pending_pods) <= _MAX_EDITED_PODS:
        yield from _propose_smaller_request_fixes(situation)
        yield from _propose_left_out_fixes(situation)


_NODE_CONDITIONS: Final = (
    ("spec.nodeSelector-", "Remove nodeSelector from the pod template", ("nodeSelector",)),
    ("spec.affinity.nodeAffinity-", "Remove nodeAffinity from the pod template", ("affinity", "nodeAffinity")),
    ("spec.affinity.podAffinity-", "Remove podAffinity from the pod template", ("affinity", "podAffinity")),
    ("spec.affinity.podAntiAffinity-", "Remove podAntiAffinity from the pod template", ("affinity", "podAntiAffinity")),
    (
        "spec.topologySpreadConstraints-",
        "Remove topologySpreadConstraints from the template",
        ("topologySpreadConstraints",),
    ),
)


def _propose_selector_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """A value of the node selector that nodes have, where none has the one that is asked for."""
    for pod in situation.pending_pods[:1]:
        for key, wanted in (pod.spec.get("nodeSelector") or {}).items():
            there = dict.fromkeys(labels_of(node).get(key) for node in situation.snapshot.objects_of("Node"))
            values = [value for value in there if value is not None]
            if wanted in values or len(values) > _MAX_LABEL_VALUES:
                continue
            for value in values:
                edits = fix.pod_edits(situation.pending_pods, f'spec.nodeSelector[{key}]="{value}"')
                words = f"nodeSelector {key}: {wanted} -> {value}, if that is what the pods need"
                yield fix.Fix(words, edits, AdviceHarm.JOB, _NODE_CAUSES, aspect=f"selector {key}")


def _is_stated(spec: object, path: tuple[str, ...]) -> bool:
    for step in path:
        spec = spec.get(step) if isinstance(spec, Mapping) else None
    return bool(spec)


def _propose_smaller_request_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """One fix per group of pods with equal requests: a smaller request in their largest container."""
    for resource in fix.resources_of(situation.pending_pods):
        if is_offered_nowhere(situation, resource):
            continue
        alike: dict[tuple[int, int], list[Pod]] = {}
        for pod in situation.pending_pods:
            requests = fix.container_requests(pod, resource)
            largest = max(requests, default=0)
            if largest:
                alike.setdefault((requests.index(largest), largest), []).append(pod)
        for (container, present), pods in alike.items():
            amount = fix.smaller_amount(resource, present)
            if amount is None:
                continue
            who = pods[0].name if len(pods) == 1 else count_noun(len(pods), "pod")
            words = f"{who}: requests.{resource} {amount.format_amount(present)} -> {fix.AMOUNT_BLANK}"
            edits = tuple(edit for pod in pods for edit in _iter_request_edits(situation, pod, container, resource))
            aspect = f"request of {present} {resource} in container {container}"
            yield fix.Fix(
                words, edits, AdviceHarm.JOB, _SIZE_CAUSES, amount, stated_kind=fix.FixKind.SMALLER, aspect=aspect
            )


def is_offered_nowhere(situation: fix.FixSituation, resource: str) -> bool:
    """Whether no node has any of a resource."""
    return not any(node.allocatable.get(resource) > 0 for node in situation.recording.session.nodes.values())


def _propose_left_out_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes that drop a request for a resource that no node has."""
    for resource in fix.resources_of(situation.pending_pods):
        if not is_offered_nowhere(situation, resource):
            continue
        pods = [pod for pod in situation.pending_pods if fix.total_request([pod], resource)]
        edits = [
            f"Pod/{pod.key}:spec.containers[{at}].resources.{part}{field_step(resource)}-"
            for pod in pods
            for at, container in enumerate(pod.spec.get("containers") or ())
            for part in ("requests", "limits")
            if resource in ((container.get("resources") or {}).get(part) or ())
        ]
        if situation.pod_group is not None and resource in (situation.pod_group.min_resource_list or ()):
            edits.append(f"{situation.group_path}:spec.minResources{field_step(resource)}-")
        words = f"{count_noun(len(pods), 'pod')}: remove request {resource} (no node provides it)"
        yield fix.Fix(
            words, tuple(edits), AdviceHarm.JOB, _SIZE_CAUSES, stated_kind=fix.FixKind.SMALLER, aspect=f"no {resource}"
        )


def _iter_request_edits(situation: fix.FixSituation, pod: Pod, container: int, resource: str) -> Iterator[str]:
    """Smaller requests; the limit goes with the request where it has to be the same."""
    stated = (pod.spec.get("containers") or ())[container].get("resources") or {}
    requests, limits = stated.get("requests") or {}, stated.get("limits") or {}
    # Devices cannot be overcommitted, and a Guaranteed pod that keeps its limit loses its exclusive CPUs.
    guaranteed = resource in COMPUTE_RESOURCES and pod_qos(pod, situation.snapshot.flags) == GUARANTEED
    together = guaranteed or is_never_overcommitted(resource)
    for part, amounts in (("requests", requests), ("limits", limits)):
        if resource in amounts and (part == "requests" or together or resource not in requests):
            path = f"Pod/{pod.key}:spec.containers[{container}].resources.{part}"
            yield f"{path}{field_step(resource)}={fix.AMOUNT_BLANK}"


def _propose_port_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """A fix with another host port that no pod of the snapshot uses."""
    taken = {
        used.port
        for pod in map(Pod, situation.snapshot.objects_of("Pod"))
        for used in host_ports(pod.spec, situation.snapshot.release)
    }
    wanted = [(pod, *place) for pod in situation.pending_pods for place in _iter_host_ports(pod)]
    for port in dict.fromkeys(place[-1] for place in wanted):
        other = next(number for number in range(port + 1, port + len(taken) + 2) if number not in taken)
        edits = tuple(
            f"Pod/{pod.key}:spec.containers[{container}].ports[{at}].{name}={other}"
            for pod, container, at, number in wanted
            if number == port
            for name in (("hostPort", "containerPort") if pod.spec.get("hostNetwork") else ("hostPort",))
        )
        yield fix.Fix(f"hostPort {port} -> {other}", edits, AdviceHarm.JOB, _NODE_CAUSES, aspect=f"port {port}")


def _iter_host_ports(pod: Pod) -> Iterator[tuple[int, int, int]]:
    for at, container in enumerate(pod.spec.get("containers") or ()):
        for place, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                yield at, place, int(port["hostPort"])


def _propose_numa_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """The NUMA policy that kubelets run in place of the one that the pods ask for, or the other way round."""
    asking = [pod for pod in situation.pending_pods if pod.annotations.get(POLICY_ANNOTATION, NO_POLICY) != NO_POLICY]
    if not asking or NUMA_AWARE not in situation.recording.conf.plugin_names():
        return
    pods, field = tuple(asking), f"metadata.annotations[{POLICY_ANNOTATION}]"
    asked, who = asking[0].annotations[POLICY_ANNOTATION], count_noun(len(asking), "pod")
    stated = {name_of(m): object_in(spec_of(m).get("policies")) for m in situation.snapshot.objects_of("Numatopology")}
    static = (
        (one.get(_TOPOLOGY_POLICY), name) for name, one in stated.items() if one.get(_CPU_POLICY) == STATIC_POLICY
    )
    for policy, names in group_by_key(static).items():
        if policy not in (asked, NO_POLICY, None):
            words = f"{who}: NUMA policy {asked} -> {policy} (the policy of {join_names(names)})"
            yield fix.Fix(words, fix.pod_edits(pods, f"{field}={policy}"), AdviceHarm.JOB, _NODE_CAUSES, aspect="numa")
    wanted = {_CPU_POLICY: STATIC_POLICY, _TOPOLOGY_POLICY: asked}
    for name, one in list(stated.items())[:_MAX_DRIVER_NODES]:
        changed = {key: value for key, value in wanted.items() if one.get(key) != value}
        edits = tuple(f"Numatopology/{name}:spec.policies.{key}={value}" for key, value in changed.items())
        said = join_names(f"{key} {one.get(key) or NO_POLICY} -> {value}" for key, value in changed.items())
        if edits:
            words = f"Drain {name}, then configure its kubelet: {said}"
            yield fix.Fix(words, edits, AdviceHarm.CLUSTER, _NODE_CAUSES, aspect="kubelet")
    words = f"Bypass: remove the NUMA policy of {who} ({asked} is then not kept)"
    removed = fix.pod_edits(pods, f"{field}-")
    yield fix.Fix(words, removed, AdviceHarm.JOB, _NODE_CAUSES, stated_kind=fix.FixKind.BYPASS, aspect="no numa")


_CPU_POLICY: Final = "CPUManagerPolicy"
_TOPOLOGY_POLICY: Final = "TopologyManagerPolicy"
_VOLUME_CAUSES = ("predicates-*", "larger-than-any-node", "gang-discard", "queue-not-allocatable")
_MAX_DRIVER_NODES = 8
_DRIVER_COUNT = 32


def propose_volume_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on drivers; nothing replaces a claim, since its data would be lost."""
    yield from _propose_driver_fixes(situation)


def _propose_driver_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
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
        words = f"Run CSI driver {driver} on {count_noun(len(places), 'node')}"
        yield fix.Fix(
            words, edits, AdviceHarm.CLUSTER, _VOLUME_CAUSES, stated_kind=fix.FixKind.REPAIR, aspect=f"driver {driver}"
        )


def _csi_node_edit(node: str, entry: str) -> str:
    return f"CSINode/{node}:+={{apiVersion: storage.k8s.io/v1, spec: {{drivers: [{entry}]}}}}"
