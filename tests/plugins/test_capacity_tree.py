"""Capacity with a tree of queues: limits per level, order, broken trees, and shared lists."""

import pytest

from tests.builders import amounts, cluster, node, pod_group, pods, queue, task, tasks
from tests.plugins.capacity_cluster import GIB, attr, big_node, flat, new_job, pending, plugin, running, tree
from vcdebug.errors import ProcessExit, SchedulerPanic
from vcdebug.framework.hooks import (
    ALLOCATABLE,
    JOB_ENQUEUEABLE,
    JOB_ENQUEUED,
    PRE_PREDICATE,
    PREEMPTIVE,
    QUEUE_ORDER,
    RECLAIMABLE,
    SIMULATE_ALLOCATABLE,
    VICTIM_QUEUE_ORDER,
)
from vcdebug.framework.record import CloseEvent
from vcdebug.framework.session import Session
from vcdebug.model.resource import MAX_FLOAT64
from vcdebug.plugins.capacity.queue_attr import AncestorSlice
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest

GPU = "nvidia.com/gpu"
HUGE = 9223372036854775807.0


def example() -> Session:
    return tree(
        big_node(),
        queue(
            "a", deserved=amounts("4", "40Gi"), capability=amounts("6", "60Gi"), guarantee=amounts("2", "20Gi", gpu="2")
        ),
        queue("a1", parent="a", deserved=amounts("8", "20Gi")),
        queue("a2", parent="a", capability=amounts(gpu="3"), guarantee=amounts("1", "1Gi")),
        queue("b", guarantee=amounts("1", "1Gi")),
        running("a1", 1, cpu="2", memory="2Gi"),
    )


def orders(ssn: Session, left: str, right: str) -> int:
    return ssn.ask_plugins(QUEUE_ORDER, ssn.queues[left], ssn.queues[right])


@pytest.mark.parametrize(
    ("name", "share", "deserved", "limit"),
    [
        ("root", 0.4, (5000.0, 41 * GIB, 2000.0), (MAX_FLOAT64, MAX_FLOAT64, HUGE)),
        ("a", 0.5, (4000.0, 40 * GIB, 2000.0), (6000.0, 60 * GIB, HUGE)),
        ("a1", 0.25, (8000.0, 20 * GIB, None), (5000.0, 59 * GIB, HUGE)),
        ("a2", 0.0, (1000.0, GIB, None), (6000.0, 60 * GIB, 3000.0)),
        ("b", 0.0, (1000.0, GIB, None), (MAX_FLOAT64, MAX_FLOAT64, 9223372036854773760.0)),
    ],
)
def test_limits_and_shares_level_by_level(
    name: str, share: float, deserved: tuple[float, ...], limit: tuple[float, ...]
) -> None:
    found = attr(example(), name)
    has = found.deserved.get(GPU) if found.deserved.has_dimension(GPU) else None
    assert share == pytest.approx(found.share)
    assert deserved == (found.deserved.milli_cpu, found.deserved.memory, has)
    assert limit == (found.real_capability.milli_cpu, found.real_capability.memory, found.real_capability.get(GPU))


def test_the_trace_shows_ancestors_from_the_root() -> None:
    shown = dict(example().plugin_books())["capacity"]["queues"]
    assert ["root", "a"] == shown["a1"]["ancestors"]
    assert [] == shown["root"]["ancestors"]


def test_sums_count_on_every_level() -> None:
    ssn = example()
    assert [2000.0] * 3 == [attr(ssn, name).allocated.milli_cpu for name in ("a1", "a", "root")]
    ssn.notify_deallocated(task(ssn, "a1-0"))
    assert [0.0] * 3 == [attr(ssn, name).allocated.milli_cpu for name in ("a1", "a", "root")]


def test_deserved_amount_in_a_tree_is_not_capped_by_the_limit() -> None:
    ssn = tree(node("n1"), queue("a", deserved=amounts("8"), capability=amounts("4")), pending("a", 1))
    assert 8000.0 == attr(ssn, "a").deserved.milli_cpu


