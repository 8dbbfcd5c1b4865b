"""What is wrong with HyperNodes: patterns that Go refuses, tier numbers far above the others."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.linear_pattern import PatternError, compile_pattern
from vcdebug.snapshot.manifest import name_of, spec_of
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.trace.recording import Recording

MANY_TIERS = 1_000_000
"""A range of tier numbers from which on a map with a weight for each takes a good part of a process's memory."""
NO_NODES = "the member has no nodes, not even one that it names exactly"
WEIGHED = (
    "with the plugin network-topology-aware the scheduler keeps a weight for each of them and may run out of memory"
)


def hypernode_problems(recording: Recording) -> Iterator[Problem]:
    """A Problem for each pattern that is refused, and one for the highest tier where it is far above the lowest."""
    manifests = recording.snapshot.objects_of("HyperNode")
    for manifest in manifests:
        yield from _refused_patterns(manifest)
    tiers = [(int(spec_of(manifest).get("tier") or 0), name_of(manifest)) for manifest in manifests]
    lowest, highest = min(tiers, default=(0, "")), max(tiers, default=(0, ""))
    if highest[0] - lowest[0] >= MANY_TIERS:
        what = f"is {highest[0]}, {highest[0] - lowest[0]} above the lowest (HyperNode {lowest[1]})"
        yield Problem("", f"HyperNode {highest[1]}", "spec.tier", what, WEIGHED)


def _refused_patterns(manifest: Manifest) -> Iterator[Problem]:
    for place, member in enumerate(spec_of(manifest).get("members") or ()):
        pattern = ((member.get("selector") or {}).get("regexMatch") or {}).get("pattern")
        try:
            if pattern:
                compile_pattern(pattern)
        except PatternError as error:
            field = f"spec.members[{place}].selector.regexMatch.pattern"
            yield Problem("", f"HyperNode {name_of(manifest)}", field, f"Go's regexp refuses it: {error}", NO_NODES)
