"""The report of `vcdebug inspect --against`: fields in which the scheduler's cache and the replay differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from vcdebug.amount_text import count_noun, format_count
from vcdebug.compare.dump import DumpComparison
from vcdebug.views.document import Block, make_listing, make_paragraph


def dump_document(comparison: DumpComparison) -> dict[str, object]:
    """For programs; the keys are a contract."""
    return {
        "agrees": comparison.has_no_difference,
        "nodes": comparison.nodes,
        "jobs": comparison.jobs,
        "fields": comparison.fields,
        "differences": [asdict(difference) for difference in comparison.differences],
        "unread": list(comparison.unread),
        "brokenAtLine": comparison.broken_at,
    }


def dump_blocks(comparison: DumpComparison) -> Iterator[Block]:
    """For people."""
    if comparison.unread:
        text = (
            f"the dump cannot be read beyond line {comparison.broken_at}; not compared: {', '.join(comparison.unread)}"
        )
        yield make_paragraph(text, "bad")
    if comparison.differences:
        yield make_paragraph(f"differences: {format_count(len(comparison.differences))}", "bad")
        rows = tuple((one.object, one.field or "-", one.dumped, one.replayed) for one in comparison.differences)
        yield make_listing(("object", "field", "dump", "replay"), rows, 2)
    elif not comparison.unread:
        yield make_paragraph("the dump and the replay agree", "good")
    compared = f"{count_noun(comparison.nodes, 'node')} and {count_noun(comparison.jobs, 'job')}"
    yield make_paragraph(f"{count_noun(comparison.fields, 'value')} of {compared} are compared")
