"""Why a job waits, as a table: the one cause, its numbers and proof, what would help; and every job that waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import count_noun
from vcdebug.debugger.driver import DebuggerState
from vcdebug.explain.answer import Explanation, Finding
from vcdebug.model.names import JobId, Seq
from vcdebug.recording.recording import Recording
from vcdebug.views.bars import gang_line
from vcdebug.views.table import NO, YES, Column, Line, Piece, Row, Style, Table, make_line, muted_piece

if TYPE_CHECKING:
    from vcdebug.explain.pending.explanation import Survey, SurveyedJob


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
