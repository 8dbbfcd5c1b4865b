"""Replays responses recorded from a real API server, if they lie beside the checkout."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.capture.fake_server import NOT_FOUND_REPLY, ApiReply, ApiRequest, serving, write_kubeconfig
from tests.golden.compare import first_difference_of_lines, read_lines
from tests.snapshot.redacted import divergence
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.errors import CaptureError
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Snapshot

SHARED = Path(__file__).parents[3] / "shared" / "api"
PODS = "/api/v1/pods"
FIRST = ("GET", PODS, "")

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded answers are not beside this checkout")

Key = tuple[str, str, str]


class RecordedApi:
    """Returns the recorded response for a path and continue token, for any page size."""

    date = "Sat, 21 Nov 2026 13:00:00 GMT"

    def __init__(self, user: str = "admin") -> None:
        self.answers: dict[Key, ApiReply] = {}
        self.requests: list[ApiRequest] = []
        for recorded in json.loads((SHARED / "answers.json").read_text(encoding="utf-8")):
            if recorded["as"] == user:
                self._keep(recorded["request"], recorded["response"])

    def _keep(self, request: dict[str, Any], response: dict[str, Any]) -> None:
        address = urlsplit(request["path"])
        token = parse_qs(address.query).get("continue", [""])[0]
        reply = ApiReply(response["status"], response["body"], response["headers"])
        self.answers.setdefault((request["method"], address.path, token), reply)

    def answer_request(self, request: ApiRequest) -> ApiReply:
        self.requests.append(request)
        key = (request.method, request.path, request.query.get("continue", ""))
        return self.answers.get(key, NOT_FOUND_REPLY)


def captured(api: RecordedApi, folder: Path, *, redact: bool = False, full: bool = False) -> Snapshot:
    with serving(api) as address:
        kubeconfig = write_kubeconfig(folder / "config", address)
        return capture_cluster(CaptureOptions(kubeconfig=str(kubeconfig), redact=redact, full=full, first_wait=0.01))


def without_managed_fields(manifest: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "managedFields"}
    return manifest | {"metadata": metadata}


def test_the_recorded_cluster_is_captured_whole(tmp_path: Path) -> None:
    expected = json.loads((SHARED / "expected" / "cluster.json").read_text(encoding="utf-8"))["items"]
    snapshot = captured(RecordedApi(), tmp_path, full=True)
    for kind in dict.fromkeys(item["kind"] for item in expected):
        wanted = [without_managed_fields(item) for item in expected if item["kind"] == kind]
        assert wanted == snapshot.objects_of(kind)
    assert (SHARED / "expected" / "scheduler.conf").read_text(encoding="utf-8") == snapshot.scheduler_conf
    assert "2026-11-21T13:00:00+00:00" == snapshot.now.isoformat()
    assert (1, 36) == snapshot.flags.server_version


def test_the_captured_file_redacted_decides_the_same(tmp_path: Path) -> None:
    file = tmp_path / "cluster.tar.gz"
    save_snapshot(captured(RecordedApi(), tmp_path), file)
    assert divergence(replay_cycle(load_snapshot(file))) is None


def test_the_captured_file_replays_as_the_real_scheduler_ran(tmp_path: Path) -> None:
    file = tmp_path / "cluster.tar.gz"
    save_snapshot(captured(RecordedApi(), tmp_path), file)
    lines = io.StringIO()
    write_jsonl(replay_cycle(load_snapshot(file)), lines)
    expected = read_lines(SHARED / "expected" / "trace.jsonl.gz")
    assert first_difference_of_lines(expected, lines.getvalue().splitlines()) is None


def test_only_get_is_sent_to_the_recorded_server(tmp_path: Path) -> None:
    api = RecordedApi()
    captured(api, tmp_path)
    assert {"GET"} == {request.method for request in api.requests}


@pytest.mark.parametrize(
    ("user", "path", "message"),
    [
        ("nobody", PODS, "the API server rejected the credentials (401 Unauthorized)"),
        ("viewer", "/api/v1/nodes", 'missing permission: verb "list", resource "nodes", API group ""'),
        ("viewer", "/apis/scheduling.volcano.sh/v1beta1/queues", 'API group "scheduling.volcano.sh"'),
        ("anonymous", PODS, 'User "system:anonymous" cannot list resource "pods"'),
    ],
)
def test_recorded_refusals_are_told_in_words(user: str, path: str, message: str, tmp_path: Path) -> None:
    api = RecordedApi()
    api.answers["GET", path, ""] = RecordedApi(user).answers["GET", path, ""]
    with pytest.raises(CaptureError) as caught:
        captured(api, tmp_path)
    assert message in caught.value.message


def test_the_recorded_expiry_is_survived(tmp_path: Path) -> None:
    """Uses the recorded first page, its expired continuation, and the continuation offered instead."""
    recorded = json.loads((SHARED / "answers.json").read_text(encoding="utf-8"))
    by_note = {answer["note"]: answer for answer in recorded}
    first = by_note["first page before compaction"]["response"]
    rest = by_note["continued with the token that the error offers: an inconsistent list"]["response"]["body"]
    api = RecordedApi()
    api.answers[FIRST] = ApiReply(200, first["body"])
    last_page = rest | {"metadata": {"resourceVersion": rest["metadata"]["resourceVersion"]}}
    expired = by_note["the same list continued after compaction: expired"]["response"]
    token = expired["body"]["metadata"]["continue"]
    api.answers["GET", PODS, token] = ApiReply(200, last_page)
    snapshot = captured(api, tmp_path)
    assert len(first["body"]["items"]) + len(rest["items"]) == len(snapshot.objects_of("Pod"))
    firsts = [request for request in api.requests if request.path == PODS and not request.query.get("continue")]
    assert 4 == len(firsts), "each of two readings begins anew once"
    assert [] == [problem.object for problem in snapshot.problems if problem.object == "moment"]
