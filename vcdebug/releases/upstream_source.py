"""Upstream's functions in the source of each replayed release: names, files and lines; no code.

The table is written by tests/architecture/upstream_lines.py from upstream's tags. Paths begin below pkg/scheduler.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_TABLE: Final = Path(__file__).with_name("upstream_functions.tsv.gz")
_NEVER_CALLED: Final = "-"
"""What ends the row of a hook that nothing calls."""


class SourceFunction(NamedTuple):
    """A function, a method, or a closure that has a name or is registered as a hook."""

    file: str
    name: str
    first: int
    last: int

    @property
    def short_name(self) -> str:
        """As a debugger takes it: `gang.preemptableFn`; the session's and statement's by the file's name."""
        return f"{self.file.rpartition('/')[2].removesuffix('.go')}.{self.name}"

    @property
    def place(self) -> str:
        """`plugins/gang/gang.go:90`."""
        return f"{self.file}:{self.first}"

    def lines_in(self, source: Callable[[str], Sequence[str]]) -> Sequence[str]:
        """The function's lines; none where the files of `source`, perhaps of another release, have others there."""
        lines = source(self.file)[self.first - 1 : self.last]
        return lines if lines and self.name in lines[0] else ()

    def __str__(self) -> str:
        return f"{self.short_name} ({self.file}:{self.first}-{self.last})"


@dataclass(slots=True)
class UpstreamSource:
    """What one release's source has."""

    tag: str
    commit: str
    functions: list[SourceFunction] = field(default_factory=list)
    by_name: dict[str, list[SourceFunction]] = field(default_factory=dict)
    registered: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """(hook, plugin's folder) → names of the functions that are registered."""
    asking: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Hook → the session's functions that ask it."""
    called: set[str] = field(default_factory=set)
    """Hooks that some action or another function of the scheduler asks."""

    def find_function(self, file: str, name: str) -> SourceFunction | None:
        """The first function of that name in a file, or in a folder's files."""
        return next(
            (one for one in self.by_name.get(name, ()) if one.file == file or one.file.startswith(f"{file}/")), None
        )

    def find_plugin_function(self, hook: str, plugin: str) -> SourceFunction | None:
        """The function that a plugin registers for a hook."""
        folder = plugin if (hook, plugin) in self.registered else plugin.replace("-", "")
        names = self.registered.get((hook, folder), ())
        return next((function for name in names if (function := self.find_function(f"plugins/{folder}", name))), None)

    def functions_named(self, name: str) -> list[SourceFunction]:
        """Those that `preempt`, `gang.preemptableFn`, `allocate.Execute` or `plugins/gang.preemptableFn` may mean."""
        prefix, _, last = name.replace("(*", "").replace(")", "").rpartition(".")
        folder = prefix.removesuffix(".go").lower()
        candidates = [one for one in self.by_name.get(last, ()) if not folder or _is_inside(one, folder)]
        # Of several in one file, such as a heap's method and its element's, the first is meant.
        return list({one.file: one for one in reversed(candidates)}.values())[::-1]

    def functions_at(self, file: str, line: int) -> list[SourceFunction]:
        """The functions that hold a line of the files whose path ends like that, an inner one after its outer one."""
        suffix = f"/{file.rpartition('pkg/scheduler/')[2].lstrip('/')}"
        return [one for one in self.functions if one.first <= line <= one.last and f"/{one.file}".endswith(suffix)]

    def reason_never_asked(self, hook: str, release: str) -> str:
        """Why a hook cannot be asked in this release; empty if it can."""
        if hook not in self.called:
            return f"{release} never calls {hook}"
        return "" if any(name == hook for name, _ in self.registered) else f"no plugin of {release} implements {hook}"


def _is_inside(function: SourceFunction, folder: str) -> bool:
    """`gang`, `plugins/gang`, `session_plugins`, `session`, `framework.session`: a file or folder of the function."""
    path = function.file.removesuffix(".go")
    names = (path, path.rpartition("/")[0])
    return any(f"/{name.replace('.', '/')}".endswith(f"/{folder.replace('.', '/')}") for name in names)


@cache
def _blocks() -> Mapping[str, str]:
    """The rows of each release by its tag."""
    text = gzip.decompress(_TABLE.read_bytes()).decode()
    return {block.partition(" ")[0]: block for block in text.removeprefix("=").split("\n=")}


@cache
def upstream_source(release: str) -> UpstreamSource:
    """The source of a replayed release by its name; switched changes do not change it."""
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
            source.called.update([hook] if callers[-1] != _NEVER_CALLED else [])
        else:
            name, first, last = row.split()
            function = SourceFunction(file, name, int(first), int(last))
            source.functions.append(function)
            source.by_name.setdefault(name, []).append(function)
    return source


def replayed_sources() -> tuple[str, ...]:
    """The releases of the table, the latest rules first."""
    return tuple(_blocks())
