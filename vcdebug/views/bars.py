"""A node's resources as bars that read without colour: what stays, what leaves, what is promised, what is idle."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.framework.record import NodeAmounts
from vcdebug.model.resource import Resource

STAYS, LEAVES, PROMISED, IDLE = "█", "▒", "▸", "·"
LEGEND = f"{STAYS} used  {LEAVES} releasing  {PROMISED} promised (pipelined)  {IDLE} idle"


def node_bar(amounts: NodeAmounts, allocatable: Resource, dim: str, width: int) -> str:
    """One dimension of a node; a promise is made on what leaves first, then on what is idle."""
    used, leaving = amounts.used.get(dim), min(amounts.releasing.get(dim), amounts.used.get(dim))
    idle = max(amounts.idle.get(dim), 0.0)
    promised = min(max(amounts.pipelined.get(dim), 0.0), leaving + idle)
    from_leaving = min(promised, leaving)
    parts = (used - leaving, leaving - from_leaving, promised, idle - (promised - from_leaving))
    return bar(parts, (STAYS, LEAVES, PROMISED, IDLE), max(allocatable.get(dim), used + idle), width)


def bar(parts: Sequence[float], signs: Sequence[str], total: float, width: int) -> str:
    """Signs in proportion; a part that is not nothing has at least one sign."""
    if total <= 0:
        return ""
    sizes = [max(1, round(part * width / total)) if part > 0 else 0 for part in parts]
    while sum(sizes) > width:  # exact: ints
        sizes[sizes.index(max(sizes))] -= 1
    short = width - sum(sizes)  # exact: ints
    if short > 0 and any(sizes):
        sizes[sizes.index(max(sizes))] += short
    return "".join(sign * size for sign, size in zip(signs, sizes, strict=True))


def fullest(amounts: NodeAmounts, allocatable: Resource, dims: Sequence[str]) -> str:
    """The dimension of which the largest fraction is used; empty where nothing is offered."""
    offered = [dim for dim in dims if allocatable.get(dim) > 0]
    return max(offered, key=lambda dim: amounts.used.get(dim) / allocatable.get(dim), default="")
