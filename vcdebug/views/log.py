"""The panel Log: the lines that the real scheduler would print at a -v level; the event's lines are marked."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from vcdebug.amount_text import count_noun
from vcdebug.comparison.logs.log_writer import ReplayedLine, log_lines, shows_comparisons
from vcdebug.comparison.logs.message import DEFAULT_LEVEL, LOG_LEVELS
from vcdebug.garbage_collection import collector_paused
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.views.pieces import HERE, Piece, Style, make_line, muted_piece
from vcdebug.views.table import Row, RowsOnDemand, Table, table_columns

MAX_LINES: Final = 200_000
"""The maximum number of generated lines; a longer log would take too long to show."""
LINES_PER_CHECK: Final = 20
"""Lines between two questions whether to go on: a line about all jobs takes milliseconds."""
LOG_COLUMNS = table_columns("", "event#", "-v#", "line~20")


class LogExtract(Struct, frozen=True):
    """The log of a recording at one level."""

    lines: Sequence[ReplayedLine]
    seqs: Sequence[Seq]
    keys: Sequence[str]
    is_complete: bool


class LogReading:
    """A recording's lines of all levels, generated part by part so that a front end stays responsive."""

    def __init__(self, recording: Recording, *, with_comparisons: bool) -> None:
        self._source = islice(log_lines(recording, LOG_LEVELS[-1], with_comparisons=with_comparisons), MAX_LINES)
        self.lines: list[ReplayedLine] = []
        self.is_done = False

    def read_lines(self, may_continue: Callable[[], bool] = lambda: True) -> bool:
        """Generate more lines while `may_continue` is true; returns whether the log is complete."""
        # Many small objects that all stay alive: garbage collections in between would only cost time.
        with collector_paused():
            while not self.is_done:
                part = [*islice(self._source, LINES_PER_CHECK)]
                self.lines += part
                self.is_done = len(part) < LINES_PER_CHECK
                if not may_continue():
                    break
        return self.is_done


def log_reading(recording: Recording, level: int) -> LogReading:
    """The log of a recording, shared by all callers; a level without comparisons needs no second run of the cycle."""
    return _known_reading(recording, shows_comparisons(recording, level))


@per_recording()
def _known_reading(recording: Recording, with_comparisons: bool) -> LogReading:
    return LogReading(recording, with_comparisons=with_comparisons)


# `size` is part of the key, as the log grows while it is generated.
@per_recording(most=6)
def _log_extract(recording: Recording, level: int, size: int) -> LogExtract:
    lines = [line for line in log_reading(recording, level).lines[:size] if line.level <= level]
    keys = tuple(map(str, range(len(lines))))
    return LogExtract(lines, [line.seq for line in lines], keys, size < MAX_LINES)


def log_table(recording: Recording, seq: Seq, level: int = DEFAULT_LEVEL) -> Table:
    """The whole log; the event's first line is the current row, later lines are muted."""
    log_reading(recording, level).read_lines()
    return log_so_far(recording, seq, level)


def log_so_far(recording: Recording, seq: Seq, level: int) -> Table:
    """The table of the lines generated so far."""
    reading = log_reading(recording, level)
    extract = _log_extract(recording, level, len(reading.lines))
    first, behind = bisect_left(extract.seqs, seq), bisect_right(extract.seqs, seq)
    current = extract.keys[first] if first < behind else ""
    sought = extract.keys[max(first - 1, 0)] if extract.keys else ""
    own_count = f"-v={level}: {count_noun(behind - first, 'line')} of this event"
    head = [make_line(own_count, muted_piece(f", {len(extract.lines)} in total"))]
    if not extract.is_complete:
        words = f"! only the first {count_noun(MAX_LINES, 'line')} of the cycle are written"
        head.append(make_line(Piece(words, "warn")))
    if not reading.is_done:
        head.append(make_line(muted_piece("still being written")))
    rows = RowsOnDemand(extract.keys, lambda i: _log_row(extract.keys[i], extract.lines[i], seq))
    return Table(f"Log at -v={level}", LOG_COLUMNS, rows, tuple(head), current=current, target=sought, is_quoted=True)


def quietest_level_at(recording: Recording, seq: Seq, level: int) -> int:
    """The lowest level from `level` on at which the event has a line; `level` itself if it has none."""
    size = len(log_reading(recording, DEFAULT_LEVEL).lines)
    levels = (candidate for candidate in LOG_LEVELS if candidate >= level)
    return next((candidate for candidate in levels if seq in _events_with_lines(recording, candidate, size)), level)


@per_recording(most=6)
def _events_with_lines(recording: Recording, level: int, size: int) -> Mapping[Seq, None]:
    lines = log_reading(recording, DEFAULT_LEVEL).lines[:size]
    return dict.fromkeys(line.seq for line in lines if line.level <= level)


def _log_row(key: str, line: ReplayedLine, seq: Seq) -> Row:
    style: Style = "here" if line.seq == seq else "muted" if line.seq > seq else ""
    mark = Piece(HERE if line.seq == seq else "", "here")
    return Row(key, (mark, *(Piece(text, style) for text in (str(line.seq), str(line.level), line.text))), line.seq)
