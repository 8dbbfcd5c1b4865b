"""A random cluster, and its simple model for scalar checks."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.builders import amounts, cluster, conf_of, node, open_session, pod, pod_group
from vcdebug.framework.session import Session
from vcdebug.model.pod import Pod
from vcdebug.snapshot.snapshot import Manifest

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
KEYS = (ZONE, HOSTNAME, "rack")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
APPS = ("web", "db", "cache")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
ARGUMENTS = """    arguments:
      leastrequested.weight: 2
      mostrequested.weight: 1
"""


class World:
    """Nodes and their pods as plain lists, which tests keep up to date."""

    def __init__(self, ssn: Session) -> None:
        self.names = list(ssn.nodes)
        self.manifests = {name: ssn.nodes[name].manifest for name in self.names}
        self.pods: dict[str, list[Pod]] = {
            name: [task.pod for task in ssn.nodes[name].tasks_in_order()] for name in self.names
        }
        self.namespaces = {
            m["metadata"]["name"]: m["metadata"].get("labels") or {} for m in ssn.snapshot.objects_of("Namespace")
        }
        self.anti_nodes = [n for n in self.names if any(required(p, "podAntiAffinity") for p in self.pods[n])]
        self.affinity_nodes = [n for n in self.names if any(has_affinity(p) for p in self.pods[n])]

    def labels(self, name: str) -> dict[str, str]:
        """A node's labels."""
        labels: dict[str, str] = self.manifests[name]["metadata"].get("labels") or {}
        return labels


def has_affinity(pod: Pod) -> bool:
    """Whether the pod has a pod affinity object."""
    affinity = pod.spec.get("affinity") or {}
    return "podAffinity" in affinity or "podAntiAffinity" in affinity


def required(pod: Pod, kind: str) -> list[dict[str, Any]]:
    """The required affinity terms of a kind."""
    return ((pod.spec.get("affinity") or {}).get(kind) or {}).get(REQUIRED) or []


def preferred(pod: Pod, kind: str) -> list[dict[str, Any]]:
    """The preferred affinity terms of a kind, with weights."""
    return ((pod.spec.get("affinity") or {}).get(kind) or {}).get(PREFERRED) or []


def random_session(seed: int) -> Session:
    """An open session with predicates, nodeorder and binpack."""
    random = Random(seed)
    hosts = [f"n{index:02}" for index in range(random.randint(1, 12))]
    objects: list[Manifest] = [_node(random, name) for name in hosts]
    objects += [{"kind": "Namespace", "metadata": {"name": n, "labels": {"team": n[:1]}}} for n in ("default", "other")]
    objects += [pod_group("j"), pod_group("r"), _service(random)]
    objects += [_pod(random, f"r-{index}", "r", on=random.choice(hosts)) for index in range(random.randint(0, 15))]
    objects += [_pod(random, f"j-{index}", "j") for index in range(8)]
    text = conf_of("predicates nodeorder binpack").replace("name: nodeorder\n", "name: nodeorder\n" + ARGUMENTS)
    return open_session(cluster(*objects, conf=text))


def _node(random: Random, name: str) -> Manifest:
    labels = {key: random.choice(values) for key, values in ((ZONE, "ab"), ("rack", "1234")) if random.random() < 0.8}
    taints = [
        {"key": random.choice("kl"), "value": random.choice(["", "v"]), "effect": random.choice(EFFECTS)}
        for _ in range(random.choice((0, 0, 1, 2)))
    ]
    made = node(
        name,
        cpu=random.choice(["0", "4", "7500m"]),
        memory=random.choice(["8Gi", "3000000001", "16G"]),
        pods=random.choice(["2", "110"]),
        labels=labels,
        taints=taints,
        unschedulable=random.random() < 0.1,
        **({"gpu": "4"} if random.random() < 0.4 else {}),
    )
    made["status"]["images"] = [{"names": ["train:1"], "sizeBytes": 400 * 2**20}] if random.random() < 0.5 else []
    return made


