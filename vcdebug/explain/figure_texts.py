"""An equation's figures in words, each in the unit of its line or in its own, and the whole for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from vcdebug.explain import amounts
from vcdebug.explain.equation import Amount, Equation, Figure, Ratio, Term, Verdict
from vcdebug.model.resource import Resource


class Writing(NamedTuple):
    """How numbers are written: in full words, or as briefly as a table has room for."""

    amount: Callable[[str, float], str]
    number: Callable[[float], str]
    resource: Callable[[Resource], str]


WORDS: Final = Writing(amounts.amount, "{:.4g}".format, amounts.resource)


def figure_text(found: Equation, term: Term, figure: Figure, writing: Writing = WORDS) -> str:
    """A figure in its own unit, else in the unit of its line; whole numbers are counts."""
    if figure is None:
        return "–"
    if isinstance(figure, bool):
        return "yes" if figure else "no"
    if isinstance(figure, Resource):
        return writing.resource(figure)
    if isinstance(figure, Amount):
        return writing.amount(figure.dimension, figure)
    if not isinstance(figure, float):
        return str(figure)
    if found.kind != "dimension" or isinstance(figure, Ratio):
        return writing.number(figure)
    return writing.amount(term.name.split(" ")[-1], figure)


def figure_words(found: Equation, term: Term) -> str:
    """`used 4, request 2, allocatable 8`; what has no figure is left out."""
    told = zip(found.columns, term.figures, strict=False)
    return ", ".join(
        f"{head} {figure_text(found, term, figure)}".strip() for head, figure in told if figure not in (None, "")
    )


def equation_document(found: Equation) -> dict[str, object]:
    """For programs, the keys are a contract: amounts in milli-cores, bytes and thousandths."""
    return {
        "title": found.title,
        "formula": found.formula,
        "columns": list(found.columns),
        "terms": [
            {
                "name": term.name,
                "figures": [_plain(figure) for figure in term.figures],
                "holds": term.holds,
                **({"note": term.note} if term.note else {}),
            }
            for term in found.terms
        ],
        "verdict": _plain(found.verdict),
        **({"deciding": found.deciding} if found.deciding else {}),
        **({"note": found.note} if found.note else {}),
        **({"compared": found.compared} if found.compared else {}),
    }


def _plain(figure: Figure | Verdict) -> object:
    if isinstance(figure, Resource):
        return dict(figure.items())
    if isinstance(figure, Amount):
        return float(figure)
    return list(figure) if isinstance(figure, tuple) else figure
