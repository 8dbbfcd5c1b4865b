"""Why was this pod evicted: the preemptor, the plugins that allowed or protected it, and what it achieved."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.answer import Cause, Evidence, NamedQuestion, QuestionReply, ReplySheet, proof_of
from vcdebug.explain.decisions import dry_runs, evictions
from vcdebug.explain.decisions.victim_funnel import NodeFunnel, VictimFunnel, funnels_around
from vcdebug.explain.decisions.votes import (
    CandidateOutcome,
    VictimDecision,
    unasked_plugins,
    victim_choice,
    victim_choice_before,
)
from vcdebug.explain.job_view import ExplainSubject, view_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.orders import OrderComparison, OrderStep, order_of, pop_kind, sibling_pops
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.pending.unread_settings import lost_pod_facts
from vcdebug.explain.subject_names import NotFoundError, find_subject
from vcdebug.explain.victim_candidates import skipped_victim, victim_filter_of
from vcdebug.framework.action import NOT_RUNNING
from vcdebug.framework.hooks import PREEMPTIVE
from vcdebug.framework.record import Level, PopEvent
from vcdebug.framework.subject import candidates_in
from vcdebug.grouping import group_by_key
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import task_of
from vcdebug.recording.visits import VICTIM_POINTS

MAX_KEEPING = 2
MOST_SEARCHES = 50
"""The number of searches for victims in which a pod is looked for."""


def explain_eviction(recording: Recording, word: str) -> QuestionReply:
    """Why the pod was evicted, or was to be; without a name the cycle's evictions."""
    if not word:
        return _list_evictions(recording)
    pod = find_pod(recording, word)
    eviction = evictions.eviction_of(recording, pod)
    if eviction is None:
        never = f"{pod} is not evicted in this cycle, and no action planned to evict it."
        lines = (*_reported_lines(recording, pod), *_spared_lines(recording, pod))
        return QuestionReply(never, lines, data={"pod": pod, "evicted": False})
    decision = victim_choice_before(recording, eviction.seq) if eviction.tier is not None else None
    plugins, gain = _allowing_plugins(decision, pod), _format_gain(recording, eviction)
    sheets = (_answers_sheet(decision, pod),) if decision is not None else ()
    allowed = (f"Allowed by {join_names(plugins)} (tier {eviction.tier}).",) if plugins else ()
    in_vain = () if eviction.is_carried_out else _preemptor_lines(recording, eviction)
    reasons, keeping = _loss_lines(recording, pod) if eviction.is_carried_out else ((), ())
    by_gang = recording.conf.facts_of(eviction.action).evicts_by_gang
    # The reasons of explain tell of the bundle too.
    bundle = (_bundle_sentence(recording, eviction),) if by_gang and not reasons else ()
    first = reasons or allowed
    others = [line for line in _protection_lines(recording, decision, eviction) if line not in first]
    lines = (*first, *bundle, *others, *in_vain, gain, *keeping)
    evidence, data = tuple(_eviction_evidence(eviction, decision)), _eviction_json(eviction, decision, gain)
    return QuestionReply(_eviction_sentence(eviction), lines, sheets, evidence, data)


def _list_evictions(recording: Recording) -> QuestionReply:
    done = evictions.carried_out(recording)
    count = f"{count_noun(len(done), 'pod')} {verb_for(len(done), 'is')}" if done else "No pod is"
    rows = [(one.victim, one.node, one.action, one.preemptor or one.requester, str(one.seq)) for one in done]
    sheets = (ReplySheet("evictions", ("pod", "node", "by", "for", "event#"), tuple(rows)),) if rows else ()
    data = {"evicted": [{"pod": one.victim, "node": one.node, "action": one.action, "event": one.seq} for one in done]}
    return QuestionReply(f"{count} evicted in this cycle.", sheets=sheets, data=data)


