"""The log of a scheduler's program: its kept lines, and the random choices that it reveals."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import TextIO

from vcdebug.model.names import JobId, NodeName, Row, SubJobId, TaskKey
from vcdebug.snapshot.cycle_inputs import ChanceSettings

MAX_END_LINES = 150_000
"""Maximum number of lines kept of the beginning, and of the end."""
OPENED_MARK = " Job and <"
ENDING = re.compile(r"panic:|fatal error:|F\d{4} ")


class SchedulerLog:
    """Collects lines as they come, and writes all of them to `file` if given."""

    def __init__(self, file: TextIO | None = None, max_lines: int = MAX_END_LINES) -> None:
        self._file = file
        self._max_lines = max_lines
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=max_lines)
        self.count = 0
        self._searches = SearchLog()
        self._dry_runs = DryRunLog()
        self._preempts = VictimSearchLog(PREEMPT_MARK)
        self._reclaims = VictimSearchLog(RECLAIM_MARK)
        self._placements = PlacementLog()
        self._domains = DomainLog()
        searches = (self._searches, self._dry_runs, self._preempts, self._reclaims)
        self._readers = (*searches, self._placements, self._domains)
        self.jobs: int | None = None
        """Number of jobs at the beginning of the last cycle; None if the log does not state it."""

    def add_line(self, line: str, *, counts: bool = True) -> None:
        """Add a line; without `counts` it is kept, but not read for choices."""
        self.count += 1
        (self._head if len(self._head) < self._max_lines else self._tail).append(line)
        if counts:
            self._read_line(line)
        if self._file is not None:
            self._file.write(f"{line}\n")

    def _read_line(self, line: str) -> None:
        for reader in self._readers:
            reader.read_line(line)
        if OPENED_MARK in line and "Open Session " in line:
            number = line.partition(" with <")[2].partition(">")[0]
            self.jobs = int(number) if number.isdecimal() else None

    def begin_cycle(self) -> None:
        """Forget the choices of the previous cycle."""
        for reader in self._readers:
            reader.clear_cycle()
        self.jobs = None

    @property
    def is_whole(self) -> bool:
        """Whether all lines of the log are kept."""
        return self.count == len(self._head) + len(self._tail)

    def __iter__(self) -> Iterator[str]:
        yield from chain(self._head, self._tail)

    @property
    def panic_line(self) -> str:
        """The line of a Go panic or fatal error, or of klog.Fatal; empty without one."""
        return next((line for line in self if ENDING.match(line)), "")

    def last_words(self) -> str:
        """The panic's line, else the last line that is not blank."""
        last = next((line for line in chain(reversed(self._tail), reversed(self._head)) if line.strip()), "")
        return self.panic_line or last or "no log lines"

    def drawn_chance(self, nodes: list[NodeName]) -> ChanceSettings:
        """The random choices of the last cycle as settings of a replay; `nodes` are the session's, in order."""
        return ChanceSettings(
            choices=self._placements.chance_texts(),
            searches=self._searches.chance_texts(nodes),
            dry_runs=self._dry_runs.chance_texts(),
            preempts=self._preempts.chance_texts(),
            reclaims=self._reclaims.chance_texts(),
            job_domains=self._domains.of_jobs(),
            sub_job_domains=self._domains.of_sub_jobs(),
        )


# Readers: each takes one kind of random choice from the lines of one cycle.

DOMAIN_MARK = '] "Try to allocate resource for '
JOB_DOMAIN = re.compile(r'for job in hyperNode" job(?:Name)?="([^"]+)" hyperNode(?:Name)?="([^"]*)"')
SUB_JOB_DOMAIN = re.compile(r'for tasks in subJob" job="[^"]*" subJob="([^"]+)" taskNum=\d+ hyperNode="([^"]*)"')
"""Upstream: actions/allocate (allocateForJob, allocateForSubJob), from -v=3 on."""


