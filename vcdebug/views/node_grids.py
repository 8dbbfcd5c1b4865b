"""Views of predicate, score and choice events: nodes by reason, nodes by plugin, the best nodes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase
from typing import Final

import numpy as np
from msgspec.structs import replace

from vcdebug.amount_text import count_noun, format_amount, format_amounts_apart, format_number, join_names, short_name
from vcdebug.explain import predicate_reasons
from vcdebug.explain.decisions import equations
from vcdebug.explain.equation import short_part
from vcdebug.framework.record import BestEvent, PredicateEvent, ScoreEvent
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import KeptScores, NodeName, Seq
from vcdebug.model.names import Row as NodeRow
from vcdebug.model.resource import at_most
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.headline import fit_piece, passing_piece
from vcdebug.views.pieces import BEST, NO, SKIPPED, YES, Piece, Style, make_line, muted_lines, muted_piece
from vcdebug.views.table import Column, Row, RowsOnDemand, Table, empty_table, table_columns

BAR_SIGN = "█"
BAR_WIDTH = 6
UNTRIED = "not tried"
OTHERS_SIGN = "#"
"""The sign of reasons after Z."""
REASON, SHORT_OF = "reason", "short of"
"""Subject kinds of the histogram's rows; node_list shows their nodes."""
LIST_COLUMNS = table_columns("node@", "dim", "asked#", "future idle#", "lacks#", "reason~")
_CODES = {1: "error", 2: "unschedulable", 3: "unresolvable", 4: "wait", 5: "skip"}
ReasonLetters = dict[FitStatus, str]
ReasonCounts = list[tuple[FitStatus, int]]


def predicate_grid(recording: Recording, seq: Seq, event: PredicateEvent) -> Table:
    """A histogram of reasons and short dimensions, then every node with a cross under each of its reasons."""
    reasons = _count_reasons(recording, event)
    letters = _assign_letters(reasons)
    columns = (
        *table_columns("reason or node@", "pass"),
        Column("".join(dict.fromkeys(letter[0] for letter in letters.values()))),
        *table_columns("short of", "reason~24"),
    )
    is_reserved = recording.timeline.state_at(seq).tasks[event.task].status is TaskStatus.PIPELINED
    short_rows = () if is_reserved else _iter_short_rows(recording, seq)
    bars = [*_iter_reason_rows(event, reasons, letters), *short_rows]
    verdicts = _node_verdicts(recording, event, [status for status, _ in reasons])
    keys = [*(row.key for row in bars), *(recording.node_names[row] for row, _ in verdicts)]
    first = len(bars)
    roomless = predicate_reasons.candidates_without_room(recording, seq)

    short_of = {} if is_reserved else predicate_reasons.first_shortages(recording, seq)

    def node_row(index: int) -> Row:
        row, code = verdicts[index - first]
        return _node_row(recording, row, code, letters, short_of, roomless)

    rows = RowsOnDemand(keys, lambda i: bars[i] if i < first else node_row(i))
    untried = event.considered - event.processed
    head = make_line(
        passing_piece(recording, seq, event),
        f"  of {count_noun(event.processed, 'node')} tried" + (f", {untried} {UNTRIED}" if untried else ""),
        muted_piece(" the node that was reserved for it in an earlier cycle" if is_reserved else ""),
        muted_piece(f"   {equations.NO_ROOM_REQUIRED}" if roomless else ""),
        muted_piece("   Enter: a node's equation"),
    )
    return Table(f"Predicates for {bare_name(event.task)}", columns, rows, header=(head,), wraps=False)


def _count_reasons(recording: Recording, event: PredicateEvent) -> ReasonCounts:
    """(reason, number of nodes), the most frequent first."""
    codes, sizes = np.unique(event.codes, return_counts=True)
    counts: dict[FitStatus, int] = {}
    for code, size in zip(codes.tolist(), sizes.tolist(), strict=True):
        for status in recording.reason_table.statuses_of(code):
            counts[status] = counts.get(status, 0) + size
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0].reason))


def _assign_letters(reasons: ReasonCounts) -> ReasonLetters:
    letters = (*ascii_uppercase, *(f"{OTHERS_SIGN}{i}" for i in range(len(ascii_uppercase), len(reasons))))
    return {status: letter for (status, _), letter in zip(reasons, letters, strict=False)}


