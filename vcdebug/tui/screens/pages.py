"""Pages over the main screen: tables to read, tables whose rows are commands, and the help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from textual import events, messages, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Region, Spacing
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from vcdebug.amount_text import capitalize_first
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS, find_kind
from vcdebug.debugger.commands import Verb, list_verbs
from vcdebug.debugger.fields import describe_fields
from vcdebug.debugger.figures import Figure
from vcdebug.errors import VcdebugError
from vcdebug.explain.answer import MAX_SHORT_FIXES
from vcdebug.model.names import Seq
from vcdebug.tui.clipboard import Clipboard, copy_text
from vcdebug.tui.key_names import KeyHint, KeyLine, hint_line, key_names
from vcdebug.tui.keymap import MAIN, KeyScope, binding_keys, bindings_by_id, key_scopes
from vcdebug.tui.messages import TypedCommand
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Prompt, settled_size
from vcdebug.views.panels import PANELS, Page
from vcdebug.views.pieces import SIGNS, Piece, make_line, muted_piece
from vcdebug.views.table import Row, Table, format_table, table_columns

if TYPE_CHECKING:
    from vcdebug.whatif.fixes.plan import TriedPlan

PAGE_HINTS = (
    KeyHint(("page.filter",), "filter"),
    KeyHint(("table.sort",), "sort"),
    KeyHint(("page.copy",), "copy"),
    KeyHint(("page.back",), "back"),
)
FEW_HINTS: Final = (KeyHint(("page.filter",), "filter"), KeyHint(("page.back",), "back"))
SAMPLED_ROWS = 200
"""Number of rows that are searched for one with an event."""


Result = TypeVar("Result")


class PageFrame(Vertical):
    """The frame of a page or dialog."""

    virtual_size = settled_size()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of the frame, which are all the same between the first and the last one."""
        last = self.outer_size.height - 1
        if crop.y > 0 or crop.bottom <= last or last < 2:
            return super().render_lines(crop)
        upper = super().render_lines(Region(crop.x, 0, crop.width, 2))
        return [*upper[:1], *upper[1:] * (last - 1), *super().render_lines(Region(crop.x, last, crop.width, 1))]


