"""A small API server that lists, watches and changes the objects of a snapshot, and records every write.

It has no admission and no defaulting, and of the controllers only volume binding: until
`object_store.pass_between_cycles` a bound pod does not start, and a deleted one has a deletion timestamp.
`ApiServer.answer_request` needs no socket; `loopback_server` adds one.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from msgspec import Struct, field

from vcdebug.conformance.api_objects import (
    NOT_FOUND_REPLY,
    PROTOBUF_TYPE,
    ApiAddress,
    ApiReply,
    ApiRequest,
    Body,
    PatchError,
    apply_patch,
    converted_object,
    is_selected,
    refusal_reply,
    success_reply,
)
from vcdebug.conformance.object_store import QUERY_PATH, NodeMetrics, ObjectStore, follow_up_write, key_of
from vcdebug.gotime import api_time_text
from vcdebug.snapshot.kinds import KINDS
from vcdebug.snapshot.manifest import annotations_of, metadata_of, spec_of
from vcdebug.whatif.next_cycle import mark_deleted

VERB_BY_METHOD = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
REVIEW_GROUPS = ("authorization.k8s.io", "authentication.k8s.io")
"""API groups of reviews, which are answered but not stored."""
EVENTS = "events"
BINDING, EVICTION, STATUS = "binding", "eviction", "status"


class ApiWrite(NamedTuple):
    """One request that changes something."""

    verb: str
    """create, update, patch, delete, bind or evict."""
    address: ApiAddress
    body: Body
    """The object after the write; for an event, the event."""


class ApiServer(Struct):
    """The objects in `store`, and in `writes` every write in order."""

    store: ObjectStore = field(default_factory=ObjectStore)
    clock: Callable[[], datetime] = lambda: datetime(2026, 11, 1, tzinfo=UTC)
    """The time for creation and deletion timestamps."""
    version: tuple[int, int] = (1, 36)
    stores_write: Callable[[ApiWrite], bool] | None = None
    """Selects the writes that are stored and recorded (default: all); others are answered without effect."""
    writes: list[ApiWrite] = []
    metrics: NodeMetrics | None = None
    """Answers Prometheus queries; without it they are refused."""

    def answer_request(self, request: ApiRequest) -> ApiReply:
        """The reply to any request but a watch."""
        if self.metrics is not None and request.path == QUERY_PATH:
            return self.metrics.answer_query(request.query.get("query", ""))
        if request.method == "GET":
            return self._answer_read(request)
        address = ApiAddress.from_path(request.path)
        if address.group in REVIEW_GROUPS:
            return ApiReply(201, (request.body or {}) | {"status": {"allowed": True}})
        if request.method not in VERB_BY_METHOD:
            return refusal_reply(405, "MethodNotAllowed", f"{request.method} is not supported")
        return self._answer_write(request, address)

    def _answer_read(self, request: ApiRequest) -> ApiReply:
        if request.path == "/version":
            major, minor = self.version
            return ApiReply(200, {"major": str(major), "minor": str(minor), "gitVersion": f"v{major}.{minor}.0"})
        if request.path.rstrip("/") in ("/api", "/apis") or _is_group(request.path):
            return discovery_reply(request.path.rstrip("/"))
        if not request.path.startswith(("/api/", "/apis/")):
            return ApiReply(200, "ok") if request.path.strip("/") in ("healthz", "readyz", "livez") else NOT_FOUND_REPLY
        address = ApiAddress.from_path(request.path)
        if address.name:
            stored = self.store.get_object(address.collection_path, address.object_key)
            if stored is None:
                return missing_reply(address)
            return ApiReply(200, converted_object(stored, address.api_version))
        return self.list_objects(address, request)

    def list_objects(self, address: ApiAddress, request: ApiRequest) -> ApiReply:
        """The selected objects in one page; the list of an unknown kind is empty and has no `kind`."""
        stored = self.store.objects_of(address.collection_path)
        selected = [body for body in stored if is_selected(body, address.namespace, request.query)]
        items = [converted_object(body, address.api_version) for body in selected]
        type_meta = _type_meta(address, "List")
        return ApiReply(200, type_meta | {"metadata": {"resourceVersion": str(self.store.revision)}, "items": items})

    def list_changes(self, address: ApiAddress, request: ApiRequest, since: int) -> list[Body]:
        """The watch events for every write after a revision."""
        events: list[Body] = []
        for change in self.store.changes_since(address.collection_path, since):
            before = self.store.object_before(change)
            # Clients select deletions by the fields of the deleted object.
            body = change.body or before
            if body is not None and is_selected(body, address.namespace, request.query):
                kind = "DELETED" if change.body is None else "ADDED" if before is None else "MODIFIED"
                metadata = {**body["metadata"], "resourceVersion": str(change.revision)}
                served = converted_object({**body, "metadata": metadata}, address.api_version)
                events.append({"type": kind, "object": {**_type_meta(address), **served}})
        return events

    def _answer_write(self, request: ApiRequest, address: ApiAddress) -> ApiReply:
        if request.method == "POST" and not address.name:
            return self._create_object(request, address)
        before = self.store.get_object(address.collection_path, address.object_key)
        if before is None:
            return missing_reply(address)
        if request.method == "POST":
            return self._act_on_pod(request, address, before)
        if request.method == "DELETE":
            return self._delete_object(address, before)
        content_type = {name.lower(): text for name, text in request.headers.items()}.get("content-type", "")
        # Protobuf bodies are decoded in part only: a PUT of one must not erase the fields that were not decoded.
        is_whole = request.method == "PUT" and content_type != PROTOBUF_TYPE
        try:
            after = request.body if is_whole else apply_patch(before, request.body, content_type)
        except PatchError as error:
            return refusal_reply(422, "Invalid", str(error))
        if address.part == STATUS:
            after = {**before, "status": after.get("status", {})}
        stored = self._put_object(ApiWrite(VERB_BY_METHOD[request.method], address, after))
        return ApiReply(200, converted_object(stored, address.api_version))

    def _create_object(self, request: ApiRequest, address: ApiAddress) -> ApiReply:
        body = dict(request.body or {})
        metadata = metadata_of(body)
        metadata = {**metadata, "creationTimestamp": metadata.get("creationTimestamp") or api_time_text(self.clock())}
        metadata.setdefault("name", f"{metadata.get('generateName', '')}{self.store.revision}")
        if address.namespace:
            metadata["namespace"] = address.namespace
        body["metadata"] = metadata | {"uid": metadata.get("uid") or f"made-{self.store.revision}"}
        if address.plural == EVENTS:
            self._note_write(ApiWrite("create", address, body))
            return ApiReply(201, body)
        if self.store.get_object(address.collection_path, key_of(body)) is not None:
            return refusal_reply(409, "AlreadyExists", f'{address.plural} "{metadata["name"]}" already exists')
        return ApiReply(201, self._put_object(ApiWrite("create", address, body)))

    def _act_on_pod(self, request: ApiRequest, address: ApiAddress, pod: Body) -> ApiReply:
        """Answer a POST to a pod's subresource: binding or eviction."""
        body = request.body or {}
        if address.part == BINDING:
            node = str((body.get("target") or {}).get("name") or "")
            annotations = annotations_of(body)
            existing = annotations_of(pod)
            metadata = pod["metadata"] | ({"annotations": {**existing, **annotations}} if annotations else {})
            spec = {**spec_of(pod), "nodeName": node}
            self._put_object(ApiWrite("bind", address, {**pod, "metadata": metadata, "spec": spec}))
        elif address.part == EVICTION:
            self._put_object(ApiWrite("evict", address, mark_deleted(pod, self.clock())))
        else:
            return NOT_FOUND_REPLY
        return success_reply()

    def _delete_object(self, address: ApiAddress, before: Body) -> ApiReply:
        written = ApiWrite("delete", address, mark_deleted(before, self.clock()))
        if address.plural == "pods":
            return ApiReply(200, self._put_object(written))
        if self._note_write(written):
            self.store.delete_object(address.collection_path, address.object_key)
        return ApiReply(200, before)

    def _put_object(self, written: ApiWrite) -> Body:
        """Store the object unless `stores_write` rejects the write; returns the object as stored."""
        address = written.address
        if not self._note_write(written):
            return written.body
        self.store.put_object(address.collection_path, written.body)
        follow_up_write(self.store, address, written.body)
        return self.store.get_object(address.collection_path, key_of(written.body)) or written.body

    def _note_write(self, written: ApiWrite) -> bool:
        is_kept = self.stores_write is None or self.stores_write(written)
        if is_kept:
            self.writes.append(written)
        return is_kept


