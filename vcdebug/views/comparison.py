"""Two recordings side by side: changed jobs, pods, queues, the first difference; original and branch; cycles."""

import shlex
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter

from vcdebug.amount_text import count_noun, format_resource
from vcdebug.comparison import cycles
from vcdebug.comparison.cycles import CaptureChanges, TaskOutcome, compare_captures
from vcdebug.debugger.commands.cycles import describe_repeat
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.figures import format_figure, iter_changed_figures
from vcdebug.explain.decisions.votes import HookCallGroup, PluginAnswer
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.framework.record import HookEvent, OpEvent, StateEvent
from vcdebug.model.names import JobId, Seq
from vcdebug.model.resource import Resource
from vcdebug.recording.effects import INCOMPLETE, REFUSED, Effects, JobSummary, cycle_effects
from vcdebug.recording.event_index import Seqs
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.headline import answer_piece, event_headline, path_words, placing_words, task_list_or
from vcdebug.views.pieces import GANG_SIGNS, Line, Piece, Style, draw_bar, make_line, muted_lines, muted_piece
from vcdebug.views.table import Column, Row, Table, empty_table, table_columns
from vcdebug.views.votes import outcome_words, subject_text
from vcdebug.whatif.branch import BRANCH, ORIGINAL, OpenRecordings
from vcdebug.whatif.cycles import CycleRepeat, find_repeat

ABSENT_TEXT = "not there"
JOB_COLUMNS = table_columns("job@", "queue", "before", "after")
TASK_COLUMNS = table_columns("pod@", "before~", "after~")
QUEUE_COLUMNS = table_columns("queue", "plugin", "before~", "after~")
VOTE_COLUMNS = table_columns("tier", "plugin", "before~", "after~")
DIFFERENCE_COLUMNS = table_columns("field~", "before~", "after~")
QuestionPair = tuple[HookCallGroup | None, HookCallGroup | None]
GOOD_OUTCOMES = ("bound", "running", "pipelined", "done")


def iter_change_tables(comparison: cycles.CycleComparison) -> Iterator[Table]:
    """Tables of changed jobs, pods and queues; those without rows are left out."""
    if comparison.jobs:
        yield Table("jobs", JOB_COLUMNS, [_job_row(change) for change in comparison.jobs])
    if comparison.tasks:
        rows = [_change_row("task", (name,), _task_cell(old), _task_cell(new)) for name, old, new in comparison.tasks]
        yield Table("pods", TASK_COLUMNS, rows)
    if comparison.queues:
        rows = [
            _change_row("queue", (queue, plugin), _amount_cell(old), _amount_cell(new))
            for (plugin, queue), old, new in comparison.queues
        ]
        yield Table("deserved", QUEUE_COLUMNS, rows)


def summarize_comparison(comparison: cycles.CycleComparison) -> str:
    """The differences in one line: how many jobs, pods and queues."""
    if comparison.panics[0] != comparison.panics[1]:
        return "one of the two panics"
    if not comparison.has_same_decisions:
        return f"different: {comparison.change_counts}"
    if comparison.divergence is None:
        return "the same events, the same decisions"
    return "the same decisions, on different grounds"


def _job_row(change: cycles.ChangedState[JobId, JobSummary]) -> Row:
    queues = dict.fromkeys(side.queue for side in (change.before, change.after) if side is not None)
    cells = (Piece(change.name), Piece(" → ".join(queues)), _job_cell(change.before), _job_cell(change.after))
    return Row(change.name, cells, subject=("job", change.name))


def _change_row(kind: str, names: tuple[str, ...], before: Piece, after: Piece) -> Row:
    return Row(" ".join(names), (*map(Piece, names), before, after), subject=(kind, names[0]))


def _job_cell(summary: JobSummary | None) -> Piece:
    """The outcome, phase and number of placed pods of a job."""
    if summary is None:
        return muted_piece(ABSENT_TEXT)
    present = summary.ready + summary.waiting
    style: Style = "good" if summary.outcome in GOOD_OUTCOMES else "bad"
    return Piece(f"{summary.outcome}, {summary.phase or 'no phase'}, {present}/{summary.min_available}", style)


def _task_cell(outcome: cycles.TaskOutcome | None) -> Piece:
    """The status and node of a pod, and whether it was evicted."""
    if outcome is None:
        return muted_piece(ABSENT_TEXT)
    words = outcome.status.upstream_name + (f" on {outcome.node}" if outcome.node else "")
    return Piece(f"{words}, evicted", "bad") if outcome.evicted else Piece(words)


