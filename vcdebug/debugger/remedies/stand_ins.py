"""Stand-ins: pods that a controller makes once a job is admitted, as far as its PodGroup tells how large they will be.

A PodGroup says what its gang needs in all (minResources) and how many pods the gang has (minMember). Pods that share
that evenly are an assumption, and are called one.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from vcdebug.amount_text import amount, listed, plural
from vcdebug.debugger.remedies.amounts import known, request_of, unit_of, units
from vcdebug.debugger.remedies.lever import Amount, Situation
from vcdebug.model.names import JobId
from vcdebug.model.pod import GROUP_ANNOTATION, Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.model.resource import Resource
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording

_MOST: Final = 64
"""Pods that are assumed at most."""
_MARK: Final = "stand-in"
_COUNTED: Final = ("requests.", "limits.", "count/")
"""What quotas count under names of their own."""


class StandIns(NamedTuple):
    """Pods that are not there yet."""

    words: str
    edits: tuple[str, ...]
    """What admits the PodGroup and makes the pods."""


def stand_ins(before: Snapshot, after: Snapshot, job: JobId) -> StandIns | None:
    """For a job without pods, that edits have admitted; None where nothing tells how large its pods will be."""
    was, now = _group(before, job), _group(after, job)
    if was is None or now is None:
        return None
    stated, count = now.min_resource_list or was.min_resource_list or {}, max(now.min_member, 1)
    each = {
        name: Amount(0, 0, unit_of(name)).text(units(name, stated_of) // max(was.min_member, 1))
        for name, stated_of in stated.items()
        if name != "pods" and not name.startswith(_COUNTED)
    }
    if not each or count > _MOST:
        return None
    manifest = {
        "apiVersion": "v1",
        "metadata": {"annotations": {GROUP_ANNOTATION: now.name}},
        "spec": {
            "schedulerName": next(iter(after.flags.scheduler_names), "volcano"),
            "containers": [{"name": "main", "resources": {"requests": each}}],
        },
        "status": {"phase": "Pending"},
    }
    pods = (f"Pod/{job}-{_MARK}-{number}:+={json.dumps(manifest)}" for number in range(count))
    size = ", ".join(f"{value} {name}" for name, value in each.items())
    words = f"{plural(count, 'pod')} of {size}, as minResources and minMember say"
    return StandIns(words, (f"PodGroup/{job}:status.phase=Inqueue", *pods))


def yet_to_come(recording: Recording, situation: Situation) -> str:
    """What minResources counts for pods that are not there yet, beside what is free then; empty where it is none."""
    group = situation.group
    if group is None or not situation.has_pods:
        return ""
    pods = [pod for pod in map(Pod, situation.snapshot.of("Pod")) if pod.job_id == situation.explanation.job]
    parts = []
    for name, stated in known(group.min_resource_list).items():
        more = stated - request_of(pods, name)
        if more <= 0 or name == "pods" or name.startswith(_COUNTED):
            continue
        free = Resource()
        for node in recording.session.nodes.values():
            free.add(node.idle)
        text, left = Amount(0, 0, unit_of(name)).text(more), amount(name, max(free.get(name), 0.0))
        parts.append(f"{text} {name} ({left} would be free)")
    return f"minResources also counted pods that are not there yet: {listed(parts)}" if parts else ""


def about_stand_ins(edits: tuple[str, ...], job: JobId) -> bool:
    """Whether edits are about pods that are not there."""
    return any(edit.startswith(f"Pod/{job}-{_MARK}-") for edit in edits)


def _group(snapshot: Snapshot, job: JobId) -> PodGroup | None:
    groups = (PodGroup(manifest) for manifest in snapshot.of("PodGroup"))
    return next((one for one in groups if f"{one.namespace}/{one.name}" == job), None)
