"""The votes on victims: which plugin protects too many candidates, and what would change its answer."""

from collections.abc import Sequence

from vcdebug.actions import PREEMPT, RECLAIM
from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain import answer
from vcdebug.explain.decisions.votes import HookCallGroup, PluginAnswer, hook_calls_at, passed_on_facts
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import VetoReason, explainer_for
from vcdebug.explain.victim_candidates import NEVER_CANDIDATE_RULES, RankedObjections, rank_objections
from vcdebug.framework import action
from vcdebug.grouping import group_by_key
from vcdebug.model.names import TaskKey
from vcdebug.plugins import CAPACITY, PRIORITY, PROPORTION
from vcdebug.recording.state_before import fits_without
from vcdebug.recording.visits import NodeTry, TaskTry

NOT_ABOVE_DESERVED = "victims-not-above-deserved"
QUOTA_PLUGINS = (PROPORTION, CAPACITY)
PLUGIN_ADVICE = "Check the arguments of plugin {plugin}, or disable it for this action."
NodeSeats = Sequence[tuple[NodeTry, PluginAnswer]]


def find_veto(view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry]) -> answer.Finding | None:
    """The finding about the plugin that blocks the task on most nodes; None if no plugin protects a candidate.

    preempt with enableTopologyAwarePreemption places nothing on a node where the task fits without evictions: there all
    candidates may be evicted, and no plugin is to blame.
    """
    seats = [(node, deciding_seat(view, attempt, node)) for node in nodes]
    protecting = ((node, seat) for node, seat in seats if seat is not None and len(seat.result) < len(node.candidates))
    by_plugin = group_by_key((seat.plugin, (node, seat)) for node, seat in protecting)
    if not by_plugin:
        return None
    plugin = max(by_plugin, key=lambda name: len(by_plugin[name]))
    return _build_veto(view, attempt, plugin, by_plugin[plugin], len(nodes))


def _question_and_answers(view: JobView, node: NodeTry) -> tuple[HookCallGroup | None, list[PluginAnswer]]:
    """The question about the node's candidates, and the seats whose answer counted."""
    asked = hook_calls_at(view.recording, node.victim_votes[0][0])
    return asked, asked.answered if asked is not None else []


def deciding_seat(view: JobView, attempt: TaskTry, node: NodeTry) -> PluginAnswer | None:
    """The seat whose answer left no victim; if some are left but too few, the first seat that allowed too few."""
    asked, answered = _question_and_answers(view, node)
    if asked is None or not answered:
        return None
    if not asked.outcome:
        return answered[-1]
    # Only the last tier counts: an earlier tier with an empty result has passed the question on.
    mine = [seat for seat in answered if seat.tier == answered[-1].tier]
    few = (s for s in mine if not fits_without(view.recording, node.first, attempt.task, node.node, s.result))
    return next(few, mine[-1])


def protecting_plugins(view: JobView, node: NodeTry) -> list[str]:
    """The plugins that allowed none of the node's candidates, tier by tier."""
    return [seat.plugin for seat in _question_and_answers(view, node)[1] if not seat.result]


def _build_veto(view: JobView, attempt: TaskTry, plugin: str, seats: NodeSeats, with_room: int) -> answer.Finding:
    offered = [key for node, _ in seats for key in node.candidates]
    left = [key for _, seat in seats for key in seat.result]
    kept = _veto_reason(view, attempt, plugin, seats)
    node, tier = seats[0][0], seats[0][1].tier
    _, everybody = _question_and_answers(view, node)
    empty = [seat for seat in everybody if seat.tier < tier and not seat.result]
    ranks = _no_lower_priority(view, attempt, empty, offered)
    misspelt, advice = _misspelt_switch(view, plugin), kept.advice
    facts = [f"{kept.text}.", *passed_on_facts(empty, tier)]
    if ranks is not None:
        facts.append(f"{ranks.text}.")
        advice = (*ranks.advice, *(advice if len([s for s in everybody if s.tier == tier]) > 1 else ()))
    if misspelt:
        facts.append(f"{misspelt}.")
        advice = (
            answer.cluster_admin_advice(f"Correct the misspelled switch of {plugin} in the scheduler configuration."),
            *advice,
        )
    evidence = tuple(
        answer.Evidence(seat.seq, f"{plugin} allows {len(seat.result)} of {len(node.candidates)} on {node.node}")
        for node, seat in seats[:5]
        if seat.seq is not None
    )
    cause = NOT_ABOVE_DESERVED if view.facts_of(attempt.action).across_queues and plugin in QUOTA_PLUGINS else plugin
    counted = {
        "candidates": answer.count(len(offered), "pods"),
        "victims": answer.count(len(left), "pods"),
        "nodes.tried": answer.count(len(seats), "nodes"),
        "tier": answer.count(tier, ""),
        **kept.numbers,
    }
    lines = (*_tier_lines(everybody, node), *kept.lines)
    reason = _veto_reason_words(attempt, plugin, (len(left), len(offered)), seats, with_room)
    headline = answer.pending_headline(view.job.uid, reason)
    return answer.Finding(cause, headline, counted, evidence, advice, lines, tuple(facts))


