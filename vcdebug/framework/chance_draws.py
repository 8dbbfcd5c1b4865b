"""The random numbers of a cycle: 0 in recordings, drawn from a seed, or as observed in a real scheduler.

Upstream: math/rand, wherever the scheduler draws; util/predicate_helper (parallel workers, the round robin over nodes).
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vcdebug.gomath import int_mod
from vcdebug.model.names import IntArray, NodeName, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.cycle_inputs import ChanceSettings, mix_bits, mix_text


class DomainRows:
    """Domain orders: upstream visits each row of hypernodes in random order, here in the order from the settings."""

    def __init__(self, orders: Mapping[str, str]) -> None:
        self._orders = {holder: names.split(";") for holder, names in orders.items()}
        self._positions: dict[str, int] = {}

    def next_row(self, holder: str, row: list[str]) -> list[str]:
        """The next row of a job or sub job, in the configured order if the order has exactly these names."""
        begin = self._positions.get(holder, 0)
        known_row = self._orders.get(holder, [])[begin : begin + len(row)]
        if sorted(known_row) != sorted(row):
            return row
        self._positions[holder] = begin + len(row)
        return known_row


class RandomDraws:
    """Random numbers from a seed: the same seed gives the same sequence. Observed choices override draws."""

    def __init__(self, chance: ChanceSettings) -> None:
        self._seed = chance.tie_seed
        self._order_seed = chance.order_seed
        self._visits = 0
        self._choices = chance.choices
        self._dry_runs = chance.dry_runs
        self._preempts = {task: names.split(";") for task, names in chance.preempts.items()}
        self._reclaims = chance.reclaims
        self._placements: dict[TaskKey, int] = {}
        self._won: dict[TaskKey, int] = {}
        self._count = 0
        self.job_domains = DomainRows(chance.job_domains)
        self.sub_job_domains = DomainRows(chance.sub_job_domains)

    def draw_below(self, bound: int) -> int:
        """Draw a number from 0 to bound - 1."""
        if self._seed is None:
            return 0
        self._count += 1
        return int_mod(mix_bits(self._seed + self._count) >> 1, bound)

    def next_visit(self, tasks: list[TaskInfo]) -> list[TaskInfo]:
        """A node's tasks, as they are visited this time: Go draws another order of a map at each visit."""
        if self._order_seed is None:
            return tasks
        self._visits += 1
        seed = mix_bits(self._order_seed + self._visits)
        return sorted(tasks, key=lambda task: mix_text(seed, task.key))

    def known_choice(self, task: TaskKey) -> NodeName:
        """The node configured for the task's next placement; empty if none is configured."""
        choice = self._choices.get(task, "")
        if ";" not in choice:
            return choice
        nodes = choice.split(";")
        return nodes[min(self._placements.get(task, 0), len(nodes) - 1)]

    def count_placement(self, task: TaskKey) -> None:
        if task in self._choices:
            self._placements[task] = self._placements.get(task, 0) + 1

    def draw_node(self, nodes: Sequence[NodeName], task: TaskKey) -> int:
        """Draw a node for a task from equally good nodes; returns its index."""
        # The number is drawn even if the node is configured, so that later draws stay the same.
        place = self.draw_below(len(nodes))
        node = self.known_choice(task)
        return nodes.index(node) if node in nodes else place

    def known_winner(self, task: TaskKey) -> NodeName:
        """The node configured as winner of the task's next dry run; empty if none is configured."""
        if task not in self._dry_runs:
            return self.known_choice(task)
        names, place = self._dry_runs[task].split(";"), self._won.get(task, 0)
        return names[place] if place < len(names) else ""

    def count_dry_run(self, task: TaskKey) -> None:
        """Count one successful dry run of the task."""
        self._won[task] = self._won.get(task, 0) + 1

    def in_known_order(self, nodes: list[NodeInfo], task: TaskKey) -> list[NodeInfo]:
        """The nodes that reclaim visits: those of the configured order first, then the rest."""
        if task not in self._reclaims:
            return put_first(nodes, self.known_choice(task))
        places = {name: place for place, name in enumerate(self._reclaims[task].split(";"))}
        return sorted(nodes, key=lambda node: places.get(node.name, len(places)))

    def known_turns(self, nodes: Iterable[NodeInfo], task: TaskKey) -> list[int] | None:
        """Each node's position in what is left of the configured order of preempt, which decides among equally good
        nodes. Nodes not in the order share the last position. None if nothing is configured.
        """
        order = self._preempts.get(task) or list(filter(None, [self.known_choice(task)]))
        places = {name: place for place, name in reversed([*enumerate(order)])}
        return [places.get(node.name, len(order)) for node in nodes] if order else None

    def count_preempt(self, task: TaskKey, node: NodeName) -> None:
        """Count one visit of preempt to a node: the task's next search follows the rest of the configured order."""
        if node in self._preempts.get(task, ())[:-1]:
            self._preempts[task].remove(node)

    def draw_domain(self, domains: Sequence[Sequence[NodeName]], tasks: Iterable[TaskKey]) -> int:
        """Draw one of several equally good groups of nodes for the tasks; returns its index."""
        place = self.draw_below(len(domains))
        choices = [node for task in tasks if (node := self.known_choice(task))]
        indexes = [index for index, nodes in enumerate(domains) if choices and all(node in nodes for node in choices)]
        return indexes[0] if indexes else place


def put_first(nodes: list[NodeInfo], name: NodeName) -> list[NodeInfo]:
    """The nodes, with the named one first."""
    return sorted(nodes, key=lambda node: node.name != name) if name else nodes


# The nodes that a real scheduler visited, for searches that stop before all nodes are visited.


class KnownSearches:
    """The configured searches of each task, in order."""

    def __init__(self, chance: ChanceSettings) -> None:
        self._searches = chance.searches
        self._search_counts: dict[TaskKey, int] = {}

    def next_search_rows(self, task: TaskKey, nodes: NodeRows) -> IntArray | None:
        """The node rows that the task's next search visits, in order; None if not configured, invalid, or all nodes."""
        text = self._searches.get(task)
        if text is None:
            return None
        index = self._search_counts.get(task, 0)
        self._search_counts[task] = index + 1
        searches = text.split(";")
        rows = parse_ranges(searches[index], len(nodes.table)) if index < len(searches) else None
        if rows is None or len(rows) >= len(nodes) or not np.isin(rows, nodes.rows).all():
            return None
        return rows


def parse_ranges(ranges: str, nodes: int) -> IntArray | None:
    """The rows of ranges such as `4-6,0-1`; None if a row is repeated or does not exist."""
    pairs = [part.split("-") for part in ranges.split(",")]
    bounds = [(int(first), int(last)) for first, last in pairs]
    if any(not first <= last < nodes for first, last in bounds):
        return None
    rows = np.concatenate([np.arange(first, last + 1) for first, last in bounds])
    return rows if len(np.unique(rows)) == len(rows) else None
