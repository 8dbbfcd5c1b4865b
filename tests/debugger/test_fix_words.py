"""What a fix changes and what it costs, in words that hold for the snapshot."""

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.debugger.test_remedies import CONF, proven, searched
from tests.recorded import bundled, recorded, recorded_path
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.plugins.nodegroup import GROUP_LABEL
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.fixes.plan import describe_result, describe_short_plan
from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
from vcdebug.whatif.fixes.trial import Cost, CostKind


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_plan_tells_how_many_pods_of_other_jobs_go_to_the_nodes_that_it_adds(before: int) -> None:
    conf = conf_of("priority gang", "predicates nodeorder", actions="allocate")
    used = [pod_group("r", phase="Running"), *pods("r", 1, cpu="4", on="n1")]
    ahead = [pod_group("a", priority_class="high", min_member=1), *pods("a", before, cpu="4", priority=9)]
    objects = [node("n1", cpu="4"), priority_class("high", 9), *used, *(ahead if before else [])]
    found = proven(cluster(*objects, pod_group("j"), pods("j", 1, cpu="4"), conf=conf), "default/j")
    plan = found[f"Add {before + 1} node{'s' if before else ''} like n1"]
    others = "the other added node gets 1 pod" if before == 1 else "the other added nodes get 3 pods"
    assert (f"({others} of default/a)" in describe_result(plan)) == (before > 0)


def test_the_only_added_node_is_no_other_node_where_another_job_gets_it() -> None:
    recording = recorded(recorded_path("threads/5805-stranded-member-loses-its-slot"))
    search = searched(recording, "team/gang-training")
    plan = next(plan for plan in search.best_plans if plan.plan_words == "Add 1 node like w1")
    assert "places 1 pod on w2 (the added node gets 1 pod of team/filler)" == describe_result(plan)


@pytest.mark.parametrize(("network", "fields"), [(False, "hostPort"), (True, "hostPort and containerPort")])
def test_a_fix_of_a_port_names_the_pods_and_each_field_that_changes(network: bool, fields: str) -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    taken = [pod_group("r", phase="Running"), *pods("r", 1, on="n1", hostNetwork=network)]
    job = [pod_group("j", min_member=1), *pods("j", 1, hostNetwork=network)]
    for each in (taken[1], job[1]):
        each["spec"]["containers"][0]["ports"] = ports
    found = proven(cluster(node("n1"), *taken, *job, conf=CONF), "default/j")
    plan = found[f"j-0: {fields} 80 -> 81"]
    assert all(name in " ".join(plan.plan.all_edits) for name in fields.split(" and "))


@pytest.mark.parametrize(
    ("thread", "job", "said"),
    [
        (
            "1091-enqueue-before-preempt",
            "team/sleep-high",
            "1 pod of 3 cpu (assumed from minResources) would then fit n1; for it the cycle evicts 1 pod of",
        ),
        (
            "4643-gang-shields-single-pods",
            "team/prod-train",
            "for 1 pod on g1; evicts 1 pod each of team/reclaimable-gpu-4, team/reclaimable-gpu-3;",
        ),
    ],
)
def test_what_a_fix_evicts_for_pods_that_do_not_exist_yet_depends_on_their_assumed_size(
    thread: str, job: str, said: str
) -> None:
    recording = recorded(recorded_path(f"threads/{thread}"))
    assert said in describe_short_plan(searched(recording, job).best_plans[0])


@pytest.mark.parametrize(
    ("resource", "stated", "words"),
    [
        ("cpu", {"requests"}, "j-0: requests.cpu 4 -> 1"),
        ("cpu", {"requests", "limits"}, "j-0: requests.cpu 4 -> 1"),
        ("example.com/gpu", {"requests", "limits"}, "j-0: requests and limits of example.com/gpu 4 -> 1"),
    ],
)
def test_a_smaller_request_names_the_fields_that_it_changes(resource: str, stated: set[str], words: str) -> None:
    job = pods("j", 1)
    parts = {part: {resource: "4"} for part in stated}
    job[0]["spec"]["containers"][0]["resources"] = {**parts, "requests": {"memory": "1Gi", resource: "4"}}
    snapshot = cluster(node("n1", **{"cpu": "1", resource: "1"}), pod_group("j"), job, conf=CONF)
    plan = proven(snapshot, "default/j")[words].plan
    assert ("limits" in words) == any(".limits" in edit for edit in plan.all_edits)


