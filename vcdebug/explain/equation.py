"""Equation: the arithmetic behind a plugin's answer, with the figures at that event. Upstream: api/resource_info."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, Literal

from msgspec import Struct

from vcdebug import amount_text
from vcdebug.amount_text import distinct_decimals, format_number
from vcdebug.explain.answer import Number, amount_number, amount_numbers
from vcdebug.framework.hooks import PRE_PREDICATE, SIMULATE_ADD_TASK, SIMULATE_REMOVE_TASK
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.record import HookEvent, Level
from vcdebug.framework.session import Session
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.queue import ELASTIC, MINIMUM, OPEN, REQUEST, LimitCheck
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource
from vcdebug.recording.event_index import TASK, seqs_before
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import state_before, task_of
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import bare_name


# Subclasses of float, so that a figure knows its unit while arithmetic and JSON treat it as a plain number.
class Ratio(float):
    """A number without a unit, such as a share, in a term whose other figures are amounts."""


class UnitAmount(Ratio):
    """An amount with its dimension in cores, bytes or pieces, as manifests and quotas state amounts."""

    __slots__ = ("dimension",)

    dimension: str

    @classmethod
    def of(cls, units: float, dimension: str) -> UnitAmount:
        """An amount of a dimension, in cores, bytes or pieces."""
        amount = cls(units)
        amount.dimension = dimension
        return amount


class DimensionAmount(float):
    """An amount with its own dimension, for terms whose name is no dimension."""

    __slots__ = ("dimension",)

    dimension: str

    @classmethod
    def from_resource(cls, resource: Resource, dimension: str) -> DimensionAmount:
        """The amount that a resource has in a dimension."""
        amount = cls(resource.get(dimension))
        amount.dimension = dimension
        return amount


TermFigure = float | int | str | bool | Resource | None
"""A number or word; a whole Resource only in terms whose name is no dimension."""
EquationVerdict = bool | int | float | tuple[str, ...] | Resource | None
"""As the trace writes a hook's result or a plugin's figure; for JobValid whether it passes, for operations whether the
books agree."""
TermKind = Literal["dimension", "check", "task", "queue"]


class Term(Struct, frozen=True):
    """One line of an equation, its figures aligned with the equation's columns."""

    name: str
    """A dimension (cpu, memory, nvidia.com/gpu), a check, or a task (namespace/name); see the equation's `kind`."""
    figures: tuple[TermFigure, ...]
    is_met: bool | None
    """Whether this line satisfies the formula; None if the plugin does not judge it."""
    note: str = ""
    """What this term lacks or why it is not judged, in words."""
    comparison: str = ""
    """The figures as one comparison, if their heads alone do not show it."""


class Equation(Struct, frozen=True):
    """A formula, its lines, and their result."""

    title: str
    formula: str
    columns: tuple[str, ...]
    """The meaning of each figure of a term, from left to right."""
    kind: TermKind
    terms: tuple[Term, ...]
    verdict: EquationVerdict
    deciding_name: str | None = None
    """The name of the term that decided; None if no single term did."""
    note: str = ""
    """What else decided: a rule that applies before the arithmetic, or a quirk of upstream."""
    comparison_name: str = ""
    """The upstream comparison of resources that judges the terms; empty if none does."""

    @property
    def deciding_term(self) -> Term | None:
        """The term named by `deciding_name`; None without one."""
        return next((term for term in self.terms if term.name == self.deciding_name), None)


JOB_NOT_IN_SESSION = "its job is not in the session"


def victim_equation(
    title: str, formula: str, columns: tuple[str, ...], terms: Sequence[Term], note: str = ""
) -> Equation:
    """The equation of a vote on victims: one term per candidate, in call order; the verdict lists those that hold."""
    victims = tuple(term.name for term in terms if term.is_met)
    return Equation(title, formula, columns, "task", tuple(terms), victims, None, note)


