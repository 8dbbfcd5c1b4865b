"""cdp, pdb and tdm show numbers and times for protected pods; quota and reservation equations show both sides."""

from typing import Any

from tests.builders import cluster, conf_of, metadata, node, pod_group, pods, priority_class
from tests.explain.test_equations import the, wrong
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.equation import Equation
from vcdebug.framework.record import HookEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest

SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-31T23:55:00Z"}
"""A PodScheduled condition from five minutes before the session."""


def preemption(
    plugin: str, *objects: Manifest, low: dict[str, Any] | None = None, actions: str = "preempt"
) -> Recording:
    """A node full of three running tasks, and a non-preemptable job of higher priority."""
    running = pods("low", 3, cpu="1", on="n1")
    for manifest in running:
        manifest["metadata"]["labels"] = {"app": "web"}
        manifest["status"]["conditions"] = [SCHEDULED]
        manifest["metadata"]["annotations"] |= {"volcano.sh/preemptable": "true", **(low or {})}
    group = pod_group("low", priority_class="low", phase="Running", min_member=0)
    group["metadata"]["annotations"] = low or {}
    high = pods("high", 1, cpu="2", annotations={"volcano.sh/preemptable": "false"})
    recording = replay_cycle(
        cluster(
            node("n1", cpu="3"),
            [priority_class("high", 100), priority_class("low", 1)],
            [group, *running],
            [pod_group("high", priority_class="high", min_member=1), *high],
            list(objects),
            conf=conf_of(f"{plugin} gang priority", actions=actions),
        )
    )
    assert [] == list(wrong(recording))
    return recording


def notes(found: Equation) -> list[str]:
    return [term.note for term in found.terms]


def test_cdp_says_how_long_the_cooldown_still_lasts() -> None:
    found = the(preemption("cdp", low={"volcano.sh/cooldown-time": "12m"}), "Preemptable", "cdp")
    assert [("12m", "5m ago", "7m")] * 3 == [term.figures for term in found.terms]
    assert "scheduled 5m ago; cooldown 12m ends in 7m" == notes(found)[0]
    assert () == found.verdict


def test_cdp_says_that_the_cooldown_has_passed() -> None:
    found = the(preemption("cdp", low={"volcano.sh/cooldown-time": "90s"}), "Preemptable", "cdp")
    assert [("1m30s", "5m", "0s")] * 3 == [(a, str(b).removesuffix(" ago"), c) for a, b, c in map(figures, found.terms)]
    assert 3 == len(found.verdict if isinstance(found.verdict, tuple) else ())


def figures(term: Any) -> tuple[Any, Any, Any]:
    cooldown, scheduled, left = term.figures
    return cooldown, scheduled, left


def budget(name: str, allowed: int) -> Manifest:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": metadata(name, "default"),
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_pdb_names_the_budget_and_what_is_taken_of_it() -> None:
    found = the(preemption("pdb", budget("wide", 3), budget("web-budget", 1)), "Preemptable", "pdb")
    assert [True, False, False] == [term.is_met for term in found.terms]
    assert ("web-budget", 1, 0) == found.terms[1].figures
    assert "PodDisruptionBudget web-budget allows 1 disruption; 1 already used in this call" == notes(found)[1]
    assert "PodDisruptionBudget web-budget allows 1 disruption; 2 already used in this call" == notes(found)[2]
    none_left = the(preemption("pdb", budget("web-budget", 0)), "Preemptable", "pdb")
    assert "PodDisruptionBudget web-budget allows 0 disruptions" == notes(none_left)[0]


def test_equation_of_tdm_names_the_evictions_that_the_budget_allows() -> None:
    recording = preemption("tdm", low={"volcano.sh/jdb-min-available": "2"})
    found = the(recording, "Preemptable", "tdm")
    assert [True, False, False] == [term.is_met for term in found.terms]
    assert ("Running", 1, 1) == found.terms[1].figures
    assert (
        "the disruption budget of low allows 1 eviction: volcano.sh/jdb-min-available 2, 3 of 3 run" == notes(found)[1]
    )


def test_equation_of_tdm_allows_one_eviction_without_a_budget() -> None:
    found = the(preemption("tdm"), "Preemptable", "tdm")
    assert (
        "the disruption budget of low allows 1 eviction: it states no budget, so one at a time, 3 of 3 run"
        == notes(found)[2]
    )


def quota_recording(*minimums: str) -> Recording:
    quota = {
        "kind": "ResourceQuota",
        "metadata": metadata("q", "default"),
        "status": {"hard": {"cpu": "4"}, "used": {"cpu": "1500m"}},
    }
    jobs = [pod_group(f"j{number}", phase="Pending", min_resources={"cpu": cpu}) for number, cpu in enumerate(minimums)]
    conf = conf_of("gang resourcequota", actions="enqueue")
    recording = replay_cycle(
        cluster(node("n1"), [quota], jobs, *(pods(f"j{n}", 1) for n in range(len(jobs))), conf=conf)
    )
    assert [] == list(wrong(recording))
    return recording


def test_a_namespace_quota_counts_what_this_cycle_admitted() -> None:
    recording = quota_recording("2", "1")
    found = the(recording, "JobEnqueueable", "resourcequota", 1)
    assert (-1, "quota 1 cpu") == (found.verdict, found.deciding_name)
    assert (1.5, 2.0, 1.0, 4.5, 4.0) == found.terms[0].figures


def test_sla_says_how_long_is_left() -> None:
    group = pod_group("one", phase="Pending", min_resources={"cpu": "1"})
    group["metadata"]["annotations"] = {"sla-waiting-time": "13h"}
    recording = replay_cycle(cluster(node("n1"), group, pods("one", 1), conf=conf_of("sla gang", actions="enqueue")))
    assert [] == list(wrong(recording))
    found = the(recording, "JobEnqueueable", "sla")
    assert (0, ("12h", "13h", "1h")) == (found.verdict, found.terms[0].figures)


def test_tdm_counts_tasks_for_pipelined_and_names_what_keeps_a_job_from_starving() -> None:
    recording = preemption("tdm")
    complete = the(recording, "JobPipelined", "tdm")
    assert "ready + waiting + best-effort pending ≥ min available" == complete.formula
    asked = {
        str(dict(event.subject)["job"]): equation_at(recording, seq)
        for seq in recording.index.seqs_at_point("JobStarving")
        if isinstance(event := recording.event_at(seq), HookEvent) and event.plugin == "tdm"
    }
    low, high = asked["default/low"], asked["default/high"]
    assert low is not None
    assert high is not None
    assert (False, "pending") == (low.verdict, low.deciding_name)
    assert (True, [1]) == (high.verdict, [term.figures[0] for term in high.terms if term.name == "pending"])
