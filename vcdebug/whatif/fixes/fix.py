"""Fix: one change that may place a job, written as the edits that `--set` takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Final, Literal, NamedTuple

from vcdebug.amount_text import count_noun, format_number
from vcdebug.explain.answer import AdviceHarm, Explanation
from vcdebug.explain.job_view import MissingRole, missing_roles
from vcdebug.explain.plugins.resourcequota import is_quota_count
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.pod import TASK_SPEC_KEY, Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import GROUP_ANNOTATION, JsonObject
from vcdebug.snapshot.quantity import milli_value, whole_value
from vcdebug.snapshot.snapshot import Snapshot

AMOUNT_BLANK = "{amount}"
"""Placeholder in edits and words for the amount that is searched for."""

Unit = Literal["milli", "bytes", "count", "hundredths"]
_MILLI = 1000
_MEBI, _GIBI = 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class AmountRange:
    """A whole number of units between one that does not do and one that should; it may go up or down."""

    fails: int
    """Known not to be enough."""
    works: int
    """Surely enough, if any amount is."""
    unit: Unit = "count"
    step: int = 1
    """The distance between two amounts that a person would choose from."""

    def format_amount(self, value: int) -> str:
        """As manifests and configurations write it."""
        if self.unit == "milli":
            return str(value // _MILLI) if value % _MILLI == 0 else f"{value}m"
        if self.unit == "bytes":
            # Rounded up: a request that is rounded down might no longer be the amount that was tried.
            return f"{value // _GIBI}Gi" if value % _GIBI == 0 else f"{-(-value // _MEBI)}Mi"
        if self.unit == "hundredths":
            return format_number(value / 100)
        return str(value)


class FixSize(NamedTuple):
    """One size of a change whose edits differ in more than a number."""

    text: str
    """The text for the amount."""
    edits: tuple[str, ...]


class FixKind(IntEnum):
    """What a change amounts to, in the order in which a maintainer would propose it."""

    REPAIR = 0
    """Puts right what is broken, missing or configured wrongly."""
    ENTITLEMENT = 1
    """Lets the job use what a limit, a share or a switch keeps from it."""
    OWN_SETTINGS = 2
    """Changes the job without giving it less."""
    SMALLER = 3
    """Gives the job less than it asks for: smaller pods, or fewer at a time."""
    MORE_ROOM = 4
    """Adds or labels nodes."""
    OTHER_PODS = 5
    """Holds back or ends pods of other jobs."""
    OVERRIDE = 6
    """Overrides a taint of a node."""
    BYPASS = 7
    """Avoids the rule instead of meeting it."""


_KIND_OF_HARM: Mapping[AdviceHarm, FixKind] = {
    AdviceHarm.JOB: FixKind.OWN_SETTINGS,
    AdviceHarm.QUEUE: FixKind.ENTITLEMENT,
    AdviceHarm.CLUSTER: FixKind.MORE_ROOM,
}
"""The kind of a fix that states none."""


@dataclass(frozen=True, slots=True)
class Fix:
    """One change; with an amount, a family of changes of which the mildest that works is wanted."""

    words: str
    """What to do, as an imperative."""
    edits: tuple[str, ...]
    harm: AdviceHarm
    causes: tuple[str, ...] = ()
    """Cause codes that it addresses; a trailing `*` matches any ending."""
    amount: AmountRange | None = None
    family: str = ""
    """Fixes of one family are one change in several sizes, the mildest proposed first."""
    choices: tuple[FixSize, ...] = ()
    """Sizes of the change, the mildest first; the amount then counts them from 1."""
    stated_kind: FixKind | None = None
    """None where the kind follows from the harm."""
    aspect: str = ""
    """What the fix changes, such as a queue's weight; a plan holds at most one fix per aspect."""

    @property
    def kind(self) -> FixKind:
        """What the change amounts to."""
        return _KIND_OF_HARM[self.harm] if self.stated_kind is None else self.stated_kind

    @property
    def at_widest(self) -> Fix:
        """With an amount that is surely enough, if any is."""
        return self if self.amount is None else self.with_amount(self.amount.works)

    def with_amount(self, value: int) -> Fix:
        """The fix with one amount."""
        assert self.amount is not None
        if self.choices:
            text, edits = self.choices[value - 1]
        else:
            text = self.amount.format_amount(value)
            edits = tuple(edit.replace(AMOUNT_BLANK, text) for edit in self.edits)
        return replace(self, words=self.words.replace(AMOUNT_BLANK, text), edits=edits, amount=None, choices=())

    def with_sizes(self, *choices: FixSize) -> Fix:
        """The fix in several sizes, of which the mildest that works is wanted."""
        return replace(self, choices=choices, amount=AmountRange(0, len(choices)))

    def is_for_cause(self, cause: str) -> bool:
        """Whether it was made for this cause."""
        return any(cause == code or (code.endswith("*") and cause.startswith(code[:-1])) for code in self.causes)


