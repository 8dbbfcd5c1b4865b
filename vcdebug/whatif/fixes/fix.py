"""Fix: one change that may place a job, written as the edits that `--set` takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cached_property, partial
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import (
    count_noun,
    format_number,
    is_byte_like,
    is_quota_count,
    resource_of_quota,
    value_in_units,
)
from vcdebug.explain.answer import AdviceHarm, Explanation
from vcdebug.explain.job_view import MissingRole, missing_roles
from vcdebug.explain.pending.gates.admission import REJECTED_BY
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.pod import TASK_SPEC_KEY, Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.model.pod_resources import get_pod_resource_request
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.releases.change import Change
from vcdebug.releases.release import Release
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    JsonDict,
    JsonObject,
    bare_name,
    metadata_of,
    name_of,
    owners_of,
    spec_of,
    status_of,
)
from vcdebug.snapshot.quantity import milli_value, whole_value
from vcdebug.snapshot.snapshot import SchedulerFlags, Snapshot
from vcdebug.snapshot.workloads import next_pods_of

INIT_CONTAINERS: Final = "initContainers"
AMOUNT_BLANK = "{amount}"
"""Placeholder in edits and words for the amount that the search determines."""

Unit = Literal["milli", "bytes", "count", "hundredths"]
_MILLI = 1000
_MEBI, _GIBI = 1 << 20, 1 << 30


class AmountRange(Struct, frozen=True):
    """A range of amounts in whole units, from one that fails to one that works; either may be the larger."""

    failing: int
    """An amount that is known to fail."""
    working: int
    """An amount that works if any amount does."""
    unit: Unit = "count"
    step: int = 1
    """The granularity of proposed amounts."""

    def format_amount(self, value: int) -> str:
        """The amount as a Kubernetes quantity, or as a plain number for other units."""
        if self.unit == "milli":
            return str(value // _MILLI) if value % _MILLI == 0 else f"{value}m"
        if self.unit == "bytes":
            # Rounded up: a request that is rounded down might no longer be the amount that was tried.
            return f"{value // _GIBI}Gi" if value % _GIBI == 0 else f"{-(-value // _MEBI)}Mi"
        if self.unit == "hundredths":
            return format_number(value / 100)
        return str(value)

    def change_of(self, field: str, path: str, note: str = "") -> tuple[str, str]:
        """(`{field} 4 -> {amount}{note}`, edit of the field at `path`): a fix that sets a field to an amount."""
        return f"{field} {self.format_amount(self.failing)} -> {AMOUNT_BLANK}{note}", f"{path}={AMOUNT_BLANK}"


class FixSize(NamedTuple):
    """One size of a change, for changes whose edits differ in more than a number."""

    text: str
    """The text that replaces the placeholder `{amount}`."""
    edits: tuple[str, ...]


class FixKind(IntEnum):
    """Kinds of changes, in the order in which a maintainer would propose them."""

    REPAIR = 0
    """Repairs something broken, missing or misconfigured."""
    ENTITLEMENT = 1
    """Lets the job use resources that a limit, a share or a switch withholds."""
    OWN_SETTINGS = 2
    """Changes the job's settings without reducing its resources."""
    SMALLER = 3
    """Reduces the job: smaller pods, or fewer at a time."""
    MORE_ROOM = 4
    """Adds or labels nodes."""
    OTHER_PODS = 5
    """Delays or deletes pods of other jobs."""
    OVERRIDE = 6
    """Overrides a taint of a node."""
    BYPASS = 7
    """Bypasses the rule instead of satisfying it."""


_KIND_OF_HARM: Mapping[AdviceHarm, FixKind] = {
    AdviceHarm.JOB: FixKind.OWN_SETTINGS,
    AdviceHarm.QUEUE: FixKind.ENTITLEMENT,
    AdviceHarm.CLUSTER: FixKind.MORE_ROOM,
}
"""The kind of a fix without a stated kind."""


