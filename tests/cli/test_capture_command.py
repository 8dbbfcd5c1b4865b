"""`vcdebug capture` writes one file for the other commands, and names missing permissions."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.capture.fake_server import FakeApi, resource_of, serving, write_kubeconfig
from tests.capture.small_cluster import SCHEDULER, small_cluster
from tests.cli.transcripts import call
from vcdebug.capture.api_client import REVIEWS_PATH
from vcdebug.cli.main import main
from vcdebug.snapshot.kinds import WORKLOAD_KINDS
from vcdebug.snapshot.loader import load_snapshot


@pytest.fixture
def api() -> FakeApi:
    return small_cluster()


@pytest.fixture
def kubeconfig(api: FakeApi, tmp_path: Path) -> Iterator[str]:
    with serving(api) as address:
        yield str(write_kubeconfig(tmp_path / "config", address))


def test_the_file_replays(kubeconfig: str, tmp_path: Path) -> None:
    target = tmp_path / "cluster.tar.gz"
    code, out, err = call(["capture", "--kubeconfig", kubeconfig, "-o", str(target)])
    assert (0, f"{target}\n") == (code, out)
    assert "wrote " in err.splitlines()[-1]
    assert 0 == call(["run", str(target)])[0]
    assert call(["inspect", str(target), "--json"])[0] in (0, 2)


def test_without_a_file_it_is_named_after_context_and_time(
    kubeconfig: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = call(["capture", "--kubeconfig", kubeconfig])
    assert 0 == code
    assert out.startswith("dev-20")
    assert (tmp_path / out.strip()).is_file()


def test_a_redacted_capture_is_named_by_the_time_of_the_capture(
    kubeconfig: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for option in ([], ["--redact"]):
        assert 0 == call(["capture", "--kubeconfig", kubeconfig, *option])[0]
    plain, redacted = (load_snapshot(path) for path in sorted(tmp_path.glob("*.tar.gz"), key=os.path.getmtime))
    assert plain.now.date() != redacted.now.date()
    assert all(f"-{plain.now:%Y%m%d}-" in path.name for path in tmp_path.glob("*.tar.gz"))


def test_redaction_is_asked_for_by_name(kubeconfig: str, tmp_path: Path) -> None:
    plain, redacted = tmp_path / "a.tar.gz", tmp_path / "b.tar.gz"
    assert 0 == call(["capture", "--kubeconfig", kubeconfig, "-o", str(plain)])[0]
    assert 0 == call(["capture", "--kubeconfig", kubeconfig, "-o", str(redacted), "--redact"])[0]
    counts = [json.loads(call(["inspect", str(path), "--json"])[1])["objects"] for path in (plain, redacted)]
    assert counts[0] == counts[1]


def test_a_missing_permission_is_one_line_that_names_it(api: FakeApi, kubeconfig: str, tmp_path: Path) -> None:
    api.forbidden.add("podgroups.scheduling.volcano.sh")
    target = tmp_path / "cluster.tar.gz"
    code, out, err = call(["capture", "--kubeconfig", kubeconfig, "-o", str(target)])
    assert (1, "") == (code, out)
    assert err.splitlines()[0].startswith("vcdebug: reading context 'dev' (http://127.0.0.1:")
    assert 2 == err.count("\n")
    assert 'missing permission: verb "list", resource "podgroups", API group "scheduling.volcano.sh"' in err
    assert not target.exists()


def test_an_unknown_context_is_one_line(kubeconfig: str, tmp_path: Path) -> None:
    arguments = ["--kubeconfig", kubeconfig, "--context", "nowhere", "-o", str(tmp_path / "x.tar.gz")]
    code, _, err = call(["capture", *arguments])
    assert 1 == code
    assert 1 == err.count("\n")
    assert "nowhere" in err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_sees_a_bar_on_stderr(kubeconfig: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert 0 == main(["capture", "--kubeconfig", kubeconfig, "-o", str(tmp_path / "x.tar.gz")])
    assert "Pod" in screen.getvalue()


def test_the_role_allows_every_read_of_a_capture_and_nothing_else(
    api: FakeApi, kubeconfig: str, tmp_path: Path
) -> None:
    for kind in WORKLOAD_KINDS:
        api.groups.setdefault(kind.group, []).append(kind.version)
    code, out, _ = call(["capture", "--rbac"])
    assert 0 == code
    rules = yaml.safe_load(out)["rules"]
    assert {"get", "list", "watch"} == {verb for rule in rules for verb in rule["verbs"]}
    allowed = {
        (verb, f"{plural}.{group}" if group else plural)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    }
    assert 0 == call(["capture", "--kubeconfig", kubeconfig, "-o", str(tmp_path / "x.tar.gz")])[0]
    read = {request.path for request in api.requests if request.method == "GET"} - {"/version", "/apis"}
    needed = {("get" if "/configmaps/" in path else "list", resource_of(path)) for path in read}
    # A ConfigMap that changed after an earlier state is listed by its name.
    # Whoever waits for a change watches these.
    kinds = ("pods", "podgroups")
    watched = {("watch", f"{kind}{group}") for kind in kinds for group in ("", ".scheduling.volcano.sh")}
    assert needed | {("list", "configmaps")} | watched == allowed
    assert {"GET", "POST"} == {request.method for request in api.requests}
    assert {REVIEWS_PATH} == {request.path for request in api.requests if request.method == "POST"}


UNKNOWN_RELEASE = "release unknown, replayed by the latest rules (master of 2026-08-20), none recorded"
IMAGES = {
    "volcanosh/vc-scheduler:v1.14.4": "release v1.14.4 (replayed exactly) recorded",
    "registry.example/x/vc-scheduler:v1.15.1-acme.3": "as v1.15.1 (not compared with the real scheduler) recorded",
    "volcanosh/vc-scheduler:latest": UNKNOWN_RELEASE,
    f"volcanosh/vc-scheduler@sha256:{'0' * 64}": UNKNOWN_RELEASE,
}


@pytest.mark.parametrize("image", IMAGES)
def test_capture_prints_the_release_that_it_records(image: str, api: FakeApi, kubeconfig: str, tmp_path: Path) -> None:
    api.objects[SCHEDULER]["items"][0]["spec"]["template"]["spec"]["containers"][0]["image"] = image
    code, _, err = call(["capture", "--kubeconfig", kubeconfig, "-o", str(tmp_path / "x.tar.gz")])
    assert (0, True) == (code, IMAGES[image] in err)


class Typist(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_capture_on_a_terminal_asks_for_an_unknown_release(
    api: FakeApi, kubeconfig: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = "volcanosh/vc-scheduler:latest"
    api.objects[SCHEDULER]["items"][0]["spec"]["template"]["spec"]["containers"][0]["image"] = image
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "stdin", Typist("v1.14.4\n"))
    assert 0 == main(["capture", "--kubeconfig", kubeconfig, "-o", str(tmp_path / "x.tar.gz")])
    assert "Volcano release of this scheduler" in screen.getvalue()
    snapshot = load_snapshot(tmp_path / "x.tar.gz")
    assert ("v1.14.4", []) == (snapshot.release.stated_name, [one.field for one in snapshot.problems])


def test_role_allows_only_the_schedulers_configmap() -> None:
    rules = yaml.safe_load(call(["capture", "--rbac", "--scheduler-configmap", "batch/mine"])[1])["rules"]
    (rule,) = [rule for rule in rules if rule["resources"] == ["configmaps"]]
    assert (["mine", "volcano-vgpu-device-config"], ["get", "list"]) == (rule["resourceNames"], rule["verbs"])


def test_verify_needs_the_rights_of_a_capture() -> None:
    rules, more = (yaml.safe_load(call([command, "--rbac"])[1])["rules"] for command in ("capture", "verify"))
    assert rules == more
    assert any("events" in rule["resources"] for rule in rules)
