"""A term's figures in one line of words."""

from __future__ import annotations

from vcdebug.explain.amounts import amount
from vcdebug.explain.equation import Equation, Figure, Ratio, Term


def figure_words(found: Equation, term: Term) -> str:
    """`used 4, request 2, allocatable 8`; what has no figure is left out."""
    dimension = term.name.split(" ")[-1] if found.kind == "dimension" else ""
    told = zip(found.columns, term.figures, strict=False)
    return ", ".join(
        f"{head} {_figure(dimension, figure)}".strip() for head, figure in told if figure not in (None, "")
    )


def _figure(dimension: str, figure: Figure) -> str:
    if isinstance(figure, float) and dimension and not isinstance(figure, Ratio):
        return amount(dimension, figure)
    if isinstance(figure, bool):
        return "yes" if figure else "no"
    return f"{figure:.4g}" if isinstance(figure, float) else str(figure)
