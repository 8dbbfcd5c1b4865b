"""Small clusters on which a pod's requirements of its node differ between releases."""

from collections.abc import Callable
from typing import Any

from tests.builders import amounts, cluster, conf_of, metadata, node, pod, pod_group
from vcdebug.snapshot.snapshot import Manifest, Snapshot

CONF = conf_of("gang", "predicates nodeorder")


def beside(runs: Manifest, *waiting: Manifest) -> Snapshot:
    groups = [pod_group("r", min_member=0, phase="Running"), pod_group("j")]
    return cluster(node("n1"), groups, runs, *waiting, conf=CONF)


def port_of_a_sidecar() -> Snapshot:
    """A running pod's sidecar uses the host port that the Pending pod requests."""
    ports = [{"containerPort": 8080, "hostPort": 8080}]
    sidecar = {"name": "s", "restartPolicy": "Always", "ports": ports}
    main = {"name": "c", "resources": {"requests": amounts("1")}, "ports": ports}
    runs = pod("r-0", "r", on="n1", requests=amounts("1"), initContainers=[sidecar])
    return beside(runs, pod("j-0", "j", containers=[main]))


def resize_under_way() -> Snapshot:
    """A running pod in a resize from 8 CPUs to 1 CPU, which is not complete."""
    has = {"requests": amounts("8")}
    runs = pod("r-0", "r", on="n1", containers=[{"name": "c", "resources": {"requests": amounts("1")}}])
    runs["status"]["containerStatuses"] = [{"name": "c", "resources": has, "allocatedResources": amounts("8")}]
    return beside(runs, pod("j-0", "j", requests=amounts("5")))


def alternatives_of_a_claim() -> Snapshot:
    wanted = [{"name": "first", "deviceClassName": "gpu"}]
    claim: dict[str, Any] = {
        "kind": "ResourceClaim",
        "metadata": metadata("one", "default"),
        "spec": {"devices": {"requests": [{"name": "r", "firstAvailable": wanted}]}},
    }
    classes = {"kind": "DeviceClass", "metadata": metadata("gpu"), "spec": {}}
    member = pod("j-0", "j", requests=amounts("1"), resourceClaims=[{"name": "c", "resourceClaimName": "one"}])
    return cluster(node("n1"), classes, claim, pod_group("j"), member, conf=CONF)


BY_PODS: dict[str, Callable[[], Snapshot]] = {
    "sidecar-host-ports": port_of_a_sidecar,
    "resize-status-ignored": resize_under_way,
    "dra-1.33": alternatives_of_a_claim,
}
"""Change -> builder of a cluster whose recording the change alters."""
