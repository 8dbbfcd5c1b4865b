"""Constraints on labels, neighbours, volumes and devices that nodes fail, with near misses such as typing errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from vcdebug.amount_text import format_named_amount, join_names
from vcdebug.errors import closest_name
from vcdebug.explain.answer import Advice, AdviceHarm, AdvisedFact
from vcdebug.explain.fit_table import FitRows, NodeFit
from vcdebug.explain.node_fit import NodeFits, tasks_by_domain
from vcdebug.explain.predicate_reasons import ConstraintFailure, ConstraintKind
from vcdebug.grouping import group_by_key
from vcdebug.kube.affinity_terms import pod_affinity_terms
from vcdebug.kube.dynamic_resources import IN_ALLOCATION
from vcdebug.kube.listers import SELECTED_NODE, WAIT_FOR_FIRST_CONSUMER, claim_names, storage_class_name
from vcdebug.kube.node_affinity import required_node_affinity
from vcdebug.kube.pod_affinity import AFFINITY_REASON
from vcdebug.kube.selector import Requirement
from vcdebug.kube.topology_spread import SKEWED_REASON, SpreadConstraint, SpreadDomains
from vcdebug.model.names import IntArray, NodeName
from vcdebug.model.pod import Pod
from vcdebug.model.pod_claims import csi_drivers
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.filters import PodTopologySpreadFilter
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.manifest import (
    HOSTNAME_KEY,
    annotations_of,
    key_of,
    name_of,
    namespace_in,
    namespace_of,
    object_in,
    object_list,
    spec_of,
    status_of,
)
from vcdebug.snapshot.snapshot import Manifest, Snapshot

MAX_HOLDERS: Final = 4


NODE_AFFINITY_REASON = "didn't match Pod's node affinity/selector"
MAX_VALUES = 4


def find_label_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures for required node labels that no node has, with similar labels of nodes."""
    if not fits.refused_for(NODE_AFFINITY_REASON):
        return
    affinity = required_node_affinity(fits.task.pod.spec)
    terms = affinity.terms or ()
    labels = (term.labels for term in terms if len(terms) == 1)
    for requirement in (required for selector in (affinity.selector, *labels) for required in selector.requirements):
        yield from _requirement_failures(fits, requirement)


def _requirement_failures(fits: NodeFits, requirement: Requirement) -> Iterator[ConstraintFailure]:
    """Yields the failure of one label requirement: the few nodes with or without it, or the values that nodes have."""
    key, (matching, others) = requirement.key, _split_by_label(fits, requirement)
    if matching and key == HOSTNAME_KEY:
        return
    if matching:
        yield from _few_nodes_failure(matching, others, format_requirement(requirement))
        return
    nodes_by_value = _nodes_by_value(fits.view.recording, fits.node_fits, key)
    unmet = f"No node in the snapshot has {format_requirement(requirement)}"
    if not nodes_by_value:
        yield from _unknown_key(fits, requirement, unmet)
        return
    places = (f"{value or 'empty'} on {join_names(names, 2)}" for value, names in nodes_by_value.items())
    closest = _closest_name(requirement.values, nodes_by_value) if requirement.operator == "In" else ""
    suggestion = Advice.for_owner(f"Did you mean {key}={closest}? Labels are case-sensitive.")
    yield ConstraintFailure(f"{unmet}: {key} is {join_names(places, MAX_VALUES)}", (suggestion,) if closest else ())


def _split_by_label(fits: NodeFits, requirement: Requirement) -> tuple[FitRows, FitRows]:
    """(nodes with labels that match, the others)."""
    rows = _matching_rows(fits.view.recording, requirement)
    return fits.node_fits.intersect(rows), fits.node_fits.without(rows)


@per_recording(most=64)
def _matching_rows(recording: Recording, requirement: Requirement) -> IntArray:
    return np.flatnonzero([requirement.matches_labels(node.labels) for node in recording.session.node_table.nodes])


@per_recording(most=64)
def _nodes_by_value(recording: Recording, nodes: FitRows, key: str) -> Mapping[str, Sequence[NodeName]]:
    """Value of a label → the nodes with it."""
    labels = ((name, recording.session.nodes[name].labels) for name in nodes.names)
    return group_by_key((of_node[key], name) for name, of_node in labels if key in of_node)


@per_recording()
def _label_keys(recording: Recording) -> Mapping[str, None]:
    return dict.fromkeys(key for node in recording.session.nodes.values() for key in node.labels)


