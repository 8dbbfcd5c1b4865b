"""Jobs past their SLA waiting time are admitted and count as pipelined; deadlines order jobs."""

from typing import Any

import pytest

from tests.builders import amounts, cluster, node, open_session, pod_group, pods
from vcdebug.framework.hooks import JOB_ENQUEUEABLE, JOB_ORDER, JOB_PIPELINED
from vcdebug.framework.plugin_answers import ABSTAIN, PERMIT
from vcdebug.framework.session import Session
from vcdebug.plugins.sla import Sla
from vcdebug.snapshot.snapshot import Manifest

KEY = "volcano.sh/sla-waiting-time"
LEGACY = "sla-waiting-time"


def group(name: str, waited: str, **annotations: str) -> Manifest:
    """A PodGroup created at this time on the day before the session, whose clock is at midnight."""
    manifest = pod_group(name, phase="Pending", min_resources=amounts("4"), min_member=2)
    manifest["metadata"]["creationTimestamp"] = f"2026-10-31T{waited}Z"
    manifest["metadata"]["annotations"] = annotations
    return manifest


def session(*tiers: str, groups: list[Manifest], argument: object = None) -> Session:
    lines: dict[str, dict[str, Any]] = {} if argument is None else {"sla": {"arguments": f"{{{LEGACY}: {argument}}}"}}
    return open_session(cluster(node("n1", cpu="2"), groups, pods("a", 1)), *tiers, arguments=lines)


def answer(ssn: Session, name: str = "a") -> int:
    plugin = ssn.plugins["sla"]
    assert isinstance(plugin, Sla)
    job = ssn.jobs[f"default/{name}"]
    assert plugin.job_enqueueable(job) == plugin.job_pipelined(job)
    return plugin.job_enqueueable(job)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({KEY: "10m"}, PERMIT),
        ({KEY: "10m1ns"}, ABSTAIN),
        ({KEY: "9m59.9s"}, PERMIT),
        ({KEY: "bad", LEGACY: "1s"}, PERMIT),
        ({KEY: "1h", LEGACY: "1s"}, ABSTAIN),
        ({KEY: "-5m"}, ABSTAIN),
        ({KEY: "0s"}, ABSTAIN),
        ({}, ABSTAIN),
    ],
)
def test_a_job_is_overdue_from_its_own_waiting_time_on(annotations: dict[str, str], expected: int) -> None:
    assert expected == answer(session("sla", groups=[group("a", "23:50:00", **annotations)]))


@pytest.mark.parametrize(
    ("argument", "expected"), [("5m", PERMIT), ("1h", ABSTAIN), (60, ABSTAIN), ("soon", ABSTAIN), ("-5m", ABSTAIN)]
)
def test_the_argument_counts_for_jobs_that_state_nothing(argument: object, expected: int) -> None:
    assert expected == answer(session("sla", groups=[group("a", "23:50:00")], argument=argument))
    own = session("sla", groups=[group("a", "23:50:00", **{KEY: "1h"})], argument=argument)
    assert ABSTAIN == answer(own)


def test_a_job_without_creation_time_is_overdue() -> None:
    ageless = group("a", "23:50:00", **{KEY: "1h"})
    del ageless["metadata"]["creationTimestamp"]
    assert PERMIT == answer(session("sla", groups=[ageless]))


def test_the_earlier_deadline_goes_first_and_jobs_without_one_last() -> None:
    older, younger = group("old", "20:00:00", **{KEY: "3h"}), group("young", "21:00:00", **{KEY: "1h"})
    ssn = session("sla", groups=[older, younger, group("none", "01:00:00"), group("same", "22:00:00", **{KEY: "1h"})])
    old, young, none, same = (ssn.jobs[f"default/{name}"] for name in ("old", "young", "none", "same"))
    assert [1, -1, -1, 1, 0, 0] == [
        ssn.ask_plugins(JOB_ORDER, left, right)
        for left, right in ((old, young), (young, old), (old, none), (none, old), (old, same), (none, none))
    ]


@pytest.mark.parametrize(
    ("tiers", "pipelined"), [(("sla", "gang"), True), (("gang", "sla"), False), (("sla gang",), False)]
)
def test_an_overdue_job_passes_gang_only_from_a_higher_tier(tiers: tuple[str, ...], pipelined: bool) -> None:
    ssn = session(*tiers, groups=[group("a", "23:00:00", **{KEY: "1m"})])
    assert pipelined == ssn.ask_plugins(JOB_PIPELINED, ssn.jobs["default/a"])


def test_an_overdue_job_is_admitted_past_a_lower_tier() -> None:
    groups = [group("a", "23:00:00", **{KEY: "1m"})]
    over, under = session("sla", "overcommit", groups=groups), session("sla overcommit", groups=groups)
    assert [True, False] == [ssn.ask_plugins(JOB_ENQUEUEABLE, ssn.jobs["default/a"]) for ssn in (over, under)]
