"""resourcequota: which ResourceQuota of the namespace does not hold a job's minimum.

Upstream: plugins/resourcequota.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from vcdebug.amount_text import count_noun, format_unit_amount, is_counted, join_names
from vcdebug.explain import answer
from vcdebug.explain.answer import Advice, Finding, owner_advice, queue_admin_advice, rejected_headline
from vcdebug.explain.equation import NO_MINIMUM, Equation, Term, UnitAmount, admission_equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins import PluginExplainer
from vcdebug.explain.queue_findings import rejection_evidence
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ENQUEUED
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.model.resource import MEMORY, PODS
from vcdebug.plugins import RESOURCEQUOTA
from vcdebug.plugins.resourcequota import QuotaCheck, ResourceQuota, add_minimum, quota_checks
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import plugin_of
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.manifest import spec_of, status_of
from vcdebug.snapshot.quantity import nano_text, nano_value, text_like

CAUSE = "enqueue-resourcequota"
NANO_PER_UNIT: Final = 10**9
WAIT_FOR_PODS: Final = "Wait until pods of its namespace finish."
WAIT_OR_REQUEST_LESS: Final = "Request less in spec.minResources, or wait until pods of its namespace finish."
_QUOTA_PREFIXES: Final = ("requests.", "limits.", "count/")
"""What quotas count under names of their own."""


def iter_quota_checks(recording: Recording, seq: Seq, job: JobInfo) -> Iterator[tuple[int, QuotaCheck]]:
    """(number of the quota, check) of everything that the namespace's quotas state."""
    plugin, pending = plugin_of(recording, ResourceQuota), _admitted_minimums(recording, seq, job.namespace)
    for number, quota in enumerate(plugin.quotas.get(job.namespace, ()), start=1):
        for check in quota_checks(quota, plugin.added_minimum(job), pending):
            yield number, check


def _admitted_minimums(recording: Recording, seq: Seq, namespace: str) -> dict[str, int]:
    """Minimums of the jobs of the namespace that were admitted before an event, in 10^-9 units."""
    found: dict[str, int] = {}
    # Replayed from the events: the plugin keeps the sum at the cycle's end only.
    for at in recording.index.seqs_at_point(JOB_ENQUEUED.upstream):
        event = recording.event_at(at)
        # Only earlier admissions count; several plugins hear JobEnqueued, each as an event of its own.
        if at >= seq or not isinstance(event, HookEvent) or event.plugin != RESOURCEQUOTA:
            continue
        job = recording.session.jobs[event.job]
        if job.namespace == namespace:
            add_minimum(found, plugin_of(recording, ResourceQuota).added_minimum(job))
    return found


def job_enqueueable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Does every ResourceQuota of the namespace have room for the job's minimum besides what this cycle admitted?"""
    job = recording.session.jobs[event.job]
    title = f"resourcequota: does namespace {job.namespace} admit {job.uid}?"
    formula = "used + admitted in this cycle + min resources ≤ hard, for names that a quota states"
    columns = ("used", "admitted", "min resources", "sum", "hard")
    stated = job.pod_group.min_resource_list is not None
    terms = [_quota_term(*each) for each in iter_quota_checks(recording, seq, job)] if stated else []
    none = "no quota of the namespace states one of its names" if stated else NO_MINIMUM
    return admission_equation(title, formula, columns, terms, free="" if terms else none, kind="check")


def _quota_term(number: int, check: QuotaCheck) -> Term:
    values = (check.used, check.pending, check.minimum, check.exceeded_by + check.hard, check.hard)
    figures = tuple(UnitAmount.of(value / NANO_PER_UNIT, check.name) for value in values)
    return Term(f"quota {number} {check.name}", figures, check.exceeded_by <= 0)


