"""The report about a cycle as a document: snapshot, causes of Pending jobs, bookmarks, what each cycle did."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise, starmap
from math import ceil
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import capitalize_first, count_noun, format_amount, format_count, short_name
from vcdebug.comparison.cycles import compare_captures
from vcdebug.debugger.notebook import Bookmark
from vcdebug.explain.answer import Explanation
from vcdebug.explain.decisions import queue_figures
from vcdebug.explain.pending.survey import SurveyedJob, survey_by_name, survey_jobs
from vcdebug.gomath import ordered_sum
from vcdebug.model.names import NodeName, Seq
from vcdebug.recording.effects import ActionSummary, Effects, cycle_effects, timeline_marks
from vcdebug.recording.recording import Recording
from vcdebug.views.answer import explanation_blocks, list_jobs, listed_fixes
from vcdebug.views.comparison import CAPTURE_COLUMNS, cycle_table, iter_change_rows
from vcdebug.views.conf import conf_table, problems_table
from vcdebug.views.document import (
    Block,
    Code,
    Document,
    Mark,
    Paragraph,
    Picture,
    Section,
    Strip,
    change_document,
    name_jobs,
)
from vcdebug.views.effects import action_table, iter_move_tables, job_table
from vcdebug.views.equation import event_equation
from vcdebug.views.event_view import event_view
from vcdebug.views.headline import event_place
from vcdebug.views.nodes import bar_dimensions
from vcdebug.views.notebook import event_words
from vcdebug.views.pieces import Piece, Style, make_line, muted_lines, muted_piece
from vcdebug.views.queues import ENDLESS, NO_RESOURCE, amounts_of, limit_of, shown_dimensions
from vcdebug.views.statement import statement_at, statement_table
from vcdebug.views.table import Row, Table, table_columns
from vcdebug.views.votes import victims_matrix

MAX_MOVES = 200
MAX_JOBS = 500
MAX_EXPLAINED = 40
MAX_TESTED_EVENTS: Final = 300_000
"""The events of replays that test fixes; counted, not timed, so that a report is the same on every run."""
MAX_PROBLEMS = 100


class ReportSubject(Struct, frozen=True):
    """The contents of a report."""

    recording: Recording
    version: str
    """The version of vcdebug."""
    commands: tuple[str, ...]
    """Commands that lead to the same view; the first one opens the recording."""
    bookmarks: tuple[Bookmark, ...] = ()
    jobs: tuple[str, ...] = ()
    """Jobs or pods to explain; by default all that stay unscheduled."""
    cycles: tuple[Recording, ...] = ()
    """All cycles of the run, if there is more than the one that is reported in full."""


def build_report(subject: ReportSubject) -> Document:
    """The report's document; raises NotFoundError for an unknown job or pod."""
    recording = subject.recording
    explained = _explained_jobs(subject)
    effects = cycle_effects(recording)
    # The sections' headings are the titles of these tables.
    problems, conf = (replace(table, title="") for table in (problems_table(recording), conf_table(recording)))
    sections = (
        _why_section(recording, explained, named=bool(subject.jobs)),
        *([_bookmarks_section(subject)] if subject.bookmarks else []),
        _cycle_section(recording, effects),
        *([_cycles_section(subject)] if len(subject.cycles) > 1 else []),
        Section("Nodes and queues after the cycle", tuple(_iter_room_pictures(recording))),
        Section("Quirks and problems", (_shorten_table(problems, MAX_PROBLEMS),)),
        Section("Configuration in force", (conf,), folded=True),
        Section("See it yourself", tuple(Code(text) for text in subject.commands)),
    )
    name = recording.snapshot.name or "snapshot"
    lead = tuple(_iter_lead_blocks(subject, explained, effects))
    names, document = recording.job_names, Document(f"Scheduling cycle of {name}", lead, sections)
    return change_document(document, partial(name_jobs, names=names), names.in_text)


def _explained_jobs(subject: ReportSubject) -> list[SurveyedJob]:
    if not subject.jobs:
        return list(survey_jobs(subject.recording, detailed=True).unscheduled_jobs)
    return [job for word in subject.jobs for job in survey_by_name(subject.recording, word).explained]


