"""Problems with the input of a recording: of nodes, devices, HyperNodes, queues and the configuration.

Upstream: k8s dynamic-resource-allocation (taints of ResourceSlices, DeviceTaintRules by the tracker of slices).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from vcdebug.actions import ACTIONS
from vcdebug.amount_text import format_number, join_names
from vcdebug.errors import closest_name
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.conf import CONF_FILE, SchedulerConf
from vcdebug.kube.taints import UNREADY_TAINTS, parse_taints
from vcdebug.linear_pattern import PatternError, compile_pattern
from vcdebug.model.names import NodeName, QueueName
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod import Pod
from vcdebug.model.queue import circle_text
from vcdebug.model.resource import Resource
from vcdebug.plugins import CAPACITY, PLUGINS, PROPORTION
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.manifest import bare_name, find_condition, name_of, object_in, spec_of, status_of
from vcdebug.snapshot.problems import PLUGIN_NOT_REPLAYED, Problem
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags


@per_recording()
def input_problems(recording: Recording) -> tuple[Problem, ...]:
    """All problems of manifests, nodes, the configuration and its plugins."""
    conf_problems = (
        *recording.own_problems,
        *_unreplayed_actions(recording.conf),
        *_unreplayed_plugins(recording.conf),
        *_both_quota_plugins(recording.conf),
        *_unread_arguments(recording),
        *_replaced_arguments(recording),
        *_unseen_pods(recording),
    )
    return (
        *conf_problems,
        *device_problems(recording),
        *hypernode_problems(recording),
        *_queue_parent_cycles(recording),
        *_ignored_amounts(recording),
        *unhealthy_nodes(recording),
    )


def _unread_arguments(recording: Recording) -> Iterator[Problem]:
    """A Problem for each map with arguments that no plugin read: misspelt, or of another release."""
    effect = "misspelt, or an argument of another release: nothing follows from it here"
    for name, plugin in recording.session.plugins.items():
        for path, arguments in _with_sections(plugin.arguments):
            # Of a section with few keys all are named, with the values in force.
            few = (
                arguments.defaults if arguments is not plugin.arguments and len(arguments.defaults) <= MAX_KEYS else {}
            )
            read = join_names(f"{key} ({format_setting(value)} by default)" for key, value in few.items())
            if keys := arguments.raw.unread_keys:
                what = "it" if len(keys) == 1 else "them"
                fault = f"the plugin does not read {what}{f', but {read}' if read else ''}"
                yield Problem(CONF_FILE, f"plugin {name}", f"{path}.{join_names(map(str, keys))}", fault, effect)


MAX_KEYS = 4
"""Keys of a section that a problem names."""


def _with_sections(arguments: Arguments) -> Iterator[tuple[str, Arguments]]:
    """Yields (path, arguments): the arguments of a plugin or action, and the maps among their values."""
    yield "arguments", arguments
    for key, section in arguments.sections.items():
        yield f"arguments.{key}", section


def _replaced_arguments(recording: Recording) -> Iterator[Problem]:
    """A Problem for each argument whose value the scheduler cannot use."""
    plugins = {f"plugin {name}": plugin.arguments for name, plugin in recording.session.plugins.items()}
    actions = {f"action {name}": arguments for name, arguments in recording.session.action_arguments.items()}
    for owner, given in {**actions, **plugins}.items():
        for path, arguments in _with_sections(given):
            for key, value in arguments.replaced_defaults.items():
                fault = f"the scheduler does not use the value {arguments.raw[key]!r}"
                yield Problem(CONF_FILE, owner, f"{path}.{key}", fault, f"{format_setting(value)} is in force")


def format_setting(value: object) -> str:
    """A value in force, as a configuration states it; `none` for no text."""
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, float) else str(value) or "none"


def _queue_parent_cycles(recording: Recording) -> Iterator[Problem]:
    """A Problem where capacity finds queues that are each other's parents."""
    circle = circle_of_queues(recording)
    if circle:
        yield Problem("", f"Queue {circle[0]}", "spec.parent", circle_text(circle), CIRCLE)


def _ignored_amounts(recording: Recording) -> Iterator[Problem]:
    """A Problem for each amount of a queue under a name that no resource of the scheduler has, such as `mem`."""
    for manifest in recording.snapshot.objects_of("Queue"):
        spec = spec_of(manifest)
        lists = {"capability": spec.get("capability"), "deserved": spec.get("deserved")}
        lists["guarantee.resource"] = object_in(spec.get("guarantee")).get("resource")
        for field, amounts in lists.items():
            for name in amounts or ():
                if not Resource.from_list({name: "1"}).resource_names():
                    hint = _similar_resource_hint(recording, name)
                    fault = f"{name} is not the name of a resource{hint}"
                    yield Problem("", f"Queue {name_of(manifest)}", f"spec.{field}", fault, AMOUNT_IGNORED)


