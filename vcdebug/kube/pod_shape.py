"""PodShape: the parsed parts of a pod's spec. Pods of one template share the parts."""

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from vcdebug.kube.affinity_terms import NO_TERMS, LabelGroup, PodAffinityTerms, pod_affinity_terms
from vcdebug.kube.node_affinity import NodeConstraints, parse_node_constraints
from vcdebug.kube.pod_requests import GateCheck, PodRequests, pod_requests
from vcdebug.kube.ports import HostPorts, host_ports
from vcdebug.model.pod import Pod
from vcdebug.releases.nodes import NODEORDER_POD_LEVEL_REQUESTS, SIDECARS_AS_INIT
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot.manifest import JsonObject

Part = TypeVar("Part")
_NO_PARTS: JsonObject = {}
LabelItems = tuple[tuple[str, str], ...]


class PodDemand(Struct, frozen=True):
    """Host ports and requests of a pod's containers."""

    ports: HostPorts
    requests: PodRequests


class PodShape:
    """The parsed parts of a pod, shared by all pods with equal parts."""

    __slots__ = ("affinity", "group", "mark", "ports", "requests")

    def __init__(
        self, mark: object, group: LabelGroup, affinity: PodAffinityTerms, ports: HostPorts, requests: PodRequests
    ) -> None:
        self.mark = mark
        """The PodShapes object that built the shape: another one may have other feature gates."""
        self.group = group
        self.affinity = affinity
        self.ports = ports
        self.requests = requests


class PodShapes:
    """Parses pods; each distinct part is parsed once."""

    def __init__(self, gate: GateCheck, release: Release = NEWEST) -> None:
        self._mark: object = object()
        self._gate = gate
        self._release = release
        self._incoming_pod_level = not release.has_older_form(NODEORDER_POD_LEVEL_REQUESTS)
        """Whether pod-level requests count for the pod's own balanced score."""
        self._shapes: dict[tuple[str, bool, int, int, int], tuple[object, PodShape]] = {}
        """(namespace, deletion, ids of labels, affinity and burden) → (objects that keep the ids valid, shape)."""
        self._burdens: dict[int, tuple[object, PodDemand]] = {}
        """Id of a tuple of request sources → (the tuple, kept alive for its id; the burden)."""
        self._of_parts: dict[tuple[int, ...], PodDemand] = {}
        """Ids of a tuple's elements → burden: pods of another reader have the same elements in another tuple."""
        self._groups: dict[tuple[str, LabelItems, bool], LabelGroup] = {}
        self._affinities: dict[tuple[str, str], PodAffinityTerms] = {}
        self._ports: dict[str, HostPorts] = {}
        self._requests: dict[tuple[str, str], PodRequests] = {}
        self._placements: dict[str, NodeConstraints] = {}
        self._placement_of: dict[int, tuple[Pod, NodeConstraints]] = {}
        self.immense = False
        """Whether any pod requests so much that sums may wrap around."""

    def pod_shape(self, pod: Pod) -> PodShape:
        """The parsed parts of the pod, which are also stored on the pod for the next call."""
        cached_shape = pod.shape
        if type(cached_shape) is PodShape and cached_shape.mark is self._mark:
            return cached_shape
        shape = pod.shape = self._find_shape(pod)
        return shape

    def _find_shape(self, pod: Pod) -> PodShape:
        labels, affinity, burden = pod.labels, pod.spec.get("affinity"), self.pod_demand(pod)
        key = (pod.namespace, pod.deleting, id(labels), id(affinity), id(burden))
        entry = self._shapes.get(key)
        if entry is None:
            shape = PodShape(
                self._mark, self.label_group(pod), self._affinity_terms(pod), burden.ports, burden.requests
            )
            entry = self._shapes[key] = ((labels, affinity, burden), shape)
        return entry[1]

    def pod_demand(self, pod: Pod) -> PodDemand:
        """The pod's host ports and requests, which the node view needs of every pod."""
        parts = pod.request_sources
        entry = self._burdens.get(id(parts))
        if entry is None:
            alike = tuple(map(id, parts))
            burden = _get_or_build(
                self._of_parts, alike, lambda: PodDemand(self._host_ports(pod), self._pod_requests(pod))
            )
            entry = self._burdens[id(parts)] = (parts, burden)
        return entry[1]

    def node_constraints(self, pod: Pod) -> NodeConstraints:
        """Node selector, node affinity and tolerations of the pod."""
        entry = self._placement_of.get(id(pod.manifest))
        if entry is not None:
            return entry[1]
        spec = pod.spec
        affinity = (spec.get("affinity") or _NO_PARTS).get("nodeAffinity")
        text = repr((spec.get("nodeSelector"), affinity, spec.get("tolerations")))
        constraints = _get_or_build(self._placements, text, lambda: parse_node_constraints(spec))
        self._placement_of[id(pod.manifest)] = (pod, constraints)
        return constraints

    def label_group(self, pod: Pod) -> LabelGroup:
        key = (pod.namespace, (*pod.labels.items(),), pod.deleting)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = LabelGroup(pod.namespace, pod.labels, pod.deleting)
        return group

    def _affinity_terms(self, pod: Pod) -> PodAffinityTerms:
        affinity = pod.spec.get("affinity")
        if not affinity:
            return NO_TERMS
        text = repr((affinity.get("podAffinity"), affinity.get("podAntiAffinity")))
        return _get_or_build(
            self._affinities, (pod.namespace, text), lambda: pod_affinity_terms(affinity, pod.namespace)
        )

    def _host_ports(self, pod: Pod) -> HostPorts:
        containers = [*(pod.spec.get("initContainers") or ()), *(pod.spec.get("containers") or ())]
        if not [1 for container in containers if container.get("ports")]:
            return ()
        text = repr([(c.get("restartPolicy"), c.get("ports")) for c in containers])
        return _get_or_build(self._ports, text, lambda: host_ports(pod.spec, self._release))

    def _pod_requests(self, pod: Pod) -> PodRequests:
        spec, status = pod.spec, pod.status
        text = (pod.resources_text, pod.resized_text)
        requests = self._requests.get(text)
        if requests is None:
            requests = self._requests[text] = pod_requests(
                spec,
                status,
                self._gate,
                incoming_pod_level=self._incoming_pod_level,
                sidecars_as_init=self._release.has_older_form(SIDECARS_AS_INIT),
            )
            self.immense = self.immense or requests.is_immense
        return requests


Key = TypeVar("Key")


def _get_or_build(cache: dict[Key, Part], key: Key, build: Callable[[], Part]) -> Part:
    part = cache.get(key)
    if part is None:
        part = cache[key] = build()
    return part
