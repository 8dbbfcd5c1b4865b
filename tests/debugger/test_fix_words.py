"""What a fix changes and what it costs, in words that hold for the snapshot."""

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class
from tests.debugger.test_remedies import CONF, proven, searched
from tests.recorded import recorded_path
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.whatif.fixes.plan import describe_result


@pytest.mark.parametrize("before", [0, 1, 3])
def test_a_plan_tells_how_many_pods_of_other_jobs_go_to_the_nodes_that_it_adds(before: int) -> None:
    conf = conf_of("priority gang", "predicates nodeorder", actions="allocate")
    used = [pod_group("r", phase="Running"), *pods("r", 1, cpu="4", on="n1")]
    ahead = [pod_group("a", priority_class="high", min_member=1), *pods("a", before, cpu="4", priority=9)]
    objects = [node("n1", cpu="4"), priority_class("high", 9), *used, *(ahead if before else [])]
    found = proven(cluster(*objects, pod_group("j"), pods("j", 1, cpu="4"), conf=conf), "default/j")
    plan = found[f"Add {before + 1} node{'s' if before else ''} like n1"]
    others = "the other added node gets 1 pod" if before == 1 else "the other added nodes get 3 pods"
    assert (f"({others} of default/a)" in describe_result(plan)) == (before > 0)


def test_the_only_added_node_is_no_other_node_where_another_job_gets_it() -> None:
    recording = replay_cycle(load_snapshot(recorded_path("threads/5805-stranded-member-loses-its-slot")))
    search = searched(recording, "team/gang-training")
    plan = next(plan for plan in search.best_plans if plan.plan_words == "Add 1 node like w1")
    assert "places 1 pod on w2 (the added node gets 1 pod of team/filler)" == describe_result(plan)


@pytest.mark.parametrize(("network", "fields"), [(False, "hostPort"), (True, "hostPort and containerPort")])
def test_a_fix_of_a_port_names_the_pods_and_each_field_that_changes(network: bool, fields: str) -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    taken = [pod_group("r", phase="Running"), *pods("r", 1, on="n1", hostNetwork=network)]
    job = [pod_group("j", min_member=1), *pods("j", 1, hostNetwork=network)]
    for each in (taken[1], job[1]):
        each["spec"]["containers"][0]["ports"] = ports
    found = proven(cluster(node("n1"), *taken, *job, conf=CONF), "default/j")
    plan = found[f"j-0: {fields} 80 -> 81"]
    assert all(name in " ".join(plan.plan.all_edits) for name in fields.split(" and "))


@pytest.mark.parametrize("running", [0, 1])
def test_a_job_that_waits_longer_is_not_said_to_fall_below_its_minimum(running: int) -> None:
    conf = CONF.replace("{name: gang}", "{name: priority}, {name: gang}")
    first = [pod_group("a", min_member=running + 1), *pods("a", 1, cpu="3")]
    ran = pods("a", running, cpu="1", on="n1", prefix="a-old")
    passed = [pod_group("b"), *pods("b", 1, cpu="3")]
    found = proven(cluster(node("n1", cpu="4"), *first, *ran, *passed, conf=conf), "default/b")
    raised = found["Submit default/b with a PriorityClass above 0, the priority of default/a"]
    said = "leaves default/a below minMember" if running else "default/a then stays Pending"
    assert (said,) == raised.outcome.costs
