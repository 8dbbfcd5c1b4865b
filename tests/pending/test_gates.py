"""Causes that exist only in some configurations: whole gangs, HyperNodes, queue trees, node groups."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.builders import cluster, conf_of, pod_group, pods, priority_class, queue
from tests.debugger.test_remedies import proven
from tests.pending.situations import CLASSES, FULL, PLAIN, PREEMPT, WANTED, conf, nodes, running, wanted
from tests.recorded import BLOCKED, bundled
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest

GANG_PREEMPT = "enqueue, allocate, gangpreempt"
GANG_RECLAIM = "enqueue, allocate, gangreclaim"
TOPOLOGY = "gang network-topology-aware"
GROUP, REQUIRED = "volcano.sh/nodegroup-name", "requiredDuringSchedulingIgnoredDuringExecution"
SKIPPED = "gang rejects such a job, so none of its pods is tried on a node."
ANNOTATE = "Annotate the pods that belong to it (their template): scheduling.k8s.io/group-name"
UNNAMED = "No pod of this snapshot names it in annotation scheduling.k8s.io/group-name"
CONTROLLER = "Find out why the controller of default/wanted created"


def asked(objects: Sequence[Manifest], actions: str, **more: Any) -> Explanation:
    return explain_by_name(replay_cycle(cluster([*CLASSES, *objects], conf=conf(actions, **more))), WANTED)


def test_gangpreempt_without_candidates_is_named() -> None:
    full = [*nodes("n1"), *running("a", "n1", annotations={"volcano.sh/preemptable": "false"})]
    found = asked([*full, *wanted()], GANG_PREEMPT)
    assert "victims-not-preemptable" == found.cause_code
    assert found.dominant.reason.startswith("gangpreempt has no candidate victim for its 1 pod (4 cpu")


def test_gangpreempt_whose_victims_are_too_few_is_named() -> None:
    found = asked([*FULL, *wanted(5)], GANG_PREEMPT)
    assert "gang-discard" == found.cause_code
    assert "gangpreempt may evict all 4 candidate victims, too few to make room for its 5 pods" in found.full_text
    assert 4 == found.dominant.numbers["victims"].value


def test_gangpreempt_that_places_the_gang_is_no_obstacle() -> None:
    assert "places" == asked([*FULL, *wanted(2)], GANG_PREEMPT).cause_code


TOPOLOGY_AWARE = "configurations:\n- name: preempt\n  arguments:\n    enableTopologyAwarePreemption: true\n"


@pytest.mark.parametrize(("mode", "said"), [("", ""), (TOPOLOGY_AWARE, "failed to filter pod on node n1: ")])
def test_a_filter_that_refuses_the_node_without_the_victims_is_quoted(mode: str, said: str) -> None:
    """The answers differ in form: statuses, and in topology-aware preemption an error."""
    selector = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "guard"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selector]}}
    guard = running("guard", "n1", 1, annotations={"volcano.sh/preemptable": "false"})
    guard[1]["metadata"]["labels"] = {"app": "guard"}
    objects = [*CLASSES, *nodes("n1"), *running("a", "n1", 1, min_member=0), *guard, *wanted(affinity=apart)]
    found = explain_by_name(replay_cycle(cluster(objects, conf=conf(PREEMPT) + mode)), WANTED)
    refused = "predicates rejects wanted-0 on n1 even without the victims"
    assert found.dominant.reason == f"{refused}: {said}node(s) didn't match pod anti-affinity rules"


def test_why_a_node_was_chosen_is_told_of_the_first_pod() -> None:
    found = asked([*nodes("n1", "n2"), *wanted(2, cpu="1")], PLAIN)
    assert found.dominant.facts[-1].startswith("default/wanted-0 is placed on n1; 2 nodes tie at the top score")


def test_gangreclaim_names_the_queue_that_is_not_reclaimable() -> None:
    queues = [queue("rich", reclaimable=False), queue("poor")]
    found = asked([*queues, *nodes("n1"), *running("a", "n1", queue="rich"), *wanted(queue="poor")], GANG_RECLAIM)
    assert "queue-not-reclaimable" == found.cause_code
    assert ("Queue rich: set spec.reclaimable to true.",) == found.advice_texts[:1]


def test_gangreclaim_without_queues_above_what_they_deserve_is_named() -> None:
    queues = [queue(name, deserved={"cpu": "8", "memory": "10G"}) for name in ("rich", "poor")]
    full = [*queues, *nodes("n1"), *running("a", "n1", queue="rich"), *wanted(queue="poor")]
    text = conf_of("gang capacity predicates", actions=GANG_RECLAIM)
    found = explain_by_name(replay_cycle(cluster([*CLASSES, *full], conf=text)), WANTED)
    assert "victims-not-above-deserved" == found.cause_code
    assert "capacity leaves no candidate victim" in found.dominant.reason


def test_a_job_with_topology_is_left_out_of_preempt_only_where_the_release_does() -> None:
    group, *members = wanted(1)
    group["spec"]["networkTopology"] = {"mode": "soft"}
    snapshot = cluster([*CLASSES, *FULL, group, *members], conf=conf(PREEMPT))
    older = snapshot_at_release(snapshot, "master,+preempt-with-topology")
    causes = [explain_by_name(replay_cycle(one), WANTED).cause_code for one in (snapshot, older)]
    assert "network-topology" == causes[0]
    assert "network-topology" != causes[1]


def hyper_node(name: str, *members: str) -> Manifest:
    selectors = [{"type": "Node", "selector": {"exactMatch": {"name": member}}} for member in members]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"tier": 1, "members": selectors},
    }


def test_gang_without_a_fitting_hypernode_is_explained() -> None:
    switches = [hyper_node("s0", "n1", "n2"), hyper_node("s1", "n3")]
    group, *members = wanted(5, min_resources={"cpu": "20"})
    group["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    found = asked([*nodes("n1", "n2", "n3"), *switches, group, *members], PREEMPT, first=TOPOLOGY)
    assert "no-hypernode" == found.cause_code
    assert ("s0: 16 cpu idle of 16 cpu, 4 cpu short", "s1: 8 cpu idle of 8 cpu, 12 cpu short") == found.dominant.lines
    assert "no HyperNode up to tier 1 has room" in found.full_text


def test_parent_queue_is_named_as_the_cause() -> None:
    tree = [queue("root"), queue("org", parent="root"), queue("leaf", parent="org")]
    waiting = wanted(queue="org", phase="Pending", min_resources={"cpu": "4"})
    hierarchy = {"capacity": {"enableHierarchy": "true"}}
    found = asked([*nodes("n1"), *tree, *waiting], PREEMPT, second="predicates capacity nodeorder", more=hierarchy)
    assert "queue org has child queues (leaf); capacity admits only to leaf queues" in found.full_text
    assert ("Set the job's queue to a leaf queue: leaf.",) == found.advice_texts


def test_the_sentence_of_a_discarded_gang_holds_no_code() -> None:
    labels = {"app": "wanted"}
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    group, *members = wanted(3, cpu="1", affinity=apart)
    for member in members:
        member["metadata"]["labels"] = labels
    found = asked([*nodes("n1", "n2"), group, *members], PREEMPT)
    assert "gang-discard" == found.cause_code
    assert "wanted-2 fits no node: every remaining node fails the predicates" in found.full_text


def test_the_way_through_the_cycle_includes_the_gang_actions() -> None:
    steps = {step.name: (step.state, step.text) for step in asked([*FULL, *wanted(5)], GANG_PREEMPT).steps}
    assert "passed" == steps["starving (gangpreempt)"][0]
    assert ("failed", "0 pods placed, rolled back") == steps["gangpreempt, result"]


def summary_of(found: Explanation) -> tuple[str, tuple[str, ...], list[str]]:
    """The text, the advice and the evidence of an answer."""
    return found.full_text, found.advice_texts, [one.text for one in found.dominant.evidence]


def test_a_missing_role_is_named_where_the_pods_are_enough() -> None:
    roles = wanted(2, cpu="1", min_task_member={"ps": 1, "worker": 1}, role="worker")
    found = asked([*nodes("n1"), *roles], PLAIN)
    met = "The 2 pods that it has meet minMember 2, but gang rejects the job as long as a role is short."
    assert (
        f"default/wanted is Pending: role ps has 0 of the 1 pod that minTaskMember requires. {met}",
        (
            "Create the missing pods of each role.",
            "default/wanted: remove the role from minTaskMember, or lower its minimum.",
        ),
        ["gang: Not enough valid pods of each task for gang-scheduling"],
    ) == summary_of(found)
    assert ("role ps has 0 of the 1 pod that minTaskMember requires",) == found.dominant.lines
    assert {"pods.valid": 2, "job.minAvailable": 2, "pods.missing": 0} == {
        name: number.value for name, number in found.dominant.numbers.items()
    }


def test_missing_pods_are_counted_and_the_minimum_may_be_lowered_to_those_that_there_are() -> None:
    assert (
        f"default/wanted is Pending: it has 1 of the 2 pods that minMember requires. {SKIPPED}",
        (f"{CONTROLLER} only 1 pod (quota, webhook, controller log).", "default/wanted: spec.minMember 2 -> 1."),
        ["gang: Not enough valid tasks for gang-scheduling, valid: 1, min: 2"],
    ) == summary_of(asked([*nodes("n1"), *wanted(1, min_member=2)], PLAIN))
    assert (
        f"default/wanted has no pods in this snapshot: 0 of minMember 1. {UNNAMED}, and no object owns it.",
        (f"{ANNOTATE}: wanted; or find out why they are not created.",),
        ["gang: Not enough valid tasks for gang-scheduling, valid: 0, min: 1"],
    ) == summary_of(asked([*nodes("n1"), pod_group("wanted")], PLAIN))


def test_a_job_that_no_action_admits_is_told_which_actions_there_are() -> None:
    waiting = wanted(phase="Pending", min_resources={"cpu": "1"})
    found = asked([*nodes("n1"), *waiting], "preempt, backfill")
    assert "action-not-configured" == found.cause_code
    assert (
        (
            "default/wanted is not admitted: actions (preempt, backfill) contain neither enqueue nor allocate, so its "
            "PodGroup stays Pending."
        ),
        ("Add enqueue and allocate to actions.",),
        ["the session opens with the PodGroup Pending"],
    ) == summary_of(found)


@pytest.mark.parametrize("leader", [True, False])
def test_advice_creates_pods_if_pods_and_a_role_are_missing(leader: bool) -> None:
    few = wanted(1, cpu="1", min_member=3, min_task_member={"ps": 1}, role="worker")
    # A pod that owns the PodGroup of its gang creates no pods.
    few[0]["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "leader-0", "uid": "u"}] if leader else []
    found = asked([*nodes("n1"), *few], PLAIN)
    assert f"{CONTROLLER} only 1 pod (quota, webhook, controller log)." == found.advice_texts[0]


def test_queues_that_are_not_reclaimable_are_named() -> None:
    shut = [queue("rich", reclaimable=False), queue("vast", reclaimable=False), queue("poor", weight=8)]
    one = [*nodes("n1"), *running("a", "n1", queue="rich"), *wanted(queue="poor")]
    assert "rich has spec.reclaimable: false." in asked([*shut, *one], GANG_RECLAIM).full_text
    both = [*running("a", "n1", queue="rich"), *running("b", "n2", queue="vast")]
    found = asked([*shut, *nodes("n1", "n2"), *both, *wanted(queue="poor")], GANG_RECLAIM)
    assert "rich, vast have spec.reclaimable: false." in found.full_text


def test_number_of_checked_hypernodes_agrees_with_its_noun() -> None:
    group, *members = wanted(5, min_resources={"cpu": "20"})
    group["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    for hosts, words in ((("n1",), "checked 1 HyperNode and"), (("n1", "n2"), "checked 2 HyperNodes and")):
        domains = [hyper_node(f"s-{host}", host) for host in hosts]
        found = asked([*nodes(*hosts), *domains, group, *members], PREEMPT, first=TOPOLOGY)
        assert words in found.full_text


def test_failed_pods_are_distinguished_from_missing_pods() -> None:
    group, first, second = wanted(2)
    first["spec"]["nodeName"], first["status"]["phase"] = "n1", "Running"
    second["spec"]["nodeName"], second["status"]["phase"] = "n1", "Failed"
    failing = asked([*nodes("n1"), group, first, second], PLAIN).dominant.reason
    assert "1 of the 2 pods that minMember requires runs, 1 is Failed" == failing
    gone = asked([*nodes("n1"), group, first], PLAIN).dominant.reason
    assert "1 of the 2 pods that minMember requires runs, 1 is not in this snapshot" == gone


def test_other_queues_refused_for_the_same_room_are_named() -> None:
    first = "priority gang proportion"
    jobs = [manifest for at in ("a", "b") for manifest in (pod_group(at, queue=at), *pods(at, 1, cpu="6"))]
    snapshot = cluster(*CLASSES, queue("a"), queue("b"), *nodes("n1"), *jobs, conf=conf(PLAIN, first=first))
    found = explain_by_name(replay_cycle(snapshot), "default/a")
    assert "default/b in queue b is rejected as well: neither queue uses what is free." in found.full_text


def test_a_discarded_statement_shows_three_vetoes_at_most() -> None:
    found = explain_by_name(bundled(BLOCKED), "research/llm-finetune")
    assert 3 == len([one for one in found.dominant.evidence if one.text.startswith("gang allows")])


def test_pods_with_one_podgroup_each_are_named_as_no_gang() -> None:
    small = [queue("q", capability={"cpu": "5"})]
    held = running("podgroup-a", "n1", count=1, cpu="4", queue="q", min_resources={"cpu": "4"})
    late = [
        pod_group("podgroup-b", queue="q", phase="Pending", min_resources={"cpu": "2"}),
        *pods("podgroup-b", 1, cpu="2"),
    ]
    for pod, role in ((held[-1], "driver"), (late[-1], "executor")):
        pod["metadata"]["labels"] = {"spark-app-selector": "pi", "spark-role": role}
    snapshot = cluster(*CLASSES, *small, *nodes("n1"), *held, *late, conf=conf(PLAIN))
    found = explain_by_name(replay_cycle(snapshot), "default/podgroup-b")
    lone = "Each pod of application pi has a PodGroup of its own (minMember 1), so its pods are not a gang."
    assert f"{lone} In use in queue q (cpu): default/podgroup-a-0 4." == found.dominant.facts[0]


@pytest.mark.parametrize(
    ("release", "parent", "child", "told", "not_told"),
    [
        ("v1.12.1", ["a"], None, "its ancestor up (a) is not inherited (from v1.13 on", "may use"),
        ("v1.13.0", ["a"], None, "its ancestor up (a) is not inherited, so", "from v1.13"),
        ("v1.13.0", None, None, "Queue q has no node group in spec.affinity, so", "ancestor"),
        (
            "v1.12.1",
            ["a"],
            ["c"],
            "Queue q may use node group c only, and n1 (a), n2 (no group) are not in it",
            "ancestor",
        ),
        ("v1.15.1", None, ["c", "b"], "may use node groups c, b only, and n2 (no group) is not in it", "label"),
        ("v1.15.1", None, ["c"], "(no group) are not in it; no node has that label", "ancestor"),
    ],
)
def test_the_node_groups_of_a_queue_and_of_its_ancestors_are_named(
    release: str, parent: list[str] | None, child: list[str] | None, told: str, not_told: str
) -> None:
    made = [*nodes("n1", labels={GROUP: "b" if child == ["c", "b"] else "a"}), *nodes("n2")]
    full = running("full", "n1", queue="q") if child == ["c", "b"] else []
    queues = [queue("root"), queue("up", parent="root"), queue("q", parent="up")]
    for each, groups in ((queues[1], parent), (queues[2], child)):
        if groups is not None:
            each["spec"]["affinity"] = {"nodeGroupAffinity": {REQUIRED: groups}}
    job = wanted(queue="q", annotations={"volcano.sh/queue-name": "q"})
    snapshot = cluster([*CLASSES, *made, *queues, *full, *job], conf=conf(PLAIN, second="predicates nodegroup"))
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, release)), WANTED)
    facts = " ".join(found.dominant.facts)
    assert told in facts
    assert not_told not in facts
    switch = any("enableHierarchy" in each.text for each in found.dominant.advice)
    assert switch is (release == "v1.13.0" and parent is not None)


TREE = {"type": "HyperNode", "selector": {"regexMatch": {"pattern": "r[0-9]"}}}
UNKNOWN = {"type": "HyperNode", "selector": {"exactMatch": {"name": "leaf"}}}


@pytest.mark.parametrize("release", ["v1.12.0", "v1.15.1"])
@pytest.mark.parametrize(
    ("racks", "members", "told", "empty"),
    [
        ((2, 2), None, "r0 has room for 2 of the 4 pods, r1 for 2; all nodes together have room for 4.", ""),
        ((3, 2, 1), None, "r0 has room for 3 of the 4 pods, r1 for 2, r2 for 1; all nodes together", ""),
        (
            (2, 2),
            TREE,
            "r0 has room for 2 of the 4 pods, r1 for 2, top for 0; all nodes together",
            "only exactMatch is",
        ),
        ((2, 2), UNKNOWN, "r1 for 2, top for 0; all nodes together", "exactMatch leaf matches nothing"),
        ((2, 1), None, "", ""),
        ((4, 1), None, "", ""),
    ],
)
@pytest.mark.parametrize("mixed", [False, True])
def test_the_room_in_each_hyper_node_of_a_hard_topology_is_listed(
    release: str, racks: tuple[int, ...], members: dict[str, Any] | None, told: str, empty: str, mixed: bool
) -> None:
    """Not where the cluster lacks the room as well, nor where one HyperNode holds the job."""
    hosts = [[f"n{rack}{at}" for at in range(count)] for rack, count in enumerate(racks)]
    leaves = [hyper_node(f"r{rack}", *names) for rack, names in enumerate(hosts)]
    top = {**hyper_node("top"), "spec": {"tier": 2, "members": [members]}}
    job = [*wanted(4, cpu="8")[:4], *pods("wanted", 1, prefix="last", cpu="7")] if mixed else wanted(4, cpu="8")
    job[0]["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 2 if members else 1}
    machines = nodes(*(host for names in hosts for host in names))
    objects = [*CLASSES, *machines, *leaves, *([top] if members else []), *job]
    snapshot = cluster(objects, conf=conf(PLAIN, first=TOPOLOGY))
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, release)), WANTED)
    facts = " ".join(found.dominant.facts)
    assert told in facts
    assert bool(told) is ("networkTopology (hard) keeps the job in one HyperNode" in facts)
    assert not told or " HyperNode" in found.sentence
    assert found.cause_code == ("places" if 4 in racks else found.cause_code)
    assert empty in facts
    assert bool(empty) is ("HyperNode top has no nodes" in facts)
    named = any("name each member with exactMatch (r0, r1)" in one.text for one in found.dominant.advice)
    assert named is (members is TREE)


@pytest.mark.parametrize(
    ("free", "told"),
    [
        ((1, 1), "r0 has room for 1 of the 2 pods, r1 for 1; all nodes together have room for 2."),
        ((1, 0), "n00 has free room for wanted-"),
        ((0, 0), "no node has room for wanted-"),
    ],
)
def test_no_room_is_said_only_where_no_node_has_any(free: tuple[int, ...], told: str) -> None:
    """Of a hard topology, which preempt skips: each HyperNode with room is named instead."""
    hosts = [[f"n{rack}{at}" for at in range(2)] for rack in range(len(free))]
    leaves = [hyper_node(f"r{rack}", *names) for rack, names in enumerate(hosts)]
    full = [host for names, count in zip(hosts, free, strict=True) for host in names[count:]]
    low = [each for host in full for each in running(f"low-{host}", host, 1, cpu="8")]
    job = wanted(2, cpu="8")
    job[0]["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    machines = nodes(*(host for names in hosts for host in names))
    found = asked([*machines, *leaves, *low, *job], PREEMPT, first=f"priority {TOPOLOGY}")
    assert "network-topology" == found.cause_code
    assert told in found.full_text
    assert ("no node has room" in found.full_text) is not any(free)


@pytest.mark.parametrize("free", [True, False])
def test_a_gang_that_may_not_preempt_is_not_told_that_its_first_pod_has_no_room(free: bool) -> None:
    low = [each for host in ("n1", "n2")[free:] for each in running(f"low-{host}", host, 1, cpu="8")]
    found = asked([*nodes("n1", "n2"), *low, *wanted(2, cpu="8", preemptionPolicy="Never")], PREEMPT)
    assert ("no node has free room" in found.full_text.lower()) is not free


@pytest.mark.parametrize(
    ("release", "busy", "told"), [("v1.12.0", 2, True), ("v1.12.0", 1, False), ("v1.13.0", 2, False)]
)
def test_a_release_that_does_not_fill_hyper_nodes_is_named_where_several_are_in_use(
    release: str, busy: int, told: bool
) -> None:
    # A HyperNode may name nodes that do not exist.
    leaves = [hyper_node("r0", "gone", "n1", "n2", "n3"), hyper_node("r1", "n4", "n5")]
    uses = [manifest for at, host in enumerate(["n1", "n4"][:busy]) for manifest in running(f"old{at}", host, 1)]
    job = wanted(3, cpu="8")
    job[0]["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
    objects = [*CLASSES, *nodes("n1", "n2", "n3", "n4", "n5"), *leaves, *uses, *job]
    snapshot = cluster(objects, conf=conf(PLAIN, first=TOPOLOGY))
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, release)), WANTED)
    assert "r0 has room for 2 of the 3 pods, r1 for " in found.full_text
    assert told is ("v1.12.0 does not fill one HyperNode before the next; v1.13.0 does (#4345)" in found.full_text)


@pytest.mark.parametrize(
    ("actions", "told"),
    [
        ("reclaim", "capacity protects 1 pod of queue o, which uses 6 of 8 cpu and "),
        ("reclaim, preempt", "capacity protects 1 pod of queue o, which uses 6 of 8 cpu and "),
        ("preempt, reclaim", "capacity protects 1 pod of queue o, which uses 6 of 8 cpu and "),
        ("preempt", "1 pod is there: 1 in queue o; preempt evicts only in queue q."),
    ],
)
def test_where_only_pods_of_other_queues_are_in_the_way_reclaim_is_the_action_that_counts(
    actions: str, told: str
) -> None:
    share = {"cpu": "8", "memory": "64Gi"}
    queues = [queue("q", deserved=share), queue("o", reclaimable=True, deserved=share)]
    other = [pod_group("o", queue="o", phase="Running"), *pods("o", 1, cpu="6", on="n2")]
    job = [pod_group("wanted", queue="q", min_member=2), *pods("wanted", 2, cpu="6")]
    plugins = conf_of("gang", "predicates capacity nodeorder", actions=f"allocate, {actions}")
    snapshot = cluster(nodes("n1", "n2"), queues, other, job, conf=plugins)
    found = explain_by_name(replay_cycle(snapshot), WANTED)
    assert any(fact.startswith(told) for fact in found.dominant.facts)
    assert "Pipelined" not in found.full_text


@pytest.mark.parametrize(("cpu", "memory", "told"), [("16", "2G", True), ("24", "2G", False), ("16", "64Gi", False)])
def test_the_share_that_a_queue_would_exceed_is_stated_where_a_gang_may_not_reclaim(
    cpu: str, memory: str, told: bool
) -> None:
    queues = [queue("q", deserved={"cpu": cpu, "memory": memory}), queue("o", reclaimable=True)]
    queues[1]["spec"]["deserved"] = {"cpu": "10", "memory": "64Gi"}
    uses = {"n1": "1", "n2": "8", "n3": "1"}
    other = [
        [pod_group(f"o-{host}", queue="o", phase="Running"), *pods(f"o-{host}", 1, cpu=used, on=host)]
        for host, used in uses.items()
    ]
    job = [pod_group("wanted", queue="q", min_member=3), *pods("wanted", 3, cpu="7")]
    plugins = conf_of("gang", "predicates capacity nodeorder", actions="allocate, reclaim, preempt")
    snapshot = cluster(nodes("n1", "n2", "n3"), queues, *other, job, conf=plugins)
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, "v1.15.0")), WANTED)
    assert "reclaim found room for 2 of the 3 pods it needs at once" == found.dominant.reason
    share_fact = "Queue q may not reclaim for wanted-2: it would use 21 cpu and deserves 16 (capacity)."
    assert told is (share_fact in found.dominant.facts)


def test_room_reserved_before_the_evictions_on_its_node_is_not_freed_by_them() -> None:
    """The pod does not wait for pods that are evicted for another job; of that job, allocate may never see the room."""
    later = [pod_group("later", priority_class="middle"), *pods("later", 1, cpu="4")]
    objects = [
        *CLASSES,
        priority_class("middle", 500),
        *nodes("n1"),
        *running("a", "n1", 1, min_member=0),
        *wanted(),
        *later,
    ]
    recording = replay_cycle(cluster(objects, conf=conf("enqueue, preempt, allocate")))
    found, other = explain_by_name(recording, WANTED), explain_by_name(recording, "default/later")
    assert ("phantom-pipelined", False) == (found.cause_code, found.scheduled)
    assert "but the pods terminating there make room for other jobs" in found.sentence
    again = "the pod is bound only if preempt does not reserve the room again before allocate."
    assert f"After default/a-0 has terminated, {again}" in other.full_text
    usual = replay_cycle(cluster(objects, conf=conf(PREEMPT)))
    assert "The pod is bound after default/a-0 has terminated." in explain_by_name(usual, "default/later").full_text


@pytest.mark.parametrize(
    ("release", "first", "protecting"),
    [
        ("v1.10.0", "gang", {"min_member": 2}),
        ("v1.10.2", "gang", {"min_member": 2}),
        ("v1.10.2", "conformance", {"priorityClassName": "system-node-critical"}),
        ("v1.11.2", "gang", {"min_member": 2}),
        ("v1.15.1", "conformance", {"priorityClassName": "system-node-critical"}),
    ],
)
def test_a_veto_that_a_later_tier_lifts_from_v1_11_on_is_the_cause_under_older_releases(
    release: str, first: str, protecting: dict[str, Any]
) -> None:
    other = "gang" if first == "conformance" else "conformance"
    full = [*nodes("n1", "n2"), *running("a", "n1", **protecting), *running("a2", "n2", **protecting)]
    text = conf_of(f"priority {first}", f"{other} predicates nodeorder", actions="enqueue, allocate, preempt, reclaim")
    found = explain_by_name(
        replay_cycle(snapshot_at_release(cluster([*CLASSES, *full, *wanted()], conf=text), release)), WANTED
    )
    is_older = release.startswith("v1.10")
    assert found.cause_code == (first if is_older else "places")
    lifted = f"{other} of a later tier allows them, but under {release} a later tier does not bring back"
    assert (lifted in found.full_text) is is_older


@pytest.mark.parametrize("stated", [None, "old"])
@pytest.mark.parametrize("named", [True, False])
def test_pods_whose_task_spec_names_no_role_are_annotated_instead_of_created_again(
    stated: str | None, named: bool
) -> None:
    group = pod_group("wanted", min_member=3, min_task_member={"ps": 1, "worker": 2})
    roles = ("ps", "worker", "worker") if named else ("a", "b", "c")
    members = [pods("wanted", 1, prefix=f"w{at}-{role}", role=stated)[0] for at, role in enumerate(roles)]
    recording = replay_cycle(cluster([*nodes("n1"), group, *members], conf=conf(PLAIN)))
    facts = " ".join(explain_by_name(recording, WANTED).dominant.facts)
    states = (
        "state volcano.sh/task-spec old, which minTaskMember does not name" if stated else "lack volcano.sh/task-spec"
    )
    assert named is (f"w0-ps-0, w1-worker-0 and 1 more {states}" in facts)
    found = proven(recording.snapshot, WANTED)
    assert named is ("Annotate the pod template with volcano.sh/task-spec: ps (1 pod), worker (2 pods)" in found)
    assert named is not any("missing pods of role" in words for words in found)
