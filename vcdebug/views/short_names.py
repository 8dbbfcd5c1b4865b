"""Names as short as they can be without being ambiguous to the eye, and where one stands in one line."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.framework.record import Level
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording


def bare_name(name: str) -> str:
    """The name without its namespace."""
    return name.rsplit("/", 1)[-1]


def task_list(keys: Sequence[str]) -> str:
    """`resnet-sweep-worker-{0,1} etl-0`: tasks of one job share their name's beginning."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        stem, dash, tail = bare_name(key).rpartition("-")
        if dash and tail.isdigit():
            groups.setdefault(stem + "-", []).append(tail)
        else:
            groups.setdefault(bare_name(key), [])
    return " ".join(_group_text(stem, tails) for stem, tails in groups.items())


def _group_text(stem: str, tails: list[str]) -> str:
    if not tails:
        return stem
    return f"{stem}{tails[0]}" if len(tails) == 1 else f"{stem}{{{','.join(tails)}}}"


def task_list_or(keys: Sequence[str], empty: str) -> str:
    """The tasks, or a word for nobody."""
    return task_list(keys) if keys else empty


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


_PREFIX = {Level.QUEUE: "q "}


def path_words(recording: Recording, seq: Seq) -> list[str]:
    """`preempt`, `q research`, `job-13`, `worker-0`: the spans around the event below the cycle."""
    return [f"{_PREFIX.get(span.level, '')}{bare_name(span.name)}" for span in recording.span_tree.path_to(seq)[1:]]