def _reported_lines(recording: Recording, pod: TaskKey) -> list[str]:
    """What the scheduler has reported of an earlier eviction, with its rule, and how to keep the job's pods."""
    if (job := recording.owners.jobs.get(pod)) not in recording.session.jobs:
        return []
    facts = lost_pod_facts(view_of(recording, ExplainSubject(job, pod)))
    return [fact if isinstance(fact, str) else fact.text for fact in facts]


def find_pod(recording: Recording, word: str) -> TaskKey:
    """The pod of this name; raises NotFoundError."""
    subject = find_subject(recording, word)
    if subject.pod is not None:
        return subject.pod
    job = recording.session.jobs.get(subject.job)
    tasks = [task.key for task in job.tasks.values()] if job is not None else []
    if len(tasks) == 1:
        return tasks[0]
    named = f"name one of its pods: {', '.join(sorted(tasks)[:5])}"
    raise NotFoundError("is a job", named if tasks else "it has no pods here; `vcdebug explain` says why", word)


def _spared_lines(recording: Recording, pod: TaskKey) -> tuple[str, ...]:
    """Why no action planned to evict the pod: the last answers of the plugins about it, else that none was asked."""
    calls = (call for point in VICTIM_POINTS for call in recording.hook_calls(point))
    seq = max((seq for seq, event in calls if pod in candidates_in(event.subject)), default=None)
    decision = victim_choice(recording, seq) if seq is not None else None
    if seq is None or decision is None:
        if pod not in recording.owners.jobs:
            return ("It belongs to no job of this cycle, and only pods of jobs are evicted.",)
        return (_unasked_sentence(recording, task_of(recording, pod)),)
    action = recording.span_tree.name_around(seq, Level.ACTION)
    asker = decision.question.task or recording.span_tree.name_around(seq, Level.JOB)
    asked = f"{action} considered it for {asker} (event {seq})"
    saved = next((outcome.saved_by for outcome in decision.outcomes if outcome.task == pod), None)
    if saved is None:
        return (f"{asked}, and no plugin protects it; {_unneeded_words(recording, decision, pod)}",)
    reason = f" ({saved.reason})" if saved.reason else ""
    return (f"{asked}: {saved.vote.plugin} (tier {saved.vote.tier}) protects it{reason}.",)


def _unneeded_words(recording: Recording, decision: VictimDecision, pod: TaskKey) -> str:
    """Why an allowed victim is not evicted: another pod was enough, and comes before it, or not even all are."""
    asker, node, last = decision.question.task, decision.node, decision.question.last_seq
    plan = (one for one in evictions.planned_evictions(recording) if one.node == node and one.seq > last)
    own = [one for one in plan if one.preemptor == asker]
    pop = _victim_pop_seq(recording, own[-1]) if own else None
    if pop is not None:
        order = order_of(recording, pop, "victim", own[-1].victim, pod, asker)
        return (
            f"{_victim_sentence(own[-1], [pod], [order], ())} Evicting {count_noun(len(own), 'pod')} there is enough."
        )
    room = decision.room_equation
    too_little = room is not None and not own and room.verdict is False
    return f"evicting all allowed pods of {node} makes too little room." if too_little else "it was not needed."


