"""A report about one cycle, to hand on: what the snapshot is, what happened, why jobs wait, what somebody noted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from vcdebug.amount_text import grouped, plural
from vcdebug.causes.survey import Surveyed, survey, survey_one
from vcdebug.debugger.bookmark import Bookmark
from vcdebug.explain.answer import Explanation
from vcdebug.model.names import Seq
from vcdebug.trace.effects import ActionSummary, Effect, Effects, JobSummary, effects
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Line, Piece, Row, Table, line, muted, plain_columns
from vcdebug.views.bookmarks import happened
from vcdebug.views.conf import conf
from vcdebug.views.document import Block, Code, Document, Listed, Paragraph, Section
from vcdebug.views.equation import equation
from vcdebug.views.event_view import event_view
from vcdebug.views.names import path_words
from vcdebug.views.pending import STATES
from vcdebug.views.problems import problems
from vcdebug.views.statement import statement, statement_at

ACTION_COLUMNS = plain_columns("action", "events", "commits#", "discards#", "bound#", "pipelined#", "evicted#")
MOVE_COLUMNS = (Column("pod"), Column("node"), Column("by"), Column("event", right=True))
JOB_COLUMNS = plain_columns("job", "queue", "phase", "min#", "pods#", "ready#", "waiting#", "pending#", "outcome")
PROOF_COLUMNS = (Column("event", right=True), Column("what it shows", flexible=True))
STEP_COLUMNS = (Column(""), Column("step"), Column("", flexible=True), Column("event", right=True))
MOST_MOVES = 200
MOST_JOBS = 500
MOST_EXPLAINED = 40
MOST_PROBLEMS = 100


class Subject(NamedTuple):
    """What a report is about."""

    recording: Recording
    version: str
    """Of the program that writes it."""
    commands: tuple[str, ...]
    """Command lines that show the same again, the one that opens the recording first."""
    bookmarks: tuple[Bookmark, ...] = ()
    jobs: tuple[str, ...] = ()
    """Jobs or pods to explain; without any, all that stay unscheduled."""


def report(subject: Subject) -> Document:
    """The whole of it; raises NotFoundError for a job that nothing is called."""
    recording = subject.recording
    explained = _explained(subject)
    done = effects(recording)
    sections = (
        _why(explained, named=bool(subject.jobs)),
        *([_bookmarks(subject)] if subject.bookmarks else []),
        _cycle(recording, done),
        Section("Quirks and problems", (_shortened(_headless(problems(recording)), MOST_PROBLEMS),)),
        Section("Configuration in force", (_headless(conf(recording)),), folded=True),
        Section("See it yourself", tuple(Code(text) for text in subject.commands)),
    )
    name = recording.snapshot.name or "snapshot"
    return Document(f"Scheduling cycle of {name}", tuple(_lead(subject, explained, done)), sections)


def _explained(subject: Subject) -> list[Surveyed]:
    if not subject.jobs:
        return list(survey(subject.recording).unscheduled)
    return [one for word in subject.jobs for one in survey_one(subject.recording, word).explained]


def _headless(table: Table) -> Table:
    """The table without its title, for a place below a heading that says it."""
    return Table("", table.columns, table.rows, table.head, table.foot)


def _shortened(table: Table, most: int) -> Table:
    """So many rows, and how many more there are."""
    total = len(table.rows)
    return replace(table, rows=table.rows[:most], foot=(*table.foot, *_more(total, most)))


# What it is


def _lead(subject: Subject, explained: Sequence[Surveyed], done: Effects) -> Iterator[Block]:
    recording = subject.recording
    if recording.snapshot.description:
        yield Paragraph(line(recording.snapshot.description))
    rows = [Row(name, (muted(name), Piece(text))) for name, text in _facts(subject, explained, done)]
    yield Table("", (Column(""), Column("", flexible=True)), rows)


def _facts(subject: Subject, explained: Sequence[Surveyed], done: Effects) -> Iterator[tuple[str, str]]:
    recording = subject.recording
    session, snapshot = recording.session, recording.snapshot
    yield "snapshot", snapshot.name or "without a name"
    sizes = ((len(session.nodes), "node"), (len(session.queues), "queue"), (len(session.jobs), "job"))
    yield "holds", ", ".join(plural(number, noun) for number, noun in (*sizes, (len(snapshot.of("Pod")), "pod")))
    yield "clock", snapshot.now.isoformat()
    yield "release", snapshot.release.rules()
    source = "built-in configuration" if recording.conf.built_in else "configuration of the snapshot"
    yield "actions", f"{', '.join(recording.conf.actions)} ({source})"
    for number, tier in enumerate(recording.conf.tiers, start=1):
        yield f"tier {number}", ", ".join(option.name for option in tier)
    parts = ((done.bound, "bound"), (done.pipelined, "pipelined"), (done.evicted, "evicted"))
    yield "outcome", ", ".join(f"{grouped(len(entries))} {word}" for entries, word in parts)
    if not subject.jobs:
        yield "unscheduled", plural(len(explained), "job")
    yield "recording", f"{plural(len(recording), 'event')}, replayed by vcdebug {subject.version}"


# Why


def _why(explained: Sequence[Surveyed], *, named: bool) -> Section:
    title = "Why" if named else "Why jobs wait"
    if not explained:
        return Section(title, (Paragraph(line(Piece("✓ no job stays unscheduled", "good"))),))
    shown = [_explanation(one.explanation) for one in explained[:MOST_EXPLAINED]]
    rest = len(explained) - len(shown)
    blocks: tuple[Block, ...] = (_causes(explained),) if len(explained) > 1 else ()
    if rest:
        blocks = (*blocks, Paragraph(line(f"The first {MOST_EXPLAINED} follow in full; --job chooses others.")))
    return Section(title, blocks, tuple(shown))


def _causes(explained: Sequence[Surveyed]) -> Table:
    columns = (Column("job"), Column("queue"), Column("pending", right=True), Column("cause"))
    rows = [
        Row(
            one.explanation.job,
            (
                Piece(one.explanation.pod or one.explanation.job, "strong"),
                Piece(one.queue),
                Piece(str(one.pending)),
                Piece(one.explanation.cause),
            ),
        )
        for one in explained
    ]
    return Table("", columns, rows)


def _explanation(found: Explanation) -> Section:
    verb = "got in" if found.scheduled else "waits"
    return Section(f"{found.pod or found.job} {verb}: {found.cause}", tuple(_reasons(found)))


def _reasons(found: Explanation) -> Iterator[Block]:
    yield Paragraph(line(found.sentence))
    if found.dominant.lines:
        yield Code("\n".join(found.dominant.lines))
    if found.evidence:
        rows = [Row(str(i), (Piece(str(one.seq)), Piece(one.text)), one.seq) for i, one in enumerate(found.evidence)]
        yield Table("Proof", PROOF_COLUMNS, rows)
    if found.contributing:
        yield Paragraph(line(Piece("Also in the way:", "strong")))
        yield Listed(tuple(line(Piece(one.cause, "warn"), f": {one.sentence}") for one in found.contributing))
    if found.advice:
        yield Paragraph(line(Piece("What would help:", "strong")))
        yield Listed(tuple(line(text) for text in found.advice))
    rows = [
        Row(step.name, (STATES[step.state], Piece(step.name), Piece(step.text), muted(", ".join(map(str, step.seqs)))))
        for step in found.steps
    ]
    yield Table("The way through the cycle", STEP_COLUMNS, rows)


# Bookmarks


def _bookmarks(subject: Subject) -> Section:
    recording = subject.recording
    there = [mark for mark in subject.bookmarks if mark.seq <= len(recording)]
    gone = len(subject.bookmarks) - len(there)
    words = f"{plural(gone, 'bookmark')} beyond the end of this recording: the snapshot or vcdebug has changed."
    blocks = (Paragraph(line(Piece(f"! {words}", "warn"))),) if gone else ()
    return Section("Bookmarks", blocks, tuple(_bookmark(subject, mark) for mark in there))


def _bookmark(subject: Subject, mark: Bookmark) -> Section:
    recording = subject.recording
    where = " ▸ ".join(path_words(recording, mark.seq)) or "between actions"
    note = (Paragraph(line(mark.note), quoted=True),) if mark.note else ()
    place = Paragraph(line(muted(where)))
    title = f"Event {grouped(mark.seq)}: {happened(recording, mark.seq)}"
    return Section(title, (*note, place, *panels(recording, mark.seq)))


def panels(recording: Recording, seq: Seq) -> Iterator[Table]:
    """What the screen shows around an event: the event itself, its arithmetic, the open statement."""
    yield event_view(recording, seq)
    arithmetic = equation(recording, seq)
    if arithmetic.rows:
        yield arithmetic
    if statement_at(recording, seq) is not None:
        yield statement(recording, seq)


# The cycle


def _cycle(recording: Recording, done: Effects) -> Section:
    blocks: list[Block] = [Table("Actions", ACTION_COLUMNS, [_action_row(one) for one in done.actions])]
    if done.panic is not None:
        words = f"✗ the real scheduler panics at event {len(recording)}: {done.panic}"
        blocks.insert(0, Paragraph(line(Piece(words, "bad"))))
    for title, entries in (
        ("Bound", done.bound),
        ("Pipelined: waits for room that is being released", done.pipelined),
        ("Placed, but not bound: its gang is not complete", done.held),
        ("Evicted", done.evicted),
    ):
        if entries:
            rows = [_move_row(entry) for entry in entries[:MOST_MOVES]]
            blocks.append(Table(title, MOVE_COLUMNS, rows, foot=_more(len(entries), MOST_MOVES)))
    jobs = [_job_row(job) for job in done.jobs[:MOST_JOBS]]
    blocks.append(Table("Jobs after the cycle", JOB_COLUMNS, jobs, foot=_more(len(done.jobs), MOST_JOBS)))
    return Section("What the cycle did", tuple(blocks))


def _more(total: int, most: int) -> tuple[Line, ...]:
    return (line(muted(f"and {grouped(total - most)} more")),) if total > most else ()


def _action_row(one: ActionSummary) -> Row:
    counts = (one.commits, one.discards, one.bound, one.pipelined, one.evicted)
    cells = (Piece(one.action, "strong"), Piece(f"{one.first}–{one.last}"), *(Piece(str(number)) for number in counts))
    return Row(f"{one.action} {one.first}", cells, one.first)


def _move_row(entry: Effect) -> Row:
    cells = (Piece(entry.task), Piece(entry.node), Piece(entry.action), Piece(str(entry.seq)))
    return Row(f"{entry.seq} {entry.task}", cells, entry.seq)


def _job_row(job: JobSummary) -> Row:
    counts = (job.min_available, job.tasks, job.ready, job.waiting, job.pending)
    cells = (Piece(job.job), Piece(job.queue), Piece(job.phase or "–"), *(Piece(str(number)) for number in counts))
    return Row(job.job, (*cells, Piece(job.outcome)))