class OverlayScreen(ModalScreen[Result]):
    """Shows its widgets once its size is known; Textual would draw each step of opening a screen."""

    AUTO_FOCUS = ""

    def __init__(self) -> None:
        super().__init__()
        self._frame_delay = ExitStack()
        self._hidden_widgets: list[Widget] = []
        """The widgets to show; empty once they are shown."""

    async def mount_composed_widgets(self, widgets: list[Widget]) -> None:
        """Mount what the page shows, not Textual's own widgets for tips and notices, of which it has none."""
        await super().mount_composed_widgets([one for one in widgets if not (one.id or "").startswith("textual-")])

    def on_mount(self) -> None:
        self._frame_delay.enter_context(self.app.batch_update())
        self._hidden_widgets = [widget for widget in self.children if widget.display]
        for widget in self._hidden_widgets:
            # Textual also lays out and renders the frames that a delay does not send.
            widget.display = False

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        if self._hidden_widgets:
            event.refresh_styles = False  # the styles were applied when the widgets were mounted

    def on_resize(self, event: events.Resize) -> None:
        """Show the widgets once the size is known. Textual would also lay out the screens below."""
        if self._hidden_widgets and event.size == self.size:
            event.prevent_default()
            self.call_later(self._show_widgets)

    def _show_widgets(self) -> None:
        """Show the widgets in one layout and one frame."""
        for widget in self._hidden_widgets:
            widget.display = True
        self._hidden_widgets = []
        self.refresh()
        # The frame of the layout then is that of the whole screen; else a second one follows it.
        self.post_message(messages.Update(self))
        self._frame_delay.close()
        self.check_idle()

    def on_unmount(self) -> None:
        self._frame_delay.close()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines behind the widgets, which are all the same unless the screen below shows through."""
        if self._hidden_widgets:
            return [Strip.blank(crop.width)] * crop.height  # of a frame that is not sent
        if self.styles.background.a < 1:
            return super().render_lines(crop)
        return super().render_lines(crop.shrink(Spacing(bottom=crop.height - 1))) * crop.height


Choice = Seq | Figure | str | TypedCommand
"""What a page closes with."""


class DetailScreen(ModalScreen[Choice]):
    """A table to read; closes with the event to go to, 0 for none, a figure to follow, or a command."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "one step back: filter, order, then the page", id="page.back"),
        Binding("q", "leave", "close the page", id="page.leave"),
        Binding("enter", "go", "go to the row's event", id="page.go"),
        Binding("slash", "filter", "filter", id="page.filter"),
        Binding("colon", "command", "type a command, which closes the page", id="page.command"),
        Binding("L", "last_change", "to the event that wrote the number under the cursor", id="page.last-change"),
        Binding("equals_sign", "why", "show where the number under the cursor comes from", id="page.why"),
        Binding("y", "copy", "copy all of it", id="page.copy"),
        Binding("question_mark,f1", "help", "the help", id="page.help"),
    ]
    DEFAULT_CSS = """
    DetailScreen { background: $background; }
    DetailScreen > PageFrame { width: 98%; max-width: 160; max-height: 90%; }
    DetailScreen Grid { height: auto; max-height: 100%; }
    DetailScreen Prompt { dock: bottom; width: 100%; }
    """

    def __init__(self, table: Table, clipboard: Clipboard) -> None:
        super().__init__()
        self.table = table
        self.clipboard = clipboard

    def compose(self) -> ComposeResult:
        with PageFrame() as frame:
            frame.border_title = self.table.title.replace("[", "\\[")
            # With its rows from the start: a page that grows is laid out and drawn twice.
            grid = Grid(id="detail")
            grid.bar.stays = True
            grid.set_table(self.table)
            yield grid
            yield KeyLine()

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Grid))
        self.query_one(KeyLine).show_keys(self.hint_text())

    def show_table(self, table: Table) -> None:
        """Replace the shown table."""
        self.table = table
        self.query_one(Grid).set_table(table)

    def hint_text(self) -> str:
        """The keys of the page, in the last line."""
        # Rows are built on demand: checking all rows of a large table would delay the page.
        leads = any(row.seq for row in self.table.rows[:SAMPLED_ROWS])
        hints = self.page_hints()
        return hint_line(
            self.active_bindings, (KeyHint(("table.open",), "goes to the event"), *hints) if leads else hints
        )

    def page_hints(self) -> tuple[KeyHint, ...]:
        """The keys after Enter; with Enter, they fit the 80 columns of a small screen."""
        return PAGE_HINTS

    def action_back(self) -> None:
        """Remove the filter, then the order; without both, close."""
        grid = self.query_one(Grid)
        if grid.filter_text:
            self._filter_rows("")
        elif grid.shown.order is not None:
            grid.set_order(None)
        else:
            self.action_leave()

    def _filter_rows(self, text: str) -> None:
        self.query_one(Grid).set_filter(text)
        self.show_note()

    @on(Grid.Filtered)
    @on(Grid.Moved)
    def show_note(self) -> None:
        """Note in the frame which rows the filter hides and which columns are out of sight."""
        grid, frame = self.query_one(Grid), self.query_one(PageFrame)
        notes = "  ".join([*grid.filter_words(), *grid.unseen_columns()]).replace("[", "\\[")
        # An equal note would draw the whole frame again.
        if notes != (frame.border_subtitle or ""):
            frame.border_subtitle = notes

    def action_leave(self) -> None:
        self.dismiss(0)

    def action_help(self) -> None:
        self.dismiss("help")

    @on(Grid.Opened)
    def open_row(self, event: Grid.Opened) -> None:
        event.stop()
        # A row out of sight is shown first: the key could do something that is not meant.
        if not self.query_one(Grid).bring_cursor():
            self.action_go()

    def action_go(self) -> None:
        row = self.query_one(Grid).cursor_row
        if row is not None and row.seq:
            self.dismiss(row.seq)

    def action_last_change(self) -> None:
        """Close with the figure under the cursor."""
        figure = self.query_one(Grid).cursor_figure
        if figure is None:
            self.query_one(KeyLine).show_keys("no figure of the state under the cursor")
        else:
            self.dismiss(figure)

    def action_why(self) -> None:
        """Close with the question about the figure under the cursor, else about the row's event."""
        grid = self.query_one(Grid)
        figure, row = grid.cursor_figure, grid.cursor_row
        if grid.bring_cursor():
            return
        if figure is not None or (row is not None and row.seq):
            self.dismiss(f"why {figure}" if figure is not None else f"why event {row.seq if row is not None else 0}")

    @cached_property
    def _prompt(self) -> Prompt:
        """The line for filters and commands, made when it is first opened."""
        prompt = Prompt()
        self.query_one(PageFrame).mount(prompt)
        return prompt

    def action_filter(self) -> None:
        self._prompt.open_line("filter", self.query_one(Grid).filter_text)

    def action_command(self) -> None:
        self._prompt.open_line("command")

    @on(Prompt.Edited)
    @on(Prompt.Entered)
    def line_typed(self, event: Prompt.Edited | Prompt.Entered) -> None:
        """Filter with every key that is typed; close with a command that is entered."""
        if event.mode == "filter":
            self._filter_rows(event.text)
        if isinstance(event, Prompt.Entered):
            self.set_focus(self.query_one(Grid))
            if event.mode == "command" and event.text.strip():
                self.dismiss(TypedCommand(event.text))

    @on(Prompt.Closed)
    def line_closed(self, event: Prompt.Closed) -> None:
        if event.mode == "filter":
            self._filter_rows("")
        self.set_focus(self.query_one(Grid))

    def action_copy(self) -> None:
        try:
            message = f"copied {copy_text(self.app, format_table(self.table), self.clipboard)}"
        except VcdebugError as error:
            message = f"✗ {error.format_line()}"
        self.query_one(KeyLine).show_keys(message)


