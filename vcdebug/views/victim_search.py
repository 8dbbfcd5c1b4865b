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
from vcdebug.views.bars import stage_lines
from vcdebug.views.headline import bare_name
from vcdebug.views.pieces import BEST, NO, SKIPPED, YES, Line, Piece, make_line, muted_piece
from vcdebug.views.table import Column, Row, Table, empty_table, plain_columns

FUNNEL_TITLE = "Funnel"
OUTCOME_COLUMN = Column("outcome", flexible=True, least=12)
TASK_COLUMNS = (
    Column("task", name=True),
    *plain_columns("refused#", "tried#", "never#"),
    Column("where it ends", flexible=True, least=16),
    Column("event", right=True),
)
NOBODY_STARVES = "no starving job has a task to place (see JobStarving)"
NO_SEARCH = "no search for victims here"
NOT_CONFIGURED = "neither preempt nor reclaim is configured: nothing is evicted"
GANGS = "gang actions search whole domains: see the votes on UnifiedEvictable"


def funnel_table(recording: Recording, seq: Seq) -> Table:
    """The nodes searched for the task at an event, else the tasks that searched in its action."""
    found = victim_funnel.funnel_at(recording, seq)
    if found is not None:
        return _task_table(found, seq)
    searches = victim_funnel.funnels_around(recording, seq)
    if searches:
        rows = [_search_row(each) for each in searches]
        return Table(f"{FUNNEL_TITLE} of {searches[0].action}", TASK_COLUMNS, rows)
    following = next_task_turn(recording, seq, lambda action: recording.conf.facts_of(action).evicts_by_pod)
    return empty_table(FUNNEL_TITLE, _no_search_text(recording, seq), "search", following)


def _no_search_text(recording: Recording, seq: Seq) -> str:
    action = recording.span_tree.span_around(seq, Level.ACTION)
    if action is not None and recording.conf.facts_of(action.name).evicts_by_gang:
        return GANGS
    if action is not None and recording.conf.facts_of(action.name).evicts_by_pod:
        return NOBODY_STARVES
    if not any(recording.conf.facts_of(name).evicts_by_pod for name in recording.conf.actions):
        return NOT_CONFIGURED
    return NO_SEARCH


def _task_table(found: victim_funnel.VictimFunnel, seq: Seq) -> Table:
    names = [stage.name for stage in found.tried[0].stages] if found.tried else []
    columns = (Column("node", name=True), OUTCOME_COLUMN, *(Column(name, right=True) for name in names))
    rows = [_node_row(each) for each in found.tried] + [_never_row(node, len(names)) for node in found.never]
    here = [each for each in found.tried if each.first <= seq]
    current = _visit_key(here[-1]) if here else ""
    title = f"{FUNNEL_TITLE}: {found.action} for {bare_name(found.task)}"
    # The first visit of each node: the winner of dry runs is visited again to evict its victims.
    first: dict[NodeName, victim_funnel.NodeFunnel] = {}
    for visit in found.tried:
        first.setdefault(visit.node, visit)
    sums = [
        (name, sum(each.stages[at].left or 0 for each in first.values())) for at, name in enumerate(names)
    ]  # exact: ints
    return Table(title, columns, rows, (*_iter_funnel_head(found), *stage_lines(sums)), current=current)


def _iter_funnel_head(found: victim_funnel.VictimFunnel) -> Iterator[Line]:
    if found.stopped:
        yield make_line(Piece(f"{NO} {found.stopped}", "bad"))
        return
    tried = dict.fromkeys(each.node for each in found.tried)
    feasible = len(tried) + len(found.never)
    yield make_line(
        f"{count_noun(found.considered, 'node')} → ",
        Piece(f"{feasible} pass the predicates", "bad" if not feasible else ""),
        f" → {len(tried)} tried",
        muted_piece(f", {len(found.never)} never tried" if found.never else ""),
    )
    yield make_line(muted_piece(f"{_phase_words(found)}in reach: {found.reach}"))
    words = [each.outcome_words for each in found.tried]
    if words and not any(each.outcome == victim_funnel.PLACED for each in found.tried):
        # dict.fromkeys, not set: of equally frequent outcomes the first one, in every run the same.
        most = max(dict.fromkeys(words), key=words.count)
        yield make_line(Piece(f"{NO} {most} on {words.count(most)} of {count_noun(len(words), 'node')}", "bad"))


def _phase_words(found: victim_funnel.VictimFunnel) -> str:
    """The phase of an action with two; empty for any other action."""
    if not found.two_turns:
        return ""
    return "phase 2, inside the job; " if found.within else "phase 1, between jobs; "


def _visit_key(each: victim_funnel.NodeFunnel) -> str:
    return f"{each.node} {each.first}"


def _node_row(each: victim_funnel.NodeFunnel) -> Row:
    kept = (each.outcome == victim_funnel.PLACED and each.fate != "discard") or each.is_candidate
    words = f"{YES if kept else NO} {each.outcome_words}"
    cells = (
        Piece(each.node, "strong"),
        Piece(words, "good" if kept else "bad"),
        *(_stage_cell(stage, each) for stage in each.stages),
    )
    return Row(_visit_key(each), cells, each.first, ("node", each.node))


