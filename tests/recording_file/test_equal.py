"""A loaded recording shows the same bytes as the fresh one, and continues in the same way."""

import random

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group
from tests.recorded import GOLDEN, ROOT, bundled
from tests.recording_file.shown import shown
from vcdebug.recording.file.object_tables import store_recording
from vcdebug.recording.file.read import open_stored_recording
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.sources import list_bundled as bundled_snapshots
from vcdebug.whatif.branch import edited_snapshot

BUNDLED = [one.name for one in bundled_snapshots()]
DRAWN = sorted(random.Random(16).sample(GOLDEN, 8))
"""A fixed random sample of the recorded cases."""


def reopened(recording: Recording) -> Recording:
    return open_stored_recording(b"".join(store_recording(recording, "this")), "this")


@pytest.mark.parametrize("name", BUNDLED)
def test_every_panel_and_answer_of_a_bundled_snapshot_is_the_same(name: str) -> None:
    with (
        disposing(replay_cycle(load_snapshot(ROOT / "fixtures" / name))) as fresh,
        disposing(reopened(fresh)) as stored_at_once,
    ):
        assert shown(fresh) == shown(stored_at_once)


@pytest.mark.parametrize("name", DRAWN)
def test_every_panel_and_answer_of_a_random_case_is_the_same(name: str) -> None:
    snapshot = load_snapshot(ROOT / "tests" / "golden" / "random" / name)

    with disposing(replay_cycle(snapshot)) as fresh, disposing(reopened(fresh)) as stored_at_once:
        assert shown(fresh) == shown(stored_at_once)


def test_devices_for_claims_are_searched_for_again() -> None:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    listed = {"driver": "gpu", "nodeName": "n1", "pool": pool, "devices": [{"name": "a"}]}
    slices = {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": listed}
    selectors = [{"cel": {"expression": "device.driver == 'gpu'"}}]
    classes = {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": selectors}}
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    wanted = {"requests": [request]}
    claims = [
        {"kind": "ResourceClaim", "metadata": {"name": name, "namespace": "default"}, "spec": {"devices": wanted}}
        for name in "cd"
    ]
    refers = ({"name": "g", "resourceClaimName": name} for name in "cd")
    pods = [pod(f"j-{place}", "j", requests={"cpu": "1"}, resourceClaims=[one]) for place, one in enumerate(refers)]
    conf = conf_of("gang", "predicates nodeorder")
    snapshot = cluster(node("n1"), node("n2"), slices, classes, claims, pod_group("j"), pods, conf=conf)

    with disposing(replay_cycle(snapshot)) as fresh, disposing(reopened(fresh)) as stored_at_once:
        assert "cannot allocate all claims" in str(shown(fresh))
        assert shown(fresh) == shown(stored_at_once)


def test_earlier_answers_do_not_change_the_stored_recording() -> None:
    fresh = replay_cycle(load_snapshot(ROOT / "fixtures" / "preempt-works"))
    before = shown(fresh)

    assert before == shown(reopened(fresh))


def test_opened_recording_can_be_stored_again() -> None:
    once = reopened(bundled("reclaim-across-queues"))

    assert shown(bundled("reclaim-across-queues")) == shown(reopened(once))


def test_a_what_if_on_a_stored_recording_comes_to_the_same() -> None:
    fresh = bundled()
    edits = [parse_edit("queue/research:spec.weight=3"), parse_edit("node/gpu-a100-01:-")]

    branch = replay_cycle(edited_snapshot(reopened(fresh).snapshot, edits))

    assert shown(replay_cycle(edited_snapshot(fresh.snapshot, edits))) == shown(branch)
