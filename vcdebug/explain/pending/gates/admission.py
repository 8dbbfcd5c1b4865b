"""enqueue: is the PodGroup admitted to its queue, and a Volcano Job whose pods are created after that."""

from collections.abc import Iterator, Sequence
from math import fsum

from msgspec.structs import replace

from vcdebug.actions import ALLOCATE, ENQUEUE
from vcdebug.amount_text import (
    count_noun,
    format_amounts_apart,
    format_named_amount,
    format_resource,
    is_quota_count,
    join_names,
    verb_for,
)
from vcdebug.explain.answer import Advice, Cause, CauseHeadline, Evidence, Finding, counts, proof_of, rejection_evidence
from vcdebug.explain.component_reports import controller_fault
from vcdebug.explain.decisions.votes import hook_calls_at
from vcdebug.explain.job_view import JobView, action_seqs, workloads_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending import gang_parts
from vcdebug.explain.pending.gates.not_in_session import opening_evidence
from vcdebug.explain.pending.room_takers import user_facts
from vcdebug.explain.plugins import explainer_for, overcommit
from vcdebug.explain.plugins.resourcequota import exhausted_quotas, next_pod_amounts
from vcdebug.explain.queue_findings import is_whole_cluster, next_tasks, refuses_by_state
from vcdebug.framework.hooks import JOB_ENQUEUEABLE
from vcdebug.framework.record import HookEvent
from vcdebug.framework.session_close import UNSCHEDULABLE_CONDITION
from vcdebug.model.job import JobInfo
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.pod_group import WAITING_PHASES
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import OVERCOMMIT, SLA
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.releases.queues import GANG_CLOSE_WITHOUT_TASKS
from vcdebug.snapshot.manifest import key_of, name_of, owner_names, owners_of, status_of
from vcdebug.snapshot.workloads import volcano_job_of

PERMITTING_PLUGINS = (SLA,)
"""Plugins whose permit depends on this job; other plugins permit whenever they do not reject."""
REJECTED_BY = "enqueue-"
"""Beginning of the code of a job that a plugin rejects; the plugin's name follows unless Cause has a code for it."""


def admission(view: JobView) -> Finding | None:
    """The finding if the PodGroup was not Inqueue when the other actions began; None if it was."""
    start = _first_scheduling_seq(view.recording)
    phase = view.recording.timeline.state_at(len(view.recording) if start is None else start).phases[view.job.uid]
    if phase not in WAITING_PHASES:
        return None
    rejections = [(seq, event) for seq, event in view.calls_about(JOB_ENQUEUEABLE.upstream) if event.result < 0]
    if rejections:
        seq, event = rejections[-1]
        explain = explainer_for(event.plugin).rejected
        finding = (explain(view, seq, event) if explain is not None else None) or _quoted_rejection(view, seq, event)
        finding = _add_permits(view, seq, event, finding).with_additions(*_stale_minimum_facts(view), in_front=True)
        return finding.with_additions(
            *gang_parts.subgroup_minimum_facts(view), *_quota_facts(view), *_delayed_pod_facts(view)
        )
    if ENQUEUE not in view.actions and ALLOCATE in view.actions:
        return None
    actions = ", ".join(view.actions)
    if any(view.facts_of(action).places for action in view.actions) and ENQUEUE in view.actions:
        return _too_late_finding(view)
    reason, add = f"no action of the configuration places pods ({actions})", ALLOCATE
    if ENQUEUE not in view.actions:
        reason = f"actions ({actions}) contain neither enqueue nor allocate, so its PodGroup stays Pending"
        add = f"{ENQUEUE} and {ALLOCATE}"
    evidence = opening_evidence(view.recording, "the session opens with the PodGroup Pending")
    return view.rejected(Cause.NOT_CONFIGURED, reason, {}, evidence, (Advice.cluster_admin(f"Add {add} to actions."),))


@per_recording()
def _first_scheduling_seq(recording: Recording) -> Seq | None:
    starts = action_seqs(recording, "start")
    return min((seq for action, seq in starts.items() if recording.conf.facts_of(action).places), default=None)


