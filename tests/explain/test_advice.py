"""The advice fits the situation: nothing is recommended that could not help."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.builders import cluster, node, queue
from tests.explain.situations import (
    CLASSES,
    FULL,
    GUARDED,
    OVERCOMMIT,
    PLAIN,
    PREEMPT,
    RECLAIM,
    TAINT,
    WANTED,
    conf,
    nodes,
    running,
    wanted,
)
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending import explain
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.trace.replay import replay

GPU = "nvidia.com/gpu"


def asked(objects: Sequence[Manifest], actions: str = PLAIN, **more: Any) -> Explanation:
    return explain(replay(cluster([*CLASSES, *objects], conf=conf(actions, **more))), WANTED)


def test_a_queue_that_may_have_the_whole_cluster_gains_nothing_by_weight() -> None:
    advice = asked([*FULL, *wanted()]).advice
    assert "queue default may already have the whole cluster (16 cpu): wait until its jobs end, or add nodes" in advice
    assert not any("spec.weight" in line for line in advice)


def test_a_queue_that_is_not_open_must_be_opened() -> None:
    closed = [queue("default", state="Closed")]
    found = asked([*nodes("n1"), *closed, *wanted(cpu="1")])
    assert "queue-not-allocatable" == found.cause
    assert found.advice[0] == "open the queue: vcctl queue operate -a open -n default"


def test_no_factor_helps_where_no_node_has_any() -> None:
    waiting = wanted(phase="Pending", min_resources={GPU: "1"})
    found = asked([*nodes("n1"), *waiting], second=OVERCOMMIT)
    assert (f"no node has any {GPU}: add one that has, or ask for none in spec.minResources",) == found.advice


def test_a_resource_that_no_node_has_is_said_plainly() -> None:
    found = asked([*nodes("n1", "n2"), *wanted(requests={"cpu": "1", GPU: "1"})])
    assert "larger-than-any-node" == found.cause
    assert f"wanted-0 asks 1 {GPU}, and no node has any: no eviction can help." == found.sentence
    assert "split" not in " ".join(found.advice)


def test_everything_that_is_short_on_the_nearest_node_is_named() -> None:
    small = node("n1", cpu="8", memory="8Gi")
    found = asked([small, *running("a", "n1", 1, cpu="6", memory="6Gi"), *wanted(cpu="4", memory="4Gi")])
    assert "nearest is n1 with 2 cpu and 2Gi memory free, 2 cpu and 2Gi memory too few." in found.sentence
    assert "free 2 cpu and 2Gi memory on n1, or add a node that fits" in found.advice


def test_without_a_plugin_that_knows_starving_the_configuration_is_to_blame() -> None:
    found = asked([*FULL, *wanted()], PREEMPT, first="conformance")
    assert "not-starving" == found.cause
    assert () == found.dominant.lines
    assert "enable gang or priority (enableJobStarving) in a tier of the configuration" == found.advice[0]


def test_the_weight_is_one_among_the_queues_that_have_jobs() -> None:
    queues = [queue("rich", weight=7), queue("poor", weight=1), queue("idle", weight=50)]
    full = [*nodes("n1"), *running("a", "n1", queue="rich")]
    found = asked([*queues, *full, *wanted(queue="poor")], RECLAIM)
    assert "preemptive" == found.cause
    assert "(weight 1 of 8)" in found.sentence


@pytest.mark.parametrize(("actions", "switch"), [(PREEMPT, "enablePreemptable"), (RECLAIM, "enableReclaimable")])
def test_the_switch_is_that_of_the_action(actions: str, switch: str) -> None:
    owner = "default" if actions == PREEMPT else "other"
    queues = [queue("other"), queue("default", weight=3)]
    full = [*nodes("n1"), *running("a", "n1", min_member=2, queue=owner)]
    found = asked([*queues, *full, *wanted()], actions, first="gang", second="predicates nodeorder")
    assert "gang" == found.cause
    assert f"or set {switch} of gang to false, and accept broken gangs" in found.advice


def test_only_jobs_in_the_same_plight_are_likened() -> None:
    free = [*nodes("n3"), *running("c", "n3", min_member=1)]
    found = asked([*GUARDED, *free, *wanted(cpu="8")], PREEMPT)
    assert "gang" == found.cause
    assert "default/a has 2 ready of minMember 2, one less would break the gang (likewise default/b)" in found.sentence


def test_the_taint_to_tolerate_is_named() -> None:
    found = asked([*nodes("n1", taints=TAINT), *wanted()])
    assert ("add a toleration to the pod for maintenance:NoSchedule, or remove the taint",) == found.advice