class DomainLog:
    """The HyperNodes tried for each job and sub job, in order."""

    def __init__(self) -> None:
        self._jobs: dict[JobId, list[str]] = {}
        self._sub_jobs: dict[SubJobId, list[str]] = {}

    def read_line(self, line: str) -> None:
        """Note the HyperNode that the line reports as tried."""
        if DOMAIN_MARK not in line:
            return
        if match := JOB_DOMAIN.search(line):
            self._jobs.setdefault(match[1], []).append(match[2])
        elif match := SUB_JOB_DOMAIN.search(line):
            self._sub_jobs.setdefault(match[1], []).append(match[2])

    def clear_cycle(self) -> None:
        """Forget the previous cycle."""
        self._jobs.clear()
        self._sub_jobs.clear()

    def of_jobs(self) -> dict[JobId, str]:
        """Job -> `ChanceSettings.job_domains` text."""
        return _domain_texts(self._jobs)

    def of_sub_jobs(self) -> dict[SubJobId, str]:
        """Sub job -> `ChanceSettings.sub_job_domains` text."""
        return _domain_texts(self._sub_jobs)


def _domain_texts(tries: dict[str, list[str]]) -> dict[str, str]:
    """Name → its HyperNodes in order, for names with more than one: a single one is no choice."""
    return {name: ";".join(tried) for name, tried in tries.items() if len({*tried}) > 1}


DRY_RUN_BEGUN = "] the predicateNodes number is "
DRY_RUN_VICTIM = re.compile(r"\] Try to preempt Task <[^>]+> for Task <([^>]+)>")
DRY_RUN_PLACED = re.compile(r"\] After pipelined Task <([^>]+)> to Node <([^>]+)>: ")
"""Upstream: actions/preempt (findCandidates, prepareCandidate), framework/statement.Pipeline, from -v=3 on."""


class DryRunLog:
    """The winning node of each dry run of topology-aware preemption, by pod."""

    def __init__(self) -> None:
        self._won: dict[TaskKey, list[NodeName]] = {}
        self._begun = False
        self._task: TaskKey = ""

    def read_line(self, line: str) -> None:
        """Note the node that the line reports as the winner.

        Nodes of a dry run are logged by goroutines in any order; only the placement after it is unambiguous.
        """
        if DRY_RUN_BEGUN in line:
            self._begun, self._task = True, ""
        elif self._begun and (match := DRY_RUN_VICTIM.search(line)):
            self._task = match[1]
        elif self._task and (match := DRY_RUN_PLACED.search(line)) and match[1] == self._task:
            self._won.setdefault(self._task, []).append(match[2])
            self._begun, self._task = False, ""

    def clear_cycle(self) -> None:
        """Forget the previous cycle."""
        self._won.clear()
        self._begun, self._task = False, ""

    def chance_texts(self) -> dict[TaskKey, str]:
        """Pod -> `ChanceSettings.dry_runs` text."""
        return {task: ";".join(nodes) for task, nodes in self._won.items()}


TASK_PLACED = re.compile(r"\] After (?:allocated|pipelined) Task <([^>]+)> to Node <([^>]+)>: ")
"""Upstream: framework/statement (Allocate, Pipeline), framework/session (Allocate), from -v=3 on."""


class PlacementLog:
    """The nodes on which each pod was placed, in order, also by statements that were discarded."""

    def __init__(self) -> None:
        self._nodes: dict[TaskKey, list[NodeName]] = {}

    def read_line(self, line: str) -> None:
        """Note the node of the placement that the line reports."""
        if match := TASK_PLACED.search(line):
            self._nodes.setdefault(match[1], []).append(match[2])

    def clear_cycle(self) -> None:
        """Forget the previous cycle."""
        self._nodes.clear()

    def chance_texts(self) -> dict[TaskKey, str]:
        """Pod -> `ChanceSettings.choices` text; the last node applies to all later placements."""
        return {task: ";".join(_without_repeats(nodes)) for task, nodes in self._nodes.items()}


