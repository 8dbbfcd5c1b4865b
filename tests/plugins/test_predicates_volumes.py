"""predicates: filters for volumes and resource claims."""

from typing import Any

import pytest

from tests.builders import node, pod, task
from tests.plugins.filtering import HOSTNAME, ZONE, judge, note_codes, opened, place, prepare, reasons
from vcdebug.framework.plugin_answers import ScoreError
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.plugins.predicates import Predicates
from vcdebug.releases.change import Tag
from vcdebug.releases.release import NEWEST, Release, release_at_tag
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

OLDER = release_at_tag(Tag.from_text("v1.15.1"))


def claim(**spec: Any) -> Manifest:
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}, **spec},
    }


def using_claim(name: str = "j-0") -> Manifest:
    return pod(name, "j", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])


IMMEDIATE = {"kind": "StorageClass", "metadata": {"name": "s"}, "provisioner": "p", "volumeBindingMode": "Immediate"}
DELAYED = {**IMMEDIATE, "volumeBindingMode": "WaitForFirstConsumer"}


def test_an_unbound_immediate_claim_fails_in_the_first_volume_check_that_is_on() -> None:
    objects = [node("n1"), IMMEDIATE, claim(storageClassName="s"), using_claim()]
    expected = "plugin VolumeZone pre-predicates failed PersistentVolume had no name"
    assert expected == prepare(opened(*objects))
    off = opened(*objects, arguments={"predicate.VolumeZoneEnable": "false"})
    expected = "plugin VolumeBinding pre-predicates failed pod has unbound immediate PersistentVolumeClaims"
    assert expected == prepare(off)


def test_a_missing_claim_is_named() -> None:
    ssn = opened(node("n1"), using_claim())
    assert prepare(ssn) == 'plugin VolumeZone pre-predicates failed persistentvolumeclaim "c" not found'


def local_volume(name: str, host: str, size: str = "1Gi") -> Manifest:
    terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [host]}]}]
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "storageClassName": "s",
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
        "status": {"phase": "Available"},
    }


def test_a_delayed_claim_needs_an_available_volume_or_a_provisioner() -> None:
    nowhere = {**DELAYED, "provisioner": "kubernetes.io/no-provisioner"}
    objects = [node("n1"), node("n2"), claim(storageClassName="s"), using_claim(), local_volume("v1", "n1")]
    unavailable = "node(s) didn't find available persistent volumes to bind"
    assert [[], [unavailable]] == reasons(opened(*objects, nowhere))
    assert [[], []] == reasons(opened(*objects, DELAYED))


def test_a_volume_that_was_reserved_in_this_session_is_not_offered_again() -> None:
    nowhere = {**DELAYED, "provisioner": "kubernetes.io/no-provisioner"}
    second = claim(storageClassName="s")
    second["metadata"]["name"] = "d"
    other = pod("j-1", "j", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "d"}}])
    objects = [nowhere, claim(storageClassName="s"), second, using_claim(), other, local_volume("v1", "n1")]
    ssn = opened(node("n1"), *objects)
    assert [[]] == reasons(ssn)
    assert [] == place(ssn, "j-0", "n1")
    assert [["node(s) didn't find available persistent volumes to bind"]] == reasons(ssn, "j-1")
    ssn.notify_deallocated(task(ssn, "j-0"))
    assert [[]] == reasons(ssn, "j-1")


def test_a_bound_volume_keeps_its_pod_on_its_nodes_and_in_its_zone() -> None:
    bound = claim(volumeName="v1")
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    volume = local_volume("v1", "n1")
    volume["metadata"]["labels"] = {ZONE: "a__b"}
    nodes = [
        node("n1", labels={ZONE: "b"}),
        node("n2", labels={ZONE: "a"}),
        node("n3", labels={ZONE: "c"}),
        node("n4"),
    ]
    conflict = "node(s) didn't match PersistentVolume's node affinity"
    expected = [[], [conflict], ["node(s) had no available volume zone"], [conflict]]
    assert expected == reasons(opened(*nodes, bound, volume, using_claim()))


