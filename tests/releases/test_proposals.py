"""Open pull requests as switches: off by default, each with its effect."""

import pytest

from tests.builders import cluster, node, open_session, pod_group, pods, task
from tests.releases.shown_proposals import queue_on_the_seventh_level, queue_that_is_not_preemptable, quota
from tests.scenarios.questions import asked
from vcdebug.errors import VcdebugError
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.framework.record import OpEvent
from vcdebug.framework.statement import Statement
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release import CHANGES, NEWEST, SUPPORTED_TAGS, release_at_tag
from vcdebug.releases.release_names import require_release
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot

PROPOSED = [change.id for change in CHANGES.values() if change.is_proposed]


def operations(snapshot: Snapshot, *switches: str) -> list[tuple[str, str]]:
    switched = snapshot_at_release(snapshot, ",".join(["master", *(f"+{one}" for one in switches)]))
    events = replay_cycle(switched).events
    return [(event.op, event.task) for event in events if isinstance(event, OpEvent)]


def admitted(snapshot: Snapshot, *switches: str) -> bool:
    switched = snapshot_at_release(snapshot, ",".join(["master", *(f"+{one}" for one in switches)]))
    return replay_cycle(switched).session.jobs["default/j"].pod_group.phase == "Inqueue"


def test_no_release_has_a_proposal() -> None:
    releases = [NEWEST, *map(release_at_tag, SUPPORTED_TAGS)]
    assert [] == [(release.name, one) for release in releases for one in PROPOSED if one in release.older_forms]
    assert "v1.16" not in {change.history for change in CHANGES.values() if change.is_proposed}


def test_a_misspelt_pull_request_is_refused_with_the_known_ones() -> None:
    with pytest.raises(VcdebugError, match=rf"unknown change \+pr-5885; open pull requests are {', '.join(PROPOSED)}"):
        require_release("master,+pr-5885")
    assert "master,+pr-5884" == require_release("master,+pr-5884").release.name


@pytest.mark.parametrize("name", ["master,+pr-9999,nearest", "v1.99,nearest,+pr-9999", "nearest,+pr-9999"])
def test_nearest_excuses_the_version_and_no_switch(name: str) -> None:
    with pytest.raises(VcdebugError, match=r"unknown change \+pr-9999"):
        require_release(name)


def test_a_switched_release_is_near_and_names_only_older_rules_as_older() -> None:
    release = require_release("v1.15.1,+pr-5884").release
    assert ("near", True) == (release.trust, "pr-5884" in release.older_forms)
    assert "pr-5884" not in release.build_document()["olderRules"]  # type: ignore[operator]


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_queue_that_is_not_preemptable_loses_no_pod(action: str) -> None:
    snapshot = queue_that_is_not_preemptable(action)
    assert ("evict", "default/low-0") in operations(snapshot)
    assert [] == operations(snapshot, "pr-5373")


def test_a_queue_keeps_its_own_parent_on_the_seventh_level() -> None:
    snapshot = queue_on_the_seventh_level()
    assert [] == operations(snapshot)
    assert [("allocate", "default/j-0")] == operations(snapshot, "pr-5502")


def test_job_with_pods_is_not_added_to_the_quota_usage() -> None:
    assert [False, True] == [admitted(quota(2)), admitted(quota(2), "pr-5744")]
    assert not admitted(quota(0), "pr-5744")


def test_a_quota_above_its_limit_is_explained_without_a_request() -> None:
    snapshot = snapshot_at_release(quota(2, used="3"), "master,+pr-5744")
    answer = explain_by_name(replay_cycle(snapshot), "default/j")
    assert "ResourceQuota q has 3 of 2 cpu used (1 too much)" in answer.sentence
    assert "minResources" not in answer.sentence


@pytest.mark.parametrize(
    "spec",
    [{"scopes": ["BestEffort"]}, {"scopeSelector": {"matchExpressions": [{"scopeName": "BestEffort"}]}}],
)
def test_a_scoped_quota_refuses_no_job(spec: dict[str, object]) -> None:
    assert [False, True] == [admitted(quota(0, spec=spec)), admitted(quota(0, spec=spec), "pr-5800")]
    assert not admitted(quota(0, spec={"scopeSelector": {}}), "pr-5800")


def test_a_pipelined_pod_with_a_claim_preempts() -> None:
    snapshot = load_snapshot(asked(5884).file)
    assert "evict" in {op for op, _ in operations(snapshot, "pr-5884")}
    assert not any(event.op == "pipeline" for event in replay_cycle(snapshot).events if isinstance(event, OpEvent))


@pytest.mark.parametrize(("switch", "left"), [("", "n1"), ("+pr-5854", "")])
def test_an_undone_allocation_takes_the_node_off_the_pod(switch: str, left: str) -> None:
    snapshot = cluster(node("n1"), pod_group("j"), pods("j", 1))
    ssn = open_session(snapshot_at_release(snapshot, ",".join(filter(None, ["master", switch]))), "gang")
    statement, placed = Statement(ssn), task(ssn, "j-0")
    statement.allocate(placed, "n1")
    assert "n1" == placed.pod.node_name
    statement.discard()
    assert left == placed.pod.node_name
