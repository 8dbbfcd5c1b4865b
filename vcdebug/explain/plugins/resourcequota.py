"""resourcequota: which quota of the namespace does not hold a job's minimum. Upstream: plugins/resourcequota."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from vcdebug.amount_text import QUOTA_PREFIXES, count_noun, format_unit_amount, is_counted, join_names, verb_for
from vcdebug.explain.answer import Advice, AdviceHarm, Cause, Finding, amount_number, rejection_evidence
from vcdebug.explain.decisions.queue_figures import admission_seqs
from vcdebug.explain.equation import NO_MINIMUM, Equation, Term, UnitAmount, admission_equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins import PluginExplainer
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ENQUEUED
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.model.resource import MEMORY
from vcdebug.plugins import RESOURCEQUOTA
from vcdebug.plugins.resourcequota import QuotaCheck, ResourceQuota, add_minimum, quota_checks
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import (
    JsonObject,
    key_of,
    name_of,
    namespace_in,
    object_in,
    object_list,
    spec_of,
    status_of,
)
from vcdebug.snapshot.quantity import NANO_PER_UNIT, nano_text, nano_value, text_like

WAIT_FOR_PODS: Final = "Wait until pods of its namespace finish."
WAIT_OR_REQUEST_LESS: Final = "Request less in spec.minResources, or wait until pods of its namespace finish."


def iter_quota_checks(recording: Recording, seq: Seq, job: JobInfo) -> Iterator[tuple[int, QuotaCheck]]:
    """(number of the quota, check) of everything that the namespace's quotas state."""
    plugin = recording.session.plugin_of_class(ResourceQuota)
    pending = _admitted_minimums(recording, seq, job.namespace)
    for number, quota in enumerate(plugin.quotas.get(job.namespace, ()), start=1):
        for check in quota_checks(quota, plugin.added_minimum(job), pending):
            yield number, check


def _admitted_minimums(recording: Recording, seq: Seq, namespace: str) -> dict[str, int]:
    """Minimums of the jobs of the namespace that were admitted before an event, in 10^-9 units."""
    minimums, plugin = dict[str, int](), recording.session.plugin_of_class(ResourceQuota)
    # Replayed from the events: the plugin keeps the sum at the cycle's end only.
    for uid in admission_seqs(recording, RESOURCEQUOTA, seq - 1):
        if (job := recording.session.jobs[uid]).namespace == namespace:
            add_minimum(minimums, plugin.added_minimum(job))
    return minimums


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """JobEnqueueable: whether every ResourceQuota has room for the job's minimum besides what this cycle admitted."""
    job = recording.session.jobs[event.job]
    title = f"resourcequota: does namespace {job.namespace} admit {job.uid}?"
    formula = "used + admitted in this cycle + min resources ≤ hard, for names that a quota states"
    columns = ("used", "admitted", "min resources", "sum", "hard")
    has_minimum = job.pod_group.min_resource_list is not None
    terms = [_quota_term(*quota_check) for quota_check in iter_quota_checks(recording, seq, job)] if has_minimum else []
    reason = "no quota of the namespace states one of its names" if has_minimum else NO_MINIMUM
    return admission_equation(title, formula, columns, terms, free="" if terms else reason, kind="check")