def _unasked_sentence(recording: Recording, victim: TaskInfo) -> str:
    """Why no action asked the plugins about a pod: its own filter, or a node where it did not search."""
    conf = recording.conf
    if not any(conf.facts_of(action).evicts for action in conf.actions):
        return f"None of the actions ({', '.join(conf.actions)}) evicts pods."
    spans = (span for span in recording.spans if span.level is Level.TASK)
    turns = [(recording.span_tree.name_around(span.first, Level.ACTION), span.name) for span in spans]
    searches = [turn for turn in dict.fromkeys(turns) if conf.facts_of(turn[0]).evicts_by_pod][:MOST_SEARCHES]
    if not searches:
        return "No action looked for victims."
    filters = (victim_filter_of(recording, action, task_of(recording, asker)) for action, asker in searches)
    skips = [skipped_victim(recording, victim_filter, victim) for victim_filter in filters]
    if None in skips:
        action, asker = searches[skips.index(None)]
        visits = view_of(recording, find_subject(recording, asker)).visits_of(action)
        tries = (tried for visit in visits for tried in visit.tries if tried.task == asker)
        for seq, call in (call for tried in tries for call in tried.refusals(PREEMPTIVE.upstream)):
            return f"{action} looked for no victims for {asker}: {call.plugin} rejects its queue (event {seq})."
        return f"{action} looked for victims for {asker}, but not on {_unsearched_words(recording, asker, victim)}."
    (action, asker), skip = searches[0], skips[0]
    kind = "" if skip is None else f"that are {skip.text}" if skip.rule == NOT_RUNNING else skip.text
    return f"{action} looked for victims for {asker}, but takes no pods {kind}."


def _unsearched_words(recording: Recording, asker: TaskKey, victim: TaskInfo) -> str:
    """A pod's node, with why the search for another pod's victims left it out, as far as the nodes show it."""
    node, task = victim.node_name, task_of(recording, asker)
    if not node:
        return "its node"
    view = view_of(recording, find_subject(recording, asker))
    fit = next(iter(NodeFits(view, task, len(recording), (node,)).node_fits), None)
    if fit is not None and fit.kind in ("unresolvable", "too small"):
        return f"{node}: {fit.reason}"
    return f"{node}: {task.node_name} was enough" if task.node_name else node


def _loss_lines(recording: Recording, pod: TaskKey) -> tuple[Sequence[str], Sequence[str]]:
    """(why the pod is evicted, what keeps it), in the words of explain."""
    found = explain_by_name(recording, pod)
    if found.cause_code != Cause.EVICTED:
        return (), ()
    return found.dominant.facts, [f"To keep it: {advice.text}" for advice in found.advised[:MAX_KEEPING]]


def _preemptor_lines(recording: Recording, eviction: evictions.Eviction) -> tuple[str, ...]:
    """Why the pods for which the eviction was planned got no place, in the words of explain."""
    job = recording.owners.jobs.get(eviction.preemptor, eviction.preemptor)
    return (explain_by_name(recording, job).sentence,) if job in recording.session.jobs else ()


def _eviction_sentence(eviction: evictions.Eviction) -> str:
    if eviction.is_carried_out:
        return f"{evictions.eviction_words(eviction, eviction.victim)}."
    pod, node = eviction.preemptor or "no other pod", f" on {eviction.node}" if eviction.node else ""
    planned = f"{eviction.action} planned to evict it{node} for {pod}, then rolled the plan back (event {eviction.end})"
    return f"{eviction.victim} is not evicted: {planned}."


def _allowing_plugins(decision: VictimDecision | None, pod: TaskKey) -> list[str]:
    """Plugins of the deciding tier that allowed the pod as a victim."""
    tier = decision.question.deciding_tier if decision is not None else None
    votes = decision.question.votes if decision is not None else ()
    return [vote.plugin for vote in votes if vote.tier == tier and pod in vote.allowed_victims]


def _answers_sheet(decision: VictimDecision, pod: TaskKey) -> ReplySheet:
    objections = (objection for fate in decision.outcomes if fate.task == pod for objection in fate.objections)
    reasons = {(objection.vote.tier, objection.vote.plugin): objection.reason for objection in objections}
    rows = []
    for vote in decision.question.votes:
        verdict = (
            "allows it" if pod in vote.allowed_victims else "protects it" if vote.state == "answered" else vote.state
        )
        reason = vote.silence_reason or reasons.get((vote.tier, vote.plugin), "")
        rows.append((str(vote.tier), vote.plugin, verdict, reason))
    return ReplySheet("answers of the plugins", ("tier#", "plugin", "answer", "why"), tuple(rows))


