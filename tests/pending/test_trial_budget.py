"""A trial cycle inside an answer stops if it takes longer than the cycle, and the answer says so."""

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.gates import overrides
from vcdebug.explain.pending.gates.admission import NOT_CONFIGURED_CAUSE
from vcdebug.framework import replay_options
from vcdebug.framework.record import HookEvent, PopEvent
from vcdebug.framework.replay_options import LOOKS_PER_EVENT, RecordFullError, WorkBound, work_of_events
from vcdebug.framework.subject import CANDIDATES
from vcdebug.recording.recording import Recording, store_answer
from vcdebug.recording.replay import replay_cycle

CONF = conf_of("priority gang", "predicates nodeorder", actions="allocate")


def full_cluster() -> Recording:
    """A node full of low-priority pods, and a Pending high-priority job; preempt would help but is not configured."""
    return replay_cycle(
        cluster(
            priority_class("high", 1000),
            node("n1", cpu="2"),
            pod_group("low", phase="Running"),
            pods("low", 2, on="n1", annotations={"volcano.sh/preemptable": "true"}),
            pod_group("high", priority_class="high"),
            pods("high", 1, priority_class="high", priority=1000),
            conf=CONF,
        )
    )


def test_a_trial_within_the_bound_names_the_missing_action() -> None:
    found = explain_by_name(full_cluster(), "high")
    assert NOT_CONFIGURED_CAUSE in [found.cause_code, *(one.cause for one in found.contributing)]


def test_a_trial_beyond_the_bound_is_named_as_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_options, "EVENTS_PER_LOOK", 1)
    recording = full_cluster()
    store_answer(recording, overrides.trial_work, lambda: 15)
    found = explain_by_name(recording, "high")
    assert NOT_CONFIGURED_CAUSE not in [found.cause_code, *(one.cause for one in found.contributing)]
    assert [fact for fact in found.dominant.facts if fact.startswith("Not tried: preempt in actions (")]


def test_any_trial_is_run_to_its_end_where_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_options, "EVENTS_PER_LOOK", 1)
    recording = full_cluster()
    store_answer(recording, overrides.trial_work, lambda: 15)
    overrides.allow_any_trial(recording)
    found = explain_by_name(recording, "high")
    assert NOT_CONFIGURED_CAUSE in [found.cause_code, *(one.cause for one in found.contributing)]


def test_work_counts_events_and_the_candidates_that_plugins_look_at() -> None:
    offered = tuple(f"default/low-{number}" for number in range(3))
    events = [PopEvent("job", "default/high", 0), HookEvent("Preemptable", "gang", ((CANDIDATES, offered),), ())]
    assert 2 * LOOKS_PER_EVENT + 3 == work_of_events(events)
    bound = WorkBound(work_of_events(events))
    bound.check_size(events)
    with pytest.raises(RecordFullError):
        bound.check_size([*events, events[0]])
