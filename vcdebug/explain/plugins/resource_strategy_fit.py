"""resource-strategy-fit: the score per resource, and room of scarce ones. Upstream: plugins/resource-strategy-fit."""

from collections.abc import Iterator

from vcdebug.amount_text import format_amount, format_amounts_apart, format_number, join_names, value_in_units
from vcdebug.explain.answer import Advice
from vcdebug.explain.equation import Equation, Ratio, Term, judged_equation
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.explain.predicate_reasons import ConstraintFailure
from vcdebug.grouping import group_by_key
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.plugins.resource_strategy_fit import CHECK_FAILED, FitPart, KeptFree, ResourceStrategyFit

FORMULA = "100 × weight × mean of the parts by weight; 0 where a resource does not fit"
COLUMNS = ("strategy", "used + request", "allocatable", "weight", "part")
SCARCE_FORMULA = "; scarce resources: 100 × their weight × (1 − weights of those that the node has / all weights)"
RATE_FORMULA = "idle cpu and memory without the task ≥ idle amount of the scarce resource × its rate"
CORE, GIGABYTE = 1000, 1e9


def score_equation(asked_node: AskedNode, part: str) -> Equation:
    """The score of a node: a term per requested resource by its strategy, then terms of scarce resources."""
    plugin = asked_node.session.plugin_of_class(ResourceStrategyFit)
    nodes, settings = asked_node.session.node_table.single_row(asked_node.row), plugin.settings
    terms = [_fit_term(one) for one in (plugin.fit_parts(asked_node.task, nodes) if settings.weight > 0 else ())]
    formula = FORMULA
    if settings.scarce.weight > 0:
        formula += SCARCE_FORMULA
        for name, weight in settings.scarce.resources.items():
            offered = asked_node.node.allocatable.get(name)
            terms.append(
                Term(f"scarce {name}", ("offered" if offered > 0 else "lacks", None, offered, weight, None), None)
            )
    score = float(plugin.node_order(asked_node.task, nodes).total[0])
    note = f"weight {settings.weight}, of scarce resources {settings.scarce.weight}: {format_number(score)}"
    title = f"resource-strategy-fit on {asked_node.node.name}"
    return Equation(title, formula, COLUMNS, "dimension", tuple(terms), score, None, note)


def _fit_term(fit_part: FitPart) -> Term:
    strategy, full = fit_part.strategy, bool(fit_part.full_mask[0])
    figures = (
        strategy.kind,
        float(fit_part.used_after[0]),
        float(fit_part.capacity[0]),
        strategy.weight,
        Ratio(float(fit_part.part[0])),
    )
    return Term(fit_part.name, figures, None, "it does not fit" if full else "")


def check_equations(node: AskedNode) -> Iterator[Equation]:
    """Yields the check whether the task leaves enough cpu and memory free for idle units of each scarce resource."""
    terms: list[Term] = []
    for room in node.session.plugin_of_class(ResourceStrategyFit).kept_free(
        node.task, node.session.node_table.single_row(node.row)
    ):
        rates, spare = Resource(room.rates.cpu * CORE, room.rates.memory * GIGABYTE), Resource(room.cpu, room.memory)
        terms.append(Term(room.name, (room.idle, rates, spare), not room.crowded))
    title, columns = f"resource-strategy-fit: proportions on {node.node.name}", ("idle", "each keeps", "would be left")
    yield judged_equation(title, RATE_FORMULA, columns, tuple(terms))


def find_proportion_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields what refusing nodes keep free for each idle unit of a scarce resource, and what the task would leave."""
    session, name = fits.view.session, ResourceStrategyFit.name
    plugin, table = session.plugin_of_class(ResourceStrategyFit), session.node_table
    checks = (
        (_kept_free_words(room), node.name)
        for node in fits.refused_for(CHECK_FAILED.partition("{")[0])
        for room in plugin.kept_free(fits.task, table.single_row(table.row_of[node.name]))
        if room.crowded
    )
    advice = Advice.cluster_admin(f"Lower proportional.resourceProportion in the arguments of {name}.")
    for words, nodes in group_by_key(checks).items():
        is_used = any(fits.tasks_on(node) for node in nodes)
        text = f"On {join_names(nodes)} {name} keeps {words}"
        yield ConstraintFailure(text, (advice,), is_temporary=is_used)


def _kept_free_words(room: KeptFree) -> str:
    """`6 cpu free for 4 idle nvidia.com/gpu (1.5 each), and the pod would leave 4`, of what is too little."""
    name, rate, left = CPU, room.rates.cpu * CORE, room.cpu
    if left >= room.idle * room.rates.cpu:
        name, rate, left = MEMORY, room.rates.memory * GIGABYTE, room.memory
    kept, rest = format_amounts_apart(name, value_in_units(room.name, room.idle) * rate, max(left, 0.0))
    idle = f"{format_amount(room.name, room.idle)} idle {room.name} ({format_amount(name, rate)} each)"
    return f"{kept} {name} free for {idle}, and the pod would leave {rest}"


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_proportion_failures)
