"""Fixes of the job owner: the job itself, and what its queue keeps from it."""

import json
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from vcdebug.actions import RECLAIM
from vcdebug.amount_text import capitalize_first, count_noun, is_quota_count, join_names, verb_for
from vcdebug.explain.answer import Cause, Flaw
from vcdebug.explain.component_reports import KUBELET_EVICTED, KUBELET_REJECTIONS
from vcdebug.explain.job_view import JobView
from vcdebug.explain.pending import gang_parts
from vcdebug.explain.pending.gates import validity
from vcdebug.explain.pending.gates.admission import has_all_pods
from vcdebug.explain.pending.gates.not_in_session import new_group_text
from vcdebug.explain.pending.gates.other_groups import minimum_source
from vcdebug.explain.plugins import resourcequota
from vcdebug.explain.plugins.priority import VICTIM_PRIORITY
from vcdebug.model.pod import TASK_SPEC_KEY, Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.plugins import CAPACITY, DRF, GANG, NODEGROUP, PRIORITY, PROPORTION
from vcdebug.plugins.nodegroup import GROUP_LABEL, GroupAffinity
from vcdebug.recording.cluster_overview import other_invalid_jobs
from vcdebug.recording.effects import cycle_effects
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    MADE_GROUP_PREFIX,
    bare_name,
    labels_of,
    name_of,
    namespace_in,
    owners_of,
    spec_of,
    status_of,
)
from vcdebug.whatif.fixes import FixCauses, fix
from vcdebug.whatif.fixes.queue_fixes import queue_manifest

_MAX_ADDED_PODS = 32
"""The maximum number of added pods."""
_GANG_CAUSES = (*FixCauses.FILTER, Cause.GANG_DISCARD, Cause.NOT_ENOUGH, Cause.GATED, Cause.LARGER, Cause.NO_HYPER_NODE)
_MAX_QUEUES = 6
_PREEMPTS = "PreemptLowerPriority"
"""The preemptionPolicy of pods and PriorityClasses that state none."""
_EVICTION_CAUSES = (Cause.NOT_PREEMPTABLE, PRIORITY, DRF, Cause.NOT_CONFIGURED, GANG, Cause.NOT_STARVING)


def propose_job_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on the PodGroup."""
    yield from _propose_scheduler_fixes(situation)
    group = situation.pod_group
    if group is None:
        yield from _propose_group_fixes(situation)
        return
    yield from _propose_role_annotations(situation)
    yield from _propose_role_fixes(situation, group)
    yield from _propose_minimum_fixes(situation, group)
    yield from _propose_subgroup_fixes(situation, group)
    yield from _propose_missing_pod_fixes(situation, group)
    yield from _propose_admission_fixes(situation, group)
    yield from _propose_topology_fixes(situation, group)
    yield from _propose_priority_fixes(situation)
    yield from _propose_queue_fixes(situation)
    yield from _propose_gate_fixes(situation)


def _propose_scheduler_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    names = situation.snapshot.flags.scheduler_names
    foreign_pods = tuple(pod for pod in situation.pending_pods if pod.scheduler_name not in names)
    if foreign_pods and names:
        edits = fix.pod_edits(foreign_pods, f"spec.schedulerName={names[0]}")
        words = f"Recreate {count_noun(len(foreign_pods), 'pod')} with spec.schedulerName {names[0]}"
        yield fix.job_fix(words, *edits, causes=(Cause.OTHER_SCHEDULER,), kind=fix.FixKind.REPAIR, aspect="scheduler")


def _propose_group_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to create the PodGroup that the pods name, or one for a pod that names none."""
    for pod in situation.pending_pods[:1]:
        job = situation.explanation.job
        name = bare_name(job) if pod.job_id else f"{MADE_GROUP_PREFIX}{pod.name}"
        manifest = new_group_text(situation.recording)
        edits = [f"PodGroup/{pod.namespace}/{name}:+={manifest}"]
        if not pod.job_id:
            edits.append(f"Pod/{pod.key}:metadata.annotations[{GROUP_ANNOTATION}]={name}")
        words = f"Create PodGroup {pod.namespace}/{name}"
        # By hand only where the controller would not make it for new pods.
        kind = fix.FixKind.OWN_SETTINGS if situation.has_repair else fix.FixKind.REPAIR
        yield fix.job_fix(words, *edits, causes=(Cause.NO_POD_GROUP,), kind=kind, aspect="group")