AMOUNT_IGNORED = "the scheduler ignores this amount"


def _similar_resource_hint(recording: Recording, name: str) -> str:
    """A question for the resource of a node that is meant: `memory` for `mem`, `nvidia.com/gpu` for `gpu`."""
    provided = dict.fromkeys(
        one for node in recording.session.nodes.values() for one in node.allocatable.resource_names()
    )
    similar = next((one for one in provided if bare_name(one).startswith(name.lower())), "") or closest_name(
        name, provided
    )
    return f" (did you mean {similar}?)" if similar else ""


def _unseen_pods(recording: Recording) -> Iterator[Problem]:
    """A Problem for each pod that the scheduler leaves out because it cannot read the pod's volumes or claims."""
    for pod, reason in recording.session.cluster.unseen.items():
        yield Problem("", f"Pod {pod}", "spec", reason, POD_UNSEEN)


def _unreplayed_actions(conf: SchedulerConf) -> Iterator[Problem]:
    for name in dict.fromkeys(conf.actions):
        if name not in ACTIONS:
            effect = "what the action does, and everything after it, may differ from the real scheduler"
            yield Problem(CONF_FILE, "actions", name, "this action is not replayed", effect)


def _unreplayed_plugins(conf: SchedulerConf) -> Iterator[Problem]:
    for name in conf.plugin_names():
        if name not in PLUGINS:
            effect = "its votes, orders and scores are missing from the replay"
            yield Problem(CONF_FILE, "tiers", name, PLUGIN_NOT_REPLAYED, effect)


def _both_quota_plugins(conf: SchedulerConf) -> Iterator[Problem]:
    """A Problem where proportion and capacity are both enabled: upstream means them as alternatives."""
    if all(name in conf.plugin_names() for name in (CAPACITY, PROPORTION)):
        fault = f"{CAPACITY} is enabled too, and both limit queues"
        effect = "a queue must meet both; only capacity reads spec.deserved and spec.parent, so use one of them"
        yield Problem(CONF_FILE, "tiers", PROPORTION, fault, effect)


CIRCLE = (
    "capacity places no job of these queues, and the scheduler's process ends (stack overflow) at the first pod of any "
    "queue for which predicates are asked"
)
POD_UNSEEN = "the scheduler does not see the pod at all: its job is short of it, and its node looks emptier"
NODE_NOT_READY = "the node has no not-ready or unreachable taint, so Volcano still places pods there"
NODE_OVERFULL = "no pod that requests it fits there until pods terminate"


def overfull_dimensions(idle: Resource) -> list[str]:
    """Dimensions in which a node's idle amount is negative: its tasks hold more than the node has."""
    if min(idle.milli_cpu, idle.memory, *(idle.scalars or {}).values()) >= 0:
        return []
    return [name for name, amount in idle.items() if amount < 0]


def unhealthy_nodes(recording: Recording) -> Iterator[Problem]:
    """A Problem for each node that is overfull when the session opens, or not ready without a taint that says so."""
    opening, odd = recording.timeline.opening_nodes, noteworthy_nodes(recording)
    for name, node in recording.session.nodes.items():
        ready = odd.get(name, "")
        # The scheduler reads no conditions; with the taint that goes with this one, all is as it should be.
        if ready and not any(taint.key in UNREADY_TAINTS for taint in parse_taints(node.taints)):
            yield Problem("", f"Node {name}", "status.conditions", f"the condition Ready is {ready}", NODE_NOT_READY)
        below = overfull_dimensions(opening[name].idle)
        if below:
            fault = f"pods hold more {', '.join(below)} than the node has"
            yield Problem("", f"Node {name}", "status.allocatable", fault, NODE_OVERFULL)


# Taints of devices that the scheduler, or the replay, ignores when it allocates claims.

TAINTS, RULES = "DRADeviceTaints", "DRADeviceTaintRules"
RULES_GATE_SINCE: Final = (1, 36)
"""First Kubernetes version with a separate feature gate for DeviceTaintRules."""
REPELLING_EFFECTS: Final = ("NoSchedule", "NoExecute")
REPLAY_IGNORES_TAINTS: Final = (
    "the scheduler uses it; the replay does not, so every node passes for pods with unallocated claims"
)


