"""The Debug Adapter Protocol over one Driver: threads are cycles, frames upstream's functions, scopes tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from vcdebug.cli.output import RunFailure, run_or_failure
from vcdebug.cli.reports.script import answer_text, run_command
from vcdebug.cli.snapshots import open_driver
from vcdebug.debugger import figures
from vcdebug.debugger.breakpoints.function_kind import require_function
from vcdebug.debugger.commands import find_verb
from vcdebug.debugger.driver import DebuggerState, Driver, DriverStep
from vcdebug.debugger.fields import FIELD_NAMES, fields_of
from vcdebug.debugger.notebook import evaluate_text
from vcdebug.errors import VcdebugError
from vcdebug.files.text_files import open_source
from vcdebug.grouping import split_names
from vcdebug.model.names import Seq
from vcdebug.recording.call_stack import frames_at, function_at
from vcdebug.recording.recording import Recording
from vcdebug.releases.upstream_source import SourceFunction
from vcdebug.snapshot.file_access import expand_path
from vcdebug.snapshot.manifest import JsonDict, JsonObject
from vcdebug.views.equation import event_equation
from vcdebug.views.event_view import event_view
from vcdebug.views.headline import inner_words
from vcdebug.views.panels import PANEL_VIEWS
from vcdebug.views.pieces import NO, SKIPPED, YES, text_of
from vcdebug.views.table import Row, Table
from vcdebug.whatif.branch import BRANCH, ORIGINAL, OpenRecordings, RecordingSide

FRAMES_PER_THREAD: Final = 256
"""A frame's number is its thread's number times this, plus its depth on the stack."""
MAX_VARIABLES: Final = 500
"""Maximum number of rows that a client gets of a table; a last row states how many more there are."""
STEPS: Final[Mapping[str, tuple[DriverStep, bool]]] = {
    "next": ("over", False),
    "stepIn": ("inside", False),
    "stepOut": ("out", False),
    "continue": ("continue", False),
    "reverseContinue": ("continue", True),
}
"""Request → the movement, and whether it is backward."""
CAPABILITIES: Final = split_names(
    "supportsConfigurationDoneRequest supportsFunctionBreakpoints supportsConditionalBreakpoints "
    "supportsHitConditionalBreakpoints supportsLogPoints supportsDataBreakpoints supportsStepBack "
    "supportsEvaluateForHovers"
)


class Reply(NamedTuple):
    """The answer to a request."""

    body: JsonDict = {}
    events: tuple[tuple[str, JsonDict], ...] = ()
    """(event, body) pairs that are sent after the response."""


class Variable(NamedTuple):
    """A row of a scope."""

    name: str
    value: str
    make_inner: Callable[[], list[Variable]] | None = None
    """Makes the inner variables; None if there are none."""
    figure: str = ""
    """Words of the shown figure, for data breakpoints; empty if the row shows none."""


class DebugAdapter:
    """One client's session."""

    def __init__(self, source_folder: str | None = None) -> None:
        self.has_ended = False
        """Whether the client has disconnected."""
        self._source_folder = source_folder
        self._driver: Driver | None = None
        self._stops_at_entry = True
        self._set: dict[str, list[int]] = {}
        """Owner of a list of breakpoints (a file's path, `functions`, `data`) → their numbers."""
        self._variable_makers: list[Callable[[], list[Variable]]] = []
        """Functions behind variablesReference, which counts from 1; valid until the cursor moves."""
        self._source_functions: list[SourceFunction] = []
        """Functions behind sourceReference, which counts from 1."""

    @property
    def driver(self) -> Driver:
        """The driver of the launched snapshot."""
        if self._driver is None:
            raise VcdebugError("nothing is launched")
        return self._driver

    def answer(self, request: JsonObject) -> Iterator[JsonDict]:
        """The response to a request and the events behind it; a request that fails has a response, too."""
        command, arguments = request["command"], request.get("arguments") or {}
        reply = run_or_failure(lambda: self._handle_request(command, arguments))
        response = {"type": "response", "request_seq": request["seq"], "command": command}
        if isinstance(reply, RunFailure):
            body = {"error": {"id": 1, "format": reply.line.replace("{", "(").replace("}", ")"), "showUser": True}}
            yield {**response, "success": False, "message": reply.line, "body": body}
            return
        yield {**response, "success": True, "body": reply.body}
        yield from ({"type": "event", "event": name, "body": body} for name, body in reply.events)

    def _handle_request(self, command: str, arguments: JsonObject) -> Reply:
        if command in STEPS:
            return self._step(*STEPS[command], arguments)
        if command not in REQUESTS:
            raise VcdebugError(f"the request {command} is not supported")
        return REQUESTS[command](self, arguments)

    # The life of a session.

    def describe_abilities(self, _: JsonObject) -> Reply:
        """The capabilities of the adapter."""
        return Reply(dict.fromkeys(CAPABILITIES, True))

    def launch_snapshot(self, arguments: JsonObject) -> Reply:
        """Replay the snapshot, and run the commands that are given."""
        self._driver = open_driver(arguments)
        self._source_folder = arguments.get("source") or self._source_folder
        self.driver.source = open_source(self._source_folder) if self._source_folder else None
        self._stops_at_entry = arguments.get("stopOnEntry", True)
        answers = [answer_text(run_command(self.driver, line)) for line in arguments.get("commands") or ()]
        return Reply(events=(*map(_output_event, answers), ("initialized", {})))

    def configuration_done(self, _: JsonObject) -> Reply:
        """Stop at the first event, or at the first breakpoint."""
        if not self._stops_at_entry:
            return self._step("continue", False, {})
        return Reply(events=(self._stopped_event("entry"),))

    def end_session(self, _: JsonObject) -> Reply:
        """Answer the request to disconnect."""
        self.has_ended = True
        return Reply()

    def _stopped_event(self, reason: str = "") -> tuple[str, JsonDict]:
        """The `stopped` event: where the cursor is, and why; earlier variable references become invalid."""
        self._variable_makers.clear()
        state = self.driver.current_state()
        hits = [point.number for point in state.breakpoints if point.enabled and state.seq in point.hits]
        at_breakpoint = state.reason.startswith("breakpoint ")
        usual = "breakpoint" if at_breakpoint else "step" if state.reason == "step" else "pause"
        return "stopped", {
            "reason": reason or usual,
            "description": f"event {state.seq}: {state.reason}{_inner_text(state)}",
            "threadId": _shown_thread(self.driver.open_recordings),
            "allThreadsStopped": True,
            **({"hitBreakpointIds": hits} if at_breakpoint else {}),
        }

    # Movement.

    def _step(self, verb: DriverStep, back: bool, arguments: JsonObject) -> Reply:
        self._show_thread(arguments.get("threadId"))
        log = self.driver.debugger.log
        log_length = len(log)
        self.driver.take_step(verb, back=back)
        log_events = [_output_event(f"event {line.seq}  {line.text}") for line in log[log_length:]]
        return Reply({"allThreadsContinued": True}, (*log_events, self._stopped_event()))

    def step_back(self, arguments: JsonObject) -> Reply:
        """Undo the last step; without one, step backward like `next`."""
        self._show_thread(arguments.get("threadId"))
        debugger = self.driver.debugger
        into = debugger.position.inside or debugger.last_verb == "into"
        return self._step("inside" if into else debugger.last_verb, True, {})

    def _show_thread(self, thread: int | None) -> None:
        """Show the cycle of a thread number, on which the client acts."""
        recordings = self.driver.open_recordings
        if thread is not None and thread != _shown_thread(recordings):
            side, cycle = _thread_place(thread)
            self.driver.show_recordings(recordings.show_cycle(side, cycle), f"cycle {cycle}")
            self._variable_makers.clear()

    # Threads, frames, scopes and variables.

    def list_threads(self, _: JsonObject) -> Reply:
        """A thread per open cycle: first the original ones, then those of the edited branch."""
        open_ = self.driver.open_recordings
        branch = len(open_.cycles_of(BRANCH)) if open_.branch else 0
        cycles = [(2 * cycle, f"cycle {cycle}") for cycle in range(1, len(open_.original) + 1)]
        edited = [(2 * cycle + 1, f"cycle {cycle}, edited") for cycle in range(open_.start, branch + 1)]
        return Reply({"threads": [{"id": number, "name": name} for number, name in (*cycles, *edited)]})

    def stack_trace(self, arguments: JsonObject) -> Reply:
        """Upstream's functions at the event, innermost first."""
        thread, open_ = arguments["threadId"], self.driver.open_recordings
        side, cycle = _thread_place(thread)
        recording = open_.show_cycle(side, cycle).shown_recording
        calls = frames_at(recording, self.driver.workbench.debugger_of(recording).seq)[::-1]
        frames = [self._frame(thread * FRAMES_PER_THREAD + depth, call.function) for depth, call in enumerate(calls)]
        start = arguments.get("startFrame") or 0
        end = start + (arguments.get("levels") or len(frames))
        return Reply({"stackFrames": frames[start:end], "totalFrames": len(frames)})

    def _frame(self, number: int, function: SourceFunction) -> JsonDict:
        name, source = function.file.rpartition("/")[2], self.driver.source
        if self._source_folder and source is not None and function.lines_in(source):
            path = expand_path(self._source_folder).absolute() / "pkg" / "scheduler" / function.file
            origin: JsonDict = {"name": name, "path": str(path)}
            return {
                "id": number,
                "name": function.short_name,
                "line": function.first_line,
                "column": 1,
                "source": origin,
            }
        if function not in self._source_functions:
            self._source_functions.append(function)
        origin = {"name": function.file_line, "sourceReference": self._source_functions.index(function) + 1}
        return {"id": number, "name": function.short_name, "line": 1, "column": 1, "source": origin}

    def read_source(self, arguments: JsonObject) -> Reply:
        """A text in place of a function's missing source: its place and rule."""
        number = (arguments.get("source") or arguments)["sourceReference"]
        state, function = self.driver.current_state(), self._source_functions[number - 1]
        if function != function_at(state.recording, state.seq):
            return Reply({"content": f"{function} in {state.recording.session.release.display_name()}"})
        return Reply({"content": "\n".join(map(text_of, PANEL_VIEWS["source"].build_table(state).header))})

    def list_scopes(self, arguments: JsonObject) -> Reply:
        """Verdicts, equation, figures and fields of the event."""
        self._show_thread(arguments["frameId"] // FRAMES_PER_THREAD)
        state = self.driver.current_state()
        readers: tuple[tuple[str, Callable[[], list[Variable]]], ...] = (
            ("Verdicts", lambda: _table_variables(event_view(state.recording, state.seq))),
            ("Equation", lambda: _table_variables(event_equation(state.recording, state.seq, state.inside))),
            ("Figures", lambda: _figure_variables(state)),
            ("Event", lambda: _field_variables(state)),
        )
        scopes = [
            {"name": name, "variablesReference": self._refer_to(inner), "expensive": False} for name, inner in readers
        ]
        return Reply({"scopes": scopes})

    def _refer_to(self, inner: Callable[[], list[Variable]] | None) -> int:
        if inner is None:
            return 0
        self._variable_makers.append(inner)
        return len(self._variable_makers)

    def _variables_of(self, reference: int) -> list[Variable]:
        if not 0 < reference <= len(self._variable_makers):
            raise VcdebugError("the cursor has moved since")
        return self._variable_makers[reference - 1]()

    def list_variables(self, arguments: JsonObject) -> Reply:
        """The rows of a scope, or the inner variables of a row."""
        rows = self._variables_of(arguments["variablesReference"])
        bodies = [
            {"name": row.name, "value": row.value, "variablesReference": self._refer_to(row.make_inner)} for row in rows
        ]
        return Reply({"variables": bodies})

    def evaluate_words(self, arguments: JsonObject) -> Reply:
        """The value of a figure or an expression; in the console also a command, as `:` takes it."""
        if arguments.get("frameId") is not None:
            self._show_thread(arguments["frameId"] // FRAMES_PER_THREAD)
        text, debugger = arguments["expression"].strip(), self.driver.debugger
        try:
            return Reply({"result": evaluate_text(debugger.recording, debugger.seq, text), "variablesReference": 0})
        except VcdebugError:
            if arguments.get("context") != "repl" or find_verb(text.removeprefix(":").partition(" ")[0]) is None:
                raise
        before = self.driver.current_state()
        result = answer_text(run_command(self.driver, text))
        after = self.driver.current_state()
        moved = (after.recording, after.seq) != (before.recording, before.seq)
        return Reply({"result": result, "variablesReference": 0}, (self._stopped_event(),) if moved else ())

    # Breakpoints.

    def set_breakpoints(self, arguments: JsonObject) -> Reply:
        """Set the breakpoints of a file: each stops at the function that contains its line."""
        path = arguments["source"].get("path") or arguments["source"].get("name") or ""
        file = path.rpartition("pkg/scheduler/")[2] if "pkg/scheduler/" in path else Path(path).name
        points = arguments.get("breakpoints") or ()
        words = [f"{file}:{point['line']}" for point in points]
        functions = [f'function "{word}"' for word in words]
        answers = self._replace(path, list(zip(functions, points, strict=True)))
        for word, answer in zip(words, answers, strict=True):
            if answer["verified"]:
                answer["line"] = require_function(self.driver.debugger.recording, word).first_line
        return Reply({"breakpoints": answers})

    def set_function_breakpoints(self, arguments: JsonObject) -> Reply:
        """Set breakpoints on functions, or with any words that `break` accepts."""
        points = [(point["name"], point) for point in arguments["breakpoints"]]
        return Reply({"breakpoints": self._replace("functions", points)})

    def set_data_breakpoints(self, arguments: JsonObject) -> Reply:
        """Set breakpoints on changes of figures."""
        points = [(f"data {point['dataId']}", point) for point in arguments["breakpoints"]]
        return Reply({"breakpoints": self._replace("data", points)})

    def data_breakpoint_info(self, arguments: JsonObject) -> Reply:
        """The figure of a variable, or the one that the text names."""
        reference, name = arguments.get("variablesReference"), arguments["name"]
        variables = self._variables_of(reference) if reference else ()
        figure = next((variable.figure for variable in variables if variable.name == name), "")
        if not reference:
            figure = str(figures.parse_figure_line(self.driver.debugger.recording, name))
        description = f"each change of {figure}" if figure else "no figure of the state"
        return Reply({"dataId": figure or None, "description": description, "accessTypes": ["write"]})

    def _replace(self, owner: str, points: list[tuple[str, JsonObject]]) -> list[JsonDict]:
        """Replace the breakpoints of an owner's list; returns one description per breakpoint."""
        for number in self._set.pop(owner, ()):
            self.driver.remove_breakpoint(number)
        answers = []
        for words, options in points:
            answer = run_or_failure(partial(self.driver.add_breakpoint, _break_line(words, options)))
            if isinstance(answer, RunFailure):
                answers.append({"verified": False, "message": answer.line})
                continue
            number = self.driver.current_state().breakpoints[-1].number
            self._set.setdefault(owner, []).append(number)
            answers.append({"id": number, "verified": True, "message": answer})
        return answers


def _inner_text(state: DebuggerState) -> str:
    """The step inside the event, such as `, comparison 2 of 5`; empty at the event itself."""
    return f", {inner_words(state.recording, state.seq, state.inside)}" if state.inside else ""


REQUESTS: Final[Mapping[str, Callable[[DebugAdapter, JsonObject], Reply]]] = {
    "initialize": DebugAdapter.describe_abilities,
    "launch": DebugAdapter.launch_snapshot,
    "attach": DebugAdapter.launch_snapshot,
    "configurationDone": DebugAdapter.configuration_done,
    "setExceptionBreakpoints": lambda _, __: Reply({"breakpoints": []}),
    "setBreakpoints": DebugAdapter.set_breakpoints,
    "setFunctionBreakpoints": DebugAdapter.set_function_breakpoints,
    "setDataBreakpoints": DebugAdapter.set_data_breakpoints,
    "dataBreakpointInfo": DebugAdapter.data_breakpoint_info,
    "threads": DebugAdapter.list_threads,
    "stackTrace": DebugAdapter.stack_trace,
    "scopes": DebugAdapter.list_scopes,
    "variables": DebugAdapter.list_variables,
    "source": DebugAdapter.read_source,
    "evaluate": DebugAdapter.evaluate_words,
    "stepBack": DebugAdapter.step_back,
    "disconnect": DebugAdapter.end_session,
    "terminate": DebugAdapter.end_session,
}
"""Request → its handler, besides STEPS."""


def _thread_place(thread: int) -> tuple[RecordingSide, int]:
    """(side, cycle) of a thread number of the protocol."""
    return BRANCH if thread % 2 else ORIGINAL, thread // 2


def _shown_thread(open_: OpenRecordings) -> int:
    return 2 * open_.cycle + (open_.side == BRANCH)


def _output_event(text: str) -> tuple[str, JsonDict]:
    return "output", {"category": "console", "output": f"{text}\n"}


def _break_line(words: str, options: JsonObject) -> str:
    """The words of `break` for a breakpoint of the protocol."""
    parts = [words]
    if condition := options.get("condition"):
        parts.append(f"if {condition}")
    if hits := (options.get("hitCondition") or "").strip():
        every = hits.removeprefix("%").strip() if hits.startswith("%") else ""
        parts.append(
            f"hits == {hits}" if hits.isdigit() else f"hits % {every} == 0" if every.isdigit() else f"hits {hits}"
        )
    if text := options.get("logMessage"):
        parts.append(f"log {' '.join(text.split())}")
    return " ".join(parts)


# Variables.


def _table_variables(table: Table) -> list[Variable]:
    """Variables of a table: its title with the lines above, one per row, and the lines below."""
    heading = Variable("about", "  ".join(filter(None, (table.title, *map(text_of, table.header)))))
    rows = [_row_variable(table, table.rows[row]) for row in range(min(len(table.rows), MAX_VARIABLES))]
    hidden = len(table.rows) - len(rows)
    below = [Variable("result", "  ".join(map(text_of, table.footer)))] if table.footer else []
    return [heading, *rows, *([Variable("…", f"{hidden} more")] if hidden else []), *below]


def _row_variable(table: Table, row: Row) -> Variable:
    """A row as a variable: named by its first cell with a name, with the other cells as its value."""
    texts = [cell.text.strip() for cell in row.cells]
    filled = [(column, text) for column, text in enumerate(texts) if text]
    first = next((column for column, text in filled if not text.isdigit() and text not in (YES, NO, SKIPPED)), 0)
    cells = [Variable(table.columns[column].title or "-", text) for column, text in filled if column != first]
    value = ", ".join(f"{cell.name} {cell.value}".removeprefix("- ") for cell in cells)
    return Variable(texts[first], value, lambda: cells)


def _figure_variables(state: DebuggerState) -> list[Variable]:
    """A variable per object of the event, with the object's figures as inner variables."""
    objects = (("job", state.job), ("task", state.task), ("node", state.node), ("queue", state.queue))
    present = [(kind, name) for kind, name in objects if name in figures.object_names(state.recording, kind)]
    return [
        Variable(f"{kind} {name}", "", partial(_parts_of, state.recording, state.seq, kind, name))
        for kind, name in present
    ]


def _parts_of(recording: Recording, seq: Seq, kind: str, name: str) -> list[Variable]:
    parsed = (
        figures.parse_figure(recording, (kind, name, part)) for part in figures.figure_parts(recording, kind, name)
    )
    return [_figure_variable(recording, seq, figure, figure.part) for figure in parsed]


def _figure_variable(recording: Recording, seq: Seq, figure: figures.Figure, name: str) -> Variable:
    dims = () if figure.dim else figures.figure_dimensions(recording, figure)
    parts = [(figure._replace(dim=dim), dim) for dim in dims]
    inner = (lambda: [_figure_variable(recording, seq, *part) for part in parts]) if parts else None
    value = figures.format_figure(figure, figures.figure_value(recording, figure, seq))
    return Variable(name, value, inner, str(figure))


def _field_variables(state: DebuggerState) -> list[Variable]:
    fields = fields_of(state.recording, state.seq)
    read = ((name, fields(name)) for name in FIELD_NAMES)
    return [
        Variable(name, ", ".join(value) if isinstance(value, tuple) else str(value))
        for name, value in read
        if value not in (None, ())
    ]
