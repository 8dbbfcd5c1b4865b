"""How lists, mappings, arrays and their like are stored: as columns of what they hold."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from types import MappingProxyType, MethodType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vcdebug.stored import form
from vcdebug.stored.form import UnstorableError
from vcdebug.stored.later import LazyList, LazyMapping
from vcdebug.stored.tables import Buffer, ColumnValues, ObjectTable

if TYPE_CHECKING:
    from vcdebug.stored.gather import ObjectTables

HeldObject = Any  # Any: whatever a recording holds
Array = npt.NDArray[Any]  # Any: of any numbers
FillTable = Callable[["ObjectTables", ObjectTable, list[HeldObject]], None]


def _hold_items(gathered: ObjectTables, table: ObjectTable, objects: Sequence[Collection[HeldObject]]) -> None:
    table.ends = ColumnValues.of_numbers(accumulate(map(len, objects)), len(objects))
    gathered.add_column(table, "items", list(chain.from_iterable(objects)))


def _hold_sorted_items(gathered: ObjectTables, table: ObjectTable, objects: Sequence[Collection[HeldObject]]) -> None:
    _hold_items(gathered, table, [sorted(one, key=repr) for one in objects])


def _hold_pairs(gathered: ObjectTables, table: ObjectTable, objects: list[Mapping[HeldObject, HeldObject]]) -> None:
    table.ends = ColumnValues.of_numbers(accumulate(map(len, objects)), len(objects))
    gathered.add_column(table, "keys", list(chain.from_iterable(objects)))
    gathered.add_column(table, "values", list(chain.from_iterable(one.values() for one in objects)))


def _hold_proxies(gathered: ObjectTables, table: ObjectTable, objects: list[Mapping[HeldObject, HeldObject]]) -> None:
    gathered.add_column(table, "of", [dict(one) for one in objects])


def _hold_arrays(gathered: ObjectTables, table: ObjectTable, objects: list[Array]) -> None:
    if any(one.dtype.hasobject for one in objects):
        raise UnstorableError("an array holds objects")
    gathered.add_column(table, "type", [one.dtype.str for one in objects])
    gathered.add_column(table, "shape", ["x".join(map(str, one.shape)) for one in objects])
    gathered.add_column(table, "repeats", list(map(_is_repeated, objects)))
    gathered.add_column(table, "writeable", [bool(one.flags.writeable) for one in objects])
    gathered.add_column(table, "at", [gathered.pieces.place_bytes(_array_bytes(one)) for one in objects])


def _is_repeated(one: Array) -> bool:
    """Whether one number stands at every place."""
    return one.size > 1 and not any(one.strides)


def _array_bytes(one: Array) -> Buffer:
    if not one.size:
        return b""
    first: bytes = one.flat[0].tobytes()
    return first if _is_repeated(one) else np.ascontiguousarray(one).data.cast("B")


def _hold_numbers(gathered: ObjectTables, table: ObjectTable, objects: list[array[HeldObject]]) -> None:
    gathered.add_column(table, "type", [one.typecode for one in objects])
    gathered.add_column(table, "size", [len(one) * one.itemsize for one in objects])
    gathered.add_column(table, "at", [gathered.pieces.place_bytes(one.tobytes()) for one in objects])


def _hold_methods(gathered: ObjectTables, table: ObjectTable, objects: list[MethodType]) -> None:
    gathered.add_column(table, "of", [one.__self__ for one in objects])
    gathered.add_column(table, "name", [one.__name__ for one in objects])


def _hold_partials(gathered: ObjectTables, table: ObjectTable, objects: list[partial[HeldObject]]) -> None:
    if any(one.keywords for one in objects):
        raise UnstorableError("a call has bound keywords")
    gathered.add_column(table, "function", [one.func for one in objects])
    gathered.add_column(table, "arguments", [one.args for one in objects])


def _hold_patterns(gathered: ObjectTables, table: ObjectTable, objects: list[re.Pattern[str]]) -> None:
    gathered.add_column(table, "pattern", [one.pattern for one in objects])
    gathered.add_column(table, "flags", [one.flags for one in objects])


class ContainerForm(NamedTuple):
    """A kind of table, and what fills it."""

    kind: str
    hold: FillTable


CONTAINER_FORMS: Final[Mapping[type, ContainerForm]] = {
    list: ContainerForm(form.LIST, _hold_items),
    tuple: ContainerForm(form.TUPLE, _hold_items),
    set: ContainerForm(form.SET, _hold_sorted_items),
    frozenset: ContainerForm(form.FROZEN, _hold_sorted_items),
    dict: ContainerForm(form.DICT, _hold_pairs),
    LazyList: ContainerForm(form.LIST, _hold_items),
    LazyMapping: ContainerForm(form.DICT, _hold_pairs),
    MappingProxyType: ContainerForm(form.PROXY, _hold_proxies),
    np.ndarray: ContainerForm(form.ARRAY, _hold_arrays),
    array: ContainerForm(form.NUMBERS, _hold_numbers),
    MethodType: ContainerForm(form.METHOD, _hold_methods),
    partial: ContainerForm(form.PARTIAL, _hold_partials),
    re.Pattern: ContainerForm(form.PATTERN, _hold_patterns),
}
PLAIN_CONTAINERS: Final = (list, tuple, set, frozenset, dict, LazyList, LazyMapping)