@pytest.mark.parametrize(
    ("thread", "job", "words"),
    [
        ("2907b-two-vgpus-with-process-start", "team/gpu-pod12", "gpu-pod12: limits.volcano.sh/vgpu-number 2 -> 1"),
        (
            "hami116-vgpu-gang-one-card-short",
            "team/inf-3",
            "inf-3-0: requests and limits of volcano.sh/vgpu-memory 6000 -> 4288",
        ),
    ],
)
def test_a_device_that_is_read_from_the_limits_is_made_smaller_there(thread: str, job: str, words: str) -> None:
    recording = recorded(recorded_path(f"threads/{thread}"))
    plan = next(plan for plan in searched(recording, job).best_plans if plan.plan_words == words)
    assert all((f".{part}" in " ".join(plan.plan.all_edits)) == (part in words) for part in ("requests", "limits"))


@pytest.mark.parametrize("running", [0, 1])
def test_a_job_that_waits_longer_is_not_said_to_fall_below_its_minimum(running: int) -> None:
    conf = CONF.replace("{name: gang}", "{name: priority}, {name: gang}")
    first = [pod_group("a", min_member=running + 1), *pods("a", 1, cpu="3")]
    ran = pods("a", running, cpu="1", on="n1", prefix="a-old")
    passed = [pod_group("b"), *pods("b", 1, cpu="3")]
    found = proven(cluster(node("n1", cpu="4"), *first, *ran, *passed, conf=conf), "default/b")
    raised = found["Submit default/b with a PriorityClass above 0, the priority of default/a"]
    said = "leaves default/a below minMember" if running else "default/a then stays Pending"
    assert (Cost(CostKind.DELAY, said),) == raised.outcome.costs


def test_a_fix_that_changes_the_order_of_actions_names_the_order_and_what_it_still_evicts() -> None:
    recording = recorded(recorded_path("threads/r1-evicted-for-a-job-that-got-nothing"))
    first = searched(recording, "default/job-21").best_plans[0]
    assert first.plan_words.endswith("(allocate and backfill before gangpreempt)")
    assert "reserves room for 4 pods on node-009" == describe_result(first)
    evicted = "still evicts 4 pods (3 of default/job-17, 1 of default/job-12)"
    assert (Cost(CostKind.EVICTION, evicted),) == first.outcome.costs


@pytest.mark.parametrize("running", [0, 1])
def test_pods_of_a_gang_that_ran_are_left_to_their_controller(running: int) -> None:
    group = pod_group("j", min_member=3, phase="Running" if running else "Inqueue")
    found = proven(cluster(node("n1"), group, *pods("j", 1, on="n1" if running else ""), conf=CONF), "default/j")
    verb = "Have the controller recreate" if running else "Create"
    assert f"{verb} the 2 missing pods of the gang (like j-0)" in found


@pytest.mark.parametrize(
    ("reason", "warned"),
    [("OutOfcpu", True), ("UnexpectedAdmissionError", True), ("Evicted", False), ("Error", False), ("", False)],
)
def test_a_pod_that_a_kubelet_has_rejected_is_not_promised_a_start_on_its_node(reason: str, warned: bool) -> None:
    failed, *_ = pods("j", 1, on="n1", phase="Failed")
    failed["status"]["reason"] = reason
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "w", "uid": "w", "controller": True}
    failed["metadata"]["ownerReferences"] = [owner]
    found = proven(cluster(node("n1"), pod_group("j"), failed, conf=CONF), "default/j")
    words = next(one for one in found if one.startswith("Have the controller recreate the 1 missing pod"))
    assert warned is words.endswith("(like j-0; the kubelet of n1 rejected it and can do so again)")


