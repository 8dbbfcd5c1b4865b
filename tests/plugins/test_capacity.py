"""Capacity without a tree: limits, shares, order, allocation, admission."""

import pytest

from tests.builders import amounts, ledger, node, pod, pod_group, pods, queue, task, tasks
from tests.plugins.capacity_cluster import attr, big_node, flat, new_job, pending, plugin, running
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import (
    ALLOCATABLE,
    JOB_ENQUEUEABLE,
    JOB_ENQUEUED,
    PRE_PREDICATE,
    PREEMPTIVE,
    QUEUE_ORDER,
    SIMULATE_ADD_TASK,
    SIMULATE_ALLOCATABLE,
    SIMULATE_REMOVE_TASK,
)
from vcdebug.framework.session import Session
from vcdebug.kube.node_view import CycleState
from vcdebug.model.resource import MAX_FLOAT64
from vcdebug.snapshot.snapshot import SchedulerFlags


def admits(ssn: Session) -> tuple[bool, list[str]]:
    answer = ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/new"])
    return answer, [event.message for event in ssn.record.pod_group_events]


# Limits and shares


def test_only_queues_with_jobs_take_part() -> None:
    ssn = flat(node("n1"), queue("a"), queue("idle", guarantee=amounts("4")), pending("a", 1))
    assert ["a"] == list(plugin(ssn).queues)
    assert 6000.0 == attr(ssn, "a").real_capability.milli_cpu


def test_deserved_amount_is_capped_by_the_limit_and_raised_to_the_guarantee() -> None:
    ssn = flat(
        node("n1"),
        queue("a", deserved=amounts("8"), capability=amounts("4")),
        queue("b", deserved=amounts("1"), guarantee=amounts("2")),
        pending("a", 1),
        pending("b", 1),
    )
    assert [4000.0, 2000.0] == [attr(ssn, name).deserved.milli_cpu for name in ("a", "b")]


def test_a_capability_of_0_cpu_is_no_limit() -> None:
    ssn = flat(node("n1"), queue("a", capability=amounts("0", "50G")), pending("a", 1))
    assert (MAX_FLOAT64, 50e9) == (attr(ssn, "a").capability.milli_cpu, attr(ssn, "a").capability.memory)
    assert (10000.0, 50e9) == (attr(ssn, "a").real_capability.milli_cpu, attr(ssn, "a").real_capability.memory)


def test_a_deserved_scalar_that_no_node_has_is_not_capped() -> None:
    ssn = flat(node("n1"), queue("a", deserved=amounts("1", gpu="8")), pending("a", 1))
    assert 8000.0 == attr(ssn, "a").deserved.get("nvidia.com/gpu")


def test_a_queue_that_deserves_nothing_has_share_1_and_comes_after_a_full_one() -> None:
    ssn = flat(node("n1"), queue("a"), queue("b", deserved=amounts("2")), pending("a", 1), running("b", 2))
    assert [1.0, 1.0] == [attr(ssn, name).share for name in ("a", "b")]
    assert [1, -1] == [
        ssn.ask_plugins(QUEUE_ORDER, ssn.queues[left], ssn.queues[right]) for left, right in ("ab", "ba")
    ]


def test_pods_count_in_the_share_when_they_are_deserved() -> None:
    ssn = flat(node("n1"), queue("a", deserved=amounts("10", pods="4")), running("a", 3))
    assert 0.75 == attr(ssn, "a").share


def test_priority_decides_before_the_share_with_its_raw_difference() -> None:
    ssn = flat(node("n1"), queue("a", priority=5), queue("b", priority=1), running("a", 2), pending("b", 1))
    assert [-4, 4] == [
        ssn.ask_plugins(QUEUE_ORDER, ssn.queues[left], ssn.queues[right]) for left, right in ("ab", "ba")
    ]


