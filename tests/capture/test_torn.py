"""Writes between two list requests: the file shows one point in time, or names the changed objects."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.apiserver.clusters import Direct, small_server
from tests.apiserver.server import ApiServer, Exact
from tests.capture.fake_server import ApiRequest
from tests.capture.small_cluster import PODS
from tests.cli.transcripts import call
from tests.rows import try_each
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.capture.listing import complete_object
from vcdebug.conformance.object_store import key_of
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Snapshot

GROUPS = KIND_BY_NAME["PodGroup"].api_path
OPTIONS = CaptureOptions(page_size=2, first_wait=0.0)


def quickly(seconds: float) -> None:
    """No-op sleep."""


def captured(server: ApiServer, options: CaptureOptions = OPTIONS) -> Snapshot:
    # full=True keeps whole objects, to compare them with the server's.
    return capture_cluster(replace(options, full=True), transport=Direct(server), sleep=quickly, clock=lambda: 0.0)


def revisions_shown(server: ApiServer, snapshot: Snapshot) -> list[int]:
    """The revisions at which the cluster equals the snapshot."""
    return [revision for revision in range(100, server.store.revision + 1) if shows(server, snapshot, revision)]


def shows(server: ApiServer, snapshot: Snapshot, revision: int) -> bool:
    for name, items in snapshot.objects.items():
        kind = KIND_BY_NAME[name]
        then = [
            complete_object(item, name, kind.api_version) for item in server.store.objects_at(kind.api_path, revision)
        ]
        if sorted(then, key=key_of) != sorted(items, key=key_of):
            return False
    return True


def writes(server: ApiServer, seed: int, chance: float, compactions: float = 0.0) -> Callable[[ApiRequest], None]:
    """A hook that randomly writes before requests: jobs come and go, pods are bound, history is compacted."""
    draw = random.Random(seed)

    def before(request: ApiRequest) -> None:
        while draw.random() < chance:
            number = draw.randrange(6)
            metadata = {"namespace": "team-b", "name": f"job-{number}", "uid": f"uid-{draw.randrange(9999)}"}
            path = draw.choice((GROUPS, PODS, "/api/v1/nodes"))
            if draw.random() < 0.3:
                server.store.delete_object(path, f"team-b/job-{number}")
            else:
                server.store.put_object(path, {"metadata": metadata, "spec": {"minMember": 1}, "status": {}})
        if draw.random() < compactions:
            server.store.compacted = server.store.revision

    return before


@pytest.mark.parametrize("exact", ["honoured", "ignored", "refused"])
def test_a_capture_shows_one_moment_or_says_that_it_does_not(exact: Exact) -> None:
    try_each(partial(is_of_one_moment_or_torn, exact), range(67), "seed {}".format)


def is_of_one_moment_or_torn(exact: Exact, seed: int) -> None:
    server = small_server()
    server.exact = exact
    server.before = writes(server, seed, chance=(0.02, 0.1, 0.4)[seed % 3], compactions=0.05 * (seed % 2))
    snapshot = captured(server)
    assert snapshot.provenance is not None
    objects = [problem.object for problem in snapshot.problems]
    assert (["moment"] if not snapshot.provenance.consistent else []) == objects
    if snapshot.provenance.consistent:
        assert [] != revisions_shown(server, snapshot)
    else:
        assert () != snapshot.provenance.changed


def test_capture_is_consistent_if_the_server_serves_earlier_versions() -> None:
    server = small_server()
    server.before = writes(server, 1, chance=0.5)
    snapshot = captured(server)
    assert snapshot.provenance is not None
    assert snapshot.provenance.consistent
    assert 1 == len(set(snapshot.provenance.resource_versions.values()))


def job_between_lists(server: ApiServer) -> Callable[[ApiRequest], None]:
    """A hook that creates a PodGroup and its pod before each list of PodGroups, after the pods were listed."""

    def before(request: ApiRequest) -> None:
        if request.path == GROUPS and "continue" not in request.query:
            group = {"name": "late", "namespace": "team-a", "uid": f"uid-late-{len(server.requests)}"}
            spec = {"minMember": 1, "queue": "research"}
            server.store.put_object(GROUPS, {"metadata": group, "spec": spec, "status": {"phase": "Pending"}})
            pod = server.store.objects_at(PODS)[-1]
            metadata = pod["metadata"] | {"name": "late-0", "uid": f"uid-late-0-{len(server.requests)}"}
            metadata |= {"annotations": {"scheduling.k8s.io/group-name": "late"}}
            server.store.put_object(PODS, pod | {"metadata": metadata})

    return before


def test_job_created_between_two_lists_is_left_out() -> None:
    server = small_server()
    server.before = job_between_lists(server)
    snapshot = captured(server)
    assert ["train", "waiting"] == [item["metadata"]["name"] for item in snapshot.objects_of("PodGroup")]
    assert [] == snapshot.problems


def torn_file(folder: Path, options: CaptureOptions = OPTIONS) -> str:
    """Capture a server that ignores exact reads and changes between lists; returns the file."""
    server = small_server()
    server.exact = "ignored"
    server.before = job_between_lists(server)
    file = folder / "torn.tar.gz"
    save_snapshot(captured(server, options), file)
    return str(file)


def test_a_torn_capture_says_which_objects_changed(tmp_path: Path) -> None:
    snapshot = load_snapshot(torn_file(tmp_path))
    assert snapshot.provenance is not None
    assert not snapshot.provenance.consistent
    assert ("Pod team-a/late-0", "PodGroup team-a/late") == snapshot.provenance.changed
    assert ["moment"] == [problem.object for problem in snapshot.problems if problem.file == "capture"]


def test_inspect_names_the_objects_that_changed_during_the_capture(tmp_path: Path) -> None:
    file = torn_file(tmp_path)
    code, out, _ = call(["inspect", file])
    assert 2 == code
    assert "inconsistent capture: Pod team-a/late-0, PodGroup team-a/late changed while it was read" in out
    document = json.loads(call(["inspect", file, "--json"])[1])["capture"]
    assert (False, ["Pod team-a/late-0", "PodGroup team-a/late"]) == (document["consistent"], document["changed"])


@pytest.mark.parametrize("job", [["team-a/late"], []])
def test_explain_says_that_its_answer_may_be_wrong(job: list[str], tmp_path: Path) -> None:
    file = torn_file(tmp_path)
    _, out, _ = call(["explain", file, *job])
    assert "this answer can be wrong: objects changed during the capture" in " ".join(out.split())
    document = json.loads(call(["explain", file, *job, "--json"])[1])
    assert "objects changed during the capture" in json.dumps(document)


def test_a_whole_capture_is_shown_with_its_moment(tmp_path: Path) -> None:
    save_snapshot(captured(small_server()), tmp_path / "whole.tar.gz")
    _, out, _ = call(["inspect", str(tmp_path / "whole.tar.gz")])
    assert "consistent capture (resource version 1" in out
    assert "can be wrong" not in call(["explain", str(tmp_path / "whole.tar.gz")])[1]


def test_kinds_that_were_read_and_found_empty_are_not_missing(tmp_path: Path) -> None:
    server = small_server()
    server.forbidden = {"services"}
    save_snapshot(captured(server), tmp_path / "whole.tar.gz")
    document = json.loads(call(["inspect", str(tmp_path / "whole.tar.gz"), "--json"])[1])
    assert ["Service"] == [row["kind"] for row in document["missing"]]


def test_kinds_of_separate_stores_do_not_delay_a_consistent_capture() -> None:
    """With several etcds, some kinds never reach the first list's revision: 504, and retrying is useless."""
    from tests.capture.fake_server import status

    server = small_server()
    waits: list[float] = []
    path = KIND_BY_NAME["Service"].api_path
    server.scripted[path] = [status(504, "Timeout", "Too large resource version: 108, current: 3")]
    snapshot = capture_cluster(replace(OPTIONS), transport=Direct(server), sleep=waits.append)
    assert ([], []) == (waits, snapshot.problems)
