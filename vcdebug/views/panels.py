"""The registry of panels and pages: each is a table about the current event, the same on screen and in a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from vcdebug.debugger import commands
from vcdebug.debugger.commands import CommandError
from vcdebug.debugger.driver import DebuggerState
from vcdebug.framework.registry import resolve_reference
from vcdebug.views.pieces import Piece
from vcdebug.views.table import Column, Row, Table

PanelGroup = Literal["cycle", "cluster", "debugger"]
PANEL_GROUPS: Final[tuple[PanelGroup, ...]] = get_args(PanelGroup)
VERB_COLUMNS = (Column("command"), Column("does", flexible=True))


class PanelView(NamedTuple):
    """One panel: its names, and the function that builds its table."""

    title: str
    key: str
    """The key that opens it, unless the settings name another one."""
    help: str
    """One sentence for the help."""
    function: str
    """`module:function` of this room, imported when the panel is first shown."""
    of: tuple[str, ...] = ("recording", "seq")
    """The fields of DebuggerState that the function takes."""
    leads: bool = False
    """Whether its rows lead to events."""
    keeps_row: bool = False
    """Whether the cursor stays on its row when another recording is shown, whatever that one's event is about."""
    group: PanelGroup = "cycle"
    """Whether it is about the cycle, the cluster at an event, or the user's breakpoints, watches and bookmarks."""

    @property
    def command_name(self) -> str:
        """Its name in commands and settings."""
        return self.title.lower()

    def build_table(self, here: DebuggerState) -> Table:
        """The panel's table at a state of the debugger."""
        table: Table = resolve_reference(f"vcdebug.views.{self.function}")(*(getattr(here, name) for name in self.of))
        return table


PANELS: Final[tuple[PanelView, ...]] = (
    PanelView(
        "Flow",
        "1",
        "actions, queues, jobs, tasks and nodes in order, with what came of each",
        "flow:flow_at",
        leads=True,
    ),
    PanelView(
        "Moment",
        "2",
        "the present event in full: votes by tier, victims, node by reason, node by plugin, before and after; "
        "before the first step what the whole cycle came to, Enter goes into a line",
        "overview:moment_table",
        of=("recording", "seq", "reason"),
    ),
    PanelView(
        "Equation",
        "3",
        "the arithmetic of the present answer, per dimension, the deciding one marked",
        "overview:arithmetic_table",
        of=("recording", "seq", "reason"),
    ),
    PanelView(
        "Inside",
        "i",
        "what each part of a score was made of, the best node beside the runner-up; for predicates what PreFilter left "
        "and what each filter compared, the error cache's hits among them",
        "inside:inside_table",
        of=("recording", "seq", "node"),
    ),
    PanelView(
        "Statement",
        "4",
        "operations of the open statement, whether it is committed or discarded, and why",
        "statement:statement_table",
    ),
    PanelView(
        "Order",
        "O",
        "queues, jobs, tasks and victims in the order of their turn, and which plugin's comparison decided",
        "order:orders_table",
        leads=True,
    ),
    PanelView(
        "Funnel",
        "V",
        "the search for victims: how many tasks each filter leaves on each node, and which leaves nobody",
        "victim_search:funnel_table",
        leads=True,
    ),
    PanelView(
        "DryRun",
        "D",
        "topology-aware preemption: whom each node's dry run takes away and spares, and the rule that chose the node",
        "victim_search:dry_run_table",
        leads=True,
    ),
    PanelView(
        "Session",
        "Z",
        "how the session opens and closes, step by step: snapshot, plugins, CycleStates; phases, conditions, queues",
        "flow:session_table",
        leads=True,
    ),
    PanelView(
        "Effects",
        "0",
        "what the cycle writes to the API server: binds, evictions, conditions, statuses, events",
        "effects:effects_table",
        leads=True,
    ),
    PanelView(
        "Evictions",
        "E",
        "who was evicted for whom, by which action and tier, and whether it was committed",
        "effects:evictions_table",
        leads=True,
    ),
    PanelView(
        "Log",
        "v",
        "the lines that the real scheduler would print at -v=3, 4 or 5, those of the present event marked",
        "log:log_table",
        leads=True,
    ),
    PanelView(
        "Request",
        "W",
        "what the present task asks for: containers, init containers, sidecars, overhead, pod-level resources",
        "jobs:event_request_table",
    ),
    PanelView(
        "Jobs",
        "5",
        "every job with ready, waiting and pending tasks at this moment",
        "jobs:jobs_table",
        of=("recording", "seq", "job"),
        keeps_row=True,
        group="cluster",
    ),
    PanelView(
        "Nodes",
        "6",
        "every node with its idle amounts at this moment; releasing, pipelined and remarks where the cycle has any",
        "nodes:nodes_table",
        of=("recording", "seq", "node"),
        keeps_row=True,
        group="cluster",
    ),
    PanelView(
        "Queues",
        "7",
        "every queue with deserved, allocated, request and share at this moment",
        "queues:queues_table",
        of=("recording", "seq", "queue"),
        keeps_row=True,
        group="cluster",
    ),
    PanelView(
        "HyperNodes",
        "H",
        "the network topology as a tree: HyperNodes with their tiers and nodes, and where the present job's pods sit",
        "nodes:hypernodes_table",
        of=("recording", "node", "job", "seq"),
        group="cluster",
    ),
    PanelView(
        "Problems",
        "9",
        "problems of the snapshot and its configuration, and quirks of the scheduler that acted",
        "problems:problems_table",
        of=("recording",),
        leads=True,
        group="cluster",
    ),
    PanelView(
        "Quirks",
        "Q",
        "odd things that the real scheduler did in this cycle, where, and what they can change",
        "problems:quirks_table",
        leads=True,
        group="cluster",
    ),
    PanelView(
        "Conf",
        "p",
        "the configuration in force: actions, plugins by tier, switches, flags, chance; what is misspelt or unknown",
        "conf:conf_table",
        of=("recording",),
        group="cluster",
    ),
    PanelView(
        "Tiers",
        "T",
        "the plugins as the session opened them: hooks that each registered, switches on, off or misspelt, handlers",
        "votes:tiers_table",
        of=("recording",),
        group="cluster",
    ),
    PanelView(
        "Breaks",
        "8",
        "breakpoints with their conditions and how often they stop",
        "notebook:breakpoints_table",
        of=("breakpoints",),
        group="debugger",
    ),
    PanelView(
        "Watch",
        "a",
        "figures and expressions that are watched: value now and before, last change; Enter goes there",
        "notebook:watches_table",
        of=("recording", "seq", "watches"),
        leads=True,
        group="debugger",
    ),
    PanelView(
        "Bookmarks",
        "M",
        "bookmarks with their notes; Enter goes there, :report FILE.html writes them down with what the screen shows",
        "notebook:bookmarks_table",
        of=("recording", "seq", "bookmarks", "bookmarks_elsewhere"),
        leads=True,
        group="debugger",
    ),
)
"""All panels in the screen's order: a new panel is one entry here."""
PANEL_VIEWS: Final[Mapping[str, Callable[[DebuggerState], Table]]] = {
    panel.command_name: panel.build_table for panel in PANELS
}


