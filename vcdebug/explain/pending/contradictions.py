"""What the cluster itself says against a finished answer: refusals by the running scheduler, rules that pods break
where they are, and settings that nothing reads or checks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import count_noun, format_age, format_resource, join_names, shorten_end, verb_for
from vcdebug.explain import queue_index
from vcdebug.explain.answer import (
    MAX_LINE_LENGTH,
    Advice,
    AdviceHarm,
    AdvisedFact,
    Cause,
    CauseHeadline,
    Explanation,
    Flaw,
)
from vcdebug.explain.component_reports import scheduler_events
from vcdebug.explain.decisions.evictions import evictions_by_preemptor
from vcdebug.explain.job_view import ExplainSubject, JobView, view_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.doubts import NOT_ADMITTED_BY
from vcdebug.explain.pending.gates.not_in_session import MAX_QUOTED
from vcdebug.explain.pending.gates.other_groups import split_application
from vcdebug.explain.pending.gates.placed import vain_evictions
from vcdebug.explain.pending.placement_constraints import RESERVED_CLAIM, claim_names_of, skewed_domains, unbound_claims
from vcdebug.explain.pending.scheduler_fault import last_heartbeat
from vcdebug.explain.pending.unread_settings import PLACED_FACTS, uncounted_by_queue, unread_settings, withheld_devices
from vcdebug.framework.registry import resolve_reference
from vcdebug.grouping import group_by_key
from vcdebug.kube.dynamic_resources import IN_ALLOCATION
from vcdebug.kube.node_affinity import parse_node_constraints
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.pod_group import COMPLETED, INQUEUE, PENDING
from vcdebug.model.resource import Resource
from vcdebug.model.task import ENDED_STATUSES, TaskInfo, TaskStatus
from vcdebug.plugins import (
    CAPACITY,
    DEVICESHARE,
    EXTENDER,
    NODEGROUP,
    OVERCOMMIT,
    PREDICATES,
    PROPORTION,
    RESOURCEQUOTA,
)
from vcdebug.plugins.predicates.static_filters import AFFINITY, CORDONED, TAINTED, StaticFilters
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.releases.nodes import NODEGROUP_ENDS_PREDICATES
from vcdebug.snapshot.manifest import bare_name, key_of, name_of, object_in, object_list, spec_of, status_of
from vcdebug.snapshot.provenance import stated_time
from vcdebug.snapshot.reported_events import event_time
from vcdebug.snapshot.workloads import policies_of, volcano_job_of


class _Contradiction(NamedTuple):
    """What speaks against a placement: words after the state in the first line, facts, advice."""

    state: str
    facts: tuple[str, ...]
    advice: tuple[Advice, ...]
    is_refusal: bool = False
    """Whether the running scheduler has long refused what the cycle does."""
    flaws: tuple[Flaw, ...] = ()


def add_contradictions(recording: Recording, subject: ExplainSubject, explanation: Explanation) -> Explanation:
    """The explanation with what the running scheduler said instead, and with settings of the job that nothing reads."""
    if subject.job not in recording.session.jobs:
        return explanation
    view, finding = view_of(recording, subject), explanation.dominant
    is_placed = finding.cause in (Cause.PLACES, Cause.ADMITTED)
    contradiction = next(_contradictions(view, finding.headline), None) if is_placed else None
    unseen = _unseen_node(view) if not explanation.scheduled else None
    if subject.detailed:
        placings = (_unchecked_node_facts, *PLACED_FACTS) if finding.cause == Cause.PLACES else ()
        unchecked = [fact for find in placings for fact in find(view)]
        finding = replace(finding, facts=(*finding.facts[:1], *withheld_devices(view, finding), *finding.facts[1:]))
        finding = finding.with_additions(*unchecked, in_front=True).with_additions(
            *_stale_states(view), *unread_settings(view)
        )
    advised = explanation.advised
    if unseen is not None:
        finding = replace(finding, facts=(*finding.facts[:1], unseen.fact, *finding.facts[1:]))
        advised = (unseen.advice, *advised)
    elif contradiction is not None:
        but = f", but {contradiction.state}" if contradiction.state else ""
        headline = finding.headline._replace(state=f"{finding.headline.state}{but}")
        headline = headline if len(str(headline)) <= MAX_LINE_LENGTH else finding.headline
        finding = replace(
            finding.with_additions(*contradiction.facts, *contradiction.flaws, in_front=True), headline=headline
        )
        advised = (*advised, *contradiction.advice)
    is_refused = contradiction is not None and contradiction.is_refusal
    return replace(explanation, dominant=finding, advised=advised, is_refused=is_refused)


def _contradictions(view: JobView, headline: CauseHeadline) -> Iterator[_Contradiction]:
    """Yields what speaks against a placement or an admission, the running scheduler's own words first."""
    yield from _refusals(view)
    yield from _plugin_doubts(view)
    for refusal in _group_refusals(view):
        # A first line that names the older release's rule has said already why that release refuses.
        known = headline.state.startswith(NOT_ADMITTED_BY)
        yield refusal._replace(state="", facts=refusal.facts[:1], advice=()) if known else refusal
    yield from _vain_evictions(view)
    yield from _claim_conflicts(view)
    yield from _broken_rules(view)
    yield from _queue_excess(view)
    yield from _uncounted_pods(view)
    for fact, advice in split_application(view):
        yield _Contradiction("its pods are in two queues", (fact,), (advice,))


