"""Facts of the graph that origins.py walks: a figure after an event, an event, a field of a manifest."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.amount_text import count_noun
from vcdebug.debugger import figures
from vcdebug.debugger.fields import fields_of
from vcdebug.debugger.figures import FUTURE_IDLE, JOB, NODE, PLUGIN, QUEUE, TASK, Figure
from vcdebug.explain.equation import DimensionAmount, Equation, Term
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.pod import NODE_ANNOTATION, TASK_PRIORITY_KEY
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import GROUP_ANNOTATION, JsonObject, key_of, name_of, namespace_of, spec_of


class FigureFact(NamedTuple):
    """A figure's value after an event; 0 is the opening state."""

    figure: Figure
    seq: Seq


class EventFact(NamedTuple):
    """An event of the recording."""

    seq: Seq


class FieldFact(NamedTuple):
    """A field of the snapshot."""

    kind: str
    name: str
    """`namespace/name`, or the name alone of an object without a namespace."""
    steps: tuple[str | int, ...]
    value: str


Fact = FigureFact | EventFact | FieldFact

MAX_SOURCES: Final = 6
"""Maximum number of sources of a fact; the rule states how many there are in all."""


class Source(Struct, frozen=True):
    """A fact from which another one follows, and its part in the rule."""

    role: str
    fact: Fact


class Origin(NamedTuple):
    """The rule by which a fact holds, and the facts that it reads."""

    rule: str = ""
    sources: tuple[Source, ...] = ()


def figure_parts(figure: Figure, parts: Iterable[str], seq: Seq) -> tuple[Source, ...]:
    """Sources for other parts of the figure's object, such as `idle`, after an event."""
    return tuple(Source(part, FigureFact(figure._replace(part=part), seq)) for part in parts)


def field_sources(fields: Iterable[FieldFact]) -> tuple[Source, ...]:
    """Sources for manifest fields that state a figure."""
    return tuple(Source("field", field) for field in fields)


def first_sources(rule: str, noun: str, sources: Iterable[Source], total: int = 0) -> Origin:
    """An Origin with at most MAX_SOURCES sources; the rule states the total if there are more.

    `total`: the number of sources, where only the first MAX_SOURCES are given.
    """
    items = tuple(sources)
    total = total or len(items)
    note = f" ({count_noun(total, noun)}, the first {MAX_SOURCES} are shown)" if total > MAX_SOURCES else ""
    return Origin(f"{rule}{note}", items[:MAX_SOURCES])


# Fields of manifests.

_STATED_FIELDS: Final = f"""\
node allocatable Node status.allocatable
node capacity Node status.capacity
queue weight Queue spec.weight
queue capability Queue spec.capability
queue guarantee Queue spec.guarantee.resource
queue ancestors Queue spec.parent
job minimum PodGroup spec.minMember
job priority PodGroup spec.priorityClassName
job phase PodGroup status.phase
task status Pod status.phase spec.nodeName metadata.deletionTimestamp
task node Pod spec.nodeName status.nominatedNodeName metadata.annotations.{NODE_ANNOTATION}
task job Pod metadata.annotations.{GROUP_ANNOTATION}
task priority Pod metadata.annotations.{TASK_PRIORITY_KEY} spec.priority spec.priorityClassName
"""
"""Kind and part of a figure, the kind of the manifest, and the fields that state the figure."""
STATED_FIELDS: Final[Mapping[tuple[str, str], tuple[str, list[str]]]] = {
    (kind, part): (manifest, paths) for kind, part, manifest, *paths in map(str.split, _STATED_FIELDS.splitlines())
}


def stated_fields(recording: Recording, figure: Figure) -> Iterator[FieldFact]:
    """The fields from which the session reads a figure; none for a figure that it computes."""
    if (figure.kind, figure.part) == (TASK, "request"):
        yield from _request_fields(recording, figure)
        return
    kind, paths = STATED_FIELDS.get((figure.kind, figure.part), ("", ()))
    manifest = find_manifest(recording, kind, figure.name) if kind else None
    for path in paths if manifest is not None else ():
        head, mark, key = path.partition(".annotations.")
        steps = (head, "annotations", key) if mark else path.split(".")
        field = read_field(kind, manifest or {}, *steps, *((figure.dim,) if figure.dim else ()))
        if field is not None:
            yield field
    if paths and paths[-1].endswith("priorityClassName"):
        yield from _class_fields(recording, figure)


def _class_fields(recording: Recording, figure: Figure) -> Iterator[FieldFact]:
    """The value of the PriorityClass behind a priority, for a job also that of the default class."""
    pod = recording.timeline.tasks[figure.name].pod if figure.kind == TASK else None
    name = pod.priority_class_name if pod else recording.session.jobs[figure.name].pod_group.priority_class_name
    classes = {name_of(manifest): manifest for manifest in recording.snapshot.objects_of("PriorityClass")}
    # The API server writes the default into pods; only for PodGroups the scheduler applies it, the last one by name.
    default = next((classes[one] for one in sorted(classes, reverse=True) if classes[one].get("globalDefault")), {})
    chosen = classes.get(name, default if pod is None else {})
    steps = ("value", "globalDefault") if chosen is default else ("value",)
    yield from (field for step in steps if (field := read_field("PriorityClass", chosen, step)) is not None)


