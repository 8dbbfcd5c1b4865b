"""Fixes on nodes: repaired, labelled, uncordoned, more or larger ones."""

from collections.abc import Iterator, Mapping
from typing import Final

from vcdebug.amount_text import count_noun, format_named_amount, join_names
from vcdebug.explain.answer import Cause
from vcdebug.explain.node_fit import ask_predicates_now
from vcdebug.explain.pending.placement_constraints import find_similar_resource
from vcdebug.explain.plugins.nodegroup import required_group
from vcdebug.kube.taints import UNREADY_TAINTS, UNSCHEDULABLE_TAINT_KEY
from vcdebug.model.cluster import is_not_ready
from vcdebug.model.names import NodeName
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.plugins import DRF, GANG
from vcdebug.plugins.nodegroup import GROUP_LABEL
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import labels_of, name_of, spec_of, status_of
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.whatif.fixes import FixCauses, fix
from vcdebug.whatif.fixes.pod_fixes import is_offered_nowhere, select_useful_nodes

_ROOM_CAUSES = (*FixCauses.NODE, *FixCauses.RESERVED_ROOM, *FixCauses.VICTIM, Cause.NOT_CONFIGURED, GANG, DRF)
_MAX_ADDED_NODES: Final = 8
_MAX_SINGLE_NODES: Final = 4
_EXACT_NODE_COUNTS: Final = 64
_DEVICES_OF_A_NODE: Final = 8
_BLOCKING_MARKS: Final = {"taints": "[]", "unschedulable": "false"}
_REPORTED_DOMAINS: Final = ("kubernetes.io", "k8s.io")
"""Domains of labels that Kubernetes or a cloud sets to describe a node."""


def propose_node_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on nodes."""
    yield from _propose_repair_fixes(situation)
    yield from _propose_uncordon_fixes(situation)
    yield from _propose_label_fixes(situation)
    yield from _propose_device_fixes(situation)
    yield from _propose_node_addition_fixes(situation)


def _propose_repair_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    broken: dict[NodeName, tuple[str, ...]] = {}
    for node in situation.snapshot.objects_of("Node"):
        name = name_of(node)
        if is_not_ready(node):
            taints = [taint.get("key") or "" for taint in spec_of(node).get("taints") or ()]
            lifted = [key for key in dict.fromkeys(taints) if key in UNREADY_TAINTS and taints.count(key) == 1]
            ready = f'Node/{name}:status.conditions[Ready].status="True"'
            broken[name] = (ready, *(f"Node/{name}:spec.taints[{key}]-" for key in lifted))
    yield from _of_some_nodes(situation, broken, "Repair", " (NotReady)", fix.FixKind.REPAIR)


def _propose_uncordon_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    cordoned: dict[NodeName, tuple[str, ...]] = {}
    for node in situation.snapshot.objects_of("Node"):
        spec, name = spec_of(node), name_of(node)
        if spec.get("unschedulable"):
            taints = spec.get("taints") or ()
            marks = [at for at, taint in enumerate(taints) if taint.get("key") == UNSCHEDULABLE_TAINT_KEY]
            cordons = [f"Node/{name}:spec.taints[{at}]-" for at in marks]
            cordoned[name] = (f"Node/{name}:spec.unschedulable-", *cordons[:1])
    yield from _of_some_nodes(situation, cordoned, "Uncordon", " when {its} maintenance is done", None)


def _of_some_nodes(
    situation: fix.FixSituation,
    edits: Mapping[NodeName, tuple[str, ...]],
    verb: str,
    note: str,
    kind: fix.FixKind | None,
) -> Iterator[fix.Fix]:
    """A fix per node; of many nodes, whose trials would take the whole budget, one of growing size for them all. `note`
    follows the nodes; its blank `its` becomes "the" for many.
    """
    names = list(edits) if len(edits) <= _MAX_SINGLE_NODES else select_useful_nodes(situation, edits)
    if len(names) <= _MAX_SINGLE_NODES:
        for name in names:
            words = f"{verb} node {name}{note.format(its='its')}"
            yield fix.cluster_fix(words, *edits[name], causes=FixCauses.NODE, kind=kind)
        # The pods of a gang that no single node has room for may need several of them.
        if situation.explanation.cause_code != Cause.GANG_DISCARD or len(names) < 2:
            return
    sizes = [
        fix.FixSize(
            f"{count_noun(count, 'node')}{note.format(its='the')}: {join_names(names[:count], 3)}",
            tuple(edit for name in names[:count] for edit in edits[name]),
        )
        for count in _growing_counts(len(names))
    ]
    yield fix.cluster_fix(f"{verb} {fix.AMOUNT_BLANK}", causes=FixCauses.NODE, kind=kind).with_sizes(*sizes)


def _growing_counts(most: int) -> Iterator[int]:
    """Yields 1, 2, 3 and so on, from 64 on in steps of about an eighth, and `most`."""
    count = 1
    while count < most:
        yield count
        count += max(count // _EXACT_NODE_COUNTS * 8, 1)
    yield most


def _propose_label_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to label nodes as pods and queue require, unless Kubernetes or a cloud sets these labels."""
    for node in situation.snapshot.objects_of("Node")[:3]:
        labels, name, missing = labels_of(node), name_of(node), _missing_labels(situation, node)
        if missing and not any(_is_reported_label(key) for key in missing):
            edits = (f'Node/{name}:metadata.labels[{key}]="{value}"' for key, value in missing.items())
            text = ", ".join(f"{key}={value}" for key, value in missing.items())
            words, kind = f"Label node {name} with {text}, if correct", None
            # Another value means that the node belongs to another pool.
            if others := [f"{key}={labels[key]}" for key in missing if key in labels]:
                words = f"Relabel node {name} from {join_names(others)} to {text}, if its other users agree"
                kind = fix.FixKind.OVERRIDE
            yield fix.cluster_fix(words, *edits, causes=FixCauses.NODE, kind=kind)


