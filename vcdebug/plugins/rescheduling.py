"""rescheduling: names running tasks on busy nodes as victims, to move load to idle nodes.

Upstream: plugins/rescheduling.
Differs: what the process remembers is an input: meta.json's `scheduler` (started, lastRescheduling) and usage.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.errors import SchedulerPanic
from vcdebug.framework.arguments import AS_TEXT, wrong_argument
from vcdebug.framework.go_sort import sort_slice
from vcdebug.framework.hooks import VICTIM_TASKS
from vcdebug.framework.session import Plugin, Session
from vcdebug.gomath import trunc_int64
from vcdebug.gotime import MINUTE, parse_duration, unix_nanoseconds
from vcdebug.kube.pod_requests import BEST_EFFORT, BURSTABLE, GUARANTEED, pod_qos
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.manifest import Json, status_of
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.quantity import approximate_float, milli_value, whole_value
from vcdebug.snapshot.snapshot import Snapshot

STRATEGY = "lowNodeUtilization"
DEFAULT_INTERVAL = 5 * MINUTE
DEFAULT_PERIOD = "5m"
FILLED_PERIOD = "10m"
"""The only period for which the real scheduler collects measurements."""
MEASURED_DIMENSIONS = ("cpu", "memory")
FULL_PERCENT = 100.0
BELOW_TARGETS = "the node is below its targets"
NO_ROOM_LEFT = "the idle nodes have no room left"
NOT_RUNNING = "no running task has its name"
READ_KEYS = ("interval", "metricsPeriod", "strategies")
USAGE_KEYS = {"cpu": "cpu", "memory": "mem"}

Percents = dict[str, float]


class ReschedulingSettings(NamedTuple):
    """The plugin's arguments, from the last tier that names the plugin."""

    interval: int
    period: str
    strategies: tuple[str, ...]
    params: Mapping[Json, Json]
    """Parameters of the strategy lowNodeUtilization; the last entry of that name counts."""

    @classmethod
    def read_arguments(cls, raw: Mapping[object, object]) -> ReschedulingSettings:
        """Read the arguments; a wrong type panics, as upstream. Upstream: plugins/rescheduling.parseArguments."""
        interval = parse_duration(_string_argument(raw, "interval"))
        strategies, params = _read_strategies(raw.get("strategies"))
        return cls(
            DEFAULT_INTERVAL if interval is None else interval,
            _string_argument(raw, "metricsPeriod") or DEFAULT_PERIOD,
            strategies,
            params,
        )


class BusyNode(Struct, eq=False):
    """A node with its utilisation in percent, which decreases as victims are chosen."""

    node: NodeInfo
    percents: Percents


class MeasuredNode(NamedTuple):
    """A node's utilisation, compared with the thresholds."""

    node: str
    percents: Percents
    low: bool
    high: bool


class EvictionStep(NamedTuple):
    """A pod of a busy node, as it is considered for eviction."""

    node: str
    pod: str
    percents: Percents
    """The node's utilisation in percent, without the earlier victims."""
    budget: Mapping[str, int]
    """The amounts that idle nodes can still take, in milli-cores and bytes."""
    victim: TaskInfo | None
    refusal: str
    """The reason why the pod is not evicted; empty for a victim."""


class ReschedulingChoice(NamedTuple):
    """The figures that lowNodeUtilization compared, and the victims that it chose."""

    low_at: Percents
    target: Percents
    nodes: tuple[MeasuredNode, ...]
    budget: Mapping[str, int]
    steps: tuple[EvictionStep, ...]

    @property
    def chosen_victims(self) -> list[TaskInfo]:
        """The victims, in order."""
        return [step.victim for step in self.steps if step.victim is not None]


