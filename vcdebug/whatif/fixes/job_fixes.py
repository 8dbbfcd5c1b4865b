"""Fixes of the job owner: the job itself."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import count_noun
from vcdebug.explain.answer import AdviceHarm
from vcdebug.model.pod import GROUP_ANNOTATION, TASK_SPEC_KEY, Pod
from vcdebug.plugins import DRF, GANG, PRIORITY
from vcdebug.snapshot.manifest import name_of, spec_of, status_of
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
_QUOTA_PREFIXES = ("requests.", "limits.", "count/")
_MAX_QUEUES = 6
_EVICTION_CAUSES = ("victims-not-preemptable", PRIORITY, DRF, "action-not-configured", GANG, "not-starving")


def propose_job_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Fixes on the PodGroup."""
    yield from _propose_scheduler_fixes(situation)
    yield from _propose_double_binding_fixes(situation)
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
        yield fix.Fix(words, edits, AdviceHarm.JOB, ("other-scheduler",), aspect="scheduler")


def _propose_double_binding_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    twice = tuple(pod for pod in situation.pending_pods if pod.key in situation.snapshot.bound)
    if twice:
        edits = tuple(f"replay:bound[{pod.key}]-" for pod in twice)
        words = f"Stop other schedulers from binding {count_noun(len(twice), 'pod')}"
        yield fix.Fix(words, edits, AdviceHarm.JOB, ("bound-elsewhere",))


def _propose_group_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """The PodGroup that the pods name, or one for a pod that names none."""
    # Without enqueue among the actions no action admits a Pending PodGroup.
    phase = "Pending" if ENQUEUE in situation.recording.conf.actions else "Inqueue"
    for pod in situation.pending_pods[:1]:
        job = situation.explanation.job
        name = job.partition("/")[2] if pod.job_id else f"podgroup-{pod.name}"
        spec = f"{{minMember: 1, queue: {situation.snapshot.flags.default_queue}}}"
        manifest = f"{{apiVersion: scheduling.volcano.sh/v1beta1, spec: {spec}, status: {{phase: {phase}}}}}"
        edits = [f"PodGroup/{pod.namespace}/{name}:+={manifest}"]
        if not pod.job_id:
            edits.append(f"Pod/{pod.key}:metadata.annotations[{GROUP_ANNOTATION}]={name}")
        words = f"Create PodGroup {pod.namespace}/{name}"
        yield fix.Fix(words, tuple(edits), AdviceHarm.JOB, ("podgroup-missing",), aspect="group")


def _propose_missing_pod_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """The usable pods that the gang or one of its roles lacks, like those that there are."""
    group, job, like = situation.pod_group, situation.job, situation.model_pod
    assert group is not None
    if like is None or job is None:
        return
    short = {least.name: least.least - least.have for least in job.valid_roles() if not least.is_reached}
    of_roles = sum(short.values())  # exact: ints
    # Pods of the missing roles count for minMember too.
    of_any = max(group.min_member - job.valid_task_num() - of_roles, 0)
    if 0 < of_roles + of_any <= _MAX_ADDED_PODS:
        roles = [role for role, missing in short.items() for _ in range(missing)] + [""] * of_any
        names = [(f"{like.key}-added-{number}", role) for number, role in enumerate(roles, start=1)]
        edits = tuple(edit for name, role in names for edit in _iter_copy_edits(like, name, role))
        who = f"role {' and '.join(short)}" if short else "the gang"
        words = f"Create the {count_noun(len(roles), 'missing pod')} of {who} (like {like.name})"
        yield fix.Fix(words, edits, AdviceHarm.JOB, ("not-enough-pods",), aspect="pods")


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
            yield fix.Fix(words, (f"{path}-",), AdviceHarm.JOB, _GANG_CAUSES, aspect=f"role {role}")
        elif least > 0:
            words = f"{situation.explanation.job}: minTaskMember of {role} {least} -> {fix.AMOUNT_BLANK}"
            yield fix.Fix(
                words,
                (f"{path}={fix.AMOUNT_BLANK}",),
                AdviceHarm.JOB,
                _GANG_CAUSES,
                fix.AmountRange(least, 0),
                less=True,
                aspect=f"role {role}",
            )


