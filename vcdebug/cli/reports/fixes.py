"""The report of --prove: changes that were tried on the snapshot, their result and their price."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import closing

from vcdebug.amount_text import capitalize_first, count_noun
from vcdebug.cli.output import Output, status_line
from vcdebug.cli.worker_processes import TrialRounds
from vcdebug.explain.answer import ADVICE_OWNER, Explanation
from vcdebug.explain.pending.explanation import PANIC_CAUSE
from vcdebug.recording.recording import Recording
from vcdebug.views.document import Block, make_paragraph
from vcdebug.whatif.fixes.fix import FixKind
from vcdebug.whatif.fixes.search import (
    FixSearch,
    TriedPlan,
    describe_conclusion,
    describe_result,
    run_search,
    start_search,
    trials_of,
)

_MAX_SHOWN_EDITS = 6


def fix_documents(search: FixSearch) -> list[dict[str, object]]:
    """The JSON documents of the best plans; the keys are a contract."""
    return [_fix_document(remedy) for remedy in search.best_plans]


def _fix_document(remedy: TriedPlan) -> dict[str, object]:
    outcome = remedy.outcome
    return {
        "text": remedy.plan_words,
        "edits": list(remedy.plan.all_edits),
        "proven": remedy.is_proven,
        "places": outcome.places,
        "nodes": list(outcome.nodes),
        "scheduled": outcome.scheduled,
        "next": None if outcome.scheduled else outcome.cause,
        "harm": remedy.plan.worst_harm.name.lower(),
        "costs": list(outcome.costs),
        **({"then": describe_result(remedy)} if outcome.admitted else {}),
    }


def fix_blocks(search: FixSearch, source: str, budget: int) -> Iterator[Block]:
    """The text report; the first proven plan comes with the command line that shows it."""
    found = search.best_plans
    works = bool(found) and found[0].is_proven
    yield make_paragraph("")
    if found:
        tried = count_noun(search.trial_count, "replay")
        further = "Changes that remove this blocker but not the next"
        title = "Fixes that work on this snapshot" if works else further
        yield make_paragraph(f"{title} ({tried})", "title")
    for number, remedy in enumerate(found, start=1):
        yield from _fix_lines(number, remedy)
    if said := describe_conclusion(search):
        longer = "" if search.finished else f" Use --budget {3 * budget} to search longer."
        yield make_paragraph(f"{said}{longer}", "bad")
    if works:
        yield make_paragraph("")
        yield make_paragraph(f"Show the difference: vcdebug diff {shlex.quote(source)} {_edit_options(found[0])}")


def _fix_lines(number: int, remedy: TriedPlan) -> Iterator[Block]:
    costs = "; ".join(remedy.outcome.costs) or "no other job is affected"
    yield make_paragraph(f"{number}. {remedy.plan_words}", indent=2)
    yield make_paragraph(
        f"{describe_result(remedy)}; {costs}  [{ADVICE_OWNER[remedy.plan.worst_harm]}]",
        "good" if remedy.is_proven else "muted",
        5,
    )


MAX_SHORT_FIXES = 3
MIN_SHORT_TRIALS, MAX_SHORT_TRIALS, EVENTS_OF_SHORT_TRIALS = 12, 40, 150_000
"""A plain answer tests fixes where it can afford that many replays, counted by the events that they record."""


def short_trial_count(recording: Recording) -> int:
    """How many replays a plain answer spends on fixes; 0 where the snapshot is too large."""
    count = min(EVENTS_OF_SHORT_TRIALS // max(len(recording), 1), MAX_SHORT_TRIALS)
    return count if count >= MIN_SHORT_TRIALS else 0


def short_fix_blocks(search: FixSearch, explanation: Explanation) -> Iterator[Block]:
    """The first tested fixes, a line each, and advice that no replay can test; no blocks where nothing works."""
    found = [one for one in search.settled_plans if one.is_proven]
    # A rule that is configured wrongly is worth a line even where the pods then wait for something else.
    partial = [one for one in search.settled_plans if not one.is_proven and one.plan.worst_kind <= FixKind.ENTITLEMENT]
    if not found and not partial:
        return
    yield make_paragraph("")
    yield make_paragraph("Fixes (tested on this snapshot)", "title")
    most = MAX_SHORT_FIXES - bool(partial)
    for number, remedy in enumerate([*found[:most], *partial[:1]], start=1):
        effect = "; ".join((describe_result(remedy, short=True), *remedy.outcome.costs))
        owner = ADVICE_OWNER[remedy.plan.worst_harm]
        text = f"{remedy.plan_words}. {capitalize_first(effect)}."
        yield make_paragraph(f"{number}. {text}  [{owner}]", indent=2)
    for line in explanation.advised:
        if line.beyond_replay:
            yield make_paragraph(f"- Not tested: {line.text}  [{ADVICE_OWNER[line.harm]}]", indent=2)


def _edit_options(remedy: TriedPlan) -> str:
    """The edits as --set options; a long list is cut and says how many are left out."""
    edits = remedy.plan.all_edits
    shown = " ".join(f"--set {shlex.quote(edit)}" for edit in edits[:_MAX_SHOWN_EDITS])
    left = len(edits) - _MAX_SHOWN_EDITS
    return f"{shown}  ({count_noun(left, 'more edit')} in --json)" if left > 0 else shown


MIN_BUDGET_SHARE = 0.25
"""Share of the budget that trials get even where reading and the first cycle took all of it."""


def search_few_fixes(recording: Recording, explanation: Explanation) -> FixSearch | None:
    """The search of a plain answer, in this process; None where the snapshot is too large for it."""
    most = short_trial_count(recording)
    if not most or explanation.cause_code == PANIC_CAUSE:
        return None
    search, trials = start_search(recording, explanation), trials_of(recording, explanation)
    return run_search(
        search,
        lambda wanted: [trials(edits) for edits in wanted],
        lambda search: search.trial_count < most and len(search.settled_plans) <= MAX_SHORT_FIXES,
    )


def search_fixes(
    recording: Recording, explanation: Explanation, output: Output, *, seconds: float, workers: int | None
) -> FixSearch:
    """Search until `seconds` after the start of the command; Ctrl-C ends the search and keeps its results."""
    search = start_search(recording, explanation)
    # At least a share of the budget, else reading a large snapshot would leave no time for any trial.
    end = max(output.started + seconds, time.perf_counter() + seconds * MIN_BUDGET_SHARE)
    with (
        status_line(output, "Trying fixes… (Ctrl-C to stop)") as tell,
        closing(TrialRounds(trials_of(recording, explanation), workers, lambda: time.perf_counter() < end)) as run,
    ):

        def may_continue(search: FixSearch) -> bool:
            found = len([remedy for remedy in search.best_plans if remedy.is_proven])
            tell(f"{count_noun(search.trial_count, 'replay')}, {found} found")
            return time.perf_counter() < end

        try:
            run_search(search, run, may_continue)
        except KeyboardInterrupt:
            output.write_notice("Interrupted; partial results follow.")
    return search
