"""Columns of a stored recording, read value by value without unpacking them."""

import struct
import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import numpy as np

from vcdebug.model.names import IntArray
from vcdebug.recording.file import form
from vcdebug.recording.file.form import ColumnForm, DamagedRecordingError, object_named

Value = Any  # Any: whatever a recording holds
_INT_STRUCT: Final = struct.Struct("<q")
_FLOAT_STRUCT: Final = struct.Struct("<d")
_NO_OBJECT: Final = 1 << 62
_TYPE_SIZES: Final = {"B": 1, "H": 2, "I": 4, "q": 8}


class StoredTexts:
    """Texts by number, in ascending order; each text is made once."""

    def __init__(self, placement: Sequence[int], data: memoryview) -> None:
        count, ends_at, start = placement
        self._ends = data[ends_at : ends_at + 4 * count].cast("I")
        self._data = data
        self._start = start
        self._count = count
        self._strings: dict[int, str] = {}

    def find_number(self, text: str) -> int | None:
        """The number of a text; None if it is not stored."""
        encoded = text.encode("utf-8", "surrogatepass")
        number = bisect_left(range(self._count), encoded, key=self._text_bytes)
        return number if number < self._count and self._text_bytes(number) == encoded else None

    def _text_bytes(self, number: int) -> bytes:
        start, end = (self._ends[number - 1] if number else 0), self._ends[number]
        return bytes(self._data[self._start + start : self._start + end])

    def text_at(self, number: int) -> str:
        try:
            return self._strings[number]
        except KeyError:
            text = str(self._text_bytes(number), "utf-8", "surrogatepass")
            return self._strings.setdefault(number, sys.intern(text))


class TextPlaces:
    """The rows of texts in a column."""

    def __init__(self, numbers: IntArray, start: int, texts: StoredTexts) -> None:
        """`start` is the row of the first number."""
        self._order = np.argsort(numbers, kind="stable")
        self._ascending = numbers[self._order]
        self._start = start
        self._texts = texts

    def row_of(self, text: str) -> int | None:
        """The row of a text; None if the column does not have it."""
        number, ascending = self._texts.find_number(text), self._ascending
        if number is None:
            return None
        index = int(np.searchsorted(ascending, ascending.dtype.type(number)))
        is_present = index < len(ascending) and ascending[index] == number
        return self._start + int(self._order[index]) if is_present else None


