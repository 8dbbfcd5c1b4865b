"""The statement that an event belongs to: its operations so far, and what becomes of it."""

from __future__ import annotations

from vcdebug.explain.evictions import StatementSpan, statements_between
from vcdebug.framework.hooks import JOB_PIPELINED, JOB_READY, SUB_JOB_PIPELINED, SUB_JOB_READY
from vcdebug.framework.record import ALLOCATE_OP, EVICT_OP, PIPELINE_OP, ActionEvent, HookEvent, OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Style, Table, make_line, muted_piece
from vcdebug.views.cell_figures import statement_figure
from vcdebug.views.headline import answer_piece
from vcdebug.views.names import bare_name

STATEMENT_TITLE = "Statement"
_GATE_POINTS = (JOB_PIPELINED.upstream, JOB_READY.upstream, SUB_JOB_PIPELINED.upstream, SUB_JOB_READY.upstream)
_OPERATION_LABELS = {EVICT_OP: "▲ evict", PIPELINE_OP: "▸ pipeline", ALLOCATE_OP: "● allocate"}


def statement_at(recording: Recording, seq: Seq) -> StatementSpan | None:
    """The statement that is open at an event, or is just being ended there."""
    first, last = _action_range(recording, seq)
    around = [
        span for span in statements_between(recording, first, last) if span.ops and span.ops[0] <= seq <= span.undone
    ]
    if around:
        return min(around, key=lambda span: span.undone - span.ops[0])
    event = recording.event_at(seq)
    if isinstance(event, StatementEvent) and event.what in ("commit", "discard"):
        return StatementSpan((), seq, event.what, seq)
    return None


def _action_range(recording: Recording, seq: Seq) -> tuple[Seq, Seq]:
    """The events between which a statement lives: its action's."""
    path = recording.span_tree.path_to(seq)
    span = path[1] if len(path) > 1 else None
    return (span.first, span.last) if span is not None else (seq, seq)


def statement_table(recording: Recording, seq: Seq) -> Table:
    """Operations of the open statement, done and to come, and its fate."""
    span = statement_at(recording, seq)
    if span is None:
        return Table(STATEMENT_TITLE, foot=(make_line(muted_piece(_idle_words(recording, seq))),))
    columns = (Column(""), Column(""), Column(""), Column("", flexible=True, least=10, spare=1), Column("", right=True))
    rows = [_operation_row(recording, op, seq, span) for op in span.ops]
    done = [op for op in span.ops if op <= seq]
    current = f"event {done[-1]}" if done else ""
    title = f"{STATEMENT_TITLE}  {_end_words(recording, seq, span)}"
    return Table(title, columns, rows, current=current, wraps=False, figures=statement_figure)


def _idle_words(recording: Recording, seq: Seq) -> str:
    event = recording.event_at(seq)
    if isinstance(event, ActionEvent) or recording.span_tree.innermost_span(seq) is None:
        return "no statement is open"
    return "no operation yet"


def _operation_row(recording: Recording, op: Seq, seq: Seq, span: StatementSpan) -> Row:
    event = recording.event_at(op)
    assert isinstance(event, OpEvent)
    style: Style = "muted" if op > seq else ""
    undone = span.fate == "discard" and seq > span.end
    why = "undone" if undone else "to come" if op > seq else _operation_reason(event)
    cells = (
        Piece(_OPERATION_LABELS[event.op], style),
        Piece(bare_name(event.task), style),
        Piece(event.node, style),
        muted_piece(why),
        muted_piece(str(op)),
    )
    return Row(f"event {op}", cells, op, ("task", event.task))


def _operation_reason(event: OpEvent) -> str:
    if event.op == "evict":
        return event.reason or ""
    if event.op == "pipeline":
        return "freed room" if event.eviction else "releasing room"
    return "idle room"


def _end_words(recording: Recording, seq: Seq, span: StatementSpan) -> str:
    """What becomes of it, in the words that a title has room for."""
    if not span.fate:
        return "the recording ends before its fate"
    mark = "○" if span.fate == "commit" else "◆"
    tense = "" if span.end <= seq else "will be "
    word = "committed" if span.fate == "commit" else "discarded"
    return f"{mark} {tense}{word} at {span.end}{_gate_words(recording, span)}"


def _gate_words(recording: Recording, span: StatementSpan) -> str:
    """The answers that decided: the votes right before the end."""
    answers: list[HookEvent] = []
    for seq in range(span.end - 1, max(0, span.end - 12), -1):
        event = recording.event_at(seq)
        if not isinstance(event, HookEvent) or event.point not in _GATE_POINTS:
            break
        if answers and event.point != answers[0].point:
            break
        answers.append(event)
    if not answers:
        return ""
    said = [f"{event.plugin} {answer_piece(event).text}" for event in reversed(answers)]
    return f", {answers[0].point}: {', '.join(dict.fromkeys(said))}"
