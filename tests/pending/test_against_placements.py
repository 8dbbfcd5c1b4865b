"""What speaks against a placement or an admission: rejections, rules of running pods, and what other releases do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class, queue
from tests.pending.test_component_reports import report, volcano_job
from tests.pending.test_scheduler_down import seen_node
from tests.pending.test_workloads import explained, owned
from vcdebug.explain.answer import Explanation
from vcdebug.explain.decisions.node_choice import RankedChoice, ScoredNode, choice_sentence
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.snapshot import Manifest, Snapshot

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PLAIN = conf_of("gang", "predicates nodeorder", actions="allocate")
ADMITS = conf_of("gang", "overcommit predicates proportion", actions="enqueue, allocate")


def of_release(snapshot: Snapshot, release: str) -> Snapshot:
    wanted = resolve_release(f"{release},nearest").release
    return replace(snapshot, flags=replace(snapshot.flags, release=wanted))


def rejection(message: str, since: str = "2026-10-31T23:30:00Z", last: str = "2026-10-31T23:54:00Z") -> Manifest:
    said = report(message, "PodGroup", "j", firstTimestamp=since, lastTimestamp=last, count=7)
    return {**said, "source": {"component": "volcano"}, "reason": "Unschedulable"}


def of_volcano_job(*objects: Manifest, name: str = "j") -> list[Manifest]:
    for made in owned([*objects], "Job", name):
        made["metadata"]["ownerReferences"][0]["apiVersion"] = "batch.volcano.sh/v1alpha1"
    return [*objects]


def labelled(made: Manifest, **labels: str) -> Manifest:
    made["metadata"]["labels"] = labels
    return made


def admitted_job(*more: Any) -> Snapshot:
    group = of_volcano_job(pod_group("j", phase="Pending", min_resources={"cpu": "1"}))
    return cluster(seen_node(), volcano_job(), group, *more, conf=ADMITS)


@pytest.mark.parametrize(
    ("event", "plugin"),
    [
        (rejection("resource in cluster is overused"), "overcommit"),
        (rejection("queue resource quota insufficient: insufficient cpu"), "proportion or capacity"),
        (rejection("1/0 tasks in gang unschedulable"), ""),
        (rejection("resource in cluster is overused", since="2026-10-31T23:53:00Z"), ""),
        (rejection("resource in cluster is overused", last="2026-10-31T23:31:00Z"), ""),
        (rejection("resource in cluster is overused", since="yesterday"), ""),
    ],
)
def test_an_admission_that_the_running_scheduler_has_long_refused_says_so(event: Manifest, plugin: str) -> None:
    found = explained(admitted_job(event))
    assert found.cause_code == "admitted"
    assert bool(plugin) is found.is_refused
    assert bool(plugin) is ("but has been refused for " in found.sentence)
    assert bool(plugin) is any(f"(plugin {plugin})" in fact for fact in found.dominant.facts if plugin)


@pytest.mark.parametrize(
    ("release", "gpus", "told"), [("v1.9.1", "4", True), ("v1.9.1", "0", False), ("v1.10.2", "4", False)]
)
def test_a_release_that_compares_all_resources_may_not_admit_beside_a_group_that_reserves_others(
    release: str, gpus: str, told: bool
) -> None:
    reserves = pod_group("r", phase="Inqueue", min_resources={"cpu": "1", "nvidia.com/gpu": gpus})
    found = explained(of_release(admitted_job(reserves), release))
    assert told is (
        f"may not be admitted by {release}: it compares all resources, and 4 nvidia.com/gpu" in found.sentence
    )
    assert told is any("without pods: PodGroup default/r" in words for words in found.advice_texts)


def claimed(mode: str, on: str = "n1", phase: str = "", count: int = 1) -> Explanation:
    metadata = {"name": "c", "namespace": "default", "uid": "c"}
    bound = {**metadata, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    claim = {"kind": "PersistentVolumeClaim", "metadata": bound, "status": {"phase": "Bound"}}
    claim["spec"] = {"accessModes": [mode], "volumeName": "v", "storageClassName": ""}
    reference = {"name": "c", "namespace": "default", "uid": "c"}
    volume = {"kind": "PersistentVolume", "metadata": {"name": "v", "uid": "v"}, "status": {"phase": "Bound"}}
    volume["spec"] = {"accessModes": [mode], "claimRef": reference, "capacity": {"storage": "1Gi"}}
    mounts: dict[str, Any] = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]}
    first = pod("r-0", "r", on=on, phase=phase, **mounts)
    groups = [pod_group("r", phase="Running"), pod_group("j")]
    wanted = pods("j", count, requests={"cpu": "1"}, **mounts)
    return explained(cluster(node("n1"), claim, volume, groups, wanted, first, conf=PLAIN))


@pytest.mark.parametrize(
    ("mode", "phase", "told"),
    [("ReadWriteOncePod", "", True), ("ReadWriteOnce", "", False), ("ReadWriteOncePod", "Succeeded", False)],
)
def test_a_placement_with_a_claim_of_one_pod_that_another_uses_cannot_start(mode: str, phase: str, told: bool) -> None:
    found = claimed(mode, phase=phase)
    assert found.scheduled
    assert told is ("but cannot start there" in found.sentence)
    assert told is any("r-0 on n1 uses it" in fact for fact in found.dominant.facts)


def test_of_several_pods_with_a_claim_of_one_pod_the_running_one_has_to_end() -> None:
    found = claimed("ReadWriteOncePod", count=3)
    assert all("r-0 on n1 uses it" in fact for fact in found.dominant.facts if "uses it" in fact)
    assert "End r-0 first, or give the claim access mode ReadWriteOnce." in found.advice_texts


def web_pods(*nodes: str, **spec: Any) -> list[Manifest]:
    return [labelled(pod(f"j-{at}", "j", on=name, **spec), app="web") for at, name in enumerate(nodes)]


WEB = {"matchLabels": {"app": "web"}}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": WEB,
}
APART = {"podAntiAffinity": {REQUIRED: [{"topologyKey": "kubernetes.io/hostname", "labelSelector": WEB}]}}


@pytest.mark.parametrize(
    ("places", "spec", "rule"),
    [
        (("n1", "n1"), {"affinity": APART}, "podAntiAffinity"),
        (("n1", "n2"), {"affinity": APART}, ""),
        (("n1", "n1"), {"topologySpreadConstraints": [SPREAD]}, "topologySpreadConstraints"),
        (("n1", "n2"), {"topologySpreadConstraints": [SPREAD]}, ""),
        (("n1", "n1"), {"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]}, ""),
        (("n1", "n1"), {}, ""),
    ],
)
@pytest.mark.parametrize("release", ["v1.15.1", "v1.10.0"])
def test_a_hard_rule_that_running_pods_break_is_named_with_the_release_that_does_not_check_it(
    places: tuple[str, ...], spec: dict[str, Any], rule: str, release: str
) -> None:
    nodes = [node(name, labels={"kubernetes.io/hostname": name}) for name in ("n1", "n2")]
    group = pod_group("j", phase="Running", min_member=2)
    found = explained(of_release(cluster(nodes, group, web_pods(*places, **spec), conf=PLAIN), release))
    assert found.scheduled
    assert bool(rule) is (f"but breaks its {rule}" in found.sentence)
    faulty = release == "v1.10.0" and rule == "topologySpreadConstraints"
    assert faulty is any("v1.10.0 does not check it (#3726" in fact for fact in found.dominant.facts)
    assert faulty is any("Upgrade Volcano to v1.10.1" in words for words in found.advice_texts)


def test_a_placed_pod_says_why_its_node_was_chosen_and_what_speaks_for_the_next() -> None:
    conf = conf_of("gang", "predicates nodeorder binpack", arguments={"binpack": {"binpack.weight": "10"}})
    holder = [pod_group("r", phase="Running"), *pods("r", 1, cpu="5", on="n1")]
    found = explained(cluster(node("n1"), node("n2"), holder, pod_group("j"), pods("j", 1, cpu="4"), conf=conf))
    chosen = next(fact for fact in found.dominant.facts if fact.startswith("default/j-0 is placed on n1 (score"))
    assert "next best n2" in chosen
    assert "Largest difference: binpack" in chosen
    assert "n2 is better in nodeorder" in chosen


def test_nodes_that_tie_are_named() -> None:
    found = explained(cluster(node("n1"), node("n2"), pod_group("j"), pods("j", 1), conf=PLAIN))
    assert any("2 nodes tie at the top score" in fact and "(n1, n2)" in fact for fact in found.dominant.facts)
    assert "cancel out" not in " ".join(found.dominant.facts)


@pytest.mark.parametrize(("plugin", "ties"), [("binpack", True), ("", False)])
def test_scores_that_cancel_out_in_a_tie_are_named(plugin: str, ties: bool) -> None:
    conf = conf_of("gang", f"predicates nodeorder {plugin}")
    half = [pod_group("r", phase="Running"), *pods("r", 1, on="n1", requests={"cpu": "5", "memory": "50G"})]
    mine = pods("j", 1, requests={"cpu": "1", "memory": "10G"})
    found = explained(cluster(node("n1"), node("n2"), half, pod_group("j"), mine, conf=conf))
    (fact,) = [one for one in found.dominant.facts if "is placed on" in one]
    assert ties is ("since binpack, " in fact and "cancel out" in fact)
    assert ties is fact.endswith("without binpack n2 would score higher than n1.")


@pytest.mark.parametrize("gaps", [(5.0, -3.0, -2.0), (1.0, 1.0, -2.0), (4.0, -1.0, -1.0, -2.0), (2.0, 0.0, -2.0)])
def test_the_parts_that_are_said_to_cancel_out_do_so(gaps: tuple[float, ...]) -> None:
    parts = [
        {f"part{at}": float(each) for at, each in enumerate(own)} for own in ([9.0 + gap for gap in gaps], [9.0] * 4)
    ]
    first, second = (
        ScoredNode(name, 36.0, {key: own[key] for key in parts[0]}) for name, own in zip("ab", parts, strict=True)
    )
    sentence = choice_sentence("default/j-0", RankedChoice([first, second], first, second, ("a", "b")))
    named = re.findall(r"(part\d), (\d+) against (\d+)", sentence)
    assert [name for name, *_ in named] == sorted(
        (f"part{at}" for at, gap in enumerate(gaps) if gap), key=lambda name: (-gaps[int(name[4:])], name)
    )
    assert sum(int(left) - int(right) for _, left, right in named) == 0


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_reserving_group_whose_owner_has_its_pods_in_another_is_named_as_left_over(elsewhere: bool) -> None:
    old = pod_group("old", phase="Inqueue", min_member=2, min_resources={"cpu": "8"})
    new = [pod_group("old-uid", phase="Running"), *pods("old-uid", 1, cpu="4", on="n1")] if elsewhere else []
    groups = of_volcano_job(old, *new[:1], name="old")
    mine = of_volcano_job(pod_group("j", phase="Pending", min_resources={"cpu": "6"}))
    found = explained(cluster(node("n1"), volcano_job(), groups, new[1:], mine, conf=ADMITS))
    assert found.cause_code == "enqueue-held-by-inqueue"
    told = "PodGroup old belongs to Job old, which has its pods in PodGroup old-uid."
    assert elsewhere is (told in found.dominant.facts)
    assert elsewhere is any("Delete Inqueue PodGroups without pods" in words for words in found.advice_texts)
    assert elsewhere is not any("created no pods yet" in words for words in found.advice_texts)


@pytest.mark.parametrize("switch", ["true", "false"])
def test_a_plugin_that_is_switched_off_and_would_protect_the_victim_is_named_to_the_one_that_evicts(
    switch: str,
) -> None:
    arguments = {"gang": {"enablePreemptable": switch}}
    conf = conf_of("priority gang conformance", "predicates", actions="allocate, preempt", arguments=arguments)
    old = [pod_group("old", min_member=2, phase="Running"), *pods("old", 2, cpu="5", on="n1", priority=1)]
    mine = [priority_class("high", 9), pod_group("j", priority_class="high"), *pods("j", 1, cpu="5", priority=9)]
    found = explained(cluster(node("n1"), old, mine, conf=conf))
    assert (switch == "false") is found.scheduled
    told = "fewer than its minMember 2 (gang does not protect it: enablePreemptable is false)"
    assert found.scheduled is any(told in fact for fact in found.dominant.facts)


def test_a_minimum_above_the_whole_cluster_is_not_advised_to_wait() -> None:
    group = of_volcano_job(pod_group("j", phase="Pending", min_resources={"cpu": "11"}))
    conf = conf_of("gang", "predicates proportion", actions="enqueue, allocate")
    found = explained(cluster(node("n1"), queue(), volcano_job(), group, conf=conf))
    assert found.cause_code == "enqueue-queue-quota"
    assert any("waiting cannot help" in fact for fact in found.dominant.facts)
    assert not any(words.startswith("Wait") for words in found.advice_texts)


@pytest.mark.parametrize("image", ["volcanosh/vc-webhook-manager:v1.3.0", "volcanosh/vc-webhook-manager:v1.12.0"])
def test_a_webhook_of_another_release_than_the_scheduler_is_named(image: str) -> None:
    def part(name: str, shown: str) -> Manifest:
        made = labelled(pod(f"{name}-x", None, namespace="volcano-system", on="n1"), app=name)
        made["spec"]["containers"][0] |= {"image": shown, "name": name}
        return made

    scheduler = part("volcano-scheduler", "volcanosh/vc-scheduler:v1.12.0")
    failed = 'failed calling webhook "mutatepod.volcano.sh": the server could not find the requested resource'
    group = of_volcano_job(pod_group("j", min_member=2, phase="Inqueue", min_resources={"cpu": "2"}))
    parts = [scheduler, part("volcano-admission", image)]
    found = explained(cluster(node("n1"), volcano_job(), group, parts, report(failed, "Job", "j"), conf=ADMITS))
    assert "webhook mutatepod.volcano.sh does not answer" in found.sentence
    told = "The scheduler runs v1.12.0, and volcano-admission v1.3.0"
    assert image.endswith("v1.3.0") is any(fact.startswith(told) for fact in found.dominant.facts)


@pytest.mark.parametrize(("capability", "told"), [("8", True), ("10", False)])
@pytest.mark.parametrize("release", ["v1.15.1", "v1.4.0"])
def test_running_pods_of_a_queue_above_its_capability_say_so(capability: str, told: bool, release: str) -> None:
    limited = {**queue(), "spec": {"weight": 1, "capability": {"cpu": capability}}}
    group = pod_group("j", phase="Running")
    found = explained(
        of_release(cluster(node("n1"), limited, group, pods("j", 2, cpu="5", on="n1"), conf=PLAIN), release)
    )
    assert told is ("but its queue is above its capability" in found.sentence)
    start = "Queue default holds 10 cpu of its capability 8"
    facts = [fact for fact in found.dominant.facts if fact.startswith(start)]
    assert told is bool(facts)
    assert not told or ("v1.4.0 does not check it (#1860" in facts[0]) is (release == "v1.4.0")


@pytest.mark.parametrize("gpus", ["1", "0"])
def test_a_victim_that_frees_nothing_of_what_the_pod_lacks_is_named_on_both_sides(gpus: str) -> None:
    large = node("n1", cpu="12")
    large["status"]["allocatable"]["nvidia.com/gpu"] = "2"
    conf = conf_of("priority conformance", "predicates", actions="allocate, preempt")
    low = pod("low-0", "low", on="n1", requests={"cpu": "4", "nvidia.com/gpu": gpus}, priority=1)
    runs = [pod(f"old-{at}", "old", on="n1", requests={"cpu": "1", "nvidia.com/gpu": "1"}, priority=5) for at in (0, 1)]
    groups = [pod_group("low", phase="Running"), pod_group("old", phase="Running", priority_class="mid")]
    mine = pod("j-0", "j", requests={"cpu": "1", "nvidia.com/gpu": "1"}, priority=9)
    classes = [priority_class("high", 9), priority_class("mid", 5)]
    snapshot = cluster(large, classes, groups, low, runs, pod_group("j", priority_class="high"), mine, conf=conf)
    told = "default/low-0 frees no nvidia.com/gpu, which default/j-0 lacks on n1"
    for job in ("default/j", "default/low"):
        facts = explained(snapshot, job).dominant.facts
        assert (gpus == "0") is any(fact.startswith(told) for fact in facts)


def test_a_capability_above_that_of_the_root_queue_is_lowered_to_it() -> None:
    root = {**queue("root"), "spec": {"weight": 1, "capability": {"cpu": "6"}}}
    child = {**queue("default"), "spec": {"weight": 1, "parent": "root", "capability": {"cpu": "7"}}}
    switches = {"capacity": {"enableHierarchy": "true"}}
    conf = conf_of("gang", "predicates capacity", actions="enqueue, allocate", arguments=switches)
    group = of_volcano_job(pod_group("j", phase="Pending", min_resources={"cpu": "1"}))
    found = explained(of_release(cluster(node("n1"), root, child, volcano_job(), group, conf=conf), "v1.13.3"))
    assert found.cause_code == "queue-tree-broken"
    assert "Queue default states capability 7 cpu, and its parent root has 6." in found.dominant.facts
    assert "Queue default: capability.cpu 7 -> 6." in found.advice_texts