def test_a_root_with_only_a_cpu_limit_leaves_no_memory_to_anyone() -> None:
    ssn = tree(node("n1"), queue("a"), pending("a", 1), root=queue("root", capability=amounts("5")))
    assert (5000.0, 0.0) == (attr(ssn, "a").real_capability.milli_cpu, attr(ssn, "a").real_capability.memory)
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "a-0"))


# Allocation and admission


def family(**limits: object) -> list[Manifest]:
    return [queue("a", **limits), queue("a1", parent="a"), queue("a2", parent="a")]  # type: ignore[arg-type]


def test_every_ancestor_must_hold_the_task() -> None:
    ssn = tree(node("n1"), family(capability=amounts("2")), running("a1", 1), pending("a2", 2))
    assert ssn.ask_plugins(ALLOCATABLE, ssn.queues["a2"], task(ssn, "a2-0"))
    ssn.notify_allocated(task(ssn, "a2-0"))
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a2"], task(ssn, "a2-1"))
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "a2-1"))


def test_every_ancestor_must_hold_a_jobs_minimum_and_reserves_it() -> None:
    ssn = tree(node("n1"), family(capability=amounts("2")), new_job(amounts("2"), "a1"))
    job = ssn.jobs["default/new"]
    assert ssn.ask_plugins(JOB_ENQUEUEABLE, job)
    ssn.ask_plugins(JOB_ENQUEUED, job)
    assert [2000.0] * 3 == [attr(ssn, name).inqueue.milli_cpu for name in ("a1", "a", "root")]
    assert not ssn.ask_plugins(JOB_ENQUEUEABLE, job)
    assert ["queue resource quota insufficient: insufficient cpu"] == [e.message for e in ssn.record.pod_group_events]


def test_a_simulation_checks_every_ancestor() -> None:
    ssn = tree(node("n1"), family(capability=amounts("1")), running("a1", 1), pending("a2", 1))
    wanted = task(ssn, "a2-0")
    ssn.ask_plugins(PRE_PREDICATE, wanted)
    state = ssn.cycle_state(wanted)
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, state, ssn.queues["a2"], wanted)
    assert plugin(ssn).simulate_remove_task(state, wanted, task(ssn, "a1-0"), ssn.nodes["n1"]) is None
    assert ssn.ask_plugins(SIMULATE_ALLOCATABLE, state, ssn.queues["a2"], wanted)
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, state, ssn.queues["a"], wanted)


# Order


def rivals() -> Session:
    return tree(
        node("n1"),
        queue("a", deserved=amounts("4")),
        queue("a1", parent="a", deserved=amounts("1")),
        queue("b", deserved=amounts("4")),
        queue("b1", parent="b", deserved=amounts("8")),
        running("a1", 1),
        running("b1", 2),
    )


def test_leaves_are_compared_where_their_branches_part() -> None:
    ssn = rivals()
    assert (1.0, 0.25) == (attr(ssn, "a1").share, attr(ssn, "b1").share)
    assert -1 == orders(ssn, "a1", "b1")
    assert [-1, 1] == [orders(ssn, "a1", "b"), orders(ssn, "b", "a1")]
    assert -1 == orders(ssn, "a", "b")


def test_an_ancestors_share_is_the_one_at_session_open() -> None:
    ssn = rivals()
    for _ in range(3):
        ssn.notify_allocated(task(ssn, "a1-0"))
    assert (4000.0, 0.25) == (attr(ssn, "a").allocated.milli_cpu, attr(ssn, "a").share)
    assert -1 == orders(ssn, "a1", "b1")


def test_victims_come_from_the_preemptors_own_branch_first() -> None:
    ssn = tree(node("n1"), family(), queue("b"), queue("b1", parent="b"), running("a2", 1), running("b1", 1))
    a1, a2, b1 = (ssn.queues[name] for name in ("a1", "a2", "b1"))
    assert [-1, 1, 0] == [
        ssn.ask_plugins(VICTIM_QUEUE_ORDER, a2, b1, a1),
        ssn.ask_plugins(VICTIM_QUEUE_ORDER, b1, a2, a1),
        ssn.ask_plugins(VICTIM_QUEUE_ORDER, a2, a2, a1),
    ]


