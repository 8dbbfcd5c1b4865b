"""Compares a real scheduler's log with the replay of a snapshot: which cycle matches, and the first difference.

Upstream: k8s.io/klog text format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import Literal, NamedTuple

from msgspec import Struct

from vcdebug.comparison.logs.log_writer import ReplayedLine, log_lines
from vcdebug.comparison.logs.message import (
    MESSAGE_BY_KEY,
    UNKNOWN_TEXT,
    LogMessage,
    has_parts_in_order,
    recognise_message,
)
from vcdebug.errors import VcdebugError
from vcdebug.recording.recording import Recording

DisagreementKind = Literal["different", "missing", "extra", "order"]


class Disagreement(Struct, frozen=True):
    """The first difference between a log and the replay."""

    kind: DisagreementKind
    """Kind: different text, missing in the log, extra in the log, or two lines in another order."""
    logged: KlogLine | None
    """The log's line at the difference; None at the end of the log."""
    replayed: ReplayedLine | None
    """The replay's line at the difference; None after its last line."""
    agreed: KlogLine | None
    """The last line of the log that agrees; None if none does."""


class LogComparison(Struct, frozen=True):
    """One cycle of a log, compared with the replay."""

    cycle: LogCycle
    level: int
    """The log's -v level, as its lines show it."""
    agreeing_count: int
    """Number of the log's lines that agree."""
    covered_count: int
    """Number of the log's lines whose messages are compared."""
    reordered: int
    """Number of lines of parallel workers that agree in another order."""
    total: int
    """Number of all lines of the cycle, from the first known one."""
    skipped: int
    """Number of the replay's lines before the log's first one, where the log begins in the middle of the cycle."""
    disagreement: Disagreement | None

    @property
    def is_whole_cycle(self) -> bool:
        """Whether the log has the cycle from its first to its last line."""
        return self.cycle.complete and not self.skipped


class KnownLine(NamedTuple):
    """A line of the log with its message."""

    line: KlogLine
    message: LogMessage


def compare_cycle(cycle: LogCycle, replayed: Sequence[ReplayedLine], *, is_whole: bool = False) -> LogComparison:
    """Compare the lines in order; unknown lines, and kinds of lines that the replay never prints, do not count.

    `is_whole`: no line was left out of the log, so that one that it lacks is a difference.
    """
    pairs = ((line, recognise_message(line.file, line.text)) for line in cycle.lines)
    recognised = [KnownLine(line, message) for line, message in pairs if message is not None]
    # The log's -v level: the highest one of its messages with a certain level.
    loudness = max((line.message.level for line in recognised if line.message.is_level_certain), default=0)
    keys = _compared_keys(recognised, replayed, loudness)
    log = [line for line in recognised if line.message.key in keys]
    expected = [line for line in replayed if line.message_key in keys]
    walks = (
        [_walk_from(log, expected, 0, complete=cycle.complete)] if is_whole else _walk_excerpts(log, expected, cycle)
    )
    agreeing, reordered = sum(walk.index for walk in walks), sum(walk.reordered for walk in walks)
    first = recognised[0].line.number if recognised else 0
    total = len([line for line in cycle.lines if line.number >= first])
    skipped, disagreement = walks[0].skipped, walks[-1].disagreement
    return LogComparison(cycle, loudness, agreeing, len(log), reordered, total, skipped, disagreement)


def _compared_keys(lines: Sequence[KnownLine], replayed: Sequence[ReplayedLine], level: int) -> dict[str, None]:
    """Keys of the compared messages: those with a certain level, and others that both sides have."""
    logged = dict.fromkeys(line.message.key for line in lines)
    printed = dict.fromkeys(line.message_key for line in replayed)
    firm = (key for key, message in MESSAGE_BY_KEY.items() if message.is_level_certain and message.level <= level)
    shared = (key for key in logged if key in printed and not MESSAGE_BY_KEY[key].is_level_certain)
    return dict.fromkeys((*firm, *shared))