class Rescheduling(Plugin):
    """Chooses victims once per interval, and only if nodes have measurements for its metrics period."""

    name: ClassVar[str] = "rescheduling"

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/rescheduling.OnSessionOpen."""
        self._ssn = ssn
        ssn.log("rescheduling.enter")
        self.settings = ReschedulingSettings.read_arguments(_last_arguments(ssn))
        for key in READ_KEYS:
            self.arguments.raw.get(key)  # marks the key as read, even if another tier's entry is used
        self.problems = tuple(_missing_inputs(ssn.snapshot, self.settings.period))
        is_due = _time_to_run(ssn, self.settings.interval)
        if is_due:
            # The check of the interval counts as a run, whatever its result is.
            ssn.process = replace(ssn.process, last_rescheduling=ssn.snapshot.now)
        if not is_due or STRATEGY not in self.settings.strategies:
            ssn.withdraw_hook(self, VICTIM_TASKS.method)
        if not is_due:
            ssn.log("rescheduling.not-due")
        elif STRATEGY in self.settings.strategies:
            ssn.log("rescheduling.strategy", STRATEGY)
        ssn.log("rescheduling.leave")

    @property
    def next_run(self) -> datetime | None:
        """The time of the next run; None if the plugin does not run."""
        past = self._ssn.process
        last = past.last_rescheduling or past.started
        if last is None or STRATEGY not in self.settings.strategies:
            return None
        return last + timedelta(microseconds=self.settings.interval // 1000 + 1)  # exact: ints

    def victim_tasks(self, tasks: list[TaskInfo]) -> list[TaskInfo]:
        """Victims from nodes above a target, while nodes below all thresholds have room for them."""
        choice = self.choose_victims(tasks)
        if not choice.budget:
            self._ssn.log(_reason_key(choice))
        return choice.chosen_victims

    def choose_victims(self, tasks: list[TaskInfo]) -> ReschedulingChoice:
        """The victims, with all figures that were compared."""
        low_at, target = _parse_threshold(self.settings.params)
        measured = [BusyNode(node, self._node_percents(node)) for node in self._ssn.nodes.values()]
        low = [busy for busy in measured if _is_low(busy, low_at)]
        high = [busy for busy in measured if not _is_low(busy, low_at) and _is_high(busy, target)]
        measured_nodes = tuple(
            [MeasuredNode(busy.node.name, dict(busy.percents), busy in low, busy in high) for busy in measured]
        )
        if not low or len(low) == len(self._ssn.nodes) or not high:
            return ReschedulingChoice(low_at, target, measured_nodes, {}, ())
        budget = _idle_budget(low, target)
        total_budget = dict(budget)
        steps: list[EvictionStep] = []
        for busy in sort_slice(high, lambda a, b: _total_load(a) > _total_load(b)):
            steps += self._evict_from(busy, budget, target, tasks)
        return ReschedulingChoice(low_at, target, measured_nodes, total_budget, tuple(steps))

    def _node_percents(self, node: NodeInfo) -> Percents:
        usage = self._ssn.snapshot.usage.get(node.name) or {}
        return {
            name: float((usage.get(USAGE_KEYS[name]) or {}).get(self.settings.period, 0.0))
            for name in MEASURED_DIMENSIONS
        }

    def _evict_from(
        self, busy: BusyNode, budget: dict[str, int], target: Percents, tasks: list[TaskInfo]
    ) -> list[EvictionStep]:
        """Evict pods of the node, least important first; the running task is found by pod name, without namespace.
        Upstream: plugins/rescheduling/node_utilization_util.evict.
        """
        steps: list[EvictionStep] = []
        name = busy.node.name
        capacity = status_of(busy.node.manifest).get("capacity") or {}
        pods = [task.pod for task in busy.node.tasks_in_order()]
        # Go's sort exactly: the comparison is no order for best-effort pods, so the algorithm decides.
        for pod in sort_slice(pods, self._is_evicted_before):
            is_above = any(busy.percents[name] >= target[name] for name in MEASURED_DIMENSIONS)
            measures = dict(busy.percents), dict(budget)
            if not is_above or any(room == 0 for room in budget.values()):
                reason = BELOW_TARGETS if not is_above else NO_ROOM_LEFT
                return [*steps, EvictionStep(name, pod.key, *measures, None, reason)]
            # By name only, as upstream: a pod in another namespace may be found instead.
            task = next((task for task in tasks if task.pod.name == pod.name), None)
            steps.append(EvictionStep(name, pod.key, *measures, task, "" if task is not None else NOT_RUNNING))
            if task is None:
                continue
            for dim, amount in (
                ("cpu", trunc_int64(task.resreq.milli_cpu)),
                ("memory", trunc_int64(task.resreq.memory)),
            ):
                budget[dim] -= amount
                busy.percents[dim] = busy.percents[dim] - _capacity_percent(dim, amount, capacity)
        return steps

    def _is_evicted_before(self, left: Pod, right: Pod) -> bool:
        """Whether the left pod is evicted first: no or lower priority, then weaker QoS; both ways True for best-effort.
        Upstream: plugins/rescheduling/node_utilization_util.sortPods.
        """
        if (left.priority is None) != (right.priority is None):
            return left.priority is None
        if left.priority is not None and right.priority is not None and left.priority != right.priority:
            return left.priority < right.priority
        qos = pod_qos(left, self._ssn.flags)
        return qos == BEST_EFFORT or (qos == BURSTABLE and pod_qos(right, self._ssn.flags) == GUARANTEED)


def _reason_key(choice: ReschedulingChoice) -> str:
    """The key of the log line that explains why no victim is chosen."""
    low = [node for node in choice.nodes if node.low]
    if not low:
        return "rescheduling.above"
    return "rescheduling.below" if len(low) == len(choice.nodes) else "rescheduling.untouched"


def _last_arguments(ssn: Session) -> Mapping[object, object]:
    """The plugin's arguments in the last tier that names it; within a tier the first entry counts."""
    options_by_tier = [[option for option in tier if option.name == Rescheduling.name] for tier in ssn.conf.tiers]
    return next((options[0].arguments for options in reversed(options_by_tier) if options), {})


