"""Ask a webhook, through the answers that a snapshot holds."""

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, open_session, pod_group, pods, task, tasks
from vcdebug.framework.hooks import (
    BATCH_NODE_ORDER,
    JOB_ENQUEUEABLE,
    JOB_READY,
    OVERUSED,
    PREDICATE,
    PREEMPTABLE,
    RECLAIMABLE,
)
from vcdebug.framework.plugin import ScoreError
from vcdebug.framework.quirks import EXTENDER_UNKNOWN
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.fiterror import Status
from vcdebug.model.resource import AssertPanic

VERBS = {
    "predicate": "predicateVerb",
    "prioritize": "prioritizeVerb",
    "preemptable": "preemptableVerb",
    "reclaimable": "reclaimableVerb",
    "enqueueable": "jobEnqueueableVerb",
    "overused": "queueOverusedVerb",
    "ready": "jobReadyVerb",
    "allocate": "allocateFuncVerb",
    "open": "onSessionOpenVerb",
}
TASK = "default/j-0"


def opened(answers: dict[str, Any], *verbs: str, **arguments: Any) -> Session:
    """A session whose extender is asked the given verbs."""
    lines = [f"      extender.{VERBS[verb]}: {verb}\n" for verb in verbs]
    lines += [f"      extender.{key}: {text}\n" for key, text in arguments.items()]
    conf = conf_of("extender") + "    arguments:\n      extender.urlPrefix: http://x/\n" + "".join(lines)
    snapshot = cluster(pod_group("j"), node("n1"), node("n2"), pods("j", 3), conf=conf)
    snapshot.extender = answers
    return open_session(snapshot)


def statuses(ssn: Session) -> list[list[Status]]:
    """What the extender says of each node."""
    codes = ssn.ask(PREDICATE, task(ssn, "j-0"), ssn.all_rows())["extender"]
    return [list(ssn.reasons.statuses(int(code))) for code in codes]


def notes(ssn: Session) -> list[str]:
    return [note.text for note in ssn.record.notes if note.code == EXTENDER_UNKNOWN]


def test_without_a_verb_nothing_is_registered() -> None:
    ssn = opened({})
    assert {} == ssn.ask(PREDICATE, task(ssn, "j-0"), ssn.all_rows())
    assert () == ssn.plugins["extender"].problems