def lines_agree(text: str, expected: str) -> bool:
    """Whether a line equals the replay's line, in which unknown parts match any text."""
    if UNKNOWN_TEXT not in expected:
        return text == expected.rstrip()
    return has_parts_in_order(text, expected.rstrip().split(UNKNOWN_TEXT))


class _LogWalk:
    """Compares log and replay line by line from the beginning of both."""

    def __init__(
        self, log: Sequence[KnownLine], expected: Sequence[ReplayedLine], *, skipped: int, complete: bool
    ) -> None:
        self._log = log
        self._replayed_lines = expected
        self._complete = complete
        self.index = 0
        """Number of lines that agree so far."""
        self.reordered = 0
        self.skipped = skipped
        """Number of the cycle's lines before the expected ones."""
        self.disagreement = self._find_disagreement()

    def next_start(self, expected: Sequence[ReplayedLine]) -> int:
        """Where in the cycle's lines the next excerpt may begin; a run of parallel workers may continue in it."""
        start = len(expected) - len(self._replayed_lines) + self.index
        return _run_start(expected, start - 1) if self.index else start

    def _find_disagreement(self) -> Disagreement | None:
        """The first disagreement; None if log and replay agree."""
        while self.index < len(self._log) and self.index < len(self._replayed_lines):
            size = _run_end(self._replayed_lines, self.index) - self.index
            disagreement = self._compare_unordered(size) if size > 1 else self._compare_next()
            if disagreement is not None:
                return disagreement
        if self.index < len(self._log):
            return self._build_disagreement("extra")
        if self.index < len(self._replayed_lines) and self._complete:
            return self._build_disagreement("missing")
        return None

    def _lines_match(self, log: int, expected: int) -> bool:
        if log >= len(self._log) or expected >= len(self._replayed_lines):
            return False
        return lines_agree(self._log[log].line.text, self._replayed_lines[expected].text)

    def _compare_next(self) -> Disagreement | None:
        place = self.index
        if self._lines_match(place, place):
            self.index += 1
            return None
        if self._lines_match(place, place + 1):
            return self._build_disagreement("order" if self._lines_match(place + 1, place) else "missing")
        return self._build_disagreement("extra" if self._lines_match(place + 1, place) else "different")

    def _compare_unordered(self, size: int) -> Disagreement | None:
        """Compare lines of parallel workers, which may come in any order."""
        start, end = self.index, min(self.index + size, len(self._log))
        # Most runs agree in order; matching all pairs takes time quadratic in the length of the run.
        if all(self._lines_match(start + step, start + step) for step in range(end - start)):
            self.index = end
            return None
        matched: dict[int, int] = {}
        for expected in range(start, start + size):
            free = (log for log in range(start, end) if log not in matched and self._lines_match(log, expected))
            log = next(free, None)
            if log is not None:
                matched[log] = expected
        if len(matched) == end - start:
            self.reordered += len([log for log, expected in matched.items() if log != expected])
            self.index = end
            return None
        return self._first_unmatched(start, size, matched)

    def _first_unmatched(self, start: int, size: int, matched: dict[int, int]) -> Disagreement:
        """The first line of the run without a counterpart, on either side."""
        written = dict.fromkeys(matched.values())
        for place in range(start, start + size):
            extra, missing = place not in matched, place not in written
            if extra or missing:
                self.index = place
                return self._build_disagreement("different" if extra and missing else "extra" if extra else "missing")
        raise AssertionError("a run without a difference")

    def _build_disagreement(self, kind: DisagreementKind) -> Disagreement:
        line = self._log[self.index].line if self.index < len(self._log) else None
        expected = self._replayed_lines[self.index] if self.index < len(self._replayed_lines) else None
        agreed = self._log[self.index - 1].line if self.index else None
        return Disagreement(kind, line, expected, agreed)


def _in_one_run(first: ReplayedLine, second: ReplayedLine) -> bool:
    """Whether parallel workers print both lines about one event, so that either may come first."""
    return first.seq == second.seq and all(MESSAGE_BY_KEY[line.message_key].unordered for line in (first, second))