def first_failing(terms: tuple[Term, ...]) -> str | None:
    """The name of the first term that does not hold; None if all hold."""
    return next((term.name for term in terms if term.is_met is False), None)


def all_hold(terms: tuple[Term, ...]) -> bool:
    """Whether no term fails; unjudged terms count as holding."""
    return first_failing(terms) is None


def judged_equation(
    title: str, formula: str, columns: tuple[str, ...], terms: tuple[Term, ...], note: str = "", compared: str = ""
) -> Equation:
    """An equation of amounts that holds if all of its lines do; the first that does not decides."""
    decided = first_failing(terms)
    return Equation(title, formula, columns, "dimension", terms, decided is None, decided, note, compared)


def barred_equation(title: str, formula: str, reason: str) -> Equation:
    """The equation of what is refused before any arithmetic."""
    return Equation(title, formula, (), "dimension", (), False, None, reason)


ResourceWriter = Callable[[Resource], str]
"""Formats a whole resource, with full names for texts or short ones for tables."""


def format_figure(
    equation: Equation, term: Term, figure: TermFigure, write: ResourceWriter = amount_text.format_resource
) -> str:
    """The text of a figure in its unit, else the term's, with enough digits to differ from the term's other figures."""
    if figure is None:
        return "–"
    if isinstance(figure, bool):
        return "yes" if figure else "no"
    if isinstance(figure, Resource):
        return write(figure)
    if not isinstance(figure, float):
        return str(figure)
    dimension = _dimension_of(equation, term, figure)
    floats = (other for other in term.figures if isinstance(other, float))
    # Rounding both sides of a comparison to the same text would show a refusal as `4 > 4`.
    comparable = [float(other) for other in floats if _dimension_of(equation, term, other) == dimension]
    if not dimension:
        return amount_text.format_number(figure, distinct_decimals(comparable))
    if isinstance(figure, UnitAmount):
        return amount_text.format_unit_amount(dimension, figure, *comparable)
    return amount_text.format_amounts_apart(dimension, figure, *comparable)[0]


def _dimension_of(equation: Equation, term: Term, figure: float) -> str:
    """The dimension of a figure; empty for a number without a unit."""
    if isinstance(figure, DimensionAmount | UnitAmount):
        return figure.dimension
    return "" if equation.kind != "dimension" or isinstance(figure, Ratio) else term.name.split(" ")[-1]


def format_figures(equation: Equation, term: Term) -> str:
    """`used 4, request 2, allocatable 8`; columns without a figure are left out."""
    pairs = zip(equation.columns, term.figures, strict=False)
    return ", ".join(
        f"{column} {format_figure(equation, term, figure)}".strip()
        for column, figure in pairs
        if figure not in (None, "")
    )


def equation_json(equation: Equation) -> dict[str, object]:
    """The equation as JSON with stable keys; amounts in milli-cores, bytes and thousandths."""
    return {
        "title": equation.title,
        "formula": equation.formula,
        "columns": list(equation.columns),
        "terms": [
            {
                "name": term.name,
                "figures": [_plain_figure(figure) for figure in term.figures],
                "holds": term.is_met,
                **({"note": term.note} if term.note else {}),
            }
            for term in equation.terms
        ],
        "verdict": _plain_figure(equation.verdict),
        **({"deciding": equation.deciding_name} if equation.deciding_name else {}),
        **({"note": equation.note} if equation.note else {}),
        **({"compared": equation.comparison_name} if equation.comparison_name else {}),
    }


def _plain_figure(figure: TermFigure | EquationVerdict) -> object:
    if isinstance(figure, Resource):
        return dict(figure.items())
    if isinstance(figure, DimensionAmount):
        return float(figure)
    # JSON knows no tuples, and a verdict that is read back has to equal the written one.
    return list(figure) if isinstance(figure, tuple) else figure


# Upstream's comparisons of resources in words: which dimensions count, what a missing one means, the tolerance.

