"""Taints of devices that do not count where claims are to be allocated, for the scheduler or for the replay.

Upstream: k8s dynamic-resource-allocation (taints of ResourceSlices, DeviceTaintRules by the tracker of slices).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcdebug.model.pod import Pod
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import name_of, spec_of
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.snapshot import Flags
from vcdebug.trace.recording import Recording

TAINTS, RULES = "DRADeviceTaints", "DRADeviceTaintRules"
RULES_HAVE_A_GATE: Final = (1, 36)
"""The Kubernetes with which rules are looked at by a gate of their own; before they came with the other one."""
KEEPING_AWAY: Final = ("NoSchedule", "NoExecute")
LEFT_OUT: Final = "the scheduler goes by it; the replay does not, so that every node passes for pods whose claims wait"


def device_problems(recording: Recording) -> Iterator[Problem]:
    """One per slice whose tainted devices the scheduler takes all the same, and per rule, where a pod's claims wait."""
    flags, snapshot = recording.snapshot.flags, recording.snapshot
    if not any(_waits(pod) for pod in map(Pod, snapshot.of("Pod"))):
        return
    for one in () if flags.gate(TAINTS) else snapshot.of("ResourceSlice"):
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


def _waits(pod: Pod) -> bool:
    return not pod.node_name and bool(pod.spec.get("resourceClaims"))


def _keeps_away(device: JsonObject) -> bool:
    return any(taint.get("effect") in KEEPING_AWAY for taint in device.get("taints") or ())


def _gates_of_rules(flags: Flags) -> tuple[str, ...]:
    return (TAINTS, RULES) if flags.release.kubernetes >= RULES_HAVE_A_GATE else (TAINTS,)


def _effect(flags: Flags, *gates: str) -> str:
    off = next((gate for gate in gates if not flags.gate(gate)), "")
    return f"the scheduler does not look at that: its feature gate {off} is off" if off else LEFT_OUT
