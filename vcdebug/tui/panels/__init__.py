"""The panels of the main screen: one line per panel, in the order of their keys."""

from vcdebug.tui.panels.base import Panel
from vcdebug.tui.panels.bookmarks import BookmarksPanel
from vcdebug.tui.panels.breakpoints import BreakpointsPanel
from vcdebug.tui.panels.conf import ConfPanel
from vcdebug.tui.panels.effects import EffectsPanel
from vcdebug.tui.panels.equation import EquationPanel
from vcdebug.tui.panels.evictions import EvictionsPanel
from vcdebug.tui.panels.flow import FlowPanel
from vcdebug.tui.panels.funnel import FunnelPanel
from vcdebug.tui.panels.hypernodes import HyperNodesPanel
from vcdebug.tui.panels.jobs import JobsPanel
from vcdebug.tui.panels.log import LogPanel
from vcdebug.tui.panels.moment import MomentPanel
from vcdebug.tui.panels.nodes import NodesPanel
from vcdebug.tui.panels.order import OrderPanel
from vcdebug.tui.panels.problems import ProblemsPanel
from vcdebug.tui.panels.queues import QueuesPanel
from vcdebug.tui.panels.quirks import QuirksPanel
from vcdebug.tui.panels.statement import StatementPanel
from vcdebug.tui.panels.watch import WatchPanel

PANELS: tuple[type[Panel], ...] = (
    FlowPanel,
    MomentPanel,
    EquationPanel,
    StatementPanel,
    JobsPanel,
    NodesPanel,
    QueuesPanel,
    BreakpointsPanel,
    WatchPanel,
    BookmarksPanel,
    ProblemsPanel,
    QuirksPanel,
    EffectsPanel,
    ConfPanel,
    LogPanel,
    HyperNodesPanel,
    OrderPanel,
    FunnelPanel,
    EvictionsPanel,
)
