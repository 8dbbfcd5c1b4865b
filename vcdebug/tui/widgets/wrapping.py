"""Text in a given number of cells: broken at spaces, shortened at the end, and names in the middle."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from vcdebug.printable import make_line_printable
from vcdebug.views.base import Line, Piece

ELLIPSIS = "…"
SIGN = 4
"""Cells below which nothing but a sign is left of a text."""
INDENT = 2
"""Cells by which a text's further lines stand in."""
NARROW = 20
"""Cells below which a list is broken behind a comma, so that `mem 60Gi` stays together."""


def measure_cells(text: str) -> int:
    """How many cells the printable form of the text takes, which is what is drawn in its place."""
    return cell_len(make_line_printable(text))


def wrap_text(text: str, width: int) -> list[str]:
    """Break at spaces, a word only where it is longer than a line; further lines keep the indent, long words less."""
    if measure_cells(text) <= width:
        return [text]
    usual = min(len(text) - len(text.lstrip()) + INDENT, width // 2)
    lines: list[str] = []
    rest, indent = text, usual
    while measure_cells(rest) > width:
        cut = _cut(rest, width, indent)
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
        spare = width - measure_cells(_together(rest, width))
        indent = min(usual, spare) if spare >= 0 else usual
        rest = " " * indent + rest
    return [*lines, rest]


def _together(text: str, width: int) -> str:
    """What the next line should not break: its first word, in a narrow column the first item of a list."""
    item, comma, _ = text.partition(", ")
    if comma and width < NARROW and measure_cells(item) < width:
        return f"{item},"
    return text.partition(" ")[0]


def _cut(text: str, width: int, indent: int) -> int:
    """Where a line ends: at a space; where its first word is too long, behind a dash of it."""
    fitting = text[: width + 1]
    comma = fitting.rfind(", ", indent + 1) + 1 if width < NARROW else 0
    if comma > indent:
        return comma
    space = fitting.rfind(" ", indent + 1)
    if space > indent:
        return space
    dash = text[:width].rfind("-", indent + 1) + 1
    return dash if dash > width // 3 else width


def wrap(line: Line, width: int) -> list[Line]:
    """A line of pieces broken at spaces into lines of at most `width` cells."""
    if width <= 0 or measure_cells("".join(piece.text for piece in line)) <= width:
        return [line]
    lines: list[Line] = []
    current: list[Piece] = []
    used = 0
    for word in (Piece(text, piece.style) for piece in line for text in _words(piece.text)):
        size = measure_cells(word.text)
        if used and used + measure_cells(word.text.rstrip()) > width:
            lines.append(tuple(current))
            current, used = [Piece(" " * INDENT)], INDENT
            word = Piece(word.text.lstrip(), word.style)
            size = measure_cells(word.text)
        current.append(word)
        used += size
    return [*lines, tuple(current)]


def _words(text: str) -> list[str]:
    """Words with the spaces after them; leading spaces are a word of their own."""
    words: list[str] = []
    for part in text.split(" "):
        words.append(part + " ")
    words[-1] = words[-1][:-1]
    return [word for word in words if word]


def pad(text: str, width: int, *, right: bool, name: bool = False) -> str:
    """Exactly `width` cells, shortened with an ellipsis; a name keeps both of its ends."""
    text = make_line_printable(text)
    size = cell_len(text)
    if size > width:
        if width < SIGN:
            return sign_of(text).ljust(width)
        return middle(text, width) if name else set_cell_size(text, max(width - 1, 0)) + (ELLIPSIS if width else "")
    return " " * (width - size) + text if right else text + " " * (width - size)


def sign_of(text: str) -> str:
    """The sign that a text begins with, if it does."""
    return text[:1] if text[1:2] == " " and not text[0].isalnum() else ""


def closer(text: str) -> str:
    """A line of a tree with its levels closer together, where there is little room."""
    bare = text.lstrip("│ ")
    guides = text[: len(text) - len(bare)]
    return guides.replace("│ ", "│") + bare


def tighter(text: str) -> str:
    """A leaf of a tree, a cell closer to its levels."""
    bare = text.lstrip("│ ")
    guides = text[: len(text) - len(bare)]
    return guides.removesuffix(" ") + bare if guides.endswith("  ") else text


def middle(text: str, width: int) -> str:
    """Exactly `width` cells, both ends kept; names differ at their ends, which keep more."""
    if measure_cells(text) <= width:
        return text.ljust(width)
    if width <= 1:
        return ELLIPSIS[:width]
    indent = len(text) - len(text.lstrip("│ ▾▸"))
    if width - indent < 2 * INDENT:
        indent = 0
    bare, room = text[indent:], width - indent
    tail = (room - 1) * 3 // 5
    short = bare[: room - 1 - tail] + ELLIPSIS + (bare[-tail:] if tail else "")
    return set_cell_size(text[:indent] + short, width)
