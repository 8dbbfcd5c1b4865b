"""The form of an explanation: one dominant finding, what else stands in the way, the proof, and advice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Literal, NamedTuple

from vcdebug.model.names import JobId, Seq, TaskKey


class AdviceHarm(IntEnum):
    """Who has to agree: the job's owner, those who share queues with it, or everybody."""

    JOB = 0
    QUEUE = 1
    CLUSTER = 2


ADVICE_OWNER: Final = {
    AdviceHarm.JOB: "the job's owner",
    AdviceHarm.QUEUE: "who shares the queues",
    AdviceHarm.CLUSTER: "the cluster's administrator",
}
"""Whose it is to do what would help."""


class Advice(NamedTuple):
    """One line."""

    text: str
    harm: AdviceHarm
    edits: tuple[str, ...] = ()
    """As --set takes them; empty where an amount or an object is left to the reader."""
    risky: bool = False
    """Whether it goes against what somebody has said about a node: better than nothing, worse than anything else."""


def owner_advice(text: str, *edits: str) -> Advice:
    """What the job's owner can do, and waiting, which costs nobody anything."""
    return Advice(text, AdviceHarm.JOB, edits)


def queue_admin_advice(text: str, *edits: str) -> Advice:
    """What those who share its queue, or hold what it needs, have to agree to."""
    return Advice(text, AdviceHarm.QUEUE, edits)


def cluster_admin_advice(text: str, *edits: str) -> Advice:
    """What only an administrator can do."""
    return Advice(text, AdviceHarm.CLUSTER, edits)


def sort_by_harm(lines: Iterable[Advice]) -> tuple[Advice, ...]:
    """Each line once, the least harmful first, what is risky last."""
    once = {line.text: line for line in lines}
    return tuple(sorted(once.values(), key=lambda line: (line.risky, line.harm)))


ADD_NODES_ADVICE: Final = cluster_admin_advice("add nodes that fit")
"""Always helps, and costs most."""


StepState = Literal["passed", "failed", "not reached"]


class Number(NamedTuple):
    """An amount with its unit: cores, bytes, pods, or what a device plugin counts."""

    value: float
    unit: str


class Evidence(NamedTuple):
    """An event of the recording, and what it proves."""

    seq: Seq
    text: str


def proof_of(seq: Seq | None, text: str) -> tuple[Evidence, ...]:
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
class ExplanationStep:
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
    steps: tuple[ExplanationStep, ...]
    doubt: str = ""
    """Why the answer may be wrong: the input does not show one moment."""

    @property
    def cause_code(self) -> str:
        """The code of the dominant cause."""
        return self.dominant.cause

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return self.dominant.sentence

    @property
    def dominant_evidence(self) -> tuple[Evidence, ...]:
        """The events that prove the dominant cause."""
        return self.dominant.evidence

    @property
    def advice_texts(self) -> tuple[str, ...]:
        """What would help, line by line."""
        return tuple(line.text for line in self.advised)

    @property
    def outcome(self) -> str:
        """scheduled or unscheduled."""
        return "scheduled" if self.scheduled else "unscheduled"