@pytest.mark.parametrize(("plugin", "cpu", "is_behind"), [("overcommit", "8", True), ("proportion", "16", False)])
def test_smaller_min_resources_rank_behind_a_node_if_later_pods_lack_room(
    plugin: str, cpu: str, is_behind: bool
) -> None:
    group = pod_group("j", phase="Pending", min_resources={"cpu": "10"})
    conf = CONF.replace("{name: gang}", f"{{name: gang}}, {{name: {plugin}}}")
    limited = queue("default", capability={"cpu": "8"}) if plugin == "proportion" else queue("default")
    found = proven(cluster(node("n1", cpu=cpu), limited, group, *pods("j", 1), conf=conf), "default/j")
    smaller = next(words for words in found if words.startswith("default/j: minResources.cpu 10 ->"))
    assert found[smaller].outcome.starts_only_a_part == is_behind
    assert ("Add 1 node like n1" in [*found][: [*found].index(smaller)]) == is_behind


@pytest.mark.parametrize(
    ("priority", "first"), [("volcano-high", "Configuration: actions ->"), ("volcano-low", "Queue q3")]
)
def test_the_switch_that_lets_preempt_act_comes_first_only_for_a_job_of_higher_priority(
    priority: str, first: str
) -> None:
    snapshot = load_snapshot(recorded_path("threads/1091-enqueue-before-preempt"))
    edit = parse_edit(f"PodGroup/team/sleep-high:spec.priorityClassName={priority}")
    found = searched(replay_cycle(edited_snapshot(snapshot, [edit])), "team/sleep-high").best_plans
    assert (first, True) == (found[0].plan_words[: len(first)], found[0].is_proven)


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "cpu"])
def test_half_of_what_a_pod_requests_is_proposed_before_a_new_node(resource: str) -> None:
    used = [pod_group("r", phase="Running"), *pods("r", 1, requests={resource: "4"}, on="n1")]
    machine = node("n1", **{"cpu": "8", resource: "8"})
    job = [pod_group("j"), *pods("j", 1, requests={resource: "8"})]
    found = list(proven(cluster(machine, *used, *job, conf=CONF), "default/j"))
    smaller = found.index(f"j-0: requests.{resource} 8 -> 4")
    assert smaller < found.index("Add 1 node like n1")


def test_reclaim_that_no_queue_allows_is_tried_with_queues_that_allow_it() -> None:
    recording = recorded(recorded_path("threads/4995-guarantee-does-not-work"))
    words = [plan.plan_words for plan in searched(recording, "team/job-3").best_plans]
    assert any(each.endswith("spec.reclaimable -> true of queue-1, queue-2") for each in words)
    assert "Submit team/job-3 with minResources cpu 4 -> 1, memory 4Gi -> 1Gi and smaller pods" in words


@pytest.mark.parametrize(
    ("thread", "job", "first"),
    [
        ("1901-sla-in-the-same-tier", "team/middle", "Move sla into its own first tier"),
        # The factor alone does not admit the job.
        ("3910-factor-beside-arguments", "spark/spark-sleep-pg", "Configuration: actions"),
        ("1091-enqueue-before-preempt", "team/sleep-high", "Configuration: actions"),
    ],
)
def test_the_correction_of_a_named_fault_comes_first_even_if_another_cause_remains(
    thread: str, job: str, first: str
) -> None:
    recording = recorded(recorded_path(f"threads/{thread}"))
    search = search_few_fixes(recording, explain_by_name(recording, job))
    assert search is not None
    plans = short_plans(search)
    assert plans[0].plan_words.startswith(first)
    assert [plan.is_proven for plan in plans].count(False) <= 1


@pytest.mark.parametrize("stated", ["", "v1.15.1", "v1.12.4"])
def test_dry_runs_of_preempt_are_tried_where_other_pods_exclude_the_preemptor(stated: str) -> None:
    snapshot = load_snapshot(recorded_path("threads/2976-preempt-against-anti-affinity"), release=stated or None)
    first = searched(replay_cycle(snapshot), "team/high").best_plans[0].plan_words
    since = "" if stated else ", from v1.13.0 on"
    dry_run = f"preempt: enableTopologyAwarePreemption -> true (predicates is then asked without the victims{since})"
    assert (first == dry_run) is (stated != "v1.12.4")


def test_a_setting_that_does_not_suffice_is_shown_with_the_setting_that_completes_it() -> None:
    # With the node's network the pods need a host port, so that no single change places them.
    edits = [parse_edit(f"Pod/ml/serve-{number}:spec.hostNetwork=true") for number in (0, 1)]
    recording = replay_cycle(edited_snapshot(bundled("pending-refused-by-filters").snapshot, edits))
    search = search_few_fixes(recording, explain_by_name(recording, "ml/serve"))
    assert search is not None
    plan, smaller, *_ = short_plans(search)
    assert 2 == len(plan.plan.fixes)
    assert plan.is_proven
    assert plan.plan.worst_kind < smaller.plan.worst_kind


