"""drf: dominant resource fairness, flat and with a tree of queues."""

import pytest

from tests.builders import (
    amounts,
    cluster,
    conf_of,
    names,
    node,
    open_session,
    pod,
    pod_group,
    pods,
    queue,
    task,
    tasks,
)
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import JOB_ORDER, PREEMPTABLE, QUEUE_ORDER, RECLAIMABLE
from vcdebug.framework.record import OpEvent
from vcdebug.framework.session import Session
from vcdebug.plugins.drf import Drf, parse_weight
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest

HIERARCHY = {"drf": {"enableHierarchy": "true"}}


def flat(*objects: Manifest | list[Manifest]) -> Session:
    return open_session(cluster(*objects), "drf")


def tree(*objects: Manifest | list[Manifest]) -> Session:
    return open_session(cluster(*objects), "drf", arguments=HIERARCHY)


def path(name: str, hierarchy: str, weights: str) -> Manifest:
    annotations = {"volcano.sh/hierarchy": hierarchy, "volcano.sh/hierarchy-weights": weights}
    return queue(name, annotations=annotations)


def shares(ssn: Session) -> dict[str, tuple[float, str]]:
    plugin = ssn.plugins["drf"]
    assert isinstance(plugin, Drf)
    return {uid: (share.value, share.dominant) for uid, share in plugin.shares.items()}


def victims(ssn: Session, *candidates: str) -> list[str]:
    return names(ssn.ask_plugins(PREEMPTABLE, task(ssn, "want-0"), tasks(ssn, *candidates)))


def test_the_job_with_the_smaller_share_goes_first_and_events_change_it() -> None:
    ssn = flat(node("n1"), pod_group("a"), pods("a", 3, on="n1"), pod_group("b"), pods("b", 2, on="n1"))
    a, b = ssn.jobs["default/a"], ssn.jobs["default/b"]
    assert [1, -1, 0] == [ssn.ask_plugins(JOB_ORDER, *pair) for pair in ((a, b), (b, a), (a, a))]
    for name in ("b-0", "b-1"):
        ssn.notify_allocated(task(ssn, name))
    assert -1 == ssn.ask_plugins(JOB_ORDER, a, b)
    ssn.notify_deallocated(task(ssn, "b-0"))
    assert 0 == ssn.ask_plugins(JOB_ORDER, a, b)


def test_pods_are_a_dimension_and_what_the_cluster_lacks_is_none() -> None:
    ssn = flat(
        node("n1", pods="10"),
        pod_group("tiny"),
        pods("tiny", 3, cpu="1m", memory=None, on="n1"),
        pod_group("exotic"),
        pods("exotic", 1, requests=amounts("2", fpga="1") | {"vendor.io/fpga": "8"}, on="n1"),
    )
    assert {"default/exotic": (0.2, "cpu"), "default/tiny": (0.3, "pods")} == shares(ssn)


def test_dominant_dimension_of_equal_shares_is_the_earlier_one() -> None:
    ssn = flat(node("n1", cpu="10", memory="10G", pods="10"), pod_group("a"), pods("a", 1, on="n1"))
    assert {"default/a": (0.1, "cpu")} == shares(ssn)


def preemption(*members: Manifest | list[Manifest], cpu: str = "2") -> Session:
    return flat(
        node("n1", memory="1000G"),
        pod_group("have"),
        *members,
        pod_group("want"),
        pods("want", 1, cpu=cpu, memory=None),
    )


def test_equal_shares_after_the_exchange_make_a_victim() -> None:
    ssn = preemption(pods("have", 3, memory=None, on="n1"), cpu="2")
    assert ["have-0"] == victims(ssn, "have-0")
    assert ["have-0"] == victims(ssn, "have-0", "have-1")


def test_candidates_that_are_not_taken_count_against_later_ones() -> None:
    ssn = preemption(
        pod("big", "have", on="n1", requests=amounts("4")), pod("small", "have", on="n1", requests=amounts("1"))
    )
    assert [] == victims(ssn, "big", "small")
    assert ["small"] == victims(ssn, "small", "big")


