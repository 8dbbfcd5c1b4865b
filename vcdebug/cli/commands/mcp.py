"""`vcdebug mcp`: the debugger as tools for agents, by the Model Context Protocol; they read, and change nothing."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from functools import partial, wraps
from threading import Lock
from typing import TYPE_CHECKING, Final

from vcdebug import __version__
from vcdebug.amount_text import count_noun
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output, RunFailure, run_or_failure
from vcdebug.errors import VcdebugError, missing_extra
from vcdebug.grouping import split_names

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from vcdebug.debugger.driver import Driver

MAX_CHARACTERS: Final = 12_000
"""Maximum length of an answer; the rest is cut, and a last line says so."""
MOVES: Final = ("step", "next", "out", "continue", "back-step", "back-next", "back-out", "back-continue")
PAGES: Final = split_names("panel jobs pods nodes queues overview pending log where why source fits")
INSTRUCTIONS: Final = (
    "vcdebug replays one scheduling cycle of Volcano from a snapshot, with the decisions of the real scheduler, and "
    "proves its answers by numbered events. Call open_snapshot first, then explain. Quote its sentences as they are."
)


class McpCommand(Command):
    """Serves tools on standard input and output."""

    HELP = "Serve snapshots to an agent (Model Context Protocol, read-only)"
    EXAMPLES = ("mcp",)
    EXITS = "Exit status: 0 the agent has disconnected, 1 error, 130 interrupted"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Adds no arguments: the agent names the snapshot."""

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        try:
            server = build_server()
        except ImportError as error:
            raise missing_extra("mcp") from error
        server.run()
        return CommandOutcome.DONE


class SnapshotTools:
    """The tools of one client. The docstrings of the methods are what an agent reads."""

    def __init__(self) -> None:
        self._driver: Driver | None = None

    def open_snapshot(
        self, snapshot: str, release: str = "", complete: bool = False, edits: list[str] | None = None
    ) -> str:
        """Open a snapshot (a path, or the name of a bundled one) and replay its cycle; answers with an overview.

        release replays another release's scheduler, such as v1.14.4. complete fills in what an API server would have
        filled in. edits change something first, such as conf:plugins.gang.enablePreemptable=false.
        """
        from vcdebug.cli.snapshots import open_driver

        _check_edits(edits or ())
        # Without `complete`, the snapshot's own setting applies.
        options = {"snapshot": snapshot, "release": release or None, "complete": complete or None, "set": edits or []}
        self._driver = open_driver(options)
        recording = self._driver.debugger.recording
        session = recording.session
        counts = ((len(recording), "event"), (len(session.jobs), "job"), (len(session.nodes), "node"))
        summary = f"{snapshot}: {', '.join(count_noun(*count) for count in counts)}"
        return f"{summary}. {recording.snapshot.release.describe_trust()}.\n{self._run('overview')}"

    def explain_job(self, job: str = "") -> str:
        """Why a job or pod is Pending: cause with its numbers, proof, fixes; without a name all Pending jobs."""
        return self._run(f"explain {job}" if job else "pending")

    def ask_question(self, question: str, subject: str = "") -> str:
        """Answer a question about a pod, job, node or queue.

        evicted: why was this pod evicted; holders: who holds what it needs; node: why this node; refused: why no other
        node; victim: why this victim; next: which job would be tried next; when: in which cycle will it be placed.
        """
        return self._run(f"ask {question} {subject}".rstrip())

    def find_fixes(self, job: str) -> str:
        """Changes that would schedule a Pending job, each tried by a replay, the least harmful first."""
        return self._run(f"prove {job}")

    def try_edits(self, edits: list[str], explain: str = "") -> str:
        """Replay with edits, and list what changes; explain names a job to explain after them. The snapshot stays.

        An edit is KIND/[NAMESPACE/]NAME:PATH=VALUE, conf:PATH=VALUE, PATH- to remove a field, :- to remove an object,
        such as queue/research:spec.weight=4 or conf:plugins.gang.enablePreemptable=false.
        """
        _check_edits(edits)
        try:
            answers = [self._run(f"set {edit}") for edit in edits]
            return "\n".join([*answers, self._run("diff"), *([self._run(f"explain {explain}")] if explain else ())])
        finally:
            self._run("edits clear")

    def find_events(self, breakpoint: str) -> str:
        """All events that a breakpoint stops at, such as: victim if plugin == "gang" and "ml/a-0" in candidates.

        Kinds are victim, predicate, vote, statement, gang.preemptableFn and other functions, data FIGURE, and more.
        """
        return self._run(f"find {breakpoint}")

    def move_cursor(self, move: str = "step", stop_at: str = "") -> str:
        """Move to another event: step, next, out, continue, each also as back-..., or an event's number.

        continue goes to the next event that stop_at, a breakpoint as in find, stops at.
        """
        if move not in MOVES and not move.isdigit():
            raise VcdebugError(f"no move {move!r}", f"{', '.join(MOVES)}, or an event's number")
        driver = self._require_driver()
        driver.clear_breakpoints()
        if stop_at:
            driver.add_breakpoint(stop_at)
        return "\n".join(self._run(line) for line in (move, "panel moment", "panel equation"))

    def read_page(self, what: str) -> str:
        """What there is to see at the present event: `where` (Volcano's call stack), `panel NAME` (flow, moment,
        equation, statement, order, effects, evictions, problems, conf, tiers and more), `nodes NAME`, `jobs NAME`,
        `queues NAME`, `why FIGURE`, `log 4`, a figure (node n1 idle cpu) or an expression (count(victims)).
        """
        from vcdebug.debugger.notebook import evaluate_text

        if what.partition(" ")[0] in PAGES:
            return self._run(what)
        debugger = self._require_driver().debugger
        return evaluate_text(debugger.recording, debugger.seq, what)

    def _require_driver(self) -> Driver:
        if self._driver is None:
            raise VcdebugError("no snapshot is open", "open_snapshot opens one")
        return self._driver

    def _run(self, line: str) -> str:
        from vcdebug.cli.reports.script import answer_text, run_command

        return answer_text(run_command(self._require_driver(), line))


