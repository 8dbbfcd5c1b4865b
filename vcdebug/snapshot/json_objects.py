"""A fast reader of objects in large JSON files: it skips unread fields, and parses equal parts of objects once.

A text in doubt (a wrong type, an odd escape) is left to `json_documents`, which reports Problems; on all other texts
both readers give the same objects.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypedDict, TypeGuard

import msgspec
from msgspec import Raw
from msgspec.json import Decoder

from vcdebug.snapshot import json_documents
from vcdebug.snapshot.json_documents import ObjectText, OpenList, ReadSoFar
from vcdebug.snapshot.kinds import find_kind
from vcdebug.snapshot.schema import SHAPES
from vcdebug.snapshot.shapes import MAX_PARTS, TEXT, ListOf, MisfitError, ObjectIntake, Shape, Struct
from vcdebug.snapshot.snapshot import Manifest

_PROGRESS_BYTES: Final = 1 << 20
"""Bytes between two calls of `read_so_far`."""
_REFUSED: Final = (msgspec.DecodeError, RecursionError)
_IN_DOUBT: Final = (MisfitError, ValueError, RecursionError)
"""Errors for which the fast reader leaves a text to the slower one."""
_typed_dict: Any = TypedDict


class _Head(TypedDict, total=False):
    kind: str
    apiVersion: str


class _Listed(_Head, total=False):
    items: list[Raw]


_HEAD: Final = Decoder(_Head)
_LIST: Final = Decoder(_Listed)
_DOCUMENT: Final = Decoder(Raw)
_PART: Final = json.JSONDecoder()


def object_texts(data: bytes, read_so_far: ReadSoFar | None) -> Iterator[OpenList | ObjectText] | None:
    """A List with unparsed items, or the unparsed documents of a file; None for anything else and for invalid JSON.

    `data` must be valid UTF-8, since skipped parts are never decoded.
    """
    try:
        listed = _LIST.decode(data)
    except _REFUSED:
        return _document_texts(data, read_so_far)
    kind, items = listed.get("kind", ""), listed.get("items")
    if items is None or not kind.endswith("List"):
        return None
    return iter((OpenList(kind, listed.get("apiVersion"), _iter_texts(items, data, read_so_far)),))


def _document_texts(data: bytes, read_so_far: ReadSoFar | None) -> Iterator[ObjectText] | None:
    try:
        texts = _DOCUMENT.decode_lines(data)
    except _REFUSED:
        return None
    if any(memoryview(text).nbytes >= json_documents.WINDOW for text in texts):
        return None
    return _iter_texts(texts, data, read_so_far)


def _iter_texts(texts: list[Raw], data: bytes, read_so_far: ReadSoFar | None) -> Iterator[ObjectText]:
    byte_count = reported = 0
    for text in texts:
        yield ObjectText(text)
        byte_count += memoryview(text).nbytes
        if read_so_far is not None and byte_count - reported >= _PROGRESS_BYTES:
            reported = byte_count
            read_so_far(byte_count)
    if read_so_far is not None:
        read_so_far(len(data))


class ObjectReader:
    """Reads unparsed objects of any kind that has a shape; fastest where consecutive objects have one kind."""

    def __init__(self, intake: ObjectIntake) -> None:
        self._intake = intake
        self._last = ("", "")
        """Kind and apiVersion of the previous object."""
        self._decoders: dict[str, tuple[Decoder[Any], _FieldFinisher]] = {}

    def read_object(self, text: Raw, defaults: Mapping[str, Any]) -> Manifest | None:
        """The object as Shape.slim_value makes it, or None in doubt. `defaults`: kind and apiVersion of the List."""
        try:
            fields = self._decode_fields(text, defaults)
            if "kind" not in fields:
                fields = {**defaults, **fields}
            kind, version = fields["kind"], fields.get("apiVersion", "")
            if (kind, version) != self._last:
                row = find_kind(kind, version)
                if row is None or row.settings:
                    return None
                self._last = kind, version
            return self._decoders[kind][1].finish_fields(fields)
        except _IN_DOUBT:
            return None

    def _decode_fields(self, text: Raw, defaults: Mapping[str, Any]) -> Manifest:
        """The object's fields, some of them still unparsed."""
        # Tried with the decoder of the previous kind first: a second pass only to find the kind is rarely needed.
        last = self._last[0]
        if last:
            try:
                fields: Manifest = self._decoders[last][0].decode(text)
            except msgspec.ValidationError:
                pass
            else:
                if fields.get("kind", defaults.get("kind")) == last:
                    return fields
        kind: str = _HEAD.decode(text).get("kind", defaults.get("kind", ""))
        return self._decoder_of(kind).decode(text)

    def _decoder_of(self, kind: str) -> Decoder[Manifest]:
        entry = self._decoders.get(kind)
        if entry is None:
            shape = SHAPES.get(kind)
            if shape is None:
                raise MisfitError
            entry = self._decoders[kind] = Decoder(_type_of_fields(shape)), _FieldFinisher(shape, self._intake)
        return entry[0]


