"""The names of jobs for people: that of the workload, where a controller generated the PodGroup's own name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    JsonObject,
    annotations_of,
    bare_name,
    key_of,
    metadata_of,
    name_of,
    namespace_in,
    namespace_of,
    owners_of,
    split_workload_key,
    workload_key,
)
from vcdebug.snapshot.snapshot import Snapshot

_NAME = r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?"
_NAMES_IN_TEXT: Final = re.compile(
    # After these a text speaks of the object itself: in commands, in edits, and in the scheduler's own messages.
    r"(?<![\w./<-])(?<!PodGroup )(?<!podgroup )(?<!PodGroups )"
    # Lists of PodGroups and the owners of fields are kept whole, since people copy them into commands.
    rf"(?:PodGroups[^.(:]*[(:][^).]*|spec\.\w+ of {_NAME}/{_NAME}"
    # In quotes, a name without namespace may be a value of a manifest.
    rf"|{_NAME}/{_NAME}|(?<!\"){_NAME})(?![\w/])"
)
MAX_UID_PART: Final = 8
"""Characters of an owner's UID that tell apart the PodGroups of two owners of one name."""


class JobNames(Struct, frozen=True):
    """The names of a snapshot's jobs in texts for people; recordings, JSON and logs have the names of PodGroups."""

    shown_names: Mapping[str, str] = {}
    """PodGroup → name of its workload; with namespaces, and without them where that is unique."""
    titles: Mapping[str, str] = {}
    """PodGroup → the name with the workload's kind: `Deployment team-a/web`."""
    group_facts: Mapping[str, str] = {}
    """PodGroup → `PodGroup podgroup-5b belongs to ReplicaSet web-7d5f of Deployment web.`"""
    typed_names: Mapping[str, str] = {}
    """`namespace/name` of a workload → its PodGroup."""

    def name_of(self, job: str) -> str:
        """`namespace/name` of the job's workload; of its PodGroup if no other name is better."""
        return self.shown_names.get(job, job)

    def title_of(self, job: str) -> str:
        """The name with the workload's kind; a Volcano Job and a PodGroup stand without one."""
        return self.titles.get(job, job)

    def joined(self, other: JobNames) -> JobNames:
        """These names, and those of jobs that only the other snapshot has."""
        mine, theirs = structs.astuple(self), structs.astuple(other)
        return JobNames(*({**more, **known} for more, known in zip(theirs, mine, strict=True)))

    def in_text(self, text: str) -> str:
        """The text with workloads in place of PodGroups."""
        return _replace_names(text, self.shown_names)

    def to_ids(self, text: str) -> str:
        """A typed text with PodGroups in place of workloads."""
        return _replace_names(text, self.typed_names)


def _replace_names(text: str, names: Mapping[str, str]) -> str:
    return _NAMES_IN_TEXT.sub(lambda found: names.get(found[0], found[0]), text) if names else text


def job_names(snapshot: Snapshot) -> JobNames:
    """The names of the snapshot's jobs."""
    groups, owned = snapshot.objects_of("PodGroup"), _OwnerSearch(snapshot)
    chains = {key_of(group): owned.owners_upward(group) for group in groups}
    named = {job: one for job, one in _choose_distinct(chains).items() if one.name != job}
    pods = {
        key_of(pod): f"{namespace_of(pod)}/{annotations_of(pod).get(GROUP_ANNOTATION)}"
        for pod in (snapshot.objects_of("Pod") if named else ())
    }
    # A pod and a PodGroup may have one name, which then says enough; a pod that owns others stands for its own job.
    named = {job: one for job, one in named.items() if job not in pods and pods.get(one.name, job) == job}
    others = (*map(name_of, snapshot.objects_of("Node")), *map(name_of, snapshot.objects_of("Queue")))
    used = Counter([*map(_bare, chains), *map(_bare, pods), *others])
    bare = {_bare(job): _bare(one.name) for job, one in named.items() if "-" in job and used[_bare(job)] == 1}
    return JobNames(
        {**bare, **{job: one.name for job, one in named.items()}},
        {job: one.title for job, one in named.items()},
        {job: f"PodGroup {_bare(job)} belongs to {' of '.join(map(str, chains[job]))}." for job in named},
        {one.name: job for job, one in named.items() if one.name not in pods},
    )


