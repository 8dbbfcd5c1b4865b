"""Statements and their evictions (victim, preemptor, outcome, price), and why a job loses pods."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from vcdebug.amount_text import capitalize_first, count_noun, format_amounts_apart, format_number, join_names, verb_for
from vcdebug.explain.answer import Advice, Flaw, with_flaw
from vcdebug.explain.decisions.votes import HOOK_AT, earlier_tier_facts, unasked_plugins, victim_question_before
from vcdebug.explain.equation import first_exceeded, format_figures
from vcdebug.explain.job_view import ExplainSubject, JobView, view_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import explainer_for
from vcdebug.framework.hooks import ALLOCATABLE, VICTIM_TASKS
from vcdebug.framework.record import PLACING_OPS, Level
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
from vcdebug.model.pod import PREEMPTABLE_KEY
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import GANG
from vcdebug.recording.effects import CARRIED_OUT_FATES, EvictOperation, evict_operations
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import idle_without, last_operation, sum_resources, task_of
from vcdebug.recording.visits import JobVisit, refusals_in
from vcdebug.releases.scheduling import PREEMPTION_POLICY_UNREAD
from vcdebug.snapshot.manifest import annotations_of, bare_name, name_of
from vcdebug.snapshot.workloads import owner_objects, policies_of, volcano_job_of

MOST_NODES = 3
ORDER_OF_NODES_NOTE = "nodes are tried in order of score, not of their victims' priority"


class Eviction(Struct, frozen=True):
    """One planned eviction, carried out or discarded, with its owner and its preemptor."""

    seq: Seq
    victim: TaskKey
    job: JobId
    """The victim's job; empty if the session has none."""
    queue: QueueName
    node: NodeName
    action: str
    preemptor: str
    """The task, or for gang actions the job, for which the victim is evicted; empty without a preemptor."""
    tier: int | None
    """The tier of plugins that decided on the victim; None if no tier did."""
    statement_end: str
    """As EvictOperation states it."""
    end: Seq
    requester: str = ""
    """The plugin that named the victim without a preemptor; empty otherwise."""

    @property
    def is_carried_out(self) -> bool:
        """Whether it happens."""
        return self.statement_end in CARRIED_OUT_FATES


def eviction_words(eviction: Eviction, victim: str) -> str:
    """`reclaim evicts a/x-0 on n1 to make room for b/y-0`: the action, the node and the preemptor."""
    asked = f"for no other pod (plugin {eviction.requester} requested the eviction)" if eviction.requester else ""
    purpose = f"to make room for {eviction.preemptor}" if eviction.preemptor else asked or "for no other pod"
    return f"{eviction.action} evicts {victim}{f' on {eviction.node}' if eviction.node else ''} {purpose}"


@per_recording()
def planned_evictions(recording: Recording) -> tuple[Eviction, ...]:
    """Every planned eviction of the cycle in order, including discarded ones."""
    return tuple(_build_eviction(recording, operation) for operation in evict_operations(recording))


def eviction_of(recording: Recording, pod: TaskKey) -> Eviction | None:
    """The pod's eviction: the last one that was carried out, else the last one that was planned; None without one."""
    planned = [eviction for eviction in planned_evictions(recording) if eviction.victim == pod]
    return next(reversed([eviction for eviction in planned if eviction.is_carried_out] or planned), None)


@per_recording()
def evictions_by_preemptor(recording: Recording) -> Mapping[JobId, Sequence[Eviction]]:
    """Job → evictions that were carried out to make room for it."""
    owners = recording.owners.jobs
    # The preemptor of a gang action is the job itself.
    return group_by_key((owners.get(one.preemptor, one.preemptor), one) for one in carried_out(recording))


@per_recording()
def carried_out(recording: Recording) -> list[Eviction]:
    """The evictions that were carried out, in order."""
    kept = [operation for operation in evict_operations(recording) if operation.is_carried_out]
    return [_build_eviction(recording, operation) for operation in kept]


