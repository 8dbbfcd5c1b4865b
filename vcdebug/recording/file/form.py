"""The form of a stored recording: tables of objects by type with a column per attribute, then texts and arrays.

A column holds a code and a number per value: the value itself, or the number of a text or an object.
"""

import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any, Final, NamedTuple

import numpy as np

from vcdebug.errors import VcdebugError
from vcdebug.grouping import split_names
from vcdebug.snapshot.manifest import JsonDict, metadata_of

FILE_MAGIC: Final = b"vcdebug recording 1\n"
DIGEST_SIZE: Final = 32
"""Bytes of the checksum over everything behind it."""
ALIGNMENT: Final = 8

MISSING, NONE, BOOL, INT, FLOAT, TEXT, OBJECT, NAME, BIG, MOMENT = range(10)
LABELS, ANNOTATIONS, SPEC, STATUS = range(10, 14)
"""What a number of a column means: no attribute at all, None, a truth value, a number, a text, an object,
something that the program names (a class, a function, a member of an enumeration), a long number, a moment in time,
a part of the manifest with that number."""

TEXTS: Final = (TEXT, NAME, BIG, MOMENT)
"""Codes whose values are stored as texts."""

LIST: Final = "list"
TUPLE: Final = "tuple"
SET: Final = "set"
FROZEN: Final = "frozenset"
DICT: Final = "dict"
PROXY: Final = "proxy"
ARRAY: Final = "array"
NUMBERS: Final = "numbers"
INSTANCE: Final = "instance"
FIELDS: Final = "fields"
METHOD: Final = "method"
PARTIAL: Final = "partial"
PATTERN: Final = "pattern"
MANIFEST: Final = "manifest"
TABLE_KINDS: Final = (
    *(LIST, TUPLE, SET, FROZEN, DICT, PROXY, ARRAY, NUMBERS),
    *(INSTANCE, FIELDS, METHOD, PARTIAL, PATTERN, MANIFEST),
)
"""Kinds of tables. Besides Python's own: arrays of numpy and of the module array, instances of a class, named tuples,
bound methods, calls with bound arguments, patterns, and manifests as JSON."""

MANIFEST_PARTS: Final = {"labels": LABELS, "annotations": ANNOTATIONS, "spec": SPEC, "status": STATUS}
"""Attribute that holds a part of the object's manifest → its code."""
_METADATA_PARTS: Final = ("labels", "annotations")


def manifest_part(manifest: JsonDict, name: str) -> Any:  # Any: whatever a manifest says
    """The part of a manifest that the attribute `name` holds; None if the manifest has no such part."""
    return metadata_of(manifest).get(name) if name in _METADATA_PARTS else manifest.get(name)


class ColumnForm(NamedTuple):
    """Offsets of a column; a code or number that all values share is stated here instead."""

    code: int
    """The code of all values; -1 where each has its own."""
    codes_at: int
    type: str
    """Type code of the numbers, as in the module array; empty where all of them equal `number`."""
    at: int
    number: int


class TableForm(NamedTuple):
    """A table: objects of one type, numbered from the end of the table before."""

    kind: str
    type: str
    """The class of its objects as the program names it, where the kind does not say it."""
    size: int
    ends: ColumnForm | None
    """For containers: the column with the end of each object's items; None for other kinds."""
    names: list[str]
    columns: list[ColumnForm]


class StoredForm(NamedTuple):
    """The directory of a stored recording."""

    program: str
    """Program that wrote the file; others cannot read it, because their decisions and classes may differ."""
    root: int
    size: int
    """Number of bytes after this directory."""
    texts: tuple[int, int, int]
    """(count, offset of their ends, offset of the first one); texts are in ascending order."""
    tables: list[TableForm]


class UnstorableError(VcdebugError):
    """Raised if an object of the recording has no stored form."""


class DamagedRecordingError(VcdebugError):
    """Raised for bytes that are not an undamaged stored recording."""


class ForeignRecordingError(VcdebugError):
    """Raised for a recording that another program stored; the message names that program."""


# The classes, functions and enumeration members that a stored recording may name, and nothing else.

NAMEABLE_ROOMS: Final = split_names("releases snapshot model kube framework plugins actions recording explain")
"""Packages whose classes a stored recording may name."""
CALLABLE_ROOMS: Final = ("model", "kube", "framework", "plugins", "recording")
"""Packages whose functions a stored recording may name; functions of other packages may read files."""
FILE_FORMAT_PACKAGE: Final = "vcdebug.recording.file"
"""The package of this format: nothing in it may be named, since a file must not call its own reader."""
BUILT_IN_TYPES: Final[dict[str, type]] = {
    kind.__name__: kind for kind in (float, int, str, bool, object, dict, list, tuple)
}
NamedThing = Any  # Any: a class, a function, or a member of an enumeration


