"""Remedies that were carried out: what to change, what came of it, who pays."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from vcdebug.amount_text import plural
from vcdebug.debugger.remedies.plan import Remedy
from vcdebug.debugger.remedies.prove import conclusion, result
from vcdebug.debugger.remedies.search import Search
from vcdebug.explain.answer import WHO
from vcdebug.views.document import Block, paragraph

_EDITS_SHOWN = 6


def documents(search: Search) -> list[dict[str, object]]:
    """For programs; the keys are a contract."""
    return [_document(remedy) for remedy in search.remedies]


def _document(remedy: Remedy) -> dict[str, object]:
    outcome = remedy.outcome
    return {
        "text": remedy.words,
        "edits": list(remedy.plan.edits),
        "proven": remedy.proven,
        "places": outcome.places,
        "nodes": list(outcome.nodes),
        "scheduled": outcome.scheduled,
        "next": None if outcome.scheduled else outcome.cause,
        "harm": remedy.plan.harm.name.lower(),
        "costs": list(outcome.costs),
        **({"then": result(remedy)} if outcome.admitted else {}),
    }


def blocks(search: Search, source: str, budget: int) -> Iterator[Block]:
    """For people; the first remedy with its edits, so that it can be tried at once."""
    found = search.remedies
    works = bool(found) and found[0].proven
    yield paragraph("")
    if found:
        tried = plural(search.trials, "cycle")
        yield paragraph(
            f"what works, tried in {tried}" if works else f"what gets the job further ({tried} tried)", "title"
        )
    for number, remedy in enumerate(found, start=1):
        yield from _lines(number, remedy)
    if said := conclusion(search):
        longer = "" if search.finished else f" --budget {3 * budget} searches longer."
        yield paragraph(f"{said}{longer}", "bad")
    if works:
        yield paragraph("")
        yield paragraph(f"see it: vcdebug diff {shlex.quote(source)} {_settings(found[0])}")


def _lines(number: int, remedy: Remedy) -> Iterator[Block]:
    costs = "; ".join(remedy.outcome.costs) or "nobody else changes fate"
    yield paragraph(f"{number}. {remedy.words}", indent=2)
    yield paragraph(f"{result(remedy)}; {costs}  [{WHO[remedy.plan.harm]}]", "good" if remedy.proven else "muted", 5)


def _settings(remedy: Remedy) -> str:
    """The edits as --set takes them; a long list is cut, and says so."""
    edits = remedy.plan.edits
    shown = " ".join(f"--set {shlex.quote(edit)}" for edit in edits[:_EDITS_SHOWN])
    left = len(edits) - _EDITS_SHOWN
    return f"{shown}  (and {plural(left, 'edit')} more: --json has them)" if left > 0 else shown
