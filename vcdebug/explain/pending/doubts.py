"""Why a finished answer may not hold: what the snapshot lacks, and what an older release decides otherwise."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Final, NamedTuple

from msgspec.structs import replace

from vcdebug.actions import LATER_ACTIONS, PREEMPT, RECLAIM
from vcdebug.amount_text import format_amounts_apart, format_number, join_names
from vcdebug.errors import closest_name
from vcdebug.explain.answer import MAX_LINE_LENGTH, Advice, AdviceHarm, Cause, CauseHeadline, Explanation, Finding
from vcdebug.explain.job_view import ExplainSubject, JobView, view_of
from vcdebug.framework.conf import SHARE_CONFLICT, UNKNOWN_ACTION
from vcdebug.framework.hooks import HIERARCHY_SWITCH
from vcdebug.model.devices import DeviceLedger
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.pod_claims import csi_drivers
from vcdebug.model.pod_group import INQUEUE, PENDING
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import PODS, Resource
from vcdebug.plugins import CAPACITY, DRF, OVERCOMMIT, PLUGINS, PREDICATES, PROPORTION
from vcdebug.plugins.predicates import Predicates
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.kinds import KIND_BY_NAME, ResourceKind
from vcdebug.snapshot.object_checks import is_unknown, join_kinds, needed_kinds, supplying_command
from vcdebug.snapshot.problems import META_NOT_READ, OBJECTS_MISSING, REST_IGNORED, UNREAD_API


def doubts_about(recording: Recording, subject: ExplainSubject) -> Iterator[str]:
    """Yields why the answer about a job or pod may be wrong."""
    others = [kind for kind, _ in _kinds_needed_by_groups(recording)]
    own_kinds = [(kind, words) for kind, words in _kinds_needed_by(recording, subject) if kind not in others]
    doubts = (doubt_of_input(recording), _doubt_of_kinds(own_kinds), _doubt_of_process(recording, subject))
    yield from filter(None, doubts)


def qualify_headline(recording: Recording, subject: ExplainSubject, explanation: Explanation) -> Explanation:
    """The answer with a first line that is true on its own: it names kinds that the job states and the snapshot lacks,
    and what a release older than all that are replayed decides otherwise.
    """
    finding, release = explanation.dominant, recording.snapshot.release
    kinds = tuple(kind for kind, _ in _kinds_needed_by(recording, subject))
    change = f"may change: the snapshot has {join_kinds(kinds)}" if kinds else ""
    # docs/releases.md lists what releases before v1.10, the oldest that is replayed, do otherwise.
    if _BEFORE_1_10.fullmatch(release.stated_name) and subject.job in recording.session.jobs:
        view = view_of(recording, subject)
        if finding.cause in WITHOUT_QUOTA and (excess := _excess_not_asked(view)):
            return _rejected_by_older(view, explanation, *excess)
        change = change or next((f"{release.stated_name} {text}" for text in _iter_older_rules(view, finding)), "")
        if finding.cause in WITHOUT_QUOTA and _served_instead(view):
            words = f"Configure plugin {PROPORTION}, which orders queues, or upgrade Volcano {release.stated_name}."
            advised = (Advice.from_outside(words, AdviceHarm.CLUSTER), *explanation.advised)
            explanation = replace(explanation, advised=advised)
    headline = finding.headline._replace(state=f"{finding.headline.state} ({change})")
    # Where the first line would be too long, the doubt below it says so.
    fits = change and len(str(headline)) <= MAX_LINE_LENGTH
    return replace(explanation, dominant=replace(finding, headline=headline)) if fits else explanation


def rejected_conf(recording: Recording) -> tuple[tuple[str, ...], tuple[Advice, ...]]:
    """(facts, advice) if the stated configuration is rejected, so that the built-in one is in force, or if an action of
    it is ignored; else empty.
    """
    conf = recording.conf
    if not conf.rejection:
        ignored = [problem.what.removeprefix(UNKNOWN_ACTION).strip(" '") for problem in conf.problems]
        names = [name for name, one in zip(ignored, conf.problems, strict=True) if UNKNOWN_ACTION in one.what]
        return tuple(f'Action "{name}" is unknown, and this release ignores it.' for name in names), ()
    fact = f"The configuration is rejected ({conf.rejection}); the built-in one is in force: {', '.join(conf.actions)}."
    words = "Correct the scheduler's configuration first: until then the scheduler reads nothing of it."
    later = LATER_ACTIONS.get(conf.unknown_action.lower())
    if conf.unknown_action in _REMOVED_ACTIONS:
        why = "no release from v1.10 on has them, and none reserves nodes for a job"
        words = (
            f"Remove actions {join_names(_REMOVED_ACTIONS)} and plugin reservation, so that the rest is read: {why}."
        )
    elif conf.rejection.endswith(SHARE_CONFLICT):
        hierarchy = f"{HIERARCHY_SWITCH} of {DRF}"
        words = f"Remove plugin {PROPORTION}, or {hierarchy}: both divide the cluster, so the scheduler rejects them."
    elif later is not None and conf.unknown_action.lower() not in conf.registry:
        older = f"upgrade Volcano, or configure {PREEMPT} or {RECLAIM}"
        words = f"Action {conf.unknown_action.lower()}, in lower case, exists from {later.fixed_in[0]} on: {older}."
    elif conf.unknown_action:
        return (fact,), ()
    return (fact,), (Advice.from_outside(words, AdviceHarm.CLUSTER)._replace(comes_first=True),)


_REMOVED_ACTIONS: Final = ("elect", "reserve")
"""Actions of old releases, with which plugin reservation locked nodes for one large job."""


NOT_ADMITTED_BY: Final = "may not be admitted by"


def _rejected_by_older(view: JobView, explanation: Explanation, reason: str, holders: list[JobId]) -> Explanation:
    """The answer for a job that an older release does not admit, since others hold more than a limit."""
    finding, release = explanation.dominant, view.recording.snapshot.release
    headline = CauseHeadline(finding.headline.subject, f"{NOT_ADMITTED_BY} {release.stated_name}", reason)
    nearest = f"{release.name}, the nearest release that is replayed"
    fact = f"{nearest}, compares only what the job asks. By its rules: {finding.headline}"
    older = replace(finding, headline=headline).with_additions(
        f"Held or reserved by {join_names(holders)}.", fact, in_front=True
    )
    # PodGroups without pods only reserve it, so they are deleted first.
    empty = [uid for uid in holders if not view.session.jobs[uid].tasks]
    delete = f"Delete what only reserves it, without pods: PodGroup {join_names(empty)}."
    advice = (
        Advice.from_outside(f"Upgrade Volcano {release.stated_name} to v1.10.0 or later.", AdviceHarm.CLUSTER),
        Advice.from_outside(delete if empty else f"Wait for or delete {join_names(holders)}.", AdviceHarm.QUEUE),
    )
    return replace(explanation, dominant=older, advised=(*advice, *explanation.advised))


WITHOUT_QUOTA: Final = (Cause.PLACES, Cause.ADMITTED, Cause.NOT_ENOUGH)
"""Causes of jobs that the replayed release admits."""
_BEFORE_1_10: Final = re.compile(r"v?1\.[0-9](\.\d+)?([-+].*)?")


_OLDEST_QUEUE_ONLY: Final = re.compile(r"v?1\.[0-3](\..*)?")
"""Releases that return to the oldest queue for ever where no plugin orders queues."""


def _served_instead(view: JobView) -> QueueName | None:
    """The oldest queue with jobs, where the stated release may serve no other; None for the job's own queue."""
    recording = view.recording
    is_ordered = {PROPORTION, CAPACITY} & {*recording.conf.plugin_names()}
    if is_ordered or not _OLDEST_QUEUE_ONLY.fullmatch(recording.snapshot.release.stated_name):
        return None
    oldest = _oldest_queue_with_jobs(recording)
    return oldest.name if oldest is not None and oldest.creation_timestamp < view.queue.creation_timestamp else None


