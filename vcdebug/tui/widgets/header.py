"""The header: which snapshot, which event, where in the cycle, how many breakpoints and quirks."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from vcdebug.amount_text import grouped, plural
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.recordings import BRANCH
from vcdebug.framework.forced import FORCED
from vcdebug.printable import make_line_printable
from vcdebug.releases.release import Release
from vcdebug.trace.input_problems import input_problems
from vcdebug.views.names import path_words

ONE_LINE = 150
"""Screens at least this wide show all of it in one line."""
SEPARATOR = " ▸ "
TITLE = " vcdebug "
APART = " │ "
STOP = " … Esc stops"
LEAST_NAME = 3
"""Cells that the snapshot's name keeps in any case."""
USUAL = ("step", "goto")
ROOMY = 110
"""Cells from which on the header also says what nobody stated."""
NEWEST_RULES = "newest rules"


class Header(Widget):
    """One line where there is room, else two."""

    DEFAULT_CSS = "Header { dock: top; height: 2; background: $surface; color: $foreground; padding: 0 1; }"

    moment: reactive[DebuggerState | None] = reactive(None)
    progress: reactive[str] = reactive("")
    name_shown: reactive[str] = reactive("")

    def render(self) -> Text:
        """Where one stands."""
        width, wide = self.size.width, self.app.size.width >= ONE_LINE
        if self.moment is None:
            doing = (
                _doing(self.progress, width - (len(TITLE) + cell_len(self.name_shown) + 4 if wide else 0))
                if self.progress
                else ""
            )
            apart = "  " if wide else "\n"
            return Text.assemble((TITLE, "bold reverse"), f"  {self.name_shown}", apart, doing, no_wrap=True)
        right, reason = self._right(self.moment), self._reason(self.moment)
        left = self._left(self.moment, width - right.cell_len - len(APART))
        words = path_words(self.moment.recording, self.moment.seq)
        if not wide:
            return Text("\n").join(
                [_apart(left, right, width), _apart(_path(words, width - len(reason) - 2), reason, width)]
            )
        room = width - left.cell_len - right.cell_len - reason.cell_len - 6
        return _apart(Text("  ").join([left, _path(words, room), reason]), right, width)

    def _left(self, moment: DebuggerState, room: int) -> Text:
        """The name gives way where there is little room."""
        count = f"{grouped(moment.seq)}/{grouped(len(moment.recording))}"
        cycle, branch = _cycle(moment), _branch(moment)
        release = release_shown(moment.recording.snapshot.release, wide=self.app.size.width >= ROOMY)
        apart = (APART, "dim") if self.app.size.width >= ROOMY else "  "
        said = Text.assemble(
            apart if release else "",
            release,
            apart,
            cycle,
            apart if branch else "",
            (branch, "bold yellow"),
            apart,
            "event ",
            (count, "bold"),
        )
        name = Text(make_line_printable(moment.recording.snapshot.name))
        name.truncate(max(LEAST_NAME, room - len(TITLE) - said.cell_len - 1), overflow="ellipsis")
        return Text.assemble((TITLE, "bold reverse"), " ", name, said)

    def _reason(self, moment: DebuggerState) -> Text:
        if self.progress:
            return Text(_doing(self.progress, self.size.width * 2 // 3), style="italic")
        return Text(f"at: {moment.reason}" if moment.reason not in USUAL else "", style="italic")

    def _right(self, moment: DebuggerState) -> Text:
        on = len([stand for stand in moment.breakpoints if stand.enabled])
        parts = [f"◉ bp {on}/{len(moment.breakpoints)}"]
        forced = len([note for note in moment.recording.notes if note.code == FORCED])
        if forced:
            parts.insert(0, f"forced {forced}")
        if len(moment.recording.notes) > forced:
            parts.append(f"quirk {len(moment.recording.notes) - forced}")
        problems = input_problems(moment.recording)
        if problems:
            parts.append(f"problem {len(problems)}")
        return Text((APART if self.app.size.width >= ROOMY else "  ").join(parts))


def _doing(progress: str, room: int) -> str:
    """What is being done, and how to stop it, which is never cut off."""
    return progress[: max(room - len(STOP), 0)].rstrip() + STOP


def release_shown(release: Release, *, wide: bool) -> str:
    """`v1.14.4`, with how many changes are switched behind it; what nobody stated only where there is room."""
    if release.assumed:
        return NEWEST_RULES if wide else ""
    name, *switched = release.name.split(",")
    return f"{name} ±{len(switched)}" if switched else name


def _cycle(moment: DebuggerState) -> str:
    """`cycle 1`, or `cycle 2 of 3`."""
    open_ = moment.recordings
    if open_ is None or open_.cycles == 1:
        return f"cycle {1 if open_ is None else open_.cycle}"
    return f"cycle {open_.cycle} of {open_.cycles}"


def _branch(moment: DebuggerState) -> str:
    """`branch: 2 edits`; the original says so only where there is a branch."""
    open_ = moment.recordings
    if open_ is None or not open_.edits:
        return ""
    return f"branch: {plural(len(open_.edits), 'edit')}" if open_.side == BRANCH else "original"


def _apart(left: Text, right: Text, width: int) -> Text:
    """One text at each side."""
    right.truncate(max(0, width - left.cell_len - 1), overflow="ellipsis")
    gap = " " * max(1, width - left.cell_len - right.cell_len)
    return Text.assemble(left, gap, right, no_wrap=True, overflow="ellipsis")


def _path(words: list[str], room: int) -> Text:
    """The path's end is what counts: its beginning gives way first."""
    text = SEPARATOR.lstrip() + SEPARATOR.join(words) if words else "between actions"
    while cell_len(text) > room and len(words) > 1:
        words = words[1:]
        text = "…" + SEPARATOR + SEPARATOR.join(words)
    return Text(text, style="bold", no_wrap=True, overflow="ellipsis")
