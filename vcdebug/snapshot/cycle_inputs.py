"""What the real scheduler leaves to chance, as settings that a person may change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, NamedTuple

from vcdebug.snapshot.edit_path import EditError

SEARCHES_PATTERN: Final = re.compile(r"\d{1,9}-\d{1,9}(?:[,;]\d{1,9}-\d{1,9})*", re.ASCII)
"""Ranges of places; a semicolon begins the next search."""
NAMED_FIELDS: Final = (
    "choices",
    "searches",
    "dry_runs",
    "preempts",
    "reclaims",
    "job_domains",
    "sub_job_domains",
    "cards",
)
"""Fields that say it of each pod, job or sub job."""
_MASK = (1 << 64) - 1


def mix_bits(number: int) -> int:
    """A well-spread 64-bit number from another one (splitmix64's finaliser)."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)


def mix_text(seed: int, text: str) -> int:
    """As mix, of a seed and a text; the same on every machine."""
    number = mix_bits(seed & _MASK)
    for byte in text.encode():
        number = mix_bits(number ^ byte)
    return number


@dataclass(frozen=True, slots=True)
class ChanceSettings:
    """The draws of one cycle. The defaults are the rules by which recordings are made repeatable."""

    search_start: int = 0
    """Where the first search over nodes begins (upstream: what earlier cycles left)."""
    order_seed: int | None = None
    """Draws the order in which maps are visited; None visits keys ascending."""
    tie_seed: int | None = None
    """Draws among equally good nodes and for random offsets; None takes the first."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Pod → the node that a real scheduler drew for it: taken wherever it is among equally good ones. `node-1;node-4`
    are the nodes on which it put the pod in turn, discarded placements included; the last holds from then on."""
    searches: Mapping[str, str] = field(default_factory=dict)
    """Pod → the nodes at which a real scheduler looked for it, where it looks at a sample of them: `4-563,0-1;9-99` are
    two searches, by the places of the nodes in the session, in the order of the visits."""
    dry_runs: Mapping[str, str] = field(default_factory=dict)
    """Pod → the nodes that won its dry runs of topology-aware preemption, one after the other: `node-1;node-4`."""
    preempts: Mapping[str, str] = field(default_factory=dict)
    """Pod → the nodes on which preempt looked for victims for it, one after the other, of which only equally good ones
    come in any order: `node-4;node-1`."""
    reclaims: Mapping[str, str] = field(default_factory=dict)
    """Pod → the nodes on which reclaim looked for victims for it, one after the other: `node-4;node-1`."""
    job_domains: Mapping[str, str] = field(default_factory=dict)
    """Job → the HyperNodes that allocate tried for it, row by row, one after the other: `s3;s1;s2`."""
    sub_job_domains: Mapping[str, str] = field(default_factory=dict)
    """Sub job → the same, within each of its job's."""
    cards: Mapping[str, str] = field(default_factory=dict)
    """Pod → the NPUs that it was given, where equally good ones are taken in any order: `npu-3;npu-1`."""

    @classmethod
    def from_seed(cls, seed: int) -> ChanceSettings:
        """Everything drawn from one number."""
        return cls(mix_bits(seed) >> 33, seed, seed)

    def setting_texts(self) -> list[str]:
        """The settings that differ from the default, in words."""
        said = {
            "search start": self.search_start or None,
            "map order seed": self.order_seed,
            "tie seed": self.tie_seed,
            "choices": len(self.choices) or None,
            "searches": len(self.searches) or None,
            "dry runs": len(self.dry_runs) or None,
            "searches of preempt": len(self.preempts) or None,
            "searches of reclaim": len(self.reclaims) or None,
            "domains of jobs": len(self.job_domains) or None,
            "domains of sub jobs": len(self.sub_job_domains) or None,
            "cards": len(self.cards) or None,
        }
        return [f"{name} {value}" for name, value in said.items() if value is not None]


# The order in which Go's maps are visited: ascending by key, or drawn from a seed.


class MapOrder:
    """One fixed order of keys for a whole cycle."""

    __slots__ = ("_seed",)

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed

    def order_keys(self, keys: Iterable[str]) -> list[str]:
        """The keys in the order of this cycle."""
        seed = self._seed
        if seed is None:
            return sorted(keys)
        return sorted(keys, key=lambda key: (mix_text(seed, key), key))


ASCENDING = MapOrder()


# Answers that a person forces on a plugin: input of a cycle like chance, each at one event of it.

MIN_SEQ = 1


class ForcedAnswer(NamedTuple):
    """At the event numbered `seq` the plugin answers this, whatever it would say by itself.

    The number is that of the run with all other edits, and with those forced answers that come before it.
    """

    seq: int
    hook: str
    """The hook that must be asked there, as a trace names it; empty where nobody checks."""
    plugin: str
    """The plugin that must be asked there; empty where nobody checks."""
    value: str
    """The answer in words: yes, no, offer b-0 b-1 ..."""
    text: str = ""
    """The edit that says so, for messages."""

    def make_error(self, message: str, hint: str = "") -> EditError:
        """A fault of this answer."""
        return EditError(message, self.text, 0, hint)


def parse_answer(seq: str, hook: str, plugin: str, value: str, text: str) -> ForcedAnswer:
    """An answer whose event is a number and whose value is not empty; raises EditError."""
    if not seq.isdecimal() or int(seq) < MIN_SEQ:
        raise EditError(f"{seq!r} is no event number", text, 0, "write answer:EVENT.HOOK.PLUGIN=VALUE")
    answer = ForcedAnswer(int(seq), hook, plugin, value, text)
    if not value:
        raise answer.make_error("the answer is missing")
    return answer


# What a cycle takes from the scheduler process's past, which no object of the cluster shows.

PersistenceSetting = Literal["auto", "on", "off"]
PERSISTENCE_SETTINGS: tuple[PersistenceSetting, ...] = ("auto", "on", "off")


class CpuReservation(NamedTuple):
    """CPUs of a node that an earlier cycle gave to a pod: taken until the node's Numatopology shows the pod."""

    node: str
    pod: str
    """namespace/name."""
    uid: str
    cpus: str
    """A list such as `0-3,8`."""


@dataclass(frozen=True, slots=True)
class SchedulerProcess:
    """The scheduler process behind the cycle. The default is a process that runs its first cycle."""

    started: datetime | None = None
    """When the process started; None says that this is its first cycle."""
    last_rescheduling: datetime | None = None
    """When the plugin rescheduling last chose victims; None says not since the start."""
    last_eviction: datetime | None = None
    """When the plugin tdm last looked for victims; None says not since the start."""
    sessions: int = 0
    """How many sessions it has run: each has a UID of its own."""
    hyper_nodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Job → the hypernode allocated to each of its sub jobs, and under the empty name to the job itself."""
    reserved_cpus: tuple[CpuReservation, ...] = ()
    """By node and pod."""

    def is_first_cycle(self, now: datetime) -> bool:
        """Whether nothing of an earlier cycle is there: no device ledgers, no last run."""
        return self.started is None or self.started >= now
