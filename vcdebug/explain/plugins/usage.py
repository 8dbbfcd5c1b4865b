"""usage: measured and estimated load against the thresholds, and what is left as a score.

Upstream: plugins/usage.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import number
from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Ratio, Term, all_hold, first_failing
from vcdebug.explain.plugin import PluginWords
from vcdebug.plugins.usage import NodeLoad, Usage
from vcdebug.plugins.usage.measured import MeasuredUsage

FORMULA = "100 × weight × sum of (1 − load) × weight of the resource / sum of those weights"
COLUMNS = ("measured %", "estimated", "load", "weight", "(1 − load) × weight")
THRESHOLD_FORMULA = "measured load in percent ≤ threshold; a measurement older than five minutes refuses nobody"
STALE = "not measured in the last five minutes: it scores 0"


def _load(asked: Asked) -> NodeLoad:
    plugin = asked.session.plugins[Usage.name]
    assert isinstance(plugin, Usage | MeasuredUsage)
    return plugin.node_load(asked.task, asked.session.node_table.single(asked.row))


def inside(asked: Asked, part: str) -> Equation:
    """How busy the node is, by measurement and by estimate since then."""
    found = _load(asked)
    terms = tuple(
        Term(
            one.name,
            (Ratio(one.percent), one.estimated, Ratio(one.load), one.weight, Ratio((1.0 - one.load) * one.weight)),
            None,
        )
        for one in found.busy
    )
    note = f"weight {found.weight}, score {number(found.score)}" if found.fresh else STALE
    title = f"usage of {asked.node.name}"
    return Equation(title, FORMULA, COLUMNS, "dimension", terms, found.score, None, note)


def refusals(asked: Asked) -> Iterator[Equation]:
    """The measured load beside the thresholds."""
    found = _load(asked)
    terms = tuple(
        Term(one.name, (Ratio(one.percent), Ratio(one.threshold)), not (found.fresh and one.percent > one.threshold))
        for one in found.busy
    )
    note = "" if found.fresh else "not measured in the last five minutes"
    title, columns = f"usage: load of {asked.node.name}", ("measured %", "threshold %")
    failing = first_failing(terms)
    yield Equation(title, THRESHOLD_FORMULA, columns, "dimension", terms, all_hold(terms), failing, note)


WORDS = PluginWords(scores=inside, refusals=refusals)
