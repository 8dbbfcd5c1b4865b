"""What an administrator can change for everybody in the configuration: actions, plugins and their arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from vcdebug.actions import ALLOCATE, BACKFILL, ENQUEUE, GANG_PREEMPT, GANG_RECLAIM, PREEMPT, RECLAIM
from vcdebug.amount_text import format_number
from vcdebug.explain.answer import AdviceHarm
from vcdebug.plugins import CONFORMANCE, NODEGROUP, OVERCOMMIT, PDB, SLA
from vcdebug.snapshot.go_yaml import load_yaml
from vcdebug.snapshot.manifest import labels_of
from vcdebug.whatif.fixes.fix import AMOUNT_BLANK, AmountRange, Fix, FixSituation

_ACTION_ORDER: Final = (ENQUEUE, ALLOCATE, BACKFILL, GANG_PREEMPT, PREEMPT, GANG_RECLAIM, RECLAIM)
"""Where a missing action is put in."""
_OPTIONAL_ACTIONS: Final = (PREEMPT, RECLAIM, ENQUEUE, ALLOCATE, BACKFILL)
_UNSAFE_PLUGINS: Final = (CONFORMANCE, PDB)
"""Plugins that protect what the cluster needs; nobody should be told to switch them off."""
_FACTOR_LIMIT: Final = 1000


def propose_configuration_fixes(situation: FixSituation) -> Iterator[Fix]:
    """Levers on the scheduler's configuration."""
    yield from _propose_missing_action_fixes(situation)
    yield from _propose_action_order_fixes(situation)
    yield from _propose_overcommit_fixes(situation)
    yield from _propose_switch_fixes(situation)
    yield from _propose_sla_tier_fixes(situation)
    yield from _propose_node_group_fixes(situation)


def _propose_missing_action_fixes(situation: FixSituation) -> Iterator[Fix]:
    present = [name for name in situation.recording.conf.actions if name]
    causes = {
        PREEMPT: ("action-not-configured", "predicates-mixed", "gang-discard", "pod-count"),
        RECLAIM: ("action-not-configured", "predicates-mixed", "gang-discard", "victims-*", "pod-count"),
    }
    waiting = situation.job.tasks.values() if situation.job is not None else ()
    if any(task.best_effort for task in waiting):
        causes[BACKFILL] = ("not-tried", "not-admitted", "phantom-*", "podgroup-missing")
    for action in _OPTIONAL_ACTIONS:
        if action in present:
            continue
        before = [name for name in _ACTION_ORDER[: _ACTION_ORDER.index(action)] if name in present]
        place = present.index(before[-1]) + 1 if before else 0
        actions = ", ".join([*present[:place], action, *present[place:]])
        edits = (f'conf:actions="{actions}"',)
        made_for = causes.get(action, ("not-tried", "action-not-configured", "not-admitted", "enqueue-*"))
        yield Fix(f"add {action} to the actions ({actions})", edits, AdviceHarm.CLUSTER, made_for)


def _propose_action_order_fixes(situation: FixSituation) -> Iterator[Fix]:
    """The same actions as their makers meant them to follow each other."""
    present = [name for name in situation.recording.conf.actions if name]
    usual = [name for name in _ACTION_ORDER if name in present] + [
        name for name in present if name not in _ACTION_ORDER
    ]
    if usual != present:
        actions = ", ".join(usual)
        causes = ("enqueued-too-late", "not-tried", "plan-lost", "phantom-*", "node-order", "not-admitted")
        edits = (f'conf:actions="{actions}"',)
        words = f"put the actions into the usual order ({actions})"
        yield Fix(words, edits, AdviceHarm.CLUSTER, causes, aspect="actions")


def _propose_overcommit_fixes(situation: FixSituation) -> Iterator[Fix]:
    for tier in situation.recording.conf.tiers:
        for option in tier:
            if option.name == OVERCOMMIT:
                raw = option.arguments.get("overcommit-factor", 1.2)
                present = round(float(raw) * 100) if isinstance(raw, int | float) else 120
                words = f"raise overcommit-factor to {AMOUNT_BLANK} (now {format_number(present / 100)})"
                edits = (f"conf:plugins.overcommit.arguments.overcommit-factor={AMOUNT_BLANK}",)
                amount = AmountRange(present, _FACTOR_LIMIT, "hundredths")
                yield Fix(words, edits, AdviceHarm.CLUSTER, ("enqueue-overcommit", "enqueue-held-*"), amount)
                return


def _propose_switch_fixes(situation: FixSituation) -> Iterator[Fix]:
    """A plugin that vetoes, without its say in evictions."""
    conf = situation.recording.conf
    for name in conf.plugin_names():
        if name in situation.cause_codes and name not in _UNSAFE_PLUGINS:
            for switch, action in (("enablePreemptable", PREEMPT), ("enableReclaimable", RECLAIM)):
                on = any(one.name == name and one.is_enabled([switch]) for tier in conf.tiers for one in tier)
                if not on or not any(action in each for each in conf.actions):
                    continue
                edits = (f"conf:plugins.{name}.{switch}=false",)
                yield Fix(f"take {name} its say in {action}: {switch} false", edits, AdviceHarm.CLUSTER, (name,))


def _propose_sla_tier_fixes(situation: FixSituation) -> Iterator[Fix]:
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
    yield Fix(words, (f"conf:tiers={text}",), AdviceHarm.CLUSTER, ("enqueue-*", "queue-capability"))


def _propose_node_group_fixes(situation: FixSituation) -> Iterator[Fix]:
    if NODEGROUP in situation.recording.conf.plugin_names():
        edits = ("conf:plugins.nodegroup.arguments.strict=false",)
        words = "let queues without node groups use all nodes: strict false"
        yield Fix(words, edits, AdviceHarm.CLUSTER, ("predicates-*",))
    groups = dict.fromkeys(
        labels_of(node).get("volcano.sh/nodegroup-name") for node in situation.snapshot.objects_of("Node")
    )
    if NODEGROUP not in situation.recording.conf.plugin_names():
        return
    for group in groups:
        if group:
            required = "requiredDuringSchedulingIgnoredDuringExecution"
            affinity = f"{{nodeGroupAffinity: {{{required}: [{group}]}}}}"
            edits = (f"Queue/{situation.queue_name}:spec.affinity={affinity}",)
            yield Fix(
                f"give queue {situation.queue_name} the node group {group}", edits, AdviceHarm.QUEUE, ("predicates-*",)
            )
