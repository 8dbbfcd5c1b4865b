"""Writes the lines that the real scheduler would have printed during a recorded cycle.

A function per event type reads the lines from events; where upstream prints without an event, the engine states the
line (`Session.log`). `messages` holds the texts.

Upstream: the klog calls of one scheduling cycle: framework/statement, framework/session, plugins' event handlers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from vcdebug.comparison.logs import answer_lines, search_lines
from vcdebug.comparison.logs.message import UNKNOWN_TEXT, LogCall, LogContext, LogMessage, LogState, messages_of_release
from vcdebug.framework import record
from vcdebug.framework.quirks import VIEW_LOST_POD
from vcdebug.model.names import Seq
from vcdebug.plugins import CAPACITY, DRF, PREDICATES, PROPORTION, USAGE
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import lines_with_comparisons
from vcdebug.releases.nodes import USAGE_SHADOW_LOAD

# Lines about events: actions, statements and their operations, with the accounting of plugins.

AMOUNT_OPS = {record.ALLOCATE_OP: "allocated", record.PIPELINE_OP: "pipelined", record.UNPIPELINE_OP: "unpipelined"}
SHADOW_LOAD = USAGE_SHADOW_LOAD.id
BOOK_PLUGINS = (DRF, PROPORTION, CAPACITY)
"""Plugins that print each change of what a job or queue holds."""


def lines_of_action(context: LogContext, event: record.ActionEvent) -> Iterator[LogCall]:
    """The lines with which an action begins and ends."""
    starts = event.what == "start"
    context.action = event.action
    yield (f"{event.action}.enter" if starts else f"{event.action}.leave",)


def lines_of_statement(context: LogContext, event: record.StatementEvent) -> Iterator[LogCall]:
    """A statement's lines, before those of its operations; for a commit, also one per allocated task."""
    if event.what == "save":
        steps = (f"task {context.task_of(task).name} {kind} from node {node}" for kind, task, node in event.ops)
        yield "statement.save", " ".join(steps)
        return
    yield (f"statement.{event.what}",)
    if event.what == "commit":
        yield from (("cache.bind", task) for kind, task, _ in event.ops if kind == record.ALLOCATE_OP)


def lines_of_operation(context: LogContext, event: record.OpEvent) -> Iterator[LogCall]:
    """The node's amounts, then the lines of each plugin's event handler in the order of opening."""
    if event.op == "bind":
        yield "cache.bind", event.task
        return
    if event.op in (record.EVICT_OP, record.UNEVICT_OP) and event.after is not None:
        idle, request = event.after.idle, context.task_of(event.task).resreq
        if not request.less_equal(idle.clone().add(request)):
            yield "node.negative", event.node, event.task, idle, request
    if event.op == "unallocate":
        yield "statement.remove", context.task_of(event.task).name, event.node
    elif event.op in AMOUNT_OPS and event.after is not None:
        yield f"statement.{AMOUNT_OPS[event.op]}", event.task, event.node, *event.after[:3]
    books = dict(event.books)
    for plugin in context.recording.session.plugins:
        if plugin == PREDICATES:
            yield from _view_lines(context, event)
        elif plugin in books and plugin in BOOK_PLUGINS:
            share = books[plugin].get("share", UNKNOWN_TEXT)
            change = "allocate" if event.op in record.CHARGING_OPS else "deallocate"
            yield f"{plugin}.{change}", event.task, context.task_of(event.task).resreq, share
        elif (
            plugin == USAGE
            and event.op not in record.CHARGING_OPS
            and SHADOW_LOAD not in context.recording.snapshot.release.older_forms
        ):
            yield "load.deallocate", event.task
    if event.op == record.ALLOCATE_OP and event.via is None:
        yield ("statement.allocating",)


def _view_lines(context: LogContext, event: record.OpEvent) -> Iterator[LogCall]:
    """predicates' lines about its view of nodes; a pod that the view refused to add is missing there later."""
    if event.op not in record.CHARGING_OPS:
        yield "view.deallocate", event.node
        missing = event.task in context.lost_tasks
        yield "view.missing" if missing else "view.removed", event.task, event.node, context.task_of(event.task).name
        return
    yield "view.allocate", event.node
    if any(note.code == VIEW_LOST_POD for note in context.recording.notes_at(context.seq)):
        context.lost_tasks[event.task] = None
        yield "view.refused", event.task
        return
    context.lost_tasks.pop(event.task, None)
    yield "view.added", event.task, event.node


MAX_LEVEL = 10
COMPARISON_END = "-order"
"""Suffix of the keys of messages about comparisons of jobs, sub jobs and tasks."""

