"""A saved snapshot loads unchanged and has the same bytes every time; redaction keeps all fields of the replay."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.builders import snapshot_from_objects
from tests.snapshot.manifests import CONF, as_read, cluster
from vcdebug.errors import SnapshotError
from vcdebug.grouping import group_by_key
from vcdebug.snapshot.kinds import KINDS, find_kind
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.manifest import WorkloadFacts
from vcdebug.snapshot.redaction import redact_snapshot
from vcdebug.snapshot.saved_files import archive_bytes, save_snapshot
from vcdebug.snapshot.schema import SHAPES
from vcdebug.snapshot.snapshot import SchedulerFlags, Snapshot


def rich_snapshot() -> Snapshot:
    snapshot = snapshot_from_objects(cluster(), conf=CONF, name="blocked", usage={"gpu-0": {"cpu": {"5m": 1.5}}})
    flags = SchedulerFlags(
        default_queue="main", scheduler_names=("a", "b"), server_version=(1, 33), feature_gates={"X": True}
    )
    return replace(snapshot, flags=flags, description="why it waits")


@pytest.mark.parametrize("name", ["case.tar.gz", "case.tgz", "folder"])
def test_saved_snapshot_loads_unchanged(name: str, tmp_path: Path) -> None:
    snapshot = rich_snapshot()
    save_snapshot(snapshot, tmp_path / name)
    loaded = load_snapshot(tmp_path / name)
    assert [] == [problem.format_line() for problem in loaded.problems]
    assert replace(snapshot, origin="", objects=as_read(snapshot.objects)) == replace(loaded, origin="")


def test_the_same_snapshot_gives_the_same_bytes() -> None:
    assert archive_bytes(rich_snapshot()) == archive_bytes(rich_snapshot())


def test_problems_travel_with_the_snapshot_and_are_not_doubled(tmp_path: Path) -> None:
    objects = cluster()
    objects[2]["spec"]["taints"] = "none"
    snapshot = snapshot_from_objects([*objects, {"kind": "Secret", "metadata": {"name": "s"}}], conf=CONF)
    assert ["Node gpu-0", "Secret"] == sorted(problem.object for problem in snapshot.problems)
    save_snapshot(snapshot, tmp_path / "a.tar.gz")
    assert snapshot.problems == load_snapshot(tmp_path / "a.tar.gz").problems


def test_what_operators_say_about_their_workloads_travels_with_the_snapshot_without_roles_in_a_redacted_one(
    tmp_path: Path,
) -> None:
    mpi = {"replicas": 2}
    spec = {"mpiReplicaSpecs": {"Launcher": {}, "Worker": mpi}, "launcherCreationPolicy": "WaitForWorkersReady"}
    runs = {"runPolicy": {"suspend": True, "schedulingPolicy": {"queue": "q"}}}
    broken = {"tasks": 3, "runPolicy": [], "xReplicaSpecs": {"a": {"replicas": "many"}}, "suspend": "yes"}
    kinds = {"MPIJob": {**spec, **runs}, "Workflow": broken, "Secret": None}
    more = [{"kind": kind, "metadata": {"name": "w", "namespace": "n"}, "spec": one} for kind, one in kinds.items()]
    snapshot = snapshot_from_objects([*cluster(), *more], conf=CONF)
    facts = WorkloadFacts("q", suspended=True, replicas={"Launcher": 1, "Worker": 2}, after={"Launcher": "Worker"})
    assert {"n/MPIJob w": facts} == snapshot.workloads
    save_snapshot(snapshot, tmp_path / "a.tar.gz")
    assert snapshot.workloads == load_snapshot(tmp_path / "a.tar.gz").workloads
    ((name, redacted),) = redact_snapshot(snapshot).workloads.items()
    assert (True, {}, {}) == (redacted.suspended, redacted.replicas, redacted.after)
    assert "MPIJob" in name
    assert not {"n", "w", "q"} & {*name.replace("/", " ").split(), redacted.queue}


def test_an_archive_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    save_snapshot(rich_snapshot(), tmp_path / "a.tar.gz")
    save_snapshot(rich_snapshot(), tmp_path / "a.tar.gz")
    assert ["a.tar.gz"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["a.zip", "full", "missing/a.tar.gz"])
def test_error_of_a_failed_save_names_the_path(name: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(SnapshotError) as caught:
        save_snapshot(rich_snapshot(), tmp_path / name)
    assert str(tmp_path / name) == caught.value.where


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.settings], ids=lambda kind: kind.name)
def test_every_kind_survives_a_round_trip(kind: object, tmp_path: Path) -> None:
    row = next(row for row in KINDS if row is kind)
    metadata = {"name": "a", "uid": "u", **({"namespace": "n"} if row.namespaced else {})}
    # The loader rejects a file without any object that the scheduler reads.
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q", "uid": "q"}}
    objects = [{"apiVersion": row.api_version, "kind": row.name, "metadata": metadata}, queue]
    snapshot = snapshot_from_objects(objects if not row.is_read else objects[:1])
    save_snapshot(snapshot, tmp_path / "a.tar.gz")
    assert snapshot.objects == load_snapshot(tmp_path / "a.tar.gz").objects
    assert row.name in snapshot.objects


def test_every_kind_that_is_kept_has_its_types_checked() -> None:
    assert [kind.name for kind in KINDS if not kind.settings] == [k.name for k in KINDS if k.name in SHAPES]
    assert len(SHAPES) == len([kind for kind in KINDS if not kind.settings])


def test_a_kind_is_known_by_its_group_in_any_version() -> None:
    assert "Queue" == getattr(find_kind("Queue", "scheduling.volcano.sh/v1"), "name", "")
    assert "Queue" == getattr(find_kind("Queue", ""), "name", "")
    assert find_kind("Queue", "v1") is None
    assert find_kind("Pod", "metrics.k8s.io/v1") is None


def test_items_as_a_cluster_lists_them_get_their_kind_back(tmp_path: Path) -> None:
    bare = {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1"}}}
    save_snapshot(Snapshot("captured", {"Node": [bare]}, CONF), tmp_path / "a.tar.gz")
    assert [{"apiVersion": "v1", "kind": "Node", **bare}] == load_snapshot(tmp_path / "a.tar.gz").objects_of("Node")


def test_redaction_removes_what_the_replay_does_not_read() -> None:
    snapshot = replace(rich_snapshot(), objects=group_by_key((one["kind"], one) for one in cluster()))
    text = str(redact_snapshot(snapshot))
    for secret in ("s3cret", "TOKEN", "password", "a@b", "blocked", "why it waits"):
        assert secret in str(snapshot)
        assert secret not in text
    for replaced in ("train-0", "registry/train:1"):
        assert replaced in str(snapshot)
        assert replaced not in text
    for needed in ("scheduling.k8s.io/group-name", "nvidia.com/gpu", CONF.splitlines()[0]):
        assert needed in text


def test_redaction_leaves_its_source_alone_and_is_stable() -> None:
    snapshot = rich_snapshot()
    before = archive_bytes(snapshot)
    once = redact_snapshot(snapshot)
    again = redact_snapshot(once)
    assert archive_bytes(again) == archive_bytes(redact_snapshot(again))
    assert before == archive_bytes(snapshot)