class TableScreen(DetailScreen, OverlayScreen[Choice]):
    """The page of a table."""


class SubjectScreen(DetailScreen, OverlayScreen[Choice]):
    """The page of a row's job, pod, node or queue; keys that ask about the row close it with their command."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "lead('explain')", "explain why the job of this page is Pending", id="subject.explain"),
        Binding("I", "lead('ask')", "ask about what this page shows", id="subject.ask"),
    ]
    HINTS: ClassVar = (KeyHint(("subject.explain",), "explain"), KeyHint(("subject.ask",), "ask"), *FEW_HINTS)

    def __init__(self, table: Table, clipboard: Clipboard, kind: str) -> None:
        super().__init__(table, clipboard)
        self.has_answer = kind in ("job", "task")

    def page_hints(self) -> tuple[KeyHint, ...]:
        return self.HINTS[not self.has_answer :]

    def action_lead(self, command: str) -> None:
        if self.has_answer or command == "ask":
            self.dismiss(command)


class AnswerScreen(DetailScreen, OverlayScreen[Choice]):
    """Why a job is Pending; closes also with `prove JOB`, or with the number of a tested fix as text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(number), f"fix({number})", f"make fix {number}, in a branch", id=f"answer.fix-{number}")
            for number in range(1, MAX_SHORT_FIXES + 1)
        ),
        Binding("exclamation_mark", "prove", "find more fixes for the job", id="answer.prove"),
    ]
    HINTS: ClassVar = (KeyHint(("answer.fix-1",), "try fix 1"), KeyHint(("answer.prove",), "more fixes"), *FEW_HINTS)

    def __init__(self, table: Table, clipboard: Clipboard, job: str) -> None:
        """`job`: what fixes are for; empty if it needs none."""
        super().__init__(table, clipboard)
        self.job = job
        self.plans: Sequence[TriedPlan] = ()
        """The tested fixes that the page shows."""

    def page_hints(self) -> tuple[KeyHint, ...]:
        return self.HINTS[not self.plans :] if self.job else PAGE_HINTS

    def show_fixes(self, table: Table, plans: Sequence[TriedPlan]) -> None:
        """Replace the table by one with tested fixes, with the cursor on the first one unless it was moved."""
        grid = self.query_one(Grid)
        was_at_top, self.plans = grid.cursor == 0, plans
        self.show_table(table)
        if was_at_top:
            grid.action_move_to(0)
        self.query_one(KeyLine).show_keys(self.hint_text())

    def action_fix(self, number: int) -> None:
        if number <= len(self.plans):
            self.dismiss(str(number))

    def action_prove(self) -> None:
        if self.job:
            self.dismiss(f"prove {self.job}")


