"""Opening a stored recording: an object is made when somebody looks at it, and is then like any other."""

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

from vcdebug.stored import form
from vcdebug.stored.answers import ANSWERED, READ_LATER
from vcdebug.stored.checksum import checksum
from vcdebug.stored.columns import Column, Texts
from vcdebug.stored.form import ColumnForm, DamagedError, ForeignError, StoredForm, TableForm
from vcdebug.stored.later import LAST, LATER, MANIFEST, NOTHING, LaterClass, LaterList, LaterMap, filled_at_once
from vcdebug.stored.names import named
from vcdebug.trace.memo import answer
from vcdebug.trace.recording import Recording

Value = Any  # Any: whatever a recording holds
Array = npt.NDArray[Any]  # Any: of any numbers
_START: Final = len(form.MAGIC) + form.DIGEST_SIZE
TOGETHER: Final = 4
"""So many neighbours are made column by column."""


def opened_recording(data: bytes | memoryview | mmap, program: str) -> Recording:
    """The recording that this program stored; raises ForeignError for another's, DamagedError for anything else."""
    view = memoryview(data).cast("B")
    if bytes(view[: len(form.MAGIC)]) != form.MAGIC:
        raise DamagedError("it is no recording")
    if checksum([view[_START:]]) != bytes(view[len(form.MAGIC) : _START]):
        raise DamagedError("it is damaged")
    size = int.from_bytes(view[_START : _START + 8], "little")
    begin = _START + 8
    try:
        directory = StoredForm(*json.loads(bytes(view[begin : begin + size])))
        if directory.program != program:
            raise ForeignError(str(directory.program))
        store = Store(directory, view[begin + size :])
        found = store.later(directory.root)
        recording, size = found[0], len(found)
    except (ValueError, TypeError, IndexError, KeyError, RecursionError) as error:
        raise DamagedError(f"it cannot be read: {error}") from error
    if not isinstance(recording, Recording) or size != 1 + len(ANSWERED):
        raise DamagedError("it holds something else")
    for number, question in enumerate(ANSWERED, 1):
        later = question in READ_LATER
        answer(
            recording,
            question,
            partial(store.later, found.number(number)) if later else partial(found.__getitem__, number),
        )
    return recording


class Store:
    """Every object of a stored recording by number, made when it is asked for, and the same object each time."""

    def __init__(self, directory: StoredForm, data: memoryview) -> None:
        self._data = data
        self._texts = Texts(directory.texts, data)
        self._made: dict[int, Value] = {}
        tables = list(map(_table_form, directory.tables))
        self._first = [0, *accumulate(table.size for table in tables)]
        self._tables = tables
        self.manifests = tables[0].size
        """How many there are: they come first."""
        self._open: list[Table | None] = [None] * len(tables)

    def get(self, number: int) -> Value:
        """The object with this number."""
        made = self._made
        try:
            return made[number]
        except KeyError:
            place = self._place(number)
            return made.setdefault(number, self._table(place).make(number - self._first[place]))

    def _place(self, number: int) -> int:
        return bisect_right(self._first, number) - 1

    def _table(self, place: int) -> Table:
        return self._open[place] or self._opened(place)

    def get_all(self, numbers: list[int]) -> list[Value]:
        """The objects with these numbers: neighbours of one table are made together."""
        first, count = numbers[0], len(numbers)
        if count >= TOGETHER and numbers[-1] - first == count - 1 and numbers == list(range(first, first + count)):
            place = self._place(first)
            start = self._first[place]
            if first + count <= self._first[place + 1]:
                made = self._table(place).make_all(first - start, first - start + count)
                return list(map(self._made.setdefault, numbers, made))
        return list(map(self.get, numbers))

    def column(self, stated: ColumnForm) -> Column:
        """A column of some table."""
        return Column(stated, self._data, self._texts, self.get, self.get_all)

    def _opened(self, place: int) -> Table:
        table = self._open[place] = Table(self, self._tables[place])
        return table

    def bytes_at(self, at: int, size: int) -> memoryview:
        """So many bytes."""
        return self._data[at : at + size]

    def later(self, number: int) -> Value:
        """As get, for a list or mapping whose values are made one by one."""
        made = self._made.get(number)
        if made is None:
            place = self._place(number)
            made = self._made.setdefault(number, self._table(place).later(number - self._first[place]))
        return made


def _table_form(stated: Sequence[Value]) -> TableForm:
    kind, type_name, size, ends, names, columns = stated
    where = None if ends is None else ColumnForm(*ends)
    return TableForm(kind, type_name, size, where, names, [ColumnForm(*column) for column in columns])


