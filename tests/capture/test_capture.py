from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.capture.fake_server import ApiReply, FakeApi
from tests.capture.small_cluster import CONF, HYPERNODES, small_cluster
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.errors import VcdebugError
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import trace_digest
from vcdebug.snapshot.kinds import KINDS
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot, saved_files

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def test_every_listed_kind_is_in_the_snapshot(options: CaptureOptions) -> None:
    snapshot = capture_cluster(options)
    expected = {"Node": 3, "Pod": 5, "PodGroup": 2, "Queue": 2, "Namespace": 1, "PriorityClass": 1}
    assert expected == {kind: len(items) for kind, items in snapshot.objects.items() if items}
    assert [] == snapshot.problems


def test_every_kind_of_the_table_is_asked_for(api: FakeApi, options: CaptureOptions) -> None:
    capture_cluster(options)
    asked = {request.path for request in api.requests}
    assert [] == [kind.name for kind in KINDS if not kind.settings and kind.api_path not in asked]


def test_objects_get_the_kind_and_api_version_that_list_items_lack(options: CaptureOptions) -> None:
    snapshot = capture_cluster(options)
    expected = {("Pod", "v1"), ("PriorityClass", "scheduling.k8s.io/v1"), ("Queue", "scheduling.volcano.sh/v1beta1")}
    found = {(item["kind"], item["apiVersion"]) for items in snapshot.objects.values() for item in items}
    assert expected == expected & found


def test_a_full_capture_leaves_out_managed_fields_and_nothing_else(api: FakeApi, options: CaptureOptions) -> None:
    sent = api.objects["/api/v1/nodes"]["items"][0]
    metadata = {key: value for key, value in sent["metadata"].items() if key != "managedFields"}
    expected = {"apiVersion": "v1", "kind": "Node", **sent, "metadata": metadata}
    assert expected == capture_cluster(replace(options, full=True)).objects_of("Node")[0]


SECRET = "hunter2-planted"


def plant_secrets(api: FakeApi) -> int:
    """Put a secret into every field of pods and nodes that decides nothing; returns the number of secrets."""
    count = 0
    for place in ("/api/v1/pods", "/api/v1/nodes"):
        for number, item in enumerate(api.objects[place]["items"]):
            applied = {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "team/note": SECRET}
            item["metadata"].setdefault("annotations", {}).update(applied)
            item.setdefault("status", {})["message2"] = SECRET
            for container in item.get("spec", {}).get("containers", ()):
                container["env"] = [{"name": "DB_PASSWORD", "value": f"{SECRET}-{number}"}]
                container["args"], container["command"] = [f"--token={SECRET}"], ["sh", "-c", SECRET]
                count += 3
            count += 3
    return count


def test_capture_keeps_deciding_fields_and_no_secrets(api: FakeApi, options: CaptureOptions) -> None:
    assert plant_secrets(api) > 20
    slim, full = capture_cluster(options), capture_cluster(replace(options, full=True))
    written = b"".join(data for _, data in saved_files(slim)).decode()
    assert SECRET not in written
    assert SECRET in b"".join(data for _, data in saved_files(full)).decode()
    assert trace_digest(replay_cycle(slim)) == trace_digest(replay_cycle(full))
    assert (slim.flags, slim.release, slim.process) == (full.flags, full.release, full.process)


def test_written_file_is_readable_by_its_owner_only(options: CaptureOptions, tmp_path: Path) -> None:
    snapshot = capture_cluster(options)
    save_snapshot(snapshot, tmp_path / "written.tar.gz")
    save_snapshot(snapshot, tmp_path / "written")
    found = [tmp_path / "written.tar.gz", *(tmp_path / "written").iterdir()]
    assert {0o600} == {path.stat().st_mode & 0o777 for path in found}
    assert len(found) > 5


def test_clock_version_configuration_and_origin_are_the_servers(options: CaptureOptions) -> None:
    snapshot = capture_cluster(options)
    assert datetime(2026, 11, 7, 9, 30, tzinfo=UTC) == snapshot.now
    assert (1, 34) == snapshot.flags.server_version
    assert CONF == snapshot.scheduler_conf
    assert "dev" == snapshot.name
    assert snapshot.origin.startswith("context 'dev' (http://127.0.0.1:")
    assert "captured from a Kubernetes 1.34 cluster, scheduler image docker.io/volcanosh/vc-scheduler:v1.15.1" == (
        snapshot.description
    )


def test_clock_is_the_newest_object_without_a_date_header(api: FakeApi, options: CaptureOptions) -> None:
    api.date = None
    snapshot = capture_cluster(options)
    assert datetime(2026, 11, 1, 10, tzinfo=UTC) == snapshot.now
    assert ["Date"] == [problem.object for problem in snapshot.problems]