def _propose_minimum_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """A smaller gang: the largest that fits is wanted; below the sum of its roles it is another thing."""
    group = situation.pod_group
    assert group is not None
    edit = (f"{situation.group_path}:spec.minMember={fix.AMOUNT_BLANK}",)
    roles = sum(group.min_task_member.values())  # exact: ints
    # Below the sum of the roles upstream ignores the roles, which is another change than a smaller gang.
    least = max(1, roles)
    if group.min_member > least:
        words = (
            f"{situation.explanation.job}: minMember {group.min_member} -> {fix.AMOUNT_BLANK} (starts with fewer pods)"
        )
        yield fix.Fix(
            words,
            edit,
            AdviceHarm.JOB,
            _GANG_CAUSES,
            fix.AmountRange(group.min_member, least),
            less=True,
            aspect="minMember",
        )
    if group.min_member >= roles > 1:
        words = (
            f"Bypass: minMember {group.min_member} -> {fix.AMOUNT_BLANK} of {situation.explanation.job} (below the "
            f"minTaskMember total {roles}, so role minimums are ignored)"
        )
        yield fix.Fix(words, edit, AdviceHarm.JOB, _GANG_CAUSES, fix.AmountRange(roles, 1), less=True)


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
            aspect="minResources",
        )
    for resource, present in fix.known_amounts(group.min_resource_list).items():
        amount = (
            None
            if resource.startswith(_QUOTA_PREFIXES) or resource == "pods"
            else fix.smaller_amount(resource, present)
        )
        if amount is not None:
            change = f"minResources.{resource} {amount.format_amount(present)} -> {fix.AMOUNT_BLANK}"
            small = f"Submit {situation.explanation.job} with {change} and smaller pods"
            words = f"{situation.explanation.job}: {change} (pods unchanged)" if situation.has_pods else small
            edits = (f"{situation.group_path}:spec.minResources{fix.field_step(resource)}={fix.AMOUNT_BLANK}",)
            aspect = f"minResources of {resource}"
            yield fix.Fix(
                words, edits, AdviceHarm.JOB, _ENQUEUE_CAUSES, amount, less=not situation.has_pods, aspect=aspect
            )


def _propose_topology_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    group = situation.pod_group
    if group is None or group.network_topology is None or group.network_topology.mode != "hard":
        return
    tiers = [int(spec_of(m).get("tier") or 0) for m in situation.snapshot.objects_of("HyperNode")]
    allowed = group.network_topology.highest_tier_allowed
    causes = ("no-hypernode", "gang-discard", "predicates-*", "network-topology*")
    if allowed is not None and tiers and max(tiers) > allowed:
        words = f"{situation.explanation.job}: networkTopology.highestTierAllowed {allowed} -> {fix.AMOUNT_BLANK}"
        edit = f"{situation.group_path}:spec.networkTopology.highestTierAllowed={fix.AMOUNT_BLANK}"
        yield fix.Fix(words, (edit,), AdviceHarm.JOB, causes, fix.AmountRange(allowed, max(tiers)))
    edits = (f"{situation.group_path}:spec.networkTopology.mode=soft",)
    yield fix.Fix(
        f"{situation.explanation.job}: networkTopology.mode hard -> soft",
        edits,
        AdviceHarm.JOB,
        causes,
        aspect="topology",
    )


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
        change = f"spec.priority={value}"
        edits = (
            f"{situation.group_path}:spec.priorityClassName={name}",
            *fix.pod_edits(situation.pending_pods, change),
            *fix.pod_edits(situation.pending_pods, f"spec.priorityClassName={name}"),
        )
        yield fix.Fix(
            f"Submit {situation.explanation.job} with PriorityClass {name} ({value})",
            edits,
            AdviceHarm.JOB,
            _EVICTION_CAUSES,
            aspect="priority",
        )
    never = tuple(pod for pod in situation.pending_pods if pod.spec.get("preemptionPolicy") == "Never")
    if never:
        edits = fix.pod_edits(never, "spec.preemptionPolicy=PreemptLowerPriority")
        yield fix.Fix(
            f"{situation.explanation.job}: preemptionPolicy -> PreemptLowerPriority",
            edits,
            AdviceHarm.JOB,
            ("preemption-policy-*",),
            aspect="policy",
        )


def _stated_priority(situation: fix.FixSituation) -> int:
    """Of a job that the session never saw."""
    return max((int(pod.spec.get("priority") or 0) for pod in situation.pending_pods), default=0)


def _propose_queue_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    """Open queues without children."""
    parents = {spec_of(m).get("parent") for m in situation.snapshot.objects_of("Queue")}
    open_ = [name_of(m) for m in situation.snapshot.objects_of("Queue") if status_of(m).get("state") == "Open"]
    # Jobs are placed in leaf queues only.
    others = [name for name in open_ if name not in (situation.queue_name, "root") and name not in parents]
    for name in others[:_MAX_QUEUES]:
        edits = (f"{situation.group_path}:spec.queue={name}",)
        yield fix.Fix(
            f"Bypass: move {situation.explanation.job} to queue {name}", edits, AdviceHarm.JOB, _OTHER_QUEUE_CAUSES
        )


def _propose_gate_fixes(situation: fix.FixSituation) -> Iterator[fix.Fix]:
    gated = tuple(pod for pod in situation.pending_pods if pod.spec.get("schedulingGates"))
    if gated:
        edits = fix.pod_edits(gated, "spec.schedulingGates-")
        names = ", ".join(dict.fromkeys(gate["name"] for pod in gated for gate in pod.spec["schedulingGates"]))
        words = f"Remove scheduling gates {names} from {count_noun(len(gated), 'pod')}"
        yield fix.Fix(words, edits, AdviceHarm.JOB, ("scheduling-gate", "not-enough-pods"), aspect="gates")
