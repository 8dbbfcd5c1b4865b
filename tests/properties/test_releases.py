"""The invariants of a cycle hold under the rules of each release, and a second replay gives the same bytes.

Clusters are smaller than those for the latest rules, and one test checks several, so that 100 per release are cheap.
"""

from __future__ import annotations

import pytest

from tests.properties import test_invariants as invariants
from tests.properties.clusters import ACTIONS, random_cluster
from tests.recorded import written
from vcdebug.recording.recording import disposing
from vcdebug.recording.replay import actions_of_release, replay_cycle
from vcdebug.releases.release import SUPPORTED_TAGS, Release, release_at_tag
from vcdebug.snapshot.edited_snapshot import snapshot_at_release

EACH, BATCH = 100, 25
AGAIN = 5
"""One of this many cycles is replayed twice."""
BATCHES = [(str(tag), number) for tag in SUPPORTED_TAGS for number in range(EACH // BATCH)]


def known_actions(release: Release) -> list[str]:
    """The actions that a configuration of the release may name."""
    return [name for name in ACTIONS if name in actions_of_release(release)]


@pytest.mark.parametrize(("name", "batch"), BATCHES)
def test_the_invariants_hold_under_the_rules_of_each_release(name: str, batch: int) -> None:
    place = next(number for number, tag in enumerate(SUPPORTED_TAGS) if str(tag) == name)
    release = release_at_tag(SUPPORTED_TAGS[place])
    for seed in range(10_000 + 1000 * place + BATCH * batch, 10_000 + 1000 * place + BATCH * (batch + 1)):
        snapshot = snapshot_at_release(random_cluster(seed, nodes=4, jobs=5, actions=known_actions(release)), name)
        with disposing(replay_cycle(snapshot)) as recording:
            assert not recording.conf.built_in, seed
            invariants.idle_and_used_make_up_what_a_node_can_allocate(recording)
            invariants.a_cycle_ends_with_its_close_or_a_panic(recording)
            invariants.a_jobs_sums_are_its_tasks(recording)
            invariants.books_hold_what_is_allocated_or_pipelined(recording)
            invariants.every_operation_of_a_statement_is_settled_or_stays_open_for_a_pipelined_job(recording)
            if seed % AGAIN == 0:
                with disposing(replay_cycle(snapshot)) as again:
                    assert written(recording) == written(again), seed
