"""The allocation of devices: which devices a claim gets on a node, and the message if it gets none."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.builders import cluster
from vcdebug.errors import ProcessExit
from vcdebug.kube.cel import Undecided
from vcdebug.kube.devices import AllocationError, NoDevicesError
from vcdebug.kube.devices.allocations import HeldDevice
from vcdebug.kube.devices.allocator import DeviceAllocators
from vcdebug.kube.listers import Listers
from vcdebug.releases.change import Tag
from vcdebug.releases.release import NEWEST, release_at_tag
from vcdebug.snapshot.cycle_inputs import ASCENDING
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

GPU = "gpu.example.com"
OLDER = SchedulerFlags(release=release_at_tag(Tag.from_text("v1.15.1")))
FORGETFUL = SchedulerFlags(release=release_at_tag(Tag.from_text("v1.13.3")), feature_gates={"DRAAdminAccess": True})
OLDEST = SchedulerFlags(release=release_at_tag(Tag.from_text("v1.12.4")))
BY_NODE = SchedulerFlags(release=release_at_tag(Tag.from_text("v1.14.4")))
"""Flags of a release in which a pool consists of the slices visible to the node."""
PART = {
    "value": "40Gi",
    "requestPolicy": {"default": "4Gi", "validRange": {"min": "2Gi", "max": "32Gi", "step": "2Gi"}},
}


def device(name: str, **more: Any) -> dict[str, Any]:
    """A device; keywords are attributes, or fields of the device with the same name."""
    known = ("taints", "capacity", "allowMultipleAllocations", "nodeName", "consumesCounters", "bindingConditions")
    fields = {key: more.pop(key) for key in known if key in more}
    kinds = {int: "int", bool: "bool", str: "string"}
    return {"name": name, "attributes": {key: {kinds[type(one)]: one} for key, one in more.items()}, **fields}


def devices(*found: dict[str, Any] | str, pool: str = "n1", name: str = "", count: int = 1, **more: Any) -> Manifest:
    listed = [device(one) if isinstance(one, str) else one for one in found]
    place = (
        {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection", "sharedCounters"} & {*more} else {"nodeName": "n1"}
    )
    about = {"name": pool, "generation": more.pop("generation", 1), "resourceSliceCount": count}
    spec = {"driver": more.pop("driver", GPU), "pool": about, "devices": listed, **place, **more}
    return {"kind": "ResourceSlice", "metadata": {"name": name or f"{pool}-slice"}, "spec": spec}


def asked(name: str = "r", **more: Any) -> dict[str, Any]:
    """A request for one device by default."""
    if "of" in more:
        return {"name": name, "firstAvailable": [{"deviceClassName": "any", **one} for one in more["of"]]}
    selectors = [{"cel": {"expression": text}} for text in more.pop("where", ())]
    return {
        "name": name,
        "exactly": {"deviceClassName": "any", **({"selectors": selectors} if selectors else {}), **more},
    }


def claim(*requests: dict[str, Any], name: str = "c", **more: Any) -> Manifest:
    spec = {"devices": {"requests": list(requests), **more}}
    return {"kind": "ResourceClaim", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def allocators_of(
    objects: Sequence[Manifest],
    flags: SchedulerFlags = SchedulerFlags(),  # noqa: B008
    spec: Mapping[str, Any] = {},
) -> DeviceAllocators:
    """The allocators of a cluster with these objects and one device class."""
    snapshot = cluster(*objects, {"kind": "DeviceClass", "metadata": {"name": "any"}, "spec": spec})
    snapshot.flags = flags
    return DeviceAllocators(Listers(snapshot), ASCENDING)


def taken(
    slices: Sequence[Manifest],
    *claims: Manifest,
    flags: SchedulerFlags = SchedulerFlags(),  # noqa: B008
    labels: Mapping[str, str] | None = None,
    selector: str = "",
) -> list[list[str]]:
    """The pools and names of the devices that each claim gets on node n1."""
    spec = {"selectors": [{"cel": {"expression": selector}}]} if selector else {}
    waiting = [one for one in claims if "status" not in one]
    allocators = allocators_of([*slices, *claims], flags, spec)
    found = allocators.allocate(allocators.allocation_request(waiting, ()), "n1", labels or {})
    return [[f"{one['pool']}/{one['device']}" for one in each.results] for each in found]


def test_devices_are_taken_in_the_order_of_pools_slices_and_lists() -> None:
    slices = [devices("b", "a", pool="z", name="1"), devices("c", pool="y", name="3", count=2)]
    slices.append(devices("d", pool="y", name="2", count=2))
    assert [["y/d", "y/c", "z/b"]] == taken(slices, claim(asked(count=3)))


def test_claims_that_ask_alike_get_what_is_left_in_the_pools_of_the_node() -> None:
    allocators = allocators_of([devices("a", "b"), devices("c", pool="n2", nodeName="n2")])
    held: list[HeldDevice] = []

    def next_one(name: str, node: str) -> str:
        (found,) = allocators.allocate(allocators.allocation_request([claim(asked(), name=name)], held), node, {})
        held.extend(found.devices)
        return found.devices[0].id.name

    assert ["a", "c", "b"] == [next_one("1", "n1"), next_one("2", "n2"), next_one("3", "n1")]
    with pytest.raises(NoDevicesError):
        next_one("4", "n1")
    del held[0]
    assert "a" == next_one("4", "n1")


@pytest.mark.parametrize("name", ["1", "2"])
def test_parts_of_devices_bear_the_name_of_their_claim(name: str) -> None:
    allocators = allocators_of([devices(device("a", capacity={"m": PART}, allowMultipleAllocations=True))])
    for one in ("1", name):
        (found,) = allocators.allocate(allocators.allocation_request([claim(asked(), name=one)], ()), "n1", {})
    assert f"default/{name}-0" == found.results[0]["shareID"]


def test_a_claim_that_no_devices_are_left_for_is_refused() -> None:
    held = claim(asked(), name="held")
    held["status"] = {"allocation": {"devices": {"results": [{"driver": GPU, "pool": "n1", "device": "a"}]}}}
    assert [["n1/b"]] == taken([devices("a", "b")], held, claim(asked()))
    with pytest.raises(NoDevicesError, match="cannot allocate all claims"):
        taken([devices("a")], held, claim(asked()))


def test_device_with_admin_access_stays_free() -> None:
    held = claim(asked(), name="held")
    result = {"driver": GPU, "pool": "n1", "device": "a", "adminAccess": True}
    held["status"] = {"allocation": {"devices": {"results": [result]}}}
    assert [["n1/a"]] == taken([devices("a")], held, claim(asked()))
    busy = {**held, "status": {"allocation": {"devices": {"results": [{**result, "adminAccess": False}]}}}}
    assert [["n1/a"]] == taken([devices("a")], busy, claim(asked(adminAccess=True)))


def test_a_search_goes_back_where_a_later_request_finds_nothing() -> None:
    slices = [devices(device("a", fast=True), device("b", fast=False))]
    fast = asked("s", where=['device.attributes["gpu.example.com"].fast'])
    assert [["n1/b", "n1/a"]] == taken(slices, claim(asked("r"), fast))
    assert [["n1/b"], ["n1/a"]] == taken(slices, claim(asked("r")), claim(fast, name="d"))


def test_devices_have_an_attribute_in_common_or_not() -> None:
    slices = [devices(device("a", numa=0), device("b", numa=1), device("c", numa=1), device("d"))]
    match = {"matchAttribute": "gpu.example.com/numa"}
    assert [["n1/b", "n1/c"]] == taken(slices, claim(asked(count=2), constraints=[match]))
    requests = (asked("r"), asked("s"))
    assert [["n1/a", "n1/b"]] == taken(slices, claim(*requests, constraints=[{**match, "requests": ["r"]}]))
    distinct = {"distinctAttribute": "gpu.example.com/numa"}
    assert [["n1/a", "n1/b"]] == taken(slices, claim(*requests, constraints=[distinct]))
    with pytest.raises(AllocationError, match=r"constraint #0: empty constraint \(unsupported constraint type\?\)"):
        taken(slices, claim(*requests, constraints=[distinct]), flags=OLDER)


def test_the_first_alternative_that_can_be_had_is_taken() -> None:
    slices = [devices("a", "b")]
    three, two = ({"name": name, "count": count} for name, count in (("three", 3), ("two", 2)))
    assert [["n1/a", "n1/b"]] == taken(slices, claim(asked(of=[three, two])))


def test_all_devices_are_taken_or_none() -> None:
    every = asked(allocationMode="All", where=["!has(device.attributes['gpu.example.com'].spare)"])
    slices = [devices("a", device("b", spare=True), "c")]
    assert [["n1/a", "n1/c"]] == taken(slices, claim(every))
    with pytest.raises(NoDevicesError, match="cannot allocate all claims"):
        taken([devices(device("b", spare=True))], claim(every))
    with pytest.raises(AllocationError, match=r"cannot add device gpu.example.com/n1/a because a claim constraint"):
        taken(slices, claim(every, constraints=[{"matchAttribute": "gpu.example.com/numa"}]))


def test_an_older_allocator_goes_on_with_the_best_alternative_after_the_first_of_all_devices() -> None:
    choices = [{"name": "four", "count": 4}, {"name": "all", "allocationMode": "All"}]
    assert [["n1/a", "n1/b", "n1/c"]] == taken([devices("a", "b", "c")], claim(asked(of=choices)))
    with pytest.raises(NoDevicesError):
        taken([devices("a", "b", "c")], claim(asked(of=choices)), flags=OLDER)


@pytest.mark.parametrize(
    ("slices", "said"),
    [
        ([devices("a", count=2)], "resource pool gpu.example.com/n1 is currently being updated"),
        ([devices("a", "a")], "resource pool gpu.example.com/n1 is currently invalid"),
    ],
)
def test_incomplete_or_invalid_pool_provides_no_device(slices: list[Manifest], said: str) -> None:
    with pytest.raises(AllocationError, match=f"claim default/c, request r: asks for all devices, but {said}"):
        taken(slices, claim(asked(allocationMode="All")))
    with pytest.raises(NoDevicesError, match="invalid resource pools" if "invalid" in said else "cannot allocate"):
        taken(slices, claim(asked()))
    assert [["other/x"]] == taken([*slices, devices("x", pool="other")], claim(asked()))


def test_a_pool_of_which_a_node_sees_a_part_gives_that_and_not_all_of_it_by_node() -> None:
    slices = [devices("a", name="1", count=2), devices("b", name="2", count=2, nodeName="n2")]
    assert [["n1/a"]] == taken(slices, claim(asked()), flags=BY_NODE)
    assert [["n1/a"]] == taken(slices, claim(asked(allocationMode="All")), flags=OLDER)
    with pytest.raises(AllocationError, match=r"resource pool gpu\.example\.com/n1 is currently being updated"):
        taken(slices, claim(asked(allocationMode="All")), flags=BY_NODE)


def test_an_invalid_pool_ends_a_search_by_node_that_comes_to_it() -> None:
    slices = [devices("a", pool="1"), devices("b", "b", pool="2"), devices("c", "d", pool="3")]
    assert [["1/a"]] == taken(slices, claim(asked()), flags=BY_NODE)
    assert [["1/a", "3/c"]] == taken(slices, claim(asked(count=2)), flags=OLDER)
    with pytest.raises(AllocationError, match=r"^pool 2 is invalid: duplicate device name b$"):
        taken(slices, claim(asked(count=2)), flags=BY_NODE)


def test_capacity_requests_are_refused_by_node_where_the_status_of_devices_is_known() -> None:
    wanted = claim(asked(capacity={"requests": {"memory": "1Gi"}}))
    with pytest.raises(AllocationError, match="request r: has capacity requests, but the DRAConsumableCapacity"):
        taken([devices("a")], wanted, flags=BY_NODE)
    without = SchedulerFlags(release=BY_NODE.release, feature_gates={"DRAResourceClaimDeviceStatus": False})
    assert [["n1/a"]] == taken([devices("a")], wanted, flags=without)


def test_values_that_have_to_be_distinct_only_have_to_be_there_by_node() -> None:
    wanted = claim(asked(count=2), constraints=[{"distinctAttribute": "gpu.example.com/numa"}])
    alike = [devices(device("a", numa=0), "b", device("c", numa=0))]
    assert [["n1/a", "n1/c"]] == taken(alike, wanted, flags=BY_NODE)
    with pytest.raises(NoDevicesError):
        taken(alike, wanted)


def test_slices_with_counters_are_seen_by_node_without_the_devices_that_consume_them() -> None:
    consuming = device("a", consumesCounters=[{"counterSet": "s", "counters": {"x": {"value": "1"}}}])
    shared = [{"name": "s", "counters": {"x": {"value": "1"}}}]
    slices = [devices(consuming, "b", sharedCounters=shared, nodeName="n1")]
    assert [["n1/b"]] == taken(slices, claim(asked()), flags=BY_NODE)
    with pytest.raises(NoDevicesError):
        taken(slices, claim(asked()), flags=OLDER)


def test_the_oldest_allocator_lets_administrators_look_twice_and_reads_no_counters() -> None:
    looking = claim(asked(count=2, adminAccess=True))
    assert [["n1/a", "n1/a"]] == taken([devices("a")], looking, flags=FORGETFUL)
    with pytest.raises(NoDevicesError):
        taken([devices("a")], looking, flags=BY_NODE)
    consuming = device("a", consumesCounters=[{"counterSet": "s", "counters": {"x": {"value": "1"}}}])
    assert [["n1/a"]] == taken([devices(consuming)], claim(asked()), flags=FORGETFUL)


def test_the_oldest_allocator_gives_not_all_devices_back_where_it_has_to_look_further() -> None:
    slices = [devices(device("a", numa=7), "b", pool="1"), devices(device("c", fast=True), pool="2")]
    every = asked("all", allocationMode="All", where=["'fast' in device.attributes['gpu.example.com']"])
    wanted = claim(asked("one"), every, asked("two", where=["'numa' in device.attributes['gpu.example.com']"]))
    assert [["1/b", "2/c", "1/a"]] == taken(slices, wanted, flags=BY_NODE)
    with pytest.raises(NoDevicesError):
        taken(slices, wanted, flags=FORGETFUL)


def test_the_first_allocator_stops_where_one_of_all_devices_is_in_use_and_is_content_with_none() -> None:
    slices = [devices(device("a", numa=7), "b")]
    every = asked("all", allocationMode="All", where=["'numa' in device.attributes['gpu.example.com']"])
    assert [["n1/b", "n1/a"]] == taken(slices, claim(asked("one"), every), flags=BY_NODE)
    with pytest.raises(NoDevicesError):
        taken(slices, claim(asked("one"), every), flags=OLDEST)
    assert [["n1/b"]] == taken([devices("b")], claim(every, asked("one")), flags=OLDEST)
    with pytest.raises(NoDevicesError):
        taken([devices("b")], claim(every, asked("one")), flags=FORGETFUL)


def test_an_invalid_pool_is_nothing_to_the_first_allocator_until_it_could_take_a_device_of_it() -> None:
    slices = [devices(device("b", numa=1), device("b", numa=2), pool="1"), devices("c", pool="2")]
    other = asked(where=["!('numa' in device.attributes['gpu.example.com'])"])
    assert [["2/c"]] == taken(slices, claim(other), flags=OLDEST)
    for flags, wanted in ((OLDEST, asked()), (FORGETFUL, other)):
        with pytest.raises(AllocationError, match=r"^pool 1 is invalid: duplicate device name b$"):
            taken(slices, claim(wanted), flags=flags)


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    old, new = devices("a", name="old"), devices("b", name="new", generation=2)
    assert [["n1/b"]] == taken([old, new], claim(asked()))
    elsewhere = devices("b", name="new", generation=2, nodeName="n2")
    assert [["n1/a"]] == taken([old, elsewhere], claim(asked())), "upstream looks for newer slices only if some lack"
    with pytest.raises(NoDevicesError, match="cannot allocate"):
        taken([devices("a", name="old", count=2), elsewhere], claim(asked(allocationMode="All")))


def test_devices_are_for_all_nodes_for_some_or_each_for_its_own() -> None:
    expression = {"key": "zone", "operator": "In", "values": ["a"]}
    zone = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    assert [["n1/a"]] == taken([devices("a", allNodes=True)], claim(asked()))
    assert [["n1/a"]] == taken([devices("a", nodeSelector=zone)], claim(asked()), labels={"zone": "a"})
    with pytest.raises(NoDevicesError):
        taken([devices("a", nodeSelector=zone)], claim(asked()), labels={"zone": "b"})
    own = [device("a", nodeName="n2"), device("b", nodeName="n1")]
    assert [["n1/b"]] == taken([devices(*own, perDeviceNodeSelection=True)], claim(asked()))
    with pytest.raises(NoDevicesError):
        taken([devices(*own, perDeviceNodeSelection=True)], claim(asked()), flags=OLDER)


def test_tainted_devices_are_taken_by_claims_that_tolerate_it_and_where_taints_do_not_count() -> None:
    taint = {"key": "hot", "value": "x", "effect": "NoSchedule"}
    slices = [devices(device("a", taints=[taint]), device("b", taints=[{**taint, "effect": "None"}]))]
    assert [["n1/b"]] == taken(slices, claim(asked()))
    tolerant = asked(tolerations=[{"key": "hot", "operator": "Exists"}])
    assert [["n1/a"]] == taken(slices, claim(tolerant))
    assert [["n1/a"]] == taken(slices, claim(asked()), flags=OLDER)


def test_parts_of_a_device_are_given_away_in_steps_while_they_last() -> None:
    shared = device("a", capacity={"memory": PART}, allowMultipleAllocations=True)
    want = [claim(asked(capacity={"requests": {"memory": "15Gi"}}), name=name) for name in ("c", "d", "e")]
    assert [["n1/a"], ["n1/a"]] == taken([devices(shared)], *want[:2])
    with pytest.raises(NoDevicesError):
        taken([devices(shared)], *want)
    with pytest.raises(NoDevicesError):
        taken([devices(shared)], claim(asked(capacity={"requests": {"memory": "33Gi"}})))
    with pytest.raises(NoDevicesError):
        taken([devices(shared)], claim(asked(capacity={"requests": {"cores": "1"}})))
    part = {"driver": GPU, "pool": "n1", "device": "a", "shareID": "s", "consumedCapacity": {"memory": "30Gi"}}
    held = claim(asked(), name="held")
    held["status"] = {"allocation": {"devices": {"results": [part]}}}
    assert [["n1/a"]] == taken([devices(shared)], held, claim(asked(capacity={"requests": {"memory": "10Gi"}})))
    with pytest.raises(NoDevicesError):
        taken([devices(shared)], held, want[0])


def test_devices_that_share_counters_are_taken_while_the_counters_last() -> None:
    counters = devices(name="0", count=2, sharedCounters=[{"name": "card", "counters": {"slots": {"value": "4"}}}])
    uses = [{"counterSet": "card", "counters": {"slots": {"value": "2"}}}]
    parts = devices(*(device(name, consumesCounters=uses) for name in "abc"), name="1", count=2)
    assert [["n1/a", "n1/b"]] == taken([counters, parts], claim(asked(count=2)))
    with pytest.raises(NoDevicesError):
        taken([counters, parts], claim(asked(count=3)))
    with pytest.raises(ProcessExit, match="nil pointer"):
        taken([counters, parts], claim(asked(allocationMode="All")))
    odd = devices(device("a", consumesCounters=[{"counterSet": "none", "counters": {}}]), name="1", count=2)
    with pytest.raises(NoDevicesError, match="invalid resource pools"):
        taken([counters, odd], claim(asked()))


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (asked(count=33), "claim default/c: number of requested devices 33 exceeds the claim limit of 32"),
        (asked(allocationMode="Some"), "claim default/c, request r: unsupported count mode Some"),
        ({"name": "r", "exactly": {"deviceClassName": "any", "selectors": [{}]}}, "request r, selector #0: CEL expr"),
        (asked(where=['device.attributes["x"].y']), "claim default/c: selector #0: CEL runtime error: no such key: y"),
    ],
)
def test_invalid_claim_is_an_error(request_: dict[str, Any], said: str) -> None:
    with pytest.raises(AllocationError, match=said):
        taken([devices("a")], claim(request_))


def test_invalid_device_class_is_an_error_that_names_the_class() -> None:
    with pytest.raises(AllocationError, match="class any: selector #0: CEL runtime error: no such key: y"):
        taken([devices("a")], claim(asked()), selector='device.attributes["x"].y')
    listed = devices({"name": "a", "attributes": {"odd": {}}})
    with pytest.raises(AllocationError, match="CEL runtime error: attribute odd: unsupported attribute value"):
        taken([listed], claim(asked()), selector="true")


def test_an_expression_that_redacting_took_out_is_left_undecided() -> None:
    with pytest.raises(Undecided, match="the snapshot lacks the expression of a selector"):
        taken([devices("a")], claim({"name": "r", "exactly": {"deviceClassName": "any", "selectors": [{"cel": {}}]}}))


def test_a_search_without_end_is_left_undecided() -> None:
    slices = [devices(*(device(f"d{number}", numa=number) for number in range(24)))]
    constraints = [{"matchAttribute": "gpu.example.com/numa", "requests": ["r0"]}]
    requests = [asked(f"r{number}", count=4) for number in range(6)]
    with pytest.raises(Undecided, match="times out"):
        taken(slices, claim(*requests[::-1], constraints=constraints))


@pytest.mark.parametrize(
    ("release", "gates"),
    [
        (release_at_tag(Tag.from_text("v1.14.4")), {"DRADeviceTaints": True}),
        (release_at_tag(Tag.from_text("v1.15.1")), {"DRAConsumableCapacity": True}),
        (NEWEST, {"DRADeviceTaintRules": True}),
    ],
)
def test_allocators_that_are_not_replayed_say_so(release: Any, gates: dict[str, bool]) -> None:
    snapshot = cluster({"kind": "DeviceTaintRule", "metadata": {"name": "r"}})
    snapshot.flags = SchedulerFlags(release=release, feature_gates=gates)
    assert "not replayed" in DeviceAllocators(Listers(snapshot), ASCENDING).unknown
