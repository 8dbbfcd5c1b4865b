"""The votes on victims: which plugin protects too many candidates, and advice that changes its answer."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from vcdebug.actions import PREEMPT, RECLAIM
from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.answer import Advice, Cause, Evidence, Finding, counts, reason_lines
from vcdebug.explain.component_reports import event_facts
from vcdebug.explain.decisions.queue_figures import SHARING_PLUGINS
from vcdebug.explain.decisions.votes import (
    HookCallGroup,
    PluginAnswer,
    earlier_tier_facts,
    hook_calls_at,
    remaining_victims,
)
from vcdebug.explain.job_view import ExplainSubject, JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import VetoReason, explainer_for
from vcdebug.explain.victim_candidates import NEVER_CANDIDATE_RULES, RankedObjections, every_victim, rank_objections
from vcdebug.framework import action
from vcdebug.grouping import group_by_key, histogram
from vcdebug.model.names import TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import PRIORITY
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import fits_without
from vcdebug.recording.visits import NodeTry, TaskTry
from vcdebug.releases.scheduling import VICTIMS_NOT_RESTARTED
from vcdebug.snapshot.manifest import QUEUE_ANNOTATION, owner_names

PLUGIN_ADVICE = "Check the arguments of plugin {plugin}, or disable it for this action."
NodeVotes = Sequence[tuple[NodeTry, PluginAnswer]]


def find_veto(view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry]) -> Finding | None:
    """The finding about the plugin that blocks the task on most nodes; None if no plugin protects a candidate.

    preempt with enableTopologyAwarePreemption places nothing on a node where the task fits without evictions: there all
    candidates may be evicted, and no plugin is to blame.
    """
    votes = [(node, deciding_vote(view, attempt, node)) for node in nodes]
    protecting = ((node, vote) for node, vote in votes if vote is not None and len(vote.result) < len(node.candidates))
    by_plugin = group_by_key((vote.plugin, (node, vote)) for node, vote in protecting)
    if not by_plugin:
        return None
    plugin = max(by_plugin, key=lambda name: len(by_plugin[name]))
    return _build_veto(view, attempt, plugin, by_plugin[plugin], len(nodes))


def _question_and_answers(view: JobView, node: NodeTry) -> tuple[HookCallGroup | None, list[PluginAnswer]]:
    """The hook call about the node's candidates, and the plugins that answered."""
    calls = hook_calls_at(view.recording, node.victim_votes[0][0])
    return calls, calls.answered if calls is not None else []


def deciding_vote(view: JobView, attempt: TaskTry, node: NodeTry) -> PluginAnswer | None:
    """The answer after which no victim remained; else the first answer whose victims free too little room."""
    calls, answered = _question_and_answers(view, node)
    if calls is None or not answered:
        return None
    if not calls.outcome:
        keeps_empty = view.recording.snapshot.release.has_older_form(VICTIMS_NOT_RESTARTED)
        return (keeps_empty and _emptying_vote(answered)) or answered[-1]
    # Only the last tier counts: after an earlier tier without victims the next tier was asked.
    tier_votes = [vote for vote in answered if vote.tier == answered[-1].tier]
    too_few = (s for s in tier_votes if not fits_without(view.recording, node.first, attempt.task, node.node, s.result))
    return next(too_few, tier_votes[-1])


def _emptying_vote(answered: Sequence[PluginAnswer]) -> PluginAnswer | None:
    """The first answer that leaves nothing of the victims that earlier ones allow; up to v1.10 no tier starts over."""
    remaining = [remaining_victims(answered[:count]) for count in range(len(answered) + 1)]
    steps = zip(answered, pairwise(remaining), strict=True)
    return next((vote for vote, (before, after) in steps if before and not after), None)


def protecting_plugins(view: JobView, node: NodeTry) -> list[str]:
    """The plugins that protected all of the node's candidates, tier by tier."""
    return [vote.plugin for vote in _question_and_answers(view, node)[1] if not vote.result]