def find_panel(here: DebuggerState, name: str) -> Table:
    """The table of a panel by its name or the begin of it, Moment by default; raises CommandError."""
    word = (name or "moment").lower()
    found = [known for known in PANEL_VIEWS if word.startswith(known) or known.startswith(word)]
    if len(found) != 1:
        raise CommandError(f"no panel {name!r}", hint=f"panels are {', '.join(PANEL_VIEWS)}")
    return PANEL_VIEWS[found[0]](here)


def verbs_table() -> Table:
    """Every `:` command with its usage and help."""
    rows = [
        Row(verb.names[0], (Piece(f"{', '.join(verb.names)} {verb.usage}".rstrip(), "strong"), Piece(verb.help)))
        for verb in commands.list_verbs()
    ]
    return Table("Commands", VERB_COLUMNS, rows)


# Pages, which commands open over the panels.


def _lazy_view(reference: str) -> Callable[..., Any]:  # Any: pages take different arguments
    """`module:function` of this room as a function that imports it on its first call."""
    # Importing every page's module at the start would delay the first screen.
    return lambda *asked: resolve_reference(f"vcdebug.views.{reference}")(*asked)


def _no_commands(_: Row) -> tuple[str, ...]:
    return ()


class Page(NamedTuple):
    """A page: its table, and the commands of its rows."""

    view: Callable[[DebuggerState], Table]
    commands: Callable[[Row], tuple[str, ...]] = _no_commands
    """The command of Enter, and of x if there are two."""
    keys: str = ""
    """What Enter and x do, in words."""


PAGES: Final[Mapping[str, Page]] = {
    "edits": Page(_lazy_view("comparison:edits_table")),
    "diff": Page(
        _lazy_view("comparison:difference_table"),
        _lazy_view("comparison:commands_of"),
        "Enter shows it in the branch   x in the original",
    ),
    "cycles": Page(_lazy_view("cycles:shown_cycles_table"), lambda row: (row.key,), "Enter shows the cycle"),
    "changes": Page(_lazy_view("cycles:capture_changes")),
    "overview": Page(
        lambda here: _lazy_view("overview:overview_table")(here.recording), lambda row: (row.key,), "Enter goes into it"
    ),
    "waiting": Page(_lazy_view("pending:pending_jobs_table"), lambda row: (f"explain {row.key}",), "Enter explains it"),
}
