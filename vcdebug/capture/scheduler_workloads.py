"""Find Volcano's schedulers in a cluster: Deployments, StatefulSets, and running pods of other owners."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from vcdebug.capture.api_client import Api, ApiRefusal
from vcdebug.capture.listing import items_of
from vcdebug.capture.permission import FORBIDDEN, PROBLEM_FILE
from vcdebug.errors import CaptureError
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import object_in
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.settings import APP_LABEL, is_up, running_since, scheduler_container, workload_of
from vcdebug.snapshot.snapshot import Manifest

VOLCANO_NAMESPACE = "volcano-system"
APP_SELECTOR = [("labelSelector", f"app={APP_LABEL}")]
NO_FLAGS = "upstream's default flags are used"
MISSING_DEPLOYMENT = "scheduler Deployment"

ObjectsByKind = dict[str, list[Manifest]]


@dataclass(frozen=True, slots=True)
class Scheduler:
    """One scheduler and the workload that its pods come from."""

    kind: str
    namespace: str
    name: str
    workload: Manifest
    """A manifest with the pod's spec at spec.template.spec, as in a Deployment."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def problem_place(self) -> str:
        """Its name in problems."""
        return f"{self.kind} {self.key}"


def find_schedulers(api: Api, objects: ObjectsByKind, problems: list[Problem]) -> list[Scheduler]:
    """All schedulers, each once, those in Volcano's namespace first; a problem if there is none."""
    found = [_workload_scheduler("Deployment", manifest) for manifest in _find_deployments(api, problems)]
    found += [
        _workload_scheduler("StatefulSet", manifest)
        for manifest in objects.get("StatefulSet", ())
        if _is_ours(manifest)
    ]
    known = {scheduler.key for scheduler in found}
    for scheduler in _iter_running_schedulers(objects):
        if scheduler.key not in known:
            known.add(scheduler.key)
            found.append(scheduler)
    found.sort(key=lambda scheduler: scheduler.namespace != VOLCANO_NAMESPACE)
    if not found and not any(problem.object == MISSING_DEPLOYMENT for problem in problems):
        problems.append(
            Problem(PROBLEM_FILE, MISSING_DEPLOYMENT, "", "none has the label app=volcano-scheduler", NO_FLAGS)
        )
    return found


def choose_scheduler(schedulers: list[Scheduler], wanted: str, where: str, problems: list[Problem]) -> Scheduler | None:
    """The scheduler named `wanted`, else the first one, with a problem that names the others.

    Raises CaptureError if there is none of that name.
    """
    if wanted:
        match = next((scheduler for scheduler in schedulers if scheduler.key == wanted), None)
        if match is None:
            names = ", ".join(scheduler.key for scheduler in schedulers) or "none"
            raise CaptureError(f"there is no scheduler {wanted}", hint=f"found: {names}", where=where)
        return match
    if len(schedulers) > 1:
        what = f"there are {len(schedulers)}: {', '.join(scheduler.key for scheduler in schedulers)}"
        effect = f"{schedulers[0].key} is used; name another with --scheduler"
        problems.append(Problem(PROBLEM_FILE, "schedulers", "", what, effect))
    return schedulers[0] if schedulers else None


def started_at(scheduler: Scheduler | None, objects: ObjectsByKind) -> datetime | None:
    """The start of the scheduler's oldest running pod; None without one."""
    starts = [start for pod in _iter_running_pods(scheduler, objects) if (start := running_since(pod)) is not None]
    return min(starts, default=None)


def _find_deployments(api: Api, problems: list[Problem]) -> list[Manifest]:
    """Deployments with Volcano's label: of all namespaces, else of volcano-system if only that may be read."""
    kind = KIND_BY_NAME["Deployment"]
    try:
        return items_of(api.get_object(kind.api_path, APP_SELECTOR), kind)
    except ApiRefusal as refusal:
        what = (
            f'missing permission "{kind.needed_permission}"' if refusal.status == FORBIDDEN else f"not found: {refusal}"
        )
    try:
        return items_of(api.get_object(f"/apis/apps/v1/namespaces/{VOLCANO_NAMESPACE}/deployments", APP_SELECTOR), kind)
    except ApiRefusal:
        problems.append(Problem(PROBLEM_FILE, MISSING_DEPLOYMENT, "", what, NO_FLAGS))
        return []


def _workload_scheduler(kind: str, manifest: Manifest) -> Scheduler:
    metadata = object_in(manifest.get("metadata"))
    return Scheduler(kind, str(metadata.get("namespace", "")), str(metadata.get("name", "")), manifest)


def _is_ours(manifest: Manifest) -> bool:
    labels = object_in(object_in(manifest.get("metadata")).get("labels"))
    return labels.get("app") == APP_LABEL or bool(scheduler_container(manifest))


def _iter_running_schedulers(objects: ObjectsByKind) -> Iterator[Scheduler]:
    """A scheduler per running pod with a scheduler's container, under the name of the pod's owner."""
    for pod in objects.get("Pod", ()):
        workload = workload_of(pod)
        if is_up(pod) and scheduler_container(workload):
            metadata = object_in(pod.get("metadata"))
            kind, name = _final_owner(pod, objects)
            yield Scheduler(kind, str(metadata.get("namespace", "")), name, workload)


def _final_owner(pod: Manifest, objects: ObjectsByKind) -> tuple[str, str]:
    """(kind, name) of the pod's last owner: a ReplicaSet's Deployment, a StatefulSet, or the pod itself."""
    metadata = object_in(pod.get("metadata"))
    owner = _first_owner(pod)
    if owner.get("kind") == "ReplicaSet":
        for replica_set in objects.get("ReplicaSet", ()):
            if object_in(replica_set.get("metadata")).get("uid") == owner.get("uid"):
                owner = _first_owner(replica_set) or owner
                break
    return str(owner.get("kind") or "Pod"), str(owner.get("name") or metadata.get("name", ""))


def _first_owner(manifest: Manifest) -> Manifest:
    owners = object_in(manifest.get("metadata")).get("ownerReferences")
    return object_in(owners[0]) if isinstance(owners, list) and owners else {}


def _iter_running_pods(scheduler: Scheduler | None, objects: ObjectsByKind) -> Iterator[Manifest]:
    for pod in objects.get("Pod", ()):
        metadata = object_in(pod.get("metadata"))
        if scheduler is None or not is_up(pod) or metadata.get("namespace") != scheduler.namespace:
            continue
        # A static pod, or one started by hand, has the label and no owner.
        labelled = object_in(metadata.get("labels")).get("app") == APP_LABEL and not metadata.get("ownerReferences")
        if labelled or _final_owner(pod, objects) == (scheduler.kind, scheduler.name):
            yield pod