def test_preemptable_abstains_for_a_preemptor_without_a_job() -> None:
    ssn = preemption(pods("have", 3, on="n1"))
    orphan = task(ssn, "want-0").clone()
    orphan.job = "default/gone"
    assert ssn.ask_plugins(PREEMPTABLE, orphan, tasks(ssn, "have-0")) is None


def test_giving_back_more_than_is_held_is_upstreams_panic() -> None:
    ssn = preemption(pods("have", 1, on="n1"))
    with pytest.raises(SchedulerPanic, match=r"resource is not sufficient to do operation: <cpu 0\.00"):
        ssn.notify_deallocated(task(ssn, "want-0"))


def test_without_hierarchy_queues_are_not_compared_and_reclaim_is_not_answered() -> None:
    ssn = preemption(pods("have", 3, on="n1"))
    assert 0 == ssn.ask_plugins(QUEUE_ORDER, ssn.queues["default"], ssn.queues["default"])
    assert ssn.ask_plugins(RECLAIMABLE, task(ssn, "want-0"), tasks(ssn, "have-0")) is None


def placed(*objects: Manifest | list[Manifest]) -> dict[str, int]:
    """The pods that a complete allocate action places, by queue."""
    recording = replay_cycle(cluster(*objects, conf=conf_of("drf", arguments=HIERARCHY)))
    counts: dict[str, int] = {}
    for event in recording.events:
        if isinstance(event, OpEvent) and event.op == "allocate":
            name = event.task.removeprefix("default/").rpartition("-")[0]
            counts[name] = counts.get(name, 0) + 1
    return counts


def test_the_worked_tree_gives_4_6_and_6_pods() -> None:
    found = placed(
        node("n1", cpu="10", memory="10G", pods="50"),
        path("sci", "root/sci", "100/50"),
        path("dev", "root/eng/dev", "100/50/50"),
        path("prod", "root/eng/prod", "100/50/50"),
        [pod_group(name, queue=name, min_member=0) for name in ("sci", "dev", "prod")],
        pods("sci", 10),
        pods("dev", 10, memory=None),
        pods("prod", 10, cpu=None),
    )
    assert {"sci": 4, "dev": 6, "prod": 6} == found


def test_the_worked_tree_of_five_queues_gives_10_10_10_15_and_15_pods() -> None:
    paths = {"q1": "pg1", "q2": "pg2", "q31": "pg3/pg31", "q32": "pg3/pg32", "q4": "pg4"}
    weights = {"q31": "100/25/50", "q32": "100/25/50"}
    only_memory = ("q32", "q4")
    found = placed(
        node("n1", cpu="30", memory="30G", pods="500"),
        [path(name, f"root/{below}", weights.get(name, "100/25")) for name, below in paths.items()],
        [pod_group(name, queue=name, min_member=0) for name in paths],
        *[pods(name, 30, memory=None) for name in paths if name not in only_memory],
        *[pods(name, 30, cpu=None) for name in only_memory],
    )
    assert {"q1": 10, "q2": 10, "q31": 10, "q32": 15, "q4": 15} == found


def test_a_saturated_queue_goes_last_whatever_its_share() -> None:
    ssn = tree(
        node("n1"),
        path("a", "root/a", "1/1"),
        path("b", "root/b", "1/1"),
        pod_group("a", queue="a"),
        pods("a", 1, on="n1"),
        pod_group("b", queue="b"),
        pods("b", 3, on="n1"),
        pods("b", 1, prefix="more"),
    )
    assert 1 == ssn.ask_plugins(QUEUE_ORDER, ssn.queues["a"], ssn.queues["b"])


def test_weights_divide_shares() -> None:
    ssn = tree(
        node("n1"),
        path("a", "root/a", "1/4"),
        path("b", "root/b", "1/1"),
        pod_group("a", queue="a"),
        pods("a", 3, on="n1"),
        pods("a", 1, prefix="more-a"),
        pod_group("b", queue="b"),
        pods("b", 1, on="n1"),
        pods("b", 1, prefix="more-b"),
    )
    assert -1 == ssn.ask_plugins(QUEUE_ORDER, ssn.queues["a"], ssn.queues["b"])