def build_server() -> MCPServer:
    """A server of the tools; raises ImportError without the extra."""
    from mcp.server import MCPServer
    from mcp_types import ToolAnnotations

    server = MCPServer("vcdebug", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")
    tools, lock = SnapshotTools(), Lock()
    reads_only = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    methods: dict[str, Callable[..., str]] = {
        "open_snapshot": tools.open_snapshot,
        "explain": tools.explain_job,
        "ask": tools.ask_question,
        "fixes": tools.find_fixes,
        "what_if": tools.try_edits,
        "find": tools.find_events,
        "step": tools.move_cursor,
        "read": tools.read_page,
    }
    for name, method in methods.items():
        server.add_tool(_one_at_a_time(method, lock), name, annotations=reads_only, structured_output=False)
    return server


def _one_at_a_time(method: Callable[..., str], lock: Lock) -> Callable[..., str]:
    """The tool for the server, which calls it from several threads; the lock runs one call at a time."""

    @wraps(method)
    def call_tool(**arguments: object) -> str:
        with lock:
            return _answer_call(partial(method, **arguments))

    return call_tool


def _answer_call(call: Callable[[], str]) -> str:
    """The tool's text, cut to MAX_CHARACTERS, or its failure in one line."""
    from mcp.server.mcpserver.exceptions import ToolError

    text = run_or_failure(call)
    if isinstance(text, RunFailure):
        raise ToolError(text.line)
    return cut_text(text)


def cut_text(text: str) -> str:
    """The first lines of a long text, with the number of lines left out."""
    if len(text) <= MAX_CHARACTERS:
        return text
    shown_text = text[:MAX_CHARACTERS].rpartition("\n")[0] or text[:MAX_CHARACTERS]
    lines_left = text.count("\n") - shown_text.count("\n")
    return f"{shown_text}\n… {count_noun(lines_left, 'more line')}: ask for less, with a name or a condition"


def _check_edits(edits: Sequence[str]) -> None:
    """Raise VcdebugError for @FILE: an agent could have any file quoted in the error."""
    if any(edit.strip().startswith("@") for edit in edits):
        raise VcdebugError("edits cannot come from a file here", "write them out")
