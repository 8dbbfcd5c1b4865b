"""The answers of `ask`, each compared with what the trace says by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.golden.compare import read_trace
from tests.questions.trace_answers import (
    PlacementReading,
    RefusalReading,
    read_evictions,
    read_holders,
    read_pending_jobs,
    read_placements,
    read_refusals,
)
from tests.recorded import each_case, recorded
from vcdebug.actions.preempt.topology import TIE_RULES
from vcdebug.explain.decisions.dry_runs import BY_NAME, ONLY_CANDIDATE
from vcdebug.explain.questions.holders import who_holds
from vcdebug.explain.questions.next_job import who_is_next
from vcdebug.explain.questions.nodes import why_node, why_refused
from vcdebug.explain.questions.victims import why_evicted, why_victim
from vcdebug.recording.recording import Recording


@each_case
def test_the_answer_about_a_node_tells_the_search_that_led_to_it(case: Path) -> None:
    recording = recorded(case)
    expected = read_placements(read_trace(case / "trace.jsonl.gz"))
    assert expected == {pod: told_placement(recording, pod) for pod in expected}


@each_case
def test_the_answer_about_a_refusal_tells_the_search_that_needs_room(case: Path) -> None:
    recording = recorded(case)
    expected = read_refusals(read_trace(case / "trace.jsonl.gz"))
    assert expected == {pod: told_refusal(recording, pod) for pod in expected}


@each_case
def test_the_tie_rule_of_a_dry_run_is_the_first_that_tells_the_candidates_apart(case: Path) -> None:
    recording = recorded(case)
    for pod, reading in read_placements(read_trace(case / "trace.jsonl.gz")).items():
        if reading.victims is not None:
            reply = why_node(recording, pod)
            assert deciding_rule(recording, reply.data["candidates"], reading.node) == reply.data["rule"]
            assert "simulates evictions node by node" in reply.sentence


@each_case
def test_the_answer_about_an_eviction_tells_who_evicted_for_whom(case: Path) -> None:
    recording = recorded(case)
    for pod, read in read_evictions(read_trace(case / "trace.jsonl.gz")).items():
        told: dict[str, Any] = dict(why_evicted(recording, pod).data)  # Any: JSON
        assert (read.evicted, read.action, read.node) == (told["evicted"], told["action"], told["node"])
        assert told["for"] == read.preemptor or not read.preemptor
        assert set(told["offeredBy"]) <= set(read.allowed_by)


@each_case
def test_no_answer_about_a_victim_puts_it_before_a_pod_that_left_the_queue_earlier(case: Path) -> None:
    recording = recorded(case)
    for pod, read in read_evictions(read_trace(case / "trace.jsonl.gz")).items():
        reply = why_victim(recording, pod)
        orders: Any = reply.data["orders"]  # Any: JSON
        assert not [one for one in orders if one["sign"] < 0 and one["instead"] in read.popped_before]
        assert "only candidate" not in reply.sentence or not read.popped_before


@each_case
def test_the_answer_about_the_holders_of_a_node_names_the_pods_that_are_on_it_in_the_end(case: Path) -> None:
    recording = recorded(case)
    for node, pods in read_holders(read_trace(case / "trace.jsonl.gz")).items():
        holders: Any = who_holds(recording, f"node/{node}").data["holders"]  # Any: JSON
        assert pods == sorted(one["pod"] for one in holders)


@each_case
def test_the_answer_about_the_next_jobs_names_those_with_a_pending_pod_in_the_end(case: Path) -> None:
    lines = read_trace(case / "trace.jsonl.gz")
    if lines[-1]["ev"] == "close":
        queues: Any = who_is_next(recorded(case), "").data["jobs"]  # Any: JSON
        assert read_pending_jobs(lines) == sorted(job for queue in queues for job in queue["jobs"])


def told_placement(recording: Recording, pod: str) -> PlacementReading:
    """What the answer says, in the form of the reading."""
    data: dict[str, Any] = dict(why_node(recording, pod).data)  # Any: JSON
    tied, candidates = data.get("tied"), data.get("candidates")
    victims = None if candidates is None else next(one["victims"] for one in candidates if one["node"] == data["node"])
    tied = None if tied is None else sorted(tied)
    return PlacementReading(data["node"], data["action"], data.get("score"), tied, data["triedBefore"], victims)


def told_refusal(recording: Recording, pod: str) -> RefusalReading:
    """What the answer says, in the form of the reading."""
    data: dict[str, Any] = dict(why_refused(recording, pod).data)  # Any: JSON
    evicting = [(one["action"], one["event"], one["feasible"], one["refused"]) for one in data["evictingSearches"]]
    refused = sorted(node for group in data["nodes"] for node in group["nodes"])
    return RefusalReading(data["event"], data["feasible"], refused, evicting)


def deciding_rule(recording: Recording, candidates: Any, node: str) -> str:  # Any: JSON
    """By priorities and numbers of the victims; the start of a pod is not looked at."""
    tasks = {task.key: task for job in recording.session.jobs.values() for task in job.tasks.values()}
    ranks = {}
    for one in candidates:
        priorities = [tasks[victim].priority for victim in one["victims"]]
        ranks[one["node"]] = (max(priorities), sum(priorities), len(priorities))
    mine = ranks.pop(node)
    if not ranks:
        return ONLY_CANDIDATE
    best = min(ranks.values())
    apart = [rule for rule, one, other in zip(TIE_RULES, mine, best, strict=False) if one != other]
    return apart[0] if apart else BY_NAME
