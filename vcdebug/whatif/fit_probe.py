"""Whether a job would ever fit: alone on the cluster, and how many copies fit next to the running pods.

Both replay the cycle on an edited snapshot without the actions that evict.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.explain.answer import Cause, Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.gotime import api_time_text
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.pod import Pod
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import parse_conf, replay_cycle
from vcdebug.snapshot.edit import edit_conf_text, parse_edit
from vcdebug.snapshot.manifest import GROUP_ANNOTATION, JsonDict
from vcdebug.snapshot.snapshot import Manifest, Snapshot

POD_GROUP: Final = "PodGroup"


class AloneFit(Struct, frozen=True):
    """The result of placing the job on the cluster without this scheduler's other pods."""

    tasks: int
    placed_count: int
    explanation: Explanation

    @property
    def failure_reason(self) -> str:
        """Why the job does not fit, in a sentence."""
        return no_place_reason(self.explanation)


class FittingCopies(NamedTuple):
    """The number of copies of the job that fit on the cluster, and the number tried."""

    fitting: int
    tried_count: int
    stop_reason: str
    """Why the next copy does not fit; empty if all tried copies fit."""


def probe_alone(recording: Recording, job: JobId) -> AloneFit:
    """Whether the job fits without this scheduler's other pods; quotas, taints and other schedulers' pods stay."""
    info, snapshot = recording.session.jobs[job], recording.snapshot
    names = snapshot.flags.scheduler_names
    # Other schedulers' pods stay, since no change of the queue or job of this scheduler removes them.
    foreign_pods = [manifest for manifest in snapshot.objects_of("Pod") if Pod(manifest).scheduler_name not in names]
    pod_groups = [_fresh_group(snapshot, info, info.name)]
    pods = list(_iter_fresh_pods(info, info.name))
    objects = {**snapshot.objects, "Pod": [*foreign_pods, *pods], POD_GROUP: pod_groups}
    # Disposed of at once: a probe's recording is as large as the original one.
    with disposing(_replay_without_evictions(recording, objects)) as run:
        counts = run.timeline.state_at(len(run)).job_counts(job)
        return AloneFit(len(pods), counts.ready_count + counts.waiting_count, explain_by_name(run, job, detailed=False))


def probe_copies(recording: Recording, job: JobId, max_copies: int) -> FittingCopies:
    """Replay the cycle with `max_copies` copies of the job, and count those placed before the first that is not."""
    info, snapshot = recording.session.jobs[job], recording.snapshot
    # Leading zeros: jobs of equal priority and age are ordered by UID, which ends in this name.
    names = [f"{info.name}-copy-{number:03}" for number in range(1, max_copies + 1)]
    objects = {
        **snapshot.objects,
        "Pod": [*snapshot.objects_of("Pod"), *(pod for name in names for pod in _iter_fresh_pods(info, name))],
        POD_GROUP: [*snapshot.objects_of(POD_GROUP), *(_fresh_group(snapshot, info, name) for name in names)],
    }
    with disposing(_replay_without_evictions(recording, objects)) as run:
        for number, name in enumerate(names):
            answer = explain_by_name(run, f"{info.namespace}/{name}", detailed=False)
            if not answer.scheduled:
                return FittingCopies(number, max_copies, no_place_reason(answer))
    return FittingCopies(max_copies, max_copies, "")


def no_place_reason(answer: Explanation) -> str:
    """Why the job is not placed; causes about missing evictions are skipped, since the probe excludes evictions."""
    findings = (finding for finding in (answer.dominant, *answer.contributing) if finding.cause != Cause.NOT_CONFIGURED)
    return next(findings, answer.dominant).sentence


def _replay_without_evictions(recording: Recording, objects: Mapping[str, list[Manifest]]) -> Recording:
    """Replay the cycle with other objects, without the actions that evict and without forced answers."""
    conf_text = recording.snapshot.scheduler_conf
    if conf_text:  # else the built-in configuration, which evicts nothing
        conf = parse_conf(conf_text, recording.snapshot.release)
        actions = [name for name in conf.actions if not conf.facts_of(name).evicts]
        conf_text = edit_conf_text(conf_text, parse_edit(f'conf:actions="{", ".join(actions)}"'))
    edited = replace(recording.snapshot, objects=objects, scheduler_conf=conf_text, answers=())
    return replay_cycle(edited, reuse_from=recording)


def _fresh_group(snapshot: Snapshot, job: JobInfo, name: str) -> Manifest:
    manifest: JsonDict = deepcopy(dict(job.pod_group.manifest))
    manifest["metadata"] = _renamed_metadata(
        manifest, name, f"{job.pod_group.manifest['metadata'].get('uid', '')}-{name}"
    )
    # A new job is the youngest; with the original timestamp it would be tried before competing jobs.
    manifest["metadata"]["creationTimestamp"] = api_time_text(snapshot.now)
    manifest["status"] = {"phase": "Pending"}
    return manifest


def _iter_fresh_pods(job: JobInfo, name: str) -> Iterator[Manifest]:
    """Yields manifests of the job's pods as Pending pods of a PodGroup with this name."""
    for task in sorted(job.tasks.values(), key=lambda task: task.key):
        manifest: JsonDict = deepcopy(dict(task.pod.manifest))
        pod_name = task.name.replace(job.name, name, 1) if job.name in task.name else f"{name}-{task.name}"
        manifest["metadata"] = _renamed_metadata(manifest, pod_name, f"{task.uid}-{name}")
        manifest["metadata"].setdefault("annotations", {})[GROUP_ANNOTATION] = name
        manifest["metadata"].pop("deletionTimestamp", None)
        manifest["spec"] = {key: value for key, value in manifest["spec"].items() if key != "nodeName"}
        manifest["status"] = {"phase": "Pending"}
        yield manifest


def _renamed_metadata(manifest: Manifest, name: str, uid: str) -> JsonDict:
    return {**manifest["metadata"], "name": name, "uid": uid}