def _time_to_run(ssn: Session, interval: int) -> bool:
    """Whether a run is due. Upstream: plugins/rescheduling/rescheduling_util.timeToRun."""
    past, now = ssn.process, ssn.snapshot.now
    last = past.last_rescheduling or past.started or now
    return unix_nanoseconds(last) + interval < unix_nanoseconds(now)


def _missing_inputs(snapshot: Snapshot, period: str) -> Iterator[Problem]:
    past = snapshot.process
    if past.last_rescheduling is None and past.started is None:
        effect = "when it last ran is not known, and no task is rescheduled in this cycle"
        yield Problem("meta.json", "", "scheduler.started", "is missing and rescheduling needs it", effect)
    if not any(period in (usage.get("cpu") or {}) for usage in snapshot.usage.values()):
        fault = f"holds no measurement over {period}"
        effect = f"utilisation counts as 0 (the real scheduler measures {FILLED_PERIOD} only)"
        yield Problem("usage.json", "", "", fault, effect)


def _string_argument(raw: Mapping[object, object], key: str) -> str:
    """The argument's text, empty if it is missing; panics if it is not a string."""
    if key not in raw:
        return ""
    text = raw[key]
    if not isinstance(text, str):
        raise wrong_argument(f"interface conversion: interface {{}} is {_go_type(text)}, not string", key, AS_TEXT)
    return text


def _go_type(item: object) -> str:
    names = {bool: "bool", int: "int", float: "float64", str: "string", list: "[]interface {}"}
    return "nil" if item is None else names.get(type(item), "map[interface {}]interface {}")


