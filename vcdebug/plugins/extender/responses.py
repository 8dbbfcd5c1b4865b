"""From a response of the webhook to an answer as extender.json holds one.

Upstream: plugins/extender (send, argument).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from vcdebug.framework.hooks import BATCH_NODE_ORDER, JOB_ENQUEUEABLE, JOB_ENQUEUED, JOB_READY
from vcdebug.framework.webhook import WebhookResponse
from vcdebug.snapshot.json_values import Json, JsonDict, JsonObject

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
"""Method → the fields that are read; the answers of the other methods are not decoded."""
NO_JSON = "the answer is no JSON: {}"
NO_OBJECT = "json: cannot unmarshal an answer that is no object"
NO_TASK = "json: cannot unmarshal a victim that is no object"
TOO_DEEP = "the answer is nested too deeply"


def answer_of(method: str, response: WebhookResponse | str) -> Answer:
    """The answer, or what became of the call instead."""
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
    """`namespace/name`, as text or as the fields of a TaskInfo."""
    if isinstance(item, dict):
        return f"{item.get('Namespace')}/{item.get('Name')}"
    return str(item)


def _decode_body(body: bytes) -> Json:
    """The first JSON value; what follows it is not looked at."""
    text = body.decode("utf-8", errors="replace").lstrip(" \t\r\n")
    return json.JSONDecoder(parse_constant=_refuse_constant).raw_decode(text)[0]


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is no number")


def _read_fields(decoded: JsonObject, names: Iterable[str]) -> JsonDict:
    """Fields by their names in any case, as Go's decoder finds them; null leaves a field as it is."""
    spelt = {name.lower(): name for name in names}
    stated = {spelt.get(key.lower(), ""): value for key, value in decoded.items() if value is not None}
    return {name: _sound_value(value) for name, value in stated.items() if name}


def _sound_value(value: Json) -> Json:
    """Text without halves of surrogate pairs, which no file could hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_sound_value(key): _sound_value(item) for key, item in value.items()}
    return [_sound_value(item) for item in value] if isinstance(value, list) else value


def _with_victim_names(answer: JsonDict) -> Answer:
    """Victims as `namespace/name`."""
    victims = answer.get("victims")
    if not isinstance(victims, list):
        return answer
    stated = [item for item in victims if item is not None]
    if not all(isinstance(item, dict) for item in stated):
        return {ERROR_FIELD: NO_TASK}
    folded = [_read_fields(item, ("Namespace", "Name")) for item in stated]
    return {**answer, "victims": [task_key(item) for item in folded]}
