"""A pass of predicates: how many nodes each reason and each scarce dimension took, and node by reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

import numpy as np

from vcdebug.amount_text import amount, plural, short_name
from vcdebug.explain.searches import Exhausted, exhausted
from vcdebug.framework.record import PredicateEvent
from vcdebug.model.fiterror import Status
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.names import Row as NodeRow
from vcdebug.trace.recording import Recording
from vcdebug.views.base import NO, SKIPPED, YES, Column, OnDemand, Piece, Row, Table, line, muted, plain_columns
from vcdebug.views.names import bare

BAR = "█"
BAR_WIDTH = 10
UNTRIED = "not tried"
OTHERS = "#"
"""The sign of reasons beyond the last letter."""
REASON, SHORT = "reason", "short of"
"""Kinds of subjects of the histogram's rows: Enter lists their nodes."""
LIST_COLUMNS = (
    Column("node", name=True),
    *plain_columns("dim", "asked#", "future idle#", "lacks#"),
    Column("reason", flexible=True),
)
_CODES = {1: "error", 2: "unschedulable", 3: "unresolvable", 4: "wait", 5: "skip"}
Letters = dict[Status, str]
Counted = list[tuple[Status, int]]


def predicate_grid(recording: Recording, seq: Seq, event: PredicateEvent) -> Table:
    """Rows of a histogram, then every node with a cross under each of its reasons."""
    reasons = _reasons(recording, event)
    letters = _letters(reasons)
    columns = (
        Column("node", name=True),
        Column(""),
        Column("".join(dict.fromkeys(letter[0] for letter in letters.values()))),
        Column("reason", flexible=True, least=24),
    )
    bars = [*_reason_rows(event, reasons, letters), *_short_rows(recording, seq)]
    verdicts = _verdicts(recording, event, [status for status, _ in reasons])
    keys = [*(row.key for row in bars), *(recording.node_names[row] for row, _ in verdicts)]
    rows = OnDemand(keys, lambda i: _row(recording, bars, verdicts, letters, i))
    fitting, tried = len(event.feasible), plural(event.processed, "node")
    untried = event.considered - event.processed
    head = line(
        Piece(f"{YES if fitting else NO} {fitting} fit", "good" if fitting else "bad"),
        f"  of {tried} tried" + (f", {untried} {UNTRIED}" if untried else ""),
    )
    return Table(f"Predicates for {bare(event.task)}", columns, rows, head=(head,), wraps=False, legend=len(bars))


def _reasons(recording: Recording, event: PredicateEvent) -> Counted:
    """Every reason with its number of nodes, the most frequent first."""
    codes, sizes = np.unique(event.codes, return_counts=True)
    found: dict[Status, int] = {}
    for code, size in zip(codes.tolist(), sizes.tolist(), strict=True):
        for status in recording.reasons.statuses(code):
            found[status] = found.get(status, 0) + size
    return sorted(found.items(), key=lambda entry: (-entry[1], entry[0].reason))


def _letters(reasons: Counted) -> Letters:
    return {
        status: ascii_uppercase[i] if i < len(ascii_uppercase) else f"{OTHERS}{i}"
        for i, (status, _) in enumerate(reasons)
    }


def _crossed(letters: Letters, wanted: Sequence[Status]) -> str:
    """A sign under each letter, and one under all that have none."""
    signs = [(letter[0], NO if status in wanted else SKIPPED) for status, letter in letters.items()]
    crossed: dict[str, str] = {}
    for letter, sign in signs:
        crossed[letter] = NO if crossed.get(letter) == NO else sign
    return "".join(crossed.values())


# The histogram


def _reason_rows(event: PredicateEvent, reasons: Counted, letters: Letters) -> Iterator[Row]:
    """One row per reason; nodes that were not tried stand apart from those that failed."""
    untried = event.considered - event.processed
    most = max([size for _, size in reasons] + [untried, 1])
    for status, size in reasons:
        by = f"  {status.plugin}" if status.plugin else ""
        kind = f"  ({_CODES[status.code]})" if status.code in _CODES and status.code != 2 else ""
        words = Piece(f"{status.reason}{by}{kind}")
        cells = (Piece(f"{letters[status]:<3} {size:>4} {_bar(size, most)}", "accent"), muted(""), muted(""), words)
        yield Row(f"reason {letters[status]}", cells, subject=(REASON, letters[status]))
    if untried:
        words = muted(f"{_bar(untried, most)} {UNTRIED}: enough nodes were found")
        cells = (muted(f"{SKIPPED} {plural(untried, 'node')}"), muted(""), muted(""), words)
        yield Row(UNTRIED, cells, subject=(REASON, UNTRIED))


def _short_rows(recording: Recording, seq: Seq) -> Iterator[Row]:
    """One row per dimension that some node lacks, whether or not it was the reason."""
    found = exhausted(recording, seq)
    for each in found:
        bar = _bar(len(each.nodes), max(each.visited, 1))
        name = short_name(each.dimension)
        asked, most = amount(each.dimension, each.request), amount(each.dimension, each.most)
        words = f"short of {name}: {asked} asked, the most on a node is {most}"
        cells = (Piece(f"{name[:3]:<3} {len(each.nodes):>4} {bar}", "accent"), muted(""), muted(""), Piece(words))
        yield Row(f"{SHORT} {each.dimension}", cells, subject=(SHORT, each.dimension))