def stated_queue_fields(recording: Recording, figure: Figure, rivals: Iterable[QueueName]) -> Iterator[FieldFact]:
    """The fields that limit a dimension of the queue: its own, and for the real capability what its rivals keep."""
    queues = {name_of(manifest): manifest for manifest in recording.snapshot.objects_of("Queue")}
    own = (("deserved",), ("capability",), ("guarantee", "resource"))
    paths = [(figure.name, path) for path in (own if figure.part == "deserved" else own[1:])]
    paths += [(name, own[-1]) for name in rivals if figure.part != "deserved"]
    for name, path in paths:
        field = read_field("Queue", queues.get(name, {}), "spec", *path, *((figure.dim,) if figure.dim else ()))
        if field is not None:
            yield field


def cluster_total(recording: Recording, dim: str) -> Iterator[FigureFact]:
    """What each node has of a dimension: the cluster's total is their sum."""
    for name, node in recording.session.nodes.items():
        if not dim or node.allocatable.get(dim) > 0:
            yield FigureFact(Figure(NODE, name, "allocatable", dim), 0)


def _request_fields(recording: Recording, figure: Figure) -> Iterator[FieldFact]:
    pod = find_manifest(recording, "Pod", figure.name) or {}
    dims = (figure.dim,) if figure.dim else ()
    wholes = (read_field("Pod", pod, "spec", *steps, *dims) for steps in (("overhead",), ("resources", "requests")))
    yield from filter(None, wholes)
    for part in ("containers", "initContainers"):
        for place, container in enumerate(spec_of(pod).get(part) or ()):
            for amounts in ("requests", "limits"):
                stated_amounts = (container.get("resources") or {}).get(amounts) or {}
                if figure.dim in stated_amounts or (not figure.dim and stated_amounts):
                    steps = ("spec", part, place, "resources", amounts, *dims)
                    yield FieldFact("Pod", figure.name, steps, _format_value(_value_at(pod, steps)))
                    # A limit counts as request only if the container states no request.
                    break


_COMPARED_FIELDS: Final = """\
index in the name: metadata.name
uid: metadata.uid
name: metadata.name
created: metadata.creationTimestamp
queue priority: spec.priority
priority: spec.priorityClassName
candidate: spec.priorityClassName
priority class: spec.priorityClassName
namespace: metadata.namespace
waiting: metadata.creationTimestamp
waiting time: metadata.annotations
cooldown: metadata.annotations
scheduled: status.conditions
"""
COMPARED_FIELDS: Final = {
    what: path.split(".") for what, _, path in (line.partition(": ") for line in _COMPARED_FIELDS.splitlines())
}
"""Criterion of a comparison, or column of an equation → the manifest field that states it."""
MANIFEST_KINDS: Final = {"task": "Pod", "victim": "Pod", "job": "PodGroup", "subjob": "PodGroup", "queue": "Queue"}
"""Kind of an element of a queue → the kind of its manifest."""


def compared_field(recording: Recording, element: str, name: str, criterion: str) -> FieldFact | None:
    """The manifest field behind a criterion by which an element is compared; None without one."""
    path, kind = COMPARED_FIELDS.get(criterion), MANIFEST_KINDS[element]
    manifest = find_manifest(recording, kind, recording.owners.sub_jobs.get(name, name)) if path else None
    if path is None or manifest is None:
        return None
    # A job's UID is its namespace and name; only pods and queues are compared by metadata.uid.
    return read_field(kind, manifest, *(["metadata", "name"] if (kind, criterion) == ("PodGroup", "uid") else path))


def find_manifest(recording: Recording, kind: str, name: str) -> JsonObject | None:
    """The manifest of an object by `namespace/name`, or by its name alone."""
    task = recording.timeline.tasks.get(name) if kind == "Pod" else None
    if task is not None:
        return task.pod.manifest
    manifests = recording.snapshot.objects_of(kind)
    return next((manifest for manifest in manifests if name in (key_of(manifest), name_of(manifest))), None)


def read_field(kind: str, manifest: JsonObject, *steps: str | int) -> FieldFact | None:
    """A field of a manifest; None where it is not stated."""
    value = _value_at(manifest, steps)
    name = key_of(manifest) if namespace_of(manifest) else name_of(manifest)
    return None if value is None else FieldFact(kind, name, steps, _format_value(value))


def _format_value(value: object) -> str:
    return ", ".join(f"{key}: {inner}" for key, inner in value.items()) if isinstance(value, dict) else str(value)


def _value_at(manifest: object, steps: Iterable[str | int]) -> object:
    for step in steps:
        if isinstance(manifest, dict):
            manifest = manifest.get(step)
        else:
            manifest = manifest[step] if isinstance(manifest, list) and isinstance(step, int) else None
    return manifest


