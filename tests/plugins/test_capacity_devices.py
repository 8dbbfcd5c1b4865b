"""capacity: quotas on devices of resource claims."""

from typing import Any

import pytest

from tests.builders import amounts, metadata, node, pod, pod_group, queue, task
from tests.plugins.capacity_cluster import attr, flat, new_job, plugin, tree
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import (
    ALLOCATABLE,
    JOB_ENQUEUEABLE,
    JOB_ENQUEUED,
    PRE_PREDICATE,
    RECLAIMABLE,
    SIMULATE_ALLOCATABLE,
)
from vcdebug.framework.session import Session
from vcdebug.plugins.capacity.devices import parse_device_list
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

GPU_QUOTA = {"deviceclass/gpu": "2"}
MEMORY_QUOTA = {"deviceclass/gpu": "4", "memory.deviceclass/gpu": "40Gi"}


def claim(name: str, *requests: dict[str, Any]) -> Manifest:
    stated = [{"name": f"r{index}", **request} for index, request in enumerate(requests)]
    return {
        "kind": "ResourceClaim",
        "metadata": metadata(name, "default"),
        "spec": {"devices": {"requests": stated}},
    }


def gpus(count: int | None = 1, **more: Any) -> dict[str, Any]:
    return {"exactly": {"deviceClassName": "gpu", **({} if count is None else {"count": count}), **more}}


def memory(text: str) -> dict[str, Any]:
    return {"capacity": {"requests": {"memory": text}}}


def user(name: str, *claims: str, group: str = "a", on: str = "") -> Manifest:
    entries = [{"name": f"c{index}", "resourceClaimName": each} for index, each in enumerate(claims)]
    return pod(name, group, requests=amounts("1"), on=on, resourceClaims=entries)


def session(quota: dict[str, str], *objects: Manifest, flags: SchedulerFlags | None = None, off: str = "") -> Session:
    group = pod_group("a", queue="a")
    return flat(
        node("n1"), queue("a", capability=quota), group, list(objects), flags=flags, **({off: False} if off else {})
    )


def allocatable(ssn: Session, name: str) -> bool:
    return ssn.ask_plugins(ALLOCATABLE, ssn.queues["a"], task(ssn, name))


def test_a_queues_lists_name_classes_and_their_dimensions() -> None:
    read = parse_device_list(
        {"deviceclass/gpu": "1500m", "memory.deviceclass/gpu": "1Ki", ".deviceclass/x": "1", "cpu": "1"}
    )
    assert ["gpu"] == list(read)
    assert (2, {"memory": 1024 * 10**9}) == (read["gpu"].count, read["gpu"].capacity)


def test_devices_count_up_to_the_quota() -> None:
    ssn = session(
        GPU_QUOTA, claim("one", gpus()), claim("two", gpus(2)), user("a-0", "one", on="n1"), user("a-1", "two")
    )
    assert not allocatable(ssn, "a-1")
    ssn.notify_deallocated(task(ssn, "a-0"))
    assert allocatable(ssn, "a-1")


def test_a_count_that_is_not_stated_is_one_and_what_has_no_fixed_count_is_not_tracked() -> None:
    untracked = claim("more", gpus(9, allocationMode="All"), {"firstAvailable": [{"deviceClassName": "gpu"}]})
    ssn = session(
        {"deviceclass/gpu": "1"}, claim("one", gpus(None)), untracked, user("a-0", "one"), user("a-1", "more")
    )
    ssn.notify_allocated(task(ssn, "a-0"))
    assert 1 == quota(ssn, "a")
    assert allocatable(ssn, "a-1")


def quota(ssn: Session, name: str) -> int:
    devices = attr(ssn, name).devices
    return 0 if devices is None else devices.allocated["gpu"].count


def test_a_claim_that_pods_share_counts_once_until_the_last_is_gone() -> None:
    ssn = session(GPU_QUOTA, claim("two", gpus(2)), user("a-0", "two", on="n1"), user("a-1", "two"))
    assert allocatable(ssn, "a-1")
    ssn.notify_allocated(task(ssn, "a-1"))
    ssn.notify_deallocated(task(ssn, "a-0"))
    assert 2 == quota(ssn, "a")
    ssn.notify_deallocated(task(ssn, "a-1"))
    assert 0 == quota(ssn, "a")


def test_a_quota_of_0_devices_is_no_limit() -> None:
    assert allocatable(session({"deviceclass/gpu": "0"}, claim("two", gpus(2)), user("a-0", "two")), "a-0")


def test_shared_out_capacity_is_limited_per_dimension() -> None:
    ssn = session(
        MEMORY_QUOTA,
        claim("thirty", gpus(1, **memory("30Gi"))),
        claim("ten", gpus(1, **memory("10Gi"))),
        claim("eleven", gpus(1, **memory("11Gi"))),
        user("a-0", "thirty", on="n1"),
        user("a-1", "ten"),
        user("a-2", "eleven"),
    )
    assert [True, False] == [allocatable(ssn, name) for name in ("a-1", "a-2")]


def test_a_quota_without_the_dimension_refuses_every_request_that_names_it() -> None:
    objects = [claim("ten", gpus(1, **memory("10Gi"))), user("a-0", "ten")]
    assert not allocatable(session(GPU_QUOTA, *objects), "a-0")
    assert allocatable(session(GPU_QUOTA, *objects, off="capacity.DRAConsumableCapacityEnable"), "a-0")


