"""Copying: through the terminal (OSC 52), and through the system's own tool where there is one."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

from textual.app import App

TOOLS = (("pbcopy",), ("wl-copy",), ("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input"))
PATIENCE = 2.0
"""Seconds that a tool gets."""


def copy_text(app: App[Any], text: str) -> str:
    """Copy, and say how; not every terminal listens to OSC 52, so a native tool is tried as well."""
    app.copy_to_clipboard(text)
    for tool in TOOLS:
        if shutil.which(tool[0]) and _run(tool, text):
            return f"with {tool[0]}"
    return "through the terminal (OSC 52)"


def _run(tool: tuple[str, ...], text: str) -> bool:
    try:
        done = subprocess.run(
            tool,
            input=text.encode(),
            timeout=PATIENCE,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
