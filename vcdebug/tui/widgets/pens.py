"""What each meaning looks like: a colour of the theme and a way of writing.

Textual would look these up for every table and every change of a class; here the theme is asked once per table.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from rich.style import Style
from textual.color import Color

_WRITTEN: Final[Mapping[str, Style]] = {
    "title": Style(bold=True),
    "strong": Style(bold=True),
    "muted": Style(dim=True),
    "accent": Style(bold=True),
    "here": Style(bold=True),
    "cell": Style(underline=True),
}
_COLOURS: Final[Mapping[str, str]] = {
    "title": "text-secondary",
    "good": "text-success",
    "bad": "text-error",
    "warn": "text-warning",
    "accent": "text-accent",
    "here": "text-primary",
}
"""Variables of the theme."""
_GROUNDS: Final[Mapping[str, str]] = {"cursor": "primary-muted"}


def meaning(name: str, variables: Mapping[str, str]) -> Style:
    """What a meaning, the cursor's row or its cell adds to what is around it."""
    style = _WRITTEN.get(name, Style())
    if name in _COLOURS:
        style += _coloured(variables[_COLOURS[name]], ground=False)
    if name in _GROUNDS:
        style += _coloured(variables[_GROUNDS[name]], ground=True)
    return style


@lru_cache(maxsize=64)
def _coloured(text: str, *, ground: bool) -> Style:
    colour = Color.parse(text).rich_color
    return Style(bgcolor=colour) if ground else Style(color=colour)
