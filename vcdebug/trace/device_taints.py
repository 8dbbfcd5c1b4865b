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
from vcdebug.snapshot.snapshot import SchedulerFlags
from vcdebug.trace.recording import Recording

TAINTS, RULES = "DRADeviceTaints", "DRADeviceTaintRules"
RULES_GATE_SINCE: Final = (1, 36)
"""The Kubernetes with which rules are looked at by a gate of their own; before they came with the other one."""
REPELLING_EFFECTS: Final = ("NoSchedule", "NoExecute")
REPLAY_IGNORES_TAINTS: Final = (
    "the scheduler goes by it; the replay does not, so that every node passes for pods whose claims wait"
)


def device_problems(recording: Recording) -> Iterator[Problem]:
    """One per slice whose tainted devices the scheduler takes all the same, and per rule, where a pod's claims wait."""
    flags, snapshot = recording.snapshot.flags, recording.snapshot
    if not any(_waits_with_claims(pod) for pod in map(Pod, snapshot.objects_of("Pod"))):
        return
    for one in () if flags.is_gate_on(TAINTS) else snapshot.objects_of("ResourceSlice"):
        devices = spec_of(one).get("devices") or ()
        tainted = [device for device in devices if _repels_pods(device)]
        if tainted:
            what = f"{len(tainted)} of {len(devices)} devices have taints"
            yield Problem("", f"ResourceSlice {name_of(one)}", "spec.devices", what, _gate_effect(flags, TAINTS))
    for one in snapshot.objects_of("DeviceTaintRule"):
        what = "it taints devices"
        yield Problem(
            "", f"DeviceTaintRule {name_of(one)}", "spec.taint", what, _gate_effect(flags, *_gates_of_rules(flags))
        )


def _waits_with_claims(pod: Pod) -> bool:
    return not pod.node_name and bool(pod.spec.get("resourceClaims"))


def _repels_pods(device: JsonObject) -> bool:
    return any(taint.get("effect") in REPELLING_EFFECTS for taint in device.get("taints") or ())


def _gates_of_rules(flags: SchedulerFlags) -> tuple[str, ...]:
    return (TAINTS, RULES) if flags.release.kubernetes_version >= RULES_GATE_SINCE else (TAINTS,)


def _gate_effect(flags: SchedulerFlags, *gates: str) -> str:
    off = next((gate for gate in gates if not flags.is_gate_on(gate)), "")
    return f"the scheduler does not look at that: its feature gate {off} is off" if off else REPLAY_IGNORES_TAINTS