@pytest.mark.parametrize(("release", "told"), [("", True), ("v1.15.0", False)])
def test_a_name_that_older_releases_ignore_is_advised_first_if_the_release_is_unknown(release: str, told: bool) -> None:
    snapshot = load_snapshot(recorded_path("threads/5189-tier-name-of-a-subgroup"))
    edits = [parse_edit(f"flag:release={release}")] if release else []
    advised = explain_by_name(replay_cycle(edited_snapshot(snapshot, edits)), "team/topo").advised
    first = " ".join(line.text for line in advised if line.comes_first)
    assert ("ignores highestTierName, upgrade, or state highestTierAllowed 1" in first) == told


def test_pods_of_one_template_that_take_each_others_host_port_get_a_template_without_it() -> None:
    members = pods("j", 3, cpu="1")
    for member in members:
        member["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    snapshot = cluster(node("n1"), node("n2"), pod_group("j", min_member=3), members, conf=CONF)
    assert "Remove hostPort 80 from the pod template" in proven(snapshot, "default/j")


ASKS_FIRST = {"name": "fetch", "resources": {"requests": {"cpu": "12"}}}
STAYS = {"name": "proxy", "restartPolicy": "Always", "resources": {"requests": {"cpu": "6"}}}


@pytest.mark.parametrize(
    ("stated", "total", "fact", "change"),
    [
        (
            {"initContainers": [ASKS_FIRST]},
            "12",
            "Its init container fetch asks 12 cpu; its containers ask 5 in total.",
            "j-0, init container fetch: requests.cpu 12 -> 10",
        ),
        (
            {"initContainers": [ASKS_FIRST], "overhead": {"cpu": "1"}},
            "13",
            "1 cpu of this is for the overhead of its RuntimeClass.",
            "j-0, init container fetch: requests.cpu 12 -> 9",
        ),
        (
            {"initContainers": [STAYS]},
            "11",
            "6 cpu of this is for its sidecars.",
            "j-0, init container proxy: requests.cpu 6 -> 5",
        ),
        (
            {"overhead": {"cpu": "6"}},
            "11",
            "6 cpu of this is for the overhead of its RuntimeClass.",
            "j-0: requests.cpu 5 -> 4",
        ),
    ],
)
def test_a_request_above_that_of_the_containers_says_why_and_is_lowered_where_it_is_stated(
    stated: dict[str, Any], total: str, fact: str, change: str
) -> None:
    (member,) = pods("j", 1, cpu="5")
    member["spec"] |= stated
    snapshot = cluster(node("n1", cpu="10"), pod_group("j"), member, conf=CONF)
    found = explain_by_name(replay_cycle(snapshot), "default/j").dominant
    assert f"asks {total} cpu, more than any node has" in found.sentence
    assert fact in found.facts
    fixes = proven(snapshot, "default/j")
    assert change in fixes
    assert f"Add 1 node like n1 but with {total} cpu" in fixes


def test_a_request_that_only_the_containers_make_says_nothing_about_its_parts() -> None:
    (member,) = pods("j", 1, cpu="12")
    member["spec"]["initContainers"] = [{"name": "fetch", "resources": {"requests": {"cpu": "1"}}}]
    snapshot = cluster(node("n1", cpu="10"), pod_group("j"), member, conf=CONF)
    facts = explain_by_name(replay_cycle(snapshot), "default/j").dominant.facts
    assert [] == [fact for fact in facts if "init container" in fact or "of this" in fact]


@pytest.mark.parametrize(
    ("group", "change"),
    [
        (None, "Label node n1 with volcano.sh/nodegroup-name=gpu, if correct"),
        ("cpu", f"Relabel node n1 from {GROUP_LABEL}=cpu to {GROUP_LABEL}=gpu, if its other users agree"),
        ("gpu", None),
    ],
)
def test_a_node_outside_the_group_that_the_queue_requires_is_labelled(group: str | None, change: str | None) -> None:
    only, team = node("n1"), queue("team")
    team["spec"]["affinity"] = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["gpu"]}}
    only["metadata"]["labels"] |= {} if group is None else {"volcano.sh/nodegroup-name": group}
    # Without room where the group is right, so that a label is not what the job lacks.
    cpu = "1" if group != "gpu" else "20"
    objects = (only, team, pod_group("j", queue="team"), pods("j", 1, cpu=cpu))
    found = proven(cluster(*objects, conf=conf_of("gang", "predicates nodegroup")), "default/j")
    assert (change in found) if change else not any("abel node" in words for words in found)


