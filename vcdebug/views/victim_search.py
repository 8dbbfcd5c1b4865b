"""The panels Funnel and DryRun: the search for victims, node by node and filter by filter."""

from collections.abc import Iterator

from vcdebug.amount_text import count_noun
from vcdebug.explain.decisions import victim_funnel
from vcdebug.explain.decisions.dry_runs import DryRunSearch, NodeDryRun, TaskTrial, dry_run_search_at
from vcdebug.explain.plugins import SIMULATION_POINTS
from vcdebug.framework.record import Level
from vcdebug.model.names import NodeName, Seq
from vcdebug.recording.event_index import seq_after
from vcdebug.recording.recording import Recording
from vcdebug.recording.visits import next_task_turn
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.pieces import BEST, NO, SKIPPED, YES, Line, Piece, make_line, muted_piece
from vcdebug.views.table import Column, Row, Table, empty_table, table_columns

FUNNEL_TITLE = "Funnel"
TASK_COLUMNS = table_columns("task@", "refused#", "tried#", "never#", "where it ends~16", "event#")
NOBODY_STARVES = "no starving job has a task to place (see JobStarving)"
NO_SEARCH = "no search for victims here"
NOT_CONFIGURED = "neither preempt nor reclaim is configured: nothing is evicted"
GANGS = "gang actions search whole domains: see the votes on UnifiedEvictable"


def funnel_table(recording: Recording, seq: Seq) -> Table:
    """The nodes searched for the task at an event, else the tasks that searched in its action."""
    funnel = victim_funnel.funnel_at(recording, seq)
    if funnel is not None:
        return _task_table(funnel, seq)
    searches = victim_funnel.funnels_around(recording, seq)
    if searches:
        rows = [_search_row(search) for search in searches]
        return Table(f"{FUNNEL_TITLE} of {searches[0].action}", TASK_COLUMNS, rows)
    following = next_task_turn(recording, seq, lambda action: recording.conf.facts_of(action).evicts_by_pod)
    return empty_table(FUNNEL_TITLE, _no_search_text(recording, seq), "search", following)


def _no_search_text(recording: Recording, seq: Seq) -> str:
    action, configured = recording.span_tree.span_around(seq, Level.ACTION), recording.conf.actions
    has_gang_action = any(recording.conf.facts_of(name).evicts_by_gang for name in configured)
    if has_gang_action if action is None else recording.conf.facts_of(action.name).evicts_by_gang:
        return GANGS
    if action is not None and recording.conf.facts_of(action.name).evicts_by_pod:
        return NOBODY_STARVES
    if not any(recording.conf.facts_of(name).evicts_by_pod for name in configured):
        return NO_SEARCH if has_gang_action else NOT_CONFIGURED
    return NO_SEARCH


def _task_table(funnel: victim_funnel.VictimFunnel, seq: Seq) -> Table:
    names = [stage.name for stage in funnel.tried_nodes[0].stages] if funnel.tried_nodes else []
    columns = (*table_columns("node@", "outcome~12"), *(Column(name, right=True) for name in names))
    rows = [_node_row(node_visit) for node_visit in funnel.tried_nodes] + [
        _untried_nodes_row(node, len(names)) for node in funnel.untried_nodes
    ]
    visits_so_far = [node_visit for node_visit in funnel.tried_nodes if node_visit.first_seq <= seq]
    current = _visit_key(visits_so_far[-1]) if visits_so_far else ""
    title = f"{FUNNEL_TITLE}: {funnel.action} for {bare_name(funnel.task)}"
    sums = [_sum_row(funnel)] if names else []
    return Table(title, columns, [*sums, *rows], tuple(_iter_funnel_head(funnel)), current=current)


