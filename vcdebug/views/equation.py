"""The panel Equation: the arithmetic behind an event, a row per dimension, check or task, the deciding one marked."""

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from vcdebug.amount_text import format_amount, format_amounts_apart, short_name, short_resource_text, used_dimensions
from vcdebug.debugger.facts import EventFact
from vcdebug.debugger.origins import origin_of
from vcdebug.explain.decisions.dry_runs import NodeRoom, node_room
from vcdebug.explain.decisions.equations import equation_at, equation_inside
from vcdebug.explain.equation import Equation, Term, TermFigure, format_figure, format_figures, short_part
from vcdebug.framework.record import Level
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.resource import at_most
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.cell_figures import equation_figure, room_figure
from vcdebug.views.headline import task_list
from vcdebug.views.pieces import NO, YES, Line, Piece, Style, make_line, muted_lines, muted_piece
from vcdebug.views.table import Column, Row, Table, empty_table

EQUATION_TITLE = "Equation"
DECIDING_MARK = "◀"
FIRST_COLUMN = {"dimension": "", "check": "", "task": "task", "queue": "queue"}


def event_equation(recording: Recording, seq: Seq, inside: int = 0) -> Table:
    """The arithmetic of the event or of a step inside it; else the future idle of the node that is tried."""
    equation = equation_inside(recording, seq, inside) if inside else equation_at(recording, seq)
    if equation is not None:
        table = equation_table(equation)
        figures = partial(equation_figure, recording, seq, equation)
        summary = _summary_text(equation)
        return replace(table, title=f"{EQUATION_TITLE}  {table.title}", figures=figures, summary=summary)
    node, task = (recording.span_tree.span_around(seq, level) for level in (Level.NODE, Level.TASK))
    if node is not None and task is not None and node.name in recording.session.nodes:
        return room_table(recording, seq, task.name, node.name)
    rule = origin_of(recording, EventFact(seq)).rule
    return empty_table(EQUATION_TITLE, rule or "nothing is compared here")


def equation_table(equation: Equation) -> Table:
    """A row per term under the formula, the deciding one marked."""
    figures = (Column(name, right=True) for name in equation.columns)
    columns = (Column(""), Column(FIRST_COLUMN[equation.kind]), *figures, Column("", flexible=True))
    rows = [_term_row(equation, term) for term in equation.terms]
    head, foot = muted_lines(short_names(equation.formula)), tuple(_iter_equation_foot(equation))
    return Table(short_names(equation.title), columns, rows, head, foot, target=equation.deciding_name or "")


def _summary_text(equation: Equation) -> str:
    """The comparison of the term that decides, else of the first that fails, else of the first; empty for none."""
    failing = next((term for term in equation.terms if term.is_met is False), None)
    term = equation.deciding_term or failing or next(iter(equation.terms), None)
    if term is None:
        return ""
    mark = "" if term.is_met is None else f"{YES if term.is_met else NO} "
    name = row_name(equation, term)
    figures = format_figures(equation, term)
    return f"{mark}{term.comparison}  {name}" if term.comparison else f"{mark}{name}{figures and f': {figures}'}"


def short_names(text: str) -> str:
    """The text with the namespaces of jobs and tasks removed."""
    # A name is `namespace/name`, not a device and not a division sign.
    names = {word for word in text.split(" ") if "/" in word and word != "/" and not word.startswith("nvidia")}
    return " ".join(bare_name(word) if word in names else word for word in text.split(" "))


def _term_row(equation: Equation, term: Term) -> Row:
    decides = term.name == equation.deciding_name
    judged = any(other.is_met is not None for other in equation.terms)
    mark = Piece(YES, "good") if term.is_met else Piece(NO, "bad")
    if term.is_met is None:
        mark = muted_piece("–" if judged else "")
    style: Style = "strong" if decides else "muted" if judged and term.is_met is None else ""
    cells = (
        mark,
        Piece(f"{row_name(equation, term)} {DECIDING_MARK if decides else ''}".rstrip(), style),
        *(Piece(figure_text(equation, term, figure), style) for figure in term.figures),
        muted_piece("" if decides else term.note),
    )
    kind = equation.kind if equation.kind in ("task", "queue") else ""
    return Row(term.name, cells, subject=(kind, term.name if kind else ""))


def row_name(equation: Equation, term: Term) -> str:
    """The name shown for a term."""
    if equation.kind == "dimension":
        *words, dimension = term.name.split(" ")
        return " ".join([*words, short_name(dimension)])
    if equation.kind == "check" and "/" in term.name:
        return short_part(term.name)
    return bare_name(term.name) if equation.kind == "task" else term.name


def figure_text(equation: Equation, term: Term, figure: TermFigure) -> str:
    """The text of a figure in a table."""
    return format_figure(equation, term, figure, short_resource_text)


def _iter_equation_foot(equation: Equation) -> Iterator[Line]:
    term = equation.deciding_term
    if term is not None:
        note_text = f": {short_names(term.note)}" if term.note else ""
        yield make_line(Piece(f"{DECIDING_MARK} {row_name(equation, term)} decides{note_text}", "accent"))
    if equation.note:
        yield make_line(muted_piece(equation.note))
    if equation.comparison_name:
        yield make_line(muted_piece(f"compared by {equation.comparison_name}"))


def room_table(recording: Recording, seq: Seq, task: TaskKey, node: NodeName) -> Table:
    """A node's future idle against a task's request; requests of pods that a dry run removed count as room.

    If the task is already placed on the node, its own request does not count as used.
    """
    room = node_room(recording, seq, task, node)
    request, amounts = room.request, room.amounts
    away_title = ("+ away",) if room.removed_tasks else ()
    heads = ("future idle", "= idle", "+ releasing", "− pipelined", *away_title, "need", "short")
    columns = (Column(""), Column(""), *(Column(name, right=True) for name in heads))
    rows = []
    for dim in used_dimensions((request, amounts.idle, amounts.releasing, amounts.pipelined, room.freed_amounts)):
        need, future = request.get(dim), room.future_idle.get(dim)
        freed = (room.freed_amounts.get(dim),) if room.removed_tasks else ()
        parts = (future, amounts.idle.get(dim), amounts.releasing.get(dim), amounts.pipelined.get(dim), *freed, need)
        is_enough = at_most(need, future)
        mark = muted_piece("–") if not need else Piece(YES, "good") if is_enough else Piece(NO, "bad")
        short = Piece("" if is_enough or not need else format_amount(dim, need - future), "accent")
        rows.append(Row(dim, (mark, Piece(short_name(dim)), *map(Piece, format_amounts_apart(dim, *parts)), short)))
    title = f"{EQUATION_TITLE}  room for {bare_name(task)} on {node}"
    return Table(title, columns, rows, footer=tuple(_iter_room_foot(room)), figures=partial(room_figure, node, columns))


def _iter_room_foot(room: NodeRoom) -> Iterator[Line]:
    if room.removed_tasks:
        yield make_line(muted_piece(f"away in the dry run: {task_list(room.removed_tasks)}"))
    if room.placed_seq:
        yield make_line(muted_piece(f"as it was before event {room.placed_seq}, which placed it here"))
