"""A small API server: the objects of a snapshot to list, watch and change, and a record of every change.

It keeps to what a scheduler needs. There is no admission and no defaulting, and of controllers only what binds volumes:
a bound pod stays as it is, a deleted one gets its deletion timestamp. `ApiServer.reply` answers one request and needs
no socket; `wire.py` puts it on loopback.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from vcdebug.snapshot.kinds import KINDS
from vcdebug.snapshot.manifest import annotations_of, metadata_of, spec_of
from vcdebug.verify import protobuf
from vcdebug.verify.address import Address
from vcdebug.verify.messages import ABSENT, Body, Reply, Request, refusal, success
from vcdebug.verify.metrics import PATH, Metrics
from vcdebug.verify.older_versions import converted
from vcdebug.verify.patches import PatchError, patched
from vcdebug.verify.selectors import selected
from vcdebug.verify.store import Store, key_of
from vcdebug.verify.volumes import follow_up

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
ASKED_ONLY = ("authorization.k8s.io", "authentication.k8s.io")
"""Groups whose objects are questions: nothing is kept."""
EVENTS = "events"
BINDING, EVICTION, STATUS = "binding", "eviction", "status"


class Written(NamedTuple):
    """One request that changes something."""

    verb: str
    """create, update, patch, delete, bind or evict."""
    address: Address
    body: Body
    """The object as it is afterwards; of an event or a binding, what was sent."""


@dataclass
class ApiServer:
    """What the server has; `written` is what it was asked to change, in order."""

    store: Store = field(default_factory=Store)
    now: Callable[[], str] = lambda: "2026-11-01T00:00:00Z"
    """The time as objects say it."""
    version: tuple[int, int] = (1, 36)
    keeps: Callable[[Written], bool] | None = None
    """Which writes are carried out and recorded, all by default; any other is answered as if it were."""
    written: list[Written] = field(default_factory=list)
    metrics: Metrics | None = None
    """What it answers in the name of a Prometheus."""

    def reply(self, request: Request) -> Reply:
        """Answer anything but a watch."""
        if self.metrics is not None and request.path == PATH:
            return self.metrics.answer(request.query.get("query", ""))
        if request.method == "GET":
            return self._read(request)
        address = Address.of(request.path)
        if address.group in ASKED_ONLY:
            return Reply(201, (request.body or {}) | {"status": {"allowed": True}})
        if request.method not in VERBS:
            return refusal(405, "MethodNotAllowed", f"{request.method} is not supported")
        return self._write(request, address)

    def _read(self, request: Request) -> Reply:
        if request.path == "/version":
            major, minor = self.version
            return Reply(200, {"major": str(major), "minor": str(minor), "gitVersion": f"v{major}.{minor}.0"})
        if request.path.rstrip("/") in ("/api", "/apis") or _is_group(request.path):
            return discovered(request.path.rstrip("/"))
        if not request.path.startswith(("/api/", "/apis/")):
            return Reply(200, "ok") if request.path.strip("/") in ("healthz", "readyz", "livez") else ABSENT
        address = Address.of(request.path)
        if address.name:
            found = self.store.get(address.collection, address.key)
            return Reply(200, converted(found, address.api_version)) if found is not None else missing(address)
        return self.listed(address, request)

    def listed(self, address: Address, request: Request) -> Reply:
        """Everything in one page; a kind that nobody knows is empty, and says no kind."""
        items = [one for one in self.store.at(address.collection) if selected(one, address.namespace, request.query)]
        items = [converted(one, address.api_version) for one in items]
        kind = address.kind
        head = {"kind": f"{kind.name}List", "apiVersion": address.api_version} if kind is not None else {}
        return Reply(200, head | {"metadata": {"resourceVersion": str(self.store.revision)}, "items": items})

    def changes(self, address: Address, request: Request, since: int) -> list[Body]:
        """The events of a watch for every write after a revision."""
        found: list[Body] = []
        for change in self.store.since(address.collection, since):
            if change.body is None:
                namespace, _, name = change.key.rpartition("/")
                metadata = {"name": name, "namespace": namespace, "resourceVersion": str(change.revision)}
                gone = {**_own_type(address), "metadata": metadata}
                found.append({"type": "DELETED", "object": gone})
            elif selected(change.body, address.namespace, request.query):
                known = self.store.had(address.collection, change.key, change.revision - 1)
                event = "MODIFIED" if known else "ADDED"
                body = converted(change.body, address.api_version)
                found.append({"type": event, "object": {**_own_type(address), **body}})
        return found

    def _write(self, request: Request, address: Address) -> Reply:
        if request.method == "POST" and not address.name:
            return self._create(request, address)
        before = self.store.get(address.collection, address.key)
        if before is None:
            return missing(address)
        if request.method == "POST":
            return self._act(request, address, before)
        if request.method == "DELETE":
            return self._delete(address, before)
        content_type = {name.lower(): text for name, text in request.headers.items()}.get("content-type", "")
        whole = request.method == "PUT" and content_type != protobuf.CONTENT_TYPE
        try:
            after = request.body if whole else patched(before, request.body, content_type)
        except PatchError as error:
            return refusal(422, "Invalid", str(error))
        if address.part == STATUS:
            after = {**before, "status": after.get("status", {})}
        stored = self._put(Written(VERBS[request.method], address, after))
        return Reply(200, converted(stored, address.api_version))

    def _create(self, request: Request, address: Address) -> Reply:
        body = dict(request.body or {})
        metadata = {"creationTimestamp": self.now(), **metadata_of(body)}
        metadata["creationTimestamp"] = metadata["creationTimestamp"] or self.now()
        metadata.setdefault("name", f"{metadata.get('generateName', '')}{self.store.revision}")
        if address.namespace:
            metadata["namespace"] = address.namespace
        body["metadata"] = metadata | {"uid": metadata.get("uid") or f"made-{self.store.revision}"}
        if address.plural == EVENTS:
            self._note(Written("create", address, body))
            return Reply(201, body)
        if self.store.get(address.collection, key_of(body)) is not None:
            return refusal(409, "AlreadyExists", f'{address.plural} "{metadata["name"]}" already exists')
        return Reply(201, self._put(Written("create", address, body)))

    def _act(self, request: Request, address: Address, pod: Body) -> Reply:
        """Bindings and evictions."""
        body = request.body or {}
        if address.part == BINDING:
            node = str((body.get("target") or {}).get("name") or "")
            annotations = annotations_of(body)
            known = annotations_of(pod)
            metadata = pod["metadata"] | ({"annotations": {**known, **annotations}} if annotations else {})
            spec = {**spec_of(pod), "nodeName": node}
            self._put(Written("bind", address, {**pod, "metadata": metadata, "spec": spec}))
        elif address.part == EVICTION:
            self._put(Written("evict", address, self._leaving(pod)))
        else:
            return ABSENT
        return success()

    def _delete(self, address: Address, before: Body) -> Reply:
        written = Written("delete", address, self._leaving(before))
        if address.plural == "pods":
            return Reply(200, self._put(written))
        if self._note(written):
            self.store.delete(address.collection, address.key)
        return Reply(200, before)

    def _leaving(self, body: Body) -> Body:
        return {**body, "metadata": {"deletionTimestamp": self.now(), **body["metadata"]}}

    def _put(self, written: Written) -> Body:
        """The object as it is stored; as it would be where the write is not carried out."""
        address = written.address
        if not self._note(written):
            return written.body
        self.store.put(address.collection, written.body)
        follow_up(self.store, address, written.body)
        return self.store.get(address.collection, key_of(written.body)) or written.body

    def _note(self, written: Written) -> bool:
        kept = self.keeps is None or self.keeps(written)
        if kept:
            self.written.append(written)
        return kept


def missing(address: Address) -> Reply:
    """An object that is not there."""
    return refusal(404, "NotFound", f'{address.plural} "{address.name}" not found')


def _own_type(address: Address) -> Body:
    kind = address.kind
    return {"kind": kind.name, "apiVersion": address.api_version} if kind is not None else {}


def _is_group(path: str) -> bool:
    """Whether it is `/api/v1` or `/apis/GROUP` or `/apis/GROUP/VERSION`."""
    words = path.strip("/").split("/")
    return (words[0] == "api" and len(words) == 2) or (words[0] == "apis" and len(words) in (2, 3))


def discovered(path: str) -> Reply:
    """What kinds there are, in the form of the path."""
    versions = dict.fromkeys((kind.group, kind.version) for kind in KINDS)
    groups = [_group(group, version) for group, version in versions if group]
    if path == "/api":
        return Reply(200, {"kind": "APIVersions", "versions": ["v1"]})
    if path == "/apis":
        return Reply(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
    words = path.strip("/").split("/")
    if words[0] == "apis" and len(words) == 2:
        return next((Reply(200, one) for one in groups if one["name"] == words[1]), ABSENT)
    group, version = ("", words[1]) if words[0] == "api" else (words[1], words[2])
    kinds = [kind for kind in KINDS if (kind.group, kind.version) == (group, version)]
    verbs = ["get", "list", "watch", "create", "update", "patch", "delete"]
    resources = [
        {"name": kind.plural, "singularName": "", "namespaced": kind.namespaced, "kind": kind.name, "verbs": verbs}
        for kind in kinds
    ]
    name = f"{group}/{version}" if group else version
    return Reply(200, {"kind": "APIResourceList", "groupVersion": name, "resources": resources}) if kinds else ABSENT


def _group(name: str, version: str) -> Body:
    entry = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [entry], "preferredVersion": entry}
