"""A fake API server on loopback: paged lists, refusals, expiry, access reviews."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from vcdebug.conformance.api_objects import NOT_FOUND_REPLY as NOT_FOUND_REPLY
from vcdebug.conformance.api_objects import UNAUTHORIZED_REPLY as UNAUTHORIZED_REPLY
from vcdebug.conformance.api_objects import ApiReply as ApiReply
from vcdebug.conformance.api_objects import ApiRequest as ApiRequest
from vcdebug.conformance.api_objects import Body, refusal_reply

DATE = "Sat, 07 Nov 2026 09:30:00 GMT"


status = refusal_reply
"""The reply with a Status object by which a server refuses a request."""
UNAVAILABLE = status(503, "ServiceUnavailable", "the server is currently unable to handle the request")


@dataclass
class FakeApi:
    """A server's objects and behaviour; `requests` records every request."""

    objects: dict[str, Body]
    """Path -> a single object or a complete list."""
    groups: dict[str, list[str]] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    """Resources, as `pods` or `queues.scheduling.volcano.sh`, that the user may not list."""
    scripted: dict[str, list[ApiReply]] = field(default_factory=dict)
    """Path -> replies that are sent first, one per request."""
    expiries: dict[str, int] = field(default_factory=dict)
    """Path -> number of further continue requests that find the list expired."""
    date: str | None = DATE
    largest_page: int = 500
    reviews_answered: bool = True
    requests: list[ApiRequest] = field(default_factory=list)

    def answer_request(self, request: ApiRequest) -> ApiReply:
        self.requests.append(request)
        if self.scripted.get(request.path):
            return self.scripted[request.path].pop(0)
        if request.path == "/apis":
            return ApiReply(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": self._groups()})
        if request.path.endswith("/selfsubjectaccessreviews"):
            return self._review(request.body or {})
        if resource_of(request.path) in self.forbidden:
            return status(403, "Forbidden", f'{resource_of(request.path)} is forbidden: User "viewer" cannot read it')
        found = self.objects.get(request.path)
        if found is None:
            return NOT_FOUND_REPLY
        return self._page(found, request) if "items" in found else ApiReply(200, found)

    def asked(self, path: str) -> list[ApiRequest]:
        return [request for request in self.requests if request.path == path]

    def _groups(self) -> list[Body]:
        return [
            {
                "name": name,
                "versions": [{"groupVersion": f"{name}/{version}", "version": version} for version in versions],
            }
            for name, versions in self.groups.items()
        ]

    def _review(self, body: Body) -> ApiReply:
        if not self.reviews_answered:
            return status(403, "Forbidden", "access reviews are forbidden")
        asked = body["spec"]["resourceAttributes"]
        name = f"{asked['resource']}.{asked['group']}" if asked.get("group") else asked["resource"]
        return ApiReply(201, body | {"status": {"allowed": name not in self.forbidden}})

    def _page(self, found: Body, request: ApiRequest) -> ApiReply:
        start, limit = 0, min(self.largest_page, int(request.query.get("limit") or self.largest_page))
        if "continue" in request.query:
            start = int(request.query["continue"].partition(" from ")[2])
            if self.expiries.get(request.path, 0) > 0:
                self.expiries[request.path] -= 1
                return status(410, "Expired", "the continue parameter is too old", **{"continue": f"any from {start}"})
        items = found["items"]
        metadata = dict(found["metadata"])
        if start + limit < len(items):
            metadata |= {"continue": f"same from {start + limit}", "remainingItemCount": len(items) - start - limit}
        return ApiReply(200, found | {"metadata": metadata, "items": items[start : start + limit]})


def resource_of(path: str) -> str:
    """`/apis/apps/v1/namespaces/x/deployments` -> `deployments.apps`."""
    parts = path.strip("/").split("/")
    group = parts[1] if parts[0] == "apis" and len(parts) > 1 else ""
    names = parts[3:] if group else parts[2:]
    name = (names[2:3] if names[:1] == ["namespaces"] and len(names) > 1 else names[:1]) or [""]
    return f"{name[0]}.{group}" if group else name[0]


@contextmanager
def serving(api: Any) -> Iterator[str]:
    """Serve an API object on a free port of this machine; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(api))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(api: Any) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _any(self) -> None:
            address = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(address.query).items()}
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(content) if content else None
            groups = tuple(self.headers.get_all("Impersonate-Group") or ())
            reply = api.answer_request(ApiRequest(self.command, address.path, query, dict(self.headers), body, groups))
            self.send_response_only(reply.status)
            for name, value in ({"Content-Type": "application/json"} | reply.headers).items():
                self.send_header(name, value)
            if api.date:
                self.send_header("Date", api.date)
            self.send_header("Content-Length", str(len(reply.content_bytes)))
            self.end_headers()
            self.wfile.write(reply.content_bytes)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _any  # noqa: N815 (the base class's names)

    return Handler


def write_kubeconfig(file: Path, server: str, token: str = "secret") -> Path:
    """Write a kubeconfig; context `dev` is the server, context `other` an address without a server."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "dev",
        "clusters": [
            {"name": "dev", "cluster": {"server": server}},
            {"name": "other", "cluster": {"server": "http://127.0.0.1:1"}},
        ],
        "users": [{"name": "me", "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in ("dev", "other")],
    }
    file.write_text(json.dumps(config), encoding="utf-8")
    return file
