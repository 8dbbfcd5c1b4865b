"""The report of `vcdebug odds`: how often each job is placed, whom it costs, and where outcomes part."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import count_noun, format_percent_number
from vcdebug.recording.recording import Recording
from vcdebug.views.document import Block, make_listing, make_paragraph, titled_listing
from vcdebug.views.headline import event_headline, path_words
from vcdebug.whatif.odds import DivergenceCount, OddsTally

JOB_HEADS = ("job", "queue", "placed#", "of#", "%#", "gets a pod#", "undrawn")
MAP_ORDER_WORDS = "the order in which maps are visited"
PARTING_HEADS = ("event#", "draws#", "other outcome#", "tie#", "what is done undrawn; what is drawn before")


def odds_blocks(odds: OddsTally, base: Recording, wanted: int) -> Iterator[Block]:
    """For people; fewer draws than wanted are said to be so."""
    name = base.snapshot.name or "snapshot"
    outcomes = "every draw comes to the same" if odds.is_certain else f"{odds.outcomes} different outcomes"
    draws = (
        count_noun(odds.draws, "draw") if odds.draws == wanted else f"only {odds.draws} of {count_noun(wanted, 'draw')}"
    )
    yield make_paragraph(f"{name}: {draws}, {outcomes}", "good" if odds.is_certain else "bad")
    if odds.panics:
        yield make_paragraph(f"the real scheduler panics in {odds.panics} of them", "bad")
    yield make_paragraph("")
    yield make_listing(JOB_HEADS, tuple(_job_rows(odds)))
    yield from titled_listing("evicted", ("pod", "draws#"), [(task, str(count)) for task, count in odds.evictions])
    parting = [_divergence_row(one, base) for one in odds.divergences]
    yield from titled_listing("where draws part from the cycle without draws", PARTING_HEADS, parting, prose=True)
    yield from _first_parting_blocks(odds.first_that_matters, base)


def _first_parting_blocks(one: DivergenceCount | None, base: Recording) -> Iterator[Block]:
    if one is None:
        return
    what = _event_words(base, one.tie) if one.tie is not None else MAP_ORDER_WORDS
    where = f"event {one.tie}" if one.tie is not None else f"before event {one.seq}"
    changed = f"{count_noun(one.changed, 'draw')} {'goes' if one.changed == 1 else 'go'}"
    yield make_paragraph("")
    yield make_paragraph(f"what matters first: {what} ({where}); {changed} elsewhere from there")


def _job_rows(odds: OddsTally) -> Iterator[tuple[str, ...]]:
    for job in odds.jobs:
        share = format_percent_number(job.placed, odds.draws)
        base = "placed" if job.base else "not placed"
        yield job.job, job.queue, str(job.placed), str(odds.draws), share, str(job.moved), base


def _divergence_row(one: DivergenceCount, base: Recording) -> tuple[str, ...]:
    tie = _event_words(base, one.tie) if one.tie is not None else MAP_ORDER_WORDS
    numbers = (one.seq, one.draws, one.changed)
    return *map(str, numbers), str(one.tie or "-"), f"{_event_words(base, one.seq)}; drawn before it: {tie}"


def _event_words(recording: Recording, seq: int) -> str:
    what = event_headline(recording.event_at(seq))
    return f"{' > '.join(path_words(recording, seq))}  {what.what}  {what.outcome.text}".strip()


def odds_document(odds: OddsTally, base: Recording, wanted: int) -> dict[str, object]:
    """For programs; the keys are a contract."""
    return {
        "draws": odds.draws,
        "wanted": wanted,
        "outcomes": odds.outcomes,
        "panics": odds.panics,
        "jobs": [
            {"job": job.job, "queue": job.queue, "placed": job.placed, "moved": job.moved, "undrawn": job.base}
            for job in odds.jobs
        ],
        "evictions": [{"task": task, "draws": count} for task, count in odds.evictions],
        "divergences": [
            {
                "seq": one.seq,
                "text": _event_words(base, one.seq),
                "tie": one.tie,
                "draws": one.draws,
                "other_outcome": one.changed,
            }
            for one in odds.divergences
        ],
    }
