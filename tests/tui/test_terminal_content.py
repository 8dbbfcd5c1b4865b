"""The terminal shows the same content whether frames are sent completely or as differences."""

import pyte
from hypothesis import given
from hypothesis import strategies as st
from pyte.screens import Char

from vcdebug.tui.terminal import TerminalContent

COLUMNS, LINES = 24, 6
GROUNDS = ["48;2;1;2;3", "1;31;48;2;1;2;3", "38;2;10;20;30;48;2;1;2;3", "4;38;2;10;20;30;48;2;1;2;3"]
STYLES = ["", "1", "31", "38;2;10;20;30", "1;3;94;44", "38;5;44;48;5;7", "7;48;2;1;2;3", *GROUNDS]
TEXTS = st.text(alphabet="ab  ─●工作", max_size=5)
PIECES = st.tuples(st.sampled_from(STYLES), TEXTS)
SPANS = st.tuples(st.integers(1, LINES), st.integers(1, COLUMNS - 20), st.lists(PIECES, max_size=2))
FRAMES = st.lists(st.tuples(st.lists(SPANS, min_size=1, max_size=4), st.integers(1, COLUMNS)), max_size=6)
SYNC_BEGIN, SYNC_END = "\x1b[?2026h", "\x1b[?2026l"


def frame(spans: list[tuple[int, int, list[tuple[str, str]]]], cursor: int) -> str:
    """A frame as Textual writes it: moves, styled texts, line ends, and a final cursor move."""
    lines = [
        f"\x1b[{row};{column}H" + "".join(f"\x1b[{style}m{text}\x1b[0m" if style else text for style, text in pieces)
        for row, column, pieces in spans
    ]
    return "\n".join(lines) + f"\x1b[1;{cursor}H"


def visible(cell: Char) -> Char:
    """The visible part of a cell: for a space without lines, only its background."""
    lined = cell.reverse or cell.underscore or cell.strikethrough
    return cell if cell.data != " " or lined else Char(" ", bg=cell.bg)


class Emulator:
    """A terminal emulated by pyte."""

    def __init__(self) -> None:
        self.screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.Stream(self.screen)

    def feed(self, data: str) -> None:
        self._stream.feed(data.replace(SYNC_BEGIN, "").replace(SYNC_END, ""))

    def shown(self) -> object:
        rows = [[visible(self.screen.buffer[y][x]) for x in range(COLUMNS)] for y in range(LINES)]
        return rows, (self.screen.cursor.x, self.screen.cursor.y)


@given(FRAMES)
def test_a_terminal_shows_the_same_after_frames_that_were_cut_to_what_differs(
    frames: list[tuple[list[tuple[int, int, list[tuple[str, str]]]], int]],
) -> None:
    whole, cut, content = Emulator(), Emulator(), TerminalContent()
    for spans, cursor in frames:
        # The emulator scrolls after a newline on the last line, which Textual never writes.
        data = frame(sorted(spans)[:1] if any(row == LINES for row, *_ in spans) else spans, cursor)
        whole.feed(data)
        cut.feed(content.changed_part(data))
        assert whole.shown() == cut.shown()


def test_of_a_frame_that_changes_nothing_nothing_is_sent() -> None:
    content, data = TerminalContent(), frame([(2, 3, [("31", "gang")])], 5)
    assert "gang" in content.changed_part(data)
    assert "" == content.changed_part(data)
    assert "\x1b[1;6H" == content.changed_part(frame([(2, 3, [("31", "gang")])], 6))


def test_only_the_cells_that_differ_are_sent() -> None:
    content = TerminalContent()
    content.changed_part(frame([(2, 3, [("31", "event 120/166")])], 5))
    assert "\x1b[0;31m\x1b[2;11H1\x1b[0m\x1b[1;5H" == content.changed_part(
        frame([(2, 3, [("31", "event 121/166")])], 5)
    )


def test_spaces_go_with_the_text_beside_them() -> None:
    content = TerminalContent()
    data = frame(
        [(2, 3, [(f"31;{GROUNDS[0]}", "ab"), (f"32;{GROUNDS[0]}", "  c")]), (3, 3, [(f"31;{GROUNDS[0]}", "d")])], 5
    )
    sent = content.changed_part(data)
    assert f"\x1b[0;31;{GROUNDS[0]}m\x1b[2;3Hab  \x1b[3;3Hd\x1b[0;32;{GROUNDS[0]}m\x1b[2;7Hc\x1b[0m\x1b[1;5H" == sent
    assert "" == content.changed_part(frame([(2, 5, [(f"1;34;{GROUNDS[0]}", "  ")])], 5))


def test_modes_and_titles_keep_what_is_known_and_anything_else_forgets_it() -> None:
    data = frame([(2, 3, [("", "gang")])], 5)
    for harmless in (SYNC_BEGIN, SYNC_END, "\x1b[?25l", "\x1b]0;vcdebug\x07", "\x1b]52;c;eA==\x07"):
        content = TerminalContent()
        content.changed_part(data)
        assert harmless == content.changed_part(harmless)
        assert "gang" not in content.changed_part(data), harmless
    for foreign in ("\x1b[?1049h", "a warning\n", "\x1b[2J"):
        content = TerminalContent()
        content.changed_part(data)
        assert foreign == content.changed_part(foreign)
        assert "gang" in content.changed_part(data), foreign


def test_a_frame_with_anything_unknown_is_sent_as_it_is() -> None:
    data = "\x1b[1;1Hab\x1b[K\x1b[1;1H"
    assert data == TerminalContent().changed_part(data)
