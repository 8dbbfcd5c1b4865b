"""The report of --prove: changes that were tried on the snapshot, their result and their price."""

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from vcdebug.amount_text import count_noun
from vcdebug.cli.output import Output, status_line
from vcdebug.cli.worker_processes import SLOW_TRIAL_SECONDS, TrialRounds
from vcdebug.explain.answer import ADVICE_OWNER, Explanation
from vcdebug.recording.recording import Recording
from vcdebug.views.document import Block, Paragraph, make_paragraph
from vcdebug.views.pieces import Piece
from vcdebug.whatif.fixes.plan import TriedPlan, describe_result
from vcdebug.whatif.fixes.search import FixSearch, describe_conclusion, run_search, start_search, wants_short_search
from vcdebug.whatif.fixes.trial import EditTexts, FixTrials, TrialOutcome

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
        "places": outcome.placed,
        "nodes": list(outcome.nodes),
        "scheduled": outcome.scheduled,
        "next": None if outcome.scheduled else outcome.cause,
        "harm": remedy.plan.worst_harm.name.lower(),
        "costs": [cost.text for cost in outcome.costs],
        **({"then": describe_result(remedy)} if outcome.admitted else {}),
    }


def fix_blocks(search: FixSearch, source: str, budget: int = 0) -> Iterator[Block]:
    """The text report; `budget` is the search's time limit in seconds, 0 if the user cannot set it.

    The first proven plan comes with the command line that shows it.
    """
    plans, tried = search.best_plans, count_noun(search.trial_count, "replay")
    works = [plan for plan in plans if plan.is_proven]
    yield make_paragraph("")
    for number, remedy in enumerate(plans, start=1):
        if remedy in (*works[:1], *plans[len(works) :][:1]):
            further = "Changes that remove this blocker but not the next"
            title = "Fixes that work on this snapshot" if remedy.is_proven else further
            yield make_paragraph(f"{title} ({tried})" if number == 1 else title, "title")
        yield from _fix_lines(number, remedy)
    if conclusion := describe_conclusion(search):
        longer = "" if search.is_finished or not budget else f" Use --budget {3 * budget} to search longer."
        yield make_paragraph(f"{conclusion}{longer}", "bad")
    if works:
        yield make_paragraph("")
        command = f"vcdebug diff {shlex.quote(source)} {_edit_options(plans[0])}"
        yield Paragraph((Piece(f"Show the difference: {command}"),), is_quoted=True)


def _fix_lines(number: int, remedy: TriedPlan) -> Iterator[Block]:
    yield make_paragraph(f"{number}. {remedy.plan_words}", indent=2)
    yield make_paragraph(
        f"{describe_result(remedy)}; {remedy.side_effects_or_none}  [{ADVICE_OWNER[remedy.plan.worst_harm]}]",
        "good" if remedy.is_proven else "muted",
        5,
    )


def _edit_options(remedy: TriedPlan) -> str:
    """The edits as --set options; a long list is cut and says how many are left out."""
    edits = remedy.plan.all_edits
    options = " ".join(f"--set {shlex.quote(edit)}" for edit in edits[:_MAX_SHOWN_EDITS])
    surplus = len(edits) - _MAX_SHOWN_EDITS
    return f"{options}  ({count_noun(surplus, 'more edit')} in --json)" if surplus > 0 else options


def _trial_rounds(
    recording: Recording, explanation: Explanation, workers: int | None, going: Callable[[], bool]
) -> TrialRounds[EditTexts, TrialOutcome | None]:
    slow = recording.seconds.get("cycle", 0.0) > SLOW_TRIAL_SECONDS
    return TrialRounds(FixTrials.of_recording(recording, explanation), workers, going, expects_slow=slow)


def search_fixes(
    recording: Recording, explanation: Explanation, output: Output, *, seconds: float, workers: int | None
) -> FixSearch:
    """Search for `seconds`, and at least as long as the plain answer does; Ctrl-C ends it and keeps the results."""
    search = start_search(recording, explanation)
    end = time.perf_counter() + seconds

    def is_going() -> bool:
        return time.perf_counter() < end or wants_short_search(recording, search)

    with (
        status_line(output, "Trying fixes… (Ctrl-C to stop)") as show_status,
        closing(_trial_rounds(recording, explanation, workers, is_going)) as run,
    ):

        def may_continue(search: FixSearch) -> bool:
            proven = len([remedy for remedy in search.best_plans if remedy.is_proven])
            show_status(f"{count_noun(search.trial_count, 'replay')}, {proven} found")
            return is_going()

        try:
            run_search(search, run, may_continue)
        except KeyboardInterrupt:
            output.write_notice("Interrupted; partial results follow.")
    return search
