"""Why was this pod evicted: the preemptor, the plugins that allowed or protected it, and what it achieved."""

from collections.abc import Collection, Iterator, Sequence

from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.answer import Evidence, NamedQuestion, QuestionReply, ReplySheet, proof_of
from vcdebug.explain.decisions import dry_runs, evictions
from vcdebug.explain.decisions.votes import VictimDecision, VictimObjection, unasked_plugins, victim_choice_before
from vcdebug.explain.job_view import NotFoundError, find_subject
from vcdebug.explain.orders import OrderComparison, order_of, pop_kind, sibling_pops
from vcdebug.framework.record import Level, PopEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording


def why_evicted(recording: Recording, word: str) -> QuestionReply:
    """The eviction that was carried out, else the last one that was planned."""
    pod = find_pod(recording, word)
    one = evictions.eviction_of(recording, pod)
    if one is None:
        never = f"{pod} is not evicted in this cycle, and no action planned to evict it."
        return QuestionReply(never, data={"pod": pod, "evicted": False})
    choice = victim_choice_before(recording, one.seq) if one.tier is not None else None
    gain = _format_gain(recording, one)
    sheets = (_offers_sheet(choice, pod),) if choice is not None else ()
    lines = (*_allowed_lines(one, choice), *_protection_lines(recording, choice, one), gain)
    evidence, data = tuple(_eviction_evidence(one, choice)), _eviction_json(one, choice, gain)
    return QuestionReply(_eviction_sentence(one), lines, sheets, evidence, data)


def find_pod(recording: Recording, word: str) -> TaskKey:
    """The pod of this name; raises NotFoundError."""
    subject = find_subject(recording.snapshot, word)
    if subject.pod is not None:
        return subject.pod
    job = recording.session.jobs.get(subject.job)
    tasks = [task.key for task in job.tasks.values()] if job is not None else []
    if len(tasks) == 1:
        return tasks[0]
    raise NotFoundError("is a job", f"name one of its pods: {', '.join(sorted(tasks)[:5])}", word)


def _eviction_sentence(one: evictions.Eviction) -> str:
    if one.is_carried_out:
        return f"{evictions.eviction_words(one, one.victim)}."
    who, node = one.preemptor or "no other pod", f" on {one.node}" if one.node else ""
    planned = f"{one.action} planned to evict it{node} for {who}, then rolled the plan back (event {one.end})"
    return f"{one.victim} is not evicted: {planned}."


def _allowed_lines(one: evictions.Eviction, choice: VictimDecision | None) -> Iterator[str]:
    offering = _offering_plugins(choice, one.victim)
    if offering and one.tier is not None:
        yield f"Allowed by {join_names(offering)} (tier {one.tier})."


def _offering_plugins(choice: VictimDecision | None, pod: TaskKey) -> list[str]:
    """Plugins of the deciding tier that allowed the pod as a victim."""
    tiers = choice.tiers if choice is not None else ()
    return [offer.seat.plugin for tier in tiers if tier.decides for offer in tier.offers if pod in offer.offered]


def _offers_sheet(choice: VictimDecision, pod: TaskKey) -> ReplySheet:
    reasons = {(objection.tier, objection.plugin): objection.why for objection in _objections_to(choice, pod)}
    rows = []
    for tier in choice.tiers:
        for offer in tier.offers:
            seat = offer.seat
            said = "allows it" if pod in offer.offered else "protects it" if seat.state == "answered" else seat.state
            why = seat.why or reasons.get((seat.tier, seat.plugin), "")
            rows.append((str(seat.tier), seat.plugin, said, why))
    return ReplySheet("answers of the plugins", ("tier#", "plugin", "answer", "why"), tuple(rows))


def _objections_to(choice: VictimDecision, pod: TaskKey) -> Iterator[VictimObjection]:
    for fate in choice.fates:
        if fate.task == pod:
            yield from fate.objections


def _protection_lines(recording: Recording, choice: VictimDecision | None, one: evictions.Eviction) -> Iterator[str]:
    """Plugins that protected the pod and were not in the deciding tier, and those that were not asked."""
    if choice is None:
        return
    for tier in choice.tiers:
        for offer in tier.offers:
            seat = offer.seat
            if seat.state == "answered" and one.victim not in offer.offered:
                yield f"{seat.plugin} (tier {seat.tier}) protected it, but {_deciding_tier_words(choice)} decided."
    yield from (each.text for each in unasked_plugins(recording, choice.question, one.seq))


def _deciding_tier_words(choice: VictimDecision | None) -> str:
    tiers = choice.tiers if choice is not None else ()
    return next((f"tier {tier.number}" for tier in tiers if tier.decides), "another tier")


