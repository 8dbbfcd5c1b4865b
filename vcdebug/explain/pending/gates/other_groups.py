"""A queue or PodGroup that a workload states but its pods do not use, and pods that are in another PodGroup."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun, format_resource, join_names, verb_for
from vcdebug.explain import stuck_jobs
from vcdebug.explain.answer import (
    Advice,
    AdvisedFact,
    Cause,
    CauseHeadline,
    Finding,
    counts,
    pending_headline,
    required_pods,
)
from vcdebug.explain.job_view import MINIMUM_FIELD, OPERATORS, JobView, Operator, workloads_of
from vcdebug.explain.pending.gates.not_in_session import ended_job, opening_evidence
from vcdebug.explain.pending.gates.placed import HAS_CAUSES
from vcdebug.explain.pending.gates.validity import reservation_words
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import INQUEUE, PENDING, PodGroup
from vcdebug.model.task import ALLOCATED_CLASS, TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    MADE_GROUP_PREFIX,
    QUEUE_ANNOTATION,
    QUEUE_LABEL,
    JsonObject,
    annotations_of,
    bare_name,
    group_maker,
    key_of,
    metadata_of,
    name_of,
    namespace_in,
    object_in,
    object_list,
    owner_keys,
    owner_names,
    owners_of,
    spec_of,
)
from vcdebug.snapshot.workloads import FOREIGN_GANGS, owner_objects, volcano_job_of


def add_other_groups(view: JobView, finding: Finding) -> Finding:
    """Add a fact if the workload's stated queue or shared PodGroup is not the one that its pods use; of a job that has
    what it asked for, only the queue matters.
    """
    stated = _stated_queue(view)
    if finding.cause in HAS_CAUSES:
        return finding.with_additions(*(stated or ()), in_front=True)
    stated = stated or unread_minimum(view.recording, view.job.pod_group)
    others = (*split_application(view), _made_without_gang(view), _leader_alone(view))
    found = stated or next(filter(None, others), None)
    if found is None and view.job.min_available <= 1 and len(view.tasks) == 1:
        pod = next(iter(view.tasks.values())).pod
        found = _group_without_pods(view, pod)
        if found is None and (lone := _group_of_each_pod(view, pod)):
            # In one line with the users of the room, which may be the other pods. Not a repair: the pod waits for room
            # with one PodGroup as well.
            joined = " ".join((lone.fact, *finding.facts[:1]))
            return replace(finding, facts=(joined, *finding.facts[1:]), advice=(*finding.advice, lone.advice))
        found = found or _split_replica(view, pod)
    if found is None:
        return finding
    return replace(finding, facts=(found.fact, *finding.facts), advice=(*finding.advice, found.advice))


def _stated_queue(view: JobView) -> AdvisedFact | None:
    """The fact, if the owner or the pods name another queue than the PodGroup, the only one that counts."""
    group, own = view.job.pod_group, view.queue.name
    is_made = group.name.startswith(MADE_GROUP_PREFIX)
    for owner, workload in workloads_of(view.recording, group.manifest):
        if workload.queue not in view.session.queues or workload.queue == own:
            continue
        lacks, kind = f"its PodGroup {group.name} is in queue {own}", owner.partition(" ")[0]
        again = f" with spec.queue {workload.queue}" if kind == "Job" else ""
        words = f"Set spec.queue of PodGroup {group.name} to {workload.queue}, or submit {owner} again{again}."
        if again:
            lacks += f": only the spec.queue of a Volcano Job counts, not annotation {QUEUE_ANNOTATION}"
        if is_made:
            # A Deployment's annotations are those of its ReplicaSet as well.
            above = (
                name for one in owner_objects(view.recording.snapshot, group.manifest) for name in owner_names(one)
            )
            owner = next(above, owner)
            lacks = f"its pods lack annotation {QUEUE_ANNOTATION}, so their PodGroup is in queue {own}"
            words = f"Put annotation {QUEUE_ANNOTATION}: {workload.queue} on the pods of {owner} (their template)."
        fact = f"{owner} names queue {workload.queue}, but {lacks}."
        if is_made and kind in OPERATORS:
            fact += f" Its operator would make the PodGroup, in that queue, with {OPERATORS[kind].setting}."
        advice = Advice.for_owner(words, f"PodGroup/{view.job.uid}:spec.queue={workload.queue}")
        return AdvisedFact(fact, advice.as_repair())
    return _queue_of_pods(view)


def _queue_of_pods(view: JobView) -> AdvisedFact | None:
    """The fact, if all pods name another queue than the PodGroup."""
    group, own, pods = view.job.pod_group, view.queue.name, [task.pod for task in view.tasks.values()]
    is_label = not any(QUEUE_ANNOTATION in pod.annotations for pod in pods)
    key = QUEUE_LABEL if is_label else QUEUE_ANNOTATION
    queue, *others = {(pod.labels if is_label else pod.annotations).get(key, "") for pod in pods} or {""}
    if others or queue == own or queue not in view.session.queues:
        return None
    owner = group_maker(group.manifest)
    field = OPERATORS.get(owner.partition(" ")[0], Operator(())).queue
    lasting = f", and {field or 'the queue'} in {owner}, from which it is made" if owner else ""
    fact = f"Its pods name queue {queue} ({key}), but only that of PodGroup {group.name} counts: {own}."
    words = f"Set spec.queue of PodGroup {group.name} to {queue}{lasting}."
    if is_label and not owner:
        words = f"Put annotation {QUEUE_ANNOTATION}: {queue} on the template of its pods; the label is not read."
    return AdvisedFact(fact, Advice.for_owner(words, f"PodGroup/{view.job.uid}:spec.queue={queue}").as_repair())


def minimum_source(recording: Recording, group: PodGroup) -> str:
    """`, by schedulingPolicy.minAvailable of MPIJob bert`: the owner's field that sets minMember; empty if unknown, or
    if the owner's operator does not read it.
    """
    names = [] if unread_minimum(recording, group) else owner_names(group.manifest)
    owners = ((OPERATORS.get(name.partition(" ")[0], Operator(())).minimum, name) for name in names)
    return next((f", by {field} of {name}" for field, name in owners if field), "")


def unread_minimum(recording: Recording, group: PodGroup) -> AdvisedFact | None:
    """The fact, if the owner states a smaller minimum than its PodGroup has; else None."""
    for owner, workload in workloads_of(recording, group.manifest):
        if 0 < workload.minimum < group.min_member:
            states = f"{owner} states {MINIMUM_FIELD} {workload.minimum}, but its PodGroup has minMember"
            how = f"Set minMember of PodGroup {group.name} to {workload.minimum}"
            words = f"{how}; if new PodGroups differ too, use a version of the operator that copies it from {owner}."
            advice = Advice.for_owner(words, f"PodGroup/{key_of(group.manifest)}:spec.minMember={workload.minimum}")
            return AdvisedFact(f"{states} {group.min_member}, the only one that counts.", advice.as_repair())
    return None


def split_application(view: JobView) -> Iterator[AdvisedFact]:
    """Yields the fact, if pods that a pod of the job created, such as a driver's executors, are in other queues;
    also for a job of such pods.
    """
    created = _created_pods(view.recording)
    if not created:
        return
    leaders = [key for task in view.tasks.values() for key in (task.key, *owner_keys(task.pod.manifest))]
    for leader in dict.fromkeys(map(TaskKey, leaders)):
        found = _split_by(view.recording, leader) if leader in created else None
        if found is not None:
            yield found


@per_recording()
def _split_by(recording: Recording, key: TaskKey) -> AdvisedFact | None:
    """The fact about the pods that a pod created in other queues than its own; None without such pods."""
    leader, jobs = recording.timeline.tasks.get(key), recording.session.jobs
    home = jobs[leader.job] if leader is not None and leader.job in jobs else None
    created = [task for task in _created_pods(recording)[key] if task.job in jobs]
    elsewhere = [task for task in created if home is not None and jobs[task.job].queue != home.queue]
    if leader is None or home is None or not elsewhere:
        return None
    amount = format_resource(sum_resources(task.resreq for task in elsewhere))
    pods = f"{count_noun(len(elsewhere), 'pod')} that {leader.name} created"
    others = {task.job: jobs[task.job] for task in elsewhere}
    queues = list(dict.fromkeys(other.queue for other in others.values()))
    groups = f"PodGroup {jobs[elsewhere[0].job].name}" if len(others) == 1 else count_noun(len(others), "PodGroup")
    place = f"{groups} of queue{'s' if len(queues) > 1 else ''} {join_names(queues)}"
    uncounted = f"queue {home.queue}, which {leader.name} is in, does not count them"
    step = " (Spark: VolcanoFeatureStep in spark.kubernetes.executor.pod.featureSteps)"
    is_spark = any(key.startswith("spark-") for key in leader.pod.labels)
    how = f"{GROUP_ANNOTATION}: {home.name}{step if is_spark else ''}"
    advice = Advice.from_outside(f"Create them with annotation {how}, or {QUEUE_ANNOTATION}: {home.queue}.")
    return AdvisedFact(f"{pods} ({amount}) {verb_for(len(elsewhere), 'is')} in {place}: {uncounted}.", advice)


@per_recording()
def _created_pods(recording: Recording) -> Mapping[str, Sequence[TaskInfo]]:
    """Pod → the pods that it owns."""
    tasks = recording.timeline.tasks
    names = ((task, name) for task in tasks.values() for name in owner_names(task.pod.manifest))
    owned = ((task, name.removeprefix("Pod ")) for task, name in names if name.startswith("Pod "))
    return group_by_key((f"{task.namespace}/{name}", task) for task, name in owned)


def _group_without_pods(view: JobView, pod: Pod) -> AdvisedFact | None:
    """The fact about a PodGroup of the pod's workload that no pod names; else None."""
    for group, owner in reversed(_empty_groups(view.recording).get(pod.namespace, ())):
        if pod.name.startswith(f"{owner.partition(' ')[2]}-"):
            group_fact = f"PodGroup {group.name} (queue {group.queue}) of {owner} has no pods"
            edit = f"Pod/{pod.key}:metadata.annotations[{GROUP_ANNOTATION}]={group.name}"
            advice = Advice.for_owner(f"Create {pod.name} with PodGroup {group.name} as {GROUP_ANNOTATION}.", edit)
            return AdvisedFact(f"{group_fact}; {pod.name} names PodGroup {view.job.name} instead.", advice.as_repair())
    return None


