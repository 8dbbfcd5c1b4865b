"""Answers about room: pods of one gang that take it from each other, gangs that wait for each other, other jobs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import amounts, cluster, conf_of, hyper_node, node, pod_group, pods, priority_class, queue
from tests.debugger.test_remedies import proven
from tests.pending.test_workloads import ENQUEUE, explained, owned
from tests.plugins.test_deviceshare import cards, limited, vgpu
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.snapshot import Manifest, Snapshot

GPU = "nvidia.com/gpu"
PLAIN = conf_of("gang", "predicates nodeorder")


def gang(*sizes: dict[str, str], **group: object) -> list[Manifest]:
    """A gang of one pod per size, all needed at once, each of its own role."""
    made = (pods("j", 1, requests=size, prefix=f"j-{at}", role=f"r{at}") for at, size in enumerate(sizes))
    return [pod_group("j", min_member=len(sizes)), *(each for some in made for each in some)]


@pytest.mark.parametrize(("name", "unit"), [("cpu", ""), ("memory", "G")])
@pytest.mark.parametrize("fits_elsewhere", [True, False])
def test_a_pod_that_takes_the_only_node_of_a_larger_one_of_its_gang_is_named_and_moved(
    name: str, unit: str, fits_elsewhere: bool
) -> None:
    large = {"cpu": "50", "memory": "500G"}
    hosts = [
        node("a", **{**large, name: f"9{unit}"}),
        node("b", **{**large, name: f"{5 if fits_elsewhere else 2}{unit}"}),
    ]
    small, big = ({"cpu": "1", "memory": "1G", name: f"{size}{unit}"} for size in (4, 8))
    snapshot = cluster(hosts, gang(small, big), conf=PLAIN)
    found = explained(snapshot)
    assert "gang-discard" == found.cause_code
    left = "5 cpu" if name == "cpu" else "4.66Gi memory"
    took = f"a had room for j-1-0 until j-0-0, which also fits b, took it ({left} left)."
    assert fits_elsewhere is (took in found.dominant.facts)
    moved = "j-0-0: nodeSelector kubernetes.io/hostname b (leaves a to j-1-0)"
    assert fits_elsewhere is any(words.startswith(moved) for words in proven(snapshot, "default/j"))


@pytest.mark.parametrize("sizes", [(2, 3, 5, 6), (2, 3, 5, 7), (4, 4, 8, 8)])
def test_a_gang_that_fits_only_in_another_order_is_placed_by_its_requests(sizes: tuple[int, ...]) -> None:
    hosts, conf = [node(name, cpu="8") for name in ("a", "b")], conf_of("priority gang", "predicates nodeorder")
    snapshot = cluster(hosts, gang(*({"cpu": str(size), "memory": "1G"} for size in sizes)), conf=conf)
    found = explained(snapshot)
    fits = sum(sizes) == 16 and len(set(sizes)) > 2
    assert fits is (
        "The total is not short: its 4 pods ask 16 cpu, and 16 is free on all nodes." in found.dominant.facts
    )
    ordered = "Place its pods by cpu, the largest first: a higher priorityClassName for a larger request"
    assert fits is any(words.startswith(ordered) for words in proven(snapshot, "default/j"))


def half_running(name: str, count: int, on: list[str], missing: int, **size: str) -> list[Manifest]:
    """A gang of which some pods run, one on each node, and others are Pending."""
    group = pod_group(name, min_member=count, phase="Running")
    placed = [pods(name, 1, requests=amounts(**size), on=host, prefix=f"{name}-{host}") for host in on]
    return [group, *(each for some in placed for each in some), *pods(name, missing, requests=amounts(**size))]


@pytest.mark.parametrize("missing", [1, 2])
@pytest.mark.parametrize("size", [{"cpu": "8"}, {"memory": "80G"}, {GPU: "8"}])
def test_two_gangs_that_each_lack_pods_wait_for_each_other(missing: int, size: dict[str, str]) -> None:
    hosts = [node(f"n{at}") for at in range(4)]
    for each in hosts:
        each["status"]["allocatable"][GPU] = "8"
    mine = half_running("j", 2 + missing, ["n0", "n1"], missing, **size)
    other = half_running("other", 2 + missing, ["n2", "n3"], missing, **size)
    snapshot = cluster(hosts, mine, other, conf=PLAIN)
    found = explained(snapshot)
    lacks = f"default/other runs 2 of the {2 + missing} pods of its minMember as well and holds room on n2, n3"
    assert f"{lacks}: the gangs wait for each other, and neither starts." == found.dominant.facts[0]
    first = next(iter(proven(snapshot, "default/j")))
    assert first == "Suspend or delete default/other, which cannot start either (ends 2 pods)"
    assert "Possible deadlock" not in found.full_text
    assert not any("Nothing has to change" in text for text in found.advice_texts)


@pytest.mark.parametrize("minimum", [1, 2])
def test_a_gang_that_has_its_minimum_is_no_deadlock(minimum: int) -> None:
    mine = half_running("j", 3, ["n0", "n1"], 1, cpu="8")
    other = half_running("other", minimum, ["n2", "n3"], 1, cpu="8")
    snapshot = cluster([node(f"n{at}") for at in range(4)], mine, other, conf=PLAIN)
    assert "wait for each other" not in explained(snapshot).full_text


def test_a_gang_that_lacks_something_else_is_no_deadlock() -> None:
    mine = half_running("j", 3, ["n0", "n1"], 1, cpu="8")
    other = half_running("other", 3, ["n2", "n3"], 1, cpu="8")
    other[-1]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "80"
    snapshot = cluster([node(f"n{at}") for at in range(4)], mine, other, conf=PLAIN)
    assert "wait for each other" not in explained(snapshot).full_text


RECLAIM = conf_of("gang conformance", "predicates capacity nodeorder", actions="allocate, reclaim")


@pytest.mark.parametrize(("deserved", "returns"), [("3", True), ("5", False)])
def test_a_pod_that_this_cycle_places_first_is_named_where_reclaim_finds_no_victim(
    deserved: str, returns: bool
) -> None:
    queues = [queue("a", deserved={"cpu": deserved}), queue("b", deserved={"cpu": "5"})]
    first = [pod_group("first", queue="a"), *pods("first", 1, cpu="4")]
    runs = [pod_group("runs", queue="b", phase="Running"), *pods("runs", 1, cpu="1", on="n1")]
    waits = [pod_group("j", queue="b"), *pods("j", 1, cpu="4")]
    snapshot = cluster(node("n1", cpu="8"), queues, first, runs, waits, conf=RECLAIM)
    found = explained(snapshot)
    served = "Queue b: spec.priority 0 -> 1 (served before a)"
    assert served == next(iter(proven(snapshot, "default/j")))
    placed = "n1 had room at the start of this cycle; first-0 of default/first (queue a) was placed there first"
    assert found.dominant.facts[0].startswith(placed)
    assert "since queue a is served before b (capacity share 0 before 0." in found.dominant.facts[0]
    again = "first-0 alone asks 4 cpu, more than the 3 that queue a deserves: it may be reclaimed once it runs"
    assert returns is any(fact.startswith(again) for fact in found.dominant.facts)


@pytest.mark.parametrize("orders", ["capacity", "drf", ""])
def test_a_queues_priority_is_changed_only_where_it_decides_which_queue_is_first(orders: str) -> None:
    first = [pod_group("first", queue="a"), *pods("first", 1, cpu="4")]
    waits = [pod_group("j", queue="b"), *pods("j", 1, cpu="4")]
    conf = conf_of("gang", f"predicates {orders} nodeorder")
    snapshot = cluster(node("n1", cpu="7"), [queue("a"), queue("b")], first, waits, conf=conf)
    served = "Queue b: spec.priority 0 -> 1 (served before a)"
    assert (orders == "capacity") is (served in proven(snapshot, "default/j"))


REGEX = {"regexMatch": {"pattern": "n[01]"}}
LABELS = {"labelMatch": {"matchLabels": {"rack": "a"}}}


def with_topology(release: str, selector: Manifest) -> Snapshot:
    """A hard job of two pods whose only HyperNode is full; n2 and n3 are free."""
    switch = hyper_node("rack", 1)
    switch["spec"]["members"] = [{"type": "Node", "selector": selector}]
    topology = {"mode": "hard", "highestTierAllowed": 1}
    placed = [*pods("old", 1, cpu="8", on="n0"), *pods("old", 1, cpu="8", prefix="p", on="n1")]
    full = [pod_group("old", phase="Running"), *placed]
    job = [pod_group("j", min_member=2, min_resources={"cpu": "16"}, networkTopology=topology), *pods("j", 2, cpu="8")]
    conf = conf_of("gang", "predicates nodeorder network-topology-aware")
    hosts = [node(f"n{at}") for at in range(4)]
    for host in hosts[:2]:
        host["metadata"].setdefault("labels", {})["rack"] = "a"
    snapshot = cluster(hosts, switch, full, job, conf=conf)
    snapshot.flags = replace(snapshot.flags, release=resolve_release(release).release)
    return snapshot


@pytest.mark.parametrize(("selector", "words"), [(REGEX, "regexMatch n[01]"), (LABELS, "labelMatch rack=a")])
@pytest.mark.parametrize("release", ["v1.12.1", "v1.13.3", "v1.15.0", "master"])
def test_free_nodes_outside_of_every_hypernode_are_named_and_put_into_one(
    release: str, selector: Manifest, words: str
) -> None:
    snapshot = with_topology(release, selector)
    found = explained(snapshot)
    assert "no-hypernode" == found.cause_code
    fact = "n2, n3 have room for it, but are in no HyperNode up to tier 1"
    fact = f"{fact} (rack: {words})."
    assert fact == found.dominant.facts[0]
    first = next(iter(proven(snapshot, "default/j")))
    assert first.startswith("Put n2, n3 into a HyperNode of tier 1, if they share its network")


@pytest.mark.parametrize("same", [True, False])
def test_the_right_name_of_a_device_is_requested_instead(same: bool) -> None:
    stated = "volcano.sh/vgpu-memory" if same else "example.com/fpga"
    host = node("n1")
    host["status"]["allocatable"][stated] = "10"
    asks = [pod_group("j"), *pods("j", 1, requests={"cpu": "1", "volcano.sh/gpu-memory": "4"})]
    snapshot = cluster(host, asks, conf=PLAIN)
    found = explained(snapshot)
    assert same is ("Did you mean volcano.sh/vgpu-memory, which n1 provides?" in found.dominant.facts)
    first, *others = proven(snapshot, "default/j")
    renamed = "1 pod: request volcano.sh/vgpu-memory instead of volcano.sh/gpu-memory (n1 provides it)"
    assert same is (renamed == first)
    assert same is not any(words.startswith(("Run the device plugin", "Add ")) for words in (first, *others))


@pytest.mark.parametrize("low", [True, False])
def test_inqueue_jobs_of_lower_priority_are_said_to_keep_what_they_reserve(low: bool) -> None:
    classes = [priority_class("low", 1), priority_class("middle", 5), priority_class("top", 9)]
    held = pod_group("held", min_resources={"cpu": "8"}, priority_class="low" if low else "top")
    stays = pods("held", 1, cpu="8", nodeSelector={"pool": "x"})
    waits = pod_group("j", phase="Pending", min_resources={"cpu": "6"}, priority_class="middle")
    conf = conf_of("priority gang", "overcommit predicates nodeorder", actions="enqueue, allocate")
    found = explained(cluster(node("n1"), classes, held, stays, waits, pods("j", 1, cpu="6"), conf=conf))
    assert "enqueue-held-by-inqueue" == found.cause_code
    kept = "An Inqueue PodGroup keeps what it reserves: the priority of default/j changes nothing."
    assert low is (kept in found.dominant.facts)


@pytest.mark.parametrize("used", ["4", None])
@pytest.mark.parametrize("name", ["requests.cpu", "cpu", "requests.example.com/fpga"])
def test_pods_that_exist_before_their_admission_are_said_to_use_the_quota(used: str | None, name: str) -> None:
    status = {"hard": {name: "5"}, **({"used": {name: used}} if used else {})}
    metadata = {"name": "team", "namespace": "default", "uid": "q"}
    quota = {"kind": "ResourceQuota", "metadata": metadata, "status": status}
    waits = [pod_group("j", phase="Pending", min_resources={"cpu": "20"}), *pods("j", 1, cpu="4")]
    found = explained(cluster(node("n1"), quota, waits, conf=ENQUEUE))
    told = f"Its 1 pod exists already, and ResourceQuota team counts 4 of 5 {name} as used"
    told += "; a Volcano Job creates its pods only once admitted."
    assert (used is not None and "cpu" in name) is (told in found.dominant.facts)


@pytest.mark.parametrize("asked", ["4", "12"])
def test_evictions_are_said_to_need_admission_only_where_the_minimum_fits_the_limit(asked: str) -> None:
    conf = conf_of("proportion predicates priority", actions="enqueue, allocate, preempt, reclaim")
    old = [pod_group("old", phase="Running", queue="q", min_resources={"cpu": "8"}), *pods("old", 1, cpu="8", on="n1")]
    mine = pod_group("j", phase="Pending", queue="q", min_resources={"cpu": asked})
    found = explained(cluster(node("n1", cpu="20"), queue("q", capability={"cpu": "10"}), old, mine, conf=conf))
    assert "enqueue-queue-quota" == found.cause_code
    said = " ".join(found.dominant.facts)
    assert ("minResources alone exceeds that" in said) is (asked == "12")
    assert ("o action evicts for a job that is not admitted" in said) is (asked == "4")


@pytest.mark.parametrize("selects", [True, False])
def test_a_pod_of_the_same_job_that_has_another_node_is_moved_from_the_only_node_of_the_blocked_one(
    selects: bool,
) -> None:
    hosts = [node("a", cpu="4", labels={"pool": "a"}), node("b", cpu="4", labels={"pool": "b"})]
    only_a: dict[str, Any] = {"nodeSelector": {"pool": "a"}}
    runs = pods("j", 1, cpu="3", on="a", prefix="k", **(only_a if selects else {}))
    snapshot = cluster(
        hosts, pod_group("j", min_member=2, phase="Running"), runs, pods("j", 1, cpu="3", **only_a), conf=PLAIN
    )
    fact = "k-0 of the same job runs on a and also fits b, which j-0 does not."
    assert selects is (fact not in explained(snapshot).dominant.facts)
    assert selects is not next(iter(proven(snapshot, "default/j"))).startswith("Move k-0 to b: delete it")


@pytest.mark.parametrize("queue_of_executors", ["default", "test"])
@pytest.mark.parametrize("runs", [True, False])
def test_pods_that_a_driver_has_created_in_another_queue_are_told(queue_of_executors: str, runs: bool) -> None:
    driver = [pod_group("j", queue="test", phase="Running"), *pods("j", 1, on="n1")]
    executors = pods("e", 2, cpu="2" if runs else "99", on="n1" if runs else "")
    group = pod_group("e", queue=queue_of_executors, phase="Running" if runs else "Inqueue")
    snapshot = cluster(node("n1"), queue("test"), driver, group, owned(executors, "Pod", "j-0"), conf=ENQUEUE)
    told = queue_of_executors == "default"
    for name in ("default/j", "default/e"):
        found = explained(snapshot, name)
        fact = next((one for one in found.dominant.facts if one.startswith("2 pods that j-0 created")), "")
        assert told is fact.endswith("PodGroup e of queue default: queue test, which j-0 is in, does not count them.")
        assert told is any(words.startswith("Create them with annotation") for words in found.advice_texts)


@pytest.mark.parametrize(("queues", "place"), [("b", "queue b"), ("bc", "queues b, c")])
def test_pods_that_a_driver_has_created_in_several_pod_groups_are_not_said_to_be_in_one(
    queues: str, place: str
) -> None:
    driver = [pod_group("j", queue="test", phase="Running"), *pods("j", 1, on="n1")]
    groups = [pod_group(f"e{at}", queue=queues[at % len(queues)], phase="Running") for at in range(4)]
    executors = owned([made for at in range(4) for made in pods(f"e{at}", 1, on="n1")], "Pod", "j-0")
    snapshot = cluster(node("n1"), map(queue, ["test", *queues]), driver, groups, executors, conf=ENQUEUE)
    for name in ("default/j", "default/e1"):
        facts = [
            fact for fact in explained(snapshot, name).dominant.facts if fact.startswith("4 pods that j-0 created")
        ]
        assert [f"are in 4 PodGroups of {place}: queue test, which j-0 is in, does not count them."] == [
            fact.partition(") ")[2] for fact in facts
        ]


def test_a_pod_is_not_moved_to_the_node_on_which_it_runs() -> None:
    hosts = [node("a", cpu="4", labels={"pool": "a"}), node("b", cpu="4", labels={"pool": "b"})]
    runs = pods("j", 1, cpu="1500m", on="a", prefix="k", nodeSelector={"pool": "a"})
    mine = [pod_group("j", min_member=2, phase="Running"), *pods("j", 1, cpu="3", nodeSelector={"pool": "a"})]
    found = explained(cluster(hosts, mine, runs, conf=PLAIN))
    assert "predicates-mixed" == found.cause_code
    assert not any("also fits" in fact for fact in found.dominant.facts)


@pytest.mark.parametrize("action", ["elect", "reserve", "electr"])
def test_actions_that_are_gone_since_long_are_said_to_reserve_nothing(action: str) -> None:
    conf = conf_of("gang", "predicates", actions=f"allocate, {action}")
    found = explained(cluster(node("n1"), pod_group("j"), pods("j", 1, cpu="99"), conf=conf))
    is_gone = action != "electr"
    assert is_gone is any(words.startswith("Remove actions elect, reserve") for words in found.advice_texts)


@pytest.mark.parametrize("waiting_time", ["10m", ""])
def test_sla_is_said_to_reserve_no_room(waiting_time: str) -> None:
    arguments = {"sla": {"arguments": {"sla-waiting-time": waiting_time}}} if waiting_time else {}
    conf = conf_of("gang sla", "predicates", actions="allocate", arguments=arguments)
    others = [pod_group("o"), *pods("o", 1, cpu="9"), pod_group("r", phase="Running"), *pods("r", 1, on="n1", cpu="8")]
    for group in others[::2]:
        group["metadata"]["creationTimestamp"] = "2026-10-31T13:00:00Z"
    found = explained(cluster(node("n1"), pod_group("j"), pods("j", 1, cpu="9"), others, conf=conf))
    told = "Plugin sla only admits it and tries it first; it reserves no room that becomes free."
    assert bool(waiting_time) is (told in found.dominant.facts)


def _at(snapshot: Snapshot, release: str) -> Snapshot:
    return replace(snapshot, flags=replace(snapshot.flags, release=resolve_release(release).release))


@pytest.mark.parametrize("release", ["v1.10.0", "v1.13.0", "v1.15.0"])
def test_a_job_that_reclaim_passes_over_names_the_job_that_ended_the_turn_of_its_queue(release: str) -> None:
    holders = [pod_group("r", queue="b", phase="Running"), *pods("r", 5, cpu="2", on="n1")]
    huge = [pod_group("huge", queue="a", priority_class="high"), *pods("huge", 1, cpu="9", priority=9)]
    queues = [queue("a"), queue("b")]
    mine = [pod_group("j", queue="a"), *pods("j", 1, cpu="2")]
    conf = conf_of("priority conformance", "proportion predicates", actions="allocate, reclaim")
    snapshot = _at(cluster(node("n1"), priority_class("high", 9), queues, holders, huge, mine, conf=conf), release)
    found = explained(snapshot)
    assert not any("reports starvation" in str(each.headline) for each in (found.dominant, *found.contributing))
    if release == "v1.15.0":
        assert found.scheduled
    else:
        assert "queue-turns-ended" == found.cause_code
        why = "default/huge could not reclaim: queue a may not reclaim for huge-0: it would use 9 cpu and deserves 5"
        assert found.dominant.facts[0].startswith(why)
        assert next(iter(proven(snapshot, "default/j"))).startswith("Suspend or delete default/huge")


@pytest.mark.parametrize("memory", ["", "50Gi"])
def test_a_queue_at_its_parents_limit_says_why_it_may_not_reclaim_and_parents_are_raised_too(memory: str) -> None:
    deserved = {"cpu": "4", **({"memory": memory} if memory else {})}
    tree = [queue("root"), queue("org", parent="root", capability={"cpu": "6"}, deserved=deserved)]
    leaves = [queue("a", parent="org", deserved={"cpu": "3"}), queue("b", parent="org", deserved={"cpu": "1"})]
    held = [pod_group("r", queue="b", phase="Running"), *pods("r", 6, on="n1")]
    arguments, actions = {"capacity": {"enableHierarchy": "true"}}, "allocate, reclaim, preempt"
    conf = conf_of("priority conformance", "predicates capacity", actions=actions, arguments=arguments)
    mine = [pod_group("j", queue="a"), *pods("j", 1, memory="1Gi")]
    snapshot = _at(cluster(node("n1"), tree, leaves, held, mine, conf=conf), "v1.11.0")
    found = explained(snapshot)
    assert "queue-not-allocatable" == found.cause_code
    assert any("it would use 1Gi memory and deserves 0" in str(each.headline) for each in found.contributing)
    fixes = [words for words in proven(snapshot, "default/j") if words.startswith("Queue a: ") and "deserved" in words]
    both = "Queue a: add 1Gi memory to spec.deserved (and to that of org), or upgrade Volcano"
    assert fixes
    assert bool(memory) is (both not in fixes)


@pytest.mark.parametrize("priority", [9, 0])
def test_both_votes_that_protect_pods_of_lower_priority_are_switched_off_together(priority: int) -> None:
    conf = conf_of("priority gang conformance", "drf predicates", actions="allocate, preempt")
    old = [pod_group("old", min_member=3, phase="Running"), *pods("old", 3, cpu="3", on="n1")]
    mine = [pod_group("j", min_member=3, priority_class="high"), *pods("j", 3, cpu="3", priority=priority)]
    snapshot = cluster(node("n1"), priority_class("high", priority), old, mine, conf=conf)
    both = "gang, drf: enablePreemptable -> false (no veto in preempt, as in Volcano's default configuration)"
    assert (priority > 0) is (both in proven(snapshot, "default/j"))


@pytest.mark.parametrize("actions", ["allocate", "allocate, preempt"])
@pytest.mark.parametrize(("priority", "cpu"), [(9, "2"), (0, "2"), (9, None)])
def test_jobs_of_lower_priority_that_take_what_is_missing_in_this_cycle_are_named(
    priority: int, cpu: str | None, actions: str
) -> None:
    """Whether preempt is missing, or may evict no pod, since what runs has the same priority."""
    conf = conf_of("priority conformance", "predicates", actions=actions)
    like: dict[str, Any] = {"phase": "Running", **({"priority_class": "high"} if "preempt" in actions else {})}
    hosts, full = [node("n1"), node("n2")], [pod_group("r", **like), *pods("r", 3, cpu="3", on="n1")]
    mine = [pod_group("j", priority_class="high"), *pods("j", 1, cpu="9", priority=priority)]
    small = [pod_group("s"), *pods("s", 1, cpu=cpu)]
    on_n2 = [pod_group("q", **like), *pods("q", 2, cpu="3", on="n2")]
    snapshot = cluster(hosts, priority_class("high", priority), full, on_n2, mine, small, conf=conf)
    told = "default/s of lower priority is placed in this cycle, since it fits; nothing is reserved for default/j."
    assert (priority > 0 and cpu is not None) is (told in explained(snapshot).dominant.facts)


@pytest.mark.parametrize(("cpu", "left"), [("8", "2 of the 5"), ("2", "")])
def test_a_queue_that_an_eviction_leaves_below_what_it_deserves_is_told(cpu: str, left: str) -> None:
    queues = [queue("a", deserved={"cpu": "5", "memory": "50G"}), queue("b", deserved={"cpu": "5", "memory": "50G"})]
    held = [pod_group("r", queue="b", phase="Running"), *pods("r", 1, cpu=cpu, on="n1")]
    rest = [pod_group("s", queue="b", phase="Running"), *pods("s", (10 - int(cpu)) // 2, cpu="2", on="n1")]
    mine = [pod_group("j", queue="a"), *pods("j", 1, cpu="2")]
    for each in rest[1:]:
        each["metadata"].setdefault("annotations", {})["volcano.sh/preemptable"] = "false"
    conf = conf_of("priority conformance", "predicates capacity", actions="allocate, reclaim")
    found = explained(cluster(node("n1"), queues, held, rest, mine, conf=conf))
    assert found.scheduled
    facts = [fact for fact in found.dominant.facts if fact.startswith("Queue b is left with")]
    assert ([f"Queue b is left with {left} cpu that it deserves."] if left else []) == facts


@pytest.mark.parametrize("counts", [True, False])
def test_a_device_plugin_that_counts_cards_and_registers_none_is_sent_to_its_log(counts: bool) -> None:
    hosts = [cards(), node("n2")]
    del hosts[0]["metadata"]["annotations"]["volcano.sh/node-vgpu-register"]
    if not counts:
        hosts[0]["status"]["allocatable"]["volcano.sh/vgpu-number"] = "0"
    arguments = {"deviceshare": {"arguments": {"deviceshare.VGPUEnable": True}}}
    conf = conf_of("gang", "predicates deviceshare", arguments=arguments)
    made = limited({**vgpu(), "cpu": "1"})
    made["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    found = explained(_at(cluster(hosts, pod_group("j"), made, conf=conf), "v1.12.0"))
    assert counts is any(
        "although its kubelet counts 20 volcano.sh/vgpu-number" in fact for fact in found.dominant.facts
    )
    assert counts is any(words.startswith("See the log of the device plugin on n1") for words in found.advice_texts)
    assert not any("n2" in fact for fact in found.dominant.facts if fact.endswith("kubelet counts"))


@pytest.mark.parametrize(("release", "plugin"), [("v1.2.0", ""), ("v1.2.0", "proportion"), ("v1.8.0", "")])
def test_a_release_that_may_serve_the_oldest_queue_alone_is_named_with_it(release: str, plugin: str) -> None:
    old = [{**queue("old"), "metadata": {**queue("old")["metadata"], "creationTimestamp": "2026-10-01T00:00:00Z"}}]
    runs = [pod_group("r", queue="old", phase="Running"), *pods("r", 1, on="n1")]
    late = [queue("late"), pod_group("j", queue="late"), *pods("j", 1)]
    conf = conf_of("gang", f"predicates {plugin}".strip(), actions="allocate")
    found = explained(_at(cluster(node("n1"), old, runs, late, conf=conf), release))
    told = (release, plugin) == ("v1.2.0", "")
    assert told is ("v1.2.0 may serve only queue old, which is older" in found.sentence)
    assert told is any("Configure plugin proportion" in words for words in found.advice_texts)


def test_of_several_older_queues_the_oldest_with_a_stated_age_is_named() -> None:
    born = {"elder": "2026-10-02T00:00:00Z", "eldest": "2026-10-01T00:00:00Z", "undated": ""}
    queues = [queue(name) for name in born]
    for each in queues:
        each["metadata"]["creationTimestamp"] = born[each["metadata"]["name"]]
    runs = [made for name in born for made in (pod_group(name, queue=name), *pods(name, 1))]
    late = [queue("late"), pod_group("j", queue="late"), *pods("j", 1)]
    conf = conf_of("gang", "predicates", actions="allocate")
    found = explained(_at(cluster(node("n1"), queues, runs, late, conf=conf), "v1.2.0"))
    assert "v1.2.0 may serve only queue eldest, which is older" in found.sentence


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("smaller", [1, 2])
def test_a_job_that_is_tried_first_is_told_the_room_of_that_moment(first: bool, smaller: int) -> None:
    """Its queue refuses it before a node is searched, and smaller jobs then take the room, or had taken it before."""
    large, small = ("high", "") if first else ("", "high")
    old = [pod_group("old", phase="Running"), *pods("old", 1, cpu="5", on="n1")]
    others = [[pod_group(f"s{at}", priority_class=small), *pods(f"s{at}", 1, cpu="1")] for at in range(smaller)]
    job = [pod_group("j", priority_class=large), *pods("j", 1, cpu="6")]
    objects = [node("n1", cpu="8"), priority_class("high", 9), *old, *job]
    found = explained(cluster(objects, *others, conf=conf_of("priority gang", "predicates proportion")))
    (mixed,) = [one for one in (found.dominant, *found.contributing) if one.cause == "predicates-mixed"]
    had = "n1 had 3 free (3 short)" if first else f"n1 has {3 - smaller} free ({3 + smaller} short)"
    assert mixed.reason.endswith(f"it asks 6 cpu; {had}")
    assert first is any(fact.startswith("j-0 was tried first; then default/s0-0") for fact in mixed.facts)


@pytest.mark.parametrize(
    ("usable", "size"), [("7", {GPU: "8"}), ("8", {GPU: "9"}), ("7", {GPU: "7"}), ("7", {"cpu": "99"})]
)
def test_devices_that_a_node_does_not_report_are_said_where_the_job_lacks_them(
    usable: str, size: dict[str, str]
) -> None:
    host = node("a", **{GPU: "8"})
    host["status"]["allocatable"] = {**host["status"]["capacity"], GPU: usable}
    snapshot = cluster(host, gang({"cpu": "1", "memory": "1G", **size}), conf=PLAIN)
    fewer = f"Fewer devices are allocatable than there are (see their device plugin's log): a 7 of 8 {GPU}."
    assert ((usable, size) == ("7", {GPU: "8"})) is (fewer in explained(snapshot).dominant.facts)


@pytest.mark.parametrize(("others", "pods_of"), [(1, "a0-0 of default/a0; that job"), (9, "9 pods of default/a0, ")])
def test_a_deadlock_names_each_job_once_however_many_there_are(others: int, pods_of: str) -> None:
    names = ["j", *(f"a{number}" for number in range(others))]
    groups = [pod_group(name, phase="Running") for name in names]
    drivers = [each for name in names for each in pods(name, 1, cpu="1", on="n1")]
    waiting = [each for name in names for each in pods(name, 1, cpu="1", prefix=f"{name}-exec")]
    conf = conf_of("gang", "predicates", actions="enqueue, allocate")
    found = explained(cluster(node("n1", cpu=str(others + 1)), groups, drivers, waiting, conf=conf))
    facts = [fact for fact in found.dominant.facts if fact.startswith("Possible deadlock: ")]
    assert facts[0].startswith(f"Possible deadlock: n1 is in use by {pods_of}")
    assert 1 == facts[0].count("default/a0")


@pytest.mark.parametrize("by", ["podAntiAffinity", "host port"])
@pytest.mark.parametrize("hosts", [1, 2])
def test_a_pod_of_its_own_gang_that_keeps_another_from_the_node_is_named(by: str, hosts: int) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "j"}}, "topologyKey": "kubernetes.io/hostname"}
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    members = pods("j", 2)
    for member in members:
        member["metadata"]["labels"] = {"app": "j"}
        if by == "podAntiAffinity":
            member["spec"]["affinity"] = anti
        else:
            member["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    snapshot = cluster([node(f"n{at}") for at in range(hosts)], pod_group("j", min_member=2), members, conf=PLAIN)
    named = {"podAntiAffinity": "conflicts with j-0 on n0.", "host port": "is already used by j-0 on n0."}[by]
    facts = explained(snapshot).dominant.facts
    assert (hosts == 1) is any(by in fact.replace("Host", "host") and fact.endswith(named) for fact in facts)


@pytest.mark.parametrize("first", ["7", "1"])
def test_a_user_that_holds_what_only_its_init_container_asks_is_said_to(first: str) -> None:
    (old,) = pods("old", 1, cpu="2", on="n1")
    old["spec"]["initContainers"] = [{"name": "load", "resources": {"requests": {"cpu": first}}}]
    objects = [node("n1", cpu="8"), pod_group("old", phase="Running"), old, pod_group("j"), *pods("j", 1, cpu="7")]
    found = explained(cluster(objects, conf=PLAIN))
    said = "old-0: its init container load asks 7 cpu; its containers ask 2 in total."
    assert (first == "7") is (said in found.dominant.facts)