def _is_open(shape: Shape) -> TypeGuard[Struct]:
    """Whether a value is decoded field by field; other values, except texts, are parts that objects share."""
    return isinstance(shape, Struct) and bool(shape.fields) and not shape.is_shared


def _type_of(shape: Shape) -> Any:
    """The msgspec type of a value."""
    if _is_open(shape):
        return _type_of_fields(shape)
    return str if shape is TEXT else Raw


def _type_of_fields(shape: Struct) -> Any:
    return _typed_dict("Fields", {name: _type_of(field) for name, field in shape.fields.items()}, total=False)


class _PartCache(dict[bytes, Any]):
    """Cache: unparsed text → value of one shape; missing values are parsed."""

    def __init__(self, shape: Shape, intake: ObjectIntake) -> None:
        self._shape = shape
        self._intake = intake
        self._read: Callable[[bytes], Any] | None = None

    def __missing__(self, text: bytes) -> Any:
        if len(self) > MAX_PARTS:
            self.clear()
        if self._read is None:
            self._read = _reader_of(self._shape, self._intake)
        part = self[text] = self._intake.intern_part(self._read(text), self._shape)
        return part


def _reader_of(shape: Shape, intake: ObjectIntake) -> Callable[[bytes], Any]:
    """A function that parses a part: structs field by field, lists of structs one by one, the rest by Python's json."""
    if isinstance(shape, Struct) and shape.fields:
        decoder, fields = Decoder(_type_of_fields(shape)), _FieldFinisher(shape, intake)
        return lambda text: fields.finish_fields(decoder.decode(text))
    if isinstance(shape, ListOf) and _is_open(shape.item):
        listed, item_fields = Decoder(list[_type_of_fields(shape.item)]), _FieldFinisher(shape.item, intake)  # type: ignore[misc]
        return lambda text: [item_fields.finish_fields(item) for item in listed.decode(text)]
    return lambda text: shape.slim_value(_PART.raw_decode(text.decode())[0], intake)


class _FieldFinisher:
    """Parses the fields of one shape that the decoder has left as text."""

    __slots__ = ("_inner", "_share_text", "_parts")

    def __init__(self, shape: Struct, intake: ObjectIntake) -> None:
        self._share_text = intake.share_text
        self._inner = {name: _FieldFinisher(field, intake) for name, field in shape.fields.items() if _is_open(field)}
        self._parts = {name: _PartCache(field, intake) for name, field in shape.fields.items()}

    def finish_fields(self, fields: Manifest) -> Manifest:
        share_text, parts, inner = self._share_text, self._parts, self._inner
        for name, value in fields.items():
            if type(value) is str:
                fields[name] = share_text(value, value)
            elif type(value) is Raw:
                fields[name] = parts[name][bytes(value)]
            else:
                inner[name].finish_fields(value)
        return fields
