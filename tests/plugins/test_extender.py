"""The extender plugin asks a webhook, either recorded answers in a snapshot or a live port."""

import gzip
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, open_session, pod_group, pods, task, tasks
from tests.recorded import recorded_path
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import (
    BATCH_NODE_ORDER,
    JOB_ENQUEUEABLE,
    JOB_READY,
    OVERUSED,
    PREDICATE,
    PREEMPTABLE,
    RECLAIMABLE,
)
from vcdebug.framework.plugin_answers import ScoreError
from vcdebug.framework.quirks import EXTENDER_UNKNOWN
from vcdebug.framework.replay_options import AskExtender, WebhookResponse
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.pod_group import Condition
from vcdebug.plugins.extender import Extender, answers, http_timeout
from vcdebug.snapshot.loader import load_snapshot

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
PAIR = recorded_path("dumps/preempt-0000.dump.json.gz")


def opened(answers: dict[str, Any], *verbs: str, ask_extender: AskExtender | None = None, **arguments: Any) -> Session:
    """A session whose extender has these answers and these configured verbs."""
    lines = [f"      extender.{VERBS[verb]}: {verb}\n" for verb in verbs]
    lines += [f"      extender.{key}: {text}\n" for key, text in arguments.items()]
    conf = conf_of("extender") + "    arguments:\n      extender.urlPrefix: http://x/\n" + "".join(lines)
    snapshot = cluster(pod_group("j"), node("n1"), node("n2"), pods("j", 3), conf=conf)
    snapshot.extender = answers
    return open_session(snapshot, ask_extender=ask_extender)


def statuses(ssn: Session) -> list[list[FitStatus]]:
    """The extender's predicate status for each node."""
    codes = ssn.ask_plugins(PREDICATE, task(ssn, "j-0"), ssn.all_rows())["extender"]
    return [list(ssn.reasons.statuses_of(int(code))) for code in codes]


def notes(ssn: Session) -> list[str]:
    return [note.text for note in ssn.record.notes if note.code == EXTENDER_UNKNOWN]


def test_without_a_verb_nothing_is_registered() -> None:
    ssn = opened({})
    assert {} == ssn.ask_plugins(PREDICATE, task(ssn, "j-0"), ssn.all_rows())
    assert () == ssn.plugins["extender"].problems


def test_without_answers_the_plugin_takes_no_part_and_every_question_is_marked() -> None:
    ssn = opened({}, "predicate", "prioritize", "preemptable", "enqueueable", "overused", "ready", "allocate")
    job, queue = ssn.jobs["default/j"], ssn.queues["default"]
    assert [[], []] == statuses(ssn)
    assert None is ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["extender"]
    assert None is ssn.ask_plugins(PREEMPTABLE, task(ssn, "j-0"), tasks(ssn, "j-1"))
    assert [True, True, False] == [
        ssn.ask_plugins(JOB_ENQUEUEABLE, job),
        ssn.ask_plugins(JOB_READY, job),
        ssn.ask_plugins(OVERUSED, queue),
    ]
    assert None is Statement(ssn).allocate(task(ssn, "j-0"), "n1")
    asked = ["predicate", "prioritize", "preemptable", "enqueueable", "ready", "overused", "allocate"]
    assert asked == [text.split("`")[1] for text in notes(ssn)]
    assert 7 == len(ssn.plugins["extender"].problems)


def test_a_refusal_without_a_code_is_an_error_and_with_one_keeps_it() -> None:
    answers = {"predicate": {f"{TASK} n1": {"status": "x"}, f"{TASK} n2": {"status": "y", "code": 2}}}
    assert [[FitStatus(1, "x", "extender")], [FitStatus(2, "y", "extender")]] == statuses(opened(answers, "predicate"))


def test_an_empty_message_accepts_whatever_the_code() -> None:
    assert [[], []] == statuses(opened({"predicate": {"*": {"code": 3}}}, "predicate"))


@pytest.mark.parametrize(("ignorable", "expected"), [("true", []), ("false", [FitStatus(1, "timeout")])])
def test_a_failed_call_accepts_only_if_it_may_be_ignored(ignorable: str, expected: list[FitStatus]) -> None:
    ssn = opened({"predicate": {"*": {"error": "timeout"}}}, "predicate", ignorable=ignorable)
    assert [expected, expected] == statuses(ssn)


def test_an_answer_other_than_200_names_the_url() -> None:
    ssn = opened({"predicate": {"*": {"httpStatus": 500}}}, "predicate")
    assert "failed predicate with extender at URL http://x/predicate, code 500" == statuses(ssn)[0][0].reason


def test_scores_are_added_as_they_are() -> None:
    ssn = opened({"prioritize": {TASK: {"nodeScore": {"n2": 7.5}}}}, "prioritize")
    scores = ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["extender"]
    assert scores is not None
    assert [0.0, 7.5] == scores.total.tolist()


