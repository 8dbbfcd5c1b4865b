"""The answers of `ask`, each compared with the trace alone."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from io import StringIO
from math import inf
from pathlib import Path
from typing import Any

import pytest

from tests.golden.compare import read_trace
from tests.pending.first_line_claims import CycleReading
from tests.questions.made_clusters import MADE
from tests.questions.trace_answers import (
    ONE_BY_ONE,
    PLACES,
    Line,
    PlacementReading,
    RefusalReading,
    read_cached,
    read_evictions,
    read_holders,
    read_pending_jobs,
    read_placements,
    read_queue_holders,
    read_refusals,
)
from tests.questions.trace_figures import AMOUNTS, READY, TraceFigures, refusing_dimensions
from tests.recorded import each_case, recorded, user_questions
from tests.stepped_reruns import stepped_reruns
from vcdebug.actions.preempt.topology import TIE_RULES
from vcdebug.explain.answer import Explanation, QuestionReply
from vcdebug.explain.decisions.dry_runs import BY_NAME, ONLY_CANDIDATE
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.explain.questions.holders import LIMIT_CAUSES, find_holders, find_next_job
from vcdebug.explain.questions.nodes import explain_node, explain_refusal
from vcdebug.explain.questions.victims import explain_eviction, explain_victim_choice
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.manifest import key_of, name_of, spec_of

ORDERING_JOBS = ("priority", "gang", "drf", "sla", "tdm")


@each_case
def test_each_answer_is_what_the_trace_says(case: Path) -> None:
    check_answers(recorded(case), read_trace(case / "trace.jsonl.gz"))


@pytest.mark.parametrize("case", user_questions(), ids=lambda path: path.name)
def test_each_answer_about_a_users_cluster_is_what_the_trace_of_its_replay_says(case: Path) -> None:
    recording = recorded(case)
    check_answers(recording, replayed_lines(recording))


@pytest.mark.parametrize("name", MADE)
def test_each_answer_about_a_made_cluster_is_what_the_trace_of_its_replay_says(name: str) -> None:
    recording = replay_cycle(MADE[name])
    check_answers(recording, replayed_lines(recording))


def replayed_lines(recording: Recording) -> list[Line]:
    """The trace that a replay writes."""
    text = StringIO()
    write_jsonl(recording, text)
    return [json.loads(line) for line in text.getvalue().splitlines()]


def check_answers(recording: Recording, lines: Sequence[Line]) -> None:
    """Compare every answer with the trace."""
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
        # The choice of a node that the pod does not keep is in the second line.
        choice = reply.lines[0] if reply.sentence.endswith("rolled that back.") else reply.sentence
        if reading.tied is not None:
            check_ties(reading, choice)
        for part in re.findall(r"Largest difference: (\S+),", choice):
            assert reading.difference(part) == pytest.approx(reading.largest_part)
        if reading.victims is not None:
            assert deciding_rule(recording, reply.data["candidates"], reading.node) == reply.data["rule"]
            assert "simulates evictions node by node" in choice


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
    told: dict[str, dict[str, Any]] = {pod: {**explain_refusal(recording, pod).data} for pod in expected}  # Any: JSON
    assert expected == {pod: told_refusal(data) for pod, data in told.items()}
    for pod, data in told.items():
        check_refusal_figures(recording, lines, pod, data)


def check_refusal_figures(recording: Recording, lines: Sequence[Line], pod: str, data: Mapping[str, Any]) -> None:
    """The room of each shown node is the trace's, and so is the earlier search of which an answer is reused."""
    tasks, hits = recording.timeline.tasks, data["cacheHits"]
    alike = [key for key, task in tasks.items() if (task.job, task.task_role) == (tasks[pod].job, tasks[pod].task_role)]
    read = read_cached(lines, data["event"], alike)
    assert not [node for node, hit in hits.items() if hit not in read.get(node, ())]
    figures = TraceFigures(lines, recording.owners.jobs)
    for group in data["nodes"]:
        node, shown = group["nodes"][0], [one for one in group["checks"] if one["title"].startswith("room on ")]
        room = figures.future_idle(hits.get(node, data["event"]) - 1, node) if shown else {}
        for check in shown:
            assert f"room on {node}" == check["title"]
            free = {term["name"]: term["figures"][3] for term in check["terms"] if term["name"] in AMOUNTS}
            assert free == pytest.approx({name: room[name] for name in free})