def _amount_cell(amount: Resource | None) -> Piece:
    return Piece(ABSENT_TEXT if amount is None else format_resource(amount))


def iter_divergence_tables(
    divergence: cycles.Divergence, title: str, before: Recording, after: Recording
) -> Iterator[Table]:
    """Tables of the first difference of two recordings: both events, then the answers or the differing fields."""
    sides = ((before, divergence.before), (after, divergence.after))
    side_lines = tuple(
        _side_line(word, recording, side) for word, (recording, side) in zip(("before", "after "), sides, strict=True)
    )
    yield Table(title, header=side_lines)
    questions = question_of(divergence.before), question_of(divergence.after)
    if any(questions):
        yield _votes_table(questions, before, after)
    elif divergence.differences:
        yield Table(
            "what differs", DIFFERENCE_COLUMNS, [_difference_row(difference) for difference in divergence.differences]
        )


def _difference_row(difference: cycles.ValueDifference) -> Row:
    cells = (difference.field, placing_words(difference.before), placing_words(difference.after))
    return Row(difference.field, tuple(map(Piece, cells)))


def question_of(side: cycles.DivergenceSide | None) -> HookCallGroup | None:
    """The hook call at a side's event; None without one."""
    return side.question if side is not None else None


def _side_line(word: str, recording: Recording, side: cycles.DivergenceSide | None) -> Line:
    if side is None:
        return make_line(f"{word}  nothing more of this kind")
    headline = event_headline(recording, side.seq)
    location = " > ".join(path_words(recording, side.seq)) or "cycle"
    return make_line(
        f"{word}  ",
        f"event {side.seq}  ",
        muted_piece(location),
        "  ",
        Piece(headline.event_text, "strong"),
        "  ",
        headline.outcome,
    )


def side_cell(recording: Recording, side: cycles.DivergenceSide | None) -> Piece:
    """The event of one side in words; a note if that side has no such event."""
    if side is None:
        return muted_piece("nothing more of this kind")
    headline = event_headline(recording, side.seq)
    return Piece(f"{headline.event_text}  {headline.outcome.text}".rstrip(), headline.outcome.style)


def _collect_answers(
    questions: QuestionPair, sides: tuple[Recording, Recording]
) -> list[tuple[tuple[int, str], list[Piece]]]:
    votes: dict[tuple[int, str], list[Piece]] = {}
    for column, (call, recording) in enumerate(zip(questions, sides, strict=True)):
        for vote in call.votes if call is not None else ():
            cells = votes.setdefault((vote.tier, vote.plugin), [muted_piece("–"), muted_piece("–")])
            cells[column] = _answer_cell(recording, vote)
    # By tier alone: plugins of one tier stay in the order of the configuration.
    return [(place, votes[place]) for place in sorted(votes, key=itemgetter(0))]


def _votes_table(questions: QuestionPair, before: Recording, after: Recording) -> Table:
    """One hook call with the answers of both recordings side by side."""
    rows = [
        Row(f"{tier} {plugin}", (Piece(str(tier)), Piece(plugin), *cells))
        for (tier, plugin), cells in _collect_answers(questions, (before, after))
    ]
    titles = [_asked_title(recording, call) for call, recording in zip(questions, (before, after), strict=True) if call]
    title = " / ".join(dict.fromkeys(titles))
    outcome = tuple(outcome_cell(call) for call in questions)
    rows.append(Row("outcome", (Piece(""), Piece("→"), *outcome)))
    return Table(f"votes: {title}", VOTE_COLUMNS, rows)


def _asked_title(recording: Recording, call: HookCallGroup) -> str:
    event = recording.event_at(call.first_seq)
    return f"{call.point} {subject_text(event)}".strip() if isinstance(event, HookEvent) else call.point


def _answer_cell(recording: Recording, vote: PluginAnswer) -> Piece:
    event = recording.event_at(vote.seq) if vote.seq is not None else None
    if vote.seq is None or not isinstance(event, HookEvent):
        return muted_piece(f"{vote.state}: {vote.silence_reason}")
    cell = answer_piece(event)
    forced = any(note.code == FORCED_CODE for note in recording.notes_at(vote.seq))
    return cell._replace(text=f"{cell.text} (forced)") if forced else cell