@pytest.mark.parametrize("answer", [{}, {"nodeScore": {"n1": 1}, "errorMessage": "no"}])
@pytest.mark.parametrize("ignorable", ["true", "false"])
def test_missing_scores_or_a_message_lose_all_scores(answer: dict[str, Any], ignorable: str) -> None:
    ssn = opened({"prioritize": {"*": answer}}, "prioritize", ignorable=ignorable)
    with pytest.raises(ScoreError):
        ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())


def test_victims_are_named_by_text_or_by_their_fields() -> None:
    chosen = ["default/j-2", {"Namespace": "default", "Name": "j-1"}, "default/gone"]
    ssn = opened({"preemptable": {TASK: {"status": 1, "victims": chosen}}}, "preemptable")
    found = ssn.ask_plugins(PREEMPTABLE, task(ssn, "j-0"), tasks(ssn, "j-1", "j-2"))
    assert ["j-2", "j-1"] == [victim.name for victim in found or ()]


@pytest.mark.parametrize("ignorable", ["true", "false"])
def test_a_failed_call_about_victims_gives_no_victims(ignorable: str) -> None:
    ssn = opened({"reclaimable": {"*": {"error": "timeout"}}}, "reclaimable", ignorable=ignorable)
    assert None is ssn.ask_plugins(RECLAIMABLE, task(ssn, "j-0"), tasks(ssn, "j-1"))


@pytest.mark.parametrize(
    ("ignorable", "expected"),
    [("true", [True, False, False]), ("false", [False, True, True])],
)
def test_failed_calls_about_jobs_and_queues(ignorable: str, expected: list[bool]) -> None:
    failed = {verb: {"*": {"error": "timeout"}} for verb in ("enqueueable", "ready", "overused")}
    ssn = opened(failed, "enqueueable", "ready", "overused", ignorable=ignorable)
    job, queue = ssn.jobs["default/j"], ssn.queues["default"]
    assert expected == [
        ssn.ask_plugins(JOB_ENQUEUEABLE, job),
        ssn.ask_plugins(JOB_READY, job),
        ssn.ask_plugins(OVERUSED, queue),
    ]


def test_answers_about_jobs_and_queues() -> None:
    answers = {
        "enqueueable": {"default/j": {"status": -1}},
        "ready": {"default/j": {}},
        "overused": {"default": {"overused": True}},
    }
    ssn = opened(answers, "enqueueable", "ready", "overused")
    job, queue = ssn.jobs["default/j"], ssn.queues["default"]
    assert [False, False, True] == [
        ssn.ask_plugins(JOB_ENQUEUEABLE, job),
        ssn.ask_plugins(JOB_READY, job),
        ssn.ask_plugins(OVERUSED, queue),
    ]
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
    answered = ssn.ask_plugins(PREDICATE, task(ssn, "j-0"), ssn.all_rows())
    assert asked == list(answered)


def test_only_tasks_with_a_managed_resource_are_asked_about() -> None:
    answers = {"predicate": {"*": {"status": "x"}}}
    assert [[], []] == statuses(opened(answers, "predicate", managedResources="[nvidia.com/gpu]"))
    assert [] != statuses(opened(answers, "predicate", managedResources="[memory]"))[0]


def test_managed_resources_that_are_no_list_end_the_process() -> None:
    with pytest.raises(SchedulerPanic):
        opened({}, "predicate", managedResources="gpu")


class Port:
    """A webhook without a network: a response body per verb, or an error text."""

    def __init__(self, **bodies: Any) -> None:
        self.bodies = bodies
        self.asked: list[tuple[str, Any]] = []
        self.timeouts: list[float | None] = []

    def __call__(self, verb: str, body: Mapping[str, object], timeout: float | None) -> WebhookResponse | str:
        self.asked.append((verb, json.loads(json.dumps(body))))
        self.timeouts.append(timeout)
        answer = self.bodies.get(verb, {})
        return answer if isinstance(answer, str) else WebhookResponse(200, json.dumps(answer).encode())


def extender(ssn: Session) -> Extender:
    plugin = ssn.plugins["extender"]
    assert isinstance(plugin, Extender)
    return plugin


def test_the_port_is_asked_only_what_no_recorded_answer_says() -> None:
    port = Port(predicate={"status": "full"})
    ssn = opened({"predicate": {f"{TASK} n1": {}}}, "predicate", ask_extender=port)
    assert [[], [FitStatus(1, "full", "extender")]] == statuses(ssn)
    assert ["n2"] == [body["node"]["Name"] for _, body in port.asked]
    assert [] == notes(ssn)
    assert () == ssn.plugins["extender"].problems
    assert {"predicate": {f"{TASK} n1": {}, f"{TASK} n2": {"status": "full"}}} == extender(ssn).known_answers


