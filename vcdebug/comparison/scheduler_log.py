"""A real scheduler's log beside the replay of a snapshot: which cycle it is, and where the two part.

Upstream: k8s.io/klog text format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from vcdebug.comparison.logs.log_writer import ReplayedLine, log_lines
from vcdebug.comparison.logs.message import UNKNOWN_TEXT, LogMessage, has_parts_in_order
from vcdebug.comparison.logs.messages import MESSAGE_BY_KEY, recognise_message
from vcdebug.errors import VcdebugError
from vcdebug.recording.recording import Recording

DisagreementKind = Literal["different", "missing", "extra", "order"]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The first place where a log and the replay part."""

    kind: DisagreementKind
    """different text; missing in the log; extra in the log; two lines in another order."""
    line: KlogLine | None
    """Where the log goes on; None at its end."""
    said: ReplayedLine | None
    """What the replay would have printed there; None behind its last line."""
    agreed: KlogLine | None
    """The last line of the log that agrees."""


@dataclass(frozen=True, slots=True)
class LogComparison:
    """One cycle of a log beside the replay."""

    cycle: LogCycle
    level: int
    """The log's -v level, as its lines show it."""
    compared: int
    """Lines of the log that agree."""
    covered: int
    """Lines of the log whose kinds are compared."""
    reordered: int
    """Lines of parallel workers that agree in another order."""
    total: int
    """All lines of the cycle, from the first one that is known."""
    disagreement: Disagreement | None


class KnownLine(NamedTuple):
    """A line of the log whose message is known."""

    line: KlogLine
    message: LogMessage


def compare_cycle(cycle: LogCycle, narrated: Sequence[ReplayedLine], level: int | None = None) -> LogComparison:
    """In order; lines that no pattern covers, and kinds that the replay never prints, are passed over."""
    known = [
        KnownLine(line, found) for line in cycle.lines if (found := recognise_message(line.file, line.text)) is not None
    ]
    loudness = inferred_level(known) if level is None else level
    keys = _compared_keys(known, narrated, loudness)
    log = [one for one in known if one.message.key in keys]
    said = [line for line in narrated if line.message_key in keys]
    walk = _LogWalk(log, said, complete=cycle.complete)
    disagreement = walk.find_disagreement()
    first = known[0].line.number if known else 0
    total = len([line for line in cycle.lines if line.number >= first])
    return LogComparison(cycle, loudness, walk.at, len(log), walk.reordered, total, disagreement)


def inferred_level(known: Iterable[KnownLine]) -> int:
    """The loudest message of certain level that the log has."""
    return max((one.message.level for one in known if one.message.firm), default=0)


def _compared_keys(known: Sequence[KnownLine], narrated: Sequence[ReplayedLine], level: int) -> dict[str, None]:
    """Certain levels count always; other kinds where both sides have them."""
    seen = dict.fromkeys(one.message.key for one in known)
    said = dict.fromkeys(line.message_key for line in narrated)
    firm = (key for key, message in MESSAGE_BY_KEY.items() if message.firm and message.level <= level)
    return {**dict.fromkeys(firm), **dict.fromkeys(key for key in seen if key in said and not MESSAGE_BY_KEY[key].firm)}


def lines_agree(text: str, said: str) -> bool:
    """Whether a line says what the replay says; unknown parts agree with anything."""
    if UNKNOWN_TEXT not in said:
        return text == said.rstrip()
    return has_parts_in_order(text, said.rstrip().split(UNKNOWN_TEXT))