def _missing_labels(situation: fix.FixSituation, node: Manifest) -> dict[str, str]:
    """What the first Pending pod's nodeSelector asks and the node does not have; the group that its queue requires."""
    selector = next((pod.spec.get("nodeSelector") or {} for pod in situation.pending_pods), {})
    group = required_group(situation.recording.session, situation.job, name_of(node))
    wanted = {**selector, **({GROUP_LABEL: group} if group is not None else {})}
    return {key: value for key, value in wanted.items() if labels_of(node).get(key) != value}


def _is_reported_label(key: str) -> bool:
    """Whether Kubernetes or a cloud sets the label, so that editing it does not change the node."""
    domain = key.rpartition("/")[0]
    return any(domain == reported or domain.endswith(f".{reported}") for reported in _REPORTED_DOMAINS)


def _propose_device_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to run the device plugin of a device that no node reports, on the node with most other devices."""
    for resource in (asked := fix.resources_of(situation.pending_pods)):
        if "/" not in resource or not is_offered_nowhere(situation, resource):
            continue
        # Two device plugins would offer the same devices twice.
        if find_similar_resource(situation.recording, resource, tuple(asked))[0]:
            continue
        devices_by_node = [(name_of(node), _reported_devices(node)) for node in situation.snapshot.objects_of("Node")]
        name, devices = max(devices_by_node, key=lambda entry: len(entry[1]), default=("", []))
        if not devices:
            continue
        amount = situation.total_request(situation.pending_pods, resource)
        field = field_step(resource)
        edits = (f'Node/{name}:status.allocatable{field}="{amount}"', f'Node/{name}:status.capacity{field}="{amount}"')
        words = f"Run the device plugin for {resource} on {name} (which reports {join_names(devices)})"
        kind, aspect = fix.FixKind.REPAIR, f"device {resource}"
        yield fix.cluster_fix(words, *edits, causes=FixCauses.NODE, kind=kind, aspect=aspect)


def _reported_devices(node: Manifest) -> list[str]:
    """The node's allocatable devices as `1 nvidia.com/gpu`."""
    amounts = fix.known_amounts(status_of(node).get("allocatable"))
    return [f"{amount} {name}" for name, amount in amounts.items() if "/" in name and amount > 0]


