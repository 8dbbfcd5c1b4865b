"""Stand-ins: pods that a controller makes once a job is admitted, as far as its PodGroup tells how large they will be.

A PodGroup says what its gang needs in all (minResources) and how many pods the gang has (minMember). Pods that share
that evenly are an assumption, and are called one.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from vcdebug.amount_text import count_noun, format_amount, join_names
from vcdebug.debugger.remedies.amounts import count_units, known_amounts, total_request, unit_of
from vcdebug.debugger.remedies.lever import AmountRange, FixSituation
from vcdebug.model.names import JobId
from vcdebug.model.pod import GROUP_ANNOTATION, Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.model.resource import Resource
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording

_MAX_PLACEHOLDERS: Final = 64
"""Pods that are assumed at most."""
_PLACEHOLDER_MARK: Final = "stand-in"
_QUOTA_PREFIXES: Final = ("requests.", "limits.", "count/")
"""What quotas count under names of their own."""


class PlaceholderPods(NamedTuple):
    """Pods that are not there yet."""

    words: str
    edits: tuple[str, ...]
    """What admits the PodGroup and makes the pods."""


def placeholder_pods(before: Snapshot, after: Snapshot, job: JobId) -> PlaceholderPods | None:
    """For a job without pods, that edits have admitted; None where nothing tells how large its pods will be."""
    was, now = _find_group(before, job), _find_group(after, job)
    if was is None or now is None:
        return None
    stated, count = now.min_resource_list or was.min_resource_list or {}, max(now.min_member, 1)
    each = {
        name: AmountRange(0, 0, unit_of(name)).format_amount(count_units(name, stated_of) // max(was.min_member, 1))
        for name, stated_of in stated.items()
        if name != "pods" and not name.startswith(_QUOTA_PREFIXES)
    }
    if not each or count > _MAX_PLACEHOLDERS:
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
    pods = (f"Pod/{job}-{_PLACEHOLDER_MARK}-{number}:+={json.dumps(manifest)}" for number in range(count))
    size = ", ".join(f"{value} {name}" for name, value in each.items())
    words = f"{count_noun(count, 'pod')} of {size}, as minResources and minMember say"
    return PlaceholderPods(words, (f"PodGroup/{job}:status.phase=Inqueue", *pods))


def describe_missing_pods(recording: Recording, situation: FixSituation) -> str:
    """What minResources counts for pods that are not there yet, beside what is free then; empty where it is none."""
    group = situation.pod_group
    if group is None or not situation.has_pods:
        return ""
    pods = [pod for pod in map(Pod, situation.snapshot.objects_of("Pod")) if pod.job_id == situation.explanation.job]
    parts = []
    for name, stated in known_amounts(group.min_resource_list).items():
        more = stated - total_request(pods, name)
        if more <= 0 or name == "pods" or name.startswith(_QUOTA_PREFIXES):
            continue
        free = Resource()
        for node in recording.session.nodes.values():
            free.add(node.idle)
        text, left = AmountRange(0, 0, unit_of(name)).format_amount(more), format_amount(name, max(free.get(name), 0.0))
        parts.append(f"{text} {name} ({left} would be free)")
    return f"minResources also counted pods that are not there yet: {join_names(parts)}" if parts else ""


def are_about_placeholders(edits: tuple[str, ...], job: JobId) -> bool:
    """Whether edits are about pods that are not there."""
    return any(edit.startswith(f"Pod/{job}-{_PLACEHOLDER_MARK}-") for edit in edits)


def _find_group(snapshot: Snapshot, job: JobId) -> PodGroup | None:
    groups = (PodGroup(manifest) for manifest in snapshot.objects_of("PodGroup"))
    return next((one for one in groups if f"{one.namespace}/{one.name}" == job), None)
