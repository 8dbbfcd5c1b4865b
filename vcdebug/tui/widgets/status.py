"""The footer: keys that work here, or the message of the last command; and the hint of the first start."""

from __future__ import annotations

from typing import Final, NamedTuple

from rich.text import Text
from textual.reactive import reactive
from textual.widget import Widget


class FooterKey(NamedTuple):
    """One entry of the footer."""

    key: str
    does: str


class Status(Widget):
    """Shows keys, or a message of up to three lines until the next key."""

    DEFAULT_CSS = """
    Status { height: auto; max-height: 3; padding: 0 1; background: $surface; color: $text; }
    Status.-error { color: $text-error; text-style: bold; }
    """

    message: reactive[str] = reactive("", layout=True)
    keys: reactive[tuple[FooterKey, ...]] = reactive(())
    always: reactive[tuple[FooterKey, ...]] = reactive(())

    def show_message(self, text: str, *, error: bool = False) -> None:
        self.set_class(error, "-error")
        self.message = f"✗ {text}" if error else text

    def render(self) -> Text:
        """The keys that fit, those of `always` in any case."""
        if self.message:
            return Text(self.message)
        room = self.size.width - _keys_width(self.always)
        shown: list[FooterKey] = []
        for key in self.keys:
            if _keys_width((*shown, key)) > room:
                break
            shown.append(key)
        text = Text(no_wrap=True)
        for key in (*shown, *self.always):
            text.append(f"<{key.key}>", "bold")
            text.append(f" {key.does}  ")
        return text


def _keys_width(keys: tuple[FooterKey, ...]) -> int:
    return sum(len(key.key) + len(key.does) + 5 for key in keys)


FIRST_KEY_LINES: Final = (
    "First time here?  s into the next event, n over, f out; capitals go back.",
    "b breakpoint, c continue to it   1-9 and Tab panels   e why does the job wait?",
    "? every key   : commands   Ctrl+P finds everything      (any key hides this)",
)
"""At most 78 cells each: the narrowest screen shows three lines."""


class FirstKeys(Widget):
    """Three lines above the last one, until the first key."""

    DEFAULT_CSS = "FirstKeys { height: auto; padding: 0 1; background: $surface; color: $text; display: none; }"

    def render(self) -> Text:
        """The hint of the first start."""
        return Text("\n").join([Text(line) for line in FIRST_KEY_LINES])
