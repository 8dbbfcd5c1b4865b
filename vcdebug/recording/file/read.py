"""Opens a stored recording: an object is made when it is first read."""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from mmap import mmap
from types import FunctionType, MappingProxyType, MethodType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from vcdebug.recording.file import form, lazy_objects
from vcdebug.recording.file.columns import StoredColumn, StoredTexts
from vcdebug.recording.recording import Recording, store_answer

Value = Any  # Any: whatever a recording holds
Array = npt.NDArray[Any]  # Any: of any numbers
_DATA_START: Final = len(form.FILE_MAGIC) + form.DIGEST_SIZE
MIN_BULK_SIZE: Final = 4
"""Number of neighbouring objects from which making them column by column is faster."""


def open_stored_recording(data: bytes | memoryview | mmap, program: str) -> Recording:
    """The recording that `program` stored; raises ForeignRecordingError or DamagedRecordingError for other bytes."""
    view = memoryview(data).cast("B")
    if bytes(view[: len(form.FILE_MAGIC)]) != form.FILE_MAGIC:
        raise form.DamagedRecordingError("not a recording")
    if form.square_checksum([view[_DATA_START:]]) != bytes(view[len(form.FILE_MAGIC) : _DATA_START]):
        raise form.DamagedRecordingError("it is damaged")
    size = int.from_bytes(view[_DATA_START : _DATA_START + 8], "little")
    begin = _DATA_START + 8
    try:
        directory = form.StoredForm(*json.loads(bytes(view[begin : begin + size])))
        if directory.program != program:
            raise form.ForeignRecordingError(str(directory.program))
        store = StoredObjects(directory, view[begin + size :])
        stored = store.lazy_object_at(directory.root)
        recording, size = stored[0], len(stored)
    except (ValueError, TypeError, IndexError, KeyError, RecursionError) as error:
        raise form.DamagedRecordingError(f"it cannot be read: {error}") from error
    if not isinstance(recording, Recording) or size != 1 + len(lazy_objects.STORED_ANSWERS):
        raise form.DamagedRecordingError("it holds something else")
    for number, question in enumerate(lazy_objects.STORED_ANSWERS, 1):
        later = question in lazy_objects.LAZY_ANSWERS
        store_answer(
            recording,
            question,
            partial(store.lazy_object_at, stored.number(number)) if later else partial(stored.__getitem__, number),
        )
    return recording


class StoredObjects:
    """Every object of a stored recording by number, made once at its first use."""

    def __init__(self, directory: form.StoredForm, data: memoryview) -> None:
        self._data = data
        self._texts = StoredTexts(directory.texts, data)
        self._cache: dict[int, Value] = {}
        tables = list(map(_read_table_form, directory.tables))
        self._first = [0, *accumulate(table.size for table in tables)]
        self._tables = tables
        self.manifests = tables[0].size
        """The number of manifests, which come first."""
        self._open: list[StoredTable | None] = [None] * len(tables)

    def object_at(self, number: int) -> Value:
        objects = self._cache
        try:
            return objects[number]
        except KeyError:
            place = self._table_place(number)
            return objects.setdefault(number, self._table_at(place).make_object(number - self._first[place]))

    def _table_place(self, number: int) -> int:
        return bisect_right(self._first, number) - 1

    def _table_at(self, place: int) -> StoredTable:
        return self._open[place] or self._open_table(place)

    def objects_at(self, numbers: list[int]) -> list[Value]:
        """The objects with these numbers: neighbours of one table are made together."""
        first, count = numbers[0], len(numbers)
        if count >= MIN_BULK_SIZE and numbers[-1] - first == count - 1 and numbers == list(range(first, first + count)):
            place = self._table_place(first)
            start = self._first[place]
            if first + count <= self._first[place + 1]:
                objects = self._table_at(place).make_all(first - start, first - start + count)
                return list(map(self._cache.setdefault, numbers, objects))
        return list(map(self.object_at, numbers))

    def open_column(self, column_form: form.ColumnForm) -> StoredColumn:
        """A reader for a column with this form."""
        return StoredColumn(column_form, self._data, self._texts, self.object_at, self.objects_at)

    def _open_table(self, place: int) -> StoredTable:
        table = self._open[place] = StoredTable(self, self._tables[place])
        return table

    def bytes_at(self, offset: int, size: int) -> memoryview:
        """`size` bytes from `offset`."""
        return self._data[offset : offset + size]

    def lazy_object_at(self, number: int) -> Value:
        """The list or mapping with this number, whose values are made one by one."""
        value = self._cache.get(number)
        if value is None:
            place = self._table_place(number)
            value = self._cache.setdefault(number, self._table_at(place).lazy_container(number - self._first[place]))
        return value


def _read_table_form(row: Sequence[Value]) -> form.TableForm:
    kind, type_name, size, ends, names, columns = row
    ends_form = None if ends is None else form.ColumnForm(*ends)
    return form.TableForm(kind, type_name, size, ends_form, names, [form.ColumnForm(*column) for column in columns])