def _run_start(expected: Sequence[ReplayedLine], place: int) -> int:
    """The start of the lines up to `place` that belong to one event and may come in any order."""
    while place and _in_one_run(expected[place - 1], expected[place]):
        place -= 1
    return place


def _run_end(expected: Sequence[ReplayedLine], start: int) -> int:
    """The end of the lines from `start` on that belong to one event and may come in any order."""
    places = range(start, len(expected))
    return start + len(list(takewhile(lambda place: _in_one_run(expected[start], expected[place]), places)))


# A log may consist of excerpts: each begins where most of its lines agree in a row, after the one before it.

MAX_DIFFERING_STARTS = 10
"""Number of an excerpt's first lines that may differ before the excerpt's place in the cycle is no longer sought."""
ENOUGH_LINES = 2
"""Number of lines that show an excerpt's place in the cycle, since single lines are printed many times."""


def _walk_excerpts(log: Sequence[KnownLine], expected: Sequence[ReplayedLine], cycle: LogCycle) -> list[_LogWalk]:
    """The comparisons of the excerpts up to the first that disagrees; at least one."""
    excerpts = [list(lines) for _, lines in groupby(log, lambda known: known.line.excerpt)] or [[]]
    walks: list[_LogWalk] = []
    for excerpt in excerpts:
        start = walks[-1].next_start(expected) if walks else 0
        # The lines of a later cycle begin with the session, since those before them end with one.
        walk_excerpt = _walk_best if walks or cycle.number == 1 else _walk_from
        walks.append(walk_excerpt(excerpt, expected, start, complete=cycle.complete and excerpt is excerpts[-1]))
        if walks[-1].disagreement is not None:
            break
    return walks


def _walk_from(
    excerpt: Sequence[KnownLine], expected: Sequence[ReplayedLine], start: int, *, complete: bool
) -> _LogWalk:
    return _LogWalk(excerpt, expected[start:], skipped=start, complete=complete)


def _walk_best(
    excerpt: Sequence[KnownLine], expected: Sequence[ReplayedLine], start: int, *, complete: bool
) -> _LogWalk:
    """The comparison from the place at or after `start` from which most lines of the excerpt agree in a row."""
    best = _walk_from(excerpt, expected, start, complete=complete)
    most = best.index
    for differing in range(min(len(excerpt), MAX_DIFFERING_STARTS)):
        if best.disagreement is None or (differing and most >= ENOUGH_LINES):
            break
        for place in _places(excerpt[differing], expected, start):
            lines = _lines_from(place, excerpt[differing:], expected)
            walk = _LogWalk(excerpt[differing:], lines, skipped=place, complete=complete)
            if walk.index > most or walk.disagreement is None:
                most, begin = walk.index, max(start, place - differing)
                best = _walk_from(excerpt, expected, begin, complete=complete) if differing else walk
            if best.disagreement is None:
                break
    return best


def _places(known: KnownLine, expected: Sequence[ReplayedLine], start: int) -> Iterator[int]:
    """Where the replay prints a line; once in each run of parallel workers."""
    run_end = start
    for place in range(start, len(expected)):
        line = expected[place]
        is_same_kind = place >= run_end and line.message_key == known.message.key
        if is_same_kind and lines_agree(known.line.text, line.text):
            run_end = _run_end(expected, place)
            yield place


def _lines_from(place: int, excerpt: Sequence[KnownLine], expected: Sequence[ReplayedLine]) -> Sequence[ReplayedLine]:
    """The replay's lines from `place` on, without those of a run that the log has before the excerpt."""
    run_start, run_end = _run_start(expected, place), _run_end(expected, place)
    if run_end - run_start <= 1:
        return expected[place:]
    free, printed = list(expected[run_start:run_end]), list[ReplayedLine]()
    for known in excerpt:
        line = next((line for line in free if lines_agree(known.line.text, line.text)), None)
        if line is None:
            break
        free.remove(line)
        printed.append(line)
    return [*printed, *expected[run_end:]]