TOLERANCE_NOTE: Final = "more by less than 0.1 still fits"
LESS_EQUAL: Final = f"LessEqual, Zero: all dimensions; one that is not stated counts as 0; {TOLERANCE_NOTE}"
LESS_EQUAL_NAMES: Final = (
    "LessEqualWithResourcesName, Zero: all dimensions of the left side; one that is not stated counts as 0; "
    f"{TOLERANCE_NOTE}"
)
WITH_DIMENSION: Final = (
    "LessEqualWithDimensionAndResourcesName: dimensions that are asked for, without pods; one that the "
    "limit does not state counts as 0; no tolerance"
)
LESS_EQUAL_PARTLY: Final = (
    "LessEqualPartlyWithDimensionZeroFiltered: one dimension that is asked for is enough, those left out in which both "
    f"sides hold nothing; {TOLERANCE_NOTE}"
)
GREATER_PARTLY: Final = (
    "GreaterPartlyWithRelevantDimensions: more in one dimension that is asked for and that the limit states; no "
    "tolerance"
)
MINIMUM_INFINITY: Final = (
    "MinDimensionResource, Infinity: a dimension that the capability does not state is not limited by it"
)
WITHIN_LIMIT: Final = f"{WITH_DIMENSION}; the limit itself: {MINIMUM_INFINITY}"
PARTLY_CLAIMED: Final = f"what is deserved: {LESS_EQUAL_PARTLY}; the limit: {WITH_DIMENSION}"
UNLIMITED_CLAIMED: Final = f"what is deserved: {LESS_EQUAL_PARTLY}"
WHOLLY_CLAIMED: Final = f"what is deserved and the limit: {WITH_DIMENSION}"
NOT_STATED: Final = "not stated: it counts as 0"


def tolerance_note(lacks: float) -> str:
    """Why a term holds although `lacks` is missing: the amount is below upstream's tolerance."""
    return f"short by {format_number(lacks)}, less than the tolerance of 0.1"


NOT_REQUESTED = "not asked for"
NO_MINIMUM = "the PodGroup states no minResources"
PODS_IGNORED = "pods are not compared here"


def all_dimensions(*resources: Resource) -> list[str]:
    """The dimensions of these resources: cpu, memory, and every scalar that any of them has."""
    scalars = [name for resource in resources for name in resource.scalars or ()]
    return [CPU, MEMORY, *sorted(dict.fromkeys(scalars))]


def limit_terms(check: LimitCheck, names: Iterable[str], prefix: str = "") -> Iterator[Term]:
    """One line per dimension, judged as the plugin judges."""
    judged, exceeded = check.judged_dimensions, check.exceeded_dimensions
    for name in names:
        if name in judged:
            yield Term(prefix + name, check.figures_of(name), name not in exceeded)
        else:
            reason = PODS_IGNORED if name == PODS and check.requested.get(name) > 0 else NOT_REQUESTED
            yield Term(prefix + name, check.figures_of(name), None, reason)


def limit_columns(check: LimitCheck, limit: str) -> tuple[str, ...]:
    """The column heads of the terms of `limit_terms`."""
    return (*(name for name, _ in check.summands), "sum", limit)


def admission_equation(
    title: str,
    formula: str,
    columns: tuple[str, ...],
    terms: Iterable[Term],
    objection: str = "",
    free: str = "",
    kind: TermKind = "dimension",
) -> Equation:
    """Whether a PodGroup is admitted: no line speaks against it, and nothing that counts before any arithmetic does;
    `free` says why no line counts.
    """
    lines = tuple(terms)
    verdict = PERMIT if not objection and (free or all_hold(lines)) else REJECT
    return Equation(title, formula, columns, kind, lines, verdict, first_failing(lines), objection or free)