def explain_rejection(view: JobView, seq: Seq, event: HookEvent) -> Finding | None:
    """None where no quota of the snapshot is exceeded."""
    found = [check for _, check in iter_quota_checks(view.recording, seq, view.job) if check.exceeded_by > 0]
    if not found:
        return None
    first, name = found[0], found[0].name
    others = join_names(f"{one.name} {_format_nano(one.name, one.exceeded_by)}" for one in found[1:])
    admitted = f" and {_format_nano(name, first.pending)} reserved in this cycle" if first.pending else ""
    compared = first.minimum, first.used, first.hard
    asks, used, hard = (_format_nano(name, value, *compared) for value in compared)
    # With #5744 a job that has pods adds nothing, and is refused where the quota is exceeded without it.
    asking, counted_name = (f"minResources asks {asks} {name}; ", "") if first.minimum else ("", f" {name}")
    reason = (
        f"{asking}ResourceQuota {first.quota.name} has {used} of {hard}{counted_name} used{admitted} "
        f"({_format_nano(name, first.exceeded_by)} over{f'; also over: {others}' if others else ''})"
    )
    holders = quota_holders(view.recording, view.job.namespace, name)
    counted = [who.removesuffix(PENDING_SUFFIX) for who in holders]
    own = [task.name for task in view.job.tasks.values() if first.minimum and task.name in counted]
    twice = f"The quota counts {join_names(own)} of this job, and {RESOURCEQUOTA} adds its minResources again"
    facts = (
        *((f"{twice}: its own pod is already counted.",) if own else ()),
        *((f"Used by: {join_names(holders, MAX_HOLDERS)}.",) if holders else ()),
    )
    numbers = {
        "quota.hard": answer.number(name, _scale_nano(name, first.hard)),
        "quota.used": answer.number(name, _scale_nano(name, first.used)),
        f"short.{name}": answer.number(name, _scale_nano(name, first.exceeded_by)),
    }
    same = [one for one in found if one.quota is first.quota]
    more = " and ".join(f"{_format_nano(one.name, one.exceeded_by)} {one.name}" for one in same)
    edits = [
        edit
        for one in same
        for edit in quota_edits(view.job.namespace, one.quota.name, one.name, nano_text(one.hard + one.exceeded_by))
    ]
    advice = (
        owner_advice(WAIT_OR_REQUEST_LESS if first.minimum else WAIT_FOR_PODS),
        queue_admin_advice(f"ResourceQuota {first.quota.name}: raise spec.hard by {more}.", *edits),
    )
    headline = rejected_headline(view.job.uid, reason)
    return Finding(CAUSE, headline, numbers, rejection_evidence(seq, RESOURCEQUOTA), advice, facts=facts)


def _scale_nano(name: str, value: int) -> float:
    """A nano amount in the unit of Resource: bytes of memory, pieces of counted resources, else thousandths."""
    units = value / NANO_PER_UNIT
    return units if name == MEMORY or is_counted(name) else units * 1000.0


def _format_nano(name: str, *values: int) -> str:
    return format_unit_amount(name, *(value / NANO_PER_UNIT for value in values))


EXPLAINER = PluginExplainer(equations={JOB_ENQUEUEABLE.upstream: job_enqueueable}, rejected=explain_rejection)


MAX_HOLDERS: Final = 4
PENDING_SUFFIX: Final = " (Pending)"


class ExhaustedQuota(NamedTuple):
    """One resource of a ResourceQuota that has no room for one more pod."""

    quota: str
    name: str
    used: str
    hard: str
    holders: tuple[str, ...]
    """Pods of the namespace that ask for it, with `Pending` where they do not even run."""
    wanted: int = 0
    """What one more pod asks for, in 10^-9 units; 0 where that is unknown."""

    @property
    def quota_text(self) -> str:
        """In words."""
        who = f" by {join_names(self.holders, MAX_HOLDERS)}" if self.holders else ""
        used = f"ResourceQuota {self.quota}: {self.used} of {self.hard} {self.name} used{who}"
        if nano_value(self.used) >= nano_value(self.hard):
            return f"{used}: no more pods can be created."
        return f"{used}: no room for a pod of {_format_nano(self.name, self.wanted)}."

    def raise_advice(self, pods: int) -> Advice:
        """Raise the limit, by as much as this many more pods need where that is known, or end pods that only wait."""
        waiting = [name.removesuffix(PENDING_SUFFIX) for name in self.holders if name.endswith(PENDING_SUFFIX)]
        end = f", or delete the Pending pods {join_names(waiting)}" if waiting else ""
        by = f" {self.hard} -> {self.raised_hard(pods)} for {count_noun(pods, 'more pod')}" if self.wanted else ""
        return queue_admin_advice(f"ResourceQuota {self.quota}: raise hard.{self.name}{by}{end}.")

    def raised_hard(self, pods: int) -> str:
        """The limit with which this many more pods can be created, as a quantity."""
        return text_like(nano_value(self.used) + pods * self.wanted, self.hard)


