"""What the cycle writes to the API server: done up to an event, still to come after it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter

from vcdebug.amount_text import count_noun
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.trace.writes import ClusterWrite, api_writes
from vcdebug.views.base import (
    SKIPPED,
    YES,
    Column,
    Line,
    Piece,
    Row,
    RowsOnDemand,
    Style,
    Table,
    make_line,
    muted_piece,
    plain_columns,
)
from vcdebug.views.cell_figures import subject_figure

EFFECT_COLUMNS = (
    *plain_columns("", "event#", "write"),
    Column("object", name=True),
    Column("what", flexible=True, least=24),
)
_SUBJECTS = {"Pod": "task", "PodGroup": "job", "Queue": "queue"}
_STYLES: dict[str, Style] = {"bind": "good", "evict": "bad"}
_seq_of = attrgetter("seq")


def effects_table(recording: Recording, seq: Seq) -> Table:
    """All writes in order; those of later events step back."""
    found = api_writes(recording)
    keys = tuple(map(str, range(len(found))))
    rows = RowsOnDemand(keys, lambda i: _write_row(keys[i], found[i], seq))
    before, done = bisect_left(found, seq, key=_seq_of), bisect_right(found, seq, key=_seq_of)
    here = keys[before] if before < done else ""
    sought = keys[max(done - 1, 0)] if found else ""
    return Table(
        "Effects",
        EFFECT_COLUMNS,
        rows,
        (_effects_summary(found, done),),
        current=here,
        sought=sought,
        figures=subject_figure,
    )


def _effects_summary(found: Sequence[ClusterWrite], done: int) -> Line:
    if not found:
        return make_line(muted_piece("this cycle writes nothing to the API server"))
    return make_line(f"{count_noun(done, 'write')} up to here", muted_piece(f", {len(found) - done} later"))


def _write_row(key: str, write: ClusterWrite, seq: Seq) -> Row:
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
