"""Two recordings side by side: changed jobs, tasks and queues, and the votes where they part."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.amount_text import count_noun, format_resource
from vcdebug.comparison.cycles import (
    CycleComparison,
    Divergence,
    DivergenceSide,
    JobChange,
    QueueChange,
    TaskChange,
    TaskOutcome,
)
from vcdebug.explain.decisions.votes import HookCallGroup, PluginAnswer
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.framework.record import HookEvent
from vcdebug.recording.effects import JobSummary
from vcdebug.recording.recording import Recording
from vcdebug.views.headline import answer_piece, event_headline, placing_words
from vcdebug.views.short_names import path_words, task_list_or
from vcdebug.views.table import Column, Line, Piece, Row, Style, Table, make_line, muted_piece
from vcdebug.views.votes import asked_about, outcome_words

ABSENT_TEXT = "not there"
JOB_COLUMNS = (Column("job", name=True), Column("queue"), Column("before"), Column("after"))
TASK_COLUMNS = (Column("pod", name=True), Column("before", flexible=True), Column("after", flexible=True))
QUEUE_COLUMNS = (Column("queue"), Column("plugin"), Column("before", flexible=True), Column("after", flexible=True))
VOTE_COLUMNS = (Column("tier"), Column("plugin"), Column("before", flexible=True), Column("after", flexible=True))
DIFFERENCE_COLUMNS = (Column("field", flexible=True), Column("before", flexible=True), Column("after", flexible=True))
QuestionPair = tuple[HookCallGroup | None, HookCallGroup | None]
GOOD_OUTCOMES = ("bound", "running", "pipelined", "done")


def iter_change_tables(found: CycleComparison) -> Iterator[Table]:
    """The changed decisions; a table without rows is left out."""
    if found.jobs:
        yield Table("jobs", JOB_COLUMNS, [_job_row(change) for change in found.jobs])
    if found.tasks:
        yield Table("pods", TASK_COLUMNS, [_task_row(change) for change in found.tasks])
    if found.queues:
        yield Table("deserved", QUEUE_COLUMNS, [_queue_row(change) for change in found.queues])


def summarize_comparison(found: CycleComparison) -> str:
    """How much differs, in one line."""
    if found.panics[0] != found.panics[1]:
        return "one of the two panics"
    if not found.has_same_decisions:
        counts = ((found.jobs, "job"), (found.tasks, "pod"), (found.queues, "queue"))
        return "different: " + ", ".join(count_noun(len(changed), noun) for changed, noun in counts if changed)
    if found.divergence is None:
        return "the same events, the same decisions"
    return "the same decisions, on different grounds"


def _job_row(change: JobChange) -> Row:
    either = change.after or change.before
    queue = either.queue if either else ""
    if change.before and change.after and change.before.queue != change.after.queue:
        queue = f"{change.before.queue} → {change.after.queue}"
    cells = (Piece(change.job), Piece(queue), job_cell(change.before), job_cell(change.after))
    return Row(change.job, cells, subject=("job", change.job))


def job_cell(summary: JobSummary | None) -> Piece:
    """How a job fared."""
    if summary is None:
        return muted_piece(ABSENT_TEXT)
    have = summary.ready + summary.waiting
    style: Style = "good" if summary.outcome in GOOD_OUTCOMES else "bad"
    return Piece(f"{summary.outcome}, {summary.phase or 'no phase'}, {have}/{summary.min_available}", style)


def _task_row(change: TaskChange) -> Row:
    return Row(
        change.task,
        (Piece(change.task), task_cell(change.before), task_cell(change.after)),
        subject=("task", change.task),
    )


def task_cell(outcome: TaskOutcome | None) -> Piece:
    """What became of a pod."""
    if outcome is None:
        return muted_piece(ABSENT_TEXT)
    words = outcome.status.upstream_name + (f" on {outcome.node}" if outcome.node else "")
    return Piece(f"{words}, evicted", "bad") if outcome.evicted else Piece(words)


def _queue_row(change: QueueChange) -> Row:
    cells = (Piece(change.queue), Piece(change.plugin), *queue_cells(change))
    return Row(f"{change.queue} {change.plugin}", cells, subject=("queue", change.queue))


def queue_cells(change: QueueChange) -> tuple[Piece, Piece]:
    """What a queue deserves on either side."""
    before, after = (
        format_resource(side) if side is not None else ABSENT_TEXT for side in (change.before, change.after)
    )
    return Piece(before), Piece(after)


def iter_divergence_tables(found: Divergence, title: str, before: Recording, after: Recording) -> Iterator[Table]:
    """Where two recordings part: what either does there, and what the plugins said."""
    sides = ((before, found.before), (after, found.after))
    head = tuple(
        _side_line(word, recording, side) for word, (recording, side) in zip(("before", "after "), sides, strict=True)
    )
    yield Table(title, head=head)
    questions = question_of(found.before), question_of(found.after)
    if any(questions):
        yield _votes_table(questions, before, after)
    elif found.differences:
        rows = [
            Row(one.field, (Piece(one.field), Piece(placing_words(one.before)), Piece(placing_words(one.after))))
            for one in found.differences
        ]
        yield Table("what differs", DIFFERENCE_COLUMNS, rows)


def question_of(side: DivergenceSide | None) -> HookCallGroup | None:
    """What is asked there."""
    return side.question if side is not None else None


def _side_line(word: str, recording: Recording, side: DivergenceSide | None) -> Line:
    if side is None:
        return make_line(f"{word}  nothing more of this kind")
    what = event_headline(side.event)
    where = " > ".join(path_words(recording, side.seq)) or "cycle"
    return make_line(
        f"{word}  ", f"event {side.seq}  ", muted_piece(where), "  ", Piece(what.what, "strong"), "  ", what.outcome
    )


def side_cell(side: DivergenceSide | None) -> Piece:
    """What happens at one side's event."""
    if side is None:
        return muted_piece("nothing more of this kind")
    what = event_headline(side.event)
    return Piece(f"{what.what}  {what.outcome.text}".rstrip(), what.outcome.style)