def quota_edits(
    namespace: str, quota: str, name: str, hard: str, parts: Iterable[str] = ("spec", "status")
) -> tuple[str, ...]:
    """The edits that set a limit of a ResourceQuota."""
    # In both parts: the plugin reads the status, which in a cluster a controller copies from the spec.
    return tuple(f"ResourceQuota/{namespace}/{quota}:{part}.hard{field_step(name)}={hard}" for part in parts)


def is_quota_count(name: str) -> bool:
    """Whether it is no resource that a pod takes of a node, but what only quotas count."""
    return name == PODS or name.startswith(_QUOTA_PREFIXES)


def exhausted_quotas(recording: Recording, namespace: str, wanted: Mapping[str, int]) -> Iterator[ExhaustedQuota]:
    """Everything that has no room for a pod that asks for `wanted`, in 10^-9 units by the quotas' own names."""
    for manifest in recording.snapshot.objects_of("ResourceQuota"):
        metadata, status = manifest["metadata"], status_of(manifest)
        if metadata.get("namespace") != namespace:
            continue
        hard = spec_of(manifest).get("hard") or status.get("hard") or {}
        # A quota with scopes counts some pods only; of these only what is used up for sure is said.
        scoped = bool(spec_of(manifest).get("scopes") or spec_of(manifest).get("scopeSelector"))
        for name, used in (status.get("used") or {}).items():
            more = 0 if scoped else wanted.get(name, 0)
            # In integers of 10^-9 as Kubernetes compares quantities; floats would round large byte counts.
            if name in hard and nano_value(used) + max(more, 1) > nano_value(hard[name]):
                holders = tuple(quota_holders(recording, namespace, name))
                yield ExhaustedQuota(metadata["name"], name, str(used), str(hard[name]), holders, more)


def pod_quota_amounts(pod: Pod) -> dict[str, int]:
    """What quotas count for a pod, in 10^-9 units by their own names."""
    found = {"pods": NANO_PER_UNIT, "count/pods": NANO_PER_UNIT}
    for container in pod.spec.get("containers") or ():
        stated = container.get("resources") or {}
        limits, requests = stated.get("limits") or {}, stated.get("requests") or {}
        for name, quantity in {**limits, **requests}.items():
            for counted in (name, f"requests.{name}"):
                found[counted] = found.get(counted, 0) + nano_value(quantity)
        for name, quantity in limits.items():
            found[f"limits.{name}"] = found.get(f"limits.{name}", 0) + nano_value(quantity)
    return found


def minimum_quota_amounts(minimum: Mapping[str, object], members: int) -> dict[str, int]:
    """The same for one of `members` pods of a PodGroup with these minResources."""
    found = {"pods": NANO_PER_UNIT, "count/pods": NANO_PER_UNIT}
    for name, quantity in minimum.items():
        prefix = "" if name.startswith(_QUOTA_PREFIXES) else "requests."
        found[name] = found[f"{prefix}{name}"] = nano_value(quantity) // max(members, 1)
    return found


def next_pod_amounts(view: JobView) -> dict[str, int]:
    """What quotas count for one more pod of a job: as for those that there are, else as its minResources says."""
    like = next((task.pod for task in view.tasks.values()), None)
    if like is not None:
        return pod_quota_amounts(like)
    return minimum_quota_amounts(view.job.pod_group.min_resource_list or {}, view.job.min_available)


def quota_holders(recording: Recording, namespace: str, name: str, but: JobId = "") -> list[str]:
    """Pods that ask for what a quota counts under this name, but for those of one job; those that wait come first."""
    found = _iter_holders(recording, namespace, name, but)
    return sorted(found, key=lambda who: (not who.endswith(PENDING_SUFFIX), who))


def _iter_holders(recording: Recording, namespace: str, name: str, but: JobId) -> Iterator[str]:
    # Quotas count cpu as `requests.cpu` too, but containers name it plainly.
    resource = name.removeprefix("requests.").removeprefix("limits.")
    for pod in map(Pod, recording.snapshot.objects_of("Pod")):
        # Kubernetes releases the quota of finished pods.
        if pod.namespace != namespace or pod.phase in ENDED_PHASES or (but and pod.job_id == but):
            continue
        if name in ("pods", "count/pods") or _requests_resource(pod, resource):
            yield pod.name if pod.node_name else f"{pod.name}{PENDING_SUFFIX}"


def _requests_resource(pod: Pod, resource: str) -> bool:
    return any(
        resource in (amounts or ())
        for container in pod.spec.get("containers") or ()
        for amounts in ((container.get("resources") or {}).get(part) for part in ("requests", "limits"))
    )
