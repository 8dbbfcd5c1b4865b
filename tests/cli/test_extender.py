"""`--extender-url` calls the webhook; without the option, no command calls it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods
from tests.capture.fake_server import ApiReply, ApiRequest, serving
from tests.cli.transcripts import call
from tests.effort import PATIENCE
from vcdebug.cli.extender_client import MAX_BODY_BYTES, ExtenderClient
from vcdebug.errors import VcdebugError
from vcdebug.framework.replay_options import WebhookResponse
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.whatif.cycles import CycleChain

Answer = Callable[[ApiRequest], ApiReply]
JOB = "default/j"
CLOSED = "http://127.0.0.1:1"


class Webhook:
    """A webhook that answers each verb with a given reply, else {}; records the requests."""

    date = ""

    def __init__(self) -> None:
        self.answers: dict[str, ApiReply | Answer] = {}
        self.asked: list[ApiRequest] = []
        self.url = ""
        self.go = threading.Event()

    def answer_request(self, request: ApiRequest) -> ApiReply:
        self.asked.append(request)
        answer = self.answers.get(request.path.strip("/"), ApiReply(200, {}))
        return answer if isinstance(answer, ApiReply) else answer(request)

    def verbs(self) -> list[str]:
        return [request.path.strip("/") for request in self.asked]

    def late(self, request: ApiRequest) -> ApiReply:
        self.go.wait(PATIENCE)
        return ApiReply(200, {"status": "late"})


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    hook = Webhook()
    with serving(hook) as hook.url:
        yield hook
        hook.go.set()


def snapshot(folder: Path, *verbs: str, url: str = CLOSED, members: int = 1, **arguments: str) -> str:
    """Save a snapshot of two nodes and one job whose configuration sets these extender verbs and arguments."""
    lines = [f"      extender.{verb}Verb: {verb}\n" for verb in verbs]
    lines += [f"      extender.{key}: {text}\n" for key, text in arguments.items()]
    conf = conf_of("gang", "predicates nodeorder extender")
    conf += f"    arguments:\n      extender.urlPrefix: {url}\n" + "".join(lines)
    saved = cluster(node("n1"), node("n2"), pod_group("j", min_member=members), pods("j", members), conf=conf)
    save_snapshot(saved, folder)
    return str(folder)


def bound(*arguments: str) -> list[str]:
    """The nodes to which `run` binds pods."""
    code, out, err = call(["run", *arguments, "--json"])
    assert (0, "") == (code, err)
    return [entry["node"] for entry in json.loads(out)["bound"]]


def test_a_node_that_the_webhook_refuses_is_not_taken(tmp_path: Path, webhook: Webhook) -> None:
    def refuse(request: ApiRequest) -> ApiReply:
        assert request.body is not None
        free = request.body["node"]["Name"] == "n2"
        return ApiReply(200, {} if free else {"status": "no licence", "code": 2})

    webhook.answers["predicate"] = refuse
    assert ["n2"] == bound(snapshot(tmp_path / "s", "predicate"), "--extender-url", webhook.url)
    asked = [(r.method, r.headers["Content-Type"], r.body and r.body["task"]["Name"]) for r in webhook.asked]
    assert [("POST", "application/json", "j-0")] * 2 == asked


def test_the_webhooks_scores_choose_the_node(tmp_path: Path, webhook: Webhook) -> None:
    source = snapshot(tmp_path / "s", "prioritize")
    for name in ("n1", "n2"):
        webhook.answers["prioritize"] = ApiReply(200, {"nodeScore": {name: 5000}})
        assert [name] == bound(source, "--extender-url", f"{webhook.url}/")


@pytest.mark.parametrize(("ignorable", "nodes"), [("true", 1), ("false", 0)])
@pytest.mark.parametrize(
    "reply",
    [
        ApiReply(500, "out of order"),
        ApiReply(204, ""),
        ApiReply(200, ""),
        ApiReply(200, "no json"),
        ApiReply(200, [1]),
        ApiReply(200, {"status": 3}),
        ApiReply(200, "[" * 200_000),
        ApiReply(200, " " * MAX_BODY_BYTES + "{}"),
    ],
    ids=["500", "204", "nothing", "text", "a list", "a number", "deep", "too long"],
)
def test_a_call_that_fails_refuses_unless_it_may_be_ignored(
    tmp_path: Path, webhook: Webhook, reply: ApiReply, ignorable: str, nodes: int
) -> None:
    webhook.answers["predicate"] = reply
    source = snapshot(tmp_path / "s", "predicate", ignorable=ignorable)
    assert nodes == len(bound(source, "--extender-url", webhook.url))


@pytest.mark.parametrize(("ignorable", "nodes"), [("true", 1), ("false", 0)])
def test_a_webhook_that_takes_too_long_has_failed(tmp_path: Path, webhook: Webhook, ignorable: str, nodes: int) -> None:
    webhook.answers["predicate"] = webhook.late
    source = snapshot(tmp_path / "s", "predicate", httpTimeout="50ms", ignorable=ignorable)
    assert nodes == len(bound(source, "--extender-url", webhook.url))


def test_explain_names_the_answer_of_the_webhook(tmp_path: Path, webhook: Webhook) -> None:
    webhook.answers["predicate"] = ApiReply(503, "")
    source = snapshot(tmp_path / "s", "predicate", url="http://extender.example")
    code, out, _ = call(["explain", source, JOB, "--extender-url", webhook.url])
    assert 2 == code
    assert "failed predicate with extender at URL http://extender.example/predicate, code 503" in " ".join(out.split())


def test_a_script_asks_as_well(tmp_path: Path, webhook: Webhook) -> None:
    commands = tmp_path / "commands"
    commands.write_text("goto 2")
    source = snapshot(tmp_path / "s", "onSessionOpen", "onSessionClose")
    assert 0 == call(["script", source, str(commands), "--extender-url", webhook.url])[0]
    assert ["onSessionOpen", "onSessionClose"] == webhook.verbs()
    assert [True, False] == [bool(request.body) for request in webhook.asked]


@pytest.mark.parametrize("command", [["run"], ["explain", JOB], ["inspect"]], ids=["run", "explain", "inspect"])
def test_without_the_option_no_connection_is_opened(
    tmp_path: Path, webhook: Webhook, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a connection is opened")

    source = snapshot(tmp_path / "s", "predicate", "prioritize", "onSessionOpen", "jobReady", url=webhook.url)
    monkeypatch.setattr(socket.socket, "connect", refused)
    code, out, _ = call([command[0], source, *command[1:]])
    assert code in (0, 2)
    assert out
    assert [] == webhook.asked


def counting() -> Answer:
    """An answer that alternates: false, true, false ..."""
    asked: list[ApiRequest] = []

    def answer(request: ApiRequest) -> ApiReply:
        asked.append(request)
        return ApiReply(200, {"status": len(asked) % 2 == 0})

    return answer


def trace(source: str, file: Path, *options: str) -> bytes:
    assert 0 == call(["run", source, "--trace", str(file), *options])[0]
    return file.read_bytes()


def test_kept_answers_repeat_the_replay_without_the_webhook(tmp_path: Path, webhook: Webhook) -> None:
    webhook.answers["predicate"] = ApiReply(500, "")
    webhook.answers["prioritize"] = ApiReply(200, {"NodeScore": {"n2": 1.5}, "more": 1})
    webhook.answers["jobReady"] = counting()
    source = snapshot(tmp_path / "s", "predicate", "prioritize", "jobReady", members=2, ignorable="true")
    kept = tmp_path / "s" / "extender.json"
    options = ("--extender-url", webhook.url, "--extender-answers", str(kept))
    live = trace(source, tmp_path / "live.jsonl", *options)
    asked = len(webhook.asked)
    answers: dict[str, Any] = json.loads(kept.read_text())
    assert {"httpStatus": 500} == answers["predicate"]["default/j-0 n1"]
    assert {"nodeScore": {"n2": 1.5}} == answers["prioritize"]["default/j-0"]
    assert [{"status": False}, {"status": True}] == answers["jobReady"][JOB][:2]
    assert live == trace(source, tmp_path / "again.jsonl")
    assert live == trace(source, tmp_path / "asked.jsonl", "--extender-url", webhook.url)
    assert asked == len(webhook.asked)


def test_cycles_that_follow_ask_as_well(tmp_path: Path, webhook: Webhook) -> None:
    source = snapshot(tmp_path / "s", "onSessionOpen")
    cycles = CycleChain(replay_cycle(load_snapshot(source), ask_extender=ExtenderClient(webhook.url)))
    cycles.run_next()
    assert ["onSessionOpen"] * 2 == webhook.verbs()


def test_answers_are_kept_only_of_a_webhook(tmp_path: Path) -> None:
    code, _, err = call(["run", snapshot(tmp_path / "s"), "--extender-answers", str(tmp_path / "answers.json")])
    assert 1 == code
    assert "--extender-answers needs --extender-url" in err


@pytest.mark.parametrize("url", ["", "extender", "file:///etc/hosts", "http://", "http://a:x", "http://me:secret@a"])
def test_invalid_webhook_address_is_refused(url: str, tmp_path: Path) -> None:
    code, _, err = call(["run", snapshot(tmp_path / "s"), "--extender-url", url])
    assert 1 == code
    assert err.startswith("vcdebug: --extender-url: ")
    assert "secret" not in err


def test_failed_webhook_call_states_the_reason(webhook: Webhook) -> None:
    webhook.answers["late"] = webhook.late
    late = ExtenderClient(webhook.url)("late", {}, 0.05)
    assert f'Post "{webhook.url}/late": context deadline exceeded' == late
    refused = ExtenderClient(CLOSED)("verb", {}, None)
    assert isinstance(refused, str)
    assert refused.startswith(f'Post "{CLOSED}/verb": ')
    assert WebhookResponse(200, b"{}") == ExtenderClient(webhook.url)("a verb", {}, None)


def test_a_proxy_is_not_asked_about_this_machine(webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", CLOSED)
    monkeypatch.delenv("no_proxy", raising=False)
    assert WebhookResponse(200, b"{}") == ExtenderClient(webhook.url)("verb", {}, 5.0)


def test_an_address_is_checked_before_anything_is_read() -> None:
    with pytest.raises(VcdebugError, match="is not an http or https URL"):
        ExtenderClient("ftp://extender")
