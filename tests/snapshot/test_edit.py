"""Edits change only the named field; errors say where an edit is wrong."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import yaml

from tests.builders import cluster, conf_of, node, pod, pod_group, queue
from vcdebug.snapshot.edit import Edit, parse_edit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.edited_snapshot import apply_edits
from vcdebug.snapshot.snapshot import Manifest, Snapshot

CONF = conf_of("priority gang", "drf proportion", actions="enqueue, allocate")
TAINT = {"key": "reserved", "value": "x", "effect": "NoSchedule"}


def small() -> Snapshot:
    requests = {"cpu": "1", "nvidia.com/gpu": "2"}
    return cluster(
        node("n1", taints=[TAINT], labels={"zone": "a"}),
        node("n2"),
        queue("research", weight=2),
        pod_group("train", queue="research"),
        pod("web", "train", requests=requests),
        pod("web", "train", namespace="other"),
        conf=CONF,
    )


def edited(*texts: str, snapshot: Snapshot | None = None) -> Snapshot:
    return apply_edits(snapshot or small(), [parse_edit(text) for text in texts], CONF)


def found(snapshot: Snapshot, kind: str, name: str, namespace: str | None = None) -> Manifest:
    manifests = snapshot.objects_of(kind)
    return next(
        m for m in manifests if m["metadata"]["name"] == name and namespace in (None, m["metadata"].get("namespace"))
    )


def at(item: Any, *path: Any) -> Any:
    for step in path:
        item = item[step]
    return item


MAIN = ("spec", "containers", 0, "resources", "requests")


@pytest.mark.parametrize(
    ("text", "kind", "name", "path", "value"),
    [
        ("Queue/research:spec.weight=4", "Queue", "research", ("spec", "weight"), 4),
        ("queue/research:spec.weight = 4", "Queue", "research", ("spec", "weight"), 4),
        ("queues/research:spec.reclaimable=false", "Queue", "research", ("spec", "reclaimable"), False),
        ("Queue/research:spec.capability={cpu: 4}", "Queue", "research", ("spec", "capability"), {"cpu": 4}),
        ("Pod/default/web:spec.containers[0].resources.requests.cpu=500m", "Pod", "web", (*MAIN, "cpu"), "500m"),
        ("Pod/default/web:spec.containers.main.resources.requests.cpu=2", "Pod", "web", (*MAIN, "cpu"), 2),
        (
            "Pod/default/web:spec.containers.main.resources.requests[nvidia.com/gpu]=1",
            "Pod",
            "web",
            (*MAIN, "nvidia.com/gpu"),
            1,
        ),
        ("Node/n1:spec.taints.reserved.effect=NoExecute", "Node", "n1", ("spec", "taints", 0, "effect"), "NoExecute"),
        ("Node/n2:spec.taints[+]={key: a, effect: NoSchedule}", "Node", "n2", ("spec", "taints", 0, "key"), "a"),
        ("Node/n2:spec.taints[+].key=b", "Node", "n2", ("spec", "taints", 0, "key"), "b"),
        ("Node/n1:metadata.labels.zone=b", "Node", "n1", ("metadata", "labels", "zone"), "b"),
        ("Node/n1:spec.unschedulable=true", "Node", "n1", ("spec", "unschedulable"), True),
        (
            'PodGroup/train:metadata.annotations["volcano.sh/preemptable"]=true',
            "PodGroup",
            "train",
            ("metadata", "annotations", "volcano.sh/preemptable"),
            "true",
        ),
    ],
)
def test_an_edit_sets_a_field(text: str, kind: str, name: str, path: tuple[Any, ...], value: Any) -> None:
    assert value == at(found(edited(text), kind, name), *path)


def test_a_field_that_takes_text_gets_the_value_as_written() -> None:
    assert "007" == at(found(edited("Node/n1:metadata.labels.zone=007"), "Node", "n1"), "metadata", "labels", "zone")


def test_the_original_stays_and_shares_what_is_not_touched() -> None:
    before = small()
    copy = deepcopy(before)
    after = edited(
        "Queue/research:spec.weight=9",
        "Node/n1:spec.taints[0]-",
        "Pod/other/web:-",
        "Node/n3:+=n1",
        "conf:actions=allocate",
        "flag:minimum_feasible_nodes=1",
        snapshot=before,
    )
    assert copy == before
    assert before.objects["PodGroup"] is after.objects["PodGroup"]
    assert before.objects_of("Node")[1] is after.objects_of("Node")[1]
    assert before.objects_of("Node")[0]["status"] is after.objects_of("Node")[0]["status"]


def test_a_field_is_removed() -> None:
    assert "taints" not in found(edited("Node/n1:spec.taints-"), "Node", "n1")["spec"]
    assert [] == found(edited("Node/n1:spec.taints[0]-"), "Node", "n1")["spec"]["taints"]
    labels = found(edited("Node/n1:metadata.labels[kubernetes.io/hostname]-"), "Node", "n1")["metadata"]["labels"]
    assert {"zone": "a"} == labels


def test_an_object_is_removed() -> None:
    assert ["n2"] == [m["metadata"]["name"] for m in edited("Node/n1:-").objects_of("Node")]


def test_an_object_like_another_is_added() -> None:
    added = found(edited("Node/n3:+=n1"), "Node", "n3")
    assert {"kubernetes.io/hostname": "n3", "zone": "a"} == added["metadata"]["labels"]
    assert [TAINT] == added["spec"]["taints"]
    uids = [m["metadata"]["uid"] for m in edited("Pod/team/web:+=default/web").objects_of("Pod")]
    assert 3 == len(dict.fromkeys([*uids[:1], uids[2], "other"]))


def test_an_object_from_a_manifest_is_added() -> None:
    added = found(edited("Queue/new:+={spec: {weight: 3}, status: {state: Open}}"), "Queue", "new")
    assert (3, "new") == (added["spec"]["weight"], added["metadata"]["name"])


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ('conf:actions="enqueue, allocate, preempt"', ("actions",), "enqueue, allocate, preempt"),
        ("conf:actions=allocate, preempt", ("actions",), "allocate, preempt"),
        ("conf:plugins.gang.enablePreemptable=false", ("tiers", 0, "plugins", 1, "enablePreemptable"), False),
        ("conf:tiers[1].plugins.drf.enableHierarchy=true", ("tiers", 1, "plugins", 0, "enableHierarchy"), True),
        ("conf:tiers[0].plugins[+]={name: binpack}", ("tiers", 0, "plugins", 2, "name"), "binpack"),
        (
            "conf:plugins.drf.arguments[a.b]=2",
            ("tiers", 1, "plugins", 0, "arguments", "a.b"),
            2,
        ),
        (
            "conf:configurations[+]={name: enqueue, arguments: {x: 1}}",
            ("configurations", 0, "arguments", "x"),
            1,
        ),
        ("conf:plugins.priority-", ("tiers", 0, "plugins", 0, "name"), "gang"),
    ],
)
def test_an_edit_changes_the_configuration(text: str, path: tuple[Any, ...], value: Any) -> None:
    assert value == at(yaml.safe_load(edited(text).scheduler_conf or ""), *path)


def test_configuration_edit_keeps_the_other_text() -> None:
    conf = "actions: allocate\nflag: yes\nmode: 0644\nodd: y\ntiers: []\n"
    after = apply_edits(small(), [parse_edit("conf:actions=preempt")], conf).scheduler_conf
    assert conf.replace("allocate", "preempt") == after


@pytest.mark.parametrize("empty", ["", " null", " ~", " {}"])
def test_an_edit_sets_an_argument_below_arguments_without_a_value(empty: str) -> None:
    conf = f"tiers:\n- plugins:\n  - name: overcommit\n    arguments:{empty}\n    overcommit-factor: 15\n"
    after = apply_edits(small(), [parse_edit("conf:plugins.overcommit.arguments.overcommit-factor=2")], conf)
    option = {"name": "overcommit", "arguments": {"overcommit-factor": 2}, "overcommit-factor": 15}
    assert option == at(yaml.safe_load(after.scheduler_conf or ""), "tiers", 0, "plugins", 0)


def test_edits_of_the_configuration_add_up() -> None:
    after = edited("conf:plugins.gang.enabledJobOrder=false", "conf:plugins.gang.enablePreemptable=false")
    option = at(yaml.safe_load(after.scheduler_conf or ""), "tiers", 0, "plugins", 1)
    assert {"name": "gang", "enabledJobOrder": False, "enablePreemptable": False} == option


def test_settings_are_changed_and_go_back_to_their_default() -> None:
    after = edited("flag:minimum-feasible-nodes=50", "flag:feature_gates.SidecarContainers=false", "chance:tie_seed=3")
    assert 50 == after.flags.minimum_feasible_nodes
    assert after.flags.is_gate_on("SidecarContainers") is False
    assert 3 == after.chance.tie_seed
    assert after.chance.search_start == 0
    again = edited("flag:minimum_feasible_nodes-", "chance:tie_seed-", snapshot=after)
    assert (100, None) == (again.flags.minimum_feasible_nodes, again.chance.tie_seed)
    assert "2027-01-01T00:00:00+00:00" == edited("clock:now=2027-01-01T00:00:00Z").now.isoformat()


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("Queue/research", 14, "missing ':'"),
        ("Quue/research:spec.weight=4", 0, "did you mean Queue?"),
        ("Queue:spec.weight=4", 5, "missing "),
        ("Queue/research:", 15, "missing path"),
        ("Queue/research:spec.weight", 26, "missing =VALUE"),
        ("Queue/research:spec..weight=4", 20, "missing "),
        ("Queue/research:spec[weight=4", 19, "not closed"),
        ("Queue/research:spec.[]=4", 20, "missing "),
        ("Queue/research:=4", 15, "missing path"),
    ],
)
def test_an_edit_that_cannot_be_read_says_where(text: str, position: int, says: str) -> None:
    with pytest.raises(EditError) as caught:
        parse_edit(text)
    assert position == caught.value.position
    assert says in caught.value.format_line()


@pytest.mark.parametrize(
    ("text", "position", "says"),
    [
        ("Queue/reserch:spec.weight=4", 6, "did you mean research?"),
        ("Pod/web:spec.priority=4", 4, "objects: default/web, other/web"),
        ("Queue/research:spec.weight=many", 27, "not a"),
        ("Queue/research:spec.weight=[", 27, "the value"),
        ("Queue/research:spec.wieght=4", 15, "the scheduler does not read"),
        ("Queue/research:spec.weight.x=4", 27, "has no field x"),
        ("Queue/research:metadata.name=other", 15, "cannot be renamed"),
        ("Pod/default/web:spec.containers[3].name=x", 31, "1 element;"),
        ("Pod/default/web:spec.containers.side.name=x", 32, "available: main"),
        ("Pod/default/web:spec.nodeSelector-", 21, "nodeSelector not found"),
        ("Pod/default/web:spec.containers.main.resources.requests.nvidia.com/gpu=1", 71, "in brackets"),
        ("Node/n2:+=n1", 0, "Node n2 exists"),
        ("conf:plugins.gong.enabledJobOrder=false", 13, "no plugin gong"),
        ("conf:plugins=x", 5, "which plugin"),
        ("conf:actions.x=1", 13, "has no field x"),
        ("flag:minimum_nodes=3", 5, "unknown flag minimum_nodes"),
        ("flag:minimum_feasible_nodes=many", 28, "invalid value"),
        ("chance:tie_seed.x=3", 16, "has no parts"),
        ("clock:now=tomorrow", 10, "invalid value"),
    ],
)
def test_an_edit_that_cannot_be_made_says_where(text: str, position: int, says: str) -> None:
    with pytest.raises(EditError) as caught:
        edited(text)
    assert says in caught.value.format_line()
    assert position == caught.value.position


def test_an_edit_is_data() -> None:
    assert parse_edit("Node/n1:-") == parse_edit(" Node/n1:- ")
    assert isinstance(parse_edit("Node/n1:-"), Edit)


def test_an_object_is_found_by_its_name_in_the_snapshot_and_in_one_with_an_edit() -> None:
    snapshot = cluster(node("n1", cpu="4"), node("n2", cpu="4"))
    found = snapshot.find_object("Node", "/n1")
    assert found is snapshot.objects_of("Node")[0]
    assert (None, None) == (snapshot.find_object("Node", "/n3"), snapshot.find_object("Pod", "default/n1"))
    smaller = apply_edits(snapshot, [parse_edit("Node/n1:status.allocatable.cpu=2")], CONF)
    changed = smaller.find_object("Node", "/n1")
    assert changed is not None
    assert "2" == str(changed["status"]["allocatable"]["cpu"])
    assert found is snapshot.find_object("Node", "/n1")