ZONE, REQUIRED = "topology.kubernetes.io/zone", "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize("refuses", ["taint", "spread", "anti-affinity"])
def test_an_added_node_is_like_one_that_lacks_room_and_not_like_a_larger_one_that_refuses_the_pod(refuses: str) -> None:
    taints = [{"key": "team", "value": "b", "effect": "NoSchedule"}] if refuses == "taint" else []
    hosts = [
        node("large", cpu="9", labels={ZONE: "a"}, taints=taints),
        node("small", cpu="4", labels={ZONE: "b"}),
    ]
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "x"}}}
    rules: dict[str, Any] = {
        "spread": {"topologySpreadConstraints": [{**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]},
        "anti-affinity": {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}},
    }
    held = [pod_group("r", phase="Running"), *pods("r", 1, cpu="1", on="large"), pod_group("s", phase="Running")]
    held[1]["metadata"]["labels"] = {"app": "x"}
    mine = [pod_group("j"), *pods("j", 1, cpu="4", **rules.get(refuses, {}))]
    mine[1]["metadata"]["labels"] = {"app": "x"}
    full = pods("s", 1, cpu="4", on="small")
    conf = conf_of("priority gang", "predicates", actions="allocate")
    assert "Add 1 node like small" in proven(cluster(hosts, held, full, mine, conf=conf), "default/j")


@pytest.mark.parametrize("second", ["4", "8", None])
def test_a_smaller_request_names_the_container_where_several_ask_the_resource(second: str | None) -> None:
    (member,) = pods("j", 1, cpu="7")
    requests = {"cpu": second} if second else {"memory": "1G"}
    member["spec"]["containers"] += [{"name": "side", "resources": {"requests": requests}}]
    fixes = proven(
        cluster(node("n1", cpu="5" if second is None else "10"), pod_group("j"), member, conf=CONF), "default/j"
    )
    first = member["spec"]["containers"][0].get("name")
    named = {"4": f"j-0, container {first}: requests.cpu 7 -> 6", "8": "j-0, container side: requests.cpu 8 -> 3"}
    assert named.get(second or "", "j-0: requests.cpu 7 -> 5") in fixes


def test_a_short_search_drops_a_change_that_is_not_needed() -> None:
    text = conf_of("priority gang", "overcommit predicates nodeorder", actions="enqueue, allocate")
    jobs: list[Manifest] = []
    for name in ("a-first", "b-urgent"):
        jobs += [pod_group(name, phase="Pending", min_resources={"cpu": "4"}), *pods(name, 1, cpu="4")]
    used = [pod_group("used"), *pods("used", 1, cpu="4", on="n1")]
    recording = replay_cycle(cluster(node("n1", cpu="8"), used, jobs, conf=text))
    search = search_few_fixes(recording, explain_by_name(recording, "default/b-urgent"))
    assert search is not None
    first = short_plans(search)[0]
    assert ["priority"] == [fix.aspect for fix in first.plan.fixes]


def test_a_job_may_move_to_the_queue_of_a_placed_job_of_lower_priority() -> None:
    text = conf_of("priority gang", "predicates proportion nodeorder", actions="allocate")
    classes = [priority_class("low", 1), priority_class("high", 100)]
    used = [pod_group("used", queue="b"), *pods("used", 1, cpu="2", on="n1")]
    low = [pod_group("low", queue="a", priority_class="low"), *pods("low", 1, cpu="4")]
    high = [pod_group("high", queue="b", priority_class="high"), *pods("high", 1, cpu="4")]
    queues = [queue("a"), queue("b")]
    snapshot = cluster(node("n1", cpu="8"), queues, classes, used, low, high, conf=text)
    move = "Move default/high to queue a: in one queue its priority puts it before default/low"
    assert move in proven(snapshot, "default/high")