def _propose_missing_pod_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """Proposes the pods that the gang or a role lacks, as copies; a quota without room is raised first."""
    job, model = situation.job, next(iter((*situation.pending_pods, *situation.own_pods)), None)
    # Copies of pods that exist but belong to another PodGroup would be twice too many.
    if job is None or situation.role_created_later is not None or situation.has_repair:
        return
    if gang_parts.tasks_by_meant_role(job):
        return
    pods_by_role = {task.task_role: task.pod for task in job.tasks.values()}
    missing_by_role = {least.name: least.minimum - least.actual for least in job.valid_roles() if not least.is_reached}
    of_roles = sum(missing_by_role.values())  # exact: ints
    # Pods of the missing roles count for minMember too.
    of_any = max(group.min_member - job.valid_task_num() - of_roles, 0)
    missing = of_roles + of_any
    subject = f"role {' and '.join(missing_by_role)}" if missing_by_role else "the gang"
    if len(missing_by_role) == 1:
        model = pods_by_role.get(next(iter(missing_by_role)), model)
    if model is not None and 0 < missing <= _MAX_ADDED_PODS:
        roles = [role for role, count in missing_by_role.items() for _ in range(count)] + [""] * of_any
        names = [(f"{model.key}-added-{number}", role) for number, role in enumerate(roles, start=1)]
        edits = tuple(edit for name, role in names for edit in _iter_copy_edits(model, name, role))
        # By hand only where no controller is known, nor pods that it has created before.
        is_controlled = bool(job.count_tasks(*validity.RUNNING_STATUSES) or owners_of(model.manifest))
        verb = "have the controller recreate" if is_controlled else "create"
        # What a kubelet counts, such as devices, no replay knows.
        reason = str(status_of(model.manifest).get("reason") or "")
        again = reason.startswith(KUBELET_REJECTIONS) and reason != KUBELET_EVICTED
        rejected = f"; the kubelet of {model.node_name} rejected it and can do so again" if again else ""
        words = f"{verb} the {count_noun(missing, 'missing pod')} of {subject} (like {model.name}{rejected})"
        if validity.rolling_update(JobView(situation.recording, job.uid)):
            words = validity.MORE_SURGE
        quota_amounts = resourcequota.pod_quota_amounts(model)
        yield _missing_pods_fix(situation, words, edits, _raised_quotas(situation, missing, quota_amounts))
    elif model is None and missing:
        snapshot, uid = situation.snapshot, situation.explanation.job
        placeholders = fix.placeholder_pods(snapshot, snapshot, uid)
        if placeholders is not None:
            quota_amounts = resourcequota.minimum_quota_amounts(group.min_resource_list or {}, group.min_member)
            raised = _raised_quotas(situation, missing, quota_amounts)
            # If no quota is full, the job's controller has to explain why it created no pods.
            if raised:
                yield _missing_pods_fix(situation, f"create {placeholders.size}", placeholders.edits, raised)


def _raised_quotas(
    situation: fix.FixSituation, missing: int, quota_amounts: Mapping[str, int]
) -> list[tuple[resourcequota.ExhaustedQuota, str]]:
    """(quota, limit with room for all missing pods) of each quota without room for them."""
    namespace = namespace_in(situation.explanation.job)
    exhausted = resourcequota.exhausted_quotas(situation.recording, namespace, quota_amounts, missing)
    return [(quota, quota.raised_hard(missing)) for quota in exhausted if quota.request]


def _missing_pods_fix(
    situation: fix.FixSituation,
    words: str,
    edits: tuple[str, ...],
    raised: Sequence[tuple[resourcequota.ExhaustedQuota, str]],
) -> fix.Fix:
    """A fix that creates pods, and first raises the quotas that keep the controller from creating them."""
    job = situation.explanation.job
    namespace = namespace_in(job)
    all_edits = (
        edit for full, hard in raised for edit in resourcequota.quota_edits(namespace, full.quota, full.name, hard)
    )
    # Jobs that may create pods in the same room: those that lack some, and those whose Pending pods count already.
    holders = (f"{namespace}/{holder.pod}" for full, _ in raised for holder in full.holders if holder.waits)
    owners = (situation.recording.owners.jobs.get(pod, job) for pod in holders)
    found = (*other_invalid_jobs(situation.recording, job), *owners)
    others = [one for one in dict.fromkeys(found) if one != job]
    more_for = f" (and more for {join_names(others)})" if others else ""
    changes = [f"ResourceQuota {full.quota}: hard.{full.name} {full.hard} -> {hard}{more_for}" for full, hard in raised]
    then = "the controller can then" if words.startswith("create") else "then"
    full_words = f"{join_names(changes)}; {then} {words}" if changes else capitalize_first(words)
    new_fix, kind = fix.queue_fix if changes else fix.job_fix, fix.FixKind.REPAIR
    return new_fix(full_words, *all_edits, *edits, causes=(Cause.NOT_ENOUGH,), kind=kind, aspect="pods")