@per_recording()
def evictions_by_victim(recording: Recording) -> Mapping[JobId, Sequence[Eviction]]:
    """Job → evictions of its own pods that were carried out, for any preemptor."""
    return group_by_key((eviction.job, eviction) for eviction in carried_out(recording))


@per_recording()
def _evictions_by_pod(recording: Recording) -> Mapping[TaskKey, Sequence[Eviction]]:
    return group_by_key((eviction.victim, eviction) for eviction in carried_out(recording))


def _preemptor_name(recording: Recording, seq: Seq) -> str:
    """The preemptor: the task, else the job; empty if the action had none."""
    return recording.span_tree.name_around(seq, Level.TASK) or recording.span_tree.name_around(seq, Level.JOB)


def _build_eviction(recording: Recording, operation: EvictOperation) -> Eviction:
    owners, (seq, event, fate, end) = recording.owners, operation
    job, action = owners.jobs.get(event.task, ""), recording.span_tree.name_around(seq, Level.ACTION)
    preemptor = _preemptor_name(recording, seq)
    question = victim_question_before(recording, seq) if preemptor else None
    tier = question.deciding_tier if question is not None and event.task in (question.outcome or ()) else None
    queue, requester = owners.queues.get(job, ""), "" if preemptor else _requester_name(recording, seq, event.task)
    return Eviction(seq, event.task, job, queue, event.node, action, preemptor, tier, fate, end, requester)


def _requester_name(recording: Recording, seq: Seq, victim: TaskKey) -> str:
    """The plugin that named a victim which no pod needs; empty for none."""
    calls = (event for at, event in recording.hook_calls(VICTIM_TASKS.upstream) if at < seq)
    return next((event.plugin for event in calls if victim in event.victims), "")


def loss_facts(view: JobView, evictions: Sequence[Eviction]) -> Iterator[str | Flaw]:
    """Yields why pods of the job are evicted: the plugins that allow it, with figures, then facts of the other job."""
    yield from _unread_protections(view, evictions[0].action)
    yield from _allowing_facts(view.recording, evictions[0])
    owners = view.recording.owners.jobs
    preemptors = dict.fromkeys(owners.get(one.preemptor, one.preemptor) for one in evictions)
    if len(preemptors) == 1 and (other := next(iter(preemptors))) in view.session.jobs:
        lost = evictions_by_victim(view.recording)[view.job.uid]
        victims = [one.victim for one in lost if owners.get(one.preemptor, one.preemptor) == other]
        facts = eviction_facts(view_of(view.recording, ExplainSubject(other)), victims)
        yield from (fact for fact in facts if not isinstance(fact, Advice))
    yield Flaw.LOSES_PODS


def _unread_protections(view: JobView, action: str) -> Iterator[str]:
    """Yields what the job's queue, PodGroup or owner states against evictions and the action does not read."""
    if not view.queue.reclaimable and not view.facts_of(action).across_queues:
        yield f"Queue {view.queue.name} states reclaimable: false, which {action} does not read."
    group = view.job.pod_group.manifest
    for one in (group, *owner_objects(view.recording.snapshot, group)):
        if annotations_of(one).get(PREEMPTABLE_KEY) == "false":
            owner = f"{one['kind']} {name_of(one)}"
            yield f'{owner} states {PREEMPTABLE_KEY}: "false", and its pods do not: {action} does not read it there.'


