"""binpack: how full the task would make the node, resource by resource. Upstream: plugins/binpack."""

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.plugins.binpack import MAX_SCORE, Binpack

COLUMNS = ("used", "request", "sum", "allocatable", "weight", "part")


def score_equation(node: AskedNode, part: str) -> Equation:
    """The score of the node: per resource the weighted fraction that would be used with the task."""
    plugin, terms = node.session.plugin_of_class(Binpack), []
    request, used, max_score = node.task.resreq, node.node.used, MAX_SCORE * plugin.weight
    packing = plugin.bin_packing_score(request, used, node.node.allocatable)
    for one in packing.parts:
        amounts = (used.get(one.name), request.get(one.name), one.used_after, one.capacity)
        terms.append(Term(one.name, (*amounts, one.weight, Ratio(one.share)), one.request_fits))
    formula = f"score = sum of parts / {packing.weights} × {max_score}; 0 where it does not fit"
    note, title = f"results in {format_number(packing.score)}", f"binpack of {node.task.key} on {node.node.name}"
    return Equation(title, formula, COLUMNS, "dimension", tuple(terms), packing.score, None, note)


EXPLAINER = PluginExplainer(scores=score_equation)