def _quoted_rejection(view: JobView, seq: Seq, event: HookEvent) -> Finding:
    """The finding about a rejection by a plugin without its own explanation; quotes the plugin's message."""
    message, plugin = view.plugin_message(seq), event.plugin
    facts = (f'Scheduler message: "{message}".',) if message else ()
    reason, evidence = f"plugin {plugin} rejects it in enqueue", rejection_evidence(seq, plugin)
    advice = (Advice.cluster_admin(f"Check the arguments of plugin {plugin}, or set its enableJobEnqueued to false."),)
    return view.rejected(f"{REJECTED_BY}{plugin}", reason, {}, evidence, advice, facts=facts)


def later_rejections(view: JobView) -> Iterator[Finding]:
    """Yields findings of the limits that would reject the PodGroup too, but that an earlier rejection left unasked."""
    calls = view.calls_about(JOB_ENQUEUEABLE.upstream)
    seq, event = next(((seq, event) for seq, event in reversed(calls) if event.result < 0), (0, None))
    group = hook_calls_at(view.recording, seq) if event is not None else None
    if event is None or group is None:
        return
    for vote in group.votes:
        if vote.state != "not asked" or not _exceeds_limit(view, seq, vote.plugin):
            continue
        explain = explainer_for(vote.plugin).rejected
        finding = explain(view, seq, event._replace(plugin=vote.plugin)) if explain is not None else None
        if finding is not None:
            before = Evidence(seq, f"{event.plugin} rejects it before {vote.plugin} is asked")
            yield replace(finding, evidence=(before,))


def _exceeds_limit(view: JobView, seq: Seq, plugin: str) -> bool:
    """Whether the minimum exceeds the plugin's limit, or the queue is closed; False for plugins without limits."""
    if plugin == OVERCOMMIT:
        return bool(overcommit.admission_check(view.recording, seq, view.job).exceeded_dimensions)
    quota = explainer_for(plugin).quota
    if quota is not None and refuses_by_state(view):
        return True
    checks = quota.admission(view.recording, seq, view.job) if quota is not None else []
    exceeded = [(check, name) for check in checks for name in check.exceeded_dimensions]
    # A limit that is the whole cluster says no more than the rejection itself.
    return any(not is_whole_cluster(view, check.check.limit, name) for check, name in exceeded)


def _stale_minimum_facts(view: JobView) -> Iterator[str]:
    """The fact that all pods of the minimum exist and request less than minResources, which is then out of date."""
    min_resources, count = view.job.pod_group.min_resources, len(view.tasks)
    if min_resources is None or not has_all_pods(view.recording, view.job):
        return
    request = sum_resources(task.init_resreq for task in view.tasks.values())
    lower = [(name, request.get(name)) for name, value in min_resources.items() if value > request.get(name)]
    if texts := [format_named_amount(name, amount) for name, amount in lower if not is_quota_count(name)]:
        pods, ask, group = count_noun(count, "pod"), verb_for(count, "asks"), view.job.pod_group
        owner = "" if group.is_made_for_pods() else next(iter(owner_names(group.manifest)), "")
        computed = f", which the operator of {owner} computes," if owner and not owner.startswith("Job ") else ""
        yield f"Its {pods} {ask} only {join_names(texts)}: minResources{computed} does not follow what the pods ask."


def has_all_pods(recording: Recording, job: JobInfo) -> bool:
    """Whether all pods that the PodGroup's minResources is meant for exist; False for a gang of one, such as a driver
    that creates pods later, unless Volcano's controller made the PodGroup for its pods.
    """
    owners = workloads_of(recording, job.pod_group.manifest)
    stated = [sum(facts.replicas.values()) for _, facts in owners]  # exact: ints
    is_gang = job.min_available > 1 and max(stated, default=0) <= len(job.tasks)
    return len(job.tasks) >= job.min_available and (is_gang or job.pod_group.is_made_for_pods())


