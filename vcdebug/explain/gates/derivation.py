"""How proportion came to what a queue deserves, in one dimension: a line per round."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.explain import amounts
from vcdebug.explain.case import Case
from vcdebug.explain.deserving import Portion, dealt
from vcdebug.explain.queues import PROPORTION
from vcdebug.model.names import QueueName


def dealt_lines(case: Case, plugin: str, queue: QueueName, name: str) -> tuple[str, ...]:
    """None for a plugin that does not deal by weight."""
    if plugin != PROPORTION:
        return ()
    return tuple(_lines(dealt(case.recording).get(queue, ()), name))


def _lines(portions: tuple[Portion, ...], name: str) -> Iterator[str]:
    for portion in portions:
        before = portion.before.get(name)
        if portion.round > 1 and portion.deserved.get(name) == before:
            continue
        held = f"{amounts.amount(name, before)} + " if before else ""
        part = f"{amounts.amount(name, portion.remaining.get(name))} x weight {portion.weight} / {portion.total_weight}"
        offered, deserved = portion.offered(name), portion.deserved.get(name)
        cut = f", held to {amounts.amount(name, deserved)} by {portion.decides(name)}" if deserved < offered else ""
        yield f"deserved {name}, round {portion.round}: {held}{part} = {amounts.amount(name, offered)}{cut}"
