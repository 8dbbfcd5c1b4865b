"""Views of predicate, score and choice events: nodes by reason, nodes by plugin, the best nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase

import numpy as np

from vcdebug.amount_text import count_noun, format_amount, format_number, short_name
from vcdebug.explain.decisions.equations import scores_before
from vcdebug.explain.predicate_reasons import ExhaustedDimension, exhausted_dimensions
from vcdebug.framework.record import BestEvent, PredicateEvent, ScoreEvent
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import KeptScores, NodeName, Seq
from vcdebug.model.names import Row as NodeRow
from vcdebug.recording.recording import Recording
from vcdebug.views.headline import bare_name, short_part
from vcdebug.views.pieces import BEST, NO, SKIPPED, YES, Piece, make_line, muted_piece
from vcdebug.views.table import Column, Row, RowsOnDemand, Table, plain_columns

BAR_SIGN = "█"
BAR_WIDTH = 10
UNTRIED = "not tried"
OTHERS_SIGN = "#"
"""The sign of reasons after Z."""
REASON, SHORT_OF = "reason", "short of"
"""Subject kinds of the histogram's rows; node_list shows their nodes."""
_AMOUNT_COLUMNS = plain_columns("dim", "asked#", "future idle#", "lacks#")
LIST_COLUMNS = (Column("node", name=True), *_AMOUNT_COLUMNS, Column("reason", flexible=True))
_CODES = {1: "error", 2: "unschedulable", 3: "unresolvable", 4: "wait", 5: "skip"}
ReasonLetters = dict[FitStatus, str]
ReasonCounts = list[tuple[FitStatus, int]]


def predicate_grid(recording: Recording, seq: Seq, event: PredicateEvent) -> Table:
    """A histogram of reasons and short dimensions, then every node with a cross under each of its reasons."""
    reasons = _count_reasons(recording, event)
    letters = _assign_letters(reasons)
    columns = (
        Column("node", name=True),
        Column(""),
        Column("".join(dict.fromkeys(letter[0] for letter in letters.values()))),
        Column("reason", flexible=True, least=24),
    )
    bars = [*_iter_reason_rows(event, reasons, letters), *_iter_short_rows(recording, seq)]
    verdicts = _node_verdicts(recording, event, [status for status, _ in reasons])
    keys = [*(row.key for row in bars), *(recording.node_names[row] for row, _ in verdicts)]
    rows = RowsOnDemand(keys, lambda i: _grid_row(recording, bars, verdicts, letters, i))
    fitting, tried = len(event.feasible), count_noun(event.processed, "node")
    untried = event.considered - event.processed
    head = make_line(
        Piece(f"{YES if fitting else NO} {fitting} fit", "good" if fitting else "bad"),
        f"  of {tried} tried" + (f", {untried} {UNTRIED}" if untried else ""),
    )
    return Table(f"Predicates for {bare_name(event.task)}", columns, rows, head=(head,), wraps=False)


def _count_reasons(recording: Recording, event: PredicateEvent) -> ReasonCounts:
    """(reason, number of nodes), the most frequent first."""
    codes, sizes = np.unique(event.codes, return_counts=True)
    found: dict[FitStatus, int] = {}
    for code, size in zip(codes.tolist(), sizes.tolist(), strict=True):
        for status in recording.reason_table.statuses_of(code):
            found[status] = found.get(status, 0) + size
    return sorted(found.items(), key=lambda entry: (-entry[1], entry[0].reason))


def _assign_letters(reasons: ReasonCounts) -> ReasonLetters:
    letters = (*ascii_uppercase, *(f"{OTHERS_SIGN}{i}" for i in range(len(ascii_uppercase), len(reasons))))
    return {status: letter for (status, _), letter in zip(reasons, letters, strict=False)}


def _crossed_signs(letters: ReasonLetters, wanted: Sequence[FitStatus]) -> str:
    """A sign per letter, one in common for all reasons after Z."""
    signs = [(letter[0], NO if status in wanted else SKIPPED) for status, letter in letters.items()]
    crossed: dict[str, str] = {}
    for letter, sign in signs:
        crossed[letter] = NO if crossed.get(letter) == NO else sign
    return "".join(crossed.values())


def _iter_reason_rows(event: PredicateEvent, reasons: ReasonCounts, letters: ReasonLetters) -> Iterator[Row]:
    """A row per reason, and one for the nodes that were not tried."""
    untried, blank = event.considered - event.processed, muted_piece("")
    # One scale for all bars, also for nodes that were not tried.
    most = max([size for _, size in reasons] + [untried, 1])
    for status, size in reasons:
        by = f"  {status.plugin}" if status.plugin else ""
        kind = f"  ({_CODES[status.code]})" if status.code in _CODES and status.code != 2 else ""
        count = Piece(f"{letters[status]:<3} {size:>4} {_count_bar(size, most)}", "accent")
        cells = (count, blank, blank, Piece(f"{status.reason}{by}{kind}"))
        yield Row(f"reason {letters[status]}", cells, subject=(REASON, letters[status]))
    if untried:
        words = muted_piece(f"{_count_bar(untried, most)} {UNTRIED}: enough nodes were found")
        cells = (muted_piece(f"{SKIPPED} {count_noun(untried, 'node')}"), blank, blank, words)
        yield Row(UNTRIED, cells, subject=(REASON, UNTRIED))


