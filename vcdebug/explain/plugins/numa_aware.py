"""numa-aware: the node's CPUs drawn by NUMA node, what is free, and which of them each container could take.

Upstream: plugins/numaaware.
"""

from collections.abc import Iterator

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.model.numa import format_cpu_list, set_members
from vcdebug.plugins.numa_aware import NumaAware, NumaRoom

SCORE_FORMULA = "100 − 100 × NUMA nodes that the CPUs touch / the most on any node, × weight"
ROOM_FORMULA = "· free  █ taken; a container's whole CPUs have to suit the node's topology policy"


def score_equation(asked: AskedNode, part: str) -> Equation | None:
    """How many NUMA nodes the assigned CPUs touch."""
    found = asked.plugin_of_kind(NumaAware).numa_spans(asked.task, asked.nodes)
    if found is None:
        return None
    place = asked.row_index
    spans, most, score = found.spans[place], max(found.spans), found.scores[place]
    terms = (
        Term("CPUs", (format_cpu_list(found.cpus[place]) or "none",), None),
        Term("NUMA nodes touched", (spans,), None),
        Term("the most on any node", (most,), None),
    )
    note = f"weight {found.weight}: {format_number(score)}"
    return Equation(f"NUMA nodes on {asked.node.name}", SCORE_FORMULA, ("",), "check", terms, score, None, note)


def check_equations(asked: AskedNode) -> Iterator[Equation]:
    """The NUMA nodes drawn, then each container's CPUs."""
    found = asked.plugin_of_kind(NumaAware).numa_room(asked.task, asked.node.name)
    if found is None:
        return
    kept = found.refusal if not found.containers else ""
    policies = f"{found.cpu_manager or 'no CPU manager'}, {found.policy or 'no policy'}"
    policy = Term("policies of node and pod", (policies, None, found.asked_policy or None), not kept, kept)
    terms = (policy, *_numa_node_terms(found), *_container_terms(found))
    title = f"NUMA on {asked.node.name}"
    columns = ("CPUs", "free", "asked")
    yield Equation(title, ROOM_FORMULA, columns, "check", terms, not found.refusal, None, found.refusal)


def _numa_node_terms(found: NumaRoom) -> Iterator[Term]:
    for numa, cpus in found.numa.items():
        free = cpus & found.free
        picture = "".join("·" if free >> cpu & 1 else "█" for cpu in set_members(cpus))
        yield Term(f"NUMA node {numa}", (picture, format_cpu_list(free) or "none", None), None)
    if found.reserved:
        yield Term("reserved", (None, format_cpu_list(found.reserved), None), None, "kept for the system")


def _container_terms(found: NumaRoom) -> Iterator[Term]:
    for one in found.containers:
        taken = "none" if not one.cpus else format_cpu_list(one.cpus)
        fitting = [format_cpu_list(hint.nodes) for hint in one.hints or () if hint.nodes is not None]
        preferred = [
            format_cpu_list(hint.nodes) for hint in one.hints or () if hint.nodes is not None and hint.preferred
        ]
        words = (
            f"NUMA nodes with enough: {' or '.join(fitting) or 'none'}; preferred: {' or '.join(preferred) or 'none'}"
        )
        asks = one.hints is not None
        yield Term(f"container {one.name}", (taken, None, one.asked), one.cpus is not None, words if asks else "")


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations)
