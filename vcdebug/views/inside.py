"""The panel Inside: comparisons before a pop, parts of scores, checks of predicates, bundles, hierarchical shares."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import isnan
from typing import Final

from vcdebug.amount_text import format_number, short_resource_text
from vcdebug.explain.decisions.equations import ScorePart, best_scored_row, runner_up, score_parts, scores_before
from vcdebug.explain.decisions.evictions import BundleOutcome, DomainBundles, bundles_at
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugins import is_filter, is_simulation
from vcdebug.explain.plugins.drf import hierarchy_at
from vcdebug.framework.record import BestEvent, PopEvent, PredicateEvent, ScoreEvent
from vcdebug.model.names import NodeName, Seq
from vcdebug.plugins.drf import HierarchyNode
from vcdebug.recording.event_index import seqs_after
from vcdebug.recording.recording import Recording
from vcdebug.views.equation import figure_text, row_name
from vcdebug.views.headline import bare_name, short_part
from vcdebug.views.order import comparisons_table
from vcdebug.views.pieces import BEST, NO, YES, Piece, make_line, muted_piece
from vcdebug.views.predicates_inside import dry_run_answer, filter_answer, predicates_inside
from vcdebug.views.table import Column, Row, Table, empty_table, table_columns

INSIDE_TITLE: Final = "Inside"
NOTHING_INSIDE = "nothing to open here"
WEBHOOK_ANSWERED = "a webhook answered in this cycle: it cannot be run again up to here"
SUM_OF_PARTS = "the sum of its parts"
MAX_LABEL: Final = 16
"""Longer names of terms move to the last column, which wraps."""


def scored_at(recording: Recording, seq: Seq) -> tuple[Seq, ScoreEvent] | None:
    """(seq, scores) of a score event, or of the scores behind a choice; None for any other event."""
    event = recording.event_at(seq)
    if isinstance(event, BestEvent):
        return scores_before(recording, seq)
    return (seq, event) if isinstance(event, ScoreEvent) else None


def inside_table(recording: Recording, seq: Seq, node: NodeName = "", inside: int = 0) -> Table:
    """What an event is made of: comparisons, scores, checks, bundles or shares; the step `inside` is the current row.

    For scores, the parts of `node` (default: the best node) are shown next to the parts of the runner-up.
    """
    event_here = recording.event_at(seq)
    if isinstance(event_here, PredicateEvent):
        return predicates_inside(recording, seq, event_here, INSIDE_TITLE)
    if is_filter(event_here):
        return filter_answer(recording, seq, event_here, INSIDE_TITLE)
    if is_simulation(event_here):
        return dry_run_answer(recording, seq, event_here, INSIDE_TITLE)
    if isinstance(event_here, PopEvent):
        return comparisons_table(recording, seq, event_here, INSIDE_TITLE, inside)
    scored = scored_at(recording, seq)
    index = best_scored_row(scored[1]) if scored is not None else None
    if scored is None or index is None:
        return _gang_or_share_table(recording, seq)
    score_seq, event = scored
    best = recording.node_names[int(event.rows[index])]
    first_node = node or best
    other = runner_up(recording, event, first_node)
    parts = score_parts(recording, score_seq, first_node)
    against = score_parts(recording, score_seq, other) if other else ()
    # The parts are computed by replaying up to this event, which would call the webhook again.
    if not parts:
        return empty_table(INSIDE_TITLE, WEBHOOK_ANSWERED)
    heads = (first_node, *((other,) if other else ()))
    # Flexible, since some parts are names: those of HyperNodes would take the room of the explanations.
    scores = (Column(f"{BEST} {name}" if name == best else name, right=True, flexible=True) for name in heads)
    columns = (Column("", flexible=True, min_width=18), *scores, Column("how", flexible=True, min_width=20))
    rows = list(_iter_part_rows(parts, against, heads))
    title = f"{INSIDE_TITLE} of the scores for {bare_name(event.task)}"
    head = (make_line(muted_piece("each plugin asked again, in the session as it stood then")),)
    return Table(title, columns, rows, header=head, current=parts[inside - 1].name if inside else "")


def _gang_or_share_table(recording: Recording, seq: Seq) -> Table:
    """The bundles of a gang action, else the tree of hierarchical shares, if the cycle has either."""
    bundles = bundles_at(recording, seq)
    if bundles is not None:
        return bundle_table(bundles)
    scores = seqs_after(recording.index.seqs_of_type(ScoreEvent), seq)
    following = next((score_seq for score_seq in scores if len(recording.event_at(score_seq).rows)), None)  # type: ignore[union-attr]
    nothing = empty_table(INSIDE_TITLE, NOTHING_INSIDE, "scores", following)
    return share_tree(recording, seq) or nothing


def _iter_part_rows(
    parts: Sequence[ScorePart], against: Sequence[ScorePart], heads: Sequence[NodeName]
) -> Iterator[Row]:
    for part, other in zip_longest(parts, against):
        sides = (part, other) if len(heads) > 1 else (part,)
        equations = [side.equation if side is not None else None for side in sides]
        equation = next((candidate for candidate in equations if candidate is not None), None)
        cells = tuple(Piece(_score_text(side), "strong") for side in sides)
        how = muted_piece(equation.formula if equation is not None else SUM_OF_PARTS if _is_sum(parts, part) else "")
        yield Row(part.name, (Piece(short_part(part.name), "strong"), *cells, how))
        if equation is not None:
            yield from _iter_term_rows(part.name, equations, heads)
            yield from _iter_note_rows(part.name, equations, heads)


def _is_sum(parts: Sequence[ScorePart], part: ScorePart | None) -> bool:
    return part is not None and any(other.name.startswith(f"{part.name}/") for other in parts)


def _score_text(side: ScorePart | None) -> str:
    return "–" if side is None or isnan(side.recorded) else format_number(side.recorded)


def _iter_term_rows(key: str, equations: Sequence[Equation | None], heads: Sequence[NodeName]) -> Iterator[Row]:
    """A row per figure of each term; `–` for a node that lacks the term."""
    names = dict.fromkeys(term.name for each in equations if each is not None for term in each.terms)
    for name in names:
        terms = [next((t for t in each.terms if t.name == name), None) if each else None for each in equations]
        pairs = zip(equations, terms, strict=True)
        equation, first_term = next((each, t) for each, t in pairs if each is not None and t is not None)
        note, label = _term_note(terms, heads), row_name(equation, first_term)
        if len(label) > MAX_LABEL:
            text = "; ".join(words for words in (label, note) if words)
            yield Row(f"{key} {name}", (muted_piece("  ·"), *(Piece("") for _ in heads), Piece(text)))
            label, note = " ", ""
        for column, head in enumerate(equation.columns):
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
    """The note on a term; if the nodes' notes differ, each with its node's name."""
    notes = [term.note if term is not None else "" for term in terms]
    if len(dict.fromkeys(notes)) == 1:
        return notes[0]
    return "; ".join(f"{head}: {note}" for head, note in zip(heads, notes, strict=True) if note)


def _iter_note_rows(key: str, equations: Sequence[Equation | None], heads: Sequence[NodeName]) -> Iterator[Row]:
    """A row per note of the equations; a single row if all notes are equal."""
    notes = [each.note if each is not None else "" for each in equations]
    same = len(dict.fromkeys(notes)) == 1
    for note, head in zip(notes, heads, strict=True):
        if note:
            name = "  =" if same else f"  = {head}"
            yield Row(f"{key} = {head}", (muted_piece(name), *(Piece("") for _ in heads), Piece(note)))
        if same:
            return


# The bundles of a gang action.

BUNDLE_COLUMNS = table_columns("", "bundle~18", "frees", "its job loses", "frees / loses#", "what becomes of it~20")


def bundle_table(bundles: DomainBundles) -> Table:
    """A row per bundle in upstream's order, its tasks below."""
    rows = [row for place, bundle in enumerate(bundles.bundles, start=1) for row in _iter_bundle_rows(place, bundle)]
    need, free = short_resource_text(bundles.needed), short_resource_text(bundles.free)
    words = "safe: tasks that the gang can spare; whole: the rest of a gang, which is evicted as a whole or not at all"
    head = (make_line(f"domain {bundles.domain}: needs {need}; idle + releasing {free}"), make_line(muted_piece(words)))
    return Table(f"{INSIDE_TITLE} of the bundles for {bare_name(bundles.job)}", BUNDLE_COLUMNS, rows, header=head)


