"""The changes that alter a recording are those measured in the real scheduler.

`changes.json` lists for each case the older forms that alter its recording if only that one form is switched back and
all other measured changes have their newer form.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.recorded import one_of_each_family, recorded_path
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.upgrades import run_search, start_search

SAMPLE = {"v1.15.1": 15, "v1.14.4": 12}
"""Step between the measured cases that are checked, besides one case of each family."""
MEASURED = {
    "v1.15.1": (
        "balanced-allocation-absolute",
        "enqueue-inqueue-at-vote",
        "preempt-no-predicate-recheck",
        "preempt-requeue-after-assign",
        "podgroup-phase-releasing",
        "gang-close-releasing",
    ),
    "v1.14.4": (
        "nodeorder-two-kinds",
        "preempt-shared-statement",
        "preempt-intra-job-commits-failures",
        "reclaim-shared-statement",
        "reclaim-evicts-before-test",
        "victim-tie-by-job-age",
        "capacity-preemptive-no-cap",
        "inqueue-full-minresources",
        "dra-predicate-switch",
        "subjob-gradient-shortcut",
        "reserve-failure-continues",
        "taint-text",
        "predicates-batch-all-nodes",
    ),
}
"""The changes that were measured, one by one."""
ONE_SWITCH = {"gang-close-releasing": "podgroup-phase-releasing"}
"""Changes that were measured as one; the value is the id that this file uses."""
CANNOT_ALTER = {("v1.14.4", "volumes-0000"): ("dra-predicate-switch", "inqueue-full-minresources")}
"""Changes that were measured in a case in which they cannot have an effect (see `working_on`)."""


class Case(NamedTuple):
    """One input, and the changes that alter its recording."""

    release: str
    given: Path
    altering: Sequence[str]

    @property
    def name(self) -> str:
        return f"{self.release}-{self.given.name}"


def measured(release: str) -> Mapping[str, Sequence[str]]:
    document: Mapping[str, Sequence[str]] = json.loads(
        recorded_path(f"releases/{release}/changes.json").read_text(encoding="utf-8")
    )
    return document


def sample() -> list[Case]:
    """A case per family and release."""
    found: list[Case] = []
    for release in SAMPLE:
        random = {Path(name).name: altering for name, altering in measured(release).items() if "random/" in name}
        names = one_of_each_family(list(random))
        found += [Case(release, recorded_path(f"random/{name}"), random[name]) for name in names]
    return found


def others() -> list[Case]:
    """Each n-th case, and the cases of CANNOT_ALTER, except those of `sample`."""
    found: list[Case] = []
    for release, step in SAMPLE.items():
        for index, (name, altering) in enumerate(measured(release).items()):
            if index % step == 0 or (release, Path(name).name) in CANNOT_ALTER:
                found.append(Case(release, recorded_path(name), altering))
    return [case for case in found if case not in sample()]


def alone(ids: Iterable[str]) -> list[str]:
    return sorted({ONE_SWITCH.get(name, name) for name in ids})


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name) for case in sample()]
    + [pytest.param(case, id=case.name, marks=pytest.mark.corpus) for case in others()],
)
def test_the_changes_that_alter_a_recording_are_those_that_were_measured(case: Case) -> None:
    among = MEASURED[case.release]
    after = resolve_release(",".join([case.release, *(f"-{name}" for name in among)])).release
    snapshot = load_snapshot(case.given, release=case.release)
    search, trials = start_search(snapshot, after)
    run_search(search, lambda wanted: [trials(mixture) for mixture in wanted])
    idle = CANNOT_ALTER.get((case.release, case.given.name), ())
    assert set(case.altering) <= set(among)
    assert not idle or working_on(snapshot) == []
    expected = [name for name in case.altering if name not in idle]
    assert alone(expected) == alone([one.id for one in search.altering_changes])
    assert search.deciding_set is not None
    assert search.failed_count == 0


def working_on(snapshot: Snapshot) -> list[str]:
    """The objects on which the changes of CANNOT_ALTER have an effect: resource claims, and pods with a node."""
    claims = [kind for kind in ("ResourceClaim", "ResourceClaimTemplate") if snapshot.objects.get(kind)]
    return claims + [pod["metadata"]["name"] for pod in snapshot.objects["Pod"] if pod["spec"].get("nodeName")]
