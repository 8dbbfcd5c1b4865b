"""`ask holders`: limits of queues that rejected the job, and what plugins answered about evicting a holder."""

from __future__ import annotations

from typing import Any

import pytest

from tests.recorded import BUNDLED, GOLDEN, bundled, golden, recorded, recorded_path
from vcdebug.explain.pending.explanation import survey_jobs
from vcdebug.explain.questions.holders import find_holders
from vcdebug.framework.record import HookEvent

NOT_PROTECTED, UNASKED = ": no plugin protects it", ", unless a plugin protects it"


@pytest.mark.parametrize("name", [*BUNDLED, *GOLDEN])
def test_each_verdict_about_a_holder_is_the_last_answer_of_the_trace(name: str) -> None:
    recording = bundled(name) if name in BUNDLED else golden(name)
    owners = recording.owners.jobs
    for one in survey_jobs(recording).unscheduled_jobs:
        job = one.explanation.job
        if job not in recording.session.jobs:
            continue
        last: dict[str, dict[str, HookEvent]] = {}
        for _, event in recording.events_of_type(HookEvent):
            if event.point in ("Preemptable", "Reclaimable") and owners.get(event.task) == job:
                for pod in event.candidates:
                    last.setdefault(pod, {})[event.plugin] = event
        holders: Any = find_holders(recording, job).data["holders"]
        for holder in holders:
            words, answers = holder["takenBack"], last.get(holder["pod"], {})
            if words.endswith(UNASKED) and words.startswith("by preempt,"):
                assert not answers
            if NOT_PROTECTED in words:
                assert any(holder["pod"] in (answer.result or ()) for answer in answers.values())
            if " protects it" in words and words.startswith("no: "):
                plugin = words.partition(" protects it")[0].rpartition(" ")[2]
                assert holder["pod"] not in answers[plugin].result


def test_a_pod_that_its_plan_did_evict_is_not_said_to_be_protected() -> None:
    holders: Any = find_holders(bundled(), "research/llm-finetune").data["holders"]
    verdicts = {one["pod"]: one["takenBack"] for one in holders}
    assert "by preempt: no plugin protects it" == verdicts.pop("research/resnet-sweep-worker-0")
    assert 11 == len(verdicts)
    assert all(words.startswith("no: preempt: gang protects it (") for words in verdicts.values())


def test_the_pods_of_a_queue_hold_what_its_limit_rejected_though_another_cause_decides() -> None:
    """gangpreempt evicts for the queue's quota; at the end of the cycle the nodes have room."""
    recording = recorded(recorded_path("threads/r1-evicted-for-a-job-that-got-nothing"))
    reply = find_holders(recording, "default/job-21")
    queue: Any = find_holders(recording, "queue/q2").data["holders"]
    holders: Any = reply.data["holders"]
    assert [one["pod"] for one in queue] == [one["pod"] for one in holders]
    assert "A limit of queue q2 rejected it in this cycle" in reply.lines[0]
