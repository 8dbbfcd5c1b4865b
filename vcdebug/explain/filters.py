"""Why a filter refused a node: the expression and the label, the taint and the tolerations, the pod in conflict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcdebug.explain.state_before import before, task_of
from vcdebug.framework.record import PredicateEvent
from vcdebug.kube.placement import Placement, placement
from vcdebug.kube.ports import ANY_IP, NO_FREE_PORTS, HostPort, host_ports
from vcdebug.kube.selector import Requirement
from vcdebug.kube.taints import first_untolerated, parse_taints, schedulable_despite_cordon
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.node import NodeInfo
from vcdebug.model.task import TaskInfo
from vcdebug.trace.recording import Recording

CORDONED: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint"
NOT_MATCHING: Final = "node(s) didn't match Pod's node affinity/selector"
ABSENT: Final = "has no such label"


def why_refused(recording: Recording, seq: Seq, event: PredicateEvent, node: NodeName) -> tuple[str, ...]:
    """What about the pod and the node does not go together, filter by filter that refused it, before an event."""
    row, failed = recording.session.node_table.row_of[node], event.failed.tolist()
    if row not in failed:
        return ()
    asking, info = task_of(recording, event.task), recording.session.nodes[node]
    asked = placement(asking.pod.spec)
    found: list[str] = []
    for status in recording.reasons.statuses(int(event.codes[failed.index(row)])):
        if status.reason.startswith(CORDONED):
            found += _cordon(asked, info)
        elif status.reason.startswith(TAINTED):
            found += _taint(asked, info)
        elif status.reason.startswith(NOT_MATCHING):
            found += _affinity(asked, info)
        elif status.reason == NO_FREE_PORTS:
            found += _ports(recording, seq, asking, node)
    return tuple(found)


def _cordon(asked: Placement, node: NodeInfo) -> Iterator[str]:
    if node.unschedulable and not schedulable_despite_cordon(asked.tolerations):
        yield "the node is cordoned, and no toleration accepts node.kubernetes.io/unschedulable"


def _taint(asked: Placement, node: NodeInfo) -> Iterator[str]:
    taint = first_untolerated(parse_taints(node.taints), asked.tolerations)
    if taint is None:
        return
    stated = [f"{t.key or 'any key'} {t.operator or 'Equal'} {t.value}".rstrip() for t in asked.tolerations]
    against = f"tolerations: {', '.join(stated)}" if stated else "the pod has no toleration"
    yield f"taint {taint.key}={taint.value}:{taint.effect}; {against}"


def _affinity(asked: Placement, node: NodeInfo) -> Iterator[str]:
    for requirement in asked.required.selector.requirements:
        if not requirement.matches(node.labels):
            yield f"nodeSelector {_against(requirement, node)}"
    terms = asked.required.terms
    if terms is None or any(term.matches(node.labels, node.name) for term in terms):
        return
    for number, term in enumerate(terms, start=1):
        failing = [one for one in term.labels.requirements if not one.matches(node.labels)]
        told = [_against(one, node) for one in failing]
        told += [f"{one.field} is not {one.value}" for one in term.fields if not one.matches(node.name)]
        yield f"affinity term {number}: {'; '.join(told) or 'it never matches'}"


def _against(requirement: Requirement, node: NodeInfo) -> str:
    """`zone In (a, b), the node has zone=c`."""
    values = f" ({', '.join(requirement.values)})" if requirement.values else ""
    has = f"has {requirement.key}={node.labels[requirement.key]}" if requirement.key in node.labels else ABSENT
    return f"{requirement.key} {requirement.operator}{values}, the node {has}"


def _ports(recording: Recording, seq: Seq, asking: TaskInfo, node: NodeName) -> Iterator[str]:
    wanted = host_ports(asking.pod.spec)
    if not wanted:
        return
    for key in before(recording, seq).tasks_on(node):
        for used in host_ports(task_of(recording, key).pod.spec):
            if any(_same_port(one, used) for one in wanted):
                yield f"host port {used.port}/{used.protocol} is taken by {key}"


def _same_port(one: HostPort, used: HostPort) -> bool:
    same = (one.protocol, one.port) == (used.protocol, used.port)
    return same and (one.ip == ANY_IP or used.ip in (ANY_IP, one.ip))
