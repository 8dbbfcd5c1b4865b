"""The form of an explanation: one dominant finding, what else stands in the way, the proof, and advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Literal, NamedTuple, TypeVar

from vcdebug.amount_text import count_noun, is_counted, join_names, listed_dimensions, value_in_units
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource
from vcdebug.recording.recording import Recording


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


# Figures of an answer for programs, and things told by their reason, the most frequent first.


def numbers(prefix: str, what: Resource, names: Iterable[str] | None = None) -> dict[str, Number]:
    """`prefix.cpu` and so on of what a text about the resource tells, in cores, bytes and pieces."""
    return {f"{prefix}.{name}": number(name, value) for name, value in listed_dimensions(what, names)}


def number(name: str, value: float) -> Number:
    """An amount in the unit that people use for it."""
    if name == MEMORY:
        unit = "bytes"
    elif is_counted(name):
        unit = "pods" if name == PODS else "volumes"
    else:
        unit = "cores" if name == CPU else name
    return Number(value_in_units(name, value), unit)


def count(value: int, unit: str) -> Number:
    """A number of things."""
    return Number(float(value), unit)


Thing = TypeVar("Thing")
Histogram = list[tuple[str, list[Thing]]]


def histogram(pairs: Iterable[tuple[Thing, str]]) -> Histogram[Thing]:
    """Reason and what it is the reason of, the most frequent first."""
    found = group_by_key((reason, thing) for thing, reason in pairs)
    return sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def pod_lines(order: Iterable[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """One line per reason, with some of the pods."""
    return tuple(f"{count_noun(len(keys), 'pod')}: {reason}  ({join_names(keys)})" for reason, keys in order)


# The form of a question that can be asked of any recording, and of its answer.


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
