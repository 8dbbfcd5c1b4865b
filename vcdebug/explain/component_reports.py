"""What other components report about a job: controllers, webhooks and kubelets, in events and pod statuses."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from vcdebug.amount_text import capitalize_first, count_noun, format_age, join_names, verb_for
from vcdebug.explain.answer import Advice, AdviceHarm, AdvisedFact, CauseHeadline, first_that_fits
from vcdebug.explain.job_view import OPERATORS, ExplainSubject, Operator
from vcdebug.explain.pending.placement_constraints import kubelet_count_facts, unbound_claims
from vcdebug.grouping import group_by_key
from vcdebug.model.pod import Pod, PodIdentity
from vcdebug.model.task import TaskInfo
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    JsonObject,
    find_condition,
    key_of,
    metadata_of,
    name_of,
    object_in,
    object_list,
    owner_keys,
    owner_names,
    owners_of,
    spec_of,
    status_of,
)
from vcdebug.snapshot.reported_events import event_reporter, event_time, latest_events
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.snapshot.workloads import policies_of, volcano_job_of

MAX_FACTS: Final = 2
MAX_MESSAGE: Final = 160
MAX_SEARCHED: Final = 4096
"""Characters of a message that are compared with the patterns; an API server keeps 1,024 of an event's."""


class KnownReport(NamedTuple):
    """A message of another component, its cause in a few words, and what helps; groups of the pattern are filled in."""

    pattern: str
    cause: str
    advice: str


SILENT_WEBHOOK: Final = "does not answer"
"""What an answer says of a webhook that cannot be called; scheduler_fault adds why."""
_REPORT_LINES: Final = (
    r"""
failed to get PodGroup for pod .*"(?P<name>[^"]+)" not found
Volcano's webhook rejects its pods, since PodGroup {name} does not exist
{remake}
pvc (?P<name>\S+) is not found
PersistentVolumeClaim {name} does not exist
Create PersistentVolumeClaim {name} in namespace {namespace}, or correct spec.volumes of the job.
error processing PVC [^/\s]+/(?P<name>[^:\s]+): PVC is not bound
PersistentVolumeClaim {name} has no volume yet
Find out why the provisioner of its StorageClass makes none: kubectl -n {namespace} describe pvc {name}
(?P<kind>\w+) "(?P<name>[^"]+)" is invalid: .*must be no more than (?P<limit>\d+) characters
its name is too long for its {kind} (at most {limit} characters)
Submit it again under a name of at most {limit} characters.
exceeded quota: (?P<name>[^,\s]+), requested: (?P<asked>[^,\s]+).*, limited: (?P<limit>[^,\s]+)
ResourceQuota {name} has no room for its pods (requested {asked}, limited {limit})
Raise ResourceQuota {name} of namespace {namespace}, or end pods that use it.
(?P<bound>maximum|minimum) (?P<resource>\S+) (?:usage|limit) per (?P<per>\w+) is (?P<limit>[^,\s]+), but
  (?:request|limit|usage) is (?P<asked>\d[\w.]*\w|\d)
a LimitRange sets the {bound} {resource} per {per} to {limit}, and it asks for {asked}
Correct {resource} of the pod template ({bound} {limit}), or the LimitRange of namespace {namespace}.
no PriorityClass with name (?P<name>\S+) was found
PriorityClass {name} does not exist
Create PriorityClass {name}, or correct priorityClassName.
service ?account "?(?P<name>[^"\s]+)"? (?:was )?not found
ServiceAccount {name} does not exist
Create ServiceAccount {name} in namespace {namespace}, or correct serviceAccountName.
violates PodSecurity "(?P<level>[^"]+)": (?P<why>.*)
PodSecurity {level} of namespace {namespace} rejects its pods
Correct the pod template ({why}), or the PodSecurity label of namespace {namespace}.
failed calling webhook "(?P<name>[^"]+)"
webhook {name} {silent}
Check the webhook's pods, Service and certificate: kubectl -n volcano-system get pods,endpoints,secrets
admission webhook "(?P<name>[^"]+)" denied the request: (?P<why>.*)
webhook {name} rejects it
Correct what webhook {name} names: {why}
because it is being terminated
its namespace {namespace} is being deleted
Use another namespace, or wait until {namespace} is deleted and create it again.
cannot set blockOwnerDeletion
a controller may not set finalizers of the owner (OwnerReferencesPermissionEnforcement)
Grant the controller that reports it update on the owner's finalizers, such as statefulsets/finalizers.
cannot (?P<verb>\w+) resource "(?P<name>[^"]+)" in API group "(?P<group>[^"]*)"
its controller may not {verb} {name}
Grant the controller's ServiceAccount the verb {verb} on {name} of API group {group} (RBAC).
(?P<kind>configmap|secret) "(?P<name>[^"]+-(?:svc|ssh))" not found
{kind} {name} does not exist
Create the job again: plugins svc and ssh of a Volcano Job create {kind} {name} in namespace {namespace} when it
  starts.
(?P<kind>configmap|secret) "(?P<name>[^"]+)" not found
{kind} {name} does not exist
Create {kind} {name} in namespace {namespace}, or correct the pod template.
(?:pull|pulling) image "(?P<name>[^"]+)"
image {name} cannot be pulled
Correct image {name}, or give the pods an imagePullSecret of its registry.
pod (?P<pod>\S+) \(\S+\) is not allowed to use ResourceClaim (?P<claim>\S+)
ResourceClaim {claim} is not reserved for it
Delete {pod}: the scheduler reserves its claims as it binds it (not with a nodeName in the template), if its
  ClusterRole lets it update resourceclaims/status.
Multi-Attach error for volume "(?P<name>[^"]+)"
volume {name} is still attached to another node
End the pod that uses volume {name} on the other node: kubectl get volumeattachments
[Ff]ailed to create pod sandbox|failed to setup network
the node cannot set up the pod's sandbox and network
Check the network plugin (CNI) and the container runtime of the node: {describe}
(?:AttachVolume|MountVolume)\.\w+ failed for volume "(?P<name>[^"]+)"
volume {name} cannot be attached or mounted
Check the CSI driver of volume {name} on the node: {describe}
""".strip()
    .replace("\n  ", " ")
    .splitlines()
)
KNOWN_REPORTS: Final = tuple(KnownReport(*lines) for lines in zip(*[iter(_REPORT_LINES)] * 3, strict=True))
"""Known messages, the most specific first: for each its pattern, cause and advice."""


