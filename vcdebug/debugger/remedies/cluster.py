"""What an administrator can change for everybody: nodes, actions, plugins and their arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from vcdebug.debugger.remedies.amounts import resources_of
from vcdebug.debugger.remedies.lever import BLANK, Amount, Harm, Lever, Situation
from vcdebug.debugger.remedies.pods import UNSAFE_TAINTS
from vcdebug.explain.amounts import plural
from vcdebug.framework.yaml_v2 import load_yaml
from vcdebug.model.node import NodeInfo

_NODES = ("predicates-*", "gang-discard", "larger-than-any-node", "pod-count", "node-not-ready", "no-hypernode")
_ROOM = (*_NODES, "enqueue-overcommit", "enqueue-held-*", "action-not-configured", "gang", "drf", "victims-*")
_ORDER: Final = ("enqueue", "allocate", "backfill", "gangpreempt", "preempt", "gangreclaim", "reclaim")
"""Where a missing action is put in."""
_OPTIONAL: Final = ("preempt", "reclaim", "enqueue", "allocate", "backfill")
_UNSAFE: Final = ("conformance", "pdb")
"""Plugins that protect what the cluster needs; nobody should be told to switch them off."""
_NEW_NODES: Final = (1, 2, 4)
_FACTOR_LIMIT: Final = 1000
_NOT_READY: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_CORDON: Final = "node.kubernetes.io/unschedulable"


def of_cluster(situation: Situation) -> Iterator[Lever]:
    """Levers on nodes and on the scheduler's configuration."""
    yield from _repaired(situation)
    yield from _uncordoned(situation)
    yield from _untainted(situation)
    yield from _labelled(situation)
    yield from _actions(situation)
    yield from _actions_in_order(situation)
    yield from _factor(situation)
    yield from _switches(situation)
    yield from _sla_first(situation)
    yield from _node_groups(situation)
    yield from _more_nodes(situation)


# Nodes


def _repaired(situation: Situation) -> Iterator[Lever]:
    """Nodes whose kubelet does not report Ready, as they would be if it did."""
    for node in situation.snapshot.of("Node"):
        name, conditions = node["metadata"]["name"], (node.get("status") or {}).get("conditions") or ()
        if any(one.get("type") == "Ready" and one.get("status") != "True" for one in conditions):
            taints = [taint.get("key") or "" for taint in (node.get("spec") or {}).get("taints") or ()]
            lifted = [key for key in dict.fromkeys(taints) if key in _NOT_READY and taints.count(key) == 1]
            edits = (
                f'Node/{name}:status.conditions[Ready].status="True"',
                *(f"Node/{name}:spec.taints[{key}]-" for key in lifted),
            )
            yield Lever(f"repair node {name}, which is NotReady", edits, Harm.CLUSTER, _NODES)


def _uncordoned(situation: Situation) -> Iterator[Lever]:
    for node in situation.snapshot.of("Node"):
        spec, name = node.get("spec") or {}, node["metadata"]["name"]
        if spec.get("unschedulable"):
            taints = spec.get("taints") or ()
            edits = [f"Node/{name}:spec.unschedulable-"]
            edits += [f"Node/{name}:spec.taints[{at}]-" for at, one in enumerate(taints) if one.get("key") == _CORDON][
                :1
            ]
            yield Lever(f"uncordon node {name}", tuple(edits), Harm.CLUSTER, _NODES)


def _untainted(situation: Situation) -> Iterator[Lever]:
    places: dict[str, list[str]] = {}
    for node in situation.snapshot.of("Node"):
        taints = [taint.get("key") or "" for taint in (node.get("spec") or {}).get("taints") or ()]
        for key in dict.fromkeys(taints):
            if key and not key.startswith(UNSAFE_TAINTS) and taints.count(key) == 1:
                places.setdefault(key, []).append(node["metadata"]["name"])
    for key, nodes in places.items():
        edits = tuple(f"Node/{node}:spec.taints[{key}]-" for node in nodes)
        yield Lever(f"remove taint {key} from {plural(len(nodes), 'node')}", edits, Harm.CLUSTER, _NODES)


def _labelled(situation: Situation) -> Iterator[Lever]:
    """The labels that the node selector asks for, on a node that lacks them."""
    for pod in situation.waiting[:1]:
        wanted: Mapping[str, str] = pod.spec.get("nodeSelector") or {}
        for node in situation.snapshot.of("Node")[:3] if wanted else ():
            labels, name = node["metadata"].get("labels") or {}, node["metadata"]["name"]
            lacking = {key: value for key, value in wanted.items() if labels.get(key) != value}
            if lacking and "kubernetes.io/hostname" not in lacking:
                edits = tuple(f'Node/{name}:metadata.labels[{key}]="{value}"' for key, value in lacking.items())
                shown = ", ".join(f"{key}={value}" for key, value in lacking.items())
                yield Lever(f"label node {name} with {shown}", edits, Harm.CLUSTER, _NODES)


def _more_nodes(situation: Situation) -> Iterator[Lever]:
    """Nodes like the largest one that has what the job asks for."""
    model = _largest(situation)
    names = {node["metadata"]["name"] for node in situation.snapshot.of("Node")}
    for count in _NEW_NODES if model is not None else ():
        added = [f"{model}-added-{number}" for number in range(1, count + 1)]
        if names.isdisjoint(added):
            edits = tuple(f"Node/{name}:+={model}" for name in added)
            yield Lever(f"add {plural(count, 'node')} like {model}", edits, Harm.CLUSTER, _ROOM, family=f"add {model}")


