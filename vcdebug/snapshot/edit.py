"""Edits of a snapshot as data: one text is one change of an object, the configuration, a flag, a draw or the clock.

`Queue/research:spec.weight=4` sets a field to a YAML value, `Pod/team/web-0:spec.nodeSelector-` removes one,
`Node/n1:-` removes an object, `Node/n9:+=n1` adds one like another. `conf:actions=...`,
`conf:plugins.gang.enablePreemptable=false`, `flag:minimum_feasible_nodes=50`, `chance:tie_seed=3` and
`clock:now=2026-11-01T00:05:00Z` change what stands beside the objects, `replay:persistence=on` how it is replayed and
`replay:bound[team/a-0]=n2` whom somebody else binds meanwhile, and `answer:103.Preemptable.gang=offer a-0`
forces the answer that a plugin gives at an event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.edit_path import EditChange, EditError, PathReader, PathStep, find_path_end
from vcdebug.snapshot.file_access import read_file, replace_file
from vcdebug.snapshot.kinds import KINDS
from vcdebug.snapshot.yaml_documents import DocumentError, yaml_documents

CONF, FLAG, CHANCE, CLOCK, REPLAY, ANSWER = "conf", "flag", "chance", "clock", "replay", "answer"
SETTING_KINDS: Final = (CONF, FLAG, CHANCE, CLOCK, REPLAY, ANSWER)
EDIT_FORMS: Final = (
    "KIND/[NAMESPACE/]NAME:PATH=VALUE, conf:PATH=VALUE, flag:NAME=VALUE, chance:NAME=VALUE, "
    "replay:NAME=VALUE or answer:EVENT=VALUE"
)
TOP_FIELDS: Final = ("spec", "status", "metadata", "data", "value")
"""Where a short edit's path may begin; else it is about the specification."""
_KINDS: Final[Mapping[str, str]] = {
    word.lower(): kind.name for kind in KINDS if not kind.settings for word in (kind.name, kind.plural)
}


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a snapshot."""

    text: str
    """As written."""
    kind: str
    """A kind's name, or conf, flag, chance, clock, replay or answer."""
    name: str
    """The object, with its namespace where one was given; empty for settings."""
    path: tuple[PathStep, ...]
    """Empty where the whole object is meant."""
    change: EditChange
    value: str = ""
    value_at: int = 0
    """The character of the text at which the value begins."""

    @property
    def subject_text(self) -> str:
        """What is changed, as messages name it."""
        return f"{self.kind} {self.name}" if self.name else self.kind

    def make_error(self, message: str, position: int = 0, hint: str = "") -> EditError:
        """A fault of this edit."""
        return EditError(message, self.text, position, hint)

    def read_value(self) -> Any:
        """The value as plain data."""
        try:
            return next(yaml_documents(self.value), None)
        except DocumentError as error:
            raise self.make_error(f"the value {error}", self.value_at) from error


def parse_edit(text: str) -> Edit:
    """Read one edit; raises EditError."""
    text = text.strip()
    target, colon, rest = text.partition(":")
    if not colon:
        raise EditError("there is no ':' after what is to be changed", text, len(text), f"write {EDIT_FORMS}")
    kind, name = _parse_target(text, target)
    start = len(target) + 1
    if not rest:
        raise EditError("it does not say what to change", text, start, f"write {EDIT_FORMS}")
    if kind not in SETTING_KINDS and rest == "-":
        return Edit(text, kind, name, (), "delete")
    if kind not in SETTING_KINDS and rest.startswith("+="):
        return Edit(text, kind, name, (), "add", rest[2:].strip(), start + 2)
    end = find_path_end(text, start)
    if end < len(text):
        path = PathReader(text, start, end).read_steps()
        return Edit(text, kind, name, path, "set", text[end + 1 :].strip(), end + 1)
    if not rest.endswith("-"):
        PathReader(text, start, end).read_steps()
        raise EditError("there is no '=' and a value, nor a '-' that removes the field", text, end)
    return Edit(text, kind, name, PathReader(text, start, end - 1).read_steps(), "delete")


def expand_short_edit(text: str) -> str:
    """`queue research weight=4` as `Queue/research:spec.weight=4`; an edit that is written out stays as it is."""
    kind, _, rest = text.strip().partition(" ")
    name, _, change = rest.strip().partition(" ")
    change = change.strip()
    if ":" in kind or not change or kind.lower() not in _KINDS:
        return text.strip()
    first = change.partition("=")[0].partition(".")[0].partition("[")[0].rstrip("-")
    path = change if first in TOP_FIELDS else f"spec.{change}"
    return f"{_KINDS[kind.lower()]}/{name}:{path}"


def _parse_target(text: str, target: str) -> tuple[str, str]:
    """(kind, name)."""
    word, slash, name = target.partition("/")
    if word.lower() in SETTING_KINDS and not slash:
        return word.lower(), ""
    kind = _KINDS.get(word.lower())
    if kind is None:
        close = get_close_matches(word.lower(), [*_KINDS, *SETTING_KINDS], 1)
        meant = _KINDS.get(close[0], close[0]) if close else ""
        raise EditError(
            f"no kind of object {word!r}", text, 0, f"did you mean {meant}?" if meant else f"write {EDIT_FORMS}"
        )
    if not name or name.startswith("/") or name.endswith("/") or name.count("/") > 1:
        raise EditError("the object's name is missing", text, len(word), f"write {kind}/[NAMESPACE/]NAME:...")
    return kind, name


# Edits in a file: one per line as `--set` takes them; empty lines and `#` comments are skipped.

FILE_SIGN = "@"
"""`--set @FILE` means the edits of a file."""


def write_edits(path: str, edits: Iterable[str], about: str) -> None:
    """Write the edits; a file that is there is replaced. Raises SnapshotError."""
    lines = [f"# what-if edits of {about}: --set {FILE_SIGN}{path}", *edits]
    try:
        with replace_file(Path(path)) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise SnapshotError(f"cannot be written: {error.strerror or error}", where=path) from error


def read_edits(path: str) -> list[str]:
    """The edits of a file, each of them readable; raises SnapshotError or EditError, with file and line."""
    try:
        text = read_file(path).decode()
    except UnicodeDecodeError as error:
        raise SnapshotError("the edits cannot be read: it is no text", where=path) from error
    edits = []
    for number, line in enumerate(text.splitlines(), start=1):
        edit = line.strip()
        if edit and not edit.startswith("#"):
            _check_edit(edit, f"{path}: line {number}")
            edits.append(edit)
    return edits


def expand_edits(texts: Iterable[str]) -> Iterator[str]:
    """Edits with every `@FILE` among them replaced by the edits of the file."""
    for text in texts:
        if text.startswith(FILE_SIGN):
            yield from read_edits(text[len(FILE_SIGN) :])
        else:
            yield text


def _check_edit(edit: str, where: str) -> None:
    try:
        parse_edit(edit)
    except EditError as error:
        error.where = where
        raise