def reports_about(recording: Recording, subject: ExplainSubject) -> list[tuple[Manifest, AdvisedFact | None]]:
    """The latest event of other components for each reason, about a job, its pods and owners; known ones first.

    None for a message that is not in KNOWN_REPORTS.
    """
    # The scheduler's own events are left out: the replay explains its decisions itself.
    reports = [
        (one, _known_cause(recording, str(one.get("message") or ""), object_in(one.get("involvedObject"))))
        for one in _events_about(recording, subject, of_scheduler=False)
    ]
    by_reason: dict[object, tuple[Manifest, AdvisedFact | None]] = {}
    for event, known in sorted(reports, key=lambda report: report[1] is None):
        by_reason.setdefault(event.get("reason"), (event, known))
    return list(by_reason.values())


def _events_about(recording: Recording, subject: ExplainSubject, *, of_scheduler: bool) -> list[Manifest]:
    """The events about a job or pod that the scheduler, or other components, wrote, the latest first."""
    if not recording.snapshot.objects_of("Event"):
        return []
    names, events = recording.snapshot.flags.scheduler_names, _events_by_subject(recording)
    reporters, about = (*names, ",".join(names)), events.get(subject.pod or subject.job, ())
    if of_scheduler:
        return latest_events(event for event in about if event_reporter(event) in reporters)
    return [event for event in latest_events(about) if event_reporter(event) not in reporters]


def scheduler_events(recording: Recording, subject: ExplainSubject) -> list[Manifest]:
    """The events of the scheduler about a job or pod, the latest first."""
    return _events_about(recording, subject, of_scheduler=True)


