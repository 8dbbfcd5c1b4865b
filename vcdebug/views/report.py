"""The report about one cycle as a document: snapshot, causes of Pending jobs, bookmarks, what the cycle did."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from vcdebug.amount_text import count_noun, format_count
from vcdebug.debugger.notebook import Bookmark
from vcdebug.explain.answer import Explanation, ExplanationStep
from vcdebug.explain.pending.explanation import SurveyedJob, survey_jobs, survey_one
from vcdebug.model.names import Seq
from vcdebug.recording.effects import ActionSummary, Effect, Effects, JobSummary, cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.views.conf import conf_table
from vcdebug.views.document import Block, Code, Document, Listed, Paragraph, Section
from vcdebug.views.equation import event_equation
from vcdebug.views.event_view import event_view
from vcdebug.views.headline import path_words
from vcdebug.views.notebook import event_words
from vcdebug.views.pending import STEP_STATES
from vcdebug.views.pieces import PATH, Line, Piece, make_line, muted_piece
from vcdebug.views.problems import problems_table
from vcdebug.views.statement import statement_at, statement_table
from vcdebug.views.table import Column, Row, Table, plain_columns

ACTION_COLUMNS = plain_columns("action", "events", "commits#", "discards#", "bound#", "pipelined#", "evicted#")
MOVE_COLUMNS = (Column("pod"), Column("node"), Column("by"), Column("event", right=True))
JOB_COLUMNS = plain_columns("job", "queue", "phase", "min#", "pods#", "ready#", "waiting#", "pending#", "outcome")
PROOF_COLUMNS = (Column("event", right=True), Column("what it shows", flexible=True))
STEP_COLUMNS = (Column(""), Column("step"), Column("", flexible=True), Column("event", right=True))
MAX_MOVES = 200
MAX_JOBS = 500
MAX_EXPLAINED = 40
MAX_PROBLEMS = 100


class ReportSubject(NamedTuple):
    """The contents of a report."""

    recording: Recording
    version: str
    """The version of vcdebug."""
    commands: tuple[str, ...]
    """Commands that lead to the same view, the one that opens the recording first."""
    bookmarks: tuple[Bookmark, ...] = ()
    jobs: tuple[str, ...] = ()
    """Jobs or pods to explain; by default all that stay unscheduled."""


def build_report(subject: ReportSubject) -> Document:
    """The report's document; raises NotFoundError for an unknown job or pod."""
    recording = subject.recording
    explained = _explained_jobs(subject)
    done = cycle_effects(recording)
    sections = (
        _why_section(explained, named=bool(subject.jobs)),
        *([_bookmarks_section(subject)] if subject.bookmarks else []),
        _cycle_section(recording, done),
        Section("Quirks and problems", (_shorten_table(_without_title(problems_table(recording)), MAX_PROBLEMS),)),
        Section("Configuration in force", (_without_title(conf_table(recording)),), folded=True),
        Section("See it yourself", tuple(Code(text) for text in subject.commands)),
    )
    name = recording.snapshot.name or "snapshot"
    return Document(f"Scheduling cycle of {name}", tuple(_iter_lead_blocks(subject, explained, done)), sections)


def _explained_jobs(subject: ReportSubject) -> list[SurveyedJob]:
    if not subject.jobs:
        return list(survey_jobs(subject.recording).unscheduled_jobs)
    return [job for word in subject.jobs for job in survey_one(subject.recording, word).explained]


def _without_title(table: Table) -> Table:
    """The table without its title, which the section's heading repeats."""
    return Table("", table.columns, table.rows, table.head, table.foot)


def _shorten_table(table: Table, most: int) -> Table:
    """The first `most` rows, and the number of the others."""
    total = len(table.rows)
    return replace(table, rows=table.rows[:most], foot=(*table.foot, *_more_foot(total, most)))


def _iter_lead_blocks(subject: ReportSubject, explained: Sequence[SurveyedJob], done: Effects) -> Iterator[Block]:
    recording = subject.recording
    if recording.snapshot.description:
        yield Paragraph(make_line(recording.snapshot.description))
    rows = [Row(name, (muted_piece(name), Piece(text))) for name, text in _iter_lead_facts(subject, explained, done)]
    yield Table("", (Column(""), Column("", flexible=True)), rows)


