"""A placed job's flaws: what the cycle did although a change avoids it, and the changes that do."""

import json
from pathlib import Path

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class
from tests.recorded import recorded, recorded_path
from vcdebug.actions import LATER_ACTIONS
from vcdebug.explain.answer import Explanation, Flaw
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release import NEWEST, SUPPORTED_TAGS, Release, release_at_tag
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.fixes.fix import FixSituation, since_words
from vcdebug.whatif.fixes.plan import TriedPlan, describe_short_plan
from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
from vcdebug.whatif.fixes.trial import propose_fixes

TAG = SUPPORTED_TAGS[0]
STEPS = (
    (
        "2622-which-victim-first",
        Flaw.MILDER_VICTIM,
        "(gangpreempt instead of preempt, from v1.15.0 on)",
        "1 pod of team/mid is then not evicted",
    ),
    ("2622-which-victim-first", Flaw.MILDER_VICTIM, 'preemptable -> "false"', "evicts 1 pod of team/low"),
    (
        "5984-gangpreempt-evicts-ten-for-one",
        Flaw.MANY_VICTIMS,
        "preempt instead of gangpreempt",
        "9 pods of team/victim are then not evicted",
    ),
    ("5896-queue-evicted-below-deserved", Flaw.BELOW_DESERVED, "Move capacity to tier 1", "capacity protects"),
    (
        "4533-topology-aware-preemption-across-racks",
        Flaw.TOPOLOGY_BROKEN,
        "Upgrade Volcano",
        "Reserves room for 2 pods on n-0, n-1",
    ),
    (
        "4690-small-jobs-pass-the-large-one",
        Flaw.PASSED,
        "guarantee 6 nvidia.com/gpu",
        "team/small-1, team/small-2 then stay Pending",
    ),
)


def asked(case: Path) -> tuple[Recording, Explanation]:
    question = json.loads((case / "question.json").read_text(encoding="utf-8"))
    release = question.get("release")
    recording = replay_cycle(load_snapshot(case, release=release)) if release else recorded(case)
    return recording, explain_by_name(recording, question["job"])


def shown(recording: Recording, answer: Explanation) -> list[TriedPlan]:
    search = search_few_fixes(recording, answer)
    assert search is not None
    return short_plans(search)


@pytest.mark.parametrize(("name", "flaw", "change", "effect"), STEPS)
def test_a_flaw_has_a_tested_step_that_removes_it(name: str, flaw: Flaw, change: str, effect: str) -> None:
    recording, answer = asked(recorded_path(f"threads/{name}"))
    assert flaw in answer.dominant.flaws
    (plan,) = [one for one in shown(recording, answer) if change in one.plan_words]
    assert effect in describe_short_plan(plan)
    after = replay_cycle(edited_snapshot(recording.snapshot, map(parse_edit, plan.plan.all_edits)))
    remaining = explain_by_name(after, answer.job)
    assert flaw not in remaining.dominant.flaws
    assert plan.is_proven == remaining.scheduled


def test_a_placed_job_without_a_flaw_gets_no_fixes() -> None:
    recording = recorded(recorded_path("causes/preempt-works"))
    answer = explain_by_name(recording, "ml/fraud-model")
    assert answer.scheduled
    assert not answer.wants_fixes


def test_milder_victims_are_not_had_by_evicting_more_pods() -> None:
    classes = [priority_class("high", 1000), priority_class("low", 10)]
    low = [pod for at in range(2) for pod in pods("low", 1, cpu="4", prefix=f"low-{at}", on=f"n{at}", priority=10)]
    mid = [pod for at in range(4) for pod in pods("mid", 1, cpu="2", prefix=f"mid-{at}", on=f"n{at}", priority=1000)]
    groups = [pod_group("low", phase="Running", priority_class="low"), pod_group("mid", phase="Running")]
    job = [pod_group("j", min_member=2, priority_class="high"), *pods("j", 2, cpu="2", priority=1000)]
    conf = conf_of("priority gang", "drf predicates proportion nodeorder", actions="allocate, preempt, backfill")
    machines = [node(f"n{at}", cpu="4") for at in range(4)]
    recording = replay_cycle(cluster(machines, classes, groups, low, mid, job, conf=conf))
    answer = explain_by_name(recording, "default/j")
    assert Flaw.MILDER_VICTIM in answer.dominant.flaws
    most = len(cycle_effects(recording).evicted)
    for plan in shown(recording, answer):
        after = replay_cycle(edited_snapshot(recording.snapshot, map(parse_edit, plan.plan.all_edits)))
        assert len(cycle_effects(after).evicted) <= most


def test_a_gang_of_subgroups_starts_with_fewer_of_them_and_is_said_to_lack_the_right_ones() -> None:
    recording, answer = asked(recorded_path("threads/kthena532-decode-role-short"))
    # allocate rolls back one statement per subgroup, of which the last alone had counted.
    assert answer.sentence.endswith("found room for 5 of the 7 pods it needs at once (decode 3 of 3, prefill 2 of 4).")
    (fewer,) = [one for one in shown(recording, answer) if "minSubGroups" in one.plan_words]
    assert "serve/llm-0: minSubGroups of prefill 2 -> 1 (minMember 5)" == fewer.plan_words
    assert fewer.is_proven


@pytest.mark.parametrize("configured", [False, True])
def test_a_queue_with_a_guarantee_gets_reclaim_where_no_action_evicts_across_queues(configured: bool) -> None:
    snapshot = load_snapshot(recorded_path("threads/4690-small-jobs-pass-the-large-one"))
    edits = [parse_edit('conf:actions="enqueue, allocate, backfill, reclaim"')] if configured else []
    recording = replay_cycle(edited_snapshot(snapshot, edits))
    first, *others = shown(recording, explain_by_name(recording, "team/large"))
    moves_it = ["new queue large-own with guarantee" in one.plan_words for one in (first, *others)]
    assert moves_it == [not configured, *(False for _ in others)]
    assert configured or (first.is_proven and "evicts 1 pod of team/run" in first.side_effects)
    assert configured is ("(adds reclaim)" not in first.plan_words)


@pytest.mark.parametrize("exists", [False, True])
def test_a_new_queue_is_proposed_only_under_a_name_that_no_queue_has(exists: bool) -> None:
    snapshot = load_snapshot(recorded_path("threads/4690-small-jobs-pass-the-large-one"))
    added = "{apiVersion: scheduling.volcano.sh/v1beta1, spec: {weight: 1}, status: {state: Open}}"
    edits = [parse_edit(f"Queue/large-own:+={added}")] if exists else []
    recording = replay_cycle(edited_snapshot(snapshot, edits))
    answer = explain_by_name(recording, "team/large")
    assert Flaw.PASSED in answer.dominant.flaws
    proposed = propose_fixes(FixSituation(recording, answer))
    assert exists is not any("new queue large-own" in one.text for one in proposed)


@pytest.mark.parametrize(
    ("release", "action", "since"),
    [(NEWEST, "gangpreempt", ", from v1.15.0 on"), (NEWEST, "preempt", ""), (release_at_tag(TAG), "gangpreempt", "")],
)
def test_an_action_that_older_releases_lack_names_its_first_one_if_the_release_is_unknown(
    release: Release, action: str, since: str
) -> None:
    assert since == since_words(release, LATER_ACTIONS.get(action))