class _LogWalk:
    """Both sides from the beginning."""

    def __init__(self, log: Sequence[KnownLine], said: Sequence[ReplayedLine], *, complete: bool) -> None:
        self._log = log
        self._said = said
        self._complete = complete
        self.at = 0
        """Lines agreed so far, on both sides."""
        self.reordered = 0

    def find_disagreement(self) -> Disagreement | None:
        """The first disagreement."""
        while self.at < len(self._log) and self.at < len(self._said):
            size = self._run_length()
            found = self._compare_unordered(size) if size > 1 else self._compare_one()
            if found is not None:
                return found
        if self.at < len(self._log):
            return self._build_disagreement("extra")
        if self.at < len(self._said) and self._complete:
            return self._build_disagreement("missing")
        return None

    def _lines_match(self, log: int, said: int) -> bool:
        if log >= len(self._log) or said >= len(self._said):
            return False
        return lines_agree(self._log[log].line.text, self._said[said].text)

    def _compare_one(self) -> Disagreement | None:
        here = self.at
        if self._lines_match(here, here):
            self.at += 1
            return None
        if self._lines_match(here, here + 1):
            return self._build_disagreement("order" if self._lines_match(here + 1, here) else "missing")
        return self._build_disagreement("extra" if self._lines_match(here + 1, here) else "different")

    def _run_length(self) -> int:
        """How many of the replay's next lines belong to one event and have no order among them."""
        seq, end = self._said[self.at].seq, self.at
        while (
            end < len(self._said)
            and self._said[end].seq == seq
            and MESSAGE_BY_KEY[self._said[end].message_key].unordered
        ):
            end += 1
        return end - self.at

    def _compare_unordered(self, size: int) -> Disagreement | None:
        """Lines of parallel workers: the same lines in any order."""
        start, end = self.at, min(self.at + size, len(self._log))
        if all(self._lines_match(start + step, start + step) for step in range(end - start)):
            self.at = end
            return None
        taken: dict[int, int] = {}
        for said in range(start, start + size):
            free = (log for log in range(start, end) if log not in taken and self._lines_match(log, said))
            log = next(free, None)
            if log is not None:
                taken[log] = said
        if len(taken) == end - start:
            self.reordered += len([log for log, said in taken.items() if log != said])
            self.at = end
            return None
        return self._first_unmatched(start, size, taken)

    def _first_unmatched(self, start: int, size: int, taken: dict[int, int]) -> Disagreement:
        """The first line of the run without a counterpart, on either side."""
        found = dict.fromkeys(taken.values())
        for at in range(start, start + size):
            lonely, unsaid = at not in taken, at not in found
            if lonely or unsaid:
                self.at = at
                return self._build_disagreement("different" if lonely and unsaid else "extra" if lonely else "missing")
        raise AssertionError("a run without a difference")

    def _build_disagreement(self, kind: DisagreementKind) -> Disagreement:
        line = self._log[self.at].line if self.at < len(self._log) else None
        said = self._said[self.at] if self.at < len(self._said) else None
        agreed = self._log[self.at - 1].line if self.at else None
        return Disagreement(kind, line, said, agreed)


# The cycle of a log that matches


@dataclass(frozen=True, slots=True)
class LogCheck:
    """The cycle that matches best."""

    best: LogComparison
    cycles: int
    """How many cycles the log has."""

    @property
    def has_no_disagreement(self) -> bool:
        """Whether the log says what the replay says."""
        return self.best.disagreement is None


def check_log(lines: Iterable[str], recording: Recording, *, cycle: int | None = None) -> LogCheck:
    """The first cycle that agrees, else the one that agrees longest; or the cycle that is asked for."""
    found = split_cycles(parse_log(lines))
    if not found:
        raise VcdebugError("no scheduling cycle in this log", "the scheduler must run with -v=3 or more")
    if cycle is not None and not 1 <= cycle <= len(found):
        raise VcdebugError(f"no cycle {cycle} in this log", f"it has cycles 1 to {len(found)}")
    written = list(log_lines(recording))
    best: LogComparison | None = None
    for candidate in found if cycle is None else [found[cycle - 1]]:
        comparison = compare_cycle(candidate, written)
        if best is None or _match_rank(comparison) > _match_rank(best):
            best = comparison
        if comparison.disagreement is None and candidate.complete:
            break
    assert best is not None
    return LogCheck(best, len(found))


def _match_rank(comparison: LogComparison) -> tuple[bool, int]:
    return comparison.disagreement is None, comparison.compared


# Lines of a real scheduler's log: klog headers, whatever stands before them, and where one cycle ends.

KLOG_HEADER = re.compile(r"(?:^|[\s|\]])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ ([\w.-]+\.go):\d+\] (.*)$")
"""File and message; timestamps of a container runtime or a pod's name may stand before it."""
SESSION_OPEN = "Open Session "
SESSION_CLOSE = "Close Session "


class KlogLine(NamedTuple):
    """One message of a log."""

    number: int
    """Of the line in the file, from 1."""
    file: str
    text: str


class LogCycle(NamedTuple):
    """What a log says about one scheduling cycle."""

    number: int
    """From 1, in order of the log."""
    lines: tuple[KlogLine, ...]
    complete: bool
    """Whether the session's last line is there."""


def parse_log(lines: Iterable[str]) -> Iterator[KlogLine]:
    """Messages with a klog header; lines without one belong to no message that is compared."""
    for number, line in enumerate(lines, start=1):
        found = KLOG_HEADER.search(line.rstrip("\r\n"))
        if found is not None:
            yield KlogLine(number, found[1], found[2].rstrip())


def split_cycles(lines: Iterable[KlogLine]) -> list[LogCycle]:
    """One cycle ends with `Close Session`; a rest counts if a session was opened in it."""
    found: list[LogCycle] = []
    current: list[KlogLine] = []
    opened = False
    for line in lines:
        current.append(line)
        if line.text.startswith(SESSION_CLOSE) and line.file == "session.go":
            found.append(LogCycle(len(found) + 1, tuple(current), complete=True))
            current, opened = [], False
        elif line.text.startswith(SESSION_OPEN):
            opened = True
    if opened:
        found.append(LogCycle(len(found) + 1, tuple(current), complete=False))
    return found