def _iter_copy_edits(model: Pod, name: str, role: str) -> Iterator[str]:
    yield f"Pod/{name}:+={model.key}"
    if model.node_name:
        yield f"Pod/{name}:spec.nodeName-"
    if model.deleting:
        yield f"Pod/{name}:metadata.deletionTimestamp-"
    if model.phase != "Pending":
        yield f"Pod/{name}:status.phase=Pending"
    if role and role != model.task_role:
        yield f"Pod/{name}:{_role_edit(role)}"


def _role_edit(role: str) -> str:
    return f"metadata.annotations[{TASK_SPEC_KEY}]={role}"


def _propose_role_annotations(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes the roles of pods that name none, or one that minTaskMember does not have."""
    meant = gang_parts.tasks_by_meant_role(situation.job) if situation.job is not None else {}
    if meant:
        edits = (f"Pod/{task.key}:{_role_edit(role)}" for role, tasks in meant.items() for task in tasks)
        roles = join_names(f"{role} ({count_noun(len(tasks), 'pod')})" for role, tasks in meant.items())
        words = f"Annotate the pod template with {TASK_SPEC_KEY}: {roles}"
        yield fix.job_fix(words, *edits, causes=(Cause.NOT_ENOUGH,), kind=fix.FixKind.REPAIR, aspect="roles")


def _propose_role_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """Proposes smaller minimums of roles, or to drop the minimum of a role without usable pods."""
    usable = situation.job.usable_by_role() if situation.job is not None else {}
    for role, minimum in group.min_task_member.items():
        if not role:
            continue
        path = f"{situation.group_path}:spec.minTaskMember[{role}]"
        # With no pod of the role, every smaller minimum fails as well.
        if minimum > 0 and not usable.get(role):
            missing = f"0 of {count_noun(minimum, 'pod')} {verb_for(minimum, 'exists')}"
            words = f"{situation.explanation.job}: remove role {role} from minTaskMember ({missing})"
            kind = fix.FixKind.REPAIR
            yield fix.job_fix(words, f"{path}-", causes=_GANG_CAUSES, kind=kind, aspect=f"role {role}")
        elif minimum > 0:
            amount, kind = fix.AmountRange(minimum, 0), fix.FixKind.SMALLER
            change = amount.change_of(f"{situation.explanation.job}: minTaskMember of {role}", path)
            yield fix.job_fix(*change, causes=_GANG_CAUSES, amount=amount, kind=kind, aspect=f"role {role}")


def _propose_minimum_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """Proposes a smaller minMember; below the sum of minTaskMember it is a bypass, since role minimums are ignored."""
    job, path = situation.explanation.job, f"{situation.group_path}:spec.minMember"
    order = situation.role_created_later
    if order is not None and situation.job is not None:
        now = situation.job.valid_task_num()
        source = minimum_source(situation.recording, group)
        note = f"{source} ({order.earlier_role} then starts, and {order.role} is created)"
        words, kind = f"{job}: minMember {group.min_member} -> {now}{note}", fix.FixKind.REPAIR
        yield fix.job_fix(words, f"{path}={now}", causes=_GANG_CAUSES, kind=kind, aspect="minMember")
        return
    role_total = sum(group.min_task_member.values())  # exact: ints
    # Below the sum of the roles' minimums upstream ignores them, which is a different change than a smaller gang.
    least = max(1, role_total)
    if group.min_member > least:
        amount, kind = fix.AmountRange(group.min_member, least), fix.FixKind.SMALLER
        runs = situation.job is not None and situation.job.count_tasks(*validity.RUNNING_STATUSES)
        verb = "goes on" if runs else "starts"
        note = f"{minimum_source(situation.recording, group)} ({verb} with fewer pods)"
        change = amount.change_of(f"{job}: minMember", path, note)
        yield fix.job_fix(*change, causes=_GANG_CAUSES, amount=amount, kind=kind, aspect="minMember")
    if group.min_member >= role_total > 1:
        ignored = f"(below the minTaskMember total {role_total}, so role minimums are ignored)"
        words = f"Bypass: minMember {group.min_member} -> {fix.AMOUNT_BLANK} of {job} {ignored}"
        amount, kind = fix.AmountRange(role_total, 1), fix.FixKind.BYPASS
        yield fix.job_fix(words, f"{path}={fix.AMOUNT_BLANK}", causes=_GANG_CAUSES, amount=amount, kind=kind)


def _propose_subgroup_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """Proposes to start with fewer subgroups of one kind, and, if that many exist, a minMember without their pods."""
    exist = situation.job is None or situation.job.check_sub_job_valid()
    for at, policy in enumerate(group.sub_group_policies):
        sizes = []
        for count in range(policy.min_sub_groups - 1, 0, -1):
            fewer = group.min_member - (policy.min_sub_groups - count) * (policy.sub_group_size or 1)
            path = f"{situation.group_path}:spec"
            edits = (f"{path}.subGroupPolicy[{at}].minSubGroups={count}",)
            if not exist:
                sizes.append(fix.FixSize(str(count), edits))
            elif fewer > 0:
                sizes.append(fix.FixSize(f"{count} (minMember {fewer})", (*edits, f"{path}.minMember={fewer}")))
        field = f"minSubGroups of {policy.name} {policy.min_sub_groups}"
        words = f"{situation.explanation.job}: {field} -> {fix.AMOUNT_BLANK}"
        change = fix.job_fix(words, causes=_GANG_CAUSES, kind=fix.FixKind.SMALLER, aspect=f"subgroups {policy.name}")
        if sizes:
            yield change.with_sizes(*sizes)


def _propose_admission_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """Proposes smaller minResources, or none, for a job that is not admitted."""
    job, path = situation.explanation.job, f"{situation.group_path}:spec.minResources"
    if group.min_resource_list:
        words, kind = f"Bypass: remove spec.minResources of {job} (skips the admission check)", fix.FixKind.BYPASS
        yield fix.job_fix(words, f"{path}-", causes=FixCauses.ENQUEUE, kind=kind, aspect="minResources")
    if not situation.own_pods:
        yield from _propose_fewer_first_fixes(situation, group)
    yield from _propose_followed_minimum_fixes(situation, group)
    for resource, present in fix.known_amounts(group.min_resource_list).items():
        amount = None if is_quota_count(resource) else fix.smaller_amount(resource, present)
        if amount is not None and not situation.own_pods and present % max(group.min_member, 1) == 0:
            amount = fix.smaller_amount_of_each(resource, present, max(group.min_member, 1))
        if amount is not None:
            change, edit = amount.change_of(f"minResources.{resource}", f"{path}{field_step(resource)}")
            smaller_words = f"Submit {job} with {change} and smaller pods"
            words = f"{job}: {change} (pods unchanged)" if situation.own_pods else smaller_words
            smaller, aspect = None if situation.own_pods else fix.FixKind.SMALLER, f"minResources of {resource}"
            yield fix.job_fix(words, edit, causes=FixCauses.ENQUEUE, amount=amount, kind=smaller, aspect=aspect)
    if not situation.own_pods:
        yield from _propose_smaller_pods_fixes(situation, group)


def _propose_smaller_pods_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """Proposes minResources that are smaller by quarters in all resources, if they have several."""
    stated, sizes = fix.known_amounts(group.min_resource_list), list[fix.FixSize]()
    amounts = {name: present for name, present in stated.items() if present and not is_quota_count(name)}
    for quarters in (3, 2, 1):
        if len(amounts) < 2 or any(present * quarters % (4 * max(group.min_member, 1)) for present in amounts.values()):
            continue
        pairs = [(name, fix.format_units(name, amount * quarters // 4)) for name, amount in amounts.items()]
        text = ", ".join(f"{name} {fix.format_units(name, amounts[name])} -> {new}" for name, new in pairs)
        path = f"{situation.group_path}:spec.minResources"
        sizes.append(fix.FixSize(text, tuple(f"{path}{field_step(name)}={new}" for name, new in pairs)))
    words = f"Submit {situation.explanation.job} with minResources {fix.AMOUNT_BLANK} and smaller pods"
    change = fix.job_fix(words, causes=FixCauses.ENQUEUE, kind=fix.FixKind.SMALLER, aspect="minResources")
    if sizes:
        yield change.with_sizes(*sizes)


def _propose_followed_minimum_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """Proposes minResources equal to the pods' requests, if all pods exist and it is larger."""
    if situation.job is None or not has_all_pods(situation.recording, situation.job):
        return
    pods, edits, changes = [task.pod for task in situation.job.tasks.values()], [], []
    for resource, present in fix.known_amounts(group.min_resource_list).items():
        request = situation.total_request(pods, resource)
        if present > request and not is_quota_count(resource):
            old, new = (fix.format_units(resource, each) for each in (present, request))
            edits.append(f"{situation.group_path}:spec.minResources{field_step(resource)}={new}")
            changes.append(f"minResources.{resource} {old} -> {new}")
    if edits:
        words = f"{situation.explanation.job}: {join_names(changes)} (as its pods ask)"
        kind, aspect = fix.FixKind.REPAIR, "minResources"
        yield fix.job_fix(words, *edits, causes=FixCauses.ENQUEUE, kind=kind, aspect=aspect)


def _propose_fewer_first_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """Proposes a smaller minMember with minResources in proportion, for a job of equal pods that do not exist yet."""
    min_member, min_resources = group.min_member, fix.known_amounts(group.min_resource_list)
    uniform = len(group.min_task_member) <= 1 and all(each == min_member for each in group.min_task_member.values())
    if not min_resources or not uniform or not 1 < min_member <= _MAX_ADDED_PODS:
        return
    # In steps of whole subgroups, since a part of a subgroup cannot start.
    step = max((each.sub_group_size or 1 for each in group.sub_group_policies), default=1)
    fewest = step * max((each.min_sub_groups for each in group.sub_group_policies), default=1)
    sizes = []
    for count in range((min_member - 1) // step * step, fewest - 1, -step):
        edits = [f"{situation.group_path}:spec.minMember={count}"]
        edits += [f"{situation.group_path}:spec.minTaskMember[{role}]={count}" for role in group.min_task_member]
        for resource, present in min_resources.items():
            amount = fix.format_units(resource, present * count // min_member)
            edits.append(f"{situation.group_path}:spec.minResources{field_step(resource)}={amount}")
        sizes.append(fix.FixSize(str(count), tuple(edits)))
    words = f"{situation.explanation.job}: minMember {min_member} -> {fix.AMOUNT_BLANK}, minResources in proportion"
    change = fix.job_fix(words, causes=FixCauses.ENQUEUE, kind=fix.FixKind.SMALLER, aspect="minMember")
    if sizes:
        yield change.with_sizes(*sizes)


_TOPOLOGY_CAUSES = (*FixCauses.FILTER, Cause.NO_HYPER_NODE, Cause.GANG_DISCARD, Cause.NETWORK_TOPOLOGY)


def _propose_topology_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    tiers = [int(spec_of(hyper_node).get("tier") or 0) for hyper_node in situation.snapshot.objects_of("HyperNode")]
    numbered = enumerate(one.network_topology for one in group.sub_group_policies)
    topologies = [("", group.network_topology), *((f"subGroupPolicy[{at}].", one) for at, one in numbered)]
    for prefix, topology in topologies:
        field = f"{prefix}networkTopology"
        if topology is None or topology.mode != "hard":
            continue
        words, path = f"{situation.explanation.job}: {field}", f"{situation.group_path}:spec.{field}"
        allowed = topology.highest_tier_allowed
        if allowed is not None and tiers and max(tiers) > allowed:
            amount = fix.AmountRange(allowed, max(tiers))
            raised = amount.change_of(f"{words}.highestTierAllowed", f"{path}.highestTierAllowed")
            yield fix.job_fix(*raised, causes=_TOPOLOGY_CAUSES, amount=amount, aspect=field)
        yield fix.job_fix(f"{words}.mode hard -> soft", f"{path}.mode=soft", causes=_TOPOLOGY_CAUSES, aspect=field)


def _propose_priority_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes the next higher and the highest PriorityClass of the snapshot, and lifts preemptionPolicy Never."""
    classes = sorted(
        (int(one.get("value") or 0), name_of(one), one.get("preemptionPolicy") or _PREEMPTS)
        for one in situation.snapshot.objects_of("PriorityClass")
        if not name_of(one).startswith("system-")
    )
    # For a job outside the session the highest stated priority of its Pending pods.
    stated = max((int(pod.spec.get("priority") or 0) for pod in situation.pending_pods), default=0)
    job_priority = situation.job.priority if situation.job is not None else stated
    higher = [one for one in classes if one[0] > job_priority]
    evicting = [one for one in higher if one[2] == _PREEMPTS]
    # The next class is the mildest change, and the highest one shows whether priority can help at all.
    for value, name, policy in dict.fromkeys((*higher[:1], *evicting[:1], *evicting[-1:])):
        words = f"Submit {situation.explanation.job} with PriorityClass {name} ({value})"
        edits = _priority_edits(situation, name, value, policy)
        yield fix.job_fix(words, *edits, causes=_EVICTION_CAUSES, aspect="priority")
    yield from _propose_new_priority_fixes(situation, job_priority)
    non_preempting = tuple(pod for pod in situation.pending_pods if pod.spec.get("preemptionPolicy") == "Never")
    if non_preempting:
        edits = fix.pod_edits(non_preempting, f"spec.preemptionPolicy={_PREEMPTS}")
        words = f"{situation.explanation.job}: preemptionPolicy -> {_PREEMPTS}"
        yield fix.job_fix(words, *edits, causes=(Cause.POLICY_NEVER,), aspect="policy")


def _propose_new_priority_fixes(situation: fix.FixSituation, job_priority: int) -> Iterator[fix.Fix]:
    """Proposes a priority above the jobs placed in the queue, or above the lowest protected candidate."""
    if situation.job is None:
        return
    placed_priorities = {job.uid: job.priority for job in situation.placed_before}
    highest = max(placed_priorities.values(), default=job_priority - 1)
    vetoes = (situation.explanation.dominant, *situation.explanation.contributing)
    lowest = next((finding.numbers[VICTIM_PRIORITY] for finding in vetoes if VICTIM_PRIORITY in finding.numbers), None)
    thresholds = {
        highest: (f", the priority of {join_names(placed_priorities)}", FixCauses.TAKEN_ROOM),
        **({int(lowest.value): (" (the lowest of the candidate victims)", (PRIORITY,))} if lowest is not None else {}),
    }
    for value, (words, causes) in thresholds.items():
        if value < job_priority:
            continue
        name = f"above-{value}"
        created = f"PriorityClass/{name}:+={{apiVersion: scheduling.k8s.io/v1, value: {value + 1}}}"
        edits = (created, *_priority_edits(situation, name, value + 1))
        full_words = f"Submit {situation.explanation.job} with a PriorityClass above {value}{words}"
        yield fix.job_fix(full_words, *edits, causes=causes, aspect="priority")


def _priority_edits(situation: fix.FixSituation, name: str, value: int, policy: str = _PREEMPTS) -> tuple[str, ...]:
    """Edits that give the PodGroup and its Pending pods this PriorityClass, as Kubernetes admits such pods."""
    pods = situation.pending_pods
    other_policy = tuple(pod for pod in pods if (pod.spec.get("preemptionPolicy") or _PREEMPTS) != policy)
    return (
        f"{situation.group_path}:spec.priorityClassName={name}",
        *fix.pod_edits(pods, f"spec.priority={value}"),
        *fix.pod_edits(pods, f"spec.priorityClassName={name}"),
        *fix.pod_edits(other_policy, f"spec.preemptionPolicy={policy}"),
    )


def _propose_queue_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes to move the job to another Open queue without children."""
    parents = {name_of(m): spec_of(m).get("parent") for m in situation.snapshot.objects_of("Queue")}
    open_queues = [name_of(m) for m in situation.snapshot.objects_of("Queue") if status_of(m).get("state") == "Open"]
    # Jobs are placed in leaf queues only.
    other_queues = [
        name for name in open_queues if name not in (situation.queue_name, "root") and name not in parents.values()
    ]
    # A job in a queue with children was meant for one of them.
    other_queues.sort(key=lambda name: parents[name] != situation.queue_name)
    # Priority orders jobs of one queue only: in the queue of a placed job of lower priority it counts.
    jobs, own = situation.recording.session.jobs, situation.job
    placed = (jobs[one.job] for one in cycle_effects(situation.recording).bound if own and one.job in jobs)
    lower = {job.queue: job.uid for job in placed if own and job.priority < own.priority}
    for name in other_queues[:_MAX_QUEUES]:
        move, edit = f"{situation.explanation.job} to queue {name}", f"{situation.group_path}:spec.queue={name}"
        words, kind = f"Bypass: move {move}", fix.FixKind.BYPASS
        if name in lower:
            words = f"Move {move}: in one queue its priority puts it before {lower[name]}"
            causes = (*FixCauses.TAKEN_ROOM, *FixCauses.RESERVED_ROOM)
            yield fix.job_fix(words, edit, causes=causes, kind=fix.FixKind.OTHER_PODS, aspect="one queue")
        if parents[name] == situation.queue_name:
            words, kind = f"Move {move}, a child of {situation.queue_name}", fix.FixKind.REPAIR
        yield fix.job_fix(words, edit, causes=(*FixCauses.SHARE, Cause.MIXED), kind=kind)


def _propose_gate_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    gated = tuple(pod for pod in situation.pending_pods if pod.spec.get("schedulingGates"))
    if gated:
        edits = fix.pod_edits(gated, "spec.schedulingGates-")
        names = ", ".join(dict.fromkeys(gate["name"] for pod in gated for gate in pod.spec["schedulingGates"]))
        words = f"Remove scheduling gates {names} from {count_noun(len(gated), 'pod')}"
        if all(validity.is_opened_by_scheduler(situation.recording.session, pod) for pod in gated):
            words = f"Next cycle: the scheduler itself removes its gate from {count_noun(len(gated), 'pod')}"
        yield fix.job_fix(words, *edits, causes=(Cause.GATED, Cause.NOT_ENOUGH), aspect="gates")


def propose_reserving_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes a queue with a guarantee of what the job lacks, which jobs of other queues may not use or lose again."""
    explanation, conf = situation.explanation, situation.recording.conf
    lacking = [name.partition(".")[2] for name in explanation.dominant.numbers if name.startswith("short.")]
    name, has_guarantees = situation.own_queue, bool({CAPACITY, PROPORTION} & {*conf.plugin_names()})
    if situation.pod_group is None or not (name and has_guarantees and lacking):
        return
    amounts = {name: fix.format_units(name, situation.total_request(situation.pending_pods, name)) for name in lacking}
    # The webhook refuses a guarantee above spec.deserved.
    limits = (f"Queue/{name}:spec.{field}={json.dumps(amounts)}" for field in ("deserved", "guarantee.resource"))
    edits = (f"Queue/{name}:+={queue_manifest(1)}", *limits, f"{situation.group_path}:spec.queue={name}")
    stated = join_names(f"{amount} {resource}" for resource, amount in amounts.items())
    words = f"Move {explanation.job} to a new queue {name} with guarantee {stated} (other queues leave it free)"
    causes, kind = (Flaw.PASSED.value,), fix.FixKind.ENTITLEMENT
    if not any(conf.facts_of(action).across_queues for action in conf.actions):
        # Without it, nothing takes back the guaranteed room that other queues use already.
        more = ", ".join((*conf.actions, RECLAIM))
        edits, words = (*edits, f'conf:actions="{more}"'), f'{words}; actions -> "{more}" (adds {RECLAIM})'
        yield replace(fix.cluster_fix(words, *edits, causes=causes, kind=kind, aspect="queue"), corrects=True)
        return
    yield replace(fix.queue_fix(words, *edits, causes=causes, kind=kind, aspect="queue"), corrects=True)


def propose_node_group_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Proposes nodes or node groups for a queue that plugin nodegroup keeps off them."""
    if NODEGROUP not in situation.recording.conf.plugin_names():
        return
    causes, switch = FixCauses.FILTER, "conf:plugins.nodegroup.arguments.strict=false"
    words = "nodegroup: strict -> false (queues without a node group can use nodes without one)"
    yield fix.cluster_fix(words, switch, causes=causes, kind=fix.FixKind.ENTITLEMENT)
    queue_name = situation.queue_name
    queue = situation.recording.session.queues.get(queue_name)
    own = GroupAffinity((queue.spec.get("affinity") if queue is not None else None) or {})
    groups = dict.fromkeys(labels_of(node).get(GROUP_LABEL) for node in situation.snapshot.objects_of("Node"))
    for group in (one for one in groups if one and one not in own.anti_required):
        path, allowed = f"Queue/{queue_name}:spec.affinity.nodeGroupAffinity", json.dumps([*own.required, group])
        edit = f"{path}.requiredDuringSchedulingIgnoredDuringExecution={allowed}"
        yield fix.queue_fix(f"Queue {queue_name}: spec.affinity allows node group {group}", edit, causes=causes)