def _iter_short_rows(recording: Recording, seq: Seq) -> Iterator[Row]:
    """A row per dimension that any node lacks, whether or not it was the reason."""
    for each in exhausted_dimensions(recording, seq):
        bar = _count_bar(len(each.nodes), max(each.visited, 1))
        name = short_name(each.dimension)
        asked, most = format_amount(each.dimension, each.request), format_amount(each.dimension, each.most)
        words = f"short of {name}: {asked} asked, the most on a node is {most}"
        count = Piece(f"{name[:3]:<3} {len(each.nodes):>4} {bar}", "accent")
        cells = (count, muted_piece(""), muted_piece(""), Piece(words))
        yield Row(f"{SHORT_OF} {each.dimension}", cells, subject=(SHORT_OF, each.dimension))


def _count_bar(size: int, most: int) -> str:
    return BAR_SIGN * max(1, round(size * BAR_WIDTH / most))


def _node_verdicts(
    recording: Recording, event: PredicateEvent, reasons: list[FitStatus]
) -> Sequence[tuple[NodeRow, int]]:
    """(node row, reason code): fitting nodes (0), then failed ones in the histogram's order, then untried ones (-1)."""
    fitting = [(row, 0) for row in event.feasible.tolist()]
    place = {status: number for number, status in enumerate(reasons)}
    codes = dict.fromkeys(event.codes.tolist())
    rank = {code: min((place[s] for s in recording.reason_table.statuses_of(code)), default=0) for code in codes}
    failed = sorted(zip(event.failed.tolist(), event.codes.tolist(), strict=True), key=lambda entry: rank[entry[1]])
    return [*fitting, *failed, *((row, -1) for row in _untried_rows(recording, event))]


def _untried_rows(recording: Recording, event: PredicateEvent) -> list[NodeRow]:
    seen = np.zeros(len(recording.node_names), dtype=np.bool_)
    seen[event.feasible] = True
    seen[event.failed] = True
    return np.flatnonzero(~seen).tolist() if event.considered > event.processed else []


def _grid_row(
    recording: Recording, bars: list[Row], verdicts: Sequence[tuple[NodeRow, int]], letters: ReasonLetters, index: int
) -> Row:
    if index < len(bars):
        return bars[index]
    return _node_row(recording, *verdicts[index - len(bars)], letters)


def _node_row(recording: Recording, row: NodeRow, code: int, letters: ReasonLetters) -> Row:
    name = recording.node_names[row]
    if code < 0:
        cells = (Piece(name), muted_piece(SKIPPED), muted_piece(""), muted_piece(UNTRIED))
        return Row(name, cells, subject=("node", name))
    statuses = recording.reason_table.statuses_of(code)
    mark = Piece(NO, "bad") if code else Piece(YES, "good")
    crosses = Piece(_crossed_signs(letters, statuses), "bad" if statuses else "muted")
    words = Piece(", ".join(status.reason for status in statuses), "") if code else Piece("fits", "good")
    return Row(name, (Piece(name), mark, crosses, words), subject=("node", name))


def node_list(recording: Recording, seq: Seq, kind: str, name: str) -> Table | None:
    """The nodes behind a row of the histogram; None at an event that is no predicate event."""
    event = recording.event_at(seq)
    if not isinstance(event, PredicateEvent):
        return None
    if kind == SHORT_OF:
        short = next((each for each in exhausted_dimensions(recording, seq) if each.dimension == name), None)
        return _short_list(recording, event, short) if short is not None else None
    if name == UNTRIED:
        rows = [_list_row(recording.node_names[row], "", None, UNTRIED) for row in _untried_rows(recording, event)]
        return Table(f"Nodes {UNTRIED}", LIST_COLUMNS, rows)
    letters = _assign_letters(_count_reasons(recording, event))
    wanted = next((status for status, letter in letters.items() if letter == name), None)
    if wanted is None:
        return None
    rows = [_failed_row(recording, seq, node, code) for node, code in _iter_failed_nodes(recording, event, wanted)]
    return Table(f"{wanted.reason}: {count_noun(len(rows), 'node')}", LIST_COLUMNS, rows)


