"""Reads nodes, refusals, evictions, holders and Pending jobs from a trace, without the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Line = Mapping[str, Any]  # Any: a line of the trace as JSON
PLACES = ("allocate", "pipeline")
STRICT = ("allocate", "backfill")
ONE_BY_ONE = ("preempt", "reclaim")


class PlacementReading(NamedTuple):
    """The search that led to a pod's last placement."""

    node: str
    action: str
    score: float | None
    tied: list[str] | None
    """Nodes that share the highest score; None without scores."""
    tried: list[str]
    """Nodes that an action tried before; empty if the action does not try nodes in turn."""
    victims: list[str] | None
    """The victims of the dry run; None without one."""
    runner_up: str | None
    """The best node that is neither the chosen one nor tried before; None without scores or such a node."""
    parts: dict[str, tuple[float | None, float | None]]
    """Part of the score → what it gives the node and the runner-up; None for one that it did not score."""

    @property
    def largest_part(self) -> float:
        """The largest difference in favour of the node, of the parts that are no sums of others."""
        sums = {name.rpartition("/")[0] for name in self.parts}
        return max((self.difference(name) for name in self.parts if name not in sums), default=0.0)

    def difference(self, name: str) -> float:
        """How much more a part gives the node than the runner-up."""
        mine, other = self.parts.get(name, (0, 0))
        return (mine or 0) - (other or 0)


class RefusalReading(NamedTuple):
    """The search that refused a pod, and the later ones of evicting actions."""

    event: int
    feasible: int
    refused: dict[str, list[str]]
    """Node → reasons."""
    evicting: list[tuple[str, int, int, int]]
    """(action, event, feasible, refused)."""


def actions_by_line(lines: Sequence[Line]) -> list[str]:
    """The action of each line; empty between actions."""
    found, now = [], ""
    for line in lines:
        if line["ev"] == "action":
            now = line["action"] if line["what"] == "start" else ""
        found.append(now)
    return found


def read_placements(lines: Sequence[Line]) -> dict[str, PlacementReading]:
    """The reading of the last placement of each placed pod."""
    actions = actions_by_line(lines)
    lasts = {line["task"]: at for at, line in enumerate(lines) if line["ev"] == "op" and line["op"] in PLACES}
    return {pod: _read_placement(lines, actions, pod, at) for pod, at in lasts.items()}


def _read_placement(lines: Sequence[Line], actions: Sequence[str], pod: str, at: int) -> PlacementReading:
    node, action = lines[at]["node"], actions[at]
    start = max((i for i in range(at) if lines[i]["ev"] == "action"), default=0)
    searches = [i for i in range(start, at) if lines[i]["ev"] == "predicate" and lines[i]["task"] == pod]
    ending = [*searches[1:], at]
    led = [(i, end) for i, end in zip(searches, ending, strict=False) if _chosen(lines, i, end, pod, node)]
    if not led:
        return PlacementReading(node, action, None, None, [], None, None, {})
    search, end = led[-1]
    scores = [line for line in lines[search:end] if line["ev"] == "score" and line["task"] == pod]
    score = next((line for line in reversed(scores) if node in line["total"]), None)
    total = None if score is None else score["total"]
    simulated = action == "preempt" and not scores
    victims = [line["task"] for line in lines[search:end] if line["ev"] == "op" and line["op"] == "evict"]
    feasible = lines[search]["feasible"]
    if action in ONE_BY_ONE and not simulated:
        turns = feasible if total is None else sorted(feasible, key=lambda name: -total[name])
        tried = turns[: turns.index(node)]
    else:
        tried = []
    if score is None or total is None:
        return PlacementReading(node, action, None, None, tried, victims if simulated else None, None, {})
    tied = sorted(name for name in total if total[name] == total[node])
    rivals = sorted((-score, name) for name, score in total.items() if name not in (node, *tried))
    rival = rivals[0][1] if rivals else None
    parts = {name: (of_nodes.get(node), of_nodes.get(rival)) for name, of_nodes in score["plugins"].items()}
    return PlacementReading(node, action, total[node], tied, tried, None, rival, parts)


