"""What users expect of a share, a gang, a total or a configuration, and what the cluster does instead."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, queue
from tests.debugger.test_remedies import proven
from tests.pending.test_component_reports import volcano_job
from tests.pending.test_workloads import explained, owned
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest, Snapshot

SHARES = conf_of("gang", "predicates proportion", actions="enqueue, allocate")
DELAYED = "It has no pods yet: a Volcano Job creates its pods only once admitted."


def two_queues(asked: str, phase: str = "Inqueue") -> Snapshot:
    """Queue a holds its half of 20 cpu; a job of queue b asks for what b does not hold of its own half."""
    mine = [pod_group("old", queue="a", phase="Running"), *pods("old", 2, cpu="5", on="n1")]
    waits = [pod_group("j", queue="a"), *pods("j", 1, cpu="1")]
    group = pod_group("big", queue="b", phase=phase)
    others = [pod_group("b", queue="b", phase="Running"), *pods("b", 1, cpu="2", on="n2")]
    hosts = [node("n1"), node("n2")]
    return cluster(hosts, queue("a"), queue("b"), mine, others, group, pods("big", 1, cpu=asked), waits, conf=SHARES)


@pytest.mark.parametrize(("asked", "size"), [("12", ", more than any node has (10)"), ("9", "")])
def test_the_queue_for_which_proportion_keeps_idle_room_is_named(asked: str, size: str) -> None:
    kept = f"It keeps 8 cpu for queue b, which holds 2 of its deserved 10; its default/big asks {asked} per pod{size}."
    found = explained(two_queues(asked))
    assert "queue-not-allocatable" == found.cause_code
    assert found.dominant.facts[0].endswith(f"queue a has weight 1 of 2. {kept}")
    # A job for which any node has room may still get it.
    deletion = "Delete default/big (1 Pending pod that no node can hold)"
    assert bool(size) is (deletion in proven(two_queues(asked), "default/j"))


def test_a_share_that_another_queue_uses_up_is_not_said_to_be_kept() -> None:
    hosts, mine = (
        node("n1", cpu="20"),
        [pod_group("old", queue="a", phase="Running"), *pods("old", 2, cpu="5", on="n1")],
    )
    others = [pod_group("b", queue="b", phase="Running", min_member=2), *pods("b", 2, cpu="5", on="n1")]
    waits = [pod_group("j", queue="a"), *pods("j", 1, cpu="1")]
    snapshot = cluster(hosts, queue("a"), queue("b"), mine, others, waits, conf=SHARES)
    assert "It keeps" not in explained(snapshot).full_text


@pytest.mark.parametrize(
    ("selector", "labels", "told"),
    [({"role": "w"}, {}, True), ({"role": "w"}, {"role": "w"}, False), ({}, {}, False)],
)
@pytest.mark.parametrize("admits", [True, False])
def test_free_room_of_nodes_that_the_pod_may_not_use_is_said_to_count_at_admission(
    selector: dict[str, str], labels: dict[str, str], told: bool, admits: bool
) -> None:
    hosts = [node("master", labels=labels), node("worker", cpu="8", labels={"role": "w"})]
    full = [pod_group("old", phase="Running"), *pods("old", 2, cpu="4", on="worker")]
    group = pod_group("j", min_resources={"cpu": "4"})
    actions = "enqueue, allocate" if admits else "allocate"
    conf = conf_of("gang", "overcommit predicates", actions=actions)
    found = explained(cluster(hosts, full, group, pods("j", 1, cpu="4", nodeSelector=selector), conf=conf))
    room = "10 cpu is free on master, which the pod may not use; enqueue counts it too, as it compares totals only"
    limit = " (a queue with capability 8 cpu would hold such jobs back)."
    assert (told and admits) is any(fact.endswith(f"{room}{limit}") for fact in found.dominant.facts)
    assert told is not found.scheduled


def test_room_of_a_node_that_is_only_cordoned_is_not_said_to_count() -> None:
    hosts = [node("n1", unschedulable=True), node("n2", cpu="4")]
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="4", on="n2")]
    group = pod_group("j", min_resources={"cpu": "4"})
    conf = conf_of("gang", "overcommit predicates", actions="enqueue, allocate")
    assert "may not use" not in explained(cluster(hosts, full, group, pods("j", 1, cpu="4"), conf=conf)).full_text


@pytest.mark.parametrize("kind", ["Job", "TrainJob"])
@pytest.mark.parametrize("count", [0, 1])
def test_a_volcano_job_that_is_not_admitted_is_said_to_have_no_pods_for_that_reason(kind: str, count: int) -> None:
    (group,) = owned([pod_group("j", phase="Pending", min_resources={"cpu": "20"})], kind, "j")
    group["metadata"]["ownerReferences"][0]["apiVersion"] = "batch.volcano.sh/v1alpha1" if kind == "Job" else "x/v1"
    conf = conf_of("gang", "overcommit predicates", actions="enqueue, allocate")
    made = owned(pods("j", count, cpu="20"), kind, "j")
    found = explained(cluster(node("n1"), volcano_job(), group, made, conf=conf))
    assert "enqueue-overcommit" == found.cause_code
    assert (kind == "Job" and not count) is (DELAYED in found.dominant.facts)


def test_victims_that_the_cycle_has_chosen_before_are_named_where_the_queue_seems_to_use_less() -> None:
    """Reclaim takes one pod of queue low for j-0; for j-1 the queue then holds no more than it deserves."""
    low = [pod_group("low", queue="low", phase="Running"), *pods("low", 3, cpu="8", on="n1")]
    waits = [pod_group("j", queue="high", min_member=2), *pods("j", 2, cpu="6")]
    conf = conf_of("priority proportion", "predicates", actions="enqueue, allocate, reclaim")
    hosts = [node("n1", cpu="24"), node("n2", cpu="4")]
    snapshot = cluster(hosts, queue("low"), queue("high"), low, waits, conf=conf)
    found = explained(snapshot_at_release(snapshot, "v1.10.0"))
    assert "victims-not-above-deserved" == found.cause_code
    told = "(without default/low-0, chosen as victim before in this cycle), not more than it deserves"
    assert any(told in fact for fact in found.dominant.facts)


@pytest.mark.parametrize(("stated", "told"), [({}, False), ({"priority": 9}, True), ({"priority": 1}, True)])
def test_a_priority_that_a_pod_does_not_state_is_not_said_of_it(stated: dict[str, Any], told: bool) -> None:
    """Volcano counts 1 for a pod without a priority; the PodGroup, without a class, has 0."""
    conf = conf_of("priority conformance", "predicates", actions="allocate, preempt")
    old = [pod_group("old", phase="Running"), *pods("old", 2, cpu="5", on="n1", priority=0)]
    found = explained(cluster(node("n1"), old, pod_group("j"), pods("j", 1, cpu="5", **stated), conf=conf))
    assert "priority" == found.cause_code
    assert told is ("of j-0 does not count" in found.full_text)


@pytest.mark.parametrize(("owner", "running"), [("uid-s", 0), ("uid-other", 0), ("uid-s", 1)])
def test_a_lone_pod_whose_pod_group_is_gone_is_not_taken_for_a_partial_capture(owner: str, running: int) -> None:
    """Only where the controller would make the PodGroup, and no pod runs that shows that PodGroups were left out."""
    group = "podgroup-uid-s"
    made = pods(group, 1, prefix="s")
    made += pods("podgroup-uid-r", running, prefix="r", on="n1")
    for each in made:
        each["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "name": "s", "uid": owner, "controller": True}]
    snapshot = cluster(node("n1"), made, conf=conf_of("gang", "predicates"))
    found = explained(snapshot, f"default/{group}")
    is_lone = owner == "uid-s" and not running
    assert ("podgroup-missing" if is_lone else "capture-incomplete") == found.cause_code
    if is_lone:
        assert "The snapshot has no PodGroup at all; if the cluster has some: add" in found.full_text
        assert any(words.startswith("Delete s-0: StatefulSet s creates it again") for words in found.advice_texts)


@pytest.mark.parametrize("written", ["gangPreempt", "Preempt"])
@pytest.mark.parametrize("full", [True, False])
def test_corrected_actions_are_tried_without_enqueue_too(written: str, full: bool) -> None:
    conf = conf_of("priority gang", "overcommit predicates", actions=f"enqueue, allocate, {written}")
    if written == "Preempt":
        conf = conf_of("priority", "overcommit predicates", actions=f"enqueue, allocate, {written}")
    old = [pod_group("old", phase="Running", priority_class="low"), *pods("old", 1, cpu="8", on="n1", priority=1)]
    classes: list[Manifest] = [
        {"kind": "PriorityClass", "metadata": {"name": name, "uid": name}, "value": value}
        for name, value in (("low", 1), ("high", 9))
    ]
    size = {"cpu": "8" if full else "4"}
    waits = [
        pod_group("j", phase="Pending", priority_class="high", min_resources=size),
        *pods("j", 1, cpu=size["cpu"], priority=9),
    ]
    change = f"Configuration: actions: {written} -> {written.lower()}"
    fixes = proven(cluster(node("n1"), classes, old, waits, conf=conf), "default/j")
    assert full is (f"{change}, enqueue removed (the scheduler then accepts it)" in fixes)
    assert full is not (f"{change} (the scheduler then accepts it)" in fixes)


@pytest.mark.parametrize("separator", [" ", "; ", ", "])
def test_actions_that_are_not_separated_by_commas_are_named_and_corrected(separator: str) -> None:
    conf = conf_of("gang", "predicates", actions=separator.join(("enqueue", "allocate")))
    waits = [pod_group("j", phase="Pending"), *pods("j", 1)]
    snapshot = snapshot_at_release(cluster(node("n1"), waits, conf=conf), "v1.13.3")
    found, is_unknown = explained(snapshot), separator != ", "
    name = f"enqueue{separator}allocate"
    assert is_unknown is (f'Action "{name}" is unknown, and this release ignores it.' in found.dominant.facts)
    change = f"Configuration: actions: {name} -> enqueue, allocate"
    assert is_unknown is (not found.scheduled and change in proven(snapshot, "default/j"))


FIRST = "Correct the scheduler's configuration first: until then the scheduler reads nothing of it."
LATER = "Action gangpreempt, in lower case, exists from v1.15.0 on: upgrade Volcano, or configure preempt or reclaim."
SHARES_TWICE, HIERARCHIES = "proportion and drf with hierarchy enabled conflicts", {"drf": {"enableHierarchy": "true"}}
ONE_OF_TWO = (
    "Remove plugin proportion, or enableHierarchy of drf: both divide the cluster, so the scheduler rejects them."
)
TABBED = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n\tenablePreemptable: false\n'


@pytest.mark.parametrize(
    ("text", "why", "advice"),
    [
        (TABBED, "not YAML: line 5: found a tab character that violates indentation", FIRST),
        (conf_of("gang", actions="allocate, gangPreempt"), "failed to find Action gangPreempt", LATER),
        (conf_of("gang", actions="allocate, gangpreempt"), "failed to find Action gangpreempt", LATER),
        (conf_of("gang", actions="allocate, evictAll"), "failed to find Action evictAll", ""),
        (conf_of("drf proportion", actions="allocate", arguments=HIERARCHIES), SHARES_TWICE, ONE_OF_TWO),
        (conf_of("gang", actions="allocate"), "", ""),
    ],
)
def test_the_first_step_for_a_rejected_configuration_is_to_correct_it(text: str, why: str, advice: str) -> None:
    waits = [pod_group("j", phase="Pending", min_resources={"cpu": "99"}), *pods("j", 1, cpu="99")]
    found = explained(snapshot_at_release(cluster(node("n1"), waits, conf=text), "v1.14.4"))
    assert bool(why) is any(fact.startswith(f"The configuration is rejected ({why})") for fact in found.dominant.facts)
    assert [advice] * bool(advice) == [words for words in found.advice_texts if words in (FIRST, LATER, ONE_OF_TWO)]


@pytest.mark.parametrize(("plugin", "hint"), [("proprotion", "did you mean proportion?"), ("vendor-npu", "")])
def test_a_misspelt_plugin_is_told_from_one_that_is_not_replayed(plugin: str, hint: str) -> None:
    doubt = explained(cluster(node("n1"), pod_group("j"), pods("j", 1), conf=conf_of("gang", plugin))).doubt
    assert f"plugin {plugin} is not replayed" in doubt
    assert bool(hint) is ("did you mean" in doubt)
    assert hint in doubt


@pytest.mark.parametrize(
    ("name", "minimum", "is_told"), [("podgroup-uid", 1, True), ("podgroup-uid", 2, False), ("j", 1, False)]
)
def test_a_group_without_a_stated_minimum_says_where_a_gang_states_it(name: str, minimum: int, is_told: bool) -> None:
    group = pod_group(name, phase="Running", min_member=minimum)
    done, waits = pods(name, 2, cpu="4", on="n1"), pods(name, 1, cpu="4", prefix="late")
    found = explained(cluster(node("n1"), group, done, waits), f"default/{name}")
    (fact,) = (one for one in found.dominant.facts if "so gang does not hold back the other 1" in one)
    assert is_told is ("a gang needs annotation scheduling.volcano.sh/group-min-member on its owner" in fact)
