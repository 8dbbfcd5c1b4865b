"""Why a finished answer may not hold: what the snapshot lacks, what an older release decides otherwise, what the
cluster itself says against it, and settings that nothing reads.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Final, NamedTuple

from msgspec.structs import replace

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import count_noun, format_age, format_amounts_apart, join_names, shorten_end, verb_for
from vcdebug.explain.answer import (
    MAX_LINE_LENGTH,
    Advice,
    AdviceHarm,
    CauseHeadline,
    Explanation,
    Finding,
    cluster_admin_advice,
    outside_advice,
)
from vcdebug.explain.job_view import ExplainSubject, JobView, view_of
from vcdebug.explain.pending.gates.admission import ADMITTED_CAUSE
from vcdebug.explain.pending.gates.not_in_session import MAX_QUOTED, PLACES_CAUSE
from vcdebug.explain.pending.gates.queue_limits import PREEMPTIVE
from vcdebug.explain.pending.gates.validity import NOT_ENOUGH
from vcdebug.explain.pending.placement_constraints import unbound_claims
from vcdebug.explain.pending.scheduler_fault import last_heartbeat
from vcdebug.framework.registry import resolve_reference
from vcdebug.grouping import group_by_key
from vcdebug.kube.node_affinity import parse_node_constraints
from vcdebug.model.devices import DeviceLedger
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName
from vcdebug.model.pod_group import INQUEUE, PENDING
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import ENDED_STATUSES, TaskStatus
from vcdebug.plugins import ANNOTATIONS, CAPACITY, NODEGROUP, PREDICATES, TASK_TOPOLOGY
from vcdebug.plugins.predicates.static_filters import AFFINITY, CORDONED, TAINTED, StaticFilters
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.releases.devices import VGPU_SCALARS_IGNORED
from vcdebug.releases.nodes import NODEGROUP_ENDS_PREDICATES
from vcdebug.releases.release import Release
from vcdebug.snapshot.kinds import ResourceKind
from vcdebug.snapshot.manifest import annotations_of, name_of, object_in, object_list, spec_of, status_of
from vcdebug.snapshot.object_checks import join_kinds, needed_kinds, supplying_command, was_read
from vcdebug.snapshot.problems import OBJECTS_MISSING, REST_IGNORED
from vcdebug.snapshot.provenance import stated_time
from vcdebug.snapshot.workloads import volcano_job_of


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
    finding = explanation.dominant
    kinds = tuple(kind for kind, _ in _kinds_needed_by(recording, subject))
    change = f"may change: the snapshot has {join_kinds(kinds)}" if kinds else ""
    if is_before_v1_10(recording.snapshot.release) and subject.job in recording.session.jobs:
        view, stated = view_of(recording, subject), recording.snapshot.release.stated_name
        if finding.cause in WITHOUT_QUOTA and (excess := _excess_not_asked(view)):
            headline = CauseHeadline(finding.headline.subject, f"may not be admitted by {stated}", excess[0])
            nearest = f"{recording.snapshot.release.name}, the nearest release that is replayed"
            fact = f"{nearest}, compares only what the job asks. By its rules: {finding.headline}"
            holding = f"Held or reserved by {join_names(excess[1])}."
            older = replace(finding, headline=headline, facts=(holding, fact, *finding.facts))
            advice = (
                outside_advice(f"Upgrade Volcano {stated} to v1.10.0 or later.", AdviceHarm.CLUSTER),
                outside_advice(f"Wait for or delete {join_names(excess[1])}.", AdviceHarm.QUEUE),
            )
            return replace(explanation, dominant=older, advised=(*advice, *explanation.advised))
        change = change or next((f"{stated} {text}" for text in _iter_older_rules(view, finding)), "")
    headline = finding.headline._replace(state=f"{finding.headline.state} ({change})")
    # Where the first line would be too long, the doubt below it says so.
    fits = change and len(str(headline)) <= MAX_LINE_LENGTH
    return replace(explanation, dominant=replace(finding, headline=headline)) if fits else explanation


WITHOUT_QUOTA: Final = (PLACES_CAUSE, ADMITTED_CAUSE, NOT_ENOUGH)
"""Causes of jobs that the replayed release admits."""
_BEFORE_1_10: Final = re.compile(r"v?1\.[0-9](\.\d+)?([-+].*)?")


def is_before_v1_10(release: Release) -> bool:
    """Whether the stated release is older than all that are replayed; docs/releases.md lists what it does otherwise."""
    return _BEFORE_1_10.fullmatch(release.stated_name) is not None


def _iter_older_rules(view: JobView, finding: Finding) -> Iterator[str]:
    """Yields what releases before v1.10 decide otherwise about this job, as words after the release's name."""
    pending = view.pending_at_open
    if any(task.sch_gated for task in pending):
        yield "does not read scheduling gates"
    placed = [task for task in pending if task not in view.unplaced_tasks]
    if placed and len(placed) < len(pending):
        yield "ends a job at its first pod that fits no node"
    if finding.cause == PREEMPTIVE and CAPACITY in view.recording.conf.plugin_names():
        yield "lets a queue reclaim while it uses less than it deserves of any resource"


