from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.capture.fake_server import FakeApi
from vcdebug import __version__
from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.capture.api_client import REVIEWS_PATH
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.provenance import Provenance


def error_of(options: CaptureOptions) -> VcdebugError:
    with pytest.raises(VcdebugError) as caught:
        capture_cluster(options)
    assert "\n" not in caught.value.format_line()
    return caught.value


def edited(options: CaptureOptions, **changes: Any) -> CaptureOptions:
    file = Path(options.kubeconfig)
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    return options


def test_the_current_context_is_the_default(options: CaptureOptions) -> None:
    assert "dev" == capture_cluster(options).name


def test_another_context_is_another_server(options: CaptureOptions) -> None:
    assert "context 'other' (http://127.0.0.1:1)" == error_of(replace(options, context="other")).where


def test_the_kubeconfig_may_come_from_the_environment(options: CaptureOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", options.kubeconfig)
    assert "dev" == capture_cluster(replace(options, kubeconfig="")).name


def test_error_about_an_unknown_context_lists_the_contexts(options: CaptureOptions) -> None:
    error = error_of(replace(options, context="prod"))
    assert "context 'prod' not found in kubeconfig" == error.message
    assert "contexts: dev, other" == error.hint


def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    file = str(tmp_path / "nope")
    assert f"{file}: no such kubeconfig file" == error_of(CaptureOptions(kubeconfig=file)).format_line()


def test_missing_connection_settings_are_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert "~/.kube/config: cannot use kubeconfig: no such file" == error_of(CaptureOptions()).format_line()


def test_inside_a_pod_the_service_account_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    assert "this pod's service account" in error_of(CaptureOptions()).message


@pytest.mark.parametrize("text", ["", "{", "a: [", "\x00\x01", "[]", "3", "clusters: 3\ncontexts: 4\nusers: 5\n"])
def test_invalid_kubeconfig_is_one_error_that_names_the_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(text, encoding="utf-8")
    assert str(file) == error_of(CaptureOptions(kubeconfig=str(file))).where


def test_a_cluster_without_a_server_is_one_clear_error(options: CaptureOptions) -> None:
    error = error_of(edited(options, clusters=[{"name": "dev", "cluster": {}}]))
    assert "the cluster of context 'dev' has no server address" == error.message


def test_a_credentials_plugin_that_fails_is_quoted(options: CaptureOptions) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": ["-c", "echo the session has ended >&2; exit 1"],
    }
    message = error_of(edited(options, users=[{"name": "me", "user": {"exec": plugin}}])).message
    assert message.startswith("cannot use context 'dev': exec: process returned 1")
    assert "the session has ended" in message


def test_the_kubeconfig_is_never_written(options: CaptureOptions) -> None:
    before = Path(options.kubeconfig).read_bytes()
    capture_cluster(options)
    assert before == Path(options.kubeconfig).read_bytes()


def two_files(options: CaptureOptions, folder: Path, monkeypatch: pytest.MonkeyPatch, **second: Any) -> CaptureOptions:
    """Set KUBECONFIG=a:b; b has another current context."""
    other = json.loads(Path(options.kubeconfig).read_text(encoding="utf-8")) | {"current-context": "other"} | second
    (folder / "b").write_text(json.dumps(other), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", f"{folder / 'nope'}:{options.kubeconfig}:{folder / 'b'}")
    return replace(options, kubeconfig="")


def test_first_current_context_of_several_kubeconfigs_is_used(
    options: CaptureOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "dev" == capture_cluster(two_files(options, tmp_path, monkeypatch)).name


def test_a_file_without_a_current_context_leaves_it_to_the_next(
    options: CaptureOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(options, **{"current-context": ""})
    assert "context 'other' (http://127.0.0.1:1)" == error_of(two_files(options, tmp_path, monkeypatch)).where


def sent(api: FakeApi, header: str) -> set[str | None]:
    return {request.headers.get(header) for request in api.requests}


def test_capture_impersonates_the_user_of_the_kubeconfig(api: FakeApi, options: CaptureOptions) -> None:
    user = {"token": "secret", "as": "viewer", "as-groups": ["ops"], "as-uid": "7", "as-user-extra": {"why": ["look"]}}
    snapshot = capture_cluster(edited(options, users=[{"name": "me", "user": user}]))
    headers = ("Impersonate-User", "Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-why")
    assert [{"viewer"}, {"ops"}, {"7"}, {"look"}] == [sent(api, header) for header in headers]
    assert snapshot.provenance is not None
    assert "viewer in ops, impersonated by me" == snapshot.provenance.user


def test_the_command_line_wins_over_the_kubeconfig(api: FakeApi, options: CaptureOptions) -> None:
    edited(options, users=[{"name": "me", "user": {"token": "secret", "as": "viewer", "as-uid": "7"}}])
    capture_cluster(replace(options, as_user="auditor", as_groups=("a", "b")))
    assert [{"auditor"}, {None}] == [sent(api, header) for header in ("Impersonate-User", "Impersonate-Uid")]
    assert {("a", "b")} == {request.groups for request in api.requests}


def test_groups_alone_cannot_be_impersonated(options: CaptureOptions) -> None:
    assert "add --as USER" == error_of(replace(options, as_groups=("a",))).hint


def test_the_cluster_is_named_before_it_is_read_and_in_the_file(api: FakeApi, options: CaptureOptions) -> None:
    notes: list[tuple[Provenance, list[str]]] = []
    snapshot = capture_cluster(
        options, announce=lambda who: notes.append((who, [request.path for request in api.requests]))
    )
    ((who, asked),) = notes
    assert ("dev", "me", "all namespaces") == (who.context, who.user, who.access)
    assert who.server.startswith("context 'dev' (http://127.0.0.1:")
    assert ["/version", REVIEWS_PATH] == asked
    assert snapshot.provenance is not None
    assert (who.context, who.server, who.user) == (
        snapshot.provenance.context,
        snapshot.provenance.server,
        snapshot.provenance.user,
    )


def test_requests_have_the_user_agent_vcdebug(api: FakeApi, options: CaptureOptions) -> None:
    capture_cluster(options)
    assert {f"vcdebug/{__version__}"} == sent(api, "User-Agent")


def test_a_certificate_that_is_not_checked_is_named_with_the_server(options: CaptureOptions) -> None:
    cluster = {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}
    clusters = [{"name": name, "cluster": cluster} for name in ("dev", "other")]
    where = error_of(edited(options, clusters=clusters)).where
    assert "context 'dev' (https://127.0.0.1:1, certificate not checked)" == where
