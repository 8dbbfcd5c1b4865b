"""Forecasts: when a job is placed and under which assumptions, or why never."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import WINDOWS, cluster, conf_of, node, pod_group, pods
from tests.scenarios.questions import asked
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.subject_names import find_subject
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.branch import edited_snapshot
from vcdebug.whatif.cycles import CycleChain, find_repeat
from vcdebug.whatif.forecast import ForecastAssumptions, JobForecast, forecast_job, forecast_reply, run_forecast
from vcdebug.whatif.next_cycle import BetweenCycles

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
CONF = conf_of("priority gang conformance", "predicates nodeorder", actions="enqueue, allocate, backfill")


def ago(**time: int) -> str:
    return (NOW - timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


def at_noon(*objects: Manifest | list[Manifest], conf: str = CONF) -> Snapshot:
    return replace(cluster(*objects, conf=conf), now=NOW)


def full(cpu: str = "4", **of_long: Any) -> Snapshot:
    """A full node of 8 cores: a 6-core pod runs for 2 hours, a 2-core pod for 30 minutes; one job is Pending."""
    return at_noon(
        node("n1", cpu="8"),
        pod_group("long", phase="Running"),
        pods("long", 1, cpu="6", on="n1", created=ago(hours=2), **of_long),
        pod_group("short", phase="Running"),
        pods("short", 1, cpu="2", on="n1", created=ago(minutes=30)),
        pod_group("next", phase="Inqueue"),
        pods("next", 1, cpu=cpu),
    )


USUAL = ForecastAssumptions()


def foreseen(snapshot: Snapshot, word: str = "default/next", assumed: ForecastAssumptions = USUAL) -> JobForecast:
    recording = replay_cycle(snapshot)
    return run_forecast(recording, find_subject(recording, word), assumed)


def in_short(found: JobForecast) -> tuple[str, float]:
    """(outcome, seconds until then)."""
    return found.course.outcome, found.course.stages[-1].elapsed.total_seconds()


def test_job_that_this_cycle_places_has_a_forecast_of_0_seconds() -> None:
    found = foreseen(at_noon(node("n1"), pod_group("next"), pods("next", 1)))
    assert ("placed", 0) == in_short(found)
    assert "default/next is placed in this cycle on n1." == forecast_reply(found).sentence


def test_a_pod_is_assumed_to_run_as_long_again_as_it_has() -> None:
    assert ("placed", 30 * 60) == in_short(foreseen(full("2")))
    found = foreseen(full())
    assert ("placed", 2 * 3600) == in_short(found)
    reply = forecast_reply(found)
    assumed = "assumed: each running pod runs for as long as it has already run; each new pod for 1h"
    assert ("This depends on the assumed run times.", assumed) == reply.lines
    assert re.fullmatch(
        r"Forecast: default/next is placed in 2h \(cycle \d\) on n1, once default/long-0 ended\.", reply.sentence
    )


def test_stated_run_times_count_from_the_start() -> None:
    assert ("placed", 3600) == in_short(
        foreseen(full(), assumed=ForecastAssumptions(default_run_time=timedelta(hours=3)))
    )
    stated = ForecastAssumptions(stated_run_times={"default/long": timedelta(hours=2, minutes=5)})
    assert ("placed", 300) == in_short(foreseen(full(), assumed=stated))


def test_pod_beyond_its_assumed_run_time_ends_after_one_second() -> None:
    assert ("placed", 1) == in_short(
        foreseen(full(), assumed=ForecastAssumptions(default_run_time=timedelta(minutes=1)))
    )


def test_a_deadline_of_the_pod_bounds_what_is_assumed() -> None:
    assert ("placed", 1800) == in_short(foreseen(full(activeDeadlineSeconds=9000)))


def test_a_pod_that_is_restarted_whenever_it_ends_never_ends() -> None:
    found = foreseen(full(restartPolicy="Always"))
    assert "never" == found.course.outcome
    assert any("restarts never finish" in line for line in forecast_reply(found).lines)


def test_a_pod_larger_than_any_node_is_never_placed() -> None:
    found = foreseen(full("9"))
    assert "never" == found.course.outcome
    finished = "stays Pending even after all running pods that can finish have finished"
    assert finished in forecast_reply(found).sentence
    assert "more than any node has (largest: n1, 8)" in forecast_reply(found).lines[0]


def test_job_is_placed_after_the_jobs_ahead_of_it() -> None:
    snapshot = full("8")
    snapshot.objects["PodGroup"].insert(2, pod_group("earlier", phase="Inqueue"))
    snapshot.objects["Pod"] += pods("earlier", 1, cpu="6", created=ago(minutes=50))
    found = foreseen(snapshot)
    assert "placed" == found.course.outcome
    assert 3 * 3600 <= in_short(found)[1] < 3 * 3600 + 10
    assert any("binds 1 pod of default/earlier" in one for stage in found.course.stages for one in stage.other_effects)


def broken(name: str, cpu: str) -> list[Manifest]:
    """A gang of two; one pod runs, the other one was created again and is Pending."""
    running, waiting = pods(name, 2, cpu=cpu)
    running["spec"]["nodeName"], running["status"]["phase"] = "n1", "Running"
    return [pod_group(name, min_member=2, phase="Running"), running, waiting]


def test_gangs_that_hold_what_the_other_one_needs_are_in_a_deadlock() -> None:
    found = foreseen(at_noon(node("n1", cpu="8"), broken("next", "4"), broken("other", "4")))
    assert found.deadlock is not None
    assert (("default/other",), True) == (found.deadlock.blockers, found.deadlock.is_mutual)
    locked = "Deadlock: default/next and default/other each hold resources that the other needs."
    assert locked == forecast_reply(found).sentence
    assert "default/next holds 1 of its 2 gang pods (4 cpu" in forecast_reply(found).lines[0]
    assert "If default/other is deleted, default/next is placed." == forecast_reply(found).lines[1]


def test_job_behind_an_incomplete_gang_is_deadlocked_and_the_proposed_edits_place_it() -> None:
    snapshot = at_noon(node("n1", cpu="8"), broken("other", "7"), pod_group("next"), pods("next", 1, cpu="4"))
    found = foreseen(snapshot)
    assert found.deadlock is not None
    assert not found.deadlock.is_mutual
    assert "default/other holds 1 of its 2 gang pods" in forecast_reply(found).sentence
    freed = edited_snapshot(snapshot, [parse_edit(edit) for edit in found.deadlock.edits])
    assert explain_by_name(replay_cycle(freed), "default/next").scheduled


def test_a_window_of_tdm_is_waited_for() -> None:
    mine = {"volcano.sh/revocable-zone": "*", "volcano.sh/preemptable": "true"}
    revocable = node("n1", labels={"volcano.sh/revocable-zone": "rz1"})
    found = foreseen(at_noon(revocable, pod_group("next"), pods("next", 1, annotations=mine), conf=WINDOWS))
    assert ("placed", 6 * 3600) == in_short(found)
    assert "the window of zone rz1 opens" in forecast_reply(found).sentence


def test_forecast_waits_once_for_a_tdm_window_that_does_not_help() -> None:
    zone = {"volcano.sh/revocable-zone": "rz1"}
    found = foreseen(at_noon(node("n1", labels=zone), pod_group("next"), pods("next", 1), conf=WINDOWS))
    assert "never" == found.course.outcome
    assert len(found.course.stages) < 12


def test_forecast_waits_once_for_rescheduling_without_effect() -> None:
    conf = "actions: 'allocate, shuffle'\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: rescheduling}]\n"
    snapshot = at_noon(node("n1", cpu="2"), pod_group("next"), pods("next", 1, cpu="4"), conf=conf)
    snapshot.process = SchedulerProcess(started=snapshot.now)
    found = foreseen(snapshot)
    assert "never" == found.course.outcome
    assert [stage.elapsed for stage in found.course.stages][-1] >= timedelta(minutes=5)
    assert len(found.course.stages) < 12


def test_forecast_waits_for_the_sla_waiting_time() -> None:
    conf = conf_of("sla", "overcommit gang", "predicates", actions="enqueue, allocate")
    annotations = {"sla-waiting-time": "10m"}
    group = pod_group("next", phase="Pending", min_resources={"cpu": "20"})
    group["metadata"] |= {"annotations": annotations, "creationTimestamp": ago(minutes=4)}
    found = foreseen(at_noon(node("n1", cpu="8"), group, pods("next", 1), conf=conf))
    assert ("placed", 360) == in_short(found)
    assert "once default/next reaches its sla waiting time." in forecast_reply(found).sentence


def test_pods_that_are_long_overdue_do_not_leave() -> None:
    reply = forecast_job(asked(2083).recording(), "team/train")
    waits = "team/train is waiting for team/old-0 to terminate, which is past its grace period."
    assert f"No forecast: {waits}" == reply.sentence


def test_evictions_in_turns_never_end() -> None:
    reply = forecast_job(asked(4949).recording(), "team/b")
    assert ("repeats", {"first": 2, "last": 3}) == (reply.data["outcome"], reply.data["loop"])
    assert "cycles 2 to 3 repeat, evicting team/a-0 each time." in reply.sentence
    stays_away = forecast_job(asked(4949).recording(), "team/b", ForecastAssumptions(recreate=False))
    assert "placed" == stays_away.data["outcome"]


def test_a_phantom_pipelined_pod_is_placed_once_a_pod_finishes() -> None:
    recording = asked(2976).recording()
    assert "phantom-pipelined" == explain_by_name(recording, "team/high").cause_code
    reply = forecast_job(recording, "team/high")
    assert ("placed", True) == (reply.data["outcome"], bool(reply.data["assumed"]))


def test_a_job_without_pods_is_admitted_at_some_time() -> None:
    reply = forecast_job(asked(1901).recording(), "team/middle")
    assert "admitted" == reply.data["outcome"]


def test_a_repeat_is_found_from_any_cycle_and_under_other_names() -> None:
    first = asked(4949).recording()
    gone = next(one for one in first.snapshot.objects_of("Pod") if one["metadata"]["name"] == "a-0")
    spec = {key: value for key, value in gone["spec"].items() if key != "nodeName"}

    def called(name: str) -> Manifest:
        metadata = {**gone["metadata"], "name": name, "uid": f"uid-{name}"}
        return {**gone, "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}

    between = BetweenCycles(arrivals={number: {"Pod": [called(f"a-{number}")]} for number in (2, 4, 6)})
    cycles = CycleChain(first, between)
    cycles.run_cycles(6)
    found = find_repeat(cycles.recordings)
    assert found is not None
    assert (3, 5, ("team/a-4",)) == (found.earlier_cycle, found.later_cycle, found.evicted)


@pytest.mark.parametrize("ends", [True, False])
def test_pods_that_the_forecast_binds_end_as_well(ends: bool) -> None:
    """Nothing runs at first: a job gets the room of the one before it once that has ended, unless that never ends."""
    first = [pod_group("first", min_member=2), *pods("first", 2, cpu="4")]
    for each in first[1:] if not ends else ():
        each["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web", "uid": "w", "controller": True}]
    later = pod_group("next")
    later["metadata"]["creationTimestamp"] = ago(minutes=1)
    snapshot = at_noon(node("n1", cpu="4"), node("n2", cpu="4"), first, later, pods("next", 1, cpu="4"))
    found = foreseen(snapshot)
    assert ends is (("placed", 3600.0) == in_short(found))
    assert ends is ("once default/first-0, default/first-1 ended" in forecast_reply(found).sentence)


@pytest.mark.parametrize(("load", "outcome"), [(95, "never"), (10, "placed")])
def test_the_measured_load_of_a_node_stays_as_it_is(load: int, outcome: str) -> None:
    """A pod that ends in an hour makes room on a node, of which the measurement is by then too old to be read."""
    usage = {"usage": {"arguments": "{thresholds: {cpu: 80}}"}}
    conf = conf_of("priority gang", "predicates usage", actions="enqueue, allocate, backfill", arguments=usage)
    running = [pod_group("old", phase="Running"), *pods("old", 1, cpu="4", on="n1", created=ago(hours=1))]
    snapshot = at_noon(node("n1", cpu="4"), running, pod_group("next"), pods("next", 1, cpu="4"), conf=conf)
    snapshot.usage = {"n1": {"time": ago(seconds=30), "cpu": {"10m": load}, "mem": {"10m": 1}}}
    found = foreseen(snapshot)
    assert outcome == found.course.outcome
    assert "assumed: the measured load of the nodes does not change" in forecast_reply(found).lines
