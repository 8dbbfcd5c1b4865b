"""A client of the Debug Adapter Protocol: debugpy's streams carry its messages, and the published schema validates
the replies.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from socket import socketpair
from subprocess import PIPE, Popen
from threading import Thread
from typing import Any

from debugpy.common.messaging import JsonIOStream
from jsonschema.validators import Draft4Validator

from tests.effort import PATIENCE
from vcdebug.cli.commands.dap import serve_client

SCHEMA = "_vendored/pydevd/_pydevd_bundle/_debug_adapter/debugProtocol.json"
EVENTS = {"initialized": "Initialized", "stopped": "Stopped", "output": "Output"}

Body = dict[str, Any]  # Any: JSON


class RefusedError(Exception):
    """The adapter rejected a request; the text is its message."""


@cache
def schema() -> Body:
    found: Body = json.loads(files("debugpy").joinpath(SCHEMA).read_text(encoding="utf-8"))
    return found


def validate(message: Body, definition: str) -> None:
    Draft4Validator({**schema(), "$ref": f"#/definitions/{definition}"}).validate(message)


class Editor:
    """Sends one request at a time; events that arrive before the response are kept in `events`."""

    def __init__(self, stream: JsonIOStream) -> None:
        self._stream = stream
        self._last_sent = self._last_read = 0
        self.events: list[tuple[str, Body]] = []

    def ask(self, command: str, **arguments: object) -> Body:
        """Send a request and return the body of its response; raises RefusedError."""
        self._last_sent += 1
        request = {"seq": self._last_sent, "type": "request", "command": command, "arguments": arguments}
        validate(request, f"{command[0].upper()}{command[1:]}Request")
        self._stream.write_json(request)
        while (found := self._read())["type"] == "event":
            self._keep(found)
        assert (self._last_sent, command) == (found["request_seq"], found["command"])
        validate(found, f"{command[0].upper()}{command[1:]}Response" if found["success"] else "ErrorResponse")
        if not found["success"]:
            raise RefusedError(found["message"])
        body: Body = found["body"]
        return body

    def wait_for(self, name: str) -> Body:
        """Wait for the next event of this name and return its body."""
        while name not in dict(self.events):
            self._keep(self._read())
        found = next(event for event in self.events if event[0] == name)
        self.events.remove(found)
        return found[1]

    def move(self, command: str, thread: int = 2) -> tuple[Body, Body]:
        """Run a movement command; returns the stopped event and the innermost frame."""
        self.events.clear()
        self.ask(command, threadId=thread)
        stopped = self.wait_for("stopped")
        return stopped, self.stack(stopped["threadId"])[0]

    def stack(self, thread: int = 2) -> list[Body]:
        frames: list[Body] = self.ask("stackTrace", threadId=thread)["stackFrames"]
        return frames

    def variables(self, scope: str, *path: str) -> Mapping[str, Body]:
        """The variables in a scope of the innermost frame, or at a path below it, by name."""
        known = {one["name"]: one for one in self.ask("scopes", frameId=self.stack()[0]["id"])["scopes"]}
        for name in (scope, *path):
            found = self.ask("variables", variablesReference=known[name]["variablesReference"])
            known = {one["name"]: one for one in found["variables"]}
        return known

    def evaluate(self, text: str, context: str = "repl") -> str:
        result: str = self.ask("evaluate", expression=text, context=context)["result"]
        return result

    def _read(self) -> Body:
        message: Body = self._stream.read_json()
        assert message["seq"] == self._last_read + 1
        self._last_read += 1
        return message

    def _keep(self, event: Body) -> None:
        validate(event, f"{EVENTS[event['event']]}Event")
        self.events.append((event["event"], event.get("body", {})))

    def begin(self, **options: object) -> Body:
        """Initialize the adapter and launch a snapshot; returns the capabilities."""
        known = self.ask("initialize", adapterID="vcdebug")
        self.ask("launch", **options)
        self.wait_for("initialized")
        return known

    def start(self) -> Body:
        self.ask("configurationDone")
        return self.wait_for("stopped")


@contextmanager
def in_process_editor(source: str | None = None) -> Iterator[Editor]:
    """An editor connected to an adapter in this process, which starts faster."""
    ours, theirs = socketpair()
    with theirs, theirs.makefile("rb") as requests, theirs.makefile("wb") as answers:
        thread = Thread(target=serve_client, args=(requests, answers, source), daemon=True)
        thread.start()
        stream = JsonIOStream.from_socket(ours)
        editor = Editor(stream)
        try:
            yield editor
            editor.ask("disconnect")
        finally:
            stream.close()
            thread.join(PATIENCE)


@contextmanager
def editing(*options: str) -> Iterator[Editor]:
    """An editor that starts `vcdebug dap`; the process must exit with 0 and leave stderr empty."""
    with Popen([sys.executable, "-m", "vcdebug", "dap", *options], stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        editor = Editor(JsonIOStream.from_process(process))
        try:
            yield editor
            editor.ask("disconnect")
            assert process.stderr is not None
            assert (0, b"") == (process.wait(PATIENCE), process.stderr.read())
        finally:
            process.kill()
