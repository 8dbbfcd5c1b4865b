"""numa-aware: a node's free CPUs by NUMA node, and those a container could take. Upstream: plugins/numaaware."""

from collections.abc import Iterator

from vcdebug.amount_text import count_noun, format_named_amount, format_number, join_names
from vcdebug.explain.answer import Advice, AdviceHarm
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.explain.predicate_reasons import ConstraintFailure, ConstraintKind
from vcdebug.grouping import group_by_key
from vcdebug.model.numa import format_cpu_list, set_members
from vcdebug.model.resource import CPU
from vcdebug.plugins.numa_aware import STATIC_POLICY, NumaAware, NumaRoom
from vcdebug.plugins.numa_aware.assignment import SINGLE_NUMA_NODE

SCORE_FORMULA = "100 − 100 × NUMA nodes that the CPUs touch / the most on any node, × weight"
ROOM_FORMULA = "· free  █ taken; a container's whole CPUs have to suit the node's topology policy"


def score_equation(asked_node: AskedNode, part: str) -> Equation | None:
    """How many NUMA nodes the assigned CPUs touch."""
    result = asked_node.session.plugin_of_class(NumaAware).numa_spans(asked_node.task, asked_node.nodes)
    if result is None:
        return None
    index = asked_node.row_index
    spans, max_span, score = result.spans[index], max(result.spans), result.scores[index]
    terms = (
        Term("CPUs", (format_cpu_list(result.cpus[index]) or "none",), None),
        Term("NUMA nodes touched", (spans,), None),
        Term("the most on any node", (max_span,), None),
    )
    note = f"weight {result.weight}: {format_number(score)}"
    return Equation(f"NUMA nodes on {asked_node.node.name}", SCORE_FORMULA, ("",), "check", terms, score, None, note)


def check_equations(asked_node: AskedNode) -> Iterator[Equation]:
    """Yields the check of a node: its NUMA nodes with free CPUs, then the CPUs of each container."""
    verdict = asked_node.session.plugin_of_class(NumaAware).numa_room(asked_node.task, asked_node.node.name)
    if verdict is None:
        return
    refusal = verdict.refusal if not verdict.containers else ""
    policies = f"{verdict.cpu_manager or 'no CPU manager'}, {verdict.policy or 'no policy'}"
    policy = Term("policies of node and pod", (policies, None, verdict.asked_policy or None), not refusal, refusal)
    terms = (policy, *_numa_node_terms(verdict), *_container_terms(verdict))
    title = f"NUMA on {asked_node.node.name}"
    columns = ("CPUs", "free", "asked")
    yield Equation(title, ROOM_FORMULA, columns, "check", terms, not verdict.refusal, None, verdict.refusal)


def _numa_node_terms(verdict: NumaRoom) -> Iterator[Term]:
    for numa, cpus in verdict.numa.items():
        free = cpus & verdict.free
        picture = "".join("·" if free >> cpu & 1 else "█" for cpu in set_members(cpus))
        yield Term(f"NUMA node {numa}", (picture, format_cpu_list(free) or "none", None), None)
    if verdict.reserved:
        yield Term("reserved", (None, format_cpu_list(verdict.reserved), None), None, "kept for the system")


def _container_terms(verdict: NumaRoom) -> Iterator[Term]:
    for item in verdict.containers:
        hints = [hint for hint in item.hints or () if hint.nodes is not None]
        fitting = " or ".join(format_cpu_list(hint.nodes) for hint in hints if hint.nodes is not None)
        best = " or ".join(format_cpu_list(hint.nodes) for hint in hints if hint.nodes is not None and hint.preferred)
        words = f"NUMA nodes with enough: {fitting or 'none'}; preferred: {best or 'none'}"
        figures = ("none" if not item.cpus else format_cpu_list(item.cpus), None, item.cpu_count)
        yield Term(f"container {item.name}", figures, item.cpus is not None, words if item.hints is not None else "")


def find_numa_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures for nodes that refuse the pod: their kubelets' policies, the pod's, and the free CPUs."""
    plugin = fits.view.session.plugin_of_class(NumaAware)
    verdicts = ((node.name, plugin.numa_room(fits.task, node.name)) for node in fits.of_kind("unresolvable"))
    refused = [(name, result) for name, result in verdicts if result is not None and result.refusal]
    for (text, known, is_held), names in group_by_key(
        ((*_failure_words(fits, name, result), _are_cpus_held(result)), name) for name, result in refused
    ).items():
        kubelet_runs = "The kubelets of {} run" if len(names) > 1 else "The kubelet of {} runs"
        sentence = text.format(kubelet_runs=kubelet_runs.format(join_names(names)), nodes=join_names(names))
        advice = _POLICY_ADVICE if known else Advice.from_outside(_EXPORTER_ADVICE, AdviceHarm.CLUSTER)
        yield ConstraintFailure(sentence, (advice,), ConstraintKind.NUMA, is_temporary=is_held)


_EXPORTER_ADVICE = "Run Volcano's resource-exporter on every node, and capture the nodes' Numatopology objects."


_POLICY_ADVICE = Advice.for_owner("Ask for a NUMA policy that kubelets run and have CPUs for, or configure a kubelet.")


def _failure_words(fits: NodeFits, node: str, verdict: NumaRoom) -> tuple[str, bool]:
    """(sentence with placeholders for the nodes, whether the snapshot has their Numatopology)."""
    if not verdict.numa:
        return "Nothing in the snapshot says which policies {nodes} follow (no Numatopology object)", False
    if verdict.cpu_manager != STATIC_POLICY and not verdict.containers:
        return f"{{kubelet_runs}} CPU manager policy {verdict.cpu_manager or 'none'}, not static", True
    if verdict.asked_policy and verdict.policy != verdict.asked_policy:
        asks = f"{fits.task.name} asks for {verdict.asked_policy}"
        return f"{{kubelet_runs}} NUMA policy {verdict.policy or 'none'}; {asks}", True
    unfit = next((container for container in verdict.containers if container.cpus is None), None)
    free = join_names(f"{(cpus & verdict.free).bit_count()} in NUMA node {numa}" for numa, cpus in verdict.numa.items())
    request = f"Container {unfit.name} asks {unfit.cpu_count} whole CPUs" if unfit is not None else "It asks whole CPUs"
    return (
        f"{request} under policy {verdict.policy}; free on {{nodes}}: {free}{_stale_words(fits, node, verdict)}",
        True,
    )


def _are_cpus_held(verdict: NumaRoom) -> bool:
    """Whether a container lacks only CPUs that are taken: in one NUMA node, or for other policies in all together."""
    unfit = next((one for one in verdict.containers if one.cpus is None), None)
    usable = [cpus & ~verdict.reserved for cpus in verdict.numa.values()]
    if verdict.policy != SINGLE_NUMA_NODE:
        usable = [sum(usable)]  # exact: ints, of which no two have a CPU in common
    taken = (cpus for cpus in usable if cpus & ~verdict.free)
    return unfit is not None and any(cpus.bit_count() >= unfit.cpu_count for cpus in taken)


def _stale_words(fits: NodeFits, node: str, verdict: NumaRoom) -> str:
    """That more CPUs are counted as taken than all pods of the node request; empty if not."""
    used = fits.view.session.nodes[node].used.get(CPU)
    taken = sum((cpus & ~verdict.free & ~verdict.reserved).bit_count() for cpus in verdict.numa.values())
    if taken * 1000 <= used:
        return ""
    counted = f"Numatopology {node} counts {count_noun(taken, 'CPU')} as taken"
    return f". {counted}, and the pods there request {format_named_amount(CPU, used)}: it can be out of date"


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_numa_failures)
