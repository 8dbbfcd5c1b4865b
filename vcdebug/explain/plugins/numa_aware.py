"""numa-aware: the node's CPUs drawn by NUMA node, what is free, and which of them each container could take.

Upstream: plugins/numaaware.
"""

from collections.abc import Iterator

from vcdebug.amount_text import format_number, join_names
from vcdebug.explain.answer import AdviceHarm, ConstraintFailure, ConstraintKind, outside_advice, owner_advice
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.grouping import group_by_key
from vcdebug.model.numa import format_cpu_list, set_members
from vcdebug.plugins.numa_aware import STATIC_POLICY, NumaAware, NumaRoom

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


def find_numa_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    """What the kubelets of the refusing nodes run against what the pod asks, and the CPUs that are free there."""
    plugin = room.view.session.plugins[NumaAware.name]
    assert isinstance(plugin, NumaAware)
    judged = ((node.name, plugin.numa_room(room.task, node.name)) for node in room.of_kind("unresolvable"))
    refused = [(name, found) for name, found in judged if found is not None and found.refusal]
    for (said, known), names in group_by_key((_failure_words(room, found), name) for name, found in refused).items():
        kubelet_runs = "The kubelets of {} run" if len(names) > 1 else "The kubelet of {} runs"
        shown = said.format(kubelet_runs=kubelet_runs.format(join_names(names)), nodes=join_names(names))
        advice = _POLICY_ADVICE if known else outside_advice(_EXPORTER_ADVICE, AdviceHarm.CLUSTER)
        yield ConstraintFailure(shown, (advice,), ConstraintKind.NUMA)


_EXPORTER_ADVICE = "Run Volcano's resource-exporter on every node, and capture the nodes' Numatopology objects."


_POLICY_ADVICE = owner_advice("Ask for a NUMA policy that kubelets run and have CPUs for, or configure a kubelet.")


def _failure_words(room: NodeFits, found: NumaRoom) -> tuple[str, bool]:
    """A sentence with places for the nodes, and whether the snapshot has their Numatopology."""
    if not found.numa:
        return "Nothing in the snapshot says which policies {nodes} follow (no Numatopology object)", False
    if found.cpu_manager != STATIC_POLICY and not found.containers:
        return f"{{kubelet_runs}} CPU manager policy {found.cpu_manager or 'none'}, not static", True
    if found.asked_policy and found.policy != found.asked_policy:
        asks = f"{room.task.name} asks for {found.asked_policy}"
        return f"{{kubelet_runs}} NUMA policy {found.policy or 'none'}; {asks}", True
    lacking = next((one for one in found.containers if one.cpus is None), None)
    free = join_names(f"{(cpus & found.free).bit_count()} in NUMA node {numa}" for numa, cpus in found.numa.items())
    asked = f"Container {lacking.name} asks {lacking.asked} whole CPUs" if lacking is not None else "It asks whole CPUs"
    return f"{asked} under policy {found.policy}; free on {{nodes}}: {free}", True


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_numa_failures)
