"""The cycle's outcome on one page: who waits and why, who was evicted for whom, what was placed, what is odd."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import count_noun, format_count
from vcdebug.explain.decisions.evictions import Eviction, not_discarded
from vcdebug.framework.record import CloseEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, Seq
from vcdebug.recording.effects import Effect, cycle_effects
from vcdebug.recording.input_problems import input_problems
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.views.headline import bare_name
from vcdebug.views.table import NO, YES, Column, Line, Piece, Row, Table, make_line, muted_piece

if TYPE_CHECKING:
    from vcdebug.explain.pending.explanation import SurveyedJob


OVERVIEW_COLUMNS: Final = (Column(""), Column("", name=True), Column("", flexible=True, least=24))
START_REASON: Final = "start"
"""The reason of a first position, as the debugger says it."""
MAX_GROUP_ROWS: Final = 8
"""Rows of a group; the rest is a line that leads to the list."""
MAX_EXPLAINED_EVENTS: Final = 20_000
"""Events up to which every job that waits is explained at once; above, its own condition says why."""


@per_recording()
def overview_table(recording: Recording) -> Table:
    """The key of each row is the command that goes into it."""
    rows = [
        *_first_rows([*iter_pending_rows(recording)], "waiting", "all that wait"),
        *_first_rows([*_iter_evicted_rows(recording)], "panel evictions", "all evictions"),
        *_first_rows([*_iter_placed_rows(recording)], "panel effects", "all that was placed"),
        *_first_rows([*_iter_problem_rows(recording)], "panel problems", "all problems"),
        *_first_rows([*_iter_quirk_rows(recording)], "panel quirks", "all quirks"),
    ]
    return Table(
        f"Overview of {recording.snapshot.name or 'the cycle'}", OVERVIEW_COLUMNS, rows, head=_overview_head(recording)
    )


def before_first_step(seq: Seq, reason: str) -> bool:
    """Whether nobody has gone anywhere yet, so that the cycle as a whole is shown."""
    return seq == 1 and reason == START_REASON


def is_overview(table: Table) -> bool:
    """Whether the keys of its rows are commands."""
    return table.columns is OVERVIEW_COLUMNS


def _overview_head(recording: Recording) -> tuple[Line, ...]:
    snapshot, session, done = recording.snapshot, recording.session, cycle_effects(recording)
    sizes = ", ".join(
        count_noun(number, noun)
        for number, noun in (
            (len(session.nodes), "node"),
            (len(session.jobs), "job"),
            (len(snapshot.objects_of("Pod")), "pod"),
        )
    )
    release = snapshot.release
    stated = "newest rules, no release stated" if release.is_assumed else release.display_name()
    counts = ((done.bound, "bound"), (done.pipelined, "pipelined"), (done.held, "held"), (done.evicted, "evicted"))
    came = (
        ", ".join(f"{format_count(len(entries))} {word}" for entries, word in counts if entries)
        or "nothing placed, nobody evicted"
    )
    panic = (
        (make_line(Piece(f"{NO} the real scheduler panics: {done.panic}", "bad")),) if done.panic is not None else ()
    )
    return (
        make_line(sizes, muted_piece(f"   {stated}   clock {snapshot.now:%Y-%m-%d %H:%M:%S}")),
        *panic,
        make_line(Piece(came, "strong"), muted_piece(f"   by {' → '.join(recording.conf.actions)}")),
        make_line(""),
    )


def _first_rows(rows: list[Row], command: str, what: str) -> Iterator[Row]:
    yield from rows[:MAX_GROUP_ROWS]
    if len(rows) > MAX_GROUP_ROWS:
        yield Row(command, (muted_piece("…"), muted_piece(f"{len(rows) - MAX_GROUP_ROWS} more"), muted_piece(what)))


# Waiting


def iter_pending_rows(recording: Recording) -> Iterator[Row]:
    """Every job or pod that waits when the cycle ends, with its cause in a line."""
    if len(recording) <= MAX_EXPLAINED_EVENTS:
        yield from map(_explained_row, _surveyed_jobs(recording))
    else:
        yield from _iter_condition_rows(recording)


def _surveyed_jobs(recording: Recording) -> list[SurveyedJob]:
    from vcdebug.explain.pending.explanation import survey_jobs

    found = survey_jobs(recording)
    return [*found.unscheduled_jobs, *found.partly_waiting_jobs]


def _explained_row(one: SurveyedJob) -> Row:
    found = one.explanation
    name, mark = found.pod or found.job, Piece(f"{NO} waits", "bad")
    if found.scheduled:
        mark = Piece("◔ in part", "warn")
    pending = f"{count_noun(one.pending, 'pod')}: " if one.pending else ""
    return _overview_row(f"explain {name}", mark, name, f"{pending}{one.shown_finding.sentence}", "job", found.job)


def _iter_condition_rows(recording: Recording) -> Iterator[Row]:
    """What the scheduler itself writes about the job: explaining thousands would take seconds."""
    last = next((recording.event_at(seq) for seq in recording.index.seqs_of_type(CloseEvent)), None)
    for one in cycle_effects(recording).jobs:
        if one.pending:
            said = _close_message(last, one.job) if isinstance(last, CloseEvent) else ""
            words = f"{count_noun(one.pending, 'pod')}: {said or 'Enter explains it'}"
            yield _overview_row(f"explain {one.job}", Piece(f"{NO} waits", "bad"), one.job, words, "job", one.job)


def _close_message(event: CloseEvent, uid: JobId) -> str:
    job = event.jobs.get(uid)
    if job is None:
        return ""
    bad = next((one.message for one in job.conditions if one.type == "Unschedulable" and one.status == "True"), "")
    return bad or job.fit_error


# What was done


def _iter_evicted_rows(recording: Recording) -> Iterator[Row]:
    for each in not_discarded(recording):
        yield _overview_row(
            f"goto {each.seq}", Piece("○ evicted", "warn"), each.victim, _preemptor_words(each), "task", each.victim
        )


def _preemptor_words(each: Eviction) -> str:
    asker = f"for {bare_name(each.preemptor)}" if each.preemptor else "for nobody: it should go anyway"
    return f"{asker}, by {each.action} on {each.node}"


def _iter_placed_rows(recording: Recording) -> Iterator[Row]:
    done = cycle_effects(recording)
    yield from _iter_rows_by_job(done.bound, Piece(f"{YES} bound", "good"))
    yield from _iter_rows_by_job(
        done.pipelined, Piece("◔ pipelined", "warn"), ": waits for room that is being released"
    )
    yield from _iter_rows_by_job(done.held, Piece("◌ held", "warn"), ": its gang is not complete")


def _iter_rows_by_job(moved: Iterable[Effect], mark: Piece, why: str = "") -> Iterator[Row]:
    for job, theirs in group_by_key((one.job, one) for one in moved).items():
        nodes = list(dict.fromkeys(one.node for one in theirs))
        where = ", ".join(nodes) if len(nodes) <= 3 else f"{nodes[0]} and {len(nodes) - 1} more"
        name = job or theirs[0].task
        yield _overview_row(
            f"goto {theirs[0].seq}", mark, name, f"{count_noun(len(theirs), 'pod')} on {where}{why}", "job", job
        )


# What is odd


def _iter_problem_rows(recording: Recording) -> Iterator[Row]:
    for problem in input_problems(recording):
        where = problem.object or problem.field or problem.file or "input"
        what = f"{problem.what}; {problem.effect}" if problem.effect else problem.what
        yield _overview_row("panel problems", Piece("! problem", "warn"), where, what)


def _iter_quirk_rows(recording: Recording) -> Iterator[Row]:
    for code in dict.fromkeys(note.code for note in recording.notes):
        notes = [note for note in recording.notes if note.code == code]
        times = f" (×{len(notes)})" if len(notes) > 1 else ""
        yield _overview_row(f"goto {notes[0].seq}", Piece("~ quirk", "warn"), code, f"{notes[0].text}{times}")


def _overview_row(command: str, mark: Piece, name: str, words: str, kind: str = "", subject: str = "") -> Row:
    seq = int(command.removeprefix("goto ")) if command.startswith("goto ") else 0
    return Row(command, (mark, Piece(name, "strong"), Piece(words)), seq, (kind, subject) if subject else ("", ""))


# The present event in full, and its arithmetic; before the first step what the whole cycle came to.


def moment_table(recording: Recording, seq: Seq, reason: str) -> Table:
    """Before the first step nothing has been decided yet: what the whole cycle came to is shown."""
    if before_first_step(seq, reason):
        return overview_table(recording)
    from vcdebug.views.event_view import event_view

    return event_view(recording, seq)


def arithmetic_table(recording: Recording, seq: Seq, reason: str) -> Table:
    """Beside the overview it leaves the room to that, and nothing works it out."""
    if before_first_step(seq, reason):
        return Table("Equation", foot=(make_line(muted_piece("no arithmetic before the first step: s")),))
    from vcdebug.views.equation import event_equation

    return event_equation(recording, seq)
