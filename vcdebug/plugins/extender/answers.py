"""Answers of the webhook, recorded or live, and the bodies of the requests to it.

Upstream: plugins/extender (send, argument), api.
Differs: a node's ledgers of devices, NUMA topology, images and measured usage are sent empty, claims as null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from vcdebug.framework.hooks import BATCH_NODE_ORDER, JOB_ENQUEUEABLE, JOB_ENQUEUED, JOB_READY
from vcdebug.framework.quirks import EXTENDER_UNKNOWN
from vcdebug.framework.replay_options import WebhookResponse
from vcdebug.framework.session import Session, note_unknown
from vcdebug.gomath import MAX_INT64
from vcdebug.gotime import parse_duration
from vcdebug.grouping import named_attributes
from vcdebug.model import go_fields
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo, oversubscribed_amounts
from vcdebug.model.pod_group import PodGroup
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.json_documents import without_surrogates
from vcdebug.snapshot.manifest import NUMA_POLICY_KEY, Json, JsonDict, JsonObject, status_of

ANY_KEY = "*"
BAD_ANSWER = "json: cannot unmarshal {} of the answer"

AnswersByVerb = dict[str, JsonDict]
"""The form of extender.json: verb → key → an answer, or a list of answers in order of the calls."""


class WebhookReply(NamedTuple):
    """The body of a reply, or the error text of a failed call."""

    body: JsonObject
    error: str | None = None

    def read_field(self, name: str, kind: type | tuple[type, ...], default: Json) -> tuple[Json, str | None]:
        """(value or the default, error or None) of a field, as Go's decoder would read it."""
        value = self.body.get(name)
        if value is None:
            return default, self.error
        is_wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
        if is_wrong or (kind is int and abs(value) > MAX_INT64):
            return default, BAD_ANSWER.format(name)
        return value, self.error


class WebhookQuestion(NamedTuple):
    """One call of the webhook: method, verb, key of the object, and request body."""

    method: str
    verb: str
    key: str
    body: Callable[[], Body]


class WebhookAnswers:
    """The answers by verb and key, as in extender.json; the key `*` matches every key of its verb."""

    def __init__(self, ssn: Session, url: str, timeout: float | None) -> None:
        self._ssn = ssn
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._recorded: Mapping[str, JsonObject] = ssn.snapshot.extender
        self._uses: dict[tuple[str, str], int] = {}
        self._live: dict[str, dict[str, list[Answer]]] = {}

    def can_answer(self, verb: str) -> bool:
        """Whether the verb has a recorded answer, or the webhook can be called."""
        return self._ssn.ask_extender is not None or bool(self._recorded.get(verb))

    def known_answers(self) -> AnswersByVerb:
        """The recorded answers merged with those of live calls; repeated equal answers are stored once."""
        merged = {verb: dict(by_key) for verb, by_key in self._recorded.items()}
        for verb, by_key in self._live.items():
            for key, answers in by_key.items():
                same = all(answer == answers[0] for answer in answers)
                merged.setdefault(verb, {})[key] = answers[0] if same else list(answers)
        return merged

    def ask_or_note(self, question: WebhookQuestion) -> WebhookReply | None:
        """The reply; without one, a note at the next event says that the real scheduler had one."""
        reply = self.ask_webhook(question)
        if reply is None:
            self.note_missing(question.verb, question.key)
        return reply

    def ask_webhook(self, question: WebhookQuestion) -> WebhookReply | None:
        """The reply from a recorded answer or a live call; None if there is neither."""
        verb = question.verb
        answer = self._find_answer(question)
        if answer is None:
            return None
        status = answer.get(HTTP_STATUS_FIELD, OK_STATUS)
        if status != OK_STATUS:
            return WebhookReply({}, f"failed {verb} with extender at URL {self._url}/{verb}, code {status}")
        error = answer.get(ERROR_FIELD)
        return WebhookReply({} if error else answer, str(error) if error else None)

    def _find_answer(self, question: WebhookQuestion) -> Answer | None:
        by_key = self._recorded.get(question.verb) or {}
        answer = by_key.get(question.key, by_key.get(ANY_KEY))
        if answer is None:
            return self._call_webhook(question)
        return answer if isinstance(answer, dict) else self._next_answer(question, answer)

    def _next_answer(self, question: WebhookQuestion, answers: list[Answer]) -> Answer:
        """The next recorded answer to a repeated question; the last one repeats."""
        index = self._uses.get((question.verb, question.key), 0)
        self._uses[question.verb, question.key] = index + 1
        return answers[min(index, len(answers) - 1)]

    def _call_webhook(self, question: WebhookQuestion) -> Answer | None:
        ask = self._ssn.ask_extender
        if ask is None:
            return None
        answer = answer_of(question.method, ask(question.verb, question.body(), self._timeout))
        self._live.setdefault(question.verb, {}).setdefault(question.key, []).append(answer)
        return answer

    def note_missing(self, verb: str, key: str) -> None:
        """Note at the next event that the answer is missing."""
        note_unknown(self._ssn, EXTENDER_UNKNOWN, missing_text(verb, key))