def known_report(recording: Recording, subject: ExplainSubject) -> AdvisedFact | None:
    """The cause and the advice of the first event about a job that KNOWN_REPORTS has; None if it has none."""
    return next((known for _, known in reports_about(recording, subject) if known is not None), None)


def _known_cause(recording: Recording, message: str, subject: JsonObject) -> AdvisedFact | None:
    """The cause and the advice of a known message about an object; None for an unknown one."""
    text = " ".join(message[:MAX_SEARCHED].replace('\\"', '"').split())
    # Compiled here, where a report is read, since most snapshots have none.
    matches = ((known, found) for known in KNOWN_REPORTS if (found := re.search(known.pattern, text)))
    known, found = next(matches, (None, None))
    if known is None or found is None:
        return None
    namespace, kind, name = (subject.get(key) for key in ("namespace", "kind", "name"))
    manifests = recording.snapshot.objects_of(str(kind))
    owned = next((one for one in manifests if key_of(one) == f"{namespace}/{name}"), {})
    creator = next(iter(owner_names(owned)), f"{kind} {name}")
    words = {"namespace": namespace, "describe": _describe_command(namespace, name), "silent": SILENT_WEBHOOK}
    words |= {key: part[:MAX_MESSAGE].rstrip(".") for key, part in found.groupdict().items()}
    advice = known.advice.replace("{remake}", _remade_group_advice(creator))
    return AdvisedFact(known.cause.format(**words), Advice.from_outside(advice.format(creator=creator, **words)))


def _remade_group_advice(creator: str) -> str:
    """What brings back a PodGroup that the webhook misses, by the owner of the pods."""
    kind = creator.partition(" ")[0]
    if kind == "Job":
        again = "until it and its PodGroup are gone, and create it again"
        return f"Delete {{creator}}, wait {again}: its controller still counts on a PodGroup that has been deleted."
    if kind in ("Deployment", "ReplicaSet", "StatefulSet", "Pod"):
        remove = f"remove annotation {GROUP_ANNOTATION} from the pod template of {{creator}}"
        return f"Create PodGroup {{name}}, or {remove}."
    why = "Find out why {creator} did not create PodGroup {name}; may its controller do so? kubectl auth can-i create"
    return f"{why} podgroups.scheduling.volcano.sh -n {{namespace}} --as=system:serviceaccount:NS:ACCOUNT"


def _describe_command(namespace: object, pod: object) -> str:
    return f"kubectl -n {namespace} describe pod {pod}"


def event_facts(recording: Recording, subject: ExplainSubject) -> tuple[str, ...]:
    """The latest events of other components about the job, its Pending pods and its Volcano Job, in sentences."""
    return tuple(_event_sentence(recording, event) for event, _ in reports_about(recording, subject)[:MAX_FACTS])


@per_recording()
def _events_by_subject(recording: Recording) -> Mapping[str, Sequence[Manifest]]:
    """Name of a pod, a PodGroup, or an object without one → events about it."""
    snapshot = recording.snapshot
    pods = map(PodIdentity.of_manifest, snapshot.objects_of("Pod"))
    subjects = {("Pod", pod.key): dict.fromkeys(filter(None, (pod.key, pod.job))) for pod in pods}
    for group in snapshot.objects_of("PodGroup"):
        for owner in owners_of(group):
            name = f"{metadata_of(group).get('namespace')}/{owner.get('name')}"
            subjects.setdefault((str(owner.get("kind")), name), {})[key_of(group)] = None
    for one in snapshot.objects_of("ReplicaSet"):
        subjects.setdefault(("ReplicaSet", key_of(one)), {}).update(dict.fromkeys((key_of(one), *owner_keys(one))))
    involved = ((object_in(event.get("involvedObject")), event) for event in snapshot.objects_of("Event"))
    keyed = ((str(one.get("kind")), f"{one.get('namespace')}/{one.get('name')}", event) for one, event in involved)
    return group_by_key((key, event) for kind, name, event in keyed for key in subjects.get((kind, name), (name,)))


