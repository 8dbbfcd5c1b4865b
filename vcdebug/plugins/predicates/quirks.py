"""Notes about upstream's oddities in predicates, left at the event where they act.

Upstream: plugins/predicates.
"""

from __future__ import annotations

from vcdebug.framework.quirks import (
    ANTI_AFFINITY_MISSED,
    CLAIMS_UNDECIDED,
    DEVICE_STAYS_CHARGED,
    FILTER_STAYS_SKIPPED,
    PROMISE_WITHOUT_NODE,
    VIEW_LOST_POD,
)
from vcdebug.framework.session import Session
from vcdebug.kube.dynamic_resources import NO_ALLOCATION
from vcdebug.model.pod import Pod
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo

LOST_POD_TEXT = (
    "{} is back on {}, but missing from the Kubernetes view of the node for the rest of the session: "
    "Reserve answered `{}`"
)


PROMISED_TEXT = (
    "{} cannot be pipelined on {}: the pod does not say the node yet, so Reserve does not find the devices of its "
    "resource claims (`{}`)"
)


def note_refused(ssn: Session, task: TaskInfo, error: str) -> None:
    """Reserve refused a pod that is pipelined, before its node is written into it."""
    if task.status is TaskStatus.PIPELINED and error == NO_ALLOCATION and task.pod.node_name != task.node_name:
        ssn.note_quirk(PROMISE_WITHOUT_NODE, PROMISED_TEXT, task.key, task.node_name, error)


def note_not_restored(ssn: Session, task: TaskInfo, error: str) -> None:
    """An eviction was undone, but Reserve refused the pod's return."""
    if task.status is TaskStatus.RUNNING:
        ssn.note_quirk(VIEW_LOST_POD, LOST_POD_TEXT, task.key, task.node_name, error)


def note_stays_skipped(ssn: Session, task: TaskInfo, filter_name: str) -> None:
    """PreFilter wants the filter now, but it was skipped once for this task."""
    ssn.note_quirk(
        FILTER_STAYS_SKIPPED, f"{filter_name} was skipped once for {task.key} and stays skipped in this session"
    )


def note_overlooked_anti_affinity(ssn: Session, task: TaskInfo) -> None:
    """Later pods do not see the anti-affinity of this placed pod."""
    ssn.note_quirk(
        ANTI_AFFINITY_MISSED,
        f"required anti-affinity of {task.key} is not seen by later pods: {task.node_name} held no such pod when the "
        "session opened",
    )


def note_device_charged(ssn: Session, task: TaskInfo, device: str) -> None:
    """Taking a placement back does not give the cards back."""
    ssn.note_quirk(
        DEVICE_STAYS_CHARGED,
        f"cards ({device}) on {task.node_name} stay charged for {task.key} until the session ends: they are looked up "
        "on the pod, which does not name them yet",
    )


def note_undecided_claims(ssn: Session, pod: Pod, why: str) -> None:
    """A replay does not know which devices the pod's claims get."""
    ssn.note_quirk(
        CLAIMS_UNDECIDED,
        f"{pod.key} has resource claims that the scheduler would allocate now: the replay lets every node pass ({why})",
    )
