"""The panels Effects and Evictions, the page of metrics, and the tables of a whole cycle in `run` and reports."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.debugger.metrics import list_metrics
from vcdebug.explain.decisions.evictions import Eviction, planned_evictions
from vcdebug.grouping import group_by_key
from vcdebug.model.names import Seq
from vcdebug.recording.effects import Effects
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.writes import ClusterWrite, api_writes
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views.cell_figures import subject_figure
from vcdebug.views.document import make_listing
from vcdebug.views.headline import FATE_WORDS
from vcdebug.views.pieces import HERE, SKIPPED, YES, Line, Piece, Style, make_line, muted_lines, muted_piece
from vcdebug.views.table import MAX_CACHED_TABLES, Row, RowsOnDemand, Table, table_columns

EFFECT_COLUMNS = table_columns("", "event#", "write", "object@", "what~24")
_SUBJECTS = {"Pod": "task", "PodGroup": "job", "Queue": "queue"}
_STYLES: dict[str, Style] = {"bind": "good", "evict": "bad"}
_seq_of = attrgetter("seq")


def effects_table(recording: Recording, seq: Seq) -> Table:
    """All writes of the cycle in order; writes of later events are muted."""
    writes = api_writes(recording)
    before, written = bisect_left(writes, seq, key=_seq_of), bisect_right(writes, seq, key=_seq_of)
    rows = _write_rows(recording, before, written)
    current = rows.keys[before] if before < written else ""
    sought, summary = rows.keys[max(written - 1, 0)] if writes else "", (_effects_summary(writes, written),)
    return Table("Effects", EFFECT_COLUMNS, rows, summary, current=current, target=sought, figures=subject_figure)


@per_recording(most=MAX_CACHED_TABLES)
def _write_rows(recording: Recording, before: int, written: int) -> RowsOnDemand:
    """The rows at an event with the writes from `before` to `written`; most events write nothing, and share them."""
    writes = api_writes(recording)
    keys = tuple(map(str, range(len(writes))))
    return RowsOnDemand(
        keys, lambda i: _write_row(keys[i], writes[i], is_later=i >= written, is_here=before <= i < written)
    )


def _effects_summary(writes: Sequence[ClusterWrite], written: int) -> Line:
    if not writes:
        return make_line(muted_piece("this cycle writes nothing to the API server"))
    return make_line(f"{count_noun(written, 'write')} up to here", muted_piece(f", {len(writes) - written} later"))


def _write_row(key: str, write: ClusterWrite, *, is_later: bool, is_here: bool) -> Row:
    style: Style = "muted" if is_later else ""
    mark = Piece(SKIPPED, style) if style else Piece(YES, "here" if is_here else "")
    verb = Piece(write.verb, style or _STYLES.get(write.verb, ""))
    cells = (mark, Piece(str(write.seq), style), verb, Piece(f"{write.kind} {write.object}", style))
    return Row(key, (*cells, Piece(write.text, style)), write.seq, (_SUBJECTS.get(write.kind, ""), write.object))


# Evictions, including discarded ones.

EVICTION_COLUMNS = table_columns(
    "", "victim@", "evicted for@", "outcome", "at#", "by", "tier#", "node", "victim's queue", "event#"
)


def evictions_table(recording: Recording, seq: Seq) -> Table:
    """All planned evictions of the cycle in order; evictions of later events are muted."""
    evictions = planned_evictions(recording)
    keys = tuple(f"event {eviction.seq}" for eviction in evictions)
    rows = RowsOnDemand(keys, lambda i: _eviction_row(evictions[i], seq))
    past = [eviction for eviction in evictions if eviction.seq <= seq]
    current = keys[len(past) - 1] if past and past[-1].seq == seq else ""
    sought, summary = keys[max(len(past) - 1, 0)] if evictions else "", (_evictions_summary(evictions),)
    return Table("Evictions", EVICTION_COLUMNS, rows, summary, current=current, target=sought, figures=subject_figure)


def _evictions_summary(evictions: tuple[Eviction, ...]) -> Line:
    if not evictions:
        return make_line(muted_piece("this cycle plans no eviction"))
    carried_out = [eviction for eviction in evictions if eviction.statement_end in ("commit", "at once")]
    # A victim can be planned again after its statement was discarded, so pods are counted and not plans.
    victims = len(dict.fromkeys(eviction.victim for eviction in carried_out))
    undone = len(evictions) - len(carried_out)
    words = f"{count_noun(victims, 'task')} evicted" if victims else "no pod is evicted in the end"
    return make_line(words, muted_piece(f", {count_noun(undone, 'planned eviction')} rolled back" if undone else ""))


def _eviction_row(eviction: Eviction, seq: Seq) -> Row:
    words, fate_style = FATE_WORDS[eviction.statement_end]
    style: Style = "muted" if eviction.seq > seq else ""
    preemptor = bare_name(eviction.preemptor) or "no pod: a plugin wants it evicted"
    cells = (
        Piece(HERE, "here") if eviction.seq == seq else muted_piece(SKIPPED if style else ""),
        Piece(eviction.victim, style or "strong"),
        Piece(preemptor, style if eviction.preemptor else "muted"),
        Piece(words, style or fate_style),
        muted_piece(str(eviction.end) if eviction.statement_end and eviction.statement_end != "at once" else "–"),
        Piece(eviction.action, style),
        muted_piece(str(eviction.tier) if eviction.tier is not None else "–"),
        Piece(eviction.node, style),
        muted_piece(eviction.queue),
        muted_piece(str(eviction.seq)),
    )
    return Row(f"event {eviction.seq}", cells, eviction.seq, ("task", eviction.victim))


METRIC_COLUMNS = table_columns("metric", "value#", "of~14", "set by")
NO_METRICS = "no plugin of this configuration sets a metric"
METRIC_UNITS = "memory in bytes, pods counted, the rest in thousandths; gang sets its counts when the session closes"


def metrics_table(recording: Recording, seq: Seq) -> Table:
    """Upstream's metrics as a scrape right after the event would read them, below the label of their queue or job."""
    rows = list[Row]()
    for label, metrics in group_by_key((metric.labels[:1], metric) for metric in list_metrics(recording, seq)).items():
        subject = ", ".join(f'{name}="{value}"' for name, value in label) or "without labels"
        rows.append(Row(subject, (Piece(subject, "accent"), Piece(""), Piece(""), Piece(""))))
        rows += [
            Row(
                f"{metric.name} {metric.label_text}",
                (
                    Piece(metric.name, "strong"),
                    Piece(metric.value_text if metric.value.is_integer() else f"{metric.value:.6f}"),
                    Piece(" ".join(value for _, value in metric.labels[1:])),
                    muted_piece(metric.set_by),
                ),
            )
            for metric in metrics
        ]
    # Above the rows: without the units, the first page of figures cannot be read.
    head = muted_lines(METRIC_UNITS if rows else NO_METRICS)
    return Table("Metrics", METRIC_COLUMNS, rows, header=head)


