"""The log of a scheduler's program: its kept lines, and the random choices that it reveals."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import TextIO

from vcdebug.model.names import NodeName, Row, TaskKey
from vcdebug.snapshot.cycle_inputs import EARLY_NEWS, ChanceSettings

MAX_END_LINES = 150_000
"""Maximum number of lines kept of the beginning, and of the end."""
OPENED_MARK = " Job and <"
ENDING = re.compile(r"panic:|fatal error:|F\d{4} |invalid argument \"|unknown (?:shorthand )?flag: ")
"""How the line begins in which a program says why it ends; after a flag that it refuses, its usage follows."""


class SchedulerLog:
    """Collects lines as they come, and writes all of them to `file` if given."""

    def __init__(self, file: TextIO | None = None, max_lines: int = MAX_END_LINES) -> None:
        self._file = file
        self._max_lines = max_lines
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=max_lines)
        self.count = 0
        self.jobs: int | None = None
        """Number of jobs at the beginning of the last cycle; None if the log does not state it."""
        self.begin_cycle()

    def add_line(self, line: str, *, counts: bool = True) -> None:
        """Add a line; without `counts` it is kept, but not read for choices."""
        self.count += 1
        (self._head if len(self._head) < self._max_lines else self._tail).append(line)
        if counts:
            self._read_line(line)
        if self._file is not None:
            self._file.write(f"{line}\n")

    def _read_line(self, line: str) -> None:
        self._searches.read_line(line)
        self._dry_runs.read_line(line)
        for choices in self._choices.values():
            choices.read_line(line)
        if OPENED_MARK in line and "Open Session " in line:
            number = line.partition(" with <")[2].partition(">")[0]
            self.jobs = int(number) if number.isdecimal() else None

    def begin_cycle(self) -> None:
        """Forget the choices of the previous cycle."""
        self._searches, self._dry_runs = SearchLog(), DryRunLog()
        self._choices = {
            "choices": PlacementLog(),
            "card_news": NewsLog(),
            "preempts": ChoiceLog(VICTIM_NODE, PREEMPT_MARK),
            "reclaims": ChoiceLog(VICTIM_NODE, RECLAIM_MARK, once=True),
            "job_domains": ChoiceLog(JOB_DOMAIN, DOMAIN_MARK),
            "sub_job_domains": ChoiceLog(SUB_JOB_DOMAIN, DOMAIN_MARK),
        }
        self.jobs = None

    def __iter__(self) -> Iterator[str]:
        yield from chain(self._head, self._tail)

    @property
    def panic_line(self) -> str:
        """The line of a Go panic or fatal error, of klog.Fatal, or about a refused flag; empty without one."""
        return next((line for line in self if ENDING.match(line)), "")

    def last_words(self) -> str:
        """The panic's line, else the last line that is not blank."""
        last = next((line for line in chain(reversed(self._tail), reversed(self._head)) if line.strip()), "")
        return self.panic_line or last or "no log lines"

    def drawn_chance(self, nodes: list[NodeName]) -> ChanceSettings:
        """The random choices of the last cycle as settings of a replay; `nodes` are the session's, in order."""
        texts = {name: choices.chance_texts() for name, choices in self._choices.items()}
        return ChanceSettings(
            searches=self._searches.chance_texts(nodes),
            dry_runs=self._dry_runs.chance_texts(),
            choices=texts["choices"],
            card_news=texts["card_news"],
            preempts=texts["preempts"],
            reclaims=texts["reclaims"],
            job_domains=texts["job_domains"],
            sub_job_domains=texts["sub_job_domains"],
        )


# Readers: each takes one kind of random choice from the lines of one cycle.

DOMAIN_MARK = '] "Try to allocate resource for '
JOB_DOMAIN = re.compile(r'for job in hyperNode" job(?:Name)?="([^"]+)" hyperNode(?:Name)?="([^"]*)"')
SUB_JOB_DOMAIN = re.compile(r'for tasks in subJob" job="[^"]*" subJob="([^"]+)" taskNum=\d+ hyperNode="([^"]*)"')
"""Upstream: actions/allocate (allocateForJob, allocateForSubJob), from -v=3 on."""


PREEMPT_MARK, RECLAIM_MARK = " preempt.go:", " reclaim.go:"
VICTIM_NODE = re.compile(r"\] Considering Task <([^>]+)> on Node <([^>]+)>\.$")
"""Upstream: actions/reclaim (Execute, reclaimForTask), actions/preempt (preempt, normalPreempt), from -v=3 on."""


