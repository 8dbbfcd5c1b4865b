"""The search for the changes between two releases that matter, on invented rules and on known clusters."""

from __future__ import annotations

import pickle
import random

import pytest

from tests.builders import cluster, node, pod_group, pods
from vcdebug.releases.nodes import BALANCED_ALLOCATION_ABSOLUTE, CSI_LIMIT_KEY
from vcdebug.releases.release import NEWEST, Release
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.upgrades import (
    ChangeMixture,
    MixtureTrial,
    MixtureTrials,
    Upgrade,
    differing_changes,
    run_search,
    start_search,
)

CHANGES: ChangeMixture = tuple(f"c{number:02}" for number in range(24))


class MadeUp:
    """An invented scheduler whose outcome depends on the changes of a release; the second release has all changes."""

    def __init__(self, deciding: set[str], showing: set[str], *, all_needed: bool = True) -> None:
        self.deciding, self.showing, self.all_needed = deciding, showing, all_needed
        self.asked = tuple(change for change in CHANGES if change in deciding | showing | {"c00", "c23"})
        self.fails: set[ChangeMixture] = set()

    def __call__(self, wanted: list[ChangeMixture]) -> list[MixtureTrial | None]:
        return [None if mixture in self.fails else self.trial(mixture) for mixture in wanted]

    def trial(self, mixture: ChangeMixture) -> MixtureTrial:
        has = self.deciding & set(mixture)
        decided = bool(self.deciding) and (has != self.deciding if self.all_needed else not has)
        altered = decided or not self.showing <= set(mixture)
        return MixtureTrial(altered, decided, (), (), None, None, self.asked)

    def searched(self) -> Upgrade:
        return run_search(Upgrade(NEWEST, NEWEST, CHANGES), self)


def test_deciding_changes_are_the_smallest_set_beside_the_altering_ones() -> None:
    search = MadeUp({"c03", "c17"}, {"c05"}).searched()
    assert ("c03", "c17") == search.deciding_set
    assert {"c03": True, "c05": False, "c17": True} == {
        one.id: one.trial.has_other_decisions for one in search.altering_changes
    }
    assert search.trial_count < len(CHANGES)


def test_one_of_two_equivalent_changes_is_deciding_and_neither_is_altering_alone() -> None:
    search = MadeUp({"c03", "c17"}, set(), all_needed=False).searched()
    assert search.deciding_set in (("c03",), ("c17",))
    assert [] == search.altering_changes


def test_recordings_that_are_the_same_cost_two_cycles() -> None:
    search = MadeUp(set(), set()).searched()
    assert ((), [], 2, True) == (search.deciding_set, search.altering_changes, search.trial_count, search.is_finished)


@pytest.mark.parametrize("seed", range(20))
def test_no_change_of_the_set_can_be_left_out(seed: int) -> None:
    draw = random.Random(seed)
    made = MadeUp(set(draw.sample(CHANGES, draw.randint(1, 8))), set(draw.sample(CHANGES, 3)))
    search = made.searched()
    kept = search.deciding_set
    assert kept is not None
    assert not made.trial(kept).has_other_decisions
    assert all(made.trial(tuple(one for one in kept if one != left)).has_other_decisions for left in kept)
    assert sorted(made.deciding | made.showing) == [one.id for one in search.altering_changes]


def test_a_trial_that_fails_hides_no_other_change() -> None:
    made = MadeUp({"c03"}, {"c20"})
    made.fails = {("c03", "c20"), tuple(one for one in CHANGES if one != "c00")}
    search = made.searched()
    assert (("c03",), ["c03", "c20"]) == (search.deciding_set, [one.id for one in search.altering_changes])
    assert search.failed_count > 0


def found(snapshot: Snapshot, after: Release) -> Upgrade:
    search, trials = start_search(snapshot, after)
    return run_search(search, lambda wanted: [trials(mixture) for mixture in wanted])


def lopsided() -> Snapshot:
    """The latest rules prefer the node whose balance improves; older ones the node with the better balance."""
    nodes = [node("n1", cpu="10", memory="10Gi"), node("n2", cpu="10", memory="10Gi")]
    old = [
        pod_group("old"),
        *pods("old", 1, prefix="a", requests={"cpu": "1", "memory": "5Gi"}, on="n1"),
        *pods("old", 1, prefix="b", requests={"cpu": "4", "memory": "4Gi"}, on="n2"),
    ]
    new = [pod_group("new"), *pods("new", 1, requests={"cpu": "2", "memory": "1Gi"})]
    conf = 'actions: "allocate"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n  - name: nodeorder\n'
    weights = "    arguments:\n      leastrequested.weight: 0\n      podtopologyspread.weight: 0\n"
    return cluster(nodes, old, new, conf=conf + weights)


def test_change_of_the_balanced_score_is_deciding_and_names_its_pods() -> None:
    result = found(lopsided(), resolve_release("v1.15.1").release)
    assert (False, (BALANCED_ALLOCATION_ABSOLUTE.id,)) == (result.has_same_decisions, result.deciding_set)
    trial = next(one.trial for one in result.altering_changes if one.id == BALANCED_ALLOCATION_ABSOLUTE.id)
    assert (True, 1) == (trial.has_other_decisions, len(trial.pods))


def test_downgrade_names_the_same_deciding_change() -> None:
    snapshot = snapshot_at_release(lopsided(), "v1.15.1")
    assert (BALANCED_ALLOCATION_ABSOLUTE.id,) == found(snapshot, NEWEST).deciding_set


def test_a_release_and_itself_are_the_same() -> None:
    result = found(snapshot_at_release(lopsided(), "v1.15.1"), resolve_release("v1.15.1").release)
    assert (True, False, (), ()) == (
        result.has_same_decisions,
        result.has_differences,
        result.differing_changes,
        result.decided_by,
    )


def test_switches_of_single_changes_are_releases_too() -> None:
    after = resolve_release(f"master,+{BALANCED_ALLOCATION_ABSOLUTE.id},+{CSI_LIMIT_KEY.id}").release
    assert sorted([BALANCED_ALLOCATION_ABSOLUTE.id, CSI_LIMIT_KEY.id]) == sorted(differing_changes(NEWEST, after))
    assert (BALANCED_ALLOCATION_ABSOLUTE.id,) == found(lopsided(), after).deciding_set


def test_pickled_mixture_trials_give_the_same_outcome() -> None:
    after = resolve_release("v1.15.1").release
    trials = MixtureTrials(lopsided(), after)
    assert trials(()) == pickle.loads(pickle.dumps(trials))(())
