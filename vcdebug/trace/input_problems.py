"""What is wrong with the input of a recording: nodes that are unwell, and what of its configuration is not executed."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.actions import ACTIONS
from vcdebug.framework.conf import CONF_FILE, SchedulerConf
from vcdebug.model.queue import circle_text
from vcdebug.model.resource import Resource
from vcdebug.plugins import PLUGINS
from vcdebug.snapshot.problem import Problem
from vcdebug.trace.circle import circle_of_queues
from vcdebug.trace.device_taints import device_problems
from vcdebug.trace.memo import per_recording
from vcdebug.trace.odd_hypernodes import hypernode_problems
from vcdebug.trace.odd_nodes import noteworthy_nodes
from vcdebug.trace.recording import Recording


@per_recording()
def input_problems(recording: Recording) -> tuple[Problem, ...]:
    """Of the manifests and nodes, of the configuration and its plugins."""
    own = (
        *recording.own_problems,
        *unreplayed_parts(recording.conf),
        *_unread_arguments(recording),
        *_unseen_pods(recording),
    )
    return (
        *own,
        *device_problems(recording),
        *hypernode_problems(recording),
        *_circles(recording),
        *unwell_nodes(recording),
    )


def _unread_arguments(recording: Recording) -> Iterator[Problem]:
    """Arguments that no plugin looked at: misspelt ones, and those that belong to other releases."""
    effect = "misspelt, or an argument of another release: nothing follows from it here"
    for name, plugin in recording.session.plugins.items():
        for key in plugin.arguments.raw.unread_keys:
            yield Problem(CONF_FILE, f"plugin {name}", f"arguments.{key}", "the plugin does not read it", effect)


def _circles(recording: Recording) -> Iterator[Problem]:
    """Queues that are each other's parents, where the plugin capacity reads the tree of queues."""
    circle = circle_of_queues(recording)
    if circle:
        yield Problem("", f"Queue {circle[0]}", "spec.parent", circle_text(circle), CIRCLE)


def _unseen_pods(recording: Recording) -> Iterator[Problem]:
    """Pods that the scheduler leaves out, since it cannot read their volumes or claims."""
    for pod, why in recording.session.cluster.unseen.items():
        yield Problem("", f"Pod {pod}", "spec", why, POD_UNSEEN)


def unreplayed_parts(conf: SchedulerConf) -> list[Problem]:
    """Actions and plugins that the configuration names and the replay leaves out."""
    return [*_unreplayed_actions(conf), *_unreplayed_plugins(conf)]


def _unreplayed_actions(conf: SchedulerConf) -> Iterator[Problem]:
    for name in dict.fromkeys(conf.actions):
        if name not in ACTIONS:
            effect = "what the action does, and everything after it, may differ from the real scheduler"
            yield Problem(CONF_FILE, "actions", name, "this action is not replayed", effect)


def _unreplayed_plugins(conf: SchedulerConf) -> Iterator[Problem]:
    for name in conf.plugin_names():
        if name not in PLUGINS:
            effect = "its votes, orders and scores are missing from the replay"
            yield Problem(CONF_FILE, "tiers", name, "this plugin is not replayed", effect)


CIRCLE = (
    "capacity places no job of these queues, and the scheduler's process ends (stack overflow) at the first pod of any "
    "queue for which predicates are asked"
)
POD_UNSEEN = "the scheduler does not see the pod at all: its job is short of it, and its node looks emptier"
NODE_NOT_READY = "the scheduler does not look at conditions: it places pods there unless a taint keeps them away"
NODE_OVERFULL = "nothing that asks for it fits there until pods have gone"


def overfull_dimensions(idle: Resource) -> list[str]:
    """Dimensions of which a node's tasks hold more than it has."""
    if min(idle.milli_cpu, idle.memory, *(idle.scalars or {}).values()) >= 0:
        return []
    return [name for name, amount in idle.items() if amount < 0]


def unwell_nodes(recording: Recording) -> Iterator[Problem]:
    """A Problem for each, as the session opened."""
    opening, odd = recording.timeline.opening_nodes, noteworthy_nodes(recording)
    for name in recording.session.nodes:
        ready = odd.get(name, "")
        if ready:
            yield Problem("", f"Node {name}", "status.conditions", f"the condition Ready is {ready}", NODE_NOT_READY)
        below = overfull_dimensions(opening[name].idle)
        if below:
            what = f"pods hold more {', '.join(below)} than the node has"
            yield Problem("", f"Node {name}", "status.allocatable", what, NODE_OVERFULL)
