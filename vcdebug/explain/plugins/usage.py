"""usage: measured and estimated load against the thresholds, and what is left as a score.

Upstream: plugins/usage.
"""

from collections.abc import Iterator

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Ratio, Term, all_hold, first_failing
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.plugins.usage import MeasuredUsage, NodeLoad, Usage

FORMULA = "100 × weight × sum of (1 − load) × weight of the resource / sum of those weights"
COLUMNS = ("measured %", "estimated", "load", "weight", "(1 − load) × weight")
THRESHOLD_FORMULA = "measured load in percent ≤ threshold; a measurement older than five minutes refuses no pod"
STALE = "not measured in the last five minutes: it scores 0"


def _node_load(asked: AskedNode) -> NodeLoad:
    plugin = asked.session.plugins[Usage.name]
    assert isinstance(plugin, Usage | MeasuredUsage)
    return plugin.node_load(asked.task, asked.session.node_table.single_row(asked.row))


def score_equation(asked: AskedNode, part: str) -> Equation:
    """How busy the node is, by measurement and by estimate since then."""
    found = _node_load(asked)
    terms = tuple(
        Term(
            one.name,
            (Ratio(one.percent), one.estimated, Ratio(one.load), one.weight, Ratio((1.0 - one.load) * one.weight)),
            None,
        )
        for one in found.busy
    )
    note = f"weight {found.weight}, score {format_number(found.score)}" if found.fresh else STALE
    title = f"usage of {asked.node.name}"
    return Equation(title, FORMULA, COLUMNS, "dimension", terms, found.score, None, note)


def check_equations(asked: AskedNode) -> Iterator[Equation]:
    """The measured load against the thresholds."""
    found = _node_load(asked)
    terms = tuple(
        Term(one.name, (Ratio(one.percent), Ratio(one.threshold)), not (found.fresh and one.percent > one.threshold))
        for one in found.busy
    )
    note = "" if found.fresh else "not measured in the last five minutes"
    title, columns = f"usage: load of {asked.node.name}", ("measured %", "threshold %")
    failing = first_failing(terms)
    yield Equation(title, THRESHOLD_FORMULA, columns, "dimension", terms, all_hold(terms), failing, note)


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations)
