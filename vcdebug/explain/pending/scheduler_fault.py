"""A scheduler whose pod is down, or that has written nothing about a job for minutes, and other parts of Volcano."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import capitalize_first, count_noun, format_age, join_names
from vcdebug.explain import component_reports
from vcdebug.explain.answer import Advice, AdviceHarm, Cause, Explanation, Finding, pending_headline, sort_by_harm
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.explain.pending.gates.not_in_session import opening_evidence
from vcdebug.gotime import parse_time
from vcdebug.model.names import JobId
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import PENDING
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.releases.release_names import release_of_image
from vcdebug.snapshot.manifest import (
    JsonObject,
    key_of,
    labels_of,
    metadata_of,
    name_of,
    object_in,
    object_list,
    spec_of,
    status_of,
)
from vcdebug.snapshot.reported_events import latest_heartbeat
from vcdebug.snapshot.settings import is_scheduler_pod

_IDLE_SECONDS: Final = 300
"""Seconds after which a running scheduler, which has a cycle each second, has written something about a new job."""
_OLDEST_KUBERNETES: Final = {6: 17, 7: 19, 8: 19, 9: 21, 10: 21, 11: 21, 12: 21, 13: 23, 14: 23, 15: 24}
"""Volcano 1.N → the oldest Kubernetes 1.M that it supports, by the tables of its README."""
_VERSION: Final = re.compile(r"v?1\.([0-9]{1,4})(?![0-9])")


class _Fault(Struct, frozen=True):
    """Why the scheduler does not run: the words of the first line, facts, advice."""

    reason: str
    facts: tuple[str, ...]
    advice: Advice


def with_scheduler_fault(recording: Recording, subject: ExplainSubject, explanation: Explanation) -> Explanation:
    """The explanation, or one that says that the scheduler does not run, where the subject has Pending pods."""
    pods, dominant, fault = _scheduler_pods(recording), explanation.dominant, None
    if not pods:
        fault = _absence(recording)
    is_open = _is_open(recording, subject, explanation) if pods or fault else False
    if pods and is_open:
        fault = _pod_fault(recording) or _silence(recording, subject, explanation)
    if fault is None or not is_open:
        return _with_webhook_fact(recording, explanation)
    facts, unknown = list(fault.facts), dominant.cause == Cause.CAPTURE_INCOMPLETE
    if not unknown:
        facts.append(f"A running scheduler: {dominant.sentence}")
    elif not recording.snapshot.objects_of("Queue"):
        creates = f"Queue {recording.snapshot.flags.default_queue}, which the scheduler creates when it starts"
        facts.append(f"{creates}, does not exist in this snapshot either.")
    evidence = opening_evidence(recording, "the session of a running scheduler opens with this state")
    headline = pending_headline(dominant.headline.subject, fault.reason)
    finding = Finding(Cause.SCHEDULER_DOWN, headline, {}, evidence, (fault.advice,), facts=tuple(facts))
    others = () if explanation.scheduled or unknown else (dominant,)
    advised = sort_by_harm((fault.advice, *explanation.advised)) if others else (fault.advice,)
    contributing = (*others, *explanation.contributing)
    return replace(explanation, scheduled=False, dominant=finding, contributing=contributing, advised=advised)


def _is_open(recording: Recording, subject: ExplainSubject, explanation: Explanation) -> bool:
    """Whether pods of the subject are without a node, or not made, when the cycle begins."""
    info = recording.session.jobs.get(subject.job)
    if info is None:
        return not explanation.scheduled
    opening = recording.timeline.opening_tasks
    states = [opening[task.key] for task in info.tasks.values() if subject.pod in (None, task.key)]
    return not states or any(not state.node for state in states)


@per_recording()
def _scheduler_pods(recording: Recording) -> list[Pod]:
    # Names are compared first: a look at all containers of a large cluster takes as long as an answer.
    named = (one for one in recording.snapshot.objects_of("Pod") if "scheduler" in name_of(one))
    return [Pod(manifest) for manifest in named if is_scheduler_pod(manifest)]


def _pod_fault(recording: Recording) -> _Fault | None:
    """The fault that the scheduler's pods show; None if one of them runs."""
    states = [(pod, component_reports.down_words(pod)) for pod in _scheduler_pods(recording)]
    if not all(words for _, words in states):
        return None
    pod, words = states[-1]
    facts, waiting = list[str](), component_reports.waiting_container(pod)
    if waiting is not None and (ended := component_reports.end_words(waiting)):
        facts.append(f"Its container last {ended}.")
    facts += [*_neighbour_facts(recording, pod), *_version_facts(recording)]
    return _Fault(
        f"the scheduler does not run: pod {pod.name} {words}", tuple(facts), component_reports.crash_advice(pod)
    )


