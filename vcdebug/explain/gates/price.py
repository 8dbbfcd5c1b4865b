"""What a place cost: who decided about the victims, and where else they could have been taken."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain.amounts import listed
from vcdebug.explain.evictions import CARRIED_OUT, Eviction, evictions
from vcdebug.explain.job_view import EVICTING_ACTIONS, JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.state_before import task_of
from vcdebug.explain.victims import next_choice

MOST_NODES = 3


def price(view: JobView) -> str:
    """`; conformance alone decided ..., n2 would have done as well`; empty where there is nothing to say."""
    mine = [
        one
        for one in evictions(view.recording)
        if one.fate in CARRIED_OUT and one.preemptor in view.tasks and one.action in EVICTING_ACTIONS
    ]
    return "".join(f"; {part}" for part in (_decided(view, mine), _elsewhere(view, mine)) if part)


def _decided(view: JobView, mine: Sequence[Eviction]) -> str:
    """The plugins of the tier that named the first victim, and those that were not asked."""
    for one in mine[:1]:
        choice = next_choice(view.recording, one.seq)
        if choice is None or one.tier is None:
            return ""
        offers = [(tier.number, offer.seat) for tier in choice.tiers for offer in tier.offers]
        said = [seat.plugin for number, seat in offers if number == one.tier and seat.state == "answered"]
        unasked = [f"{seat.plugin} in tier {number}" for number, seat in offers if seat.state == "not asked"]
        if not unasked or not said:
            return ""
        alone = " alone" if len(said) == 1 else ""
        was = "was" if len(unasked) == 1 else "were"
        return f"{' and '.join(said)}{alone} decided in tier {one.tier}, so {listed(unasked)} {was} not asked"
    return ""


def _elsewhere(view: JobView, mine: Sequence[Eviction]) -> str:
    """Other nodes that would have done with less important victims, as it stood before the plan."""
    for one in mine[:1]:
        asker, victim = task_of(view.recording, one.preemptor), task_of(view.recording, one.victim)
        room = NodeFits(JobView(view.recording, view.job.uid, one.preemptor), asker, one.seq - 1)
        others = [node.name for node in room.could_free(one.action) if node.name != one.node]
        lowest = {name: min(room.candidates(one.action, name), key=lambda t: (t.priority, t.key)) for name in others}
        milder = {name: task for name, task in lowest.items() if task.priority < victim.priority}
        if not milder:
            return ""
        who = listed((f"{task.name} of priority {task.priority}" for task in milder.values()), MOST_NODES)
        return (
            f"{listed(milder, MOST_NODES)} would have done as well ({who}): nodes are tried in order of score, not of "
            "their victims' priority"
        )
    return ""