def missing_text(verb: str, key: str) -> str:
    """The note about a call whose answer is missing; an empty key stands for the session."""
    return f"the extender would have been asked `{verb}`{f' about {key}' if key else ''}"


# Conversion of a webhook response to an answer in the form of extender.json.

Answer = JsonObject

ERROR_FIELD = "error"
HTTP_STATUS_FIELD = "httpStatus"
OK_STATUS = 200

FIELDS_BY_METHOD = {
    "predicate": ("status", "code"),
    BATCH_NODE_ORDER.method: ("nodeScore", "errorMessage"),
    "preemptable": ("status", "victims"),
    "reclaimable": ("status", "victims"),
    JOB_ENQUEUEABLE.method: ("status",),
    JOB_ENQUEUED.method: (),
    "overused": ("overused",),
    JOB_READY.method: ("status",),
    "allocate_func": ("errorMessage",),
    "deallocate_func": ("errorMessage",),
}
"""Method → the fields of its answer that are read; answers of other methods are not decoded."""
NO_JSON = "the answer is no JSON: {}"
NO_OBJECT = "json: cannot unmarshal an answer that is no object"
NO_TASK = "json: cannot unmarshal a victim that is no object"
TOO_DEEP = "the answer is nested too deeply"


def answer_of(method: str, response: WebhookResponse | str) -> Answer:
    """The decoded answer; after a failed call, its error or HTTP status."""
    if isinstance(response, str):
        return {ERROR_FIELD: response}
    if response.status != OK_STATUS:
        return {HTTP_STATUS_FIELD: response.status}
    if method not in FIELDS_BY_METHOD:
        return {}
    try:
        decoded = _decode_body(response.body)
    except ValueError as error:
        return {ERROR_FIELD: NO_JSON.format(error)}
    except RecursionError:
        return {ERROR_FIELD: TOO_DEEP}
    if decoded is None:
        return {}
    if not isinstance(decoded, dict):
        return {ERROR_FIELD: NO_OBJECT}
    return _with_victim_names(_read_fields(decoded, FIELDS_BY_METHOD[method]))


def task_key(item: object) -> str:
    """`namespace/name` of a victim, which is a text or a map with the fields of a TaskInfo."""
    if isinstance(item, dict):
        return f"{item.get('Namespace')}/{item.get('Name')}"
    return str(item)


def _decode_body(body: bytes) -> Json:
    """Decode the first JSON value of a response body."""
    # raw_decode: Go's decoder reads one value and ignores the rest.
    text = body.decode("utf-8", errors="replace").lstrip(" \t\r\n")
    return json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text)[0]


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is no number")


def _read_fields(decoded: JsonObject, names: Iterable[str]) -> JsonDict:
    """Select fields by name, ignoring case as Go's decoder does; null fields are dropped."""
    spelt = {name.lower(): name for name in names}
    fields = {spelt.get(key.lower(), ""): value for key, value in decoded.items() if value is not None}
    return {name: without_surrogates(value) for name, value in fields.items() if name}


def _with_victim_names(answer: JsonDict) -> Answer:
    """The answer with its victims as `namespace/name`."""
    victims = answer.get("victims")
    if not isinstance(victims, list):
        return answer
    items = [item for item in victims if item is not None]
    if not all(isinstance(item, dict) for item in items):
        return {ERROR_FIELD: NO_TASK}
    folded = [_read_fields(item, ("Namespace", "Name")) for item in items]
    return {**answer, "victims": [task_key(item) for item in folded]}


# Bodies of the requests, with the field names of upstream's structs.

Body = dict[str, object]
Described = TaskInfo | NodeInfo | JobInfo | QueueInfo

MANIFEST_PARTS = ("metadata", "spec", "status")
READY_STATE = {"Phase": 1, "Reason": ""}
NO_USAGE = {"MetricsTime": "0001-01-01T00:00:00Z", "CPUUsageAvg": {}, "MEMUsageAvg": {}}
WAITING_TIMES = ("volcano.sh/sla-waiting-time", "sla-waiting-time")
MIN_AVAILABLE = "volcano.sh/jdb-min-available"
MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
POD_GROUP_VERSION = "v1beta1"


def opening_body(ssn: Session) -> Body:
    """OnSessionOpenRequest."""
    nodes = {name: node_info(node) for name, node in ssn.nodes.items()}
    return {
        "Jobs": {uid: job_info(job) for uid, job in ssn.jobs.items()},
        "Nodes": nodes,
        "Queues": {name: queue_info(queue) for name, queue in ssn.queues.items()},
        "NamespaceInfo": _namespace_bodies(ssn),
        "RevocableNodes": {name: nodes[name] for name, node in ssn.nodes.items() if node.revocable_zone},
        "NodeList": None,
    }


