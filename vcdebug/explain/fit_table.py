"""The fit of one request on every node: what each node lacks, and the reasons of the predicates, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Literal, NamedTuple, get_args, overload

import numpy as np
from msgspec import Struct

from vcdebug.amount_text import join_first_names
from vcdebug.explain.predicate_reasons import reasons_text
from vcdebug.grouping import Histogram, group_by_key
from vcdebug.model.fit_errors import POD_NUMBER_EXCEEDED, FitStatus, blocks_preemption
from vcdebug.model.names import BoolArray, Codes, FloatArray, IntArray, NodeName, Row, Seq
from vcdebug.model.node import NodeAmounts
from vcdebug.model.resource import MIN_RESOURCE, PODS, Resource
from vcdebug.recording.event_index import NODE
from vcdebug.recording.recording import Recording, per_recording

FitKind = Literal["free", "unresolvable", "too small", "pods", "short", "refused"]
"""What keeps the task off a node: nothing, something that no eviction changes, its size, a place for one more pod,
other resources, or a rule about the pods that are there."""
_KINDS: Final[tuple[FitKind, ...]] = get_args(FitKind)
_FREE, _UNRESOLVABLE, _TOO_SMALL, _PODS, _SHORT, _REFUSED = range(len(_KINDS))
RequestItems = tuple[tuple[str, float], ...]
"""A task's request, as Resource.items returns it."""
MissingItems = tuple[tuple[str, float], ...]
"""Dimensions without enough room, and the missing amounts."""
WITHOUT: Final = "without "


class NodeFit(NamedTuple):
    """The fit of one task on one node."""

    name: NodeName
    kind: FitKind
    statuses: tuple[FitStatus, ...]
    """The reasons for which the predicates refuse the node."""
    future_idle: Resource
    """The node's future idle: idle + releasing - pipelined."""
    allocatable: Resource
    short: MissingItems

    @property
    def reason(self) -> str:
        """Why the node does not fit, in the scheduler's words; `room` if it does."""
        objections = reasons_text(self.statuses)
        if self.kind in ("unresolvable", "refused") and objections:
            return objections
        unprovided = [name for name, _ in self.short if self.allocatable.get(name) <= 0]
        if unprovided:
            return f"{WITHOUT}{' and '.join(unprovided)}"
        if self.kind == "too small":
            return f"too small ({', '.join(name for name, _ in self.short)})"
        if self.short:
            return f"Insufficient {' and '.join(name for name, _ in self.short)}"
        return objections or "room"


