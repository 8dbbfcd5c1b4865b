"""Fixes of the job owner: the job itself."""

from collections.abc import Iterator, Mapping, Sequence

from vcdebug.amount_text import capitalize_first, count_noun, join_names
from vcdebug.explain.answer import AdviceHarm
from vcdebug.explain.pending.gates.not_in_session import new_group_text
from vcdebug.explain.plugins import resourcequota
from vcdebug.explain.plugins.priority import VICTIM_PRIORITY
from vcdebug.model.pod import TASK_SPEC_KEY, Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.plugins import DRF, GANG, PRIORITY
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import GROUP_ANNOTATION, MADE_GROUP_PREFIX, name_of, spec_of, status_of
from vcdebug.whatif.fixes import fix

_MAX_ADDED_PODS = 32
"""Pods that are added at most."""
_GANG_CAUSES = (
    "gang-discard",
    "not-enough-pods",
    "scheduling-gate",
    "predicates-*",
    "larger-than-any-node",
    "no-hypernode",
)
_ENQUEUE_CAUSES = ("enqueue-*", "queue-capability", "enqueue-resourcequota")
_QUEUE_CAUSES = (
    "enqueue-queue-quota",
    "queue-*",
    "overused",
    "gang-discard",
    "victims-not-above-deserved",
    "preemptive",
)
_OTHER_QUEUE_CAUSES = (*_QUEUE_CAUSES, "predicates-mixed")
_MAX_QUEUES = 6
_EVICTION_CAUSES = ("victims-not-preemptable", PRIORITY, DRF, "action-not-configured", GANG, "not-starving")


