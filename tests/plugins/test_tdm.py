"""tdm: revocable nodes inside and outside their time windows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, names, node, open_session, pod, pod_group, pods, task, tasks
from tests.recorded import bundled
from vcdebug.errors import SchedulerPanic
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.framework.hooks import (
    JOB_ORDER,
    JOB_PIPELINED,
    JOB_STARVING,
    NODE_ORDER,
    PREDICATE,
    PREEMPTABLE,
    VICTIM_TASKS,
)
from vcdebug.framework.quirks import VICTIM_LEAVES_TWICE
from vcdebug.framework.record import HookEvent, OpEvent, PanicEvent
from vcdebug.framework.session import Session
from vcdebug.plugins.tdm import Tdm, parse_amount
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings, SchedulerProcess
from vcdebug.snapshot.snapshot import Manifest

ZONE = "volcano.sh/revocable-zone"
PREEMPTABLE_KEY = "volcano.sh/preemptable"
MIN_AVAILABLE, MAX_UNAVAILABLE = "volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"
DAY = "10:00-21:00"
WINDOW = {"arguments": f'{{tdm.revocable-zone.rz1: "{DAY}"}}'}


def revocable(name: str = "r", zone: str = "rz1") -> Manifest:
    return node(name, labels={ZONE: zone})


def group(name: str, **annotations: str) -> Manifest:
    manifest = pod_group(name)
    manifest["metadata"]["annotations"] = annotations
    return manifest


def session(*objects: Any, clock: str = "12:00:00", window: str | None = DAY, period: str | None = None) -> Session:
    lines = {} if window is None else {"tdm.revocable-zone.rz1": f'"{window}"'}
    lines |= {} if period is None else {"tdm.evict.period": period}
    flow = "{" + ", ".join(f"{key}: {text}" for key, text in lines.items()) + "}"
    snapshot = cluster(node("n"), revocable(), *objects, conf=conf_of("tdm", arguments={"tdm": {"arguments": flow}}))
    hour, minute, second = (int(part) for part in clock.split(":"))
    snapshot.now = datetime(2026, 11, 1, hour, minute, second, tzinfo=UTC)
    return open_session(snapshot)


def waiting(zone: str | None = "*") -> list[Manifest]:
    return [group("w"), pod("w-0", "w", annotations={} if zone is None else {ZONE: zone})]


def reasons(ssn: Session, name: str = "w-0") -> list[str]:
    """The reason why nodes n and r refuse the task, empty where they accept it."""
    codes = ssn.ask_plugins(PREDICATE, task(ssn, name), ssn.all_rows())["tdm"]
    statuses = [ssn.reasons.statuses_of(int(code)) for code in codes]
    assert all((3, "tdm") == (status.code, status.plugin) for found in statuses for status in found)
    return [found[0].reason if found else "" for found in statuses]


def beyond(window: str) -> str:
    return f"current time beyond revocable zone rz1:{window}"


# Windows


@pytest.mark.parametrize(
    ("window", "clock", "reason"),
    [
        (DAY, "10:00:00", ""),
        (DAY, "09:59:59", beyond(DAY)),
        (DAY, "21:00:00", ""),
        (DAY, "21:00:01", beyond(DAY)),
        ("22:00-06:00", "23:00:00", ""),
        ("22:00-06:00", "03:00:00", beyond("22:00-06:00")),
        ("10:00-10:00", "09:00:00", beyond("10:00-10:00")),
        ("10:00-10:00", "23:59:59", ""),
        (" 9:05-10:00 ", "09:05:00", ""),
        ("9:5-10:00", "09:05:00", 'parsing time "9:5" as "15:04": cannot parse "5" as "04"'),
        ("10:00 -21:00", "12:00:00", 'parsing time "10:00 ": extra text: " "'),
        ("10:00-24:00", "12:00:00", 'parsing time "24:00": hour out of range'),
        ("10:00", "12:00:00", "revocable zone 10:00 format error"),
        (None, "12:00:00", "revocable zone rz1 not support"),
    ],
)
def test_a_window_decides_whether_its_nodes_take_tasks(window: str | None, clock: str, reason: str) -> None:
    assert ["", reason] == reasons(session(waiting(), window=window, clock=clock))


@pytest.mark.parametrize("zone", [None, "rz1", ""])
def test_only_a_task_of_every_zone_may_go_to_a_revocable_node(zone: str | None) -> None:
    assert ["", "not allow to dispatch to revocable node"] == reasons(session(waiting(zone)))


def test_preemptable_pods_fit_revocable_nodes() -> None:
    work = pod("w-0", "w", annotations={PREEMPTABLE_KEY: "true"})
    assert ["", ""] == reasons(session(group("w"), work))


def test_revocable_nodes_come_first_for_those_that_may_use_them() -> None:
    for objects, expected in ((waiting(), [0.0, 100.0]), (waiting(None), [0.0, 0.0])):
        ssn = session(objects)
        scores = ssn.ask_plugins(NODE_ORDER, task(ssn, "w-0"), ssn.all_rows())["tdm"]
        assert expected == scores.total.tolist()
        assert scores.failed_mask is None


def test_a_shut_zone_fails_the_scoring_of_its_nodes() -> None:
    ssn = session(waiting(), clock="22:00:00")
    scores = ssn.ask_plugins(NODE_ORDER, task(ssn, "w-0"), ssn.all_rows())["tdm"]
    assert scores.failed_mask is not None
    assert [False, True] == scores.failed_mask.tolist()


# Arguments


@pytest.mark.parametrize(
    "settings",
    [
        {"window": None, "period": "60"},
        {"window": None, "period": "true"},
        {"window": None, "period": "1.5"},
        {"window": None, "period": "null"},
    ],
)
def test_an_argument_that_is_no_string_panics(settings: dict[str, Any]) -> None:
    with pytest.raises(SchedulerPanic, match=r"interface \{\} is (int|bool|float64|nil), not string"):
        session(**settings)


def test_the_zones_name_is_the_key_without_its_prefix() -> None:
    plugin = session(period="soon").plugins["tdm"]
    assert isinstance(plugin, Tdm)
    assert ({"rz1": DAY}, 60 * 10**9) == (plugin.windows, plugin.evict_period)


# Victims


def preemptor(**annotations: str) -> list[Manifest]:
    return [group("p"), pod("p-0", "p", annotations=annotations)]


def job(name: str, count: int, on: str, **annotations: str) -> list[Manifest]:
    return [group(name, **annotations), *pods(name, count, on=on)]


def preempted(ssn: Session, *candidates: str) -> list[str] | None:
    victims = ssn.ask_plugins(PREEMPTABLE, task(ssn, "p-0"), tasks(ssn, *candidates))
    return None if victims is None else names(victims)


def test_an_ordinary_pod_may_not_preempt() -> None:
    victims = job("a", 1, "n")
    assert preempted(session(preemptor(), victims), "a-0") is None
    assert preempted(session(preemptor(**{PREEMPTABLE_KEY: "false", ZONE: "*"}), victims), "a-0") is None
    assert ["a-0"] == preempted(session(preemptor(**{PREEMPTABLE_KEY: "false"}), victims), "a-0")


def test_running_preemptable_pods_on_ordinary_nodes_are_offered_job_by_job_within_budgets() -> None:
    ssn = session(
        preemptor(**{PREEMPTABLE_KEY: "false"}),
        job("b", 3, "n", **{MIN_AVAILABLE: "1"}),
        job("a", 2, "n"),
        job("r", 1, "r"),
        group("x"),
        pod("x-0", "x", on="n", annotations={PREEMPTABLE_KEY: "false"}),
        pod("x-1", "x", on="n", phase="Pending"),
    )
    assert ["a-1", "b-2", "b-0"] == preempted(ssn, "b-2", "a-1", "b-0", "b-1", "a-0", "r-0", "x-0", "x-1")


def cleared(ssn: Session) -> list[str]:
    return names(ssn.ask_plugins(VICTIM_TASKS, []))


def test_preemptable_pods_leave_the_nodes_of_a_shut_zone_once_per_period() -> None:
    objects = [*job("a", 2, "r", **{MAX_UNAVAILABLE: "2"}), *job("b", 1, "n")]
    assert [] == cleared(session(objects))
    ssn = session(objects, clock="22:00:00")
    assert ["a-0", "a-1"] == cleared(ssn)
    assert [] == cleared(ssn)
    ssn = session(objects, clock="22:00:00", period="0s")
    assert ["a-0", "a-1"] == cleared(ssn) == cleared(ssn)


def test_a_malformed_window_counts_as_shut_and_a_zone_that_is_not_configured_is_never_cleared() -> None:
    objects = [*job("a", 1, "r"), revocable("s", "other"), *job("b", 1, "s")]
    assert ["a-0"] == cleared(session(objects, window="never"))
    assert [] == cleared(session(objects, window=None))


def test_the_period_starts_even_without_victims() -> None:
    ssn = session(clock="22:00:00")
    assert [] == cleared(ssn)
    assert ssn.snapshot.now == ssn.process.last_eviction


@pytest.mark.parametrize(("passed", "victims"), [(59, []), (60, ["a-0"])])
def test_the_period_runs_on_from_cycle_to_cycle(passed: int, victims: list[str]) -> None:
    ssn = session(job("a", 1, "r"), clock="22:00:00")
    ssn.process = SchedulerProcess(last_eviction=ssn.snapshot.now - timedelta(seconds=passed))
    assert victims == cleared(ssn)


@pytest.mark.parametrize(
    ("budget", "running", "others", "victims"),
    [
        ({}, 3, [], 1),
        ({MIN_AVAILABLE: "1"}, 3, [], 2),
        ({MIN_AVAILABLE: "3"}, 3, [], 0),
        ({MIN_AVAILABLE: "5"}, 3, [], 1),
        ({MIN_AVAILABLE: "bad"}, 3, [], 3),
        ({MIN_AVAILABLE: "2", MAX_UNAVAILABLE: "0"}, 3, [], 1),
        ({MAX_UNAVAILABLE: "50%"}, 4, ["Pending"], 2),
        ({MAX_UNAVAILABLE: "50%"}, 4, ["Succeeded"], 3),
        ({MAX_UNAVAILABLE: "1"}, 3, ["Pending"], 0),
        ({MAX_UNAVAILABLE: "bad"}, 3, [], 0),
    ],
)
def test_a_jobs_budget_limits_its_victims(
    budget: dict[str, str], running: int, others: list[str], victims: int
) -> None:
    rest = [pod(f"other-{index}", "a", phase=phase) for index, phase in enumerate(others)]
    assert victims == len(cleared(session(job("a", running, "r", **budget), rest, clock="22:00:00")))


@pytest.mark.parametrize(
    ("stated", "expected"), [("3", 3), ("34%", 2), ("100%", 5), ("0%", 0), ("4294967296", 0), ("1.5%", 0), ("%", 0)]
)
def test_an_amount_is_a_number_or_a_percentage_rounded_up(stated: str, expected: int) -> None:
    assert expected == parse_amount(stated, 5)


# Jobs


def test_preemptable_jobs_come_last_and_never_starve() -> None:
    ssn = session(group("a", **{PREEMPTABLE_KEY: "true"}), pods("a", 1), group("b"), pods("b", 1), group("c"))
    a, b, c = (ssn.jobs[f"default/{name}"] for name in "abc")
    assert [1, -1, 0] == [
        ssn.ask_plugins(JOB_ORDER, a, b),
        ssn.ask_plugins(JOB_ORDER, b, a),
        ssn.ask_plugins(JOB_ORDER, b, c),
    ]
    assert [False, True, False] == [ssn.ask_plugins(JOB_STARVING, each) for each in (a, b, c)]
    assert not ssn.ask_plugins(JOB_PIPELINED, b)


def test_the_victims_are_the_nodes_own_tasks_so_shuffle_panics() -> None:
    """shuffle marks the victim as Releasing before the node removes it, so the node subtracts it from Releasing."""
    ssn = session(job("a", 1, "r"), clock="22:00:00")
    snapshot = replace(ssn.snapshot, scheduler_conf=conf_of("tdm", actions="shuffle", arguments={"tdm": WINDOW}))
    recording = replay_cycle(snapshot)
    last = recording.events[-1]
    assert isinstance(last, PanicEvent)
    assert [VICTIM_LEAVES_TWICE] == [note.code for note in recording.notes]
    assert last.message.endswith("<cpu 0.00, memory 0.00> sub <cpu 1000.00, memory 1000000000.00, pods 1.00>")
    assert [("default/a-0", "r", "shuffle")] == [
        (one.task, one.node, one.action) for one in cycle_effects(recording).evicted
    ]


@pytest.mark.parametrize(("seed", "first"), [(None, "default/a-0"), (2, "default/b-0")])
def test_victim_of_shuffle_before_the_panic_depends_on_the_order_seed(seed: int | None, first: str) -> None:
    """The API server gets the eviction of the victim that the session then fails to remove from its node."""
    ssn = session(job("a", 1, "r"), job("b", 1, "r"), clock="22:00:00")
    conf = conf_of("tdm", actions="shuffle", arguments={"tdm": WINDOW})
    snapshot = replace(ssn.snapshot, scheduler_conf=conf, chance=ChanceSettings(order_seed=seed))
    assert [first] == [one.task for one in cycle_effects(replay_cycle(snapshot)).evicted]


def test_releasing_tasks_of_the_node_count_as_victims() -> None:
    """The node subtracts and adds the request: no panic, and its future idle does not grow."""
    recording = bundled("shuffle-clears-nodes")
    clears = [
        (seq, event)
        for seq, event in enumerate(recording.events, start=1)
        if isinstance(event, OpEvent) and event.task.startswith("batch/nightly")
    ]
    assert [VICTIM_LEAVES_TWICE] * 2 == [note.code for note in recording.notes]
    for seq, event in clears:
        before, after = (recording.timeline.state_at(at).nodes[event.node] for at in (seq - 1, seq))
        assert before.releasing.get("cpu") == after.releasing.get("cpu")


def test_victim_tasks_of_both_plugins_are_recorded_and_told() -> None:
    recording = bundled("shuffle-clears-nodes")
    shown = {
        event.plugin: equation_at(recording, seq)
        for seq, event in enumerate(recording.events, start=1)
        if isinstance(event, HookEvent) and event.point == "VictimTasks"
    }
    assert ["rescheduling", "tdm"] == sorted(shown)
    for found in shown.values():
        assert found is not None
        assert found.terms
