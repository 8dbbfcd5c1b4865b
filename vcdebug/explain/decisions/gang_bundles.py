"""The bundles of a gang action: what it offered the plugins in a domain, what they left, and when there was enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from vcdebug.explain.decisions.votes import hook_calls_at
from vcdebug.framework.gang_eviction import (
    Bundle,
    BundleType,
    GangEviction,
    bundle_roi,
    idle_and_releasing,
    sum_init_requests,
    sum_requests,
)
from vcdebug.framework.gang_plan import pending_for_eviction
from vcdebug.framework.hooks import UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent, Level
from vcdebug.framework.registry import resolve_reference
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, TaskId, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.replay import session_at_event

UNIFIED_POINT = UNIFIED_EVICTABLE.upstream
WHOLE_BUNDLES_OFF = "whole bundles are switched off (allowWholeBundle)"


class BundleOutcome(NamedTuple):
    """One bundle, and what became of it."""

    safe: bool
    job: JobId
    tasks: tuple[TaskKey, ...]
    frees: Resource
    loses: Resource
    """What the whole job holds; nothing for a safe bundle."""
    roi: float
    kept: tuple[TaskKey, ...]
    """What the plugins leave of it; nothing where it is dropped."""
    why: str
    """Why it is dropped or cut."""
    enough: bool
    """Whether the gang's need fits once it and those before it are gone: a plan is tried then."""


class DomainBundles(NamedTuple):
    """One domain's bundles for a gang."""

    job: JobId
    domain: str
    need: Resource
    free: Resource
    """Idle and releasing in the domain."""
    bundles: tuple[BundleOutcome, ...]
    """In the order in which they were offered; those that stay are taken in this order too."""


class _GangAction(Protocol):
    eviction: GangEviction


@per_recording(most=16)
def bundles_at(recording: Recording, seq: Seq) -> DomainBundles | None:
    """The bundles that the plugins are asked about at an event; None elsewhere, and where they cannot be had again."""
    event, action = recording.event_at(seq), recording.span_tree.span_around(seq, Level.ACTION)
    span, asked = recording.span_tree.span_around(seq, Level.JOB), hook_calls_at(recording, seq)
    if (
        not isinstance(event, HookEvent)
        or event.point != UNIFIED_POINT
        or action is None
        or span is None
        or asked is None
    ):
        return None
    session = session_at_event(recording, seq)
    if session is None or span.name not in session.jobs:
        return None
    arguments = recording.conf.arguments_of(action.name, recording.snapshot.release)
    made: _GangAction = resolve_reference(recording.conf.known[action.name])(arguments)
    session.record.silent += 1
    allowed = asked.outcome if isinstance(asked.outcome, tuple) else ()
    found = _find_domain_bundles(session, made.eviction, session.jobs[span.name], event.candidates, allowed)
    session.record.silent -= 1
    return found


def _find_domain_bundles(
    session: Session, eviction: GangEviction, job: JobInfo, candidates: Sequence[TaskKey], allowed: Sequence[TaskKey]
) -> DomainBundles | None:
    """The domain whose bundles hold just these candidates."""
    need = sum_init_requests(pending_for_eviction(session, job))
    for domain in eviction.get_candidate_domains(session, job):
        bundles = eviction.list_bundles(session, job, need, domain)
        if [task.key for bundle in bundles for task in bundle.tasks] == list(candidates):
            keys = dict.fromkeys(allowed)
            uids = {task.uid: None for bundle in bundles for task in bundle.tasks if task.key in keys}
            free = idle_and_releasing(session, domain)
            left = eviction.filter_bundles(session, job, need, bundles, uids)
            told = tuple(_bundle_outcomes(eviction, bundles, left, need, free, uids))
            return DomainBundles(job.uid, domain, need, free, told)
    return None


def _bundle_outcomes(
    eviction: GangEviction,
    bundles: Sequence[Bundle],
    left: Sequence[Bundle],
    need: Resource,
    free: Resource,
    allowed: dict[TaskId, None],
) -> list[BundleOutcome]:
    """Each bundle with what is left of it."""
    victims: list[Bundle] = []
    enough: dict[int, bool] = {}
    for bundle in left:
        victims.append(bundle)
        freed = sum_requests(task for each in victims for task in each.tasks)
        enough[_bundle_key(bundle)] = need.less_equal(free.clone().add(freed))
    found = []
    for bundle in bundles:
        same = next((each for each in left if each.job is bundle.job and each.type is bundle.type), None)
        kept = tuple(task.key for task in same.tasks) if same is not None else ()
        why = "" if len(kept) == len(bundle.tasks) else _dropped_reason(eviction, bundle, kept, allowed)
        tasks = tuple(task.key for task in bundle.tasks)
        safe = bundle.type is BundleType.SAFE
        fits = enough.get(_bundle_key(same), False) if same is not None else False
        worth = bundle_roi(bundle, need)
        found.append(
            BundleOutcome(safe, bundle.job.uid, tasks, bundle.local, bundle.everything, worth, kept, why, fits)
        )
    return found


def _bundle_key(bundle: Bundle) -> int:
    return id(bundle)


def _dropped_reason(
    eviction: GangEviction, bundle: Bundle, kept: Sequence[TaskKey], allowed: dict[TaskId, None]
) -> str:
    refused = [task.name for task in bundle.tasks if task.uid not in allowed]
    if not refused and bundle.type is BundleType.WHOLE and not eviction.allow_whole_bundle:
        return WHOLE_BUNDLES_OFF
    what = "cut" if kept else "dropped"
    return f"{what}: the plugins keep {', '.join(refused)}"