def propose_job_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on the PodGroup."""
    yield from _propose_scheduler_fixes(situation)
    if situation.pod_group is None:
        yield from _propose_group_fixes(situation)
        return
    yield from _propose_role_fixes(situation)
    yield from _propose_minimum_fixes(situation)
    yield from _propose_missing_pod_fixes(situation)
    yield from _propose_admission_fixes(situation)
    yield from _propose_topology_fixes(situation)
    yield from _propose_priority_fixes(situation)
    yield from _propose_queue_fixes(situation)
    yield from _propose_gate_fixes(situation)


def _propose_scheduler_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    names = situation.snapshot.flags.scheduler_names
    others = tuple(pod for pod in situation.pending_pods if pod.scheduler_name not in names)
    if others and names:
        edits = fix.pod_edits(others, f"spec.schedulerName={names[0]}")
        words = f"Recreate {count_noun(len(others), 'pod')} with spec.schedulerName {names[0]}"
        yield fix.Fix(
            words, edits, AdviceHarm.JOB, ("other-scheduler",), stated_kind=fix.FixKind.REPAIR, aspect="scheduler"
        )


def _propose_group_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """The PodGroup that the pods name, or one for a pod that names none."""
    for pod in situation.pending_pods[:1]:
        job = situation.explanation.job
        name = job.partition("/")[2] if pod.job_id else f"{MADE_GROUP_PREFIX}{pod.name}"
        manifest = new_group_text(situation.recording, situation.snapshot.flags.default_queue)
        edits = [f"PodGroup/{pod.namespace}/{name}:+={manifest}"]
        if not pod.job_id:
            edits.append(f"Pod/{pod.key}:metadata.annotations[{GROUP_ANNOTATION}]={name}")
        words, causes = f"Create PodGroup {pod.namespace}/{name}", ("podgroup-missing",)
        # By hand only where the controller would not make it for new pods.
        by_hand = any(line.repairs for line in situation.explanation.advised)
        kind = fix.FixKind.OWN_SETTINGS if by_hand else fix.FixKind.REPAIR
        yield fix.Fix(words, tuple(edits), AdviceHarm.JOB, causes, stated_kind=kind, aspect="group")


def _propose_missing_pod_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """The usable pods that the gang or one of its roles lacks, like those that there are; a quota that keeps them out
    is raised first.
    """
    group, job, like = situation.pod_group, situation.job, situation.model_pod
    assert group is not None
    if job is None or situation.created_later is not None:
        return
    short = {least.name: least.least - least.have for least in job.valid_roles() if not least.is_reached}
    of_roles = sum(short.values())  # exact: ints
    # Pods of the missing roles count for minMember too.
    of_any = max(group.min_member - job.valid_task_num() - of_roles, 0)
    missing = of_roles + of_any
    who = f"role {' and '.join(short)}" if short else "the gang"
    if like is not None and 0 < missing <= _MAX_ADDED_PODS:
        roles = [role for role, lacking in short.items() for _ in range(lacking)] + [""] * of_any
        names = [(f"{like.key}-added-{number}", role) for number, role in enumerate(roles, start=1)]
        edits = tuple(edit for name, role in names for edit in _iter_copy_edits(like, name, role))
        words = f"create the {count_noun(missing, 'missing pod')} of {who} (like {like.name})"
        wanted = resourcequota.pod_quota_amounts(like)
        yield _missing_pods_fix(situation, words, edits, _raised_quotas(situation, missing, wanted))
    elif like is None and missing:
        snapshot, uid = situation.snapshot, situation.explanation.job
        assumed = fix.placeholder_pods(snapshot, snapshot, uid)
        if assumed is not None:
            wanted = resourcequota.minimum_quota_amounts(group.min_resource_list or {}, group.min_member)
            raised = _raised_quotas(situation, missing, wanted)
            # Without a quota in the way it is for its controller to say why it has no pods.
            if raised:
                yield _missing_pods_fix(situation, f"create {assumed.words}", assumed.edits, raised)


def _raised_quotas(
    situation: fix.FixSituation, missing: int, wanted: Mapping[str, int]
) -> list[tuple[resourcequota.ExhaustedQuota, str]]:
    """The quotas without room for a missing pod, with the limit that has room for all."""
    namespace = situation.explanation.job.partition("/")[0]
    full = resourcequota.exhausted_quotas(situation.recording, namespace, wanted)
    return [(one, one.raised_hard(missing)) for one in full if one.wanted]


def _missing_pods_fix(
    situation: fix.FixSituation,
    words: str,
    edits: tuple[str, ...],
    raised: Sequence[tuple[resourcequota.ExhaustedQuota, str]],
) -> fix.Fix:
    """Create pods; a quota that has no room for them is raised first, which lets their controller create them."""
    namespace = situation.explanation.job.partition("/")[0]
    more = (edit for one, hard in raised for edit in resourcequota.quota_edits(namespace, one.quota, one.name, hard))
    changes = [f"ResourceQuota {one.quota}: hard.{one.name} {one.hard} -> {hard}" for one, hard in raised]
    shown = f"{join_names(changes)}; then {words}" if changes else capitalize_first(words)
    harm = AdviceHarm.QUEUE if changes else AdviceHarm.JOB
    kind = fix.FixKind.REPAIR
    return fix.Fix(shown, (*more, *edits), harm, ("not-enough-pods",), stated_kind=kind, aspect="pods")


def _iter_copy_edits(model: Pod, name: str, role: str) -> Iterator[str]:
    yield f"Pod/{name}:+={model.key}"
    if model.node_name:
        yield f"Pod/{name}:spec.nodeName-"
    if model.deleting:
        yield f"Pod/{name}:metadata.deletionTimestamp-"
    if model.phase != "Pending":
        yield f"Pod/{name}:status.phase=Pending"
    if role and role != model.task_role:
        yield f"Pod/{name}:metadata.annotations[{TASK_SPEC_KEY}]={role}"


def _propose_role_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Smaller minimums of roles, or none where nothing is left of the role."""
    group = situation.pod_group
    assert group is not None
    usable = situation.job.usable_by_role() if situation.job is not None else {}
    for role, least in group.min_task_member.items():
        if not role:
            continue
        path = f"{situation.group_path}:spec.minTaskMember[{role}]"
        # With no pod of the role, every smaller minimum fails as well.
        if least > 0 and not usable.get(role):
            words = f"{situation.explanation.job}: remove role {role} from minTaskMember (0 of {least} pods exist)"
            kind = fix.FixKind.REPAIR
            yield fix.Fix(words, (f"{path}-",), AdviceHarm.JOB, _GANG_CAUSES, stated_kind=kind, aspect=f"role {role}")
        elif least > 0:
            words = f"{situation.explanation.job}: minTaskMember of {role} {least} -> {fix.AMOUNT_BLANK}"
            yield fix.Fix(
                words,
                (f"{path}={fix.AMOUNT_BLANK}",),
                AdviceHarm.JOB,
                _GANG_CAUSES,
                fix.AmountRange(least, 0),
                stated_kind=fix.FixKind.SMALLER,
                aspect=f"role {role}",
            )


