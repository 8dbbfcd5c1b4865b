"""Cooldown protection of recently scheduled pods."""

from typing import Any

import pytest

from tests.builders import amounts, cluster, names, node, open_session, pod, pod_group, task, tasks
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE

KEY = "volcano.sh/cooldown-time"
SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-31T23:55:00Z"}
"""A PodScheduled condition from five minutes before the session."""


def protected(
    label: str | None = None, annotation: str | None = None, phase: str = "Running", conditions: Any = (SCHEDULED,)
) -> bool:
    manifest = pod("a-0", "a", on="n1", phase=phase, requests=amounts("1"))
    manifest["metadata"]["labels"] = {} if label is None else {KEY: label}
    manifest["metadata"]["annotations"] |= {} if annotation is None else {KEY: annotation}
    manifest["status"]["conditions"] = list(conditions)
    ssn = open_session(cluster(node("n1"), pod_group("a"), manifest), "cdp")
    candidates = tasks(ssn, "a-0")
    preempted = ssn.ask_plugins(PREEMPTABLE, task(ssn, "a-0"), candidates)
    assert names(preempted) == names(ssn.ask_plugins(RECLAIMABLE, task(ssn, "a-0"), candidates))
    return not preempted


@pytest.mark.parametrize(
    ("text", "expected"), [("600s", True), ("5m0.001s", True), ("5m", False), ("240s", False), ("-10m", False)]
)
def test_a_running_pod_is_protected_until_its_cooldown_has_passed(text: str, expected: bool) -> None:
    assert expected == protected(label=text)
    assert expected == protected(annotation=text)


def test_pod_without_a_cooldown_is_not_protected() -> None:
    assert not protected()


def test_invalid_cooldown_label_hides_the_annotation() -> None:
    assert not protected(label="x", annotation="600s")
    assert protected(label="600s", annotation="x")


def test_a_pod_that_does_not_run_yet_is_not_protected() -> None:
    assert not protected(label="600s", phase="Pending")


def test_only_the_first_condition_that_says_scheduled_counts() -> None:
    older = SCHEDULED | {"lastTransitionTime": "2026-10-31T12:00:00Z"}
    assert not protected(label="600s", conditions=())
    assert not protected(label="600s", conditions=[SCHEDULED | {"status": "False"}, SCHEDULED | {"type": "Ready"}])
    assert not protected(label="600s", conditions=[older, SCHEDULED])
    assert protected(label="600s", conditions=[SCHEDULED | {"status": "False"}, SCHEDULED, older])
