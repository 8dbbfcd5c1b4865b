"""proportion shares the cluster by weight: deserved, admission, allocation, reclaim, simulation."""

import pytest
from msgspec.structs import replace

from tests.builders import amounts, cluster, names, node, open_session, pod, pod_group, pods, queue, task, tasks
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import (
    ALLOCATABLE,
    JOB_ENQUEUEABLE,
    JOB_ENQUEUED,
    OVERUSED,
    PRE_PREDICATE,
    PREEMPTIVE,
    QUEUE_ORDER,
    RECLAIMABLE,
    SIMULATE_ADD_TASK,
    SIMULATE_ALLOCATABLE,
    SIMULATE_REMOVE_TASK,
)
from vcdebug.framework.session import Session
from vcdebug.kube.node_view import CycleState
from vcdebug.model.resource import MAX_FLOAT64
from vcdebug.plugins.proportion import Proportion, ProportionQueueAttr
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.snapshot import Manifest

GIGA = 1e9


def session(*objects: Manifest | list[Manifest]) -> Session:
    return open_session(cluster(*objects), "proportion")


def attr(ssn: Session, name: str) -> ProportionQueueAttr:
    plugin = ssn.plugins["proportion"]
    assert isinstance(plugin, Proportion)
    return plugin.queues[name]


def deserved_cpu(ssn: Session, *queues: str) -> list[float]:
    return [attr(ssn, name).deserved.milli_cpu for name in queues]


def demand(name: str, count: int, **limits: object) -> list[Manifest]:
    """A queue with one job of `count` pending pods of one core and 1G."""
    return [queue(name, **limits), pod_group(name, queue=name), *pods(name, count)]  # type: ignore[arg-type]


def new_job(minimum: dict[str, str] | None, name: str = "default") -> Manifest:
    return pod_group("new", queue=name, phase="Pending", min_resources=minimum)


def admits(ssn: Session) -> tuple[bool, list[str]]:
    answer = ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/new"])
    return answer, [event.message for event in ssn.record.pod_group_events]


# The deserved loop


def test_unused_amount_of_a_small_queue_is_divided_by_weight() -> None:
    ssn = session(node("n1"), demand("a", 20, weight=1), demand("b", 1, weight=2), demand("c", 20, weight=3))
    assert [2250.0, 1000.0, 6750.0] == deserved_cpu(ssn, "a", "b", "c")


def test_capability_caps_what_a_queue_deserves() -> None:
    ssn = session(node("n1"), demand("a", 20, capability=amounts("2")), demand("b", 20))
    assert [2000.0, 8000.0] == deserved_cpu(ssn, "a", "b")


def test_a_guarantee_is_deserved_without_demand_and_lowers_the_others_limit() -> None:
    ssn = session(node("n1"), demand("a", 1, weight=1, guarantee=amounts("8")), demand("b", 20, weight=9))
    assert [8000.0, 2000.0] == deserved_cpu(ssn, "a", "b")
    assert 2000.0 == attr(ssn, "b").real_capability.milli_cpu


def test_a_guarantee_of_a_queue_without_jobs_counts_but_its_weight_does_not() -> None:
    ssn = session(node("n1"), queue("empty", weight=100, guarantee=amounts("4")), demand("b", 20))
    assert [6000.0] == deserved_cpu(ssn, "b")
    assert ["b"] == list(dict(ssn.plugin_books())["proportion"]["queues"])


def test_a_capability_of_0_cpu_is_no_limit() -> None:
    ssn = session(node("n1"), demand("a", 20, capability=amounts("0", "50G")))
    assert (MAX_FLOAT64, 50 * GIGA) == (attr(ssn, "a").capability.milli_cpu, attr(ssn, "a").capability.memory)
    assert (10000.0, 50 * GIGA) == (attr(ssn, "a").real_capability.milli_cpu, attr(ssn, "a").real_capability.memory)


def test_without_any_weight_nothing_is_deserved() -> None:
    ssn = session(node("n1"), demand("a", 1, weight=0))
    assert ([0.0], 0.0) == (deserved_cpu(ssn, "a"), attr(ssn, "a").share)
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "a-0"))


