"""The form of an explanation: one dominant finding, what else stands in the way, the proof, the advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from vcdebug.explain.advice import Advice
from vcdebug.model.names import JobId, Seq, TaskKey

StepState = Literal["passed", "failed", "not reached"]


class Number(NamedTuple):
    """An amount with its unit: cores, bytes, pods, or what a device plugin counts."""

    value: float
    unit: str


class Evidence(NamedTuple):
    """An event of the recording, and what it proves."""

    seq: Seq
    text: str


def proof(seq: Seq | None, text: str) -> tuple[Evidence, ...]:
    """What one event proves; nothing where it never came."""
    return (Evidence(seq, text),) if seq is not None else ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that stands in the way."""

    cause: str
    sentence: str
    numbers: Mapping[str, Number] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    advice: tuple[Advice, ...] = ()
    lines: tuple[str, ...] = ()
    """The equation, histogram or table behind the sentence, line by line."""


@dataclass(frozen=True, slots=True)
class Step:
    """One station on the job's way through the cycle."""

    name: str
    state: StepState
    text: str
    seqs: tuple[Seq, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job waits, or what it got."""

    job: JobId
    pod: TaskKey | None
    """The pod that was asked about, where it was one."""
    scheduled: bool
    dominant: Finding
    contributing: tuple[Finding, ...]
    advised: tuple[Advice, ...]
    """The least harmful first."""
    steps: tuple[Step, ...]
    doubt: str = ""
    """Why the answer may be wrong: the input does not show one moment."""

    @property
    def cause(self) -> str:
        """The code of the dominant cause."""
        return self.dominant.cause

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return self.dominant.sentence

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The events that prove the dominant cause."""
        return self.dominant.evidence

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help, line by line."""
        return tuple(line.text for line in self.advised)

    @property
    def outcome(self) -> str:
        """scheduled or unscheduled."""
        return "scheduled" if self.scheduled else "unscheduled"
