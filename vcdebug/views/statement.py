"""The panel Statement, and the view of one operation: the figures that it changed."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from vcdebug.amount_text import format_amount, short_name, short_resource_text, used_dimensions
from vcdebug.framework import record
from vcdebug.framework.hooks import JOB_PIPELINED, JOB_READY, SUB_JOB_PIPELINED, SUB_JOB_READY
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.recording.effects import (
    STATUS_BEFORE_UNDO,
    VIEW_PLUGIN,
    StatementSpan,
    is_refused_placement,
    pods_in_view,
    refused_words,
    reserved_claims,
    statements_between,
)
from vcdebug.recording.event_index import seqs_after
from vcdebug.recording.recording import Recording
from vcdebug.recording.session_steps import ALLOCATION_EVENTS, DEALLOCATION_EVENTS, handler_subjects
from vcdebug.recording.timeline import ClusterState
from vcdebug.recording.writes import devices_of_pods
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.cell_figures import operation_figure, statement_figure
from vcdebug.views.headline import answer_piece
from vcdebug.views.pieces import (
    ALLOCATED,
    COMMIT,
    DISCARD,
    EVICT,
    RESERVED,
    Line,
    Piece,
    Style,
    make_line,
    muted_piece,
    value_text,
)
from vcdebug.views.table import Row, Table, empty_table, table_columns

STATEMENT_TITLE = "Statement"
END_WORDS = {"commit": (COMMIT, "committed"), "discard": (DISCARD, "discarded")}
"""The end of a statement -> its sign and its words."""
_GATE_POINTS = (JOB_PIPELINED.upstream, JOB_READY.upstream, SUB_JOB_PIPELINED.upstream, SUB_JOB_READY.upstream)
_OPERATION_LABELS = {
    record.EVICT_OP: f"{EVICT} evict",
    record.PIPELINE_OP: f"{RESERVED} pipeline",
    record.ALLOCATE_OP: f"{ALLOCATED} allocate",
}


def statement_at(recording: Recording, seq: Seq) -> StatementSpan | None:
    """The statement that is open at an event, or ends there; None without one."""
    first, last = _action_range(recording, seq)
    around = [
        span for span in statements_between(recording, first, last) if span.ops and span.ops[0] <= seq <= span.undone_at
    ]
    if around:
        # A trial on one node is a statement inside the job's statement.
        return min(around, key=lambda span: span.undone_at - span.ops[0])
    event = recording.event_at(seq)
    if isinstance(event, record.StatementEvent) and event.what in ("commit", "discard"):
        return StatementSpan((), seq, event.what, seq)
    return None


def _action_range(recording: Recording, seq: Seq) -> tuple[Seq, Seq]:
    """(first, last) event of the action around an event; no statement outlives its action."""
    path = recording.span_tree.path_to(seq)
    span = path[1] if len(path) > 1 else None
    return (span.first, span.last) if span is not None else (seq, seq)


def statement_table(recording: Recording, seq: Seq) -> Table:
    """The operations of the open statement, past and future ones, and its outcome."""
    span = statement_at(recording, seq)
    if span is None:
        ops = seqs_after(recording.index.seqs_of_type(record.OpEvent), seq)
        following = next((op for op in ops if statement_at(recording, op) is not None), None)
        return empty_table(STATEMENT_TITLE, _idle_words(recording, seq), "operation", following)
    columns = table_columns("", "", "", "~10", "#")
    rows = [_operation_row(recording, op, seq, span) for op in span.ops]
    past_ops = [op for op in span.ops if op <= seq]
    current = f"event {past_ops[-1]}" if past_ops else ""
    title, summary = f"{STATEMENT_TITLE}  {_end_words(recording, seq, span)}", _summary_text(recording, span)
    return Table(title, columns, rows, current=current, wraps=False, summary=summary, figures=statement_figure)


def _summary_text(recording: Recording, span: StatementSpan) -> str:
    """`▲ 1 □ 1 ◆ discarded at 137`: how many operations of each kind, and their end."""
    kinds = Counter(event.op for event in map(recording.event_at, span.ops) if isinstance(event, record.OpEvent))
    signs = [f"{_OPERATION_LABELS[kind][:1]} {number}" for kind, number in kinds.items()]
    end = (*END_WORDS[span.ending], f"at {span.end}") if span.ending else ()
    return " ".join((*signs, *end))


def _idle_words(recording: Recording, seq: Seq) -> str:
    event = recording.event_at(seq)
    if isinstance(event, record.ActionEvent) or recording.span_tree.innermost_span(seq) is None:
        return "no statement is open"
    return "no operation yet"


def _operation_row(recording: Recording, op: Seq, seq: Seq, span: StatementSpan) -> Row:
    event = recording.event_at(op)
    assert isinstance(event, record.OpEvent)
    style: Style = "muted" if op > seq else ""
    undone = span.ending == "discard" and seq > span.end
    remark = "undone" if undone else "to come" if op > seq else _operation_reason(event)
    words = (_OPERATION_LABELS[event.op], bare_name(event.task), event.node)
    cells = (*(Piece(word, style) for word in words), muted_piece(remark), muted_piece(str(op)))
    return Row(f"event {op}", cells, op, ("task", event.task))


def _operation_reason(event: record.OpEvent) -> str:
    if event.op == "evict":
        return f"by {event.reason}" if event.reason else ""
    if event.op == "pipeline":
        return "into freed room" if event.eviction else "into releasing room"
    return "into idle room"


def _end_words(recording: Recording, seq: Seq, span: StatementSpan) -> str:
    """The statement's outcome, short enough for a title."""
    if not span.ending:
        return "the recording ends before its commit or discard"
    mark, word = END_WORDS[span.ending]
    tense = "" if span.end <= seq else "will be "
    return f"{mark} {tense}{word} at {span.end}{_gate_words(recording, span)}"


