"""`:changes` names jobs by the workloads that own their PodGroups."""

from tests.builders import amounts, cluster, node, pod_group, pods, queue
from vcdebug.comparison.cycles import compare_captures
from vcdebug.explain.job_view import workload_names
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.cycles import iter_change_rows


def with_cpu(amount: str) -> Snapshot:
    group = pod_group("train-1f2e")
    group["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "train", "uid": "1f2e"}]
    return cluster(node("n1", cpu="4"), queue(), group, pods("train-1f2e", 1, requests=amounts(amount, "1G")))


def test_a_changed_cause_is_told_of_the_workload_and_leads_to_the_job() -> None:
    before, after = replay_cycle(with_cpu("1")), replay_cycle(with_cpu("9"))
    rows = list(iter_change_rows(compare_captures(before, after), workload_names(after.snapshot)))
    (cause,) = [row for row in rows if row.cells[0].text == "cause"]
    assert "job default/train" == cause.cells[1].text
    assert ("job", "default/train-1f2e") == cause.subject


def test_a_pod_group_of_a_replica_set_is_named_after_its_deployment() -> None:
    group = pod_group("podgroup-2")
    group["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web-7d", "uid": "2"}]
    owner = [{"kind": "Deployment", "name": "web", "uid": "1"}]
    replicas = {"kind": "ReplicaSet", "metadata": {"name": "web-7d", "uid": "2", "ownerReferences": owner}}
    assert {"default/podgroup-2": "deployment default/web"} == workload_names(cluster(group, replicas))