@per_recording()
def _oldest_queue_with_jobs(recording: Recording) -> QueueInfo | None:
    """Of the queues with jobs and a stated age, the oldest."""
    names = (job.queue for job in recording.session.jobs.values())
    queues = [recording.session.queues[name] for name in dict.fromkeys(names)]
    dated = (queue for queue in queues if queue.creation_timestamp)
    return min(dated, key=lambda queue: queue.creation_timestamp, default=None)


def _iter_older_rules(view: JobView, finding: Finding) -> Iterator[str]:
    """Yields what releases before v1.10 decide otherwise about this job, as words after the release's name."""
    pending = view.pending_at_open
    if any(task.sch_gated for task in pending):
        yield "does not read scheduling gates"
    if 0 < len(view.unplaced_tasks) < len(pending):
        yield "ends a job at its first pod that fits no node"
    if finding.cause in WITHOUT_QUOTA and (older := _served_instead(view)):
        yield f"may serve only queue {older}, which is older: no plugin orders queues, #1496"
    if finding.cause == Cause.PREEMPTIVE and CAPACITY in view.recording.conf.plugin_names():
        yield "lets a queue reclaim while it uses less than it deserves of any resource"


class _Ledger(NamedTuple):
    """What admission compares: the jobs that count, the limit with the resources that it limits, and its name."""

    jobs: Sequence[JobInfo]
    limit: Resource
    names: Sequence[str]
    where: str


