"""Text in a given number of cells: wrapped, shortened, as columns of a table, and as rows of a tree."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size

from vcdebug.printable import make_line_printable
from vcdebug.views.pieces import NO, YES, Line, Piece
from vcdebug.views.table import Column, Row, RowsOnDemand

ELLIPSIS_SIGN = "…"
MIN_TEXT_WIDTH = 4
"""Cells below which a text is reduced to its sign."""
WRAP_INDENT = 2
"""Indent of a wrapped text's further lines."""
GUIDE_SIGNS: Final = "│├└"
TREE_GUIDES: Final = f" {GUIDE_SIGNS}"
GUIDES_BELOW: Final = str.maketrans("├└", "│ ")
"""What goes on below each guide of a tree, in the further lines of a wrapped text."""
_COLUMN_GAPS = re.compile(r"(?<=\S) {2,}(?=\S)")
NARROW_WIDTH = 20
"""Width below which a list breaks only after commas, so that `mem 60Gi` stays together."""


def measure_cells(text: str) -> int:
    """Width in cells of the text's printable form, which is drawn."""
    if text.isascii() and text.isprintable():
        return len(text)
    return cell_len(make_line_printable(text))  # cells, not characters: wide characters take two


def wrap_text(text: str, width: int) -> list[str]:
    """Break a text at spaces into lines of at most `width` cells; only words longer than a line are broken."""
    if measure_cells(text) <= width:
        return [text]
    guides = text[: len(text) - len(text.lstrip(TREE_GUIDES))].translate(GUIDES_BELOW)
    usual_indent = min(len(guides) + WRAP_INDENT, width // 2)
    lines: list[str] = []
    rest, indent = text, usual_indent
    while measure_cells(rest) > width:
        cut = _cut_position(rest, width, indent)
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
        spare = width - measure_cells(_unbroken_start(rest, width))
        indent = min(usual_indent, spare) if spare >= 0 else usual_indent
        rest = guides[:indent].ljust(indent) + rest
    return [*lines, rest]


def _unbroken_start(text: str, width: int) -> str:
    """The text that the next line should not break: its first word, or a narrow list's first item."""
    item, comma, _ = text.partition(", ")
    if comma and width < NARROW_WIDTH and measure_cells(item) < width:
        return f"{item},"
    return text.partition(" ")[0]


def _cut_position(text: str, width: int, indent: int) -> int:
    """The length of the next line: up to a space, or after a dash of a word that is too long."""
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
    indent = _hanging_indent("".join(piece.text for piece in line), width)
    lines: list[Line] = []
    current: list[Piece] = []
    used_width = 0
    for word in (Piece(text, piece.style) for piece in line for text in _split_words(piece.text)):
        word_width = measure_cells(word.text)
        if used_width and used_width + measure_cells(word.text.rstrip()) > width:
            lines.append(tuple(current))
            current, used_width = [Piece(" " * indent)], indent
            word = Piece(word.text.lstrip(), word.style)
            word_width = measure_cells(word.text)
        current.append(word)
        used_width += word_width
    return [*lines, tuple(current)]


def _hanging_indent(text: str, width: int) -> int:
    """Where the rest of a line begins: under the last column in the left half of a table's row, else WRAP_INDENT."""
    if not text.startswith("  "):
        return WRAP_INDENT
    return max((gap.end() for gap in _COLUMN_GAPS.finditer(text) if gap.end() <= width // 2), default=WRAP_INDENT)


def _split_words(text: str) -> list[str]:
    """Words with the spaces after them; leading spaces are a word of their own."""
    words: list[str] = []
    for part in text.split(" "):
        words.append(part + " ")
    words[-1] = words[-1][:-1]
    return [word for word in words if word]


def pad_text(text: str, width: int, *, right: bool, name: bool = False) -> str:
    """The text padded or shortened to exactly `width` cells; a shortened name keeps both ends."""
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
    """The sign at the beginning of a text; empty without one."""
    return text[:1] if text[1:2] == " " and not text[0].isalnum() else ""


def tighten_levels(text: str) -> str:
    """A line of a tree with one cell less per level."""
    label = text.lstrip("│ ")
    guides = text[: len(text) - len(label)]
    return guides.replace("│ ", "│") + label


def tighten_leaf(text: str) -> str:
    """A leaf of a tree with one cell less before its name."""
    label = text.lstrip("│ ")
    guides = text[: len(text) - len(label)]
    return guides.removesuffix(" ") + label if guides.endswith("  ") else text


def shorten_middle(text: str, width: int) -> str:
    """The text in exactly `width` cells: its beginning and end, or the host of a name with a domain."""
    if measure_cells(text) <= width:
        return text.ljust(width)
    if width <= 1:
        return ELLIPSIS_SIGN[:width]
    indent = len(text) - len(text.lstrip("│ ▾▸"))
    if width - indent < 2 * WRAP_INDENT:
        indent = 0
    label, room = text[indent:], width - indent
    host, _, domain = label.partition(".")
    if "." in domain and " " not in domain:
        name = text if len(host) < room else shorten_middle(text.partition(".")[0], width - 1)
        return set_cell_size(name[: width - 1] + ELLIPSIS_SIGN, width)
    tail_width = (room - 1) * 3 // 5
    shortened = label[: room - 1 - tail_width] + ELLIPSIS_SIGN + (label[-tail_width:] if tail_width else "")
    return set_cell_size(text[:indent] + shortened, width)


# Widths of a table's columns.

COLUMN_GAP = 2
GUTTER_WIDTH = 2
MIN_TEXT_COLUMN, MIN_NAME_COLUMN = 16, 22
"""Widths to which columns of text and of names are shortened before columns go out of sight."""
MAX_WORD_WIDTH = 40
SAMPLED_ROWS, SAMPLED_FIRST = 100, 24
SAMPLE_JITTER = 7
"""The distance between sampled rows varies by this, so that alternating kinds of rows are all sampled."""


def line_width(widths: Sequence[int], gap: int = COLUMN_GAP) -> int:
    """The width of a line in cells, including the mark before it."""
    return GUTTER_WIDTH + sum(widths) + gap * max(len(widths) - 1, 0)


def sample_rows(rows: Sequence[Row]) -> list[Row]:
    """A sample of the rows, enough to measure widths: the first ones, which differ most, and at most SAMPLED_ROWS."""
    if len(rows) <= SAMPLED_ROWS:
        return list(rows)
    step = len(rows) // SAMPLED_ROWS
    jitter = min(step, SAMPLE_JITTER)
    spread = [rows[index + number % jitter] for number, index in enumerate(range(0, len(rows) - jitter + 1, step))]
    return [*rows[:SAMPLED_FIRST], *spread]


def natural_widths(
    columns: Sequence[Column], heads: Sequence[str], rows: Sequence[Row], shared: Sequence[str]
) -> list[int]:
    """Widths at which no cell wraps."""
    widths = [measure_cells(head) for head in heads]
    widths = [
        max(width, 0 if column.flexible else column.min_width) for width, column in zip(widths, columns, strict=True)
    ]
    sample = sample_rows(rows)
    for row in sample:
        for i, cell in enumerate(row.cells):
            size = measure_cells(cell.text)
            if shared[i] and cell.text.startswith(shared[i]):
                size -= len(shared[i])
            widths[i] = max(widths[i], size)
    if isinstance(rows, RowsOnDemand) and len(rows) > len(sample):
        _widen_names(widths, columns, rows, sample, shared)
    return widths


def _widen_names(
    widths: list[int], columns: Sequence[Column], rows: RowsOnDemand, sample: Sequence[Row], shared: Sequence[str]
) -> None:
    """Widen the column of names to the longest key: keys are known without building the rows."""
    for i, column in enumerate(columns):
        if column.name and all(row.cells[i].text == row.key for row in sample):
            widths[i] = max(widths[i], rows.longest_key(shared[i]))


def least_widths(
    columns: Sequence[Column], heads: Sequence[str], wrapped: Sequence[Row], natural: Sequence[int]
) -> list[int]:
    """Least width of each column: names and text may be shortened, but not numbers, heads and words that wrap."""
    widths = []
    for i, column in enumerate(columns):
        usual = MIN_TEXT_COLUMN if column.flexible else MIN_NAME_COLUMN if column.name and not wrapped else natural[i]
        words = [_longest_word(row.cells[i].text) for row in wrapped] if column.flexible else []
        widths.append(max(min(max(usual, column.min_width, *words), natural[i]), measure_cells(heads[i])))
    return widths


def _longest_word(text: str) -> int:
    """The width of the longest word; in a tree with the guides before it, which a narrower column would lose."""
    guides = len(text) - len(text.lstrip(TREE_GUIDES))
    # Printable ASCII takes a cell a character.
    measure = len if text.isascii() and text.isprintable() else measure_cells
    longest = min(max(map(measure, text.split()), default=0), MAX_WORD_WIDTH)
    return longest + (guides + WRAP_INDENT if guides else 0)


def fit_widths(columns: Sequence[Column], natural: list[int], least: list[int], width: int, gap: int) -> list[int]:
    """Narrow the widest column until the row fits; columns of names are narrowed last."""
    widths = list(natural)
    excess = sum(widths) + gap * max(len(widths) - 1, 0) - width
    while excess > 0:
        candidates = [i for i in range(len(columns)) if widths[i] > least[i]]
        candidates = [i for i in candidates if not columns[i].name] or candidates
        if not candidates:
            break
        widest = max(candidates, key=lambda i: widths[i])
        next_width = max((widths[i] for i in candidates if i != widest), default=0)
        reduction = max(1, min(excess, widths[widest] - max(next_width, least[widest])))
        widths[widest] -= reduction
        excess -= reduction
    return widths


# Rows of a tree: name, outcome as words or a sign, and a number at the right edge.

MAX_LEVELS_ABOVE = 8
"""Maximum number of enclosing rows at the top."""

MIN_SHORTENED_WIDTH = 13
"""Width from which on an outcome is shortened instead of reduced to its sign."""


class TreeRoom(Struct, frozen=True):
    """The widths and options that all rows of a tree share."""

    width: int
    """Cells of a row."""
    start: int
    """The start of the second column, unless a longer name moves it."""
    number: int = 0
    """Cells of the number and of the gap before it."""
    close: bool = False
    """Whether the indent of a level is reduced."""
    shows_outcome_words: bool = True
    """Whether outcomes are shown as words."""


class TreeRow(NamedTuple):
    """The pieces of one line and their widths."""

    cells: tuple[Piece, ...]
    widths: tuple[int, ...]


def spread_cells(cells: Sequence[Piece], room: TreeRoom) -> TreeRow:
    """The row's name, outcome and number, shortened to fit."""
    name, outcome, number = cells
    label = tighten_levels(name.text) if room.close else name.text
    # A long outcome may take the cells of the column that the number leaves free.
    room = replace(room, number=min(room.number, measure_cells(number.text) + 1))
    for text, shows_number in _shortening_steps(label, outcome.text, room):
        edge = room.width - (room.number if shows_number else 0)
        if measure_cells(label) + (measure_cells(text) + 1 if text else 0) <= edge:
            return _tree_row((name._replace(text=label), outcome._replace(text=text), number), room, edge)
    label = shorten_middle(tighten_leaf(label), room.width)
    return _tree_row((name._replace(text=label), outcome._replace(text=""), number), room, room.width)


def _shortening_steps(label: str, outcome: str, room: TreeRoom) -> Iterator[tuple[str, bool]]:
    """(outcome, whether the number is shown), from the fullest to the shortest form."""
    sign = leading_sign(outcome)
    if room.shows_outcome_words:
        yield from ((outcome, True), (outcome, False))
        outcome_width = room.width - measure_cells(label) - 1
        if outcome_width >= MIN_SHORTENED_WIDTH:
            beside_number = outcome_width - room.number
            yield (
                (_shorten_text(outcome, beside_number), True)
                if beside_number >= MIN_SHORTENED_WIDTH
                else (_shorten_text(outcome, outcome_width), False)
            )
    yield from ((sign, True), (sign, False), ("", False))


def _shorten_text(text: str, width: int) -> str:
    """A shorter form of an outcome: up to its first comma, or an answer without its plugin, else both ends."""
    first_part, comma, _ = text.partition(",")
    if comma and measure_cells(first_part) < width:
        return first_part + ELLIPSIS_SIGN
    answer = text[max(text.find(YES), text.find(NO), 0) :]
    return answer if measure_cells(answer) <= width else shorten_middle(text, width)


def _tree_row(cells: tuple[Piece, Piece, Piece], room: TreeRoom, edge: int) -> TreeRow:
    name, outcome, number = cells
    outcome_width = measure_cells(outcome.text)
    start = min(room.start, edge - outcome_width)
    start = max(start, measure_cells(name.text) + 1) if outcome_width else edge
    number_width = room.width - edge
    return TreeRow((name, outcome, number if number_width else Piece("")), (start, edge - start, number_width))


def enclosing_rows_in_sight(depths: Sequence[int], first_row: int, most: int) -> list[int]:
    """Rows around the first visible row, shown above it, outermost first; of more than `most`, the innermost."""
    enclosing: list[int] = []
    for hidden_count in range(MAX_LEVELS_ABOVE if first_row > 0 else 0):
        around = enclosing_rows(depths, first_row + hidden_count)
        enclosing = around[max(len(around) - most, 0) :]
        if len(enclosing) <= hidden_count:
            break
    return enclosing


def enclosing_rows(depths: Sequence[int], row: int) -> list[int]:
    """The enclosing rows of a row, the outermost first."""
    if not 0 <= row < len(depths):
        return []
    enclosing: list[int] = []
    depth = depths[row]
    while row > 0 and depth > 0:
        row -= 1
        if depths[row] < depth:
            depth = depths[row]
            enclosing.append(row)
    return enclosing[::-1]