def test_a_dimension_no_node_declares_ends_the_rounds_as_well() -> None:
    ssn = session(node("n1", pods=None), demand("a", 2), demand("b", 20))
    assert [2000.0, 8000.0] == deserved_cpu(ssn, "a", "b")


def test_pods_are_dealt_out_like_any_other_dimension() -> None:
    ssn = session(node("n1", pods="10"), demand("a", 20), demand("b", 2))
    assert [8.0, 2.0] == [attr(ssn, name).deserved.get("pods") for name in ("a", "b")]


def test_the_rounds_add_floats_in_queue_order() -> None:
    wants = {"q0": (2, 58), "q1": (8, 94), "q2": (3, 98), "q3": (9, 20), "q4": (1, 88)}
    queues = [demand(name, cores, weight=weight) for name, (weight, cores) in wants.items()]
    ssn = session(node("n1", cpu="181", memory="1000G", pods="1000"), *queues)
    total = 0.0
    for name in wants:
        total += attr(ssn, name).deserved.milli_cpu
    assert pytest.approx(181000.0) == total
    assert [23000.0, 92000.0, 34500.0, 20000.0, 11500.0] == pytest.approx(deserved_cpu(ssn, *wants))


def test_in_which_order_queues_are_dealt_to_is_chance_down_to_the_last_bit() -> None:
    idle = [queue("idle"), pod_group("idle", queue="idle"), pod("idle-0", "idle")]
    wants = [demand(name, 7, weight=weight) for name, weight in (("q0", 4), ("q1", 1), ("q2", 1))]
    snapshot = cluster(node("n1", cpu="3"), idle, *wants)
    drawn = [replace(snapshot, chance=ChanceSettings(order_seed=seed)) for seed in (None, *range(1, 9))]
    [first, *others] = [deserved_cpu(open_session(one, "proportion"), "q0") for one in drawn]
    assert [2000.0000000000002] == first
    assert [1999.9999999999998] in others


# Order and overuse


def test_priority_decides_before_the_share_with_its_raw_difference() -> None:
    ssn = session(
        node("n1"),
        queue("high", priority=5),
        queue("low", priority=1),
        pod_group("h", queue="high"),
        pods("h", 3, on="n1"),
        pod_group("l", queue="low"),
        pods("l", 1, on="n1"),
    )
    high, low = ssn.queues["high"], ssn.queues["low"]
    assert [-4, 4] == [ssn.ask_plugins(QUEUE_ORDER, high, low), ssn.ask_plugins(QUEUE_ORDER, low, high)]


def test_smaller_share_decides_at_equal_priority() -> None:
    ssn = session(
        node("n1", cpu="4"),
        demand("a", 4),
        demand("b", 4),
        pods("a", 1, prefix="runs", on="n1"),
    )
    assert 1 == ssn.ask_plugins(QUEUE_ORDER, ssn.queues["a"], ssn.queues["b"])


def crowded(**limits: object) -> Session:
    return session(node("n1"), demand("a", 8, **limits), pods("a", 8, prefix="runs", on="n1"), demand("b", 8))


def test_a_queue_over_its_cpu_is_not_overused_while_pods_are_left() -> None:
    ssn = crowded()
    assert (5000.0, 8000.0, 1.6) == (*deserved_cpu(ssn, "a"), attr(ssn, "a").allocated.milli_cpu, attr(ssn, "a").share)
    assert not ssn.ask_plugins(OVERUSED, ssn.queues["a"])


def test_a_queue_of_finished_pods_deserves_nothing_and_is_overused() -> None:
    ssn = session(node("n1"), queue("done"), pod_group("done", queue="done"), pod("d", "done", phase="Succeeded"))
    assert ssn.ask_plugins(OVERUSED, ssn.queues["done"])


# Allocation


