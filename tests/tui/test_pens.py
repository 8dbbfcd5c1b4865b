"""Every meaning has a look in every theme, and what is good never looks like what is bad."""

import pytest
from textual.app import App

from vcdebug.tui.config import THEMES
from vcdebug.tui.widgets.strokes import style_of_meaning


@pytest.mark.parametrize("name", THEMES)
def test_meanings_can_be_told_apart(name: str) -> None:
    app: App[None] = App()
    app.register_theme(THEMES[name])
    app.theme = name
    variables = app.get_css_variables()
    looks = {
        word: style_of_meaning(word, variables)
        for word in ("good", "bad", "accent", "here", "muted", "strong", "cursor")
    }
    assert len(dict.fromkeys(map(str, looks.values()))) == len(looks)
    assert looks["cursor"].bgcolor is not None
    assert style_of_meaning("", variables) == style_of_meaning("no such word", variables)
