"""The page Overview: pending jobs with their causes, evictions, placements, problems and quirks of a cycle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import capitalize_first, count_noun, format_count
from vcdebug.explain.decisions.evictions import Eviction, carried_out
from vcdebug.framework.record import CloseEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import Seq
from vcdebug.recording.effects import Effect, cycle_effects
from vcdebug.recording.input_problems import input_problems
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import announce_long_work, is_large
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.headline import close_message, inner_words
from vcdebug.views.pending import BOARD_COLUMNS, board_table
from vcdebug.views.pieces import ALLOCATED, EVICT, NO, PROBLEM, RESERVED, SOME, Line, Piece, make_line, muted_piece
from vcdebug.views.table import Row, Table, empty_table, table_columns

if TYPE_CHECKING:
    from vcdebug.explain.pending.survey import SurveyedJob


OVERVIEW_COLUMNS: Final = table_columns("", "~24")
"""State, then name and reason together, since a separate column of names would leave too little room for reasons."""
MAX_GROUP_ROWS: Final = 8
"""The maximum number of rows of a group; one more row opens the rest."""
SURVEY_TEXT: Final = "explaining every Pending job"
"""Long work in words: before it is done, the overview of a large recording quotes the scheduler's messages."""


def overview_table(recording: Recording) -> Table:
    """The page; the key of each row is the command that opens it."""
    rows: list[Row] = [
        *_first_rows(iter_pending_lines(recording), "waiting", "all Pending jobs"),
        *_first_rows(_iter_evicted_lines(recording), "panel evictions", "all evictions"),
        *_first_rows(_iter_placed_lines(recording), "panel effects", "all that was placed"),
        *_first_rows(_iter_problem_lines(recording), "panel problems", "all problems"),
        *_first_rows(_iter_quirk_lines(recording), "panel quirks", "all quirks"),
    ]
    return Table(_overview_title(recording), OVERVIEW_COLUMNS, rows, header=_overview_head(recording))


def _overview_title(recording: Recording) -> str:
    return f"Overview of {recording.snapshot.name or 'the cycle'}"


def is_overview(table: Table) -> bool:
    """Whether a table is the overview, so that its rows' keys are commands."""
    return table.columns in (OVERVIEW_COLUMNS, BOARD_COLUMNS)


def _overview_head(recording: Recording) -> tuple[Line, ...]:
    snapshot, session, effects = recording.snapshot, recording.session, cycle_effects(recording)
    parts = ((session.nodes, "node"), (session.jobs, "job"), (snapshot.objects_of("Pod"), "pod"))
    sizes = ", ".join(count_noun(len(objects), noun) for objects, noun in parts)
    trust = snapshot.release.describe_trust()
    counts = (
        (effects.bound, "bound"),
        (effects.pipelined, "pipelined"),
        (effects.held, "held"),
        (effects.evicted, "evicted"),
    )
    outcome = ", ".join(f"{format_count(len(entries))} {word}" for entries, word in counts if entries)
    outcome = outcome or "nothing placed, nothing evicted"
    panic = Piece(f"{NO} the real scheduler panics: {effects.panic}", "bad")
    return (
        make_line(sizes, muted_piece(f"   {trust}   clock {snapshot.now:%Y-%m-%d %H:%M:%S}")),
        *((make_line(panic),) if effects.panic is not None else ()),
        make_line("after the cycle: ", Piece(outcome, "strong")),
        make_line(""),
    )


def _first_rows(lines: Iterable[OverviewLine], command: str, description: str) -> Iterator[Row]:
    rows = [line.to_row() for line in lines]
    yield from rows[:MAX_GROUP_ROWS]
    if len(rows) > MAX_GROUP_ROWS:
        yield Row(command, (muted_piece("…"), muted_piece(f"{len(rows) - MAX_GROUP_ROWS} more: {description}")))


class OverviewLine(Struct, frozen=True):
    """One line about a job, a pod or an input: state, reason, and the command that opens it."""

    command: str
    mark: Piece
    name: str
    text: str
    kind: str = ""
    subject: str = ""
    """The name of the job, task, node or queue of that kind; empty for none."""

    def to_row(self) -> Row:
        """The row of the overview."""
        seq = int(self.command.removeprefix("goto ")) if self.command.startswith("goto ") else 0
        subject = (self.kind, self.subject) if self.subject else ("", "")
        return Row(self.command, (self.mark, Piece(f"{self.name}  {self.text}")), seq, subject)


def iter_pending_lines(recording: Recording) -> Iterator[OverviewLine]:
    """A line per job or pod that has no node at the end of the cycle, with its cause; evicted pods have own lines."""
    from vcdebug.explain.pending.survey import EVICTED_PODS, survey_jobs

    if not _is_long_survey(recording):
        survey = survey_jobs(recording)
        partly = [surveyed for surveyed in survey.partly_waiting_jobs if surveyed.lack != EVICTED_PODS]
        yield from map(_explained_line, [*survey.unscheduled_jobs, *partly])
    else:
        yield from _iter_condition_lines(recording)


def _is_long_survey(recording: Recording) -> bool:
    """Whether explaining every job has still to be done and takes long: it reads the events and the pods on nodes."""
    from vcdebug.explain.pending.survey import is_surveyed

    return is_large(recording) and not is_surveyed(recording)


def _explained_line(surveyed: SurveyedJob) -> OverviewLine:
    answer = surveyed.explanation
    name, mark = answer.subject_name, Piece(f"{NO} Pending", "bad")
    if answer.scheduled:
        mark = Piece(f"{SOME} partly" if surveyed.pending else f"{RESERVED} reserved", "warn")
    pending = f"{count_noun(surveyed.pending, 'pod')}: " if surveyed.pending else ""
    return OverviewLine(f"explain {name}", mark, name, f"{pending}{surveyed.shown_finding.reason}", "job", answer.job)


