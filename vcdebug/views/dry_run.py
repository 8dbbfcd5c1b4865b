"""Topology-aware preemption as a tree: per node whom the dry run takes away and spares, and why one node wins."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import plural
from vcdebug.explain.dry_run import DryRun, DryRuns, Trial, dry_runs_at
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import BEST, NO, YES, Column, Line, Piece, Row, Table, line, muted
from vcdebug.views.names import bare

TITLE = "DryRun"
COLUMNS = (
    Column("node and task", flexible=True, least=20),
    Column("what comes of it", flexible=True),
    Column("event", right=True),
)
NOTHING = "no dry run here: it belongs to preempt with enableTopologyAwarePreemption, and starts at its random number"


def dry_run(recording: Recording, seq: Seq) -> Table:
    """The dry runs of the task that an event belongs to."""
    found = dry_runs_at(recording, seq)
    if found is None:
        return Table(TITLE, foot=(line(muted(NOTHING)),))
    rows = [row for run in found.runs for row in _rows(found, run)]
    here = [row for row in rows if row.seq <= seq]
    current = here[-1].key if here else ""
    return Table(f"{TITLE}s for {bare(found.task)}", COLUMNS, rows, tuple(_head(found)), current=current)


def _head(found: DryRuns) -> Iterator[Line]:
    candidates = [run for run in found.runs if run.victims]
    yield line(
        f"{plural(found.nodes, 'node')}, {plural(found.wanted, 'candidate')} wanted → ",
        f"{len(found.runs)} simulated → {plural(len(candidates), 'candidate')}",
    )
    if found.winner:
        yield line(Piece(f"{BEST} {found.winner}", "good"), f" wins: {found.rule}")
    else:
        yield line(Piece(f"{NO} no node is a candidate", "bad"))


def _rows(found: DryRuns, run: DryRun) -> Iterator[Row]:
    good, best = bool(run.victims), run.node == found.winner
    words = Piece(f"{BEST if best else YES if good else NO} {run.words}", "good" if good else "bad")
    yield Row(
        f"{run.node} {run.first}", (Piece(run.node, "strong"), words, _seq(run.first)), run.first, ("node", run.node)
    )
    for trial in run.trials:
        yield _trial(trial)


def _trial(trial: Trial) -> Row:
    said = f": {trial.why}" if trial.why else ""
    words = Piece(f"{YES if trial.fits else NO} {trial.verdict}{said}", "good" if trial.fits else "bad")
    name = Piece(f"  {trial.verb} {bare(trial.task)}")
    return Row(
        f"{trial.task} {trial.verb} {trial.seq}", (name, words, _seq(trial.seq)), trial.seq, ("task", trial.task)
    )


def _seq(seq: Seq) -> Piece:
    return muted(str(seq))
