"""A snapshot is the same from every source: folder, archive, file, stream, JSON or YAML."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import snapshot_from_objects
from tests.snapshot.damage import tar_of, zip_of
from tests.snapshot.manifests import CONF, as_list, as_read, cluster, config_map, pod
from vcdebug.errors import SnapshotError
from vcdebug.explain.pending.doubts import doubt_of_input
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

META = {"now": "2026-11-02T10:00:00+01:00", "name": "blocked", "description": "a job waits", "unknown": 1}
USAGE = {"gpu-0": {"time": "2026-11-01T00:00:00Z", "cpu": {"5m": 60.5}, "mem": {"5m": 1}}}


def by_kind(manifests: list[Manifest]) -> dict[str, list[Manifest]]:
    found: dict[str, list[Manifest]] = {}
    for manifest in manifests:
        found.setdefault(manifest["kind"], []).append(manifest)
    return found


def files() -> dict[str, bytes]:
    return {
        "cluster.json": json.dumps(as_list(cluster())).encode(),
        "scheduler.conf": CONF.encode(),
        "meta.json": json.dumps(META).encode(),
        "usage.json": json.dumps(USAGE).encode(),
        "expected.json": b"not read",
        "README.md": b"not read",
        "trace.jsonl": b'{"ev":"hook","seq":1}\n',
    }


def write_folder(folder: Path) -> Path:
    folder = folder / "case"
    folder.mkdir()
    for name, data in files().items():
        (folder / name).write_bytes(data)
    return folder


def write_tar(folder: Path) -> Path:
    path = folder / "case.tar.gz"
    path.write_bytes(gzip.compress(tar_of({f"inner/{name}": data for name, data in files().items()})))
    return path


def write_zip(folder: Path) -> Path:
    path = folder / "case.zip"
    path.write_bytes(zip_of(files()))
    return path


@pytest.mark.parametrize("write", [write_folder, write_tar, write_zip])
def test_a_folder_and_its_archives_give_the_same_snapshot(write: Callable[[Path], Path], tmp_path: Path) -> None:
    snapshot = load_snapshot(write(tmp_path))
    assert as_read(by_kind(cluster())) == snapshot.objects
    assert [] == snapshot.problems
    assert CONF == snapshot.scheduler_conf
    assert datetime(2026, 11, 2, 9, tzinfo=UTC) == snapshot.now
    assert ("blocked", "a job waits") == (snapshot.name, snapshot.description)
    assert USAGE == snapshot.usage
    assert SchedulerFlags() == snapshot.flags


def as_json(manifests: list[Manifest]) -> str:
    return json.dumps(as_list(manifests))


def as_typed_lists(manifests: list[Manifest]) -> str:
    lists = []
    for kind, items in by_kind(manifests).items():
        bare = [{key: part for key, part in item.items() if key not in ("kind", "apiVersion")} for item in items]
        lists.append({"apiVersion": items[0]["apiVersion"], "kind": f"{kind}List", "items": bare})
    return "\n".join(json.dumps(one, indent=1) for one in lists)


TEXTS: dict[str, Callable[[list[Manifest]], str]] = {
    "a v1 List": as_json,
    "an array": json.dumps,
    "NDJSON": lambda manifests: "\n".join(map(json.dumps, manifests)),
    "typed lists one after another": as_typed_lists,
    "YAML documents": lambda manifests: str(yaml.safe_dump_all(manifests)),
    "a YAML List": lambda manifests: str(yaml.safe_dump(as_list(manifests))),
    "JSON documents between YAML marks": lambda manifests: "---\n" + "\n---\n".join(map(json.dumps, manifests)),
    "YAML in flow style": lambda manifests: str(yaml.safe_dump(as_list(manifests), default_flow_style=True)),
    "JSON with a byte order mark": lambda manifests: "\ufeff" + as_json(manifests),
}


@pytest.mark.parametrize("form", TEXTS)
def test_objects_are_found_by_kind_in_every_text_form(form: str, tmp_path: Path) -> None:
    path = tmp_path / "anything.yaml"
    path.write_text(TEXTS[form]([*cluster(), config_map()]), encoding="utf-8")
    snapshot = load_snapshot(path)
    plain = json.loads(json.dumps(as_read(by_kind(cluster()))))
    assert plain == {kind: [dict(sorted(m.items())) for m in found] for kind, found in snapshot.objects.items()}
    assert CONF == snapshot.scheduler_conf
    assert [] == snapshot.problems


def test_a_file_may_be_gzipped_or_utf_16(tmp_path: Path) -> None:
    for name, data in (
        ("a.json.gz", gzip.compress(as_json(cluster()).encode())),
        ("b.json", as_json(cluster()).encode("utf-16")),
    ):
        (tmp_path / name).write_bytes(data)
        assert as_read(by_kind(cluster())) == load_snapshot(tmp_path / name).objects


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(zip_of(files())))
    monkeypatch.setattr(sys, "stdin", stdin)
    snapshot = load_snapshot("-")
    assert (as_read(by_kind(cluster())), "stdin") == (snapshot.objects, snapshot.origin)


def test_a_pile_of_manifests_in_subfolders_is_read_in_name_order(tmp_path: Path) -> None:
    for number, manifest in enumerate(cluster()):
        folder = tmp_path / f"part-{number % 3}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number:02}.yml").write_text(yaml.safe_dump(manifest), encoding="utf-8")
    expected = [m["metadata"]["name"] for n in range(3) for m in cluster()[n::3] if m["kind"] == "Pod"]
    assert expected == [manifest["metadata"]["name"] for manifest in load_snapshot(tmp_path).objects_of("Pod")]


def read_yaml(text: str, tmp_path: Path) -> Snapshot:
    path = tmp_path / "one.yaml"
    path.write_text(text, encoding="utf-8")
    return load_snapshot(path)


def test_yaml_has_kubernetes_types(tmp_path: Path) -> None:
    text = """
