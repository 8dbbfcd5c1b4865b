"""The form of a stored recording: tables of objects by type, a column per attribute, and texts and arrays beside them.

A column holds a code and a number per value: the value itself, or the number of a text or an object.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from vcdebug.errors import VcdebugError
from vcdebug.snapshot.json_values import JsonDict
from vcdebug.snapshot.manifest import metadata_of

FILE_MAGIC: Final = b"vcdebug recording 1\n"
DIGEST_SIZE: Final = 32
"""Of everything behind it."""
ALIGNMENT: Final = 8

MISSING, NONE, BOOL, INT, FLOAT, TEXT, OBJECT, NAME, BIG, MOMENT = range(10)
LABELS, ANNOTATIONS, SPEC, STATUS = range(10, 14)
"""What a number of a column stands for: no attribute at all, None, a truth value, a number, a text, an object,
something that the program names (a class, a function, a member of an enumeration), a long number, a moment in time,
a part of the manifest with that number."""

TEXTS: Final = (TEXT, NAME, BIG, MOMENT)
"""Those that are kept as texts."""

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
"""Kinds of tables. Beside Python's own: arrays of numpy and of the module array, instances of a class, named tuples,
bound methods, calls with bound arguments, patterns, and manifests as JSON."""

MANIFEST_PARTS: Final = {"labels": LABELS, "annotations": ANNOTATIONS, "spec": SPEC, "status": STATUS}
"""What objects hold of their manifest, by attribute."""
_METADATA_PARTS: Final = ("labels", "annotations")


def manifest_part(manifest: JsonDict, name: str) -> Any:  # Any: whatever a manifest says
    """A part of a manifest by the attribute that holds it; None where it has none."""
    return metadata_of(manifest).get(name) if name in _METADATA_PARTS else manifest.get(name)


class ColumnForm(NamedTuple):
    """Where a column lies; codes and numbers that are the same throughout are stated here."""

    code: int
    """The code of all values; -1 where each has its own."""
    codes_at: int
    type: str
    """The type of the numbers in the module array's letters; empty where all are `number`."""
    at: int
    number: int


class TableForm(NamedTuple):
    """A table: objects of one type, numbered from the end of the table before."""

    kind: str
    type: str
    """The class of its objects as the program names it, where the kind does not say it."""
    size: int
    ends: ColumnForm | None
    """The column of ends of what the objects hold, for lists and their like."""
    names: list[str]
    columns: list[ColumnForm]


class StoredForm(NamedTuple):
    """What lies where."""

    program: str
    """What wrote it: another program may decide differently, and has other classes."""
    root: int
    size: int
    """Bytes behind this directory."""
    texts: tuple[int, int, int]
    """How many there are, where their ends lie, where they begin: they are in order."""
    tables: list[TableForm]


class UnstorableError(VcdebugError):
    """Something in the recording has no stored form."""


class DamagedRecordingError(VcdebugError):
    """The bytes are not those of a recording that was stored."""


class ForeignRecordingError(VcdebugError):
    """The recording was stored by another program; the message says by which."""
