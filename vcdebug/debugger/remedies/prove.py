"""Remedies of one job, from its recording."""

from __future__ import annotations

from vcdebug.amount_text import count_noun
from vcdebug.debugger.remedies.lever import FixSituation
from vcdebug.debugger.remedies.plan import TriedPlan
from vcdebug.debugger.remedies.proposals import propose_fixes
from vcdebug.debugger.remedies.search import FixSearch
from vcdebug.debugger.remedies.trial import AssumedPods, FixTrials
from vcdebug.explain.answer import Explanation
from vcdebug.trace.effects import cycle_effects
from vcdebug.trace.recording import Recording


def start_search(recording: Recording, explanation: Explanation) -> FixSearch:
    """A search that has not begun."""
    situation = FixSituation(recording, explanation)
    proposed = propose_fixes(situation)
    relevant = len([lever for lever in proposed if any(lever.is_for_cause(cause) for cause in situation.cause_codes)])
    done = cycle_effects(recording)
    places = len([one for one in (*done.bound, *done.pipelined) if one.job == explanation.job])
    return FixSearch(explanation.cause_code, places, proposed, relevant)


def trials_of(recording: Recording, explanation: Explanation) -> FixTrials:
    """What runs its trials."""
    return FixTrials.of_recording(recording, explanation)


def describe_conclusion(search: FixSearch) -> str:
    """What cannot be had, in one sentence; empty where single changes do."""
    tried = count_noun(search.trial_count, "cycle")
    best = search.best_plans[:1]
    if not search.finished and not (best and best[0].is_proven):
        return f"Nothing found yet: stopped after {tried}."
    if not best or not best[0].is_proven:
        further = "" if best else ", none gets it further"
        return f"Nothing that was tried places it, not even all changes together{further} ({tried})."
    fewest = min(len(remedy.plan.levers) for remedy in search.best_plans if remedy.is_proven)
    if fewest == 1:
        return ""
    if not search.finished:
        return f"Stopped after {tried}: not each of these {fewest} changes may be needed."
    return f"Nothing below {fewest} changes that was tried places it ({tried})."


def _describe_admitted(assumed: AssumedPods | None) -> str:
    """Of pods that are made once the job is admitted."""
    admitted = "the job is admitted, and its pods are made then"
    if assumed is None:
        return f"{admitted}: how large they will be is not in the snapshot, so no more can be known"
    if assumed.scheduled:
        return f"{admitted}; they would fit ({', '.join(assumed.nodes[:4])}), assuming {assumed.words}"
    return f"{admitted}, but would not fit, assuming {assumed.words}: {assumed.sentence}"


def describe_result(remedy: TriedPlan) -> str:
    """What came of it, in a few words."""
    outcome = remedy.outcome
    where = f" ({', '.join(outcome.nodes[:4])}{' …' if len(outcome.nodes) > 4 else ''})" if outcome.nodes else ""
    places = f"places {count_noun(outcome.places, 'pod')}{where}" if outcome.places else ""
    if outcome.scheduled:
        return (places or "the job has what it needs") + (f"; {outcome.later}" if outcome.later else "")
    if outcome.admitted:
        return _describe_admitted(outcome.assumed)
    return f"{places + ', ' if places else ''}then {outcome.cause}: {outcome.sentence}"