def _ledgers(view: JobView) -> Iterator[_Ledger]:
    """Yields what the configured plugins compare at admission: the job's queue, and the enlarged cluster."""
    plugins, queue = view.recording.conf.plugin_names(), view.session.queues.get(view.job.queue)
    others = [job for job in view.session.jobs.values() if job.uid != view.job.uid]
    if queue is not None and (queue.capability or {PROPORTION, CAPACITY} & {*plugins}):
        limit = Resource.from_list(queue.capability) if queue.capability else view.session.total_resource
        where = f"capability {{}} of queue {queue.name}" if queue.capability else "{} of the whole cluster"
        names = list(queue.capability or dict(limit.items()))
        yield _Ledger([job for job in others if job.queue == queue.name], limit, names, where)
    if OVERCOMMIT in plugins:
        factor = float(view.recording.timeline.state_at(0).plugin_figure(OVERCOMMIT, "", "factor") or 0.0)
        limit = view.session.total_resource.clone().multi(factor)
        names = [name for job in others for name, _ in job.get_min_resources().items()]
        yield _Ledger(others, limit, names, f"{{}} of the cluster, enlarged {format_number(factor)} times")


def _excess_not_asked(view: JobView) -> tuple[str, list[JobId]] | None:
    """(reason, holders) for a resource that the job does not ask, and of which others hold more than a limit."""
    phases, own = view.recording.timeline.opening_phases, view.job.pod_group.min_resources
    if own is None or phases.get(view.job.uid) not in ("", PENDING):
        return None
    for ledger in _ledgers(view):
        # What a job's pods hold, or what its minimum reserves where it is Inqueue.
        minimums = [job.pod_group.min_resources if phases.get(job.uid) == INQUEUE else None for job in ledger.jobs]
        for name in dict.fromkeys(ledger.names):
            amounts = {
                job.uid: max(job.allocated.get(name), minimum.get(name) if minimum is not None else 0.0)
                for job, minimum in zip(ledger.jobs, minimums, strict=True)
            }
            held, limit = fsum(amounts.values()), ledger.limit.get(name)
            if held > limit and name != PODS and not own.get(name):
                texts = format_amounts_apart(name, held, limit)
                exceeding = f"{texts[0]} {name} exceed the {ledger.where.format(texts[1])}"
                return f"it compares all resources, and {exceeding}", [uid for uid, amount in amounts.items() if amount]
    return None


@per_recording(most=2)
def _kinds_needed_by(recording: Recording, subject: ExplainSubject) -> list[tuple[ResourceKind, str]]:
    """Kinds that the snapshot has none of, though the job's PodGroup or a Pending pod of it names one."""
    if subject.job not in recording.session.jobs:
        return []
    view = view_of(recording, subject)
    pods = [task.pod.manifest for task in view.pending_at_open]
    if view.job.tasks and not pods:
        return []
    needed = needed_kinds(recording.snapshot, {"PodGroup": [view.job.pod_group.manifest], "Pod": pods})
    asked = (name for task in view.pending_at_open for name in task.init_resreq.resource_names())
    drivers = csi_drivers(recording.snapshot, asked) if is_unknown(recording.snapshot, "CSINode") else []
    needed += [(KIND_BY_NAME["CSINode"], f"its pods mount volumes of {driver}") for driver in drivers[:1]]
    predicates = recording.session.plugins.get(PREDICATES)
    claiming = [task.name for task in view.pending_at_open if task.pod.spec.get("resourceClaims")]
    if claiming and isinstance(predicates, Predicates) and predicates.claim_filter is not None:
        lacking = [kind for kind in ("DeviceClass", "ResourceSlice") if is_unknown(recording.snapshot, kind)]
        needed += [(KIND_BY_NAME[kind], f"{claiming[0]} has resource claims") for kind in lacking]
    return needed


