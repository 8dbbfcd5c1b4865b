"""binpack: how full the task would make the node, resource by resource.

Upstream: plugins/binpack.
"""

from __future__ import annotations

from vcdebug.amount_text import number
from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugin import PluginWords
from vcdebug.plugins.binpack import MAX_SCORE, Binpack

COLUMNS = ("used", "request", "sum", "allocatable", "weight", "part")


def inside(asked: Asked, part: str) -> Equation:
    """The weighted fractions that would be used."""
    plugin = asked.plugin(Binpack)
    request, used, most = asked.task.resreq, asked.node.used, MAX_SCORE * plugin.weight
    found = plugin.packed(request, used, asked.node.allocatable)
    terms = tuple(
        Term(
            one.name,
            (used.get(one.name), request.get(one.name), one.wanted, one.capacity, one.weight, Ratio(one.share)),
            one.fits,
        )
        for one in found.parts
    )
    formula = f"score = sum of parts / {found.weights} × {most}; 0 where it does not fit"
    note, title = f"comes to {number(found.score)}", f"binpack of {asked.task.key} on {asked.node.name}"
    return Equation(title, formula, COLUMNS, "dimension", terms, found.score, None, note)


WORDS = PluginWords(scores=inside)
