"""The outcome of a recording, in the form that the scripted scheduler and a second capture need."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from vcdebug.conformance import SchedulerProgram, Verification, verify_cycles
from vcdebug.conformance.cycle_outcome import CycleOutcome, predicted_outcome
from vcdebug.conformance.loopback_server import moved_to_present
from vcdebug.conformance.object_store import key_of
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest, Snapshot

SCRIPT = Path(__file__).with_name("scripted_scheduler.py")


def recorded(snapshot: Snapshot) -> CycleOutcome:
    """The replayed outcome of a snapshot, with times moved to the present as the test server serves them."""
    return predicted_outcome(replay_cycle(moved_to_present(snapshot, snapshot.now)))


def scheduler(
    folder: Path, snapshot: Snapshot, outcome: CycleOutcome, *later: CycleOutcome, **more: Any
) -> SchedulerProgram:
    """A scripted scheduler that writes this outcome, and the `later` ones in later cycles, whatever it is asked."""
    deeds = folder / "deeds.json"
    also = {"expected": len(snapshot.objects_of("PodGroup")), "then": [*map(_written, later)]}
    deeds.write_text(json.dumps(_written(outcome) | also | more), "utf-8")
    program = folder / "scheduler"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {SCRIPT} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return SchedulerProgram(str(program), (f"--deeds={deeds}",), timeout_seconds=60, cycles=1 + len(later))


def verify_program(snapshot: Snapshot, program: SchedulerProgram, **more: Any) -> Verification:
    """The result of the first cycle that differs, else of the last one."""
    *_, last = verify_cycles(snapshot, program, **more)
    return last


def _written(outcome: CycleOutcome) -> dict[str, Any]:
    said = [[*subject, numbers] for subject, numbers in (outcome.statuses or {}).items()]
    return asdict(replace(outcome, statuses=None, events={})) | {"statuses": said}


def after(snapshot: Snapshot, outcome: CycleOutcome) -> Snapshot:
    """The cluster after the scheduler has written the outcome."""
    pods = [_pod(pod, outcome) for pod in snapshot.objects_of("Pod")]
    groups = [_group(group, outcome) for group in snapshot.objects_of("PodGroup")]
    return replace(snapshot, objects={**snapshot.objects, "Pod": pods, "PodGroup": groups})


def _pod(pod: Manifest, outcome: CycleOutcome) -> Manifest:
    key, status = key_of(pod), dict(pod.get("status") or {})
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    if key in outcome.bound:
        spec = {**spec, "nodeName": outcome.bound[key]}
    if key in outcome.nominated:
        status["nominatedNodeName"] = outcome.nominated[key]
    if key in outcome.evicted:
        metadata = {**metadata, "deletionTimestamp": "2026-11-01T00:00:30Z"}
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        status["conditions"] = [*(status.get("conditions") or ()), condition]
    if key in outcome.waiting:
        reason, message = outcome.waiting[key]
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        others = [one for one in status.get("conditions") or () if one["type"] != "PodScheduled"]
        status["conditions"] = [*others, condition]
    return {**pod, "metadata": metadata, "spec": spec, "status": status}


def _group(group: Manifest, outcome: CycleOutcome) -> Manifest:
    said = outcome.groups.get(key_of(group))
    if said is None:
        return group
    names = ("type", "status", "reason", "message")
    conditions = [dict(zip(names, one, strict=True)) for one in said.conditions]
    return {**group, "status": {**(group.get("status") or {}), "phase": said.phase, "conditions": conditions}}
