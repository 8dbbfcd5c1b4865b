"""What travels between a client and the server, without a socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from vcdebug.snapshot.json_values import Json, JsonDict

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
