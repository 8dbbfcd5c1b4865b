"""Which node won each dry run of topology-aware preemption, as a scheduler's log says it, line by line."""

from __future__ import annotations

import re

from vcdebug.model.names import NodeName, TaskKey

BEGUN = "] the predicateNodes number is "
VICTIM = re.compile(r"\] Try to preempt Task <[^>]+> for Task <([^>]+)>")
PLACED = re.compile(r"\] After pipelined Task <([^>]+)> to Node <([^>]+)>: ")
"""Upstream: actions/preempt (findCandidates, prepareCandidate), framework/statement.Pipeline, from -v=3 on."""


class DryRuns:
    """The dry runs of one cycle that found a node, by pod."""

    def __init__(self) -> None:
        self._won: dict[TaskKey, list[NodeName]] = {}
        self._begun = False
        self._task: TaskKey = ""

    def read(self, line: str) -> None:
        """Take down a line, if it is about a dry run."""
        if BEGUN in line:
            self._begun, self._task = True, ""
        elif self._begun and (match := VICTIM.search(line)):
            self._task = match[1]
        elif self._task and (match := PLACED.search(line)) and match[1] == self._task:
            self._won.setdefault(self._task, []).append(match[2])
            self._begun, self._task = False, ""

    def clear(self) -> None:
        """Another cycle begins."""
        self._won.clear()
        self._begun, self._task = False, ""

    def texts(self) -> dict[TaskKey, str]:
        """By pod, as the replay takes it."""
        return {task: ";".join(nodes) for task, nodes in self._won.items()}
