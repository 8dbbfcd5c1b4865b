"""On which nodes reclaim looked for victims for each pod, as a scheduler's log says it, line by line."""

from __future__ import annotations

import re

from vcdebug.model.names import NodeName, TaskKey

MARK = " reclaim.go:"
NODE = re.compile(r"\] Considering Task <([^>]+)> on Node <([^>]+)>\.$")
"""Upstream: actions/reclaim (Execute, reclaimForTask), from -v=3 on."""


class Reclaims:
    """The nodes of one cycle, one after the other, by pod."""

    def __init__(self) -> None:
        self._tried: dict[TaskKey, dict[NodeName, None]] = {}

    def read(self, line: str) -> None:
        """Take down a line, if it is about a node on which reclaim looks."""
        if MARK in line and (match := NODE.search(line)):
            self._tried.setdefault(match[1], {})[match[2]] = None

    def clear(self) -> None:
        """Another cycle begins."""
        self._tried.clear()

    def texts(self) -> dict[TaskKey, str]:
        """Of pods for which there was more than one, as the replay takes it."""
        return {task: ";".join(nodes) for task, nodes in self._tried.items() if len(nodes) > 1}
