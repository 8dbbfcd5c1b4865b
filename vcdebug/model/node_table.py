"""The nodes' amounts as columns, so that a check over all nodes takes a few array operations.

A NodeInfo's Resources are the truth. A changed node's row is copied into the columns when they are next read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Generic, Literal, TypeVar

import numpy as np

from vcdebug.grouping import split_names
from vcdebug.model.names import BoolArray, Codes, FloatArray, IntArray, NodeName, Row
from vcdebug.model.node import NodeAmounts, NodeInfo
from vcdebug.model.resource import CPU, MEMORY, MIN_RESOURCE, Resource

NodeField = Literal["idle", "used", "releasing", "pipelined", "future", "allocatable", "capability"]
LIVE_FIELDS: tuple[NodeField, ...] = ("idle", "used", "releasing", "pipelined", "future")
FUTURE_FIELDS: tuple[NodeField, ...] = ("releasing", "pipelined")
"""Fields that are 0 on every node until the first task is Releasing or Pipelined."""
FIXED_FIELDS: tuple[NodeField, ...] = ("allocatable", "capability")
RequestAmounts = tuple[tuple[str, float], ...]
"""The dimensions of a request with their amounts, in order."""


_NO_SCALARS: Mapping[str, float] = {}


class NodeTable:
    """One row per node (names ascending), one column per (field, dimension); a missing dimension reads as 0."""

    __slots__ = split_names(
        "_single_rows _amounts _columns _shortages _refreshed_until _changes_read _request_amounts _request_columns "
        "changes future_differs dims row_numbers names no_rows nodes row_of"
    )

    def __init__(self, nodes: Sequence[NodeInfo]) -> None:
        self.nodes = list(nodes)
        self.names: list[NodeName] = [node.name for node in self.nodes]
        self.row_of: dict[NodeName, Row] = {name: row for row, name in enumerate(self.names)}
        self.dims: dict[str, int] = {CPU: 0, MEMORY: 1}
        self.changes: list[Row] = []
        """Rows whose amounts changed, one entry per change, ever growing."""
        self.future_differs = False
        """Whether any node ever had a Releasing or Pipelined task; until then future amounts equal the idle ones."""
        self._refreshed_until: dict[NodeField, int] = {}
        """The length of `changes` up to which each field is refreshed."""
        self._amounts: list[NodeAmounts] = []
        self._changes_read = 0
        self._request_columns: dict[RequestAmounts, tuple[IntArray, FloatArray]] = {}
        self._request_amounts: dict[int, tuple[Resource, RequestAmounts]] = {}
        self._single_rows: dict[Row, NodeRows] = {}
        self.no_rows = NodeRows(self, np.zeros(0, dtype=np.int64))
        self.row_numbers: IntArray = np.arange(len(self.nodes), dtype=np.int64)
        """The rows of all nodes; read only."""
        self.row_numbers.flags.writeable = False
        self._shortages: RowCache[np.uint16] = RowCache(len(self.nodes), self.changes)
        self._columns: dict[NodeField, FloatArray] = {}
        for row, node in enumerate(self.nodes):
            node.row, node.table = row, self
            if _future_differs(node):
                self.future_differs = True
        self._number_dimensions(
            [amount for node in self.nodes for amount in (node.allocatable, node.used, node.capability)]
        )
        self._fill_table()

    def _number_dimensions(self, amounts: list[Resource]) -> None:
        scalars = [amount.scalars for amount in amounts if amount.scalars]
        for name in dict.fromkeys(chain.from_iterable(scalars)):
            self.dims.setdefault(name, len(self.dims))

    def break_cycles(self) -> None:
        """Drop the references between table, nodes and rows, so that refcounting frees a finished session."""
        self.nodes.clear()
        self._single_rows.clear()
        del self.no_rows

    def _fill_table(self) -> None:
        self._request_columns = {}
        # One more column than dimensions stays 0: index -1 is what `dims.get(name, -1)` reads for unknown names.
        shape = (len(self.dims) + 1, len(self.nodes))
        self._columns = {field: np.zeros(shape) for field in (*LIVE_FIELDS, *FIXED_FIELDS)}
        for field, columns in self._columns.items():
            if self.future_differs or field not in (*FUTURE_FIELDS, "future"):
                self._fill_columns(columns, [self._amount_of(node, field) for node in self.nodes])
        if not self.future_differs:
            self._columns["future"][:] = self._columns["idle"]
        self._refreshed_until = dict.fromkeys(LIVE_FIELDS, len(self.changes))

    def _fill_columns(self, columns: FloatArray, amounts: list[Resource]) -> None:
        columns[0] = [amount.milli_cpu for amount in amounts]
        columns[1] = [amount.memory for amount in amounts]
        scalars = [amount.scalars or _NO_SCALARS for amount in amounts]
        for name, dim in self.dims.items():
            if dim > 1:
                columns[dim] = [node_scalars.get(name, 0.0) for node_scalars in scalars]

    def _write_row(self, row: Row, node: NodeInfo, field: NodeField) -> None:
        resource, columns = self._amount_of(node, field), self._columns[field]
        columns[0, row] = resource.milli_cpu
        columns[1, row] = resource.memory
        if resource.scalars:
            dims = self.dims
            for name, amount in resource.scalars.items():
                columns[dims[name], row] = amount

    def _amount_of(self, node: NodeInfo, field: NodeField) -> Resource:
        if field != "future":
            amount: Resource = getattr(node, field)
            return amount
        return node.future_idle() if self.future_differs else node.idle

    def mark_changed(self, row: Row) -> None:
        """Note that a node's amounts changed."""
        self.changes.append(row)
        if not self.future_differs:
            self.future_differs = _future_differs(self.nodes[row])

    def node_amounts(self) -> tuple[NodeAmounts, ...]:
        """The current amounts of every node; copies only nodes that changed since the last call."""
        if not self._amounts:
            self._amounts = [NodeAmounts.of_node(node) for node in self.nodes]
        for row in dict.fromkeys(self.changes[self._changes_read :]):
            self._amounts[row] = NodeAmounts.of_node(self.nodes[row])
        self._changes_read = len(self.changes)
        return tuple(self._amounts)

    def _refresh_rows(self, field: NodeField) -> None:
        dirty = dict.fromkeys(self.changes[self._refreshed_until[field] :])
        self._refreshed_until[field] = len(self.changes)
        dims = self.dims.keys()
        for row in dirty:
            node = self.nodes[row]
            for resource in (node.idle, node.pipelined, node.used):
                # A pod can request a resource that no node has: then the columns need one more dimension.
                if resource.scalars and not resource.scalars.keys() <= dims:
                    self._add_dimensions()
                    return
            self._write_row(row, node, field)

    def _add_dimensions(self) -> None:
        self._number_dimensions([amount for node in self.nodes for amount in (node.idle, node.pipelined, node.used)])
        self._fill_table()

    def dimension_column(self, field: NodeField, dim: str) -> FloatArray:
        """One dimension over all nodes; do not write to it."""
        column: FloatArray = self._refreshed_columns(field)[self.dims.get(dim, -1)]
        return column

    def field_matrix(self, field: NodeField) -> FloatArray:
        """(dimensions, nodes) of one field, refreshed; do not write to it."""
        return self._refreshed_columns(field)[:-1]

    def _refreshed_columns(self, field: NodeField) -> FloatArray:
        if self._refreshed_until.get(field, len(self.changes)) < len(self.changes):
            self._refresh_rows(field)
        return self._columns[field]

    def lacking_dimensions(self, request: Resource, field: NodeField) -> Codes:
        """Per node the position (from 1) of the first requested dimension that the field's amounts do not hold, with
        upstream's tolerance; 0 where all fit. Read only, and cached by the request, which must never change.
        """
        amounts = self.request_amounts(request)
        if field == "future":
            field = self.room_field()
        return self._shortages.cached_values(
            (field, amounts),
            lambda rows: self.first_lacking(amounts, field, rows),
            lambda row: self.first_lacking_on_node(amounts, field, row),
        )

    def room_field(self) -> NodeField:
        """The field with future amounts: the idle ones until the first task is Releasing or Pipelined."""
        return "future" if self.future_differs else "idle"

    def request_amounts(self, request: Resource) -> RequestAmounts:
        """The dimensions and amounts of a request; cached by identity, since tasks of one template share the object."""
        entry = self._request_amounts.get(id(request))
        if entry is None:
            entry = self._request_amounts[id(request)] = (request, tuple(request.items()))
        return entry[1]

    def first_lacking_on_node(self, request: RequestAmounts, field: NodeField, row: Row) -> int:
        """Same as lacking_dimensions, for one node: faster than arrays of one element."""
        amounts = self._amount_of(self.nodes[row], field)
        for position, (name, amount) in enumerate(request, 1):
            if not amounts.get(name) - amount > -MIN_RESOURCE:
                return position
        return 0

    def first_lacking(self, request: RequestAmounts, field: NodeField, rows: IntArray) -> Codes:
        """Same as lacking_dimensions, for some nodes."""
        columns = self._refreshed_columns(field)
        dims, amounts = self._as_columns(request)
        # For all rows, whole columns are used instead of indexing each row.
        available = columns[dims[:, 0]] if len(rows) == len(self.nodes) else columns[dims, rows]
        fits = fits_amount(amounts, available)
        first: Codes = np.zeros(len(rows), dtype=np.uint16)
        short_rows = (~np.logical_and.reduce(fits)).nonzero()[0]
        if len(short_rows):
            first[short_rows] = fits[:, short_rows].argmin(axis=0) + 1
        return first

    def _as_columns(self, request: RequestAmounts) -> tuple[IntArray, FloatArray]:
        """Column numbers of the dimensions and their amounts, as arrays of shape (dimensions, 1)."""
        columns = self._request_columns.get(request)
        if columns is None:
            dims = np.array([[self.dims.get(name, -1)] for name, _ in request])
            columns = self._request_columns[request] = (dims, np.array([[amount] for _, amount in request]))
        return columns

    def all_rows(self) -> NodeRows:
        """Every node, ascending by name."""
        return NodeRows(self, self.row_numbers)

    def single_row(self, row: Row) -> NodeRows:
        """One node alone."""
        alone = self._single_rows.get(row)
        if alone is None:
            alone = self._single_rows[row] = NodeRows(self, np.array([row], dtype=np.int64))
        return alone

    def rows_named(self, names: Sequence[NodeName]) -> NodeRows:
        """The nodes of these names, in the order given."""
        rows = np.array([self.row_of[name] for name in names], dtype=np.int64)
        # With the shared array of all rows, later checks use whole columns.
        return NodeRows(self, self.row_numbers if np.array_equal(rows, self.row_numbers) else rows)

    def __len__(self) -> int:
        return len(self.nodes)