def test_each_question_has_upstreams_body() -> None:
    port = Port()
    verbs = ("open", "predicate", "prioritize", "preemptable", "reclaimable")
    ssn = opened({}, *verbs, "enqueueable", "overused", "ready", "allocate", ask_extender=port, ignorable="true")
    first, rows, others = task(ssn, "j-0"), ssn.all_rows(), tasks(ssn, "j-1")
    job = ssn.jobs["default/j"]
    ssn.ask_plugins(PREDICATE, first, rows)
    with pytest.raises(ScoreError):
        ssn.ask_plugins(BATCH_NODE_ORDER, first, rows)
    ssn.ask_plugins(PREEMPTABLE, first, others)
    ssn.ask_plugins(RECLAIMABLE, first, others)
    ssn.ask_plugins(JOB_ENQUEUEABLE, job)
    ssn.ask_plugins(JOB_READY, job)
    ssn.ask_plugins(OVERUSED, ssn.queues["default"])
    assert None is Statement(ssn).allocate(first, "n1")
    opening = ["Jobs", "Nodes", "Queues", "NamespaceInfo", "RevocableNodes", "NodeList"]
    fields = [["task", "node"]] * 2 + [["task", "nodes"]] + [["evictor", "evictees"]] * 2
    fields += [["job"], ["job"], ["queue"], ["task"]]
    assert [opening, *fields] == [list(body) for _, body in port.asked]
    assert ["n1", "n2"] == [one["Name"] for one in port.asked[3][1]["nodes"]]
    assert ["j-1"] == [one["Name"] for one in port.asked[4][1]["evictees"]]


def test_victims_of_the_port_are_named_in_any_case_and_kept_by_name() -> None:
    chosen = [{"namespace": "default", "NAME": "j-2", "Pod": None}, None]
    ssn = opened({}, "preemptable", ask_extender=Port(preemptable={"Status": 1, "victims": chosen}))
    found = ssn.ask_plugins(PREEMPTABLE, task(ssn, "j-0"), tasks(ssn, "j-1", "j-2"))
    assert ["j-2"] == [victim.name for victim in found or ()]
    assert {"status": 1, "victims": ["default/j-2"]} == extender(ssn).known_answers["preemptable"][TASK]


@pytest.mark.parametrize("scores", [{"n1": "high"}, {"n1": True}, {"n1": 10**400}, [1], "n1"])
def test_scores_that_are_no_numbers_are_an_error(scores: Any) -> None:
    port = Port(prioritize={"nodeScore": scores})
    ssn = opened({}, "prioritize", ask_extender=port)
    with pytest.raises(ScoreError):
        ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())
    ssn = opened({}, "prioritize", ask_extender=port, ignorable="true")
    assert None is ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())["extender"]


def test_a_list_of_answers_is_used_in_order_and_its_last_one_stays() -> None:
    ssn = opened({"ready": {"default/j": [{"status": True}, {"status": False}]}}, "ready")
    assert [True, False, False] == [ssn.ask_plugins(JOB_READY, ssn.jobs["default/j"]) for _ in range(3)]


@pytest.mark.parametrize(
    ("stated", "expected"),
    [(None, 1.0), ("100ms", 0.1), ("soon", 1.0), (5, 1.0), ("0s", None), ("-1s", None)],
)
def test_the_timeout_is_a_second_where_none_can_be_read(stated: object, expected: float | None) -> None:
    assert expected == http_timeout(stated)


def test_the_port_is_told_the_timeout() -> None:
    port = Port()
    statuses(opened({}, "predicate", ask_extender=port, httpTimeout="250ms"))
    assert [0.25, 0.25] == port.timeouts


def without_kubernetes(value: Any) -> Any:
    """A dump without the Kubernetes objects, which have default fields that manifests lack."""
    if isinstance(value, dict):
        hidden = ("Node", "Pod", "PodGroup")
        return {key: without_kubernetes(item) for key, item in value.items() if key not in hidden}
    return value


def test_nodes_and_jobs_are_sent_as_the_real_scheduler_writes_them() -> None:
    documents = [json.loads(line) for line in gzip.decompress(PAIR.read_bytes()).splitlines() if line.strip()]
    ssn = open_session(load_snapshot(recorded_path("random/preempt-0000")))
    sent = json.loads(json.dumps(answers.opening_body(ssn)))
    assert without_kubernetes(documents[0]) == without_kubernetes(sent["Nodes"])
    assert without_kubernetes(documents[5]) == without_kubernetes(sent["Jobs"])


def test_the_conditions_of_a_pod_group_are_sent_as_the_session_has_them() -> None:
    ssn = opened({}, "enqueueable")
    group = ssn.jobs["default/j"].pod_group
    assert "conditions" not in sent_status(ssn)
    group.conditions.append(Condition("Unschedulable", "True", "NotEnoughResources", "3 of 4", "id-1"))
    expected = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": "3 of 4"}
    assert [{**expected, "transitionID": "id-1"}] == sent_status(ssn)["conditions"]


def sent_status(ssn: Session) -> dict[str, Any]:
    """The status of job j's PodGroup in the body that opens a session."""
    body = json.loads(json.dumps(answers.opening_body(ssn)))
    status: dict[str, Any] = body["Jobs"]["default/j"]["PodGroup"]["status"]
    return status
