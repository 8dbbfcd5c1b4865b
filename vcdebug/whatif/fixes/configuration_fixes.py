"""Fixes of the scheduler's configuration: its actions, plugins, switches and arguments, and another release."""

import json
import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from vcdebug.actions import ALLOCATE, BACKFILL, ENQUEUE, GANG_PREEMPT, GANG_RECLAIM, LATER_ACTIONS, PREEMPT, RECLAIM
from vcdebug.amount_text import join_names, verb_for
from vcdebug.errors import closest_name
from vcdebug.explain.answer import Cause
from vcdebug.explain.pending.gates.admission import REJECTED_BY
from vcdebug.explain.pending.no_node import filters_are_off
from vcdebug.framework.conf import find_meant_switch
from vcdebug.framework.hooks import JOB_STARVING, PREDICATE
from vcdebug.grouping import group_by_key
from vcdebug.model.names import QueueName
from vcdebug.model.task import TaskStatus
from vcdebug.plugins import CONFORMANCE, DRF, GANG, OVERCOMMIT, PDB, PREDICATES, PRIORITY, SLA, USAGE
from vcdebug.releases.release import SUPPORTED_TAGS
from vcdebug.snapshot.go_yaml import load_yaml
from vcdebug.snapshot.manifest import JsonDict, object_in
from vcdebug.whatif.fixes import FixCauses, fix
from vcdebug.whatif.fixes.job_fixes import propose_node_group_fixes
from vcdebug.whatif.fixes.queue_fixes import propose_one_quota_plugin_fixes

_ACTION_ORDER: Final = (ENQUEUE, ALLOCATE, BACKFILL, GANG_PREEMPT, PREEMPT, GANG_RECLAIM, RECLAIM)
"""The order in which a missing action is inserted: placements before evictions."""
_OPTIONAL_ACTIONS: Final = (PREEMPT, RECLAIM, GANG_PREEMPT, ENQUEUE, ALLOCATE, BACKFILL)
_UNSAFE_PLUGINS: Final = (CONFORMANCE, PDB)
"""Plugins that protect critical pods and budgets; switching them off is never proposed."""
_FACTOR_LIMIT: Final = 1000
_MAX_PERCENT: Final = 100


def propose_configuration_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on the scheduler's configuration."""
    yield from _propose_upgrade_fixes(situation)
    yield from _propose_known_actions(situation)
    yield from _propose_known_switches(situation)
    yield from _propose_missing_action_fixes(situation)
    yield from _propose_action_order_fixes(situation)
    yield from _propose_unchecked_admission_fixes(situation)
    yield from _propose_overcommit_fixes(situation)
    yield from _propose_load_fixes(situation)
    yield from propose_one_quota_plugin_fixes(situation)
    yield from _propose_filter_fixes(situation)
    yield from _propose_switch_fixes(situation)
    yield from _propose_starving_fixes(situation)
    yield from _propose_order_fixes(situation)
    yield from _propose_sla_tier_fixes(situation)
    yield from propose_node_group_fixes(situation)


