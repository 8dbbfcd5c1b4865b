"""Amounts that manifests state: objects of one kind or template state the very same list, which is read once."""

from __future__ import annotations

from vcdebug.model.resource import Resource
from vcdebug.model.resource_list import ResourceList, drop_ignored


class StatedAmounts:
    """Resources by the identity of the list that states them; shared, so never to be changed."""

    def __init__(self, ignored: tuple[str, ...] = ()) -> None:
        self.ignored = ignored
        """Names that the release drops."""
        self._known: dict[int, tuple[object, Resource]] = {}
        """The lists are kept beside."""

    def amounts_of(self, stated: ResourceList | None) -> Resource:
        """What a list comes to; nothing where there is none."""
        known = self._known.get(id(stated))
        if known is None:
            known = self._known[id(stated)] = (stated, Resource.from_list(drop_ignored(stated, self.ignored)))
        return known[1]