def _read_strategies(raw: object) -> tuple[tuple[str, ...], Mapping[Json, Json]]:
    """(strategy names, parameters of lowNodeUtilization); the default strategy if the list is empty or missing."""
    listed = raw if isinstance(raw, list) else []
    if not listed:
        return (STRATEGY,), {}
    strategies: list[tuple[str, Mapping[Json, Json]]] = []
    for item in listed:
        fields = {str(key).lower(): part for key, part in item.items()} if isinstance(item, dict) else None
        if fields is None or not isinstance(fields.get("name") or "", str):
            continue
        params = fields.get("params") or {}
        if isinstance(params, dict):
            strategies.append((fields.get("name") or "", params))
    parameters = [params for name, params in strategies if name == STRATEGY]
    return tuple(name for name, _ in strategies), parameters[-1] if parameters else {}


def _parse_threshold(params: Mapping[Json, Json]) -> tuple[Percents, Percents]:
    """(percentages below which a node is idle, above which it is busy); a value that is no map ends the parsing.
    Upstream: plugins/rescheduling/low_node_utilization.parseThreshold.
    """
    low, target = dict.fromkeys(MEASURED_DIMENSIONS, FULL_PERCENT), dict.fromkeys(MEASURED_DIMENSIONS, FULL_PERCENT)
    for key, percents in (("thresholds", low), ("targetThresholds", target)):
        if key not in params:
            continue
        percentages = params[key]
        if not isinstance(percentages, dict):
            break
        percents.update(
            (name, amount) for name, amount in _read_percentages(percentages).items() if name in MEASURED_DIMENSIONS
        )
    return low, target


def _read_percentages(percentages: Mapping[Json, Json]) -> Percents:
    for key, amount in percentages.items():
        if not isinstance(key, str):
            raise SchedulerPanic(f"interface conversion: interface {{}} is {_go_type(key)}, not string")
        if type(amount) is not int:
            message = f"interface conversion: interface {{}} is {_go_type(amount)}, not int"
            raise wrong_argument(message, key, "a whole number")
    return {name: float(amount) for name, amount in percentages.items()}


def _is_low(busy: BusyNode, low_at: Percents) -> bool:
    """Upstream: plugins/rescheduling/low_node_utilization.lowThresholdFilter."""
    return not busy.node.is_unschedulable and all(busy.percents[name] < low_at[name] for name in MEASURED_DIMENSIONS)


def _is_high(busy: BusyNode, target: Percents) -> bool:
    """Upstream: plugins/rescheduling/low_node_utilization.highThresholdFilter."""
    return any(busy.percents[name] > target[name] for name in MEASURED_DIMENSIONS)


def _total_load(busy: BusyNode) -> float:
    """Upstream: plugins/rescheduling/node_utilization_util.getScoreForNode."""
    return busy.percents["cpu"] + busy.percents["memory"]


def _idle_budget(low: list[BusyNode], target: Percents) -> dict[str, int]:
    """The amounts that idle nodes can take up to their targets, in milli-cores and bytes.
    Upstream: plugins/rescheduling/node_utilization_util.evictPodsFromSourceNodes.
    """
    budget = dict.fromkeys(MEASURED_DIMENSIONS, 0)
    for busy in low:
        status = status_of(busy.node.manifest)
        room = status.get("allocatable") or status.get("capacity") or {}
        amounts = {"cpu": milli_value(room.get("cpu")), "memory": whole_value(room.get("memory"))}
        for name in MEASURED_DIMENSIONS:
            budget[name] += trunc_int64(target[name] * float(amounts[name]) * 0.01)
            budget[name] -= trunc_int64(busy.percents[name] * float(amounts[name]) * 0.01)
    return budget


def _capacity_percent(name: str, amount: int, capacity: Mapping[str, object]) -> float:
    """The amount in percent of the capacity; without capacity infinite or NaN."""
    part = (float(amount) * 1e-3 if name == "cpu" else float(amount)) * 100
    total = approximate_float(capacity.get(name))
    if total == 0:
        return float("nan") if part == 0 else float("inf")
    return part / total
