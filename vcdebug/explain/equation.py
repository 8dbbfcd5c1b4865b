"""Equation: the arithmetic behind one answer, every number from the session at that moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vcdebug.model.resource import Resource


class Ratio(float):
    """A number without a unit in a line of amounts."""


class Amount(float):
    """An amount of a dimension in a line that is not itself one of a dimension."""

    __slots__ = ("dimension",)

    dimension: str

    @classmethod
    def of(cls, what: Resource, dimension: str) -> Amount:
        """What a resource holds of a dimension."""
        found = cls(what.get(dimension))
        found.dimension = dimension
        return found


Figure = float | int | str | bool | Resource | None
"""One number or word; amounts per dimension only where a term is not itself a dimension."""
Verdict = bool | int | float | tuple[str, ...] | Resource | None
"""As the trace writes a hook's result or a plugin's figure; for JobValid whether it passes, for operations whether the
books agree."""
TermKind = Literal["dimension", "check", "task", "queue"]


@dataclass(frozen=True, slots=True)
class Term:
    """One line of an equation, its figures aligned with the equation's columns."""

    name: str
    """A dimension (cpu, memory, nvidia.com/gpu), a check, or a task (namespace/name), as the equation's `kind` says."""
    figures: tuple[Figure, ...]
    holds: bool | None
    """Whether this line speaks for the answer that its formula asks about; None where it is not judged."""
    note: str = ""
    """In words: what this line lacks, or why it is not judged."""


@dataclass(frozen=True, slots=True)
class Equation:
    """A formula, its lines, and what they come to."""

    title: str
    formula: str
    columns: tuple[str, ...]
    """What the figures of a term are, from left to right."""
    kind: TermKind
    terms: tuple[Term, ...]
    verdict: Verdict
    deciding: str | None = None
    """The name of the term that decided, where one did."""
    note: str = ""
    """What else led to the answer: a rule that came before the arithmetic, a quirk."""

    compared: str = ""
    """Which of upstream's comparisons of resources judges the lines, where one does."""

    @property
    def deciding_term(self) -> Term | None:
        """The term that decided."""
        return next((term for term in self.terms if term.name == self.deciding), None)


NO_JOB = "its job is not in the session"


def choice(title: str, formula: str, columns: tuple[str, ...], terms: Sequence[Term], note: str = "") -> Equation:
    """Who becomes a victim: one line per candidate in the order asked."""
    victims = tuple(term.name for term in terms if term.holds)
    return Equation(title, formula, columns, "task", tuple(terms), victims, None, note)


def first_failing(terms: tuple[Term, ...]) -> str | None:
    """The first line that speaks against."""
    return next((term.name for term in terms if term.holds is False), None)


def all_hold(terms: tuple[Term, ...]) -> bool:
    """Whether no line speaks against."""
    return first_failing(terms) is None