def _held_or_reserved(job: JobInfo, resource: str, *, is_inqueue: bool) -> float:
    """What a job's pods hold of a resource, or what its minimum reserves where it is Inqueue."""
    minimum = job.pod_group.min_resources if is_inqueue else None
    return max(job.allocated.get(resource), minimum.get(resource) if minimum is not None else 0.0)


def _excess_not_asked(view: JobView) -> tuple[str, list[JobId]] | None:
    """(reason, holders) for a resource that the job does not ask and its queue uses above its capability."""
    queue, phases = view.session.queues.get(view.job.queue), view.recording.timeline.opening_phases
    if queue is None or not queue.capability or phases.get(view.job.uid) not in ("", PENDING):
        return None
    others = [job for job in view.session.jobs.values() if job.queue == queue.name and job.uid != view.job.uid]
    for name, limit in Resource.from_list(queue.capability).items():
        amounts = [_held_or_reserved(job, name, is_inqueue=phases.get(job.uid) == INQUEUE) for job in others]
        held, own = fsum(amounts), view.job.pod_group.min_resources
        if held > limit and not (own is not None and own.get(name)):
            held_text, limit_text = format_amounts_apart(name, held, limit)
            where = f"capability {limit_text} of queue {queue.name}"
            holders = [job.uid for job, one in zip(others, amounts, strict=True) if one]
            return f"it compares all resources, and {held_text} {name} exceed the {where}", holders
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
    return needed_kinds(recording.snapshot, {"PodGroup": [view.job.pod_group.manifest], "Pod": pods})


@per_recording()
def _kinds_needed_by_groups(recording: Recording) -> list[tuple[ResourceKind, str]]:
    """Kinds that the snapshot has none of, though some PodGroup names one."""
    groups = [job.pod_group.manifest for job in recording.session.jobs.values()]
    return needed_kinds(recording.snapshot, {"PodGroup": groups})


def _doubt_of_kinds(needed: Sequence[tuple[ResourceKind, str]]) -> str:
    """What objects name although the snapshot has no such objects, with the command that adds them."""
    if not needed:
        return ""
    named, kinds = join_names(words for _, words in needed), tuple(kind for kind, _ in needed)
    return f"{named}, but the snapshot has {join_kinds(kinds)}: add the output of `{supplying_command(kinds)}`"


