"""Labels of all nodes as columns: a condition is evaluated once per distinct value and looked up per row."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from vcdebug.kube.node_affinity import NAME_FIELD, NodeTerm, RequiredNodeAffinity
from vcdebug.kube.selector import Labels, Requirement, Selector
from vcdebug.model.names import BoolArray, IntArray, NodeName

ABSENT_ID = -1


class LabelColumn(Struct, frozen=True):
    """One label over all rows: an id per row (ABSENT for nodes without the label) and the value of each id."""

    ids: IntArray
    values: tuple[str, ...]
    id_of: dict[str, int]
    slots: IntArray
    """As `ids`, but len(values) for nodes without the label: np.bincount accepts no negative numbers."""

    @property
    def rows_present(self) -> BoolArray:
        """Mask of the rows that have the label."""
        present: BoolArray = self.ids != ABSENT_ID
        return present

    def count_by_value(self, per_row: IntArray) -> IntArray:
        """Sums of a number per row, by value id; the last one is 0, for rows without the label (ABSENT)."""
        size = len(self.values)
        totals = np.bincount(self.slots, weights=per_row, minlength=size + 1).astype(np.int64)
        totals[size] = 0
        return totals

    def zero_counts(self) -> IntArray:
        """The result of count_by_value for zeros."""
        return np.zeros(len(self.values) + 1, dtype=np.int64)

    def spread_over_rows(self, per_value: IntArray) -> IntArray:
        """A number per row from a number per value id; 0 for nodes without the label."""
        return np.append(per_value, 0)[self.ids]


class NodeLabels:
    """The labels and names of a session's nodes, which never change during it."""

    def __init__(self, names: Sequence[NodeName], labels: Sequence[Labels]) -> None:
        self.names = names
        self.labels = labels
        self._row_of = {name: row for row, name in enumerate(names)}
        self._columns: dict[str, LabelColumn] = {}

    def __len__(self) -> int:
        return len(self.names)

    def label_column(self, key: str) -> LabelColumn:
        """The column of one label key."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._build_column(key)
        return column

    def _build_column(self, key: str) -> LabelColumn:
        id_of: dict[str, int] = {}
        ids = np.full(len(self.names), ABSENT_ID, dtype=np.int64)
        for row, labels in enumerate(self.labels):
            value = labels.get(key)
            if value is not None:
                ids[row] = id_of.setdefault(value, len(id_of))
        return LabelColumn(ids, tuple(id_of), id_of, np.where(ids == ABSENT_ID, len(id_of), ids))

    def all_rows(self) -> BoolArray:
        """A mask that is True for every row."""
        return np.ones(len(self.names), dtype=np.bool_)

    def rows_matching(self, selector: Selector) -> BoolArray:
        """Mask of the rows whose labels match the selector."""
        if selector.matches_nothing:
            return ~self.all_rows()
        rows = self.all_rows()
        for requirement in selector.requirements:
            rows &= self._rows_meeting(requirement)
        return rows

    def _rows_meeting(self, requirement: Requirement) -> BoolArray:
        column, key = self.label_column(requirement.key), requirement.key
        verdicts = [requirement.matches_labels({key: value}) for value in column.values]
        # The last verdict is that of a missing label: ABSENT_ID is -1, which indexes it.
        verdicts.append(requirement.matches_labels({}))
        answer: BoolArray = np.array(verdicts, dtype=np.bool_)[column.ids]
        return answer

    def matching_term(self, term: NodeTerm) -> BoolArray:
        """Mask of the rows that match a node selector term."""
        if term.matches_nothing:
            return ~self.all_rows()
        rows = self.rows_matching(term.labels)
        for field in term.fields:
            is_name = field.field == NAME_FIELD
            rows &= self._rows_named(field.value) != field.negated if is_name else field.matches_name("")
        return rows

    def _rows_named(self, name: NodeName) -> BoolArray:
        rows = ~self.all_rows()
        row = self._row_of.get(name)
        if row is not None:
            rows[row] = True
        return rows

    def matching_required(self, affinity: RequiredNodeAffinity) -> BoolArray:
        """Mask of the rows that satisfy nodeSelector and required node affinity of a pod."""
        rows = self.rows_matching(affinity.selector)
        if affinity.terms is None:
            return rows
        some_term = ~self.all_rows()
        for term in affinity.terms:
            some_term |= self.matching_term(term)
        return rows & some_term
