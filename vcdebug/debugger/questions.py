"""Every question beside "why does it wait": those that one recording answers, and those that need further cycles."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.foresight.when import WHEN_QUESTION
from vcdebug.questions import QUESTIONS as OF_ONE_CYCLE
from vcdebug.questions.reply import NamedQuestion

QUESTIONS: Final[tuple[NamedQuestion, ...]] = (*OF_ONE_CYCLE, WHEN_QUESTION)