def _chosen(lines: Sequence[Line], search: int, end: int, pod: str, node: str) -> bool:
    """Whether the search found the node and no later choice for the pod took another node."""
    if node not in lines[search]["feasible"]:
        return False
    scored = ""
    for line in lines[search:end]:
        scored = line["task"] if line["ev"] == "score" else scored
        if line["ev"] == "best" and "node" in line and scored == pod:
            return bool(line["node"] == node)
        if line["ev"] == "op" and line["op"] in PLACES and line["task"] == pod:
            return bool(line["node"] == node)
    return True


def read_refusals(lines: Sequence[Line]) -> dict[str, RefusalReading]:
    """Each pod that was searched → the refusing search, and what evicting actions found."""
    actions = actions_by_line(lines)
    found: dict[str, dict[str, Line]] = {}
    for line, action in zip(lines, actions, strict=True):
        if line["ev"] == "predicate":
            found.setdefault(line["task"], {})[action] = line
    return {pod: _read_refusal(by_action) for pod, by_action in found.items()}


def _read_refusal(by_action: Mapping[str, Line]) -> RefusalReading:
    by_turn = sorted(by_action, key=lambda action: by_action[action]["seq"])
    answering = ([action for action in by_turn if action in STRICT] or by_turn)[-1]
    told = by_action[answering]
    refused = {node: [status["reason"] for status in statuses] for node, statuses in told["failed"].items()}
    return RefusalReading(told["seq"], len(told["feasible"]), refused, list(_evicting_searches(by_action, answering)))


def read_cached(lines: Sequence[Line], event: int, alike: Collection[str]) -> dict[str, list[int]]:
    """Node → the earlier searches of the action for a pod of `alike` that refused it, too."""
    start = max((at for at in range(event - 1) if lines[at]["ev"] == "action"), default=0)
    found: dict[str, list[int]] = {}
    for line in lines[start : event - 1]:
        for node in line["failed"] if line["ev"] == "predicate" and line["task"] in alike else ():
            found.setdefault(node, []).append(line["seq"])
    return found


def _evicting_searches(by_action: Mapping[str, Line], answering: str) -> Iterator[tuple[str, int, int, int]]:
    for action, line in by_action.items():
        if action not in (*STRICT, answering):
            yield action, line["seq"], len(line["feasible"]), len(line["failed"])


VICTIM_HOOKS = ("Preemptable", "Reclaimable", "UnifiedEvictable")
HOLDING = ("Allocated", "Binding", "Bound", "Running", "Releasing", "Pipelined")


class EvictionReading(NamedTuple):
    """The outcome of the last plan to evict a pod."""

    evicted: bool
    action: str
    node: str
    preemptor: str
    """Empty if the last vote with the pod as candidate was not for a single pod."""
    allowed_by: list[str]
    """Plugins that allowed the pod in that vote."""
    asked_last: str
    """The last plugin that was asked; its tier decided, since a tier that names victims ends the vote."""
    popped_before: list[str]
    """Candidates popped from the victims queue before the pod."""
    answers: list[tuple[str, list[str] | None]]
    """(plugin, candidates that it allows) in that vote, in order; None where it abstained."""
    candidates: list[str]
    """All candidates of that vote."""

    @property
    def protected_by(self) -> dict[str, str]:
        """Each candidate → the first plugin that answered without it."""
        first: dict[str, str] = {}
        for plugin, allowed in self.answers:
            for pod in self.candidates if allowed is not None else ():
                if pod not in (allowed or ()):
                    first.setdefault(pod, plugin)
        return first

    def victims(self, deciding: Collection[str]) -> list[str]:
        """The pods that each of these plugins allows that answered; after answers without a common pod the next one."""
        found: list[str] = []
        for plugin, allowed in self.answers:
            if plugin in deciding and allowed is not None:
                found = [pod for pod in found if pod in allowed] if found else allowed
        return found


