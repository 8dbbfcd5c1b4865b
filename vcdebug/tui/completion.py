"""Completion of command lines."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from vcdebug.debugger import figures
from vcdebug.debugger.breakpoint import BREAKPOINT_OPTIONS
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS, find_kind
from vcdebug.debugger.breakpoints.function_kind import recorded_functions
from vcdebug.debugger.commands import PANEL_WORDS, WORDS_BEFORE, list_verbs, split_line
from vcdebug.debugger.commands import find_verb as find_verb
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.fields import FIELD_NAMES
from vcdebug.debugger.figures import RESOURCE_KINDS, iter_figure_completions
from vcdebug.explain.pending.survey import list_known_causes
from vcdebug.releases.release import release_names
from vcdebug.snapshot.sources import list_bundled
from vcdebug.tui.config import THEME_NAMES
from vcdebug.views.edit_suggestions import iter_answer_words, iter_edit_words
from vcdebug.views.panels import PANELS

MAX_NAMES = 2_000
"""Names tested for one completion; more would slow typing down."""
FIGURE_WORDS: Final = 4
"""Words of `data` and a figure, after which a condition may follow."""
NAMED_FIELDS: Final = ("plugin", "action", *RESOURCE_KINDS.values())
"""Fields of conditions whose values are names, which are proposed."""
SUBJECT_KINDS: Final = ("job", "task", "node", "queue", "plugin")


def complete_line(text: str, moment: DebuggerState) -> list[str]:
    """Lines that complete the text; words that begin with it, else words that contain it."""
    first_words, space, typed = text.rpartition(" ")
    names = moment.recording.job_names
    name, argument = split_line(first_words)
    verb = find_verb(name) if name else None
    if verb is not None:
        words = _words_after(verb.names[0], names.to_ids(argument).split(), moment)
    else:
        is_first = not space or name in WORDS_BEFORE
        words = [*(known_verb.names[0] for known_verb in list_verbs()), *PANEL_WORDS] if is_first else []
    shown_words = {word: names.in_text(word) for word in words}
    matches = [shown for shown in shown_words.values() if shown.startswith(typed)]
    # Names begin with their namespace; a text may also match the part after it, or the name of a PodGroup.
    if not matches and typed:
        both = ((f"{shown} {word}", shown) for word, shown in shown_words.items())
        matches = [shown for either, shown in both if typed.casefold() in either.casefold()]
    return [f"{first_words}{space}{shown}" for shown in dict.fromkeys(matches)]


def _words_after(verb: str, words: list[str], moment: DebuggerState) -> list[str]:
    """The words that may follow a verb and its first words."""
    if verb in ("break", "tbreak", "find"):
        return list(_breakpoint_words(words, moment))
    if verb in ("watch", "print", "last-change"):
        return list(_figure_words(words, moment))
    if verb in ("about", "back-about"):
        return list(SUBJECT_KINDS if not words else _object_names(words[0], moment))
    next_words = _NEXT_WORDS.get(verb)
    return list(next_words(moment)) if next_words is not None and not words else []


def _breakpoint_words(words: list[str], moment: DebuggerState) -> Iterator[str]:
    """Completions of `break`: a kind, the words of the kind, `if` with the selected objects, options."""
    if not words or words == ["function"]:
        yield from BREAKPOINT_KINDS if not words else ()
        yield from recorded_functions(moment.recording)
        return
    if "if" in words:
        yield from _condition_words(words[-2], words[-1], moment)
        return
    if words[0] == "data":
        yield from _figure_words(words[1:], moment)
        if len(words) < FIGURE_WORDS:
            return
    elif words[0] in BREAKPOINT_KINDS:
        yield from find_kind(words[0]).WORDS
    yield from ("if", *BREAKPOINT_OPTIONS)


def _condition_words(last_but_one: str, last: str, moment: DebuggerState) -> Iterator[str]:
    """Completions of a condition: a comparison, its sign, its value, or what may follow it."""
    if last in ("if", "and", "or", "not"):
        yield from (f'{field}=="{name}"' for field, name in _selected_objects(moment))
        yield from FIELD_NAMES
        yield from (f'{field}=="{name}"' for field in NAMED_FIELDS for name in _field_values(field, moment))
    elif last in FIELD_NAMES:
        yield from ("==", "!=", "and", "or")
    elif last in ("==", "!="):
        yield from (f'"{name}"' for name in _field_values(last_but_one, moment))
    else:
        yield from ("and", "or", *BREAKPOINT_OPTIONS)


def _field_values(field: str, moment: DebuggerState) -> Iterable[str]:
    """The names that a field can have in this recording."""
    conf = moment.recording.conf
    return {"plugin": conf.plugin_names(), "action": conf.actions}.get(field) or _object_names(field, moment)


def _figure_words(words: list[str], moment: DebuggerState) -> Iterable[str]:
    """Completions of a figure's words: a kind of object, its name, a figure, a dimension."""
    if not words:
        return figures.FIGURE_KINDS
    if words[0] not in figures.FIGURE_KINDS:
        return ()
    recording, names = moment.recording, figures.object_names(moment.recording, words[0])
    if len(words) == 1:
        return [*(name for kind, name in _selected_objects(moment) if kind == words[0]), *list(names)[:MAX_NAMES]]
    if words[1] not in names:
        return ()
    lines = (line.split() for line in iter_figure_completions(recording, words[0], words[1]))
    return dict.fromkeys(line[len(words)] for line in lines if len(line) > len(words) and line[: len(words)] == words)