def _sum_row(funnel: victim_funnel.VictimFunnel) -> Row:
    """What each filter leaves on all tried nodes together."""
    # Only the first visit of each node counts: the winner of dry runs is visited again to evict its victims.
    first: dict[NodeName, victim_funnel.NodeFunnel] = {}
    for visit in funnel.tried_nodes:
        first.setdefault(visit.node, visit)
    columns = zip(*(visit.stages for visit in first.values()), strict=True)
    counts = [[stage.remaining for stage in column if stage.remaining is not None] for column in columns]
    cells = (Piece(str(sum(left)), "strong") if left else muted_piece(SKIPPED) for left in counts)  # exact: ints
    return Row("sum", (Piece("all tried nodes"), Piece(""), *cells))


def _iter_funnel_head(funnel: victim_funnel.VictimFunnel) -> Iterator[Line]:
    if funnel.end_reason:
        yield make_line(Piece(f"{NO} {funnel.end_reason}", "bad"))
        return
    tried = dict.fromkeys(visit.node for visit in funnel.tried_nodes)
    if tried and not any(visit.outcome == victim_funnel.PLACED for visit in funnel.tried_nodes):
        yield make_line(_commonest_end(funnel))
    feasible = len(tried) + len(funnel.untried_nodes)
    yield make_line(
        f"{count_noun(funnel.considered_count, 'node')} → ",
        Piece(f"{feasible} left by the predicates", "bad" if not feasible else ""),
        f" → {len(tried)} tried",
        muted_piece(f", {len(funnel.untried_nodes)} never tried" if funnel.untried_nodes else ""),
    )
    yield make_line(muted_piece(f"{_phase_words(funnel)}candidates: {funnel.candidate_jobs}"))


def _commonest_end(funnel: victim_funnel.VictimFunnel) -> Piece:
    """The most frequent outcome of the tried nodes, and on how many of them it was reached."""
    words = [visit.outcome_words for visit in funnel.tried_nodes]
    # dict.fromkeys, not set: of equally frequent outcomes the first one, in every run the same.
    commonest = max(dict.fromkeys(words), key=words.count)
    return Piece(f"{NO} {commonest} on {words.count(commonest)} of {count_noun(len(words), 'node')}", "bad")


def _phase_words(funnel: victim_funnel.VictimFunnel) -> str:
    """The phase of an action with two phases; empty for any other action."""
    if not funnel.visits_jobs_twice:
        return ""
    return "phase 2, inside the job; " if funnel.is_within_job else "phase 1, between jobs; "


def _visit_key(visit: victim_funnel.NodeFunnel) -> str:
    return f"{visit.node} {visit.first_seq}"


def _node_row(visit: victim_funnel.NodeFunnel) -> Row:
    is_good = (visit.outcome == victim_funnel.PLACED and visit.statement_end != "discard") or visit.is_candidate
    words = f"{YES if is_good else NO} {visit.outcome_words}"
    cells = (
        Piece(visit.node, "strong"),
        Piece(words, "good" if is_good else "bad"),
        *(_stage_cell(stage, visit) for stage in visit.stages),
    )
    return Row(_visit_key(visit), cells, visit.first_seq, ("node", visit.node))


def _stage_cell(stage: victim_funnel.FunnelStage, visit: victim_funnel.NodeFunnel) -> Piece:
    """The number of tasks that a stage leaves; the stage that leaves none is marked."""
    if stage.remaining is None:
        return muted_piece(SKIPPED)
    if stage.remaining == 0 and not visit.outcome and stage.name == visit.stopped_at:
        return Piece(f"{NO} 0", "bad")
    return Piece(str(stage.remaining), "" if stage.remaining else "muted")


def _untried_nodes_row(node: NodeName, stages: int) -> Row:
    cells = (muted_piece(node), muted_piece("never tried"), *(muted_piece(SKIPPED) for _ in range(stages)))
    return Row(f"{node} never", cells, subject=("node", node))