def _propose_upgrade_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes an upgrade to the newest release if an older one with other rules is replayed."""
    release, newest = situation.snapshot.release, SUPPORTED_TAGS[0]
    if release.stated_name and release.older_forms and release.name != str(newest):
        words, edit = f"Upgrade Volcano {release.name} -> {newest}", f"flag:release={newest}"
        yield fix.cluster_fix(words, edit, causes=situation.cause_codes, kind=fix.FixKind.MORE_ROOM, aspect="release")


def _propose_missing_action_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    configured = situation.recording.conf.actions
    causes = {
        PREEMPT: (Cause.NOT_CONFIGURED, *FixCauses.TAKEN_ROOM),
        RECLAIM: (Cause.NOT_CONFIGURED, *FixCauses.TAKEN_ROOM, *FixCauses.VICTIM),
        GANG_PREEMPT: (Cause.NETWORK_TOPOLOGY, Cause.NO_HYPER_NODE),
    }
    tasks = situation.job.tasks.values() if situation.job is not None else ()
    if any(task.best_effort for task in tasks):
        causes[BACKFILL] = (Cause.NOT_TRIED, Cause.NOT_CONFIGURED, Cause.PHANTOM, Cause.NO_POD_GROUP)
    for action in _OPTIONAL_ACTIONS:
        if action in configured or action not in situation.recording.conf.registry:
            continue
        earlier_actions = [name for name in _ACTION_ORDER[: _ACTION_ORDER.index(action)] if name in configured]
        position = configured.index(earlier_actions[-1]) + 1 if earlier_actions else 0
        actions = (*configured[:position], action, *configured[position:])
        action_causes = causes.get(action, (Cause.NOT_TRIED, Cause.NOT_CONFIGURED, REJECTED_BY))
        # If another cause decides, an added evicting action is only one of several ways to evict other jobs' pods.
        repaired_cause = Cause.NETWORK_TOPOLOGY if action == GANG_PREEMPT else Cause.NOT_CONFIGURED
        evicts = action in (PREEMPT, RECLAIM, GANG_PREEMPT)
        is_missing = situation.explanation.cause_code == repaired_cause or not evicts
        kind = fix.FixKind.REPAIR if is_missing else fix.FixKind.OTHER_PODS
        since = fix.since_words(situation.recording.snapshot.release, LATER_ACTIONS.get(action))
        change = fix.actions_change(actions, f"adds {action}{since}")
        yield fix.cluster_fix(*change, causes=action_causes, kind=kind, since=since)


def _propose_action_order_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """A fix that puts the actions into the order of _ACTION_ORDER, and says which now come before which."""
    configured = situation.recording.conf.actions
    others = (name for name in configured if name not in _ACTION_ORDER)
    ordered = (*(name for name in _ACTION_ORDER if name in configured), *others)
    if ordered != configured:
        causes = (Cause.TOO_LATE, Cause.NOT_TRIED, Cause.PLAN_LOST, Cause.PHANTOM, Cause.NODE_ORDER)
        # Per action that moves ahead, the first one of those that it passes.
        passed = (
            (next((name for name in ordered[at:] if name in configured[: configured.index(moved)]), ""), moved)
            for at, moved in enumerate(ordered)
        )
        changes = join_names(
            f"{' and '.join(moved)} before {first}" for first, moved in group_by_key(passed).items() if first
        )
        change = fix.actions_change(ordered, changes)
        yield fix.cluster_fix(*change, causes=causes, kind=fix.FixKind.REPAIR, aspect="actions")


def _propose_unchecked_admission_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to drop enqueue if it rejects the job and an evicting action is configured."""
    conf = situation.recording.conf
    evicting = [name for name in dict.fromkeys(conf.actions) if conf.facts_of(name).evicts]
    if ENQUEUE in conf.actions and evicting:
        actions = [name for name in conf.actions if name != ENQUEUE]
        considers = f"{join_names(evicting)} {verb_for(len(evicting), 'considers')} it"
        drops = f"drops enqueue: every job then counts as admitted, so {considers}"
        words, edit = fix.actions_change(actions, drops)
        # What the configuration intends, where the job outranks what runs in its queue, comes before a larger quota.
        is_intended = PREEMPT in evicting and _outranks_running_pods(situation)
        causes, kind = FixCauses.ENQUEUE, fix.FixKind.REPAIR if is_intended else fix.FixKind.ENTITLEMENT
        edits, kept = [edit], _kept_queues(situation) if evicting == [RECLAIM] else []
        if kept:
            words = f"{words}; spec.reclaimable -> true of {join_names(kept)}"
            edits += [f"Queue/{name}:spec.reclaimable=true" for name in kept]
        yield fix.cluster_fix(words, *edits, causes=causes, kind=kind, aspect=ENQUEUE)
        # Also without gang's vote in preempt, which upstream's default configuration does not have either.
        if PREEMPT in evicting and any(option.is_enabled(["enablePreemptable"]) for option in conf.options_of(GANG)):
            with_gang_words = f"{words[:-1]}); {GANG}: enablePreemptable -> false (no veto in {PREEMPT})"
            without_veto = f"conf:plugins.{GANG}.enablePreemptable=false"
            yield fix.cluster_fix(with_gang_words, edit, without_veto, causes=causes, kind=kind, aspect=ENQUEUE)


def _kept_queues(situation: fix.FixSituation) -> list[QueueName]:
    """The other queues in which pods run, if reclaim may evict in none of them."""
    jobs, queues = situation.recording.session.jobs.values(), situation.recording.session.queues
    used = dict.fromkeys(job.queue for job in jobs if job.count_tasks(TaskStatus.RUNNING))
    others = [name for name in used if name in queues and name != situation.queue_name]
    return others if not any(queues[name].reclaimable for name in others) else []


