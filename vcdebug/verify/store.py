"""What the server keeps: every object at every revision, as etcd does, until it is compacted."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import NamedTuple

from vcdebug.snapshot import manifest
from vcdebug.verify.messages import Body

FIRST_REVISION = 100


class StoreChange(NamedTuple):
    """One write: an object as it is from a revision on; None says that it is gone."""

    revision: int
    path: str
    key: str
    body: Body | None


@dataclass
class ObjectStore:
    """Lists by path; a write makes the next revision."""

    revision: int = FIRST_REVISION
    compacted: int = 0
    """Revisions below this one cannot be read any more."""
    _changes: dict[str, list[StoreChange]] = field(default_factory=dict)
    _current: dict[str, dict[str, Body]] = field(default_factory=dict)

    def put_object(self, path: str, body: Body) -> int:
        """Create or replace an object of the list at a path."""
        metadata = {**body.get("metadata", {}), "resourceVersion": str(self.revision + 1)}
        stored = {**copy.deepcopy(body), "metadata": metadata}
        self._current.setdefault(path, {})[key_of(body)] = stored
        return self._note_change(path, key_of(body), stored)

    def delete_object(self, path: str, key: str) -> int:
        """Make an object go, if it is there."""
        self._current.setdefault(path, {}).pop(key, None)
        return self._note_change(path, key, None)

    def _note_change(self, path: str, key: str, body: Body | None) -> int:
        self.revision += 1
        self._changes.setdefault(path, []).append(StoreChange(self.revision, path, key, body))
        return self.revision

    def compact_to(self, revision: int | None = None) -> None:
        """Forget every revision before this one; the present one by default."""
        self.compacted = self.revision if revision is None else revision

    def objects_at(self, path: str, revision: int | None = None) -> list[Body]:
        """The objects of a list, by key, as of a revision."""
        if revision is None or revision >= self.revision:
            return [body for _, body in sorted(self._current.get(path, {}).items())]
        found: dict[str, Body | None] = {}
        for change in self._changes.get(path, ()):
            if change.revision <= revision:
                found[change.key] = change.body
        return [body for _, body in sorted(found.items()) if body is not None]

    def get_object(self, path: str, key: str) -> Body | None:
        """One object as it is now."""
        return self._current.get(path, {}).get(key)

    def changes_since(self, path: str, revision: int) -> list[StoreChange]:
        """The writes to a list after a revision, oldest first."""
        found: list[StoreChange] = []
        for change in reversed(self._changes.get(path, ())):
            if change.revision <= revision:
                break
            found.append(change)
        return found[::-1]

    def had_object(self, path: str, key: str, revision: int) -> bool:
        """Whether an object was there at a revision."""
        known = [change for change in self._changes.get(path, ()) if change.key == key and change.revision <= revision]
        return bool(known) and known[-1].body is not None

    def written_paths(self) -> list[str]:
        """Lists to which something was written."""
        return list(self._changes)


def key_of(body: Body) -> str:
    """`namespace/name`, or the name alone."""
    return manifest.key_of(body).lstrip("/")
