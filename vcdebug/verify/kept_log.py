"""What a program logged: all of it while it is short, else its beginning and its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import TextIO

from vcdebug.model.names import NodeName
from vcdebug.snapshot.chance import ChanceSettings
from vcdebug.verify.domains import DomainLog
from vcdebug.verify.dry_runs import DryRunLog
from vcdebug.verify.placements import PlacementLog
from vcdebug.verify.searches import SearchLog
from vcdebug.verify.victim_searches import PREEMPT_MARK, RECLAIM_MARK, VictimSearchLog

MAX_END_LINES = 150_000
"""Lines at the beginning, and as many at the end."""
OPENED_MARK = " Job and <"


class SchedulerLog:
    """Lines as they come; whole ones go to a file, if there is one."""

    def __init__(self, file: TextIO | None = None, kept: int = MAX_END_LINES) -> None:
        self._file = file
        self._kept = kept
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=kept)
        self.count = 0
        self._searches = SearchLog()
        self._dry_runs = DryRunLog()
        self._preempts = VictimSearchLog(PREEMPT_MARK)
        self._reclaims = VictimSearchLog(RECLAIM_MARK)
        self._placements = PlacementLog()
        self._domains = DomainLog()
        self._readers = (
            self._searches,
            self._dry_runs,
            self._preempts,
            self._reclaims,
            self._placements,
            self._domains,
        )
        self.jobs: int | None = None
        """With how many jobs the last cycle began; None where it was not said."""

    def add_line(self, line: str, *, counts: bool = True) -> None:
        """One line more; what does not count is kept, but not understood."""
        self.count += 1
        (self._head if len(self._head) < self._kept else self._tail).append(line)
        if counts:
            self._read_line(line)
        if self._file is not None:
            self._file.write(f"{line}\n")

    def _read_line(self, line: str) -> None:
        for one in self._readers:
            one.read_line(line)
        if OPENED_MARK in line and "Open Session " in line:
            number = line.partition(" with <")[2].partition(">")[0]
            self.jobs = int(number) if number.isdecimal() else None

    def begin_cycle(self) -> None:
        """Another cycle begins: what is known of the one before is forgotten."""
        for one in self._readers:
            one.clear_cycle()
        self.jobs = None

    @property
    def is_whole(self) -> bool:
        """Whether every line is kept."""
        return self.count == len(self._head) + len(self._tail)

    def __iter__(self) -> Iterator[str]:
        yield from chain(self._head, self._tail)

    @property
    def panic_line(self) -> str:
        """What a program says when it dies of a fault; empty where it has not said so."""
        return next((line for line in self if line.startswith(("panic:", "fatal error:"))), "")

    def last_words(self) -> str:
        """What a program says when it dies, or else said last."""
        last = next((line for line in chain(reversed(self._tail), reversed(self._head)) if line.strip()), "")
        return self.panic_line or last or "it said nothing"

    def drawn_chance(self, nodes: list[NodeName]) -> ChanceSettings:
        """What the last cycle drew, as the replay takes it; the session has these nodes."""
        return ChanceSettings(
            choices=self._placements.chance_texts(),
            searches=self._searches.chance_texts(nodes),
            dry_runs=self._dry_runs.chance_texts(),
            preempts=self._preempts.chance_texts(),
            reclaims=self._reclaims.chance_texts(),
            job_domains=self._domains.of_jobs(),
            sub_job_domains=self._domains.of_sub_jobs(),
        )