class StoredTable:
    """Makes the objects of one table."""

    def __init__(self, store: StoredObjects, table_form: form.TableForm) -> None:
        self.store = store
        kind: Value = _class_named(table_form.type) if table_form.type else None
        self.kind = kind
        self.names = table_form.names
        if any(name.startswith("__") for name in table_form.names):
            raise form.DamagedRecordingError(f"{table_form.type} has no such attributes")
        self.columns = [store.open_column(column) for column in table_form.columns]
        self._ends = None if table_form.ends is None else store.open_column(table_form.ends)
        if table_form.kind not in form.TABLE_KINDS:
            raise form.DamagedRecordingError(f"tables of {table_form.kind} are unknown")
        self.make_object: Callable[[int], Value] = getattr(self, f"_make_{table_form.kind}")
        self._later = lazy_objects.LAZY_ATTRIBUTES.get(table_form.type, ())
        columns = zip(self.names, self.columns, strict=True)
        self._by_name = {name: column for name, column in columns if name not in self._later}
        self._last = {*lazy_objects.SLOW_ATTRIBUTES.get(table_form.type, ())}
        if table_form.kind == form.INSTANCE and issubclass(kind, Struct):
            self.make_object = (
                self._make_record if {*self.names} <= {*kind.__struct_fields__} else self._make_record_with_dict
            )
        elif table_form.kind == form.INSTANCE and not lazy_objects.is_filled_at_once(kind):
            self.make_object = lazy_objects.LazyClass(kind, self._fill_instance, self._read_attribute).make_instance
        self._make_all = self._choose_bulk_maker(table_form.kind)
        self._is_making = False
        """Whether neighbouring rows are being made together; rows that they refer to are then made one by one."""

    # Many at once

    def make_all(self, start: int, end: int) -> Iterable[Value]:
        """The objects of neighbouring rows."""
        if self._make_all is None or self._is_making:
            return map(self.make_object, range(start, end))
        self._is_making = True
        try:
            return self._make_all(start, end)
        finally:
            self._is_making = False

    def _choose_bulk_maker(self, kind: str) -> Callable[[int, int], Iterable[Value]] | None:
        """The function that makes neighbouring objects column by column; None if each must be made separately."""
        if kind == form.TUPLE:
            return self._make_tuples
        if kind == form.DICT and self.kind is None:
            return self._make_mappings
        if self._later or not self.columns:
            return None
        if kind == form.FIELDS:
            return self._make_named_tuples
        at_once = kind == form.INSTANCE and self.make_object == self._make_instance
        return self._make_instances if at_once and not any(column.may_miss() for column in self.columns) else None

    def _bounds_of_all(self, start: int, end: int) -> list[int]:
        assert self._ends is not None
        return [self._item_bounds(start)[0], *self._ends.read_rows(start, end)]

    def _make_tuples(self, start: int, end: int) -> Iterable[Value]:
        bounds = self._bounds_of_all(start, end)
        items, first = self.columns[0].read_rows(bounds[0], bounds[-1]), bounds[0]
        return [tuple(items[low - first : high - first]) for low, high in pairwise(bounds)]

    def _make_mappings(self, start: int, end: int) -> Iterable[Value]:
        bounds = self._bounds_of_all(start, end)
        keys, values = (column.read_rows(bounds[0], bounds[-1]) for column in self.columns)
        pairs = list(zip(keys, values, strict=True))
        return [dict(pairs[low - bounds[0] : high - bounds[0]]) for low, high in pairwise(bounds)]

    def _make_named_tuples(self, start: int, end: int) -> Iterable[Value]:
        rows = zip(*(column.read_rows(start, end) for column in self.columns), strict=True)
        return map(partial(tuple.__new__, self.kind), rows)

    def _make_instances(self, start: int, end: int) -> Iterable[Value]:
        instances = [object.__new__(self.kind) for _ in range(start, end)]
        for name, column in zip(self.names, self.columns, strict=True):
            for instance, value in zip(instances, column.read_rows(start, end), strict=True):
                object.__setattr__(instance, name, value)
        return instances

    # One by one

    def row_values(self, row: int) -> list[Value]:
        """The values of a row, column by column."""
        return [column.value_at(row) for column in self.columns]

    def _item_bounds(self, row: int) -> tuple[int, int]:
        assert self._ends is not None
        return (self._ends.value_at(row - 1) if row else 0), self._ends.value_at(row)

    def _read_items(self, row: int) -> list[Value]:
        return self.columns[0].read_rows(*self._item_bounds(row))

    def _make_list(self, row: int) -> Sequence[Value]:
        if self.kind is None:
            start, end = self._item_bounds(row)
            if end - start > 1 and self.columns[0].number_if_object(start) < self.store.manifests:
                return lazy_objects.LazyList(self.columns[0], start, end)
            return self._read_items(row)
        subclass_list: list[Value] = self.kind.__new__(self.kind)
        subclass_list.extend(self._read_items(row))
        self._set_attributes(subclass_list, row, 1)
        return subclass_list

    def _make_tuple(self, row: int) -> tuple[Value, ...]:
        return tuple(self._read_items(row))

    def _make_set(self, row: int) -> set[Value]:
        return set(self._read_items(row))

    def _make_frozenset(self, row: int) -> frozenset[Value]:
        return frozenset(self._read_items(row))

    def _make_dict(self, row: int) -> dict[Value, Value]:
        start, end = self._item_bounds(row)
        mapping: dict[Value, Value] = {} if self.kind is None else self.kind.__new__(self.kind)
        mapping.update(zip(self.columns[0].read_rows(start, end), self.columns[1].read_rows(start, end), strict=True))
        if self.kind is not None:
            self._set_attributes(mapping, row, 2)
        return mapping

    def lazy_container(self, row: int) -> Value:
        """A list or a mapping whose values are made when they are read."""
        start, end = self._item_bounds(row)
        if len(self.columns) == 1:
            return lazy_objects.LazyList(self.columns[0], start, end)
        return lazy_objects.LazyMapping(self.columns[0], self.columns[1], start, end)

    def _make_proxy(self, row: int) -> Mapping[Value, Value]:
        return MappingProxyType(self.columns[0].value_at(row))

    def _make_array(self, row: int) -> Array:
        kind, shape, repeats, writeable, offset = self.row_values(row)
        dtype, sizes = np.dtype(kind), tuple(int(size) for size in shape.split("x") if size)
        if dtype.hasobject:
            raise form.DamagedRecordingError("an array holds objects")
        count = 1 if repeats else int(np.prod(sizes, dtype=np.int64))
        flat = np.frombuffer(self.store.bytes_at(offset, count * dtype.itemsize), dtype=dtype)
        if repeats:
            return np.broadcast_to(flat[0], sizes)
        return flat.reshape(sizes).copy() if writeable else flat.reshape(sizes)

    def _make_numbers(self, row: int) -> array[Value]:
        kind, size, offset = self.row_values(row)
        return array(kind, bytes(self.store.bytes_at(offset, size)))

    def _make_method(self, row: int) -> MethodType:
        of, name = self.row_values(row)
        # Looked up in the class: reading an attribute of the object would fill it.
        function = getattr(type(of), name, None)
        if name.startswith("__") or not isinstance(function, FunctionType):
            raise form.DamagedRecordingError(f"{name} is not a method of a recording")
        return MethodType(function, of)

    def _make_partial(self, row: int) -> Value:
        function, arguments = self.row_values(row)
        return partial(function, *arguments)

    def _make_pattern(self, row: int) -> re.Pattern[str]:
        return re.compile(*self.row_values(row))

    def _make_manifest(self, row: int) -> Value:
        start, end = self._item_bounds(row)
        return json.loads(
            str(self.store.bytes_at(self.columns[0].value_at(row) + start, end - start), "utf-8", "surrogatepass")
        )

    def _make_fields(self, row: int) -> Value:
        columns = zip(self.names, self.columns, strict=True)
        later, store = self._later, self.store
        values = [
            store.lazy_object_at(column.object_number(row)) if name in later else column.value_at(row)
            for name, column in columns
        ]
        return tuple.__new__(self.kind, values)

    # Instances

    def _make_record(self, row: int) -> Value:
        return self.kind(**dict(zip(self.names, self.row_values(row), strict=True)))

    def _make_record_with_dict(self, row: int) -> Value:
        """A struct whose objects keep values beside their fields, such as cached properties."""
        fields, columns = self.kind.__struct_fields__, self._by_name
        record = self.kind(**{name: columns[name].value_at(row) for name in fields})
        kept = (name for name in columns if name not in fields and not columns[name].is_missing(row))
        record.__dict__.update((name, columns[name].value_at(row)) for name in kept)
        return record

    def _make_instance(self, row: int) -> Value:
        instance = object.__new__(self.kind)
        self._set_attributes(instance, row, 0)
        return instance

    def _fill_instance(self, instance: Value, row: int, last: bool) -> bool:
        """Set the quick attributes, or with `last` the slow ones; returns whether slow ones are left."""
        has_slow = False
        for name, column in zip(self.names, self.columns, strict=True):
            slow = name in self._last or name == lazy_objects.MANIFEST_ATTRIBUTE or column.is_part(row)
            if slow is last:
                self._put_attribute(instance, name, column, row)
            has_slow = has_slow or slow
        return has_slow and not last

    def _read_attribute(self, row: int, name: str) -> Value:
        """One attribute, or NO_VALUE where it is not a column of its own."""
        column = self._by_name.get(name)
        return lazy_objects.NO_VALUE if column is None or column.is_missing(row) else column.value_at(row)

    def _set_attributes(self, instance: Value, row: int, after: int) -> None:
        for name, column in zip(self.names[after:], self.columns[after:], strict=True):
            self._put_attribute(instance, name, column, row)

    def _put_attribute(self, instance: Value, name: str, column: StoredColumn, row: int) -> None:
        if not column.is_missing(row):
            later = name in self._later
            value = self.store.lazy_object_at(column.object_number(row)) if later else column.value_at(row)
            object.__setattr__(instance, name, value)


def _class_named(name: str) -> Value:
    definition = form.object_named(name)
    if not isinstance(definition, type):
        raise form.DamagedRecordingError(f"{name} is not a class")
    return definition