def test_without_answers_the_plugin_takes_no_part_and_every_question_is_marked() -> None:
    ssn = opened({}, "predicate", "prioritize", "preemptable", "enqueueable", "overused", "ready", "allocate")
    job, queue = ssn.jobs["default/j"], ssn.queues["default"]
    assert [[], []] == statuses(ssn)
    assert None is ssn.ask(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["extender"]
    assert None is ssn.ask(PREEMPTABLE, task(ssn, "j-0"), tasks(ssn, "j-1"))
    assert [True, True, False] == [ssn.ask(JOB_ENQUEUEABLE, job), ssn.ask(JOB_READY, job), ssn.ask(OVERUSED, queue)]
    assert None is Statement(ssn).allocate(task(ssn, "j-0"), "n1")
    asked = ["predicate", "prioritize", "preemptable", "enqueueable", "ready", "overused", "allocate"]
    assert asked == [text.split("`")[1] for text in notes(ssn)]
    assert 7 == len(ssn.plugins["extender"].problems)


def test_a_refusal_without_a_code_is_an_error_and_with_one_keeps_it() -> None:
    answers = {"predicate": {f"{TASK} n1": {"status": "x"}, f"{TASK} n2": {"status": "y", "code": 2}}}
    assert [[Status(1, "x", "extender")], [Status(2, "y", "extender")]] == statuses(opened(answers, "predicate"))


def test_an_empty_message_accepts_whatever_the_code() -> None:
    assert [[], []] == statuses(opened({"predicate": {"*": {"code": 3}}}, "predicate"))


@pytest.mark.parametrize(("ignorable", "expected"), [("true", []), ("false", [Status(1, "timeout")])])
def test_a_failed_call_accepts_only_if_it_may_be_ignored(ignorable: str, expected: list[Status]) -> None:
    ssn = opened({"predicate": {"*": {"error": "timeout"}}}, "predicate", ignorable=ignorable)
    assert [expected, expected] == statuses(ssn)


def test_an_answer_other_than_200_names_the_url() -> None:
    ssn = opened({"predicate": {"*": {"httpStatus": 500}}}, "predicate")
    assert "failed predicate with extender at URL http://x/predicate, code 500" == statuses(ssn)[0][0].reason


def test_scores_are_added_as_they_are() -> None:
    ssn = opened({"prioritize": {TASK: {"nodeScore": {"n2": 7.5}}}}, "prioritize")
    scores = ssn.ask(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["extender"]
    assert scores is not None
    assert [0.0, 7.5] == scores.total.tolist()


@pytest.mark.parametrize("answer", [{}, {"nodeScore": {"n1": 1}, "errorMessage": "no"}])
@pytest.mark.parametrize("ignorable", ["true", "false"])
def test_missing_scores_or_a_message_lose_all_scores(answer: dict[str, Any], ignorable: str) -> None:
    ssn = opened({"prioritize": {"*": answer}}, "prioritize", ignorable=ignorable)
    with pytest.raises(ScoreError):
        ssn.ask(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())


def test_victims_are_named_by_text_or_by_their_fields() -> None:
    chosen = ["default/j-2", {"Namespace": "default", "Name": "j-1"}, "default/gone"]
    ssn = opened({"preemptable": {TASK: {"status": 1, "victims": chosen}}}, "preemptable")
    found = ssn.ask(PREEMPTABLE, task(ssn, "j-0"), tasks(ssn, "j-1", "j-2"))
    assert ["j-2", "j-1"] == [victim.name for victim in found or ()]


@pytest.mark.parametrize("ignorable", ["true", "false"])
def test_a_failed_call_about_victims_offers_nobody(ignorable: str) -> None:
    ssn = opened({"reclaimable": {"*": {"error": "timeout"}}}, "reclaimable", ignorable=ignorable)
    assert None is ssn.ask(RECLAIMABLE, task(ssn, "j-0"), tasks(ssn, "j-1"))


@pytest.mark.parametrize(
    ("ignorable", "expected"),
    [("true", [True, False, False]), ("false", [False, True, True])],
)
def test_failed_calls_about_jobs_and_queues(ignorable: str, expected: list[bool]) -> None:
    failed = {verb: {"*": {"error": "timeout"}} for verb in ("enqueueable", "ready", "overused")}
    ssn = opened(failed, "enqueueable", "ready", "overused", ignorable=ignorable)
    job, queue = ssn.jobs["default/j"], ssn.queues["default"]
    assert expected == [ssn.ask(JOB_ENQUEUEABLE, job), ssn.ask(JOB_READY, job), ssn.ask(OVERUSED, queue)]


def test_answers_about_jobs_and_queues() -> None:
    answers = {
        "enqueueable": {"default/j": {"status": -1}},
        "ready": {"default/j": {}},
        "overused": {"default": {"overused": True}},
    }
    ssn = opened(answers, "enqueueable", "ready", "overused")
    job, queue = ssn.jobs["default/j"], ssn.queues["default"]
    assert [False, False, True] == [ssn.ask(JOB_ENQUEUEABLE, job), ssn.ask(JOB_READY, job), ssn.ask(OVERUSED, queue)]
    assert [] == notes(ssn)


@pytest.mark.parametrize(
    ("answer", "ignorable", "refused"),
    [
        ({"errorMessage": "no"}, "true", True),
        ({"error": "timeout"}, "true", False),
        ({"error": "timeout"}, "false", True),
        ({}, "false", False),
    ],
)
def test_an_event_may_refuse_a_placement(answer: dict[str, Any], ignorable: str, refused: bool) -> None:
    ssn = opened({"allocate": {"*": answer}}, "allocate", ignorable=ignorable)
    assert refused == (Statement(ssn).allocate(task(ssn, "j-0"), "n1") is not None)


@pytest.mark.parametrize(("ignorable", "asked"), [("true", ["extender"]), ("false", [])])
def test_a_failed_opening_silences_the_plugin(ignorable: str, asked: list[str]) -> None:
    answers = {"open": {"": {"httpStatus": 500}}, "predicate": {"*": {"status": "x"}}}
    ssn = opened(answers, "open", "predicate", ignorable=ignorable)
    answered = ssn.ask(PREDICATE, task(ssn, "j-0"), ssn.all_rows())
    assert asked == list(answered)


def test_only_tasks_with_a_managed_resource_are_asked_about() -> None:
    answers = {"predicate": {"*": {"status": "x"}}}
    assert [[], []] == statuses(opened(answers, "predicate", managedResources="[nvidia.com/gpu]"))
    assert [] != statuses(opened(answers, "predicate", managedResources="[memory]"))[0]


def test_managed_resources_that_are_no_list_end_the_process() -> None:
    with pytest.raises(AssertPanic):
        opened({}, "predicate", managedResources="gpu")