def _doubt_of_process(recording: Recording, subject: ExplainSubject) -> str:
    """The assumption about the scheduler process, if device ledgers of earlier cycles decide about the job."""
    if not recording.snapshot.process.assumed or subject.job not in recording.session.jobs:
        return ""
    ledgers = _ledgers_by_device(recording).values()
    tasks = view_of(recording, subject).pending_at_open if ledgers else ()
    if not any(ledger.has_device_request(task.pod) for task in tasks for ledger in ledgers):
        return ""
    return "nothing says when the scheduler started, and a running process is assumed (meta.json: scheduler.started)"


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
        actions = ", ".join(recording.conf.actions)
        doubts.append(f"the snapshot has no scheduler configuration; the built-in one is assumed (actions {actions})")
    doubts.append(_doubt_of_kinds(_kinds_needed_by_groups(recording)))
    if recording.session.jobs and not recording.snapshot.objects_of("Pod") and not was_read(recording.snapshot, "Pod"):
        doubts.append("the snapshot has no Pod: add the output of `kubectl get pods -A -o json`")
    damaged = [one for one in recording.own_problems if one.effect in (REST_IGNORED, OBJECTS_MISSING)]
    doubts += [f"{one.file} {one.what}: objects may be missing" for one in damaged[:1]]
    return "; ".join(filter(None, doubts))


# What the cluster itself says against a placement, and what nobody reads or checks


def add_contradictions(recording: Recording, subject: ExplainSubject, explanation: Explanation) -> Explanation:
    """The explanation with what the running scheduler said instead, and with settings of the job that nothing reads."""
    if subject.job not in recording.session.jobs:
        return explanation
    view, finding = view_of(recording, subject), explanation.dominant
    is_placed = finding.cause == PLACES_CAUSE
    refusal = _refusal(view) if is_placed else None
    unseen = _unseen_node(view) if not explanation.scheduled else None
    facts = finding.facts
    if subject.detailed:
        unchecked = _unchecked_node_facts(view) if is_placed else ()
        facts = (*unchecked, *facts, *_stale_states(view), *_unread_settings(view))
    if unseen is not None:
        fact, seeing = unseen
        facts, advised = (*facts[:1], fact, *facts[1:]), (seeing, *explanation.advised)
        return replace(explanation, dominant=replace(finding, facts=facts), advised=advised)
    if refusal is None:
        return replace(explanation, dominant=replace(finding, facts=facts)) if facts != finding.facts else explanation
    said = f'The running scheduler\'s last words about {refusal.pod}: "{refusal.message}".'
    either = "Either room has become free just now, or it knows something that this snapshot does not have."
    headline = finding.headline._replace(state=f"{finding.headline.state}, but has been refused for {refusal.age}")
    headline = headline if len(str(headline)) <= MAX_LINE_LENGTH else finding.headline
    restart = "restart the scheduler, so that it reads devices, NUMA nodes and volumes again"
    words = f"If it stays Pending, compare its log (vcdebug check LOG SNAPSHOT), or {restart}."
    advice = outside_advice(words, AdviceHarm.CLUSTER)
    if refusal.unbound is not None:
        cause, advice = refusal.unbound
        either = f"It is placed each time, and then its volume is awaited in vain: {cause}."
    advised = (*explanation.advised, advice)
    dominant = replace(finding, headline=headline, facts=(said, either, *facts))
    return replace(explanation, dominant=dominant, advised=advised)


def _unseen_node(view: JobView) -> tuple[str, Advice] | None:
    """(fact, advice) if a node that --node-selector leaves out has room for the Pending pod; else None."""
    selector, task = view.recording.snapshot.flags.node_selector, view.blocked_task
    if not selector or task is None:
        return None
    for name, (allocatable, used) in _unseen_nodes(view.recording).items():
        if all(allocatable.get(key) - used.get(key) >= amount for key, amount in task.init_resreq.items()):
            flag, (key, _, value) = f"--node-selector={','.join(selector)}", selector[0].partition(":")
            edit = f"Node/{name}:metadata.labels[{key}]={value}"
            advice = cluster_admin_advice(f"Label {name} {key}={value}, or change the scheduler's {flag}.", edit)
            return f"{name} has room for {task.name}, but this scheduler leaves it out: {flag}.", advice
    return None