def _crossed_signs(letters: ReasonLetters, reasons: Sequence[FitStatus]) -> str:
    """A sign per letter of a reason, crossed if the node has the reason; reasons after Z share one sign."""
    signs = [(letter[0], NO if status in reasons else SKIPPED) for status, letter in letters.items()]
    crossed: dict[str, str] = {}
    for letter, sign in signs:
        crossed[letter] = NO if crossed.get(letter) == NO else sign
    return "".join(crossed.values())


def _iter_reason_rows(event: PredicateEvent, reasons: ReasonCounts, letters: ReasonLetters) -> Iterator[Row]:
    """A row per reason, and one for the nodes that were not tried."""
    untried, blank = event.considered - event.processed, muted_piece("")
    for status, size in reasons:
        plugin_words = f"  {status.plugin}" if status.plugin else ""
        kind = f"  ({_CODES[status.code]})" if status.code in _CODES and status.code != 2 else ""
        count = Piece(f"{letters[status]:<3} {size:>4} {_count_bar(size, event.considered)}", "accent")
        cells = (count, blank, blank, blank, Piece(f"{status.reason}{plugin_words}{kind}"))
        yield Row(f"reason {letters[status]}", cells, subject=(REASON, letters[status]))
    if untried:
        words = muted_piece(f"{_count_bar(untried, event.considered)} {UNTRIED}: enough nodes were found")
        cells = (muted_piece(f"{SKIPPED} {count_noun(untried, 'node')}"), blank, blank, blank, words)
        yield Row(UNTRIED, cells, subject=(REASON, UNTRIED))


def _iter_short_rows(recording: Recording, seq: Seq) -> Iterator[Row]:
    """A row per dimension that any visited node lacks, whether or not predicates named it."""
    event = recording.event_at(seq)
    assert isinstance(event, PredicateEvent)
    nodes, roomless = recording.session.nodes, predicate_reasons.candidates_without_room(recording, seq)
    for lack in predicate_reasons.exhausted_dimensions(recording, seq):
        bar = _count_bar(len(lack.nodes), event.considered)
        name = short_name(lack.dimension)
        most = max(short.available for short in lack.nodes)
        largest, request = format_amounts_apart(lack.dimension, most, lack.request)
        freeable = [
            short.node
            for short in lack.nodes
            if short.node in roomless and at_most(lack.request, nodes[short.node].allocatable.get(lack.dimension))
        ]
        words = f"evictions may free {len(freeable)} of {len(lack.nodes)}" if freeable else f"short of {name}"
        count = Piece(f"{name[:3]:<3} {len(lack.nodes):>4} {bar}", "accent")
        blank = muted_piece("")
        cells = (count, blank, blank, Piece(f"≤ {largest} < {request}"), Piece(words))
        yield Row(f"{SHORT_OF} {lack.dimension}", cells, subject=(SHORT_OF, lack.dimension))


def _count_bar(size: int, nodes: int) -> str:
    return BAR_SIGN * max(1, round(size * BAR_WIDTH / max(nodes, 1)))


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
    tried = np.zeros(len(recording.node_names), dtype=np.bool_)
    tried[event.feasible] = True
    tried[event.failed] = True
    return np.flatnonzero(~tried).tolist() if event.considered > event.processed else []


def _node_row(
    recording: Recording,
    row: NodeRow,
    code: int,
    letters: ReasonLetters,
    short_of: Mapping[NodeName, tuple[str, float, float]],
    roomless: frozenset[NodeName],
) -> Row:
    name = recording.node_names[row]
    if code < 0:
        cells = (Piece(name), muted_piece(SKIPPED), muted_piece(""), muted_piece(""), muted_piece(UNTRIED))
        return Row(name, cells, subject=("node", name))
    statuses = recording.reason_table.statuses_of(code)
    mark = Piece(NO, "bad") if code else Piece(YES, "good")
    crosses = Piece(_crossed_signs(letters, statuses), "bad" if statuses else "muted")
    shortage = ""
    if name in short_of:
        dim, available, request = short_of[name]
        shortage = "{} {} < {}".format(short_name(dim), *format_amounts_apart(dim, available, request))
    words = Piece(predicate_reasons.reasons_text(statuses)) if code else fit_piece(name in roomless)
    return Row(name, (Piece(name), mark, crosses, Piece(shortage), words), subject=("node", name))


