"""What an article says, and how to see it: the form of a row of docs/articles.md."""

from __future__ import annotations

from typing import NamedTuple

WORKS, BLOCKED, RECLAIM = "preempt-works", "preempt-blocked-by-gang", "reclaim-across-queues"
SCORES, FILTERS = "placed-by-score", "pending-refused-by-filters"
AT_SCORES, AT_FILTERS = "break score; continue; panel inside", "break predicate; continue; panel inside"
PIPELINES = "break statement pipeline; continue"
TOPOLOGY = "preempt-topology-0003"
QUOTA, FITS, GANG = "pending-queue-quota", "pending-no-node-fits", "preempt-vetoed-by-gang"


PODS = "pods-0001"
TURNS, OVERDUE = "4949-evict-and-reclaim-in-turns", "1901-the-promised-wait-is-over"
SPENT = "1105-a-pod-that-waits-uses-up-the-quota"
CLUSTERS = (TURNS, OVERDUE, SPENT)
"""Snapshots of the questions."""
CASES = (TOPOLOGY, PODS, "mixed-0002", "nominated-0000", "reclaim-0008", "capacity-0002")
"""Recorded cases."""
ELSEWHERE = {
    **{name: f"scenarios/clusters/{name}.yaml" for name in CLUSTERS},
    **{name: f"golden/random/{name}" for name in CASES},
}
"""Snapshots that are not bundled, and where they lie among the tests."""


class Claim(NamedTuple):
    """What an article says, and how to see it."""

    what: str
    snapshot: str
    commands: tuple[str, ...]
    seen: str


def claim(what: str, snapshot: str, commands: str, seen: str) -> Claim:
    """Commands are separated by semicolons."""
    return Claim(what, snapshot, tuple(command.strip() for command in commands.split(";")), seen)