class FixSituation:
    """A Pending job in one recording: the input of the functions that propose fixes."""

    def __init__(self, recording: Recording, explanation: Explanation) -> None:
        self.recording = recording
        self.explanation = explanation
        self.snapshot: Snapshot = recording.snapshot
        self.job: JobInfo | None = recording.session.jobs.get(explanation.job)
        """None where the session never saw it."""

    @property
    def cause_codes(self) -> tuple[str, ...]:
        """The dominant cause first."""
        return tuple(one.cause for one in (self.explanation.dominant, *self.explanation.contributing))

    @cached_property
    def pod_group(self) -> PodGroup | None:
        """The job's PodGroup; None if it has none."""
        groups = (PodGroup(manifest) for manifest in self.snapshot.objects_of("PodGroup"))
        return next((one for one in groups if f"{one.namespace}/{one.name}" == self.explanation.job), None)

    @cached_property
    def created_later(self) -> MissingRole | None:
        """A role whose pods the job's owner creates only once another role runs, while gang waits for both."""
        roles = missing_roles(self.recording, self.job) if self.job is not None and self.job.tasks else iter(())
        return next((one for one in roles if one.first), None)

    @property
    def group_path(self) -> str:
        """How edits name the PodGroup."""
        return f"PodGroup/{self.explanation.job}"

    @cached_property
    def pending_pods(self) -> tuple[Pod, ...]:
        """The job's pods that have no node, by name."""
        pods = (Pod(manifest) for manifest in self.snapshot.objects_of("Pod"))
        own = [pod for pod in pods if self._is_own(pod) and not pod.node_name and not pod.deleting]
        return tuple(sorted(own, key=lambda pod: pod.key))

    @cached_property
    def model_pod(self) -> Pod | None:
        """A pod of the job to copy, preferably a Pending one; None if the job has no pods."""
        own = [pod for pod in map(Pod, self.snapshot.objects_of("Pod")) if self._is_own(pod)]
        return next(iter((*self.pending_pods, *sorted(own, key=lambda pod: pod.key))), None)

    @cached_property
    def has_pods(self) -> bool:
        """Whether any pod of the job exists: a controller may make them only once the job is admitted."""
        return any(self._is_own(pod) for pod in map(Pod, self.snapshot.objects_of("Pod")))

    @cached_property
    def placed_before(self) -> tuple[JobInfo, ...]:
        """Other jobs of the job's queue that this cycle gave places to."""
        done, jobs = cycle_effects(self.recording), self.recording.session.jobs
        names = dict.fromkeys(effect.job for effect in (*done.bound, *done.pipelined))
        others = [jobs[name] for name in names if name != self.explanation.job and name in jobs]
        return tuple(job for job in others if job.queue == self.queue_name)

    def _is_own(self, pod: Pod) -> bool:
        return pod.job_id == self.explanation.job if pod.job_id else pod.key == self.explanation.pod

    @property
    def queue_name(self) -> str:
        """The name of the job's queue."""
        if self.job is not None:
            return self.job.queue
        return (self.pod_group.queue if self.pod_group is not None else "") or self.snapshot.flags.default_queue

    def rank_fixes(self, fixes: Iterator[Fix]) -> list[Fix]:
        """Those that are made for one of the causes, for the dominant one first, in a maintainer's order."""
        # The position keeps the sort stable and stops it from comparing fixes, which have no order.
        ranked = [(self._cause_rank(fix), fix.kind, fix.harm, at, fix) for at, fix in enumerate(fixes)]
        return [fix for *_, fix in sorted(ranked, key=lambda entry: entry[:4])]

    def _cause_rank(self, fix: Fix) -> int:
        for rank, cause in enumerate(self.cause_codes[:3]):
            if fix.is_for_cause(cause):
                return min(rank, 1)
        return 2