def iter_answer_cells(
    questions: QuestionPair, sides: tuple[Recording, Recording]
) -> Iterator[tuple[str, Piece, Piece]]:
    """(tier and plugin, its say on either side), where both sides ask the same; else whatever either asks."""
    for (tier, plugin), cells in _collect_answers(questions, sides):
        yield f"tier {tier} {plugin}", cells[0], cells[1]


def _collect_answers(
    questions: QuestionPair, sides: tuple[Recording, Recording]
) -> list[tuple[tuple[int, str], list[Piece]]]:
    seats: dict[tuple[int, str], list[Piece]] = {}
    for column, (asked, recording) in enumerate(zip(questions, sides, strict=True)):
        for seat in asked.seats if asked is not None else ():
            cells = seats.setdefault((seat.tier, seat.plugin), [muted_piece("–"), muted_piece("–")])
            cells[column] = _answer_cell(recording, seat)
    return [(place, seats[place]) for place in sorted(seats, key=_tier_of)]


def _votes_table(questions: QuestionPair, before: Recording, after: Recording) -> Table:
    """One question in two columns."""
    rows = [
        Row(f"{tier} {plugin}", (Piece(str(tier)), Piece(plugin), *cells))
        for (tier, plugin), cells in _collect_answers(questions, (before, after))
    ]
    titles = [
        _asked_title(recording, asked) for asked, recording in zip(questions, (before, after), strict=True) if asked
    ]
    title = " / ".join(dict.fromkeys(titles))
    outcome = tuple(outcome_cell(asked) for asked in questions)
    rows.append(Row("outcome", (Piece(""), Piece("→"), *outcome)))
    return Table(f"votes: {title}", VOTE_COLUMNS, rows)


def _tier_of(place: tuple[int, str]) -> int:
    """Plugins of one tier stay in the order of the configuration."""
    return place[0]


def _asked_title(recording: Recording, asked: HookCallGroup) -> str:
    event = recording.event_at(asked.first)
    return f"{asked.point} {asked_about(event)}".strip() if isinstance(event, HookEvent) else asked.point


def _answer_cell(recording: Recording, seat: PluginAnswer) -> Piece:
    event = recording.event_at(seat.seq) if seat.seq is not None else None
    if seat.seq is None or not isinstance(event, HookEvent):
        return muted_piece(f"{seat.state}: {seat.why}")
    said = answer_piece(event)
    forced = any(note.code == FORCED_CODE for note in recording.notes_at(seat.seq))
    return said._replace(text=f"{said.text} (forced)") if forced else said


def outcome_cell(asked: HookCallGroup | None) -> Piece:
    """What the votes came to."""
    if asked is None:
        return Piece("–", "strong")
    if isinstance(asked.outcome, tuple):
        return Piece(task_list_or([str(name) for name in asked.outcome], "nobody"), "strong")
    return Piece(outcome_words(asked)[1], "strong")