def _bare(name: str) -> str:
    return bare_name(name)


class _Owner(Struct, frozen=True):
    kind: str
    name: str
    uid: str = ""
    is_volcano_job: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


class _NamedJob(Struct, frozen=True):
    name: str
    title: str


class _OwnerSearch:
    """Finds the owners of PodGroups, as far as people know them by name."""

    def __init__(self, snapshot: Snapshot) -> None:
        sets = snapshot.objects_of("ReplicaSet")
        self._set_owners = {metadata_of(each).get("uid"): owners_of(each) for each in sets}
        self._workloads = snapshot.workloads
        self._kinds = {(space, name): kind for space, kind, name in map(split_workload_key, snapshot.workloads)}

    def owners_upward(self, manifest: JsonObject) -> list[_Owner]:
        """The nearest owner, then the one for which a controller generated that owner's name."""
        references = owners_of(manifest)
        nearest = next((each for each in references if each.get("controller")), next(iter(references), {}))
        if not nearest.get("name"):
            return []
        return [_owner_of(nearest), *self._outer_owner(namespace_of(manifest), nearest)]

    def _outer_owner(self, namespace: str, inner: JsonObject) -> Iterator[_Owner]:
        for outer in self._set_owners.get(inner.get("uid"), ())[:1]:
            yield _owner_of(outer)
        # Of other kinds the name is the user's own, such as that of a Volcano Job in a JobFlow.
        kind, name = str(inner.get("kind")), str(inner["name"])
        facts = self._workloads.get(workload_key(namespace, kind, name)) if kind in ("Job", "RayCluster") else None
        for outer_name in facts.owners[:1] if facts is not None else ():
            is_run = kind == "Job" and name.removeprefix(f"{outer_name}-").isdigit()
            yield _Owner(self._kinds.get((namespace, outer_name)) or "CronJob" * is_run, outer_name)


def _owner_of(reference: JsonObject) -> _Owner:
    is_volcano_job = str(reference.get("apiVersion")).startswith("batch.volcano.sh/")
    kind, name, uid = (str(reference.get(key) or "") for key in ("kind", "name", "uid"))
    return _Owner(kind, name, uid, is_volcano_job)


def _choose_distinct(chains: Mapping[str, Sequence[_Owner]]) -> dict[str, _NamedJob]:
    """The outermost owner's name for each job; those that would share it have more exact names."""
    candidates = {job: list(_iter_candidates(job, owners)) for job, owners in chains.items()}
    places = dict.fromkeys(candidates, 0)
    while True:
        uses = Counter(candidates[job][place].name for job, place in places.items())
        chosen = {job: candidates[job][place] for job, place in places.items()}
        shared = [job for job, one in chosen.items() if uses[one.name] > 1 and one is not candidates[job][-1]]
        if not shared:
            return chosen
        for job in shared:
            places[job] += 1


def _iter_candidates(job: str, owners: Sequence[_Owner]) -> Iterator[_NamedJob]:
    """Names from the one that people know best to the PodGroup's own, which no other job has."""
    namespace = namespace_in(job)
    # A name from which the owner's is made, such as that of a Deployment, is the user's own.
    is_own = any(f"{owner.name}-".startswith(f"{_bare(job)}-") for owner in owners[:1])
    for owner in () if is_own else reversed(owners):
        name = f"{namespace}/{owner.name}"
        yield _NamedJob(name, name if owner.is_volcano_job else f"{owner.kind} {name}".strip())
    for owner in owners[:1]:
        if owner.uid and owner.uid in job:
            name = f"{namespace}/{owner.name}-{owner.uid[:MAX_UID_PART]}"
            yield _NamedJob(name, f"{owner.kind} {name}")
    yield _NamedJob(job, job)
