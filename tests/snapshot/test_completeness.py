"""A snapshot without Nodes, Queues or PodGroups is distinguished from an empty cluster."""

import pytest

from tests.builders import cluster as small_cluster
from tests.builders import node, pod_group, snapshot_from_objects
from tests.snapshot.manifests import cluster
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.explain.subject_names import NotFoundError
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.object_checks import completeness_problems, missing_kinds, object_that_counts_pods
from vcdebug.snapshot.snapshot import Snapshot


def without(*kinds: str) -> Snapshot:
    return snapshot_from_objects([manifest for manifest in cluster() if manifest["kind"] not in kinds])


@pytest.mark.parametrize(
    ("left_out", "missing"),
    [
        ((), []),
        (("Pod",), []),
        (("Queue",), ["Queue"]),
        (("Node", "PodGroup"), ["Node", "PodGroup"]),
        (("PodGroup", "Pod", "Queue"), ["Queue", "PodGroup", "Pod"]),
    ],
)
def test_kinds_that_every_answer_needs_are_missing_where_there_is_none(
    left_out: tuple[str], missing: list[str]
) -> None:
    assert missing == [kind.name for kind in missing_kinds(without(*left_out))]


@pytest.mark.parametrize(
    ("status", "counted"),
    [
        ({"phase": "Running"}, "PodGroup default/j is Running"),
        ({"phase": "Unknown"}, "PodGroup default/j is Unknown"),
        ({"phase": "Inqueue"}, ""),
        ({"phase": "Inqueue", "conditions": [{"message": "2/2 tasks in gang unschedulable: 2 Pending"}]}, "2/2 tasks"),
        ({"phase": "Inqueue", "conditions": [{"message": "1/0 tasks in gang unschedulable"}]}, ""),
    ],
)
def test_pods_are_missing_where_an_object_counts_some(status: dict[str, object], counted: str) -> None:
    group = {**pod_group("j"), "status": status}
    snapshot = small_cluster(node("n1"), group)
    assert [kind.name for kind in missing_kinds(snapshot)] == (["Pod"] if counted else [])
    assert counted in object_that_counts_pods(snapshot)
    answer = explain_by_name(replay_cycle(snapshot), "j")
    assert (answer.cause_code == "capture-incomplete") == bool(counted)
    assert "`kubectl get pods -A -o json`" in (str(answer.advised) if counted else answer.doubt)


def test_what_is_missing_is_one_problem_with_the_command_that_supplies_it() -> None:
    said = (
        "the snapshot has no Queue, no PodGroup and no Pod; no cause can be determined for a job: add the "
        "output of `kubectl get queues.scheduling.volcano.sh,podgroups.scheduling.volcano.sh,pods -A -o json`"
    )
    assert [said] == [problem.format_line() for problem in completeness_problems(without("Queue", "PodGroup", "Pod"))]


def test_explain_names_what_is_missing_and_claims_nothing_of_a_queue() -> None:
    recording = replay_cycle(without("Queue"))
    found = survey_jobs(recording).explained
    assert ["capture-incomplete"] * len(found) == [one.explanation.cause_code for one in found]
    assert "the snapshot has no Queue." in found[0].explanation.sentence
    nothing = replay_cycle(without("Queue", "PodGroup", "Pod"))
    assert survey_jobs(nothing).incomplete.startswith("the snapshot has no Queue, no PodGroup and no Pod; add")
    with pytest.raises(NotFoundError, match="the snapshot has no Queue"):
        explain_by_name(nothing, "team-a/train")
