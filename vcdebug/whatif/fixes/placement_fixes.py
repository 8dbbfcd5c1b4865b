"""Fixes of flaws: fewer or other victims, a topology that is kept, and room that later jobs do not take."""

import json
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from vcdebug.actions import GANG_PREEMPT
from vcdebug.amount_text import join_names
from vcdebug.explain.answer import Flaw
from vcdebug.explain.decisions.evictions import Eviction, evictions_by_preemptor
from vcdebug.explain.decisions.votes import unasked_plugins, victim_question_before
from vcdebug.model.pod import PREEMPTABLE_KEY
from vcdebug.plugins import CAPACITY, PROPORTION
from vcdebug.releases.release import SUPPORTED_TAGS
from vcdebug.whatif.fixes import fix
from vcdebug.whatif.fixes.queue_fixes import queue_manifest


def propose_placement_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes of the flaws that the answer names, most of them of placed jobs."""
    flaws = situation.explanation.dominant.flaws
    evictions = evictions_by_preemptor(situation.recording).get(situation.explanation.job, ()) if flaws else ()
    if evictions:
        yield from _propose_other_action_fixes(situation, evictions[0])
        yield from _propose_protection_fixes(situation, evictions)
        yield from _propose_deciding_tier_fixes(situation, evictions[0])
    if Flaw.TOPOLOGY_BROKEN in flaws:
        yield from _propose_gang_action_fixes(situation)
    if Flaw.PASSED in flaws:
        yield from _propose_reserving_fixes(situation)


def _propose_other_action_fixes(situation: fix.FixSituation, eviction: Eviction) -> Iterator[fix.Fix]:
    """Proposes the action that seeks victims for a whole gang instead of the one for single pods, or the reverse."""
    conf, causes = situation.recording.conf, (Flaw.MILDER_VICTIM.value, Flaw.MANY_VICTIMS.value)
    configured, facts = [name for name in conf.actions if name], conf.facts_of(eviction.action)
    for name in conf.registry:
        other = conf.facts_of(name)
        is_twin = other.evicts and other.places and other.across_queues == facts.across_queues
        if is_twin and other.by_gang != facts.by_gang and name not in configured:
            actions = ", ".join(name if each == eviction.action else each for each in configured)
            words = f'Configuration: actions -> "{actions}" ({name} instead of {eviction.action})'
            edit, kind = f'conf:actions="{actions}"', fix.FixKind.ENTITLEMENT
            yield fix.cluster_fix(words, edit, causes=causes, kind=kind, aspect="actions")


def _propose_protection_fixes(situation: fix.FixSituation, evictions: Sequence[Eviction]) -> Iterator[fix.Fix]:
    """Proposes to protect the job of the first victim, so that one of lower priority is evicted."""
    job = situation.recording.session.jobs.get(evictions[0].job)
    if job is not None:
        paths = (f"PodGroup/{job.uid}", *(f"Pod/{task.key}" for task in job.tasks.values()))
        edits = (f'{path}:metadata.annotations[{PREEMPTABLE_KEY}]="false"' for path in paths)
        words, causes = f'{job.uid}: {PREEMPTABLE_KEY} -> "false" (protects it)', (Flaw.MILDER_VICTIM.value,)
        yield fix.queue_fix(words, *edits, causes=causes, kind=fix.FixKind.OTHER_PODS)


def _propose_deciding_tier_fixes(situation: fix.FixSituation, eviction: Eviction) -> Iterator[fix.Fix]:
    """Proposes to move the plugins that would protect the victim to the tier that decides."""
    question = victim_question_before(situation.recording, eviction.seq)
    tiers = situation.recording.conf.stated_tiers()
    if question is None or eviction.tier is None or len(tiers) < eviction.tier:
        return
    unasked = unasked_plugins(situation.recording, question, eviction.seq)
    names = [one.vote.plugin for one in unasked if one.protects and one.vote.state == "not asked"]
    moved = [plugin for tier in tiers for plugin in tier if plugin.get("name") in names]
    kept = [[plugin for plugin in tier if plugin.get("name") not in names] for tier in tiers]
    kept[eviction.tier - 1] += moved
    if moved:
        words = f"Move {join_names(names)} to tier {eviction.tier}, which decides on victims"
        edit = f"conf:tiers={json.dumps([{'plugins': tier} for tier in kept if tier])}"
        causes, kind = (Flaw.BELOW_DESERVED.value,), fix.FixKind.REPAIR
        yield replace(fix.cluster_fix(words, edit, causes=causes, kind=kind), corrects=True)


def _propose_gang_action_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes the action that checks HyperNodes, with an upgrade to a release that has it."""
    configured, release = [name for name in situation.recording.conf.actions if name], situation.snapshot.release
    if GANG_PREEMPT in situation.recording.conf.registry:
        return
    # Behind the actions for single pods, which skip jobs with a topology in such a release.
    actions, newest = ", ".join((*configured, GANG_PREEMPT)), SUPPORTED_TAGS[0]
    words = f'Upgrade Volcano {release.name} -> {newest}; actions -> "{actions}" ({GANG_PREEMPT} checks HyperNodes)'
    edits, causes = (f"flag:release={newest}", f'conf:actions="{actions}"'), (Flaw.TOPOLOGY_BROKEN.value,)
    yield fix.cluster_fix(words, *edits, causes=causes, kind=fix.FixKind.REPAIR, aspect="release")


def _propose_reserving_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes a queue with a guarantee of what the job lacks, which jobs of other queues may not use."""
    explanation, plugins = situation.explanation, situation.recording.conf.plugin_names()
    lacking = [name.partition(".")[2] for name in explanation.dominant.numbers if name.startswith("short.")]
    if situation.pod_group is None or not {CAPACITY, PROPORTION} & {*plugins} or not lacking:
        return
    amounts = {name: fix.format_units(name, fix.total_request(situation.pending_pods, name)) for name in lacking}
    name = f"{explanation.job.partition('/')[2]}-own"
    # The webhook refuses a guarantee above spec.deserved.
    limits = (f"Queue/{name}:spec.{field}={json.dumps(amounts)}" for field in ("deserved", "guarantee.resource"))
    edits = (f"Queue/{name}:+={queue_manifest(1)}", *limits, f"{situation.group_path}:spec.queue={name}")
    stated = join_names(f"{amount} {resource}" for resource, amount in amounts.items())
    words = f"Move {explanation.job} to a new queue {name} with guarantee {stated} (other queues leave it free)"
    causes, kind = (Flaw.PASSED.value,), fix.FixKind.ENTITLEMENT
    yield replace(fix.queue_fix(words, *edits, causes=causes, kind=kind, aspect="queue"), corrects=True)
