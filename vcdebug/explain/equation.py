"""Equation: the arithmetic behind one answer, every number from the session at that moment, and it in words.

Upstream: api/resource_info.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from vcdebug import amount_text
from vcdebug.amount_text import decimals_apart, digits_apart, format_number
from vcdebug.model.resource import Resource


class Ratio(float):
    """A number without a unit in a line of amounts."""


class UnitAmount(Ratio):
    """An amount of a dimension in cores, bytes or pieces, as documents and quotas hold it."""

    __slots__ = ("dimension",)

    dimension: str

    @classmethod
    def of(cls, units: float, dimension: str) -> UnitAmount:
        """So many units of a dimension."""
        found = cls(units)
        found.dimension = dimension
        return found


class DimensionAmount(float):
    """An amount of a dimension in a line that is not itself one of a dimension."""

    __slots__ = ("dimension",)

    dimension: str

    @classmethod
    def from_resource(cls, what: Resource, dimension: str) -> DimensionAmount:
        """What a resource holds of a dimension."""
        found = cls(what.get(dimension))
        found.dimension = dimension
        return found


TermFigure = float | int | str | bool | Resource | None
"""One number or word; amounts per dimension only where a term is not itself a dimension."""
EquationVerdict = bool | int | float | tuple[str, ...] | Resource | None
"""As the trace writes a hook's result or a plugin's figure; for JobValid whether it passes, for operations whether the
books agree."""
TermKind = Literal["dimension", "check", "task", "queue"]


@dataclass(frozen=True, slots=True)
class Term:
    """One line of an equation, its figures aligned with the equation's columns."""

    name: str
    """A dimension (cpu, memory, nvidia.com/gpu), a check, or a task (namespace/name), as the equation's `kind` says."""
    figures: tuple[TermFigure, ...]
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
    verdict: EquationVerdict
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


JOB_NOT_IN_SESSION = "its job is not in the session"


def victim_equation(
    title: str, formula: str, columns: tuple[str, ...], terms: Sequence[Term], note: str = ""
) -> Equation:
    """Who becomes a victim: one line per candidate in the order asked."""
    victims = tuple(term.name for term in terms if term.holds)
    return Equation(title, formula, columns, "task", tuple(terms), victims, None, note)


def first_failing(terms: tuple[Term, ...]) -> str | None:
    """The first line that speaks against."""
    return next((term.name for term in terms if term.holds is False), None)


def all_hold(terms: tuple[Term, ...]) -> bool:
    """Whether no line speaks against."""
    return first_failing(terms) is None


ResourceWriter = Callable[[Resource], str]
"""Writes a whole resource: with full names, or as briefly as a table has room for."""


def format_figure(
    found: Equation, term: Term, figure: TermFigure, write: ResourceWriter = amount_text.format_resource
) -> str:
    """A figure in its own unit, else in the unit of its line, in enough digits to differ from others of its line."""
    if figure is None:
        return "–"
    if isinstance(figure, bool):
        return "yes" if figure else "no"
    if isinstance(figure, Resource):
        return write(figure)
    if not isinstance(figure, float):
        return str(figure)
    dimension = _dimension_of(found, term, figure)
    floats = (each for each in term.figures if isinstance(each, float))
    alike = [float(each) for each in floats if _dimension_of(found, term, each) == dimension]
    if not dimension:
        return amount_text.format_number(figure, decimals_apart(alike))
    if isinstance(figure, UnitAmount):
        return amount_text.format_unit_amount(dimension, figure)
    return amount_text.format_amount(dimension, figure, digits_apart(dimension, alike))


def _dimension_of(found: Equation, term: Term, figure: float) -> str:
    """What a figure is an amount of; empty for a number without a unit."""
    if isinstance(figure, DimensionAmount | UnitAmount):
        return figure.dimension
    return "" if found.kind != "dimension" or isinstance(figure, Ratio) else term.name.split(" ")[-1]


def format_figures(found: Equation, term: Term) -> str:
    """`used 4, request 2, allocatable 8`; what has no figure is left out."""
    told = zip(found.columns, term.figures, strict=False)
    return ", ".join(
        f"{head} {format_figure(found, term, figure)}".strip() for head, figure in told if figure not in (None, "")
    )


def equation_json(found: Equation) -> dict[str, object]:
    """For programs, the keys are a contract: amounts in milli-cores, bytes and thousandths."""
    return {
        "title": found.title,
        "formula": found.formula,
        "columns": list(found.columns),
        "terms": [
            {
                "name": term.name,
                "figures": [_plain_figure(figure) for figure in term.figures],
                "holds": term.holds,
                **({"note": term.note} if term.note else {}),
            }
            for term in found.terms
        ],
        "verdict": _plain_figure(found.verdict),
        **({"deciding": found.deciding} if found.deciding else {}),
        **({"note": found.note} if found.note else {}),
        **({"compared": found.compared} if found.compared else {}),
    }


def _plain_figure(figure: TermFigure | EquationVerdict) -> object:
    if isinstance(figure, Resource):
        return dict(figure.items())
    if isinstance(figure, DimensionAmount):
        return float(figure)
    return list(figure) if isinstance(figure, tuple) else figure


# Upstream's comparisons of resources in words: which dimensions count, what a missing one means, the tolerance.

TOLERANCE_NOTE: Final = "more by less than 0.1 still fits"
LESS_EQUAL: Final = f"LessEqual, Zero: all dimensions; one that is not stated counts as 0; {TOLERANCE_NOTE}"
LESS_EQUAL_NAMES: Final = (
    "LessEqualWithResourcesName, Zero: all dimensions of the left side; one that is not stated counts as 0; "
    f"{TOLERANCE_NOTE}"
)
WITH_DIMENSION: Final = (
    "LessEqualWithDimensionAndResourcesName: dimensions that are asked for, pods left out; one that the limit does not "
    "state counts as 0; no tolerance"
)
LESS_EQUAL_PARTLY: Final = (
    "LessEqualPartlyWithDimensionZeroFiltered: one dimension that is asked for is enough, those left out in which both "
    f"sides hold nothing; {TOLERANCE_NOTE}"
)
GREATER_PARTLY: Final = (
    "GreaterPartlyWithRelevantDimensions: more in one dimension that is asked for and that the limit states; no "
    "tolerance"
)
MINIMUM_INFINITY: Final = (
    "MinDimensionResource, Infinity: a dimension that the capability does not state is not limited by it"
)
WITHIN_LIMIT: Final = f"{WITH_DIMENSION}; the limit itself: {MINIMUM_INFINITY}"
PARTLY_CLAIMED: Final = f"what is deserved: {LESS_EQUAL_PARTLY}; the limit: {WITH_DIMENSION}"
UNLIMITED_CLAIMED: Final = f"what is deserved: {LESS_EQUAL_PARTLY}"
WHOLLY_CLAIMED: Final = f"what is deserved and the limit: {WITH_DIMENSION}"
NOT_STATED: Final = "not stated: it counts as 0 (Zero)"


def tolerance_note(lacks: float) -> str:
    """Why a line holds although something is missing."""
    return f"short by {format_number(lacks)}, less than the tolerance of 0.1"
