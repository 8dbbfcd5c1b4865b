"""Breakpoints, watches and bookmarks in a file: beside the snapshot, to send along with it, or written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import yaml

from vcdebug.amount_text import count_noun
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.notebook import Notebook
from vcdebug.errors import VcdebugError
from vcdebug.files.text_files import check_target, read_text, split_force, write_text
from vcdebug.snapshot.bundled import is_bundled
from vcdebug.snapshot.file_access import expand_path
from vcdebug.snapshot.manifest import Json
from vcdebug.snapshot.snapshot import Snapshot

NOTES_SUFFIX: Final = ".vcdebug.json"


def notes_path(snapshot: Snapshot) -> Path | None:
    """`incident.tar.gz` → `incident.tar.gz.vcdebug.json`; none for a bundled snapshot or standard input."""
    origin = Path(snapshot.origin).resolve() if snapshot.origin else None
    if origin is None or not origin.exists() or is_bundled(snapshot.name, snapshot.origin):
        return None
    return origin.with_name(origin.name + NOTES_SUFFIX)


def read_notes(word: str) -> Json:
    """The data of a file for a Notebook to load; JSON is YAML too."""
    try:
        data = yaml.safe_load(read_text(word))
    except yaml.YAMLError as error:
        raise VcdebugError("is neither YAML nor JSON", " ".join(str(error).split())[:200], word) from error
    if isinstance(data, list):
        return {"bookmarks": data}
    if isinstance(data, dict) and isinstance(data.get("notebook"), dict):
        return data["notebook"]
    return data


def read_notebook(word: str) -> tuple[Notebook, list[str]]:
    """What the file holds, and a line for each entry that cannot be read."""
    notebook = Notebook()
    return notebook, notebook.load_data(read_notes(word))


def save_notes(driver: Driver, argument: str) -> str:
    """Write what is set to the file named, else beside the snapshot; says what was written."""
    named, force = split_force(argument)
    path = check_target(named, force=force) if named else _required_notes_path(driver, "save FILE")
    write_text(path, json.dumps(driver.notebook.to_data(), ensure_ascii=False, indent=1) + "\n")
    return f"wrote {_contents_words(driver.notebook)} to {path}"


def load_notes(driver: Driver, argument: str) -> str:
    """Set what a file holds, in addition to what is set; raises VcdebugError where an entry cannot be read."""
    named = argument.strip()
    path = expand_path(named) if named else _required_notes_path(driver, "load FILE")
    faults = driver.notebook.load_data(read_notes(str(path)))
    driver.refresh_breakpoints()
    if faults:
        raise VcdebugError(faults[0], where=str(path))
    return f"{_contents_words(driver.notebook)} set"


def _required_notes_path(driver: Driver, usage: str) -> Path:
    path = notes_path(driver.debugger.recording.snapshot)
    if path is None:
        raise VcdebugError("this snapshot has no place of its own for a file beside it", f"say which: {usage}")
    return path


def _contents_words(notebook: Notebook) -> str:
    parts = ((notebook.breakpoints, "breakpoint"), (notebook.watches, "watch"), (notebook.bookmarks, "bookmark"))
    counts = ((len(list(entries)), noun) for entries, noun in parts)
    return ", ".join(count_noun(count, noun) for count, noun in counts if count) or "nothing"