def _veto_reason_words(
    attempt: TaskTry, plugin: str, victims: tuple[int, int], seats: NodeSeats, with_room: int
) -> str:
    """`victims`: how many are allowed, of how many; `with_room`: on how many nodes evicting all would be enough."""
    # On other nodes victims may be allowed, where evicting all of them would not be enough.
    everywhere = len(seats) == len([node for node in attempt.nodes if node.candidates])
    where = f"on {count_noun(len(seats), 'node')}" if everywhere else _place_words(seats, with_room)
    allowed, offered = victims
    if allowed:
        some = f"{plugin} allows {allowed} of {count_noun(offered, 'candidate victim')} {where}"
        return f"{some}, too few for {attempt.task_name}"
    none = "may evict no pod" if everywhere else "finds no room"
    return f"{attempt.action} {none} for {attempt.task_name}; {plugin} protects {every_victim(offered)} {where}"


def _place_words(seats: NodeSeats, with_room: int) -> str:
    """Which of the nodes where evictions would make room these are."""
    if len(seats) < with_room:
        return f"on {len(seats)} of the {with_room} nodes where evictions would make room"
    named = f"on {seats[0][0].node}, the only node" if with_room == 1 else f"on the {with_room} nodes"
    return f"{named} where evictions would make room"


def every_victim(offered: int) -> str:
    """`both candidate victims`."""
    few = {1: "the only candidate victim", 2: "both candidate victims"}
    return few.get(offered, f"all {offered} candidate victims")


def _veto_reason(view: JobView, attempt: TaskTry, plugin: str, seats: NodeSeats) -> VetoReason:
    task = view.tasks[attempt.task]
    refused = [key for node, seat in seats for key in node.candidates if key not in seat.result]
    keeper = explainer_for(plugin).kept
    kept = keeper(view, task, refused, seats[0][1].seq or 1) if keeper is not None else None
    if kept is None:
        return _reason_from_equation(view, plugin, refused, seats)
    advise = explainer_for(plugin).victim_advice
    if kept.advice or advise is None:
        return kept
    return kept._replace(advice=advise(view, task, [(node, seat.result) for node, seat in seats]))


def _reason_from_equation(view: JobView, plugin: str, refused: Sequence[TaskKey], seats: NodeSeats) -> VetoReason:
    """For plugins without an own explanation: the note of its equation per protected pod."""
    from vcdebug.explain.decisions.equations import equation_at

    shown = [equation_at(view.recording, seat.seq) for _, seat in seats if seat.seq is not None]
    terms = [term for each in shown if each is not None for term in each.terms]
    order = answer.histogram((term.name, term.note) for term in terms if term.name in refused and term.note)
    why = "".join(f" ({note})" for note, _ in order[:1])
    advice = explainer_for(plugin).keeps_advice or answer.cluster_admin_advice(PLUGIN_ADVICE.format(plugin=plugin))
    return VetoReason(f"It protects {join_names(refused)}{why}", {}, (advice,), answer.pod_lines(order))


def _misspelt_switch(view: JobView, plugin: str) -> str:
    """An unknown switch at the plugin's place in the configuration."""
    wrong = view.recording.conf.unread_keys(plugin)
    return next((f"{problem.field} is ignored: {problem.what}" for problem in wrong), "")


def _no_lower_priority(
    view: JobView, attempt: TaskTry, empty: Sequence[PluginAnswer], refused: Sequence[TaskKey]
) -> VetoReason | None:
    """priority's reason, if priority alone emptied an earlier tier; None otherwise."""
    if [seat.plugin for seat in empty] != [PRIORITY] or empty[0].seq is None:
        return None
    keeper = explainer_for(PRIORITY).kept
    return keeper(view, view.tasks[attempt.task], refused, empty[0].seq) if keeper is not None else None


def _tier_lines(seats: Sequence[PluginAnswer], node: NodeTry) -> tuple[str, ...]:
    """One line per tier: how many candidates each plugin allows on this node; empty if only one plugin answered."""
    offered, tiers = len(node.candidates), dict.fromkeys(seat.tier for seat in seats)
    return tuple(
        f"{node.node}, tier {tier}: "
        f"{', '.join(f'{s.plugin} {len(s.result)} of {offered}' for s in seats if s.tier == tier)}"
        for tier in (tiers if len(seats) > 1 else ())
    )


KEPT, UNRECLAIMABLE = "victims-not-preemptable", "queue-not-reclaimable"
RELEASING_PREFIX = "Releasing"
FLAG_ADVICE = answer.queue_admin_advice('Remove volcano.sh/preemptable: "false" from pods that are safe to evict.')


