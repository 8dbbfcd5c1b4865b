"""No fix is called tested if the API server, a quota or Volcano's webhook would reject it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, queue
from tests.debugger.test_proposed_fixes import resource_quota
from tests.debugger.test_remedies import CONF, proven
from tests.recorded import cases, recorded, user_questions
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.kube.pod_requests import GUARANTEED, pod_qos
from vcdebug.model.pod import Pod
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.quantity import nano_value
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.fixes.fix import FixSituation
from vcdebug.whatif.fixes.refusals import find_refusal
from vcdebug.whatif.fixes.search import search_few_fixes
from vcdebug.whatif.fixes.trial import propose_fixes

CAPACITY = conf_of("gang", "predicates, capacity", actions="enqueue, allocate")
"""A configuration with gang, predicates and capacity, without preemption."""


def guaranteed(group: str, count: int, cpu: str) -> list[Manifest]:
    made = pods(group, count, cpu=cpu, memory="1Gi")
    for manifest in made:
        resources = manifest["spec"]["containers"][0]["resources"]
        resources["limits"] = dict(resources["requests"])
    return made


def edited(snapshot: Snapshot, *edits: str) -> Snapshot:
    return edited_snapshot(snapshot, map(parse_edit, edits))


def test_a_guaranteed_pod_with_a_smaller_request_has_a_smaller_limit_and_stays_guaranteed() -> None:
    used = [pod_group("r", phase="Running"), *pods("r", 1, cpu="3", on="n1")]
    snapshot = cluster(node("n1", cpu="6"), *used, pod_group("j"), guaranteed("j", 1, "4"), conf=CONF)
    plan = proven(snapshot, "default/j")["j-0: requests and limits of cpu 4 -> 3"].plan
    after = edited(snapshot, *plan.all_edits)
    smaller = next(one for one in map(Pod, after.objects_of("Pod")) if one.name == "j-0")
    assert {"requests": {"cpu": 3, "memory": "1Gi"}, "limits": {"cpu": 3, "memory": "1Gi"}} == smaller.spec[
        "containers"
    ][0]["resources"]
    assert GUARANTEED == pod_qos(smaller, after.flags)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ("spec.containers[0].resources.requests.cpu=2", "Burstable"),
        ("spec.containers[0].resources-", "BestEffort"),
        ("spec.nodeSelector={a: b}", GUARANTEED),
    ],
)
def test_the_qos_class_of_an_edited_pod_follows_from_its_containers(edit: str, expected: str) -> None:
    snapshot = cluster(node("n1"), pod_group("j"), guaranteed("j", 1, "4"))
    after = edited(snapshot, f"Pod/default/j-0:{edit}")
    assert expected == pod_qos(Pod(after.objects_of("Pod")[0]), after.flags)


@pytest.mark.parametrize(("hard", "is_proven"), [("3", False), ("9", True)])
def test_pods_that_the_quota_of_their_namespace_refuses_are_not_counted_as_placed(hard: str, is_proven: bool) -> None:
    quota = resource_quota({"requests.cpu": hard}, {"requests.cpu": "2"})
    small = queue("q", capability={"cpu": "1"})
    group = pod_group("j", queue="q", phase="Pending", min_resources={"cpu": "2"})
    found = proven(cluster(node("n1"), small, group, quota, conf=CAPACITY), "default/j")
    assert is_proven == ("Queue q: capability.cpu 1 -> 2" in found)


def test_a_deserved_amount_is_proposed_up_to_the_capability_and_beyond_only_with_it() -> None:
    small = queue("q", deserved={"cpu": "2"}, capability={"cpu": "4"})
    waits = [pod_group("j", queue="q", phase="Pending", min_resources={"cpu": "6"}), *pods("j", 1, cpu="6")]
    recording = replay_cycle(cluster(node("n1"), small, *waits, conf=CAPACITY))
    proposed = propose_fixes(FixSituation(recording, explain_by_name(recording, "default/j")))
    words = [fix.at_widest.text for fix in proposed if "deserved.cpu" in fix.text]
    assert "Queue q: deserved.cpu 2 -> 4" in words
    assert [] == [one for one in words if not one.endswith("-> 4") and "capability.cpu" not in one]


def test_a_child_queue_is_raised_above_its_parent_only_with_it() -> None:
    above = queue("org", capability={"cpu": "4"})
    below = queue("team", parent="org", capability={"cpu": "4"})
    waits = [pod_group("j", queue="team", phase="Pending", min_resources={"cpu": "6"}), *pods("j", 1, cpu="6")]
    conf = conf_of("gang", "predicates, capacity", actions="enqueue, allocate", arguments={"capacity": {}}).replace(
        "name: capacity", "name: capacity, enableHierarchy: true"
    )
    found = proven(cluster(node("n1"), queue("root"), above, below, *waits, conf=conf), "default/j")
    assert "Queue team: capability.cpu 4 and Queue org: capability.cpu 4 -> 6 each" in found


@pytest.mark.parametrize("stated", [{}, {"cpu": "4"}])
def test_a_limit_of_the_root_queue_is_never_changed(stated: dict[str, str]) -> None:
    before = cluster(node("n1"), queue("root", capability=stated))
    assert find_refusal(before, edited(before, "Queue/root:spec.capability.cpu=8")) is not None
    assert find_refusal(before, edited(before, "Queue/root:spec.weight=8")) is None


FIRST_OF_FAMILY = {path.name.rpartition("-")[0]: path for path in reversed(cases("random"))}
EACH_CASE = [*FIRST_OF_FAMILY.values(), *cases("causes"), *user_questions()]


@pytest.mark.corpus
@pytest.mark.parametrize("case", EACH_CASE, ids=lambda path: path.name)
def test_no_tested_fix_breaks_a_rule_that_the_cluster_kept(case: Path) -> None:
    recording = recorded(case)
    for waiting in survey_jobs(recording).unscheduled_jobs[:1]:
        search = search_few_fixes(recording, waiting.explanation)
        for one in search.settled_plans if search is not None else ():
            after = edited(recording.snapshot, *one.plan.all_edits)
            assert not Counter(broken_rules(after)) - Counter(broken_rules(recording.snapshot)), one.plan_words


def broken_rules(snapshot: Snapshot) -> Iterator[str]:
    """Yield the broken rules of a snapshot, by an independent implementation of the rules."""
    for manifest in snapshot.objects_of("Pod"):
        for container in manifest["spec"].get("containers", ()):
            stated = container.get("resources") or {}
            for name, limit in (stated.get("limits") or {}).items():
                asked = (stated.get("requests") or {}).get(name, limit)
                if nano_value(asked) > nano_value(limit):
                    yield f"request of {manifest['metadata']['name']}"
    queues = {manifest["metadata"]["name"]: manifest.get("spec") or {} for manifest in snapshot.objects_of("Queue")}
    for name, spec in queues.items():
        capability, parent = spec.get("capability") or {}, queues.get(spec.get("parent", ""), {})
        for resource, amount in (spec.get("deserved") or {}).items():
            if resource in capability and nano_value(amount) > nano_value(capability[resource]):
                yield f"deserved of {name}"
        for resource, amount in capability.items():
            upper = (parent.get("capability") or {}).get(resource, amount)
            if nano_value(amount) > nano_value(upper) > 0:
                yield f"capability of {name}"
    yield from broken_quotas(snapshot)


def broken_quotas(snapshot: Snapshot) -> Iterator[str]:
    """Yield the quotas that the requests in their namespace exceed, for cpu, memory and the number of pods."""
    for manifest in snapshot.objects_of("ResourceQuota"):
        there = [
            one["spec"]
            for one in snapshot.objects_of("Pod")
            if one["metadata"]["namespace"] == manifest["metadata"]["namespace"]
            and one.get("status", {}).get("phase") not in ("Succeeded", "Failed")
        ]
        if manifest["spec"].get("scopes") or manifest["spec"].get("scopeSelector"):
            continue
        for name, hard in (manifest["spec"].get("hard") or {}).items():
            resource = name.removeprefix("requests.")
            total = sum(
                nano_value(((container.get("resources") or {}).get("requests") or {}).get(resource, 0))
                for spec in there
                for container in spec.get("containers", ())
            )
            if (nano_value(len(there)) if name == "pods" else total) > nano_value(hard):
                yield f"quota {manifest['metadata']['name']} {name}"
