"""numa-aware gives Guaranteed pods whole CPUs on as few NUMA nodes as the node's policy requires."""

from typing import Any

import pytest

from tests.builders import cluster, conf_of, metadata, node, open_session, pod, pod_group, task
from vcdebug.errors import ProcessExit
from vcdebug.framework.hooks import BATCH_NODE_ORDER, PREDICATE
from vcdebug.framework.session import Event, Session
from vcdebug.model.numa import CpuPlace, CpuTopology, bit_set, format_cpu_list, parse_cpu_list, set_members
from vcdebug.plugins.numa_aware.assignment import take_by_topology
from vcdebug.snapshot.cycle_inputs import CpuReservation, SchedulerProcess
from vcdebug.snapshot.snapshot import Manifest

TWO_BY_FOUR = CpuTopology({cpu: CpuPlace(cpu // 4, cpu // 4, cpu // 2) for cpu in range(8)})


def numa(
    name: str,
    policy: str,
    free: str = "0-7",
    cpus: int = 8,
    reserved: str | None = None,
    manager: str = "static",
) -> Manifest:
    """A Numatopology with two NUMA nodes (one per socket) of cores with two CPUs."""
    half = cpus // 2
    detail = {str(cpu): {"numa": cpu // half, "socket": cpu // half, "core": cpu // 2} for cpu in range(cpus)}
    spec: dict[str, Any] = {
        "policies": {"CPUManagerPolicy": manager, "TopologyManagerPolicy": policy},
        "numares": {"cpu": {"allocatable": free, "capacity": cpus}},
        "cpuDetail": detail,
    }
    if reserved is not None:
        spec["resReserved"] = {"cpu": reserved}
    return {"kind": "Numatopology", "metadata": metadata(name), "spec": spec}


def guaranteed(cpu: str, *more: str, policy: str = "") -> Manifest:
    """A pod whose containers have equal requests and limits."""
    containers = []
    for index, amount in enumerate((cpu, *more)):
        resources = {"cpu": amount, "memory": "1G"}
        containers.append({"name": f"c{index}", "resources": {"requests": resources, "limits": resources}})
    notes = {"volcano.sh/numa-topology-policy": policy} if policy else {}
    return pod("j-0", "j", annotations=notes, containers=containers)


def opened(*objects: Manifest, weight: int | None = None) -> Session:
    text = conf_of("numa-aware") + (f"    arguments:\n      weight: {weight}\n" if weight is not None else "")
    nodes = [node(item["metadata"]["name"]) for item in objects if item["kind"] == "Numatopology"]
    return open_session(cluster(pod_group("j"), *nodes, *objects, conf=text))


def refusal(ssn: Session, name: str = "j-0") -> list[str]:
    """The reason of the first node, in a list; empty when it accepts."""
    codes = ssn.ask_plugins(PREDICATE, task(ssn, name), ssn.all_rows())["numa-aware"]
    return [status.reason for status in ssn.reasons.statuses_of(int(codes[0]))]


def assigned(ssn: Session) -> list[int]:
    """The CPUs that an allocation on the first node removes."""
    plugin: Any = ssn.plugins["numa-aware"]
    before = plugin._free["n1"]
    assert [] == refusal(ssn)
    placed = task(ssn, "j-0").clone()
    placed.node_name = "n1"
    plugin.allocate_func(Event(placed))
    taken = before & ~plugin._free["n1"]
    plugin.deallocate_func(Event(placed))
    assert before == plugin._free["n1"]
    return list(set_members(taken))


def test_a_burstable_pod_is_accepted_everywhere_without_cpus() -> None:
    ssn = opened(numa("n1", "restricted", free=""), pod("j-0", "j", requests={"cpu": "2"}))
    assert [] == refusal(ssn)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (numa("n1", "restricted", manager="none"), "cpu manager policy isn't static"),
        (numa("n1", "best-effort"), "task topology policy[restricted] is different with node[best-effort]"),
        (numa("n1", "restricted", free=""), "cpu allocatable map is empty"),
        (numa("n1", "restricted", free="3-1"), "cpu allocatable map is empty"),
    ],
)
def test_a_stated_policy_needs_a_node_with_the_same_one(broken: Manifest, reason: str) -> None:
    assert [reason] == refusal(opened(broken, guaranteed("2", policy="restricted")))


def test_a_stated_policy_needs_numa_information() -> None:
    ssn = open_session(cluster(pod_group("j"), node("n1"), guaranteed("2", policy="restricted")), "numa-aware")
    assert ["numa info is empty"] == refusal(ssn)
    assert [] == refusal(open_session(cluster(pod_group("j"), node("n1"), guaranteed("2")), "numa-aware"))


def test_best_effort_admits_what_no_numa_node_holds() -> None:
    assert [0, 1, 2, 3, 4, 5] == assigned(opened(numa("n1", "best-effort"), guaranteed("6")))


def test_restricted_rejects_a_pod_that_must_span_two_half_free_numa_nodes() -> None:
    half_free = numa("n1", "restricted", free="0-1,4-5")
    assert ["container c0 cannot be assigned by numa"] == refusal(opened(half_free, guaranteed("3")))
    assert [4, 5] == assigned(opened(numa("n1", "restricted", free="0,4-5"), guaranteed("2")))


def test_restricted_admits_a_pod_that_is_larger_than_one_numa_node() -> None:
    assert list(range(6)) == assigned(opened(numa("n1", "restricted"), guaranteed("6")))


def test_single_numa_node_rejects_what_one_numa_node_cannot_hold() -> None:
    assert ["container c0 cannot be assigned by numa"] == refusal(
        opened(numa("n1", "single-numa-node"), guaranteed("5"))
    )
    assert [0, 1, 2, 3] == assigned(opened(numa("n1", "single-numa-node"), guaranteed("4")))


def test_a_fraction_of_a_cpu_is_admitted_and_takes_none() -> None:
    assert [] == assigned(opened(numa("n1", "single-numa-node"), guaranteed("1500m")))


def test_containers_take_one_after_the_other() -> None:
    assert [0, 1, 2, 4, 5, 6] == assigned(opened(numa("n1", "single-numa-node"), guaranteed("3", "3")))
    ssn = opened(numa("n1", "single-numa-node"), guaranteed("3", "3", "2"))
    assert ["container c2 cannot be assigned by numa"] == refusal(ssn)


def test_reserved_cpus_are_rounded_up_and_left_alone() -> None:
    assert [2, 3] == assigned(opened(numa("n1", "single-numa-node", reserved="1500m"), guaranteed("2")))


def test_pods_without_a_policy_are_not_assigned_where_the_node_has_none() -> None:
    assert [] == assigned(opened(numa("n1", "none"), guaranteed("2")))


def test_fewer_numa_nodes_score_more() -> None:
    ssn = opened(
        numa("n1", "best-effort"),
        numa("n2", "best-effort", free="0,4"),
        guaranteed("2", policy="best-effort"),
        weight=3,
    )
    assert [[], []] == [[], refusal(ssn)]
    scores = ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["numa-aware"]
    assert scores is not None
    assert [150.0, 0.0] == scores.total.tolist()


def test_where_no_cpus_are_reserved_every_node_scores_the_most() -> None:
    """A fraction of a CPU reserves none."""
    ssn = opened(numa("n1", "best-effort"), numa("n2", "best-effort"), guaranteed("1500m", policy="best-effort"))
    assert [] == refusal(ssn)
    scores = ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["numa-aware"]
    assert scores is not None
    assert [100.0, 100.0] == scores.total.tolist()


def test_a_pod_without_a_policy_gets_no_scores() -> None:
    ssn = opened(numa("n1", "best-effort"), guaranteed("2"))
    assert [] == refusal(ssn)
    assert None is ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["numa-aware"]


def test_an_allocation_without_a_predicate_takes_nothing() -> None:
    ssn = opened(numa("n1", "best-effort"), guaranteed("2"))
    plugin: Any = ssn.plugins["numa-aware"]
    placed = task(ssn, "j-0").clone()
    placed.node_name = "n1"
    plugin.allocate_func(Event(placed))
    assert 255 == plugin._free["n1"]


@pytest.mark.parametrize(
    ("free", "count", "expected"),
    [
        ("0-7", 4, [0, 1, 2, 3]),
        ("0-7", 1, [0]),
        ("1,2-3,6", 2, [2, 3]),
        ("1,3,6-7", 3, [3, 6, 7]),
        ("2-7", 0, []),
    ],
)
def test_whole_sockets_then_whole_cores_then_single_cpus_are_taken(free: str, count: int, expected: list[int]) -> None:
    taken = take_by_topology(TWO_BY_FOUR, parse_cpu_list(free) or 0, count)
    assert expected == list(set_members(taken or 0))


def test_taking_more_than_there_is_fails() -> None:
    assert None is take_by_topology(TWO_BY_FOUR, bit_set((0, 1)), 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", []), ("0-2,5", [0, 1, 2, 5]), ("3", [3]), ("2-1", None), ("a", None), ("1,,2", None), ("0-99999999", None)],
)
def test_lists_of_cpus_are_read_as_the_kubelet_writes_them(text: str, expected: list[int] | None) -> None:
    bits = parse_cpu_list(text)
    assert expected == (None if bits is None else list(set_members(bits)))


# From cycle to cycle


@pytest.mark.parametrize("text", ["", "0", "0-3", "0-1,3,6-7", "5,7,9-65"])
def test_a_list_of_cpus_is_written_as_it_is_read(text: str) -> None:
    assert text == format_cpu_list(parse_cpu_list(text) or 0)


def reserving(*pods: str, shown: list[dict[str, str]] | None = None) -> Session:
    """A session whose earlier cycles assigned CPUs 0-2, 3-5 ... of node n to these pods."""
    object_ = numa("n", "single-numa-node")
    object_["spec"]["podAllocations"] = shown or []
    snapshot = cluster(pod_group("j"), node("n"), object_, guaranteed("4"), conf=conf_of("numa-aware"))
    given = (
        CpuReservation("n", f"default/{name}", f"uid-{name}", f"{3 * index}-{3 * index + 2}")
        for index, name in enumerate(pods)
    )
    snapshot.process = SchedulerProcess(sessions=1, reserved_cpus=tuple(given))
    return open_session(snapshot)


def test_cpus_that_an_earlier_cycle_gave_are_not_free() -> None:
    """Four of eight CPUs are free beside one reservation of three, but not beside two."""
    assert ([], []) == (refusal(reserving()), refusal(reserving("a")))
    assert ["container c0 cannot be assigned by numa"] == refusal(reserving("a", "b"))


@pytest.mark.parametrize("field", [{"uid": "uid-{}"}, {"name": "{}", "namespace": "default"}])
def test_reservations_of_a_node_end_once_it_shows_all_of_their_pods(field: dict[str, str]) -> None:
    shown = [{key: text.format(name) for key, text in field.items()} for name in ("a", "b")]
    assert refusal(reserving("a", "b", shown=shown[:1]))
    ssn = reserving("a", "b", shown=shown)
    assert ([], ()) == (refusal(ssn), ssn.process.reserved_cpus)


def test_at_close_the_cache_is_told_of_every_task_that_holds_cpus() -> None:
    ssn = opened(numa("n", "best-effort"), guaranteed("4"))
    placed = task(ssn, "j-0")
    assert [] == refusal(ssn)
    plugin = ssn.plugins["numa-aware"]
    placed.node_name = "n"
    ssn.notify_allocated(placed)
    plugin.on_session_close(ssn)
    assert (CpuReservation("n", "default/j-0", "uid-j-0", "0-3"),) == ssn.process.reserved_cpus
    ssn.process = SchedulerProcess()
    ssn.notify_deallocated(placed)
    plugin.on_session_close(ssn)
    assert () == ssn.process.reserved_cpus


def test_a_socket_below_zero_is_no_cpu() -> None:
    below = CpuTopology({cpu: CpuPlace(0, -1, -1 - cpu) for cpu in range(4)})
    assert bit_set(range(4)) == take_by_topology(below, bit_set(range(4)), 4)


@pytest.mark.parametrize("number", [-1, 64])
def test_a_numa_node_outside_of_the_mask_ends_the_process(number: int) -> None:
    layout = numa("n1", "restricted")
    layout["spec"]["cpuDetail"]["0"]["numa"] = number
    with pytest.raises(ProcessExit) as raised:
        refusal(opened(layout, guaranteed("2", policy="restricted")))
    assert (("Numatopology", "n1"),) == raised.value.objects
