"""Advice: what would help, in one line; whose it is to do; and the edits that it stands for, where they are known."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple


class Harm(IntEnum):
    """Who has to agree: the job's owner, those who share queues with it, or everybody."""

    JOB = 0
    QUEUE = 1
    CLUSTER = 2


WHO: Final = {
    Harm.JOB: "the job's owner",
    Harm.QUEUE: "who shares the queues",
    Harm.CLUSTER: "the cluster's administrator",
}
"""Whose it is to do what would help."""


class Advice(NamedTuple):
    """One line."""

    text: str
    harm: Harm
    edits: tuple[str, ...] = ()
    """As --set takes them; empty where an amount or an object is left to the reader."""
    risky: bool = False
    """Whether it goes against what somebody has said about a node: better than nothing, worse than anything else."""


def owner(text: str, *edits: str) -> Advice:
    """What the job's owner can do, and waiting, which costs nobody anything."""
    return Advice(text, Harm.JOB, edits)


def sharers(text: str, *edits: str) -> Advice:
    """What those who share its queue, or hold what it needs, have to agree to."""
    return Advice(text, Harm.QUEUE, edits)


def cluster(text: str, *edits: str) -> Advice:
    """What only an administrator can do."""
    return Advice(text, Harm.CLUSTER, edits)


def by_harm(lines: Iterable[Advice]) -> tuple[Advice, ...]:
    """Each line once, the least harmful first, what is risky last."""
    once = {line.text: line for line in lines}
    return tuple(sorted(once.values(), key=lambda line: (line.risky, line.harm)))


MORE_NODES: Final = cluster("add nodes that fit")
"""Always helps, and costs most."""
