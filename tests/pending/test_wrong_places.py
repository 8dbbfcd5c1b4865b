"""Questions about jobs that are placed, evicted for or ended: what no filter, quota, role or phase has promised."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, hyper_node, node, pod_group, pods, queue
from tests.debugger.test_remedies import proven
from tests.pending.test_component_reports import volcano_job
from tests.pending.test_workloads import explained, owned
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.manifest import WorkloadFacts
from vcdebug.snapshot.snapshot import Manifest

ANTI = "requiredDuringSchedulingIgnoredDuringExecution"
QUOTA = {"requests.cpu": "4"}


def labelled(objects: list[Manifest], **labels: str) -> list[Manifest]:
    """Set labels on these objects."""
    for each in objects:
        each["metadata"]["labels"] = labels
    return objects


def against(app: str) -> dict[str, Any]:
    """The affinity of a pod that no pod of an application may share its node with."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {ANTI: [term]}}


def port(number: int) -> list[dict[str, Any]]:
    """The containers of a pod with a host port."""
    return [{"name": "c", "ports": [{"hostPort": number}], "resources": {"requests": {"cpu": "1", "memory": "1G"}}}]


@pytest.mark.parametrize(
    ("kind", "told"),
    [("own", True), ("theirs", True), ("port", True), ("victim", False), ("ending", False), ("none", False)],
)
def test_an_eviction_for_a_pod_that_its_node_still_refuses_is_in_vain(kind: str, told: bool) -> None:
    stays = labelled(pods("web", 1, cpu="1", on="n1"), app="web")
    victims = labelled(pods("low", 2, cpu="4", on="n1"), app="low")
    wants = labelled(pods("j", 1, cpu="4"), app="j")
    if kind in ("own", "victim"):
        wants[0]["spec"]["affinity"] = against("web" if kind == "own" else "low")
    if kind == "theirs":
        stays[0]["spec"]["affinity"] = against("j")
    if kind in ("port", "ending"):
        stays[0]["spec"]["containers"] = port(80)
        wants[0]["spec"]["containers"] = [{**port(80)[0], "resources": {"requests": {"cpu": "4", "memory": "1G"}}}]
    if kind == "ending":
        stays[0]["metadata"] |= {"deletionTimestamp": "2026-11-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    poor, rich = queue("poor", deserved={"cpu": "1"}), queue("rich", deserved={"cpu": "12"})
    groups = [pod_group("low", queue="poor", phase="Running"), pod_group("web", queue="rich", phase="Running")]
    conf = conf_of("gang", "predicates capacity nodeorder", actions="allocate, reclaim")
    wanted = pod_group("j", queue="rich")
    # Only one victim, so that the pod of the same application that is evicted is the only one.
    objects = [poor, rich, node("n1", cpu="9"), *groups, *stays, *victims[: 1 if kind == "victim" else 2], wanted]
    filler = [pod_group("fill", queue="rich", phase="Running"), *pods("fill", 1, cpu="4", on="n1")]
    snapshot = cluster(objects, wants, filler if kind == "victim" else [], conf=conf)
    found = explained(snapshot)
    assert "evicts default/low-" in found.sentence
    assert told is ("but n1 will refuse it" in found.sentence)
    assert not (told and any(text.startswith("Nothing has to change") for text in found.advice_texts))
    assert told is any("asks no filter again" in fact for fact in found.dominant.facts)
    assert told is not any(fact.startswith("The pod is bound after") for fact in found.dominant.facts)


@pytest.mark.parametrize(("kind", "told"), [("port", True), ("anti", True), ("one-port", False)])
@pytest.mark.parametrize("configured", [True, False])
def test_two_pods_reserved_on_one_node_that_cannot_share_it_are_evicted_for_in_vain(
    kind: str, told: bool, configured: bool
) -> None:
    """A pod of `web` on each node keeps `j-0` out; once one is evicted, `j-0` keeps `j-1` out."""
    machines = [node(f"n{row}", cpu="4") for row in range(4)]
    web = [pod for row in range(4) for pod in pods("web", 1, prefix=f"web-{row}", on=f"n{row}")]
    gang = pods("j", 2, cpu="2")
    for one in [*web, *gang[: 1 if kind == "one-port" else 2]]:
        one["spec"]["containers"][0]["ports"] = port(80)[0]["ports"]
    if kind == "anti":
        labelled([*web, *gang], app="j")
        gang[0]["spec"]["affinity"] = gang[1]["spec"]["affinity"] = against("j")
    actions = "allocate, reclaim" if configured else "allocate"
    conf = conf_of("gang conformance", "predicates proportion nodeorder", actions=actions)
    groups = [pod_group("web", queue="other", phase="Running"), pod_group("j", min_member=2)]
    snapshot = cluster(queue("other"), machines, groups, web, gang, conf=conf)
    found = explained(snapshot)
    assert ("will refuse j-1" in found.sentence) is (configured and told)
    helps = not configured and not told
    assert ("and reclaim is not in actions" in found.sentence) is helps
    assert any("adds reclaim" in words for words in proven(snapshot, "default/j")) is helps


@pytest.mark.parametrize(("room", "running", "told"), [(2, False, True), (1, False, False), (2, True, False)])
def test_a_node_group_that_had_room_for_the_whole_gang_is_named(room: int, running: bool, told: bool) -> None:
    group_of = {"n1": "a", "n2": "b", "n3": "b"}
    cpus = {"n1": "2", "n2": "4", "n3": "4" if room == 2 else "1"}
    nodes = [node(name, cpu=cpus[name], labels={"volcano.sh/nodegroup-name": one}) for name, one in group_of.items()]
    both = {**queue(), "spec": {"weight": 1, "affinity": {"nodeGroupAffinity": {ANTI: ["a", "b"]}}}}
    wants = [*pods("j", 1, cpu="3"), *pods("j", 1, prefix="k", nodeSelector={"kubernetes.io/hostname": "n1"})]
    if running:
        wants = [*pods("j", 1, cpu="3", on="n2"), *pods("j", 1, prefix="k", on="n1")]
    conf = conf_of("gang", "predicates nodegroup", actions="allocate")
    found = explained(cluster(nodes, both, pod_group("j", min_member=2), wants, conf=conf))
    assert "Its pods are in node groups " in " ".join(found.dominant.facts)
    assert told is ("(b had 2 nodes with room)" in found.dominant.facts[0])
    assert told is ("with room" in " ".join(found.dominant.facts))


@pytest.mark.parametrize(
    ("limit", "claims", "release", "told"),
    [
        ("nvidia.com/gpu", 2, "v1.12.1", "from v1.15.0 on"),
        ("nvidia.com/gpu", 2, "v1.15.1", "in this release"),
        ("nvidia.com/gpu", 0, "v1.12.1", ""),
        ("cpu", 2, "v1.12.1", ""),
        ("ephemeral-storage", 2, "v1.12.1", ""),
        ("deviceclass/gpu", 2, "v1.15.1", ""),
    ],
)
def test_claims_that_a_limit_of_devices_does_not_count_are_named(
    limit: str, claims: int, release: str, told: str
) -> None:
    limited, wants = queue(capability={"cpu": "8", limit: "2"}), pods("j", 1)
    if claims:
        wants[0]["spec"]["resourceClaims"] = [{"name": f"c{at}", "resourceClaimName": f"c{at}"} for at in range(claims)]
    made = [{"kind": "ResourceClaim", "metadata": {"name": f"c{at}", "namespace": "default"}} for at in range(claims)]
    snapshot = cluster(node("n1"), limited, pod_group("j"), wants, made, conf=conf_of("gang", "predicates capacity"))
    snapshot.flags = replace(snapshot.flags, release=resolve_release(release).release)
    facts = [fact for fact in explained(snapshot).dominant.facts if "ResourceClaims of its pods do not count" in fact]
    assert bool(told) is bool(facts)
    assert told in "".join(facts)


@pytest.mark.parametrize(
    ("owner", "home", "told"), [("set", "rack-a", True), ("other", "rack-a", False), ("set", "rack-b", False)]
)
def test_a_topology_does_not_relate_two_groups_of_one_owner(owner: str, home: str, told: bool) -> None:
    racks = {"rack-a": ["a1", "a2"][: 2 if home == "rack-a" else 1], "rack-b": ["b1", "b2", "b3"]}
    nodes = [node(name, cpu="4") for names in racks.values() for name in names]
    tree = [hyper_node(name, 1, nodes=names) for name, names in racks.items()]
    hard: dict[str, Any] = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    first = owned([pod_group("first", phase="Running", **hard)], "Set", "set")
    first += pods("first", 1, cpu="3", on=racks[home][0])
    wants = owned([pod_group("j", min_member=2, **hard)], "Set", owner)
    conf = conf_of("gang", "predicates network-topology-aware")
    found = explained(cluster(nodes, tree, first, wants, pods("j", 2, cpu="3"), conf=conf))
    facts = [fact for fact in found.dominant.facts if "networkTopology holds within one PodGroup" in fact]
    assert found.scheduled
    assert told is bool(facts)
    assert not told or facts[0].startswith("first of Set default/set is in rack-a (there a2 had room for j-0)")


@pytest.mark.parametrize(
    ("role", "minimum", "minimums", "told"),
    [("gpu", 2, None, True), ("cpu", 2, None, False), ("gpu", 2, {"gpu": 1}, False), ("gpu", 1, None, False)],
)
def test_a_role_that_the_minimum_does_not_ask_for_is_named(
    role: str, minimum: int, minimums: dict[str, int] | None, told: bool
) -> None:
    ready = labelled(pods("j", 2, cpu="1", on="n1", prefix="c"), **{"ray.io/group": "cpu"})
    waits = labelled(pods("j", 1, cpu="99"), **{"ray.io/group": role})
    group = pod_group("j", min_member=minimum, phase="Running", min_task_member=minimums)
    found = explained(cluster(node("n1"), group, ready, waits, conf=conf_of("gang", "predicates")))
    fact = "2 ready pods meet minMember 2 (2 cpu; none of gpu: it counts pods of any role; subGroupPolicy"
    assert told is any(each.startswith(fact) for each in found.dominant.facts)
    assert told is any("none of gpu" in each for each in found.dominant.facts)


@pytest.mark.parametrize(
    ("name", "kind", "minimum", "told"),
    [
        ("podgroup-u", "PyTorchJob", 1, True),
        ("podgroup-u", "RayCluster", 1, True),
        ("podgroup-u", "ReplicaSet", 1, False),
        ("podgroup-u", "PyTorchJob", 2, False),
        ("train", "PyTorchJob", 1, False),
    ],
)
def test_a_group_that_the_operator_did_not_make_is_no_gang(name: str, kind: str, minimum: int, told: bool) -> None:
    made = owned([pod_group(name, min_member=minimum, phase="Running")], kind, "w")
    some = [*pods(name, minimum, cpu="1", on="n1", prefix="on"), *pods(name, 1, cpu="99", prefix="off")]
    found = explained(cluster(node("n1"), made, some, conf=conf_of("gang", "predicates")), f"default/{name}")
    fact = f"Volcano's controller made the PodGroup, since the operator of {kind} w had made none"
    assert told is any(each.startswith(fact) for each in found.dominant.facts)
    assert told is any(f"Start the operator of {kind} with" in words for words in found.advice_texts)


@pytest.mark.parametrize("ended", [1, 0])
def test_a_completed_group_with_a_pending_pod_keeps_none_waiting(ended: int) -> None:
    done = pods("j", ended, cpu="1", on="n1", phase="Succeeded", prefix="done")
    conf = conf_of("gang", "predicates")
    found = explained(cluster(node("n1"), pod_group("j", phase="Running"), done, pods("j", 1, cpu="99"), conf=conf))
    assert bool(ended) is any("and holds up no Pending one" in fact for fact in found.dominant.facts)


@pytest.mark.parametrize(
    ("action", "told"), [("RestartPod", True), ("RestartTask", True), ("RestartJob", False), ("", False)]
)
@pytest.mark.parametrize("asked", ["1", "99"])
def test_a_policy_that_deletes_the_pod_group_is_named(action: str, told: bool, asked: str) -> None:
    job = volcano_job(state={"phase": "Restarting"})
    job["spec"]["policies"] = [{"event": "PodFailed", "action": action}] if action else []
    group = pod_group("j", min_member=2, phase="Pending", min_resources={"cpu": asked})
    group["metadata"]["creationTimestamp"] = "2026-10-31T18:00:00Z"
    lost = owned([group, *pods("j", 1, on="n1")], "Job", "j")
    conf = conf_of("gang", "overcommit predicates", actions="enqueue, allocate")
    facts = [one for one in explained(cluster(node("n1"), job, lost, conf=conf)).dominant.facts if "younger" in one]
    assert told is (f"before v1.16 its controller does that for PodFailed: {action}, #5342" in facts[0])
    # A PodGroup that enqueue rejects is not said to be admitted.
    assert (asked == "1") is facts[0].endswith("after its admission, which is in this cycle.")


@pytest.mark.parametrize("job", ["mentions", "other", "none"])
@pytest.mark.parametrize("owner", ["", "Job"])
def test_a_group_made_by_hand_is_told_that_volcano_jobs_have_their_own(job: str, owner: str) -> None:
    one = volcano_job(state={"phase": "Running"})
    # The name as a part of another word is no mention.
    text = '{"spec":{"podGroup":"mine"}}' if job == "mentions" else '{"spec":{"queue":"mines"}}'
    one["metadata"] |= {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": text}}
    group = [pod_group("mine")]
    found = explained(
        cluster(
            node("n1"),
            owned(group, owner, "x") if owner else group,
            [one] if job != "none" else [],
            conf=conf_of("gang", "predicates"),
        ),
        "default/mine",
    )
    facts = " ".join(found.dominant.facts)
    named = "No pod of this snapshot names it in annotation scheduling.k8s.io/group-name"
    assert (not owner) is (named in facts)
    assert (job == "none" and not owner) is (f"{named}, and no object owns it." in facts)
    assert (job == "mentions" and not owner) is ("Job j, which mentions it, has a PodGroup of its own" in facts)


@pytest.mark.parametrize(("used", "policy", "told"), [("4", "", True), ("1", "", False), ("4", "TerminateJob", False)])
@pytest.mark.parametrize("plugin", ["", "resourcequota"])
def test_a_quota_that_ends_a_volcano_job_is_named(used: str, policy: str, told: bool, plugin: str) -> None:
    job = volcano_job(state={"phase": "Terminated"})
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    job["spec"]["tasks"] = [{"name": "w", "replicas": 1, "template": template}]
    job["spec"]["policies"] = [{"event": "PodFailed", "action": policy}] if policy else []
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default", "uid": "q"}}
    quota |= {"spec": {"hard": QUOTA}, "status": {"hard": QUOTA, "used": {"requests.cpu": used}}}
    conf = conf_of("gang", f"predicates {plugin}", actions="enqueue, allocate")
    found = explained(cluster(node("n1"), job, quota, conf=conf))
    facts, words = " ".join(found.dominant.facts), " ".join(found.advice_texts)
    assert told is ("ResourceQuota q: 4 of 4 requests.cpu used" in facts)
    assert told is ("terminates a Volcano Job after 15 tries" in facts)
    assert (told and not plugin) is ("Add plugin resourcequota" in words)


@pytest.mark.parametrize("plugin", ["", "resourcequota"])
@pytest.mark.parametrize(
    ("replicas", "minimum", "told"), [([5], 2, True), ([2, 3], 5, True), ([2, 2], 4, False), ([5], 5, True)]
)
def test_a_volcano_job_whose_pods_exceed_a_quota_together_is_said_to_be_ended_by_it(
    replicas: list[int], minimum: int, told: bool, plugin: str
) -> None:
    """The quota is empty again, since the job's pods were deleted."""
    job = volcano_job(state={"phase": "Terminated"})
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    tasks = [{"name": f"w{at}", "replicas": count, "template": template} for at, count in enumerate(replicas)]
    job["spec"] |= {"tasks": tasks, "minAvailable": minimum}
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default", "uid": "q"}}
    quota |= {"spec": {"hard": QUOTA}, "status": {"hard": QUOTA, "used": {"requests.cpu": "0"}}}
    conf = conf_of("gang", f"predicates {plugin}", actions="enqueue, allocate")
    found = explained(cluster(node("n1"), job, quota, conf=conf))
    facts = " ".join(found.dominant.facts)
    assert told is ("Its 5 pods ask 5 requests.cpu in total; ResourceQuota q allows 4." in facts)
    advice = "ResourceQuota q: hard.requests.cpu 4 -> 5 for its 5 pods, or create the job again with fewer replicas."
    assert told is (advice in found.advice_texts)
    elastic = f"plugin resourcequota admits by minResources (minAvailable {minimum}), not by all replicas"
    assert (bool(plugin) and minimum < 5 and told) is (elastic in facts)


@pytest.mark.parametrize(
    ("cpu", "thresholds", "told"),
    [
        (20, "{pods: 70}", "it does not measure pods"),
        (20, "{cpu: 70}", "is below every threshold: cpu 20 % (limit 100 %)"),
        (80, "{cpu: 90}, thresholds: {cpu: 50}", "is above no target: cpu 80 % (limit 90 %)"),
        (80, "{cpu: 70}, thresholds: {cpu: 50}", ""),
        (0, "{cpu: 70}", ""),
    ],
)
def test_a_node_that_rescheduling_leaves_alone_says_what_was_measured(cpu: int, thresholds: str, told: str) -> None:
    params = f"[{{name: lowNodeUtilization, params: {{targetThresholds: {thresholds}}}}}]"
    inner = {"rescheduling": {"arguments": f"{{metricsPeriod: 10m, strategies: {params}}}"}}
    conf = conf_of("gang", "rescheduling predicates", actions="allocate, shuffle", arguments=inner)
    snapshot = cluster(node("n1"), pod_group("j", phase="Running"), pods("j", 1, on="n1"), conf=conf)
    snapshot.usage = {"n1": {"cpu": {"10m": cpu}, "mem": {"10m": 0}}}
    facts = [fact for fact in explained(snapshot).dominant.facts if fact.startswith("rescheduling moves no pod off n1")]
    assert bool(told) is bool(facts)
    assert told in "".join(facts)


@pytest.mark.parametrize(
    ("actions", "strategy", "told"),
    [
        ("allocate, shuffle", "lowNodeUtilization", True),
        ("allocate, shuffle", "other", False),
        ("allocate, preempt", "lowNodeUtilization", False),
    ],
)
def test_what_rescheduling_measures_is_stated_only_if_it_is_asked(actions: str, strategy: str, told: bool) -> None:
    arguments = f"{{metricsPeriod: 10m, strategies: [{{name: {strategy}}}]}}"
    conf = conf_of("gang", "rescheduling", actions=actions, arguments={"rescheduling": {"arguments": arguments}})
    snapshot = cluster(node("n1"), pod_group("j", phase="Running"), pods("j", 1, on="n1"), conf=conf)
    snapshot.usage = {"n1": {"cpu": {"10m": 20}, "mem": {"10m": 0}}}
    assert told is any(fact.startswith("rescheduling moves no pod") for fact in explained(snapshot).dominant.facts)


@pytest.mark.parametrize(
    ("named", "missing", "capability", "told"),
    [
        ("default", True, "4", True),
        ("default", True, "8", False),
        ("other", True, "4", False),
        ("default", False, "4", False),
    ],
)
def test_pods_whose_group_is_gone_are_said_not_to_count(named: str, missing: bool, capability: str, told: bool) -> None:
    running = pods("gone", 2, cpu="2", on="n1", annotations={"scheduling.volcano.sh/queue-name": named})
    group = [] if missing else [pod_group("gone", phase="Running", queue="other")]
    limited = queue("default", capability={"cpu": capability})
    conf = conf_of("gang", "predicates proportion")
    found = explained(
        cluster(node("n1"), limited, queue("other"), group, running, pod_group("j"), *pods("j", 1, cpu="2"), conf=conf)
    )
    assert told is ("in this cycle, but its queue does not count 2 running pods: " in found.sentence)
    counted = "PodGroup gone does not exist, so no queue counts them; with them the queue would hold 6 of its"
    assert told is any(counted in fact for fact in found.dominant.facts[:1])
    assert told is any(words.startswith("Create PodGroup gone again (queue default)") for words in found.advice_texts)


@pytest.mark.parametrize(
    ("weights", "count", "told"), [((2, 3), 3, True), ((3, 3), 3, False), ((2,), 3, False), ((2, 3), 1, False)]
)
def test_preferences_are_said_to_divide_no_pods(weights: tuple[int, ...], count: int, told: bool) -> None:
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": "m", "operator": "In", "values": [f"n{at}"]}]}}
        for at, weight in enumerate(weights)
    ]
    wants = pods("j", count, cpu="1")
    for each in wants:
        each["spec"]["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    nodes = [node(f"n{at}", labels={"m": f"n{at}"}) for at in range(2)]
    conf = conf_of("gang", "predicates nodeorder")
    facts = explained(cluster(nodes, pod_group("j", min_member=count), wants, conf=conf)).dominant.facts
    assert told is any("(weights 2, 3) add to the score of a node for each pod alone" in fact for fact in facts[:1])


@pytest.mark.parametrize(
    ("key", "plugin", "told"),
    [
        ("hami.io/gpu-scheduler-policy", "deviceshare", True),
        ("hami.io/gpu-scheduler-policy", "", False),
        ("hami.io/bind-phase", "deviceshare", False),
        ("volcano.sh/vgpu-mode", "deviceshare", False),
    ],
)
def test_a_policy_of_another_scheduler_is_said_not_to_be_read(key: str, plugin: str, told: bool) -> None:
    conf = conf_of(
        "gang",
        f"predicates {plugin}",
        arguments={"deviceshare": {"arguments": "{deviceshare.SchedulePolicy: binpack}"}},
    )
    snapshot = cluster(node("n1"), pod_group("j"), pods("j", 1, cpu="1", annotations={key: "spread"}), conf=conf)
    facts = explained(snapshot).dominant.facts
    unread = "(HAMi's own scheduler does): deviceshare.SchedulePolicy (binpack) is one for all pods."
    assert told is any(fact.endswith(unread) for fact in facts)


@pytest.mark.parametrize(
    ("size", "minimum", "name", "told"),
    [(3, 1, "vllm-0", True), (3, 3, "vllm-0", False), (1, 1, "vllm-0", False), (3, 1, "podgroup-7", False)],
)
@pytest.mark.parametrize("same", [True, False])
def test_a_leader_that_is_a_gang_alone_is_named(size: int, minimum: int, name: str, told: bool, same: bool) -> None:
    labels = {"leaderworkerset.sigs.k8s.io/name": "vllm", "leaderworkerset.sigs.k8s.io/group-index": "0"}
    leader = pods(name, 1, cpu="8", on="n1", prefix="leader")
    workers = pods(name, size - 1, cpu="8", prefix="worker") if size > 1 else []
    group = pod_group(name, min_member=minimum, phase="Running")
    conf = conf_of("gang", "predicates")
    labelled([*leader, *workers], **labels)
    if not same:
        # Two replicas that share a PodGroup: their leaders are no leader with its workers.
        leader[0]["metadata"]["labels"] = {**labels, "leaderworkerset.sigs.k8s.io/group-index": "1"}
        told = told and size < 2
    found = explained(cluster(node("n1"), group, leader, workers, conf=conf), f"default/{name}")
    alone = "minMember is 1 for 3 pods, as LWS sets it for startupPolicy LeaderReady: the leader starts alone"
    assert told is any(fact.startswith(alone) for fact in found.dominant.facts[:1])
    assert told is any("startupPolicy: LeaderCreated in LeaderWorkerSet vllm" in text for text in found.advice_texts)


@pytest.mark.parametrize(
    ("minimum", "plugin", "reserved", "told"), [(2, "", "", True), (1, "", "", False), (2, "resourcequota", "4", True)]
)
def test_a_gang_that_holds_a_part_of_the_quota_is_to_be_suspended(
    minimum: int, plugin: str, reserved: str, told: bool
) -> None:
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default", "uid": "q"}}
    quota |= {"spec": {"hard": QUOTA}, "status": {"hard": QUOTA, "used": {"requests.cpu": "4"}}}
    amounts = {"cpu": reserved} if reserved else None
    halves = [
        part
        for name, member in (("j", 2), ("other", minimum))
        for part in (pod_group(name, min_member=member, min_resources=amounts), *pods(name, 1, cpu="2"))
    ]
    conf = conf_of("gang", f"predicates {plugin}")
    texts = explained(cluster(node("n1", cpu="1"), quota, *halves, conf=conf)).advice_texts
    end = "Suspend or delete default/other, which also lacks pods of its gang: other-0 counts in ResourceQuota q"
    (text,) = [text for text in texts if text.startswith(end)] if told else [""]
    assert told is any(text.startswith(end) for text in texts)
    assert bool(told and not reserved) is ("plugin resourcequota, with minResources" in text)


@pytest.mark.parametrize(
    ("namespace", "minimum", "told"), [("default", 2, True), ("default", 1, False), ("b", 2, False)]
)
def test_other_jobs_that_lack_pods_for_the_same_full_quota_are_named(namespace: str, minimum: int, told: bool) -> None:
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default", "uid": "q"}}
    quota |= {"spec": {"hard": QUOTA}, "status": {"hard": QUOTA, "used": {"requests.cpu": "4"}}}
    own = [pod_group("j", min_member=2), *pods("j", 1, cpu="4")]
    other = [pod_group("other", min_member=minimum), *pods("other", 1, cpu="0")]
    for each in other:
        each["metadata"]["namespace"] = namespace
    facts = explained(cluster(node("n1"), quota, own, other, conf=conf_of("gang", "predicates"))).dominant.facts
    assert facts[0].endswith("no more pods can be created (default/other lacks pods as well).") is told


@pytest.mark.parametrize("waiting", [True, False])
def test_a_group_that_is_left_over_says_how_far_it_is_from_its_gang(waiting: bool) -> None:
    facts = {"default/RayJob old": WorkloadFacts(ended="Complete")}
    old = owned([pod_group("old", min_member=3, min_resources={"cpu": "8"})], "RayJob", "old")
    done = owned(pods("old", 1, on="n1", phase="Succeeded"), "RayJob", "old")
    new = [pod_group("new", phase="Pending", min_resources={"cpu": "4"}), *pods("new", 1, cpu="4")] if waiting else []
    conf = conf_of("gang", "predicates proportion", actions="enqueue, allocate")
    limited = queue("default", capability={"cpu": "10"})
    snapshot = replace(cluster(node("n1"), limited, old, done, new, conf=conf), workloads=facts)
    found = explained(snapshot, "default/old")
    meanwhile = "; not admitted in queue default: default/new" if waiting else ""
    asks = "It asks 3 pods (minMember) and has old-0 (Succeeded), so it never becomes ready"
    assert f"{asks}{meanwhile}." == found.dominant.facts[0]