def check_evictions(recording: Recording, lines: Sequence[Line]) -> None:
    """`ask evicted` names the preemptor; `ask victim` lists no candidate before a pod popped earlier."""
    placed = {one.pod for one in CycleReading(lines).done if one.kind in PLACES}
    kept = {pod for pods in read_holders(lines).values() for pod in pods if pod in placed}
    closed = lines[-1].get("jobs", {}) if lines[-1]["ev"] == "close" else {}
    refusals = dict(read_restored(recording, lines))
    for pod, read in read_evictions(lines).items():
        told: dict[str, Any] = dict(explain_eviction(recording, pod).data)  # Any: JSON
        assert (read.evicted, read.action, read.node) == (told["evicted"], told["action"], told["node"])
        assert told["for"] == read.preemptor or not read.preemptor
        tiers = ([option.name for option in tier] for tier in recording.conf.tiers)
        deciding = [name for tier in tiers if read.asked_last in tier for name in tier]
        assert set(told["offeredBy"]) <= {name for name in read.allowed_by if name in deciding}
        assert not {*told["notAsked"]} & {plugin for plugin, _ in read.answers}
        for name, job in closed.items():
            if told["for"] in (name, *job["tasks"]):
                assert ("did not benefit" in told["gain"]) is kept.isdisjoint(job["tasks"])
                check_gain(told["gain"], job["tasks"])
        reply = explain_victim_choice(recording, pod)
        allowed = read.victims(deciding)
        assert (told["tier"] is not None) is (pod in allowed)
        if told["tier"] is not None:
            assert set(told["offeredBy"]) == {name for name in read.allowed_by if name in deciding}
            assert read.asked_last in [option.name for option in recording.conf.tiers[told["tier"] - 1]]
            assert [name for name in dict.fromkeys(allowed) if name != pod] == reply.data["others"]
        check_victim_orders(TraceFigures(lines, recording.owners.jobs), pod, reply)
        if (read.node, pod) in refusals:
            words = reply.sentence.rpartition(": ")[2].removesuffix(".")
            assert words.removesuffix(" is short") in refusals[read.node, pod]
        rows = [row for sheet in reply.sheets if sheet.title == "protected candidates" for row in sheet.rows]
        assert {row[0]: row[2] for row in rows} == {one: read.protected_by.get(one) for one, *_ in rows}
        orders: Any = reply.data["orders"]  # Any: JSON
        assert not [one for one in orders if (one["sign"] == 1) is not (one["instead"] in read.popped_before)]
        assert "only candidate" not in reply.sentence or not read.popped_before


def check_gain(text: str, tasks: Mapping[str, Any]) -> None:  # Any: JSON
    """The node of the pod that benefited, and how many pods of its gang are ready or reserved."""
    for pod, node in re.findall(r"(?:benefited|cannot start yet): (\S+) is reserved on (.*?)[.;,]", text):
        assert node == tasks[pod]["node"]
    for count in re.findall(r"(\d+) of its \d+ pods? \(minMember\)", text):
        assert int(count) == sum(task["status"] in (*READY, "Pipelined") for task in tasks.values())


def check_victim_orders(figures: TraceFigures, pod: str, reply: QuestionReply) -> None:
    """The figures that order two victims are those before the earlier of the two left the queue."""
    popped = [one.seq for one in reply.evidence if one.text.endswith("leaves the queue of victims")]
    rows = [row for sheet in reply.sheets if sheet.title == "other allowed victims" for row in sheet.rows]
    for other, order, label, *told, _ in rows if popped else ():
        pops = [at for at, line in enumerate(figures.lines[: popped[0]]) if line.get("task") == other]
        at = max(at for at in pops if figures.lines[at]["ev"] == "pop") if order == "earlier" else popped[0] - 1
        if figures.owners[other] != figures.owners[pod]:
            read = [figures.criterion(label, at, one) for one in (pod, other)]
            assert None in read or told == [str(one) for one in read] or list(map(float, told)) == pytest.approx(read)


def read_restored(recording: Recording, lines: Sequence[Line]) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield (node, victim) → dimensions that are short with it, of victims for which the room decides."""
    tasks = recording.timeline.tasks
    requests = {key: {name: task.resreq.get(name) for name in AMOUNTS} for key, task in tasks.items()}
    for pod in {line["task"] for line in lines if line["ev"] == "hook" and line["point"] == "SimulateAddTask"}:
        for node, victim, short in refusing_dimensions(lines, pod, requests):
            if short:
                yield (node, victim), short


def check_holders(recording: Recording, lines: Sequence[Line]) -> None:
    """`ask holders` names the pods that are on a node, or in a queue and those below it, in the end."""
    queues = recording.snapshot.objects_of("Queue")
    parents = {name_of(one): str(spec_of(one).get("parent") or "") for one in queues}
    known = {name: parent for name, parent in parents.items() if name in recording.session.queues}
    for queue, pods in read_queue_holders(lines, known).items() if lines[-1]["ev"] == "close" else ():
        uses: Any = find_holders(recording, f"queue/{queue}").data["holders"]  # Any: JSON
        assert pods == sorted(one["pod"] for one in uses)
    for one in survey_jobs(recording).explained if lines[-1]["ev"] == "close" else ():
        check_limit_holders(recording, lines, parents, one.explanation)
    for node, pods in read_holders(lines).items():
        holders: Any = find_holders(recording, f"node/{node}").data["holders"]  # Any: JSON
        # A trace lists the pods of jobs only.
        assert pods == sorted(one["pod"] for one in holders if one["queue"])
        assert all(one["job"] not in lines[-1]["jobs"] for one in holders if not one["queue"])
        for one in holders:
            assert (one["status"] == "Releasing") is (one["takenBack"] == "already terminating")


def check_limit_holders(
    recording: Recording, lines: Sequence[Line], parents: Mapping[str, str], explanation: Explanation
) -> None:
    """What a queue's limit rejects is held by all pods that count for the limit of a queue or of one above it."""
    if explanation.cause_code not in LIMIT_CAUSES:
        return
    limited = {name_of(one) for one in recording.snapshot.objects_of("Queue") if spec_of(one).get("capability")}
    by_queue, queue = read_queue_holders(lines, parents), recording.session.jobs[explanation.job].queue
    expected, above = {*by_queue.get(queue, ())}, parents.get(queue, "")
    while above:
        expected |= {*by_queue.get(above, ())} if above in limited else set()
        above = parents.get(above, "")
    own = lines[-1]["jobs"][explanation.job]["tasks"]
    holders: Any = find_holders(recording, explanation.job).data["holders"]  # Any: JSON
    assert expected - own.keys() <= {one["pod"] for one in holders}


