"""Quirks are recorded at the events where they act, and the table of quirks matches the documentation."""

import re
from pathlib import Path

from tests.actions.outcome import ran
from tests.builders import node, pod, pod_group, pods, queue
from vcdebug.framework import quirks
from vcdebug.framework.record import HookEvent, OpEvent, PredicateEvent
from vcdebug.recording.recording import Recording

ROOT = Path(__file__).parents[2]


def noted(recording: Recording, code: str) -> list[object]:
    """The events at which a quirk was recorded."""
    return [recording.event_at(note.seq) for note in recording.notes if note.code == code]


def test_every_code_is_in_the_table_and_in_the_documentation() -> None:
    codes = {value for name, value in vars(quirks).items() if name.isupper() and isinstance(value, str)}
    assert codes == set(quirks.QUIRKS)
    documented = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs" / "fidelity.md").read_text(), re.MULTILINE)
    assert sorted(codes) == sorted(documented)


def test_a_task_that_its_queue_may_not_allocate_is_named_at_the_vote() -> None:
    recording = ran(
        node("n1"),
        queue("q", capability={"cpu": "1"}),
        pod_group("j", queue="q"),
        pods("j", 1, cpu="2"),
        actions="allocate",
    )
    (event,) = noted(recording, quirks.TASK_LOST_TO_QUEUE)
    assert isinstance(event, HookEvent)
    assert ("Allocatable", False) == (event.point, event.result)


def test_a_statement_left_open_is_named_at_the_vote_that_left_it() -> None:
    recording = ran(
        node("n1", cpu="2"),
        pod_group("old"),
        pods("old", 1, cpu="2", on="n1", deleting=True),
        pod_group("j"),
        pods("j", 1, cpu="2"),
        actions="allocate",
        tiers=("priority gang", "predicates"),
    )
    (event,) = noted(recording, quirks.STATEMENT_LEFT_OPEN)
    assert isinstance(event, HookEvent)
    assert "JobReady" == event.point


def test_a_sampled_search_is_named_at_the_search() -> None:
    nodes = [node(f"n{index:03}") for index in range(150)]
    recording = ran(nodes, pod_group("j"), pods("j", 1), actions="allocate", tiers=("gang", "predicates"))
    (event,) = noted(recording, quirks.SEARCH_SAMPLED)
    assert isinstance(event, PredicateEvent)
    assert event.processed < event.considered


def test_lost_scores_are_named() -> None:
    bad = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [bad]}}
    recording = ran(
        node("n1"),
        node("n2"),
        pod_group("j"),
        pod("j-0", "j", requests={"cpu": "1"}, affinity=affinity),
        actions="allocate",
        tiers=("gang", "predicates nodeorder"),
    )
    assert 1 == len(noted(recording, quirks.SCORES_DROPPED))


def test_a_queue_kept_from_being_overused_by_pods_is_named() -> None:
    recording = ran(
        node("n1", cpu="2", memory="2G"),
        queue("a"),
        queue("b"),
        pod_group("ra", queue="a", phase="Running", min_member=0),
        pods("ra", 2, on="n1"),
        pod_group("pa", queue="a"),
        pods("pa", 1),
        pod_group("pb", queue="b"),
        pods("pb", 1),
        actions="allocate",
        tiers=("gang", "predicates proportion"),
    )
    event = noted(recording, quirks.OVERUSED_KEPT_FALSE)[0]
    assert isinstance(event, HookEvent)
    assert ("Overused", False) == (event.point, event.result)


def test_a_plugin_listed_twice_and_a_misspelt_switch_are_named_at_the_start() -> None:
    extra = "- plugins:\n  - name: gang\n    enabledJobOrder: false\n"
    recording = ran(node("n1"), pod_group("j"), pods("j", 1), actions="allocate", tiers=("gang",), extra=extra)
    assert {quirks.PLUGIN_TWICE, quirks.SWITCH_MISSPELT} == {note.code for note in recording.notes}
    assert {1} == {note.seq for note in recording.notes}


def test_a_bound_victim_that_becomes_running_is_named_at_its_undoing() -> None:
    recording = ran(
        node("n1", cpu="1"),
        queue("a"),
        pod_group("l", min_member=0),
        pods("l", 1, on="n1", phase="Pending", priority=1),
        pod_group("h", min_member=2),
        pods("h", 2, priority=5),
        actions="preempt",
        tiers=("gang", "predicates"),
    )
    (event,) = noted(recording, quirks.BOUND_BECOMES_RUNNING)
    assert isinstance(event, OpEvent)
    assert "unevict" == event.op
