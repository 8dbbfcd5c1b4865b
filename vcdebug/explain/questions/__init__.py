"""Questions beside "why does it wait", one line each."""

from __future__ import annotations

from typing import Final

from vcdebug.explain.questions.evicted import EVICTED
from vcdebug.explain.questions.holders import HOLDERS
from vcdebug.explain.questions.next_job import NEXT
from vcdebug.explain.questions.node_choice import NODE
from vcdebug.explain.questions.reply import Question
from vcdebug.explain.questions.victim_choice import VICTIM

QUESTIONS: Final[tuple[Question, ...]] = (EVICTED, HOLDERS, NODE, VICTIM, NEXT)
