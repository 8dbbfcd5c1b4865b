"""The HyperNode of a job with placed tasks when a session opens."""

from __future__ import annotations

from collections.abc import Mapping

from tests.builders import cluster, conf_of, hyper_node, node, open_session, pod, pod_group
from vcdebug.model.job import JobInfo
from vcdebug.snapshot.cycle_inputs import SchedulerProcess

HARD = {"mode": "hard", "highestTierAllowed": 1}
BY_GROUP = [{"name": "g", "subGroupSize": 1, "matchLabelKeys": ["group"], "networkTopology": HARD}]
TREE = [
    hyper_node("s0", 1, nodes=["n0", "n1"]),
    hyper_node("s1", 1, nodes=["n2", "n3", "gone"]),
    hyper_node("top", 2, children=["s0", "s1"]),
]


def job_with(placed: Mapping[str, str], **kept: str) -> JobInfo:
    """A job with one task per group on the given node ("" for none); `kept` are cached HyperNodes by group."""
    pods = []
    for label, on in placed.items():
        pods.append(pod(f"p{label}", "j", on=on))
        pods[-1]["metadata"]["labels"] = {"group": label}
    group = pod_group("j", networkTopology=HARD, subGroupPolicy=BY_GROUP)
    nodes = [node(name) for name in ("n0", "n1", "n2", "n3")]
    snapshot = cluster(nodes, TREE, group, pods, conf=conf_of("gang"))
    names = {f"default/j/g-{label}" if label != "job" else "": name for label, name in kept.items()}
    snapshot.process = SchedulerProcess(hyper_nodes={"default/j": names})
    return open_session(snapshot).jobs["default/j"]


def test_sub_jobs_without_a_placed_task_do_not_hide_where_the_others_are() -> None:
    assert "s1" == job_with({"a": "", "b": "", "c": "n3", "d": ""}).allocated_hyper_node


def test_a_job_placed_in_two_hypernodes_belongs_to_the_one_above_both() -> None:
    assert "top" == job_with({"a": "", "b": "n0", "c": "", "d": "n2"}).allocated_hyper_node


def test_a_task_on_a_node_that_the_cluster_lost_belongs_to_no_hypernode() -> None:
    assert "" == job_with({"a": "gone"}).allocated_hyper_node


def test_cached_hypernode_takes_precedence_over_task_nodes() -> None:
    job = job_with({"a": "n0", "b": ""}, job="top", a="top")
    assert ("top", "top") == (job.allocated_hyper_node, job.sub_jobs["default/j/g-a"].allocated_hyper_node)


def test_cached_hypernode_is_dropped_without_tasks_or_object() -> None:
    job = job_with({"a": "", "b": "n2"}, job="lost", a="s0", b="s1")
    kept = {uid: sub_job.allocated_hyper_node for uid, sub_job in job.sub_jobs.items()}
    assert ("s1", {"default/j/g-a": "", "default/j/g-b": "s1"}) == (job.allocated_hyper_node, kept)