def _protection_lines(
    recording: Recording, decision: VictimDecision | None, eviction: evictions.Eviction
) -> Iterator[str]:
    """Yields lines about plugins that protected the pod in other tiers, and about plugins that were not asked."""
    if decision is None:
        return
    question = decision.question
    decider = f"tier {question.deciding_tier}" if question.deciding_tier in question.tiers else "another tier"
    for vote in question.answered:
        if eviction.victim not in vote.allowed_victims:
            yield f"{vote.plugin} (tier {vote.tier}) protected it, but {decider} decided."
    yield from (unasked.text for unasked in unasked_plugins(recording, question, eviction.seq))


def _format_gain(recording: Recording, eviction: evictions.Eviction) -> str:
    """Whether the preemptor got a place from the eviction, in words."""
    job, effects = recording.owners.jobs.get(eviction.preemptor, eviction.preemptor), cycle_effects(recording)
    summary = next((job_summary for job_summary in effects.jobs if job_summary.job == job), None)
    if summary is None:
        return "The eviction made room for no pod."
    gains = [effect for effect in (*effects.pipelined, *effects.bound) if effect.job == job]
    if not gains:
        return f"{job} did not benefit: none of its pods has a node after this cycle."
    nodes = [effect.node for effect in gains if effect.task == eviction.preemptor]
    placed, minimum = summary.ready + summary.waiting, summary.min_available
    of_gang = f"{placed} of its {count_noun(minimum, 'pod')} (minMember) ready or reserved"
    placed_pods = f"{count_noun(len(gains), 'pod')} {verb_for(len(gains), 'has')} a node"
    text = f"{eviction.preemptor} is reserved on {nodes[0]}" if nodes else placed_pods
    if not summary.has_minimum:
        return f"{job} cannot start yet: {text}, {of_gang}; {eviction.action} does not undo the eviction for that."
    return f"{job} benefited: {text}."


def _eviction_evidence(eviction: evictions.Eviction, decision: VictimDecision | None) -> Iterator[Evidence]:
    if decision is not None:
        question = decision.question
        called = f"{question.point} is called with {count_noun(len(question.candidates), 'candidate victim')}"
        yield Evidence(question.first_seq, called)
    yield Evidence(eviction.seq, f"{eviction.action} evicts {eviction.victim}")
    if eviction.end != eviction.seq:
        yield Evidence(eviction.end, f"statement {_FATE_WORDS.get(eviction.statement_end, 'ends')}")


_FATE_WORDS = {"commit": "committed", "discard": "discarded", "merge": "merged"}


def _eviction_json(eviction: evictions.Eviction, decision: VictimDecision | None, gain: str) -> dict[str, object]:
    votes = decision.question.votes if decision is not None else ()
    return {
        "pod": eviction.victim,
        "evicted": eviction.is_carried_out,
        "action": eviction.action,
        "for": eviction.preemptor or None,
        "node": eviction.node,
        "tier": eviction.tier,
        "offeredBy": _allowing_plugins(decision, eviction.victim),
        "notAsked": [vote.plugin for vote in votes if vote.state == "not asked"],
        "gain": gain,
    }


EVICTED_QUESTION = NamedQuestion(
    "evicted", "Why was this pod evicted", ("pod",), explain_eviction, is_also_general=True
)


def explain_victim_choice(recording: Recording, word: str) -> QuestionReply:
    """The reply why this pod was evicted and not another candidate."""
    pod = find_pod(recording, word)
    eviction = evictions.eviction_of(recording, pod)
    if eviction is None:
        none = f"{pod} is not a victim in this cycle."
        return QuestionReply(none, _spared_lines(recording, pod), data={"pod": pod, "victim": False})
    reply = _reply_about_victim(recording, eviction)
    undone = () if eviction.is_carried_out else (f"The plan is rolled back (event {eviction.end}), and the pod stays.",)
    return replace(reply, lines=(*undone, *reply.lines))