# Broken trees


def broken(case: str) -> Session:
    objects: list[Manifest] = [node("n1"), *family(), *pending("a1", 1), new_job(None, "a1")]
    if case == "a job in a queue with children":
        objects.append(pod_group("done", queue="a", phase="Completed"))
    if case == "a job in the root":
        objects.append(pod_group("done", queue="root"))
    if case == "a missing parent":
        objects.append(queue("z", parent="gone"))
    return tree(*objects, queue("default"), root=queue("other") if case == "no root" else None)


@pytest.mark.parametrize("case", ["a job in a queue with children", "a job in the root", "a missing parent", "no root"])
def test_broken_tree_rejects_every_hook(case: str) -> None:
    ssn = broken(case)
    wanted = task(ssn, "a1-0")
    ssn.ask_plugins(PRE_PREDICATE, wanted)
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a1"], wanted)
    assert not ssn.ask_plugins(PREEMPTIVE, ssn.queues["a1"], [wanted])
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, ssn.cycle_state(wanted), ssn.queues["a1"], wanted)
    assert not ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/new"])
    assert ssn.ask_plugins(RECLAIMABLE, wanted, tasks(ssn, "a1-0")) is None
    assert 0 == orders(ssn, "a", "a1")


def test_queues_visited_after_a_missing_parent_have_no_figures() -> None:
    assert ["a", "a1", "a2", "default", "root", "z"] == list(plugin(broken("a missing parent")).queues)
    assert {0.0} == {queue.share for queue in plugin(broken("a missing parent")).queues.values()}
    ssn = tree(node("n1"), queue("m", parent="gone"), queue("n"))
    assert ["default", "m", "root"] == list(plugin(ssn).queues)


# Cycles


def test_parents_in_a_cycle_hang_under_each_other_and_have_no_limit_to_give() -> None:
    ssn = tree(node("n1"), queue("z1", parent="z2"), queue("z2", parent="z1"), queue("y", parent="z1"), pending("y", 1))
    assert (["z1", "z2"], ["z1"]) == (list(attr(ssn, "z1").ancestors), list(attr(ssn, "z2").ancestors))
    assert plugin(ssn).ready
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["y"], task(ssn, "y-0"))


@pytest.mark.parametrize("parents", [{"z1": "z2", "z2": "z1"}, {"z": "z"}])
def test_a_cycle_ends_the_process_at_the_first_pre_predicate(parents: dict[str, str]) -> None:
    ssn = tree(node("n1"), queue("a"), pending("a", 1), [queue(name, parent=above) for name, above in parents.items()])
    with pytest.raises(ProcessExit, match="stack"):
        ssn.ask_plugins(PRE_PREDICATE, task(ssn, "a-0"))


# Lists that share memory


def test_a_list_grows_as_a_go_slice() -> None:
    root = AncestorSlice()
    first = root.append_name("a")
    second = first.append_name("b")
    third, other = second.append_name("c"), second.append_name("d")
    assert [["a"], ["a", "b", "c"], ["a", "b", "d"]] == [list(first), list(third), list(other)]
    fourth, cousin = third.append_name("e"), third.append_name("f")
    assert ["a", "b", "c", "f"] == list(fourth) == list(cousin)


def deep_tree() -> Session:
    """root > q1 > q2 > q3 > q4 > q5, below it x > x1, y > y1 and the leaf l."""
    chain = [queue(f"q{depth}", parent=f"q{depth - 1}" if depth > 1 else "root") for depth in range(1, 6)]
    below = [queue("x", parent="q5"), queue("y", parent="q5"), queue("l", parent="q5")]
    return tree(
        node("n1"), chain, below, queue("x1", parent="x"), queue("y1", parent="y"), pending("x1", 1), pending("l", 1)
    )


def test_from_depth_7_on_cousins_overwrite_each_others_parent() -> None:
    ssn = deep_tree()
    assert "y" == attr(ssn, "x1").ancestor_at_depth(1) == attr(ssn, "y1").ancestor_at_depth(1)
    ssn.notify_allocated(task(ssn, "x1-0"))
    assert [0.0, 1000.0] == [attr(ssn, name).allocated.milli_cpu for name in ("x", "y")]


