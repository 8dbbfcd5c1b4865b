"""preempt: victims within a queue and within a job, in both modes."""

from typing import Any

import pytest

from tests.actions.outcome import asked, messages, ops, ran, statements, tasks
from tests.builders import cluster, conf_of, node, open_session, pod, pod_group, pods, priority_class, task
from vcdebug.actions.preempt.topology import Candidate, TopologyAwarePreemption, rank_candidate
from vcdebug.framework.arguments import Arguments
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings

TIERS = ("priority gang", "predicates nodeorder")
TOPOLOGY = "configurations:\n- name: preempt\n  arguments:\n    enableTopologyAwarePreemption: true\n"
CLASSES = (priority_class("high", 100), priority_class("low", 1))


def preempt(*objects: Any, extra: str = "", tiers: tuple[str, ...] = TIERS, actions: str = "preempt") -> Any:
    return ran(CLASSES, *objects, actions=actions, tiers=tiers, extra=extra)


def low(name: str, count: int, on: str, cpu: str = "1", **more: Any) -> list[Any]:
    return [pod_group(name, priority_class="low", phase="Running", **more), *pods(name, count, cpu=cpu, on=on)]


def high(name: str, count: int, cpu: str = "1", min_member: int = 1, **more: Any) -> list[Any]:
    return [pod_group(name, priority_class="high", min_member=min_member), *pods(name, count, cpu=cpu, **more)]


@pytest.mark.parametrize("extra", ["", TOPOLOGY], ids=["normal", "topology-aware"])
def test_preempt_evicts_as_few_tasks_as_needed(extra: str) -> None:
    recording = preempt(node("n1", cpu="2"), low("l", 2, "n1", min_member=0), high("h", 1), extra=extra)
    assert ["evict l-1@n1", "pipeline h-0@n1"] == ops(recording)
    assert ["merge 2", "commit 2"] == statements(recording)[:2]


def test_partly_served_gang_is_discarded_and_its_message_names_the_pipelined_node() -> None:
    recording = preempt(node("n1", cpu="2"), low("l", 2, "n1", min_member=0), high("h", 3, min_member=3))
    assert "discard" == statements(recording)[2].split()[0]
    assert {"l-0": "Running@n1", "l-1": "Running@n1"} == {k: v for k, v in tasks(recording).items() if k[0] == "l"}
    said = messages(recording)["h-0"]
    assert said is not None
    assert said.endswith("once resource is released and minAvailable is satisfied")


def test_preemption_policy_never_evicts_no_pod() -> None:
    recording = preempt(node("n1", cpu="1"), low("l", 1, "n1", min_member=0), high("h", 1, preemptionPolicy="Never"))
    assert [] == ops(recording)
    assert [] == asked(recording, "Preemptable")


def test_a_nominated_node_that_already_fits_makes_the_task_ineligible() -> None:
    waiting = pod("h-0", "h", requests={"cpu": "1"})
    waiting["status"]["nominatedNodeName"] = "n2"
    recording = preempt(
        node("n1", cpu="1"),
        node("n2", cpu="1"),
        low("l", 1, "n1", min_member=0),
        pod_group("h", priority_class="high"),
        waiting,
        actions="allocate, preempt",
        tiers=TIERS,
    )
    assert ["allocate h-0@n2"] == ops(recording)


def test_victims_outside_the_preemptors_queue_or_with_preemptable_false_are_no_candidates() -> None:
    protected = pods("l", 1, on="n1", annotations={"volcano.sh/preemptable": "false"})
    recording = preempt(
        node("n1", cpu="1"), pod_group("l", priority_class="low", min_member=0), protected, high("h", 1)
    )
    assert [()] == asked(recording, "Preemptable")[:1]
    assert [] == ops(recording)


def test_preemption_within_a_job_evicts_lower_tasks_until_the_first_failure() -> None:
    recording = preempt(
        node("n1", cpu="1"),
        pod_group("j", min_member=2),
        pods("j", 1, on="n1", prefix="a", priority=1),
        pods("j", 1, prefix="b", priority=10),
        pods("j", 1, prefix="c", priority=5),
        tiers=("priority", "predicates nodeorder"),
    )
    assert ["evict a-0@n1", "pipeline b-0@n1"] == ops(recording)


