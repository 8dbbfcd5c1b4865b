"""The lines around the panels: header, tabs and timeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events
from textual.containers import Container
from textual.reactive import reactive
from textual.widget import Widget

from vcdebug.amount_text import capitalize_first, count_noun, format_count
from vcdebug.debugger.cursor import OVERVIEW
from vcdebug.debugger.driver import BreakpointStatus, DebuggerState
from vcdebug.debugger.notebook import Bookmark
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.model.names import Seq
from vcdebug.printable import make_line_printable
from vcdebug.recording.effects import timeline_marks
from vcdebug.recording.input_problems import input_problems
from vcdebug.recording.recording import Recording
from vcdebug.releases.release import Release
from vcdebug.tui.messages import GotoRequested
from vcdebug.tui.widgets.strokes import TextLines, style_of_meaning
from vcdebug.views.headline import path_words
from vcdebug.views.pieces import ACTION, BOOKMARK, BREAK, COMMIT, DISCARD, EVICT, HERE, PATH, sign_legend
from vcdebug.whatif.branch import BRANCH

BOLD: Final = Style(bold=True)
PATH_SEPARATOR = f" {PATH} "
PROGRAM_TITLE = " vcdebug "
PART_SEPARATOR = " │ "
STOP_HINT = " … Esc stops"
MIN_NAME_WIDTH = 3
"""Cells to which the snapshot's name may be shortened."""
QUIET_REASONS = ("step", "goto")
ROOMY_WIDTH = 110
"""Width from which the header states in words how far the release is verified."""