def _object_names(kind: str, moment: DebuggerState) -> list[str]:
    if kind not in RESOURCE_KINDS.values():
        return []
    return list(islice(figures.object_names(moment.recording, kind), MAX_NAMES))


def _selected_objects(moment: DebuggerState) -> list[tuple[str, str]]:
    names = (("job", moment.job), ("task", moment.task), ("node", moment.node), ("queue", moment.queue))
    return [(field, name) for field, name in names if name]


def _breakpoint_numbers(moment: DebuggerState) -> list[str]:
    return [str(status.number) for status in moment.breakpoints]


def _bookmark_numbers(moment: DebuggerState) -> list[str]:
    return [str(bookmark.number) for bookmark in (*moment.bookmarks, *moment.bookmarks_elsewhere)]


def _report_names(moment: DebuggerState) -> list[str]:
    from vcdebug.files.report_file import report_names

    return report_names(moment.recording)


def _cycle_numbers(moment: DebuggerState) -> list[str]:
    cycle_count = moment.recordings.cycle_count if moment.recordings is not None else 0
    return [str(number) for number in range(1, cycle_count + 1)]


_NEXT_WORDS: Final[Mapping[str, Callable[[DebuggerState], Iterable[str]]]] = {
    "explain": lambda moment: _object_names("job", moment),
    "help": lambda _: [verb.names[0] for verb in list_verbs()],
    "panel": lambda _: [panel.command_name for panel in PANELS],
    "theme": lambda _: THEME_NAMES,
    **dict.fromkeys(("toggle", "enable", "disable", "ignore", "condition", "change"), _breakpoint_numbers),
    "unwatch": lambda moment: [*(str(watch.number) for watch in moment.watches), "all"],
    "bookmarks": _bookmark_numbers,
    "unbookmark": lambda moment: [*_bookmark_numbers(moment), "all"],
    "delete": lambda moment: [*_breakpoint_numbers(moment), "all"],
    "log": lambda _: ("3", "4", "5"),
    "set": iter_edit_words,
    "release": lambda _: list(release_names()),
    "force": iter_answer_words,
    "report": _report_names,
    "edits": lambda _: ("save", "load", "clear"),
    "cycle": _cycle_numbers,
    "pending": lambda moment: list_known_causes(moment.recording),
    **{name: partial(_object_names, kind) for name, kind in RESOURCE_KINDS.items()},
    "open": lambda _: [*(one.name for one in list_bundled()), *_file_names()],
}
"""The completions of verbs that take one word."""


def _file_names() -> list[str]:
    """The visible files of the current folder."""
    try:
        return sorted(path.name for path in Path().iterdir() if not path.name.startswith("."))[:MAX_NAMES]
    except OSError:
        return []