def outcome_cell(call: HookCallGroup | None) -> Piece:
    """The combined answer of a hook call; `–` without one."""
    if call is None:
        return Piece("–", "strong")
    if isinstance(call.outcome, tuple):
        return Piece(task_list_or([str(name) for name in call.outcome], "none"), "strong")
    return Piece(outcome_words(call)[1], "strong")


# Original and branch: the edits, and what they changed; each row leads to its event in either recording.

SIDE_COLUMNS = table_columns("~", "original~", "branch~")
EDIT_COLUMNS = table_columns("#", "edit~", "")
RecordingPair = tuple[Recording, Recording]
SeqPair = tuple[Seq, Seq]


def edits_table(here: DebuggerState) -> Table:
    """Edits in force and undone, and the `vcdebug diff` command that makes the same comparison."""
    open_ = here.recordings
    if open_ is None or not (open_.changes or open_.undone_changes):
        return empty_table("Edits", "none yet: w or :set changes something, :force an answer")
    rows = [_edit_row(number, edit.text, "in force", "good") for number, edit in enumerate(open_.edits, start=1)]
    undone_edits = chain.from_iterable(reversed(open_.undone_changes))
    undone = [_edit_row(0, edit.text, "undone", "muted") for edit in undone_edits]
    cycle_words = "" if open_.start == 1 else f" of cycle {open_.start}"
    return Table(f"Edits{cycle_words}", EDIT_COLUMNS, [*rows, *undone], footer=muted_lines(command_line(open_)))


def _edit_row(number: int, text: str, state: str, style: Style) -> Row:
    return Row(f"{number} {text}", (Piece(str(number) if number else ""), Piece(text), Piece(state, style)))


def command_line(open_: OpenRecordings) -> str:
    """The `vcdebug diff` command with the same edits."""
    snapshot = open_.original[0].snapshot
    words = ["vcdebug", "diff", snapshot.origin or snapshot.name]
    words += [word for text in open_.edit_texts for word in ("--set", text)]
    return shlex.join(words)


def difference_table(here: DebuggerState, moments: str = "") -> Table:
    """What the edits changed in the shown cycle, or what changed between two events; commands_of reads a row's key."""
    if moments:
        return _moments_table(here.recording, *sorted(map(int, moments.split())))
    open_ = here.recordings
    if open_ is None or not open_.branch:
        return empty_table("Original and branch", "no branch: w or :set creates one")
    sides = open_.both_sides()
    comparison = open_.comparison if open_.comparison is not None else cycles.compare_cycles(*sides)
    edit_lines = tuple(make_line(muted_piece("set "), text) for text in open_.edit_texts)
    rows = [row for point in comparison.iter_divergences() for row in _iter_divergence_rows(sides, *point)]
    rows.extend(_iter_change_rows(sides, comparison))
    title = f"Original and branch, cycle {open_.cycle}: {summarize_comparison(comparison)}"
    return Table(title, SIDE_COLUMNS, rows, header=edit_lines)


def _moments_table(recording: Recording, first: Seq, last: Seq) -> Table:
    rows = []
    for figure, change in iter_changed_figures(recording, first, last):
        cells = (str(figure), format_figure(figure, change.old), format_figure(figure, change.new), str(change.seq))
        rows.append(Row(f"{change.seq}#{figure}", tuple(map(Piece, cells)), change.seq))
    columns = (Column("figure", flexible=True), *table_columns(f"event {first}#", f"event {last}#", "last change#"))
    title = f"Events {first} to {last}: {count_noun(len(rows), 'figure')} changed"
    return Table(title, columns, rows)


def commands_of(row: Row) -> tuple[str, ...]:
    """The commands that show a row of difference_table: in branch and original, or its event."""
    words = row.key.partition("#")[0].split()
    if len(words) == 1:
        return tuple(words)
    seqs_by_side = dict(zip(words[::2], words[1::2], strict=False))
    return tuple(f"{side} {seqs_by_side[side]}" for side in (BRANCH, ORIGINAL) if seqs_by_side.get(side, "0") != "0")


def _side_row(seqs: SeqPair, name: str, cells: Line) -> Row:
    """A row whose key contains its event in each recording, 0 for none."""
    return Row(f"{ORIGINAL} {seqs[0]} {BRANCH} {seqs[1]}#{name}", cells, seqs[1] or seqs[0])


