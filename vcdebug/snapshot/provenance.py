"""Provenance: from which cluster, when, and at which resource versions a snapshot was captured."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

EARLIEST_CLOCK, LATEST_CLOCK = datetime(2, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
"""Limits of every clock, so that what a cycle adds to it or subtracts from it is a time, too."""
MAX_SHOWN = 3
"""Changed objects that a sentence names at most."""


class Provenance(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The origin of a captured snapshot; a snapshot of manifests has none."""

    context: str = ""
    """The kubeconfig context; empty inside a cluster."""
    server: str = ""
    user: str = ""
    """The user that read the cluster, as the kubeconfig names it."""
    access: str = ""
    """The kinds that the user may read, in words."""
    namespace: str = ""
    """The only namespace that was read; empty for all of them."""
    started: datetime | None = None
    finished: datetime | None = None
    """The server's time at the first and at the last answer."""
    resource_versions: Mapping[str, str] = {}
    """Kind → resource version of its list, for every kind that was read, even if empty."""
    consistent: bool = True
    """Whether all lists show the cluster at the same time."""
    changed: tuple[str, ...] = ()
    """Objects that changed while the kinds were read one after the other, as `Pod team-a/train-0`."""
    schedulers: tuple[str, ...] = ()
    """Names of all Volcano schedulers that were found; the first one is replayed."""
    missing: tuple[str, ...] = ()
    """Required inputs that could not be read."""

    def inconsistency_text(self) -> str:
        """A sentence about objects that changed during the capture; empty for a consistent one."""
        if self.consistent:
            return ""
        names = ", ".join(self.changed[:MAX_SHOWN])
        remainder = f" and {len(self.changed) - MAX_SHOWN} more" if len(self.changed) > MAX_SHOWN else ""
        return f"objects changed during the capture: {names or 'some objects'}{remainder}"


def provenance_document(provenance: Provenance) -> dict[str, Any]:
    """The provenance as meta.json states it."""
    always = {"consistent": provenance.consistent, "resourceVersions": dict(provenance.resource_versions)}
    document: dict[str, Any] = msgspec.to_builtins(provenance) | always
    return document


def bounded_clock(time: datetime) -> datetime:
    """The time, or the nearest one within the limits of clocks."""
    return min(max(time, EARLIEST_CLOCK), LATEST_CLOCK)


def stated_time(value: Any) -> datetime | None:
    """A time with its zone; None for anything else."""
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None else None
