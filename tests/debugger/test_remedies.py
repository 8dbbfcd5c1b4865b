"""Fixes: a proven fix was tried, has the stated effect, and is the mildest of its kind."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path

import pytest

from tests.builders import cluster, node, pod, pod_group, pods, queue
from tests.recorded import bundled, golden
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.files.recording_files import open_recording, save_recording
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import list_bundled as bundled_names
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.fixes.fix import FixKind, smaller_amount
from vcdebug.whatif.fixes.plan import TriedPlan, describe_result
from vcdebug.whatif.fixes.search import FixSearch, describe_conclusion, run_search, start_search
from vcdebug.whatif.fixes.trial import Cost, CostKind, FixTrials

each_bundled = pytest.mark.parametrize("name", [one.name for one in bundled_names()])


def waiting(name: str) -> list[str]:
    """The unscheduled jobs of a bundled snapshot."""
    return [one.explanation.job for one in survey_jobs(bundled(name)).unscheduled_jobs]


def searched(recording: Recording, job: str) -> FixSearch:
    explanation = explain_by_name(recording, job)
    trials = FixTrials.of_recording(recording, explanation)
    return run_search(start_search(recording, explanation), lambda wanted: [trials(edits) for edits in wanted])


@cache
def found_for(name: str, job: str) -> FixSearch:
    """The cached search for fixes for a job of a bundled snapshot."""
    return searched(bundled(name), job)


def proven(snapshot: Snapshot, job: str) -> dict[str, TriedPlan]:
    return {one.plan_words: one for one in searched(replay_cycle(snapshot), job).best_plans if one.is_proven}


@each_bundled
def test_edits_of_each_fix_have_the_stated_result(name: str) -> None:
    for job in waiting(name):
        search = found_for(name, job)
        assert search.is_finished
        check(bundled(name), job, search)


def check(recording: Recording, job: str, search: FixSearch) -> None:
    """Replay the cycle with the edits of each fix, and compare its outcome with the stated one."""
    for remedy in search.best_plans:
        after = replay_cycle(edited_snapshot(recording.snapshot, map(parse_edit, remedy.plan.all_edits)))
        done = cycle_effects(after)
        placed = [one for one in (*done.bound, *done.pipelined) if one.job == explain_by_name(after, job).job]
        said = remedy.outcome
        assert (said.scheduled, said.cause, said.placed) == (
            explain_by_name(after, job).scheduled,
            explain_by_name(after, job).cause_code,
            len(placed),
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["capacity-0007", "gang-0004", "misc-0005", "usage-0003", "numa-0002", "wild-0034"])
def test_tested_fixes_of_recorded_clusters_place_the_stated_pods(name: str) -> None:
    recording = golden(name)
    explanation = survey_jobs(recording).unscheduled_jobs[0].explanation
    trials = FixTrials.of_recording(recording, explanation)
    search = start_search(recording, explanation)
    run_search(search, lambda wanted: [trials(edits) for edits in wanted], lambda search: search.trial_count < 40)
    proven = [one for one in search.best_plans if one.is_proven]
    assert proven
    for remedy in proven:
        after = explain_by_name(
            replay_cycle(edited_snapshot(recording.snapshot, map(parse_edit, remedy.plan.all_edits))), explanation.job
        )
        assert (remedy.outcome.scheduled, remedy.outcome.cause) == (after.scheduled, after.cause_code)


@each_bundled
def test_tested_fixes_come_first_and_bypasses_last(name: str) -> None:
    for job in waiting(name):
        found = found_for(name, job).best_plans
        order = [(not one.is_proven, one.plan_words.startswith("Bypass")) for one in found]
        assert sorted(order) == order


def test_fixes_are_ranked_from_entitlements_to_bypasses() -> None:
    kinds = [one.plan.worst_kind for one in found_for("pending-queue-quota", "vision/image-captioning").best_plans]
    assert (FixKind.ENTITLEMENT, FixKind.BYPASS) == (kinds[0], kinds[-1])
    assert FixKind.OTHER_PODS in kinds


def test_node_repair_comes_before_smaller_requests() -> None:
    taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    broken = node("big", cpu="8", taints=taints)
    broken["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    first, *others = proven(cluster(broken, node("small", cpu="2"), pod_group("a"), pods("a", 1, cpu="4")), "default/a")
    assert "Repair node big (NotReady)" == first
    assert any("requests.cpu 4 -> 2" in words for words in others)


@pytest.mark.parametrize("count", [2, 4, 30])
def test_of_broken_nodes_as_many_are_repaired_as_the_gang_needs_in_few_replays(count: int) -> None:
    taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    broken = [node(f"b{number}", cpu="4", taints=taints) for number in range(count)]
    for one in broken:
        one["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    recording = replay_cycle(
        cluster(node("n1"), broken, pod_group("j", min_member=4), pods("j", 4, cpu="4"), conf=CONF)
    )
    explanation = explain_by_name(recording, "default/j")
    search, trials = start_search(recording, explanation), FixTrials.of_recording(recording, explanation)
    run_search(search, lambda wanted: [trials(edits) for edits in wanted], lambda search: search.trial_count < 12)
    assert "Repair 2 nodes (NotReady): b0, b1" == search.best_plans[0].plan_words


def test_each_bundled_job_that_waits_has_a_remedy_that_works() -> None:
    """The number of Pending jobs is checked, or a survey without any jobs would pass too."""
    # The pod of persist-bound-meanwhile already has a node, which the next cycle sees: no fix is needed.
    names = [one.name for one in bundled_names() if one.name != "persist-bound-meanwhile"]
    found = {(name, job): found_for(name, job).best_plans for name in names for job in waiting(name)}
    assert len(found) >= 15
    assert [] == [named for named, remedies in found.items() if [True] != [one.is_proven for one in remedies[:1]]]


def test_the_smallest_capability_that_does_is_found() -> None:
    recording = bundled("pending-queue-quota")
    found = [one.plan_words for one in found_for("pending-queue-quota", "vision/image-captioning").best_plans]
    assert "Queue team-vision: capability.nvidia.com/gpu 16 -> 18" in found
    less = parse_edit("Queue/team-vision:spec.capability[nvidia.com/gpu]=17")
    assert not explain_by_name(
        replay_cycle(edited_snapshot(recording.snapshot, [less])), "vision/image-captioning"
    ).scheduled


def test_each_fix_names_the_pods_that_it_evicts() -> None:
    found = {one.plan_words: one for one in found_for("preempt-blocked-by-gang", "research/llm-finetune").best_plans}
    smaller = found["research/llm-finetune: minMember 2 -> 1 (starts with fewer pods)"]
    assert (Cost(CostKind.EVICTION, "evicts 1 pod of research/resnet-sweep"),) == smaller.outcome.costs
    assert "reserves room for 1 of 2 Pending pods on gpu-a100-01" == describe_result(smaller)


CONF = (
    "actions: 'enqueue, allocate, backfill'\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]\n"
)


def test_two_changes_are_combined_where_no_single_one_does_and_it_is_said() -> None:
    snapshot = cluster(
        node("n1", cpu="4"),
        queue("default", capability={"cpu": "2"}),
        pod_group("j", min_member=2),
        *pods("j", 2, cpu="2", nodeSelector={"disk": "ssd"}),
        conf=CONF.replace("{name: gang}", "{name: gang}, {name: proportion}"),
    )
    search = searched(replay_cycle(snapshot), "default/j")
    assert {2} == {len(one.plan.fixes) for one in search.best_plans if one.is_proven}
    first = search.best_plans[0]
    assert {"Remove nodeSelector from the pod template"} < set(first.plan_words.split("; "))
    assert describe_conclusion(search).startswith("No combination of fewer than 2 of the changes tried works")


def test_many_changes_at_once_are_reduced_to_those_that_matter() -> None:
    snapshot = cluster(
        node("n1", cpu="4", taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}]),
        queue("default", capability={"cpu": "1"}),
        pod_group("j", min_member=2, phase="Pending", min_resources={"cpu": "900"}),
        *pods("j", 2, cpu="4", nodeSelector={"zone": "moon"}),
        conf=CONF.replace("{name: gang}", "{name: gang}, {name: proportion}"),
    )
    search = searched(replay_cycle(snapshot), "default/j")
    first = search.best_plans[0]
    assert first.is_proven
    for place in range(len(first.plan.fixes)):
        edits = map(parse_edit, first.plan.without_fixes([place]).all_edits)
        assert not explain_by_name(replay_cycle(edited_snapshot(snapshot, edits)), "default/j").scheduled


def test_fixes_for_a_device_without_nodes_remove_the_request_or_add_a_node() -> None:
    recording = replay_cycle(
        cluster(node("n1"), queue("default"), pod_group("j"), pods("j", 1, requests={"example.com/fpga": "1"}))
    )
    found = {one.plan_words for one in searched(recording, "default/j").best_plans if one.is_proven}
    assert {
        "1 pod: remove request example.com/fpga (no node provides it)",
        "Add 1 node like n1 but with 1 example.com/fpga",
    } <= found


def test_a_device_plugin_is_missed_first_on_the_node_that_reports_other_devices() -> None:
    gpus = node("n1", **{"nvidia.com/gpu": "2"})
    waits = pods("j", 1, requests={"volcano.sh/vgpu-number": "1"})
    found = proven(cluster(node("n0"), gpus, queue("default"), pod_group("j"), waits), "default/j")
    plugin = "Run the device plugin for volcano.sh/vgpu-number on n1 (which reports 2 nvidia.com/gpu)"
    assert plugin == next(iter(found))


def test_a_claim_is_never_replaced_by_a_volume_without_its_data() -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "lost"}}
    recording = replay_cycle(
        cluster(node("n1"), queue("default"), pod_group("j"), pods("j", 1, cpu="1", volumes=[volume]))
    )
    edits = [edit for one in searched(recording, "default/j").best_plans for edit in one.plan.all_edits]
    assert not [edit for edit in edits if "emptyDir" in edit]


def test_a_role_whose_pods_are_gone_is_taken_out_before_the_gang_is_made_smaller() -> None:
    group = pod_group("j", min_member=2, min_task_member={"old": 1, "new": 1})
    workers = pods("j", 2, cpu="1", role="new")
    found = [
        one.plan_words
        for one in searched(replay_cycle(cluster(node("n1"), queue("default"), group, workers)), "default/j").best_plans
    ]
    assert found[0] == "default/j: remove role old from minTaskMember (0 of 1 pod exists)"
    assert any("role minimums are ignored" in words for words in found)


def test_fix_ends_as_few_pods_as_needed() -> None:
    recording = replay_cycle(
        cluster(
            node("n1", cpu="4"),
            queue("default"),
            pod_group("old", phase="Running"),
            pods("old", 4, cpu="1", on="n1"),
            pod_group("new"),
            pods("new", 1, cpu="1"),
            conf=CONF,
        )
    )
    found = [one.plan_words for one in searched(recording, "default/new").best_plans]
    assert "End 1 of 4 running pods of default/old" in found


def test_no_fix_tolerates_a_node_that_is_not_ready() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    snapshot = cluster(node("n1", taints=[taint]), queue("default"), pod_group("j"), *pods("j", 1, cpu="1"), conf=CONF)
    assert not [words for words in proven(snapshot, "default/j") if "toleration" in words or "Remove taint" in words]


def test_fixes_that_override_a_taint_come_last() -> None:
    tainted = node("n1", taints=[{"key": "maintenance", "value": "firmware", "effect": "NoSchedule"}])
    full = node("n2", cpu="1")
    snapshot = cluster(tainted, full, queue("default"), pod_group("j"), *pods("j", 1, cpu="2"), conf=CONF)
    found = searched(replay_cycle(snapshot), "default/j").best_plans
    assert [False, False, True, True] == [one.plan.worst_kind is FixKind.OVERRIDE for one in found]
    assert found[-2].plan_words.startswith("Add a toleration for maintenance=firmware:NoSchedule (1 node), if")
    assert found[-1].plan_words.startswith("Remove taint maintenance from 1 node when")


def test_a_label_that_describes_a_node_is_not_written_by_hand() -> None:
    wanted = {"topology.kubernetes.io/zone": "b"}
    snapshot = cluster(node("n1"), queue("default"), pod_group("j"), *pods("j", 1, nodeSelector=wanted), conf=CONF)
    assert not [words for words in proven(snapshot, "default/j") if words.startswith("Label")]


def test_a_job_without_pods_is_helped_when_it_is_admitted() -> None:
    snapshot = cluster(
        node("n1", cpu="4"),
        queue("q", capability={"cpu": "2"}),
        queue("default"),
        pod_group("j", queue="q", phase="Pending", min_resources={"cpu": "3"}),
        conf=CONF.replace("{name: gang}", "{name: gang}, {name: proportion}"),
    )
    found = proven(snapshot, "default/j")
    raised = found["Queue q: capability.cpu 2 -> 3"]
    assert (
        "admits the job; its pods would fit n1 (assumed: 1 pod of 3 cpu, from minResources and minMember)"
    ) == describe_result(raised)
    assert (False, 0, "not-enough-pods") == (raised.outcome.scheduled, raised.outcome.placed, raised.outcome.cause)


def test_admission_of_a_job_that_does_not_fit_is_no_fix() -> None:
    snapshot = cluster(
        node("n1", cpu="4"),
        queue("default"),
        pod_group("j", phase="Pending", min_member=2, min_resources={"cpu": "10"}),
        conf=CONF.replace("{name: gang}", "{name: gang}, {name: overcommit}"),
    )
    search = searched(replay_cycle(snapshot), "default/j")
    smaller = "Submit default/j with minResources.cpu 10 -> 4 and smaller pods"
    larger = "Add 2 nodes like n1 but with 5 cpu"
    assert [larger, smaller] == [one.plan_words for one in search.best_plans if one.is_proven]
    half = {one.plan_words: describe_result(one) for one in search.best_plans if not one.is_proven}
    raised = half["overcommit: overcommit-factor 1.2 -> 2.5"]
    assert raised.endswith("(assumed: 2 pods of 5 cpu, from minResources and minMember)")


def test_pods_to_come_are_tried_as_the_template_states_them_and_get_whole_devices() -> None:
    group = pod_group("j", queue="q", phase="Pending", min_member=2, min_resources={"cpu": "2", "nvidia.com/gpu": "8"})
    template = {
        "spec": {**pods("t", 1, requests={"cpu": "1", "nvidia.com/gpu": "4"})[0]["spec"], "nodeSelector": {"pool": "a"}}
    }
    tasks = {"tasks": [{"name": "w", "replicas": 2, "template": template}]}
    group["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j"}]
    job = {"kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": tasks}
    nodes = [node("n1", cpu="8", gpu="8", labels={"pool": "a"}), node("n2", cpu="8", gpu="8")]
    small = queue("q", capability={"nvidia.com/gpu": "3"})
    conf = CONF.replace("{name: gang}", "{name: gang}, {name: proportion}")
    found = proven(cluster(nodes, small, queue("default"), group, job, conf=conf), "default/j")
    raised = found["Queue q: capability.nvidia.com/gpu 3 -> 8"]
    whole = "(assumed: 2 pods of 1 cpu, 4 nvidia.com/gpu, from the pod template)"
    assert f"admits the job; its pods would fit n1 {whole}" == describe_result(raised)
    assert "Submit default/j with minResources.nvidia.com/gpu 8 -> 2 and smaller pods" in found


@pytest.mark.parametrize("kind", ["SparkApplication", "RayCluster"])
def test_the_minimum_of_a_spark_application_does_not_tell_the_size_of_its_pods(kind: str) -> None:
    group = pod_group("j", queue="q", phase="Pending", min_resources={"cpu": "3"})
    group["metadata"]["ownerReferences"] = [{"kind": kind, "name": "j"}]
    conf = CONF.replace("{name: gang}", "{name: gang}, {name: proportion}")
    small = queue("q", capability={"cpu": "2"})
    found = proven(cluster(node("n1", cpu="4"), small, queue("default"), group, conf=conf), "default/j")
    unknown = describe_result(found["Queue q: capability.cpu 2 -> 3"]).endswith("(their size is not in the snapshot)")
    assert unknown is (kind == "SparkApplication")


def test_fix_states_that_the_size_of_missing_pods_is_unknown() -> None:
    conf = CONF.replace("enqueue, allocate, backfill", "backfill")
    snapshot = cluster(node("n1"), queue("default"), pod_group("j", phase="Pending"), conf=conf)
    found = proven(snapshot, "default/j")['Configuration: actions -> "enqueue, backfill" (adds enqueue)']
    assert describe_result(found).endswith("whether its pods fit is unknown (their size is not in the snapshot)")


def test_what_min_resources_counted_beyond_the_pods_that_are_there_is_said() -> None:
    snapshot = cluster(
        node("n1", cpu="8"),
        queue("default"),
        pod_group("j", phase="Pending", min_resources={"cpu": "10"}),
        *pods("j", 1, cpu="1"),
        conf=CONF.replace("{name: gang}", "{name: gang}, {name: overcommit}"),
    )
    found = proven(snapshot, "default/j")["Bypass: remove spec.minResources of default/j (skips the admission check)"]
    assert describe_result(found).endswith(
        "its pods that are not there yet ask 9 cpu (7 would be free), so not all of them start"
    )


@pytest.mark.parametrize("is_stored", [False, True])
def test_pickled_fix_trials_give_the_same_outcome(is_stored: bool, tmp_path: Path) -> None:
    recording = bundled("pending-queue-quota")
    if is_stored:
        save_recording(recording, tmp_path / "stored")
        recording = open_recording(tmp_path / "stored")
    explanation = explain_by_name(recording, "vision/image-captioning")
    here = FixTrials.of_recording(recording, explanation)
    there = pickle.loads(pickle.dumps(here))
    edits = ("Queue/team-vision:spec.capability[nvidia.com/gpu]=18",)
    assert here(edits) == there(edits)


def test_pod_without_requests_gets_a_pod_group_and_backfill() -> None:
    conf = CONF.replace("enqueue, allocate, backfill", "enqueue, allocate")
    search = searched(replay_cycle(cluster(node("n1"), queue("default"), pod("web"), conf=conf)), "default/web")
    first = search.best_plans[0]
    assert first.is_proven
    assert (
        'Create PodGroup default/podgroup-web; Configuration: actions -> "enqueue, allocate, backfill" (adds backfill)'
        == first.plan_words
    )


def test_a_search_that_is_stopped_keeps_what_it_found_and_says_so() -> None:
    recording = bundled("preempt-blocked-by-gang")
    explanation = explain_by_name(recording, "research/llm-finetune")
    trials = FixTrials.of_recording(recording, explanation)
    search = start_search(recording, explanation)
    run_search(search, lambda wanted: [trials(edits) for edits in wanted], lambda search: not search.best_plans)
    assert (False, True) == (search.is_finished, bool(search.best_plans))


def test_fixes_that_keep_the_job_come_before_those_that_shrink_it() -> None:
    found = [
        one.plan.fixes[0].kind is FixKind.SMALLER
        for one in found_for("pending-scheduling-gate", "genomics/variant-calling").best_plans
    ]
    assert found == [False, True]


def test_a_missing_pod_group_is_created() -> None:
    there = (node("n1"), pod_group("other"), *pods("lost", 1))
    named = searched(replay_cycle(cluster(*there)), "default/lost").best_plans[0]
    assert ("Create PodGroup default/lost", True) == (named.plan_words, named.outcome.scheduled)


def test_a_pod_that_names_no_pod_group_is_given_one() -> None:
    recording = replay_cycle(cluster(node("n1"), pod("web", requests={"cpu": "1"})))
    found = searched(recording, "default/web").best_plans[0]
    assert ("Create PodGroup default/podgroup-web", True) == (found.plan_words, found.outcome.scheduled)


def test_the_pods_that_a_gang_lacks_are_created() -> None:
    recording = replay_cycle(cluster(node("n1"), pod_group("train", min_member=3), pods("train", 1)))
    words = [remedy.plan_words for remedy in searched(recording, "default/train").best_plans if remedy.is_proven]
    assert "Create the 2 missing pods of the gang (like train-0)" in words


@pytest.mark.parametrize("present", ["1", "100m"])
def test_no_fix_lowers_a_request_to_0(present: str) -> None:
    recording = replay_cycle(
        cluster(node("n1", cpu="1"), pod_group("train", min_member=2), pods("train", 2, cpu=present))
    )
    fix = smaller_amount("cpu", 1000)
    assert fix is not None
    assert 0 < fix.working < fix.failing
    assert smaller_amount("nvidia.com/gpu", 1) is None
    search = searched(recording, "default/train")
    assert [] == [remedy for remedy in search.best_plans if "ask for 0" in remedy.plan_words]
