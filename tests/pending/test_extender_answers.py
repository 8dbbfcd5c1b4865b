"""A placement that an extender could reject: its answer is not in the snapshot."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, queue
from tests.pending.test_said_against import refused
from tests.pending.test_scheduler_down import seen_node
from tests.pending.test_workloads import explained
from vcdebug.explain.answer import Explanation
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest


def extended(
    *made: Manifest, release: str = "", recorded: dict[str, Any] | None = None, **arguments: str
) -> Explanation:
    """The answer about job j where an extender with these arguments is configured."""
    lines = [f"extender.{key}: {text}" for key, text in {"urlPrefix": "http://hook", **arguments}.items()]
    conf = conf_of(
        "gang",
        "predicates extender",
        actions="enqueue, allocate",
        arguments={"extender": {"arguments": f"{{{', '.join(lines)}}}"}},
    )
    group = pod_group("j", phase="Pending", min_resources={"cpu": "1"})
    snapshot = cluster(seen_node(), queue("default"), group, made or pods("j", 1), conf=conf)
    snapshot.extender = recorded or {}
    return explained(snapshot_at_release(snapshot, release) if release else snapshot)


MAY_REJECT = "but the extender may reject it"


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ({"predicateVerb": "filter"}, "`filter` about default/j-0"),
        ({"allocateFuncVerb": "take"}, "`take` about default/j-0"),
        ({"jobEnqueueableVerb": "admit"}, "`admit` about default/j"),
        ({"queueOverusedVerb": "full"}, "`full` about default"),
    ],
)
def test_a_placement_that_an_extender_could_reject_names_the_missing_answer(
    arguments: dict[str, Any], asked: str
) -> None:
    found = extended(**arguments)
    assert found.scheduled
    assert MAY_REJECT in found.sentence
    assert (
        f"The extender at http://hook is asked {asked}; its answer is not in the snapshot." in found.dominant.facts[0]
    )
    assert "extender.managedResources is not set, so it judges every pod." in found.dominant.facts[0]
    assert any("Set extender.managedResources" in words for words in found.advice_texts)


def test_an_extender_that_cannot_reject_the_job_or_whose_answer_is_known_changes_no_answer() -> None:
    found = extended(prioritizeVerb="score", preemptableVerb="victims", jobReadyVerb="ready")
    assert MAY_REJECT not in found.sentence
    assert MAY_REJECT not in extended(predicateVerb="filter", recorded={"filter": {"*": {}}}).sentence
    assert MAY_REJECT not in extended(predicateVerb="filter", managedResources="[example.com/xpu]").sentence


@pytest.mark.parametrize(("ignorable", "hosts"), [("false", 2), ("true", 2), ("false", 1)])
def test_scores_whose_call_could_fail_are_named_where_a_failure_leaves_the_pod_without_a_node(
    ignorable: str, hosts: int
) -> None:
    """A single node is taken without scores."""
    more = [node(f"n{number}") for number in range(2, hosts + 1)]
    found = extended(*more, *pods("j", 1), prioritizeVerb="score", ignorable=ignorable)
    told = "While that call fails, the pod gets no node (extender.ignorable: false)."
    may_fail = ignorable == "false" and hosts > 1
    assert may_fail is (MAY_REJECT in found.sentence) is (told in " ".join(found.dominant.facts))


def test_a_pod_that_asks_for_an_extended_resource_may_be_the_extenders_own() -> None:
    asks = pod("j-0", "j", requests={"cpu": "1", "nvidia.com/gpu": "1"})
    found = extended(node("n2", gpu="1"), asks, predicateVerb="filter")
    assert MAY_REJECT in found.sentence
    assert "managedResources" not in " ".join((*found.dominant.facts, *found.advice_texts))
    assert any("--extender-url" in words for words in found.advice_texts)


def test_a_release_without_managed_resources_is_not_advised_to_set_them() -> None:
    found = extended(predicateVerb="filter", release="v1.12.2")
    assert MAY_REJECT in found.sentence
    assert any("(v1.13.0 reads that)" in words for words in found.advice_texts)


def test_a_long_refusal_is_explained_by_the_extender_that_was_not_asked() -> None:
    found = extended(refused("2026-10-31T20:55:00Z", "1 no licence left."), predicateVerb="filter")
    assert "but has been refused for 3h" in found.sentence
    assert 'The running scheduler\'s last words about j-0: "1 no licence left".' == found.dominant.facts[0]
    assert found.dominant.facts[1].startswith("The extender at http://hook is asked `filter` about default/j-0; ")
    assert "Either room" not in " ".join(found.dominant.facts)
