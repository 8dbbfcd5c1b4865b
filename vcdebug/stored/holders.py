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
from vcdebug.stored.later import LaterList, LaterMap
from vcdebug.stored.tables import Buffer, Table, Values

if TYPE_CHECKING:
    from vcdebug.stored.gather import Gathered

Held = Any  # Any: whatever a recording holds
Array = npt.NDArray[Any]  # Any: of any numbers
Hold = Callable[["Gathered", Table, list[Held]], None]


def _items(gathered: Gathered, table: Table, objects: Sequence[Collection[Held]]) -> None:
    table.ends = Values.of_numbers(accumulate(map(len, objects)), len(objects))
    gathered.add(table, "items", list(chain.from_iterable(objects)))


def _sorted_items(gathered: Gathered, table: Table, objects: Sequence[Collection[Held]]) -> None:
    _items(gathered, table, [sorted(one, key=repr) for one in objects])


def _pairs(gathered: Gathered, table: Table, objects: list[Mapping[Held, Held]]) -> None:
    table.ends = Values.of_numbers(accumulate(map(len, objects)), len(objects))
    gathered.add(table, "keys", list(chain.from_iterable(objects)))
    gathered.add(table, "values", list(chain.from_iterable(one.values() for one in objects)))


def _proxies(gathered: Gathered, table: Table, objects: list[Mapping[Held, Held]]) -> None:
    gathered.add(table, "of", [dict(one) for one in objects])


def _arrays(gathered: Gathered, table: Table, objects: list[Array]) -> None:
    if any(one.dtype.hasobject for one in objects):
        raise UnstorableError("an array holds objects")
    gathered.add(table, "type", [one.dtype.str for one in objects])
    gathered.add(table, "shape", ["x".join(map(str, one.shape)) for one in objects])
    gathered.add(table, "repeats", list(map(_repeats, objects)))
    gathered.add(table, "writeable", [bool(one.flags.writeable) for one in objects])
    gathered.add(table, "at", [gathered.pieces.place(_bytes_of(one)) for one in objects])


def _repeats(one: Array) -> bool:
    """Whether one number stands at every place."""
    return one.size > 1 and not any(one.strides)


def _bytes_of(one: Array) -> Buffer:
    if not one.size:
        return b""
    first: bytes = one.flat[0].tobytes()
    return first if _repeats(one) else np.ascontiguousarray(one).data.cast("B")


def _numbers(gathered: Gathered, table: Table, objects: list[array[Held]]) -> None:
    gathered.add(table, "type", [one.typecode for one in objects])
    gathered.add(table, "size", [len(one) * one.itemsize for one in objects])
    gathered.add(table, "at", [gathered.pieces.place(one.tobytes()) for one in objects])


def _methods(gathered: Gathered, table: Table, objects: list[MethodType]) -> None:
    gathered.add(table, "of", [one.__self__ for one in objects])
    gathered.add(table, "name", [one.__name__ for one in objects])


def _calls(gathered: Gathered, table: Table, objects: list[partial[Held]]) -> None:
    if any(one.keywords for one in objects):
        raise UnstorableError("a call has bound keywords")
    gathered.add(table, "function", [one.func for one in objects])
    gathered.add(table, "arguments", [one.args for one in objects])


def _patterns(gathered: Gathered, table: Table, objects: list[re.Pattern[str]]) -> None:
    gathered.add(table, "pattern", [one.pattern for one in objects])
    gathered.add(table, "flags", [one.flags for one in objects])


class Holder(NamedTuple):
    """A kind of table, and what fills it."""

    kind: str
    hold: Hold


HOLDERS: Final[Mapping[type, Holder]] = {
    list: Holder(form.LIST, _items),
    tuple: Holder(form.TUPLE, _items),
    set: Holder(form.SET, _sorted_items),
    frozenset: Holder(form.FROZEN, _sorted_items),
    dict: Holder(form.DICT, _pairs),
    LaterList: Holder(form.LIST, _items),
    LaterMap: Holder(form.DICT, _pairs),
    MappingProxyType: Holder(form.PROXY, _proxies),
    np.ndarray: Holder(form.ARRAY, _arrays),
    array: Holder(form.NUMBERS, _numbers),
    MethodType: Holder(form.METHOD, _methods),
    partial: Holder(form.PARTIAL, _calls),
    re.Pattern: Holder(form.PATTERN, _patterns),
}
PLAIN: Final = (list, tuple, set, frozenset, dict, LaterList, LaterMap)
