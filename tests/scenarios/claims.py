"""The form of a row in docs/articles.md: an article's claim, and the commands that show it."""

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
"""Names of the question clusters that claims use."""
CASES = (TOPOLOGY, PODS, "mixed-0002", "nominated-0000", "reclaim-0008", "capacity-0002")
"""Names of the recorded cases that claims use."""
ELSEWHERE = {
    **{name: f"scenarios/clusters/{name}.yaml" for name in CLUSTERS},
    **{name: f"golden/random/{name}" for name in CASES},
}
"""Paths below tests/ of the snapshots that are not bundled."""


class Claim(NamedTuple):
    """An article's claim, and the commands that show it."""

    what: str
    snapshot: str
    commands: tuple[str, ...]
    seen: str


def claim(what: str, snapshot: str, commands: str, seen: str) -> Claim:
    """Create a Claim; `commands` are separated by semicolons."""
    return Claim(what, snapshot, tuple(command.strip() for command in commands.split(";")), seen)
