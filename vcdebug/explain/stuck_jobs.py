"""Inqueue jobs that are not placed: they reserve their minimum, and other jobs are not admitted for it."""

from collections.abc import Mapping, Sequence

from vcdebug import amount_text
from vcdebug.amount_text import count_noun, format_amounts_apart, join_names
from vcdebug.explain import answer, queue_index
from vcdebug.explain.job_view import JobView, workloads_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.room_takers import order_words
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import ReservationForm, minimum_without_gated, reserved_resource
from vcdebug.model.names import JobId, Seq
from vcdebug.model.pod_group import INQUEUE
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import ENDED_STATUSES, TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.snapshot.manifest import bare_name, group_maker, key_of, owner_keys, owner_names, spec_of

StuckJobs = tuple[JobInfo, ...]
"""Inqueue jobs in the session's order: the key of caches, since all jobs that are rejected for them ask the same."""


def find_stuck_jobs(view: JobView, seq: Seq, *, same_queue: bool) -> StuckJobs:
    """Other jobs that are Inqueue at an event and are not placed when the cycle ends, but reserve their minimum."""
    stuck = _stuck_at(view.recording, view.recording.timeline.earliest_same_seq(seq))
    return tuple([job for job in stuck if job is not view.job and (not same_queue or job.queue == view.job.queue)])


@per_recording(most=8)
def _stuck_at(recording: Recording, seq: Seq) -> Sequence[JobInfo]:
    phases = recording.timeline.state_at(seq).phases
    # The controller creates the pods of a job that this cycle admitted only afterwards.
    fresh = {job.uid for job in queue_index.admitted_before(recording, seq) if not job.tasks}
    return [
        job
        for uid, job in recording.session.jobs.items()
        if uid not in fresh
        and phases[uid] == INQUEUE
        and job.pod_group.min_resources is not None
        and not job.count_tasks(TaskStatus.BINDING, TaskStatus.PIPELINED)
        and (not job.is_ready() or has_ended(job))
    ]


def earlier_admission_facts(view: JobView, seq: Seq, name: str, *, same_queue: bool) -> tuple[str, ...]:
    """Sentences about jobs that this cycle admitted before, with what they reserve of a dimension, and why one of lower
    priority was first; or empty.
    """
    before = queue_index.admitted_before(view.recording, seq)
    jobs = {job.uid: job for job in before if not same_queue or job.queue == view.job.queue}
    reserved = {uid: minimum_without_gated(job).get(name) for uid, job in jobs.items()}
    holders = amount_text.rank_by_amount({uid: amount for uid, amount in reserved.items() if amount > 0})
    if not holders:
        return ()
    listed = amount_text.join_names(f"{uid} {amount_text.format_amount(name, amount)}" for uid, amount in holders)
    lower = next((jobs[uid] for uid, _ in holders if jobs[uid].priority < view.job.priority), None)
    admitted = f"Admitted before it in this cycle ({name}): {listed}."
    why = lower and order_words(view.recording, queue_index.admission_seq(view.recording, lower), lower, view.job)
    return (admitted, *([f"{lower.uid} has a lower priority ({lower.priority}): {why}."] if lower and why else ()))


@per_recording()
def _reserved_by(recording: Recording, job: JobInfo) -> Resource:
    reserved = reserved_resource(job, ReservationForm.for_release(recording.snapshot.release))
    return reserved if reserved is not None else minimum_without_gated(job)


def total_without(view: JobView, total: Resource, stuck: StuckJobs) -> Resource:
    """The counted total without the reservations of these jobs."""
    # Upstream's Sub panics on a negative rest, which rounding can give.
    return total.clone().sub_without_assert(_reserved_amount(view.recording, stuck))


@per_recording(most=8)
def _reserved_amount(recording: Recording, stuck: StuckJobs) -> Resource:
    return sum_resources(_reserved_by(recording, job) for job in stuck)


@per_recording(most=8)
def _reserved_texts(recording: Recording, stuck: StuckJobs, names: tuple[str, ...]) -> Mapping[JobId, str]:
    """Job → what it reserves of these dimensions."""
    return {job.uid: amount_text.format_resource(_reserved_by(recording, job), names) for job in stuck}


def _first_stuck_advice(view: JobView, stuck: StuckJobs, *, is_explained: bool) -> tuple[answer.Advice, ...]:
    """What to do about the first of these jobs; empty if the answer already says why it is not placed."""
    leftovers, empty = _leftover_groups(view.recording, stuck), [job.uid for job in stuck if not job.tasks]
    first = stuck[0]
    if leftovers:
        return (answer.Advice.queue_admin(f"Delete Inqueue PodGroups without pods: {join_names(leftovers)}."),)
    if empty:
        owners = f"the controllers of {join_names(empty)}"
        return (
            answer.Advice.from_outside(f"Find out why {owners} created no pods yet (quota, webhook, controller log)."),
        )
    if has_ended(first):
        return (answer.Advice.queue_admin(f"Delete PodGroup {first.uid} or its owner, which has ended."),)
    search = f"Find out why {first.uid} is not placed: vcdebug explain SNAPSHOT {first.uid}."
    return () if is_explained else (answer.Advice.from_outside(search),)


