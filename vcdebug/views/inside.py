"""The panel Inside: comparisons before a pop, parts of scores, checks of predicates, bundles, hierarchical shares."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import isnan
from typing import Final

from vcdebug.amount_text import count_noun, format_number, short_resource_text
from vcdebug.explain.decisions import dry_runs as checks
from vcdebug.explain.decisions.dry_runs import dry_run_at
from vcdebug.explain.decisions.equations import ScorePart, best_scored_row, runner_up, score_parts, scores_before
from vcdebug.explain.decisions.victim_funnel import BundleOutcome, DomainBundles, bundles_at
from vcdebug.explain.equation import Equation, Term, short_part
from vcdebug.explain.plugins import AskedNode, asked_node_at, is_filter, is_simulation
from vcdebug.explain.plugins.drf import hierarchy_at
from vcdebug.explain.plugins.predicates import prepared_filters
from vcdebug.explain.predicate_reasons import candidates_without_room, reasons_text
from vcdebug.framework.record import BestEvent, HookEvent, PopEvent, PredicateEvent, ScoreEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import NodeName, Seq
from vcdebug.plugins.drf import HierarchyNode
from vcdebug.recording.event_index import seqs_after
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.equation import figure_text, row_name, short_names
from vcdebug.views.headline import answer_piece, fit_piece
from vcdebug.views.order import comparisons_table
from vcdebug.views.pieces import BEST, NO, SKIPPED, YES, Line, Piece, Style, make_line, muted_lines, muted_piece
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
    head = muted_lines("each plugin asked again, in the session as it stood then")
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
    head = muted_lines(SHARE_FORMULA)
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


# Predicates: PreFilter's results, and the filters' checks on one node per set of reasons.


CHECK_COLUMNS = table_columns("", "check", "what is compared~20")
MAX_CHECK_LABEL = 26
"""Longer names of terms move to the last column, which wraps."""
MAX_GROUPS = 12
"""The maximum number of groups of nodes with equal reasons; one node of each is shown in full."""
NOTHING_TRIED = "no node was tried"


def predicates_inside(recording: Recording, seq: Seq, event: PredicateEvent, title: str) -> Table:
    """PreFilter's results, then one node for each set of reasons, then one that passes with room, and one without."""
    roomless = candidates_without_room(recording, seq)
    groups = _reason_groups(recording, event, roomless)
    visited = [recording.node_names[row] for row in [*event.failed.tolist()[:1], *event.feasible.tolist()[:1]]]
    asked = next((asked for node in visited if (asked := asked_node_at(recording, seq, node))), None)
    if asked is None:
        return empty_table(title, WEBHOOK_ANSWERED if visited else NOTHING_TRIED)
    hits = checks.cache_hits(recording, seq)
    rows = list(_iter_prefilter_rows(asked))
    for number, (statuses, nodes) in enumerate(groups[:MAX_GROUPS]):
        reason = Piece(reasons_text(statuses), "bad") if statuses else fit_piece(nodes[0] in roomless)
        rows += _iter_group_rows(recording, seq, number, reason, nodes, hits)
    words = make_line(muted_piece("each plugin asked again, in the session as it stood then"))
    head = (words, *_iter_cache_lines(recording, event, hits))
    return Table(f"{title} of the predicates for {bare_name(event.task)}", CHECK_COLUMNS, rows, header=head)


def filter_answer(recording: Recording, seq: Seq, event: HookEvent, title: str) -> Table:
    """One plugin's answer about one node, which preempt or reclaim asks outside a pass over nodes."""
    node_checks = checks.filter_checks(recording, seq)
    if node_checks is None:
        return empty_table(title, WEBHOOK_ANSWERED)
    fits = event.result is None
    words = Piece("fits" if fits else answer_piece(event).text.removeprefix(f"{NO} "), "good" if fits else "bad")
    rows = [_verdict_row("node", event.node, words, fits=fits), *_check_rows(event.node, node_checks)]
    note = f"{event.plugin} asked again about this node alone, in the session as it stood then"
    title = f"{title} of the filter {event.plugin} for {bare_name(event.task)}"
    return Table(title, CHECK_COLUMNS, rows, header=muted_lines(note))


def dry_run_answer(recording: Recording, seq: Seq, event: HookEvent, title: str) -> Table:
    """The checks of a dry run on its copy of a node, and the tasks removed from the copy so far."""
    node_checks, run = checks.simulated_checks(recording, seq), dry_run_at(recording, seq)
    if node_checks is None or run is None:
        return empty_table(title, WEBHOOK_ANSWERED)
    away = run.removed_at(seq)
    words = Piece(f"away: {', '.join(map(bare_name, away))}" if away else "no pod is away")
    fits = all(not check.is_refused for check in node_checks)
    rows = [_verdict_row("node", run.node, words, fits=fits), *_check_rows(run.node, node_checks, folded=False)]
    note = "a copy of the node and of what PreFilter counted, as the dry run has them by then"
    title = f"{title} of the dry run for {bare_name(event.task)}"
    return Table(title, CHECK_COLUMNS, rows, header=muted_lines(note))


def _verdict_row(key: str, node: NodeName, words: Piece, *, fits: bool, subject: tuple[str, str] = ("", "")) -> Row:
    mark = Piece(YES, "good") if fits else Piece(NO, "bad")
    return Row(key, (mark, Piece(node, "strong"), words), subject=subject)


def node_checks(recording: Recording, seq: Seq, node: NodeName) -> list[Row]:
    """A row per check of one node; for a cached refusal the checks of the earlier search."""
    hit = checks.cache_hits(recording, seq).get(node)
    results = checks.checks_of_node(recording, seq if hit is None else hit.seq, node)
    return [*(_iter_hit_rows(hit) if hit is not None else ()), *_check_rows(node, results)]


