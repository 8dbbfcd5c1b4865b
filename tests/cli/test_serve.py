"""`serve`: the debugger in a browser."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from socket import create_server
from subprocess import PIPE, Popen

import aiohttp
import pytest
from aiohttp import web

from tests.cli.transcripts import call
from tests.effort import PATIENCE
from vcdebug.cli import browser
from vcdebug.cli.commands.open import OpenCommand
from vcdebug.cli.commands.serve import ServeCommand, open_command
from vcdebug.cli.output import Output

NAME = "preempt-works"
JOB = "assistants/chat-api"
"""A job that the screen shows once the cycle has been replayed."""


class Address(str):
    """The URL of a server, with its access token."""

    token: str

    def __new__(cls, text: str, token: str) -> Address:
        made = super().__new__(cls, text)
        made.token = token
        return made

    def client(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(headers={"Authorization": f"token {self.token}"})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """The address of one server shared by these tests; Ctrl-C must end it with status 0 and no output."""
    folder = str(tmp_path_factory.mktemp("served"))
    command = [sys.executable, "-m", "vcdebug", "serve", NAME, "--port", "0", "--break", "victim", "--fresh"]
    environment = {**os.environ, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder}
    with Popen(command, env=environment, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.fullmatch(r"vcdebug: open (http://127\.0\.0\.1:\d+)/\?token=(\S+) in a browser; Ctrl-C .*\n", line)
        assert found is not None, line
        yield Address(found[1], found[2])
        process.send_signal(signal.SIGINT)
        assert ("", "") == process.communicate(timeout=PATIENCE)
    assert 0 == process.returncode


async def wait_for(socket: aiohttp.ClientWebSocketResponse, *words: str) -> None:
    """Wait until the server has sent all words."""
    drawn = ""
    async with asyncio.timeout(PATIENCE):
        while not all(word in drawn for word in words):
            drawn += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", (await socket.receive_bytes()).decode("utf-8", "replace"))


async def test_the_page_runs_the_debugger(served: Address) -> None:
    async with served.client() as client:
        page = await (await client.get(served)).text()
        assert f"<title>vcdebug {NAME}</title>" in page
        for path in re.findall(r'(?:src|href)="(static/[^"]+)"|url\("(static/[^"]+)"\)', page):
            assert 200 == (await client.get(f"{served}/{''.join(path)}")).status
        async with client.ws_connect(f"{served}/ws?width=100&height=30", headers={"Origin": served}) as socket:
            await wait_for(socket, NAME, "Flow", "Statement", JOB)
            await socket.send_json(["stdin", "c"])
            await wait_for(socket, "Breakpoint 1")


async def test_a_page_needs_nothing_from_elsewhere() -> None:
    assert [] == re.findall(r"https?://", browser.PAGE_FILE.read_text(encoding="utf-8"))


async def test_each_window_has_a_debugger_of_its_own_that_ends_with_it(served: Address) -> None:
    socket = f"{served}/ws?width=100&height=30"
    async with served.client() as client, client.ws_connect(socket) as one, client.ws_connect(socket) as other:
        await wait_for(one, "Flow")
        await wait_for(other, JOB)
        await one.close()
        await other.send_json(["stdin", "c"])
        await wait_for(other, "Breakpoint 1")


@pytest.mark.parametrize("headers", [{"Origin": "http://elsewhere.example"}, {"Host": "elsewhere.example"}])
async def test_a_page_of_another_site_is_refused(served: Address, headers: dict[str, str]) -> None:
    async with served.client() as client:
        assert 403 == (await client.get(f"{served}/ws", headers=headers)).status


@pytest.mark.parametrize("path", ["/", "/ws", "/static/js/textual.js", "/?token=guessed"])
async def test_requests_without_the_token_are_refused(served: Address, path: str) -> None:
    async with aiohttp.ClientSession() as client:
        answer = await client.get(f"{served}{path}")
        assert (403, True) == (answer.status, "missing token" in await answer.text())


async def test_the_printed_address_leads_to_the_page_without_its_token(served: Address) -> None:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
        answer = await client.get(f"{served}/?token={served.token}")
        assert (200, "") == (answer.status, answer.url.query_string)
        assert "Strict" == answer.history[0].cookies[f"vcdebug-{answer.url.port}"]["samesite"]


async def test_a_debugger_that_cannot_start_ends_its_window(tmp_path: Path) -> None:
    gone = tmp_path / "gone.yaml"
    with browser.open_socket("127.0.0.1", 0) as bound:
        served = browser.BrowserServer(
            f"exec {sys.executable} -m vcdebug open {gone}", NAME, bound, Output(), exposed=False
        )
        runner = web.AppRunner(await served._make_app())
        await runner.setup()
        await web.SockSite(runner, bound).start()
        url = f"{browser.socket_url(bound)}/ws?token={served.token}"
        async with aiohttp.ClientSession() as client, client.ws_connect(url) as socket:
            assert aiohttp.WSMsgType.CLOSE == (await socket.receive(PATIENCE)).type
        await runner.cleanup()


def test_the_debugger_gets_every_option_that_open_takes() -> None:
    opens, serves = ArgumentParser(), ArgumentParser()
    OpenCommand().add_arguments(opens)
    ServeCommand().add_arguments(serves)
    breaks = ["--break", "victim if node == 'n 1'", "--break=tie"]
    words = ["a b.yaml", "--goto", "7", "--job=-x", *breaks, "--complete", "--extender-url", "http://127.0.0.1:9"]
    command = open_command(serves.parse_args([*words, "--port", "0"]))
    start, _, options = command.partition(" -m vcdebug open ")
    assert f"exec {sys.executable}" == start
    assert opens.parse_args(words) == opens.parse_args(shlex.split(options))


def error_line(*arguments: str) -> str:
    code, out, err = call(["serve", *arguments])
    assert (1, "", 1) == (code, out, err.count("\n"))
    return err.removeprefix("vcdebug: ").rstrip("\n")


def test_a_port_that_is_taken_is_one_line() -> None:
    with create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        expected = f"127.0.0.1:{port}: cannot listen there: Address already in use; choose another --port"
        assert expected == error_line(NAME, "--port", str(port))


@pytest.mark.parametrize("port", ["-1", "70000"])
def test_a_port_that_cannot_be_is_one_line(port: str) -> None:
    assert f"argument --port: '{port}' is not a port (0 to 65535); see vcdebug serve --help" == error_line(
        NAME, f"--port={port}"
    )


def test_address_reachable_from_other_machines_requires_expose(monkeypatch: pytest.MonkeyPatch) -> None:
    assert error_line(NAME, "--host", "0.0.0.0").startswith("0.0.0.0: reachable from other machines, and any client ")
    monkeypatch.setattr(browser.BrowserServer, "run", lambda _: None)
    code, out, err = call(["serve", NAME, "--host", "0.0.0.0", "--port", "0", "--expose"])
    assert (0, "") == (code, out)
    assert err.startswith("vcdebug: warning: other machines can reach 0.0.0.0, and any client that can connect can ")


def test_unservable_snapshot_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert error_line("-").startswith("SNAPSHOT cannot be standard input")
    assert error_line("no-such-file").startswith("no-such-file: no such file or folder")
    assert error_line(NAME, "--host", "no.such.host.invalid").startswith("no.such.host.invalid: no such host")
    monkeypatch.delitem(sys.modules, "vcdebug.cli.browser")
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert "the extra serve is not installed; run in vcdebug's clone: pip install '.[serve]'" == error_line(NAME)