def _cell_with_event(cell: Piece, seq: Seq) -> Piece:
    return cell._replace(text=f"{cell.text} (event {seq})") if seq else cell


def _iter_divergence_rows(sides: RecordingPair, title: str, divergence: cycles.Divergence) -> Iterator[Row]:
    events = divergence.before, divergence.after
    seqs = events[0].seq if events[0] else 0, events[1].seq if events[1] else 0
    before, after = (
        _cell_with_event(side_cell(recording, side), seq)
        for recording, side, seq in zip(sides, events, seqs, strict=True)
    )
    yield _side_row(seqs, title, (Piece(title, "title"), before, after))
    questions = question_of(events[0]), question_of(events[1])
    if any(questions):
        for (tier, plugin), answers in _collect_answers(questions, sides):
            place = f"tier {tier} {plugin}"
            yield _side_row(seqs, f"{title} {place}", (muted_piece(f"  {place}"), *answers))
        yield _side_row(
            seqs, f"{title} →", (muted_piece("  →"), outcome_cell(questions[0]), outcome_cell(questions[1]))
        )
        return
    for difference in divergence.differences:
        cells = make_line(
            muted_piece(f"  {difference.field}"), placing_words(difference.before), placing_words(difference.after)
        )
        yield _side_row(seqs, f"{title} {difference.field}", cells)


def _iter_change_rows(sides: RecordingPair, comparison: cycles.CycleComparison) -> Iterator[Row]:
    for job, summary, later_summary in comparison.jobs:
        yield _changed_row(sides, "job", job, _job_cell(summary), _job_cell(later_summary))
    for task, outcome, later_outcome in comparison.tasks:
        yield _changed_row(sides, "task", task, _task_cell(outcome), _task_cell(later_outcome))
    for (plugin, queue), amount, later_amount in comparison.queues:
        name = f"queue {queue} deserves ({plugin})"
        cells = (Piece(name), _amount_cell(amount), _amount_cell(later_amount))
        yield _side_row((_opening_seq(sides[0]), _opening_seq(sides[1])), name, cells)


def _changed_row(sides: RecordingPair, kind: str, name: str, before: Piece, after: Piece) -> Row:
    """The row of a job or pod with a different outcome."""
    seqs = _last_operation(sides[0], kind, name), _last_operation(sides[1], kind, name)
    title = Piece(f"job {bare_name(name)}", "strong") if kind == "job" else Piece(f"pod {bare_name(name)}")
    cells = (title, _cell_with_event(before, seqs[0]), _cell_with_event(after, seqs[1]))
    return _side_row(seqs, f"{kind} {name}", cells)


def _last_operation(recording: Recording, kind: str, name: str) -> Seq:
    """The last operation on a job or task, else the last event about it; 0 if there is none."""
    seqs: Seqs = recording.index.seqs_about(kind, name)
    # An operation shows the decision; the hook calls after it do not.
    operation = next((seq for seq in reversed(seqs) if isinstance(recording.event_at(seq), OpEvent)), 0)
    return operation or (seqs[-1] if len(seqs) else 0)


def _opening_seq(recording: Recording) -> Seq:
    """The event with the state of the opened session."""
    return next(iter(recording.index.seqs_of_type(StateEvent)), 0)


# All cycles of the original or the branch, and the changes from one capture or cycle to the next.


CYCLE_COLUMNS = table_columns(
    "cycle#",
    "clock",
    "events#",
    "bound#",
    "pipelined#",
    "evicted#",
    "unscheduled#",
    " ".join(map(" ".join, zip(GANG_SIGNS, ("bound", "pipelined", "Pending"), strict=True))),
    "~",
)
CYCLE_BAR_WIDTH = 24
PENDING_OUTCOMES = ("pending", INCOMPLETE, REFUSED)


def shown_cycles_table(here: DebuggerState) -> Table:
    """Every cycle; a row's key is the command that shows it."""
    open_ = here.recordings
    if open_ is None:
        return cycle_table((here.recording,), 1, "Cycles of the original: 1 is shown")
    return cycle_table(open_.cycles_of(open_.side), open_.cycle, f"Cycles of the {open_.side}: {open_.cycle} is shown")


