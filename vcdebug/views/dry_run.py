"""Topology-aware preemption as a tree: per node whom the dry run takes away and spares, and why one node wins."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import count_noun
from vcdebug.explain.dry_run import DryRunSearch, NodeDryRun, TaskTrial, dry_run_search_at
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import BEST, NO, YES, Column, Line, Piece, Row, Table, make_line, muted_piece
from vcdebug.views.names import bare_name

DRY_RUN_TITLE = "DryRun"
DRY_RUN_COLUMNS = (
    Column("node and task", flexible=True, least=20),
    Column("what comes of it", flexible=True),
    Column("event", right=True),
)
NO_DRY_RUN = (
    "no dry run here: it belongs to preempt with enableTopologyAwarePreemption, and starts at its random number"
)


def dry_run_table(recording: Recording, seq: Seq) -> Table:
    """The dry runs of the task that an event belongs to."""
    found = dry_run_search_at(recording, seq)
    if found is None:
        return Table(DRY_RUN_TITLE, foot=(make_line(muted_piece(NO_DRY_RUN)),))
    rows = [row for run in found.runs for row in _iter_dry_run_rows(found, run)]
    here = [row for row in rows if row.seq <= seq]
    current = here[-1].key if here else ""
    return Table(
        f"{DRY_RUN_TITLE}s for {bare_name(found.task)}",
        DRY_RUN_COLUMNS,
        rows,
        tuple(_iter_dry_run_head(found)),
        current=current,
    )


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
    yield Row(
        f"{run.node} {run.first}",
        (Piece(run.node, "strong"), words, _seq_piece(run.first)),
        run.first,
        ("node", run.node),
    )
    for trial in run.trials:
        yield _trial_row(trial)


def _trial_row(trial: TaskTrial) -> Row:
    said = f": {trial.why}" if trial.why else ""
    words = Piece(f"{YES if trial.fits else NO} {trial.verdict_text}{said}", "good" if trial.fits else "bad")
    name = Piece(f"  {trial.verb} {bare_name(trial.task)}")
    return Row(
        f"{trial.task} {trial.verb} {trial.seq}", (name, words, _seq_piece(trial.seq)), trial.seq, ("task", trial.task)
    )


def _seq_piece(seq: Seq) -> Piece:
    return muted_piece(str(seq))
