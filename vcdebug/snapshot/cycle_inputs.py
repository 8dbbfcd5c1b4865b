"""Inputs of a cycle besides objects: random choices, map order, forced answers, and the process's memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from vcdebug.snapshot.edit_path import EditError

SEARCHES_PATTERN: Final = re.compile(r"\d{1,9}-\d{1,9}(?:[,;]\d{1,9}-\d{1,9})*", re.ASCII)
"""Ranges of node indexes; a semicolon begins the next search."""
NAMED_FIELDS: Final = (
    *("choices", "searches", "dry_runs", "preempts", "reclaims"),
    *("job_domains", "sub_job_domains", "cards", "card_news"),
)
"""Fields that map a pod, job or sub job to its choices."""
EARLY_NEWS: Final = "early"
_MASK = (1 << 64) - 1


def mix_bits(number: int) -> int:
    """A 64-bit hash of a number (the finaliser of splitmix64)."""
    # The masks cut to 64 bits, as the unsigned arithmetic of the original.
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)


def mix_text(seed: int, text: str) -> int:
    """A 64-bit hash of a seed and a text; the same on every machine."""
    # Not hash(): Python salts it per process.
    number = mix_bits(seed & _MASK)
    for byte in text.encode():
        number = mix_bits(number ^ byte)
    return number


class ChanceSettings(Struct, frozen=True):
    """The random choices of one cycle. The defaults are fixed rules, so that recordings are repeatable."""

    search_start: int = 0
    """The node index at which the first search begins (upstream: left by earlier cycles)."""
    order_seed: int | None = None
    """Seed of the order in which maps are visited; None visits keys ascending."""
    tie_seed: int | None = None
    """Seed of choices among equally good nodes and of random offsets; None takes the first."""
    choices: Mapping[str, str] = {}
    """Pod → the node that a real scheduler chose among equally good ones. `node-1;node-4` are its placements in order,
    discarded ones included; the last is used from then on."""
    searches: Mapping[str, str] = {}
    """Pod → the nodes that a real scheduler sampled: `4-563,0-1;9-99` are two searches, each a list of ranges of node
    indexes in the order of the visits."""
    dry_runs: Mapping[str, str] = {}
    """Pod → the nodes that won its dry runs of topology-aware preemption, in order: `node-1;node-4`."""
    preempts: Mapping[str, str] = {}
    """Pod → nodes on which preempt searched victims for it, in order, also of later searches; they decide only between
    equally good ones."""
    reclaims: Mapping[str, str] = {}
    """Pod → the nodes on which reclaim searched victims for it, in order: `node-4;node-1`."""
    job_domains: Mapping[str, str] = {}
    """Job → the HyperNodes that allocate tried for it, tier by tier, in order: `s3;s1;s2`."""
    sub_job_domains: Mapping[str, str] = {}
    """Sub job → the HyperNodes that were tried for it, within each HyperNode of its job."""
    cards: Mapping[str, str] = {}
    """Pod → the NPUs that were chosen for it among equally good ones: `npu-3;npu-1`."""
    card_news: Mapping[str, str] = {}
    """Pod → `early`: news of its virtual GPUs came before its bind, and a ledger shared with the cache counts it."""

    @classmethod
    def from_seed(cls, seed: int) -> ChanceSettings:
        """All choices from one seed."""
        return cls(mix_bits(seed) >> 33, seed, seed)

    def setting_texts(self) -> list[str]:
        """`name value` of every setting that differs from the default."""
        settings = {
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
            "early news of cards": len(self.card_news) or None,
        }
        return [f"{name} {value}" for name, value in settings.items() if value is not None]


class MapOrder:
    """The order in which a cycle visits Go's maps, one for the whole cycle: ascending by key, or from a seed."""

    __slots__ = ("_seed",)

    def __init__(self, seed: int | None = None) -> None:
        self._seed = seed

    def order_keys(self, keys: Iterable[str]) -> list[str]:
        seed = self._seed
        if seed is None:
            return sorted(keys)
        # The key itself breaks ties of the hash, so that the order never depends on the input's.
        return sorted(keys, key=lambda key: (mix_text(seed, key), key))


ASCENDING = MapOrder()


MIN_SEQ = 1


class ForcedAnswer(NamedTuple):
    """An answer that a user forces on a plugin at event `seq`, counted in the run with all earlier forced answers."""

    seq: int
    hook: str
    """The hook that the event must call, as a trace names it; empty skips the check."""
    plugin: str
    """The plugin that the event must call; empty skips the check."""
    value: str
    """The answer as text: yes, no, allow b-0 b-1 ..."""
    text: str = ""
    """The edit that states the answer, for messages."""

    def make_error(self, message: str, hint: str = "") -> EditError:
        return EditError(message, self.text, 0, hint)


def parse_answer(seq: str, hook: str, plugin: str, value: str, text: str) -> ForcedAnswer:
    """An answer whose event is a number and whose value is not empty; raises EditError."""
    if not seq.isdecimal() or int(seq) < MIN_SEQ:
        raise EditError(f"{seq!r} is not an event number", text, 0, "write answer:EVENT.HOOK.PLUGIN=VALUE")
    answer = ForcedAnswer(int(seq), hook, plugin, value, text)
    if not value:
        raise answer.make_error("the answer is missing")
    return answer


PersistenceSetting = Literal["auto", "on", "off"]
PERSISTENCE_SETTINGS: tuple[PersistenceSetting, ...] = ("auto", "on", "off")


class CpuReservation(Struct, frozen=True, forbid_unknown_fields=True):
    """CPUs that an earlier cycle assigned to a pod; reserved until the node's Numatopology lists the pod."""

    node: str
    pod: str
    """namespace/name."""
    uid: str
    cpus: str
    """A list such as `0-3,8`."""


class ClaimReservation(Struct, frozen=True, forbid_unknown_fields=True):
    """A resource claim that an earlier cycle reserved for a pod without binding the pod.

    Upstream releases it only in the session that reserved it, so it stays reserved until the process ends.
    """

    claim: str
    """namespace/name."""
    pod: str
    node: str
    devices: tuple[dict[str, Any], ...] | None = None
    """Entries as in status.allocation.devices.results; None if they are not known."""


class SchedulerProcess(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """State in the scheduler's memory that no object shows. The default is a process in its first cycle."""

    started: datetime | None = None
    """Start of the process; None in its first cycle, and where a start is assumed."""
    last_rescheduling: datetime | None = None
    """The last time that plugin rescheduling chose victims; None for never."""
    last_eviction: datetime | None = None
    """The last time that plugin tdm searched victims; None for never."""
    sessions: int = 0
    """Number of sessions so far."""
    hyper_nodes: Mapping[str, Mapping[str, str]] = {}
    """Job → the hypernode allocated to each of its sub jobs, and under the empty name to the job itself."""
    reserved_cpus: tuple[CpuReservation, ...] = ()
    """CPUs that earlier cycles assigned to pods, ordered by node and pod."""
    reserved_claims: tuple[ClaimReservation, ...] = ()
    """Resource claims that earlier cycles reserved for pods that they did not bind, ordered by claim."""
    assumed: bool = False
    """Whether the process is assumed to run for long, because its start is unknown."""

    def is_first_cycle(self, now: datetime) -> bool:
        """Whether the process has no state of an earlier cycle, such as device ledgers."""
        return not self.assumed and (self.started is None or self.started >= now)
