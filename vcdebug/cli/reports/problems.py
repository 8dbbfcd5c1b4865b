"""What is wrong with the input of a cycle, beside an answer about it."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.explain.amounts import plural
from vcdebug.trace.input_problems import input_problems
from vcdebug.trace.recording import Recording
from vcdebug.views.document import Block, paragraph


def problem_count(recording: Recording) -> Iterator[Block]:
    """One line where something is wrong with the input."""
    if problems := input_problems(recording):
        yield paragraph(f"{plural(len(problems), 'problem')} in the input: see vcdebug inspect", "bad")
