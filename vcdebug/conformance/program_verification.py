"""Verify against a scheduler's own program on one snapshot, and keep its outcome as a case."""

import json
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.comparison.scheduler_log import check_log
from vcdebug.conformance.cycle_outcome import CycleOutcome, WrittenStatus, observed_outcome, predicted_outcome
from vcdebug.conformance.nearest_replay import (
    NearestReplay,
    TellProgress,
    chance_edits,
    follow_scheduler,
    ignore_progress,
)
from vcdebug.conformance.scheduler_program import EndedEarly, ObservedCycle, SchedulerProgram, observe_program
from vcdebug.conformance.verdicts import (
    EVENT,
    NOTHING_DONE,
    STATUS,
    LogDifference,
    OutcomeDifference,
    Verification,
    judge_jobs,
)
from vcdebug.errors import VcdebugError
from vcdebug.framework.quirks import CLAIMS_UNDECIDED
from vcdebug.framework.replay_options import AskExtender
from vcdebug.recording.recording import Recording, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.next_cycle import BetweenCycles, next_snapshot


def verify_cycles(
    snapshot: Snapshot,
    program: SchedulerProgram,
    *,
    ask_extender: AskExtender | None = None,
    tell: TellProgress = ignore_progress,
) -> Iterator[Verification]:
    """Run the program on the snapshot; replay and compare each of its cycles, until one differs.

    The replay's process remembers its own earlier cycles. Raises VcdebugError where the program cannot be run or never
    runs a cycle with jobs.
    """
    try:
        observed = observe_program(snapshot, program, tell)
    except EndedEarly as early:
        yield _verify_early_end(early, ask_extender)
        return
    for number, cycle in enumerate(observed, start=1):
        verification = _verify_cycle(cycle, ask_extender, tell)
        for later in observed[number : number + 1]:
            later.snapshot = _with_memory(later.snapshot, verification.recording, program.between, number + 1)
        yield replace(verification, number=number)
        if not verification.is_agreed:
            return


def _with_memory(snapshot: Snapshot, earlier: Recording, between: BetweenCycles, number: int) -> Snapshot:
    """The snapshot of cycle `number` with the memory of the process after its earlier cycle."""
    after = next_snapshot(earlier, replace(between, interval=snapshot.now - earlier.snapshot.now), number)
    chance = ChanceSettings(search_start=after.chance.search_start)
    return replace(snapshot, process=after.process, persistence=after.persistence, chance=chance)


def _verify_cycle(cycle: ObservedCycle, ask_extender: AskExtender | None, tell: TellProgress) -> Verification:
    outcome = replace(observed_outcome(cycle.writes, cycle.snapshot), panic=cycle.early_end)
    followed = follow_scheduler(
        cycle.snapshot, outcome, logged_chance=cycle.logged_chance, ask_extender=ask_extender, tell=tell
    )
    recording = followed.recording
    differences, cut_off = _sent_differences(cycle, followed)
    parting, uncompared = _compare_log(cycle, recording)
    return Verification(
        recording,
        followed.outcome,
        outcome,
        judge_jobs(recording, differences, followed.said_elsewhere),
        tuple(chance_edits(recording.snapshot.chance)),
        followed.replay_count,
        parting,
        cycle.early_end,
        cycle.seconds,
        cycle.log,
        notes=(*_iter_comparison_notes(cycle, recording, uncompared), *cut_off),
    )


AMOUNTS = ": <"
ELSEWHERE = "both panic, after different steps of a random order; the statuses written at that point are not compared"


def _sent_differences(cycle: ObservedCycle, followed: NearestReplay) -> tuple[list[OutcomeDifference], tuple[str, ...]]:
    """(differences without those that a panicking process causes by chance, notes about the omitted ones)."""
    panic = followed.outcome.panic
    if not (cycle.early_end and panic):
        return followed.differences, ()
    is_closed = followed.recording.session.close is not None
    # Volcano binds, evicts and reports in goroutines, some of which may not have sent their requests yet; those about
    # statuses have been sent where the session was closed.
    unsent = [
        item
        for item in followed.differences
        if item.observed == NOTHING_DONE and (not is_closed or item.part.startswith(EVENT))
    ]
    # The same sum fails at other amounts: with so many orders, no seed reproduces the same place.
    elsewhere = is_closed and panic not in cycle.early_end and panic.partition(AMOUNTS)[0] in cycle.early_end
    comparable = [one for one in followed.differences if one not in unsent and not (elsewhere and one.part == STATUS)]
    text = f"{count_noun(len(unsent), 'predicted write')} may have been in flight when the process exited"
    return comparable, (*((ELSEWHERE,) if elsewhere else ()), *((text,) if unsent else ()))