def _event_sentence(recording: Recording, event: Manifest) -> str:
    time, subject = event_time(event), object_in(event.get("involvedObject"))
    age = f" {format_age((recording.snapshot.now - time).total_seconds())} ago" if time is not None else ""
    count = object_in(event.get("series")).get("count") or event.get("count")
    times = f" (x{count})" if isinstance(count, int) and count > 1 else ""
    message = " ".join(str(event.get("message") or "").split())
    # The end of a nested error names its root cause.
    half = MAX_MESSAGE // 2
    text = message if len(message) <= MAX_MESSAGE else f"{message[:half]}…{message[-half:]}"
    source = event_reporter(event) or "an event"
    about = f"{subject.get('kind')} {subject.get('name')}"
    return f'{source} reported{age} about {about}: {event.get("reason")}{times} "{text}".'


# Pods that a kubelet does not start, or has rejected

KUBELET_EVICTED: Final = "Evicted"
KUBELET_REJECTIONS = ("OutOf", "UnexpectedAdmissionError", "NodeAffinity", "TopologyAffinityError", KUBELET_EVICTED)
"""Beginnings of reasons with which a kubelet rejects, or ends, a pod that was bound to its node."""
_DEVICES_GONE: Final = re.compile(r"devices unavailable for (\S+?)\. Requested: (\d+), Available: (\d+)")
STARTING: Final = ("ContainerCreating", "PodInitializing")
"""Reasons of a container that waits while its pod starts as usual."""


class PodFailure(NamedTuple):
    """Why a pod is Failed, as its status says."""

    pod: str = ""
    reason: str = ""
    facts: tuple[str, ...] = ()
    """Sentences: its message, and the kubelet that rejected it."""
    advice: tuple[Advice, ...] = ()


def failure_of(recording: Recording, pod: Pod) -> PodFailure:
    """Why a pod is Failed, with advice if its kubelet rejected it."""
    status = status_of(pod.manifest)
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")[:MAX_MESSAGE].rstrip(".")
    facts = (f'The status of {pod.name} says: "{message}".',) if message else ()
    if not reason.startswith(KUBELET_REJECTIONS) or not pod.node_name:
        return PodFailure(pod.name, reason, facts)
    own, pods = recording.snapshot.flags.scheduler_names, map(Pod, recording.snapshot.objects_of("Pod"))
    neighbours = [other for other in pods if other.node_name == pod.node_name and other.key != pod.key]
    restart = _restart_advice(recording, pod)
    if gone := _DEVICES_GONE.search(message):
        facts = (*_device_facts(recording, pod, gone[1], neighbours), *facts)
        check = f"Check, or restart, the device plugin of {gone[1]} on {pod.node_name}"
        fewer = f"{check}: the kubelet knows fewer free devices than the scheduler."
        return PodFailure(pod.name, reason, facts, (Advice.from_outside(fewer, AdviceHarm.CLUSTER), *restart))
    # The pods of DaemonSets and static pods are on every node, whatever scheduler they name.
    mobile = [one for one in neighbours if not {"DaemonSet", "Node"} & {o.get("kind") for o in owners_of(one.manifest)}]
    is_evicted = reason == KUBELET_EVICTED
    foreign = [other for other in mobile if other.scheduler_name not in own and not is_evicted]
    schedulers = join_names(dict.fromkeys(other.scheduler_name for other in foreign))
    share = f"{count_noun(len(foreign), 'pod')} of {schedulers} {verb_for(len(foreign), 'shares')} the node"
    also = f"; {share}" if foreign else ""
    did = "evicted it, not the scheduler" if is_evicted else f"rejected it after the scheduler had bound it{also}"
    facts = (*facts, f"The kubelet of {pod.node_name} {did}.", *kubelet_count_facts(recording, pod, message))
    alone = "; let one scheduler alone use a node" if foreign else ""
    advice = restart or (Advice.from_outside(f"Its owner has to create it again{alone}."),)
    return PodFailure(pod.name, reason, facts, advice)


