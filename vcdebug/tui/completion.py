"""What completes a command line: verbs, and what may follow each of them here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from vcdebug.debugger import figures
from vcdebug.debugger.breakpoint import OPTIONS
from vcdebug.debugger.breakpoints import KINDS
from vcdebug.debugger.breakpoints.base import Kind
from vcdebug.debugger.commands import find as find_verb
from vcdebug.debugger.commands import verbs
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.fields import FIELD_NAMES
from vcdebug.debugger.figure_words import completions as figure_completions
from vcdebug.framework.registry import resolve
from vcdebug.releases.release import names
from vcdebug.snapshot.bundled import bundled
from vcdebug.tui.panels import PANELS
from vcdebug.tui.themes import THEMES

MOST = 2_000
"""Names looked at for one completion; more would only slow typing."""
FIGURE_WORDS: Final = 4
"""Words of `data` and a figure, from which on a condition may follow."""
SUBJECTS: Final = ("job", "task", "node", "queue", "plugin")


def completer(moment: DebuggerState | None) -> Callable[[str], list[str]]:
    """The lines that the beginning of one can become, at a moment."""
    return lambda text: completions(text, moment)


def completions(text: str, moment: DebuggerState | None) -> list[str]:
    """Whole lines that begin with what is typed, or whose last word contains it."""
    before, space, typed = text.rpartition(" ")
    verb = find_verb(before.split()[0]) if before.split() else None
    words = _after(verb.names[0], before, moment) if verb is not None else _verbs() if not space else ()
    found = [word for word in words if word.startswith(typed)]
    if not found and typed:
        found = [word for word in words if typed.casefold() in word.casefold()]
    return [f"{before}{space}{word}" for word in dict.fromkeys(found)]


def _verbs() -> list[str]:
    return [verb.names[0] for verb in verbs()]


def _after(verb: str, before: str, moment: DebuggerState | None) -> list[str]:
    """What may come next after a verb and the words that follow it already."""
    words = before.split()[1:]
    if verb == "break":
        return list(_breaking(words, moment))
    if verb in ("watch", "last-change"):
        return list(_figures(words, moment))
    if verb in ("about", "back-about"):
        return list(SUBJECTS if not words else _names(words[0], moment))
    follow = _FOLLOW.get(verb)
    return list(follow(moment)) if follow is not None and not words else []


def _breaking(words: list[str], moment: DebuggerState | None) -> Iterator[str]:
    """A kind, its own words, a condition about what one sees, options."""
    if not words:
        yield from KINDS
        return
    if "if" in words:
        last = words[-1]
        if last in ("if", "and", "or", "not"):
            yield from (f'{field}=="{name}"' for field, name in _here(moment))
            yield from FIELD_NAMES
        else:
            yield from ("and", "or", *OPTIONS)
        return
    if words[0] == "data":
        yield from _figures(words[1:], moment)
        if len(words) < FIGURE_WORDS:
            return
    kind: type[Kind] | None = resolve(KINDS[words[0]]) if words[0] in KINDS and words[0] != "data" else None
    yield from kind.WORDS if kind is not None else ()
    yield from ("if", *OPTIONS)


def _figures(words: list[str], moment: DebuggerState | None) -> Iterable[str]:
    """A kind of object, its name, what there is to know of it, a dimension."""
    if not words:
        return figures.KINDS
    if moment is None or words[0] not in figures.KINDS:
        return ()
    recording, known = moment.recording, figures.names(moment.recording, words[0])
    if len(words) == 1:
        return [*(name for kind, name in _here(moment) if kind == words[0]), *list(known)[:MOST]]
    if words[1] not in known:
        return ()
    lines = (line.split() for line in figure_completions(recording, words[0], words[1]))
    return dict.fromkeys(line[len(words)] for line in lines if len(line) > len(words) and line[: len(words)] == words)


def _names(kind: str, moment: DebuggerState | None) -> list[str]:
    if moment is None:
        return []
    session = moment.recording.session
    names: Mapping[str, Iterable[object]] = {
        "job": session.jobs,
        "node": session.nodes,
        "queue": session.queues,
    }
    return [str(name) for name in list(names.get(kind, ()))[:MOST]]


def _here(moment: DebuggerState | None) -> list[tuple[str, str]]:
    if moment is None:
        return []
    names = (("job", moment.job), ("task", moment.task), ("node", moment.node), ("queue", moment.queue))
    return [(field, name) for field, name in names if name]


def _stands(moment: DebuggerState | None) -> list[str]:
    return [str(stand.number) for stand in moment.breakpoints] if moment is not None else []


def _bookmarks(moment: DebuggerState | None) -> list[str]:
    marks = (*moment.bookmarks, *moment.bookmarks_elsewhere) if moment is not None else ()
    return [str(mark.number) for mark in marks]


def _editing(words: str, moment: DebuggerState | None) -> Iterable[str]:
    """Edits that fit, by a function of their view."""
    found: Iterable[str] = resolve(f"vcdebug.views.editing:{words}")(moment) if moment is not None else []
    return found


def _cycles(moment: DebuggerState | None) -> list[str]:

    open_ = moment.recordings if moment is not None else None
    return [str(number) for number in range(1, open_.cycles + 1)] if open_ is not None else []


_FOLLOW: Final[Mapping[str, Callable[[DebuggerState | None], Iterable[str]]]] = {
    "explain": lambda moment: _names("job", moment),
    "panel": lambda _: [panel.name for panel in PANELS],
    "theme": lambda _: THEMES,
    "toggle": _stands,
    "change": _stands,
    "unwatch": lambda moment: [*(str(watch.number) for watch in moment.watches), "all"] if moment is not None else [],
    "bookmarks": _bookmarks,
    "unbookmark": lambda moment: [*_bookmarks(moment), "all"],
    "delete": lambda moment: [*_stands(moment), "all"],
    "log": lambda _: ("3", "4", "5"),
    "set": partial(_editing, "edit_words"),
    "release": lambda _: list(names()),
    "force": partial(_editing, "answer_words"),
    "edits": lambda _: ("save", "load", "clear"),
    "cycle": _cycles,
    "open": lambda _: [*(one.name for one in bundled()), *_files()],
}
"""What may follow a verb that takes one word."""


def _files() -> list[str]:
    """Archives, manifests and folders of the present folder."""
    try:
        return sorted(path.name for path in Path().iterdir() if not path.name.startswith("."))[:MOST]
    except OSError:
        return []
