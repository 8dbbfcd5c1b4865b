"""Questions beside "why does it wait", one line each."""

from __future__ import annotations

from typing import Final

from vcdebug.questions.evicted import EVICTED
from vcdebug.questions.holders import HOLDERS
from vcdebug.questions.next_job import NEXT
from vcdebug.questions.node_choice import NODE
from vcdebug.questions.refused import REFUSED
from vcdebug.questions.reply import Question
from vcdebug.questions.victim_choice import VICTIM

QUESTIONS: Final[tuple[Question, ...]] = (EVICTED, HOLDERS, NODE, REFUSED, VICTIM, NEXT)
