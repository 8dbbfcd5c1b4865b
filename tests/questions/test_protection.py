"""Plugins that would have protected an evicted pod but did not vote, and pods that no plugin is asked about."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class, queue
from tests.pending.test_component_reports import report
from tests.recorded import bundled
from vcdebug.explain.decisions.evictions import planned_evictions
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.questions import QUESTIONS
from vcdebug.explain.questions.victims import explain_eviction, explain_victim_choice
from vcdebug.explain.subject_names import NotFoundError
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.snapshot import DEFAULT_NOW, Manifest

OFF = {"gang": {"enablePreemptable": "false", "enableReclaimable": "false"}}
SCHEDULED = f"{DEFAULT_NOW:%Y-%m-%d}T00:00:00Z"


def evicted(action: str, *tiers: str, release: str = "", least: int = 2, **more: Any) -> Recording:
    """A cycle in which the action evicts one of two pods for a pod of higher priority or of another queue."""
    old = pods("old", 2, on="n1", annotations={"volcano.sh/cooldown-time": more.pop("cooldown", "1s")})
    events = [report(message, name=f"old-{pod}") for message in more.pop("messages", ()) for pod in (0, 1)]
    for each in old:
        each["status"]["conditions"] = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": SCHEDULED},
        ]
    own = "default" if action == "preempt" else "mine"
    groups = [
        pod_group("old", min_member=least, phase="Running"),
        pod_group("new", queue=own, priority_class="high"),
    ]
    objects: list[Manifest] = [node("n1", cpu="2"), queue("mine"), priority_class("high", 10), *groups, *old, *events]
    conf = conf_of(*tiers, actions=f"allocate, {action}", **more)
    snapshot = cluster(objects, pods("new", 1, priority=10), conf=conf)
    if release:
        snapshot.flags = replace(snapshot.flags, release=resolve_release(release).release)
    return replay_cycle(snapshot)


@pytest.mark.parametrize(
    ("recording", "plugin", "why", "advice"),
    [
        (evicted("preempt", "priority conformance", "gang predicates"), "gang", "tier 1 decided", "Move gang to"),
        (evicted("reclaim", "conformance", "predicates", "gang proportion"), "gang", "tier 1 decided", "Move gang to"),
        (
            evicted("preempt", "priority gang", "predicates", arguments=OFF),
            "gang",
            "enablePreemptable is false",
            "gang: set enablePreemptable to true.",
        ),
        (
            evicted("reclaim", "gang conformance", "predicates proportion", arguments=OFF),
            "gang",
            "enableReclaimable is false",
            "gang: set enableReclaimable to true.",
        ),
        (
            evicted(
                "reclaim", "gang conformance cdp", "predicates proportion", release="v1.11.2", least=1, cooldown="72h"
            ),
            "cdp",
            "v1.11.2 does not ask it about Reclaimable",
            "Upgrade Volcano (v1.12.0 or later).",
        ),
    ],
    ids=["later tier", "later tier of reclaim", "off for preempt", "off for reclaim", "older release"],
)
def test_a_plugin_that_would_have_protected_the_pod_is_named(
    recording: Recording, plugin: str, why: str, advice: str
) -> None:
    victim = next(name for name in ("old-0", "old-1") if explain_eviction(recording, name).data["evicted"])
    answer = explain_by_name(recording, victim)
    named = [line for line in answer.dominant.facts if line.startswith(f"{plugin} (tier ")]
    assert len(named) == 1
    assert "would protect it (" in named[0]
    assert why in named[0]
    assert named[0] in explain_eviction(recording, victim).lines
    assert any(line.startswith(advice) for line in answer.advice_texts)


@pytest.mark.parametrize(
    "recording",
    [
        evicted("preempt", "priority conformance", "gang predicates", least=1),
        evicted("reclaim", "gang conformance cdp", "predicates proportion", release="v1.11.2", least=1, cooldown="0s"),
    ],
    ids=["a gang above its minimum", "a cooldown that has ended"],
)
def test_a_plugin_that_would_have_allowed_it_is_no_protection(recording: Recording) -> None:
    victim = next(name for name in ("old-0", "old-1") if explain_eviction(recording, name).data["evicted"])
    answer = explain_by_name(recording, victim)
    assert "protect" not in answer.full_text
    assert not any(line.text.startswith(("Move ", "Upgrade ")) or "set enable" in line.text for line in answer.advised)


@pytest.mark.parametrize("messages", [(), ("Liveness probe failed: connection refused",)])
def test_the_question_of_the_eviction_has_every_reason_of_explain(messages: tuple[str, ...]) -> None:
    recording = evicted("preempt", "priority conformance", "gang predicates", least=1, messages=messages)
    victim = next(name for name in ("old-0", "old-1") if explain_eviction(recording, name).data["evicted"])
    facts = explain_by_name(recording, victim).dominant.facts
    assert len(messages) == sum("probe failed" in fact for fact in facts)
    assert {*facts} <= {*explain_eviction(recording, victim).lines}


@pytest.mark.parametrize("tied", [True, False])
def test_chance_is_named_only_where_the_node_with_the_milder_victim_has_the_same_score(tied: bool) -> None:
    """A preferred affinity gives n1 the higher score. Of two nodes that are equal, the replay takes n1."""
    here = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["fast" if not tied else "none"]}]}
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 9, "preference": here}]}
    }
    classes = [priority_class("high", 10), priority_class("mid", 5)]
    mid = [pod_group("mid", priority_class="mid"), *pods("mid", 1, cpu="2", on="n1", priority=5)]
    low = [pod_group("low"), *pods("low", 1, cpu="2", on="n2", priority=1)]
    high = [pod_group("high", priority_class="high"), *pods("high", 1, cpu="2", priority=10, affinity=affinity)]
    objects = [
        node("n1", cpu="2", labels={"disk": "fast"}),
        node("n2", cpu="2"),
        queue("default"),
        *classes,
        *mid,
        *low,
        *high,
    ]
    found = explain_by_name(
        replay_cycle(
            cluster(
                *objects, conf=conf_of("priority conformance", "gang predicates nodeorder", actions="allocate, preempt")
            )
        ),
        "default/high",
    )
    (milder,) = [fact for fact in found.dominant.facts if fact.startswith("n2 would have done as well (low-0")]
    assert tied is ("n1, n2 have the same score (" in milder)
    assert tied is ("so the real scheduler picks one at random" in milder)
    assert tied is not ("in order of score" in milder)


def test_each_question_about_a_running_pod_without_a_job_has_a_reply_or_says_what_it_lacks() -> None:
    lone = pod("lone", on="n1", requests={"cpu": "1"}, priority=0)
    waiting = (priority_class("high", 10), pod_group("high", priority_class="high"), pods("high", 1, cpu="2"))
    recording = replay_cycle(
        cluster(
            node("n1", cpu="2"),
            queue("default"),
            lone,
            *waiting,
            conf=conf_of("priority conformance", "gang predicates nodeorder", actions="allocate, preempt"),
        )
    )
    for question in QUESTIONS:
        with suppress(NotFoundError):
            assert question.answer(recording, "default/lone").sentence
    reply = explain_eviction(recording, "default/lone")
    assert ("It belongs to no job of this cycle, and only pods of jobs are evicted.",) == reply.lines


def test_victims_of_different_preemptors_are_not_counted_together() -> None:
    """Each of two pods is evicted for another job, so that neither eviction is one too many."""
    wants = [[pod_group(name, priority_class="high"), *pods(name, 1, cpu="4")] for name in ("x", "y")]
    running = [pod_group("a", min_member=0, priority_class="low", phase="Running"), *pods("a", 2, cpu="4", on="n1")]
    classes = [priority_class("low", 10), priority_class("high", 1000)]
    conf = conf_of("priority gang conformance", "predicates nodeorder", actions="enqueue, allocate, preempt")
    recording = replay_cycle(cluster(node("n1", cpu="8"), *classes, running, *wants, conf=conf))
    for victim in ("default/a-0", "default/a-1"):
        reply = explain_eviction(recording, victim)
        assert reply.data["evicted"]
        assert not [line for line in reply.lines if "by their amounts" in line]


@pytest.mark.parametrize(
    ("action", "older", "younger", "told"),
    [
        ("preempt", {}, {}, "low-1 is evicted before default/low-0 on n1: victims are ordered by "),
        ("preempt", {"priority": 3}, {"priority": 2}, "priority orders by priority (2 before 3). Evicting 1 pod there"),
        ("reclaim", {"priority": 3}, {"priority": 2}, "priority orders by priority (2 before 3). Evicting 1 pod there"),
    ],
)
def test_an_allowed_victim_that_is_not_needed_is_compared_with_the_one_that_is(
    action: str, older: dict[str, Any], younger: dict[str, Any], told: str
) -> None:
    low = [
        pod(f"low-{index}", "low", on="n1", requests={"cpu": "4"}, **given)
        for index, given in enumerate((older, younger))
    ]
    other = "mine" if action == "reclaim" else "default"
    objects = [pod_group("low", min_member=0, phase="Running"), *low, priority_class("top", 9)]
    new = [pod_group("new", priority_class="top", queue=other), *pods("new", 1, cpu="4", priority=9)]
    conf = conf_of("priority gang conformance", "predicates proportion", actions=f"allocate, {action}")
    queues = [queue("default"), queue("mine")]
    recording = replay_cycle(cluster(node("n1", cpu="8"), *queues, *objects, *new, conf=conf))
    assert "not evicted" in (reply := explain_eviction(recording, "default/low-0")).sentence
    assert told in " ".join(reply.lines)


def test_of_a_gang_action_an_unneeded_victim_names_the_job_that_asked() -> None:
    (line,) = explain_eviction(bundled("gangpreempt-bundles"), "ml/fixed-0").lines
    assert line.startswith("gangpreempt considered it for ml/big (event ")
    assert line.endswith("no plugin protects it; it was not needed.")


@pytest.mark.parametrize(("count", "kept"), [(1, False), (2, True)])
def test_a_victim_of_a_plan_that_was_rolled_back_is_not_evicted(count: int, kept: bool) -> None:
    """One of two pods of the gang finds a victim, since the gang of the other candidates has one pod to spare."""
    old = [pod_group("old", min_member=1, phase="Running"), *pods("old", 2, cpu="2", on="n1")]
    new = [pod_group("new", min_member=count, priority_class="high"), *pods("new", count, cpu="2", priority=10)]
    conf = conf_of("priority gang", "predicates", actions="allocate, preempt")
    recording = replay_cycle(cluster(node("n1", cpu="4"), priority_class("high", 10), old, new, conf=conf))
    victim = next(one.victim for one in planned_evictions(recording))
    reply = explain_victim_choice(recording, victim)
    assert kept is any(line.startswith("The plan is rolled back (event ") for line in reply.lines)


@pytest.mark.parametrize("cpu", ["1", "3"])
def test_a_queue_that_may_not_reclaim_looks_for_no_victims(cpu: str) -> None:
    own = [pod_group("own", queue="mine", phase="Running"), *pods("own", 1, cpu="2", on="n1")]
    old = [pod_group("old", phase="Running"), *pods("old", 1, cpu="2", on="n1")]
    conf = conf_of("gang", "predicates proportion", actions="allocate, reclaim")
    new = [pod_group("new", queue="mine"), *pods("new", 1, cpu=cpu)]
    recording = replay_cycle(cluster(node("n1", cpu="4"), queue("mine"), own, old, new, conf=conf))
    (line,) = explain_victim_choice(recording, "old-0").lines
    assert line.startswith("reclaim looked for no victims for default/new-0: proportion rejects its queue (event ")


def test_reclaim_is_not_said_to_compare_scores_where_another_node_has_a_victim_of_lower_priority() -> None:
    classes = [priority_class("mid", 5), priority_class("low", 1)]
    queues = [queue("default"), queue("rich", reclaimable=True)]
    runs = [
        each
        for at, name in enumerate(("mid", "low"), start=1)
        for each in (
            pod_group(name, queue="rich", phase="Running", priority_class=name),
            *pods(name, 2, cpu="1", on=f"n{at}", priority=5 if name == "mid" else 1),
        )
    ]
    poor = [pod_group("poor"), *pods("poor", 1, cpu="1")]
    objects = [node("n1", cpu="2"), node("n2", cpu="2"), *queues, *classes, *runs, *poor]
    conf = conf_of("priority gang", "predicates proportion", actions="allocate, reclaim")
    recording = replay_cycle(cluster(*objects, conf=conf))
    (victim,) = (one.task for one in cycle_effects(recording).evicted)
    (milder,) = [line for line in explain_eviction(recording, victim).lines if "would have done as well" in line]
    assert milder.endswith(
        "reclaim takes the first node with enough victims, and compares neither scores nor priorities."
    )