def _iter_condition_lines(recording: Recording) -> Iterator[OverviewLine]:
    """Lines with the scheduler's own message about each job."""
    # Explaining thousands of jobs would take seconds.
    last = next((recording.event_at(seq) for seq in recording.index.seqs_of_type(CloseEvent)), None)
    for summary in cycle_effects(recording).jobs:
        if summary.pending:
            job = last.jobs.get(summary.job) if isinstance(last, CloseEvent) else None
            message = close_message(job)[1] if job is not None else ""
            words = f"{count_noun(summary.pending, 'pod')}: {message or 'Enter explains it'}"
            yield OverviewLine(
                f"explain {summary.job}", Piece(f"{NO} Pending", "bad"), summary.job, words, "job", summary.job
            )


def _iter_evicted_lines(recording: Recording) -> Iterator[OverviewLine]:
    mark = Piece(f"{EVICT} evicted", "warn")
    for eviction in carried_out(recording):
        victim, words = eviction.victim, _preemptor_words(eviction)
        yield OverviewLine(f"goto {eviction.seq}", mark, victim, words, "task", victim)


def _preemptor_words(eviction: Eviction) -> str:
    asker = f"for {bare_name(eviction.preemptor)}" if eviction.preemptor else "for no pod: a plugin wants it evicted"
    return f"{asker}, by {eviction.action} on {eviction.node}"


def _iter_placed_lines(recording: Recording) -> Iterator[OverviewLine]:
    effects = cycle_effects(recording)
    reasons = {job.job: job.held_reason for job in effects.jobs}
    yield from _iter_lines_by_job(effects.bound, Piece(f"{ALLOCATED} bound", "good"))
    pipelined = Piece(f"{RESERVED} reserved", "warn")
    # A line that explains the reservation comes first.
    explained = {line.subject for line in iter_pending_lines(recording) if line.mark.text.startswith(RESERVED)}
    reserved = [effect for effect in effects.pipelined if effect.job not in explained]
    yield from _iter_lines_by_job(reserved, pipelined, ": reserved, waiting for pods there to terminate")
    for reason in dict.fromkeys(reasons[effect.job] for effect in effects.held):
        held = [effect for effect in effects.held if reasons[effect.job] == reason]
        yield from _iter_lines_by_job(held, Piece(f"{SOME} held", "warn"), f": {reason}")


def _iter_lines_by_job(moved: Iterable[Effect], mark: Piece, suffix: str = "") -> Iterator[OverviewLine]:
    for job, effects in group_by_key((effect.job, effect) for effect in moved).items():
        nodes = list(dict.fromkeys(effect.node for effect in effects))
        node_words = ", ".join(nodes) if len(nodes) <= 3 else f"{nodes[0]} and {len(nodes) - 1} more"
        words = f"{count_noun(len(effects), 'pod')} on {node_words}{suffix}"
        yield OverviewLine(f"goto {effects[0].seq}", mark, job or effects[0].task, words, "job", job)


def _iter_problem_lines(recording: Recording) -> Iterator[OverviewLine]:
    for problem in input_problems(recording):
        place = problem.object or problem.field or problem.file or "input"
        words = f"{problem.what}; {problem.effect}" if problem.effect else problem.what
        yield OverviewLine("panel problems", Piece(f"{PROBLEM} problem", "warn"), place, words)


def _iter_quirk_lines(recording: Recording) -> Iterator[OverviewLine]:
    for code in dict.fromkeys(note.code for note in recording.notes):
        notes = [note for note in recording.notes if note.code == code]
        text = notes[0].text + (f" (×{len(notes)})" if len(notes) > 1 else "")
        mark = Piece(f"{PROBLEM} quirk", "warn")
        yield OverviewLine(f"goto {notes[0].seq}", mark, "of the real scheduler:", text)


def moment_table(recording: Recording, seq: Seq, at_overview: bool, inside: int) -> Table:
    """The panel Moment: the view of the event, of a step inside it, or the overview."""
    if at_overview:
        return _first_table(recording)
    if inside:
        from vcdebug.views.inside import INSIDE_TITLE, inside_table

        table = inside_table(recording, seq, inside=inside)
        words = capitalize_first(inner_words(recording, seq, inside))
        return replace(table, title=table.title.replace(INSIDE_TITLE, words))
    from vcdebug.views.event_view import event_view

    return event_view(recording, seq)


def _first_table(recording: Recording) -> Table:
    """The overview; if many jobs are Pending, their causes and a row that opens the overview."""
    from vcdebug.explain.pending.survey import MAX_LISTED_JOBS, survey_jobs

    if _is_long_survey(recording):
        announce_long_work(recording, SURVEY_TEXT)
    survey = survey_jobs(recording)
    if len(survey.unscheduled_jobs) <= MAX_LISTED_JOBS:
        return overview_table(recording)
    board = board_table(survey)
    overview_row = Row(
        "overview", (muted_piece("… evictions, placements, problems"), *[Piece("")] * (len(BOARD_COLUMNS) - 1))
    )
    head = (make_line(Piece(board.title, "strong")), *_overview_head(recording)[1:-1], *board.header)
    return replace(board, title=_overview_title(recording), rows=[*board.rows, overview_row], header=head)


def arithmetic_table(recording: Recording, seq: Seq, at_overview: bool, inside: int) -> Table:
    """The panel Equation: the arithmetic of the event or of a step inside it; empty at the overview."""
    if at_overview:
        return empty_table("Equation", "the overview has no arithmetic: s goes to the first event")
    from vcdebug.views.equation import event_equation

    return event_equation(recording, seq, inside)
