"""Physical cards: a container takes each of its virtual GPUs from another one."""

from __future__ import annotations

from vcdebug.model.devices.vgpu import VgpuLedger
from vcdebug.model.devices.vgpu_request import requests_of
from vcdebug.model.node import NodeInfo
from vcdebug.model.task import TaskInfo


def cards_short(node: NodeInfo, task: TaskInfo) -> tuple[int, int] | None:
    """(cards of the node, cards that one container asks for) where these are more; None where they are not."""
    asked = max((request.number for request in requests_of(task.pod)), default=0)
    ledgers = [ledger for ledger in node.devices.values() if isinstance(ledger, VgpuLedger)]
    if not asked or not ledgers:
        return None
    have = max(len(ledger.cards) for ledger in ledgers)
    return (have, asked) if asked > have else None
