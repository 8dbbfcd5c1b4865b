"""The registry of panels and pages: each is a table about the current event, the same on screen and in a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.debugger import commands
from vcdebug.debugger.commands import CommandError
from vcdebug.debugger.cursor import OVERVIEW
from vcdebug.debugger.driver import DebuggerState
from vcdebug.framework.registry import resolve_reference
from vcdebug.views.pieces import Piece, make_line, muted_lines
from vcdebug.views.table import Row, Table, table_columns

if TYPE_CHECKING:
    from vcdebug.debugger.lesson import Lesson

PanelGroup = Literal["cycle", "cluster", "debugger"]
PANEL_GROUPS: Final[tuple[PanelGroup, ...]] = get_args(PanelGroup)
LESSON_COLUMNS = table_columns("lesson", "answered", "about~")
VERB_COLUMNS = table_columns("command", "does~")


PANEL_HELP: Final = """\
Flow       Cycle as a tree: actions, queues, jobs, tasks, nodes, each with its result
Moment     Current event in detail: answers by tier, victims, nodes, scores; at event 0 the overview
Equation   Calculation behind the current answer, per resource; the deciding line is marked
Inside     Scores: best node and runner-up; what each filter compared; the comparisons before a pop
Statement  Operations of the open statement, and whether it is committed or discarded
Order      Processing order of queues, jobs, tasks and victims, and the plugin that decided it
Funnel     Victim search by node: how many candidates pass each filter, and where none is left
DryRun     Topology-aware preemption: victims of each node's dry run, and the rule that chose the node
Session    Session open and close, step by step: snapshot, plugins, phases, conditions, queue status
Effects    Writes to the API server: binds, evictions, conditions, statuses, events
Evictions  Evicted pods, the pods they made room for, action, tier, outcome
Log        Scheduler log at -v=3, 4 or 5; lines of the current event are marked
Request    Resource request of the current task: containers, init containers, sidecars, overhead, pod-level resources
Source     Volcano's function at the current event, and its text with --source DIR or VCDEBUG_SOURCE
Quirks     Known scheduler bugs and quirks in this cycle, with their possible impact
Jobs       All jobs with ready, pipelined and pending tasks at the current event
Nodes      All nodes with idle, releasing and pipelined resources at the current event
Queues     All queues with deserved, allocated, requested resources and share at the current event
HyperNodes HyperNode tree with tiers, nodes, and the pods of the current job
Problems   Problems in the snapshot and configuration, and known scheduler quirks in this cycle
Conf       Effective configuration: actions, plugins by tier, switches, flags; misspelled or unknown settings
Tiers      Plugins by tier: registered hooks, enabled and disabled switches, event handlers
Breaks     Breakpoints with conditions and hit counts
Watch      Watched figures and expressions: current and previous value, last change
Bookmarks  Bookmarks with notes; :report FILE.html exports them
"""
"""The sentence of each panel for help, list and palette: its title, then the words."""
_HELP_BY_TITLE: Final = dict(line.split(maxsplit=1) for line in PANEL_HELP.splitlines())


class PanelView(Struct, frozen=True):
    """One panel: its names, and the function that builds its table."""

    title: str
    key: str
    """The key that opens the panel, unless the settings name another one."""
    function: str
    """`module:function` in vcdebug.views, imported when the panel is first shown."""
    fields: tuple[str, ...] = ("recording", "seq")
    """The fields of DebuggerState that the function takes."""
    leads_to_events: bool = False
    """Whether rows of the panel lead to events."""
    keeps_row: bool = False
    """Whether the cursor stays on its row when another recording is shown, instead of moving to the event's row."""
    group: PanelGroup = "cycle"
    """Whether it is about the cycle, the cluster at an event, or the user's breakpoints, watches and bookmarks."""

    @property
    def help(self) -> str:
        """One sentence for the help."""
        return _HELP_BY_TITLE[self.title]

    @property
    def command_name(self) -> str:
        """The panel's name in commands and settings."""
        return self.title.lower()

    def build_table(self, here: DebuggerState) -> Table:
        """The panel's table at a state of the debugger."""
        table: Table = resolve_reference(f"vcdebug.views.{self.function}")(
            *(getattr(here, name) for name in self.fields)
        )
        if not (len(table.rows) or table.header or table.footer):
            table = replace(table, footer=muted_lines(f"no {self.command_name} in this snapshot"))
        if self.keeps_row and here.at_overview and here.number == OVERVIEW:
            # The overview next to the panel shows the end of the cycle and has no current row; Pending jobs come first.
            sought = "" if "job" in self.fields else table.current
            return replace(table, title=f"{table.title} before the cycle", current="", target=sought)
        return table


