"""Answers about a recording, kept in the recording itself: a second look is free, and they are gone when it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, partial, update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

from vcdebug.trace.recording import Recording

P = ParamSpec("P")
R = TypeVar("R")
Question = Callable[Concatenate[Recording, P], R]


def per_recording(most: int | None = None) -> Callable[[Question[P, R]], Question[P, R]]:
    """A function of a recording, and of what can be hashed, that is computed once for each; `most` bounds the number.

    Beyond the bound an answer makes room for another that has not been asked for the longest time.
    """

    def remember(function: Question[P, R]) -> Question[P, R]:
        return _remembering(function, most)

    return remember


def _remembering(function: Question[P, R], most: int | None) -> Question[P, R]:
    def ask(recording: Recording, /, *args: P.args, **kwargs: P.kwargs) -> R:
        own = recording.memo.get(function) or recording.memo.setdefault(function, _answers(function, recording, most))
        answer: R = own(*args, **kwargs)
        return answer

    update_wrapper(ask, function)
    return ask


def _answers(function: Question[P, R], recording: Recording, most: int | None) -> Callable[..., R]:
    return lru_cache(most)(partial(function, recording))


def answer(recording: Recording, question: Callable[[Recording], R], known: Callable[[], R]) -> None:
    """The answer to a question is known already; `known` gives it, the same each time."""
    recording.memo[inspect.unwrap(question)] = known
