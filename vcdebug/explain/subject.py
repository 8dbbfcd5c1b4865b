"""From a word to the job or pod that is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vcdebug.errors import VcdebugError
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.snapshot.completeness import join_kinds, missing_kinds, supplying_command
from vcdebug.snapshot.snapshot import Snapshot

JOB_NAME_KEY = "volcano.sh/job-name"


class ExplainSubject(NamedTuple):
    """What a question is about."""

    job: JobId
    """Empty for a pod that belongs to no PodGroup."""
    pod: TaskKey | None = None


class NotFoundError(VcdebugError):
    """No job and no pod of that name."""


def find_subject(snapshot: Snapshot, word: str) -> ExplainSubject:
    """`namespace/name` of a PodGroup or pod, the name of its Volcano Job, or a bare name that is unique."""
    groups = dict.fromkeys(
        f"{group.namespace}/{group.name}" for group in map(PodGroup, snapshot.objects_of("PodGroup"))
    )
    if word in groups:
        return ExplainSubject(word)
    pods = {pod.key: pod for pod in map(Pod, snapshot.objects_of("Pod"))}
    if word in pods:
        return ExplainSubject(pods[word].job_id, word)
    by_name = [key for key in groups if key.rpartition("/")[2] == word]
    if by_name:
        return ExplainSubject(_require_unique(by_name, word))
    owned = _groups_of_volcano_job(list(pods.values()), word)
    if owned:
        return ExplainSubject(_require_unique(owned, word))
    named = [key for key in pods if key.rpartition("/")[2] == word]
    if named:
        key = _require_unique(named, word)
        return ExplainSubject(pods[key].job_id, key)
    orphans = dict.fromkeys(pod.job_id for pod in pods.values() if pod.job_id)
    if word in orphans:
        return ExplainSubject(word)
    lacking = missing_kinds(snapshot)
    if lacking and not groups and not pods:
        hint = f"the snapshot has {join_kinds(lacking)}: add the output of `{supplying_command(lacking)}`"
        raise NotFoundError("no such job or pod", hint, word)
    raise _unknown_name_error(word, [*groups, *pods])


def _groups_of_volcano_job(pods: Sequence[Pod], word: str) -> list[JobId]:
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


def _require_unique(keys: Sequence[str], word: str) -> str:
    if len(keys) == 1:
        return keys[0]
    raise NotFoundError("is not unique", f"one of {', '.join(sorted(keys)[:5])}", word)


def _unknown_name_error(word: str, known: Sequence[str]) -> NotFoundError:
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