def _allowing_facts(recording: Recording, eviction: Eviction) -> Iterator[str]:
    """Yields the figures by which plugins of the deciding tier allow a victim, and what its queue uses too much."""
    from vcdebug.explain.decisions.equations import equation_at

    question = victim_question_before(recording, eviction.seq) if eviction.tier is not None else None
    for vote in question.tier(eviction.tier) if question is not None and eviction.tier is not None else ():
        equation = equation_at(recording, vote.seq) if vote.seq is not None else None
        terms = [term for term in (equation.terms if equation else ()) if term.name == eviction.victim and term.is_met]
        for term in terms[:1]:
            if equation and len([one for one in term.figures if isinstance(one, int | float)]) > 1:
                figures = format_figures(equation, term)
                why = f"{figures} (any pods of the job count)" if vote.plugin == GANG else figures
                yield f"{vote.plugin} (tier {vote.tier}) allows {bare_name(eviction.victim)}: {why}."
    owners = recording.owners
    other = owners.queues.get(owners.jobs.get(eviction.preemptor, eviction.preemptor), "")
    if other and other != eviction.queue:
        names = [name for name, amount in task_of(recording, eviction.victim).resreq.items() if amount > 0]
        if use := queue_use_words(recording, eviction.queue, names, eviction.seq - 1):
            yield f"{capitalize_first(use)}."


def protection_advice(recording: Recording, eviction: Eviction, pods: Sequence[TaskInfo]) -> Iterator[Advice]:
    """Yields what keeps these pods of the victim's job: an annotation that actions read, and a tier that protects."""
    if eviction.preemptor and len(pods) <= MOST_ANNOTATED:
        edits = (f'Pod/{task.key}:metadata.annotations[{PREEMPTABLE_KEY}]="false"' for task in pods)
        which = pods[0].key if len(pods) == 1 else f"the pods of {eviction.job}"
        yield Advice.queue_admin(f'Annotate {which} with {PREEMPTABLE_KEY}: "false" (in the pod template).', *edits)
    question = victim_question_before(recording, eviction.seq) if eviction.tier is not None else None
    votes = question.answered if question is not None else []
    protectors = [vote.plugin for vote in votes if eviction.victim not in vote.allowed_victims]
    deciders = [vote.plugin for vote in votes if vote.tier == eviction.tier]
    if question is not None and protectors:
        switch = HOOK_AT[question.point].switches[0]
        words = f"{join_names(deciders)}: set {switch} to false, so that {join_names(protectors)} decides."
        yield Advice.cluster_admin(words, *(f"conf:plugins.{plugin}.{switch}=false" for plugin in deciders))


MOST_ANNOTATED = 50
"""The maximum number of pods of a job whose annotations a test changes."""


def queue_use_words(recording: Recording, queue: QueueName, names: Iterable[str], seq: Seq) -> str:
    """`queue q1 uses 3 nvidia.com/gpu and deserves 1`: what a queue uses above what it deserves; empty if nothing."""
    state = recording.timeline.state_at(seq)
    for plugin in (each for each in state.books if queue in state.books[each]):
        used, deserved = (state.plugin_amount(plugin, queue, figure) for figure in ("allocated", "deserved"))
        for name in (each for each in names if used.get(each) > deserved.get(each) > 0):
            used_text, deserved_text = format_amounts_apart(name, used.get(name), deserved.get(name))
            return f"queue {queue} uses {used_text} {name} and deserves {deserved_text}"
    return ""


def eviction_facts(view: JobView, victims: Sequence[TaskKey]) -> Iterator[str | Advice | Flaw]:
    """Yields sentences, flaws and advice: deciding tier, lower priorities elsewhere, broken gangs, fewer victims."""
    for_job, facts_of = evictions_by_preemptor(view.recording).get(view.job.uid, ()), view.recording.conf.facts_of
    own = [one for one in for_job if one.preemptor in view.tasks and facts_of(one.action).evicts_by_pod]
    if own:
        yield from _deciding_tier_facts(view, own[0])
        yield from with_flaw(Flaw.MILDER_VICTIM, milder_nodes_facts(view.recording, own[0]))
        yield from _unread_policy(view, own)
        yield from _priority_facts(view, own)
    calls = victim_question_before(view.recording, own[0].seq) if own else None
    silent = [vote for vote in (calls.votes if calls is not None else ()) if vote.state == "switched off"]
    off = (f" ({GANG} does not protect it: {vote.silence_reason})" for vote in silent if vote.plugin == GANG)
    yield from _broken_gang_facts(view, victims, next(off, ""))
    by_pod = _evictions_by_pod(view.recording)
    planned = sorted((one for key in dict.fromkeys(victims) for one in by_pod.get(key, ())), key=lambda one: one.seq)
    yield from useless_facts(view.recording, planned)
    yield from with_flaw(Flaw.BELOW_DESERVED, _queue_left_facts(view, planned))
    yield from with_flaw(Flaw.MANY_VICTIMS, _fewer_victims_facts(view, planned))
    own = [one for one in for_job if one.preemptor == view.job.uid]
    places = [(task.node_name, task.init_resreq) for task in view.pipelined_tasks]
    yield from elsewhere_facts(view, own[0].seq, (one.node for one in own), places) if own else ()