def stored_name(item: NamedThing) -> str:
    """The name of a class, function or enumeration member in a stored recording; raises UnstorableError without one."""
    if isinstance(item, Enum):
        return f"{stored_name(type(item))}:{item.name}"
    if item in BUILT_IN_TYPES.values():
        return f"builtins:{item.__name__}"
    name = f"{item.__module__}:{item.__qualname__}"
    try:
        same = object_named(name) is item
    except DamagedRecordingError as error:
        raise UnstorableError(f"{item!r}: {error}") from error
    if not same:
        raise UnstorableError(f"{item!r} is not what {name} names")
    return name


@cache
def object_named(name: str) -> NamedThing:
    """The class, function or member of this name; raises DamagedRecordingError for what no recording may name."""
    module, _, path = name.partition(":")
    if module == "builtins":
        return _built_in_type(path)
    room = module.split(".")[1] if module.startswith("vcdebug.") else ""
    if room not in NAMEABLE_ROOMS or module.startswith(FILE_FORMAT_PACKAGE):
        raise DamagedRecordingError(f"{name} is not part of a recording")
    qualname, _, member = path.partition(":")
    definition = _find_in_module(module, qualname)
    if getattr(definition, "__module__", None) != module or getattr(definition, "__qualname__", None) != qualname:
        raise DamagedRecordingError(f"{name} is defined elsewhere")
    if isinstance(definition, FunctionType) and definition.__name__ == qualname and room in CALLABLE_ROOMS:
        return definition
    if not isinstance(definition, type):
        raise DamagedRecordingError(f"{name} is not a class")
    if member:
        return _enum_member(definition, member)
    return definition


def _built_in_type(path: str) -> type:
    if path not in BUILT_IN_TYPES:
        raise DamagedRecordingError(f"{path} is not part of a recording")
    return BUILT_IN_TYPES[path]


def _find_in_module(module: str, qualname: str) -> NamedThing:
    try:
        definition: NamedThing = sys.modules.get(module) or import_module(module)
        for part in qualname.split("."):
            definition = getattr(definition, part)
    except (ImportError, AttributeError) as error:
        raise DamagedRecordingError(f"{module} has no {qualname}") from error
    return definition


def _enum_member(kind: type, name: str) -> Enum:
    if not issubclass(kind, Enum) or name not in kind.__members__:
        raise DamagedRecordingError(f"{kind.__name__} has no {name}")
    return kind.__members__[name]


# A checksum against damage, not against forgery: row and column sums cost less than reading the file from a disk.

Buffer = bytes | memoryview
_SQUARE_SIDE: Final = 512
"""Words in a row, and rows."""
_SQUARE_BYTES: Final = _SQUARE_SIDE * _SQUARE_SIDE * 8
"""Bytes: 2 MB."""


def square_checksum(pieces: Iterable[Buffer]) -> bytes:
    """32 bytes over all pieces one behind the other; where they are cut makes no difference."""
    import hashlib

    digest, size = hashlib.sha256(), 0
    for square in _iter_squares(pieces):
        size += len(square)
        words = np.frombuffer(_pad_to_row(square), dtype=np.uint64).reshape(-1, _SQUARE_SIDE)
        digest.update(words.sum(axis=0))
        digest.update(words.sum(axis=1))
    digest.update(str(size).encode())
    return digest.digest()


def _pad_to_row(square: Buffer) -> Buffer:
    """The last square, filled with zeros to a whole row."""
    missing = -len(square) % (_SQUARE_SIDE * 8)  # exact: ints
    return bytes(square) + bytes(missing) if missing else square


def _iter_squares(pieces: Iterable[Buffer]) -> Iterator[Buffer]:
    """All bytes in squares; a square within one piece is not copied."""
    waiting = bytearray()
    for buffer in pieces:
        view, start = memoryview(buffer).cast("B"), 0
        if waiting:
            start = min(_SQUARE_BYTES - len(waiting), len(view))
            waiting += view[:start]
            if len(waiting) < _SQUARE_BYTES:
                continue
            yield bytes(waiting)
            waiting.clear()
        end = start + (len(view) - start) // _SQUARE_BYTES * _SQUARE_BYTES  # exact: ints
        for offset in range(start, end, _SQUARE_BYTES):
            yield view[offset : offset + _SQUARE_BYTES]
        waiting += view[end:]
    if waiting:
        yield bytes(waiting)
