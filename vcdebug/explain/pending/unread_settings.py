"""Settings of a job that no plugin, action or release reads, and what a queue or a node does not count."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from vcdebug.actions import ALLOCATE, ENQUEUE, PREEMPT, RECLAIM
from vcdebug.amount_text import count_noun, format_amounts_apart, join_names, lower_first, verb_for
from vcdebug.explain.answer import Advice, AdviceHarm, Finding, required_pods
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.doubts import cluster_excess
from vcdebug.explain.pending.gates.other_groups import role_of
from vcdebug.framework.hooks import NODE_ORDER, PREEMPTABLE, RECLAIMABLE
from vcdebug.framework.registry import resolve_reference
from vcdebug.grouping import group_by_key
from vcdebug.kube.affinity_terms import PREFERRED
from vcdebug.model.devices.hami_ascend_card import ANNOTATION_PREFIX
from vcdebug.model.names import NodeName, QueueName
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod import PREEMPTABLE_KEY
from vcdebug.model.pod_group import hard_tier_of
from vcdebug.model.resource import PODS
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import (
    ANNOTATIONS,
    BINPACK,
    DEVICESHARE,
    GANG,
    NETWORK_TOPOLOGY_AWARE,
    NODEGROUP,
    OVERCOMMIT,
    TASK_TOPOLOGY,
)
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.releases.devices import DEVICESHARE_SCORE_LOST, VGPU_SCALARS_IGNORED
from vcdebug.releases.queues import DRA_QUOTA
from vcdebug.releases.scheduling import GANG_EVICTION, HIGHEST_TIER_NAME_SUBGROUP, NTA_HYPERNODE_SCORE, SOFT_TO_HARD
from vcdebug.snapshot.device_config import BUILT_IN_NAMES
from vcdebug.snapshot.manifest import (
    MADE_GROUP_PREFIX,
    WorkloadFacts,
    annotations_of,
    key_of,
    metadata_of,
    name_of,
    object_in,
    object_list,
    owner_names,
    spec_of,
)
from vcdebug.snapshot.workloads import MIN_MEMBER, owner_objects

_READ_FROM: Final = "from v1.12.0 on"
_PREFERENCE: Final = "; it only adds to a node's score, while podAffinity and podAntiAffinity are rules"


def unread_settings(view: JobView) -> Iterator[str]:
    """Yields a sentence for each setting of the job that no configured plugin or action reads."""
    configured, group = view.recording.conf.plugin_names(), view.job.pod_group
    pods = [task.pod.manifest for task in view.tasks.values()][:1]
    stated = {key for manifest in (group.manifest, *pods) for key in annotations_of(manifest)}
    for plugin, annotations in ANNOTATIONS.items():
        keys = [key for key in annotations if key in stated]
        if keys and plugin not in configured:
            effect = _PREFERENCE if plugin == TASK_TOPOLOGY else ""
            yield f"Nothing reads {join_names(keys)}: plugin {plugin} is not configured{effect}."
    yield from _uncounted_limits(view)
    yield from _unread_minimum(view)
    if ENQUEUE not in view.actions and (excess := cluster_excess(view)):
        asked = f"minResources of {excess.asked} exceed the whole cluster ({excess.total})"
        yield f"{asked}, and nothing compares them: {ENQUEUE} is not among the actions."


def _unread_minimum(view: JobView) -> Iterator[str]:
    """Yields a sentence if the owner of a PodGroup, such as a ReplicaSet, states another minMember."""
    group = view.job.pod_group
    for owner in owner_objects(view.recording.snapshot, group.manifest):
        stated = annotations_of(owner).get(MIN_MEMBER, "")
        if stated not in ("", str(group.min_member)):
            has = f"states {MIN_MEMBER} {stated}, but its PodGroup has minMember {group.min_member}"
            when = f"the controller reads it ({_READ_FROM}) only when it creates the PodGroup"
            yield f"{owner['kind']} {name_of(owner)} {has}; {when}."


def _uncounted_limits(view: JobView) -> Iterator[str]:
    """Yields a sentence about limits of the queue on what the job asks and this scheduler leaves out of all amounts."""
    stated = object_in(spec_of(view.queue.manifest).get("capability"))
    uncounted = [name for name in stated if name not in (view.queue.capability or {})]
    asked = set().union(*map(_limits_of, view.tasks.values()))
    if names := [name for name in uncounted if name in asked]:
        counted = [name for name in stated if name not in uncounted]
        rest = f"; it counts {join_names(counted)}" if counted else ""
        what, fixed = "it" if len(names) == 1 else "them", join_names(VGPU_SCALARS_IGNORED.fixed_in)
        out = f"the scheduler leaves {what} out{rest} (from {fixed} on it counts {what})"
        yield f"Nothing limits {join_names(names)} in queue {view.queue.name}: {out}."


def uncounted_roles(view: JobView) -> Iterator[str | Advice]:
    """Yields that minMember was met without the minimum of a role: minimums with a larger sum do not count."""
    job, total, sizes = view.job, view.job.task_min_available_total, Counter(map(role_of, view.tasks.values()))
    stated = {role: minimum for role, minimum in job.task_min_available.items() if minimum != sizes[role]}
    ready = Counter(role_of(task) for task in view.tasks.values() if task not in view.unplaced_tasks)
    below = [f"{role} {ready[role]} of {minimum}" for role, minimum in stated.items() if ready[role] < minimum]
    if below and len(job.task_min_available) > 1 and job.are_roles_unchecked() and job.is_ready():
        rule = f"minMember {job.min_available} is less than the minimums of the roles together ({total})"
        yield f"{rule}, so those do not count: any {job.min_available} pods start the job ({join_names(below)})."
        words = f"Set minMember (of a Volcano Job: minAvailable) to {total}, and the minimum of each role counts."
        yield Advice.from_outside(words)


def unread_tier_names(view: JobView) -> Iterator[str | Advice]:
    """Yields the tier that highestTierName of a subgroup means, and what to do if the release may ignore it."""
    change, is_unknown = HIGHEST_TIER_NAME_SUBGROUP, not view.recording.snapshot.release.stated_name
    fixed = join_names(sorted(change.fixed_in))
    for policy in view.job.pod_group.sub_group_policies:
        name = policy.network_topology.highest_tier_name if policy.network_topology is not None else ""
        subgroups = [one for one in view.job.sub_jobs.values() if one.gid.endswith(f"/{policy.name}")]
        tier = next((hard_tier_of(one.network_topology) for one in subgroups if one.network_topology is not None), None)
        if name and tier is not None:
            means = f"highestTierName {name} of the subGroupPolicy means tier {tier}"
            yield f"{means}; older releases ignore it (fixed in {fixed}: {change.pull})."
            ignored = f"If the release ignores highestTierName, upgrade, or state highestTierAllowed {tier} instead"
            if is_unknown:
                advice = Advice.from_outside(f"{ignored}: the pods then wait for one HyperNode.")
                yield advice.as_first_step("the release is not in the snapshot")


def uncounted_claims(view: JobView) -> Iterator[str]:
    """Yields a sentence if pods get devices by claims, which the queue's limits on devices do not count."""
    claims = [one for task in view.tasks.values() for one in object_list(task.pod.spec.get("resourceClaims"))]
    asked = {name for task in view.tasks.values() for name in task.resreq.resource_names()}
    limits = object_in(spec_of(view.queue.manifest).get("capability")) if claims else {}
    # Devices are extended resources, whose names have a domain.
    unasked = [f"{name} {limit}" for name, limit in limits.items() if "/" in name and name not in asked]
    if unasked and not any("deviceclass/" in name for name in limits):
        release, change = view.recording.snapshot.release, DRA_QUOTA
        since = f"from {join_names(change.fixed_in)} on" if release.has_older_form(change) else "in this release"
        own = f"plugin capacity limits claims {since}, as deviceclass/NAME ({change.pull})"
        quota = "a ResourceQuota limits them as NAME.deviceclass.resource.k8s.io/devices"
        what = f"{count_noun(len(claims), 'ResourceClaim')} of its pods"
        do = "does" if len(claims) == 1 else "do"
        yield f"Queue {view.queue.name} limits {join_names(unasked)}, and {what} {do} not count: {own}; {quota}."


