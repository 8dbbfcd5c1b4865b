"""The same cycle with many random seeds."""

from __future__ import annotations

import pickle

from tests.builders import cluster, conf_of, node, pod_group, pods
from vcdebug.framework.record import BestEvent, RandomEvent
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.odds import SeedDraws, run_draw, tally_draws

CONF = conf_of("priority gang", "predicates nodeorder", actions="allocate")


def free_choice() -> Snapshot:
    """A pod that scores four nodes equally, and another pod that fits only one of them."""
    return cluster(
        *(node(f"n{number}", cpu="2") for number in range(4)),
        pod_group("first"),
        pods("first", 1, cpu="1"),
        pod_group("second"),
        pods("second", 1, cpu="2", nodeSelector={"kubernetes.io/hostname": "n0"}),
        conf=CONF,
    )


def test_a_seed_always_draws_the_same() -> None:
    base = replay_cycle(free_choice())
    assert run_draw(base, 7) == run_draw(base, 7)


def test_how_often_a_job_is_placed_depends_on_the_tie() -> None:
    base = replay_cycle(free_choice())
    found = tally_draws(base, [*map(SeedDraws(base.snapshot), range(1, 41))])
    placed = {job.job: job.placed_count for job in found.jobs}
    assert 40 == placed["default/first"]
    assert 0 < placed["default/second"] < 40
    assert (40, 2, False) == (found.draw_count, found.outcomes, found.is_certain)


def test_first_divergence_names_the_preceding_tie() -> None:
    base = replay_cycle(free_choice())
    divergence = tally_draws(base, [*map(SeedDraws(base.snapshot), range(1, 21))]).divergences[0]
    assert divergence.tie_seq is not None
    tie = base.event_at(divergence.tie_seq)
    assert isinstance(tie, BestEvent | RandomEvent)


def test_draws_without_random_choices_are_equal() -> None:
    snapshot = cluster(node("n1"), pod_group("only"), pods("only", 2), conf=CONF)
    base = replay_cycle(snapshot)
    found = tally_draws(base, [*map(SeedDraws(snapshot), range(1, 6))])
    assert found.is_certain
    assert [(5, 5, True)] == [(job.placed_count, job.moved_count, job.base) for job in found.jobs]


def test_draws_in_any_order_sum_up_to_the_same() -> None:
    base = replay_cycle(free_choice())
    draws = [*map(SeedDraws(base.snapshot), range(1, 9))]
    assert tally_draws(base, draws) == tally_draws(base, draws[::-1])


def test_first_tie_that_matters_precedes_different_outcomes() -> None:
    base = replay_cycle(free_choice())
    found = tally_draws(base, [*map(SeedDraws(base.snapshot), range(1, 41))])
    first = found.first_that_matters
    assert first == found.divergences[0]
    assert first is not None
    assert 0 < first.differing <= first.draw_count


def test_pickled_draws_contain_only_the_snapshot() -> None:
    base = replay_cycle(free_choice())
    draws = SeedDraws(base.snapshot, base)
    assert (SeedDraws, (base.snapshot,)) == draws.__reduce__()
    assert draws(3) == pickle.loads(pickle.dumps(draws))(3)
