"""The limit of a queue, or of the ancestor that is full: whose, how much of it is taken, by how much it is exceeded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.explain import amounts
from vcdebug.explain.answer import Number
from vcdebug.explain.case import Case
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.resource import PODS, Resource
from vcdebug.trace.timeline import ClusterState

TREE_PLUGIN = "capacity"
REAL_CAPABILITY = "realCapability"
ENQUEUE_FIGURES = ("allocated", "inqueue", "elastic")


class Limit(NamedTuple):
    """A queue whose limit does not hold a request."""

    queue: QueueName
    figure: str
    """deserved or realCapability."""
    taken: Resource
    """What the queue counts already."""
    limit: Resource
    request: Resource
    exceeded: list[str]
    """Dimensions in which the request is too much; empty where the plugin refuses for another reason."""
    parts: dict[str, Resource]
    hard: bool
    """Whether the queue's own capability is what limits the first of these dimensions."""

    @property
    def first(self) -> str:
        """The dimension to speak of."""
        return self.exceeded[0] if self.exceeded else next(n for n, v in self.request.items() if v > 0 or n == "cpu")

    def over(self, name: str) -> float:
        """By how much the limit would be exceeded."""
        return self.taken.get(name) + self.request.get(name) - self.limit.get(name)

    def beside(self) -> str:
        """The other dimensions in which it is too much, to be said after the first."""
        others = [name for name in self.exceeded if name != self.first]
        return f" ({amounts.listed(others)} exceeded too)" if others else ""

    def lines(self) -> tuple[str, ...]:
        """The arithmetic, dimension by dimension."""
        return tuple(self._line(name) for name in self.exceeded)

    def _line(self, name: str) -> str:
        signs = {"elastic": "-"}
        parts = " ".join(
            f"{signs.get(part, '+')} {part} {amounts.amount(name, what.get(name))}" for part, what in self.parts.items()
        )
        asked, limit = amounts.amount(name, self.request.get(name)), amounts.amount(name, self.limit.get(name))
        return f"queue {self.queue}, {name}: request {asked} {parts} > {self.figure} {limit}"

    def numbers(self) -> dict[str, Number]:
        """The same for programs."""
        return {
            **amounts.numbers("queue.taken", self.taken, self.exceeded),
            **amounts.numbers("queue.limit", self.limit, self.exceeded),
            **{f"short.{name}": amounts.number(name, self.over(name)) for name in self.exceeded},
        }


def enqueue_limit(case: Case, plugin: str, seq: Seq) -> Limit:
    """What JobEnqueueable compares: allocated + inqueue - elastic + minResources."""
    request = case.job.get_min_resources()
    return _first_exceeded(case, plugin, seq, REAL_CAPABILITY, ENQUEUE_FIGURES, request)


def allocate_limit(case: Case, plugin: str, seq: Seq, request: Resource) -> Limit:
    """What Allocatable compares: allocated + request."""
    figure = REAL_CAPABILITY if plugin == TREE_PLUGIN else "deserved"
    return _first_exceeded(case, plugin, seq, figure, ("allocated",), request)


def _first_exceeded(case: Case, plugin: str, seq: Seq, figure: str, parts: tuple[str, ...], request: Resource) -> Limit:
    state = case.recording.timeline.state_at(seq - 1)
    limits = [_limit(case, state, plugin, queue, figure, parts, request) for queue in lineage(case, state, plugin)]
    return next((limit for limit in limits if limit.exceeded), limits[0])


def lineage(case: Case, state: ClusterState, plugin: str) -> Iterator[QueueName]:
    """The job's queue, then its ancestors where the plugin keeps a tree."""
    yield case.queue.name
    if plugin == TREE_PLUGIN:
        yield from reversed(list(state.figure(plugin, case.queue.name, "ancestors") or ()))


def _limit(
    case: Case,
    state: ClusterState,
    plugin: str,
    queue: QueueName,
    figure: str,
    parts: tuple[str, ...],
    request: Resource,
) -> Limit:
    counted = {part: state.amount(plugin, queue, part) for part in parts}
    limit = state.amount(plugin, queue, figure)
    taken = counted["allocated"].clone()
    if "inqueue" in counted:
        taken.add(counted["inqueue"]).sub_without_assert(counted["elastic"])
    exceeded = taken.clone().add(request).less_equal_with_dimension_and_resources_name(limit, request)[1]
    own = case.session.queues[queue].capability if queue in case.session.queues else None
    name = exceeded[0] if exceeded else PODS
    hard = bool(own) and Resource.from_list(own).get(name) == limit.get(name)
    return Limit(queue, figure, taken, limit, request, exceeded, counted, hard)