class Header(TextLines):
    """Snapshot, event, path in the cycle, breakpoints and notes, in two lines."""

    DEFAULT_CSS = "Header { dock: top; height: 2; background: $surface; color: $foreground; padding: 0 1; }"

    moment: reactive[DebuggerState | None] = reactive(None)
    progress: reactive[str] = reactive("")
    name_shown: reactive[str] = reactive("")

    def render(self) -> Text:
        """The current position, or the progress of loading."""
        width = self.size.width
        if self.moment is None:
            progress_text = _progress_text(self.progress, width) if self.progress else ""
            return Text.assemble((PROGRAM_TITLE, "bold reverse"), f"  {self.name_shown}\n", progress_text, no_wrap=True)
        right, reason = self._right_text(self.moment), self._reason_text(self.moment)
        left = self._left_text(self.moment, width - right.cell_len - len(PART_SEPARATOR))
        words = self._path_words(self.moment)
        path = _path_text(words, width - len(reason) - 2)
        reason_or_function = reason or _function_text(self.moment, width - path.cell_len - len(PART_SEPARATOR))
        return Text("\n").join([_spread_texts(left, right, width), _spread_texts(path, reason_or_function, width)])

    def _path_words(self, moment: DebuggerState) -> list[str]:
        if moment.number == OVERVIEW:
            return ["overview"]
        return list(map(moment.recording.job_names.in_text, path_words(moment.recording, moment.seq, moment.inside)))

    def _left_text(self, moment: DebuggerState, room: int) -> Text:
        """The snapshot's name, shortened where there is little room."""
        count = f"{format_count(moment.number)}/{format_count(len(moment.recording))}"
        cycle, branch = _cycle_text(moment), _branch_text(moment)
        release = release_label(moment.recording.snapshot.release, wide=self.app.size.width >= ROOMY_WIDTH)
        separator = (PART_SEPARATOR, "dim") if self.app.size.width >= ROOMY_WIDTH else "  "
        details = Text.assemble(
            separator if release else "",
            release,
            separator,
            cycle,
            separator if branch else "",
            (branch, style_of_meaning("warn", self.app.theme_variables) + BOLD),
            separator,
            "event ",
            (count, "bold"),
        )
        name = Text(make_line_printable(moment.recording.snapshot.name))
        name.truncate(max(MIN_NAME_WIDTH, room - len(PROGRAM_TITLE) - details.cell_len - 1), overflow="ellipsis")
        return Text.assemble((PROGRAM_TITLE, "bold reverse"), " ", name, details)

    def _reason_text(self, moment: DebuggerState) -> Text:
        if self.progress:
            return Text(_progress_text(self.progress, self.size.width * 2 // 3), style="italic")
        reason = "" if moment.reason in QUIET_REASONS else capitalize_first(moment.reason)
        return Text(moment.recording.job_names.in_text(reason), style="italic")

    def _right_text(self, moment: DebuggerState) -> Text:
        enabled_count = len([status for status in moment.breakpoints if status.enabled])
        total = len(moment.breakpoints)
        parts = (
            [f"{BREAK} {enabled_count}" if enabled_count == total else f"{BREAK} {enabled_count} of {total}"]
            if total
            else []
        )
        forced_count = len([note for note in moment.recording.notes if note.code == FORCED_CODE])
        if forced_count:
            parts.insert(0, f"{format_count(forced_count)} forced")
        if len(moment.recording.notes) > forced_count:
            parts.append(count_noun(len(moment.recording.notes) - forced_count, "quirk"))
        problems = input_problems(moment.recording)
        if problems:
            parts.append(count_noun(len(problems), "problem"))
        return Text((PART_SEPARATOR if self.app.size.width >= ROOMY_WIDTH else "  ").join(parts))


def _function_text(moment: DebuggerState, room: int) -> Text:
    """Upstream's current function, with its place if there is room; empty at the overview or without room."""
    if moment.number == OVERVIEW:
        return Text("")
    from vcdebug.recording.call_stack import function_at  # the first frame has no event

    function = function_at(moment.recording, moment.seq)
    texts = (f"{function.short_name} {function.file_line}", function.short_name)
    return Text(next((text for text in texts if len(text) <= room), ""))


def _progress_text(progress: str, room: int) -> str:
    """The running work, shortened, and the key that stops it."""
    return progress[: max(room - len(STOP_HINT), 0)].rstrip() + STOP_HINT


def release_label(release: Release, *, wide: bool) -> str:
    """The release that is replayed, the number of switched changes, and how far it is trusted."""
    name, *switched = release.name.split(",")
    label = f"{name} ±{len(switched)}" if switched else name
    if release.trust == "exact":
        return label
    words = f"{release.trust} {release.stated_name}" if release.stated_name.partition(",")[0] != name else release.trust
    if wide:
        return f"{label} ({'release unknown' if release.is_assumed else words})"
    # A narrow header has no room for a release that nothing states; the overview names it.
    return "" if release.is_assumed else f"{label}?"


def _cycle_text(moment: DebuggerState) -> str:
    """`cycle 1`, or `cycle 2 of 3`."""
    recordings = moment.recordings
    if recordings is None or recordings.cycle_count == 1:
        return f"cycle {1 if recordings is None else recordings.cycle}"
    return f"cycle {recordings.cycle} of {recordings.cycle_count}"


def _branch_text(moment: DebuggerState) -> str:
    """`branch: 2 edits`, or `original` where there is a branch."""
    recordings = moment.recordings
    if recordings is None or not recordings.edits:
        return ""
    return f"branch: {count_noun(len(recordings.edits), 'edit')}" if recordings.side == BRANCH else "original"


def _spread_texts(left: Text, right: Text, width: int) -> Text:
    right.truncate(max(0, width - left.cell_len - 1), overflow="ellipsis")
    gap = " " * max(1, width - left.cell_len - right.cell_len)
    return Text.assemble(left, gap, right, no_wrap=True, overflow="ellipsis")


def _path_text(words: list[str], room: int) -> Text:
    """The path in at most `room` cells; words at its beginning are left out first."""
    text = PATH_SEPARATOR.lstrip() + PATH_SEPARATOR.join(words) if words else "between actions"
    while cell_len(text) > room and len(words) > 1:
        words = words[1:]
        text = "…" + PATH_SEPARATOR + PATH_SEPARATOR.join(words)
    return Text(text, style="bold", no_wrap=True, overflow="ellipsis")


# The line of tabs.

ALL_PANELS: Final = "panels"
"""The value of the tab that opens the list of all panels."""
MORE_SIGN: Final = "…"
FIRST_PER_GROUP: Final = 3
"""Panels that each group shows before any group shows more."""


class PanelTab(Struct, frozen=True):
    """A panel's key, title, widget id and group."""

    key: str
    title: str
    panel: str
    group: str = ""

    def tab_segments(self, active: str, left: str = " ", right: str = " ") -> tuple[TabSegment, ...]:
        """The text between these edges; the active tab is in brackets and reversed, which keeps the width."""
        if self.panel == active:
            return (TabSegment(f"[{self.key} {self.title}{right and ']'}", "bold reverse", self.panel),)
        return TabSegment(f"{left}{self.key}", "bold", self.panel), TabSegment(f" {self.title}{right}", "", self.panel)


class TabSegment(Struct, frozen=True):
    """A part of the line, and the panel that a click on it opens."""

    text: str
    style: str = ""
    panel: str = ""


class Tabs(TextLines):
    """The panels of the dock by group, in two lines where there is room; the last tab opens the list of all."""

    DEFAULT_CSS = "Tabs { padding: 0 1; color: $text; }"

    auto_links = reactive(False)
    help_texts: Mapping[str, str] = MappingProxyType({})
    """What each panel shows, in words."""
    active: reactive[str] = reactive("")
    tabs: reactive[tuple[PanelTab, ...]] = reactive(())
    all_key: reactive[str] = reactive("P")

    def render(self) -> Text:
        """The lines of tabs."""
        return Text("\n").join([self._line_text(number) for number in range(max(self.size.height, 1))])

    def _line_text(self, number: int) -> Text:
        text = Text(no_wrap=True, overflow="ellipsis")
        for segment in self.line_segments(number):
            style = Style.parse(segment.style)
            action = "screen.panels" if segment.panel == ALL_PANELS else f"screen.show('{segment.panel}')"
            text.append(segment.text, style + on_click(action) if segment.panel else style)
        return text

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Show a description of the panel under the mouse pointer, unless it would cover that panel."""
        _, _, panel = str(event.style.meta.get("@click", "")).partition("'")
        name = panel.rstrip("')")
        self.tooltip = self.help_texts.get(name) if name != self.active else None

    def watch_active(self) -> None:
        """Remove the description of a tab that was clicked."""
        self.tooltip = None

    def line_segments(self, number: int) -> list[TabSegment]:
        """The parts of a line: of two, the first has the first group; its last part opens the list of all."""
        width, first_group = self.size.width, self.tabs[0].group if self.tabs else ""
        if self.size.height <= 1:
            return self._with_all(self.tabs, width, labelled=False)
        tabs = tuple(tab for tab in self.tabs if (tab.group == first_group) == (number == 0))
        return self._with_all(tabs, width, labelled=True) if not number else self._fitting_segments(tabs, width)

    def _fitting_segments(self, tabs: Sequence[PanelTab], width: int, *, labelled: bool = True) -> list[TabSegment]:
        """The tabs that fit; all of them with single gaps where only these make room for all."""
        close = list(_write_segments(tabs, tabs, self.active, labelled=labelled, gap=""))
        shown_tabs = choose_tabs(tabs, self.active, width, labelled=labelled)
        if len(shown_tabs) < len(tabs) and sum(len(segment.text) for segment in close) <= width:
            return close
        return list(_write_segments(tabs, shown_tabs, self.active, labelled=labelled))

    def _with_all(self, tabs: Sequence[PanelTab], width: int, *, labelled: bool) -> list[TabSegment]:
        all_tab = f"{self.all_key} {ALL_PANELS}"
        segments = self._fitting_segments(tabs, width - len(all_tab) - 1, labelled=labelled)
        used = sum(len(segment.text) for segment in segments)
        return [*segments, TabSegment(" " * max(1, width - used - len(all_tab))), TabSegment(all_tab, "", ALL_PANELS)]


def choose_tabs(tabs: Sequence[PanelTab], active: str, width: int, *, labelled: bool = True) -> tuple[PanelTab, ...]:
    """The panels that fit: the active one first, then the first of each group, its group, the rest."""
    group = next((tab.group for tab in tabs if tab.panel == active), "")
    first = [tab for name in _group_names(tabs) for tab in [one for one in tabs if one.group == name][:FIRST_PER_GROUP]]
    preferred = [tab for tab in tabs if tab.panel == active] + first + [tab for tab in tabs if tab.group == group]
    chosen: list[PanelTab] = []
    for tab in dict.fromkeys([*preferred, *tabs]):
        segments = _write_segments(tabs, [*chosen, tab], active, labelled=labelled)
        if sum(len(segment.text) for segment in segments) > width and chosen:
            continue
        chosen.append(tab)
    return tuple(tab for tab in tabs if tab in chosen)


def _group_names(tabs: Sequence[PanelTab]) -> list[str]:
    return list(dict.fromkeys(tab.group for tab in tabs))


def _write_segments(
    tabs: Sequence[PanelTab], shown_tabs: Sequence[PanelTab], active: str, *, labelled: bool = True, gap: str = " "
) -> Iterator[TabSegment]:
    """Parts of the line: each group after its name or a bar; an ellipsis marks a group with hidden panels.

    Without a gap behind each tab, the bracket that closes the active one is the left edge of what follows.
    """
    left = " "
    for number, group in enumerate(_group_names(tabs)):
        group_tabs = [tab for tab in tabs if tab.group == group]
        if labelled:
            yield TabSegment(f"{' ' if number else ''}{group}", "italic")
        elif number:
            yield TabSegment(" │", "dim")
        for tab in group_tabs:
            if tab in shown_tabs:
                yield from tab.tab_segments(active, left, gap)
                left = "]" if tab.panel == active and not gap else " "
        if left == "]" and group_tabs[-1].panel == active:
            yield TabSegment(left)
            left = " "
        if any(tab not in shown_tabs for tab in group_tabs):
            yield TabSegment(f" {MORE_SIGN}", "dim")


# The whole recording in one line.

LINE: Final = "━"
LEGEND = f" {sign_legend(HERE, COMMIT, DISCARD, EVICT, BREAK, BOOKMARK, ACTION)}".replace("  ", " ")
LEGEND_WIDTH = 100
_MARK_MEANINGS: Final = {EVICT: "warn", COMMIT: "good", DISCARD: "bad", BREAK: "accent", BOOKMARK: "title"}
_MARK_STYLES: Final = {HERE: BOLD + Style(reverse=True), LINE: Style(dim=True)}


class Timeline(TextLines):
    """The recording as a bar with marks; a click goes to the event there."""

    DEFAULT_CSS = "Timeline { height: 1; padding: 0 1; color: $text; }"

    moment: reactive[DebuggerState | None] = reactive(None)

    def __init__(self) -> None:
        super().__init__()
        self._cells: list[str] = []
        self._drawn_for: tuple[Recording, tuple[BreakpointStatus, ...], tuple[Bookmark, ...], int] | None = None

    @property
    def bar_width(self) -> int:
        """Cells of the bar, without the legend."""
        return self.size.width - (len(LEGEND) + 1 if self.size.width >= LEGEND_WIDTH else 0)

    def cell_of(self, seq: Seq) -> int:
        """The cell in which an event lies."""
        total = len(self.moment.recording) if self.moment is not None else 1
        return min((seq - 1) * self.bar_width // max(total, 1), self.bar_width - 1)

    def render(self) -> Text:
        """The bar; the mark of the current event covers all others."""
        width = self.bar_width
        if self.moment is None or width <= 0:
            return Text(LINE * max(width, 0))
        cells = [*self._marked_cells(self.moment, width)]
        cells[self.cell_of(self.moment.seq)] = HERE
        text = Text(no_wrap=True)
        for cell, run in groupby(cells):
            style = style_of_meaning(_MARK_MEANINGS.get(cell, ""), self.app.theme_variables)
            text.append("".join(run), _MARK_STYLES.get(cell, style))
        if width < self.size.width:
            text.append(" " + LEGEND, style_of_meaning("muted", self.app.theme_variables))
        return text

    def _marked_cells(self, moment: DebuggerState, width: int) -> list[str]:
        """The bar without the current position, cached while width and marks are the same."""
        drawn_for = (moment.recording, moment.breakpoints, moment.bookmarks, width)
        if drawn_for == self._drawn_for:
            return self._cells
        self._cells = [LINE] * width
        marks = timeline_marks(moment.recording)
        stops = [seq for status in moment.breakpoints if status.enabled for seq in status.hits]
        layers: list[tuple[str, Iterable[Seq]]] = [
            (ACTION, marks.actions),
            (EVICT, marks.evictions),
            (COMMIT, marks.commits),
            (DISCARD, marks.discards),
            (BREAK, stops),
            (BOOKMARK, (mark.seq for mark in moment.bookmarks if mark.seq <= len(moment.recording))),
        ]
        for mark, seqs in layers:
            for seq in seqs:
                self._cells[self.cell_of(seq)] = mark
        self._drawn_for = drawn_for
        return self._cells

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if self.moment is None or offset is None or offset.x >= self.bar_width:
            return
        total = len(self.moment.recording)
        self.post_message(GotoRequested(min(-(-offset.x * total // self.bar_width) + 1, total)))


# The footer: keys that work here, or the message of the last command; and the hint of the first start.


class FooterKey(Struct, frozen=True):
    """One entry of the footer."""

    key: str
    effect: str
    key_presses: tuple[tuple[str, str], ...] = ()
    """(displayed name, Textual's name) of each key; a click on a name simulates the key."""

    def write_to(self, text: Text) -> None:
        """Append the entry, such as `n/N over`; a click on a key presses it, elsewhere the first one."""
        click_style = on_click(f"app.simulate_key('{self.key_presses[0][1]}')") if self.key_presses else Style()
        for number, (display_name, key) in enumerate(self.key_presses):
            text.append("/" if number else "", click_style)
            text.append(display_name, BOLD + on_click(f"app.simulate_key('{key}')"))
        text.append(f" {self.effect}  ", click_style)


def on_click(action: str) -> Style:
    """A style with which a click on the text runs an action."""
    return Style(meta={"@click": action})


class Footer(Container):
    """Container of the last line, in which the status is shown."""

    DEFAULT_CSS = "Footer { height: 1; }"


class Status(Widget):
    """Shows the active keys, or a message until the next key; further lines of a message cover the lines above."""

    DEFAULT_CSS = """
    Status {
        height: auto; max-height: 3; padding: 0 1; background: $surface; color: $text;
        overlay: screen; constrain: none inside;
    }
    Status.-error { color: $text-error; text-style: bold; }
    """

    auto_links = reactive(False)
    message: reactive[str] = reactive("", layout=True)
    keys: reactive[tuple[FooterKey, ...]] = reactive(())
    always: reactive[tuple[FooterKey, ...]] = reactive(())

    def show_message(self, text: str, *, error: bool = False) -> None:
        self.set_class(error, "-error")
        self.message = f"✗ {text}" if error else text

    def render(self) -> Text:
        """The keys that fit, those of `always` in any case."""
        if self.message:
            return Text(self.message)
        room = self.size.width - _keys_width(self.always)
        shown_keys: list[FooterKey] = []
        for key in self.keys:
            if _keys_width((*shown_keys, key)) > room:
                break
            shown_keys.append(key)
        text = Text(no_wrap=True)
        for key in (*shown_keys, *self.always):
            key.write_to(text)
        return text


def _keys_width(keys: tuple[FooterKey, ...]) -> int:
    return sum(len(key.key) + len(key.effect) + 3 for key in keys)


FIRST_KEY_LINES: Final = (
    "First time here?  s into the next event, n over, f out; capitals go back.",
    "b breakpoint, c continue to it   1-9 and Tab panels   e why Pending?",
    "? every key   : commands   Ctrl+P finds everything      (any key hides this)",
)
"""The hint's lines, of at most 78 cells, so that they fit on the narrowest screen."""


class FirstKeys(Widget):
    """The hint of the first start: three lines above the footer, until the first key."""

    DEFAULT_CSS = """
    FirstKeys {
        height: auto; padding: 0 1; background: $surface; color: $text; display: none; overlay: screen;
    }
    """

    def on_resize(self, event: events.Resize) -> None:
        """Place the hint above the footer."""
        self.styles.offset = (0, -event.size.height)

    def render(self) -> Text:
        """The hint of the first start."""
        return Text("\n").join([Text(line) for line in FIRST_KEY_LINES])