def _quota_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if pods that exist before their PodGroup is admitted use a ResourceQuota."""
    quotas = view.recording.snapshot.objects_of("ResourceQuota") if view.tasks else ()
    for quota in (one for one in quotas if key_of(one).startswith(f"{view.job.namespace}/")):
        status = status_of(quota)
        for name, hard in (status.get("hard") or {}).items():
            request = sum_resources(task.resreq for task in view.tasks.values()).get(name.removeprefix("requests."))
            used = (status.get("used") or {}).get(name)
            if request > 0 and used is not None:
                pods = f"{count_noun(len(view.tasks), 'pod')} {verb_for(len(view.tasks), 'exists')} already"
                is_volcano_job = volcano_job_of(view.recording.snapshot, view.job.pod_group.manifest) is not None
                rule = "" if is_volcano_job else f"; {_DELAYED_PODS}"
                yield f"Its {pods}, and ResourceQuota {name_of(quota)} counts {used} of {hard} {name} as used{rule}."
                return


def _delayed_pod_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if the PodGroup is that of a Volcano Job, which has no pods before it is admitted."""
    if not view.tasks and not view.hidden_pods and is_of_volcano_job(view.job):
        yield f"It has no pods yet: {_DELAYED_PODS}."


def is_of_volcano_job(job: JobInfo) -> bool:
    """Whether a Volcano Job owns the job's PodGroup."""
    owners = owners_of(job.pod_group.manifest)
    return any(one.get("kind") == "Job" and str(one.get("apiVersion")).startswith(_VOLCANO_JOB) for one in owners)


_VOLCANO_JOB = "batch.volcano.sh/"
_DELAYED_PODS = "a Volcano Job creates its pods only once admitted"


def _add_permits(view: JobView, seq: Seq, event: HookEvent, finding: Finding) -> Finding:
    """Add why a permit in the same tier does not outweigh the rejection."""
    calls, plugin = hook_calls_at(view.recording, seq), event.plugin
    votes = calls.answered if calls is not None else []
    # Votes of one tier are combined: there a single reject outweighs every permit.
    tier = next((vote.tier for vote in votes if vote.plugin == plugin), 0)
    permits = [vote for vote in votes if vote.tier == tier and vote.result > 0 and vote.plugin in PERMITTING_PLUGINS]
    if not permits:
        return finding
    who = join_names(vote.plugin for vote in permits)
    rejection = f"{plugin} in the same tier ({tier}) rejects it: within a tier one rejection wins"
    words = f"Move {who} into an earlier tier than {plugin}; its permit then decides."
    advice = Advice.cluster_admin(words).as_repair()
    proof = (Evidence(vote.seq, f"{vote.plugin} permits it") for vote in permits if vote.seq is not None)
    evidence = tuple(sorted((*finding.evidence, *proof)))
    return replace(finding.with_additions(f"{who} permits the job, but {rejection}.", advice), evidence=evidence)


def _too_late_finding(view: JobView) -> Finding:
    first = next(action for action in view.actions if view.facts_of(action).places)
    steps = ((_first_scheduling_seq(view.recording), f"{first} begins"), (view.action_ends(ENQUEUE), f"{ENQUEUE} ends"))
    evidence = tuple(sorted(Evidence(seq, text) for seq, text in steps if seq is not None))
    reason = f"enqueue comes later in {view.actions_text}"
    advice, state = (Advice.cluster_admin("Put enqueue first in actions."),), f"was not admitted before {first} ran"
    return view.pending(Cause.TOO_LATE, reason, {}, evidence, advice, state=state)


# A Volcano Job that this cycle admits: its controller creates the pods afterwards.


