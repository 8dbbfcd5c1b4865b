"""Read and write text files that are no snapshots: logs, dumps, reports, and the notebook of a snapshot."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from vcdebug.amount_text import count_noun
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.notebook import Notebook
from vcdebug.errors import VcdebugError
from vcdebug.snapshot import file_access
from vcdebug.snapshot.archive import ARCHIVE_ERRORS, PACKED_MAGICS, UnpackBudget, unpack_bytes
from vcdebug.snapshot.manifest import Json
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.sources import is_bundled

STDIN = "-"
FORCE: Final = "--force"


def open_source(folder: str) -> Callable[[str], Sequence[str]]:
    """A function that reads a Volcano checkout's files by path below pkg/scheduler; raises VcdebugError without one."""
    root = file_access.expand_path(folder) / "pkg" / "scheduler"
    if not root.is_dir():
        raise VcdebugError("is not a checkout of Volcano (no pkg/scheduler)", where=folder)

    @cache
    def read_lines(file: str) -> Sequence[str]:
        return read_text(str(root / file)).splitlines() if (root / file).is_file() else ()

    return read_lines


def read_text(word: str, max_bytes: int = file_access.MAX_FILE_BYTES) -> str:
    """The text of a file, gzipped or not, or of standard input for `-`; invalid UTF-8 is replaced."""
    data = file_access.read_stdin(max_bytes) if word == STDIN else file_access.read_file(word, max_bytes)
    if data.startswith(PACKED_MAGICS):
        try:
            data = unpack_bytes(data, UnpackBudget(max_bytes), word)
        except ARCHIVE_ERRORS as error:
            raise VcdebugError(f"cannot be decompressed: {error}", where=word) from error
    return data.decode("utf-8", "replace")


def split_force(argument: str) -> tuple[str, bool]:
    """(file or "", whether --force was given) from a command's argument."""
    words = argument.split()
    return " ".join(word for word in words if word != FORCE), FORCE in words


def check_target(file: str, *, force: bool) -> Path:
    """The path to write to; raises VcdebugError for an existing file without `force`, before any work is done."""
    path = file_access.expand_path(file)
    if path.is_dir() or not path.parent.is_dir():
        raise VcdebugError("is a folder" if path.is_dir() else "folder does not exist", where=file)
    if path.exists() and not force:
        raise VcdebugError("exists", f"{FORCE} overwrites it", file)
    file_access.check_replaceable(path)
    return path


def write_text(path: Path, text: str) -> None:
    """Replace the file atomically: a failure leaves the old one; raises VcdebugError."""
    try:
        with file_access.replace_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise VcdebugError(f"cannot be written: {error.strerror}", where=str(path)) from error


# Breakpoints, watches and bookmarks, in a file next to the snapshot or a hand-written file.

NOTES_SUFFIX: Final = ".vcdebug.json"


def notes_path(snapshot: Snapshot) -> Path | None:
    """The notes file of a snapshot, such as `incident.tar.gz.vcdebug.json`; None for bundled ones and stdin."""
    origin = Path(snapshot.origin).resolve() if snapshot.origin else None
    if origin is None or not origin.exists() or is_bundled(snapshot.name, snapshot.origin):
        return None
    return origin.with_name(origin.name + NOTES_SUFFIX)


def read_notes(word: str) -> Json:
    """The data of a notes file (JSON or YAML) for Notebook.load_data."""
    try:
        data = yaml.safe_load(read_text(word))
    except yaml.YAMLError as error:
        raise VcdebugError("is neither YAML nor JSON", " ".join(str(error).split())[:200], word) from error
    # A plain list, such as in a hand-written file, has bookmarks; a saved session has its notebook in a section.
    if isinstance(data, list):
        return {"bookmarks": data}
    if isinstance(data, dict) and isinstance(data.get("notebook"), dict):
        return data["notebook"]
    return data


def read_notebook(word: str) -> tuple[Notebook, list[str]]:
    """The notebook in a file, and a line for each entry that cannot be read."""
    notebook = Notebook()
    return notebook, notebook.load_data(read_notes(word))


EDITS_HINT = "edits save FILE writes the edits"


def save_notes(driver: Driver, argument: str) -> str:
    """Write the notebook to the named file, else next to the snapshot; returns a message."""
    file, force = split_force(argument)
    path = check_target(file, force=force) if file else _required_notes_path(driver, "save FILE")
    write_text(path, json.dumps(driver.notebook.to_data(), ensure_ascii=False, indent=1) + "\n")
    words = _contents_words(driver.notebook)
    return f"wrote {words} to {path}" if words else f"no breakpoint, watch or bookmark to write to {path}; {EDITS_HINT}"


def load_notes(driver: Driver, argument: str) -> str:
    """Add the breakpoints, watches and bookmarks of a file; raises VcdebugError for an unreadable entry."""
    file = argument.strip()
    path = file_access.expand_path(file) if file else _required_notes_path(driver, "load FILE")
    faults = driver.notebook.load_data(read_notes(str(path)))
    driver.refresh_breakpoints()
    if faults:
        raise VcdebugError(faults[0], where=str(path))
    return f"{_contents_words(driver.notebook) or 'nothing'} set"


def _required_notes_path(driver: Driver, usage: str) -> Path:
    path = notes_path(driver.debugger.recording.snapshot)
    if path is None:
        raise VcdebugError("no default location for this snapshot", f"use: {usage}")
    return path


def _contents_words(notebook: Notebook) -> str:
    parts = ((notebook.breakpoints, "breakpoint"), (notebook.watches, "watch"), (notebook.bookmarks, "bookmark"))
    counts = ((len(list(entries)), noun) for entries, noun in parts)
    return ", ".join(count_noun(count, noun) for count, noun in counts if count)