def _propose_minimum_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """A smaller gang: the largest that fits is wanted; below the sum of its roles it is another thing."""
    group = situation.pod_group
    assert group is not None
    edit = (f"{situation.group_path}:spec.minMember={fix.AMOUNT_BLANK}",)
    order = situation.created_later
    if order is not None and situation.job is not None:
        now = situation.job.valid_task_num()
        words = (
            f"{situation.explanation.job}: minMember {group.min_member} -> {now} ({order.first} then starts, and "
            f"{order.role} is created)"
        )
        edits, kind = (f"{situation.group_path}:spec.minMember={now}",), fix.FixKind.REPAIR
        yield fix.Fix(words, edits, AdviceHarm.JOB, _GANG_CAUSES, stated_kind=kind, aspect="minMember")
        return
    roles = sum(group.min_task_member.values())  # exact: ints
    # Below the sum of the roles upstream ignores the roles, which is another change than a smaller gang.
    least = max(1, roles)
    if group.min_member > least:
        words = (
            f"{situation.explanation.job}: minMember {group.min_member} -> {fix.AMOUNT_BLANK} (starts with fewer pods)"
        )
        amount, kind = fix.AmountRange(group.min_member, least), fix.FixKind.SMALLER
        yield fix.Fix(words, edit, AdviceHarm.JOB, _GANG_CAUSES, amount, stated_kind=kind, aspect="minMember")
    if group.min_member >= roles > 1:
        words = (
            f"Bypass: minMember {group.min_member} -> {fix.AMOUNT_BLANK} of {situation.explanation.job} (below the "
            f"minTaskMember total {roles}, so role minimums are ignored)"
        )
        yield fix.Fix(
            words, edit, AdviceHarm.JOB, _GANG_CAUSES, fix.AmountRange(roles, 1), stated_kind=fix.FixKind.BYPASS
        )


