"""Patches, as clients of Kubernetes send them."""

from __future__ import annotations

import copy

from vcdebug.snapshot.json_values import Json, JsonDict

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
