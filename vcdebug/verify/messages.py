"""What travels between a client and the server, without a socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from vcdebug.snapshot.json_values import Json, JsonDict

Body = JsonDict
"""An object as a client sends it."""


class Request(NamedTuple):
    """One request; of a query's parameter the last value counts."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    """An object, or the list of a JSON patch."""
    groups: tuple[str, ...] = ()
    """Every Impersonate-Group."""


class Reply(NamedTuple):
    """An answer; a text stays as it is, anything else is written as JSON."""

    status: int
    body: Json
    headers: Mapping[str, str] = {}

    @property
    def content(self) -> bytes:
        """The bytes that are sent."""
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


def refusal(code: int, reason: str, message: str, **metadata: str) -> Reply:
    """The Status object with which a server refuses."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
    return Reply(code, body | {"message": message, "reason": reason, "code": code})


ABSENT = Reply(404, "404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"})
UNAUTHORIZED = refusal(401, "Unauthorized", "Unauthorized")


def success() -> Reply:
    """Something was made that nobody reads back."""
    return Reply(201, {"kind": "Status", "apiVersion": "v1", "status": "Success"})