_SCHEDULER_SETS: Final = ("volcano-scheduler-", "volcano-controllers-", "volcano-admission-")
"""Beginnings of the names of ReplicaSets of Volcano's scheduler, controllers and webhook."""


def _absence(recording: Recording) -> _Fault | None:
    """The fault if the ReplicaSets of the scheduler have no pod; None if there are none, or one has pods."""
    words = _words_of_sets(recording, _SCHEDULER_SETS[0])
    if not words:
        return None
    (name, empty), others = words, [_words_of_sets(recording, prefix) for prefix in _SCHEDULER_SETS[1:]]
    subject = ExplainSubject(JobId(name))
    known, facts = (
        component_reports.known_report(recording, subject),
        [f"{capitalize_first(one[1])}." for one in others if one],
    )
    namespace, _, short = name.partition("/")
    advice = Advice.from_outside(f"See why: kubectl -n {namespace} describe replicaset {short}", AdviceHarm.CLUSTER)
    if known:
        facts += [f"{capitalize_first(known.fact)}.", *component_reports.event_facts(recording, subject)[:1]]
        advice = known.advice
    return _Fault(f"the scheduler does not run: {empty}", tuple(facts), advice.as_repair())


@per_recording()
def _words_of_sets(recording: Recording, prefix: str) -> tuple[str, str] | None:
    """(ReplicaSet, words) if no ReplicaSet of a component has a pod; None if there are none, or one has pods."""
    sets = [one for one in recording.snapshot.objects_of("ReplicaSet") if name_of(one).startswith(prefix)]
    if not sets or any(status_of(one).get("replicas") for one in sets):
        return None
    wanting = [one for one in sets if spec_of(one).get("replicas")]
    if not wanting:
        return key_of(sets[0]), f"{prefix.rstrip('-')} is scaled to 0 replicas"
    wanted = count_noun(spec_of(wanting[0])["replicas"], "pod")
    return key_of(wanting[0]), f"ReplicaSet {name_of(wanting[0])} has 0 of {wanted}"


def _with_webhook_fact(recording: Recording, explanation: Explanation) -> Explanation:
    """The explanation with why Volcano's webhook does not answer, where it does not: no pod, or another release."""
    if component_reports.SILENT_WEBHOOK not in explanation.dominant.headline.reason:
        return explanation
    facts, words = list[str](), _words_of_sets(recording, _SCHEDULER_SETS[2])
    parts = [Pod(one) for one in recording.snapshot.objects_of("Pod") if labels_of(one).get("app") in _COMPONENTS]
    releases = {str(pod.labels["app"]): _release_of_pod(pod) for pod in parts}
    own = next((_release_of_pod(pod) for pod in _scheduler_pods(recording)), "")
    others = [f"{app} {release}" for app, release in releases.items() if release and release != own]
    if words:
        facts = [f"Volcano's webhook has no pod: {words[1]}."]
    elif own and others:
        # As an upgrade can leave it.
        upgrade = "upgrade all parts of Volcano together"
        facts = [f"The scheduler runs {own}, and {join_names(others)}: {upgrade}."]
    return replace(explanation, dominant=explanation.dominant.with_additions(*facts, in_front=True))


def _release_of_pod(pod: Pod) -> str:
    containers = object_list(spec_of(pod.manifest).get("containers"))
    return next(filter(None, (release_of_image(str(one.get("image") or "")) for one in containers)), "")


