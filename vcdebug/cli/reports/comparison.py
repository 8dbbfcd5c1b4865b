"""The report of `vcdebug diff`: changed decisions, and the first difference of the two runs."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from vcdebug.comparison.cycles import ChangedState, CycleComparison, Divergence, DivergenceSide
from vcdebug.explain.decisions.votes import HookCallGroup
from vcdebug.grouping import named_attributes
from vcdebug.recording.recording import Recording
from vcdebug.recording.trace_schema import event_json, plain_json
from vcdebug.releases.release import Release
from vcdebug.views.comparison import iter_change_tables, iter_divergence_tables, summarize_comparison
from vcdebug.views.document import Block, make_paragraph, release_paragraph

_Name = TypeVar("_Name", bound=str | tuple[str, ...])
_State = TypeVar("_State")


class ComparedRuns(NamedTuple):
    """Two recordings and their names in the report."""

    before: Recording
    after: Recording
    titles: tuple[str, str]
    edits: tuple[str, ...]
    """The edits of the second run."""
    cycle: tuple[int, int] = (1, 1)
    """(number of the compared cycle, cycles run)."""


def comparison_blocks(comparison: CycleComparison, sides: ComparedRuns) -> Iterator[Block]:
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
            if comparison.has_same_decisions
            else f"first cycle with different decisions: {number}"
        )
    yield make_paragraph(summarize_comparison(comparison), "good" if comparison.has_same_decisions else "bad")
    for side, panic in zip(("before", "after"), comparison.panics, strict=True):
        if panic is not None:
            yield make_paragraph(f"{side}: scheduler panic: {panic}", "bad")
    tables = [*iter_change_tables(comparison)]
    for title, divergence in comparison.iter_divergences():
        tables += iter_divergence_tables(divergence, title, before, after)
    for table in tables:
        yield from (make_paragraph(""), replace(table, indent=2))


def _release_blocks(before: Release, after: Release) -> Iterator[Block]:
    if before == after:
        yield release_paragraph(before)
    else:
        yield release_paragraph(before, "Before: ")
        yield release_paragraph(after, "After: ")


def comparison_document(comparison: CycleComparison, sides: ComparedRuns) -> dict[str, object]:
    """The JSON document; the keys are a contract."""
    before, after, titles, edits, (number, of) = sides
    job_names = "queue outcome phase minAvailable=min_available tasks ready waiting pending evicted"
    job_document = partial(named_attributes, text=job_names)
    task_document = partial(named_attributes, text="job status=status.upstream_name node evicted")
    return {
        **({"cycle": number} if of > 1 else {}),
        "same": comparison.has_same_decisions,
        "before": titles[0],
        "after": titles[1],
        "edits": list(edits),
        "releases": {
            "before": before.snapshot.release.build_document(),
            "after": after.snapshot.release.build_document(),
        },
        "summary": summarize_comparison(comparison),
        "jobs": [{"job": change.name, **_side_documents(change, job_document)} for change in comparison.jobs],
        "tasks": [{"task": change.name, **_side_documents(change, task_document)} for change in comparison.tasks],
        "queues": [
            {"queue": change.name[1], "plugin": change.name[0], **_side_documents(change, plain_json)}
            for change in comparison.queues
        ],
        "panics": {"before": comparison.panics[0], "after": comparison.panics[1]},
        "firstDifference": _divergence_document(comparison.divergence, before, after),
        "firstOperation": _divergence_document(comparison.operation_divergence, before, after),
    }


def _side_documents(change: ChangedState[_Name, _State], document: Callable[[_State], object]) -> dict[str, object]:
    """Both sides of a change; null on the side where the thing does not exist."""
    sides = (("before", change.before), ("after", change.after))
    return {word: None if side is None else document(side) for word, side in sides}


def _divergence_document(point: Divergence | None, before: Recording, after: Recording) -> dict[str, object] | None:
    if point is None:
        return None
    return {
        "before": _side_document(point.before, before),
        "after": _side_document(point.after, after),
        "differences": [named_attributes(row, "field before after") for row in point.differences],
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


def _vote_documents(call_group: HookCallGroup | None) -> list[dict[str, object]] | None:
    if call_group is None:
        return None
    return [
        {
            "tier": answer.tier,
            "plugin": answer.plugin,
            "state": answer.state,
            "answer": plain_json(answer.result),
            "why": answer.silence_reason,
        }
        for answer in call_group.votes
    ]