_EITHER: Final = "Either room has become free just now, or it knows something that this snapshot does not have."


def _compare_advice() -> Advice:
    restart = "restart the scheduler, so that it reads devices, NUMA nodes and volumes again"
    words = f"If it stays Pending, compare its log (vcdebug check LOG SNAPSHOT), or {restart}."
    return Advice.from_outside(words, AdviceHarm.CLUSTER)


def _unseen_node(view: JobView) -> AdvisedFact | None:
    """The fact, if a node that --node-selector leaves out has room for the Pending pod; else None."""
    selector, task = view.recording.snapshot.flags.node_selector, view.blocked_task
    if not selector or task is None:
        return None
    for name, (allocatable, used) in _unseen_nodes(view.recording).items():
        if all(allocatable.get(key) - used.get(key) >= amount for key, amount in task.init_resreq.items()):
            flag, (key, _, value) = f"--node-selector={','.join(selector)}", selector[0].partition(":")
            edit = f"Node/{name}:metadata.labels[{key}]={value}"
            advice = Advice.cluster_admin(f"Label {name} {key}={value}, or change the scheduler's {flag}.", edit)
            return AdvisedFact(f"{name} has room for {task.name}, but this scheduler leaves it out: {flag}.", advice)
    return None


@per_recording()
def _unseen_nodes(recording: Recording) -> Mapping[str, tuple[Resource, Resource]]:
    """Node outside the session → (allocatable, what its pods request)."""
    up = (task for task in recording.timeline.tasks.values() if task.status not in ENDED_STATUSES)
    requests = group_by_key((task.node_name, task.resreq) for task in up)
    nodes = ((name_of(node), status_of(node).get("allocatable")) for node in recording.snapshot.objects_of("Node"))
    return {
        name: (Resource.from_list(allocatable), sum_resources(requests.get(NodeName(name), ())))
        for name, allocatable in nodes
        if name not in recording.session.nodes
    }


def _stale_states(view: JobView) -> Iterator[str]:
    """Yields sentences about phases of the PodGroup and the Volcano Job that contradict the job's pods."""
    opening = view.recording.timeline.opening_tasks
    statuses = [opening[task.key].status for task in view.tasks.values()]
    running, succeeded = statuses.count(TaskStatus.RUNNING), statuses.count(TaskStatus.SUCCEEDED)
    before, after = view.recording.timeline.opening_phases[view.job.uid], view.job.pod_group.phase
    left = statuses.count(TaskStatus.PENDING)
    if after == COMPLETED and left:
        counted = f"its phase counts only pods with a node ({len(statuses) - left}, ended), and holds up no Pending one"
        yield f"Its PodGroup is {COMPLETED} with {count_noun(left, 'Pending pod')}: {counted}."
    if before in (PENDING, INQUEUE) and running and running == len(statuses) >= view.job.min_available:
        change = f"this cycle makes it {after}" if after != before else "this cycle does not change that"
        yield f"Its PodGroup is still {before}, as an earlier cycle wrote it: {change}, and nothing of it waits."
    job = volcano_job_of(view.recording.snapshot, view.job.pod_group.manifest)
    phase = "" if job is None else object_in(status_of(job).get("state")).get("phase")
    name = view.job.uid if job is None else name_of(job)
    if phase == "Running" and statuses and not running + succeeded and statuses.count(TaskStatus.PENDING):
        kept = "is older than its pods: its controller keeps it while pods are made again"
        yield f"State Running of Job {name} {kept if view.job.min_available else MET_WITHOUT_PODS}."
    if job is not None and phase:
        yield from _recreated(view, name)
    if phase == PENDING and running + succeeded >= max(view.job.min_available, 1):
        done = f"{count_noun(running, 'pod')} {verb_for(running, 'runs')}, {succeeded} succeeded"
        yield f"State Pending of Job {name} is its controller's alone and holds nothing up: {done}."


