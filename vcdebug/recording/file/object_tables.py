"""Stores a recording: all objects that it reaches, gathered by type, whole columns at a time."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import partial
from itertools import accumulate, chain, compress
from operator import attrgetter
from types import FunctionType, MappingProxyType, MemberDescriptorType, MethodType
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from vcdebug.model.names import IntArray
from vcdebug.recording.event_index import Numbering
from vcdebug.recording.file import form, lazy_objects
from vcdebug.recording.recording import Recording

Held = Any  # Any: whatever a recording holds
CallStep = Callable[[], object]
_CODE_BY_TYPE: Final[Mapping[type, int]] = {
    type(None): form.NONE,
    bool: form.BOOL,
    int: form.INT,
    float: form.FLOAT,
    str: form.TEXT,
    datetime: form.MOMENT,
}
_NAMED_TYPES: Final = (type, FunctionType, Enum)
_NO_ATTRIBUTE: Final = object()
_LARGEST: Final = 2**63


class ObjectTables:
    """Tables of all objects below a recording."""

    def __init__(self, recording: Recording, step: CallStep) -> None:
        self.texts = Numbering[str]()
        self.tables: list[ObjectTable] = []
        self.pieces = BytePieces()
        self.count = 0
        self._number_of: dict[int, int] = {}
        """Identity of an object → its number."""
        self._waiting: dict[tuple[type, str], tuple[list[int], list[Held]]] = {}
        """(type, holder) → numbers and objects without a table yet; the holder is empty except for containers."""
        self._kept_alive: list[list[Held]] = []
        """Objects are kept alive: an object made later could otherwise get the identity of a numbered one."""
        self._add_manifests(recording.snapshot.objects)
        self._wholes = self.count
        _ = recording.timeline.opening_tasks, recording.timeline.opening_counts, recording.own_problems
        root_tuple = (recording, *(question(recording) for question in lazy_objects.STORED_ANSWERS))
        self.root = int(self._encode_values([root_tuple], "").numbers[0])
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            for (kind, held_by), (numbers, objects) in waiting.items():
                step()
                self._kept_alive.append(objects)
                self._add_table(kind, held_by, numbers, objects)

    # Objects

    def _add_manifests(self, objects: Mapping[str, Sequence[Held]]) -> None:
        """Store each manifest as one JSON text."""
        every = list(chain.from_iterable(objects.values()))
        encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode
        try:
            texts = [encode(manifest).encode("utf-8", "surrogatepass") for manifest in every]
        except (TypeError, ValueError) as error:
            raise form.UnstorableError(f"a manifest is not JSON: {error}") from error
        table = ObjectTable(form.MANIFEST, "", self._number_objects(every))
        table.ends = ColumnValues.of_numbers(accumulate(map(len, texts)), len(texts))
        table.append_column("at", ColumnValues.of_one_number(self.pieces.place_bytes(b"".join(texts)), len(texts)))
        self.tables.append(table)

    def _number_objects(self, objects: Sequence[Held]) -> list[int]:
        numbers = list(range(self.count, self.count + len(objects)))
        self.count += len(objects)
        self._number_of.update(zip(map(id, objects), numbers, strict=True))
        return numbers

    def _add_table(self, kind: type, held_by: str, numbers: list[int], objects: list[Held]) -> None:
        holder = CONTAINER_FORMS.get(kind)
        if holder is not None:
            table = ObjectTable(holder.kind, "", numbers, held_by)
            holder.fill_table(self, table, objects)
        elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
            table = ObjectTable(form.FIELDS, form.stored_name(kind), numbers)
            for number, name in enumerate(kind._fields):
                self.add_column(table, name, [item[number] for item in objects])
        else:
            table = self._instance_table(kind, numbers, objects)
        self.tables.append(table)

    def _instance_table(self, kind: type, numbers: list[int], objects: list[Held]) -> ObjectTable:
        """A table of instances; the items of a dict or list subclass come before the attributes."""
        holder = next((CONTAINER_FORMS[base] for base in (dict, list) if issubclass(kind, base)), None)
        if holder is None and (issubclass(kind, _UNSTORABLE_BASES) or not kind.__module__.startswith("vcdebug.")):
            raise form.UnstorableError(f"{kind.__module__}.{kind.__qualname__} has no stored form")
        table = ObjectTable(form.INSTANCE if holder is None else holder.kind, form.stored_name(kind), numbers)
        if holder is not None:
            holder.fill_table(self, table, objects)
        left_out = lazy_objects.STORED_INSTEAD.get(table.type_name, {})
        for name, values in _attribute_columns(kind, objects):
            if name in left_out:
                values = [left_out[name]] * len(objects)
            if name in form.MANIFEST_PARTS and hasattr(objects[0], "manifest"):
                table.append_column(name, self._part_values(name, [item.manifest for item in objects], values))
            elif not name.startswith("__"):
                self.add_column(table, name, values)
        return table

    def _part_values(self, name: str, manifests: list[Held], values: list[Held]) -> ColumnValues:
        """Encodes an attribute whose values are parts of manifests: each is stored as the number of its manifest."""
        wholes = [self._number_of.get(id(manifest), self._wholes) for manifest in manifests]
        same = [
            number < self._wholes and form.manifest_part(manifest, name) is value
            for number, manifest, value in zip(wholes, manifests, values, strict=True)
        ]
        plain = self._encode_values([None if part else value for part, value in zip(same, values, strict=True)], name)
        chosen = np.array(same)
        numbers = np.where(chosen, np.array(wholes, dtype=np.int64), plain.numbers)
        return ColumnValues(
            -1, numbers, np.where(chosen, form.MANIFEST_PARTS[name], plain.all_codes()).astype(np.uint8)
        )

    # Columns

    def add_column(self, table: ObjectTable, name: str, values: list[Held]) -> None:
        """One more attribute of a table's objects."""
        table.append_column(name, self._encode_values(values, f"{table.path}.{name}"))

    def _encode_values(self, values: list[Held], held_by: str) -> ColumnValues:
        types = dict.fromkeys(map(type, values))
        if any(lazy_objects.FILL_MARK in vars(kind) for kind in types):
            lazy_objects.fill_instances(values)
            types = dict.fromkeys(map(type, values))
        if len(types) == 1:
            return ColumnValues(*self._encode_one_type(next(iter(types)), values, held_by))
        kinds = Numbering[type]()
        numbered = kinds.numbers_of(map(type, values), len(values))
        codes = np.zeros(len(values), dtype=np.uint8)
        numbers = np.zeros(len(values), dtype=np.int64)
        for kind, number in kinds.items():
            chosen = numbered == number
            same_kind = list(compress(values, chosen.tolist()))
            codes[chosen], numbers[chosen] = self._encode_one_type(kind, same_kind, held_by)
        return ColumnValues(-1, numbers, codes)

    def _encode_one_type(self, kind: type, values: list[Held], held_by: str) -> tuple[int, IntArray]:
        code = _CODE_BY_TYPE.get(kind)
        if code is None:
            code, values = self._encode_named(kind, values, held_by)
        elif code == form.MOMENT:
            values = [value.isoformat() for value in values]
        elif code == form.INT and not -_LARGEST <= min(values) <= max(values) < _LARGEST:
            code, values = form.BIG, list(map(str, values))
        if code in (form.NONE, form.MISSING):
            return code, np.zeros(len(values), dtype=np.int64)
        if code == form.FLOAT:
            return code, np.array(values, dtype=np.float64).view(np.int64)
        if code in (form.TEXT, form.NAME, form.BIG, form.MOMENT):
            return code, self.texts.numbers_of(values, len(values))
        return code, np.fromiter(values, dtype=np.int64, count=len(values))

    def _encode_named(self, kind: type, values: list[Held], held_by: str) -> tuple[int, list[Held]]:
        if kind is object:
            if any(value is not _NO_ATTRIBUTE for value in values):
                raise form.UnstorableError("a mere object has no stored form")
            return form.MISSING, values
        if issubclass(kind, _NAMED_TYPES):
            names = {value: form.stored_name(value) for value in dict.fromkeys(values)}
            return form.NAME, list(map(names.__getitem__, values))
        return form.OBJECT, self._object_numbers(kind, values, held_by)

    def _object_numbers(self, kind: type, values: list[Held], held_by: str) -> list[int]:
        """Numbers of the objects; new objects are numbered and queued for a table."""
        number_of = self._number_of
        ids = list(map(id, values))
        numbers = list(map(number_of.get, ids))
        unknown = numbers.count(None)
        if not unknown:
            return numbers  # type: ignore[return-value]
        if unknown < len(ids):
            missing = [number is None for number in numbers]
            distinct = dict(zip(compress(ids, missing), compress(values, missing), strict=True))
        else:
            distinct = dict(zip(ids, values, strict=True))
        new = list(distinct.values())
        waiting, objects = self._waiting.setdefault((kind, held_by if kind in PLAIN_CONTAINERS else ""), ([], []))
        waiting += self._number_objects(new)
        objects += new
        return list(map(number_of.__getitem__, ids))


