"""The names, files and lines of upstream's functions in each replayed release, without code.

The table is written by tests/architecture/upstream_lines.py from upstream's tags. Paths begin below pkg/scheduler.
"""

import gzip
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

_TABLE: Final = Path(__file__).with_name("upstream_functions.tsv.gz")
_NEVER_CALLED: Final = "-"
"""Marks the end of the row of a hook that no function calls."""


class SourceFunction(NamedTuple):
    """A function, a method, or a closure that is named or registered as a hook."""

    file: str
    name: str
    first_line: int
    last_line: int

    @property
    def short_name(self) -> str:
        """The function's name with its file, as debuggers print it: `preempt.Execute`."""
        return f"{self.file.rpartition('/')[2].removesuffix('.go')}.{self.name}"

    @property
    def file_line(self) -> str:
        """The file and first line, e.g. `plugins/gang/gang.go:90`."""
        return f"{self.file}:{self.first_line}"

    def lines_in(self, source: Callable[[str], Sequence[str]]) -> Sequence[str]:
        """The function's lines in `source`; empty if the files, perhaps of another release, do not have it there."""
        lines = source(self.file)[self.first_line - 1 : self.last_line]
        return lines if lines and self.name in lines[0] else ()

    def __str__(self) -> str:
        return f"{self.short_name} ({self.file}:{self.first_line}-{self.last_line})"


class UpstreamSource(Struct):
    """The functions in the source of one release."""

    tag: str
    commit: str
    functions: list[SourceFunction] = []
    by_name: dict[str, list[SourceFunction]] = {}
    registered: dict[tuple[str, str], list[str]] = {}
    """(hook, plugin's folder) → names of the functions registered for the hook."""
    asking: dict[str, tuple[str, ...]] = {}
    """Hook → the session's functions that ask the plugins."""
    called_hooks: set[str] = set()
    """The hooks that an action or another function of the scheduler calls."""

    def find_function(self, file: str, name: str) -> SourceFunction | None:
        """The first function with this name in a file, or in the files of a folder."""
        return next(
            (one for one in self.by_name.get(name, ()) if one.file == file or one.file.startswith(f"{file}/")), None
        )

    def find_plugin_function(self, hook: str, plugin: str) -> SourceFunction | None:
        """The function that a plugin registers for a hook, or None."""
        folder = plugin if (hook, plugin) in self.registered else plugin.replace("-", "")
        names = self.registered.get((hook, folder), ())
        return next((function for name in names if (function := self.find_function(f"plugins/{folder}", name))), None)

    def functions_named(self, name: str) -> list[SourceFunction]:
        """The functions that a name such as `preempt`, `gang.preemptableFn` or `allocate.Execute` can mean."""
        prefix, _, last = name.replace("(*", "").replace(")", "").rpartition(".")
        folder = prefix.removesuffix(".go").lower()
        candidates = [one for one in self.by_name.get(last, ()) if not folder or _is_inside(one, folder)]
        # If a file has several, such as methods of a heap and its element, only the first is listed.
        return list({one.file: one for one in reversed(candidates)}.values())[::-1]

    def functions_at(self, file: str, line: int) -> list[SourceFunction]:
        """The functions around a line in files whose path ends like this; outer functions come first."""
        suffix = f"/{file.rpartition('pkg/scheduler/')[2].lstrip('/')}"
        return [
            one for one in self.functions if one.first_line <= line <= one.last_line and f"/{one.file}".endswith(suffix)
        ]

    def never_asked_reason(self, hook: str, release: str) -> str:
        """The reason why this release never calls the hook; empty if it does."""
        if hook not in self.called_hooks:
            return f"{release} never calls {hook}"
        return "" if any(name == hook for name, _ in self.registered) else f"no plugin of {release} implements {hook}"


def _is_inside(function: SourceFunction, folder: str) -> bool:
    """Whether the function is in a file or folder such as `gang`, `plugins/gang`, `session` or `framework.session`."""
    path = function.file.removesuffix(".go")
    names = (path, path.rpartition("/")[0])
    return any(f"/{name.replace('.', '/')}".endswith(f"/{folder.replace('.', '/')}") for name in names)


@cache
def _blocks() -> Mapping[str, str]:
    """The rows of the table, by release tag."""
    text = gzip.decompress(_TABLE.read_bytes()).decode()
    return {block.partition(" ")[0]: block for block in text.removeprefix("=").split("\n=")}


@cache
def upstream_source(release: str) -> UpstreamSource:
    """The source of a replayed release; switched changes do not matter."""
    header, *rows = _blocks()[release.partition(",")[0]].splitlines()
    (tag, commit), file = header.split(), ""
    source = UpstreamSource(tag, commit)
    for row in rows:
        if row[0] == "#":
            file = row[1:]
        elif row[0] == "@":
            hook, plugin, name = row[1:].split()
            source.registered.setdefault((hook, plugin), []).append(name)
        elif row[0] == "!":
            hook, *callers = row[1:].split()
            source.asking[hook] = tuple(name for name in callers if name != _NEVER_CALLED)
            source.called_hooks.update([hook] if callers[-1] != _NEVER_CALLED else [])
        else:
            name, first, last = row.split()
            function = SourceFunction(file, name, int(first), int(last))
            source.functions.append(function)
            source.by_name.setdefault(name, []).append(function)
    return source


def replayed_sources() -> tuple[str, ...]:
    """The releases in the table, the latest rules first."""
    return tuple(_blocks())
