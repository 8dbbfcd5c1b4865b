"""What became of each candidate of a search for victims: taken, or spared by whom and why."""

from __future__ import annotations

from vcdebug.amount_text import count_noun
from vcdebug.explain.victims import CandidateFate, VictimDecision, victim_choice
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording
from vcdebug.views.base import NO, YES, Column, Piece, Row, Table, make_line, muted_piece, plain_columns
from vcdebug.views.names import bare_name

VICTIMS_SUBJECT = "victims"
"""Kind of subject of the rows that lead here; their name is the first event of the question."""
CANDIDATE_COLUMNS = (
    Column("candidate", name=True),
    *plain_columns("fate", "tier#", "by"),
    Column("why", flexible=True, least=20),
    Column("event", right=True),
)


def candidates_table(recording: Recording, first: Seq) -> Table | None:
    """One row per objection, a victim's own where nobody objects; None where the event asks for no victims."""
    choice = victim_choice(recording, first)
    if choice is None:
        return None
    rows = [row for fate in choice.fates for row in _candidate_rows(choice, fate)]
    spared = len([fate for fate in choice.fates if not fate.is_victim])
    head = make_line(f"{count_noun(len(choice.fates), 'candidate')}", muted_piece(f", {spared} spared"))
    on = f" on {choice.node}" if choice.node else ""
    title = f"Candidates for {bare_name(choice.preemptor or choice.question.point)}{on}"
    return Table(title, CANDIDATE_COLUMNS, rows, (head,))


def _candidate_rows(choice: VictimDecision, fate: CandidateFate) -> list[Row]:
    taken = Piece(f"{YES} victim", "good") if fate.is_victim else Piece(f"{NO} spared", "bad")
    if not fate.objections:
        tier = str(choice.deciding_tier or "")
        cells = (
            Piece(fate.task, "strong"),
            taken,
            muted_piece(tier),
            Piece(""),
            muted_piece("every voter offers it"),
            Piece(""),
        )
        return [Row(fate.task, cells, choice.question.first, ("task", fate.task))]
    return [
        Row(
            f"{fate.task} {objection.seq}",
            (
                Piece(fate.task if not place else "", "strong"),
                taken if not place else Piece(""),
                muted_piece(str(objection.tier)),
                Piece(objection.plugin),
                Piece(objection.why or "does not offer it"),
                muted_piece(str(objection.seq)),
            ),
            objection.seq,
            ("task", fate.task),
        )
        for place, objection in enumerate(fate.objections)
    ]
