"""The report of `vcdebug verify`: per job agreed, differs, or overtaken by other changes."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import count_noun
from vcdebug.conformance import Verification
from vcdebug.conformance.cycle_outcome import CycleOutcome
from vcdebug.conformance.verdicts import JobVerdict, OutcomeDifference
from vcdebug.views.document import Block, make_listing, make_paragraph

DIFFERENCE_HEADS = ("job", "", "about", "replay", "scheduler")
VERDICT_WORDS = ("agreed", "worded otherwise", "by chance", "differs", "overtaken")
MAX_SHOWN_CHOICES = 6
MAX_SHOWN_JOBS = 50
MAX_SHOWN_TEXT = 72


def verification_blocks(found: Verification) -> Iterator[Block]:
    """For people: one line, then what differs."""
    yield make_paragraph(_verification_headline(found), "good" if found.is_agreed else "bad")
    yield make_paragraph(
        f"the scheduler: {_outcome_summary(found.observed)}; the replay: {_outcome_summary(found.predicted)}"
    )
    if found.ended:
        yield make_paragraph(found.ended, "bad")
    if found.predicted.panic:
        yield make_paragraph(f"the replay says that the scheduler panics: {found.predicted.panic}")
    if found.chance:
        more = f" and {len(found.chance) - MAX_SHOWN_CHOICES} more" if len(found.chance) > MAX_SHOWN_CHOICES else ""
        yield make_paragraph(f"followed where chance decides: {', '.join(found.chance[:MAX_SHOWN_CHOICES])}{more}")
    yield from (make_paragraph(note) for note in found.notes)
    other = [one for one in found.jobs if one.word != "agreed"]
    if other:
        yield make_paragraph("")
        yield make_listing(
            DIFFERENCE_HEADS, [row for one in other[:MAX_SHOWN_JOBS] for row in _difference_rows(one)], 2, prose=True
        )
    if len(other) > MAX_SHOWN_JOBS:
        yield make_paragraph(f"and {count_noun(len(other) - MAX_SHOWN_JOBS, 'job')} more, which --json has")
    for one in other[:MAX_SHOWN_JOBS]:
        yield from _reason_blocks(one)
    if found.parting is not None and not found.is_agreed:
        yield make_paragraph("")
        yield from _first_difference_blocks(found)


def _verification_headline(found: Verification) -> str:
    counts = ", ".join(f"{found.count_verdicts(word)} {word}" for word in VERDICT_WORDS if found.count_verdicts(word))
    name = found.recording.snapshot.name or "snapshot"
    return f"{name}: of {count_noun(len(found.jobs), 'job')} {counts or 'none decided'}"


def _outcome_summary(outcome: CycleOutcome) -> str:
    said = f"{count_noun(len(outcome.groups), 'PodGroup')} and {count_noun(len(outcome.waiting), 'pod')} told why"
    return f"{len(outcome.bound)} bound, {len(outcome.evicted)} evicted, {said}"


def _difference_rows(one: JobVerdict) -> Iterator[tuple[str, ...]]:
    decided = [difference for difference in one.differences if difference.is_decision] or one.differences
    for place, difference in enumerate(decided):
        yield (*((one.job, one.word) if place == 0 else ("", "")), *_difference_cells(difference))


def _difference_cells(one: OutcomeDifference) -> tuple[str, str, str]:
    about = f"{one.what} {one.subject}" if one.subject != one.job else one.what
    return about, *excerpts_around_difference(one.predicted, one.observed)


def excerpts_around_difference(left: str, right: str) -> tuple[str, str]:
    """Two texts, long ones from shortly before the place where they part."""
    same = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
    begin = max(0, same - MAX_SHOWN_TEXT // 4) if max(len(left), len(right)) > MAX_SHOWN_TEXT else 0
    return _excerpt_text(left, begin), _excerpt_text(right, begin)


def _excerpt_text(text: str, begin: int) -> str:
    if len(text) <= MAX_SHOWN_TEXT:
        return text
    end = begin + MAX_SHOWN_TEXT
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"


def _reason_blocks(one: JobVerdict) -> Iterator[Block]:
    if one.decision is not None:
        where = f"event {one.decision.seq}: " if one.decision.seq is not None else ""
        yield make_paragraph(f"{one.job}: {where}{one.decision.text}", indent=2)
    for change in one.changes:
        yield make_paragraph(f"{one.job}: meanwhile {change}", indent=2)


def _first_difference_blocks(found: Verification) -> Iterator[Block]:
    parting = found.parting
    if parting is None:
        return
    where = f" (event {parting.seq})" if parting.seq is not None else ""
    yield make_paragraph(f"the log and the replay part here{where}:")
    yield make_paragraph(f"log:    {parting.logged or '(nothing more)'}", indent=2)
    yield make_paragraph(f"replay: {parting.replayed or '(nothing more)'}", indent=2)


def verification_document(found: Verification) -> dict[str, object]:
    """For programs; the keys are a contract."""
    parting = found.parting
    return {
        "agrees": found.is_agreed,
        "name": found.recording.snapshot.name,
        "release": found.recording.snapshot.release.stated,
        "counts": {word.replace(" ", "_"): found.count_verdicts(word) for word in VERDICT_WORDS},
        "predicted": _outcome_numbers(found.predicted),
        "observed": _outcome_numbers(found.observed),
        "ended": found.ended or None,
        "panic": found.predicted.panic or None,
        "chance": list(found.chance),
        "tried": found.tried,
        "cycles": found.cycles,
        "notes": list(found.notes),
        "seconds": round(found.seconds, 3),
        "jobs": [_verdict_document(one) for one in found.jobs],
        "parting": None if parting is None else {"seq": parting.seq, "log": parting.logged, "replay": parting.replayed},
    }


def _outcome_numbers(outcome: CycleOutcome) -> dict[str, int]:
    return {
        "bound": len(outcome.bound),
        "evicted": len(outcome.evicted),
        "nominated": len(outcome.nominated),
        "podGroups": len(outcome.groups),
        "waiting": len(outcome.waiting),
    }


def _verdict_document(one: JobVerdict) -> dict[str, object]:
    decision = one.decision
    return {
        "job": one.job,
        "verdict": one.word,
        "differences": [
            {"about": found.subject, "what": found.what, "replay": found.predicted, "scheduler": found.observed}
            for found in one.differences
        ],
        "decision": None if decision is None else {"seq": decision.seq, "text": decision.text},
        "meanwhile": list(one.changes),
    }