def _outranks_running_pods(situation: fix.FixSituation) -> bool:
    """Whether pods of lower priority run in the job's queue."""
    job, jobs = situation.job, situation.recording.session.jobs.values()
    lower = (each for each in jobs if job is not None and each.queue == job.queue and each.priority < job.priority)
    return any(each.count_tasks(TaskStatus.RUNNING) for each in lower)


def _propose_overcommit_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    for option in situation.recording.conf.options_of(OVERCOMMIT)[:1]:
        factor = option.arguments.get("overcommit-factor", 1.2)
        present = round(float(factor) * 100) if isinstance(factor, int | float) else 120
        amount = fix.AmountRange(present, _FACTOR_LIMIT, "hundredths")
        path = "conf:plugins.overcommit.arguments.overcommit-factor"
        change = amount.change_of("overcommit: overcommit-factor", path)
        causes, kind = FixCauses.RESERVED_ROOM, fix.FixKind.ENTITLEMENT
        yield fix.cluster_fix(*change, causes=causes, amount=amount, kind=kind)


def _propose_load_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes higher thresholds for plugin usage, which rejects nodes by their measured load."""
    for option in situation.recording.conf.options_of(USAGE):
        thresholds = option.arguments.get("thresholds")
        for name, present in thresholds.items() if isinstance(thresholds, dict) else ():
            if isinstance(present, int) and 0 <= present < _MAX_PERCENT:
                amount = fix.AmountRange(present, _MAX_PERCENT)
                path = f"conf:plugins.{USAGE}.arguments.thresholds.{name}"
                change, kind = amount.change_of(f"usage: thresholds.{name}", path, " percent"), fix.FixKind.ENTITLEMENT
                yield fix.cluster_fix(*change, causes=FixCauses.FILTER, amount=amount, kind=kind)


def _propose_filter_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to enable the filters of predicates, without which scores and placements fail."""
    if filters_are_off(situation.recording.conf):
        switch = PREDICATE.switches[0]
        words, edit = f"{PREDICATES}: {switch} -> true", f"conf:plugins.{PREDICATES}.{switch}=true"
        yield fix.cluster_fix(words, edit, causes=(Cause.NODE_ORDER, Cause.MIXED), kind=fix.FixKind.REPAIR)


def _propose_switch_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes that switch off the votes on victims of a plugin that protects them, and of both gang and drf together:
    without one of them, the other protects pods of lower priority.
    """
    conf, job = situation.recording.conf, situation.job
    ranks = job is not None and job.priority > 0 and PRIORITY in conf.plugin_names()
    for switch, action in (("enablePreemptable", PREEMPT), ("enableReclaimable", RECLAIM)):
        options = ((name, conf.options_of(name)) for name in conf.plugin_names())
        votes = [name for name, stated in options if any(option.is_enabled([switch]) for option in stated)]
        if not any(action in configured for configured in conf.actions):
            continue
        for name in votes:
            if name not in situation.cause_codes or name in _UNSAFE_PLUGINS:
                continue
            words = f"{name}: {switch} -> false (no veto in {action})"
            # Without gang's vote reclaim evicts what the queue deserves; other plugins' votes are the rule itself.
            kind = fix.FixKind.ENTITLEMENT if action == RECLAIM else fix.FixKind.OTHER_PODS
            words, kind = (words, kind) if name == GANG else (f"Bypass: {words}", fix.FixKind.BYPASS)
            yield fix.cluster_fix(words, f"conf:plugins.{name}.{switch}=false", causes=(name,), kind=kind)
        both = [name for name in (GANG, DRF) if name in votes]
        if action == PREEMPT and ranks and len(both) > 1 and {*both} & {*situation.cause_codes}:
            words = f"{GANG}, {DRF}: {switch} -> false (no veto in {action}, as in Volcano's default configuration)"
            edits, causes = (f"conf:plugins.{name}.{switch}=false" for name in both), (*both, Cause.GANG_DISCARD)
            yield fix.cluster_fix(words, *edits, causes=causes, kind=fix.FixKind.MORE_ROOM)


def _propose_starving_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to enable JobStarving, or to leave it to priority alone, which counts pods above minMember."""
    switch, conf = JOB_STARVING.switches[0], situation.recording.conf
    states = {
        name: conf.options_of(name)[-1].is_enabled([switch]) for name in conf.plugin_names() if name in (PRIORITY, GANG)
    }
    for name, enabled in states.items():
        if enabled and not (name == GANG and states.get(PRIORITY)):
            continue
        words = f"{name}: {switch} -> {'false (priority counts pods above minMember too)' if enabled else 'true'}"
        edit = f"conf:plugins.{name}.{switch}={'false' if enabled else 'true'}"
        kind = fix.FixKind.OTHER_PODS if any(states.values()) else fix.FixKind.REPAIR
        yield fix.cluster_fix(words, edit, causes=(Cause.NOT_STARVING,), kind=kind, aspect="starving")


