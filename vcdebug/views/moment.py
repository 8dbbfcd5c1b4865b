"""The present event in full, and its arithmetic; before the first step what the whole cycle came to."""

from __future__ import annotations

from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Table, make_line, muted_piece
from vcdebug.views.overview import before_first_step, overview_table


def moment_table(recording: Recording, seq: Seq, reason: str) -> Table:
    """Before the first step nothing has been decided yet: what the whole cycle came to is shown."""
    if before_first_step(seq, reason):
        return overview_table(recording)
    from vcdebug.views.event_view import event_view

    return event_view(recording, seq)


def arithmetic_table(recording: Recording, seq: Seq, reason: str) -> Table:
    """Beside the overview it leaves the room to that, and nothing works it out."""
    if before_first_step(seq, reason):
        return Table("Equation", foot=(make_line(muted_piece("no arithmetic before the first step: s")),))
    from vcdebug.views.equation import event_equation

    return event_equation(recording, seq)