MET_WITHOUT_PODS: Final = (
    "needs no running pod: its minAvailable is 0 (also where partitionPolicy has no minPartitions)"
)
_LATER: Final = timedelta(seconds=60)
"""By how much an object is younger than others that its controller makes in one go."""


def _recreated(view: JobView, name: str) -> Iterator[str]:
    """Yields sentences about the PodGroup and Pending pods that the controller of a Volcano Job has recreated."""
    times = {key: stated_time(task.pod.creation_timestamp) for key, task in view.tasks.items()}
    born = {key: time for key, time in times.items() if time is not None}
    group, oldest = view.job.pod_group, min(born, key=lambda key: born[key], default=None)
    made = stated_time(view.job.creation_timestamp)
    if oldest is not None and made is not None and made - born[oldest] > _LATER:
        younger = (
            f"is {format_age((made - born[oldest]).total_seconds())} younger than its pod {view.tasks[oldest].name}"
        )
        timeline, uid = view.recording.timeline, view.job.uid
        opening, enqueued = timeline.opening_phases[uid], timeline.state_at(view.action_ends(ENQUEUE) or 0).phases[uid]
        admits = ", which is in this cycle" if opening in ("", PENDING) and enqueued == INQUEUE else ""
        then = f"its controller creates missing pods only after its admission{admits}"
        yield f"PodGroup {group.name} {younger}: it was deleted and recreated{_who_deletes(view)}, and {then}."
    older = _older_pods(born)
    again = [task for task in view.pending_at_open if task.key in older]
    if again:
        oldest_name = view.tasks[min((older[task.key] for task in again), key=lambda key: born[key])].name
        gone = "the earlier ones are gone (deleted, evicted, or lost with their node)"
        ended = any(task.status is TaskStatus.SUCCEEDED for task in view.tasks.values())
        keep = "; it counts only pods that exist, even of those that succeeded: keep their nodes" if ended else ""
        are, them = ("is", "it") if len(again) == 1 else ("are", "them")
        names = join_names((task.name for task in again), 3)
        yield f"{names} {are} younger than {oldest_name}: Job {name} recreated {them}, since {gone}{keep}."


def _who_deletes(view: JobView) -> str:
    """The policy of the Volcano Job whose action also deletes the PodGroup before v1.16; empty without one."""
    job = volcano_job_of(view.recording.snapshot, view.job.pod_group.manifest)
    targeted = ("RestartPod", "RestartTask", "RestartPartition")
    policy = next((one for one in policies_of(job) if one[1] in targeted), None) if job is not None else None
    return f" (before v1.16 its controller does that for {': '.join(policy)}, #5342)" if policy else ""


def _older_pods(born: Mapping[TaskKey, datetime]) -> Mapping[TaskKey, TaskKey]:
    """Pod → the oldest pod of its role with a higher index, for pods that are much younger than that one."""
    older: dict[TaskKey, TaskKey] = {}
    parts = ((key, *key.rpartition("-")[::2]) for key in born)
    for keys in group_by_key(
        (role, (int(at), key)) for key, role, at in parts if at.isdecimal() and len(at) < 10
    ).values():
        oldest = None
        for _, key in sorted(keys, reverse=True):
            if oldest is not None and born[key] - born[oldest] > _LATER:
                older[key] = oldest
            oldest = key if oldest is None or born[key] < born[oldest] else oldest
    return older


_REFUSED_SECONDS: Final = 300
"""Seconds of refusals, from which on it is not likely that the room has become free just now."""