def _reason_groups(
    recording: Recording, event: PredicateEvent, roomless: frozenset[NodeName]
) -> list[tuple[tuple[FitStatus, ...], list[NodeName]]]:
    """(reasons, nodes with them), the most frequent first; the nodes that pass last, those without room apart."""
    failed = [recording.node_names[row] for row in event.failed.tolist()]
    nodes_by_reasons = group_by_key((checks.statuses_of(recording, event, name), name) for name in failed)
    groups = sorted(nodes_by_reasons.items(), key=lambda entry: -len(entry[1]))
    fitting = group_by_key((name in roomless, name) for name in map(recording.node_names.__getitem__, event.feasible))
    return [*groups, *(((), nodes) for nodes in fitting.values())]


def _iter_cache_lines(
    recording: Recording, event: PredicateEvent, hits: dict[NodeName, checks.CacheHit]
) -> Iterator[Line]:
    key = checks.cache_key(recording, event)
    if hits:
        seqs = ", ".join(str(seq) for seq in dict.fromkeys(hit.seq for hit in hits.values()))
        words = f"error cache: {count_noun(len(hits), 'hit')} under the key {key}, of event {seqs}"
        yield make_line(Piece(words, "accent"))
    elif key:
        yield make_line(muted_piece(f"error cache: no hit; refusals are kept under the key {key}"))
    else:
        yield make_line(muted_piece("error cache: the task has no role, so nothing is cached for it"))


def _iter_prefilter_rows(asked_node: AskedNode) -> Iterator[Row]:
    filters = list(prepared_filters(asked_node))
    if filters:
        title, words = Piece("PreFilter", "strong"), muted_piece("what each filter found about the pod")
        yield Row("PreFilter", (muted_piece(""), title, words))
    for prepared in filters:
        if not prepared.skipped:
            words = Piece(
                ": ".join(words for words in (prepared.key, prepared.prefilter_text) if words) or "asked on every node"
            )
            yield Row(f"PreFilter {prepared.filter}", (Piece(YES, "good"), Piece(f"  {prepared.filter}"), words))
    skipped = ", ".join(prepared.filter for prepared in filters if prepared.skipped)
    if skipped:
        words = muted_piece(f"nothing to say about this pod, for the rest of the session: {skipped}")
        yield Row("PreFilter skipped", (muted_piece(SKIPPED), Piece("  skipped"), words))


def _iter_group_rows(
    recording: Recording,
    seq: Seq,
    number: int,
    reason: Piece,
    nodes: Sequence[NodeName],
    hits: dict[NodeName, checks.CacheHit],
) -> Iterator[Row]:
    node, more_words = nodes[0], f" (and {count_noun(len(nodes) - 1, 'more node')})" if len(nodes) > 1 else ""
    words = Piece(f"{reason.text}{more_words}", reason.style)
    yield _verdict_row(f"group {number}", node, words, fits=reason.style != "bad", subject=("node", node))
    # For a cached refusal, the checks are those of the earlier event that filled the cache.
    hit = hits.get(node)
    if hit is not None:
        yield from _iter_hit_rows(hit)
    yield from _check_rows(node, checks.checks_of_node(recording, seq if hit is None else hit.seq, node))


def _iter_hit_rows(hit: checks.CacheHit) -> Iterator[Row]:
    words = f"no plugin was asked: event {hit.seq} had refused the node under the key {hit.key}"
    yield Row(f"{hit.node} cached", (muted_piece(SKIPPED), Piece("  error cache"), Piece(words, "accent")), hit.seq)


def _check_rows(node: NodeName, results: Sequence[checks.NodeCheck], *, folded: bool = True) -> Iterator[Row]:
    """Passed checks in one line, then each other check with its terms; without `folded` every check with its terms."""
    passed = ", ".join(
        _check_title(check.equation, node) for check in results if folded and check.equation.verdict is True
    )
    if passed:
        yield Row(f"{node} passed", (Piece(YES, "good"), Piece("  holds"), muted_piece(passed)))
    for number, check in enumerate(results):
        inside, key = check.equation, f"{node} {number}"
        if folded and inside.verdict is True:
            continue
        formula = "; ".join(filter(None, (inside.formula, inside.comparison_name)))
        mark = Piece(NO, "bad") if check.is_refused else muted_piece(SKIPPED) if folded else Piece(YES, "good")
        yield Row(key, (mark, Piece(f"  {_check_title(inside, node)}", "strong"), muted_piece(formula)))
        for place, term in enumerate(inside.terms):
            yield _term_row(f"{key} {place}", inside, term)


def _check_title(inside: Equation, node: NodeName) -> str:
    """The title of a check without the node's name, which the row above has."""
    title = short_names(inside.title)
    for word in ("on", "of", "to", "for"):
        title = title.replace(f" {word} {node}", "")
    return title


def _term_row(key: str, inside: Equation, term: Term) -> Row:
    mark = muted_piece("") if term.is_met is None else Piece(YES, "good") if term.is_met else Piece(NO, "bad")
    style: Style = "accent" if term.is_met is False else ""
    figures = (
        f"{head} {figure_text(inside, term, figure)}".strip()
        for head, figure in zip(inside.columns, term.figures, strict=False)
        if figure is not None and figure != ""
    )
    name = row_name(inside, term)
    label, long_name = ("·", f"{name}:") if len(name) > MAX_CHECK_LABEL else (name, "")
    words = "; ".join(text for text in (", ".join(figures), term.note) if text)
    return Row(key, (mark, Piece(f"    {label}", style), Piece(f"{long_name} {words}".strip(), style)))