def job_enqueued(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """JobEnqueued: what the job adds to the minimums that count against the quotas of its namespace in this cycle."""
    job, plugin = recording.session.jobs[event.job], recording.session.plugin_of_class(ResourceQuota)
    minimum = plugin.added_minimum(job) if job.namespace in plugin.quotas else {}
    before = _admitted_minimums(recording, seq, job.namespace)
    amounts = [(name, before.get(name, 0), nano_value(minimum[name])) for name in sorted(minimum)]
    terms = tuple(Term(name, _figures(name, old, added, old + added), None) for name, old, added in amounts)
    title = f"resourcequota: what {job.uid} adds in namespace {job.namespace}"
    formula = "admitted in this cycle + min resources, besides which later jobs of the namespace must fit"
    no_minimum = NO_MINIMUM if job.namespace in plugin.quotas else "no ResourceQuota in the namespace"
    columns = ("admitted", "min resources", "sum")
    return Equation(title, formula, columns, "check", terms, None, None, "" if terms else no_minimum)


def _figures(name: str, *values: int) -> tuple[UnitAmount, ...]:
    return tuple(UnitAmount.of(value / NANO_PER_UNIT, name) for value in values)


def _quota_term(number: int, check: QuotaCheck) -> Term:
    values = (check.used, check.pending, check.minimum, check.exceeded_by + check.hard, check.hard)
    return Term(f"quota {number} {check.name}", _figures(check.name, *values), check.exceeded_by <= 0)


def explain_rejection(view: JobView, seq: Seq, event: HookEvent) -> Finding | None:
    """The finding about the exceeded quotas; None if no quota of the snapshot is exceeded."""
    exceeded = [check for _, check in iter_quota_checks(view.recording, seq, view.job) if check.exceeded_by > 0]
    if not exceeded:
        return None
    first, name, namespace = exceeded[0], exceeded[0].name, view.job.namespace
    over = [_format_nano(item.name, item.exceeded_by) for item in exceeded]
    further = join_names(f"{item.name} by {text}" for item, text in zip(exceeded[1:], over[1:], strict=True))
    admitted = f" and {_format_nano(name, first.pending)} reserved in this cycle" if first.pending else ""
    amounts = first.minimum, first.used, first.hard
    asks, used, hard = (_format_nano(name, value, *amounts) for value in amounts)
    # With #5744 a job that has pods adds nothing, and is rejected only if the quota is exceeded already.
    asking, counted_name = (f"minResources asks {asks} {name}; ", "") if first.minimum else ("", f" {name}")
    excess = f"{over[0]} {'short' if first.minimum else 'too much'}{f'; also: {further}' if further else ''}"
    full = f"ResourceQuota {first.quota.name} has {used} of {hard}{counted_name} used{admitted} ({excess})"
    holders, facts = quota_holders(view.recording, namespace, name), list[str]()
    own_amounts = (pod_quota_amounts(task.pod).get(name, 0) for task in view.tasks.values())
    # The status may be older than the pods.
    holders = holders if sum(own_amounts) <= first.used else []
    pods = [holder.pod for holder in holders if first.minimum and f"{namespace}/{holder.pod}" in view.tasks]
    if pods:
        twice = f"{RESOURCEQUOTA} counts {join_names(pods)} of this job twice"
        facts.append(f"{twice}: in what the quota has used, and in minResources, which is added to it.")
    facts += [f"Used by: {join_holders(holders)}."] if holders else []
    scaled = {"quota.hard": first.hard, "quota.used": first.used, f"short.{name}": first.exceeded_by}
    numbers = {key: amount_number(name, _scale_nano(name, value)) for key, value in scaled.items()}
    increases, edits = list[str](), list[str]()
    for item, text in zip(exceeded, over, strict=True):
        if item.quota is first.quota:
            increases.append(f"{text} {item.name}")
            edits += quota_edits(namespace, item.quota.name, item.name, nano_text(item.hard + item.exceeded_by))
    raise_hard = f"ResourceQuota {first.quota.name}: raise spec.hard by {' and '.join(increases)}."
    wait = Advice.for_owner(WAIT_OR_REQUEST_LESS if first.minimum else WAIT_FOR_PODS)
    advice, evidence = (wait, Advice.queue_admin(raise_hard, *edits)), rejection_evidence(seq, RESOURCEQUOTA)
    return view.rejected(Cause.RESOURCE_QUOTA, f"{asking}{full}", numbers, evidence, advice, facts=tuple(facts))


def _scale_nano(name: str, value: int) -> float:
    """A nano amount in the unit of Resource: bytes of memory, pieces of counted resources, else thousandths."""
    units = value / NANO_PER_UNIT
    return units if name == MEMORY or is_counted(name) else units * 1000.0


def _format_nano(name: str, *values: int) -> str:
    return format_unit_amount(name, *(value / NANO_PER_UNIT for value in values))


EXPLAINER = PluginExplainer(
    equations={JOB_ENQUEUEABLE.upstream: job_enqueueable, JOB_ENQUEUED.upstream: job_enqueued},
    rejected=explain_rejection,
)


MAX_HOLDERS: Final = 4
PENDING: Final = "Pending"


class QuotaHolder(Struct, frozen=True):
    """A pod that counts for a quota."""

    pod: str
    waits: str
    """`Pending`, and that no node is large enough for it; empty if it has a node."""
    amount: str
    """What it counts; empty if the quota counts pods."""


def join_holders(holders: Iterable[QuotaHolder]) -> str:
    """`job-0 2 (Pending), job-1 1`: the pods that count for a quota, and how much."""
    parts = ((each.pod, each.amount, f"({each.waits})" if each.waits else "") for each in holders)
    return join_names((" ".join(filter(None, words)) for words in parts), MAX_HOLDERS)


class ExhaustedQuota(Struct, frozen=True):
    """One resource of a ResourceQuota that has no room for some more pods."""

    quota: str
    name: str
    used: str
    hard: str
    holders: tuple[QuotaHolder, ...]
    request: int = 0
    """The request of one more pod, in 10^-9 units; 0 if unknown."""

    def describe_usage(self, others: Iterable[str] = ()) -> str:
        """The usage of the quota and its consequence; `others` are further jobs that lack pods."""
        holder_words = f" by {join_holders(self.holders)}" if self.holders else ""
        used = f"ResourceQuota {self.quota}: {self.used} of {self.hard} {self.name} used{holder_words}"
        if nano_value(self.used) >= nano_value(self.hard):
            lacking = list(others)
            waiting = f" ({join_names(lacking)} {verb_for(len(lacking), 'lacks')} pods as well)" if lacking else ""
            return f"{used}: no more pods can be created{waiting}."
        size, room = _format_nano(self.name, self.request), count_noun(self.fitting, "more pod")
        lack = f"room for only {room} of {size}" if self.fitting else f"no room for a pod of {size}"
        has_pending = any(holder.waits for holder in self.holders)
        rule = " Pending pods count too: no queue limits their creation." if has_pending else ""
        return f"{used}: {lack}.{rule}"

    def describe_total(self, pods: int) -> str:
        """What this many pods, whose requests are `request` in all, ask of the quota, in a sentence."""
        total = _format_nano(self.name, self.request)
        return f"Its {pods} pods ask {total} {self.name} in total; ResourceQuota {self.quota} allows {self.hard}."

    @property
    def fitting(self) -> int:
        """The number of further pods for which the quota has room."""
        return max(nano_value(self.hard) - nano_value(self.used), 0) // self.request if self.request else 0

    def advice(self, pods: int) -> tuple[Advice, ...]:
        """Advice to raise the limit for this many more pods, or to delete Pending pods that count."""
        waiting = [holder for holder in self.holders if holder.waits]
        deletion = f", or delete the Pending pods {join_names(each.pod for each in waiting)}" if waiting else ""
        change = f" {self.hard} -> {self.raised_hard(pods)} for {count_noun(pods, 'more pod')}" if self.request else ""
        raising = Advice.queue_admin(f"ResourceQuota {self.quota}: raise hard.{self.name}{change}{deletion}.")
        hopeless = join_names((each.pod for each in waiting if each.waits != PENDING), MAX_HOLDERS)
        words = f"Delete what can never run but counts in ResourceQuota {self.quota}, or make it smaller: {hopeless}."
        return (raising, Advice.from_outside(words, AdviceHarm.QUEUE)) if hopeless else (raising,)

    def raised_hard(self, pods: int) -> str:
        """The limit that allows this many more pods, as a quantity."""
        return text_like(nano_value(self.used) + pods * self.request, self.hard)


def quota_edits(
    namespace: str, quota: str, name: str, hard: str, parts: Iterable[str] = ("spec", "status")
) -> tuple[str, ...]:
    """The edits that set a limit of a ResourceQuota."""
    # In both parts: the plugin reads the status, which in a cluster a controller copies from the spec.
    return tuple(f"ResourceQuota/{namespace}/{quota}:{part}.hard{field_step(name)}={hard}" for part in parts)


def exhausted_quotas(
    recording: Recording, namespace: str, amounts: Mapping[str, int], pods: int = 1
) -> Iterator[ExhaustedQuota]:
    """Yields quota resources without room for pods that request `amounts` each (resource name → 10^-9 units)."""
    for manifest, hard, scoped in _quotas_of(recording, namespace):
        for name, used in (status_of(manifest).get("used") or {}).items():
            # A quota with scopes is reported only if it is used up already.
            added = 0 if scoped else amounts.get(name, 0)
            # In integers of 10^-9 as Kubernetes compares quantities; floats would round large byte counts.
            if name in hard and nano_value(used) + max(pods * added, 1) > nano_value(hard[name]):
                holders = tuple(quota_holders(recording, namespace, name))
                yield ExhaustedQuota(name_of(manifest), name, str(used), str(hard[name]), holders, added)


def _quotas_of(recording: Recording, namespace: str) -> Iterator[tuple[JsonObject, Mapping[str, object], bool]]:
    """Yields (quota, its limits, whether scopes make it count only some pods) for each ResourceQuota of a namespace."""
    for manifest in recording.snapshot.objects_of("ResourceQuota"):
        if namespace_in(key_of(manifest)) == namespace:
            spec = spec_of(manifest)
            hard = spec.get("hard") or status_of(manifest).get("hard") or {}
            yield manifest, hard, bool(spec.get("scopes") or spec.get("scopeSelector"))


def quota_that_ended(recording: Recording, job: JsonObject) -> tuple[Sequence[str], Sequence[Advice]]:
    """(facts, advice) if a ResourceQuota has no room for the pods of a Volcano Job that no policy terminated."""
    namespace, tasks = namespace_in(key_of(job)), object_list(spec_of(job).get("tasks"))
    templates = (object_in(task.get("template")) for task in tasks)
    amounts = [pod_quota_amounts(Pod({"metadata": {}, **template})) for template in templates]
    quota = next((one for each in amounts for one in exhausted_quotas(recording, namespace, each)), None)
    ends = "Its controller terminates a Volcano Job after 15 tries to create its pods"
    queued = "it keeps a PodGroup Pending until the quota has room for its minResources"
    configured = RESOURCEQUOTA in recording.conf.plugin_names()
    if quota is None:
        return _quota_of_all_pods(recording, job, amounts, ends)
    words = "Create the job again once the quota has room" if configured else f"Add plugin {RESOURCEQUOTA}: {queued}"
    return (quota.describe_usage(), f"{ends}."), (Advice.cluster_admin(f"{words}."), *quota.advice(1))


def _quota_of_all_pods(
    recording: Recording, job: JsonObject, amounts: Sequence[Mapping[str, int]], ends: str
) -> tuple[Sequence[str], Sequence[Advice]]:
    """(facts, advice) if a ResourceQuota never has room for all pods of a Volcano Job; `amounts`: of a pod by task."""
    replicas = [int(task.get("replicas") or 1) for task in object_list(spec_of(job).get("tasks"))]
    pods, total = sum(replicas), Counter[str]()  # exact: ints
    for count, each in zip(replicas, amounts, strict=True):
        total.update({name: count * amount for name, amount in each.items()})
    quota = next(exhausted_quotas(recording, namespace_in(key_of(job)), total), None)
    if quota is None:
        return unstated_amounts(recording, job)
    minimum, admits = int(spec_of(job).get("minAvailable") or pods), ""
    if RESOURCEQUOTA in recording.conf.plugin_names() and minimum < pods:
        admits = f"; plugin {RESOURCEQUOTA} admits by minResources (minAvailable {minimum}), not by all replicas"
    change = f"hard.{quota.name} {quota.hard} -> {quota.raised_hard(1)} for its {pods} pods"
    words = f"ResourceQuota {quota.quota}: {change}, or create the job again with fewer replicas."
    return (quota.describe_total(pods), f"{ends}{admits}."), (Advice.cluster_admin(words),)


_REQUIRED: Final = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
"""What each container has to state where a ResourceQuota limits it."""


def unstated_amounts(recording: Recording, owner: JsonObject) -> tuple[Sequence[str], Sequence[Advice]]:
    """(facts, advice) if a ResourceQuota limits what a container in the owner's pod template does not state."""
    parts = (*object_list(spec_of(owner).get("tasks")), spec_of(owner))
    specs = (object_in(object_in(part.get("template")).get("spec")) for part in parts)
    containers = [one for spec in specs for one in object_list(spec.get("containers"))]
    for quota, hard, scoped in _quotas_of(recording, namespace_in(key_of(owner))):
        for name in [] if scoped else [one for one in _REQUIRED if one in hard]:
            lacking = [str(one.get("name")) for one in containers if not _states(one, name)]
            if lacking:
                limits = f"ResourceQuota {name_of(quota)} limits {name}, which container {lacking[0]} does not state"
                rule = "unless a LimitRange sets it, its pods are rejected"
                words = f"State {name} for each container, or add a LimitRange with a default for it."
                return (f"{limits}: {rule}.",), (Advice.for_owner(words),)
    return (), ()


def _states(container: JsonObject, name: str) -> bool:
    """Whether a container states the amount; a request without a value is that of the limit."""
    resources, plain = object_in(container.get("resources")), name.rpartition(".")[2]
    parts = ("limits",) if name.startswith("limits.") else ("limits", "requests")
    return any(plain in object_in(resources.get(part)) for part in parts)


def pod_quota_amounts(pod: Pod) -> dict[str, int]:
    """The quota's resource name → what a quota counts for the pod, in 10^-9 units."""
    amounts = {"pods": NANO_PER_UNIT, "count/pods": NANO_PER_UNIT}
    for container in pod.spec.get("containers") or ():
        resources = container.get("resources") or {}
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name, quantity in {**limits, **requests}.items():
            for quota_name in (name, f"requests.{name}"):
                amounts[quota_name] = amounts.get(quota_name, 0) + nano_value(quantity)
        for name, quantity in limits.items():
            amounts[f"limits.{name}"] = amounts.get(f"limits.{name}", 0) + nano_value(quantity)
    return amounts


def minimum_quota_amounts(minimum: Mapping[str, object], members: int) -> dict[str, int]:
    """As `pod_quota_amounts`, for one of `members` pods that share these minResources equally."""
    amounts = {"pods": NANO_PER_UNIT, "count/pods": NANO_PER_UNIT}
    for name, quantity in minimum.items():
        prefix = "" if name.startswith(QUOTA_PREFIXES) else "requests."
        amounts[name] = amounts[f"{prefix}{name}"] = nano_value(quantity) // max(members, 1)
    return amounts


def next_pod_amounts(view: JobView) -> dict[str, int]:
    """The quota amounts of one more pod of a job: those of an existing pod, else its share of minResources."""
    pod = next((task.pod for task in view.tasks.values()), None)
    if pod is not None:
        return pod_quota_amounts(pod)
    return minimum_quota_amounts(view.job.pod_group.min_resource_list or {}, view.job.min_available)


def quota_holders(recording: Recording, namespace: str, name: str) -> list[QuotaHolder]:
    """The pods that count for a quota's resource, Pending ones first."""
    holders = []
    for pod in map(Pod, recording.snapshot.objects_of("Pod")):
        # Kubernetes releases the quota of finished pods.
        amount = pod_quota_amounts(pod).get(name, 0) if pod.namespace == namespace else 0
        if amount and pod.phase not in ENDED_PHASES:
            text = "" if name in ("pods", "count/pods") else _format_nano(name, amount)
            holders.append(QuotaHolder(pod.name, "" if pod.node_name else _waiting_words(recording, pod), text))
    return sorted(holders, key=lambda holder: (not holder.waits, holder.pod))


def _waiting_words(recording: Recording, pod: Pod) -> str:
    task, nodes = recording.timeline.tasks.get(TaskKey(pod.key)), recording.session.nodes.values()
    fits_empty = task is None or any(task.init_resreq.less_equal(node.allocatable) for node in nodes)
    return PENDING if fits_empty else f"{PENDING}, larger than any node"
