"""The inside of scores: what each plugin made a part of, for the best node beside the runner-up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import isnan
from typing import Final

from vcdebug.amount_text import format_number
from vcdebug.explain.asked import is_filter, is_simulation
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.equations_scores import ScorePart, best_scored_row, runner_up, score_parts, scores_before
from vcdebug.explain.gang_bundles import bundles_at
from vcdebug.framework.record import BestEvent, PredicateEvent, ScoreEvent
from vcdebug.model.names import NodeName, Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import BEST, Column, Piece, Row, Table, make_line, muted_piece
from vcdebug.views.equation import figure_text, row_name
from vcdebug.views.gang_bundles import bundle_table
from vcdebug.views.names import bare_name, short_part
from vcdebug.views.share_tree import share_tree
from vcdebug.views.why_not import dry_run_answer, filter_answer, predicates_inside

INSIDE_TITLE: Final = "Inside"
NOTHING_INSIDE = "nothing to open here: go to a pass of predicates, to scores, or to the node that is best by them"
WEBHOOK_ANSWERED = "a webhook had a say in this cycle: it cannot be run again up to here"
SUM_OF_PARTS = "the sum of its parts"
MAX_LABEL: Final = 16
"""Names of terms beyond this stand in the last column, which wraps."""


def scored_at(recording: Recording, seq: Seq) -> tuple[Seq, ScoreEvent] | None:
    """The scores that an event is, or that a choice was made from."""
    event = recording.event_at(seq)
    if isinstance(event, BestEvent):
        return scores_before(recording, seq)
    return (seq, event) if isinstance(event, ScoreEvent) else None


def inside_table(recording: Recording, seq: Seq, node: NodeName = "") -> Table:
    """A node's parts, each with its own sum, beside those of the best of the others; the best node without a name."""
    event_here = recording.event_at(seq)
    if isinstance(event_here, PredicateEvent):
        return predicates_inside(recording, seq, event_here, INSIDE_TITLE)
    if is_filter(event_here):
        return filter_answer(recording, seq, event_here, INSIDE_TITLE)
    if is_simulation(event_here):
        return dry_run_answer(recording, seq, event_here, INSIDE_TITLE)
    found = scored_at(recording, seq)
    index = best_scored_row(found[1]) if found is not None else None
    if found is None or index is None:
        return _gang_or_share_table(recording, seq)
    at, event = found
    best = recording.node_names[int(event.rows[index])]
    mine = node or best
    other = runner_up(recording, event, mine)
    parts = score_parts(recording, at, mine)
    against = score_parts(recording, at, other) if other else ()
    if not parts:
        return Table(INSIDE_TITLE, foot=(make_line(muted_piece(WEBHOOK_ANSWERED)),))
    heads = (mine, *((other,) if other else ()))
    columns = (
        Column("", flexible=True, least=18),
        *(Column(f"{BEST} {name}" if name == best else name, right=True) for name in heads),
        Column("how", flexible=True, least=20),
    )
    rows = list(_iter_part_rows(parts, against, heads))
    title = f"{INSIDE_TITLE} of the scores for {bare_name(event.task)}"
    head = (make_line(muted_piece("each plugin asked again, in the session as it stood then")),)
    return Table(title, columns, rows, head=head)


def _gang_or_share_table(recording: Recording, seq: Seq) -> Table:
    """A gang action's bundles, else the tree of hierarchical shares, where the cycle has either."""
    bundles = bundles_at(recording, seq)
    if bundles is not None:
        return bundle_table(bundles, INSIDE_TITLE)
    return share_tree(recording, seq, INSIDE_TITLE) or Table(
        INSIDE_TITLE, foot=(make_line(muted_piece(NOTHING_INSIDE)),)
    )


def _iter_part_rows(
    parts: Sequence[ScorePart], against: Sequence[ScorePart], heads: Sequence[NodeName]
) -> Iterator[Row]:
    for one, other in zip_longest(parts, against):
        sides = (one, other) if len(heads) > 1 else (one,)
        equations = [side.inside if side is not None else None for side in sides]
        told = next((each for each in equations if each is not None), None)
        cells = tuple(Piece(_score_text(side), "strong") for side in sides)
        how = muted_piece(told.formula if told is not None else SUM_OF_PARTS if _is_sum(parts, one) else "")
        yield Row(one.name, (Piece(short_part(one.name), "strong"), *cells, how))
        if told is not None:
            yield from _iter_term_rows(one.name, equations, heads)
            yield from _iter_note_rows(one.name, equations, heads)


def _is_sum(parts: Sequence[ScorePart], one: ScorePart | None) -> bool:
    return one is not None and any(other.name.startswith(f"{one.name}/") for other in parts)


def _score_text(side: ScorePart | None) -> str:
    return "–" if side is None or isnan(side.recorded) else format_number(side.recorded)


def _iter_term_rows(key: str, equations: Sequence[Equation | None], heads: Sequence[NodeName]) -> Iterator[Row]:
    """A line per figure of each term: a term may be one of both nodes."""
    names = dict.fromkeys(term.name for each in equations if each is not None for term in each.terms)
    for name in names:
        terms = [next((t for t in each.terms if t.name == name), None) if each else None for each in equations]
        told, shown = next(
            (each, t) for each, t in zip(equations, terms, strict=True) if each is not None and t is not None
        )
        note, label = _term_note(terms, heads), row_name(told, shown)
        if len(label) > MAX_LABEL:
            text = "; ".join(words for words in (label, note) if words)
            yield Row(f"{key} {name}", (muted_piece("  ·"), *(Piece("") for _ in heads), Piece(text)))
            label, note = " ", ""
        for column, head in enumerate(told.columns):
            texts = [
                figure_text(each, term, term.figures[column]) if each is not None and term is not None else "–"
                for each, term in zip(equations, terms, strict=True)
            ]
            if all(term is None or term.figures[column] is None for term in terms):
                continue
            cells = (Piece(f"  {label} {head}".rstrip()), *map(Piece, texts), muted_piece(note))
            yield Row(f"{key} {name} {head}", cells)
            note = ""


def _term_note(terms: Sequence[Term | None], heads: Sequence[NodeName]) -> str:
    """What is said about a term; with the node's name where it holds for one of two."""
    notes = [term.note if term is not None else "" for term in terms]
    if len(dict.fromkeys(notes)) == 1:
        return notes[0]
    return "; ".join(f"{head}: {note}" for head, note in zip(heads, notes, strict=True) if note)


def _iter_note_rows(key: str, equations: Sequence[Equation | None], heads: Sequence[NodeName]) -> Iterator[Row]:
    """What each comes to; once where both say the same."""
    notes = [each.note if each is not None else "" for each in equations]
    same = len(dict.fromkeys(notes)) == 1
    for note, head in zip(notes, heads, strict=True):
        if note:
            name = "  =" if same else f"  = {head}"
            yield Row(f"{key} = {head}", (muted_piece(name), *(Piece("") for _ in heads), Piece(note)))
        if same:
            return
