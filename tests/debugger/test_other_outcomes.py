"""What an answer adds about other random choices, and about other releases if the snapshot names none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import cluster, conf_of, hyper_node, node, pod_group, pods, priority_class, queue
from tests.debugger.test_odds import free_choice
from tests.recorded import bundled, recorded, recorded_path
from vcdebug.explain.answer import NO_OTHER_OUTCOMES
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release import SUPPORTED_TAGS, ListeningRelease, release_at_tag
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
from vcdebug.whatif.odds import SeedDraws, tally_draws
from vcdebug.whatif.other_outcomes import (
    AGREEMENT,
    NAME_RELEASE,
    RUNS_OF_AN_ANSWER,
    describe_short_plans,
    other_outcomes,
)


def test_an_answer_says_in_how_many_runs_the_job_has_another_outcome() -> None:
    base = replay_cycle(free_choice())
    draws = [*map(SeedDraws(base.snapshot), range(1, RUNS_OF_AN_ANSWER + 1))]
    placed = len([draw for draw in draws if "default/second" in draw.placed_jobs])
    is_placed = any(job.job == "default/second" and job.base for job in tally_draws(base, draws).jobs)
    count, outcome = (RUNS_OF_AN_ANSWER - placed, "stays Pending") if is_placed else (placed, "is scheduled")
    sentence = f"In {count} of 12 runs with other random choices it {outcome}: see vcdebug odds."
    assert sentence == other_outcomes(base, "default/second").chance
    assert other_outcomes(base, "default/first").chance == ""


def equal_victims(*owners: str, wanted: int = 1) -> Snapshot:
    """A preemptor, and full nodes that score equally, with a pod of each of these jobs."""
    victims = [
        one for i, owner in enumerate(owners) for one in pods(owner, 1, cpu="2", on=f"n{i}", prefix=f"{owner}-on-n{i}")
    ]
    groups = [pod_group(owner, phase="Running", min_member=0) for owner in dict.fromkeys(owners)]
    high = pod_group("high", priority_class="top", min_member=wanted)
    conf = conf_of("priority gang conformance", "predicates nodeorder", actions="allocate, preempt")
    nodes = [node(f"n{i}", cpu="2") for i in range(len(owners))]
    waiting = pods("high", wanted, cpu="2", priority=9)
    return cluster(*nodes, queue("default"), priority_class("top", 9), *groups, victims, high, waiting, conf=conf)


@pytest.mark.parametrize(
    ("owners", "wanted", "told"),
    [
        (("low", "other"), 1, "runs with other random choices pods of default/"),
        (("low", "low"), 1, "runs with other random choices another pod of default/low is evicted"),
        # Two of three pods: each run evicts one that the replayed cycle evicts too.
        (("low", "low", "low"), 2, ""),
    ],
)
def test_other_victims_by_chance_are_told_if_all_are_others(owners: tuple[str, ...], wanted: int, told: str) -> None:
    found = other_outcomes(replay_cycle(equal_victims(*owners, wanted=wanted)), "default/high").chance
    assert told in found
    assert bool(told) is bool(found)


def queue_without_node_group() -> Snapshot:
    """A job whose queue has no node group, among nodes that all belong to one; from v1.13.0 on it fits none of them."""
    label = {"volcano.sh/nodegroup-name": "g1"}
    conf = conf_of("gang", "predicates nodegroup", actions="allocate")
    return cluster(node("n1", labels=label), queue("default"), pod_group("job"), pods("job", 1), conf=conf)


def test_an_answer_names_the_releases_under_which_the_outcome_differs() -> None:
    found = other_outcomes(replay_cycle(queue_without_node_group()), "default/job")
    assert found.releases == "Under v1.12.4 and older it is scheduled: job-0 bound to n1."
    assert found.release_note == NAME_RELEASE
    assert found.build_document() == {"otherReleases": found.releases}


@pytest.mark.parametrize(
    ("thread", "job", "told"),
    [
        ("3990-elastic-job-keeps-its-gpus", "team/demo-2", "names only nvidia.com/gpu; in v1.13.0 a resource that it"),
        ("4533-topology-aware-preemption-across-racks", "team/high", "preempt of v1.13.3 does not check HyperNodes"),
        # Still older ones place the pods elsewhere, without an eviction.
        (
            "4533-topology-aware-preemption-across-racks",
            "team/high",
            "; under v1.11.2 and older it is scheduled: 2 pods bound to n-0, n-3.",
        ),
        (
            "r1-evicted-for-a-job-that-got-nothing",
            "default/job-12",
            "Under v1.14.4 and older it keeps its pods.",
        ),
        ("2976-preempt-against-anti-affinity", "team/high", "it is Pending for another reason: none of 2 nodes fits"),
    ],
)
def test_another_outcome_has_the_reason_and_the_first_fact_of_its_own_answer(thread: str, job: str, told: str) -> None:
    recording = recorded(recorded_path(f"threads/{thread}"))
    assert told in other_outcomes(recording, job).releases


def test_a_lost_reservation_says_what_the_next_cycle_does_and_releases_are_told_apart_by_their_reason() -> None:
    recording = recorded(recorded_path("threads/r1-evicted-for-a-job-that-got-nothing"))
    found = other_outcomes(recording, "default/job-21")
    assert found.chance == (
        "Nothing has to change: once the evicted pods have ended, the next cycle binds 4 pods of it on node-009."
    )
    rejected, _, lacking = found.releases.split("; under ")
    assert rejected.startswith("Under v1.14.0 to v1.14.4 and under v1.11.2 and older no pods are evicted: the config")
    assert lacking.startswith("v1.12.0 to v1.13.0 no pods are evicted: job-21-master-0 asks 1 cpu; its queue q2")


@pytest.mark.parametrize(
    ("thread", "job", "fix"),
    [
        (
            "3990-elastic-job-keeps-its-gpus",
            "team/demo-2",
            "Tested under v1.13.0: Queue queue2: add 8 cpu and 32Gi",
        ),
        ("5984-gangpreempt-evicts-ten-for-one", "team/preemptor", "Tested under v1.14.4: Configuration: actions ->"),
        ("4533-topology-aware-preemption-across-racks", "team/high", ""),
        ("2976-preempt-against-anti-affinity", "team/high", ""),
    ],
)
def test_a_job_that_stays_pending_only_under_older_releases_has_a_fix_tested_there(
    thread: str, job: str, fix: str
) -> None:
    found = other_outcomes(recorded(recorded_path(f"threads/{thread}")), job)
    assert found.fix.startswith(fix)
    assert bool(fix) == bool(found.fix)
    assert found.warnings[-1] == (found.fix or found.releases)


@pytest.mark.parametrize(
    ("thread", "job", "told"),
    [
        (
            "4995-guarantee-does-not-work",
            "team/job-3",
            "Under v1.11.0 to v1.11.2 it is admitted; under v1.10.2 and",
        ),
        ("kthena532-decode-role-short", "serve/llm-0", "under v1.13.3 and older it is Pending with other figures"),
        # Only the words of the scheduler's message differ.
        ("2907b-two-vgpus-with-process-start", "team/gpu-pod12", ""),
    ],
)
def test_no_agreement_is_claimed_where_a_release_has_another_reason(thread: str, job: str, told: str) -> None:
    found = other_outcomes(recorded(recorded_path(f"threads/{thread}")), job)
    assert told in found.releases
    assert bool(told) is not (found.release_note == AGREEMENT)


def test_a_named_release_is_not_compared_with_others() -> None:
    recording = replay_cycle(snapshot_at_release(queue_without_node_group(), "v1.15.1"))
    assert other_outcomes(recording, "default/job") == NO_OTHER_OUTCOMES


@pytest.mark.parametrize(
    "name", ["preempt-blocked-by-gang", "reclaim-across-queues", "pending-no-node-fits", "gangpreempt-bundles"]
)
def test_agreement_is_claimed_only_if_each_release_places_the_same_jobs(name: str) -> None:
    recording = bundled(name)
    outcomes = {(): placed_jobs(recording.snapshot)} | {
        tag: placed_jobs(snapshot_at_release(recording.snapshot, str(tag))) for tag in SUPPORTED_TAGS
    }
    for job in recording.session.jobs:
        found = other_outcomes(recording, job)
        if found.release_note == AGREEMENT:
            assert len({job in placed for placed in outcomes.values()}) == 1
        else:
            assert found.releases.startswith("Under v1.")


def test_two_runs_of_one_release_consult_the_same_changes() -> None:
    snapshot = bundled("preempt-blocked-by-gang").snapshot
    release, consulted = release_at_tag(SUPPORTED_TAGS[-1]), []
    for _ in range(2):
        listener = ListeningRelease.replayed_at(release)
        replay_cycle(snapshot.with_release(listener))
        consulted.append(list(listener.consulted_changes))
    assert consulted[0] == consulted[1]


def placed_jobs(snapshot: Snapshot) -> set[str]:
    """The jobs that have their minMember after the cycle."""
    jobs = cycle_effects(replay_cycle(snapshot)).jobs
    return {job.job for job in jobs if job.tasks and job.ready + job.waiting >= job.min_available}


@pytest.mark.parametrize(
    ("thread", "job", "limit"),
    [
        (
            "3510-capacity-without-reclaim-action",
            "team/q2-job-1",
            "; under v1.13.0 and older it does not help.",
        ),
        (
            "4690-small-jobs-pass-the-large-one",
            "team/large",
            "; under v1.11.1 to v1.13.3 it evicts pods and does not help; under v1.11.0 and older it does not help.",
        ),
        ("1096-two-queues-none-gets-two", "team/job-b", ""),
        # The fix itself names the release that added what it uses.
        ("2976-preempt-against-anti-affinity", "team/high", ""),
    ],
)
def test_the_first_fix_says_under_which_releases_it_does_not_help(thread: str, job: str, limit: str) -> None:
    recording = recorded(recorded_path(f"threads/{thread}"))
    answer = explain_by_name(recording, job)
    search = search_few_fixes(recording, answer)
    assert search is not None
    first, *others = describe_short_plans(recording, answer, short_plans(search))
    assert limit in first
    assert bool(limit) is ("it does not help" in first)
    assert not any("it does not help" in words for words in others)


def test_each_release_is_replayed_at_most_twice_however_many_jobs_are_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recording = replay_cycle(recorded(recorded_path("threads/3510-capacity-without-reclaim-action")).snapshot)
    replayed: list[object] = []

    def counting(snapshot: Snapshot, **options: Any) -> Recording:
        replayed.append(snapshot.release)
        return replay_cycle(snapshot, **options)

    monkeypatch.setattr("vcdebug.whatif.other_outcomes.replay_cycle", counting)
    counts = []
    for job in recording.session.jobs:
        other_outcomes(recording, job)
        counts.append(len(replayed))
    once, twice, *later = counts
    assert twice > once > 0
    assert {twice} == {*later}


def test_of_many_other_outcomes_the_first_three_are_described_and_the_others_counted() -> None:
    base = replay_cycle(equal_victims(*(f"low-{number}" for number in range(9))))
    chance = other_outcomes(base, "default/high").chance
    described, _, counted = chance.partition("; ")
    assert (3, True) == (described.count(" of 12"), counted.endswith("other outcomes: see vcdebug odds.")), chance


def racks_of_two(mode: str, plugins: str) -> Snapshot:
    """Two pods that exclude each other on a node, one free rack of two nodes, and two more of which one is full."""
    nodes = [node(f"n{number}", cpu="1" if number in (4, 6) else "8") for number in range(1, 7)]
    racks = [hyper_node(f"r{rack}", 1, nodes=[f"n{2 * rack - 1}", f"n{2 * rack}"]) for rack in (1, 2, 3)]
    tree = [*racks, hyper_node("top", 2, children=["r1", "r2", "r3"])]
    group = pod_group("job", min_member=2, networkTopology={"mode": mode, "highestTierAllowed": 1})
    conf = conf_of("gang", f"predicates nodeorder {plugins}", actions="allocate")
    return cluster(*nodes, *tree, queue("default"), group, pods("job", 2, cpu="5"), conf=conf)


@pytest.mark.parametrize(
    ("release", "mode", "plugins", "words"),
    [
        ("v1.14.0", "soft", "network-topology-aware", "tries no HyperNode for all of its pods together (v1.15.0, v1."),
        ("v1.13.3", "soft", "network-topology-aware", "mode hard with highestTierAllowed keeps the pods together"),
        ("v1.14.0", "soft", "", "without plugin network-topology-aware, HyperNodes do not count"),
        ("v1.15.1", "soft", "network-topology-aware", ""),
        ("v1.14.0", "hard", "network-topology-aware", ""),
    ],
)
def test_pods_that_chance_puts_into_different_hyper_nodes_are_another_outcome_of_a_soft_topology(
    release: str, mode: str, plugins: str, words: str
) -> None:
    base = replay_cycle(snapshot_at_release(racks_of_two(mode, plugins), release))
    found = other_outcomes(base, "default/job").chance
    tally = tally_draws(base, [*map(SeedDraws(base.snapshot), range(1, RUNS_OF_AN_ANSWER + 1))])
    counts = dict(tally.spread_jobs)
    assert bool(words) is bool(counts) is not tally.is_certain, found
    assert words in found
    assert not words or f"In {counts['default/job']} of 12 runs with other random choices its pods are in diff" in found