def _restart_advice(recording: Recording, pod: Pod) -> tuple[Advice, ...]:
    """Which policy of its Volcano Job creates the failed pod again; empty for pods of other owners."""
    job = volcano_job_of(recording.snapshot, pod.manifest)
    if job is None:
        return ()
    if any(event in ("PodFailed", "*") for event, _ in policies_of(job)):
        words = f"Job {name_of(job)} has a policy for PodFailed: find out why its controller has not restarted the pod."
        return (Advice.from_outside(words),)
    restart = "add policies: event PodFailed, action RestartTask, and submit it again"
    words = f"Job {name_of(job)} has no policy for PodFailed, so {pod.name} stays Failed: {restart}."
    return (Advice.from_outside(words),)


_ENDING_ACTIONS: Final = {"Terminated": "TerminateJob", "Aborted": "AbortJob", "Completed": "CompleteJob"}
"""Phase of an ended Volcano Job → the action of a policy that leads to it; Failed comes from too many restarts."""


def ending_policies(job: JsonObject, phase: str, *, retried: bool) -> tuple[Sequence[str], Sequence[Advice]]:
    """(facts, advice) about the policies that can have ended a Volcano Job, and how an eviction of a pod ends it."""
    all_policies, action = policies_of(job), _ENDING_ACTIONS.get(phase, "Restart")
    policies, evicted = [one for one in all_policies if one[1].startswith(action)], dict(all_policies).get("PodEvicted")
    if not policies:
        return (), ()
    named = f"Its {'policy' if len(policies) == 1 else 'policies'} {join_names(': '.join(one) for one in policies)}"
    if phase == "Failed" and not retried:
        return (f"{named} did not act: the controller had taken the job for ended before.",), ()
    named += f" can have led to that{'; each eviction counts as a retry' if retried and evicted else ''}."
    if evicted and evicted != policies[0][1] and policies[0][0] in ("PodFailed", "*"):
        fact = f"An evicted pod can be Failed before it is deleted; then that acts, and not PodEvicted: {evicted}."
        advice = f"Set the policy for PodFailed to {evicted}, too, if evictions must not end it."
    elif action == "Restart" and evicted in ("RestartTask", "RestartPartition"):
        fact = f"{evicted} deletes other pods, which count as PodEvicted again before v1.14 (#4815)."
        advice = f"Use action RestartJob or RestartPod for PodEvicted, in place of {evicted}."
    else:
        return (named,), ()
    return (named, fact), (Advice.for_owner(advice),)


def _device_facts(recording: Recording, pod: Pod, resource: str, neighbours: Sequence[Pod]) -> Iterator[str]:
    """Yields a sentence: what the node states and what its pods request, where its kubelet has no device left."""
    node = recording.snapshot.find_object("Node", f"/{pod.node_name}") or {}
    stated = object_in(status_of(node).get("allocatable")).get(resource, "none")
    up = (one for one in neighbours if status_of(one.manifest).get("phase") not in ("Failed", "Succeeded"))
    asked = {one.key: amount for one in up if (amount := _requested(one, resource))}
    holders = join_names(f"{key} ({amount})" for key, amount in asked.items())
    where = f"{pod.node_name} states {stated} {resource} as allocatable"
    yield f"{where}; {f'pods on it request: {holders}' if holders else 'no other pod on it requests any'}."


def _requested(pod: Pod, resource: str) -> str:
    amounts = (
        object_in(object_in(container.get("resources")).get("limits")).get(resource)
        for container in object_list(object_in(pod.manifest.get("spec")).get("containers"))
    )
    return " + ".join(str(amount) for amount in amounts if amount)


class WaitingContainer(NamedTuple):
    """A container of a bound pod that does not run, as its kubelet states it."""

    pod: Pod
    name: str
    reason: str
    message: str


def waiting_container(pod: Pod) -> WaitingContainer | None:
    """The first container, init containers first, that waits for a reason; None if none does."""
    status = status_of(pod.manifest)
    for statuses in ("initContainerStatuses", "containerStatuses"):
        for one in object_list(status.get(statuses)):
            waiting = object_in(object_in(one.get("state")).get("waiting"))
            if waiting.get("reason") and waiting.get("reason") != "PodInitializing":
                message = str(waiting.get("message") or "")
                return WaitingContainer(pod, str(one.get("name")), str(waiting["reason"]), message)
    return None