def _reply_about_victim(recording: Recording, eviction: evictions.Eviction) -> QuestionReply:
    pod = eviction.victim
    dry_run_search = dry_runs.dry_run_search_at(recording, eviction.seq)
    if dry_run_search is not None:
        return _reply_of_dry_run(eviction, dry_run_search)
    decision = victim_choice_before(recording, eviction.seq) if eviction.tier is not None else None
    others = [task for task in dict.fromkeys(decision.victims) if task != pod] if decision is not None else []
    pop = _victim_pop_seq(recording, eviction)
    siblings = sibling_pops(recording, pop) if pop is not None else ()
    # Victims that were popped earlier from the same queue, with the events of their pops.
    popped = {event.name: seq for seq, event in recording.filter_events(PopEvent, siblings) if pop and seq < pop}
    # Evictions change shares, so two victims are compared in the state at the earlier of their pops.
    orders = [
        order_of(recording, popped.get(other, pop), "victim", pod, other, eviction.preemptor) for other in others if pop
    ]
    sheets = tuple(sheet for sheet in (_orders_sheet(orders, popped), _protected_sheet(decision)) if sheet.rows)
    lines, evidence = evictions.milder_nodes_facts(recording, eviction), _victim_evidence(eviction, decision, pop)
    bundle = _bundle_sentence(recording, eviction) if pop is None and others else ""
    sentence = bundle or _victim_sentence(eviction, others, orders, list(popped))
    return QuestionReply(sentence, tuple(lines), sheets, evidence, _victim_json(eviction, others, orders, popped))


def _victim_pop_seq(recording: Recording, eviction: evictions.Eviction) -> Seq | None:
    """The event that popped the pod from the node's victims queue; None without one."""
    span = recording.span_tree.span_around(eviction.seq, Level.NODE)
    if span is None:
        # A plan for a whole gang takes bundles: an earlier pop belongs to another action's queue.
        return None
    pops = recording.events_before(PopEvent, eviction.seq, span.first)
    return next((at for at, pop in pops if pop.name == eviction.victim and pop_kind(recording, at) == "victim"), None)


def _reply_of_dry_run(eviction: evictions.Eviction, search: dry_runs.DryRunSearch) -> QuestionReply:
    """The reply about a victim of topology-aware preemption, which removes all candidates and restores what fits."""
    victim, node, action = eviction.victim, eviction.node, eviction.action
    run = next(node_run for node_run in search.runs if node_run.node == search.winner)
    restored = [trial for trial in run.trials if trial.verb != dry_runs.TAKE]
    rows = tuple((trial.task, trial.verdict_text, trial.refusal) for trial in restored)
    refusal = next((trial.refusal for trial in restored if trial.task == victim and not trial.fits), "")
    because = f": {refusal}" if refusal else ""
    sentence = f"{victim} is evicted on {node}: {eviction.preemptor} would not fit there with it{because}."
    removed = f"{action} simulates the node without its {count_noun(len(run.allowed_victims), 'candidate victim')}"
    line = f"{removed}, then restores each with which the pod still fits."
    others = [task for task in run.allowed_victims if task != victim]
    evidence = (Evidence(run.first_seq, f"{node} is simulated"), Evidence(eviction.seq, f"{action} evicts it"))
    sheets = (ReplySheet("restored, one after another", ("pod", "result", "why"), rows),) if rows else ()
    return QuestionReply(sentence, (line,), sheets, evidence, _victim_json(eviction, others, ()))


def _bundle_sentence(recording: Recording, one: evictions.Eviction) -> str:
    """Why a victim of a gang action is in the plan: with its bundle, not before another pod."""
    plan = [each.victim for each in evictions.planned_evictions(recording) if each.end == one.end]
    others = join_names((victim for victim in plan if victim != one.victim), 3)
    place = f"on {one.node}{f' with {others}' if others else ''}"
    return f"{one.victim} is evicted {place}: {one.action} evicts a bundle of pods as a whole."


