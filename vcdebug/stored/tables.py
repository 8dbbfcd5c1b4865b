"""Tables while a recording is being stored: numbers and codes per attribute, and where the bytes go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from vcdebug.model.names import IntArray
from vcdebug.stored import form
from vcdebug.stored.form import ColumnForm, TableForm

Buffer = bytes | memoryview
Codes = npt.NDArray[np.uint8]
_SMALL_TYPES: Final = (("B", np.uint8, 2**8 - 1), ("H", np.uint16, 2**16 - 1), ("I", np.uint32, 2**32 - 1))


class BytePieces:
    """Bytes one behind the other, each piece where numbers of any size may begin."""

    def __init__(self) -> None:
        self.data: list[Buffer] = []
        self.size = 0

    def place_bytes(self, data: Buffer) -> int:
        """Where the bytes lie."""
        at = self.size
        padding = -len(data) % form.ALIGNMENT  # exact: ints
        self.data.append(data)
        if padding:
            self.data.append(bytes(padding))
        self.size += len(data) + padding
        return at


class ColumnValues:
    """Codes and numbers of the values of one column."""

    __slots__ = ("code", "codes", "numbers")

    def __init__(self, code: int, numbers: IntArray, codes: Codes | None = None) -> None:
        self.code = code
        self.numbers = numbers
        self.codes = codes

    @classmethod
    def of_numbers(cls, numbers: Iterable[int], count: int) -> ColumnValues:
        """A column of plain numbers."""
        return cls(form.INT, np.fromiter(numbers, dtype=np.int64, count=count))

    @classmethod
    def of_one_number(cls, number: int, count: int) -> ColumnValues:
        """A column of the same number."""
        return cls(form.INT, np.full(count, number, dtype=np.int64))

    def all_codes(self) -> Codes:
        """The code of each value."""
        return np.full(len(self.numbers), self.code, dtype=np.uint8) if self.codes is None else self.codes

    def renumber_values(self, final: IntArray, texts: IntArray) -> None:
        """Objects were numbered as they were found, now by table; texts in order."""
        if self.codes is None:
            if self.code in (form.OBJECT, *form.TEXTS):
                self.numbers = (final if self.code == form.OBJECT else texts)[self.numbers]
            return
        chosen = (self.codes == form.OBJECT) | (self.codes >= form.LABELS)
        self.numbers[chosen] = final[self.numbers[chosen]]
        stated = np.isin(self.codes, form.TEXTS)
        self.numbers[stated] = texts[self.numbers[stated]]

    def column_form(self, pieces: BytePieces) -> ColumnForm:
        """Where it lies, once it lies there."""
        codes_at = 0 if self.codes is None else pieces.place_bytes(self.codes.tobytes())
        numbers = self.numbers
        if not len(numbers):
            return ColumnForm(self.code, codes_at, "", 0, 0)
        low, high = int(numbers.min()), int(numbers.max())
        if low == high:
            return ColumnForm(self.code, codes_at, "", 0, low)
        letter, small = next((one[:2] for one in _SMALL_TYPES if one[2] >= high and low >= 0), ("q", np.int64))
        return ColumnForm(self.code, codes_at, letter, pieces.place_bytes(numbers.astype(small).tobytes()), 0)


class ObjectTable:
    """Objects of one type, and what they hold."""

    def __init__(self, kind: str, type_name: str, found: list[int], held_by: str = "") -> None:
        self.kind = kind
        self.type_name = type_name
        self.path = held_by or type_name
        """What the objects are of: their class, or what holds them."""
        self.found = found
        """Their numbers in the order in which they were found."""
        self.ends: ColumnValues | None = None
        self.names: list[str] = []
        self.columns: list[ColumnValues] = []

    def append_column(self, name: str, column: ColumnValues) -> None:
        """One more attribute."""
        self.names.append(name)
        self.columns.append(column)

    def table_form(self, pieces: BytePieces, final: IntArray, texts: IntArray) -> TableForm:
        """Where it lies, once it lies there."""
        for column in self.columns:
            column.renumber_values(final, texts)
        ends = None if self.ends is None else self.ends.column_form(pieces)
        columns = [column.column_form(pieces) for column in self.columns]
        return TableForm(self.kind, self.type_name, len(self.found), ends, self.names, columns)
