"""No answer about any job contradicts itself or the recording."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.builders import cluster, node, pod, pod_group, priority_class, queue
from tests.pending.contradictions import contradictions, differing_in_survey, missing_in_survey
from tests.pending.situations import BOTH, conf, nodes, of, running, wanted
from tests.recorded import BUNDLED, bundled
from tests.scenarios.question import Question
from tests.scenarios.questions import QUESTIONS, asked
from vcdebug.explain.answer import CauseHeadline
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.survey import Survey
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release

CONF = "actions: 'allocate, preempt'\ntiers:\n- plugins: [{name: priority}, {name: gang}, {name: predicates}]\n"


def contradictions_in(recording: Recording) -> list[str]:
    """The contradictions in the answers about all jobs."""
    jobs = recording.session.jobs
    return [words for job in jobs for words in contradictions(recording, explain_by_name(recording, job))]


@pytest.mark.parametrize("name", BUNDLED)
def test_no_answer_of_a_bundled_snapshot_contradicts_it(name: str) -> None:
    assert [] == contradictions_in(bundled(name))
    assert [] == missing_in_survey(bundled(name)) + differing_in_survey(bundled(name))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.file.stem)
def test_no_answer_of_a_question_contradicts_its_cluster(question: Question) -> None:
    assert [] == contradictions_in(question.recording())
    assert [] == missing_in_survey(question.recording()) + differing_in_survey(question.recording())


WRONG = (
    ("has a place in this cycle: preempt evicts team/absent-0", "is not evicted"),
    ("has a place in this cycle. No pod is evicted", "is evicted for it"),
    ("has a place, since {victim} was Releasing before this cycle", "was not Releasing"),
    ("is Pending: 1 cpu is free (0 short)", "nought"),
    ("is Pending: it has its minMember (0 ready, 0 pipelined, minMember 1)", "below the minimum"),
)


def said(reason: str) -> CauseHeadline:
    return CauseHeadline("default/new", "is said", reason)


@pytest.mark.parametrize(("sentence", "words"), WRONG)
def test_contradictions_finds_a_wrong_sentence(sentence: str, words: str) -> None:
    recording = evicting()
    answer = explain_by_name(recording, "default/new")
    victim = cycle_effects(recording).evicted[0].task.rpartition("/")[2]
    wrong = replace(answer.dominant, headline=said(sentence.format(victim=victim)), facts=(), evidence=())
    found = list(contradictions(recording, replace(answer, dominant=wrong, contributing=())))
    assert any(words in one for one in found), found


def test_a_claim_of_terminating_pods_without_any_is_found() -> None:
    recording = asked(2976).recording()
    answer = explain_by_name(recording, "team/high")
    wrong = replace(answer.dominant, headline=said("team/high is waiting for pods to terminate"), facts=(), evidence=())
    found = list(contradictions(recording, replace(answer, dominant=wrong, contributing=())))
    assert any("nothing is Releasing" in one for one in found), found


def test_a_job_that_the_survey_leaves_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = evicting()
    monkeypatch.setattr("tests.pending.contradictions.survey_jobs", lambda _: Survey(0, (), 0))
    assert {"default/new", "default/old"} <= set(missing_in_survey(recording))


def evicting() -> Recording:
    """A cycle in which preempt evicts a pod for another."""
    return replay_cycle(
        cluster(
            node("n1", cpu="1"),
            queue("default"),
            pod_group("old", min_member=0),
            pod("old-0", "old", on="n1", requests={"cpu": "1"}, priority=0),
            priority_class("high", 100),
            pod_group("new", priority_class="high"),
            pod("new-0", "new", requests={"cpu": "1"}, priority=100),
            conf=CONF,
        )
    )


def test_contradictions_finds_a_shortage_of_0() -> None:
    recording = bundled()
    job = next(iter(recording.session.jobs))
    answer = explain_by_name(recording, job)
    wrong = said("it is 0 short")
    broken = replace(answer, dominant=replace(answer.dominant, headline=wrong))
    assert any("nought" in words for words in contradictions(recording, broken))


def test_no_rejection_is_claimed_where_a_reservation_was_refused() -> None:
    found = explain_by_name(asked(5884).recording(), "team/train")
    (step,) = [step for step in found.steps if step.name == "quota and predicates after eviction"]
    assert ("passed", "passed on the last node tried, but no place was reserved there") == (
        step.state,
        step.text,
    )


@pytest.mark.parametrize("release", ["v1.10.0", "v1.12.2", "v1.13.2", "master"])
@pytest.mark.parametrize("apart", [True, False])
def test_a_starving_job_that_no_node_can_hold_is_not_said_to_have_its_minimum(release: str, apart: bool) -> None:
    """Older preempt tries its pods in the phase within jobs, of another queue, where every node refuses them."""
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}} if apart else {}
    held = running("a", "n1", 2, queue="qa")
    for one in held[1:]:
        one["metadata"]["labels"] = {"app": "db"}
    queues = [queue("qa"), queue("qb")]
    objects = of(queues, nodes("n1"), held, wanted(queue="qb", affinity=rule))
    recording = replay_cycle(snapshot_at_release(cluster(objects, conf=conf(BOTH)), release))
    assert [] == contradictions_in(recording)