def _stage_cell(stage: victim_funnel.FunnelStage, each: victim_funnel.NodeFunnel) -> Piece:
    """How many tasks a stage leaves; the stage that leaves none is marked."""
    if stage.left is None:
        return muted_piece(SKIPPED)
    if stage.left == 0 and not each.outcome and stage.name == each.stopped_at:
        return Piece(f"{NO} 0", "bad")
    return Piece(str(stage.left), "" if stage.left else "muted")


def _never_row(node: NodeName, stages: int) -> Row:
    cells = (muted_piece(node), muted_piece("never tried"), *(muted_piece(SKIPPED) for _ in range(stages)))
    return Row(f"{node} never", cells, subject=("node", node))


def _search_row(found: victim_funnel.VictimFunnel) -> Row:
    placed = next((each for each in found.tried if each.outcome == victim_funnel.PLACED), None)
    if placed is not None and placed.fate == "discard":
        end = Piece(f"{NO} placed on {placed.node}, then discarded at {placed.end}", "bad")
    elif placed is not None:
        end = Piece(f"{YES} placed on {placed.node}", "good")
    elif found.stopped:
        end = Piece(f"{NO} {found.stopped}", "bad")
    elif not found.tried:
        end = Piece(f"{NO} no node passes the predicates", "bad")
    else:
        last = [each.outcome_words for each in found.tried]
        most = max(dict.fromkeys(last), key=last.count)
        end = Piece(f"{NO} {most} on {last.count(most)} of {count_noun(len(last), 'node')}", "bad")
    cells = (
        Piece(f"{bare_name(found.task)}{'  (own job)' if found.within else ''}", "strong"),
        *(Piece(str(number)) for number in (found.refused, len(found.tried), len(found.never))),
        end,
        muted_piece(str(found.seq)),
    )
    return Row(f"{found.task} {found.seq}", cells, found.seq, ("task", found.task))


# Topology-aware preemption: the victims and protected tasks of each dry run, and the rule that chose the node.

DRY_RUN_TITLE = "DryRun"
DRY_RUN_COLUMNS = (
    Column("node and task", flexible=True, least=20),
    Column("what comes of it", flexible=True),
    Column("event", right=True),
)
NO_DRY_RUN = "no dry run here: only preempt with enableTopologyAwarePreemption has any"


def dry_run_table(recording: Recording, seq: Seq) -> Table:
    """The dry runs of the task that an event belongs to."""
    found = dry_run_search_at(recording, seq)
    if found is None:
        index = recording.index
        starts = (seq_after(index.seqs_at_point(point), seq) for point in SIMULATION_POINTS)
        following = min((start for start in starts if start is not None), default=None)
        return empty_table(DRY_RUN_TITLE, NO_DRY_RUN if following is None else "no dry run here", "dry run", following)
    rows = [row for run in found.runs for row in _iter_dry_run_rows(found, run)]
    here = [row for row in rows if row.seq <= seq]
    current = here[-1].key if here else ""
    title, head = f"{DRY_RUN_TITLE}s for {bare_name(found.task)}", tuple(_iter_dry_run_head(found))
    return Table(title, DRY_RUN_COLUMNS, rows, head, current=current)


def _iter_dry_run_head(found: DryRunSearch) -> Iterator[Line]:
    candidates = [run for run in found.runs if run.victims]
    yield make_line(
        f"{count_noun(found.nodes, 'node')}, {count_noun(found.wanted, 'candidate')} wanted → ",
        f"{len(found.runs)} simulated → {count_noun(len(candidates), 'candidate')}",
    )
    if found.winner:
        yield make_line(Piece(f"{BEST} {found.winner}", "good"), f" wins: {found.rule}")
    else:
        yield make_line(Piece(f"{NO} no node is a candidate", "bad"))


def _iter_dry_run_rows(found: DryRunSearch, run: NodeDryRun) -> Iterator[Row]:
    good, best = bool(run.victims), run.node == found.winner
    words = Piece(f"{BEST if best else YES if good else NO} {run.outcome_words}", "good" if good else "bad")
    cells = (Piece(run.node, "strong"), words, _seq_piece(run.first))
    yield Row(f"{run.node} {run.first}", cells, run.first, ("node", run.node))
    yield from map(_trial_row, run.trials)


def _trial_row(trial: TaskTrial) -> Row:
    said = f": {trial.why}" if trial.why else ""
    words = Piece(f"{YES if trial.fits else NO} {trial.verdict_text}{said}", "good" if trial.fits else "bad")
    cells = (Piece(f"  {trial.verb} {bare_name(trial.task)}"), words, _seq_piece(trial.seq))
    return Row(f"{trial.task} {trial.verb} {trial.seq}", cells, trial.seq, ("task", trial.task))


def _seq_piece(seq: Seq) -> Piece:
    return muted_piece(str(seq))