# The cycle of a log that matches best.


class LogCheck(Struct, frozen=True):
    """The comparison of a log with a replay, by its best cycle."""

    best_comparison: LogComparison
    cycles: int
    """Number of cycles in the log."""

    @property
    def has_no_disagreement(self) -> bool:
        """Whether log and replay agree."""
        return self.best_comparison.disagreement is None


def check_log(
    lines: Iterable[str], recording: Recording, *, cycle: int | None = None, is_whole: bool = False
) -> LogCheck:
    """The first cycle that agrees, else the one that agrees longest; `cycle`, from 1, chooses one itself.

    `is_whole`: as in `compare_cycle`; otherwise the log may consist of excerpts.
    """
    cycles = split_cycles(parse_log(lines))
    if not cycles:
        hint = "it ends before one, or the scheduler runs below -v=3"
        raise VcdebugError("no scheduling cycle found in this log", hint)
    if cycle is not None and not 1 <= cycle <= len(cycles):
        raise VcdebugError(f"cycle {cycle} is not in this log", f"the log has cycles 1 to {len(cycles)}")
    written = list(log_lines(recording))
    best: LogComparison | None = None
    for candidate in cycles if cycle is None else [cycles[cycle - 1]]:
        comparison = compare_cycle(candidate, written, is_whole=is_whole)
        if best is None or _match_rank(comparison) > _match_rank(best):
            best = comparison
        if comparison.disagreement is None and comparison.is_whole_cycle:
            break
    assert best is not None
    return LogCheck(best, len(cycles))


def _match_rank(comparison: LogComparison) -> tuple[bool, int, bool]:
    agrees = comparison.disagreement is None
    return agrees and comparison.is_whole_cycle, comparison.agreeing_count, agrees


# Lines of a real scheduler's log, with any prefix before the klog header, split into cycles.

KLOG_HEADER = re.compile(r"(?:^|[\s|\]])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ ([\w.-]+\.go):\d+\] (.*)$")
"""klog's header; a container runtime's timestamps or a pod's name may come before it."""
SESSION_OPEN = "Open Session "
SESSION_CLOSE = "Close Session "


class KlogLine(NamedTuple):
    """One message of a log."""

    number: int
    """Line number in the file, from 1."""
    file: str
    text: str
    excerpt: int = 0
    """Number of marks of left-out lines before the message."""


class LogCycle(NamedTuple):
    """The lines of one scheduling cycle."""

    number: int
    """Number of the cycle in the log, from 1."""
    lines: tuple[KlogLine, ...]
    complete: bool
    """Whether the log has the session's last line."""


def parse_log(lines: Iterable[str]) -> Iterator[KlogLine]:
    """The lines with a klog header; others, such as a panic's stack, belong to no compared message.

    A line without letters and digits, such as `...`, `--` or an empty one, marks that lines are left out.
    """
    excerpt = 0
    for number, line in enumerate(lines, start=1):
        header = KLOG_HEADER.search(line.rstrip("\r\n"))
        if header is not None:
            yield KlogLine(number, header[1], header[2].rstrip(), excerpt)
        elif not any(map(str.isalnum, line)):
            excerpt += 1


def split_cycles(lines: Iterable[KlogLine]) -> list[LogCycle]:
    """Cycles end with `Close Session`; lines after the last one are a cycle if a session was opened in them.

    A log with neither line is an excerpt of one cycle if it has a line that is compared.
    """
    cycles: list[LogCycle] = []
    current: list[KlogLine] = []
    opened = False
    for line in lines:
        current.append(line)
        if line.text.startswith(SESSION_CLOSE) and line.file == "session.go":
            cycles.append(LogCycle(len(cycles) + 1, tuple(current), complete=True))
            current, opened = [], False
        elif line.text.startswith(SESSION_OPEN):
            opened = True
    if opened or (not cycles and any(recognise_message(line.file, line.text) for line in current)):
        cycles.append(LogCycle(len(cycles) + 1, tuple(current), complete=False))
    return cycles