LABEL: Final = "vcdebug.plugins.nodegroup:GROUP_LABEL"
"""Read only where the plugin is configured."""


def group_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if plugin nodegroup has spread a gang over several groups of nodes, and which had room."""
    if NODEGROUP not in view.recording.conf.plugin_names() or view.job.min_available < 2:
        return
    label, nodes = resolve_reference(LABEL), view.session.nodes
    groups = _count_groups((task.node_name for task in view.tasks.values()), nodes, label)
    if len(groups) < 2:
        return
    places = join_names(f"{name} ({count_noun(number, 'pod')})" for name, number in groups.items())
    free: Counter[str] = Counter()
    if view.placed_tasks and (start := view.action_starts(ALLOCATE)):
        free = _count_groups((fit.name for fit in NodeFits(view, view.placed_tasks[0], start).free_nodes), nodes, label)
    whole = [name for name in groups if free[name] >= max(len(view.placed_tasks), 1)]
    room = f" ({whole[0]} had {count_noun(free[whole[0]], 'node')} with room)" if whole else ""
    alone = f"{NODEGROUP} judges each pod alone{room}"
    keeps = f"a HyperNode per group and networkTopology (mode hard), or nodeSelector {label}, keep a gang in one"
    yield f"Its pods are in node groups {places}: {alone}; {keeps}."


def _count_groups(names: Iterable[NodeName], nodes: Mapping[NodeName, NodeInfo], label: str) -> Counter[str]:
    """The number of these nodes per node group."""
    return Counter(nodes[name].labels[label] for name in names if name in nodes and label in nodes[name].labels)


def preference_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if preferences of several weights were meant to divide the pods, and how many each node got."""
    placed = [task for task in view.placed_tasks if task.status is not TaskStatus.PIPELINED]
    affinity = object_in(placed[0].pod.spec.get("affinity")) if len(placed) > 1 else {}
    terms = object_list(object_in(affinity.get("nodeAffinity")).get(PREFERRED))
    weights = dict.fromkeys(str(term.get("weight")) for term in terms)
    if len(weights) > 1:
        counts = join_names(f"{number} on {name}" for name, number in Counter(one.node_name for one in placed).items())
        rule = (
            f"preferences of nodeAffinity (weights {join_names(weights)}) add to the score of a node for each pod alone"
        )
        keeps = "topologySpreadConstraints, or roles with a nodeSelector of their own, divide pods"
        yield f"Pods: {counts}; {rule}, and divide no pods; {keeps}."


