"""The same cycle with many random seeds."""

from __future__ import annotations

import pickle

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from vcdebug.framework.record import BestEvent, RandomEvent
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.odds import RUNS_OF_AN_ANSWER, SeedDraws, chance_sentence, run_draw, tally_draws

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


def test_an_answer_says_in_how_many_runs_the_job_has_another_outcome() -> None:
    base = replay_cycle(free_choice())
    draws = [*map(SeedDraws(base.snapshot), range(1, RUNS_OF_AN_ANSWER + 1))]
    placed = len([draw for draw in draws if "default/second" in draw.placed_jobs])
    is_placed = any(job.job == "default/second" and job.base for job in tally_draws(base, draws).jobs)
    count, outcome = (RUNS_OF_AN_ANSWER - placed, "stays Pending") if is_placed else (placed, "is scheduled")
    assert f"In {count} of 12 runs with other random choices it {outcome}: see vcdebug odds." == chance_sentence(
        base, "default/second"
    )
    assert chance_sentence(base, "default/first") == ""


def two_equal_victims(*, of_one_job: bool) -> Snapshot:
    """A preemptor, and two full nodes that score equally, with the pods of one job or of two jobs."""
    owners = ("low", "low") if of_one_job else ("low", "other")
    victims = [
        one for i, owner in enumerate(owners) for one in pods(owner, 1, cpu="2", on=f"n{i}", prefix=f"{owner}-on-n{i}")
    ]
    groups = [pod_group(owner, phase="Running", min_member=0) for owner in dict.fromkeys(owners)]
    high = pod_group("high", priority_class="top")
    conf = conf_of("priority gang conformance", "predicates nodeorder", actions="allocate, preempt")
    nodes = (node("n0", cpu="2"), node("n1", cpu="2"))
    waiting = pods("high", 1, cpu="2", priority=9)
    return cluster(*nodes, queue("default"), priority_class("top", 9), *groups, victims, high, waiting, conf=conf)


def test_other_victims_by_chance_count_only_if_they_are_of_other_jobs() -> None:
    found = chance_sentence(replay_cycle(two_equal_victims(of_one_job=False)), "default/high")
    assert "runs with other random choices pods of default/" in found
    assert chance_sentence(replay_cycle(two_equal_victims(of_one_job=True)), "default/high") == ""