def request_body(**parts: Described | Iterable[Described]) -> Body:
    """A request about objects of the session: field → a TaskInfo, NodeInfo, JobInfo or QueueInfo, or a list of them.

    Upstream: plugins/extender/argument (PredicateRequest, PrioritizeRequest, PreemptableRequest and others).
    """
    return {
        field: _describe_object(part) if isinstance(part, Described) else [_describe_object(each) for each in part]
        for field, part in parts.items()
    }


def _describe_object(part: Described) -> Body:
    match part:
        case TaskInfo():
            return task_info(part)
        case NodeInfo():
            return node_info(part)
        case JobInfo():
            return job_info(part)
    return queue_info(part)


def task_info(task: TaskInfo) -> Body:
    """A TaskInfo with its pod."""
    last = task.last_transaction
    return {
        **go_fields.task_fields(task),
        "DRAResreq": None,
        "ResourceClaimKeys": None,
        "ResourceClaimDRAResreq": None,
        "LastTransaction": None if last is None else go_fields.transaction_fields(*last),
        "VolumeReady": False,
        "NumaInfo": {"Policy": task.pod.annotations.get(NUMA_POLICY_KEY, ""), "ResMap": {}},
        "Pod": _pod_body(task),
        "PodAnnotations": dict(task.pod.annotations) or None,
        "CustomBindErrHandlerSucceeded": False,
    }


def node_info(node: NodeInfo) -> Body:
    """A NodeInfo with its node and its tasks."""
    return {
        **go_fields.node_fields(node, task_info),
        "Node": _manifest_parts(node.manifest),
        "State": READY_STATE,
        "ResourceUsage": NO_USAGE,
        "NumaInfo": None,
        "UnassignedNumaPods": None,
        "NumaSchedulerInfo": None,
        "Others": {},
        "OversubscriptionResource": go_fields.resource_fields(oversubscribed_amounts(node.annotations)),
        "ImageStates": {},
        "Generation": 0,
        "BindGeneration": 0,
    }


def job_info(job: JobInfo) -> Body:
    """A JobInfo with its PodGroup, tasks and sub jobs."""
    annotations = job.pod_group.annotations
    min_available = annotations.get(MIN_AVAILABLE)
    max_unavailable = annotations.get(MAX_UNAVAILABLE, "") if min_available is None else ""
    return {
        **go_fields.job_fields(job, task_info, task_info),
        "WaitingTime": _waiting_time(annotations),
        "JobFitErrors": job.job_fit_errors,
        "NodesFitErrors": {uid: {} for uid in job.nodes_fit_errors},
        "PodGroup": _pod_group(job.pod_group),
        "ScheduleStartTimestamp": None,
        "Budget": {"MinAvailable": min_available or "", "MaxUnavailable": max_unavailable},
    }


def queue_info(queue: QueueInfo) -> Body:
    """A QueueInfo with its Queue."""
    fields = named_attributes(queue, "UID=uid Name=name Weight=weight Weights=weights Hierarchy=hierarchy")
    return {**fields, "Queue": _manifest_parts(queue.manifest)}


def _manifest_parts(manifest: Mapping[str, object]) -> Body:
    """The parts of an object as an informer keeps them: without kind and apiVersion."""
    return {part: manifest[part] for part in MANIFEST_PARTS if manifest.get(part) is not None}


def _pod_body(task: TaskInfo) -> Body:
    pod = task.pod
    # Add the node that the session assigned to the pod; the snapshot's manifest has none.
    spec = {**pod.spec, "nodeName": pod.node_name} if pod.node_name else pod.spec
    return {**_manifest_parts(pod.manifest), "spec": spec}


def _pod_group(group: PodGroup) -> Body:
    """The PodGroup with the session's phase and conditions."""
    raw = status_of(group.manifest)
    status = {**raw, "phase": group.phase}
    if group.conditions:
        status["conditions"] = [go_fields.condition_fields(condition) for condition in group.conditions]
    return {**_manifest_parts(group.manifest), "status": status, "Version": POD_GROUP_VERSION}


def _waiting_time(annotations: Mapping[str, str]) -> int | None:
    for key in WAITING_TIMES:
        duration = parse_duration(annotations.get(key, ""))
        if duration is not None and duration > 0:
            return duration
    return None


def _namespace_bodies(ssn: Session) -> Body:
    quotas: dict[str, dict[str, object]] = {}
    for manifest in ssn.snapshot.objects_of("ResourceQuota"):
        metadata = manifest["metadata"]
        quotas.setdefault(metadata.get("namespace") or "", {})[metadata["name"]] = status_of(manifest)
    return {name: {"Name": name, "QuotaStatus": by_name} for name, by_name in quotas.items()}
