"""Find Volcano's schedulers in a cluster: Deployments, StatefulSets, and running pods of other owners."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from msgspec import Struct

from vcdebug.capture.api_client import Api, ApiRefusal
from vcdebug.capture.listing import NOT_EXACT_STATUSES, exact_query, items_of
from vcdebug.capture.permission import FORBIDDEN, PROBLEM_FILE
from vcdebug.errors import CaptureError
from vcdebug.snapshot import settings
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import key_of, metadata_of, object_in
from vcdebug.snapshot.problems import Problem, ProblemReport
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

VOLCANO_NAMESPACE = "volcano-system"
APP_SELECTOR = ("labelSelector", f"app={settings.APP_LABEL}")
NO_FLAGS = "using upstream's default flags"
MISSING_DEPLOYMENT = "scheduler Deployment"

ObjectsByKind = dict[str, list[Manifest]]


class Scheduler(Struct, frozen=True):
    """One scheduler and the workload of its pods."""

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
        """The scheduler's name in problems."""
        return f"{self.kind} {self.key}"

    @property
    def main_container(self) -> Manifest:
        """The scheduler's container; the first one if none is recognised as a scheduler."""
        return settings.scheduler_container(self.workload) or next(iter(settings.containers_of(self.workload)), {})

    @property
    def describe_pods(self) -> str:
        """The scheduler's pods and nodes, in words."""
        flags = settings.with_flags(
            SchedulerFlags(), settings.flag_values(self.main_container), "", ProblemReport(), ""
        )
        nodes = f" on nodes {', '.join(flags.node_selector)}" if flags.node_selector else ""
        return f"{self.key} takes schedulerName {' or '.join(flags.scheduler_names)}{nodes}"


def find_schedulers(
    api: Api, objects: ObjectsByKind, problems: list[Problem], key: str = "", version: str = ""
) -> list[Scheduler]:
    """All schedulers, each once, those in Volcano's namespace first; a problem if there is none.

    The workload named `key` is one whatever its labels and containers are. `objects` are those of the state `version`.
    """
    schedulers = [_workload_scheduler("Deployment", manifest) for manifest in _find_deployments(api, problems, version)]
    schedulers += [
        _workload_scheduler("StatefulSet", manifest)
        for manifest in objects.get("StatefulSet", ())
        if _is_ours(manifest)
    ]
    keys = {scheduler.key for scheduler in schedulers}
    for scheduler in _iter_running_schedulers(objects):
        if scheduler.key not in keys:
            keys.add(scheduler.key)
            schedulers.append(scheduler)
    if key and key not in keys:
        schedulers += _named_workload(api, objects, problems, key, version)
    schedulers.sort(key=lambda scheduler: scheduler.namespace != VOLCANO_NAMESPACE)
    if not schedulers and not any(problem.object == MISSING_DEPLOYMENT for problem in problems):
        problems.append(
            Problem(PROBLEM_FILE, MISSING_DEPLOYMENT, "", "no Deployment has label app=volcano-scheduler", NO_FLAGS)
        )
    return schedulers


def choose_scheduler(schedulers: list[Scheduler], key: str, where: str, problems: list[Problem]) -> Scheduler | None:
    """The scheduler named `key` (CaptureError without it), else the first one, with a problem that names the others."""
    if key:
        match = next((scheduler for scheduler in schedulers if scheduler.key == key), None)
        if match is None:
            names = ", ".join(scheduler.key for scheduler in schedulers) or "none"
            raise CaptureError(f"scheduler {key} not found", hint=f"found: {names}", where=where)
        return match
    if len(schedulers) > 1:
        fault = f"there are {len(schedulers)}: {'; '.join(scheduler.describe_pods for scheduler in schedulers)}"
        effect = f"using {schedulers[0].key}; choose with --scheduler"
        problems.append(Problem(PROBLEM_FILE, "schedulers", "", fault, effect))
    return schedulers[0] if schedulers else None


def note_stopped(scheduler: Scheduler, problems: list[Problem]) -> None:
    """Add a problem for a scheduler that is scaled to 0 replicas."""
    if object_in(scheduler.workload.get("spec")).get("replicas") == 0:
        effect = "the replay shows what it would do, and nothing comes of it"
        problems.append(
            Problem(PROBLEM_FILE, scheduler.problem_place, "spec.replicas", "is 0: it does not run", effect)
        )


