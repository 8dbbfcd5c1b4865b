"""What an administrator can change about nodes: repair, labels and taints, and more or larger ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from vcdebug.amount_text import listed, plural
from vcdebug.debugger.remedies.amounts import field, known, request_of, resources_of, unit_of
from vcdebug.debugger.remedies.lever import BLANK, Amount, Choice, Lever, Situation, pod_edits
from vcdebug.explain.answer import Harm
from vcdebug.grouping import by_key
from vcdebug.kube.fitness import may_be_lifted, may_be_tolerated
from vcdebug.kube.taints import Taint, parse_taints, parse_tolerations, tolerated
from vcdebug.model.names import NodeName
from vcdebug.plugins import DRF, GANG
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import labels_of, name_of, spec_of, status_of
from vcdebug.snapshot.snapshot import Manifest

_NODES = ("predicates-*", "gang-discard", "larger-than-any-node", "pod-count", "node-not-ready", "no-hypernode")
_ROOM = (*_NODES, "enqueue-overcommit", "enqueue-held-*", "action-not-configured", GANG, DRF, "victims-*")
_MOST_ADDED: Final = 8
_DEVICES_OF_A_NODE: Final = 8
_MARKS: Final = ("taints", "unschedulable")
_NOT_READY: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_REPORTED: Final = ("kubernetes.io", "k8s.io")
"""Domains of labels that describe a node."""
_CORDON: Final = "node.kubernetes.io/unschedulable"


def of_nodes(situation: Situation) -> Iterator[Lever]:
    """Levers on nodes."""
    yield from _repaired(situation)
    yield from _uncordoned(situation)
    yield from _labelled(situation)
    yield from _more_nodes(situation)


def _repaired(situation: Situation) -> Iterator[Lever]:
    """Nodes whose kubelet does not report Ready, as they would be if it did."""
    for node in situation.snapshot.of("Node"):
        name, conditions = name_of(node), status_of(node).get("conditions") or ()
        if any(one.get("type") == "Ready" and one.get("status") != "True" for one in conditions):
            taints = [taint.get("key") or "" for taint in spec_of(node).get("taints") or ()]
            lifted = [key for key in dict.fromkeys(taints) if key in _NOT_READY and taints.count(key) == 1]
            edits = (
                f'Node/{name}:status.conditions[Ready].status="True"',
                *(f"Node/{name}:spec.taints[{key}]-" for key in lifted),
            )
            yield Lever(f"repair node {name}, which is NotReady", edits, Harm.CLUSTER, _NODES, mends=True)


def _uncordoned(situation: Situation) -> Iterator[Lever]:
    for node in situation.snapshot.of("Node"):
        spec, name = spec_of(node), name_of(node)
        if spec.get("unschedulable"):
            taints = spec.get("taints") or ()
            edits = [f"Node/{name}:spec.unschedulable-"]
            edits += [f"Node/{name}:spec.taints[{at}]-" for at, one in enumerate(taints) if one.get("key") == _CORDON][
                :1
            ]
            words = f"uncordon node {name}, once what it was cordoned for is over"
            yield Lever(words, tuple(edits), Harm.CLUSTER, _NODES)


def _labelled(situation: Situation) -> Iterator[Lever]:
    """The labels that the node selector asks for, on a node that lacks them."""
    for pod in situation.waiting[:1]:
        wanted: Mapping[str, str] = pod.spec.get("nodeSelector") or {}
        for node in situation.snapshot.of("Node")[:3] if wanted else ():
            labels, name = labels_of(node), name_of(node)
            lacking = {key: value for key, value in wanted.items() if labels.get(key) != value}
            if lacking and not any(_is_fact(key) for key in lacking):
                edits = tuple(f'Node/{name}:metadata.labels[{key}]="{value}"' for key, value in lacking.items())
                shown = ", ".join(f"{key}={value}" for key, value in lacking.items())
                yield Lever(f"label node {name} with {shown}, if that is true of it", edits, Harm.CLUSTER, _NODES)


def _is_fact(key: str) -> bool:
    """Whether Kubernetes or a cloud reports the label: nobody makes it true by writing it."""
    domain = key.rpartition("/")[0]
    return any(domain == one or domain.endswith(f".{one}") for one in _REPORTED)


def _more_nodes(situation: Situation) -> Iterator[Lever]:
    """Nodes like the one that suits the job best, with more of what a pod asks for where that is not enough."""
    model = _most_like(situation)
    if model is None:
        return
    larger, name = _larger(situation, model), name_of(model)
    shown = listed(f"{amount} {resource}" for resource, amount in larger.items())
    like = f"like {name}{f' but with {shown}' if larger else ''}"
    sizes = []
    for count in range(1, _MOST_ADDED + 1):
        names = [f"{name}-added-{number}" for number in range(1, count + 1)]
        edits = tuple(edit for added in names for edit in _added(model, added, larger))
        sizes.append(Choice(plural(count, "node"), edits))
    lever = Lever(f"add {BLANK} {like}", (), Harm.CLUSTER, _ROOM, aspect="nodes")
    yield lever.of_size(*sizes)


def _added(model: Manifest, name: str, larger: Mapping[str, str]) -> Iterator[str]:
    """A copy that no taint and no cordon keeps pods from."""
    yield f"Node/{name}:+={model['metadata']['name']}"
    yield from (f"Node/{name}:spec.{mark}-" for mark in _MARKS if spec_of(model).get(mark))
    for resource, amount in larger.items():
        yield f'Node/{name}:status.allocatable{field(resource)}="{amount}"'
        yield f'Node/{name}:status.capacity{field(resource)}="{amount}"'


def _larger(situation: Situation, model: Manifest) -> dict[str, str]:
    """What the model has less of than the job's largest pod asks for, and how much would do."""
    has, found = known(status_of(model).get("allocatable")), {}
    for resource in resources_of(situation.waiting):
        unit = unit_of(resource)
        request = max(request_of([pod], resource) for pod in situation.waiting)
        if request > has.get(resource, 0):
            together = min(request_of(situation.waiting, resource), _DEVICES_OF_A_NODE) if unit == "count" else 0
            found[resource] = Amount(0, request, unit).text(max(request, together))
    return found