def _victim_sentence(
    one: evictions.Eviction, others: Sequence[TaskKey], orders: Sequence[OrderComparison], earlier: Sequence[TaskKey]
) -> str:
    place = f"on {one.node}" if one.node else "here"
    if not others:
        return f"{one.victim} was the only allowed victim {place}{f' for {one.preemptor}' if one.preemptor else ''}."
    later = ((one.right, one.deciding_step) for one in orders if one.right not in earlier and one.order_sign < 0)
    rival, step = next(((right, step) for right, step in later if step is not None), ("", None))
    if step is None and earlier:
        return f"{one.victim} is evicted {place} after {join_names(earlier, 3)}, which did not make enough room."
    if step is None:
        return f"{one.victim} is evicted before {join_names(others, 3)} {place}, which compare equal to it."
    source = f"{step.plugin} orders" if step.plugin else "victims are ordered"
    criterion = f"{step.difference.label} ({step.difference.left} before {step.difference.right})"
    return f"{one.victim} is evicted before {rival} {place}: {source} by {criterion}."


STALE_ORDER = "the order in which the queue was built"


def _popped_order(order: OrderComparison, earlier: Collection[TaskKey]) -> tuple[int, OrderStep | None]:
    """(1 if the other pod left the queue earlier, -1 if later, 0 where they compare equal; what decides that)."""
    if order.right in earlier:
        return 1, order.deciding_step
    # A priority queue does not sort again when figures change: the present order is then not the one of its pops.
    return (-1, None) if order.order_sign > 0 else (order.order_sign, order.deciding_step)


def _orders_sheet(orders: Sequence[OrderComparison], earlier: Collection[TaskKey]) -> ReplySheet:
    rows = []
    for order in orders:
        sign, step = _popped_order(order, earlier)
        difference = step.difference if step is not None else None
        plugin = (step.plugin if step is not None else "") or "no plugin"
        values = (f"{difference.left}", f"{difference.right}") if difference is not None else ("", "")
        label = difference.label if difference is not None else "nothing" if not sign else STALE_ORDER
        rows.append((order.right, {-1: "later", 1: "earlier", 0: "equal"}[sign], label, *values, plugin))
    heads = ("pod", "order", "criterion", "victim", "this pod", "plugin")
    return ReplySheet("other allowed victims", heads, tuple(rows))


def _protected_sheet(decision: VictimDecision | None) -> ReplySheet:
    saved = ((fate.task, fate.saved_by) for fate in (decision.outcomes if decision is not None else ()))
    rows = [(task, str(one.vote.tier), one.vote.plugin, one.reason) for task, one in saved if one is not None]
    return ReplySheet("protected candidates", ("pod", "tier#", "by", "why"), tuple(rows))


def _victim_evidence(
    eviction: evictions.Eviction, choice: VictimDecision | None, pop: Seq | None
) -> tuple[Evidence, ...]:
    question_seq = choice.question.first_seq if choice is not None else None
    return (
        *proof_of(question_seq, "candidates are passed to the plugins"),
        *proof_of(pop, f"{eviction.victim} leaves the queue of victims"),
        Evidence(eviction.seq, f"{eviction.action} evicts it"),
    )


def _victim_json(
    eviction: evictions.Eviction,
    others: Sequence[TaskKey],
    orders: Sequence[OrderComparison],
    earlier: Collection[TaskKey] = (),
) -> dict[str, object]:
    signs = [(order.right, *_popped_order(order, earlier)) for order in orders]
    entries = [
        {
            "instead": other,
            "sign": sign,
            "decidedBy": step.difference.label if step is not None else None,
            "plugin": step.plugin if step is not None else None,
        }
        for other, sign, step in signs
    ]
    return {"pod": eviction.victim, "victim": True, "node": eviction.node, "others": list(others), "orders": entries}


VICTIM_QUESTION = NamedQuestion("victim", "Why this victim", ("pod",), explain_victim_choice)