_COMPONENTS: Final = ("volcano-admission", "volcano-controller", "volcano-controllers")
"""Labels `app` of Volcano's webhook and controller."""


def _neighbour_facts(recording: Recording, scheduler: Pod) -> Iterator[str]:
    """Yields a sentence about each other pod of Volcano in the scheduler's namespace that does not run."""
    for manifest in recording.snapshot.objects_of("Pod"):
        if labels_of(manifest).get("app") in _COMPONENTS:
            pod = Pod(manifest)
            if pod.namespace == scheduler.namespace and (words := component_reports.down_words(pod)):
                yield f"Pod {pod.name} {words}."


def _silence(recording: Recording, subject: ExplainSubject, explanation: Explanation) -> _Fault | None:
    """The fault that a running scheduler has not handled for minutes what a cycle would place; else None."""
    group = recording.snapshot.find_object("PodGroup", subject.job)
    would_act = explanation.cause_code in (Cause.PLACES, Cause.ADMITTED)
    heartbeat, pod = last_heartbeat(recording), _scheduler_pods(recording)[0]
    if group is None or not would_act or heartbeat is None or _is_written(recording, subject, group):
        return None
    created = [parse_time(metadata_of(one).get("creationTimestamp")) for one in (group, pod.manifest)]
    times = [time.timestamp() for time in created if time is not None]
    waited = heartbeat.timestamp() - max(times) if len(times) == len(created) else 0.0
    if waited < _IDLE_SECONDS:
        return None
    age = format_age(waited)
    log = f"kubectl -n {pod.namespace} logs {pod.name} --tail=100"
    advice = Advice.from_outside(f"See what the scheduler waits for: {log}", AdviceHarm.CLUSTER).as_repair()
    trace = f"Its PodGroup is {age} old and has no condition or event of the scheduler; pod {pod.name} runs."
    reason = f"the scheduler has not handled it for {age}, although a cycle would do so"
    return _Fault(reason, (*_version_facts(recording), trace), advice)


def _is_written(recording: Recording, subject: ExplainSubject, group: JsonObject) -> bool:
    """Whether the scheduler has written anything about the job: a phase, a condition or an event."""
    info = recording.session.jobs.get(subject.job)
    pods = [] if info is None else [task.pod.manifest for task in info.tasks.values()]
    has_conditions = any(status_of(one).get("conditions") for one in (group, *pods))
    has_phase = (status_of(group).get("phase") or PENDING) != PENDING
    return has_conditions or has_phase or bool(component_reports.scheduler_events(recording, subject))


@per_recording()
def last_heartbeat(recording: Recording) -> datetime | None:
    """The latest heartbeat of a node: a lower limit for the time at which the objects were read."""
    # The snapshot's clock is no such limit: manifests without meta.json have a fixed one.
    return latest_heartbeat(recording.snapshot.objects_of("Node"))


def _version_facts(recording: Recording) -> Iterator[str]:
    """Yields a sentence if Kubernetes is older than what the scheduler's release supports."""
    release = _release_of_pod(_scheduler_pods(recording)[0])
    kubelets = [
        str(object_in(status_of(node).get("nodeInfo")).get("kubeletVersion") or "")
        for node in recording.snapshot.objects_of("Node")
    ]
    minors = [minor for version in kubelets if (minor := _minor(version)) is not None]
    oldest = _OLDEST_KUBERNETES.get(_minor(release) or 0)
    if oldest is not None and minors and max(minors) < oldest:
        version = next(version for version in kubelets if _minor(version) == max(minors))
        supports = f"Volcano {release} supports Kubernetes 1.{oldest} and later, and the nodes run {version}"
        yield f"{supports}: its scheduler may wait for APIs that this server lacks, and then begins no cycle."
        newest = max((volcano for volcano, least in _OLDEST_KUBERNETES.items() if least <= max(minors)), default=None)
        if newest is not None:
            yield f"Upgrade Kubernetes, or use Volcano 1.{newest}, the newest that supports {version}."


def _minor(version: str) -> int | None:
    """The second number of a version such as v1.19.9; None for another text."""
    found = _VERSION.match(version)
    return None if found is None else int(found[1])
