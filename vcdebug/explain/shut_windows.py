"""Revocable zones whose window is shut at the moment: nodes that tdm keeps everybody off, until it opens."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.explain.advice import owner
from vcdebug.explain.amounts import listed
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.wishes import Obstacle

TDM = "tdm"


def zones_shut(room: NodeFits) -> Iterator[Obstacle]:
    """One per zone of nodes that refuse the task for it."""
    tdm = room.view.session.plugins.get(TDM)
    if tdm is None:
        return
    from vcdebug.plugins.tdm import Tdm

    if not isinstance(tdm, Tdm):
        return
    for zone, window in tdm.windows.items():
        error = tdm.zones.error(zone)
        names = [node.name for node in room.nodes if error and any(error in status.reason for status in node.statuses)]
        if names:
            now = tdm.zones.now.strftime("%H:%M")
            verb = "is" if len(names) == 1 else "are"
            yield Obstacle(
                f"{listed(names)} {verb} in revocable zone {zone}, open {window} only, and it is {now}",
                (owner(f"wait until the window of zone {zone} opens (vcdebug ask when says when the job gets in)"),),
            )
