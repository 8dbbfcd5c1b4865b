"""Reads amounts, shares and counts as of a line of the trace, without the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

Line = Mapping[str, Any]  # Any: a line of the trace as JSON
READY = ("Allocated", "Binding", "Bound", "Running", "Succeeded")
READY_BY = {"allocate": 1, "unevict": 1, "unallocate": -1, "evict": -1}
"""Operation → by how much it changes the number of ready pods."""
JOB_CRITERIA = {"priority": "priority", "gang": "gang ready", "drf": "drf share"}
AMOUNTS = ("cpu", "memory")


class TraceFigures(NamedTuple):
    """What the trace says of a cycle before one of its lines."""

    lines: Sequence[Line]
    owners: Mapping[str, str]
    """Pod → its job."""

    @property
    def opened(self) -> Line:
        """The state when the session opens."""
        return next(line for line in self.lines if line["ev"] == "state")

    def job_share(self, at: int, job: str) -> float | None:
        """drf's share of a job."""
        return self._last_share(at, "drf", "job", job)

    def queue_share(self, at: int, pod: str) -> float | None:
        """proportion's share of the queue of a pod's job."""
        return self._last_share(at, "proportion", "queue", self.opened["jobs"][self.owners[pod]]["queue"])

    def is_ready(self, at: int, job: str) -> bool:
        """Whether as many pods are ready as minMember says."""
        state = next(i for i in range(at - 1, -1, -1) if self.lines[i]["ev"] == "state")
        opened = self.lines[state]["jobs"][job]
        ready = sum(count for status, count in opened["status"].items() if status in READY)
        moves = (line for line in self.lines[state:at] if line["ev"] == "op" and self.owners[line["task"]] == job)
        return bool(ready + sum(READY_BY.get(line["op"], 0) for line in moves) >= opened["minAvailable"])

    def future_idle(self, at: int, node: str) -> dict[str, float]:
        """idle + releasing - pipelined of a node."""
        before = reversed(self.lines[:at])
        last = next(line for line in before if line["ev"] == "state" or (line["ev"] == "op" and line["node"] == node))
        room = last["after"] if last["ev"] == "op" else last["nodes"][node]
        return {
            name: room["idle"].get(name, 0) + room["releasing"].get(name, 0) - room["pipelined"].get(name, 0)
            for name in AMOUNTS
        }

    def _last_share(self, at: int, plugin: str, kind: str, name: str) -> float | None:
        for line in reversed(self.lines[:at]):
            book = line.get("plugins", {}).get(plugin) if line["ev"] in ("op", "state") else None
            if book and line["ev"] == "state":
                return None if name not in book[f"{kind}s"] else float(book[f"{kind}s"][name]["share"])
            if book and book[kind] == name:
                return float(book["share"])
        return None

    def criterion(self, label: str, at: int, pod: str) -> object:
        """The figure by which victims are ordered, of one victim; None for what the trace does not have."""
        return self.queue_share(at, pod) if label == "proportion share" else self.of_job(label, at, self.owners[pod])

    def of_job(self, label: str, at: int, job: str) -> float | None:
        """The figure by which jobs are ordered, of one job; None for what the trace does not have."""
        if label == "drf share":
            return self.job_share(at, job)
        if label == "gang ready":
            return self.is_ready(at, job)
        return int(self.opened["jobs"][job]["priority"]) if label == "priority" else None

    def deciding(self, plugins: Sequence[str], left: str, right: str) -> tuple[str, float, float] | None:
        """(criterion, left figure, right figure) of the first plugin for which two jobs differ in the end.

        None where the trace does not have the figures of a plugin before.
        """
        for plugin in plugins:
            label = JOB_CRITERIA.get(plugin, "")
            first, second = (self.of_job(label, len(self.lines) - 1, job) for job in (left, right))
            if first is None or second is None:
                return None
            if first != second:
                return f"{label} ({plugin})", first, second
        return None


def refusing_dimensions(
    lines: Sequence[Line], pod: str, requests: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (node, victim, dimensions that are short) of each victim that a dry run restores and removes again.

    `requests` has what each pod asks for.
    """
    figures, removed, node = TraceFigures(lines, {}), dict[str, None](), ""
    calls = [(at, line) for at, line in enumerate(lines) if line["ev"] in ("hook", "predicate")]
    moves = [(at, line) for at, line in calls if line.get("task") == pod and not is_allowed(line)]
    for (_, before), (at, line) in pairwise([(0, {}), *moves]):
        if line.get("node", node) != node:
            removed, node = {}, line["node"]
        if line["ev"] == "predicate":
            removed = {}
        elif line["point"] == "SimulateAddTask":
            removed.pop(line["other"], None)
        elif line["point"] == "SimulateRemoveTask":
            if before.get("point") == "SimulateAddTask" and before["other"] == line["other"]:
                room = figures.future_idle(at, node)
                free = {name: room[name] + sum(requests[one][name] for one in removed) for name in AMOUNTS}
                yield node, line["other"], [name for name in AMOUNTS if requests[pod][name] > free[name]]
            removed[line["other"]] = None


def is_allowed(line: Line) -> bool:
    """Whether a call says that the pod's queue may have more."""
    return bool(line.get("point") == "SimulateAllocatable" and line["result"])
