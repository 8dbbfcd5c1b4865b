"""Distinguishes folders that are one snapshot from folders of many."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.sources import find_bundled, find_only_snapshot, find_snapshots, list_bundled

WORKS, BLOCKED = "preempt-works", "preempt-blocked-by-gang"
Manifest = dict[str, object]
NODE: Manifest = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "8"}}}
POD: Manifest = {"kind": "Pod", "metadata": {"name": "p1", "namespace": "default"}}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
MIRROR: Manifest = {"kind": "Pod", "metadata": {"name": "p2", "namespace": "default", "ownerReferences": [OWNER]}}


def put(path: Path, *objects: Manifest) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(one) for one in objects))
    return path


def names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in find_snapshots(folder)]


def bundle(name: str, target: Path) -> None:
    folder = find_bundled(name)
    assert folder is not None
    shutil.copytree(folder, target)


@pytest.mark.parametrize("name", [one.name for one in list_bundled()])
def test_a_bundled_snapshot_is_one_snapshot(name: str) -> None:
    folder = find_bundled(name)
    assert folder is not None
    assert [] == find_snapshots(folder)


def test_a_folder_of_folders_with_nodes_holds_many(tmp_path: Path) -> None:
    bundle(WORKS, tmp_path / "b")
    bundle(BLOCKED, tmp_path / "a")
    put(tmp_path / "notes" / "todo.txt")
    put(tmp_path / ".hidden" / "cluster.json", NODE, POD)
    (tmp_path / "README.md").write_text("kind: Node\nkind: Pod\nallocatable")
    assert ["a", "b"] == names(tmp_path)


def test_archives_are_snapshots_since_no_loader_looks_into_them_in_a_folder(tmp_path: Path) -> None:
    for name in ("b.tar.gz", "a.zip", "c.tgz"):
        (tmp_path / name).write_bytes(b"anything")
    assert ["a.zip", "b.tar.gz", "c.tgz"] == names(tmp_path)


def test_folders_are_looked_through_to_any_depth(tmp_path: Path) -> None:
    put(tmp_path / "2026" / "11" / "one" / "cluster.json", NODE, POD)
    put(tmp_path / "2026" / "12" / "two" / "cluster.json", NODE, POD)
    (tmp_path / "old.zip").write_bytes(b"anything")
    assert ["2026/11/one", "2026/12/two", "old.zip"] == names(tmp_path)


def test_files_that_hold_a_cluster_each_are_snapshots(tmp_path: Path) -> None:
    put(tmp_path / "monday.json", NODE, POD)
    put(tmp_path / "tuesday.json", NODE, POD)
    assert ["monday.json", "tuesday.json"] == names(tmp_path)


def test_files_that_hold_a_kind_each_are_one_snapshot(tmp_path: Path) -> None:
    put(tmp_path / "nodes.json", NODE)
    put(tmp_path / "pods.json", POD, MIRROR)
    put(tmp_path / "more" / "cluster.json", NODE, POD)
    assert [] == names(tmp_path)


def test_a_folder_per_namespace_is_one_snapshot(tmp_path: Path) -> None:
    """A mirror pod names its node as owner, but the folder contains no Node object."""
    put(tmp_path / "default" / "pods.json", POD)
    put(tmp_path / "kube-system" / "pods.json", MIRROR)
    assert [] == names(tmp_path)
    put(tmp_path / "nodes.json", NODE)
    assert [] == names(tmp_path)


def test_settings_beside_files_make_one_snapshot_of_them(tmp_path: Path) -> None:
    put(tmp_path / "monday.json", NODE, POD)
    put(tmp_path / "tuesday.json", NODE, POD)
    (tmp_path / "scheduler.conf").write_text("actions: allocate\n")
    assert [] == names(tmp_path)


def test_a_folder_without_nodes_counts_where_another_has_some(tmp_path: Path) -> None:
    put(tmp_path / "a" / "pods.json", POD)
    put(tmp_path / "b" / "cluster.json", NODE, POD)
    assert ["a", "b"] == names(tmp_path)


def test_an_empty_folder_holds_none(tmp_path: Path) -> None:
    assert [] == names(tmp_path)


def test_find_only_snapshot_returns_it_or_names_all(tmp_path: Path) -> None:
    put(tmp_path / "monday" / "cluster.json", NODE, POD)
    assert tmp_path / "monday" == find_only_snapshot(tmp_path)
    put(tmp_path / "tuesday" / "cluster.json", NODE, POD)
    with pytest.raises(SnapshotError, match=r"contains 2 snapshots; choose one: .*/monday, .*/tuesday$"):
        find_only_snapshot(tmp_path)


def test_a_field_whose_name_only_ends_in_kind_is_no_kind(tmp_path: Path) -> None:
    (tmp_path / "note.yaml").write_text("mankind: Node\n")
    put(tmp_path / "a" / "cluster.json", NODE, POD)
    put(tmp_path / "b" / "cluster.json", NODE, POD)
    assert ["a", "b"] == names(tmp_path)