def _bar(size: int, most: int) -> str:
    return BAR * max(1, round(size * BAR_WIDTH / most))


# The nodes


def _verdicts(recording: Recording, event: PredicateEvent, reasons: list[Status]) -> Sequence[tuple[NodeRow, int]]:
    """(node row, code): those that fit first, then the failed in order of the histogram, then the untried as -1."""
    fitting = [(row, 0) for row in event.feasible.tolist()]
    place = {status: number for number, status in enumerate(reasons)}
    codes = dict.fromkeys(event.codes.tolist())
    rank = {code: min((place[s] for s in recording.reasons.statuses(code)), default=0) for code in codes}
    failed = sorted(zip(event.failed.tolist(), event.codes.tolist(), strict=True), key=lambda entry: rank[entry[1]])
    return [*fitting, *failed, *((row, -1) for row in _untried(recording, event))]


def _untried(recording: Recording, event: PredicateEvent) -> list[NodeRow]:
    seen = np.zeros(len(recording.node_names), dtype=np.bool_)
    seen[event.feasible] = True
    seen[event.failed] = True
    return np.flatnonzero(~seen).tolist() if event.considered > event.processed else []


def _row(
    recording: Recording, bars: list[Row], verdicts: Sequence[tuple[NodeRow, int]], letters: Letters, index: int
) -> Row:
    if index < len(bars):
        return bars[index]
    return _node_row(recording, *verdicts[index - len(bars)], letters)


def _node_row(recording: Recording, row: NodeRow, code: int, letters: Letters) -> Row:
    name = recording.node_names[row]
    if code < 0:
        cells = (Piece(name), muted(SKIPPED), muted(""), muted(UNTRIED))
        return Row(name, cells, subject=("node", name))
    statuses = recording.reasons.statuses(code)
    mark = Piece(NO, "bad") if code else Piece(YES, "good")
    crosses = Piece(_crossed(letters, statuses), "bad" if statuses else "muted")
    words = Piece(", ".join(status.reason for status in statuses), "") if code else Piece("fits", "good")
    return Row(name, (Piece(name), mark, crosses, words), subject=("node", name))


# The list behind a row of the histogram


def node_list(recording: Recording, seq: Seq, kind: str, name: str) -> Table | None:
    """The nodes of one reason, or of one dimension; None where the event is no pass of predicates."""
    event = recording.event(seq)
    if not isinstance(event, PredicateEvent):
        return None
    if kind == SHORT:
        return next(
            (_short_list(recording, event, each) for each in exhausted(recording, seq) if each.dimension == name), None
        )
    if name == UNTRIED:
        rows = [_list_row(recording.node_names[row], "", None, UNTRIED) for row in _untried(recording, event)]
        return Table(f"Nodes {UNTRIED}", LIST_COLUMNS, rows)
    wanted = next((status for status, letter in _letters(_reasons(recording, event)).items() if letter == name), None)
    if wanted is None:
        return None
    rows = [_failed_row(recording, seq, node, code) for node, code in _failed_with(recording, event, wanted)]
    return Table(f"{wanted.reason}: {plural(len(rows), 'node')}", LIST_COLUMNS, rows)


def _failed_with(recording: Recording, event: PredicateEvent, wanted: Status) -> Iterator[tuple[NodeName, int]]:
    for row, code in zip(event.failed.tolist(), event.codes.tolist(), strict=True):
        if wanted in recording.reasons.statuses(code):
            yield recording.node_names[row], code


def _failed_row(recording: Recording, seq: Seq, node: NodeName, code: int) -> Row:
    """The scarcest dimension there, and everything that the predicates say."""
    words = ", ".join(status.reason for status in recording.reasons.statuses(code))
    for each in exhausted(recording, seq):
        short = each.of(node)
        if short is not None:
            return _list_row(node, each.dimension, (each.request, short.has, short.lacks), words)
    return _list_row(node, "", None, words)


def _short_list(recording: Recording, event: PredicateEvent, each: Exhausted) -> Table:
    codes = dict(zip(event.failed.tolist(), event.codes.tolist(), strict=True))
    row_of = recording.session.node_table.row_of
    rows = []
    for short in each.nodes:
        code = codes.get(row_of[short.node])
        words = ", ".join(status.reason for status in recording.reasons.statuses(code)) if code else "fits"
        rows.append(_list_row(short.node, each.dimension, (each.request, short.has, short.lacks), words))
    title = f"Short of {short_name(each.dimension)}: {plural(len(rows), 'node')}, the one that lacks least first"
    return Table(title, LIST_COLUMNS, rows)


def _list_row(node: NodeName, dim: str, figures: tuple[float, float, float] | None, words: str) -> Row:
    amounts = (
        (Piece(amount(dim, value)) for value in figures) if figures is not None else (muted("–") for _ in range(3))
    )
    return Row(node, (Piece(node, "strong"), muted(short_name(dim)), *amounts, Piece(words)), subject=("node", node))
