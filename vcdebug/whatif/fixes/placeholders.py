"""Placeholders for pods that a controller makes only once a job is admitted, or that a quota keeps out."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from vcdebug.amount_text import count_noun
from vcdebug.explain.plugins.resourcequota import is_quota_count
from vcdebug.model.names import JobId
from vcdebug.model.pod import GROUP_ANNOTATION
from vcdebug.model.pod_group import PodGroup
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.fixes.fix import AmountRange, count_units, unit_of

_MAX_PLACEHOLDERS: Final = 64
"""Pods that are assumed at most."""
_PLACEHOLDER_MARK: Final = "stand-in"


class PlaceholderPods(NamedTuple):
    """Pods that are not there yet."""

    words: str
    edits: tuple[str, ...]
    """What admits the PodGroup and makes the pods."""


def placeholder_pods(before: Snapshot, after: Snapshot, job: JobId) -> PlaceholderPods | None:
    """Placeholders for a job without pods that edits have admitted; None if the size of its pods is unknown."""
    was, now = _find_group(before, job), _find_group(after, job)
    if was is None or now is None:
        return None
    stated, count = now.min_resource_list or was.min_resource_list or {}, max(now.min_member, 1)
    each = {
        name: AmountRange(0, 0, unit_of(name)).format_amount(count_units(name, stated_of) // max(was.min_member, 1))
        for name, stated_of in stated.items()
        if not is_quota_count(name)
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
    words = f"{count_noun(count, 'pod')} of {size}, from minResources and minMember"
    return PlaceholderPods(words, (f"PodGroup/{job}:status.phase=Inqueue", *pods))


def are_about_placeholders(edits: tuple[str, ...], job: JobId) -> bool:
    """Whether edits are about pods that are not there."""
    return any(edit.startswith(f"Pod/{job}-{_PLACEHOLDER_MARK}-") for edit in edits)


def _find_group(snapshot: Snapshot, job: JobId) -> PodGroup | None:
    groups = (PodGroup(manifest) for manifest in snapshot.objects_of("PodGroup"))
    return next((one for one in groups if f"{one.namespace}/{one.name}" == job), None)
