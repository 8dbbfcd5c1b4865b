"""Remedies of one job, from its recording."""

from __future__ import annotations

from vcdebug.amount_text import plural
from vcdebug.debugger.remedies.lever import Situation
from vcdebug.debugger.remedies.plan import Remedy
from vcdebug.debugger.remedies.proposals import levers
from vcdebug.debugger.remedies.search import Search
from vcdebug.debugger.remedies.trial import Assumed, Trials
from vcdebug.explain.answer import Explanation
from vcdebug.trace.effects import effects
from vcdebug.trace.recording import Recording


def search_for(recording: Recording, explanation: Explanation) -> Search:
    """A search that has not begun."""
    situation = Situation(recording, explanation)
    proposed = levers(situation)
    relevant = len([lever for lever in proposed if any(lever.is_for(cause) for cause in situation.causes)])
    done = effects(recording)
    places = len([one for one in (*done.bound, *done.pipelined) if one.job == explanation.job])
    return Search(explanation.cause, places, proposed, relevant)


def trials_of(recording: Recording, explanation: Explanation) -> Trials:
    """What runs its trials."""
    return Trials.of(recording, explanation)


def conclusion(search: Search) -> str:
    """What cannot be had, in one sentence; empty where single changes do."""
    tried = plural(search.trials, "cycle")
    best = search.remedies[:1]
    if not search.finished and not (best and best[0].proven):
        return f"Nothing found yet: stopped after {tried}."
    if not best or not best[0].proven:
        further = "" if best else ", none gets it further"
        return f"Nothing that was tried places it, not even all changes together{further} ({tried})."
    fewest = min(len(remedy.plan.levers) for remedy in search.remedies if remedy.proven)
    if fewest == 1:
        return ""
    if not search.finished:
        return f"Stopped after {tried}: not each of these {fewest} changes may be needed."
    return f"Nothing below {fewest} changes that was tried places it ({tried})."


def _to_come(assumed: Assumed | None) -> str:
    """Of pods that are made once the job is admitted."""
    admitted = "the job is admitted, and its pods are made then"
    if assumed is None:
        return f"{admitted}: how large they will be is not in the snapshot, so no more can be known"
    if assumed.scheduled:
        return f"{admitted}; they would fit ({', '.join(assumed.nodes[:4])}), assuming {assumed.words}"
    return f"{admitted}, but would not fit, assuming {assumed.words}: {assumed.sentence}"


def result(remedy: Remedy) -> str:
    """What came of it, in a few words."""
    outcome = remedy.outcome
    where = f" ({', '.join(outcome.nodes[:4])}{' …' if len(outcome.nodes) > 4 else ''})" if outcome.nodes else ""
    places = f"places {plural(outcome.places, 'pod')}{where}" if outcome.places else ""
    if outcome.scheduled:
        return (places or "the job has what it needs") + (f"; {outcome.later}" if outcome.later else "")
    if outcome.admitted:
        return _to_come(outcome.assumed)
    return f"{places + ', ' if places else ''}then {outcome.cause}: {outcome.sentence}"
