"""What the screen looks like: dark, light, and the terminal's own 16 colours; NO_COLOR goes before all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from textual.theme import BUILTIN_THEMES, Theme

DARK_THEME: Final = "dark"
_LIGHT_THEME = Theme(
    name="light",
    primary="#004a87",
    secondary="#005f9e",
    accent="#7a3e00",
    warning="#7a4b00",
    error="#a4002a",
    success="#0b5c24",
    foreground="#1c1c1c",
    background="#fbfbfb",
    surface="#ececec",
    panel="#e2e2e2",
    dark=False,
    variables={
        "text-success": "#0b5c24",
        "text-error": "#a4002a",
        "text-warning": "#7a4b00",
        "text-accent": "#7a3e00",
        "text-primary": "#004a87",
        "text-muted": "#555555",
        "primary-muted": "#cfe0f2",
        "border": "#004a87",
        "border-blurred": "#9a9a9a",
    },
)
_ANSI_VARIABLES = {
    "text-success": "ansi_green",
    "text-error": "ansi_red",
    "text-warning": "ansi_yellow",
    "text-accent": "ansi_magenta",
    "text-primary": "ansi_cyan",
    "text-muted": "ansi_default",
    "text": "ansi_default",
    "border": "ansi_cyan",
    "border-blurred": "ansi_default",
    "primary-muted": "ansi_bright_black",
}
_ANSI_LIGHT_VARIABLES = {
    **_ANSI_VARIABLES,
    "text-warning": "ansi_red",
    "text-accent": "ansi_magenta",
    "text-primary": "ansi_blue",
    "border": "ansi_blue",
    "primary-muted": "ansi_white",
}

THEMES: Final[dict[str, Theme]] = {
    DARK_THEME: replace(BUILTIN_THEMES["textual-dark"], name=DARK_THEME),
    "light": _LIGHT_THEME,
    "ansi": replace(
        BUILTIN_THEMES["ansi-dark"], name="ansi", variables={**BUILTIN_THEMES["ansi-dark"].variables, **_ANSI_VARIABLES}
    ),
    "ansi-light": replace(
        BUILTIN_THEMES["ansi-light"],
        name="ansi-light",
        variables={**BUILTIN_THEMES["ansi-light"].variables, **_ANSI_LIGHT_VARIABLES},
    ),
}
"""By the name that --theme, the file and the command `theme` take; ansi and ansi-light have 16 colours."""


def find_theme(word: str) -> str | None:
    """The theme of this name, or the only one that begins so."""
    found = [name for name in THEMES if name == word] or [name for name in THEMES if word and name.startswith(word)]
    return found[0] if len(found) == 1 else None
