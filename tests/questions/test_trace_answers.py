"""The answers of `ask`, each compared with the trace alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.golden.compare import read_trace
from tests.questions.trace_answers import (
    ONE_BY_ONE,
    Line,
    PlacementReading,
    RefusalReading,
    read_evictions,
    read_holders,
    read_pending_jobs,
    read_placements,
    read_refusals,
)
from tests.recorded import each_case, recorded
from tests.stepped_reruns import stepped_reruns
from vcdebug.actions.preempt.topology import TIE_RULES
from vcdebug.explain.decisions.dry_runs import BY_NAME, ONLY_CANDIDATE
from vcdebug.explain.questions.holders import find_holders, find_next_job
from vcdebug.explain.questions.nodes import explain_node, explain_refusal
from vcdebug.explain.questions.victims import explain_eviction, explain_victim_choice
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import key_of, name_of, spec_of

ORDERING_JOBS = ("priority", "gang", "drf", "sla", "tdm")


@each_case
def test_each_answer_is_what_the_trace_says(case: Path) -> None:
    recording, lines = recorded(case), read_trace(case / "trace.jsonl.gz")
    with stepped_reruns(recording):
        check_placements(recording, lines)
        check_refusals(recording, lines)
        check_evictions(recording, lines)
    check_holders(recording, lines)
    check_next_jobs(recording, lines)


def check_placements(recording: Recording, lines: Sequence[Line]) -> None:
    """`ask node` names the search that found the node, and for dry runs the first tie rule that separates nodes."""
    expected = read_placements(lines)
    replies = {pod: explain_node(recording, pod) for pod in expected}
    assert expected == {pod: told_placement(reply.data) for pod, reply in replies.items()}
    for pod, reading in expected.items():
        reply = replies[pod]
        if reading.tied is not None:
            check_ties(reading, reply.sentence)
        if reading.victims is not None:
            assert deciding_rule(recording, reply.data["candidates"], reading.node) == reply.data["rule"]
            assert "simulates evictions node by node" in reply.sentence


def check_ties(reading: PlacementReading, sentence: str) -> None:
    """The sentence speaks of chance where the trace has several nodes with the best score, and nowhere else."""
    assert reading.tied is not None
    count = len(reading.tied)
    words = f"{count} nodes share this score" if reading.action in ONE_BY_ONE else f"{count} nodes tie at the top score"
    assert (count > 1) is (words in sentence)
    assert (count > 1) is ("another order" in sentence or "at random" in sentence)
    if count > 1 and reading.action not in ONE_BY_ONE:
        assert all(node in sentence for node in reading.tied[:3])


def check_refusals(recording: Recording, lines: Sequence[Line]) -> None:
    """`ask refused` names the search that lacks resources."""
    expected = read_refusals(lines)
    assert expected == {pod: told_refusal(recording, pod) for pod in expected}


def check_evictions(recording: Recording, lines: Sequence[Line]) -> None:
    """`ask evicted` names the preemptor; `ask victim` lists no candidate before a pod popped earlier."""
    for pod, read in read_evictions(lines).items():
        told: dict[str, Any] = dict(explain_eviction(recording, pod).data)  # Any: JSON
        assert (read.evicted, read.action, read.node) == (told["evicted"], told["action"], told["node"])
        assert told["for"] == read.preemptor or not read.preemptor
        tiers = ([option.name for option in tier] for tier in recording.conf.tiers)
        deciding = [name for tier in tiers if read.asked_last in tier for name in tier]
        assert set(told["offeredBy"]) <= {name for name in read.allowed_by if name in deciding}
        assert not {*told["notAsked"]} & {*read.asked}
        if told["offeredBy"] and told["tier"] is not None:
            assert set(told["offeredBy"]) == {name for name in read.allowed_by if name in deciding}
            assert read.asked_last in [option.name for option in recording.conf.tiers[told["tier"] - 1]]
        reply = explain_victim_choice(recording, pod)
        orders: Any = reply.data["orders"]  # Any: JSON
        assert not [one for one in orders if one["sign"] < 0 and one["instead"] in read.popped_before]
        assert "only candidate" not in reply.sentence or not read.popped_before


def check_holders(recording: Recording, lines: Sequence[Line]) -> None:
    """`ask holders` names the pods that are on a node in the end."""
    for node, pods in read_holders(lines).items():
        holders: Any = find_holders(recording, f"node/{node}").data["holders"]  # Any: JSON
        assert pods == sorted(one["pod"] for one in holders)


def check_next_jobs(recording: Recording, lines: Sequence[Line]) -> None:
    """`ask next` names the jobs with a Pending pod in the end, and where priority comes first the higher ones first."""
    if lines[-1]["ev"] == "close":
        queues: Any = find_next_job(recording, "").data["jobs"]  # Any: JSON
        assert read_pending_jobs(lines) == sorted(job for queue in queues for job in queue["jobs"])
        classes = {name_of(one): int(one.get("value") or 0) for one in recording.snapshot.objects_of("PriorityClass")}
        groups = recording.snapshot.objects_of("PodGroup")
        stated = {key_of(one): str(spec_of(one).get("priorityClassName")) for one in groups}
        options = [option for tier in recording.conf.tiers for option in tier if option.name in ORDERING_JOBS]
        for queue in queues if options and options[0].name == "priority" and not options[0].switches else ():
            known = [classes[stated[job]] for job in queue["jobs"] if stated.get(job) in classes]
            assert known == sorted(known, reverse=True)


def told_placement(reply: Mapping[str, object]) -> PlacementReading:
    """What the answer says, in the form of the reading."""
    data: dict[str, Any] = dict(reply)  # Any: JSON
    tied, candidates = data.get("tied"), data.get("candidates")
    victims = None if candidates is None else next(one["victims"] for one in candidates if one["node"] == data["node"])
    tied = None if tied is None else sorted(tied)
    return PlacementReading(data["node"], data["action"], data.get("score"), tied, data["triedBefore"], victims)


def told_refusal(recording: Recording, pod: str) -> RefusalReading:
    """What the answer says, in the form of the reading."""
    data: dict[str, Any] = dict(explain_refusal(recording, pod).data)  # Any: JSON
    evicting = [(one["action"], one["event"], one["feasible"], one["refused"]) for one in data["evictingSearches"]]
    refused = sorted(node for group in data["nodes"] for node in group["nodes"])
    return RefusalReading(data["event"], data["feasible"], refused, evicting)


def deciding_rule(recording: Recording, candidates: Any, node: str) -> str:  # Any: JSON
    """The deciding tie rule by victims' priorities and counts; start times are not compared."""
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
