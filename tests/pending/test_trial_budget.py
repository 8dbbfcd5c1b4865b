"""A trial cycle inside an answer stops if it takes longer than the cycle; a pair of fixes is found in few trials."""

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from vcdebug.explain.answer import Cause
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.gates import overrides
from vcdebug.framework import replay_options
from vcdebug.framework.record import HookEvent, PopEvent
from vcdebug.framework.replay_options import LOOKS_PER_EVENT, RecordFullError, WorkBound, work_of_events
from vcdebug.framework.subject import CANDIDATES
from vcdebug.recording.recording import Recording, store_answer
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.whatif.fixes.search import FixSearch, run_search, start_search
from vcdebug.whatif.fixes.trial import FixTrials

CONF = conf_of("priority gang", "predicates nodeorder", actions="allocate")


def full_cluster() -> Recording:
    """A node full of low-priority pods, and a Pending high-priority job; preempt would help but is not configured."""
    return replay_cycle(
        cluster(
            priority_class("high", 1000),
            node("n1", cpu="2"),
            pod_group("low", phase="Running"),
            pods("low", 2, on="n1", annotations={"volcano.sh/preemptable": "true"}),
            pod_group("high", priority_class="high"),
            pods("high", 1, priority_class="high", priority=1000),
            conf=CONF,
        )
    )


def test_a_trial_within_the_bound_names_the_missing_action() -> None:
    found = explain_by_name(full_cluster(), "high")
    assert Cause.NOT_CONFIGURED in [found.cause_code, *(one.cause for one in found.contributing)]


def test_a_trial_beyond_the_bound_is_named_as_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_options, "EVENTS_PER_LOOK", 1)
    recording = full_cluster()
    store_answer(recording, overrides.trial_work, lambda: 15)
    found = explain_by_name(recording, "high")
    assert Cause.NOT_CONFIGURED not in [found.cause_code, *(one.cause for one in found.contributing)]
    assert [fact for fact in found.dominant.facts if fact.startswith("Not tried: preempt in actions (")]


def test_any_trial_is_run_to_its_end_where_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_options, "EVENTS_PER_LOOK", 1)
    recording = full_cluster()
    store_answer(recording, overrides.trial_work, lambda: 15)
    overrides.allow_any_trial(recording)
    found = explain_by_name(recording, "high")
    assert Cause.NOT_CONFIGURED in [found.cause_code, *(one.cause for one in found.contributing)]


def test_work_counts_events_and_the_candidates_that_plugins_look_at() -> None:
    offered = tuple(f"default/low-{number}" for number in range(3))
    events = [PopEvent("job", "default/high", 0), HookEvent("Preemptable", "gang", ((CANDIDATES, offered),), ())]
    assert 2 * LOOKS_PER_EVENT + 3 == work_of_events(events)
    bound = WorkBound(work_of_events(events))
    bound.check_size(events)
    with pytest.raises(RecordFullError):
        bound.check_size([*events, events[0]])


