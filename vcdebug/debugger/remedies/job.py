"""What the owner of a job can change about the job itself."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import plural
from vcdebug.debugger.remedies.amounts import field, known, less_of
from vcdebug.debugger.remedies.lever import BLANK, Amount, Lever, Situation, pod_edits
from vcdebug.explain.answer import Harm
from vcdebug.model.pod import GROUP_ANNOTATION, TASK_SPEC_KEY, Pod
from vcdebug.plugins import DRF, GANG, PRIORITY
from vcdebug.snapshot.manifest import name_of, spec_of, status_of

_MOST_PODS = 32
"""Pods that are added at most."""
_GANG = ("gang-discard", "not-enough-pods", "scheduling-gate", "predicates-*", "larger-than-any-node", "no-hypernode")
_ENQUEUE = ("enqueue-*", "queue-capability", "enqueue-resourcequota")
_QUEUES = ("enqueue-queue-quota", "queue-*", "overused", "gang-discard", "victims-not-above-deserved", "preemptive")
_OTHER_QUEUES = (*_QUEUES, "predicates-mixed")
_COUNTED = ("requests.", "limits.", "count/")
_MOST_QUEUES = 6
_EVICTION = ("victims-not-preemptable", PRIORITY, DRF, "action-not-configured", GANG, "not-starving")


def of_job(situation: Situation) -> Iterator[Lever]:
    """Levers on the PodGroup."""
    yield from _this_scheduler(situation)
    yield from _bound_by_nobody_else(situation)
    if situation.group is None:
        yield from _own_group(situation)
        return
    yield from _roles(situation)
    yield from _minimum(situation)
    yield from _missing_pods(situation)
    yield from _admission(situation)
    yield from _topology(situation)
    yield from _priority(situation)
    yield from _other_queue(situation)
    yield from _gates(situation)


def _this_scheduler(situation: Situation) -> Iterator[Lever]:
    names = situation.snapshot.flags.scheduler_names
    others = tuple(pod for pod in situation.waiting if pod.scheduler_name not in names)
    if others and names:
        edits = pod_edits(others, f"spec.schedulerName={names[0]}")
        words = f"let Volcano schedule {plural(len(others), 'pod')}: schedulerName {names[0]}"
        yield Lever(words, edits, Harm.JOB, ("other-scheduler",), aspect="scheduler")


def _bound_by_nobody_else(situation: Situation) -> Iterator[Lever]:
    """One scheduler per pod."""
    twice = tuple(pod for pod in situation.waiting if pod.key in situation.snapshot.bound)
    if twice:
        edits = tuple(f"replay:bound[{pod.key}]-" for pod in twice)
        words = f"let nobody else bind {plural(len(twice), 'pod')} (a second scheduler, or somebody by hand)"
        yield Lever(words, edits, Harm.JOB, ("bound-elsewhere",))


def _own_group(situation: Situation) -> Iterator[Lever]:
    """The PodGroup that the pods name, or one for a pod that names none."""
    phase = "Pending" if ENQUEUE in situation.recording.conf.actions else "Inqueue"
    for pod in situation.waiting[:1]:
        job = situation.explanation.job
        name = job.partition("/")[2] if pod.job_id else f"podgroup-{pod.name}"
        spec = f"{{minMember: 1, queue: {situation.snapshot.flags.default_queue}}}"
        manifest = f"{{apiVersion: scheduling.volcano.sh/v1beta1, spec: {spec}, status: {{phase: {phase}}}}}"
        edits = [f"PodGroup/{pod.namespace}/{name}:+={manifest}"]
        if not pod.job_id:
            edits.append(f"Pod/{pod.key}:metadata.annotations[{GROUP_ANNOTATION}]={name}")
        words = f"create PodGroup {pod.namespace}/{name}"
        yield Lever(words, tuple(edits), Harm.JOB, ("podgroup-missing",), aspect="group")


def _missing_pods(situation: Situation) -> Iterator[Lever]:
    """The usable pods that the gang or one of its roles lacks, like those that there are."""
    group, job, like = situation.group, situation.job, situation.likeness
    assert group is not None
    if like is None or job is None:
        return
    short = {least.name: least.least - least.have for least in job.valid_roles() if not least.holds}
    of_roles = sum(short.values())  # exact: ints
    of_any = max(group.min_member - job.valid_task_num() - of_roles, 0)
    if 0 < of_roles + of_any <= _MOST_PODS:
        roles = [role for role, missing in short.items() for _ in range(missing)] + [""] * of_any
        names = [(f"{like.key}-added-{number}", role) for number, role in enumerate(roles, start=1)]
        edits = tuple(edit for name, role in names for edit in _like(like, name, role))
        who = f"role {' and '.join(short)}" if short else "the gang"
        words = f"let its controller create the {plural(len(roles), 'pod')} that {who} lacks, like {like.name}"
        yield Lever(words, edits, Harm.JOB, ("not-enough-pods",), aspect="pods")


def _like(model: Pod, name: str, role: str) -> Iterator[str]:
    """A pod like another one, as it is when it has just been made."""
    yield f"Pod/{name}:+={model.key}"
    if model.node_name:
        yield f"Pod/{name}:spec.nodeName-"
    if model.deleting:
        yield f"Pod/{name}:metadata.deletionTimestamp-"
    if model.phase != "Pending":
        yield f"Pod/{name}:status.phase=Pending"
    if role and role != model.task_role:
        yield f"Pod/{name}:metadata.annotations[{TASK_SPEC_KEY}]={role}"


def _roles(situation: Situation) -> Iterator[Lever]:
    """Smaller minimums of roles, or none where nothing is left of the role."""
    group = situation.group
    assert group is not None
    usable = situation.job.usable_by_role() if situation.job is not None else {}
    for role, least in group.min_task_member.items():
        if not role:
            continue
        path = f"{situation.group_path}:spec.minTaskMember[{role}]"
        if least > 0 and not usable.get(role):
            words = f"take role {role} out of minTaskMember: none of its {least} pods is there"
            yield Lever(words, (f"{path}-",), Harm.JOB, _GANG, aspect=f"role {role}")
        elif least > 0:
            words = f"start with fewer pods of role {role}: minTaskMember {BLANK} instead of {least}"
            yield Lever(
                words, (f"{path}={BLANK}",), Harm.JOB, _GANG, Amount(least, 0), less=True, aspect=f"role {role}"
            )


def _minimum(situation: Situation) -> Iterator[Lever]:
    """A smaller gang: the largest that fits is wanted; below the sum of its roles it is another thing."""
    group = situation.group
    assert group is not None
    edit = (f"{situation.group_path}:spec.minMember={BLANK}",)
    roles = sum(group.min_task_member.values())  # exact: ints
    least = max(1, roles)
    if group.min_member > least:
        words = f"start with fewer pods: minMember {BLANK} instead of {group.min_member}"
        yield Lever(words, edit, Harm.JOB, _GANG, Amount(group.min_member, least), less=True, aspect="minMember")
    if group.min_member >= roles > 1:
        words = (
            f"lower minMember from {group.min_member} to {BLANK}, below the {roles} that minTaskMember adds up to: "
            "roles are then not counted"
        )
        yield Lever(words, edit, Harm.JOB, _GANG, Amount(roles, 1), less=True)


def _admission(situation: Situation) -> Iterator[Lever]:
    """Ask for less, or for nothing, before the job is admitted."""
    group = situation.group
    assert group is not None
    if group.min_resource_list:
        edits = (f"{situation.group_path}:spec.minResources-",)
        yield Lever(
            "leave minResources out, so that admission does not count it",
            edits,
            Harm.JOB,
            _ENQUEUE,
            aspect="minResources",
        )
    for resource, present in known(group.min_resource_list).items():
        amount = None if resource.startswith(_COUNTED) or resource == "pods" else less_of(resource, present)
        if amount is not None:
            told = f"{BLANK} instead of {amount.text(present)} {resource}"
            small = f"submit it smaller: {told} as minResources, and pods to match"
            words = f"count {told} as minResources: its pods stay as they are" if situation.has_pods else small
            edits = (f"{situation.group_path}:spec.minResources{field(resource)}={BLANK}",)
            aspect = f"minResources of {resource}"
            yield Lever(words, edits, Harm.JOB, _ENQUEUE, amount, less=not situation.has_pods, aspect=aspect)


def _topology(situation: Situation) -> Iterator[Lever]:
    """A wider or softer network topology."""
    group = situation.group
    if group is None or group.network_topology is None or group.network_topology.mode != "hard":
        return
    tiers = [int(spec_of(m).get("tier") or 0) for m in situation.snapshot.of("HyperNode")]
    allowed = group.network_topology.highest_tier_allowed
    causes = ("no-hypernode", "gang-discard", "predicates-*", "network-topology*")
    if allowed is not None and tiers and max(tiers) > allowed:
        words = f"let the job spread wider: highestTierAllowed {BLANK} instead of {allowed}"
        edit = f"{situation.group_path}:spec.networkTopology.highestTierAllowed={BLANK}"
        yield Lever(words, (edit,), Harm.JOB, causes, Amount(allowed, max(tiers)))
    edits = (f"{situation.group_path}:spec.networkTopology.mode=soft",)
    yield Lever("make the network topology a wish: mode soft", edits, Harm.JOB, causes, aspect="topology")


def _priority(situation: Situation) -> Iterator[Lever]:
    """The next higher priority classes that are there."""
    classes = sorted(
        (int(m.get("value") or 0), name_of(m))
        for m in situation.snapshot.of("PriorityClass")
        if not name_of(m).startswith("system-")
    )
    present = situation.job.priority if situation.job is not None else _stated_priority(situation)
    higher = [(value, name) for value, name in classes if value > present]
    for value, name in dict.fromkeys((*higher[:1], *higher[-1:])):
        change = f"spec.priority={value}"
        edits = (
            f"{situation.group_path}:spec.priorityClassName={name}",
            *pod_edits(situation.waiting, change),
            *pod_edits(situation.waiting, f"spec.priorityClassName={name}"),
        )
        yield Lever(f"submit it with priority class {name} ({value})", edits, Harm.JOB, _EVICTION, aspect="priority")
    never = tuple(pod for pod in situation.waiting if pod.spec.get("preemptionPolicy") == "Never")
    if never:
        edits = pod_edits(never, "spec.preemptionPolicy=PreemptLowerPriority")
        yield Lever(
            "let it preempt: preemptionPolicy PreemptLowerPriority",
            edits,
            Harm.JOB,
            ("preemption-policy-*",),
            aspect="policy",
        )


def _stated_priority(situation: Situation) -> int:
    """Of a job that the session never saw."""
    return max((int(pod.spec.get("priority") or 0) for pod in situation.waiting), default=0)


def _other_queue(situation: Situation) -> Iterator[Lever]:
    """Open queues without children."""
    parents = {spec_of(m).get("parent") for m in situation.snapshot.of("Queue")}
    open_ = [name_of(m) for m in situation.snapshot.of("Queue") if status_of(m).get("state") == "Open"]
    others = [name for name in open_ if name not in (situation.queue, "root") and name not in parents]
    for name in others[:_MOST_QUEUES]:
        edits = (f"{situation.group_path}:spec.queue={name}",)
        yield Lever(f"submit it to queue {name}", edits, Harm.JOB, _OTHER_QUEUES)


def _gates(situation: Situation) -> Iterator[Lever]:
    gated = tuple(pod for pod in situation.waiting if pod.spec.get("schedulingGates"))
    if gated:
        edits = pod_edits(gated, "spec.schedulingGates-")
        names = ", ".join(dict.fromkeys(gate["name"] for pod in gated for gate in pod.spec["schedulingGates"]))
        words = f"lift the scheduling gates ({names}) of {plural(len(gated), 'pod')}"
        yield Lever(words, edits, Harm.JOB, ("scheduling-gate", "not-enough-pods"), aspect="gates")
