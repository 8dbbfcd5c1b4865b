"""Why a job waits, as a table: the one cause, its numbers and proof, what would help; and every job that waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import count_noun
from vcdebug.debugger.commands import CommandError
from vcdebug.debugger.driver import DebuggerState
from vcdebug.explain.answer import ADVICE_OWNER, Explanation, Finding
from vcdebug.model.names import JobId, Seq
from vcdebug.recording.recording import Recording
from vcdebug.views.bars import gang_line
from vcdebug.views.document import make_listing
from vcdebug.views.table import NO, YES, Column, Line, Piece, Row, Style, Table, format_table, make_line, muted_piece
from vcdebug.whatif.fixes.search import describe_conclusion, describe_result
from vcdebug.whatif.forecast import QUESTIONS

if TYPE_CHECKING:
    from vcdebug.explain.pending.explanation import Survey, SurveyedJob
    from vcdebug.explain.questions.reply import NamedQuestion, QuestionReply, ReplySheet
    from vcdebug.whatif.fixes.plan import TriedPlan
    from vcdebug.whatif.fixes.search import FixSearch


PENDING_COLUMNS = (Column("event", right=True), Column(""), Column("what it proves", flexible=True))
STEP_STATES: dict[str, Piece] = {
    "passed": Piece(YES, "good"),
    "failed": Piece(NO, "bad"),
    "not reached": muted_piece("–"),
}


def job_at(here: DebuggerState, kind: str = "", name: str = "") -> JobId:
    """The job of a row, else the present one; none between actions, where each job is asked in turn."""
    recording = here.recording
    if kind == "job" and name in recording.session.jobs:
        return name
    if kind == "task" and name in recording.owners.jobs:
        return recording.owners.jobs[name]
    return here.job if len(recording.span_tree.path_to(here.seq)) > 1 else ""


def explanation_table(recording: Recording, word: str) -> Table:
    """Why a job or pod waits, or what it got; the many rules are imported when somebody asks."""
    from vcdebug.explain.pending.explanation import explain_by_name

    found = explain_by_name(recording, word)
    table = pending_table(found)
    if found.job not in recording.session.jobs or not recording.session.jobs[found.job].tasks:
        return table
    return replace(table, head=(gang_line(recording, len(recording), found.job), *table.head))


def pending_table(found: Explanation) -> Table:
    """The explanation of a job."""
    rows = [*_iter_evidence_rows(found.dominant, "proof"), *_iter_step_rows(found)]
    for finding in found.contributing:
        rows += _iter_evidence_rows(finding, finding.cause)
    return Table(
        f"Why {found.job} {'got in' if found.scheduled else 'waits'}",
        PENDING_COLUMNS,
        rows,
        head=tuple(_iter_pending_head(found)),
    )


def _iter_pending_head(found: Explanation) -> Iterator[Line]:
    style: Style = "good" if found.scheduled else "bad"
    mark = YES if found.scheduled else NO
    yield make_line(Piece(f"{mark} {found.cause_code}", style))
    yield make_line(found.sentence)
    if found.doubt:
        yield make_line(Piece(f"this answer may be wrong: {found.doubt}", "warn"))
    yield from (make_line(muted_piece(f"  {text}")) for text in found.dominant.lines)
    for finding in found.contributing:
        yield make_line(muted_piece("also  "), Piece(f"{finding.cause}  ", "warn"), finding.sentence)
    for advice in found.advice_texts:
        yield make_line(muted_piece("try   "), advice)
    yield ()


def _iter_evidence_rows(finding: Finding, label: str) -> Iterator[Row]:
    for number, entry in enumerate(finding.evidence):
        cells = (Piece(str(entry.seq)), Piece(label, "accent"), Piece(entry.text))
        yield Row(f"{label} {number}", cells, entry.seq)


def _iter_step_rows(found: Explanation) -> Iterator[Row]:
    for step in found.steps:
        seq: Seq = step.seqs[0] if step.seqs else 0
        cells = (Piece(str(seq) if seq else ""), STEP_STATES[step.state], Piece(f"{step.name}: {step.text}"))
        yield Row(f"step {step.name}", cells, seq)


PENDING_JOBS_COLUMNS: Final = (
    Column("job", name=True),
    Column("pending", right=True),
    Column("why", flexible=True, least=30),
)


def pending_jobs_table(here: DebuggerState) -> Table:
    """One row per job or pod that is not whole, those that got nothing first; its key is what `explain` takes."""
    from vcdebug.explain.pending.explanation import survey_jobs

    found = survey_jobs(here.recording)
    rows = [_pending_row(one) for one in (*found.unscheduled_jobs, *found.partly_waiting_jobs)]
    title = f"Jobs that are not whole when the cycle ends: {len(rows)} of {found.jobs}"
    return Table(title, PENDING_JOBS_COLUMNS, rows, foot=() if rows else (_none_pending_line(found),))


def _pending_row(one: SurveyedJob) -> Row:
    found = one.explanation
    cells = (
        Piece(found.pod or found.job, "strong"),
        Piece(str(one.pending)),
        Piece(f"{YES if found.scheduled else NO} {one.shown_finding.cause}: {one.shown_finding.sentence}"),
    )
    return Row(found.pod or found.job, cells, subject=("job", found.job))


def _none_pending_line(found: Survey) -> Line:
    return make_line(Piece(f"{YES} none of {count_noun(found.jobs, 'job')} waits", "good"))


# Proven remedies as a page: what to change, what came of it when it was carried out, who pays, whose it is to do.

FIX_COLUMNS: Final = (
    Column("", right=True),
    Column("change", flexible=True, least=20),
    Column("what it comes to", flexible=True, least=20),
    Column("who else", flexible=True, least=12),
    Column("whose to do", flexible=True, least=10),
)


def fixes_table(search: FixSearch, job: JobId) -> Table:
    """One row per remedy, the best first; its key is its place."""
    found = search.best_plans
    rows = [_fix_row(number, remedy) for number, remedy in enumerate(found)]
    works = bool(found) and found[0].is_proven
    tried = count_noun(search.trial_count, "cycle")
    head = f"what works, tried in {tried}" if works else f"what gets the job further ({tried} tried)"
    said = describe_conclusion(search)
    foot: tuple[Line, ...] = (make_line(Piece(f"{NO} {said}", "bad")),) if said else ()
    return Table(
        f"What lets {job} in", FIX_COLUMNS, rows, head=(make_line(muted_piece(head)), ()) if rows else (), foot=foot
    )


def _fix_row(number: int, remedy: TriedPlan) -> Row:
    costs = "; ".join(remedy.outcome.costs) or "nobody"
    cells = (
        Piece(str(number + 1)),
        Piece(remedy.plan_words, "strong"),
        Piece(f"{YES if remedy.is_proven else NO} {describe_result(remedy)}", "good" if remedy.is_proven else "muted"),
        muted_piece(costs),
        muted_piece(ADVICE_OWNER[remedy.plan.worst_harm]),
    )
    return Row(str(number), cells)


# Questions about what the cursor is on, as a menu of commands, and their answers as a page.

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