LINES_BY_EVENT: Mapping[type, Callable[[LogContext, Any], Iterator[LogCall]]] = {  # Any: an event of the type before it
    record.ActionEvent: lines_of_action,
    record.StatementEvent: lines_of_statement,
    record.OpEvent: lines_of_operation,
    record.PredicateEvent: search_lines.lines_of_search,
    record.ScoreEvent: search_lines.lines_of_scores,
    record.HookEvent: answer_lines.lines_of_answer,
    record.CloseEvent: lambda _, __: iter([("session.close",)]),
}
"""Event type → function that yields the lines about such an event."""
LINES_BY_KEY: Mapping[str, Callable[..., Iterator[LogCall]]] = {
    "search.helper": search_lines.start_helper,
    "search.start": search_lines.start_search,
    "filter.skips": search_lines.lines_of_skips,
    "allocate.group": search_lines.lines_of_candidates,
    "preempt.no-victims": search_lines.no_victims,
    "reclaim.no-victims": search_lines.no_victims,
    "score.domains": search_lines.hyper_node_scores,
    "usage.settings": search_lines.lines_of_settings,
    "usage.measured": search_lines.lines_of_measurements,
    "proportion.jobs": answer_lines.jobs_of_proportion,
    "proportion.rounds": answer_lines.rounds_of_proportion,
}
"""Key of an engine's log call → the function that writes its lines."""


class ReplayedLine:
    """A line that the real scheduler would print; its text is written when it is first read."""

    __slots__ = ("_message", "_state", "_call", "_text", "level", "seq")

    def __init__(self, seq: Seq, message: LogMessage, call: LogCall, state: LogState) -> None:
        self.seq = seq
        """The event of the line."""
        self.level = message.level
        """The -v level from which it is printed."""
        self._message = message
        self._call = call
        self._state = state
        self._text: str | None = None

    @property
    def message_key(self) -> str:
        """The message, a key of `messages.MESSAGE_BY_KEY`."""
        return self._message.key

    @property
    def text(self) -> str:
        """The text, without klog's header."""
        # The text is written on demand: a long log has far more lines than a screen shows.
        if self._text is None:
            self._text = self._message.write_line(self._call[1:], self._state.tasks_text)
        return self._text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplayedLine):
            return NotImplemented
        return (self.seq, self.message_key, self.text) == (other.seq, other.message_key, other.text)

    def __hash__(self) -> int:
        return hash((self.seq, self.message_key, self.text))


def shows_comparisons(recording: Recording, level: int) -> bool:
    """Whether a -v level shows plugins' comparisons of jobs and tasks."""
    messages = messages_of_release(recording.snapshot.release.older_forms)
    return any(message.level <= level for key, message in messages.items() if key.endswith(COMPARISON_END))


def log_lines(
    recording: Recording, level: int = MAX_LEVEL, *, with_comparisons: bool | None = None
) -> Iterator[ReplayedLine]:
    """The lines of a whole cycle at one -v level, in order.

    With comparisons, by default at a level that shows them, the cycle runs a second time; raises RerunCancelledError
    where that is refused.
    """
    messages = messages_of_release(recording.snapshot.release.older_forms)
    compared = shows_comparisons(recording, level) if with_comparisons is None else with_comparisons
    lines = lines_with_comparisons(recording) if compared else recording.record.lines
    # Not a generator, so that the second run happens in the call and not when the first line is read.
    return _lines_at_level(recording, lines, level, messages)


def _lines_at_level(
    recording: Recording, lines: Iterable[record.LogPoint], level: int, messages: Mapping[str, LogMessage]
) -> Iterator[ReplayedLine]:
    context = LogContext(recording)
    reached: Seq = 1
    for call in _iter_cycle_lines(context, lines):
        message = messages.get(str(call[0]))
        if message is None or message.level > level:
            continue
        reached = max(reached, min(context.seq + message.precedes_event, len(recording)))
        yield ReplayedLine(reached, message, call, context.state)


def _iter_cycle_lines(context: LogContext, lines: Iterable[record.LogPoint]) -> Iterator[LogCall]:
    """The lines before the first event, about each event, and between events."""
    yield from answer_lines.lines_of_session(context.recording)
    between = iter(lines)
    line = next(between, None)
    while line is not None and not line.seq:
        yield from _lines_of_engine(context, line)
        line = next(between, None)
    for seq, event in enumerate(context.recording.events, start=1):
        # An event's own lines come first and see the state before it; the lines after them see the state after it.
        of_event = LINES_BY_EVENT.get(type(event))
        if of_event is not None:
            context.move_to(seq)
            yield from of_event(context, event)
        while line is not None and line.seq == seq:
            context.move_to(seq, after=True)
            yield from _lines_of_engine(context, line)
            line = next(between, None)


def _lines_of_engine(context: LogContext, line: record.LogPoint) -> Iterator[LogCall]:
    """A line of the engine; a key without a dot belongs to the action that runs."""
    key = line.key if "." in line.key else f"{context.action}.{line.key}"
    in_short = LINES_BY_KEY.get(key)
    return iter([(key, *line.values)]) if in_short is None else in_short(context, *line.values)