@per_recording()
def _unseen_nodes(recording: Recording) -> Mapping[str, tuple[Resource, Resource]]:
    """Node outside the session → (allocatable, what its pods request)."""
    up = (task for task in recording.timeline.tasks.values() if task.status not in ENDED_STATUSES)
    tasks = group_by_key((task.node_name, task) for task in up)
    unseen = {name_of(node): node for node in recording.snapshot.objects_of("Node")}
    return {
        name: (
            Resource.from_list(status_of(node).get("allocatable")),
            sum_resources(task.resreq for task in tasks.get(NodeName(name), ())),
        )
        for name, node in unseen.items()
        if name not in recording.session.nodes
    }


def _stale_states(view: JobView) -> Iterator[str]:
    """Yields sentences about phases of the PodGroup and the Volcano Job that contradict the job's pods."""
    opening = view.recording.timeline.opening_tasks
    statuses = [opening[task.key].status for task in view.tasks.values()]
    running, succeeded = statuses.count(TaskStatus.RUNNING), statuses.count(TaskStatus.SUCCEEDED)
    before, after = view.recording.timeline.opening_phases[view.job.uid], view.job.pod_group.phase
    if before in (PENDING, INQUEUE) and running and running == len(statuses) >= view.job.min_available:
        change = f"this cycle makes it {after}" if after != before else "this cycle does not change that"
        yield f"Its PodGroup is still {before}, as an earlier cycle wrote it: {change}, and nothing of it waits."
    job = volcano_job_of(view.recording.snapshot, view.job.pod_group.manifest)
    phase = "" if job is None else object_in(status_of(job).get("state")).get("phase")
    name = view.job.uid if job is None else name_of(job)
    if phase == "Running" and statuses and not running + succeeded and statuses.count(TaskStatus.PENDING):
        yield f"State Running of Job {name} is older than its pods: its controller keeps it while pods are made again."
    if phase == PENDING and running + succeeded >= max(view.job.min_available, 1):
        done = f"{count_noun(running, 'pod')} {verb_for(running, 'runs')}, {succeeded} succeeded"
        yield f"State Pending of Job {name} is its controller's alone and holds nothing up: {done}."


class _Refusal(NamedTuple):
    """What the running scheduler has written about a pod that this cycle places."""

    pod: str
    age: str
    message: str
    unbound: tuple[str, Advice] | None
    """Which claim has no volume, and what helps, where the message is about volumes."""


_REFUSED_SECONDS: Final = 300
"""Seconds that a pod has been refused, from which on it is not likely that its room has become free just now."""


def _refusal(view: JobView) -> _Refusal | None:
    """The last refusal of a pod that this cycle places and the running scheduler has long refused; else None."""
    seen = last_heartbeat(view.recording)
    for task in view.placed_tasks if seen is not None else ():
        for condition in object_list(status_of(task.pod.manifest).get("conditions")):
            message = str(condition.get("message") or "")
            is_refused = (condition.get("type"), condition.get("status")) == ("PodScheduled", "False")
            refused_at = stated_time(condition.get("lastTransitionTime")) if is_refused and message else None
            age = (seen - refused_at).total_seconds() if seen is not None and refused_at is not None else 0.0
            if age >= _REFUSED_SECONDS:
                quoted = shorten_end(message, MAX_QUOTED) if len(message) > MAX_QUOTED else message.rstrip(".")
                claims = unbound_claims(view.recording.snapshot, task.pod) if "volume" in message else iter(())
                return _Refusal(task.name, format_age(age), quoted, next(claims, None))
    return None


