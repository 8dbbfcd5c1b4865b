"""What a program logged: all of it while it is short, else its beginning and its end."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import TextIO

from vcdebug.model.names import JobId, NodeName, Row, SubJobId, TaskKey
from vcdebug.snapshot.cycle_inputs import ChanceSettings

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


# In which order a scheduler tried HyperNodes for jobs and sub jobs, as its log says it, line by line.

DOMAIN_MARK = '] "Try to allocate resource for '
JOB_DOMAIN = re.compile(r'for job in hyperNode" job(?:Name)?="([^"]+)" hyperNode(?:Name)?="([^"]*)"')
SUB_JOB_DOMAIN = re.compile(r'for tasks in subJob" job="[^"]*" subJob="([^"]+)" taskNum=\d+ hyperNode="([^"]*)"')
"""Upstream: actions/allocate (allocateForJob, allocateForSubJob), from -v=3 on."""


class DomainLog:
    """The HyperNodes of one cycle, one after the other."""

    def __init__(self) -> None:
        self._jobs: dict[JobId, list[str]] = {}
        self._sub_jobs: dict[SubJobId, list[str]] = {}

    def read_line(self, line: str) -> None:
        """Take down a line, if it is about a HyperNode that is tried."""
        if DOMAIN_MARK not in line:
            return
        if match := JOB_DOMAIN.search(line):
            self._jobs.setdefault(match[1], []).append(match[2])
        elif match := SUB_JOB_DOMAIN.search(line):
            self._sub_jobs.setdefault(match[1], []).append(match[2])

    def clear_cycle(self) -> None:
        """Another cycle begins."""
        self._jobs.clear()
        self._sub_jobs.clear()

    def of_jobs(self) -> dict[JobId, str]:
        """By job, as the replay takes it."""
        return _domain_texts(self._jobs)

    def of_sub_jobs(self) -> dict[SubJobId, str]:
        """By sub job, as the replay takes it."""
        return _domain_texts(self._sub_jobs)


def _domain_texts(known: dict[str, list[str]]) -> dict[str, str]:
    """Of those for which more than one was tried."""
    return {name: ";".join(tried) for name, tried in known.items() if len({*tried}) > 1}


# Which node won each dry run of topology-aware preemption, as a scheduler's log says it, line by line.

DRY_RUN_BEGUN = "] the predicateNodes number is "
DRY_RUN_VICTIM = re.compile(r"\] Try to preempt Task <[^>]+> for Task <([^>]+)>")
DRY_RUN_PLACED = re.compile(r"\] After pipelined Task <([^>]+)> to Node <([^>]+)>: ")
"""Upstream: actions/preempt (findCandidates, prepareCandidate), framework/statement.Pipeline, from -v=3 on."""


class DryRunLog:
    """The dry runs of one cycle that found a node, by pod."""

    def __init__(self) -> None:
        self._won: dict[TaskKey, list[NodeName]] = {}
        self._begun = False
        self._task: TaskKey = ""

    def read_line(self, line: str) -> None:
        """Take down a line, if it is about a dry run."""
        if DRY_RUN_BEGUN in line:
            self._begun, self._task = True, ""
        elif self._begun and (match := DRY_RUN_VICTIM.search(line)):
            self._task = match[1]
        elif self._task and (match := DRY_RUN_PLACED.search(line)) and match[1] == self._task:
            self._won.setdefault(self._task, []).append(match[2])
            self._begun, self._task = False, ""

    def clear_cycle(self) -> None:
        """Another cycle begins."""
        self._won.clear()
        self._begun, self._task = False, ""

    def chance_texts(self) -> dict[TaskKey, str]:
        """By pod, as the replay takes it."""
        return {task: ";".join(nodes) for task, nodes in self._won.items()}


# Where a scheduler put each pod, time after time, as its log says it, line by line.

TASK_PLACED = re.compile(r"\] After (?:allocated|pipelined) Task <([^>]+)> to Node <([^>]+)>: ")
"""Upstream: framework/statement (Allocate, Pipeline), framework/session (Allocate), from -v=3 on."""


class PlacementLog:
    """The nodes of one cycle, by pod: those of statements that were discarded, too."""

    def __init__(self) -> None:
        self._nodes: dict[TaskKey, list[NodeName]] = {}

    def read_line(self, line: str) -> None:
        """Take down a line, if it is about a placement."""
        if match := TASK_PLACED.search(line):
            self._nodes.setdefault(match[1], []).append(match[2])

    def clear_cycle(self) -> None:
        """Another cycle begins."""
        self._nodes.clear()

    def chance_texts(self) -> dict[TaskKey, str]:
        """By pod, as the replay takes it: the last one holds from then on."""
        return {task: ";".join(_without_repeats(nodes)) for task, nodes in self._nodes.items()}


def _without_repeats(nodes: list[NodeName]) -> list[NodeName]:
    last = len(nodes)
    while last > 1 and nodes[last - 2] == nodes[last - 1]:
        last -= 1
    return nodes[:last]


# At which nodes a scheduler has looked for each pod, as its log says it, line by line.

SEARCH_MARK = "] Considering Task <"
SEARCH_LINE = re.compile(r"\] Considering Task <([^>]+)> on node <([^>]+)>: ")
"""Upstream: util/predicate_helper.PredicateNodes, from -v=4 on."""


class SearchLog:
    """The searches of one cycle; a node that is looked at again begins another one."""

    def __init__(self) -> None:
        self._found: dict[TaskKey, list[dict[NodeName, None]]] = {}
        self._names: dict[NodeName, NodeName] = {}
        self._last = ""

    def read_line(self, line: str) -> None:
        """Take down a line, if it is about a node."""
        match = SEARCH_LINE.search(line) if SEARCH_MARK in line else None
        if match is None:
            return
        task, node = match[1], self._names.setdefault(match[2], match[2])
        searches = self._found.setdefault(task, [])
        if task != self._last or node in searches[-1]:
            searches.append({})
        self._last = task
        searches[-1][node] = None

    def clear_cycle(self) -> None:
        """Another cycle begins."""
        self._found.clear()
        self._last = ""

    def chance_texts(self, nodes: Iterable[NodeName]) -> dict[TaskKey, str]:
        """By pod, as the replay takes it; nothing of pods with nodes that are not there."""
        places = {name: place for place, name in enumerate(nodes)}
        known = {
            task: searches
            for task, searches in self._found.items()
            if all(node in places for search in searches for node in search)
        }
        return {task: _search_text(searches, places) for task, searches in known.items()}


def _search_text(searches: Iterable[Iterable[NodeName]], places: Mapping[NodeName, int]) -> str:
    return ";".join(
        format_ranges(_rotate_rows(sorted(places[node] for node in search), len(places))) for search in searches
    )


def _rotate_rows(rows: list[Row], nodes: int) -> list[Row]:
    """Ascending places from the one behind the widest gap on: there the round of the workers began."""
    gaps = [after - before for before, after in pairwise([*rows, rows[0] + nodes])]
    begin = gaps.index(max(gaps)) + 1
    return [*rows[begin:], *rows[:begin]]


def format_ranges(rows: list[Row]) -> str:
    """Places in their order, as the replay takes them."""
    starts = [place for place, row in enumerate(rows) if place == 0 or row != rows[place - 1] + 1]
    ends = [*starts[1:], len(rows)]
    return ",".join(f"{rows[start]}-{rows[end - 1]}" for start, end in zip(starts, ends, strict=True))


# On which nodes preempt and reclaim looked for victims for each pod, as a scheduler's log says it, line by line.

PREEMPT_MARK, RECLAIM_MARK = " preempt.go:", " reclaim.go:"
VICTIM_NODE = re.compile(r"\] Considering Task <([^>]+)> on Node <([^>]+)>\.$")
"""Upstream: actions/reclaim (Execute, reclaimForTask), actions/preempt (preempt, normalPreempt), from -v=3 on."""


class VictimSearchLog:
    """The nodes of one action in one cycle, one after the other, by pod."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._tried: dict[TaskKey, dict[NodeName, None]] = {}

    def read_line(self, line: str) -> None:
        """Take down a line, if it is about a node on which the action looks."""
        if self._mark in line and (match := VICTIM_NODE.search(line)):
            self._tried.setdefault(match[1], {})[match[2]] = None

    def clear_cycle(self) -> None:
        """Another cycle begins."""
        self._tried.clear()

    def chance_texts(self) -> dict[TaskKey, str]:
        """Of pods for which there was more than one, as the replay takes it."""
        return {task: ";".join(nodes) for task, nodes in self._tried.items() if len(nodes) > 1}
