"""The first two lines of an answer: who is evicted for it, who holds what lacks, and which rule decided."""

import re
from typing import Any

from tests.builders import node, pod, pod_group, pods, queue
from tests.pending.situations import OVERCOMMIT, PLAIN, nodes, running, wanted
from tests.pending.test_words import CAPACITY, asked
from vcdebug.snapshot.snapshot import Manifest


def test_the_first_line_names_the_victims_and_the_evidence_the_final_placement() -> None:
    found = asked([*nodes("n1"), *running("a", "n1"), *wanted()], "enqueue, allocate, preempt")
    assert re.search(r": preempt evicts default/a-\d for wanted-0 on n1 \(pipelined\)\.$", found.sentence)
    assert any(
        re.fullmatch(r"The pod is bound after default/a-\d has terminated\.", one) for one in found.dominant.facts
    )
    placements = [text for _, text in found.dominant_evidence if text.startswith("pipeline ")]
    assert ["pipeline default/wanted-0 on n1"] == placements


def test_room_that_is_spread_over_nodes_is_listed_with_the_user_of_the_nearest_node() -> None:
    small = [node("n1", cpu="5"), node("n2", cpu="6"), *running("a", "n2", 1, cpu="4")]
    found = asked([*small, *wanted(cpu="6", phase="Pending", min_resources={"cpu": "6"})], PLAIN, second=OVERCOMMIT)
    told = "7 cpu is free in total, but spread over 2 nodes (n1 5, n2 2); enqueue compares minResources with sums only."
    assert told in found.dominant.facts[0]
    assert "In use on n2 (cpu): default/a-0 4." in found.dominant.facts


def test_inqueue_jobs_that_no_node_can_hold_are_named_with_their_figures() -> None:
    large = wanted_as("large", cpu="9", phase="Inqueue", min_resources={"cpu": "9"})
    limited = [queue("default", capability={"cpu": "10"})]
    found = asked([*nodes("n1"), *limited, *large, *wanted(phase="Pending", min_resources={"cpu": "4"})], PLAIN)
    assert "enqueue-held-by-inqueue" == found.cause_code
    told = "default/large cannot be placed: default/large-0 asks 9 cpu, and no node has more than 8."
    assert told == found.dominant.facts[0]


def wanted_as(name: str, **more: Any) -> list[Manifest]:
    """The same kind of job under another name."""
    group = {key: more.pop(key) for key in ("phase", "min_resources")}
    return [pod_group(name, **group), *pods(name, 1, **more)]


def test_the_queue_that_reclaim_would_take_from_is_named_with_its_figures() -> None:
    queues = [queue("mine", deserved={"cpu": "6"}), queue("theirs", deserved={"cpu": "2"})]
    full = [*nodes("n1"), *running("a", "n1", queue="theirs")]
    found = asked([*queues, *full, *wanted(queue="mine")], PLAIN, **CAPACITY)
    assert "action-not-configured" == found.cause_code
    assert found.dominant.facts[0].endswith("(queue theirs uses 8 cpu and deserves 2).")


def test_a_deadlock_names_the_pods_that_fill_the_queue() -> None:
    limited = [queue("default", capability={"cpu": "8"})]
    other = [pod_group("other"), *pods("other", 1, cpu="4", on="n1"), pod("other-9", "other", requests={"cpu": "4"})]
    mine = [pod_group("wanted"), *pods("wanted", 1, cpu="4", on="n2"), pod("wanted-9", "wanted", requests={"cpu": "4"})]
    found = asked([*nodes("n1", "n2"), *limited, *other, *mine])
    both = "Possible deadlock: default/other and this job have running pods, and both have Pending pods."
    holders = "In use in queue default (cpu): default/other-0 4, default/wanted-0 4 (this job)."
    assert f"{both} {holders}" == found.dominant.facts[0]


def test_a_gang_without_room_says_how_much_each_role_found() -> None:
    names = [(role, number) for role in ("a", "b") for number in (0, 1)]
    roles = [pod(f"wanted-{role}-{number}", "wanted", role=role, requests={"cpu": "4"}) for role, number in names]
    found = asked([*nodes("n1"), pod_group("wanted", min_member=4), *roles])
    assert found.sentence.endswith("found room for 2 of the 4 pods it needs at once (a 1 of 2, b 1 of 2).")
