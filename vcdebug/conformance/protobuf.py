"""The little of Kubernetes' protobuf form that tells what a scheduler writes: which object, its annotations, a pod's
status, a volume's claim, the devices of a resource claim.

Clients of Kubernetes send the kinds of the core in this form of their own accord; answers may be JSON all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from vcdebug.conformance.api_requests import Body
from vcdebug.snapshot.manifest import Json

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class MessageField(NamedTuple):
    """A field of a message that is read; `parts` are the fields of a message in it."""

    name: str
    repeated: bool = False
    parts: Mapping[int, MessageField] | None = None
    pairs: bool = False
    """Whether each is one entry of a mapping."""
    yes: bool = False
    """Whether it is true or false."""


_ENTRY: Final = {1: MessageField("key"), 2: MessageField("value")}
_TYPE: Final = {1: MessageField("apiVersion"), 2: MessageField("kind")}
_METADATA: Final = {
    1: MessageField("name"),
    2: MessageField("generateName"),
    3: MessageField("namespace"),
    5: MessageField("uid"),
    12: MessageField("annotations", parts=_ENTRY, pairs=True),
}
_CONDITION: Final = {
    1: MessageField("type"),
    2: MessageField("status"),
    5: MessageField("reason"),
    6: MessageField("message"),
}
_POD_STATUS: Final = {
    1: MessageField("phase"),
    2: MessageField("conditions", True, _CONDITION),
    11: MessageField("nominatedNodeName"),
}
_REFERENCE: Final = {
    1: MessageField("kind"),
    2: MessageField("namespace"),
    3: MessageField("name"),
    4: MessageField("uid"),
    5: MessageField("apiVersion"),
}
_VOLUME_SPEC: Final = {4: MessageField("claimRef", parts=_REFERENCE)}
_OBJECT: Final = {1: MessageField("metadata", parts=_METADATA)}
_AMOUNTS: Final = {1: MessageField("key"), 2: MessageField("value", parts={1: MessageField("")})}
"""A quantity is a message around a text, which stands for it."""
_TEXTS: Final = ("request", "driver", "pool", "device")
_DEVICE: Final = {
    **{number: MessageField(name) for number, name in enumerate(_TEXTS, 1)},
    5: MessageField("adminAccess", yes=True),
    9: MessageField("shareID"),
    10: MessageField("consumedCapacity", parts=_AMOUNTS, pairs=True),
}
_REQUIREMENT: Final = {1: MessageField("key"), 2: MessageField("operator"), 3: MessageField("values", True)}
_TERM: Final = {
    1: MessageField("matchExpressions", True, _REQUIREMENT),
    2: MessageField("matchFields", True, _REQUIREMENT),
}
_ALLOCATION: Final = {
    1: MessageField("devices", parts={1: MessageField("results", True, _DEVICE)}),
    3: MessageField("nodeSelector", parts={1: MessageField("nodeSelectorTerms", True, _TERM)}),
}
_USER: Final = {
    1: MessageField("apiGroup"),
    3: MessageField("resource"),
    4: MessageField("name"),
    5: MessageField("uid"),
}
_CLAIM_STATUS: Final = {1: MessageField("allocation", parts=_ALLOCATION), 2: MessageField("reservedFor", True, _USER)}
_KINDS: Final[Mapping[str, Mapping[int, MessageField]]] = {
    "Pod": {**_OBJECT, 3: MessageField("status", parts=_POD_STATUS)},
    "ResourceClaim": {**_OBJECT, 3: MessageField("status", parts=_CLAIM_STATUS)},
    "PersistentVolume": {**_OBJECT, 2: MessageField("spec", parts=_VOLUME_SPEC)},
}


def decode_object(content: bytes) -> Body:
    """The object with what is known of its fields; raises ValueError for what is no such message."""
    if not content.startswith(MAGIC):
        raise ValueError("no object of Kubernetes in protobuf")
    envelope = {number: value for number, value in _iter_fields(content[len(MAGIC) :]) if isinstance(value, bytes)}
    head = _decode_message(envelope.get(1, b""), _TYPE)
    return head | _decode_message(envelope.get(2, b""), _KINDS.get(str(head.get("kind")), _OBJECT))


def _decode_message(data: bytes, known: Mapping[int, MessageField]) -> Body:
    found: Body = {}
    for number, value in _iter_fields(data):
        field = known.get(number)
        if field is None or isinstance(value, bytes) is field.yes:
            continue
        read = _decode_value(field, value)
        if field.pairs and isinstance(read, dict):
            found.setdefault(field.name, {})[read.get("key", "")] = read.get("value", "")
        elif field.repeated:
            found.setdefault(field.name, []).append(read)
        else:
            found[field.name] = read
    return found


def _decode_value(field: MessageField, value: bytes | int) -> Json:
    if isinstance(value, int):
        return bool(value)
    if field.parts is None:
        return value.decode("utf-8", "replace")
    found = _decode_message(value, field.parts)
    return found.get("", found)


def _iter_fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Number and value of each field, in order."""
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