def pod_edits(pods: tuple[Pod, ...], change: str) -> tuple[str, ...]:
    """One edit per pod with the same change."""
    return tuple(f"Pod/{pod.key}:{change}" for pod in pods)


def coarsest_step(unit: Unit, *values: int) -> int:
    """The coarsest step that all these amounts are whole multiples of: 18 cores are wanted, not 17,996m."""
    choices = {"milli": (1000, 100), "bytes": (_GIBI, 256 * _MEBI)}.get(unit, ())
    finest = {"milli": 10, "bytes": _MEBI}.get(unit, 1)
    return next((one for one in choices if all(value % one == 0 for value in values)), finest)


_BYTES = ("memory", "ephemeral-storage", "storage")


def unit_of(resource: str) -> Unit:
    """How amounts of the resource are counted here."""
    name = resource.rpartition("requests.")[2].rpartition("limits.")[2]
    if name == "cpu":
        return "milli"
    return "bytes" if name in _BYTES or name.startswith("hugepages-") else "count"


def count_units(resource: str, quantity: object) -> int:
    """A Kubernetes quantity in these units."""
    return milli_value(quantity) if unit_of(resource) == "milli" else whole_value(quantity)


_LEAST: Mapping[Unit, tuple[int, ...]] = {"milli": (100, 10), "bytes": (256 << 20, 16 << 20), "count": (1,)}
"""The smallest requests that are proposed, the usual one first; a request of zero is never proposed."""


def smaller_amount(resource: str, present: int) -> AmountRange | None:
    """From what is asked for down to very little; None where it is very little already."""
    unit = unit_of(resource)
    step = coarsest_step(unit, present)
    if step < present:
        return AmountRange(present, step, unit, step)
    least = next((one for one in _LEAST.get(unit, (1,)) if one < present), None)
    return None if least is None else AmountRange(present, least, unit, least)


def larger_amount(resource: str, present: int, request: int) -> AmountRange:
    """From what is granted up to far beyond it; `request` only sets how finely is searched."""
    unit = unit_of(resource)
    step = coarsest_step(unit, present, request)
    # Far beyond any use: if even this is not enough, no amount is, and one trial has shown it.
    return AmountRange(present, present + max(1000 * step, 20 * request), unit, step)


def total_request(pods: Iterable[Pod], resource: str) -> int:
    """What containers of these pods ask for together."""
    return sum(one for pod in pods for one in container_requests(pod, resource))  # exact: ints


def container_requests(pod: Pod, resource: str) -> list[int]:
    """Each container's request; 0 where it names none."""
    found = []
    for container in pod.spec.get("containers") or ():
        stated = container.get("resources") or {}
        # Kubernetes defaults a missing request to the limit.
        asked = (stated.get("requests") or {}).get(resource, (stated.get("limits") or {}).get(resource))
        found.append(0 if asked is None else count_units(resource, asked))
    return found


def resources_of(pods: Iterable[Pod]) -> list[str]:
    """Every resource that some container asks for, in order of appearance."""
    found: dict[str, None] = {}
    for pod in pods:
        for container in pod.spec.get("containers") or ():
            stated = container.get("resources") or {}
            found.update(dict.fromkeys((*(stated.get("requests") or ()), *(stated.get("limits") or ()))))
    return list(found)


