"""Which pods a gang keeps depends on Go map order: verify also searches for rare orders."""

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod_group, pods, queue
from vcdebug.conformance.cycle_outcome import predicted_outcome
from vcdebug.conformance.nearest_replay import follow_scheduler, have_different_victims
from vcdebug.conformance.verdicts import BOUND, EVICTED, NOTHING_DONE, OutcomeDifference
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.snapshot import Snapshot

MEMBERS = 9
KEEPS_THE_LAST = 24
"""The first seed under which the gang keeps a-8, so that a-7 and a-6 go."""


def reclaimed() -> Snapshot:
    """A gang with minMember 1 fills a node with nine pods; reclaim evicts two, by default the last ones by name."""
    conf = conf_of("priority gang", "predicates proportion", actions="reclaim")
    queues = [queue("mine"), queue("theirs")]
    held = [pod_group("a", queue="theirs", phase="Running"), *pods("a", MEMBERS, on="n1")]
    asking = [pod_group("d", queue="mine", min_member=2), *pods("d", 2)]
    return cluster(node("n1", cpu=str(MEMBERS)), queues, held, asking, conf=conf)


def drawn(seed: int) -> Snapshot:
    return replace(reclaimed(), chance=ChanceSettings(order_seed=seed))


def test_a_rare_choice_of_victims_is_found_behind_many_that_are_alike() -> None:
    seen = predicted_outcome(replay_cycle(drawn(KEEPS_THE_LAST)))
    assert {"default/a-7", "default/a-6"} == {*seen.evicted}
    before = [predicted_outcome(replay_cycle(drawn(seed))).evicted for seed in range(1, KEEPS_THE_LAST)]
    assert all("default/a-8" in evicted for evicted in before)
    assert (0, 0) == follow_scheduler(reclaimed(), seen, seeds=KEEPS_THE_LAST // 3).difference_rank


@pytest.mark.parametrize(
    ("others", "found"),
    [
        (True, [(EVICTED, "yes", NOTHING_DONE), (EVICTED, NOTHING_DONE, "yes")]),
        (False, [(EVICTED, "yes", NOTHING_DONE)]),
        (False, [(EVICTED, NOTHING_DONE, "yes"), (BOUND, "n1", NOTHING_DONE)]),
    ],
)
def test_differing_victims_are_evictions_missing_on_each_side(others: bool, found: list[tuple[str, str, str]]) -> None:
    differences = [OutcomeDifference("default/a", "default/a-0", what, mine, theirs) for what, mine, theirs in found]
    assert others == have_different_victims(differences)


@pytest.mark.parametrize(("taken", "victim"), [("n1", "default/a-0"), ("n2", "default/b-0")])
def test_replay_of_reclaim_follows_the_observed_node(taken: str, victim: str) -> None:
    """Upstream tries nodes in the order in which their parallel checks end."""
    conf = conf_of("priority gang", "predicates proportion", actions="reclaim")
    nodes, queues = [node("n1", cpu="1"), node("n2", cpu="1")], [queue("mine"), queue("theirs")]
    held = [pod_group(name, queue="theirs", min_member=0) for name in "ab"]
    running = [*pods("a", 1, on="n1"), *pods("b", 1, on="n2")]
    asking = [pod_group("d", queue="mine"), *pods("d", 1)]
    snapshot = cluster(nodes, queues, held, running, asking, conf=conf)
    seen = predicted_outcome(replay_cycle(replace(snapshot, chance=ChanceSettings(choices={"default/d-0": taken}))))
    followed = follow_scheduler(snapshot, seen, seeds=0, logged_chance=ChanceSettings(choices={"default/d-0": taken}))
    assert ((0, 0), [victim]) == (followed.difference_rank, [*followed.outcome.evicted])
