"""resourcequota: which ResourceQuota of the namespace does not hold the job's minimum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.explain import amounts
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.case import Case
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import JobId, Seq
from vcdebug.model.resource import CPU, MEMORY
from vcdebug.snapshot.quantity import nano_value

PLUGIN = "resourcequota"
CAUSE = "enqueue-resourcequota"
_NANO = 1e9


class Exceeded(NamedTuple):
    """One dimension of one ResourceQuota, in units."""

    quota: str
    name: str
    hard: float
    used: float
    admitted: float
    """Minimums of jobs that were admitted earlier in this cycle."""
    minimum: float

    @property
    def over(self) -> float:
        """By how much it is too much."""
        return self.used + self.admitted + self.minimum - self.hard


def namespace_quota(case: Case, seq: Seq) -> Finding | None:
    """None where no quota of the snapshot is exceeded."""
    found = list(_exceeded(case, seq))
    if not found:
        return None
    first = found[0]
    others = ", ".join(f"{one.name} by {_text(one.name, one.over)}" for one in found[1:])
    admitted = f" and {_text(first.name, first.admitted)} promised in this cycle" if first.admitted else ""
    sentence = (
        f"{case.job.uid} is not admitted: ResourceQuota {first.quota} allows {_text(first.name, first.hard)} "
        f"{first.name}, {_text(first.name, first.used)} are used{admitted}, and minResources of "
        f"{_text(first.name, first.minimum)} more exceeds that by {_text(first.name, first.over)}"
        f"{f' ({others})' if others else ''}."
    )
    numbers = {
        "quota.hard": amounts.number(first.name, _scaled(first.name, first.hard)),
        "quota.used": amounts.number(first.name, _scaled(first.name, first.used)),
        f"short.{first.name}": amounts.number(first.name, _scaled(first.name, first.over)),
    }
    advice = (
        f"raise spec.hard of ResourceQuota {first.quota}, or wait until pods of its namespace end",
        "or ask for less in spec.minResources",
    )
    evidence = (Evidence(seq, f"{PLUGIN} rejects the PodGroup (JobEnqueueable -1)"),)
    return Finding(CAUSE, sentence, numbers, evidence, advice)


def _exceeded(case: Case, seq: Seq) -> Iterator[Exceeded]:
    minimum = case.job.pod_group.min_resource_list or {}
    for manifest in case.recording.snapshot.of("ResourceQuota"):
        metadata, status = manifest["metadata"], manifest.get("status") or {}
        if metadata.get("namespace") != case.job.namespace:
            continue
        hard, used = status.get("hard") or {}, status.get("used") or {}
        for name in sorted(name for name in minimum if name in hard):
            asked = (hard[name], used.get(name), minimum[name])
            limit, taken, wanted = (nano_value(text) / _NANO for text in asked)
            one = Exceeded(metadata["name"], name, limit, taken, _admitted(case, seq, name), wanted)
            if one.over > 0:
                yield one


def _admitted(case: Case, seq: Seq, name: str) -> float:
    """What the plugin counts of jobs admitted before."""
    total = 0
    for earlier in case.recording.index.at_point("JobEnqueued"):
        event = case.recording.event(earlier)
        if earlier >= seq or not isinstance(event, HookEvent) or event.plugin != PLUGIN:
            continue
        job = case.session.jobs[JobId(dict(event.subject)["job"])]
        if job.namespace == case.job.namespace:
            total += nano_value((job.pod_group.min_resource_list or {}).get(name))
    return total / _NANO


def _scaled(name: str, value: float) -> float:
    """As amounts are kept: thousandths, but for bytes."""
    return value if name == MEMORY or amounts.counted(name) else value * 1000.0


def _text(name: str, value: float) -> str:
    return amounts.amount(name if name in (CPU, MEMORY) else "", _scaled(name, value))
