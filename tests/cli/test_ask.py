"""`ask`: each question on the command line, for people and programs."""

from __future__ import annotations

import json

import pytest

from tests.cli.transcripts import call
from vcdebug.cli.commands.ask import QUESTION_NAMES
from vcdebug.whatif.forecast import QUESTIONS

BLOCKED = "preempt-blocked-by-gang"


def test_the_command_knows_every_question() -> None:
    assert tuple(question.name for question in QUESTIONS) == QUESTION_NAMES


def test_a_question_is_answered_in_a_sentence_first() -> None:
    code, out, err = call(["ask", "holders", BLOCKED, "research/llm-finetune"])
    assert (0, "") == (code, err)
    assert out.splitlines()[0].startswith("12 pods of 4 jobs (1 queue) use resources that llm-finetune-worker-")
    assert "no: preempt: gang protects it (bert-pretrain has 4 ready and needs 4" in out
    assert "1 pods" not in out


def test_ask_with_json_prints_a_document() -> None:
    code, out, _ = call(["ask", "next", BLOCKED, "--json"])
    answer = json.loads(out)
    assert (0, "next", ["research"]) == (code, answer["question"], answer["queues"])


def test_a_question_without_its_subject_says_what_to_name() -> None:
    code, _, err = call(["ask", "victim", BLOCKED])
    assert (1, "vcdebug: ask victim needs a subject; name a pod\n") == (code, err)


def test_evictions_without_a_pod_are_those_of_the_cycle() -> None:
    evicted = json.loads(call(["run", "preempt-works", "--json"])[1])["evicted"]
    listed = json.loads(call(["ask", "evicted", "preempt-works", "--json"])[1])
    assert [each["pod"] for each in listed["evicted"]] == [each["task"] for each in evicted]
    assert f"{len(evicted)} pods are evicted in this cycle." == listed["sentence"]
    assert "No pod is evicted in this cycle." in call(["ask", "evicted", BLOCKED])[1]


WAITS = "tests/scenarios/clusters/2221-idle-cluster-full-queue.yaml"


def test_ask_when_states_the_duration_and_the_assumed_run_times() -> None:
    code, out, err = call(["ask", "when", WAITS, "team/next", "--run-time", "100h", "--json"])
    answer = json.loads(out)
    assert (0, "", "placed") == (code, err, answer["outcome"])
    assert ["each pod runs 4d4h from its start"] == answer["assumed"]
    sooner = json.loads(call(["ask", "when", WAITS, "team/next", "--run-time", "team/first=1m", "--json"])[1])
    assert (1.0, "team/first runs 1m") == (sooner["seconds"], sooner["assumed"][0])


def test_forecast_options_are_refused_except_for_ask_when() -> None:
    code, _, err = call(["ask", "next", BLOCKED, "--run-time", "1h"])
    assert (1, "vcdebug: --run-time is only for `ask when`; ask when\n") == (code, err)


def test_a_run_time_of_an_unknown_job_is_refused() -> None:
    code, _, err = call(["ask", "when", WAITS, "team/next", "--run-time", "team/firs=1m"])
    assert 1 == code
    assert "team/firs is not a job or pod of the session" in err


def test_the_snapshot_may_stand_before_the_question() -> None:
    right = call(["ask", "when", BLOCKED, "research/llm-finetune"])
    assert right == call(["ask", BLOCKED, "when", "research/llm-finetune"])
    code, out, err = call(["ask", BLOCKED, "wen", "research/llm-finetune"])
    assert (1, "") == (code, out)
    assert "unknown question 'preempt-blocked-by-gang'" in err
    assert "vcdebug ask QUESTION SNAPSHOT SUBJECT" in err


@pytest.mark.parametrize(
    ("question", "subject", "named"),
    [
        ("node", ["chat-api-server-0"], ["assistants/chat-api-server-0"]),
        ("refused", ["chat-api-server-0", "gpu-l40s-02"], ["assistants/chat-api-server-0", "gpu-l40s-02"]),
        ("holders", ["vcjob/chat-api"], ["assistants/chat-api"]),
        ("holders", ["q/inference"], ["queue/inference"]),
        ("next", ["inference"], ["inference"]),
        ("evicted", [], []),
    ],
)
def test_a_namespace_belongs_to_jobs_and_pods_alone(question: str, subject: list[str], named: list[str]) -> None:
    code, out, err = call(["ask", question, "preempt-works", *subject, "-n", "assistants", "--json"])
    assert (0, "") == (code, err)
    full = json.loads(call(["ask", question, "preempt-works", *named, "--json"])[1])
    assert {**full, "subject": None} == {**json.loads(out), "subject": None}