class NodeRows:
    """Some nodes of a table in visiting order; a vectorised hook answers with one value per row."""

    __slots__ = ("rows", "table")

    def __init__(self, table: NodeTable, rows: IntArray) -> None:
        self.table = table
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def node_names(self) -> list[NodeName]:
        """Node names in order."""
        names = self.table.names
        return [names[row] for row in self.rows.tolist()]

    @property
    def node_infos(self) -> list[NodeInfo]:
        """NodeInfos in order."""
        nodes = self.table.nodes
        return [nodes[row] for row in self.rows.tolist()]

    def dimension_column(self, field: NodeField, dim: str) -> FloatArray:
        """One dimension for these rows."""
        return self.table.dimension_column(field, dim)[self.rows]

    def zero_scores(self) -> FloatArray:
        """0.0 per row; one read-only array for each number of rows."""
        return zero_array(len(self.rows))

    def select_where(self, mask: BoolArray) -> NodeRows:
        return NodeRows(self.table, self.rows[mask])

    def fits_request(self, request: Resource, field: NodeField) -> BoolArray:
        """Where `request` is at most the field's amounts, with upstream's tolerance."""
        fits: BoolArray = self.table.lacking_dimensions(request, field)[self.rows] == 0
        return fits


@lru_cache(maxsize=256)
def zero_array(size: int) -> FloatArray:
    """A read-only array of zeros, cached by size."""
    zeros: FloatArray = np.zeros(size)
    zeros.flags.writeable = False
    return zeros


