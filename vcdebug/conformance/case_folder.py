"""What a scheduler's program did with a snapshot, kept as a folder: a case that is replayed again without the program.

The folder holds `snapshot/`, as the program's cycle met it (its time, the start of its process, what it drew), and
`outcome.json`.
"""

from __future__ import annotations

import json
from pathlib import Path

from vcdebug.conformance.cycle_outcome import CycleOutcome, WrittenStatus, predicted_outcome
from vcdebug.conformance.verdicts import OutcomeDifference, Verification, find_differences, job_lookup
from vcdebug.errors import VcdebugError
from vcdebug.recording.recording import require_whole
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.manifest import JsonObject
from vcdebug.snapshot.saved_files import save_snapshot

SNAPSHOT_FOLDER, OUTCOME_FILE = "snapshot", "outcome.json"
REASON = ("reason", "message")
CONDITION = ("type", "status", *REASON)


def write_case(found: Verification, folder: Path) -> None:
    """Write a new folder; raises VcdebugError where the cycle is not whole, or the folder holds a case already."""
    if found.ended:
        raise VcdebugError("a program that ended within its cycle gives no case", "what it wrote may not be all")
    save_snapshot(found.recording.snapshot, folder / SNAPSHOT_FOLDER)
    text = json.dumps(outcome_document(found.observed), indent=1, ensure_ascii=False)
    (folder / OUTCOME_FILE).write_text(text + "\n", encoding="utf-8")


def read_outcome(folder: Path) -> CycleOutcome:
    """The outcome of a kept case."""
    document: JsonObject = json.loads((folder / OUTCOME_FILE).read_text(encoding="utf-8"))
    groups = {job: WrittenStatus(one["phase"], _conditions_in(one)) for job, one in document["podGroups"].items()}
    waiting = {pod: (one["reason"], one["message"]) for pod, one in document["waiting"].items()}
    evicted = dict.fromkeys(document["evicted"], "")
    return CycleOutcome(document["bound"], evicted, document["nominated"], groups, document["devices"], waiting)


def _conditions_in(group: JsonObject) -> tuple[tuple[str, str, str, str], ...]:
    return tuple((one["type"], one["status"], one["reason"], one["message"]) for one in group["conditions"])


def outcome_document(outcome: CycleOutcome) -> JsonObject:
    """An outcome as JSON: pods and jobs by name, in order."""
    return {
        "bound": dict(sorted(outcome.bound.items())),
        "evicted": sorted(outcome.evicted),
        "nominated": dict(sorted(outcome.nominated.items())),
        "podGroups": {job: _group_document(one) for job, one in sorted(outcome.groups.items())},
        "devices": {pod: dict(sorted(claims.items())) for pod, claims in sorted(outcome.devices.items())},
        "waiting": {pod: dict(zip(REASON, one, strict=True)) for pod, one in sorted(outcome.waiting.items())},
    }


def _group_document(said: WrittenStatus) -> JsonObject:
    conditions = [dict(zip(CONDITION, one, strict=True)) for one in said.conditions]
    return {"phase": said.phase, "conditions": conditions}


def replayed_differences(folder: Path) -> list[OutcomeDifference]:
    """Where the replay of a kept case is not what its program did, decisions first."""
    recording = require_whole(replay_cycle(load_snapshot(folder / SNAPSHOT_FOLDER)))
    return find_differences(predicted_outcome(recording), read_outcome(folder), job_lookup(recording))
