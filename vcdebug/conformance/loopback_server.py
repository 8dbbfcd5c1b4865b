"""The API server on loopback, and the served snapshot: moved to the present, with amounts in canonical form.

A token is the first part of every path, since Kubernetes' clients send no credentials without TLS.

Upstream: k8s apimachinery resource (CanonicalizeBytes).
"""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from vcdebug.conformance import api_objects
from vcdebug.conformance.api_server import ApiServer
from vcdebug.conformance.object_store import QUERY_PATH
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.session_close import process_after
from vcdebug.gotime import api_time_text
from vcdebug.model.devices import vgpu_annotations
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.completion import missing_queues
from vcdebug.snapshot.cycle_inputs import ChanceSettings, SchedulerProcess
from vcdebug.snapshot.manifest import Json, JsonObject, name_of
from vcdebug.snapshot.quantity import BINARY_SUFFIXES, QuantityError, nano_value, text_like
from vcdebug.snapshot.snapshot import Manifest, Snapshot

LOOPBACK = "127.0.0.1"
MAX_WATCH = 3600.0
WATCH_WAIT = 1.0
"""Seconds after which an idle watch checks whether the server is closing."""
STILL_SECONDS, MAX_HOLD = 0.5, 10.0
"""Seconds without a request, and maximum seconds, after which the last list is answered."""
FORM_TYPE = "application/x-www-form-urlencoded"


class LoopbackServer(Struct):
    """An ApiServer shared by threads: hold `lock` to change its objects, then notify it."""

    api: ApiServer
    token: str
    lock: threading.Condition = field(default_factory=threading.Condition)
    is_closing: bool = False
    requests: int = 0
    """Requests so far, without queries for metrics."""
    last_list: str = ""
    """Path of a list that is answered after all others, so that the client has read those; empty for none."""

    def answer_request(self, request: api_objects.ApiRequest) -> api_objects.ApiReply:
        """The reply to one request; a write wakes the watches."""
        with self.lock:
            self.requests += request.path != QUERY_PATH
            if self.last_list and request.path == self.last_list:
                self._hold_last_list()
            reply = self.api.answer_request(request)
            if request.method != "GET":
                self.lock.notify_all()
            return reply

    def _hold_last_list(self) -> None:
        end = time.monotonic() + MAX_HOLD
        before = -1
        while before != self.requests and time.monotonic() < end and not self.is_closing:
            before, until = self.requests, time.monotonic() + STILL_SECONDS
            while (seconds_left := until - time.monotonic()) > 0:
                self.lock.wait(seconds_left)

    def watch_changes(self, request: api_objects.ApiRequest) -> Iterator[api_objects.Body]:
        """The watch events after the requested revision as they come, and {} whenever WATCH_WAIT passes without one."""
        address, since = api_objects.ApiAddress.from_path(request.path), int(request.query.get("resourceVersion") or 0)
        end = time.monotonic() + min(MAX_WATCH, float(request.query.get("timeoutSeconds") or MAX_WATCH))
        while time.monotonic() < end and not self.is_closing:
            with self.lock:
                events = self.api.list_changes(address, request, since)
                since = self.api.store.revision
                if not events:
                    self.lock.wait(WATCH_WAIT)
            # An empty chunk detects a closed connection: otherwise its thread would wait forever.
            yield from events or ({},)