def skew_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if the maxSkew of a spread rule let several pods share a domain while other ones have none."""
    placed, nodes = [one for one in view.placed_tasks if one.node_name in view.session.nodes], view.session.nodes
    for rule in object_list(placed[0].pod.spec.get("topologySpreadConstraints")) if len(placed) > 1 else ():
        skew, key = rule.get("maxSkew"), str(rule.get("topologyKey"))
        counts = Counter(nodes[one.node_name].labels.get(key, "") for one in placed)
        empty = {node.labels[key] for node in nodes.values() if key in node.labels} - {*counts}
        if (
            rule.get("whenUnsatisfiable") == "DoNotSchedule"
            and isinstance(skew, int)
            and 1 < max(counts.values()) <= skew
            and empty
        ):
            per_domain = f"{max(counts.values())} of its pods share a {key}, and {len(empty)} more have none"
            yield f"maxSkew {skew} allows a difference of {skew} pods: {per_domain}; maxSkew 1 spreads them evenly."
            return


POLICY: Final = "vcdebug.plugins.deviceshare:POLICY_KEY"
WEIGHT: Final = "vcdebug.plugins.deviceshare:WEIGHT_KEY"
"""Read only where the plugin is configured."""
CARD_POLICY: Final = "-scheduler-policy"
WEIGHED_KEY: Final = "binpack.resources"


def card_policy_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if a pod states policies that only HAMi's own scheduler reads, and if the policy of cards that
    is configured scores no node.
    """
    options = list(view.recording.conf.options_of(DEVICESHARE))
    if not options:
        return
    policy, weight, arguments = resolve_reference(POLICY), resolve_reference(WEIGHT), options[0].arguments
    stated = f"{policy} ({arguments.get(policy, 'not set')})"
    annotations = dict.fromkeys(key for task in view.tasks.values() for key in task.pod.annotations)
    if keys := sorted(key for key in annotations if key.startswith(ANNOTATION_PREFIX) and key.endswith(CARD_POLICY)):
        yield f"Volcano does not read {join_names(keys)} (HAMi's own scheduler does): {stated} is one for all pods."
    nodes = (view.session.nodes.get(task.node_name) for task in view.placed_tasks[:1])
    ledgers = [ledger for node in nodes if node is not None for ledger in node.devices.values()]
    asks = any(ledger.has_device_request(view.placed_tasks[0].pod) for ledger in ledgers)
    is_read = not view.recording.snapshot.release.has_older_form(DEVICESHARE_SCORE_LOST)
    if asks and is_read and policy in arguments and not arguments.get(weight):
        yield f"{stated} is about cards and scores no node: {weight} is not set (say, 10)."


