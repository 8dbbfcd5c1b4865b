"""The job or pod that a word names, as people type it: its own name, its workload's name, or `pod/NAME`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from vcdebug.amount_text import join_first_names
from vcdebug.errors import VcdebugError, closest_names
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.kinds import KIND_BY_WORD, WORKLOAD_NAMES
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    JOB_NAME_KEY,
    JsonObject,
    WorkloadFacts,
    annotations_of,
    bare_name,
    key_of,
    metadata_of,
    name_of,
    namespace_of,
    owner_keys,
    owner_names,
    owners_of,
    spec_of,
    split_workload_key,
)
from vcdebug.snapshot.object_checks import join_kinds, missing_kinds, supplying_command
from vcdebug.snapshot.reported_events import CONTROLLER_KINDS
from vcdebug.snapshot.snapshot import Snapshot


class NotFoundError(VcdebugError):
    """Raised if no job and no pod has the given name."""


def find_subject(recording: Recording, word: str) -> ExplainSubject:
    """The job or pod of `[KIND/][NAMESPACE/]NAME`: KIND as kubectl takes it, NAME also that of a workload.

    Raises NotFoundError if there is none, or more than one.
    """
    search = _SubjectSearch(recording)
    by_word = search.exact_job, search.exact_pod, search.job_by_workload, search.bare_pod, search.orphan_group
    if subject := next(filter(None, (find(word) for find in by_word)), None):
        return subject
    # A namespace may be named like a kind: then the word names nothing.
    kind, name = ("", word) if search.has_namespace(word.partition("/")[0]) else split_kind(word)
    by_job = search.exact_job, search.job_by_workload, search.orphan_group
    by_kind = (search.exact_pod, search.bare_pod) if kind == "Pod" else by_job if kind not in HOLDER_WORDS else ()
    if kind and (subject := next(filter(None, (find(name) for find in by_kind)), None)):
        return subject
    raise search.unknown_name_error(word, kind, name)


HOLDER_WORDS: Final = {"Node": "node", "Queue": "queue", "ResourceQuota": "quota", "PersistentVolumeClaim": "claim"}
"""Kind of objects that pods use → its word in `ask holders`; no job or pod is of these kinds."""


def split_kind(word: str) -> tuple[str, str]:
    """(kind, the rest) of `pod/team/train-0` or `Pod team/train-0`; an empty kind if the first part is none."""
    first, _, name = word.replace(" ", "/", 1).partition("/")
    kind = KIND_BY_WORD.get(first.partition(".")[0].lower(), "")
    return (kind, name) if kind and name else ("", word)


def with_namespace(word: str, namespace: str) -> str:
    """The name of a job, pod or claim in a namespace, unless it names one: `pod/train-0` becomes `pod/team/train-0`."""
    kind, name = split_kind(word)
    has_namespace = not name or "/" in name or HOLDER_WORDS.get(kind, "claim") != "claim"
    return word if has_namespace or not namespace else f"{word.removesuffix(name)}{namespace}/{name}"


class _SubjectSearch:
    """Ways to look up a name; each returns None if it knows none, and raises NotFoundError if it is not unique."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._snapshot = recording.snapshot
        self._names = recording.job_names

    @cached_property
    def _groups(self) -> Mapping[JobId, None]:
        return dict.fromkeys(map(key_of, self._snapshot.objects_of("PodGroup")))

    @cached_property
    def _pods(self) -> Mapping[str, Pod]:
        return {pod.key: pod for pod in map(Pod, self._snapshot.objects_of("Pod"))}

    def has_namespace(self, namespace: str) -> bool:
        """Whether a PodGroup or pod of the snapshot is in the namespace."""
        return any(key.startswith(f"{namespace}/") for key in (*self._groups, *self._pods))

    def exact_job(self, word: str) -> ExplainSubject | None:
        """A job or PodGroup by `namespace/name`."""
        return ExplainSubject(word) if word in self._recording.session.jobs or word in self._groups else None

    def exact_pod(self, word: str) -> ExplainSubject | None:
        """A pod by `namespace/name`."""
        return ExplainSubject(self._pods[word].job_id, word) if word in self._pods else None

    def job_by_workload(self, word: str) -> ExplainSubject | None:
        """A job by its workload's name, or its bare name, or the name of an owner of its PodGroup or pods."""
        typed, pods = self._names.typed_names, list(self._pods.values())
        # A title is pasted with its kind: `Deployment team-a/web`.
        if shown_job := typed.get(word.rpartition(" ")[2]):
            return ExplainSubject(shown_job)
        by_name = [key for key in self._groups if bare_name(key) == word]
        by_name = by_name or [job for name, job in typed.items() if bare_name(name) == word]
        if by_name:
            return self._only_job(by_name, word)
        owned_groups = (
            _groups_of_volcano_job(pods, word)
            or _groups_of_owner(self._snapshot, word)
            or _groups_of_workload(self._snapshot, word)
        )
        waiting = {pod.job_id for pod in pods if not pod.node_name}
        # An owner has a PodGroup for each of its revisions; the question is about the one with Pending pods.
        open_groups = [job for job in owned_groups if job in waiting]
        return self._only_job(open_groups if len(open_groups) == 1 else owned_groups, word)

    def bare_pod(self, word: str) -> ExplainSubject | None:
        """A pod by its name without the namespace."""
        key = self._require_unique([key for key in self._pods if bare_name(key) == word], word)
        return ExplainSubject(self._pods[key].job_id, key) if key else None

    def orphan_group(self, word: str) -> ExplainSubject | None:
        """A job of pods that name a missing PodGroup."""
        orphans = dict.fromkeys(pod.job_id for pod in self._pods.values() if pod.job_id)
        return self._only_job([job for job in orphans if word in (job, bare_name(job))], word)

    def _only_job(self, jobs: Sequence[JobId], word: str) -> ExplainSubject | None:
        job = self._require_unique(jobs, word)
        return ExplainSubject(job) if job else None

    def _require_unique(self, keys: Sequence[str], word: str) -> str:
        """The only key, empty for none."""
        if len(keys) > 1:
            choices = ", ".join(sorted(map(self._names.name_of, keys))[:5])
            raise NotFoundError("is not unique", f"one of {choices}", word)
        return keys[0] if keys else ""

    def unknown_name_error(self, word: str, kind: str, name: str) -> NotFoundError:
        """The error for a word that names nothing, with what helps; `kind` is empty if the word states none."""
        missing = missing_kinds(self._snapshot)
        if missing and not self._groups and not self._pods:
            hint = f"the snapshot has {join_kinds(missing)}: add the output of `{supplying_command(missing)}`"
            return NotFoundError("no such job or pod", hint, word)
        if kind in HOLDER_WORDS:
            return NotFoundError("is not a job or pod", f"ask holders {HOLDER_WORDS[kind]}/{name} lists its pods", word)
        names = [*(() if kind == "Pod" else map(self._names.name_of, self._groups)), *self._pods]
        tails, tail = {bare_name(key): key for key in names}, bare_name(name)
        similar = (
            closest_names(name, names if "/" in name else (), 3, 0.5)
            or [tails[close] for close in closest_names(tail, tails, 3, 0.5)]
            or [key for known, key in tails.items() if tail and tail in known][:3]
        )
        jobs = list(map(self._names.name_of, self._groups))
        available = f"available: {join_first_names(jobs[:3], len(jobs))}" if jobs else "the snapshot has no PodGroups"
        hint = f"did you mean {', '.join(similar)}?" if similar else available
        return NotFoundError("no such job or pod", hint, word)