def known_amounts(amounts: Mapping[str, object] | None) -> dict[str, int]:
    """A resource list in units."""
    return {name: count_units(name, quantity) for name, quantity in (amounts or {}).items()}


# Pods that a controller makes only once a job is admitted, or that a quota keeps out.

_MAX_PLACEHOLDERS: Final = 64
"""Pods that are assumed at most."""
_PLACEHOLDER_MARK: Final = "stand-in"


class PlaceholderPods(NamedTuple):
    """Pods that are not there yet."""

    words: str
    edits: tuple[str, ...]
    """What admits the PodGroup and makes the pods."""


def placeholder_pods(before: Snapshot, after: Snapshot, job: JobId) -> PlaceholderPods | None:
    """Placeholders for a job without pods that edits have admitted; None if the size of its pods is unknown."""
    was, now = _find_group(before, job), _find_group(after, job)
    if was is None or now is None:
        return None
    stated, count = now.min_resource_list or was.min_resource_list or {}, max(now.min_member, 1)
    # A minMember that is lowered alone leaves minResources for the pods that there were to be.
    pods_of_stated = was.min_member if stated == was.min_resource_list else now.min_member
    each = {
        name: AmountRange(0, 0, unit_of(name)).format_amount(count_units(name, stated_of) // max(pods_of_stated, 1))
        for name, stated_of in stated.items()
        if not is_quota_count(name)
    }
    if not each or count > _MAX_PLACEHOLDERS:
        return None
    manifest = {
        "apiVersion": "v1",
        "spec": {
            "schedulerName": next(iter(after.flags.scheduler_names), "volcano"),
            "containers": [{"name": "main", "resources": {"requests": each}}],
        },
        "status": {"phase": "Pending"},
    }
    documents = [{**manifest, "metadata": metadata} for metadata in _iter_placeholder_metadata(now, count)]
    pods = (f"Pod/{job}-{_PLACEHOLDER_MARK}-{at}:+={json.dumps(document)}" for at, document in enumerate(documents))
    size = ", ".join(f"{value} {name}" for name, value in each.items())
    words = f"{count_noun(count, 'pod')} of {size}, from minResources and minMember"
    return PlaceholderPods(words, (f"PodGroup/{job}:status.phase=Inqueue", *pods))


def _iter_placeholder_metadata(group: PodGroup, count: int) -> Iterator[JsonObject]:
    """The group, and the roles and labels that its minTaskMember and its subgroups ask for."""
    roles = [role for role, least in group.min_task_member.items() for _ in range(least)]
    for number in range(count):
        role = roles[number] if number < len(roles) else ""
        labels: dict[str, str] = {TASK_SPEC_KEY: role} if role else {}
        for policy in group.sub_group_policies:
            stated = (policy.label_selector or {}).get("matchLabels") or {}
            # One label set per pod: a policy for another role keeps its pods.
            if all(labels.setdefault(key, value) == value for key, value in stated.items()):
                place = str(number // max(policy.sub_group_size or count, 1))
                labels.update(dict.fromkeys(policy.match_label_keys, place))
        named = {TASK_SPEC_KEY: role} if role else {}
        yield {"annotations": {GROUP_ANNOTATION: group.name, **named}, **({"labels": labels} if labels else {})}


def are_about_placeholders(edits: tuple[str, ...], job: JobId) -> bool:
    """Whether edits are about pods that are not there."""
    return any(edit.startswith(f"Pod/{job}-{_PLACEHOLDER_MARK}-") for edit in edits)


def without_placeholder_names(sentence: str) -> str:
    """A sentence about assumed pods without the names that were made up for them."""
    return re.sub(rf"\S+-{_PLACEHOLDER_MARK}-\d+", "its pod", sentence)


def _find_group(snapshot: Snapshot, job: JobId) -> PodGroup | None:
    groups = (PodGroup(manifest) for manifest in snapshot.objects_of("PodGroup"))
    return next((one for one in groups if f"{one.namespace}/{one.name}" == job), None)