def test_an_unknown_server_version_is_a_problem_and_a_default(api: FakeApi, options: CaptureOptions) -> None:
    api.objects["/version"] = {"major": "one"}
    snapshot = capture_cluster(options)
    assert (1, 36) == snapshot.flags.server_version
    assert ["/version"] == [problem.object for problem in snapshot.problems]


def test_capture_sends_only_get_requests(api: FakeApi, options: CaptureOptions) -> None:
    capture_cluster(options)
    assert {"GET"} == {request.method for request in api.requests}
    assert [] == [request for request in api.requests if request.body is not None]


@pytest.mark.parametrize("resource", ["nodes", "poddisruptionbudgets.policy", "configmaps", "deployments.apps"])
def test_a_missing_permission_adds_access_reviews_and_nothing_else(
    resource: str, api: FakeApi, options: CaptureOptions
) -> None:
    api.forbidden = {resource}
    with suppress(VcdebugError):
        capture_cluster(options)
    sent = {(request.method, request.path) for request in api.requests if request.method != "GET"}
    assert sent <= {("POST", REVIEW)}


def test_credentials_come_from_the_kubeconfig(api: FakeApi, options: CaptureOptions) -> None:
    capture_cluster(options)
    assert {"Bearer secret"} == {request.headers.get("authorization") for request in api.requests}


def test_progress_names_kind_done_and_total(options: CaptureOptions) -> None:
    steps: list[tuple[str, int, int]] = []
    capture_cluster(replace(options, page_size=2), lambda *step: steps.append(step))
    assert [("Pod", 2, 5), ("Pod", 4, 5), ("Pod", 5, 5)] == [step for step in steps if step[0] == "Pod"]


def test_importing_the_room_does_not_import_the_client() -> None:
    code = "import sys, vcdebug.capture; print([m for m in ('kubernetes', 'urllib3', 'yaml') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.strip()


def test_the_same_answers_give_the_same_bytes(options: CaptureOptions, tmp_path: Path) -> None:
    files = [tmp_path / "first.tar.gz", tmp_path / "second.tar.gz"]
    for file in files:
        save_snapshot(capture_cluster(options), file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_saved_capture_opens_with_everything_that_was_captured(
    api: FakeApi, options: CaptureOptions, tmp_path: Path
) -> None:
    api.forbidden = {"poddisruptionbudgets.policy"}
    before = capture_cluster(options)
    save_snapshot(before, tmp_path / "dev.tar.gz")
    after = load_snapshot(tmp_path / "dev.tar.gz")
    assert before.problems == after.problems
    assert (before.name, before.now, before.flags) == (after.name, after.now, after.flags)
    assert {kind: len(items) for kind, items in before.objects.items() if items} == {
        kind: len(items) for kind, items in after.objects.items()
    }


def test_redacted_capture_contains_no_secrets_and_no_cluster_identity(
    api: FakeApi, options: CaptureOptions, tmp_path: Path
) -> None:
    api.forbidden = {"poddisruptionbudgets.policy", "configmaps"}
    api.scripted[HYPERNODES] = [ApiReply(400, "ask prod.example.com instead")] * 2
    snapshot = capture_cluster(replace(options, redact=True))
    text = b"".join(data for _, data in saved_files(snapshot)).decode()
    secrets = ("hunter2", "TOKEN", "127.0.0.1", "prod.example.com", "dev ", "managedFields")
    assert [] == [word for word in secrets if word in text]
    assert 5 == len(snapshot.objects_of("Pod"))
    assert "cannot be listed: the server answered 400" in [problem.what for problem in snapshot.problems]


def test_capturing_leaves_the_servers_objects_as_they_are(api: FakeApi, options: CaptureOptions) -> None:
    capture_cluster(options)
    assert small_cluster().objects == api.objects


@pytest.mark.parametrize(
    ("image", "replayed", "problems"),
    [
        ("volcanosh/vc-scheduler:v1.14.4", "v1.14.4", []),
        ("volcanosh/vc-scheduler@sha256:0123", "master", ["cannot derive the release"]),
        ("registry.example/x/vc-scheduler:v1.15.1-acme.3", "v1.15.1", ["v1.15.1-acme.3 is a vendor build"]),
        ("volcanosh/vc-scheduler:latest", "master", ["cannot derive the release"]),
    ],
)
def test_release_is_derived_from_the_schedulers_image(
    api: FakeApi, options: CaptureOptions, image: str, replayed: str, problems: list[str]
) -> None:
    for deployment in api.objects["/apis/apps/v1/namespaces/volcano-system/deployments"]["items"]:
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image
    snapshot = capture_cluster(options)
    said = [problem.what for problem in snapshot.problems if problem.field == "scheduler image"]
    assert replayed == snapshot.release.name
    assert len(problems) == len(said)
    assert all(text in what for text, what in zip(problems, said, strict=True))


def test_a_stated_release_wins(options: CaptureOptions) -> None:
    assert "v1.14.2" == capture_cluster(replace(options, release="v1.14.2")).release.name
