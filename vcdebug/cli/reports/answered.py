"""The report of `vcdebug ask`: the sentence, its lines and tables, and the events that prove it."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.questions.reply import Reply
from vcdebug.views.document import Block, listing, paragraph


def blocks(reply: Reply) -> Iterator[Block]:
    """For people."""
    yield paragraph(reply.sentence, "title")
    yield from (paragraph(line, indent=2) for line in reply.lines)
    for sheet in reply.sheets:
        yield paragraph("")
        yield paragraph(sheet.title, "title")
        yield listing(sheet.heads, sheet.rows, 2)
    if reply.evidence:
        yield paragraph("")
        yield paragraph("proof", "title")
        yield listing(("event#", "what it shows"), tuple((str(one.seq), one.text) for one in reply.evidence), 2)