def _few_nodes_failure(with_label: FitRows, without_label: FitRows, unmet: str) -> Iterator[ConstraintFailure]:
    """Yields the failure that names the nodes with or without the label, whichever are fewer, if they are few."""
    lacking = len(without_label) <= len(with_label)
    nodes, verbs, only = (without_label, ("lacks", "lack"), "") if lacking else (with_label, ("has", "have"), "Only ")
    if nodes and len(nodes) < MAX_VALUES:
        yield ConstraintFailure(f"{only}{nodes.joined_names} {verbs[len(nodes) > 1]} {unmet}")


def _unknown_key(fits: NodeFits, requirement: Requirement, unmet: str) -> Iterator[ConstraintFailure]:
    closest_key = _closest_name((requirement.key,), _label_keys(fits.view.recording))
    absent = f"{unmet}, and none has label {requirement.key} at all" if requirement.values else unmet
    if not closest_key:
        yield ConstraintFailure(absent)
        return
    renamed = _renamed_label_edits(fits, requirement.key, closest_key)
    rename = Advice.for_owner(f"Use label {closest_key} instead of {requirement.key} in the pods.", *renamed)
    closest = f"; the closest label of the nodes is {closest_key}"
    yield ConstraintFailure(f"{absent}{closest}", (rename._replace(repairs=bool(renamed)),))


def _renamed_label_edits(fits: NodeFits, key: str, closest_key: str) -> list[str]:
    """Edits that name another label in the node selectors and topology spread constraints of the Pending pods."""
    edits = []
    for task in fits.view.unplaced_tasks:
        path, spec = f"Pod/{task.key}:spec", task.pod.spec
        selector = spec.get("nodeSelector") or {}
        if key in selector:
            edits += [f"{path}.nodeSelector[{key}]-", f'{path}.nodeSelector[{closest_key}]="{selector[key]}"']
        constraints = enumerate(spec.get("topologySpreadConstraints") or ())
        places = [at for at, constraint in constraints if constraint.get("topologyKey") == key]
        edits += [f"{path}.topologySpreadConstraints[{at}].topologyKey={closest_key}" for at in places]
    return edits