def note_agent_schedulers(objects: ObjectsByKind, problems: list[Problem]) -> None:
    """Add a problem for each running agent-scheduler, which schedules its own pods and is not replayed."""
    for pod in objects.get("Pod", ()):
        containers = settings.containers_of(settings.workload_of(pod))
        agents = [
            container for container in containers if settings.is_named_scheduler(container, settings.AGENT_SCHEDULER)
        ]
        if not agents or not settings.is_up(pod):
            continue
        names = settings.parse_command_line(agents[0]).get("scheduler-name", [settings.AGENT_SCHEDULER])
        metadata, (kind, name) = object_in(pod.get("metadata")), _final_owner(pod, objects)
        owner = f"{kind} {metadata.get('namespace')}/{name}"
        effect = "its cycle is not replayed; where it places pods is known from their nodes"
        problem = Problem(
            PROBLEM_FILE, owner, "", f"is an agent-scheduler and takes schedulerName {' or '.join(names)}", effect
        )
        if problem not in problems:
            problems.append(problem)


def _named_workload(
    api: Api, objects: ObjectsByKind, problems: list[Problem], key: str, version: str
) -> list[Scheduler]:
    """The StatefulSet or Deployment of this `namespace/name`, if there is one."""
    namespace, _, name = key.partition("/")
    found = [("StatefulSet", manifest) for manifest in objects.get("StatefulSet", ())]
    with suppress(ApiRefusal):
        selector = ("fieldSelector", f"metadata.name={name}")
        found += [
            ("Deployment", manifest) for manifest in _list_deployments(api, namespace, selector, version, problems)
        ]
    return [_workload_scheduler(owner, manifest) for owner, manifest in found if key_of(manifest) == key]


def started_at(scheduler: Scheduler | None, objects: ObjectsByKind) -> datetime | None:
    """The start of the scheduler's oldest running pod; None without one."""
    starts = [
        start for pod in _iter_running_pods(scheduler, objects) if (start := settings.running_since(pod)) is not None
    ]
    return min(starts, default=None)


def _find_deployments(api: Api, problems: list[Problem], version: str) -> list[Manifest]:
    """Deployments with Volcano's label: of all namespaces, else of volcano-system if only that may be read."""
    kind, fault = KIND_BY_NAME["Deployment"], ""
    for namespace in ("", VOLCANO_NAMESPACE):
        try:
            return _list_deployments(api, namespace, APP_SELECTOR, version, problems)
        except ApiRefusal as refusal:
            missing = f'missing permission "{kind.needed_permission}"'
            fault = fault or (missing if refusal.status == FORBIDDEN else f"not found: {refusal}")
    problems.append(Problem(PROBLEM_FILE, MISSING_DEPLOYMENT, "", fault, NO_FLAGS))
    return []


def _list_deployments(
    api: Api, namespace: str, selector: tuple[str, str], version: str, problems: list[Problem]
) -> list[Manifest]:
    """The selected Deployments as they were at a version, empty for the present ones; raises ApiRefusal."""
    kind = KIND_BY_NAME["Deployment"]
    path = kind.list_path(namespace)
    if version:
        try:
            return items_of(api.get_object(path, [selector, *exact_query(version)]), kind)
        except ApiRefusal as refusal:
            if refusal.status not in NOT_EXACT_STATUSES:
                raise
    found = items_of(api.get_object(path, [selector]), kind)
    for manifest in found:
        if was_written_after(manifest, version):
            fault = "has changed since that state, and its earlier flags and image cannot be read"
            owner = f"{kind.name} {key_of(manifest)}"
            problems.append(Problem(PROBLEM_FILE, owner, "", fault, "using its present flags and image"))
    return found


def was_written_after(manifest: Manifest, version: str) -> bool:
    """Whether an object has changed since a resource version; not if either is unknown."""
    written = str(metadata_of(manifest).get("resourceVersion"))
    return version.isdecimal() and written.isdecimal() and int(written) > int(version)


def _workload_scheduler(kind: str, manifest: Manifest) -> Scheduler:
    metadata = object_in(manifest.get("metadata"))
    return Scheduler(kind, str(metadata.get("namespace", "")), str(metadata.get("name", "")), manifest)


def _is_ours(manifest: Manifest) -> bool:
    labels = object_in(object_in(manifest.get("metadata")).get("labels"))
    return labels.get("app") == settings.APP_LABEL or bool(settings.scheduler_container(manifest))


def _iter_running_schedulers(objects: ObjectsByKind) -> Iterator[Scheduler]:
    """A scheduler per running pod with a scheduler's container, under the name of the pod's owner."""
    for pod in objects.get("Pod", ()):
        workload = settings.workload_of(pod)
        if settings.is_up(pod) and settings.scheduler_container(workload):
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
        if scheduler is None or not settings.is_up(pod) or metadata.get("namespace") != scheduler.namespace:
            continue
        # A static pod, or one started by hand, has the label and no owner.
        labelled = object_in(metadata.get("labels")).get("app") == settings.APP_LABEL and not metadata.get(
            "ownerReferences"
        )
        if labelled or _final_owner(pod, objects) == (scheduler.kind, scheduler.name):
            yield pod