kind: Pod
metadata:
  name: a
  namespace: b
  uid: c
  creationTimestamp: 2026-10-31T08:00:00Z
  labels: {1: "x", true: "y", when: "12:30"}
spec:
  priority: 0x10
  hostNetwork: yes
  containers:
  - resources: {requests: {cpu: 1e-1, memory: 1_000, pods: 0.5}}
status: {phase: Running, startTime: 2026-10-31T08:00:00Z}
"""
    snapshot = read_yaml(text, tmp_path)
    pod = snapshot.objects_of("Pod")[0]
    assert {"1": "x", "true": "y", "when": "12:30"} == pod["metadata"]["labels"]
    assert ("2026-10-31T08:00:00Z", 16, True) == (
        pod["metadata"]["creationTimestamp"],
        pod["spec"]["priority"],
        pod["spec"]["hostNetwork"],
    )
    assert {"cpu": 0.1, "memory": 1000, "pods": 0.5} == pod["spec"]["containers"][0]["resources"]["requests"]


def test_yaml_anchors_are_written_out(tmp_path: Path) -> None:
    text = "kind: Node\nmetadata: {name: a}\nstatus:\n  capacity: &c {cpu: '1'}\n  allocatable: {<<: *c, pods: '2'}\n"
    status = read_yaml(text, tmp_path).objects_of("Node")[0]["status"]
    assert {"capacity": {"cpu": "1"}, "allocatable": {"cpu": "1", "pods": "2"}} == status


def deployment(*args: str, env: list[Manifest] | None = None) -> Manifest:
    container = {
        "name": "volcano-scheduler",
        "image": "volcanosh/vc-scheduler:v1",
        "args": list(args),
        "env": env or [],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "volcano-scheduler"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def test_flags_come_from_the_schedulers_deployment() -> None:
    args = [
        "--logtostderr",
        "--scheduler-name=volcano",
        "--scheduler-name=second",
        "--default-queue",
        "main",
        "--priority-class=false",
        "--percentage-nodes-to-find=30",
        "--node-selector=pool:a,pool:b",
        "--feature-gates=CSIStorage=true,PodLevelResources=false",
    ]
    manifest = deployment(*args, env=[{"name": "PANIC_ON_ERROR", "value": "false"}])
    flags = snapshot_from_objects([manifest, *cluster()]).flags
    expected = SchedulerFlags(
        scheduler_names=("volcano", "second"),
        default_queue="main",
        priority_class=False,
        percentage_nodes_to_find=30,
        node_selector=("pool:a", "pool:b"),
        feature_gates={"CSIStorage": True, "PodLevelResources": False},
        panic_on_error=False,
    )
    assert expected == flags


def test_meta_wins_over_the_deployment_and_names_flags_as_upstream_does() -> None:
    meta: dict[str, Any] = {"default_queue": "other", "server_version": "1.33", "minimum_feasible_nodes": 7}
    flags = snapshot_from_objects([deployment("--default-queue=main"), *cluster()], flags=meta).flags
    assert SchedulerFlags(default_queue="other", server_version=(1, 33), minimum_feasible_nodes=7) == flags


def test_a_gate_follows_the_command_line_then_volcano_then_the_server_version() -> None:
    old = SchedulerFlags(server_version=(1, 33))
    assert [True, False, True, False] == [
        old.is_gate_on(name)
        for name in ("InPlacePodVerticalScaling", "PodLevelResources", "PriorityClass", "CSIStorage")
    ]
    assert SchedulerFlags(feature_gates={"CSIStorage": True}).is_gate_on("CSIStorage")


def test_the_schedulers_configuration_is_found_under_the_name_its_deployment_gives() -> None:
    config = {**config_map(), "data": {"ci.conf": "actions: allocate"}}
    objects = [deployment("--scheduler-conf=/volcano.scheduler/ci.conf"), config, *cluster()]
    assert "actions: allocate" == snapshot_from_objects(objects).scheduler_conf


def test_a_file_wins_over_the_config_map_and_the_other_is_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    (folder / "config.json").write_text(json.dumps(config_map("actions: allocate")), encoding="utf-8")
    snapshot = load_snapshot(folder)
    assert CONF == snapshot.scheduler_conf
    assert ["config.json"] == [problem.file for problem in snapshot.problems]


def test_a_folder_without_configuration_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(as_json(cluster()), encoding="utf-8")
    snapshot = load_snapshot(tmp_path)
    assert snapshot.scheduler_conf is None
    assert [] == snapshot.problems


def test_manifests_at_hand_stay_as_they_are() -> None:
    objects = cluster()
    objects[2]["status"]["allocatable"]["cpu"] = ["wrong"]
    before = json.dumps(objects)
    snapshot = snapshot_from_objects(objects, complete=True)
    assert before == json.dumps(objects)
    assert "cpu" not in snapshot.objects_of("Node")[0]["status"]["allocatable"]


def test_progress_is_told_file_by_file(tmp_path: Path) -> None:
    reports: list[tuple[int, int, str]] = []
    load_snapshot(write_folder(tmp_path), progress=lambda done, total, name: reports.append((done, total, name)))
    names = list(dict.fromkeys(name for _, _, name in reports))
    assert ["cluster.json", "meta.json", "scheduler.conf", "trace.jsonl", "usage.json"] == names
    assert sorted(reports) == reports


@pytest.mark.parametrize("source", ["nowhere", "/dev/null", "bad\0name"])
def test_unreadable_file_is_one_error_that_names_it(source: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        load_snapshot(source)
    assert source == caught.value.where
    assert "\n" not in caught.value.format_line()


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(cluster()[2]), encoding="utf-8")
    (folder / "link.json").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    assert ["link.json"] == [problem.file for problem in load_snapshot(folder).problems]


def test_files_put_together_without_a_separator_are_not_mixed_up(tmp_path: Path) -> None:
    one, two = (f"apiVersion: v1\nkind: Node\nmetadata: {{name: n{number}}}\n" for number in (1, 2))
    (tmp_path / "nodes.yaml").write_text(f"{one}---\n{one}{two}", encoding="utf-8")
    problem = load_snapshot(tmp_path).problems[0]
    assert "line 9: duplicate key kind in one document (missing --- separator?)" in problem.format_line()


def test_an_odd_amount_that_stays_in_one_object_is_looked_for_in_the_next(tmp_path: Path) -> None:
    pods = [pod("a", f"p-{number}", "g") for number in range(3)]
    for one in pods[:2]:
        one["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "-1", "memory": "1Gi"}}
    path = tmp_path / "pods.json"
    path.write_text(json.dumps({"kind": "List", "items": [*cluster(), *pods]}), encoding="utf-8")
    read, at_hand = load_snapshot(path), snapshot_from_objects([*cluster(), *pods])
    assert [problem.what for problem in at_hand.problems] == [problem.what for problem in read.problems]
    assert 2 == sum("is negative" in problem.what for problem in read.problems)
    assert as_read({"Pod": at_hand.objects_of("Pod")})["Pod"] == read.objects_of("Pod")


REPEATED = """
metadata: {name: n2}
apiVersion: v1
kind: Node
status:
  allocatable: {cpu: 8, memory: 16Gi, pods: 20, cpu: 1}
  capacity: {cpu: 8}