def _refusals(view: JobView) -> Iterator[_Contradiction]:
    """Yields the last refusal of a pod that this cycle places and the running scheduler has long refused."""
    for task in view.placed_tasks:
        for condition in object_list(status_of(task.pod.manifest).get("conditions")):
            message = str(condition.get("message") or "")
            is_refused = (condition.get("type"), condition.get("status")) == ("PodScheduled", "False")
            age = _refused_for(view, condition.get("lastTransitionTime")) if is_refused and message else 0.0
            if age < _REFUSED_SECONDS:
                continue
            quoted = shorten_end(message, MAX_QUOTED) if len(message) > MAX_QUOTED else message.rstrip(".")
            unbound = next(unbound_claims(view.recording.snapshot, task.pod), None) if "volume" in message else None
            why, advice = _EITHER, _compare_advice()
            for doubt in _plugin_doubts(view, EXTENDER):
                why, advice = doubt.facts[0], doubt.advice[0]
            if IN_ALLOCATION in message:
                why, advice = RESERVED_CLAIM
            if unbound is not None:
                why = f"It is placed each time, and then its volume is awaited in vain: {unbound.fact}."
                advice = unbound.advice
            yield _refused(age, f'about {task.name}: "{quoted}"', why, advice)


def _refused(age: float, said: str, why: str, advice: Advice) -> _Contradiction:
    words = f"The running scheduler's last words {said}."
    return _Contradiction(f"has been refused for {format_age(age)}", (words, why), (advice,), is_refusal=True)


def _refused_for(view: JobView, since: object) -> float:
    """Seconds from a stated time to the last heartbeat of a node; 0 where one of them is not known."""
    seen, refused_at = last_heartbeat(view.recording), stated_time(since)
    return (seen - refused_at).total_seconds() if seen is not None and refused_at is not None else 0.0


def _rejections() -> dict[str, str]:
    """Beginnings of the scheduler's messages about PodGroups that enqueue rejects → the plugin that writes them."""
    # Plugins that may not be configured, and then are not loaded otherwise.
    from vcdebug.plugins import overcommit, proportion, resourcequota

    return {
        overcommit.OVERUSED_MESSAGE: OVERCOMMIT,
        proportion.QUOTA_MESSAGE: f"{PROPORTION} or {CAPACITY}",
        resourcequota.REFUSAL_MESSAGE.partition(",")[0]: RESOURCEQUOTA,
    }


def _group_refusals(view: JobView) -> Iterator[_Contradiction]:
    """Yields the rejection of a PodGroup that this cycle admits and the running scheduler has long rejected."""
    phase, seen = view.recording.timeline.opening_phases[view.job.uid], last_heartbeat(view.recording)
    if phase not in ("", PENDING) or seen is None:
        return
    events = scheduler_events(view.recording, ExplainSubject(view.job.uid))
    rejections = _rejections() if events else {}
    for event in events:
        message, last = str(event.get("message") or ""), event_time(event)
        plugin = next((name for start, name in rejections.items() if message.startswith(start)), "")
        age = _refused_for(view, event.get("firstTimestamp")) if plugin else 0.0
        if age >= _REFUSED_SECONDS and last is not None and (seen - last).total_seconds() < _REFUSED_SECONDS:
            times = event.get("count")
            often = f", {count_noun(times, 'time')}" if isinstance(times, int) and times > 1 else ""
            said = f'about its PodGroup{often}: "{shorten_end(message, MAX_QUOTED)}" (plugin {plugin})'
            yield _refused(age, said, _EITHER, _compare_advice())


# Rules of pods that this scheduler does not check, or that running pods break


def _vain_evictions(view: JobView) -> Iterator[_Contradiction]:
    """Yields that pods are evicted for a pod that its node refuses even without them."""
    evictions = evictions_by_preemptor(view.recording).get(view.job.uid, ())
    waiting = view.pipelined_tasks if evictions else []
    for task, failure in vain_evictions(view, waiting, [one.victim for one in evictions]) if waiting else ():
        pod = "it" if len(waiting) == 1 else task.name
        rule = f"{evictions[0].action} only frees resources and asks no filter again, so it can evict in each cycle"
        state, facts = f"{task.node_name} will refuse {pod}", (f"{failure.text}: {rule}.",)
        yield _Contradiction(state, facts, failure.advice, flaws=(Flaw.REFUSED_LATER,))


_ONE_POD: Final = "ReadWriteOncePod"