@lru_cache(maxsize=256)
def constant_array(value: float, size: int) -> FloatArray:
    """A read-only array of one positive number, cached; 0.0 and -0.0 would share a cache entry."""
    return np.broadcast_to(np.array([value]), size)


def _future_differs(node: NodeInfo) -> bool:
    """Whether the node's releasing or pipelined amounts were ever added to."""
    releasing, pipelined = node.releasing, node.pipelined
    leaves = releasing.milli_cpu or releasing.memory or releasing.scalars
    return bool(leaves or pipelined.milli_cpu or pipelined.memory or pipelined.scalars)


def fits_amount(amount: float | FloatArray, available: FloatArray) -> BoolArray:
    """Where amount <= available, with the tolerance; broadcasts."""
    # Upstream writes `l < r || |l - r| < min`, which for floats is the same as one comparison of the difference.
    result: BoolArray = available - amount > -MIN_RESOURCE
    return result


# Values per node that depend only on the node itself: cached for all rows, recomputed for changed rows.

T = TypeVar("T", bound=np.generic)
ComputeRows = Callable[[IntArray], "np.ndarray[tuple[int, ...], np.dtype[T]]"]
"""Rows → one value per row; with several values per row, the result has one row for each of them."""
ComputeRow = Callable[[Row], "float | tuple[float, ...]"]
"""Row → its value or values, equal to those of ComputeRows, but without arrays."""
MAX_SINGLE_ROWS = 6
"""Maximum number of changed rows that are computed one by one, which is faster than an array operation."""


