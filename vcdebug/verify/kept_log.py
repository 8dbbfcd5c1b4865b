"""What a program logged: all of it while it is short, else its beginning and its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import TextIO

from vcdebug.model.names import NodeName
from vcdebug.snapshot.chance import Chance
from vcdebug.verify.domains import Domains
from vcdebug.verify.dry_runs import DryRuns
from vcdebug.verify.placements import Placements
from vcdebug.verify.searches import Searches
from vcdebug.verify.victim_searches import PREEMPT, RECLAIM, VictimSearches

KEPT = 150_000
"""Lines at the beginning, and as many at the end."""
OPENED = " Job and <"


class KeptLog:
    """Lines as they come; whole ones go to a file, if there is one."""

    def __init__(self, file: TextIO | None = None, kept: int = KEPT) -> None:
        self._file = file
        self._kept = kept
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=kept)
        self.count = 0
        self._searches = Searches()
        self._dry_runs = DryRuns()
        self._preempts = VictimSearches(PREEMPT)
        self._reclaims = VictimSearches(RECLAIM)
        self._placements = Placements()
        self._domains = Domains()
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

    def add(self, line: str, *, counts: bool = True) -> None:
        """One line more; what does not count is kept, but not understood."""
        self.count += 1
        (self._head if len(self._head) < self._kept else self._tail).append(line)
        if counts:
            self._understand(line)
        if self._file is not None:
            self._file.write(f"{line}\n")

    def _understand(self, line: str) -> None:
        for one in self._readers:
            one.read(line)
        if OPENED in line and "Open Session " in line:
            number = line.partition(" with <")[2].partition(">")[0]
            self.jobs = int(number) if number.isdecimal() else None

    def begin(self) -> None:
        """Another cycle begins: what is known of the one before is forgotten."""
        for one in self._readers:
            one.clear()
        self.jobs = None

    @property
    def whole(self) -> bool:
        """Whether every line is kept."""
        return self.count == len(self._head) + len(self._tail)

    def __iter__(self) -> Iterator[str]:
        yield from chain(self._head, self._tail)

    @property
    def panic(self) -> str:
        """What a program says when it dies of a fault; empty where it has not said so."""
        return next((line for line in self if line.startswith(("panic:", "fatal error:"))), "")

    def last_words(self) -> str:
        """What a program says when it dies, or else said last."""
        last = next((line for line in chain(reversed(self._tail), reversed(self._head)) if line.strip()), "")
        return self.panic or last or "it said nothing"

    def told(self, nodes: list[NodeName]) -> Chance:
        """What the last cycle drew, as the replay takes it; the session has these nodes."""
        return Chance(
            choices=self._placements.texts(),
            searches=self._searches.texts(nodes),
            dry_runs=self._dry_runs.texts(),
            preempts=self._preempts.texts(),
            reclaims=self._reclaims.texts(),
            job_domains=self._domains.of_jobs(),
            sub_job_domains=self._domains.of_sub_jobs(),
        )
