"""One message of the real scheduler: how it reads, and from which -v level on.

Upstream: k8s.io/klog.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

UNKNOWN = "…"
"""Stands in a narrated line for what a replay cannot know; it agrees with anything."""


class Message(NamedTuple):
    """One klog call."""

    key: str
    level: int
    """The -v level from which it is printed; 0 is always."""
    file: str
    template: str
    firm: bool = True
    """The level is certain. Others are compared only where the log has at least one line of their kind."""
    unordered: bool = False
    """Written by parallel workers or while ranging over a map: order means nothing."""

    def write(self, fields: Mapping[str, Any]) -> str:
        """The message's text."""
        return self.template.format(**fields)


def rows(file: str, *table: tuple[Any, ...], firm: bool = True) -> tuple[Message, ...]:
    """Messages of one source file, from (key, level, template)."""
    return tuple(Message(key, level, file, template, firm, *rest) for key, level, template, *rest in table)


UNORDERED = True
"""Last item of a row whose order means nothing."""
