"""nodegroup: queues and the node groups that they may use."""

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, open_session, pod, pod_group, pods, queue, task
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import NODE_ORDER, PREDICATE
from vcdebug.framework.session import Session
from vcdebug.model.fit_errors import ERROR, UNSCHEDULABLE_AND_UNRESOLVABLE
from vcdebug.model.names import NodeName
from vcdebug.plugins.nodegroup import NodeGroupByPod
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.manifest import QUEUE_LABEL
from vcdebug.snapshot.snapshot import Manifest

NAME = "nodegroup"
GROUP = "volcano.sh/nodegroup-name"
LIMITS = "volcano.sh/nodegroup-resource-limits"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
FITS = ""
NO_LABEL = "node group label not found"
NO_AFFINITY = "node group affinity not specified"
UNSATISFIED = "node does not satisfy the node group affinity"
OVER_LIMIT = "node group resource limit exceeded"
INVALID = "node group resource limit annotation invalid"
HOSTS = [
    node("n0"),
    node("n1", labels={GROUP: "g1"}),
    node("n2", labels={GROUP: "g2"}),
    node("n3", labels={GROUP: "g3"}),
]


def affinity(**lists: list[str]) -> dict[str, Any]:
    """spec.affinity from required, preferred, anti_required, anti_preferred."""
    near = {REQUIRED: lists.get("required"), PREFERRED: lists.get("preferred")}
    apart = {REQUIRED: lists.get("anti_required"), PREFERRED: lists.get("anti_preferred")}
    return {"affinity": {"nodeGroupAffinity": near, "nodeGroupAntiAffinity": apart}}


def opened(*objects: Manifest | list[Manifest], hierarchy: bool = False, **arguments: Any) -> Session:
    text = conf_of(NAME) + ("    enableHierarchy: true\n" if hierarchy else "")
    lines = "".join(f"      {key}: {value}\n" for key, value in arguments.items())
    text += "    arguments:\n" + lines if lines else ""
    return open_session(cluster(HOSTS, pod_group("j", queue="q"), *objects, conf=text))


def asked(queued: Manifest, *objects: Manifest | list[Manifest], cpu: str = "1", **settings: Any) -> Session:
    return opened(queued, *objects, pods("j", 1, cpu=cpu), **settings)


def verdicts(ssn: Session, name: str = "j-0") -> list[str]:
    codes = ssn.ask_plugins(PREDICATE, task(ssn, name), ssn.all_rows())[NAME]
    found = [ssn.reasons.statuses_of(code) for code in codes.tolist()]
    assert all(status.plugin == "" for statuses in found for status in statuses)
    assert all(status.code == UNSCHEDULABLE_AND_UNRESOLVABLE for statuses in found for status in statuses)
    return ["".join(status.reason for status in statuses) for statuses in found]


def scores(ssn: Session) -> list[float]:
    answer = ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())[NAME]
    return [float(score) for score in answer.total]


def test_a_required_group_is_accepted_and_scored() -> None:
    ssn = asked(queue("q", **affinity(required=["g1"])))
    assert [NO_LABEL, FITS, UNSATISFIED, UNSATISFIED] == verdicts(ssn)
    assert [0.0, 100.0, 0.0, 0.0] == scores(ssn)


def test_required_anti_affinity_alone_rejects_every_node() -> None:
    ssn = asked(queue("q", **affinity(anti_required=["g1"])))
    assert [NO_LABEL, UNSATISFIED, UNSATISFIED, UNSATISFIED] == verdicts(ssn)


def test_preferred_anti_affinity_accepts_only_its_own_group() -> None:
    ssn = asked(queue("q", **affinity(anti_preferred=["g1"])))
    assert [NO_LABEL, FITS, UNSATISFIED, UNSATISFIED] == verdicts(ssn)
    assert [0.0, -1.0, 0.0, 0.0] == scores(ssn)


def test_preferred_anti_affinity_wins_over_every_other_list() -> None:
    lists = affinity(required=["g1", "g2"], preferred=["g2"], anti_required=["g1"], anti_preferred=["g1"])
    ssn = asked(queue("q", **lists))
    assert [NO_LABEL, FITS, FITS, UNSATISFIED] == verdicts(ssn)
    assert [0.0, -1.0, 150.0, 0.0] == scores(ssn)


def test_preferred_groups_may_count_by_their_place() -> None:
    lists = affinity(preferred=["g1", "g2", "g3"])
    assert [0.0, 50.0, 50.0, 50.0] == scores(asked(queue("q", **lists)))
    ordered = asked(queue("q", **lists), enablePreferredOrder="true")
    assert [0.0, 50.0, 33.333333333333336, 16.666666666666668] == scores(ordered)
    repeated = affinity(preferred=["g1", "g2", "g1", "g1"])
    assert [0.0, -25.0, 25.0, 0.0] == scores(asked(queue("q", **repeated), enablePreferredOrder="true"))


@pytest.mark.parametrize(("strict", "unlabelled"), [("true", NO_LABEL), ("false", FITS)])
@pytest.mark.parametrize("stated", [{}, {"affinity": {}}])
def test_a_queue_without_affinity_gets_no_labelled_node(stated: dict[str, Any], strict: str, unlabelled: str) -> None:
    ssn = asked(queue("q", **stated), strict=strict)
    assert [unlabelled, NO_AFFINITY, NO_AFFINITY, NO_AFFINITY] == verdicts(ssn)


