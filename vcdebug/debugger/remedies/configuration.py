"""What an administrator can change for everybody in the configuration: actions, plugins and their arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from vcdebug.actions import ALLOCATE, BACKFILL, ENQUEUE, GANG_PREEMPT, GANG_RECLAIM, PREEMPT, RECLAIM
from vcdebug.amount_text import number
from vcdebug.debugger.remedies.lever import BLANK, Amount, Lever, Situation
from vcdebug.explain.answer import Harm
from vcdebug.framework.yaml_v2 import load_yaml
from vcdebug.plugins import CONFORMANCE, NODEGROUP, OVERCOMMIT, PDB, SLA
from vcdebug.snapshot.manifest import labels_of

_ORDER: Final = (ENQUEUE, ALLOCATE, BACKFILL, GANG_PREEMPT, PREEMPT, GANG_RECLAIM, RECLAIM)
"""Where a missing action is put in."""
_OPTIONAL: Final = (PREEMPT, RECLAIM, ENQUEUE, ALLOCATE, BACKFILL)
_UNSAFE: Final = (CONFORMANCE, PDB)
"""Plugins that protect what the cluster needs; nobody should be told to switch them off."""
_FACTOR_LIMIT: Final = 1000


def of_configuration(situation: Situation) -> Iterator[Lever]:
    """Levers on the scheduler's configuration."""
    yield from _actions(situation)
    yield from _actions_in_order(situation)
    yield from _factor(situation)
    yield from _switches(situation)
    yield from _sla_first(situation)
    yield from _node_groups(situation)


def _actions(situation: Situation) -> Iterator[Lever]:
    present = [name for name in situation.recording.conf.actions if name]
    causes = {
        PREEMPT: ("action-not-configured", "predicates-mixed", "gang-discard", "pod-count"),
        RECLAIM: ("action-not-configured", "predicates-mixed", "gang-discard", "victims-*", "pod-count"),
    }
    waiting = situation.job.tasks.values() if situation.job is not None else ()
    if any(task.best_effort for task in waiting):
        causes[BACKFILL] = ("not-tried", "not-admitted", "phantom-*", "podgroup-missing")
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
        words = f"put the actions into the usual order ({actions})"
        yield Lever(words, edits, Harm.CLUSTER, causes, aspect="actions")


def _factor(situation: Situation) -> Iterator[Lever]:
    for tier in situation.recording.conf.tiers:
        for option in tier:
            if option.name == OVERCOMMIT:
                raw = option.arguments.get("overcommit-factor", 1.2)
                present = round(float(raw) * 100) if isinstance(raw, int | float) else 120
                words = f"raise overcommit-factor to {BLANK} (now {number(present / 100)})"
                edits = (f"conf:plugins.overcommit.arguments.overcommit-factor={BLANK}",)
                amount = Amount(present, _FACTOR_LIMIT, "hundredths")
                yield Lever(words, edits, Harm.CLUSTER, ("enqueue-overcommit", "enqueue-held-*"), amount)
                return


def _switches(situation: Situation) -> Iterator[Lever]:
    """A plugin that vetoes, without its say in evictions."""
    conf = situation.recording.conf
    for name in conf.plugin_names():
        if name in situation.causes and name not in _UNSAFE:
            for switch, action in (("enablePreemptable", PREEMPT), ("enableReclaimable", RECLAIM)):
                on = any(one.name == name and one.enabled([switch]) for tier in conf.tiers for one in tier)
                if not on or not any(action in each for each in conf.actions):
                    continue
                edits = (f"conf:plugins.{name}.{switch}=false",)
                yield Lever(f"take {name} its say in {action}: {switch} false", edits, Harm.CLUSTER, (name,))


def _sla_first(situation: Situation) -> Iterator[Lever]:
    """A tier of its own for sla, so that a refusal of its tier does not outvote its permit."""
    document = load_yaml(situation.recording.conf.text)
    tiers = document.get("tiers") if isinstance(document, dict) else None
    if not isinstance(tiers, list) or SLA not in situation.recording.conf.plugin_names():
        return
    plugins = [list(tier.get("plugins") or ()) for tier in tiers]
    if [one.get("name") for one in plugins[0]] == [SLA]:
        return
    moved = [one for tier in plugins for one in tier if one.get("name") == SLA]
    rest = [[one for one in tier if one.get("name") != SLA] for tier in plugins]
    text = json.dumps([{"plugins": moved}, *({"plugins": tier} for tier in rest if tier)])
    words = "let sla stand in a tier of its own before all others"
    yield Lever(words, (f"conf:tiers={text}",), Harm.CLUSTER, ("enqueue-*", "queue-capability"))


def _node_groups(situation: Situation) -> Iterator[Lever]:
    if NODEGROUP in situation.recording.conf.plugin_names():
        edits = ("conf:plugins.nodegroup.arguments.strict=false",)
        words = "let queues without node groups use all nodes: strict false"
        yield Lever(words, edits, Harm.CLUSTER, ("predicates-*",))
    groups = dict.fromkeys(labels_of(node).get("volcano.sh/nodegroup-name") for node in situation.snapshot.of("Node"))
    if NODEGROUP not in situation.recording.conf.plugin_names():
        return
    for group in groups:
        if group:
            required = "requiredDuringSchedulingIgnoredDuringExecution"
            affinity = f"{{nodeGroupAffinity: {{{required}: [{group}]}}}}"
            edits = (f"Queue/{situation.queue}:spec.affinity={affinity}",)
            yield Lever(f"give queue {situation.queue} the node group {group}", edits, Harm.QUEUE, ("predicates-*",))
