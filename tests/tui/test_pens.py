"""Every style is readable in every theme, and good and bad states never look alike."""

from collections.abc import Iterator

import pytest
from rich.color import Color as RichColor
from rich.color import ColorType
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from tests.tui.driving import WIDE, Desk, opened_again
from vcdebug.tui.app import VcdebugApp
from vcdebug.tui.config import LEAST_CONTRAST, THEME_NAMES, contrast_ratio, find_theme
from vcdebug.tui.widgets.strokes import cell_style, style_of_meaning

MEANINGS = ("good", "bad", "warn", "accent", "here", "muted", "strong", "title", "")
TRUE_COLOUR = [name for name, theme in BUILTIN_THEMES.items() if not theme.ansi]


def variables_of(name: str) -> dict[str, str]:
    app = VcdebugApp(None)
    app.theme = find_theme(name) or ""
    return app.get_css_variables()


@pytest.mark.parametrize("name", THEME_NAMES)
def test_meanings_can_be_told_apart(name: str) -> None:
    variables = variables_of(name)
    looks = [str(style_of_meaning(word, variables)) for word in MEANINGS]
    assert len(dict.fromkeys(looks)) == len(looks)
    assert style_of_meaning("", variables) == style_of_meaning("no such word", variables)
    rows = [str(cell_style("", variables, selected=selected, chosen=False)) for selected in (False, True)]
    assert rows[0] != rows[1]


@pytest.mark.parametrize("name", TRUE_COLOUR)
def test_each_meaning_can_be_read_on_each_ground_and_on_the_row_under_the_cursor(name: str) -> None:
    variables = variables_of(name)
    for word in MEANINGS:
        for selected in (False, True):
            style = cell_style(word, variables, selected=selected, chosen=False)
            ink = style.color or Color.parse(variables["foreground"]).rich_color
            grounds = [style.bgcolor] if selected else [Color.parse(variables[ground]).rich_color for ground in GROUNDS]
            for ground in grounds:
                assert ground is not None
                assert contrast_of(ink, ground) >= LEAST_CONTRAST, f"{word or 'plain'} {selected=}"


GROUNDS = ("background", "surface")


def contrast_of(ink: RichColor, ground: RichColor) -> float:
    return contrast_ratio(Color.from_rich_color(ink), Color.from_rich_color(ground))


@pytest.mark.parametrize("name", ["ansi", "ansi-light"])
def test_with_16_colours_the_row_under_the_cursor_has_no_ink_of_its_own(name: str) -> None:
    variables = variables_of(name)
    for word in MEANINGS:
        style = cell_style(word, variables, selected=True, chosen=False)
        assert (True, None, None) == (style.reverse, style.color, style.bgcolor)


def drawn_words(desk: Desk) -> Iterator[tuple[str, Style]]:
    """The words on the terminal with their styles."""
    for strip in desk.strips():
        for text, style, _ in strip:
            if style is not None and any(letter.isalnum() for letter in text):
                yield text, style


async def test_every_word_on_the_screen_can_be_read_in_every_theme() -> None:
    async with opened_again("preempt-blocked-by-gang", WIDE) as desk:
        await desk.command("break victim")
        await desk.command("goto 103")
        await desk.press("5", "down")
        for name in TRUE_COLOUR:
            desk.app.theme = name
            await desk.pause()
            assert [] == [faint for text, style in drawn_words(desk) if (faint := faint_words(text, style))], name


async def test_without_colours_a_refusal_is_as_bright_as_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened_again("preempt-blocked-by-gang", WIDE) as desk:
        await desk.command("goto 120")
        inks = {text.strip(): style.color for text, style in drawn_words(desk)}
        assert inks["allowed"] != inks["bert-pretrain-worker-1"], "muted and plain"
        assert inks["bert-pretrain-worker-1"] == inks["✗ no pod remains"]


@pytest.mark.parametrize("keys", [("question_mark",), ("e",), ("b",)], ids=["help", "answer", "breakpoint dialog"])
async def test_every_word_of_a_page_can_be_read_in_every_theme(keys: tuple[str, ...]) -> None:
    async with opened_again("preempt-blocked-by-gang", WIDE) as desk:
        await desk.command("goto 103")
        await desk.press(*keys)
        for name in TRUE_COLOUR:
            desk.app.theme = name
            await desk.pause()
            assert [] == [faint for text, style in drawn_words(desk) if (faint := faint_words(text, style))], name


def faint_words(text: str, style: Style) -> str:
    """A description of the text if its contrast is too low, else ""."""
    ink, ground = (style.bgcolor, style.color) if style.reverse else (style.color, style.bgcolor)
    if ink is None or ground is None or ColorType.TRUECOLOR not in (ink.type, ground.type):
        return f"{text}: {style}"
    ratio = contrast_of(ink, ground)
    return f"{text}: {ratio:.1f}" if ratio < LEAST_CONTRAST - 0.01 else ""
