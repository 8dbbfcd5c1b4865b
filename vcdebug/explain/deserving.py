"""proportion's rounds: how the cluster was dealt out by weight, round by round, until nobody takes more.

Upstream: plugins/proportion (OnSessionOpen).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.explain.queues import PROPORTION
from vcdebug.model.names import QueueName
from vcdebug.model.resource import Resource
from vcdebug.plugins.proportion import QueueAttr, Round, rounds
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


class Portion(NamedTuple):
    """One queue in one round."""

    round: int
    """From 1."""
    weight: int
    total_weight: int
    remaining: Resource
    """What is dealt in this round."""
    before: Resource
    deserved: Resource
    limit: Resource
    request: Resource
    guarantee: Resource
    satisfied: bool

    def offered(self, name: str) -> float:
        """What it had and its part by weight, before any limit."""
        return self.before.get(name) + self.remaining.get(name) * (float(self.weight) / float(self.total_weight))

    def decides(self, name: str) -> str:
        """What set the amount of a dimension."""
        found = self.deserved.get(name)
        candidates = (
            ("its request", self.request.get(name)),
            ("its limit", self.limit.get(name)),
            ("its guarantee", self.guarantee.get(name)),
        )
        if found == self.offered(name):
            return "its part by weight"
        return next((words for words, amount in candidates if amount == found), "its part by weight")


@per_recording()
def dealt(recording: Recording) -> dict[QueueName, tuple[Portion, ...]]:
    """queue → its portions, by the plugin's own rounds on the figures that the session opened with."""
    names = [name for name in recording.timeline.figures.get(PROPORTION, {}) if name]
    attrs = {name: _attr(recording, name) for name in names}
    by_attr = {id(attr): name for name, attr in attrs.items()}
    found: dict[QueueName, list[Portion]] = {name: [] for name in names}
    total = recording.timeline.state_at(0).amount(PROPORTION, "", "total")
    for number, each in enumerate(rounds(total, list(attrs.values())), start=1):
        for key, portion in _portions(number, each):
            found[by_attr[key]].append(portion)
    return {name: tuple(portions) for name, portions in found.items()}


def _attr(recording: Recording, queue: QueueName) -> QueueAttr:
    state = recording.timeline.state_at(0)
    capability, limit, guarantee, request = (
        state.amount(PROPORTION, queue, figure).clone()
        for figure in ("capability", "realCapability", "guarantee", "request")
    )
    return QueueAttr(recording.session.queues[queue].weight, capability, limit, guarantee, request=request)


def _portions(number: int, each: Round) -> Iterator[tuple[int, Portion]]:
    for attr, before, deserved, satisfied in each.dealt:
        yield (
            id(attr),
            Portion(
                number,
                attr.weight,
                each.weight,
                each.remaining,
                before,
                deserved,
                attr.real_capability,
                attr.request,
                attr.guarantee,
                satisfied,
            ),
        )