def _service(random: Random) -> Manifest:
    selector = {"app": random.choice(APPS)}
    return {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": selector}}


def _pod(random: Random, name: str, group: str, on: str = "") -> Manifest:
    spec: dict[str, Any] = {}
    affinity = {kind: _terms(random) for kind in ("podAffinity", "podAntiAffinity") if random.random() < 0.3}
    if random.random() < 0.4:
        affinity["nodeAffinity"] = _node_affinity(random)
    if affinity:
        spec["affinity"] = affinity
    if random.random() < 0.2:
        spec["nodeSelector"] = {ZONE: random.choice("ab")}
    if random.random() < 0.5:
        spec["tolerations"] = [_toleration(random)]
    if random.random() < 0.4:
        spec["topologySpreadConstraints"] = [_spread(random) for _ in range(random.randint(1, 2))]
    deleting = random.random() < 0.1
    namespace = "other" if on and random.random() < 0.3 else "default"
    made = pod(
        name, group, on=on, requests=_requests(random), namespace=namespace, deleting=deleting and bool(on), **spec
    )
    made["metadata"]["labels"] = {"app": random.choice(APPS)}
    if random.random() < 0.3:
        made["spec"]["containers"][0]["ports"] = [_port(random)]
    return made


def _requests(random: Random) -> dict[str, str]:
    return amounts(
        random.choice([None, "0", "250m", "1"]),
        random.choice([None, "1Gi", "100M"]),
        **({"gpu": "1"} if random.random() < 0.3 else {}),
    )


def _port(random: Random) -> dict[str, Any]:
    address = random.choice([{}, {"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}])
    return {"hostPort": random.choice((80, 81)), "protocol": random.choice(("TCP", "UDP")), **address}


def _selector(random: Random) -> dict[str, Any] | None:
    return random.choice(
        [
            None,
            {},
            {"matchLabels": {"app": random.choice(APPS)}},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [random.choice(APPS)]}]},
        ]
    )


def _term(random: Random) -> dict[str, Any]:
    made: dict[str, Any] = {"topologyKey": random.choice(KEYS)}
    selector = _selector(random)
    if selector is not None:
        made["labelSelector"] = selector
    if random.random() < 0.3:
        made["namespaces"] = ["other"]
    if random.random() < 0.3:
        operator = random.choice(("In", "NotIn"))
        expression = {"key": "team", "operator": operator, "values": [random.choice("do")]}
        made["namespaceSelector"] = {"matchExpressions": [expression]}
    return made


def _terms(random: Random) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if random.random() < 0.6:
        made[REQUIRED] = [_term(random) for _ in range(random.randint(0, 2))]
    if random.random() < 0.6:
        weights: Sequence[int] = (1, 10, 57)
        made[PREFERRED] = [{"weight": random.choice(weights), "podAffinityTerm": _term(random)} for _ in range(2)]
    return made


def _node_term(random: Random) -> dict[str, Any]:
    expressions = [
        {"key": ZONE, "operator": "In", "values": [random.choice("ab")]},
        {"key": "rack", "operator": random.choice(("Gt", "Lt")), "values": ["2"]},
        {"key": "rack", "operator": "DoesNotExist"},
    ]
    made: dict[str, Any] = {"matchExpressions": random.sample(expressions, random.randint(0, 2))}
    if random.random() < 0.3:
        operator = random.choice(("In", "NotIn"))
        made["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": ["n00"]}]
    return made


def _node_affinity(random: Random) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if random.random() < 0.6:
        made[REQUIRED] = {"nodeSelectorTerms": [_node_term(random) for _ in range(random.randint(1, 2))]}
    if random.random() < 0.6:
        made[PREFERRED] = [{"weight": random.choice((3, 50)), "preference": _node_term(random)} for _ in range(2)]
    return made


def _toleration(random: Random) -> dict[str, Any]:
    made = {"key": random.choice(("", "k", "l")), "operator": random.choice(("", "Equal", "Exists"))}
    return {**made, "value": random.choice(("", "v")), "effect": random.choice(("", *EFFECTS))}


def _spread(random: Random) -> dict[str, Any]:
    made: dict[str, Any] = {
        "topologyKey": random.choice(KEYS),
        "maxSkew": random.randint(1, 2),
        "whenUnsatisfiable": random.choice(("DoNotSchedule", "ScheduleAnyway")),
    }
    selector = _selector(random)
    if selector is not None:
        made["labelSelector"] = selector
    choices = (
        ("minDomains", (1, 3)),
        ("nodeTaintsPolicy", ("Honor", "Ignore")),
        ("nodeAffinityPolicy", ("Honor", "Ignore")),
    )
    for field, values in choices:
        if random.random() < 0.3:
            made[field] = random.choice(values)
    if random.random() < 0.2:
        made["matchLabelKeys"] = ["app", "absent"]
    return made
