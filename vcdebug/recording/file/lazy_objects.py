"""Objects of a stored recording that are filled at the first access, and the attributes that are filled later."""

import dataclasses
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from types import FunctionType, MethodType
from typing import Any, Final, overload

from msgspec import Struct

from vcdebug.grouping import split_names
from vcdebug.recording import cluster_overview
from vcdebug.recording.effects import action_outcomes, cycle_effects, timeline_marks
from vcdebug.recording.file.columns import StoredColumn
from vcdebug.recording.input_problems import input_problems, noteworthy_nodes
from vcdebug.recording.recording import Recording
from vcdebug.recording.writes import api_writes

Value = Any  # Any: whatever a recording holds
Unfilled = Any  # Any: an instance of whatever class a recording holds
FillInstance = Callable[[Unfilled, int, bool], bool]
"""(instance, row, slow) → sets its quick or its slow attributes; returns whether slow ones are left."""
ReadAttribute = Callable[[int, str], Value]
"""(row, attribute) → its value, or NO_VALUE where it cannot be read by itself."""
NO_VALUE: Final = object()
ROWS_PER_READ: Final = 64
"""How many values of a list are read at a time."""
READS_PER_SEARCH: Final = 16
"""Finding one key without reading the others costs as much as reading so many keys."""
MAX_LOOKS: Final = 8
"""Attributes of an instance that are read one by one before all of them are filled."""
MANIFEST_ATTRIBUTE: Final = "manifest"
FILL_MARK: Final = "_vcdebug_whole"
"""Attribute of the classes of unfilled instances: the function that fills one."""

LAZY_ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "vcdebug.framework.record:Record": ("events",),
    "vcdebug.recording.event_index:EventColumns": ("_events",),
    "vcdebug.framework.record:StateEvent": ("nodes", "jobs", "books"),
    "vcdebug.framework.record:CloseEvent": ("jobs", "nodes"),
    "vcdebug.framework.record:JobClose": ("tasks",),
    "vcdebug.recording.timeline:StateTimeline": split_names(
        "tasks opening_tasks opening_nodes opening_on_node opening_books opening_counts opening_phases figures moving "
        "best_effort touched touched_on_node"
    ),
    "vcdebug.recording.event_index:EventIndex": ("_spans",),
    "vcdebug.recording.event_index:Owners": ("jobs", "sub_jobs", "queues"),
    "vcdebug.framework.columns:ChangeLog": ("kinds", "_keys", "_values"),
    "vcdebug.framework.columns:SpanLog": ("levels", "names"),
    "vcdebug.framework.columns:HeapLog": ("names",),
    "vcdebug.recording.event_index:ChangeIndex": ("_numbers",),
    "vcdebug.recording.event_index:Postings": ("_numbers",),
}
"""Sequences and mappings of many values, only ever read: their values are made one by one."""
SLOW_ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "vcdebug.framework.session:Session": split_names(
        "plugins plugin_calls functions allocate_handlers deallocate_handlers view cycle_states cached_idle "
        "given_to_cache job_states"
    ),
    "vcdebug.recording.recording:Recording": ("answered",),
}
"""Attributes that are filled only when they are read, since their classes take long to import."""
_FILLED_AT_ONCE: Final = frozenset(("Resource",))
"""Classes whose instances are made filled, because code compares their type."""


class LazyList(Sequence[Value]):
    """A list whose values are made when they are read."""

    __slots__ = ("_column", "_end", "_start")

    def __init__(self, column: StoredColumn, start: int, end: int) -> None:
        self._column = column
        self._start = start
        self._end = end

    def __len__(self) -> int:
        return self._end - self._start

    @overload
    def __getitem__(self, index: int) -> Value: ...

    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...

    def __getitem__(self, index: int | slice) -> Value:
        rows = range(self._start, self._end)[index]
        if isinstance(rows, int):
            return self._column.value_at(rows)
        return (
            self._column.read_rows(rows.start, rows.stop) if rows.step == 1 else list(map(self._column.value_at, rows))
        )

    def number(self, index: int) -> int:
        return self._column.object_number(self._start + index)

    def __reduce__(self) -> tuple[type[list[Value]], tuple[list[Value]]]:
        """Pickle the values: another process has no view of the file."""
        return list, (list(self),)

    def __iter__(self) -> Iterator[Value]:
        """Read in portions: faster than one by one, and most loops stop early."""
        for start in range(self._start, self._end, ROWS_PER_READ):
            yield from self._column.read_rows(start, min(start + ROWS_PER_READ, self._end))

    def __add__(self, other: Sequence[Value]) -> list[Value]:
        return [*self, *other]

    def __radd__(self, other: Sequence[Value]) -> list[Value]:
        return [*other, *self]


