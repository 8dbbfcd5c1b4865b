"""Explanations of an invented action rely only on what the action declares."""

from typing import cast

import pytest
from msgspec.structs import replace

from tests.recorded import BLOCKED, ROOT
from vcdebug.actions import ACTIONS, OTHER_FORMS
from vcdebug.actions.gang_eviction import GangPreempt
from vcdebug.actions.preempt import Preempt
from vcdebug.explain.decisions.evictions import planned_evictions
from vcdebug.explain.decisions.victim_funnel import funnels_around
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.framework.record import Level
from vcdebug.framework.registry import ActionFacts, facts_of
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

JOB = "research/llm-finetune"


class Harvest(Preempt):
    """preempt under an unknown name."""

    name = "harvest"


class GangHarvest(GangPreempt):
    """gangpreempt under an unknown name."""

    name = "gangharvest"


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = cast("dict[str, str]", ACTIONS)
    monkeypatch.setitem(registry, "harvest", f"{__name__}:Harvest")
    monkeypatch.setitem(registry, "gangharvest", f"{__name__}:GangHarvest")


def run_with(action: str) -> Recording:
    """Replay the bundled snapshot with this action in place of preempt."""
    snapshot = load_snapshot(ROOT / "fixtures" / BLOCKED)
    conf = (snapshot.scheduler_conf or "").replace("preempt,", f"{action},")
    return replay_cycle(replace(snapshot, scheduler_conf=conf))


@pytest.mark.parametrize(("known", "made_up"), [("preempt", "harvest"), ("gangpreempt", "gangharvest")])
def test_explain_says_of_a_made_up_action_what_it_says_of_the_one_that_declares_the_same(
    known: str, made_up: str
) -> None:
    expected, actual = explain_by_name(run_with(known), JOB), explain_by_name(run_with(made_up), JOB)
    assert known in str(expected)
    assert str(expected).replace(known, made_up) == str(actual)


def test_victim_searches_of_a_made_up_action_are_found() -> None:
    run = run_with("harvest")
    (action,) = [span for span in run.spans if span.level is Level.ACTION and span.name == "harvest"]
    found = funnels_around(run, action.last)
    assert ["harvest"] == list(dict.fromkeys(each.action for each in found))
    preempting = run_with("preempt")
    assert len(funnels_around(preempting, preempting.spans[action.index].last)) == len(found)
    assert ["harvest"] == list(dict.fromkeys(one.action for one in planned_evictions(run)))


def test_each_older_form_of_an_action_declares_the_same_as_the_newest() -> None:
    forms = [(name, form) for name, others in OTHER_FORMS.items() for _, form in others]
    assert [facts_of(ACTIONS, name) for name, _ in forms] == [facts_of({name: form}, name) for name, form in forms]


def test_unknown_action_has_no_effects() -> None:
    assert ActionFacts() == facts_of(ACTIONS, "unheard-of")