def _build_veto(view: JobView, attempt: TaskTry, plugin: str, votes: NodeVotes, with_room: int) -> Finding:
    candidates = [key for node, _ in votes for key in node.candidates]
    victims = [key for _, vote in votes for key in vote.result]
    veto_reason = _veto_reason(view, attempt, plugin, votes)
    node, tier = votes[0][0], votes[0][1].tier
    _, all_votes = _question_and_answers(view, node)
    empty_votes = [vote for vote in all_votes if vote.tier < tier and not vote.result]
    later = [vote.plugin for vote in all_votes if vote.tier > tier and vote.result]
    priority_reason = _no_lower_priority(view, attempt, empty_votes, candidates)
    advice = veto_reason.advice
    earlier = earlier_tier_facts(view.recording, empty_votes, tier, detailed=view.detailed)
    facts = [f"{veto_reason.text}.", *earlier]
    if later:
        release, allowing = view.recording.snapshot.release.display_name(), verb_for(len(later), "allows")
        undo = f"under {release} a later tier does not bring back what an earlier one protected"
        facts.append(f"{join_names(later)} of a later tier {allowing} them, but {undo}.")
    if priority_reason is not None:
        facts.append(f"{priority_reason.text}.")
        advice = (*priority_reason.advice, *(advice if len([s for s in all_votes if s.tier == tier]) > 1 else ()))
    misspelt = view.recording.conf.problems_of(plugin)[:1]
    for problem in misspelt:
        facts.append(f"{problem.field} is ignored: {problem.what}.")
        advice = (
            Advice.cluster_admin(f"Correct the misspelled switch of {plugin} in the scheduler configuration."),
            *advice,
        )
    evidence = tuple(
        Evidence(vote.seq, f"{plugin} allows {len(vote.result)} of {len(node.candidates)} on {node.node}")
        for node, vote in votes[:5]
        if vote.seq is not None
    )
    is_quota_veto = view.facts_of(attempt.action).across_queues and plugin in SHARING_PLUGINS
    cause = Cause.NOT_ABOVE_DESERVED if is_quota_veto else plugin
    numbers = {
        **counts({"candidates": len(candidates), "victims": len(victims), "nodes.tried": len(votes), "tier": tier}),
        **veto_reason.numbers,
    }
    # Per tier how many candidates each plugin allows on this node, where several plugins answered.
    by_tier = group_by_key((one.tier, f"{one.plugin} {len(one.result)} of {len(node.candidates)}") for one in all_votes)
    tier_texts = by_tier.items() if len(all_votes) > 1 else ()
    tier_lines = (f"{node.node}, tier {number}: {', '.join(texts)}" for number, texts in tier_texts)
    lines = (*tier_lines, *veto_reason.lines)
    reason = _veto_words(attempt, plugin, (len(victims), len(candidates)), votes, with_room)
    return view.pending(cause, reason, numbers, evidence, advice, lines, tuple(facts), tuple(misspelt))


def _veto_words(attempt: TaskTry, plugin: str, victims: tuple[int, int], votes: NodeVotes, with_room: int) -> str:
    """The reason in words; `victims`: (allowed, candidates); `with_room`: nodes where evicting all makes room."""
    # On other nodes plugins may allow victims that would free too little room.
    everywhere = len(votes) == len([node for node in attempt.nodes if node.candidates])
    allowed, candidates = victims
    if everywhere:
        place = f"on {count_noun(len(votes), 'node')}"
    elif len(votes) < with_room:
        place = f"on {len(votes)} of the {with_room} nodes where evictions would make room"
    else:
        location = f"on {votes[0][0].node}, the only node" if with_room == 1 else f"on the {with_room} nodes"
        place = f"{location} where evictions would make room"
    if allowed:
        allowed_words = f"{plugin} allows {allowed} of {count_noun(candidates, 'candidate victim')} {place}"
        return f"{allowed_words}, too few for {attempt.task_name}"
    outcome = "may evict no pod" if everywhere else "finds no room"
    return f"{attempt.action} {outcome} for {attempt.task_name}; {plugin} protects {every_victim(candidates)} {place}"


def _veto_reason(view: JobView, attempt: TaskTry, plugin: str, votes: NodeVotes) -> VetoReason:
    task = view.tasks[attempt.task]
    protected = [key for node, vote in votes for key in node.candidates if key not in vote.result]
    explain = explainer_for(plugin).explain_veto
    reason = explain(view, task, protected, votes[0][1].seq or 1) if explain is not None else None
    if reason is None:
        return _reason_from_equation(view, plugin, protected, votes)
    advise = explainer_for(plugin).victim_advice
    if reason.advice or advise is None:
        return reason
    return reason._replace(advice=advise(view, task, [(node, vote.result) for node, vote in votes]))


