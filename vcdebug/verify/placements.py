"""Where a scheduler put each pod, time after time, as its log says it, line by line."""

from __future__ import annotations

import re

from vcdebug.model.names import NodeName, TaskKey

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