def test_an_unlabelled_node_is_no_place_for_a_queue_with_affinity() -> None:
    assert NO_LABEL == verdicts(asked(queue("q", **affinity(required=["g1"])), strict="false"))[0]


def test_an_empty_label_is_a_group() -> None:
    ssn = asked(queue("q", **affinity(required=[""])), node("n4", labels={GROUP: ""}))
    assert [NO_LABEL, UNSATISFIED, UNSATISFIED, UNSATISFIED, FITS] == verdicts(ssn)


def test_the_nearest_ancestor_with_affinity_is_inherited() -> None:
    tree = [
        queue("root", **affinity(required=["g3"])),
        queue("top", **affinity(required=["g1"])),
        queue("mid", parent="top"),
    ]
    assert FITS == verdicts(asked(queue("q", parent="mid"), tree, hierarchy=True))[1]
    assert FITS == verdicts(asked(queue("q"), tree, hierarchy=True))[3]
    assert NO_AFFINITY == verdicts(asked(queue("q", parent="mid"), tree))[1]
    assert NO_AFFINITY == verdicts(asked(queue("q", parent="mid", affinity={}), tree, hierarchy=True))[1]


def test_a_circle_or_gap_of_parents_ends_the_search() -> None:
    circle = queue("loop", parent="q")
    assert NO_AFFINITY == verdicts(asked(queue("q", parent="loop"), circle, hierarchy=True))[1]
    assert NO_AFFINITY == verdicts(asked(queue("q", parent="gone"), hierarchy=True))[1]


def limited(text: str, **lists: list[str]) -> Manifest:
    return queue("q", annotations={LIMITS: text}, **affinity(required=["g1", "g2"], **lists))


def test_a_group_is_used_up_to_the_limit() -> None:
    running = pods("r", 1, cpu="3500m", on="n1")
    others = [pod_group("r", queue="q"), *running]
    text = '{"g1": {"cpu": "4"}}'
    assert [OVER_LIMIT, FITS] == verdicts(asked(limited(text), others, cpu="600m"))[1:3]
    assert [FITS, FITS] == verdicts(asked(limited(text), others, cpu="500m"))[1:3]


def test_limits_may_be_numbers_and_name_any_resource() -> None:
    assert OVER_LIMIT == verdicts(asked(limited('{"g1": {"memory": 999999999}}')))[1]
    assert OVER_LIMIT == verdicts(asked(limited('{"g1": {"pods": 0}}')))[1]
    assert FITS == verdicts(asked(limited('{"g1": {"memory": 1e9, "pods": "1", "count/x": 0}, "g2": null}')))[1]


@pytest.mark.parametrize(
    "text", ['{"g1": {"cpu": "x"}}', "[]", "{", '{"g1": 4}', '{"g1": {"cpu": true}}', '{"g1": {"cpu": NaN}}', "7"]
)
def test_a_wrong_limit_annotation_closes_every_node(text: str) -> None:
    assert [INVALID] * 4 == verdicts(asked(limited(text)))


def test_limits_follow_allocations_within_the_session() -> None:
    ssn = opened(limited('{"g1": {"cpu": "1"}}'), pods("j", 2))
    first = task(ssn, "j-0")
    first.node_name = "n1"
    ssn.notify_allocated(first)
    assert OVER_LIMIT == verdicts(ssn, "j-1")[1]
    ssn.notify_deallocated(first)
    assert FITS == verdicts(ssn, "j-1")[1]
    with pytest.raises(SchedulerPanic):
        ssn.notify_deallocated(first)


def test_a_task_without_a_job_is_an_error() -> None:
    ssn = asked(queue("q"))
    orphan = task(ssn, "j-0")
    orphan.job = "default/gone"
    codes = ssn.ask_plugins(PREDICATE, orphan, ssn.all_rows())[NAME]
    (status,) = ssn.reasons.statuses_of(int(codes[0]))
    assert (ERROR, "job default/gone not found in session") == (status.code, status.reason)
    assert [0.0] * 4 == [float(s) for s in ssn.ask_plugins(NODE_ORDER, orphan, ssn.all_rows())[NAME].total]


def test_a_task_on_an_unlabelled_node_uses_no_group() -> None:
    ssn = opened(limited('{"g1": {"cpu": "1"}}'), [pod_group("r", queue="q"), pod("r-0", "r", on="n0")], pods("j", 1))
    ssn.notify_deallocated(task(ssn, "r-0"))
    assert FITS == verdicts(ssn)[1]


def test_by_the_pods_label_neither_strictness_nor_order_is_read() -> None:
    named = pod("j-0", "j", requests={"cpu": "1"}, annotations={QUEUE_LABEL: "q"})
    lists = affinity(required=["g1"])
    snapshot = cluster(HOSTS, pod_group("j", queue="q"), queue("q", **lists), named, conf=conf_of(NAME))
    ssn = open_session(snapshot_at_release(snapshot, "master,+nodegroup-by-pod-label"))
    plugin = ssn.plugins[NAME]
    assert isinstance(plugin, NodeGroupByPod)
    verdicts = {name: plugin.group_verdict(task(ssn, "j-0"), NodeName(name)) for name in ssn.nodes}
    assert ("q", "g1", "") == (verdicts["n1"].queue_name, verdicts["n1"].group, verdicts["n1"].refusal)
    assert all(verdicts[name].refusal for name in ("n2", "n3"))
    assert not any(one.strict or one.ordered for one in verdicts.values())