PANELS: Final[tuple[PanelView, ...]] = (
    PanelView("Flow", "1", "flow:flow_at", leads_to_events=True),
    PanelView("Moment", "2", "overview:moment_table", fields=("recording", "seq", "at_overview", "inside")),
    PanelView("Equation", "3", "overview:arithmetic_table", fields=("recording", "seq", "at_overview", "inside")),
    PanelView("Inside", "i", "inside:inside_table", fields=("recording", "seq", "node", "inside")),
    PanelView("Statement", "4", "statement:statement_table"),
    PanelView("Order", "O", "order:orders_table", leads_to_events=True),
    PanelView("Funnel", "V", "victim_search:funnel_table", leads_to_events=True),
    PanelView("DryRun", "D", "victim_search:dry_run_table", leads_to_events=True),
    PanelView("Session", "Z", "flow:session_table", leads_to_events=True),
    PanelView("Effects", "0", "effects:effects_table", leads_to_events=True),
    PanelView("Evictions", "E", "effects:evictions_table", leads_to_events=True),
    PanelView("Log", "v", "log:log_table", leads_to_events=True),
    PanelView("Request", "W", "jobs:event_request_table"),
    PanelView("Source", "K", "origins:source_table", fields=("recording", "seq", "source")),
    PanelView("Quirks", "Q", "conf:quirks_table", leads_to_events=True),
    PanelView("Jobs", "5", "jobs:jobs_table", fields=("recording", "seq", "job"), keeps_row=True, group="cluster"),
    PanelView("Nodes", "6", "nodes:nodes_table", fields=("recording", "seq", "node"), keeps_row=True, group="cluster"),
    PanelView("Queues", "7", "queues:queues_table", ("recording", "seq", "queue"), keeps_row=True, group="cluster"),
    PanelView("HyperNodes", "H", "nodes:hypernodes_table", fields=("recording", "node", "job", "seq"), group="cluster"),
    PanelView("Problems", "9", "conf:problems_table", fields=("recording",), leads_to_events=True, group="cluster"),
    PanelView("Conf", "p", "conf:conf_table", fields=("recording",), group="cluster"),
    PanelView("Tiers", "T", "votes:tiers_table", fields=("recording",), group="cluster"),
    PanelView("Breaks", "8", "notebook:breakpoints_table", fields=("seq", "breakpoints"), group="debugger"),
    PanelView("Watch", "a", "notebook:watches_table", ("recording", "seq", "watches"), leads_to_events=True,
              group="debugger"),
    PanelView("Bookmarks", "M", "notebook:bookmarks_table", ("recording", "seq", "bookmarks", "bookmarks_elsewhere"),
              leads_to_events=True, group="debugger"),
)  # fmt: skip
"""All panels in the screen's order: a new panel is one entry here."""
PANEL_VIEWS: Final[Mapping[str, PanelView]] = {panel.command_name: panel for panel in PANELS}


def find_panel(here: DebuggerState, name: str) -> Table:
    """The table of a panel by a prefix of its name, Moment by default; raises CommandError for an unknown name."""
    word = (name or "moment").lower()
    names = [panel_name for panel_name in PANEL_VIEWS if word.startswith(panel_name) or panel_name.startswith(word)]
    if len(names) != 1:
        raise CommandError(f"no panel {name!r}", hint=f"panels are {', '.join(PANEL_VIEWS)}")
    return PANEL_VIEWS[names[0]].build_table(here)


def lessons_table(lessons: Iterable[Lesson], answered: Mapping[str, int]) -> Table:
    """A row per lesson with the number of answered steps; the row's key is the command that opens it."""
    rows = [
        Row(
            f"lesson {lesson.name}",
            make_line(
                Piece(lesson.name, "accent"), f"{answered.get(lesson.name, 0)} of {len(lesson.steps)}", lesson.title
            ),
        )
        for lesson in lessons
    ]
    design = "Design: a proposal for Volcano, in no release yet"
    return Table("Lessons", LESSON_COLUMNS, rows, footer=muted_lines(design))


def verbs_table() -> Table:
    """Every `:` command with its usage and help."""
    rows = [
        Row(verb.names[0], (Piece(f"{', '.join(verb.names)} {verb.usage}".rstrip(), "strong"), Piece(verb.help)))
        for verb in commands.list_verbs()
    ]
    return Table("Commands", VERB_COLUMNS, rows)


# Pages, which commands open over the panels.


def _lazy_view(reference: str) -> Callable[..., Any]:  # Any: pages take different arguments
    """`module:function` in vcdebug.views, as a function that imports the module on its first call."""
    # Importing every page's module at the start would delay the first screen.
    return lambda *arguments: resolve_reference(f"vcdebug.views.{reference}")(*arguments)


def _subject_commands(row: Row) -> tuple[str, ...]:
    """The command that opens the page of a row's node or queue, or explains its job or pod."""
    kind, name = row.subject
    return (f"{kind}s {name}" if kind in ("node", "queue") else f"explain {name}",) if name else ()


class Page(Struct, frozen=True):
    """A page: its table, and the commands of its rows."""

    view: Callable[..., Table]
    """Builds the table from the debugger's state and the argument of the page's command, if it has one."""
    commands: Callable[[Row], tuple[str, ...]] = lambda _: ()
    """Returns the commands of a row: that of Enter, then that of x if there are two."""
    keys: str = ""
    """What Enter and x do, in words."""


PAGES: Final[Mapping[str, Page]] = {
    "edits": Page(_lazy_view("comparison:edits_table")),
    "diff": Page(
        _lazy_view("comparison:difference_table"),
        _lazy_view("comparison:commands_of"),
        "Enter shows it in the branch   x in the original",
    ),
    "cycles": Page(_lazy_view("comparison:shown_cycles_table"), lambda row: (row.key,), "Enter shows the cycle"),
    "changes": Page(_lazy_view("comparison:capture_changes")),
    "overview": Page(
        lambda here: _lazy_view("overview:overview_table")(here.recording), lambda row: (row.key,), "Enter goes into it"
    ),
    "metrics": Page(lambda here: _lazy_view("effects:metrics_table")(here.recording, here.seq)),
    "find": Page(_lazy_view("notebook:found_page"), lambda row: (row.key,), "Enter goes to the event"),
    "why": Page(_lazy_view("origins:why_table"), _lazy_view("origins:why_commands"), "Enter goes on   x to the event"),
    "waiting": Page(_lazy_view("pending:waiting_table"), lambda row: (row.key,), "Enter explains it"),
    **{
        name: Page(partial(_lazy_view("event_view:resource_page"), name), _subject_commands, "Enter opens it")
        for name in ("jobs", "pods", "nodes", "queues")
    },
}
