"""Answers that a person forces on a plugin: input of a cycle like chance, each at one event of it."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.snapshot.edit_path import EditError

MIN_SEQ = 1


class ForcedAnswer(NamedTuple):
    """At the event numbered `seq` the plugin answers this, whatever it would say by itself.

    The number is that of the run with all other edits, and with those forced answers that come before it.
    """

    seq: int
    hook: str
    """The hook that must be asked there, as a trace names it; empty where nobody checks."""
    plugin: str
    """The plugin that must be asked there; empty where nobody checks."""
    value: str
    """The answer in words: yes, no, offer b-0 b-1 ..."""
    text: str = ""
    """The edit that says so, for messages."""

    def make_error(self, message: str, hint: str = "") -> EditError:
        """A fault of this answer."""
        return EditError(message, self.text, 0, hint)


def parse_answer(seq: str, hook: str, plugin: str, value: str, text: str) -> ForcedAnswer:
    """An answer whose event is a number and whose value is not empty; raises EditError."""
    if not seq.isdecimal() or int(seq) < MIN_SEQ:
        raise EditError(f"{seq!r} is no event number", text, 0, "write answer:EVENT.HOOK.PLUGIN=VALUE")
    answer = ForcedAnswer(int(seq), hook, plugin, value, text)
    if not value:
        raise answer.make_error("the answer is missing")
    return answer
