"""Faults in the input become Problems that state place, fault and effect."""

import copy
from typing import Any

import pytest

from tests.builders import snapshot_from_objects
from tests.snapshot.manifests import cluster, pod, pod_group, queue
from vcdebug.snapshot.manifest import name_of
from vcdebug.snapshot.problems import Problem, ProblemReport
from vcdebug.snapshot.snapshot import Manifest, Snapshot


def snapshot_of(*extra: Manifest, change: str = "", value: Any = None) -> Snapshot:
    """The small cluster plus `extra`; `change` is `Kind path`, a field to set in the kind's first object."""
    objects = [*cluster(), *extra]
    if change:
        kind, _, path = change.partition(" ")
        part: Any = next(manifest for manifest in objects if manifest["kind"] == kind)
        *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
        for step in way:
            part = part[step]
        part[last] = value
    return snapshot_from_objects(objects)


def lines(snapshot: Snapshot) -> list[str]:
    return [problem.format_line() for problem in snapshot.problems]


def test_a_sound_cluster_has_no_problem() -> None:
    assert [] == snapshot_of().problems


def test_a_problem_is_one_line_of_file_object_field_fault_and_effect() -> None:
    problem = Problem("a.json", "Pod x/y", "spec.priority", "is 'high', not a number", "it is left out")
    assert "a.json: Pod x/y: spec.priority: is 'high', not a number; it is left out" == problem.format_line()


@pytest.mark.parametrize(
    ("change", "value", "expected"),
    [
        ("Node status.allocatable.cpu", "lots", "Node gpu-0: status.allocatable.cpu: is 'lots', not a quantity"),
        ("Node status.allocatable.memory", "Ei", "Node gpu-0: status.allocatable.memory: is 'Ei', not a quantity"),
        ("Node spec.taints", {}, "Node gpu-0: spec.taints: is a mapping, not a list"),
        ("Node spec.taints.0.key", 5, "Node gpu-0: spec.taints[0].key: is 5, not text"),
        ("Pod spec.priority", True, "Pod team-a/train-0: spec.priority: is true, not a 32-bit integer"),
        ("Pod spec.priority", 2**31, "Pod team-a/train-0: spec.priority: is 2147483648, not a 32-bit integer"),
        ("Pod metadata.labels.app", False, "Pod team-a/train-0: metadata.labels.app: is false, not text"),
        (
            "PodGroup spec.minTaskMember.worker",
            "2",
            "PodGroup team-a/train: spec.minTaskMember.worker: is '2', not a 32-bit",
        ),
        ("Queue spec", [], "Queue research: spec: is a list, not a mapping"),
    ],
)
def test_a_wrong_value_is_taken_out_and_named(change: str, value: Any, expected: str) -> None:
    snapshot = snapshot_of(change=change, value=value)
    assert lines(snapshot)[0].startswith(expected)
    assert lines(snapshot)[0].endswith("; value ignored")
    again = snapshot_from_objects([m for found in snapshot.objects.values() for m in found])
    assert [] == [problem for problem in again.problems if "not" in problem.what]


def test_null_field_counts_as_absent() -> None:
    snapshot = snapshot_of(change="Pod spec.affinity", value=None)
    assert [] == snapshot.problems
    assert "affinity" not in snapshot.objects_of("Pod")[0]["spec"]


def test_a_whole_number_may_be_written_with_a_point() -> None:
    snapshot = snapshot_of(change="PodGroup spec.minMember", value=2.0)
    assert ([], 2) == (snapshot.problems, snapshot.objects_of("PodGroup")[0]["spec"]["minMember"])


def test_an_amount_beyond_64_bits_stays_and_its_reading_is_named() -> None:
    snapshot = snapshot_of(change="Node status.allocatable.cpu", value="33182284256E6")
    assert ["-3711203891419103232 is used"] == [problem.effect for problem in snapshot.problems]
    assert "33182284256E6" == snapshot.objects_of("Node")[0]["status"]["allocatable"]["cpu"]