def _largest(situation: Situation) -> str | None:
    needed = resources_of(situation.waiting)

    def rank(node: NodeInfo) -> tuple[int, float]:
        has = [name for name in needed if node.allocatable.get(name) > 0]
        return len(has), node.allocatable.get("cpu")

    usable = [node for node in situation.recording.session.nodes.values() if not _marked(situation, node.name)]
    return max(usable, key=rank).name if usable else None


def _marked(situation: Situation, name: str) -> bool:
    """Whether the node is cordoned or tainted."""
    spec = next((n.get("spec") or {} for n in situation.snapshot.of("Node") if n["metadata"]["name"] == name), {})
    return bool(spec.get("unschedulable") or spec.get("taints"))


# Configuration


def _actions(situation: Situation) -> Iterator[Lever]:
    present = [name for name in situation.recording.conf.actions if name]
    causes = {
        "preempt": ("action-not-configured", "predicates-mixed", "gang-discard", "pod-count"),
        "reclaim": ("action-not-configured", "predicates-mixed", "gang-discard", "victims-*", "pod-count"),
    }
    for action in _OPTIONAL:
        if action in present:
            continue
        before = [name for name in _ORDER[: _ORDER.index(action)] if name in present]
        place = present.index(before[-1]) + 1 if before else 0
        actions = ", ".join([*present[:place], action, *present[place:]])
        edits = (f'conf:actions="{actions}"',)
        made_for = causes.get(action, ("not-tried", "action-not-configured", "not-admitted", "enqueue-*"))
        yield Lever(f"add {action} to the actions ({actions})", edits, Harm.CLUSTER, made_for)


def _actions_in_order(situation: Situation) -> Iterator[Lever]:
    """The same actions as their makers meant them to follow each other."""
    present = [name for name in situation.recording.conf.actions if name]
    usual = [name for name in _ORDER if name in present] + [name for name in present if name not in _ORDER]
    if usual != present:
        actions = ", ".join(usual)
        causes = ("enqueued-too-late", "not-tried", "plan-lost", "phantom-*", "node-order", "not-admitted")
        edits = (f'conf:actions="{actions}"',)
        yield Lever(f"put the actions into the usual order ({actions})", edits, Harm.CLUSTER, causes)


def _factor(situation: Situation) -> Iterator[Lever]:
    for tier in situation.recording.conf.tiers:
        for option in tier:
            if option.name == "overcommit":
                raw = option.arguments.get("overcommit-factor", 1.2)
                present = round(float(raw) * 100) if isinstance(raw, int | float) else 120
                words = f"raise overcommit-factor to {BLANK} (now {present / 100:g})"
                edits = (f"conf:plugins.overcommit.arguments.overcommit-factor={BLANK}",)
                amount = Amount(present, _FACTOR_LIMIT, "hundredths")
                yield Lever(words, edits, Harm.CLUSTER, ("enqueue-overcommit", "enqueue-held-*"), amount)
                return


def _switches(situation: Situation) -> Iterator[Lever]:
    """A plugin that vetoes, without its say in evictions."""
    configured = situation.recording.conf.plugin_names()
    for name in configured:
        if name in situation.causes and name not in _UNSAFE:
            for switch, action in (("enablePreemptable", "preempt"), ("enableReclaimable", "reclaim")):
                edits = (f"conf:plugins.{name}.{switch}=false",)
                yield Lever(f"take {name} its say in {action}: {switch} false", edits, Harm.CLUSTER, (name,))


def _sla_first(situation: Situation) -> Iterator[Lever]:
    """A tier of its own for sla, so that a refusal of its tier does not outvote its permit."""
    document = load_yaml(situation.recording.conf.text)
    tiers = document.get("tiers") if isinstance(document, dict) else None
    if not isinstance(tiers, list) or "sla" not in situation.recording.conf.plugin_names():
        return
    plugins = [list(tier.get("plugins") or ()) for tier in tiers]
    if [one.get("name") for one in plugins[0]] == ["sla"]:
        return
    moved = [one for tier in plugins for one in tier if one.get("name") == "sla"]
    rest = [[one for one in tier if one.get("name") != "sla"] for tier in plugins]
    text = json.dumps([{"plugins": moved}, *({"plugins": tier} for tier in rest if tier)])
    words = "let sla stand in a tier of its own before all others"
    yield Lever(words, (f"conf:tiers={text}",), Harm.CLUSTER, ("enqueue-*", "queue-capability"))


def _node_groups(situation: Situation) -> Iterator[Lever]:
    if "nodegroup" in situation.recording.conf.plugin_names():
        edits = ("conf:plugins.nodegroup.arguments.strict=false",)
        words = "let queues without node groups use all nodes: strict false"
        yield Lever(words, edits, Harm.CLUSTER, ("predicates-*",))
    groups = dict.fromkeys(
        (node["metadata"].get("labels") or {}).get("volcano.sh/nodegroup-name")
        for node in situation.snapshot.of("Node")
    )
    if "nodegroup" not in situation.recording.conf.plugin_names():
        return
    for group in groups:
        if group:
            required = "requiredDuringSchedulingIgnoredDuringExecution"
            affinity = f"{{nodeGroupAffinity: {{{required}: [{group}]}}}}"
            edits = (f"Queue/{situation.queue}:spec.affinity={affinity}",)
            yield Lever(f"give queue {situation.queue} the node group {group}", edits, Harm.QUEUE, ("predicates-*",))