def _propose_order_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to switch off drf's job order if this cycle placed another job of the queue first."""
    if situation.placed_before and DRF in situation.recording.conf.plugin_names():
        words = f"{DRF}: enableJobOrder -> false (jobs of one queue no longer ordered by {DRF} share)"
        causes, kind = FixCauses.TAKEN_ROOM, fix.FixKind.OTHER_PODS
        yield fix.cluster_fix(words, f"conf:plugins.{DRF}.enableJobOrder=false", causes=causes, kind=kind)


def _propose_sla_tier_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes a separate tier for sla, so that a rejection in its tier cannot outvote its permit."""
    tiers, names = situation.recording.conf.stated_tiers(), situation.recording.conf.plugin_names()
    if not tiers or SLA not in names or [plugin.get("name") for plugin in tiers[0]] == [SLA]:
        return
    sla_plugins = [plugin for tier in tiers for plugin in tier if plugin.get("name") == SLA]
    other_tiers = [[plugin for plugin in tier if plugin.get("name") != SLA] for tier in tiers]
    tiers_json = json.dumps([{"plugins": sla_plugins}, *({"plugins": tier} for tier in other_tiers if tier)])
    words, causes, kind = "Move sla into its own first tier", FixCauses.ENQUEUE, fix.FixKind.ENTITLEMENT
    first_tier = fix.cluster_fix(words, f"conf:tiers={tiers_json}", causes=causes, kind=kind)
    yield replace(first_tier, corrects=situation.has_repair)


def _propose_known_actions(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes the stated configuration with corrected actions, if one is unknown."""
    conf = situation.recording.conf
    if not any("actions" in (problem.object, problem.field) for problem in conf.problems):
        return
    document = object_in(load_yaml(situation.snapshot.scheduler_conf or ""))
    meant = {name.strip(): _meant_actions(situation, name) for name in str(document.get("actions") or "").split(",")}
    changes = [
        f"{name} -> {', '.join(names)}" if names else f"{name} removed"
        for name, names in meant.items()
        if [name] != names
    ]
    corrected = list(dict.fromkeys(name for names in meant.values() for name in names))
    choices = [(corrected, changes)]
    # Where enqueue rejects the job, the corrected evicting actions do not consider it.
    if ENQUEUE in corrected and any(conf.facts_of(name).evicts for name in corrected):
        choices.append(([name for name in corrected if name != ENQUEUE], [*changes, f"{ENQUEUE} removed"]))
    for actions, changed in choices if changes else ():
        parts = _rejected_parts(document) if conf.rejection else ()
        accepts = " (the scheduler then accepts it)" if conf.rejection else ""
        words = f"Configuration: actions: {join_names(changed)}{accepts}"
        edits, kind = (f'conf:actions="{", ".join(actions)}"', *parts), fix.FixKind.REPAIR
        yield fix.cluster_fix(words, *edits, causes=situation.cause_codes, kind=kind, aspect="actions")


def _meant_actions(situation: fix.FixSituation, name: str) -> list[str]:
    """The actions that a name means; several where they are separated by other signs than commas."""
    known = situation.recording.conf.registry
    # Actions are written in lower case; a capital is the usual fault.
    matches = [closest_name(part.lower(), known, 0.8) for part in re.split(r"[;\s]+", name.strip())]
    return [match for match in matches if match]


def _rejected_parts(document: JsonDict) -> list[str]:
    """Edits that state the other parts of a rejected configuration, which are not in force."""
    return [f"conf:{key}={json.dumps(document[key])}" for key in ("tiers", "configurations") if document.get(key)]


def _propose_known_switches(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes the correct names of misspelt switches, which the scheduler ignores."""
    for option in (plugin for tier in situation.recording.conf.stated_tiers() for plugin in tier):
        name = option.get("name")
        for key, value in option.items():
            meant = find_meant_switch(key)
            if meant is None or meant == key or meant in option:
                continue
            edits = (f"conf:plugins.{name}.{meant}={json.dumps(value)}", f"conf:plugins.{name}.{key}-")
            words = f"{name}: misspelled switch {key} -> {meant}: {json.dumps(value)}"
            yield fix.cluster_fix(words, *edits, causes=(str(name),), kind=fix.FixKind.REPAIR)