def _propose_admission_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Ask for less, or for nothing, before the job is admitted."""
    group = situation.pod_group
    assert group is not None
    if group.min_resource_list:
        edits = (f"{situation.group_path}:spec.minResources-",)
        yield fix.Fix(
            f"Bypass: remove spec.minResources of {situation.explanation.job} (skips the admission check)",
            edits,
            AdviceHarm.JOB,
            _ENQUEUE_CAUSES,
            stated_kind=fix.FixKind.BYPASS,
            aspect="minResources",
        )
    if not situation.has_pods:
        yield from _propose_fewer_first_fixes(situation, group)
    yield from _propose_followed_minimum_fixes(situation, group)
    for resource, present in fix.known_amounts(group.min_resource_list).items():
        amount = None if resourcequota.is_quota_count(resource) else fix.smaller_amount(resource, present)
        if amount is not None:
            change = f"minResources.{resource} {amount.format_amount(present)} -> {fix.AMOUNT_BLANK}"
            small = f"Submit {situation.explanation.job} with {change} and smaller pods"
            words = f"{situation.explanation.job}: {change} (pods unchanged)" if situation.has_pods else small
            edits = (f"{situation.group_path}:spec.minResources{field_step(resource)}={fix.AMOUNT_BLANK}",)
            aspect = f"minResources of {resource}"
            kind = None if situation.has_pods else fix.FixKind.SMALLER
            yield fix.Fix(words, edits, AdviceHarm.JOB, _ENQUEUE_CAUSES, amount, stated_kind=kind, aspect=aspect)


def _propose_followed_minimum_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """minResources as the pods ask, where all are there and it states more: no controller has updated it."""
    pods = [task.pod for task in situation.job.tasks.values()] if situation.job is not None else []
    edits, changes = [], []
    if len(pods) < group.min_member or not group.is_made_for_pods():
        return
    for resource, present in fix.known_amounts(group.min_resource_list).items():
        asked = fix.total_request(pods, resource)
        if present > asked and not resourcequota.is_quota_count(resource):
            was, now = (fix.AmountRange(0, 0, fix.unit_of(resource)).format_amount(each) for each in (present, asked))
            edits.append(f"{situation.group_path}:spec.minResources{field_step(resource)}={now}")
            changes.append(f"minResources.{resource} {was} -> {now}")
    if edits:
        words = f"{situation.explanation.job}: {join_names(changes)} (as its pods ask)"
        kind, aspect = fix.FixKind.REPAIR, "minResources"
        yield fix.Fix(words, tuple(edits), AdviceHarm.JOB, _ENQUEUE_CAUSES, stated_kind=kind, aspect=aspect)


def _propose_fewer_first_fixes(situation: fix.FixSituation, group: PodGroup) -> Iterator[fix.Fix]:
    """Fewer pods of one kind that have to start together, before any is there: minResources follows minMember."""
    least, stated = group.min_member, fix.known_amounts(group.min_resource_list)
    alike = len(group.min_task_member) <= 1 and all(each == least for each in group.min_task_member.values())
    if not stated or not alike or not 1 < least <= _MAX_ADDED_PODS:
        return
    # Whole subgroups: a part of one cannot start.
    step = max((each.sub_group_size or 1 for each in group.sub_group_policies), default=1)
    fewest = step * max((each.min_sub_groups for each in group.sub_group_policies), default=1)
    sizes = []
    for count in range((least - 1) // step * step, fewest - 1, -step):
        edits = [f"{situation.group_path}:spec.minMember={count}"]
        edits += [f"{situation.group_path}:spec.minTaskMember[{role}]={count}" for role in group.min_task_member]
        for resource, present in stated.items():
            amount = fix.AmountRange(0, 0, fix.unit_of(resource)).format_amount(present * count // least)
            edits.append(f"{situation.group_path}:spec.minResources{field_step(resource)}={amount}")
        sizes.append(fix.FixSize(str(count), tuple(edits)))
    words = f"{situation.explanation.job}: minMember {least} -> {fix.AMOUNT_BLANK}, minResources in proportion"
    kind = fix.FixKind.SMALLER
    change = fix.Fix(words, (), AdviceHarm.JOB, _ENQUEUE_CAUSES, stated_kind=kind, aspect="minMember")
    if sizes:
        yield change.with_sizes(*sizes)


_TOPOLOGY_CAUSES = ("no-hypernode", "gang-discard", "predicates-*", "network-topology*")


def _propose_topology_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    group = situation.pod_group
    if group is None:
        return
    tiers = [int(spec_of(m).get("tier") or 0) for m in situation.snapshot.objects_of("HyperNode")]
    policies = enumerate(one.network_topology for one in group.sub_group_policies)
    stated = [("", group.network_topology), *((f"subGroupPolicy[{at}].", one) for at, one in policies)]
    for where, topology in stated:
        field = f"{where}networkTopology"
        if topology is None or topology.mode != "hard":
            continue
        words, path = f"{situation.explanation.job}: {field}", f"{situation.group_path}:spec.{field}"
        allowed = topology.highest_tier_allowed
        if allowed is not None and tiers and max(tiers) > allowed:
            edit, amount = f"{path}.highestTierAllowed={fix.AMOUNT_BLANK}", fix.AmountRange(allowed, max(tiers))
            more = f"{words}.highestTierAllowed {allowed} -> {fix.AMOUNT_BLANK}"
            yield fix.Fix(more, (edit,), AdviceHarm.JOB, _TOPOLOGY_CAUSES, amount, aspect=field)
        soft = (f"{words}.mode hard -> soft", (f"{path}.mode=soft",))
        yield fix.Fix(*soft, AdviceHarm.JOB, _TOPOLOGY_CAUSES, aspect=field)


def _propose_priority_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """The next higher priority classes that are there."""
    classes = sorted(
        (int(m.get("value") or 0), name_of(m))
        for m in situation.snapshot.objects_of("PriorityClass")
        if not name_of(m).startswith("system-")
    )
    present = situation.job.priority if situation.job is not None else _stated_priority(situation)
    higher = [(value, name) for value, name in classes if value > present]
    # The next class is the mildest change, and the highest one shows whether priority can help at all.
    for value, name in dict.fromkeys((*higher[:1], *higher[-1:])):
        words = f"Submit {situation.explanation.job} with PriorityClass {name} ({value})"
        edits = _priority_edits(situation, name, value)
        yield fix.Fix(words, edits, AdviceHarm.JOB, _EVICTION_CAUSES, aspect="priority")
    yield from _propose_new_priority_fixes(situation, present)
    never = tuple(pod for pod in situation.pending_pods if pod.spec.get("preemptionPolicy") == "Never")
    if never:
        edits = fix.pod_edits(never, "spec.preemptionPolicy=PreemptLowerPriority")
        words = f"{situation.explanation.job}: preemptionPolicy -> PreemptLowerPriority"
        yield fix.Fix(words, edits, AdviceHarm.JOB, ("preemption-policy-*",), aspect="policy")


def _propose_new_priority_fixes(situation: fix.FixSituation, present: int) -> Iterator[fix.Fix]:
    """A priority above the jobs of the queue that this cycle placed first, or above the lowest one that may not be
    evicted for it.
    """
    if situation.job is None:
        return
    first = {job.uid: job.priority for job in situation.placed_before}
    passed = max(first.values(), default=present - 1)
    vetoes = (situation.explanation.dominant, *situation.explanation.contributing)
    lowest = next((one.numbers[VICTIM_PRIORITY] for one in vetoes if VICTIM_PRIORITY in one.numbers), None)
    whose = {
        passed: (f", the priority of {join_names(first)}", ("predicates-mixed", "given-away")),
        **({int(lowest.value): (" (the lowest of the candidate victims)", (PRIORITY,))} if lowest is not None else {}),
    }
    for value, (words, causes) in whose.items():
        if value < present:
            continue
        name = f"above-{value}"
        created = f"PriorityClass/{name}:+={{apiVersion: scheduling.k8s.io/v1, value: {value + 1}}}"
        edits = (created, *_priority_edits(situation, name, value + 1))
        said = f"Submit {situation.explanation.job} with a PriorityClass above {value}{words}"
        yield fix.Fix(said, edits, AdviceHarm.JOB, causes, aspect="priority")


def _priority_edits(situation: fix.FixSituation, name: str, value: int) -> tuple[str, ...]:
    """Give the PodGroup and its waiting pods a priority class of this value."""
    return (
        f"{situation.group_path}:spec.priorityClassName={name}",
        *fix.pod_edits(situation.pending_pods, f"spec.priority={value}"),
        *fix.pod_edits(situation.pending_pods, f"spec.priorityClassName={name}"),
    )


def _stated_priority(situation: fix.FixSituation) -> int:
    """Of a job that the session never saw."""
    return max((int(pod.spec.get("priority") or 0) for pod in situation.pending_pods), default=0)


def _propose_queue_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Open queues without children."""
    parents = {name_of(m): spec_of(m).get("parent") for m in situation.snapshot.objects_of("Queue")}
    open_ = [name_of(m) for m in situation.snapshot.objects_of("Queue") if status_of(m).get("state") == "Open"]
    # Jobs are placed in leaf queues only.
    others = [name for name in open_ if name not in (situation.queue_name, "root") and name not in parents.values()]
    # A job in a queue with children was meant for one of them.
    others.sort(key=lambda name: parents[name] != situation.queue_name)
    for name in others[:_MAX_QUEUES]:
        edits, is_child = (f"{situation.group_path}:spec.queue={name}",), parents[name] == situation.queue_name
        words = f"{'Move' if is_child else 'Bypass: move'} {situation.explanation.job} to queue {name}"
        kind = fix.FixKind.REPAIR if is_child else fix.FixKind.BYPASS
        shown = f"{words}, a child of {situation.queue_name}" if is_child else words
        yield fix.Fix(shown, edits, AdviceHarm.JOB, _OTHER_QUEUE_CAUSES, stated_kind=kind)


def _propose_gate_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    gated = tuple(pod for pod in situation.pending_pods if pod.spec.get("schedulingGates"))
    if gated:
        edits = fix.pod_edits(gated, "spec.schedulingGates-")
        names = ", ".join(dict.fromkeys(gate["name"] for pod in gated for gate in pod.spec["schedulingGates"]))
        words = f"Remove scheduling gates {names} from {count_noun(len(gated), 'pod')}"
        yield fix.Fix(words, edits, AdviceHarm.JOB, ("scheduling-gate", "not-enough-pods"), aspect="gates")
