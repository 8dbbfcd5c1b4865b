"""numa-aware: the node's CPUs drawn by NUMA node, what is free, and which of them each container could take.

Upstream: plugins/numaaware.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import number
from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugin import PluginWords
from vcdebug.model.numa import cpu_list, members
from vcdebug.plugins.numa_aware import NumaAware, NumaRoom

SCORE_FORMULA = "100 − 100 × NUMA nodes that the CPUs touch / the most on any node, × weight"
ROOM_FORMULA = "■ free  □ taken; a container's whole CPUs have to suit the node's topology policy"


def inside(asked: Asked, part: str) -> Equation | None:
    """How many NUMA nodes the assigned CPUs touch."""
    found = asked.plugin(NumaAware).spans(asked.task, asked.nodes)
    if found is None:
        return None
    place = asked.place
    spans, most, score = found.spans[place], max(found.spans), found.scores[place]
    terms = (
        Term("CPUs", (cpu_list(found.cpus[place]) or "none",), None),
        Term("NUMA nodes touched", (spans,), None),
        Term("the most on any node", (most,), None),
    )
    note = f"weight {found.weight}: {number(score)}"
    return Equation(f"NUMA nodes on {asked.node.name}", SCORE_FORMULA, ("",), "check", terms, score, None, note)


def refusals(asked: Asked) -> Iterator[Equation]:
    """The NUMA nodes drawn, then each container's CPUs."""
    found = asked.plugin(NumaAware).room(asked.task, asked.node.name)
    if found is None:
        return
    kept = found.refusal if not found.containers else ""
    policies = f"{found.cpu_manager or 'no CPU manager'}, {found.policy or 'no policy'}"
    policy = Term("policies of node and pod", (policies, None, found.asked_policy or None), not kept, kept)
    terms = (policy, *_drawn(found), *_containers(found))
    title = f"NUMA on {asked.node.name}"
    columns = ("CPUs", "free", "asked")
    yield Equation(title, ROOM_FORMULA, columns, "check", terms, not found.refusal, None, found.refusal)


def _drawn(found: NumaRoom) -> Iterator[Term]:
    for numa, cpus in found.numa.items():
        free = cpus & found.free
        picture = "".join("■" if free >> cpu & 1 else "□" for cpu in members(cpus))
        yield Term(f"NUMA node {numa}", (picture, cpu_list(free) or "none", None), None)
    if found.reserved:
        yield Term("reserved", (None, cpu_list(found.reserved), None), None, "kept for the system")


def _containers(found: NumaRoom) -> Iterator[Term]:
    for one in found.containers:
        taken = "none" if not one.cpus else cpu_list(one.cpus)
        fitting = [cpu_list(hint.nodes) for hint in one.hints or () if hint.nodes is not None]
        preferred = [cpu_list(hint.nodes) for hint in one.hints or () if hint.nodes is not None and hint.preferred]
        words = (
            f"NUMA nodes with enough: {' or '.join(fitting) or 'none'}; preferred: {' or '.join(preferred) or 'none'}"
        )
        asks = one.hints is not None
        yield Term(f"container {one.name}", (taken, None, one.asked), one.cpus is not None, words if asks else "")


WORDS = PluginWords(scores=inside, refusals=refusals)