LIMITED = queue("q", capability={"cpu": "4"})
CLOSED, ROOMY = queue("q", state="Closed"), node("n1", cpu="10")
HELD = [ROOMY, pod_group("old", phase="Running"), *pods("old", 2, cpu="4", on="n1")]
HELD_BY_QUEUE = [ROOMY, pod_group("old", queue="q", phase="Running"), *pods("old", 2, cpu="4", on="n1")]
PLAIN, GATED = pods("j", 2, cpu="4"), pods("j", 2, cpu="4", schedulingGates=[{"name": "x/y"}])
UNGATE = "Remove scheduling gates x/y from 2 pods"
PAIRED: dict[str, tuple[list[Manifest], str]] = {
    "a full node and a limit": ([*HELD, LIMITED, *PLAIN], "Queue q: capability.cpu 4 -> 8; Add 1 node like n1"),
    "pods of the queue and its limit": (
        [*HELD_BY_QUEUE, LIMITED, *PLAIN],
        "Queue q: capability.cpu 4 -> 16; Add 1 node like n1",
    ),
    "a full node and a closed queue": ([*HELD, CLOSED, *PLAIN], "Open queue q; Add 1 node like n1"),
    "a full node and a gate": ([*HELD, queue("q"), *GATED], f"{UNGATE}; Add 1 node like n1"),
    "a limit and a gate": ([ROOMY, LIMITED, *GATED], f"Queue q: capability.cpu 4 -> 8; {UNGATE}"),
    "a limit and a closed queue": (
        [ROOMY, queue("q", capability={"cpu": "4"}, state="Closed"), *PLAIN],
        "Open queue q; Queue q: capability.cpu 4 -> 8",
    ),
    "a limit and a cordoned node": (
        [node("n1", cpu="10", unschedulable=True), LIMITED, *PLAIN],
        "Queue q: capability.cpu 4 -> 8; Uncordon node n1 when its maintenance is done",
    ),
    "a limit and pods larger than a node": (
        [ROOMY, LIMITED, *pods("j", 2, cpu="12")],
        "Queue q: capability.cpu 4 -> 24; Add 2 nodes like n1 but with 12 cpu",
    ),
}
"""The objects besides the PodGroup, and the pair of changes that comes first."""


def searched(*objects: Manifest | list[Manifest], conf: str) -> FixSearch:
    """The finished search for fixes of default/j."""
    recording = replay_cycle(cluster(*objects, conf=conf))
    explanation = explain_by_name(recording, "default/j")
    trials = FixTrials.of_recording(recording, explanation)
    return run_search(start_search(recording, explanation), lambda wanted: [trials(edits) for edits in wanted])


@pytest.mark.parametrize("name", PAIRED)
def test_two_blockers_are_removed_by_a_pair_that_leaves_the_job_and_other_pods_as_they_are(name: str) -> None:
    objects, pair = PAIRED[name]
    conf = conf_of("gang", "predicates proportion nodeorder", actions="enqueue, allocate, backfill")
    search = searched(objects, pod_group("j", queue="q", min_member=2), conf=conf)
    assert search.best_plans[0].plan_words == pair
    assert search.best_plans[0].is_proven
    assert search.trial_count < 50


def plans_for(*objects: Manifest | list[Manifest], conf: str) -> list[tuple[str, str]]:
    """The (words, side effects) of the proven plans for default/j."""
    return [(plan.plan_words, plan.side_effects) for plan in searched(*objects, conf=conf).best_plans if plan.is_proven]


def test_a_pending_holder_is_deleted_before_the_cluster_is_overcommitted() -> None:
    conf = conf_of("gang", "overcommit predicates", actions="enqueue, allocate")
    holder = [pod_group("large", min_resources={"cpu": "7"}), *pods("large", 1, cpu="7")]
    job = [pod_group("j", phase="Pending", min_resources={"cpu": "4"}), *pods("j", 1, cpu="4")]
    first, second, *_ = plans_for(node("n1", cpu="4"), node("n2", cpu="4"), holder, job, conf=conf)
    assert first == (
        "Delete PodGroup default/large and its Pending pod; this releases 7 cpu",
        "deletes 1 Pending pod of default/large",
    )
    assert second[0].startswith("overcommit: overcommit-factor 1.2 -> 1.")


def test_a_limit_is_raised_before_running_pods_are_deleted() -> None:
    conf = conf_of("gang", "proportion predicates", actions="enqueue, allocate")
    running = [pod_group("old", queue="q", phase="Running"), *pods("old", 1, cpu="4", on="n1")]
    job = [pod_group("j", queue="q"), *pods("j", 1, cpu="4")]
    plans = plans_for(node("n1", cpu="10"), queue("q", capability={"cpu": "4"}), running, job, conf=conf)
    deletion = ("End default/old (1 running pod)", "ends 1 pod of default/old")
    assert plans[0] == ("Queue q: capability.cpu 4 -> 8", "")
    assert deletion in plans[1:]
