"""The questions of `ask` that one recording answers, one line each."""

from typing import Final

from vcdebug.explain.answer import NamedQuestion
from vcdebug.explain.questions.holders import HOLDERS_QUESTION, NEXT_QUESTION
from vcdebug.explain.questions.nodes import NODE_QUESTION, REFUSED_QUESTION
from vcdebug.explain.questions.victims import EVICTED_QUESTION, VICTIM_QUESTION

QUESTIONS: Final[tuple[NamedQuestion, ...]] = (
    EVICTED_QUESTION,
    HOLDERS_QUESTION,
    NODE_QUESTION,
    REFUSED_QUESTION,
    VICTIM_QUESTION,
    NEXT_QUESTION,
)