def container_state(pod: Pod, name: str) -> JsonObject:
    """The status of a container; empty for an unknown one."""
    states = object_list(status_of(pod.manifest).get("containerStatuses"))
    return next((one for one in states if one.get("name") == name), {})


def down_words(pod: Pod) -> str:
    """What keeps a pod of a component from running, after its name; empty if it runs."""
    status = status_of(pod.manifest)
    if (waiting := waiting_container(pod)) is not None:
        restarts = container_state(pod, waiting.name).get("restartCount") or 0
        after = f" ({count_noun(restarts, 'restart')})" if restarts else ""
        return f"is {waiting.reason}{after}"
    if not pod.node_name:
        return "is Pending itself, without a node"
    ready = find_condition(status, "Ready")
    if (phase := status.get("phase")) != "Running":
        return f"is {phase}"
    return f"is not Ready ({ready.get('reason') or 'no reason given'})" if ready.get("status") == "False" else ""


def controller_pods(recording: Recording, kind: str) -> list[Pod]:
    """The pods of the controller of a kind of workload, by image or name; empty if it is unknown."""
    names, found = OPERATORS.get(kind, Operator(())).names, []
    for pod in map(Pod, recording.snapshot.objects_of("Pod")) if names else ():
        containers = object_list(object_in(pod.manifest.get("spec")).get("containers"))
        texts = (pod.name, *(str(container.get("image") or "") for container in containers))
        if any(name in text for name in names for text in texts):
            found.append(pod)
    return found


def controller_fault(recording: Recording, kind: str) -> AdvisedFact | None:
    """The cause and the advice if the controller of a kind has pods in the snapshot and none of them runs."""
    faults = [(pod, down_words(pod)) for pod in controller_pods(recording, kind)]
    if not faults or not all(words for _, words in faults):
        return None
    pod, words = faults[-1]
    return AdvisedFact(f"its controller does not run: pod {pod.key} {words}", crash_advice(pod))


def crash_advice(pod: Pod) -> Advice:
    """The command that shows why a pod of a component does not run."""
    crashed = (waiting := waiting_container(pod)) is not None and waiting.reason == "CrashLoopBackOff"
    verb = f"logs {pod.name} --previous" if crashed else f"describe pod {pod.name}"
    return Advice.from_outside(f"See why: kubectl -n {pod.namespace} {verb}", AdviceHarm.CLUSTER).as_repair()


def stalled_headline(
    recording: Recording, subject: ExplainSubject, tasks: Sequence[TaskInfo]
) -> tuple[CauseHeadline, tuple[str, ...], tuple[Advice, ...]] | None:
    """(first line, facts, advice) about bound pods whose containers do not start; None if all run."""
    waiting = [one for task in tasks if (one := waiting_container(task.pod)) is not None]
    if not waiting:
        return None
    first = next((one for one in waiting if one.reason not in STARTING), waiting[0])
    cause, advice = _waiting_cause(recording, subject, first)
    nodes = join_names(dict.fromkeys(one.pod.node_name for one in waiting))
    several = f"{len(waiting)} of {count_noun(len(tasks), 'pod')} {verb_for(len(waiting), 'is')}"
    pods = "it is" if subject.pod else several
    name, words = subject.pod or subject.job, (f" on {nodes}", f": {cause}" if cause else "")
    state = "is scheduled and starting" if advice is None else "is scheduled, but does not start"
    if (ended := end_words(first)) and ended in cause:
        state = "is scheduled, but does not keep running"
    forms = ("".join(words), words[1], words[0])
    headlines = [CauseHeadline(name, state, f"{pods} {first.reason}{form}") for form in forms]
    headline = first_that_fits(headlines)
    facts = () if cause in headline.reason else (f"{capitalize_first(cause)}.",)
    counted_facts, reacting = _restart_words(recording, first)
    return headline, (*facts, *counted_facts), (*(() if advice is None else (advice,)), *reacting)