def not_open_reason(session: Session, queue: QueueName) -> str:
    """In words, that a queue's state refuses everything; empty for an open one."""
    state = session.queues[queue].state
    return "" if state == OPEN else f"the queue's state is {state or 'not set'}, not {OPEN}"


class QueueCheck(Struct, frozen=True, dict=True):
    """A plugin's check of the limit of a queue or of one of its ancestors."""

    queue: QueueName
    figure: str
    """The plugin's figure that is the limit: `deserved` or `realCapability`."""
    check: LimitCheck
    capability: Resource | None = None
    """The capability that the queue states; None if it states none."""

    @classmethod
    def for_queue(cls, session: Session, queue: QueueName, figure: str, check: LimitCheck) -> QueueCheck:
        """The check with the capability of the session's queue; the root queue may not be in the session."""
        info = session.queues.get(queue)
        capability = info.capability if info is not None else None
        return cls(queue, figure, check, Resource.from_list(capability) if capability else None)

    @cached_property
    def exceeded_dimensions(self) -> list[str]:
        """Dimensions in which usage plus request exceed the limit; empty if the plugin refuses for another reason."""
        return self.check.exceeded_dimensions

    @property
    def first_dimension(self) -> str:
        """The first exceeded dimension; cpu if none is."""
        return next(iter(self.exceeded_dimensions), CPU)

    @property
    def dimensions_alone_exceeded(self) -> list[str]:
        """Exceeded dimensions in which the request alone is larger than the limit: an empty queue does not help."""
        request, limit = self.check.request, self.check.limit
        return [name for name in self.exceeded_dimensions if request.get(name) > limit.get(name)]

    @property
    def is_capability(self) -> bool:
        """Whether the limit of the first exceeded dimension is the queue's own capability."""
        return self.limit_kind(next(iter(self.exceeded_dimensions), PODS)) == "capability"

    def limit_kind(self, name: str) -> str:
        """`capability` if the queue's own capability limits the dimension, else the figure that sets the limit."""
        is_own = self.capability is not None and self.capability.get(name) == self.check.limit.get(name)
        return "capability" if is_own else self.figure

    def format_limit(self, name: str) -> str:
        """The limit of a dimension, such as `8`."""
        return self._format_amount(name, self.check.limit)

    @cached_property
    def taken(self) -> Resource:
        """The usage without the request."""
        return self.check.sum_without_request

    def format_usage(self, name: str) -> str:
        """The usage of a dimension without the request, such as `4`."""
        return self._format_amount(name, self.taken)

    def request_of(self, name: str) -> str:
        """The request in a dimension, such as `2`."""
        return self._format_amount(name, self.check.request)

    def total_of(self, name: str) -> str:
        """The usage including the request: `6`."""
        return self._format_amount(name, self.check.total)

    def _format_amount(self, name: str, resource: Resource) -> str:
        """The text of an amount, with enough digits to differ from usage, request and limit."""
        compared = (resource, self.check.request, self.taken, self.check.total, self.check.limit)
        return amount_text.format_amounts_apart(name, *[amounts.get(name) for amounts in compared])[0]

    def format_excess(self, name: str) -> str:
        """The amount by which the request would exceed the limit in a dimension."""
        return amount_text.format_amount(name, self.check.excess_of(name))

    @property
    def further_dimensions(self) -> str:
        """The names of the exceeded dimensions after the first; empty if there is only one."""
        return amount_text.join_names(name for name in self.exceeded_dimensions if name != self.first_dimension)

    def missing_amounts(self) -> str:
        """`2 cpu and 2Gi memory`: by how much the limit would have to grow, in every exceeded dimension."""
        texts = (amount_text.format_named_amount(name, self.check.excess_of(name)) for name in self.exceeded_dimensions)
        return " and ".join(texts)

    def raised_limit_edits(self, field: str) -> tuple[str, ...]:
        """Edits that raise a field of the queue to usage plus request, in every exceeded dimension."""
        return tuple(
            f"Queue/{self.queue}:spec.{field}{field_step(name)}="
            f"{amount_text.quantity_text(name, self.check.total.get(name))}"
            for name in self.exceeded_dimensions
        )

    def arithmetic_lines(self) -> tuple[str, ...]:
        """The arithmetic of each exceeded dimension, one line each."""
        return tuple(self._arithmetic_line(name) for name in self.exceeded_dimensions)

    def _arithmetic_line(self, name: str) -> str:
        parts = " ".join(
            f"{'-' if part == ELASTIC else '+'} {part} {self._format_amount(name, amount)}"
            for part, amount in self.check.summands
            if part not in (REQUEST, MINIMUM)
        )
        request, limit = self.request_of(name), self._format_amount(name, self.check.limit)
        return f"queue {self.queue}, {name}: request {request} {parts} > {self.limit_kind(name)} {limit}"

    def excess_numbers(self) -> dict[str, Number]:
        """The excess of each exceeded dimension, as JSON numbers."""
        return {f"short.{name}": amount_number(name, self.check.excess_of(name)) for name in self.exceeded_dimensions}

    def limit_numbers(self) -> dict[str, Number]:
        """Usage, limit and excess of each exceeded dimension, as JSON numbers."""
        return {
            **amount_numbers("queue.taken", self.taken, self.exceeded_dimensions),
            **amount_numbers("queue.limit", self.check.limit, self.exceeded_dimensions),
            **self.excess_numbers(),
        }


