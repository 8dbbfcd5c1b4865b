"""What each meaning looks like: a colour of the theme and a way of writing.

Textual would look these up for every table and every change of a class; here the theme is asked once per table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from rich.style import Style
from textual.color import Color

_FONT_STYLES: Final[Mapping[str, Style]] = {
    "title": Style(bold=True),
    "strong": Style(bold=True),
    "muted": Style(dim=True),
    "accent": Style(bold=True),
    "here": Style(bold=True),
    "cell": Style(underline=True),
}
_COLOUR_VARIABLES: Final[Mapping[str, str]] = {
    "title": "text-secondary",
    "good": "text-success",
    "bad": "text-error",
    "warn": "text-warning",
    "accent": "text-accent",
    "here": "text-primary",
}
"""Variables of the theme."""
_BACKGROUND_VARIABLES: Final[Mapping[str, str]] = {"cursor": "primary-muted"}


def style_of_meaning(name: str, variables: Mapping[str, str]) -> Style:
    """What a meaning, the cursor's row or its cell adds to what is around it."""
    style = _FONT_STYLES.get(name, Style())
    if name in _COLOUR_VARIABLES:
        style += _colour_style(variables[_COLOUR_VARIABLES[name]], ground=False)
    if name in _BACKGROUND_VARIABLES:
        style += _colour_style(variables[_BACKGROUND_VARIABLES[name]], ground=True)
    return style


@lru_cache(maxsize=64)
def _colour_style(text: str, *, ground: bool) -> Style:
    colour = Color.parse(text).rich_color
    return Style(bgcolor=colour) if ground else Style(color=colour)