def _iter_bundle_rows(place: int, bundle: BundleOutcome) -> Iterator[Row]:
    name = f"{place}. {'safe' if bundle.safe else 'whole'} of {bare_name(bundle.job)}"
    words = "; ".join(text for text in (bundle.cut_reason, _enough_words(bundle)) if text)
    amounts = (short_resource_text(bundle.freed), short_resource_text(bundle.lost), format_number(bundle.roi), words)
    verdict = Piece(YES, "good") if bundle.allowed else Piece(NO, "bad")
    yield Row(f"bundle {place}", (verdict, Piece(name, "strong"), *map(Piece, amounts)), subject=("job", bundle.job))
    blank = (Piece(""), Piece(""), Piece(""))
    for task in bundle.tasks:
        mark, state = ("", "") if task in bundle.allowed else (NO, "kept by the plugins")
        cells = (muted_piece(mark), Piece(f"   {bare_name(task)}"), *blank, muted_piece(state))
        yield Row(f"bundle {place} {task}", cells, subject=("task", task))


def _enough_words(bundle: BundleOutcome) -> str:
    if not bundle.allowed:
        return ""
    enough_words = "there is room with those before it: a plan is tried unless one was found"
    return enough_words if bundle.makes_room else "not enough yet"


# Hierarchical drf as a tree of paths and jobs.

