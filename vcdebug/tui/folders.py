"""Where files of the person who uses the debugger lie: XDG's folders."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER_NAME = "vcdebug"


def config_file() -> Path:
    """`$XDG_CONFIG_HOME/vcdebug/config.yaml`, or the same below `~/.config`."""
    return _xdg_folder("XDG_CONFIG_HOME", ".config") / "config.yaml"


def state_folder() -> Path:
    """`$XDG_STATE_HOME/vcdebug`, or the same below `~/.local/state`."""
    return _xdg_folder("XDG_STATE_HOME", ".local/state")


def home_relative(path: Path) -> str:
    """The path as people write it, with ~ for their home."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)


def _xdg_folder(variable: str, usual: str) -> Path:
    chosen = os.environ.get(variable, "")
    base = Path(chosen) if chosen.startswith("/") else Path.home() / usual
    return base / FOLDER_NAME