def _deletion_advice(view: JobView, job: JobInfo, released: str) -> answer.Advice:
    """Delete a PodGroup with its Pending pods, which it does not own; or its owner, which would make it again."""
    pods = [task.key for task in job.tasks.values() if task.status is TaskStatus.PENDING]
    with_pods = f" and its {f'{len(pods)} Pending pods' if len(pods) > 1 else 'Pending pod'}" if pods else ""
    maker = "" if _leftover_groups(view.recording, (job,)) else group_maker(job.pod_group.manifest)
    is_made = maker and not job.pod_group.is_made_for_pods()
    what = f"{maker} with its PodGroup {job.uid}" if is_made else f"PodGroup {job.uid}"
    words = f"Delete {what}{with_pods}; this releases {released}."
    return answer.Advice.queue_admin(words, f"PodGroup/{job.uid}:-", *(f"Pod/{pod}:-" for pod in pods))


@per_recording(most=8)
def _leftover_groups(recording: Recording, jobs: StuckJobs) -> Mapping[JobId, str]:
    """Job without pods that nothing makes again → its owner."""
    idle = find_left_behind(recording, jobs) | idle_owners(recording, jobs)
    return idle | replaced_groups(recording, jobs)


@per_recording(most=8)
def _left_behind_facts(recording: Recording, stuck: StuckJobs) -> tuple[str, ...]:
    left_behind = find_left_behind(recording, stuck)
    if not left_behind:
        idle = idle_owners(recording, stuck) | replaced_groups(recording, stuck)
        # The name of the PodGroup itself, which has to be deleted, and not that of its workload.
        return tuple(f"PodGroup {bare_name(job)} belongs to {owner}." for job, owner in list(idle.items())[:2])
    belongs = "belongs to a ReplicaSet that wants" if len(left_behind) == 1 else "belong to ReplicaSets that want"
    subject = "They" if 1 < len(left_behind) == len(stuck) else join_names(left_behind)
    return (f"{subject} {belongs} 0 replicas: {join_names(left_behind.values())}.",)


def stuck_jobs_finding(
    view: JobView,
    seq: Seq,
    plugin: str,
    stuck: StuckJobs,
    lines: tuple[str, ...],
    limit: Resource,
    limit_words: str = "",
) -> answer.Finding:
    """The finding that Inqueue jobs without placed pods reserve the room that the job needs."""
    minimum, reserved = view.job.get_min_resources(), _reserved_amount(view.recording, stuck)
    # Without the dimension pods, which nearly every minimum counts and which no amount depends on.
    names = [name for name, value in minimum.items() if value > 0 and reserved.get(name) > 0 and name != PODS]
    amounts = _reserved_texts(view.recording, stuck, tuple(names))
    verbs = ("is", "reserves", "it") if len(stuck) == 1 else ("are", "reserve", "them")
    state = "Inqueue but not placed" if any(job.tasks for job in stuck) else "Inqueue without pods"
    if all(map(has_ended, stuck)):
        state = "Inqueue, but all pods have ended"
    held_words = f"{verbs[0]} {state}, and {verbs[1]} {amount_text.format_resource(reserved, names)}"
    listed = [f"{join_names(amounts, shown)} {held_words}{end}" for end in (limit_words, "") for shown in (3, 2, 1)]
    headlines = [answer.CauseHeadline(view.job.uid, "is not admitted", words) for words in listed]
    headline = answer.first_that_fits(headlines)
    without = f"Without {verbs[2]}, {plugin} would admit its minResources of {amount_text.format_resource(minimum)}."
    lasting = bool(hopeless_facts(view, stuck))
    reasons = hopeless_facts(view, stuck, lasting=lasting)
    facts = [*reasons, *_left_behind_facts(view.recording, stuck), without]
    if all(job.priority < view.job.priority for job in stuck):
        facts.append(f"An Inqueue PodGroup keeps what it reserves: the priority of {view.job.uid} changes nothing.")
    numbers = {
        **answer.amount_numbers("minResources", minimum, names),
        **answer.amount_numbers("held", reserved, names),
        **answer.amount_numbers("limit", limit, names),
        **answer.counts({"jobs.holding": len(stuck)}),
    }
    is_explained = bool(hopeless_facts(view, stuck[:1], lasting=lasting))
    deletion = _deletion_advice(view, stuck[0], amounts[stuck[0].uid])
    advice = (*_first_stuck_advice(view, stuck, is_explained=is_explained), deletion)
    lines = (*lines, *(f"{uid}: Inqueue, reserves {amount}" for uid, amount in amounts.items()))
    evidence = answer.rejection_evidence(seq, plugin)
    return answer.Finding(answer.Cause.HELD_BY_INQUEUE, headline, numbers, evidence, advice, lines, tuple(facts))