def node_list(recording: Recording, seq: Seq, kind: str, name: str) -> Table | None:
    """The nodes that a row of the histogram counts; None if the event is no pass of predicates or lacks the row."""
    event = recording.event_at(seq)
    if not isinstance(event, PredicateEvent):
        return None
    if kind == SHORT_OF:
        short = next(
            (lack for lack in predicate_reasons.exhausted_dimensions(recording, seq) if lack.dimension == name), None
        )
        return _short_list(recording, seq, event, short) if short is not None else None
    if name == UNTRIED:
        rows = [_list_row(recording.node_names[row], "", None, UNTRIED) for row in _untried_rows(recording, event)]
        return Table(f"Nodes {UNTRIED}", LIST_COLUMNS, rows)
    letters = _assign_letters(_count_reasons(recording, event))
    reason = next((status for status, letter in letters.items() if letter == name), None)
    if reason is None:
        return None
    table, names = recording.reason_table, recording.node_names
    failed = zip(event.failed.tolist(), event.codes.tolist(), strict=True)
    rows = [_failed_row(recording, seq, names[row], code) for row, code in failed if reason in table.statuses_of(code)]
    return Table(f"{reason.reason}: {count_noun(len(rows), 'node')}", LIST_COLUMNS, rows)


def _failed_row(recording: Recording, seq: Seq, node: NodeName, code: int) -> Row:
    """The row of a node with the first dimension that it lacks, and all its reasons."""
    words = predicate_reasons.reasons_text(recording.reason_table.statuses_of(code))
    for lack in predicate_reasons.exhausted_dimensions(recording, seq):
        short = lack.shortage_of(node)
        if short is not None:
            return _list_row(node, lack.dimension, (lack.request, short.available, short.shortage), words)
    return _list_row(node, "", None, words)


def _short_list(recording: Recording, seq: Seq, event: PredicateEvent, lack: predicate_reasons.DimensionRoom) -> Table:
    codes = dict(zip(event.failed.tolist(), event.codes.tolist(), strict=True))
    row_of, roomless = recording.session.node_table.row_of, predicate_reasons.candidates_without_room(recording, seq)
    rows = []
    for short in lack.nodes:
        code = codes.get(row_of[short.node])
        statuses = recording.reason_table.statuses_of(code) if code else ()
        words = predicate_reasons.reasons_text(statuses) or fit_piece(short.node in roomless).text
        rows.append(_list_row(short.node, lack.dimension, (lack.request, short.available, short.shortage), words))
    title = f"Short of {short_name(lack.dimension)}: {count_noun(len(rows), 'node')}, the one that lacks least first"
    return Table(title, LIST_COLUMNS, rows)


def _list_row(node: NodeName, dim: str, figures: tuple[float, float, float] | None, words: str) -> Row:
    amounts = [muted_piece("–")] * 3 if figures is None else [Piece(format_amount(dim, value)) for value in figures]
    cells = (Piece(node, "strong"), muted_piece(short_name(dim)), *amounts, Piece(words))
    return Row(node, cells, subject=("node", node))


MAX_SCORED_COLUMNS: Final = 12
"""The maximum number of nodes with a column of scores."""


def score_grid(recording: Recording, seq: Seq, event: ScoreEvent) -> Table:
    """A row per part of the scores; columns for the best node, the runner-up, the lead, and the next nodes."""
    title = f"Scores for {bare_name(event.task)}"
    if not len(event.rows):
        return empty_table(title, "no node was left to score")
    order = equations.order_by_total(event)[:MAX_SCORED_COLUMNS]
    names = [recording.node_names[int(event.rows[index])] for index in order]
    heads = [Column(f"{BEST} {names[0]}" if number == 0 else name, right=True) for number, name in enumerate(names)]
    columns = (Column("score"), *heads[:2], *([Column("lead", right=True)] if len(order) > 1 else []), *heads[2:])
    parts = _ordered_parts(event, order)
    rows = [_score_row("total", event.total, order, "strong"), *(_score_row(*part, order) for part in parts)]
    tied = int(np.count_nonzero(event.total == event.total[order[0]]))
    words = f"  {tied} tie at the top" if tied > 1 else _lead_text(event, order, names)
    head = (make_line(count_noun(len(event.rows), "node"), muted_piece(words)),)
    hidden = len(event.rows) - len(order)
    foot = muted_lines(f"{count_noun(hidden, 'more node')}, none with a higher total") if hidden else ()
    return Table(title, columns, rows, header=head, footer=foot)


