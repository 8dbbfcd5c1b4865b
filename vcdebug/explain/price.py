"""What a place cost: who decided about the victims, and where else they could have been taken."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain.amounts import listed
from vcdebug.explain.evictions import Eviction, carried_out, first_of_plan
from vcdebug.explain.job_view import EVICTING_ACTIONS, JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.model.names import NodeName
from vcdebug.model.task import TaskInfo
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import task_of

MOST_NODES = 3
WHY = "nodes are tried in order of score, not of their victims' priority"


def price(view: JobView) -> str:
    """`; conformance alone decided ..., n2 would have done as well`; empty where there is nothing to say."""
    evicted = carried_out(view.recording)
    mine = [one for one in evicted if one.preemptor in view.tasks and one.action in EVICTING_ACTIONS]
    return "".join(f"; {part}" for part in (_decided(view, mine), _elsewhere(view, mine)) if part)


def _decided(view: JobView, mine: Sequence[Eviction]) -> str:
    """The plugins of the tier that named the first victim, and those that were not asked."""
    for one in mine[:1]:
        from vcdebug.explain.victims import next_choice

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
    found = milder(view.recording, mine[0]) if mine else {}
    who = listed((f"{task.name} of priority {task.priority}" for task in found.values()), MOST_NODES)
    return f"{listed(found, MOST_NODES)} would have done as well ({who}): {WHY}" if found else ""


def milder(recording: Recording, one: Eviction) -> dict[NodeName, TaskInfo]:
    """Other nodes that would have done, each with a victim of lower priority: as it stood before the plan."""
    asker, victim = task_of(recording, one.preemptor), task_of(recording, one.victim)
    before = first_of_plan(recording, one) - 1
    room = NodeFits(JobView(recording, asker.job, one.preemptor), asker, before)
    others = [node.name for node in room.could_free(one.action) if node.name != one.node]
    lowest = {name: min(room.candidates(one.action, name), key=lambda t: (t.priority, t.key)) for name in others}
    return {name: task for name, task in lowest.items() if task.priority < victim.priority}
