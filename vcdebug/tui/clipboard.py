"""Copies text through the terminal (OSC 52), a native tool, or a file."""

import shutil
import subprocess
from pathlib import Path
from typing import Any, Final, Literal, get_args

from textual.app import App

from vcdebug.errors import ConfigError
from vcdebug.printable import make_printable
from vcdebug.tui.session_state import home_relative, state_folder

Clipboard = Literal["auto", "native", "osc52", "file"]
CLIPBOARDS: Final[tuple[Clipboard, ...]] = get_args(Clipboard)
CLIPBOARD_TOOLS = (("pbcopy",), ("wl-copy",), ("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input"))
TOOL_TIMEOUT_SECONDS = 2.0
"""Seconds after which a tool is stopped."""
COPY_FILE = "copied.txt"
THROUGH_TERMINAL = "through the terminal (OSC 52)"


def copy_text(app: App[Any], text: str, clipboard: Clipboard = "auto") -> str:  # Any: what the program answers
    """Copy a text; returns a message that says how. Not every terminal supports OSC 52, so `auto` tries a tool as well.

    What is copied is pasted into terminals: it is copied in its printable form.
    """
    text = make_printable(text)  # control characters of a manifest would act in the terminal they are pasted into
    if clipboard == "file":
        return f"to {home_relative(_write_copy_file(text))}"
    tool = (
        next((command[0] for command in CLIPBOARD_TOOLS if shutil.which(command[0]) and _run_tool(command, text)), "")
        if clipboard in ("auto", "native")
        else ""
    )
    if clipboard == "native":
        if not tool:
            names = ", ".join(tool[0] for tool in CLIPBOARD_TOOLS)
            raise ConfigError("nothing was copied: no clipboard tool works", f"clipboard: file needs none of {names}")
        return f"with {tool}"
    # Terminals do not confirm an OSC 52 sequence, so it is sent in addition to the tool.
    app.copy_to_clipboard(text)
    return f"with {tool} and {THROUGH_TERMINAL}" if tool else THROUGH_TERMINAL


def _write_copy_file(text: str) -> Path:
    path = state_folder() / COPY_FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"nothing was copied: {error.strerror}", "", str(path)) from error
    return path


def _run_tool(tool: tuple[str, ...], text: str) -> bool:
    try:
        result = subprocess.run(
            tool,
            input=text.encode(),
            timeout=TOOL_TIMEOUT_SECONDS,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0