def _claim_conflicts(view: JobView) -> Iterator[_Contradiction]:
    """Yields a claim for one pod alone that a placed pod shares with a pod on a node."""
    placed = [task for task in view.placed_tasks if claim_names_of(task.pod)]
    mounting = _pods_by_single_claim(view.recording) if placed else {}
    claims = ((task, name) for task in placed for name in claim_names_of(task.pod)) if mounting else ()
    for task, name in claims:
        holder = next((one for one in mounting.get(f"{task.namespace}/{name}", ()) if one.key != task.key), None)
        if holder is not None:
            rule = f"Its claim {name} is {_ONE_POD}, and {holder.name} on {holder.node_name} uses it"
            why = f"{view.recording.snapshot.release.display_name()} does not compare that (pull request #5774 does)"
            facts = (f"{rule}: the kubelet refuses {task.name}; {why}.",)
            delete = Advice.from_outside(f"End {holder.name} first, or give the claim access mode ReadWriteOnce.")
            yield _Contradiction("cannot start there", facts, (delete,))


@per_recording()
def _pods_by_single_claim(recording: Recording) -> Mapping[str, Sequence[TaskInfo]]:
    """namespace/name of a claim for one pod alone → the pods on nodes that mount it."""
    objects = recording.snapshot.objects_of("PersistentVolumeClaim")
    claims = {key_of(one) for one in objects if _ONE_POD in (spec_of(one).get("accessModes") or ())}
    up = [task for task in recording.timeline.tasks.values() if task.node_name and task.status not in ENDED_STATUSES]
    up.sort(key=lambda task: task.status is not TaskStatus.RUNNING)
    mounts = ((f"{task.namespace}/{name}", task) for task in up if claims for name in claim_names_of(task.pod))
    return group_by_key((key, task) for key, task in mounts if key in claims)


_PLUGIN_DOUBTS: Final = {
    DEVICESHARE: ("with no memory of its card", "vcdebug.explain.plugins.deviceshare:uncounted_shares"),
    EXTENDER: ("the extender may reject it", "vcdebug.explain.plugins.extender:missing_answers"),
}
"""Plugin → words after the state, and the function that yields what is open; loaded where it is configured."""


def _plugin_doubts(view: JobView, *only: str) -> Iterator[_Contradiction]:
    """Yields what a configured plugin leaves open about a placed job: of all plugins, or of the named ones."""
    configured = view.recording.conf.plugin_names()
    for plugin in [name for name in only or _PLUGIN_DOUBTS if name in configured]:
        state, reference = _PLUGIN_DOUBTS[plugin]
        for fact, advice in resolve_reference(reference)(view):
            yield _Contradiction(state, (fact,), (advice,))


class _KnownFault(NamedTuple):
    """Releases that do not check a rule of pods."""

    rule: str
    releases: str
    """A pattern of names of releases."""
    issue: str
    fixed_in: str


_KNOWN_FAULTS: Final = (
    _KnownFault("topologySpreadConstraints", r"v?1\.10\.0", "#3726", "v1.10.1"),
    _KnownFault("podAntiAffinity", r"v?1\.[0-2](\..*)?", "#1499", "v1.3.0"),
    _KnownFault("capability", r"v?1\.([0-3](\..*)?|[45]\.0)", "#1860", "v1.4.1, v1.5.1"),
)


def _broken_rules(view: JobView) -> Iterator[_Contradiction]:
    """Yields a hard rule of the job's running pods that these pods break where they are."""
    running = [task for task in view.tasks.values() if task.status is TaskStatus.RUNNING]
    for task in {_rules_of(task): task for task in running if any(_rules_of(task))}.values():
        for rule, where in _broken_rules_of(view, task):
            fault, upgrade = _known_fault(view, rule)
            why = fault or "labels or pods have changed since, or another scheduler placed them"
            pods = "Delete the pods that are too many: they are created again and placed by the rule."
            facts = (f"{where}.", f"A scheduler checks this rule only when it places a pod: {why}.")
            yield _Contradiction(f"breaks its {rule}", facts, (Advice.from_outside(f"{upgrade}{pods}"),))


def _known_fault(view: JobView, rule: str) -> tuple[str, str]:
    """(words, advice) if the stated release does not check a rule of pods or queues; empty if it does."""
    stated = view.recording.snapshot.release.stated_name
    for fault in _KNOWN_FAULTS:
        if fault.rule == rule and re.fullmatch(fault.releases, stated):
            words = f"{stated} does not check it ({fault.issue}, fixed in {fault.fixed_in})"
            return words, f"Upgrade Volcano to {fault.fixed_in} or later. "
    return "", ""