def _verify_early_end(early: EndedEarly, ask_extender: AskExtender | None) -> Verification:
    """A program that ends before its cycle agrees with a replay that panics; otherwise raise `early`."""
    recording = require_complete(replay_cycle(early.snapshot, ask_extender=ask_extender))
    outcome = predicted_outcome(recording)
    if not outcome.panic:
        raise early
    return Verification(recording, outcome, CycleOutcome(), judge_jobs(recording, []), early_end=early.message)


def _iter_comparison_notes(cycle: ObservedCycle, recording: Recording, uncompared: str) -> Iterator[str]:
    """Notes on what the comparison had to assume or leave out."""
    chance = recording.snapshot.chance
    if chance.searches:
        yield (
            f"node sampling is random; for {count_noun(len(chance.searches), 'pod')} the replay used the nodes "
            "shown in the scheduler's log"
        )
    if chance.dry_runs:
        yield (
            "topology-aware preemption: the first finished dry run wins, which is random; for "
            f"{count_noun(len(chance.dry_runs), 'pod')} the replay used the winner from the log"
        )
    undecided = {note.text for note in recording.notes if note.code == CLAIMS_UNDECIDED}
    if undecided:
        yield (
            f"{CLAIMS_UNDECIDED}: the replay cannot allocate the resource claims of "
            f"{count_noun(len(undecided), 'pod')} and accepts every node, which can cause differences"
        )
    if uncompared:
        yield f"the log is not compared line by line: {uncompared}"
    jobs = len(recording.session.jobs)
    if cycle.jobs is not None and cycle.jobs < jobs:
        yield (
            f"the scheduler's cycle had {count_noun(cycle.jobs, 'job')}, the replay's {jobs}; some PodGroups may "
            "have arrived too late"
        )


def _compare_log(cycle: ObservedCycle, recording: Recording) -> tuple[LogDifference | None, str]:
    """(first difference between the logs or None, reason why they are not compared or an empty text)."""
    chance = recording.snapshot.chance
    if cycle.logged > len(cycle.log):
        return None, f"{len(cycle.log)} of {count_noun(cycle.logged, 'log line')} stored"
    if chance.searches:
        return None, (
            "random searches were taken from the log, and nodes that are checked in parallel are logged in any order"
        )
    if chance.dry_runs:
        return None, "dry runs were taken from the log, and parallel ones are logged in any order"
    try:
        checked = check_log(cycle.log, recording, cycle=cycle.counted_cycle, is_whole=True)
    except VcdebugError as error:
        return None, error.message
    disagreement = checked.best_comparison.disagreement
    if disagreement is None:
        return None, ""
    ours = disagreement.replayed
    line = disagreement.logged.text if disagreement.logged is not None else ""
    return LogDifference(ours.seq if ours is not None else None, line, ours.text if ours is not None else ""), ""


# A kept case: a folder with the snapshot as the program's cycle met it, and the outcome, to replay without the program.

SNAPSHOT_FOLDER, OUTCOME_FILE = "snapshot", "outcome.json"
REASON = ("reason", "message")
CONDITION = ("type", "status", *REASON)


def write_case(verification: Verification, folder: Path) -> None:
    """Write a case into a new folder; raises VcdebugError for an unfinished cycle or an existing case."""
    if verification.early_end:
        raise VcdebugError("no case from a process that exited within its cycle", "its writes can be incomplete")
    save_snapshot(verification.recording.snapshot, folder / SNAPSHOT_FOLDER)
    text = json.dumps(outcome_document(verification.observed), indent=1, ensure_ascii=False)
    (folder / OUTCOME_FILE).write_text(text + "\n", encoding="utf-8")


def outcome_document(outcome: CycleOutcome) -> JsonObject:
    """An outcome as JSON: pods and jobs by name, in order."""
    return {
        "bound": dict(sorted(outcome.bound.items())),
        "evicted": sorted(outcome.evicted),
        "nominated": dict(sorted(outcome.nominated.items())),
        "podGroups": {job: _group_document(entry) for job, entry in sorted(outcome.groups.items())},
        "devices": {pod: dict(sorted(claims.items())) for pod, claims in sorted(outcome.devices.items())},
        "waiting": {pod: dict(zip(REASON, entry, strict=True)) for pod, entry in sorted(outcome.waiting.items())},
    }


def _group_document(status: WrittenStatus) -> JsonObject:
    conditions = [dict(zip(CONDITION, values, strict=True)) for values in status.conditions]
    return {"phase": status.phase, "conditions": conditions}
