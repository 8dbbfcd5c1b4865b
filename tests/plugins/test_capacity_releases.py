"""Older forms of capacity: validation of the tree, the root's limits, queues without deserved."""

import pytest

from tests.builders import amounts, cluster, names, open_session, queue, task, tasks
from tests.plugins.capacity_cluster import GIB, Objects, attr, big_node, pending, plugin, running
from vcdebug.framework.hooks import ALLOCATABLE, PREEMPTIVE, QUEUE_ORDER, RECLAIMABLE
from vcdebug.framework.session import Session
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release


def session(release: str, *objects: Objects, tree: bool = False) -> Session:
    base = (
        [queue("root")]
        if tree and not any(isinstance(o, dict) and o["metadata"]["name"] == "root" for o in objects)
        else []
    )
    snapshot = snapshot_at_release(cluster(base, *objects), release)
    return open_session(snapshot, "capacity", arguments={"capacity": {"enableHierarchy": "true"} if tree else {}})


def in_tree(*objects: Objects) -> Session:
    return session("v1.13.3", *objects, tree=True)


@pytest.mark.parametrize(
    "queues",
    [
        [queue("p", capability=amounts("2")), queue("a", parent="p", capability=amounts("5"))],
        [queue("p", deserved=amounts("2")), queue("a", parent="p", deserved=amounts("5"))],
        [queue("p"), queue("a", parent="p", deserved=amounts("1"))],
        [queue("p"), queue("a", parent="p", guarantee=amounts("1"))],
        [queue("a", capability=amounts("11"))],
        [queue("a", deserved=amounts("6")), queue("b", deserved=amounts("6"))],
        [queue("a", deserved=amounts("1", **{"example.com/fpga": "1"}))],
        [queue("root", guarantee=amounts("1")), queue("a", guarantee=amounts("2"))],
    ],
    ids=["capability", "deserved", "nothing", "guarantee", "cluster", "sum", "dimension", "root"],
)
def test_child_that_exceeds_its_parent_disables_the_old_plugin(queues: list[dict[str, object]]) -> None:
    ssn = in_tree(big_node(), *queues, pending("a", 1))
    assert not plugin(ssn).ready
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "a-0"))
    newer = session("v1.14.0", big_node(), *queues, pending("a", 1), tree=True)
    assert plugin(newer).ready


def test_note_about_a_broken_tree_has_upstreams_text() -> None:
    queues = [queue("root"), queue("p", deserved=amounts("2")), queue("a", parent="p", deserved=amounts("5"))]
    conf = "actions: allocate\ntiers:\n- plugins:\n  - name: capacity\n    enableHierarchy: true\n"
    recording = replay_cycle(snapshot_at_release(cluster(big_node(), queues, pending("a", 1), conf=conf), "v1.13.3"))
    text = (
        "queue <p> deserved resources <cpu 2000.00, memory 0.00> are less than the sum of its child queues' deserved "
        "resources <cpu 5000.00, memory 0.00>"
    )
    assert any(text in note.text for note in recording.notes)


def test_the_root_is_the_cluster_unless_it_states_something() -> None:
    root = attr(in_tree(big_node(), queue("a", guarantee=amounts("1")), pending("a", 1)), "root")
    assert (10000.0, 100 * GIB, 8000.0) == (
        root.deserved.milli_cpu,
        root.deserved.memory,
        root.deserved.get("nvidia.com/gpu"),
    )
    assert (1000.0, 10000.0) == (root.guarantee.milli_cpu, root.real_capability.milli_cpu)
    stated = attr(in_tree(big_node(), queue("root", deserved=amounts("3")), queue("a"), pending("a", 1)), "root")
    assert (3000.0, 10000.0) == (stated.deserved.milli_cpu, stated.real_capability.milli_cpu)


def test_a_guarantee_does_not_raise_what_is_deserved_in_a_tree() -> None:
    guaranteed = queue("a", guarantee=amounts("2"))
    assert attr(in_tree(big_node(), guaranteed, pending("a", 1)), "a").deserved.is_empty()
    assert 2000.0 == attr(session("v1.13.3", big_node(), guaranteed, pending("a", 1)), "a").deserved.milli_cpu


@pytest.mark.parametrize(("release", "share", "order"), [("v1.13.3", 0.0, 0), ("v1.14.0", 1.0, 1)])
def test_share_of_a_queue_without_deserved_amounts_depends_on_the_release(
    release: str, share: float, order: int
) -> None:
    queues = [queue("a"), queue("b", deserved=amounts("2"))]
    ssn = session(release, big_node(), *queues, running("a", 1), pending("b", 1))
    assert (share, order) == (attr(ssn, "a").share, ssn.ask_plugins(QUEUE_ORDER, ssn.queues["a"], ssn.queues["b"]))


def giving(release: str, deserved: dict[str, str], guarantee: dict[str, str] | None = None) -> list[str]:
    """The victims of reclaim in queue b, which uses 4 cpu and 4 GiB in four tasks."""
    queues = [queue("a", deserved=amounts("5", "5Gi")), queue("b", deserved=deserved, guarantee=guarantee or {})]
    ssn = session(release, big_node(), *queues, running("b", 4), pending("a", 1))
    candidates = tasks(ssn, *(f"b-{index}" for index in range(4)))
    return names(ssn.ask_plugins(RECLAIMABLE, task(ssn, "a-0"), candidates) or [])


def test_old_reclaimable_allows_victims_until_no_dimension_is_exceeded() -> None:
    assert ["b-0", "b-1"] == giving("v1.13.3", amounts("9", "2Gi"))
    assert [] == giving("v1.13.3", amounts("9", "4Gi"))
    assert ["b-0"] == giving("v1.13.3", amounts("1", "1Gi"), amounts("3", "3Gi"))


@pytest.mark.parametrize(("release", "may"), [("v1.13.0", False), ("v1.13.1", True)])
def test_every_dimension_of_the_task_must_be_deserved(release: str, may: bool) -> None:
    ssn = session(release, big_node(), queue("a", deserved=amounts("5")), pending("a", 1))
    assert may is ssn.ask_plugins(PREEMPTIVE, ssn.queues["a"], [task(ssn, "a-0")])
