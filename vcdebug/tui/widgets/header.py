"""The header: which snapshot, which event, where in the cycle, how many breakpoints and quirks."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from vcdebug.tui.moment import Moment
from vcdebug.views.base import grouped
from vcdebug.views.path import path_words
from vcdebug.views.problems import all_problems

ONE_LINE = 150
"""Screens at least this wide show all of it in one line."""
SEPARATOR = " ▸ "
USUAL = ("step", "goto")


class Header(Widget):
    """One line where there is room, else two."""

    DEFAULT_CSS = "Header { dock: top; height: 2; background: $surface; color: $foreground; padding: 0 1; }"

    moment: reactive[Moment | None] = reactive(None)
    progress: reactive[str] = reactive("")
    name_shown: reactive[str] = reactive("")

    def render(self) -> Text:
        """Where one stands."""
        width = self.size.width
        if self.moment is None:
            return Text.assemble((" vcdebug ", "bold reverse"), f"  {self.name_shown}\n", self.progress, no_wrap=True)
        left, right, reason = self._left(self.moment), self._right(self.moment), self._reason(self.moment)
        words = path_words(self.moment.recording, self.moment.seq)
        if self.app.size.width < ONE_LINE:
            return Text("\n").join(
                [_apart(left, right, width), _apart(_path(words, width - len(reason) - 2), reason, width)]
            )
        room = width - left.cell_len - right.cell_len - reason.cell_len - 6
        return _apart(Text("  ").join([left, _path(words, room), reason]), right, width)

    def _left(self, moment: Moment) -> Text:
        count = f"{grouped(moment.seq)}/{grouped(len(moment.recording))}"
        name = moment.recording.snapshot.name
        return Text.assemble((" vcdebug ", "bold reverse"), f" {name}  cycle 1  event ", (count, "bold"))

    def _reason(self, moment: Moment) -> Text:
        return Text(f"at: {moment.reason}" if moment.reason not in USUAL else "", style="italic")

    def _right(self, moment: Moment) -> Text:
        on = len([stand for stand in moment.breakpoints if stand.enabled])
        parts = [f"◉ bp {on}/{len(moment.breakpoints)}"]
        if moment.recording.notes:
            parts.append(f"quirk {len(moment.recording.notes)}")
        problems = all_problems(moment.recording)
        if problems:
            parts.append(f"problem {len(problems)}")
        return Text("  ".join(parts))


def _apart(left: Text, right: Text, width: int) -> Text:
    """One text at each side."""
    gap = " " * max(1, width - left.cell_len - right.cell_len)
    return Text.assemble(left, gap, right, no_wrap=True, overflow="ellipsis")


def _path(words: list[str], room: int) -> Text:
    """The path's end is what counts: its beginning gives way first."""
    text = SEPARATOR.lstrip() + SEPARATOR.join(words) if words else "between actions"
    while cell_len(text) > room and len(words) > 1:
        words = words[1:]
        text = "…" + SEPARATOR + SEPARATOR.join(words)
    return Text(text, style="bold", no_wrap=True, overflow="ellipsis")
