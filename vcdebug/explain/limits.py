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

NOT_ASKED = "not asked for"
NO_MINIMUM = "the PodGroup states no minResources"
PODS_IGNORED = "pods are not compared here"


def dimensions(*resources: Resource) -> list[str]:
    """cpu, memory, and the scalars of any of them."""
    scalars = [name for resource in resources for name in resource.scalars or ()]
    return [CPU, MEMORY, *sorted(dict.fromkeys(scalars))]


def limit_terms(check: LimitCheck, names: Iterable[str], prefix: str = "") -> Iterator[Term]:
    """One line per dimension, judged as the plugin judges."""
    judged, exceeded = check.judged, check.exceeded
    for name in names:
        if name in judged:
            yield Term(prefix + name, check.figures(name), name not in exceeded)
        else:
            why = PODS_IGNORED if name == PODS and check.asked.get(name) > 0 else NOT_ASKED
            yield Term(prefix + name, check.figures(name), None, why)


def limit_columns(check: LimitCheck, limit: str) -> tuple[str, ...]:
    """What the figures of such lines are."""
    return (*(name for name, _ in check.parts), "sum", limit)


def admits(
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


def not_open(session: Session, queue: QueueName) -> str:
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
    def of(cls, session: Session, queue: QueueName, figure: str, check: LimitCheck) -> QueueCheck:
        """A check of a queue of the session, or of the root above them."""
        info = session.queues.get(queue)
        own = info.capability if info is not None else None
        return cls(queue, figure, check, Resource.from_list(own) if own else None)

    def unjudged(self) -> QueueCheck:
        """The same where the answer does not depend on amounts."""
        return self._replace(check=self.check._replace(asked=Resource()))

    @property
    def exceeded(self) -> list[str]:
        """Dimensions in which the request is too much; empty where the plugin refuses for another reason."""
        return self.check.exceeded

    @property
    def first(self) -> str:
        """The dimension to speak of."""
        return next(iter(self.exceeded), CPU)

    @property
    def hard(self) -> bool:
        """Whether the queue's own capability is what limits this dimension."""
        name = next(iter(self.exceeded), PODS)
        return self.capability is not None and self.capability.get(name) == self.check.limit.get(name)

    def limit_of(self, name: str) -> str:
        """`8 cpu`."""
        return f"{self._written(name, self.check.limit)} {name}"

    def taken_of(self, name: str) -> str:
        """`4`."""
        return self._written(name, self.check.taken)

    def request_of(self, name: str) -> str:
        """`2`."""
        return self._written(name, self.check.request)

    def total_of(self, name: str) -> str:
        """What would be taken with the request: `6`."""
        return self._written(name, self.check.total)

    def _written(self, name: str, what: Resource) -> str:
        """An amount in enough digits to differ from the limit that it is compared with."""
        compared = (self.check.request, self.check.taken, self.check.total, self.check.limit)
        return amount_text.amount(name, what.get(name), digits_apart(name, (each.get(name) for each in compared)))

    def over(self, name: str) -> str:
        """By how much the limit would be exceeded."""
        return amount_text.amount(name, self.check.over(name))

    def beside(self) -> str:
        """The other dimensions in which it is too much, to be said after the first."""
        others = [name for name in self.exceeded if name != self.first]
        return f" ({amount_text.listed(others)} exceeded too)" if others else ""

    def lines(self) -> tuple[str, ...]:
        """The arithmetic, dimension by dimension."""
        return tuple(self._line(name) for name in self.exceeded)

    def _line(self, name: str) -> str:
        parts = " ".join(
            f"{'-' if part == ELASTIC else '+'} {part} {self._written(name, amount)}"
            for part, amount in self.check.parts
            if part not in (REQUEST, MINIMUM)
        )
        asked, limit = self.request_of(name), self._written(name, self.check.limit)
        return f"queue {self.queue}, {name}: request {asked} {parts} > {self.figure} {limit}"

    def short(self) -> dict[str, Number]:
        """By how much, for programs."""
        return {f"short.{name}": amounts.number(name, self.check.over(name)) for name in self.exceeded}

    def numbers(self) -> dict[str, Number]:
        """The same as the lines."""
        return {
            **amounts.numbers("queue.taken", self.check.taken, self.exceeded),
            **amounts.numbers("queue.limit", self.check.limit, self.exceeded),
            **self.short(),
        }


def first_exceeded(checks: list[QueueCheck]) -> QueueCheck:
    """The queue, or the nearest ancestor, that is full; the queue where none is."""
    return next((each for each in checks if each.exceeded), checks[0])
