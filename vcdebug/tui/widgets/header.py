"""The header: which snapshot, which event, where in the cycle, how many breakpoints and quirks."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget

from vcdebug.amount_text import count_noun, format_count
from vcdebug.debugger.driver import DebuggerState
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.printable import make_line_printable
from vcdebug.recording.input_problems import input_problems
from vcdebug.releases.release import Release
from vcdebug.views.headline import path_words
from vcdebug.whatif.branch import BRANCH

ONE_LINE_WIDTH = 150
"""Screens at least this wide show all of it in one line."""
PATH_SEPARATOR = " ▸ "
PROGRAM_TITLE = " vcdebug "
PART_SEPARATOR = " │ "
STOP_HINT = " … Esc stops"
MIN_NAME_WIDTH = 3
"""Cells that the snapshot's name keeps in any case."""
QUIET_REASONS = ("step", "goto")
ROOMY_WIDTH = 110
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
        width, wide = self.size.width, self.app.size.width >= ONE_LINE_WIDTH
        if self.moment is None:
            doing = (
                _progress_text(
                    self.progress, width - (len(PROGRAM_TITLE) + cell_len(self.name_shown) + 4 if wide else 0)
                )
                if self.progress
                else ""
            )
            apart = "  " if wide else "\n"
            return Text.assemble((PROGRAM_TITLE, "bold reverse"), f"  {self.name_shown}", apart, doing, no_wrap=True)
        right, reason = self._right_text(self.moment), self._reason_text(self.moment)
        left = self._left_text(self.moment, width - right.cell_len - len(PART_SEPARATOR))
        words = path_words(self.moment.recording, self.moment.seq)
        if not wide:
            return Text("\n").join(
                [
                    _spread_texts(left, right, width),
                    _spread_texts(_path_text(words, width - len(reason) - 2), reason, width),
                ]
            )
        room = width - left.cell_len - right.cell_len - reason.cell_len - 6
        return _spread_texts(Text("  ").join([left, _path_text(words, room), reason]), right, width)

    def _left_text(self, moment: DebuggerState, room: int) -> Text:
        """The name gives way where there is little room."""
        count = f"{format_count(moment.seq)}/{format_count(len(moment.recording))}"
        cycle, branch = _cycle_text(moment), _branch_text(moment)
        release = release_label(moment.recording.snapshot.release, wide=self.app.size.width >= ROOMY_WIDTH)
        apart = (PART_SEPARATOR, "dim") if self.app.size.width >= ROOMY_WIDTH else "  "
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
        name.truncate(max(MIN_NAME_WIDTH, room - len(PROGRAM_TITLE) - said.cell_len - 1), overflow="ellipsis")
        return Text.assemble((PROGRAM_TITLE, "bold reverse"), " ", name, said)

    def _reason_text(self, moment: DebuggerState) -> Text:
        if self.progress:
            return Text(_progress_text(self.progress, self.size.width * 2 // 3), style="italic")
        return Text(f"at: {moment.reason}" if moment.reason not in QUIET_REASONS else "", style="italic")

    def _right_text(self, moment: DebuggerState) -> Text:
        on = len([stand for stand in moment.breakpoints if stand.enabled])
        parts = [f"◉ bp {on}/{len(moment.breakpoints)}"]
        forced = len([note for note in moment.recording.notes if note.code == FORCED_CODE])
        if forced:
            parts.insert(0, f"forced {forced}")
        if len(moment.recording.notes) > forced:
            parts.append(f"quirk {len(moment.recording.notes) - forced}")
        problems = input_problems(moment.recording)
        if problems:
            parts.append(f"problem {len(problems)}")
        return Text((PART_SEPARATOR if self.app.size.width >= ROOMY_WIDTH else "  ").join(parts))


def _progress_text(progress: str, room: int) -> str:
    """What is being done, and how to stop it, which is never cut off."""
    return progress[: max(room - len(STOP_HINT), 0)].rstrip() + STOP_HINT


def release_label(release: Release, *, wide: bool) -> str:
    """`v1.14.4`, with how many changes are switched behind it; what nobody stated only where there is room."""
    if release.is_assumed:
        return NEWEST_RULES if wide else ""
    name, *switched = release.name.split(",")
    return f"{name} ±{len(switched)}" if switched else name


def _cycle_text(moment: DebuggerState) -> str:
    """`cycle 1`, or `cycle 2 of 3`."""
    open_ = moment.recordings
    if open_ is None or open_.cycle_count == 1:
        return f"cycle {1 if open_ is None else open_.cycle}"
    return f"cycle {open_.cycle} of {open_.cycle_count}"


def _branch_text(moment: DebuggerState) -> str:
    """`branch: 2 edits`; the original says so only where there is a branch."""
    open_ = moment.recordings
    if open_ is None or not open_.edits:
        return ""
    return f"branch: {count_noun(len(open_.edits), 'edit')}" if open_.side == BRANCH else "original"


def _spread_texts(left: Text, right: Text, width: int) -> Text:
    """One text at each side."""
    right.truncate(max(0, width - left.cell_len - 1), overflow="ellipsis")
    gap = " " * max(1, width - left.cell_len - right.cell_len)
    return Text.assemble(left, gap, right, no_wrap=True, overflow="ellipsis")


def _path_text(words: list[str], room: int) -> Text:
    """The path's end is what counts: its beginning gives way first."""
    text = PATH_SEPARATOR.lstrip() + PATH_SEPARATOR.join(words) if words else "between actions"
    while cell_len(text) > room and len(words) > 1:
        words = words[1:]
        text = "…" + PATH_SEPARATOR + PATH_SEPARATOR.join(words)
    return Text(text, style="bold", no_wrap=True, overflow="ellipsis")