def test_asking_about_a_leaf_at_depth_6_makes_it_its_cousins_parent() -> None:
    ssn = deep_tree()
    ssn.ask_plugins(PRE_PREDICATE, task(ssn, "x1-0"))
    state = ssn.cycle_state(task(ssn, "x1-0"))
    ssn.ask_plugins(ALLOCATABLE, ssn.queues["l"], task(ssn, "l-0"))
    assert "l" == attr(ssn, "x1").ancestor_at_depth(1)
    plugin(ssn).simulate_add_task(state, task(ssn, "x1-0"), task(ssn, "x1-0"), ssn.nodes["n1"])
    held = state.data["capacity"]
    assert [1000.0, 0.0] == [held.allocated[name].milli_cpu for name in ("y", "l")]  # type: ignore[attr-defined]


def test_queues_are_flat_without_the_hierarchy_switch() -> None:
    ssn = flat(node("n1"), queue("root"), family(capability=amounts("1")), pending("a1", 2))
    assert ["a1"] == list(plugin(ssn).queues)
    assert ssn.ask_plugins(ALLOCATABLE, ssn.queues["a1"], task(ssn, "a1-0"))
    assert 0 == ssn.ask_plugins(VICTIM_QUEUE_ORDER, *(ssn.queues[name] for name in ("a", "a1", "a2")))


def test_an_eviction_under_a_broken_tree_panics_where_jobs_were_not_counted() -> None:
    ssn = tree(node("n1"), queue("a"), running("a", 1), queue("z", parent="gone"))
    with pytest.raises(SchedulerPanic, match=r"<cpu 0\.00, memory 0\.00> sub <cpu 1000\.00"):
        ssn.notify_deallocated(task(ssn, "a-0"))


def notes(ssn: Session) -> list[tuple[str, str]]:
    return [(note.code, note.text) for note in ssn.record.notes]


def test_a_broken_tree_says_why() -> None:
    because = {
        "a job in a queue with children": "job default/done is in queue a, which has children",
        "a missing parent": "queue z, or an ancestor of it, names a parent that does not exist",
        "no root": "queue a, or an ancestor of it, names a parent that does not exist",
    }
    for case, reason in because.items():
        assert [("queue-tree-broken", f"{reason}: capacity refuses all jobs and tasks of this cycle")] == notes(
            broken(case)
        )


def test_overwritten_ancestors_are_named_when_it_happens() -> None:
    ssn = deep_tree()
    assert [("ancestors-overwritten", "queue x1 takes y for its parent: their lists share memory")] == notes(ssn)
    ssn.ask_plugins(ALLOCATABLE, ssn.queues["l"], task(ssn, "l-0"))
    text = "queue l is now the parent of its cousins one level deeper"
    assert [("ancestors-overwritten", text)] == notes(ssn)[1:]
    ssn.ask_plugins(ALLOCATABLE, ssn.queues["l"], task(ssn, "l-0"))
    assert 2 == len(notes(ssn))


def test_a_chain_of_queues_may_be_longer_than_any_stack() -> None:
    chain = [queue(f"q{at}", parent=f"q{at - 1}" if at else "root") for at in range(1500)]
    conf = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: capacity\n    enableHierarchy: true\n'
    snapshot = cluster(node("n1"), queue("root"), *chain, pod_group("j", queue="q1499"), pods("j", 1), conf=conf)
    assert isinstance(replay_cycle(snapshot).events[-1], CloseEvent)


@pytest.mark.parametrize("case", ["a job in a queue with children", "a job in the root", "a missing parent", "no root"])
def test_a_broken_tree_puts_no_queue_before_another_as_a_victim(case: str) -> None:
    ssn = broken(case)
    asked = [
        (ssn.queues[left], ssn.queues[right]) for left in ("a1", "a2", "default") for right in ("a1", "a2", "default")
    ]
    assert [0] * 9 == [ssn.ask_plugins(VICTIM_QUEUE_ORDER, left, right, ssn.queues["a1"]) for left, right in asked]