SHARE_COLUMNS = table_columns(
    "path and jobs~18", "weight#", "share#", "share / weight#", "dominant", "saturated", "allocated~"
)
SHARE_FORMULA = (
    "a path's amount is the sum of its children's, each scaled to the smallest share of those that are not saturated; "
    "queues are compared level by level: the unsaturated one first, then the smaller share / weight"
)
ROOT_PATH = "root"


def share_tree(recording: Recording, seq: Seq) -> Table | None:
    """Weights, shares and saturation after an event; None if drf has no hierarchy."""
    root = hierarchy_at(recording, seq)
    if root is None:
        return None
    entries = list(_iter_share_rows(ROOT_PATH, ROOT_PATH, root, 0))
    rows, depths = [row for row, _ in entries], [depth for _, depth in entries]
    head = (make_line(muted_piece(SHARE_FORMULA)),)
    return Table(f"{INSIDE_TITLE} of hierarchical drf", SHARE_COLUMNS, rows, head, depths=depths)


def _iter_share_rows(key: str, name: str, node: HierarchyNode, depth: int) -> Iterator[tuple[Row, int]]:
    job = node.request is not None
    label = bare_name(name) if job else name
    cells = (
        Piece(f"{'  ' * depth}{label}", "" if job else "strong"),
        Piece(format_number(node.weight)),
        Piece(format_number(node.share.value)),
        Piece(format_number(node.weighted_share())),
        muted_piece(node.share.dominant),
        Piece("yes" if node.saturated else "no"),
        Piece(short_resource_text(node.share.allocated)),
    )
    yield Row(key, cells, subject=("job", name) if job else ("", "")), depth
    for child in sorted(node.children):
        yield from _iter_share_rows(f"{key}/{child}", child, node.children[child], depth + 1)
