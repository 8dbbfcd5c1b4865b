"""The panels: each is a table around the present event, the same on the screen and in a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple, get_args

from vcdebug.debugger import commands
from vcdebug.debugger.commands import CommandError
from vcdebug.debugger.driver import DebuggerState
from vcdebug.framework.registry import resolve
from vcdebug.views.base import Column, Piece, Row, Table

Group = Literal["cycle", "cluster", "debugger"]
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
VERB_COLUMNS = (Column("command"), Column("does", flexible=True))


class PanelView(NamedTuple):
    """One panel: what it is called, where it is found, and what it shows."""

    group: Group
    """What it is about: the present cycle, the cluster as it stands, or what somebody has set."""
    title: str
    key: str
    """The key that leads to it, unless the settings name another one."""
    help: str
    """One sentence for the help."""
    module: str
    """Whose function `panel` shows it, among the views; imported when somebody looks."""
    leads: bool = False
    """Whether its rows lead to events."""
    keeps_row: bool = False
    """Whether the cursor stays on its row when another recording is shown, whatever that one's event is about."""

    @property
    def name(self) -> str:
        """What commands and settings call it."""
        return self.title.lower()

    def view(self, here: DebuggerState) -> Table:
        """What it shows of a moment."""
        table: Table = resolve(f"vcdebug.views.{self.module}:panel")(here)
        return table


PANELS: Final[tuple[PanelView, ...]] = (
    PanelView(
        "cycle",
        "Flow",
        "1",
        "actions, queues, jobs, tasks and nodes in order, with what came of each",
        "flow",
        leads=True,
    ),
    PanelView(
        "cycle",
        "Moment",
        "2",
        "the present event in full: votes by tier, victims, node by reason, node by plugin, before and after; "
        "before the first step what the whole cycle came to, Enter goes into a line",
        "moment",
    ),
    PanelView(
        "cycle",
        "Equation",
        "3",
        "the arithmetic of the present answer, per dimension, the deciding one marked",
        "arithmetic",
    ),
    PanelView(
        "cycle",
        "Inside",
        "i",
        "what each part of a score was made of, the best node beside the runner-up; for predicates what PreFilter left "
        "and what each filter compared, the error cache's hits among them",
        "inside",
    ),
    PanelView(
        "cycle",
        "Statement",
        "4",
        "operations of the open statement, whether it is committed or discarded, and why",
        "statement",
    ),
    PanelView(
        "cycle",
        "Order",
        "O",
        "queues, jobs, tasks and victims in the order of their turn, and which plugin's comparison decided",
        "order",
        leads=True,
    ),
    PanelView(
        "cycle",
        "Funnel",
        "V",
        "the search for victims: how many tasks each filter leaves on each node, and which leaves nobody",
        "funnel",
        leads=True,
    ),
    PanelView(
        "cycle",
        "DryRun",
        "D",
        "topology-aware preemption: whom each node's dry run takes away and spares, and the rule that chose the node",
        "dry_run",
        leads=True,
    ),
    PanelView(
        "cycle",
        "Session",
        "Z",
        "how the session opens and closes, step by step: snapshot, plugins, CycleStates; phases, conditions, queues",
        "steps",
        leads=True,
    ),
    PanelView(
        "cycle",
        "Effects",
        "0",
        "what the cycle writes to the API server: binds, evictions, conditions, statuses, events",
        "effects",
        leads=True,
    ),
    PanelView(
        "cycle",
        "Evictions",
        "E",
        "who was evicted for whom, by which action and tier, and whether it was committed",
        "evictions",
        leads=True,
    ),
    PanelView(
        "cycle",
        "Log",
        "v",
        "the lines that the real scheduler would print at -v=3, 4 or 5, those of the present event marked",
        "log",
        leads=True,
    ),
    PanelView(
        "cycle",
        "Request",
        "W",
        "what the present task asks for: containers, init containers, sidecars, overhead, pod-level resources",
        "request",
    ),
    PanelView(
        "cluster",
        "Jobs",
        "5",
        "every job with ready, waiting and pending tasks at this moment",
        "jobs",
        keeps_row=True,
    ),
    PanelView(
        "cluster",
        "Nodes",
        "6",
        "every node with its idle amounts at this moment; releasing, pipelined and remarks where the cycle has any",
        "nodes",
        keeps_row=True,
    ),
    PanelView(
        "cluster",
        "Queues",
        "7",
        "every queue with deserved, allocated, request and share at this moment",
        "queues",
        keeps_row=True,
    ),
    PanelView(
        "cluster",
        "HyperNodes",
        "H",
        "the network topology as a tree: HyperNodes with their tiers and nodes, and where the present job's pods sit",
        "hypernodes",
    ),
    PanelView(
        "cluster",
        "Problems",
        "9",
        "problems of the snapshot and its configuration, and quirks of the scheduler that acted",
        "problems",
        leads=True,
    ),
    PanelView(
        "cluster",
        "Quirks",
        "Q",
        "odd things that the real scheduler did in this cycle, where, and what they can change",
        "quirks",
        leads=True,
    ),
    PanelView(
        "cluster",
        "Conf",
        "p",
        "the configuration in force: actions, plugins by tier, switches, flags, chance; what is misspelt or unknown",
        "conf",
    ),
    PanelView(
        "cluster",
        "Tiers",
        "T",
        "the plugins as the session opened them: hooks that each registered, switches on, off or misspelt, handlers",
        "tiers",
    ),
    PanelView("debugger", "Breaks", "8", "breakpoints with their conditions and how often they stop", "breaks"),
    PanelView(
        "debugger",
        "Watch",
        "a",
        "figures and expressions that are watched: value now and before, last change; Enter goes there",
        "watch",
        leads=True,
    ),
    PanelView(
        "debugger",
        "Bookmarks",
        "M",
        "bookmarks with their notes; Enter goes there, :report FILE.html writes them down with what the screen shows",
        "bookmarks",
        leads=True,
    ),
)
"""In the order in which the screen lists them: a panel that is a table is one row here."""
PANEL_VIEWS: Final[Mapping[str, Callable[[DebuggerState], Table]]] = {one.name: one.view for one in PANELS}


def panel(here: DebuggerState, name: str) -> Table:
    """A panel by its name, or by the beginning of it; without a name the one of the moment."""
    word = (name or "moment").lower()
    found = [known for known in PANEL_VIEWS if word.startswith(known) or known.startswith(word)]
    if len(found) != 1:
        raise CommandError(f"no panel {name!r}", hint=f"panels are {', '.join(PANEL_VIEWS)}")
    return PANEL_VIEWS[found[0]](here)


def verbs() -> Table:
    """Every command."""
    rows = [
        Row(verb.names[0], (Piece(f"{', '.join(verb.names)} {verb.usage}".rstrip(), "strong"), Piece(verb.help)))
        for verb in commands.verbs()
    ]
    return Table("Commands", VERB_COLUMNS, rows)