def test_events_move_what_is_allocated_and_the_share() -> None:
    ssn = flat(node("n1"), queue("a", deserved=amounts("4")), pending("a", 2))
    ssn.notify_allocated(task(ssn, "a-0"))
    kept = ledger(ssn, task(ssn, "a-0"), "capacity")
    assert ("a", 0.25, 1000.0) == (kept["queue"], kept["share"], attr(ssn, "a").allocated.milli_cpu)
    ssn.notify_deallocated(task(ssn, "a-0"))
    assert (0.0, 0.0) == (attr(ssn, "a").allocated.milli_cpu, attr(ssn, "a").share)
    with pytest.raises(SchedulerPanic):
        ssn.notify_deallocated(task(ssn, "a-0"))


# Allocation


def test_a_queue_may_use_more_than_it_deserves_up_to_its_limit() -> None:
    ssn = flat(node("n1"), queue("a", deserved=amounts("1"), capability=amounts("3")), running("a", 2), new_pods("a"))
    assert ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "new-0"))
    ssn.notify_allocated(task(ssn, "new-0"))
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "new-1"))


def new_pods(name: str) -> list[dict[str, object]]:
    return [pod_group("new", queue=name), *pods("new", 2)]


@pytest.mark.parametrize("state", ["", "Closed", "Closing"])
def test_a_queue_that_is_not_open_takes_nothing_but_simulations(state: str) -> None:
    ssn = flat(node("n1"), queue("a", deserved=amounts("4"), state=state), pending("a", 1), new_job(None, "a"))
    wanted = task(ssn, "a-0")
    ssn.ask_plugins(PRE_PREDICATE, wanted)
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], wanted)
    assert not ssn.ask_plugins(PREEMPTIVE, ssn.queues["a"], [wanted])
    assert (False, []) == admits(ssn)
    assert ssn.ask_plugins(SIMULATE_ALLOCATABLE, ssn.cycle_state(wanted), ssn.queues["a"], wanted)


def test_a_queue_may_reclaim_while_one_dimension_is_deserved() -> None:
    ssn = flat(node("n1"), queue("a", deserved=amounts("1", "50Gi")), running("a", 2), new_pods("a"))
    assert ssn.ask_plugins(PREEMPTIVE, ssn.queues["a"], tasks(ssn, "new-0"))
    starved = flat(node("n1"), queue("a", deserved=amounts("1")), running("a", 2), new_pods("a"))
    assert not starved.ask_plugins(PREEMPTIVE, starved.queues["a"], tasks(starved, "new-0"))


def test_a_queue_may_not_reclaim_beyond_its_limit() -> None:
    limited = queue("a", deserved=amounts("8", "50Gi"), capability=amounts("2"))
    ssn = flat(node("n1"), limited, running("a", 2), new_pods("a"))
    assert not ssn.ask_plugins(PREEMPTIVE, ssn.queues["a"], tasks(ssn, "new-0"))


# Admission


def test_admission_counts_minimums_and_leaves_out_what_is_elastic() -> None:
    objects = [queue("a", capability=amounts("4")), *running("old", 8, queue="a")]
    assert (True, []) == admits(flat(node("n1"), objects, new_job(amounts("4"), "a")))
    message = "queue resource quota insufficient: insufficient cpu"
    assert (False, [message]) == admits(flat(node("n1"), objects, new_job(amounts("5"), "a")))


def test_an_admitted_job_reserves_its_minimum() -> None:
    ssn = flat(node("n1"), queue("a", capability=amounts("4")), new_job(amounts("3"), "a"))
    job = ssn.jobs["default/new"]
    ssn.ask_plugins(JOB_ENQUEUED, job)
    assert 3000.0 == attr(ssn, "a").inqueue.milli_cpu
    assert not ssn.ask_plugins(JOB_ENQUEUEABLE, job)


def test_a_job_without_minimum_is_admitted_and_reserves_nothing() -> None:
    ssn = flat(node("n1"), queue("a", capability=amounts("1")), running("old", 4, queue="a"), new_job(None, "a"))
    assert (True, []) == admits(ssn)
    ssn.ask_plugins(JOB_ENQUEUED, ssn.jobs["default/new"])
    assert 0.0 == attr(ssn, "a").inqueue.milli_cpu


