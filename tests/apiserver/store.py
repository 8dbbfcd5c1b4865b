"""What the server keeps: every object at every revision, as etcd does, until it is compacted."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Body = dict[str, Any]
FIRST_REVISION = 100


class Change(NamedTuple):
    """One write: an object as it is from a revision on; None says that it is gone."""

    revision: int
    path: str
    key: str
    body: Body | None


@dataclass
class Store:
    """Lists by path; a write makes the next revision."""

    revision: int = FIRST_REVISION
    compacted: int = 0
    """Revisions below this one cannot be read any more."""
    changes: list[Change] = field(default_factory=list)

    def put(self, path: str, body: Body) -> int:
        """Create or replace an object of the list at a path."""
        self.revision += 1
        metadata = {**body.get("metadata", {}), "resourceVersion": str(self.revision)}
        stored = {**copy.deepcopy(body), "metadata": metadata}
        self.changes.append(Change(self.revision, path, key_of(body), stored))
        return self.revision

    def delete(self, path: str, key: str) -> int:
        self.revision += 1
        self.changes.append(Change(self.revision, path, key, None))
        return self.revision

    def compact(self, revision: int | None = None) -> None:
        """Forget every revision before this one; the present one by default."""
        self.compacted = self.revision if revision is None else revision

    def at(self, path: str, revision: int | None = None) -> list[Body]:
        """The objects of a list, by key, as of a revision."""
        limit = self.revision if revision is None else revision
        found: dict[str, Body | None] = {}
        for change in self.changes:
            if change.path == path and change.revision <= limit:
                found[change.key] = change.body
        return [body for _, body in sorted(found.items()) if body is not None]

    def get(self, path: str, key: str) -> Body | None:
        return next((body for body in self.at(path) if key_of(body) == key), None)

    def since(self, path: str, revision: int) -> list[Change]:
        """The writes to a list after a revision, oldest first."""
        return [change for change in self.changes if change.path == path and change.revision > revision]

    def paths(self) -> list[str]:
        return list(dict.fromkeys(change.path for change in self.changes))


def key_of(body: Body) -> str:
    metadata = body.get("metadata") or {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}".lstrip("/")
