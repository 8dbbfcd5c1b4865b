"""The report of `vcdebug diff`: changed decisions, and the first difference of the two runs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from vcdebug.comparison.cycles import CycleComparison, Divergence, DivergenceSide, TaskOutcome
from vcdebug.explain.decisions.votes import HookCallGroup
from vcdebug.model.resource import Resource
from vcdebug.recording.effects import JobSummary
from vcdebug.recording.recording import Recording
from vcdebug.recording.trace_schema import event_json, plain_json
from vcdebug.releases.release import Release
from vcdebug.views.comparison import iter_change_tables, iter_divergence_tables, summarize_comparison
from vcdebug.views.document import Block, make_paragraph, release_paragraph
from vcdebug.views.table import Table


class ComparedRuns(NamedTuple):
    """Two recordings and what to call them."""

    before: Recording
    after: Recording
    titles: tuple[str, str]
    edits: tuple[str, ...]
    """The edits of the second run."""
    cycle: tuple[int, int] = (1, 1)
    """(number of the compared cycle, cycles run)."""


def comparison_blocks(found: CycleComparison, sides: ComparedRuns) -> Iterator[Block]:
    """The text report."""
    before, after = sides.before, sides.after
    yield make_paragraph(f"before  {sides.titles[0]}")
    yield make_paragraph(f"after   {sides.titles[1]}")
    yield from (make_paragraph(f"set {edit}", indent=8) for edit in sides.edits)
    yield from _release_blocks(before.snapshot.release, after.snapshot.release)
    number, of = sides.cycle
    if of > 1:
        yield make_paragraph(
            f"{of} cycles with the same decisions"
            if found.has_same_decisions
            else f"first cycle with different decisions: {number}"
        )
    yield make_paragraph(summarize_comparison(found), "good" if found.has_same_decisions else "bad")
    for side, panic in zip(("before", "after"), found.panics, strict=True):
        if panic is not None:
            yield make_paragraph(f"{side}: scheduler panic: {panic}", "bad")
    for table in iter_change_tables(found):
        yield from _indented_table(table)
    if found.divergence is not None:
        for table in iter_divergence_tables(found.divergence, "first difference", before, after):
            yield from _indented_table(table)
    # The runs may differ earlier in a vote than in an operation; one table is enough where they do not.
    if found.deeds_part is not None and found.deeds_part != found.divergence:
        for table in iter_divergence_tables(found.deeds_part, "first different operation", before, after):
            yield from _indented_table(table)


def _release_blocks(before: Release, after: Release) -> Iterator[Block]:
    if before == after:
        yield release_paragraph(before)
    else:
        yield release_paragraph(before, "Before: ")
        yield release_paragraph(after, "After: ")


def _indented_table(table: Table) -> Iterator[Block]:
    yield make_paragraph("")
    yield replace(table, indent=2)


def comparison_document(found: CycleComparison, sides: ComparedRuns) -> dict[str, object]:
    """The JSON document; the keys are a contract."""
    before, after, titles, edits, (number, of) = sides
    return {
        **({"cycle": number} if of > 1 else {}),
        "same": found.has_same_decisions,
        "before": titles[0],
        "after": titles[1],
        "edits": list(edits),
        "releases": {
            "before": before.snapshot.release.build_document(),
            "after": after.snapshot.release.build_document(),
        },
        "summary": summarize_comparison(found),
        "jobs": [
            {"job": c.job, "before": _job_document(c.before), "after": _job_document(c.after)} for c in found.jobs
        ],
        "tasks": [
            {"task": c.task, "before": _task_document(c.before), "after": _task_document(c.after)} for c in found.tasks
        ],
        "queues": [
            {
                "queue": c.queue,
                "plugin": c.plugin,
                "before": _amount_document(c.before),
                "after": _amount_document(c.after),
            }
            for c in found.queues
        ],
        "panics": {"before": found.panics[0], "after": found.panics[1]},
        "firstDifference": _divergence_document(found.divergence, before, after),
        "firstOperation": _divergence_document(found.deeds_part, before, after),
    }


def _job_document(summary: JobSummary | None) -> dict[str, object] | None:
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


def _task_document(outcome: TaskOutcome | None) -> dict[str, object] | None:
    if outcome is None:
        return None
    return {
        "job": outcome.job,
        "status": outcome.status.upstream_name,
        "node": outcome.node,
        "evicted": outcome.evicted,
    }


def _amount_document(amount: Resource | None) -> object:
    return None if amount is None else plain_json(amount)


def _divergence_document(found: Divergence | None, before: Recording, after: Recording) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "before": _side_document(found.before, before),
        "after": _side_document(found.after, after),
        "differences": [{"field": one.field, "before": one.before, "after": one.after} for one in found.differences],
    }


def _side_document(side: DivergenceSide | None, recording: Recording) -> dict[str, object] | None:
    if side is None:
        return None
    return {
        "seq": side.seq,
        "path": [{"level": span.level.name.lower(), "name": span.name} for span in side.path],
        "event": event_json(recording, side.seq),
        "votes": _vote_documents(side.question),
    }


def _vote_documents(asked: HookCallGroup | None) -> list[dict[str, object]] | None:
    if asked is None:
        return None
    return [
        {
            "tier": seat.tier,
            "plugin": seat.plugin,
            "state": seat.state,
            "answer": plain_json(seat.result),
            "why": seat.why,
        }
        for seat in asked.seats
    ]
