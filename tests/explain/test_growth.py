"""The cost of explaining all jobs grows with the cluster, not with its square."""

from collections import Counter
from collections.abc import Callable, Mapping
from cProfile import Profile
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.bench.growth import SHAPES, write
from tests.builders import cluster, conf_of, node, pod_group, pods
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot

OFTEN = 250
"""Calls from which a function counts: with fewer, a few jobs of another kind change the factor."""


def _calls_in(work: Callable[[], object]) -> Counter[CodeType]:
    """The Python function calls in the work, by function; each item of a generator counts."""
    profile = Profile(subcalls=False, builtins=False)
    profile.runcall(work)
    return Counter({entry.code: entry.callcount for entry in profile.getstats() if isinstance(entry.code, CodeType)})


# Of few PodGroups, drf lets a larger part preempt. Of few queues, each is compared with all running pods.
@pytest.mark.parametrize(
    ("shape", "size", "most"),
    [
        ("queues", 100, 2.2),
        ("PodGroups", 120, 2.6),
        ("tasks of one job", 100, 2.2),
        ("HyperNodes", 4, 2.2),
        ("pods per node", 20, 2.2),
    ],
)
def test_twice_the_count_takes_each_function_of_an_explanation_about_twice_the_calls(
    shape: str, size: int, most: float, tmp_path: Path
) -> None:
    calls = []
    for each in (size, 2 * size):
        recording = replay_cycle(load_snapshot(write(SHAPES[shape], each, tmp_path)))
        calls.append(_calls_in(partial(survey_jobs, recording)))
    small, large = calls
    assert large.total() < most * small.total()
    grown = {code.co_qualname: (small[code], large[code]) for code in large if large[code] > 3 * small[code]}
    assert {} == {name: (few, many) for name, (few, many) in grown.items() if few >= OFTEN}


def _crowded(nodes: int, jobs: int, **wish: Any) -> Snapshot:
    """Full nodes, half of them tainted, and Pending jobs with three different requests and the same wish."""
    taint = [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]
    full = [node(f"n{number}", cpu="2", taints=taint if number % 2 else []) for number in range(nodes)]
    running = [pods(f"r{number}", 1, cpu="2", on=f"n{number}") for number in range(nodes)]
    groups = [pod_group(f"r{number}", phase="Running") for number in range(nodes)]
    waiting = [
        (pod_group(f"w{number}"), pods(f"w{number}", 1, **{"cpu": f"{number % 3 + 1}", **wish}))
        for number in range(jobs)
    ]
    return cluster(*full, *groups, *running, *(part for pair in waiting for part in pair))


_NEAR = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"volcano.sh/job-name": "r1"}}}
    ]
}


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"cpu": "99"},
        {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}},
        {"nodeSelector": {"zone": "a"}},
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
        {"affinity": {"podAffinity": _NEAR}},
    ],
    ids=["room", "size", "device", "label", "claim", "podAffinity"],
)
def test_a_further_job_costs_no_more_calls_in_a_cluster_with_twice_the_nodes(wish: Mapping[str, Any]) -> None:
    """Jobs of a few templates share what they ask of the nodes; each asked every node for itself."""
    costs = []
    for nodes in (100, 200):
        recordings = [replay_cycle(_crowded(nodes, jobs, **wish)) for jobs in (20, 40)]
        few, many = (_calls_in(partial(survey_jobs, recording)).total() for recording in recordings)
        costs.append(many - few)
    assert costs[1] < 1.3 * costs[0]


def test_a_further_job_that_is_not_admitted_costs_no_more_calls_for_twice_the_inqueue_jobs() -> None:
    costs = []
    for inqueue in (50, 100):
        groups = [pod_group(f"i{number}", min_resources={"cpu": "1"}) for number in range(inqueue)]
        sizes = []
        for jobs in (20, 40):
            waiting = [pod_group(f"w{n}", phase="Pending", min_resources={"cpu": "50"}) for n in range(jobs)]
            recording = replay_cycle(
                cluster(node("n1", cpu="60"), *groups, *waiting, conf=conf_of("overcommit gang", actions="enqueue"))
            )
            sizes.append(_calls_in(partial(survey_jobs, recording)).total())
        costs.append(sizes[1] - sizes[0])
    assert costs[1] < 1.6 * costs[0]


def _owned_by_sets(jobs: int, sets: int) -> Snapshot:
    """Pending jobs of ReplicaSets, and further ReplicaSets."""
    replicas = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": f"s{n}", "namespace": "default"}}
        for n in range(sets)
    ]
    waiting = [(pod_group(f"w{n}"), pods(f"w{n}", 1, cpu="9")) for n in range(jobs)]
    for number, (group, members) in enumerate(waiting):
        for manifest in (group, *members):
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"s{number}", "controller": True}
            manifest["metadata"]["ownerReferences"] = [owner]
    return cluster(node("n1", cpu="2"), *replicas, *(part for pair in waiting for part in pair))


def _mounting_claims(jobs: int, claims: int) -> Snapshot:
    """Pending jobs with a volume claim that binds to no volume, and further claims."""
    made = [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"c{n}", "namespace": "default"}}
        for n in range(claims)
    ]
    waiting = [
        (pod_group(f"w{n}"), pods(f"w{n}", 1, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": f"c{n}"}}]))
        for n in range(jobs)
    ]
    return cluster(node("n1", cpu="2"), *made, *(part for pair in waiting for part in pair))


@pytest.mark.parametrize("made", [_owned_by_sets, _mounting_claims])
def test_a_further_job_costs_no_more_calls_for_twice_the_objects_that_others_own(
    made: Callable[[int, int], Snapshot],
) -> None:
    """An owner or a claim of a job was looked for among all objects of its kind."""
    costs = []
    for objects in (100, 200):
        recordings = [replay_cycle(made(jobs, objects)) for jobs in (20, 40)]
        few, many = (_calls_in(partial(survey_jobs, recording)).total() for recording in recordings)
        costs.append(many - few)
    assert costs[1] < 1.1 * costs[0]
