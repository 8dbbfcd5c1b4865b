"""Gangs with enough pods that lack pods of a role, or subgroups of a policy."""

import pytest

from tests.builders import cluster, node, pod_group, pods
from tests.debugger.test_remedies import proven
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest, Snapshot


def role_short(change: Manifest) -> Snapshot:
    """A job of three pods, of which the only one of its role `lead` has this status and metadata."""
    group = pod_group("j", min_member=2)
    group["spec"]["minTaskMember"] = {"lead": 1, "worker": 1}
    lead, *workers = pods("j", 3, cpu="1")
    for role, pod in (("lead", lead), *(("worker", one) for one in workers)):
        pod["metadata"].setdefault("annotations", {})["volcano.sh/task-spec"] = role
    for field, values in change.items():
        lead[field].update(values)
    return cluster(node("n1", cpu="16"), group, lead, *workers)


def subgroups_short(labels: dict[str, str], minimum: int = 2) -> Snapshot:
    """A job of three pods with one value of label part, and a policy that asks for `minimum` subgroups."""
    group = pod_group("j", min_member=3)
    policy = {"name": "p", "matchLabelKeys": ["part"], "subGroupSize": 2, "minSubGroups": minimum}
    group["spec"]["subGroupPolicy"] = [policy | {"labelSelector": {"matchLabels": labels}}]
    members = pods("j", 3, cpu="1")
    for pod in members:
        pod["metadata"].setdefault("labels", {}).update({"part": "0", "app": "web"})
    return cluster(node("n1", cpu="16"), group, *members)


def explained(snapshot: Snapshot) -> Explanation:
    return explain_by_name(replay_cycle(snapshot), "default/j")


TERMINATING = {
    "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"nodeName": "n1"},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("change", "state"), [({"status": {"phase": "Failed"}}, "Failed"), (TERMINATING, "terminating")]
)
def test_a_role_whose_pods_exist_and_do_not_count_names_them(change: Manifest, state: str) -> None:
    found = explained(role_short(change))
    assert f"role lead has 0 of the 1 pod that minTaskMember requires (j-0 is {state})" == found.dominant.reason
    assert f"Find out why j-0 is {state}, and why nothing replaces it." == found.advice_texts[0]


@pytest.mark.parametrize(
    ("labels", "count", "pods_of_group"),
    [
        ({}, 1, "pods that share a value of label part (existing: 0)"),
        ({"app": "web"}, 1, "pods with app=web that share a value of label part (existing: 0)"),
        ({"app": "other"}, 0, "pods with app=other that share a value of label part (no such pod exists)"),
    ],
)
def test_missing_subgroups_are_named_with_what_forms_one(
    labels: dict[str, str], count: int, pods_of_group: str
) -> None:
    found = explained(subgroups_short(labels))
    assert f"subGroupPolicy p has {count} of the 2 subgroups that minSubGroups requires" == found.dominant.reason
    assert f"A subgroup of p is the {pods_of_group}." in found.dominant.facts
    missing = "1 more subgroup" if count else "2 more subgroups"
    assert f"Create the pods of {missing}, with other values of part." == found.advice_texts[0]


def test_a_job_with_too_few_subgroups_starts_with_those_that_exist_and_keeps_its_minimum() -> None:
    fix = proven(subgroups_short({}, minimum=4), "default/j")["default/j: minSubGroups of p 4 -> 1"]
    assert fix.outcome.is_reached
    assert ("PodGroup/default/j:spec.subGroupPolicy[0].minSubGroups=1",) == fix.plan.all_edits


def test_a_release_that_counts_no_subgroups_does_not_name_them() -> None:
    found = explained(snapshot_at_release(subgroups_short({}), "v1.13.0"))
    assert "requires" not in found.full_text
