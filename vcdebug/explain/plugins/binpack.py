"""binpack: how full the task would make the node, resource by resource.

Upstream: plugins/binpack.
"""

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.plugins.binpack import MAX_SCORE, Binpack

COLUMNS = ("used", "request", "sum", "allocatable", "weight", "part")


def score_equation(asked: AskedNode, part: str) -> Equation:
    """The score of the node: per resource the weighted fraction that would be used with the task."""
    plugin = asked.plugin_of_kind(Binpack)
    request, used, max_score = asked.task.resreq, asked.node.used, MAX_SCORE * plugin.weight
    packing = plugin.bin_packing_score(request, used, asked.node.allocatable)
    terms = tuple(
        Term(
            one.name,
            (used.get(one.name), request.get(one.name), one.wanted, one.capacity, one.weight, Ratio(one.share)),
            one.fits,
        )
        for one in packing.parts
    )
    formula = f"score = sum of parts / {packing.weights} × {max_score}; 0 where it does not fit"
    note, title = f"results in {format_number(packing.score)}", f"binpack of {asked.task.key} on {asked.node.name}"
    return Equation(title, formula, COLUMNS, "dimension", terms, packing.score, None, note)


EXPLAINER = PluginExplainer(scores=score_equation)