def filter_finding(view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry]) -> tuple[answer.Finding, bool]:
    """No candidate is left that would make room; and whether some node would have room without those that were the
    action's to take, but for a flag or a status.
    """
    # At the moment of the attempt: the action may have evicted pods before it.
    here = NodeFits(view, view.tasks[attempt.task], nodes[0].first)
    judged = [here.judge_node(attempt.action, node.node) for node in nodes]
    domains = [one.domain for one in judged if one.domain is not None]
    order = rank_objections(pair for one in judged for pair in one.objections.items())
    finding = _build_finding(view, attempt, nodes, order, sum(len(one.candidates) for one in judged))  # exact: ints
    return finding, any(here.task.init_resreq.less_equal(room) for room in domains)


def _filter_cause(order: RankedObjections) -> str:
    """The queue's reclaimable flag, unless another rule skips more pods of other queues."""
    flagged = sum(len(pods) for why, pods in order if why.rule == action.NOT_RECLAIMABLE)  # exact: ints
    lasting = (*NEVER_CANDIDATE_RULES, action.NOT_RECLAIMABLE)
    other = sum(len(pods) for why, pods in order if why.rule not in lasting)  # exact: ints
    return UNRECLAIMABLE if flagged and other <= flagged else KEPT


def format_objections(order: RankedObjections) -> str:
    """`12 in queue a; 3 of the same job`."""
    return "; ".join(f"{len(pods)} {why.text}" for why, pods in order) or "none"


def objection_lines(order: RankedObjections) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return answer.pod_lines((why.text, [pod.key for pod in pods]) for why, pods in order)


def _build_finding(
    view: JobView, attempt: TaskTry, nodes: Sequence[NodeTry], order: RankedObjections, spared: int
) -> answer.Finding:
    total = spared + sum(len(pods) for _, pods in order)  # exact: ints
    where = count_noun(len(nodes), "node")
    few = f"too few candidate victims ({spared})" if spared else "no candidate victim"
    headline = answer.pending_headline(view.job.uid, f"{attempt.action} has {few} for {attempt.task_name} on {where}")
    there = f"{count_noun(total, 'pod')} {verb_for(total, 'is')} there"
    facts = (f"{there}: {format_objections(order)}.",) if total else ()
    numbers = {
        "pods.onNodes": answer.count(total, "pods"),
        "pods.candidates": answer.count(spared, "pods"),
        "nodes.tried": answer.count(len(nodes), "nodes"),
    }
    searches, votes = attempt.predicate_passes[-1:], [hook for node in nodes for hook in node.victim_votes]
    evidence = (
        *(
            answer.Evidence(s, f"{attempt.action}: {count_noun(len(e.feasible), 'node')} pass the predicates")
            for s, e in searches
        ),
        *(
            answer.Evidence(s, f"{e.plugin} is asked about {count_noun(len(e.candidates), 'candidate victim')}")
            for s, e in votes[:1]
        ),
    )
    cause = _filter_cause(order)
    advice, lines = filter_advice(view, cause, order), objection_lines(order)
    return answer.Finding(cause, headline, numbers, evidence, advice, lines, facts)


def filter_advice(view: JobView, cause: str, order: RankedObjections) -> tuple[answer.Advice, ...]:
    """What would make candidates of some of them."""
    if cause == UNRECLAIMABLE:
        queue = next(view.session.jobs[pods[0].job].queue for why, pods in order if why.rule == action.NOT_RECLAIMABLE)
        edit = f"Queue/{queue}:spec.reclaimable=true"
        return (answer.queue_admin_advice(f"Queue {queue}: set spec.reclaimable to true.", edit),)
    rules = [why.rule for why, _ in order]
    advice: dict[str, answer.Advice] = {
        action.NOT_PREEMPTABLE: FLAG_ADVICE,
        action.GROUP_NOT_PREEMPTABLE: FLAG_ADVICE,
        **_missing_action_advice(
            view, action.OTHER_QUEUE, RECLAIM, "it evicts in other queues; preempt evicts only in its own"
        ),
        **_missing_action_advice(
            view, action.SAME_QUEUE, PREEMPT, "it evicts in the same queue; reclaim evicts only in other queues"
        ),
        action.NO_JOB: answer.cluster_admin_advice(
            "Keep pods that Volcano does not manage off these nodes; Volcano never evicts them."
        ),
    }
    found = list(dict.fromkeys(text for rule, text in advice.items() if rule in rules))
    if any(why.rule == action.NOT_RUNNING and not why.text.startswith(RELEASING_PREFIX) for why, _ in order):
        found.append(
            answer.owner_advice("Check the next cycle: pods placed in this cycle can be evicted only once they run.")
        )
    return tuple(found) or (answer.owner_advice("Wait until resources are free."), answer.add_nodes_advice())


def _missing_action_advice(view: JobView, rule: str, action: str, why: str) -> dict[str, answer.Advice]:
    """Advice to configure the other evicting action; empty if it is configured."""
    there = ", ".join(view.actions)
    return (
        {}
        if action in view.actions
        else {rule: answer.cluster_admin_advice(f"Add {action} to actions ({there}): {why}.")}
    )
