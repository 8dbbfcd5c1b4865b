"""Text in a given number of cells: broken at spaces, shortened at the end, and names in the middle."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from vcdebug.printable import make_line_printable
from vcdebug.views.table import Line, Piece

ELLIPSIS_SIGN = "…"
MIN_TEXT_WIDTH = 4
"""Cells below which nothing but a sign is left of a text."""
WRAP_INDENT = 2
"""Cells by which a text's further lines stand in."""
NARROW_WIDTH = 20
"""Cells below which a list is broken behind a comma, so that `mem 60Gi` stays together."""


def measure_cells(text: str) -> int:
    """How many cells the printable form of the text takes, which is what is drawn in its place."""
    return cell_len(make_line_printable(text))


def wrap_text(text: str, width: int) -> list[str]:
    """Break at spaces, a word only where it is longer than a line; further lines keep the indent, long words less."""
    if measure_cells(text) <= width:
        return [text]
    usual = min(len(text) - len(text.lstrip()) + WRAP_INDENT, width // 2)
    lines: list[str] = []
    rest, indent = text, usual
    while measure_cells(rest) > width:
        cut = _cut_position(rest, width, indent)
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
        spare = width - measure_cells(_unbroken_start(rest, width))
        indent = min(usual, spare) if spare >= 0 else usual
        rest = " " * indent + rest
    return [*lines, rest]


def _unbroken_start(text: str, width: int) -> str:
    """What the next line should not break: its first word, in a narrow column the first item of a list."""
    item, comma, _ = text.partition(", ")
    if comma and width < NARROW_WIDTH and measure_cells(item) < width:
        return f"{item},"
    return text.partition(" ")[0]


def _cut_position(text: str, width: int, indent: int) -> int:
    """Where a line ends: at a space; where its first word is too long, behind a dash of it."""
    fitting = text[: width + 1]
    comma = fitting.rfind(", ", indent + 1) + 1 if width < NARROW_WIDTH else 0
    if comma > indent:
        return comma
    space = fitting.rfind(" ", indent + 1)
    if space > indent:
        return space
    dash = text[:width].rfind("-", indent + 1) + 1
    return dash if dash > width // 3 else width


def wrap_line(line: Line, width: int) -> list[Line]:
    """A line of pieces broken at spaces into lines of at most `width` cells."""
    if width <= 0 or measure_cells("".join(piece.text for piece in line)) <= width:
        return [line]
    lines: list[Line] = []
    current: list[Piece] = []
    used = 0
    for word in (Piece(text, piece.style) for piece in line for text in _split_words(piece.text)):
        size = measure_cells(word.text)
        if used and used + measure_cells(word.text.rstrip()) > width:
            lines.append(tuple(current))
            current, used = [Piece(" " * WRAP_INDENT)], WRAP_INDENT
            word = Piece(word.text.lstrip(), word.style)
            size = measure_cells(word.text)
        current.append(word)
        used += size
    return [*lines, tuple(current)]


def _split_words(text: str) -> list[str]:
    """Words with the spaces after them; leading spaces are a word of their own."""
    words: list[str] = []
    for part in text.split(" "):
        words.append(part + " ")
    words[-1] = words[-1][:-1]
    return [word for word in words if word]


def pad_text(text: str, width: int, *, right: bool, name: bool = False) -> str:
    """Exactly `width` cells, shortened with an ellipsis; a name keeps both of its ends."""
    text = make_line_printable(text)
    size = cell_len(text)
    if size > width:
        if width < MIN_TEXT_WIDTH:
            return leading_sign(text).ljust(width)
        return (
            shorten_middle(text, width)
            if name
            else set_cell_size(text, max(width - 1, 0)) + (ELLIPSIS_SIGN if width else "")
        )
    return " " * (width - size) + text if right else text + " " * (width - size)


def leading_sign(text: str) -> str:
    """The sign that a text begins with, if it does."""
    return text[:1] if text[1:2] == " " and not text[0].isalnum() else ""


def tighten_levels(text: str) -> str:
    """A line of a tree with its levels closer together, where there is little room."""
    bare = text.lstrip("│ ")
    guides = text[: len(text) - len(bare)]
    return guides.replace("│ ", "│") + bare


def tighten_leaf(text: str) -> str:
    """A leaf of a tree, a cell closer to its levels."""
    bare = text.lstrip("│ ")
    guides = text[: len(text) - len(bare)]
    return guides.removesuffix(" ") + bare if guides.endswith("  ") else text


def shorten_middle(text: str, width: int) -> str:
    """Exactly `width` cells, both ends kept; names differ at their ends, which keep more."""
    if measure_cells(text) <= width:
        return text.ljust(width)
    if width <= 1:
        return ELLIPSIS_SIGN[:width]
    indent = len(text) - len(text.lstrip("│ ▾▸"))
    if width - indent < 2 * WRAP_INDENT:
        indent = 0
    bare, room = text[indent:], width - indent
    tail = (room - 1) * 3 // 5
    short = bare[: room - 1 - tail] + ELLIPSIS_SIGN + (bare[-tail:] if tail else "")
    return set_cell_size(text[:indent] + short, width)
