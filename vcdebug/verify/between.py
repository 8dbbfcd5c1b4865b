"""Two captures of one cluster: what its scheduler did in between, and what others did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.snapshot.json_values import Json
from vcdebug.snapshot.manifest import metadata_of, status_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.verify.outcome import GONE, CycleOutcome, group_status, iter_unscheduled_messages
from vcdebug.verify.store import key_of

DISRUPTED, EVICTED = ("DisruptionTarget", "PreemptionByScheduler"), ("Ready", "Evict")
"""Type and reason of the conditions that the scheduler writes before it deletes a pod."""
DECIDING_PARTS: Final[Mapping[str, Callable[[Manifest], object]]] = {
    "Node": lambda one: (one.get("spec"), _labels_of(one), _status_part(one, "allocatable"), _ready_statuses(one)),
    "Queue": lambda one: (one.get("spec"), _status_part(one, "state")),
    "PodGroup": lambda one: one.get("spec"),
    "PriorityClass": lambda one: one.get("value"),
    "ResourceQuota": lambda one: (one.get("spec"), _status_part(one, "hard")),
    "PodDisruptionBudget": lambda one: one.get("spec"),
    "HyperNode": lambda one: one.get("spec"),
    "Numatopology": lambda one: one.get("spec"),
}
"""What decides, of each kind, that no scheduler writes."""


def seen_between(before: Snapshot, after: Snapshot, evicted: Collection[str] = ()) -> CycleOutcome:
    """What the second capture shows of the scheduler's doing; `evicted` are uids of pods that it was seen to evict."""
    outcome = CycleOutcome()
    later = _by_key(after, "Pod")
    for key, pod in _by_key(before, "Pod").items():
        now = later.get(key)
        if now is None or _uid_of(now) != _uid_of(pod) or _starts_leaving(pod, now):
            if not _is_leaving(pod) and (now is None or _uid_of(now) != _uid_of(pod) or _by_scheduler(now)):
                still_there = now is not None and _uid_of(now) == _uid_of(pod)
                outcome.evicted[key] = "" if still_there or _uid_of(pod) in evicted else GONE
        else:
            _note_pod(outcome, key, pod, now)
    groups = _by_key(after, "PodGroup")
    for key, group in _by_key(before, "PodGroup").items():
        if key in groups and group_status(PodGroup(group)) != group_status(PodGroup(groups[key])):
            outcome.groups[key] = group_status(PodGroup(groups[key]))
    return outcome


def _note_pod(outcome: CycleOutcome, key: TaskKey, before: Manifest, after: Manifest) -> None:
    one, other = Pod(before), Pod(after)
    if not one.node_name and other.node_name:
        outcome.bound[key] = other.node_name
        return
    node = str(_status_part(after, "nominatedNodeName") or "")
    if node and node != str(_status_part(before, "nominatedNodeName") or ""):
        outcome.nominated[key] = node
    old = dict.fromkeys(iter_unscheduled_messages(before))
    for words in iter_unscheduled_messages(after):
        if words not in old:
            outcome.waiting[key] = words


def leaving_uids(before: Snapshot, pods: Iterable[Manifest]) -> list[str]:
    """The uids of pods that the scheduler has begun to evict since a capture."""
    old = _by_key(before, "Pod")
    pairs = [(old.get(key_of(pod)), pod) for pod in pods]
    return [
        str(_uid_of(pod))
        for was, pod in pairs
        if was is not None and _uid_of(was) == _uid_of(pod) and _starts_leaving(was, pod) and _by_scheduler(pod)
    ]


def gone_uids(before: Snapshot, after: Snapshot) -> list[str]:
    """The uids of pods that are not there any more."""
    there = {_uid_of(pod) for pod in after.objects_of("Pod")}
    return [str(_uid_of(pod)) for pod in before.objects_of("Pod") if _uid_of(pod) not in there]


def others_changes(before: Snapshot, after: Snapshot, expected: Mapping[TaskKey, str]) -> dict[str, JobId]:
    """What somebody else changed, in words, and the job that it belongs to; empty for what belongs to none.

    A pod that is gone, and whose eviction was expected, has left because of it.
    """
    found: dict[str, JobId] = {}
    if before.scheduler_conf != after.scheduler_conf:
        found["the scheduler's configuration changed"] = ""
    for words, pod in _iter_changed_pods(before, after, expected):
        found[words] = Pod(pod).job_id or key_of(pod)
    for kind, part in DECIDING_PARTS.items():
        old, new = _by_key(before, kind), _by_key(after, kind)
        for key in sorted({**old, **new}):
            if key in old and key in new and part(old[key]) == part(new[key]):
                continue
            word = "is new" if key not in old else "is gone" if key not in new else "changed"
            found[f"{kind} {key} {word}"] = key if kind == "PodGroup" else ""
    return found


def _iter_changed_pods(
    before: Snapshot, after: Snapshot, expected: Mapping[TaskKey, str]
) -> Iterator[tuple[str, Manifest]]:
    old, new = _by_key(before, "Pod"), _by_key(after, "Pod")
    for key in sorted({**old, **new}):
        was, now = old.get(key), new.get(key)
        if was is None or (now is not None and _uid_of(now) != _uid_of(was)):
            yield f"Pod {key} is new", now or {}
        elif now is None:
            if key not in expected:
                yield f"Pod {key} is gone", was
        elif _starts_leaving(was, now) and not _by_scheduler(now):
            yield f"Pod {key} was deleted", was
        elif _status_part(was, "phase") != _status_part(now, "phase") and _status_part(now, "phase") in ENDED_PHASES:
            yield f"Pod {key} ended: {_status_part(now, 'phase')}", was


def _by_key(snapshot: Snapshot, kind: str) -> dict[str, Manifest]:
    return {key_of(manifest): manifest for manifest in snapshot.objects_of(kind)}


def _uid_of(manifest: Manifest) -> object:
    return metadata_of(manifest).get("uid")


def _labels_of(manifest: Manifest) -> object:
    return metadata_of(manifest).get("labels")


def _is_leaving(pod: Manifest) -> bool:
    return bool(metadata_of(pod).get("deletionTimestamp"))


def _starts_leaving(before: Manifest, after: Manifest) -> bool:
    return _is_leaving(after) and not _is_leaving(before)


def _by_scheduler(pod: Manifest) -> bool:
    found = [(one.get("type"), one.get("reason")) for one in _status_part(pod, "conditions") or ()]
    return DISRUPTED in found or EVICTED in found


def _status_part(manifest: Manifest, name: str) -> Json:
    """A part of the status."""
    return status_of(manifest).get(name)


def _ready_statuses(node: Manifest) -> list[object]:
    return [one.get("status") for one in _status_part(node, "conditions") or () if one.get("type") == "Ready"]
