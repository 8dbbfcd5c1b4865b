"""The lines that the real scheduler would print at a -v level, with those of the present event marked."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from vcdebug.amount_text import plural
from vcdebug.collector import collector_paused
from vcdebug.logs.levels import LEVELS, USUAL
from vcdebug.logs.log_writer import LogLine, log_lines
from vcdebug.model.names import Seq
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, OnDemand, Piece, Row, Style, Table, line, muted

OF_EVENT: Final = "▸"
"""Marks each line of the present event."""
MOST_LINES: Final = 200_000
"""Lines read from a cycle at most: a longer log would take longer to write than anybody waits."""
COLUMNS = (Column(""), Column("event", right=True), Column("-v", right=True), Column("line", flexible=True, least=20))


class Written(NamedTuple):
    """The log of a recording at one level."""

    lines: Sequence[LogLine]
    seqs: Sequence[Seq]
    keys: Sequence[str]
    whole: bool


class Narration:
    """A recording's lines while they are being found, loudest level; a front end may find a part at a time.

    Found is which lines there are and whose they are; their texts are written when somebody looks.
    """

    def __init__(self, recording: Recording) -> None:
        self._source = islice(log_lines(recording, LEVELS[-1]), MOST_LINES)
        self.lines: list[LogLine] = []
        self.done = False

    def write(self, most: int = MOST_LINES) -> bool:
        """At most so many lines more; whether that was the last of them."""
        before = len(self.lines)
        with collector_paused():
            self.lines += islice(self._source, most)
        self.done = self.done or len(self.lines) - before < most or len(self.lines) == MOST_LINES
        return self.done


@per_recording()
def narration(recording: Recording) -> Narration:
    """The one narration of a recording."""
    return Narration(recording)


@per_recording(most=6)
def _written(recording: Recording, level: int, size: int) -> Written:
    lines = [one for one in narration(recording).lines[:size] if one.level <= level]
    keys = tuple(map(str, range(len(lines))))
    return Written(lines, [one.seq for one in lines], keys, size < MOST_LINES)


def log(recording: Recording, seq: Seq, level: int = USUAL) -> Table:
    """The whole log; the first line of the event is the current one, later lines step back."""
    narration(recording).write()
    return log_so_far(recording, seq, level)


def log_so_far(recording: Recording, seq: Seq, level: int) -> Table:
    """As much of the log as is written."""
    told = narration(recording)
    found = _written(recording, level, len(told.lines))
    first, behind = bisect_left(found.seqs, seq), bisect_right(found.seqs, seq)
    current = found.keys[first] if first < behind else ""
    sought = found.keys[max(first - 1, 0)] if found.keys else ""
    head = [line(f"-v={level}: {plural(behind - first, 'line')} of this event", muted(f", {len(found.lines)} in all"))]
    if not found.whole:
        head.append(line(Piece(f"! only the first {plural(MOST_LINES, 'line')} of the cycle are written", "warn")))
    if not told.done:
        head.append(line(muted("still being written")))
    rows = OnDemand(found.keys, lambda i: _row(found.keys[i], found.lines[i], seq))
    return Table(f"Log at -v={level}", COLUMNS, rows, tuple(head), current=current, sought=sought)


def heard_at(recording: Recording, seq: Seq, level: int) -> int:
    """The quietest level from this one on at which the event has a line; this one where it has none at all."""
    told = narration(recording)
    levels = (each for each in LEVELS if each >= level)
    return next((each for each in levels if seq in _events(recording, each, len(told.lines))), level)


@per_recording(most=6)
def _events(recording: Recording, level: int, size: int) -> Mapping[Seq, None]:
    return dict.fromkeys(_written(recording, level, size).seqs)


def _row(key: str, said: LogLine, seq: Seq) -> Row:
    style: Style = "here" if said.seq == seq else "muted" if said.seq > seq else ""
    mark = Piece(OF_EVENT if said.seq == seq else "", "here")
    return Row(key, (mark, *(Piece(text, style) for text in (str(said.seq), str(said.level), said.text))), said.seq)
