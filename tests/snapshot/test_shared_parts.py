"""Equal parts of several objects share memory, and an edit of one object leaves the others unchanged."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.snapshot.manifests import pod
from vcdebug.snapshot import gathered_objects
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.branch import edited_snapshot


def pods_of(snapshot: Snapshot) -> dict[str, Any]:
    return {manifest["metadata"]["name"]: manifest for manifest in snapshot.objects_of("Pod")}


def loaded(tmp_path: Path, *manifests: Manifest, complete: bool | None = None) -> Snapshot:
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": manifests}), encoding="utf-8")
    return load_snapshot(tmp_path, complete=complete)


def test_pods_of_one_template_share_its_parts(tmp_path: Path) -> None:
    snapshot = loaded(tmp_path, pod("a", "p-0", "g"), pod("a", "p-1", "g"), pod("a", "q-0", "other"))
    pods = pods_of(snapshot)
    assert pods["p-0"]["spec"]["containers"] is pods["p-1"]["spec"]["containers"]
    assert pods["p-0"]["metadata"]["annotations"] is pods["p-1"]["metadata"]["annotations"]
    assert pods["p-0"]["metadata"]["annotations"] != pods["q-0"]["metadata"]["annotations"]


@pytest.mark.parametrize("large", [0, 1 << 40])
def test_unread_fields_do_not_prevent_shared_parts(large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered_objects, "LARGE_JSON_BYTES", large)
    manifests = [pod("a", f"p-{number}", "g") for number in range(2)]
    for number, manifest in enumerate(manifests):
        started = {"name": "main", "containerID": f"containerd://{number}", "resources": {"requests": {"cpu": "1"}}}
        manifest["status"] = {"phase": "Running", "podIP": f"10.0.0.{number}", "containerStatuses": [started]}
    one, other = pods_of(loaded(tmp_path, *manifests)).values()
    assert one["status"] is other["status"]
    assert [{"name": "main", "resources": {"requests": {"cpu": "1"}}}] == one["status"]["containerStatuses"]


def test_values_that_are_equal_and_of_other_types_stay_apart(tmp_path: Path) -> None:
    requests: list[dict[str, Any]] = [{"cpu": 1, "memory": 1}, {"cpu": 1.0, "memory": 1}, {"cpu": "1", "memory": 1}]
    manifests = []
    for number, wanted in enumerate(requests):
        manifest = dict(pod("a", f"p-{number}", "g"))
        manifest["spec"] = {"schedulerName": "volcano", "containers": [{"resources": {"requests": wanted}}]}
        manifests.append(manifest)
    read = [
        one["spec"]["containers"][0]["resources"]["requests"] for one in pods_of(loaded(tmp_path, *manifests)).values()
    ]
    assert [repr(wanted) for wanted in requests] == [repr(found) for found in read]


def test_an_edit_of_one_pod_leaves_the_others(tmp_path: Path) -> None:
    snapshot = loaded(tmp_path, pod("a", "p-0", "g"), pod("a", "p-1", "g"))
    before = json.dumps(pods_of(snapshot))
    after = pods_of(edited_snapshot(snapshot, [parse_edit("Pod/a/p-0:spec.containers[0].resources.requests.cpu=7")]))
    assert "7" == str(after["p-0"]["spec"]["containers"][0]["resources"]["requests"]["cpu"])
    assert json.loads(before)["p-1"] == after["p-1"]
    assert before == json.dumps(pods_of(snapshot))


def test_a_queue_that_is_completed_leaves_the_labels_that_say_the_same(tmp_path: Path) -> None:
    placed = {"volcano.sh/hierarchy": "a/b", "volcano.sh/hierarchy-weights": "1/2"}
    queue = {
        "kind": "Queue",
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "metadata": {"name": "b", "annotations": placed},
    }
    manifest = dict(pod("a", "p-0", "g"))
    manifest["metadata"] = {**manifest["metadata"], "labels": placed}
    snapshot = loaded(tmp_path, queue, manifest, complete=True)
    (found,) = [one for one in snapshot.objects_of("Queue") if one["metadata"]["name"] == "b"]
    assert "root/a/b" == found["metadata"]["annotations"]["volcano.sh/hierarchy"]
    assert placed == pods_of(snapshot)["p-0"]["metadata"]["labels"]