def _ordered_parts(event: ScoreEvent, order: Sequence[int]) -> Iterator[tuple[str, KeptScores]]:
    """Each part of the totals with its details indented below; largest lead first, parts that are always 0 left out."""
    values, nonzero, summands = dict(event.parts), _nonzero_parts(event), equations.summands_of(event, order[0])

    def by_lead(names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: -abs(_lead_of(values[name], order)))

    inner = {part.name: equations.inner_parts(summands, place) for place, part in enumerate(summands) if part.is_term}
    details = {name: [part.name for part in parts if part.name in nonzero] for name, parts in inner.items()}
    for name in by_lead(name for name in details if name in nonzero or details[name]):
        if len(details[name]) == 1:
            (part,) = details[name]
            yield f"{short_part(name)} {short_part(part)}", values[part]
        else:
            yield short_part(name), values[name]
            yield from ((f"  {short_part(part)}", values[part]) for part in by_lead(details[name]))


def _lead_of(values: KeptScores, order: Sequence[int]) -> float:
    """The difference between the best node and the runner-up."""
    return float(values[order[0]]) - float(values[order[1]]) if len(order) > 1 else 0.0


def _lead_text(event: ScoreEvent, order: Sequence[int], names: Sequence[NodeName]) -> str:
    """`  n1 leads n2 by 170: affinity +150, usage −17.5`; empty for one node."""
    if len(order) < 2:
        return ""
    leads = [part for part in equations.compare_summands(event, *order[:2]) if part.lead]
    leads.sort(key=lambda part: -abs(part.lead))
    parts = join_names(f"{short_part(part.name)} {_signed_text(part.lead)}" for part in leads)
    return (
        f"  {names[0]} leads {names[1]} by {format_number(_lead_of(event.total, order))}{f': {parts}' if parts else ''}"
    )


def _nonzero_parts(event: ScoreEvent) -> dict[str, None]:
    """Names of the parts with any score above or below 0; all parts if there are none."""
    nonzero = {name: None for name, values in event.parts if np.nan_to_num(values).any()}
    return nonzero or dict.fromkeys(name for name, _ in event.parts)


def _score_row(label: str, values: KeptScores, order: Sequence[int], style: Style = "") -> Row:
    """A row of scores; the highest one is highlighted if only one node has it."""
    scores = [float(values[index]) for index in order]
    highest = max(scores) if scores.count(max(scores)) == 1 else None
    cells = [Piece(_score_text(score), "strong" if score == highest else style) for score in scores]
    lead = _lead_of(values, order)
    led = [Piece(_signed_text(lead), "good" if lead > 0 else "bad" if lead < 0 else "muted")] if len(order) > 1 else []
    return Row(label, (Piece(label, style), *cells[:2], *led, *cells[2:]))


def _signed_text(value: float) -> str:
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{_score_text(abs(value))}"


def _score_text(value: float) -> str:
    return "–" if np.isnan(value) else format_number(value)


def best_grid(recording: Recording, seq: Seq, event: BestEvent) -> Table:
    """The chosen node, above the table of the scores that decided."""
    scored = equations.scores_before(recording, seq)
    if scored is not None:
        table, ties = score_grid(recording, *scored), len(event.tied)
        drawn = f"  random choice among {ties} that tie; the real scheduler can choose another" if ties > 1 else ""
        best = make_line(
            "best ", Piece(f"{BEST} {event.name}", "accent"), f" with {format_number(event.score)}", muted_piece(drawn)
        )
        return replace(table, header=(best, *table.header))
    columns = (Column(event.kind), Column("score", right=True))
    rows = [Row(name, (Piece(name), Piece(format_number(event.score)))) for name in event.tied]
    return Table(f"Best {event.kind}: {event.name}", columns, rows)