def _reason_from_equation(view: JobView, plugin: str, protected: Sequence[TaskKey], votes: NodeVotes) -> VetoReason:
    """The reason of a plugin without its own explanation: the notes of its equation about protected pods."""
    from vcdebug.explain.decisions.equations import equation_at

    equations = [equation_at(view.recording, vote.seq) for _, vote in votes if vote.seq is not None]
    terms = [term for equation in equations if equation is not None for term in equation.terms]
    notes = histogram((term.name, term.note) for term in terms if term.name in protected and term.note)
    note_words = "".join(f" ({note})" for note, _ in notes[:1])
    advice = explainer_for(plugin).veto_advice or Advice.cluster_admin(PLUGIN_ADVICE.format(plugin=plugin))
    return VetoReason(f"It protects {join_names(protected)}{note_words}", {}, (advice,), reason_lines(notes))


def _no_lower_priority(
    view: JobView, attempt: TaskTry, empty_votes: Sequence[PluginAnswer], protected: Sequence[TaskKey]
) -> VetoReason | None:
    """priority's reason, if priority alone emptied an earlier tier; None otherwise."""
    if [vote.plugin for vote in empty_votes] != [PRIORITY] or empty_votes[0].seq is None:
        return None
    explain = explainer_for(PRIORITY).explain_veto
    return explain(view, view.tasks[attempt.task], protected, empty_votes[0].seq) if explain is not None else None


RELEASING_PREFIX = "Releasing"
FLAG_ADVICE = Advice.queue_admin('Remove volcano.sh/preemptable: "false" from pods that are safe to evict.')


def filter_finding(view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry]) -> tuple[Finding, bool]:
    """(the finding that the action's own filter leaves too few candidates, whether some node would have room without
    all pods that the action could evict if flags and statuses allowed it).
    """
    # In the state at the attempt: the action may have evicted pods before it.
    fits = NodeFits(view, view.tasks[attempt.task], nodes[0].first)
    verdicts = [fits.judge_node(attempt.action, node.node) for node in nodes]
    domains = [judged.domain for judged in verdicts if judged.domain is not None]
    # The job's own pods that this statement has placed are not running, and never meant.
    own = {task.key for task in view.pending_at_open}
    pairs = ((skip, pods) for judged in verdicts for skip, pods in judged.objections.items())
    others = ((skip, [pod for pod in pods if pod.key not in own]) for skip, pods in pairs)
    ranked = rank_objections(pair for pair in others if pair[1])
    finding = _filtered_finding(view, attempt, nodes, ranked, [task for one in verdicts for task in one.candidates])
    return finding, any(fits.task.init_resreq.less_equal(domain) for domain in domains)


def format_objections(ranked: RankedObjections) -> str:
    """Each reason with its number of pods: `12 in queue a; 3 of the same job`."""
    return "; ".join(f"{len(pods)} {skip.text}" for skip, pods in ranked) or "none"


def objection_lines(ranked: RankedObjections) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return reason_lines((skip.text, [pod.key for pod in pods]) for skip, pods in ranked)


def _filtered_finding(
    view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry], ranked: RankedObjections, candidates: Sequence[TaskInfo]
) -> Finding:
    skipped = [(skip.rule, len(pods)) for skip, pods in ranked]
    total, action_name = len(candidates) + sum(number for _, number in skipped), attempt.action  # exact: ints
    words = f"too few candidate victims ({len(candidates)})" if candidates else "no candidate victim"
    reason = f"{action_name} has {words} for {attempt.task_name} on {count_noun(len(nodes), 'node')}"
    candidates_text = f"{count_noun(total, 'pod')} {verb_for(total, 'is')} there"
    idle = next((pods[0] for skip, pods in ranked if skip.rule == action.NOT_RUNNING), None)
    # Why a bound pod does not run, such as a volume that its kubelet cannot mount.
    reported = event_facts(view.recording, ExplainSubject(idle.job, idle.key))[:1] if idle is not None else ()
    foreign = _foreign_owners(view, ranked)
    whose = join_names(f"{scheduler}: {join_names(names, 2)}" for scheduler, names in foreign.items())
    listed = f"{candidates_text}: {format_objections(ranked)}{f' ({whose})' if whose else ''}"
    if any(skip.rule == action.OTHER_QUEUE for skip, _ in ranked):
        listed += f"; {action_name} evicts only in queue {view.queue.name}"
    facts = (f"{listed}.", *reported) if total else ()
    numbers = counts({"pods.onNodes": total, "pods.candidates": len(candidates), "nodes.tried": len(nodes)})
    evidence = []
    for seq, search in attempt.predicate_passes[-1:]:
        passed = f"{count_noun(len(search.feasible), 'node')} pass the predicates"
        evidence.append(Evidence(seq, f"{action_name}: {passed}"))
    for seq, vote in [hook for node in nodes for hook in node.victim_votes][:1]:
        asked = f"{vote.plugin} is asked about {count_noun(len(vote.candidates), 'candidate victim')}"
        evidence.append(Evidence(seq, asked))
    # The reclaimable flag is the cause if it skips most pods of other queues.
    lasting = (*NEVER_CANDIDATE_RULES, action.NOT_RECLAIMABLE)
    flagged = sum(number for rule, number in skipped if rule == action.NOT_RECLAIMABLE)  # exact: ints
    others = sum(number for rule, number in skipped if rule not in lasting)  # exact: ints
    cause = Cause.NOT_RECLAIMABLE if flagged and others <= flagged else Cause.NOT_PREEMPTABLE
    advice, lines = filter_advice(view, cause, ranked), objection_lines(ranked)
    return view.pending(cause, reason, numbers, tuple(evidence), advice, lines, facts)