class ChoiceLog:
    """The names that lines of one kind report for each subject, in order: nodes of pods, HyperNodes of jobs."""

    def __init__(self, pattern: re.Pattern[str], mark: str = "", *, once: bool = False) -> None:
        """The pattern's groups are subject and name; lines without the mark are passed over. `once`: no repeats."""
        self._pattern = pattern
        self._mark = mark
        self._once = once
        self._names: dict[str, list[str]] = {}

    def read_line(self, line: str) -> None:
        """Note the name that the line reports."""
        if self._mark in line and (match := self._pattern.search(line)):
            names = self._names.setdefault(match[1], [])
            if not (self._once and match[2] in names):
                names.append(match[2])

    def chance_texts(self) -> dict[str, str]:
        """Subject -> `ChanceSettings` text, for subjects with more than one name: a single one is no choice."""
        return {subject: ";".join(names) for subject, names in self._names.items() if len({*names}) > 1}


TASK_PLACED = re.compile(r"\] After (?:allocated|pipelined) Task <([^>]+)> to Node <([^>]+)>: ")
"""Upstream: framework/statement (Allocate, Pipeline), framework/session (Allocate), from -v=3 on."""


class PlacementLog(ChoiceLog):
    """The nodes on which each pod was placed, in order, also by statements that were discarded."""

    def __init__(self) -> None:
        super().__init__(TASK_PLACED)

    def chance_texts(self) -> dict[TaskKey, str]:
        """Pod -> `ChanceSettings.choices` text; the last node applies to all later placements."""
        return {task: ";".join(_without_repeats(nodes)) for task, nodes in self._names.items()}


POD_NEWS = re.compile(r"\] (Updated pod|Pod) <([^>]+)> (?:already )?in cache")
"""Upstream: cache/event_handlers (UpdatePod, updatePod), from -v=4 on."""


class NewsLog(ChoiceLog):
    """The first news of each placed pod: the cache takes it over, or passes it over since the pod is bound already."""

    def __init__(self) -> None:
        super().__init__(POD_NEWS)

    def read_line(self, line: str) -> None:
        """Note a placement, or the news after it."""
        if "] After " in line and (match := TASK_PLACED.search(line)):
            self._names[match[1]] = []
        elif " in cache" in line and (match := POD_NEWS.search(line)) and not self._names.get(match[2], ["unplaced"]):
            self._names[match[2]] = [match[1]]

    def chance_texts(self) -> dict[TaskKey, str]:
        """Pod -> `ChanceSettings.card_news` text, for pods with early news."""
        return {task: EARLY_NEWS for task, words in self._names.items() if words == ["Updated pod"]}


def _without_repeats(nodes: list[NodeName]) -> list[NodeName]:
    last = len(nodes)
    while last > 1 and nodes[last - 2] == nodes[last - 1]:
        last -= 1
    return nodes[:last]


DRY_RUN_BEGUN = "] the predicateNodes number is "
DRY_RUN_VICTIM = re.compile(r"\] Try to preempt Task <[^>]+> for Task <([^>]+)>")
DRY_RUN_PLACED = re.compile(r"\] After pipelined Task <([^>]+)> to Node <([^>]+)>: ")
"""Upstream: actions/preempt (findCandidates, prepareCandidate), framework/statement.Pipeline, from -v=3 on."""


class DryRunLog:
    """The winning node of each dry run of topology-aware preemption, by pod."""

    def __init__(self) -> None:
        self._winners: dict[TaskKey, list[NodeName]] = {}
        self._has_begun = False
        self._task: TaskKey = ""

    def read_line(self, line: str) -> None:
        """Note the node that the line reports as the winner.

        Nodes of a dry run are logged by goroutines in any order; only the placement after it is unambiguous.
        """
        if DRY_RUN_BEGUN in line:
            self._has_begun, self._task = True, ""
        elif self._has_begun and (match := DRY_RUN_VICTIM.search(line)):
            self._task = match[1]
        elif self._task and (match := DRY_RUN_PLACED.search(line)) and match[1] == self._task:
            self._winners.setdefault(self._task, []).append(match[2])
            self._has_begun, self._task = False, ""

    def chance_texts(self) -> dict[TaskKey, str]:
        """Pod -> `ChanceSettings.dry_runs` text."""
        return {task: ";".join(nodes) for task, nodes in self._winners.items()}


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