class StoredColumn:
    """The values of one attribute by row, or the items of all lists of a table one after the other."""

    __slots__ = ("_codes", "_get_all", "_numbers", "_number", "_reader", "_readers_by_code", "_texts", "value_at")

    def __init__(
        self,
        column_form: ColumnForm,
        data: memoryview,
        texts: StoredTexts,
        get: Callable[[int], Value],
        get_all: Callable[[list[int]], list[Value]],
    ) -> None:
        """`get` gives an object by its number, `get_all` many at once."""
        self._get_all = get_all
        self._texts = texts
        self._number = column_form.number
        self._codes = data[column_form.codes_at :] if column_form.code < 0 else None
        self._numbers = None if not column_form.type else _cast_numbers(data, column_form)
        self._readers_by_code: tuple[Callable[[int], Value], ...] = (
            _raise_missing,
            _read_none,
            bool,
            int,
            _read_float,
            texts.text_at,
            get,
            lambda number: object_named(texts.text_at(number)),
            lambda number: int(texts.text_at(number)),
            lambda number: datetime.fromisoformat(texts.text_at(number)),
            *(partial(_read_part, get, name) for name in form.MANIFEST_PARTS),
        )
        self._reader = self._readers_by_code[column_form.code] if column_form.code >= 0 else None
        self.value_at: Callable[[int], Value] = self._choose_reader()
        """The value in a row."""

    def _choose_reader(self) -> Callable[[int], Value]:
        if self._codes is not None:
            return self._at_mixed if self._numbers is not None else self._at_same_mixed
        if self._numbers is None:
            return self._at_same_number
        return self._numbers.__getitem__ if self._reader is int else self._at_many

    def _at_same_number(self, _row: int) -> Value:
        assert self._reader is not None
        return self._reader(self._number)

    def _at_many(self, row: int) -> Value:
        return self._reader(self._numbers[row])  # type: ignore[misc,index]

    def _at_mixed(self, row: int) -> Value:
        return self._readers_by_code[self._codes[row]](self._numbers[row])  # type: ignore[index]

    def _at_same_mixed(self, row: int) -> Value:
        return self._readers_by_code[self._codes[row]](self._number)  # type: ignore[index]

    def read_rows(self, start: int, end: int) -> list[Value]:
        """The values from one row up to another."""
        if start >= end:
            return []
        numbers = [self._number] * (end - start) if self._numbers is None else self._numbers[start:end].tolist()
        if self._codes is None:
            return self._read_alike(self._reader, numbers)
        reads, codes = self._readers_by_code, self._codes[start:end].tobytes()
        # bytes.count runs at memory speed: a slice of one code is read in one go.
        if codes.count(codes[0]) == len(codes):
            return self._read_alike(reads[codes[0]], numbers)
        return [reads[code](number) for code, number in zip(codes, numbers, strict=True)]

    def _read_alike(self, read: Callable[[int], Value] | None, numbers: list[int]) -> list[Value]:
        """Reads values that share one code."""
        assert read is not None
        if read is int:
            return numbers
        if self._numbers is None:
            return [read(self._number)] * len(numbers)
        return self._get_all(numbers) if read is self._readers_by_code[form.OBJECT] else list(map(read, numbers))

    def find_places(self, start: int, end: int) -> Callable[[str], int | None] | None:
        """A lookup from text to row between two rows, without reading all texts; None for a column of mixed values."""
        if self._codes is not None or self._numbers is None or self._reader is not self._readers_by_code[form.TEXT]:
            return None
        return TextPlaces(np.asarray(self._numbers[start:end]), start, self._texts).row_of

    def may_miss(self) -> bool:
        """Whether some objects may have no such attribute."""
        return self._codes is not None or self._reader is _raise_missing

    def object_number(self, row: int) -> int:
        number = self.number_if_object(row)
        if number == _NO_OBJECT:
            raise DamagedRecordingError("an object is missing where one is expected")
        return number

    def number_if_object(self, row: int) -> int:
        """The number of the object in a row, or _NO_OBJECT for another value."""
        code = form.OBJECT if self._reader is self._readers_by_code[form.OBJECT] else form.NONE
        if (self._codes[row] if self._codes is not None else code) != form.OBJECT:
            return _NO_OBJECT
        return self._number if self._numbers is None else self._numbers[row]

    def is_part(self, row: int) -> bool:
        """Whether the value in a row is a part of a manifest, which has to be parsed for it."""
        return self._codes is not None and self._codes[row] >= form.LABELS

    def is_missing(self, row: int) -> bool:
        """Whether the object has no such attribute."""
        code = self._codes[row] if self._codes is not None else form.NONE
        return code == form.MISSING or self._reader is _raise_missing


def _cast_numbers(data: memoryview, column_form: ColumnForm) -> memoryview:
    """The rest of the data as numbers; the rows in use say where the column ends."""
    size = _TYPE_SIZES[column_form.type]
    column_data = data[column_form.at :]
    return column_data[: len(column_data) // size * size].cast(column_form.type)  # type: ignore[call-overload,no-any-return]  # exact: ints


def _read_part(get: Callable[[int], Value], name: str, number: int) -> Value:
    return form.manifest_part(get(number), name)


def _raise_missing(_number: int) -> Value:
    raise DamagedRecordingError("an attribute is missing")


def _read_none(_number: int) -> None:
    return None


def _read_float(number: int) -> float:
    return _FLOAT_STRUCT.unpack(_INT_STRUCT.pack(number))[0]  # type: ignore[no-any-return]
