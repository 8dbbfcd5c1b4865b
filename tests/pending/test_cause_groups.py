"""The common text of all jobs with the same cause."""

from typing import Any

import pytest

from tests.builders import amounts, cluster, conf_of, node, pod, pod_group, pods
from vcdebug.debugger.driver import Driver
from vcdebug.explain.pending.survey import group_by_cause, merge_texts, survey_jobs
from vcdebug.recording.replay import replay_cycle
from vcdebug.views.pending import waiting_table


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (["it has no PodGroup"], "it has no PodGroup"),
        (["1 pod has a gate", "7 pods have a gate", "3 pods have a gate"], "1 to 7 pods have a gate"),
        (["0 of 1 (12 ready);", "0 of 6 (1 ready);"], "0 of 1 to 6 (1 to 12 ready);"),
        (["reclaim evicts a/b", "reclaim evicts c/d"], "reclaim evicts a/b (1 similar)"),
        (["queue a is full", "queue b is full", "node n1 of b is full today"], "queue a is full (2 similar)"),
        (["node-1 is full", "node-2 is full"], "node-1 is full (1 similar)"),
        (["Free 2 cpu on n1.", "Free 2 cpu on n2."], "Free 2 cpu on n1 (1 similar)"),
    ],
)
def test_texts_that_differ_in_more_than_numbers_are_represented_by_the_first(texts: list[str], merged: str) -> None:
    assert merged == merge_texts(texts)


def test_jobs_of_one_cause_with_different_reasons_are_different_groups() -> None:
    """The first job spoke for all: a thousand jobs looked as if a node selector kept each of them."""
    taint = {"key": "gpu", "value": "a", "effect": "NoSchedule"}
    nodes = [node("n1", cpu="8"), node("n2", cpu="8", taints=[taint])]
    kinds: dict[str, dict[str, Any]] = {
        "large": {},
        "picky": {"nodeSelector": {"zone": "a"}},
        "tolerant": {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
    }
    jobs = [
        (pod_group(f"{kind}-{number}"), pods(f"{kind}-{number}", 1, cpu=f"{number + 1}", **wish))
        for kind, wish in kinds.items()
        for number in range(1, 6 if kind == "large" else 5)
    ]
    filler = (
        pod_group("full", phase="Running"),
        pods("full", 1, cpu="8", on="n1"),
        pods("full", 1, cpu="8", prefix="more", on="n2"),
    )
    snapshot = cluster(*nodes, *filler, *(part for job in jobs for part in job), conf=conf_of("predicates"))
    recording = replay_cycle(snapshot)
    groups = group_by_cause(survey_jobs(recording))
    by_kind = [{job.explanation.job.partition("-")[0] for job in group.jobs} for group in groups]
    assert all(len(kind) == 1 for kind in by_kind), [group.text for group in groups]
    assert sum(len(group.jobs) for group in groups) == len(jobs)
    here = Driver(recording).goto_event(1)
    for row, group in zip(waiting_table(here).rows, groups, strict=True):
        listed = waiting_table(here, row.key.removeprefix("pending "))
        assert [f"explain {job.explanation.job}" for job in group.jobs] == [each.key for each in listed.rows]


def test_names_of_jobs_and_their_pods_are_no_difference() -> None:
    names = ("a", "has", "train", "node", "cpu", "fit", "of", "room", "any", "job-1", "job-2", "job-3")
    jobs = [(pod_group(name), pod(f"{name}-main", name, requests=amounts("9", "1G"))) for name in names]
    groups = group_by_cause(
        survey_jobs(replay_cycle(cluster(node("n1", cpu="2"), *(one for job in jobs for one in job))))
    )
    assert [len(names)] == [len(group.jobs) for group in groups]


def test_rare_reasons_of_one_cause_are_one_group_and_plurals_are_no_difference() -> None:
    gates = [*("north", "south", "east", "west"), *("common",) * 3]
    jobs = [(f"job-{number}", number % 3 + 1, gate) for number, gate in enumerate(gates)]
    groups = [pod_group(name, min_member=count) for name, count, _ in jobs]
    gated = [pods(name, count, schedulingGates=[{"name": f"x/{gate}"}]) for name, count, gate in jobs]
    found = group_by_cause(survey_jobs(replay_cycle(cluster(node("n1"), *groups, *gated, conf=conf_of("gang")))))
    assert [("scheduling-gate", 3, 1), ("scheduling-gate", 4, 2)] == [
        (group.cause, len(group.jobs), group.kind) for group in found
    ]