def find_spread_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Hard topology spread constraints: the label that nodes lack, or the domains that have too many matching pods."""
    plugin = fits.view.session.plugins.get(Predicates.name)
    # The reason of nodes without the label begins with that of full domains.
    if not isinstance(plugin, Predicates) or not fits.refused_for(SKEWED_REASON):
        return
    for constraint, domains in _spread_domains(plugin, fits.task.pod):
        key = constraint.topology_key
        required, rule = Requirement(key, "Exists", ()), "which topologySpreadConstraints requires (DoNotSchedule)"
        present, lacking = _split_by_label(fits, required)
        if not present:
            yield from _unknown_key(fits, required, f"No node in the snapshot has the label {key}, {rule}")
            continue
        yield from _few_nodes_failure(present, lacking, f"{format_requirement(required)}, {rule}") if lacking else ()
        yield from _skewed_domains_failure(constraint, domains)


def _spread_domains(plugin: Predicates, pod: Pod) -> Iterator[tuple[SpreadConstraint, SpreadDomains]]:
    filters = (active for active in plugin.filters if isinstance(active, PodTopologySpreadFilter))
    return (found for active in filters for found in active.domains_of(pod))


def _count_by_domain(domains: SpreadDomains) -> dict[str, int]:
    values = enumerate(domains.column.values)
    return {str(value): int(domains.per_value[at]) for at, value in values if domains.present[at]}


def skewed_domains(fits: NodeFits) -> Iterator[str]:
    """Yields words about hard spread constraints of a running pod that the pods which match them break."""
    plugin = fits.view.session.plugins.get(Predicates.name)
    for constraint, domains in _spread_domains(plugin, fits.task.pod) if isinstance(plugin, Predicates) else ():
        counts = _count_by_domain(domains)
        if counts and max(counts.values()) - domains.min_match_num > constraint.max_skew:
            yield f"Pods by {constraint.topology_key}: {_format_domains(counts)} (maxSkew {constraint.max_skew})"


def _skewed_domains_failure(constraint: SpreadConstraint, domains: SpreadDomains) -> Iterator[ConstraintFailure]:
    """The domains that a spread constraint still allows, unless it allows all of them."""
    key, counts = constraint.topology_key, _count_by_domain(domains)
    most = constraint.max_skew + domains.min_match_num - domains.self_match_num
    allowed = [value for value, count in counts.items() if count <= most]
    if len(allowed) == len(counts):
        return
    pods, (wanted, found) = _format_domains(counts), (constraint.min_domains, len(counts))
    pods = f"{pods}; minDomains {wanted}, but nodes have {found}" if wanted > found else pods
    where = f"only {key} {join_names(allowed)}" if allowed else f"no {key}"
    free = f"Free room in {join_names(allowed)}, or set" if allowed else "Set"
    text = f"topologySpreadConstraints (maxSkew {constraint.max_skew}) allows {where}; matching pods: {pods}"
    yield ConstraintFailure(text, (Advice.for_owner(f"{free} whenUnsatisfiable: ScheduleAnyway."),))


def _format_domains(counts: Mapping[str, int]) -> str:
    return join_names((f"{value} {count}" for value, count in counts.items()), MAX_VALUES)


def _closest_name(words: Iterable[str], candidates: Iterable[str]) -> str:
    """The known word closest to one of the wanted ones; empty if none is similar."""
    names = list(candidates)
    for word in words:
        same_names = [name for name in names if name.casefold() == word.casefold()]
        # A difference in case alone is the likeliest error, whatever the other names look like.
        similar = same_names[0] if same_names else closest_name(word, names, 0.8)
        if similar and similar != HOSTNAME_KEY:
            return similar
    return ""


def format_requirement(requirement: Requirement) -> str:
    """`zone=b`, `zone in (a, b)`, `the label zone`."""
    values = ", ".join(requirement.values)
    if requirement.operator == "In":
        return f"{requirement.key}={values}" if len(requirement.values) == 1 else f"{requirement.key} in ({values})"
    if requirement.operator == "Exists":
        return f"the label {requirement.key}"
    if requirement.operator == "DoesNotExist":
        return f"no label {requirement.key}"
    return f"{requirement.key} {requirement.operator} {values}"


@per_recording(most=64)
def find_similar_resource(recording: Recording, name: str, asked: tuple[str, ...]) -> tuple[str, str]:
    """(resource most similar to one that no node has, a node that states it); empty if none is similar but those
    that are asked too.
    """
    # As nodes state them: of the resources of a device plugin the scheduler keeps only some.
    nodes = recording.snapshot.objects_of("Node")
    stated = ((name_of(node), status_of(node).get("allocatable") or {}) for node in nodes)
    # Device names have a domain; cpu and memory are never a misspelt device.
    providers = {each: node for node, amounts in stated for each, amount in amounts.items() if "/" in each and amount}
    domain, _, device = name.partition("/")
    # In one domain the devices are compared: a long domain makes any two of them look alike.
    alike = {each.removeprefix(f"{domain}/"): each for each in providers if each not in asked}
    inside = _closest_name((device,), [each for each in alike if "/" not in each])
    closest = alike.get(inside or _closest_name((name,), [each for each in alike if "/" in each]), "")
    return closest, providers.get(closest, "")


_PLAIN_WORDS: Final = ("com", "sh", "io", "device", "plugin", "number", "memory")


@per_recording(most=64)
def silent_device_plugins(recording: Recording, name: str) -> tuple[AdvisedFact, ...]:
    """The fact about a running device plugin for a resource that no node provides; empty if there is none.

    A device plugin's pod has a word of the resource's name in its own: volcano.sh/vgpu-number, volcano-device-plugin.
    """
    stated = (status_of(node).get("allocatable") or {} for node in recording.snapshot.objects_of("Node"))
    if any(str(amounts.get(name) or "0") != "0" for amounts in stated):
        return ()
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if len(word) > 2 and word not in _PLAIN_WORDS]
    for pod in recording.snapshot.objects_of("Pod"):
        node, plugin = spec_of(pod).get("nodeName"), name_of(pod)
        if node and "device-plugin" in plugin and any(word in plugin for word in words):
            namespace = namespace_in(key_of(pod))
            text = (
                f"{key_of(pod)} runs on {node}, which reports no {name}: it found no device there or did not register."
            )
            log = f"kubectl -n {namespace} logs {plugin}"
            words_of_advice = f"See what the device plugin found (driver, container runtime): {log}"
            return (AdvisedFact(text, Advice.from_outside(words_of_advice, AdviceHarm.CLUSTER).as_repair()),)
    return ()


def find_affinity_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Required pod affinity: no matching pod exists, or the matching pods are in other domains."""
    if not fits.refused_for(AFFINITY_REASON):
        return
    for term in pod_affinity_terms(fits.task.pod.spec.get("affinity") or {}, fits.task.namespace).required_affinity:
        labels = join_names(map(format_requirement, term.selector.requirements)) or "any labels"
        unmet = f"Its required podAffinity needs pods with {labels} in the same {term.topology_key}"
        matching = tasks_by_domain(fits.view.recording, fits.earliest_seq, term).tasks_on(fits.node_fits)
        pods = [f"{task.name} on {task.node_name}" for task in matching]
        where = f": {join_names(pods, MAX_HOLDERS)}" if pods else "; no such pod runs on any node"
        start = Advice.for_owner("Start those pods first, or correct the podAffinity's labelSelector.")
        advice = () if pods else (start,)
        yield ConstraintFailure(f"{unmet}{where}", advice, ConstraintKind.POD_AFFINITY)


