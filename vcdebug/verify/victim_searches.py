"""On which nodes preempt and reclaim looked for victims for each pod, as a scheduler's log says it, line by line."""

from __future__ import annotations

import re

from vcdebug.model.names import NodeName, TaskKey

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
