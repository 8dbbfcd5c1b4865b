"""Breakpoints, watches and bookmarks from a file: as the debugger saves them, or written by hand."""

from __future__ import annotations

import yaml

from vcdebug.cli.textfile import read_text
from vcdebug.debugger.notebook import Notebook
from vcdebug.errors import VcdebugError


def read_notebook(word: str) -> tuple[Notebook, list[str]]:
    """What the file holds, and a line for each entry that cannot be read; JSON is YAML too."""
    try:
        data = yaml.safe_load(read_text(word))
    except yaml.YAMLError as error:
        raise VcdebugError("is neither YAML nor JSON", " ".join(str(error).split())[:200], word) from error
    if isinstance(data, list):
        data = {"bookmarks": data}
    if isinstance(data, dict) and isinstance(data.get("notebook"), dict):
        data = data["notebook"]
    notebook = Notebook()
    return notebook, notebook.load(data)
