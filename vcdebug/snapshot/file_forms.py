"""Files that are not plain manifests: text around them, exports of other tools, and what `kubectl describe` prints."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from vcdebug.amount_text import lower_first
from vcdebug.snapshot.kinds import KINDS
from vcdebug.snapshot.manifest import JsonDict, object_in
from vcdebug.snapshot.problems import OBJECTS_MISSING

_HEAD_BYTES: Final = 4096
_BEGINS: Final = re.compile(rb"\s*(?:[{\[]|---|- |(?:apiVersion|kind|items|metadata):)")
_NOISE: Final = re.compile(
    rb"\s*(?:(?P<error>Error from server|error: )[^\n]*|Warning: [^\n]*|//[^\n]*"
    # client-go logs to the same stream; a log of the scheduler itself names other files.
    rb"|[WEI]\d{4} [\d:.]+ +\d+ (?:warnings|memcache|request|reflector)\.go:[^\n]*"
    rb"|(?:(?:\[[^\]\n]{1,80}\]|[^\s{\[#]{0,80}) ?[$%>]|(?:\[[^\]\n]{1,80}\]|[^\s{\[#]{1,80}) ?#)"
    rb" ?(?:sudo )?(?:kubectl|oc|k) [^\n]*)\n"
)
_FENCE: Final = re.compile(rb"(?m)^[ \t]*(?:```|~~~)[^\n]*\n")
_PASTED_INDENT: Final = re.compile(rb"(?m)^ *(?:\xc2\xa0 *)+")
_TABLE: Final = re.compile(rb"(?:NAMESPACE {2,})?NAME {2,}[A-Z]")
_TEMPLATE: Final = re.compile(rb"\{\{-? *(?:\.|include |if |range |with |define |end\b)")


class Surroundings(NamedTuple):
    """What was left out around manifests, and what that may change."""

    fault: str
    effect: str


def strip_surroundings(data: bytes) -> tuple[bytes, list[Surroundings]]:
    """The manifests of a pasted text: without code fences, kubectl's warnings, its command line and pasted blanks."""
    found = list[Surroundings]()
    if b"\xc2\xa0" in data and _PASTED_INDENT.search(data):
        data = _PASTED_INDENT.sub(lambda match: match[0].replace(b"\xc2\xa0", b" "), data)
        found.append(Surroundings("is indented with no-break spaces", "read as spaces; kubectl would reject it"))
    fenced = _fenced_parts(data)
    if fenced:
        data = b"\n---\n".join(fenced)
        found.append(Surroundings("has text around its code blocks", "only the code blocks are read"))
    end, errors = 0, 0
    while match := _NOISE.match(data, end):
        end, errors = match.end(), errors + (match["error"] is not None)
    if end and _BEGINS.match(data, end):
        data = data[end:]
        effect = OBJECTS_MISSING if errors else "these lines are ignored"
        found.append(
            Surroundings(
                "begins with error messages of kubectl" if errors else "begins with lines of a terminal", effect
            )
        )
    return data, found


def _fenced_parts(data: bytes) -> list[bytes]:
    """The manifests in code fences of a text that does not itself begin as a manifest."""
    fence = _FENCE.search(data, 0, _HEAD_BYTES)
    if fence is None or any(_BEGINS.match(line) for line in data[: fence.start()].splitlines()):
        return []
    return [part for part in _FENCE.split(data)[1::2] if _BEGINS.match(part)]


def table_words(data: bytes) -> str:
    """What a table is that kubectl prints for people, with the command that prints objects; empty for another file."""
    return "is a table of kubectl: `kubectl get ... -o json` prints the objects" if _TABLE.match(data) else ""


def template_words(data: bytes) -> str:
    """What a file is that cannot be read since it is a template; empty for another file."""
    return "is a Helm template: `helm template CHART` prints the manifests" if _TEMPLATE.search(data) else ""


# Exports of other tools: objects inside of documents that have no kind.

_EVENT_TYPES: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
_KINDS_BY_LIST: Final = {kind.plural: kind for kind in KINDS} | {
    short: next(kind for kind in KINDS if kind.name == name)
    for short, name in (("pvs", "PersistentVolume"), ("pvcs", "PersistentVolumeClaim"))
}


def watched_object(document: Mapping[str, Any]) -> tuple[str, Any] | None:
    """(type, object) of an event of `kubectl get --watch --output-watch-events`; None for another document."""
    kind, inner = document.get("type"), document.get("object")
    return (kind, inner) if kind in _EVENT_TYPES and isinstance(inner, dict) else None


def listed_objects(document: Mapping[str, Any]) -> Iterator[tuple[list[Any], str, str]]:
    """(items, kind, apiVersion) of each list of an export that names its lists by resource, such as a simulator's."""
    for key, items in document.items():
        kind = _KINDS_BY_LIST.get(key.lower())
        if kind is not None and isinstance(items, list):
            yield items, kind.name, kind.api_version


_OLD_GROUPS: Final = ("scheduling.incubator.k8s.io", "scheduling.sigs.dev")
_GROUP: Final = "scheduling.volcano.sh"


def renewed_version(api_version: str) -> str:
    """The apiVersion that replaced one of an API group from before Volcano 0.2; empty for another apiVersion."""
    return f"{_GROUP}/v1beta1" if api_version.startswith(tuple(f"{group}/" for group in _OLD_GROUPS)) else ""


def foreign_words(document: Mapping[str, Any]) -> str:
    """What a document without kind is that Volcano cannot read; empty where that is unknown."""
    if "rawObjects" in document:
        return "is a snapshot of KAI Scheduler, not of Volcano: `vcdebug capture` takes one of a cluster with Volcano"
    if any(isinstance(one, dict) and "Allocatable" in one and "Idle" in one for one in document.values()):
        return "is a dump of the scheduler's cache: `vcdebug inspect SNAPSHOT --against DUMP` compares it"
    return ""


# The output of `kubectl describe`

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
            fields[f"{lower_first(first)}{''.join(words)}"] = inner
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
