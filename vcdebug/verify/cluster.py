"""A cluster captured before and after its scheduler ran: did the replay foresee it?"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from vcdebug.capture import CaptureOptions, capture_cluster
from vcdebug.capture.cluster import connect_transport
from vcdebug.capture.listing import Listing
from vcdebug.capture.transport import Api, ApiRefusal, NoAnswer, Transport
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.verify.between import gone_uids, leaving_uids, others_changes, seen_between
from vcdebug.verify.compare import JobVerdict, judge_jobs
from vcdebug.verify.follow import chance_edits, follow_scheduler
from vcdebug.verify.outcome import GONE, CycleOutcome
from vcdebug.verify.verification import Verification

MAX_CYCLES = 3
"""How many cycles the scheduler may have run between two captures."""
WATCHED_KINDS = ("PodGroup", "Pod")
MAX_CHANGES = 8
EVENTS_PATH, EVICT_REASON = "/api/v1/events", "Evict"
"""Where the scheduler says whom it evicts, and as what."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the scheduler is given."""

    longest: float = 60.0
    """Seconds after which nothing more is expected of it."""
    pause: float = 1.0
    """Seconds between two looks."""


def verify_cluster(
    options: CaptureOptions,
    patience: Patience,
    *,
    transport: Callable[[], Transport] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    announce: Callable[[Provenance], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Verification:
    """Capture, wait until the scheduler has written something, capture again, compare."""
    reach = transport or (lambda: connect_transport(options))
    start = clock()
    tell = tell or _ignore_progress
    tell("first capture")
    before = capture_cluster(options, transport=reach(), sleep=sleep, clock=clock, announce=announce)
    tell("waiting for the scheduler")
    api = Api(reach(), options, sleep, clock)
    evicted = _wait_for_scheduler(before, api, options, patience, sleep)
    tell("second capture")
    after = capture_cluster(options, transport=reach(), sleep=sleep, clock=clock)
    evicted |= dict.fromkeys(_iter_reported_evictions(api, options, gone_uids(before, after)))
    return replace(judge_captures(before, after, evicted), seconds=clock() - start)


def _ignore_progress(_: str) -> None:
    """Nobody wants to know."""


def _wait_for_scheduler(
    before: Snapshot, api: Api, options: CaptureOptions, patience: Patience, sleep: Callable[[float], None]
) -> dict[str, None]:
    """Until the scheduler has bound, evicted or said something, or until nothing more is to be expected.

    Gives the uids of pods that were seen to leave because of it: they may be gone when the cluster is captured again.
    """
    waited, evicted = 0.0, dict[str, None]()
    while waited < patience.longest:
        objects = {kind: Listing(api, KIND_BY_NAME[kind], options.page_size, None).read_all() for kind in WATCHED_KINDS}
        evicted |= dict.fromkeys(leaving_uids(before, objects["Pod"]))
        if seen_between(before, replace(before, objects={**before.objects, **objects})) != CycleOutcome():
            sleep(patience.pause)
            break
        sleep(patience.pause)
        waited += patience.pause
    return evicted


def _iter_reported_evictions(api: Api, options: CaptureOptions, uids: Collection[str]) -> Iterator[str]:
    """Which of the pods that are gone the scheduler says to have evicted; none where its events may not be read."""
    query = [("fieldSelector", f"involvedObject.kind=Pod,reason={EVICT_REASON}"), ("limit", str(options.page_size))]
    token = ""
    while uids:
        try:
            page = api.get_object(EVENTS_PATH, [*query, *([("continue", token)] if token else [])])
        except (ApiRefusal, NoAnswer):
            return
        subjects = [event.get("involvedObject") or {} for event in page.get("items") or ()]
        yield from (str(subject["uid"]) for subject in subjects if subject.get("uid") in uids)
        token = str(metadata_of(page).get("continue") or "")
        if not token:
            return


def judge_captures(before: Snapshot, after: Snapshot, evicted: Collection[str] = ()) -> Verification:
    """Two captures compared by what the replay of the first one foresees; `evicted` as seen_between has it."""
    seen = seen_between(before, after, evicted)
    followed = follow_scheduler(before, seen, cycles=MAX_CYCLES)
    known = {pod: how for pod, how in seen.evicted.items() if how != GONE}
    foreign = others_changes(before, after, {**followed.outcome.evicted, **known})
    jobs = tuple(_judge_verdict(one, foreign) for one in judge_jobs(followed.recording, followed.differences))
    return Verification(
        followed.recording,
        followed.outcome,
        seen,
        jobs,
        tuple(chance_edits(followed.recording.snapshot.chance)),
        followed.tried,
        cycles=followed.cycles,
    )


def _judge_verdict(verdict: JobVerdict, foreign: dict[str, str]) -> JobVerdict:
    """A job that fared otherwise while somebody else changed something was overtaken: its own changes first."""
    if verdict.word != "differs" or not foreign:
        return verdict
    own = [text for text, job in foreign.items() if job == verdict.job]
    others = [text for text, job in foreign.items() if job != verdict.job]
    return replace(verdict, word="overtaken", changes=tuple([*own, *others][:MAX_CHANGES]))