def test_a_name_that_is_missing_leaves_the_object_out() -> None:
    snapshot = snapshot_of({"kind": "Node", "apiVersion": "v1", "metadata": {"name": ""}})
    assert ["Node item 19: metadata.name: is '', not a name; object ignored"] == lines(snapshot)
    assert 3 == len(snapshot.objects_of("Node"))


def test_last_of_two_objects_with_one_name_is_used() -> None:
    snapshot = snapshot_of(queue("research", 9))
    assert ["Queue research: duplicate; the last one is used"] == lines(snapshot)
    assert [("research", 9), ("default", 1)] == [
        (m["metadata"]["name"], m["spec"]["weight"]) for m in snapshot.objects_of("Queue")
    ]


def test_pods_without_uid_or_with_the_same_uid_are_named() -> None:
    first, second = pod("team-a", "x", "train"), pod("team-a", "y", "train")
    first["metadata"]["uid"] = second["metadata"]["uid"] = "uid-train-0"
    del second["metadata"]["uid"]
    same = "duplicate uid, also of Pod team-a/train-0; the later pod replaces the earlier one"
    expected = [
        f"Pod team-a/x: metadata.uid: {same}",
        "Pod team-a/y: metadata.uid: is missing; pods without uid replace each other",
    ]
    hint, *found = lines(snapshot_of(first, second))
    assert hint.startswith("1 object lacks server-set fields")
    assert expected == found


