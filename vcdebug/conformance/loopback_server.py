"""The server on loopback: one thread per connection, a token in every request, watches that wait.

The token is the first part of every path, since a client of Kubernetes sends no other credentials without TLS.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from vcdebug.conformance import protobuf
from vcdebug.conformance.api_requests import UNAUTHORIZED_REPLY, ApiAddress, ApiReply, ApiRequest, Body, refusal_reply
from vcdebug.conformance.api_server import ApiServer
from vcdebug.conformance.node_metrics import QUERY_PATH as METRICS
from vcdebug.snapshot.manifest import Json

LOOPBACK = "127.0.0.1"
MAX_WATCH = 3600.0
WATCH_WAIT = 1.0
"""Seconds after which a watch looks whether it shall end."""
STILL_SECONDS, MAX_HOLD = 0.5, 10.0
"""Seconds without another request after which what is given last is given; and after which it is in any case."""
FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass
class LoopbackServer:
    """A server that several threads ask; whoever changes what it has holds `lock` and notifies it."""

    api: ApiServer
    token: str
    lock: threading.Condition = field(default_factory=threading.Condition)
    closing: bool = False
    requests: int = 0
    """How many were about objects."""
    last_list: str = ""
    """The path of the list that is given once nothing else is asked for: whoever reads it has read all others."""

    def answer_request(self, request: ApiRequest) -> ApiReply:
        """One answer; a write wakes the watches."""
        with self.lock:
            self.requests += request.path != METRICS
            if self.last_list and request.path == self.last_list:
                self._hold_last_list()
            reply = self.api.answer_request(request)
            if request.method != "GET":
                self.lock.notify_all()
            return reply

    def _hold_last_list(self) -> None:
        end = time.monotonic() + MAX_HOLD
        before = -1
        while before != self.requests and time.monotonic() < end and not self.closing:
            before, until = self.requests, time.monotonic() + STILL_SECONDS
            while (left := until - time.monotonic()) > 0:
                self.lock.wait(left)

    def watch_changes(self, request: ApiRequest) -> Iterator[Body]:
        """Every change after the revision that is asked for, as it comes; {} where nothing came for a while."""
        address, since = ApiAddress.from_path(request.path), int(request.query.get("resourceVersion") or 0)
        end = time.monotonic() + min(MAX_WATCH, float(request.query.get("timeoutSeconds") or MAX_WATCH))
        while time.monotonic() < end and not self.closing:
            with self.lock:
                found = self.api.list_changes(address, request, since)
                since = self.api.store.revision
                if not found:
                    self.lock.wait(WATCH_WAIT)
            yield from found or ({},)


@contextmanager
def serve_on_loopback(wire: LoopbackServer) -> Iterator[str]:
    """Serve on a free port of this machine; gives its address."""
    server = _Server((LOOPBACK, 0), _handler_class(wire))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}/{wire.token}"
    finally:
        wire.closing = True
        with wire.lock:
            wire.lock.notify_all()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """A client that goes away in the middle of an answer is nothing to speak of."""

    request_queue_size = 512
    """A scheduler opens a connection per kind at once; one that is not taken is tried again a second later."""

    def handle_error(self, request: object, client_address: object) -> None:
        failure = sys.exception()
        if not isinstance(failure, OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as it was given


def _handler_class(wire: LoopbackServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Connection):
        pass

    Handler.wire = wire
    return Handler


class _Connection(BaseHTTPRequestHandler):
    """One client's connection."""

    wire: LoopbackServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def _handle_any(self) -> None:
        request = self._read_request()
        if request is None:
            self._send_reply(refusal_reply(415, "UnsupportedMediaType", "neither JSON nor protobuf"))
        elif not self.path.startswith(f"/{self.wire.token}/"):
            self._send_reply(UNAUTHORIZED_REPLY)
        elif request.query.get("watch") in ("1", "true"):
            self._send_watch(request)
        else:
            self._send_reply(self.wire.answer_request(request))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _handle_any  # noqa: N815 (the base class's names)

    def _read_request(self) -> ApiRequest | None:
        """What is asked; None for a body that is not understood."""
        address = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Type", "").startswith(FORM_TYPE):
            query |= {name: values[-1] for name, values in parse_qs(content.decode("utf-8", "replace")).items()}
            content = b""
        try:
            body: Json = self._decode_body(content) if content else None
        except ValueError:
            return None
        path = address.path.removeprefix(f"/{self.wire.token}")
        return ApiRequest(self.command, path, query, dict(self.headers), body)

    def _decode_body(self, content: bytes) -> Json:
        in_protobuf = self.headers.get("Content-Type", "").startswith(protobuf.CONTENT_TYPE)
        return protobuf.decode_object(content) if in_protobuf else json.loads(content)

    def _send_reply(self, reply: ApiReply) -> None:
        content = reply.content_bytes
        self.send_response_only(reply.status)
        for name, value in ({"Content-Type": "application/json"} | dict(reply.headers)).items():
            self.send_header(name, value)
        self.send_header("Date", self.date_time_string())
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _send_watch(self, request: ApiRequest) -> None:
        if request.query.get("sendInitialEvents"):
            self._send_reply(refusal_reply(422, "Invalid", "sendInitialEvents is forbidden for watch"))
            return
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in self.wire.watch_changes(request):
                self._send_chunk(json.dumps(event).encode() + b"\n" if event else b"")
            self._send_chunk(b"", last=True)
        except OSError:
            self.close_connection = True

    def _send_chunk(self, data: bytes, *, last: bool = False) -> None:
        if data or last:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()