def admitted(view: JobView) -> Finding | None:
    """The finding if this cycle admits the PodGroup of a Volcano Job without pods; None otherwise."""
    job, end = view.job, len(view.recording)
    phases = view.recording.timeline.opening_phases, view.recording.timeline.state_at(end).phases
    opening_phase, final_phase = (phase_by_job[job.uid] for phase_by_job in phases)
    if view.tasks or view.hidden_pods or opening_phase not in WAITING_PHASES or final_phase in WAITING_PHASES:
        return None
    full_quota = next(exhausted_quotas(view.recording, job.namespace, next_pod_amounts(view)), None)
    if full_quota is not None or not is_of_volcano_job(job):
        return None
    state, reason, advice = "is admitted in this cycle", "its controller creates its pods next", tuple[Advice, ...]()
    if (fault := controller_fault(view.recording, "Job")) is not None:
        state, reason, advice = f"{state}, and gets no pods", fault.fact, (fault.advice,)
    headline = CauseHeadline(job.uid, state, reason)
    evidence = proof_of(view.action_ends(ENQUEUE), "enqueue has set the PodGroup to Inqueue")
    numbers = counts({"job.minAvailable": job.min_available})
    facts = (format_fit(view), *_reported_facts(view))
    return Finding(Cause.ADMITTED, headline, numbers, evidence, advice, facts=facts)


def _reported_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence: the PodGroup's condition, which sounds like a fault, is written as long as it has no pods."""
    for condition in view.job.pod_group.conditions:
        if (condition.type, condition.status) == (UNSCHEDULABLE_CONDITION, "True"):
            words = f'{condition.type} ({condition.reason}: "{condition.message}")'
            rule = GANG_CLOSE_WITHOUT_TASKS
            is_older = view.recording.snapshot.release.has_older_form(rule)
            writes = "the scheduler writes" if is_older else f"releases before {rule.fixed_in[0]} write"
            yield f"Its condition {words} is not an error: {writes} it as long as the job has no pods."


def format_fit(view: JobView) -> str:
    """A sentence: whether the pods that the controller creates next would fit when the cycle ends."""
    tasks, source = next_tasks(view)
    if all(task.resreq.is_empty() for task, _ in tasks):
        return "Its PodGroup has no minResources, so whether the pods would fit is unknown."
    sizes = (f"{count_noun(number, 'pod')} of {format_resource(task.resreq)}" for task, number in tasks)
    return f"{join_names(sizes)} ({source}) {_count_places(view, tasks)}"


def _count_places(view: JobView, tasks: Sequence[tuple[TaskInfo, int]]) -> str:
    """Whether the minimum of pods would fit and where, or how many would; the pods are placed one after another."""
    placed, node_names, taken = 0, dict[NodeName, None](), dict[NodeName, Resource]()
    for task, replicas in tasks:
        fits = NodeFits(view, task, len(view.recording))
        request = [(dimension, amount) for dimension, amount in task.resreq.items() if amount > 0]
        remaining = replicas
        for name in sorted(node.name for node in fits.free_nodes):
            idle, used = fits.state.nodes[name].idle, taken.setdefault(name, Resource())
            rooms = (int((idle.get(dimension) - used.get(dimension)) / amount + 1e-9) for dimension, amount in request)
            count_here = min(remaining, *rooms)
            if count_here > 0:
                used.add(task.resreq.clone().multi(count_here))
                node_names[name] = None
                remaining -= count_here
        placed += replicas - remaining
        if remaining == replicas and fits.reason_histogram:
            reason, nodes = fits.reason_histogram[0]
            why = f"would not fit now: {reason} ({count_noun(len(nodes), 'node')})."
            return " ".join((why, *user_facts(fits)))
    if placed >= view.job.min_available:
        return f"would fit on {join_names(node_names)}{_used_capability(view, tasks[0][0])}."
    return f"would not fit now: the nodes have room for {placed}."


def _used_capability(view: JobView, task: TaskInfo) -> str:
    """Words about the queue's capability where its jobs use so much of it that the pod exceeds it; else empty."""
    jobs = [job for job in view.session.jobs.values() if job.queue == view.queue.name]
    limits = Resource.from_list(view.queue.capability or {})
    # Only what the capability states is limited: a Resource has cpu and memory, stated or not.
    for name, limit in [(name, limits.get(name)) for name in view.queue.capability or ()]:
        held, asked = fsum(job.allocated.get(name) for job in jobs), task.resreq.get(name)
        if asked and held + asked > limit:
            texts = format_amounts_apart(name, held, limit)
            return f", but queue {view.queue.name} has {texts[0]} of its capability {texts[1]} {name} in use"
    return ""