def missing_reply(address: ApiAddress) -> ApiReply:
    """404 for an object that does not exist."""
    return refusal_reply(404, "NotFound", f'{address.plural} "{address.name}" not found')


def _type_meta(address: ApiAddress, suffix: str = "") -> Body:
    kind = address.known_kind
    return {"kind": f"{kind.name}{suffix}", "apiVersion": address.api_version} if kind is not None else {}


def _is_group(path: str) -> bool:
    """Whether the path is `/api/v1` or `/apis/GROUP` or `/apis/GROUP/VERSION`."""
    words = path.strip("/").split("/")
    return (words[0] == "api" and len(words) == 2) or (words[0] == "apis" and len(words) in (2, 3))


def discovery_reply(path: str) -> ApiReply:
    """The answer of API discovery: groups, versions or resources, as the path asks."""
    versions = dict.fromkeys((kind.group, kind.version) for kind in KINDS)
    groups = [_group_entry(group, version) for group, version in versions if group]
    if path == "/api":
        return ApiReply(200, {"kind": "APIVersions", "versions": ["v1"]})
    if path == "/apis":
        return ApiReply(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
    words = path.strip("/").split("/")
    if words[0] == "apis" and len(words) == 2:
        return next((ApiReply(200, entry) for entry in groups if entry["name"] == words[1]), NOT_FOUND_REPLY)
    group, version = ("", words[1]) if words[0] == "api" else (words[1], words[2])
    kinds = [kind for kind in KINDS if (kind.group, kind.version) == (group, version)]
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
    resources = [
        {"name": kind.plural, "singularName": "", "namespaced": kind.namespaced, "kind": kind.name, "verbs": verbs}
        for kind in kinds
    ]
    name = f"{group}/{version}" if group else version
    body = {"kind": "APIResourceList", "groupVersion": name, "resources": resources}
    return ApiReply(200, body) if kinds else NOT_FOUND_REPLY


def _group_entry(name: str, version: str) -> Body:
    entry = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [entry], "preferredVersion": entry}
