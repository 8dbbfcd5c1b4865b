"""Plugins' answers are shown in words, never in Python's notation."""

from vcdebug.framework.record import HookEvent
from vcdebug.views.headline import answer_piece, placing_words


def test_no_victims_of_one_plugin_are_nobody() -> None:
    assert "– none" == answer_piece(HookEvent("VictimTasks", "rescheduling", (), ())).text
    assert "a-{0,1}" == answer_piece(HookEvent("VictimTasks", "tdm", (), ("ns/a-0", "ns/a-1"))).text


def test_nothing_yes_and_no_are_words() -> None:
    assert ["–", "yes", "no"] == [placing_words(value) for value in (None, True, False)]
