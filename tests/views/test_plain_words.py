"""Plugins' answers are shown in words, never in Python's notation."""

from vcdebug.framework.record import HookEvent
from vcdebug.views.headline import answer_piece, placing_words


def test_answer_without_victims_is_shown_as_none() -> None:
    assert "– none" == answer_piece(HookEvent("VictimTasks", "rescheduling", (), ())).text
    assert "a-{0,1}" == answer_piece(HookEvent("VictimTasks", "tdm", (), ("ns/a-0", "ns/a-1"))).text


def test_truth_values_are_shown_as_words() -> None:
    assert ["–", "yes", "no"] == [placing_words(value) for value in (None, True, False)]