class _CachedRows(Generic[T]):
    __slots__ = ("by_row", "change_count", "values")

    def __init__(self, values: np.ndarray[tuple[int, ...], np.dtype[T]], change_count: int) -> None:
        self.values = values
        self.by_row = values.T
        self.change_count = change_count


class RowCache(Generic[T]):
    """A cache of values per question and row, for values that depend only on the row's node.

    `changes` is the owner's growing log of changed rows: a later question computes only these again.
    """

    __slots__ = ("_all_rows", "_columns_by_key", "_changes")

    def __init__(self, size: int, changes: list[Row]) -> None:
        self._all_rows: IntArray = np.arange(size, dtype=np.int64)
        self._changes = changes
        self._columns_by_key: dict[Hashable, _CachedRows[T]] = {}

    def cached_values(
        self, question: Hashable, compute: ComputeRows[T], compute_one: ComputeRow
    ) -> np.ndarray[tuple[int, ...], np.dtype[T]]:
        """Values for all rows. Read only; later calls update the array in place, so copy it to keep it."""
        change_count = len(self._changes)
        answer = self._columns_by_key.get(question)
        if answer is None:
            answer = self._columns_by_key[question] = _CachedRows(compute(self._all_rows), change_count)
        elif answer.change_count < change_count:
            rows = dict.fromkeys(self._changes[answer.change_count :])
            answer.change_count = change_count
            if len(rows) <= MAX_SINGLE_ROWS:
                for row in rows:
                    answer.by_row[row] = compute_one(row)
            elif 2 * len(rows) > len(self._all_rows):
                answer = self._columns_by_key[question] = _CachedRows(compute(self._all_rows), change_count)
            else:
                changed = np.fromiter(rows, dtype=np.int64, count=len(rows))
                answer.by_row[changed] = compute(changed).T
        return answer.values
