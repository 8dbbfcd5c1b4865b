"""Tainted devices where claims are still to be allocated: whether the scheduler looks at them, which no replay does.

Upstream: k8s dynamic-resource-allocation (taints of ResourceSlices, DeviceTaintRules by the tracker of slices).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcdebug.framework.quirks import CLAIMS_UNDECIDED
from vcdebug.kube.listers import name_of, spec_of
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.snapshot import Flags
from vcdebug.trace.recording import Recording

TAINTS, RULES = "DRADeviceTaints", "DRADeviceTaintRules"
RULES_HAVE_A_GATE: Final = (1, 36)
"""The Kubernetes with which rules are looked at by a gate of their own; before they came with the other one."""
KEEPING_AWAY: Final = ("NoSchedule", "NoExecute")
LEFT_OUT: Final = (
    "the scheduler takes no device that is tainted for a claim that does not tolerate it; the replay allocates none, "
    "so that every node passes"
)


def device_problems(recording: Recording) -> Iterator[Problem]:
    """One per slice with tainted devices and per rule, where a pod's claim would be allocated in this cycle."""
    if not any(note.code == CLAIMS_UNDECIDED for note in recording.notes):
        return
    flags, snapshot = recording.snapshot.flags, recording.snapshot
    for one in snapshot.of("ResourceSlice"):
        devices = spec_of(one).get("devices") or ()
        tainted = [device for device in devices if _keeps_away(device)]
        if tainted:
            what = f"{len(tainted)} of {len(devices)} devices have taints"
            yield Problem("", f"ResourceSlice {name_of(one)}", "spec.devices", what, _effect(flags, TAINTS))
    for one in snapshot.of("DeviceTaintRule"):
        what = "it taints devices"
        yield Problem(
            "", f"DeviceTaintRule {name_of(one)}", "spec.taint", what, _effect(flags, *_gates_of_rules(flags))
        )


def _keeps_away(device: JsonObject) -> bool:
    return any(taint.get("effect") in KEEPING_AWAY for taint in device.get("taints") or ())


def _gates_of_rules(flags: Flags) -> tuple[str, ...]:
    return (TAINTS, RULES) if flags.release.kubernetes >= RULES_HAVE_A_GATE else (TAINTS,)


def _effect(flags: Flags, *gates: str) -> str:
    off = next((gate for gate in gates if not flags.gate(gate)), "")
    return f"the scheduler does not look at that: its feature gate {off} is off" if off else LEFT_OUT