def _propose_node_addition_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to add copies of the most suitable node, enlarged if the largest pod would not fit, with labels that the
    pods select and no cloud sets.
    """
    model = _best_model_node(situation)
    if model is None:
        return
    larger, name = _missing_amounts(situation, model), name_of(model)
    # No node can be bought that has a misspelt device.
    absent = (one for one in larger if is_offered_nowhere(situation, one))
    if any(find_similar_resource(situation.recording, one, tuple(larger))[0] for one in absent):
        return
    missing = _missing_labels(situation, model)
    labels = {} if any(map(_is_reported_label, missing)) else missing
    additions = [format_named_amount(one, Resource.from_list({one: text}).get(one)) for one, text in larger.items()]
    additions += [f"label {key}={value}" for key, value in labels.items()]
    node_words = f"like {name}{f' but with {join_names(additions)}' if additions else ''}"
    changes = [f'metadata.labels[{key}]="{value}"' for key, value in labels.items()]
    # Set rather than removed: an earlier change of the plan may have removed the mark from the node that is copied.
    changes += [f"spec.{mark}={value}" for mark, value in _BLOCKING_MARKS.items() if spec_of(model).get(mark)]
    for resource, amount in larger.items():
        changes += [f'status.{part}{field_step(resource)}="{amount}"' for part in ("allocatable", "capacity")]
    # Without these the new node would attach no volumes, and follow no NUMA policy.
    snapshot, sizes = situation.snapshot, list[fix.FixSize]()
    copied = [kind for kind in ("CSINode", "Numatopology") if name in map(name_of, snapshot.objects_of(kind))]
    for count in range(1, _MAX_ADDED_NODES + 1):
        names = [f"{name}-added-{number}" for number in range(1, count + 1)]
        edits = [f"Node/{added}:{change}" for added in names for change in (f"+={name}", *changes)]
        edits += [f"{kind}/{added}:+={name}" for added in names for kind in copied]
        sizes.append(fix.FixSize(count_noun(count, "node"), tuple(edits)))
    added = fix.cluster_fix(f"Add {fix.AMOUNT_BLANK} {node_words}", causes=_ROOM_CAUSES, aspect="nodes")
    yield added.with_sizes(*sizes)


def _missing_amounts(situation: fix.FixSituation, model: Manifest) -> dict[str, str]:
    """Resource → sufficient amount, for what the model node has less of than the job's largest pod requests."""
    allocatable, amounts = fix.known_amounts(status_of(model).get("allocatable")), {}
    for resource in fix.resources_of(situation.pending_pods):
        unit = fix.unit_of(resource)
        request = max(situation.total_request([pod], resource) for pod in situation.pending_pods)
        if request > allocatable.get(resource, 0):
            wanted = situation.total_request(situation.pending_pods, resource) if unit == "count" else 0
            amount = max(request, min(wanted, _DEVICES_OF_A_NODE))
            amounts[resource] = fix.AmountRange(0, request, unit).format_amount(amount)
    return amounts


def _best_model_node(situation: fix.FixSituation) -> Manifest | None:
    """The most suitable node, regardless of its free room; None without nodes."""
    recording, needed = situation.recording, fix.resources_of(situation.pending_pods)
    tasks = () if situation.job is None else situation.job.tasks.values()
    task = next((task for task in tasks if task.status is TaskStatus.PENDING), None)
    rows = ask_predicates_now(recording, task)[0].nonzero()[0].tolist() if task is not None else ()
    refusing = {recording.node_names[row] for row in rows}

    def suitability(node: Manifest) -> tuple[int, int, bool, float]:
        """A sort key: few missing labels, number of needed resources, no other reason to refuse the pod, and cpu."""
        amounts, missing = fix.known_amounts(status_of(node).get("allocatable")), len(_missing_labels(situation, node))
        provided = len([name for name in needed if amounts.get(name)])
        return -missing, provided, name_of(node) not in refusing, amounts.get("cpu", 0)

    return max(situation.snapshot.objects_of("Node"), key=suitability, default=None)
