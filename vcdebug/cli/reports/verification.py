"""The report of `vcdebug verify`: per job agreed, differs, or overtaken by other changes."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import plural
from vcdebug.verify import Verification
from vcdebug.verify.compare import Difference, JobVerdict
from vcdebug.verify.outcome import Outcome
from vcdebug.views.document import Block, listing, paragraph

HEADS = ("job", "", "about", "replay", "scheduler")
WORDS = ("agreed", "worded otherwise", "by chance", "differs", "overtaken")
SHOWN_CHOICES = 6
SHOWN_JOBS = 50
SHOWN_TEXT = 72


def blocks(found: Verification) -> Iterator[Block]:
    """For people: one line, then what differs."""
    yield paragraph(_headline(found), "good" if found.agrees else "bad")
    yield paragraph(f"the scheduler: {_deeds(found.observed)}; the replay: {_deeds(found.predicted)}")
    if found.ended:
        yield paragraph(found.ended, "bad")
    if found.predicted.panic:
        yield paragraph(f"the replay says that the scheduler panics: {found.predicted.panic}")
    if found.chance:
        more = f" and {len(found.chance) - SHOWN_CHOICES} more" if len(found.chance) > SHOWN_CHOICES else ""
        yield paragraph(f"followed where chance decides: {', '.join(found.chance[:SHOWN_CHOICES])}{more}")
    yield from (paragraph(note) for note in found.notes)
    other = [one for one in found.jobs if one.word != "agreed"]
    if other:
        yield paragraph("")
        yield listing(HEADS, [row for one in other[:SHOWN_JOBS] for row in _rows(one)], 2, prose=True)
    if len(other) > SHOWN_JOBS:
        yield paragraph(f"and {plural(len(other) - SHOWN_JOBS, 'job')} more, which --json has")
    for one in other[:SHOWN_JOBS]:
        yield from _reasons(one)
    if found.parting is not None and not found.agrees:
        yield paragraph("")
        yield from _parting(found)


def _headline(found: Verification) -> str:
    counts = ", ".join(f"{found.count(word)} {word}" for word in WORDS if found.count(word))
    name = found.recording.snapshot.name or "snapshot"
    return f"{name}: of {plural(len(found.jobs), 'job')} {counts or 'none decided'}"


def _deeds(outcome: Outcome) -> str:
    said = f"{plural(len(outcome.groups), 'PodGroup')} and {plural(len(outcome.waiting), 'pod')} told why"
    return f"{len(outcome.bound)} bound, {len(outcome.evicted)} evicted, {said}"


def _rows(one: JobVerdict) -> Iterator[tuple[str, ...]]:
    decided = [difference for difference in one.differences if difference.decides] or one.differences
    for place, difference in enumerate(decided):
        yield (*((one.job, one.word) if place == 0 else ("", "")), *_cells(difference))


def _cells(one: Difference) -> tuple[str, str, str]:
    about = f"{one.what} {one.subject}" if one.subject != one.job else one.what
    return about, *apart(one.predicted, one.observed)


def apart(left: str, right: str) -> tuple[str, str]:
    """Two texts, long ones from shortly before the place where they part."""
    same = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), 0)
    begin = max(0, same - SHOWN_TEXT // 4) if max(len(left), len(right)) > SHOWN_TEXT else 0
    return _cut(left, begin), _cut(right, begin)


def _cut(text: str, begin: int) -> str:
    if len(text) <= SHOWN_TEXT:
        return text
    end = begin + SHOWN_TEXT
    return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"


def _reasons(one: JobVerdict) -> Iterator[Block]:
    if one.decision is not None:
        where = f"event {one.decision.seq}: " if one.decision.seq is not None else ""
        yield paragraph(f"{one.job}: {where}{one.decision.text}", indent=2)
    for change in one.changes:
        yield paragraph(f"{one.job}: meanwhile {change}", indent=2)


def _parting(found: Verification) -> Iterator[Block]:
    parting = found.parting
    if parting is None:
        return
    where = f" (event {parting.seq})" if parting.seq is not None else ""
    yield paragraph(f"the log and the replay part here{where}:")
    yield paragraph(f"log:    {parting.logged or '(nothing more)'}", indent=2)
    yield paragraph(f"replay: {parting.replayed or '(nothing more)'}", indent=2)


def document(found: Verification) -> dict[str, object]:
    """For programs; the keys are a contract."""
    parting = found.parting
    return {
        "agrees": found.agrees,
        "name": found.recording.snapshot.name,
        "release": found.recording.snapshot.release.stated,
        "counts": {word.replace(" ", "_"): found.count(word) for word in WORDS},
        "predicted": _numbers(found.predicted),
        "observed": _numbers(found.observed),
        "ended": found.ended or None,
        "panic": found.predicted.panic or None,
        "chance": list(found.chance),
        "tried": found.tried,
        "cycles": found.cycles,
        "notes": list(found.notes),
        "seconds": round(found.seconds, 3),
        "jobs": [_job(one) for one in found.jobs],
        "parting": None if parting is None else {"seq": parting.seq, "log": parting.logged, "replay": parting.replayed},
    }


def _numbers(outcome: Outcome) -> dict[str, int]:
    return {
        "bound": len(outcome.bound),
        "evicted": len(outcome.evicted),
        "nominated": len(outcome.nominated),
        "podGroups": len(outcome.groups),
        "waiting": len(outcome.waiting),
    }


def _job(one: JobVerdict) -> dict[str, object]:
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