# What the plugins answered about the victims on each node that an action tried for a pod.


def victim_funnels(recording: Recording, seq: Seq, pod: TaskKey) -> list[VictimFunnel]:
    """The last search for victims for a pod in the action around an event: among other jobs, and within the job."""
    found = (funnel for funnel in funnels_around(recording, seq, pod) if funnel.tried_nodes)
    latest = {funnel.is_within_job: funnel for funnel in found}.values()
    return [one for one in latest if not one.is_within_job or any(map(_outcomes, one.tried_nodes))]


def node_victim_words(funnel: NodeFunnel) -> Iterator[str]:
    """Yields what became of evictions on the node, and which plugin protects which pods."""
    decision, saved = funnel.decision, [(one.task, one.saved_by) for one in _outcomes(funnel)]
    by_plugin = group_by_key((by.vote.plugin, f"{pod} ({by.reason})" if by.reason else pod) for pod, by in saved if by)
    if decision is None or decision.victims or not by_plugin:
        yield funnel.outcome_words
    yield from (f"{plugin} protects {join_names(pods)}" for plugin, pods in by_plugin.items())


def _outcomes(funnel: NodeFunnel) -> Sequence[CandidateOutcome]:
    """The fate of each candidate on the node; none where the plugins were not asked."""
    return funnel.decision.outcomes if funnel.decision is not None else ()


VICTIM_HEADS: Final = ("node", "event#", "result", "candidate victim", "protected by", "why")
MAX_FUNNEL_NODES: Final = 20
MAX_NAMED_NODES: Final = 5


def funnel_sheet(funnel: VictimFunnel, first: NodeName) -> ReplySheet:
    """The table of the nodes that the action tried, `first` in front: a row per candidate victim."""
    tried = sorted(funnel.tried_nodes, key=lambda one: one.node != first)
    # Nodes without candidates share a row per result.
    empty = group_by_key((one.outcome_words, one.node) for one in tried if not _outcomes(one))
    asked = [one for one in tried if _outcomes(one)]
    rows = [row for one in asked[:MAX_FUNNEL_NODES] for row in _victim_rows(one)]
    rows += [(join_names(nodes, MAX_NAMED_NODES), "", words, "", "", "") for words, nodes in empty.items()]
    whose = " of the job itself" if funnel.is_within_job else ""
    cut = f" (the first {MAX_FUNNEL_NODES} of {len(asked)})" if len(asked) > MAX_FUNNEL_NODES else ""
    return ReplySheet(f"{funnel.action}: victims{whose} on each node{cut}", VICTIM_HEADS, tuple(rows))


def _victim_rows(funnel: NodeFunnel) -> Iterator[tuple[str, ...]]:
    """Yields a row per candidate; the node and its result stand in the first one."""
    event = str(funnel.decision.question.first_seq) if funnel.decision is not None else ""
    place = (funnel.node, event, funnel.outcome_words)
    for one in _outcomes(funnel):
        by, why = (one.saved_by.vote.plugin, one.saved_by.reason) if one.saved_by is not None else ("", "")
        yield *place, one.task, by or ("no plugin" if one.is_victim else ""), why
        place = ("", "", "")


def funnel_json(funnel: VictimFunnel) -> dict[str, object]:
    """The answers about the candidates on each node as JSON data."""
    return {
        "action": funnel.action,
        "withinJob": funnel.is_within_job,
        "nodes": [
            {
                "node": one.node,
                "event": one.decision.question.first_seq if one.decision is not None else None,
                "result": one.outcome_words,
                "candidates": [
                    {
                        "pod": outcome.task,
                        "protectedBy": outcome.saved_by.vote.plugin if outcome.saved_by is not None else None,
                        "why": outcome.saved_by.reason if outcome.saved_by is not None else "",
                    }
                    for outcome in _outcomes(one)
                ],
            }
            for one in funnel.tried_nodes
        ],
    }