class Fix(Struct, frozen=True):
    """One change; with an amount, the search determines the mildest amount that works."""

    text: str
    """The change in words, as an imperative."""
    edits: tuple[str, ...]
    harm: AdviceHarm
    causes: tuple[str, ...] = ()
    """Cause codes that the fix addresses; REJECTED_BY for a rejection by any plugin."""
    amount: AmountRange | None = None
    choices: tuple[FixSize, ...] = ()
    """Sizes of the change, the mildest first; the amount then counts them from 1."""
    stated_kind: FixKind | None = None
    """The kind of the fix; None if it follows from the harm."""
    aspect: str = ""
    """What the fix changes, such as a queue's weight; a plan holds at most one fix per aspect."""
    corrects: bool = False
    """Whether the answer names the fault that the fix corrects, so that it is shown even if another cause remains."""
    since: str = ""
    """The part of the text that names the first release with what the fix uses; see since_words."""

    @property
    def kind(self) -> FixKind:
        """The kind of the change: the stated one, else the one that follows from the harm."""
        return _KIND_OF_HARM[self.harm] if self.stated_kind is None else self.stated_kind

    @property
    def aspect_key(self) -> str:
        """What the fix changes, for comparisons; a fix without an aspect changes something of its own."""
        return self.aspect or self.text

    @property
    def at_widest(self) -> Fix:
        """The fix with the amount that works if any does."""
        return self if self.amount is None else self.with_amount(self.amount.working)

    def with_amount(self, value: int) -> Fix:
        """The fix with one amount."""
        assert self.amount is not None
        if self.choices:
            text, edits = self.choices[value - 1]
        else:
            text = self.amount.format_amount(value)
            edits = tuple(edit.replace(AMOUNT_BLANK, text) for edit in self.edits)
        return replace(self, text=self.text.replace(AMOUNT_BLANK, text), edits=edits, amount=None, choices=())

    def with_sizes(self, *choices: FixSize) -> Fix:
        """The fix in several sizes, of which the mildest that works is wanted."""
        return replace(self, choices=choices, amount=AmountRange(0, len(choices)))

    def is_for_cause(self, cause: str) -> bool:
        """Whether the fix addresses this cause."""
        return cause in self.causes or (cause.startswith(REJECTED_BY) and REJECTED_BY in self.causes)


def _new_fix(
    harm: AdviceHarm,
    words: str,
    *edits: str,
    causes: tuple[str, ...],
    kind: FixKind | None = None,
    amount: AmountRange | None = None,
    aspect: str = "",
    since: str = "",
) -> Fix:
    return Fix(words, edits, harm, causes, amount, stated_kind=kind, aspect=aspect, since=since)


job_fix = partial(_new_fix, AdviceHarm.JOB)
"""A fix of the job owner: words and edits, then by name causes, kind, amount and aspect."""
queue_fix = partial(_new_fix, AdviceHarm.QUEUE)
cluster_fix = partial(_new_fix, AdviceHarm.CLUSTER)


