"""Plugins that would have protected an evicted pod but did not vote: `ask evicted` and explain agree."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.questions.victims import explain_eviction
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.snapshot import DEFAULT_NOW, Manifest

OFF = {"gang": {"enablePreemptable": "false", "enableReclaimable": "false"}}
SCHEDULED = f"{DEFAULT_NOW:%Y-%m-%d}T00:00:00Z"


def evicted(action: str, *tiers: str, release: str = "", least: int = 2, **more: Any) -> Recording:
    """A cycle in which the action evicts one of two pods for a pod of higher priority or of another queue."""
    old = pods("old", 2, on="n1", annotations={"volcano.sh/cooldown-time": more.pop("cooldown", "1s")})
    for each in old:
        each["status"]["conditions"] = [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": SCHEDULED},
        ]
    own = "default" if action == "preempt" else "mine"
    groups = [
        pod_group("old", min_member=least, phase="Running"),
        pod_group("new", queue=own, priority_class="high"),
    ]
    objects: list[Manifest] = [node("n1", cpu="2"), queue("mine"), priority_class("high", 10), *groups, *old]
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
    assert not answer.advised
