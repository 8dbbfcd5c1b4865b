"""The report of `vcdebug ask`: the sentence, its lines and tables, and the events that prove it."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.cli.reports.pending import proof_blocks
from vcdebug.questions.reply import QuestionReply
from vcdebug.views.document import Block, make_listing, make_paragraph, titled_blocks


def reply_document(question: str, reply: QuestionReply) -> dict[str, object]:
    """For programs; the keys are a contract."""
    evidence = [{"seq": one.seq, "text": one.text} for one in reply.evidence]
    body = {"question": question, "sentence": reply.sentence, "lines": list(reply.lines)}
    return {**body, "evidence": evidence, **reply.data}


def reply_blocks(question: str, reply: QuestionReply) -> Iterator[Block]:
    """For people."""
    yield make_paragraph(reply.sentence, "title")
    yield from (make_paragraph(line, indent=2) for line in reply.lines)
    for sheet in reply.sheets:
        yield from titled_blocks(sheet.title, [make_listing(sheet.heads, sheet.rows, 2)])
    yield from proof_blocks(reply.evidence)
