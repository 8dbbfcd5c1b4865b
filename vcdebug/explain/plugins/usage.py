"""usage: measured and estimated load against the thresholds, and what is left as a score. Upstream: plugins/usage."""

from collections.abc import Iterator

from vcdebug.amount_text import format_number, join_names
from vcdebug.explain.equation import Equation, Ratio, Term, judged_equation
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.explain.predicate_reasons import ConstraintFailure
from vcdebug.grouping import group_by_key
from vcdebug.plugins.usage import MeasuredUsage, NodeLoad, Usage

FORMULA = "100 × weight × sum of (1 − load) × weight of the resource / sum of those weights"
COLUMNS = ("measured %", "estimated", "load", "weight", "(1 − load) × weight")
THRESHOLD_FORMULA = "measured load in percent ≤ threshold; a measurement older than five minutes refuses no pod"
STALE = "not measured in the last five minutes: it scores 0"


def _node_load(asked_node: AskedNode) -> NodeLoad:
    plugin = asked_node.session.plugins[Usage.name]
    assert isinstance(plugin, Usage | MeasuredUsage)
    return plugin.node_load(asked_node.task, asked_node.session.node_table.single_row(asked_node.row))


def score_equation(asked_node: AskedNode, part: str) -> Equation:
    """How busy the node is, by measurement and by estimate since then."""
    load, terms = _node_load(asked_node), []
    for one in load.loads:
        weighted = Ratio((1.0 - one.load) * one.weight)
        terms.append(Term(one.name, (Ratio(one.percent), one.estimated, Ratio(one.load), one.weight, weighted), None))
    note = f"weight {load.weight}, score {format_number(load.score)}" if load.is_recent else STALE
    title = f"usage of {asked_node.node.name}"
    return Equation(title, FORMULA, COLUMNS, "dimension", tuple(terms), load.score, None, note)


def check_equations(asked_node: AskedNode) -> Iterator[Equation]:
    """Yields the check of a node: its measured load against the thresholds."""
    load, terms = _node_load(asked_node), []
    for part in load.loads:
        is_met = not (load.is_recent and part.percent > part.threshold)
        terms.append(Term(part.name, (Ratio(part.percent), Ratio(part.threshold)), is_met))
    note = "" if load.is_recent else "not measured in the last five minutes"
    title, columns = f"usage: load of {asked_node.node.name}", ("measured %", "threshold %")
    yield judged_equation(title, THRESHOLD_FORMULA, columns, tuple(terms), note)


def find_load_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """The measured loads of the refusing nodes against the threshold, the lowest first."""
    session = fits.view.session
    plugin, table = session.plugins[Usage.name], session.node_table
    assert isinstance(plugin, Usage | MeasuredUsage)
    node_loads = ((n.name, plugin.node_load(fits.task, table.single_row(table.row_of[n.name]))) for n in fits.node_fits)
    exceeding = (
        ((part.name, part.threshold), (part.percent, name))
        for name, load in node_loads
        for part in (load.loads if load.is_recent else ())
        if part.percent > part.threshold
    )
    for (resource, threshold), loads in group_by_key(exceeding).items():
        lowest = join_names(f"{name} {format_number(percent)} %" for percent, name in sorted(loads))
        limit = f"nodes with a measured {resource} load above {format_number(threshold)} %"
        yield ConstraintFailure(f"Plugin usage rejects {limit}: {lowest}", is_temporary=True)


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_load_failures)
