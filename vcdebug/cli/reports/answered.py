"""The report of `vcdebug ask`: the sentence, its lines and tables, and the events that prove it."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.cli.reports.pending import proof
from vcdebug.questions.reply import Reply
from vcdebug.views.document import Block, listing, paragraph, titled


def document(question: str, reply: Reply) -> dict[str, object]:
    """For programs; the keys are a contract."""
    evidence = [{"seq": one.seq, "text": one.text} for one in reply.evidence]
    body = {"question": question, "sentence": reply.sentence, "lines": list(reply.lines)}
    return {**body, "evidence": evidence, **reply.data}


def blocks(question: str, reply: Reply) -> Iterator[Block]:
    """For people."""
    yield paragraph(reply.sentence, "title")
    yield from (paragraph(line, indent=2) for line in reply.lines)
    for sheet in reply.sheets:
        yield from titled(sheet.title, [listing(sheet.heads, sheet.rows, 2)])
    yield from proof(reply.evidence)