def _iter_failed_nodes(
    recording: Recording, event: PredicateEvent, wanted: FitStatus
) -> Iterator[tuple[NodeName, int]]:
    for row, code in zip(event.failed.tolist(), event.codes.tolist(), strict=True):
        if wanted in recording.reason_table.statuses_of(code):
            yield recording.node_names[row], code


def _failed_row(recording: Recording, seq: Seq, node: NodeName, code: int) -> Row:
    """A node with the first dimension that it lacks, and all its reasons."""
    words = ", ".join(status.reason for status in recording.reason_table.statuses_of(code))
    for each in exhausted_dimensions(recording, seq):
        short = each.shortage_of(node)
        if short is not None:
            return _list_row(node, each.dimension, (each.request, short.has, short.lacks), words)
    return _list_row(node, "", None, words)


def _short_list(recording: Recording, event: PredicateEvent, each: ExhaustedDimension) -> Table:
    codes = dict(zip(event.failed.tolist(), event.codes.tolist(), strict=True))
    row_of = recording.session.node_table.row_of
    rows = []
    for short in each.nodes:
        code = codes.get(row_of[short.node])
        words = ", ".join(status.reason for status in recording.reason_table.statuses_of(code)) if code else "fits"
        rows.append(_list_row(short.node, each.dimension, (each.request, short.has, short.lacks), words))
    title = f"Short of {short_name(each.dimension)}: {count_noun(len(rows), 'node')}, the one that lacks least first"
    return Table(title, LIST_COLUMNS, rows)


def _list_row(node: NodeName, dim: str, figures: tuple[float, float, float] | None, words: str) -> Row:
    amounts = [muted_piece("–")] * 3 if figures is None else [Piece(format_amount(dim, value)) for value in figures]
    cells = (Piece(node, "strong"), muted_piece(short_name(dim)), *amounts, Piece(words))
    return Row(node, cells, subject=("node", node))


def score_grid(recording: Recording, seq: Seq, event: ScoreEvent) -> Table:
    """Every node with its total score and each plugin's part, the highest total first."""
    title = f"Scores for {bare_name(event.task)}"
    if not len(event.rows):
        return Table(title, foot=(make_line(muted_piece("no node was left to score")),))
    # Stable, with NaN last: equal totals keep the session's order of nodes.
    order = np.argsort(-np.nan_to_num(event.total, nan=-np.inf), kind="stable")
    top = float(event.total[order[0]])
    parts = [(short_part(name), values) for name, values in event.parts if name in _nonzero_parts(event)]
    heads = (Column(head, right=True) for head, _ in parts)
    columns = (Column(""), Column("node", name=True), Column("total", right=True), *heads)
    tied = int(np.count_nonzero(event.total == top))
    words = f"{tied} tie at the top" if tied > 1 else ""
    head = (make_line(count_noun(len(event.rows), "node"), muted_piece(f"  {words}")),)
    names = [recording.node_names[row] for row in event.rows[order].tolist()]
    rows = RowsOnDemand(names, lambda i: _score_row(recording, event, int(order[i]), top, [v for _, v in parts]))
    return Table(title, columns, rows, head=head)


def _nonzero_parts(event: ScoreEvent) -> dict[str, None]:
    """Names of the parts with any score above or below 0; all parts if there are none."""
    nonzero = {name: None for name, values in event.parts if np.nan_to_num(values).any()}
    return nonzero or dict.fromkeys(name for name, _ in event.parts)


def _score_row(recording: Recording, event: ScoreEvent, index: int, top: float, parts: list[KeptScores]) -> Row:
    name = recording.node_names[int(event.rows[index])]
    total = float(event.total[index])
    best = total == top
    cells = (
        Piece(BEST if best else "", "accent"),
        Piece(name, "strong" if best else ""),
        Piece(_score_text(total), "strong" if best else ""),
        *(Piece(_score_text(float(values[index]))) for values in parts),
    )
    return Row(name, cells, subject=("node", name))


def _score_text(value: float) -> str:
    return "–" if np.isnan(value) else format_number(value)


def best_grid(recording: Recording, seq: Seq, event: BestEvent) -> Table:
    """The chosen node above the scores that it was chosen by."""
    found = scores_before(recording, seq)
    if found is not None:
        table, ties = score_grid(recording, *found), len(event.tied)
        drawn = f"  drawn among {ties} that tie; the real scheduler may draw another" if ties > 1 else ""
        best = make_line(
            "best ", Piece(f"{BEST} {event.name}", "accent"), f" with {format_number(event.score)}", muted_piece(drawn)
        )
        return Table(table.title, table.columns, table.rows, head=(best, *table.head))
    columns = (Column(event.kind), Column("score", right=True))
    rows = [Row(name, (Piece(name), Piece(format_number(event.score)))) for name in event.tied]
    return Table(f"Best {event.kind}: {event.name}", columns, rows)
