"""binpack: how full the task would make the node, resource by resource.

Upstream: plugins/binpack.
"""

from __future__ import annotations

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugin import PluginWords
from vcdebug.model.node import NodeInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.binpack import MAX_SCORE, Binpack

COLUMNS = ("used", "request", "sum", "allocatable", "weight", "part")


def inside(asked: Asked, part: str) -> Equation | None:
    """The weighted fractions that would be used."""
    plugin = asked.plugin(Binpack)
    return None if plugin is None else packed(plugin, asked.task, asked.node, asked.node.used)


def packed(plugin: Binpack, task: TaskInfo, node: NodeInfo, used: Resource) -> Equation:
    """The same with what is used at some moment."""
    request, most = task.resreq, MAX_SCORE * plugin.weight
    found = plugin.packed(request, used, node.allocatable)
    terms = tuple(
        Term(
            one.name,
            (used.get(one.name), request.get(one.name), one.wanted, one.capacity, one.weight, Ratio(one.share)),
            one.fits,
        )
        for one in found.parts
    )
    formula = f"score = sum of parts / {found.weights} × {most}; 0 where it does not fit"
    note, title = f"comes to {found.score:g}", f"binpack of {task.key} on {node.name}"
    return Equation(title, formula, COLUMNS, "dimension", terms, found.score, None, note)


WORDS = PluginWords(scores=inside)