def first_exceeded(checks: list[QueueCheck]) -> QueueCheck:
    """The first check of the queue and its ancestors that is exceeded; the queue's own if none is."""
    return next((check for check in checks if check.exceeded_dimensions), checks[0])


SIMULATED_EXCHANGES = {SIMULATE_ADD_TASK.upstream: True, SIMULATE_REMOVE_TASK.upstream: False}


def dry_run_start(recording: Recording, seq: Seq, plugin: str, task: TaskKey) -> Seq | None:
    """The last PrePredicate event of a plugin for the task, at which its simulations start; None without one."""
    calls = recording.filter_events(HookEvent, seqs_before(recording.index.seqs_about(TASK, task), seq))
    starts = (at_seq for at_seq, event in calls if (event.plugin, event.point) == (plugin, PRE_PREDICATE.upstream))
    return next(starts, None)


def simulated_allocation(
    recording: Recording, start: Seq, seq: Seq, plugin: str, queue: QueueName, family: Collection[QueueName]
) -> Resource:
    """A queue's allocation with the dry run's additions and removals; tasks of the queues in `family` count."""
    total = state_before(recording, start).plugin_amount(plugin, queue, "allocated").clone()
    span = recording.span_tree.span_around(seq, Level.NODE)
    for _, event in recording.filter_events(HookEvent, range(seq if span is None else span.first, seq)):
        if event.plugin == plugin and event.result is None and event.point in SIMULATED_EXCHANGES:
            task = task_of(recording, event.other)
            if recording.owners.queues.get(task.job) in family:
                # In call order: adding in another order would give a float sum that differs from the plugin's.
                total = total.add(task.resreq) if SIMULATED_EXCHANGES[event.point] else total.sub(task.resreq)
    return total


_SHORT_PARTS = {
    "NodeResourcesFit_LeastAllocated": "least",
    "NodeResourcesFit_MostAllocated": "most",
    "NodeResourcesBalancedAllocation": "balanced",
    "NodeAffinity": "affinity",
    "InterPodAffinity": "podaffinity",
    "TaintToleration": "taints",
    "PodTopologySpread": "spread",
    "ImageLocality": "image",
    "DynamicResources": "dra",
}


def short_part(name: str) -> str:
    """`nodeorder/batch/NodeAffinity` -> `affinity`; other names stay."""
    tail = bare_name(name)
    return _SHORT_PARTS.get(tail, name.replace("/batch", " batch"))
