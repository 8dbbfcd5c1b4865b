"""Which nodes hold pods with terms of affinity that others have to heed, kept up to date as pods come and go."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vcdebug.kube.affinity_terms import AffinityTerm, PodAffinityTerms, Terms
from vcdebug.model.names import IntArray, Row


class TermOwners:
    """Owners of affinity terms per node: anti-affinity that is required, and preferences of both kinds."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._anti: dict[AffinityTerm, IntArray] = {}
        self.anti_changes = 0
        """How often a pod with required anti-affinity came or went."""
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
        """Required anti-affinity terms and their owners per node."""
        return iter(self._anti.items())

    def preferred_terms(self) -> Iterator[tuple[AffinityTerm, IntArray, int]]:
        """Preferred terms, their owners per node, and the sign of their weight."""
        for term, owners in self._preferred.items():
            yield term, owners, 1
        for term, owners in self._preferred_anti.items():
            yield term, owners, -1