class FixSituation:
    """A Pending job in one recording: the input of the functions that propose fixes."""

    def __init__(self, recording: Recording, explanation: Explanation) -> None:
        self.recording = recording
        self.explanation = explanation
        self.snapshot: Snapshot = recording.snapshot
        self.job: JobInfo | None = recording.session.jobs.get(explanation.job)
        """The job; None if it is not in the session."""

    @property
    def cause_codes(self) -> tuple[str, ...]:
        """The codes of all causes, the dominant one first, then the flaws."""
        findings = (self.explanation.dominant, *self.explanation.contributing)
        return (*(finding.cause for finding in findings), *(flaw.value for flaw in findings[0].flaws))

    @property
    def has_repair(self) -> bool:
        """Whether the explanation advises to correct a wrong manifest or setting."""
        return any(line.repairs for line in self.explanation.advised)

    @property
    def own_queue(self) -> str:
        """The name of a new queue for the job alone; empty if there is one of this name."""
        name = f"{bare_name(self.explanation.job)}-own"
        return "" if any(name_of(queue) == name for queue in self.snapshot.objects_of("Queue")) else name

    @cached_property
    def pod_group(self) -> PodGroup | None:
        """The job's PodGroup; None if it has none."""
        return _find_group(self.snapshot, self.explanation.job)

    @cached_property
    def role_created_later(self) -> MissingRole | None:
        """A role whose pods the job's owner creates only once another role runs, while gang waits for both."""
        roles = missing_roles(self.recording, self.job) if self.job is not None and self.job.tasks else iter(())
        return next((one for one in roles if one.earlier_role), None)

    @property
    def group_path(self) -> str:
        """The PodGroup as edits name it."""
        return f"PodGroup/{self.explanation.job}"

    @cached_property
    def _all_pods(self) -> tuple[Pod, ...]:
        """The job's pods with placeholders for those that do not exist yet, by name."""
        job, lone, pods = self.explanation.job, self.explanation.pod, map(Pod, self.snapshot.objects_of("Pod"))
        own_pods = [pod for pod in pods if (pod.job_id == job if pod.job_id else pod.key == lone)]
        return tuple(sorted(own_pods, key=lambda pod: pod.key))

    @cached_property
    def own_pods(self) -> tuple[Pod, ...]:
        """The job's pods, by name; empty until its controller creates some."""
        return tuple(
            pod for pod in self._all_pods if not pod.key.startswith(f"{self.explanation.job}-{_PLACEHOLDER_MARK}-")
        )

    @cached_property
    def pending_pods(self) -> tuple[Pod, ...]:
        """The pods without a node, among them placeholders."""
        return tuple(pod for pod in self._all_pods if not pod.node_name and not pod.deleting)

    @cached_property
    def placed_before(self) -> tuple[JobInfo, ...]:
        """Other jobs of the job's queue that this cycle bound or pipelined."""
        effects, jobs = cycle_effects(self.recording), self.recording.session.jobs
        names = dict.fromkeys(effect.job for effect in (*effects.bound, *effects.pipelined))
        other_jobs = [jobs[name] for name in names if name != self.explanation.job and name in jobs]
        return tuple(job for job in other_jobs if job.queue == self.queue_name)

    def total_request(self, pods: Iterable[Pod], resource: str) -> int:
        """The total that the scheduler counts for these pods, in units."""
        return total_request(pods, resource, self.snapshot.flags)

    @property
    def queue_name(self) -> str:
        """The name of the job's queue."""
        if self.job is not None:
            return self.job.queue
        return (self.pod_group.queue if self.pod_group is not None else "") or self.snapshot.flags.default_queue

    def rank_fixes(self, fixes: Iterator[Fix]) -> list[Fix]:
        """Sort fixes by the causes they address, the dominant one first, then by kind and harm."""
        # The position keeps the sort stable and stops it from comparing fixes, which have no order.
        ranked = [(self._cause_rank(fix), fix.kind, fix.harm, position, fix) for position, fix in enumerate(fixes)]
        return [fix for *_, fix in sorted(ranked, key=lambda entry: entry[:4])]

    def _cause_rank(self, fix: Fix) -> int:
        for rank, cause in enumerate(self.cause_codes[:3]):
            if fix.is_for_cause(cause):
                return min(rank, 1)
        return 2


def pod_edits(pods: tuple[Pod, ...], change: str) -> tuple[str, ...]:
    """One edit per pod with the same change."""
    return tuple(f"Pod/{pod.key}:{change}" for pod in pods)


def actions_change(actions: Sequence[str], note: str) -> tuple[str, str]:
    """(words, edit) of a change of the configured actions; the note says what it does."""
    listed = ", ".join(actions)
    return f'Configuration: actions -> "{listed}" ({note})', f'conf:actions="{listed}"'


def coarsest_step(unit: Unit, *values: int) -> int:
    """The coarsest step that divides all these amounts, so that 18 cores are proposed and not 17,996m."""
    steps = {"milli": (1000, 100), "bytes": (_GIBI, 256 * _MEBI)}.get(unit, ())
    finest = {"milli": 10, "bytes": _MEBI}.get(unit, 1)
    return next((step for step in steps if all(value % step == 0 for value in values)), finest)


def unit_of(resource: str) -> Unit:
    """The unit in which fixes count amounts of the resource."""
    name = resource_of_quota(resource)
    if name == "cpu":
        return "milli"
    return "bytes" if is_byte_like(name) else "count"


def format_units(resource: str, amount: int) -> str:
    """An amount in units of the resource as a Kubernetes quantity."""
    return AmountRange(0, 0, unit_of(resource)).format_amount(amount)


def count_units(resource: str, quantity: object) -> int:
    """A Kubernetes quantity in the units of the resource."""
    return milli_value(quantity) if unit_of(resource) == "milli" else whole_value(quantity)


_LEAST: Mapping[Unit, tuple[int, ...]] = {"milli": (100, 10), "bytes": (256 << 20, 16 << 20), "count": (1,)}
"""The smallest requests that are proposed, the usual one first; a request of zero is never proposed."""


def smaller_amount(resource: str, present: int) -> AmountRange | None:
    """The range from the present request down to the smallest one proposed; None if it is as small already."""
    unit = unit_of(resource)
    step = coarsest_step(unit, present)
    if step < present:
        return AmountRange(present, step, unit, step)
    least = next((amount for amount in _LEAST.get(unit, (1,)) if amount < present), None)
    return None if least is None else AmountRange(present, least, unit, least)