def test_elastic_stays_as_it_was_at_open_so_admission_after_an_eviction_panics() -> None:
    ssn = flat(node("n1"), queue("a"), running("old", 8, queue="a"), new_job(amounts("1"), "a"))
    ssn.notify_deallocated(task(ssn, "old-0"))
    ssn.notify_deallocated(task(ssn, "old-1"))
    with pytest.raises(SchedulerPanic, match=r"<cpu 7000\.00, .*> sub <cpu 8000\.00"):
        admits(ssn)


# Simulation


def test_a_simulation_works_on_the_amounts_of_its_pre_predicate() -> None:
    ssn = flat(node("n1"), queue("a", capability=amounts("2")), running("a", 2), new_pods("a"))
    wanted, other, n1 = task(ssn, "new-0"), task(ssn, "a-0"), ssn.nodes["n1"]
    ssn.ask_plugins(PRE_PREDICATE, wanted)
    state = ssn.cycle_state(wanted)
    trial = state.clone()
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, trial, ssn.queues["a"], wanted)
    assert ssn.ask_plugins(SIMULATE_REMOVE_TASK, trial, wanted, other, n1) is None
    assert ssn.ask_plugins(SIMULATE_ALLOCATABLE, trial, ssn.queues["a"], wanted)
    assert ssn.ask_plugins(SIMULATE_ADD_TASK, trial, wanted, other, n1) is None
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, trial, ssn.queues["a"], wanted)
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, state, ssn.queues["a"], wanted)
    assert 2000.0 == attr(ssn, "a").allocated.milli_cpu


def test_a_simulation_names_what_is_missing() -> None:
    ssn = flat(node("n1"), queue("a"), running("a", 1), new_pods("a"))
    wanted, n1 = task(ssn, "new-0"), ssn.nodes["n1"]
    text = 'failed to get capacity state: error reading "capacity" from cycleState: not found'
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, CycleState(), ssn.queues["a"], wanted)
    assert text == ssn.ask_plugins(SIMULATE_REMOVE_TASK, CycleState(), wanted, wanted, n1)
    ssn.ask_plugins(PRE_PREDICATE, wanted)
    orphan = task(ssn, "a-0").clone()
    orphan.job = "default/gone"
    text = "[capacity] job default/gone not found in session (orphaned task from deleted PodGroup)"
    assert text == ssn.ask_plugins(SIMULATE_ADD_TASK, ssn.cycle_state(wanted), wanted, orphan, n1)
    ssn.jobs["default/a"].queue = "gone"
    other = task(ssn, "a-0")
    assert "[capacity] queue gone not found" == ssn.ask_plugins(
        SIMULATE_ADD_TASK, ssn.cycle_state(wanted), wanted, other, n1
    )


# Room reserved behind the scheduling gate

GATE = "scheduling.volcano.sh/queue-allocation-gate"


def gated(*, on: bool) -> Session:
    annotations = {GATE: "true"}
    return flat(
        big_node(),
        queue("a", capability=amounts("2")),
        pod_group("a", queue="a"),
        pod("a-0", "a", requests=amounts("1"), annotations=annotations),
        pod("a-1", "a", requests=amounts("1"), annotations=annotations, schedulingGates=[{"name": GATE}]),
        pods("a", 1, prefix="plain", cpu="2"),
        flags=SchedulerFlags(feature_gates={"SchedulingGatesQueueAdmission": on}),
    )


def test_a_pending_pod_that_passed_its_gate_earlier_keeps_its_room() -> None:
    ssn = gated(on=True)
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "plain-0"))
    ssn.notify_allocated(task(ssn, "a-0"))
    ssn.notify_deallocated(task(ssn, "a-0"))
    assert not ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "plain-0"))


def test_a_pod_that_passes_now_keeps_its_room_as_well() -> None:
    ssn = gated(on=True)
    assert ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "a-1"))
    ssn.notify_allocated(task(ssn, "a-0"))
    reserved = plugin(ssn).limits.reservations
    assert reserved is not None
    assert 1000.0 == reserved.reserved_for_others("a", task(ssn, "plain-0")).milli_cpu
    assert 0.0 == reserved.reserved_for_others("a", task(ssn, "a-1")).milli_cpu


def test_without_the_feature_nothing_is_reserved() -> None:
    ssn = gated(on=False)
    assert ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, "plain-0"))
