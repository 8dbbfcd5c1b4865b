"""The report of `vcdebug check`: which cycle, how much of it, and the first disagreement with both sides."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import grouped
from vcdebug.compare.klog import KlogLine
from vcdebug.compare.log import Comparison, Disagreement, LogCheck
from vcdebug.logs.log_writer import LogLine
from vcdebug.views.document import Block, paragraph

WHAT = {
    "different": "the log says something else than the replay",
    "missing": "the log lacks a line that the replay would have printed",
    "extra": "the log has a line that the replay would not have printed",
    "order": "two lines stand in another order",
}
LOG_ENDS, REPLAY_ENDS = "(the cycle ends in the log)", "(the replay prints nothing more)"


def document(checked: LogCheck) -> dict[str, object]:
    """For programs; the keys are a contract."""
    best = checked.best
    return {
        "agrees": checked.agrees,
        "cycle": best.cycle.number,
        "cycles": checked.cycles,
        "complete": best.cycle.complete,
        "level": best.level,
        "lines": best.total,
        "compared": best.covered,
        "agreed": best.compared,
        "reordered": best.reordered,
        "disagreement": None if best.disagreement is None else _document(best.disagreement),
    }


def _document(found: Disagreement) -> dict[str, object]:
    return {
        "kind": found.kind,
        "log": None if found.line is None else _log_document(found.line),
        "replay": None if found.said is None else {"seq": found.said.seq, "text": found.said.text},
        "lastAgreed": None if found.agreed is None else _log_document(found.agreed),
    }


def _log_document(line: KlogLine) -> dict[str, object]:
    return {"line": line.number, "text": line.text}


def blocks(checked: LogCheck) -> Iterator[Block]:
    """For people."""
    best = checked.best
    if best.disagreement is None:
        yield paragraph("the log and the replay agree", "good")
    else:
        yield paragraph(f"disagreement: {WHAT[best.disagreement.kind]}", "bad")
        yield from _sides(best.disagreement)
        yield paragraph("")
    yield from _extent(checked, best)


def _sides(found: Disagreement) -> Iterator[Block]:
    if found.agreed is not None:
        yield paragraph(f"after   {_log_side(found.agreed)}", "muted", 2)
    yield paragraph(f"log     {LOG_ENDS if found.line is None else _log_side(found.line)}", indent=2)
    yield paragraph(f"replay  {REPLAY_ENDS if found.said is None else _replay_side(found.said)}", indent=2)


def _log_side(line: KlogLine) -> str:
    return f"line {line.number}: {line.text}"


def _replay_side(said: LogLine) -> str:
    return f"event {said.seq}: {said.text}"


def _extent(checked: LogCheck, best: Comparison) -> Iterator[Block]:
    rest = "" if best.cycle.complete else ", which the log does not hold to its end"
    yield paragraph(f"cycle {best.cycle.number} of {checked.cycles} in the log{rest}; its lines show -v={best.level}")
    yield paragraph(
        f"{grouped(best.covered)} of {grouped(best.total)} lines are compared; {grouped(best.compared)} agree"
    )
    if best.reordered:
        yield paragraph(f"{grouped(best.reordered)} lines of parallel workers agree in another order", "muted")
