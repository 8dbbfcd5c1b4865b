"""The figures that operations change, stored as numbers in one array; objects are built from them on read.

Upstream: none; a cycle has a row for each operation, of which few are ever read.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from struct import Struct
from typing import Any, Final, NamedTuple

import numpy as np

from vcdebug.model.names import FloatArray, IntArray, NodeName
from vcdebug.model.node import NodeAmounts, NodeInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus

Value = Any  # Any: each figure has its own type, which only its reader knows
"""The value of a figure: an amount, a number, a text, or a list."""
Figures = Mapping[str, Value]
"""Map of figure names to values."""
Books = tuple[tuple[str, Figures], ...]
"""The figures of each plugin, (plugin, figures), in order of plugin name."""
Ripples = Sequence[tuple[str, str, Figures]]
"""(plugin, job or queue, figures) of accounts that changed along with another account."""
RowPlace = int
"""Index in the array at which a row begins."""
ResourceShape = tuple[int, tuple[str, ...] | None]
"""What a row does not store about a Resource: its maximum number of tasks and its scalar names (None for a nil map)."""
FigureKind = ResourceShape | type

TASK_CELL: Final = 1
NODE_CELL: Final = 3
"""A row holds the number of its layout, the task's status and node, the node's amounts (from here), and all figures."""
LEDGER, RIPPLE = False, True
OWNER_FIGURES: Final = ("job", "queue")
"""The figures that name the owner of an account."""


class FigureHead(NamedTuple):
    """A plugin and the names of the figures that follow in a row; a ripple's first name is empty: its owner's cell."""

    plugin: str
    ripple: bool
    names: tuple[str, ...]


class FigureCell(NamedTuple):
    """The position of a figure in a row and its kind: a float, an amount of a given shape, or an object."""

    kind: FigureKind
    offset: int


class FigureEntry(NamedTuple):
    """The figures of one plugin in a row; a ripple stores its owner under the empty name."""

    plugin: str
    ripple: bool
    cells: Mapping[str, FigureCell]
    names: tuple[str, ...]
    """The names of the figures, without the owner's empty name."""

    def owner_cells(self) -> list[FigureCell]:
        """The cells that may name the owner; the first one that is not empty does."""
        names = ("",) if self.ripple else OWNER_FIGURES
        return [self.cells[name] for name in names if name in self.cells]


class FigureLayout(NamedTuple):
    """The layout of a row: the cells of the node's amounts and the plugins' entries."""

    node: tuple[FigureCell, ...]
    entries: tuple[FigureEntry, ...]


