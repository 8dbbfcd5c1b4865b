"""A pass of predicates: how many nodes each reason took, and node by reason."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

import numpy as np

from vcdebug.framework.record import HookEvent, PredicateEvent
from vcdebug.model.fiterror import Status
from vcdebug.model.names import Row as NodeRow
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import NO, SKIPPED, YES, Column, Line, OnDemand, Piece, Row, Table, count, line, muted
from vcdebug.views.headline import answer, subject_of
from vcdebug.views.names import bare

BAR = "█"
BAR_WIDTH = 10
_CODES = {1: "error", 2: "unschedulable", 3: "unresolvable", 4: "wait", 5: "skip"}


def predicate_grid(recording: Recording, seq: Seq, event: PredicateEvent) -> Table:
    """A histogram of reasons, then every node with a cross under each of its reasons."""
    reasons = _reasons(recording, event)
    letters = {status: ascii_uppercase[i] if i < 26 else f"#{i}" for i, (status, _) in enumerate(reasons)}
    columns = (
        Column("node"),
        Column(""),
        *(Column(letters[status]) for status, _ in reasons),
        Column("reason", flexible=True),
    )
    verdicts = _verdicts(recording, event, [status for status, _ in reasons])
    names = [recording.node_names[row] for row, _ in verdicts]
    rows = OnDemand(names, lambda i: _node_row(recording, *verdicts[i], letters))
    title = f"Predicates for {bare(event.task)}"
    return Table(title, columns, rows, head=tuple(_head(event, reasons, letters)))


def single_predicate(seq: Seq, event: HookEvent) -> Table:
    """One plugin's predicate on one node."""
    subject = subject_of(event)
    columns = (Column("plugin"), Column("node"), Column("answer", flexible=True))
    row = Row(f"event {seq}", (Piece(event.plugin, "strong"), Piece(str(subject.get("node", ""))), answer(event)), seq)
    return Table(f"{event.point} for {bare(str(subject['task']))}", columns, (row,))


Counted = list[tuple[Status, int]]


def _reasons(recording: Recording, event: PredicateEvent) -> Counted:
    """Every reason with its number of nodes, the most frequent first."""
    codes, sizes = np.unique(event.codes, return_counts=True)
    found: dict[Status, int] = {}
    for code, size in zip(codes.tolist(), sizes.tolist(), strict=True):
        for status in recording.reasons.statuses(code):
            found[status] = found.get(status, 0) + size
    return sorted(found.items(), key=lambda entry: (-entry[1], entry[0].reason))


def _head(event: PredicateEvent, reasons: Counted, letters: dict[Status, str]) -> list[Line]:
    fitting, untried = len(event.feasible), event.considered - event.processed
    tried = f"{count(event.processed, 'node')} tried" + (f", {untried} not tried" if untried else "")
    style = "good" if fitting else "bad"
    lines = [line(Piece(f"{YES if fitting else NO} {fitting} fit", style), f"  of {tried}")]  # type: ignore[arg-type]
    most = max((size for _, size in reasons), default=1)
    for status, size in reasons:
        bar = BAR * max(1, round(size * BAR_WIDTH / most))
        by = f"  {status.plugin}" if status.plugin else ""
        kind = _CODES.get(status.code, "") if status.code != 2 else ""
        words = f"  ({kind})" if kind else ""
        lines.append(
            line(
                Piece(f"{letters[status]} ", "accent"),
                f"{size:>5} ",
                Piece(bar, "bad"),
                f" {status.reason}",
                muted(by + words),
            )
        )
    return [*lines, ()]


def _verdicts(recording: Recording, event: PredicateEvent, reasons: list[Status]) -> Sequence[tuple[NodeRow, int]]:
    """(node row, code): those that fit first, then the failed in order of the histogram, then the untried as -1."""
    fitting = [(row, 0) for row in event.feasible.tolist()]
    place = {status: number for number, status in enumerate(reasons)}
    codes = dict.fromkeys(event.codes.tolist())
    rank = {code: min((place[s] for s in recording.reasons.statuses(code)), default=0) for code in codes}
    failed = sorted(zip(event.failed.tolist(), event.codes.tolist(), strict=True), key=lambda entry: rank[entry[1]])
    seen = np.zeros(len(recording.node_names), dtype=np.bool_)
    seen[event.feasible] = True
    seen[event.failed] = True
    untried = np.flatnonzero(~seen).tolist() if event.considered > event.processed else []
    return [*fitting, *failed, *((row, -1) for row in untried)]


def _node_row(recording: Recording, row: NodeRow, code: int, letters: dict[Status, str]) -> Row:
    name = recording.node_names[row]
    if code < 0:
        cells = (Piece(name), muted(SKIPPED), *(muted("") for _ in letters), muted("not tried"))
        return Row(name, cells, subject=("node", name))
    statuses = recording.reasons.statuses(code)
    mark = Piece(NO, "bad") if code else Piece(YES, "good")
    crosses = (Piece(NO, "bad") if status in statuses else muted(SKIPPED) for status in letters)
    words = Piece(", ".join(status.reason for status in statuses), "") if code else Piece("fits", "good")
    return Row(name, (Piece(name), mark, *crosses, words), subject=("node", name))
