"""`:changes` names jobs by the workloads that own their PodGroups."""

from tests.builders import amounts, cluster, node, pod_group, pods, queue
from vcdebug.comparison.cycles import compare_captures
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.comparison import iter_change_rows


def with_cpu(amount: str) -> Snapshot:
    group = pod_group("train-1f2e")
    group["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "train", "uid": "1f2e"}]
    return cluster(node("n1", cpu="4"), queue(), group, pods("train-1f2e", 1, requests=amounts(amount, "1G")))


def test_a_changed_cause_is_told_of_the_workload_and_leads_to_the_job() -> None:
    before, after = replay_cycle(with_cpu("1")), replay_cycle(with_cpu("9"))
    rows = list(iter_change_rows(compare_captures(before, after)))
    (cause,) = [row for row in rows if row.cells[0].text == "cause"]
    assert "default/train" == after.job_names.in_text(cause.cells[1].text)
    assert ("job", "default/train-1f2e") == cause.subject
