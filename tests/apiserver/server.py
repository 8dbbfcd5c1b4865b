"""The server: lists in pages as of a revision, single objects, watches, bindings, evictions, access reviews, faults.

`ApiServer.reply` answers one request and needs no socket; `tests.capture.fake_server.serving` puts it on loopback.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.apiserver.store import Body, Store, key_of
from tests.capture.fake_server import ABSENT, DATE, Reply, Request, resource_of, status
from vcdebug.snapshot.kinds import KINDS

Exact = Literal["honoured", "ignored", "refused"]
PAGE = 500
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
KIND_OF_PATH = {kind.path: kind for kind in KINDS}


@dataclass
class ApiServer:
    """What the server has and how it behaves; `requests` is everything it was ever asked."""

    store: Store = field(default_factory=Store)
    served: set[str] = field(default_factory=lambda: set(KIND_OF_PATH))
    """Paths of lists that exist, empty or not."""
    singles: dict[str, Body] = field(default_factory=dict)
    """Path -> a document that is no list, as /version."""
    exact: Exact = "honoured"
    """What becomes of resourceVersionMatch=Exact."""
    forbidden: set[str] = field(default_factory=set)
    scripted: dict[str, list[Reply]] = field(default_factory=dict)
    before: Callable[[Request], None] | None = None
    """Called before each answer: other people's writes."""
    date: str | None = DATE
    largest_page: int = PAGE
    requests: list[Request] = field(default_factory=list)

    def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        if self.before is not None:
            self.before(request)
        if self.scripted.get(request.path):
            return self.scripted[request.path].pop(0)
        if request.path == REVIEWS:
            return self._review(request.body or {})
        if resource_of(request.path) in self.forbidden:
            return status(403, "Forbidden", f"{resource_of(request.path)} is forbidden")
        if request.method == "POST":
            return self._write(request)
        if request.path == "/apis":
            return Reply(200, {"kind": "APIGroupList", "groups": self._groups()})
        if request.path in self.singles:
            return Reply(200, self.singles[request.path])
        return self._read(request)

    def asked(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path == path]

    def _read(self, request: Request) -> Reply:
        """A list over all namespaces, a list of one namespace, or one object."""
        path, namespace, name = split(request.path)
        if path not in self.served:
            return ABSENT
        if name:
            found = self.store.get(path, f"{namespace}/{name}".lstrip("/"))
            return Reply(200, found) if found is not None else status(404, "NotFound", f"{name} not found")
        if request.query.get("watch"):
            return self._watch(path, request)
        return self._list(path, namespace, request)

    def _list(self, path: str, namespace: str, request: Request) -> Reply:
        start, revision = 0, self.store.revision
        if "continue" in request.query:
            mark = json.loads(request.query["continue"])
            start, revision = mark["start"], mark["revision"] or self.store.revision
            if revision < self.store.compacted:
                return expired({"start": start, "revision": 0})
        elif request.query.get("resourceVersionMatch") == "Exact":
            asked = int(request.query["resourceVersion"])
            if self.exact == "refused":
                return status(400, "BadRequest", "resourceVersionMatch is forbidden for this resource")
            if self.exact == "honoured":
                if asked < self.store.compacted:
                    return expired(None)
                revision = asked
        return self._page(path, namespace, request, start, revision)

    def _page(self, path: str, namespace: str, request: Request, start: int, revision: int) -> Reply:
        found = [item for item in self.store.at(path, revision) if selected(item, namespace, request.query)]
        limit = min(self.largest_page, int(request.query.get("limit") or self.largest_page))
        metadata: Body = {"resourceVersion": str(revision)}
        left = len(found) - start - limit
        if left > 0:
            token = json.dumps({"start": start + limit, "revision": revision})
            metadata |= {"continue": token, "remainingItemCount": left}
        kind = KIND_OF_PATH[path]
        body = {"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": metadata}
        return Reply(200, body | {"items": found[start : start + limit]})

    def _watch(self, path: str, request: Request) -> Reply:
        """Everything that happened since, and then the end of the stream, as a server's timeout would have it."""
        since = int(request.query.get("resourceVersion") or 0)
        if since < self.store.compacted:
            gone = status(410, "Expired", "too old resource version").body
            return Reply(200, json.dumps({"type": "ERROR", "object": gone}) + "\n")
        known = {key_of(item) for item in self.store.at(path, since)}
        lines = []
        for change in self.store.since(path, since):
            kind = "DELETED" if change.body is None else "MODIFIED" if change.key in known else "ADDED"
            namespace, _, name = change.key.rpartition("/")
            gone_body = {"metadata": {"name": name, "namespace": namespace, "resourceVersion": str(change.revision)}}
            known.add(change.key)
            lines.append(json.dumps({"type": kind, "object": change.body or gone_body}))
        return Reply(200, "".join(f"{line}\n" for line in lines))

    def _write(self, request: Request) -> Reply:
        """Bindings and evictions, as a scheduler asks for them."""
        parent, _, verb = request.path.rpartition("/")
        path, namespace, name = split(parent)
        pod = self.store.get(path, f"{namespace}/{name}")
        if pod is None:
            return status(404, "NotFound", f"{name} not found")
        if verb == "binding":
            target = (request.body or {}).get("target", {}).get("name", "")
            self.store.put(path, pod | {"spec": pod.get("spec", {}) | {"nodeName": target}})
        elif verb == "eviction":
            self.store.put(path, pod | {"metadata": pod["metadata"] | {"deletionTimestamp": "2026-11-07T09:30:00Z"}})
        else:
            return ABSENT
        return Reply(201, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _review(self, body: Body) -> Reply:
        asked = body["spec"]["resourceAttributes"]
        name = f"{asked['resource']}.{asked['group']}" if asked.get("group") else asked["resource"]
        return Reply(201, body | {"status": {"allowed": name not in self.forbidden}})

    def _groups(self) -> list[Body]:
        groups: dict[str, list[str]] = {}
        for path in self.served:
            kind = KIND_OF_PATH[path]
            if kind.group:
                groups.setdefault(kind.group, []).append(kind.version)
        return [{"name": name, "versions": [{"version": one} for one in versions]} for name, versions in groups.items()]


def expired(token: dict[str, int] | None) -> Reply:
    """A list whose revision has been compacted; a token goes on with the present state."""
    metadata = {"continue": json.dumps(token)} if token is not None else {}
    return status(410, "Expired", "the provided resource version is too old", **metadata)


def split(path: str) -> tuple[str, str, str]:
    """`/api/v1/namespaces/x/pods/y` -> the list's path, namespace, name."""
    parts = path.strip("/").split("/")
    head = parts[:2] if parts[0] == "api" else parts[:3]
    rest = parts[len(head) :]
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    return f"/{'/'.join([*head, *rest[:1]])}", namespace, rest[1] if len(rest) > 1 else ""


def selected(item: Body, namespace: str, query: dict[str, str]) -> bool:
    metadata = item.get("metadata", {})
    if namespace and metadata.get("namespace") != namespace:
        return False
    wanted = [part.split("=") for part in query.get("labelSelector", "").split(",") if part]
    labels: dict[str, Any] = metadata.get("labels") or {}
    return all(labels.get(key) == value for key, value in wanted)
