"""What the real scheduler leaves to chance, as settings that a person may change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

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
