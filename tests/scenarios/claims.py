"""What an article says, and how to see it: the form of a row of docs/articles.md."""

from __future__ import annotations

from typing import NamedTuple

WORKS, BLOCKED, RECLAIM = "preempt-works", "preempt-blocked-by-gang", "reclaim-across-queues"
SCORES, FILTERS = "placed-by-score", "pending-refused-by-filters"
AT_SCORES, AT_FILTERS = "break score; continue; panel inside", "break predicate; continue; panel inside"
PIPELINES = "break statement pipeline; continue"
TOPOLOGY = "preempt-topology-0003"
QUOTA, FITS, GANG = "pending-queue-quota", "pending-no-node-fits", "preempt-vetoed-by-gang"


class Claim(NamedTuple):
    """What an article says, and how to see it."""

    what: str
    snapshot: str
    commands: tuple[str, ...]
    seen: str


def claim(what: str, snapshot: str, commands: str, seen: str) -> Claim:
    """Commands are separated by semicolons."""
    return Claim(what, snapshot, tuple(command.strip() for command in commands.split(";")), seen)
