"""What a pod wants of its node beside room, and what the nodes have instead: labels, neighbours, and near misses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from vcdebug.amount_text import listed
from vcdebug.explain.answer import Advice, owner
from vcdebug.explain.node_fit import NodeFits
from vcdebug.grouping import by_key
from vcdebug.kube.affinity_terms import AffinityTerm, LabelGroup, pod_affinity_terms
from vcdebug.kube.node_affinity import required_node_affinity
from vcdebug.kube.pod_affinity import AFFINITY_REASON
from vcdebug.kube.selector import Requirement, Selector

MOST_HOLDERS: Final = 4


class Obstacle(NamedTuple):
    """One thing in the way, with names."""

    text: str
    advice: tuple[Advice, ...] = ()
    replaces: str = ""
    """Advice with this word is void beside it."""


NODE_AFFINITY_REASON = "didn't match Pod's node affinity/selector"
HOSTNAME = "kubernetes.io/hostname"
MOST_VALUES = 4


def labels_wanted(room: NodeFits) -> Iterator[Obstacle]:
    """Labels that no node has, with those that it could have been meant to be."""
    if not room.refused_for(NODE_AFFINITY_REASON):
        return
    wanted = required_node_affinity(room.task.pod.spec)
    terms = wanted.terms or ()
    labels = (term.labels for term in terms if len(terms) == 1)
    for requirement in (each for selector in (wanted.selector, *labels) for each in selector.requirements):
        yield from _wished(room, requirement)


def _wished(room: NodeFits, requirement: Requirement) -> Iterator[Obstacle]:
    """Who has it, where few do; else what they have instead."""
    nodes = [room.view.session.nodes[node.name] for node in room.nodes]
    have = [node.name for node in nodes if requirement.matches(node.labels)]
    if have:
        if requirement.key != HOSTNAME:
            having = set(have)
            yield from _some(have, [node.name for node in nodes if node.name not in having], worded(requirement))
        return
    key = requirement.key
    found = by_key((node.labels[key], node.name) for node in nodes if key in node.labels)
    wish = f"no node has {worded(requirement)}"
    if not found:
        yield from _unknown_key(room, requirement, wish)
        return
    values = listed((f"{value or 'empty'} on {listed(names, 2)}" for value, names in found.items()), MOST_VALUES)
    meant = _close(requirement.values, found) if requirement.operator == "In" else ""
    advice = (owner(f"did you mean {requirement.key}={meant}? Labels are compared letter by letter"),) if meant else ()
    yield Obstacle(f"{wish}: {requirement.key} is {values}", advice)


def _some(have: list[str], lack: list[str], wish: str) -> Iterator[Obstacle]:
    """The fewer of the two by name."""
    few, verb = (lack, "lack") if len(lack) <= len(have) else (have, "have")
    if few and len(few) < MOST_VALUES:
        single = {"lack": "lacks", "have": "has"}
        only = "" if verb == "lack" else "only "
        yield Obstacle(f"{only}{listed(few)} {verb if len(few) > 1 else single[verb]} {wish}")


def _unknown_key(room: NodeFits, requirement: Requirement, wish: str) -> Iterator[Obstacle]:
    keys = dict.fromkeys(key for node in room.nodes for key in room.view.session.nodes[node.name].labels)
    meant = _close((requirement.key,), keys)
    advice = (owner(f"did you mean the label {meant}?"),) if meant else ()
    yield Obstacle(f"{wish}, nor any label {requirement.key}" if requirement.values else wish, advice)


def _close(wanted: Iterable[str], known: Iterable[str]) -> str:
    """The known word that one of the wanted ones was probably meant to be; empty if none is near."""
    from difflib import get_close_matches

    names = list(known)
    for word in wanted:
        same = [name for name in names if name.casefold() == word.casefold()]
        near = same or get_close_matches(word, names, 1, 0.8)
        if near and near[0] != HOSTNAME:
            return near[0]
    return ""


def worded(requirement: Requirement) -> str:
    """`zone=b`, `zone in (a, b)`, `the label zone`."""
    values = ", ".join(requirement.values)
    if requirement.operator == "In":
        return f"{requirement.key}={values}" if len(requirement.values) == 1 else f"{requirement.key} in ({values})"
    if requirement.operator == "Exists":
        return f"the label {requirement.key}"
    if requirement.operator == "DoesNotExist":
        return f"no label {requirement.key}"
    return f"{requirement.key} {requirement.operator} {values}"


def resource_meant(room: NodeFits, name: str) -> str:
    """The resource that was probably meant by one that no node has, and a node that has it; empty if none is near."""
    nodes = [room.view.session.nodes[node.name] for node in room.nodes]
    known = {each: node.name for node in nodes for each, value in node.allocatable.items() if value > 0}
    meant = _close((name,), [each for each in known if "/" in each])
    return f"did you mean {meant}, which {known[meant]} has?" if meant else ""


def neighbours_wanted(room: NodeFits) -> Iterator[Obstacle]:
    """Whom the pod wants to stand beside: nobody there is, or where they are."""
    if not room.refused_for(AFFINITY_REASON):
        return
    for term in pod_affinity_terms(room.task.pod.spec.get("affinity") or {}, room.task.namespace).required_affinity:
        yield _neighbours(room, term)


def _neighbours(room: NodeFits, term: AffinityTerm) -> Obstacle:
    wish = f"its affinity wants to stand beside pods with {_labels(term.selector)} (by {term.topology_key})"
    there = [
        f"{task.name} on {node.name}"
        for node in room.nodes
        for task in room.tasks_on(node.name)
        if term.matches(LabelGroup(task.namespace, task.pod.labels, deleting=False), None)
    ]
    if there:
        return Obstacle(f"{wish}: {listed(there, MOST_HOLDERS)}", (), "affinity")
    lacking = f"{wish}, and none runs on any node"
    return Obstacle(
        lacking, (owner("start such pods first, or correct the labelSelector of the affinity"),), "affinity"
    )


def _labels(selector: Selector) -> str:
    return listed(worded(each) for each in selector.requirements) or "any labels"
