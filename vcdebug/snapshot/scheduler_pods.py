"""The scheduler's own pods: they tell its image, its command line and when its process started."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from vcdebug.snapshot.manifest import object_in, object_list
from vcdebug.snapshot.provenance import stated_time
from vcdebug.snapshot.settings import is_named_scheduler, scheduler_container
from vcdebug.snapshot.snapshot import Manifest

APP_LABEL: Final = "volcano-scheduler"
MARKS: Final = (b'"volcano-scheduler"', b"vc-scheduler:", b"vc-scheduler@")


def has_mark(text: bytes) -> bool:
    """Whether some JSON may hold a pod of the scheduler; a field manager's name, which every pod has, is no mark."""
    return any(mark in text for mark in MARKS)


def is_running_scheduler(pod: Manifest) -> bool:
    """Whether it is a running pod of Volcano's scheduler, by its label or a container."""
    labels, spec = object_in(object_in(pod.get("metadata")).get("labels")), object_in(pod.get("spec"))
    ours = labels.get("app") == APP_LABEL or any(map(is_named_scheduler, object_list(spec.get("containers"))))
    return ours and is_up(pod)


def is_up(pod: Manifest) -> bool:
    """Whether the pod runs."""
    return object_in(pod.get("status")).get("phase") == "Running"


def workload_of(pod: Manifest) -> Manifest:
    """A manifest with the pod's spec at spec.template.spec, as in a Deployment."""
    return {"metadata": pod.get("metadata"), "spec": {"template": {"spec": pod.get("spec")}}}


def running_since(pod: Manifest) -> datetime | None:
    """When the scheduler's container last started: a pod outlives the processes in it."""
    container = scheduler_container(workload_of(pod))
    status = object_in(pod.get("status"))
    for state in object_list(status.get("containerStatuses")):
        if container and state.get("name") == container.get("name"):
            return stated_time(object_in(object_in(state.get("state")).get("running")).get("startedAt"))
    return stated_time(status.get("startTime"))
