"""A queue's limit and what would be beside it: as lines of an equation, as words, and as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vcdebug import amount_text
from vcdebug.amount_text import digits_apart
from vcdebug.explain import amounts
from vcdebug.explain.answer import Number
from vcdebug.explain.equation import Equation, Term, TermKind, all_hold, first_failing
from vcdebug.framework.plugin import PERMIT, REJECT
from vcdebug.framework.session import Session
from vcdebug.model.limitcheck import ELASTIC, MINIMUM, REQUEST, LimitCheck
from vcdebug.model.names import QueueName
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource

NOT_REQUESTED = "not asked for"
NO_MINIMUM = "the PodGroup states no minResources"
PODS_IGNORED = "pods are not compared here"


def all_dimensions(*resources: Resource) -> list[str]:
    """cpu, memory, and the scalars of any of them."""
    scalars = [name for resource in resources for name in resource.scalars or ()]
    return [CPU, MEMORY, *sorted(dict.fromkeys(scalars))]


def limit_terms(check: LimitCheck, names: Iterable[str], prefix: str = "") -> Iterator[Term]:
    """One line per dimension, judged as the plugin judges."""
    judged, exceeded = check.judged_dimensions, check.exceeded_dimensions
    for name in names:
        if name in judged:
            yield Term(prefix + name, check.figures_of(name), name not in exceeded)
        else:
            why = PODS_IGNORED if name == PODS and check.asked.get(name) > 0 else NOT_REQUESTED
            yield Term(prefix + name, check.figures_of(name), None, why)


def limit_columns(check: LimitCheck, limit: str) -> tuple[str, ...]:
    """What the figures of such lines are."""
    return (*(name for name, _ in check.parts), "sum", limit)


def admission_equation(
    title: str,
    formula: str,
    columns: tuple[str, ...],
    terms: Iterable[Term],
    objection: str = "",
    free: str = "",
    kind: TermKind = "dimension",
) -> Equation:
    """Whether a PodGroup is admitted: no line speaks against it, and nothing that counts before any arithmetic does;
    `free` says why no line counts.
    """
    lines = tuple(terms)
    verdict = PERMIT if not objection and (free or all_hold(lines)) else REJECT
    return Equation(title, formula, columns, kind, lines, verdict, first_failing(lines), objection or free)


def not_open_reason(session: Session, queue: QueueName) -> str:
    """In words, that a queue's state refuses everything; empty for an open one."""
    state = session.queues[queue].state
    return "" if state == OPEN else f"the queue's state is {state or 'not set'}, not {OPEN}"


class QueueCheck(NamedTuple):
    """A queue, or an ancestor of it, with the question that its plugin asked about it."""

    queue: QueueName
    figure: str
    """What sets the limit: deserved or realCapability."""
    check: LimitCheck
    capability: Resource | None = None
    """The queue's own, where it states any."""

    @classmethod
    def for_queue(cls, session: Session, queue: QueueName, figure: str, check: LimitCheck) -> QueueCheck:
        """A check of a queue of the session, or of the root above them."""
        info = session.queues.get(queue)
        own = info.capability if info is not None else None
        return cls(queue, figure, check, Resource.from_list(own) if own else None)

    def without_amounts(self) -> QueueCheck:
        """The same where the answer does not depend on amounts."""
        return self._replace(check=self.check._replace(asked=Resource()))

    @property
    def exceeded_dimensions(self) -> list[str]:
        """Dimensions in which the request is too much; empty where the plugin refuses for another reason."""
        return self.check.exceeded_dimensions

    @property
    def first_dimension(self) -> str:
        """The dimension to speak of."""
        return next(iter(self.exceeded_dimensions), CPU)

    @property
    def is_capability(self) -> bool:
        """Whether the queue's own capability is what limits this dimension."""
        name = next(iter(self.exceeded_dimensions), PODS)
        return self.capability is not None and self.capability.get(name) == self.check.limit.get(name)

    def format_limit(self, name: str) -> str:
        """`8 cpu`."""
        return f"{self._written(name, self.check.limit)} {name}"

    def format_taken(self, name: str) -> str:
        """`4`."""
        return self._written(name, self.check.counted_already)

    def request_of(self, name: str) -> str:
        """`2`."""
        return self._written(name, self.check.request)

    def total_of(self, name: str) -> str:
        """What would be taken with the request: `6`."""
        return self._written(name, self.check.total)

    def _written(self, name: str, what: Resource) -> str:
        """An amount in enough digits to differ from the limit that it is compared with."""
        compared = (self.check.request, self.check.counted_already, self.check.total, self.check.limit)
        return amount_text.format_amount(
            name, what.get(name), digits_apart(name, (each.get(name) for each in compared))
        )

    def format_excess(self, name: str) -> str:
        """By how much the limit would be exceeded."""
        return amount_text.format_amount(name, self.check.excess_of(name))

    def others_exceeded_words(self) -> str:
        """The other dimensions in which it is too much, to be said after the first."""
        others = [name for name in self.exceeded_dimensions if name != self.first_dimension]
        return f" ({amount_text.join_names(others)} exceeded too)" if others else ""

    def arithmetic_lines(self) -> tuple[str, ...]:
        """The arithmetic, dimension by dimension."""
        return tuple(self._arithmetic_line(name) for name in self.exceeded_dimensions)

    def _arithmetic_line(self, name: str) -> str:
        parts = " ".join(
            f"{'-' if part == ELASTIC else '+'} {part} {self._written(name, amount)}"
            for part, amount in self.check.parts
            if part not in (REQUEST, MINIMUM)
        )
        asked, limit = self.request_of(name), self._written(name, self.check.limit)
        return f"queue {self.queue}, {name}: request {asked} {parts} > {self.figure} {limit}"

    def excess_numbers(self) -> dict[str, Number]:
        """By how much, for programs."""
        return {f"short.{name}": amounts.number(name, self.check.excess_of(name)) for name in self.exceeded_dimensions}

    def limit_numbers(self) -> dict[str, Number]:
        """The same as the lines."""
        return {
            **amounts.numbers("queue.taken", self.check.counted_already, self.exceeded_dimensions),
            **amounts.numbers("queue.limit", self.check.limit, self.exceeded_dimensions),
            **self.excess_numbers(),
        }


def first_exceeded(checks: list[QueueCheck]) -> QueueCheck:
    """The queue, or the nearest ancestor, that is full; the queue where none is."""
    return next((each for each in checks if each.exceeded_dimensions), checks[0])
