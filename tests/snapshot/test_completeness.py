"""A snapshot without Nodes, Queues or PodGroups is distinguished from an empty cluster."""

import pytest

from tests.builders import snapshot_from_objects
from tests.snapshot.manifests import cluster
from vcdebug.explain.job_view import NotFoundError
from vcdebug.explain.pending.explanation import explain_by_name, survey_jobs
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.object_checks import completeness_problems, missing_kinds
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
