"""Would a job ever fit, and how many more of it: the job alone on the cluster, and copies of it beside what runs.

Both run the cycle again on an edited snapshot, with admission and placing only: nobody is evicted for the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Final, NamedTuple

from vcdebug.causes.gates.missing_action import NOT_CONFIGURED
from vcdebug.causes.pending import explain
from vcdebug.explain.answer import Explanation
from vcdebug.gotime import time_text
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.pod import GROUP_ANNOTATION, Pod
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_conf import edited_conf
from vcdebug.snapshot.json_values import JsonDict
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.trace.conf import parse_conf
from vcdebug.trace.passing import passing
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

GROUP: Final = "PodGroup"
DEFAULT_ACTIONS: Final = 'actions: "enqueue, allocate, backfill"\n'


class Alone(NamedTuple):
    """The job on the cluster without any other pod that this scheduler places."""

    tasks: int
    placed: int
    explanation: Explanation

    @property
    def fits(self) -> bool:
        """Whether the gang gets its places."""
        return self.explanation.scheduled

    @property
    def why(self) -> str:
        """Why it does not fit, in a sentence."""
        return no_place(self.explanation)


class FittingCopies(NamedTuple):
    """How many copies of the job fit on the cluster as it stands, of how many that were tried."""

    fitting: int
    tried: int
    stopped: str
    """Why the next one does not fit; empty where all that were tried fit."""


def alone(recording: Recording, job: JobId) -> Alone:
    """Everything else that this scheduler places is taken away; quotas, taints and other schedulers' pods stay."""
    info, snapshot = recording.session.jobs[job], recording.snapshot
    names = snapshot.flags.scheduler_names
    others = [manifest for manifest in snapshot.of("Pod") if Pod(manifest).scheduler_name not in names]
    groups = [_fresh_group(snapshot, info, info.name)]
    pods = list(_fresh_pods(info, info.name))
    objects = {**snapshot.objects, "Pod": [*others, *pods], GROUP: groups}
    with passing(replay(_placing_only(replace(snapshot, objects=objects)), beside=recording)) as run:
        counts = run.timeline.state_at(len(run)).job(job)
        return Alone(len(pods), counts.ready + counts.waiting, explain(run, job))


def copies(recording: Recording, job: JobId, most: int) -> FittingCopies:
    """Up to so many copies are tried, one after the other in the order of their names."""
    info, snapshot = recording.session.jobs[job], recording.snapshot
    names = [f"{info.name}-copy-{number:03}" for number in range(1, most + 1)]
    objects = {
        **snapshot.objects,
        "Pod": [*snapshot.of("Pod"), *(pod for name in names for pod in _fresh_pods(info, name))],
        GROUP: [*snapshot.of(GROUP), *(_fresh_group(snapshot, info, name) for name in names)],
    }
    with passing(replay(_placing_only(replace(snapshot, objects=objects)), beside=recording)) as run:
        for number, name in enumerate(names):
            told = explain(run, f"{info.namespace}/{name}")
            if not told.scheduled:
                return FittingCopies(number, most, no_place(told))
    return FittingCopies(most, most, "")


def no_place(told: Explanation) -> str:
    """Why there is no place; that nobody is evicted for it is the question's own condition, no reason."""
    found = (finding for finding in (told.dominant, *told.contributing) if finding.cause != NOT_CONFIGURED)
    return next(found, told.dominant).sentence


def _placing_only(snapshot: Snapshot) -> Snapshot:
    """The same configuration without the actions that evict, and nothing forced."""
    conf = parse_conf(snapshot.scheduler_conf, snapshot.release)
    kept = [name for name in conf.actions if not conf.facts_of(name).evicts]
    text = snapshot.scheduler_conf or DEFAULT_ACTIONS
    edited = edited_conf(text, parse_edit(f'conf:actions="{", ".join(kept)}"'))
    return replace(snapshot, scheduler_conf=edited if snapshot.scheduler_conf else None, answers=())


def _fresh_group(snapshot: Snapshot, job: JobInfo, name: str) -> Manifest:
    """The job's PodGroup as it would be created now."""
    manifest: JsonDict = deepcopy(dict(job.pod_group.manifest))
    manifest["metadata"] = _metadata(manifest, name, f"{job.pod_group.manifest['metadata'].get('uid', '')}-{name}")
    manifest["metadata"]["creationTimestamp"] = time_text(snapshot.now)
    manifest["status"] = {"phase": "Pending"}
    return manifest


def _fresh_pods(job: JobInfo, name: str) -> Iterator[Manifest]:
    """The job's pods, pending in a group of this name."""
    for task in sorted(job.tasks.values(), key=lambda task: task.key):
        manifest: JsonDict = deepcopy(dict(task.pod.manifest))
        own = task.name.replace(job.name, name, 1) if job.name in task.name else f"{name}-{task.name}"
        manifest["metadata"] = _metadata(manifest, own, f"{task.uid}-{name}")
        manifest["metadata"].setdefault("annotations", {})[GROUP_ANNOTATION] = name
        manifest["metadata"].pop("deletionTimestamp", None)
        manifest["spec"] = {key: value for key, value in manifest["spec"].items() if key != "nodeName"}
        manifest["status"] = {"phase": "Pending"}
        yield manifest


def _metadata(manifest: Manifest, name: str, uid: str) -> JsonDict:
    return {**manifest["metadata"], "name": name, "uid": uid}