class FigureLog:
    """The figures that operations changed: one row of numbers per operation."""

    __slots__ = ("_layout_of", "_layouts", "_numbers", "_other_of", "_objects")

    def __init__(self) -> None:
        self._numbers = array("d")
        self._layouts: list[FigureLayout] = []
        self._layout_of: dict[tuple[object, ...], int] = {}
        self._objects: list[Value] = []
        """Figures that are neither amounts nor floats; equal texts are stored once."""
        self._other_of: dict[str, int] = {}

    # Writing

    def write_row(
        self, task: TaskInfo, node: NodeInfo | None, heads: tuple[FigureHead, ...] = (), values: Sequence[Value] = ()
    ) -> RowPlace:
        """Add a row for an operation on the task, the node's amounts, then the values of `heads`; returns its place."""
        cells: list[float] = [0.0, task.status, self._text_number(task.node_name)]
        shape: list[object] = [heads]
        if node is not None:
            values = (node.idle, node.used, node.releasing, node.pipelined, *values)
        for value in values:
            # type() is faster than isinstance, and a row is written for every operation.
            kind = type(value)
            if kind is Resource:
                scalars = value.scalars
                if scalars:
                    cells += (value.milli_cpu, value.memory, *scalars.values())
                    shape += (value.max_task_num, *scalars)
                else:
                    cells += (value.milli_cpu, value.memory)
                    # A nil map and an empty map differ in Go and must be read back as they were.
                    shape += (value.max_task_num, None) if scalars is None else (value.max_task_num,)
            elif kind is float:
                cells.append(value)
                shape.append(float)
            else:
                cells.append(self._text_number(value) if kind is str else self._add_other(value))
                shape.append(object)
        key = (*shape,)
        number = self._layout_of.get(key)
        cells[0] = self._new_layout(key) if number is None else number
        place = len(self._numbers)
        self._numbers.frombytes(_row_packer(len(cells))(*cells))
        return place

    def _text_number(self, value: str) -> int:
        number = self._other_of.get(value)
        if number is None:
            number = self._other_of[value] = self._add_other(value)
        return number

    def _add_other(self, value: object) -> int:
        self._objects.append(value)
        return len(self._objects) - 1

    def _new_layout(self, shape: tuple[Value, ...]) -> int:
        number = self._layout_of[shape] = len(self._layouts)
        self._layouts.append(_build_layout(shape[0], _figure_kinds(shape[1:])))
        return number

    # Reading

    def _layout_at(self, place: RowPlace) -> FigureLayout:
        return self._layouts[int(self._numbers[place])]

    def task_state(self, place: RowPlace) -> tuple[TaskStatus, NodeName]:
        """(status, node name) of the task after the operation."""
        status, node = self._numbers[place + TASK_CELL : place + NODE_CELL]
        return TaskStatus(int(status)), self._objects[int(node)]

    def node_amounts(self, place: RowPlace) -> NodeAmounts | None:
        """The node's amounts after the operation; None if the session has no such node."""
        cells = self._layout_at(place).node
        return NodeAmounts(*[self._cell_value(place, cell) for cell in cells]) if cells else None

    def plugin_books(self, place: RowPlace) -> Books:
        """(plugin, figures) of every account that the operation changed, ripples excluded."""
        return tuple(
            (entry.plugin, {name: self._cell_value(place, cell) for name, cell in entry.cells.items()})
            for entry in self._layout_at(place).entries
            if not entry.ripple
        )

    def rows_by_entry(self, places: IntArray) -> Iterator[tuple[FigureEntry, IntArray, Sequence[str]]]:
        """For each entry of the rows: (entry, indexes of `places` whose row has it, owners)."""
        if not len(places):
            return
        numbers = np.frombuffer(self._numbers, dtype=np.float64)
        layouts = numbers[places].astype(np.int64)
        for number, layout in enumerate(self._layouts):
            positions = np.flatnonzero(layouts == number)
            for entry in layout.entries:
                yield entry, positions, self._owner_names(entry, numbers, places[positions])

    def _owner_names(self, entry: FigureEntry, numbers: FloatArray, places: IntArray) -> Sequence[str]:
        names = [""] * len(places)
        for cell in reversed(entry.owner_cells()):
            cell_names = map(self._objects.__getitem__, numbers[places + cell.offset].astype(np.int64).tolist())
            names = [str(name) if name else other for name, other in zip(cell_names, names, strict=True)]
        return names

    def figure_value(self, place: RowPlace, plugin: str, owner: str, figure: str) -> Value:
        """The value of one figure, None if absent; a ripple's later value overrides the account's."""
        for entry in reversed(self._layout_at(place).entries):
            if entry.plugin == plugin and figure in entry.cells and self._owner_name(place, entry) == owner:
                return self._cell_value(place, entry.cells[figure])
        return None

    def _owner_name(self, place: RowPlace, entry: FigureEntry) -> str:
        names = (self._cell_value(place, cell) for cell in entry.owner_cells())
        return next((str(name) for name in names if name), "")

    def _cell_value(self, place: RowPlace, cell: FigureCell) -> Value:
        start, numbers = place + cell.offset, self._numbers
        if cell.kind is float:
            return numbers[start]
        if isinstance(cell.kind, type):
            return self._objects[int(numbers[start])]
        max_task_num, names = cell.kind
        scalars = None if names is None else dict(zip(names, numbers[start + 2 : start + 2 + len(names)], strict=True))
        return Resource(numbers[start], numbers[start + 1], scalars, max_task_num)


@cache
def _row_packer(count: int) -> Callable[..., bytes]:
    """A function that packs `count` numbers into bytes, in a third of the time of appending them to an array."""
    return Struct(f"{count}d").pack


def _build_layout(heads: tuple[FigureHead, ...], kinds: Sequence[FigureKind]) -> FigureLayout:
    """The position of each figure in a row: the node's amounts first, then the figures that the heads name."""
    cells = _consecutive_cells(kinds, NODE_CELL)
    position = len(kinds) - sum(len(figure_head.names) for figure_head in heads)  # exact: ints
    node, entries = tuple(cells[:position]), []
    for figure_head in heads:
        named_cells = dict(zip(figure_head.names, cells[position : position + len(figure_head.names)], strict=True))
        entries.append(
            FigureEntry(
                figure_head.plugin, figure_head.ripple, named_cells, tuple(name for name in figure_head.names if name)
            )
        )
        position += len(figure_head.names)
    return FigureLayout(node, tuple(entries))


def _figure_kinds(shape: Sequence[Value]) -> list[FigureKind]:
    """The kind of each figure; the shape lists an amount as its maximum number of tasks, then its scalar names."""
    starts = [index for index, part in enumerate(shape) if isinstance(part, int | type)]
    kinds: list[FigureKind] = []
    for start, end in pairwise([*starts, len(shape)]):
        names = shape[start + 1 : end]
        kinds.append(shape[start] if isinstance(shape[start], type) else (shape[start], _scalar_names(names)))
    return kinds


def _scalar_names(names: Sequence[str | None]) -> tuple[str, ...] | None:
    """The scalar names of an amount; None for a nil map, which is stored as a single None."""
    return None if names and names[0] is None else tuple(name for name in names if name is not None)


def _consecutive_cells(kinds: Sequence[FigureKind], position: int) -> list[FigureCell]:
    """The cells of consecutive figures, starting at a position."""
    cells = []
    for kind in kinds:
        cells.append(FigureCell(kind, position))
        position += 1 if isinstance(kind, type) else 2 + len(kind[1] or ())
    return cells