def smaller_amount_of_each(resource: str, total: int, pods: int) -> AmountRange | None:
    """As smaller_amount, for a total of several equal pods, which must get whole amounts."""
    amount = smaller_amount(resource, total // pods)
    if amount is None:
        return None
    fails, works, step = (pods * each for each in (amount.failing, amount.working, amount.step))
    return replace(amount, failing=fails, working=works, step=step)


def larger_amount(resource: str, present: int, request: int) -> AmountRange:
    """The range from the present amount to far beyond it; `request` sets the step of the search."""
    unit = unit_of(resource)
    step = coarsest_step(unit, present, request)
    # Far larger than useful: if this amount fails, one trial has shown that every amount fails.
    return AmountRange(present, present + max(1000 * step, 20 * request), unit, step)


def total_request(pods: Iterable[Pod], resource: str, flags: SchedulerFlags) -> int:
    """The total that the scheduler counts for these pods, init containers and overhead included, in units."""
    amounts = (value_in_units(resource, get_pod_resource_request(pod, flags).get(resource)) for pod in pods)
    return sum(round(amount * (_MILLI if unit_of(resource) == "milli" else 1)) for amount in amounts)  # exact: ints


def resources_of(pods: Iterable[Pod]) -> list[str]:
    """Every resource that some container requests, in order of appearance."""
    fields = ("containers", INIT_CONTAINERS)
    stated = [one.get("resources") or {} for pod in pods for field in fields for one in pod.spec.get(field) or ()]
    return [*dict.fromkeys(name for one in stated for part in ("requests", "limits") for name in one.get(part) or ())]


def known_amounts(amounts: Mapping[str, object] | None) -> dict[str, int]:
    """A resource list as name → amount in units."""
    return {name: count_units(name, quantity) for name, quantity in (amounts or {}).items()}


# Pods that a controller creates only once a job is admitted, or that a quota keeps from being created.

_MAX_PLACEHOLDERS: Final = 64
"""The maximum number of placeholder pods."""
_PLACEHOLDER_MARK: Final = "stand-in"


class PlaceholderSize(NamedTuple):
    """How many pods of which size placeholders stand for."""

    pods: str
    """Such as `2 pods of 1 cpu, 4 nvidia.com/gpu`."""
    sources: tuple[str, ...]
    """What states the size, and then what states the number, if that is something else."""

    def __str__(self) -> str:
        return f"{self.pods}, from {' and '.join(self.sources)}"


class PlaceholderPods(Struct, frozen=True):
    """Placeholders for pods that do not exist yet."""

    size: PlaceholderSize
    edits: tuple[str, ...]
    """Edits that set the PodGroup to Inqueue and create the pods."""


def placeholder_pods(before: Snapshot, after: Snapshot, job: JobId) -> PlaceholderPods | None:
    """Placeholders for a job without pods that edits have admitted; None if the size of its pods is unknown."""
    old, new = _find_group(before, job), _find_group(after, job)
    if old is None or new is None:
        return None
    resources = new.min_resource_list or old.min_resource_list or {}
    # If only minMember is lowered, minResources still counts the original number of pods.
    counted_pods = max(old.min_member if resources == old.min_resource_list else new.min_member, 1)
    amounts = known_amounts({name: quantity for name, quantity in resources.items() if not is_quota_count(name)})
    pod_requests = {name: format_units(name, amount // counted_pods) for name, amount in amounts.items()}
    count, templates = max(new.min_member, 1), next_pods_of(after, new.manifest)
    if not templates and "SparkApplication" in (owner.get("kind") for owner in owners_of(new.manifest)):
        # Its minResources counts the driver and all executors, whatever minMember is.
        return None
    has_old_size = resources == old.min_resource_list or new.min_resource_list is None
    if templates and has_old_size:
        # A smaller minMember stands for fewer replicas.
        numbered = [(pod, at) for pod, replicas in templates for at in range(min(replicas, _MAX_PLACEHOLDERS + 1))]
        made = numbered[:count] if new.min_member < old.min_member else numbered
        documents = [{**pod, "metadata": _in_subgroup(new, metadata_of(pod), at, count)} for pod, at in made]
        sizes = (f"{count_noun(each, 'pod')} of {_describe_size(Pod(pod), after.flags)}" for pod, each in templates)
        placeholder_size = PlaceholderSize(", ".join(sizes), ("the pod template",))
    elif pod_requests and (count > 1 or _fits_some_node(before, amounts)):
        model: JsonObject = templates[0].pod if len(templates) == 1 else {"apiVersion": "v1"}
        documents = [*_iter_placeholders(new, count, pod_requests, after, model)]
        size = ", ".join(f"{value} {name}" for name, value in pod_requests.items())
        sources = ("minResources", "minMember")
        placeholder_size = PlaceholderSize(f"{count_noun(count, 'pod')} of {size}", sources)
    else:
        return None
    if len(documents) > _MAX_PLACEHOLDERS:
        return None
    pods = (f"Pod/{job}-{_PLACEHOLDER_MARK}-{at}:+={json.dumps(document)}" for at, document in enumerate(documents))
    return PlaceholderPods(placeholder_size, (f"PodGroup/{job}:status.phase=Inqueue", *pods))


def _fits_some_node(snapshot: Snapshot, amounts: Mapping[str, int]) -> bool:
    """Whether a node can take one such pod; a minimum for many pods with minMember 1 looks like one too large."""
    allocatables = [known_amounts(status_of(node).get("allocatable")) for node in snapshot.objects_of("Node")]
    return any(all(allocatable.get(name, 0) >= each for name, each in amounts.items()) for allocatable in allocatables)


def _iter_placeholders(
    group: PodGroup, count: int, requests: Mapping[str, str], snapshot: Snapshot, model: JsonObject
) -> Iterator[JsonDict]:
    """Yields placeholder pods of equal size; `model` is a pod of the job's template."""
    spec = {"schedulerName": next(iter(snapshot.flags.scheduler_names), "volcano"), **spec_of(model)}
    spec["containers"] = [{"name": "main", "resources": {"requests": requests}}]
    for metadata in _iter_placeholder_metadata(group, count):
        yield {**model, "spec": spec, "status": {"phase": "Pending"}, "metadata": {**metadata_of(model), **metadata}}


def _describe_size(pod: Pod, flags: SchedulerFlags) -> str:
    """What a pod requests: `2 cpu, 1 nvidia.com/gpu`."""
    amounts = ((name, total_request([pod], name, flags)) for name in resources_of([pod]))
    return ", ".join(f"{format_units(name, amount)} {name}" for name, amount in amounts)


def _iter_placeholder_metadata(group: PodGroup, count: int) -> Iterator[JsonObject]:
    """Yields the metadata of each placeholder pod: its PodGroup, and the roles and labels of the group's policies."""
    roles = [role for role, minimum in group.min_task_member.items() for _ in range(minimum)]
    for number in range(count):
        role = roles[number] if number < len(roles) else ""
        own = {TASK_SPEC_KEY: role} if role else {}
        stated = {"annotations": {GROUP_ANNOTATION: group.name, **own}, **({"labels": own} if own else {})}
        yield _in_subgroup(group, stated, number, count)


def _in_subgroup(group: PodGroup, metadata: JsonObject, number: int, count: int) -> JsonObject:
    """The metadata of the `number`-th pod with the labels that put it into a subgroup of its PodGroup."""
    labels = {**(metadata.get("labels") or {})}
    for policy in group.sub_group_policies:
        match_labels = (policy.label_selector or {}).get("matchLabels") or {}
        # One label set per pod: a policy for another role keeps its pods.
        if all(labels.setdefault(key, value) == value for key, value in match_labels.items()):
            subgroup = str(number // max(policy.sub_group_size or count, 1))
            labels.update(dict.fromkeys(policy.match_label_keys, subgroup))
    return {**metadata, **({"labels": labels} if labels else {})}


def are_about_placeholders(edits: tuple[str, ...], job: JobId) -> bool:
    """Whether some edit is about a placeholder pod."""
    return any(edit.startswith(f"Pod/{job}-{_PLACEHOLDER_MARK}-") for edit in edits)


def without_placeholder_names(sentence: str) -> str:
    """The sentence without the made-up names of placeholder pods."""
    return re.sub(rf"\S+-{_PLACEHOLDER_MARK}-\d+", "its pod", sentence)


def _find_group(snapshot: Snapshot, job: JobId) -> PodGroup | None:
    groups = (PodGroup(manifest) for manifest in snapshot.objects_of("PodGroup"))
    return next((group for group in groups if f"{group.namespace}/{group.name}" == job), None)


def since_words(release: Release, change: Change | None) -> str:
    """`, from v1.15.0 on` for what a change added to later releases, if the snapshot names no release."""
    return f", from {change.fixed_in[0]} on" if change is not None and release.is_assumed else ""