class LazyMapping(Mapping[Value, Value]):
    """A mapping whose values are made when they are read."""

    def __init__(self, keys: StoredColumn, values: StoredColumn, start: int, end: int) -> None:
        self._keys = keys
        self._values = values
        self._start = start
        self._end = end
        self._lookup_count = 0

    @cached_property
    def _row_by_key(self) -> dict[Value, int]:
        return dict(zip(self._keys.read_rows(self._start, self._end), range(self._start, self._end), strict=True))

    @cached_property
    def _find_place(self) -> Callable[[str], int | None] | None:
        return self._keys.find_places(self._start, self._end) if len(self) >= READS_PER_SEARCH else None

    def _find_row(self, key: object) -> int | None:
        """Search for the first few keys; after that, reading all keys is cheaper."""
        if "_row_by_key" in self.__dict__ or type(key) is not str or self._lookup_count > len(self) // READS_PER_SEARCH:
            return self._row_by_key.get(key)
        self._lookup_count += 1
        return self._row_by_key.get(key) if self._find_place is None else self._find_place(key)

    def __getitem__(self, key: Value) -> Value:
        row = self._find_row(key)
        if row is None:
            raise KeyError(key)
        return self._values.value_at(row)

    def __contains__(self, key: object) -> bool:
        return self._find_row(key) is not None

    def __iter__(self) -> Iterator[Value]:
        return iter(self._row_by_key)

    def __len__(self) -> int:
        return self._end - self._start

    def __reduce__(self) -> tuple[type[dict[Value, Value]], tuple[dict[Value, Value]]]:
        """Pickle the pairs: another process has no view of the file."""
        return dict, (dict(self._all_pairs),)

    @cached_property
    def _all_pairs(self) -> dict[Value, Value]:
        return dict(zip(self._row_by_key, self._values.read_rows(self._start, self._end), strict=True))

    def items(self) -> ItemsView[Value, Value]:
        """All pairs, read at once."""
        return self._all_pairs.items()

    def values(self) -> ValuesView[Value]:
        """All values, read at once."""
        return self._all_pairs.values()


def is_filled_at_once(kind: type) -> bool:
    """Whether instances of the class are made filled: plain values, which are compared with others."""
    return kind.__name__ in _FILLED_AT_ONCE or issubclass(kind, Struct) or dataclasses.is_dataclass(kind)


