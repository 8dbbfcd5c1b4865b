"""Whether a snapshot holds the kinds without which no cause can be named."""

from __future__ import annotations

from typing import Final

from vcdebug.snapshot.kinds import KIND_BY_NAME, ResourceKind
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.snapshot import Snapshot

NEEDED: Final = ("Node", "Queue", "PodGroup")
EFFECT: Final = "no cause can be named for a job"


def missing_kinds(snapshot: Snapshot) -> tuple[ResourceKind, ...]:
    """Kinds that a snapshot lacks although every answer depends on them, unless a capture looked and found none.

    Pods are among them only beside another kind: a PodGroup may be waiting for its pods.
    """
    looked = snapshot.provenance.resource_versions if snapshot.provenance is not None else {}
    absent = [name for name in (*NEEDED, "Pod") if not snapshot.objects_of(name) and name not in looked]
    return tuple(KIND_BY_NAME[name] for name in absent) if absent != ["Pod"] else ()


def join_kinds(kinds: tuple[ResourceKind, ...]) -> str:
    """`no Queue, no PodGroup and no Pod`."""
    *first, last = [f"no {kind.name}" for kind in kinds]
    return f"{', '.join(first)} and {last}" if first else last


def supplying_command(kinds: tuple[ResourceKind, ...]) -> str:
    """The command whose output has them."""
    return f"kubectl get {','.join(kind.kubectl_resource for kind in kinds)} -A -o json"


def completeness_problems(snapshot: Snapshot) -> tuple[Problem, ...]:
    """One Problem for all kinds that are missing; none for a complete snapshot."""
    kinds = missing_kinds(snapshot)
    if not kinds:
        return ()
    what = f"the snapshot has {join_kinds(kinds)}"
    return (Problem("", "", "", what, f"{EFFECT}: add the output of `{supplying_command(kinds)}`"),)