def _gate_words(recording: Recording, span: StatementSpan) -> str:
    """The JobReady or JobPipelined answers right before the statement's end, in words; empty without any."""
    answers: list[record.HookEvent] = []
    # Upstream asks JobReady or JobPipelined right before it commits or discards; tiers have a few plugins each.
    for seq in range(span.end - 1, max(0, span.end - 12), -1):
        event = recording.event_at(seq)
        if not isinstance(event, record.HookEvent) or event.point not in _GATE_POINTS:
            break
        # JobReady and JobPipelined may be asked alternately: only the last one decided.
        if answers and event.point != answers[0].point:
            break
        answers.append(event)
    if not answers:
        return ""
    texts = [f"{event.plugin} {answer_piece(event).text}" for event in reversed(answers)]
    return f", {answers[0].point}: {', '.join(dict.fromkeys(texts))}"


# The view of an operation.

OPERATION_COLUMNS = table_columns("what~", "dim", "before#", "#", "after#")
_OPERATION_TEXTS = {
    record.EVICT_OP: "its room counts as future idle",
    record.UNEVICT_OP: "the eviction is rolled back",
    record.PIPELINE_OP: "room is reserved that is not free yet",
    record.UNPIPELINE_OP: "the reservation is rolled back",
    record.ALLOCATE_OP: "takes idle room",
    record.UNALLOCATE_OP: "the room is released",
    record.BIND_OP: "handed to the cache",
}

_FROM_PIPELINED_TEXTS = {record.ALLOCATE_OP: "takes the room that an earlier cycle reserved"}
_TO_PIPELINED_TEXTS = {record.UNALLOCATE_OP: "back to the reservation of an earlier cycle"}


def operation_table(recording: Recording, seq: Seq, event: record.OpEvent) -> Table:
    """The amounts of the node and the plugins' figures that an operation changed, before and after."""
    before = recording.timeline.state_at(seq - 1)
    title = f"Operation: {event.op} {bare_name(event.task)} @{event.node}"
    rows = [*_iter_node_rows(event, before), *_iter_book_rows(event, before)]
    figures = partial(operation_figure, event)
    foot = tuple(_iter_handler_lines(recording, seq, event))
    head = tuple(_iter_operation_head(recording, seq, event))
    return Table(title, OPERATION_COLUMNS, rows, head, foot, figures=figures)