KEEPS: Final = "mode hard with highestTierAllowed keeps the pods together"


def soft_rule(recording: Recording) -> str:
    """What a soft networkTopology does in this release and configuration, in words."""
    release = recording.snapshot.release
    if NETWORK_TOPOLOGY_AWARE not in recording.conf.plugin_names():
        return f"without plugin {NETWORK_TOPOLOGY_AWARE}, HyperNodes do not count"
    if not release.has_older_form(SOFT_TO_HARD):
        return "HyperNodes only add to the scores of nodes"
    fixed = f"{join_names(SOFT_TO_HARD.fixed_in)} do, {SOFT_TO_HARD.pull}"
    return f"{release.display_name()} tries no HyperNode for all of its pods together ({fixed})"


def unpacked_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence about the first pod, or the HyperNode, of a topology in releases that pack no HyperNodes."""
    recording, topology = view.recording, object_in(spec_of(view.job.pod_group.manifest).get("networkTopology"))
    packing = {"soft": SOFT_TO_HARD, "hard": NTA_HYPERNODE_SCORE}.get(str(topology.get("mode")))
    if packing is None or NETWORK_TOPOLOGY_AWARE not in recording.conf.plugin_names():
        return
    of_pod, placed = packing is SOFT_TO_HARD, view.placed_tasks
    if recording.snapshot.release.has_older_form(packing) and len(placed) == (1 if of_pod else len(view.tasks)) > 0:
        what = f"node a score for {placed[0].name}" if of_pod else f"HyperNode a score for {view.job.uid}"
        rule = "it compares HyperNodes only with that of pods that the job already has on nodes, and packs none"
        since = f"{join_names(packing.fixed_in)}, {packing.pull}"
        yield f"Plugin {NETWORK_TOPOLOGY_AWARE} gave no {what}: {rule} (fixed in {since})."


def shared_card_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if the cards of a placed pod's node are also another resource, which other pods hold."""
    for task in view.placed_tasks[:1]:
        node, pair = view.session.nodes.get(task.node_name), ("nvidia.com/gpu", BUILT_IN_NAMES.number)
        asked = [name for name in pair if name in _limits_of(task)]
        if node is None or len(asked) != 1:
            continue
        (other,) = {*pair} - {*asked}
        holders = [one.name for one in node.tasks.values() if other in _limits_of(one)]
        if holders:
            apart = f"{node.name} has cards as {asked[0]} and as {other}, which the scheduler counts apart"
            hold = (
                f"{join_names(holders, 3)} {verb_for(len(holders), 'holds')} {other} there, perhaps of the same cards"
            )
            yield f"{apart}: {hold}. Let a node have cards as one of the two only."


def _limits_of(task: TaskInfo) -> set[str]:
    """The resources that the containers of a task state limits or requests of."""
    stated = (object_in(one.get("resources")) for one in object_list(task.pod.spec.get("containers")))
    return {name for one in stated for key in ("limits", "requests") for name in object_in(one.get(key))}


