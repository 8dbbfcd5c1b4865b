"""Reads the fields of pods and Volcano's objects that `kubectl describe` prints."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from vcdebug.snapshot.manifest import JsonDict, object_in

_FIRST_LINE: Final = re.compile(rb"Name:[ \t]+\S")
_LINE: Final = re.compile(r"(?P<indent> *)(?P<key>[^\s:][^:]*):(?:\s+(?P<value>\S.*?))?\s*")
_NO_VALUE: Final = ("<none>", "<unset>")
_QUANTITIES: Final = ("requests", "limits")


def is_description(data: bytes) -> bool:
    """Whether a file begins as the output of `kubectl describe`."""
    return _FIRST_LINE.match(data) is not None and b"\nNamespace:" in data


def described_objects(text: str) -> Iterator[JsonDict]:
    """The pods and custom objects of a text, with the fields that `kubectl describe` prints."""
    for part in re.split(r"(?m)^(?=Name:[ \t])", text)[1:]:
        # Events come last, as a table, which is not read.
        tree = _read_tree(part.partition("\nEvents:")[0])
        manifest = _custom_object(tree) if "Kind" in tree else _pod(tree) if "Containers" in tree else None
        if manifest is not None:
            yield manifest


def _read_tree(text: str) -> JsonDict:
    """Nested `Key: value` lines; a key that is repeated at its level keeps its first value."""
    root: JsonDict = {}
    path: list[tuple[int, JsonDict]] = [(-1, root)]
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        indent, key, value = len(match["indent"]), match["key"].strip(), match["value"]
        while path[-1][0] >= indent:
            path.pop()
        inner: JsonDict = {}
        path[-1][1].setdefault(key, inner if value is None else value)
        if value is None:
            path.append((indent, inner))
    return root


def _metadata(tree: Mapping[str, Any]) -> JsonDict:
    return {"name": tree.get("Name"), "namespace": tree.get("Namespace")}


def _custom_object(tree: Mapping[str, Any]) -> JsonDict:
    """A custom object from its description, which has all of its fields, with keys as words."""
    parts = {part.lower(): _field_names(object_in(tree.get(part))) for part in ("Spec", "Status")}
    return {"apiVersion": tree.get("API Version"), "kind": tree["Kind"], "metadata": _metadata(tree), **parts}


def _field_names(tree: Mapping[str, Any]) -> JsonDict:
    """Keys in words as field names: `Min Member` becomes minMember; the other characters stay."""
    fields: JsonDict = {}
    for key, value in tree.items():
        first, *words = key.split(" ")
        inner = _field_names(value) if isinstance(value, dict) else int(value) if value.isdecimal() else value
        # `kubectl describe` does not separate the elements of a list of objects: conditions are left out.
        if key != "Conditions":
            fields[f"{first[:1].lower()}{first[1:]}{''.join(words)}"] = inner
    return fields


def _pod(tree: Mapping[str, Any]) -> JsonDict:
    node = str(tree.get("Node") or "").partition("/")[0]
    containers = [
        {"name": name, "resources": {part: inner.get(part.title()) or {} for part in _QUANTITIES}}
        for name, inner in object_in(tree.get("Containers")).items()
        if isinstance(inner, dict)
    ]
    priority = str(tree.get("Priority") or "")
    spec = {
        "schedulerName": "volcano",
        "containers": containers,
        **({"nodeName": node} if node and node not in _NO_VALUE else {}),
        **({"priority": int(priority)} if priority.isdecimal() else {}),
    }
    metadata = {**_metadata(tree), "annotations": dict(_iter_annotations(tree))}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": tree.get("Status")},
    }


def _iter_annotations(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, value) of annotations: the first on the title's line; further lines are known by a slash in the key."""
    key, colon, value = str(tree.get("Annotations") or "").partition(": ")
    if colon:
        yield key, value
    yield from ((name, text) for name, text in tree.items() if "/" in name and isinstance(text, str))
