"""What the cluster says against a placement, and what of a job's settings nothing reads or checks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, queue
from tests.pending.test_scheduler_down import seen_node
from tests.pending.test_workloads import explained
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.snapshot import Manifest, Snapshot

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PLAIN = conf_of("gang", "predicates nodeorder", actions="allocate")


def refused(since: str, message: str = "1 numa policy failed.") -> Manifest:
    made = pods("j", 1)[0]
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    made["status"]["conditions"] = [{**said, "lastTransitionTime": since}]
    return made


@pytest.mark.parametrize(
    ("since", "age"), [("2026-10-31T23:45:00Z", "10m"), ("2026-10-31T23:51:00Z", ""), ("2026-10-31T20:55:00Z", "3h")]
)
def test_a_placement_that_the_running_scheduler_has_long_refused_says_so(since: str, age: str) -> None:
    found = explained(cluster(seen_node(), pod_group("j"), refused(since), conf=PLAIN))
    assert found.scheduled
    assert bool(age) is (f"but has been refused for {age}:" in found.sentence)
    said = 'The running scheduler\'s last words about j-0: "1 numa policy failed".'
    assert bool(age) is (said in found.dominant.facts)
    assert bool(age) is any("restart the scheduler" in words for words in found.advice_texts)


def test_a_refusal_is_not_told_of_a_pod_that_the_cycle_refuses_too_or_without_a_message() -> None:
    fits = explained(cluster(seen_node(), pod_group("j"), refused("2026-10-31T20:00:00Z", ""), conf=PLAIN))
    assert "refused for" not in fits.sentence
    large = refused("2026-10-31T20:00:00Z")
    large["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "99"}
    found = explained(cluster(seen_node(), pod_group("j"), large, conf=PLAIN))
    assert not found.scheduled
    assert not any("last words" in fact for fact in found.dominant.facts)


@pytest.mark.parametrize(
    ("key", "plugin", "on_pod"),
    [
        ("volcano.sh/task-topology-anti-affinity", "task-topology", False),
        ("sla-waiting-time", "sla", False),
        ("volcano.sh/numa-topology-policy", "numa-aware", True),
        ("volcano.sh/cooldown-time", "cdp", True),
        ("volcano.sh/jdb-min-available", "tdm", False),
    ],
)
def test_an_annotation_that_no_plugin_reads_is_named(key: str, plugin: str, on_pod: bool) -> None:
    group, made = pod_group("j"), pods("j", 1)[0]
    (made if on_pod else group)["metadata"].setdefault("annotations", {})[key] = "1"
    told = f"Nothing reads {key}: plugin {plugin} is not configured"
    for reads in (False, True):
        conf = conf_of("gang", f"predicates{f' {plugin}' if reads else ''}", actions="allocate")
        facts = explained(cluster(node("n1"), group, made, conf=conf)).dominant.facts
        assert reads is not any(fact.startswith(told) for fact in facts)


@pytest.mark.parametrize("enqueue", [True, False])
@pytest.mark.parametrize("runs", [True, False])
def test_minimum_resources_above_the_cluster_are_told_where_nothing_compares_them(enqueue: bool, runs: bool) -> None:
    conf = conf_of("gang", "overcommit predicates", actions="enqueue, allocate" if enqueue else "allocate")
    group = pod_group("j", min_resources={"cpu": "1000"}, phase="Running" if runs else "Inqueue")
    found = explained(cluster(node("n1"), group, pods("j", 1, on="n1" if runs else ""), conf=conf))
    told = "minResources of 1000 cpu exceed the whole cluster (10), and nothing compares them"
    assert enqueue is not any(told in fact for fact in found.dominant.facts)


def _beside(conf: str, release: str) -> Snapshot:
    labelled, tainted = node("n1", labels={"volcano.sh/nodegroup-name": "g"}), {"key": "k", "effect": "NoSchedule"}
    labelled["spec"]["taints"] = [tainted]
    default = {**queue(), "spec": {"weight": 1, "affinity": {"nodeGroupAffinity": {REQUIRED: ["g"]}}}}
    snapshot = cluster(labelled, default, pod_group("j"), pod("j-0", "j", requests={"cpu": "1"}), conf=conf)
    return replace(snapshot, flags=replace(snapshot.flags, release=resolve_release(release).release))


@pytest.mark.parametrize(
    ("plugins", "release", "told"),
    [
        ("nodeorder", "v1.15.1", "plugin predicates is not configured"),
        ("nodegroup predicates", "v1.10.2", "nodegroup ends the check before predicates"),
    ],
)
def test_a_node_that_does_not_fit_and_that_nothing_has_checked_is_named(plugins: str, release: str, told: str) -> None:
    found = explained(_beside(conf_of("gang", plugins, actions="allocate"), release))
    assert found.scheduled
    fact = next(fact for fact in found.dominant.facts if fact.startswith("n1 has a taint that j-0 does not tolerate"))
    assert told in fact


def test_pods_that_have_ended_use_nothing_of_their_node() -> None:
    ended = [pod_group("old"), *pods("old", 3, cpu="9", on="n1", phase="Succeeded")]
    runs = [pod_group("r", phase="Running"), *pods("r", 1, cpu="9", on="n1")]
    found = explained(cluster(node("n1"), ended, runs, pod_group("j"), pods("j", 1, cpu="2"), conf=PLAIN))
    assert "In use on n1 (cpu): default/r-0 9." in found.dominant.facts