def _without_repeats(nodes: list[NodeName]) -> list[NodeName]:
    last = len(nodes)
    while last > 1 and nodes[last - 2] == nodes[last - 1]:
        last -= 1
    return nodes[:last]


SEARCH_MARK = "] Considering Task <"
SEARCH_LINE = re.compile(r"\] Considering Task <([^>]+)> on node <([^>]+)>: ")
"""Upstream: util/predicate_helper.PredicateNodes, from -v=4 on."""


class SearchLog:
    """The nodes visited by each search for a pod; a repeated node begins the next search."""

    def __init__(self) -> None:
        self._searches_by_pod: dict[TaskKey, list[dict[NodeName, None]]] = {}
        self._names: dict[NodeName, NodeName] = {}
        self._last = ""

    def read_line(self, line: str) -> None:
        """Note the node that the line reports as considered."""
        match = SEARCH_LINE.search(line) if SEARCH_MARK in line else None
        if match is None:
            return
        # The log of a large cycle names each node once per task: keep one string of each.
        task, node = match[1], self._names.setdefault(match[2], match[2])
        searches = self._searches_by_pod.setdefault(task, [])
        if task != self._last or node in searches[-1]:
            searches.append({})
        self._last = task
        searches[-1][node] = None

    def clear_cycle(self) -> None:
        """Forget the previous cycle."""
        self._searches_by_pod.clear()
        self._last = ""

    def chance_texts(self, nodes: Iterable[NodeName]) -> dict[TaskKey, str]:
        """Pod -> `ChanceSettings.searches` text; without pods that visited nodes unknown to the session."""
        places = {name: place for place, name in enumerate(nodes)}
        complete = {
            task: searches
            for task, searches in self._searches_by_pod.items()
            if all(node in places for search in searches for node in search)
        }
        return {task: _search_text(searches, places) for task, searches in complete.items()}


def _search_text(searches: Iterable[Iterable[NodeName]], places: Mapping[NodeName, int]) -> str:
    return ";".join(
        format_ranges(_rotate_rows(sorted(places[node] for node in search), len(places))) for search in searches
    )


def _rotate_rows(rows: list[Row], nodes: int) -> list[Row]:
    """The ascending rows rotated to begin after the widest gap.

    The search visits a contiguous stretch of the ring of nodes, but its workers log in any order.
    """
    gaps = [after - before for before, after in pairwise([*rows, rows[0] + nodes])]
    begin = gaps.index(max(gaps)) + 1
    return [*rows[begin:], *rows[:begin]]


def format_ranges(rows: list[Row]) -> str:
    """Rows in order as ranges: `[3, 4, 0]` -> `3-4,0-0`."""
    starts = [place for place, row in enumerate(rows) if place == 0 or row != rows[place - 1] + 1]
    ends = [*starts[1:], len(rows)]
    return ",".join(f"{rows[start]}-{rows[end - 1]}" for start, end in zip(starts, ends, strict=True))


PREEMPT_MARK, RECLAIM_MARK = " preempt.go:", " reclaim.go:"
VICTIM_NODE = re.compile(r"\] Considering Task <([^>]+)> on Node <([^>]+)>\.$")
"""Upstream: actions/reclaim (Execute, reclaimForTask), actions/preempt (preempt, normalPreempt), from -v=3 on."""


class VictimSearchLog:
    """The nodes on which one action looked for victims for each pod, in order."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._tried: dict[TaskKey, dict[NodeName, None]] = {}

    def read_line(self, line: str) -> None:
        """Note the node that the line reports as searched."""
        if self._mark in line and (match := VICTIM_NODE.search(line)):
            self._tried.setdefault(match[1], {})[match[2]] = None

    def clear_cycle(self) -> None:
        """Forget the previous cycle."""
        self._tried.clear()

    def chance_texts(self) -> dict[TaskKey, str]:
        """Pod -> `ChanceSettings` text, for pods with more than one node."""
        return {task: ";".join(nodes) for task, nodes in self._tried.items() if len(nodes) > 1}