def _most_like(situation: Situation) -> Manifest | None:
    """The node that suits the job best but for its room."""
    needed = resources_of(situation.waiting)
    labels: Mapping[str, str] = next((pod.spec.get("nodeSelector") or {} for pod in situation.waiting), {})
    return max(situation.snapshot.of("Node"), key=partial(_suits, needed=needed, labels=labels), default=None)


def _suits(node: Manifest, needed: Sequence[str], labels: Mapping[str, str]) -> tuple[int, int, bool, float]:
    """Labels first, then what it has at all, no taint, and its size."""
    own = labels_of(node)
    has = known(status_of(node).get("allocatable"))
    matching = len([key for key, value in labels.items() if own.get(key) == value])
    marked = any(spec_of(node).get(mark) for mark in _MARKS)
    return matching, len([name for name in needed if has.get(name)]), not marked, has.get("cpu", 0)


_CAUSES = ("predicates-*", "gang-discard", "larger-than-any-node", "pod-count", "no-hypernode")


def of_taints(situation: Situation) -> Iterator[Lever]:
    """Who set a taint may take it away, or let a pod stand there all the same; never where the node is out of order.

    What it was set for cannot be told by its key, so that both come behind everything else that works.
    """
    for taint, nodes in _keeping(situation, may_be_tolerated).items():
        match = f'operator: Equal, value: "{taint.value}"' if taint.value else "operator: Exists"
        change = f"spec.tolerations[+]={{key: {taint.key}, {match}, effect: {taint.effect}}}"
        shown = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        words = f"tolerate taint {shown} of {plural(len(nodes), 'node')}, if whoever set it agrees: it keeps pods away"
        edits = pod_edits(situation.waiting, change)
        yield Lever(words, edits, Harm.CLUSTER, _CAUSES, risky=True, aspect=f"taint {shown}")
    kept = _keeping(situation, may_be_lifted)
    for key, nodes in by_key((taint.key, name) for taint, names in kept.items() for name in names).items():
        names = [name for name in dict.fromkeys(nodes) if nodes.count(name) == 1]
        edits = tuple(f"Node/{name}:spec.taints[{key}]-" for name in names)
        words = f"remove taint {key} from {plural(len(names), 'node')}, once what it was set for is over"
        if names:
            yield Lever(words, edits, Harm.CLUSTER, _CAUSES, risky=True)


def _keeping(situation: Situation, allowed: Callable[[Taint, JsonObject], bool]) -> dict[Taint, list[NodeName]]:
    """Taints that some pod of the job does not tolerate, and the nodes that have them."""
    tolerations = [parse_tolerations(pod.spec.get("tolerations")) for pod in situation.waiting]
    return by_key(
        (taint, NodeName(name_of(node)))
        for node in situation.snapshot.of("Node")
        for taint in parse_taints(spec_of(node).get("taints"))
        if allowed(taint, node) and not all(tolerated(taint, one) for one in tolerations)
    )
