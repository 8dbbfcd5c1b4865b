"""Answers about pods that name a PodGroup or a queue which is not the one that counts for them."""

from __future__ import annotations

import pytest

from tests.builders import cluster, node, pod_group, pods, queue
from tests.pending.test_workloads import ENQUEUE, explained, owned


@pytest.mark.parametrize(
    ("made", "owner", "told"),
    [
        ("podgroup-web", "web", "Volcano's controller makes one for each ReplicaSet"),
        ("web-pg", "web", "The controller of ReplicaSet web made it"),
        ("podgroup-other", "other", ""),
    ],
)
def test_a_pod_group_without_pods_whose_owner_has_its_pods_in_another_one_says_where_they_are(
    made: str, owner: str, told: str
) -> None:
    mine = [pod_group("mine", phase="Running"), *owned(pods("mine", 1, on="n1", prefix="web"), "ReplicaSet", "web")]
    empty = owned([pod_group(made, min_resources={"cpu": "2"})], "ReplicaSet", owner)
    waits = pod_group("j", phase="Pending", min_resources={"cpu": "60"})
    found = explained(cluster(node("n1"), mine, empty, waits, conf=ENQUEUE), f"default/{made}")
    if told:
        assert f"PodGroup default/{made} has no pods: web-0 names mine." == found.sentence
        assert found.dominant.facts[0].startswith(told)
        assert "It is Inqueue and reserves 2 cpu of queue default." == found.dominant.facts[1]
        step = "Delete PodGroup podgroup-web: " if made.startswith("podgroup-") else "Create web-0 with PodGroup web-pg"
        assert found.advice_texts[0].startswith(step)
    else:
        assert "names mine" not in found.full_text


@pytest.mark.parametrize(
    ("group", "kind", "named", "queue_words"),
    [
        (
            "qwen",
            "ModelServing",
            ["test", "test"],
            "annotation scheduling.volcano.sh/queue-name (kthena v1.0 or later)",
        ),
        ("etl", "SparkApplication", ["test", "test"], "spec.batchSchedulerOptions.queue"),
        ("flow", "Workflow", ["test", "test"], "the queue"),
        ("podgroup-x", "ReplicaSet", ["test", "test"], ""),
        ("qwen", "ModelServing", ["test", "default"], None),
        ("qwen", "ModelServing", ["default", "default"], None),
        ("qwen", "ModelServing", ["unknown", "unknown"], None),
    ],
)
def test_a_queue_that_only_the_pods_name_is_put_on_their_pod_group(
    group: str, kind: str, named: list[str], queue_words: str | None
) -> None:
    mine = owned([pod_group(group, min_member=2), *pods(group, 2, cpu="4")], kind, "hello")
    for each, queue_name in zip(mine[1:], named, strict=True):
        each["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = queue_name
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="8", on="n1")]
    found = explained(cluster(node("n1"), queue("default"), queue("test"), full, mine), f"default/{group}")
    told = "Its pods name queue test (scheduling.volcano.sh/queue-name), but only that of PodGroup "
    told += f"{group} counts: default."
    assert (queue_words is not None) is (told in found.dominant.facts)
    lasting = f", and {queue_words} in {kind} hello, from which it is made" if queue_words else ""
    advice = f"Set spec.queue of PodGroup {group} to test{lasting}."
    assert (queue_words is not None) is (advice in [line.text for line in found.advised if line.repairs])