def filter_advice(view: JobView, cause: str, ranked: RankedObjections) -> tuple[Advice, ...]:
    """Advice that would make skipped pods candidates."""
    pods_by_rule, actions = {skip.rule: pods for skip, pods in reversed(ranked)}, ", ".join(view.actions)
    if cause == Cause.NOT_RECLAIMABLE:
        queue = view.session.jobs[pods_by_rule[action.NOT_RECLAIMABLE][0].job].queue
        edit = f"Queue/{queue}:spec.reclaimable=true"
        return (Advice.queue_admin(f"Queue {queue}: set spec.reclaimable to true.", edit),)
    chosen: dict[Advice, None] = {}
    for rule, name, why in _OTHER_ACTIONS:
        if rule in pods_by_rule and name not in view.actions:
            chosen[Advice.cluster_admin(f"Add {name} to actions ({actions}): {why}.")] = None
    if action.NOT_PREEMPTABLE in pods_by_rule or action.GROUP_NOT_PREEMPTABLE in pods_by_rule:
        chosen = {FLAG_ADVICE: None, **chosen}
    if owners := [name for names in _foreign_owners(view, ranked).values() for name in names]:
        own = view.recording.snapshot.flags.scheduler_names[0]
        evicting = join_names(name for name in view.actions if view.facts_of(name).evicts_by_pod)
        where = f"annotation {QUEUE_ANNOTATION} of a queue in which {evicting} may evict"
        words = f"Give the pods of {join_names(owners, 2)} schedulerName {own} and {where}, or end some of them"
        chosen[Advice.from_outside(f"{words}: Volcano evicts only pods of PodGroups.")] = None
    if any(skip.rule == action.NOT_RUNNING and not skip.text.startswith(RELEASING_PREFIX) for skip, _ in ranked):
        next_cycle = "Check the next cycle: pods placed in this cycle can be evicted only once they run."
        chosen[Advice.for_owner(next_cycle)] = None
    return tuple(chosen) or (Advice.for_owner("Wait until resources are free."), Advice.add_nodes())


_OTHER_ACTIONS = (
    (action.OTHER_QUEUE, RECLAIM, "it evicts in other queues; preempt evicts only in its own"),
    (action.SAME_QUEUE, PREEMPT, "it evicts in the same queue; reclaim evicts only in other queues"),
)
"""Rules by which one evicting action skips pods that another one could evict: (rule, that action, why)."""


def _foreign_owners(view: JobView, ranked: RankedObjections) -> Mapping[str, Sequence[str]]:
    """Other scheduler → owners of its pods, or the pods, that no action may evict; without those of DaemonSets."""
    index = _owners_of_foreign_pods(view.recording)
    unmanaged = (pods for skip, pods in ranked if skip.rule == action.NO_JOB)
    return group_by_key(dict.fromkeys(index[pod.key] for pods in unmanaged for pod in pods if pod.key in index))


@per_recording()
def _owners_of_foreign_pods(recording: Recording) -> Mapping[TaskKey, tuple[str, str]]:
    """Pod of another scheduler and of no DaemonSet → (scheduler, `ReplicaSet team/web-1`, or the pod)."""
    own, owners = recording.snapshot.flags.scheduler_names, dict[TaskKey, tuple[str, str]]()
    for pod in (task.pod for task in recording.timeline.tasks.values() if not task.job):
        owner = next(iter(owner_names(pod.manifest)), f"Pod {pod.name}")
        if pod.scheduler_name not in own and not owner.startswith(("DaemonSet ", "Node ")):
            owners[TaskKey(pod.key)] = (pod.scheduler_name, owner.replace(" ", f" {pod.namespace}/"))
    return owners
