"""The statement that an event belongs to: its operations so far, and what becomes of it."""

from __future__ import annotations

from vcdebug.explain.evictions import Life, lives
from vcdebug.framework.record import ActionEvent, HookEvent, OpEvent, StatementEvent
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Piece, Row, Style, Table, line, muted
from vcdebug.views.cell_figures import statement_figure
from vcdebug.views.headline import answer
from vcdebug.views.names import bare

TITLE = "Statement"
_GATES = ("JobPipelined", "JobReady", "SubJobPipelined", "SubJobReady")
_WORDS = {"evict": "▲ evict", "pipeline": "▸ pipeline", "allocate": "● allocate"}


def life_at(recording: Recording, seq: Seq) -> Life | None:
    """The statement that is open at an event, or is just being ended there."""
    first, last = _stretch(recording, seq)
    around = [life for life in lives(recording, first, last) if life.ops and life.ops[0] <= seq <= life.undone]
    if around:
        return min(around, key=lambda life: life.undone - life.ops[0])
    event = recording.event(seq)
    if isinstance(event, StatementEvent) and event.what in ("commit", "discard"):
        return Life((), seq, event.what, seq)
    return None


def _stretch(recording: Recording, seq: Seq) -> tuple[Seq, Seq]:
    """The events between which a statement lives: its action's."""
    path = recording.tree.path(seq)
    span = path[1] if len(path) > 1 else None
    return (span.first, span.last) if span is not None else (seq, seq)


def statement(recording: Recording, seq: Seq) -> Table:
    """Operations of the open statement, done and to come, and its fate."""
    life = life_at(recording, seq)
    if life is None:
        return Table(TITLE, foot=(line(muted(_idle(recording, seq))),))
    columns = (Column(""), Column(""), Column(""), Column("", flexible=True), Column("", right=True))
    rows = [_row(recording, op, seq, life) for op in life.ops]
    done = [op for op in life.ops if op <= seq]
    current = f"event {done[-1]}" if done else ""
    title = f"{TITLE}  {_fate(recording, seq, life)}"
    return Table(title, columns, rows, current=current, wraps=False, figures=statement_figure)


def _idle(recording: Recording, seq: Seq) -> str:
    event = recording.event(seq)
    if isinstance(event, ActionEvent) or recording.tree.innermost(seq) is None:
        return "no statement is open"
    return "no operation yet"


def _row(recording: Recording, op: Seq, seq: Seq, life: Life) -> Row:
    event = recording.event(op)
    assert isinstance(event, OpEvent)
    style: Style = "muted" if op > seq else ""
    undone = life.fate == "discard" and seq > life.end
    why = "undone" if undone else "to come" if op > seq else _reason(event)
    cells = (
        Piece(_WORDS[event.op], style),
        Piece(bare(event.task), style),
        Piece(event.node, style),
        muted(why),
        muted(str(op)),
    )
    return Row(f"event {op}", cells, op, ("task", event.task))


def _reason(event: OpEvent) -> str:
    if event.op == "evict":
        return event.reason or ""
    if event.op == "pipeline":
        return "freed room" if event.eviction else "releasing room"
    return "idle room"


def _fate(recording: Recording, seq: Seq, life: Life) -> str:
    """What becomes of it, in the words that a title has room for."""
    if not life.fate:
        return "the recording ends before its fate"
    mark = "○" if life.fate == "commit" else "◆"
    tense = "" if life.end <= seq else "will be "
    word = "committed" if life.fate == "commit" else "discarded"
    return f"{mark} {tense}{word} at {life.end}{_gate(recording, life)}"


def _gate(recording: Recording, life: Life) -> str:
    """The answers that decided: the votes right before the end."""
    answers: list[HookEvent] = []
    for seq in range(life.end - 1, max(0, life.end - 12), -1):
        event = recording.event(seq)
        if not isinstance(event, HookEvent) or event.point not in _GATES:
            break
        if answers and event.point != answers[0].point:
            break
        answers.append(event)
    if not answers:
        return ""
    said = [f"{event.plugin} {answer(event).text}" for event in reversed(answers)]
    return f", {answers[0].point}: {', '.join(dict.fromkeys(said))}"
