"""`vcdebug dap`: the debugger for editors that speak the Debug Adapter Protocol."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from itertools import count
from typing import BinaryIO, Final

from vcdebug.cli.arguments import SOURCE_VARIABLE, add_options, add_shared_options
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.commands.serve import parse_port
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.manifest import JsonDict

LOOPBACK: Final = "127.0.0.1"
MAX_MESSAGE_BYTES: Final = 1 << 24
MAX_HEADER_BYTES: Final = 1000


class DapCommand(Command):
    """Answers an editor's requests."""

    HELP = "Debug a snapshot from an editor (Debug Adapter Protocol)"
    EXAMPLES = ("dap", "dap --port 4711")
    EXITS = "Exit status: 0 the editor has disconnected, 1 error, 130 interrupted"

    def add_arguments(self, parser: ArgumentParser) -> None:
        port = f"listen on {LOOPBACK}:PORT, one editor at a time; 0 picks a free port (default: standard input)"
        add_options(parser, f"--port PORT  {port}", {"--port": {"type": parse_port}})
        add_shared_options(parser, "--source")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        source = args.source or os.environ.get(SOURCE_VARIABLE, "").strip() or None
        if args.port is None:
            serve_client(sys.stdin.buffer, sys.stdout.buffer, source)
            return CommandOutcome.DONE
        _listen(args.port, source, output)
        return CommandOutcome.DONE


def _listen(port: int, source: str | None, output: Output) -> None:
    """Serve one client after the other, until Ctrl-C."""
    from socket import create_server

    try:
        bound = create_server((LOOPBACK, port))
    except OSError as error:
        raise VcdebugError(f"cannot listen: {error.strerror}", "choose another --port", f"{LOOPBACK}:{port}") from error
    with bound:
        output.write_notice(f"listening on {LOOPBACK}:{bound.getsockname()[1]}; Ctrl-C stops")
        while True:
            client = bound.accept()[0]
            with client, client.makefile("rb") as requests, client.makefile("wb") as answers:
                try:
                    serve_client(requests, answers, source)
                except (VcdebugError, OSError) as error:
                    output.write_notice(f"a client was dropped: {error}")


def serve_client(requests: BinaryIO, answers: BinaryIO, source: str | None) -> None:
    """Answer requests until the client disconnects or closes the stream."""
    from vcdebug.cli.debug_adapter import DebugAdapter

    adapter, numbers = DebugAdapter(source), count(1)
    while not adapter.has_ended and (request := read_message(requests)) is not None:
        for message in adapter.answer(request):
            body = json.dumps({"seq": next(numbers), **message}).encode()
            answers.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            answers.flush()


def read_message(stream: BinaryIO) -> JsonDict | None:
    """The next message; None at the end of the stream. Raises VcdebugError for anything else."""
    length: int | None = None
    while (line := stream.readline(MAX_HEADER_BYTES).decode("latin-1")).strip():
        name, _, text = line.partition(":")
        # A web page may make a browser send requests here: unknown header fields therefore end the session.
        if name.lower() not in ("content-length", "content-type"):
            raise VcdebugError(f"{name.strip()!r} is not a header field of the Debug Adapter Protocol")
        if name.lower() == "content-length":
            length = int(text) if text.strip().isdecimal() else MAX_MESSAGE_BYTES + 1
    if length is None:
        return None
    if length > MAX_MESSAGE_BYTES:
        raise VcdebugError(f"a message has at most {MAX_MESSAGE_BYTES} bytes")
    try:
        message = json.loads(stream.read(length))
    except ValueError as error:
        raise VcdebugError(f"a message is not JSON: {error}") from error
    if not isinstance(message, dict) or not isinstance(message.get("command"), str) or "seq" not in message:
        raise VcdebugError("a message is not a request")
    return message
