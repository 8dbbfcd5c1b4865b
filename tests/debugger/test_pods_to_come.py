"""Fixes that admit a job are tried with the pods that its controller then creates."""

from typing import Any

from tests.builders import cluster, node, pod_group, pods, queue
from tests.debugger.test_remedies import CONF, proven
from vcdebug.whatif.fixes.plan import describe_result


def test_pods_to_come_of_a_template_are_in_the_subgroups_that_their_controller_makes() -> None:
    policy: dict[str, Any] = {"name": "w", "subGroupSize": 2, "minSubGroups": 1, "matchLabelKeys": ["part"]}
    policy["labelSelector"] = {"matchLabels": {"volcano.sh/task-spec": "w"}}
    more: dict[str, Any] = {"minTaskMember": {"w": 4}, "subGroupPolicy": [policy]}
    group = pod_group("j", queue="q", phase="Pending", min_member=4, min_resources={"cpu": "4"}, **more)
    group["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "j"}]
    tasks = {"tasks": [{"name": "w", "replicas": 4, "template": {"spec": pods("t", 1, cpu="1")[0]["spec"]}}]}
    job = {"kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": tasks}
    conf = CONF.replace("{name: gang}", "{name: gang}, {name: proportion}")
    small = queue("q", capability={"cpu": "3"})
    found = proven(cluster(node("n1", cpu="8"), small, queue("default"), group, job, conf=conf), "default/j")
    raised = describe_result(found["Queue q: capability.cpu 3 -> 4"])
    assert (
        "admits the job; its pods would fit n1 (assumed: 4 pods of 1 cpu, 954Mi memory, from the pod template)"
        == raised
    )