class Table:
    """Makes the objects of one table."""

    def __init__(self, store: Store, stated: TableForm) -> None:
        self.store = store
        kind: Value = _class_named(stated.type) if stated.type else None
        self.kind = kind
        self.names = stated.names
        if any(name.startswith("__") for name in stated.names):
            raise DamagedError(f"{stated.type} has no such attributes")
        self.columns = [store.column(one) for one in stated.columns]
        self._ends = None if stated.ends is None else store.column(stated.ends)
        self.make: Callable[[int], Value] = getattr(self, f"_{_MAKERS[stated.kind]}")
        self._later = LATER.get(stated.type, ())
        columns = zip(self.names, self.columns, strict=True)
        self._by_name = {name: column for name, column in columns if name not in self._later}
        self._last = {*LAST.get(stated.type, ())}
        if stated.kind == form.INSTANCE and not filled_at_once(kind):
            self.make = LaterClass(kind, self._fill, self._read).make
        self._make_all = self._together(stated.kind)
        self._making = False

    # Many at once

    def make_all(self, start: int, end: int) -> Iterable[Value]:
        """Neighbours; those that hold others of the same table are made one by one."""
        if self._make_all is None or self._making:
            return map(self.make, range(start, end))
        self._making = True
        try:
            return self._make_all(start, end)
        finally:
            self._making = False

    def _together(self, kind: str) -> Callable[[int, int], Iterable[Value]] | None:
        """How neighbours are made together, where that is possible."""
        if kind == form.TUPLE:
            return self._all_tuples
        if kind == form.DICT and self.kind is None:
            return self._all_mappings
        if self._later or not self.columns:
            return None
        if kind == form.FIELDS:
            return self._all_fields
        at_once = kind == form.INSTANCE and self.make == self._instance
        return self._all_instances if at_once and not any(column.may_miss() for column in self.columns) else None

    def _all_bounds(self, start: int, end: int) -> list[int]:
        assert self._ends is not None
        return [self._bounds(start)[0], *self._ends.run(start, end)]

    def _all_tuples(self, start: int, end: int) -> Iterable[Value]:
        bounds = self._all_bounds(start, end)
        items, first = self.columns[0].run(bounds[0], bounds[-1]), bounds[0]
        return [tuple(items[one - first : other - first]) for one, other in pairwise(bounds)]

    def _all_mappings(self, start: int, end: int) -> Iterable[Value]:
        bounds = self._all_bounds(start, end)
        keys, values = (column.run(bounds[0], bounds[-1]) for column in self.columns)
        pairs = list(zip(keys, values, strict=True))
        return [dict(pairs[one - bounds[0] : other - bounds[0]]) for one, other in pairwise(bounds)]

    def _all_fields(self, start: int, end: int) -> Iterable[Value]:
        rows = zip(*(column.run(start, end) for column in self.columns), strict=True)
        return map(partial(tuple.__new__, self.kind), rows)

    def _all_instances(self, start: int, end: int) -> Iterable[Value]:
        made = [object.__new__(self.kind) for _ in range(start, end)]
        for name, column in zip(self.names, self.columns, strict=True):
            for one, value in zip(made, column.run(start, end), strict=True):
                object.__setattr__(one, name, value)
        return made

    # One by one

    def row(self, row: int) -> list[Value]:
        """What an object holds."""
        return [column.at(row) for column in self.columns]

    def _bounds(self, row: int) -> tuple[int, int]:
        assert self._ends is not None
        return (self._ends.at(row - 1) if row else 0), self._ends.at(row)

    def _items(self, row: int) -> list[Value]:
        return self.columns[0].run(*self._bounds(row))

    def _list(self, row: int) -> Sequence[Value]:
        if self.kind is None:
            start, end = self._bounds(row)
            if end - start > 1 and self.columns[0].number_if_object(start) < self.store.manifests:
                return LaterList(self.columns[0], start, end)
            return self._items(row)
        found: list[Value] = self.kind.__new__(self.kind)
        found.extend(self._items(row))
        self._set_attributes(found, row, 1)
        return found

    def _tuple(self, row: int) -> tuple[Value, ...]:
        return tuple(self._items(row))

    def _set(self, row: int) -> set[Value]:
        return set(self._items(row))

    def _frozen(self, row: int) -> frozenset[Value]:
        return frozenset(self._items(row))

    def _dict(self, row: int) -> dict[Value, Value]:
        start, end = self._bounds(row)
        found: dict[Value, Value] = {} if self.kind is None else self.kind.__new__(self.kind)
        found.update(zip(self.columns[0].run(start, end), self.columns[1].run(start, end), strict=True))
        if self.kind is not None:
            self._set_attributes(found, row, 2)
        return found

    def later(self, row: int) -> Value:
        """A list or a mapping whose values are made when somebody looks at them."""
        start, end = self._bounds(row)
        if len(self.columns) == 1:
            return LaterList(self.columns[0], start, end)
        return LaterMap(self.columns[0], self.columns[1], start, end)

    def _proxy(self, row: int) -> Mapping[Value, Value]:
        return MappingProxyType(self.columns[0].at(row))

    def _array(self, row: int) -> Array:
        kind, shape, repeats, writeable, at = self.row(row)
        dtype, sizes = np.dtype(kind), tuple(int(size) for size in shape.split("x") if size)
        if dtype.hasobject:
            raise DamagedError("an array holds objects")
        count = 1 if repeats else int(np.prod(sizes, dtype=np.int64))
        flat = np.frombuffer(self.store.bytes_at(at, count * dtype.itemsize), dtype=dtype)
        if repeats:
            return np.broadcast_to(flat[0], sizes)
        return flat.reshape(sizes).copy() if writeable else flat.reshape(sizes)

    def _numbers(self, row: int) -> array[Value]:
        kind, size, at = self.row(row)
        return array(kind, bytes(self.store.bytes_at(at, size)))

    def _method(self, row: int) -> MethodType:
        """Found in the class, since looking at the object would fill it."""
        of, name = self.row(row)
        function = getattr(type(of), name, None)
        if name.startswith("__") or not isinstance(function, FunctionType):
            raise DamagedError(f"{name} is no method of a recording")
        return MethodType(function, of)

    def _partial(self, row: int) -> Value:
        function, arguments = self.row(row)
        return partial(function, *arguments)

    def _pattern(self, row: int) -> re.Pattern[str]:
        return re.compile(*self.row(row))

    def _manifest(self, row: int) -> Value:
        start, end = self._bounds(row)
        return json.loads(
            str(self.store.bytes_at(self.columns[0].at(row) + start, end - start), "utf-8", "surrogatepass")
        )

    def _fields(self, row: int) -> Value:
        columns = zip(self.names, self.columns, strict=True)
        later, store = self._later, self.store
        values = [store.later(one.number(row)) if name in later else one.at(row) for name, one in columns]
        return tuple.__new__(self.kind, values)

    # Instances

    def _instance(self, row: int) -> Value:
        made = object.__new__(self.kind)
        self._set_attributes(made, row, 0)
        return made

    def _fill(self, made: Value, row: int, last: bool) -> bool:
        """Set the attributes that are quick to read, or the others; whether some are left."""
        put, left = object.__setattr__, False
        for name, column in zip(self.names, self.columns, strict=True):
            slow = name in self._last or name == MANIFEST or column.is_part(row)
            if slow is last:
                self._put(put, made, name, column, row)
            left = left or slow
        return left and not last

    def _read(self, row: int, name: str) -> Value:
        """One attribute, where it is a column as it is."""
        column = self._by_name.get(name)
        return NOTHING if column is None or column.is_missing(row) else column.at(row)

    def _set_attributes(self, made: Value, row: int, after: int) -> None:
        put = object.__setattr__
        for name, column in zip(self.names[after:], self.columns[after:], strict=True):
            self._put(put, made, name, column, row)

    def _put(self, put: Callable[..., None], made: Value, name: str, column: Column, row: int) -> None:
        if column.is_missing(row):
            return
        put(made, name, self.store.later(column.number(row)) if name in self._later else column.at(row))


def _class_named(name: str) -> Value:
    found = named(name)
    if not isinstance(found, type):
        raise DamagedError(f"{name} is no class")
    return found


_MAKERS: Final = {
    form.LIST: "list",
    form.TUPLE: "tuple",
    form.SET: "set",
    form.FROZEN: "frozen",
    form.DICT: "dict",
    form.PROXY: "proxy",
    form.ARRAY: "array",
    form.NUMBERS: "numbers",
    form.INSTANCE: "instance",
    form.FIELDS: "fields",
    form.METHOD: "method",
    form.PARTIAL: "partial",
    form.PATTERN: "pattern",
    form.MANIFEST: "manifest",
}