def test_kinds_that_nothing_reads_are_counted() -> None:
    secrets = [{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": f"s{number}"}} for number in range(7)]
    job = {
        "kind": "Job",
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "metadata": {"name": "j", "namespace": "team", "uid": "u"},
    }
    foreign = {"kind": "PodGroup", "apiVersion": "scheduling.x-k8s.io/v1alpha1", "metadata": {"name": "p"}}
    expected = [
        ("Secret", "7 objects of an unsupported kind"),
        ("PodGroup (scheduling.x-k8s.io/v1alpha1)", "1 object of an unsupported kind"),
        ("Job", "1 Volcano Job without a PodGroup, such as team/j"),
    ]
    assert expected == [(problem.object, problem.what) for problem in snapshot_of(*secrets, job, foreign).problems]


@pytest.mark.parametrize("kind", ["Job", "LeaderWorkerSet"])
def test_an_owner_of_pods_that_are_read_is_no_problem(kind: str) -> None:
    owner = {"kind": kind, "apiVersion": "batch/v1", "metadata": {"name": "fit", "namespace": "team-a", "uid": "f"}}
    owned = pod("team-a", "fit-0", "train")
    owned["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": kind, "name": "fit", "uid": "f"}]
    assert [] == snapshot_of(owner, owned).problems
    assert "1 object of an unsupported kind" in snapshot_of(owner).problems[0].what


@pytest.mark.parametrize(
    ("change", "value", "expected"),
    [
        ("PodGroup spec.queue", "none", "queue none is not in the snapshot; the job is not in the session"),
        ("PodGroup spec.priorityClassName", "none", "PriorityClass none is not in the snapshot; its priority is"),
        ("Pod spec.nodeName", "none", "node none is not in the snapshot; the pod's node is unknown"),
        ("Pod spec.volumes.0.persistentVolumeClaim.claimName", "none", "PersistentVolumeClaim none is not in the"),
    ],
)
def test_dangling_name_is_kept_and_explained(change: str, value: str, expected: str) -> None:
    snapshot = snapshot_of(change=change, value=value)
    kind, _, field = change.partition(" ")
    assert 1 == len(snapshot.problems)
    assert expected in lines(snapshot)[0]
    assert snapshot.problems[0].field in field
    assert value in str(snapshot.objects_of(kind)[0])


def test_an_unknown_priority_class_is_named_in_completed_manifests_too() -> None:
    stray = pod("team-a", "solo", "train")
    stray["spec"].update(priorityClassName="urgnt", schedulerName="volcano")
    stray["spec"].pop("priority", None)
    said = " ".join(problem.format_line() for problem in snapshot_from_objects([stray], complete=True).problems)
    assert "urgnt is not in the snapshot; an API server would reject this pod; priority 1 is used" in said


def test_an_unknown_priority_class_of_a_pod_that_has_no_priority_is_named() -> None:
    stray = pod("team-a", "solo", "train")
    stray["spec"].update(priorityClassName="urgnt", schedulerName="volcano")
    stray["spec"].pop("priority", None)
    assert "PriorityClass urgnt is not in the snapshot; an API server would reject this pod" in " ".join(
        lines(snapshot_of(stray))
    )
    stray["spec"]["priority"] = 7
    assert "urgnt" not in " ".join(lines(snapshot_of(stray)))


def test_many_pods_of_one_missing_group_are_one_problem() -> None:
    strays = [pod("team-a", f"stray-{number}", "gone") for number in range(30)]
    problems = snapshot_of(*strays).problems
    assert ["PodGroup gone is not in the snapshot (referenced by 30 Pod objects)"] == [
        problem.what for problem in problems
    ]
    assert "Pod team-a/stray-0" == problems[0].object


def test_many_faults_of_one_sort_are_cut_off_with_a_count() -> None:
    groups = [pod_group("team-a", f"group-{number}", "default", 1) for number in range(50)]
    for group in groups:
        group["spec"]["minMember"] = "many"
    problems = snapshot_of(*groups).problems
    assert 6 == len(problems)
    assert ("PodGroup", "45 more with the same problem") == (problems[5].object, problems[5].what)


def test_fields_that_nothing_reads_may_be_anything() -> None:
    odd = copy.deepcopy(cluster()[2])
    odd["metadata"]["name"], odd["spec"]["podCIDR"], odd["extra"] = "gpu-9", [1], {"a": None}
    snapshot = snapshot_of(odd)
    assert ([], "gpu-9") == (snapshot.problems, name_of(snapshot.objects_of("Node")[3]))


@pytest.mark.parametrize(("field", "text"), [("memory", "Gi"), ("cpu", "m"), ("memory", ".")])
def test_a_quantity_without_digits_counts_as_nothing_as_in_go(field: str, text: str) -> None:
    said = f"Node gpu-0: status.allocatable.{field}: '{text}' has no digits; 0 is used, as Go does"
    assert [said] == lines(snapshot_of(change=f"Node status.allocatable.{field}", value=text))


def test_identical_copies_make_one_line_with_a_count() -> None:
    again = [copy.deepcopy(manifest) for manifest in cluster() for _ in range(3)]
    said = f"{len(again)} copies of {len(cluster())} objects say the same; identical copies are used once"
    assert [said] == lines(snapshot_of(*again))


def test_copies_that_differ_are_named() -> None:
    again = copy.deepcopy(cluster())
    again[0]["metadata"]["labels"] = {"changed": "yes"}
    said = lines(snapshot_of(*again))
    named = f"{again[0]['kind']} {again[0]['metadata']['name']}: duplicate; the last one is used"
    assert (2, True) == (len(said), said[0].startswith(named))


def test_the_same_problem_is_told_once_with_how_often_it_is_there() -> None:
    report = ProblemReport()
    for _ in range(4):
        report.add_problem("contains a document without kind", "it is left out", file="events.yaml")
    assert ["events.yaml: contains a document without kind (4 times); it is left out"] == [
        problem.format_line() for problem in report.all_problems()
    ]


def test_problems_alike_in_many_files_are_counted_together() -> None:
    report = ProblemReport()
    for number in range(60):
        report.add_problem("contains a document without kind", "it is left out", file=f"{number}.yaml")
    assert [*(f"{number}.yaml" for number in range(5)), ""] == [problem.file for problem in report.all_problems()]
    assert "55 more with the same problem, in 55 files" == report.all_problems()[-1].what


@pytest.mark.parametrize("data", ["1Gi", -1, True, [], {"config.yaml": 3}, None])
def test_settings_of_another_type_are_no_configuration(data: Any) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "d"}, "data": data}
    assert snapshot_of().objects == snapshot_of(config_map).objects
