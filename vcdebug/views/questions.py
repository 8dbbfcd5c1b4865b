"""Questions about what the cursor is on, as a menu of commands, and their answers as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from vcdebug.debugger.commands import CommandError
from vcdebug.debugger.driver import DebuggerState
from vcdebug.views.document import make_listing
from vcdebug.views.pending import job_at
from vcdebug.views.table import Column, Line, Piece, Row, Table, format_table, make_line, muted_piece
from vcdebug.whatif.forecast import QUESTIONS

if TYPE_CHECKING:
    from vcdebug.explain.answer import NamedQuestion, QuestionReply, ReplySheet

MENU_COLUMNS: Final = (
    Column("question", flexible=True, least=20),
    Column("about", name=True),
    Column("command", name=True),
)
PROOF_COLUMNS: Final = (Column("event", right=True), Column("what it shows", flexible=True))
SUBJECT_KINDS: Final = {"job": "job", "pod": "task", "node": "node", "queue": "queue"}
"""What questions are about, and what rows call it."""


def questions_table(here: DebuggerState, kind: str = "", name: str = "") -> Table:
    """What can be asked about a row; the key of each question is its command."""
    job = job_at(here, kind, name)
    asked = [("why does it wait, or what did it get", job, f"explain {job}")] if job else []
    asked += [("what would let it in: changes that are carried out", job, f"prove {job}")] if job else []
    for question in QUESTIONS:
        subject = subject_of(here, question, kind, name)
        if subject or question.name == "next":
            asked.append((question.words, subject, f"ask {question.name} {subject}".rstrip()))
    rows = [
        Row(command, (Piece(f"{words}?"), Piece(about, "strong"), muted_piece(f":{command}")))
        for words, about, command in asked
    ]
    return Table("Questions", MENU_COLUMNS, rows)


def subject_of(here: DebuggerState, question: NamedQuestion, kind: str = "", name: str = "") -> str:
    """What a question is about, where nobody says it: the row's subject, else the present one of a fitting kind."""
    present = {"job": here.job, "task": here.task, "node": here.node, "queue": here.queue}
    fitting = [SUBJECT_KINDS[about] for about in question.about if about in SUBJECT_KINDS]
    found = next(((one, name) for one in fitting if one == kind and name), None)
    if found is None:
        job = job_at(here, kind, name)
        found = next(
            ((one, job if one == "job" else present[one]) for one in fitting if present[one] or one == "job"), None
        )
    if found is None or not found[1]:
        return ""
    apart = question.name == "holders" and found[0] in ("node", "queue")
    return f"{found[0]}/{found[1]}" if apart else found[1]


def question_named(word: str) -> NamedQuestion:
    """The question of a name, or of its beginning."""
    found = [question for question in QUESTIONS if word and question.name.startswith(word)]
    if len(found) != 1:
        raise CommandError(f"no question {word!r}", hint=", ".join(question.name for question in QUESTIONS))
    return found[0]


def answer_table(question: NamedQuestion, subject: str, reply: QuestionReply) -> Table:
    """The answer: its sentence first, the events that prove it below."""
    head: list[Line] = [
        make_line(Piece(reply.sentence, "strong")),
        *(make_line(muted_piece(f"  {text}")) for text in reply.lines),
    ]
    for sheet in reply.sheets:
        head += [(), *_iter_sheet_lines(sheet)]
    rows = [Row(f"proof {n}", (Piece(str(one.seq)), Piece(one.text)), one.seq) for n, one in enumerate(reply.evidence)]
    title = f"{question.words[:1].upper()}{question.words[1:]}: {subject}" if subject else question.words
    return Table(title, PROOF_COLUMNS, rows, head=(*head, ()))


def _iter_sheet_lines(sheet: ReplySheet) -> Iterator[Line]:
    yield make_line(Piece(sheet.title, "title"))
    yield from (make_line(f"  {text}") for text in format_table(make_listing(sheet.heads, sheet.rows)).splitlines()[1:])