def read_evictions(lines: Sequence[Line]) -> dict[str, EvictionReading]:
    """Each pod that an operation evicted → what became of it: carried out unless it is taken back."""
    actions = actions_by_line(lines)
    lasts: dict[str, int] = {}
    undone: dict[str, bool] = {}
    for at, line in enumerate(lines):
        if line["ev"] == "op" and line["op"] in ("evict", "unevict"):
            undone[line["task"]] = line["op"] == "unevict"
            if line["op"] == "evict":
                lasts[line["task"]] = at
        if line["ev"] == "statement" and line["what"] == "discard":
            # The undoing operations follow, unless the process panics in between.
            undone |= {task: True for kind, task, _ in line["ops"] if kind == "evict"}
    return {pod: _read_eviction(lines, actions[at], pod, at, evicted=not undone[pod]) for pod, at in lasts.items()}


def _read_eviction(lines: Sequence[Line], action: str, pod: str, at: int, *, evicted: bool) -> EvictionReading:
    start = max((i for i in range(at) if lines[i]["ev"] == "action"), default=0)
    votes_before = [i for i in range(start, at) if lines[i]["ev"] == "hook" and lines[i]["point"] in VICTIM_HOOKS]
    if not votes_before:
        return EvictionReading(evicted, action, lines[at]["node"], "", [], "", [], [], [])
    # A dry run asks about each node before the pods of one are evicted.
    searched = max((i for i in range(start, at) if lines[i]["ev"] == "predicate"), default=0)
    named = [i for i in votes_before if i > searched and pod in lines[i]["candidates"]]
    asked = (named or votes_before)[-1]
    question = lines[asked]
    first = asked
    while first > 0 and _same_question(lines[first - 1], question):
        first -= 1
    votes = [line for line in lines[first : asked + 1] if pod in (line["result"] or ())]
    pops = [line["task"] for line in lines[asked:at] if line["ev"] == "pop" and "task" in line]
    before = [task for task in pops[: pops.index(pod)] if task in question["candidates"]] if pod in pops else []
    preemptor = question.get("task", "") if pod in question["candidates"] else ""
    allowed = [vote["plugin"] for vote in votes]
    answers = [(line["plugin"], line["result"] if line.get("vote") else None) for line in lines[first : asked + 1]]
    node = lines[at]["node"]
    candidates = question["candidates"]
    return EvictionReading(evicted, action, node, preemptor, allowed, question["plugin"], before, answers, candidates)


def _same_question(line: Line, question: Line) -> bool:
    if line["ev"] != "hook" or line["point"] != question["point"]:
        return False
    return all(line.get(key) == question.get(key) for key in ("task", "job", "candidates"))


def read_holders(lines: Sequence[Line]) -> dict[str, list[str]]:
    """The pods that hold resources at the end of the cycle, by node."""
    found: dict[str, list[str]] = {}
    for job in lines[-1].get("jobs", {}).values() if lines[-1]["ev"] == "close" else ():
        for pod, task in job["tasks"].items():
            if task["status"] in HOLDING and task.get("node"):
                found.setdefault(task["node"], []).append(pod)
    return {node: sorted(pods) for node, pods in found.items()}


def read_pending_jobs(lines: Sequence[Line]) -> list[str]:
    """The jobs that have a Pending pod when the cycle ends."""
    jobs = lines[-1].get("jobs", {}) if lines[-1]["ev"] == "close" else {}
    return sorted(name for name, job in jobs.items() if any(t["status"] == "Pending" for t in job["tasks"].values()))


def read_queue_holders(lines: Sequence[Line], parents: Mapping[str, str]) -> dict[str, list[str]]:
    """The pods that hold resources at the end of the cycle, by queue; `parents` names the queue above a queue."""
    opened: Mapping[str, Any] = next((line["jobs"] for line in lines if line["ev"] == "state"), {})
    found: dict[str, list[str]] = {queue: [] for queue in parents}
    for name, job in lines[-1].get("jobs", {}).items() if lines[-1]["ev"] == "close" else ():
        queue = opened[name]["queue"] if name in opened else ""
        while queue in found:
            found[queue] += [pod for pod, task in job["tasks"].items() if task["status"] in HOLDING]
            queue = parents[queue]
    return {queue: sorted(pods) for queue, pods in found.items()}
