"""Each change, switched to its older form on the latest rules, alters some recording."""

import json
from pathlib import Path

import pytest

from tests.releases.shown import BESIDE, SHOWN
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import EventEncoder
from vcdebug.releases.release import CHANGES
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot

INPUTS = Path(__file__).parents[1] / "golden" / "random"
ALTERED = [
    ("preempt-no-predicate-recheck", "capacity-0002"),
    ("preempt-requeue-after-assign", "preempt-topology-0006"),
    ("podgroup-phase-releasing", "wildcore-0004"),
    ("preempt-shared-statement", "preempt-topology-0006"),
    ("preempt-intra-job-commits-failures", "wild-0013"),
    ("reclaim-shared-statement", "reclaim-0008"),
    ("reclaim-evicts-before-test", "reclaim-0006"),
    ("reclaim-immediate", "reclaim-0008"),
    ("gang-eviction", "wild-0034"),
    ("statement-no-self-rollback", "wildcore-0008"),
    ("reprieve-order", "preempt-topology-0006"),
    ("soft-to-hard", "hypernode-0005"),
    ("preempt-queue-order", "wild-0034"),
    ("subgroup-without-hard", "subgroup-0003"),
    ("subjob-recovery-tier", "hypernode-0005"),
    ("enqueue-inqueue-at-vote", "wild-0004"),
    ("gang-close-releasing", "wildcore-0004"),
    ("capacity-preemptive-no-cap", "capacity-0007"),
    ("inqueue-full-minresources", "wildcore-0021"),
    ("inqueue-scalar-units", "volumes-0004"),
    ("balanced-allocation-absolute", "numa-0003"),
    ("dra-score", "numa-0003"),
    ("nodeorder-two-kinds", "numa-0003"),
    ("dra-predicate-switch", "numa-0003"),
    ("reserve-failure-continues", "wild-0031"),
    ("subjob-gradient-shortcut", "wild-0004"),
    ("usage-shadow-load", "usage-0003"),
]


def events(snapshot: Snapshot) -> list[str]:
    recording = replay_cycle(snapshot)
    encoder = EventEncoder(recording)
    return [json.dumps(encoder.encode_event(event)) for event in recording.events]


@pytest.mark.parametrize(("change", "case"), ALTERED, ids=[change for change, _ in ALTERED])
def test_the_switch_alters_the_recording(change: str, case: str) -> None:
    given = INPUTS / case
    assert events(load_snapshot(given, release="master")) != events(load_snapshot(given, release=f"master,+{change}"))


@pytest.mark.parametrize("change", SHOWN)
def test_the_switch_alters_a_cluster_made_for_it(change: str) -> None:
    base = ",+".join(["master", *([BESIDE[change]] if change in BESIDE else [])])
    snapshot = SHOWN[change]()
    assert events(snapshot_at_release(snapshot, base)) != events(snapshot_at_release(snapshot, f"{base},+{change}"))


def test_unreplayed_change_states_its_reason() -> None:
    assert [] == [change.id for change in CHANGES.values() if not change.replayed and not change.unshown_reason]


def test_every_heavy_change_is_shown_or_says_why_not() -> None:
    heavy = [change for change in CHANGES.values() if change.weight in "HM"]
    shown = {change for change, _ in ALTERED} | set(SHOWN)
    assert [] == [change.id for change in heavy if change.id not in shown and not change.unshown_reason]
    assert [] == [change.id for change in heavy if change.id in shown and change.unshown_reason]