def _unchecked_node_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence about a pod whose node does not fit its selector or taints, since nothing checked them."""
    plugins, release = view.recording.conf.plugin_names(), view.recording.snapshot.release
    ended = NODEGROUP in plugins and release.has_older_form(NODEGROUP_ENDS_PREDICATES)
    if PREDICATES in plugins and not (ended and plugins.index(NODEGROUP) < plugins.index(PREDICATES)):
        return
    filters = StaticFilters(view.session.view, affinity_on=True, taints_on=True, affinity_first=True)
    for task in view.placed_tasks:
        row = view.session.node_table.row_of.get(task.node_name)
        verdict = 0 if row is None else filters.verdict_index(parse_node_constraints(task.pod.spec))[row]
        if verdict:
            why = f"plugin {PREDICATES} is not configured"
            if PREDICATES in plugins:
                fixed = join_names(NODEGROUP_ENDS_PREDICATES.fixed_in)
                why = f"in {release.display_name()} {NODEGROUP} ends the check before {PREDICATES} (fixed in {fixed})"
                why += f"; list {NODEGROUP} behind {PREDICATES}"
            yield f"{task.node_name} {_UNFIT[verdict].format(task.name)}, and nothing has checked that: {why}."
            return


_UNFIT: Final = {
    CORDONED: "is cordoned",
    AFFINITY: "does not match the nodeSelector or node affinity of {}",
    TAINTED: "has a taint that {} does not tolerate",
}
"""Verdict of the static filters → words after the node's name."""


_PREFERENCE: Final = "; it only adds to a node's score, while podAffinity and podAntiAffinity are rules"


def _unread_settings(view: JobView) -> Iterator[str]:
    """Yields a sentence for each setting of the job that no configured plugin or action reads."""
    configured, group = view.recording.conf.plugin_names(), view.job.pod_group
    pods = [task.pod.manifest for task in view.tasks.values()][:1]
    stated = {key for manifest in (group.manifest, *pods) for key in annotations_of(manifest)}
    for plugin, annotations in ANNOTATIONS.items():
        keys = [key for key in annotations if key in stated]
        if keys and plugin not in configured:
            effect = _PREFERENCE if plugin == TASK_TOPOLOGY else ""
            yield f"Nothing reads {join_names(keys)}: plugin {plugin} is not configured{effect}."
    yield from _uncounted_limits(view)
    yield from _group_facts(view)
    if ENQUEUE not in view.actions and (excess := cluster_excess(view)):
        asked = f"minResources of {excess.asked} exceed the whole cluster ({excess.total})"
        yield f"{asked}, and nothing compares them: {ENQUEUE} is not among the actions."


def _uncounted_limits(view: JobView) -> Iterator[str]:
    """Yields a sentence about limits of the queue on what the job asks and this scheduler leaves out of all amounts."""
    stated = object_in(spec_of(view.queue.manifest).get("capability"))
    uncounted = [name for name in stated if name not in (view.queue.capability or {})]
    containers = (one for task in view.tasks.values() for one in object_list(task.pod.spec.get("containers")))
    asked = {name for one in containers for name in object_in(object_in(one.get("resources")).get("limits"))}
    if names := [name for name in uncounted if name in asked]:
        counted = [name for name in stated if name not in uncounted]
        rest = f"; it counts {join_names(counted)}" if counted else ""
        what, fixed = "it" if len(names) == 1 else "them", join_names(VGPU_SCALARS_IGNORED.fixed_in)
        out = f"the scheduler leaves {what} out{rest} (from {fixed} on it counts {what})"
        yield f"Nothing limits {join_names(names)} in queue {view.queue.name}: {out}."


LABEL: Final = "vcdebug.plugins.nodegroup:GROUP_LABEL"
"""Read only where the plugin is configured."""


def _group_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if plugin nodegroup has spread a gang over several groups of nodes."""
    if NODEGROUP not in view.recording.conf.plugin_names() or view.job.min_available < 2:
        return
    nodes, label = [view.session.nodes.get(task.node_name) for task in view.tasks.values()], resolve_reference(LABEL)
    groups = Counter(node.labels[label] for node in nodes if node is not None and label in node.labels)
    if len(groups) > 1:
        places = join_names(f"{name} ({count_noun(number, 'pod')})" for name, number in groups.items())
        keeps = "a HyperNode per group and networkTopology (mode hard) keep a gang in one"
        yield f"Its pods are in node groups {places}: {NODEGROUP} judges each pod alone; {keeps}."


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