class FitTable:
    """The fit of one request on every node; shared by tasks for which the predicates answer alike.

    Its arrays have an entry per node of the session, and `rows` the nodes that count. A NodeFit is made when it is
    looked at: of thousands of nodes, an answer names a few.
    """

    def __init__(self, recording: Recording, seq: Seq, request: RequestItems, rows: IntArray) -> None:
        self._recording = recording
        self.node_names = recording.node_names
        self._seq = seq
        self._request = {name: amount for name, amount in request if amount > 0}
        self.rows = rows
        count = len(recording.node_names)
        self._codes: Codes = np.zeros(count, dtype=np.uint16)
        sizes = {name: _allocatable_column(recording, name) for name in self._request}
        rooms = {name: future_column(recording, seq, name) for name in self._request}
        small = [is_short(amount, sizes[name]) for name, amount in self._request.items()]
        self._is_small: BoolArray = np.logical_or.reduce([np.zeros(count, dtype=bool), *small])
        # What a node lacks is measured against its size if that is too small, else against its future idle.
        offered = {name: np.where(self._is_small, sizes[name], rooms[name]) for name in self._request}
        self._missing = {name: amount - offered[name] for name, amount in self._request.items()}
        self._lacks = {name: is_short(amount, offered[name]) for name, amount in self._request.items()}
        self._lack_counts = sum(self._lacks.values(), start=np.zeros(count, dtype=np.int64))
        self._kinds = self._kinds_by_amounts()
        self._by_kinds: dict[tuple[FitKind, ...], FitRows] = {}
        self._by_row: dict[Row, NodeFit] = {}

    def _kinds_by_amounts(self) -> IntArray:
        kinds = np.where(self._is_small, _TOO_SMALL, np.where(self._lack_counts > 0, _SHORT, _FREE))
        if PODS in self._lacks:
            kinds[self._lacks[PODS] & (self._lack_counts == 1) & ~self._is_small] = _PODS
        return kinds

    def refuse(self, codes: Codes, too_few_devices: IntArray) -> None:
        """Add the codes of the predicates' reasons, 0 for none; `too_few_devices` are rows where no eviction helps."""
        self._codes, is_free = codes, self._kinds == _FREE
        for code in filter(None, np.unique(codes).tolist()):
            kind = _KINDS.index(objections_kind(self._recording.reason_table.statuses_of(code)))
            self._kinds[(codes == code) & (is_free | (kind == _UNRESOLVABLE))] = kind
        self._kinds[too_few_devices[self._kinds[too_few_devices] == _REFUSED]] = _UNRESOLVABLE

    def node_at(self, row: Row) -> NodeFit:
        if row not in self._by_row:
            name, statuses = self.node_names[row], self._recording.reason_table.statuses_of
            room = room_by_node(self._recording, self._seq)[name]
            short = tuple((one, self._missing[one].item(row)) for one, lacks in self._lacks.items() if lacks[row])
            code, kind = self._codes.item(row), _KINDS[self._kinds.item(row)]
            fit = NodeFit(name, kind, statuses(code) if code else (), room.future_idle, room.allocatable, short)
            self._by_row[row] = fit
        return self._by_row[row]

    def select_where(self, mask: BoolArray) -> FitRows:
        """The nodes of a mask over all rows."""
        return FitRows(self, self.rows[mask[self.rows]])

    def of_kind(self, *kinds: FitKind) -> FitRows:
        """Nodes that fail in one of these ways."""
        if kinds not in self._by_kinds:
            self._by_kinds[kinds] = self.select_where(_is_one_of(self._kinds, map(_KINDS.index, kinds)))
        return self._by_kinds[kinds]

    @cached_property
    def nodes(self) -> FitRows:
        """Every node that counts."""
        return FitRows(self, self.rows)

    @cached_property
    def not_free(self) -> FitRows:
        """Nodes that do not fit the task now."""
        return self.select_where(self._kinds != _FREE)

    @cached_property
    def statuses(self) -> Mapping[int, tuple[FitStatus, ...]]:
        """Code → the reasons of the predicates, for the codes of the refused nodes."""
        codes = np.unique(self._codes[self.rows]).tolist()
        return {code: self._recording.reason_table.statuses_of(code) for code in codes if code}

    def refused_for(self, *texts: str) -> FitRows:
        """Nodes that predicates refuse with a reason that contains one of these texts, whatever the case."""
        lowered = {code: [one.reason.lower() for one in statuses] for code, statuses in self.statuses.items()}
        wanted = [text.lower() for text in texts]
        codes = [
            code for code, reasons in lowered.items() if any(one in reason for reason in reasons for one in wanted)
        ]
        return self.select_where(_is_one_of(self._codes, codes))

    @cached_property
    def nearest_node(self) -> NodeFit | None:
        """The suitable node that lacks least, relative to the request, since cores and bytes have no common unit."""
        rows = (self.of_kind("short", "pods") or self.of_kind("too small")).rows
        rows = rows[self._lack_counts[rows] > 0]
        if not len(rows):
            return None
        # 1.0 only keeps the division defined.
        ratios = [
            np.where(lacks[rows], self._missing[name][rows] / max(self._request[name], 1.0), -np.inf)
            for name, lacks in self._lacks.items()
        ]
        counts, largest = self._lack_counts[rows], np.max(ratios, axis=0)
        fewest = counts == counts.min()
        nearest = rows[fewest][largest[fewest] == largest[fewest].min()]
        return self.node_at(min(nearest.tolist(), key=self.node_names.__getitem__))

    @cached_property
    def reason_histogram(self) -> Histogram[NodeName]:
        """Reason and its nodes, most frequent first, but nodes without the resource at all last."""
        examples, groups = self._reason_groups
        texts = [node.reason for node in examples]
        by_text = group_by_key((text, group) for group, text in enumerate(texts)).items()
        reasons = [
            (text, [*FitRows(self, self.not_free.rows[_is_one_of(groups, members)]).names]) for text, members in by_text
        ]
        # Most nodes of a cluster may have no GPU: why the others do not fit is what a reader looks for.
        return sorted(reasons, key=lambda one: (one[0].startswith(WITHOUT), -len(one[1]), one[0]))

    def reasons_of(self, kind: FitKind) -> Sequence[str]:
        """The distinct reasons of the nodes of one kind."""
        return [node.reason for node in self._reason_groups[0] if node.kind == kind]

    @cached_property
    def _reason_groups(self) -> tuple[FitRows, IntArray]:
        """(a node of each group that fails for one reason, the number of the group of each node that is not free)."""
        rows = self.not_free.rows
        sizes = (_allocatable_column(self._recording, name) for name in self._lacks)
        lacks = [lack * np.where(size > 0, 1, 2) for lack, size in zip(self._lacks.values(), sizes, strict=True)]
        # Numbered again per column: np.unique of whole columns compares them byte by byte, five times as slowly.
        groups = self._kinds[rows]
        for column in (self._codes, *lacks):
            if column.any():
                key = groups * (int(column.max()) + 1) + column[rows].astype(np.int64)
                groups = np.unique(key, return_inverse=True)[1]
        examples = np.unique(groups, return_index=True)[1]
        return FitRows(self, rows[examples]), groups.reshape(-1)

    @property
    def is_too_large(self) -> bool:
        """Whether every node is too small for the request, and there are nodes."""
        return len(self.rows) > 0 and bool(self._is_small[self.rows].all())

    def largest_node(self, name: str) -> tuple[float, NodeName]:
        """The largest allocatable amount of a dimension, and the first node with it."""
        sizes = _allocatable_column(self._recording, name)[self.rows]
        largest = int(sizes.argmax())
        return sizes.item(largest), self.node_names[self.rows.item(largest)]

    def lacked(self, nodes: FitRows) -> list[str]:
        """The dimensions of which some of these nodes lack room."""
        return [name for name, lacks in self._lacks.items() if lacks[nodes.rows].any()]

    def free_amounts(self, name: str, nodes: FitRows) -> FloatArray:
        """The future idle of these nodes in one dimension."""
        return future_column(self._recording, self._seq, name)[nodes.rows]

    def alike(self, node: NodeFit) -> FitRows:
        """The nodes that fail like this one and lack the same amounts."""
        mask, missing = self._kinds == _KINDS.index(node.kind), dict(node.short)
        for name, lacks in self._lacks.items():
            mask &= lacks & (self._missing[name] == missing[name]) if name in missing else ~lacks
        return self.select_where(mask)


