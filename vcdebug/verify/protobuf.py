"""The little of Kubernetes' protobuf form that tells what a scheduler writes: which object, its annotations, a pod's
status, a volume's claim, the devices of a resource claim.

Clients of Kubernetes send the kinds of the core in this form of their own accord; answers may be JSON all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from vcdebug.snapshot.json_values import Json
from vcdebug.verify.messages import Body

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """A field of a message that is read; `parts` are the fields of a message in it."""

    name: str
    repeated: bool = False
    parts: Mapping[int, Field] | None = None
    pairs: bool = False
    """Whether each is one entry of a mapping."""
    yes: bool = False
    """Whether it is true or false."""


_ENTRY: Final = {1: Field("key"), 2: Field("value")}
_TYPE: Final = {1: Field("apiVersion"), 2: Field("kind")}
_METADATA: Final = {
    1: Field("name"),
    2: Field("generateName"),
    3: Field("namespace"),
    5: Field("uid"),
    12: Field("annotations", parts=_ENTRY, pairs=True),
}
_CONDITION: Final = {1: Field("type"), 2: Field("status"), 5: Field("reason"), 6: Field("message")}
_POD_STATUS: Final = {
    1: Field("phase"),
    2: Field("conditions", True, _CONDITION),
    11: Field("nominatedNodeName"),
}
_REFERENCE: Final = {1: Field("kind"), 2: Field("namespace"), 3: Field("name"), 4: Field("uid"), 5: Field("apiVersion")}
_VOLUME_SPEC: Final = {4: Field("claimRef", parts=_REFERENCE)}
_OBJECT: Final = {1: Field("metadata", parts=_METADATA)}
_AMOUNTS: Final = {1: Field("key"), 2: Field("value", parts={1: Field("")})}
"""A quantity is a message around a text, which stands for it."""
_TEXTS: Final = ("request", "driver", "pool", "device")
_DEVICE: Final = {
    **{number: Field(name) for number, name in enumerate(_TEXTS, 1)},
    5: Field("adminAccess", yes=True),
    9: Field("shareID"),
    10: Field("consumedCapacity", parts=_AMOUNTS, pairs=True),
}
_REQUIREMENT: Final = {1: Field("key"), 2: Field("operator"), 3: Field("values", True)}
_TERM: Final = {1: Field("matchExpressions", True, _REQUIREMENT), 2: Field("matchFields", True, _REQUIREMENT)}
_ALLOCATION: Final = {
    1: Field("devices", parts={1: Field("results", True, _DEVICE)}),
    3: Field("nodeSelector", parts={1: Field("nodeSelectorTerms", True, _TERM)}),
}
_USER: Final = {1: Field("apiGroup"), 3: Field("resource"), 4: Field("name"), 5: Field("uid")}
_CLAIM_STATUS: Final = {1: Field("allocation", parts=_ALLOCATION), 2: Field("reservedFor", True, _USER)}
_KINDS: Final[Mapping[str, Mapping[int, Field]]] = {
    "Pod": {**_OBJECT, 3: Field("status", parts=_POD_STATUS)},
    "ResourceClaim": {**_OBJECT, 3: Field("status", parts=_CLAIM_STATUS)},
    "PersistentVolume": {**_OBJECT, 2: Field("spec", parts=_VOLUME_SPEC)},
}


def decoded(content: bytes) -> Body:
    """The object with what is known of its fields; raises ValueError for what is no such message."""
    if not content.startswith(MAGIC):
        raise ValueError("no object of Kubernetes in protobuf")
    envelope = {number: value for number, value in _fields(content[len(MAGIC) :]) if isinstance(value, bytes)}
    head = _message(envelope.get(1, b""), _TYPE)
    return head | _message(envelope.get(2, b""), _KINDS.get(str(head.get("kind")), _OBJECT))


def _message(data: bytes, known: Mapping[int, Field]) -> Body:
    found: Body = {}
    for number, value in _fields(data):
        field = known.get(number)
        if field is None or isinstance(value, bytes) is field.yes:
            continue
        read = _read(field, value)
        if field.pairs and isinstance(read, dict):
            found.setdefault(field.name, {})[read.get("key", "")] = read.get("value", "")
        elif field.repeated:
            found.setdefault(field.name, []).append(read)
        else:
            found[field.name] = read
    return found


def _read(field: Field, value: bytes | int) -> Json:
    if isinstance(value, int):
        return bool(value)
    if field.parts is None:
        return value.decode("utf-8", "replace")
    found = _message(value, field.parts)
    return found.get("", found)


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Number and value of each field, in order."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, form = key >> 3, key & 7
        if form == VARINT:
            value, place = _varint(data, place)
            yield number, value
            continue
        size, place = _varint(data, place) if form == BYTES else (_fixed(form), place)
        if place + size > len(data):
            raise ValueError("a field that breaks off")
        yield number, data[place : place + size]
        place += size


def _fixed(form: int) -> int:
    if form not in (FIXED64, FIXED32):
        raise ValueError(f"no form {form} of a field")
    return 8 if form == FIXED64 else 4


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value, shift = 0, 0
    while place < len(data):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
    raise ValueError("a number that breaks off")
