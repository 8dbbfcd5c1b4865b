"""The lines that the real scheduler would print at a -v level, with those of the present event marked."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from vcdebug.amount_text import count_noun
from vcdebug.comparison.logs.log_writer import ReplayedLine, log_lines
from vcdebug.comparison.logs.message import DEFAULT_LEVEL, LOG_LEVELS
from vcdebug.garbage_collection import collector_paused
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.views.table import Column, Piece, Row, RowsOnDemand, Style, Table, make_line, muted_piece

EVENT_MARK: Final = "▸"
"""Marks each line of the present event."""
MAX_LINES: Final = 200_000
"""Lines read from a cycle at most: a longer log would take longer to write than anybody waits."""
LOG_COLUMNS = (
    Column(""),
    Column("event", right=True),
    Column("-v", right=True),
    Column("line", flexible=True, least=20),
)


class LogExtract(NamedTuple):
    """The log of a recording at one level."""

    lines: Sequence[ReplayedLine]
    seqs: Sequence[Seq]
    keys: Sequence[str]
    whole: bool


class LogReading:
    """A recording's lines while they are being found, loudest level; a front end may find a part at a time.

    Found is which lines there are and whose they are; their texts are written when somebody looks.
    """

    def __init__(self, recording: Recording) -> None:
        self._source = islice(log_lines(recording, LOG_LEVELS[-1]), MAX_LINES)
        self.lines: list[ReplayedLine] = []
        self.done = False

    def read_lines(self, most: int = MAX_LINES) -> bool:
        """At most so many lines more; whether that was the last of them."""
        before = len(self.lines)
        with collector_paused():
            self.lines += islice(self._source, most)
        self.done = self.done or len(self.lines) - before < most or len(self.lines) == MAX_LINES
        return self.done


@per_recording()
def log_reading(recording: Recording) -> LogReading:
    """The one narration of a recording."""
    return LogReading(recording)


@per_recording(most=6)
def _log_extract(recording: Recording, level: int, size: int) -> LogExtract:
    lines = [one for one in log_reading(recording).lines[:size] if one.level <= level]
    keys = tuple(map(str, range(len(lines))))
    return LogExtract(lines, [one.seq for one in lines], keys, size < MAX_LINES)


def log_table(recording: Recording, seq: Seq, level: int = DEFAULT_LEVEL) -> Table:
    """The whole log; the first line of the event is the current one, later lines step back."""
    log_reading(recording).read_lines()
    return log_so_far(recording, seq, level)


def log_so_far(recording: Recording, seq: Seq, level: int) -> Table:
    """As much of the log as is written."""
    told = log_reading(recording)
    found = _log_extract(recording, level, len(told.lines))
    first, behind = bisect_left(found.seqs, seq), bisect_right(found.seqs, seq)
    current = found.keys[first] if first < behind else ""
    sought = found.keys[max(first - 1, 0)] if found.keys else ""
    head = [
        make_line(
            f"-v={level}: {count_noun(behind - first, 'line')} of this event",
            muted_piece(f", {len(found.lines)} in all"),
        )
    ]
    if not found.whole:
        head.append(
            make_line(Piece(f"! only the first {count_noun(MAX_LINES, 'line')} of the cycle are written", "warn"))
        )
    if not told.done:
        head.append(make_line(muted_piece("still being written")))
    rows = RowsOnDemand(found.keys, lambda i: _log_row(found.keys[i], found.lines[i], seq))
    return Table(f"Log at -v={level}", LOG_COLUMNS, rows, tuple(head), current=current, sought=sought)


def quietest_level_at(recording: Recording, seq: Seq, level: int) -> int:
    """The quietest level from this one on at which the event has a line; this one where it has none at all."""
    told = log_reading(recording)
    levels = (each for each in LOG_LEVELS if each >= level)
    return next((each for each in levels if seq in _events_with_lines(recording, each, len(told.lines))), level)


@per_recording(most=6)
def _events_with_lines(recording: Recording, level: int, size: int) -> Mapping[Seq, None]:
    return dict.fromkeys(_log_extract(recording, level, size).seqs)


def _log_row(key: str, said: ReplayedLine, seq: Seq) -> Row:
    style: Style = "here" if said.seq == seq else "muted" if said.seq > seq else ""
    mark = Piece(EVENT_MARK if said.seq == seq else "", "here")
    return Row(key, (mark, *(Piece(text, style) for text in (str(said.seq), str(said.level), said.text))), said.seq)