def _broken_gang_facts(view: JobView, victims: Sequence[TaskKey], unprotected: str) -> Iterator[str]:
    """Yields a sentence per job that the evictions leave below its minMember, or whose policy then ends all of it."""
    owners = dict.fromkeys(view.recording.owners.jobs.get(key, "") for key in victims)
    jobs = [view.session.jobs[uid] for uid in owners if uid in view.session.jobs]
    for job in jobs:
        if job.min_available > 1 and not job.is_ready():
            remaining = count_noun(job.ready_task_num(), "pod")
            yield f"{job.uid} keeps {remaining}, fewer than its minMember {job.min_available}{unprotected}."
    for job in jobs:
        owner = volcano_job_of(view.recording.snapshot, job.pod_group.manifest)
        action = dict(policies_of(owner) if owner else ()).get("PodEvicted", "")
        if others := job.ready_task_num() if action in _ACTIONS_ON_ALL else 0:
            yield f"Its policy PodEvicted: {action} ends {job.uid}'s other {count_noun(others, 'pod')}, too."


_ACTIONS_ON_ALL = ("RestartJob", "AbortJob", "TerminateJob", "CompleteJob")
"""Actions of a Volcano Job's policies that end all pods of the job."""


def _unread_policy(view: JobView, evicted: Sequence[Eviction]) -> Iterator[str | Advice]:
    """Yields that this release evicts for pods whose preemptionPolicy forbids it, and the release that does not."""
    pods = [view.tasks[TaskKey(one.preemptor)] for one in evicted]
    # The pod as the API states it: a release that does not read the policy has none in its model.
    if names := dict.fromkeys(task.name for task in pods if task.pod.spec.get("preemptionPolicy") == "Never"):
        change, release = PREEMPTION_POLICY_UNREAD, view.recording.snapshot.release.display_name()
        yield f"{release} does not read preemptionPolicy Never of {join_names(names)} ({change.pull})."
        yield Advice.cluster_admin(
            f"Upgrade Volcano to {change.fixed_in[0]} or later, which evicts nothing for such pods."
        )


def _priority_facts(view: JobView, evicted: Sequence[Eviction]) -> Iterator[str | Advice]:
    """Yields the PodGroup priorities of both sides, which preempt compares instead of pod priorities; advice about
    pods without the priority of their PodGroup.
    """
    jobs = {eviction.job: view.session.jobs[eviction.job] for eviction in evicted if eviction.job in view.session.jobs}
    lower = {name: job.priority for name, job in jobs.items() if job.priority < view.job.priority}
    if lower and len(lower) == len(jobs):
        other_priorities = join_names(f"{name} has {priority}" for name, priority in lower.items())
        pods = [str(each) for each in dict.fromkeys(task.priority for task in view.tasks.values())]
        # The priority of pods often lacks where an operator sets only that of the PodGroup.
        own = f"; its pods have {join_names(pods)}, which counts only within the job"
        source = f"(of its PodGroup{own if pods != [str(view.job.priority)] else ''})"
        yield f"{view.job.uid} has priority {view.job.priority} {source}; {other_priorities}."
        named = view.job.pod_group.priority_class_name
        if named and view.job.priority > max(task.priority for task in view.tasks.values()):
            counts_for = "the pods' own priority orders them within the job, and the kubelet evicts by it"
            yield Advice.from_outside(f"Set priorityClassName {named} in the pod templates too: {counts_for}.")


