"""The server of `vcdebug verify` with features of a real API server: pages, exact reads, refusals, faults.

`ApiServer.answer_request` answers one request and needs no socket; `tests.capture.fake_server.serving` puts it on
loopback.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal

from msgspec import field

from tests.capture.fake_server import DATE, NOT_FOUND_REPLY, ApiReply, ApiRequest, resource_of, status
from vcdebug.conformance import api_server as verify
from vcdebug.conformance.api_objects import ApiAddress, Body, is_selected
from vcdebug.conformance.object_store import ObjectStore
from vcdebug.snapshot.kinds import KINDS

Exact = Literal["honoured", "ignored", "refused"]
PAGE = 500
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
KIND_OF_PATH = {kind.api_path: kind for kind in KINDS}


class VersionedStore(ObjectStore):
    """A store that also shows its objects at earlier revisions, until compaction."""

    compacted: int = 0
    """Revisions below this one can no longer be read."""

    def objects_at(self, path: str, revision: int | None = None) -> list[Body]:
        """The objects of a list in order of their keys, as of a revision (default: now)."""
        bodies: dict[str, Body | None] = {}
        for change in self.changes_since(path, 0):
            if revision is None or change.revision <= revision:
                bodies[change.key] = change.body
        return [body for _, body in sorted(bodies.items()) if body is not None]


class ApiServer(verify.ApiServer):
    """A server's objects and behaviour; `requests` records every request."""

    store: VersionedStore = field(default_factory=VersionedStore)
    served: set[str] = field(default_factory=lambda: set(KIND_OF_PATH))
    """Paths of lists that exist, empty or not."""
    singles: dict[str, Body] = field(default_factory=dict)
    """Path -> a single document, such as /version."""
    exact: Exact = "honoured"
    """Handling of resourceVersionMatch=Exact."""
    forbidden: set[str] = field(default_factory=set)
    scripted: dict[str, list[ApiReply]] = field(default_factory=dict)
    before: Callable[[ApiRequest], None] | None = None
    """Called before each answer, for writes by other clients."""
    date: str | None = DATE
    largest_page: int = PAGE
    requests: list[ApiRequest] = field(default_factory=list)

    def answer_request(self, request: ApiRequest) -> ApiReply:
        self.requests.append(request)
        if self.before is not None:
            self.before(request)
        if self.scripted.get(request.path):
            return self.scripted[request.path].pop(0)
        if request.path == REVIEWS:
            return self._review(request.body or {})
        if resource_of(request.path) in self.forbidden:
            return status(403, "Forbidden", f"{resource_of(request.path)} is forbidden")
        if request.method != "GET":
            return super().answer_request(request)
        if request.path == "/apis":
            return ApiReply(200, {"kind": "APIGroupList", "groups": self._groups()})
        if request.path in self.singles:
            return ApiReply(200, self.singles[request.path])
        return self._answer_read(request)

    def asked(self, path: str) -> list[ApiRequest]:
        return [request for request in self.requests if request.path == path]

    def _answer_read(self, request: ApiRequest) -> ApiReply:
        """A list over all namespaces, a list of one namespace, or one object."""
        address = ApiAddress.from_path(request.path)
        if address.collection_path not in self.served:
            return NOT_FOUND_REPLY
        if address.name:
            return super()._answer_read(request)
        if request.query.get("watch"):
            return self._watch(request)
        return self._list(address.collection_path, address.namespace, request)

    def _list(self, path: str, namespace: str, request: ApiRequest) -> ApiReply:
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

    def _page(self, path: str, namespace: str, request: ApiRequest, start: int, revision: int) -> ApiReply:
        found = [item for item in self.store.objects_at(path, revision) if is_selected(item, namespace, request.query)]
        limit = min(self.largest_page, int(request.query.get("limit") or self.largest_page))
        metadata: Body = {"resourceVersion": str(revision)}
        left = len(found) - start - limit
        if left > 0:
            token = json.dumps({"start": start + limit, "revision": revision})
            metadata |= {"continue": token, "remainingItemCount": left}
        kind = KIND_OF_PATH[path]
        body = {"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": metadata}
        return ApiReply(200, body | {"items": found[start : start + limit]})

    def _watch(self, request: ApiRequest) -> ApiReply:
        """All changes since a revision, then the end of the stream, as after a server's timeout."""
        since = int(request.query.get("resourceVersion") or 0)
        if since < self.store.compacted:
            gone = status(410, "Expired", "too old resource version").body
            return ApiReply(200, json.dumps({"type": "ERROR", "object": gone}) + "\n")
        events = self.list_changes(ApiAddress.from_path(request.path), request, since)
        return ApiReply(200, "".join(f"{json.dumps(event)}\n" for event in events))

    def _review(self, body: Body) -> ApiReply:
        asked = body["spec"]["resourceAttributes"]
        name = f"{asked['resource']}.{asked['group']}" if asked.get("group") else asked["resource"]
        return ApiReply(201, body | {"status": {"allowed": name not in self.forbidden}})

    def _groups(self) -> list[Body]:
        groups: dict[str, list[str]] = {}
        for path in self.served:
            kind = KIND_OF_PATH[path]
            if kind.group:
                groups.setdefault(kind.group, []).append(kind.version)
        return [{"name": name, "versions": [{"version": one} for one in versions]} for name, versions in groups.items()]


def expired(token: dict[str, int] | None) -> ApiReply:
    """The 410 reply for a compacted revision; a token lets the client continue with the current state."""
    metadata = {"continue": json.dumps(token)} if token is not None else {}
    return status(410, "Expired", "the provided resource version is too old", **metadata)
