"""The panel Inside at predicates: PreFilter's results, and the filters' checks on one node per set of reasons."""

from collections.abc import Iterator, Sequence

from vcdebug.amount_text import count_noun
from vcdebug.explain.decisions import dry_runs as checks
from vcdebug.explain.decisions.dry_runs import dry_run_at
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugins import AskedNode, asked_node_at
from vcdebug.explain.plugins.predicates import prepared_filters
from vcdebug.framework.record import HookEvent, PredicateEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import NodeName, Seq
from vcdebug.recording.recording import Recording
from vcdebug.views.equation import figure_text, row_name, short_names
from vcdebug.views.headline import answer_piece, bare_name
from vcdebug.views.pieces import NO, SKIPPED, YES, Line, Piece, Style, make_line, muted_piece
from vcdebug.views.table import Row, Table, table_columns

CHECK_COLUMNS = table_columns("", "check", "what is compared~20")
MAX_LABEL = 26
"""Longer names of terms move to the last column, which wraps."""
MAX_GROUPS = 12
"""The maximum number of groups of nodes with equal reasons; one node of each is shown in full."""
NOTHING_TRIED = "no node was tried"
WEBHOOK_ANSWERED = "a webhook answered in this cycle: it cannot be run again up to here"


def predicates_inside(recording: Recording, seq: Seq, event: PredicateEvent, title: str) -> Table:
    """PreFilter's results, then one node for each set of reasons, then one that fits."""
    groups, visited = _reason_groups(recording, event), _visited_nodes(recording, event)
    asked = next((asked for node in visited if (asked := asked_node_at(recording, seq, node))), None)
    if asked is None:
        return Table(title, footer=(make_line(muted_piece(WEBHOOK_ANSWERED if visited else NOTHING_TRIED)),))
    hits = checks.cache_hits(recording, seq)
    rows = list(_iter_prefilter_rows(asked))
    for number, (statuses, nodes) in enumerate(groups[:MAX_GROUPS]):
        rows += _iter_group_rows(recording, seq, number, statuses, nodes, hits)
    words = make_line(muted_piece("each plugin asked again, in the session as it stood then"))
    head = (words, *_iter_cache_lines(recording, event, hits))
    return Table(f"{title} of the predicates for {bare_name(event.task)}", CHECK_COLUMNS, rows, header=head)


def filter_answer(recording: Recording, seq: Seq, event: HookEvent, title: str) -> Table:
    """One plugin's answer about one node, which preempt or reclaim asks outside a pass over nodes."""
    node_checks = checks.filter_checks(recording, seq)
    if node_checks is None:
        return Table(title, footer=(make_line(muted_piece(WEBHOOK_ANSWERED)),))
    refused = event.result is not None
    style: Style = "bad" if refused else "good"
    words = Piece(answer_piece(event).text.removeprefix(f"{NO} ") if refused else "fits", style)
    first = Row("node", (Piece(NO if refused else YES, style), Piece(event.node, "strong"), words))
    words_above = f"{event.plugin} asked again about this node alone, in the session as it stood then"
    head = (make_line(muted_piece(words_above)),)
    rows = [first, *_check_rows(event.node, node_checks)]
    return Table(f"{title} of the filter {event.plugin} for {bare_name(event.task)}", CHECK_COLUMNS, rows, header=head)


def dry_run_answer(recording: Recording, seq: Seq, event: HookEvent, title: str) -> Table:
    """The checks of a dry run on its copy of a node, and the tasks removed from the copy so far."""
    node_checks, run = checks.simulated_checks(recording, seq), dry_run_at(recording, seq)
    if node_checks is None or run is None:
        return Table(title, footer=(make_line(muted_piece(WEBHOOK_ANSWERED)),))
    away = run.removed_at(seq)
    away_words = f"away: {', '.join(map(bare_name, away))}" if away else "no pod is away"
    fits = all(not check.is_refused for check in node_checks)
    style: Style = "good" if fits else "bad"
    first = Row("node", (Piece(YES if fits else NO, style), Piece(run.node, "strong"), Piece(away_words)))
    words = "a copy of the node and of what PreFilter counted, as the dry run has them by then"
    head = (make_line(muted_piece(words)),)
    rows = [first, *_check_rows(run.node, node_checks, folded=False)]
    return Table(f"{title} of the dry run for {bare_name(event.task)}", CHECK_COLUMNS, rows, header=head)


def node_checks(recording: Recording, seq: Seq, node: NodeName) -> list[Row]:
    """A row per check of one node; for a cached refusal the checks of the earlier search."""
    hit = checks.cache_hits(recording, seq).get(node)
    results = checks.checks_of_node(recording, seq if hit is None else hit.seq, node)
    return [*(_iter_hit_rows(hit) if hit is not None else ()), *_check_rows(node, results)]


def _visited_nodes(recording: Recording, event: PredicateEvent) -> list[NodeName]:
    return [recording.node_names[row] for row in [*event.failed.tolist()[:1], *event.feasible.tolist()[:1]]]


def _reason_groups(recording: Recording, event: PredicateEvent) -> list[tuple[tuple[FitStatus, ...], list[NodeName]]]:
    """(reasons, nodes with them), the most frequent first; the fitting nodes last."""
    failed = [recording.node_names[row] for row in event.failed.tolist()]
    nodes_by_reasons = group_by_key((checks.statuses_of(recording, event, name), name) for name in failed)
    groups = sorted(nodes_by_reasons.items(), key=lambda entry: -len(entry[1]))
    fitting = [recording.node_names[row] for row in event.feasible.tolist()]
    return [*groups, *([((), fitting)] if fitting else [])]


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
    statuses: tuple[FitStatus, ...],
    nodes: Sequence[NodeName],
    hits: dict[NodeName, checks.CacheHit],
) -> Iterator[Row]:
    node, more_words = nodes[0], f" (and {count_noun(len(nodes) - 1, 'more node')})" if len(nodes) > 1 else ""
    mark = Piece(NO, "bad") if statuses else Piece(YES, "good")
    reason = ", ".join(status.reason for status in statuses) or "fits"
    style: Style = "bad" if statuses else "good"
    yield Row(
        f"group {number}", (mark, Piece(node, "strong"), Piece(f"{reason}{more_words}", style)), 0, ("node", node)
    )
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
        mark = Piece(NO, "bad") if check.is_refused else muted_piece(SKIPPED) if folded else Piece(YES, "good")
        yield Row(key, (mark, Piece(f"  {_check_title(inside, node)}", "strong"), muted_piece(_formula_text(inside))))
        for place, term in enumerate(inside.terms):
            yield _term_row(f"{key} {place}", inside, term)


def _formula_text(inside: Equation) -> str:
    return f"{inside.formula}; {inside.comparison_name}" if inside.comparison_name else inside.formula


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
    label, long_name = ("·", f"{name}:") if len(name) > MAX_LABEL else (name, "")
    words = "; ".join(text for text in (", ".join(figures), term.note) if text)
    return Row(key, (mark, Piece(f"    {label}", style), Piece(f"{long_name} {words}".strip(), style)))