def check_next_jobs(recording: Recording, lines: Sequence[Line]) -> None:
    """`ask next` names the jobs with a Pending pod in the end, and of two in turn the figures that differ first."""
    if lines[-1]["ev"] != "close":
        return
    reply = find_next_job(recording, "")
    queues: Any = reply.data["jobs"]  # Any: JSON
    assert read_pending_jobs(lines) == sorted(job for queue in queues for job in queue["jobs"])
    options = [option for tier in recording.conf.tiers for option in tier if option.name in ORDERING_JOBS]
    plugins = [option.name for option in options if option.switches.get("enableJobOrder", True)]
    sheets = {sheet.title: sheet.rows for sheet in reply.sheets}
    for queue in queues:
        for left, right, row in zip(
            queue["jobs"], queue["jobs"][1:], sheets.get(f"jobs of {queue['queue']}", ()), strict=False
        ):
            deciding = TraceFigures(lines, recording.owners.jobs).deciding(plugins, left, right)
            if deciding is not None:
                label, first, second = deciding
                told = row[2].removeprefix(f"{label}, ").split(" to ")
                numbers = [float({"False": 0, "True": 1}.get(one, one)) for one in told]
                assert numbers == pytest.approx([float(first), float(second)], rel=0.01)
                # The higher priority goes first, a job that is not ready, the smaller share.
                assert (first > second) is label.startswith("priority")


def told_placement(reply: Mapping[str, object]) -> PlacementReading:
    """What the answer says, in the form of the reading."""
    data: dict[str, Any] = dict(reply)  # Any: JSON
    tied, candidates = data.get("tied"), data.get("candidates")
    victims = None if candidates is None else next(one["victims"] for one in candidates if one["node"] == data["node"])
    tied = None if tied is None else sorted(tied)
    parts = {one["name"]: (one["score"], one["runnerUpScore"]) for one in data.get("parts", ())}
    return PlacementReading(
        data["node"], data["action"], data.get("score"), tied, data["triedBefore"], victims, data["runnerUp"], parts
    )


def told_refusal(data: Mapping[str, Any]) -> RefusalReading:  # Any: JSON
    """What the answer says, in the form of the reading."""
    evicting = [(one["action"], one["event"], one["feasible"], one["refused"]) for one in data["evictingSearches"]]
    refused = {node: group["reasons"] for group in data["nodes"] for node in group["nodes"]}
    return RefusalReading(data["event"], data["feasible"], refused, evicting)


def deciding_rule(recording: Recording, candidates: Any, node: str) -> str:  # Any: JSON
    """The deciding tie rule: the victims' highest priority, the sum, their number, the earliest start at the top."""
    pods = {key_of(one): one for one in recording.snapshot.objects_of("Pod")}
    ranks = {}
    for one in candidates:
        victims = [pods[victim] for victim in one["victims"]]
        priorities = [int(spec_of(victim).get("priority") or 0) for victim in victims]
        top = [victim for victim, priority in zip(victims, priorities, strict=True) if priority == max(priorities)]
        stated = [victim["status"]["startTime"] for victim in top if victim["status"].get("startTime")]
        start = min((datetime.fromisoformat(text).timestamp() for text in stated), default=inf)
        # Upstream adds 2^31 to each priority of the sum.
        ranks[one["node"]] = (max(priorities), sum(priorities) + len(victims) * 2**31, len(victims), -start)
    mine = ranks.pop(node)
    if not ranks:
        return ONLY_CANDIDATE
    best = min(ranks.values())
    apart = [rule for rule, one, other in zip(TIE_RULES, mine, best, strict=False) if one != other]
    return apart[0] if apart else BY_NAME