def _iter_lead_facts(
    subject: ReportSubject, explained: Sequence[SurveyedJob], done: Effects
) -> Iterator[tuple[str, str]]:
    recording = subject.recording
    session, snapshot = recording.session, recording.snapshot
    yield "snapshot", snapshot.name or "without a name"
    pods = snapshot.objects_of("Pod")
    sizes = ((session.nodes, "node"), (session.queues, "queue"), (session.jobs, "job"), (pods, "pod"))
    yield "holds", ", ".join(count_noun(len(objects), noun) for objects, noun in sizes)
    yield "clock", snapshot.now.isoformat()
    yield "release", snapshot.release.describe_trust().removeprefix("release ")
    source = "built-in configuration" if recording.conf.built_in else "configuration of the snapshot"
    yield "actions", f"{', '.join(recording.conf.actions)} ({source})"
    for number, tier in enumerate(recording.conf.tiers, start=1):
        yield f"tier {number}", ", ".join(option.name for option in tier)
    parts = ((done.bound, "bound"), (done.pipelined, "pipelined"), (done.evicted, "evicted"))
    yield "outcome", ", ".join(f"{format_count(len(entries))} {word}" for entries, word in parts)
    if not subject.jobs:
        yield "unscheduled", count_noun(len(explained), "job")
    yield "recording", f"{count_noun(len(recording), 'event')}, replayed by vcdebug {subject.version}"


def _why_section(explained: Sequence[SurveyedJob], *, named: bool) -> Section:
    title = "Why" if named else "Why jobs are Pending"
    if not explained:
        return Section(title, (Paragraph(make_line(Piece("✓ no job stays unscheduled", "good"))),))
    shown = [_explanation_section(job.explanation) for job in explained[:MAX_EXPLAINED]]
    rest = len(explained) - len(shown)
    blocks: tuple[Block, ...] = (_causes_table(explained),) if len(explained) > 1 else ()
    if rest:
        blocks = (*blocks, Paragraph(make_line(f"The first {MAX_EXPLAINED} follow in full; --job selects other jobs.")))
    return Section(title, blocks, tuple(shown))


def _causes_table(explained: Sequence[SurveyedJob]) -> Table:
    columns = (Column("job"), Column("queue"), Column("pending", right=True), Column("cause"))
    return Table("", columns, [_cause_row(job) for job in explained])


def _cause_row(job: SurveyedJob) -> Row:
    found = job.explanation
    name = Piece(found.pod or found.job, "strong")
    return Row(found.job, (name, Piece(job.queue), Piece(str(job.pending)), Piece(found.cause_code)))


def _explanation_section(found: Explanation) -> Section:
    verb = "is scheduled" if found.scheduled else "is Pending"
    return Section(f"{found.pod or found.job} {verb}: {found.cause_code}", tuple(_iter_reason_blocks(found)))


def _iter_reason_blocks(found: Explanation) -> Iterator[Block]:
    yield Paragraph(make_line(found.sentence))
    yield from (Paragraph(make_line(fact)) for fact in found.dominant.facts)
    if found.dominant.lines:
        yield Code("\n".join(found.dominant.lines))
    if found.dominant_evidence:
        proofs = enumerate(found.dominant_evidence)
        rows = [Row(str(i), (Piece(str(proof.seq)), Piece(proof.text)), proof.seq) for i, proof in proofs]
        yield Table("Evidence", PROOF_COLUMNS, rows)
    if found.contributing:
        yield Paragraph(make_line(Piece("Other blockers:", "strong")))
        yield Listed(tuple(make_line(Piece(each.cause, "warn"), f": {each.reason}") for each in found.contributing))
    if found.advice_texts:
        yield Paragraph(make_line(Piece("Suggested fixes (not tested):", "strong")))
        yield Listed(tuple(make_line(text) for text in found.advice_texts))
    yield Table("Scheduling steps", STEP_COLUMNS, [_step_row(step) for step in found.steps])