class FitRows(Sequence[NodeFit]):
    """The fit on some nodes, in the session's order."""

    def __init__(self, table: FitTable, rows: IntArray) -> None:
        self._table = table
        self.rows = rows

    @property
    def names(self) -> Iterator[NodeName]:
        return map(self._table.node_names.__getitem__, self.rows.tolist())

    @property
    def joined_names(self) -> str:
        """The first names, and the number of further ones."""
        return join_first_names(self.names, len(self))

    def intersect(self, rows: IntArray) -> FitRows:
        """Those of the nodes that are in these rows."""
        return FitRows(self._table, self.rows[self._is_in(rows)])

    def without(self, rows: IntArray) -> FitRows:
        """Those of the nodes that are not in these rows."""
        return FitRows(self._table, self.rows[~self._is_in(rows)])

    def _is_in(self, rows: IntArray) -> BoolArray:
        mask = np.zeros(len(self._table.node_names), dtype=bool)
        mask[rows] = True
        return mask[self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> NodeFit: ...
    @overload
    def __getitem__(self, index: slice) -> FitRows: ...
    def __getitem__(self, index: int | slice) -> NodeFit | FitRows:
        if isinstance(index, slice):
            return FitRows(self._table, self.rows[index])
        return self._table.node_at(self.rows.item(index))

    def __iter__(self) -> Iterator[NodeFit]:
        return map(self._table.node_at, self.rows.tolist())


def _is_one_of(column: IntArray | Codes, values: Iterable[int]) -> BoolArray:
    # np.isin sorts both, which takes ten times as long for a handful of values.
    mask = np.zeros(len(column), dtype=bool)
    for value in values:
        mask |= column == value
    return mask


def is_short(amount: float, column: FloatArray) -> BoolArray:
    """Where a node has less than this; fits if l < r or |l - r| < 0.1, like LessEqual."""
    # A plain `>=` would refuse amounts within upstream's tolerance.
    return ~(column - amount > -MIN_RESOURCE)


def objections_kind(statuses: tuple[FitStatus, ...]) -> FitKind:
    """The kind of misfit that follows from the predicates' reasons alone."""
    if any(blocks_preemption(status) for status in statuses):
        return "unresolvable"
    if not statuses:
        return "free"
    return "pods" if any(status.reason == POD_NUMBER_EXCEEDED for status in statuses) else "refused"


@per_recording(most=32)
def fit_table(
    recording: Recording,
    seq: Seq,
    request: RequestItems,
    codes: bytes = b"",
    too_few_devices: bytes = b"",
    within: bytes | None = None,
) -> FitTable:
    """The fit of a request on every node, or on the rows `within`, after an event; the arrays are given as bytes."""
    # Jobs of one template ask the same of every node: the arrays themselves are the key under which they share this.
    all_rows = np.arange(len(recording.node_names))
    table = FitTable(recording, seq, request, all_rows if within is None else np.frombuffer(within, dtype=np.int64))
    if codes:
        table.refuse(np.frombuffer(codes, dtype=np.uint16), np.frombuffer(too_few_devices, dtype=np.int64))
    return table


class NodeIdle(Struct, frozen=True):
    """A node's future idle and allocatable amounts."""

    future_idle: Resource
    allocatable: Resource


@per_recording(most=8)
def room_by_node(recording: Recording, seq: Seq) -> Mapping[NodeName, NodeIdle]:
    """Each node's future idle and allocatable amounts after an event."""
    # Only changed nodes are computed again: most of thousands of nodes are as they were at the opening.
    changed = recording.timeline.changed_up_to(NODE, seq).items()
    return {
        **_rooms_at_opening(recording),
        **{name: _room_after_change(recording, name, position) for name, position in changed},
    }


@per_recording()
def _rooms_at_opening(recording: Recording) -> Mapping[NodeName, NodeIdle]:
    amounts = recording.timeline.opening_nodes
    return {
        name: NodeIdle(amounts[name].future_idle(), node.allocatable) for name, node in recording.session.nodes.items()
    }


@per_recording(most=10_000)
def _room_after_change(recording: Recording, name: NodeName, position: int) -> NodeIdle:
    amounts: NodeAmounts = recording.timeline.value_written_at(position, NODE, name)
    return NodeIdle(amounts.future_idle(), recording.session.nodes[name].allocatable)


@per_recording(most=64)
def _allocatable_column(recording: Recording, name: str) -> FloatArray:
    return np.array([node.allocatable.get(name) for node in recording.session.nodes.values()], dtype=np.float64)


@per_recording(most=64)
def future_column(recording: Recording, seq: Seq, name: str) -> FloatArray:
    """The future idle per node in one dimension, after an event."""
    return np.array([room.future_idle.get(name) for room in room_by_node(recording, seq).values()], dtype=np.float64)