def _groups_of_volcano_job(pods: Sequence[Pod], word: str) -> list[JobId]:
    """PodGroups of the pods that belong to a Volcano Job of this name."""
    namespace, _, name = word.rpartition("/")
    named = (pod for pod in pods if name in (pod.labels.get(JOB_NAME_KEY), pod.annotations.get(JOB_NAME_KEY)))
    return list(dict.fromkeys(pod.job_id for pod in named if pod.job_id and namespace in ("", pod.namespace)))


_REVISION = re.compile(r"-[0-9a-z]{5,10}$")
"""What a Deployment or CronJob appends to its own name for a ReplicaSet or Job."""


def _groups_of_owner(snapshot: Snapshot, word: str) -> list[JobId]:
    """PodGroups that an object of this name owns, directly, through their pods or through objects in between."""
    namespace, _, name = word.rpartition("/")
    between, workloads = _objects_between(snapshot), snapshot.workloads
    groups: dict[JobId, None] = {}
    for kind in ("PodGroup", "Pod"):
        for manifest in snapshot.objects_of(kind):
            if name in _owner_names(manifest, between, workloads):
                member = PodGroup(manifest) if kind == "PodGroup" else Pod(manifest)
                job = f"{member.namespace}/{member.name}" if isinstance(member, PodGroup) else member.job_id
                if job and namespace in ("", member.namespace):
                    groups[job] = None
    return list(groups)


