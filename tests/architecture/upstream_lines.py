"""The table of upstream's functions per replayed release: file, name, first and last line, and registered hooks.

`python -m tests.architecture.upstream_lines CHECKOUT` writes it anew from a clone of Volcano that has all tags.
It holds names and numbers only. Upstream's source is formatted by gofmt: a function ends at the first closing brace
that is indented like its beginning.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.architecture.source_tree import PACKAGE
from vcdebug.releases.release import COMING_TAGS, MASTER, SUPPORTED_TAGS

TABLE = PACKAGE / "releases" / "upstream_functions.tsv.gz"
ROOT = "pkg/scheduler/"
LEFT_OUT = re.compile(r"_test\.go$|/testing/|^cache/|^metrics/|^conf/|mindcluster|mock|test_utils|^capabilities/")
COMMITS = {MASTER: "ed72c7c8", **{str(tag): head.commit for tag, head in COMING_TAGS.items()}}
_FUNCTION = re.compile(r"func (?:\([^)]*\) )?(\w+)[(\[]")
_CLOSURE = re.compile(r"(\t*)(?:var )?(\w+)(?:, \w+)? :?= func\(")
_REGISTERED = re.compile(r"(\t+)ssn\.Add(\w+?)Fns?\([\w.]+\(\), (.*)")
_FIELD = re.compile(r"ssn\.(\w+Fns)\[")
_APPENDED = re.compile(r"(\w+) :?= (?:append\(\1, |\[\]api\.VictimTasksFn\{)(\w+)")
_STRATEGY = re.compile(r'VictimFn\["\w+"\] = (\w+)')
"""Functions that a strategy of the rescheduling plugin names."""


class Function(NamedTuple):
    name: str
    first: int
    last: int


def read_git(checkout: Path, *words: str) -> str:
    """The output of a git command."""
    return subprocess.run(["git", "-C", checkout, *words], check=True, capture_output=True, text=True).stdout


def end_of_block(lines: list[str], start: int, indent: str) -> int:
    """The number of the line that closes the block which begins at line `start`, from 1."""
    if lines[start - 1].rstrip().endswith("}"):
        return start
    return next(n for n in range(start + 1, len(lines) + 1) if lines[n - 1].startswith(indent + "}"))


def iter_functions(lines: list[str]) -> Iterator[Function]:
    """Functions, methods, and closures that have a name or are registered as a hook."""
    for number, line in enumerate(lines, start=1):
        if found := _FUNCTION.match(line):
            yield Function(found[1], number, end_of_block(lines, number, ""))
        elif found := _CLOSURE.match(line):
            yield Function(found[2], number, end_of_block(lines, number, found[1]))
        elif (found := _REGISTERED.match(line)) and found[3].startswith("func("):
            yield Function(f"{found[2]}Fn", number, end_of_block(lines, number, found[1]))


def iter_hooks(file: str, lines: list[str]) -> Iterator[str]:
    """Yield `@HOOK PLUGIN FUNCTION` for each hook that a plugin's file registers."""
    slices = {found[1]: found[2] for line in lines if (found := _APPENDED.search(line))}
    slices["victimFns"] = next((found[1] for line in lines if (found := _STRATEGY.search(line))), "")
    for line in lines:
        if found := _REGISTERED.match(line):
            said = found[3].rstrip(")\n")
            name = f"{found[2]}Fn" if said.startswith("func(") else said.rpartition(".")[2]
            yield f"@{found[2]} {file.split('/')[1]} {slices.get(name, name)}"


def read_files(checkout: Path, commit: str) -> dict[str, list[str]]:
    """Lines by file below pkg/scheduler."""
    names = read_git(checkout, "ls-tree", "-r", "--name-only", commit, ROOT).split()
    kept = [name.removeprefix(ROOT) for name in names if name.endswith(".go")]
    kept = [name for name in kept if not LEFT_OUT.search(name)]
    return {name: read_git(checkout, "show", f"{commit}:{ROOT}{name}").splitlines() for name in kept}


def asking_functions(lines: list[str]) -> dict[str, list[str]]:
    """Hook -> the session's functions that call it, recognised by the map that its registration writes."""
    fields: dict[str, str] = {}
    asked: dict[str, list[str]] = {}
    for one in iter_functions(lines):
        read = _FIELD.findall("\n".join(lines[one.first - 1 : one.last]))
        added = re.fullmatch(r"Add(\w+?)Fns?", one.name)
        if added and read:
            fields[read[0]] = added[1]
        elif read and read[0] in fields:
            asked.setdefault(fields[read[0]], []).append(one.name)
    return asked


def iter_block(checkout: Path, name: str, commit: str) -> Iterator[str]:
    """The rows of one release."""
    files = read_files(checkout, commit)
    yield f"={name} {read_git(checkout, 'rev-parse', '--short=9', f'{commit}^{{commit}}').strip()}"
    text = "\n".join(line for lines in files.values() for line in lines if not line.startswith("func "))
    for hook, asking in asking_functions(files["framework/session_plugins.go"]).items():
        called = [one for one in asking if re.search(rf"\b(?:ssn|[Ss]ession)\.{one}\b", text)]
        yield f"!{hook} {' '.join(asking)}" if called else f"!{hook} {' '.join(asking)} -"
    for file, lines in sorted(files.items()):
        functions = list(iter_functions(lines))
        if functions:
            yield f"#{file}"
            yield from (f"{one.name} {one.first} {one.last}" for one in functions)
            yield from dict.fromkeys(iter_hooks(file, lines)) if file.startswith("plugins/") else ()


def write_table(checkout: Path) -> None:
    """Write the table of all replayed releases."""
    tags = [MASTER, *map(str, COMING_TAGS), *map(str, SUPPORTED_TAGS)]
    rows = [row for tag in tags for row in iter_block(checkout, tag, COMMITS.get(tag, tag))]
    TABLE.write_bytes(gzip.compress("\n".join(rows).encode(), 9, mtime=0))


if __name__ == "__main__":
    write_table(Path(sys.argv[1]))