class LazyClass:
    """Makes instances of a class that are filled from a row at the first access; slow attributes follow on demand."""

    # Until then an instance is of a subclass without slots or data of its own: Python allows assigning __class__ only
    # between classes of one layout.

    def __init__(self, kind: type, fill: FillInstance, read: ReadAttribute) -> None:
        self._kind = kind
        self._fill = fill
        self._read = read
        self._looks: dict[int, int] = {}
        """Identity of an unfilled instance → accesses so far."""
        self._rows: dict[int, int] = {}
        """Identity of an unfilled instance → its row."""
        get, get_slow = self._get_attribute, self._get_slow_attribute
        class_namespace = {"__slots__": (), "__module__": kind.__module__}
        unfilled = {
            "__getattribute__": lambda instance, name: get(instance, name),
            **self._write_methods(self._fill_quick),
            **class_namespace,
            FILL_MARK: self._fill_whole,
        }
        half = {
            "__getattr__": lambda instance, name: get_slow(instance, name),
            **self._write_methods(self._fill_slow),
            **class_namespace,
            FILL_MARK: self._fill_slow,
        }
        self._unfilled: Unfilled = type(kind)(kind.__name__, (kind,), unfilled)
        self._half: Unfilled = type(kind)(kind.__name__, (kind,), half)

    def make_instance(self, row: int) -> Unfilled:
        instance = self._unfilled.__new__(self._unfilled)
        self._rows[id(instance)] = row
        return instance

    def _fill_quick(self, instance: Unfilled) -> None:
        is_incomplete = self._fill(instance, self._rows[id(instance)], False)
        object.__setattr__(instance, "__class__", self._half if is_incomplete else self._kind)

    def _fill_slow(self, instance: Unfilled) -> None:
        self._fill(instance, self._rows[id(instance)], True)
        object.__setattr__(instance, "__class__", self._kind)

    def _fill_whole(self, instance: Unfilled) -> None:
        self._fill_quick(instance)
        self._fill_slow(instance)

    def _get_attribute(self, instance: Unfilled, name: str) -> Value:
        """Read an attribute by itself; after MAX_LOOKS of them fill the instance."""
        if name == "__class__":
            return self._kind
        # A loop over all instances reads an attribute or two of each; filling them would read every column.
        number = id(instance)
        looks = self._looks[number] = self._looks.get(number, 0) + 1
        if looks <= MAX_LOOKS:
            value = self._read(self._rows[number], name)
            if value is NO_VALUE:
                value = self._class_attribute(instance, name)
            if value is not NO_VALUE:
                return value
        self._fill_quick(instance)
        return getattr(instance, name)

    def _class_attribute(self, instance: Unfilled, name: str) -> Value:
        """A property or method of the class, bound to the unfilled instance."""
        class_value = getattr(self._kind, name, NO_VALUE)
        if isinstance(class_value, property) and class_value.fget is not None:
            return class_value.fget(instance)
        return MethodType(class_value, instance) if isinstance(class_value, FunctionType) else NO_VALUE

    def _get_slow_attribute(self, instance: Unfilled, name: str) -> Value:
        value = self._read(self._rows[id(instance)], name)
        if value is NO_VALUE:
            self._fill_slow(instance)
            return getattr(instance, name)
        object.__setattr__(instance, name, value)
        return value

    def _write_methods(self, before: Callable[[Unfilled], None]) -> dict[str, Callable[..., None]]:
        """Methods that fill an instance before an attribute is set or deleted."""

        def set_attribute(instance: Unfilled, name: str, value: Value) -> None:
            before(instance)
            setattr(instance, name, value)

        def delete_attribute(instance: Unfilled, name: str) -> None:
            before(instance)
            delattr(instance, name)

        return {"__setattr__": set_attribute, "__delattr__": delete_attribute}


def fill_instances(values: Sequence[Value]) -> None:
    """Fill the unfilled instances among these values."""
    for value in values:
        fill = vars(type(value)).get(FILL_MARK)
        if fill is not None:
            fill(value)


# Answers stored with a recording, because each of them takes a pass over all events.

StoredQuestion = Callable[[Recording], Any]  # Any: each question has its own form

STORED_ANSWERS: Final[tuple[StoredQuestion, ...]] = (
    cycle_effects,
    api_writes,
    timeline_marks,
    action_outcomes,
    input_problems,
    cluster_overview.offered_dimensions,
    noteworthy_nodes,
    cluster_overview.optional_node_columns,
    cluster_overview.waiting_summary,
    cluster_overview.jobs_pending_first,
)
"""Functions whose answers are stored behind the recording, in this order."""
LAZY_ANSWERS: Final = (api_writes, cluster_overview.jobs_pending_first)
"""Stored answers that are long sequences: their items are read one by one."""


# Attributes that are not stored: identities of the running process, and values that are quick to recompute.

STORED_INSTEAD: Final[Mapping[str, Mapping[str, Any]]] = {  # Any: the value in its place
    "vcdebug.recording.recording:Recording": {"memo": {}},
    "vcdebug.framework.session:Session": {"ask_extender": None, "_accounts": None, "verdict_cache": None},
    "vcdebug.framework.record:Record": {"bound": None},
    "vcdebug.model.pod:Pod": {"shape": None},
    "vcdebug.model.node_table:NodeTable": {"_request_amounts": {}},
    "vcdebug.plugins.predicates.prefilter_cache:PreFilterCache": {"_last": None},
    "vcdebug.kube.dynamic_resources:DynamicResources": {"_read": None},
    "vcdebug.kube.pod_shape:PodShape": {"mark": None},
    "vcdebug.kube.pod_shape:PodShapes": {
        "_mark": None,
        "_shapes": {},
        "_burdens": {},
        "_of_parts": {},
        "_placement_of": {},
    },
}
"""Class → attribute → its value in a stored recording."""
