"""An equation for programs: the keys are a contract."""

from __future__ import annotations

from vcdebug.explain.equation import Amount, Equation, Figure, Verdict
from vcdebug.model.resource import Resource


def equation_document(found: Equation) -> dict[str, object]:
    """Formula, columns, lines and what they come to; amounts in milli-cores, bytes and thousandths."""
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
