"""The heaviest changes between the releases that are replayed and the lines before, most so far only known by name.

Upstream: v1.12, v1.13.
"""

from __future__ import annotations

from vcdebug.releases.change import Change


def _known(id: str, what: str, fixed_in: tuple[str, ...], pull: str) -> Change:
    unshown = "No release that has it is replayed."
    return Change(id, what, "who is placed or evicted", fixed_in, pull, "H", replayed=False, unshown=unshown)


PREEMPT_WITH_TOPOLOGY = Change(
    "preempt-with-topology",
    "preempt serves jobs with network topology too, and does not look at their hypernodes.",
    "who is evicted for jobs with network topology",
    ("v1.14.0",),
    "#4721",
    "M",
)

CHANGES = (
    PREEMPT_WITH_TOPOLOGY,
    _known(
        "capacity-scalars-not-inherited",
        "Limits of accelerators are not inherited in a tree of queues.",
        ("v1.13.0",),
        "#4504",
    ),
    _known(
        "vgpu-scalars-ignored", "Memory and cores of virtual GPUs are dropped from requests.", ("v1.13.0",), "#4520"
    ),
)
