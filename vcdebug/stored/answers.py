"""Answers that are stored beside a recording, because the first look at it would go over all of it for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from vcdebug.trace.effects import effects
from vcdebug.trace.recording import Recording
from vcdebug.trace.writes import writes

Question = Callable[[Recording], Any]  # Any: each question has its own form

ANSWERED: Final[tuple[Question, ...]] = (effects, writes)
"""Questions whose answers lie behind the recording, in this order."""