class PageScreen(DetailScreen, OverlayScreen[Choice]):
    """A table of commands; closes with the one to run, or an empty text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "go(1)", "go where the row leads in the original", id="leads.go-original")
    ]

    def __init__(self, table: Table, page: Page, clipboard: Clipboard) -> None:
        super().__init__(table, clipboard)
        self.page = page

    def hint_text(self) -> str:
        """The keys of the page in the last line: Enter and x, then the keys of every page."""
        hints = self.page.keys if self.table.rows else "", hint_line(self.active_bindings, PAGE_HINTS)
        return "   ".join(filter(None, hints))

    def action_go(self, index: int = 0) -> None:
        """Close with the command of the row under the cursor, or of the whole row if its cells share one."""
        row = self.query_one(Grid).cursor_row
        commands = self.page.commands(row) if row is not None else ()
        if commands:
            self.dismiss(commands[min(index, len(commands) - 1)])


# The help and the list of panels.

KEY_COLUMNS: Final = table_columns("key", "does~")
PANEL_COLUMNS: Final = table_columns("group", "key", "panel", "shows~")
GROUP_HELP: Final = {
    "cycle": "what happens in it, and why",
    "cluster": "its state at the current event",
    "debugger": "what you have set",
}
PANEL_PAGE: Final = Page(lambda _: Table("Panels"), lambda row: (row.key,), "Enter shows it")


def help_table(chosen_keys: Mapping[str, str], lines: Iterable[str] = (), focused: str = "") -> Table:
    """All keys in force, those of the focused panel first, all commands, and all kinds of breakpoints."""
    panels = {panel.title: panel for panel in PANELS}
    bindings, rows = bindings_by_id(), list[Row]()
    for scope in sorted(key_scopes(), key=lambda scope: scope.name != focused):
        panel = panels.get(scope.name)
        if panel is not None:
            key = key_names(binding_keys(bindings[f"panel-{scope.name.lower()}"], chosen_keys))
            rows.append(_help_row(key, f"{panel.title}: {panel.help}"))
        rows += _key_rows(scope, chosen_keys)
    rows += [_help_row(sign, f"sign: {meaning}") for sign, meaning in (*SIGNS.items(), ("◀", "this decides"))]
    rows += [_help_row(f":{verb.names[0]}", _verb_help(verb)) for verb in list_verbs()]
    for name, kind in ((name, find_kind(name)) for name in BREAKPOINT_KINDS):
        words = f"; narrower with {', '.join(kind.WORDS)}" if kind.WORDS else ""
        rows.append(_help_row(f"break {name}", f"{kind.HELP}{words}"))
    head = (
        *(make_line(Piece(f"✗ {problem}", "warn")) for problem in lines),
        make_line("Capitals go back. / searches this help: keys, signs such as ◆, commands."),
    )
    foot = (
        make_line(),
        make_line(
            muted_piece(
                "Shift+F5, Shift+F10 and Shift+F11 arrive as F17, F22 and F23 from many terminals: both are bound."
            )
        ),
        make_line(muted_piece("Some desktops keep F10 and F11 for themselves: the letters always work.")),
        make_line(muted_piece("With the mouse on, hold Shift (Option on macOS) to select text as usual.")),
        make_line(muted_piece(f"conditions know: {describe_fields()}")),
    )
    return Table("Help", KEY_COLUMNS, rows, header=head, footer=foot)


def _verb_help(verb: Verb) -> str:
    usage = f"{verb.usage}: " if verb.usage else ""
    aliases = f"  (also {', '.join(verb.names[1:])})" if len(verb.names) > 1 else ""
    return f"{usage}{capitalize_first(verb.help)}{aliases}"


def _key_rows(scope: KeyScope, chosen_keys: Mapping[str, str]) -> Iterator[Row]:
    scope_note = "" if scope.name == MAIN else f"  ({scope.name})"
    for binding in scope.bindings:
        if not binding.action.startswith("panel("):
            yield _help_row(key_names(binding_keys(binding, chosen_keys)), f"{binding.description}{scope_note}")


def _help_row(key: str, description: str) -> Row:
    return Row(f"{key} {description}", (Piece(key, "strong"), Piece(capitalize_first(description))))


def panel_table(chosen_keys: Mapping[str, str]) -> Table:
    """A row per panel, whose key is the command that shows it."""
    bindings, rows = bindings_by_id(), list[Row]()
    group = ""
    for panel in PANELS:
        key = key_names(binding_keys(bindings[f"panel-{panel.command_name}"], chosen_keys))
        group_cell = Piece(panel.group if panel.group != group else "", "strong")
        rows.append(
            Row(
                f"panel {panel.command_name}",
                (group_cell, Piece(key, "accent"), Piece(panel.title), muted_piece(panel.help)),
            )
        )
        group = panel.group
    group_lines = [(Piece(f"{name}  ", "strong"), muted_piece(words)) for name, words in GROUP_HELP.items()]
    return Table("Panels", PANEL_COLUMNS, rows, header=(*group_lines, ()))