_GANG_KINDS: Final = ("RayCluster", "RayJob", "SparkApplication", "FlinkDeployment", "TrainJob", "JobSet")
"""Kinds whose pods form a gang, besides the training operator's TFJob, MPIJob and the like."""
_TRAINING_JOB: Final = re.compile(r"(PyTorch|TF|MPI|XGBoost|Paddle|JAX|MX)Job")
_ROLE_LABELS: Final = ("component", "spark-role", "ray.io/group", "training.kubeflow.org/replica-type")
_APP_LABELS: Final = ("app", "app.kubernetes.io/instance", "spark-app-selector")
_LABELLED: Final = "application "
_FOREIGN: Final = "group"


def _group_of_each_pod(view: JobView, pod: Pod) -> AdvisedFact | None:
    """The fact, if each pod of a gang workload has its own PodGroup; else None."""
    lone = _roles_without_group(view.recording)
    for app in _applications_of(pod):
        pods_by_role, kind = lone[pod.namespace, app], app.partition(" ")[0]
        needed = (
            kind in (*_GANG_KINDS, _FOREIGN) or _TRAINING_JOB.fullmatch(kind) or len([*filter(None, pods_by_role)]) > 1
        )
        if needed and pods_by_role.total() > 1:
            how = f"named in annotation {GROUP_ANNOTATION} (an operator with gang scheduling enabled does so)"
            advice = Advice.from_outside(f"Give the pods of one workload one PodGroup, {how}.")
            advice = advice.as_first_step("the pods have to be created again")
            own_group = f"Each pod of {app} has a PodGroup of its own (minMember 1)"
            return AdvisedFact(f"{own_group}, so its pods are not a gang.", advice)
    return None


