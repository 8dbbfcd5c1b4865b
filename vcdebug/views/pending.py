"""Why a job waits, as a table: the one cause, its numbers and proof, what would help; and every job that waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import plural
from vcdebug.debugger.driver import DebuggerState
from vcdebug.explain.answer import Explanation, Finding
from vcdebug.model.names import JobId, Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import NO, YES, Column, Line, Piece, Row, Style, Table, line, muted
from vcdebug.views.pictures import gang

if TYPE_CHECKING:
    from vcdebug.causes.survey import Survey, Surveyed


COLUMNS = (Column("event", right=True), Column(""), Column("what it proves", flexible=True))
STATES: dict[str, Piece] = {"passed": Piece(YES, "good"), "failed": Piece(NO, "bad"), "not reached": muted("–")}


def job_at(here: DebuggerState, kind: str = "", name: str = "") -> JobId:
    """The job of a row, else the present one; none between actions, where each job is asked in turn."""
    recording = here.recording
    if kind == "job" and name in recording.session.jobs:
        return name
    if kind == "task" and name in recording.owners.jobs:
        return recording.owners.jobs[name]
    return here.job if len(recording.tree.path(here.seq)) > 1 else ""


def explanation(recording: Recording, word: str) -> Table:
    """Why a job or pod waits, or what it got; the many rules are imported when somebody asks."""
    from vcdebug.causes.pending import explain

    found = explain(recording, word)
    table = pending(found)
    if found.job not in recording.session.jobs or not recording.session.jobs[found.job].tasks:
        return table
    return replace(table, head=(gang(recording, len(recording), found.job), *table.head))


def pending(found: Explanation) -> Table:
    """The explanation of a job."""
    rows = [*_evidence(found.dominant, "proof"), *_steps(found)]
    for finding in found.contributing:
        rows += _evidence(finding, finding.cause)
    return Table(f"Why {found.job} {'got in' if found.scheduled else 'waits'}", COLUMNS, rows, head=tuple(_head(found)))


def _head(found: Explanation) -> Iterator[Line]:
    style: Style = "good" if found.scheduled else "bad"
    mark = YES if found.scheduled else NO
    yield line(Piece(f"{mark} {found.cause}", style))
    yield line(found.sentence)
    if found.doubt:
        yield line(Piece(f"this answer may be wrong: {found.doubt}", "warn"))
    yield from (line(muted(f"  {text}")) for text in found.dominant.lines)
    for finding in found.contributing:
        yield line(muted("also  "), Piece(f"{finding.cause}  ", "warn"), finding.sentence)
    for advice in found.advice:
        yield line(muted("try   "), advice)
    yield ()


def _evidence(finding: Finding, label: str) -> Iterator[Row]:
    for number, entry in enumerate(finding.evidence):
        cells = (Piece(str(entry.seq)), Piece(label, "accent"), Piece(entry.text))
        yield Row(f"{label} {number}", cells, entry.seq)


def _steps(found: Explanation) -> Iterator[Row]:
    for step in found.steps:
        seq: Seq = step.seqs[0] if step.seqs else 0
        cells = (Piece(str(seq) if seq else ""), STATES[step.state], Piece(f"{step.name}: {step.text}"))
        yield Row(f"step {step.name}", cells, seq)


WAITING_COLUMNS: Final = (
    Column("job", name=True),
    Column("pending", right=True),
    Column("why", flexible=True, least=30),
)


def waiting(here: DebuggerState) -> Table:
    """One row per job or pod that is not whole, those that got nothing first; its key is what `explain` takes."""
    from vcdebug.causes.survey import survey

    found = survey(here.recording)
    rows = [_row(one) for one in (*found.unscheduled, *found.partly)]
    title = f"Jobs that are not whole when the cycle ends: {len(rows)} of {found.jobs}"
    return Table(title, WAITING_COLUMNS, rows, foot=() if rows else (_nobody(found),))


def _row(one: Surveyed) -> Row:
    found = one.explanation
    cells = (
        Piece(found.pod or found.job, "strong"),
        Piece(str(one.pending)),
        Piece(f"{YES if found.scheduled else NO} {one.finding.cause}: {one.finding.sentence}"),
    )
    return Row(found.pod or found.job, cells, subject=("job", found.job))


def _nobody(found: Survey) -> Line:
    return line(Piece(f"{YES} none of {plural(found.jobs, 'job')} waits", "good"))