def cycle_table(recordings: tuple[Recording, ...], present: int, title: str) -> Table:
    """A row per cycle, the `present` one marked, and below whether a cycle repeats an earlier one."""
    repeat = find_repeat(recordings)
    sizes = (sum(_bar_parts(cycle_effects(recording))) for recording in recordings)  # exact: ints
    largest_size = max(sizes, default=1)
    rows = [_cycle_row(number, recording, repeat, largest_size) for number, recording in enumerate(recordings, start=1)]
    return Table(title, CYCLE_COLUMNS, rows, footer=_repeat_foot(repeat, len(recordings)), current=f"cycle {present}")


def _cycle_row(number: int, recording: Recording, repeat: CycleRepeat | None, largest_size: int) -> Row:
    effects = cycle_effects(recording)
    bound, pipelined, unscheduled = parts = _bar_parts(effects)
    counts = (len(recording), bound, pipelined, len(effects.evicted), unscheduled)
    total = sum(parts)  # exact: ints
    width = max(1, round(CYCLE_BAR_WIDTH * total / largest_size)) if total else 0
    cells = (
        Piece(str(number)),
        Piece(recording.snapshot.now.strftime("%H:%M:%S")),
        *(Piece(str(count)) if count else muted_piece("–") for count in counts),
        Piece(draw_bar(parts, GANG_SIGNS, total, width), "accent"),
        _cycle_remark(number, effects, repeat),
    )
    return Row(f"cycle {number}", cells)


def _bar_parts(effects: Effects) -> tuple[int, int, int]:
    """What a cycle's bar shows: pods bound, pods pipelined, jobs unscheduled."""
    unscheduled = sum(job.outcome in PENDING_OUTCOMES for job in effects.jobs)  # exact: ints
    return len(effects.bound), sum(job.waiting for job in effects.jobs), unscheduled  # exact: ints


def _cycle_remark(number: int, effects: Effects, repeat: CycleRepeat | None) -> Piece:
    if effects.panic is not None:
        return Piece("the real scheduler panics", "bad")
    if repeat is not None and number == repeat.later_cycle:
        return Piece(f"repeats cycle {repeat.earlier_cycle}", "warn")
    return Piece("")


def _repeat_foot(repeat: CycleRepeat | None, cycles: int) -> tuple[Line, ...]:
    if repeat is not None:
        return (make_line(Piece(describe_repeat(repeat), "warn")),)
    words = "} or :advance runs the next cycle" if cycles == 1 else "no repeating cycles"
    return muted_lines(words)


# Changes since the previous capture or cycle: decisions, causes, objects.

CAPTURE_COLUMNS = table_columns("what", "name", "before", "now~")
NO_VALUE = "–"


def capture_changes(here: DebuggerState) -> Table:
    """The changes in the cluster between the previous capture and the shown one."""
    open_ = here.recordings
    if open_ is None or open_.cycle == 1:
        return Table("Changes", CAPTURE_COLUMNS, [], footer=muted_lines("there is nothing before this one"))
    before, after = open_.cycles_of(open_.side)[open_.cycle - 2 : open_.cycle]
    changes = compare_captures(before, after)
    span = f"from {open_.cycle - 1} ({_clock_text(before)}) to {open_.cycle} ({_clock_text(after)})"
    rows = list(iter_change_rows(changes))
    return Table(f"Changes {span}: {changes.format_changes()}", CAPTURE_COLUMNS, rows)


def iter_change_rows(changes: CaptureChanges) -> Iterator[Row]:
    """Decisions first, then causes, then the objects behind them."""
    for task, before, after in changes.decisions.tasks:
        cells = make_line("decision", task, _outcome_text(before), _outcome_text(after))
        yield Row(f"decision {task}", cells, subject=("task", task))
    for job, old_cause, new_cause in changes.causes:
        cells = make_line("cause", job, old_cause or "not Pending", new_cause or "no longer Pending")
        yield Row(f"cause {job}", cells, subject=("job", job))
    for change in changes.objects:
        cells = make_line(change.kind, change.name, NO_VALUE if change.change_kind == "new" else "", change.change_kind)
        yield Row(f"object {change.kind} {change.name}", cells)


def _outcome_text(outcome: TaskOutcome | None) -> str:
    if outcome is None:
        return NO_VALUE
    place = f" on {outcome.node}" if outcome.node else ""
    return f"{outcome.status.name.capitalize()}{place}{', evicted' if outcome.evicted else ''}"


def _clock_text(recording: Recording) -> str:
    return recording.snapshot.now.strftime("%H:%M:%S")
