"""Numbers of pods per node: pods that match a question, and owners of affinity terms.

A count is computed once per question from groups of equally labelled pods, then follows a log of changes.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from vcdebug.grouping import group_by_key
from vcdebug.kube.affinity_terms import AffinityTerm, LabelGroup, PodAffinityTerms, Terms
from vcdebug.kube.selector import Selector
from vcdebug.model.names import IntArray, Row


class PodQuestion(Protocol):
    """A yes-or-no question about pods that only their label group decides; hashable."""

    @property
    def selector(self) -> Selector:
        """A selector that all counted pods match; it limits the groups to check."""
        ...

    def matches_group(self, group: LabelGroup) -> bool:
        """Whether the group's pods count."""
        ...


class _QuestionCount:
    __slots__ = ("match_by_group", "per_row", "log_position")

    def __init__(self, size: int, log_position: int) -> None:
        self.per_row: IntArray = np.zeros(size, dtype=np.int64)
        self.match_by_group: dict[LabelGroup, bool] = {}
        self.log_position = log_position


class PodCounts:
    """Pods by label group, per node."""

    def __init__(self, size: int, pods: Iterable[tuple[Row, LabelGroup]]) -> None:
        """`pods`: (row, group) of the pods that are already placed."""
        self._size = size
        self._rows_of: dict[LabelGroup, dict[Row, int]] = {}
        self._by_label: dict[str, dict[str | None, list[LabelGroup]]] = {}
        """Label → value → groups, an index for the labels of earlier questions."""
        self._log: list[tuple[LabelGroup, Row, int]] = []
        self._counts: dict[PodQuestion, _QuestionCount] = {}
        for row, group in pods:
            self.record_pod(row, group, 1)

    def record_pod(self, row: Row, group: LabelGroup, sign: int) -> None:
        """Count a pod that came to a node (sign 1) or left it (sign -1)."""
        rows = self._rows_of.get(group)
        if rows is None:
            rows = self._rows_of[group] = {}
            for key, index in self._by_label.items():
                index.setdefault(group.labels.get(key), []).append(group)
        rows[row] = rows.get(row, 0) + sign
        # The log is only needed once a question follows it, so it does not grow before.
        if self._counts:
            self._log.append((group, row, sign))

    def pods_per_row(self, question: PodQuestion) -> IntArray:
        """The number of matching pods on every node. Do not write to it; copy it if later changes must not show."""
        count = self._counts.get(question)
        if count is None:
            return self._count_first(question)
        matched = count.match_by_group
        for group, row, sign in self._log[count.log_position :]:
            answer = matched.get(group)
            if answer is None:
                answer = matched[group] = question.matches_group(group)
            if answer:
                count.per_row[row] += sign
        count.log_position = len(self._log)
        return count.per_row

    def _count_first(self, question: PodQuestion) -> IntArray:
        count = self._counts[question] = _QuestionCount(self._size, len(self._log))
        rows: list[Row] = []
        numbers: list[int] = []
        for group in self._selected_groups(question.selector):
            answer = count.match_by_group[group] = question.matches_group(group)
            if answer:
                rows.extend(self._rows_of[group])
                numbers.extend(self._rows_of[group].values())
        # np.add.at, since several groups can have pods on one row.
        np.add.at(count.per_row, np.array(rows, dtype=np.int64), np.array(numbers, dtype=np.int64))
        return count.per_row

    def _selected_groups(self, selector: Selector) -> Iterable[LabelGroup]:
        """Groups that the selector may match: groups with one of the values of its first `In` requirement."""
        if selector.matches_nothing:
            return ()
        requirement = next((requirement for requirement in selector.requirements if requirement.operator == "In"), None)
        if requirement is None:
            return self._rows_of
        index = self._by_label.get(requirement.key)
        if index is None:
            groups = ((group.labels.get(requirement.key), group) for group in self._rows_of)
            index = self._by_label[requirement.key] = group_by_key(groups)
        return [group for value in dict.fromkeys(requirement.values) for group in index.get(value, ())]


class TermOwners:
    """Per node, the pods with affinity terms that affect other pods: required anti-affinity and preferences."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._anti: dict[AffinityTerm, IntArray] = {}
        self.anti_changes = 0
        """Number of pods with required anti-affinity that were added or removed so far."""
        self._preferred: dict[AffinityTerm, IntArray] = {}
        self._preferred_anti: dict[AffinityTerm, IntArray] = {}

    def record_pod(self, row: Row, terms: PodAffinityTerms, sign: int) -> None:
        """A pod with these terms came to a node (sign 1) or left it (sign -1)."""
        self.anti_changes += bool(terms.required_anti_affinity)
        self._count_owner(self._anti, terms.required_anti_affinity, row, sign)
        self._count_owner(self._preferred, terms.preferred_affinity, row, sign)
        self._count_owner(self._preferred_anti, terms.preferred_anti_affinity, row, sign)

    def _count_owner(self, owners: dict[AffinityTerm, IntArray], terms: Terms, row: Row, sign: int) -> None:
        for term in terms:
            per_row = owners.get(term)
            if per_row is None:
                per_row = owners[term] = np.zeros(self._size, dtype=np.int64)
            per_row[row] += sign

    def anti_affinity_terms(self) -> Iterator[tuple[AffinityTerm, IntArray]]:
        """Yield required anti-affinity terms with their owners per node."""
        return iter(self._anti.items())

    def preferred_terms(self) -> Iterator[tuple[AffinityTerm, IntArray, int]]:
        """Yield preferred terms with their owners per node and the sign of their weight."""
        for term, owners in self._preferred.items():
            yield term, owners, 1
        for term, owners in self._preferred_anti.items():
            yield term, owners, -1
