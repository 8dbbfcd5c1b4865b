"""The steps of opening and closing a session: dropped jobs, registered hooks, written statuses."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, queue
from tests.recorded import COPIES, bundled, golden, recorded
from tests.recorded import GOLDEN as CASES
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.framework.record import OpEvent
from vcdebug.recording.effects import pods_in_view
from vcdebug.recording.flow_rows import present_branches
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.session_closing import closing_step
from vcdebug.recording.session_steps import SessionStep, opening_step
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.flow import flow_table, open_keys_around, whole_flow


def every(step: SessionStep | None) -> Iterator[SessionStep]:
    if step is not None:
        yield step
        for inner in step.inner_steps():
            yield from every(inner)


def said(step: SessionStep | None, what: str) -> str:
    return next(each.result for each in every(step) if each.name == what)


def stage(step: SessionStep | None, what: str) -> SessionStep:
    return next(each for each in every(step) if each.name == what)


def left_out() -> Recording:
    ill = node("n2")
    ill["status"]["conditions"][0]["status"] = "Unknown"
    return replay_cycle(
        cluster(
            node("n1"),
            ill,
            queue("q1"),
            pod_group("j", queue="q1", min_member=1),
            pod_group("lost", queue="nowhere"),
            pods("j", 1, cpu="1"),
            pod("stray", on="n1"),
            pod("gone-0", "gone"),
            pod("elsewhere", "j", on="n9"),
            conf=conf_of("gang nosuch", "predicates proportion"),
        )
    )


def test_opening_step_names_left_out_objects_with_the_reason() -> None:
    opened = opening_step(left_out())
    assert "left out: queue nowhere does not exist" == said(opened, "job default/lost")
    assert "left out: its PodGroup does not exist" == said(opened, "job default/gone")
    assert "left out: its job default/gone is not in the session" == said(opened, "pod default/gone-0")
    assert said(opened, "pod default/stray").endswith("so that it belongs to no job; it uses room on n1")
    assert "on n9, which the session does not have" == said(opened, "pod default/elsewhere")
    assert said(opened, "node n2").startswith("in the session: the condition Ready is Unknown")


def test_nodes_outside_the_selector_are_left_out() -> None:
    snapshot = cluster(node("n1", labels={"pool": "a"}), node("n2"), queue("q1"))
    selected: Snapshot = replace(snapshot, flags=replace(snapshot.flags, node_selector=("pool:a",)))
    assert "left out: excluded by --node-selector" == said(opening_step(replay_cycle(selected)), "node n2")


def test_plugins_open_tier_by_tier_with_what_they_register() -> None:
    opened = opening_step(left_out())
    tiers = [each.name for each in stage(opened, "plugins open, tier by tier").inner_steps()]
    assert ["tier 1: gang", "tier 1: nosuch", "tier 2: predicates", "tier 2: proportion"] == tiers
    assert False is stage(opened, "tier 1: nosuch").is_successful
    assert "JobValid" in [each.name for each in stage(opened, "tier 1: gang").inner_steps()]
    assert "event handler" in [each.name for each in stage(opened, "tier 2: predicates").inner_steps()]


def test_a_job_that_is_not_valid_gets_no_cycle_state() -> None:
    recording = replay_cycle(
        cluster(node("n1"), queue("q"), pod_group("j", queue="q", min_member=3), pods("j", 1, cpu="1"))
    )
    stages = stage(opening_step(recording), "CycleState of each Pending pod").inner_steps()
    assert [False] == [each.is_successful for each in stages]
    assert "no pod gets a state" in stages[0].result
    assert "JobValid" == getattr(recording.event_at(stages[0].seq), "point", "")


def test_the_close_tells_phases_by_their_rule_and_what_is_written() -> None:
    closed = closing_step(bundled("preempt-works"))
    group = stage(closed, "job assistants/chat-api")
    assert "condition Unschedulable=True" in group.result
    phases = [each.result for each in every(stage(closed, "JobUpdater")) if each.name == "phase"]
    assert "Pending → Inqueue: 0 scheduled < minMember 2; Inqueue stays" == phases[0]
    assert "stays Running: 6 scheduled ≥ minMember 2, 0 of them finished" == phases[1]
    assert {"gang"} == {each.name for each in stage(closed, "plugins close").inner_steps() if each.is_successful}
    assert "2 queues written" == said(closed, "queues' status.allocated")


def test_the_keys_of_cycle_states_are_those_that_plugins_read() -> None:
    states = stage(closing_step(bundled("preempt-works")), "CycleStates").inner_steps()
    keys = "keys: VolumeBinding, DynamicResources, proportionState; filters skipped: NodeAffinity, NodePorts"
    assert ["pod assistants/chat-api-server-0", "pod assistants/chat-api-server-1"] == [each.name for each in states]
    assert all(each.result.startswith(keys) for each in states)


def test_answers_change_no_cycle_state() -> None:
    asked = replay_cycle(bundled("pending-refused-by-filters").snapshot)
    before = {uid: ([*state.data], [*state.skip]) for uid, state in asked.session.cycle_states.items()}
    survey_jobs(asked)
    assert before == {uid: ([*state.data], [*state.skip]) for uid, state in asked.session.cycle_states.items()}


def test_a_session_that_panics_never_closes() -> None:
    crash = next(case for case in COPIES if case.parent.name == "crash")
    recording = recorded(crash)
    assert None is closing_step(recording)
    assert not any(branch.key == "step 1" for branch in present_branches(recording))


def test_the_flow_has_opening_and_closing_as_branches_that_unfold() -> None:
    recording = bundled("preempt-works")
    rows = whole_flow(recording, 1).rows
    assert ["step 0", "step 1"] == [row.key for row in rows if row.key in ("step 0", "step 1")]
    closed = [row.key for row in flow_table(recording, (), 1).rows]
    assert ("step 0", "step 1") == (closed[0], closed[-1])
    unfolded = [row.key for row in flow_table(recording, ("step 0", "step 0.0"), 1).rows]
    assert {"step 0.0", "step 0.0.1", "event 1"} <= {*unfolded}
    assert closed == [key for key in unfolded if key in closed]


def test_every_event_of_the_flow_stands_in_it_once() -> None:
    recording = bundled("preempt-works")
    events = [row.key for row in whole_flow(recording, 1).rows if not row.key.startswith(("span", "step"))]
    assert len(events) == len(dict.fromkeys(events))
    assert f"event {len(recording)}" == events[-1]


@pytest.mark.parametrize("seq", [1, 2, 5, 98])
def test_flow_marks_the_current_row_at_opening_and_close(seq: int) -> None:
    recording = bundled("preempt-works")
    table = flow_table(recording, open_keys_around(recording, seq), seq)
    assert table.current == {1: "step 0", 2: "event 1", 5: "event 5", 98: "step 1"}[seq]


@pytest.mark.parametrize("name", CASES[::5])
def test_pods_in_the_kubernetes_view_begin_with_those_that_the_nodes_held(name: str) -> None:
    """The counts are derived backward from the end, so a correct beginning proves each step."""
    recording = golden(name)
    opened = recording.timeline.state_at(0)
    first: dict[str, int] = {}
    for seq in recording.index.seqs_of_type(OpEvent):
        event = recording.event_at(seq)
        counts = pods_in_view(recording, seq)
        if counts is not None and isinstance(event, OpEvent):
            first.setdefault(event.node, counts.before)
    at_open = {
        name: len(
            [key for key, task in opened.tasks.items() if task.node == name and task.status.upstream_name not in DONE]
        )
        for name in first
    }
    assert at_open == first


DONE = ("Pipelined", "Succeeded", "Failed")
