"""What travels between a client and the server, without a socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from vcdebug.snapshot.kinds import KINDS, ResourceKind
from vcdebug.snapshot.manifest import Json, JsonDict

Body = JsonDict
"""An object as a client sends it."""


class ApiRequest(NamedTuple):
    """One request; of a query's parameter the last value counts."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    """An object, or the list of a JSON patch."""
    groups: tuple[str, ...] = ()
    """Every Impersonate-Group."""


class ApiReply(NamedTuple):
    """An answer; a text stays as it is, anything else is written as JSON."""

    status: int
    body: Json
    headers: Mapping[str, str] = {}

    @property
    def content_bytes(self) -> bytes:
        """The bytes that are sent."""
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


def refusal_reply(code: int, reason: str, message: str, **metadata: str) -> ApiReply:
    """The Status object with which a server refuses."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
    return ApiReply(code, body | {"message": message, "reason": reason, "code": code})


NOT_FOUND_REPLY = ApiReply(404, "404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"})
UNAUTHORIZED_REPLY = refusal_reply(401, "Unauthorized", "Unauthorized")


def success_reply() -> ApiReply:
    """Something was made that nobody reads back."""
    return ApiReply(201, {"kind": "Status", "apiVersion": "v1", "status": "Success"})


# What a path of the API names: a list, an object, or a part of one.

_KINDS = {(kind.group, kind.plural): kind for kind in KINDS}
_PARTS_OF_NAMESPACES = ("status", "finalize")


class ApiAddress(NamedTuple):
    """`/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/PART`, each part empty where it is missing."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    part: str = ""
    """A subresource: status, binding, eviction."""

    @classmethod
    def from_path(cls, path: str) -> ApiAddress:
        """From the path of a request."""
        words = path.strip("/").split("/")
        group, rest = ("", words[1:]) if words[0] == "api" else (words[1] if len(words) > 1 else "", words[2:])
        version, rest = (rest[0], rest[1:]) if rest else ("", [])
        namespace = ""
        if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in _PARTS_OF_NAMESPACES:
            namespace, rest = rest[1], rest[2:]
        plural, name, part = ([*rest, "", "", ""])[:3]
        return cls(group, version, plural, namespace, name, part)

    @property
    def known_kind(self) -> ResourceKind | None:
        """The row of the table of kinds, whatever version is asked for."""
        return _KINDS.get((self.group, self.plural))

    @property
    def collection_path(self) -> str:
        """The path under which the objects of the kind are kept."""
        kind = self.known_kind
        head = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return kind.api_path if kind is not None else f"{head}/{self.plural}"

    @property
    def api_version(self) -> str:
        """As an object says it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def object_key(self) -> str:
        """`namespace/name`, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