def _format_gain(recording: Recording, one: evictions.Eviction) -> str:
    """Whether the preemptor got a place from the eviction, in words."""
    job = recording.owners.jobs.get(one.preemptor, one.preemptor)
    summary = next((each for each in cycle_effects(recording).jobs if each.job == job), None)
    if summary is None:
        return "The eviction made room for no pod."
    done = cycle_effects(recording)
    got = [effect for effect in (*done.pipelined, *done.bound) if effect.job == job]
    if not got:
        return f"{job} did not benefit: none of its pods has a node after this cycle."
    own = [effect.node for effect in got if effect.task == one.preemptor]
    enough = summary.ready + summary.waiting >= summary.min_available
    ready = f"{summary.ready + summary.waiting} of minMember {summary.min_available} pods are ready or reserved"
    gang = "" if enough else f"; {ready}"
    have = f"{count_noun(len(got), 'pod')} {verb_for(len(got), 'has')} a node"
    where = f"{one.preemptor} is reserved on {own[0]}" if own else have
    return f"{job} benefited: {where}{gang}."


def _eviction_evidence(one: evictions.Eviction, choice: VictimDecision | None) -> Iterator[Evidence]:
    if choice is not None:
        yield Evidence(
            choice.question.first,
            f"{choice.question.point} is called with {count_noun(len(choice.candidates), 'candidate victim')}",
        )
    yield Evidence(one.seq, f"{one.action} evicts {one.victim}")
    if one.end != one.seq:
        yield Evidence(one.end, f"statement {_FATE_WORDS.get(one.fate, 'ends')}")


_FATE_WORDS = {"commit": "committed", "discard": "discarded", "merge": "merged"}


def _eviction_json(one: evictions.Eviction, choice: VictimDecision | None, gain: str) -> dict[str, object]:
    return {
        "pod": one.victim,
        "evicted": one.is_carried_out,
        "action": one.action,
        "for": one.preemptor or None,
        "node": one.node,
        "tier": one.tier,
        "offeredBy": _offering_plugins(choice, one.victim),
        "notAsked": [
            offer.seat.plugin
            for tier in (choice.tiers if choice is not None else ())
            for offer in tier.offers
            if offer.seat.state == "not asked"
        ],
        "gain": gain,
    }


EVICTED_QUESTION = NamedQuestion("evicted", "Why was this pod evicted", ("pod",), why_evicted)


def why_victim(recording: Recording, word: str) -> QuestionReply:
    """The pod's eviction, and the other candidates that could have been evicted instead."""
    pod = find_pod(recording, word)
    one = evictions.eviction_of(recording, pod)
    if one is None:
        return QuestionReply(f"{pod} is not a victim in this cycle.", data={"pod": pod, "victim": False})
    simulated = dry_runs.dry_run_search_at(recording, one.seq)
    if simulated is not None:
        return _reply_of_dry_run(one, simulated)
    choice = victim_choice_before(recording, one.seq) if one.tier is not None else None
    others = [task for task in dict.fromkeys(choice.victims) if task != pod] if choice is not None else []
    pop = _victim_pop_seq(recording, one)
    earlier = _popped_before(recording, pop) if pop is not None else {}
    # An eviction changes shares: the order of two victims is the one when the first of them left the queue.
    orders = [
        order_of(recording, earlier.get(other, pop), "victim", pod, other, one.preemptor) for other in others if pop
    ]
    sheets = tuple(sheet for sheet in (_orders_sheet(orders, earlier), _protected_sheet(choice)) if sheet.rows)
    lines, evidence = evictions.milder_nodes_facts(recording, one), _victim_evidence(one, choice, pop)
    sentence = _victim_sentence(one, others, orders, list(earlier))
    return QuestionReply(sentence, tuple(lines), sheets, evidence, _victim_json(one, others, orders, earlier))


def _victim_pop_seq(recording: Recording, one: evictions.Eviction) -> Seq | None:
    """The pop that took the pod from the node's queue of victims."""
    span = recording.span_tree.span_around(one.seq, Level.NODE)
    pops = recording.events_before(PopEvent, one.seq, span.first if span is not None else 1)
    return next((seq for seq, pop in pops if pop.name == one.victim and pop_kind(recording, seq) == "victim"), None)


def _popped_before(recording: Recording, pop: Seq) -> dict[TaskKey, Seq]:
    """The victims that left the same queue earlier, and the event of each."""
    return {
        event.name: seq
        for seq in sibling_pops(recording, pop)
        if seq < pop and isinstance(event := recording.event_at(seq), PopEvent)
    }


