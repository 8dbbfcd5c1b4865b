"""The report of `vcdebug diff`: changed decisions, and where the two runs part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from vcdebug.compare.cycles import Comparison, TaskOutcome
from vcdebug.compare.first_difference import Divergence, Side
from vcdebug.explain.votes import Question
from vcdebug.model.resource import Resource
from vcdebug.trace.codec import event_json, plain
from vcdebug.trace.effects import JobSummary
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Table
from vcdebug.views.comparison import changes, divergence, summary
from vcdebug.views.document import Block, paragraph


class Sides(NamedTuple):
    """What is compared."""

    before: Recording
    after: Recording
    titles: tuple[str, str]
    edits: tuple[str, ...]
    """Those of the second run."""
    cycle: tuple[int, int] = (1, 1)
    """Which of how many."""


def blocks(found: Comparison, sides: Sides) -> Iterator[Block]:
    """For people."""
    before, after = sides.before, sides.after
    yield paragraph(f"before  {sides.titles[0]}")
    yield paragraph(f"after   {sides.titles[1]}")
    yield from (paragraph(f"set {edit}", indent=8) for edit in sides.edits)
    number, of = sides.cycle
    if of > 1:
        yield paragraph(
            f"{of} cycles, all decided alike" if found.same else f"cycle {number} is the first that differs"
        )
    yield paragraph(summary(found), "good" if found.same else "bad")
    for side, panic in zip(("before", "after"), found.panics, strict=True):
        if panic is not None:
            yield paragraph(f"{side}: the real scheduler panics: {panic}", "bad")
    for table in changes(found):
        yield from _table(table)
    if found.divergence is not None:
        for table in divergence(found.divergence, "first difference", before, after):
            yield from _table(table)
    if found.deeds_part is not None and found.deeds_part != found.divergence:
        for table in divergence(found.deeds_part, "first operation that differs", before, after):
            yield from _table(table)


def _table(table: Table) -> Iterator[Block]:
    yield paragraph("")
    yield replace(table, indent=2)


def document(found: Comparison, sides: Sides) -> dict[str, object]:
    """For programs; the keys are a contract."""
    before, after, titles, edits, (number, of) = sides
    return {
        **({"cycle": number} if of > 1 else {}),
        "same": found.same,
        "before": titles[0],
        "after": titles[1],
        "edits": list(edits),
        "summary": summary(found),
        "jobs": [{"job": c.job, "before": _job(c.before), "after": _job(c.after)} for c in found.jobs],
        "tasks": [{"task": c.task, "before": _task(c.before), "after": _task(c.after)} for c in found.tasks],
        "queues": [
            {"queue": c.queue, "plugin": c.plugin, "before": _amount(c.before), "after": _amount(c.after)}
            for c in found.queues
        ],
        "panics": {"before": found.panics[0], "after": found.panics[1]},
        "firstDifference": _divergence(found.divergence, before, after),
        "firstOperation": _divergence(found.deeds_part, before, after),
    }


def _job(summary: JobSummary | None) -> dict[str, object] | None:
    if summary is None:
        return None
    return {
        "queue": summary.queue,
        "outcome": summary.outcome,
        "phase": summary.phase,
        "minAvailable": summary.min_available,
        "tasks": summary.tasks,
        "ready": summary.ready,
        "waiting": summary.waiting,
        "pending": summary.pending,
        "evicted": summary.evicted,
    }


def _task(outcome: TaskOutcome | None) -> dict[str, object] | None:
    if outcome is None:
        return None
    return {
        "job": outcome.job,
        "status": outcome.status.label,
        "node": outcome.node,
        "evicted": outcome.evicted,
    }


def _amount(amount: Resource | None) -> object:
    return None if amount is None else plain(amount)


def _divergence(found: Divergence | None, before: Recording, after: Recording) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "before": _side(found.before, before),
        "after": _side(found.after, after),
        "differences": [{"field": one.field, "before": one.before, "after": one.after} for one in found.differences],
    }


def _side(side: Side | None, recording: Recording) -> dict[str, object] | None:
    if side is None:
        return None
    return {
        "seq": side.seq,
        "path": [{"level": span.level.name.lower(), "name": span.name} for span in side.path],
        "event": event_json(recording, side.seq),
        "votes": _votes(side.question),
    }


def _votes(asked: Question | None) -> list[dict[str, object]] | None:
    if asked is None:
        return None
    return [
        {"tier": seat.tier, "plugin": seat.plugin, "state": seat.state, "answer": plain(seat.result), "why": seat.why}
        for seat in asked.seats
    ]
