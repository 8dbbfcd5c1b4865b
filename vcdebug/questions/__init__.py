"""Questions beside "why does it wait", one line each."""

from __future__ import annotations

from typing import Final

from vcdebug.questions.evicted import EVICTED_QUESTION
from vcdebug.questions.holders import HOLDERS_QUESTION
from vcdebug.questions.next_job import NEXT_QUESTION
from vcdebug.questions.node_choice import NODE_QUESTION
from vcdebug.questions.refused import REFUSED_QUESTION
from vcdebug.questions.reply import NamedQuestion
from vcdebug.questions.victim_choice import VICTIM_QUESTION

QUESTIONS: Final[tuple[NamedQuestion, ...]] = (
    EVICTED_QUESTION,
    HOLDERS_QUESTION,
    NODE_QUESTION,
    REFUSED_QUESTION,
    VICTIM_QUESTION,
    NEXT_QUESTION,
)
