"""Why was this pod evicted: for whom, who offered it, who could have protected it, and what it was good for."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.causes.subject import NotFoundError, find_subject
from vcdebug.explain.answer import Evidence
from vcdebug.explain.evictions import CARRIED_OUT_FATES, Eviction, planned_evictions
from vcdebug.explain.victims import VictimDecision, VictimObjection, victim_choice_before
from vcdebug.model.names import JobId, TaskKey
from vcdebug.questions.reply import NamedQuestion, QuestionReply, ReplySheet
from vcdebug.trace.effects import cycle_effects
from vcdebug.trace.recording import Recording


def why_evicted(recording: Recording, word: str) -> QuestionReply:
    """The eviction that was carried out, else the last one that was planned."""
    pod = find_pod(recording, word)
    planned = [one for one in planned_evictions(recording) if one.victim == pod]
    carried = [one for one in planned if one.fate in CARRIED_OUT_FATES]
    if not planned:
        return QuestionReply(
            f"{pod} is not evicted in this cycle, and no action planned to.", data={"pod": pod, "evicted": False}
        )
    one = (carried or planned)[-1]
    choice = victim_choice_before(recording, one.seq) if one.tier is not None else None
    gain = _format_gain(recording, one)
    sheets = (_offers_sheet(choice, pod),) if choice is not None else ()
    lines = (*_protection_lines(choice, pod), gain)
    return QuestionReply(
        _eviction_sentence(one, choice),
        lines,
        sheets,
        tuple(_eviction_evidence(one, choice)),
        _eviction_json(one, choice, gain),
    )


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


def _eviction_sentence(one: Eviction, choice: VictimDecision | None) -> str:
    who = one.preemptor or "nobody in particular: a plugin wants it to leave"
    node = f" on {one.node}" if one.node else ""
    if one.fate not in CARRIED_OUT_FATES:
        planned = f"{one.action} planned it for {who}{node}, and took it back at event {one.end}"
        return f"{one.victim} is not evicted: {planned}."
    offering = _offering_plugins(choice, one.victim)
    by = f"; tier {one.tier} decided" if one.tier is not None else ""
    offered = f", where {' and '.join(offering)} offered it" if offering else ""
    return f"{one.victim} is evicted by {one.action} for {who}{node}{by}{offered}."


def _offering_plugins(choice: VictimDecision | None, pod: TaskKey) -> list[str]:
    """Plugins of the deciding tier that gave the pod away."""
    tiers = choice.tiers if choice is not None else ()
    return [offer.seat.plugin for tier in tiers if tier.decides for offer in tier.offers if pod in offer.offered]


def _offers_sheet(choice: VictimDecision, pod: TaskKey) -> ReplySheet:
    reasons = {(objection.tier, objection.plugin): objection.why for objection in _objections_to(choice, pod)}
    rows = []
    for tier in choice.tiers:
        for offer in tier.offers:
            seat = offer.seat
            said = "offers it" if pod in offer.offered else "protects it" if seat.state == "answered" else seat.state
            why = seat.why or reasons.get((seat.tier, seat.plugin), "")
            rows.append((str(seat.tier), seat.plugin, said, why))
    return ReplySheet("who had a say", ("tier#", "plugin", "answer", "why"), tuple(rows))


def _objections_to(choice: VictimDecision, pod: TaskKey) -> Iterator[VictimObjection]:
    for fate in choice.fates:
        if fate.task == pod:
            yield from fate.objections


def _protection_lines(choice: VictimDecision | None, pod: TaskKey) -> Iterator[str]:
    """Who could have kept it, had the configuration asked."""
    for tier in choice.tiers if choice is not None else ():
        for offer in tier.offers:
            seat = offer.seat
            if seat.state == "not asked":
                yield f"{seat.plugin} in tier {seat.tier} was not asked and could not protect it: {seat.why}"
            elif seat.state == "switched off":
                yield f"{seat.plugin} in tier {seat.tier} has no say: {seat.why}"
            elif seat.state == "answered" and pod not in offer.offered:
                yield f"{seat.plugin} in tier {seat.tier} would have protected it, and was outvoted"


def _format_gain(recording: Recording, one: Eviction) -> str:
    """Whether whoever it was evicted for got anything."""
    job = _job_of(recording, one.preemptor)
    summary = next((each for each in cycle_effects(recording).jobs if each.job == job), None)
    if summary is None:
        return "it was evicted for nobody's place"
    done = cycle_effects(recording)
    got = [effect for effect in (*done.pipelined, *done.bound) if effect.job == job]
    if not got:
        return f"{job} got nothing for it: none of its pods has a place after this cycle"
    own = [effect.node for effect in got if effect.task == one.preemptor]
    enough = summary.ready + summary.waiting >= summary.min_available
    gang = "" if enough else f", but only {summary.ready + summary.waiting} of minMember {summary.min_available}"
    where = f"{one.preemptor} waits for {own[0]}" if own else f"{len(got)} of its pods have a place"
    return f"{job} got something for it: {where}{gang}"


def _job_of(recording: Recording, asker: str) -> JobId:
    """The asking task's job, or the job that asked as a gang."""
    return recording.owners.jobs.get(asker, asker)


def _eviction_evidence(one: Eviction, choice: VictimDecision | None) -> Iterator[Evidence]:
    if choice is not None:
        yield Evidence(choice.question.first, f"{choice.question.point} asks about {len(choice.candidates)} candidates")
    yield Evidence(one.seq, f"{one.action} evicts {one.victim}")
    if one.end != one.seq:
        yield Evidence(one.end, f"the statement's {one.fate or 'end'}")


def _eviction_json(one: Eviction, choice: VictimDecision | None, gain: str) -> dict[str, object]:
    return {
        "pod": one.victim,
        "evicted": one.fate in CARRIED_OUT_FATES,
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


EVICTED_QUESTION = NamedQuestion("evicted", "why was this pod evicted", ("pod",), why_evicted)
