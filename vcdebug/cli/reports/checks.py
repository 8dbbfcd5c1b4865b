"""The report of `vcdebug check`: which cycle, how much of it, and the first disagreement with both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from vcdebug.amount_text import count_noun, format_count
from vcdebug.comparison.cache_dump import DumpComparison
from vcdebug.comparison.logs.log_writer import ReplayedLine
from vcdebug.comparison.scheduler_log import Disagreement, KlogLine, LogCheck, LogComparison
from vcdebug.views.document import Block, make_listing, make_paragraph

DISAGREEMENT_WORDS = {
    "different": "the log says something else than the replay",
    "missing": "the log lacks a line that the replay would have printed",
    "extra": "the log has a line that the replay would not have printed",
    "order": "two lines stand in another order",
}
LOG_ENDS, REPLAY_ENDS = "(the cycle ends in the log)", "(the replay prints nothing more)"


def log_check_document(checked: LogCheck) -> dict[str, object]:
    """For programs; the keys are a contract."""
    best = checked.best
    return {
        "agrees": checked.has_no_disagreement,
        "cycle": best.cycle.number,
        "cycles": checked.cycles,
        "complete": best.cycle.complete,
        "level": best.level,
        "lines": best.total,
        "compared": best.covered,
        "agreed": best.compared,
        "reordered": best.reordered,
        "disagreement": None if best.disagreement is None else _disagreement_document(best.disagreement),
    }


def _disagreement_document(found: Disagreement) -> dict[str, object]:
    return {
        "kind": found.kind,
        "log": None if found.line is None else _log_document(found.line),
        "replay": None if found.said is None else {"seq": found.said.seq, "text": found.said.text},
        "lastAgreed": None if found.agreed is None else _log_document(found.agreed),
    }


def _log_document(line: KlogLine) -> dict[str, object]:
    return {"line": line.number, "text": line.text}


def log_check_blocks(checked: LogCheck) -> Iterator[Block]:
    """For people."""
    best = checked.best
    if best.disagreement is None:
        yield make_paragraph("the log and the replay agree", "good")
    else:
        yield make_paragraph(f"disagreement: {DISAGREEMENT_WORDS[best.disagreement.kind]}", "bad")
        yield from _disagreement_blocks(best.disagreement)
        yield make_paragraph("")
    yield from _extent_blocks(checked, best)


def _disagreement_blocks(found: Disagreement) -> Iterator[Block]:
    if found.agreed is not None:
        yield make_paragraph(f"after   {_log_side(found.agreed)}", "muted", 2)
    yield make_paragraph(f"log     {LOG_ENDS if found.line is None else _log_side(found.line)}", indent=2)
    yield make_paragraph(f"replay  {REPLAY_ENDS if found.said is None else _replay_side(found.said)}", indent=2)


def _log_side(line: KlogLine) -> str:
    return f"line {line.number}: {line.text}"


def _replay_side(said: ReplayedLine) -> str:
    return f"event {said.seq}: {said.text}"


def _extent_blocks(checked: LogCheck, best: LogComparison) -> Iterator[Block]:
    rest = "" if best.cycle.complete else ", which the log does not hold to its end"
    yield make_paragraph(
        f"cycle {best.cycle.number} of {checked.cycles} in the log{rest}; its lines show -v={best.level}"
    )
    yield make_paragraph(
        f"{format_count(best.covered)} of {format_count(best.total)} lines are compared; "
        f"{format_count(best.compared)} agree"
    )
    if best.reordered:
        yield make_paragraph(
            f"{format_count(best.reordered)} lines of parallel workers agree in another order", "muted"
        )


# The report of `vcdebug inspect --against`: fields in which the scheduler's cache and the replay differ.


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