def role_of(task: TaskInfo) -> str:
    """The pod's role, as its operator states it; empty if it states none."""
    return _labelled_role(task.pod) or task.task_role


def _labelled_role(pod: Pod) -> str:
    return next((pod.labels[key] for key in _ROLE_LABELS if key in pod.labels), "")


def _made_without_gang(view: JobView) -> AdvisedFact | None:
    """The fact, if the operator of a gang made no PodGroup, so that Volcano's controller made one; else None."""
    group, pods, ready = view.job.pod_group, len(view.tasks), view.job.ready_task_num()
    kind, _, owner = next(iter(owner_names(group.manifest)), "").partition(" ")
    setting = OPERATORS.get(kind, Operator(())).setting if group.name.startswith(MADE_GROUP_PREFIX) else ""
    if not setting or kind == "Job" or not view.job.min_available == 1 <= ready < pods:
        return None
    made = f"Volcano's controller made the PodGroup, since the operator of {kind} {owner} had made none"
    with_gang = f"Start the operator of {kind} with {setting}, and check that it may create podgroups (RBAC)"
    advice = Advice.from_outside(f"{with_gang}; then submit {owner} again.")
    return AdvisedFact(f"{made}: its minMember is 1 for {pods} pods, so they are not a gang.", advice)


_REPLICA_KIND: Final = "LeaderWorkerSet"
_REPLICA_LABELS: Final = ("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index")