def test_a_node_attaches_only_as_many_volumes_of_a_driver_as_it_says() -> None:
    csi = {
        "kind": "CSINode",
        "metadata": {"name": "n1"},
        "spec": {"drivers": [{"name": "p", "allocatable": {"count": 1}}]},
    }
    second = claim(storageClassName="s")
    second["metadata"]["name"] = "d"
    present = pod("r-0", "r", on="n1", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "d"}}])
    ssn = opened(node("n1"), csi, DELAYED, claim(storageClassName="s"), second, using_claim(), present)
    assert [["node(s) exceed max volume count"]] == reasons(ssn)


def resource_claim(**status: Any) -> Manifest:
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": status,
    }


def claiming() -> Manifest:
    return pod("j-0", "j", resourceClaims=[{"name": "g", "resourceClaimName": "c"}])


def test_an_allocated_claim_keeps_its_pod_on_its_nodes() -> None:
    terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["n1"]}]}]
    held = resource_claim(allocation={"nodeSelector": {"nodeSelectorTerms": terms}})
    ssn = opened(node("n1"), node("n2"), held, claiming())
    assert [[], ["resourceclaim not available on the node"]] == reasons(ssn)
    assert [] == note_codes(ssn)


GPU_CLASS = {"kind": "DeviceClass", "metadata": {"name": "gpu"}}