VOLUME_ELSEWHERE_REASONS: Final = ("persistentvolume's node affinity", "volume node affinity conflict")
NONE_TO_BIND: Final = "available persistent volumes to bind"
UNBOUND_REASONS: Final = ("persistentvolume had no name", "unbound immediate")
_MISSING_CLAIM: Final = re.compile(r'persistentvolumeclaim "([^"]+)" not found')
_MISSING_CLASS: Final = re.compile(r'storageclass\S* "([^"]+)" not found')


def find_volume_shortages(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures of the pod's volume claims by name: mounted elsewhere, out of reach, or unbound."""
    refusals = (" ".join(one.reason.lower() for one in statuses) for statuses in fits.table.statuses.values())
    reasons, snapshot = [reason for reason in refusals if "volume" in reason], fits.view.recording.snapshot
    if not reasons:
        return
    pod_claims = claim_names_of(fits.task.pod)
    for name in dict.fromkeys(one for reason in reasons for one in _MISSING_CLASS.findall(reason)):
        class_names = map(name_of, snapshot.objects_of("StorageClass"))
        text = f"StorageClass {name} is not in this snapshot (it has {join_names(class_names) or 'none'})"
        create = Advice.cluster_admin(f"Create StorageClass {name}, or name an existing one in the claim.")
        yield ConstraintFailure(text, (create,), ConstraintKind.VOLUME)
    yield from _missing_claim_failures(fits, reasons)
    # Upstream's reason already names the claim.
    if not pod_claims or any(f'"{name}"' in reason for name in pod_claims for reason in reasons):
        return
    mounting_pods = _mounted_by(fits, pod_claims, fits.node_fits)
    if mounting_pods:
        claims = "PersistentVolumeClaims" if len(pod_claims) > 1 else "PersistentVolumeClaim"
        holders = join_names(mounting_pods, MAX_HOLDERS)
        yield ConstraintFailure(f"{claims} {join_names(pod_claims)} already mounted by {holders}")
    blocked = fits.refused_for(*VOLUME_ELSEWHERE_REASONS)
    if blocked:
        reachable = fits.node_fits.without(blocked.rows).joined_names
        source = f"only from {reachable}" if reachable else "from no node in the snapshot"
        places = list(volume_places(snapshot, fits.task))
        bound = f": {join_names(places)}" if places else ""
        replace = "Have a node there, or delete the claim and its pod, which loses its data."
        free = (Advice.queue_admin(f"Free resources on {reachable}, or move the data."),) if reachable else ()
        advice = free or ((Advice.cluster_admin(replace),) if places else ())
        yield ConstraintFailure(f"Its volumes are accessible {source}{bound}", advice, ConstraintKind.VOLUME)
    for claim in _claims_of(snapshot, fits.task):
        yield from _unbound_claim_failures(fits, claim, reasons)


def _claims_of(snapshot: Snapshot, task: TaskInfo) -> Iterator[Manifest]:
    """The volume claims that the task mounts, without those that the snapshot lacks."""
    keys = [f"{task.namespace}/{name}" for name in claim_names_of(task.pod)]
    return filter(None, [snapshot.find_object("PersistentVolumeClaim", key) for key in keys])


def volume_places(snapshot: Snapshot, task: TaskInfo) -> Iterator[str]:
    """Yields each claim of the task with a volume of certain nodes: `data is bound to pv1 (zone a)`."""
    for claim in _claims_of(snapshot, task):
        volume = snapshot.find_object("PersistentVolume", f"/{spec_of(claim).get('volumeName')}")
        if volume is not None:
            required = object_in(object_in(spec_of(volume).get("nodeAffinity")).get("required"))
            terms = object_list(required.get("nodeSelectorTerms"))
            rules = [one for term in terms for one in object_list(term.get("matchExpressions"))]
            places = join_names(f"{one.get('key')} {', '.join(map(str, one.get('values') or ()))}" for one in rules)
            if places:
                yield f"{name_of(claim)} is bound to {name_of(volume)} ({places})"


def find_shared_claims(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields claims that a node without free attachments has mounted already: the scheduler counts them per pod."""
    snapshot, claims = fits.view.recording.snapshot, claim_names_of(fits.task.pod)
    short = fits.of_kind("short") if claims else ()
    near = [node for node in short if csi_drivers(snapshot, (name for name, _ in node.short))]
    for claim in claims if near else ():
        if mounting_pods := _mounted_by(fits, [claim], near):
            drivers = csi_drivers(snapshot, (name for node in near for name, _ in node.short))
            per_pod = "Volcano counts an attachment for each pod, although the volume is attached once"
            ignored = ",".join((*snapshot.flags.ignored_provisioners, *drivers))
            start = f"Start the scheduler with --ignored-provisioners={ignored}"
            words, edit = f"{start} (only predicates then count its volumes).", f"flag:ignored-provisioners={ignored}"
            advice = Advice.cluster_admin(words, edit).as_repair()
            holders = join_names(mounting_pods, MAX_HOLDERS)
            text = f"PersistentVolumeClaim {claim} is already mounted by {holders}; {per_pod}"
            yield ConstraintFailure(text, (advice,))


def _mounted_by(fits: NodeFits, pod_claims: list[str], nodes: Sequence[NodeFit]) -> list[str]:
    return [
        f"{task.name} on {node.name}"
        for node in nodes
        for task in fits.tasks_on(node.name)
        if task.namespace == fits.task.namespace and any(name in pod_claims for name in claim_names_of(task.pod))
    ]


def _unbound_claim_failures(fits: NodeFits, claim: Manifest, reasons: Sequence[str]) -> Iterator[ConstraintFailure]:
    """Yields the failure of an unbound claim: its provisioner, or the zones where its StorageClass provisions."""
    if spec_of(claim).get("volumeName"):
        return
    name, owner = name_of(claim), storage_class_name(claim)
    if any(word in reason for word in UNBOUND_REASONS for reason in reasons):
        source = f"StorageClass {owner}, volumeBindingMode Immediate" if owner else "it has no StorageClass"
        text = f"PersistentVolumeClaim {name} is unbound and must be bound before scheduling ({source})"
        check = Advice.from_outside(f"Check the provisioner: kubectl describe pvc {name}.", AdviceHarm.CLUSTER)
        yield ConstraintFailure(text, (check,), ConstraintKind.VOLUME)
    elif any(NONE_TO_BIND in reason for reason in reasons):
        storage_class = fits.view.recording.snapshot.find_object("StorageClass", f"/{owner}") or {}
        terms = storage_class.get("allowedTopologies") or ()
        entries = [entry for term in terms for entry in term.get("matchLabelExpressions") or ()]
        allowed = join_names(f"{entry.get('key')} is {' or '.join(entry.get('values') or ())}" for entry in entries)
        if allowed:
            text = f"StorageClass {owner} of claim {name} provisions only where {allowed} (allowedTopologies)"
            add = f"StorageClass {owner}: add the zones of the nodes to allowedTopologies, or run the pod there."
            yield ConstraintFailure(text, (Advice.cluster_admin(add),), ConstraintKind.VOLUME)


def _missing_claim_failures(room: NodeFits, reasons: Sequence[str]) -> Iterator[ConstraintFailure]:
    """A claim that does not exist, and the one of its namespace whose name is closest."""
    pod, claims = room.task.pod, room.view.recording.snapshot.objects_of("PersistentVolumeClaim")
    for name in dict.fromkeys(one for reason in reasons for one in _MISSING_CLAIM.findall(reason)):
        existing_names = [name_of(one) for one in claims if namespace_of(one) == pod.namespace]
        close = closest_name(name, existing_names)
        edits = [
            f"Pod/{task.key}:spec.volumes[{index}].persistentVolumeClaim.claimName={close}"
            for task in room.view.unplaced_tasks
            for index, volume in enumerate(task.pod.spec.get("volumes") or ())
            if object_in(volume.get("persistentVolumeClaim")).get("claimName") == name
        ]
        use = Advice.for_owner(f"Name claim {close} in the pods' volumes instead of {name}.", *edits)
        create = Advice.for_owner(f"Create PersistentVolumeClaim {name}, or name an existing one in the pod's volumes.")
        suggestion = f"; did you mean {close}?" if close else ""
        names = join_names(existing_names, MAX_HOLDERS) if existing_names else "none"
        existing_text = f"the namespace has {names}{suggestion}"
        advice = (use.as_repair(), create) if close else (create,)
        yield ConstraintFailure(
            f"PersistentVolumeClaim {name} is not in this snapshot ({existing_text})", advice, ConstraintKind.VOLUME
        )


def claim_names_of(pod: Pod) -> list[str]:
    """Names of the volume claims that a pod mounts."""
    return [claim.name for claim in claim_names(pod) if claim.name and not claim.ephemeral]


def unbound_claims(snapshot: Snapshot, pod: Pod) -> Iterator[AdvisedFact]:
    """Yields each claim of a pod that has no volume."""
    keys = dict.fromkeys(f"{pod.namespace}/{claim.name}" for claim in claim_names(pod))
    for claim in filter(None, (snapshot.find_object("PersistentVolumeClaim", key) for key in keys)):
        if spec_of(claim).get("volumeName"):
            continue
        class_name, name = storage_class_name(claim), name_of(claim)
        found = snapshot.find_object("StorageClass", f"/{class_name}") or {}
        waits = found.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER
        cause = f"PersistentVolumeClaim {name} has no volume yet"
        if waits and pod.spec.get("nodeName") and SELECTED_NODE not in annotations_of(claim):
            lacks = f"StorageClass {class_name} waits for annotation {SELECTED_NODE}, which the claim has not"
            writes = "the scheduler writes it when it binds a pod"
            check = f"{writes}: its ClusterRole must allow to update persistentvolumeclaims"
            words = f"{lacks}; {check}, and the pod template must state no nodeName."
            yield AdvisedFact(cause, Advice.from_outside(words))
            continue
        provisioner = str(found.get("provisioner") or "")
        maker = f"provisioner {provisioner}" if provisioner else f"the provisioner of StorageClass {class_name}"
        advice = f"Find out why {maker} makes none: kubectl -n {pod.namespace} describe pvc {name}"
        yield AdvisedFact(cause, Advice.from_outside(advice))


_NODE_FULL: Final = re.compile(r"enough resource: (\S+), requested: \d+, used: (\d+)")


def kubelet_count_facts(recording: Recording, pod: Pod, message: str) -> Iterator[str]:
    """Yields a sentence if the scheduler counts less on the pod's node than the kubelet that found it full."""
    full, opened = _NODE_FULL.search(message), recording.timeline.opening_nodes.get(pod.node_name)
    if full is None or opened is None:
        return
    name, used = full[1], float(full[2])
    counted = opened.used.get(name)
    if counted < used:
        own, missing = (format_named_amount(name, amount) for amount in (counted, used - counted))
        ended = "a pod that has just ended, or a static one, counts for the kubelet alone"
        yield f"Volcano counts {own} of other pods on {pod.node_name}, {missing} less than the kubelet did: {ended}."


RESERVED_CLAIM: Final = AdvisedFact(
    "A claim that was reserved for a gang that was not bound stays reserved until the scheduler's process ends.",
    Advice.cluster_admin(
        "Restart the scheduler, which then forgets the reservation: kubectl -n volcano-system rollout restart "
        "deployment volcano-scheduler."
    ),
)


def find_reserved_claims(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields each claim of the pod that an earlier cycle reserved, and that the scheduler's process keeps reserved."""
    kept_claims = fits.view.session.process.reserved_claims
    reasons = {one.reason for statuses in fits.table.statuses.values() for one in statuses} if kept_claims else set()
    for kept in kept_claims:
        if any(f"{kept.claim} {IN_ALLOCATION}" in reason for reason in reasons):
            text = f"ResourceClaim {kept.claim} is reserved for {kept.pod} on {kept.node}. {RESERVED_CLAIM.fact}"
            advice = (RESERVED_CLAIM.advice.as_repair(),)
            yield ConstraintFailure(text.removesuffix("."), advice, ConstraintKind.RESERVED_CLAIM)
