"""What the cycle writes to the API server: done up to an event, still to come after it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter

from vcdebug.amount_text import plural
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.trace.writes import Write, writes
from vcdebug.views.base import (
    SKIPPED,
    YES,
    Column,
    Line,
    OnDemand,
    Piece,
    Row,
    Style,
    Table,
    line,
    muted,
    plain_columns,
)
from vcdebug.views.cell_figures import subject_figure

COLUMNS = (
    *plain_columns("", "event#", "write"),
    Column("object", name=True),
    Column("what", flexible=True, least=24),
)
_SUBJECTS = {"Pod": "task", "PodGroup": "job", "Queue": "queue"}
_STYLES: dict[str, Style] = {"bind": "good", "evict": "bad"}
_seq = attrgetter("seq")


def effects(recording: Recording, seq: Seq) -> Table:
    """All writes in order; those of later events step back."""
    found = writes(recording)
    keys = tuple(map(str, range(len(found))))
    rows = OnDemand(keys, lambda i: _row(keys[i], found[i], seq))
    before, done = bisect_left(found, seq, key=_seq), bisect_right(found, seq, key=_seq)
    here = keys[before] if before < done else ""
    sought = keys[max(done - 1, 0)] if found else ""
    return Table(
        "Effects", COLUMNS, rows, (_summary(found, done),), current=here, sought=sought, figures=subject_figure
    )


def _summary(found: Sequence[Write], done: int) -> Line:
    if not found:
        return line(muted("this cycle writes nothing to the API server"))
    return line(f"{plural(done, 'write')} up to here", muted(f", {len(found) - done} later"))


def _row(key: str, write: Write, seq: Seq) -> Row:
    later = write.seq > seq
    mark = Piece(SKIPPED, "muted") if later else Piece(YES, "here" if write.seq == seq else "")
    cells = (
        mark,
        Piece(str(write.seq), "muted" if later else ""),
        Piece(write.verb, "muted" if later else _STYLES.get(write.verb, "")),
        Piece(f"{write.kind} {write.object}", "muted" if later else ""),
        Piece(write.text, "muted" if later else ""),
    )
    return Row(key, cells, write.seq, (_SUBJECTS.get(write.kind, ""), write.object))
