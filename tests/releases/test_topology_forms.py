"""Effects of older forms of network topology, on clusters made for them."""

import pytest

from tests.builders import cluster, hyper_node, open_session, pod, pod_group, pods
from tests.releases.shown_topology import (
    HELD,
    TOPOLOGY,
    gang_behind_a_large_task,
    hard_job,
    hard_job_without_racks,
    job_that_says_where_it_is,
    racks,
    with_topology,
)
from vcdebug.comparison.logs.log_writer import log_lines
from vcdebug.framework.hooks import HYPER_NODE_ORDER
from vcdebug.framework.record import CloseEvent, HookEvent, ScoreEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot

OLD = "v1.13.3"
V12 = "+nta-soft-only,+nta-hypernode-score"


def old(snapshot: Snapshot) -> Recording:
    return replay_cycle(snapshot_at_release(snapshot, OLD))


def nodes_of(recording: Recording, job: str) -> dict[str, str]:
    close = recording.events[-1]
    assert isinstance(close, CloseEvent)
    return {name.partition("/")[2]: task.node for name, task in close.jobs[f"default/{job}"].tasks.items()}


def test_a_job_whose_gang_failed_is_visited_again() -> None:
    visits = [event for event in old(gang_behind_a_large_task()).events if getattr(event, "kind", "") == "job"]
    assert 2 == len(visits)


def test_a_hard_job_stays_in_one_rack() -> None:
    recording = old(hard_job())
    assert ["a"] == sorted({node[0] for node in nodes_of(recording, "j").values()})
    assert recording.session.jobs["default/j"].allocated_hyper_node == "a"


def test_hypernode_annotation_decides_where_further_pods_are_placed() -> None:
    assert ["b"] == sorted({node[0] for node in nodes_of(old(job_that_says_where_it_is()), "j").values()})


def test_a_job_whose_hypernode_is_gone_is_never_placed() -> None:
    group = with_topology("hard")
    group["metadata"]["annotations"] = {HELD: "gone"}
    assert {"j-0": "", "j-1": ""} == nodes_of(old(cluster(racks(), group, pods("j", 2), conf=TOPOLOGY)), "j")


def test_nodes_outside_all_hypernodes_serve_no_hard_job() -> None:
    full = dict.fromkeys(("a1", "a2", "b1", "b2"), "1")
    objects = cluster(racks(**full), with_topology("hard", 9), pods("j", 2, cpu="2"), conf=TOPOLOGY)
    assert {"j-0": "", "j-1": ""} == nodes_of(old(objects), "j")


def test_without_hypernodes_a_hard_job_ends_the_turn_of_its_queue() -> None:
    recording = old(hard_job_without_racks())
    assert {"k-0": ""} == nodes_of(recording, "k")
    assert not [event for event in recording.events if isinstance(event, HookEvent) and event.point == "PrePredicate"]


def test_nodes_near_a_soft_jobs_hypernode_score_a_hundred() -> None:
    group = with_topology("soft", None)
    group["metadata"]["annotations"] = {HELD: "b"}
    recording = old(cluster(racks(), group, pods("j", 2), conf=TOPOLOGY))
    parts = [dict(event.parts) for event in recording.events if isinstance(event, ScoreEvent)]
    assert [0.0, 0.0, 100.0, 100.0, 0.0] == list(parts[0]["network-topology-aware/batch"])


def test_nodes_equally_near_score_by_the_part_of_the_job_that_is_there() -> None:
    group = with_topology("soft", None)
    group["metadata"]["annotations"] = {HELD: "b"}
    running = pods("j", 1, prefix="there", on="b1")
    recording = old(cluster(racks(), group, pods("j", 1), running, conf=TOPOLOGY))
    parts = [dict(event.parts) for event in recording.events if isinstance(event, ScoreEvent)]
    assert [0.0, 0.0, 150.0, 150.0, 0.0] == list(parts[0]["network-topology-aware/batch"])


@pytest.mark.parametrize(("switches", "rack"), [("", "b"), (",+nta-soft-only", "a"), (f",{V12}", "b")])
def test_a_hard_job_grows_where_it_is(switches: str, rack: str) -> None:
    """The cases: scores of nodes, no score, the HyperNode's score."""
    group = with_topology("hard", 2)
    group["metadata"]["annotations"] = {HELD: "b"}
    above = hyper_node("top", 2, children=["a", "b"])
    grows = cluster(racks(), above, group, pods("j", 2), conf=TOPOLOGY)
    recording = replay_cycle(snapshot_at_release(grows, OLD + switches))
    assert {rack} == {node[0] for node in nodes_of(recording, "j").values()}


@pytest.mark.parametrize(("holder", "shares"), [("b", {"a": 0.0, "b": 100.0}), ("top", {"a": 0.0, "b": 50.0})])
def test_only_hypernodes_that_tie_for_the_best_gain_by_their_tasks(holder: str, shares: dict[str, float]) -> None:
    """Up to v1.12; one of the job's two tasks runs in b."""
    group = with_topology("hard", 2)
    group["metadata"]["annotations"] = {HELD: holder}
    above = hyper_node("top", 2, children=["a", "b"])
    spread = cluster(racks(), above, group, pods("j", 1), pod("k-0", "j", on="b1"), conf=TOPOLOGY)
    ssn = open_session(snapshot_at_release(spread, f"{OLD},{V12}"))
    job = ssn.jobs["default/j"]
    offered = {name: list(ssn.hyper_nodes.real_nodes[name]) for name in ("a", "b")}
    assert shares == ssn.ask_plugins(HYPER_NODE_ORDER, job.sub_jobs[job.uid], offered)["network-topology-aware"]


def test_sub_groups_are_not_read() -> None:
    policy = {"name": "p", "subGroupSize": 9, "minSubGroups": 3, "matchLabelKeys": ["app"]}
    group = pod_group("j", min_member=1, subGroupPolicy=[policy])
    assert "" not in nodes_of(old(cluster(racks(), group, pods("j", 2), conf=TOPOLOGY)), "j").values()


def test_log_has_the_tier_lines() -> None:
    said = [line.text for line in log_lines(old(hard_job()), 4) if line.message_key.startswith("allocate.tier-")]
    job, tries = 'jobName="default/j"', "Try to allocate resource for job in hyperNode"
    assert [
        f'"{tries}" {job} hyperNodeName="a" tier=1',
        f'"{tries}" {job} hyperNodeName="b" tier=1',
        f'"Find available hyperNodes for job" {job} tier=1 hyperNodes=["a","b"]',
        f'"Allocate job to hyperNode" {job} hyperNode="a"',
    ] == said
