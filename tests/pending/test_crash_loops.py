"""Containers that end and are started again: how they end, and what a Volcano Job notices of it."""

import pytest

from tests.builders import cluster, node, pod_group, pods
from tests.pending.test_component_reports import volcano_job
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest


def ending(policy: str, ended: dict[str, object], phase: str = "Running", **spec: object) -> list[Manifest]:
    """A Volcano Job with a pod whose container has ended four times and is started again."""
    made = pods("j", 1, on="n1", phase=phase)[0]
    made["spec"]["restartPolicy"] = policy
    made["metadata"]["labels"] = {"volcano.sh/job-name": "j", "volcano.sh/task-spec": "pi"}
    made["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j", "uid": "job-uid"}]
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    last = {"lastState": {"terminated": ended}} if ended else {}
    made["status"]["containerStatuses"] = [{"name": "main", "state": state, "restartCount": 4, **last}]
    owner = volcano_job(state={"phase": "Running"})
    owner["spec"] |= spec
    group = pod_group("j", phase="Running")
    group["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j", "uid": "job-uid"}]
    return [node("n1"), group, owner, made]


@pytest.mark.parametrize(
    ("policy", "ended", "told", "advised"),
    [
        ("Always", {"exitCode": 0, "reason": "Completed"}, "exit code 0 (Completed), 4", "restartPolicy Never or OnF"),
        ("OnFailure", {"exitCode": 1, "reason": "Error"}, "exit code 1, 4 restarts", "logs j-0 -c main --previous"),
        ("OnFailure", {"exitCode": 137, "reason": "OOMKilled"}, "(OOMKilled), 4", "Raise the memory limit of cont"),
    ],
)
def test_a_container_that_keeps_ending_is_told_with_its_end_and_what_its_job_notices(
    policy: str, ended: dict[str, object], told: str, advised: str
) -> None:
    found = explain_by_name(replay_cycle(cluster(*ending(policy, ended))), "j")
    assert "does not keep running: 1 of 1 pod is CrashLoopBackOff on n1: main ended with " in found.sentence
    assert told in found.sentence
    assert advised in found.advice_texts[0]
    counted, acts = found.dominant.facts[0], "TaskCompleted" if ended["exitCode"] == 0 else "PodFailed"
    assert counted.startswith(f"restartPolicy {policy} starts main again in j-0, which stays Running: Job j")
    assert counted.endswith(f"no policy for {acts} acts.")
    assert (acts == "PodFailed") is any("TaskFailed, which acts from 3 restarts" in one for one in found.advice_texts)


def test_a_job_that_reacts_to_restarts_gets_no_advice_to_do_so() -> None:
    policies = [{"event": "TaskFailed", "action": "RestartJob"}]
    found = explain_by_name(replay_cycle(cluster(*ending("Always", {"exitCode": 1}, policies=policies))), "j")
    assert 1 == len(found.advice_texts)


def test_the_retries_of_a_role_are_its_own() -> None:
    for retries, told in ((7, "acts from 7 restarts"), (-1, "needs a maxRetry")):
        made = ending("Always", {"exitCode": 1}, tasks=[{"name": "pi", "replicas": 1, "maxRetry": retries}])
        assert told in explain_by_name(replay_cycle(cluster(*made)), "j").advice_texts[1]


@pytest.mark.parametrize(("ended", "phase"), [({}, "Running"), ({"exitCode": 1}, "Pending")])
def test_what_a_job_counts_is_told_only_of_running_pods_whose_end_is_known(
    ended: dict[str, object], phase: str
) -> None:
    found = explain_by_name(replay_cycle(cluster(*ending("Always", ended, phase))), "j")
    assert not any("phase stays Running" in fact for fact in found.dominant.facts)
    assert bool(ended) is ("main ended with exit code 1" in found.sentence)
