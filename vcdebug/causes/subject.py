"""From a word to the job or pod that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vcdebug.errors import VcdebugError
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.snapshot.completeness import kinds_text, missing_kinds, supplying_command
from vcdebug.snapshot.snapshot import Snapshot

JOB_NAME_KEY = "volcano.sh/job-name"


class Subject(NamedTuple):
    """What a question is about."""

    job: JobId
    """Empty for a pod that belongs to no PodGroup."""
    pod: TaskKey | None = None


class NotFoundError(VcdebugError):
    """No job and no pod of that name."""


def find_subject(snapshot: Snapshot, word: str) -> Subject:
    """`namespace/name` of a PodGroup or pod, the name of its Volcano Job, or a bare name that is unique."""
    groups = dict.fromkeys(f"{group.namespace}/{group.name}" for group in map(PodGroup, snapshot.of("PodGroup")))
    if word in groups:
        return Subject(word)
    pods = {pod.key: pod for pod in map(Pod, snapshot.of("Pod"))}
    if word in pods:
        return Subject(pods[word].job_id, word)
    by_name = [key for key in groups if key.rpartition("/")[2] == word]
    if by_name:
        return Subject(_only(by_name, word))
    owned = _of_volcano_job(list(pods.values()), word)
    if owned:
        return Subject(_only(owned, word))
    named = [key for key in pods if key.rpartition("/")[2] == word]
    if named:
        key = _only(named, word)
        return Subject(pods[key].job_id, key)
    orphans = dict.fromkeys(pod.job_id for pod in pods.values() if pod.job_id)
    if word in orphans:
        return Subject(word)
    lacking = missing_kinds(snapshot)
    if lacking and not groups and not pods:
        hint = f"the snapshot has {kinds_text(lacking)}: add the output of `{supplying_command(lacking)}`"
        raise NotFoundError("no such job or pod", hint, word)
    raise _unknown(word, [*groups, *pods])


def _of_volcano_job(pods: Sequence[Pod], word: str) -> list[JobId]:
    """PodGroups of the pods that a Volcano Job of this name made."""
    namespace, _, name = word.rpartition("/")
    owned = [
        pod.job_id
        for pod in pods
        if pod.job_id
        and name in (pod.labels.get(JOB_NAME_KEY), pod.annotations.get(JOB_NAME_KEY))
        and namespace in ("", pod.namespace)
    ]
    return list(dict.fromkeys(owned))


def _only(keys: Sequence[str], word: str) -> str:
    if len(keys) == 1:
        return keys[0]
    raise NotFoundError("is not unique", f"one of {', '.join(sorted(keys)[:5])}", word)


def _unknown(word: str, known: Sequence[str]) -> NotFoundError:
    from difflib import get_close_matches

    tails = {key.rpartition("/")[2]: key for key in known}
    wanted = word.rpartition("/")[2]
    close = (
        get_close_matches(word, known, 3, 0.5)
        or [tails[tail] for tail in get_close_matches(wanted, list(tails), 3, 0.5)]
        or [key for tail, key in tails.items() if wanted and wanted in tail][:3]
    )
    if close:
        return NotFoundError("no such job or pod", f"did you mean {', '.join(close)}?", word)
    return NotFoundError("no such job or pod", "vcdebug run lists the jobs", word)
