"""nodegroup: the node's group against the queue's affinity and limits.

Upstream: plugins/nodegroup.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugin import PluginWords
from vcdebug.plugins.nodegroup import NodeGroup, Standing

FORMULA = "100 for a required group, up to 50 for a preferred one, -1 for one better avoided"
ACCEPT_FORMULA = "the node's group is one that the queue requires or prefers, and within the queue's limit there"
LISTS = ("required", "preferred", "avoided", "better avoided")


def _standing(asked: Asked) -> Standing | None:
    plugin = asked.plugin(NodeGroup)
    return None if plugin is None else plugin.standing(asked.task, asked.node.name)


def _lists(found: Standing) -> tuple[Term, ...]:
    affinity = found.queue.affinity if found.queue is not None else None
    if affinity is None:
        return ()
    lists = (affinity.required, affinity.preferred, affinity.anti_required, affinity.anti_preferred)
    return tuple(
        Term(name, (", ".join(groups), "yes" if found.group in groups else "no"), None)
        for name, groups in zip(LISTS, lists, strict=True)
    )


def inside(asked: Asked, part: str) -> Equation | None:
    """What the queue's affinity says about the node's group."""
    found = _standing(asked)
    affinity = found.queue.affinity if found is not None and found.queue is not None else None
    if found is None or affinity is None:
        return None
    score = 0.0 if found.group is None else affinity.score(found.group, ordered=found.ordered)
    title = f"nodegroup: group {found.group or 'none'} of {asked.node.name}"
    return Equation(title, FORMULA, ("groups", "it is in"), "check", _lists(found), score, None, f"score {score:g}")


def refusals(asked: Asked) -> Iterator[Equation]:
    """The group, the queue's lists, and the limit."""
    found = _standing(asked)
    if found is None:
        return
    own = Term("node's group", (found.group, f"queue {found.queue_name}"), not found.refusal, found.refusal)
    terms = [own, *_lists(found)]
    limit = (found.queue.limits or {}).get(found.group or "") if found.queue is not None else None
    if limit is not None and found.queue is not None:
        held = found.queue.allocated.get(found.group or "")
        for name in limit:
            used = f"{held.get(name) if held is not None else 0:g} + {asked.task.resreq.get(name):g} used and asked"
            terms.append(Term(f"limit of {name}", (str(limit[name]), used), None))
    title = f"nodegroup: the queue's groups on {asked.node.name}"
    yield Equation(title, ACCEPT_FORMULA, ("groups", ""), "check", tuple(terms), not found.refusal, None, found.refusal)


WORDS = PluginWords(scores=inside, refusals=refusals)
