"""The vocabulary of an answer: pods, the deciding dimension and limit, in amounts with common units."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.builders import cluster, conf_of, hyper_node, node, pod_group, pods, queue
from tests.pending.situations import CLASSES, FALSE, OVERCOMMIT, PLAIN, RECLAIM, WANTED, conf, nodes, running, wanted
from tests.recorded import GOLDEN, bundled, golden, recorded_path
from vcdebug import amount_text
from vcdebug.explain import answer as amounts
from vcdebug.explain.answer import Explanation
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.equation import QueueCheck
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.model.queue import check_request
from vcdebug.model.resource import Resource
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edited_snapshot import apply_edits, snapshot_at_release
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest

GPU = "nvidia.com/gpu"
CAPACITY: dict[str, Any] = {
    "second": "drf predicates capacity nodeorder",
    "more": {"drf": {"enablePreemptable": "false"}},
}


def asked(objects: Sequence[Manifest], actions: str = PLAIN, release: str = "master", **more: Any) -> Explanation:
    snapshot = snapshot_at_release(cluster([*CLASSES, *objects], conf=conf(actions, **more)), release)
    return explain_by_name(replay_cycle(snapshot), WANTED)


def test_volumes_are_counted_and_not_thousandths() -> None:
    name = "attachable-volumes-csi-ebs.csi.aws.com"
    assert ("2", (2.0, "volumes")) == (amount_text.format_amount(name, 2.0), tuple(amounts.amount_number(name, 2.0)))
    assert "1" == amount_text.format_amount(GPU, 1000.0)


def test_overcommit_speaks_of_the_scarcest_dimension_and_of_the_others_beside_it() -> None:
    gpus = [node("n1", cpu="8", gpu="2")]
    found = asked([*gpus, *wanted(phase="Pending", min_resources={"cpu": "10", GPU: "9"})], second=OVERCOMMIT)
    assert "enqueue-overcommit" == found.cause_code
    assert f"minResources asks 9 {GPU}; overcommit allows 2.4 more (2 x 1.2 - 0 used), 6.6 short." in found.full_text
    assert (
        "9 nvidia.com/gpu is more than the whole cluster's 2 nvidia.com/gpu x 1.2 = 2.4 nvidia.com/gpu"
        in found.full_text
    )
    assert (6.6, 0.4) == tuple(round(found.dominant.numbers[f"short.{each}"].value, 6) for each in (GPU, "cpu"))


def test_a_factor_that_is_not_under_arguments_is_moved_there_with_its_value() -> None:
    beside = {"overcommit": {"overcommit-factor": "15"}}
    big = wanted(phase="Pending", min_resources={"cpu": "10"})
    found = asked([*nodes("n1"), *big], second=OVERCOMMIT, more=beside)
    assert found.dominant.facts[0] == (
        "overcommit-factor is set next to arguments, not under it, so the default 1.2 applies."
    )
    advised = "Move overcommit-factor (15) under arguments of overcommit, where it is read."
    assert [(advised, ("conf:plugins.overcommit.arguments.overcommit-factor=15",))] == [
        (line.text, line.edits) for line in found.advised if "factor" in line.text
    ]


def test_no_advice_to_free_an_unused_resource() -> None:
    big = wanted(phase="Pending", min_resources={"cpu": "10"})
    found = asked([*nodes("n1"), *big], second=OVERCOMMIT)
    assert ("Request less in spec.minResources.", "Set overcommit-factor above 1.25.") == found.advice_texts
    busy = asked([*nodes("n1"), *running("a", "n1", 1), *big], second=OVERCOMMIT)
    assert ("Request less in spec.minResources.", "Free 4.4 cpu.") == busy.advice_texts[:2]


def test_a_quota_names_the_other_dimensions_that_it_is_exceeded_in() -> None:
    small = [queue("default", capability={"cpu": "2", "memory": "1Gi"})]
    found = asked([*nodes("n1"), *small, *wanted(phase="Pending", min_resources={"cpu": "4", "memory": "8Gi"})])
    assert "enqueue-queue-quota" == found.cause_code
    assert "allocated or reserved (2 short; also: memory)." in found.full_text


def test_limit_of_0_states_that_no_node_provides_the_resource() -> None:
    waiting = wanted(phase="Pending", min_resources={GPU: "1"})
    found = asked([*nodes("n1"), *waiting])
    assert f"0 of its limit 0 allocated or reserved (1 short). No node provides {GPU}." in found.full_text


def test_a_child_queue_is_limited_by_its_parent() -> None:
    tree = [queue("root"), queue("org", parent="root", capability={"cpu": "4", "memory": "80G"})]
    leaf = queue("leaf", parent="org")
    hierarchy = {"capacity": {"enableHierarchy": "true"}}
    waiting = wanted(queue="leaf", phase="Pending", min_resources={"cpu": "6"})
    found = asked([*nodes("n1"), *tree, leaf, *waiting], second="predicates capacity nodeorder", more=hierarchy)
    assert (
        "leaf has 0 of its limit 4 allocated or reserved (2 short). The limit is what parent queue org and"
        in found.full_text
    )


def test_waiting_is_advised_at_a_capability_only_where_other_jobs_hold_some_of_it() -> None:
    own = queue("default", capability={"cpu": "6", "memory": "80G"})
    others = asked([*nodes("n1"), own, *running("a", "n1", 1), *wanted()], **CAPACITY)
    alone = asked([*nodes("n1"), own, *wanted(2)], **CAPACITY)
    advised = "Wait until jobs in queue default finish."
    assert ("queue-not-allocatable", True) == (others.cause_code, advised in others.advice_texts)
    assert ("queue-not-allocatable", False) == (alone.cause_code, advised in alone.advice_texts)


def test_a_queue_that_is_not_open_may_not_reclaim_and_must_be_opened() -> None:
    queues = [queue("mine", state="Closed"), queue("theirs")]
    full = [*nodes("n1"), *running("a", "n1", queue="theirs")]
    found = asked([*queues, *full, *wanted(queue="mine")], RECLAIM)
    assert "preemptive" == found.cause_code
    assert "queue mine is Closed; proportion allows reclaim only for Open queues" in found.full_text
    assert "Open queue mine: vcctl queue operate -a open -n mine" in found.advice_texts


def test_a_share_that_forbids_reclaim_is_derived_in_the_lines_below_its_figures() -> None:
    queues = [queue("mine", weight=1), queue("theirs", weight=15)]
    full = [*nodes("n1", "n2"), *running("a", "n1", queue="theirs"), *running("b", "n2", queue="theirs")]
    found = asked([*queues, *full, *wanted(queue="mine")], RECLAIM)
    assert "preemptive" == found.cause_code
    derived = "deserved cpu, round 1: 16 x weight 1 / 16 = 1"
    assert ("cpu: allocated 0 + request 4 > deserved 1", derived) == found.dominant.lines


@pytest.mark.parametrize("kind", [{}, CAPACITY])
@pytest.mark.parametrize("phase", ["Inqueue", "Pending"])
def test_the_arithmetic_names_the_limit_as_the_headline_does(kind: dict[str, str], phase: str) -> None:
    own = [queue("default", capability={"cpu": "6"}), *running("a", "n1", 1)]
    asks = wanted(phase=phase, min_resources={"cpu": "4"})
    found = asked([*nodes("n1", "n2"), *own, *asks], **kind)
    assert "of its capability 6" in str(found.dominant.headline)
    assert "> capability 6" == found.dominant.lines[0][-14:]


def test_a_dimension_that_the_capability_does_not_limit_is_named_by_what_limits_it() -> None:
    request, most = Resource(4000.0, 8.0), Resource(2000.0, 6.0)
    check = QueueCheck("q", "deserved", check_request(Resource(), request, most), Resource(2000.0, 7.0))
    cpu, memory = check.arithmetic_lines()
    assert ("> capability 2", "> deserved 6B") == (cpu[-14:], memory[-13:])


def test_a_capability_that_forbids_reclaim_is_named() -> None:
    queues = [
        queue("mine", deserved={"cpu": "8"}, capability={"cpu": "2", "memory": "80G"}),
        queue("theirs", deserved={"cpu": "1"}),
    ]
    full = [*nodes("n1"), *running("a", "n1", queue="theirs")]
    found = asked([*queues, *full, *wanted(queue="mine")], RECLAIM, **CAPACITY)
    assert "queue-not-allocatable" == found.cause_code
    assert "wanted-0 alone asks 4 cpu, more than the capability 2 of its queue mine" in found.full_text
    (beside,) = [one for one in found.contributing if one.cause == "preemptive"]
    assert "it would use 4 cpu of its capability 2 (capacity)" in beside.full_text
    assert any("Queue mine: raise spec.capability" in line for line in found.advice_texts)


@pytest.mark.parametrize(
    ("release", "says"),
    [
        ("master", "it would use 4 cpu of its capability 3 (capacity)"),
        ("v1.14.4", "it would use 4 cpu and deserves 2"),
    ],
)
def test_a_claim_is_refused_by_the_limit_only_where_the_release_asks_for_it(release: str, says: str) -> None:
    queues = [
        queue("mine", deserved={"cpu": "2"}, capability={"cpu": "3", "memory": "80G"}),
        queue("theirs", deserved={"cpu": "1"}),
    ]
    world = [*CLASSES, *queues, *nodes("n1"), *running("a", "n1", queue="theirs"), *wanted(queue="mine")]
    recording = replay_cycle(
        snapshot_at_release(cluster(*world, conf=conf(RECLAIM, "drf predicates capacity nodeorder")), release)
    )
    found = explain_by_name(recording, WANTED)
    sentences = {found.cause_code: found.full_text, **{one.cause: one.full_text for one in found.contributing}}
    assert says in sentences["preemptive"]
    seq = recording.index.seqs_at_point("Preemptive")[0]
    equation = equation_at(recording, seq)
    assert equation is not None
    assert (release == "master") == any(term.name.startswith("limit ") for term in equation.terms)
    assert (release == "master") == ("≤ limit" in equation.formula)


def test_gangreclaim_is_asked_about_all_pods_at_once() -> None:
    queues = [queue("mine"), queue("theirs", weight=3)]
    full = [*nodes("n1", "n2"), *running("a", "n1", queue="theirs"), *running("b", "n2", queue="theirs")]
    found = asked([*queues, *full, *wanted(2, queue="mine")], "enqueue, allocate, gangreclaim")
    assert "preemptive" == found.cause_code
    assert "may not reclaim for 2 pods at once: it would use 8 cpu and deserves 4 by weight 1 of 4" in found.full_text


def test_gangpreempt_counts_the_pods_that_its_filter_excludes() -> None:
    objects = [
        queue("other"),
        *nodes("n1", "n2", "n3"),
        *running("equal", "n1", priority_class="high"),
        *running("safe", "n2", annotations=FALSE),
        *running("far", "n3", queue="other"),
    ]
    found = asked([*objects, *wanted()], "enqueue, allocate, gangpreempt")
    assert "victims-not-preemptable" == found.cause_code
    parts = (
        "2 in queue other",
        "2 of jobs with equal or higher priority",
        '2 with volcano.sh/preemptable: "false"',
    )
    assert [] == [part for part in parts if part not in found.full_text]
    assert "6 running pods: " in found.full_text


def test_preempt_is_not_the_cause_if_its_candidates_cannot_make_room() -> None:
    queues = [queue("mine", weight=3), queue("theirs", reclaimable=False)]
    full = [
        *nodes("n1"),
        *running("a", "n1", 1, cpu="7", queue="theirs"),
        *running("b", "n1", 1, cpu="1", queue="mine", annotations=FALSE),
    ]
    found = asked([*queues, *full, *wanted(queue="mine")], "enqueue, allocate, reclaim, preempt")
    assert "queue-not-reclaimable" == found.cause_code


@pytest.mark.parametrize(
    ("name", "job"),
    [("preempt-blocked-by-gang", "research/llm-finetune"), ("preempt-vetoed-by-gang", "research/safety-eval")],
)
def test_the_minimum_that_is_advised_places_the_job(name: str, job: str) -> None:
    recording = bundled(name)
    lines = (
        re.match(r"(\S+): spec.minMember \d+ -> (\d+), if", line)
        for line in explain_by_name(recording, job).advice_texts
    )
    other, least = next(found.groups() for found in lines if found)
    assert "places" == explain_by_name(edited(recording, f"PodGroup/{other}:spec.minMember={least}"), job).cause_code


def test_no_advice_to_lower_the_minimum_of_a_single_pod_gang() -> None:
    single = [*nodes("n1"), *running("a", "n1", 1, cpu="8")]
    found = asked([*single, *wanted(cpu="8")], "enqueue, allocate, preempt")
    assert "gang" == found.cause_code
    assert "Free room elsewhere: gang never allows evicting the only pod of default/a." in found.advice_texts


def test_queue_finding_names_the_refused_pod() -> None:
    roomy = [*nodes("n1", "n2"), queue("default", capability={"cpu": "6"})]
    found = asked([*roomy, *wanted(2, cpu="4")])
    refusals = [one for one in (found.dominant, *found.contributing) if one.cause == "queue-not-allocatable"]
    assert [True] == ["wanted-1 asks 4 cpu; its queue default used 4 of" in one.full_text for one in refusals]


def test_explain_names_what_stopped_the_last_plan_of_a_gang_action() -> None:
    held = running("a", "n1", 1, cpu="2", annotations=FALSE)
    objects = [queue("default", capability={"cpu": "5"}), *nodes("n1"), *held, *running("b", "n1", 1, cpu="6")]
    found = asked([*objects, *wanted()], "enqueue, allocate, gangpreempt")
    assert "gang-discard" == found.cause_code
    assert "Its queue has no quota left for wanted-0. No pod is evicted." in found.full_text
    assert "proportion rejects wanted-0" in [evidence.text for evidence in found.dominant.evidence]


def test_a_pod_beyond_the_minimum_that_no_node_can_ever_take_is_told_so() -> None:
    group, *members = wanted(2, min_member=1, cpu="2")
    members[0]["spec"]["nodeName"], members[0]["status"]["phase"] = "n1", "Running"
    members[1]["spec"]["nodeSelector"] = {"disk": "nvme"}
    objects = [*nodes("n1"), *running("b", "n1", 1, cpu="6"), group, *members]
    found = asked(objects, "enqueue, allocate, gangpreempt")
    assert "predicates-unresolvable" in [one.cause for one in (found.dominant, *found.contributing)]


def reclaiming(theirs: dict[str, Any], count: int = 2, cpu: str = "4") -> Explanation:
    """Explain a job of 4 cpu whose queue is below its deserved; capacity votes in the first tier."""
    queues = [queue("mine", deserved={"cpu": "8", "memory": "80G"}), queue("theirs", **theirs)]
    full = [*nodes("n1"), *running("a", "n1", count, cpu=cpu, queue="theirs")]
    tiers = {"first": "gang conformance capacity", "second": "predicates nodeorder"}
    silent = {"gang": {"enableReclaimable": "false"}}
    return asked([*queues, *full, *wanted(queue="mine")], RECLAIM, **tiers, more=silent)


def test_capacity_protects_the_deserved_amount() -> None:
    found = reclaiming({"deserved": {"cpu": "8", "memory": "80G"}})
    assert "victims-not-above-deserved" == found.cause_code
    assert "2 pods of queue theirs, which uses 8 of 8 cpu and " in found.full_text
    assert 8.0 == found.dominant.numbers["queue.theirs.deserved.cpu"].value


def test_capacity_protects_the_guarantee() -> None:
    found = reclaiming({"deserved": {"cpu": "1"}, "guarantee": {"cpu": "3"}}, 1, "8")
    assert "of queue theirs, which would fall below its guarantee (3 cpu)" in found.full_text
    assert any("its spec.guarantee" in line for line in found.advice_texts)


def test_a_quota_of_the_namespace_is_named_with_its_figures() -> None:
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "team-quota", "namespace": "default"},
        "status": {"hard": {"cpu": "10", "memory": "64Gi"}, "used": {"cpu": "7500m", "memory": "60Gi"}},
    }
    waiting = wanted(phase="Pending", min_resources={"cpu": "4", "memory": "8Gi"})
    found = asked([*nodes("n1", "n2"), quota, *waiting], first="priority gang resourcequota")
    assert "enqueue-resourcequota" == found.cause_code
    assert "minResources asks 4 cpu; ResourceQuota team-quota has 7.5 of 10 used" in found.full_text
    assert "(1.5 short; also: memory by 4Gi)." in found.full_text
    assert (1.5, "cores") == tuple(found.dominant.numbers["short.cpu"])


@pytest.mark.parametrize("release", ["v1.10.0", "v1.15.1", "master"])
@pytest.mark.parametrize(("used", "counted"), [("0", False), ("4", True)])
def test_a_quota_names_what_this_cycle_reserved_and_pods_only_if_it_counts_them(
    release: str, used: str, counted: bool
) -> None:
    """Up to v1.15 the plugin reserves when it permits a job, and not when all plugins have."""
    amounts = {"hard": {"cpu": "10"}, "used": {"cpu": used}}
    quota = {"kind": "ResourceQuota", "metadata": {"name": "team-quota", "namespace": "default"}, "status": amounts}
    first = [pod_group("first", phase="Pending", min_resources={"cpu": "4"}), *pods("first", 1, cpu="1")]
    later = [pod_group("j", phase="Pending", min_resources={"cpu": "8"}), *pods("j", 2, cpu="2")]
    later[0]["metadata"]["creationTimestamp"] = "2026-10-31T12:30:00Z"
    conf = conf_of("priority gang resourcequota", actions="enqueue, allocate")
    snapshot = cluster(node("n1"), quota, first, later, conf=conf)
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, release)), "default/j")
    assert f"team-quota has {used} of 10 used and 4 reserved in this cycle ({2 + int(used)} short)" in found.full_text
    assert counted is ("counts j-0, j-1 of this job twice" in found.full_text)
    assert counted is ("Used by: " in found.full_text)


def edited(recording: Recording, text: str) -> Recording:
    """Replay the snapshot with one edit."""
    return replay_cycle(apply_edits(recording.snapshot, [parse_edit(text)], recording.conf.text))


@pytest.mark.parametrize("name", GOLDEN)
def test_the_minimum_that_a_discarded_gang_is_advised_to_take_places_it(name: str) -> None:
    recording = golden(name)
    for job in recording.session.jobs:
        found = explain_by_name(recording, job)
        advised = [re.search(r"^lower minMember to (\d+)$", line.text) for line in found.dominant.advice]
        for least in (match[1] for match in advised if match is not None and found.cause_code == "gang-discard"):
            assert explain_by_name(edited(recording, f"PodGroup/{job}:spec.minMember={least}"), job).scheduled, job


def test_a_device_quota_is_told_in_the_words_that_the_plugin_writes() -> None:
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"name": "gpus", "namespace": "default", "uid": "uid-gpus"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 3}}]}},
    }
    group, *members = wanted(phase="Pending", min_resources={"cpu": "1"}, resourceClaims=[])
    for member in members:
        member["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "gpus"}]
    limited = [queue("default", capability={"deviceclass/gpu": "2"})]
    found = asked([*nodes("n1"), *limited, claim, group, *members], second="predicates capacity nodeorder", more={})
    assert "enqueue-queue-quota" == found.cause_code
    assert "dra-resource-exceeded" in found.full_text


def test_a_closed_queue_is_not_to_blame_for_pods_that_are_not_preemptable_anyway() -> None:
    queues = [queue("mine"), queue("theirs", reclaimable=False)]
    safe = [*nodes("n1"), *running("a", "n1", queue="theirs", annotations=FALSE)]
    found = asked([*queues, *safe, *wanted(queue="mine")], "enqueue, allocate, gangreclaim")
    assert "victims-not-preemptable" == found.cause_code
    assert not any("reclaimable" in line for line in found.advice_texts)


def test_a_gang_that_lacks_room_for_one_pod_is_told_what_is_short_in_total() -> None:
    found = asked([*nodes("n1", "n2"), *wanted(5)])
    assert "gang-discard" == found.cause_code
    assert "The 5 pods ask 20 cpu in total; 16 is free on all nodes together (4 short)." in found.dominant.facts
    assert "Free 4 cpu, or add a node that has it." in found.advice_texts


@pytest.mark.parametrize(
    ("minimum", "action", "told"),
    [
        (
            1,
            "gangpreempt",
            "since gangpreempt evicts the pods that a job has above its minMember together, not one by one",
        ),
        (4, "gangpreempt", "since gangpreempt evicts the pods of a job in bundles together, not one by one"),
        (1, "preempt", ""),
    ],
)
def test_pods_that_a_gang_action_evicts_together_are_told_as_such(minimum: int, action: str, told: str) -> None:
    full = [node("n1", cpu="4"), *running("a", "n1", 4, cpu="1", min_member=minimum)]
    found = asked([*full, *wanted(cpu="1")], f"enqueue, allocate, {action}")
    facts = " ".join(found.dominant.facts)
    assert told in facts
    assert bool(told) is ("; by their amounts 1 would do" in facts)
    assert bool(told) is ("not one by one" in facts)


@pytest.mark.parametrize("elsewhere", [True, False])
@pytest.mark.parametrize("lost", [True, False])
def test_evictions_on_other_nodes_than_the_reserved_ones_are_explained(elsewhere: bool, lost: bool) -> None:
    """gangpreempt before allocate evicts although two nodes are free; allocate after it releases what it reserved."""
    busy = running("a", "n3", 2, min_member=1)
    objects = [*nodes(*(("n1", "n2", "n3") if elsewhere else ("n3",))), *busy, *wanted(1 + elsewhere, cpu="4")]
    found = asked(objects, f"enqueue, gangpreempt{', allocate' if lost else ''}")
    told = [fact for fact in found.dominant.facts if "the evictions are on n3: gangpreempt adds up what" in fact]
    assert elsewhere is bool(told)


@pytest.mark.parametrize(("capability", "busy", "quota_decides"), [("8", 4, True), ("8", 2, False), ("40", 4, False)])
@pytest.mark.parametrize("lost", [True, False])
def test_evictions_that_free_quota_and_no_room_are_told_as_such(
    capability: str, busy: int, quota_decides: bool, lost: bool
) -> None:
    """gangpreempt evicts a first job in any case, and further ones only as long as capacity refuses."""
    small = queue("default", capability={"cpu": capability})
    used = [each for number in range(busy) for each in running(f"a{number}", "n3", 1, cpu=str(8 // busy))]
    objects = [small, *nodes("n1", "n3"), *used, *wanted(cpu="4")]
    found = asked(objects, f"enqueue, gangpreempt{', allocate' if lost else ''}", **CAPACITY)
    facts = " ".join(found.dominant.facts)
    use = "n1 had room without evictions; queue default had no quota left (it used 8 of its capability 8 cpu)"
    assert quota_decides is (use in facts)
    assert quota_decides is not ("adds up what is free" in facts)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ("Queue/queue-3:spec.weight=1", True),
        ("PodGroup/team/job-3:spec.minResources.cpu=3", False),
        ('conf:actions="enqueue, allocate, backfill"', False),
    ],
)
def test_a_job_above_what_its_own_queue_deserves_is_told_that_reclaim_would_not_act(edit: str, told: bool) -> None:
    thread = load_snapshot(recorded_path("threads/4995-guarantee-does-not-work"))
    changed = apply_edits(thread, [parse_edit(edit)], thread.scheduler_conf or "")
    found = explain_by_name(replay_cycle(changed), "team/job-3")
    share = "Its own queue queue-3 deserves 3 cpu (guarantee 2) and uses 0; 4 more is above that"
    assert told is (f"{share}, so reclaim would not evict for it either." in found.dominant.facts)


def test_victims_that_were_not_needed_are_counted() -> None:
    small = [node("n1", cpu="4"), *running("a", "n1", 1, cpu="1"), *running("b", "n1", 1, cpu="3")]
    found = asked([*small, *wanted(cpu="2")], "enqueue, allocate, gangpreempt")
    needless = [fact for fact in found.dominant.facts if "would do" in fact]
    evicted = found.dominant.numbers["pods.evicted"].value
    assert [evicted > 1] == [bool(needless)]


@pytest.mark.parametrize(("release", "hard"), [("v1.14.0", False), ("v1.14.0", True), ("v1.14.2", False)])
def test_a_release_whose_allocate_skips_subgroups_is_named_as_the_cause(release: str, hard: bool) -> None:
    group, *members = wanted(2, min_member=2)
    group["spec"]["subGroupPolicy"] = [{"name": "t", "subGroupSize": 1, "matchLabelKeys": ["part"]}]
    group["spec"] |= {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}} if hard else {}
    for number, member in enumerate(members):
        member["metadata"]["labels"] = {"part": str(number)}
    rack = hyper_node("r", 1, nodes=["n1"])
    found = asked([*nodes("n1"), rack, group, *members], release=release, first="gang network-topology-aware priority")
    skipped = "allocate of v1.14.0 places no pod of a subgroup (subGroupPolicy) without hard topology"
    assert (release == "v1.14.0" and not hard) is (skipped in found.sentence)
    assert found.scheduled is (skipped not in found.sentence)