def unweighed_facts(view: JobView) -> Iterator[str]:
    """Yields a sentence if binpack gives no weight to a device of which another node with room has more in use."""
    options = [one for one in view.recording.conf.options_of(BINPACK) if one.is_enabled(NODE_ORDER.switches)]
    task = next((one for one in view.placed_tasks if one.status is TaskStatus.BINDING), None)
    if task is None or not options or task.node_name not in view.session.nodes:
        return
    weighed = [part.strip() for part in str(options[-1].arguments.get(WEIGHED_KEY) or "").split(",")]
    others = [node for node in view.session.nodes.values() if task.init_resreq.less_equal(node.future_idle())]
    before = view.session.nodes[task.node_name].used.clone().sub_without_assert(task.resreq)
    for name in task.resreq.scalars or ():
        fuller = [
            node.name for node in others if node.name != task.node_name and node.used.get(name) > before.get(name)
        ]
        if fuller and name not in (PODS, *weighed):
            names = f"{join_names(fuller, 3)}, with more of it in use, {verb_for(len(fuller), 'gets')} no higher score"
            yield f"binpack gives {name} no weight ({WEIGHED_KEY} does not list it): {names}."
            return


PLACED_FACTS: Final = (
    *(group_facts, uncounted_claims, preference_facts, skew_facts, card_policy_facts),
    *(unpacked_facts, shared_card_facts, unweighed_facts),
)
"""What nothing compares or checks when a job is placed."""


@per_recording()
def uncounted_by_queue(recording: Recording) -> Mapping[QueueName, Sequence[TaskInfo]]:
    """Queue → running pods that name it, in an annotation or label, and a PodGroup that does not exist."""
    groups = set(map(key_of, recording.snapshot.objects_of("PodGroup")))
    on_nodes = (task for node in recording.session.nodes.values() for task in node.tasks.values())
    uncounted = (task for task in on_nodes if task.job and task.job not in groups)
    return group_by_key((WorkloadFacts.of_manifest(task.pod.manifest).queue, task) for task in uncounted)


def withheld_devices(view: JobView, finding: Finding) -> Iterator[str]:
    """Yields a sentence about nodes that report fewer allocatable devices than they have, of kinds in the answer."""
    parts, text = [], finding.full_text
    for node in view.session.nodes.values():
        for name in (name for name in node.capability.scalars or () if "/" in name and name in text):
            left, amount = node.allocatable.get(name), node.capability.get(name)
            if left < amount:
                parts.append(f"{node.name} {' of '.join(format_amounts_apart(name, left, amount))} {name}")
    if parts:
        yield f"Fewer devices are allocatable than there are (see their device plugin's log): {join_names(parts, 3)}."


def met_minimum_facts(view: JobView, ready: int) -> Iterator[str | Advice]:
    """Yields that minMember is met, so gang does not block the Pending pods, and what enqueue did not compare."""
    met = f"{count_noun(ready, 'ready pod')} {verb_for(ready, 'meets')} minMember {view.job.min_available}"
    excess, group = cluster_excess(view), view.job.pod_group
    # Volcano's controller makes PodGroups of minMember 1 unless the owner states another one.
    is_unstated = view.job.name.startswith(MADE_GROUP_PREFIX) and view.job.min_available == 1
    on_pods = any(MIN_MEMBER in task.pod.annotations for task in view.tasks.values())
    where = f"on its owner{', not on its pods' if on_pods else ''}, read {_READ_FROM}"
    larger = f"; a gang needs annotation {MIN_MEMBER} {where}" if is_unstated else ""
    yield f"{met}{_roles_words(view)}, so gang does not hold back the other {len(view.unplaced_tasks)}{larger}."
    if excess and ENQUEUE in view.actions:
        yield f"The PodGroup was admitted with minResources of {excess.asked}; the cluster has {excess.total}."
        lower = f"Set overcommit-factor to 1: jobs with more {excess.name} than the cluster has are then not admitted."
        if OVERCOMMIT in view.recording.conf.plugin_names():
            yield Advice.from_outside(lower, AdviceHarm.CLUSTER)
    elif (
        any(name.startswith("SparkApplication ") for name in owner_names(group.manifest))
        and group.min_resources is None
    ):
        # The driver creates the executors, so minMember has to be 1.
        where = "SparkApplication: spec.batchSchedulerOptions.resources"
        effect = "enqueue then admits an application only where all of it fits"
        yield Advice.from_outside(f"State minResources of the driver and its executors ({where}): {effect}.")


