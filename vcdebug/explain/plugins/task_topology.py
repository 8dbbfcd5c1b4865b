"""task-topology: how much of the task's bucket a node holds or has room for.

Upstream: plugins/task-topology.
"""

from __future__ import annotations

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugin import PluginWords
from vcdebug.plugins.task_topology import TaskTopology

FORMULA = "100 × weight × (tasks there + tasks that wait − tasks that must be left out) / tasks of the largest bucket"


def inside(asked: Asked, part: str) -> Equation | None:
    """The bucket beside the node's room."""
    plugin = asked.plugin(TaskTopology)
    found = None if plugin is None else plugin.together(asked.task, asked.nodes)
    if found is None:
        return None
    place = asked.place
    present, left_out, waiting = int(found.present[place]), int(found.left_out[place]), len(found.bucket.tasks)
    small = bool(found.small[place])
    terms = (
        Term("of the bucket on the node, less what its role avoids", (present,), None),
        Term("of the bucket without a node", (waiting,), None),
        Term("to be left out until the rest fits", (-left_out,), None),
    )
    score = float(found.scores[place])
    why = "the task itself has no room in idle + releasing" if small else ""
    note = why or f"{present + waiting - left_out} of {found.largest}, weight {found.weight}: {score:g}"
    title = f"task-topology: bucket {found.bucket.index} on {asked.node.name}"
    return Equation(title, FORMULA, ("tasks",), "check", terms, score, None, note)


WORDS = PluginWords(scores=inside)