def hopeless_facts(view: JobView, stuck: StuckJobs, *, lasting: bool = True) -> tuple[str, ...]:
    """A sentence about Inqueue jobs with a pod larger than any node or, if not `lasting`, than any node's idle."""
    hopeless = _oversized_tasks(view.recording, stuck, lasting)
    if not hopeless:
        return _refused_facts(view, stuck, lasting=lasting)
    task, name = next(iter(hopeless.values()))
    most_free = _largest_room(view.recording, lasting).get(name)
    asks, has = format_amounts_apart(name, task.init_resreq.get(name), most_free)
    cannot, most = ("cannot be placed", "has more than") if lasting else ("has no place now", "has more free than")
    return (f"{join_names(hopeless)} {cannot}: {task.key} asks {asks} {name}, and no node {most} {has}.",)


@per_recording(most=8)
def _oversized_tasks(recording: Recording, stuck: StuckJobs, lasting: bool) -> Mapping[JobId, tuple[TaskInfo, str]]:
    """Job → (its first pod larger than any node, the dimension)."""
    largest, oversized = _largest_room(recording, lasting), dict[JobId, tuple[TaskInfo, str]]()
    for task in (task for job in stuck for task in job.tasks.values()):
        for name in task.init_resreq.less_equal_with_resources_name(largest)[1][:1]:
            oversized.setdefault(task.job, (task, name))
    return oversized


@per_recording()
def _largest_room(recording: Recording, lasting: bool) -> Resource:
    largest = Resource()
    for node in recording.session.nodes.values():
        largest.set_max_resource(node.allocatable if lasting else node.idle)
    return largest


def _refused_facts(view: JobView, stuck: StuckJobs, *, lasting: bool) -> tuple[str, ...]:
    """A sentence if the first Pending pod of the first job fits no node, if `lasting` even without evictable pods."""
    job = stuck[0]
    task = next((each for each in job.tasks.values() if each.status is TaskStatus.PENDING), None)
    if task is None:
        return ()
    fits = NodeFits(JobView(view.recording, job.uid), task, len(view.recording))
    if (lasting and fits.waiting_nodes) or fits.free_nodes or not fits.reason_histogram:
        return ()
    reasons = join_names((f"{count_noun(len(names), 'node')}: {why}" for why, names in fits.reason_histogram), 2)
    cannot = "cannot be placed" if lasting else "has no place now"
    return (f"{job.uid} {cannot}: {task.name} fits no node ({reasons}).",)


def find_left_behind(recording: Recording, jobs: Sequence[JobInfo]) -> dict[JobId, str]:
    """Job without pods → its ReplicaSet with 0 replicas, which an update of a Deployment left behind."""
    replicas = {
        key_of(manifest): spec_of(manifest).get("replicas") for manifest in recording.snapshot.objects_of("ReplicaSet")
    }
    pairs = [(job, key) for job in jobs if replicas and not job.tasks for key in owner_keys(job.pod_group.manifest)]
    return {job.uid: key for job, key in pairs if replicas.get(key) == 0}


def has_ended(job: JobInfo) -> bool:
    """Whether the job has pods, and each has ended."""
    return bool(job.tasks) and job.count_tasks(*ENDED_STATUSES) == len(job.tasks)


def idle_owners(recording: Recording, jobs: Sequence[JobInfo]) -> dict[JobId, str]:
    """Job without pods that could run → its suspended or ended owner with its state, which left the PodGroup."""
    idle = [job for job in jobs if not job.tasks or has_ended(job)]
    owners_by_job = ((job.uid, workloads_of(recording, job.pod_group.manifest)) for job in idle)
    return {
        uid: f"{owner}, which is {'suspended' if facts.suspended else facts.ended}"
        for uid, owners in owners_by_job
        for owner, facts in owners
        if facts.suspended or facts.ended
    }


@per_recording()
def _filled_groups(recording: Recording) -> Mapping[str, Sequence[JobInfo]]:
    """namespace/name of an owner → jobs of it that have pods."""
    filled = (job for job in recording.session.jobs.values() if job.tasks)
    return group_by_key((key, job) for job in filled for key in owner_keys(job.pod_group.manifest))


def replaced_groups(recording: Recording, jobs: Sequence[JobInfo]) -> dict[JobId, str]:
    """Job without pods → its owner with the PodGroup that has the owner's pods, such as one of another naming."""
    owned = [
        (job, name, other)
        for job in jobs
        if not job.tasks
        for key, name in zip(owner_keys(job.pod_group.manifest), owner_names(job.pod_group.manifest), strict=False)
        for other in _filled_groups(recording).get(key, ())
    ]
    return {job.uid: f"{name}, which has its pods in PodGroup {other.name}" for job, name, other in owned}