def _search_row(funnel: victim_funnel.VictimFunnel) -> Row:
    placed = next((visit for visit in funnel.tried_nodes if visit.outcome == victim_funnel.PLACED), None)
    if placed is not None and placed.statement_end == "discard":
        end = Piece(f"{NO} placed on {placed.node}, then discarded at {placed.end}", "bad")
    elif placed is not None:
        end = Piece(f"{YES} placed on {placed.node}", "good")
    elif funnel.end_reason:
        end = Piece(f"{NO} {funnel.end_reason}", "bad")
    elif not funnel.tried_nodes:
        end = Piece(f"{NO} no node passes the predicates", "bad")
    else:
        end = _commonest_end(funnel)
    cells = (
        Piece(f"{bare_name(funnel.task)}{'  (own job)' if funnel.is_within_job else ''}", "strong"),
        *(Piece(str(number)) for number in (funnel.refused, len(funnel.tried_nodes), len(funnel.untried_nodes))),
        end,
        muted_piece(str(funnel.seq)),
    )
    return Row(f"{funnel.task} {funnel.seq}", cells, funnel.seq, ("task", funnel.task))


# Topology-aware preemption: the victims and protected tasks of each dry run, and the rule that chose the node.

DRY_RUN_TITLE = "DryRun"
DRY_RUN_COLUMNS = table_columns("node and task~20", "what comes of it~", "event#")
NO_DRY_RUN = "no dry run here: only preempt with enableTopologyAwarePreemption has any"


def dry_run_table(recording: Recording, seq: Seq) -> Table:
    """The dry runs of the task that an event belongs to."""
    search = dry_run_search_at(recording, seq)
    if search is None:
        index = recording.index
        starts = (seq_after(index.seqs_at_point(point), seq) for point in SIMULATION_POINTS)
        following = min((start for start in starts if start is not None), default=None)
        return empty_table(DRY_RUN_TITLE, NO_DRY_RUN if following is None else "no dry run here", "dry run", following)
    rows = [row for run in search.runs for row in _iter_dry_run_rows(search, run)]
    rows_so_far = [row for row in rows if row.seq <= seq]
    current = rows_so_far[-1].key if rows_so_far else ""
    title, head = f"{DRY_RUN_TITLE}s for {bare_name(search.task)}", tuple(_iter_dry_run_head(search))
    return Table(title, DRY_RUN_COLUMNS, rows, head, current=current)


def _iter_dry_run_head(search: DryRunSearch) -> Iterator[Line]:
    candidates = [run for run in search.runs if run.victims]
    yield make_line(
        f"{count_noun(search.nodes, 'node')}, {count_noun(search.wanted_candidates, 'candidate')} wanted → ",
        f"{len(search.runs)} simulated → {count_noun(len(candidates), 'candidate')}",
    )
    if search.winner:
        yield make_line(Piece(f"{BEST} {search.winner}", "good"), f" wins: {search.rule}")
    else:
        yield make_line(Piece(f"{NO} no node is a candidate", "bad"))


def _iter_dry_run_rows(search: DryRunSearch, run: NodeDryRun) -> Iterator[Row]:
    good, best = bool(run.victims), run.node == search.winner
    words = Piece(f"{BEST if best else YES if good else NO} {run.outcome_words}", "good" if good else "bad")
    cells = (Piece(run.node, "strong"), words, _seq_piece(run.first_seq))
    yield Row(f"{run.node} {run.first_seq}", cells, run.first_seq, ("node", run.node))
    yield from map(_trial_row, run.trials)


def _trial_row(trial: TaskTrial) -> Row:
    reason = f": {trial.refusal}" if trial.refusal else ""
    words = Piece(f"{YES if trial.fits else NO} {trial.verdict_text}{reason}", "good" if trial.fits else "bad")
    cells = (Piece(f"  {trial.verb} {bare_name(trial.task)}"), words, _seq_piece(trial.seq))
    return Row(f"{trial.task} {trial.verb} {trial.seq}", cells, trial.seq, ("task", trial.task))


def _seq_piece(seq: Seq) -> Piece:
    return muted_piece(str(seq))
