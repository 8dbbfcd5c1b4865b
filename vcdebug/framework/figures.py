"""What operations left behind, as numbers in one array: figures take their shape when somebody looks.

Upstream: none; a recording has as many of these figures as a cycle has operations, and hardly any is ever looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from vcdebug.model.amountlog import AmountLog, Place
from vcdebug.model.names import FloatArray, IntArray, NodeName
from vcdebug.model.node import NodeInfo
from vcdebug.model.nodeamounts import NodeAmounts
from vcdebug.model.resource import Resource
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo

Books = tuple[tuple[str, Mapping[str, Any]], ...]
"""(plugin, its figures) in plugin name order."""
Ripples = Sequence[tuple[str, str, Mapping[str, Any]]]
"""(plugin, job or queue, its figures): what changed beside the ledgers."""

NODE: Final = 3
"""Numbers of a row before the node's: its layout, the task's status, and the node that the task names."""
NODE_PARTS: Final = len(NodeAmounts._fields)
OWNERS: Final = ("job", "queue")
"""Figures that say whom a ledger is about."""


class Entry(NamedTuple):
    """A plugin's figures in a row: a ripple's first one names whom it is about."""

    plugin: str
    ripple: bool
    names: tuple[str, ...]
    kinds: tuple[type, ...]


class Layout(NamedTuple):
    """What the numbers of a row mean."""

    node: bool
    entries: tuple[Entry, ...]


class FigureLog:
    """A row per operation: the task's status and node, places of the node's amounts, then every figure."""

    __slots__ = ("_amounts", "_layout_of", "_layouts", "_other_of", "_others")

    def __init__(self) -> None:
        self._amounts = AmountLog()
        self._layouts: list[Layout] = []
        self._layout_of: dict[tuple[object, ...], int] = {}
        self._others: list[Any] = []
        """Figures that are neither amounts nor floats."""
        self._other_of: dict[str, int] = {}

    # Writing

    def write(self, task: TaskInfo, node: NodeInfo | None, books: Books, ripples: Ripples = ()) -> Place:
        """Keep what an operation on the task left behind, as it is now."""
        cells: list[float] = [task.status, self._other(task.node_name)]
        shape: list[object] = [node is not None]
        if node is not None:
            cells.extend(self._node(node))
        for plugin, figures in books:
            shape += (plugin, False)
            self._figures(figures, cells, shape)
        for plugin, key, figures in ripples:
            shape += (plugin, True)
            cells.append(self._other(key))
            self._figures(figures, cells, shape)
        numbers = self._amounts.numbers
        place = len(numbers)
        numbers.append(self._layout(tuple(shape)))
        numbers.extend(cells)
        return place

    def _node(self, node: NodeInfo) -> tuple[Place, ...]:
        """Places of the four amounts: the last ones where they did not change."""
        now = NodeAmounts.of(node)
        if node.written is None:
            places = tuple([self._amounts.write(amount) for amount in now])
        else:
            before, places = node.written
            if before is now:
                return places
            known = zip(now, before, places, strict=True)
            places = tuple([place if one is old else self._amounts.write(one) for one, old, place in known])
        node.written = (now, places)
        return places

    def _figures(self, figures: Mapping[str, Any], cells: list[float], shape: list[object]) -> None:
        for name, value in figures.items():
            kind = type(value)
            shape += (name, kind)
            if kind is float:
                cells.append(value)
            elif kind is Resource:
                cells.append(self._amounts.write(value))
            else:
                cells.append(self._other(value))

    def _other(self, value: object) -> int:
        if not isinstance(value, str):
            self._others.append(value)
            return len(self._others) - 1
        number = self._other_of.get(value)
        if number is None:
            number = self._other_of[value] = len(self._others)
            self._others.append(value)
        return number

    def _layout(self, shape: tuple[object, ...]) -> int:
        number = self._layout_of.get(shape)
        if number is None:
            number = self._layout_of[shape] = len(self._layouts)
            self._layouts.append(Layout(bool(shape[0]), tuple(_entries(shape))))
        return number

    # Reading

    def _row(self, place: Place) -> Layout:
        return self._layouts[int(self._amounts.numbers[place])]

    def task(self, place: Place) -> tuple[TaskStatus, NodeName]:
        """What the task has become, and the node that it names."""
        status, node = self._amounts.numbers[place + 1 : place + NODE]
        return TaskStatus(int(status)), self._others[int(node)]

    def node(self, place: Place) -> NodeAmounts | None:
        """What the operation's node had then; None where the session has no such node."""
        if not self._row(place).node:
            return None
        read, numbers = self._amounts.read, self._amounts.numbers
        return NodeAmounts(*[read(int(cell)) for cell in numbers[place + NODE : place + NODE + NODE_PARTS]])

    def books(self, place: Place) -> Books:
        """Each plugin's ledger."""
        return tuple(
            (entry.plugin, {name: self._value(kind, at + index) for index, (name, kind) in _numbered(entry)})
            for entry, at in self._entries(place)
            if not entry.ripple
        )

    def changed(self, place: Place) -> Iterator[tuple[str, str, str]]:
        """(plugin, job or queue or nothing, figure) of everything that the operation wrote, ripples last."""
        for entry, at in self._entries(place):
            owner = self._owner(entry, at)
            for name in entry.names:
                yield entry.plugin, owner, name

    def written(self, places: IntArray) -> Iterator[tuple[Entry, IntArray, Sequence[str]]]:
        """What the rows at these places hold: an entry, which of the places have it, and whom it is about at each."""
        if not len(places):
            return
        numbers = np.frombuffer(self._amounts.numbers, dtype=np.float64)
        shapes = numbers[places].astype(np.int64)
        for number, layout in enumerate(self._layouts):
            having = np.flatnonzero(shapes == number)
            for entry, offset in _offsets(layout):
                yield entry, having, self._owners(entry, numbers, places[having] + offset)

    def _owners(self, entry: Entry, numbers: FloatArray, at: IntArray) -> Sequence[str]:
        """As _owner, for a column of places."""
        cells = [-1] if entry.ripple else [entry.names.index(name) for name in OWNERS if name in entry.names]
        found = [""] * len(at)
        for cell in reversed(cells):
            named = map(self._others.__getitem__, numbers[at + cell].astype(np.int64).tolist())
            found = [str(name) if name else other for name, other in zip(named, found, strict=True)]
        return found

    def figure(self, place: Place, plugin: str, owner: str, figure: str) -> Any:
        """One figure; of a ledger and a ripple about the same the ripple, which is written last."""
        found = None
        for entry, at in self._entries(place):
            if entry.plugin == plugin and figure in entry.names and self._owner(entry, at) == owner:
                index = entry.names.index(figure)
                found = self._value(entry.kinds[index], at + index)
        return found

    def _entries(self, place: Place) -> Iterator[tuple[Entry, Place]]:
        """Each plugin's figures and the place of the first one."""
        for entry, offset in _offsets(self._row(place)):
            yield entry, place + offset

    def _owner(self, entry: Entry, at: Place) -> str:
        if entry.ripple:
            return str(self._value(str, at - 1) or "")
        named = (self._value(str, at + entry.names.index(name)) for name in OWNERS if name in entry.names)
        return next((str(name) for name in named if name), "")

    def _value(self, kind: type, at: Place) -> Any:
        cell = self._amounts.numbers[at]
        if kind is float:
            return cell
        return self._amounts.read(int(cell)) if kind is Resource else self._others[int(cell)]


def _offsets(layout: Layout) -> Iterator[tuple[Entry, int]]:
    """Each plugin's figures, and how far from the beginning of a row the first one lies."""
    at = NODE + (NODE_PARTS if layout.node else 0)
    for entry in layout.entries:
        at += entry.ripple
        yield entry, at
        at += len(entry.names)


def _numbered(entry: Entry) -> Iterator[tuple[int, tuple[str, type]]]:
    return enumerate(zip(entry.names, entry.kinds, strict=True))


def _entries(shape: Sequence[Any]) -> Iterator[Entry]:
    """The entries of a flat shape: plugin and whether it is a ripple, then names and kinds up to the next one."""
    starts = [index for index in range(1, len(shape), 2) if isinstance(shape[index + 1], bool)]
    for start, end in pairwise([*starts, len(shape)]):
        yield Entry(
            shape[start], shape[start + 1], tuple(shape[start + 2 : end : 2]), tuple(shape[start + 3 : end : 2])
        )
