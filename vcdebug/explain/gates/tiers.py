"""Which tier's answer counted: an empty one passes the question on, the first with somebody in it decides."""

from __future__ import annotations

from vcdebug.explain.amounts import listed
from vcdebug.explain.job_view import JobView
from vcdebug.explain.visits import NodeTry
from vcdebug.explain.votes import Seat, question
from vcdebug.model.names import NodeName

VOTES = ("Preemptable", "Reclaimable")


def answered(view: JobView, node: NodeTry) -> list[Seat]:
    """Everybody whose answer about the node's candidates counted."""
    asked = question(view.recording, node.hooks(*VOTES)[0][0])
    return [seat for seat in asked.seats if seat.state == "answered"] if asked is not None else []


def passed_on(seats: list[Seat], tier: int) -> str:
    """`gang offers nobody in tier 1, which passes the question on`; empty if an earlier tier had no say."""
    empty = [seat for seat in seats if seat.tier < tier and not seat.result]
    if not empty:
        return ""
    tiers = listed(dict.fromkeys(str(seat.tier) for seat in empty))
    return (
        f"{listed(dict.fromkeys(seat.plugin for seat in empty))} offers nobody in tier {tiers}, so tier {tier} is asked"
    )


def ladder(seats: list[Seat], offered: int, node: NodeName) -> tuple[str, ...]:
    """One line per tier: who offered how many on this node; none where only one plugin had a say."""
    tiers = list(dict.fromkeys(seat.tier for seat in seats))
    if len(seats) < 2:
        return ()
    return tuple(
        f"{node}, tier {tier}: {', '.join(f'{s.plugin} {len(s.result)} of {offered}' for s in seats if s.tier == tier)}"
        for tier in tiers
    )
