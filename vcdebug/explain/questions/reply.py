"""The form of a question that can be asked of any recording, and of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vcdebug.explain.answer import Evidence
from vcdebug.recording.recording import Recording


@dataclass(frozen=True, slots=True)
class ReplySheet:
    """A table that belongs to an answer; a head that ends in `#` marks a column of numbers."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class QuestionReply:
    """What is said about one subject: the answer in a sentence first."""

    sentence: str
    lines: tuple[str, ...] = ()
    sheets: tuple[ReplySheet, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    data: Mapping[str, object] = field(default_factory=dict)
    """The same for programs."""


@dataclass(frozen=True, slots=True)
class NamedQuestion:
    """A question by its name: one word on the command line, one row in a menu."""

    name: str
    words: str
    """As a person would ask it."""
    about: tuple[str, ...]
    """Kinds of what it may be asked about: pod, job, queue, node, port, claim or quota; empty for the whole cycle."""
    answer: Callable[[Recording, str], QuestionReply]
    """Takes the subject's name; raises NotFoundError where nothing has it."""
