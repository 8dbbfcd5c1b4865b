"""What one keeps an eye on: figures of the state, and expressions over the fields of an event."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.debugger import figures
from vcdebug.debugger.expression import Value, parse_expression
from vcdebug.debugger.fields import FIELD_TYPES, fields_of
from vcdebug.debugger.figure_history import FigureChange, figure_history
from vcdebug.debugger.figure_words import FigureError, parse_figure
from vcdebug.debugger.numbered import NumberedList
from vcdebug.debugger.tokens import tokens_of
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.trace.recording import Recording


class WatchError(VcdebugError):
    """Something that cannot be watched."""


class Watch(NamedTuple):
    """One thing that is watched, as it was written."""

    number: int
    text: str

    @property
    def is_figure(self) -> bool:
        """Whether it names a figure; otherwise it is an expression."""
        return names_figure(self.text)


class WatchValue(NamedTuple):
    """A watch at an event, in words."""

    watch: Watch
    now: str
    before: str
    """After the event before."""
    change: FigureChange | None = None
    """The last change of a figure; None where there was none, and for expressions."""
    old: str = ""
    new: str = ""


def names_figure(text: str) -> bool:
    """`node n1 idle` is a figure, `node == "n1"` and `count(victims)` are expressions."""
    kind, _, rest = text.strip().partition(" ")
    begins = rest.strip().partition(" ")[0]
    return kind in figures.FIGURE_KINDS and begins[:1].isalnum() and begins not in ("in", "not", "matches", "and", "or")


def normalize_watch(recording: Recording, text: str) -> str:
    """The watch as it is kept; raises where it can have no value in this recording."""
    if not text.strip():
        raise WatchError(
            "say what to watch", "a figure such as node n1 idle cpu, or an expression such as count(victims)"
        )
    if names_figure(text):
        return str(parse_figure(recording, _token_words(text)))
    parse_expression(text, FIELD_TYPES)
    return text.strip()


def evaluate_watch(recording: Recording, seq: Seq, watch: Watch) -> WatchValue:
    """A watch at an event; what this recording does not have is said in place of the value."""
    if not watch.is_figure:
        return WatchValue(
            watch, _evaluated_text(recording, seq, watch.text), _evaluated_text(recording, seq - 1, watch.text)
        )
    try:
        found = parse_figure(recording, _token_words(watch.text))
    except FigureError as error:
        return WatchValue(watch, error.message, "")
    now, before = (figures.format_figure(found, figures.figure_value(recording, found, at)) for at in (seq, seq - 1))
    change = figure_history(recording, found).last_change(seq)
    if change is None:
        return WatchValue(watch, now, before)
    return WatchValue(
        watch, now, before, change, figures.format_figure(found, change.old), figures.format_figure(found, change.new)
    )


def _token_words(text: str) -> tuple[str, ...]:
    return tuple(token.text_content for token in tokens_of(text) if token.kind != "end")


def _evaluated_text(recording: Recording, seq: Seq, text: str) -> str:
    if seq < 1:
        return "-"
    return _value_text(parse_expression(text, FIELD_TYPES).evaluate(fields_of(recording, seq)))


def _value_text(value: Value) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


class WatchList(NumberedList[Watch]):
    """Watches by number."""

    WHAT = "watch"
    MISSING = WatchError

    def add_watch(self, text: str, recording: Recording) -> Watch:
        """Watch a figure or an expression; one that is watched already stays as it is."""
        return self.keep_watch(normalize_watch(recording, text))

    def keep_watch(self, text: str) -> Watch:
        """As add, without a look at a recording."""
        known = next((watch for watch in self if watch.text == text), None)
        if known is not None:
            return known
        self._last += 1
        self._things[self._last] = Watch(self._last, text)
        return self._things[self._last]
