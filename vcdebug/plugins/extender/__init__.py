"""extender: asks a webhook at each extension point for which a verb is configured.

Upstream: plugins/extender.
Differs: recorded answers (extender.json) come first, the webhook is called only through the session's port; without
either the plugin takes no part in that decision, and a note marks the event.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from vcdebug.framework.arguments import Arguments, wrong_argument
from vcdebug.framework.conf import CONF_FILE
from vcdebug.framework.hooks import BATCH_NODE_ORDER, JOB_ENQUEUEABLE, JOB_ENQUEUED, JOB_READY
from vcdebug.framework.plugin_answers import ABSTAIN, PERMIT, REJECT, NodeScores, ScoreError, VictimAnswer
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.gotime import SECOND, parse_duration
from vcdebug.model.fit_errors import ERROR, SUCCESS, FitStatus
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Codes, NodeName
from vcdebug.model.node_table import NodeRows
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.extender import answers
from vcdebug.releases.queues import EXTENDER_BASIC, EXTENDER_JOB_ENQUEUED
from vcdebug.snapshot.problems import Problem

VERB_KEYS = {
    "predicate": "extender.predicateVerb",
    BATCH_NODE_ORDER.method: "extender.prioritizeVerb",
    "preemptable": "extender.preemptableVerb",
    "reclaimable": "extender.reclaimableVerb",
    JOB_ENQUEUEABLE.method: "extender.jobEnqueueableVerb",
    JOB_ENQUEUED.method: "extender.jobEnqueuedVerb",
    "overused": "extender.queueOverusedVerb",
    JOB_READY.method: "extender.jobReadyVerb",
    "allocate_func": "extender.allocateFuncVerb",
    "deallocate_func": "extender.deallocateFuncVerb",
    "on_session_open": "extender.onSessionOpenVerb",
    "on_session_close": "extender.onSessionCloseVerb",
}
"""Method → the argument with its verb; without a verb the method is not registered."""
TOLD_ONLY = (JOB_ENQUEUED.method, "on_session_open", "on_session_close")
"""Calls whose answer changes no decision: no note is needed if the answer is missing."""
TIMEOUT_KEY = "extender.httpTimeout"
YES_OR_NO = {"overused": "overused", JOB_READY.method: "status"}
"""Method → the boolean field in its answer."""
MANAGED_KEY = "extender.managedResources"
NOT_A_LIST = "Could not parse argument for key {} to type []string: {}"


class Extender(Plugin):
    """Asks the webhook in every configured hook; without an answer the hook abstains."""

    name: ClassVar[str] = "extender"
    later_methods = {JOB_ENQUEUED.method: EXTENDER_JOB_ENQUEUED}
    later_arguments = dict.fromkeys(
        (MANAGED_KEY, VERB_KEYS["allocate_func"], VERB_KEYS["deallocate_func"]), EXTENDER_BASIC
    )

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        raw = arguments.raw
        self.verbs = {
            method: verb for method, key in VERB_KEYS.items() if isinstance(verb := raw.get(key), str) and verb
        }
        """Method → its configured verb."""
        self._ignorable = arguments.get_bool("extender.ignorable", default=False)
        url = raw.get("extender.urlPrefix")
        self._url = url if isinstance(url, str) else ""
        self._timeout = http_timeout(raw.get(TIMEOUT_KEY))

    def on_session_open(self, ssn: Session) -> None:
        """An error here disables all other verbs unless ignorable. Upstream: plugins/extender.OnSessionOpen."""
        self._ssn = ssn
        self._answers = answers.WebhookAnswers(ssn, self._url, self._timeout)
        self._managed = self._managed_resources()
        self.remembers_rows = "predicate" in self.verbs and self._answers.can_answer(self.verbs["predicate"])
        self.problems = tuple(self._missing_answers())
        reply = None
        if "on_session_open" in self.verbs:
            reply = self._ask_webhook("on_session_open", "", partial(answers.opening_body, ssn))
        if reply is not None and reply.error is not None and not self._ignorable:
            self.verbs = {method: verb for method, verb in self.verbs.items() if method == "on_session_close"}
        for method in VERB_KEYS:
            if method not in self.verbs:
                ssn.withdraw_hook(self, method)

    def on_session_close(self, ssn: Session) -> None:
        """Notify the webhook. Upstream: plugins/extender.OnSessionClose."""
        if "on_session_close" in self.verbs:
            self._notify_webhook("on_session_close", "", dict)

    @property
    def known_answers(self) -> answers.AnswersByVerb:
        """The recorded answers and those of live calls, in the form of extender.json."""
        return self._answers.known_answers()

    @property
    def webhook_url(self) -> str:
        """The configured URL of the webhook, without a trailing slash."""
        return self._url.rstrip("/")

    def _managed_resources(self) -> list[str]:
        resources = self.arguments.raw.get(MANAGED_KEY)
        if resources is None:
            return []
        if not isinstance(resources, list) or not all(isinstance(name, str) for name in resources):
            raise wrong_argument(NOT_A_LIST.format(MANAGED_KEY, resources), MANAGED_KEY, "a list of texts")
        return resources

    def _missing_answers(self) -> Iterator[Problem]:
        for method, verb in self.verbs.items():
            if method not in TOLD_ONLY and not self._answers.can_answer(verb):
                fault = "extender.json holds no answer of this webhook"
                yield Problem(
                    CONF_FILE, "extender", VERB_KEYS[method], fault, "the plugin does not take part in that decision"
                )

    def _ask_webhook(self, method: str, key: str, body: Callable[[], answers.Body]) -> answers.WebhookReply | None:
        """Upstream: plugins/extender.send."""
        return self._answers.ask_or_note(answers.WebhookQuestion(method, self.verbs[method], key, body))

    def _notify_webhook(self, method: str, key: str, body: Callable[[], answers.Body]) -> answers.WebhookReply | None:
        return self._answers.ask_webhook(answers.WebhookQuestion(method, self.verbs[method], key, body))

    def is_interested(self, task: TaskInfo) -> bool:
        """Whether a container names one of the managed resources, if any. Upstream: plugins/extender.IsInterested."""
        if not self._managed:
            return True
        spec = task.pod.spec
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            names = (*(resources.get("requests") or ()), *(resources.get("limits") or ()))
            if any(name in self._managed for name in names):
                return True
        return False

    # Nodes

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        codes: Codes = np.zeros(len(nodes), dtype=np.uint16)
        if not self.is_interested(task) or not len(nodes):
            return codes
        if not self._answers.can_answer(self.verbs["predicate"]):
            self._answers.note_missing(self.verbs["predicate"], task.key)
            return codes
        for index, name in enumerate(nodes.node_names):
            codes[index] = self._node_verdict(task, name)
        return codes

    def _node_verdict(self, task: TaskInfo, node: NodeName) -> int:
        body = partial(answers.request_body, task=task, node=self._ssn.nodes[node])
        reply = self._ask_webhook("predicate", f"{task.key} {node}", body)
        if reply is None:
            return 0
        message, error = reply.read_field("status", str, "")
        code, code_error = reply.read_field("code", int, SUCCESS)
        if error or code_error:
            return 0 if self._ignorable else self._ssn.reasons.error_code(error or code_error or "")
        if not message:
            return 0
        return self._ssn.reasons.code_of((FitStatus(ERROR if code == SUCCESS else code, message, self.name),))

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores | None:
        if not self.is_interested(task):
            return None
        body = partial(answers.request_body, task=task, nodes=[self._ssn.nodes[name] for name in nodes.node_names])
        reply = self._ask_webhook(BATCH_NODE_ORDER.method, task.key, body)
        if reply is None:
            return None
        node_scores, error = reply.read_field("nodeScore", dict, None)
        message, message_error = reply.read_field("errorMessage", str, "")
        scores, number_error = _read_numbers(node_scores or {})
        failure = error or message_error or number_error
        if failure:
            if self._ignorable:
                return None
            raise ScoreError(failure)
        if message or node_scores is None:
            raise ScoreError(message)
        if not scores:
            return None
        return NodeScores(np.array([scores.get(name, 0.0) for name in nodes.node_names], dtype=np.float64))

    # Victims

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        return self._ask_victims("preemptable", preemptor, candidates)

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        return self._ask_victims("reclaimable", reclaimer, candidates)

    def _ask_victims(self, method: str, evictor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        body = partial(answers.request_body, evictor=evictor, evictees=candidates)
        reply = self._ask_webhook(method, evictor.key, body) if self.is_interested(evictor) else None
        if reply is None:
            return [], ABSTAIN
        status, error = reply.read_field("status", int, ABSTAIN)
        victims, victims_error = reply.read_field("victims", list, [])
        if error or victims_error:
            return [], PERMIT if self._ignorable else REJECT
        by_key = {task.key: task for task in candidates}
        return [by_key[key] for item in victims if (key := answers.task_key(item)) in by_key], status

    # Jobs and queues

    def job_enqueueable(self, job: JobInfo) -> int:
        reply = self._ask_webhook(JOB_ENQUEUEABLE.method, job.uid, partial(answers.request_body, job=job))
        if reply is None:
            return ABSTAIN
        status, error = reply.read_field("status", int, ABSTAIN)
        if error is not None:
            return PERMIT if self._ignorable else REJECT
        return int(status)

    def job_enqueued(self, job: JobInfo) -> None:
        """Notify the webhook; upstream does not read the answer."""
        self._notify_webhook(JOB_ENQUEUED.method, job.uid, partial(answers.request_body, job=job))

    def overused(self, queue: QueueInfo) -> bool:
        return self._yes_or_no("overused", queue.name, partial(answers.request_body, queue=queue), neutral=False)

    def job_ready(self, job: JobInfo) -> bool:
        """The webhook's answer; an error counts as ready unless errors are ignorable."""
        return self._yes_or_no(JOB_READY.method, job.uid, partial(answers.request_body, job=job), neutral=True)

    def _yes_or_no(self, method: str, key: str, body: Callable[[], answers.Body], *, neutral: bool) -> bool:
        reply = self._ask_webhook(method, key, body)
        if reply is None:
            return neutral
        answer, error = reply.read_field(YES_OR_NO[method], bool, False)
        return bool(answer) if error is None else not self._ignorable

    # Events

    def allocate_func(self, event: Event) -> None:
        """Notify the webhook; an error in its answer rejects the allocation."""
        self._announce_event("allocate_func", event)

    def deallocate_func(self, event: Event) -> None:
        """Notify the webhook; upstream ignores an error in its answer."""
        self._announce_event("deallocate_func", event)

    def _announce_event(self, method: str, event: Event) -> None:
        if method not in self.verbs or not self.is_interested(event.task):
            return
        reply = self._ask_webhook(method, event.task.key, partial(answers.request_body, task=event.task))
        if reply is None:
            return
        message, error = reply.read_field("errorMessage", str, "")
        if error is not None and not self._ignorable:
            event.err = error
        if message:
            event.err = message


def _read_numbers(scores: Mapping[str, object]) -> tuple[dict[str, float], str | None]:
    """(scores, decoder's error or None); null scores are skipped."""
    numbers: dict[str, float] = {}
    for name, score in scores.items():
        if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
            return {}, answers.BAD_ANSWER.format("nodeScore")
        try:
            numbers[name] = float(score or 0)
        except OverflowError:
            return {}, answers.BAD_ANSWER.format("nodeScore")
    return numbers, None


def http_timeout(value: object) -> float | None:
    """The timeout in seconds: 1.0 if the value is invalid, None for no limit."""
    duration = parse_duration(value) if isinstance(value, str) and value else None
    if duration is None:
        return 1.0
    return duration / SECOND if duration > 0 else None