def device_problems(recording: Recording) -> Iterator[Problem]:
    """If a pod without a node has claims: a Problem per ResourceSlice with ignored taints and per DeviceTaintRule."""
    flags, snapshot = recording.snapshot.flags, recording.snapshot
    pods = map(Pod, snapshot.objects_of("Pod"))
    if not any(pod.spec.get("resourceClaims") and not pod.node_name for pod in pods):
        return
    for device_slice in () if flags.is_gate_on(TAINTS) else snapshot.objects_of("ResourceSlice"):
        devices = spec_of(device_slice).get("devices") or ()
        tainted = [
            device
            for device in devices
            if any(taint.get("effect") in REPELLING_EFFECTS for taint in device.get("taints") or ())
        ]
        if tainted:
            fault = f"{len(tainted)} of {len(devices)} devices have taints"
            owner = f"ResourceSlice {name_of(device_slice)}"
            yield Problem("", owner, "spec.devices", fault, _gate_effect(flags, TAINTS))
    gates = (TAINTS, RULES) if flags.release.kubernetes_version >= RULES_GATE_SINCE else (TAINTS,)
    for rule in snapshot.objects_of("DeviceTaintRule"):
        owner, effect = f"DeviceTaintRule {name_of(rule)}", _gate_effect(flags, *gates)
        yield Problem("", owner, "spec.taint", "it taints devices", effect)


def _gate_effect(flags: SchedulerFlags, *gates: str) -> str:
    off = next((gate for gate in gates if not flags.is_gate_on(gate)), "")
    return f"the scheduler ignores this: its feature gate {off} is off" if off else REPLAY_IGNORES_TAINTS


@per_recording()
def noteworthy_nodes(recording: Recording) -> Mapping[NodeName, str]:
    """Each cordoned, tainted or not ready node → its Ready status; empty where that is True."""
    ready_states = ((node, ready_status(node)) for node in recording.session.nodes.values())
    return {node.name: ready for node, ready in ready_states if ready or node.is_unschedulable or node.taints}


def ready_status(node: NodeInfo) -> str:
    """The status of the condition Ready; empty where it is True or not stated."""
    ready = find_condition(status_of(node.manifest), "Ready")
    status = str(ready.get("status")) if ready else "True"
    return "" if status == "True" else status


# HyperNodes: patterns that Go's regexp rejects, and tier numbers far above the others.

MANY_TIERS = 1_000_000
"""Distance of tiers from which upstream's map of weights (one per tier) needs too much memory."""
NO_NODES = "the member has no nodes, not even one that it names exactly"
WEIGHED = (
    "with the plugin network-topology-aware the scheduler keeps a weight for each of them and may run out of memory"
)


def hypernode_problems(recording: Recording) -> Iterator[Problem]:
    """A Problem for each rejected pattern, and one for the highest tier where it is far above the lowest."""
    manifests = recording.snapshot.objects_of("HyperNode")
    for manifest in manifests:
        yield from _refused_patterns(manifest)
    tiers = [(int(spec_of(manifest).get("tier") or 0), name_of(manifest)) for manifest in manifests]
    lowest, highest = min(tiers, default=(0, "")), max(tiers, default=(0, ""))
    if highest[0] - lowest[0] >= MANY_TIERS:
        fault = f"is {highest[0]}, {highest[0] - lowest[0]} above the lowest (HyperNode {lowest[1]})"
        yield Problem("", f"HyperNode {highest[1]}", "spec.tier", fault, WEIGHED)


def _refused_patterns(manifest: Manifest) -> Iterator[Problem]:
    for place, member in enumerate(spec_of(manifest).get("members") or ()):
        pattern = ((member.get("selector") or {}).get("regexMatch") or {}).get("pattern")
        try:
            if pattern:
                compile_pattern(pattern)
        except PatternError as error:
            field = f"spec.members[{place}].selector.regexMatch.pattern"
            yield Problem("", f"HyperNode {name_of(manifest)}", field, f"Go's regexp refuses it: {error}", NO_NODES)


def circle_of_queues(recording: Recording) -> tuple[QueueName, ...]:
    """Queues that are each other's parents, from child to parent; empty where capacity finds no circle."""
    plugin = recording.session.plugins.get(CAPACITY)
    if plugin is None:
        return ()
    from vcdebug.plugins.capacity import Capacity  # a session without the plugin does not load it

    return plugin.circular_queues if isinstance(plugin, Capacity) else ()
