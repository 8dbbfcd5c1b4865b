"""A plan from a trial that cannot be applied again has no effect on the cluster."""

import pytest

from tests.actions.outcome import statements
from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class
from tests.releases.shown_topology import hard_job
from vcdebug.framework.statement import Statement
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot

RECOVER = Statement.recover_operations


def gang_above_another() -> Snapshot:
    """Two low-priority jobs, either of which makes room for a high-priority job."""
    return cluster(
        node("n1", cpu="2"),
        [priority_class("high", 9), priority_class("low", 1)],
        [pod_group("l", priority_class="low"), *pods("l", 1, on="n1")],
        [pod_group("m", priority_class="low"), *pods("m", 1, on="n1")],
        [pod_group("h", priority_class="high"), *pods("h", 1)],
        conf=conf_of("priority gang conformance", "predicates nodeorder", actions="gangpreempt"),
    )


def commits(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, *failing: int, applies: bool = True
) -> tuple[int, list[str]]:
    """(number of recoveries, non-empty commits) of a cycle; recoveries numbered `failing` fail."""
    calls: list[None] = []

    def recover_or_fail(self: Statement, saved: Statement) -> str | None:
        calls.append(None)
        fails = len(calls) in failing
        error = RECOVER(self, saved) if applies or not fails else None
        return "no room" if fails else error

    monkeypatch.setattr(Statement, "recover_operations", recover_or_fail)
    said = statements(replay_cycle(snapshot))
    return len(calls), [each for each in said if each.startswith("commit") and each != "commit 0"]


@pytest.mark.parametrize(("release", "recoveries"), [("master", 3), ("v1.13.3", 1)])
def test_the_last_recovery_decides_whether_a_job_is_committed(
    release: str, recoveries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = snapshot_at_release(hard_job(), release)
    assert (recoveries, ["commit 2"]) == commits(snapshot, monkeypatch)
    assert (recoveries, []) == commits(snapshot, monkeypatch, recoveries)


def test_a_hypernode_whose_trial_cannot_be_recovered_is_no_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (2, []) == commits(hard_job(), monkeypatch, 1, 2)


def test_gangpreempt_adds_a_bundle_where_a_plan_cannot_be_recovered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (1, ["commit 2"]) == commits(gang_above_another(), monkeypatch)
    assert (2, ["commit 3"]) == commits(gang_above_another(), monkeypatch, 1, applies=False)