def _step_row(step: ExplanationStep) -> Row:
    seqs = muted_piece(", ".join(map(str, step.seqs)))
    return Row(step.name, (STEP_STATES[step.state], Piece(step.name), Piece(step.text), seqs))


def _bookmarks_section(subject: ReportSubject) -> Section:
    recording = subject.recording
    there = [mark for mark in subject.bookmarks if mark.seq <= len(recording)]
    gone = len(subject.bookmarks) - len(there)
    words = f"{count_noun(gone, 'bookmark')} after the end of this recording: the snapshot or vcdebug has changed."
    blocks = (Paragraph(make_line(Piece(f"! {words}", "warn"))),) if gone else ()
    return Section("Bookmarks", blocks, tuple(_bookmark_section(subject, mark) for mark in there))


def _bookmark_section(subject: ReportSubject, mark: Bookmark) -> Section:
    recording = subject.recording
    where = f" {PATH} ".join(path_words(recording, mark.seq)) or "between actions"
    note = (Paragraph(make_line(mark.note), quoted=True),) if mark.note else ()
    place = Paragraph(make_line(muted_piece(where)))
    title = f"Event {format_count(mark.seq)}: {event_words(recording, mark.seq)}"
    return Section(title, (*note, place, *iter_event_tables(recording, mark.seq)))


def iter_event_tables(recording: Recording, seq: Seq) -> Iterator[Table]:
    """The tables about an event: its view, its arithmetic, the open statement."""
    yield event_view(recording, seq)
    arithmetic = event_equation(recording, seq)
    if arithmetic.rows:
        yield arithmetic
    if statement_at(recording, seq) is not None:
        yield statement_table(recording, seq)


def _cycle_section(recording: Recording, done: Effects) -> Section:
    blocks: list[Block] = [Table("Actions", ACTION_COLUMNS, [_action_row(action) for action in done.actions])]
    if done.panic is not None:
        words = f"✗ the real scheduler panics at event {len(recording)}: {done.panic}"
        blocks.insert(0, Paragraph(make_line(Piece(words, "bad"))))
    for title, entries in (
        ("Bound", done.bound),
        ("Pipelined: reserved, waiting for pods there to terminate", done.pipelined),
        ("Placed, but not bound: its gang is not complete", done.held),
        ("Evicted", done.evicted),
    ):
        if entries:
            rows = [_move_row(entry) for entry in entries[:MAX_MOVES]]
            blocks.append(Table(title, MOVE_COLUMNS, rows, foot=_more_foot(len(entries), MAX_MOVES)))
    jobs = [_job_row(job) for job in done.jobs[:MAX_JOBS]]
    blocks.append(Table("Jobs after the cycle", JOB_COLUMNS, jobs, foot=_more_foot(len(done.jobs), MAX_JOBS)))
    return Section("What the cycle did", tuple(blocks))


def _more_foot(total: int, most: int) -> tuple[Line, ...]:
    return (make_line(muted_piece(f"and {format_count(total - most)} more")),) if total > most else ()


def _action_row(done: ActionSummary) -> Row:
    counts = (done.commits, done.discards, done.bound, done.pipelined, done.evicted)
    events = Piece(f"{done.first}–{done.last}")
    cells = (Piece(done.action, "strong"), events, *(Piece(str(number)) for number in counts))
    return Row(f"{done.action} {done.first}", cells, done.first)


def _move_row(entry: Effect) -> Row:
    cells = (Piece(entry.task), Piece(entry.node), Piece(entry.action), Piece(str(entry.seq)))
    return Row(f"{entry.seq} {entry.task}", cells, entry.seq)


def _job_row(job: JobSummary) -> Row:
    counts = (job.min_available, job.tasks, job.ready, job.waiting, job.pending)
    cells = (Piece(job.job), Piece(job.queue), Piece(job.phase or "–"), *(Piece(str(number)) for number in counts))
    return Row(job.job, (*cells, Piece(job.outcome)))
