"""A recording as tables: rows of plain values under column names that stay the same from release to release."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from vcdebug.amount_text import value_in_units
from vcdebug.debugger import figures
from vcdebug.debugger.breakpoint import breakpoint_for, parse_breakpoint
from vcdebug.debugger.expression import Expression, KnownFields, read_expression
from vcdebug.debugger.expression_tokens import TokenReader
from vcdebug.debugger.fields import FIELD_TYPES, fields_of
from vcdebug.debugger.metrics import list_metrics
from vcdebug.framework import record
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource
from vcdebug.recording.recording import Recording
from vcdebug.recording.visits import VICTIM_POINTS

CellValue = None | bool | int | float | str | Sequence[str]
"""A value of a table; an event without the field has None."""
RecordedRow = tuple[CellValue, ...]
EVENT_TYPES: Final = {name: kind for name, kind in FIELD_TYPES.items() if "." not in name}
"""Event fields without a dot in their name: names with a dot are aliases."""
PLACE_FIELDS: Final = ("action", "queue", "job", "task", "node")
"""Fields with the place of an event; tables of decisions have them as columns."""


class RecordedTable(Struct, frozen=True):
    """A table of a recording: `types` has the type of each column, as conditions name types."""

    description: str
    types: Mapping[str, str]
    iter_rows: Callable[[Recording], Iterator[RecordedRow]]


def _iter_events(recording: Recording) -> Iterator[RecordedRow]:
    for seq in range(1, len(recording) + 1):
        yield tuple(map(fields_of(recording, seq), EVENT_TYPES))


def _event_place(recording: Recording, seq: Seq) -> RecordedRow:
    return (seq, *map(fields_of(recording, seq), PLACE_FIELDS))


def _iter_votes(recording: Recording) -> Iterator[RecordedRow]:
    owners = recording.owners
    for point in VICTIM_POINTS:
        for seq, event in recording.hook_calls(point):
            place, allowed = _event_place(recording, seq), frozenset(event.victims)
            abstains = fields_of(recording, seq)("vote") == 0
            for candidate in event.candidates:
                job = owners.jobs.get(candidate, "")
                answer = "abstains" if abstains else "allows" if candidate in allowed else "protects"
                yield (*place, point, event.plugin, candidate, job, owners.queues.get(job), answer)


def _iter_verdicts(recording: Recording) -> Iterator[RecordedRow]:
    names = recording.node_names
    for seq, event in recording.events_of_type(record.PredicateEvent):
        action = fields_of(recording, seq)("action")
        for row in event.feasible.tolist():
            yield seq, action, event.task, names[row], True, None, None
        for row, code in zip(event.failed.tolist(), event.codes.tolist(), strict=True):
            for status in recording.reason_table.statuses_of(code):
                yield seq, action, event.task, names[row], False, status.plugin, status.reason


def _iter_scores(recording: Recording) -> Iterator[RecordedRow]:
    names = recording.node_names
    for seq, event in recording.events_of_type(record.ScoreEvent):
        action, rows = fields_of(recording, seq)("action"), event.rows.tolist()
        for part, scores in (*event.parts, ("total", event.total)):
            for row, score in zip(rows, scores.tolist(), strict=True):
                if score == score:  # a NaN marks a node without an entry
                    yield seq, action, event.task, names[row], part, float(score)


def _iter_operations(recording: Recording) -> Iterator[RecordedRow]:
    for seq, event in recording.events_of_type(record.OpEvent):
        status = event.state[0].upstream_name
        yield (*_event_place(recording, seq), event.op, status, event.eviction, event.via, event.reason)


def _iter_statements(recording: Recording) -> Iterator[RecordedRow]:
    for seq, event in recording.events_of_type(record.StatementEvent):
        action = fields_of(recording, seq)("action")
        for number, (op, task, node) in enumerate(event.ops, start=1):
            yield seq, action, event.what, number, op, task, node


def _iter_amounts(recording: Recording, kind: str) -> Iterator[RecordedRow]:
    for name in figures.object_names(recording, kind):
        for part in figures.figure_parts(recording, kind, name):
            figure = figures.parse_figure(recording, (kind, name, part))
            changes = figures.figure_history(recording, figure).changes
            last_amounts: dict[str, float] = {}
            for seq, value in (
                (0, figures.figure_value(recording, figure, 0)),
                *((change.seq, change.new) for change in changes),
            ):
                for dim, amount in _split_dimensions(recording, value):
                    if last_amounts.get(dim) != amount:
                        last_amounts[dim] = amount
                        yield seq, name, part, figure.plugin, dim, amount


def _iter_metrics(recording: Recording) -> Iterator[RecordedRow]:
    for metric in list_metrics(recording, len(recording)):
        yield metric.name, metric.label_text, metric.set_by, metric.value


def _split_dimensions(recording: Recording, value: object) -> Iterator[tuple[str, float]]:
    """(dimension, amount) for all dimensions of the recording, 0 where missing; ("", number) for a plain number."""
    if isinstance(value, Resource):
        for dim in figures.all_dimensions(recording):
            yield dim, float(value_in_units(dim, value.get(dim)))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield "", float(value)


def _column_types(numbers: str, texts: str, *, after: str = "", place: bool = False) -> Mapping[str, str]:
    """Column → type, in this order: `numbers`, PLACE_FIELDS if `place`, `texts`, and the numbers in `after`."""
    place_fields = PLACE_FIELDS if place else ()
    return {
        **dict.fromkeys(numbers.split(), "number"),
        **dict.fromkeys((*place_fields, *texts.split()), "text"),
        **dict.fromkeys(after.split(), "number"),
    }


def _amounts_table(kind: str) -> RecordedTable:
    columns = _column_types("seq", f"{kind} figure plugin dimension", after="amount")
    text = f"each figure of each {kind}: the opening one at seq 0, then each change, in cores, bytes and whole devices"
    return RecordedTable(text, columns, partial(_iter_amounts, kind=kind))


_VERDICT_TYPES = {
    **_column_types("seq", "action task node"),
    "feasible": "yes or no",
    **_column_types("", "plugin reason"),
}
_OPERATION_TYPES = {
    **_column_types("seq", "op status", place=True),
    "eviction": "yes or no",
    **_column_types("", "via reason"),
}
TABLES: Final[Mapping[str, RecordedTable]] = {
    "events": RecordedTable("every event, with the fields that conditions know", EVENT_TYPES, _iter_events),
    "votes": RecordedTable(
        "each candidate victim at each plugin: allows, protects or abstains",
        _column_types("seq", "point plugin candidate candidate_job candidate_queue answer", place=True),
        _iter_votes,
    ),
    "verdicts": RecordedTable("each node at each pass of predicates, with each reason", _VERDICT_TYPES, _iter_verdicts),
    "scores": RecordedTable(
        "each node's score by plugin, and the total",
        _column_types("seq", "action task node part", after="score"),
        _iter_scores,
    ),
    "operations": RecordedTable("each operation on a task", _OPERATION_TYPES, _iter_operations),
    "statements": RecordedTable(
        "the operations of each statement that is committed or discarded",
        {**_column_types("seq", "action what"), **_column_types("number", "op task node")},
        _iter_statements,
    ),
    **{f"{kind}_amounts": _amounts_table(kind) for kind in (figures.NODE, figures.JOB, figures.QUEUE)},
    "metrics": RecordedTable(
        "each metric that the scheduler sets in the cycle, with its last value, in the scheduler's units",
        _column_types("", "name labels set_by", after="value"),
        _iter_metrics,
    ),
}
"""Table name → the table. Names of tables and columns are part of the public interface."""


# The events that a breakpoint would stop at.

DEFAULT_COLUMNS: Final = "seq,event,action,queue,job,task,node,plugin,point,result"


def query_table(words: str, columns: str) -> RecordedTable:
    """The events of `break WORDS`, with fields and expressions as columns; raises VcdebugError for none."""
    own_fields = parse_breakpoint(words, 0).kind.FIELDS
    known: KnownFields = {**FIELD_TYPES, **dict.fromkeys(own_fields, "any")}
    read = dict(_read_columns(columns or ",".join((DEFAULT_COLUMNS, *own_fields)), known))

    def iter_rows(recording: Recording) -> Iterator[RecordedRow]:
        point = breakpoint_for(recording, words)
        for seq in point.hit_seqs(recording):
            yield tuple(column.evaluate(point.fields_at(recording, seq)) for column in read.values())

    return RecordedTable(words, {name: known.get(name, "any") for name in read}, iter_rows)


def _read_columns(columns: str, known: KnownFields) -> Iterator[tuple[str, Expression]]:
    """(column as written, its expression) pairs."""
    reader = TokenReader(columns)
    while True:
        start = reader.next_token.position
        column = read_expression(reader, known)
        yield columns[start : reader.next_token.position].strip(), column
        if reader.accept_token(",") is None:
            break
    if reader.next_token.kind != "end":
        raise reader.error_at("expected a comma between columns")