def _split_replica(view: JobView, pod: Pod) -> AdvisedFact | None:
    """The fact, if the pods of one replica, a leader with its workers, are in several PodGroups; else None."""
    name, index = (pod.labels.get(key, "") for key in _REPLICA_LABELS)
    replicas = _replicas_by_owner(view.recording).get((pod.namespace, name), {})
    own, owner = replicas.get(index, ()), f"{_REPLICA_KIND} {name}"
    if len({task.job for task in own}) < 2:
        return None
    running = [[task for task in tasks if task.status in ALLOCATED_CLASS] for tasks in replicas.values()]
    halves = [some for some, tasks in zip(running, replicas.values(), strict=True) if 0 < len(some) < len(tasks)]
    run, hold = verb_for(len(halves), "runs"), verb_for(len(halves), "holds")
    amount = format_resource(sum_resources(task.resreq for some in halves for task in some))
    held = f"{len(halves)} of its {len(replicas)} replicas {run} only some of their pods, and {hold} {amount}"
    fact = f"{join_names(sorted(task.name for task in own))}, a replica of {owner}, are in several PodGroups"
    words = f"Give each replica one PodGroup ({OPERATORS[_REPLICA_KIND].setting})"
    count = len([task for some in running for task in some])
    if halves and (whole := count // len(own)):
        words += f"; until then scale {owner} to {whole}, since its {count} running pods make no more whole ones"
    consequence = f"so they are not a gang{f': {held}' if halves else ''}"
    return AdvisedFact(f"{fact}, {consequence}.", Advice.from_outside(f"{words}."))


def _leader_alone(view: JobView) -> AdvisedFact | None:
    """The fact, if the PodGroup of one replica asks for its leader only, so that its workers are no gang."""
    pods = [task.pod for task in view.tasks.values()]
    replicas = dict.fromkeys(tuple(pod.labels.get(key, "") for key in _REPLICA_LABELS) for pod in pods)
    owner = next(iter(replicas))[0] if len(replicas) == 1 else ""
    is_made = view.job.pod_group.name.startswith(MADE_GROUP_PREFIX)
    if not owner or is_made or not view.job.min_available == 1 <= view.job.ready_task_num() < len(pods):
        return None
    fact = f"minMember is 1 for {len(pods)} pods, as LWS sets it for startupPolicy LeaderReady: the leader starts alone"
    words = f"Set startupPolicy: LeaderCreated in {_REPLICA_KIND} {owner}: minMember is then the size of a replica."
    return AdvisedFact(f"{fact}, and its workers are scheduled one by one.", Advice.from_outside(words))


@per_recording()
def _replicas_by_owner(recording: Recording) -> Mapping[tuple[str, str], Mapping[str, Sequence[TaskInfo]]]:
    """(namespace, LeaderWorkerSet) → index of a replica → its pods."""
    all_tasks, (name, index) = recording.timeline.tasks.values(), _REPLICA_LABELS
    tasks = [task for task in all_tasks if task.pod.labels.get(name) and task.pod.labels.get(index)]
    replicas = (((task.namespace, task.pod.labels[name]), (task.pod.labels[index], task)) for task in tasks)
    return {owner: group_by_key(indexed) for owner, indexed in group_by_key(replicas).items()}


def _applications_of(pod: Pod) -> list[str]:
    """The pod's group for another scheduler, its owners and LeaderWorkerSet; else the application of its labels."""
    labels = (pod.labels.get(key) for key in _APP_LABELS)
    app = next((f"{_LABELLED}{label}" for label in labels if label), "")
    replicated = [f"{_REPLICA_KIND} {label}" for label in (pod.labels.get(_REPLICA_LABELS[0]),) if label]
    named = {**pod.labels, **pod.annotations}
    foreign = [f"{_FOREIGN} {named[key]} ({key}, which Volcano does not read)" for key in FOREIGN_GANGS if key in named]
    return [*foreign, *owner_names(pod.manifest), *replicated] or [name for name in (app,) if name]


def is_same_application(pod: Pod, other: Pod, *, lone: bool) -> bool:
    """Whether two pods have a common owner or, if `other` is `lone` in its job, labels of one application."""
    apps = _applications_of(other) if pod.namespace == other.namespace else ()
    return any(app in apps and (lone or not app.startswith(_LABELLED)) for app in _applications_of(pod))


@per_recording()
def _roles_without_group(recording: Recording) -> Mapping[tuple[str, str], Counter[str]]:
    """(namespace, application) → number of its pods whose job has no other pod, by role."""
    alone = (job for job in recording.session.jobs.values() if len(job.tasks) == 1)
    pods = [task.pod for job in alone for task in job.tasks.values()]
    roles = [(pod, _labelled_role(pod)) for pod in pods]
    applied = group_by_key(((pod.namespace, app), role) for pod, role in roles for app in _applications_of(pod))
    return {app: Counter(app_roles) for app, app_roles in applied.items()}


@per_recording()
def _empty_groups(recording: Recording) -> Mapping[str, Sequence[tuple[PodGroup, str]]]:
    """Namespace → PodGroups without pods, each with its owner."""
    empty = {job.uid for job in recording.session.jobs.values() if not job.tasks}
    groups = (manifest for manifest in recording.snapshot.objects_of("PodGroup") if key_of(manifest) in empty)
    owned = [(PodGroup(manifest), owner) for manifest in groups for owner in owner_names(manifest)]
    return group_by_key((group.namespace, (group, owner)) for group, owner in owned)


def pods_elsewhere(view: JobView) -> Finding | None:
    """The finding if the pods that the gang lacks exist, but name another PodGroup; else None."""
    job, valid = view.job, view.job.valid_task_num()
    elsewhere = _pods_elsewhere_by_group(view.recording).get(job.uid) if valid < job.min_available else None
    if elsewhere is None:
        return None
    others = dict.fromkeys(bare_name(pod.job_id) for pod in elsewhere.pods)
    have = f"it has {valid} of the {required_pods(job.min_available)}"
    are = verb_for(len(elsewhere.pods), "is")
    where = f"{len(elsewhere.pods)} more {are} in PodGroup {join_names(others, 1)}"
    names = join_names(pod.name for pod in elsewhere.pods)
    if elsewhere.is_template:
        rule = f"The controller makes a PodGroup for {elsewhere.owner}, and names it in its pods instead of {job.name}"
        fact = f"{rule}, which the template has as {GROUP_ANNOTATION}."
        settings = "minAvailable, queue and priorityClassName"
        advice = Advice.from_outside(f"Delete PodGroup {job.name}; set {settings} in {elsewhere.owner} itself.")
    else:
        without = f"since its pods {names} had no annotation {GROUP_ANNOTATION}"
        fact = f"Volcano's controller made that PodGroup for {elsewhere.owner}, {without}."
        new = (f"metadata.annotations[{GROUP_ANNOTATION}]={job.name}", "spec.nodeName-", "status.phase=Pending")
        edits = (f"Pod/{pod.key}:{change}" for pod in elsewhere.pods for change in new)
        words = f"Recreate {names} with PodGroup {job.name} as {GROUP_ANNOTATION} (template of {elsewhere.owner})."
        advice = Advice.for_owner(words, *edits)
    numbers = counts({"pods.valid": valid, "job.minAvailable": job.min_available})
    evidence = opening_evidence(view.recording, f"{names} {are} in PodGroup {join_names(others)}")
    headline = pending_headline(job.uid, f"{have}; {where}")
    return Finding(Cause.NOT_ENOUGH, headline, numbers, evidence, (advice.as_repair(),), facts=(fact,))


def unused_group(view: JobView) -> Finding | None:
    """The finding if a PodGroup has no pods, since those of its owner name another one; else None."""
    group, users = view.job.pod_group, _pods_in_other_groups(view)
    if not users:
        return None
    names = join_names((task.name for task in users), 1)
    others = join_names(dict.fromkeys(bare_name(task.job) for task in users), 1)
    owner, advice = next(iter(owner_names(group.manifest))), _deletion(view)
    why = f"Volcano's controller makes one for each {owner.partition(' ')[0]}, whatever its pods name in"
    if not group.name.startswith(MADE_GROUP_PREFIX):
        why = f"It was made for {owner}, and its pods do not name it in annotation"
        edits = (f"Pod/{task.key}:metadata.annotations[{GROUP_ANNOTATION}]={group.name}" for task in users)
        advice = Advice.for_owner(f"Create {names} with PodGroup {group.name} as {GROUP_ANNOTATION}.", *edits)
    state = f"It is {reservation_words(view)} of queue {view.queue.name}{_waiting_words(view)}."
    reason, numbers = f"{names} {verb_for(len(users), 'names')} {others}", counts({"pods.valid": 0})
    headline = CauseHeadline(f"PodGroup {view.job.uid}", "has no pods", reason)
    evidence = opening_evidence(view.recording, f"{names} {verb_for(len(users), 'is')} in {others}")
    facts = (f"{why} {GROUP_ANNOTATION}.", state)
    return Finding(Cause.NOT_ENOUGH, headline, numbers, evidence, (advice,), facts=facts)


def _pods_in_other_groups(view: JobView) -> list[TaskInfo]:
    """The owner's pods in other PodGroups, where Volcano's controller made one: other controllers make several."""
    owners = {owner.get("uid") for owner in owners_of(view.job.pod_group.manifest)} - {None}
    tasks = view.recording.timeline.tasks.values() if owners and not view.tasks else ()
    own = [one for one in tasks if one.job and owners & {each.get("uid") for each in owners_of(one.pod.manifest)}]
    return [one for one in own if MADE_GROUP_PREFIX in f"{view.job.name} {one.job}"]


def ended_workload(view: JobView) -> Finding | None:
    """The finding if the workload of a PodGroup has ended, so that only the PodGroup and pods that still run are left.

    Pods that run count only for a Volcano Job, which leaves them where it fails.
    """
    group, is_idle = view.job.pod_group, bool(stuck_jobs.idle_owners(view.recording, [view.job]))
    job = volcano_job_of(view.recording.snapshot, group.manifest)
    for owner, facts in workloads_of(view.recording, group.manifest) if is_idle or job else ():
        if facts.ended:
            kind, _, name = owner.partition(" ")
            pods = [task.pod for task in view.tasks.values()]
            reason, ended_facts, advice = f"its state is {facts.ended}", list[str](), list[Advice]()
            if job is not None:
                reason, job_facts, job_advice = ended_job(view.recording, job, pods)
                ended_facts, advice = [*job_facts], [*job_advice]
            if not is_idle:
                command = f"kubectl -n {group.namespace} delete vcjob {name}"
                ended_facts = [*_left_pods(view), *ended_facts]
                advice = [Advice.for_owner(f"Delete the job, and with it its pods: {command}."), *advice]
            # The PodGroup of an ended Volcano Job is Completed; other phases are open to admission.
            elif view.recording.timeline.opening_phases[view.job.uid] in ("", PENDING, INQUEUE):
                reason += f"; PodGroup {group.name} is left {reservation_words(view)}"
                ended_facts = [*_left_group_facts(view), *ended_facts]
                advice.append(_deletion(view))
            headline = CauseHeadline(f"{kind} {group.namespace}/{name}", "has ended", reason)
            evidence = opening_evidence(view.recording, "the session opens with the PodGroup of an ended workload")
            return Finding(Cause.PLACES, headline, {}, evidence, tuple(advice), facts=tuple(ended_facts))
    return None


def _left_group_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence: how far the PodGroup is from its gang, and which jobs of its queue are not admitted."""
    have = join_names(f"{task.name} ({task.status.upstream_name})" for task in view.tasks.values())
    short = f"It asks {count_noun(view.job.min_available, 'pod')} (minMember) and has {have or 'none'}"
    yield f"{short}, so it never becomes ready{_waiting_words(view)}."


def _waiting_words(view: JobView) -> str:
    """`; not admitted in queue q: ml/a`: the other jobs of the queue that wait for admission; empty without any."""
    others = (job for job in view.session.jobs.values() if job.queue == view.queue.name and job is not view.job)
    waiting = [job.uid for job in others if job.pod_group.phase == PENDING and job.tasks]
    return f"; not admitted in queue {view.queue.name}: {join_names(waiting, 3)}" if waiting else ""


def _deletion(view: JobView) -> Advice:
    group = view.job.pod_group
    words = f"Delete PodGroup {group.name}: kubectl -n {group.namespace} delete podgroup {group.name}"
    return Advice.queue_admin(words)


def _left_pods(view: JobView) -> Iterator[str]:
    """Yields a sentence about the pods that still run, and what they use."""
    left = [task for task in view.tasks.values() if task.status is TaskStatus.RUNNING]
    if left:
        uses = format_resource(sum_resources(task.resreq for task in left))
        nodes = join_names(dict.fromkeys(task.node_name for task in left))
        yield f"{join_names(task.name for task in left)} still {verb_for(len(left), 'runs')} on {nodes}, with {uses}."


class _PodsElsewhere(Struct, frozen=True):
    """Pods of a PodGroup's workload that name another PodGroup."""

    owner: str
    pods: Sequence[Pod]
    is_template: bool = False
    """Whether the template of a Volcano Job names the PodGroup, which the job controller overrides."""


@per_recording()
def _pods_elsewhere_by_group(recording: Recording) -> Mapping[JobId, _PodsElsewhere]:
    """PodGroup that lacks pods → the pods that its workload has in a PodGroup that Volcano's controllers made."""
    snapshot, jobs = recording.snapshot, recording.session.jobs
    lacking = {uid: job for uid, job in jobs.items() if job.valid_task_num() < job.min_available}
    if not lacking:
        return {}
    found: dict[JobId, _PodsElsewhere] = {}
    for manifest in snapshot.objects_of("Job"):
        templates = (object_in(task.get("template")) for task in object_list(spec_of(manifest).get("tasks")))
        named = dict.fromkeys(annotations_of(each).get(GROUP_ANNOTATION) for each in templates)
        uids = [uid for name in named if (uid := f"{namespace_in(key_of(manifest))}/{name}") in lacking]
        for uid in (uid for uid in uids if not jobs[uid].tasks):
            own = [job for job in jobs.values() if key_of(manifest) in owner_keys(job.pod_group.manifest)]
            pods = [task.pod for job in own for task in job.tasks.values()]
            if pods:
                found[uid] = _PodsElsewhere(f"Job {name_of(manifest)}", pods, is_template=True)
    kinds = ("StatefulSet", "ReplicaSet", "Pod")
    between = {str(metadata_of(one).get("uid")): one for kind in kinds for one in snapshot.objects_of(kind)}
    members = {task.pod.uid: uid for uid, job in lacking.items() for task in job.tasks.values()}
    made = (job for job in jobs.values() if job.name.startswith(MADE_GROUP_PREFIX) and job.uid not in lacking)
    owned = ((_member_above(task.pod, between, members), task.pod) for job in made for task in job.tasks.values())
    for uid, pods in group_by_key((uid, pod) for uid, pod in owned if uid).items():
        found.setdefault(uid, _PodsElsewhere(next(iter(owner_names(pods[0].manifest)), "their owner"), pods))
    return found


def _member_above(pod: Pod, between: Mapping[str, JsonObject], members: Mapping[str, JobId]) -> JobId:
    """The PodGroup of a pod that owns this one, such as the leader of a LeaderWorkerSet; empty if none does."""
    manifest, seen = pod.manifest, list[str]()
    while (uid := next((str(owner.get("uid")) for owner in owners_of(manifest)), "")) in between and uid not in seen:
        if uid in members:
            return members[uid]
        seen.append(uid)
        manifest = between[uid]
    return ""