def _iter_handler_lines(recording: Recording, seq: Seq, event: record.OpEvent) -> Iterator[Line]:
    """Lines about event handlers in call order, allocated device claims, and predicates' NodeMap."""
    if event.op not in (*record.CHARGING_OPS, *record.RELEASING_OPS):
        return
    event_kind = ALLOCATION_EVENTS if event.op in record.CHARGING_OPS else DEALLOCATION_EVENTS
    names = [name for name, words in handler_subjects(recording) if words == event_kind]
    yield make_line(muted_piece(f"event handlers notified: {', '.join(names) or 'none'}"))
    for claim, reserved in reserved_claims(recording).items() if event.op in record.CHARGING_OPS else ():
        if reserved.allocation is not None and (reserved.pod, reserved.node) == (event.task, event.node):
            device_names = [f"{device['pool']}/{device['device']}" for device in reserved.allocation.results]
            yield make_line(muted_piece(f"claim {bare_name(claim)} gets {', '.join(device_names)}"))
    given = devices_of_pods(recording).get((event.task, event.node), ()) if event.op in record.CHARGING_OPS else ()
    if given:
        yield make_line(muted_piece(f"{bare_name(event.task)} gets {', '.join(given)}"))
    counts = pods_in_view(recording, seq)
    if counts is not None:
        lost_words = "" if counts.after != counts.before else ", where the pod is not found"
        yield make_line(
            muted_piece(
                f"{VIEW_PLUGIN} keeps NodeMap: pods on {event.node} {counts.before} → {counts.after}{lost_words}"
            )
        )


def _operation_words(recording: Recording, seq: Seq, event: record.OpEvent) -> str:
    """The operation's change of status in words; restored pipelined tasks start or end as Pipelined."""
    before, after = (recording.timeline.state_at(moment).tasks[event.task].status for moment in (seq - 1, seq))
    statuses, words = [before, after], _OPERATION_TEXTS[event.op]
    for status, texts in zip(statuses, (_FROM_PIPELINED_TEXTS, _TO_PIPELINED_TEXTS), strict=True):
        words = texts.get(event.op, words) if status is TaskStatus.PIPELINED else words
    if is_refused_placement(recording, seq, event):
        statuses, words = [before, STATUS_BEFORE_UNDO[event.op], after], refused_words(recording, seq, event)
    return f"{' → '.join(status.upstream_name for status in statuses)}: {words}"


def _iter_operation_head(recording: Recording, seq: Seq, event: record.OpEvent) -> Iterator[Line]:
    yield make_line(_operation_words(recording, seq, event))
    task = recording.timeline.tasks.get(event.task)
    if task is not None:
        yield make_line(
            muted_piece(f"{event.task} requests {short_resource_text(task.resreq)}, priority {task.priority}")
        )
    if event.reason:
        yield make_line(muted_piece(f"reason: {event.reason}"))
    if event.via:
        yield make_line(muted_piece("outside any statement: it takes effect at once"))


def _iter_node_rows(event: record.OpEvent, before: ClusterState) -> Iterator[Row]:
    if event.after is None or event.node not in before.nodes:
        return
    was, after = before.nodes[event.node], event.after
    for field in record.NodeAmounts._fields:
        yield from _iter_amount_rows(f"node {field}", getattr(was, field), getattr(after, field), event.node)


def _iter_amount_rows(label: str, was: Resource, after: Resource, node: str) -> Iterator[Row]:
    for dim in used_dimensions((was, after)):
        old, new = was.get(dim), after.get(dim)
        if old != new:
            sign = "+" if new > old else "-"
            cells = (
                Piece(label),
                muted_piece(short_name(dim)),
                Piece(format_amount(dim, old)),
                Piece(f"{sign}{format_amount(dim, abs(new - old))}", "warn"),
                Piece(format_amount(dim, new), "strong"),
            )
            yield Row(f"{label} {dim}", cells, subject=("node", node) if node else ("", ""))


def _iter_book_rows(event: record.OpEvent, before: ClusterState) -> Iterator[Row]:
    for plugin, figures in event.books:
        name = str(figures.get("job") or figures.get("queue") or "")
        for key, value in figures.items():
            if key in ("job", "queue"):
                continue
            old = before.plugin_figure(plugin, name, key)
            label = f"{plugin} {bare_name(name)} {key}"
            if isinstance(value, Resource) and isinstance(old, Resource):
                yield from _iter_amount_rows(label, old, value, "")
            elif old != value:
                before_after = (Piece(value_text(old)), Piece("→", "warn"), Piece(value_text(value), "strong"))
                yield Row(label, (Piece(label), Piece(""), *before_after))