def _shorten_table(table: Table, max_rows: int) -> Table:
    """The first `max_rows` rows, and the number of the others."""
    surplus = len(table.rows) - max_rows
    foot = muted_lines(f"and {format_count(surplus)} more") if surplus > 0 else ()
    return replace(table, rows=table.rows[:max_rows], footer=(*table.footer, *foot))


def _iter_lead_blocks(subject: ReportSubject, explained: Sequence[SurveyedJob], effects: Effects) -> Iterator[Block]:
    recording = subject.recording
    if recording.snapshot.description:
        yield Paragraph(make_line(recording.snapshot.description))
    rows = [Row(name, (muted_piece(name), Piece(text))) for name, text in _iter_lead_facts(subject, explained, effects)]
    yield Table("", table_columns("", "~"), rows)


def _iter_lead_facts(
    subject: ReportSubject, explained: Sequence[SurveyedJob], effects: Effects
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
    parts = ((effects.bound, "bound"), (effects.pipelined, "pipelined"), (effects.evicted, "evicted"))
    yield "outcome", ", ".join(f"{format_count(len(entries))} {word}" for entries, word in parts)
    if not subject.jobs:
        yield "unscheduled", count_noun(len(explained), "job")
    yield "recording", f"{count_noun(len(recording), 'event')}, replayed by vcdebug {subject.version}"


def _why_section(recording: Recording, explained: Sequence[SurveyedJob], *, named: bool) -> Section:
    title = "Why" if named else "Why jobs are Pending"
    if not explained:
        return Section(title, (Paragraph(make_line(Piece("✓ no job stays unscheduled", "good"))),))
    answers = [job.explanation for job in explained[:MAX_EXPLAINED]]
    explanations = tuple(_iter_explanations(recording, answers))
    not_shown = len(explained) - len(explanations)
    blocks: tuple[Block, ...] = (list_jobs(explained),) if len(explained) > 1 else ()
    if not_shown:
        blocks = (*blocks, Paragraph(make_line(f"The first {MAX_EXPLAINED} follow in full; --job selects other jobs.")))
    return Section(title, blocks, explanations)


def _iter_explanations(recording: Recording, answers: Iterable[Explanation]) -> Iterator[Section]:
    """A section per answer, with tested fixes for the first ones, as many as MAX_TESTED_EVENTS allows."""
    from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
    from vcdebug.whatif.other_outcomes import describe_short_plans, other_outcomes

    left = MAX_TESTED_EVENTS
    for answer in answers:
        search = search_few_fixes(recording, answer) if left > 0 and answer.wants_fixes else None
        replays = search.trial_count if search is not None else None
        left -= (replays or 0) * len(recording)
        tested = describe_short_plans(recording, answer, short_plans(search)) if search is not None else ()
        why = f"{_why_untested(recording, replays, is_late=left <= 0)}; explain --prove searches longer"
        fixes, others = listed_fixes(answer, tested, why), other_outcomes(recording, answer.job)
        verb = "is scheduled" if answer.scheduled else "is Pending"
        title = f"{answer.subject_name} {verb}: {answer.cause_code}"
        yield Section(title, tuple(explanation_blocks(answer, recording.job_names, fixes, others)))


def _why_untested(recording: Recording, replays: int | None, *, is_late: bool) -> str:
    from vcdebug.whatif.fixes.search import short_trial_count

    if replays is not None:
        return f"none found in {count_noun(replays, 'replay')}"
    if not short_trial_count(recording):
        return "not tested: a replay of this cycle takes too long for a report"
    return "not tested: the jobs above took the time of a report" if is_late else "not tested"


def _bookmarks_section(subject: ReportSubject) -> Section:
    recording = subject.recording
    recorded = [mark for mark in subject.bookmarks if mark.seq <= len(recording)]
    missing = len(subject.bookmarks) - len(recorded)
    words = f"{count_noun(missing, 'bookmark')} after the end of this recording: the snapshot or vcdebug has changed."
    blocks = (Paragraph(make_line(Piece(f"! {words}", "warn"))),) if missing else ()
    return Section("Bookmarks", blocks, tuple(_bookmark_section(subject, mark) for mark in recorded))


def _bookmark_section(subject: ReportSubject, mark: Bookmark) -> Section:
    recording = subject.recording
    note = (Paragraph(make_line(mark.note), is_quoted=True),) if mark.note else ()
    place = Paragraph(make_line(muted_piece(event_place(recording, mark.seq))))
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


def _cycle_section(recording: Recording, effects: Effects) -> Section:
    blocks: list[Block] = [_timeline_picture(recording, effects), replace(action_table(effects), title="Actions")]
    if effects.panic is not None:
        words = f"✗ the real scheduler panics at event {len(recording)}: {effects.panic}"
        blocks.insert(0, Paragraph(make_line(Piece(words, "bad"))))
    moves = (replace(table, title=capitalize_first(table.title)) for table in iter_move_tables(effects))
    blocks += (_shorten_table(table, MAX_MOVES) for table in moves)
    jobs = replace(job_table(effects), title="Jobs after the cycle")
    blocks += [*victims_matrix(recording), _shorten_table(jobs, MAX_JOBS)]
    return Section("What the cycle did", tuple(blocks))


def _cycles_section(subject: ReportSubject) -> Section:
    """A row per cycle, and per further cycle what differs from the one before it."""
    shown = next(number for number, one in enumerate(subject.cycles, start=1) if one is subject.recording)
    words = f"This report covers cycle {shown} in full, and the changes in each further cycle."
    blocks = (Paragraph(make_line(words)), cycle_table(subject.cycles, shown, ""))
    return Section("Cycles", blocks, tuple(starmap(_changes_section, enumerate(pairwise(subject.cycles), start=2))))


def _changes_section(number: int, neighbours: tuple[Recording, Recording]) -> Section:
    before, after = neighbours
    # Objects are left out: a cycle changes the status of nearly all.
    changes = replace(compare_captures(before, after), objects=())
    table = Table("", CAPTURE_COLUMNS, list(iter_change_rows(changes)))
    blocks = (_shorten_table(table, MAX_MOVES),) if table.rows else ()
    return Section(f"Cycle {number} at {after.snapshot.now:%H:%M:%S}: {changes.format_changes()}", blocks)


# Pictures: the cycle's timeline, nodes by usage, queues against their limits.

MAX_CELLS: Final = 1_000
"""With more nodes than this, a cell is the mean of several, so that files stay small and cells visible."""
MIN_COLUMNS, MAX_COLUMNS = 16, 40
FULL, HALF = 0.9, 0.5
MAX_QUEUE_STRIPS: Final = 40
TICK_STEPS: Final = 500
"""The number of distinct positions on the timeline; ticks at the same position are drawn once."""


def _timeline_picture(recording: Recording, effects: Effects) -> Picture:
    """A strip per action run, positioned by its events."""
    legend = (
        "Left to right: the events of the cycle. Ticks: commits at the top, discards in the middle, evictions below."
    )
    return Picture("Time line", legend, tuple(_action_strip(recording, action) for action in effects.actions))


def _action_strip(recording: Recording, action: ActionSummary) -> Strip:
    total, marks_of_cycle = max(len(recording), 1), timeline_marks(recording)
    base = Mark(action.first / total, (action.last - action.first + 1) / total, "accent", height=3, shade=0.25)
    kinds: tuple[tuple[Sequence[Seq], Style, str], ...] = (
        (marks_of_cycle.commits, "good", "commit"),
        (marks_of_cycle.discards, "bad", "discard"),
        (marks_of_cycle.evictions, "warn", "eviction"),
    )
    marks, words = [base], [f"events {format_count(action.first)}–{format_count(action.last)}"]
    for row, (seqs, style, noun) in enumerate(kinds):
        within = [seq for seq in seqs if action.first <= seq <= action.last]
        places = dict.fromkeys(seq * TICK_STEPS // total for seq in within)  # exact: ints
        marks += (Mark(place / TICK_STEPS, 0, style, row) for place in places)
        words += [count_noun(len(within), noun)] if within else []
    return Strip(action.action, ", ".join(words), tuple(marks), 3)


def _iter_room_pictures(recording: Recording) -> Iterator[Picture]:
    """Pictures of nodes and queues after the last event; none for an empty picture."""
    nodes = tuple(_node_strip(recording, dim) for dim in bar_dimensions(recording)) if recording.node_names else ()
    grouped = f"; each cell is the mean of {_group_size(recording)} nodes" if _group_size(recording) > 1 else ""
    if nodes:
        yield Picture(
            "Nodes: used of allocatable",
            f"The stronger the color of a cell, the fuller the node{grouped}. Nodes in the order of their names.",
            nodes,
        )
    queues = tuple(islice(_iter_queue_strips(recording), MAX_QUEUE_STRIPS))
    if queues:
        yield Picture("Queues", "Upper bar: allocated. Lower bar: deserved. Red line: limit (capability).", queues)


def _group_size(recording: Recording) -> int:
    return ceil(len(recording.node_names) / MAX_CELLS)


def _column_count(recording: Recording) -> int:
    return max(MIN_COLUMNS, min(MAX_COLUMNS, len(recording.node_names)))


def _node_strip(recording: Recording, dim: str) -> Strip:
    """A cell per node, or per group of nodes, as dark as the node is full."""
    size, names = _group_size(recording), recording.node_names
    groups = [names[start : start + size] for start in range(0, len(names), size)]
    shares = [_used_shares(recording, group, dim) for group in groups]
    marks = tuple(_node_cell(recording, dim, number, group, shares[number]) for number, group in enumerate(groups))
    node_shares = [share for group in shares for share in group]
    full, half = (len([share for share in node_shares if share >= threshold]) for threshold in (FULL, HALF))
    words = f"{FULL:.0%} or more: {full} of {count_noun(len(node_shares), 'node')}; {HALF:.0%} or more: {half}"
    return Strip(short_name(dim), words, marks, ceil(len(groups) / _column_count(recording)))


def _used_shares(recording: Recording, names: Iterable[NodeName], dim: str) -> list[float]:
    """used / allocatable of each node that has any of the dimension."""
    nodes, state = recording.session.nodes, recording.timeline.state_at(len(recording)).nodes
    return [
        state[name].used.get(dim) / allocatable
        for name in names
        if (allocatable := nodes[name].allocatable.get(dim)) > 0
    ]


def _node_cell(recording: Recording, dim: str, number: int, names: Sequence[NodeName], shares: Sequence[float]) -> Mark:
    columns = _column_count(recording)
    row, column = divmod(number, columns)
    share = ordered_sum(shares) / max(len(shares), 1)
    if len(names) > 1:
        tip = f"{names[0]} to {names[-1]}: {share:.0%} used" if shares else f"{names[0]} to {names[-1]}: none"
    else:
        used = recording.timeline.state_at(len(recording)).nodes[names[0]].used.get(dim)
        allocatable = recording.session.nodes[names[0]].allocatable.get(dim)
        tip = (
            f"{names[0]}: {format_amount(dim, used)} of {format_amount(dim, allocatable)}"
            if shares
            else f"{names[0]}: none"
        )
    style: Style = "bad" if share > 1 else "accent" if shares else ""
    return Mark(column / columns, 1 / columns, style, row, shade=0.1 + 0.9 * min(share, 1.0), tooltip=tip)


def _iter_queue_strips(recording: Recording) -> Iterator[Strip]:
    plugin = queue_figures.sharing_plugin(recording)
    if not plugin:
        return
    books = recording.timeline.state_at(len(recording)).books[plugin]
    for place in queue_figures.queue_places(recording):
        amounts = amounts_of(books.get(place.name, {}))
        for dim in shown_dimensions(amounts):
            allocated, deserved = (amounts.get(key, NO_RESOURCE).get(dim) for key in ("allocated", "deserved"))
            finite = {"allocated": allocated, "deserved": deserved, "limit": limit_of(amounts, dim) or 0.0}
            finite = {key: amount for key, amount in finite.items() if 0 < amount < ENDLESS}
            if finite:
                yield _queue_strip(f"{place.name} {short_name(dim)}", dim, finite)


def _queue_strip(label: str, dim: str, amounts: dict[str, float]) -> Strip:
    largest = max(amounts.values())
    allocated, deserved = (amounts.get(key, 0.0) for key in ("allocated", "deserved"))
    style: Style = "warn" if allocated > deserved > 0 else "accent"
    marks = [Mark(0, allocated / largest, style)] if allocated else []
    marks += [Mark(0, deserved / largest, "good", 1, shade=0.5)] if deserved else []
    marks += [Mark(0.996 * amounts["limit"] / largest, 0, "bad", 0, 2)] if "limit" in amounts else []
    words = ", ".join(f"{key} {format_amount(dim, amount)}" for key, amount in amounts.items())
    return Strip(label, words, tuple(marks), 2)