# What a whole cycle did, for `vcdebug run` and reports: its actions, the pods that it moved, its jobs.

ACTION_HEADS = ("action", "events", "commits#", "discards#", "bound#", "pipelined#", "evicted#")
MOVE_HEADS = ("pod", "node", "by", "event#")
JOB_HEADS = ("job", "queue", "phase", "outcome", "pending#", "ready#", "pods#", "min#", "reserved#")


def action_table(effects: Effects, seconds: Mapping[str, float] | None = None) -> Table:
    """A row per action, with its seconds if they are given by its name."""
    rows = list[tuple[str, ...]]()
    for action in effects.actions:
        counts = (action.commits, action.discards, action.bound, action.pipelined, action.evicted)
        time = () if seconds is None else (f"{seconds.get(action.action, 0.0):.3f}",)
        rows.append((action.action, f"{action.first}-{action.last}", *map(str, counts), *time))
    return make_listing(ACTION_HEADS if seconds is None else (*ACTION_HEADS, "seconds#"), rows)


def iter_move_tables(effects: Effects) -> Iterator[Table]:
    """The pods that the cycle bound, pipelined, held or evicted; no table where there are none."""
    reasons = {job.job: job.held_reason for job in effects.jobs}
    held = group_by_key((reasons[entry.job], entry) for entry in effects.held)
    for title, entries in (
        ("bound", effects.bound),
        ("pipelined: reserved on a node, waiting for pods there to terminate", effects.pipelined),
        *((f"placed, but not bound: {reason}", entries) for reason, entries in held.items()),
        ("evicted", effects.evicted),
    ):
        rows = [(entry.task, entry.node, entry.action, str(entry.seq)) for entry in entries]
        if rows:
            yield replace(make_listing(MOVE_HEADS, rows, 2), title=title)


def job_table(effects: Effects) -> Table:
    """A row per job after the cycle."""
    rows = list[tuple[str, ...]]()
    for job in effects.jobs:
        counts = (job.pending, job.ready, job.tasks, job.min_available, job.waiting)
        rows.append((job.job, job.queue, job.phase or "-", job.outcome, *map(str, counts)))
    return make_listing(JOB_HEADS, rows)
