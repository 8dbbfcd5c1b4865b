"""Dominant shares: the largest fraction of the cluster that an amount takes in any dimension.

Upstream: plugins/drf.
"""

from __future__ import annotations

from vcdebug.model.resource import Resource
from vcdebug.model.totals import ShareTotals


class DominantShare:
    """An amount with its dominant share, kept together. Upstream: plugins/drf.updateShare."""

    __slots__ = ("allocated", "dominant", "totals", "value")

    def __init__(self, totals: ShareTotals, allocated: Resource) -> None:
        self.totals = totals
        self.allocated = allocated
        self.dominant, self.value = totals.calculate_share(allocated)

    def add_request(self, request: Resource) -> None:
        """Take on a request."""
        self.allocated.add(request)
        self.dominant, self.value = self.totals.calculate_share(self.allocated)

    def sub_request(self, request: Resource) -> None:
        """Give a request back; more than is held fails upstream's assertion."""
        self.allocated.sub(request)
        self.dominant, self.value = self.totals.calculate_share(self.allocated)