@pytest.mark.parametrize(
    ("nodes", "percentage", "least", "most", "expected"),
    [(10, 10, 1, 100, 1), (10, 10, 5, 3, 3), (2, 10, 5, 100, 2), (1000, 10, 1, 100, 100), (10, 0, 0, 100, 0)],
)
def test_number_of_candidate_nodes_that_ends_a_dry_run(
    nodes: int, percentage: int, least: int, most: int, expected: int
) -> None:
    arguments: dict[object, object] = {
        "minCandidateNodesPercentage": percentage,
        "minCandidateNodesAbsolute": least,
        "maxCandidateNodesAbsolute": most,
    }
    assert expected == TopologyAwarePreemption(Arguments(arguments)).calculate_num_candidates(nodes)


def test_a_dry_run_picks_the_node_with_the_lowest_sum_of_priorities() -> None:
    extra = TOPOLOGY + "    minCandidateNodesAbsolute: 2\n"

    def two(name: str, on: str, *priorities: int) -> list[Any]:
        members = [pods(name, 1, prefix=f"{name}{p}", on=on, priority=p)[0] for p in priorities]
        return [pod_group(name, priority_class="low", min_member=0), *members]

    recording = preempt(
        node("n1", cpu="2"),
        node("n2", cpu="2"),
        two("a", "n1", 5, 2),
        two("b", "n2", 5, 1),
        high("h", 1, cpu="2"),
        extra=extra,
    )
    assert "pipeline h-0@n2" == ops(recording)[-1]


def test_a_dry_run_on_a_node_that_fits_without_victims_finds_no_candidate() -> None:
    recording = preempt(node("n1", cpu="3"), low("l", 1, "n1", min_member=0), high("h", 1), extra=TOPOLOGY)
    assert [] == ops(recording)


@pytest.mark.parametrize(
    ("wanted", "known", "expected"),
    [
        pytest.param(1, "", "n1", id="the first one ends the search"),
        pytest.param(1, "n3", "n3", id="a random start and workers side by side: any can be the first"),
        pytest.param(2, "n3", "n3", id="the one that is better came too late"),
        pytest.param(3, "n3", "n1", id="of all of them the best wins"),
        pytest.param(1, "n4", "n1", id="a node without candidates cannot have won"),
    ],
)
def test_a_dry_run_follows_the_node_that_a_scheduler_found_first(wanted: int, known: str, expected: str) -> None:
    """n2 and n3 would lose a pod of priority 5, n1 only one of priority 1."""
    nodes = [node("n1", cpu="1"), node("n2", cpu="1"), node("n3", cpu="1"), node("n4", cpu="0")]
    losers = [
        part
        for on, priority in (("n1", 1), ("n2", 5), ("n3", 5))
        for part in (
            pod_group(f"l{on}", priority_class="low", min_member=0),
            *pods(f"l{on}", 1, on=on, priority=priority),
        )
    ]
    conf = conf_of(*TIERS, actions="preempt") + TOPOLOGY + f"    minCandidateNodesAbsolute: {wanted}\n"
    snapshot = cluster(CLASSES, nodes, losers, *high("h", 1), conf=conf)
    snapshot.chance = ChanceSettings(choices={"default/h-0": known} if known else {})
    assert f"pipeline h-0@{expected}" == ops(replay_cycle(snapshot))[-1]


def test_dry_run_compares_the_earliest_start_of_victims_of_equal_priority() -> None:
    started = pods("l", 2, on="n1", priority=1)
    for manifest, start in zip(started, ("2026-10-31T12:00:00Z", "2026-10-31T11:00:00Z"), strict=True):
        manifest["status"]["startTime"] = start
    ssn = open_session(cluster(node("n1"), pod_group("l"), started), "gang")
    late, early = (task(ssn, name) for name in ("l-0", "l-1"))
    ranks = [rank_candidate(Candidate(ssn.nodes["n1"], victims)) for victims in ([late, early], [early, late])]
    assert ranks[0] == ranks[1]
    assert ranks[0] != rank_candidate(Candidate(ssn.nodes["n1"], [late, late]))


def test_without_candidate_nodes_preempt_evicts_no_pod() -> None:
    none = "    minCandidateNodesPercentage: 0\n    minCandidateNodesAbsolute: 0\n"
    recording = preempt(node("n1", cpu="1"), low("l", 1, "n1", min_member=0), high("h", 1), extra=TOPOLOGY + none)
    assert [] == ops(recording)


def test_preempt_evicts_from_a_node_at_its_pod_limit() -> None:
    recording = preempt(node("n1", cpu="9", pods="1"), low("l", 1, "n1", min_member=0), high("h", 1))
    assert ["evict l-0@n1", "pipeline h-0@n1"] == ops(recording)
