"""Jobs that lose pods: who allows the eviction, with figures, what the other job needs, and what keeps the pods."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.debugger.test_remedies import proven
from tests.plugins.test_rescheduling import PERIOD, STRATEGY, conf, running
from vcdebug.explain.answer import Explanation
from vcdebug.explain.decisions.evictions import carried_out
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.questions.victims import explain_eviction
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.snapshot import Manifest, Snapshot


def preempted(*tiers: str, action: str = "preempt", own: str = "default", old: int = 0, **more: Any) -> Snapshot:
    """Four pods of `old` fill a node, and a pod of `new` (priority 10) evicts one of them or more."""
    classes = [priority_class("low", old or 1), priority_class("high", 10)]
    groups = [
        pod_group("old", phase="Running", priority_class="low"),
        pod_group("new", queue=own, priority_class="high"),
    ]
    filling, waiting = pods("old", 4, on="n1", priority=old), pods("new", 1, priority=10)
    queues = [queue("mine", weight=3)]
    text = conf_of(*tiers, actions=f"allocate, {action}", **more)
    return cluster(node("n1", cpu="4"), queues, classes, groups, filling, waiting, conf=text)


VICTIM = "default/old-2"
"""The pod that preempt evicts where nothing else distinguishes the pods."""


def lost(snapshot: Snapshot, name: str = "default/old") -> Explanation:
    return explain_by_name(replay_cycle(snapshot), name)


def test_a_loss_is_told_with_the_figures_of_the_plugin_that_allows_it() -> None:
    """priority would protect the pods of the higher job; drf of a later tier decides by shares."""
    found = lost(preempted("priority conformance", "drf predicates", old=100))
    assert found.sentence.startswith("default/old loses ")
    assert " for default/new" in found.sentence
    first, second = found.dominant.facts[:2]
    assert first.startswith("drf (tier 2) allows old-")
    assert "preemptor's share 0.25, candidate's share 0." in first
    assert "Tier 1 (priority: job priority 100 is not lower than 10) allows no victim, so tier 2 decided." == second
    switch = next(one for one in found.advised if "drf" in one.text)
    assert ("conf:plugins.drf.enablePreemptable=false",) == switch.edits
    assert "drf: set enablePreemptable to false, so that priority decides." == switch.text


@pytest.mark.parametrize("tiers", [("priority gang predicates",), ("drf gang predicates",)])
def test_no_switch_is_proposed_if_no_earlier_plugin_protects_the_pod(tiers: tuple[str, ...]) -> None:
    found = lost(preempted(*tiers))
    assert found.sentence.startswith("default/old loses ")
    assert not any("set enablePreemptable" in one.text for one in found.advised)
    told = [fact for fact in found.dominant.facts if "gang (tier 1) allows" in fact]
    assert re.search(r": ready \d, min 1 \(any pods of the job count\)\.$", told[0])


def test_a_reclaimed_queue_is_told_with_what_it_uses_and_deserves() -> None:
    found = lost(preempted("gang proportion predicates", action="reclaim", own="mine"))
    assert "Queue default uses 4 cpu and deserves 3." in found.dominant.facts
    within = lost(preempted("priority gang proportion predicates"))
    assert not any("deserves" in fact for fact in within.dominant.facts)


def test_what_keeps_the_pods_is_tested_and_its_price_is_told() -> None:
    told = proven(preempted("priority conformance", "drf predicates", old=100), "default/old")
    kept = next(plan for words, plan in told.items() if "volcano.sh/preemptable" in words)
    assert kept.outcome.keeps.endswith("then not evicted")
    assert any("drf: set enablePreemptable to false" in words for words in told)


def test_a_protected_pod_whose_siblings_go_instead_has_that_price() -> None:
    plans = proven(preempted("priority gang predicates"), VICTIM)
    plan = next(one for words, one in plans.items() if f"Annotate {VICTIM} with volcano.sh/preemptable" in words)
    assert "1 pod of default/old is then not evicted" == plan.outcome.keeps
    assert "evicts 1 pod of default/old" == plan.side_effects


def test_the_question_why_a_pod_was_evicted_is_answered_with_reason_and_remedy() -> None:
    recording = replay_cycle(preempted("priority conformance", "drf predicates", old=100))
    victim = carried_out(recording)[0].victim
    lines = explain_eviction(recording, victim).lines
    assert lines[0].startswith(f"drf (tier 2) allows {victim.partition('/')[2]}: preemptor's share ")
    assert f'To keep it: Annotate {victim} with volcano.sh/preemptable: "false" (in the pod template).' in lines
    assert "Allowed by" not in " ".join(lines)


def moved(*, other: int) -> Snapshot:
    """A node above its target with a pod of priority 0 and one of another job, and a node that is idle."""
    own, others = running("j-0", "busy", priority=0), pods("other", 1, on="busy", cpu="1", priority=other)
    groups = [pod_group("j", phase="Running"), pod_group("other", phase="Running")]
    snapshot = cluster(node("busy", cpu="4"), node("idle"), groups, own, others, conf=conf(PERIOD + STRATEGY))
    usage = {"busy": (80, 20), "idle": (5, 5)}
    snapshot.usage = {name: {"cpu": {"10m": cpu}, "mem": {"10m": memory}} for name, (cpu, memory) in usage.items()}
    snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1))
    return snapshot


def test_a_moved_pod_is_told_with_the_use_of_its_node_and_the_order_of_pods() -> None:
    found = lost(moved(other=1000), "default/j")
    assert found.sentence.endswith("shuffle evicts default/j-0 for plugin rescheduling.")
    use, order = found.dominant.facts[:2]
    assert "rescheduling: busy uses cpu 80 % (target 70 %), and idle is below every threshold." == use
    assert order.endswith("j-0 has 0; volcano.sh/preemptable is not read.")
    assert any("PriorityClass above 1000" in words for words in proven(moved(other=1000), "default/j"))


def test_priorities_are_no_remedy_where_no_pod_has_a_higher_one() -> None:
    assert () == lost(moved(other=0), "default/j").advised


@pytest.mark.parametrize("reported", [False, True])
@pytest.mark.parametrize(
    ("actions", "switch", "told"),
    [
        ("allocate, preempt", "enablePreemptable", "preempt"),
        ("allocate, reclaim", "enableReclaimable", "reclaim"),
        ("allocate, preempt", "enableReclaimable", ""),
        ("allocate", "enablePreemptable", ""),
    ],
)
def test_a_gang_of_which_a_part_runs_is_told_which_action_minmember_does_not_stop(
    actions: str, switch: str, told: str, *, reported: bool
) -> None:
    low = [pod_group("low", min_member=3, phase="Unknown"), *pods("low", 2, cpu="4", on="n1")]
    low += pods("low", 1, cpu="4", prefix="late")
    event: Manifest = {"kind": "Event", "reason": "Evict", "message": "preempt", "type": "Normal"}
    event |= {"metadata": {"name": "e"}, "involvedObject": {"kind": "PodGroup", "uid": low[0]["metadata"]["uid"]}}
    conf = conf_of("priority gang", "predicates proportion", actions=actions)
    conf = conf.replace("  - name: gang\n", f"  - name: gang\n    {switch}: false\n")
    found = explain_by_name(replay_cycle(cluster(node("n1"), low, *([event] * reported), conf=conf)), "default/low")
    runs = "2 of the 3 pods that minMember requires already run"
    lost = ": the scheduler has evicted a pod of default/low (event Evict: preempt)" if reported else ""
    rule = f"{told} evicts single pods, and minMember protects none of a gang (gang: {switch} false)."
    assert bool(told) is (f"{runs}{lost}; {rule}" in found.dominant.facts)
    is_advised = any(words.startswith("So that no gang is left incomplete: ") for words in found.advice_texts)
    assert is_advised is (bool(told) and reported)