_KINDS_BETWEEN = ("ReplicaSet", "Job")
"""Kinds whose objects are owned by another one and own pods: of a Deployment, of a CronJob."""


def _objects_between(snapshot: Snapshot) -> Mapping[object, JsonObject]:
    return {metadata_of(one).get("uid"): one for kind in _KINDS_BETWEEN for one in snapshot.objects_of(kind)}


def _owner_names(
    manifest: JsonObject, between: Mapping[object, JsonObject], workloads: Mapping[str, WorkloadFacts]
) -> Iterator[object]:
    """The names of the object's owners and of their owners, which are derived from the name for objects not read."""
    for owner, full_name in zip(owners_of(manifest), owner_names(manifest), strict=True):
        yield owner.get("name")
        if owner.get("uid") in between:
            yield from _owner_names(between[owner["uid"]], {}, workloads)
        elif facts := workloads.get(f"{namespace_of(manifest)}/{full_name}"):
            yield from facts.owners
        elif owner.get("kind") in _KINDS_BETWEEN:
            yield _REVISION.sub("", str(owner.get("name")))


def _groups_of_workload(snapshot: Snapshot, word: str) -> list[JobId]:
    """PodGroups of a Volcano Job or JobFlow of this name; the object's name if its controller created no PodGroup."""
    namespace, _, name = word.rpartition("/")
    groups = group_by_key(
        ((namespace_of(group), owner.get("name")), key_of(group))
        for group in snapshot.objects_of("PodGroup")
        for owner in owners_of(group)
    )
    keys: dict[JobId, None] = {}
    for job in (*snapshot.objects_of("Job"), *snapshot.objects_of("JobFlow")):
        is_named = name in (name_of(job), *(owner.get("name") for owner in owners_of(job)))
        if is_named and namespace in ("", namespace_of(job)):
            keys |= dict.fromkeys(groups.get((namespace_of(job), name_of(job))) or [key_of(job)])
    keys |= dict.fromkeys(key for key in unmade_workloads(snapshot) if word in (key, bare_name(key)))
    # A JobFlow whose Jobs are there is known by them.
    jobs = [key for key in keys if bare_name(key) != name]
    return jobs or list(keys)


def unmade_workloads(snapshot: Snapshot) -> dict[str, str]:
    """`namespace/name` → kind of the operators' objects, and of controllers that ask for pods or own ungrouped ones."""
    all_controllers = [(kind, manifest) for kind in CONTROLLER_KINDS for manifest in snapshot.objects_of(kind)]
    controllers = [(kind, manifest) for kind, manifest in all_controllers if spec_of(manifest).get("replicas") != 0]
    kinds: dict[str, str] = {}
    for manifest in (*_ungrouped(snapshot), *(manifest for _, manifest in controllers)):
        kinds |= dict(zip(owner_keys(manifest), (str(one.get("kind")) for one in owners_of(manifest)), strict=True))
    kinds |= {key_of(manifest): kind for kind, manifest in controllers}
    named = map(split_workload_key, snapshot.workloads)
    return kinds | {f"{namespace}/{name}": kind for namespace, kind, name in named if kind in WORKLOAD_NAMES}


def _ungrouped(snapshot: Snapshot) -> Iterator[JsonObject]:
    return (pod for pod in snapshot.objects_of("Pod") if GROUP_ANNOTATION not in annotations_of(pod))


@per_recording()
def ungrouped_pods(recording: Recording) -> Mapping[str, Sequence[Pod]]:
    """`namespace/name` → pods without a PodGroup that the object owns, directly or through objects in between."""
    snapshot = recording.snapshot
    # The driver of a Spark application owns its executors.
    pods = {metadata_of(one).get("uid"): one for one in snapshot.objects_of("Pod")}
    between = {**_objects_between(snapshot), **pods}
    return group_by_key(
        (f"{namespace_of(pod)}/{name}", Pod(pod))
        for pod in _ungrouped(snapshot)
        for name in dict.fromkeys(_owner_names(pod, between, snapshot.workloads))
    )