def test_a_task_must_stay_within_what_the_queue_deserves_in_what_it_asks_for() -> None:
    ssn = crowded()
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "a-0"))
    assert ssn.ask_plugins(ALLOCATABLE, ssn.queues["b"], task(ssn, "b-0"))
    assert ssn.ask_plugins(PREEMPTIVE, ssn.queues["b"], tasks(ssn, "b-0", "b-1", "b-2", "b-3", "b-4"))
    assert not ssn.ask_plugins(PREEMPTIVE, ssn.queues["b"], tasks(ssn, "b-0", "b-1", "b-2", "b-3", "b-4", "b-5"))


def test_there_is_no_tolerance() -> None:
    ssn = session(node("n1", cpu="2"), demand("a", 1), demand("b", 1))
    attr(ssn, "a").deserved.milli_cpu = 999.9999
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "a-0"))


def test_a_limit_on_pods_does_not_stop_pods() -> None:
    ssn = session(
        node("n1"), demand("a", 2, capability=amounts("5", "50G", pods="1")), new_job(amounts("1", pods="2"), "a")
    )
    assert ssn.ask_plugins(PREEMPTIVE, ssn.queues["a"], tasks(ssn, "a-0", "a-1"))
    assert (True, []) == admits(ssn)


@pytest.mark.parametrize("state", ["", "Closed", "Closing"])
def test_a_queue_that_is_not_open_takes_nothing_but_simulations(state: str) -> None:
    ssn = session(node("n1"), demand("a", 2, state=state), new_job(None, "a"))
    wanted = task(ssn, "a-0")
    ssn.ask_plugins(PRE_PREDICATE, wanted)
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], wanted)
    assert not ssn.ask_plugins(PREEMPTIVE, ssn.queues["a"], [wanted])
    assert (False, []) == admits(ssn)
    assert ssn.ask_plugins(SIMULATE_ALLOCATABLE, ssn.cycle_state(wanted), ssn.queues["a"], wanted)


def test_allocations_move_the_share() -> None:
    ssn = session(node("n1", cpu="4"), demand("a", 4), demand("b", 4))
    ssn.notify_allocated(task(ssn, "a-0"))
    assert (1000.0, 0.5) == (attr(ssn, "a").allocated.milli_cpu, attr(ssn, "a").share)
    ssn.notify_deallocated(task(ssn, "a-0"))
    assert (0.0, 0.0) == (attr(ssn, "a").allocated.milli_cpu, attr(ssn, "a").share)
    with pytest.raises(SchedulerPanic):
        ssn.notify_deallocated(task(ssn, "a-0"))


# Reclaim


def test_reclaim_takes_candidates_in_order_until_the_queue_is_back_at_what_it_deserves() -> None:
    ssn = session(
        node("n1", cpu="4", memory="1000G", pods="1000"),
        queue("a"),
        pod_group("a", queue="a"),
        pods("a", 3, on="n1"),
        demand("b", 4),
    )
    candidates = tasks(ssn, "a-2", "a-0", "a-1")
    assert ["a-2"] == names(ssn.ask_plugins(RECLAIMABLE, task(ssn, "b-0"), candidates))


def test_reclaim_passes_over_candidates_without_a_job() -> None:
    ssn = crowded()
    orphan, other = tasks(ssn, "runs-0", "runs-1")
    orphan.job = "default/gone"
    assert ["runs-1"] == names(ssn.ask_plugins(RECLAIMABLE, task(ssn, "b-0"), [orphan, other]))


# Admission


def running(minimum: dict[str, str] | None) -> list[Manifest]:
    group = pod_group("old", phase="Running", min_member=1, min_resources=minimum)
    return [queue("default", capability=amounts("4")), group, *pods("old", 8, on="n1")]


def test_running_pods_without_a_minimum_are_elastic_and_not_counted() -> None:
    assert (True, []) == admits(session(node("n1"), running(None), new_job(amounts("4"))))
    message = "queue resource quota insufficient: insufficient cpu"
    assert (False, [message]) == admits(session(node("n1"), running(None), new_job(amounts("5"))))


def test_the_minimum_of_what_runs_counts() -> None:
    ssn = session(node("n1"), running(amounts("3")), new_job(amounts("1")))
    assert 5000.0 == attr(ssn, "default").elastic.milli_cpu
    assert (True, []) == admits(ssn)
    message = "queue resource quota insufficient: insufficient cpu"
    assert (False, [message]) == admits(session(node("n1"), running(amounts("3")), new_job(amounts("2"))))