@contextmanager
def serve_on_loopback(wire: LoopbackServer) -> Iterator[str]:
    """Serve on a free port of 127.0.0.1; yields the base URL, which includes the token."""
    server = _Server((LOOPBACK, 0), _handler_class(wire))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{server.server_address[1]}/{wire.token}"
    finally:
        wire.is_closing = True
        with wire.lock:
            wire.lock.notify_all()
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    """An HTTP server that ignores clients which close their connection during an answer."""

    request_queue_size = 512
    """A scheduler opens a connection per kind at once, and retries a refused one only after a second."""

    def handle_error(self, request: object, client_address: object) -> None:
        failure = sys.exception()
        if not isinstance(failure, OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as it was given


def _handler_class(wire: LoopbackServer) -> type[BaseHTTPRequestHandler]:
    # http.server creates the handlers itself, so shared objects must be attributes of their class.
    class Handler(_Connection):
        pass

    Handler.loopback_server = wire
    return Handler


class _Connection(BaseHTTPRequestHandler):
    """One client's connection."""

    loopback_server: LoopbackServer
    protocol_version = "HTTP/1.1"
    # Headers and body are sent at once: Nagle's algorithm would delay the second packet.
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: stderr belongs to the command."""

    def _handle_any(self) -> None:
        request = self._read_request()
        if request is None:
            self._send_reply(api_objects.refusal_reply(415, "UnsupportedMediaType", "neither JSON nor protobuf"))
        elif not self.path.startswith(f"/{self.loopback_server.token}/"):
            self._send_reply(api_objects.UNAUTHORIZED_REPLY)
        elif request.query.get("watch") in ("1", "true"):
            self._send_watch(request)
        else:
            self._send_reply(self.loopback_server.answer_request(request))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _handle_any  # noqa: N815 (the base class's names)

    def _read_request(self) -> api_objects.ApiRequest | None:
        """The request; None for a body that is neither JSON nor protobuf."""
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
        path = address.path.removeprefix(f"/{self.loopback_server.token}")
        return api_objects.ApiRequest(self.command, path, query, dict(self.headers), body)

    def _decode_body(self, content: bytes) -> Json:
        in_protobuf = self.headers.get("Content-Type", "").startswith(api_objects.PROTOBUF_TYPE)
        return api_objects.decode_object(content) if in_protobuf else json.loads(content)

    def _send_reply(self, reply: api_objects.ApiReply) -> None:
        content = reply.content_bytes
        self.send_response_only(reply.status)
        for name, value in ({"Content-Type": "application/json"} | dict(reply.headers)).items():
            self.send_header(name, value)
        self.send_header("Date", self.date_time_string())
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _send_watch(self, request: api_objects.ApiRequest) -> None:
        if request.query.get("sendInitialEvents"):
            self._send_reply(api_objects.refusal_reply(422, "Invalid", "sendInitialEvents is forbidden for watch"))
            return
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in self.loopback_server.watch_changes(request):
                self._send_chunk(json.dumps(event).encode() + b"\n" if event else b"")
            self._send_chunk(b"", last=True)
        except OSError:
            self.close_connection = True

    def _send_chunk(self, data: bytes, *, last: bool = False) -> None:
        if data or last:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


# A snapshot moved to the present, because a scheduler's program uses the machine's clock.

TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
QUEUE, NODE = "Queue", "Node"


def moved_to_present(snapshot: Snapshot, now: datetime) -> Snapshot:
    """The snapshot with all times moved by whole seconds so that its clock is `now`: ages stay the same.

    Adds the root and the default queue, which a scheduler creates when it starts.
    """
    # A scheduler's program uses the machine's clock, which cannot be set for one process.
    ago = timedelta(seconds=round((now - snapshot.now).total_seconds()))
    objects = moved_objects(snapshot.objects, ago)
    queues = objects.get(QUEUE, [])
    objects[QUEUE] = [*queues, *(_served_queue(queue, now) for queue in missing_queues(queues, snapshot.flags))]
    return replace(snapshot, objects=objects, now=snapshot.now + ago, process=SchedulerProcess())


def moved_objects(objects: Mapping[str, Sequence[Manifest]], ago: timedelta) -> dict[str, list[Manifest]]:
    """The objects with all times moved."""
    moved = {kind: [_moved_times(body, ago) for body in manifests] for kind, manifests in objects.items()}
    if NODE in moved:
        moved[NODE] = [delayed_node(node, ago) for node in moved[NODE]]
    return moved


def at_cycle(snapshot: Snapshot, began: datetime, started: datetime, earlier: Sequence[datetime]) -> Snapshot:
    """The snapshot for a later cycle of a process; PodGroups did not exist when its `earlier` cycles began."""
    process, empty = SchedulerProcess(), {**snapshot.objects, "PodGroup": []}
    for moment in earlier:
        # Plugins remember when they last searched for victims, even without success.
        process = process_after(replay_cycle(replace(snapshot, objects=empty, now=moment, process=process)).session)
    process = replace(process, started=started, sessions=max(1, len(earlier)))
    return replace(snapshot, now=began, process=process, chance=ChanceSettings())


def _served_queue(queue: Manifest, now: datetime) -> Manifest:
    """A queue that a scheduler creates when it starts, as a server has it before its controller sees it."""
    metadata = {**queue["metadata"], "uid": f"made-{name_of(queue)}", "creationTimestamp": api_time_text(now)}
    return {**queue, "metadata": metadata, "status": {}}


def _moved_times(value: Json, ago: timedelta, key: str = "") -> Json:
    if isinstance(value, dict):
        return {name: part if name == "annotations" else _moved_times(part, ago, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_moved_times(part, ago) for part in value]
    if isinstance(value, str) and key.lower().endswith(("time", "timestamp", "at")) and TIME_TEXT.fullmatch(value):
        return api_time_text(datetime.fromisoformat(value) + ago)
    return value


# Amounts of pods in the canonical form in which a real API server serves them.

AMOUNT_FIELDS: Final = ("requests", "limits", "overhead")


def canonical_pod(pod: JsonObject) -> JsonObject:
    """The pod with each binary fraction (`1.5Gi`) written as a whole number (`1536Mi`).

    Go's Quantity keeps a fraction by reference: each sum over such a request adds the pod's overhead to the request
    itself. No API server serves fractions, so this never happens in a cluster.
    """
    canonical = _canonical_part(pod)
    assert isinstance(canonical, dict)
    return canonical


def _canonical_part(part: Json, *, amounts: bool = False) -> Json:
    if isinstance(part, dict):
        return {name: _canonical_part(inner, amounts=amounts or name in AMOUNT_FIELDS) for name, inner in part.items()}
    if isinstance(part, list):
        return [_canonical_part(inner) for inner in part]
    if amounts and isinstance(part, str) and "." in part and part.endswith(BINARY_SUFFIXES[1:]):
        return canonical_amount(part)
    return part


def canonical_amount(text: str) -> str:
    """An amount with a binary suffix in whole units of the largest fitting suffix: binary, else decimal."""
    try:
        return text_like(nano_value(text), text)
    except QuantityError:
        return text


# The handshake annotation between scheduler and vGPU device plugin; on loopback no plugin answers it.


def answered_node(node: Manifest, now: datetime) -> Manifest:
    """The node with the handshake that the scheduler would write: requesting as of now, or deleted."""
    handshake = _handshake_text(node)
    if handshake is None or (vgpu_annotations.DELETED in handshake and vgpu_annotations.REQUESTING not in handshake):
        return node
    try:
        word = vgpu_annotations.REQUESTING if vgpu_annotations.is_plugin_alive(node, now) else vgpu_annotations.DELETED
    except SchedulerPanic:
        # The annotation stays, because the replay must reach the panic that it causes.
        return node
    return node if word in handshake else _with_handshake(node, word, now)


def delayed_node(node: Manifest, delay: timedelta) -> Manifest:
    """The node with the time of its handshake request moved by `by`."""
    word, underscore, text = (_handshake_text(node) or "").partition("_")
    time = vgpu_annotations.parse_handshake_time(text) if underscore and word == vgpu_annotations.REQUESTING else None
    return node if time is None else _with_handshake(node, word, time + delay)


def _handshake_text(node: Manifest) -> str | None:
    text = (node["metadata"].get("annotations") or {}).get(vgpu_annotations.HANDSHAKE_ANNOTATION)
    return text if isinstance(text, str) else None


def _with_handshake(node: Manifest, word: str, moment: datetime) -> Manifest:
    annotations = {
        **node["metadata"]["annotations"],
        vgpu_annotations.HANDSHAKE_ANNOTATION: f"{word}_{moment.strftime(vgpu_annotations.HANDSHAKE_TIME_FORMAT)}",
    }
    return {**node, "metadata": {**node["metadata"], "annotations": annotations}}
