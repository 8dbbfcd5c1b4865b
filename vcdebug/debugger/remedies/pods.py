"""What the owner of a job can change about its pods: smaller requests, fewer conditions on nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from vcdebug.amount_text import plural
from vcdebug.debugger.remedies.amounts import container_requests, field, less_of, request_of, resources_of
from vcdebug.debugger.remedies.lever import BLANK, Lever, Situation, pod_edits
from vcdebug.explain.answer import Harm
from vcdebug.kube.ports import host_ports
from vcdebug.model.pod import Pod
from vcdebug.plugins import DRF, GANG, PRIORITY

_NODES = ("predicates-*", "gang-discard", "larger-than-any-node", "pod-count", "no-hypernode")
_SIZES = (
    *_NODES,
    "queue-*",
    DRF,
    PRIORITY,
    GANG,
    "action-not-configured",
    "victims-*",
    "enqueue-*",
    "preemptive",
)
_MANY: Final = 64
"""Pods of one job up to which requests are edited: beyond, the edits are no advice for a person any more."""


def of_pods(situation: Situation) -> Iterator[Lever]:
    """Levers on the pods that wait."""
    for change, words, concerned in _CONDITIONS:
        pods = tuple(pod for pod in situation.waiting if _stated(pod.spec, concerned))
        if pods:
            yield Lever(words, pod_edits(pods, change), Harm.JOB, _NODES, aspect=change)
    yield from _ports(situation)
    if len(situation.waiting) <= _MANY:
        yield from _smaller(situation)
        yield from _left_out(situation)


_CONDITIONS: Final = (
    ("spec.nodeSelector-", "drop the node selector", ("nodeSelector",)),
    ("spec.affinity.nodeAffinity-", "drop the node affinity", ("affinity", "nodeAffinity")),
    ("spec.affinity.podAffinity-", "drop the pod affinity", ("affinity", "podAffinity")),
    ("spec.affinity.podAntiAffinity-", "drop the pod anti-affinity", ("affinity", "podAntiAffinity")),
    ("spec.topologySpreadConstraints-", "drop the topology spread constraints", ("topologySpreadConstraints",)),
)


def _stated(spec: object, path: tuple[str, ...]) -> bool:
    for step in path:
        spec = spec.get(step) if isinstance(spec, Mapping) else None
    return bool(spec)


def _smaller(situation: Situation) -> Iterator[Lever]:
    """Pods that ask alike shrink alike, in the container that asks for most."""
    for resource in resources_of(situation.waiting):
        if is_nowhere(situation, resource):
            continue
        alike: dict[tuple[int, int], list[Pod]] = {}
        for pod in situation.waiting:
            requests = container_requests(pod, resource)
            largest = max(requests, default=0)
            if largest:
                alike.setdefault((requests.index(largest), largest), []).append(pod)
        for (container, present), pods in alike.items():
            amount = less_of(resource, present)
            if amount is None:
                continue
            who = pods[0].name if len(pods) == 1 else plural(len(pods), "pod")
            words = f"ask for {BLANK} instead of {amount.text(present)} {resource} in {who}"
            edits = tuple(edit for pod in pods for edit in _requests(pod, container, resource))
            aspect = f"request of {present} {resource} in container {container}"
            yield Lever(words, edits, Harm.JOB, _SIZES, amount, less=True, aspect=aspect)


def is_nowhere(situation: Situation, resource: str) -> bool:
    """Whether no node has any of a resource."""
    return not any(node.allocatable.get(resource) > 0 for node in situation.recording.session.nodes.values())


def _left_out(situation: Situation) -> Iterator[Lever]:
    """What no node has cannot be asked for in a smaller amount."""
    for resource in resources_of(situation.waiting):
        if not is_nowhere(situation, resource):
            continue
        pods = [pod for pod in situation.waiting if request_of([pod], resource)]
        edits = [
            f"Pod/{pod.key}:spec.containers[{at}].resources.{part}{field(resource)}-"
            for pod in pods
            for at, container in enumerate(pod.spec.get("containers") or ())
            for part in ("requests", "limits")
            if resource in ((container.get("resources") or {}).get(part) or ())
        ]
        if situation.group is not None and resource in (situation.group.min_resource_list or ()):
            edits.append(f"{situation.group_path}:spec.minResources{field(resource)}-")
        words = f"leave {resource}, which no node offers, out of {plural(len(pods), 'pod')}"
        yield Lever(words, tuple(edits), Harm.JOB, _SIZES, less=True, aspect=f"no {resource}")


def _requests(pod: Pod, container: int, resource: str) -> Iterator[str]:
    """Smaller requests; a device's limit is lowered with its request."""
    stated = (pod.spec.get("containers") or ())[container].get("resources") or {}
    for part in ("requests", "limits"):
        if resource in (stated.get(part) or ()) and (
            part == "requests" or "/" in resource or resource not in (stated.get("requests") or ())
        ):
            yield f"Pod/{pod.key}:spec.containers[{container}].resources.{part}{field(resource)}={BLANK}"


def _ports(situation: Situation) -> Iterator[Lever]:
    """Another host port, one that no pod of the snapshot takes."""
    taken = {
        used.port
        for pod in map(Pod, situation.snapshot.of("Pod"))
        for used in host_ports(pod.spec, situation.snapshot.release)
    }
    wanted = [(pod, *place) for pod in situation.waiting for place in _host_ports(pod)]
    for port in dict.fromkeys(place[-1] for place in wanted):
        other = next(number for number in range(port + 1, port + len(taken) + 2) if number not in taken)
        edits = tuple(
            f"Pod/{pod.key}:spec.containers[{container}].ports[{at}].{name}={other}"
            for pod, container, at, number in wanted
            if number == port
            for name in (("hostPort", "containerPort") if pod.spec.get("hostNetwork") else ("hostPort",))
        )
        yield Lever(f"use another host port than {port}, say {other}", edits, Harm.JOB, _NODES, aspect=f"port {port}")


def _host_ports(pod: Pod) -> Iterator[tuple[int, int, int]]:
    """(container, place, host port): where an edit finds it."""
    for at, container in enumerate(pod.spec.get("containers") or ()):
        for place, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                yield at, place, int(port["hostPort"])
