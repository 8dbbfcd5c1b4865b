"""Resource claims that pods of a cycle are to have, and their devices."""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.kube.dynamic_resources import ReservedClaim
from vcdebug.plugins.predicates import Predicates
from vcdebug.trace.recording import Recording


def reserved_claims(recording: Recording) -> Mapping[str, ReservedClaim]:
    """What each claim gets that is still being allocated at the end, by namespace and name."""
    plugin = recording.session.plugins.get(Predicates.name)
    claims = plugin.claim_filter if isinstance(plugin, Predicates) else None
    return {} if claims is None else claims.in_flight_claims