def gpus(host: str, *names: str) -> Manifest:
    """A node's only pool of devices."""
    pool = {"name": host, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": name} for name in names]
    spec = {"driver": "gpu.example.com", "nodeName": host, "pool": pool, "devices": devices}
    return {"kind": "ResourceSlice", "metadata": {"name": f"{host}-gpus"}, "spec": spec}


def test_a_claim_needs_a_node_with_a_free_device() -> None:
    taken = {"driver": "gpu.example.com", "pool": "n1", "device": "a"}
    held = resource_claim(allocation={"devices": {"results": [taken]}})
    held["metadata"] = {"name": "other", "namespace": "default"}
    nodes = [node("n1"), node("n2"), node("n3")]
    ssn = opened(*nodes, GPU_CLASS, gpus("n1", "a"), gpus("n2", "a"), held, resource_claim(), claiming())
    assert [["cannot allocate all claims"], [], ["cannot allocate all claims"]] == reasons(ssn)
    assert [] == note_codes(ssn)
    waiting = task(ssn, "j-0")
    waiting.node_name = "n1"
    assert ["claim allocation not found for node"] == ssn.notify_allocated(waiting)


def test_a_device_is_taken_from_other_claims_until_it_is_given_back() -> None:
    second = resource_claim()
    second["metadata"] = {"name": "d", "namespace": "default"}
    other = pod("j-1", "j", resourceClaims=[{"name": "g", "resourceClaimName": "d"}])
    ssn = opened(node("n1"), GPU_CLASS, gpus("n1", "a"), resource_claim(), second, claiming(), other)
    statement = Statement(ssn)
    assert [[]] == reasons(ssn)
    assert None is statement.allocate(task(ssn, "j-0"), "n1")
    assert [["cannot allocate all claims"]] == reasons(ssn, "j-1")
    statement.discard()
    assert [[]] == reasons(ssn, "j-1")


def test_a_selector_that_is_not_replayed_leaves_the_claim_undecided_and_later_ones_too() -> None:
    odd = {**GPU_CLASS, "spec": {"selectors": [{"cel": {"expression": "device.driver.reverse() == 'x'"}}]}}
    second = resource_claim()
    second["metadata"] = {"name": "d", "namespace": "default"}
    other = pod("j-1", "j", resourceClaims=[{"name": "g", "resourceClaimName": "d"}])
    ssn = opened(node("n1"), odd, gpus("n1", "a"), resource_claim(), second, claiming(), other)
    assert [[]] == reasons(ssn)
    assert ["claims-undecided"] == note_codes(ssn)
    assert None is Statement(ssn).allocate(task(ssn, "j-0"), "n1")
    assert [[]] == reasons(ssn, "j-1")
    assert "(the devices of default/c are not known)" in ssn.record.notes[-1].text


def claim_scores(ssn: Session) -> list[float]:
    plugin = ssn.plugins["predicates"]
    assert isinstance(plugin, Predicates)
    scores = plugin.batch_node_order(task(ssn, "j-0"), ssn.all_rows())
    assert scores is not None
    found: list[float] = scores.total.tolist()
    return found


def test_the_better_alternative_makes_the_better_node() -> None:
    selector = {"cel": {"expression": 'device.attributes["gpu.example.com"].size == "large"'}}
    large = {"kind": "DeviceClass", "metadata": {"name": "large"}, "spec": {"selectors": [selector]}}
    wanted = resource_claim()
    choices = [{"name": name, "deviceClassName": name} for name in ("large", "gpu")]
    wanted["spec"]["devices"]["requests"] = [{"name": "r", "firstAvailable": choices}]
    few, many = gpus("n1", "a"), gpus("n2", "a")
    few["spec"]["devices"][0]["attributes"] = {"size": {"string": "small"}}
    many["spec"]["devices"][0]["attributes"] = {"size": {"string": "large"}}
    ssn = opened(node("n1"), node("n2"), GPU_CLASS, large, few, many, wanted, claiming())
    assert [[], []] == reasons(ssn)
    assert [87, 100] == claim_scores(ssn)


def test_a_claim_that_is_allocated_already_loses_all_scores_of_a_pod_that_gets_another_one() -> None:
    held = resource_claim(allocation={})
    held["metadata"] = {"name": "held", "namespace": "default"}
    both = [{"name": "g", "resourceClaimName": "c"}, {"name": "h", "resourceClaimName": "held"}]
    waits = pod("j-0", "j", resourceClaims=both)
    ssn = opened(node("n1"), GPU_CLASS, gpus("n1", "a"), resource_claim(), held, waits)
    assert [[]] == reasons(ssn)
    with pytest.raises(ScoreError, match="failed number of allocations 1 is smaller than number of claims"):
        claim_scores(ssn)


def test_devices_that_are_asked_for_as_a_resource_are_left_undecided() -> None:
    named = {**GPU_CLASS, "spec": {"extendedResourceName": "example.com/gpu"}}
    for name in ("example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"):
        ssn = opened(node("n1"), named, gpus("n1", "a"), pod("j-0", "j", requests={name: "1"}))
        assert [[]] == reasons(ssn)
        assert ["claims-undecided"] == note_codes(ssn)


def test_a_claim_that_is_being_allocated_keeps_other_pods_waiting_until_it_is_given_back() -> None:
    other = pod("j-1", "j", resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
    ssn = opened(node("n1"), GPU_CLASS, gpus("n1", "a"), resource_claim(), claiming(), other)
    statement = Statement(ssn)
    assert [[]] == reasons(ssn)
    assert None is statement.allocate(task(ssn, "j-0"), "n1")
    waits = (
        "plugin DynamicResources pre-predicates failed resource claim default/c is in the process of being allocated"
    )
    assert waits == prepare(ssn, "j-1")
    statement.discard()
    assert None is prepare(ssn, "j-1")


@pytest.mark.parametrize(("release", "elsewhere"), [(NEWEST, []), (OLDER, ["cannot allocate all claims"])])
def test_a_claim_that_was_given_back_passes_every_node_until_the_pod_is_prepared_again(
    release: Release, elsewhere: list[str]
) -> None:
    """preempt asks about a pod's nominated node without preparing the pod anew."""
    objects = [node("n1"), node("n2"), GPU_CLASS, gpus("n1", "a"), resource_claim(), claiming()]
    ssn = opened(*objects, flags=SchedulerFlags(release=release))
    refused = ["cannot allocate all claims"]
    assert [[], refused] == reasons(ssn)
    statement = Statement(ssn)
    assert None is statement.allocate(task(ssn, "j-0"), "n1")
    statement.discard()
    assert elsewhere == [status.reason for status in judge(ssn)[1]]
    assert [[], refused] == reasons(ssn)


@pytest.mark.parametrize("release", ["v1.14.4", "v1.13.3", "v1.12.4"])
@pytest.mark.parametrize(("gate", "said"), [(True, ["cannot allocate all claims"]), (False, [])])
def test_an_older_release_looks_at_claims_with_the_argument_and_the_gate(
    release: str, gate: bool, said: list[str]
) -> None:
    flags = SchedulerFlags(
        release=release_at_tag(Tag.from_text(release)), feature_gates={"DynamicResourceAllocation": gate}
    )
    objects = [node("n1"), {"kind": "DeviceClass", "metadata": {"name": "gpu"}}, resource_claim(), claiming()]
    ssn = opened(*objects, flags=flags, arguments={"predicate.DynamicResourceAllocationEnable": "true"})
    assert [said] == reasons(ssn)
    assert [] == note_codes(ssn)


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (
            "v1.13.3",
            "resource claim default/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
        ),
        ("v1.12.4", "request r: unsupported request type"),
    ],
)
def test_a_request_with_alternatives_is_refused_where_nobody_knows_them(release: str, said: str) -> None:
    flags = SchedulerFlags(
        release=release_at_tag(Tag.from_text(release)), feature_gates={"DynamicResourceAllocation": True}
    )
    wanted = resource_claim()
    wanted["spec"]["devices"]["requests"][0] = {
        "name": "r",
        "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}],
    }
    objects = [node("n1"), {"kind": "DeviceClass", "metadata": {"name": "gpu"}}, wanted, claiming()]
    ssn = opened(*objects, flags=flags, arguments={"predicate.DynamicResourceAllocationEnable": "true"})
    assert f"plugin DynamicResources pre-predicates failed {said}" == prepare(ssn)


