"""Requests, replies and objects of the Kubernetes API without a socket: paths, patches, selectors, versions, protobuf.

Upstream: k8s apis/resource/v1beta1 (conversion).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from vcdebug.snapshot.kinds import KINDS, ResourceKind
from vcdebug.snapshot.manifest import Json, JsonDict, metadata_of, spec_of

Body = JsonDict
"""A JSON object of the API: a manifest, a review, a patch."""


class ApiRequest(NamedTuple):
    """One request; `query` holds the last value of each parameter."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Json
    """An object, or the list of steps of a JSON patch."""
    groups: tuple[str, ...] = ()
    """The values of the Impersonate-Group headers."""


class ApiReply(NamedTuple):
    """A response; a text body is sent verbatim, any other as JSON."""

    status: int
    body: Json
    headers: Mapping[str, str] = {}

    @property
    def content_bytes(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


def refusal_reply(code: int, reason: str, message: str, **metadata: str) -> ApiReply:
    """A Status object with an HTTP code; `metadata` are further fields of its metadata."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure"}
    return ApiReply(code, body | {"message": message, "reason": reason, "code": code})


NOT_FOUND_REPLY = ApiReply(404, "404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"})
UNAUTHORIZED_REPLY = refusal_reply(401, "Unauthorized", "Unauthorized")


def success_reply() -> ApiReply:
    """201 Created with a Status object, for bindings and evictions: clients ignore its body."""
    return ApiReply(201, {"kind": "Status", "apiVersion": "v1", "status": "Success"})


_KINDS = {(kind.group, kind.plural): kind for kind in KINDS}
_PARTS_OF_NAMESPACES = ("status", "finalize")
"""Subresources of a Namespace itself: `namespaces/NAME/status` is no list in a namespace."""


class ApiAddress(NamedTuple):
    """The parts of a path `/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/PART`; missing ones are empty."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    part: str = ""
    """A subresource: status, binding, eviction."""

    @classmethod
    def from_path(cls, path: str) -> ApiAddress:
        """Parse the path of a request."""
        words = path.strip("/").split("/")
        group, path_words = ("", words[1:]) if words[0] == "api" else (words[1] if len(words) > 1 else "", words[2:])
        version, path_words = (path_words[0], path_words[1:]) if path_words else ("", [])
        namespace = ""
        if path_words[:1] == ["namespaces"] and len(path_words) > 2 and path_words[2] not in _PARTS_OF_NAMESPACES:
            namespace, path_words = path_words[1], path_words[2:]
        plural, name, part = ([*path_words, "", "", ""])[:3]
        return cls(group, version, plural, namespace, name, part)

    @property
    def known_kind(self) -> ResourceKind | None:
        """The row of KINDS for any version of the group; None for an unknown kind."""
        return _KINDS.get((self.group, self.plural))

    @property
    def collection_path(self) -> str:
        """The ObjectStore's path for the kind, in the version that snapshots hold."""
        kind = self.known_kind
        prefix = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return kind.api_path if kind is not None else f"{prefix}/{self.plural}"

    @property
    def api_version(self) -> str:
        """`GROUP/VERSION`, the apiVersion of an object."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def object_key(self) -> str:
        """`namespace/name`; the bare name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


# Patches, as clients of Kubernetes send them.

JSON_PATCH, APPLY_PATCH = "application/json-patch+json", "application/apply-patch"
MERGE_KEYS = ("type", "name", "ip")
"""Merge keys of lists in a strategic merge patch: the first key that every element has identifies them."""


class PatchError(Exception):
    """Raised for a step of a JSON patch whose path does not exist; the whole patch is then rejected."""


def apply_patch(body: Json, patch: Json, content_type: str) -> Json:
    """The object after a JSON patch, a (strategic) merge patch or a server-side apply; `body` is not changed.

    Raises PatchError for a step of a JSON patch whose path does not exist.
    """
    if content_type.startswith(JSON_PATCH):
        for step in patch:
            body = _apply_step(copy.deepcopy(body), step)
        return body
    if content_type.startswith(APPLY_PATCH) and "status" in patch:
        # What its owner leaves out of an applied field is removed, and a scheduler owns the fields that it applies.
        return {**body, "status": {**(body.get("status") or {}), **patch["status"]}}
    return merge_patch(body, patch, strategic="strategic" in content_type)


def merge_patch(body: Json, patch: Json, *, strategic: bool = False) -> Json:
    """Apply a merge patch (RFC 7386); a strategic one also merges lists element by element, by MERGE_KEYS."""
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
    existing = body if isinstance(body, list) else []
    elements = [*existing, *patch]
    # Kubernetes takes the merge key from the Go struct's tags, which JSON does not carry.
    name = next((key for key in MERGE_KEYS if all(isinstance(e, dict) and key in e for e in elements)), "")
    if not name:
        return patch
    by_name = {element[name]: element for element in existing}
    for element in patch:
        if element.get("$patch") == "delete":
            by_name.pop(element[name], None)
        else:
            by_name[element[name]] = merge_patch(by_name.get(element[name]), element, strategic=True)
    return list(by_name.values())


def _apply_step(body: Json, step: JsonDict) -> Json:
    """Apply one step of a JSON patch (RFC 6902): add, replace or remove; a `test` step always passes."""
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


# Selectors of a list request: namespace, labels, fields.


def is_selected(item: Body, namespace: str, query: Mapping[str, str]) -> bool:
    """Whether an object is in the namespace (any if empty) and matches labelSelector and fieldSelector."""
    metadata = metadata_of(item)
    if namespace and metadata.get("namespace") != namespace:
        return False
    labels: JsonDict = metadata.get("labels") or {}
    terms = [(labels.get(key), expected, same) for key, expected, same in _selector_terms(query, "labelSelector")]
    terms += [
        (_field_value(item, path), expected, same) for path, expected, same in _selector_terms(query, "fieldSelector")
    ]
    return all(((value or "") == expected) is same for value, expected, same in terms)


def _selector_terms(query: Mapping[str, str], name: str) -> list[tuple[str, str, bool]]:
    """`a=b,c!=d` as (name, value, whether they must be equal)."""
    terms = []
    for part in query.get(name, "").split(","):
        key, _, value = part.partition("=")
        if key:
            terms.append((key.rstrip("!="), value.lstrip("="), not key.endswith("!")))
    return terms


def _field_value(item: Body, path: str) -> Json:
    value: Json = item
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


# Conversion to older API versions, as a real server does it.

FIRST_OF_DEVICES: Final = "resource.k8s.io/v1beta1"


def converted_object(body: Body, api_version: str) -> Body:
    """The object in resource.k8s.io/v1beta1 if `api_version` says so; any other object is returned unchanged."""
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
    """A device request in v1beta1, where the fields of `exactly` are in the request itself."""
    exactly = request.get("exactly")
    return request if exactly is None else {**{k: v for k, v in request.items() if k != "exactly"}, **exactly}


def _older_device(device: Body) -> Body:
    """A device in v1beta1, where every field except the name is in `basic`."""
    if "basic" in device:
        return device
    return {"name": device.get("name"), "basic": {k: v for k, v in device.items() if k != "name"}}


# Kubernetes' protobuf: clients send core kinds in it by default. Only the fields that a scheduler writes are decoded.

PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf"
PROTOBUF_MAGIC = b"k8s\x00"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class MessageField(NamedTuple):
    """A field that is decoded; `fields` are the fields of a message inside it."""

    name: str
    is_repeated: bool = False
    fields: Mapping[int, MessageField] | None = None
    pairs: bool = False
    """Whether the field is a map, with one entry per occurrence."""
    is_bool: bool = False
    """Whether the value is a bool."""


def _text_fields(**numbers: int) -> dict[int, MessageField]:
    """Fields with one text each, by their numbers in the message."""
    return {number: MessageField(name) for name, number in numbers.items()}


_ENTRY: Final = _text_fields(key=1, value=2)
_TYPE: Final = _text_fields(apiVersion=1, kind=2)
_METADATA: Final = {
    **_text_fields(name=1, generateName=2, namespace=3, uid=5),
    12: MessageField("annotations", fields=_ENTRY, pairs=True),
}
_CONDITION: Final = _text_fields(type=1, status=2, reason=5, message=6)
_POD_STATUS: Final = {**_text_fields(phase=1, nominatedNodeName=11), 2: MessageField("conditions", True, _CONDITION)}
_REFERENCE: Final = _text_fields(kind=1, namespace=2, name=3, uid=4, apiVersion=5)
_VOLUME_SPEC: Final = {4: MessageField("claimRef", fields=_REFERENCE)}
_OBJECT: Final = {1: MessageField("metadata", fields=_METADATA)}
_AMOUNTS: Final = {1: MessageField("key"), 2: MessageField("value", fields={1: MessageField("")})}
"""A quantity is a message with one string field; it decodes to that string."""
_DEVICE: Final = {
    **_text_fields(request=1, driver=2, pool=3, device=4, shareID=9),
    5: MessageField("adminAccess", is_bool=True),
    10: MessageField("consumedCapacity", fields=_AMOUNTS, pairs=True),
}
_REQUIREMENT: Final = {**_text_fields(key=1, operator=2), 3: MessageField("values", True)}
_TERM: Final = {
    1: MessageField("matchExpressions", True, _REQUIREMENT),
    2: MessageField("matchFields", True, _REQUIREMENT),
}
_ALLOCATION: Final = {
    1: MessageField("devices", fields={1: MessageField("results", True, _DEVICE)}),
    3: MessageField("nodeSelector", fields={1: MessageField("nodeSelectorTerms", True, _TERM)}),
}
_USER: Final = _text_fields(apiGroup=1, resource=3, name=4, uid=5)
_CLAIM_STATUS: Final = {1: MessageField("allocation", fields=_ALLOCATION), 2: MessageField("reservedFor", True, _USER)}
_FIELDS_BY_KIND: Final[Mapping[str, Mapping[int, MessageField]]] = {
    "Pod": {**_OBJECT, 3: MessageField("status", fields=_POD_STATUS)},
    "ResourceClaim": {**_OBJECT, 3: MessageField("status", fields=_CLAIM_STATUS)},
    "PersistentVolume": {**_OBJECT, 2: MessageField("spec", fields=_VOLUME_SPEC)},
}


def decode_object(content: bytes) -> Body:
    """The known fields of an encoded object; raises ValueError for malformed bytes."""
    if not content.startswith(PROTOBUF_MAGIC):
        raise ValueError("no object of Kubernetes in protobuf")
    envelope = {
        number: value for number, value in _iter_fields(content[len(PROTOBUF_MAGIC) :]) if isinstance(value, bytes)
    }
    type_meta = _decode_message(envelope.get(1, b""), _TYPE)
    return type_meta | _decode_message(envelope.get(2, b""), _FIELDS_BY_KIND.get(str(type_meta.get("kind")), _OBJECT))


def _decode_message(data: bytes, fields: Mapping[int, MessageField]) -> Body:
    body: Body = {}
    for number, value in _iter_fields(data):
        field = fields.get(number)
        if field is None or isinstance(value, bytes) is field.is_bool:
            continue
        read = _decode_value(field, value)
        if field.pairs and isinstance(read, dict):
            body.setdefault(field.name, {})[read.get("key", "")] = read.get("value", "")
        elif field.is_repeated:
            body.setdefault(field.name, []).append(read)
        else:
            body[field.name] = read
    return body


def _decode_value(field: MessageField, value: bytes | int) -> Json:
    if isinstance(value, int):
        return bool(value)
    if field.fields is None:
        return value.decode("utf-8", "replace")
    message = _decode_message(value, field.fields)
    return message.get("", message)


def _iter_fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """(number, value) of each field of a message, in wire order."""
    place = 0
    while place < len(data):
        key, place = _read_varint(data, place)
        number, form = key >> 3, key & 7
        if form == VARINT:
            value, place = _read_varint(data, place)
            yield number, value
            continue
        size, place = _read_varint(data, place) if form == BYTES else (_fixed_size(form), place)
        if place + size > len(data):
            raise ValueError("a field that breaks off")
        yield number, data[place : place + size]
        place += size


def _fixed_size(form: int) -> int:
    if form not in (FIXED64, FIXED32):
        raise ValueError(f"no form {form} of a field")
    return 8 if form == FIXED64 else 4


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while place < len(data):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
    raise ValueError("a number that breaks off")