def test_a_job_without_minimum_is_admitted_and_reserves_nothing() -> None:
    ssn = session(node("n1"), running(amounts("4")), new_job(None))
    assert (True, []) == admits(ssn)
    ssn.ask_plugins(JOB_ENQUEUED, ssn.jobs["default/new"])
    assert 0.0 == attr(ssn, "default").inqueue.milli_cpu


def test_an_admitted_job_reserves_its_minimum_less_its_gated_pods() -> None:
    gated = pods("new", 1, memory=None, schedulingGates=[{"name": "wait"}])
    ssn = session(node("n1"), new_job(amounts("3")), gated)
    ssn.ask_plugins(JOB_ENQUEUED, ssn.jobs["default/new"])
    assert 2000.0 == attr(ssn, "default").inqueue.milli_cpu


def test_a_resource_that_no_node_has_is_insufficient() -> None:
    ssn = session(node("n1"), queue("default", capability=amounts("4", gpu="8")), new_job(amounts("1", gpu="1")))
    assert (False, ["queue resource quota insufficient: insufficient nvidia.com/gpu"]) == admits(ssn)


def test_elastic_stays_as_it_was_at_open_so_admission_after_an_eviction_panics() -> None:
    ssn = session(node("n1"), running(None), new_job(amounts("1")))
    ssn.notify_deallocated(task(ssn, "old-0"))
    ssn.notify_deallocated(task(ssn, "old-1"))
    with pytest.raises(SchedulerPanic, match=r"<cpu 7000\.00, .*> sub <cpu 8000\.00"):
        admits(ssn)


# Simulation


def simulated(ssn: Session) -> CycleState:
    ssn.ask_plugins(PRE_PREDICATE, task(ssn, "b-0"))
    return ssn.cycle_state(task(ssn, "b-0"))


def test_a_simulation_works_on_the_amounts_of_its_pre_predicate() -> None:
    ssn = crowded()
    state = simulated(ssn)
    trial = state.clone()
    wanted, other, n1 = task(ssn, "a-0"), task(ssn, "runs-0"), ssn.nodes["n1"]
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, trial, ssn.queues["a"], wanted)
    for _ in range(4):
        assert ssn.ask_plugins(SIMULATE_REMOVE_TASK, trial, wanted, other, n1) is None
    assert ssn.ask_plugins(SIMULATE_ALLOCATABLE, trial, ssn.queues["a"], wanted)
    assert ssn.ask_plugins(SIMULATE_ADD_TASK, trial, wanted, other, n1) is None
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, trial, ssn.queues["a"], wanted)
    assert 8000.0 == attr(ssn, "a").allocated.milli_cpu
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, state, ssn.queues["a"], wanted)


def test_a_simulation_of_a_task_that_was_never_pre_checked_fails() -> None:
    ssn = crowded()
    wanted = task(ssn, "b-0")
    text = 'failed to get capacity state: error reading "proportionState" from cycleState: not found'
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, CycleState(), ssn.queues["b"], wanted)
    assert text == ssn.ask_plugins(SIMULATE_REMOVE_TASK, CycleState(), wanted, wanted, ssn.nodes["n1"])


def test_a_simulation_names_what_is_gone() -> None:
    ssn = crowded()
    state = simulated(ssn)
    orphan = task(ssn, "runs-0").clone()
    orphan.job = "default/gone"
    text = "[proportion] job default/gone not found in session (orphaned task from deleted PodGroup)"
    assert text == ssn.ask_plugins(SIMULATE_ADD_TASK, state, task(ssn, "b-0"), orphan, ssn.nodes["n1"])
    ssn.jobs["default/a"].queue = "gone"
    text = "[proportion] queue gone not found"
    assert text == ssn.ask_plugins(SIMULATE_ADD_TASK, state, task(ssn, "b-0"), task(ssn, "runs-0"), ssn.nodes["n1"])