def _waiting_cause(
    recording: Recording, subject: ExplainSubject, waiting: WaitingContainer
) -> tuple[str, Advice | None]:
    """(cause, advice) of a container that does not start; no advice for a pod that starts as usual."""
    namespace, name = waiting.pod.namespace, waiting.pod.name
    reports, is_starting = reports_about(recording, subject), waiting.reason in STARTING
    unbound = unbound_claims(recording.snapshot, waiting.pod) if reports and is_starting else iter(())
    if (claim := next(unbound, None)) is not None:
        return claim
    involved = {"kind": "Pod", "namespace": namespace, "name": name}
    reported = next((known for _, known in reports if known is not None), None)
    if known := reported or _known_cause(recording, waiting.message, involved):
        return known
    if is_starting and not reports:
        return "", None
    if waiting.reason in ("CrashLoopBackOff", "RunContainerError"):
        ended, restarts = end_words(waiting), container_state(waiting.pod, waiting.name).get("restartCount") or 0
        cause = f"{waiting.name} {ended}, {count_noun(restarts, 'restart')}" if ended else ""
        return cause, Advice.from_outside(_end_advice(waiting))
    return "", Advice.from_outside(f"See what its kubelet reports: {_describe_command(namespace, name)}")


def end_words(waiting: WaitingContainer) -> str:
    """`ended with exit code 137 (OOMKilled)`: how a container ended the last time; empty if its status does not say."""
    ended = _last_end(waiting)
    reason = ended.get("reason") or "Error"
    named = f" ({reason})" if reason != "Error" else ""
    return f"ended with exit code {ended['exitCode']}{named}" if ended.get("exitCode") is not None else ""


def _last_end(waiting: WaitingContainer) -> JsonObject:
    return object_in(object_in(container_state(waiting.pod, waiting.name).get("lastState")).get("terminated"))


def _end_advice(waiting: WaitingContainer) -> str:
    """What helps against the last end of a container, else the command that shows why it ended."""
    ended, name = _last_end(waiting), waiting.name
    if ended.get("exitCode") == 0:
        rule = f"container {name} ends without an error, and restartPolicy Always starts it again"
        return f"Set restartPolicy Never or OnFailure in the pod template: {rule}."
    command = f"kubectl -n {waiting.pod.namespace} logs {waiting.pod.name} -c {name} --previous"
    if ended.get("reason") == "OOMKilled":
        return f"Raise the memory limit of container {name}, which exceeded it, or see what it does: {command}"
    return f"See why container {name} ends: {command}"


DEFAULT_RETRIES: Final = 3
"""Restarts of the pods of a role after which its Volcano Job gets TaskFailed, if the role states no maxRetry."""


def _restart_words(recording: Recording, waiting: WaitingContainer) -> tuple[Sequence[str], Sequence[Advice]]:
    """(facts, advice): what a Volcano Job notices of a container that ends and is started again in its pod."""
    pod, job = waiting.pod, volcano_job_of(recording.snapshot, waiting.pod.manifest)
    if job is None or not end_words(waiting) or status_of(pod.manifest).get("phase") != "Running":
        return (), ()
    completes = _last_end(waiting)["exitCode"] == 0
    event = "TaskCompleted" if completes else "PodFailed"
    again = f"restartPolicy {pod.spec.get('restartPolicy') or 'Always'} starts {waiting.name} again in {pod.name}"
    counted = f"Job {name_of(job)} counts it as running, and no policy for {event} acts"
    fact = f"{again}, which stays Running: {counted}."
    if completes or any(stated in ("TaskFailed", "*") for stated, _ in policies_of(job)):
        return (fact,), ()
    tasks = object_list(spec_of(job).get("tasks"))
    retries = next((one.get("maxRetry") for one in tasks if one.get("name") == pod.task_role), None) or DEFAULT_RETRIES
    after = f"acts from {retries} restarts of a role on (its maxRetry)" if retries != -1 else "needs a maxRetry"
    words = f"For the Job to react: a policy for TaskFailed, which {after}, or restartPolicy Never and one for {event}."
    return (fact,), (Advice.from_outside(words),)