@per_recording()
def _kinds_needed_by_groups(recording: Recording) -> list[tuple[ResourceKind, str]]:
    """Kinds that the snapshot has none of, though some PodGroup names one."""
    groups = [job.pod_group.manifest for job in recording.session.jobs.values()]
    return needed_kinds(recording.snapshot, {"PodGroup": groups})


def _doubt_of_kinds(needed: Sequence[tuple[ResourceKind, str]]) -> str:
    """What objects name although the snapshot has no such objects, with the command that adds them."""
    if not needed:
        return ""
    named, kinds = join_names(dict.fromkeys(words for _, words in needed)), tuple(kind for kind, _ in needed)
    return f"{named}, but the snapshot has {join_kinds(kinds)}: add the output of `{supplying_command(kinds)}`"


def _doubt_of_process(recording: Recording, subject: ExplainSubject) -> str:
    """The assumption about the scheduler process, if device ledgers of earlier cycles decide about the job."""
    if not recording.snapshot.process.assumed or subject.job not in recording.session.jobs:
        return ""
    ledgers = _ledgers_by_device(recording).values()
    tasks = view_of(recording, subject).pending_at_open if ledgers else ()
    words = "nothing says when the scheduler started, and a running process is assumed (meta.json: scheduler.started)"
    return words if any(ledger.has_device_request(task.pod) for task in tasks for ledger in ledgers) else ""


@per_recording()
def _ledgers_by_device(recording: Recording) -> Mapping[str, DeviceLedger]:
    """One ledger of each kind of device that nodes have."""
    return {device: ledger for node in recording.session.nodes.values() for device, ledger in node.devices.items()}


@per_recording()
def doubt_of_input(recording: Recording) -> str:
    """Why any answer may be wrong: objects read at different times, missing namespaces, an assumed configuration."""
    provenance = recording.snapshot.provenance
    doubts = ["" if provenance is None else provenance.inconsistency_text()]
    if provenance is not None and provenance.namespace:
        doubts.append(
            f"only namespace {provenance.namespace} was read; pods of other namespaces use room that is not known"
        )
    if recording.snapshot.scheduler_conf is None and recording.session.jobs:
        assumed = f"the built-in one is assumed (actions {', '.join(recording.conf.actions)})"
        supply = "add the output of `kubectl get configmaps -n volcano-system -o yaml`"
        doubts.append(f"the snapshot has no scheduler configuration; {assumed}: {supply}")
    doubts.append(_doubt_of_kinds(_kinds_needed_by_groups(recording)))
    if recording.session.jobs and is_unknown(recording.snapshot, "Pod"):
        doubts.append("the snapshot has no Pod: add the output of `kubectl get pods -A -o json`")
    if plugins := [name for name in recording.conf.plugin_names() if name not in PLUGINS]:
        subject = f"plugin {plugins[0]} is" if len(plugins) == 1 else f"plugins {join_names(plugins)} are"
        similar = next(filter(None, (closest_name(name, PLUGINS, 0.8) for name in plugins)), "")
        hint = f" (did you mean {similar}? The scheduler skips a plugin that it does not have)" if similar else ""
        doubts.append(f"{subject} not replayed, and may reject or place otherwise{hint}")
    unseen = "a current scheduler does not see such objects (a newer operator creates those of scheduling.volcano.sh)"
    old = (f"{one.object} {one.what}: {unseen}" for one in recording.own_problems)
    doubts += [text for text in old if UNREAD_API in text][:1]
    damaged = [one for one in recording.own_problems if one.effect in (REST_IGNORED, OBJECTS_MISSING)]
    doubts += [f"{one.file} {one.what}: objects may be missing" for one in damaged[:1]]
    doubts += [f"{one.file} {one.what}; {one.effect}" for one in recording.own_problems if one.what == META_NOT_READ]
    return "; ".join(filter(None, doubts))


class ClusterExcess(NamedTuple):
    """A dimension in which minResources exceed the whole cluster."""

    name: str
    asked: str
    total: str


def cluster_excess(view: JobView) -> ClusterExcess | None:
    """The first dimension in which the job's minResources exceed the whole cluster; None if they do in none."""
    minimum, total = view.job.pod_group.min_resources, view.session.total_resource
    for name, minimum_amount in minimum.items() if minimum is not None else ():
        if name != PODS and 0 < total.get(name) < minimum_amount:
            asked, total_text = format_amounts_apart(name, minimum_amount, total.get(name))
            return ClusterExcess(name, f"{asked} {name}", total_text)
    return None
