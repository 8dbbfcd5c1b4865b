"""The survey lists every unscheduled job with its cause."""

from __future__ import annotations

import pickle
from typing import Any, Self

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, pods
from tests.recorded import BUNDLED, bundled
from vcdebug.explain import fit_table
from vcdebug.explain.answer import Cause, Explanation
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.explain.pending import survey as surveys
from vcdebug.explain.pending.explanation import explain_by_name, explain_subject
from vcdebug.explain.pending.gates import overrides as what_if
from vcdebug.explain.pending.survey import SurveyedJob, survey_by_name, survey_jobs
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Snapshot

CONF = conf_of("priority gang", "predicates nodeorder", actions="allocate")


def busy() -> Snapshot:
    """A full node; two jobs that need it; a job in a missing queue; a pod without a job."""
    return cluster(
        node("n1", cpu="2"),
        pod_group("runs", phase="Running"),
        pods("runs", 1, cpu="2", on="n1"),
        pod_group("waits-b"),
        pods("waits-b", 2, cpu="2"),
        pod_group("waits-a"),
        pods("waits-a", 1, cpu="2"),
        pod_group("lost", queue="nowhere"),
        pods("lost", 1, cpu="1"),
        conf=CONF,
    )


def test_every_job_that_waits_is_there_in_the_order_of_names_with_what_explain_says() -> None:
    recording = replay_cycle(busy())
    found = survey_jobs(recording, detailed=True)
    assert (4, 3, False) == (found.jobs, len(found.unscheduled_jobs), found.named)
    expected = ["default/lost", "default/waits-a", "default/waits-b"]
    assert expected == [one.explanation.job for one in found.explained]
    assert [explain_by_name(recording, job) for job in expected] == [one.explanation for one in found.explained]
    assert [("", 1), ("default", 1), ("default", 2)] == [(one.queue, one.pending) for one in found.explained]


def test_a_pod_of_no_job_counts_if_this_scheduler_is_to_place_it() -> None:
    stray = pod("stray", requests={"cpu": "1"})
    other = pod("other", requests={"cpu": "1"})
    other["spec"]["schedulerName"] = "default-scheduler"
    (found,) = survey_jobs(replay_cycle(cluster(node("n1"), stray, other, conf=CONF))).explained
    assert ("default/stray", "podgroup-missing", 1) == (
        found.explanation.pod,
        found.explanation.cause_code,
        found.pending,
    )


def test_a_named_job_is_explained_whatever_came_of_it() -> None:
    recording = replay_cycle(busy())
    (one,) = survey_by_name(recording, "runs").explained
    assert one.explanation.scheduled
    assert [] == survey_by_name(recording, "runs").unscheduled_jobs
    unknown = survey_by_name(recording, "unknown")
    assert (0, (), True) == (unknown.jobs, unknown.explained, unknown.named)


def test_survey_can_be_pickled() -> None:
    found = survey_jobs(replay_cycle(busy()))
    assert found == pickle.loads(pickle.dumps(found))


def test_a_missing_action_is_tried_once_however_many_jobs_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    with_action = what_if.replay_with_action

    def counted(recording: Recording, action: str) -> Recording:
        tried.append(action)
        return with_action(recording, action)

    monkeypatch.setattr(what_if, "replay_with_action", counted)
    recording = replay_cycle(busy())
    for job in ("default/waits-a", "default/waits-b", "default/waits-a"):
        what_if.try_action(recording, job, "preempt")
    assert ["preempt"] == tried


def crowd(jobs: int) -> Snapshot:
    """Five full nodes, and jobs with equal requests."""
    nodes = [node(f"n{number}", cpu="2") for number in range(5)]
    runs = [part for number in range(5) for part in (pod_group(f"r{number}"), pods(f"r{number}", 1, on=f"n{number}"))]
    waits = [part for number in range(jobs) for part in (pod_group(f"w{number}"), pods(f"w{number}", 1, cpu="2"))]
    return cluster(*nodes, *runs, *waits, conf=CONF)


def test_twice_the_jobs_that_want_the_same_look_at_no_more_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    class CountedFit(fit_table.NodeFit):
        def __new__(cls, name: str, *parts: Any) -> Self:
            looks.append(name)
            return super().__new__(cls, name, *parts)

    monkeypatch.setattr(fit_table, "NodeFit", CountedFit)
    few, many = replay_cycle(crowd(4)), replay_cycle(crowd(8))
    counts = []
    for recording in (few, many):
        looks.clear()
        assert survey_jobs(recording).unscheduled_jobs
        counts.append(len(looks))
    assert counts[0] == counts[1] > 0


def test_what_a_survey_shares_does_not_change_what_it_says() -> None:
    found = survey_jobs(replay_cycle(crowd(4)), detailed=True).explained
    assert [explain_by_name(replay_cycle(crowd(4)), one.explanation.job) for one in found] == [
        one.explanation for one in found
    ]


def test_list_of_jobs_has_the_cause_the_reason_and_a_fix_of_the_full_answer() -> None:
    listed = list[SurveyedJob]()
    for recording in (*map(bundled, BUNDLED), replay_cycle(crowd(4))):
        pairs = [survey_jobs(recording, detailed=detailed).explained for detailed in (False, True)]
        for short, full in zip(*pairs, strict=True):
            answers = short.explanation, full.explanation
            assert answers[0].subject_name == answers[1].subject_name
            assert answers[0].scheduled == answers[1].scheduled
            assert (short.shown_finding.cause, short.shown_finding.reason) == (
                full.shown_finding.cause,
                full.shown_finding.reason,
            )
            assert {*answers[0].advice_texts[:1]} <= {*answers[1].advice_texts}
            listed.append(short)
    assert len(listed) > 40


def test_internal_error_of_one_answer_keeps_the_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = survey_jobs(replay_cycle(busy()))

    def fails_at_one(recording: Recording, subject: ExplainSubject) -> Explanation:
        if subject.job == "default/waits-a":
            raise IndexError("list index out of range")
        return explain_subject(recording, subject)

    monkeypatch.setattr(surveys, "explain_subject", fails_at_one)
    found = survey_jobs(replay_cycle(busy()))
    fault = next(one for one in found.explained if one.explanation.cause_code == Cause.FAULT)
    expected = "default/waits-a cannot be explained: IndexError: list index out of range; this is a bug in vcdebug."
    assert (expected, 1) == (fault.explanation.full_text, fault.pending)
    assert [one for one in whole.explained if one.explanation.job != "default/waits-a"] == [
        one for one in found.explained if one is not fault
    ]


@pytest.mark.parametrize(
    ("phase", "namespace", "listed"), [("Pending", "", 1), ("Completed", "", 0), ("Pending", "x", 0)]
)
def test_a_volcano_job_without_a_pod_group_is_listed_until_it_ends(phase: str, namespace: str, listed: int) -> None:
    job = {"kind": "Job", "metadata": {"name": "again", "namespace": "default"}, "status": {"state": {"phase": phase}}}
    snapshot = cluster(node("n1"), pod_group("runs"), pods("runs", 1, on="n1"), job, conf=CONF)
    survey = survey_jobs(replay_cycle(snapshot), namespace=namespace)
    causes = [one.explanation.cause_code for one in survey.unscheduled_jobs]
    assert ["podgroup-missing"] * listed == causes
