"""What the owner of a job can change about the job itself."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.debugger.remedies.lever import BLANK, Amount, Harm, Lever, Situation, pod_edits
from vcdebug.explain.amounts import plural
from vcdebug.model.pod import GROUP_ANNOTATION

_MOST_PODS = 32
"""Pods that are added at most."""
_GANG = ("gang-discard", "not-enough-pods", "scheduling-gate", "predicates-*", "larger-than-any-node", "no-hypernode")
_ENQUEUE = ("enqueue-*", "queue-capability", "enqueue-resourcequota")
_QUEUES = ("enqueue-queue-quota", "queue-*", "overused", "gang-discard", "victims-not-above-deserved", "preemptive")
_EVICTION = ("victims-not-preemptable", "priority", "drf", "action-not-configured", "gang", "not-starving")


def of_job(situation: Situation) -> Iterator[Lever]:
    """Levers on the PodGroup."""
    if situation.group is None:
        yield from _own_group(situation)
        return
    yield from _minimum(situation)
    yield from _missing_pods(situation)
    yield from _admission(situation)
    yield from _topology(situation)
    yield from _priority(situation)
    yield from _other_queue(situation)
    yield from _gates(situation)


def _own_group(situation: Situation) -> Iterator[Lever]:
    """The PodGroup that the pods name, or one for a pod that names none."""
    for pod in situation.waiting[:1]:
        job = situation.explanation.job
        name = job.partition("/")[2] if pod.job_id else f"podgroup-{pod.name}"
        spec = f"{{minMember: 1, queue: {situation.snapshot.flags.default_queue}}}"
        manifest = f"{{apiVersion: scheduling.volcano.sh/v1beta1, spec: {spec}, status: {{phase: Inqueue}}}}"
        edits = [f"PodGroup/{pod.namespace}/{name}:+={manifest}"]
        if not pod.job_id:
            edits.append(f"Pod/{pod.key}:metadata.annotations[{GROUP_ANNOTATION}]={name}")
        yield Lever(f"create PodGroup {pod.namespace}/{name}", tuple(edits), Harm.JOB, ("podgroup-missing",))


def _missing_pods(situation: Situation) -> Iterator[Lever]:
    """The pods that the gang lacks, like those that wait."""
    group, job = situation.group, situation.job
    assert group is not None
    missing = group.min_member - (len(job.tasks) if job is not None else 0)
    if situation.waiting and 0 < missing <= _MOST_PODS:
        like = situation.waiting[0]
        names = [f"{like.key}-added-{number}" for number in range(1, missing + 1)]
        edits = tuple(f"Pod/{name}:+={like.key}" for name in names)
        words = f"let its controller create the {plural(missing, 'pod')} that the gang lacks, like {like.name}"
        yield Lever(words, edits, Harm.JOB, ("not-enough-pods",))


def _minimum(situation: Situation) -> Iterator[Lever]:
    """A smaller gang: the largest that fits is wanted."""
    group = situation.group
    assert group is not None
    if group.min_member > 1:
        words = f"start with fewer pods: minMember {BLANK} instead of {group.min_member}"
        edit = f"{situation.group_path}:spec.minMember={BLANK}"
        yield Lever(words, (edit,), Harm.JOB, _GANG, Amount(group.min_member, 1))
    for role, least in group.min_task_member.items():
        if least > 0:
            words = f"start with fewer pods of role {role}: minTaskMember {BLANK} instead of {least}"
            edit = f"{situation.group_path}:spec.minTaskMember[{role}]={BLANK}"
            yield Lever(words, (edit,), Harm.JOB, _GANG, Amount(least, 0))


def _admission(situation: Situation) -> Iterator[Lever]:
    """Ask for less, or for nothing, before the job is admitted."""
    group = situation.group
    assert group is not None
    if group.min_resource_list:
        edits = (f"{situation.group_path}:spec.minResources-",)
        yield Lever("leave minResources out, so that admission does not count it", edits, Harm.JOB, _ENQUEUE)


def _topology(situation: Situation) -> Iterator[Lever]:
    """A wider or softer network topology."""
    group = situation.group
    if group is None or group.network_topology is None or group.network_topology.mode != "hard":
        return
    tiers = [int((m.get("spec") or {}).get("tier") or 0) for m in situation.snapshot.of("HyperNode")]
    allowed = group.network_topology.highest_tier_allowed
    causes = ("no-hypernode", "gang-discard", "predicates-*", "network-topology*")
    if allowed is not None and tiers and max(tiers) > allowed:
        words = f"let the job spread wider: highestTierAllowed {BLANK} instead of {allowed}"
        edit = f"{situation.group_path}:spec.networkTopology.highestTierAllowed={BLANK}"
        yield Lever(words, (edit,), Harm.JOB, causes, Amount(allowed, max(tiers)))
    edits = (f"{situation.group_path}:spec.networkTopology.mode=soft",)
    yield Lever("make the network topology a wish: mode soft", edits, Harm.JOB, causes)


def _priority(situation: Situation) -> Iterator[Lever]:
    """The next higher priority classes that are there."""
    classes = sorted(
        (int(m.get("value") or 0), m["metadata"]["name"])
        for m in situation.snapshot.of("PriorityClass")
        if not m["metadata"]["name"].startswith("system-")
    )
    present = situation.job.priority if situation.job is not None else 0
    higher = [(value, name) for value, name in classes if value > present]
    for value, name in dict.fromkeys((*higher[:1], *higher[-1:])):
        change = f"spec.priority={value}"
        edits = (
            f"{situation.group_path}:spec.priorityClassName={name}",
            *pod_edits(situation.waiting, change),
            *pod_edits(situation.waiting, f"spec.priorityClassName={name}"),
        )
        yield Lever(f"submit it with priority class {name} ({value})", edits, Harm.JOB, _EVICTION)
    never = tuple(pod for pod in situation.waiting if pod.spec.get("preemptionPolicy") == "Never")
    if never:
        edits = pod_edits(never, "spec.preemptionPolicy=PreemptLowerPriority")
        yield Lever("let it preempt: preemptionPolicy PreemptLowerPriority", edits, Harm.JOB, ("preemption-policy-*",))


def _other_queue(situation: Situation) -> Iterator[Lever]:
    """Open queues without children."""
    parents = {(m.get("spec") or {}).get("parent") for m in situation.snapshot.of("Queue")}
    for manifest in situation.snapshot.of("Queue"):
        name = manifest["metadata"]["name"]
        state = (manifest.get("status") or {}).get("state")
        if name not in (situation.queue, "root") and name not in parents and state == "Open":
            edits = (f"{situation.group_path}:spec.queue={name}",)
            yield Lever(f"submit it to queue {name}", edits, Harm.JOB, _QUEUES)


def _gates(situation: Situation) -> Iterator[Lever]:
    gated = tuple(pod for pod in situation.waiting if pod.spec.get("schedulingGates"))
    if gated:
        edits = pod_edits(gated, "spec.schedulingGates-")
        names = ", ".join(dict.fromkeys(gate["name"] for pod in gated for gate in pod.spec["schedulingGates"]))
        words = f"lift the scheduling gates ({names}) of {plural(len(gated), 'pod')}"
        yield Lever(words, edits, Harm.JOB, ("scheduling-gate", "not-enough-pods"))
