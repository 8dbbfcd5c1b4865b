"""The equations of capacity's limits and victims, queue by queue."""

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.explain.test_equations import the, wrong
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import PersistenceSetting
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.snapshot.sources import find_bundled


def tree(*objects: Any, actions: str = "allocate", level: int = 0) -> Recording:
    """The cycle of a cluster with ten cores and a tree of queues."""
    arguments = {"enableHierarchy": "true", "arguments": f"{{ancestorReclaimLevel: {level}}}"}
    conf = conf_of("gang capacity", actions=actions, arguments={"capacity": arguments})
    recording = replay_cycle(cluster(node("n1", cpu="10"), queue("root"), *objects, conf=conf))
    assert [] == list(wrong(recording))
    return recording


def department() -> list[Manifest]:
    return [
        queue("dept", parent="root", capability={"cpu": "4"}),
        queue("one", parent="dept", deserved={"cpu": "1"}),
        queue("two", parent="dept", deserved={"cpu": "1"}),
    ]


def test_the_ancestor_whose_limit_is_short_decides() -> None:
    held = [pod_group("held", queue="one", phase="Running"), *pods("held", 3, on="n1")]
    recording = tree(department(), held, [pod_group("new", queue="two"), *pods("new", 1, cpu="2")])
    found = the(recording, "Allocatable", "capacity")
    assert (False, "dept cpu") == (found.verdict, found.deciding_name)
    lines = {term.name: (term.figures, term.is_met) for term in found.terms}
    assert ((0.0, 2000.0, 2000.0, 4000.0), True) == lines["two cpu"]
    assert ((3000.0, 2000.0, 5000.0, 4000.0), False) == lines["dept cpu"]


def test_admission_counts_what_is_inqueue_and_not_what_is_elastic() -> None:
    held = [pod_group("held", queue="one", phase="Running", min_resources={"cpu": "1"}), *pods("held", 3, on="n1")]
    new = [pod_group("new", queue="two", phase="Pending", min_resources={"cpu": "3"}), *pods("new", 1)]
    recording = tree(department(), held, new, actions="enqueue")
    found = the(recording, "JobEnqueueable", "capacity")
    lines = {term.name: term.figures for term in found.terms}
    assert (3000.0, 3000.0, 0.0, 2000.0, 4000.0, 4000.0) == lines["dept cpu"]
    assert 1 == found.verdict


def test_equation_of_a_parent_queue_states_it_before_amounts() -> None:
    closed = [queue("shut", parent="root", state="Closed")]
    recording = tree(closed, [pod_group("new", queue="shut"), *pods("new", 1)])
    found = the(recording, "Allocatable", "capacity")
    assert (False, "the queue's state is Closed, not Open") == (found.verdict, found.note)


def reclaim(*objects: Any, cpu: str = "4") -> Recording:
    conf = conf_of("gang capacity", actions="reclaim")
    recording = replay_cycle(cluster(node("n1", cpu=cpu), *objects, conf=conf))
    assert [] == list(wrong(recording))
    return recording


def test_a_queue_reclaims_where_it_deserves_more() -> None:
    recording = reclaim(
        [queue("a", deserved={"cpu": "2"}), queue("b", deserved={"cpu": "2"})],
        [pod_group("held", queue="b", phase="Running", min_member=0), *pods("held", 4, on="n1")],
        [pod_group("new", queue="a"), *pods("new", 1)],
    )
    asked = the(recording, "Preemptive", "capacity")
    assert (True, "deserved a cpu") == (asked.verdict, asked.deciding_name)
    found = the(recording, "Reclaimable", "capacity")
    lines = [(term.name[-1], term.figures[2], term.is_met) for term in found.terms]
    assert [("3", 4000.0, True), ("2", 3000.0, True), ("1", 2000.0, False), ("0", 2000.0, False)] == lines
    assert "queue b holds no more than it deserves: 2 of 2 cpu" == found.terms[2].note


@pytest.mark.parametrize(
    ("persistence", "may", "named", "not_named", "deciding"),
    [
        ("off", True, "deserved: LessEqualPartlyWithDimensionZeroFiltered", "deserved and the limit", "memory"),
        ("on", False, "deserved and the limit: LessEqualWithDimensionAndResourcesName", "Partly", "cpu"),
    ],
)
def test_the_comparison_that_judges_a_claim_is_named(
    persistence: PersistenceSetting, may: bool, named: str, not_named: str, deciding: str
) -> None:
    folder = find_bundled("reclaim-in-one-dimension")
    assert folder is not None
    snapshot = load_snapshot(folder)
    snapshot.persistence = persistence
    recording = replay_cycle(snapshot)
    assert [] == list(wrong(recording))
    found = the(recording, "Preemptive", "capacity")
    assert (may, f"deserved text {deciding}") == (found.verdict, found.deciding_name)
    assert named in found.comparison_name
    assert not_named not in found.comparison_name


def test_the_guarantee_that_would_break_is_named() -> None:
    recording = reclaim(
        [queue("a", deserved={"cpu": "2"}), queue("b", guarantee={"cpu": "4"}), queue("c")],
        [pod_group("held", queue="b", phase="Running", min_member=0), *pods("held", 4, on="n1")],
        [pod_group("more", queue="c", phase="Running", min_member=0), *pods("more", 2, on="n1")],
        [pod_group("new", queue="a"), *pods("new", 1)],
        cpu="6",
    )
    found = the(recording, "Reclaimable", "capacity")
    lines = {term.name: term for term in found.terms}
    assert "queue b would fall below its guarantee of cpu" == lines["default/held-0"].note
    assert ("b", "cpu", 4000.0, 4000.0, 4000.0) == lines["default/held-0"].figures
    assert lines["default/more-0"].is_met


def test_a_dry_run_takes_victims_off_the_queue_and_its_ancestors() -> None:
    conf = conf_of("gang priority", "capacity predicates", actions="preempt") + (
        "configurations:\n- name: preempt\n  arguments:\n    enableTopologyAwarePreemption: true\n"
    )
    recording = replay_cycle(
        cluster(
            node("n1", cpu="4"),
            [priority_class("high", 100), priority_class("low", 1)],
            queue("q", capability={"cpu": "4"}),
            [
                pod_group("low", queue="q", priority_class="low", phase="Running", min_member=0),
                *pods("low", 4, on="n1"),
            ],
            [pod_group("high", queue="q", priority_class="high", min_member=1), *pods("high", 1, cpu="2")],
            conf=conf,
        )
    )
    assert [] == list(wrong(recording))
    answers = [the(recording, "SimulateAllocatable", "capacity", number) for number in range(2)]
    assert [(False, 3000.0), (True, 2000.0)] == [(one.verdict, one.terms[0].figures[0]) for one in answers]
