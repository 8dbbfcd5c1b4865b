"""Logs of the real scheduler, and logs that the replay writes."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.recorded import recorded, recorded_path
from vcdebug.comparison.logs.log_writer import ReplayedLine, log_lines
from vcdebug.comparison.logs.message import MESSAGE_BY_KEY, UNKNOWN_TEXT, recognise_message
from vcdebug.comparison.scheduler_log import parse_log
from vcdebug.recording.recording import Recording

HERE = Path(__file__).resolve().parent
CASES = HERE.parent / "golden" / "random"
HEADER = "I1121 12:27:40.000000    9346 {file}:1] {text}"


def log_file(name: str) -> Path:
    """The recorded log of a random case."""
    return recorded_path(f"logs/{name}.log.gz")


@cache
def lines_in(path: Path) -> tuple[str, ...]:
    """The lines of a compressed log."""
    return tuple(gzip.decompress(path.read_bytes()).decode().splitlines())


@cache
def copied(name: str) -> tuple[tuple[str, ...], Recording]:
    """A recorded log, and the replay of its snapshot."""
    return lines_in(log_file(name)), recorded(CASES / name)


def quieter(lines: Iterable[str], level: int) -> list[str]:
    """The lines of a log that the scheduler writes at a lower -v."""
    return [line for line in lines if _level(line) <= level]


def _level(line: str) -> int:
    parsed = next(parse_log([line]), None)
    message = recognise_message(parsed.file, parsed.text) if parsed is not None else None
    return 0 if message is None else message.level


def written(lines: Iterable[ReplayedLine]) -> list[str]:
    """The lines of a replay in the format of the scheduler's log."""
    return [
        HEADER.format(file=MESSAGE_BY_KEY[line.message_key].file, text=line.text.replace(UNKNOWN_TEXT, "?"))
        for line in lines
    ]


def own_log(folder: Path, level: int = 10) -> list[str]:
    """The log that the replay of a case writes."""
    return written(log_lines(recorded(folder), level))


def position(lines: Iterable[str], text: str) -> int:
    """The index of the first line that contains a text."""
    return next(index for index, line in enumerate(lines) if text in line)
