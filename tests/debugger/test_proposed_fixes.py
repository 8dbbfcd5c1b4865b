"""Proposed fixes follow the maintainers' advice, with amounts and objects that a cluster can have."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, metadata, node, pod_group, pods, priority_class, queue
from tests.debugger.test_remedies import CONF, proven, searched
from tests.recorded import recorded, recorded_path, user_questions
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.input_problems import input_problems
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.fixes.plan import describe_result
from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
from vcdebug.whatif.fixes.trial import FixTrials

PROPORTION = CONF.replace("{name: gang}", "{name: gang}, {name: proportion}")


def resource_quota(hard: dict[str, str], used: dict[str, str]) -> Manifest:
    named = metadata("q", "default")
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": named,
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": used},
    }


def test_a_quota_without_room_for_the_missing_pods_is_raised_before_they_are_created() -> None:
    full = resource_quota({"requests.cpu": "3"}, {"requests.cpu": "2"})
    snapshot = cluster(node("n1"), pod_group("j", min_member=3), pods("j", 1, cpu="2"), full, conf=CONF)
    said = explain_by_name(replay_cycle(snapshot), "default/j").dominant.facts
    assert said[0].startswith("ResourceQuota q: 2 of 3 requests.cpu used by j-0 2 (Pending): no room for a pod of 2.")
    assert said[0].endswith(" Pending pods count too: no queue limits their creation.")
    first = next(iter(proven(snapshot, "default/j")))
    then = "the controller can then create the 2 missing pods of the gang (like j-0)"
    assert f"ResourceQuota q: hard.requests.cpu 3 -> 6; {then}" == first


def test_a_quota_with_room_for_some_of_the_missing_pods_is_raised_for_all_of_them() -> None:
    nearly_full = resource_quota({"requests.cpu": "5", "pods": "2"}, {"requests.cpu": "2", "pods": "1"})
    snapshot = cluster(node("n1"), pod_group("j", min_member=3), pods("j", 1, cpu="2"), nearly_full, conf=CONF)
    said = explain_by_name(replay_cycle(snapshot), "default/j").dominant.facts
    assert said[0].startswith(
        "ResourceQuota q: 2 of 5 requests.cpu used by j-0 2 (Pending): room for only 1 more pod of 2."
    )
    first = next(iter(proven(snapshot, "default/j")))
    raised = "ResourceQuota q: hard.requests.cpu 5 -> 6, ResourceQuota q: hard.pods 2 -> 3"
    assert f"{raised}; the controller can then create the 2 missing pods of the gang (like j-0)" == first


def test_a_quota_that_has_room_is_left_alone() -> None:
    roomy = resource_quota({"requests.cpu": "6"}, {"requests.cpu": "2"})
    snapshot = cluster(node("n1"), pod_group("j", min_member=3), pods("j", 1, cpu="2"), roomy, conf=CONF)
    assert "Create the 2 missing pods of the gang (like j-0)" == next(iter(proven(snapshot, "default/j")))


def test_a_job_whose_first_pod_no_quota_admits_gets_room_for_what_min_resources_says() -> None:
    full = resource_quota({"requests.cpu": "3"}, {"requests.cpu": "2"})
    snapshot = cluster(node("n1"), pod_group("j", min_resources={"cpu": "2"}), full, conf=CONF)
    words = (
        "ResourceQuota q: hard.requests.cpu 3 -> 4; the controller can then create 1 pod of 2 cpu, from minResources"
    )
    assert f"{words} and minMember" == next(iter(proven(snapshot, "default/j")))


def test_a_scoped_quota_counts_only_some_pods_and_is_not_taken_for_full() -> None:
    scoped = resource_quota({"requests.cpu": "3"}, {"requests.cpu": "2"})
    scoped["spec"]["scopes"] = ["NotTerminating"]
    snapshot = cluster(node("n1"), pod_group("j", min_member=3), pods("j", 1, cpu="2"), scoped, conf=CONF)
    assert "Create the 2 missing pods of the gang (like j-0)" == next(iter(proven(snapshot, "default/j")))


def test_a_capability_is_raised_in_every_dimension_that_is_short() -> None:
    small = queue("q", capability={"cpu": "3", "memory": "2Gi"})
    used = [pod_group("r", queue="q", phase="Running"), *pods("r", 1, cpu="2", memory="1Gi", on="n1")]
    waits = [pod_group("j", queue="q"), *pods("j", 1, cpu="2", memory="2Gi")]
    snapshot = cluster(node("n1"), small, *used, *waits, conf=PROPORTION)
    assert "Queue q: raise spec.capability by 1 cpu and 1Gi memory" == next(iter(proven(snapshot, "default/j")))


def test_a_misspelt_switch_is_corrected_with_the_value_that_it_has() -> None:
    conf = (
        "actions: 'allocate, preempt'\ntiers:\n- plugins: [{name: priority}, {name: gang, enabledPreemptable: false}, "
        "{name: predicates}]\n"
    )
    low = [pod_group("low", min_member=2, phase="Running"), *pods("low", 2, cpu="2", on="n1", priority=1)]
    high = [pod_group("high", priority_class="top"), *pods("high", 1, cpu="2", priority=9)]
    snapshot = cluster(node("n1", cpu="4"), priority_class("top", 9), *low, *high, conf=conf)
    first = next(iter(proven(snapshot, "default/high")))
    assert "gang: misspelled switch enabledPreemptable -> enablePreemptable: false" == first


def test_a_selector_takes_a_value_that_nodes_have_before_it_is_removed() -> None:
    wanted = {"disk": "ssd"}
    snapshot = cluster(node("n1", labels={"disk": "nvme"}), pod_group("j"), pods("j", 1, nodeSelector=wanted))
    first, second, *_ = proven(snapshot, "default/j")
    assert "nodeSelector disk: ssd -> nvme, if that is what the pods need" == first
    assert "Remove nodeSelector from the pod template" == second


def test_a_selector_that_full_nodes_meet_is_bypassed_last_and_no_node_of_another_pool_is_relabelled_before() -> None:
    pools = [node("n1", cpu="1", labels={"pool": "a"}), node("n2", labels={"pool": "b"})]
    used = [pod_group("r", phase="Running"), *pods("r", 1, cpu="1", on="n1")]
    found = list(proven(cluster(*pools, *used, pod_group("j"), pods("j", 1, nodeSelector={"pool": "a"})), "default/j"))
    relabel = "Relabel node n2 from pool=b to pool=a, if its other users agree"
    assert found.index("Add 1 node like n1") < found.index(relabel)
    assert found.index(relabel) < found.index("Bypass: remove nodeSelector from the pod template")


def test_a_closed_zone_is_waited_for_before_pods_are_deleted() -> None:
    conf = (
        "actions: allocate\ntiers:\n- plugins:\n  - name: tdm\n    arguments: {tdm.revocable-zone.z: '10:00-21:00'}\n"
    )
    zone = node("n2", labels={"volcano.sh/revocable-zone": "z"})
    used = [pod_group("r", phase="Running"), *pods("r", 1, cpu="1", on="n1")]
    job, waiting = pod_group("j"), pods("j", 1)
    for each in (job, *waiting):
        each["metadata"].setdefault("annotations", {})["volcano.sh/revocable-zone"] = "*"
    snapshot = cluster(node("n1", cpu="1"), zone, *used, job, waiting, conf=conf)
    night = replace(snapshot, now=snapshot.now.replace(hour=22))
    assert "Wait until 10:00, when revocable zone z opens" == next(iter(proven(night, "default/j")))


def test_a_job_that_another_of_its_queue_passed_is_given_a_priority_above_it() -> None:
    conf = CONF.replace("{name: gang}", "{name: priority}, {name: gang}")
    first = [pod_group("a"), *pods("a", 1, cpu="3")]
    passed = [pod_group("b"), *pods("b", 1, cpu="3")]
    found = proven(cluster(node("n1", cpu="4"), *first, *passed, conf=conf), "default/b")
    raised = found["Submit default/b with a PriorityClass above 0, the priority of default/a"]
    assert "default/a then stays Pending" == raised.side_effects


def test_less_than_half_of_a_request_is_proposed_behind_a_new_node() -> None:
    used = [pod_group("r", phase="Running"), *pods("r", 1, cpu="3", on="n1")]
    snapshot = cluster(node("n1", cpu="4"), *used, pod_group("j"), pods("j", 1, cpu="4"), conf=CONF)
    found = list(proven(snapshot, "default/j"))
    assert found.index("Add 1 node like n1") < found.index("j-0: requests.cpu 4 -> 1")


@pytest.mark.parametrize("case", user_questions(), ids=lambda path: path.name)
def test_the_fixes_of_a_users_question_give_what_they_say(case: Path) -> None:
    question = json.loads((case / "question.json").read_text())
    release = question.get("release")
    recording = replay_cycle(load_snapshot(case, release=release)) if release else recorded(case)
    explanation = explain_by_name(recording, question["job"])
    search = search_few_fixes(recording, explanation) if explanation.wants_fixes else None
    for one in short_plans(search) if search is not None else ():
        after = replay_cycle(edited_snapshot(recording.snapshot, map(parse_edit, one.plan.all_edits)))
        found = explain_by_name(after, question["job"])
        assert (one.outcome.scheduled, one.outcome.cause) == (found.scheduled, found.cause_code), one.plan_words


def test_a_plain_answer_has_one_fix_of_each_aspect() -> None:
    held = [pod_group("r", phase="Running", min_member=1), *pods("r", 2, cpu="2", on="n1")]
    classes = [priority_class(name, value) for name, value in (("low", 10), ("mid", 100), ("high", 1000))]
    conf = conf_of("priority gang", "predicates nodeorder", actions="allocate, preempt")
    mine = [pod_group("j"), *pods("j", 1, cpu="2")]
    recording = replay_cycle(cluster(node("n1", cpu="4"), classes, held, mine, conf=conf))
    search = search_few_fixes(recording, explain_by_name(recording, "default/j"))
    assert search is not None
    shown = [one.plan_words for one in short_plans(search)]
    assert 1 == len([words for words in shown if words.startswith("Submit default/j with ")]), shown


def test_the_search_of_a_plain_answer_agrees_with_the_whole_one_on_its_first_fix() -> None:
    used = [pod_group("r", phase="Running"), *pods("r", 1, cpu="3", on="n1")]
    recording = replay_cycle(cluster(node("n1", cpu="4"), *used, pod_group("j"), pods("j", 1, cpu="2"), conf=CONF))
    few = search_few_fixes(recording, explain_by_name(recording, "default/j"))
    assert few is not None
    assert searched(recording, "default/j").best_plans[0].plan_words == few.settled_plans[0].plan_words


def test_a_short_search_is_kept_for_the_next_answer_unless_it_was_ended_early() -> None:
    used = [pod_group("r", phase="Running"), *pods("r", 1, cpu="3", on="n1")]
    recording = replay_cycle(cluster(node("n1", cpu="4"), *used, pod_group("j"), pods("j", 1, cpu="2"), conf=CONF))
    explanation = explain_by_name(recording, "default/j")
    ended = search_few_fixes(recording, explanation, lambda: False)
    complete = search_few_fixes(recording, explanation)
    assert (ended is not None and not ended.settled_plans, complete is ended) == (True, False)
    assert search_few_fixes(recording, explanation) is complete


def test_a_fix_that_works_alone_is_not_shown_with_others_on_top() -> None:
    limited = queue("q", capability={"cpu": "4"}, deserved={"cpu": "0"})
    used = [pod_group("r", queue="q", phase="Running"), *pods("r", 1, cpu="4", on="n1")]
    conf = CONF.replace("{name: gang}", "{name: gang}, {name: capacity}")
    waits = [pod_group("j", queue="q"), *pods("j", 1, cpu="3")]
    found = proven(cluster(node("n1", cpu="16"), limited, *used, *waits, conf=conf), "default/j")
    assert "Queue q: capability.cpu 4 -> 7" in found
    assert not [words for words in found if "deserved.cpu" in words]


PARTITIONS = {
    "minTaskMember": {"worker": 12},
    "subGroupPolicy": [
        {
            "name": "worker",
            "subGroupSize": 3,
            "minSubGroups": 2,
            "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
            "matchLabelKeys": ["volcano.sh/partition-id"],
        }
    ],
}


def test_a_job_without_pods_starts_with_as_many_whole_subgroups_as_its_queue_takes() -> None:
    group = pod_group("j", queue="q", phase="Pending", min_member=12, min_resources={"cpu": "24"})
    group["spec"].update(PARTITIONS)
    nodes = [node(f"n{number}", cpu="32") for number in range(2)]
    snapshot = cluster(*nodes, queue("q", capability={"cpu": "20"}), group, conf=PROPORTION)
    assert (
        "Its subgroups need only 6 pods (minSubGroups 2 x subGroupSize 3), and minMember asks for 12."
    ) in explain_by_name(replay_cycle(snapshot), "default/j").dominant.facts
    found = proven(snapshot, "default/j")
    fewer = found["default/j: minMember 12 -> 9, minResources in proportion"]
    assert fewer.outcome.assumed is not None
    assert (True, "9 pods of 2 cpu, from minResources and minMember") == (
        fewer.outcome.assumed.scheduled,
        str(fewer.outcome.assumed.size),
    )
    # The assumed pods have the role and the partitions that the PodGroup requires.
    assert found["Queue q: capability.cpu 20 -> 24"].outcome.is_reached


def rejected_beside_a_victim(*, protected: bool) -> Snapshot:
    """A queue at its limit because of a lower-priority job, and a job that enqueue rejects."""
    switches = {} if protected else {"gang": {"enablePreemptable": "false"}}
    actions, second = "enqueue, allocate, preempt", "predicates proportion nodeorder"
    conf = conf_of("priority gang conformance", second, actions=actions, arguments=switches)
    low = [pod_group("low", queue="q", phase="Running", min_resources={"cpu": "3"}), *pods("low", 1, cpu="3", on="n1")]
    high = pod_group("high", queue="q", phase="Pending", priority_class="top", min_resources={"cpu": "3"})
    waiting = pods("high", 1, cpu="3", priority=9)
    limit = queue("q", capability={"cpu": "3"})
    return cluster(node("n1", cpu="8"), limit, priority_class("top", 9), *low, high, *waiting, conf=conf)


DROPPED = "drops enqueue: every job then counts as admitted, so preempt considers it"
DROPS_ENQUEUE = f'Configuration: actions -> "allocate, preempt" ({DROPPED})'


def test_fix_removes_enqueue_if_it_keeps_the_job_from_preempt() -> None:
    snapshot = rejected_beside_a_victim(protected=False)
    facts = explain_by_name(replay_cycle(snapshot), "default/high").dominant.facts
    assert facts[-1].endswith("preempt considers only admitted jobs.")
    found = proven(snapshot, "default/high")
    evicted = "evicts 1 pod of default/low; leaves default/low below minMember"
    assert evicted == found[DROPS_ENQUEUE].side_effects


def test_what_stops_the_job_once_admitted_is_said() -> None:
    snapshot = rejected_beside_a_victim(protected=True)
    recording = replay_cycle(snapshot)
    explanation = explain_by_name(recording, "default/high")
    protection = (
        "gang would protect the only candidate victim. Evicting one pod would leave default/low below minMember 1"
    )
    assert f"preempt considers only admitted jobs, and {protection} (1 ready)." in explanation.dominant.facts[-1]
    assert DROPS_ENQUEUE not in proven(snapshot, "default/high")
    outcome = FixTrials.of_recording(recording, explanation)(('conf:actions="allocate, preempt"',))
    assert outcome is not None
    assert "(3 short), and preempt may evict nothing (gang)." in str(outcome.headline)


def protected_by_priority(*objects: Manifest | list[Manifest], own: int) -> Snapshot:
    """A full node whose pods priority protects from a job in the same queue."""
    conf = conf_of("priority", "predicates nodeorder", actions="allocate, preempt")
    waits = [pod_group("j", priority_class="mid"), *pods("j", 1, cpu="2", priority=own)]
    return cluster(node("n1", cpu="4"), priority_class("mid", own), *objects, *waits, conf=conf)


def test_a_job_whose_victims_have_its_own_priority_is_given_a_higher_one() -> None:
    equals = [pod_group("low", phase="Running", priority_class="mid"), *pods("low", 2, cpu="2", on="n1", priority=5)]
    found = proven(protected_by_priority(*equals, own=5), "default/j")
    first, raised = next(iter(found.items()))
    assert "Submit default/j with a PriorityClass above 5 (the lowest of the candidate victims)" == first
    assert "evicts 1 pod of default/low" == raised.side_effects


def test_the_class_of_a_pod_group_that_protects_pods_of_a_lower_one_is_named_and_lowered() -> None:
    classes = [priority_class("top", 1000), priority_class("low", 1)]
    spared = [
        pod_group("ray", phase="Running", priority_class="top"),
        *pods("ray", 2, cpu="2", on="n1", priority=1, priorityClassName="low"),
    ]
    snapshot = protected_by_priority(classes, *spared, own=5)
    said = explain_by_name(replay_cycle(snapshot), "default/j").dominant.facts[0]
    of_group = "priorityClassName top of its PodGroup; its pods' own priority 1 does not count"
    assert said.endswith(f"default/ray, has 1000 ({of_group}).")
    first = "PodGroup default/ray: priorityClassName top -> low (that of ray-0)"
    assert first == next(iter(proven(snapshot, "default/j")))


def test_a_pod_of_the_group_that_has_its_class_is_named_where_the_class_is_lowered() -> None:
    classes = [priority_class("top", 1000), priority_class("low", 1)]
    spared = [
        pod_group("ray", phase="Running", priority_class="top"),
        *pods("ray", 1, cpu="2", on="n1", priority=1, priorityClassName="low"),
        *pods("ray", 1, prefix="head", cpu="2", on="n1", priority=1000, priorityClassName="top"),
    ]
    words = "priorityClassName top -> low (that of ray-0; it then counts for head-0 too)"
    assert f"PodGroup default/ray: {words}" in proven(protected_by_priority(classes, *spared, own=5), "default/j")


@pytest.mark.parametrize("count", [2, 3])
def test_a_smaller_gang_of_which_pods_stay_pending_is_proposed_after_room_for_all(count: int) -> None:
    conf = conf_of("gang", "predicates nodeorder", actions="allocate")
    waits = [pod_group("j", min_member=count), *pods("j", count, cpu="3")]
    found = list(proven(cluster(node("n1", cpu="4"), waits, conf=conf), "default/j"))
    smaller, added = (next(at for at, words in enumerate(found) if part in words) for part in ("minMember", "Add "))
    assert added < smaller


@pytest.mark.parametrize("polite", [True, False])
def test_a_class_whose_pods_may_not_preempt_is_not_proposed_and_one_effect_is_shown_once(polite: bool) -> None:
    equals = [pod_group("low", phase="Running", priority_class="mid"), *pods("low", 2, cpu="2", on="n1", priority=5)]
    classes = [priority_class("next", 7), priority_class("top", 9)]
    classes[0] |= {"preemptionPolicy": "Never"} if polite else {}
    raised = [
        words for words in proven(protected_by_priority(classes, *equals, own=5), "default/j") if "Class" in words
    ]
    assert [f"Submit default/j with PriorityClass {'top (9)' if polite else 'next (7)'}"] == raised


@pytest.mark.parametrize(("namespace", "deleted"), [("kube-system", False), ("apps", True)])
def test_pods_of_the_cluster_itself_are_not_deleted_to_make_room(namespace: str, deleted: bool) -> None:
    held = [
        pod_group("dns", phase="Running", namespace=namespace, priority_class="mid"),
        *pods("dns", 2, cpu="2", on="n1", namespace=namespace, priority=5),
    ]
    found = proven(protected_by_priority(*held, own=5), "default/j")
    assert deleted is any(words.startswith("End") for words in found)


@pytest.mark.parametrize("count", [1, 2])
def test_a_share_that_is_short_in_several_dimensions_is_raised_in_all_of_them(count: int) -> None:
    conf = conf_of("gang", "predicates capacity", actions="allocate, reclaim")
    queues = [queue("a", deserved={"cpu": "1", "memory": "1Gi"}), queue("b", deserved={"cpu": "4", "memory": "4Gi"})]
    held = [pod_group(name, queue="b", phase="Running", min_member=1) for name in ("r", "s", "t", "u")] + [
        one for name in ("r", "s", "t", "u") for one in pods(name, 1, cpu="2", memory="2Gi", on="n1")
    ]
    waits = [pod_group("j", queue="a", min_member=count), *pods("j", count, cpu="2", memory="2Gi")]
    snapshot = cluster(node("n1", cpu="8", memory="8Gi"), queues, held, waits, conf=conf)
    snapshot = replace(snapshot, flags=replace(snapshot.flags, release=resolve_release("v1.13.0").release))
    assert "preemptive" == explain_by_name(replay_cycle(snapshot), "default/j").cause_code
    words, tried = next(iter(proven(snapshot, "default/j").items()))
    assert f"Queue a: deserved.cpu 1 -> {2 * count}, deserved.memory 1Gi -> {2 * count}Gi" == words
    assert count == tried.outcome.placed


HIERARCHY = conf_of(
    "priority gang", "predicates capacity nodeorder", arguments={"capacity": {"enableHierarchy": "true"}}
)


@pytest.mark.parametrize("release", ["", "v1.11.2"])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(
    ("resource", "has", "least"), [("cpu", "2", "3"), ("memory", "2Gi", "3Gi"), ("nvidia.com/gpu", "2", "3")]
)
def test_the_capability_of_any_ancestor_is_raised_within_what_the_cluster_has(
    resource: str, has: str, least: str, depth: int, release: str
) -> None:
    one = has.replace("2", "1")
    names = [f"q{number}" for number in range(depth)]
    tree = [queue(name, parent=above) for above, name in zip(["root", *names], names, strict=False)]
    tree[0]["spec"]["capability"] = {resource: has}
    used = [pod_group("r", queue=names[-1], phase="Running"), *pods("r", 2, requests={resource: one}, on="n1")]
    waits = [pod_group("j", queue=names[-1]), *pods("j", 1, requests={resource: one})]
    wide = node("n1", cpu="8", memory="64Gi", gpu="8")
    snapshot = cluster(wide, queue("root"), tree, used, waits, conf=HIERARCHY)
    if release:
        snapshot.flags = replace(snapshot.flags, release=resolve_release(release).release)
    fixes = list(proven(snapshot, "default/j"))
    assert f"Queue q0: capability.{resource} {has} -> {least}" in fixes[:2]


@pytest.mark.parametrize(("room", "placed", "limit"), [(2, "1 of 3 Pending pods", 5), (4, "2 of 3 Pending pods", 7)])
def test_a_job_that_has_its_minimum_gets_a_limit_for_all_pods_that_nodes_have_room_for(
    room: int, placed: str, limit: int
) -> None:
    small = queue("q", capability={"cpu": "3"})
    group = [pod_group("j", queue="q", phase="Running"), *pods("j", 1, prefix="driver", cpu="3", on="n1")]
    waits = pods("j", 3, cpu="2")
    nodes = [node("n1", cpu="3"), node("n2", cpu=str(room))]
    snapshot = cluster(nodes, small, group, waits, conf=conf_of("gang", "predicates capacity"))
    first, found = next(iter(proven(snapshot, "default/j").items()))
    assert f"Queue q: capability.cpu 3 -> {limit}" == first
    assert f"places {placed} on n2" == describe_result(found)


@pytest.mark.parametrize(("own", "other"), [(12, 4), (14, 2)])
def test_proportion_next_to_capacity_is_removed_where_queues_state_what_they_deserve(own: int, other: int) -> None:
    conf = conf_of("gang", "predicates proportion capacity", actions="allocate")
    queues = [queue("a", deserved={"cpu": str(own)}), queue("b", deserved={"cpu": str(other)})]
    held = [pod_group("r", queue="a", phase="Running"), *pods("r", 5, cpu="2", on="n1")]
    rest = [
        pod_group("s", queue="b", phase="Running"),
        *pods("s", 1, cpu="2", on="n1"),
        *pods("s", 6, prefix="w", cpu="2"),
    ]
    waits = [pod_group("j", queue="a"), *pods("j", 1, cpu="2")]
    snapshot = cluster(node("n1", cpu="16"), queues, held, rest, waits, conf=conf)
    first = next(iter(proven(snapshot, "default/j")))
    assert "Configuration: remove plugin proportion (capacity limits queues too, by other rules)" == first
    said = [problem.effect for problem in input_problems(replay_cycle(snapshot))]
    assert any(text.startswith("a queue must meet both") for text in said)


@pytest.mark.parametrize(
    ("nodes", "cause", "told"),
    [
        (1, "predicates-mixed", "predicates refused it: its enablePredicate is false"),
        (2, "node-order", "All scores of default/j-0 are lost: "),
    ],
)
def test_fix_enables_the_disabled_filters_of_predicates(nodes: int, cause: str, told: str) -> None:
    conf = conf_of("priority gang", "predicates nodeorder", actions="allocate")
    off = conf.replace("- name: predicates\n", "- name: predicates\n    enablePredicate: false\n")
    machines = [node(f"n{number}") for number in range(nodes)]
    recording = replay_cycle(cluster(*machines, pod_group("j"), pods("j", 1, cpu="2"), conf=off))
    explanation = explain_by_name(recording, "default/j")
    assert cause == explanation.cause_code
    assert told in explanation.dominant.facts[0]
    assert "predicates: set enablePredicate to true." in explanation.advice_texts
    search = search_few_fixes(recording, explanation)
    assert search is not None
    first = short_plans(search)[0]
    assert (True, "predicates: enablePredicate -> true") == (first.is_proven, first.plan_words)


SURGE = "Set maxSurge of the Deployment to 100%, so that all new pods exist at once"
MOVED = "Move overcommit-factor (15.0) under arguments of overcommit, where it is read"


@pytest.mark.parametrize(
    ("thread", "job", "shown"),
    [
        (
            "2037-drivers-without-executors",
            "team/spark-1",
            "End team/spark-2 (1 running pod and 1 Pending pod)",
        ),
        ("3510-capacity-without-reclaim-action", "team/q2-job-1", "End team/q1-job-0 (1 running pod)"),
        (
            "4463-flink-one-group-per-pod",
            "flink/podgroup-etl-a-tm-2",
            "End flink/podgroup-etl-b-jm (1 running pod)",
        ),
        ("4739-rolling-update-of-a-gang", "team/podgroup-rs-new", SURGE),
        ("3910-factor-beside-arguments", "spark/spark-sleep-pg", MOVED),
        ("4511-card-registered-with-another-plugin", "team/gpu-pod1", ""),
    ],
)
def test_the_short_fixes_of_a_thread_name_what_a_maintainer_would_change(thread: str, job: str, shown: str) -> None:
    recording = replay_cycle(load_snapshot(recorded_path(f"threads/{thread}")))
    search = search_few_fixes(recording, explain_by_name(recording, job))
    assert search is not None
    found = [plan.plan_words for plan in short_plans(search)]
    assert shown in found if shown else not found
    assert not [words for words in found if words.startswith(("Delete", "End")) and words != shown]


@pytest.mark.parametrize(("selected", "words"), [(1, "node g0 when its"), (5, "1 node when the")])
def test_of_many_cordoned_nodes_only_those_that_the_pods_select_are_uncordoned(selected: int, words: str) -> None:
    hosts = [node(f"c{number}", cpu="64") for number in range(6)]
    hosts += [node(f"g{number}", cpu="8", labels={"pool": "gpu"}) for number in range(selected)]
    for host in hosts:
        host["spec"]["unschedulable"] = True
    blocked = [pod_group("j"), *pods("j", 1, cpu="4", nodeSelector={"pool": "gpu"})]
    found = next(iter(proven(cluster(hosts, blocked, conf=CONF), "default/j")))
    assert found.startswith(f"Uncordon {words} maintenance is done")
    assert "c0" not in found


def test_of_very_many_cordoned_nodes_hardly_more_are_uncordoned_than_the_job_needs() -> None:
    hosts = [node(f"n{number:03}", cpu="4") for number in range(100)]
    for host in hosts:
        host["spec"]["unschedulable"] = True
    search = searched(
        replay_cycle(cluster(hosts, pod_group("j", min_member=70), pods("j", 70, cpu="4"), conf=CONF)), "default/j"
    )
    words = [one.plan_words for one in search.best_plans if one.is_proven]
    assert any(one.startswith("Uncordon 72 nodes when the maintenance is done: n000, n001") for one in words)