def partial_gang_facts(view: JobView, ready: int, *, is_short: bool) -> Iterator[str | Advice]:
    """Yields how much of an incomplete gang runs, if it lacks room or an action may evict single pods of it."""
    runs = f"{ready} of the {required_pods(view.job.min_available)} already {verb_for(ready, 'runs')}"
    bare = [(action, hook) for action, hook in _EVICTS_SINGLE_PODS if action in view.actions]
    bare = [(action, hook) for action, hook in bare if _is_gang_silent(view, hook.switches)]
    if not bare:
        yield from (f"{runs}.",) if is_short else ()
        return
    action, switch = bare[0][0], bare[0][1].switches[0]
    lost = reported_eviction(view)
    runs += f": {lower_first(lost)}" if lost else ""
    yield f"{runs}; {action} evicts single pods, and minMember protects none of a gang ({GANG}: {switch} false)."
    if not lost:  # it may have lost pods in other ways
        return
    change = join_names(GANG_EVICTION.fixed_in)
    whole = f"{GANG}{action} in place of {action} evicts whole gangs, or pods above minMember (from {change} on)"
    words = f"So that no gang is left incomplete: {whole}; or {GANG} with {switch}: true, which protects minMember."
    yield Advice.from_outside(words, AdviceHarm.CLUSTER)


def reported_eviction(view: JobView) -> str:
    """`The scheduler has evicted a pod of a/j (event Evict: reclaim)`, if it has reported that; else empty."""
    message = _eviction_messages(view.recording).get(metadata_of(view.job.pod_group.manifest).get("uid"))
    said = f": {message}" if message and message.isidentifier() else ""
    return "" if message is None else f"The scheduler has evicted a pod of {view.job.uid} (event {EVICT_REASON}{said})"


@per_recording()
def _eviction_messages(recording: Recording) -> Mapping[object, str]:
    """UID of an object → the message of the last event about an eviction of its pods, which names the action."""
    events = (one for one in recording.snapshot.objects_of("Event") if one.get("reason") == EVICT_REASON)
    return {object_in(one.get("involvedObject")).get("uid"): str(one.get("message") or "") for one in events}


def lost_pod_facts(view: JobView) -> Iterator[str | Advice]:
    """Yields that the scheduler has evicted a pod of the job, by which rule, and how to keep pods from other queues."""
    if not (lost := reported_eviction(view)):
        return
    action = next((name for name in view.actions if lost.endswith(f": {name})")), "")
    if action and view.facts_of(action).across_queues:
        yield f"{lost}; {action} compares what queues use and what they deserve, and no priorities."
        kept = f'annotation {PREEMPTABLE_KEY}: "false" on its pods, or spec.reclaimable: false of the queue'
        yield Advice.from_outside(f"To keep its pods: a larger share of queue {view.queue.name}, {kept}.")
    else:
        yield f"{lost}; {action} evicts for jobs of the same queue." if action else f"{lost}."


_EVICTS_SINGLE_PODS: Final = ((PREEMPT, PREEMPTABLE), (RECLAIM, RECLAIMABLE))
"""Actions that evict pod by pod, with the question to the plugins that protect a gang."""
EVICT_REASON: Final = "Evict"
"""The reason of the event that the scheduler reports about the PodGroup of an evicted pod."""


def _is_gang_silent(view: JobView, switches: Sequence[str]) -> bool:
    """Whether plugin gang is configured, and these switches of it are off."""
    options = view.recording.conf.options_of(GANG)
    return bool(options) and not any(option.is_enabled(switches) for option in options)


def _roles_words(view: JobView) -> str:
    """` (4 cpu, 1 headgroup; none of gpu: …)`: the roles of ready pods, if a Pending role has none of them."""
    ready = Counter(role_of(task) for task in view.tasks.values() if task not in view.unplaced_tasks)
    lacking = [role for role in dict.fromkeys(map(role_of, view.unplaced_tasks)) if role not in ready]
    group = view.job.pod_group
    is_judged = group.min_task_member or group.sub_group_policies or view.job.min_available < 2
    if not all((*ready, *lacking)) or not lacking or is_judged:
        return ""
    counts = join_names(f"{number} {role}" for role, number in ready.items())
    rule = "it counts pods of any role; subGroupPolicy (from v1.14 on) sets a minimum of each"
    return f" ({counts}; none of {join_names(lacking)}: {rule})"
