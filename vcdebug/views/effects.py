"""What the cycle writes to the API server: done up to an event, still to come after it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter

from vcdebug.amount_text import count_noun
from vcdebug.explain.decisions.evictions import Eviction, planned_evictions
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.recording.writes import ClusterWrite, api_writes
from vcdebug.views.cell_figures import subject_figure
from vcdebug.views.headline import bare_name
from vcdebug.views.table import (
    HERE,
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


# Who was evicted for whom, also where it was taken back.

EVICTION_COLUMNS = (
    Column(""),
    Column("victim", name=True),
    Column("evicted for", name=True),
    Column("outcome"),
    Column("at", right=True, spare=2),
    Column("by", spare=3),
    Column("tier", right=True, spare=4),
    Column("node", spare=1),
    Column("victim's queue", spare=5),
    Column("event", right=True, spare=2),
)
FATE_WORDS: dict[str, tuple[str, Style]] = {
    "commit": ("○ committed", "good"),
    "discard": ("◆ discarded", "bad"),
    "at once": ("○ at once", "good"),
    "": ("never decided", "warn"),
}


def evictions_table(recording: Recording, seq: Seq) -> Table:
    """All evictions of the cycle in order; those of later events step back."""
    found = planned_evictions(recording)
    keys = tuple(f"event {each.seq}" for each in found)
    rows = RowsOnDemand(keys, lambda i: _eviction_row(found[i], seq))
    done = [each for each in found if each.seq <= seq]
    current = keys[len(done) - 1] if done and done[-1].seq == seq else ""
    sought = keys[max(len(done) - 1, 0)] if found else ""
    return Table(
        "Evictions",
        EVICTION_COLUMNS,
        rows,
        (_evictions_summary(found),),
        current=current,
        sought=sought,
        figures=subject_figure,
    )


def _evictions_summary(found: tuple[Eviction, ...]) -> Line:
    if not found:
        return make_line(muted_piece("this cycle plans no eviction"))
    kept = len([each for each in found if each.fate in ("commit", "at once")])
    victims = len(dict.fromkeys(each.victim for each in found if each.fate in ("commit", "at once")))
    taken_back = len(found) - kept
    told = f"{count_noun(victims, 'task')} evicted" if victims else "nobody is evicted in the end"
    return make_line(
        told, muted_piece(f", {count_noun(taken_back, 'planned eviction')} taken back" if taken_back else "")
    )


def _eviction_row(each: Eviction, seq: Seq) -> Row:
    words, style = FATE_WORDS[each.fate]
    later = each.seq > seq
    mark = Piece(HERE, "here") if each.seq == seq else muted_piece(SKIPPED if later else "")
    at = str(each.end) if each.fate and each.fate != "at once" else "–"
    cells = (
        mark,
        Piece(each.victim, "muted" if later else "strong"),
        Piece(
            bare_name(each.preemptor) or "nobody: it should go anyway", "muted" if later or not each.preemptor else ""
        ),
        Piece(words, "muted" if later else style),
        muted_piece(at),
        Piece(each.action, "muted" if later else ""),
        muted_piece(str(each.tier) if each.tier is not None else "–"),
        Piece(each.node, "muted" if later else ""),
        muted_piece(each.queue),
        muted_piece(str(each.seq)),
    )
    return Row(f"event {each.seq}", cells, each.seq, ("task", each.victim))