def _queue_excess(view: JobView) -> Iterator[_Contradiction]:
    """Yields that running pods of the job's queue hold more than its capability of what the job's pods ask for."""
    queue = view.queue.name
    unlimited = [
        name
        for name in queue_index.zero_limits(view.queue)
        if any(task.resreq.get(name) for task in view.tasks.values())
    ]
    if unlimited:
        names = " and ".join(f"0 {name}" for name in unlimited)
        fact = f"Queue {queue}: spec.capability states {names}, which counts as not stated."
        small = f"Queue {queue}: state a small amount in place of {names} in spec.capability, or close the queue."
        advice = Advice.from_outside(small, AdviceHarm.QUEUE)
        yield _Contradiction(f"its queue's capability of {names} limits nothing", (fact,), (advice,))
    for name, held_text, limit_text in queue_index.amounts_above_capability(view.recording, queue):
        if any(task.resreq.get(name) for task in view.tasks.values()):
            fault, upgrade = _known_fault(view, "capability")
            why = fault or "the capability was lowered since, or the pods were placed without it"
            fact = f"Queue {queue} holds {held_text} {name} of its capability {limit_text}: {why}."
            ends = f"End pods of queue {queue}: no action evicts for a capability, and it gets no more before."
            advice = Advice.from_outside(f"{upgrade}{ends}", AdviceHarm.QUEUE)
            yield _Contradiction("its queue is above its capability", (fact,), (advice,))


def _uncounted_pods(view: JobView) -> Iterator[_Contradiction]:
    """Yields that pods which name the job's queue are not counted to it, and that it is above its capability with them.

    A queue counts the pods of its PodGroups; an operator can delete a PodGroup while its pods run.
    """
    recording, queue = view.recording, view.queue.name
    tasks = uncounted_by_queue(recording).get(queue, ())
    asked = {name for task in view.tasks.values() for name in task.resreq.resource_names()}
    above = queue_index.amounts_above_capability(recording, queue, tuple(tasks)) if tasks else ()
    for name, held_text, limit_text in [one for one in above if one[0] in asked][:1]:
        groups = join_names(dict.fromkeys(bare_name(task.job) for task in tasks), 2)
        amount = format_resource(sum_resources(task.resreq for task in tasks), [name])
        missing = f"{count_noun(len(tasks), 'pod')} ({amount}) {verb_for(len(tasks), 'runs')} for queue {queue}"
        fact = f"{missing}, but PodGroup {groups} does not exist, so no queue counts them"
        total = f"with them the queue would hold {held_text} of its capability {limit_text} {name}"
        again = f"Create PodGroup {groups} again (queue {queue}), or end the pods that name it"
        advice = Advice.from_outside(f"{again}: only through a PodGroup does a queue count pods.", AdviceHarm.QUEUE)
        yield _Contradiction(f"its queue does not count {len(tasks)} running pods", (f"{fact}; {total}.",), (advice,))


def _rules_of(task: TaskInfo) -> tuple[str, str]:
    """The texts of a pod's hard rules about other pods: pods of one template have the same."""
    spec = task.pod.spec
    spread = [one for one in object_list(spec.get("topologySpreadConstraints")) if one.get("maxSkew")]
    affinity = object_in(object_in(spec.get("affinity")).get("podAntiAffinity"))
    return str(spread or ""), str(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or "")


def _broken_rules_of(view: JobView, task: TaskInfo) -> Iterator[tuple[str, str]]:
    """Yields (rule, the pods that break it) of a running pod and its likes."""
    from vcdebug.explain.pending.constraint_failures import excluded_beside  # slow to import, and seldom needed

    rules, fits = _rules_of(task), NodeFits(view, task, len(view.recording))
    running = (one for one in view.tasks.values() if one.status is TaskStatus.RUNNING)
    alike = [one for one in running if _rules_of(one) == rules] if rules[1] else []
    if pods := list(excluded_beside(fits, alike)):
        one, others = pods[0]
        more = f", as {count_noun(len(pods) - 2, 'other pod')} of the job" if len(pods) > 2 else ""
        names = join_names(each.name for each in others)
        yield "podAntiAffinity", f"{one.name} and {names} are both on {one.node_name}{more}"
    for text in skewed_domains(fits) if rules[0] else ():
        yield "topologySpreadConstraints", text


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
