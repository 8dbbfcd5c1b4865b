"""Pieces of styled text, lines of them, and the signs and bars that views share."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from vcdebug.amount_text import format_number, short_resource_text
from vcdebug.framework.record import NodeAmounts
from vcdebug.model.names import JobId, Seq
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.recording.recording import Recording

Style = Literal["", "title", "strong", "muted", "good", "bad", "warn", "accent", "here"]
"""A meaning, which the front end renders as a colour or style; the text also shows it by a word or sign."""


YES, NO, SOME, SKIPPED, BEST = "✓", "✗", "◐", "–", "★"
HERE, CURSOR, OPEN, CLOSED, PATH = "●", "▌", "▾", "▸", "›"
COMMIT, DISCARD, EVICT, RESERVED, ALLOCATED, ACTION = "○", "◆", "▲", "□", "■", "┿"
BREAK, BOOKMARK, PROBLEM = "◉", "▼", "!"
USED, RELEASING, BOTH, IDLE, TO_DESERVED, BEYOND = "█", "▒", "▣", "·", "░", "▓"
BAR_SIGNS: Final = (USED, RELEASING, BOTH, RESERVED, IDLE)
QUEUE_SIGNS: Final = (USED, TO_DESERVED, BEYOND, IDLE)
"""Signs of a queue's bar: allocated up to deserved, unused deserved, allocated beyond it, rest up to the limit."""
GANG_SIGNS: Final = (ALLOCATED, RESERVED, NO)
"""Signs of a gang's bar: placed, pipelined and missing pods."""
SIGNS: Final = {
    HERE: "here",
    CURSOR: "cursor",
    CLOSED: "closed",
    OPEN: "open",
    PATH: "path",
    YES: "yes: allows, fits, ready",
    NO: "no: refuses, protects, lacks",
    SOME: "partly",
    SKIPPED: "not asked, no value",
    BEST: "best node",
    COMMIT: "commit",
    DISCARD: "discard",
    EVICT: "evict",
    RESERVED: "reserved (pipelined)",
    ALLOCATED: "allocated, bound",
    ACTION: "action",
    BREAK: "break",
    BOOKMARK: "mark",
    PROBLEM: "quirk or problem",
    USED: "used",
    RELEASING: "releasing",
    BOTH: "releasing and reserved",
    IDLE: "idle",
    TO_DESERVED: "up to deserved",
    BEYOND: "above deserved",
}
"""Sign of trees, tables, bars and the timeline -> its meaning, the same everywhere."""


def sign_legend(*signs: str) -> str:
    """`● here  ○ commit`: the signs with their meanings."""
    return "  ".join(f"{sign} {SIGNS[sign]}" for sign in signs)


class Piece(NamedTuple):
    """Text in one style."""

    text: str
    style: Style = ""


Line = tuple[Piece, ...]


def make_line(*pieces: Piece | str) -> Line:
    """A line of pieces; a str is a piece without style."""
    return tuple(Piece(piece) if isinstance(piece, str) else piece for piece in pieces)


def text_of(pieces: Sequence[Piece]) -> str:
    """The pieces' text without styles."""
    return "".join(piece.text for piece in pieces)


def muted_piece(text: str) -> Piece:
    """A piece in the style of less important text."""
    return Piece(text, "muted")


def muted_lines(*texts: str) -> tuple[Line, ...]:
    """A line of less important text for each of the texts."""
    return tuple(make_line(muted_piece(text)) for text in texts)


def labelled_line(**facts: str) -> Line:
    """`queue q1  phase Inqueue`: each fact with its label, the labels muted."""
    parts = ((f"{'  ' if number else ''}{label} ", text) for number, (label, text) in enumerate(facts.items()))
    return tuple(piece for label, text in parts for piece in (muted_piece(label), Piece(text)))


def value_text(value: object) -> str:
    """The text of a plugin's figure of any type."""
    if isinstance(value, Resource):
        return short_resource_text(value)
    # bool before the numbers: True is an int in Python.
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value_text(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_text, value))
    return "" if value is None else str(value)


# Bars made of characters: for a node's dimension, and a gang.

LEGEND: Final = f"{sign_legend(USED, RELEASING)}  {RESERVED} pipelined  {BOTH} both  {sign_legend(IDLE)}"


def node_bar(amounts: NodeAmounts, allocatable: Resource, dim: str, width: int) -> str:
    """A bar of one dimension of a node; pipelined amounts cover releasing ones first, then idle ones."""
    used, leaving = amounts.used.get(dim), min(amounts.releasing.get(dim), amounts.used.get(dim))
    idle = max(amounts.idle.get(dim), 0.0)
    reserved = min(max(amounts.pipelined.get(dim), 0.0), leaving + idle)
    from_leaving = min(reserved, leaving)
    from_idle = reserved - from_leaving
    parts = (used - leaving, leaving - from_leaving, from_leaving, from_idle, idle - from_idle)
    return draw_bar(parts, BAR_SIGNS, max(allocatable.get(dim), used + idle), width)


def draw_bar(parts: Sequence[float], signs: Sequence[str], total: float, width: int) -> str:
    """A bar of `width` signs in proportion to the parts; each part above 0 has at least one sign."""
    if total <= 0:
        return ""
    sizes = [max(1, round(part * width / total)) if part > 0 else 0 for part in parts]
    # Rounding up small parts may exceed the width: the largest part is shortened, where it shows least.
    while sum(sizes) > width:  # exact: ints
        sizes[sizes.index(max(sizes))] -= 1
    short = width - sum(sizes)  # exact: ints
    if short > 0 and any(sizes):
        sizes[sizes.index(max(sizes))] += short
    return "".join(sign * size for sign, size in zip(signs, sizes, strict=True))


PICTURE_WIDTH: Final = 24
BINDING_STATUSES: Final = (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND)
PLACED_STATUSES: Final = (*BINDING_STATUSES, TaskStatus.RUNNING, TaskStatus.SUCCEEDED)
"""Statuses of pods that have a node."""


def gang_line(recording: Recording, seq: Seq, name: JobId) -> Line:
    """`pods ■■■□□···  3 placed, 2 pipelined, 3 not placed of 8 needed`: a sign per pod, at most PICTURE_WIDTH."""
    job = recording.session.jobs[name]
    state = recording.timeline.state_at(seq)
    statuses = [state.tasks[task.key].status for task in job.tasks.values()]
    placed = len([status for status in statuses if status in PLACED_STATUSES])
    waiting = statuses.count(TaskStatus.PIPELINED)
    needed = state.job_counts(name).min_available
    missing = max(needed - placed - waiting, 0)
    total = placed + waiting + missing
    drawn = draw_bar((placed, waiting, missing), GANG_SIGNS, total, min(total, PICTURE_WIDTH))
    counts = ((placed, "placed"), (waiting, "pipelined"), (missing, "not placed"))
    words = ", ".join(f"{number} {word}" for number, word in counts if number) or "no pods"
    style: Style = "bad" if missing else "warn" if waiting else "good"
    return make_line(muted_piece("pods "), Piece(drawn, style), f"  {words}", muted_piece(f" of {needed} needed"))