def useless_facts(recording: Recording, evictions: Sequence[Eviction]) -> Iterator[str]:
    """Yields a sentence about the first victim that frees nothing of what the pod it is evicted for lacks there."""
    for eviction in evictions:
        # A plan of gangpreempt or gangreclaim is for a whole job.
        if eviction.preemptor not in recording.owners.jobs or not eviction.node:
            continue
        victim, lacking = task_of(recording, eviction.victim), _lacking(recording, eviction)
        if lacking and not any(victim.resreq.get(name) for name in lacking):
            lacks = f"frees no {join_names(lacking)}, which {eviction.preemptor} lacks on {eviction.node}"
            yield f"{eviction.victim} {lacks}: {eviction.action} takes victims in their order, whatever they free."
            return


def _lacking(recording: Recording, eviction: Eviction) -> list[str]:
    """The dimensions that the node lacks for the pod that the eviction is for."""
    request, idle = task_of(recording, eviction.preemptor), idle_without(recording, eviction.seq, eviction.node, ())
    return [name for name, amount in request.init_resreq.items() if amount > idle.get(name)]


def _queue_left_facts(view: JobView, evictions: Sequence[Eviction]) -> Iterator[str]:
    """Yields a sentence per queue that the evictions leave with less than it deserves of what the pod lacked."""
    state = view.recording.timeline.state_at(len(view.recording))
    known = [one for one in evictions if one.node and one.preemptor in view.recording.owners.jobs]
    for queue, own in group_by_key((one.queue, one) for one in known if one.queue != view.queue.name).items():
        freed = sum_resources(task_of(view.recording, one.victim).resreq for one in own)
        lacking = _lacking(view.recording, own[0])
        plugins = [name for name, books in state.books.items() if queue in books]
        used = {plugin: state.plugin_amount(plugin, queue, "allocated") for plugin in plugins}
        deserved = {plugin: state.plugin_amount(plugin, queue, "deserved") for plugin in plugins}
        # Where two plugins compute what a queue deserves, both have to say so.
        names = [name for name in lacking if plugins and name != PODS]
        had = {one: used[one].clone().add(freed) for one in plugins}
        below = [
            name
            for name in names
            if all(0 < used[one].get(name) < deserved[one].get(name) <= had[one].get(name) for one in plugins)
        ]
        if below:
            amounts = (used[plugins[0]].get(below[0]), deserved[plugins[0]].get(below[0]))
            texts = format_amounts_apart(below[0], *amounts)
            yield f"Queue {queue} is left with {texts[0]} of the {texts[1]} {below[0]} that it deserves."


def _fewer_victims_facts(view: JobView, evictions: Sequence[Eviction]) -> Iterator[str]:
    """Yields a sentence if fewer victims would free enough for the pipelined pods: how many, and which."""
    by_node = group_by_key((task.node_name, task) for task in view.pipelined_tasks)
    sufficient: list[TaskKey] = []
    for node, tasks in by_node.items():
        on_node = [eviction for eviction in evictions if eviction.node == node]
        if not on_node:
            continue
        request = sum_resources(task.init_resreq for task in tasks)
        future = idle_without(view.recording, min(eviction.seq for eviction in on_node), node, ())
        # Taking the largest victims first, by the fraction of the request that each frees, gives the fewest.
        needed = [(name, value) for name, value in request.items() if value > 0]
        tasks_here = [task_of(view.recording, eviction.victim) for eviction in on_node]
        tasks_here.sort(key=lambda task: -max((task.resreq.get(name) / value for name, value in needed), default=0.0))
        for victim in tasks_here:
            if request.less_equal(future):
                break
            future.add(victim.resreq)
            sufficient.append(victim.key)
    if 0 < len(sufficient) < len(evictions):
        all_words = "Both" if len(evictions) == 2 else f"All {len(evictions)}"
        enough = f"by their amounts {len(sufficient)} would do ({join_names(sufficient)})"
        yield f"{all_words} are evicted{_bundle_words(view, evictions)}; {enough}."


