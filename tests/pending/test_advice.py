"""The advice fits the situation: no advice that could not help."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.builders import cluster, node, queue
from tests.pending.situations import (
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
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest

READY = {"type": "Ready", "status": "True"}
GPU = "nvidia.com/gpu"


def asked(objects: Sequence[Manifest], actions: str = PLAIN, **more: Any) -> Explanation:
    return explain_by_name(replay_cycle(cluster([*CLASSES, *objects], conf=conf(actions, **more))), WANTED)


def test_a_queue_that_may_have_the_whole_cluster_gains_nothing_by_weight() -> None:
    advice = asked([*FULL, *wanted()]).advice_texts
    assert "Free 4 cpu on n1." in advice
    assert not any("Add a node" in line for line in advice)
    assert not any("spec.weight" in line for line in advice)


def test_a_queue_that_is_not_open_must_be_opened() -> None:
    closed = [queue("default", state="Closed")]
    found = asked([*nodes("n1"), *closed, *wanted(cpu="1")])
    assert "queue-not-allocatable" == found.cause_code
    assert "Open queue default: vcctl queue operate -a open -n default" in found.advice_texts


def test_advice_raises_no_factor_for_a_resource_without_nodes() -> None:
    waiting = wanted(phase="Pending", min_resources={GPU: "1"})
    found = asked([*nodes("n1"), *waiting], second=OVERCOMMIT)
    assert (
        f"Remove {GPU} from spec.minResources; no node provides it.",
        f"Add a node that provides {GPU}.",
    ) == found.advice_texts


def test_a_resource_that_no_node_has_is_said_plainly() -> None:
    found = asked([*nodes("n1", "n2"), *wanted(requests={"cpu": "1", GPU: "1"})])
    assert "larger-than-any-node" == found.cause_code
    assert f"wanted-0 asks 1 {GPU}, and no node in the snapshot provides it. Evictions cannot help." in found.full_text
    assert "split" not in " ".join(found.advice_texts)


def test_all_shortages_of_the_nearest_node_are_named() -> None:
    small = node("n1", cpu="8", memory="8Gi")
    found = asked([small, *running("a", "n1", 1, cpu="6", memory="6Gi"), *wanted(cpu="4", memory="4Gi")])
    assert "it asks 4 cpu; n1 has 2 free (2 short; also short: 2Gi memory)." in found.full_text
    assert "Free 2 cpu and 2Gi memory on n1." in found.advice_texts


def test_without_a_plugin_that_knows_starving_the_configuration_is_to_blame() -> None:
    found = asked([*FULL, *wanted()], PREEMPT, first="conformance")
    assert "not-starving" == found.cause_code
    assert () == found.dominant.lines
    assert "Enable gang or priority (enableJobStarving) in the scheduler configuration." in found.advice_texts


def test_the_weight_is_one_among_the_queues_that_have_jobs() -> None:
    queues = [queue("rich", weight=7), queue("poor", weight=1), queue("idle", weight=50)]
    full = [*nodes("n1"), *running("a", "n1", queue="rich")]
    found = asked([*queues, *full, *wanted(queue="poor")], RECLAIM)
    assert "preemptive" == found.cause_code
    assert "by weight 1 of 8" in found.full_text


@pytest.mark.parametrize(("actions", "switch"), [(PREEMPT, "enablePreemptable"), (RECLAIM, "enableReclaimable")])
def test_the_switch_is_that_of_the_action(actions: str, switch: str) -> None:
    owner = "default" if actions == PREEMPT else "other"
    queues = [queue("other"), queue("default", weight=3)]
    full = [*nodes("n1"), *running("a", "n1", min_member=2, queue=owner)]
    found = asked([*queues, *full, *wanted()], actions, first="gang", second="predicates nodeorder")
    assert "gang" == found.cause_code
    assert f"Disable gang's veto ({switch}: false); running gangs can then drop below minMember." in found.advice_texts


def test_gang_lists_only_jobs_with_the_same_shortage_as_similar() -> None:
    free = [*nodes("n3"), *running("c", "n3", min_member=1)]
    found = asked([*GUARDED, *free, *wanted(cpu="8")], PREEMPT)
    assert "gang" == found.cause_code
    assert (
        "Evicting one pod would leave default/a below minMember 2 (2 ready); the same is true of default/b."
        in found.full_text
    )


def test_advice_against_taints_comes_after_other_advice() -> None:
    found = asked([*nodes("n1", taints=TAINT), *wanted()])
    assert (
        "Add a node with 4 cpu, 954Mi memory free.",
        "Remove taint maintenance:NoSchedule when it is no longer needed.",
        "Add a toleration for maintenance:NoSchedule, if the node's owner agrees.",
    ) == found.advice_texts
    assert [False, True, True] == [line.is_risky for line in found.advised]


@pytest.mark.parametrize(
    "unfit",
    [
        {"taints": [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]},
        {"taints": TAINT, "unschedulable": True},
        {"taints": TAINT, "conditions": [{"type": "Ready", "status": "Unknown"}]},
        {
            "taints": TAINT,
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "ReadonlyFilesystem", "status": "True"}],
        },
    ],
)
def test_no_advice_tolerates_the_taint_of_an_unhealthy_node(unfit: dict[str, Any]) -> None:
    conditions = unfit.pop("conditions", [])
    (one,) = nodes("n1", **unfit)
    one["status"]["conditions"] = conditions
    advice = asked([one, *wanted()]).advice_texts
    assert advice
    assert [] == [line for line in advice if "toleration" in line or "remove taint" in line]


def test_a_taint_that_drives_running_pods_away_is_not_tolerated() -> None:
    taint = [{"key": "drain", "value": "now", "effect": "NoExecute"}]
    advice = asked([*nodes("n1", taints=taint), *wanted()]).advice_texts
    assert [] == [line for line in advice if "toleration" in line]
    assert "Remove taint drain=now:NoExecute when it is no longer needed." == advice[-1]


LINE = "default/{}: {} ready, minMember {}, {} to spare"


@pytest.mark.parametrize(
    ("minimums", "sentence"),
    [
        ({"a": 2}, "Evicting one pod would leave default/a below minMember 2 (2 ready)."),
        ({"a": 1}, "default/a can lose 1 pod before it falls below minMember 1 (2 ready)."),
        ({"a": 1, "b": 2}, "Evicting one pod would leave default/b below minMember 2 (2 ready)."),
        (
            {"a": 2, "b": 2},
            "Evicting one pod would leave default/a below minMember 2 (2 ready); the same is true of default/b.",
        ),
        (
            {"a": 1, "b": 1},
            "default/a can lose 1 pod before it falls below minMember 1 (2 ready); the same is true of default/b.",
        ),
        (
            {"a": 2, "b": 1, "c": 2, "d": 2},
            (
                "Evicting one pod would leave default/a below minMember 2 (2 ready); the same is true of default/c, "
                "default/d."
            ),
        ),
    ],
)
def test_gang_names_the_spare_pods_of_the_tightest_job_and_similar_jobs(
    minimums: dict[str, int], sentence: str
) -> None:
    taken = [each for name in minimums for each in running(name, "n1", 2, min_member=minimums[name], cpu="4")]
    size = str(8 * len(minimums))
    found = asked([node("n1", cpu=size), *taken, *wanted(cpu=size)], PREEMPT)
    assert "gang" == found.cause_code
    assert sentence == found.dominant.facts[0]
    lines = [LINE.format(name, 2, least, 2 - least) for name, least in minimums.items()]
    assert lines == [line for line in found.dominant.lines if "to spare" in line]