# The figure behind each number of an equation.


_COLUMN_PARTS: Final = f"""\
future idle: {FUTURE_IDLE}
real capability: realCapability
limit: realCapability
overcommitted idle: idle
before: inqueue
have: ready waiting total
min: minimum
min available: minimum
tasks: total
candidate: priority
"""
"""Column of an equation → the figure parts that it may show under another name."""
COLUMN_PARTS: Final = {
    head: parts.split() for head, _, parts in (line.partition(": ") for line in _COLUMN_PARTS.splitlines())
}


def operand_figure(recording: Recording, seq: Seq, equation: Equation, term: Term, index: int) -> FigureFact | None:
    """The figure behind a number of a line: a part of its node, queue, job or task with the column's name and value."""
    title = equation.columns[index].lstrip("=+−- ").strip()
    cell = term.figures[index]
    dim = term.name.rpartition(" ")[2] if equation.kind == "dimension" else ""
    if isinstance(cell, DimensionAmount):
        dim = cell.dimension
    event = recording.event_at(seq)
    plugin = event.plugin if isinstance(event, HookEvent) else ""
    candidates = (
        candidate
        for kind, name in _iter_figure_owners(recording, seq, equation, term)
        for part in COLUMN_PARTS.get(title, (title,))
        for candidate in named_figures(recording, kind, name, part, dim)
        # Two plugins may have figures of the same name: a hook call reads those of its own plugin.
        if not plugin or candidate.plugin in ("", plugin)
    )
    # An equation may show the state before its event changed it.
    facts = (FigureFact(candidate, at_seq) for candidate in candidates for at_seq in (seq, seq - 1))
    return next((fact for fact in facts if _is_shown_value(recording, *fact, cell)), None)


def stated_operands(recording: Recording, seq: Seq, title: str, term: Term) -> Iterator[Fact]:
    """The fields, and the amounts of nodes and pods, behind a number that no figure keeps; none for other columns."""
    event = recording.event_at(seq)
    job = recording.session.jobs.get(event.job) if isinstance(event, HookEvent) else None
    if job is None:
        return
    manifest, (role_word, _, role) = job.pod_group.manifest, term.name.partition(" ")
    dim = term.name.rpartition(" ")[2]
    fields: list[FieldFact | None] = []
    if title in ("min resources", "change"):
        fields += [read_field("PodGroup", manifest, "spec", "minResources", dim)]
    elif title in ("used", "hard"):
        for quota in recording.snapshot.objects_of("ResourceQuota"):
            if namespace_of(quota) == job.namespace:
                fields += [read_field("ResourceQuota", quota, "status", title, dim)]
    elif role_word == "role" and title == "min":
        fields += [read_field("PodGroup", manifest, "spec", "minTaskMember", role)]
    elif role_word == "role" and title == "have":
        pods = (task.key for task in job.tasks.values() if task.task_role == role)
        yield from (FigureFact(Figure(TASK, key, "status"), seq) for key in pods)
    yield from (field for field in fields if field is not None)


def _iter_figure_owners(recording: Recording, seq: Seq, equation: Equation, term: Term) -> Iterator[tuple[str, str]]:
    """(kind, name) of possible owners of a term's figures: its task or queue, a queue in its cells, the event's."""
    if equation.kind == "task" and term.name in recording.owners.jobs:
        yield TASK, term.name
        yield JOB, recording.owners.jobs[term.name]
    # A line about one dimension of a queue and its ancestors names the queue first.
    if equation.kind == "queue" or term.name.rpartition(" ")[0] in recording.session.queues:
        yield QUEUE, term.name if equation.kind == "queue" else term.name.rpartition(" ")[0]
    if QUEUE in equation.columns[: len(term.figures)]:
        yield QUEUE, str(term.figures[equation.columns.index(QUEUE)])
    fields = fields_of(recording, seq)
    for kind in (NODE, QUEUE, JOB, TASK, PLUGIN):
        name = fields(kind)
        if isinstance(name, str):
            yield kind, name


def named_figures(recording: Recording, kind: str, name: str, part: str, dim: str) -> Iterator[Figure]:
    """The figures of an object with this part: its own, then those of plugins."""
    if kind not in figures.FIGURE_KINDS or name not in figures.object_names(recording, kind):
        return
    if part in figures.OWN_PARTS[kind]:
        yield Figure(kind, name, part, dim)
    for plugin, books in recording.timeline.figures.items():
        if part in books.get("" if kind == PLUGIN and name == plugin else name, ()):
            yield Figure(kind, name, part, dim, plugin)


def _is_shown_value(recording: Recording, candidate: Figure, seq: Seq, cell: object) -> bool:
    if candidate.dim and candidate.dim not in figures.figure_dimensions(recording, candidate):
        return False
    # As text: a figure may be an amount, a number or a name.
    return str(figures.figure_value(recording, candidate, seq)) == str(cell)
