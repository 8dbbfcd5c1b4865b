"""Figures from words: `node n1 idle cpu`, `node n1.idle.cpu`, `queue research proportion/allocated gpu`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from vcdebug.amount_text import short_name
from vcdebug.debugger import figures
from vcdebug.debugger.figures import FIGURE_KINDS, JOB, NODE, PLUGIN, TASK, Figure
from vcdebug.errors import VcdebugError
from vcdebug.recording.recording import Recording, per_recording

FIGURE_USAGE: Final = (
    "KIND NAME PART [DIMENSION], such as node n1 idle cpu, queue research allocated, job ml/train ready"
)
MAX_NAMED: Final = 12
MAX_COMPARED: Final = 2_000
"""Names among which one looks for what was meant."""


class FigureError(VcdebugError):
    """Words that name no figure of this recording."""


@per_recording(most=1024)
def parse_figure(recording: Recording, words: tuple[str, ...]) -> Figure:
    """The figure that the words name; raises FigureError with what would be possible."""
    if not words:
        raise FigureError("say which figure", FIGURE_USAGE)
    kind, rest = words[0], words[1:]
    if kind not in FIGURE_KINDS:
        raise FigureError(f"no kind of figure {kind!r}", f"figures are {FIGURE_USAGE}")
    if not rest:
        raise FigureError(f"say which {kind}", FIGURE_USAGE)
    known = figures.object_names(recording, kind)
    name, more = _find_name(kind, rest[0], known)
    return _find_part(recording, kind, name, (*more, *rest[1:]))


def parse_figure_line(recording: Recording, line: str) -> Figure:
    """As figure, from one line."""
    return parse_figure(recording, tuple(line.split()))


def _find_name(kind: str, word: str, known: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
    """The object, and what stands behind it in a word with dots."""
    if word in known:
        return word, ()
    head = word
    while "." in head:
        head = head.rpartition(".")[0]
        whole = head if head in known else _find_unique(kind, head, known)
        if whole:
            return whole, tuple(word[len(head) + 1 :].split(".", 1))
    whole = _find_unique(kind, word, known)
    if whole:
        return whole, ()
    close = get_close_matches(word, list(known)[:MAX_COMPARED], 3) or list(known)[:MAX_NAMED]
    raise FigureError(
        f"no {kind} {word!r}", f"there is {_list_some(close, len(known))}" if known else f"there is no {kind}"
    )


def _find_unique(kind: str, word: str, known: Mapping[str, object]) -> str:
    """A job or task without its namespace, where only one is called so."""
    if kind not in (JOB, TASK) or "/" in word:
        return ""
    found = [name for name in known if name.endswith(f"/{word}")]
    return found[0] if len(found) == 1 else ""


def _find_part(recording: Recording, kind: str, name: str, words: Sequence[str]) -> Figure:
    known = figures.figure_parts(recording, kind, name)
    if not words:
        raise FigureError(f"say which figure of {kind} {name}", f"it has {_list_some(known)}")
    plugin, _, part = words[0].rpartition("/")
    books = recording.timeline.figures
    there = part in (books.get(plugin, {}).get(name, ()) if plugin else known)
    if not there:
        raise FigureError(f"{kind} {name} has no figure {words[0]!r}", f"it has {_list_some(known)}")
    if kind == PLUGIN:
        plugin = name
    elif not plugin and part not in figures.OWN_PARTS[kind]:
        plugin = figures.figure_plugin(recording, name, part)
    return _find_dimension(recording, Figure(kind, name, part, "", plugin), words[1:])


def _find_dimension(recording: Recording, found: Figure, words: Sequence[str]) -> Figure:
    if not words:
        return found
    known = figures.figure_dimensions(recording, found)
    if len(words) > 1:
        raise FigureError(f"unexpected {words[1]!r} after {found} {words[0]}", FIGURE_USAGE)
    if not known:
        raise FigureError(f"{found} is one value, without dimensions")
    short = [dim for dim in known if words[0] in (dim.rsplit("/", 1)[-1], short_name(dim))]
    if words[0] not in known and len(short) != 1:
        raise FigureError(f"{found} has no dimension {words[0]!r}", f"it has {_list_some(known)}")
    return found._replace(dim=words[0] if words[0] in known else short[0])


def _list_some(known: Collection[str], total: int = 0) -> str:
    total = total or len(known)
    shown = list(known)[:MAX_NAMED]
    return ", ".join(shown) + (f" and {total - len(shown)} more" if total > len(shown) else "")


def iter_figure_completions(recording: Recording, kind: str, name: str) -> Iterator[str]:
    """Every figure of one object, in words."""
    if name not in figures.object_names(recording, kind):
        return
    for part in figures.figure_parts(recording, kind, name):
        found = parse_figure(recording, (kind, name, part))
        yield f"{kind} {name} {part}"
        if kind in (NODE, PLUGIN) or found.plugin:
            yield from (f"{kind} {name} {part} {dim}" for dim in figures.figure_dimensions(recording, found))
