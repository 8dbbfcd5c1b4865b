"""The cycle's outcome on one page: who waits and why, who was evicted for whom, what was placed, what is odd."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import grouped, plural
from vcdebug.explain.evictions import Eviction, not_discarded
from vcdebug.framework.record import CloseEvent
from vcdebug.grouping import by_key
from vcdebug.model.names import JobId, Seq
from vcdebug.trace.effects import Effect, effects
from vcdebug.trace.input_problems import input_problems
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.views.base import NO, YES, Column, Line, Piece, Row, Table, line, muted
from vcdebug.views.names import bare

if TYPE_CHECKING:
    from vcdebug.causes.survey import Surveyed

COLUMNS: Final = (Column(""), Column("", name=True), Column("", flexible=True, least=24))
START: Final = "start"
"""The reason of a first position, as the debugger says it."""
MOST: Final = 8
"""Rows of a group; the rest is a line that leads to the list."""
EXPLAINED: Final = 20_000
"""Events up to which every job that waits is explained at once; above, its own condition says why."""


@per_recording()
def overview(recording: Recording) -> Table:
    """The key of each row is the command that goes into it."""
    rows = [
        *_few([*waiting_rows(recording)], "waiting", "all that wait"),
        *_few([*_evicted(recording)], "panel evictions", "all evictions"),
        *_few([*_placed(recording)], "panel effects", "all that was placed"),
        *_few([*_problems(recording)], "panel problems", "all problems"),
        *_few([*_quirks(recording)], "panel quirks", "all quirks"),
    ]
    return Table(f"Overview of {recording.snapshot.name or 'the cycle'}", COLUMNS, rows, head=_head(recording))


def before_first_step(seq: Seq, reason: str) -> bool:
    """Whether nobody has gone anywhere yet, so that the cycle as a whole is shown."""
    return seq == 1 and reason == START


def is_overview(table: Table) -> bool:
    """Whether the keys of its rows are commands."""
    return table.columns is COLUMNS


def _head(recording: Recording) -> tuple[Line, ...]:
    snapshot, session, done = recording.snapshot, recording.session, effects(recording)
    sizes = ", ".join(
        plural(number, noun)
        for number, noun in ((len(session.nodes), "node"), (len(session.jobs), "job"), (len(snapshot.of("Pod")), "pod"))
    )
    release = snapshot.release
    stated = "newest rules, no release stated" if release.assumed else release.text()
    counts = ((done.bound, "bound"), (done.pipelined, "pipelined"), (done.held, "held"), (done.evicted, "evicted"))
    came = (
        ", ".join(f"{grouped(len(entries))} {word}" for entries, word in counts if entries)
        or "nothing placed, nobody evicted"
    )
    panic = (line(Piece(f"{NO} the real scheduler panics: {done.panic}", "bad")),) if done.panic is not None else ()
    return (
        line(sizes, muted(f"   {stated}   clock {snapshot.now:%Y-%m-%d %H:%M:%S}")),
        *panic,
        line(Piece(came, "strong"), muted(f"   by {' → '.join(recording.conf.actions)}")),
        line(""),
    )


def _few(rows: list[Row], command: str, what: str) -> Iterator[Row]:
    yield from rows[:MOST]
    if len(rows) > MOST:
        yield Row(command, (muted("…"), muted(f"{len(rows) - MOST} more"), muted(what)))


# Waiting


def waiting_rows(recording: Recording) -> Iterator[Row]:
    """Every job or pod that waits when the cycle ends, with its cause in a line."""
    if len(recording) <= EXPLAINED:
        yield from map(_explained, _survey(recording))
    else:
        yield from _by_condition(recording)


def _survey(recording: Recording) -> list[Surveyed]:
    from vcdebug.causes.survey import survey

    found = survey(recording)
    return [*found.unscheduled, *found.partly]


def _explained(one: Surveyed) -> Row:
    found = one.explanation
    name, mark = found.pod or found.job, Piece(f"{NO} waits", "bad")
    if found.scheduled:
        mark = Piece("◔ in part", "warn")
    pending = f"{plural(one.pending, 'pod')}: " if one.pending else ""
    return _row(f"explain {name}", mark, name, f"{pending}{one.finding.sentence}", "job", found.job)


def _by_condition(recording: Recording) -> Iterator[Row]:
    """What the scheduler itself writes about the job: explaining thousands would take seconds."""
    last = next((recording.event(seq) for seq in recording.index.of_type(CloseEvent)), None)
    for one in effects(recording).jobs:
        if one.pending:
            said = _message(last, one.job) if isinstance(last, CloseEvent) else ""
            words = f"{plural(one.pending, 'pod')}: {said or 'Enter explains it'}"
            yield _row(f"explain {one.job}", Piece(f"{NO} waits", "bad"), one.job, words, "job", one.job)


def _message(event: CloseEvent, uid: JobId) -> str:
    job = event.jobs.get(uid)
    if job is None:
        return ""
    bad = next((one.message for one in job.conditions if one.type == "Unschedulable" and one.status == "True"), "")
    return bad or job.fit_error


# What was done


def _evicted(recording: Recording) -> Iterator[Row]:
    for each in not_discarded(recording):
        yield _row(f"goto {each.seq}", Piece("○ evicted", "warn"), each.victim, _for_whom(each), "task", each.victim)


def _for_whom(each: Eviction) -> str:
    asker = f"for {bare(each.preemptor)}" if each.preemptor else "for nobody: it should go anyway"
    return f"{asker}, by {each.action} on {each.node}"


def _placed(recording: Recording) -> Iterator[Row]:
    done = effects(recording)
    yield from _by_job(done.bound, Piece(f"{YES} bound", "good"))
    yield from _by_job(done.pipelined, Piece("◔ pipelined", "warn"), ": waits for room that is being released")
    yield from _by_job(done.held, Piece("◌ held", "warn"), ": its gang is not complete")


def _by_job(moved: Iterable[Effect], mark: Piece, why: str = "") -> Iterator[Row]:
    for job, theirs in by_key((one.job, one) for one in moved).items():
        nodes = list(dict.fromkeys(one.node for one in theirs))
        where = ", ".join(nodes) if len(nodes) <= 3 else f"{nodes[0]} and {len(nodes) - 1} more"
        name = job or theirs[0].task
        yield _row(f"goto {theirs[0].seq}", mark, name, f"{plural(len(theirs), 'pod')} on {where}{why}", "job", job)


# What is odd


def _problems(recording: Recording) -> Iterator[Row]:
    for problem in input_problems(recording):
        where = problem.object or problem.field or problem.file or "input"
        what = f"{problem.what}; {problem.effect}" if problem.effect else problem.what
        yield _row("panel problems", Piece("! problem", "warn"), where, what)


def _quirks(recording: Recording) -> Iterator[Row]:
    for code in dict.fromkeys(note.code for note in recording.notes):
        notes = [note for note in recording.notes if note.code == code]
        times = f" (×{len(notes)})" if len(notes) > 1 else ""
        yield _row(f"goto {notes[0].seq}", Piece("~ quirk", "warn"), code, f"{notes[0].text}{times}")


def _row(command: str, mark: Piece, name: str, words: str, kind: str = "", subject: str = "") -> Row:
    seq = int(command.removeprefix("goto ")) if command.startswith("goto ") else 0
    return Row(command, (mark, Piece(name, "strong"), Piece(words)), seq, (kind, subject) if subject else ("", ""))
