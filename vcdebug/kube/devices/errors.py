"""How an allocation of devices fails.

Upstream: k8s dynamic-resource-allocation structured.
"""

from __future__ import annotations


class AllocationError(Exception):
    """Something is wrong with the claim or the class, whatever devices there are; the text is upstream's."""


class NoDevicesError(Exception):
    """The node has not what the claims ask for; the text is upstream's."""
