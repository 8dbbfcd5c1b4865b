"""Answers about a recording, kept in the recording itself: a second look is free, and they are gone when it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, partial, update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

from vcdebug.trace.recording import Recording

P = ParamSpec("P")
R = TypeVar("R")
RecordingQuestion = Callable[Concatenate[Recording, P], R]


def per_recording(most: int | None = None) -> Callable[[RecordingQuestion[P, R]], RecordingQuestion[P, R]]:
    """A function of a recording, and of what can be hashed, that is computed once for each; `most` bounds the number.

    Beyond the bound an answer makes room for another that has not been asked for the longest time.
    """

    def remember_answers(function: RecordingQuestion[P, R]) -> RecordingQuestion[P, R]:
        return _remember_per_recording(function, most)

    return remember_answers


def _remember_per_recording(function: RecordingQuestion[P, R], most: int | None) -> RecordingQuestion[P, R]:
    def ask_once(recording: Recording, /, *args: P.args, **kwargs: P.kwargs) -> R:
        own = recording.memo.get(function) or recording.memo.setdefault(
            function, _new_answer_cache(function, recording, most)
        )
        answer: R = own(*args, **kwargs)
        return answer

    update_wrapper(ask_once, function)
    return ask_once


def _new_answer_cache(function: RecordingQuestion[P, R], recording: Recording, most: int | None) -> Callable[..., R]:
    return lru_cache(most)(partial(function, recording))


def store_answer(recording: Recording, question: Callable[[Recording], R], known: Callable[[], R]) -> None:
    """The answer to a question is known already; `known` gives it, the same each time."""
    recording.memo[inspect.unwrap(question)] = known