_UNSTORABLE_BASES: Final = (tuple, set, frozenset, str, int, float, BaseException)


def _attribute_columns(kind: type, objects: list[Held]) -> Iterator[tuple[str, list[Held]]]:
    """(attribute, its values), _NO_ATTRIBUTE for an object without it."""
    for name in _slots_of(kind):
        try:
            yield name, list(map(attrgetter(name), objects))
        except AttributeError:
            yield name, [getattr(item, name, _NO_ATTRIBUTE) for item in objects]
    if hasattr(objects[0], "__dict__"):
        dictionaries = [item.__dict__ for item in objects]
        for name in dict.fromkeys(chain.from_iterable(dictionaries)):
            yield name, [attributes.get(name, _NO_ATTRIBUTE) for attributes in dictionaries]


def _slots_of(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        for name, member in vars(base).items():
            if type(member) is MemberDescriptorType and base.__module__.startswith("vcdebug."):
                yield name


# Tables while a recording is being stored: numbers and codes per attribute, and the offsets of bytes.

Buffer = bytes | memoryview
Codes = npt.NDArray[np.uint8]
_SMALL_TYPES: Final = (("B", np.uint8, 2**8 - 1), ("H", np.uint16, 2**16 - 1), ("I", np.uint32, 2**32 - 1))


class BytePieces:
    """Pieces of bytes one behind the other, each aligned for numbers of any size."""

    def __init__(self) -> None:
        self.data: list[Buffer] = []
        self.size = 0

    def place_bytes(self, data: Buffer) -> int:
        """Append the bytes; returns their offset."""
        offset = self.size
        padding = -len(data) % form.ALIGNMENT  # exact: ints
        self.data.append(data)
        if padding:
            self.data.append(bytes(padding))
        self.size += len(data) + padding
        return offset


class ColumnValues(Struct, eq=False):
    """Codes and numbers of the values of one column."""

    code: int
    numbers: IntArray
    codes: Codes | None = None

    @classmethod
    def of_numbers(cls, numbers: Iterable[int], count: int) -> ColumnValues:
        """A column of plain numbers."""
        return cls(form.INT, np.fromiter(numbers, dtype=np.int64, count=count))

    @classmethod
    def of_one_number(cls, number: int, count: int) -> ColumnValues:
        """A column of the same number."""
        return cls(form.INT, np.full(count, number, dtype=np.int64))

    def all_codes(self) -> Codes:
        return np.full(len(self.numbers), self.code, dtype=np.uint8) if self.codes is None else self.codes

    def renumber_values(self, final: IntArray, texts: IntArray) -> None:
        """Replace the numbers in order of discovery: objects by table, texts in ascending order."""
        if self.codes is None:
            if self.code in (form.OBJECT, *form.TEXTS):
                self.numbers = (final if self.code == form.OBJECT else texts)[self.numbers]
            return
        chosen = (self.codes == form.OBJECT) | (self.codes >= form.LABELS)
        self.numbers[chosen] = final[self.numbers[chosen]]
        are_texts = np.isin(self.codes, form.TEXTS)
        self.numbers[are_texts] = texts[self.numbers[are_texts]]

    def column_form(self, pieces: BytePieces) -> form.ColumnForm:
        """Append the column to the pieces; returns its form."""
        codes_at = 0 if self.codes is None else pieces.place_bytes(self.codes.tobytes())
        numbers = self.numbers
        if not len(numbers):
            return form.ColumnForm(self.code, codes_at, "", 0, 0)
        low, high = int(numbers.min()), int(numbers.max())
        if low == high:
            return form.ColumnForm(self.code, codes_at, "", 0, low)
        letter, small = next(
            (small_type[:2] for small_type in _SMALL_TYPES if small_type[2] >= high and low >= 0), ("q", np.int64)
        )
        return form.ColumnForm(self.code, codes_at, letter, pieces.place_bytes(numbers.astype(small).tobytes()), 0)


class ObjectTable:
    """Objects of one type, and what they hold."""

    def __init__(self, kind: str, type_name: str, numbers: list[int], held_by: str = "") -> None:
        self.kind = kind
        self.type_name = type_name
        self.path = held_by or type_name
        """The objects' class, or the attribute that holds them."""
        self.numbers = numbers
        """Their numbers in the order in which they were found."""
        self.ends: ColumnValues | None = None
        self.names: list[str] = []
        self.columns: list[ColumnValues] = []

    def append_column(self, name: str, column: ColumnValues) -> None:
        """One more attribute."""
        self.names.append(name)
        self.columns.append(column)

    def table_form(self, pieces: BytePieces, final: IntArray, texts: IntArray) -> form.TableForm:
        """Append the column to the pieces; returns its form."""
        for column in self.columns:
            column.renumber_values(final, texts)
        ends = None if self.ends is None else self.ends.column_form(pieces)
        columns = [column.column_form(pieces) for column in self.columns]
        return form.TableForm(self.kind, self.type_name, len(self.numbers), ends, self.names, columns)


# How containers and arrays are stored: as columns of their contents.

HeldObject = Any  # Any: whatever a recording holds
Array = npt.NDArray[Any]  # Any: of any numbers
FillTable = Callable[["ObjectTables", ObjectTable, list[HeldObject]], None]


def _hold_items(gathered: ObjectTables, table: ObjectTable, objects: Sequence[Collection[HeldObject]]) -> None:
    table.ends = ColumnValues.of_numbers(accumulate(map(len, objects)), len(objects))
    gathered.add_column(table, "items", list(chain.from_iterable(objects)))


def _hold_sorted_items(gathered: ObjectTables, table: ObjectTable, objects: Sequence[Collection[HeldObject]]) -> None:
    # Sets in order of repr: their own order differs from process to process, and with it the file.
    _hold_items(gathered, table, [sorted(item, key=repr) for item in objects])


def _hold_pairs(gathered: ObjectTables, table: ObjectTable, objects: list[Mapping[HeldObject, HeldObject]]) -> None:
    table.ends = ColumnValues.of_numbers(accumulate(map(len, objects)), len(objects))
    gathered.add_column(table, "keys", list(chain.from_iterable(objects)))
    gathered.add_column(table, "values", list(chain.from_iterable(item.values() for item in objects)))


def _hold_proxies(gathered: ObjectTables, table: ObjectTable, objects: list[Mapping[HeldObject, HeldObject]]) -> None:
    gathered.add_column(table, "of", [dict(item) for item in objects])


def _hold_arrays(gathered: ObjectTables, table: ObjectTable, objects: list[Array]) -> None:
    if any(item.dtype.hasobject for item in objects):
        raise form.UnstorableError("an array holds objects")
    gathered.add_column(table, "type", [item.dtype.str for item in objects])
    gathered.add_column(table, "shape", ["x".join(map(str, item.shape)) for item in objects])
    gathered.add_column(table, "repeats", list(map(_is_repeated, objects)))
    gathered.add_column(table, "writeable", [bool(item.flags.writeable) for item in objects])
    gathered.add_column(table, "at", [gathered.pieces.place_bytes(_array_bytes(item)) for item in objects])


def _is_repeated(values: Array) -> bool:
    return values.size > 1 and not any(values.strides)


def _array_bytes(values: Array) -> Buffer:
    if not values.size:
        return b""
    first: bytes = values.flat[0].tobytes()
    return first if _is_repeated(values) else np.ascontiguousarray(values).data.cast("B")


def _hold_numbers(gathered: ObjectTables, table: ObjectTable, objects: list[array[HeldObject]]) -> None:
    gathered.add_column(table, "type", [item.typecode for item in objects])
    gathered.add_column(table, "size", [len(item) * item.itemsize for item in objects])
    gathered.add_column(table, "at", [gathered.pieces.place_bytes(item.tobytes()) for item in objects])


def _hold_methods(gathered: ObjectTables, table: ObjectTable, objects: list[MethodType]) -> None:
    gathered.add_column(table, "of", [item.__self__ for item in objects])
    gathered.add_column(table, "name", [item.__name__ for item in objects])


def _hold_partials(gathered: ObjectTables, table: ObjectTable, objects: list[partial[HeldObject]]) -> None:
    if any(item.keywords for item in objects):
        raise form.UnstorableError("a call has bound keywords")
    gathered.add_column(table, "function", [item.func for item in objects])
    gathered.add_column(table, "arguments", [item.args for item in objects])


def _hold_patterns(gathered: ObjectTables, table: ObjectTable, objects: list[re.Pattern[str]]) -> None:
    gathered.add_column(table, "pattern", [item.pattern for item in objects])
    gathered.add_column(table, "flags", [item.flags for item in objects])


class ContainerForm(NamedTuple):
    """The kind of table for a container type, and the function that fills the table."""

    kind: str
    fill_table: FillTable


CONTAINER_FORMS: Final[Mapping[type, ContainerForm]] = {
    list: ContainerForm(form.LIST, _hold_items),
    tuple: ContainerForm(form.TUPLE, _hold_items),
    set: ContainerForm(form.SET, _hold_sorted_items),
    frozenset: ContainerForm(form.FROZEN, _hold_sorted_items),
    dict: ContainerForm(form.DICT, _hold_pairs),
    lazy_objects.LazyList: ContainerForm(form.LIST, _hold_items),
    lazy_objects.LazyMapping: ContainerForm(form.DICT, _hold_pairs),
    MappingProxyType: ContainerForm(form.PROXY, _hold_proxies),
    np.ndarray: ContainerForm(form.ARRAY, _hold_arrays),
    array: ContainerForm(form.NUMBERS, _hold_numbers),
    MethodType: ContainerForm(form.METHOD, _hold_methods),
    partial: ContainerForm(form.PARTIAL, _hold_partials),
    re.Pattern: ContainerForm(form.PATTERN, _hold_patterns),
}
PLAIN_CONTAINERS: Final = (list, tuple, set, frozenset, dict, lazy_objects.LazyList, lazy_objects.LazyMapping)


def store_recording(recording: Recording, program: str, step: CallStep = lambda: None) -> Iterator[Buffer]:
    """The recording's bytes, piece by piece; raises UnstorableError before the first if something has no stored form.

    `step` is called between tables, and may raise to stop.
    """
    pieces = _layout_pieces(ObjectTables(recording, step), program)
    yield form.FILE_MAGIC
    yield form.square_checksum(pieces)
    yield from pieces


def _sort_texts(numbered: Iterable[str]) -> tuple[list[bytes], IntArray]:
    """(texts in ascending order, for lookup by bisection; old number → new number)."""
    texts = [text.encode("utf-8", "surrogatepass") for text in numbered]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    places = np.zeros(len(texts), dtype=np.int64)
    places[order] = np.arange(len(texts))
    return [texts[number] for number in order], places


def _layout_pieces(objects: ObjectTables, program: str) -> list[Buffer]:
    """The bytes of the stored recording: the directory, then texts, tables and arrays."""
    final = np.zeros(objects.count, dtype=np.int64)
    order = np.concatenate([np.array(table.numbers, dtype=np.int64) for table in objects.tables])
    final[order] = np.arange(len(order))
    pieces = objects.pieces
    texts, places = _sort_texts(objects.texts)
    tables = [table.table_form(pieces, final, places) for table in objects.tables]
    ends = np.fromiter(accumulate(map(len, texts)), dtype=np.uint32, count=len(texts))
    text_places = (len(texts), pieces.place_bytes(ends.tobytes()), pieces.place_bytes(b"".join(texts)))
    directory = form.StoredForm(program, int(final[objects.root]), pieces.size, text_places, tables)
    text = json.dumps(directory, separators=(",", ":")).encode()
    text += b" " * (-len(text) % form.ALIGNMENT)  # exact: ints
    return [len(text).to_bytes(form.ALIGNMENT, "little"), text, *pieces.data]