def _reply_of_dry_run(one: evictions.Eviction, found: dry_runs.DryRunSearch) -> QuestionReply:
    """For a victim of topology-aware preemption, which removes all candidates of a node and puts back what it can."""
    run = next(each for each in found.runs if each.node == found.winner)
    rows = tuple((trial.task, trial.verdict_text, trial.why) for trial in run.trials if trial.verb != dry_runs.TAKE)
    why = next((trial.why for trial in run.trials if trial.task == one.victim and not trial.fits), "")
    because = f": {why}" if why else ""
    sentence = f"{one.victim} is evicted on {one.node}: {one.preemptor} would not fit there with it{because}."
    removed = count_noun(len(run.offered), "candidate victim")
    line = f"{one.action} simulates the node without its {removed}, then restores each with which the pod still fits."
    others = [task for task in run.offered if task != one.victim]
    evidence = (Evidence(run.first, f"{one.node} is simulated"), Evidence(one.seq, f"{one.action} evicts it"))
    sheets = (ReplySheet("restored, one after another", ("pod", "result", "why"), rows),) if rows else ()
    return QuestionReply(sentence, (line,), sheets, evidence, _victim_json(one, others, ()))


def _victim_sentence(
    one: evictions.Eviction, others: Sequence[TaskKey], orders: Sequence[OrderComparison], earlier: Sequence[TaskKey]
) -> str:
    where = f"on {one.node}" if one.node else "here"
    if not others:
        return f"{one.victim} was the only allowed victim {where}{f' for {one.preemptor}' if one.preemptor else ''}."
    later = (order for order in orders if order.right not in earlier)
    behind = next((order for order in later if order.order_sign < 0 and order.deciding_step is not None), None)
    if behind is None or behind.deciding_step is None:
        if earlier:
            return f"{one.victim} is evicted {where} after {join_names(earlier, 3)}, which did not make enough room."
        return f"{one.victim} is evicted before {join_names(others, 3)} {where}, which compare equal to it."
    decided = behind.deciding_step
    by = f"{decided.plugin} orders" if decided.plugin else "victims are ordered"
    compared = f"{decided.difference.what} ({decided.difference.left} before {decided.difference.right})"
    return f"{one.victim} is evicted before {behind.right} {where}: {by} by {compared}."


def _orders_sheet(orders: Sequence[OrderComparison], earlier: Collection[TaskKey]) -> ReplySheet:
    rows = []
    for order in orders:
        decided = order.deciding_step
        # A queue whose figures change between two pops may give out its elements in another order than they have now.
        first = "earlier" if order.right in earlier else {-1: "later", 1: "earlier", 0: "equal"}[order.order_sign]
        what = decided.difference if decided is not None else None
        by = (decided.plugin if decided is not None else "") or "no plugin"
        values = (f"{what.left}", f"{what.right}") if what is not None else ("", "")
        rows.append((order.right, first, what.what if what is not None else "nothing", *values, by))
    heads = ("pod", "order", "criterion", "victim", "this pod", "plugin")
    return ReplySheet("other allowed victims", heads, tuple(rows))


def _protected_sheet(choice: VictimDecision | None) -> ReplySheet:
    fates = choice.fates if choice is not None else ()
    rows = tuple(
        (fate.task, str(saved.tier), saved.plugin, saved.why) for fate in fates if (saved := fate.saved_by) is not None
    )
    return ReplySheet("protected candidates", ("pod", "tier#", "by", "why"), rows)


def _victim_evidence(one: evictions.Eviction, choice: VictimDecision | None, pop: Seq | None) -> tuple[Evidence, ...]:
    asked = choice.question.first if choice is not None else None
    return (
        *proof_of(asked, "candidates are passed to the plugins"),
        *proof_of(pop, f"{one.victim} leaves the queue of victims"),
        Evidence(one.seq, f"{one.action} evicts it"),
    )


def _victim_json(
    one: evictions.Eviction,
    others: Sequence[TaskKey],
    orders: Sequence[OrderComparison],
    earlier: Collection[TaskKey] = (),
) -> dict[str, object]:
    decided = [
        {
            "instead": order.right,
            "sign": 1 if order.right in earlier else order.order_sign,
            "decidedBy": order.deciding_step.difference.what if order.deciding_step is not None else None,
            "plugin": order.deciding_step.plugin if order.deciding_step is not None else None,
        }
        for order in orders
    ]
    return {"pod": one.victim, "victim": True, "node": one.node, "others": list(others), "orders": decided}


VICTIM_QUESTION = NamedQuestion("victim", "Why this victim", ("pod",), why_victim)
