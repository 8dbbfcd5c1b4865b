"""Every job that waits, each with its cause: where one begins who does not know yet which job to ask about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vcdebug.debugger.driver import DebuggerState
from vcdebug.views.base import NO, YES, Column, Line, Piece, Row, Table, count, line

if TYPE_CHECKING:
    from vcdebug.causes.survey import Survey, Surveyed

COLUMNS: Final = (
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
    return Table(title, COLUMNS, rows, foot=() if rows else (_nobody(found),))


def _row(one: Surveyed) -> Row:
    found = one.explanation
    cells = (
        Piece(found.pod or found.job, "strong"),
        Piece(str(one.pending)),
        Piece(f"{YES if found.scheduled else NO} {one.finding.cause}: {one.finding.sentence}"),
    )
    return Row(found.pod or found.job, cells, subject=("job", found.job))


def _nobody(found: Survey) -> Line:
    return line(Piece(f"{YES} none of {count(found.jobs, 'job')} waits", "good"))
