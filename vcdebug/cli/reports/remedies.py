"""Remedies that were carried out: what to change, what came of it, who pays."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from vcdebug.amount_text import count_noun
from vcdebug.debugger.remedies.plan import TriedPlan
from vcdebug.debugger.remedies.prove import describe_conclusion, describe_result
from vcdebug.debugger.remedies.search import FixSearch
from vcdebug.explain.answer import ADVICE_OWNER
from vcdebug.views.document import Block, make_paragraph

_MAX_SHOWN_EDITS = 6


def fix_documents(search: FixSearch) -> list[dict[str, object]]:
    """For programs; the keys are a contract."""
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
    """For people; the first remedy with its edits, so that it can be tried at once."""
    found = search.best_plans
    works = bool(found) and found[0].is_proven
    yield make_paragraph("")
    if found:
        tried = count_noun(search.trial_count, "cycle")
        yield make_paragraph(
            f"what works, tried in {tried}" if works else f"what gets the job further ({tried} tried)", "title"
        )
    for number, remedy in enumerate(found, start=1):
        yield from _fix_lines(number, remedy)
    if said := describe_conclusion(search):
        longer = "" if search.finished else f" --budget {3 * budget} searches longer."
        yield make_paragraph(f"{said}{longer}", "bad")
    if works:
        yield make_paragraph("")
        yield make_paragraph(f"see it: vcdebug diff {shlex.quote(source)} {_edit_options(found[0])}")


def _fix_lines(number: int, remedy: TriedPlan) -> Iterator[Block]:
    costs = "; ".join(remedy.outcome.costs) or "nobody else changes fate"
    yield make_paragraph(f"{number}. {remedy.plan_words}", indent=2)
    yield make_paragraph(
        f"{describe_result(remedy)}; {costs}  [{ADVICE_OWNER[remedy.plan.worst_harm]}]",
        "good" if remedy.is_proven else "muted",
        5,
    )


def _edit_options(remedy: TriedPlan) -> str:
    """The edits as --set takes them; a long list is cut, and says so."""
    edits = remedy.plan.all_edits
    shown = " ".join(f"--set {shlex.quote(edit)}" for edit in edits[:_MAX_SHOWN_EDITS])
    left = len(edits) - _MAX_SHOWN_EDITS
    return f"{shown}  (and {count_noun(left, 'edit')} more: --json has them)" if left > 0 else shown
