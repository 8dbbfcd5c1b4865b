"""The report of `vcdebug inspect --against`: fields in which the scheduler's cache and the replay differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from vcdebug.amount_text import grouped, plural
from vcdebug.compare.dump import DumpComparison
from vcdebug.views.document import Block, listing, paragraph


def document(comparison: DumpComparison) -> dict[str, object]:
    """For programs; the keys are a contract."""
    return {
        "agrees": comparison.agrees,
        "nodes": comparison.nodes,
        "jobs": comparison.jobs,
        "fields": comparison.fields,
        "differences": [asdict(difference) for difference in comparison.differences],
        "unread": list(comparison.unread),
        "brokenAtLine": comparison.broken_at,
    }


def blocks(comparison: DumpComparison) -> Iterator[Block]:
    """For people."""
    if comparison.unread:
        text = (
            f"the dump cannot be read beyond line {comparison.broken_at}; not compared: {', '.join(comparison.unread)}"
        )
        yield paragraph(text, "bad")
    if comparison.differences:
        yield paragraph(f"differences: {grouped(len(comparison.differences))}", "bad")
        rows = tuple((one.object, one.field or "-", one.dumped, one.replayed) for one in comparison.differences)
        yield listing(("object", "field", "dump", "replay"), rows, 2)
    elif not comparison.unread:
        yield paragraph("the dump and the replay agree", "good")
    compared = f"{plural(comparison.nodes, 'node')} and {plural(comparison.jobs, 'job')}"
    yield paragraph(f"{plural(comparison.fields, 'value')} of {compared} are compared")