status:
  allocatable: {cpu: 4, memory: 16Gi, pods: 20}
"""


def test_a_yaml_key_that_is_there_twice_is_a_problem_and_its_last_value_counts(tmp_path: Path) -> None:
    snapshot = read_yaml(REPEATED, tmp_path)
    assert {"allocatable": {"cpu": 4, "memory": "16Gi", "pods": 20}} == snapshot.objects_of("Node")[0]["status"]
    said = [problem.format_line() for problem in snapshot.problems if problem.object.startswith("key ")]
    effect = "the last value is used, as Go does; kubectl apply would reject the object"
    assert [
        f"one.yaml: key {key}: line {line}: duplicate key; {effect}" for key, line in (("status", 8), ("cpu", 6))
    ] == said


def test_keys_of_a_merged_mapping_may_be_replaced(tmp_path: Path) -> None:
    text = "a: &a {cpu: 8, pods: 20}\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {<<: *a, cpu: 4}}\n"
    snapshot = read_yaml(text, tmp_path)
    assert {"cpu": 4, "pods": 20} == snapshot.objects_of("Node")[0]["status"]["allocatable"]
    assert [] == [problem for problem in snapshot.problems if problem.object.startswith("key ")]


def test_a_single_file_says_that_the_settings_beside_it_are_not_read(tmp_path: Path) -> None:
    for name in ("cluster.json", "meta.json"):
        (tmp_path / name).write_bytes(files()[name])
    snapshot = load_snapshot(tmp_path / "cluster.json")
    lines = [problem.format_line() for problem in snapshot.problems]
    effect = "its settings, such as the release, are missing; name the folder instead of the file"
    assert f"meta.json: is not read with a single file; {effect}" in lines
    assert "meta.json is not read with a single file" in doubt_of_input(replay_cycle(snapshot))
    assert [] == [problem for problem in load_snapshot(tmp_path).problems if "single file" in problem.what]