def elsewhere_facts(
    view: JobView, seq: Seq, freed: Iterable[NodeName], places: Iterable[tuple[NodeName, Resource]]
) -> Iterator[str]:
    """Yields why a gang action evicts, in the visit around an event, on nodes where it reserves no room for the job.

    `places`: (node, request) of each pod for which it reserves room.
    """
    reserved = {node: sum_resources(requests) for node, requests in group_by_key(places).items()}
    unused = [node for node in dict.fromkeys(freed) if node and node not in reserved]
    if not unused or not reserved:
        return
    visit = next(each for each in reversed(view.job_visits) if each.first <= seq)
    nodes = f"{join_names(reserved, MOST_NODES)}, the evictions are on {join_names(unused, MOST_NODES)}"
    rule = f"{visit.action} adds up what is free or evicted on all nodes that it searches"
    yield _quota_purpose(view, visit, reserved) or (
        f"Room is reserved on {nodes}: {rule}, and reserves it where the pods fit and score best."
    )


def _quota_purpose(view: JobView, visit: JobVisit, reserved: Mapping[NodeName, Resource]) -> str:
    """A sentence if the evictions of a visit free quota and no room, since the nodes had enough; else empty."""
    seq, refusals = visit.first, refusals_in(visit.visit_calls(ALLOCATABLE.upstream))
    quota = explainer_for(refusals[0][1].plugin).quota if refusals else None
    request = view.tasks[refusals[0][1].task].resreq if refusals else Resource()
    if quota is None or not all(
        amount.less_equal(idle_without(view.recording, seq, node, ())) for node, amount in reserved.items()
    ):
        return ""
    limit = first_exceeded(quota.room(view.recording, seq, view.queue.name, request))
    if not limit.exceeded_dimensions:
        return ""
    name, plugin, nodes = limit.first_dimension, refusals[0][1].plugin, join_names(reserved, MOST_NODES)
    use = f"it used {limit.format_usage(name)} of its {limit.limit_kind(name)} {limit.format_limit(name)} {name}"
    evicts = f"{visit.action} evicts pods, whatever their node, until {plugin} permits the job's pods"
    return f"{nodes} had room without evictions; queue {limit.queue} had no quota left ({use}), so {evicts}."


def _bundle_words(view: JobView, evictions: Sequence[Eviction]) -> str:
    """A clause: a gang action evicts several pods of a job together; empty for actions that evict pod by pod."""
    action, jobs = evictions[0].action, group_by_key((one.job, one) for one in evictions)
    together = [view.session.jobs[uid] for uid, own in jobs.items() if len(own) > 1 and uid in view.session.jobs]
    if view.facts_of(action).evicts_by_pod or not together:
        return ""
    # Its gang can spare the pods of a job that has its minimum without them.
    which = "that a job has above its minMember" if all(job.is_ready() for job in together) else "of a job in bundles"
    return f", since {action} evicts the pods {which} together, not one by one"


def _deciding_tier_facts(view: JobView, eviction: Eviction) -> Iterator[str]:
    """Yields sentences: which earlier tiers allowed no victim, and which plugins of later tiers were not asked."""
    calls = victim_question_before(view.recording, eviction.seq)
    if calls is None or eviction.tier is None:
        return
    earlier = [vote for vote in calls.answered if vote.tier < eviction.tier]
    yield from earlier_tier_facts(view.recording, earlier, eviction.tier, detailed=view.detailed)
    deciders = [vote.plugin for vote in calls.answered if vote.tier == eviction.tier]
    silent = [one for one in unasked_plugins(view.recording, calls, eviction.seq) if one.vote.state == "not asked"]
    unasked = [one for one in silent if one.vote.tier > eviction.tier]
    if not unasked or not deciders:
        return
    plugins = join_names(f"{one.vote.plugin} in tier {one.vote.tier}" for one in unasked)
    protecting = ((one.vote.plugin, f": {one.note}" if one.note else "") for one in unasked if one.protects)
    objections = join_names(f"{plugin} would protect {eviction.victim}{note}" for plugin, note in protecting)
    were = f"{verb_for(len(unasked), 'was')} not consulted{f' ({objections})' if objections else ''}"
    rule = "a later tier is asked only if no earlier one names any"
    yield f"Tier {eviction.tier} ({' and '.join(deciders)}) named the victims; {rule}, so {plugins} {were}."


