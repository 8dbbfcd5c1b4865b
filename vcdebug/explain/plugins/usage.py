"""usage: measured and estimated load against the thresholds, and what is left as a score.

Upstream: plugins/usage.
"""

from collections.abc import Iterator

from vcdebug.amount_text import format_number, join_names
from vcdebug.explain.answer import ConstraintFailure
from vcdebug.explain.equation import Equation, Ratio, Term, judged_equation
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.grouping import group_by_key
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
    yield judged_equation(title, THRESHOLD_FORMULA, columns, terms, note)


def find_load_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    """The measured loads of the refusing nodes against the threshold, the lowest first."""
    session = room.view.session
    plugin, table = session.plugins[Usage.name], session.node_table
    assert isinstance(plugin, Usage | MeasuredUsage)
    judged = ((n.name, plugin.node_load(room.task, table.single_row(table.row_of[n.name]))) for n in room.node_fits)
    beyond = (
        ((one.name, one.threshold), (one.percent, name))
        for name, load in judged
        for one in (load.busy if load.fresh else ())
        if one.percent > one.threshold
    )
    for (resource, threshold), loads in group_by_key(beyond).items():
        lowest = join_names(f"{name} {format_number(percent)} %" for percent, name in sorted(loads))
        limit = f"nodes with a measured {resource} load above {format_number(threshold)} %"
        yield ConstraintFailure(f"Plugin usage rejects {limit}: {lowest}")


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_load_failures)