def test_a_queue_without_a_path_hangs_under_the_root_and_compares_as_equal() -> None:
    ssn = tree(
        node("n1"),
        queue("plain"),
        path("a", "root/a", "1/1"),
        pod_group("plain", queue="plain"),
        pods("plain", 2, on="n1"),
        pod_group("a", queue="a"),
        pods("a", 1),
    )
    assert 0 == ssn.ask_plugins(QUEUE_ORDER, ssn.queues["a"], ssn.queues["plain"])


def test_a_queue_on_anothers_path_compares_as_equal_to_it() -> None:
    ssn = tree(
        node("n1"),
        path("eng", "root/eng", "1/1"),
        path("dev", "root/eng/dev", "1/1/1"),
        pod_group("eng", queue="eng"),
        pods("eng", 2, on="n1"),
        pod_group("dev", queue="dev"),
        pods("dev", 1),
    )
    assert 0 == ssn.ask_plugins(QUEUE_ORDER, ssn.queues["eng"], ssn.queues["dev"])


@pytest.mark.parametrize(("text", "weight"), [("0.5", 1.0), ("abc", 1.0), ("", 1.0), ("2.5", 2.5), ("1e999", 1.0)])
def test_a_weight_is_a_number_of_at_least_1(text: str, weight: float) -> None:
    assert weight == parse_weight(text)


def test_fewer_weights_than_elements_are_upstreams_panic() -> None:
    with pytest.raises(SchedulerPanic, match=r"index out of range \[2\] with length 2"):
        tree(node("n1"), path("a", "root/a/b", "1/1"), pod_group("a", queue="a"), pods("a", 1))


def reclaim(have: int, *, wants: str = "1") -> Session:
    return tree(
        node("n1", memory="1000G", pods="1000"),
        path("a", "root/a", "1/1"),
        path("b", "root/b", "1/1"),
        pod_group("a", queue="a"),
        pods("a", have, on="n1", memory=None),
        pods("a", 1, prefix="more-a", memory=None),
        pod_group("b", queue="b"),
        pods("b", 1, on="n1", memory=None),
        pods("b", 2, prefix="want", cpu=wants, memory=None),
    )


def test_reclaim_takes_from_a_queue_that_stays_behind_judging_each_candidate_alone() -> None:
    ssn = reclaim(4)
    candidates = tasks(ssn, "a-0", "a-1", "a-2", "a-3")
    chosen = names(ssn.ask_plugins(RECLAIMABLE, task(ssn, "want-0"), candidates))
    assert ["a-0", "a-1", "a-2", "a-3"] == chosen


def test_reclaim_leaves_equal_shares_alone() -> None:
    ssn = reclaim(3)
    assert ssn.ask_plugins(RECLAIMABLE, task(ssn, "want-0"), tasks(ssn, "a-0")) is None


def test_a_trial_of_reclaim_leaves_the_tree_as_it_was() -> None:
    ssn = reclaim(4)
    before = ssn.ask_plugins(QUEUE_ORDER, ssn.queues["a"], ssn.queues["b"])
    first = names(ssn.ask_plugins(RECLAIMABLE, task(ssn, "want-0"), tasks(ssn, "a-0")))
    assert (1, first) == (before, names(ssn.ask_plugins(RECLAIMABLE, task(ssn, "want-0"), tasks(ssn, "a-0"))))


def test_hierarchy_beside_proportion_needs_another_tier() -> None:
    objects = [node("n1"), path("a", "root/a", "1/1"), pod_group("a", queue="a"), *pods("a", 1)]
    ssn = open_session(cluster(objects), "drf", "proportion", arguments=HIERARCHY)
    assert 0 == ssn.ask_plugins(QUEUE_ORDER, ssn.queues["a"], ssn.queues["a"])
    with pytest.raises(AssertionError, match="conflicts"):
        open_session(cluster(objects, conf=conf_of("drf proportion", arguments=HIERARCHY)))


def test_a_candidate_without_a_job_is_no_victim_and_hides_no_other() -> None:
    ssn = flat(node("n1"), pod_group("a"), pods("a", 3, on="n1"), pod_group("want"), pods("want", 1))
    stray, *others = tasks(ssn, "a-0", "a-1", "a-2")
    stray.job = "default/gone"
    assert ["a-1", "a-2"] == names(ssn.ask_plugins(PREEMPTABLE, task(ssn, "want-0"), [stray, *others]))
