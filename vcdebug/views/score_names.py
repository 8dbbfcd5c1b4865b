"""Short names of the parts of a score."""

from __future__ import annotations

_SHORT = {
    "NodeResourcesFit_LeastAllocated": "least",
    "NodeResourcesFit_MostAllocated": "most",
    "NodeResourcesBalancedAllocation": "balanced",
    "NodeAffinity": "affinity",
    "InterPodAffinity": "podaffinity",
    "TaintToleration": "taints",
    "PodTopologySpread": "spread",
    "ImageLocality": "image",
    "DynamicResources": "dra",
}


def short_part(name: str) -> str:
    """`nodeorder/batch/NodeAffinity` → `affinity`; a plugin's own sum keeps its name."""
    tail = name.rsplit("/", 1)[-1]
    return _SHORT.get(tail, name.replace("/batch", " batch"))