def milder_nodes_facts(recording: Recording, eviction: Eviction) -> Iterator[str]:
    """Other nodes where evicting a pod of lower priority would have freed enough room, in a sentence."""
    by_pod = recording.conf.facts_of(eviction.action).evicts_by_pod
    milder = _milder_nodes(recording, eviction) if by_pod and eviction.preemptor in recording.owners.jobs else {}
    victim_words = join_names((f"{task.name} of priority {task.priority}" for task in milder.values()), MOST_NODES)
    if milder:
        why = _node_order_words(recording, eviction, milder)
        yield f"{join_names(milder, MOST_NODES)} would have done as well ({victim_words}): {why}."


def _node_order_words(recording: Recording, eviction: Eviction, milder: Iterable[NodeName]) -> str:
    """Why the action chose the eviction's node before these: chance where their scores are equal, else its order."""
    if recording.conf.facts_of(eviction.action).across_queues:
        return f"{eviction.action} takes the first node with enough victims, and compares neither scores nor priorities"
    # Imported here, since few answers compare scores.
    from vcdebug.explain.decisions.node_choice import find_search, rank_nodes

    placed = last_operation(recording, eviction.preemptor, eviction.end + 1, *PLACING_OPS)
    search = find_search(recording, placed) if placed > eviction.seq else None
    totals = {one.node: one.total for one in rank_nodes(recording, search.scores)} if search and search.scores else {}
    score = totals.get(eviction.node)
    tied = [name for name in milder if score is not None and totals.get(name) == score]
    if score is None or not tied:
        return ORDER_OF_NODES_NOTE
    equal = f"{join_names((eviction.node, *tied), MOST_NODES)} have the same score ({format_number(score)})"
    return f"{equal}, so the real scheduler picks one at random; it does not compare their victims' priorities"


@per_recording()
def _lowest_priority(recording: Recording) -> int:
    return min((task.priority for task in recording.timeline.tasks.values()), default=0)


def _milder_nodes(recording: Recording, eviction: Eviction) -> dict[NodeName, TaskInfo]:
    """Other feasible nodes → a victim of lower priority there, in the state before the plan."""
    preemptor, victim = task_of(recording, eviction.preemptor), task_of(recording, eviction.victim)
    # Skip the search over every pod of the cluster if no pod has a lower priority than the victim.
    if _lowest_priority(recording) >= victim.priority:
        return {}
    same_node = (operation.seq for operation in evict_operations(recording) if operation.event.node == eviction.node)
    # The first eviction of the plan on this node: before a later one, the node already has the room of the first.
    first = next(seq for seq in same_node if _preemptor_name(recording, seq) == eviction.preemptor)
    fits = NodeFits(JobView(recording, preemptor.job, eviction.preemptor), preemptor, first - 1)
    others = (name for name in fits.freeable_nodes(eviction.action).names if name != eviction.node)
    # Seldom more than a few: only their pods are judged one by one.
    names = [name for name in others if any(task.priority < victim.priority for task in fits.tasks_on(name))]
    candidates = ((name, fits.judge_node(eviction.action, name).candidates) for name in names)
    lowest = {name: min(tasks, key=lambda task: (task.priority, task.key)) for name, tasks in candidates}
    return {name: task for name, task in lowest.items() if task.priority < victim.priority}
