"""Patches, as clients of Kubernetes send them.

Upstream: k8s apis/resource/v1beta1 (conversion).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Final

from vcdebug.conformance.api_requests import Body
from vcdebug.snapshot.manifest import Json, JsonDict, metadata_of, spec_of

JSON_PATCH = "application/json-patch+json"
MERGE_KEYS = ("type", "name", "ip")
"""The field by which a strategic merge knows the elements of a list; the first that all of them have."""


class PatchError(Exception):
    """A step leads to something that is not there: none of them is made."""


def apply_patch(body: Json, patch: Json, content_type: str) -> Json:
    """The object with a patch of either kind made."""
    if content_type.startswith(JSON_PATCH):
        for step in patch:
            body = _apply_step(copy.deepcopy(body), step)
        return body
    return merge_patch(body, patch, strategic="strategic" in content_type)


def merge_patch(body: Json, patch: Json, *, strategic: bool = False) -> Json:
    """RFC 7386; strategically, lists of named elements are merged element by element."""
    if not isinstance(patch, dict):
        return _merged_list(body, patch) if strategic and isinstance(patch, list) else patch
    result = dict(body) if isinstance(body, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif not key.startswith("$"):
            result[key] = merge_patch(result.get(key), value, strategic=strategic)
    return result


def _merged_list(body: Json, patch: list[Json]) -> list[Json]:
    known = body if isinstance(body, list) else []
    elements = [*known, *patch]
    name = next((one for one in MERGE_KEYS if all(isinstance(e, dict) and one in e for e in elements)), "")
    if not name:
        return patch
    by_name = {element[name]: element for element in known}
    for element in patch:
        by_name[element[name]] = merge_patch(by_name.get(element[name]), element, strategic=True)
    return list(by_name.values())


def _apply_step(body: Json, step: JsonDict) -> Json:
    """One step of RFC 6902: add, replace, remove; a test never fails here."""
    words = [word.replace("~1", "/").replace("~0", "~") for word in step["path"].split("/")[1:]]
    if step["op"] == "test" or not words:
        return body
    place = body
    for word in words[:-1]:
        place = _step_inside(place, word, step)
    if step["op"] != "add":
        _step_inside(place, words[-1], step)
    _change_value(place, words[-1], step)
    return body


def _step_inside(place: Json, word: str, step: JsonDict) -> Json:
    if isinstance(place, list) and word.isdecimal() and int(word) < len(place):
        return place[int(word)]
    if isinstance(place, dict) and word in place:
        return place[word]
    raise PatchError(f"{step['op']} operation does not apply: doc is missing path: {step['path']}: missing value")


def _change_value(place: Json, last: str, step: JsonDict) -> None:
    if isinstance(place, list):
        index = len(place) if last == "-" else int(last)
        place[index : index + (step["op"] != "add")] = [] if step["op"] == "remove" else [step["value"]]
    elif step["op"] == "remove":
        del place[last]
    else:
        place[last] = step["value"]


# Which objects of a list a query selects: a namespace, labels, and the few fields that clients ask for.


def is_selected(item: Body, namespace: str, query: Mapping[str, str]) -> bool:
    """Whether an object belongs to what was asked for."""
    metadata = metadata_of(item)
    if namespace and metadata.get("namespace") != namespace:
        return False
    labels: JsonDict = metadata.get("labels") or {}
    asked = [(labels.get(key), wanted, same) for key, wanted, same in _selector_terms(query, "labelSelector")]
    asked += [
        (_field_value(item, path), wanted, same) for path, wanted, same in _selector_terms(query, "fieldSelector")
    ]
    return all(_term_holds(value, wanted, same=same) for value, wanted, same in asked)


def _selector_terms(query: Mapping[str, str], name: str) -> list[tuple[str, str, bool]]:
    """`a=b,c!=d` as name, value and whether they are to be equal."""
    terms = []
    for part in query.get(name, "").split(","):
        key, _, value = part.partition("=")
        if key:
            terms.append((key.rstrip("!="), value.lstrip("="), not key.endswith("!")))
    return terms


def _term_holds(value: Json, wanted: str, *, same: bool) -> bool:
    return ((value or "") == wanted) is same


def _field_value(item: Body, path: str) -> Json:
    value: Json = item
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


# Objects as an older version of their API has them: what a real server converts.

FIRST_OF_DEVICES: Final = "resource.k8s.io/v1beta1"


def converted_object(body: Body, api_version: str) -> Body:
    """The object in the version that is asked for; every other one is served as it is stored."""
    if api_version != FIRST_OF_DEVICES:
        return body
    body = {**body, "apiVersion": api_version}
    spec = spec_of(body)
    claimed = spec.get("devices")
    if isinstance(claimed, dict) and claimed.get("requests"):
        return {
            **body,
            "spec": {**spec, "devices": {**claimed, "requests": [*map(_older_request, claimed["requests"])]}},
        }
    if isinstance(claimed, list):
        return {**body, "spec": {**spec, "devices": [*map(_older_device, claimed)]}}
    return body


def _older_request(request: Body) -> Body:
    """What is asked for exactly stood in the request itself."""
    exactly = request.get("exactly")
    return request if exactly is None else {**{k: v for k, v in request.items() if k != "exactly"}, **exactly}


def _older_device(device: Body) -> Body:
    """All but the name stood in a part of its own."""
    if "basic" in device:
        return device
    return {"name": device.get("name"), "basic": {k: v for k, v in device.items() if k != "name"}}
