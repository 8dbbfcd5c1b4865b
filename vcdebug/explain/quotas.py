"""ResourceQuotas of a namespace: which are used up, and by which pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from vcdebug.amount_text import join_names
from vcdebug.model.names import JobId
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.snapshot.manifest import spec_of, status_of
from vcdebug.snapshot.quantity import nano_value
from vcdebug.trace.recording import Recording

MAX_HOLDERS: Final = 4
PENDING_SUFFIX: Final = " (Pending)"


class ExhaustedQuota(NamedTuple):
    """One name of a quota that leaves too little."""

    quota: str
    name: str
    used: str
    hard: str
    holders: tuple[str, ...]
    """Pods of the namespace that ask for it, with `Pending` where they do not even run."""

    @property
    def quota_text(self) -> str:
        """In words."""
        who = f", by {join_names(self.holders, MAX_HOLDERS)}" if self.holders else ""
        return f"ResourceQuota {self.quota} has {self.used} of {self.hard} {self.name} in use{who}"


def exhausted_quotas(recording: Recording, namespace: str) -> Iterator[ExhaustedQuota]:
    """Everything of which nothing is left."""
    for manifest in recording.snapshot.objects_of("ResourceQuota"):
        metadata, status = manifest["metadata"], status_of(manifest)
        if metadata.get("namespace") != namespace:
            continue
        hard = spec_of(manifest).get("hard") or status.get("hard") or {}
        for name, used in (status.get("used") or {}).items():
            if name in hard and nano_value(used) >= nano_value(hard[name]):
                holders = tuple(quota_holders(recording, namespace, name))
                yield ExhaustedQuota(metadata["name"], name, str(used), str(hard[name]), holders)


def quota_holders(recording: Recording, namespace: str, name: str, but: JobId = "") -> list[str]:
    """Pods that ask for what a quota counts under this name, but for those of one job; those that wait come last."""
    return sorted(_iter_holders(recording, namespace, name, but), key=lambda who: who.endswith(PENDING_SUFFIX))


def _iter_holders(recording: Recording, namespace: str, name: str, but: JobId) -> Iterator[str]:
    resource = name.removeprefix("requests.").removeprefix("limits.")
    for pod in map(Pod, recording.snapshot.objects_of("Pod")):
        if pod.namespace != namespace or pod.phase in ENDED_PHASES or (but and pod.job_id == but):
            continue
        if name in ("pods", "count/pods") or _requests_resource(pod, resource):
            yield pod.name if pod.node_name else f"{pod.name}{PENDING_SUFFIX}"


def _requests_resource(pod: Pod, resource: str) -> bool:
    return any(
        resource in (amounts or ())
        for container in pod.spec.get("containers") or ()
        for amounts in ((container.get("resources") or {}).get(part) for part in ("requests", "limits"))
    )
