"""Which node won each dry run of topology-aware preemption, as a scheduler's log says it, line by line."""

from __future__ import annotations

import re

from vcdebug.model.names import NodeName, TaskKey

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