def test_quotas_on_devices_can_be_switched_off() -> None:
    objects = [claim("nine", gpus(9)), user("a-0", "nine")]
    assert not allocatable(session(GPU_QUOTA, *objects), "a-0")
    assert allocatable(session(GPU_QUOTA, *objects, off="capacity.DynamicResourceAllocationEnable"), "a-0")
    gate = SchedulerFlags(feature_gates={"DynamicResourceAllocation": False})
    assert allocatable(session(GPU_QUOTA, *objects, flags=gate), "a-0")


def test_a_claim_whose_second_request_first_names_a_capacity_panics() -> None:
    ssn = session(MEMORY_QUOTA, claim("mixed", gpus(1), gpus(1, **memory("1Gi"))), user("a-0", "mixed"))
    with pytest.raises(SchedulerPanic, match="nil map"):
        allocatable(ssn, "a-0")


def test_a_simulation_checks_devices() -> None:
    ssn = session(
        GPU_QUOTA, claim("one", gpus()), claim("two", gpus(2)), user("a-0", "one", on="n1"), user("a-1", "two")
    )
    wanted = task(ssn, "a-1")
    ssn.ask_plugins(PRE_PREDICATE, wanted)
    state = ssn.cycle_state(wanted)
    trial = state.clone()
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, trial, ssn.queues["a"], wanted)
    assert plugin(ssn).simulate_remove_task(trial, wanted, task(ssn, "a-0"), ssn.nodes["n1"]) is None
    assert ssn.ask_plugins(SIMULATE_ALLOCATABLE, trial, ssn.queues["a"], wanted)
    assert not ssn.ask_plugins(SIMULATE_ALLOCATABLE, state, ssn.queues["a"], wanted)


# Admission


def admission(minimum: dict[str, str] | None) -> Session:
    claims = [claim("new", gpus(2)), claim("old", gpus(1))]
    users = [user("new-0", "new", group="new"), user("a-0", "old", on="n1")]
    return session(GPU_QUOTA, *claims, *users, new_job(minimum, "a"))


def test_the_minimum_of_tasks_must_fit_the_quota() -> None:
    ssn = admission(amounts("1"))
    assert not ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/new"])
    message = "queue resource quota insufficient: insufficient dra-resource-exceeded"
    assert [message] == [event.message for event in ssn.record.pod_group_events]
    alone = session(GPU_QUOTA, claim("new", gpus(2)), user("new-0", "new", group="new"), new_job(amounts("1"), "a"))
    assert alone.ask_plugins(JOB_ENQUEUEABLE, alone.jobs["default/new"])


def test_an_admitted_job_reserves_its_devices_also_without_a_minimum() -> None:
    ssn = admission(None)
    ssn.ask_plugins(JOB_ENQUEUED, ssn.jobs["default/new"])
    devices = attr(ssn, "a").devices
    assert devices is not None
    assert 2 == devices.inqueue["gpu"].count


def test_a_role_counts_with_one_of_its_tasks_times_its_minimum() -> None:
    group = pod_group("new", queue="a", phase="Pending", min_resources=amounts("1"), min_task_member={"": 3})
    ssn = session({"deviceclass/gpu": "2"}, claim("one", gpus()), user("new-0", "one", group="new"), group)
    assert not ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/new"])


def test_a_role_without_a_minimum_counts_nothing() -> None:
    """A quota of a count alone rejects every claim that names a capacity, but this role asks for no pods."""
    group = pod_group("new", queue="a", phase="Pending", min_resources=amounts("1"), min_task_member={"": 0})
    named = claim("one", gpus(1, **memory("1Gi")))
    ssn = session(GPU_QUOTA, named, user("new-0", "one", group="new"), group)
    assert ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/new"])


# Names that are scalars as well


def test_a_queue_that_deserves_only_devices_is_not_best_effort() -> None:
    ssn = flat(node("n1"), queue("a", deserved=GPU_QUOTA), pod_group("a", queue="a"), pod("a-0", "a"))
    assert 0.0 == attr(ssn, "a").share


def test_a_guarantee_on_devices_protects_everything_in_the_queue() -> None:
    ssn = flat(
        node("n1"),
        queue("a"),
        queue("b", guarantee=GPU_QUOTA),
        pod_group("a", queue="a"),
        pod("a-0", "a", requests=amounts("1")),
        pod_group("b", queue="b"),
        pod("b-0", "b", requests=amounts("1"), on="n1"),
    )
    assert [] == (ssn.ask_plugins(RECLAIMABLE, task(ssn, "a-0"), [task(ssn, "b-0").clone()]) or [])


# The tree


def test_an_ancestor_counts_the_classes_it_limits_if_the_leaf_has_a_quota() -> None:
    ssn = tree(
        node("n1"),
        queue("p", capability=GPU_QUOTA),
        queue("a", parent="p", capability={"deviceclass/gpu": "9"}),
        queue("b", parent="p"),
        pod_group("a", queue="a"),
        pod_group("b", queue="b"),
        [claim("one", gpus()), claim("two", gpus())],
        [user("a-0", "one", on="n1"), user("b-0", "two", group="b", on="n1")],
    )
    assert [1, 1] == [quota(ssn, name) for name in ("p", "a")]
    assert attr(ssn, "b").devices is None