@pytest.mark.parametrize(("users", "own", "refused"), [(255, False, False), (256, False, True), (256, True, False)])
def test_a_claim_that_has_its_most_users_takes_no_other(users: int, own: bool, refused: bool) -> None:
    reserved = [{"uid": f"u-{number}"} for number in range(users - own)] + [{"uid": "uid-j-0"}] * own
    held = resource_claim(allocation={}, reservedFor=reserved)
    assert refused is (prepare(opened(node("n1"), held, claiming())) is not None)


def test_what_a_request_or_one_of_its_alternatives_lacks_is_said_by_its_name() -> None:
    prefix = "plugin DynamicResources pre-predicates failed request r"
    wanted = resource_claim()
    requests = wanted["spec"]["devices"]["requests"]
    requests[0] = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}
    missing = f"{prefix}/s: device class gpu does not exist"
    assert missing == prepare(opened(node("n1"), wanted, claiming()))
    requests[0] = {"name": "r", "exactly": {}}
    assert f"{prefix}: unsupported request type" == prepare(opened(node("n1"), wanted, claiming()))


def test_a_claim_that_cannot_be_looked_at_ends_pre_predicate() -> None:
    prefix = "plugin DynamicResources pre-predicates failed "
    gone = pod("j-0", "j", resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}])
    gone["status"]["resourceClaimStatuses"] = [{"name": "g", "resourceClaimName": "c"}]
    assert f'{prefix}could not find ResourceClaim "default/c"' == prepare(opened(node("n1"), gone))
    missing = f"{prefix}request r: device class gpu does not exist"
    assert missing == prepare(opened(node("n1"), resource_claim(), claiming()))
    templated = pod("j-0", "j", resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}])
    waiting = f'{prefix}pod "default/j-0": ResourceClaim not created yet'
    assert waiting == prepare(opened(node("n1"), templated))
